/* corestone/library.h: the loaded library, ownership of handles, and buffers.
 *
 * cst_retain and cst_release manage the ownership of handles of every type. cst_version reports the version of the
 * loaded library. cst_buffer_fill and cst_buffer_dispose manage cst_buffer, which many calls fill with text or bytes.
 * All functions may be called on any thread.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_LIBRARY_H
#define CORESTONE_LIBRARY_H

#include "types.h"
#include "version.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Reports the version of the loaded library, which may be newer than these headers (CST_VERSION_MAJOR and so on). Each
 * pointer may be NULL. */
CST_EXPORT CST_ANY_THREAD void cst_version(int *major, int *minor, int *patch);

/* Returns the version of the loaded library as text, for example "0.1.0". The text is always valid. */
CST_EXPORT CST_ANY_THREAD cst_string cst_version_string(void);

/* Adds an owner to a handle of any type and returns the handle. Returns NULL for NULL and for an invalid handle. */
CST_EXPORT CST_ANY_THREAD void *cst_retain(void *handle);

/* Removes an owner of a handle of any type. NULL is allowed. Fails with CST_E_INVALID_HANDLE if the handle is not
 * live, for example after a double release, and with CST_E_FORKED in a forked child.
 *
 * The memory of a context is freed by the context's own thread at its next call. Within a callback the handle becomes
 * invalid immediately, but the object behind it lives until the outermost call of the thread returns, because that call
 * may be using it. If a context is deallocated with unsaved changes, the log names it and counts the changes by entity;
 * cst_context_close can fail instead. */
CST_EXPORT CST_ANY_THREAD cst_status cst_release(void *handle);

/* Returns the number of live handles in the process, for leak checks. */
CST_EXPORT CST_ANY_THREAD size_t cst_handle_count(void);

/* Copies bytes into a buffer, which grows as needed, and appends a NUL. Replaces the former content. */
CST_EXPORT CST_ANY_THREAD cst_status cst_buffer_fill(cst_buffer *buffer, cst_bytes bytes, cst_error **error);

/* Frees the memory of a buffer and zeroes it. NULL is allowed. */
CST_EXPORT CST_ANY_THREAD void cst_buffer_dispose(cst_buffer *buffer);

#ifdef __cplusplus
}
#endif
#endif
