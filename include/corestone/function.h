/* corestone/function.h: functions of the host for predicates and expressions.
 *
 * A registered function can be called in a format as FUNCTION(receiver, "name", …). Registrations apply to the whole
 * process. A function runs on the thread that evaluates the predicate or expression; several threads can call it
 * concurrently. With a nil receiver, the result is nil without a call.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_FUNCTION_H
#define CORESTONE_FUNCTION_H

#include "accessor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A function of the host. `out_value` must stay valid until the function is called again on the same thread. Receiver
 * and arguments are borrowed for the call. */
typedef cst_status (*cst_function_fn)(void *userdata, const cst_value *receiver, size_t count,
                                      const cst_value *arguments, cst_value *out_value, cst_error **error);

/* Registers a function of the host, and replaces a former one of that name. */
CST_EXPORT CST_ANY_THREAD cst_status cst_function_register(cst_string name, cst_function_fn call, void *userdata,
                                                           cst_destroy_fn destroy, cst_error **error);

/* Registers a plain C function, which is called with C types.
 *
 * `signature` is for example "double(double, double)", or "d(dd)" with a letter for each type, as in Python's struct:
 *
 *   bool ?   int8_t b   int16_t h   int32_t i   int64_t q   float f
 *            uint8_t B  uint16_t H  uint32_t I  uint64_t Q  double d
 *   const char * s   NUL-terminated; NULL is nil
 *   cst_value v      passed by value
 *   cst_object * o   NULL is nil; borrowed if it is the result
 *
 * The function receives the receiver first if it has one parameter more than the call has arguments. If nil is passed
 * for a parameter that cannot be nil, the result is nil without a call. */
CST_EXPORT CST_ANY_THREAD cst_status cst_function_register_typed(cst_string name, cst_string signature,
                                                                 cst_function function, cst_error **error);

/* Deregisters a function. Returns CST_NOT_FOUND if no function of that name is registered. */
CST_EXPORT CST_ANY_THREAD cst_status cst_function_unregister(cst_string name, cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
