/* Results controllers: sections, what a delegate is told, resets, functions that name sections, mistakes.
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

static void a_delegate_is_told(void) {
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

static void a_delegate_wants_ids(void) {
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

static void mistakes(void) {
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
    /* The first key decides, and it does not keep sections together. */
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

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(a_delegate_is_told);
    RUN(a_delegate_wants_ids);
    RUN(mistakes);
    return check_end();
}
