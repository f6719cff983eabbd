/* corestone/property.h: attributes and relationships: defaults, validation, types, inverses.
 *
 * cst_entity_add_attribute and cst_entity_add_relationship (entity.h) return the handles that these functions change.
 * Attributes have a type, a default, bounds, a pattern and validation predicates; relationships have a destination, an
 * inverse, a delete rule and bounds on the number of members.
 *
 * Handles are borrowed from the model. They are changed by one thread at a time, until the model is frozen.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_PROPERTY_H
#define CORESTONE_PROPERTY_H

#include "entity.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Sets the default of the attribute, its value in new objects. The value is converted as by cst_object_set. Text and
 * bytes are copied. */
CST_EXPORT CST_ONE_THREAD cst_status cst_attribute_set_default(cst_attribute *attribute, const cst_value *value,
                                                               cst_error **error);

/* Sets an entry of the user info of the attribute. A null value removes the key. */
CST_EXPORT CST_ONE_THREAD cst_status cst_attribute_set_user_info(cst_attribute *attribute, cst_string key,
                                                                 cst_string value, cst_error **error);

/* Returns the value of a key of the attribute's user info, borrowed from the model. Returns CST_NOT_FOUND if the key
 * does not have a value. */
CST_EXPORT CST_ANY_THREAD cst_status cst_attribute_user_info(const cst_attribute *attribute, cst_string key,
                                                             cst_string *out_value CST_BORROWED, cst_error **error);

/* Converts a value from a file or a network message to the type of the attribute. Text is accepted for types that the
 * format may not support: numbers, "true" and "false", ISO 8601 dates (UTC without an offset), UUIDs, and bytes in
 * base64. For a string attribute, numbers, booleans, UUIDs and dates become text. For a floating-point attribute, a
 * decimal becomes the nearest double. CST_NULL becomes the default of the attribute. The caller frees the result with
 * cst_value_dispose.
 *
 * CST_E_TYPE_MISMATCH for a value that cannot be converted; the error has entity and key.
 * CST_E_VALIDATION for an integer that the type of the attribute cannot represent. */
CST_EXPORT CST_ANY_THREAD cst_status cst_attribute_convert(const cst_attribute *attribute, const cst_value *value,
                                                           cst_value *out_value CST_OWNED, cst_error **error);

/* Sets the least and the greatest valid value of the attribute, and replaces former bounds. For a string, the bounds
 * are the least and the greatest length in UTF-16 code units, as integers. NULL means no bound. Fails with CST_E_MODEL
 * for an attribute that is not a number, a date or a string. */
CST_EXPORT CST_ONE_THREAD cst_status cst_attribute_set_bounds(cst_attribute *attribute, const cst_value *least,
                                                              const cst_value *greatest, cst_error **error);

/* Sets the regular expression that the whole string must match, and replaces a former one. Null removes the
 * expression. */
CST_EXPORT CST_ONE_THREAD cst_status cst_attribute_set_pattern(cst_attribute *attribute, cst_string pattern,
                                                               cst_error **error);

/* Adds a validation predicate, which every value except null must satisfy in a save; SELF is the value. A violation has
 * the code CST_CODE_MANAGED_OBJECT_VALIDATION and the message `warning`, or its text in the localisation. */
CST_EXPORT CST_ONE_THREAD cst_status cst_attribute_add_validation(cst_attribute *attribute,
                                                                  const cst_predicate *predicate, cst_string warning,
                                                                  cst_error **error);

/* Sets the name of the transformer of a transformable attribute (cst_transformer_register). */
CST_EXPORT CST_ONE_THREAD cst_status cst_attribute_set_transformer_name(cst_attribute *attribute, cst_string name,
                                                                        cst_error **error);

/* Makes the attribute derived: the store computes it at each save, and hosts cannot set it. `expression` is for example
 * "name", "author.name", "articles.@count", "articles.wordCount.@sum", "canonical:(name)", "uppercase:(name)",
 * "lowercase:(name)" or "now()". Null removes the derivation. `filter`, a predicate on the members, may be null; only
 * Apple's framework evaluates it. Fails with CST_E_PREDICATE_SYNTAX if `expression` or `filter` cannot be parsed.
 * Adding a store that cannot compute the expression fails with CST_E_UNSUPPORTED, with entity and key. */
CST_EXPORT CST_ONE_THREAD cst_status cst_attribute_set_derivation(cst_attribute *attribute, cst_string expression,
                                                                  cst_string filter, cst_error **error);

/* Adds an element to an attribute of type CST_ATTRIBUTE_COMPOSITE. An element may be composite too. Elements are set,
 * read, fetched, indexed and saved like attributes, by their path ("location.latitude"); the composite attribute itself
 * does not have a single value. `flags` may be CST_PROPERTY_OPTIONAL, _EXTERNAL_STORAGE, _PRESERVED and _ALLOWS_NAN.
 * `out_element` may be NULL; the element is borrowed from the model. */
CST_EXPORT CST_ONE_THREAD cst_status cst_attribute_add_element(cst_attribute *attribute, cst_string name,
                                                               cst_attribute_type type, uint32_t flags,
                                                               cst_attribute **out_element CST_BORROWED,
                                                               cst_error **error);

/* Returns the element of a composite attribute at an index. Returns CST_END past the last one, and for an attribute of
 * another type. */
CST_EXPORT CST_ANY_THREAD cst_status cst_attribute_element_at(const cst_attribute *attribute, size_t index,
                                                              cst_attribute **out_element CST_BORROWED,
                                                              cst_error **error);

/* Returns the description of the attribute, also of an element of a composite attribute. */
CST_EXPORT CST_ANY_THREAD cst_status cst_attribute_get_info(const cst_attribute *attribute, cst_property_info *out_info,
                                                            cst_error **error);

/* Copies the default of the attribute; the caller frees it with cst_value_dispose. Returns CST_NOT_FOUND if the
 * attribute does not have a default. */
CST_EXPORT CST_ANY_THREAD cst_status cst_attribute_copy_default(const cst_attribute *attribute,
                                                                cst_value *out_value CST_OWNED, cst_error **error);

/* Copies the bounds of the attribute as cst_attribute_set_bounds sets them; a missing bound is CST_NULL. The caller
 * frees both with cst_value_dispose. */
CST_EXPORT CST_ANY_THREAD cst_status cst_attribute_copy_bounds(const cst_attribute *attribute,
                                                               cst_value *out_least CST_OWNED,
                                                               cst_value *out_greatest CST_OWNED, cst_error **error);

/* Changes the type of the attribute. Settings that the new type does not support are removed, for example a default of
 * another type, bounds or a pattern. */
CST_EXPORT CST_ONE_THREAD cst_status cst_attribute_set_type(cst_attribute *attribute, cst_attribute_type type,
                                                            cst_error **error);

/* Sets the class of the values of a transformable attribute in Apple's framework. Null removes the class. Setting the
 * attribute fails for a value that cannot be of this class. */
CST_EXPORT CST_ONE_THREAD cst_status cst_attribute_set_value_class(cst_attribute *attribute, cst_string name,
                                                                   cst_error **error);

/* The delete rules: the effect of the deletion of an object on the targets of a relationship. */
enum { CST_DELETE_NO_ACTION = 0, CST_DELETE_NULLIFY = 1, CST_DELETE_CASCADE = 2, CST_DELETE_DENY = 3 };

/* Makes two relationships inverses of each other. A relationship may be its own inverse. NULL removes the inverse. */
CST_EXPORT CST_ONE_THREAD cst_status cst_relationship_set_inverse(cst_relationship *relationship,
                                                                  cst_relationship *inverse, cst_error **error);

/* Changes the destination of the relationship. Removes the inverse, unless the inverse is a relationship of the new
 * destination or of an entity that is related to the new destination by inheritance. */
CST_EXPORT CST_ONE_THREAD cst_status cst_relationship_set_destination(cst_relationship *relationship,
                                                                      cst_entity *destination, cst_error **error);

/* Sets the delete rule, a CST_DELETE_ constant. Fails with CST_E_INVALID_ARGUMENT for another number. */
CST_EXPORT CST_ONE_THREAD cst_status cst_relationship_set_delete_rule(cst_relationship *relationship, uint32_t rule,
                                                                      cst_error **error);

/* Sets the least and the greatest number of members of the relationship. A save checks the number. A maximum of 0 means
 * no bound. */
CST_EXPORT CST_ONE_THREAD cst_status cst_relationship_set_counts(cst_relationship *relationship, uint32_t minimum,
                                                                 uint32_t maximum, cst_error **error);

/* Adds a validation predicate for the target, or for the members as one collection. Otherwise like
 * cst_attribute_add_validation. */
CST_EXPORT CST_ONE_THREAD cst_status cst_relationship_add_validation(cst_relationship *relationship,
                                                                     const cst_predicate *predicate, cst_string warning,
                                                                     cst_error **error);

/* Sets an entry of the user info of the relationship. A null value removes the key. */
CST_EXPORT CST_ONE_THREAD cst_status cst_relationship_set_user_info(cst_relationship *relationship, cst_string key,
                                                                    cst_string value, cst_error **error);

/* Returns the value of a key of the relationship's user info, borrowed from the model. Returns CST_NOT_FOUND if the key
 * does not have a value. */
CST_EXPORT CST_ANY_THREAD cst_status cst_relationship_user_info(const cst_relationship *relationship, cst_string key,
                                                                cst_string *out_value CST_BORROWED, cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
