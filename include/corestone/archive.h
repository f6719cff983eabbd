/* corestone/archive.h: keyed archives as JSON, and classes of the host in archives.
 *
 * In stores of Apple's framework, the values of transformable attributes are usually keyed archives (NSKeyedArchiver).
 * cst_archive_copy_json and cst_archive_from_json convert between an archive and JSON. cst_archive_register_class
 * registers a class of the host whose archived objects become values of the host. Reading an archive never creates
 * objects of classes that are not registered. All functions may be called on any thread; registrations apply to the
 * whole process.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_ARCHIVE_H
#define CORESTONE_ARCHIVE_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Fills a buffer with the content of a keyed archive as JSON. The archive is the value of a transformable attribute in
 * Apple's format, a binary or XML property list. JSON has null, booleans, numbers (reals with a point or an exponent),
 * strings, arrays and objects; an ordered set is an array. A value without a JSON type is an object with one of these
 * keys: $date (seconds since 2001-01-01 UTC), $bytes (base64), $uuid, $uri, $decimal, $real (nan, inf, -inf), $set (an
 * array), $dictionary (a dictionary with a key that begins with $), or $object (an object of any other class: "class",
 * "fields", and "classes" if it inherits from more than NSObject).
 *
 * CST_E_UNSUPPORTED for a dictionary whose keys are not strings.
 * CST_E_STORE_CORRUPT for bytes that are not an archive, or an archive that exceeds a limit. */
CST_EXPORT CST_ANY_THREAD cst_status cst_archive_copy_json(cst_bytes archive, cst_buffer *out_json, cst_error **error);

/* Fills a buffer with a keyed archive that is created from JSON in the form of cst_archive_copy_json. The archive has
 * NSKeyedArchiver's format. It is the value of a transformable attribute without a registered transformer. Fails with
 * CST_E_INVALID_ARGUMENT for JSON in another form. */
CST_EXPORT CST_ANY_THREAD cst_status cst_archive_from_json(cst_string json, cst_buffer *out_archive, cst_error **error);

/* The callbacks that archive objects of one class of the host. Callbacks run on the thread that reads or sets the
 * attribute, possibly on several threads concurrently, and must not use the managed object. A negative status, with or
 * without *error, makes the call fail with CST_E_CALLBACK, with entity and key. Start from
 * CST_ARCHIVE_CLASS_CALLBACKS_INIT. */
typedef struct cst_archive_class_callbacks {
    size_t struct_size;
    /* Fills the buffer (cst_buffer_fill) with the fields of a value.
     *
     * The fields are a JSON object in the form of cst_archive_copy_json. */
    cst_status (*to_fields)(void *userdata, const void *value, cst_buffer *out_json, cst_error **error);
    /* Creates the value for fields in the form of to_fields. The text is NUL-terminated and may come from an untrusted
     * file. The library keeps the value until it calls free_value. */
    cst_status (*from_fields)(void *userdata, cst_string json, void **out_value, cst_error **error);
    /* May be NULL. Called once for each value that from_fields created or that was set, on any thread. */
    void (*free_value)(void *userdata, void *value);
    void *userdata;
    /* May be NULL. Called once, after the class was replaced or deregistered and its last value was freed. */
    cst_destroy_fn destroy;
} cst_archive_class_callbacks;
#define CST_ARCHIVE_CLASS_CALLBACKS_INIT {sizeof(cst_archive_class_callbacks), NULL, NULL, NULL, NULL, NULL}

/* Registers a class under its archived name, the name of the class on Apple's platforms. A transformable attribute
 * whose archive is an object of that class then has values of the host (cst_object_get_transformed), and accepts them
 * if the model names the class (cst_attribute_set_value_class). Replaces a former registration of that name. On failure
 * `destroy` is called too. */
CST_EXPORT CST_ANY_THREAD cst_status cst_archive_register_class(cst_string class_name,
                                                                const cst_archive_class_callbacks *callbacks,
                                                                cst_error **error);

/* Deregisters a class of the host. Returns CST_NOT_FOUND if no class of that name is registered. */
CST_EXPORT CST_ANY_THREAD cst_status cst_archive_unregister_class(cst_string class_name, cst_error **error);

/* Fills a buffer with the types of values that a transformable attribute of a Foundation class accepts. The types are
 * separated by spaces: bool, int, double, decimal, string, uri, bytes, date, uuid, array, set, dictionary. Returns
 * CST_NOT_FOUND for an unknown class, which accepts every type. For bindings to other languages. */
CST_EXPORT CST_ANY_THREAD cst_status cst_archive_copy_class_kinds(cst_string class_name, cst_buffer *out_kinds,
                                                                  cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
