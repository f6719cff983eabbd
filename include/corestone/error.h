/* corestone/error.h: why a call failed
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_ERROR_H
#define CORESTONE_ERROR_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ======== error ========================================================================================== */
/* Errors never change: every function here may be called on any thread. Views live as long as the error. On NULL or an
 * invalid handle: CST_E_INVALID_HANDLE, 0, a null string, or NULL. */

/* The status of the call that failed. */
CST_EXPORT CST_ANY_THREAD cst_status cst_error_status(const cst_error *error);
/* Cocoa's code (CST_CODE_…), or the code of cst_error_new_custom; 0 when Core Data has none. */
CST_EXPORT CST_ANY_THREAD int64_t cst_error_code(const cst_error *error);
CST_EXPORT CST_ANY_THREAD CST_BORROWED cst_string cst_error_domain(const cst_error *error);
/* One or two sentences for people: what is wrong, named, and the remedy. It may be printed and logged as it is: control
 * characters in the names and values of a file are marks here, any line but the first begins with two spaces, and the
 * middle of more than 16 KB is left out. Entity, key, value and file are exact. A host's own message is what it gave. */
CST_EXPORT CST_ANY_THREAD CST_BORROWED cst_string cst_error_message(const cst_error *error);
/* The name of the entity concerned, or a null string. */
CST_EXPORT CST_ANY_THREAD CST_BORROWED cst_string cst_error_entity(const cst_error *error);
/* The name of the property concerned, or a null string. */
CST_EXPORT CST_ANY_THREAD CST_BORROWED cst_string cst_error_key(const cst_error *error);
/* The URI of the object concerned, or a null string. */
CST_EXPORT CST_ANY_THREAD CST_BORROWED cst_string cst_error_object_uri(const cst_error *error);
/* The file concerned, or a null string. */
CST_EXPORT CST_ANY_THREAD CST_BORROWED cst_string cst_error_file(const cst_error *error);
/* The value that was refused; CST_NOT_FOUND when there is none. */
CST_EXPORT CST_ANY_THREAD cst_status cst_error_value(const cst_error *error, cst_value *out_value CST_BORROWED);
/* The text of the model's condition that the value does not meet, or a null string. */
CST_EXPORT CST_ANY_THREAD CST_BORROWED cst_string cst_error_predicate(const cst_error *error);
/* SQLite's extended result code, 0 when SQLite was not involved. */
CST_EXPORT CST_ANY_THREAD int32_t cst_error_sqlite_code(const cst_error *error);
/* The byte offset in a predicate's text at which reading stopped, -1 when there is none. */
CST_EXPORT CST_ANY_THREAD int64_t cst_error_offset(const cst_error *error);
/* The failures of which this one consists: every property that failed validation, every conflict of a save, or the
 * error that a callback gave. */
CST_EXPORT CST_ANY_THREAD size_t cst_error_detail_count(const cst_error *error);
CST_EXPORT CST_ANY_THREAD CST_BORROWED const cst_error *cst_error_detail_at(const cst_error *error, size_t index);
/* Message, code and details as text of several lines. */
CST_EXPORT CST_ANY_THREAD cst_status cst_error_copy_description(const cst_error *error, cst_buffer *out_text);
/* An error of the host's own, to be returned from a callback; status CST_E_CALLBACK. The domain may be null ("Host"). */
CST_EXPORT CST_ANY_THREAD cst_status cst_error_new_custom(cst_string domain, int64_t code, cst_string message,
                                                          void *userdata, cst_destroy_fn destroy,
                                                          cst_error **out_error CST_OWNED);
/* The userdata of cst_error_new_custom; NULL for every other error. */
CST_EXPORT CST_ANY_THREAD void *cst_error_userdata(const cst_error *error);

#ifdef __cplusplus
}
#endif
#endif
