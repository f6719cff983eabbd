/* Nested contexts, and merging the saves of other contexts.
 *
 * SPDX-License-Identifier: MIT
 */
#include "company.h"

#include <pthread.h>

static cst_context *child_of(cst_context *parent, cst_queue queue) {
    cst_context *child = NULL, *found = NULL;
    OK(cst_context_new_child(parent, queue, &child, E));
    OK(cst_context_parent(child, &found, E));
    CHECK(found == parent);
    return child;
}

static cst_object_id *id_of(cst_object *object) {
    cst_object_id *id = NULL;
    OK(cst_object_copy_id(object, &id, E));
    return id;
}

/* The object of another context in this one; owned by the caller. */
static cst_object *counterpart(cst_context *context, cst_object *object) {
    cst_object_id *id = id_of(object);
    cst_object *found = NULL;
    OK(cst_context_object_with_id(context, id, &found, E));
    OK(cst_release(id));
    return found;
}

static void check_name(const struct company *c, cst_object *object, const char *name) {
    cst_value value;
    OK(cst_object_get(object, c->name, &value, E));
    CHECK_TEXT(name, value.as.string);
}

static void rename_to(const struct company *c, cst_object *object, const char *name) {
    const cst_value value = value_text(name);
    OK(cst_object_set(object, c->name, &value, E));
}

static void a_child_saves_into_its_parent(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    cst_context *child = child_of(c.context, CST_QUEUE_CALLER), *none = NULL;
    CHECK_STATUS(CST_NOT_FOUND, cst_context_parent(c.context, &none, E));
    CHECK_INT(1, company_count(child, c.employee, "name == 'Ada'"));
    cst_object *theirs = counterpart(child, ada);
    CHECK(theirs != ada);
    check_name(&c, theirs, "Ada");
    rename_to(&c, theirs, "Ada L.");
    cst_object *bob = company_employee(&c, child, "Bob", 2);
    check_name(&c, ada, "Ada");
    OK(cst_context_save(child, E));
    check_name(&c, ada, "Ada L.");
    bool changes = true;
    OK(cst_context_has_changes(child, &changes, E));
    CHECK(!changes);
    CHECK_INT(2, company_count(c.context, c.employee, NULL));
    OK(cst_context_save(c.context, E));
    cst_object_id *id = id_of(bob);
    bool temporary = true;
    OK(cst_object_id_is_temporary(id, &temporary, E));
    CHECK(!temporary);
    cst_context *fresh = company_context(&c, CST_QUEUE_CALLER);
    CHECK_INT(2, company_count(fresh, c.employee, "name IN {'Ada L.', 'Bob'}"));
    OK(cst_release(fresh));
    OK(cst_release(id));
    OK(cst_release(bob));
    OK(cst_release(theirs));
    OK(cst_release(ada));
    OK(cst_release(child));
    company_close(&c);
}

static void a_child_context_retains_its_parent(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_context *parent = company_context(&c, CST_QUEUE_CALLER), *child = child_of(parent, CST_QUEUE_CALLER);
    cst_object *ada = company_employee(&c, parent, "Ada", 1);
    OK(cst_release(parent));
    CHECK_INT(1, company_count(child, c.employee, NULL));
    OK(cst_release(child));
    OK(cst_release(ada));
    company_close(&c);
}

static void a_child_save_conflicts_when_the_parent_was_reset(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    cst_context *child = child_of(c.context, CST_QUEUE_CALLER), *wrong = NULL;
    cst_object *theirs = counterpart(child, ada);
    rename_to(&c, theirs, "Ada L.");
    OK(cst_context_reset(c.context, E));
    CHECK_STATUS(CST_E_CONFLICT, cst_context_save(child, E));
    CHECK_CONTAINS("the parent was rolled back or reset", cst_error_message(check_error()));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_new_child(c.context, 7, &wrong, E));
    OK(cst_release(theirs));
    OK(cst_release(ada));
    OK(cst_release(child));
    company_close(&c);
}

static void saves_are_merged_automatically_or_by_a_call(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1), *bob = company_employee(&c, c.context, "Bob", 2);
    OK(cst_context_save(c.context, E));
    cst_context *second = company_context(&c, CST_QUEUE_CALLER), *follower = company_context(&c, CST_QUEUE_CALLER);
    bool merges = true;
    OK(cst_context_automatically_merges(follower, &merges, E));
    CHECK(!merges);
    OK(cst_context_set_automatically_merges(follower, true, E));
    OK(cst_context_automatically_merges(follower, &merges, E));
    CHECK(merges);
    cst_object *theirs = counterpart(second, ada), *other = counterpart(second, bob);
    cst_object *following = counterpart(follower, ada);
    check_name(&c, theirs, "Ada");
    check_name(&c, other, "Bob");
    check_name(&c, following, "Ada");

    rename_to(&c, ada, "Alicia");
    cst_object *eve = company_employee(&c, c.context, "Eve", 3);
    cst_object_id *ids[3] = {NULL, id_of(ada), id_of(bob)};
    OK(cst_context_delete(c.context, bob, E));
    OK(cst_context_save(c.context, E));
    ids[0] = id_of(eve);
    check_name(&c, following, "Alicia");
    check_name(&c, theirs, "Ada");
    OK(cst_context_merge_changes(second, 1, (const cst_object_id *const *)&ids[0], 1,
                                 (const cst_object_id *const *)&ids[1], 1, (const cst_object_id *const *)&ids[2], E));
    check_name(&c, theirs, "Alicia");
    check_name(&c, other, "Bob");
    cst_object *found = NULL;
    OK(cst_context_registered_object(second, ids[0], &found, E));
    check_name(&c, found, "Eve");
    bool changes = true;
    OK(cst_context_has_changes(second, &changes, E));
    CHECK(!changes);
    OK(cst_context_save(second, E));
    cst_value value;
    CHECK_STATUS(CST_E_OBJECT_GONE, cst_object_get(other, c.name, &value, E));

    const cst_string known[] = {{"x-coredata://elsewhere/Employee/p1", 34}}, wrong[] = {{"Employee", 8}};
    OK(cst_context_merge_remote_changes(second, 0, NULL, 1, known, 0, NULL, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_merge_remote_changes(second, 0, NULL, 1, wrong, 0, NULL, E));
    OK(cst_release(found));
    for (int i = 0; i < 3; i++)
        OK(cst_release(ids[i]));
    OK(cst_release(eve));
    OK(cst_release(following));
    OK(cst_release(other));
    OK(cst_release(theirs));
    OK(cst_release(follower));
    OK(cst_release(second));
    OK(cst_release(bob));
    OK(cst_release(ada));
    company_close(&c);
}

struct counted {
    struct company *company;
    uint64_t count;
};

static cst_status count_employees(void *userdata, cst_context *context, cst_error **error) {
    struct counted *counted = userdata;
    (void)error;
    counted->count = company_count(context, counted->company->employee, NULL);
    return CST_OK;
}

/* The parent is confined to the main thread. */
static void *count_elsewhere(void *argument) {
    struct counted *counted = argument;
    cst_context *child = child_of(counted->company->context, CST_QUEUE_CALLER);
    cst_fetch_request *request = NULL;
    uint64_t count = 0;
    OK(cst_fetch_request_new(counted->company->employee, &request, E));
    CHECK_STATUS(CST_E_WRONG_THREAD, cst_context_count(child, request, &count, E));
    CHECK_CONTAINS("parent", cst_error_message(check_error()));
    check_slot();
    OK(cst_release(request));
    OK(cst_release(child));
    return NULL;
}

static void a_child_context_respects_the_queue_of_its_parent(void) {
    struct company c = company_open(check_path("a.sqlite"));
    struct counted counted = {&c, 0};
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    cst_context *child = child_of(c.context, CST_QUEUE_PRIVATE);
    OK(cst_context_perform_and_wait(child, count_employees, &counted, E));
    CHECK_INT(1, counted.count);
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, count_elsewhere, &counted) == 0);
    REQUIRE(pthread_join(thread, NULL) == 0);
    OK(cst_release(child));
    OK(cst_release(ada));
    company_close(&c);
}

/* Changes from outside, reported by URI: each of the three lists has its own effect. */
static void remote_changes_are_merged_by_uri(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *people[2] = {company_employee(&c, c.context, "Ada", 1), company_employee(&c, c.context, "Bob", 2)};
    OK(cst_context_save(c.context, E));
    cst_context *second = company_context(&c, CST_QUEUE_CALLER);
    cst_object *theirs[2], *found = NULL;
    cst_object_id *ids[3];
    cst_buffer uris[3] = {{0}};
    for (int i = 0; i < 2; i++) {
        theirs[i] = counterpart(second, people[i]);
        check_name(&c, theirs[i], i ? "Bob" : "Ada");
        ids[i] = id_of(people[i]);
    }
    rename_to(&c, people[0], "Alicia");
    OK(cst_context_delete(c.context, people[1], E));
    cst_object *eve = company_employee(&c, c.context, "Eve", 3);
    OK(cst_context_save(c.context, E));
    ids[2] = id_of(eve);
    cst_string texts[3];
    for (int i = 0; i < 3; i++) {
        OK(cst_object_id_copy_uri(ids[i], &uris[i], E));
        texts[i] = text_of_size(uris[i].data, uris[i].size);
    }
    CHECK_STATUS(CST_NOT_FOUND, cst_context_registered_object(second, ids[2], &found, E));
    OK(cst_context_merge_remote_changes(second, 1, &texts[2], 0, NULL, 0, NULL, E));
    OK(cst_context_registered_object(second, ids[2], &found, E));
    OK(cst_release(found));
    check_name(&c, theirs[0], "Ada");
    OK(cst_context_merge_remote_changes(second, 0, NULL, 1, &texts[0], 0, NULL, E));
    check_name(&c, theirs[0], "Alicia");
    CHECK_INT(0, state(theirs[1]) & CST_OBJECT_DELETED);
    OK(cst_context_merge_remote_changes(second, 0, NULL, 0, NULL, 1, &texts[1], E));
    CHECK(state(theirs[1]) & CST_OBJECT_DELETED);
    CHECK(!has_changes(second));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_merge_remote_changes(second, 1, NULL, 0, NULL, 0, NULL, E));
    CHECK_CONTAINS("inserted is NULL but has 1 element", cst_error_message(check_error()));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_merge_changes(second, 0, NULL, 1, NULL, 0, NULL, E));
    CHECK_CONTAINS("updated is NULL but has 1 element", cst_error_message(check_error()));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_merge_changes(second, 0, NULL, 0, NULL, 1, NULL, E));
    CHECK_CONTAINS("deleted is NULL but has 1 element", cst_error_message(check_error()));
    for (int i = 0; i < 3; i++) {
        cst_buffer_dispose(&uris[i]);
        OK(cst_release(ids[i]));
    }
    for (int i = 0; i < 2; i++) {
        OK(cst_release(people[i]));
        OK(cst_release(theirs[i]));
    }
    OK(cst_release(eve));
    OK(cst_release(second));
    company_close(&c);
}

static void automatic_merging_can_be_disabled_again(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    OK(cst_context_save(c.context, E));
    cst_context *follower = company_context(&c, CST_QUEUE_CALLER), *child = child_of(c.context, CST_QUEUE_CALLER);
    cst_object *theirs = counterpart(follower, ada);
    check_name(&c, theirs, "Ada");
    OK(cst_context_set_automatically_merges(follower, true, E));
    rename_to(&c, ada, "B");
    OK(cst_context_save(c.context, E));
    check_name(&c, theirs, "B");
    OK(cst_context_set_automatically_merges(follower, false, E));
    bool merges = true;
    OK(cst_context_automatically_merges(follower, &merges, E));
    CHECK(!merges);
    rename_to(&c, ada, "C");
    OK(cst_context_save(c.context, E));
    check_name(&c, theirs, "B");
    merges = true;
    OK(cst_context_merges_remote_changes(follower, &merges, E));
    CHECK(!merges);
    /* A child context merges the saves of its parent. */
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_set_merges_remote_changes(child, true, E));
    cst_coordinator *coordinator = NULL;
    OK(cst_context_coordinator(child, &coordinator, E));
    CHECK(coordinator == c.coordinator);
    OK(cst_release(theirs));
    OK(cst_release(ada));
    OK(cst_release(child));
    OK(cst_release(follower));
    company_close(&c);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(a_child_saves_into_its_parent);
    RUN(a_child_context_retains_its_parent);
    RUN(a_child_save_conflicts_when_the_parent_was_reset);
    RUN(saves_are_merged_automatically_or_by_a_call);
    RUN(a_child_context_respects_the_queue_of_its_parent);
    RUN(remote_changes_are_merged_by_uri);
    RUN(automatic_merging_can_be_disabled_again);
    return check_end();
}
