/* The model, the store and the objects of the growth suite. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "growth.h"

static const char model_text[] =
    "{\"Department\": {\"name\": \"string? indexed\","
    "                \"employees\": \"to-many Employee inverse department\"},"
    " \"Pool\": {\"members\": \"to-many Employee inverse pool\"},"
    " \"List\": {\"entries\": \"to-many ordered Employee inverse list delete cascade\"},"
    " \"Employee\": {\"name\": \"string? indexed\", \"email\": \"string?\", \"age\": \"int32?\", \"salary\": "
    "\"double?\","
    "              \"hired\": \"date?\", \"active\": \"bool?\","
    "              \"department\": \"to-one Department? inverse employees\","
    "              \"pool\": \"to-one Pool? inverse members\", \"list\": \"to-one List? inverse entries\"},"
    " \"Badge\": {\"@unique\": [[\"code\"]], \"code\": \"int64\", \"owner\": \"string?\"}}";

_Noreturn void growth_fail(const char *condition, const char *file, int line) {
    fprintf(stderr, "%s:%d: %s does not hold\n", file, line, condition);
    exit(1);
}

static cst_entity *entity(const cst_model *model, const char *name) {
    cst_entity *found;
    MUST(cst_model_entity(model, host_text(name), &found, &host_error));
    return found;
}

static cst_key key(const cst_entity *of, const char *name) {
    cst_key found;
    MUST(cst_entity_key(of, host_text(name), &found, &host_error));
    return found;
}

static void resolve(growth *of) {
    of->department = entity(of->model, "Department");
    of->pool = entity(of->model, "Pool");
    of->list = entity(of->model, "List");
    of->employee = entity(of->model, "Employee");
    of->badge = entity(of->model, "Badge");
    of->name = key(of->employee, "name");
    of->email = key(of->employee, "email");
    of->age = key(of->employee, "age");
    of->salary = key(of->employee, "salary");
    of->hired = key(of->employee, "hired");
    of->active = key(of->employee, "active");
    of->in_department = key(of->employee, "department");
    of->in_pool = key(of->employee, "pool");
    of->in_list = key(of->employee, "list");
    of->department_name = key(of->department, "name");
    of->employees = key(of->department, "employees");
    of->members = key(of->pool, "members");
    of->entries = key(of->list, "entries");
    of->code = key(of->badge, "code");
    of->owner = key(of->badge, "owner");
}

void growth_open(growth *of, const char *type, const char *path, uint32_t flags) {
    if (!of->model) {
        MUST(cst_model_new_from_text(host_text(model_text), &of->model, &host_error));
        resolve(of);
    }
    MUST(cst_coordinator_new(of->model, &of->coordinator, &host_error));
    resolve(of);
    cst_store_options options = CST_STORE_OPTIONS_INIT;
    options.flags = flags;
    MUST(cst_coordinator_add_store(of->coordinator, host_text(type), host_text(path), &options, &of->store,
                                   &host_error));
    MUST(cst_context_new(of->coordinator, CST_QUEUE_CALLER, &of->context, &host_error));
}

cst_results *growth_load_in(const growth *of, cst_context *context) {
    cst_fetch_request *request = growth_request(of->employee);
    cst_results *results = growth_fetch(context, request, of->count);
    cst_value value;
    for (long i = 0; i < of->count; i++)
        MUST(cst_object_get(growth_at(results, i), of->age, &value, &host_error));
    cst_release(request);
    return results;
}

void growth_load(growth *of) {
    of->all = growth_load_in(of, of->context);
    of->objects = malloc((size_t)of->count * sizeof *of->objects);
    size_t got;
    MUST(cst_results_get_objects(of->all, 0, (size_t)of->count, of->objects, &got, &host_error));
}

cst_fetch_request *growth_request(const cst_entity *entity) {
    cst_fetch_request *request;
    MUST(cst_fetch_request_new(entity, &request, &host_error));
    return request;
}

void growth_set_predicate(cst_fetch_request *request, const char *format, const cst_value *argument) {
    cst_predicate *predicate;
    MUST(cst_predicate_parse(host_text(format), argument ? 1 : 0, argument, &predicate, &host_error));
    MUST(cst_fetch_request_set_predicate(request, predicate, &host_error));
    cst_release(predicate);
}

void growth_sort(cst_fetch_request *request, const char *key_path) {
    const cst_sort sort = {.key_path = host_text(key_path)};
    MUST(cst_fetch_request_set_sort(request, 1, &sort, &host_error));
}

cst_results *growth_fetch(cst_context *context, const cst_fetch_request *request, long count) {
    cst_results *results;
    MUST(cst_context_fetch(context, request, &results, &host_error));
    EXPECT(count < 0 || cst_results_count(results) == (size_t)count);
    return results;
}

cst_object *growth_at(const cst_results *results, long index) {
    cst_object *object;
    MUST(cst_results_get_object(results, (size_t)index, &object, &host_error));
    return object;
}

cst_object *growth_only(const growth *of, const cst_entity *entity) {
    cst_fetch_request *request = growth_request(entity);
    cst_results *results = growth_fetch(of->context, request, 1);
    cst_object *object = cst_retain(growth_at(results, 0));
    cst_release(results);
    cst_release(request);
    return object;
}

cst_object_id *growth_id(const growth *of, long number) {
    char uri[128];
    cst_object_id *id;
    snprintf(uri, sizeof uri, "x-coredata://%s/Employee/p%ld", cst_store_identifier(of->store).data, number + 1);
    MUST(cst_coordinator_object_id(of->coordinator, host_text(uri), &id, &host_error));
    return id;
}

void growth_values(long number, char *text, cst_value *out_values) {
    /* The names are in another order than the keys. */
    const long shuffled = number * 7919 % 999983;
    const size_t name = (size_t)snprintf(text, 32, "Employee %06ld %ld", shuffled, number);
    const size_t email = (size_t)snprintf(text + 32, 64, "employee.%ld@corp.test", number);
    out_values[0] = cst_value_string((cst_string){text, name});
    out_values[1] = cst_value_string((cst_string){text + 32, email});
    out_values[2] = cst_value_int(20 + number % 40);
    out_values[3] = cst_value_double(30000 + (double)shuffled);
    out_values[4] = cst_value_date(1000.0 * (double)number);
    out_values[5] = cst_value_bool(number % 2 == 0);
}

void growth_keys(const growth *of, cst_key *out_keys) {
    const cst_key keys[ATTRIBUTES] = {of->name, of->email, of->age, of->salary, of->hired, of->active};
    memcpy(out_keys, keys, sizeof keys);
}

cst_object *growth_insert(const growth *of, cst_context *context, long number) {
    char text[96];
    cst_key keys[ATTRIBUTES];
    cst_value values[ATTRIBUTES];
    cst_object *object;
    growth_keys(of, keys);
    growth_values(number, text, values);
    MUST(cst_context_insert(context, of->employee, &object, &host_error));
    MUST(cst_object_set_many(object, ATTRIBUTES, keys, values, &host_error));
    return object;
}

void growth_insert_all(const growth *of, cst_context *context) {
    for (long i = 0; i < of->count; i++)
        cst_release(growth_insert(of, context, i));
}

double growth_salary(const growth *of, const cst_object *object) {
    cst_value value;
    MUST(cst_object_get(object, of->salary, &value, &host_error));
    return value.as.real;
}

void growth_change(const growth *of, cst_object *object, long number) {
    const cst_value value = cst_value_double(-1000 - (double)number);
    MUST(cst_object_set(object, of->salary, &value, &host_error));
}

void growth_change_all(const growth *of) {
    for (long i = 0; i < of->count; i++)
        growth_change(of, of->objects[i], i);
}

void growth_save(cst_context *context) { MUST(cst_context_save(context, &host_error)); }

void growth_process(cst_context *context) { MUST(cst_context_process_pending_changes(context, &host_error)); }

void growth_insert_badges(const growth *of, cst_context *context) {
    const cst_key keys[] = {of->code, of->owner};
    for (long i = 0; i < of->count; i++) {
        const cst_value values[] = {cst_value_int(i), cst_value_string(host_text("Ada"))};
        cst_object *badge;
        MUST(cst_context_insert(context, of->badge, &badge, &host_error));
        MUST(cst_object_set_many(badge, 2, keys, values, &host_error));
        cst_release(badge);
    }
}
