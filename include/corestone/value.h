/* corestone/value.h: values that calls return, values of the host, and key paths.
 *
 * cst_value itself is in types.h, constructors are in inline.h. A value that a call returns as CST_OWNED must be freed
 * with cst_value_dispose. cst_value_copy_at_key_path reads a value by key path.
 *
 * Predicates, expressions and sort descriptors also accept values that properties cannot have: CST_ARRAY, CST_SET and
 * CST_DICTIONARY of values, nested up to 64 deep, and CST_HOST, an object that only the host can read, by
 * cst_host_callbacks. Calls copy such values and retain such objects.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_VALUE_H
#define CORESTONE_VALUE_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The callbacks by which the library reads an object of the host (CST_HOST). Callbacks run on the thread of the call
 * that needs them. A value that a callback returns must stay valid until the next call of the callback on that thread.
 * If a callback returns a negative status, with or without *error, the evaluation fails with CST_E_CALLBACK. Each
 * callback may be NULL: objects then do not have keys, are equal if their `object` is the same, and cannot be ordered.
 * Start from CST_HOST_CALLBACKS_INIT. */
typedef struct cst_host_callbacks {
    size_t struct_size;
    /* Returns the value of a key. CST_NOT_FOUND means that the key does not exist; the call of the library then fails
     * with an error that names key and class. */
    cst_status (*value_for_key)(void *object, cst_string key, cst_value *out_value, cst_error **error);
    /* Returns the number of values in a list; requires `element`. CST_NOT_FOUND means that the object is not a list. */
    cst_status (*count)(void *object, size_t *out_count, cst_error **error);
    /* Returns the value at an index of a list. */
    cst_status (*element)(void *object, size_t index, cst_value *out_value, cst_error **error);
    /* Returns the name of the object's class for messages, NUL-terminated. */
    const char *(*class_name)(void *object);
    /* Whether two objects with the same callbacks are equal. Equal objects must have equal hashes. */
    bool (*is_equal)(void *object, void *other);
    uint64_t (*hash)(void *object);
    /* Returns a negative number if `object` comes first, a positive number if `other` does. CST_NOT_FOUND means that
     * the objects cannot be ordered. */
    cst_status (*compare)(void *object, void *other, int32_t *out_order, cst_error **error);
    /* Retain and release the object, on any thread. The library calls both functions the same number of times. */
    void (*retain)(void *object);
    void (*release)(void *object);
} cst_host_callbacks;
#define CST_HOST_CALLBACKS_INIT {sizeof(cst_host_callbacks), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL}

/* Frees the content of a value that a call returned as CST_OWNED: text, bytes, members, handles, objects of the host.
 * The value is null afterwards. NULL is allowed. A borrowed value is not changed. */
CST_EXPORT CST_ANY_THREAD void cst_value_dispose(cst_value *value);

/* Returns the value at a key path, collection operators included: "department.name", "employees.@avg.salary". Objects
 * are read on their queue. The caller frees the result with cst_value_dispose. */
CST_EXPORT CST_ON_QUEUE cst_status cst_value_copy_at_key_path(const cst_value *value, cst_string path,
                                                              cst_value *out_value CST_OWNED, cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
