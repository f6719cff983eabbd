/* Functions that Swift does not offer.
 *
 * Examples are thread identity, fork detection, and atomic operations on plain memory. */
#pragma once
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The calling thread's number; 0 before its first use. It is declared here so that getters can compare it without a
 * call. */
extern _Thread_local uint64_t platform_own_thread __attribute__((tls_model("initial-exec")));
uint64_t platform_name_thread(void);

/* Returns a number that is unique among all threads of the process, unlike pthread_self(), which is reused. Never 0.
 * Its low bits are the system's thread ID, see platform_thread_number. */
static inline uint64_t platform_thread_id(void) {
    uint64_t id = platform_own_thread;
    return __builtin_expect(id != 0, 1) ? id : platform_name_thread();
}

/* Whether `*owner` is the calling thread's number. */
static inline bool platform_is_owner(const uint64_t *owner) {
    uint64_t id = platform_own_thread;
    return __atomic_load_n(owner, __ATOMIC_ACQUIRE) == id && id != 0;
}

/* Returns the system's ID, gettid(), of a thread, as shown by debuggers and `top -H`. */
uint32_t platform_thread_number(uint64_t thread);
/* Reads the system's name of a thread. Returns false if that fails, for example because the thread has ended. 16 bytes
 * are enough for every name. */
bool platform_thread_name(uint64_t thread, char *out, int size);

/* Returns the current state of a thread as the system's letter; 0 if the state is unknown.
 *
 * R is running, S sleeping, D waiting for a device. */
char platform_thread_state(uint64_t thread);
/* Returns the processor time of a thread in nanoseconds; 0 if it is unknown or the thread has ended. */
uint64_t platform_thread_time(uint64_t thread);

/* Waits for a semaphore with a time-out in nanoseconds of the monotonic clock. Returns false if the time-out
 * expired. */
bool platform_wait(sem_t *semaphore, uint64_t nanoseconds);
void platform_sleep(uint64_t nanoseconds);

/* The worker of the calling thread; NULL if the thread is not a worker. */
extern _Thread_local void *platform_own_worker __attribute__((tls_model("initial-exec")));
static inline void *platform_worker(void) { return platform_own_worker; }
/* Sets the function that is called if a host's function ends the thread of a worker. `lost` runs on that thread. Must
 * be called before the first call of platform_set_worker. */
void platform_prepare_workers(void (*lost)(void *worker));
/* Sets the worker of the calling thread; NULL if the thread is no longer a worker. */
void platform_set_worker(void *worker);

/* Starts a detached thread with all signals blocked, because the threads of the host handle signals. Returns 0 or the
 * system's error code. */
int platform_start_thread(void *(*run)(void *), void *argument);

/* Sets the name of a thread, at most 15 bytes. Does nothing if the thread has ended. */
void platform_set_thread_name(uint64_t thread, const char *name);

/* Prefetches memory into the processor's cache. */
static inline void platform_prefetch(const void *address) { __builtin_prefetch(address); }

/* The number of store locks that the calling thread holds: save locks in the low half, connections in the high half. A
 * thread that holds such a lock must not wait for a context's queue. */
extern _Thread_local uint32_t platform_stores_held __attribute__((tls_model("initial-exec")));
enum { PLATFORM_STORE = 1, PLATFORM_CONNECTION = 1 << 16 };
static inline void platform_did_acquire(uint32_t what) { platform_stores_held += what; }
static inline void platform_did_release(uint32_t what) { platform_stores_held -= what; }
static inline bool platform_holds_store(void) { return platform_stores_held != 0; }
static inline bool platform_holds_connection(void) { return platform_stores_held >= PLATFORM_CONNECTION; }

/* Returns a pointer to two zeros, for the `owner` of objects that no thread may use. */
uint64_t *platform_no_owner(void);

/* Whether the process is a child that was forked after platform_prepare(). The library cannot be used in such a child;
 * see CST_E_FORKED. */
extern bool platform_forked;
static inline bool platform_is_forked(void) { return platform_forked; }

/* Installs the fork handler. Idempotent. Called, at the latest, before the first handle is created. */
void platform_prepare(void);

/* The detail level of SQL logging. It is a plain variable, because it is checked before each use of a SQLite
 * connection. */
extern uint32_t platform_sql_level;
static inline uint32_t platform_sql_detail(void) { return __atomic_load_n(&platform_sql_level, __ATOMIC_RELAXED); }
static inline void platform_set_sql_detail(uint32_t v) { __atomic_store_n(&platform_sql_level, v, __ATOMIC_RELAXED); }

/* Returns the address of a thread-local pointer to the list of objects whose deallocation is deferred. Initially, the
 * pointer is NULL. */
void **platform_thread_slot(void);

/* Exchanges two files or folders atomically. Returns false if that fails, for example because the file system does not
 * support it. */
bool platform_exchange(const char *one, const char *other);

/* Reads the POSIX access control list of a file in the kernel's format. Returns the list's size in bytes; 0 if the file
 * does not have a list, or the list cannot be read. If `size` is 0, only returns the size. */
size_t platform_access_list(const char *path, void *out, size_t size);
/* Sets the access control list of a file. Returns false if that fails. */
bool platform_set_access_list(int descriptor, const void *list, size_t size);

/* Creates a descriptor that is readable after platform_event_signal, until platform_event_clear; -1 on failure. */
int platform_event_new(void);
void platform_event_signal(int descriptor);
void platform_event_clear(int descriptor);

/* Creates a descriptor that is readable after a file in a folder was changed; -1 on failure.
 *
 * A change is a write, a creation, a move or a removal. */
int platform_folder_watch(const char *folder);

/* Whether the file `name`, or a file whose name begins with `name` and a hyphen, changed since the last call.
 * Also true if the folder itself changed, or if events were lost. */
bool platform_folder_changed(int descriptor, const char *name);

/* Whether a watch of the folder reports the writes of all processes. False for known network and user-space
 * file systems, and if the file system cannot be determined. */
bool platform_folder_reports_writes(const char *folder);

/* Retains a Swift object whose memory is still allocated. Returns NULL if its deallocation has begun. */
void *swift_tryRetain(void *object);

static inline uint32_t platform_load32(const uint32_t *p) { return __atomic_load_n(p, __ATOMIC_ACQUIRE); }
static inline void platform_store32(uint32_t *p, uint32_t v) { __atomic_store_n(p, v, __ATOMIC_RELEASE); }
static inline uint32_t platform_add32(uint32_t *p, uint32_t v) { return __atomic_add_fetch(p, v, __ATOMIC_ACQ_REL); }
static inline uint64_t platform_load64(const uint64_t *p) { return __atomic_load_n(p, __ATOMIC_ACQUIRE); }
static inline void platform_store64(uint64_t *p, uint64_t v) { __atomic_store_n(p, v, __ATOMIC_RELEASE); }
static inline uint64_t platform_add64(uint64_t *p, uint64_t v) { return __atomic_add_fetch(p, v, __ATOMIC_ACQ_REL); }
static inline bool platform_cas64(uint64_t *p, uint64_t *expected, uint64_t v) {
    return __atomic_compare_exchange_n(p, expected, v, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}
static inline bool platform_cas32(uint32_t *p, uint32_t *expected, uint32_t v) {
    return __atomic_compare_exchange_n(p, expected, v, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}
