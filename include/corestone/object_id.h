/* corestone/object_id.h: object IDs.
 *
 * An object ID identifies an object outside its context. Pass it to another thread or, as a URI, to another program,
 * and call cst_context_object_with_id there. An unsaved object has a temporary ID, which its first save replaces. IDs
 * are immutable values; any thread may use them. The caller owns the handles.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_OBJECT_ID_H
#define CORESTONE_OBJECT_ID_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Fills a buffer with the URI of an object ID.
 *
 * The URI is x-coredata://<store UUID>/<Entity>/p<number>, or x-coredata:///<Entity>/t<UUID> while the ID is temporary.
 * cst_coordinator_object_id converts a URI back. */
CST_EXPORT CST_ANY_THREAD cst_status cst_object_id_copy_uri(const cst_object_id *id, cst_buffer *out_uri,
                                                            cst_error **error);

/* Whether an object ID is temporary. The permanent ID of the object differs. */
CST_EXPORT CST_ANY_THREAD cst_status cst_object_id_is_temporary(const cst_object_id *id, bool *out_temporary,
                                                                cst_error **error);

/* Returns the entity of the object that an ID identifies, borrowed from the model. */
CST_EXPORT CST_ANY_THREAD cst_status cst_object_id_entity(const cst_object_id *id, cst_entity **out_entity CST_BORROWED,
                                                          cst_error **error);

/* Returns the store of the row that an ID identifies. Returns CST_NOT_FOUND for a temporary ID. The store may have been
 * removed from its coordinator since. */
CST_EXPORT CST_ANY_THREAD cst_status cst_object_id_copy_store(const cst_object_id *id, cst_store **out_store CST_OWNED,
                                                              cst_error **error);

/* Whether two IDs identify the same object; false for an invalid handle. */
CST_EXPORT CST_ANY_THREAD bool cst_object_id_equal(const cst_object_id *a, const cst_object_id *b);

/* Returns a hash that is equal for equal IDs, or 0 for an invalid handle. */
CST_EXPORT CST_ANY_THREAD uint64_t cst_object_id_hash(const cst_object_id *id);

#ifdef __cplusplus
}
#endif
#endif
