/* The system clock is set back and forth while the library runs: only dates follow it.
 *
 * The library calls this program's clock functions instead of those of the system.
 *
 * SPDX-License-Identifier: MIT
 */
#include "company.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

enum { DAY = 24 * 60 * 60 };

/* The offset of the clock in seconds, and the number of times it was read. */
static atomic_long offset, asked;

int clock_gettime(clockid_t clock, struct timespec *out) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(clock, out);
    if (clock != CLOCK_REALTIME) return result;
    asked++;
    out->tv_sec += offset;
    return result;
}

int gettimeofday(struct timeval *restrict out, void *restrict zone) {
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    *out = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
    return 0;
}

time_t time(time_t *out) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out) *out = now.tv_sec;
    return now.tv_sec;
}

static void nap(long milliseconds) {
    const struct timespec pause = {milliseconds / 1000, milliseconds % 1000 * 1000 * 1000};
    nanosleep(&pause, NULL);
}

static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec - 978307200.0; /* since 2001 */
}

static void dates_follow_the_system_clock(void) {
    struct company c = company_open(check_path("a.sqlite"));
    offset = 0;
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    set(ada, c.hired, value_date(seconds_now()));
    save(c.context);
    asked = 0;
    nap(5);
    CHECK_INT(1, company_count(c.context, c.employee, "hired < now()"));
    CHECK(asked > 0); /* the library reads this program's clock */
    offset = -DAY;
    CHECK_INT(0, company_count(c.context, c.employee, "hired < now()"));
    CHECK_INT(1, company_count(c.context, c.employee, "hired > now()"));
    cst_object *bob = company_employee(&c, c.context, "Bob", 2);
    set(bob, c.hired, value_date(seconds_now()));
    save(c.context);
    cst_results *results = company_fetch(c.context, c.employee, NULL, "hired");
    CHECK_TEXT("Bob", get_text(object_at(results, 0), c.name));
    offset = 0;
    OK(cst_release(results));
    OK(cst_release(ada));
    OK(cst_release(bob));
    company_close(&c);
}

static int64_t number_in(const char *path, const char *query) {
    sqlite3 *db = NULL;
    sqlite3_stmt *statement = NULL;
    REQUIRE(sqlite3_open(path, &db) == SQLITE_OK);
    REQUIRE(sqlite3_prepare_v2(db, query, -1, &statement, NULL) == SQLITE_OK);
    REQUIRE(sqlite3_step(statement) == SQLITE_ROW);
    const int64_t number = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return number;
}

static void history_continues_when_the_clock_is_set_back(void) {
    cst_store_options options = CST_STORE_OPTIONS_INIT;
    options.flags = CST_STORE_HISTORY;
    struct company c = company_open_with(check_path("a.sqlite"), &options);
    for (int i = 0; i < 4; i++) {
        offset = -i * DAY;
        cst_object *object = company_employee(&c, c.context, "Ada", i);
        save(c.context);
        OK(cst_release(object));
        CHECK_INT(i + 1, number_in(check_path("a.sqlite"), "SELECT max(Z_PK) FROM ATRANSACTION"));
    }
    CHECK_INT(4, number_in(check_path("a.sqlite"), "SELECT count(*) FROM ATRANSACTION"));
    /* The newest has the earliest date. */
    CHECK_INT(4, number_in(check_path("a.sqlite"), "SELECT Z_PK FROM ATRANSACTION ORDER BY ZTIMESTAMP LIMIT 1"));
    offset = 0;
    company_close(&c);
}

static cst_status make_ada_older(void *userdata, cst_context *context, cst_error **error) {
    const struct company *c = userdata;
    (void)error;
    cst_results *results = company_fetch(context, c->employee, "name == 'Ada'", NULL);
    set(object_at(results, 0), c->number, value_int(2));
    save(context);
    OK(cst_release(results));
    return CST_OK;
}

static void staleness_does_not_depend_on_the_system_clock(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    save(c.context);
    CHECK_INT(1, get_int(ada, c.number));
    OK(cst_context_set_option(c.context, CST_OPTION_STALENESS_MS, 20, E));
    /* Another coordinator, so that the row cache of this one is not updated. */
    struct company other = company_open(check_path("a.sqlite"));
    OK(make_ada_older(&other, other.context, NULL));
    for (int i = 0; i < 4; i++) {
        offset = i % 2 ? DAY : -DAY;
        nap(30);
        OK(cst_object_refresh(ada, false, E));
        CHECK_INT(2, get_int(ada, c.number));
    }
    OK(cst_context_set_option(c.context, CST_OPTION_STALENESS_MS, DAY * 1000LL / 2, E));
    offset = DAY; /* this does not make rows stale */
    set(ada, c.number, value_int(3));
    save(c.context);
    CHECK_INT(3, get_int(ada, c.number));
    offset = 0;
    OK(cst_release(ada));
    company_close(&other);
    company_close(&c);
}

static void *lock_and_end(void *argument) {
    CHECK_STATUS(CST_OK, cst_context_lock(argument, E));
    check_slot();
    return NULL;
}

static atomic_int ran;
static cst_status note(void *userdata, cst_context *context, cst_error **error) {
    (void)userdata, (void)context, (void)error;
    ran++;
    return CST_OK;
}

static void queue_waits_do_not_depend_on_the_system_clock(void) {
    struct company c = company_open(check_path("a.sqlite"));
    const long offsets[] = {DAY, -DAY};
    ran = 0;
    for (int i = 0; i < 2; i++) {
        cst_context *context = company_context(&c, CST_QUEUE_PRIVATE);
        pthread_t thread;
        REQUIRE(pthread_create(&thread, NULL, lock_and_end, context) == 0);
        nap(20); /* the thread mostly has the lock by now; pthread_join waits for it in any case */
        REQUIRE(pthread_join(thread, NULL) == 0);
        /* A deadline by the clock that is set would be a day off now. */
        offset = offsets[i];
        OK(cst_context_perform(context, note, NULL, NULL, E));
        OK(cst_context_perform_and_wait(context, note, NULL, E));
        CHECK_INT(2 * (i + 1), ran);
        offset = 0;
        OK(cst_release(context));
    }
    company_close(&c);
}

struct waiting {
    struct company *company;
    cst_context *context;
    atomic_bool cancels;
};

static bool is_cancelled(void *userdata) { return ((struct waiting *)userdata)->cancels; }

static void *save_and_be_cancelled(void *argument) {
    struct waiting *waiting = argument;
    struct company *c = waiting->company;
    cst_context *context = NULL;
    cst_object *object = NULL;
    cst_value name = value_text("Bob");
    CHECK_STATUS(CST_OK, cst_context_new(c->coordinator, CST_QUEUE_CALLER, &context, E));
    CHECK_STATUS(CST_OK, cst_context_insert(context, c->employee, &object, E));
    CHECK_STATUS(CST_OK, cst_object_set(object, c->name, &name, E));
    CHECK_STATUS(CST_OK, cst_context_set_interrupt(context, is_cancelled, waiting, NULL, E));
    CHECK_STATUS(CST_E_CANCELLED, cst_context_save(context, E));
    CHECK_STATUS(CST_OK, cst_release(object));
    CHECK_STATUS(CST_OK, cst_release(context));
    check_slot();
    return NULL;
}

static cst_status wait_for_cancel(void *userdata, cst_error **error) {
    struct waiting *waiting = userdata;
    (void)error;
    pthread_t thread;
    offset = DAY;
    REQUIRE(pthread_create(&thread, NULL, save_and_be_cancelled, waiting) == 0);
    nap(50);
    waiting->cancels = true;
    /* The save waits for the block of the coordinator that runs this code, so it must end before the block does. */
    REQUIRE(pthread_join(thread, NULL) == 0);
    offset = 0;
    return CST_OK;
}

static void a_save_that_waits_for_the_coordinator_can_be_cancelled(void) {
    struct company c = company_open(check_path("a.sqlite"));
    struct waiting waiting = {&c, NULL, false};
    OK(cst_coordinator_perform_and_wait(c.coordinator, wait_for_cancel, &waiting, E));
    CHECK_INT(0, company_count(c.context, c.employee, NULL));
    company_close(&c);
}

static void the_busy_timeout_does_not_depend_on_the_system_clock(void) {
    cst_store_options options = CST_STORE_OPTIONS_INIT;
    options.busy_timeout_ms = 100;
    struct company c = company_open_with(check_path("a.sqlite"), &options);
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    sqlite3 *db = NULL;
    REQUIRE(sqlite3_open(check_path("a.sqlite"), &db) == SQLITE_OK);
    REQUIRE(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK);
    for (int i = 0; i < 2; i++) {
        offset = i % 2 ? DAY : -DAY;
        CHECK_STATUS(CST_E_STORE_BUSY, cst_context_save(c.context, E));
    }
    REQUIRE(sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL) == SQLITE_OK);
    sqlite3_close(db);
    save(c.context);
    offset = 0;
    OK(cst_release(ada));
    company_close(&c);
}

static void the_drain_timeout_does_not_depend_on_the_system_clock(void) {
    size_t count = 1;
    OK(cst_main_queue_bind(E));
    for (int i = 0; i < 2; i++) {
        offset = i % 2 ? DAY : -DAY;
        CHECK_STATUS(CST_UNCHANGED, cst_main_queue_drain(20, &count, E));
        CHECK_INT(0, count);
    }
    offset = 0;
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(dates_follow_the_system_clock);
    RUN(history_continues_when_the_clock_is_set_back);
    RUN(staleness_does_not_depend_on_the_system_clock);
    RUN(queue_waits_do_not_depend_on_the_system_clock);
    RUN(a_save_that_waits_for_the_coordinator_can_be_cancelled);
    RUN(the_busy_timeout_does_not_depend_on_the_system_clock);
    RUN(the_drain_timeout_does_not_depend_on_the_system_clock);
    return check_end();
}
