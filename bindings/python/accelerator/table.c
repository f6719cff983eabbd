/* table.c: the objects of the process by token: a hash table with linear probing.
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

static size_t search(uint64_t token) {
    size_t place = place_of(token);
    while (entries[place].token && entries[place].token != token)
        place = (place + 1) & (capacity - 1);
    return place;
}

object *table_find(uint64_t token) {
    if (!capacity || !token) return NULL;
    const struct entry *found = &entries[search(token)];
    return found->token && Py_REFCNT((PyObject *)found->item) > 0 ? found->item : NULL;
}

static int resize(size_t size) {
    struct entry *former = entries;
    size_t former_capacity = capacity;
    struct entry *bigger = calloc(size, sizeof *bigger);
    if (!bigger) return -1;
    entries = bigger;
    capacity = size;
    for (size_t i = 0; i < former_capacity; i++)
        if (former[i].token) entries[search(former[i].token)] = former[i];
    free(former);
    return 0;
}

int table_add(uint64_t token, object *item) {
    if (2 * (count + 1) > capacity && resize(capacity ? 2 * capacity : 1024) < 0) {
        PyErr_NoMemory();
        return -1;
    }
    struct entry *place = &entries[search(token)];
    if (!place->token) count++;
    *place = (struct entry){token, item};
    return 0;
}

void table_remove(uint64_t token, const object *item) {
    if (!capacity || !token) return;
    size_t hole = search(token);
    if (!entries[hole].token || entries[hole].item != item) return; /* another object has the token now */
    /* Entries behind the hole move into it, unless they would then be in front of their own place. */
    for (size_t next = (hole + 1) & (capacity - 1); entries[next].token; next = (next + 1) & (capacity - 1)) {
        size_t own = place_of(entries[next].token);
        if (((next - own) & (capacity - 1)) < ((next - hole) & (capacity - 1))) continue;
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
