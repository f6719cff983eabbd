/* corestone/library.h: the loaded library, ownership of handles, and buffers.
 *
 * cst_retain and cst_release manage the ownership of handles of every type. cst_version returns the version of the
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

/* Returns the version of the loaded library, which may be newer than the headers (CST_VERSION_MAJOR, _MINOR, _PATCH).
 * Each pointer may be NULL. */
CST_EXPORT CST_ANY_THREAD void cst_version(int *major, int *minor, int *patch);

/* Returns the version of the loaded library as text, for example "0.1.0". The text is always valid. */
CST_EXPORT CST_ANY_THREAD cst_string cst_version_string(void);

/* Adds an owner to a handle of any type and returns the handle. Returns NULL for NULL, for an invalid handle and in a
 * forked child. */
CST_EXPORT CST_ANY_THREAD void *cst_retain(void *handle);

/* Removes an owner of a handle of any type. NULL is allowed.
 *
 * If another thread releases an object of a context, the object is freed at the next call on the queue of the context.
 * Within a callback the handle becomes invalid immediately, but the object behind it is freed when the outermost call
 * of the thread returns, because that call may be using the object. If a context is deallocated with unsaved changes,
 * the log has a warning with its name and the number of changes by entity. cst_context_close can fail instead of losing
 * the changes.
 *
 * CST_E_INVALID_HANDLE if the handle is not valid or is only borrowed, for example after a double release.
 * CST_E_FORKED in a forked child. */
CST_EXPORT CST_ANY_THREAD cst_status cst_release(void *handle);

/* Returns the number of live handles in the process, for leak checks. */
CST_EXPORT CST_ANY_THREAD size_t cst_handle_count(void);

/* Fills a buffer with bytes, which replace the former content, and appends a NUL. The buffer grows as needed. */
CST_EXPORT CST_ANY_THREAD cst_status cst_buffer_fill(cst_buffer *buffer, cst_bytes bytes, cst_error **error);

/* Frees the memory of a buffer and sets its members to 0. NULL is allowed. */
CST_EXPORT CST_ANY_THREAD void cst_buffer_dispose(cst_buffer *buffer);

#ifdef __cplusplus
}
#endif
#endif
