/* corestone/archive.h: keyed archives as JSON, classes of the host
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_ARCHIVE_H
#define CORESTONE_ARCHIVE_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ======== archive ======================================================================================== */

/* What a keyed archive (the value of a transformable attribute of Apple's, a property list in binary or in XML) holds, as
 * JSON: null, booleans, numbers (reals with a point or an exponent), strings, arrays, objects. An ordered set is an array.
 * What JSON has no type for is an object with one key: $date (seconds since 2001-01-01 UTC), $bytes (base64), $uuid, $uri,
 * $decimal, $real (nan, inf, -inf), $set (an array), $dictionary (one with a key that begins with $), $object (an object of
 * any other class: "class", "fields", and "classes" where it inherits from more than NSObject). No class that the archive
 * names is ever made. CST_E_UNSUPPORTED for a dictionary whose keys are no strings; CST_E_STORE_CORRUPT when the bytes are no
 * archive, or one beyond a limit. */
CST_EXPORT CST_ANY_THREAD cst_status cst_archive_copy_json(cst_bytes archive, cst_buffer *out_json, cst_error **error);

/* The keyed archive of the same JSON, as NSKeyedArchiver writes it: what a transformable attribute without a transformer of
 * its own holds. CST_E_INVALID_ARGUMENT for what is no such JSON. */
CST_EXPORT CST_ANY_THREAD cst_status cst_archive_from_json(cst_string json, cst_buffer *out_archive, cst_error **error);

/* How objects of one class of the host's stand in keyed archives. Called on the thread that uses the object, on several at
 * once; not to call back into the object. A negative status, with *error set or not, makes the call fail with CST_E_CALLBACK,
 * entity and key. */
typedef struct cst_archive_class_callbacks {
    size_t struct_size;
    /* Fills the buffer (cst_buffer_fill) with the fields of a value: a JSON object as cst_archive_copy_json writes it. */
    cst_status (*to_fields)(void *userdata, const void *value, cst_buffer *out_json, cst_error **error);
    /* Makes the value for such fields (NUL-terminated), which may come from a stranger's file. The library keeps it until it
     * calls free_value. */
    cst_status (*from_fields)(void *userdata, cst_string json, void **out_value, cst_error **error);
    /* May be NULL. Called once for each value that from_fields made or that was set, on any thread. */
    void (*free_value)(void *userdata, void *value);
    void *userdata;
    /* May be NULL. Called once, when the class was replaced or unregistered and its last value was freed. */
    cst_destroy_fn destroy;
} cst_archive_class_callbacks;
#define CST_ARCHIVE_CLASS_CALLBACKS_INIT {sizeof(cst_archive_class_callbacks), NULL, NULL, NULL, NULL, NULL}

/* Makes a class known in the whole process, by its archived name, that of the class in Apple's host. A transformable attribute
 * whose archive is an object of that class then has values of the host's (cst_object_get_transformed), and takes them where
 * the model names the class (cst_attribute_set_value_class). On failure `destroy` is called too. */
CST_EXPORT CST_ANY_THREAD cst_status cst_archive_register_class(cst_string class_name,
                                                                const cst_archive_class_callbacks *callbacks,
                                                                cst_error **error);
/* Forgets a class; CST_NOT_FOUND when none of that name was registered. */
CST_EXPORT CST_ANY_THREAD cst_status cst_archive_unregister_class(cst_string class_name, cst_error **error);
/* What values may be set where the model names a class of Foundation's, words with spaces between: bool, int, double, decimal,
 * string, uri, bytes, date, uuid, array, set, dictionary. CST_NOT_FOUND for a class that the library does not know, which
 * excludes nothing. For bindings, which know the types of their language. */
CST_EXPORT CST_ANY_THREAD cst_status cst_archive_copy_class_kinds(cst_string class_name, cst_buffer *out_kinds,
                                                                  cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
