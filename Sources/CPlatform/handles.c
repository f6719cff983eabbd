#include "handles.h"

#include "platform.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

platform_handle *platform_handle_chunks[1 << (PLATFORM_HANDLE_INDEX_BITS - PLATFORM_HANDLE_CHUNK_BITS)];

/* The head of the list of free entries: an index in the low half, and in the high half a counter that prevents the ABA
 * problem. */
static uint64_t free_list = 0;
/* The first index that was never used. Index 0 is never used. */
static uint32_t first_unused = 1;

/* Allocates a zeroed chunk. A process with few handles touches only a few pages of the first chunk. A process that
 * needs a second chunk has many handles, so each further chunk is a huge page if the system provides one. */
static platform_handle *new_chunk(uint32_t index) {
    const size_t count = (size_t)1 << PLATFORM_HANDLE_CHUNK_BITS, size = count * sizeof(platform_handle);
    void *memory = NULL;
    if (index >> PLATFORM_HANDLE_CHUNK_BITS == 0 || posix_memalign(&memory, size, size) != 0)
        return calloc(count, sizeof(platform_handle));
    madvise(memory, size, MADV_HUGEPAGE);
    return memset(memory, 0, size);
}

static bool ensure_chunk(uint32_t index) {
    platform_handle **place = &platform_handle_chunks[index >> PLATFORM_HANDLE_CHUNK_BITS];
    if (__atomic_load_n(place, __ATOMIC_ACQUIRE) != NULL) return true;
    platform_prepare();
    platform_handle *fresh = new_chunk(index);
    platform_handle *none = NULL;
    if (fresh == NULL) return false;
    if (!__atomic_compare_exchange_n(place, &none, fresh, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) free(fresh);
    return true;
}

static uint32_t take_free(void) {
    uint64_t head = __atomic_load_n(&free_list, __ATOMIC_ACQUIRE);
    while ((uint32_t)head != 0) {
        uint32_t index = (uint32_t)head;
        uint32_t next = __atomic_load_n(&platform_handle_at(index)->link, __ATOMIC_RELAXED);
        uint64_t wanted = ((head & PLATFORM_HANDLE_GENERATION) + ((uint64_t)1 << 32)) | next;
        if (__atomic_compare_exchange_n(&free_list, &head, wanted, true, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            return index;
    }
    return 0;
}

static uint32_t take_unused(void) {
    uint32_t index = __atomic_load_n(&first_unused, __ATOMIC_RELAXED);
    do {
        if (index >> PLATFORM_HANDLE_INDEX_BITS != 0 || !ensure_chunk(index)) return 0;
    } while (!__atomic_compare_exchange_n(&first_unused, &index, index + 1, true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
    return index;
}

uint64_t platform_handle_make(void *object, void *owner, uint32_t type, bool flag, uint32_t hosts) {
    uint32_t index = take_free();
    if (index == 0) index = take_unused();
    if (index == 0) return 0;
    platform_handle *handle = platform_handle_at(index);
    uint64_t generation = __atomic_load_n(&handle->word, __ATOMIC_RELAXED) & PLATFORM_HANDLE_GENERATION;
    if (generation == 0) generation = (uint64_t)1 << 32;
    handle->object = object;
    handle->owner = owner;
    __atomic_store_n(&handle->hosts, hosts, __ATOMIC_RELAXED);
    __atomic_store_n(&handle->word,
                     generation | PLATFORM_HANDLE_ONE | (flag ? PLATFORM_HANDLE_FLAG : 0) |
                         (uint64_t)type << PLATFORM_HANDLE_TYPE_SHIFT | 1,
                     __ATOMIC_RELEASE);
    return generation | (uint64_t)index << 1 | 1;
}

static bool is_live(uint64_t word, uint64_t token) {
    return ((word ^ token) & (PLATFORM_HANDLE_GENERATION | 1)) == 0 && (word & 1) != 0;
}

bool platform_handle_retain(uint64_t token) {
    platform_handle *handle = platform_handle_find_any(token);
    if (handle == NULL) return false;
    uint64_t word = __atomic_load_n(&handle->word, __ATOMIC_ACQUIRE);
    do {
        if (!is_live(word, token) || (uint32_t)word > UINT32_MAX - PLATFORM_HANDLE_ONE) return false;
    } while (!__atomic_compare_exchange_n(&handle->word, &word, word + PLATFORM_HANDLE_ONE, true, __ATOMIC_ACQ_REL,
                                          __ATOMIC_ACQUIRE));
    return true;
}

bool platform_handle_release(uint64_t token, uint64_t *out_word) {
    platform_handle *handle = platform_handle_find_any(token);
    if (handle == NULL) return false;
    uint64_t word = __atomic_load_n(&handle->word, __ATOMIC_ACQUIRE);
    uint64_t wanted;
    bool is_last;
    do {
        if (!is_live(word, token)) return false;
        is_last = (uint32_t)word < 2 * PLATFORM_HANDLE_ONE;
        wanted = is_last ? (word & PLATFORM_HANDLE_GENERATION) + ((uint64_t)1 << 32) : word - PLATFORM_HANDLE_ONE;
    } while (!__atomic_compare_exchange_n(&handle->word, &word, wanted, true, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
    *out_word = word;
    return is_last;
}

void platform_handle_free(uint32_t index) {
    platform_handle *handle = platform_handle_at(index);
    /* After 2^32 - 1 tokens of an entry, its generation wraps to 0. The entry is then not reused, because its first
     * token must not become valid again. */
    if (__atomic_load_n(&handle->word, __ATOMIC_RELAXED) == 0) return;
    uint64_t head = __atomic_load_n(&free_list, __ATOMIC_ACQUIRE);
    uint64_t wanted;
    do {
        __atomic_store_n(&handle->link, (uint32_t)head, __ATOMIC_RELAXED);
        wanted = ((head & PLATFORM_HANDLE_GENERATION) + ((uint64_t)1 << 32)) | index;
    } while (!__atomic_compare_exchange_n(&free_list, &head, wanted, true, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
}

void platform_handle_clear_flag(platform_handle *handle) {
    __atomic_fetch_and(&handle->word, ~(uint64_t)PLATFORM_HANDLE_FLAG, __ATOMIC_ACQ_REL);
}

uint32_t platform_handle_add_host(platform_handle *handle) {
    uint32_t hosts = __atomic_load_n(&handle->hosts, __ATOMIC_RELAXED);
    do {
        if (hosts == UINT32_MAX - 1) return UINT32_MAX;
    } while (!__atomic_compare_exchange_n(&handle->hosts, &hosts, hosts + 1, true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
    return hosts;
}

bool platform_handle_add_another_host(platform_handle *handle) {
    uint32_t hosts = __atomic_load_n(&handle->hosts, __ATOMIC_RELAXED);
    do {
        if (hosts == 0 || hosts == UINT32_MAX - 1) return false;
    } while (!__atomic_compare_exchange_n(&handle->hosts, &hosts, hosts + 1, true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
    return true;
}

uint32_t platform_handle_drop_host(platform_handle *handle) {
    uint32_t hosts = __atomic_load_n(&handle->hosts, __ATOMIC_RELAXED);
    do {
        if (hosts == 0) return 0;
    } while (!__atomic_compare_exchange_n(&handle->hosts, &hosts, hosts - 1, true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
    return hosts;
}

void platform_handle_push(uint64_t *head, uint32_t index) {
    uint64_t first = __atomic_load_n(head, __ATOMIC_RELAXED);
    do {
        __atomic_store_n(&platform_handle_at(index)->link, (uint32_t)first, __ATOMIC_RELAXED);
    } while (!__atomic_compare_exchange_n(head, &first, index, true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
}

uint64_t platform_handle_take_all(uint64_t *head) {
    if (__atomic_load_n(head, __ATOMIC_RELAXED) == 0) return 0;
    return __atomic_exchange_n(head, 0, __ATOMIC_ACQ_REL);
}

size_t platform_handle_count(void) {
    uint32_t end = __atomic_load_n(&first_unused, __ATOMIC_ACQUIRE);
    size_t count = 0;
    for (uint32_t index = 1; index < end; index++)
        count += __atomic_load_n(&platform_handle_at(index)->word, __ATOMIC_RELAXED) & 1;
    return count;
}
