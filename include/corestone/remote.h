/* corestone/remote.h: changes by other processes and coordinators.
 *
 * Another process, or another coordinator of this process, may save to a store that is open here. A context merges such
 * changes automatically with cst_context_set_merges_remote_changes; an observer of CST_COORDINATOR_REMOTE_CHANGE
 * (cst_coordinator_observe) is notified of them. Each store has a watcher, a thread, as long as a context merges remote
 * changes or an observer exists; observers are called on that thread. The functions may be called on any thread.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_REMOTE_H
#define CORESTONE_REMOTE_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Sets whether the context automatically merges changes by other processes and coordinators. Initially false. Objects
 * without unsaved changes receive the new values, changed objects keep their unsaved changes, inserted objects are
 * registered, and deleted objects are deleted: see cst_context_merge_changes. The context merges on its own queue. A
 * context that is confined to a thread merges when it next fetches or processes pending changes. Fails with
 * CST_E_INVALID_ARGUMENT for a child, which receives the changes by merging the saves of its parent. */
CST_EXPORT CST_ANY_THREAD cst_status cst_context_set_merges_remote_changes(cst_context *context, bool merges,
                                                                           cst_error **error);

/* Whether the context automatically merges changes by other processes and coordinators. */
CST_EXPORT CST_ANY_THREAD cst_status cst_context_merges_remote_changes(const cst_context *context, bool *out_merges,
                                                                       cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
