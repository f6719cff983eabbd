/* Fetching: predicates, sorting, limits, pending changes, inheritance, prefetching, counting.
 *
 * SPDX-License-Identifier: MIT
 */
#include "company.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *names[] = {"Ada", "bob", "Cyd", "dora", "Eve", "Zoë"};

static struct company six_people(const char *path) {
    struct company c = company_open(path);
    for (int i = 0; i < 6; i++) {
        cst_object *person = company_employee(&c, c.context, names[i], i + 1);
        set(person, c.level, value_int(i % 2));
        OK(cst_release(person));
    }
    save(c.context);
    return c;
}

static cst_fetch_request *request(const cst_entity *entity) {
    cst_fetch_request *result = NULL;
    OK(cst_fetch_request_new(entity, &result, E));
    return result;
}

/* The initials of the objects that a request returns. */
static void expect(const struct company *c, const cst_fetch_request *fetch, const char *initials) {
    cst_results *results = NULL;
    char found[64] = "";
    OK(cst_context_fetch(c->context, fetch, &results, E));
    for (size_t i = 0; i < cst_results_count(results) && i < 60; i++) {
        found[i] = get_text(object_at(results, i), c->name).data[0];
        found[i + 1] = 0;
    }
    OK(cst_release(results));
    CHECK_TEXT(initials, text_of_size(found, strlen(found)));
}

static void sorted(cst_fetch_request *fetch, const char *key_path, uint32_t flags) {
    cst_sort order = {text(key_path), flags, 0};
    OK(cst_fetch_request_set_sort(fetch, 1, &order, E));
}

static void filter(cst_fetch_request *fetch, const char *format) {
    cst_predicate *predicate = NULL;
    OK(cst_predicate_parse(text(format), 0, NULL, &predicate, E));
    OK(cst_fetch_request_set_predicate(fetch, predicate, E));
    OK(cst_release(predicate));
}

static void sort_descriptors_limits_and_offsets_are_applied(void) {
    struct company c = six_people(check_path("a.sqlite"));
    cst_fetch_request *fetch = request(c.employee);
    sorted(fetch, "number", CST_SORT_DESCENDING);
    expect(&c, fetch, "ZEdCbA");
    sorted(fetch, "name", CST_SORT_CASE_INSENSITIVE);
    expect(&c, fetch, "AbCdEZ");
    sorted(fetch, "name", 0);
    expect(&c, fetch, "ACEZbd");
    const cst_sort two[] = {{text("level"), CST_SORT_DESCENDING, 0}, {text("number"), 0, 0}};
    OK(cst_fetch_request_set_sort(fetch, 2, two, E));
    expect(&c, fetch, "bdZACE");
    OK(cst_fetch_request_set_limit(fetch, 3, E));
    expect(&c, fetch, "bdZ");
    OK(cst_fetch_request_set_offset(fetch, 2, E));
    expect(&c, fetch, "ZAC");
    OK(cst_fetch_request_set_limit(fetch, 0, E));
    expect(&c, fetch, "ZACE");
    uint64_t count = 0;
    OK(cst_context_count(c.context, fetch, &count, E));
    CHECK_INT(4, count);
    OK(cst_fetch_request_set_offset(fetch, 100, E));
    expect(&c, fetch, "");
    OK(cst_fetch_request_set_offset(fetch, UINT64_MAX, E));
    OK(cst_fetch_request_set_limit(fetch, UINT64_MAX, E));
    expect(&c, fetch, "");
    OK(cst_release(fetch));
    company_close(&c);
}

static void predicates_select_the_same_objects_before_and_after_a_save(void) {
    static const struct {
        const char *format, *initials;
    } cases[] = {
        {"number > 4", "EZ"},
        {"number BETWEEN {2, 4} AND level == 1", "bd"},
        {"name IN {'Ada', 'Eve', 'nobody'}", "AE"},
        {"name BEGINSWITH[c] 'B' OR name ENDSWITH 'd'", "bC"},
        {"name LIKE '?o*'", "bdZ"},
        {"name MATCHES '[A-E].*'", "ACE"},
        {"name CONTAINS[cd] 'OE'", "Z"},
        {"name ==[cd] 'ZOE'", "Z"},
        {"NOT number < 6", "Z"},
        {"notes == nil AND number != 1", "bCdEZ"},
        {"notes != 'x' AND number < 3", "Ab"},
        {"department.name == nil AND number == 3", "C"},
        {"TRUEPREDICATE", "AbCdEZ"},
        {"FALSEPREDICATE", ""},
    };
    for (int saved = 0; saved < 2; saved++) {
        struct company c = company_open(check_path(saved ? "saved.sqlite" : "pending.sqlite"));
        for (int i = 0; i < 6; i++) {
            cst_object *person = company_employee(&c, c.context, names[i], i + 1);
            set(person, c.level, value_int(i % 2));
            OK(cst_release(person));
        }
        if (saved) save(c.context);
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            cst_fetch_request *fetch = request(c.employee);
            filter(fetch, cases[i].format);
            sorted(fetch, "number", 0);
            cst_results *results = NULL;
            char found[16] = "";
            if (!CHECK_STATUS(CST_OK, cst_context_fetch(c.context, fetch, &results, E))) {
                printf("    %s\n", cases[i].format);
            }
            for (size_t n = 0; n < cst_results_count(results) && n < 6; n++) {
                found[n] = get_text(object_at(results, n), c.name).data[0];
            }
            if (strcmp(found, cases[i].initials) != 0) {
                check_fail(__FILE__, __LINE__, "%s: %s returned \"%s\", expected \"%s\"", saved ? "saved" : "pending",
                           cases[i].format, found, cases[i].initials);
            }
            OK(cst_release(results));
            OK(cst_release(fetch));
        }
        company_close(&c);
    }
}

static void pending_changes_are_included_by_default(void) {
    struct company c = six_people(check_path("a.sqlite"));
    cst_results *results = company_fetch(c.context, c.employee, "name == 'Ada'", NULL);
    set(object_at(results, 0), c.number, value_int(100));
    OK(cst_release(results));
    results = company_fetch(c.context, c.employee, "name == 'Eve'", NULL);
    OK(cst_context_delete(c.context, object_at(results, 0), E));
    OK(cst_release(results));
    OK(cst_release(company_employee(&c, c.context, "New", 50)));
    cst_fetch_request *fetch = request(c.employee);
    filter(fetch, "number > 4");
    sorted(fetch, "number", 0);
    expect(&c, fetch, "ZNA");
    uint64_t count = 0;
    OK(cst_context_count(c.context, fetch, &count, E));
    CHECK_INT(3, count);
    OK(cst_fetch_request_set_includes_pending_changes(fetch, false, E));
    OK(cst_context_count(c.context, fetch, &count, E));
    CHECK_INT(2, count);
    OK(cst_release(fetch));
    company_close(&c);
}

static void subentities_are_included_by_default(void) {
    struct company c = six_people(check_path("a.sqlite"));
    cst_fetch_request *fetch = request(c.person);
    sorted(fetch, "name", 0);
    expect(&c, fetch, "ACEZbd");
    OK(cst_fetch_request_set_includes_subentities(fetch, false, E));
    expect(&c, fetch, "");
    OK(cst_release(fetch));
    company_close(&c);
}

static void a_fetch_returns_faults_unless_full_objects_are_requested(void) {
    struct company c = six_people(check_path("a.sqlite"));
    cst_object *dept = company_insert(&c, c.context, c.department, c.department_name, "R&D");
    cst_results *all = company_fetch(c.context, c.employee, NULL, "number");
    for (size_t i = 0; i < 6; i++)
        set(object_at(all, i), c.to_department, value_object(dept));
    save(c.context);
    OK(cst_release(all));
    OK(cst_release(dept));

    cst_context *other = company_context(&c, CST_QUEUE_CALLER);
    cst_fetch_request *fetch = request(c.employee);
    cst_results *results = NULL;
    OK(cst_context_fetch(other, fetch, &results, E));
    CHECK(state(object_at(results, 0)) & CST_OBJECT_FAULT);
    OK(cst_release(results));
    OK(cst_release(other));
    other = company_context(&c, CST_QUEUE_CALLER);
    OK(cst_fetch_request_set_returns_faults(fetch, false, E));
    const cst_string paths[] = {text("department")};
    OK(cst_fetch_request_set_prefetch(fetch, 1, paths, E));
    OK(cst_context_fetch(other, fetch, &results, E));
    CHECK(!(state(object_at(results, 0)) & CST_OBJECT_FAULT));
    cst_value value = get(object_at(results, 0), c.to_department);
    REQUIRE(value.type == CST_OBJECT);
    CHECK_TEXT("R&D", get_text(value.as.object, c.department_name));
    OK(cst_release(results));
    OK(cst_release(fetch));
    OK(cst_release(other));
    company_close(&c);
}

static void fetching_ids_registers_no_objects(void) {
    struct company c = six_people(check_path("a.sqlite"));
    OK(cst_context_reset(c.context, E));
    cst_fetch_request *fetch = request(c.employee);
    sorted(fetch, "number", 0);
    cst_results *results = NULL, *registered = NULL;
    OK(cst_context_fetch_ids(c.context, fetch, &results, E));
    CHECK_INT(6, cst_results_count(results));
    OK(cst_context_copy_changed(c.context, CST_CHANGED_REGISTERED, &registered, E));
    CHECK_INT(0, cst_results_count(registered));
    OK(cst_release(registered));
    cst_object_id *id = NULL;
    OK(cst_results_copy_id(results, 2, &id, E));
    cst_object *object = NULL;
    OK(cst_context_existing_object(c.context, id, &object, E));
    CHECK_TEXT("Cyd", get_text(object, c.name));
    OK(cst_release(object));
    OK(cst_release(id));
    id = NULL;
    CHECK_STATUS(CST_END, cst_results_copy_id(results, 6, &id, E));
    CHECK(cst_results_get_object(results, 0, &object, E) != CST_OK);
    OK(cst_release(results));
    OK(cst_release(fetch));
    company_close(&c);
}

static void any_matches_members_before_and_after_a_save(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *rnd = company_insert(&c, c.context, c.department, c.department_name, "R&D");
    cst_object *ops = company_insert(&c, c.context, c.department, c.department_name, "Ops");
    cst_object *ada = company_employee(&c, c.context, "Ada", 1), *bob = company_employee(&c, c.context, "Bob", 50);
    cst_object *project = company_insert(&c, c.context, c.project, c.title, "P");
    set(ada, c.to_department, value_object(rnd));
    set(bob, c.to_department, value_object(ops));
    OK(cst_object_add_member(project, c.reviewers, ada, E));
    for (int saved = 0; saved < 2; saved++) {
        if (saved) save(c.context);
        CHECK_INT(1, company_count(c.context, c.department, "ANY employees.number > 40"));
        CHECK_INT(1, company_count(c.context, c.project, "ANY reviewers.department.name == 'R&D'"));
        CHECK_INT(0, company_count(c.context, c.project, "ANY reviewers.department.name == 'Ops'"));
        CHECK_INT(1, company_count(c.context, c.department, "ANY employees.reviews.title == 'P'"));
    }
    OK(cst_release(project));
    OK(cst_release(rnd));
    OK(cst_release(ops));
    OK(cst_release(ada));
    OK(cst_release(bob));
    company_close(&c);
}

static void objects_can_be_predicate_arguments(void) {
    struct company c = six_people(check_path("a.sqlite"));
    cst_object *rnd = company_insert(&c, c.context, c.department, c.department_name, "R&D");
    cst_results *all = company_fetch(c.context, c.employee, "number < 3", NULL);
    for (size_t i = 0; i < 2; i++)
        set(object_at(all, i), c.to_department, value_object(rnd));
    OK(cst_release(all));
    for (int saved = 0; saved < 2; saved++) {
        if (saved) save(c.context);
        cst_value value = value_object(rnd);
        cst_predicate *predicate = NULL;
        OK(cst_predicate_parse(text("department == %@"), 1, &value, &predicate, E));
        cst_fetch_request *fetch = request(c.employee);
        OK(cst_fetch_request_set_predicate(fetch, predicate, E));
        OK(cst_release(predicate));
        uint64_t count = 0;
        OK(cst_context_count(c.context, fetch, &count, E));
        CHECK_INT(2, count);
        OK(cst_fetch_request_set_predicate(fetch, NULL, E));
        OK(cst_context_count(c.context, fetch, &count, E));
        CHECK_INT(6, count);
        OK(cst_release(fetch));
    }
    OK(cst_release(rnd));
    company_close(&c);
}

static void errors_name_unknown_keys(void) {
    struct company c = six_people(check_path("a.sqlite"));
    cst_fetch_request *fetch = request(c.employee);
    cst_results *results = NULL;
    filter(fetch, "nme == 'Ada'");
    CHECK_STATUS(CST_E_PREDICATE, cst_context_fetch(c.context, fetch, &results, E));
    CHECK_CONTAINS("nme", cst_error_message(check_error()));
    CHECK_CONTAINS("name", cst_error_message(check_error())); /* did you mean */
    CHECK_TEXT("Employee", cst_error_entity(check_error()));
    uint64_t count;
    CHECK_STATUS(CST_E_PREDICATE, cst_context_count(c.context, fetch, &count, E));
    OK(cst_fetch_request_set_predicate(fetch, NULL, E));
    cst_sort order = {text("salry"), 0, 0};
    cst_status status = cst_fetch_request_set_sort(fetch, 1, &order, E);
    if (status == CST_OK) status = cst_context_fetch(c.context, fetch, &results, E);
    CHECK(status < 0);
    CHECK_CONTAINS("salry", cst_error_message(check_error()));
    OK(cst_release(fetch));
    fetch = request(c.employee);
    const cst_string path = text("departmnt");
    status = cst_fetch_request_set_prefetch(fetch, 1, &path, E);
    if (status == CST_OK) status = cst_context_fetch(c.context, fetch, &results, E);
    CHECK(status < 0);
    CHECK_CONTAINS("departmnt", cst_error_message(check_error()));
    CHECK(results == NULL);
    OK(cst_release(fetch));
    company_close(&c);
}

/* A predicate without SQL is evaluated in memory, within order and window; a request can refuse that. */
static void predicates_without_sql_are_evaluated_in_memory(void) {
    struct company c = six_people(check_path("a.sqlite"));
    cst_fetch_request *fetch = request(c.employee);
    sorted(fetch, "number", CST_SORT_DESCENDING);
    filter(fetch, "number > 1 AND NOT name.description IN {'Cyd', 'Zo\xC3\xAB'}");
    expect(&c, fetch, "Edb");
    OK(cst_fetch_request_set_limit(fetch, 2, E));
    OK(cst_fetch_request_set_offset(fetch, 1, E));
    expect(&c, fetch, "db");
    uint64_t count = 0;
    OK(cst_context_count(c.context, fetch, &count, E));
    CHECK_INT(2, count);
    OK(cst_fetch_request_set_allows_split(fetch, false, E));
    cst_results *results = NULL;
    cst_error *error = NULL;
    CHECK_STATUS(CST_E_UNSUPPORTED, cst_context_fetch(c.context, fetch, &results, &error));
    CHECK(strstr(cst_error_message(error).data, "description") != NULL);
    OK(cst_release(error));
    filter(fetch, "number > 3");
    expect(&c, fetch, "Ed");
    OK(cst_release(fetch));
    company_close(&c);
}

/* Without a department, a comparison with its name is false here, and neither true nor false in a database. */
static void nil_comparisons_follow_the_nulls_option(void) {
    struct company c = six_people(check_path("a.sqlite"));
    cst_object *person = company_employee(&c, c.context, "Fay", 7);
    set(person, c.notes, value_text("x"));
    cst_fetch_request *fetch = request(c.employee);
    sorted(fetch, "number", 0);
    filter(fetch, "NOT (notes == 'y') AND number > 5");
    expect(&c, fetch, "ZF");
    OK(cst_fetch_request_set_nulls(fetch, CST_NULLS_DATABASE, E));
    expect(&c, fetch, "F");
    save(c.context);
    expect(&c, fetch, "F");
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_fetch_request_set_nulls(fetch, 2, NULL));
    OK(cst_fetch_request_set_nulls(fetch, CST_NULLS_MEMORY, E));
    expect(&c, fetch, "ZF");
    OK(cst_release(person));
    OK(cst_release(fetch));
    company_close(&c);
}

/* ---- requests of every kind */

static cst_fetch_request *by_name(const char *name, const char *sort) {
    cst_fetch_request *request = NULL;
    cst_sort order = {text(sort), 0, 0};
    OK(cst_fetch_request_new_named(text(name), &request, E));
    OK(cst_fetch_request_set_sort(request, 1, &order, E));
    return request;
}

static void staff(struct company *c, int count) {
    char name[32];
    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof name, "%04d", i);
        OK(cst_release(company_employee(c, c->context, name, i)));
    }
    save(c->context);
    OK(cst_context_reset(c->context, E));
}

static void execute_returns_every_result_type(void) {
    struct company c = company_open(check_path("a.sqlite"));
    staff(&c, 3);
    cst_fetch_request *request = by_name("Employee", "name"), *copy = NULL;
    cst_request_result result;
    OK(cst_context_execute(c.context, request, &result, E));
    CHECK(result.type == CST_RESULT_OBJECTS && result.count == 3);
    CHECK_TEXT("0002", get_text(object_at(result.value, 2), c.name));
    OK(cst_release(result.value));
    OK(cst_fetch_request_set_option(request, CST_FETCH_RESULT_TYPE, CST_RESULT_COUNT, E));
    OK(cst_context_execute(c.context, request, &result, E));
    CHECK(result.type == CST_RESULT_COUNT && result.count == 3 && !result.value);
    OK(cst_fetch_request_set_option(request, CST_FETCH_RESULT_TYPE, CST_RESULT_OBJECT_IDS, E));
    OK(cst_fetch_request_set_option(request, CST_FETCH_LIMIT, 2, E));
    OK(cst_context_execute(c.context, request, &result, E));
    CHECK(result.type == CST_RESULT_OBJECT_IDS && result.count == 2 && cst_results_count(result.value) == 2);
    OK(cst_release(result.value));
    OK(cst_fetch_request_copy(request, &copy, E));
    OK(cst_fetch_request_set_option(copy, CST_FETCH_RESULT_TYPE, CST_RESULT_DICTIONARIES, E));
    OK(cst_context_execute(c.context, copy, &result, E));
    CHECK(result.type == CST_RESULT_DICTIONARIES && cst_rows_count(result.value) == 2);
    OK(cst_release(result.value));
    int64_t value = 0;
    OK(cst_fetch_request_option(request, CST_FETCH_RESULT_TYPE, &value, E));
    CHECK_INT(CST_RESULT_OBJECT_IDS, value);
    OK(cst_release(copy));
    OK(cst_release(request));
    company_close(&c);
}

static void invalid_requests_are_refused(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_request_result result;
    cst_error *error = NULL;
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_context_execute(c.context, c.context, &result, &error));
    CHECK_INT(134091, cst_error_code(error));
    cst_release(error);
    error = NULL;
    cst_fetch_request *request = by_name("Emplyee", "name");
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_execute(c.context, request, &result, &error));
    CHECK(strstr(cst_error_message(error).data, "Employee") != NULL);
    cst_release(error);
    error = NULL;
    CHECK_STATUS(CST_E_UNSUPPORTED, cst_fetch_request_set_option(request, CST_FETCH_RESULT_TYPE, 3, &error));
    CHECK_INT(134091, cst_error_code(error));
    cst_release(error);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_fetch_request_set_option(request, CST_FETCH_LIMIT, -1, NULL));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_fetch_request_set_option(request, CST_FETCH_DISTINCT, 2, NULL));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_fetch_request_set_option(request, 99, 0, NULL));
    OK(cst_fetch_request_set_entity_name(request, (cst_string){NULL, 0}, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_execute(c.context, request, &result, NULL));
    cst_column column = {text("x"), NULL, -5, 0};
    CHECK(cst_fetch_request_set_columns(request, 1, &column, NULL) < 0);
    OK(cst_fetch_request_set_entity_name(request, text("Employee"), E));
    OK(cst_context_execute(c.context, request, &result, E));
    OK(cst_release(result.value));
    cst_buffer archive = {0};
    cst_fetch_request *same = NULL;
    OK(cst_fetch_request_copy_archive(request, &archive, E));
    OK(cst_fetch_request_new_from_archive((cst_bytes){(const uint8_t *)archive.data, archive.size}, &same, E));
    OK(cst_context_execute(c.context, same, &result, E));
    OK(cst_release(result.value));
    OK(cst_release(same));
    CHECK_STATUS(CST_E_STORE_CORRUPT,
                 cst_fetch_request_new_from_archive((cst_bytes){(const uint8_t *)"x", 1}, &same, NULL));
    cst_buffer_dispose(&archive);
    cst_buffer json = {0};
    OK(cst_fetch_request_copy_json(request, &json, E));
    CHECK(strstr(json.data, "\"entityName\":\"Employee\"") || strstr(json.data, "\"entityName\": \"Employee\""));
    cst_buffer_dispose(&json);
    cst_predicate *predicate = NULL;
    CHECK_STATUS(CST_NOT_FOUND, cst_fetch_request_copy_predicate(request, &predicate, E));
    OK(cst_release(request));
    company_close(&c);
}

static void a_fetch_reads_only_the_affected_stores(void) {
    struct company c = company_open(check_path("a.sqlite"));
    staff(&c, 2);
    cst_store *second = NULL;
    OK(cst_coordinator_add_store(c.coordinator, text("SQLite"), text(check_path("b.sqlite")), NULL, &second, E));
    cst_object *bob = company_employee(&c, c.context, "Bob", 1);
    OK(cst_context_assign(c.context, bob, second, E));
    save(c.context);
    cst_fetch_request *request = by_name("Employee", "name");
    uint64_t count = 0;
    const cst_store *stores[] = {second};
    OK(cst_context_count(c.context, request, &count, E));
    CHECK_INT(3, count);
    OK(cst_fetch_request_set_affected_stores(request, 1, stores, E));
    OK(cst_context_count(c.context, request, &count, E));
    CHECK_INT(1, count);
    OK(cst_fetch_request_set_affected_stores(request, 0, stores, E));
    OK(cst_context_count(c.context, request, &count, E));
    CHECK_INT(0, count);
    OK(cst_fetch_request_set_affected_stores(request, 0, NULL, E));
    OK(cst_context_count(c.context, request, &count, E));
    CHECK_INT(3, count);
    OK(cst_release(bob));
    OK(cst_release(request));
    OK(cst_release(second));
    company_close(&c);
}

static void lazy_results_keep_only_a_window_of_objects(void) {
    enum { COUNT = 500, BATCH = 20 };
    struct company c = company_open(check_path("a.sqlite"));
    staff(&c, COUNT);
    cst_fetch_request *request = by_name("Employee", "name");
    cst_request_result result;
    OK(cst_fetch_request_set_option(request, CST_FETCH_BATCH_SIZE, BATCH, E));
    OK(cst_context_execute(c.context, request, &result, E));
    cst_results *lazy = result.value, *chosen = NULL;
    CHECK_INT(BATCH, cst_results_batch_size(lazy));
    CHECK_INT(COUNT, cst_results_count(lazy));
    uint64_t known = 0;
    for (size_t i = 0; i < COUNT; i++) {
        CHECK_INT(i, get_int(object_at(lazy, i), c.number));
        OK(cst_context_changed_count(c.context, CST_CHANGED_REGISTERED, &known, E));
        if (known > 11 * BATCH) check_fail(__FILE__, __LINE__, "objects of old batches stay registered");
    }
    cst_object *objects[COUNT], *one = NULL;
    size_t count = 0;
    OK(cst_results_get_objects(lazy, 0, COUNT, objects, &count, E));
    CHECK_INT(COUNT, count);
    CHECK_INT(7, get_int(objects[7], c.number)); /* handles of one call all serve */
    CHECK_STATUS(CST_END, cst_results_get_object(lazy, COUNT, &one, E));
    cst_value values[COUNT];
    OK(cst_results_get_column(lazy, c.number, 90, COUNT, values, &count, E));
    CHECK_INT(COUNT - 90, count);
    for (size_t i = 0; i < count; i++)
        CHECK_INT(90 + i, values[i].as.integer);
    cst_predicate *predicate = NULL;
    OK(cst_predicate_parse(text("number >= 490"), 0, NULL, &predicate, E));
    OK(cst_results_copy_filtered(lazy, predicate, NULL, &chosen, E));
    CHECK_INT(10, cst_results_count(chosen));
    CHECK_INT(BATCH, cst_results_batch_size(chosen));
    CHECK_INT(491, get_int(object_at(chosen, 1), c.number));
    OK(cst_release(chosen));
    cst_sort order = {text("number"), CST_SORT_DESCENDING, 0};
    OK(cst_results_copy_sorted(lazy, 1, &order, NULL, NULL, &chosen, E));
    CHECK_INT(COUNT - 1, get_int(object_at(chosen, 0), c.number));
    cst_object_id *id = NULL;
    OK(cst_results_copy_id(chosen, 3, &id, E));
    OK(cst_release(id));
    OK(cst_release(chosen));
    OK(cst_release(predicate));
    OK(cst_release(lazy));
    OK(cst_release(request));
    company_close(&c);
}

/* ---- beside the context */

struct end {
    _Atomic int calls, destroyed;
    uint64_t count;
    cst_status status;
};

static void ended(void *userdata, cst_asynchronous_fetch *fetch) {
    struct end *end = userdata;
    cst_request_result result;
    end->status = cst_asynchronous_fetch_copy_result(fetch, &result, NULL);
    end->count = result.count;
    cst_release(result.value);
    end->calls++;
}

static void forgotten(void *userdata) { ((struct end *)userdata)->destroyed++; }

static void wait_for(const struct end *end) {
    while (!end->destroyed)
        usleep(1000);
}

struct job {
    const cst_fetch_request *request;
    struct end *end;
    cst_asynchronous_fetch *fetch;
    bool cancels;
};

static cst_status begin(void *userdata, cst_context *context, cst_error **error) {
    struct job *job = userdata;
    cst_status status =
        cst_context_fetch_asynchronously(context, job->request, 7, ended, job->end, forgotten, &job->fetch, error);
    cst_request_result result;
    if (status == CST_OK) CHECK_STATUS(CST_NOT_FOUND, cst_asynchronous_fetch_copy_result(job->fetch, &result, NULL));
    if (status == CST_OK && job->cancels) OK(cst_asynchronous_fetch_cancel(job->fetch, E));
    return status;
}

static void asynchronous_fetches_deliver_their_result_once(void) {
    struct company c = company_open(check_path("a.sqlite"));
    staff(&c, 100);
    cst_context *private = company_context(&c, CST_QUEUE_PRIVATE);
    cst_fetch_request *request = by_name("Employee", "name");
    struct end end = {0}, stopped = {0}, refused = {0};
    struct job job = {request, &end, NULL, false};
    OK(cst_context_perform_and_wait(private, begin, &job, E));
    wait_for(&end);
    CHECK_INT(CST_OK, end.status);
    CHECK_INT(100, end.count);
    CHECK(end.calls == 1 && end.destroyed == 1);
    uint64_t completed = 0, total = 0;
    CHECK_STATUS(CST_END, cst_asynchronous_fetch_progress(job.fetch, &completed, &total, E));
    CHECK(completed == 100 && total == 100);
    CHECK_STATUS(CST_UNCHANGED, cst_asynchronous_fetch_cancel(job.fetch, E));
    cst_request_result result;
    CHECK_STATUS(CST_E_WRONG_THREAD, cst_asynchronous_fetch_copy_result(job.fetch, &result, NULL));
    OK(cst_release(job.fetch));

    job = (struct job){request, &stopped, NULL, true};
    OK(cst_context_perform_and_wait(private, begin, &job, E));
    OK(cst_release(job.fetch)); /* before it has ended */
    wait_for(&stopped);
    CHECK_INT(CST_E_CANCELLED, stopped.status);
    CHECK_INT(1, stopped.calls);

    struct end kept = {0};
    job = (struct job){request, &kept, NULL, false};
    OK(cst_context_perform_and_wait(private, begin, &job, E));
    wait_for(&kept);

    cst_asynchronous_fetch *fetch = NULL;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                 cst_context_fetch_asynchronously(c.context, request, 0, ended, &refused, forgotten, &fetch, NULL));
    CHECK(refused.calls == 0 && refused.destroyed == 1 && !fetch);
    OK(cst_release(request));
    OK(cst_release(private));
    OK(cst_release(job.fetch)); /* from another thread, when its context has no handle any more */
    company_close(&c);
}

static void a_fetch_expression_is_evaluated_within_a_predicate(void) {
    struct company c = company_open(check_path("a.sqlite"));
    staff(&c, 20);
    cst_fetch_request *inner = by_name("Employee", "name"), *outer = by_name("Employee", "name");
    cst_predicate *old = NULL, *is_old = NULL;
    OK(cst_predicate_parse(text("number >= 18"), 0, NULL, &old, E));
    OK(cst_fetch_request_set_predicate(inner, old, E));
    cst_expression *fetched = NULL;
    OK(cst_expression_new_fetch(inner, NULL, false, &fetched, E));
    uint32_t kind = 0;
    OK(cst_expression_type(fetched, &kind, E));
    CHECK_INT(CST_EXPRESSION_FETCH, kind);
    cst_value given = {CST_EXPRESSION, 0, {.expression = fetched}};
    OK(cst_predicate_parse(text("SELF IN %@"), 1, &given, &is_old, E));
    OK(cst_fetch_request_set_predicate(outer, is_old, E));
    OK(cst_release(inner));
    uint64_t count = 0;
    OK(cst_context_count(c.context, outer, &count, E));
    CHECK_INT(2, count);
    OK(cst_release(company_employee(&c, c.context, "new", 99)));
    OK(cst_context_count(c.context, outer, &count, E));
    CHECK_INT(3, count);
    OK(cst_release(fetched));
    OK(cst_release(is_old));
    OK(cst_release(old));
    OK(cst_release(outer));
    company_close(&c);
}

static void a_partial_fetch_loads_only_the_listed_properties(void) {
    struct company c = company_open(check_path("a.sqlite"));
    staff(&c, 3);
    cst_fetch_request *request = by_name("Employee", "name");
    cst_column column = {text("name"), NULL, 0, 0};
    cst_results *found = NULL;
    OK(cst_fetch_request_set_columns(request, 1, &column, E));
    OK(cst_context_fetch(c.context, request, &found, E));
    cst_string name = get_text(object_at(found, 1), c.name);
    CHECK_TEXT("0001", name);
    CHECK(state(object_at(found, 1)) & CST_OBJECT_FAULT);
    CHECK_INT(1, get_int(object_at(found, 1), c.number));
    CHECK(!(state(object_at(found, 1)) & CST_OBJECT_FAULT));
    CHECK_TEXT("0001", name); /* the view outlives the part that it is a view of */
    OK(cst_release(found));
    OK(cst_release(request));
    company_close(&c);
}

struct asker {
    const struct company *company;
    int asked;
};

static cst_status has_number_one(void *userdata, const cst_value *value, const cst_value *variables, bool *out_result,
                                 cst_error **error) {
    struct asker *asker = userdata;
    cst_context *context = NULL;
    cst_value number;
    (void)variables;
    asker->asked++;
    CHECK_INT(CST_OBJECT, value->type);
    OK(cst_object_context(value->as.object, &context, E));
    CHECK(context == asker->company->context);
    const cst_status status = cst_object_get(value->as.object, asker->company->number, &number, error);
    *out_result = status == CST_OK && number.as.integer == 1;
    return status;
}

/* If a predicate also refers to other objects, the stored state of unchanged ones is used, but the host receives
 * objects. */
static void a_block_predicate_gets_objects_beside_a_key_path_predicate(void) {
    struct company c = six_people(check_path("a.sqlite"));
    cst_object *research = company_insert(&c, c.context, c.department, c.department_name, "Research");
    cst_results *people = company_fetch(c.context, c.employee, "name == 'Zoë'", NULL);
    set(object_at(people, 0), c.to_department, value_object(research));
    save(c.context);
    struct asker asker = {&c, 0};
    cst_predicate *parts[2] = {NULL, NULL}, *either = NULL;
    OK(cst_predicate_new_block(has_number_one, &asker, NULL, &parts[0], E));
    OK(cst_predicate_parse(text("department.name == 'Research'"), 0, NULL, &parts[1], E));
    OK(cst_predicate_new_compound(CST_PREDICATE_OR, 2, (const cst_predicate *const *)parts, &either, E));
    cst_fetch_request *fetch = request(c.employee);
    sorted(fetch, "number", CST_SORT_DESCENDING);
    OK(cst_fetch_request_set_predicate(fetch, either, E));
    expect(&c, fetch, "ZA");
    set(research, c.department_name, value_text("Renamed")); /* of another object, and not saved */
    expect(&c, fetch, "ZA");
    CHECK(asker.asked >= 12);
    OK(cst_context_rollback(c.context, E));
    for (int i = 0; i < 2; i++)
        OK(cst_release(parts[i]));
    OK(cst_release(either));
    OK(cst_release(fetch));
    OK(cst_release(people));
    OK(cst_release(research));
    company_close(&c);
}

static int64_t option(const cst_fetch_request *fetch, uint32_t which) {
    int64_t value = -7;
    OK(cst_fetch_request_option(fetch, which, &value, E));
    return value;
}

/* Each number and flag has a default, keeps its value, and does not affect the others. */
static void every_fetch_option_has_a_default_and_is_independent(void) {
    static const struct {
        int64_t first, other, refused;
        cst_status status;
    } options[] = {
        {0, 3, -1, CST_E_INVALID_ARGUMENT},        /* limit */
        {0, 4, -1, CST_E_INVALID_ARGUMENT},        /* offset */
        {0, 5, -1, CST_E_INVALID_ARGUMENT},        /* batch size */
        {0, 2, 3, CST_E_UNSUPPORTED},              /* result type */
        {1, 0, 2, CST_E_INVALID_ARGUMENT},         /* includes subentities */
        {1, 0, -1, CST_E_INVALID_ARGUMENT},        /* includes pending changes */
        {1, 0, 2, CST_E_INVALID_ARGUMENT},         /* includes property values */
        {1, 0, 2, CST_E_INVALID_ARGUMENT},         /* returns faults */
        {0, 1, 2, CST_E_INVALID_ARGUMENT},         /* refreshes refetched */
        {0, 1, 2, CST_E_INVALID_ARGUMENT},         /* distinct */
        {0, 1, 2, CST_E_INVALID_ARGUMENT},         /* nulls */
        {1, 0, 2, CST_E_INVALID_ARGUMENT},         /* allows split */
        {0, 1, INT64_MIN, CST_E_INVALID_ARGUMENT}, /* rows in memory */
    };
    enum { COUNT = sizeof options / sizeof *options };
    cst_model *model = company_model();
    cst_entity *employee = NULL;
    OK(cst_model_entity(model, text("Employee"), &employee, E));
    for (uint32_t which = 1; which <= COUNT; which++) {
        cst_fetch_request *fetch = request(employee), *copy = NULL;
        CHECK_INT(options[which - 1].first, option(fetch, which));
        OK(cst_fetch_request_set_option(fetch, which, options[which - 1].other, E));
        CHECK_STATUS(options[which - 1].status,
                     cst_fetch_request_set_option(fetch, which, options[which - 1].refused, E));
        for (uint32_t n = 1; n <= COUNT; n++)
            CHECK_INT(n == which ? options[n - 1].other : options[n - 1].first, option(fetch, n));
        OK(cst_fetch_request_copy(fetch, &copy, E));
        OK(cst_fetch_request_set_option(fetch, which, options[which - 1].first, E));
        CHECK_INT(options[which - 1].first, option(fetch, which));
        for (uint32_t n = 1; n <= COUNT; n++)
            CHECK_INT(n == which ? options[n - 1].other : options[n - 1].first, option(copy, n));
        OK(cst_release(copy));
        OK(cst_release(fetch));
    }
    cst_fetch_request *fetch = request(employee);
    int64_t value = 5;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_fetch_request_option(fetch, 0, &value, E));
    CHECK_INT(0, value);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_fetch_request_option(fetch, COUNT + 1, &value, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                 cst_fetch_request_set_option(fetch, CST_FETCH_NULLS, (int64_t)1 << 32 | CST_NULLS_DATABASE, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_fetch_request_set_nulls(fetch, 2, E));
    OK(cst_release(fetch));
    OK(cst_release(model));
}

/* The dedicated setters change the same options. */
static void setters_change_the_corresponding_options(void) {
    cst_model *model = company_model();
    cst_entity *employee = NULL;
    OK(cst_model_entity(model, text("Employee"), &employee, E));
    cst_fetch_request *fetch = request(employee);
    OK(cst_fetch_request_set_limit(fetch, 3, E));
    OK(cst_fetch_request_set_offset(fetch, 4, E));
    OK(cst_fetch_request_set_includes_subentities(fetch, false, E));
    OK(cst_fetch_request_set_nulls(fetch, CST_NULLS_DATABASE, E));
    CHECK_INT(3, option(fetch, CST_FETCH_LIMIT));
    CHECK_INT(4, option(fetch, CST_FETCH_OFFSET));
    CHECK_INT(0, option(fetch, CST_FETCH_INCLUDES_SUBENTITIES));
    CHECK_INT(CST_NULLS_DATABASE, option(fetch, CST_FETCH_NULLS));
    CHECK_INT(1, option(fetch, CST_FETCH_INCLUDES_PENDING_CHANGES));
    CHECK_INT(1, option(fetch, CST_FETCH_RETURNS_FAULTS));
    CHECK_INT(1, option(fetch, CST_FETCH_ALLOWS_SPLIT));
    CHECK_INT(0, option(fetch, CST_FETCH_DISTINCT));
    OK(cst_fetch_request_set_includes_pending_changes(fetch, false, E));
    CHECK_INT(0, option(fetch, CST_FETCH_INCLUDES_PENDING_CHANGES));
    CHECK_INT(1, option(fetch, CST_FETCH_RETURNS_FAULTS));
    OK(cst_fetch_request_set_returns_faults(fetch, false, E));
    CHECK_INT(0, option(fetch, CST_FETCH_RETURNS_FAULTS));
    OK(cst_fetch_request_set_allows_split(fetch, false, E));
    CHECK_INT(0, option(fetch, CST_FETCH_ALLOWS_SPLIT));
    OK(cst_fetch_request_set_distinct(fetch, true, E));
    CHECK_INT(1, option(fetch, CST_FETCH_DISTINCT));
    OK(cst_fetch_request_set_distinct(fetch, false, E));
    OK(cst_fetch_request_set_allows_split(fetch, true, E));
    OK(cst_fetch_request_set_includes_subentities(fetch, true, E));
    OK(cst_fetch_request_set_nulls(fetch, CST_NULLS_MEMORY, E));
    CHECK_INT(0, option(fetch, CST_FETCH_DISTINCT));
    CHECK_INT(1, option(fetch, CST_FETCH_ALLOWS_SPLIT));
    CHECK_INT(1, option(fetch, CST_FETCH_INCLUDES_SUBENTITIES));
    CHECK_INT(CST_NULLS_MEMORY, option(fetch, CST_FETCH_NULLS));
    OK(cst_fetch_request_set_limit(fetch, UINT64_MAX, E));
    OK(cst_fetch_request_set_offset(fetch, UINT64_MAX, E));
    CHECK_INT(INT64_MAX, option(fetch, CST_FETCH_LIMIT));
    CHECK_INT(INT64_MAX, option(fetch, CST_FETCH_OFFSET));
    OK(cst_release(fetch));
    OK(cst_release(model));
}

static void expect_json(const cst_fetch_request *fetch, const char *expected) {
    cst_buffer json = {0};
    OK(cst_fetch_request_copy_json(fetch, &json, E));
    CHECK_TEXT(expected, text_of_size(json.data, json.size));
    cst_buffer_dispose(&json);
}

static void the_json_of_a_request_describes_all_its_parts(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_fetch_request *fetch = NULL;
    OK(cst_fetch_request_new_named((cst_string){NULL, 0}, &fetch, E));
    expect_json(fetch,
                "{\"affectedStores\": null, \"entityName\": null, \"havingPredicate\": null, \"predicate\": null, "
                "\"propertiesToFetch\": null, \"propertiesToGroupBy\": null, "
                "\"relationshipKeyPathsForPrefetching\": null, \"sortDescriptors\": null}");
    OK(cst_fetch_request_set_entity_name(fetch, text("Employee"), E));
    filter(fetch, "number > 1");
    cst_predicate *having = NULL;
    OK(cst_predicate_parse(text("n > 2"), 0, NULL, &having, E));
    OK(cst_fetch_request_set_having(fetch, having, E));
    cst_expression *sum = NULL;
    OK(cst_expression_parse(text("sum:(number)"), 0, NULL, &sum, E));
    const cst_column columns[] = {{text("level"), NULL, 0, 0}, {text("n"), sum, CST_ATTRIBUTE_INTEGER_64, 0}};
    OK(cst_fetch_request_set_columns(fetch, 2, columns, E));
    const cst_string group[] = {text("level"), text("floor")}, paths[] = {text("department"), text("manager")};
    OK(cst_fetch_request_set_group_by(fetch, 2, group, E));
    OK(cst_fetch_request_set_prefetch(fetch, 2, paths, E));
    const cst_sort order[] = {{text("name"), CST_SORT_DESCENDING | CST_SORT_LOCALIZED_STANDARD, 0},
                              {text("notes"), CST_SORT_CASE_INSENSITIVE, 0},
                              {text("site"), CST_SORT_LOCALIZED, 0},
                              {text("number"), 0, 0},
                              {text("-level"), CST_SORT_LOCALIZED | CST_SORT_CASE_INSENSITIVE, 0}};
    OK(cst_fetch_request_set_sort(fetch, 5, order, E));
    OK(cst_fetch_request_set_affected_stores(fetch, 1, (const cst_store *const *)&c.store, E));
    char expected[2000];
    snprintf(expected, sizeof expected,
             "{\"affectedStores\": [\"%s\"], \"entityName\": \"Employee\", \"havingPredicate\": \"n > 2\", "
             "\"predicate\": \"number > 1\", \"propertiesToFetch\": [{\"name\": \"level\"}, {\"expression\": "
             "\"sum:(number)\", \"name\": \"n\", \"type\": 300}], \"propertiesToGroupBy\": [\"level\", \"floor\"], "
             "\"relationshipKeyPathsForPrefetching\": [\"department\", \"manager\"], \"sortDescriptors\": ["
             "{\"ascending\": false, \"key\": \"name\", \"selector\": \"localizedStandardCompare:\"}, "
             "{\"ascending\": true, \"key\": \"notes\", \"selector\": \"caseInsensitiveCompare:\"}, "
             "{\"ascending\": true, \"key\": \"site\", \"selector\": \"localizedCompare:\"}, "
             "{\"ascending\": true, \"key\": \"number\", \"selector\": \"compare:\"}, "
             "{\"ascending\": false, \"key\": \"level\", \"selector\": \"localizedCaseInsensitiveCompare:\"}]}",
             check_path("a.sqlite"));
    expect_json(fetch, expected);
    /* A copy is equal and independent of the original. */
    cst_fetch_request *copy = NULL;
    OK(cst_fetch_request_copy(fetch, &copy, E));
    OK(cst_fetch_request_set_predicate(fetch, NULL, E));
    OK(cst_fetch_request_set_having(fetch, NULL, E));
    OK(cst_fetch_request_set_columns(fetch, 0, NULL, E));
    OK(cst_fetch_request_set_sort(fetch, 0, NULL, E));
    OK(cst_fetch_request_set_group_by(fetch, 0, NULL, E));
    OK(cst_fetch_request_set_prefetch(fetch, 0, NULL, E));
    OK(cst_fetch_request_set_affected_stores(fetch, 0, (const cst_store *const *)&c.store, E));
    expect_json(fetch, "{\"affectedStores\": [], \"entityName\": \"Employee\", \"havingPredicate\": null, "
                       "\"predicate\": null, \"propertiesToFetch\": null, \"propertiesToGroupBy\": null, "
                       "\"relationshipKeyPathsForPrefetching\": null, \"sortDescriptors\": null}");
    expect_json(copy, expected);
    cst_predicate *kept = NULL;
    OK(cst_fetch_request_copy_predicate(copy, &kept, E));
    cst_buffer format = {0};
    OK(cst_predicate_copy_format(kept, &format, E));
    CHECK_TEXT("number > 1", text_of_size(format.data, format.size));
    cst_buffer_dispose(&format);
    cst_release(kept), cst_release(copy), cst_release(fetch), cst_release(having), cst_release(sum);
    company_close(&c);
}

/* All parts except the stores; the entity is archived by name. */
static void an_archived_request_equals_the_original(void) {
    struct company c = six_people(check_path("a.sqlite"));
    cst_fetch_request *fetch = request(c.employee), *same = NULL;
    filter(fetch, "number > 1");
    sorted(fetch, "number", CST_SORT_DESCENDING);
    OK(cst_fetch_request_set_limit(fetch, 3, E));
    OK(cst_fetch_request_set_offset(fetch, 1, E));
    OK(cst_fetch_request_set_includes_subentities(fetch, false, E));
    OK(cst_fetch_request_set_returns_faults(fetch, false, E));
    OK(cst_fetch_request_set_option(fetch, CST_FETCH_BATCH_SIZE, 2, E));
    cst_buffer archive = {0}, json[2] = {{0}};
    OK(cst_fetch_request_copy_archive(fetch, &archive, E));
    OK(cst_fetch_request_new_from_archive((cst_bytes){(const uint8_t *)archive.data, archive.size}, &same, E));
    OK(cst_fetch_request_copy_json(fetch, &json[0], E));
    OK(cst_fetch_request_copy_json(same, &json[1], E));
    CHECK_TEXT(json[0].data, text_of_size(json[1].data, json[1].size));
    for (uint32_t which = CST_FETCH_LIMIT; which <= CST_FETCH_DISTINCT; which++)
        CHECK_INT(option(fetch, which), option(same, which));
    expect(&c, same, "EdC");
    cst_predicate *predicate = NULL;
    OK(cst_fetch_request_copy_predicate(same, &predicate, E));
    OK(cst_release(predicate));
    OK(cst_release(same));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_fetch_request_new_from_archive((cst_bytes){NULL, 0}, &same, E));
    CHECK(same == NULL);
    cst_buffer_dispose(&archive), cst_buffer_dispose(&json[0]), cst_buffer_dispose(&json[1]);
    OK(cst_release(fetch));
    company_close(&c);
}

static void errors_name_invalid_columns(void) {
    cst_model *model = company_model();
    cst_entity *employee = NULL;
    OK(cst_model_entity(model, text("Employee"), &employee, E));
    cst_fetch_request *fetch = request(employee);
    const cst_column columns[] = {{text("name"), NULL, 0, 0}, {text("number"), NULL, 0, 7}};
    CHECK_STATUS(CST_E_UNSUPPORTED, cst_fetch_request_set_columns(fetch, 2, columns, E));
    CHECK_TEXT("number", cst_error_key(check_error()));
    const cst_column typed[] = {{text("name"), NULL, 0, 0}, {text("number"), NULL, 42, 0}};
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_fetch_request_set_columns(fetch, 2, typed, E));
    CHECK_TEXT("Employee", cst_error_entity(check_error()));
    CHECK_TEXT("number", cst_error_key(check_error()));
    CHECK_TEXT("Employee.number: 42 is not an attribute type; use a CST_ATTRIBUTE_ constant",
               cst_error_message(check_error()));
    /* No column was set. */
    expect_json(fetch, "{\"affectedStores\": null, \"entityName\": \"Employee\", \"havingPredicate\": null, "
                       "\"predicate\": null, \"propertiesToFetch\": null, \"propertiesToGroupBy\": null, "
                       "\"relationshipKeyPathsForPrefetching\": null, \"sortDescriptors\": null}");
    OK(cst_release(fetch));
    OK(cst_release(model));
}

static void explanations_are_text_or_json(void) {
    struct company c = six_people(check_path("a.sqlite"));
    cst_fetch_request *fetch = request(c.employee);
    filter(fetch, "number > 1");
    cst_buffer out = {0};
    OK(cst_context_explain(c.context, fetch, CST_EXPLAIN_JSON, &out, E));
    CHECK(out.data[0] == '{');
    CHECK_CONTAINS("\"predicate\": \"number > 1\"", text_of_size(out.data, out.size));
    OK(cst_context_explain(c.context, fetch, CST_EXPLAIN_TEXT, &out, E));
    CHECK(out.data[0] != '{');
    CHECK_CONTAINS("sql: SELECT", text_of_size(out.data, out.size));
    const uint32_t wrong[] = {4, 5, CST_EXPLAIN_ROWS | 4, UINT32_MAX};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_explain(c.context, fetch, wrong[i], &out, E));
    cst_buffer_dispose(&out);
    OK(cst_release(fetch));
    company_close(&c);
}

/* Each function returns its own kind of result; fetching objects refuses a request for another kind. */
static void fetching_objects_refuses_requests_of_another_result_type(void) {
    struct company c = company_open(check_path("a.sqlite"));
    staff(&c, 3);
    cst_fetch_request *request = by_name("Employee", "name");
    const int64_t kinds[] = {CST_RESULT_OBJECT_IDS, CST_RESULT_DICTIONARIES, CST_RESULT_COUNT};
    for (size_t i = 0; i < 3; i++) {
        cst_results *found = NULL;
        cst_rows *rows = NULL;
        uint64_t count = 0;
        OK(cst_fetch_request_set_option(request, CST_FETCH_RESULT_TYPE, kinds[i], E));
        CHECK_STATUS(CST_E_UNSUPPORTED, cst_context_fetch(c.context, request, &found, E));
        CHECK(found == NULL);
        CHECK_TEXT("Employee", cst_error_entity(check_error()));
        OK(cst_context_fetch_ids(c.context, request, &found, E));
        CHECK_INT(3, cst_results_count(found));
        OK(cst_release(found));
        OK(cst_context_fetch_rows(c.context, request, &rows, E));
        CHECK_INT(3, cst_rows_count(rows));
        OK(cst_release(rows));
        OK(cst_context_count(c.context, request, &count, E));
        CHECK_INT(3, count);
    }
    OK(cst_fetch_request_set_option(request, CST_FETCH_RESULT_TYPE, CST_RESULT_OBJECTS, E));
    cst_results *found = NULL;
    OK(cst_context_fetch(c.context, request, &found, E));
    CHECK_INT(3, cst_results_count(found));
    OK(cst_release(found));
    OK(cst_release(request));
    company_close(&c);
}

/* An executed request can be changed and executed again, with another order and other objects. */
static void a_request_can_be_changed_and_executed_again(void) {
    struct company c = six_people(check_path("a.sqlite"));
    cst_fetch_request *fetch = request(c.employee);
    filter(fetch, "number > 2");
    sorted(fetch, "number", 0);
    expect(&c, fetch, "CdEZ");
    sorted(fetch, "number", CST_SORT_DESCENDING);
    OK(cst_fetch_request_set_offset(fetch, 1, E));
    expect(&c, fetch, "EdC");
    OK(cst_fetch_request_set_predicate(fetch, NULL, E));
    expect(&c, fetch, "EdCbA");
    OK(cst_fetch_request_set_sort(fetch, 0, NULL, E));
    expect(&c, fetch, "bCdEZ");
    cst_context *other = company_context(&c, CST_QUEUE_CALLER);
    cst_results *found = NULL;
    OK(cst_context_fetch(other, fetch, &found, E));
    CHECK_INT(5, cst_results_count(found));
    cst_release(found), cst_release(other), cst_release(fetch);
    company_close(&c);
}

/* Each option is restored, and the others keep their defaults. */
static void an_archive_keeps_every_option(void) {
    static const int64_t others[] = {3, 4, 5, 2, 0, 0, 0, 0, 1, 1, 1, 0, 1}; /* up to CST_FETCH_ROWS_IN_MEMORY */
    enum { COUNT = sizeof others / sizeof *others };
    cst_model *model = company_model();
    cst_entity *employee = NULL;
    OK(cst_model_entity(model, text("Employee"), &employee, E));
    for (uint32_t which = 1; which <= COUNT; which++) {
        cst_fetch_request *fetch = request(employee), *first = request(employee), *same = NULL;
        cst_buffer archive = {0};
        OK(cst_fetch_request_set_option(fetch, which, others[which - 1], E));
        OK(cst_fetch_request_copy_archive(fetch, &archive, E));
        OK(cst_fetch_request_new_from_archive((cst_bytes){(const uint8_t *)archive.data, archive.size}, &same, E));
        for (uint32_t n = 1; n <= COUNT; n++)
            if (!CHECK_INT(n == which ? others[n - 1] : option(first, n), option(same, n)))
                check_fail(__FILE__, __LINE__, "option %u with %u set", n, which);
        cst_buffer_dispose(&archive);
        cst_release(fetch), cst_release(first), cst_release(same);
    }
    OK(cst_release(model));
}

static cst_fetch_request *with_options(const cst_fetch_options *options) {
    cst_fetch_request *result = NULL;
    OK(cst_fetch_request_new_with_options(options, &result, E));
    return result;
}

/* Fails to create a request, and compares status, code, key and text of the error. */
static void refused(const cst_fetch_options *options, cst_status status, int32_t code, const char *key,
                    const char *message) {
    cst_fetch_request *none = (cst_fetch_request *)&none;
    cst_error *error = NULL;
    CHECK_STATUS(status, cst_fetch_request_new_with_options(options, &none, &error));
    CHECK(none == NULL);
    CHECK_INT(code, cst_error_code(error));
    if (key)
        CHECK_TEXT(key, cst_error_key(error));
    else
        CHECK(cst_error_key(error).data == NULL);
    CHECK_CONTAINS(message, cst_error_message(error));
    cst_release(error);
}

static void options_set_every_part_of_a_new_request(void) {
    struct company c = six_people(check_path("a.sqlite"));
    cst_predicate *predicate = NULL;
    cst_sort order[] = {{text("level"), 0, 0}, {text("name"), CST_SORT_DESCENDING, 0}};
    OK(cst_predicate_parse(text("number > 1"), 0, NULL, &predicate, E));
    cst_fetch_options options = CST_FETCH_OPTIONS_INIT;
    cst_fetch_request *fetch = with_options(&options); /* without an entity */
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_fetch(c.context, fetch, &(cst_results *){NULL}, NULL));
    OK(cst_release(fetch));
    options.entity_name = text("Employee");
    fetch = with_options(&options);
    sorted(fetch, "number", 0);
    expect(&c, fetch, "AbCdEZ");
    OK(cst_release(fetch));
    options.entity_name = text("");
    options.entity_name.data = NULL;
    options.entity = c.employee;
    options.predicate = predicate;
    options.sort_count = 2, options.sort = order;
    options.limit = 3, options.offset = 1;
    fetch = with_options(&options);
    OK(cst_release(predicate)); /* the request retains it */
    expect(&c, fetch, "Cdb");
    OK(cst_release(fetch));
    company_close(&c);
}

static void options_have_the_flags_and_numbers_of_the_setters(void) {
    static const struct {
        uint32_t flag, option;
        int64_t value;
    } flags[] = {{CST_FETCH_WITHOUT_SUBENTITIES, CST_FETCH_INCLUDES_SUBENTITIES, 0},
                 {CST_FETCH_WITHOUT_PENDING_CHANGES, CST_FETCH_INCLUDES_PENDING_CHANGES, 0},
                 {CST_FETCH_WITHOUT_PROPERTY_VALUES, CST_FETCH_INCLUDES_PROPERTY_VALUES, 0},
                 {CST_FETCH_WITHOUT_FAULTS, CST_FETCH_RETURNS_FAULTS, 0},
                 {CST_FETCH_WITHOUT_SPLIT, CST_FETCH_ALLOWS_SPLIT, 0},
                 {CST_FETCH_WITH_REFRESH, CST_FETCH_REFRESHES_REFETCHED, 1},
                 {CST_FETCH_WITH_DISTINCT_ROWS, CST_FETCH_DISTINCT, 1},
                 {CST_FETCH_WITH_ROWS_IN_MEMORY, CST_FETCH_ROWS_IN_MEMORY, 1}};
    cst_fetch_options options = CST_FETCH_OPTIONS_INIT;
    cst_fetch_request *plain = with_options(NULL);
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        options.flags = flags[i].flag;
        cst_fetch_request *fetch = with_options(&options);
        for (uint32_t n = 1; n <= CST_FETCH_ROWS_IN_MEMORY; n++)
            CHECK_INT(n == flags[i].option ? flags[i].value : option(plain, n), option(fetch, n));
        OK(cst_release(fetch));
    }
    options.flags = 0;
    options.limit = UINT64_MAX, options.offset = 7, options.batch_size = 20;
    options.result_type = CST_RESULT_OBJECT_IDS, options.nulls = CST_NULLS_DATABASE;
    cst_fetch_request *fetch = with_options(&options);
    CHECK_INT(INT64_MAX, option(fetch, CST_FETCH_LIMIT));
    CHECK_INT(7, option(fetch, CST_FETCH_OFFSET));
    CHECK_INT(20, option(fetch, CST_FETCH_BATCH_SIZE));
    CHECK_INT(CST_RESULT_OBJECT_IDS, option(fetch, CST_FETCH_RESULT_TYPE));
    CHECK_INT(CST_NULLS_DATABASE, option(fetch, CST_FETCH_NULLS));
    OK(cst_release(fetch)), OK(cst_release(plain));
}

static void options_have_columns_groups_paths_and_stores(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_predicate *having = NULL;
    cst_expression *count = NULL;
    cst_buffer json = {0};
    OK(cst_predicate_parse(text("people > 1"), 0, NULL, &having, E));
    OK(cst_expression_parse(text("SELF.@count"), 0, NULL, &count, E));
    cst_column columns[] = {{text("level"), NULL, 0, 0}, {text("people"), count, CST_ATTRIBUTE_INTEGER_64, 0}};
    cst_string level = text("level"), paths[] = {text("department"), text("reviews.tasks")};
    cst_fetch_options options = CST_FETCH_OPTIONS_INIT;
    options.entity = c.employee;
    options.column_count = 2, options.columns = columns;
    options.group_by_count = 1, options.group_by = &level;
    options.having = having;
    options.prefetch_count = 2, options.prefetch = paths;
    options.stores = (const cst_store *const[]){c.store}; /* a count of 0: no store */
    cst_fetch_request *fetch = with_options(&options);
    OK(cst_fetch_request_copy_json(fetch, &json, E));
    CHECK_CONTAINS("\"propertiesToGroupBy\": [\"level\"]", text_of_size(json.data, json.size));
    CHECK_CONTAINS("\"people\"", text_of_size(json.data, json.size));
    CHECK_CONTAINS("people > 1", text_of_size(json.data, json.size));
    CHECK_CONTAINS("[\"department\", \"reviews.tasks\"]", text_of_size(json.data, json.size));
    CHECK_CONTAINS("\"affectedStores\": []", text_of_size(json.data, json.size));
    cst_buffer_dispose(&json);
    OK(cst_release(fetch));
    options.store_count = 1;
    fetch = with_options(&options);
    OK(cst_fetch_request_copy_json(fetch, &json, E));
    CHECK_CONTAINS("a.sqlite", text_of_size(json.data, json.size));
    cst_buffer_dispose(&json);
    OK(cst_release(fetch));
    OK(cst_release(having)), OK(cst_release(count));
    company_close(&c);
}

static void invalid_options_are_refused(void) {
    struct company c = company_open(check_path("a.sqlite"));
    const cst_fetch_options plain = CST_FETCH_OPTIONS_INIT;
    cst_fetch_options options = plain;
    options.flags = 1u << 20;
    refused(&options, CST_E_UNSUPPORTED, 0, "flags", "options.flags is 0x100000");
    options = plain, options.reserved = 3;
    refused(&options, CST_E_UNSUPPORTED, 0, "reserved", "options.reserved is 3");
    options = plain, options.struct_size = 3;
    refused(&options, CST_E_INVALID_ARGUMENT, 0, "struct_size", "CST_FETCH_OPTIONS_INIT");
    options = plain, options.result_type = 3;
    refused(&options, CST_E_UNSUPPORTED, 134091, "result_type", "3 is not a result type");
    options = plain, options.nulls = 9;
    refused(&options, CST_E_INVALID_ARGUMENT, 0, "nulls", "9 is not a mode of comparisons with nil");
    options = plain, options.prefetch_count = 1;
    refused(&options, CST_E_INVALID_ARGUMENT, 0, "prefetch", "prefetch");
    options = plain, options.entity = c.employee, options.entity_name = text("Person");
    refused(&options, CST_E_INVALID_ARGUMENT, 0, "entity_name",
            "both entity and entity_name are set, to Employee and \"Person\"");
    options = plain, options.entity = (const cst_entity *)c.model;
    refused(&options, CST_E_INVALID_HANDLE, 0, NULL, "handle");
    company_close(&c);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(options_set_every_part_of_a_new_request);
    RUN(options_have_the_flags_and_numbers_of_the_setters);
    RUN(options_have_columns_groups_paths_and_stores);
    RUN(invalid_options_are_refused);
    RUN(asynchronous_fetches_deliver_their_result_once);
    RUN(a_fetch_expression_is_evaluated_within_a_predicate);
    RUN(a_partial_fetch_loads_only_the_listed_properties);
    RUN(a_block_predicate_gets_objects_beside_a_key_path_predicate);
    RUN(execute_returns_every_result_type);
    RUN(invalid_requests_are_refused);
    RUN(a_fetch_reads_only_the_affected_stores);
    RUN(lazy_results_keep_only_a_window_of_objects);
    RUN(sort_descriptors_limits_and_offsets_are_applied);
    RUN(predicates_select_the_same_objects_before_and_after_a_save);
    RUN(pending_changes_are_included_by_default);
    RUN(subentities_are_included_by_default);
    RUN(a_fetch_returns_faults_unless_full_objects_are_requested);
    RUN(fetching_ids_registers_no_objects);
    RUN(any_matches_members_before_and_after_a_save);
    RUN(objects_can_be_predicate_arguments);
    RUN(errors_name_unknown_keys);
    RUN(predicates_without_sql_are_evaluated_in_memory);
    RUN(nil_comparisons_follow_the_nulls_option);
    RUN(every_fetch_option_has_a_default_and_is_independent);
    RUN(setters_change_the_corresponding_options);
    RUN(the_json_of_a_request_describes_all_its_parts);
    RUN(an_archived_request_equals_the_original);
    RUN(errors_name_invalid_columns);
    RUN(explanations_are_text_or_json);
    RUN(fetching_objects_refuses_requests_of_another_result_type);
    RUN(a_request_can_be_changed_and_executed_again);
    RUN(an_archive_keeps_every_option);
    return check_end();
}
