/* corestone/property.h: attributes and relationships
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_PROPERTY_H
#define CORESTONE_PROPERTY_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ======== attribute, relationship ======================================================================== */

/* The value of a fresh object; its type must suit the attribute's. The bytes are copied. */
CST_EXPORT CST_ONE_THREAD cst_status cst_attribute_set_default(cst_attribute *attribute, const cst_value *value,
                                                               cst_error **error);
CST_EXPORT CST_ONE_THREAD cst_status cst_attribute_set_user_info(cst_attribute *attribute, cst_string key,
                                                                 cst_string value, cst_error **error);
CST_EXPORT CST_ANY_THREAD cst_status cst_attribute_user_info(const cst_attribute *attribute, cst_string key,
                                                             cst_string *out_value CST_BORROWED, cst_error **error);
/* A value as the attribute holds it, from what came over a wire or out of a file, as text where the sender had no better
 * type: numbers, "true" and "false", ISO 8601 dates (UTC where they have no offset), UUIDs, bytes in base64; what else there
 * is becomes text where the attribute is one, and a decimal the nearest double. CST_NULL is the attribute's default.
 * CST_E_TYPE_MISMATCH names entity and attribute. End with cst_value_dispose. */
CST_EXPORT CST_ANY_THREAD cst_status cst_attribute_convert(const cst_attribute *attribute, const cst_value *value,
                                                           cst_value *out_value CST_OWNED, cst_error **error);
/* The least and the greatest value that a save lets pass, instead of those set before; for a string the least and the
 * greatest length in characters, as integers. NULL is no bound. CST_E_MODEL for an attribute that is no number, date or
 * string. */
CST_EXPORT CST_ONE_THREAD cst_status cst_attribute_set_bounds(cst_attribute *attribute, const cst_value *least,
                                                              const cst_value *greatest, cst_error **error);
/* The regular expression that the whole of a string must match, instead of the one set before; null is none. */
CST_EXPORT CST_ONE_THREAD cst_status cst_attribute_set_pattern(cst_attribute *attribute, cst_string pattern,
                                                               cst_error **error);
/* A condition that a save asks of every value that is there: SELF is the value. One that does not meet it fails with code
 * CST_CODE_MANAGED_OBJECT_VALIDATION and `warning`, or the localisation's words for it, as its message. */
CST_EXPORT CST_ONE_THREAD cst_status cst_attribute_add_validation(cst_attribute *attribute,
                                                                  const cst_predicate *predicate, cst_string warning,
                                                                  cst_error **error);
/* The name of the transformer through which hosts see a transformable attribute; see cst_transformer_register. */
CST_EXPORT CST_ONE_THREAD cst_status cst_attribute_set_transformer_name(cst_attribute *attribute, cst_string name,
                                                                        cst_error **error);
/* Makes the store compute the attribute at each save; hosts cannot set it. `expression` is "name", "author.name",
 * "articles.@count", "articles.wordCount.@sum", "canonical:(name)", "uppercase:(name)", "lowercase:(name)" or "now()"; a null
 * one makes the attribute a plain one again. `filter`, a predicate on the members, may be null: it is kept for Apple's
 * framework. CST_E_PREDICATE_SYNTAX for text that is no expression. What a store cannot compute, it refuses when it is
 * added: CST_E_UNSUPPORTED with entity and key. */
CST_EXPORT CST_ONE_THREAD cst_status cst_attribute_set_derivation(cst_attribute *attribute, cst_string expression,
                                                                  cst_string filter, cst_error **error);

/* Adds an element to an attribute of type CST_ATTRIBUTE_COMPOSITE; an element may be composite too. Elements are set, read,
 * fetched, indexed and saved like attributes, by their path ("location.latitude"); the composite itself has no single
 * value. flags: CST_PROPERTY_OPTIONAL, _EXTERNAL_STORAGE, _PRESERVED, _ALLOWS_NAN. out_element may be NULL. */
CST_EXPORT CST_ONE_THREAD cst_status cst_attribute_add_element(cst_attribute *attribute, cst_string name,
                                                               cst_attribute_type type, uint32_t flags,
                                                               cst_attribute **out_element CST_BORROWED,
                                                               cst_error **error);

/* Another type. What it has no use for goes: a default value that it does not take, bounds, a pattern. */
CST_EXPORT CST_ONE_THREAD cst_status cst_attribute_set_type(cst_attribute *attribute, cst_attribute_type type,
                                                            cst_error **error);
/* The class of a transformable attribute's values in an Apple host; null is none. A value that such a class cannot be is
 * refused when it is set. */
CST_EXPORT CST_ONE_THREAD cst_status cst_attribute_set_value_class(cst_attribute *attribute, cst_string name,
                                                                   cst_error **error);

enum { CST_DELETE_NO_ACTION = 0, CST_DELETE_NULLIFY = 1, CST_DELETE_CASCADE = 2, CST_DELETE_DENY = 3 };

/* Makes two relationships each other's inverse; a relationship may be its own. NULL: it has none any more. */
CST_EXPORT CST_ONE_THREAD cst_status cst_relationship_set_inverse(cst_relationship *relationship,
                                                                  cst_relationship *inverse, cst_error **error);
/* An inverse that belongs to neither the new destination nor its relatives is none any more. */
CST_EXPORT CST_ONE_THREAD cst_status cst_relationship_set_destination(cst_relationship *relationship,
                                                                      cst_entity *destination, cst_error **error);
CST_EXPORT CST_ONE_THREAD cst_status cst_relationship_set_delete_rule(cst_relationship *relationship, uint32_t rule,
                                                                      cst_error **error);
/* How many members a relationship must and may have; maximum 0 is no bound. Checked at save. */
CST_EXPORT CST_ONE_THREAD cst_status cst_relationship_set_counts(cst_relationship *relationship, uint32_t minimum,
                                                                 uint32_t maximum, cst_error **error);
/* A condition on the target, or on the members as one collection; as cst_attribute_add_validation. */
CST_EXPORT CST_ONE_THREAD cst_status cst_relationship_add_validation(cst_relationship *relationship,
                                                                     const cst_predicate *predicate, cst_string warning,
                                                                     cst_error **error);
CST_EXPORT CST_ONE_THREAD cst_status cst_relationship_set_user_info(cst_relationship *relationship, cst_string key,
                                                                    cst_string value, cst_error **error);
CST_EXPORT CST_ANY_THREAD cst_status cst_relationship_user_info(const cst_relationship *relationship, cst_string key,
                                                                cst_string *out_value CST_BORROWED, cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
