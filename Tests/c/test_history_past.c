/* The past of stores, the changes of an object, and the differences between two places.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "histories.h"

static struct company open_complete(const char *path) {
    return open_of_type("SQLite", path, CST_STORE_COMPLETE_HISTORY, 0);
}

static cst_coordinator *past_at(const struct company *c, int64_t number) {
    cst_history_token *token = token_at(c, number);
    cst_coordinator *past = NULL;
    OK(cst_coordinator_open_past(c->coordinator, token, 0, NULL, &past, E));
    OK(cst_release(token));
    return past;
}

static cst_context *context_on(cst_coordinator *coordinator) {
    cst_context *context = NULL;
    OK(cst_context_new(coordinator, CST_QUEUE_CALLER, &context, E));
    return context;
}

/* The employee of that number in a context; owned by the caller, NULL without one. */
static cst_object *employee_in(const struct company *c, cst_context *context, int64_t number) {
    char predicate[40];
    snprintf(predicate, sizeof predicate, "number == %lld", (long long)number);
    cst_results *found = company_fetch(context, c->employee, predicate, NULL);
    cst_object *object = NULL;
    if (cst_results_count(found) > 0) {
        OK(cst_results_get_object(found, 0, &object, E));
        cst_retain(object);
    }
    OK(cst_release(found));
    return object;
}

static bool is_known(const cst_object *object, cst_key key) {
    bool known = false;
    OK(cst_object_is_known(object, key, &known, E));
    return known;
}

static bool is_complete(cst_coordinator *coordinator) {
    bool complete = false;
    OK(cst_coordinator_is_past_complete(coordinator, &complete, E));
    return complete;
}

static void a_complete_history_restores_all_past_values(void) {
    struct company c = open_complete(check_path("a.sqlite"));
    fill(&c);
    cst_coordinator *past = past_at(&c, 3);
    CHECK(is_complete(past));
    cst_history_token *token = NULL;
    OK(cst_coordinator_copy_past_token(past, &token, E));
    CHECK_INT(3, number_in(token, c.store));
    OK(cst_release(token));
    CHECK_STATUS(CST_NOT_FOUND, cst_coordinator_copy_past_token(c.coordinator, &token, E));
    CHECK(token == NULL);
    CHECK(is_complete(c.coordinator));

    cst_context *context = context_on(past);
    CHECK_INT(2, company_count(context, c.employee, NULL));
    cst_object *ada = employee_in(&c, context, 1), *bob = employee_in(&c, context, 2);
    cst_value value;
    OK(cst_object_get(ada, c.notes, &value, E));
    CHECK_INT(CST_NULL, value.type);
    CHECK(is_known(ada, c.notes));
    OK(cst_object_get(bob, c.name, &value, E));
    CHECK_TEXT("Bob", value.as.string);
    /* It is for reading. */
    set(ada, c.notes, value_text("y"));
    CHECK_STATUS(CST_E_STORE_READ_ONLY, cst_context_save(context, E));
    OK(cst_context_rollback(context, E));
    OK(cst_release(ada));
    OK(cst_release(bob));
    OK(cst_release(context));
    OK(cst_release(past));
    company_close(&c);
}

static void an_incomplete_history_restores_only_unchanged_values(void) {
    struct company c = open_history(check_path("a.sqlite"));
    fill(&c);
    cst_coordinator *past = past_at(&c, 3);
    CHECK(!is_complete(past));
    cst_context *context = context_on(past);
    cst_object *ada = employee_in(&c, context, 1);
    cst_value value;
    OK(cst_object_get(ada, c.notes, &value, E));
    CHECK_INT(CST_NULL, value.type);
    CHECK(!is_known(ada, c.notes));
    CHECK(is_known(ada, c.name));
    bool known = true;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_is_known(ada, c.title, &known, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_is_known(ada, c.name, NULL, E));
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_object_is_known(NULL, c.name, &known, E));
    OK(cst_release(ada));
    OK(cst_release(context));
    OK(cst_release(past));
    company_close(&c);
}

static void the_past_is_opened_at_a_date(void) {
    struct company c = open_complete(check_path("a.sqlite"));
    fill(&c);
    cst_coordinator *past = NULL;
    OK(cst_coordinator_open_past_at(c.coordinator, INFINITY, 0, NULL, &past, E));
    cst_context *context = context_on(past);
    CHECK_INT(2, company_count(context, c.employee, NULL));
    OK(cst_release(context));
    OK(cst_release(past));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_coordinator_open_past_at(c.coordinator, 0, 0, NULL, &past, E));
    check_failed(134301, "begins with transaction 1");
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_coordinator_open_past_at(c.coordinator, NAN, 0, NULL, &past, E));
    CHECK_TEXT("date", cst_error_key(check_error()));
    CHECK(past == NULL);
    cst_history_token *late = token_at(&c, 99);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_coordinator_open_past(c.coordinator, late, 0, NULL, &past, E));
    check_failed(134301, "the last transaction is 6");
    OK(cst_release(late));
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_coordinator_open_past(c.coordinator, NULL, 0, NULL, &past, E));
    company_close(&c);
}

static void a_past_coordinator_outlives_its_source(void) {
    struct company c = open_complete(check_path("a.sqlite"));
    fill(&c);
    cst_coordinator *past = past_at(&c, 1);
    cst_retain(c.model);
    cst_model *model = c.model;
    cst_entity *employee = c.employee;
    company_close(&c);
    cst_context *context = context_on(past);
    CHECK_INT(1, company_count(context, employee, NULL));
    OK(cst_release(context));
    OK(cst_release(past));
    OK(cst_release(model));
}

/* ---- revisions ---- */

static size_t count_of_revisions(const cst_revisions *revisions) {
    size_t count = 99;
    OK(cst_revisions_count(revisions, &count, E));
    return count;
}

static const cst_revision *revision_at(const cst_revisions *revisions, size_t index) {
    const cst_revision *revision = NULL;
    OK(cst_revisions_at(revisions, index, &revision, E));
    return revision;
}

/* The index of the value of a key; the count without one. */
static size_t place_of(const cst_revision *revision, const char *key) {
    size_t place = 0;
    while (place < revision->value_count && strcmp(revision->values[place].key.data, key) != 0)
        place++;
    return place;
}

static void the_history_of_an_object_lists_its_revisions(void) {
    struct company c = open_complete(check_path("a.sqlite"));
    fill(&c);
    cst_object *ada = employee_in(&c, c.context, 1);
    cst_revisions *revisions = NULL;
    OK(cst_object_fetch_history(ada, &revisions, E));
    CHECK_INT(2, count_of_revisions(revisions));
    const cst_revision *inserted = revision_at(revisions, 0), *updated = revision_at(revisions, 1);
    CHECK_INT(CST_HISTORY_INSERT, inserted->kind);
    CHECK_INT(1, inserted->transaction);
    CHECK_TEXT("a", inserted->author);
    CHECK_TEXT("first", inserted->context_name);
    CHECK(inserted->entity == c.employee && inserted->timestamp > 0);
    CHECK_INT(CST_HISTORY_UPDATE, updated->kind);
    CHECK_INT(1, updated->value_count);
    CHECK_TEXT("notes", updated->values[0].key);
    CHECK(updated->values[0].has_old && updated->values[0].has_new);
    cst_value value;
    OK(cst_revisions_copy_value(revisions, 1, 0, true, &value, E));
    CHECK_INT(CST_NULL, value.type);
    OK(cst_revisions_copy_value(revisions, 1, 0, false, &value, E));
    CHECK_TEXT("x", value.as.string);
    cst_value_dispose(&value);
    const size_t name = place_of(inserted, "name");
    CHECK(name < inserted->value_count && !inserted->values[name].has_old);
    CHECK_STATUS(CST_NOT_FOUND, cst_revisions_copy_value(revisions, 0, name, true, &value, E));
    cst_object_id *id = NULL, *own = id_of(ada);
    OK(cst_revisions_copy_object_id(revisions, 1, &id, E));
    CHECK(same_uri(id, own));
    OK(cst_release(id));

    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_revisions_copy_value(revisions, 1, 1, true, &value, E));
    CHECK_CONTAINS("value is 1, but the change has 1 value;", cst_error_message(check_error()));
    const cst_revision *none = updated;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_revisions_at(revisions, 2, &none, E));
    CHECK_CONTAINS("index is 2, but there are 2 changes", cst_error_message(check_error()));
    CHECK(none == NULL);
    OK(cst_release(revisions));
    OK(cst_coordinator_fetch_object_history(c.coordinator, own, &revisions, E));
    CHECK_INT(2, count_of_revisions(revisions));
    OK(cst_release(revisions));
    OK(cst_release(own));
    OK(cst_release(ada));
    cst_object *unsaved = company_employee(&c, c.context, "Max", 9);
    OK(cst_object_fetch_history(unsaved, &revisions, E));
    CHECK_INT(0, count_of_revisions(revisions));
    OK(cst_release(revisions));
    OK(cst_release(unsaved));
    OK(cst_context_rollback(c.context, E));
    company_close(&c);
}

static void a_diff_lists_the_changes_between_two_tokens(void) {
    struct company c = open_complete(check_path("a.sqlite"));
    fill(&c);
    cst_history_token *from = token_at(&c, 2), *to = token_at(&c, 5);
    cst_revisions *revisions = NULL;
    OK(cst_coordinator_diff_history(c.coordinator, from, to, 0, NULL, &revisions, E));
    CHECK_INT(3, count_of_revisions(revisions)); /* the department, Ada's notes, Bob */
    const cst_revision *made = revision_at(revisions, 0), *gone = revision_at(revisions, 2);
    CHECK(made->entity == c.department && made->kind == CST_HISTORY_INSERT);
    CHECK_INT(0, made->transaction);
    CHECK(made->author.data == NULL && made->timestamp == 0);
    CHECK_INT(CST_HISTORY_DELETE, gone->kind);
    cst_value value;
    OK(cst_revisions_copy_value(revisions, 2, place_of(gone, "name"), true, &value, E));
    CHECK_TEXT("Bob", value.as.string);
    cst_value_dispose(&value);
    OK(cst_release(revisions));
    OK(cst_coordinator_diff_history(c.coordinator, to, NULL, 0, NULL, &revisions, E));
    CHECK_INT(1, count_of_revisions(revisions)); /* Eve */
    OK(cst_release(revisions));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_coordinator_diff_history(c.coordinator, to, from, 0, NULL, &revisions, E));
    CHECK_CONTAINS("is before its start", cst_error_message(check_error()));
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_coordinator_diff_history(c.coordinator, NULL, to, 0, NULL, &revisions, E));
    CHECK(revisions == NULL);
    OK(cst_release(from));
    OK(cst_release(to));
    company_close(&c);
}

static void conflicting_history_flags_are_refused(void) {
    struct company c = open_complete(check_path("a.sqlite"));
    cst_store *store = NULL;
    cst_store_options options = with_history(CST_STORE_COMPLETE_HISTORY | CST_STORE_DROP_OLD_VALUES);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_coordinator_add_store(c.coordinator, (cst_string){NULL, 0},
                                                                   text(check_path("b.sqlite")), &options, &store, E));
    CHECK_CONTAINS("CST_STORE_DROP_OLD_VALUES; set one of them", cst_error_message(check_error()));
    company_close(&c);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(a_complete_history_restores_all_past_values);
    RUN(an_incomplete_history_restores_only_unchanged_values);
    RUN(the_past_is_opened_at_a_date);
    RUN(a_past_coordinator_outlives_its_source);
    RUN(the_history_of_an_object_lists_its_revisions);
    RUN(a_diff_lists_the_changes_between_two_tokens);
    RUN(conflicting_history_flags_are_refused);
    return check_end();
}
