/* corestone/accessor.h: C functions that get or set one property
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_ACCESSOR_H
#define CORESTONE_ACCESSOR_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ======== accessor ======================================================================================= */

/* What an accessor does, and its type in C. T is the property's type: int16_t, int32_t, int64_t, float, double, bool;
 * double for a date (seconds since 2001-01-01 UTC); cst_string for a string or a URI; cst_bytes for binary data and the stored
 * bytes of a transformable; cst_uuid; cst_object * for a to-one relationship; cst_value for a decimal or an attribute without
 * a type. The kinds without T are the same for every property. */
enum {
    /* T (*)(const cst_object *, cst_error **): the value as cst_object_get lends it; zero when it is null or the call failed.
     * To-many: cst_results *(*)(const cst_object *, cst_error **), a snapshot of the members, owned. */
    CST_ACCESSOR_GET = 1,
    /* cst_status (*)(cst_object *, T, cst_error **). To-many: all members, as CST_ACCESSOR_ADD_MANY takes them. */
    CST_ACCESSOR_SET = 2,
    CST_ACCESSOR_IS_NULL = 3,  /* bool (*)(const cst_object *, cst_error **) */
    CST_ACCESSOR_SET_NULL = 4, /* cst_status (*)(cst_object *, cst_error **) */
    /* As GET and SET, past everything that watches the property: a value set so neither counts as a change nor changes an
     * inverse; it is saved with the object's other changes, and a refresh drops it. */
    CST_ACCESSOR_GET_PRIMITIVE = 5,
    CST_ACCESSOR_SET_PRIMITIVE = 6,
    /* To-many relationships. */
    CST_ACCESSOR_COUNT = 7,        /* size_t (*)(const cst_object *, cst_error **) */
    CST_ACCESSOR_CONTAINS = 8,     /* bool (*)(const cst_object *, const cst_object *member, cst_error **) */
    CST_ACCESSOR_ADD = 9,          /* cst_status (*)(cst_object *, cst_object *member, cst_error **) */
    CST_ACCESSOR_REMOVE = 10,      /* the same */
    CST_ACCESSOR_ADD_MANY = 11,    /* cst_status (*)(cst_object *, size_t, cst_object *const *members, cst_error **) */
    CST_ACCESSOR_REMOVE_MANY = 12, /* the same */
    /* Ordered to-many relationships. */
    CST_ACCESSOR_MEMBER_AT = 13,  /* cst_object *(*)(const cst_object *, size_t index, cst_error **), owned */
    CST_ACCESSOR_INSERT_AT = 14,  /* cst_status (*)(cst_object *, size_t index, cst_object *member, cst_error **) */
    CST_ACCESSOR_REMOVE_AT = 15,  /* cst_status (*)(cst_object *, size_t index, cst_error **) */
    CST_ACCESSOR_REPLACE_AT = 16, /* cst_status (*)(cst_object *, size_t index, cst_object *member, cst_error **) */
    CST_ACCESSOR_MOVE = 17        /* cst_status (*)(cst_object *, size_t from, size_t to, cst_error **) */
};

typedef struct cst_uuid {
    uint8_t bytes[16];
} cst_uuid;

/* Any function; cast it to the type that its kind and its property have. */
typedef void (*cst_function)(void);

/* A C function that reads or changes one property (inherited ones included): what @dynamic is in Objective-C. There is one
 * for a property and a kind, so asking again gives the same. It takes objects of the entity that declares the property and of
 * all that inherit from it, on their context's queue, and lives as long as the model. Freezes the model. CST_NOT_FOUND when
 * there is no such property, CST_E_INVALID_ARGUMENT when the kind does not suit it. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_accessor(const cst_entity *entity, cst_string property, uint32_t kind,
                                                         cst_function *out_function, cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
