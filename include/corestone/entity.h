/* corestone/entity.h: entities, their properties, indexes, validators
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_ENTITY_H
#define CORESTONE_ENTITY_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ======== entity ========================================================================================= */

/* The entity's name; a null string for an invalid handle. Valid as long as the model. */
CST_EXPORT CST_ANY_THREAD CST_BORROWED cst_string cst_entity_name(const cst_entity *entity);
/* What the model's localisation calls the entity; its name when there is no entry. */
CST_EXPORT CST_ANY_THREAD CST_BORROWED cst_string cst_entity_localized_name(const cst_entity *entity);
/* What it calls a property of the entity, inherited ones included: the most specific of its entries, or the property's
 * name. CST_NOT_FOUND when there is no such property. The model must be frozen. */
CST_EXPORT CST_ANY_THREAD cst_status cst_entity_localized_property_name(const cst_entity *entity, cst_string property,
                                                                        cst_string *out_text CST_BORROWED,
                                                                        cst_error **error);
/* Makes the entity inherit the properties of another one of the same model; with NULL it is a root again. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_set_parent(cst_entity *entity, cst_entity *parent, cst_error **error);
/* The entity from which it inherits; CST_NOT_FOUND for a root. */
CST_EXPORT CST_ANY_THREAD cst_status cst_entity_parent(const cst_entity *entity, cst_entity **out_parent CST_BORROWED,
                                                       cst_error **error);
/* The entities that inherit from it directly, by position; CST_END past the last one. */
CST_EXPORT CST_ANY_THREAD cst_status cst_entity_child_at(const cst_entity *entity, size_t index,
                                                         cst_entity **out_child CST_BORROWED, cst_error **error);
/* Whether it is the other entity or inherits from it. */
CST_EXPORT CST_ANY_THREAD cst_status cst_entity_is_kind_of(const cst_entity *entity, const cst_entity *other,
                                                           bool *out_kind, cst_error **error);
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_set_abstract(cst_entity *entity, bool is_abstract, cst_error **error);
CST_EXPORT CST_ANY_THREAD cst_status cst_entity_is_abstract(const cst_entity *entity, bool *out_abstract,
                                                            cst_error **error);
/* The name of the class of an Apple host; null is "NSManagedObject", as it is unless set. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_set_class_name(cst_entity *entity, cst_string name, cst_error **error);
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_set_user_info(cst_entity *entity, cst_string key, cst_string value,
                                                              cst_error **error);
/* CST_NOT_FOUND when the key has no value. */
CST_EXPORT CST_ANY_THREAD cst_status cst_entity_user_info(const cst_entity *entity, cst_string key,
                                                          cst_string *out_value CST_BORROWED, cst_error **error);
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_set_version_hash_modifier(cst_entity *entity, cst_string modifier,
                                                                          cst_error **error);
/* A fetch index over attributes or to-one relationships of the entity, ascending. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_add_index(cst_entity *entity, cst_string name, size_t count,
                                                          const cst_string *properties, cst_error **error);
enum {
    CST_INDEX_DESCENDING = 1u << 0,
    CST_INDEX_RTREE = 1u << 1 /* for ranges of numbers; of all elements of an index or of none */
};

/* What an index is over: an attribute or a to-one relationship, or else an expression. */
typedef struct cst_index_element {
    cst_string property;
    cst_string expression;   /* "entity", "SELF", "price * count"; null with a property */
    cst_attribute_type type; /* of the expression's values; CST_ATTRIBUTE_UNDEFINED when it does not matter */
    uint32_t flags;          /* CST_INDEX_… */
} cst_index_element;

/* A fetch index of any kind. Only objects for which `predicate` holds are in it; NULL: all. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_add_fetch_index(cst_entity *entity, cst_string name, size_t count,
                                                                const cst_index_element *elements,
                                                                const cst_predicate *predicate, cst_error **error);
/* The combination of these attributes must be unique among the entity's objects. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_add_unique_constraint(cst_entity *entity, size_t count,
                                                                      const cst_string *attributes, cst_error **error);
/* The 32 bytes of the version hash that Apple's framework expects in a store. Freezes the model. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_version_hash(const cst_entity *entity, uint8_t *out_hash,
                                                             cst_error **error);
/* The 32 bytes that a property, inherited ones included, adds to the hash of the entity. Freezes the model. CST_NOT_FOUND when
 * there is no such property, and when it is transient or fetched and adds nothing. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_property_version_hash(const cst_entity *entity, cst_string name,
                                                                      uint8_t *out_hash, cst_error **error);

/* Flags of a property. */
enum {
    CST_PROPERTY_OPTIONAL = 1u << 0,
    CST_PROPERTY_TRANSIENT = 1u << 1,
    CST_PROPERTY_TO_MANY = 1u << 2,           /* relationships */
    CST_PROPERTY_ORDERED = 1u << 3,           /* to-many relationships */
    CST_PROPERTY_INDEXED = 1u << 4,           /* attributes: a fetch index of the same name */
    CST_PROPERTY_EXTERNAL_STORAGE = 1u << 5,  /* binary and transformable attributes */
    CST_PROPERTY_PRESERVED = 1u << 6,         /* attributes: kept in history when the object is deleted */
    CST_PROPERTY_ALLOWS_NAN = 1u << 7,        /* double and float attributes: NaN and infinities pass validation */
    CST_PROPERTY_SPOTLIGHT = 1u << 8,         /* Spotlight finds objects by the value */
    CST_PROPERTY_EXTERNAL_RECORD = 1u << 9,   /* the value goes into external records */
    CST_PROPERTY_CLOUD_ENCRYPTION = 1u << 10, /* attributes: CloudKit keeps the values encrypted */
    CST_PROPERTY_DERIVED = 1u << 11,          /* told of derived attributes, never set */
    CST_PROPERTY_IGNORES_CHANGES = 1u << 12   /* transient attributes: a change makes no object one that has changes */
};

/* Adds an attribute. out_attribute may be NULL. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_add_attribute(cst_entity *entity, cst_string name,
                                                              cst_attribute_type type, uint32_t flags,
                                                              cst_attribute **out_attribute CST_BORROWED,
                                                              cst_error **error);
/* Adds a relationship with delete rule Nullify; to-one unless CST_PROPERTY_TO_MANY. out_relationship may be NULL. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_add_relationship(cst_entity *entity, cst_string name,
                                                                 cst_entity *destination, uint32_t flags,
                                                                 cst_relationship **out_relationship CST_BORROWED,
                                                                 cst_error **error);

enum { CST_PROPERTY_ATTRIBUTE = 1, CST_PROPERTY_RELATIONSHIP = 2, CST_PROPERTY_FETCHED = 3 };

/* What a property is. Set struct_size before the call. Views live as long as the model. */
typedef struct cst_property_info {
    size_t struct_size;
    cst_string name;
    uint32_t kind;  /* CST_PROPERTY_ATTRIBUTE, _RELATIONSHIP or _FETCHED */
    uint32_t flags; /* CST_PROPERTY_OPTIONAL … */
    cst_attribute_type attribute_type;
    cst_key key;             /* CST_NO_KEY before the model is frozen, and of fetched properties */
    cst_entity *destination; /* of a fetched property the entity that is fetched */
    cst_string inverse;      /* a null string when there is none */
    uint32_t delete_rule;    /* CST_DELETE_… */
    uint32_t minimum_count;  /* relationships */
    uint32_t maximum_count;  /* 0: no bound */
    cst_entity *entity;      /* that declares it */
} cst_property_info;
#define CST_PROPERTY_INFO_INIT                                                                                         \
    {sizeof(cst_property_info), {NULL, 0}, 0, 0, 0, CST_NO_KEY, NULL, {NULL, 0}, 0, 0, 0, NULL}

/* How many properties the entity has, inherited ones included. */
CST_EXPORT CST_ANY_THREAD size_t cst_entity_property_count(const cst_entity *entity);
/* A property by position, inherited ones first; fetched properties come last. CST_END past the last one. */
CST_EXPORT CST_ANY_THREAD cst_status cst_entity_property_at(const cst_entity *entity, size_t index,
                                                            cst_property_info *out_info, cst_error **error);
/* The key of a property, inherited ones included, or of an element ("location.latitude"); CST_NOT_FOUND when there is no
 * such property. Freezes the model. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_key(const cst_entity *entity, cst_string property, cst_key *out_key,
                                                    cst_error **error);

/* Editing: a model that is not frozen can be changed in every way. A removal or a new name that is refused changes nothing
 * and, unlike a mistake in construction, is forgotten; so is a model's refusal to be frozen. A handle of what was removed
 * is CST_E_INVALID_HANDLE, a view of a text that was changed is not valid any more. Properties are named, and must be the
 * entity's own. */

/* Takes the entity out of its model, with what cannot be without it: relationships that lead to it, fetched properties and
 * fetch requests that fetch it, its places in configurations. Entities that inherit from it inherit from its parent then. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_remove(cst_entity *entity, cst_error **error);
/* Configurations, fetch requests and the localisation follow. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_rename(cst_entity *entity, cst_string name, cst_error **error);
/* The name in models of older versions; null is none. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_set_renaming_identifier(cst_entity *entity, cst_string identifier,
                                                                        cst_error **error);
/* CST_NOT_FOUND when there is no index of that name. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_remove_index(cst_entity *entity, cst_string name, cst_error **error);
/* CST_NOT_FOUND when there is no constraint of these attributes, in any order. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_remove_unique_constraint(cst_entity *entity, size_t count,
                                                                         const cst_string *attributes,
                                                                         cst_error **error);
/* A property's or (null) the entity's own part of cst_model_copy_json; inherited properties too. CST_NOT_FOUND when there
 * is no such property. */
CST_EXPORT CST_ANY_THREAD cst_status cst_entity_copy_json(const cst_entity *entity, cst_string property,
                                                          cst_buffer *out_json, cst_error **error);
/* The whole user info of a property or (null) of the entity as one JSON object. CST_NOT_FOUND: no such property. */
CST_EXPORT CST_ANY_THREAD cst_status cst_entity_copy_user_info(const cst_entity *entity, cst_string property,
                                                               cst_buffer *out_json, cst_error **error);
/* An attribute or a relationship by name, inherited ones included; CST_NOT_FOUND when there is none. */
CST_EXPORT CST_ANY_THREAD cst_status cst_entity_attribute(const cst_entity *entity, cst_string name,
                                                          cst_attribute **out_attribute CST_BORROWED,
                                                          cst_error **error);
CST_EXPORT CST_ANY_THREAD cst_status cst_entity_relationship(const cst_entity *entity, cst_string name,
                                                             cst_relationship **out_relationship CST_BORROWED,
                                                             cst_error **error);
/* The names of the relationships, inherited ones included, that lead to `destination` itself, each ended by a NUL, and how many
 * they are (out_count may be NULL). */
CST_EXPORT CST_ANY_THREAD cst_status cst_entity_copy_relationships_to(const cst_entity *entity,
                                                                      const cst_entity *destination,
                                                                      cst_buffer *out_names, size_t *out_count,
                                                                      cst_error **error);
/* Removes a property of any kind, and the indexes and unique constraints that name it. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_remove_property(cst_entity *entity, cst_string property,
                                                                cst_error **error);
/* Indexes, constraints, the localisation, and key paths in predicates, derivations and sort descriptors follow. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_rename_property(cst_entity *entity, cst_string property,
                                                                cst_string name, cst_error **error);
/* Sets the flags (CST_PROPERTY_…) of `mask` as they are in `flags`. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_set_property_flags(cst_entity *entity, cst_string property,
                                                                   uint32_t mask, uint32_t flags, cst_error **error);
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_set_property_renaming_identifier(cst_entity *entity,
                                                                                 cst_string property,
                                                                                 cst_string identifier,
                                                                                 cst_error **error);
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_set_property_version_hash_modifier(cst_entity *entity,
                                                                                   cst_string property,
                                                                                   cst_string modifier,
                                                                                   cst_error **error);
/* A null value removes the key. That of a fetched property may be set in a model that is in use, too, from any thread; its lists are
 * fetched again. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_set_property_user_info(cst_entity *entity, cst_string property,
                                                                       cst_string key, cst_string value,
                                                                       cst_error **error);
/* Removes all conditions on a property's values, bounds and pattern too. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_remove_validation(cst_entity *entity, cst_string property,
                                                                  cst_error **error);

/* Adds a property whose value is what a fetch finds. In the predicate of `request`, which is copied, $FETCH_SOURCE is the
 * object that is asked and $FETCHED_PROPERTY this property ($FETCHED_PROPERTY.userInfo.key). */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_add_fetched_property(cst_entity *entity, cst_string name,
                                                                     const cst_fetch_request *request,
                                                                     cst_error **error);
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_set_fetched_request(cst_entity *entity, cst_string property,
                                                                    const cst_fetch_request *request,
                                                                    cst_error **error);
/* The request of a fetched property, its variables unbound; CST_NOT_FOUND when there is no such property. */
CST_EXPORT CST_ANY_THREAD cst_status cst_entity_copy_fetched_request(const cst_entity *entity, cst_string property,
                                                                     cst_fetch_request **out_request CST_OWNED,
                                                                     cst_error **error);

/* What a validator is asked for; 0 when a value is not about to be saved (cst_object_validate_value). */
enum {
    CST_VALIDATE_INSERT = 1,
    CST_VALIDATE_UPDATE = 2,
    CST_VALIDATE_DELETE = 3,
    CST_VALIDATE_WITHOUT_HOOK =
        16 /* cst_object_validate, with one of these: does not ask cst_lifecycle_hooks.validate */
};

/* Runs on the queue of the object, which is borrowed for the call. `value` is what is checked: null is asked about too. The
 * function may put another value there, which is saved instead; what that points at must last until the function is called
 * again on the same thread. NULL for to-many relationships and for whole objects. To refuse, return a status below 0 and set
 * *error (cst_error_new_custom): its message, and its code unless 0, are those of the failure. */
typedef cst_status (*cst_validate_fn)(void *userdata, cst_object *object, uint32_t purpose, cst_value *value,
                                      cst_error **error);
/* Lets a function check the values of a property, or (null) whole objects of the entity and of those that inherit from it,
 * before each save, cst_context_validate and cst_object_validate; the model's own conditions are asked after it. Whole
 * objects are checked when nothing is wrong with their values. It must not save. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_add_validator(cst_entity *entity, cst_string property,
                                                              cst_validate_fn validate, void *userdata,
                                                              cst_destroy_fn destroy, cst_error **error);
/* The same by a function that predicates know too (cst_function_register, cst_function_register_typed): it gets the value as
 * its receiver, and answers whether it is fine; text that it answers says why not. Null is fine without a call. A function
 * that is not registered when it is asked fails the save. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_add_validator_function(cst_entity *entity, cst_string property,
                                                                       cst_string function, cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
