/* The part of libcensus.so that records where blocks are allocated. owners.py reads its output.
 *
 * The library writes to the file CENSUS_FILE when the timed part of a workload ends: the mappings of the process, then a
 * line for each place with live blocks that were allocated in the timed part: bytes, blocks, and return addresses. The
 * stack is walked by frame pointers, which Swift's code and runtime have. Programs must not use other threads. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { DEPTH = 24, PLACES = 1 << 16, BLOCKS = 1 << 23, SKIPPED = 1 };

typedef struct place {
    uint64_t hash; /* 0: unused */
    long bytes, blocks;
    void *returns[DEPTH];
} place;

typedef struct block {
    void *address; /* NULL: never used */
    uint32_t place;
    uint32_t size; /* 0: freed */
} block;

static place *places;
static block *blocks;
static bool records;
static int reads;

static block *block_at(void *address) {
    uint64_t at = ((uint64_t)address >> 4) * 0x9E3779B97F4A7C15u >> 41;
    while (blocks[at].address && blocks[at].address != address)
        at = (at + 1) % BLOCKS;
    return &blocks[at];
}

static uint32_t place_of(void *const *returns) {
    uint64_t hash = 1469598103934665603u;
    for (int i = 0; i < DEPTH; i++)
        hash = (hash ^ (uint64_t)returns[i]) * 1099511628211u;
    uint32_t at = (uint32_t)(hash >> 40) % PLACES;
    while (places[at].hash && places[at].hash != hash)
        at = (at + 1) % PLACES;
    if (!places[at].hash) {
        places[at].hash = hash;
        memcpy(places[at].returns, returns, DEPTH * sizeof *returns);
    }
    return at;
}

void census_add(void *address, size_t size, void *const *frame) {
    if (!records) return;
    void *returns[DEPTH] = {NULL};
    for (int depth = -SKIPPED; depth < DEPTH; depth++) {
        if (depth >= 0) returns[depth] = frame[1];
        void *const *next = frame[0];
        /* A caller's frame is above this one. Code without frame pointers ends the walk. */
        if (next <= frame || (char *)next - (char *)frame > 1 << 20 || (uintptr_t)next % 8 != 0) break;
        frame = next;
    }
    block *entry = block_at(address);
    *entry = (block){address, place_of(returns), (uint32_t)size};
    places[entry->place].bytes += (long)size;
    places[entry->place].blocks++;
}

void census_remove(void *address) {
    if (!records) return;
    block *entry = block_at(address);
    if (!entry->size) return;
    places[entry->place].bytes -= entry->size;
    places[entry->place].blocks--;
    entry->size = 0;
}

void census_restart(void) {
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    places = mmap(NULL, PLACES * sizeof *places, PROT_READ | PROT_WRITE, flags, -1, 0);
    blocks = mmap(NULL, BLOCKS * sizeof *blocks, PROT_READ | PROT_WRITE, flags, -1, 0);
    reads = 0;
    records = places != MAP_FAILED && blocks != MAP_FAILED;
}

/* The first read is that of measure_begin, the second that of measure_stop. */
void census_write(void) {
    const char *path = getenv("CENSUS_FILE");
    if (!records || ++reads < 2 || !path) return;
    records = false;
    FILE *out = fopen(path, "w"), *maps = fopen("/proc/self/maps", "r");
    if (!out || !maps) return;
    char line[512];
    while (fgets(line, sizeof line, maps))
        fputs(line, out);
    fputs("places\n", out);
    for (int i = 0; i < PLACES; i++) {
        if (!places[i].blocks) continue;
        fprintf(out, "%ld %ld", places[i].bytes, places[i].blocks);
        for (int depth = 0; depth < DEPTH && places[i].returns[depth]; depth++)
            fprintf(out, " %lx", (unsigned long)places[i].returns[depth]);
        fputc('\n', out);
    }
    fclose(maps);
    fclose(out);
}
