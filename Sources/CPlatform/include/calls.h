/* What a thread of the host's is in the middle of, and what waits for the end of that.
 *
 * A call of the library may call the host back, and the host may then give up what the call works with, or end an object whose
 * end is the host's own code to tell. Neither may happen there and then: the call may be between two halves of a change. So
 * each call counts itself in and out, and what must wait for the end of the outermost one is put on a list of the thread's.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef void (*platform_deferred_fn)(uint64_t first, uint64_t second, uint64_t third);

typedef struct platform_calls {
    /* Where the outermost call stands on the stack. */
    uintptr_t frame;
    /* How many calls of the library run on this thread, one within the other. */
    uint32_t depth;
    /* Whether the list is not empty. */
    bool due;
    /* Whether the thread hands a line of the log to its taker, which may not call the library meanwhile: lines come from the midst
     * of everything, also from between two halves of a save. */
    bool telling;
} platform_calls;

extern _Thread_local platform_calls platform_own_calls __attribute__((tls_model("initial-exec")));

static inline uint32_t platform_call_depth(void) { return platform_own_calls.depth; }

static inline bool platform_is_telling(void) { return platform_own_calls.telling; }
static inline void platform_set_telling(bool telling) { platform_own_calls.telling = telling; }

static inline __attribute__((always_inline)) void platform_call_begin(void) {
    if (platform_own_calls.depth++ == 0) platform_own_calls.frame = (uintptr_t)__builtin_frame_address(0);
}

/* Whether both lie on the stack that the system gave this thread, and not on one of the host's own making. */
bool platform_on_own_stack(uintptr_t one, uintptr_t other);

/* Whether the call that is counted as the outermost one is gone, since a callback was left by longjmp: a call within it stands
 * below it on the stack. A call from deeper on the stack is not told from one within it. */
static inline __attribute__((always_inline)) bool platform_call_was_left(void) {
    if (platform_own_calls.depth < 2) return false;
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    return here >= platform_own_calls.frame && platform_on_own_stack(here, platform_own_calls.frame);
}

/* True when the call is the outermost one and something waits for its end: platform_call_finish() is to be called, and counts
 * the call out. */
static inline bool platform_call_end(void) {
    if (platform_own_calls.due && platform_own_calls.depth == 1) return true;
    platform_own_calls.depth--;
    return false;
}

/* Does what waits, and what is put on the list meanwhile; then counts the outermost call out. */
void platform_call_finish(void);

/* Has `run` called when the outermost call of this thread ends; at once when there is none, or no memory for the list. */
void platform_call_defer(platform_deferred_fn run, uint64_t first, uint64_t second, uint64_t third);

/* Calls now what waits to be called with this function and this second argument. */
void platform_call_settle(platform_deferred_fn run, uint64_t second);

/* Before a callback that is all that the outermost call does, such as a block to perform: what the calls in it end, ends with
 * them. Returns what platform_call_resume takes. */
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
