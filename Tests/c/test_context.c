/* Contexts: inserting, deleting, saving, conflicts, rollback, reset, changed sets, objects by ID.
 *
 * SPDX-License-Identifier: MIT
 */
#include "company.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

static size_t changed(const cst_context *context, uint32_t which) {
    cst_results *results = NULL;
    OK(cst_context_copy_changed(context, which, &results, E));
    size_t count = cst_results_count(results);
    OK(cst_release(results));
    return count;
}

static void changes_are_counted_until_saved(void) {
    struct company c = company_open(check_path("a.sqlite"));
    CHECK(!has_changes(c.context));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1), *bob = company_employee(&c, c.context, "Bob", 2);
    CHECK(has_changes(c.context));
    CHECK_INT(2, changed(c.context, CST_CHANGED_INSERTED));
    save(c.context);
    CHECK(!has_changes(c.context));
    CHECK_INT(0, changed(c.context, CST_CHANGED_INSERTED));
    CHECK_INT(2, changed(c.context, CST_CHANGED_REGISTERED));
    set(ada, c.number, value_int(10));
    CHECK_INT(1, changed(c.context, CST_CHANGED_UPDATED));
    OK(cst_context_delete(c.context, bob, E));
    CHECK_INT(1, changed(c.context, CST_CHANGED_DELETED));
    save(c.context);
    CHECK_INT(1, company_count(c.context, c.employee, NULL));
    OK(cst_release(ada));
    OK(cst_release(bob));
    company_close(&c);
}

static void inserting_an_abstract_entity_is_refused(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *object = NULL;
    CHECK(cst_context_insert(c.context, c.person, &object, E) < 0);
    CHECK_CONTAINS("Person", cst_error_message(check_error()));
    CHECK(object == NULL);
    company_close(&c);
}

static void insert_many_inserts_no_object_when_one_is_invalid(void) {
    struct company c = company_open(check_path("a.sqlite"));
    const cst_key keys[] = {c.name, c.level};
    const cst_value values[] = {value_text("A"), value_int(1),    value_text("B"),
                                value_int(2),    value_text("C"), value_int(3)};
    cst_object *objects[3] = {NULL, NULL, NULL};
    OK(cst_context_insert_many(c.context, c.employee, 3, 2, keys, values, objects, E));
    CHECK_TEXT("B", get_text(objects[1], c.name));
    CHECK_INT(3, get_int(objects[2], c.level));
    OK(cst_context_insert_many(c.context, c.employee, 3, 2, keys, values, NULL, E));
    OK(cst_context_insert_many(c.context, c.employee, 0, 2, keys, values, NULL, E));
    CHECK_INT(6, changed(c.context, CST_CHANGED_INSERTED));
    const cst_value bad[] = {value_text("A"), value_int(1), value_text("B"), value_text("two")};
    cst_object *none[2] = {NULL, NULL};
    CHECK_STATUS(CST_E_TYPE_MISMATCH, cst_context_insert_many(c.context, c.employee, 2, 2, keys, bad, none, E));
    CHECK(none[0] == NULL && none[1] == NULL);
    CHECK_INT(6, changed(c.context, CST_CHANGED_INSERTED));
    save(c.context);
    CHECK_INT(6, company_count(c.context, c.employee, NULL));
    for (int i = 0; i < 3; i++)
        OK(cst_release(objects[i]));
    company_close(&c);
}

static void an_object_without_a_context_is_inserted_later(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *object = NULL;
    cst_context *context = NULL;
    OK(cst_object_new(c.employee, &object, E));
    CHECK_STATUS(CST_NOT_FOUND, cst_object_context(object, &context, E));
    set(object, c.name, value_text("Ada"));
    OK(cst_context_insert_object(c.context, object, E));
    OK(cst_object_context(object, &context, E));
    CHECK(context == c.context);
    CHECK_TEXT("Ada", get_text(object, c.name));
    save(c.context);
    CHECK_INT(1, company_count(c.context, c.employee, "name == 'Ada'"));
    CHECK(cst_context_insert_object(c.context, object, E) >= 0); /* nothing to do */
    CHECK(!has_changes(c.context));
    OK(cst_release(object));
    company_close(&c);
}

static void a_failed_save_keeps_the_changes(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *good = company_employee(&c, c.context, "Ada", 1), *bad = NULL;
    OK(cst_context_insert(c.context, c.employee, &bad, E));
    CHECK_STATUS(CST_E_VALIDATION, cst_context_save(c.context, E));
    CHECK_TEXT("name", cst_error_key(check_error()));
    CHECK(has_changes(c.context));
    CHECK(state(good) & CST_OBJECT_TEMPORARY_ID);
    cst_context *other = company_context(&c, CST_QUEUE_CALLER);
    CHECK_INT(0, company_count(other, c.employee, NULL));
    OK(cst_context_delete(c.context, bad, E));
    save(c.context);
    CHECK_INT(1, company_count(other, c.employee, NULL));
    OK(cst_release(other));
    OK(cst_release(good));
    OK(cst_release(bad));
    company_close(&c);
}

static void a_save_without_changes_succeeds(void) {
    struct company c = company_open(check_path("a.sqlite"));
    CHECK(cst_context_save(c.context, E) >= 0);
    company_close(&c);
}

static void rollback_discards_every_change(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1), *bob = company_employee(&c, c.context, "Bob", 2);
    save(c.context);
    set(ada, c.name, value_text("Eve"));
    OK(cst_context_delete(c.context, bob, E));
    cst_object *fresh = company_employee(&c, c.context, "New", 3);
    OK(cst_context_rollback(c.context, E));
    CHECK(!has_changes(c.context));
    CHECK_TEXT("Ada", get_text(ada, c.name));
    CHECK_TEXT("Bob", get_text(bob, c.name));
    CHECK(!(state(bob) & CST_OBJECT_DELETED));
    CHECK_INT(2, company_count(c.context, c.employee, NULL));
    OK(cst_release(fresh));
    OK(cst_release(ada));
    OK(cst_release(bob));
    company_close(&c);
}

static void reset_detaches_every_object(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    save(c.context);
    cst_results *results = company_fetch(c.context, c.employee, NULL, NULL);
    OK(cst_context_reset(c.context, E));
    cst_value value = value_int(1);
    CHECK_STATUS(CST_E_OBJECT_GONE, cst_object_get(ada, c.name, &value, E));
    CHECK_INT(CST_NULL, value.type);
    value = value_int(1);
    CHECK_STATUS(CST_E_OBJECT_GONE, cst_object_set(ada, c.number, &value, E));
    cst_object_id *id = NULL;
    cst_context *context = NULL;
    CHECK_STATUS(CST_E_OBJECT_GONE, cst_object_copy_id(ada, &id, E));
    CHECK_STATUS(CST_E_OBJECT_GONE, cst_object_refresh(ada, true, E));
    CHECK_STATUS(CST_E_OBJECT_GONE, cst_context_delete(c.context, ada, E));
    CHECK_STATUS(CST_NOT_FOUND, cst_object_context(ada, &context, E));
    CHECK_INT(CST_OBJECT_FAULT, state(ada));
    CHECK(object_at(results, 0) == ada);
    OK(cst_release(results));
    CHECK_INT(0, changed(c.context, CST_CHANGED_REGISTERED));
    CHECK_INT(1, company_count(c.context, c.employee, NULL));
    OK(cst_release(ada));
    company_close(&c);
}

static void ids_become_permanent_at_save(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1), *bob = company_employee(&c, c.context, "Bob", 2);
    cst_object_id *before = NULL, *after = NULL;
    bool temporary = false;
    cst_buffer uri = {NULL, 0, 0};
    cst_entity *entity = NULL;
    OK(cst_object_copy_id(ada, &before, E));
    OK(cst_object_id_is_temporary(before, &temporary, E));
    CHECK(temporary);
    OK(cst_object_id_copy_uri(before, &uri, E));
    CHECK(strncmp(uri.data, "x-coredata:///Employee/t", 24) == 0);
    cst_object *both[] = {ada, bob};
    OK(cst_context_obtain_permanent_ids(c.context, 2, both, E));
    OK(cst_object_copy_id(ada, &after, E));
    OK(cst_object_id_is_temporary(after, &temporary, E));
    CHECK(!temporary);
    CHECK(!(state(ada) & CST_OBJECT_TEMPORARY_ID));
    OK(cst_object_id_entity(after, &entity, E));
    CHECK(entity == c.employee);
    CHECK(!cst_object_id_equal(before, after));
    cst_object *eve = company_employee(&c, c.context, "Eve", 3);
    cst_object_id *former = NULL;
    OK(cst_object_copy_id(eve, &former, E));
    save(c.context);
    cst_object *found = NULL;
    OK(cst_context_existing_object(c.context, after, &found, E));
    CHECK(found == ada);
    OK(cst_release(found));
    /* A temporary ID still finds its object. */
    OK(cst_context_registered_object(c.context, former, &found, E));
    CHECK(found == eve);
    OK(cst_release(found));
    OK(cst_release(former));
    OK(cst_release(eve));
    cst_buffer_dispose(&uri);
    OK(cst_release(before));
    OK(cst_release(after));
    OK(cst_release(ada));
    OK(cst_release(bob));
    company_close(&c);
}

static void objects_are_found_by_id(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1), *object = NULL;
    cst_object_id *id = NULL;
    save(c.context);
    OK(cst_object_copy_id(ada, &id, E));
    cst_context *other = company_context(&c, CST_QUEUE_CALLER);
    CHECK_STATUS(CST_NOT_FOUND, cst_context_registered_object(other, id, &object, E));
    OK(cst_context_object_with_id(other, id, &object, E));
    CHECK(object != ada);
    CHECK(state(object) & CST_OBJECT_FAULT);
    CHECK_TEXT("Ada", get_text(object, c.name));
    CHECK(!(state(object) & CST_OBJECT_FAULT));
    OK(cst_release(object));
    OK(cst_context_delete(c.context, ada, E));
    save(c.context);
    cst_context *third = company_context(&c, CST_QUEUE_CALLER);
    CHECK_STATUS(CST_E_OBJECT_GONE, cst_context_existing_object(third, id, &object, E));
    CHECK_INT(CST_CODE_MANAGED_OBJECT_REFERENTIAL_INTEGRITY, cst_error_code(check_error()));
    OK(cst_context_object_with_id(third, id, &object, E));
    cst_value value;
    /* It counts as deleted, its values null. */
    OK(cst_object_get(object, c.name, &value, E));
    CHECK_INT(CST_NULL, value.type);
    CHECK(state(object) & CST_OBJECT_DELETED);
    OK(cst_release(object));
    OK(cst_release(third));
    OK(cst_release(other));
    OK(cst_release(id));
    OK(cst_release(ada));
    company_close(&c);
}

static void a_conflicting_save_names_object_and_property(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    save(c.context);
    cst_context *other = company_context(&c, CST_QUEUE_CALLER);
    cst_results *results = company_fetch(other, c.employee, NULL, NULL);
    cst_object *theirs = object_at(results, 0);
    set(theirs, c.notes, value_text("theirs"));
    set(ada, c.notes, value_text("ours"));
    set(ada, c.number, value_int(2));
    save(other);
    CHECK_STATUS(CST_E_CONFLICT, cst_context_save(c.context, E));
    CHECK_INT(CST_CODE_MANAGED_OBJECT_MERGE, cst_error_code(check_error()));
    const cst_error *conflict = check_error();
    if (cst_error_detail_count(conflict) > 0) conflict = cst_error_detail_at(conflict, 0);
    CHECK_TEXT("Employee", cst_error_entity(conflict));
    CHECK_CONTAINS("/Employee/p1", cst_error_object_uri(conflict));
    cst_buffer out = {NULL, 0, 0};
    CHECK_STATUS(CST_OK, cst_error_copy_description(check_error(), &out));
    CHECK(out.data && strstr(out.data, "notes"));
    cst_buffer_dispose(&out);
    CHECK(has_changes(c.context));

    /* The caller's way out: the newest state below, our changes on top. */
    OK(cst_object_refresh(ada, true, E));
    CHECK_TEXT("ours", get_text(ada, c.notes));
    save(c.context);
    OK(cst_context_refresh_all(other, E));
    CHECK_TEXT("ours", get_text(theirs, c.notes));
    CHECK_INT(2, get_int(theirs, c.number));
    OK(cst_release(results));
    OK(cst_release(other));
    OK(cst_release(ada));
    company_close(&c);
}

static void a_save_conflicts_when_another_context_deleted_the_object(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    save(c.context);
    cst_context *other = company_context(&c, CST_QUEUE_CALLER);
    cst_results *results = company_fetch(other, c.employee, NULL, NULL);
    cst_object *theirs = object_at(results, 0);
    CHECK_TEXT("Ada", get_text(theirs, c.name));
    OK(cst_context_delete(c.context, ada, E));
    save(c.context);
    set(theirs, c.notes, value_text("late"));
    CHECK_STATUS(CST_E_CONFLICT, cst_context_save(other, E));
    CHECK_INT(CST_CODE_MANAGED_OBJECT_MERGE, cst_error_code(check_error()));
    OK(cst_context_rollback(other, E));
    CHECK_INT(0, company_count(other, c.employee, NULL));
    OK(cst_release(results));
    OK(cst_release(other));
    OK(cst_release(ada));
    company_close(&c);
}

static void objects_of_another_context_are_refused(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_context *other = company_context(&c, CST_QUEUE_CALLER);
    cst_object *ada = company_employee(&c, c.context, "Ada", 1), *bob = company_employee(&c, other, "Bob", 2);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_delete(c.context, bob, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_add_member(ada, c.friends, bob, E));
    cst_value value = value_object(bob);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_set(ada, c.manager, &value, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_obtain_permanent_ids(c.context, 1, &bob, E));
    OK(cst_release(ada));
    OK(cst_release(bob));
    OK(cst_release(other));
    company_close(&c);
}

static bool stop(void *userdata) {
    ++*(int *)userdata;
    return true;
}

enum { ROWS = 20000 };

/* Enough rows for a save that outlasts the interval of interrupt checks. */
static void insert_many_people(const struct company *c) {
    const cst_key keys[] = {c->name};
    static cst_value values[ROWS];
    for (int i = 0; i < ROWS; i++)
        values[i] = value_text("somebody");
    OK(cst_context_insert_many(c->context, c->employee, ROWS, 1, keys, values, NULL, E));
}

static void an_interrupt_cancels_a_save(void) {
    struct company c = company_open(check_path("a.sqlite"));
    insert_many_people(&c);
    int asked = 0;
    OK(cst_context_set_interrupt(c.context, stop, &asked, NULL, E));
    CHECK_STATUS(CST_E_CANCELLED, cst_context_save(c.context, E));
    CHECK(asked > 0);
    OK(cst_context_set_interrupt(c.context, NULL, NULL, NULL, E));
    save(c.context);
    CHECK_INT(ROWS, company_count(c.context, c.employee, NULL));
    company_close(&c);
}

static bool stop_later(void *userdata) { return --*(int *)userdata < 0; }

/* A cancelled operation has no effect and can be repeated. */
static void an_interrupted_save_or_fetch_changes_nothing(void) {
    struct company c = company_open(check_path("a.sqlite"));
    insert_many_people(&c);
    cst_context *other = company_context(&c, CST_QUEUE_CALLER);
    int left = 1;
    OK(cst_context_set_interrupt(c.context, stop_later, &left, NULL, E));
    CHECK_STATUS(CST_E_CANCELLED, cst_context_save(c.context, E));
    CHECK_INT(CST_CODE_SQLITE, cst_error_code(check_error()));
    CHECK_INT(SQLITE_INTERRUPT, cst_error_sqlite_code(check_error()));
    CHECK_TEXT(check_path("a.sqlite"), cst_error_file(check_error()));
    CHECK_INT(ROWS, changed(c.context, CST_CHANGED_INSERTED));
    CHECK(has_changes(c.context));
    CHECK_INT(0, company_count(other, c.employee, NULL));
    left = INT32_MAX; /* called, but never cancels */
    save(c.context);
    CHECK(left < INT32_MAX);
    CHECK_INT(ROWS, company_count(other, c.employee, NULL));
    OK(cst_context_reset(c.context, E));

    cst_fetch_request *request = company_by_number(&c);
    cst_predicate *predicate = NULL;
    /* Each row is slow to evaluate, and all rows together far outlast the interval of interrupt checks. */
    char words[40 * 40] = "name == 'x'";
    for (int i = 0; i < 40; i++)
        snprintf(words + strlen(words), sizeof words - strlen(words), " OR name CONTAINS[cd] 'x%d'", i);
    OK(cst_predicate_parse(text(words), 0, NULL, &predicate, E));
    OK(cst_fetch_request_set_predicate(request, predicate, E));
    cst_results *results = NULL;
    uint64_t count = 0;
    left = 0;
    CHECK_STATUS(CST_E_CANCELLED, cst_context_fetch(c.context, request, &results, E));
    CHECK(results == NULL);
    left = 0;
    CHECK_STATUS(CST_E_CANCELLED, cst_context_count(c.context, request, &count, E));
    CHECK_INT(0, changed(c.context, CST_CHANGED_REGISTERED));
    OK(cst_context_set_interrupt(c.context, NULL, NULL, NULL, E));
    CHECK_INT(ROWS, company_count(c.context, c.employee, NULL));
    cst_release(predicate), cst_release(request), cst_release(other);
    company_close(&c);
}

static int destroyed;
static void count_destroy(void *userdata) {
    (void)userdata;
    destroyed++;
}

static void the_userdata_of_an_interrupt_is_destroyed_once(void) {
    struct company c = company_open(check_path("a.sqlite"));
    destroyed = 0;
    int asked = 0;
    OK(cst_context_set_interrupt(c.context, stop, &asked, count_destroy, E));
    CHECK_INT(0, destroyed);
    OK(cst_context_set_interrupt(c.context, stop, &asked, count_destroy, E));
    CHECK_INT(1, destroyed);
    OK(cst_context_set_interrupt(c.context, NULL, NULL, NULL, E));
    CHECK_INT(2, destroyed);
    OK(cst_context_set_interrupt(c.context, stop, &asked, count_destroy, E));
    company_close(&c);
    CHECK_INT(3, destroyed);
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_context_set_interrupt(NULL, stop, &asked, count_destroy, E));
    CHECK_INT(4, destroyed);
}

static void unknown_constants_are_refused(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_context *context = NULL;
    cst_results *results = NULL;
    uint64_t count = 9;
    const int32_t queues[] = {-1, 3, INT32_MAX};
    for (size_t i = 0; i < 3; i++)
        CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_new(c.coordinator, queues[i], &context, E));
    CHECK(context == NULL);
    const uint32_t sets[] = {0, 5, UINT32_MAX};
    for (size_t i = 0; i < 3; i++) {
        CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_copy_changed(c.context, sets[i], &results, E));
        CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_changed_count(c.context, sets[i], &count, E));
        CHECK_INT(0, count);
    }
    CHECK(results == NULL);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_close(c.context, 3, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_coordinator_close(c.coordinator, 3, E));
    cst_buffer json = {0};
    CHECK_STATUS(CST_E_UNSUPPORTED, cst_coordinator_copy_unsaved_changes(c.coordinator, 4, &json, E));
    OK(cst_coordinator_copy_unsaved_changes(c.coordinator, CST_CHANGES_NO_WAIT | CST_CHANGES_TOLD, &json, E));
    CHECK_TEXT("[]", text_of_size(json.data, json.size));
    cst_buffer_dispose(&json);
    company_close(&c);
}

static void each_kind_of_changed_objects_is_counted_separately(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *people[4];
    for (int i = 0; i < 4; i++)
        people[i] = company_employee(&c, c.context, "x", i);
    save(c.context);
    set(people[0], c.number, value_int(10));
    OK(cst_context_delete(c.context, people[1], E));
    OK(cst_context_delete(c.context, people[2], E));
    cst_object *fresh[3];
    for (int i = 0; i < 3; i++)
        fresh[i] = company_employee(&c, c.context, "new", i);
    static const struct {
        uint32_t which;
        uint64_t count;
    } cases[] = {
        {CST_CHANGED_INSERTED, 3}, {CST_CHANGED_UPDATED, 1}, {CST_CHANGED_DELETED, 2}, {CST_CHANGED_REGISTERED, 7}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t count = 0;
        OK(cst_context_changed_count(c.context, cases[i].which, &count, E));
        CHECK_INT(cases[i].count, count);
        CHECK_INT(cases[i].count, changed(c.context, cases[i].which));
    }
    for (int i = 0; i < 4; i++)
        OK(cst_release(people[i]));
    for (int i = 0; i < 3; i++)
        OK(cst_release(fresh[i]));
    OK(cst_context_rollback(c.context, E));
    company_close(&c);
}

/* A failed insertion leaves neither objects nor inverses, and deletes nothing when it is undone. */
static void a_failed_insert_many_leaves_no_inverses(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *place = company_insert(&c, c.context, c.department, c.department_name, "R&D");
    const cst_key keys[] = {c.name, c.to_department, c.level};
    const cst_value rows[] = {value_text("A"), value_object(place), value_int(1),
                              value_text("B"), value_object(place), value_int(100000)};
    cst_object *objects[2] = {(cst_object *)place, (cst_object *)place};
    CHECK_STATUS(CST_E_VALIDATION, cst_context_insert_many(c.context, c.employee, 2, 3, keys, rows, objects, E));
    CHECK_TEXT("level", cst_error_key(check_error()));
    CHECK_INT(0, member_count(place, c.employees));
    CHECK_INT(1, changed(c.context, CST_CHANGED_INSERTED));
    CHECK_INT(0, changed(c.context, CST_CHANGED_DELETED));
    save(c.context);
    CHECK_INT(1, company_count(c.context, c.department, NULL));
    CHECK_INT(0, company_count(c.context, c.employee, NULL));
    OK(cst_context_insert_many(c.context, c.employee, 1, 3, keys, rows, objects, E));
    CHECK_INT(1, member_count(place, c.employees));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                 cst_context_insert_many(c.context, c.employee, INT32_MAX, 0, NULL, NULL, NULL, E));
    CHECK_CONTAINS("rows is 2147483647, but the limit is 2147483646", cst_error_message(check_error()));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                 cst_context_insert_many(c.context, c.employee, SIZE_MAX, 3, keys, rows, NULL, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_insert_many(c.context, c.employee, 1, 3, keys, NULL, NULL, E));
    OK(cst_context_insert_many(c.context, c.task, 0, 0, NULL, NULL, NULL, E));
    OK(cst_release(objects[0]));
    OK(cst_release(place));
    company_close(&c);
}

static void an_object_can_be_inserted_into_one_context_only(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = NULL, *bob = NULL;
    cst_context *other = company_context(&c, CST_QUEUE_CALLER), *found = NULL;
    OK(cst_object_new(c.employee, &ada, E));
    OK(cst_object_new(c.employee, &bob, E));
    set(ada, c.name, value_text("Ada"));
    set(bob, c.name, value_text("Bob"));
    set(ada, c.manager, value_object(bob));
    OK(cst_context_insert_object(c.context, ada, E));
    OK(cst_object_context(bob, &found, E)); /* related objects are inserted too */
    CHECK(found == c.context);
    CHECK_STATUS(CST_UNCHANGED, cst_context_insert_object(c.context, ada, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_insert_object(other, ada, E));
    save(c.context);
    CHECK_INT(1, company_count(other, c.employee, "manager.name == 'Bob'"));
    cst_release(ada), cst_release(bob), cst_release(other);
    company_close(&c);
}

static void context_name_and_author_can_be_removed(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_buffer name = {0};
    OK(cst_context_set_name(c.context, text("import"), E));
    OK(cst_context_set_transaction_author(c.context, text("me"), E));
    OK(cst_context_copy_name(c.context, &name, E));
    CHECK_TEXT("import", text_of_size(name.data, name.size));
    OK(cst_context_copy_transaction_author(c.context, &name, E));
    CHECK_TEXT("me", text_of_size(name.data, name.size));
    OK(cst_context_set_name(c.context, (cst_string){NULL, 0}, E));
    CHECK_STATUS(CST_NOT_FOUND, cst_context_copy_name(c.context, &name, E));
    CHECK_TEXT("", text_of_size(name.data, name.size));
    OK(cst_context_copy_transaction_author(c.context, &name, E));
    OK(cst_context_set_transaction_author(c.context, (cst_string){NULL, 0}, E));
    CHECK_STATUS(CST_NOT_FOUND, cst_context_copy_transaction_author(c.context, &name, E));
    CHECK_TEXT("", text_of_size(name.data, name.size));
    /* An empty name is one. */
    OK(cst_context_set_name(c.context, text(""), E));
    OK(cst_context_copy_name(c.context, &name, E));
    CHECK_TEXT("", text_of_size(name.data, name.size));
    cst_buffer_dispose(&name);
    company_close(&c);
}

static void transient_changes_are_not_persistent_changes(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    bool persistent = false;
    OK(cst_context_has_persistent_changes(c.context, &persistent, E));
    CHECK(persistent);
    save(c.context);
    OK(cst_context_has_persistent_changes(c.context, &persistent, E));
    CHECK(!persistent);
    set(ada, c.scratch, value_int(1));
    CHECK(has_changes(c.context));
    OK(cst_context_has_persistent_changes(c.context, &persistent, E));
    CHECK(!persistent);
    OK(cst_object_has_persistent_changes(ada, &persistent, E));
    CHECK(!persistent);
    set(ada, c.number, value_int(2));
    OK(cst_object_has_persistent_changes(ada, &persistent, E));
    CHECK(persistent);
    OK(cst_context_has_persistent_changes(c.context, &persistent, E));
    CHECK(persistent);
    set(ada, c.number, value_int(1)); /* the values equal the saved ones again */
    OK(cst_object_has_persistent_changes(ada, &persistent, E));
    CHECK(!persistent);
    OK(cst_context_reset(c.context, E));
    CHECK_STATUS(CST_E_OBJECT_GONE, cst_object_has_persistent_changes(ada, &persistent, E));
    OK(cst_release(ada));
    company_close(&c);
}

static void tracking_resumes_when_every_disable_call_is_balanced(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    save(c.context);
    CHECK_STATUS(CST_UNCHANGED, cst_context_enable_tracking(c.context, E));
    OK(cst_context_disable_tracking(c.context, E));
    OK(cst_context_disable_tracking(c.context, E));
    OK(cst_context_enable_tracking(c.context, E));
    set(ada, c.number, value_int(2));
    CHECK(!has_changes(c.context));
    OK(cst_context_enable_tracking(c.context, E));
    set(ada, c.number, value_int(3));
    CHECK(has_changes(c.context));
    CHECK_STATUS(CST_UNCHANGED, cst_context_enable_tracking(c.context, E));
    OK(cst_release(ada));
    OK(cst_context_rollback(c.context, E));
    company_close(&c);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(changes_are_counted_until_saved);
    RUN(inserting_an_abstract_entity_is_refused);
    RUN(insert_many_inserts_no_object_when_one_is_invalid);
    RUN(an_object_without_a_context_is_inserted_later);
    RUN(a_failed_save_keeps_the_changes);
    RUN(a_save_without_changes_succeeds);
    RUN(rollback_discards_every_change);
    RUN(reset_detaches_every_object);
    RUN(ids_become_permanent_at_save);
    RUN(objects_are_found_by_id);
    RUN(a_conflicting_save_names_object_and_property);
    RUN(a_save_conflicts_when_another_context_deleted_the_object);
    RUN(objects_of_another_context_are_refused);
    RUN(an_interrupt_cancels_a_save);
    RUN(an_interrupted_save_or_fetch_changes_nothing);
    RUN(the_userdata_of_an_interrupt_is_destroyed_once);
    RUN(unknown_constants_are_refused);
    RUN(each_kind_of_changed_objects_is_counted_separately);
    RUN(a_failed_insert_many_leaves_no_inverses);
    RUN(an_object_can_be_inserted_into_one_context_only);
    RUN(context_name_and_author_can_be_removed);
    RUN(transient_changes_are_not_persistent_changes);
    RUN(tracking_resumes_when_every_disable_call_is_balanced);
    return check_end();
}
