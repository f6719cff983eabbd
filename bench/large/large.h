/* The rows of the large store, which both programs compute, and the sizes of their operations. */
#ifndef LARGE_H
#define LARGE_H

#include <stdint.h>
#include <stdio.h>

enum {
    LARGE_QUERIES = 20000, /* single rows by an index */
    LARGE_WATCHED = 10000, /* the rows of the live query */
    LARGE_CHANGES = 200,   /* changes of these rows, each saved */
    LARGE_BATCH = 1000     /* the rows of a batch of the cursor */
};

/* An item. `code` is a permutation of 0 to ROWS - 1, and indexed. */
typedef struct large_row {
    int64_t code, age, active;
    double price, made;
    char name[32];
    size_t name_size;
} large_row;

static inline int64_t large_code(int64_t number, int64_t rows) {
    /* The factor is a prime above all prime factors of the usual numbers of rows, so that each code occurs once. */
    return (int64_t)((uint64_t)number * 2654435761u % (uint64_t)rows);
}

static inline void large_fill(large_row *out_row, int64_t number, int64_t rows) {
    out_row->code = large_code(number, rows);
    out_row->age = number * 31 % 50 + 18;
    out_row->active = number % 10 < 8;
    out_row->price = (double)(out_row->code % 9973) + 0.25;
    out_row->made = (double)number;
    out_row->name_size = (size_t)snprintf(out_row->name, sizeof out_row->name, "Item %08lld", (long long)out_row->code);
}

#endif
