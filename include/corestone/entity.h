/* corestone/entity.h: entities: their properties, indexes, constraints and validators.
 *
 * An entity describes a kind of object: attributes, relationships, fetched properties, indexes and unique constraints.
 * An entity may inherit from another entity. cst_entity_add_attribute and cst_entity_add_relationship add properties,
 * and cst_entity_property_at describes them. cst_entity_key returns the key by which a property of objects is read and
 * set. The rename and remove functions edit a model. Validators check objects before each save.
 *
 * Handles of entities are borrowed from the model. Entities are changed by one thread at a time, until the model is
 * frozen. Then they are usable on any thread, and only the user info of fetched properties can change.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_ENTITY_H
#define CORESTONE_ENTITY_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the name of the entity, or a null string for an invalid handle. Valid until the entity is renamed, at most as
 * long as the model. */
CST_EXPORT CST_ANY_THREAD CST_BORROWED cst_string cst_entity_name(const cst_entity *entity);

/* Returns the localised name of the entity, or its name if the localisation does not have an entry. Valid until
 * the name or its localisation changes, at most as long as the model. */
CST_EXPORT CST_ANY_THREAD CST_BORROWED cst_string cst_entity_localized_name(const cst_entity *entity);

/* Returns the localised name of a property, which may be inherited.
 *
 * The name is the most specific entry of the localisation, or else the name of the property. Returns CST_NOT_FOUND if
 * there is no such attribute or relationship. The model must be frozen. */
CST_EXPORT CST_ANY_THREAD cst_status cst_entity_localized_property_name(const cst_entity *entity, cst_string property,
                                                                        cst_string *out_text CST_BORROWED,
                                                                        cst_error **error);

/* Sets the superentity, an entity of the same model. With NULL, the entity does not inherit from another one. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_set_parent(cst_entity *entity, cst_entity *parent, cst_error **error);

/* Returns the superentity. Returns CST_NOT_FOUND if the entity does not inherit from another one. */
CST_EXPORT CST_ANY_THREAD cst_status cst_entity_parent(const cst_entity *entity, cst_entity **out_parent CST_BORROWED,
                                                       cst_error **error);

/* Returns the direct subentity at an index. Returns CST_END past the last one. */
CST_EXPORT CST_ANY_THREAD cst_status cst_entity_child_at(const cst_entity *entity, size_t index,
                                                         cst_entity **out_child CST_BORROWED, cst_error **error);

/* Whether the entity is `other` or one of its subentities, at any depth. */
CST_EXPORT CST_ANY_THREAD cst_status cst_entity_is_kind_of(const cst_entity *entity, const cst_entity *other,
                                                           bool *out_kind, cst_error **error);

/* Sets whether the entity is abstract. An abstract entity cannot be instantiated; its subentities can, unless they are
 * abstract too. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_set_abstract(cst_entity *entity, bool is_abstract, cst_error **error);

/* Whether the entity is abstract. */
CST_EXPORT CST_ANY_THREAD cst_status cst_entity_is_abstract(const cst_entity *entity, bool *out_abstract,
                                                            cst_error **error);

/* Sets the class name of the entity's objects in Apple's framework. Null selects "NSManagedObject", the initial
 * value. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_set_class_name(cst_entity *entity, cst_string name, cst_error **error);

/* Sets an entry of the user info of the entity. A null value removes the key. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_set_user_info(cst_entity *entity, cst_string key, cst_string value,
                                                              cst_error **error);

/* Returns the value of a key of the entity's user info, borrowed from the model. Returns CST_NOT_FOUND if the key does
 * not have a value. */
CST_EXPORT CST_ANY_THREAD cst_status cst_entity_user_info(const cst_entity *entity, cst_string key,
                                                          cst_string *out_value CST_BORROWED, cst_error **error);

/* Sets a text that changes the version hash of the entity, for changes that the hash does not cover. Null removes the
 * text. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_set_version_hash_modifier(cst_entity *entity, cst_string modifier,
                                                                          cst_error **error);

/* Adds a fetch index over `count` attributes or to-one relationships of the entity, ascending. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_add_index(cst_entity *entity, cst_string name, size_t count,
                                                          const cst_string *properties, cst_error **error);

/* Flags of an element of an index. */
enum {
    CST_INDEX_DESCENDING = 1u << 0,
    CST_INDEX_RTREE = 1u << 1 /* for ranges of numbers; set on all elements of an index or not at all */
};

/* An element of an index: an attribute, a to-one relationship or an expression. */
typedef struct cst_index_element {
    cst_string property;
    cst_string expression;   /* "entity", "SELF", "price * count"; null if there is a property */
    cst_attribute_type type; /* of the expression's values; CST_ATTRIBUTE_UNDEFINED if it does not matter */
    uint32_t flags;          /* CST_INDEX_… */
} cst_index_element;

/* Adds a fetch index of any kind. The index contains the objects that satisfy `predicate`, or all objects if that is
 * NULL. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_add_fetch_index(cst_entity *entity, cst_string name, size_t count,
                                                                const cst_index_element *elements,
                                                                const cst_predicate *predicate, cst_error **error);

/* Adds a unique constraint: the combination of `count` attributes must be unique among the objects of the entity.
 * Objects with null in one of the attributes are not compared. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_add_unique_constraint(cst_entity *entity, size_t count,
                                                                      const cst_string *attributes, cst_error **error);

/* Returns the version hash of the entity, 32 bytes. Apple's framework compares the hash with the one in a store.
 * Freezes the model. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_version_hash(const cst_entity *entity, uint8_t *out_hash,
                                                             cst_error **error);

/* Returns the 32 bytes by which a property, which may be inherited, contributes to the version hash of the entity.
 * Freezes the model. Returns CST_NOT_FOUND if there is no such property, or if the property is transient or fetched and
 * therefore does not contribute. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_property_version_hash(const cst_entity *entity, cst_string name,
                                                                      uint8_t *out_hash, cst_error **error);

/* Flags of a property. */
enum {
    CST_PROPERTY_OPTIONAL = 1u << 0,
    CST_PROPERTY_TRANSIENT = 1u << 1,
    CST_PROPERTY_TO_MANY = 1u << 2,           /* relationships; also reported for fetched properties */
    CST_PROPERTY_ORDERED = 1u << 3,           /* to-many relationships */
    CST_PROPERTY_INDEXED = 1u << 4,           /* attributes: a fetch index of the same name */
    CST_PROPERTY_EXTERNAL_STORAGE = 1u << 5,  /* binary and transformable attributes */
    CST_PROPERTY_PRESERVED = 1u << 6,         /* attributes: the history keeps the value of a deleted object */
    CST_PROPERTY_ALLOWS_NAN = 1u << 7,        /* double and float attributes: NaN and infinities pass validation */
    CST_PROPERTY_SPOTLIGHT = 1u << 8,         /* Spotlight indexes the value */
    CST_PROPERTY_EXTERNAL_RECORD = 1u << 9,   /* Apple's framework writes external records */
    CST_PROPERTY_CLOUD_ENCRYPTION = 1u << 10, /* attributes: CloudKit stores the values encrypted */
    CST_PROPERTY_DERIVED = 1u << 11,          /* reported for derived attributes, never set */
    CST_PROPERTY_IGNORES_CHANGES = 1u << 12   /* transient attributes: a change does not mark the object as changed */
};

/* Adds an attribute. `flags` are CST_PROPERTY_ constants. `out_attribute` may be NULL; the attribute is borrowed from
 * the model. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_add_attribute(cst_entity *entity, cst_string name,
                                                              cst_attribute_type type, uint32_t flags,
                                                              cst_attribute **out_attribute CST_BORROWED,
                                                              cst_error **error);

/* Adds a relationship with the delete rule Nullify: to-one, or to-many with CST_PROPERTY_TO_MANY. `out_relationship`
 * may be NULL; the relationship is borrowed from the model. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_add_relationship(cst_entity *entity, cst_string name,
                                                                 cst_entity *destination, uint32_t flags,
                                                                 cst_relationship **out_relationship CST_BORROWED,
                                                                 cst_error **error);

/* The kinds of properties. */
enum { CST_PROPERTY_ATTRIBUTE = 1, CST_PROPERTY_RELATIONSHIP = 2, CST_PROPERTY_FETCHED = 3 };

/* The description of a property. Start from CST_PROPERTY_INFO_INIT. Text is valid until the property or its inverse
 * is renamed, at most as long as the model. */
typedef struct cst_property_info {
    size_t struct_size;
    cst_string name;
    uint32_t kind;  /* CST_PROPERTY_ATTRIBUTE, _RELATIONSHIP or _FETCHED */
    uint32_t flags; /* CST_PROPERTY_OPTIONAL, … */
    cst_attribute_type attribute_type;
    cst_key key;             /* CST_NO_KEY before the model is frozen, and for fetched properties */
    cst_entity *destination; /* relationships; for a fetched property, the fetched entity */
    cst_string inverse;      /* the name of the inverse, or a null string */
    uint32_t delete_rule;    /* CST_DELETE_… */
    uint32_t minimum_count;  /* relationships */
    uint32_t maximum_count;  /* 0: no bound */
    cst_entity *entity;      /* the entity that declares the property */
} cst_property_info;
#define CST_PROPERTY_INFO_INIT                                                                                         \
    {sizeof(cst_property_info), {NULL, 0}, 0, 0, 0, CST_NO_KEY, NULL, {NULL, 0}, 0, 0, 0, NULL}

/* Returns the number of properties, inherited ones included. */
CST_EXPORT CST_ANY_THREAD size_t cst_entity_property_count(const cst_entity *entity);

/* Returns the description of the property at an index: inherited properties first, fetched properties last. Returns
 * CST_END past the last property. */
CST_EXPORT CST_ANY_THREAD cst_status cst_entity_property_at(const cst_entity *entity, size_t index,
                                                            cst_property_info *out_info, cst_error **error);

/* The texts of an entity or a property that cst_entity_copy_text returns. */
enum {
    CST_MODEL_TEXT_CLASS_NAME = 1, /* of entities; of transformable attributes, the class of the values */
    CST_MODEL_TEXT_RENAMING_IDENTIFIER = 2,
    CST_MODEL_TEXT_VERSION_HASH_MODIFIER = 3,
    CST_MODEL_TEXT_PATTERN = 4,          /* of string attributes: the regular expression */
    CST_MODEL_TEXT_TRANSFORMER_NAME = 5, /* of transformable attributes */
    CST_MODEL_TEXT_DERIVATION = 6,       /* of derived attributes: the expression */
    CST_MODEL_TEXT_DERIVATION_FILTER = 7 /* of derived attributes: the predicate on the members */
};

/* Fills a buffer with a text of a property, or of the entity if `property` is null.
 *
 * The property may be inherited; an element of a composite attribute is passed as a path. `which` is a CST_MODEL_TEXT_
 * constant. Returns CST_NOT_FOUND if the text is not set, or if there is no such property. */
CST_EXPORT CST_ANY_THREAD cst_status cst_entity_copy_text(const cst_entity *entity, cst_string property, uint32_t which,
                                                          cst_buffer *out_text, cst_error **error);

/* Creates the predicate of a validation rule of a property.
 *
 * The property may be inherited; an element of a composite attribute is passed as a path. Bounds and patterns are rules
 * too. `out_warning` receives the author's message, or is emptied for a rule with an error code. `out_code` receives
 * that code, a CST_CODE_ constant, or 0. Both may be NULL. Returns CST_END past the last rule, and CST_NOT_FOUND if
 * there is no such property. */
CST_EXPORT CST_ANY_THREAD cst_status cst_entity_copy_validation(const cst_entity *entity, cst_string property,
                                                                size_t index, cst_predicate **out_predicate CST_OWNED,
                                                                cst_buffer *out_warning, int64_t *out_code,
                                                                cst_error **error);

/* Fills a buffer with the name of a fetch index that the entity itself declares.
 *
 * `out_element_count` receives the number of its elements, and `out_predicate` its predicate, or NULL for an index of
 * all rows; both may be NULL. Returns CST_END past the last index. */
CST_EXPORT CST_ANY_THREAD cst_status cst_entity_copy_index(const cst_entity *entity, size_t index, cst_buffer *out_name,
                                                           size_t *out_element_count,
                                                           cst_predicate **out_predicate CST_OWNED, cst_error **error);

/* Fills a buffer with the property of an element of a fetch index, or with its expression.
 *
 * `out_is_expression` receives which of them it is, `out_flags` CST_INDEX_ constants, and `out_type` the type of the
 * expression's value, a CST_ATTRIBUTE_ constant; they may be NULL. Returns CST_END past the last index or element. */
CST_EXPORT CST_ANY_THREAD cst_status cst_entity_copy_index_element(const cst_entity *entity, size_t index,
                                                                   size_t element, cst_buffer *out_text,
                                                                   bool *out_is_expression, uint32_t *out_flags,
                                                                   int32_t *out_type, cst_error **error);

/* Fills a buffer with the attributes of a unique constraint that the entity itself declares, each terminated by a NUL.
 *
 * `out_count` receives their number and may be NULL. Returns CST_END past the last constraint. */
CST_EXPORT CST_ANY_THREAD cst_status cst_entity_copy_unique_constraint(const cst_entity *entity, size_t index,
                                                                       cst_buffer *out_names, size_t *out_count,
                                                                       cst_error **error);

/* Returns the key of a property or of an element of a composite attribute.
 *
 * The property may be inherited. An element is passed as a path: "location.latitude". Returns CST_NOT_FOUND if there is
 * no such property, or if it is a fetched property. Freezes the model. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_key(const cst_entity *entity, cst_string property, cst_key *out_key,
                                                    cst_error **error);

/* Removes the entity from its model, together with the parts that depend on it.
 *
 * These parts are relationships to it, fetched properties and fetch requests for it, and its entries in configurations
 * and in the localisation. Its subentities then inherit from its superentity. Calls with the handles of removed parts
 * fail with CST_E_INVALID_HANDLE, as after every removal.
 *
 * Functions that remove, rename or change existing parts require a model that is not frozen, except for the user info
 * of fetched properties. A rejected removal or renaming changes nothing and, unlike an error during construction, is
 * not permanent. Views of changed text become invalid. A property that is removed, renamed or changed by its name must
 * be declared by the entity itself. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_remove(cst_entity *entity, cst_error **error);

/* Renames the entity, also in configurations, fetch requests and the localisation. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_rename(cst_entity *entity, cst_string name, cst_error **error);

/* Sets the renaming identifier, the name of the entity in older versions of the model. Null removes the identifier. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_set_renaming_identifier(cst_entity *entity, cst_string identifier,
                                                                        cst_error **error);

/* Removes a fetch index of the entity. Returns CST_NOT_FOUND if there is no index of that name. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_remove_index(cst_entity *entity, cst_string name, cst_error **error);

/* Removes a unique constraint of the entity. Returns CST_NOT_FOUND if there is no constraint of these attributes, in
 * any order. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_remove_unique_constraint(cst_entity *entity, size_t count,
                                                                         const cst_string *attributes,
                                                                         cst_error **error);

/* Fills a buffer with the JSON description of a property or of the entity.
 *
 * The form is that of cst_model_copy_json. The property may be inherited; a null `property` selects the entity. Returns
 * CST_NOT_FOUND if there is no such property. */
CST_EXPORT CST_ANY_THREAD cst_status cst_entity_copy_json(const cst_entity *entity, cst_string property,
                                                          cst_buffer *out_json, cst_error **error);

/* Fills a buffer with the whole user info of a property, or of the entity if `property` is null, as one JSON object.
 * Returns CST_NOT_FOUND if there is no such property. */
CST_EXPORT CST_ANY_THREAD cst_status cst_entity_copy_user_info(const cst_entity *entity, cst_string property,
                                                               cst_buffer *out_json, cst_error **error);

/* Returns the attribute named `name`, which may be inherited. Returns CST_NOT_FOUND if there is no such attribute. */
CST_EXPORT CST_ANY_THREAD cst_status cst_entity_attribute(const cst_entity *entity, cst_string name,
                                                          cst_attribute **out_attribute CST_BORROWED,
                                                          cst_error **error);

/* Returns the relationship named `name`, which may be inherited. Returns CST_NOT_FOUND if there is no such
 * relationship. */
CST_EXPORT CST_ANY_THREAD cst_status cst_entity_relationship(const cst_entity *entity, cst_string name,
                                                             cst_relationship **out_relationship CST_BORROWED,
                                                             cst_error **error);

/* Fills a buffer with the names of the relationships to a destination, each terminated by a NUL.
 *
 * Inherited relationships are included, relationships to subentities of `destination` are not. `out_count` receives the
 * number of names and may be NULL. */
CST_EXPORT CST_ANY_THREAD cst_status cst_entity_copy_relationships_to(const cst_entity *entity,
                                                                      const cst_entity *destination,
                                                                      cst_buffer *out_names, size_t *out_count,
                                                                      cst_error **error);

/* Removes a property of any kind, and the parts that depend on it.
 *
 * These parts are the indexes, unique constraints and validators that name the property, and its entries in the
 * localisation. A relationship is also removed as the inverse of another one. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_remove_property(cst_entity *entity, cst_string property,
                                                                cst_error **error);

/* Renames a property and the references to it.
 *
 * The references are in indexes, constraints, validators, the localisation, and key paths of predicates, derivations
 * and sort descriptors. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_rename_property(cst_entity *entity, cst_string property,
                                                                cst_string name, cst_error **error);

/* Sets the flags (CST_PROPERTY_…) in `mask` to their values in `flags`. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_set_property_flags(cst_entity *entity, cst_string property,
                                                                   uint32_t mask, uint32_t flags, cst_error **error);

/* Sets the renaming identifier, the name of the property in older versions of the model. Null removes the
 * identifier. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_set_property_renaming_identifier(cst_entity *entity,
                                                                                 cst_string property,
                                                                                 cst_string identifier,
                                                                                 cst_error **error);

/* Sets a text that changes the version hash of the property, for changes that the hash does not cover. Null removes the
 * text. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_set_property_version_hash_modifier(cst_entity *entity,
                                                                                   cst_string property,
                                                                                   cst_string modifier,
                                                                                   cst_error **error);

/* Sets an entry of the user info of a property. A null value removes the key. The user info of a fetched property can
 * also be set in a frozen model, on any thread; the values of the property are then fetched again. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_set_property_user_info(cst_entity *entity, cst_string property,
                                                                       cst_string key, cst_string value,
                                                                       cst_error **error);

/* Removes all validation rules of a property, including bounds and pattern. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_remove_validation(cst_entity *entity, cst_string property,
                                                                  cst_error **error);

/* Adds a fetched property, whose value is the result of a fetch. `request` is copied. In its predicate, $FETCH_SOURCE
 * is the object whose property is read, and $FETCHED_PROPERTY is the property ($FETCHED_PROPERTY.userInfo.key). */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_add_fetched_property(cst_entity *entity, cst_string name,
                                                                     const cst_fetch_request *request,
                                                                     cst_error **error);

/* Replaces the request of a fetched property; `request` is copied. Fails with CST_E_INVALID_ARGUMENT if the property
 * is not a fetched property. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_set_fetched_request(cst_entity *entity, cst_string property,
                                                                    const cst_fetch_request *request,
                                                                    cst_error **error);

/* Creates a copy of the request of a fetched property, with its variables unbound. Returns CST_NOT_FOUND if there is
 * no such property. */
CST_EXPORT CST_ANY_THREAD cst_status cst_entity_copy_fetched_request(const cst_entity *entity, cst_string property,
                                                                     cst_fetch_request **out_request CST_OWNED,
                                                                     cst_error **error);

/* The purpose of a validation: the change that a save is about to make. The purpose is 0 if a value is not about to be
 * saved (cst_object_validate_value). */
enum {
    CST_VALIDATE_INSERT = 1,
    CST_VALIDATE_UPDATE = 2,
    CST_VALIDATE_DELETE = 3,
    /* For cst_object_validate, together with another constant: does not call cst_lifecycle_hooks.validate. */
    CST_VALIDATE_WITHOUT_HOOK = 16
};

/* Checks a value, or a whole object. Runs on the queue of the object, which is borrowed for the call. `value` is the
 * value to check, which may be null. For to-many relationships, composite attributes and whole objects the pointer is
 * NULL: read their values from the object. The function may replace the value, and the new value is saved
 * instead. Its text or bytes must stay valid until the function is called again on the same thread. To reject the
 * value, the function returns a negative status and sets *error (cst_error_new_custom): the validation error has the
 * message of *error, and its code unless that is 0. */
typedef cst_status (*cst_validate_fn)(void *userdata, cst_object *object, uint32_t purpose, cst_value *value,
                                      cst_error **error);

/* Adds a function that checks the values of a property, or whole objects of the entity if `property` is null. The
 * function also checks objects of subentities. The function runs before each save, in cst_context_validate, in
 * cst_object_validate and, for values, in cst_object_validate_value, before the model's own validation rules. A whole
 * object is checked only if its values are valid. The function must not save. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_add_validator(cst_entity *entity, cst_string property,
                                                              cst_validate_fn validate, void *userdata,
                                                              cst_destroy_fn destroy, cst_error **error);

/* Adds a registered function as the validator of a property.
 *
 * `function` is its name (cst_function_register, cst_function_register_typed). The function receives the value as its
 * receiver and returns whether the value is valid. If it returns text, the value is invalid and the text is the reason.
 * Null is valid without a call. The validation of other values fails if the function is not registered. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_add_validator_function(cst_entity *entity, cst_string property,
                                                                       cst_string function, cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
