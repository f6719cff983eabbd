#define _GNU_SOURCE
#include "host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

cst_error *host_error;

_Noreturn void host_fail(const char *call, const char *file, int line) {
    cst_buffer text = {0};
    if (host_error) cst_error_copy_description(host_error, &text);
    fprintf(stderr, "%s:%d: %s failed: %s\n", file, line, call, text.data ? text.data : "without an error");
    exit(1);
}

cst_string host_text(const char *text) { return (cst_string){text, CST_NUL}; }

static void attribute(cst_entity *entity, const char *name, cst_attribute_type type) {
    MUST(cst_entity_add_attribute(entity, host_text(name), type, CST_PROPERTY_OPTIONAL, NULL, &host_error));
}

static cst_relationship *relationship(cst_entity *entity, const char *name, cst_entity *destination, uint32_t flags) {
    cst_relationship *made;
    MUST(cst_entity_add_relationship(entity, host_text(name), destination, flags | CST_PROPERTY_OPTIONAL, &made,
                                     &host_error));
    return made;
}

static void make_inverse(cst_relationship *one, cst_relationship *other) {
    MUST(cst_relationship_set_inverse(one, other, &host_error));
}

static void build_model(host *into) {
    MUST(cst_model_new(&into->model, &host_error));
    cst_model *model = into->model;
    MUST(cst_model_add_entity(model, host_text("Department"), &into->department, &host_error));
    MUST(cst_model_add_entity(model, host_text("Project"), &into->project, &host_error));
    MUST(cst_model_add_entity(model, host_text("Employee"), &into->employee, &host_error));

    attribute(into->department, "name", CST_ATTRIBUTE_STRING);
    attribute(into->department, "budget", CST_ATTRIBUTE_DOUBLE);
    attribute(into->project, "title", CST_ATTRIBUTE_STRING);
    attribute(into->project, "budget", CST_ATTRIBUTE_DOUBLE);
    attribute(into->employee, "name", CST_ATTRIBUTE_STRING);
    attribute(into->employee, "email", CST_ATTRIBUTE_STRING);
    attribute(into->employee, "age", CST_ATTRIBUTE_INTEGER_32);
    attribute(into->employee, "salary", CST_ATTRIBUTE_DOUBLE);
    attribute(into->employee, "hireDate", CST_ATTRIBUTE_DATE);
    attribute(into->employee, "active", CST_ATTRIBUTE_BOOLEAN);

    make_inverse(relationship(into->employee, "department", into->department, 0),
                 relationship(into->department, "employees", into->employee, CST_PROPERTY_TO_MANY));
    make_inverse(relationship(into->employee, "projects", into->project, CST_PROPERTY_TO_MANY),
                 relationship(into->project, "employees", into->employee, CST_PROPERTY_TO_MANY));
}

static cst_key key_of(const cst_entity *entity, const char *name) {
    cst_key key;
    MUST(cst_entity_key(entity, host_text(name), &key, &host_error));
    return key;
}

static void resolve_keys(host *into) {
    into->department_name = key_of(into->department, "name");
    into->department_budget = key_of(into->department, "budget");
    into->department_employees = key_of(into->department, "employees");
    into->project_title = key_of(into->project, "title");
    into->project_budget = key_of(into->project, "budget");
    into->project_employees = key_of(into->project, "employees");
    into->name = key_of(into->employee, "name");
    into->email = key_of(into->employee, "email");
    into->age = key_of(into->employee, "age");
    into->salary = key_of(into->employee, "salary");
    into->hired = key_of(into->employee, "hireDate");
    into->active = key_of(into->employee, "active");
    into->department_key = key_of(into->employee, "department");
    into->projects = key_of(into->employee, "projects");
}

void host_open(host *into, const char *path, uint32_t flags) { host_open_type(into, "SQLite", path, flags); }

void host_open_type(host *into, const char *type, const char *path, uint32_t flags) {
    build_model(into);
    MUST(cst_coordinator_new(into->model, &into->coordinator, &host_error));
    resolve_keys(into);
    cst_store_options options = CST_STORE_OPTIONS_INIT;
    options.flags = flags;
    if (!strcmp(type, "SQLite"))
        options.cache_kb = 32768;
    else
        options.flags = 0;
    MUST(cst_coordinator_add_store(into->coordinator, host_text(type), host_text(path), &options, &into->store,
                                   &host_error));
    MUST(cst_context_new(into->coordinator, CST_QUEUE_CALLER, &into->context, &host_error));
}

void host_remove(const char *path) {
    char side[4200];
    for (int i = 0; i < 3; i++) {
        snprintf(side, sizeof side, "%s%s", path, i == 0 ? "" : i == 1 ? "-wal" : "-shm");
        unlink(side);
    }
}

cst_fetch_request *host_all_employees(const host *from) {
    cst_fetch_request *request;
    MUST(cst_fetch_request_new(from->employee, &request, &host_error));
    return request;
}
