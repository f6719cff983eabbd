#define _GNU_SOURCE
#include "calls.h"

#include <pthread.h>
#include <stdlib.h>

typedef struct {
    platform_deferred_fn run;
    uint64_t first, second, third;
} deferred;

/* A queue of deferred calls. Calls may be appended while the queue is processed. */
typedef struct {
    deferred *items;
    size_t count, capacity;
} deferred_list;

_Thread_local platform_calls platform_own_calls __attribute__((tls_model("initial-exec"))) = {0, 0, false, false};
static _Thread_local deferred_list waiting __attribute__((tls_model("initial-exec"))) = {NULL, 0, 0};
/* Whether the list is being processed. Items then keep their indexes. Those that were run have a NULL function. */
static _Thread_local bool in_use __attribute__((tls_model("initial-exec"))) = false;

void platform_call_defer(platform_deferred_fn run, uint64_t first, uint64_t second, uint64_t third) {
    if (platform_own_calls.depth == 0) {
        run(first, second, third);
        return;
    }
    if (waiting.count == waiting.capacity) {
        size_t capacity = waiting.capacity == 0 ? 16 : waiting.capacity * 2;
        deferred *grown = realloc(waiting.items, capacity * sizeof *grown);
        if (grown == NULL) {
            run(first, second, third);
            return;
        }
        waiting.items = grown;
        waiting.capacity = capacity;
    }
    waiting.items[waiting.count++] = (deferred){run, first, second, third};
    platform_own_calls.due = true;
}

bool platform_on_own_stack(uintptr_t one, uintptr_t other) {
    pthread_attr_t attributes;
    void *lowest = NULL;
    size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return false;
    bool is_known = pthread_attr_getstack(&attributes, &lowest, &size) == 0;
    pthread_attr_destroy(&attributes);
    const uintptr_t start = (uintptr_t)lowest;
    return is_known && one - start < size && other - start < size;
}

void platform_call_run_deferred(platform_deferred_fn run, uint64_t second) {
    const bool was_in_use = in_use;
    in_use = true;
    for (size_t next = 0; next < waiting.count; next++) {
        deferred one = waiting.items[next];
        if (one.run != run || one.second != second) continue;
        waiting.items[next].run = NULL;
        run(one.first, one.second, one.third);
    }
    in_use = was_in_use;
    if (in_use) return;
    size_t kept = 0;
    for (size_t next = 0; next < waiting.count; next++) {
        if (waiting.items[next].run != NULL) waiting.items[kept++] = waiting.items[next];
    }
    waiting.count = kept;
    platform_own_calls.due = kept != 0;
}

void platform_call_finish(void) {
    /* The call is still counted, so that nested deferred calls are appended instead of running immediately. */
    in_use = true;
    for (size_t next = 0; next < waiting.count; next++) {
        deferred one = waiting.items[next];
        if (one.run == NULL) continue;
        waiting.items[next].run = NULL; /* a nested platform_call_run_deferred must not run it again */
        one.run(one.first, one.second, one.third);
    }
    in_use = false;
    free(waiting.items);
    waiting = (deferred_list){NULL, 0, 0};
    platform_own_calls.due = false;
    platform_own_calls.depth--;
}
