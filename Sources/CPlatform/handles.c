#include "handles.h"

#include <pthread.h>
#include <stdlib.h>

platform_handle *platform_handle_pages[PLATFORM_HANDLE_PAGES];
uint32_t platform_handle_limit = 0;

static const uint32_t page_size = 1u << PLATFORM_HANDLE_PAGE_BITS;
static pthread_mutex_t growing = PTHREAD_MUTEX_INITIALIZER;
static uint64_t live = 0;

/* Free places: index + 1 of the first in the lower half, in the upper a number that grows with each change, so that a
 * place that went and came back meanwhile is noticed. */
static uint64_t free_list = 0;

static uint32_t index_of(const platform_handle *place) {
    /* A free or dead place keeps its index + 1 in the lower half of its word. */
    return (uint32_t)__atomic_load_n(&place->word, __ATOMIC_ACQUIRE) - 1u;
}

static void push(uint64_t *list, platform_handle *place, uint32_t index) {
    uint64_t head = __atomic_load_n(list, __ATOMIC_ACQUIRE);
    do {
        __atomic_store_n(&place->next, (uint32_t)head, __ATOMIC_RELAXED);
    } while (!__atomic_compare_exchange_n(list, &head, (((head >> 32) + 1) << 32) | (index + 1), true, __ATOMIC_ACQ_REL,
                                          __ATOMIC_ACQUIRE));
}

static platform_handle *pop(void) {
    uint64_t head = __atomic_load_n(&free_list, __ATOMIC_ACQUIRE);
    while ((uint32_t)head != 0) {
        platform_handle *place = platform_handle_at((uint32_t)head - 1u);
        uint32_t next = __atomic_load_n(&place->next, __ATOMIC_RELAXED);
        if (__atomic_compare_exchange_n(&free_list, &head, (((head >> 32) + 1) << 32) | next, true, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE))
            return place;
    }
    return NULL;
}

/* Adds a page of places. False when there is no memory or the table is full. */
static bool grow(void) {
    pthread_mutex_lock(&growing);
    bool done = (uint32_t)__atomic_load_n(&free_list, __ATOMIC_ACQUIRE) != 0; /* somebody else was quicker */
    uint32_t first = platform_handle_limit, page = first >> PLATFORM_HANDLE_PAGE_BITS;
    if (!done && page < PLATFORM_HANDLE_PAGES) {
        platform_handle *places = calloc(page_size, sizeof *places);
        if (places) {
            platform_handle_pages[page] = places;
            __atomic_store_n(&platform_handle_limit, first + page_size, __ATOMIC_RELEASE);
            for (uint32_t i = page_size; i-- > 0;) {
                places[i].word = (uint64_t)(first + i + 1); /* generation 0 */
                push(&free_list, &places[i], first + i);
            }
            done = true;
        }
    }
    pthread_mutex_unlock(&growing);
    return done;
}

uint64_t platform_handle_new(uint32_t type, void *object, uint64_t parent) {
    platform_handle *place;
    while (!(place = pop()))
        if (!grow()) return 0;
    uint64_t word = __atomic_load_n(&place->word, __ATOMIC_RELAXED);
    uint32_t index = (uint32_t)word - 1u;
    uint32_t generation = (uint32_t)(word >> 32) >> PLATFORM_HANDLE_TYPE_BITS;
    uint64_t tag = ((uint64_t)generation << PLATFORM_HANDLE_TYPE_BITS) | type;
    place->object = object;
    place->parent = parent;
    place->type = type;
    __atomic_store_n(&place->word, tag << 32 | 1u, __ATOMIC_RELEASE);
    __atomic_fetch_add(&live, 1, __ATOMIC_RELAXED);
    return tag << 32 | (index + 1);
}

bool platform_handle_retain(uint64_t token) {
    platform_handle *place = platform_handle_at((uint32_t)token - 1u);
    if (!place || platform_handle_type(token) == 0) return false;
    uint64_t word = __atomic_load_n(&place->word, __ATOMIC_ACQUIRE);
    do {
        if ((word ^ token) >> 32 || (uint32_t)word == UINT32_MAX) return false;
    } while (!__atomic_compare_exchange_n(&place->word, &word, word + 1, true, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
    return true;
}

platform_release platform_handle_release(uint64_t token, platform_handle **out_place) {
    uint32_t index = (uint32_t)token - 1u;
    platform_handle *place = platform_handle_at(index);
    if (!place || platform_handle_type(token) == 0) return PLATFORM_RELEASE_INVALID;
    uint64_t word = __atomic_load_n(&place->word, __ATOMIC_ACQUIRE), next;
    do {
        if ((word ^ token) >> 32) return PLATFORM_RELEASE_INVALID;
        /* The last owner: the next generation, type 0, so that no token fits until the place is used again. */
        uint64_t tag = ((word >> 32 >> PLATFORM_HANDLE_TYPE_BITS) + 1) << PLATFORM_HANDLE_TYPE_BITS;
        next = (uint32_t)word == 1 ? (tag & UINT32_MAX) << 32 | (index + 1) : word - 1;
    } while (!__atomic_compare_exchange_n(&place->word, &word, next, true, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
    if ((uint32_t)word != 1) return PLATFORM_RELEASE_ALIVE;
    __atomic_fetch_sub(&live, 1, __ATOMIC_RELAXED);
    *out_place = place;
    return PLATFORM_RELEASE_LAST;
}

void platform_handle_free(platform_handle *place) { push(&free_list, place, index_of(place)); }

void platform_handle_defer(uint64_t *list, platform_handle *place) { push(list, place, index_of(place)); }

uint32_t platform_handle_take(uint64_t *list) { return (uint32_t)__atomic_exchange_n(list, 0, __ATOMIC_ACQ_REL); }

size_t platform_handle_count(void) { return __atomic_load_n(&live, __ATOMIC_RELAXED); }
