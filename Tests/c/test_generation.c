/* Query generations: contexts that read one snapshot of their stores, whatever other contexts save.
 *
 * SPDX-License-Identifier: MIT
 */
#include "company.h"

#include <pthread.h>

static cst_query_generation *current(void) {
    cst_query_generation *generation = NULL;
    OK(cst_query_generation_current(&generation, E));
    CHECK(cst_query_generation_is_current(generation));
    return generation;
}

/* Pins a context, by default to the newest snapshot at its first read. */
static void pin(cst_context *context, cst_query_generation *generation) {
    cst_query_generation *own = generation ? NULL : current();
    OK(cst_context_set_query_generation(context, generation ? generation : own, E));
    OK(cst_release(own));
}

static cst_query_generation *generation_of(cst_context *context) {
    cst_query_generation *generation = NULL;
    OK(cst_context_query_generation(context, &generation, E));
    return generation;
}

static void hire(const struct company *c, const char *name, int number) {
    OK(cst_release(company_employee(c, c->context, name, number)));
    save(c->context);
}

static void a_pinned_context_reads_one_snapshot(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_context *reader = company_context(&c, CST_QUEUE_CALLER);
    cst_query_generation *none = NULL;
    hire(&c, "Ada", 1);
    CHECK_STATUS(CST_NOT_FOUND, cst_context_query_generation(reader, &none, E));
    pin(reader, NULL);
    cst_query_generation *before = generation_of(reader);
    CHECK(cst_query_generation_is_current(before));
    hire(&c, "Bob", 2);
    CHECK_INT(2, company_count(reader, c.employee, NULL));
    cst_query_generation *pinned = generation_of(reader), *same = generation_of(reader);
    CHECK(!cst_query_generation_is_current(pinned));
    CHECK(cst_query_generation_equal(pinned, same) && !cst_query_generation_equal(pinned, before));
    CHECK(cst_query_generation_hash(pinned) == cst_query_generation_hash(same));
    hire(&c, "Eve", 3);
    CHECK_INT(2, company_count(reader, c.employee, NULL));
    /* Another context reads the same state. */
    cst_context *other = company_context(&c, CST_QUEUE_CALLER);
    pin(other, pinned);
    CHECK_INT(2, company_count(other, c.employee, NULL));
    OK(cst_context_set_query_generation(reader, NULL, E));
    CHECK_INT(3, company_count(reader, c.employee, NULL));
    CHECK_INT(2, company_count(other, c.employee, NULL));
    OK(cst_release(before));
    OK(cst_release(pinned));
    OK(cst_release(same));
    OK(cst_release(other));
    OK(cst_release(reader));
    company_close(&c);
}

struct recorded {
    const struct company *company;
    cst_query_generation *generation;
};

static void record_generation(void *userdata, cst_context *context, uint32_t notification, const cst_changes *changes) {
    struct recorded *recorded = userdata;
    CHECK(context != NULL && notification == CST_NOTIFICATION_DID_SAVE);
    recorded->generation = cst_retain(changes->query_generation);
}

static void a_save_advances_the_generation_of_a_pinned_context(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_context *reader = company_context(&c, CST_QUEUE_CALLER);
    struct recorded recorded = {&c, NULL};
    cst_observation *saves = NULL;
    OK(cst_context_observe(reader, CST_NOTIFICATION_DID_SAVE, record_generation, &recorded, NULL, &saves, E));
    pin(reader, NULL);
    CHECK_INT(0, company_count(reader, c.employee, NULL));
    hire(&c, "Ada", 1);
    OK(cst_release(company_employee(&c, reader, "Bob", 2)));
    CHECK_INT(1, company_count(reader, c.employee, NULL));
    save(reader);
    CHECK_INT(2, company_count(reader, c.employee, NULL));
    cst_query_generation *moved = generation_of(reader);
    CHECK(cst_query_generation_equal(moved, recorded.generation));
    OK(cst_release(recorded.generation));
    /* A context that is not pinned has no generation to report. */
    OK(cst_context_set_query_generation(reader, NULL, E));
    OK(cst_release(company_employee(&c, reader, "Eve", 3)));
    save(reader);
    CHECK(recorded.generation == NULL);
    OK(cst_release(moved));
    OK(cst_release(saves));
    OK(cst_release(reader));
    company_close(&c);
}

static void a_child_context_cannot_be_pinned(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_context *child = NULL;
    OK(cst_context_new_child(c.context, CST_QUEUE_CALLER, &child, E));
    cst_query_generation *generation = current(), *none = NULL;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_set_query_generation(child, generation, E));
    CHECK_CONTAINS("pin the outermost parent context", cst_error_message(check_error()));
    CHECK_STATUS(CST_NOT_FOUND, cst_context_query_generation(child, &none, E));
    pin(c.context, NULL);
    CHECK_INT(0, company_count(child, c.employee, NULL));
    CHECK_STATUS(CST_NOT_FOUND, cst_context_query_generation(child, &none, E));
    OK(cst_release(generation));
    OK(cst_release(child));
    company_close(&c);
}

static void unsupported_and_foreign_generations_are_refused(void) {
    cst_store_options options = CST_STORE_OPTIONS_INIT;
    options.flags = CST_STORE_NORMAL_SYNC | CST_STORE_ROLLBACK_JOURNAL;
    struct company rollback = company_open_with(check_path("r.sqlite"), &options);
    cst_query_generation *generation = current(), *theirs = NULL;
    CHECK_STATUS(CST_E_UNSUPPORTED, cst_context_set_query_generation(rollback.context, generation, E));
    CHECK_CONTAINS("write-ahead log", cst_error_message(check_error()));
    CHECK_STATUS(CST_E_UNSUPPORTED, cst_coordinator_query_generation(rollback.coordinator, &theirs, E));
    struct company c = company_open(check_path("a.sqlite"));
    OK(cst_coordinator_query_generation(c.coordinator, &theirs, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_set_query_generation(rollback.context, theirs, E));
    OK(cst_context_set_query_generation(c.context, theirs, E));
    OK(cst_coordinator_remove_store(c.coordinator, c.store, E));
    CHECK_STATUS(CST_E_OBJECT_GONE, cst_context_set_query_generation(c.context, theirs, E));
    CHECK_CONTAINS("a.sqlite", cst_error_message(check_error()));
    OK(cst_release(theirs));
    OK(cst_release(generation));
    company_close(&c);
    company_close(&rollback);
}

static void *release_elsewhere(void *generation) {
    CHECK_STATUS(CST_OK, cst_release(generation));
    return NULL;
}

static void a_generation_can_be_released_on_any_thread(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_query_generation *generation = NULL;
    pthread_t thread;
    hire(&c, "Ada", 1);
    OK(cst_coordinator_query_generation(c.coordinator, &generation, E));
    hire(&c, "Bob", 2);
    CHECK_INT(0, pthread_create(&thread, NULL, release_elsewhere, generation));
    pthread_join(thread, NULL);
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_context_set_query_generation(c.context, generation, E));
    CHECK_INT(2, company_count(c.context, c.employee, NULL));
    company_close(&c);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(a_pinned_context_reads_one_snapshot);
    RUN(a_save_advances_the_generation_of_a_pinned_context);
    RUN(a_child_context_cannot_be_pinned);
    RUN(unsupported_and_foreign_generations_are_refused);
    RUN(a_generation_can_be_released_on_any_thread);
    return check_end();
}
