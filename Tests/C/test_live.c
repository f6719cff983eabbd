/* Live queries: insertions into nothing, then differences, a reset, an end.
 *
 * SPDX-License-Identifier: MIT
 */
#include "company.h"

#include <stdio.h>
#include <string.h>

struct heard {
    size_t calls, changes, removals, count, renamed;
    uint32_t last_kind;
    cst_index_path path, new_path;
    bool was_reset;
    int destroyed;
};

static void hear(void *userdata, cst_context *context, const cst_difference *difference) {
    struct heard *heard = userdata;
    CHECK(context != NULL);
    CHECK(difference->error == NULL);
    heard->calls++;
    heard->changes = difference->change_count;
    heard->count = cst_snapshot_object_count(difference->snapshot, SIZE_MAX);
    heard->was_reset = difference->is_reset;
    heard->renamed += difference->renamed_count;
    for (size_t i = 0; i < difference->renamed_count; i++) {
        bool was_temporary = false, is_temporary = true;
        CHECK_STATUS(CST_OK, cst_object_id_is_temporary(difference->renamed[i].former, &was_temporary, NULL));
        CHECK_STATUS(CST_OK, cst_object_id_is_temporary(difference->renamed[i].id, &is_temporary, NULL));
        CHECK(was_temporary && !is_temporary);
    }
    for (size_t i = 0; i < difference->change_count; i++) {
        CHECK(difference->changes[i].object != NULL);
        heard->last_kind = difference->changes[i].kind;
        heard->path = difference->changes[i].path;
        heard->new_path = difference->changes[i].new_path;
        if (difference->changes[i].kind == CST_RESULT_DELETE) heard->removals++;
    }
}

static void end(void *userdata) { ((struct heard *)userdata)->destroyed++; }

static void differences_are_told(void) {
    struct company c = company_open(check_path("a.sqlite"));
    struct heard heard = {0};
    cst_fetch_request *request = company_by_number(&c);
    cst_observation *observation = NULL;
    cst_object *one = company_employee(&c, c.context, "one", 1);
    OK(cst_context_observe_fetch(c.context, request, (cst_string){NULL, 0}, 0, NULL, hear, &heard, end, &observation,
                                 E));
    CHECK_INT(1, heard.calls);
    CHECK_INT(1, heard.count);
    cst_object *two = company_employee(&c, c.context, "two", 0);
    OK(cst_context_process_pending_changes(c.context, E));
    CHECK_INT(CST_RESULT_INSERT, heard.last_kind);
    CHECK_INT(0, heard.new_path.row);
    CHECK(heard.path.row == SIZE_MAX);
    OK(cst_object_set(two, c.number, &(cst_value){CST_INT, 0, {.integer = 5}}, E));
    OK(cst_context_process_pending_changes(c.context, E));
    CHECK_INT(CST_RESULT_MOVE, heard.last_kind);
    CHECK_INT(0, heard.path.row);
    CHECK_INT(1, heard.new_path.row);
    OK(cst_context_delete(c.context, one, E));
    save(c.context);
    CHECK_INT(1, heard.removals);
    CHECK_INT(1, heard.renamed);
    OK(cst_context_reset(c.context, E));
    CHECK(heard.was_reset);
    CHECK_INT(1, heard.changes);
    size_t calls = heard.calls;
    OK(cst_observation_cancel(observation, E));
    OK(cst_release(company_employee(&c, c.context, "three", 3)));
    OK(cst_context_process_pending_changes(c.context, E));
    CHECK_INT(calls, heard.calls);
    OK(cst_release(observation));
    CHECK_INT(1, heard.destroyed);
    OK(cst_release(one));
    OK(cst_release(two));
    OK(cst_release(request));
    company_close(&c);
}

static void mistakes(void) {
    struct company c = company_open(check_path("a.sqlite"));
    struct heard heard = {0};
    cst_fetch_request *request = company_by_number(&c);
    cst_observation *observation = NULL;
    cst_string wrong = text("nothing.name");
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_observe_fetch(c.context, request, (cst_string){NULL, 0}, 0, NULL,
                                                                   NULL, &heard, end, &observation, E));
    cst_status status = cst_context_observe_fetch(c.context, request, (cst_string){NULL, 0}, 1, &wrong, hear, &heard,
                                                  end, &observation, E);
    CHECK(status < 0);
    CHECK_INT(2, heard.destroyed);
    CHECK_INT(0, heard.calls);
    CHECK(observation == NULL);
    CHECK_INT(0, cst_snapshot_section_count(NULL));
    OK(cst_release(request));
    company_close(&c);
}

struct sections {
    char names[200];
    size_t total;
};

static void hear_sections(void *userdata, cst_context *context, const cst_difference *difference) {
    struct sections *heard = userdata;
    (void)context;
    heard->names[0] = 0;
    for (size_t i = 0; i < difference->section_count; i++)
        snprintf(heard->names + strlen(heard->names), sizeof heard->names - strlen(heard->names), "%u:%zu:%s ",
                 difference->sections[i].kind, difference->sections[i].index, difference->sections[i].name.data);
    heard->total = cst_snapshot_object_count(difference->snapshot, SIZE_MAX);
}

static void expect_sections(const struct sections *heard, const char *expected) {
    CHECK_TEXT(expected, text_of_size(heard->names, strlen(heard->names)));
}

static void sections_come_and_go(void) {
    struct company c = company_open(check_path("a.sqlite"));
    struct sections heard = {"", 0};
    cst_fetch_request *request = NULL;
    cst_sort order = {text("name"), 0, 0};
    cst_observation *observation = NULL;
    OK(cst_fetch_request_new(c.employee, &request, E));
    OK(cst_fetch_request_set_sort(request, 1, &order, E));
    cst_object *a = company_employee(&c, c.context, "a", 1), *b = company_employee(&c, c.context, "b", 2);
    OK(cst_context_observe_fetch(c.context, request, text("name"), 0, NULL, hear_sections, &heard, NULL, &observation,
                                 E));
    expect_sections(&heard, "1:0:a 1:1:b ");
    CHECK_INT(2, heard.total);
    OK(cst_context_delete(c.context, a, E));
    cst_object *d = company_employee(&c, c.context, "d", 3);
    OK(cst_context_process_pending_changes(c.context, E));
    expect_sections(&heard, "2:0:a 1:1:d ");
    CHECK_INT(2, heard.total);
    cst_release(observation), cst_release(request), cst_release(a), cst_release(b), cst_release(d);
    company_close(&c);
}

/* Objects on the path of a dependency make updates of those that lead to them. */
static void dependencies_make_updates(void) {
    struct company c = company_open(check_path("a.sqlite"));
    struct heard heard = {0};
    cst_object *place = company_insert(&c, c.context, c.department, c.department_name, "R&D");
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    set(ada, c.to_department, value_object(place));
    save(c.context);
    cst_fetch_request *request = company_by_number(&c);
    cst_observation *observation = NULL;
    const cst_string paths[] = {text("department")};
    OK(cst_context_observe_fetch(c.context, request, (cst_string){NULL, 0}, 1, paths, hear, &heard, end, &observation,
                                 E));
    CHECK_INT(1, heard.calls);
    CHECK_INT(CST_RESULT_INSERT, heard.last_kind);
    set(place, c.department_name, value_text("Labs"));
    OK(cst_context_process_pending_changes(c.context, E));
    CHECK_INT(2, heard.calls);
    CHECK_INT(CST_RESULT_UPDATE, heard.last_kind);
    CHECK(heard.path.section == 0 && heard.path.row == 0 && heard.new_path.row == 0);
    cst_release(observation), cst_release(request), cst_release(ada), cst_release(place);
    CHECK_INT(1, heard.destroyed);
    company_close(&c);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(differences_are_told);
    RUN(mistakes);
    RUN(sections_come_and_go);
    RUN(dependencies_make_updates);
    return check_end();
}
