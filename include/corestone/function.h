/* corestone/function.h: functions for predicates and expressions
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_FUNCTION_H
#define CORESTONE_FUNCTION_H

#include "accessor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ======== function ======================================================================================= */
/* Functions of the host's, for FUNCTION(receiver, "name", …) in predicates and expressions. Known in the whole process, called
 * on the thread that evaluates, on several at once. A nil receiver answers nil without a call. */

/* What it gives has to stay valid until its next call on that thread. */
typedef cst_status (*cst_function_fn)(void *userdata, const cst_value *receiver, size_t count,
                                      const cst_value *arguments, cst_value *out_value, cst_error **error);
/* Makes a function known, instead of a former one of that name. */
CST_EXPORT CST_ANY_THREAD cst_status cst_function_register(cst_string name, cst_function_fn call, void *userdata,
                                                           cst_destroy_fn destroy, cst_error **error);
/* The same for a plain C function, called with C's own types: "double(double, double)", or a letter for each as in Python's
 * struct, "d(dd)": bool ?, int8_t b, uint8_t B, int16_t h, uint16_t H, int32_t i, uint32_t I, int64_t q, uint64_t Q, float f,
 * double d, const char * s (NUL-terminated; NULL is nil), cst_value v (by value), cst_object * o (NULL is nil; as a result
 * borrowed). It gets the receiver first when it takes one parameter more than the call has arguments. Nil for a parameter
 * that has no nil makes the result nil without a call. */
CST_EXPORT CST_ANY_THREAD cst_status cst_function_register_typed(cst_string name, cst_string signature,
                                                                 cst_function function, cst_error **error);
/* Forgets a function; CST_NOT_FOUND when none of that name was registered. */
CST_EXPORT CST_ANY_THREAD cst_status cst_function_unregister(cst_string name, cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
