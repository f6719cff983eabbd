/* The table behind every handle that a C host holds.
 *
 * A token is (generation and type, index), never an address: a token that was released, whose place was used again, or
 * that was never one at all is told from a live one by one compare. Places are never unmapped, so looking at one is always
 * safe; what another thread may change is one 64-bit word, changed by compare-and-swap. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct platform_handle {
    /* Tag (26 bits generation, 6 bits type) in the upper half, number of owners in the lower. */
    uint64_t word;
    void *object;
    /* The token of the handle that this one keeps alive; 0 for none. */
    uint64_t parent;
    /* Free places, and places on a list of deferred releases: index + 1 of the next. */
    uint32_t next;
    uint32_t type;
} platform_handle;

enum { PLATFORM_HANDLE_PAGE_BITS = 13, PLATFORM_HANDLE_PAGES = 1 << 16, PLATFORM_HANDLE_TYPE_BITS = 6 };

extern platform_handle *platform_handle_pages[PLATFORM_HANDLE_PAGES];
extern uint32_t platform_handle_limit;

/* The place of an index; NULL beyond the table. */
static inline platform_handle *platform_handle_at(uint32_t index) {
    if (index >= __atomic_load_n(&platform_handle_limit, __ATOMIC_ACQUIRE)) return NULL;
    return platform_handle_pages[index >> PLATFORM_HANDLE_PAGE_BITS] + (index & ((1u << PLATFORM_HANDLE_PAGE_BITS) - 1));
}

/* The place of a live token of any type; NULL for everything else. */
static inline platform_handle *platform_handle_place(uint64_t token) {
    platform_handle *place = platform_handle_at((uint32_t)token - 1u);
    if (!place || (__atomic_load_n(&place->word, __ATOMIC_ACQUIRE) ^ token) >> 32) return NULL;
    return place;
}

static inline uint32_t platform_handle_type(uint64_t token) {
    return (uint32_t)(token >> 32) & ((1u << PLATFORM_HANDLE_TYPE_BITS) - 1);
}

/* What a live token of that type stands for; NULL for everything else. */
static inline void *platform_handle_find(uint64_t token, uint32_t type) {
    if (platform_handle_type(token) != type) return NULL;
    platform_handle *place = platform_handle_place(token);
    return place ? place->object : NULL;
}

/* A token with one owner; 0 when there is no memory. `type` is 1 to 63. */
uint64_t platform_handle_new(uint32_t type, void *object, uint64_t parent);

/* One more owner; false when the token is not live. */
bool platform_handle_retain(uint64_t token);

typedef enum platform_release {
    PLATFORM_RELEASE_INVALID, /* no live token */
    PLATFORM_RELEASE_ALIVE,   /* it has other owners */
    PLATFORM_RELEASE_LAST     /* it is dead; the caller now owns its place and must give it to platform_handle_free */
} platform_release;

/* One owner less. On PLATFORM_RELEASE_LAST *out_place is the place. */
platform_release platform_handle_release(uint64_t token, platform_handle **out_place);

/* Gives a dead place back. */
void platform_handle_free(platform_handle *place);

/* Puts a dead place on a list of deferred releases (any thread) / takes the whole list (index + 1 of its first). */
void platform_handle_defer(uint64_t *list, platform_handle *place);
uint32_t platform_handle_take(uint64_t *list);

/* How many tokens are live. */
size_t platform_handle_count(void);
