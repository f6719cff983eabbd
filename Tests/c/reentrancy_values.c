/* Values that the host passes and must get back exactly once: registrations, values of transformers, host objects.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reentrancy.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Kept to the end of the seed, so that a second destroy is reported and does not crash. */
struct ticket {
    atomic_int destroyed;
    struct ticket *former;
};

struct thing {
    atomic_int freed;
    struct thing *former;
};

enum { HOSTS = 4 };
static struct host {
    int64_t number;
    atomic_int kept;
} hosts[HOSTS];

static struct ticket *tickets;
static struct thing *things;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* values are created on any thread */
static const char *_Atomic used_last_in;                  /* the function that used it */
static atomic_int used_late;                              /* failures are reported at the end of the seed */

struct ticket *ticket_new(void) {
    struct ticket *ticket = calloc(1, sizeof *ticket);
    if (!ticket) abort();
    ticket->former = tickets;
    tickets = ticket;
    return ticket;
}

void ticket_use_in(void *ticket, const char *function) {
    if (!ticket || ((struct ticket *)ticket)->destroyed == 0) return;
    used_late++;
    used_last_in = function;
}

void ticket_destroy(void *ticket) {
    ((struct ticket *)ticket)->destroyed++;
    within(KIND_destroy);
}

void *thing_new(void) {
    struct thing *thing = calloc(1, sizeof *thing);
    if (!thing) abort();
    pthread_mutex_lock(&mutex);
    thing->former = things;
    things = thing;
    pthread_mutex_unlock(&mutex);
    return thing;
}

void thing_free(void *thing) { ((struct thing *)thing)->freed++; }

bool thing_use_in(const void *thing, const char *function) {
    if (((const struct thing *)thing)->freed == 0) return true;
    used_late++;
    used_last_in = function;
    return false;
}

/* ---- host objects ---- */

static cst_status host_key(void *object, cst_string key, cst_value *out_value, cst_error **error) {
    if (!within(KIND_host_value)) return CST_NOT_FOUND;
    if (key.size != 6 || memcmp(key.data, "number", 6) != 0) return CST_NOT_FOUND;
    *out_value = one_in(6) ? host_value() : value_int(((struct host *)object)->number);
    return answer(error);
}

static cst_status host_count(void *object, size_t *out_count, cst_error **error) {
    (void)object;
    *out_count = 2;
    if (!within(KIND_host_count)) return CST_NOT_FOUND;
    return one_in(2) ? CST_NOT_FOUND : answer(error);
}

static cst_status host_element(void *object, size_t index, cst_value *out_value, cst_error **error) {
    *out_value = value_int(((struct host *)object)->number + (int64_t)index);
    return within(KIND_host_element) ? answer(error) : CST_OK;
}

static const char *host_class_name(void *object) {
    (void)object;
    return within(KIND_host_class_name) && one_in(4) ? NULL : "Host";
}

/* These two callbacks return correct results, as the header requires. */
static bool host_equal(void *object, void *other) {
    within(KIND_host_equal);
    return object == other;
}

static uint64_t host_hash(void *object) {
    within(KIND_host_hash);
    return (uint64_t)((struct host *)object)->number;
}

static cst_status host_compare(void *object, void *other, int32_t *out_order, cst_error **error) {
    *out_order = (int32_t)(((struct host *)object)->number - ((struct host *)other)->number);
    return within(KIND_host_compare) ? answer(error) : CST_OK;
}

static void host_retain(void *object) {
    ((struct host *)object)->kept++;
    within(KIND_host_retain);
}

static void host_release(void *object) {
    ((struct host *)object)->kept--;
    within(KIND_host_release);
}

cst_value host_value(void) {
    static const cst_host_callbacks callbacks = {sizeof callbacks, host_key,    host_count, host_element,
                                                 host_class_name,  host_equal,  host_hash,  host_compare,
                                                 host_retain,      host_release};
    struct host *host = &hosts[below(HOSTS)];
    return (cst_value){CST_HOST, 0, {.host = {&callbacks, host}}};
}

/* ---- the end ---- */

void hosts_begin(void) {
    used_late = 0;
    for (size_t i = 0; i < HOSTS; i++)
        hosts[i].number = (int64_t)i;
}

bool hosts_are_free(void) {
    for (const struct ticket *ticket = tickets; ticket; ticket = ticket->former) {
        if (ticket->destroyed == 0) return false;
    }
    pthread_mutex_lock(&mutex);
    bool all = true;
    for (const struct thing *thing = things; thing; thing = thing->former)
        all = all && thing->freed > 0;
    pthread_mutex_unlock(&mutex);
    for (size_t i = 0; i < HOSTS; i++)
        all = all && hosts[i].kept == 0;
    return all;
}

void hosts_end(void) {
    size_t never = 0, again = 0;
    for (struct ticket *former; tickets; tickets = former) {
        never += tickets->destroyed == 0;
        again += tickets->destroyed > 1;
        former = tickets->former;
        if (tickets->destroyed > 0) free(tickets);
    }
    if (never) complain("%zu destroy functions were never called", never);
    if (again) complain("%zu destroy functions were called more than once", again);
    never = again = 0;
    for (struct thing *former; things; things = former) {
        never += things->freed == 0;
        again += things->freed > 1;
        former = things->former;
        if (things->freed > 0) free(things);
    }
    if (never) complain("%zu values were never freed", never);
    if (again) complain("%zu values were freed more than once", again);
    for (size_t i = 0; i < HOSTS; i++) {
        if (hosts[i].kept != 0) complain("host object %zu has %d references left", i, hosts[i].kept);
        hosts[i].kept = 0;
    }
    if (used_late) complain("%d calls used destroyed or freed values, the last in %s", used_late, used_last_in);
}
