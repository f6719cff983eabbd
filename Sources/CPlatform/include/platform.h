/* What Swift cannot say by itself: a thread's identity, detection of fork, and atomics on plain memory. */
#pragma once
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The calling thread's number; 0 until it is asked for. In line, since every call of a getter compares it. */
extern _Thread_local uint64_t platform_own_thread __attribute__((tls_model("initial-exec")));
uint64_t platform_name_thread(void);

/* A number that no two threads of a process ever share, unlike pthread_self(), which is reused. Never 0. Its low bits are the
 * system's own number of the thread, see platform_thread_number. */
static inline uint64_t platform_thread_id(void) {
    uint64_t id = platform_own_thread;
    return __builtin_expect(id != 0, 1) ? id : platform_name_thread();
}

/* Whether `*owner` is the calling thread's number. */
static inline bool platform_is_owner(const uint64_t *owner) {
    uint64_t id = platform_own_thread;
    return __atomic_load_n(owner, __ATOMIC_ACQUIRE) == id && id != 0;
}

/* The number by which debuggers and `top -H` know a thread, gettid(). */
uint32_t platform_thread_number(uint64_t thread);
/* The name that the system has for a thread; false when the thread has ended. 16 bytes hold every name. */
bool platform_thread_name(uint64_t thread, char *out, int size);

/* What a thread does at this moment, by the system's letter: R runs, S sleeps, D waits for a device; 0 when nobody knows. */
char platform_thread_state(uint64_t thread);
/* How long a thread was on a processor, in nanoseconds; 0 when nobody knows, or it has ended. */
uint64_t platform_thread_time(uint64_t thread);

/* Takes from a semaphore, waiting so many nanoseconds at most by a clock that nobody sets; false when there was nothing to take. */
bool platform_wait(sem_t *semaphore, uint64_t nanoseconds);
void platform_sleep(uint64_t nanoseconds);

/* What the pool of workers knows the calling thread by; NULL for a thread of the host's. */
extern _Thread_local void *platform_own_worker __attribute__((tls_model("initial-exec")));
static inline void *platform_worker(void) { return platform_own_worker; }
/* Says what is called, on its thread, with a worker whose thread a function of the host's has ended. Before the first worker. */
void platform_prepare_workers(void (*lost)(void *worker));
/* Makes the calling thread a worker; NULL makes it none. */
void platform_set_worker(void *worker);

/* Starts a thread of the library's own, which is never joined and takes no signals: those are for the host's threads. Returns 0, or
 * the system's error. */
int platform_start_thread(void *(*run)(void *), void *argument);

/* At most 15 bytes. Nothing happens when the thread has ended. */
void platform_set_thread_name(uint64_t thread, const char *name);

/* Has the processor bring this memory near, before somebody asks for it. */
static inline void platform_prefetch(const void *address) { __builtin_prefetch(address); }

/* Which locks of stores the calling thread holds: while it has one, it must not wait for a context's queue. The low half counts
 * those of saving, the high half connections. */
extern _Thread_local uint32_t platform_stores_held __attribute__((tls_model("initial-exec")));
enum { PLATFORM_STORE = 1, PLATFORM_CONNECTION = 1 << 16 };
static inline void platform_did_take(uint32_t what) { platform_stores_held += what; }
static inline void platform_did_leave(uint32_t what) { platform_stores_held -= what; }
static inline bool platform_holds_store(void) { return platform_stores_held != 0; }
static inline bool platform_holds_connection(void) { return platform_stores_held >= PLATFORM_CONNECTION; }

/* A place where always two 0 stand, for what belongs to no thread. */
uint64_t *platform_nobody(void);

/* True in a child after fork; every export of the library then answers CST_E_FORKED. */
extern bool platform_forked;
static inline bool platform_is_forked(void) { return platform_forked; }

/* Installs the fork handler; called once, when the first handle is made. */
void platform_prepare(void);

/* How much of the SQL the process's log tells; asked before each use of a store. */
extern uint32_t platform_told_sql;
static inline uint32_t platform_sql_detail(void) { return __atomic_load_n(&platform_told_sql, __ATOMIC_RELAXED); }
static inline void platform_set_sql_detail(uint32_t v) { __atomic_store_n(&platform_told_sql, v, __ATOMIC_RELAXED); }

/* A pointer of the calling thread's own, NULL at first: the list of objects whose end was put off. */
void **platform_thread_slot(void);

/* Exchanges the names of two files or folders at once; false when the file system cannot. */
bool platform_exchange(const char *one, const char *other);

/* The list of who else may do what with a file (its POSIX ACL), in the kernel's form: how many bytes of `out` it takes, or 0 for a
 * file without one, or of which the file system does not tell. */
size_t platform_access_list(const char *path, void *out, size_t size);
/* Gives a file such a list; false when that may not be. */
bool platform_set_access_list(int descriptor, const void *list, size_t size);

/* A descriptor that is readable while it is signalled; -1 when the system gives none. */
int platform_event_new(void);
void platform_event_signal(int descriptor);
void platform_event_clear(int descriptor);

/* A descriptor that is readable when something in a folder was written, made, moved or removed; -1 when the system gives none. */
int platform_folder_watch(const char *folder);

/* Whether that happened, since the last time, to the file `name` or to a companion of it, whose name goes on with a hyphen; true
 * as well when the system lost count. */
bool platform_folder_changed(int descriptor, const char *name);

/* Whether such a descriptor tells of what every process writes there: not in the file systems of networks, nor in those that
 * another process serves. */
bool platform_folder_tells(const char *folder);

/* One more reference to an object of Swift's whose memory is there; NULL when its end has begun. */
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
