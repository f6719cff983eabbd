/* corestone/accessor.h: accessors: C functions that get or set one property.
 *
 * cst_entity_accessor creates a C function for a property at run time, with the C type of the property: the counterpart
 * of @dynamic in Objective-C. `corestone model codegen --language c` writes a header with such functions for a whole
 * model. The first argument of an accessor is an object; call the accessor on the queue of the object's context. An
 * accessor is valid as long as its model, and must not be released.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_ACCESSOR_H
#define CORESTONE_ACCESSOR_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The kinds of accessors and their C types. A type without T is the same for every property. T is the C type of the
 * property:
 *
 *   int16_t, int32_t, int64_t, float, double, bool, cst_uuid
 *   double       a date: seconds since 2001-01-01 UTC
 *   cst_string   a string or a URI
 *   cst_bytes    binary data, and the stored bytes of a transformable attribute
 *   cst_object * a to-one relationship
 *   cst_value    a decimal, and an attribute without type */
enum {
    /* T (*)(const cst_object *, cst_error **): the value, borrowed like that of cst_object_get. Zero for null and after
     * a failure. To-many: cst_results *(*)(const cst_object *, cst_error **), a snapshot of the members, owned. */
    CST_ACCESSOR_GET = 1,
    /* cst_status (*)(cst_object *, T, cst_error **). To-many: sets all members, passed as for CST_ACCESSOR_ADD_MANY. */
    CST_ACCESSOR_SET = 2,
    CST_ACCESSOR_IS_NULL = 3,  /* bool (*)(const cst_object *, cst_error **) */
    CST_ACCESSOR_SET_NULL = 4, /* cst_status (*)(cst_object *, cst_error **) */
    /* Like GET and SET, but without change tracking.
     *
     * A value set in this way does not count as a change and does not change an inverse. Such a value is saved with
     * other changes of the object, and discarded by a refresh. */
    CST_ACCESSOR_GET_PRIMITIVE = 5,
    CST_ACCESSOR_SET_PRIMITIVE = 6,
    /* To-many relationships. */
    CST_ACCESSOR_COUNT = 7,        /* size_t (*)(const cst_object *, cst_error **) */
    CST_ACCESSOR_CONTAINS = 8,     /* bool (*)(const cst_object *, const cst_object *member, cst_error **) */
    CST_ACCESSOR_ADD = 9,          /* cst_status (*)(cst_object *, cst_object *member, cst_error **) */
    CST_ACCESSOR_REMOVE = 10,      /* like ADD */
    CST_ACCESSOR_ADD_MANY = 11,    /* cst_status (*)(cst_object *, size_t, cst_object *const *members, cst_error **) */
    CST_ACCESSOR_REMOVE_MANY = 12, /* like ADD_MANY */
    /* Ordered to-many relationships. */
    CST_ACCESSOR_MEMBER_AT = 13,  /* cst_object *(*)(const cst_object *, size_t index, cst_error **), owned */
    CST_ACCESSOR_INSERT_AT = 14,  /* cst_status (*)(cst_object *, size_t index, cst_object *member, cst_error **) */
    CST_ACCESSOR_REMOVE_AT = 15,  /* cst_status (*)(cst_object *, size_t index, cst_error **) */
    CST_ACCESSOR_REPLACE_AT = 16, /* cst_status (*)(cst_object *, size_t index, cst_object *member, cst_error **) */
    CST_ACCESSOR_MOVE = 17        /* cst_status (*)(cst_object *, size_t from, size_t to, cst_error **) */
};

/* A UUID as a parameter or result of accessors: its 16 bytes in order. */
typedef struct cst_uuid {
    uint8_t bytes[16];
} cst_uuid;

/* A C function of any type. Cast it to the type that its kind and its property require. */
typedef void (*cst_function)(void);

/* Returns the C function of a kind (CST_ACCESSOR_…) for a property, which may be inherited. There is one function for
 * each property and kind, so a second call returns the same function. The function accepts objects of the entity that
 * declares the property, and of all its subentities. Freezes the model. Returns CST_NOT_FOUND if there is no such
 * property.
 *
 * CST_E_INVALID_ARGUMENT if the property does not have an accessor of this kind.
 * CST_E_TYPE_MISMATCH for a composite attribute, which does not have accessors. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_accessor(const cst_entity *entity, cst_string property, uint32_t kind,
                                                         cst_function *out_function, cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
