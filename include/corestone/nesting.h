/* corestone/nesting.h: nested contexts, and merging saved changes.
 *
 * A nested context is a child of another context, its parent. It fetches the objects of the parent, saved or not, and
 * its save passes the changes to the parent. Use a child for changes that may be discarded. Contexts of one coordinator
 * do not see each other's saves until they merge them, automatically (cst_context_set_automatically_merges) or by
 * cst_context_merge_changes. The caller owns a nested context. A child retains its parent and has a queue of its own.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_NESTING_H
#define CORESTONE_NESTING_H

#include "context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Creates a nested context, which saves into `parent`. The child fetches the objects of the parent, saved or not. Its
 * save passes its changes to the parent, where they are pending. Requests to the parent run on the parent's queue, so a
 * block on the parent's queue must not wait for the child's queue. Fails with CST_E_WRONG_THREAD if the parent is
 * confined to another thread. */
CST_EXPORT CST_ANY_THREAD cst_status cst_context_new_child(cst_context *parent, cst_queue queue,
                                                           cst_context **out_context CST_OWNED, cst_error **error);

/* Returns the parent of a context. Returns CST_NOT_FOUND for a context without a parent. */
CST_EXPORT CST_ANY_THREAD cst_status cst_context_parent(const cst_context *context,
                                                        cst_context **out_parent CST_BORROWED, cst_error **error);

/* Sets whether the context automatically merges saves.
 *
 * A child merges the saves of its parent, any other context the saves of contexts of the same coordinator. Initially
 * false. The context merges on its own queue. A context that is confined to another thread merges when it next
 * processes pending changes, or fetches without changes of its own. */
CST_EXPORT CST_ANY_THREAD cst_status cst_context_set_automatically_merges(cst_context *context, bool merges,
                                                                          cst_error **error);

/* Whether the context automatically merges saves. */
CST_EXPORT CST_ANY_THREAD cst_status cst_context_automatically_merges(const cst_context *context, bool *out_merges,
                                                                      cst_error **error);

/* Merges changes that another context saved. Objects that the context has read are read again, and keep their unsaved
 * changes. Inserted objects are registered and retained until the perform ends, or outside a perform until the next
 * merge. Deleted objects are deleted; they can still be read until the next save and do not count as changes of this
 * context. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_merge_changes(cst_context *context, size_t inserted_count,
                                                             const cst_object_id *const *inserted, size_t updated_count,
                                                             const cst_object_id *const *updated, size_t deleted_count,
                                                             const cst_object_id *const *deleted, cst_error **error);

/* Merges changes that were made without the coordinator, for example by another process. The objects are identified by
 * the URIs of their IDs. The coordinator first removes these objects from its row cache. URIs of other stores are
 * ignored. Otherwise like cst_context_merge_changes. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_merge_remote_changes(cst_context *context, size_t inserted_count,
                                                                    const cst_string *inserted, size_t updated_count,
                                                                    const cst_string *updated, size_t deleted_count,
                                                                    const cst_string *deleted, cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
