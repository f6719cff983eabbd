/* The table of the handles that hosts use.
 *
 * A handle is a token, not an address. Bit 0 is set, bits 1-31 are the index of an entry, and the high half is the
 * entry's generation. The generation is increased each time a handle of the entry ends. A lookup needs only two loads,
 * because entries are in chunks that never move, and the directory of chunks has a fixed size. An entry whose
 * generations are used up is not reused, so a stale token never becomes valid again. The table is lock-free, so that no
 * lock of the table can be held when a process forks. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct platform_handle {
    /* From the highest bit: generation (32 bits), count (24), flag (1), type (6), and whether the entry is live (1).
     * The count is the number of references that the library holds, plus one while the host holds at least one
     * reference. */
    uint64_t word;
    void *object;
    /* Another object, which `object` needs. It is retained while the host holds a reference. May be NULL. */
    void *owner;
    /* The number of references that the host holds. */
    uint32_t hosts;
    /* The index of the next entry in the list of free entries.
     *
     * Before an ended entry is freed: the index of the next entry in a list that the caller owns. */
    uint32_t link;
} platform_handle;

enum {
    PLATFORM_HANDLE_CHUNK_BITS = 16,
    PLATFORM_HANDLE_INDEX_BITS = 31,
    PLATFORM_HANDLE_TYPE_SHIFT = 1,
    PLATFORM_HANDLE_TYPE_MASK = 0x3F << 1,
    /* A flag that the caller may use. */
    PLATFORM_HANDLE_FLAG = 1 << 7,
    PLATFORM_HANDLE_ONE = 1 << 8
};

_Static_assert(sizeof(void *) == 8, "a token needs 64 bits");

extern platform_handle *platform_handle_chunks[1 << (PLATFORM_HANDLE_INDEX_BITS - PLATFORM_HANDLE_CHUNK_BITS)];

#define PLATFORM_HANDLE_GENERATION 0xFFFFFFFF00000000u

/* Returns the entry of an allocated index. */
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

/* Returns the live entry of a token of this type; NULL for anything else. Types are 1 to 63. */
static inline platform_handle *platform_handle_find(uint64_t token, uint32_t type) {
    return platform_handle_matching(token, PLATFORM_HANDLE_GENERATION | PLATFORM_HANDLE_TYPE_MASK | 1,
                                    (token & (PLATFORM_HANDLE_GENERATION | 1)) | type << PLATFORM_HANDLE_TYPE_SHIFT);
}

/* Returns the live entry of a token of any type; NULL for anything else. */
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

/* Creates a live entry with one reference; `hosts` is 1 if the host owns that reference, else 0. Returns the token; 0
 * if out of memory, or if no index is left. */
uint64_t platform_handle_make(void *object, void *owner, uint32_t type, bool flag, uint32_t hosts);

/* Adds a reference of the library. Returns false if the handle has ended, or if the counter is full. */
bool platform_handle_retain(uint64_t token);

/* Removes a reference of the library. Does nothing for a stale token. Returns true if no reference is left. The token
 * is then invalid, and the caller must release the object and then free the entry. For a valid token, *out_word is set
 * to the entry's former word, which contains the type and the flag. */
bool platform_handle_release(uint64_t token, uint64_t *out_word);

/* Adds an ended entry to the list of free entries, unless its generations are used up. */
void platform_handle_free(uint32_t index);

void platform_handle_clear_flag(platform_handle *handle);

/* Returns the number of references that the host holds. */
static inline uint32_t platform_handle_hosts(const platform_handle *handle) {
    return __atomic_load_n(&handle->hosts, __ATOMIC_ACQUIRE);
}

/* Adds a reference of the host. Returns the previous number; UINT32_MAX if the counter is full. */
uint32_t platform_handle_add_host(platform_handle *handle);

/* Adds a reference of the host if the host already holds one. Returns false otherwise, or if the counter is full. */
bool platform_handle_add_another_host(platform_handle *handle);

/* Removes a reference of the host. Returns the previous number. If that is 0, nothing was changed. */
uint32_t platform_handle_drop_host(platform_handle *handle);

/* Functions of a list of ended entries, which are linked through `link`. A head of 0 is an empty list. */
void platform_handle_push(uint64_t *head, uint32_t index);
uint64_t platform_handle_take_all(uint64_t *head);

/* Returns the number of live handles, in time linear in the size of the table. */
size_t platform_handle_count(void);
