/* The structs of the Arrow C data and C stream interfaces, laid out as the standard says, and what ends them. They bear names
 * of our own here: a program may well have the standard's from another header. What is exported is plain memory without any
 * tie to the library's state, so whoever has it may release it on any thread, also after a fork or at the end of the process. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct platform_arrow_schema {
    const char *format, *name, *metadata;
    int64_t flags, n_children;
    struct platform_arrow_schema **children, *dictionary;
    void (*release)(struct platform_arrow_schema *);
    void *private_data;
};

struct platform_arrow_array {
    int64_t length, null_count, offset, n_buffers, n_children;
    const void **buffers;
    struct platform_arrow_array **children, *dictionary;
    void (*release)(struct platform_arrow_array *);
    void *private_data;
};

struct platform_arrow_stream {
    int (*get_schema)(struct platform_arrow_stream *, struct platform_arrow_schema *);
    int (*get_next)(struct platform_arrow_stream *, struct platform_arrow_array *);
    const char *(*get_last_error)(struct platform_arrow_stream *);
    void (*release)(struct platform_arrow_stream *);
    void *private_data;
};

/* Every buffer begins at a multiple of this. */
enum { PLATFORM_ARROW_ALIGNMENT = 64 };

/* Makes a schema with copies of the texts and of `metadata`; NULL for none. Its children are there, released, to be made by the
 * caller. False when memory ran out. */
bool platform_arrow_make_schema(struct platform_arrow_schema *out, const char *format, const char *name,
                                const void *metadata, size_t metadata_size, int64_t flags, int64_t children);

/* Makes an array that owns the buffers, each of malloc or NULL. Its children are there, released, to be made by the caller.
 * False when memory ran out: then the buffers are still the caller's. */
bool platform_arrow_make_array(struct platform_arrow_array *out, int64_t length, int64_t null_count,
                               void *const *buffers, int64_t buffer_count, int64_t children);

/* An array that several consumers have, each an array of its own with the buffers of this one. Takes the array over; NULL when
 * memory ran out: then it is still the caller's. */
struct platform_shared_array;
struct platform_shared_array *platform_arrow_share(struct platform_arrow_array *array);
/* One more array with the same buffers. False when memory ran out. */
bool platform_arrow_export_shared(struct platform_shared_array *shared, struct platform_arrow_array *out);
void platform_arrow_end_shared(struct platform_shared_array *shared);
