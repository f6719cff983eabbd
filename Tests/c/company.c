/* SPDX-License-Identifier: MIT */
#include "company.h"

#include <stdio.h>
#include <string.h>

static cst_fetch_request *fetch_request(const cst_entity *entity, const char *format) {
    cst_fetch_request *request = NULL;
    cst_predicate *predicate = NULL;
    OK(cst_fetch_request_new(entity, &request, E));
    if (format) OK(cst_predicate_parse(text(format), 0, NULL, &predicate, E));
    OK(cst_fetch_request_set_predicate(request, predicate, E));
    cst_release(predicate);
    return request;
}

static cst_entity *entity(cst_model *model, const char *name) {
    cst_entity *result = NULL;
    OK(cst_model_entity(model, text(name), &result, E));
    return result;
}

/* The model of Tests/support/company.json. */
static cst_model *model_of_file(void) {
    char content[8192];
    FILE *file = fopen(COMPANY, "rb");
    REQUIRE(file);
    const size_t size = fread(content, 1, sizeof content, file);
    fclose(file);
    REQUIRE(size < sizeof content);
    cst_model *model = NULL;
    OK(cst_model_new_from_text((cst_string){content, size}, &model, E));
    return model;
}

/* What the text form cannot express: a fetched property and two fetch request templates. */
cst_model *company_model(void) {
    cst_model *model = model_of_file();
    cst_entity *employee = entity(model, "Employee");
    cst_fetch_request *request = fetch_request(employee, "name == $FETCH_SOURCE.name AND SELF != $FETCH_SOURCE");
    OK(cst_entity_add_fetched_property(employee, text("namesakes"), request, E));
    OK(cst_release(request));
    request = fetch_request(employee, NULL);
    OK(cst_model_set_template(model, text("everybody"), request, E));
    OK(cst_release(request));
    request = fetch_request(employee, "level > $LEVEL AND (department == $PLACE OR department == nil)");
    OK(cst_model_set_template(model, text("above"), request, E));
    OK(cst_release(request));
    return model;
}

static cst_key key(cst_entity *entity, const char *name) {
    cst_key result = CST_NO_KEY;
    OK(cst_entity_key(entity, text(name), &result, E));
    return result;
}

void company_resolve(struct company *c) {
    c->person = entity(c->model, "Person");
    c->employee = entity(c->model, "Employee");
    c->department = entity(c->model, "Department");
    c->project = entity(c->model, "Project");
    c->task = entity(c->model, "Task");
    c->name = key(c->person, "name");
    c->level = key(c->employee, "level");
    c->floor = key(c->employee, "floor");
    c->number = key(c->employee, "number");
    c->salary = key(c->employee, "salary");
    c->rating = key(c->employee, "rating");
    c->factor = key(c->employee, "factor");
    c->notes = key(c->employee, "notes");
    c->active = key(c->employee, "active");
    c->hired = key(c->employee, "hired");
    c->photo = key(c->employee, "photo");
    c->badge = key(c->employee, "badge");
    c->site = key(c->employee, "site");
    c->blob = key(c->employee, "blob");
    c->scratch = key(c->employee, "scratch");
    c->to_department = key(c->employee, "department");
    c->manager = key(c->employee, "manager");
    c->reports = key(c->employee, "reports");
    c->friends = key(c->employee, "friends");
    c->reviews = key(c->employee, "reviews");
    c->department_name = key(c->department, "name");
    c->employees = key(c->department, "employees");
    c->title = key(c->project, "title");
    c->reviewers = key(c->project, "reviewers");
    c->tasks = key(c->project, "tasks");
    c->task_title = key(c->task, "title");
    c->to_project = key(c->task, "project");
    c->watcher = key(c->task, "watcher");
}

struct company company_open(const char *path) {
    cst_store_options options = CST_STORE_OPTIONS_INIT;
    options.flags = CST_STORE_NORMAL_SYNC;
    return company_open_with(path, &options);
}

struct company company_open_with(const char *path, const cst_store_options *options) {
    struct company company;
    memset(&company, 0, sizeof company);
    company.model = company_model();
    OK(cst_coordinator_new(company.model, &company.coordinator, E));
    OK(cst_coordinator_add_store(company.coordinator, text("SQLite"), text(path), options, &company.store, E));
    company_resolve(&company);
    company.context = company_context(&company, CST_QUEUE_CALLER);
    return company;
}

void company_close(struct company *company) {
    CHECK_STATUS(CST_OK, cst_release(company->context));
    CHECK_STATUS(CST_OK, cst_release(company->store));
    CHECK_STATUS(CST_OK, cst_release(company->coordinator));
    CHECK_STATUS(CST_OK, cst_release(company->model));
    memset(company, 0, sizeof *company);
}

cst_context *company_context(const struct company *company, cst_queue queue) {
    cst_context *context = NULL;
    OK(cst_context_new(company->coordinator, queue, &context, E));
    return context;
}

cst_object *company_insert(const struct company *company, cst_context *context, const cst_entity *entity, cst_key key,
                           const char *name) {
    (void)company;
    cst_object *object = NULL;
    OK(cst_context_insert(context, entity, &object, E));
    set(object, key, value_text(name));
    return object;
}

cst_object *company_employee(const struct company *company, cst_context *context, const char *name, int64_t number) {
    cst_object *object = company_insert(company, context, company->employee, company->name, name);
    set(object, company->number, value_int(number));
    return object;
}

static cst_fetch_request *request(const cst_entity *entity, const char *format) {
    cst_fetch_request *result = NULL;
    OK(cst_fetch_request_new(entity, &result, E));
    if (format) {
        cst_predicate *predicate = NULL;
        OK(cst_predicate_parse(text(format), 0, NULL, &predicate, E));
        OK(cst_fetch_request_set_predicate(result, predicate, E));
        OK(cst_release(predicate));
    }
    return result;
}

cst_results *company_fetch(cst_context *context, const cst_entity *entity, const char *predicate, const char *sort) {
    cst_fetch_request *fetch = request(entity, predicate);
    if (sort) {
        cst_sort order = {text(sort), 0, 0};
        OK(cst_fetch_request_set_sort(fetch, 1, &order, E));
    }
    cst_results *results = NULL;
    OK(cst_context_fetch(context, fetch, &results, E));
    OK(cst_release(fetch));
    return results;
}

uint64_t company_count(cst_context *context, const cst_entity *entity, const char *predicate) {
    cst_fetch_request *fetch = request(entity, predicate);
    uint64_t count = UINT64_MAX;
    OK(cst_context_count(context, fetch, &count, E));
    OK(cst_release(fetch));
    return count;
}

static cst_value empty(cst_type type) {
    cst_value value;
    memset(&value, 0, sizeof value);
    value.type = type;
    return value;
}

cst_value value_null(void) { return empty(CST_NULL); }

cst_value value_bool(bool boolean) {
    cst_value value = empty(CST_BOOL);
    value.as.boolean = boolean;
    return value;
}

cst_value value_int(int64_t integer) {
    cst_value value = empty(CST_INT);
    value.as.integer = integer;
    return value;
}

cst_value value_real(double real) {
    cst_value value = empty(CST_DOUBLE);
    value.as.real = real;
    return value;
}

cst_value value_date(double seconds) {
    cst_value value = empty(CST_DATE);
    value.as.date = seconds;
    return value;
}

cst_value value_text(const char *string) {
    cst_value value = empty(CST_STRING);
    value.as.string = text(string);
    return value;
}

cst_value value_bytes(const void *data, size_t size) {
    cst_value value = empty(CST_BYTES);
    value.as.bytes.data = data;
    value.as.bytes.size = size;
    return value;
}

cst_value value_uuid(const uint8_t bytes[16]) {
    cst_value value = empty(CST_UUID);
    memcpy(value.as.uuid, bytes, 16);
    return value;
}

cst_value value_uri(const char *string) {
    cst_value value = empty(CST_URI);
    value.as.string = text(string);
    return value;
}

cst_value value_object(cst_object *object) {
    cst_value value = empty(CST_OBJECT);
    value.as.object = object;
    return value;
}

cst_value value_decimal(uint64_t mantissa, int exponent, bool negative) {
    cst_value value = empty(CST_DECIMAL);
    value.aux = CST_DECIMAL_AUX(negative, exponent);
    value.as.decimal.mantissa[0] = mantissa;
    return value;
}

void set(cst_object *object, cst_key key, cst_value value) { OK(cst_object_set(object, key, &value, E)); }

cst_value get(const cst_object *object, cst_key key) {
    cst_value value = value_null();
    OK(cst_object_get(object, key, &value, E));
    return value;
}

cst_string get_text(const cst_object *object, cst_key key) {
    cst_value value = get(object, key);
    if (value.type == CST_NULL) return (cst_string){NULL, 0};
    REQUIRE(value.type == CST_STRING || value.type == CST_URI);
    return value.as.string;
}

int64_t get_int(const cst_object *object, cst_key key) {
    cst_value value = get(object, key);
    REQUIRE(value.type == CST_INT);
    return value.as.integer;
}

cst_object *object_at(const cst_results *results, size_t index) {
    cst_object *object = NULL;
    OK(cst_results_get_object(results, index, &object, E));
    return object;
}

size_t member_count(const cst_object *object, cst_key key) {
    size_t count = SIZE_MAX;
    OK(cst_object_member_count(object, key, &count, E));
    return count;
}

uint32_t state(const cst_object *object) {
    uint32_t flags = UINT32_MAX;
    OK(cst_object_state(object, &flags, E));
    return flags;
}

bool has_changes(const cst_context *context) {
    bool changes = false;
    OK(cst_context_has_changes(context, &changes, E));
    return changes;
}

void save(cst_context *context) { OK(cst_context_save(context, E)); }

cst_bytes check_archive(void) {
    static const uint8_t archive[] = {
        98,  112, 108, 105, 115, 116, 48,  48,  212, 1,   2,   3,   4,   5,   6,   35,  38,  89,  36,  97,  114, 99,
        104, 105, 118, 101, 114, 88,  36,  111, 98,  106, 101, 99,  116, 115, 84,  36,  116, 111, 112, 88,  36,  118,
        101, 114, 115, 105, 111, 110, 95,  16,  15,  78,  83,  75,  101, 121, 101, 100, 65,  114, 99,  104, 105, 118,
        101, 114, 169, 7,   8,   17,  18,  23,  24,  28,  31,  33,  85,  36,  110, 117, 108, 108, 211, 9,   10,  11,
        12,  13,  15,  86,  36,  99,  108, 97,  115, 115, 87,  78,  83,  46,  107, 101, 121, 115, 90,  78,  83,  46,
        111, 98,  106, 101, 99,  116, 115, 128, 6,   161, 14,  128, 2,   161, 16,  128, 3,   81,  97,  210, 9,   11,
        19,  20,  128, 7,   162, 21,  22,  128, 4,   128, 5,   16,  1,   210, 9,   25,  26,  27,  87,  78,  83,  46,
        116, 105, 109, 101, 128, 8,   35,  64,  4,   0,   0,   0,   0,   0,   0,   209, 29,  30,  90,  36,  99,  108,
        97,  115, 115, 110, 97,  109, 101, 92,  78,  83,  68,  105, 99,  116, 105, 111, 110, 97,  114, 121, 209, 29,
        32,  87,  78,  83,  65,  114, 114, 97,  121, 209, 29,  34,  86,  78,  83,  68,  97,  116, 101, 209, 36,  37,
        84,  114, 111, 111, 116, 128, 1,   18,  0,   1,   134, 160, 8,   17,  27,  36,  41,  50,  68,  78,  84,  91,
        98,  106, 117, 119, 121, 123, 125, 127, 129, 134, 136, 139, 141, 143, 145, 150, 158, 160, 169, 172, 183, 196,
        199, 207, 210, 217, 220, 225, 227, 0,   0,   0,   0,   0,   0,   1,   1,   0,   0,   0,   0,   0,   0,   0,
        39,  0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   232,
    };
    return (cst_bytes){archive, sizeof archive};
}

cst_fetch_request *company_by_number(const struct company *company) {
    cst_fetch_request *request = NULL;
    cst_sort order = {text("number"), 0, 0};
    OK(cst_fetch_request_new(company->employee, &request, E));
    OK(cst_fetch_request_set_sort(request, 1, &order, E));
    return request;
}
