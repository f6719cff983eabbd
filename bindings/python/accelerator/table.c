/* table.c: the objects of the process by token: a hash table with linear probing.
 *
 * Tokens of objects that were fetched together are consecutive, and so are their places, because this is the order in
 * which they are used. The entries of such a run are ordered by their own places (Robin Hood hashing), so that a search
 * and a removal end at the first entry that is nearer to its own place, and not at the end of the run.
 *
 * The table does not retain the objects. An object leaves it when it is deallocated. Between the moment at which its
 * reference count becomes 0 and that moment, callbacks of weak references can run; the table then does not return it.
 *
 * SPDX-License-Identifier: MIT
 */
#include "accelerator.h"

#include <stdlib.h>

static struct entry {
    uint64_t token; /* 0: the entry is empty */
    object *item;
} *entries;
static size_t capacity, count; /* capacity is a power of two */

static size_t place_of(uint64_t token) {
    /* Most tokens differ in the index, from bit 1 on. */
    return (size_t)((token >> 1) + (token >> 32) * 0x9E3779B1u) & (capacity - 1);
}

/* The distance of an entry from its own place. */
static size_t distance(size_t place) { return (place - place_of(entries[place].token)) & (capacity - 1); }

/* Returns the place of the token, or else the place where it would be inserted. */
static size_t search(uint64_t token) {
    size_t place = place_of(token);
    for (size_t passed = 0; entries[place].token && entries[place].token != token; passed++) {
        if (distance(place) < passed) break;
        place = (place + 1) & (capacity - 1);
    }
    return place;
}

/* Inserts an entry at its place; the entries from there to the next empty one move by one. */
static void insert(size_t place, struct entry added) {
    while (entries[place].token) {
        struct entry moved = entries[place];
        entries[place] = added;
        added = moved;
        place = (place + 1) & (capacity - 1);
    }
    entries[place] = added;
}

object *table_find(uint64_t token) {
    if (!capacity || !token) return NULL;
    const struct entry *found = &entries[search(token)];
    return found->token == token && Py_REFCNT((PyObject *)found->item) > 0 ? found->item : NULL;
}

static int resize(size_t size) {
    struct entry *former = entries;
    size_t former_capacity = capacity;
    struct entry *bigger = calloc(size, sizeof *bigger);
    if (!bigger) return -1;
    entries = bigger;
    capacity = size;
    for (size_t i = 0; i < former_capacity; i++)
        if (former[i].token) insert(search(former[i].token), former[i]);
    free(former);
    return 0;
}

int table_add(uint64_t token, object *item) {
    if (2 * (count + 1) > capacity && resize(capacity ? 2 * capacity : 1024) < 0) {
        PyErr_NoMemory();
        return -1;
    }
    size_t place = search(token);
    if (entries[place].token == token) {
        entries[place].item = item;
    } else {
        insert(place, (struct entry){token, item});
        count++;
    }
    return 0;
}

void table_remove(uint64_t token, const object *item) {
    if (!capacity || !token) return;
    size_t hole = search(token);
    if (entries[hole].token != token || entries[hole].item != item) return; /* another object has the token now */
    /* The following entries move by one, up to the first that is at its own place. */
    for (size_t next = (hole + 1) & (capacity - 1); entries[next].token && distance(next) > 0;
         next = (next + 1) & (capacity - 1)) {
        entries[hole] = entries[next];
        hole = next;
    }
    entries[hole].token = 0;
    count--;
    if (capacity > 1024 && 16 * count < capacity) resize(capacity / 4);
}

int table_each(int (*visit)(object *item, void *argument), void *argument) {
    for (size_t i = 0; i < capacity; i++) {
        if (!entries[i].token || Py_REFCNT((PyObject *)entries[i].item) <= 0) continue;
        int result = visit(entries[i].item, argument);
        if (result) return result;
    }
    return 0;
}
