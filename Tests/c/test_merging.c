/* Merge policies: conflicts of versions and of unique values, settled by a type or by the host.
 *
 * SPDX-License-Identifier: MIT
 */
#include "company.h"

#include <stdio.h>
#include <string.h>

static int asked, destroyed;
static size_t shown;
static cst_key number_key;

static void count_end(void *userdata) { destroyed += *(int *)userdata; }

/* The same object in another context, which saves another number. */
static void change_elsewhere(const struct company *c, cst_object *object, int64_t number) {
    cst_context *other = company_context(c, CST_QUEUE_CALLER);
    cst_object_id *id = NULL;
    cst_object *same = NULL;
    OK(cst_object_copy_id(object, &id, E));
    OK(cst_context_object_with_id(other, id, &same, E));
    set(same, c->number, value_int(number));
    save(other);
    cst_release(same);
    cst_release(id);
    cst_release(other);
}

static int64_t stored_number(const struct company *c) {
    cst_context *other = company_context(c, CST_QUEUE_CALLER);
    cst_results *all = company_fetch(other, c->employee, NULL, NULL);
    int64_t number = get_int(object_at(all, 0), c->number);
    cst_release(all);
    cst_release(other);
    return number;
}

static void set_policy(const struct company *c, int32_t type, cst_resolve_conflicts_fn resolve) {
    static int one = 1;
    cst_merge_policy *policy = NULL;
    OK(cst_merge_policy_new(type, resolve, &one, count_end, &policy, E));
    CHECK_INT(type, cst_merge_policy_type(policy));
    OK(cst_context_set_merge_policy(c->context, policy, E));
    cst_release(policy);
}

static void merge_policy_types_resolve_conflicts(void) {
    static const struct {
        int32_t type;
        int64_t number;
    } cases[] = {
        {CST_MERGE_STORE_TRUMP, 2}, {CST_MERGE_OBJECT_TRUMP, 3}, {CST_MERGE_OVERWRITE, 3}, {CST_MERGE_ROLLBACK, 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct company c = company_open(check_path("m.sqlite"));
        cst_object *ada = company_employee(&c, c.context, "Ada", 1);
        save(c.context);
        change_elsewhere(&c, ada, 2);
        set(ada, c.number, value_int(3));
        set_policy(&c, cases[i].type, NULL);
        save(c.context);
        CHECK_INT(cases[i].number, get_int(ada, c.number));
        CHECK_INT(cases[i].number, stored_number(&c));
        CHECK(!has_changes(c.context));
        cst_release(ada);
        company_close(&c);
        remove(check_path("m.sqlite"));
    }
}

static void check_int_value(const cst_conflict *conflict, int32_t snapshot, int64_t expected) {
    cst_value value;
    OK(cst_conflict_value(conflict, snapshot, 0, text("number"), &value, E));
    CHECK_INT(CST_INT, value.type);
    CHECK_INT(expected, value.as.integer);
}

static void a_conflict_error_describes_the_conflict(void) {
    struct company c = company_open(check_path("m.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    cst_object *boss = company_employee(&c, c.context, "Boss", 9);
    set(ada, c.manager, value_object(boss));
    save(c.context);
    change_elsewhere(&c, ada, 2);
    set(ada, c.number, value_int(3));
    cst_error *error = NULL;
    CHECK_STATUS(CST_E_CONFLICT, cst_context_save(c.context, &error));
    CHECK_INT(CST_CODE_MANAGED_OBJECT_MERGE, cst_error_code(error));
    CHECK(strstr(cst_error_message(error).data, "number was 1, is 3 here, 2 in the store") != NULL);
    CHECK_INT(1, cst_error_conflict_count(error));
    CHECK(cst_error_conflict_at(error, 1) == NULL);
    const cst_conflict *conflict = cst_error_conflict_at(error, 0);
    CHECK_INT(CST_CONFLICT_CONTEXT, cst_conflict_kind(conflict));
    CHECK_INT(1, cst_conflict_object_count(conflict));
    CHECK(cst_conflict_object_id_at(conflict, 1) == NULL);
    CHECK(cst_conflict_database_id(conflict) == NULL);
    CHECK_INT(1, cst_conflict_old_version(conflict));
    CHECK_INT(2, cst_conflict_new_version(conflict));
    CHECK(cst_conflict_message(conflict).size > 0);
    CHECK_INT(1, cst_conflict_property_count(conflict));
    CHECK(strcmp("number", cst_conflict_property_at(conflict, 0).data) == 0);
    CHECK(cst_conflict_property_at(conflict, 1).data == NULL);
    check_int_value(conflict, CST_SNAPSHOT_OBJECT, 1);
    check_int_value(conflict, CST_SNAPSHOT_CACHED, 2);
    check_int_value(conflict, CST_SNAPSHOT_THEIRS, 2);
    check_int_value(conflict, CST_SNAPSHOT_CURRENT, 3);
    cst_value value;
    CHECK_STATUS(CST_NOT_FOUND, cst_conflict_value(conflict, CST_SNAPSHOT_PERSISTED, 0, text("number"), &value, E));
    CHECK_STATUS(CST_NOT_FOUND, cst_conflict_value(conflict, CST_SNAPSHOT_OBJECT, 1, text("number"), &value, E));
    CHECK_STATUS(CST_NOT_FOUND, cst_conflict_value(conflict, CST_SNAPSHOT_OBJECT, 0, text("friends"), &value, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_conflict_value(conflict, 5, 0, text("number"), &value, E));
    OK(cst_conflict_value(conflict, CST_SNAPSHOT_CURRENT, 0, text("manager"), &value, E));
    CHECK_INT(CST_OBJECT_ID, value.type);
    cst_object_id *id = NULL;
    OK(cst_object_copy_id(boss, &id, E));
    CHECK(cst_object_id_equal(id, value.as.object_id));
    cst_release(id);
    /* No save is in progress. */
    cst_conflict *kept = cst_retain((void *)(uintptr_t)conflict);
    cst_release(error);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_conflict_resolve(kept, CST_MERGE_ROLLBACK, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_conflict_resolve(kept, 5, E));
    cst_release(ada);
    cst_release(boss);
    company_close(&c);
    CHECK_INT(2, cst_conflict_new_version(kept));
    cst_release(kept);
}

/* Adds the increments of both sides to the number. */
static cst_status add_up(void *userdata, cst_context *context, size_t count, cst_conflict *const *conflicts,
                         cst_error **error) {
    (void)userdata;
    asked++;
    shown = count;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_save(context, NULL));
    for (size_t i = 0; i < count; i++) {
        cst_value base, mine, theirs;
        OK(cst_conflict_value(conflicts[i], CST_SNAPSHOT_OBJECT, 0, text("number"), &base, E));
        OK(cst_conflict_value(conflicts[i], CST_SNAPSHOT_CURRENT, 0, text("number"), &mine, E));
        OK(cst_conflict_value(conflicts[i], CST_SNAPSHOT_THEIRS, 0, text("number"), &theirs, E));
        cst_status status = cst_conflict_resolve(conflicts[i], CST_MERGE_OBJECT_TRUMP, error);
        if (status < 0) return status;
        cst_object *object = NULL;
        OK(cst_context_object_with_id(context, cst_conflict_object_id_at(conflicts[i], 0), &object, E));
        set(object, number_key, value_int(mine.as.integer + theirs.as.integer - base.as.integer));
        cst_release(object);
    }
    return CST_OK;
}

static cst_status refuse(void *userdata, cst_context *context, size_t count, cst_conflict *const *conflicts,
                         cst_error **error) {
    (void)userdata, (void)context, (void)count, (void)conflicts;
    cst_error_new_custom(text("App"), 7, text("not like this"), NULL, NULL, error);
    return CST_E_CALLBACK;
}

static cst_status throw_away(void *userdata, cst_context *context, size_t count, cst_conflict *const *conflicts,
                             cst_error **error) {
    (void)userdata, (void)count, (void)conflicts, (void)error;
    OK(cst_context_set_merge_policy(context, NULL, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_reset(context, NULL));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_rollback(context, NULL));
    return CST_OK;
}

static void a_merge_callback_resolves_conflicts(void) {
    struct company c = company_open(check_path("m.sqlite"));
    number_key = c.number;
    asked = destroyed = 0;
    cst_object *ada = company_employee(&c, c.context, "Ada", 10);
    save(c.context);
    change_elsewhere(&c, ada, 15);
    set(ada, c.number, value_int(12));
    set_policy(&c, CST_MERGE_ERROR, add_up);
    save(c.context);
    CHECK_INT(1, asked);
    CHECK_INT(1, shown);
    CHECK_INT(17, stored_number(&c));
    CHECK_INT(0, destroyed);
    set_policy(&c, CST_MERGE_OBJECT_TRUMP, refuse);
    CHECK_INT(1, destroyed);
    change_elsewhere(&c, ada, 20);
    set(ada, c.number, value_int(21));
    cst_error *error = NULL;
    CHECK_STATUS(CST_E_CALLBACK, cst_context_save(c.context, &error));
    CHECK(strcmp("the callback resolve of the merge policy failed: not like this", cst_error_message(error).data) == 0);
    CHECK_INT(7, cst_error_code(cst_error_detail_at(error, 0)));
    cst_release(error);
    CHECK_INT(21, get_int(ada, c.number));
    set_policy(&c, CST_MERGE_OBJECT_TRUMP, throw_away);
    save(c.context);
    CHECK_INT(21, stored_number(&c));
    CHECK_INT(3, destroyed);
    cst_release(ada);
    company_close(&c);
}

static void merge_policies_are_checked_and_replaced(void) {
    struct company c = company_open(check_path("m.sqlite"));
    static int one = 1;
    destroyed = 0;
    cst_merge_policy *policy = NULL;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_merge_policy_new(5, add_up, &one, count_end, &policy, E));
    CHECK(policy == NULL);
    CHECK_INT(1, destroyed);
    OK(cst_context_merge_policy(c.context, &policy, E));
    CHECK_INT(CST_MERGE_ERROR, cst_merge_policy_type(policy));
    cst_release(policy);
    set_policy(&c, CST_MERGE_ROLLBACK, NULL);
    OK(cst_context_merge_policy(c.context, &policy, E));
    CHECK_INT(CST_MERGE_ROLLBACK, cst_merge_policy_type(policy));
    cst_release(policy);
    OK(cst_context_set_merge_policy(c.context, NULL, E));
    OK(cst_context_merge_policy(c.context, &policy, E));
    CHECK_INT(CST_MERGE_ERROR, cst_merge_policy_type(policy));
    company_close(&c);
    cst_release(policy);
    CHECK_INT(0, cst_merge_policy_type(policy));
    CHECK_INT(0, cst_conflict_kind(NULL));
}

static void objects_marked_for_conflict_detection_are_checked(void) {
    struct company c = company_open(check_path("m.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    save(c.context);
    OK(cst_context_detect_conflicts(c.context, ada, E));
    change_elsewhere(&c, ada, 2);
    cst_object *bob = company_employee(&c, c.context, "Bob", 3);
    CHECK_STATUS(CST_E_CONFLICT, cst_context_save(c.context, E));
    CHECK_INT(1, company_count(c.context, c.employee, "number == 2"));
    set_policy(&c, CST_MERGE_STORE_TRUMP, NULL);
    save(c.context);
    CHECK_INT(2, get_int(ada, c.number));
    cst_release(ada);
    cst_release(bob);
    company_close(&c);
}

static void unique_constraint_conflicts_are_resolved(void) {
    cst_model *model = NULL;
    cst_entity *tag = NULL;
    cst_attribute *name = NULL;
    OK(cst_model_new(&model, E));
    OK(cst_model_add_entity(model, text("Tag"), &tag, E));
    OK(cst_entity_add_attribute(tag, text("name"), CST_ATTRIBUTE_STRING, 0, &name, E));
    cst_string names[] = {text("name")};
    OK(cst_entity_add_unique_constraint(tag, 1, names, E));
    cst_coordinator *coordinator = NULL;
    OK(cst_coordinator_new(model, &coordinator, E));
    OK(cst_coordinator_add_store(coordinator, text("SQLite"), text(check_path("t.sqlite")), NULL, NULL, E));
    cst_key key = CST_NO_KEY;
    OK(cst_entity_key(tag, text("name"), &key, E));
    cst_context *contexts[2] = {NULL, NULL};
    cst_object *tags[2] = {NULL, NULL};
    for (int i = 0; i < 2; i++) {
        OK(cst_context_new(coordinator, CST_QUEUE_CALLER, &contexts[i], E));
        OK(cst_context_insert(contexts[i], tag, &tags[i], E));
        set(tags[i], key, value_text("red"));
    }
    save(contexts[0]);
    cst_error *error = NULL;
    CHECK_STATUS(CST_E_CONFLICT, cst_context_save(contexts[1], &error));
    CHECK_INT(CST_CODE_MANAGED_OBJECT_CONSTRAINT_MERGE, cst_error_code(error));
    const cst_conflict *conflict = cst_error_conflict_at(error, 0);
    CHECK_INT(CST_CONFLICT_CONSTRAINT, cst_conflict_kind(conflict));
    cst_object_id *stored = NULL;
    OK(cst_object_copy_id(tags[0], &stored, E));
    CHECK(cst_object_id_equal(stored, cst_conflict_database_id(conflict)));
    cst_value value;
    OK(cst_conflict_value(conflict, CST_SNAPSHOT_THEIRS, 0, text("name"), &value, E));
    CHECK(strcmp("red", value.as.string.data) == 0);
    cst_release(error);
    cst_merge_policy *policy = NULL;
    OK(cst_merge_policy_new(CST_MERGE_OBJECT_TRUMP, NULL, NULL, NULL, &policy, E));
    OK(cst_context_set_merge_policy(contexts[1], policy, E));
    save(contexts[1]);
    cst_object_id *mine = NULL;
    OK(cst_object_copy_id(tags[1], &mine, E));
    CHECK(cst_object_id_equal(stored, mine));
    void *all[] = {mine, stored, policy, tags[0], tags[1], contexts[0], contexts[1], coordinator, model};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        cst_release(all[i]);
}

/* Two rows in conflict are two conflicts, each of its own object, with all differing values. */
static void each_object_has_its_own_conflict(void) {
    struct company c = company_open(check_path("m.sqlite"));
    cst_object *people[2];
    cst_object_id *ids[2];
    for (int i = 0; i < 2; i++)
        people[i] = company_employee(&c, c.context, i ? "Bob" : "Ada", i);
    save(c.context);
    for (int i = 0; i < 2; i++) {
        OK(cst_object_copy_id(people[i], &ids[i], E));
        change_elsewhere(&c, people[i], 10 + i);
        set(people[i], c.number, value_int(20 + i));
        set(people[i], c.notes, value_text("mine"));
    }
    cst_error *error = NULL;
    CHECK_STATUS(CST_E_CONFLICT, cst_context_save(c.context, &error));
    CHECK_INT(2, cst_error_conflict_count(error));
    CHECK_INT(0, cst_error_conflict_count(NULL));
    CHECK(cst_error_conflict_at(NULL, 0) == NULL && cst_error_conflict_at(error, 2) == NULL &&
          cst_error_conflict_at(error, SIZE_MAX) == NULL);
    for (size_t n = 0; n < 2; n++) {
        const cst_conflict *conflict = cst_error_conflict_at(error, n);
        const cst_object_id *id = cst_conflict_object_id_at(conflict, 0);
        const int i = cst_object_id_equal(id, ids[1]);
        CHECK(cst_object_id_equal(id, ids[i]));
        CHECK_INT(2, cst_conflict_property_count(conflict));
        cst_value value;
        OK(cst_conflict_value(conflict, CST_SNAPSHOT_CURRENT, 0, text("number"), &value, E));
        CHECK_INT(20 + i, value.as.integer);
        OK(cst_conflict_value(conflict, CST_SNAPSHOT_CURRENT, 0, text("notes"), &value, E));
        CHECK_TEXT("mine", value.as.string);
        OK(cst_conflict_value(conflict, CST_SNAPSHOT_OBJECT, 0, text("notes"), &value, E));
        CHECK_INT(CST_NULL, value.type);
        OK(cst_conflict_value(conflict, CST_SNAPSHOT_THEIRS, 0, text("number"), &value, E));
        CHECK_INT(10 + i, value.as.integer);
        CHECK_STATUS(CST_NOT_FOUND, cst_conflict_value(conflict, CST_SNAPSHOT_THEIRS, 0, text("nothing"), &value, E));
        CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_conflict_value(conflict, -1, 0, text("number"), &value, E));
        CHECK_CONTAINS("-1 is not a snapshot", cst_error_message(check_error()));
    }
    CHECK_INT(0, cst_conflict_old_version(NULL));
    CHECK_INT(0, cst_conflict_new_version(NULL));
    CHECK_INT(0, cst_conflict_object_count(NULL));
    CHECK_INT(0, cst_conflict_property_count(NULL));
    CHECK_TEXT(NULL, cst_conflict_message(NULL));
    CHECK_TEXT(NULL, cst_conflict_property_at(NULL, 0));
    CHECK(cst_conflict_object_id_at(NULL, 0) == NULL && cst_conflict_database_id(NULL) == NULL);
    cst_release(error);
    for (int i = 0; i < 2; i++) {
        OK(cst_release(people[i]));
        OK(cst_release(ids[i]));
    }
    OK(cst_context_rollback(c.context, E));
    company_close(&c);
}

/* Of a deleted row there is no newest state. */
static void the_conflict_of_a_deleted_row_has_no_new_version(void) {
    struct company c = company_open(check_path("m.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1), *same = NULL;
    save(c.context);
    cst_context *other = company_context(&c, CST_QUEUE_CALLER);
    cst_object_id *id = NULL;
    OK(cst_object_copy_id(ada, &id, E));
    OK(cst_context_object_with_id(other, id, &same, E));
    OK(cst_context_delete(other, same, E));
    save(other);
    set(ada, c.number, value_int(3));
    cst_error *error = NULL;
    CHECK_STATUS(CST_E_CONFLICT, cst_context_save(c.context, &error));
    const cst_conflict *conflict = cst_error_conflict_at(error, 0);
    REQUIRE(conflict != NULL);
    CHECK_INT(1, cst_conflict_old_version(conflict));
    CHECK_INT(0, cst_conflict_new_version(conflict));
    cst_value value;
    CHECK_STATUS(CST_NOT_FOUND, cst_conflict_value(conflict, CST_SNAPSHOT_THEIRS, 0, text("number"), &value, E));
    CHECK_INT(CST_NULL, value.type);
    check_int_value(conflict, CST_SNAPSHOT_OBJECT, 1);
    check_int_value(conflict, CST_SNAPSHOT_CURRENT, 3);
    cst_release(error), cst_release(id), cst_release(same), cst_release(other), cst_release(ada);
    OK(cst_context_rollback(c.context, E));
    company_close(&c);
}

static void unknown_merge_policy_types_are_refused(void) {
    cst_merge_policy *policy = NULL;
    for (int32_t type = CST_MERGE_ERROR; type <= CST_MERGE_ROLLBACK; type++) {
        OK(cst_merge_policy_new(type, NULL, NULL, NULL, &policy, E));
        CHECK_INT(type, cst_merge_policy_type(policy));
        OK(cst_release(policy));
        OK(cst_merge_policy_new(type, add_up, NULL, NULL, &policy, E));
        CHECK_INT(type, cst_merge_policy_type(policy));
        OK(cst_release(policy));
    }
    const int32_t wrong[] = {-1, 5, INT32_MAX};
    for (size_t i = 0; i < 3; i++) {
        CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_merge_policy_new(wrong[i], NULL, NULL, NULL, &policy, E));
        CHECK(policy == NULL);
    }
    CHECK_INT(CST_MERGE_ERROR, cst_merge_policy_type(NULL));
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(merge_policy_types_resolve_conflicts);
    RUN(a_conflict_error_describes_the_conflict);
    RUN(a_merge_callback_resolves_conflicts);
    RUN(merge_policies_are_checked_and_replaced);
    RUN(objects_marked_for_conflict_detection_are_checked);
    RUN(unique_constraint_conflicts_are_resolved);
    RUN(each_object_has_its_own_conflict);
    RUN(the_conflict_of_a_deleted_row_has_no_new_version);
    RUN(unknown_merge_policy_types_are_refused);
    return check_end();
}
