/* The calls of the library that run on a thread, and work that is deferred until the outermost of them ends.
 *
 * A call of the library may run a callback of the host. That callback may release a handle that the call uses, or an
 * object whose deallocation triggers another callback. Neither object can be freed immediately, because the call may be
 * in the middle of a change. Each thread therefore counts its nested calls, and has a list of work that is deferred
 * until the outermost call ends. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef void (*platform_deferred_fn)(uint64_t first, uint64_t second, uint64_t third);

typedef struct platform_calls {
    /* The stack frame of the outermost call. */
    uintptr_t frame;
    /* The number of nested calls of the library on this thread. */
    uint32_t depth;
    /* Whether the thread's list of deferred work is not empty. */
    bool due;
    /* Whether the thread runs the log callback.
     *
     * The callback must not call the library, because lines are logged at any point, even in the middle of a save. */
    bool runs_log_callback;
} platform_calls;

extern _Thread_local platform_calls platform_own_calls __attribute__((tls_model("initial-exec")));

static inline uint32_t platform_call_depth(void) { return platform_own_calls.depth; }

static inline bool platform_runs_log_callback(void) { return platform_own_calls.runs_log_callback; }
static inline void platform_set_runs_log_callback(bool runs) { platform_own_calls.runs_log_callback = runs; }

static inline __attribute__((always_inline)) void platform_call_begin(void) {
    if (platform_own_calls.depth++ == 0) platform_own_calls.frame = (uintptr_t)__builtin_frame_address(0);
}

/* Whether both addresses are on the stack with which the calling thread started.
 *
 * False for addresses on the stack of a coroutine, for example, or if the bounds of the thread's stack are unknown. */
bool platform_on_own_stack(uintptr_t one, uintptr_t other);

/* Whether a callback was left by longjmp, so that the call that is counted as the outermost one has ended. A
 * nested call has a lower stack address than its outermost call. A later call with a lower address cannot be
 * distinguished from a nested one. */
static inline __attribute__((always_inline)) bool platform_call_was_abandoned(void) {
    if (platform_own_calls.depth < 2) return false;
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    return here >= platform_own_calls.frame && platform_on_own_stack(here, platform_own_calls.frame);
}

/* Ends a call, unless it is the outermost one and deferred work exists. In that case, returns true; the caller must
 * then call platform_call_finish(), which ends the call. */
static inline bool platform_call_end(void) {
    if (platform_own_calls.due && platform_own_calls.depth == 1) return true;
    platform_own_calls.depth--;
    return false;
}

/* Runs the deferred work of the thread, including work that is deferred meanwhile, and then ends the outermost call. */
void platform_call_finish(void);

/* Defers `run` until the outermost call of this thread ends. Runs it immediately if there is no call, or if the list
 * cannot grow because memory is exhausted. */
void platform_call_defer(platform_deferred_fn run, uint64_t first, uint64_t second, uint64_t third);

/* Runs now those deferred calls of `run` whose second argument is `second`. */
void platform_call_run_deferred(platform_deferred_fn run, uint64_t second);

/* Suspends the outermost call, whose only work is a callback, such as a block to be performed. Has no effect in a
 * nested call. Calls in the callback then count as outermost ones and run their deferred work when they end. Returns
 * the argument for platform_call_resume. */
static inline uintptr_t platform_call_suspend(void) {
    if (platform_own_calls.depth != 1) return 0;
    platform_own_calls.depth = 0;
    return platform_own_calls.frame;
}

static inline void platform_call_resume(uintptr_t suspended) {
    if (suspended == 0) return;
    platform_own_calls.depth = 1;
    platform_own_calls.frame = suspended;
}
