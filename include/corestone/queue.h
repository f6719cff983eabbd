/* corestone/queue.h: the main queue.
 *
 * Linux does not have a main run loop. A host that uses contexts of the main queue (CST_QUEUE_MAIN) declares one thread
 * the main thread with cst_main_queue_bind, and runs the waiting blocks on that thread with cst_main_queue_drain.
 * cst_main_queue_descriptor returns a descriptor for poll, epoll or an event loop. docs/reference/queue.md describes
 * the queues of contexts.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_QUEUE_H
#define CORESTONE_QUEUE_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Makes the calling thread the main thread. Fails with CST_E_WRONG_THREAD if another thread is the main thread and has
 * not ended. */
CST_EXPORT CST_ANY_THREAD cst_status cst_main_queue_bind(cst_error **error);

/* Runs the blocks that wait on the main queue. Waits at most `timeout_ms` milliseconds for the first block (0: does not
 * wait, negative: without limit). `out_count` receives the number of blocks that ran and may be NULL. Returns
 * CST_UNCHANGED if no block ran.
 *
 * CST_E_WRONG_THREAD on a thread that is not the main thread.
 * CST_E_INVALID_ARGUMENT during a fetch or a save, for example in a callback of a host's store. */
CST_EXPORT CST_ANY_THREAD cst_status cst_main_queue_drain(int32_t timeout_ms, size_t *out_count, cst_error **error);

/* Returns a file descriptor that is readable while a block waits on the main queue, for poll, epoll or an event loop.
 * The library owns the descriptor: do not close it. */
CST_EXPORT CST_ANY_THREAD cst_status cst_main_queue_descriptor(int *out_descriptor, cst_error **error);

/* Returns a number that identifies the calling thread, unlike pthread_self() also among threads that have ended. Never
 * 0. After a fork, the number of the child's thread is another one. See cst_object_stamp. */
CST_EXPORT CST_ANY_THREAD uint64_t cst_thread_id(void);

#ifdef __cplusplus
}
#endif
#endif
