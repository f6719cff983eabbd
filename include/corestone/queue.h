/* corestone/queue.h: the main queue
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_QUEUE_H
#define CORESTONE_QUEUE_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ======== main queue ===================================================================================== */
/* Linux has no main run loop: the host says which thread is the main one and drains its queue there. */

/* Makes the calling thread the main one. CST_E_WRONG_THREAD when another thread is, and still runs. */
CST_EXPORT CST_ANY_THREAD cst_status cst_main_queue_bind(cst_error **error);
/* Runs what waits on the main queue; waits up to timeout_ms for something to run (0: not at all, negative: for ever).
 * out_count, the number of blocks run, may be NULL. CST_UNCHANGED when nothing ran; CST_E_INVALID_ARGUMENT in the middle of a fetch
 * or a save, as in a callback of a host's store. */
CST_EXPORT CST_ANY_THREAD cst_status cst_main_queue_drain(int32_t timeout_ms, size_t *out_count, cst_error **error);
/* A descriptor that is readable while something waits on the main queue, for poll, epoll or asyncio. Do not close it. */
CST_EXPORT CST_ANY_THREAD cst_status cst_main_queue_descriptor(int *out_descriptor, cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
