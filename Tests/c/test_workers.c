/* Worker threads: their number, blocks that wait for each other, a system that creates no threads, the end of the
 * process.
 *
 * SPDX-License-Identifier: MIT
 */
#include "company.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 16, LIMIT = 256, CONTEXTS = 64, CHAIN = 20, MANY = 300 };

/* The number of threads that the system may still create; below 0 there is no limit. */
static atomic_int threads_left = -1;

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HAS_OWN_THREADS 1 /* the sanitizer's runtime is part of the program, and must see each thread start */
#endif
#if __has_feature(thread_sanitizer)
#define SANITIZER_THREADS 1 /* it begins with the first thread of the program */
#endif
#endif

#ifndef HAS_OWN_THREADS
/* The library calls this function instead of the one in the C library. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument) {
    static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    if (threads_left == 0) return EAGAIN;
    if (threads_left > 0) threads_left--;
    return real(thread, attributes, body, argument);
}
#endif

static atomic_int ran, reported, refused, destroyed, most_threads;
static atomic_bool is_open;

static void nap(long milliseconds) {
    const struct timespec pause = {milliseconds / 1000, milliseconds % 1000 * 1000 * 1000};
    nanosleep(&pause, NULL);
}

/* Waits until a number is reached, for a minute at most. */
static bool reaches(atomic_int *number, int wanted) {
    for (int i = 0; i < 60 * 1000 && *number < wanted; i++)
        nap(1);
    return *number >= wanted;
}

static int thread_count(void) {
    int count = 0;
    DIR *folder = opendir("/proc/self/task");
    REQUIRE(folder != NULL);
    while (readdir(folder))
        count++;
    closedir(folder);
    return count - 2; /* . and .. */
}

static void note_threads(void) {
    const int now = thread_count();
    int most = most_threads;
    while (now > most && !atomic_compare_exchange_weak(&most_threads, &most, now)) {
    }
}

/* The number of threads without those of the library: a sanitizer may have one. */
static int own_threads;

/* Waits until the number of threads is at most `wanted`: idle threads end after a while. */
static bool threads_go_down_to(int wanted) {
    int count = thread_count();
    for (int i = 0; i < 60 * 100 && count > wanted; i++) {
        nap(10);
        count = thread_count();
    }
    return count <= wanted;
}

static void begin(void) {
    ran = reported = refused = destroyed = most_threads = 0;
    is_open = false;
    threads_left = -1;
}

static void count_destroy(void *userdata) {
    (void)userdata;
    destroyed++;
}

static void report_status(void *userdata, cst_context *context, cst_status status, const cst_error *error) {
    (void)userdata, (void)context;
    if (status != CST_OK) {
        CHECK_STATUS(CST_E_CALLBACK, status);
        CHECK(error != NULL);
        refused++;
    }
    reported++;
}

static cst_status nothing(void *userdata, cst_context *context, cst_error **error) {
    (void)userdata, (void)context, (void)error;
    ran++;
    return CST_OK;
}

static cst_status note_and_nap(void *userdata, cst_context *context, cst_error **error) {
    (void)userdata, (void)context, (void)error;
    note_threads();
    nap(1);
    ran++;
    return CST_OK;
}

static cst_status wait_for_opening(void *userdata, cst_context *context, cst_error **error) {
    (void)userdata, (void)context, (void)error;
    for (int i = 0; i < 60 * 1000 && !is_open; i++)
        nap(1);
    CHECK(is_open);
    ran++;
    return CST_OK;
}

static cst_status nothing_alone(void *userdata, cst_error **error) {
    (void)userdata, (void)error;
    ran++;
    return CST_OK;
}

/* MARK: Number of threads */

static void many_contexts_share_few_threads(void) {
    begin();
    CHECK(threads_go_down_to(own_threads));
    struct company c = company_open(check_path("a.sqlite"));
    const int before = thread_count();
    cst_context *contexts[CONTEXTS];
    for (int i = 0; i < CONTEXTS; i++)
        contexts[i] = company_context(&c, CST_QUEUE_PRIVATE);
    CHECK_INT(before, thread_count()); /* without blocks no context has a thread */
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < CONTEXTS; i++)
            OK(cst_context_schedule(contexts[i], CST_SCHEDULE_ENQUEUED, note_and_nap, report_status, NULL, NULL, E));
    }
    CHECK(reaches(&reported, 10 * CONTEXTS));
    CHECK(most_threads <= before + MOST);
    for (int i = 0; i < CONTEXTS; i++)
        OK(cst_release(contexts[i]));
    company_close(&c);
    CHECK(threads_go_down_to(own_threads));
}

static void many_stores_share_a_thread(void) {
    enum { STORES = 12 };
    begin();
    CHECK(threads_go_down_to(own_threads));
    struct company stores[STORES];
    for (int i = 0; i < STORES; i++) {
        char name[20];
        snprintf(name, sizeof name, "%d.sqlite", i);
        stores[i] = company_open(check_path(name));
        OK(cst_release(company_employee(&stores[i], stores[i].context, "Ada", 1)));
        save(stores[i].context);
        cst_context *reader = company_context(&stores[i], CST_QUEUE_CALLER);
        OK(cst_release(company_fetch(reader, stores[i].employee, NULL, NULL)));
        note_threads();
        OK(cst_release(reader));
    }
    CHECK(most_threads <= own_threads + 1);
    for (int i = 0; i < STORES; i++)
        company_close(&stores[i]);
    CHECK(threads_go_down_to(own_threads));
}

static void successive_contexts_reuse_threads(void) {
    begin();
    CHECK(threads_go_down_to(own_threads));
    struct company c = company_open(check_path("a.sqlite"));
    const int before = thread_count();
    for (int i = 0; i < 2000; i++) {
        cst_context *context = company_context(&c, CST_QUEUE_PRIVATE);
        OK(cst_context_schedule(context, CST_SCHEDULE_ENQUEUED, nothing, report_status, NULL, NULL, E));
        OK(cst_release(context));
        if (i % 100 == 0) note_threads();
        if (i % 8 == 0) CHECK(reaches(&reported, i + 1));
    }
    CHECK(reaches(&reported, 2000));
    CHECK(most_threads <= before + MOST);
    company_close(&c);
}

struct maker {
    struct company *company;
    int number;
};

static cst_status insert_one(void *userdata, cst_context *context, cst_error **error) {
    const struct maker *maker = userdata;
    const cst_key keys[] = {maker->company->name, maker->company->floor};
    const cst_value values[] = {value_text("made"), value_int(maker->number)};
    cst_status status = cst_context_insert_many(context, maker->company->employee, 1, 2, keys, values, NULL, error);
    return status == CST_OK ? cst_context_save(context, error) : status;
}

static void *create_and_release(void *argument) {
    const struct maker *maker = argument;
    for (int i = 0; i < 40; i++) {
        cst_context *context = NULL, *child = NULL;
        CHECK_STATUS(CST_OK, cst_context_new(maker->company->coordinator, CST_QUEUE_PRIVATE, &context, E));
        CHECK_STATUS(CST_OK, cst_context_new_child(context, CST_QUEUE_PRIVATE, &child, E));
        CHECK_STATUS(CST_OK, cst_context_schedule(child, CST_SCHEDULE_ENQUEUED, nothing, report_status, NULL, NULL, E));
        if (i % 20 == 0) CHECK_STATUS(CST_OK, cst_context_perform_and_wait(context, insert_one, argument, E));
        if (i % 3 == 0) CHECK_STATUS(CST_OK, cst_context_perform(context, nothing, NULL, count_destroy, E));
        CHECK_STATUS(CST_OK, cst_release(context));
        CHECK_STATUS(CST_OK, cst_release(child));
    }
    check_slot();
    return NULL;
}

static void many_threads_create_and_release_contexts(void) {
    begin();
    struct company c = company_open(check_path("a.sqlite"));
    pthread_t threads[CONTEXTS];
    struct maker makers[CONTEXTS];
    for (int i = 0; i < CONTEXTS; i++) {
        makers[i] = (struct maker){&c, i};
        REQUIRE(pthread_create(&threads[i], NULL, create_and_release, &makers[i]) == 0);
    }
    for (int i = 0; i < CONTEXTS; i++)
        REQUIRE(pthread_join(threads[i], NULL) == 0);
    CHECK(reaches(&reported, CONTEXTS * 40));
    CHECK(reaches(&destroyed, CONTEXTS * 14));
    CHECK_INT(CONTEXTS * 54, ran);
    CHECK_INT(CONTEXTS * 2, company_count(c.context, c.employee, NULL));
    company_close(&c);
}

/* MARK: Blocks that wait for each other */

struct link {
    struct link *links; /* all of them */
    int number, count;
    cst_context *context;
    bool is_graph;
};

static cst_status follow(void *userdata, cst_context *context, cst_error **error) {
    (void)context;
    const struct link *link = userdata;
    cst_status status = CST_OK;
    if (link->is_graph) {
        for (int step = 1; step <= 3 && status == CST_OK; step++) {
            const int next = link->number + step * step + link->number % 3;
            if (next < link->count)
                status = cst_context_perform_and_wait(link->links[next].context, nothing, NULL, error);
        }
    } else if (link->number + 1 < link->count) {
        status = cst_context_perform_and_wait(link->links[link->number + 1].context, nothing, NULL, error);
    }
    ran++;
    return status;
}

static cst_status follow_down(void *userdata, cst_context *context, cst_error **error) {
    (void)context;
    struct link *link = userdata;
    ran++;
    if (link->number + 1 == link->count) return CST_OK;
    struct link *next = &link->links[link->number + 1];
    return cst_context_perform_and_wait(next->context, follow_down, next, error);
}

static void make_links(const struct company *c, struct link *links, int count, bool is_graph) {
    for (int i = 0; i < count; i++)
        links[i] = (struct link){links, i, count, company_context(c, CST_QUEUE_PRIVATE), is_graph};
}

static void drop_links(struct link *links) {
    for (int i = 0; i < links->count; i++)
        OK(cst_release(links[i].context));
}

static void a_chain_of_waiting_contexts_finishes(void) {
    begin();
    struct company c = company_open(check_path("a.sqlite"));
    struct link links[CONTEXTS];
    make_links(&c, links, CONTEXTS, false);
    for (int round = 1; round <= 5; round++) {
        for (int i = 0; i < CONTEXTS; i++)
            OK(cst_context_schedule(links[i].context, CST_SCHEDULE_ENQUEUED, follow, report_status, &links[i], NULL,
                                    E));
        /* The whole way on one thread, between those. */
        OK(cst_context_perform_and_wait(links[0].context, follow_down, &links[0], E));
        CHECK(reaches(&reported, round * CONTEXTS));
    }
    CHECK_INT(0, refused);
    CHECK_INT(5 * (CONTEXTS + CONTEXTS + CONTEXTS - 1), ran);
    drop_links(links);
    company_close(&c);
}

static void *run_graph(void *argument) {
    struct link *links = argument;
    for (int i = 0; i < links->count; i++) {
        struct link *link = &links[(i * 7) % links->count];
        CHECK_STATUS(CST_OK,
                     cst_context_schedule(link->context, CST_SCHEDULE_ENQUEUED, follow, report_status, link, NULL, E));
    }
    CHECK_STATUS(CST_OK, cst_context_perform_and_wait(links[0].context, follow_down, links, E));
    check_slot();
    return NULL;
}

static void concurrent_graphs_of_waiting_contexts_finish(void) {
    begin();
    struct company c = company_open(check_path("a.sqlite"));
    struct link links[CONTEXTS];
    make_links(&c, links, CONTEXTS, true);
    pthread_t threads[8];
    for (int i = 0; i < 8; i++)
        REQUIRE(pthread_create(&threads[i], NULL, run_graph, links) == 0);
    for (int i = 0; i < 8; i++)
        REQUIRE(pthread_join(threads[i], NULL) == 0);
    CHECK(reaches(&reported, 8 * CONTEXTS));
    CHECK_INT(0, refused);
    drop_links(links);
    company_close(&c);
}

static pthread_barrier_t together;

static cst_status meet(void *userdata, cst_context *context, cst_error **error) {
    (void)userdata, (void)context, (void)error;
    pthread_barrier_wait(&together);
    ran++;
    return CST_OK;
}

static void blocks_that_wait_on_a_barrier_finish(void) {
    begin();
    struct company c = company_open(check_path("a.sqlite"));
    struct link links[CONTEXTS];
    make_links(&c, links, CONTEXTS, false);
    REQUIRE(pthread_barrier_init(&together, NULL, CONTEXTS) == 0);
    for (int i = 0; i < CONTEXTS; i++)
        OK(cst_context_schedule(links[i].context, CST_SCHEDULE_ENQUEUED, meet, report_status, NULL, NULL, E));
    CHECK(reaches(&reported, CONTEXTS));
    pthread_barrier_destroy(&together);
    drop_links(links);
    company_close(&c);
}

static void sleeping_blocks_do_not_delay_other_contexts(void) {
    begin();
    struct company c = company_open(check_path("a.sqlite"));
    struct link links[CONTEXTS];
    make_links(&c, links, CONTEXTS, false);
    for (int i = 0; i < CONTEXTS; i++)
        OK(cst_context_schedule(links[i].context, CST_SCHEDULE_ENQUEUED, i < MOST ? wait_for_opening : nothing,
                                report_status, NULL, NULL, E));
    CHECK(reaches(&reported, CONTEXTS - MOST));
    is_open = true;
    CHECK(reaches(&reported, CONTEXTS));
    drop_links(links);
    company_close(&c);
}

static cst_string seen_message(const cst_error *error) {
    return cst_error_message(cst_error_detail_count(error) > 0 ? cst_error_detail_at(error, 0) : error);
}

static void report_end_of_chain(void *userdata, cst_context *context, cst_status status, const cst_error *error) {
    (void)userdata, (void)context;
    if (status != CST_OK) {
        CHECK_STATUS(CST_E_CALLBACK, status);
        CHECK_CONTAINS("(at most 256, or the limit of the system)", seen_message(error));
        CHECK_CONTAINS("waits for the queue of context \"hub\", held by thread ", seen_message(error));
        /* A wait that is refused after the chain has ended reports the rest of the chain. */
        if (!is_open) CHECK_CONTAINS("and so on, 21 waits in all", seen_message(error));
        refused++;
    }
    reported++;
}

static void name_context(cst_context *context, const char *name) {
    OK(cst_context_lock(context, E));
    OK(cst_context_set_name(context, text(name), E));
    OK(cst_context_unlock(context, E));
}

static atomic_int begun;

static cst_status wait_for_hub(void *userdata, cst_context *context, cst_error **error) {
    const struct link *link = userdata;
    begun++;
    if (link->number < CHAIN) return follow(userdata, context, error);
    return cst_context_perform_and_wait(link->links[0].context, nothing, NULL, error);
}

static void saves_on_a_busy_store_do_not_delay_other_stores(void) {
    begin();
    cst_store_options options = CST_STORE_OPTIONS_INIT;
    options.busy_timeout_ms = 120 * 1000;
    struct company busy = company_open_with(check_path("busy.sqlite"), &options);
    struct company other = company_open(check_path("other.sqlite"));
    sqlite3 *db = NULL;
    REQUIRE(sqlite3_open(check_path("busy.sqlite"), &db) == SQLITE_OK);
    REQUIRE(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK);
    struct link waiting[MOST + 4], others[MOST + 4];
    make_links(&busy, waiting, MOST + 4, false);
    make_links(&other, others, MOST + 4, false);
    struct maker to_busy = {&busy, 1}, to_other = {&other, 1};
    for (int i = 0; i < MOST + 4; i++)
        OK(cst_context_schedule(waiting[i].context, CST_SCHEDULE_ENQUEUED, insert_one, report_status, &to_busy, NULL,
                                E));
    for (int i = 0; i < MOST + 4; i++)
        OK(cst_context_schedule(others[i].context, CST_SCHEDULE_ENQUEUED, insert_one, report_status, &to_other, NULL,
                                E));
    CHECK(reaches(&reported, MOST + 4));
    CHECK_INT(MOST + 4, company_count(other.context, other.employee, NULL));
    CHECK_INT(0, company_count(busy.context, busy.employee, NULL));
    REQUIRE(sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL) == SQLITE_OK);
    sqlite3_close(db);
    CHECK(reaches(&reported, 2 * (MOST + 4)));
    CHECK_INT(0, refused);
    CHECK_INT(MOST + 4, company_count(busy.context, busy.employee, NULL));
    drop_links(waiting);
    drop_links(others);
    company_close(&busy);
    company_close(&other);
}

/* The first blocks are a chain: each runs on its own queue and waits for the next queue, and the last waits for the
 * queue that the test locks. All other blocks wait for the first queue. */
static void errors_of_too_many_waits_name_the_chain_of_contexts(void) {
    begin();
    begun = 0;
    struct company c = company_open(check_path("a.sqlite"));
    static struct link links[MANY];
    make_links(&c, links, MANY, false);
    name_context(links[0].context, "hub");
    cst_context *last = links[CHAIN].context;
    OK(cst_context_lock(last, E));
    for (int i = CHAIN - 1; i >= 0; i--) {
        OK(cst_context_schedule(links[i].context, CST_SCHEDULE_ENQUEUED, wait_for_hub, report_status, &links[i],
                                count_destroy, E));
        CHECK(reaches(&begun, CHAIN - i));
    }
    for (int i = CHAIN + 1; i < MANY; i++)
        OK(cst_context_schedule(links[i].context, CST_SCHEDULE_ENQUEUED, wait_for_hub, report_end_of_chain, &links[i],
                                count_destroy, E));
    /* All threads but one wait. The block that would wait on the last thread fails, and so does each block after it. */
    CHECK(reaches(&reported, MANY - 1 - LIMIT));
    CHECK(thread_count() <= LIMIT + 2);
    is_open = true;
    OK(cst_context_unlock(last, E));
    CHECK(reaches(&reported, MANY - 1));
    CHECK(reaches(&destroyed, MANY - 1));
    CHECK(refused >= MANY - 1 - LIMIT);
    CHECK(refused <= MANY - 1 - LIMIT + 4); /* one is the watchdog */
    drop_links(links);
    company_close(&c);
}

/* MARK: A system that creates no thread */

static void report_chain(void *userdata, cst_context *context, cst_status status, const cst_error *error) {
    (void)userdata, (void)context;
    if (status != CST_OK) {
        CHECK_CONTAINS("waits for the queue of context \"second\"", seen_message(error));
        CHECK_CONTAINS("all other worker threads are waiting (", seen_message(error));
        refused++;
    }
    reported++;
}

static cst_status wait_behind_work(void *userdata, cst_context *context, cst_error **error) {
    (void)context;
    cst_context *other = userdata;
    cst_status status = cst_context_schedule(other, CST_SCHEDULE_ENQUEUED, nothing, report_status, NULL, NULL, error);
    return status == CST_OK ? cst_context_perform_and_wait(other, nothing, NULL, error) : status;
}

static void blocks_are_refused_when_no_thread_can_be_created(void) {
    begin();
#ifdef HAS_OWN_THREADS
    check_skip("a sanitizer creates the threads");
#endif
    CHECK(threads_go_down_to(own_threads));
    struct company c = company_open(check_path("a.sqlite"));
    cst_context *context = company_context(&c, CST_QUEUE_PRIVATE), *other = company_context(&c, CST_QUEUE_PRIVATE);
    name_context(context, "first");
    name_context(other, "second");
    threads_left = 0;
    for (int i = 0; i < 3; i++) {
        CHECK_STATUS(CST_E_NO_MEMORY, cst_context_perform(context, nothing, NULL, count_destroy, E));
        CHECK_CONTAINS("cannot create a thread for the queue of context \"first\"", cst_error_message(check_error()));
    }
    CHECK_INT(3, destroyed);
    CHECK_INT(0, ran);
    struct maker maker = {&c, 1};
    OK(cst_context_perform_and_wait(context, insert_one, &maker, E)); /* does not need a thread */

    /* With one thread all blocks run one after the other. */
    threads_left = 1;
    for (int i = 0; i < 20; i++)
        OK(cst_context_schedule(i % 2 ? context : other, CST_SCHEDULE_ENQUEUED, nothing, report_status, NULL, NULL, E));
    CHECK(reaches(&reported, 20));

    /* This thread must not wait for a block that only it could run. */
    reported = 0;
    OK(cst_context_schedule(context, CST_SCHEDULE_ENQUEUED, wait_behind_work, report_chain, other, NULL, E));
    CHECK(reaches(&reported, 2));
    CHECK_INT(1, refused);
    CHECK_INT(21, ran); /* its enqueued blocks ran */

    threads_left = -1;
    reported = 0;
    OK(cst_context_schedule(context, CST_SCHEDULE_ENQUEUED, wait_behind_work, report_status, other, NULL, E));
    CHECK(reaches(&reported, 2));
    CHECK_INT(1, refused);
    CHECK_INT(1, company_count(c.context, c.employee, NULL));
    OK(cst_release(context));
    OK(cst_release(other));
    company_close(&c);
}

static void see(void *userdata, cst_coordinator *coordinator, uint32_t notification, const cst_store_changes *changes) {
    (void)userdata, (void)coordinator, (void)notification, (void)changes;
}

static void fetched(void *userdata, cst_asynchronous_fetch *fetch) {
    (void)userdata, (void)fetch;
    reported++;
}

static cst_status fetch_later(void *userdata, cst_context *context, cst_error **error) {
    const struct company *c = userdata;
    cst_fetch_request *request = company_by_number(c);
    cst_asynchronous_fetch *fetch = NULL;
    cst_status status =
        cst_context_fetch_asynchronously(context, request, 0, fetched, NULL, count_destroy, &fetch, error);
    cst_release(request);
    cst_release(fetch);
    return status;
}

/* Other uses of threads in the library. */
static void stores_are_usable_when_no_thread_can_be_created(void) {
    begin();
    CHECK(threads_go_down_to(own_threads));
#ifdef HAS_OWN_THREADS
    check_skip("a sanitizer creates the threads");
#endif
    threads_left = 0;
    struct company c = company_open(check_path("a.sqlite"));
    for (int i = 0; i < 3; i++) {
        cst_object *object = company_employee(&c, c.context, "Ada", i);
        save(c.context);
        OK(cst_release(object));
        CHECK_INT(i + 1, company_count(c.context, c.employee, "name == 'Ada'"));
    }
    CHECK_STATUS(CST_E_NO_MEMORY, cst_context_set_merges_remote_changes(c.context, true, E));
    CHECK_CONTAINS("cannot create a watcher thread for", cst_error_message(check_error()));
    cst_observation *observation = NULL;
    OK(cst_coordinator_observe(c.coordinator, CST_COORDINATOR_REMOTE_CHANGE, see, NULL, count_destroy, &observation,
                               E));
    OK(cst_release(observation));
    CHECK_INT(1, destroyed);
    CHECK_STATUS(CST_E_NO_MEMORY, cst_coordinator_perform(c.coordinator, nothing_alone, NULL, count_destroy, E));
    CHECK_CONTAINS("cannot create a thread for the queue of the coordinator: ", cst_error_message(check_error()));
    CHECK_INT(2, destroyed);
    OK(cst_coordinator_perform_and_wait(c.coordinator, nothing_alone, NULL, E));
    CHECK_INT(1, ran);
    cst_context *context = company_context(&c, CST_QUEUE_PRIVATE);
    CHECK_STATUS(CST_E_CALLBACK, cst_context_perform_and_wait(context, fetch_later, &c, E));
    CHECK_CONTAINS("cannot create a thread for the queue of a context", cst_error_message(check_error()));
    CHECK_INT(3, destroyed);
    CHECK_INT(0, reported);
    threads_left = -1;
    OK(cst_context_perform_and_wait(context, fetch_later, &c, E));
    CHECK(reaches(&reported, 1));
    CHECK(reaches(&destroyed, 4));
    OK(cst_release(context));
    company_close(&c);
}

/* MARK: Two coordinators */

struct pair {
    struct company *first, *second;
    pthread_barrier_t *both;
    cst_context *own, *others;
};

static cst_status take_other(void *userdata, cst_error **error) {
    const struct pair *pair = userdata;
    pthread_barrier_wait(pair->both);
    return cst_coordinator_perform_and_wait(pair->second->coordinator, nothing_alone, NULL, error);
}

static void *in_coordinator(void *argument) {
    const struct pair *pair = argument;
    CHECK_STATUS(CST_E_CALLBACK, cst_coordinator_perform_and_wait(pair->first->coordinator, take_other, argument, E));
    CHECK_CONTAINS("a coordinator's perform", cst_error_message(check_error()));
    check_slot();
    return NULL;
}

static cst_status wait_for_others(void *userdata, cst_context *context, cst_error **error) {
    (void)context;
    const struct pair *pair = userdata;
    pthread_barrier_wait(pair->both);
    return cst_context_perform_and_wait(pair->others, nothing, NULL, error);
}

static void *in_context(void *argument) {
    const struct pair *pair = argument;
    cst_status status = cst_context_perform_and_wait(pair->own, wait_for_others, argument, E);
    if (status != CST_OK) {
        CHECK_STATUS(CST_E_CALLBACK, status);
        CHECK_CONTAINS("deadlock", cst_error_message(check_error()));
        refused++;
    }
    check_slot();
    return NULL;
}

static void both(struct pair pairs[2], void *(*body)(void *)) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        REQUIRE(pthread_create(&threads[i], NULL, body, &pairs[i]) == 0);
    for (int i = 0; i < 2; i++)
        REQUIRE(pthread_join(threads[i], NULL) == 0);
}

static cst_status end_the_thread(void *userdata, cst_context *context, cst_error **error) {
    (void)userdata, (void)context, (void)error;
    pthread_exit(NULL);
}

/* Against the rules, as Python ends threads after its shutdown: in a child, whose contexts are never destroyed. */
static void queues_continue_when_a_block_ends_its_thread(void) {
    char path[512];
    snprintf(path, sizeof path, "%s", check_path("ended.sqlite"));
    fflush(NULL);
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        execl("/proc/self/exe", "test_workers", "--ended-threads", path, NULL);
        _exit(127);
    }
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK_INT(0, WEXITSTATUS(status));
}

static cst_status sleep_a_while(void *done, cst_context *context, cst_error **error) {
    (void)context, (void)error;
    usleep(200000);
    atomic_fetch_add((atomic_int *)done, 1);
    return CST_OK;
}

/* The work of the child: the watchdog inspects all threads while many wait, also those that have ended. */
static int end_some_threads(const char *path) {
    enum { ENDED = 20, SLOW = 40 };
    struct company c = company_open(path);
    cst_context *first = company_context(&c, CST_QUEUE_PRIVATE);
    atomic_int done = 0;
    OK(cst_context_perform(first, end_the_thread, NULL, NULL, E));
    for (int i = 1; i < ENDED; i++)
        OK(cst_context_perform(company_context(&c, CST_QUEUE_PRIVATE), end_the_thread, NULL, NULL, E));
    usleep(500000);
    /* More threads have ended than the limit: each released its slot, and its queue continues. */
    OK(cst_context_perform(first, sleep_a_while, &done, NULL, E));
    for (int i = 0; i < 600 && atomic_load(&done) < 1; i++)
        usleep(100000);
    CHECK_INT(1, atomic_load(&done));
    atomic_store(&done, 0);
    for (int i = 0; i < SLOW; i++)
        OK(cst_context_perform(company_context(&c, CST_QUEUE_PRIVATE), sleep_a_while, &done, NULL, E));
    for (int i = 0; i < 600 && atomic_load(&done) < SLOW; i++)
        usleep(100000);
    CHECK_INT(SLOW, atomic_load(&done));
    return check_failures();
}

static void a_deadlock_between_coordinators_is_refused(void) {
    begin();
    struct company a = company_open(check_path("a.sqlite")), b = company_open(check_path("b.sqlite"));
    pthread_barrier_t barrier;
    REQUIRE(pthread_barrier_init(&barrier, NULL, 2) == 0);
    cst_context *ours = company_context(&a, CST_QUEUE_PRIVATE), *theirs = company_context(&b, CST_QUEUE_PRIVATE);
    struct pair pairs[2] = {{&a, &b, &barrier, ours, theirs}, {&b, &a, &barrier, theirs, ours}};
    both(pairs, in_coordinator);
    CHECK_INT(0, ran);
    both(pairs, in_context);
    CHECK_INT(1, refused); /* the other one continues */
    CHECK_INT(1, ran);
    pthread_barrier_destroy(&barrier);
    OK(cst_release(ours));
    OK(cst_release(theirs));
    company_close(&a);
    company_close(&b);
}

/* MARK: The end of the process */

static void *enqueue_forever(void *argument) {
    struct company *c = argument;
    struct maker *maker = malloc(sizeof *maker); /* may be used until the process has ended */
    if (!maker) return NULL;
    *maker = (struct maker){c, 1};
    for (;;) {
        cst_context *context = NULL;
        if (cst_context_new(c->coordinator, CST_QUEUE_PRIVATE, &context, NULL) != CST_OK) return NULL;
        cst_context_perform(context, insert_one, maker, NULL, NULL);
        cst_context_perform(context, note_and_nap, NULL, NULL, NULL);
        cst_release(context);
    }
}

/* Runs in another process, which exits while threads enqueue and run blocks. */
static int exit_with_queued_blocks(const char *path) {
    static struct company c;
    c = company_open(path);
    for (int i = 0; i < 8; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, enqueue_forever, &c) != 0) return 1;
    }
    reaches(&ran, 50);
    return 0; /* main returns: atexit handlers and destructors run beside the threads */
}

static void a_process_exits_without_waiting_for_blocks(void) {
    begin();
    char *path = strdup(check_path("a.sqlite"));
    char *arguments[] = {"test_workers", "--leave", path, NULL};
    /* The blocks that are queued or running at exit are not leaks. */
    REQUIRE(setenv("LSAN_OPTIONS", "detect_leaks=0", 1) == 0);
    enum { RUNS = 5, STEPS_OF_A_SECOND = 100 };
    struct timespec begun, over;
    int prompt = 0;
    for (int i = 0; i < RUNS; i++) {
        pid_t child;
        int status = -1, steps = 0;
        clock_gettime(CLOCK_MONOTONIC, &begun);
        REQUIRE(posix_spawn(&child, "/proc/self/exe", NULL, NULL, arguments, environ) == 0);
        atomic_int ended = 0;
        for (; steps < 60 * STEPS_OF_A_SECOND && !ended; steps++) {
            ended = waitpid(child, &status, WNOHANG) == child;
            nap(10);
        }
        CHECK(ended);
        clock_gettime(CLOCK_MONOTONIC, &over);
        prompt += (over.tv_sec - begun.tv_sec) + (over.tv_nsec - begun.tv_nsec) / 1e9 < 1.5;
        if (!ended) kill(child, SIGKILL);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
#ifndef SANITIZER_THREADS
    /* A machine under load may be late once or twice. */
    CHECK(prompt > RUNS / 2);
#endif
    struct company c = company_open(path);
    CHECK(company_count(c.context, c.employee, NULL) >= 5);
    company_close(&c);
    free(path);
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "--leave") == 0) return exit_with_queued_blocks(argv[2]);
    if (argc == 3 && strcmp(argv[1], "--ended-threads") == 0) return end_some_threads(argv[2]);
    check_begin(argc, argv);
    own_threads = thread_count();
#ifdef SANITIZER_THREADS
    own_threads += SANITIZER_THREADS;
#endif
    RUN(many_contexts_share_few_threads);
    RUN(many_stores_share_a_thread);
    RUN(successive_contexts_reuse_threads);
    RUN(many_threads_create_and_release_contexts);
    RUN(a_chain_of_waiting_contexts_finishes);
    RUN(concurrent_graphs_of_waiting_contexts_finish);
    RUN(blocks_that_wait_on_a_barrier_finish);
    RUN(sleeping_blocks_do_not_delay_other_contexts);
    RUN(saves_on_a_busy_store_do_not_delay_other_stores);
    RUN(errors_of_too_many_waits_name_the_chain_of_contexts);
    RUN(blocks_are_refused_when_no_thread_can_be_created);
    RUN(stores_are_usable_when_no_thread_can_be_created);
    RUN(queues_continue_when_a_block_ends_its_thread);
    RUN(a_deadlock_between_coordinators_is_refused);
    RUN(a_process_exits_without_waiting_for_blocks);
    return check_end();
}
