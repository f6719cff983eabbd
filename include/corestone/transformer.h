/* corestone/transformer.h: transformers: values of the host in transformable attributes.
 *
 * The value of a transformable attribute is stored as bytes. A transformer, registered by name for the whole process,
 * converts between these bytes and a value of the host; cst_attribute_set_transformer_name names it in the model.
 * cst_object_get_transformed and cst_object_set_transformed read and set such values. All functions may be called on
 * any thread.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_TRANSFORMER_H
#define CORESTONE_TRANSFORMER_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The callbacks of a transformer. They run on the thread that reads or sets the attribute, possibly on several threads
 * concurrently, and must not use the managed object. A negative status, with or without *error, makes the call fail
 * with CST_E_CALLBACK, with entity and key. Start from CST_TRANSFORMER_CALLBACKS_INIT. */
typedef struct cst_transformer_callbacks {
    size_t struct_size;
    /* Fills the buffer (cst_buffer_fill) with the bytes for a value. */
    cst_status (*transform)(void *userdata, const void *value, cst_buffer *out_bytes, cst_error **error);
    /* Creates the value for bytes, which may come from an untrusted file. The library keeps the value until it calls
     * free_value. */
    cst_status (*reverse)(void *userdata, cst_bytes bytes, void **out_value, cst_error **error);
    /* May be NULL. Called once for each value that reverse created or that was set, on any thread. */
    void (*free_value)(void *userdata, void *value);
    void *userdata;
    /* May be NULL. Called once, after the transformer was replaced or deregistered and its last value was freed. */
    cst_destroy_fn destroy;
} cst_transformer_callbacks;
#define CST_TRANSFORMER_CALLBACKS_INIT {sizeof(cst_transformer_callbacks), NULL, NULL, NULL, NULL, NULL}

/* Registers a transformer and replaces a former one of that name. The built-in transformers have Apple's names
 * (NSSecureUnarchiveFromData and so on: keyed archives) or the name JSON. Their values are the bytes that
 * cst_object_get returns; see cst_archive_copy_json. On failure `destroy` is called too. */
CST_EXPORT CST_ANY_THREAD cst_status cst_transformer_register(cst_string name,
                                                              const cst_transformer_callbacks *callbacks,
                                                              cst_error **error);

/* Registers a transformer that calls two functions, by their names. The functions must be registered for predicates
 * (cst_function_register, cst_function_register_typed) when the transformer is used. `transform` returns bytes or text
 * for a value; `reverse` returns the value for bytes. cst_object_get_transformed then returns a const cst_value * that
 * the library owns, and cst_object_set_transformed copies a cst_value of the host. */
CST_EXPORT CST_ANY_THREAD cst_status cst_transformer_register_functions(cst_string name, cst_string transform,
                                                                        cst_string reverse, cst_error **error);

/* Deregisters a transformer. Returns CST_NOT_FOUND if no transformer of that name is registered. */
CST_EXPORT CST_ANY_THREAD cst_status cst_transformer_unregister(cst_string name, cst_error **error);

/* Whether a transformer is registered under a name. False for the built-in transformers. */
CST_EXPORT CST_ANY_THREAD cst_status cst_transformer_is_registered(cst_string name, bool *out_registered,
                                                                   cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
