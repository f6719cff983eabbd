/* corestone/predicate.h: predicates
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_PREDICATE_H
#define CORESTONE_PREDICATE_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ======== predicate ====================================================================================== */
/* Predicates never change; any thread may use them. */

/* Reads a predicate, for example "age > %d AND department.name == %@". Arguments fill the % conversions in order; %K
 * takes a string (a key path), %@ any value: a list, a set, or an expression, which stands in its place. On
 * CST_E_PREDICATE_SYNTAX cst_error_offset tells where. */
CST_EXPORT CST_ANY_THREAD cst_status cst_predicate_parse(cst_string format, size_t count, const cst_value *arguments,
                                                         cst_predicate **out_predicate CST_OWNED, cst_error **error);
enum { CST_PREDICATE_NOT = 0, CST_PREDICATE_AND = 1, CST_PREDICATE_OR = 2 };
/* A compound of others, which are retained; NOT takes exactly one. */
CST_EXPORT CST_ANY_THREAD cst_status cst_predicate_new_compound(uint32_t type, size_t count,
                                                                const cst_predicate *const *predicates,
                                                                cst_predicate **out_predicate CST_OWNED,
                                                                cst_error **error);
/* NSComparisonPredicateOperatorType. */
enum {
    CST_OPERATOR_LESS_THAN = 0,
    CST_OPERATOR_LESS_THAN_OR_EQUAL = 1,
    CST_OPERATOR_GREATER_THAN = 2,
    CST_OPERATOR_GREATER_THAN_OR_EQUAL = 3,
    CST_OPERATOR_EQUAL = 4,
    CST_OPERATOR_NOT_EQUAL = 5,
    CST_OPERATOR_MATCHES = 6,
    CST_OPERATOR_LIKE = 7,
    CST_OPERATOR_BEGINS_WITH = 8,
    CST_OPERATOR_ENDS_WITH = 9,
    CST_OPERATOR_IN = 10,
    CST_OPERATOR_CUSTOM_SELECTOR = 11, /* read only: write it in a format, "%@ selector: %@" */
    CST_OPERATOR_CONTAINS = 99,
    CST_OPERATOR_BETWEEN = 100
};
/* NSComparisonPredicateModifier. */
enum { CST_MODIFIER_DIRECT = 0, CST_MODIFIER_ALL = 1, CST_MODIFIER_ANY = 2 };
/* NSComparisonPredicateOptions; CST_COMPARE_LOCALE_SENSITIVE is [l]. */
enum {
    CST_COMPARE_CASE_INSENSITIVE = 1u << 0,
    CST_COMPARE_DIACRITIC_INSENSITIVE = 1u << 1,
    CST_COMPARE_NORMALIZED = 1u << 2,
    CST_COMPARE_LOCALE_SENSITIVE = 1u << 3
};
/* Two expressions and what should hold between them. */
CST_EXPORT CST_ANY_THREAD cst_status cst_predicate_new_comparison(const cst_expression *left, uint32_t operator_type,
                                                                  const cst_expression *right, uint32_t modifier,
                                                                  uint32_t options,
                                                                  cst_predicate **out_predicate CST_OWNED,
                                                                  cst_error **error);
/* Decides about a value (SELF); `variables` is a CST_DICTIONARY. Both are lent for the call. */
typedef cst_status (*cst_predicate_block_fn)(void *userdata, const cst_value *value, const cst_value *variables,
                                             bool *out_result, cst_error **error);
/* A condition that the host decides, in memory, on the thread that evaluates. No store can translate it. */
CST_EXPORT CST_ANY_THREAD cst_status cst_predicate_new_block(cst_predicate_block_fn block, void *userdata,
                                                             cst_destroy_fn destroy,
                                                             cst_predicate **out_predicate CST_OWNED,
                                                             cst_error **error);
/* A copy in which the $variables of a CST_DICTIONARY are constants; a CST_EXPRESSION stands in the variable's place. */
CST_EXPORT CST_ANY_THREAD cst_status cst_predicate_new_substituted(const cst_predicate *predicate,
                                                                   const cst_value *variables,
                                                                   cst_predicate **out_predicate CST_OWNED,
                                                                   cst_error **error);
enum {
    CST_PREDICATE_IS_FALSE = 0,
    CST_PREDICATE_IS_TRUE = 1,
    CST_PREDICATE_IS_COMPARISON = 2,
    CST_PREDICATE_IS_COMPOUND = 3,
    CST_PREDICATE_IS_BLOCK = 4
};
/* What a predicate is made of. */
typedef struct cst_predicate_info {
    size_t struct_size;
    uint32_t kind;                             /* CST_PREDICATE_IS_… */
    uint32_t compound;                         /* CST_PREDICATE_AND, …; of a compound */
    size_t part_count;                         /* of a compound */
    uint32_t operator_type, modifier, options; /* of a comparison */
    uint32_t reserved;
} cst_predicate_info;
#define CST_PREDICATE_INFO_INIT {sizeof(cst_predicate_info), 0, 0, 0, 0, 0, 0, 0}
CST_EXPORT CST_ANY_THREAD cst_status cst_predicate_get_info(const cst_predicate *predicate,
                                                            cst_predicate_info *out_info, cst_error **error);
/* A part of a compound; CST_END past the last one. */
CST_EXPORT CST_ANY_THREAD cst_status cst_predicate_copy_part(const cst_predicate *predicate, size_t index,
                                                             cst_predicate **out_predicate CST_OWNED,
                                                             cst_error **error);
/* The left (0) or right (1) side of a comparison; CST_NOT_FOUND when it is none. */
CST_EXPORT CST_ANY_THREAD cst_status cst_predicate_copy_side(const cst_predicate *predicate, uint32_t side,
                                                             cst_expression **out_expression CST_OWNED,
                                                             cst_error **error);
/* The predicate as text, in Core Data's spelling. */
CST_EXPORT CST_ANY_THREAD cst_status cst_predicate_copy_format(const cst_predicate *predicate, cst_buffer *out_text,
                                                               cst_error **error);
/* Whether two predicates are built the same; false when one is no live handle. */
CST_EXPORT CST_ANY_THREAD bool cst_predicate_equal(const cst_predicate *a, const cst_predicate *b);
/* Equal predicates have equal hashes; 0 for an invalid handle. */
CST_EXPORT CST_ANY_THREAD uint64_t cst_predicate_hash(const cst_predicate *predicate);
/* Whether it holds for an object, in memory. On the object's queue. */
CST_EXPORT CST_ON_QUEUE cst_status cst_predicate_evaluate(const cst_predicate *predicate, const cst_object *object,
                                                          bool *out_result, cst_error **error);
/* Whether it holds for a value of any type. `variables` is NULL, or a CST_DICTIONARY of what $names stand for. Objects
 * on their queue. */
CST_EXPORT CST_ON_QUEUE cst_status cst_predicate_evaluate_value(const cst_predicate *predicate, const cst_value *value,
                                                                const cst_value *variables, bool *out_result,
                                                                cst_error **error);
/* The same for many values: out_results[i] says whether it holds for values[i]. */
CST_EXPORT CST_ON_QUEUE cst_status cst_predicate_filter(const cst_predicate *predicate, size_t count,
                                                        const cst_value *values, const cst_value *variables,
                                                        bool *out_results, cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
