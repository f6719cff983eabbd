/* corestone/example.h: error handling for short programs.
 *
 * Examples and first programs check every call in the same way. With CST_TRY such a call is one line: on failure the
 * macro prints the error to stderr, with its code and details, releases it, and goes to the label `failed`:
 *
 *     #include <corestone/example.h>
 *
 *     int main(void) {
 *         int result = EXIT_FAILURE;
 *         cst_error *error = NULL;
 *         cst_model *model = NULL;
 *         CST_TRY(cst_model_new(&model, &error));
 *         result = EXIT_SUCCESS;
 *     failed:
 *         cst_release(model);
 *         return result;
 *     }
 *
 * This header is not part of corestone.h, and its functions are not exported by the library. A program with its own
 * error handling does not need it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_EXAMPLE_H
#define CORESTONE_EXAMPLE_H

#include "../corestone.h"
#include <stdio.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Runs a call that takes `&error`, the address of a variable `cst_error *error` in scope that is NULL. On failure it
 * prints the call, its source line and the error, releases the error, and goes to the label `failed`. A positive status
 * is not a failure: write out a call that may return CST_NOT_FOUND.
 *
 * In C++ a goto cannot skip the initialisation of a variable: declare variables first, or use CST_TRY_OR. */
#define CST_TRY(call)                                                                                                  \
    do {                                                                                                               \
        if (cst_example_failed((call), &error, #call, __FILE__, __LINE__)) goto failed;                                \
    } while (0)

/* Like CST_TRY, but runs a statement instead of the goto: CST_TRY_OR(cst_context_save(context, &error), return 1); */
#define CST_TRY_OR(call, statement)                                                                                    \
    do {                                                                                                               \
        if (cst_example_failed((call), &error, #call, __FILE__, __LINE__)) statement;                                  \
    } while (0)

/* Whether a status is a failure. If so, prints the error to stderr, releases it and sets *error to NULL; *error
 * may be NULL before. The macros call this function. */
static inline bool cst_example_failed(cst_status status, cst_error **error, const char *call, const char *file,
                                      int line) {
    cst_buffer text = {NULL, 0, 0};
    if (status >= 0) return false;
    fprintf(stderr, "%s:%d: %s failed with status %d\n", file, line, call, (int)status);
    if (*error != NULL && cst_error_copy_description(*error, &text) == CST_OK) fprintf(stderr, "%s\n", text.data);
    cst_buffer_dispose(&text);
    cst_release(*error);
    *error = NULL;
    return true;
}

#ifdef __cplusplus
}
#endif
#endif
