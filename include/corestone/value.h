/* corestone/value.h: values of the host, key paths
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_VALUE_H
#define CORESTONE_VALUE_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ======== value ========================================================================================== */
/* Values of the host's own, as predicates, expressions and sort descriptors see them: CST_ARRAY, CST_SET and CST_DICTIONARY
 * of further values, up to 64 deep, and CST_HOST for what only the host knows. What a call is given is copied. */

/* How the library asks a CST_HOST: on the thread of the call that needs the answer. What a callback gives has to stay valid
 * until its next call on that thread. A negative status, with *error set or not, ends the evaluation with CST_E_CALLBACK.
 * Each may be NULL: such objects then have no keys, are equal when their `object` is the same, and have no order. */
typedef struct cst_host_callbacks {
    size_t struct_size;
    /* The value of a key. CST_NOT_FOUND: it has no such key, which is an error that names key and class. */
    cst_status (*value_for_key)(void *object, cst_string key, cst_value *out_value, cst_error **error);
    /* With `element`: it is a list of that many values. CST_NOT_FOUND: this one is none. */
    cst_status (*count)(void *object, size_t *out_count, cst_error **error);
    cst_status (*element)(void *object, size_t index, cst_value *out_value, cst_error **error);
    const char *(*class_name)(void *object); /* NUL-terminated */
    /* Between objects with the same callbacks. Equal ones have equal hashes. */
    bool (*is_equal)(void *object, void *other);
    uint64_t (*hash)(void *object);
    /* Negative when `object` comes first, positive when `other` does. CST_NOT_FOUND: they have no order. */
    cst_status (*compare)(void *object, void *other, int32_t *out_order, cst_error **error);
    /* The library keeps it, and lets go again: as often, on any thread. */
    void (*retain)(void *object);
    void (*release)(void *object);
} cst_host_callbacks;
#define CST_HOST_CALLBACKS_INIT {sizeof(cst_host_callbacks), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL}

/* Frees what a call gave as CST_OWNED value: text, bytes, members, handles, host objects. The value is null then. NULL is
 * fine, and so is a value that a call only lent: it stays as it is. */
CST_EXPORT CST_ANY_THREAD void cst_value_dispose(cst_value *value);
/* The value at a key path, collection operators included: "department.name", "employees.@avg.salary". Objects on their
 * queue. */
CST_EXPORT CST_ON_QUEUE cst_status cst_value_copy_at_key_path(const cst_value *value, cst_string path,
                                                              cst_value *out_value CST_OWNED, cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
