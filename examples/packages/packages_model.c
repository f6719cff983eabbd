/* SPDX-License-Identifier: MIT */
#include "packages_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void packages_check(cst_status status, cst_error *error, const char *file, int line) {
    if (status >= 0) return;
    cst_buffer text = {NULL, 0, 0};
    cst_error_copy_description(error, &text);
    fprintf(stderr, "%s:%d: %s\n", file, line, text.data ? text.data : "a call failed");
    exit(1);
}

/* Returns the path of the model, which is next to this file. */
static const char *model_path(void) {
    static char path[4096];
    const char *end = strrchr(__FILE__, '/');
    int length = end ? (int)(end - __FILE__ + 1) : 0;
    snprintf(path, sizeof path, "%.*sPackages.xcdatamodeld", length, __FILE__);
    return path;
}

static cst_status find_entities(struct packages_model *p, cst_error **error) {
    const struct {
        const char *name;
        cst_entity **entity;
    } wanted[] = {{"Package", &p->package}, {"Maintainer", &p->maintainer}, {"Section", &p->section}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        cst_status status = cst_model_entity(p->model, TEXT(wanted[i].name), wanted[i].entity, error);
        if (status != CST_OK) return status;
    }
    return CST_OK;
}

static cst_status find_keys(struct packages_model *p, cst_error **error) {
    const struct {
        cst_entity *entity;
        const char *name;
        cst_key *key;
    } wanted[] = {
        {p->package, "name", &p->package_key.name},
        {p->package, "version", &p->package_key.version},
        {p->package, "architecture", &p->package_key.architecture},
        {p->package, "summary", &p->package_key.summary},
        {p->package, "homepage", &p->package_key.homepage},
        {p->package, "installedSize", &p->package_key.installed_size},
        {p->package, "essential", &p->package_key.essential},
        {p->package, "importedAt", &p->package_key.imported_at},
        {p->package, "maintainer", &p->package_key.maintainer},
        {p->package, "section", &p->package_key.section},
        {p->package, "dependencies", &p->package_key.dependencies},
        {p->package, "dependents", &p->package_key.dependents},
        {p->maintainer, "name", &p->maintainer_key.name},
        {p->maintainer, "email", &p->maintainer_key.email},
        {p->maintainer, "packages", &p->maintainer_key.packages},
        {p->section, "name", &p->section_key.name},
        {p->section, "packages", &p->section_key.packages},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        cst_status status = cst_entity_key(wanted[i].entity, TEXT(wanted[i].name), wanted[i].key, error);
        if (status != CST_OK) return status;
    }
    return CST_OK;
}

cst_status packages_model_load(struct packages_model *packages, cst_error **error) {
    memset(packages, 0, sizeof *packages);
    cst_status status = cst_model_load(TEXT(model_path()), (cst_string){NULL, 0}, &packages->model, error);
    if (status == CST_OK) status = find_entities(packages, error);
    if (status == CST_OK) status = find_keys(packages, error);
    if (status != CST_OK) {
        cst_release(packages->model);
        packages->model = NULL;
    }
    return status;
}
