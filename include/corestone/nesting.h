/* corestone/nesting.h: child contexts, merging saved changes
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_NESTING_H
#define CORESTONE_NESTING_H

#include "context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ======== nesting ======================================================================================== */
/* Contexts on top of contexts, and changes that others saved. */

/* A context on top of another one, which lives as long: it fetches what that one holds, saved or not, and its save leaves the
 * changes there, pending. What it asks of its parent runs on the parent's queue, so a block on the parent's queue must not
 * wait for the child's; CST_E_WRONG_THREAD when the parent is confined to another thread. */
CST_EXPORT CST_ANY_THREAD cst_status cst_context_new_child(cst_context *parent, cst_queue queue,
                                                           cst_context **out_context CST_OWNED, cst_error **error);
/* The context beneath; CST_NOT_FOUND for one that works with the stores. */
CST_EXPORT CST_ANY_THREAD cst_status cst_context_parent(const cst_context *context,
                                                        cst_context **out_parent CST_BORROWED, cst_error **error);
/* Whether the context merges by itself what is saved beneath it: a child what its parent saves, any other what contexts of the
 * same coordinator save. At first it does not. It merges on its own queue; one that is confined to another thread than the
 * saving one when it next processes pending changes, or fetches without changes of its own. */
CST_EXPORT CST_ANY_THREAD cst_status cst_context_set_automatically_merges(cst_context *context, bool merges,
                                                                          cst_error **error);
CST_EXPORT CST_ANY_THREAD cst_status cst_context_automatically_merges(const cst_context *context, bool *out_merges,
                                                                      cst_error **error);
/* Takes over what another context saved. Objects that were read are read anew, their own changes on top; inserted ones come in
 * and are retained until the perform ends, or outside a perform until the next merge; deleted ones are deleted, can still be read
 * until the next save, and are no change of this context. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_merge_changes(cst_context *context, size_t inserted_count,
                                                             const cst_object_id *const *inserted, size_t updated_count,
                                                             const cst_object_id *const *updated, size_t deleted_count,
                                                             const cst_object_id *const *deleted, cst_error **error);
/* The same for what changed behind the coordinator's back, in another process, say: by the URIs of object IDs. What the
 * coordinator keeps of these rows is forgotten first. URIs of other stores are passed over. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_merge_remote_changes(cst_context *context, size_t inserted_count,
                                                                    const cst_string *inserted, size_t updated_count,
                                                                    const cst_string *updated, size_t deleted_count,
                                                                    const cst_string *deleted, cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
