/* corestone/cursor.h: cursors: the objects of a fetch in batches.
 *
 * cst_context_fetch_cursor creates a cursor. cst_cursor_copy_next returns one batch after the other. If each batch is
 * released, memory usually does not grow with the number of objects; docs/reference/cursor.md lists the exceptions. The
 * caller owns the cursor and the batches, and uses them on the queue of the context.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_CURSOR_H
#define CORESTONE_CURSOR_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the next batch of objects. Returns CST_END if there are no more objects. Release a batch to free its
 * objects. */
CST_EXPORT CST_ON_QUEUE cst_status cst_cursor_copy_next(cst_cursor *cursor, cst_results **out_results CST_OWNED,
                                                        cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
