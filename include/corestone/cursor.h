/* corestone/cursor.h: fetched objects a batch at a time
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_CURSOR_H
#define CORESTONE_CURSOR_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ======== cursor ========================================================================================= */
/* Objects of a fetch, a batch at a time. On the queue of its context. */

/* The next objects; CST_END when there are no more. Let go of a batch to let go of its objects. */
CST_EXPORT CST_ON_QUEUE cst_status cst_cursor_copy_next(cst_cursor *cursor, cst_results **out_results CST_OWNED,
                                                        cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
