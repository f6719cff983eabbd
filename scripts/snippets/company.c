/* The start of each program of C examples from docs/: check_snippets.py appends the examples of a page. */
#include <corestone.h>
#include <stdio.h>
#include <stdlib.h>

#define OK(call)                                                                                                       \
    do {                                                                                                               \
        cst_status status_ = (call);                                                                                   \
        if (status_ != CST_OK) {                                                                                       \
            fprintf(stderr, "line %d: %s is %d\n", __LINE__, #call, (int)status_);                                     \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

static cst_model *model;
static cst_entity *employee, *department;
static cst_key name, salary;
static cst_coordinator *coordinator;
static cst_context *context;
static cst_object *ada, *grace, *research;

static void add(cst_entity *entity, const char *attribute, cst_attribute_type type, uint32_t flags) {
    OK(cst_entity_add_attribute(entity, cst_string_from(attribute), type, flags, NULL, NULL));
}

static cst_object *hire(const char *called, int64_t age, double pay) {
    cst_object *person = NULL;
    const cst_string paths[] = {CST_TEXT("name"), CST_TEXT("age"), CST_TEXT("salary"), CST_TEXT("department")};
    const cst_value values[] = {cst_value_string(cst_string_from(called)), cst_value_int(age), cst_value_double(pay),
                                cst_value_object(research)};
    OK(cst_context_insert(context, employee, &person, NULL));
    OK(cst_object_set_paths(person, 4, paths, values, NULL));
    return person;
}

static void set_up(void) {
    cst_relationship *employees = NULL, *works_in = NULL;
    const cst_value called = cst_value_string(CST_TEXT("Research"));
    OK(cst_model_new(&model, NULL));
    OK(cst_model_add_entity(model, CST_TEXT("Employee"), &employee, NULL));
    OK(cst_model_add_entity(model, CST_TEXT("Department"), &department, NULL));
    add(employee, "name", CST_ATTRIBUTE_STRING, 0);
    add(employee, "age", CST_ATTRIBUTE_INTEGER_32, CST_PROPERTY_OPTIONAL);
    add(employee, "salary", CST_ATTRIBUTE_DOUBLE, CST_PROPERTY_OPTIONAL);
    add(employee, "hired", CST_ATTRIBUTE_DATE, CST_PROPERTY_OPTIONAL);
    add(employee, "badge", CST_ATTRIBUTE_UUID, CST_PROPERTY_OPTIONAL);
    add(department, "name", CST_ATTRIBUTE_STRING, 0);
    add(department, "budget", CST_ATTRIBUTE_DECIMAL, CST_PROPERTY_OPTIONAL);
    OK(cst_entity_add_relationship(employee, CST_TEXT("department"), department, CST_PROPERTY_OPTIONAL, &works_in,
                                   NULL));
    OK(cst_entity_add_relationship(department, CST_TEXT("employees"), employee,
                                   CST_PROPERTY_TO_MANY | CST_PROPERTY_OPTIONAL, &employees, NULL));
    OK(cst_relationship_set_inverse(employees, works_in, NULL));
    OK(cst_entity_key(employee, CST_TEXT("name"), &name, NULL));
    OK(cst_entity_key(employee, CST_TEXT("salary"), &salary, NULL));
    OK(cst_coordinator_new(model, &coordinator, NULL));
    OK(cst_coordinator_add_store(coordinator, CST_TEXT("SQLite"), CST_TEXT("company.sqlite"), NULL, NULL, NULL));
    OK(cst_context_new(coordinator, CST_QUEUE_CALLER, &context, NULL));
    OK(cst_context_insert(context, department, &research, NULL));
    OK(cst_object_set_path(research, CST_TEXT("name"), &called, NULL));
    ada = hire("Ada", 36, 6500);
    grace = hire("Grace", 45, 8000);
    OK(cst_context_save(context, NULL));
}

/* Releases all handles. Returns 1 if an example of the page has not released one of its own. */
static int tear_down(void) {
    void *handles[] = {ada, grace, research, context, coordinator, model};
    for (size_t i = 0; i < sizeof handles / sizeof *handles; i++)
        OK(cst_release(handles[i]));
    size_t left = cst_handle_count();
    if (left != 0) fprintf(stderr, "%zu handles are not released\n", left);
    return left == 0 ? 0 : 1;
}
