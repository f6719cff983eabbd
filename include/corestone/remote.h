/* corestone/remote.h: changes by other processes
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_REMOTE_H
#define CORESTONE_REMOTE_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ======== remote ========================================================================================= */
/* What somebody else writes into a store: another process, or another coordinator of this one. Each store is watched by a
 * thread as long as somebody wants to know: a context that merges, or an observer of CST_COORDINATOR_REMOTE_CHANGE
 * (cst_coordinator_observe), who is called on that thread. Nothing is watched before. */

/* Whether the context merges by itself what somebody else saves; at first it does not. Objects without changes get the new
 * values, changed ones keep their changes on top, inserted ones come in, deleted ones go, as cst_context_merge_changes has it.
 * It merges on its own queue; one that is confined to a thread when it next fetches or processes pending changes.
 * CST_E_INVALID_ARGUMENT for a child, which merges what its parent merges, if it merges what that saves. */
CST_EXPORT CST_ANY_THREAD cst_status cst_context_set_merges_remote_changes(cst_context *context, bool merges,
                                                                           cst_error **error);
CST_EXPORT CST_ANY_THREAD cst_status cst_context_merges_remote_changes(const cst_context *context, bool *out_merges,
                                                                       cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
