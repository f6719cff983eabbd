/* The model of the example, read from Packages.xcdatamodeld: packages, their maintainers and sections.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef PACKAGES_MODEL_H
#define PACKAGES_MODEL_H

#include <corestone.h>

struct packages_model {
    cst_model *model; /* owned */
    cst_entity *package, *maintainer, *section;
    struct {
        cst_key name, version, architecture, summary, homepage, installed_size, essential, imported_at;
        cst_key maintainer, section, dependencies, dependents;
    } package_key;
    struct {
        cst_key name, email, packages;
    } maintainer_key;
    struct {
        cst_key name, packages;
    } section_key;
};

/* Reads the model, finds its entities and keys. On failure, *error is set and there is nothing to release. */
cst_status packages_model_load(struct packages_model *packages, cst_error **error);

/* Ends the program with status 1 if a call failed, after printing its source line and the error with all details. */
void packages_check(cst_status status, cst_error *error, const char *file, int line);

/* As input: a NUL-terminated string. */
#define TEXT(string) ((cst_string){(string), CST_NUL})
/* Runs a call whose last argument is &error, and ends the program if it fails. */
#define TRY(call) packages_check((call), error, __FILE__, __LINE__)

#endif
