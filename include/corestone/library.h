/* corestone/library.h: the loaded library, retain and release, buffers
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

/* ======== library ======================================================================================== */

/* The version of the library that is loaded, which may be newer than this header. Each pointer may be NULL. */
CST_EXPORT CST_ANY_THREAD void cst_version(int *major, int *minor, int *patch);
/* The same as text, for example "0.1.0". Valid for ever. */
CST_EXPORT CST_ANY_THREAD cst_string cst_version_string(void);
/* Makes the caller one more owner of any handle and returns it; NULL when it is NULL or no live handle. */
CST_EXPORT CST_ANY_THREAD void *cst_retain(void *handle);
/* Gives up one ownership of any handle; NULL is fine. CST_E_INVALID_HANDLE when it was no live handle (a double
 * release, for example), CST_E_FORKED in a forked child. What belongs to a context is freed by the context's own
 * thread at its next call. Within a callback the handle is invalid at once, but what it stands for ends with the outermost
 * call of the thread, which may be using it. A context that ends with unsaved changes is named in the log, with their counts
 * by entity: cst_context_close refuses instead. */
CST_EXPORT CST_ANY_THREAD cst_status cst_release(void *handle);
/* How many handles are alive in the process: for leak checks. */
CST_EXPORT CST_ANY_THREAD size_t cst_handle_count(void);
/* Puts a copy of bytes into a buffer, which grows as needed; a NUL follows them. */
CST_EXPORT CST_ANY_THREAD cst_status cst_buffer_fill(cst_buffer *buffer, cst_bytes bytes, cst_error **error);
/* Frees the memory of a buffer and zeroes it. NULL is fine. */
CST_EXPORT CST_ANY_THREAD void cst_buffer_dispose(cst_buffer *buffer);

#ifdef __cplusplus
}
#endif
#endif
