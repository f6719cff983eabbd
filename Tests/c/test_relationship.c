/* Relationships: inverses, stealing, order, delete rules; all of it over save and reopen.
 *
 * SPDX-License-Identifier: MIT
 */
#include "company.h"

#include <string.h>

static bool has_member(const cst_object *object, cst_key key, const cst_object *member) {
    bool contained = false;
    OK(cst_object_has_member(object, key, member, &contained, E));
    return contained;
}

static cst_object *target(const cst_object *object, cst_key key) {
    cst_value value = get(object, key);
    if (value.type == CST_NULL) return NULL;
    REQUIRE(value.type == CST_OBJECT);
    return value.as.object;
}

/* The names of an ordered relationship's members, joined. */
static void expect_order(const cst_object *object, cst_key key, cst_key name, const char *expected) {
    char joined[256] = "";
    cst_results *members = NULL;
    OK(cst_object_copy_members(object, key, &members, E));
    for (size_t i = 0; i < cst_results_count(members); i++) {
        cst_string one = get_text(object_at(members, i), name);
        strncat(joined, one.data, sizeof joined - strlen(joined) - 1);
    }
    OK(cst_release(members));
    CHECK_TEXT(expected, text_of_size(joined, strlen(joined)));
}

static void inverse_relationships_are_updated(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1), *bob = company_employee(&c, c.context, "Bob", 2);
    cst_object *rnd = company_insert(&c, c.context, c.department, c.department_name, "R&D");
    cst_object *ops = company_insert(&c, c.context, c.department, c.department_name, "Ops");
    set(ada, c.to_department, value_object(rnd));
    CHECK(has_member(rnd, c.employees, ada));
    CHECK(!has_member(rnd, c.employees, bob));
    OK(cst_object_add_member(rnd, c.employees, bob, E));
    CHECK(target(bob, c.to_department) == rnd);
    CHECK_STATUS(CST_UNCHANGED, cst_object_add_member(rnd, c.employees, bob, E));
    CHECK_INT(2, member_count(rnd, c.employees));
    /* Stealing: a to-one target changes hands. */
    OK(cst_object_add_member(ops, c.employees, bob, E));
    CHECK(target(bob, c.to_department) == ops);
    CHECK_INT(1, member_count(rnd, c.employees));
    OK(cst_object_remove_member(ops, c.employees, bob, E));
    CHECK(target(bob, c.to_department) == NULL);
    CHECK_STATUS(CST_UNCHANGED, cst_object_remove_member(ops, c.employees, bob, E));
    cst_object *both[] = {ada, bob};
    OK(cst_object_set_members(ops, c.employees, 2, both, E));
    CHECK_INT(0, member_count(rnd, c.employees));
    CHECK(target(ada, c.to_department) == ops);
    OK(cst_object_set_members(ops, c.employees, 0, NULL, E));
    CHECK(target(ada, c.to_department) == NULL && target(bob, c.to_department) == NULL);
    OK(cst_release(ada));
    OK(cst_release(bob));
    OK(cst_release(rnd));
    OK(cst_release(ops));
    company_close(&c);
}

static void a_relationship_can_be_its_own_inverse(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1), *bob = company_employee(&c, c.context, "Bob", 2);
    OK(cst_object_add_member(ada, c.friends, bob, E));
    CHECK(has_member(bob, c.friends, ada));
    CHECK_STATUS(CST_UNCHANGED, cst_object_add_member(ada, c.friends, bob, E));
    cst_object *both[] = {bob, ada}; /* of which one is a member */
    CHECK(cst_object_add_members(ada, c.friends, 2, both, E) >= 0);
    CHECK_INT(2, member_count(ada, c.friends));
    CHECK_INT(1, member_count(bob, c.friends));
    save(c.context);
    OK(cst_context_refresh_all(c.context, E));
    CHECK(has_member(bob, c.friends, ada) && has_member(ada, c.friends, ada) && has_member(ada, c.friends, bob));
    OK(cst_object_remove_member(bob, c.friends, ada, E));
    CHECK_INT(1, member_count(ada, c.friends));
    set(bob, c.manager, value_object(ada));
    set(ada, c.manager, value_object(bob));
    CHECK(has_member(ada, c.reports, bob) && has_member(bob, c.reports, ada));
    save(c.context);
    OK(cst_release(ada));
    OK(cst_release(bob));
    company_close(&c);
}

static void a_to_one_relationship_can_be_its_own_inverse(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1), *bob = company_employee(&c, c.context, "Bob", 2);
    cst_object *cyd = company_employee(&c, c.context, "Cyd", 3);
    cst_key spouse = CST_NO_KEY;
    OK(cst_entity_key(c.employee, text("spouse"), &spouse, E));
    set(ada, spouse, value_object(bob));
    CHECK(target(bob, spouse) == ada);
    set(cyd, spouse, value_object(bob));
    CHECK(target(ada, spouse) == NULL);
    set(ada, spouse, value_object(ada));
    CHECK(target(ada, spouse) == ada);
    OK(cst_release(ada));
    OK(cst_release(bob));
    OK(cst_release(cyd));
    company_close(&c);
}

static void a_target_follows_saves_rollbacks_and_refreshes(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1), *bob = company_employee(&c, c.context, "Bob", 2);
    cst_object *cyd = company_employee(&c, c.context, "Cyd", 3), *twin = NULL;
    set(ada, c.manager, value_object(bob));
    save(c.context);
    CHECK(target(ada, c.manager) == bob);
    set(ada, c.manager, value_object(cyd));
    CHECK(target(ada, c.manager) == cyd);
    OK(cst_context_rollback(c.context, E));
    CHECK(target(ada, c.manager) == bob);
    set(ada, c.manager, value_object(cyd));
    save(c.context);
    CHECK(target(ada, c.manager) == cyd);
    OK(cst_object_add_member(bob, c.reports, ada, E));
    CHECK(target(ada, c.manager) == bob);
    OK(cst_object_refresh(ada, true, E));
    CHECK(target(ada, c.manager) == bob);
    OK(cst_context_rollback(c.context, E));
    OK(cst_object_refresh(ada, false, E));
    CHECK(target(ada, c.manager) == cyd);
    OK(cst_context_delete(c.context, cyd, E));
    OK(cst_context_process_pending_changes(c.context, E));
    CHECK(target(ada, c.manager) == NULL);
    OK(cst_context_rollback(c.context, E));
    CHECK(target(ada, c.manager) == cyd);
    /* Another context changes the relationship, and this one reads it again. */
    cst_context *other = company_context(&c, CST_QUEUE_CALLER);
    cst_object_id *id = NULL;
    OK(cst_object_copy_id(ada, &id, E));
    OK(cst_context_existing_object(other, id, &twin, E));
    set(twin, c.manager, value_null());
    save(other);
    CHECK(target(ada, c.manager) == cyd);
    OK(cst_context_refresh_all(c.context, E));
    CHECK(target(ada, c.manager) == NULL);
    cst_release(twin), cst_release(id), cst_release(other);
    cst_release(ada), cst_release(bob), cst_release(cyd);
    company_close(&c);
}

static void a_borrowed_target_is_valid_until_the_relationship_changes(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    cst_object *rnd = company_insert(&c, c.context, c.department, c.department_name, "R&D");
    cst_object *ops = company_insert(&c, c.context, c.department, c.department_name, "Ops");
    set(ada, c.to_department, value_object(rnd));
    CHECK(target(ada, c.to_department) == rnd);
    OK(cst_release(rnd));
    CHECK(state(rnd) & CST_OBJECT_INSERTED);
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_release(rnd)); /* borrowed */
    save(c.context);
    CHECK_TEXT("R&D", get_text(rnd, c.department_name));
    const size_t handles = cst_handle_count();
    for (int i = 0; i < 100; i++)
        CHECK(target(ada, c.to_department) == rnd);
    CHECK(cst_handle_count() <= handles + 1);
    set(ada, c.number, value_int(5)); /* another property */
    CHECK_TEXT("R&D", get_text(rnd, c.department_name));
    set(ada, c.to_department, value_null());
    cst_value value;
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_object_get(rnd, c.department_name, &value, E));
    set(ada, c.to_department, value_object(ops));
    /* A retained target stays valid. */
    cst_object *held = cst_retain(target(ada, c.to_department));
    CHECK(held == ops);
    set(ada, c.to_department, value_null());
    CHECK_TEXT("Ops", get_text(held, c.department_name));
    OK(cst_release(held));
    CHECK_TEXT("Ops", get_text(ops, c.department_name));
    OK(cst_release(ops));
    OK(cst_release(ada));
    company_close(&c);
}

static void relationships_are_found_by_their_destination(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_buffer names = {NULL, 0, 0};
    size_t count = 0, listed = 0;
    OK(cst_entity_copy_relationships_to(c.employee, c.employee, &names, &count, E));
    for (size_t at = 0; at < names.size; at += strlen(names.data + at) + 1) {
        cst_relationship *relationship = NULL;
        OK(cst_entity_relationship(c.employee, text(names.data + at), &relationship, E));
        listed++;
    }
    CHECK(count >= 3 && listed == count);
    OK(cst_entity_copy_relationships_to(c.task, c.department, &names, &count, E));
    CHECK(count == 0 && names.size == 0);
    cst_buffer_dispose(&names);
    company_close(&c);
}

static void the_order_of_members_is_saved(void) {
    const char *path = check_path("a.sqlite");
    struct company c = company_open(path);
    cst_object *project = company_insert(&c, c.context, c.project, c.title, "P"), *tasks[4];
    const char *names[] = {"a", "b", "c", "d"};
    for (int i = 0; i < 4; i++)
        tasks[i] = company_insert(&c, c.context, c.task, c.task_title, names[i]);
    OK(cst_object_add_members(project, c.tasks, 3, tasks, E));
    expect_order(project, c.tasks, c.task_title, "abc");
    OK(cst_object_insert_member(project, c.tasks, 0, tasks[3], E));
    expect_order(project, c.tasks, c.task_title, "dabc");
    OK(cst_object_insert_member(project, c.tasks, 2, tasks[3], E));
    expect_order(project, c.tasks, c.task_title, "abdc");
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_insert_member(project, c.tasks, 99, tasks[3], E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_insert_member(project, c.tasks, 4, tasks[3], E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_insert_member(project, c.tasks, SIZE_MAX, tasks[3], E));
    save(c.context);
    OK(cst_context_refresh_all(c.context, E));
    expect_order(project, c.tasks, c.task_title, "abdc");
    cst_object *reversed[] = {tasks[2], tasks[3], tasks[1], tasks[0]};
    OK(cst_object_set_members(project, c.tasks, 4, reversed, E));
    save(c.context);
    for (int i = 0; i < 4; i++)
        OK(cst_release(tasks[i]));
    OK(cst_release(project));
    company_close(&c);
    c = company_open(path);
    cst_results *results = company_fetch(c.context, c.project, NULL, NULL);
    expect_order(object_at(results, 0), c.tasks, c.task_title, "cdba");
    OK(cst_release(results));
    company_close(&c);
}

static void ordered_many_to_many_relationships_keep_their_order(void) {
    const char *path = check_path("a.sqlite");
    struct company c = company_open(path);
    cst_object *p = company_insert(&c, c.context, c.project, c.title, "P");
    cst_object *q = company_insert(&c, c.context, c.project, c.title, "Q");
    cst_object *people[3];
    const char *names[] = {"x", "y", "z"};
    for (int i = 0; i < 3; i++)
        people[i] = company_employee(&c, c.context, names[i], i);
    cst_object *order[] = {people[2], people[0], people[1]};
    OK(cst_object_set_members(p, c.reviewers, 3, order, E));
    OK(cst_object_add_member(people[1], c.reviews, q, E));
    OK(cst_object_add_member(people[2], c.reviews, q, E));
    expect_order(p, c.reviewers, c.name, "zxy");
    expect_order(q, c.reviewers, c.name, "yz");
    save(c.context);
    for (int i = 0; i < 3; i++)
        OK(cst_release(people[i]));
    OK(cst_release(p));
    OK(cst_release(q));
    company_close(&c);
    c = company_open(path);
    cst_results *results = company_fetch(c.context, c.project, NULL, "title");
    expect_order(object_at(results, 0), c.reviewers, c.name, "zxy");
    expect_order(object_at(results, 1), c.reviewers, c.name, "yz");
    OK(cst_release(results));
    results = company_fetch(c.context, c.employee, "name == 'z'", NULL);
    CHECK_INT(2, member_count(object_at(results, 0), c.reviews));
    OK(cst_release(results));
    company_close(&c);
}

static void unsuitable_members_are_refused(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1), *bob = company_employee(&c, c.context, "Bob", 2);
    cst_object *rnd = company_insert(&c, c.context, c.department, c.department_name, "R&D");
    cst_value value = value_object(bob), refused = value_null();
    cst_object_id *id = NULL;
    bool is_temporary = false;
    size_t count = 99;
    OK(cst_object_copy_id(bob, &id, E));
    CHECK_STATUS(CST_E_TYPE_MISMATCH, cst_object_set(ada, c.to_department, &value, E));
    CHECK_TEXT("department", cst_error_key(check_error()));
    CHECK_STATUS(CST_OK, cst_error_value(check_error(), &refused));
    CHECK(refused.type == CST_OBJECT_ID && cst_object_id_equal(id, refused.as.object_id));
    OK(cst_release(id));
    CHECK_STATUS(CST_E_TYPE_MISMATCH, cst_object_add_member(rnd, c.employees, rnd, E));
    CHECK_STATUS(CST_OK, cst_error_value(check_error(), &refused));
    CHECK_INT(CST_OBJECT_ID, refused.type);
    CHECK_STATUS(CST_OK, cst_object_id_is_temporary(refused.as.object_id, &is_temporary, NULL));
    CHECK(is_temporary);
    value = value_object(NULL);
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_object_set(ada, c.to_department, &value, E));
    value = value_object((cst_object *)c.model);
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_object_set(ada, c.to_department, &value, E));
    value = value_text("R&D");
    CHECK_STATUS(CST_E_TYPE_MISMATCH, cst_object_set(ada, c.to_department, &value, E));
    value = value_object(rnd);
    CHECK_STATUS(CST_E_TYPE_MISMATCH, cst_object_set(ada, c.name, &value, E));
    /* To-many functions on to-one properties and attributes, and an index for an unordered relationship. */
    CHECK_STATUS(CST_E_TYPE_MISMATCH, cst_object_add_member(ada, c.manager, bob, E));
    CHECK_STATUS(CST_E_TYPE_MISMATCH, cst_object_add_member(ada, c.name, bob, E));
    CHECK_STATUS(CST_E_TYPE_MISMATCH, cst_object_member_count(ada, c.name, &count, E));
    CHECK_INT(0, count);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_insert_member(ada, c.friends, 0, bob, E));
    cst_object *some[] = {bob, NULL};
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_object_add_members(ada, c.friends, 2, some, E));
    CHECK_INT(0, member_count(ada, c.friends)); /* all or nothing */
    some[1] = rnd;
    CHECK_STATUS(CST_E_TYPE_MISMATCH, cst_object_add_members(ada, c.friends, 2, some, E));
    CHECK_STATUS(CST_E_TYPE_MISMATCH, cst_object_set_members(ada, c.friends, 2, some, E));
    CHECK_INT(0, member_count(ada, c.friends));
    OK(cst_release(ada));
    OK(cst_release(bob));
    OK(cst_release(rnd));
    company_close(&c);
}

static void delete_rules_deny_nullify_and_cascade(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1), *bob = company_employee(&c, c.context, "Bob", 2);
    cst_object *rnd = company_insert(&c, c.context, c.department, c.department_name, "R&D");
    cst_object *project = company_insert(&c, c.context, c.project, c.title, "P");
    cst_object *task = company_insert(&c, c.context, c.task, c.task_title, "t");
    set(bob, c.manager, value_object(ada));
    set(ada, c.to_department, value_object(rnd));
    OK(cst_object_add_member(project, c.reviewers, ada, E));
    set(task, c.to_project, value_object(project));
    save(c.context);

    /* Deny: the save fails, and the error names the relationship. */
    OK(cst_context_delete(c.context, ada, E));
    CHECK_STATUS(CST_E_VALIDATION, cst_context_save(c.context, E));
    CHECK_INT(CST_CODE_VALIDATION_RELATIONSHIP_DENIED_DELETE, cst_error_code(check_error()));
    CHECK_TEXT("Employee", cst_error_entity(check_error()));
    CHECK_TEXT("reviews", cst_error_key(check_error()));
    OK(cst_context_rollback(c.context, E));

    /* Nullify. Ada reviews nothing any more, so she can be deleted. */
    OK(cst_object_remove_member(project, c.reviewers, ada, E));
    OK(cst_context_delete(c.context, ada, E));
    OK(cst_context_process_pending_changes(c.context, E));
    CHECK(target(bob, c.manager) == NULL);
    CHECK_INT(0, member_count(rnd, c.employees));
    save(c.context);

    /* Cascade. */
    OK(cst_context_delete(c.context, project, E));
    OK(cst_context_process_pending_changes(c.context, E));
    CHECK(state(task) & CST_OBJECT_DELETED);
    save(c.context);
    CHECK_INT(0, company_count(c.context, c.task, NULL));
    CHECK_INT(1, company_count(c.context, c.employee, NULL));
    OK(cst_release(ada));
    OK(cst_release(bob));
    OK(cst_release(rnd));
    OK(cst_release(project));
    OK(cst_release(task));
    company_close(&c);
}

static void copied_members_are_a_snapshot(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1), *bob = company_employee(&c, c.context, "Bob", 2);
    cst_results *members = NULL;
    OK(cst_object_add_member(ada, c.friends, bob, E));
    OK(cst_object_copy_members(ada, c.friends, &members, E));
    OK(cst_object_remove_member(ada, c.friends, bob, E));
    CHECK_INT(1, cst_results_count(members));
    CHECK(object_at(members, 0) == bob);
    OK(cst_release(members));
    OK(cst_release(ada));
    OK(cst_release(bob));
    company_close(&c);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(inverse_relationships_are_updated);
    RUN(a_relationship_can_be_its_own_inverse);
    RUN(a_to_one_relationship_can_be_its_own_inverse);
    RUN(a_target_follows_saves_rollbacks_and_refreshes);
    RUN(a_borrowed_target_is_valid_until_the_relationship_changes);
    RUN(the_order_of_members_is_saved);
    RUN(ordered_many_to_many_relationships_keep_their_order);
    RUN(unsuitable_members_are_refused);
    RUN(delete_rules_deny_nullify_and_cascade);
    RUN(copied_members_are_a_snapshot);
    RUN(relationships_are_found_by_their_destination);
    return check_end();
}
