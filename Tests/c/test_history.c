/* Persistent history: tokens, transactions, cursors, merging, stores.
 *
 * SPDX-License-Identifier: MIT
 */
#include "histories.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- tokens */

static void a_new_store_has_a_token_and_no_transactions(void) {
    struct company c = open_history(check_path("a.sqlite"));
    cst_history_options options = all();
    cst_history_token *token = current(&c);
    CHECK_INT(0, number_in(token, c.store));
    CHECK_TEXT("", numbers_of(&c, NULL));
    options.after = token;
    CHECK_TEXT("", numbers_of(&c, &options));
    CHECK_INT(0, count_of(&c, &options));
    cst_results *ids = NULL;
    OK(cst_coordinator_fetch_history_ids(c.coordinator, NULL, &ids, E));
    CHECK_INT(0, cst_results_count(ids));
    /* Nothing is merged before the first transaction. */
    cst_history_cursor *cursor = read_with(&c, &options);
    OK(cst_context_merge_history(c.context, cursor, E));
    CHECK(at_end(cursor));
    OK(cst_context_merge_history(c.context, cursor, E));
    cst_history_token *read = token_of(cursor);
    CHECK_INT(0, order(token, read));
    OK(cst_release(read));
    OK(cst_release(cursor));
    OK(cst_release(ids));
    OK(cst_release(token));
    company_close(&c);
}

static void a_token_survives_serialisation_as_json(void) {
    struct company c = open_history(check_path("a.sqlite"));
    hire(&c, "Ada", 1);
    hire(&c, "Bob", 2);
    cst_history_token *token = current(&c), *made = token_at(&c, 2), *read = NULL, *other = token_at(&c, 1);
    cst_buffer json = {0}, again = {0};
    OK(cst_history_token_copy_json(token, &json, E));
    OK(cst_history_token_new(text_of_size(json.data, json.size), &read, E));
    OK(cst_history_token_copy_json(made, &again, E));
    CHECK_TEXT(json.data, text_of_size(again.data, again.size));
    char expected[128];
    snprintf(expected, sizeof expected, "{\"%s\": 2}", cst_store_identifier(c.store).data);
    CHECK_TEXT(expected, text_of_size(json.data, json.size));
    CHECK_INT(0, order(token, read));
    CHECK_INT(0, order(token, made));
    CHECK_INT(2, number_in(read, c.store));
    CHECK_INT(1, order(read, other));
    cst_history_options options = all();
    options.after = other;
    CHECK_TEXT("2", numbers_of(&c, &options));
    /* The buffer is reused, and a token survives its coordinator. */
    OK(cst_history_token_copy_json(other, &json, E));
    company_close(&c);
    OK(cst_history_token_copy_json(read, &json, E));
    CHECK_TEXT(expected, text_of_size(json.data, json.size));
    cst_buffer_dispose(&json);
    cst_buffer_dispose(&again);
    OK(cst_release(token));
    OK(cst_release(made));
    OK(cst_release(read));
    OK(cst_release(other));
}

static void a_text_that_is_not_a_token_is_refused(void) {
    static const char *const texts[] = {
        "",
        "null",
        "2",
        "[]",
        "\"x\"",
        "{",
        "{\"0F1A5A1C-0000-4000-8000-000000000001\": 1",
        "{\"0F1A5A1C-0000-4000-8000-000000000001\": 1} x",
        "{\"store\": 1}",
        "{\"\": 1}",
        "{\"0F1A5A1C-0000-4000-8000-000000000001\": -1}",
        "{\"0F1A5A1C-0000-4000-8000-000000000001\": 1.5}",
        "{\"0F1A5A1C-0000-4000-8000-000000000001\": \"1\"}",
        "{\"0F1A5A1C-0000-4000-8000-000000000001\": null}",
        "{\"0F1A5A1C-0000-4000-8000-000000000001\": true}",
        "{\"0F1A5A1C-0000-4000-8000-000000000001\": 9223372036854775808}",
        "{\"0F1A5A1C-0000-4000-8000-000000000001\": 1, \"0F1A5A1C-0000-4000-8000-000000000001\": 2}",
    };
    cst_history_token *token = NULL;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_history_token_new(text(texts[i]), &token, E));
        CHECK(token == NULL && cst_error_message(check_error()).size > 20);
    }
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_history_token_new(text("{\"store\": 1}"), &token, E));
    CHECK_CONTAINS("\"store\" is not a UUID", cst_error_message(check_error()));
    CHECK_CONTAINS("cst_history_token_copy_json", cst_error_message(check_error()));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_history_token_new((cst_string){NULL, 0}, &token, E));
    CHECK_STATUS(CST_E_INVALID_UTF8, cst_history_token_new(text_of_size("{\"\xff\": 1}", 8), &token, E));
    /* No store, and the highest number. */
    cst_history_token *none = token_from("{}");
    cst_history_token *most = token_from("{\"0F1A5A1C-0000-4000-8000-000000000001\": 9223372036854775807}");
    int64_t number = 0;
    OK(cst_history_token_transaction(most, text("0F1A5A1C-0000-4000-8000-000000000001"), &number, E));
    CHECK_INT(INT64_MAX, number);
    CHECK_INT(-1, order(none, most));
    OK(cst_release(none));
    OK(cst_release(most));

    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_history_token_new_at(text("store"), 1, &token, E));
    CHECK_TEXT("store_identifier", cst_error_key(check_error()));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                 cst_history_token_new_at(text("0F1A5A1C-0000-4000-8000-000000000001"), -1, &token, E));
    CHECK_TEXT("transaction", cst_error_key(check_error()));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_history_token_new_at((cst_string){NULL, 0}, 1, &token, E));
    CHECK(token == NULL);
}

static void tokens_are_ordered_by_their_transactions(void) {
#define ONE "0F1A5A1C-0000-4000-8000-000000000001"
#define TWO "0F1A5A1C-0000-4000-8000-000000000002"
    cst_history_token *one_1 = token_from("{\"" ONE "\": 1}"), *one_2 = token_from("{\"" ONE "\": 2}");
    cst_history_token *two_1 = token_from("{\"" TWO "\": 1}");
    cst_history_token *both_1 = token_from("{\"" ONE "\": 1, \"" TWO "\": 1}");
    cst_history_token *both_2 = token_from("{\"" TWO "\": 1, \"" ONE "\": 2}");
    cst_history_token *mixed = token_from("{\"" ONE "\": 3, \"" TWO "\": 0}");
    CHECK_INT(-1, order(one_1, one_2));
    CHECK_INT(1, order(one_2, one_1));
    CHECK_INT(0, order(one_1, one_1));
    CHECK_INT(2, order(one_1, two_1));
    /* A store that is missing from one token counts as at its beginning. */
    CHECK_INT(-1, order(one_1, both_1));
    CHECK_INT(1, order(both_1, two_1));
    CHECK_INT(-1, order(both_1, both_2));
    CHECK_INT(2, order(both_2, mixed));
    CHECK_INT(1, order(mixed, one_2));
    int64_t number = 7;
    CHECK_STATUS(CST_NOT_FOUND, cst_history_token_transaction(one_1, text(TWO), &number, E));
    CHECK_INT(0, number);
    CHECK_STATUS(CST_NOT_FOUND, cst_history_token_transaction(one_1, text("not a UUID"), &number, E));
    OK(cst_history_token_transaction(mixed, text(TWO), &number, E));
    CHECK_INT(0, number);
    cst_history_token *tokens[] = {one_1, one_2, two_1, both_1, both_2, mixed};
    for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++)
        OK(cst_release(tokens[i]));
#undef ONE
#undef TWO
}

static void coordinators_of_one_file_have_equal_tokens(void) {
    const char *path = check_path("a.sqlite");
    struct company a = open_history(path), b = open_history(path);
    for (int i = 0; i < 3; i++) {
        hire(i % 2 ? &a : &b, "Ada", i);
        cst_history_token *one = current(&a), *other = current(&b);
        CHECK_INT(0, order(one, other));
        CHECK_INT(i + 1, number_in(other, a.store));
        OK(cst_release(one));
        OK(cst_release(other));
    }
    company_close(&a);
    company_close(&b);
}

struct seen_saves {
    int calls;
    int64_t number;
    cst_store *store;
};

static void note_save(void *userdata, cst_context *context, uint32_t notification, const cst_changes *changes) {
    struct seen_saves *seen = userdata;
    (void)notification, (void)changes;
    cst_history_token *token = NULL;
    if (CHECK_STATUS(CST_OK, cst_context_copy_history_token(context, &token, E)))
        CHECK_STATUS(CST_OK, cst_history_token_transaction(token, cst_store_identifier(seen->store), &seen->number, E));
    CHECK_STATUS(CST_OK, cst_release(token));
    seen->calls++;
}

static void a_save_observer_can_read_the_token_of_the_save(void) {
    struct company c = open_history(check_path("a.sqlite"));
    cst_context *other = company_context(&c, CST_QUEUE_CALLER);
    struct seen_saves seen = {0, 0, c.store};
    cst_observation *observation = NULL;
    cst_history_token *token = NULL;
    OK(cst_context_observe(c.context, CST_NOTIFICATION_DID_SAVE, note_save, &seen, NULL, &observation, E));
    CHECK_STATUS(CST_NOT_FOUND, cst_context_copy_history_token(c.context, &token, E));
    CHECK(token == NULL);
    for (int i = 1; i <= 3; i++) {
        hire(&c, "Ada", i);
        CHECK_INT(i, seen.calls);
        CHECK_INT(2 * i - 1, seen.number);
        OK(cst_release(company_employee(&c, other, "Bob", i)));
        save(other);
    }
    /* The token is that of this context, also after saves of other contexts. */
    OK(cst_context_copy_history_token(c.context, &token, E));
    CHECK_INT(5, number_in(token, c.store));
    OK(cst_release(token));
    OK(cst_context_copy_history_token(other, &token, E));
    CHECK_INT(6, number_in(token, c.store));
    OK(cst_release(token));
    OK(cst_release(observation));
    OK(cst_release(other));
    company_close(&c);
}

static void a_context_has_no_token_until_it_writes(void) {
    struct company c = open_history(check_path("a.sqlite"));
    cst_history_token *token = NULL;
    cst_context *idle = company_context(&c, CST_QUEUE_CALLER), *child = NULL;
    hire(&c, "Ada", 1);
    CHECK_STATUS(CST_NOT_FOUND, cst_context_copy_history_token(idle, &token, E));
    save(idle);
    CHECK_STATUS(CST_NOT_FOUND, cst_context_copy_history_token(idle, &token, E));
    /* The parent writes the changes that a child saved. */
    OK(cst_context_new_child(idle, CST_QUEUE_CALLER, &child, E));
    OK(cst_release(company_employee(&c, child, "Bob", 2)));
    save(child);
    CHECK_STATUS(CST_NOT_FOUND, cst_context_copy_history_token(child, &token, E));
    CHECK_STATUS(CST_NOT_FOUND, cst_context_copy_history_token(idle, &token, E));
    save(idle);
    OK(cst_context_copy_history_token(idle, &token, E));
    CHECK_INT(2, number_in(token, c.store));
    OK(cst_release(token));
    OK(cst_release(child));
    OK(cst_release(idle));
    company_close(&c);
}

/* A batch request that finds no rows writes no transaction. */
static void a_batch_request_without_rows_has_no_token(void) {
    struct company c = open_history(check_path("a.sqlite"));
    cst_context *idle = company_context(&c, CST_QUEUE_CALLER);
    hire(&c, "Ada", 1);
    cst_fetch_request *nothing = NULL;
    cst_predicate *never = parse("number > 99", 0, NULL);
    cst_batch_request *deletion = NULL;
    OK(cst_fetch_request_new(c.employee, &nothing, E));
    OK(cst_fetch_request_set_predicate(nothing, never, E));
    OK(cst_batch_delete_new(nothing, &deletion, E));
    uint64_t count = 9;
    OK(cst_context_execute_batch(idle, deletion, &count, NULL, E));
    CHECK_INT(0, count);
    CHECK_INT(1, count_of(&c, NULL));
    cst_history_token *token = NULL;
    CHECK_STATUS(CST_NOT_FOUND, cst_context_copy_history_token(idle, &token, E));
    OK(cst_release(token));
    OK(cst_release(deletion));
    OK(cst_release(never));
    OK(cst_release(nothing));
    OK(cst_release(idle));
    company_close(&c);
}

/* ---- transactions */

static void transactions_describe_saves(void) {
    struct company c = open_history(check_path("a.sqlite"));
    sign(c.context, "Grace", "editor");
    cst_object *ada = company_employee(&c, c.context, "Ada", 1), *bob = company_employee(&c, c.context, "Bob", 2);
    save(c.context);
    sign(c.context, NULL, NULL);
    set(ada, c.notes, value_text("mathematician"));
    set(ada, c.level, value_int(3));
    save(c.context);
    static const uint8_t uuid[16] = {1, 2, 3};
    set(bob, ticket, value_uuid(uuid));
    set(bob, badge_name, value_text("B-7"));
    OK(cst_release(company_insert(&c, c.context, c.department, c.department_name, "Research")));
    save(c.context);
    OK(cst_context_delete(c.context, bob, E));
    set(ada, c.manager, value_object(ada));
    save(c.context);

    cst_object_id *ada_id = id_of(ada);
    cst_history_cursor *cursor = read_with(&c, NULL);
    const cst_history_transaction *t = next(cursor);
    CHECK_INT(1, t->number);
    CHECK_TEXT("Grace", t->author);
    CHECK_TEXT("editor", t->context_name);
    CHECK_TEXT("test_history", t->process_identifier);
    CHECK_TEXT("test_history", t->bundle_identifier);
    CHECK_TEXT(cst_store_identifier(c.store).data, t->store_identifier);
    double time = t->timestamp;
    CHECK(time > 780000000 && time < 4000000000.0);
    CHECK_INT(2, t->change_count);
    for (size_t i = 0; i < 2; i++) {
        CHECK_INT(i + 1, t->changes[i].number);
        CHECK_INT(CST_HISTORY_INSERT, t->changes[i].kind);
        CHECK(t->changes[i].entity == c.employee && t->changes[i].reserved == 0);
        CHECK_INT(0, t->changes[i].property_count + t->changes[i].tombstone_count);
    }
    t = next(cursor);
    CHECK_INT(2, t->number);
    CHECK(t->author.data == NULL && t->context_name.data == NULL);
    CHECK(t->timestamp >= time);
    time = t->timestamp;
    CHECK_INT(1, t->change_count);
    CHECK_INT(CST_HISTORY_UPDATE, t->changes[0].kind);
    CHECK_INT(3, t->changes[0].number);
    CHECK_INT(2, t->changes[0].property_count);
    CHECK(has_property(&t->changes[0], "notes") && has_property(&t->changes[0], "level"));
    cst_object_id *id = NULL;
    OK(cst_history_cursor_copy_object_id(cursor, 0, &id, E));
    CHECK(cst_object_id_equal(id, ada_id));
    OK(cst_release(id));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_history_cursor_copy_object_id(cursor, 1, &id, E));
    CHECK_TEXT("change", cst_error_key(check_error()));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_history_cursor_copy_object_id(cursor, SIZE_MAX, &id, E));
    t = next(cursor);
    CHECK_INT(3, t->number);
    CHECK(t->timestamp >= time);
    CHECK_INT(2, t->change_count);
    CHECK_INT(CST_HISTORY_INSERT, t->changes[0].kind); /* insertions come first */
    CHECK(t->changes[0].entity == c.department);
    CHECK_INT(1, t->changes[0].primary_key);
    CHECK(has_property(&t->changes[1], "ticket") && has_property(&t->changes[1], "badgeName"));
    t = next(cursor);
    CHECK_INT(2, t->change_count);
    const cst_history_change *update = change_of(t, c.employee, CST_HISTORY_UPDATE);
    const cst_history_change *deletion = change_of(t, c.employee, CST_HISTORY_DELETE);
    REQUIRE(update && deletion);
    CHECK(deletion > update);
    CHECK(has_property(update, "manager") && has_property(update, "reports"));
    CHECK_INT(0, update->tombstone_count);
    CHECK_INT(0, deletion->property_count);
    CHECK_INT(2, deletion->tombstone_count);
    CHECK_TEXT("badgeName", deletion->tombstone_keys[0]);
    CHECK_INT(CST_STRING, deletion->tombstone_values[0].type);
    CHECK_TEXT("B-7", deletion->tombstone_values[0].as.string);
    CHECK_TEXT("ticket", deletion->tombstone_keys[1]);
    CHECK_INT(CST_UUID, deletion->tombstone_values[1].type);
    CHECK(memcmp(uuid, deletion->tombstone_values[1].as.uuid, 16) == 0);
    /* The ID of a deleted object. */
    cst_object_id *bob_id = NULL;
    OK(cst_history_cursor_copy_object_id(cursor, 1, &bob_id, E));
    cst_object *gone = NULL;
    CHECK_STATUS(CST_E_OBJECT_GONE, cst_context_existing_object(c.context, bob_id, &gone, E));
    CHECK(at_end(cursor) && at_end(cursor));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_history_cursor_copy_object_id(cursor, 0, &id, E));
    OK(cst_release(bob_id));
    OK(cst_release(cursor));
    OK(cst_release(ada_id));
    OK(cst_release(ada));
    OK(cst_release(bob));
    company_close(&c);
}

static void a_tombstone_omits_nil_values(void) {
    struct company c = open_history(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1), *bob = company_employee(&c, c.context, "Bob", 2);
    cst_object *place = company_insert(&c, c.context, c.department, c.department_name, "Research");
    set(ada, badge_name, value_text(""));
    save(c.context);
    OK(cst_context_delete(c.context, ada, E));
    OK(cst_context_delete(c.context, bob, E));
    OK(cst_context_delete(c.context, place, E));
    save(c.context);
    cst_history_token *first = token_at(&c, 1);
    cst_history_options options = all();
    options.after = first;
    cst_history_cursor *cursor = read_with(&c, &options);
    const cst_history_transaction *t = next(cursor);
    CHECK_INT(3, t->change_count);
    size_t with = 0;
    for (size_t i = 0; i < t->change_count; i++) {
        CHECK_INT(CST_HISTORY_DELETE, t->changes[i].kind);
        if (t->changes[i].tombstone_count == 0) continue;
        with++;
        CHECK_INT(1, t->changes[i].tombstone_count);
        CHECK_TEXT("badgeName", t->changes[i].tombstone_keys[0]);
        CHECK_TEXT("", t->changes[i].tombstone_values[0].as.string);
    }
    CHECK_INT(1, with);
    OK(cst_release(cursor));
    OK(cst_release(first));
    OK(cst_release(ada));
    OK(cst_release(bob));
    OK(cst_release(place));
    company_close(&c);
}

static void delete_rules_are_recorded(void) {
    struct company c = open_history(check_path("a.sqlite"));
    cst_object *project = company_insert(&c, c.context, c.project, c.title, "P");
    cst_object *task = company_insert(&c, c.context, c.task, c.task_title, "T");
    cst_object *ada = company_employee(&c, c.context, "Ada", 1), *bob = company_employee(&c, c.context, "Bob", 2);
    set(task, c.to_project, value_object(project));
    set(bob, c.manager, value_object(ada));
    OK(cst_object_add_member(project, c.reviewers, bob, E));
    save(c.context);
    OK(cst_context_delete(c.context, project, E));
    OK(cst_context_delete(c.context, ada, E));
    save(c.context);
    cst_history_cursor *cursor = read_with(&c, NULL);
    CHECK_INT(4, next(cursor)->change_count);
    const cst_history_transaction *t = next(cursor);
    CHECK(change_of(t, c.project, CST_HISTORY_DELETE) != NULL);
    CHECK(change_of(t, c.task, CST_HISTORY_DELETE) != NULL); /* cascade */
    CHECK(change_of(t, c.employee, CST_HISTORY_DELETE) != NULL);
    const cst_history_change *nullified = change_of(t, c.employee, CST_HISTORY_UPDATE);
    REQUIRE(nullified);
    CHECK(has_property(nullified, "manager") && has_property(nullified, "reviews"));
    CHECK_INT(4, t->change_count);
    CHECK(at_end(cursor));
    OK(cst_release(cursor));
    OK(cst_release(project));
    OK(cst_release(task));
    OK(cst_release(ada));
    OK(cst_release(bob));
    company_close(&c);
}

static void unsaved_changes_are_not_recorded(void) {
    struct company c = open_history(check_path("a.sqlite"));
    cst_object *brief = company_employee(&c, c.context, "Brief", 1);
    OK(cst_context_process_pending_changes(c.context, E));
    OK(cst_context_delete(c.context, brief, E));
    save(c.context);
    CHECK_TEXT("", numbers_of(&c, NULL));
    OK(cst_release(company_employee(&c, c.context, "Ada", 1)));
    OK(cst_context_rollback(c.context, E));
    save(c.context);
    CHECK_TEXT("", numbers_of(&c, NULL));
    OK(cst_release(brief));
    company_close(&c);
}

/* An equal value is not a change: it is not in the mask of properties, and without other changes neither a row nor a
 * transaction is written. */
static void equal_values_are_not_recorded(void) {
    struct company c = open_history(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    set(ada, c.level, value_int(3));
    save(c.context);
    cst_history_token *before = NULL, *after = NULL;
    OK(cst_context_copy_history_token(c.context, &before, E));

    bool changes = true;
    set(ada, c.level, value_int(4));
    set(ada, c.level, value_int(3));
    set(ada, c.name, value_text("Ada"));
    CHECK(state(ada) & CST_OBJECT_HAS_CHANGES);
    OK(cst_context_has_persistent_changes(c.context, &changes, E));
    CHECK(!changes);
    save(c.context);
    CHECK(!(state(ada) & CST_OBJECT_HAS_CHANGES));
    CHECK_TEXT("1", numbers_of(&c, NULL));
    OK(cst_context_copy_history_token(c.context, &after, E));
    CHECK_INT(0, order(before, after));

    set(ada, c.level, value_int(5));
    set(ada, c.name, value_text("Ada"));
    save(c.context);
    cst_history_cursor *cursor = read_with(&c, NULL);
    CHECK_INT(1, next(cursor)->number);
    const cst_history_transaction *t = next(cursor);
    CHECK_INT(1, t->change_count);
    CHECK_INT(1, t->changes[0].property_count);
    CHECK(has_property(&t->changes[0], "level"));
    CHECK(at_end(cursor));
    OK(cst_release(cursor));
    OK(cst_release(before));
    OK(cst_release(after));
    OK(cst_release(ada));
    company_close(&c);
}

static void batch_requests_are_recorded_row_by_row(void) {
    struct company c = open_history(check_path("a.sqlite"));
    sign(c.context, "importer", "batch");
    cst_batch_request *insertion = NULL, *update = NULL, *deletion = NULL;
    const cst_key keys[] = {c.name, c.number};
    const cst_value values[] = {value_text("Ada"), value_int(1),      value_text("Bob"),
                                value_int(2),      value_text("Eve"), value_int(3)};
    OK(cst_batch_insert_new(c.employee, &insertion, E));
    OK(cst_batch_insert_set_rows(insertion, 3, 2, keys, values, E));
    OK(cst_context_execute_batch(c.context, insertion, NULL, NULL, E));
    OK(cst_batch_update_new(c.employee, &update, E));
    cst_predicate *some = parse("number > 1", 0, NULL);
    const cst_value level = value_int(7);
    OK(cst_batch_update_set_predicate(update, some, E));
    OK(cst_batch_update_set(update, text("level"), &level, E));
    OK(cst_context_execute_batch(c.context, update, NULL, NULL, E));
    cst_history_token *token = NULL;
    OK(cst_context_copy_history_token(c.context, &token, E));
    CHECK_INT(2, number_in(token, c.store));
    cst_fetch_request *everybody = company_by_number(&c);
    OK(cst_batch_delete_new(everybody, &deletion, E));
    OK(cst_context_execute_batch(c.context, deletion, NULL, NULL, E));
    cst_history_cursor *cursor = read_with(&c, NULL);
    static const size_t counts[] = {3, 2, 3};
    for (uint32_t kind = 0; kind < 3; kind++) {
        const cst_history_transaction *t = next(cursor);
        CHECK_TEXT("importer", t->author);
        CHECK_TEXT("batch", t->context_name);
        CHECK_INT(counts[kind], t->change_count);
        for (size_t i = 0; i < t->change_count; i++) {
            CHECK_INT(kind, t->changes[i].kind);
            CHECK_INT(kind == CST_HISTORY_UPDATE, t->changes[i].property_count);
        }
        if (kind == CST_HISTORY_UPDATE) CHECK_TEXT("level", t->changes[0].properties[0]);
    }
    CHECK(at_end(cursor));
    OK(cst_release(cursor));
    OK(cst_release(token));
    OK(cst_release(everybody));
    OK(cst_release(some));
    OK(cst_release(insertion));
    OK(cst_release(update));
    OK(cst_release(deletion));
    company_close(&c);
}

/* ---- cursors */

static void a_cursor_continues_after_its_end_when_transactions_are_added(void) {
    struct company c = open_history(check_path("a.sqlite"));
    cst_history_cursor *cursor = read_with(&c, NULL);
    CHECK(at_end(cursor));
    for (int i = 1; i <= 3; i++) {
        hire(&c, "Ada", i);
        CHECK_INT(i, next(cursor)->number);
        CHECK(at_end(cursor));
        CHECK(at_end(cursor));
    }
    hire(&c, "Bob", 4);
    hire(&c, "Eve", 5);
    CHECK_INT(4, next(cursor)->number);
    hire(&c, "Max", 6);
    CHECK_INT(5, next(cursor)->number);
    CHECK_INT(6, next(cursor)->number);
    CHECK(at_end(cursor));
    OK(cst_release(cursor));
    company_close(&c);
}

static void the_token_of_a_cursor_marks_its_position(void) {
    struct company c = open_history(check_path("a.sqlite"));
    fill(&c);
    cst_history_options options = all();
    cst_predicate *predicate = parse("author == 'a'", 0, NULL);
    options.predicate = predicate;
    cst_history_cursor *cursor = read_with(&c, &options);
    cst_history_token *token = token_of(cursor);
    CHECK_INT(0, number_in(token, c.store)); /* the beginning */
    OK(cst_release(token));
    CHECK_INT(1, next(cursor)->number);
    token = token_of(cursor);
    CHECK_INT(1, number_in(token, c.store));
    OK(cst_release(token));
    CHECK_INT(4, next(cursor)->number);
    CHECK(at_end(cursor));
    token = token_of(cursor);
    CHECK_INT(6, number_in(token, c.store)); /* excluded transactions count as read */
    OK(cst_release(cursor));
    hire(&c, "Max", 9);
    options.predicate = NULL;
    options.after = token;
    CHECK_TEXT("7", numbers_of(&c, &options));
    OK(cst_release(token));
    /* With a date, reading begins before the first transaction that matches. */
    options.after = NULL;
    options.has_after_date = true;
    options.after_date = INFINITY;
    cursor = read_with(&c, &options);
    token = token_of(cursor);
    CHECK_INT(7, number_in(token, c.store));
    OK(cst_release(token));
    OK(cst_release(cursor));
    OK(cst_release(predicate));
    company_close(&c);
}

static void a_transaction_is_valid_until_the_next_call(void) {
    struct company c = open_history(check_path("a.sqlite"));
    fill(&c);
    cst_history_cursor *cursor = read_with(&c, NULL), *other = read_with(&c, NULL);
    const cst_history_transaction *t = next(cursor);
    CHECK_INT(2, (next(other), next(other)->number));
    cst_history_token *token = token_of(cursor);
    cst_object_id *id = NULL;
    OK(cst_history_cursor_copy_object_id(cursor, 0, &id, E));
    hire(&c, "Max", 9);
    OK(cst_context_merge_history(c.context, cursor, E));
    CHECK_INT(1, t->number);
    CHECK_TEXT("a", t->author);
    CHECK_INT(1, t->change_count);
    CHECK(t->changes[0].entity == c.employee);
    OK(cst_release(other));
    CHECK_TEXT("first", t->context_name);
    OK(cst_release(cursor));
    /* Its results remain valid. */
    CHECK_INT(1, number_in(token, c.store));
    cst_object *ada = NULL;
    OK(cst_context_existing_object(c.context, id, &ada, E));
    CHECK_TEXT("Ada", get_text(ada, c.name));
    OK(cst_release(ada));
    OK(cst_release(id));
    OK(cst_release(token));
    company_close(&c);
}

static void a_cursor_outlives_the_handles_of_its_stores(void) {
    struct company c = open_history(check_path("a.sqlite"));
    fill(&c);
    cst_history_cursor *cursor = read_with(&c, NULL);
    company_close(&c);
    for (int i = 1; i <= 6; i++)
        CHECK_INT(i, next(cursor)->number);
    CHECK(at_end(cursor));
    cst_entity *entity = NULL;
    OK(cst_release(cursor));
    (void)entity;
    const cst_history_transaction *t = NULL;
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_history_cursor_next(cursor, &t, E));
}

struct writer {
    struct company company;
    int saves;
};

static void *write_many(void *argument) {
    const struct writer *writer = argument;
    cst_context *context = NULL;
    CHECK_STATUS(CST_OK, cst_context_new(writer->company.coordinator, CST_QUEUE_CALLER, &context, E));
    for (int i = 0; i < writer->saves; i++) {
        cst_object *object = NULL;
        const cst_value name = value_text("Ada");
        CHECK_STATUS(CST_OK, cst_context_insert(context, writer->company.employee, &object, E));
        CHECK_STATUS(CST_OK, cst_object_set(object, writer->company.name, &name, E));
        CHECK_STATUS(CST_OK, cst_context_save(context, E));
        CHECK_STATUS(CST_OK, cst_release(object));
    }
    CHECK_STATUS(CST_OK, cst_release(context));
    return NULL;
}

static void a_cursor_reads_transactions_while_other_threads_save(void) {
    struct company c = open_history(check_path("a.sqlite"));
    struct writer writers[2] = {{c, 150}, {c, 150}};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        REQUIRE(pthread_create(&threads[i], NULL, write_many, &writers[i]) == 0);
    cst_history_options options = all();
    options.batch_size = 7;
    cst_history_cursor *cursor = read_with(&c, &options);
    int64_t last = 0;
    double time = 0;
    while (last < 300) {
        const cst_history_transaction *t = NULL;
        const cst_status status = cst_history_cursor_next(cursor, &t, E);
        if (status == CST_END) {
            usleep(200);
            continue;
        }
        REQUIRE(status == CST_OK);
        CHECK_INT(last + 1, t->number);
        CHECK(t->timestamp >= time);
        last = t->number;
        time = t->timestamp;
    }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    CHECK(at_end(cursor));
    OK(cst_release(cursor));
    company_close(&c);
}

/* ---- IDs and merging */

static void changed_ids_are_listed_once(void) {
    struct company c = open_history(check_path("a.sqlite"));
    fill(&c);
    cst_results *ids = NULL;
    OK(cst_coordinator_fetch_history_ids(c.coordinator, NULL, &ids, E));
    CHECK_INT(4, cst_results_count(ids)); /* Ada, Bob, Research, Eve */
    int gone = 0;
    for (size_t i = 0; i < 4; i++) {
        cst_object_id *id = NULL;
        cst_object *object = NULL;
        OK(cst_results_copy_id(ids, i, &id, E));
        gone += cst_context_existing_object(c.context, id, &object, E) == CST_E_OBJECT_GONE;
        OK(cst_release(object));
        OK(cst_release(id));
    }
    CHECK_INT(1, gone);
    OK(cst_release(ids));
    cst_history_options options = all();
    cst_predicate *predicate = parse("changeType == 1", 0, NULL);
    options.subject = CST_HISTORY_CHANGES;
    options.predicate = predicate;
    OK(cst_coordinator_fetch_history_ids(c.coordinator, &options, &ids, E));
    CHECK_INT(1, cst_results_count(ids));
    OK(cst_release(ids));
    /* A sort descriptor puts the latest first. */
    cst_sort sort = {text("transactionNumber"), CST_SORT_DESCENDING, 0};
    options = all();
    options.sort = &sort;
    options.sort_count = 1;
    OK(cst_coordinator_fetch_history_ids(c.coordinator, &options, &ids, E));
    CHECK_INT(4, cst_results_count(ids));
    cst_object_id *id = NULL;
    OK(cst_results_copy_id(ids, 0, &id, E));
    cst_object *eve = NULL;
    OK(cst_context_existing_object(c.context, id, &eve, E));
    CHECK_TEXT("Eve", get_text(eve, c.name));
    OK(cst_release(eve));
    OK(cst_release(id));
    OK(cst_release(ids));
    OK(cst_release(predicate));
    company_close(&c);
}

/* A context follows a context of another coordinator, with a history cursor of its own coordinator or of the other
 * one. */
static void follow(bool own_cursor) {
    const char *path = check_path(own_cursor ? "own.sqlite" : "other.sqlite");
    struct company writer = open_history(path), reader = open_history(path);
    cst_object *ada = company_employee(&writer, writer.context, "Ada", 30), *bob = NULL;
    bob = company_employee(&writer, writer.context, "Bob", 40);
    save(writer.context);
    cst_results *seen = company_fetch(reader.context, reader.employee, NULL, "number");
    cst_object *shown = object_at(seen, 0), *deleted = object_at(seen, 1);
    CHECK_INT(30, get_int(shown, reader.number));
    CHECK_INT(40, get_int(deleted, reader.number));
    cst_history_options options = all();
    cst_history_token *start = current(&reader);
    options.after = start;
    cst_history_cursor *cursor = read_with(own_cursor ? &reader : &writer, &options);
    CHECK(at_end(cursor));

    set(ada, writer.number, value_int(31));
    save(writer.context);
    CHECK_INT(30, get_int(shown, reader.number)); /* nothing before the merge */
    CHECK_INT(1, next(cursor)->change_count);
    CHECK_INT(30, get_int(shown, reader.number));
    OK(cst_context_merge_history(reader.context, cursor, E));
    CHECK_INT(31, get_int(shown, reader.number));
    CHECK_TEXT("Ada", get_text(shown, reader.name));

    cst_object *eve = company_employee(&writer, writer.context, "Eve", 50);
    OK(cst_context_delete(writer.context, bob, E));
    save(writer.context);
    const cst_history_transaction *t = next(cursor);
    CHECK_INT(2, t->change_count);
    cst_object_id *id = NULL, *eve_id = id_of(eve);
    OK(cst_history_cursor_copy_object_id(cursor, 0, &id, E));
    CHECK(same_uri(id, eve_id));
    CHECK(t->changes[0].entity == (own_cursor ? reader.employee : writer.employee));
    OK(cst_context_merge_history(reader.context, cursor, E));
    CHECK(state(deleted) & CST_OBJECT_DELETED || state(deleted) & CST_OBJECT_FAULT);
    CHECK(!has_changes(reader.context));
    CHECK_INT(2, company_count(reader.context, reader.employee, NULL));
    /* A change of the reader's own stays on top. */
    set(shown, reader.notes, value_text("mine"));
    set(ada, writer.number, value_int(32));
    set(ada, writer.notes, value_text("theirs"));
    save(writer.context);
    next(cursor);
    OK(cst_context_merge_history(reader.context, cursor, E));
    OK(cst_context_merge_history(reader.context, cursor, E)); /* again */
    CHECK_INT(32, get_int(shown, reader.number));
    CHECK_TEXT("mine", get_text(shown, reader.notes));
    save(reader.context);
    CHECK_INT(4, next(cursor)->number + (int64_t)0 - 1);
    CHECK(at_end(cursor));
    OK(cst_context_merge_history(reader.context, cursor, E)); /* nothing at the end */

    OK(cst_release(id));
    OK(cst_release(eve_id));
    OK(cst_release(eve));
    OK(cst_release(ada));
    OK(cst_release(bob));
    OK(cst_release(cursor));
    OK(cst_release(start));
    OK(cst_release(seen));
    company_close(&reader);
    company_close(&writer);
}

static void a_context_merges_the_history_of_its_coordinator(void) { follow(true); }
static void a_context_merges_the_history_of_another_coordinator(void) { follow(false); }

static void *merge_elsewhere(void *argument) {
    void **handles = argument;
    cst_error *error = NULL;
    CHECK_INT(CST_E_WRONG_THREAD, cst_context_merge_history(handles[0], handles[1], &error));
    cst_release(error);
    return NULL;
}

static void merging_history_requires_the_queue_of_the_context(void) {
    struct company c = open_history(check_path("a.sqlite"));
    hire(&c, "Ada", 1);
    cst_history_cursor *cursor = read_with(&c, NULL);
    next(cursor);
    void *handles[] = {c.context, cursor};
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, merge_elsewhere, handles) == 0);
    pthread_join(thread, NULL);
    OK(cst_release(cursor));
    company_close(&c);
}

/* ---- stores */

static void check_without_history(struct company *c) {
    cst_history_token *token = NULL;
    hire(c, "Ada", 1);
    CHECK_STATUS(CST_NOT_FOUND, cst_coordinator_copy_history_token(c->coordinator, 0, NULL, &token, E));
    CHECK_STATUS(CST_NOT_FOUND, cst_coordinator_copy_history_token(c->coordinator, 1, &c->store, &token, E));
    CHECK_STATUS(CST_NOT_FOUND, cst_context_copy_history_token(c->context, &token, E));
    CHECK(token == NULL);
    CHECK_TEXT("", numbers_of(c, NULL));
    CHECK_INT(0, count_of(c, NULL));
    cst_history_options options = all();
    cst_history_token *made = token_at(c, 0);
    options.after = made;
    options.store_count = 1;
    options.stores = &c->store;
    CHECK_TEXT("", numbers_of(c, &options));
    cst_results *ids = NULL;
    OK(cst_coordinator_fetch_history_ids(c->coordinator, &options, &ids, E));
    CHECK_INT(0, cst_results_count(ids));
    uint64_t transactions = 7, changes = 7;
    OK(cst_coordinator_delete_history(c->coordinator, made, NULL, NULL, &transactions, &changes, E));
    CHECK_INT(0, transactions + changes);
    CHECK_INT(0, delete_until(c, INFINITY));
    OK(cst_release(ids));
    OK(cst_release(made));
    company_close(c);
}

static void a_store_without_history_has_no_transactions(void) {
    struct company c = open_of_type("SQLite", check_path("a.sqlite"), 0, CST_STORE_HISTORY);
    check_without_history(&c);
}

static void stores_of_other_types_have_no_history(void) {
    static const char *const types[][2] = {{"InMemory", "memory"}, {"XML", "a.xml"}, {"Binary", "a.binary"}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        struct company c = open_of_type(types[i][0], check_path(types[i][1]), 0, 0);
        check_without_history(&c);
    }
}

static void a_database_in_memory_has_a_history(void) {
    struct company c = open_history("/dev/null");
    fill(&c);
    CHECK_TEXT("1 2 3 4 5 6", numbers_of(&c, NULL));
    cst_history_token *fourth = token_at(&c, 4);
    CHECK_INT(3, delete_before(&c, fourth));
    CHECK_TEXT("4 5 6", numbers_of(&c, NULL));
    OK(cst_release(fourth));
    company_close(&c);
}

static void a_history_continues_without_the_history_flag(void) {
    const char *path = check_path("a.sqlite");
    struct company c = open_history(path);
    hire(&c, "Ada", 1);
    company_close(&c);
    c = open_of_type("SQLite", path, 0, CST_STORE_HISTORY);
    hire(&c, "Bob", 2);
    CHECK_TEXT("1 2", numbers_of(&c, NULL));
    CHECK_INT(2, delete_until(&c, INFINITY));
    company_close(&c);
    c = open_of_type("SQLite", path, 0, CST_STORE_HISTORY);
    hire(&c, "Eve", 3);
    CHECK_TEXT("3", numbers_of(&c, NULL));
    company_close(&c);
    /* In a store without history, it begins with the flag. */
    path = check_path("b.sqlite");
    c = open_of_type("SQLite", path, 0, CST_STORE_HISTORY);
    hire(&c, "Ada", 1);
    company_close(&c);
    c = open_history(path);
    CHECK_TEXT("", numbers_of(&c, NULL));
    hire(&c, "Bob", 2);
    CHECK_TEXT("1", numbers_of(&c, NULL));
    company_close(&c);
}

static void the_history_of_a_read_only_store_can_be_read(void) {
    const char *path = check_path("a.sqlite");
    struct company c = open_history(path);
    fill(&c);
    company_close(&c);
    c = open_of_type("SQLite", path, CST_STORE_READ_ONLY, CST_STORE_HISTORY);
    CHECK_TEXT("1 2 3 4 5 6", numbers_of(&c, NULL));
    CHECK_INT(6, count_of(&c, NULL));
    cst_history_token *token = current(&c);
    CHECK_INT(6, number_in(token, c.store));
    uint64_t transactions = 7, changes = 7;
    CHECK_STATUS(CST_E_STORE_READ_ONLY,
                 cst_coordinator_delete_history(c.coordinator, token, NULL, NULL, &transactions, &changes, E));
    CHECK_INT(0, transactions + changes);
    CHECK_STATUS(CST_E_STORE_READ_ONLY,
                 cst_coordinator_delete_history_before(c.coordinator, INFINITY, 0, NULL, NULL, NULL, NULL, NULL, E));
    CHECK_TEXT(path, cst_error_file(check_error()));
    CHECK_TEXT("1 2 3 4 5 6", numbers_of(&c, NULL));
    OK(cst_release(token));
    company_close(&c);
}

static void transactions_of_several_stores_are_ordered_by_time(void) {
    struct company c = open_history(check_path("a.sqlite"));
    cst_store *second = NULL, *bare = NULL;
    cst_store_options with = with_history(0);
    OK(cst_coordinator_add_store(c.coordinator, text("SQLite"), text(check_path("b.sqlite")), &with, &second, E));
    OK(cst_coordinator_add_store(c.coordinator, text("InMemory"), text("m"), NULL, &bare, E));
    cst_store *const stores[] = {c.store, second, bare};
    static const int order_of_saves[] = {0, 1, 1, 0, 1, 0, 0};
    enum { SAVES = sizeof order_of_saves / sizeof *order_of_saves };
    for (int i = 0; i < SAVES; i++) {
        cst_object *object = company_employee(&c, c.context, "Ada", i);
        OK(cst_context_assign(c.context, object, stores[order_of_saves[i]], E));
        save(c.context);
        OK(cst_release(object));
        usleep(1000);
    }
    for (size_t batch = 0; batch < 3; batch++) {
        cst_history_options options = all();
        options.batch_size = batch;
        cst_history_cursor *cursor = read_with(&c, &options);
        int64_t numbers[2] = {0, 0};
        double time = 0;
        for (int i = 0; i < SAVES; i++) {
            const cst_history_transaction *t = next(cursor);
            CHECK_TEXT(cst_store_identifier(stores[order_of_saves[i]]).data, t->store_identifier);
            CHECK_INT(++numbers[order_of_saves[i]], t->number);
            CHECK(t->timestamp > time);
            time = t->timestamp;
        }
        CHECK(at_end(cursor));
        cst_history_token *read = token_of(cursor), *now = current(&c);
        CHECK_INT(0, order(read, now));
        CHECK_INT(4, number_in(now, c.store));
        CHECK_INT(3, number_in(now, second));
        int64_t number = 0;
        CHECK_STATUS(CST_NOT_FOUND, cst_history_token_transaction(now, cst_store_identifier(bare), &number, E));
        OK(cst_release(read));
        OK(cst_release(now));
        OK(cst_release(cursor));
    }
    /* Some of the stores. */
    cst_history_options options = all();
    options.store_count = 1;
    options.stores = &stores[1];
    CHECK_TEXT("1 2 3", numbers_of(&c, &options));
    options.stores = &stores[2];
    CHECK_TEXT("", numbers_of(&c, &options));
    options.store_count = 2;
    options.stores = stores;
    CHECK_INT(7, count_of(&c, &options));
    cst_history_token *token = NULL;
    OK(cst_coordinator_copy_history_token(c.coordinator, 1, &stores[1], &token, E));
    CHECK_INT(3, number_in(token, second));
    int64_t number = 0;
    CHECK_STATUS(CST_NOT_FOUND, cst_history_token_transaction(token, cst_store_identifier(c.store), &number, E));
    /* A store that is missing from the token is read from its beginning. */
    options = all();
    options.after = token;
    CHECK_TEXT("1 2 3 4", numbers_of(&c, &options));
    cst_history_token *saved = NULL; /* the last save went to the first store, an earlier one to the second */
    OK(cst_context_copy_history_token(c.context, &saved, E));
    CHECK_INT(4, number_in(saved, c.store));
    CHECK_INT(3, number_in(saved, second));
    OK(cst_release(saved));
    /* Deletion of one store's. */
    CHECK_INT(2, delete_before(&c, token));
    CHECK_INT(5, count_of(&c, NULL));
    uint64_t transactions = 0;
    OK(cst_coordinator_delete_history_before(c.coordinator, INFINITY, 1, &stores[0], NULL, NULL, &transactions, NULL,
                                             E));
    CHECK_INT(4, transactions);
    CHECK_TEXT("3", numbers_of(&c, NULL));
    OK(cst_release(token));
    OK(cst_release(second));
    OK(cst_release(bare));
    company_close(&c);
}

/* ---- misuse */

static void closed_coordinators_and_stores_are_refused(void) {
    struct company c = open_history(check_path("a.sqlite"));
    fill(&c);
    cst_history_options options = all();
    options.batch_size = 1;
    cst_history_cursor *cursor = read_with(&c, &options), *unread = read_with(&c, &options);
    const cst_history_transaction *t = next(cursor);
    CHECK_INT(1, t->number);
    OK(cst_coordinator_close(c.coordinator, CST_UNSAVED_REFUSE, E));
    for (int i = 0; i < 2; i++) {
        CHECK(cst_history_cursor_next(cursor, &t, E) < 0);
        CHECK(t == NULL && cst_error_message(check_error()).size > 0);
        CHECK(cst_history_cursor_next(unread, &t, E) < 0);
    }
    cst_history_token *token = token_of(cursor);
    CHECK_INT(1, number_in(token, c.store));
    cst_history_cursor *late = NULL;
    cst_history_token *none = NULL;
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_coordinator_fetch_history(c.coordinator, NULL, &late, E));
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_coordinator_copy_history_token(c.coordinator, 0, NULL, &none, E));
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_coordinator_delete_history(c.coordinator, token, NULL, NULL, NULL, NULL, E));
    CHECK_STATUS(CST_E_INVALID_HANDLE,
                 cst_coordinator_delete_history_before(c.coordinator, INFINITY, 0, NULL, NULL, NULL, NULL, NULL, E));
    OK(cst_release(token));
    OK(cst_release(cursor));
    OK(cst_release(unread));
    company_close(&c);
}

static void a_removed_store_ends_its_cursor(void) {
    struct company c = open_history(check_path("a.sqlite"));
    fill(&c);
    cst_history_options options = all();
    options.batch_size = 1;
    cst_history_cursor *cursor = read_with(&c, &options);
    next(cursor);
    OK(cst_coordinator_remove_store(c.coordinator, c.store, E));
    const cst_history_transaction *t = NULL;
    CHECK(cst_history_cursor_next(cursor, &t, E) < 0);
    CHECK(t == NULL && cst_error_message(check_error()).size > 0);
    cst_history_token *token = NULL;
    CHECK_STATUS(CST_NOT_FOUND, cst_coordinator_copy_history_token(c.coordinator, 0, NULL, &token, E));
    CHECK(cst_coordinator_copy_history_token(c.coordinator, 1, &c.store, &token, E) < 0);
    CHECK_TEXT("", numbers_of(&c, NULL));
    OK(cst_release(cursor));
    company_close(&c);
}

static void invalid_handles_and_outputs_are_refused(void) {
    struct company c = open_history(check_path("a.sqlite"));
    hire(&c, "Ada", 1);
    cst_history_token *token = current(&c), *out = NULL, *gone = token_at(&c, 1);
    cst_history_cursor *cursor = read_with(&c, NULL), *over = read_with(&c, NULL), *made = NULL;
    const cst_history_transaction *t = NULL;
    cst_object_id *id = NULL;
    cst_results *ids = NULL;
    cst_buffer json = {0};
    int64_t number = 0;
    int32_t found = 0;
    uint64_t count = 0;
    const cst_string store = cst_store_identifier(c.store);
    OK(cst_release(gone));
    OK(cst_release(over));
    cst_history_token *const bad_tokens[] = {NULL, gone, (cst_history_token *)(void *)cursor,
                                             (cst_history_token *)(void *)c.store};
    cst_history_cursor *const bad_cursors[] = {NULL, over, (cst_history_cursor *)(void *)token,
                                               (cst_history_cursor *)(void *)c.context};
    cst_coordinator *const bad_coordinators[] = {NULL, (cst_coordinator *)(void *)token,
                                                 (cst_coordinator *)(void *)over, (cst_coordinator *)(void *)c.context};
    const cst_status invalid = CST_E_INVALID_HANDLE;
    for (int i = 0; i < 4; i++) {
        cst_history_token *bad = bad_tokens[i];
        CHECK_STATUS(invalid, cst_history_token_copy_json(bad, &json, E));
        CHECK_STATUS(invalid, cst_history_token_transaction(bad, store, &number, E));
        CHECK_STATUS(invalid, cst_history_token_compare(bad, token, &found, E));
        CHECK_STATUS(invalid, cst_history_token_compare(token, bad, &found, E));
        CHECK_STATUS(invalid, cst_coordinator_delete_history(c.coordinator, bad, NULL, NULL, NULL, NULL, E));
        const cst_value value = value_token(bad);
        cst_predicate *predicate = NULL;
        if (bad) CHECK_STATUS(invalid, cst_predicate_parse(text("token == %@"), 1, &value, &predicate, E));
        CHECK_STATUS(invalid, cst_history_cursor_next(bad_cursors[i], &t, E));
        CHECK_STATUS(invalid, cst_history_cursor_copy_object_id(bad_cursors[i], 0, &id, E));
        CHECK_STATUS(invalid, cst_history_cursor_copy_token(bad_cursors[i], &out, E));
        CHECK_STATUS(invalid, cst_context_merge_history(c.context, bad_cursors[i], E));
        cst_coordinator *coordinator = bad_coordinators[i];
        CHECK_STATUS(invalid, cst_context_merge_history((cst_context *)(void *)coordinator == c.context
                                                            ? NULL
                                                            : (cst_context *)(void *)coordinator,
                                                        cursor, E));
        CHECK_STATUS(invalid, cst_coordinator_copy_history_token(coordinator, 0, NULL, &out, E));
        CHECK_STATUS(invalid, cst_coordinator_fetch_history(coordinator, NULL, &made, E));
        CHECK_STATUS(invalid, cst_coordinator_count_history(coordinator, NULL, &count, E));
        CHECK_STATUS(invalid, cst_coordinator_fetch_history_ids(coordinator, NULL, &ids, E));
        CHECK_STATUS(invalid, cst_coordinator_delete_history(coordinator, token, NULL, NULL, NULL, NULL, E));
        CHECK_STATUS(invalid,
                     cst_coordinator_delete_history_before(coordinator, 0, 0, NULL, NULL, NULL, NULL, NULL, E));
    }
    CHECK_STATUS(invalid, cst_context_copy_history_token(NULL, &out, E));
    CHECK(out == NULL && made == NULL && ids == NULL && id == NULL && t == NULL);
    const cst_status argument = CST_E_INVALID_ARGUMENT;
    CHECK_STATUS(argument, cst_history_token_new(text("{}"), NULL, E));
    CHECK_STATUS(argument, cst_history_token_new_at(store, 1, NULL, E));
    CHECK_STATUS(argument, cst_history_token_copy_json(token, NULL, E));
    CHECK_STATUS(argument, cst_history_token_transaction(token, store, NULL, E));
    CHECK_STATUS(argument, cst_history_token_compare(token, token, NULL, E));
    CHECK_STATUS(argument, cst_context_copy_history_token(c.context, NULL, E));
    CHECK_STATUS(argument, cst_coordinator_copy_history_token(c.coordinator, 0, NULL, NULL, E));
    CHECK_STATUS(argument, cst_coordinator_copy_history_token(c.coordinator, 1, NULL, &out, E));
    CHECK_STATUS(argument, cst_coordinator_fetch_history(c.coordinator, NULL, NULL, E));
    CHECK_STATUS(argument, cst_history_cursor_next(cursor, NULL, E));
    CHECK_INT(1, next(cursor)->number);
    CHECK_STATUS(argument, cst_history_cursor_copy_object_id(cursor, 0, NULL, E));
    CHECK_STATUS(argument, cst_history_cursor_copy_token(cursor, NULL, E));
    CHECK_STATUS(argument, cst_coordinator_count_history(c.coordinator, NULL, NULL, E));
    CHECK_STATUS(argument, cst_coordinator_fetch_history_ids(c.coordinator, NULL, NULL, E));
    CHECK_STATUS(argument, cst_history_token_transaction(token, (cst_string){NULL, 0}, &number, E));
    CHECK_STATUS(CST_E_INVALID_UTF8, cst_history_token_transaction(token, text("\xff"), &number, E));
    CHECK_STATUS(argument, cst_coordinator_delete_history_before(c.coordinator, 0, 1, NULL, NULL, NULL, NULL, NULL, E));
    /* Without an error to fill. */
    CHECK_INT(CST_E_INVALID_HANDLE, cst_history_cursor_next(NULL, &t, NULL));
    CHECK_INT(CST_E_INVALID_ARGUMENT, cst_history_token_new(text("x"), &out, NULL));
    /* No property holds a token. */
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    const cst_value value = value_token(token);
    CHECK_STATUS(CST_E_TYPE_MISMATCH, cst_object_set(ada, c.name, &value, E));
    OK(cst_release(ada));
    cst_buffer_dispose(&json);
    OK(cst_release(cursor));
    OK(cst_release(token));
    OK(cst_context_rollback(c.context, E));
    company_close(&c);
}

static void handles_may_be_released_in_any_order(void) {
    struct company c = open_history(check_path("a.sqlite"));
    fill(&c);
    cst_history_cursor *cursor = read_with(&c, NULL);
    const cst_history_transaction *t = next(cursor);
    cst_history_token *token = token_of(cursor);
    cst_object_id *id = NULL;
    OK(cst_history_cursor_copy_object_id(cursor, 0, &id, E));
    cst_results *ids = NULL;
    OK(cst_coordinator_fetch_history_ids(c.coordinator, NULL, &ids, E));
    company_close(&c);
    CHECK_INT(CST_HISTORY_INSERT, t->changes[0].kind);
    cst_string name = cst_entity_name(t->changes[0].entity);
    CHECK_TEXT("Employee", name);
    CHECK_INT(4, cst_results_count(ids));
    OK(cst_release(ids));
    OK(cst_release(cursor));
    cst_buffer uri = {0};
    OK(cst_object_id_copy_uri(id, &uri, E));
    cst_buffer_dispose(&uri);
    OK(cst_release(id));
    OK(cst_release(token));
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(a_new_store_has_a_token_and_no_transactions);
    RUN(a_token_survives_serialisation_as_json);
    RUN(a_text_that_is_not_a_token_is_refused);
    RUN(tokens_are_ordered_by_their_transactions);
    RUN(coordinators_of_one_file_have_equal_tokens);
    RUN(a_save_observer_can_read_the_token_of_the_save);
    RUN(a_context_has_no_token_until_it_writes);
    RUN(a_batch_request_without_rows_has_no_token);
    RUN(transactions_describe_saves);
    RUN(a_tombstone_omits_nil_values);
    RUN(delete_rules_are_recorded);
    RUN(unsaved_changes_are_not_recorded);
    RUN(equal_values_are_not_recorded);
    RUN(batch_requests_are_recorded_row_by_row);
    RUN(a_cursor_continues_after_its_end_when_transactions_are_added);
    RUN(the_token_of_a_cursor_marks_its_position);
    RUN(a_transaction_is_valid_until_the_next_call);
    RUN(a_cursor_outlives_the_handles_of_its_stores);
    RUN(a_cursor_reads_transactions_while_other_threads_save);
    RUN(changed_ids_are_listed_once);
    RUN(a_context_merges_the_history_of_its_coordinator);
    RUN(a_context_merges_the_history_of_another_coordinator);
    RUN(merging_history_requires_the_queue_of_the_context);
    RUN(a_store_without_history_has_no_transactions);
    RUN(stores_of_other_types_have_no_history);
    RUN(a_database_in_memory_has_a_history);
    RUN(a_history_continues_without_the_history_flag);
    RUN(the_history_of_a_read_only_store_can_be_read);
    RUN(transactions_of_several_stores_are_ordered_by_time);
    RUN(closed_coordinators_and_stores_are_refused);
    RUN(a_removed_store_ends_its_cursor);
    RUN(invalid_handles_and_outputs_are_refused);
    RUN(handles_may_be_released_in_any_order);
    return check_end();
}
