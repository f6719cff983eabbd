/* libcounting.so counts the allocations of the process into which it is preloaded (LD_PRELOAD). It replaces the functions
 * of the C library and calls those on which they are based. Counts of programs with one thread are the same in each
 * run. libcensus.so does so too, and records where each block was allocated (census.c). */
#define _GNU_SOURCE
#include "counting.h"

#include <errno.h>
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t), __libc_free(void *);

#ifdef CENSUS
void census_add(void *block, size_t size, void *const *frame);
void census_remove(void *block);
void census_restart(void);
void census_write(void);
#else
#define census_add(block, size, frame)
#define census_remove(block) ((void)(block))
#define census_restart()
#define census_write()
#endif

static counting counters;

/* The sizes of blocks that are aligned to huge pages. Their usable size may be twice as large, because the C library
 * maps additional pages for the alignment, which are never touched. */
enum { HUGE_PAGE = 1 << 21, HUGE_BLOCKS = 1 << 16 };
static struct {
    void *block;
    long size;
} huge[HUGE_BLOCKS];

static long *huge_size(void *block, int adds) {
    if (((uintptr_t)block & (HUGE_PAGE - 1)) != 0) return NULL;
    uint32_t at = (uint32_t)((uintptr_t)block / HUGE_PAGE) % HUGE_BLOCKS;
    for (;; at = (at + 1) % HUGE_BLOCKS) {
        void *none = NULL;
        if (__atomic_load_n(&huge[at].block, __ATOMIC_ACQUIRE) == block) return &huge[at].size;
        if (!adds && !huge[at].block) return NULL;
        if (adds && __atomic_compare_exchange_n(&huge[at].block, &none, block, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            return &huge[at].size;
    }
}

static long size_of(void *block) {
    const long *size = huge_size(block, 0);
    return size && *size ? *size : (long)malloc_usable_size(block);
}

static void add_live(long bytes) {
    const long live = __atomic_add_fetch(&counters.live, bytes, __ATOMIC_RELAXED);
    long peak = __atomic_load_n(&counters.peak, __ATOMIC_RELAXED);
    while (live > peak &&
           !__atomic_compare_exchange_n(&counters.peak, &peak, live, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}

static void *counted(void *block, size_t size) {
    if (!block) return block;
    __atomic_add_fetch(&counters.allocations, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&counters.requested, (long)size, __ATOMIC_RELAXED);
    add_live(size_of(block));
    census_add(block, (size_t)size_of(block), __builtin_frame_address(0));
    return block;
}

void *malloc(size_t size) { return counted(__libc_malloc(size), size); }

void *calloc(size_t count, size_t size) { return counted(__libc_calloc(count, size), count * size); }

void *realloc(void *block, size_t size) {
    const long before = block ? size_of(block) : 0;
    if (block) census_remove(block);
    void *moved = __libc_realloc(block, size);
    if (moved || size == 0) add_live(-before);
    return counted(moved, size);
}

void free(void *block) {
    if (block) {
        add_live(-size_of(block));
        census_remove(block);
        long *size = huge_size(block, 0);
        if (size) *size = 0;
    }
    __libc_free(block);
}

void *memalign(size_t alignment, size_t size) {
    void *block = __libc_memalign(alignment, size);
    long *place = block && alignment >= HUGE_PAGE ? huge_size(block, 1) : NULL;
    if (place) *place = (long)size;
    return counted(block, size);
}

void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void **out_block, size_t alignment, size_t size) {
    void *block = memalign(alignment, size);
    if (!block) return ENOMEM;
    *out_block = block;
    return 0;
}

void counting_restart(void) {
    census_restart();
    __atomic_store_n(&counters.peak, __atomic_load_n(&counters.live, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
}

void counting_read(counting *out_counters) {
    census_write();
    out_counters->allocations = __atomic_load_n(&counters.allocations, __ATOMIC_RELAXED);
    out_counters->requested = __atomic_load_n(&counters.requested, __ATOMIC_RELAXED);
    out_counters->live = __atomic_load_n(&counters.live, __ATOMIC_RELAXED);
    out_counters->peak = __atomic_load_n(&counters.peak, __ATOMIC_RELAXED);
}
