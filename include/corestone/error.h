/* corestone/error.h: errors of failed calls.
 *
 * A call that fails returns an error through its `error` parameter, unless that is NULL. The caller owns the error and
 * releases it with cst_release. An error has a status, a message, and the names of the entity, property, object and
 * file concerned. An error with several causes has details, which are errors themselves.
 *
 * Errors never change, and every function here may be called on any thread. Text lives as long as the error. For NULL
 * and for an invalid handle the functions return CST_E_INVALID_HANDLE, 0, -1, a null string or NULL.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_ERROR_H
#define CORESTONE_ERROR_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the status of the failed call, a CST_E_ constant. The details of an incomplete save (cst_context_save) may
 * also have CST_OK and CST_UNCHANGED. */
CST_EXPORT CST_ANY_THREAD cst_status cst_error_status(const cst_error *error);

/* Returns the code of the error: one of Core Data's codes (CST_CODE_…), or that of cst_error_new_custom.
 *
 * Returns 0 for an error for which Core Data does not have a code. */
CST_EXPORT CST_ANY_THREAD int64_t cst_error_code(const cst_error *error);

/* Returns the domain of the error's code: "NSCocoaErrorDomain", or the domain of cst_error_new_custom. */
CST_EXPORT CST_ANY_THREAD CST_BORROWED cst_string cst_error_domain(const cst_error *error);

/* Returns the message, one or two sentences: the problem, the names involved, and the remedy. The message can be
 * printed and logged unchanged. Control characters in names and values of a file are replaced by visible symbols, and
 * every line but the first begins with two spaces. A message of more than 16 KB is shortened in the middle. Use the
 * other functions for exact names and values. The message of cst_error_new_custom is unchanged. */
CST_EXPORT CST_ANY_THREAD CST_BORROWED cst_string cst_error_message(const cst_error *error);

/* Returns the name of the entity concerned, or a null string. */
CST_EXPORT CST_ANY_THREAD CST_BORROWED cst_string cst_error_entity(const cst_error *error);

/* Returns the name of the property or parameter concerned, or a null string. */
CST_EXPORT CST_ANY_THREAD CST_BORROWED cst_string cst_error_key(const cst_error *error);

/* Returns the URI of the object concerned, or a null string. */
CST_EXPORT CST_ANY_THREAD CST_BORROWED cst_string cst_error_object_uri(const cst_error *error);

/* Returns the path of the file concerned, or a null string. */
CST_EXPORT CST_ANY_THREAD CST_BORROWED cst_string cst_error_file(const cst_error *error);

/* Returns the rejected value, which is borrowed from the error. The value may be a CST_ARRAY, CST_SET or
 * CST_DICTIONARY, with objects as CST_OBJECT_ID. Returns CST_NOT_FOUND if the error does not have a value. */
CST_EXPORT CST_ANY_THREAD cst_status cst_error_value(const cst_error *error, cst_value *out_value CST_BORROWED);

/* Returns the text of the model's predicate that the value does not satisfy, or a null string. */
CST_EXPORT CST_ANY_THREAD CST_BORROWED cst_string cst_error_predicate(const cst_error *error);

/* Returns SQLite's extended result code, or 0 if SQLite was not involved. */
CST_EXPORT CST_ANY_THREAD int32_t cst_error_sqlite_code(const cst_error *error);

/* Returns the byte offset at which reading stopped in a text or a file, such as a predicate or a model, or -1. */
CST_EXPORT CST_ANY_THREAD int64_t cst_error_offset(const cst_error *error);

/* Returns the number of details.
 *
 * An error has for example one detail for each property that failed validation, or one for the error of a callback. */
CST_EXPORT CST_ANY_THREAD size_t cst_error_detail_count(const cst_error *error);

/* Returns the detail at an index, borrowed from the error, or NULL past the last one. */
CST_EXPORT CST_ANY_THREAD CST_BORROWED const cst_error *cst_error_detail_at(const cst_error *error, size_t index);

/* Fills a buffer with the message, the code and the details as text of several lines. */
CST_EXPORT CST_ANY_THREAD cst_status cst_error_copy_description(const cst_error *error, cst_buffer *out_text);

/* Creates an error of the host, for a callback to return through its `error` parameter. The error has the status
 * CST_E_CALLBACK. A null `domain` is "Host". `destroy`, which may be NULL, frees `userdata` together with the error,
 * or, if this call fails, before it returns. */
CST_EXPORT CST_ANY_THREAD cst_status cst_error_new_custom(cst_string domain, int64_t code, cst_string message,
                                                          void *userdata, cst_destroy_fn destroy,
                                                          cst_error **out_error CST_OWNED);

/* Returns the userdata of cst_error_new_custom, or NULL for every other error. */
CST_EXPORT CST_ANY_THREAD void *cst_error_userdata(const cst_error *error);

#ifdef __cplusplus
}
#endif
#endif
