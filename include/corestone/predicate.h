/* corestone/predicate.h: predicates: conditions on objects and values.
 *
 * A predicate selects objects of a fetch and checks objects or values in memory. cst_predicate_parse parses a predicate
 * from a format with arguments, like NSPredicate. The cst_predicate_new_ functions build a predicate from parts;
 * cst_predicate_get_info and the copy functions return the parts of a predicate. cst_predicate_evaluate applies a
 * predicate to an object. Pass user input as arguments, not in the format. The caller owns predicates. They never
 * change, and any thread may use them; objects are evaluated on their queue.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_PREDICATE_H
#define CORESTONE_PREDICATE_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Parses a predicate, for example "age > %d AND department.name == %@". `count` arguments fill the % conversions in
 * order. %K is replaced by a string (a key path), %@ by any value, including a list, a set or an expression. After
 * CST_E_PREDICATE_SYNTAX, cst_error_offset returns the position of the error. */
CST_EXPORT CST_ANY_THREAD cst_status cst_predicate_parse(cst_string format, size_t count, const cst_value *arguments,
                                                         cst_predicate **out_predicate CST_OWNED, cst_error **error);

/* The types of compound predicates. */
enum { CST_PREDICATE_NOT = 0, CST_PREDICATE_AND = 1, CST_PREDICATE_OR = 2 };

/* Creates a compound of other predicates, which the compound retains. `type` is CST_PREDICATE_NOT, _AND or _OR;
 * CST_PREDICATE_NOT requires exactly one predicate. */
CST_EXPORT CST_ANY_THREAD cst_status cst_predicate_new_compound(uint32_t type, size_t count,
                                                                const cst_predicate *const *predicates,
                                                                cst_predicate **out_predicate CST_OWNED,
                                                                cst_error **error);

/* The operators of comparisons: NSComparisonPredicateOperatorType. */
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
    CST_OPERATOR_CUSTOM_SELECTOR = 11, /* only returned; to create one, parse a format: "%@ selector: %@" */
    CST_OPERATOR_CONTAINS = 99,
    CST_OPERATOR_BETWEEN = 100
};

/* The modifiers of comparisons: NSComparisonPredicateModifier. */
enum { CST_MODIFIER_DIRECT = 0, CST_MODIFIER_ALL = 1, CST_MODIFIER_ANY = 2 };

/* The options of comparisons: NSComparisonPredicateOptions. CST_COMPARE_LOCALE_SENSITIVE is the option [l] of a
 * format. */
enum {
    CST_COMPARE_CASE_INSENSITIVE = 1u << 0,
    CST_COMPARE_DIACRITIC_INSENSITIVE = 1u << 1,
    CST_COMPARE_NORMALIZED = 1u << 2,
    CST_COMPARE_LOCALE_SENSITIVE = 1u << 3
};

/* Creates a comparison of two expressions. `operator_type` is a CST_OPERATOR_ constant, `modifier` a CST_MODIFIER_
 * constant, `options` are CST_COMPARE_ flags. */
CST_EXPORT CST_ANY_THREAD cst_status cst_predicate_new_comparison(const cst_expression *left, uint32_t operator_type,
                                                                  const cst_expression *right, uint32_t modifier,
                                                                  uint32_t options,
                                                                  cst_predicate **out_predicate CST_OWNED,
                                                                  cst_error **error);

/* Returns in *out_result whether a value (SELF) satisfies a condition. `variables` is a CST_DICTIONARY. Value and
 * variables are borrowed for the call. */
typedef cst_status (*cst_predicate_block_fn)(void *userdata, const cst_value *value, const cst_value *variables,
                                             bool *out_result, cst_error **error);

/* Creates a predicate that a function of the host evaluates in memory, on the evaluating thread. SQL cannot express
 * such a predicate. */
CST_EXPORT CST_ANY_THREAD cst_status cst_predicate_new_block(cst_predicate_block_fn block, void *userdata,
                                                             cst_destroy_fn destroy,
                                                             cst_predicate **out_predicate CST_OWNED,
                                                             cst_error **error);

/* Creates a copy of a predicate in which $variables are replaced by the values of a CST_DICTIONARY. A CST_EXPRESSION
 * replaces its variable. */
CST_EXPORT CST_ANY_THREAD cst_status cst_predicate_new_substituted(const cst_predicate *predicate,
                                                                   const cst_value *variables,
                                                                   cst_predicate **out_predicate CST_OWNED,
                                                                   cst_error **error);

/* The kinds of predicates. */
enum {
    CST_PREDICATE_IS_FALSE = 0,
    CST_PREDICATE_IS_TRUE = 1,
    CST_PREDICATE_IS_COMPARISON = 2,
    CST_PREDICATE_IS_COMPOUND = 3,
    CST_PREDICATE_IS_BLOCK = 4
};

/* The parts of a predicate. Start from CST_PREDICATE_INFO_INIT. */
typedef struct cst_predicate_info {
    size_t struct_size;
    uint32_t kind;                             /* CST_PREDICATE_IS_… */
    uint32_t compound;                         /* of a compound: CST_PREDICATE_AND, … */
    size_t part_count;                         /* of a compound */
    uint32_t operator_type, modifier, options; /* of a comparison */
    uint32_t reserved;
} cst_predicate_info;
#define CST_PREDICATE_INFO_INIT {sizeof(cst_predicate_info), 0, 0, 0, 0, 0, 0, 0}

/* Returns the kind and the parts of a predicate in a struct that was initialised with CST_PREDICATE_INFO_INIT. */
CST_EXPORT CST_ANY_THREAD cst_status cst_predicate_get_info(const cst_predicate *predicate,
                                                            cst_predicate_info *out_info, cst_error **error);

/* Returns the part at an index of a compound predicate. Returns CST_END past the last one, and for other predicates. */
CST_EXPORT CST_ANY_THREAD cst_status cst_predicate_copy_part(const cst_predicate *predicate, size_t index,
                                                             cst_predicate **out_predicate CST_OWNED,
                                                             cst_error **error);

/* Returns the left (0) or right (1) side of a comparison. Returns CST_NOT_FOUND for other predicates. */
CST_EXPORT CST_ANY_THREAD cst_status cst_predicate_copy_side(const cst_predicate *predicate, uint32_t side,
                                                             cst_expression **out_expression CST_OWNED,
                                                             cst_error **error);

/* Fills a buffer with the predicate as text, in Core Data's spelling. */
CST_EXPORT CST_ANY_THREAD cst_status cst_predicate_copy_format(const cst_predicate *predicate, cst_buffer *out_text,
                                                               cst_error **error);

/* Whether two predicates have the same structure; false for an invalid handle. */
CST_EXPORT CST_ANY_THREAD bool cst_predicate_equal(const cst_predicate *a, const cst_predicate *b);

/* Returns a hash that is equal for equal predicates, or 0 for an invalid handle. */
CST_EXPORT CST_ANY_THREAD uint64_t cst_predicate_hash(const cst_predicate *predicate);

/* Whether an object satisfies the predicate. Evaluated in memory, on the queue of the object. */
CST_EXPORT CST_ON_QUEUE cst_status cst_predicate_evaluate(const cst_predicate *predicate, const cst_object *object,
                                                          bool *out_result, cst_error **error);

/* Whether a value of any type satisfies the predicate. `variables` is NULL, or a CST_DICTIONARY of the values
 * of $names. Objects are evaluated on their queue. */
CST_EXPORT CST_ON_QUEUE cst_status cst_predicate_evaluate_value(const cst_predicate *predicate, const cst_value *value,
                                                                const cst_value *variables, bool *out_result,
                                                                cst_error **error);

/* Reports which of `count` values satisfy the predicate: out_results[i] is true if values[i] satisfies it. Otherwise
 * like cst_predicate_evaluate_value. */
CST_EXPORT CST_ON_QUEUE cst_status cst_predicate_filter(const cst_predicate *predicate, size_t count,
                                                        const cst_value *values, const cst_value *variables,
                                                        bool *out_results, cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
