/* Threads: each with its own context on one coordinator, and many that use one private queue.
 *
 * SPDX-License-Identifier: MIT
 */
#include "company.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { WRITERS = 8, ROUNDS = 25, PER_ROUND = 40, HAMMERS = 6, BLOWS = 300 };

static atomic_int finished, destroyed;

struct work {
    struct company *company;
    cst_context *context;
    int number;
    int64_t seen;
};

/* The checks below are allowed on any thread: none of them ends the test. */

static cst_fetch_request *own_rows(const struct work *work) {
    cst_fetch_request *request = NULL;
    cst_predicate *predicate = NULL;
    cst_value owner = value_int(work->number);
    CHECK_STATUS(CST_OK, cst_predicate_parse(text("floor == %d"), 1, &owner, &predicate, E));
    CHECK_STATUS(CST_OK, cst_fetch_request_new(work->company->employee, &request, E));
    CHECK_STATUS(CST_OK, cst_fetch_request_set_predicate(request, predicate, E));
    CHECK_STATUS(CST_OK, cst_release(predicate));
    return request;
}

static void *write_rows(void *argument) {
    struct work *work = argument;
    const struct company *c = work->company;
    cst_context *context = NULL;
    if (!CHECK_STATUS(CST_OK, cst_context_new(c->coordinator, CST_QUEUE_CALLER, &context, E))) return NULL;
    cst_fetch_request *request = own_rows(work);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < PER_ROUND; i++) {
            const cst_key keys[] = {c->name, c->floor, c->number};
            const cst_value values[] = {value_text("somebody"), value_int(work->number), value_int(i)};
            CHECK_STATUS(CST_OK, cst_context_insert_many(context, c->employee, 1, 3, keys, values, NULL, E));
        }
        CHECK_STATUS(CST_OK, cst_context_save(context, E));
        cst_results *results = NULL;
        CHECK_STATUS(CST_OK, cst_context_fetch(context, request, &results, E));
        CHECK_INT((round + 1) * PER_ROUND, cst_results_count(results));
        cst_object *object = NULL;
        cst_value value = value_int(round);
        CHECK_STATUS(CST_OK, cst_results_get_object(results, 0, &object, E));
        CHECK_STATUS(CST_OK, cst_object_set(object, c->level, &value, E));
        CHECK_STATUS(CST_OK, cst_context_save(context, E));
        CHECK_STATUS(CST_OK, cst_release(results));
    }
    uint64_t count = 0;
    CHECK_STATUS(CST_OK, cst_context_count(context, request, &count, E));
    work->seen = (int64_t)count;
    CHECK_STATUS(CST_OK, cst_release(request));
    CHECK_STATUS(CST_OK, cst_release(context));
    check_slot();
    return NULL;
}

static void eight_threads_write_through_one_coordinator(void) {
    struct company c = company_open(check_path("a.sqlite"));
    pthread_t threads[WRITERS];
    struct work work[WRITERS];
    for (int i = 0; i < WRITERS; i++) {
        work[i] = (struct work){&c, NULL, i, -1};
        REQUIRE(pthread_create(&threads[i], NULL, write_rows, &work[i]) == 0);
    }
    for (int i = 0; i < WRITERS; i++) {
        REQUIRE(pthread_join(threads[i], NULL) == 0);
        CHECK_INT(ROUNDS * PER_ROUND, work[i].seen);
    }
    CHECK_INT(WRITERS * ROUNDS * PER_ROUND, company_count(c.context, c.employee, NULL));
    company_close(&c);
}

static void count_destroy(void *userdata) {
    (void)userdata;
    destroyed++;
}

static cst_status add_one(void *userdata, cst_context *context, cst_error **error) {
    const struct work *work = userdata;
    const cst_key keys[] = {work->company->name, work->company->floor};
    const cst_value values[] = {value_text("blow"), value_int(work->number)};
    cst_status status = cst_context_insert_many(context, work->company->employee, 1, 2, keys, values, NULL, error);
    if (status == CST_OK && ++finished % 50 == 0) status = cst_context_save(context, error);
    return status;
}

static void *hammer(void *argument) {
    struct work *work = argument;
    for (int i = 0; i < BLOWS; i++) {
        if (i % 3 == 0) {
            CHECK_STATUS(CST_OK, cst_context_perform_and_wait(work->context, add_one, work, E));
        } else {
            CHECK_STATUS(CST_OK, cst_context_perform(work->context, add_one, work, count_destroy, E));
        }
    }
    check_slot();
    return NULL;
}

static cst_status save_there(void *userdata, cst_context *context, cst_error **error) {
    (void)userdata;
    return cst_context_save(context, error);
}

static void six_threads_share_one_private_queue(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_context *context = company_context(&c, CST_QUEUE_PRIVATE);
    pthread_t threads[HAMMERS];
    struct work work[HAMMERS];
    finished = destroyed = 0;
    for (int i = 0; i < HAMMERS; i++) {
        work[i] = (struct work){&c, context, i, 0};
        REQUIRE(pthread_create(&threads[i], NULL, hammer, &work[i]) == 0);
    }
    for (int i = 0; i < HAMMERS; i++)
        REQUIRE(pthread_join(threads[i], NULL) == 0);
    CHECK(cst_context_perform_and_wait(context, save_there, NULL, E) >= 0); /* runs last */
    CHECK_INT(HAMMERS * BLOWS, finished);
    CHECK_INT(HAMMERS * BLOWS, company_count(c.context, c.employee, NULL));
    for (int i = 0; i < HAMMERS; i++) {
        char format[32];
        snprintf(format, sizeof format, "floor == %d", i);
        CHECK_INT(BLOWS, company_count(c.context, c.employee, format));
    }
    OK(cst_release(context));
    company_close(&c);
    const struct timespec pause = {0, 1000 * 1000};
    for (int i = 0; i < 2000 && destroyed < HAMMERS * BLOWS / 3 * 2; i++)
        nanosleep(&pause, NULL);
    CHECK_INT(HAMMERS * BLOWS / 3 * 2, destroyed);
}

static void on_threads(void *(*body)(void *), void *argument) {
    pthread_t threads[HAMMERS];
    for (int i = 0; i < HAMMERS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, body, argument) == 0);
    for (int i = 0; i < HAMMERS; i++)
        REQUIRE(pthread_join(threads[i], NULL) == 0);
}

static void *retain_and_release(void *argument) {
    for (int i = 0; i < 20000; i++) {
        CHECK(cst_retain(argument) == argument);
        CHECK_STATUS(CST_OK, cst_release(argument));
    }
    return NULL;
}

static void handles_can_be_retained_and_released_on_many_threads(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    on_threads(retain_and_release, ada);
    CHECK_TEXT("Ada", get_text(ada, c.name));
    CHECK_STATUS(CST_OK, cst_release(ada));
    CHECK_STATUS(CST_OK, cst_context_rollback(c.context, E));
    company_close(&c);
}

/* Every third predicate is released at once, and a second time without success. */
static void *create_and_release(void *argument) {
    (void)argument;
    cst_predicate *live[4000] = {NULL};
    size_t count = 0;
    for (int i = 0; i < 4000; i++) {
        CHECK_STATUS(CST_OK, cst_predicate_parse(text("TRUEPREDICATE"), 0, NULL, &live[count++], E));
        if (i % 3 != 0) continue;
        cst_predicate *last = live[--count];
        CHECK_STATUS(CST_OK, cst_release(last));
        CHECK_STATUS(CST_E_INVALID_HANDLE, cst_release(last));
    }
    while (count > 0)
        CHECK_STATUS(CST_OK, cst_release(live[--count]));
    check_slot();
    return NULL;
}

static void handles_can_be_created_and_released_on_many_threads(void) { on_threads(create_and_release, NULL); }

static void *release_once(void *argument) {
    CHECK_STATUS(CST_OK, cst_release(argument));
    return NULL;
}

static void a_handle_ends_once_when_many_threads_release_it(void) {
    for (int round = 0; round < 200; round++) {
        cst_predicate *predicate = NULL;
        OK(cst_predicate_parse(text("TRUEPREDICATE"), 0, NULL, &predicate, E));
        for (int i = 1; i < HAMMERS; i++)
            CHECK(cst_retain(predicate) == predicate);
        on_threads(release_once, predicate);
        CHECK_STATUS(CST_E_INVALID_HANDLE, cst_release(predicate));
    }
}

static void *read_entities(void *argument) {
    for (size_t i = 0; i < 500; i++) {
        cst_entity *entity = NULL;
        CHECK_STATUS(CST_OK, cst_model_entity_at(argument, i % 5, &entity, E));
        CHECK(cst_entity_name(entity).size > 0);
        CHECK(cst_retain(entity) == entity);
        CHECK_STATUS(CST_OK, cst_release(entity));
    }
    check_slot();
    return NULL;
}

static void a_frozen_model_can_be_read_on_many_threads(void) {
    cst_model *model = company_model();
    OK(cst_model_freeze(model, E));
    on_threads(read_entities, model);
    OK(cst_release(model));
}

enum { RETURNED = 20 };
static _Atomic(void *) handed_over[RETURNED];
static atomic_bool is_over;

static void *release_handed_over(void *argument) {
    (void)argument;
    for (bool is_last = false; !is_last;) {
        is_last = is_over;
        for (int i = 0; i < RETURNED; i++) {
            void *handle = atomic_exchange(&handed_over[i], NULL);
            if (handle) CHECK_STATUS(CST_OK, cst_release(handle));
        }
    }
    return NULL;
}

static void handles_can_be_released_elsewhere_while_a_context_returns_them_again(void) {
    struct company c = company_open(check_path("a.sqlite"));
    for (int i = 0; i < RETURNED; i++)
        OK(cst_release(company_employee(&c, c.context, "somebody", i)));
    save(c.context);
    pthread_t thread;
    is_over = false;
    REQUIRE(pthread_create(&thread, NULL, release_handed_over, NULL) == 0);
    for (int round = 0; round < 300; round++) {
        cst_results *results = company_fetch(c.context, c.employee, NULL, NULL);
        CHECK_INT(RETURNED, cst_results_count(results));
        for (size_t i = 0; i < RETURNED; i++) {
            cst_object *object = cst_retain(object_at(results, i));
            CHECK_TEXT("somebody", get_text(object, c.name));
            void *former = atomic_exchange(&handed_over[i], object);
            if (former) CHECK_STATUS(CST_OK, cst_release(former));
        }
        OK(cst_release(results));
    }
    is_over = true;
    REQUIRE(pthread_join(thread, NULL) == 0);
    CHECK(!has_changes(c.context));
    company_close(&c);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(eight_threads_write_through_one_coordinator);
    RUN(six_threads_share_one_private_queue);
    RUN(handles_can_be_retained_and_released_on_many_threads);
    RUN(handles_can_be_created_and_released_on_many_threads);
    RUN(a_handle_ends_once_when_many_threads_release_it);
    RUN(a_frozen_model_can_be_read_on_many_threads);
    RUN(handles_can_be_released_elsewhere_while_a_context_returns_them_again);
    return check_end();
}
