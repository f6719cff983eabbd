/* corestone/transformer.h: transformers of transformable attributes
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_TRANSFORMER_H
#define CORESTONE_TRANSFORMER_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ======== transformer ==================================================================================== */

/* What stands between the values of a transformable attribute, which the host alone knows, and the bytes that stores keep.
 * Called on the thread that uses the object, on several at once; not to call back into the object. A negative status, with
 * *error set or not, makes the call fail with CST_E_CALLBACK, entity and key. */
typedef struct cst_transformer_callbacks {
    size_t struct_size;
    /* Fills the buffer (cst_buffer_fill) with the bytes for a value. */
    cst_status (*transform)(void *userdata, const void *value, cst_buffer *out_bytes, cst_error **error);
    /* Makes the value for bytes, which may come from a stranger's file. The library keeps it until it calls free_value. */
    cst_status (*reverse)(void *userdata, cst_bytes bytes, void **out_value, cst_error **error);
    /* May be NULL. Called once for each value that reverse made or that was set, on any thread. */
    void (*free_value)(void *userdata, void *value);
    void *userdata;
    /* May be NULL. Called once, when the transformer was replaced or unregistered and its last value was freed. */
    cst_destroy_fn destroy;
} cst_transformer_callbacks;
#define CST_TRANSFORMER_CALLBACKS_INIT {sizeof(cst_transformer_callbacks), NULL, NULL, NULL, NULL, NULL}

/* Makes a transformer known in the whole process, instead of a former one of that name. Built in are the names of Apple's own
 * (NSSecureUnarchiveFromData and its like: keyed archives) and JSON, whose values are the bytes as cst_object_get gives them;
 * see cst_archive_copy_json. On failure `destroy` is called too. */
CST_EXPORT CST_ANY_THREAD cst_status cst_transformer_register(cst_string name,
                                                              const cst_transformer_callbacks *callbacks,
                                                              cst_error **error);
/* The same of two functions that predicates know too (cst_function_register, cst_function_register_typed), by name: one makes
 * bytes or text of a value, the other the value of bytes. What cst_object_get_transformed gives is then a const cst_value *
 * of the library's; what cst_object_set_transformed gets is one of the host's, which is copied. */
CST_EXPORT CST_ANY_THREAD cst_status cst_transformer_register_functions(cst_string name, cst_string transform,
                                                                        cst_string reverse, cst_error **error);
/* Forgets a transformer; CST_NOT_FOUND when none of that name was registered. */
CST_EXPORT CST_ANY_THREAD cst_status cst_transformer_unregister(cst_string name, cst_error **error);
/* Whether a host registered a transformer under the name; the built-in ones were not. */
CST_EXPORT CST_ANY_THREAD cst_status cst_transformer_is_registered(cst_string name, bool *out_registered,
                                                                   cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
