/* Performed blocks: schedules and their outcomes, locks, errors on the wrong thread, deadlocks between queues, and a
 * process that exits with waiting blocks.
 *
 * SPDX-License-Identifier: MIT
 */
#include "company.h"

#include <pthread.h>
#include <semaphore.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static void nap(int milliseconds) {
    const struct timespec pause = {0, milliseconds * 1000000L};
    nanosleep(&pause, NULL);
}

static void on_thread(void *(*body)(void *), void *argument) {
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, body, argument) == 0);
    REQUIRE(pthread_join(thread, NULL) == 0);
}

static cst_status nothing(void *userdata, cst_context *context, cst_error **error) {
    (void)userdata, (void)context, (void)error;
    return CST_OK;
}

/* What a block recorded. */
struct run {
    struct company *company;
    atomic_int bodies, ends, destroyed;
    cst_status status;
    int details;
    bool fails;
};

static cst_status body(void *userdata, cst_context *context, cst_error **error) {
    struct run *run = userdata;
    CHECK_INT(0, run->ends);
    run->bodies++;
    if (run->fails) {
        cst_error_new_custom(text("App"), 4711, text("no more coffee"), NULL, NULL, error);
        return CST_E_CALLBACK;
    }
    cst_object *object = NULL;
    cst_status status = cst_context_insert(context, run->company->employee, &object, error);
    cst_release(object);
    return status;
}

static void done(void *userdata, cst_context *context, cst_status status, const cst_error *error) {
    struct run *run = userdata;
    bool changes = false;
    CHECK_STATUS(CST_OK, cst_context_has_changes(context, &changes, E));
    CHECK_INT(0, run->destroyed);
    run->status = status;
    run->details = error ? (int)cst_error_detail_count(error) : -1;
    run->ends++;
}

static void destroy(void *userdata) { ((struct run *)userdata)->destroyed++; }

static void wait_for(atomic_int *count, int wanted) {
    for (int i = 0; i < 2000 && *count < wanted; i++)
        nap(1);
    CHECK_INT(wanted, *count);
}

static void schedule_reports_its_outcome_once(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_context *worker = company_context(&c, CST_QUEUE_PRIVATE);
    for (int fails = 0; fails < 2; fails++) {
        struct run run = {.company = &c, .fails = fails};
        OK(cst_context_schedule(worker, CST_SCHEDULE_IMMEDIATE, body, done, &run, destroy, E));
        wait_for(&run.destroyed, 1);
        CHECK_INT(1, run.bodies);
        CHECK_INT(1, run.ends);
        CHECK_INT(fails ? CST_E_CALLBACK : CST_OK, run.status);
        CHECK_INT(fails ? 1 : -1, run.details);
    }
    struct run never = {.company = &c};
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_schedule(worker, 2, body, done, &never, destroy, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_schedule(worker, 0, NULL, done, &never, destroy, E));
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_context_schedule(NULL, 0, body, done, &never, destroy, E));
    CHECK_INT(3, never.destroyed);
    CHECK_INT(0, never.bodies + never.ends);
    OK(cst_release(worker));
    company_close(&c);
}

static cst_status schedule_within(void *userdata, cst_context *context, cst_error **error) {
    struct run *runs = userdata;
    cst_status status = cst_context_schedule(context, CST_SCHEDULE_ENQUEUED, body, done, &runs[0], destroy, error);
    CHECK_INT(0, runs[0].bodies);
    if (status == CST_OK)
        status = cst_context_schedule(context, CST_SCHEDULE_IMMEDIATE, body, done, &runs[1], destroy, error);
    CHECK_INT(1, runs[1].destroyed);
    CHECK_INT(0, runs[0].bodies);
    return status;
}

static void immediate_blocks_run_at_once_only_on_their_queue(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_context *worker = company_context(&c, CST_QUEUE_PRIVATE);
    struct run runs[2] = {{.company = &c}, {.company = &c}}, own = {.company = &c};
    OK(cst_context_perform_and_wait(worker, schedule_within, runs, E));
    wait_for(&runs[0].destroyed, 1);
    OK(cst_context_schedule(c.context, CST_SCHEDULE_IMMEDIATE, body, done, &own, destroy, E));
    CHECK_INT(1, own.destroyed);
    own = (struct run){.company = &c};
    CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                 cst_context_schedule(c.context, CST_SCHEDULE_ENQUEUED, body, done, &own, destroy, E));
    CHECK_INT(1, own.destroyed);
    OK(cst_release(worker));
    company_close(&c);
}

/* ---- wrong-thread errors */

static void *use(void *argument) {
    CHECK_STATUS(CST_E_WRONG_THREAD, cst_context_save(argument, E));
    pthread_setname_np(pthread_self(), "painter");
    CHECK_STATUS(CST_E_WRONG_THREAD, cst_context_save(argument, E));
    char number[64];
    snprintf(number, sizeof number, "thread %d (painter) used context \"import\" (created at ", (int)gettid());
    CHECK_CONTAINS(number, cst_error_message(check_error()));
    snprintf(number, sizeof number, "test_perform.c:");
    CHECK_CONTAINS(number, cst_error_message(check_error()));
    snprintf(number, sizeof number, "which is confined to thread %d (", (int)getpid());
    CHECK_CONTAINS(number, cst_error_message(check_error()));
    check_slot();
    return NULL;
}

static void wrong_thread_errors_name_both_threads_and_the_origin(void) {
    struct company c = company_open(check_path("a.sqlite"));
    OK(CST_MADE_HERE(c.context));
    OK(cst_context_set_name(c.context, text("import"), E));
    on_thread(use, c.context);
    CHECK_STATUS(CST_E_INVALID_UTF8, cst_context_set_origin(c.context, text("\xff"), 1, E));
    OK(cst_context_set_origin(c.context, (cst_string){NULL, 0}, 1, E));
    company_close(&c);
}

/* ---- locks */

struct locked {
    cst_context *context;
    sem_t locked, go_on;
};

static void *lock_a_while(void *argument) {
    struct locked *own = argument;
    CHECK_STATUS(CST_OK, cst_context_lock(own->context, E));
    CHECK_STATUS(CST_OK, cst_context_try_lock(own->context, E));
    CHECK_STATUS(CST_OK, cst_context_unlock(own->context, E));
    sem_post(&own->locked);
    while (sem_wait(&own->go_on) != 0) {
    }
    CHECK_STATUS(CST_OK, cst_context_unlock(own->context, E));
    CHECK_STATUS(CST_E_WRONG_THREAD, cst_context_unlock(own->context, E));
    check_slot();
    return NULL;
}

static cst_status unlock_without_success(void *userdata, cst_context *context, cst_error **error) {
    (void)userdata, (void)error;
    CHECK_STATUS(CST_E_WRONG_THREAD, cst_context_unlock(context, E));
    CHECK_INT(CST_CODE_MANAGED_OBJECT_CONTEXT_LOCKING, cst_error_code(check_error()));
    CHECK_STATUS(CST_OK, cst_context_lock(context, E));
    check_slot();
    return CST_OK;
}

static void a_lock_reserves_the_queue_for_its_thread(void) {
    struct company c = company_open(check_path("a.sqlite"));
    struct locked own = {.context = company_context(&c, CST_QUEUE_PRIVATE)};
    sem_init(&own.locked, 0, 0);
    sem_init(&own.go_on, 0, 0);
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, lock_a_while, &own) == 0);
    while (sem_wait(&own.locked) != 0) {
    }
    bool changes;
    CHECK_STATUS(CST_UNCHANGED, cst_context_try_lock(own.context, E));
    CHECK_STATUS(CST_E_WRONG_THREAD, cst_context_has_changes(own.context, &changes, E));
    sem_post(&own.go_on);
    OK(cst_context_lock(own.context, E));
    OK(cst_context_has_changes(own.context, &changes, E));
    OK(cst_context_perform_and_wait(own.context, unlock_without_success, NULL, E));
    OK(cst_context_unlock(own.context, E));
    CHECK_STATUS(CST_E_WRONG_THREAD, cst_context_has_changes(own.context, &changes, E));
    REQUIRE(pthread_join(thread, NULL) == 0);
    CHECK_STATUS(CST_E_WRONG_THREAD, cst_context_unlock(c.context, E));
    OK(cst_context_lock(c.context, E));
    OK(cst_context_unlock(c.context, E));
    OK(cst_release(own.context));
    company_close(&c);
}

/* Within a call under a lock: a balanced lock, a lock that is not unlocked, and an unlock without a lock. */
static cst_status lock_in_a_call(void *userdata, const cst_value *value, const cst_value *variables, bool *out_result,
                                 cst_error **error) {
    (void)value, (void)variables, (void)error;
    CHECK_STATUS(CST_E_WRONG_THREAD, cst_context_unlock(userdata, E));
    CHECK_STATUS(CST_OK, cst_context_lock(userdata, E));
    CHECK_STATUS(CST_OK, cst_context_lock(userdata, E));
    CHECK_STATUS(CST_OK, cst_context_unlock(userdata, E));
    *out_result = true;
    return CST_OK;
}

static void *try_once(void *context) {
    cst_status status = cst_context_try_lock(context, E);
    CHECK_INT(CST_OK, status);
    if (status == CST_OK) CHECK_STATUS(CST_OK, cst_context_unlock(context, E));
    check_slot();
    return NULL;
}

static void a_lock_taken_within_a_call_ends_with_the_call(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_context *worker = company_context(&c, CST_QUEUE_PRIVATE);
    OK(cst_context_lock(worker, E));
    cst_object *ada = company_employee(&c, worker, "Ada", 1);
    cst_predicate *block = NULL;
    OK(cst_predicate_new_block(lock_in_a_call, worker, NULL, &block, E));
    bool result = false;
    OK(cst_predicate_evaluate(block, ada, &result, E));
    CHECK(result);
    OK(cst_release(block));
    OK(cst_context_rollback(worker, E));
    OK(cst_release(ada));
    OK(cst_context_unlock(worker, E));
    CHECK_STATUS(CST_E_WRONG_THREAD, cst_context_unlock(worker, E));
    on_thread(try_once, worker);
    OK(cst_release(worker));
    company_close(&c);
}

static void *lock_and_end(void *context) {
    CHECK_STATUS(CST_OK, cst_context_lock(context, E));
    check_slot();
    return NULL;
}

static void a_lock_is_released_when_its_thread_ends(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_context *worker = company_context(&c, CST_QUEUE_PRIVATE);
    on_thread(lock_and_end, worker);
    cst_status status = cst_context_try_lock(worker, E);
    /* The system may report the thread for a moment longer. */
    for (int i = 0; i < 500 && status == CST_UNCHANGED; i++) {
        nap(10);
        status = cst_context_try_lock(worker, E);
    }
    REQUIRE(status == CST_OK);
    OK(cst_context_unlock(worker, E));
    OK(cst_release(worker));
    company_close(&c);
}

static void *lock_elsewhere(void *context) {
    CHECK_STATUS(CST_E_WRONG_THREAD, cst_context_lock(context, E));
    CHECK_STATUS(CST_E_WRONG_THREAD, cst_context_try_lock(context, E));
    CHECK_STATUS(CST_E_WRONG_THREAD, cst_context_unlock(context, E));
    check_slot();
    return NULL;
}

/* Of a context that is bound to its thread a lock is a mere count. */
static void locks_of_confined_contexts_are_counted_on_their_thread(void) {
    struct company c = company_open(check_path("a.sqlite"));
    OK(cst_main_queue_bind(E));
    cst_context *contexts[] = {c.context, company_context(&c, CST_QUEUE_MAIN)};
    for (int i = 0; i < 2; i++) {
        on_thread(lock_elsewhere, contexts[i]);
        OK(cst_context_lock(contexts[i], E));
        OK(cst_context_try_lock(contexts[i], E));
        on_thread(lock_elsewhere, contexts[i]);
        OK(cst_context_unlock(contexts[i], E));
        OK(cst_context_unlock(contexts[i], E));
        CHECK_STATUS(CST_E_WRONG_THREAD, cst_context_unlock(contexts[i], E));
        CHECK_INT(CST_CODE_MANAGED_OBJECT_CONTEXT_LOCKING, cst_error_code(check_error()));
        CHECK(!has_changes(contexts[i])); /* its thread can still use it */
    }
    OK(cst_release(contexts[1]));
    company_close(&c);
}

static cst_status delete_project(void *userdata, cst_context *context, cst_error **error) {
    return cst_context_delete(context, userdata, error);
}

/* The outermost unlock or perform runs the delete rules; it does not save. */
static void pending_changes_are_processed_by_the_outermost_unlock(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_context *worker = company_context(&c, CST_QUEUE_PRIVATE);
    OK(cst_context_lock(worker, E));
    cst_object *project = company_insert(&c, worker, c.project, c.title, "p");
    cst_object *task = company_insert(&c, worker, c.task, c.task_title, "t");
    OK(cst_object_add_member(project, c.tasks, task, E));
    save(worker);
    OK(cst_context_perform_and_wait(worker, delete_project, project, E));
    CHECK(!(state(task) & CST_OBJECT_DELETED)); /* within the lock */
    OK(cst_context_lock(worker, E));
    OK(cst_context_unlock(worker, E));
    CHECK(!(state(task) & CST_OBJECT_DELETED));
    OK(cst_context_unlock(worker, E));
    OK(cst_context_lock(worker, E));
    CHECK(state(task) & CST_OBJECT_DELETED);
    OK(cst_context_rollback(worker, E));
    OK(cst_context_unlock(worker, E));
    OK(cst_context_perform_and_wait(worker, delete_project, project, E));
    OK(cst_context_lock(worker, E));
    CHECK(state(task) & CST_OBJECT_DELETED);
    CHECK(has_changes(worker));
    CHECK_INT(1, company_count(c.context, c.task, NULL)); /* not saved */
    OK(cst_release(task));
    OK(cst_release(project));
    OK(cst_context_unlock(worker, E));
    OK(cst_release(worker));
    company_close(&c);
}

struct order {
    atomic_int next;
    int places[4];
    pthread_t threads[4];
    sem_t begun, go_on;
};

struct turn {
    struct order *order;
    int number;
};

static cst_status take_turn(void *userdata, cst_context *context, cst_error **error) {
    struct turn *turn = userdata;
    (void)context, (void)error;
    turn->order->threads[turn->number] = pthread_self();
    turn->order->places[turn->number] = turn->order->next++;
    if (turn->number == 0) {
        sem_post(&turn->order->begun);
        while (sem_wait(&turn->order->go_on) != 0) {
        }
    }
    return CST_OK;
}

/* A waiting call runs after all blocks that were enqueued before it, on its own thread. */
static void waiting_blocks_run_in_order_of_arrival(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_context *worker = company_context(&c, CST_QUEUE_PRIVATE);
    struct order order = {.places = {-1, -1, -1, -1}};
    sem_init(&order.begun, 0, 0);
    sem_init(&order.go_on, 0, 0);
    struct turn turns[4] = {{&order, 0}, {&order, 1}, {&order, 2}, {&order, 3}};
    OK(cst_context_perform(worker, take_turn, &turns[0], NULL, E));
    while (sem_wait(&order.begun) != 0) {
    }
    OK(cst_context_perform(worker, take_turn, &turns[1], NULL, E));
    OK(cst_context_schedule(worker, CST_SCHEDULE_IMMEDIATE, take_turn, NULL, &turns[2], NULL, E));
    CHECK_STATUS(CST_UNCHANGED, cst_context_try_lock(worker, E));
    CHECK_INT(1, order.next);
    sem_post(&order.go_on);
    OK(cst_context_perform_and_wait(worker, take_turn, &turns[3], E));
    for (int i = 0; i < 4; i++) {
        CHECK_INT(i, order.places[i]);
        CHECK(!pthread_equal(order.threads[i], pthread_self()) == (i < 3));
    }
    OK(cst_release(worker));
    company_close(&c);
}

struct notified {
    int calls;
    cst_status status;
};

static void unlock_when_notified(void *userdata, cst_context *context, uint32_t notification,
                                 const cst_changes *changes) {
    struct notified *seen = userdata;
    (void)notification, (void)changes;
    seen->calls++;
    seen->status = cst_context_unlock(context, E);
    CHECK_STATUS(CST_OK, cst_context_perform_and_wait(context, nothing, NULL, E));
    check_slot();
}

static void a_callback_cannot_unlock_its_context(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_context *worker = company_context(&c, CST_QUEUE_PRIVATE);
    struct notified seen = {0, CST_OK};
    cst_observation *token = NULL;
    OK(cst_context_observe(worker, CST_NOTIFICATION_WILL_SAVE, unlock_when_notified, &seen, NULL, &token, E));
    OK(cst_context_lock(worker, E));
    OK(cst_release(company_employee(&c, worker, "Ada", 1)));
    OK(cst_context_save(worker, E));
    CHECK_INT(1, seen.calls);
    CHECK_INT(CST_E_WRONG_THREAD, seen.status);
    CHECK_INT(1, company_count(worker, c.employee, NULL));
    OK(cst_context_unlock(worker, E));
    OK(cst_release(token));
    OK(cst_release(worker));
    company_close(&c);
}

struct unlocking {
    cst_context *context;
    struct notified seen;
};

static cst_status unlock_while_filling(void *userdata, size_t capacity, cst_value *values, size_t *out_rows,
                                       cst_error **error) {
    struct unlocking *unlocking = userdata;
    (void)capacity, (void)error;
    if (unlocking->seen.calls++ > 0) return CST_OK;
    unlocking->seen.status = cst_context_unlock(unlocking->context, E);
    check_slot();
    values[0] = value_text("Ada");
    *out_rows = 1;
    return CST_OK;
}

/* The request began under the lock, and would go on without the queue. */
static void a_batch_handler_cannot_unlock_its_context(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_context *worker = company_context(&c, CST_QUEUE_PRIVATE);
    struct unlocking unlocking = {worker, {0, CST_OK}};
    cst_batch_request *request = NULL;
    cst_results *ids = NULL;
    uint64_t count = 0;
    OK(cst_batch_insert_new(c.employee, &request, E));
    OK(cst_batch_insert_set_handler(request, 1, &c.name, unlock_while_filling, &unlocking, NULL, E));
    OK(cst_context_lock(worker, E));
    OK(cst_context_execute_batch(worker, request, &count, &ids, E));
    CHECK_INT(1, count);
    CHECK_INT(CST_E_WRONG_THREAD, unlocking.seen.status);
    OK(cst_context_unlock(worker, E));
    OK(cst_release(ids));
    OK(cst_release(request));
    OK(cst_release(worker));
    company_close(&c);
}

/* ---- deadlocks */

struct pair {
    cst_context *first, *second;
    pthread_barrier_t *both;
    cst_status status;
    int code;
};

static cst_status wait_for_second(void *userdata, cst_context *context, cst_error **error) {
    (void)context;
    struct pair *pair = userdata;
    pthread_barrier_wait(pair->both);
    pair->status = cst_context_perform_and_wait(pair->second, nothing, NULL, E);
    pair->code = check_error() ? cst_error_code(check_error()) : 0;
    if (pair->code) CHECK_CONTAINS("deadlock", cst_error_message(check_error()));
    check_slot();
    (void)error;
    return CST_OK;
}

static void *take_first(void *argument) {
    struct pair *pair = argument;
    CHECK_STATUS(CST_OK, cst_context_perform_and_wait(pair->first, wait_for_second, pair, E));
    check_slot();
    return NULL;
}

static void a_deadlock_between_contexts_is_refused(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_context *a = company_context(&c, CST_QUEUE_PRIVATE), *b = company_context(&c, CST_QUEUE_PRIVATE);
    pthread_barrier_t both;
    pthread_barrier_init(&both, NULL, 2);
    struct pair there = {.first = a, .second = b, .both = &both}, back = {.first = b, .second = a, .both = &both};
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, take_first, &there) == 0);
    take_first(&back);
    REQUIRE(pthread_join(thread, NULL) == 0);
    CHECK_INT(CST_E_WRONG_THREAD, there.status + back.status); /* one of them */
    CHECK_INT(CST_CODE_MANAGED_OBJECT_CONTEXT_LOCKING, there.code + back.code);
    pthread_barrier_destroy(&both);
    OK(cst_release(a));
    OK(cst_release(b));
    company_close(&c);
}

static cst_status count_in(void *userdata, cst_context *context, cst_error **error) {
    (void)error;
    CHECK_INT(1, company_count(context, ((struct company *)userdata)->employee, NULL));
    return CST_OK;
}

static cst_status count_of_child(void *userdata, cst_context *context, cst_error **error) {
    /* This block runs on the parent's queue, so an unused child can call its parent without a wait. */
    struct company *c = userdata;
    cst_context *child = NULL;
    cst_status status = cst_context_new_child(context, CST_QUEUE_PRIVATE, &child, error);
    if (status == CST_OK) status = cst_context_perform_and_wait(child, count_in, c, error);
    cst_release(child);
    return status;
}

static void parents_and_children_perform_within_each_other(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    OK(cst_context_save(c.context, E));
    cst_context *parent = company_context(&c, CST_QUEUE_PRIVATE);
    OK(cst_context_perform_and_wait(parent, count_of_child, &c, E));
    OK(cst_context_perform_and_wait(c.context, count_of_child, &c, E));
    OK(cst_release(parent));
    OK(cst_release(ada));
    company_close(&c);
}

struct above {
    struct company *company;
    cst_context *child;
    atomic_bool ended;
};

static void *count_above(void *argument) {
    struct above *above = argument;
    for (int i = 0; i < 500; i++)
        CHECK_STATUS(CST_OK, cst_context_perform_and_wait(above->child, count_in, above->company, E));
    check_slot();
    above->ended = true;
    return NULL;
}

/* Counts in a child of a context on the main queue: this may be refused, because the main thread may wait for the
 * child. */
static cst_status try_to_count(void *userdata, cst_context *context, cst_error **error) {
    struct above *above = userdata;
    uint64_t count = 0;
    cst_fetch_request *request = NULL;
    cst_status status = cst_fetch_request_new(above->company->employee, &request, error);
    if (status == CST_OK) status = cst_context_count(context, request, &count, error);
    if (status == CST_OK) CHECK_INT(1, count);
    cst_release(request);
    return status;
}

static void perform_or_be_refused(struct above *above, cst_context_perform_fn what) {
    cst_status status = cst_context_perform_and_wait(above->child, what, above, E);
    if (status == CST_E_CALLBACK)
        CHECK_INT(CST_CODE_MANAGED_OBJECT_CONTEXT_LOCKING, cst_error_code(cst_error_detail_at(check_error(), 0)));
    else if (status != CST_OK)
        CHECK_INT(CST_CODE_MANAGED_OBJECT_CONTEXT_LOCKING, cst_error_code(check_error()));
    check_slot();
}

static void *count_or_be_refused(void *argument) {
    struct above *above = argument;
    for (int i = 0; i < 500; i++)
        perform_or_be_refused(above, try_to_count);
    above->ended = true;
    return NULL;
}

static void a_main_thread_that_waits_for_a_child_does_not_deadlock(void) {
    struct company c = company_open(check_path("a.sqlite"));
    OK(cst_main_queue_bind(E));
    cst_context *shown = company_context(&c, CST_QUEUE_MAIN);
    OK(cst_release(company_employee(&c, shown, "Ada", 1)));
    struct above above = {.company = &c};
    OK(cst_context_new_child(shown, CST_QUEUE_PRIVATE, &above.child, E));
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, count_or_be_refused, &above) == 0);
    while (!above.ended) {
        CHECK(cst_main_queue_drain(1, NULL, E) >= 0);
        perform_or_be_refused(&above, nothing);
    }
    REQUIRE(pthread_join(thread, NULL) == 0);
    OK(cst_release(above.child));
    OK(cst_release(shown));
    company_close(&c);
}

static void a_draining_main_thread_runs_blocks_of_child_contexts(void) {
    struct company c = company_open(check_path("a.sqlite"));
    OK(cst_main_queue_bind(E));
    cst_context *shown = company_context(&c, CST_QUEUE_MAIN);
    OK(cst_release(company_employee(&c, shown, "Ada", 1)));
    struct above above = {.company = &c};
    OK(cst_context_new_child(shown, CST_QUEUE_PRIVATE, &above.child, E));
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, count_above, &above) == 0);
    while (!above.ended)
        CHECK(cst_main_queue_drain(20, NULL, E) >= 0);
    REQUIRE(pthread_join(thread, NULL) == 0);
    OK(cst_context_perform_and_wait(above.child, count_in, &c, E)); /* and on the main thread itself */
    OK(cst_context_save(shown, E));
    OK(cst_release(above.child));
    OK(cst_release(shown));
    company_close(&c);
}

/* ---- the end of the process */

static cst_status rest(void *userdata, cst_context *context, cst_error **error) {
    (void)userdata, (void)context, (void)error;
    nap(2);
    return CST_OK;
}

/* The work of the child process: it exits while most of its blocks wait. */
static void leave_with_work(const char *path) {
    struct company c = company_open(path);
    for (int i = 0; i < 8; i++) {
        cst_context *worker = company_context(&c, CST_QUEUE_PRIVATE);
        struct run *run = calloc(1, sizeof *run);
        run->company = &c;
        for (int n = 0; n < 200; n++)
            cst_context_perform(worker, n % 2 ? rest : body, run, NULL, NULL);
        cst_release(worker);
    }
    exit(0);
}

static void a_process_can_exit_with_waiting_blocks(void) {
    char place[1024];
    snprintf(place, sizeof place, "CORESTONE_LEAVE=%s", check_path("left.sqlite"));
    char *arguments[] = {"/proc/self/exe", NULL};
    size_t count = 0;
    while (environ[count])
        count++;
    char **environment = calloc(count + 4, sizeof *environment);
    environment[0] = place;
    environment[1] = "ASAN_OPTIONS=detect_leaks=0"; /* the work that waits */
    environment[2] = "LSAN_OPTIONS=detect_leaks=0";
    memcpy(environment + 3, environ, count * sizeof *environment);
    for (int round = 0; round < 5; round++) {
        pid_t process;
        int status = -1;
        REQUIRE(posix_spawn(&process, "/proc/self/exe", NULL, NULL, arguments, environment) == 0);
        REQUIRE(waitpid(process, &status, 0) == process);
        CHECK_INT(0, status);
    }
    free(environment);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    if (getenv("CORESTONE_LEAVE")) leave_with_work(getenv("CORESTONE_LEAVE"));
    RUN(schedule_reports_its_outcome_once);
    RUN(immediate_blocks_run_at_once_only_on_their_queue);
    RUN(wrong_thread_errors_name_both_threads_and_the_origin);
    RUN(a_lock_reserves_the_queue_for_its_thread);
    RUN(locks_of_confined_contexts_are_counted_on_their_thread);
    RUN(pending_changes_are_processed_by_the_outermost_unlock);
    RUN(waiting_blocks_run_in_order_of_arrival);
    RUN(a_lock_taken_within_a_call_ends_with_the_call);
    RUN(a_lock_is_released_when_its_thread_ends);
    RUN(a_callback_cannot_unlock_its_context);
    RUN(a_batch_handler_cannot_unlock_its_context);
    RUN(a_deadlock_between_contexts_is_refused);
    RUN(parents_and_children_perform_within_each_other);
    RUN(a_draining_main_thread_runs_blocks_of_child_contexts);
    RUN(a_main_thread_that_waits_for_a_child_does_not_deadlock);
    RUN(a_process_can_exit_with_waiting_blocks);
    return check_end();
}
