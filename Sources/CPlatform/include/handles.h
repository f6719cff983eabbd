/* The table behind the handles that C hosts hold.
 *
 * A handle is a token, not an address: bit 0 is set, bits 1-31 are the index of an entry, the high half is the entry's
 * generation, which grows each time the entry is used again. Looking one up costs two loads and one compare: entries lie in
 * chunks that never move, behind a directory that never grows. An entry whose generations are used up is never used again,
 * so a stale token stays stale for ever. There is no lock, so nothing can be held when a process forks. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct platform_handle {
    /* Generation (32 bits), count (25), flag (1), type (5), and whether it is live (1). The count is that of the references
     * that the library itself holds, and one more while the host holds any. */
    uint64_t word;
    void *object;
    /* What is retained while the host holds a reference: what the object cannot do without. May be NULL. */
    void *owner;
    /* How many references the host holds. */
    uint32_t hosts;
    /* The next entry on the list of free ones, or on a list of the caller's once the handle has ended. */
    uint32_t link;
} platform_handle;

enum {
    PLATFORM_HANDLE_CHUNK_BITS = 16,
    PLATFORM_HANDLE_INDEX_BITS = 31,
    PLATFORM_HANDLE_TYPE_SHIFT = 1,
    PLATFORM_HANDLE_TYPE_MASK = 0x3F << 1,
    /* A flag of the caller's. */
    PLATFORM_HANDLE_FLAG = 1 << 7,
    PLATFORM_HANDLE_ONE = 1 << 8
};

_Static_assert(sizeof(void *) == 8, "a token needs 64 bits");

extern platform_handle *platform_handle_chunks[1 << (PLATFORM_HANDLE_INDEX_BITS - PLATFORM_HANDLE_CHUNK_BITS)];

#define PLATFORM_HANDLE_GENERATION 0xFFFFFFFF00000000u

/* The entry of an index that was allocated. */
static inline platform_handle *platform_handle_at(uint32_t index) {
    platform_handle *chunk =
        __atomic_load_n(&platform_handle_chunks[index >> PLATFORM_HANDLE_CHUNK_BITS], __ATOMIC_ACQUIRE);
    return chunk + (index & ((1u << PLATFORM_HANDLE_CHUNK_BITS) - 1));
}

static inline platform_handle *platform_handle_matching(uint64_t token, uint64_t mask, uint64_t expected) {
    uint32_t index = (uint32_t)token >> 1;
    platform_handle *chunk =
        __atomic_load_n(&platform_handle_chunks[index >> PLATFORM_HANDLE_CHUNK_BITS], __ATOMIC_ACQUIRE);
    if (chunk == NULL) return NULL;
    platform_handle *handle = chunk + (index & ((1u << PLATFORM_HANDLE_CHUNK_BITS) - 1));
    return (__atomic_load_n(&handle->word, __ATOMIC_ACQUIRE) & mask) == expected ? handle : NULL;
}

/* The live entry of a token of this type; NULL for anything else. Types are 1 to 63. */
static inline platform_handle *platform_handle_find(uint64_t token, uint32_t type) {
    return platform_handle_matching(token, PLATFORM_HANDLE_GENERATION | PLATFORM_HANDLE_TYPE_MASK | 1,
                                    (token & (PLATFORM_HANDLE_GENERATION | 1)) | type << PLATFORM_HANDLE_TYPE_SHIFT);
}

/* The live entry of a token of any type. */
static inline platform_handle *platform_handle_find_any(uint64_t token) {
    if ((token & 1) == 0) return NULL;
    return platform_handle_matching(token, PLATFORM_HANDLE_GENERATION | 1, token & (PLATFORM_HANDLE_GENERATION | 1));
}

static inline uint32_t platform_handle_index(uint64_t token) { return (uint32_t)token >> 1; }

static inline uint32_t platform_handle_type_of(uint64_t word) {
    return (uint32_t)(word & PLATFORM_HANDLE_TYPE_MASK) >> PLATFORM_HANDLE_TYPE_SHIFT;
}

static inline uint32_t platform_handle_type(const platform_handle *handle) {
    return platform_handle_type_of(__atomic_load_n(&handle->word, __ATOMIC_ACQUIRE));
}

static inline bool platform_handle_has_flag(const platform_handle *handle) {
    return (__atomic_load_n(&handle->word, __ATOMIC_ACQUIRE) & PLATFORM_HANDLE_FLAG) != 0;
}

/* Takes a free entry and makes it live with one reference; `hosts` is 1 when that is the host's, else 0. Returns the token,
 * 0 when there is no memory. */
uint64_t platform_handle_make(void *object, void *owner, uint32_t type, bool flag, uint32_t hosts);

/* One more reference of the library's; false when the token ended, which nothing revives. */
bool platform_handle_retain(uint64_t token);

/* Gives up one reference of the library's; nothing happens when the token is stale. True when it was the last: the token is
 * invalid at once, and the caller disposes of the object, then frees the entry; *out_word is its last word, for its type and
 * flag. */
bool platform_handle_release(uint64_t token, uint64_t *out_word);

/* Puts an entry that ended back on the list of free ones. */
void platform_handle_free(uint32_t index);

void platform_handle_clear_flag(platform_handle *handle);

/* How many references the host holds. */
static inline uint32_t platform_handle_hosts(const platform_handle *handle) {
    return __atomic_load_n(&handle->hosts, __ATOMIC_ACQUIRE);
}

/* One more. Returns how many it held before, UINT32_MAX when they cannot be counted any more. */
uint32_t platform_handle_add_host(platform_handle *handle);

/* One more, if it holds any; false when it holds none, or they cannot be counted any more. */
bool platform_handle_add_another_host(platform_handle *handle);

/* One fewer. Returns how many it held before: 0 means that it held none, and nothing was done. */
uint32_t platform_handle_drop_host(platform_handle *handle);

/* Lists of ended entries, linked through `link`; a head of 0 is an empty list. */
void platform_handle_push(uint64_t *head, uint32_t index);
uint64_t platform_handle_take_all(uint64_t *head);

/* How many are live; walks the table. */
size_t platform_handle_count(void);
