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

struct attribute {
    const char *name;
    cst_attribute_type type;
    uint32_t flags;
    int64_t default_value; /* of numbers and booleans that are not optional; NO_DEFAULT for none */
};

enum { NO_DEFAULT = -1 };

static cst_status add_attributes(cst_entity *entity, const struct attribute *attributes, size_t count,
                                 cst_error **error) {
    for (size_t i = 0; i < count; i++) {
        const struct attribute *each = &attributes[i];
        cst_attribute *attribute = NULL;
        cst_status status =
            cst_entity_add_attribute(entity, TEXT(each->name), each->type, each->flags, &attribute, error);
        if (status == CST_OK && each->default_value != NO_DEFAULT) {
            cst_value value = {CST_INT, 0, {.integer = each->default_value}};
            if (each->type == CST_ATTRIBUTE_BOOLEAN) {
                value.type = CST_BOOL;
                value.as.boolean = each->default_value != 0;
            }
            status = cst_attribute_set_default(attribute, &value, error);
        }
        if (status != CST_OK) return status;
    }
    return CST_OK;
}

/* Two relationships, each the other's inverse. */
static cst_status relate(cst_entity *one, const char *name, uint32_t flags, uint32_t rule, cst_entity *other,
                         const char *back_name, uint32_t back_flags, uint32_t back_rule, cst_error **error) {
    cst_relationship *there = NULL, *back = NULL;
    flags |= CST_PROPERTY_OPTIONAL;
    back_flags |= CST_PROPERTY_OPTIONAL;
    cst_status status = cst_entity_add_relationship(one, TEXT(name), other, flags, &there, error);
    if (status == CST_OK) status = cst_entity_add_relationship(other, TEXT(back_name), one, back_flags, &back, error);
    if (status == CST_OK) status = cst_relationship_set_inverse(there, back, error);
    if (status == CST_OK) status = cst_relationship_set_delete_rule(there, rule, error);
    if (status == CST_OK) status = cst_relationship_set_delete_rule(back, back_rule, error);
    return status;
}

static cst_status add_everything(struct packages_model *p, cst_error **error) {
    static const struct attribute package[] = {
        {"name", CST_ATTRIBUTE_STRING, CST_PROPERTY_INDEXED, NO_DEFAULT},
        {"version", CST_ATTRIBUTE_STRING, 0, NO_DEFAULT},
        {"architecture", CST_ATTRIBUTE_STRING, 0, NO_DEFAULT},
        {"summary", CST_ATTRIBUTE_STRING, CST_PROPERTY_OPTIONAL, NO_DEFAULT},
        {"homepage", CST_ATTRIBUTE_URI, CST_PROPERTY_OPTIONAL, NO_DEFAULT},
        {"installedSize", CST_ATTRIBUTE_INTEGER_64, 0, 0}, /* in kibibytes */
        {"essential", CST_ATTRIBUTE_BOOLEAN, 0, 0},
        {"importedAt", CST_ATTRIBUTE_DATE, 0, NO_DEFAULT},
    };
    static const struct attribute maintainer[] = {{"name", CST_ATTRIBUTE_STRING, 0, NO_DEFAULT},
                                                  {"email", CST_ATTRIBUTE_STRING, CST_PROPERTY_OPTIONAL, NO_DEFAULT}};
    static const struct attribute section[] = {{"name", CST_ATTRIBUTE_STRING, 0, NO_DEFAULT}};
    cst_status status = cst_model_add_entity(p->model, TEXT("Package"), &p->package, error);
    if (status == CST_OK) status = cst_model_add_entity(p->model, TEXT("Maintainer"), &p->maintainer, error);
    if (status == CST_OK) status = cst_model_add_entity(p->model, TEXT("Section"), &p->section, error);
    if (status == CST_OK) status = add_attributes(p->package, package, sizeof package / sizeof *package, error);
    if (status == CST_OK) status = add_attributes(p->maintainer, maintainer, 2, error);
    if (status == CST_OK) status = add_attributes(p->section, section, 1, error);
    if (status == CST_OK) {
        status = relate(p->package, "maintainer", 0, CST_DELETE_NULLIFY, p->maintainer, "packages",
                        CST_PROPERTY_TO_MANY, CST_DELETE_CASCADE, error);
    }
    if (status == CST_OK) {
        status = relate(p->package, "section", 0, CST_DELETE_NULLIFY, p->section, "packages", CST_PROPERTY_TO_MANY,
                        CST_DELETE_DENY, error);
    }
    if (status == CST_OK) {
        status = relate(p->package, "dependencies", CST_PROPERTY_TO_MANY, CST_DELETE_NULLIFY, p->package, "dependents",
                        CST_PROPERTY_TO_MANY, CST_DELETE_NULLIFY, error);
    }
    return status == CST_OK ? cst_model_freeze(p->model, error) : status;
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

cst_status packages_model_build(struct packages_model *packages, cst_error **error) {
    memset(packages, 0, sizeof *packages);
    cst_status status = cst_model_new(&packages->model, error);
    if (status == CST_OK) status = add_everything(packages, error);
    if (status == CST_OK) status = find_keys(packages, error);
    if (status != CST_OK) {
        cst_release(packages->model);
        packages->model = NULL;
    }
    return status;
}
