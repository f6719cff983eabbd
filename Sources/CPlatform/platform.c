#define _GNU_SOURCE
#include "platform.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/statfs.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#ifdef __has_feature
#if __has_feature(thread_sanitizer)
#define THREAD_SANITIZER 1 /* does not support sem_clockwait: false races */
#endif
#endif

uint32_t platform_sql_level;
bool platform_forked = false;

static uint64_t next_id = 0;
_Thread_local uint64_t platform_own_thread __attribute__((tls_model("initial-exec"))) = 0;

enum { NUMBER_BITS = 22 }; /* the kernel's thread IDs have at most 22 bits (PID_MAX_LIMIT) */
_Thread_local uint32_t platform_stores_held __attribute__((tls_model("initial-exec"))) = 0;

uint64_t platform_name_thread(void) {
    if (platform_own_thread == 0) platform_own_thread = platform_add64(&next_id, 1) << NUMBER_BITS | (uint64_t)gettid();
    return platform_own_thread;
}

uint32_t platform_thread_number(uint64_t thread) { return (uint32_t)(thread & ((1u << NUMBER_BITS) - 1)); }

void platform_set_thread_name(uint64_t thread, const char *name) {
    if (thread == platform_thread_id()) {
        (void)pthread_setname_np(pthread_self(), name);
        return;
    }
    char path[48];
    snprintf(path, sizeof path, "/proc/self/task/%u/comm", platform_thread_number(thread));
    FILE *file = fopen(path, "we");
    if (file == NULL) return;
    fputs(name, file);
    fclose(file);
}

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

char platform_thread_state(uint64_t thread) {
    char path[48], line[512];
    snprintf(path, sizeof path, "/proc/self/task/%u/stat", platform_thread_number(thread));
    FILE *file = fopen(path, "re");
    if (file == NULL) return 0;
    /* The state follows the thread's name, which is in parentheses and may contain any character. */
    const char *name_end = fgets(line, sizeof line, file) ? strrchr(line, ')') : NULL;
    fclose(file);
    return name_end && name_end[1] == ' ' ? name_end[2] : 0;
}

enum { SECOND = 1000000000 };

uint64_t platform_thread_time(uint64_t thread) {
    /* The clock ID that pthread_getcpuclockid would return. That function is not used, because it reads the memory of a
     * thread that may have ended. */
    const clockid_t clock = (clockid_t)(~platform_thread_number(thread) << 3 | 6);
    struct timespec time;
    if (clock_gettime(clock, &time) != 0) return 0;
    return (uint64_t)time.tv_sec * SECOND + (uint64_t)time.tv_nsec;
}

bool platform_wait(sem_t *semaphore, uint64_t nanoseconds) {
    struct timespec deadline;
#ifdef THREAD_SANITIZER
    const clockid_t clock = CLOCK_REALTIME;
#else
    const clockid_t clock = CLOCK_MONOTONIC;
#endif
    clock_gettime(clock, &deadline);
    const uint64_t ends = (uint64_t)deadline.tv_nsec + nanoseconds % SECOND;
    deadline.tv_sec += (time_t)(nanoseconds / SECOND + ends / SECOND);
    deadline.tv_nsec = (long)(ends % SECOND);
#ifdef THREAD_SANITIZER
    while (sem_timedwait(semaphore, &deadline) != 0) {
#else
    while (sem_clockwait(semaphore, clock, &deadline) != 0) {
#endif
        if (errno != EINTR) return false;
    }
    return true;
}

void platform_sleep(uint64_t nanoseconds) {
    struct timespec left = {(time_t)(nanoseconds / SECOND), (long)(nanoseconds % SECOND)};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
}

_Thread_local void *platform_own_worker __attribute__((tls_model("initial-exec"))) = NULL;
static void (*worker_lost)(void *worker);
static pthread_key_t worker_key;
static bool has_worker_key;

/* Called at the end of a thread that is still registered as a worker. */
static void lose_worker(void *worker) {
    platform_own_worker = NULL;
    if (!platform_forked) worker_lost(worker);
}

static void make_worker_key(void) { has_worker_key = pthread_key_create(&worker_key, lose_worker) == 0; }

void platform_prepare_workers(void (*lost)(void *worker)) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (worker_lost == NULL) worker_lost = lost;
    pthread_once(&once, make_worker_key);
}

void platform_set_worker(void *worker) {
    /* If the process does not have a free thread-specific key, the end of the thread is not detected. */
    if (has_worker_key) pthread_setspecific(worker_key, worker);
    platform_own_worker = worker;
}

int platform_start_thread(void *(*run)(void *), void *argument) {
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all, former;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &former);
    const int code = pthread_create(&thread, &attributes, run, argument);
    pthread_sigmask(SIG_SETMASK, &former, NULL);
    pthread_attr_destroy(&attributes);
    return code;
}

/* In the child, the thread's number becomes one that does not own a context, so that the ownership check of frequent
 * calls rejects the thread. */
static void in_child(void) {
    platform_forked = true;
    platform_own_thread = UINT64_MAX;
}

static void install(void) { pthread_atfork(NULL, NULL, in_child); }

void platform_prepare(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, install);
}

uint64_t *platform_no_owner(void) {
    static uint64_t unowned[2];
    return unowned;
}

int platform_event_new(void) { return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC); }

/* Signalling fails only if the counter is full, and clearing only if it is 0. Neither needs an action. */
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

static const char *const ACCESS_LIST = "system.posix_acl_access";

size_t platform_access_list(const char *path, void *out, size_t size) {
    ssize_t count = getxattr(path, ACCESS_LIST, out, size);
    return count < 0 ? 0 : (size_t)count;
}

bool platform_set_access_list(int descriptor, const void *list, size_t size) {
    return fsetxattr(descriptor, ACCESS_LIST, list, size, 0) == 0;
}

int platform_folder_watch(const char *folder) {
    int descriptor = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (descriptor < 0) return -1;
    uint32_t wanted = IN_MODIFY | IN_CREATE | IN_DELETE | IN_MOVE | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;
    if (inotify_add_watch(descriptor, folder, wanted) >= 0) return descriptor;
    close(descriptor);
    return -1;
}

static bool concerns(const struct inotify_event *event, const char *name) {
    if (event->len == 0) return true; /* the folder itself, or events were lost */
    size_t length = strlen(name);
    if (strncmp(event->name, name, length) != 0) return false;
    return event->name[length] == '\0' || event->name[length] == '-';
}

bool platform_folder_changed(int descriptor, const char *name) {
    char events[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
    bool changed = false;
    ssize_t size;
    while ((size = read(descriptor, events, sizeof events)) > 0) {
        for (char *place = events; place < events + size;) {
            const struct inotify_event *event = (const void *)place;
            changed = changed || concerns(event, name);
            place += sizeof *event + event->len;
        }
    }
    return changed;
}

bool platform_folder_reports_writes(const char *folder) {
    /* NFS, SMB (three numbers), AFS (two), Coda, NCP, 9P, Ceph, FUSE, VirtualBox. From linux/magic.h, except those that
     * it does not define. */
    static const uint32_t silent[] = {0x6969,     0x517B, 0xFF534D42, 0xFE534D42, 0x5346414F, 0x6B414653,
                                      0x73757245, 0x564C, 0x01021997, 0x00C36400, 0x65735546, 0x786F4256};
    struct statfs facts;
    if (statfs(folder, &facts) != 0) return false;
    for (size_t i = 0; i < sizeof silent / sizeof *silent; i++) {
        if ((uint32_t)facts.f_type == silent[i]) return false;
    }
    return true;
}
