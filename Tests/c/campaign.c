/* Eight threads, each with its own context, read one store for a while and make conflicting changes.
 *
 * It runs for 3 seconds, or for the number of seconds in CORESTONE_CAMPAIGN.
 *
 * Each save moves one piece of money from one account to another. It either succeeds or fails with a conflict that
 * names an account that it would have changed. So at the end every balance is the result of the successful saves, and
 * every reader finds a total of 0 at any time. Some threads use a context of the caller's queue, some a private queue,
 * some a child context.
 *
 * SPDX-License-Identifier: MIT
 */
#include "company.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { THREADS = 8, ACCOUNTS = 24, NOTES = 40 };

enum kind { CALLER, QUEUED, CHILD, KINDS };

struct worker {
    const struct company *company;
    cst_object_id *const *accounts;
    enum kind kind;
    int number;
    uint64_t random, until;
    cst_context *context, *parent;
    int64_t paid[ACCOUNTS], got[ACCOUNTS]; /* by successful saves */
    int64_t saves, conflicts, reads, notes, steps;
};

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static int dice(struct worker *w, int sides) {
    w->random ^= w->random << 13;
    w->random ^= w->random >> 7;
    w->random ^= w->random << 17;
    return (int)(w->random % (uint64_t)sides);
}

/* Adds to an integer of an object. */
static void add(cst_object *object, cst_key key, int64_t amount) {
    cst_value value;
    CHECK_STATUS(CST_OK, cst_object_get(object, key, &value, E));
    value = value_int(value.as.integer + amount);
    CHECK_STATUS(CST_OK, cst_object_set(object, key, &value, E));
}

static cst_status write_down(const struct worker *w, cst_context *context) {
    const cst_status status = cst_context_save(context, E);
    return status == CST_OK && w->kind == CHILD ? cst_context_save(w->parent, E) : status;
}

/* The error of a save that failed names one of the two accounts, with the versions that do not go together. */
static void check_conflict(const struct worker *w, int from, int to) {
    const cst_error *error = check_error();
    CHECK_INT(133020, cst_error_code(error));
    CHECK(cst_error_conflict_count(error) > 0);
    for (size_t i = 0; i < cst_error_conflict_count(error); i++) {
        const cst_conflict *conflict = cst_error_conflict_at(error, i);
        const cst_object_id *id = cst_conflict_object_id_at(conflict, 0);
        CHECK(cst_object_id_equal(id, w->accounts[from]) || cst_object_id_equal(id, w->accounts[to]));
        CHECK(cst_conflict_new_version(conflict) > cst_conflict_old_version(conflict));
    }
}

/* Discards the failed changes; later reads return the newest values. */
static void start_over(const struct worker *w, cst_context *context) {
    CHECK_STATUS(CST_OK, cst_context_rollback(context, E));
    if (w->kind == CHILD) {
        CHECK_STATUS(CST_OK, cst_context_rollback(w->parent, E));
        CHECK_STATUS(CST_OK, cst_context_refresh_all(w->parent, E));
    }
    CHECK_STATUS(CST_OK, cst_context_refresh_all(context, E));
}

static void pay(struct worker *w, cst_context *context) {
    const struct company *c = w->company;
    const int from = dice(w, ACCOUNTS), to = (from + 1 + dice(w, ACCOUNTS - 1)) % ACCOUNTS;
    cst_object *payer = NULL, *payee = NULL;
    CHECK_STATUS(CST_OK, cst_context_object_with_id(context, w->accounts[from], &payer, E));
    CHECK_STATUS(CST_OK, cst_context_object_with_id(context, w->accounts[to], &payee, E));
    add(payer, c->number, -1);
    add(payer, c->floor, 1);
    add(payee, c->number, 1);
    if (write_down(w, context) == CST_OK) {
        w->saves++;
        w->paid[from]++;
        w->got[to]++;
    } else {
        w->conflicts++;
        check_conflict(w, from, to);
        start_over(w, context);
    }
    CHECK_STATUS(CST_OK, cst_release(payer));
    CHECK_STATUS(CST_OK, cst_release(payee));
}

/* All employees of a predicate. Unlike company_fetch it may be called on any thread. */
static cst_results *fetch(const struct worker *w, cst_context *context, const char *predicate) {
    cst_fetch_request *request = NULL;
    cst_predicate *parsed = NULL;
    cst_results *results = NULL;
    CHECK_STATUS(CST_OK, cst_predicate_parse(text(predicate), 0, NULL, &parsed, E));
    CHECK_STATUS(CST_OK, cst_fetch_request_new(w->company->employee, &request, E));
    CHECK_STATUS(CST_OK, cst_fetch_request_set_predicate(request, parsed, E));
    CHECK_STATUS(CST_OK, cst_context_fetch(context, request, &results, E));
    CHECK_STATUS(CST_OK, cst_release(request));
    CHECK_STATUS(CST_OK, cst_release(parsed));
    return results;
}

/* A context without rows sees all accounts as one save left them. */
static void take_stock(struct worker *w) {
    cst_context *reader = NULL;
    if (!CHECK_STATUS(CST_OK, cst_context_new(w->company->coordinator, CST_QUEUE_CALLER, &reader, E))) return;
    cst_results *results = fetch(w, reader, "name == 'account'");
    CHECK_INT(ACCOUNTS, cst_results_count(results));
    int64_t money = 0;
    for (size_t i = 0; i < cst_results_count(results); i++) {
        cst_object *account = NULL;
        cst_value value = {0};
        CHECK_STATUS(CST_OK, cst_results_get_object(results, i, &account, E));
        CHECK_STATUS(CST_OK, cst_object_get(account, w->company->number, &value, E));
        money += value.as.integer;
    }
    CHECK_INT(0, money);
    w->reads++;
    CHECK_STATUS(CST_OK, cst_release(results));
    CHECK_STATUS(CST_OK, cst_release(reader));
}

/* Inserts and deletes rows that only this thread uses, which must not cause a conflict. */
static void keep_notes(struct worker *w, cst_context *context) {
    const struct company *c = w->company;
    if (w->notes < NOTES) {
        const cst_key keys[] = {c->name, c->level};
        const cst_value values[] = {value_text("note"), value_int(w->number)};
        CHECK_STATUS(CST_OK, cst_context_insert_many(context, c->employee, 1, 2, keys, values, NULL, E));
        w->notes++;
    } else {
        char predicate[64];
        snprintf(predicate, sizeof predicate, "name == 'note' AND level == %d", w->number);
        cst_results *notes = fetch(w, context, predicate);
        CHECK_INT(w->notes, cst_results_count(notes));
        for (size_t i = 0; i < cst_results_count(notes); i++) {
            cst_object *note = NULL;
            CHECK_STATUS(CST_OK, cst_results_get_object(notes, i, &note, E));
            CHECK_STATUS(CST_OK, cst_context_delete(context, note, E));
        }
        CHECK_STATUS(CST_OK, cst_release(notes));
        w->notes = 0;
    }
    CHECK_STATUS(CST_OK, write_down(w, context));
    w->saves++;
}

static cst_status step(void *userdata, cst_context *context, cst_error **error) {
    struct worker *w = userdata;
    (void)error;
    /* Half of them retain the objects that they read, which soon become stale. */
    if (w->steps == 0)
        CHECK_STATUS(CST_OK, cst_context_set_option(context, CST_OPTION_RETAINS_REGISTERED_OBJECTS, w->number % 2, E));
    switch (dice(w, 8)) {
    case 0:
    case 1:
        take_stock(w);
        break;
    case 2:
        keep_notes(w, context);
        break;
    default:
        pay(w, context);
    }
    return CST_OK;
}

static void *work(void *argument) {
    struct worker *w = argument;
    cst_coordinator *coordinator = w->company->coordinator;
    const cst_queue queue = w->kind == QUEUED ? CST_QUEUE_PRIVATE : CST_QUEUE_CALLER;
    if (!CHECK_STATUS(CST_OK, cst_context_new(coordinator, queue, &w->context, E))) return NULL;
    if (w->kind == CHILD) {
        w->parent = w->context;
        if (!CHECK_STATUS(CST_OK, cst_context_new_child(w->parent, CST_QUEUE_CALLER, &w->context, E))) return NULL;
    }
    for (; now() < w->until; w->steps++)
        if (w->kind == QUEUED)
            CHECK_STATUS(CST_OK, cst_context_perform_and_wait(w->context, step, w, E));
        else
            step(w, w->context, E);
    CHECK_STATUS(CST_OK, cst_release(w->context));
    if (w->parent) CHECK_STATUS(CST_OK, cst_release(w->parent));
    check_slot();
    return NULL;
}

static int seconds = 3;

static void concurrent_conflicting_saves_lose_no_update(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object_id *accounts[ACCOUNTS] = {0};
    cst_object *objects[ACCOUNTS];
    for (int i = 0; i < ACCOUNTS; i++) {
        objects[i] = company_employee(&c, c.context, "account", 0);
        set(objects[i], c.floor, value_int(0));
    }
    OK(cst_context_save(c.context, E));
    for (int i = 0; i < ACCOUNTS; i++)
        OK(cst_object_copy_id(objects[i], &accounts[i], E));

    static struct worker workers[THREADS];
    pthread_t threads[THREADS];
    const uint64_t begun = now();
    printf("seed %llu\n", (unsigned long long)begun);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.company = &c,
                                     .accounts = accounts,
                                     .kind = i % KINDS,
                                     .number = i,
                                     .random = begun * 2 + 1 + (uint64_t)i * 7919,
                                     .until = begun + (uint64_t)seconds * 1000000000};
        REQUIRE(pthread_create(&threads[i], NULL, work, &workers[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++)
        REQUIRE(pthread_join(threads[i], NULL) == 0);

    struct worker all = {0};
    for (int i = 0; i < THREADS; i++) {
        all.steps += workers[i].steps;
        all.saves += workers[i].saves;
        all.conflicts += workers[i].conflicts;
        all.reads += workers[i].reads;
        all.notes += workers[i].notes;
    }
    int64_t lost = 0;
    OK(cst_context_refresh_all(c.context, E));
    for (int i = 0; i < ACCOUNTS; i++) {
        int64_t paid = 0, got = 0;
        for (int k = 0; k < THREADS; k++) {
            paid += workers[k].paid[i];
            got += workers[k].got[i];
        }
        lost += llabs(paid - get_int(objects[i], c.floor)) + llabs(got - paid - get_int(objects[i], c.number));
        OK(cst_release(accounts[i]));
        OK(cst_release(objects[i]));
    }
    CHECK_INT(0, lost);
    CHECK_INT(all.notes, company_count(c.context, c.employee, "name == 'note'"));
    CHECK(all.conflicts > 0);
    printf("%d threads, %d s: %lld steps, %lld saves, %lld conflicts, %lld reads of everything, %lld updates lost\n",
           THREADS, seconds, (long long)all.steps, (long long)all.saves, (long long)all.conflicts, (long long)all.reads,
           (long long)lost);
    company_close(&c);
}

int main(int argc, char **argv) {
    const char *wanted = getenv("CORESTONE_CAMPAIGN");
    if (wanted) seconds = atoi(wanted);
    check_begin(argc, argv);
    RUN(concurrent_conflicting_saves_lose_no_update);
    return check_end();
}
