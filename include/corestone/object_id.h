/* corestone/object_id.h: object IDs
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_OBJECT_ID_H
#define CORESTONE_OBJECT_ID_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ======== object ID ====================================================================================== */
/* IDs are values; they may cross threads. */

/* x-coredata://<store UUID>/<Entity>/p<number>; x-coredata:///<Entity>/t<UUID> while temporary. */
CST_EXPORT CST_ANY_THREAD cst_status cst_object_id_copy_uri(const cst_object_id *id, cst_buffer *out_uri,
                                                            cst_error **error);
CST_EXPORT CST_ANY_THREAD cst_status cst_object_id_is_temporary(const cst_object_id *id, bool *out_temporary,
                                                                cst_error **error);
CST_EXPORT CST_ANY_THREAD cst_status cst_object_id_entity(const cst_object_id *id, cst_entity **out_entity CST_BORROWED,
                                                          cst_error **error);
/* Whether two IDs stand for the same object; false when one is no live handle. */
CST_EXPORT CST_ANY_THREAD bool cst_object_id_equal(const cst_object_id *a, const cst_object_id *b);
/* Equal IDs have equal hashes; 0 for an invalid handle. */
CST_EXPORT CST_ANY_THREAD uint64_t cst_object_id_hash(const cst_object_id *id);

#ifdef __cplusplus
}
#endif
#endif
