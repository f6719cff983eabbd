/* Faulting: policies and counts of single faults, missing rows, stale rows, and the objects that a context retains.
 *
 * SPDX-License-Identifier: MIT
 */
#include "company.h"

#include <stdio.h>
#include <string.h>

static int destroyed;

static void count_end(void *userdata) { destroyed += *(int *)userdata; }

static int one = 1;

static int64_t option(const struct company *c, uint32_t which) {
    int64_t value = -7;
    OK(cst_context_option(c->context, which, &value, E));
    return value;
}

static void set_option(const struct company *c, uint32_t which, int64_t value) {
    OK(cst_context_set_option(c->context, which, value, E));
}

/* Three employees, each in its own department, in a reopened store of which no row was read yet. */
static struct company begin(void) {
    struct company c = company_open(check_path("s.sqlite"));
    for (int i = 0; i < 3; i++) {
        cst_object *employee = company_employee(&c, c.context, "Ada", i);
        cst_object *department = company_insert(&c, c.context, c.department, c.department_name, "Research");
        cst_value to = {.type = CST_OBJECT, .as = {.object = department}};
        OK(cst_object_set(employee, c.to_department, &to, E));
        cst_release(employee);
        cst_release(department);
    }
    OK(cst_context_save(c.context, E));
    company_close(&c);
    destroyed = 0;
    return company_open(check_path("s.sqlite"));
}

static void context_options_out_of_range_are_refused(void) {
    struct company c = begin();
    static const int64_t first[] = {CST_FAULT_BATCH, 256, 0, -1, 0, 1, 1};
    for (uint32_t which = CST_OPTION_FAULT_POLICY; which <= CST_OPTION_DELETES_AT_END_OF_EVENT; which++) {
        CHECK_INT(first[which - 1], option(&c, which));
        if (which == CST_OPTION_STALENESS_MS) continue;
        CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_set_option(c.context, which, -1, E));
        CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_set_option(c.context, which, INT64_MAX, E));
        CHECK_INT(first[which - 1], option(&c, which));
        set_option(&c, which, 1);
        CHECK_INT(1, option(&c, which));
    }
    set_option(&c, CST_OPTION_STALENESS_MS, 1500);
    CHECK_INT(1500, option(&c, CST_OPTION_STALENESS_MS));
    set_option(&c, CST_OPTION_STALENESS_MS, INT64_MIN);
    CHECK_INT(-1, option(&c, CST_OPTION_STALENESS_MS));
    int64_t value = 7;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_option(c.context, 0, &value, E));
    CHECK_INT(0, value);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_set_option(c.context, 99, 1, E));
    company_close(&c);
}

static void read_departments(const cst_results *employees) {
    for (size_t i = 0; i < cst_results_count(employees); i++) {
        cst_value value;
        OK(cst_object_get_path(object_at(employees, i), text("department.name"), &value, E));
        CHECK_TEXT("Research", value.as.string);
    }
}

static void report_is(const struct company *c, uint32_t form, const char *expected) {
    cst_buffer report = {0};
    OK(cst_context_copy_fault_report(c->context, form, &report, E));
    CHECK_TEXT(expected, text_of_size(report.data, report.size));
    cst_buffer_dispose(&report);
}

static void single_faults_are_reported_with_their_call_site(void) {
    struct company c = begin();
    cst_results *employees = company_fetch(c.context, c.employee, NULL, NULL);
    set_option(&c, CST_OPTION_COUNTS_SINGLE_FAULTS, 1);
    report_is(&c, CST_REPORT_TEXT, "");
    report_is(&c, CST_REPORT_JSON, "[]");
    int line = __LINE__ + 1;
    OK(CST_CALL_SITE(c.context));
    read_departments(employees);
    char expected[600];
    snprintf(expected, sizeof expected, "Employee.department: 3 single faults, %s:%d\n", __FILE__, line);
    report_is(&c, CST_REPORT_TEXT, expected);
    cst_buffer report = {0};
    OK(cst_context_copy_fault_report(c.context, CST_REPORT_JSON, &report, E));
    CHECK_CONTAINS("\"relationship\": \"department\"", text_of_size(report.data, report.size));
    cst_buffer_dispose(&report);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_copy_fault_report(c.context, 9, &report, E));
    cst_release(employees);
    company_close(&c);
}

static uint32_t here(void *userdata, cst_buffer *out_file) {
    if (userdata) cst_buffer_fill(out_file, (cst_bytes){(const uint8_t *)"host.c", 6}, NULL);
    return 42;
}

static uint32_t here_and_refreshes(void *userdata, cst_buffer *out_file) {
    (void)out_file;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_refresh(userdata, false, NULL));
    return 1;
}

/* A fault can fire during a change. Here a refresh of ada undoes her friendship, and grace's list of friends is read
 * again. */
static void a_call_site_finder_cannot_change_the_context(void) {
    struct company c = begin();
    set_option(&c, CST_OPTION_COUNTS_SINGLE_FAULTS, 1);
    cst_results *employees = company_fetch(c.context, c.employee, NULL, "number");
    cst_object *ada = object_at(employees, 0), *grace = object_at(employees, 1);
    OK(cst_context_set_call_site_finder(c.context, here_and_refreshes, ada, NULL, E));
    OK(cst_object_add_member(ada, c.friends, grace, E));
    OK(cst_object_refresh(grace, true, E));
    OK(cst_object_refresh(ada, false, E));
    CHECK_INT(0, (int64_t)member_count(grace, c.friends));
    OK(cst_context_set_call_site_finder(c.context, NULL, NULL, NULL, E));
    cst_release(employees);
    company_close(&c);
}

static cst_status from_the_finder;

static uint32_t here_and_closes(void *userdata, cst_buffer *out_file) {
    (void)out_file;
    from_the_finder = cst_coordinator_close(userdata, CST_UNSAVED_REFUSE, NULL);
    return 1;
}

static cst_status fires_in_a_queue(void *userdata, cst_context *context, cst_error **error) {
    const struct company *c = userdata;
    set_option(&(struct company){.context = context}, CST_OPTION_COUNTS_SINGLE_FAULTS, 1);
    OK(cst_context_set_call_site_finder(context, here_and_closes, c->coordinator, NULL, E));
    cst_results *employees = company_fetch(context, c->employee, NULL, NULL);
    read_departments(employees);
    OK(cst_context_set_call_site_finder(context, NULL, NULL, NULL, E));
    cst_release(employees);
    (void)error;
    return CST_OK;
}

/* The coordinator would wait for the queue that its caller is in. */
static void a_call_site_finder_cannot_close_the_coordinator(void) {
    struct company c = begin();
    cst_context *other = company_context(&c, CST_QUEUE_PRIVATE);
    OK(cst_context_perform_and_wait(other, fires_in_a_queue, &c, E));
    CHECK_INT(CST_E_INVALID_ARGUMENT, from_the_finder);
    cst_release(other);
    company_close(&c);
}

static void a_call_site_finder_determines_the_reported_place(void) {
    struct company c = begin();
    cst_results *employees = company_fetch(c.context, c.employee, NULL, NULL);
    set_option(&c, CST_OPTION_COUNTS_SINGLE_FAULTS, 1);
    OK(cst_context_set_call_site(c.context, text("else.c"), 7, E));
    OK(cst_context_set_call_site_finder(c.context, here, &one, count_end, E));
    read_departments(employees);
    report_is(&c, CST_REPORT_TEXT, "Employee.department: 3 single faults, host.c:42\n");
    CHECK_INT(0, destroyed);
    OK(cst_context_set_call_site_finder(c.context, here, NULL, NULL, E));
    CHECK_INT(1, destroyed);
    cst_release(employees);
    OK(cst_context_reset(c.context, E));
    OK(cst_context_set_call_site_finder(c.context, NULL, NULL, NULL, E));
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_context_set_call_site_finder(NULL, here, &one, count_end, E));
    CHECK_INT(2, destroyed);
    company_close(&c);
}

/* The last call site applies until it is changed. */
static void a_fault_report_lists_every_call_site_and_relationship(void) {
    struct company c = begin();
    cst_results *employees = company_fetch(c.context, c.employee, NULL, "number");
    cst_object *departments[3];
    cst_object_id *id = NULL;
    OK(cst_object_copy_id(object_at(employees, 0), &id, E));
    set_option(&c, CST_OPTION_COUNTS_SINGLE_FAULTS, 1);
    OK(cst_context_set_call_site(c.context, text("b.c"), 7, E));
    for (int i = 0; i < 3; i++)
        departments[i] = get(object_at(employees, i), c.to_department).as.object;
    CHECK_TEXT("Research", get_text(departments[0], c.department_name));
    CHECK_TEXT("Research", get_text(departments[1], c.department_name));
    OK(cst_context_set_call_site(c.context, (cst_string){NULL, 0}, 9, E));
    CHECK_TEXT("Research", get_text(departments[2], c.department_name));
    /* A finder that returns no place keeps the last call site. */
    OK(cst_context_set_call_site(c.context, text("a.c"), 8, E));
    OK(cst_context_set_call_site_finder(c.context, here, NULL, NULL, E));
    for (int i = 0; i < 3; i++)
        CHECK_INT(1, (int64_t)member_count(departments[i], c.employees));
    report_is(&c, CST_REPORT_TEXT,
              "Department.employees: 3 single faults, a.c:8\n"
              "Employee.department: 2 single faults, b.c:7\n"
              "Employee.department: 1 single fault\n");
    report_is(&c, CST_REPORT_JSON,
              "[{\"count\": 3, \"entity\": \"Department\", \"file\": \"a.c\", \"line\": 8, \"relationship\": "
              "\"employees\"}, {\"count\": 2, \"entity\": \"Employee\", \"file\": \"b.c\", \"line\": 7, "
              "\"relationship\": \"department\"}, {\"count\": 1, \"entity\": \"Employee\", \"file\": null, \"line\": "
              "null, \"relationship\": \"department\"}]");

    /* Counting restarts from zero; an object fetched by its ID has no relationship. */
    cst_release(employees);
    OK(cst_context_reset(c.context, E));
    company_close(&c);
    c = company_open(check_path("s.sqlite"));
    set_option(&c, CST_OPTION_COUNTS_SINGLE_FAULTS, 1);
    report_is(&c, CST_REPORT_TEXT, "");
    cst_buffer uri = {0};
    OK(cst_object_id_copy_uri(id, &uri, E));
    cst_object_id *same = NULL;
    cst_object *fault = NULL;
    OK(cst_coordinator_object_id(c.coordinator, text(uri.data), &same, E));
    OK(cst_context_object_with_id(c.context, same, &fault, E));
    CHECK_TEXT("Ada", get_text(fault, c.name));
    report_is(&c, CST_REPORT_TEXT, "Employee: 1 single fault\n");
    report_is(&c, CST_REPORT_JSON,
              "[{\"count\": 1, \"entity\": \"Employee\", \"file\": null, \"line\": null, \"relationship\": null}]");
    set_option(&c, CST_OPTION_COUNTS_SINGLE_FAULTS, 0);
    report_is(&c, CST_REPORT_TEXT, "");
    cst_buffer_dispose(&uri);
    cst_release(fault), cst_release(same), cst_release(id);
    company_close(&c);
}

static void the_error_policy_refuses_single_faults_unless_prefetched(void) {
    struct company c = begin();
    set_option(&c, CST_OPTION_FAULT_POLICY, CST_FAULT_ERROR);
    cst_results *employees = company_fetch(c.context, c.employee, NULL, NULL);
    cst_value value;
    CHECK_STATUS(CST_E_UNSUPPORTED, cst_object_get_path(object_at(employees, 0), text("department.name"), &value, E));
    CHECK_TEXT("Employee", cst_error_entity(check_error()));
    CHECK_TEXT("department", cst_error_key(check_error()));
    CHECK_CONTAINS("prefetch \"department\" in the fetch of Employee", cst_error_message(check_error()));
    cst_release(employees);
    cst_fetch_request *request = NULL;
    OK(cst_fetch_request_new(c.employee, &request, E));
    cst_string path = text("department");
    OK(cst_fetch_request_set_prefetch(request, 1, &path, E));
    OK(cst_context_fetch(c.context, request, &employees, E));
    read_departments(employees);
    cst_release(employees);
    cst_release(request);
    company_close(&c);
}

/* The fault of an employee whose row was deleted. */
static cst_object *lost(const struct company *c) {
    cst_results *found = company_fetch(c->context, c->employee, NULL, NULL);
    cst_object_id *id = NULL;
    OK(cst_object_copy_id(object_at(found, 0), &id, E));
    cst_release(found);
    cst_context *other = company_context(c, CST_QUEUE_CALLER);
    cst_object *same = NULL, *fault = NULL;
    OK(cst_context_object_with_id(other, id, &same, E));
    OK(cst_context_delete(other, same, E));
    OK(cst_context_save(other, E));
    cst_release(same);
    cst_release(other);
    OK(cst_context_reset(c->context, E));
    OK(cst_context_object_with_id(c->context, id, &fault, E));
    cst_release(id);
    return fault;
}

static void an_inaccessible_fault_is_deleted_when_the_option_is_set(void) {
    struct company c = begin();
    cst_object *fault = lost(&c);
    set_option(&c, CST_OPTION_DELETES_INACCESSIBLE_FAULTS, 0);
    cst_value value;
    CHECK_STATUS(CST_E_OBJECT_GONE, cst_object_get(fault, c.name, &value, E));
    CHECK_INT(CST_CODE_MANAGED_OBJECT_REFERENTIAL_INTEGRITY, cst_error_code(check_error()));
    set_option(&c, CST_OPTION_DELETES_INACCESSIBLE_FAULTS, 1);
    OK(cst_object_get(fault, c.name, &value, E));
    CHECK_INT(CST_NULL, value.type);
    OK(cst_object_get(fault, c.number, &value, E));
    CHECK_INT(CST_NULL, value.type);
    uint32_t state = 0;
    OK(cst_object_state(fault, &state, E));
    CHECK(state & CST_OBJECT_DELETED);
    uint64_t count = 0;
    OK(cst_context_changed_count(c.context, CST_CHANGED_DELETED, &count, E));
    CHECK_INT(1, count);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_changed_count(c.context, 9, &count, E));
    bool changes = true;
    OK(cst_context_has_persistent_changes(c.context, &changes, E));
    CHECK(!changes);
    OK(cst_context_save(c.context, E));
    OK(cst_context_has_changes(c.context, &changes, E));
    CHECK(!changes);
    cst_release(fault);
    company_close(&c);
}

struct asked {
    int count, ends;
    enum { TAKE, REFUSE, FAIL, RESET, GIVE_UP } answer;
    const struct company *company;
};

static cst_status decide(void *userdata, cst_object *fault, cst_object_id *id, cst_string property, bool *out_handled,
                         cst_error **error) {
    struct asked *asked = userdata;
    asked->count++;
    CHECK(property.data && strcmp(property.data, "name") == 0);
    CHECK(fault != NULL && id != NULL);
    cst_value value;
    if (asked->answer == RESET) {
        CHECK_INT(CST_OK, cst_context_save(asked->company->context, NULL));
        CHECK_INT(CST_OK, cst_context_reset(asked->company->context, NULL));
    }
    /* Without E, because the getter that fires the fault uses it. */
    CHECK_INT(CST_E_OBJECT_GONE, cst_object_get(fault, asked->company->name, &value, NULL));
    if (asked->answer == FAIL) {
        cst_error_new_custom(text("App"), 7, text("no idea"), NULL, NULL, error);
        return CST_E_CALLBACK;
    }
    *out_handled = asked->answer == TAKE;
    if (asked->answer == GIVE_UP) CHECK_INT(CST_OK, cst_release(fault));
    return CST_OK;
}

static void end_of_asked(void *userdata) { ((struct asked *)userdata)->ends++; }

/* The only handle of an object is released by the handler, while the getter works with the object. */
static void an_inaccessible_fault_handler_can_release_the_fault(void) {
    struct company c = begin();
    cst_object *fault = lost(&c);
    struct asked asked = {0, 0, GIVE_UP, &c};
    OK(cst_context_set_inaccessible_fault_handler(c.context, decide, &asked, end_of_asked, E));
    cst_value value;
    CHECK_STATUS(CST_E_OBJECT_GONE, cst_object_get(fault, c.name, &value, E));
    CHECK_INT(1, asked.count);
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_object_get(fault, c.name, &value, E));
    company_close(&c);
}

static void an_inaccessible_fault_handler_determines_the_result(void) {
    struct company c = begin();
    cst_object *fault = lost(&c);
    struct asked asked = {0, 0, REFUSE, &c};
    OK(cst_context_set_inaccessible_fault_handler(c.context, decide, &asked, end_of_asked, E));
    cst_value value;
    CHECK_STATUS(CST_E_OBJECT_GONE, cst_object_get(fault, c.name, &value, E));
    asked.answer = FAIL;
    CHECK_STATUS(CST_E_CALLBACK, cst_object_get(fault, c.name, &value, E));
    CHECK_TEXT("the handler for inaccessible faults failed: no idea", cst_error_message(check_error()));
    asked.answer = TAKE;
    OK(cst_object_get(fault, c.name, &value, E));
    CHECK_INT(CST_NULL, value.type);
    CHECK_INT(3, asked.count);
    OK(cst_context_rollback(c.context, E));
    asked.answer = RESET;
    CHECK_STATUS(CST_E_OBJECT_GONE, cst_object_get(fault, c.name, &value, E));
    CHECK_INT(0, asked.ends);
    OK(cst_context_set_inaccessible_fault_handler(c.context, NULL, NULL, NULL, E));
    CHECK_INT(1, asked.ends);
    CHECK_STATUS(CST_E_INVALID_HANDLE,
                 cst_context_set_inaccessible_fault_handler(NULL, decide, &asked, end_of_asked, E));
    CHECK_INT(2, asked.ends);
    OK(cst_context_set_inaccessible_fault_handler(c.context, decide, &asked, end_of_asked, E));
    cst_release(fault);
    company_close(&c);
    CHECK_INT(3, asked.ends);
}

static void a_context_keeps_its_user_info_name_and_author(void) {
    struct company c = begin();
    int first = 1, second = 10;
    CHECK(cst_context_user_info(c.context) == NULL);
    CHECK(cst_context_user_info(NULL) == NULL);
    OK(cst_context_set_user_info(c.context, &first, count_end, E));
    CHECK(cst_context_user_info(c.context) == &first);
    OK(cst_context_set_user_info(c.context, &second, count_end, E));
    CHECK_INT(1, destroyed);
    cst_buffer name = {0};
    CHECK_STATUS(CST_NOT_FOUND, cst_context_copy_name(c.context, &name, E));
    OK(cst_context_set_name(c.context, text("import"), E));
    OK(cst_context_copy_name(c.context, &name, E));
    CHECK_TEXT("import", text_of_size(name.data, name.size));
    OK(cst_context_set_transaction_author(c.context, text("me"), E));
    OK(cst_context_copy_transaction_author(c.context, &name, E));
    CHECK_TEXT("me", text_of_size(name.data, name.size));
    cst_buffer_dispose(&name);
    set_option(&c, CST_OPTION_RETAINS_REGISTERED_OBJECTS, 1);
    cst_release(company_fetch(c.context, c.employee, NULL, NULL));
    uint64_t count = 0;
    OK(cst_context_changed_count(c.context, CST_CHANGED_REGISTERED, &count, E));
    CHECK_INT(3, count);
    company_close(&c);
    CHECK_INT(11, destroyed);
}

static void delete_rules_can_be_deferred_until_the_save(void) {
    struct company c = begin();
    set_option(&c, CST_OPTION_DELETES_AT_END_OF_EVENT, 0);
    cst_object *project = company_insert(&c, c.context, c.project, c.title, "P");
    cst_object *task = company_insert(&c, c.context, c.task, c.task_title, "T");
    OK(cst_object_add_member(project, c.tasks, task, E));
    OK(cst_context_save(c.context, E));
    OK(cst_context_delete(c.context, project, E));
    OK(cst_context_process_pending_changes(c.context, E));
    CHECK_INT(1, company_count(c.context, c.task, NULL));
    OK(cst_context_save(c.context, E));
    CHECK_INT(0, company_count(c.context, c.task, NULL));
    cst_release(project);
    cst_release(task);
    company_close(&c);
}

static void a_destroyed_store_is_empty_when_reopened(void) {
    struct company c = begin();
    cst_string path = text(check_path("s.sqlite")), type = text("SQLite");
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_coordinator_destroy_store(c.coordinator, text("XML?"), path, NULL, E));
    OK(cst_coordinator_destroy_store(c.coordinator, type, path, NULL, E));
    CHECK_STATUS(CST_UNCHANGED,
                 cst_coordinator_destroy_store(c.coordinator, type, text(check_path("none.sqlite")), NULL, E));
    company_close(&c);
    c = company_open(check_path("s.sqlite"));
    CHECK_INT(0, company_count(c.context, c.employee, NULL));
    company_close(&c);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(context_options_out_of_range_are_refused);
    RUN(single_faults_are_reported_with_their_call_site);
    RUN(a_call_site_finder_determines_the_reported_place);
    RUN(a_call_site_finder_cannot_change_the_context);
    RUN(a_call_site_finder_cannot_close_the_coordinator);
    RUN(a_fault_report_lists_every_call_site_and_relationship);
    RUN(the_error_policy_refuses_single_faults_unless_prefetched);
    RUN(an_inaccessible_fault_is_deleted_when_the_option_is_set);
    RUN(an_inaccessible_fault_handler_can_release_the_fault);
    RUN(an_inaccessible_fault_handler_determines_the_result);
    RUN(a_context_keeps_its_user_info_name_and_author);
    RUN(delete_rules_can_be_deferred_until_the_save);
    RUN(a_destroyed_store_is_empty_when_reopened);
    return check_end();
}
