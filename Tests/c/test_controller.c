/* Results controllers: sections, notifications of delegates, resets, functions that name sections, wrong arguments.
 *
 * SPDX-License-Identifier: MIT
 */
#include "company.h"

#include <stdio.h>
#include <string.h>

struct table {
    char log[400];
    int destroyed;
};

static void note(struct table *table, const char *text_of_it) {
    strncat(table->log, text_of_it, sizeof table->log - strlen(table->log) - 1);
}

static void will(void *userdata, cst_controller *controller) {
    CHECK(controller != NULL);
    note(userdata, "<");
}

static void did(void *userdata, cst_controller *controller) {
    (void)controller;
    note(userdata, ">");
}

static void section(void *userdata, cst_controller *controller, const cst_section_change *change) {
    char line[60];
    (void)controller;
    snprintf(line, sizeof line, "[%u %zu %.*s]", change->kind, change->index, (int)change->name.size,
             change->name.data);
    note(userdata, line);
}

static void object(void *userdata, cst_controller *controller, const cst_object_change *change) {
    char line[80];
    (void)controller;
    CHECK(change->object != NULL);
    snprintf(line, sizeof line, "(%u %d.%d %d.%d)", change->kind, (int)change->path.section, (int)change->path.row,
             (int)change->new_path.section, (int)change->new_path.row);
    note(userdata, line);
}

static void reset(void *userdata, cst_controller *controller, const cst_error *error) {
    (void)controller;
    note(userdata, error ? "failed" : "reset");
}

static void ids(void *userdata, cst_controller *controller, size_t count, const cst_id_change *changes) {
    char line[60];
    (void)controller;
    for (size_t i = 0; i < count; i++) {
        CHECK(changes[i].id != NULL);
        snprintf(line, sizeof line, "%s%zu:%d ", changes[i].kind == CST_RESULT_DELETE ? "-" : "+", changes[i].offset,
                 (int)changes[i].associated);
        note(userdata, line);
    }
}

static void end(void *userdata) { ((struct table *)userdata)->destroyed++; }

static cst_status level_name(void *userdata, cst_object *employee, cst_value *out_name, cst_error **error) {
    static const char *const names[] = {"low", "high"};
    cst_value value;
    (void)error;
    OK(cst_object_get(employee, *(cst_key *)userdata, &value, E));
    *out_name = value_text(names[value.as.integer > 4]);
    return CST_OK;
}

static void a_delegate_receives_section_and_object_changes(void) {
    struct company c = company_open(check_path("a.sqlite"));
    struct table table = {0};
    cst_fetch_request *request = company_by_number(&c);
    cst_controller *controller = NULL;
    cst_object *one = company_employee(&c, c.context, "one", 1), *nine = company_employee(&c, c.context, "nine", 9);
    OK(cst_controller_new_with_sections(c.context, request, level_name, &c.number, NULL, &controller, E));
    cst_snapshot *snapshot = NULL;
    CHECK_STATUS(CST_NOT_FOUND, cst_controller_copy_snapshot(controller, &snapshot, E));
    cst_controller_delegate delegate = CST_CONTROLLER_DELEGATE_INIT;
    delegate.will_change = will;
    delegate.did_change_section = section;
    delegate.did_change_object = object;
    delegate.did_change = did;
    delegate.did_reset = reset;
    delegate.userdata = &table;
    delegate.destroy = end;
    OK(cst_controller_set_delegate(controller, &delegate, E));
    OK(cst_controller_perform_fetch(controller, E));
    OK(cst_controller_copy_snapshot(controller, &snapshot, E));
    CHECK_INT(2, cst_snapshot_section_count(snapshot));
    CHECK_TEXT("high", cst_snapshot_section_name(snapshot, 1));
    CHECK_INT(1, cst_snapshot_object_count(snapshot, 1));
    CHECK_INT(2, cst_snapshot_object_count(snapshot, SIZE_MAX));
    cst_index_path path;
    OK(cst_controller_index_path(controller, nine, &path, E));
    CHECK_INT(1, path.section);
    cst_object *found = NULL;
    OK(cst_controller_copy_object(controller, 1, 0, &found, E));
    CHECK(found == nine);
    OK(cst_release(found));
    cst_buffer title = {0};
    OK(cst_controller_copy_title(controller, 1, &title, E));
    CHECK_TEXT("H", text_of_size(title.data, title.size));
    CHECK_STATUS(CST_END, cst_controller_copy_title(controller, 2, &title, E));
    cst_buffer_dispose(&title);
    size_t place = 0;
    OK(cst_controller_section_for_title(controller, text("H"), 1, &place, E));
    CHECK_INT(1, place);
    cst_results *objects = NULL;
    OK(cst_controller_copy_objects(controller, SIZE_MAX, &objects, E));
    CHECK_INT(2, cst_results_count(objects));
    OK(cst_release(objects));

    OK(cst_object_set(nine, c.number, &(cst_value){CST_INT, 0, {.integer = 3}}, E));
    OK(cst_context_process_pending_changes(c.context, E));
    CHECK_TEXT("<[2 1 high](3 1.0 0.1)>", text_of_size(table.log, strlen(table.log)));
    table.log[0] = 0;
    OK(cst_context_delete(c.context, one, E));
    OK(cst_context_process_pending_changes(c.context, E));
    CHECK_TEXT("<(2 0.0 -1.-1)>", text_of_size(table.log, strlen(table.log)));
    table.log[0] = 0;
    OK(cst_context_reset(c.context, E));
    CHECK_TEXT("reset", text_of_size(table.log, strlen(table.log)));
    CHECK_INT(2, cst_snapshot_object_count(snapshot, SIZE_MAX));
    OK(cst_release(snapshot));
    OK(cst_release(controller));
    CHECK_INT(1, table.destroyed);
    OK(cst_release(one));
    OK(cst_release(nine));
    OK(cst_release(request));
    company_close(&c);
}

static void a_delegate_receives_changed_ids(void) {
    struct company c = company_open(check_path("a.sqlite"));
    struct table table = {0};
    cst_fetch_request *request = company_by_number(&c);
    cst_controller *controller = NULL;
    cst_object *one = company_employee(&c, c.context, "one", 1), *two = company_employee(&c, c.context, "two", 2);
    OK(cst_controller_new(c.context, request, (cst_string){NULL, 0}, (cst_string){NULL, 0}, &controller, E));
    cst_controller_delegate delegate = CST_CONTROLLER_DELEGATE_INIT;
    delegate.will_change = will;
    delegate.did_change_ids = ids;
    delegate.userdata = &table;
    OK(cst_controller_set_delegate(controller, &delegate, E));
    OK(cst_controller_perform_fetch(controller, E));
    OK(cst_object_set(one, c.number, &(cst_value){CST_INT, 0, {.integer = 3}}, E));
    OK(cst_context_process_pending_changes(c.context, E));
    CHECK_TEXT("-0:1 +1:0 ", text_of_size(table.log, strlen(table.log)));
    table.log[0] = 0;
    OK(cst_context_delete(c.context, two, E));
    OK(cst_context_process_pending_changes(c.context, E));
    CHECK_TEXT("-0:-1 ", text_of_size(table.log, strlen(table.log)));
    OK(cst_release(controller));
    OK(cst_release(one));
    OK(cst_release(two));
    OK(cst_release(request));
    company_close(&c);
}

static void fetches_with_an_unsuitable_order_are_refused(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_fetch_request *request = NULL;
    cst_controller *controller = NULL;
    cst_object *none = NULL;
    OK(cst_fetch_request_new(c.employee, &request, E));
    OK(cst_controller_new(c.context, request, text("name"), (cst_string){NULL, 0}, &controller, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_controller_perform_fetch(controller, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_controller_copy_object(controller, 0, SIZE_MAX, &none, E));
    OK(cst_release(controller));
    OK(cst_controller_delete_cache(text("nothing"), E));
    /* The first sort key does not group the objects by section. */
    cst_sort order = {text("number"), 0, 0};
    OK(cst_fetch_request_set_sort(request, 1, &order, E));
    OK(cst_release(company_employee(&c, c.context, "A", 1)));
    OK(cst_release(company_employee(&c, c.context, "B", 2)));
    OK(cst_release(company_employee(&c, c.context, "A", 3)));
    OK(cst_controller_new(c.context, request, text("name"), (cst_string){NULL, 0}, &controller, E));
    cst_error *error = NULL;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_controller_perform_fetch(controller, &error));
    CHECK_INT(134060, cst_error_code(error));
    OK(cst_release(error));
    OK(cst_release(controller));
    OK(cst_release(request));
    company_close(&c);
}

static const cst_string nothing = {NULL, 0};

/* Two names with the same first letter, another one, and one employee without a level. */
static cst_controller *by_name(const struct company *c, cst_fetch_request **out_request) {
    static const char *const names[] = {"ada", "Ann", "bob", "bob", "cyd"};
    for (int i = 0; i < 5; i++)
        OK(cst_release(company_employee(c, c->context, names[i], i)));
    cst_fetch_request *request = NULL;
    cst_sort order[] = {{text("name"), CST_SORT_CASE_INSENSITIVE, 0}, {text("number"), 0, 0}};
    cst_controller *controller = NULL;
    OK(cst_fetch_request_new(c->employee, &request, E));
    OK(cst_fetch_request_set_sort(request, 2, order, E));
    OK(cst_controller_new(c->context, request, text("name"), nothing, &controller, E));
    *out_request = request;
    return controller;
}

static void sections_are_named_by_a_key_path(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_fetch_request *request = NULL;
    cst_controller *controller = by_name(&c, &request);
    cst_snapshot *snapshot = NULL;
    cst_results *list = NULL;
    cst_index_path path = {5, 5};
    cst_object *found = NULL;
    CHECK_STATUS(CST_NOT_FOUND, cst_controller_copy_snapshot(controller, &snapshot, E));
    CHECK_STATUS(CST_NOT_FOUND, cst_controller_copy_objects(controller, SIZE_MAX, &list, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_controller_copy_object(controller, 0, 0, &found, E));
    OK(cst_controller_perform_fetch(controller, E));
    OK(cst_controller_copy_snapshot(controller, &snapshot, E));
    static const struct {
        const char *name;
        size_t count;
    } sections[] = {{"ada", 1}, {"Ann", 1}, {"bob", 2}, {"cyd", 1}};
    CHECK_INT(4, cst_snapshot_section_count(snapshot));
    for (size_t i = 0; i < 4; i++) {
        CHECK_TEXT(sections[i].name, cst_snapshot_section_name(snapshot, i));
        CHECK_INT(sections[i].count, cst_snapshot_object_count(snapshot, i));
        OK(cst_snapshot_copy_ids(snapshot, i, &list, E));
        CHECK_INT(sections[i].count, cst_results_count(list));
        OK(cst_release(list));
        OK(cst_controller_copy_objects(controller, i, &list, E));
        CHECK_INT(sections[i].count, cst_results_count(list));
        CHECK_TEXT(sections[i].name, get_text(object_at(list, 0), c.name));
        OK(cst_release(list));
    }
    CHECK_TEXT(NULL, cst_snapshot_section_name(snapshot, 4));
    CHECK_TEXT(NULL, cst_snapshot_section_name(snapshot, SIZE_MAX));
    CHECK_TEXT(NULL, cst_snapshot_section_name(NULL, 0));
    CHECK_INT(0, cst_snapshot_object_count(snapshot, 4));
    CHECK_INT(5, cst_snapshot_object_count(snapshot, SIZE_MAX));
    CHECK_INT(0, cst_snapshot_object_count(NULL, SIZE_MAX));
    OK(cst_snapshot_copy_ids(snapshot, SIZE_MAX, &list, E));
    CHECK_INT(5, cst_results_count(list));
    OK(cst_release(list));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_snapshot_copy_ids(snapshot, 4, &list, E));
    CHECK_TEXT("section is 4, but must be 0 to 3, or SIZE_MAX (None) for all objects",
               cst_error_message(check_error()));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_controller_copy_objects(controller, 4, &list, E));
    CHECK(list == NULL);
    OK(cst_controller_copy_object(controller, 2, 1, &found, E));
    CHECK_INT(3, get_int(found, c.number));
    OK(cst_controller_index_path(controller, found, &path, E));
    CHECK(path.section == 2 && path.row == 1);
    OK(cst_release(found));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_controller_copy_object(controller, 2, 2, &found, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_controller_copy_object(controller, 4, 0, &found, E));
    cst_object *other = company_employee(&c, c.context, "zoe", 9);
    CHECK_STATUS(CST_NOT_FOUND, cst_controller_index_path(controller, other, &path, E));
    CHECK(path.section == SIZE_MAX && path.row == SIZE_MAX);
    cst_release(other), cst_release(snapshot), cst_release(controller), cst_release(request);
    company_close(&c);
}

static void section_titles_are_distinct_capital_letters(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_fetch_request *request = NULL;
    cst_controller *controller = by_name(&c, &request);
    OK(cst_controller_perform_fetch(controller, E));
    cst_buffer title = {0};
    static const char *const titles[] = {"A", "B", "C"};
    static const size_t sections[] = {0, 2, 3};
    for (size_t i = 0; i < 3; i++) {
        size_t section = 9;
        OK(cst_controller_copy_title(controller, i, &title, E));
        CHECK_TEXT(titles[i], text_of_size(title.data, title.size));
        OK(cst_controller_section_for_title(controller, text(titles[i]), i, &section, E));
        CHECK_INT(sections[i], section);
    }
    CHECK_STATUS(CST_END, cst_controller_copy_title(controller, 3, &title, E));
    CHECK_STATUS(CST_END, cst_controller_copy_title(controller, SIZE_MAX, &title, E));
    OK(cst_controller_copy_section_title(controller, text("ann"), &title, E));
    CHECK_TEXT("A", text_of_size(title.data, title.size));
    CHECK_STATUS(CST_NOT_FOUND, cst_controller_copy_section_title(controller, text(""), &title, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_controller_copy_section_title(controller, nothing, &title, E));
    size_t section = 9;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_controller_section_for_title(controller, text("X"), 7, &section, E));
    cst_buffer_dispose(&title);
    cst_release(controller), cst_release(request);
    company_close(&c);
}

static cst_status own_title(void *userdata, cst_controller *controller, cst_string name, cst_value *out_title,
                            cst_error **error) {
    (void)userdata, (void)error;
    CHECK(controller != NULL);
    if (strcmp(name.data, "bob") == 0) *out_title = value_text("Bees");
    if (strcmp(name.data, "cyd") == 0) *out_title = value_int(3);
    return strcmp(name.data, "ada") == 0 ? CST_E_CALLBACK : CST_OK;
}

/* A string becomes the title. Null, a value of another type and a failure keep the default title. */
static void a_delegate_overrides_section_titles(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_fetch_request *request = NULL;
    cst_controller *controller = by_name(&c, &request);
    struct table table = {0};
    cst_controller_delegate delegate = CST_CONTROLLER_DELEGATE_INIT;
    delegate.section_title = own_title;
    delegate.userdata = &table;
    delegate.destroy = end;
    OK(cst_controller_set_delegate(controller, &delegate, E));
    OK(cst_controller_perform_fetch(controller, E));
    cst_buffer title = {0};
    static const char *const names[] = {"ada", "bob", "cyd"}, *const titles[] = {"A", "Bees", "C"};
    for (size_t i = 0; i < 3; i++) {
        OK(cst_controller_copy_section_title(controller, text(names[i]), &title, E));
        CHECK_TEXT(titles[i], text_of_size(title.data, title.size));
        OK(cst_controller_copy_title(controller, i, &title, E));
        CHECK_TEXT(titles[i], text_of_size(title.data, title.size));
    }
    CHECK_STATUS(CST_NOT_FOUND, cst_controller_copy_section_title(controller, text("Ann"), &title, E));
    CHECK_STATUS(CST_END, cst_controller_copy_title(controller, 3, &title, E));
    CHECK_INT(0, table.destroyed);
    OK(cst_controller_set_delegate(controller, NULL, E));
    CHECK_INT(1, table.destroyed);
    OK(cst_controller_copy_section_title(controller, text("Ann"), &title, E));
    CHECK_TEXT("A", text_of_size(title.data, title.size));
    delegate.struct_size = 0;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_controller_set_delegate(controller, &delegate, E));
    CHECK_INT(1, table.destroyed);
    cst_buffer_dispose(&title);
    cst_release(controller), cst_release(request);
    company_close(&c);
}

static void all(void *userdata, cst_controller *controller, const cst_difference *difference) {
    char line[120];
    (void)controller;
    CHECK(difference->snapshot != NULL && difference->error == NULL && !difference->is_reset);
    snprintf(line, sizeof line, "{%zu %zu of %zu", difference->section_count, difference->change_count,
             cst_snapshot_object_count(difference->snapshot, SIZE_MAX));
    note(userdata, line);
    for (size_t i = 0; i < difference->section_count; i++)
        section(userdata, controller, &difference->sections[i]);
    for (size_t i = 0; i < difference->change_count; i++)
        object(userdata, controller, &difference->changes[i]);
    note(userdata, "}");
}

static void expect_log(struct table *table, const char *expected) {
    CHECK_TEXT(expected, text_of_size(table->log, strlen(table->log)));
    table->log[0] = 0;
}

/* A delegate with did_change_all receives no other call. */
static void a_delegate_with_did_change_all_gets_no_other_call(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_fetch_request *request = NULL;
    cst_controller *controller = by_name(&c, &request);
    struct table table = {0};
    cst_controller_delegate delegate = CST_CONTROLLER_DELEGATE_INIT;
    delegate.will_change = will;
    delegate.did_change = did;
    delegate.did_change_section = section;
    delegate.did_change_object = object;
    delegate.did_change_ids = ids;
    delegate.did_change_all = all;
    delegate.userdata = &table;
    OK(cst_controller_set_delegate(controller, &delegate, E));
    OK(cst_controller_perform_fetch(controller, E));
    table.log[0] = 0;
    cst_object *zoe = company_employee(&c, c.context, "zoe", 9);
    OK(cst_context_process_pending_changes(c.context, E));
    expect_log(&table, "{1 1 of 6[1 4 zoe](1 -1.-1 4.0)}");
    set(zoe, c.number, value_int(10));
    OK(cst_context_process_pending_changes(c.context, E));
    expect_log(&table, "{0 1 of 6(4 4.0 4.0)}");
    OK(cst_context_delete(c.context, zoe, E));
    OK(cst_context_process_pending_changes(c.context, E));
    expect_log(&table, "{1 1 of 5[2 4 zoe](2 4.0 -1.-1)}");
    cst_release(zoe), cst_release(controller), cst_release(request);
    company_close(&c);
}

/* A change of an object on a dependency path is an update of the objects that refer to it. */
static void changes_at_a_dependency_are_reported_as_updates(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *place = company_insert(&c, c.context, c.department, c.department_name, "R&D");
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    set(ada, c.to_department, value_object(place));
    save(c.context);
    cst_fetch_request *request = company_by_number(&c);
    cst_controller *controller = NULL;
    struct table table = {0};
    cst_controller_delegate delegate = CST_CONTROLLER_DELEGATE_INIT;
    delegate.did_change_object = object;
    delegate.userdata = &table;
    OK(cst_controller_new(c.context, request, nothing, nothing, &controller, E));
    OK(cst_controller_set_delegate(controller, &delegate, E));
    OK(cst_controller_perform_fetch(controller, E));
    set(place, c.department_name, value_text("Labs"));
    OK(cst_context_process_pending_changes(c.context, E));
    expect_log(&table, "");
    const cst_string paths[] = {text("department")};
    OK(cst_controller_set_dependencies(controller, 1, paths, E));
    OK(cst_controller_perform_fetch(controller, E));
    set(place, c.department_name, value_text("Ops"));
    OK(cst_context_process_pending_changes(c.context, E));
    expect_log(&table, "(4 0.0 0.0)");
    OK(cst_controller_set_dependencies(controller, 0, NULL, E));
    OK(cst_controller_perform_fetch(controller, E));
    set(place, c.department_name, value_text("Bar"));
    OK(cst_context_process_pending_changes(c.context, E));
    expect_log(&table, "");
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_controller_set_dependencies(controller, 1, NULL, E));
    cst_release(controller), cst_release(request), cst_release(ada), cst_release(place);
    company_close(&c);
}

static cst_status null_name(void *userdata, cst_object *employee, cst_value *out_name, cst_error **error) {
    (void)employee, (void)error;
    if (*(int *)userdata == 1) *out_name = value_int(1);
    if (*(int *)userdata == 2) return CST_E_CALLBACK;
    return CST_OK;
}

static void a_section_name_function_returns_a_string_or_null(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_fetch_request *request = company_by_number(&c);
    cst_controller *controller = NULL;
    cst_snapshot *snapshot = NULL;
    int answer = 0;
    struct table table = {0};
    OK(cst_release(company_employee(&c, c.context, "Ada", 1)));
    OK(cst_controller_new_with_sections(c.context, request, null_name, &answer, NULL, &controller, E));
    OK(cst_controller_perform_fetch(controller, E));
    OK(cst_controller_copy_snapshot(controller, &snapshot, E));
    CHECK_INT(1, cst_snapshot_section_count(snapshot));
    CHECK_TEXT("", cst_snapshot_section_name(snapshot, 0));
    answer = 1;
    CHECK_STATUS(CST_E_TYPE_MISMATCH, cst_controller_perform_fetch(controller, E));
    CHECK_CONTAINS("the host's section_name for an object of Employee returned 1, not a string",
                   cst_error_message(check_error()));
    answer = 2;
    CHECK_STATUS(CST_E_CALLBACK, cst_controller_perform_fetch(controller, E));
    CHECK_CONTAINS("the host's section_name for an object of Employee failed with status -8",
                   cst_error_message(check_error()));
    cst_release(snapshot), cst_release(controller);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                 cst_controller_new_with_sections(c.context, request, NULL, &table, end, &controller, E));
    CHECK_INT(1, table.destroyed);
    OK(cst_release(request));
    company_close(&c);
}

static cst_status set_predicate(cst_fetch_request *request, const char *format) {
    cst_predicate *predicate = NULL;
    OK(cst_predicate_parse(text(format), 0, NULL, &predicate, E));
    const cst_status status = cst_fetch_request_set_predicate(request, predicate, E);
    OK(cst_release(predicate));
    return status;
}

/* The names of the sections, each with the count of its objects. */
static void expect_sections(const char *expected, const cst_controller *controller) {
    cst_snapshot *snapshot = NULL;
    char found[200] = "";
    OK(cst_controller_copy_snapshot(controller, &snapshot, E));
    for (size_t i = 0; i < cst_snapshot_section_count(snapshot); i++)
        snprintf(found + strlen(found), sizeof found - strlen(found), "%s %zu ",
                 cst_snapshot_section_name(snapshot, i).data, cst_snapshot_object_count(snapshot, i));
    CHECK_TEXT(expected, text_of_size(found, strlen(found)));
    OK(cst_release(snapshot));
}

static void a_failed_fetch_keeps_the_results(void) {
    static const char *const all = "ada 1 Ann 1 bob 2 cyd 1 ";
    struct company c = company_open(check_path("a.sqlite"));
    cst_fetch_request *request = NULL;
    cst_controller *controller = by_name(&c, &request);
    struct table table = {"", 0};
    cst_controller_delegate delegate = CST_CONTROLLER_DELEGATE_INIT;
    delegate.will_change = will, delegate.did_change = did, delegate.did_change_object = object;
    delegate.did_reset = reset, delegate.userdata = &table, delegate.destroy = end;
    OK(cst_controller_set_delegate(controller, &delegate, E));
    OK(cst_controller_perform_fetch(controller, E));
    expect_sections(all, controller);
    OK(set_predicate(request, "nme == 1"));
    CHECK_STATUS(CST_E_PREDICATE, cst_controller_perform_fetch(controller, E));
    CHECK_TEXT("nme", cst_error_key(check_error()));
    expect_sections(all, controller);
    OK(set_predicate(request, "number != 2"));
    const cst_sort order = {text("number"), CST_SORT_DESCENDING, 0}, wrong = {text("nme"), 0, 0};
    OK(cst_fetch_request_set_sort(request, 1, &wrong, E));
    CHECK_STATUS(CST_E_PREDICATE, cst_controller_perform_fetch(controller, E));
    expect_sections(all, controller);
    const cst_string path = text("department.nothing"), department = text("department");
    OK(cst_fetch_request_set_sort(request, 1, &order, E));
    cst_status status = cst_controller_set_dependencies(controller, 1, &path, E);
    if (status == CST_OK) status = cst_controller_perform_fetch(controller, E);
    CHECK_INT(CST_E_INVALID_ARGUMENT, status);
    CHECK_TEXT("nothing", cst_error_key(check_error()));
    expect_sections(all, controller);
    /* They are followed as before: by the former predicate and order. */
    CHECK_INT(0, strlen(table.log));
    cst_object *dan = company_employee(&c, c.context, "dan", 2);
    OK(cst_context_process_pending_changes(c.context, E));
    CHECK_TEXT("<(1 -1.-1 4.0)>", text_of_size(table.log, strlen(table.log)));
    expect_sections("ada 1 Ann 1 bob 2 cyd 1 dan 1 ", controller);
    OK(cst_controller_set_dependencies(controller, 1, &department, E));
    OK(cst_controller_perform_fetch(controller, E));
    expect_sections("cyd 1 bob 1 Ann 1 ada 1 ", controller);
    cst_release(dan), cst_release(controller), cst_release(request);
    CHECK_INT(1, table.destroyed);
    company_close(&c);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(a_delegate_receives_section_and_object_changes);
    RUN(a_delegate_receives_changed_ids);
    RUN(fetches_with_an_unsuitable_order_are_refused);
    RUN(sections_are_named_by_a_key_path);
    RUN(section_titles_are_distinct_capital_letters);
    RUN(a_delegate_overrides_section_titles);
    RUN(a_delegate_with_did_change_all_gets_no_other_call);
    RUN(changes_at_a_dependency_are_reported_as_updates);
    RUN(a_section_name_function_returns_a_string_or_null);
    RUN(a_failed_fetch_keeps_the_results);
    return check_end();
}
