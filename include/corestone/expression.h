/* corestone/expression.h: expressions
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_EXPRESSION_H
#define CORESTONE_EXPRESSION_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ======== expression ===================================================================================== */
/* What stands left and right of an operator. Expressions never change; any thread may use them. */

/* Reads an expression, for example "salary * 12"; as cst_predicate_parse. */
CST_EXPORT CST_ANY_THREAD cst_status cst_expression_parse(cst_string format, size_t count, const cst_value *arguments,
                                                          cst_expression **out_expression CST_OWNED, cst_error **error);
CST_EXPORT CST_ANY_THREAD cst_status cst_expression_new_constant(const cst_value *value,
                                                                 cst_expression **out_expression CST_OWNED,
                                                                 cst_error **error);
/* SELF: what is evaluated. */
CST_EXPORT CST_ANY_THREAD cst_status cst_expression_new_self(cst_expression **out_expression CST_OWNED,
                                                             cst_error **error);
/* $name; the name without $. */
CST_EXPORT CST_ANY_THREAD cst_status cst_expression_new_variable(cst_string name,
                                                                 cst_expression **out_expression CST_OWNED,
                                                                 cst_error **error);
/* Keys joined by dots, from `base`; NULL: from SELF. */
CST_EXPORT CST_ANY_THREAD cst_status cst_expression_new_key_path(const cst_expression *base, cst_string path,
                                                                 cst_expression **out_expression CST_OWNED,
                                                                 cst_error **error);
/* A built-in function, by the name it has in a format: "add:to:", "uppercase:". */
CST_EXPORT CST_ANY_THREAD cst_status cst_expression_new_function(cst_string name, size_t count,
                                                                 const cst_expression *const *arguments,
                                                                 cst_expression **out_expression CST_OWNED,
                                                                 cst_error **error);
/* FUNCTION(receiver, "name", …): a method of a value, or a function that the host registered. */
CST_EXPORT CST_ANY_THREAD cst_status cst_expression_new_call(const cst_expression *receiver, cst_string name,
                                                             size_t count, const cst_expression *const *arguments,
                                                             cst_expression **out_expression CST_OWNED,
                                                             cst_error **error);
/* {a, b, …} */
CST_EXPORT CST_ANY_THREAD cst_status cst_expression_new_aggregate(size_t count, const cst_expression *const *elements,
                                                                  cst_expression **out_expression CST_OWNED,
                                                                  cst_error **error);
/* SUBQUERY(collection, $variable, predicate) */
CST_EXPORT CST_ANY_THREAD cst_status cst_expression_new_subquery(const cst_expression *collection, cst_string variable,
                                                                 const cst_predicate *predicate,
                                                                 cst_expression **out_expression CST_OWNED,
                                                                 cst_error **error);
/* FETCH(request, context, countOnly): what a request, which is copied, finds, or how much, as a value of a predicate such as
 * the right side of an IN. Without a context, that of the fetch whose predicate it is a part of; with one, on its queue. The
 * expression keeps the context. */
CST_EXPORT CST_ANY_THREAD cst_status cst_expression_new_fetch(const cst_fetch_request *request, cst_context *context,
                                                              bool count_only,
                                                              cst_expression **out_expression CST_OWNED,
                                                              cst_error **error);
/* TERNARY(predicate, yes, no) */
CST_EXPORT CST_ANY_THREAD cst_status cst_expression_new_conditional(const cst_predicate *predicate,
                                                                    const cst_expression *yes, const cst_expression *no,
                                                                    cst_expression **out_expression CST_OWNED,
                                                                    cst_error **error);
/* left UNION right; `type` is CST_EXPRESSION_UNION, _INTERSECT or _MINUS. */
CST_EXPORT CST_ANY_THREAD cst_status cst_expression_new_set_operation(uint32_t type, const cst_expression *left,
                                                                      const cst_expression *right,
                                                                      cst_expression **out_expression CST_OWNED,
                                                                      cst_error **error);
/* Computes a value; what it gives has to stay valid until its next call on that thread. */
typedef cst_status (*cst_expression_block_fn)(void *userdata, const cst_value *value, size_t count,
                                              const cst_value *arguments, const cst_value *variables,
                                              cst_value *out_value, cst_error **error);
/* A value that the host computes, in memory, on the thread that evaluates. */
CST_EXPORT CST_ANY_THREAD cst_status cst_expression_new_block(cst_expression_block_fn block, void *userdata,
                                                              cst_destroy_fn destroy, size_t count,
                                                              const cst_expression *const *arguments,
                                                              cst_expression **out_expression CST_OWNED,
                                                              cst_error **error);
/* NSExpressionType; from 100 what has no public number of Core Data's. */
enum {
    CST_EXPRESSION_CONSTANT = 0,
    CST_EXPRESSION_SELF = 1, /* the evaluated object */
    CST_EXPRESSION_VARIABLE = 2,
    CST_EXPRESSION_KEY_PATH = 3,
    CST_EXPRESSION_FUNCTION = 4,
    CST_EXPRESSION_UNION = 5,
    CST_EXPRESSION_INTERSECT = 6,
    CST_EXPRESSION_MINUS = 7,
    CST_EXPRESSION_SUBQUERY = 13,
    CST_EXPRESSION_AGGREGATE = 14,
    CST_EXPRESSION_ANY_KEY = 15,
    CST_EXPRESSION_BLOCK = 19,
    CST_EXPRESSION_CONDITIONAL = 20,
    CST_EXPRESSION_FETCH = 50,
    CST_EXPRESSION_CALL = 100,      /* FUNCTION(…): first operand the receiver */
    CST_EXPRESSION_ASSIGNMENT = 101 /* $name := operand */
};
CST_EXPORT CST_ANY_THREAD cst_status cst_expression_type(const cst_expression *expression, uint32_t *out_type,
                                                         cst_error **error);
/* The value of a constant; CST_NOT_FOUND for everything else. */
CST_EXPORT CST_ANY_THREAD cst_status cst_expression_copy_constant(const cst_expression *expression,
                                                                  cst_value *out_value CST_OWNED, cst_error **error);
/* The key path, the name of the function, of the variable (a subquery's, too); CST_NOT_FOUND when there is none. */
CST_EXPORT CST_ANY_THREAD cst_status cst_expression_copy_name(const cst_expression *expression, cst_buffer *out_text,
                                                              cst_error **error);
/* The expressions it is made of, in the order in which they are written; CST_END past the last one. A key path that does
 * not start at SELF has one: where it starts. */
CST_EXPORT CST_ANY_THREAD cst_status cst_expression_copy_operand(const cst_expression *expression, size_t index,
                                                                 cst_expression **out_expression CST_OWNED,
                                                                 cst_error **error);
/* The condition of a subquery or a conditional; CST_NOT_FOUND when there is none. */
CST_EXPORT CST_ANY_THREAD cst_status cst_expression_copy_predicate(const cst_expression *expression,
                                                                   cst_predicate **out_predicate CST_OWNED,
                                                                   cst_error **error);
/* The expression as text, in Core Data's spelling. */
CST_EXPORT CST_ANY_THREAD cst_status cst_expression_copy_format(const cst_expression *expression, cst_buffer *out_text,
                                                                cst_error **error);
/* Whether two expressions are built the same; false when one is no live handle. */
CST_EXPORT CST_ANY_THREAD bool cst_expression_equal(const cst_expression *a, const cst_expression *b);
/* Equal expressions have equal hashes; 0 for an invalid handle. */
CST_EXPORT CST_ANY_THREAD uint64_t cst_expression_hash(const cst_expression *expression);
/* The value for what is evaluated, in memory; as cst_predicate_evaluate_value. */
CST_EXPORT CST_ON_QUEUE cst_status cst_expression_value(const cst_expression *expression, const cst_value *value,
                                                        const cst_value *variables, cst_value *out_value CST_OWNED,
                                                        cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
