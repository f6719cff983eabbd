/* Observers of properties and key paths, notifications of contexts.
 *
 * SPDX-License-Identifier: MIT
 */
#include "company.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

struct recording {
    char lines[1024];
    int calls, ended;
    cst_observation *token; /* released by the callback that finds it */
    cst_context *reset;
};

static void ended(void *userdata) { ((struct recording *)userdata)->ended++; }

static void write_value(char *to, size_t room, const cst_value *value) {
    if (value->type == CST_STRING)
        snprintf(to, room, "%s", value->as.string.data);
    else if (value->type == CST_ARRAY)
        snprintf(to, room, "%zu", value->as.values.size);
    else
        snprintf(to, room, "%s", value->type == CST_OBJECT ? "object" : "-");
}

static void record_change(void *userdata, cst_object *object, const cst_value_change *change) {
    struct recording *recording = userdata;
    char from[64], to[64];
    size_t used = strlen(recording->lines);
    CHECK(object != NULL);
    recording->calls++;
    write_value(from, sizeof from, &change->old_value);
    write_value(to, sizeof to, &change->new_value);
    snprintf(recording->lines + used, sizeof recording->lines - used, "%s%u %s %s %s", change->is_prior ? "prior " : "",
             (unsigned)change->kind, change->key_path.data, from, to);
    for (size_t i = 0; i < change->index_count; i++) {
        used = strlen(recording->lines);
        snprintf(recording->lines + used, sizeof recording->lines - used, " [%zu]", change->indexes[i]);
    }
    strncat(recording->lines, ";", sizeof recording->lines - strlen(recording->lines) - 1);
    if (recording->token) {
        cst_release(recording->token);
        recording->token = NULL;
    }
    if (recording->reset) cst_context_reset(recording->reset, NULL);
}

static void expect_changes(struct recording *recording, const char *expected) {
    CHECK_TEXT(expected, text_of_size(recording->lines, strlen(recording->lines)));
    recording->lines[0] = 0;
}

static void observers_receive_changes_of_values_members_and_key_paths(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *dept = company_insert(&c, c.context, c.department, c.department_name, "R&D");
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    struct recording h = {0};
    cst_observation *name = NULL, *path = NULL, *members = NULL;
    OK(cst_object_observe(ada, text("name"), CST_OBSERVE_INITIAL | CST_OBSERVE_PRIOR, record_change, &h, ended, &name,
                          E));
    expect_changes(&h, "1 name - Ada;");
    set(ada, c.name, value_text("Eve"));
    expect_changes(&h, "prior 1 name Ada -;1 name Ada Eve;");
    OK(cst_observation_cancel(name, E));
    OK(cst_observation_cancel(name, E));
    set(ada, c.name, value_text("Zoe"));
    expect_changes(&h, "");
    OK(cst_object_observe(ada, text("department.name"), 0, record_change, &h, ended, &path, E));
    OK(cst_object_observe(dept, text("employees"), 0, record_change, &h, ended, &members, E));
    set(ada, c.to_department, value_object(dept));
    expect_changes(&h, "1 department.name - R&D;2 employees - 1;");
    set(dept, c.department_name, value_text("Labs"));
    expect_changes(&h, "1 department.name R&D Labs;");
    OK(cst_release(name));
    OK(cst_release(path));
    OK(cst_release(members));
    set(ada, c.to_department, value_null());
    expect_changes(&h, "");
    CHECK_INT(3, h.ended);
    OK(cst_release(ada));
    OK(cst_release(dept));
    company_close(&c);
}

static void observers_receive_the_indexes_of_ordered_members(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *project = company_insert(&c, c.context, c.project, c.title, "p");
    cst_object *one = company_insert(&c, c.context, c.task, c.task_title, "1");
    cst_object *two = company_insert(&c, c.context, c.task, c.task_title, "2");
    struct recording h = {0};
    cst_observation *token = NULL;
    OK(cst_object_observe(project, text("tasks"), 0, record_change, &h, ended, &token, E));
    OK(cst_object_add_member(project, c.tasks, one, E));
    OK(cst_object_insert_member(project, c.tasks, 0, two, E));
    OK(cst_object_insert_member(project, c.tasks, 0, one, E));
    OK(cst_object_remove_member(project, c.tasks, one, E));
    expect_changes(&h, "2 tasks - 1 [0];2 tasks - 1 [0];4 tasks 2 2 [0] [1];3 tasks 1 - [0];");
    OK(cst_release(token));
    OK(cst_release(project));
    OK(cst_release(one));
    OK(cst_release(two));
    company_close(&c);
}

static void invalid_observers_are_refused(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1), *loose = NULL;
    struct recording h = {0};
    cst_observation *token = NULL;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_observe(ada, text("nme"), 0, record_change, &h, ended, &token, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                 cst_object_observe(ada, text("reports.name"), 0, record_change, &h, ended, &token, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_observe(ada, text("name"), 1, record_change, &h, ended, &token, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_observe(ada, text("name"), 0, NULL, &h, ended, &token, E));
    OK(cst_object_new(c.employee, &loose, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                 cst_object_observe(loose, text("name"), 0, record_change, &h, ended, &token, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_observe(c.context, 9, NULL, &h, ended, &token, E));
    CHECK_INT(6, h.ended);
    CHECK(token == NULL);
    OK(cst_release(loose));
    OK(cst_release(ada));
    company_close(&c);
}

static void an_observer_can_reset_the_context_and_release_its_token(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1), *bob = company_employee(&c, c.context, "Bob", 2);
    struct recording h = {.reset = c.context};
    OK(cst_object_observe(ada, text("manager.name"), 0, record_change, &h, ended, &h.token, E));
    set(ada, c.manager, value_object(bob));
    expect_changes(&h, "1 manager.name - Bob;");
    CHECK_INT(1, h.ended);
    CHECK_STATUS(CST_E_OBJECT_GONE, cst_object_will_access(ada, c.name, E));
    OK(cst_release(ada));
    OK(cst_release(bob));
    company_close(&c);
}

static void *release_there(void *token) {
    cst_release(token);
    return NULL;
}

static void tokens_can_be_released_on_any_thread_and_outlive_their_context(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    struct recording h = {0};
    cst_observation *token = NULL, *last = NULL;
    OK(cst_object_observe(ada, text("name"), 0, record_change, &h, ended, &token, E));
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, release_there, token) == 0);
    REQUIRE(pthread_join(thread, NULL) == 0);
    set(ada, c.name, value_text("Eve"));
    expect_changes(&h, "");
    CHECK_INT(1, h.ended);
    OK(cst_object_observe(ada, text("name"), 0, record_change, &h, ended, &last, E));
    OK(cst_release(ada));
    company_close(&c);
    OK(cst_observation_cancel(last, E));
    OK(cst_release(last));
    CHECK_INT(2, h.ended);
}

enum end { CLOSED, RELEASED, RESET, DELETED, CANCELLED };

static void ignore_notification(void *userdata, cst_context *context, uint32_t notification,
                                const cst_changes *changes) {
    (void)userdata, (void)context, (void)notification, (void)changes;
}

static void ignore_difference(void *userdata, cst_context *context, const cst_difference *difference) {
    (void)userdata, (void)context, (void)difference;
}

/* Observations of an object end when it is detached, all others when the context is closed or released, although the
 * host retains the tokens. */
static void check_userdata_is_freed(enum end how) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_context *own = company_context(&c, CST_QUEUE_CALLER);
    cst_object *ada = company_employee(&c, own, "Ada", 1);
    save(own);
    struct recording h[3] = {{.calls = 0}};
    cst_observation *tokens[3] = {0};
    cst_fetch_request *request = NULL;
    OK(cst_fetch_request_new(c.employee, &request, E));
    OK(cst_object_observe(ada, text("name"), 0, record_change, &h[0], ended, &tokens[0], E));
    OK(cst_context_observe(own, CST_NOTIFICATION_DID_SAVE, ignore_notification, &h[1], ended, &tokens[1], E));
    OK(cst_context_observe_fetch(own, request, (cst_string){NULL, 0}, 0, NULL, ignore_difference, &h[2], ended,
                                 &tokens[2], E));
    OK(cst_release(request));
    if (how == CLOSED) OK(cst_context_close(own, CST_UNSAVED_REFUSE, E));
    if (how == RESET) OK(cst_context_reset(own, E));
    if (how == DELETED) {
        OK(cst_context_delete(own, ada, E));
        save(own);
    }
    for (int i = 0; how == CANCELLED && i < 3; i++)
        OK(cst_observation_cancel(tokens[i], E));
    CHECK_INT(how != RELEASED, h[0].ended);
    CHECK_INT(how == CLOSED || how == CANCELLED, h[1].ended);
    CHECK_INT(how == CLOSED || how == CANCELLED, h[2].ended);
    OK(cst_release(ada));
    OK(cst_release(own));
    for (int i = 0; i < 3; i++) {
        CHECK_INT(1, h[i].ended);
        OK(cst_observation_cancel(tokens[i], E));
        OK(cst_release(tokens[i]));
        CHECK_INT(1, h[i].ended);
    }
    company_close(&c);
}

static void userdata_is_freed_when_the_context_is_closed(void) { check_userdata_is_freed(CLOSED); }
static void userdata_is_freed_when_the_context_is_released(void) { check_userdata_is_freed(RELEASED); }
static void userdata_is_freed_after_a_reset(void) { check_userdata_is_freed(RESET); }
static void userdata_is_freed_when_the_object_is_deleted(void) { check_userdata_is_freed(DELETED); }
static void userdata_is_freed_when_the_observation_is_cancelled(void) { check_userdata_is_freed(CANCELLED); }

struct notes {
    char lines[512];
    cst_object_id *deleted;
};

static void note(void *userdata, cst_context *context, uint32_t notification, const cst_changes *changes) {
    struct notes *notes = userdata;
    size_t used = strlen(notes->lines);
    CHECK(context != NULL);
    snprintf(notes->lines + used, sizeof notes->lines - used, "%u %zu %zu %zu%s;", (unsigned)notification,
             cst_results_count(changes->inserted), cst_results_count(changes->updated),
             cst_results_count(changes->deleted), changes->invalidated_all ? " all" : "");
    if (notification == CST_NOTIFICATION_DID_SAVE && changes->deleted && !notes->deleted)
        OK(cst_results_copy_id(changes->deleted, 0, &notes->deleted, E));
}

static void a_save_posts_its_notifications_in_order(void) {
    struct company c = company_open(check_path("a.sqlite"));
    struct notes notes = {0};
    cst_observation *tokens[3] = {0};
    const uint32_t kinds[] = {CST_NOTIFICATION_DID_SAVE, CST_NOTIFICATION_OBJECTS_DID_CHANGE,
                              CST_NOTIFICATION_DID_SAVE_OBJECT_IDS};
    for (int i = 0; i < 3; i++)
        OK(cst_context_observe(c.context, kinds[i], note, &notes, NULL, &tokens[i], E));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1), *bob = company_employee(&c, c.context, "Bob", 2);
    save(c.context);
    CHECK_TEXT("3 2 0 0;2 2 0 0;4 2 0 0;", text_of_size(notes.lines, strlen(notes.lines)));
    notes.lines[0] = 0;
    set(ada, c.name, value_text("Eve"));
    OK(cst_context_delete(c.context, bob, E));
    save(c.context);
    CHECK_TEXT("3 0 1 1;2 0 1 1;4 0 1 1;", text_of_size(notes.lines, strlen(notes.lines)));
    REQUIRE(notes.deleted != NULL);
    bool temporary = true;
    OK(cst_object_id_is_temporary(notes.deleted, &temporary, E));
    CHECK(!temporary);
    for (int i = 0; i < 3; i++)
        OK(cst_release(tokens[i]));
    OK(cst_release(notes.deleted));
    OK(cst_release(ada));
    OK(cst_release(bob));
    company_close(&c);
}

static void note_all(void *userdata, cst_context *context, uint32_t notification, const cst_changes *changes) {
    struct notes *notes = userdata;
    size_t used = strlen(notes->lines);
    (void)context;
    snprintf(notes->lines + used, sizeof notes->lines - used, "%u+%zu~%zu-%zu*%zu!%zu%s;", (unsigned)notification,
             cst_results_count(changes->inserted), cst_results_count(changes->updated),
             cst_results_count(changes->deleted), cst_results_count(changes->refreshed),
             cst_results_count(changes->invalidated), changes->invalidated_all ? " all" : "");
    CHECK((changes->inserted == NULL) == (cst_results_count(changes->inserted) == 0));
    CHECK(changes->query_generation == NULL);
    /* Of these notifications alone there are IDs instead of objects. */
    const bool has_ids =
        notification == CST_NOTIFICATION_DID_SAVE_OBJECT_IDS || notification == CST_NOTIFICATION_DID_MERGE_OBJECT_IDS;
    cst_object *object = NULL;
    if (changes->updated)
        CHECK_INT(has_ids ? CST_E_INVALID_ARGUMENT : CST_OK,
                  cst_results_get_object(changes->updated, 0, &object, NULL));
}

static void expect_notes(struct notes *notes, const char *expected) {
    CHECK_TEXT(expected, text_of_size(notes->lines, strlen(notes->lines)));
    notes->lines[0] = 0;
}

static void each_notification_lists_its_objects(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1), *bob = company_employee(&c, c.context, "Bob", 2);
    save(c.context);
    cst_context *other = company_context(&c, CST_QUEUE_CALLER);
    OK(cst_context_set_automatically_merges(other, true, E));
    cst_results *theirs = company_fetch(other, c.employee, NULL, "number");
    CHECK_INT(2, get_int(object_at(theirs, 1), c.number));
    struct notes notes = {0}, merged = {0};
    cst_observation *tokens[6] = {0}, *none = NULL;
    for (uint32_t kind = CST_NOTIFICATION_WILL_SAVE; kind <= CST_NOTIFICATION_DID_MERGE_OBJECT_IDS; kind++)
        OK(cst_context_observe(c.context, kind, note_all, &notes, NULL, &tokens[kind], E));
    OK(cst_context_observe(other, CST_NOTIFICATION_DID_MERGE_OBJECT_IDS, note_all, &merged, NULL, &tokens[0], E));
    cst_object *eve = company_employee(&c, c.context, "Eve", 3);
    set(ada, c.name, value_text("Ada L."));
    OK(cst_context_delete(c.context, bob, E));
    save(c.context);
    expect_notes(&notes, "3+1~1-1*0!0;1+0~0-0*0!0;2+1~1-1*0!0;4+1~1-1*0!0;");
    OK(cst_context_process_pending_changes(other, E));
    CHECK_CONTAINS("5+1~1-1*0!0;", text_of_size(merged.lines, strlen(merged.lines)));
    OK(cst_object_refresh(ada, false, E));
    OK(cst_context_process_pending_changes(c.context, E));
    expect_notes(&notes, "3+0~0-0*1!0;");
    OK(cst_context_process_pending_changes(c.context, E));
    expect_notes(&notes, "");
    OK(cst_context_reset(c.context, E));
    expect_notes(&notes, "3+0~0-0*0!0 all;");
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_observe(c.context, 0, note_all, &notes, NULL, &none, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_observe(c.context, 6, note_all, &notes, NULL, &none, E));
    CHECK_CONTAINS("6 is not a notification; use a CST_NOTIFICATION_ constant", cst_error_message(check_error()));
    CHECK(none == NULL);
    for (int i = 0; i < 6; i++)
        OK(cst_release(tokens[i]));
    cst_release(theirs), cst_release(other), cst_release(ada), cst_release(bob), cst_release(eve);
    company_close(&c);
}

/* An observer of a to-many relationship receives the key path, the kind of change, and added and removed members. */
static void observers_receive_added_and_removed_members(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *place = company_insert(&c, c.context, c.department, c.department_name, "R&D");
    cst_object *people[3];
    for (int i = 0; i < 3; i++)
        people[i] = company_employee(&c, c.context, "x", i);
    struct recording h = {0};
    cst_observation *token = NULL;
    OK(cst_object_observe(place, text("employees"), CST_OBSERVE_INITIAL, record_change, &h, ended, &token, E));
    expect_changes(&h, "1 employees - 0;");
    OK(cst_object_add_member(place, c.employees, people[0], E));
    expect_changes(&h, "2 employees - 1;");
    OK(cst_object_add_members(place, c.employees, 2, people + 1, E));
    expect_changes(&h, "2 employees - 1;2 employees - 1;");
    OK(cst_object_remove_member(place, c.employees, people[0], E));
    expect_changes(&h, "3 employees 1 -;");
    CHECK_STATUS(CST_UNCHANGED, cst_object_remove_member(place, c.employees, people[0], E));
    expect_changes(&h, "");
    OK(cst_object_set_members(place, c.employees, 1, people, E));
    expect_changes(&h, "1 employees 2 1;");
    cst_observation *none = NULL;
    const uint32_t wrong[] = {1, 2, 16, CST_OBSERVE_INITIAL | 1};
    for (size_t i = 0; i < 4; i++) {
        CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                     cst_object_observe(place, text("employees"), wrong[i], record_change, &h, NULL, &none, E));
    }
    OK(cst_release(token));
    for (int i = 0; i < 3; i++)
        OK(cst_release(people[i]));
    OK(cst_release(place));
    company_close(&c);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(observers_receive_changes_of_values_members_and_key_paths);
    RUN(observers_receive_the_indexes_of_ordered_members);
    RUN(invalid_observers_are_refused);
    RUN(an_observer_can_reset_the_context_and_release_its_token);
    RUN(tokens_can_be_released_on_any_thread_and_outlive_their_context);
    RUN(a_save_posts_its_notifications_in_order);
    RUN(each_notification_lists_its_objects);
    RUN(observers_receive_added_and_removed_members);
    RUN(userdata_is_freed_when_the_context_is_closed);
    RUN(userdata_is_freed_when_the_context_is_released);
    RUN(userdata_is_freed_after_a_reset);
    RUN(userdata_is_freed_when_the_object_is_deleted);
    RUN(userdata_is_freed_when_the_observation_is_cancelled);
    return check_end();
}
