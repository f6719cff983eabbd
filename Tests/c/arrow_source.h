/* Hand-made Arrow streams: tables of columns that a stream of the C data interface exports.
 *
 * Each exported struct is counted, and must be released exactly once.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef ARROW_SOURCE_H
#define ARROW_SOURCE_H

#include "check.h"

enum { SOURCE_BUFFERS = 4, SOURCE_CHILDREN = 2, SOURCE_COLUMNS = 8, SOURCE_BATCHES = 4 };

/* An array and its type. NULL names and formats are exported as such. */
struct source_column {
    const char *name, *format;
    int64_t length, null_count, offset, buffer_count;
    const void *buffers[SOURCE_BUFFERS];
    int64_t child_count;
    const struct source_column *children[SOURCE_CHILDREN];
    const struct source_column *dictionary;
};

struct source_batch {
    int64_t length, offset, null_count, buffer_count, column_count; /* as the batch states them */
    const struct source_column *columns[SOURCE_COLUMNS];
};

/* What a stream exports. The schema is that of the first batch's columns. */
struct source {
    const char *format; /* of the schema; NULL is "+s" */
    size_t batch_count;
    struct source_batch batches[SOURCE_BATCHES];
    bool schema_fails, schema_is_released;
    int fails_at;                         /* the batch, counted from 1, whose reading fails; 0: none */
    const char *message;                  /* the error of a failure */
    void (*before_batch)(void *, size_t); /* called before each batch */
    void *userdata;
};

/* Fills `stream`, which refers to the source. */
void source_export(struct source *source, struct ArrowArrayStream *stream);
/* The number of exported structs that are not released; fails the test if a struct was released twice. */
int source_live(void);
/* The number of released streams so far. */
int source_streams_released(void);

/* A batch of columns with the length of the first one. */
struct source_batch source_batch_of(size_t count, const struct source_column *const *columns);

#endif
