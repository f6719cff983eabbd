/* Observed fetches: initial insertions, then differences, a reset, and the end.
 *
 * SPDX-License-Identifier: MIT
 */
#include "company.h"

#include <stdio.h>
#include <string.h>

struct recorded {
    size_t calls, changes, removals, count, renamed;
    uint32_t last_kind;
    cst_index_path path, new_path;
    bool was_reset;
    int destroyed;
};

static void record_difference(void *userdata, cst_context *context, const cst_difference *difference) {
    struct recorded *recorded = userdata;
    CHECK(context != NULL);
    CHECK(difference->error == NULL);
    recorded->calls++;
    recorded->changes = difference->change_count;
    recorded->count = cst_snapshot_object_count(difference->snapshot, SIZE_MAX);
    recorded->was_reset = difference->is_reset;
    recorded->renamed += difference->renamed_count;
    for (size_t i = 0; i < difference->renamed_count; i++) {
        bool was_temporary = false, is_temporary = true;
        CHECK_STATUS(CST_OK, cst_object_id_is_temporary(difference->renamed[i].former, &was_temporary, NULL));
        CHECK_STATUS(CST_OK, cst_object_id_is_temporary(difference->renamed[i].id, &is_temporary, NULL));
        CHECK(was_temporary && !is_temporary);
    }
    for (size_t i = 0; i < difference->change_count; i++) {
        CHECK(difference->changes[i].object != NULL);
        recorded->last_kind = difference->changes[i].kind;
        recorded->path = difference->changes[i].path;
        recorded->new_path = difference->changes[i].new_path;
        if (difference->changes[i].kind == CST_RESULT_DELETE) recorded->removals++;
    }
}

static void end(void *userdata) { ((struct recorded *)userdata)->destroyed++; }

static void an_observed_fetch_reports_differences(void) {
    struct company c = company_open(check_path("a.sqlite"));
    struct recorded recorded = {0};
    cst_fetch_request *request = company_by_number(&c);
    cst_observation *observation = NULL;
    cst_object *one = company_employee(&c, c.context, "one", 1);
    OK(cst_context_observe_fetch(c.context, request, (cst_string){NULL, 0}, 0, NULL, record_difference, &recorded, end,
                                 &observation, E));
    CHECK_INT(1, recorded.calls);
    CHECK_INT(1, recorded.count);
    cst_object *two = company_employee(&c, c.context, "two", 0);
    OK(cst_context_process_pending_changes(c.context, E));
    CHECK_INT(CST_RESULT_INSERT, recorded.last_kind);
    CHECK_INT(0, recorded.new_path.row);
    CHECK(recorded.path.row == SIZE_MAX);
    OK(cst_object_set(two, c.number, &(cst_value){CST_INT, 0, {.integer = 5}}, E));
    OK(cst_context_process_pending_changes(c.context, E));
    CHECK_INT(CST_RESULT_MOVE, recorded.last_kind);
    CHECK_INT(0, recorded.path.row);
    CHECK_INT(1, recorded.new_path.row);
    OK(cst_context_delete(c.context, one, E));
    save(c.context);
    CHECK_INT(1, recorded.removals);
    CHECK_INT(1, recorded.renamed);
    OK(cst_context_reset(c.context, E));
    CHECK(recorded.was_reset);
    CHECK_INT(1, recorded.changes);
    size_t calls = recorded.calls;
    OK(cst_observation_cancel(observation, E));
    OK(cst_release(company_employee(&c, c.context, "three", 3)));
    OK(cst_context_process_pending_changes(c.context, E));
    CHECK_INT(calls, recorded.calls);
    OK(cst_release(observation));
    CHECK_INT(1, recorded.destroyed);
    OK(cst_release(one));
    OK(cst_release(two));
    OK(cst_release(request));
    company_close(&c);
}

static void invalid_fetch_observations_are_refused(void) {
    struct company c = company_open(check_path("a.sqlite"));
    struct recorded recorded = {0};
    cst_fetch_request *request = company_by_number(&c);
    cst_observation *observation = NULL;
    cst_string wrong = text("nothing.name");
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_observe_fetch(c.context, request, (cst_string){NULL, 0}, 0, NULL,
                                                                   NULL, &recorded, end, &observation, E));
    cst_status status = cst_context_observe_fetch(c.context, request, (cst_string){NULL, 0}, 1, &wrong,
                                                  record_difference, &recorded, end, &observation, E);
    CHECK(status < 0);
    CHECK_INT(2, recorded.destroyed);
    CHECK_INT(0, recorded.calls);
    CHECK(observation == NULL);
    CHECK_INT(0, cst_snapshot_section_count(NULL));
    OK(cst_release(request));
    company_close(&c);
}

struct sections {
    char names[200];
    size_t total;
};

static void record_sections(void *userdata, cst_context *context, const cst_difference *difference) {
    struct sections *recorded = userdata;
    (void)context;
    recorded->names[0] = 0;
    for (size_t i = 0; i < difference->section_count; i++)
        snprintf(recorded->names + strlen(recorded->names), sizeof recorded->names - strlen(recorded->names),
                 "%u:%zu:%s ", difference->sections[i].kind, difference->sections[i].index,
                 difference->sections[i].name.data);
    recorded->total = cst_snapshot_object_count(difference->snapshot, SIZE_MAX);
}

static void expect_sections(const struct sections *recorded, const char *expected) {
    CHECK_TEXT(expected, text_of_size(recorded->names, strlen(recorded->names)));
}

static void sections_are_inserted_and_removed(void) {
    struct company c = company_open(check_path("a.sqlite"));
    struct sections recorded = {"", 0};
    cst_fetch_request *request = NULL;
    cst_sort order = {text("name"), 0, 0};
    cst_observation *observation = NULL;
    OK(cst_fetch_request_new(c.employee, &request, E));
    OK(cst_fetch_request_set_sort(request, 1, &order, E));
    cst_object *a = company_employee(&c, c.context, "a", 1), *b = company_employee(&c, c.context, "b", 2);
    OK(cst_context_observe_fetch(c.context, request, text("name"), 0, NULL, record_sections, &recorded, NULL,
                                 &observation, E));
    expect_sections(&recorded, "1:0:a 1:1:b ");
    CHECK_INT(2, recorded.total);
    OK(cst_context_delete(c.context, a, E));
    cst_object *d = company_employee(&c, c.context, "d", 3);
    OK(cst_context_process_pending_changes(c.context, E));
    expect_sections(&recorded, "2:0:a 1:1:d ");
    CHECK_INT(2, recorded.total);
    cst_release(observation), cst_release(request), cst_release(a), cst_release(b), cst_release(d);
    company_close(&c);
}

/* A change of an object on a dependency path is an update of the objects that refer to it. */
static void changes_at_a_dependency_are_reported_as_updates(void) {
    struct company c = company_open(check_path("a.sqlite"));
    struct recorded recorded = {0};
    cst_object *place = company_insert(&c, c.context, c.department, c.department_name, "R&D");
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    set(ada, c.to_department, value_object(place));
    save(c.context);
    cst_fetch_request *request = company_by_number(&c);
    cst_observation *observation = NULL;
    const cst_string paths[] = {text("department")};
    OK(cst_context_observe_fetch(c.context, request, (cst_string){NULL, 0}, 1, paths, record_difference, &recorded, end,
                                 &observation, E));
    CHECK_INT(1, recorded.calls);
    CHECK_INT(CST_RESULT_INSERT, recorded.last_kind);
    set(place, c.department_name, value_text("Labs"));
    OK(cst_context_process_pending_changes(c.context, E));
    CHECK_INT(2, recorded.calls);
    CHECK_INT(CST_RESULT_UPDATE, recorded.last_kind);
    CHECK(recorded.path.section == 0 && recorded.path.row == 0 && recorded.new_path.row == 0);
    cst_release(observation), cst_release(request), cst_release(ada), cst_release(place);
    CHECK_INT(1, recorded.destroyed);
    company_close(&c);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(an_observed_fetch_reports_differences);
    RUN(invalid_fetch_observations_are_refused);
    RUN(sections_are_inserted_and_removed);
    RUN(changes_at_a_dependency_are_reported_as_updates);
    return check_end();
}
