/* corestone/expression.h: expressions: constants, key paths, functions.
 *
 * Expressions are the sides of comparisons, computed columns of rows, and values of batch updates.
 * cst_expression_parse parses an expression from a format, as cst_predicate_parse parses predicates. The
 * cst_expression_new_ functions build an expression from parts; the copy functions return the parts of an expression.
 * cst_expression_value computes the value of an expression. The caller owns expressions. They never change, and any
 * thread may use them; objects are evaluated on their queue.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_EXPRESSION_H
#define CORESTONE_EXPRESSION_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Parses an expression, for example "salary * 12". Arguments and errors are those of cst_predicate_parse. */
CST_EXPORT CST_ANY_THREAD cst_status cst_expression_parse(cst_string format, size_t count, const cst_value *arguments,
                                                          cst_expression **out_expression CST_OWNED, cst_error **error);

/* Creates a constant expression. The value is copied. */
CST_EXPORT CST_ANY_THREAD cst_status cst_expression_new_constant(const cst_value *value,
                                                                 cst_expression **out_expression CST_OWNED,
                                                                 cst_error **error);

/* Creates the expression SELF, the evaluated value or object. */
CST_EXPORT CST_ANY_THREAD cst_status cst_expression_new_self(cst_expression **out_expression CST_OWNED,
                                                             cst_error **error);

/* Creates the variable $name; `name` does not include the $. */
CST_EXPORT CST_ANY_THREAD cst_status cst_expression_new_variable(cst_string name,
                                                                 cst_expression **out_expression CST_OWNED,
                                                                 cst_error **error);

/* Creates a key path, keys joined by dots. The key path starts from the value of `base`, or from SELF if `base` is
 * NULL. */
CST_EXPORT CST_ANY_THREAD cst_status cst_expression_new_key_path(const cst_expression *base, cst_string path,
                                                                 cst_expression **out_expression CST_OWNED,
                                                                 cst_error **error);

/* Creates a call of a built-in function, by its name in a format: "add:to:", "uppercase:". */
CST_EXPORT CST_ANY_THREAD cst_status cst_expression_new_function(cst_string name, size_t count,
                                                                 const cst_expression *const *arguments,
                                                                 cst_expression **out_expression CST_OWNED,
                                                                 cst_error **error);

/* Creates FUNCTION(receiver, "name", …): a call of a method of a value, or of a function of the host.
 *
 * The host registers its functions first (function.h). */
CST_EXPORT CST_ANY_THREAD cst_status cst_expression_new_call(const cst_expression *receiver, cst_string name,
                                                             size_t count, const cst_expression *const *arguments,
                                                             cst_expression **out_expression CST_OWNED,
                                                             cst_error **error);

/* Creates the collection {a, b, …}. */
CST_EXPORT CST_ANY_THREAD cst_status cst_expression_new_aggregate(size_t count, const cst_expression *const *elements,
                                                                  cst_expression **out_expression CST_OWNED,
                                                                  cst_error **error);

/* Creates SUBQUERY(collection, $variable, predicate): the members of a collection that satisfy a predicate. */
CST_EXPORT CST_ANY_THREAD cst_status cst_expression_new_subquery(const cst_expression *collection, cst_string variable,
                                                                 const cst_predicate *predicate,
                                                                 cst_expression **out_expression CST_OWNED,
                                                                 cst_error **error);

/* Creates FETCH(request, context, countOnly): the objects of a request, or their number.
 *
 * The request is copied. The expression can be the right side of an IN, for example. If `context` is NULL, the request
 * runs in the context of the fetch whose predicate contains the expression; otherwise in `context`, on its queue. The
 * expression retains `context`. */
CST_EXPORT CST_ANY_THREAD cst_status cst_expression_new_fetch(const cst_fetch_request *request, cst_context *context,
                                                              bool count_only,
                                                              cst_expression **out_expression CST_OWNED,
                                                              cst_error **error);

/* Creates TERNARY(predicate, yes, no). */
CST_EXPORT CST_ANY_THREAD cst_status cst_expression_new_conditional(const cst_predicate *predicate,
                                                                    const cst_expression *yes, const cst_expression *no,
                                                                    cst_expression **out_expression CST_OWNED,
                                                                    cst_error **error);

/* Creates a set operation: left UNION, INTERSECT or MINUS right. `type` is CST_EXPRESSION_UNION, _INTERSECT or
 * _MINUS. */
CST_EXPORT CST_ANY_THREAD cst_status cst_expression_new_set_operation(uint32_t type, const cst_expression *left,
                                                                      const cst_expression *right,
                                                                      cst_expression **out_expression CST_OWNED,
                                                                      cst_error **error);

/* Computes a value. The value must stay valid until the function is called again on the same thread. */
typedef cst_status (*cst_expression_block_fn)(void *userdata, const cst_value *value, size_t count,
                                              const cst_value *arguments, const cst_value *variables,
                                              cst_value *out_value, cst_error **error);

/* Creates an expression that a function of the host computes, in memory, on the evaluating thread. */
CST_EXPORT CST_ANY_THREAD cst_status cst_expression_new_block(cst_expression_block_fn block, void *userdata,
                                                              cst_destroy_fn destroy, size_t count,
                                                              const cst_expression *const *arguments,
                                                              cst_expression **out_expression CST_OWNED,
                                                              cst_error **error);

/* The types of expressions: NSExpressionType. Types without a public number in Core Data begin at 100. */
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
    CST_EXPRESSION_CALL = 100,      /* FUNCTION(…); the first operand is the receiver */
    CST_EXPRESSION_ASSIGNMENT = 101 /* $name := operand */
};

/* Returns the type of an expression, a CST_EXPRESSION_ constant. */
CST_EXPORT CST_ANY_THREAD cst_status cst_expression_type(const cst_expression *expression, uint32_t *out_type,
                                                         cst_error **error);

/* Returns the value of a constant. Returns CST_NOT_FOUND for other expressions. The caller frees it with
 * cst_value_dispose. */
CST_EXPORT CST_ANY_THREAD cst_status cst_expression_copy_constant(const cst_expression *expression,
                                                                  cst_value *out_value CST_OWNED, cst_error **error);

/* Fills a buffer with the name of an expression.
 *
 * The name is the key path, the name of the function, or the name of the variable (including the variable of a
 * subquery). Returns CST_NOT_FOUND for expressions without a name. */
CST_EXPORT CST_ANY_THREAD cst_status cst_expression_copy_name(const cst_expression *expression, cst_buffer *out_text,
                                                              cst_error **error);

/* Returns the operand at an index, in the written order. Returns CST_END past the last one. A key path that does not
 * start at SELF has one operand, its start. */
CST_EXPORT CST_ANY_THREAD cst_status cst_expression_copy_operand(const cst_expression *expression, size_t index,
                                                                 cst_expression **out_expression CST_OWNED,
                                                                 cst_error **error);

/* Returns the predicate of a subquery or a conditional. Returns CST_NOT_FOUND for other expressions. */
CST_EXPORT CST_ANY_THREAD cst_status cst_expression_copy_predicate(const cst_expression *expression,
                                                                   cst_predicate **out_predicate CST_OWNED,
                                                                   cst_error **error);

/* Fills a buffer with the expression as text, in Core Data's spelling. */
CST_EXPORT CST_ANY_THREAD cst_status cst_expression_copy_format(const cst_expression *expression, cst_buffer *out_text,
                                                                cst_error **error);

/* Whether two expressions have the same structure; false for an invalid handle. */
CST_EXPORT CST_ANY_THREAD bool cst_expression_equal(const cst_expression *a, const cst_expression *b);

/* Returns a hash that is equal for equal expressions, or 0 for an invalid handle. */
CST_EXPORT CST_ANY_THREAD uint64_t cst_expression_hash(const cst_expression *expression);

/* Computes the value of the expression for `value`, in memory. `variables` are as for cst_predicate_evaluate_value.
 * The caller frees the result with cst_value_dispose. */
CST_EXPORT CST_ON_QUEUE cst_status cst_expression_value(const cst_expression *expression, const cst_value *value,
                                                        const cst_value *variables, cst_value *out_value CST_OWNED,
                                                        cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
