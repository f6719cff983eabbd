#define _GNU_SOURCE
#include "platform.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

uint32_t platform_told_sql;
bool platform_forked = false;

static uint64_t next_id = 0;
_Thread_local uint64_t platform_own_thread __attribute__((tls_model("initial-exec"))) = 0;

enum { NUMBER_BITS = 22 }; /* the kernel's numbers of threads have no more (PID_MAX_LIMIT) */

uint64_t platform_name_thread(void) {
    if (platform_own_thread == 0)
        platform_own_thread = platform_add64(&next_id, 1) << NUMBER_BITS | (uint64_t)gettid();
    return platform_own_thread;
}

uint32_t platform_thread_number(uint64_t thread) { return (uint32_t)(thread & ((1u << NUMBER_BITS) - 1)); }

void platform_set_thread_name(pthread_t thread, const char *name) { (void)pthread_setname_np(thread, name); }

bool platform_thread_name(uint64_t thread, char *out, int size) {
    char path[48];
    snprintf(path, sizeof path, "/proc/self/task/%u/comm", platform_thread_number(thread));
    FILE *file = fopen(path, "re");
    if (file == NULL) return false;
    bool found = fgets(out, size, file) != NULL;
    fclose(file);
    if (found) out[strcspn(out, "\n")] = 0;
    return found;
}

/* The child gets an identity that owns nothing, so that the one compare of the hot calls already refuses it. */
static void in_child(void) {
    platform_forked = true;
    platform_own_thread = UINT64_MAX;
}

static void install(void) { pthread_atfork(NULL, NULL, in_child); }

void platform_prepare(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, install);
}

uint64_t *platform_nobody(void) {
    static uint64_t nobody[2];
    return nobody;
}

int platform_event_new(void) { return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC); }

/* Both can only fail where there is nothing left to do: the counter is full, or empty. */
void platform_event_signal(int descriptor) { (void)eventfd_write(descriptor, 1); }

void platform_event_clear(int descriptor) {
    eventfd_t count;
    (void)eventfd_read(descriptor, &count);
}

void **platform_thread_slot(void) {
    static _Thread_local void *slot __attribute__((tls_model("initial-exec"))) = NULL;
    return &slot;
}

bool platform_exchange(const char *one, const char *other) {
    return renameat2(AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE) == 0;
}

static _Thread_local bool telling;
bool platform_is_telling(void) { return telling; }
void platform_set_telling(bool now) { telling = now; }
