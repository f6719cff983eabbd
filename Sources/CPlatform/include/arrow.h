/* The structs of the Arrow C data and C stream interfaces, and functions that create schemas and arrays.
 *
 * The structs have the standard's layout, but names of their own, because a program may define the standard's names in
 * another header. Created schemas and arrays are plain memory that does not depend on the library's state. They can be
 * released on any thread, even after a fork or at the end of the process. */
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

/* The alignment of every buffer, in bytes. */
enum { PLATFORM_ARROW_ALIGNMENT = 64 };

/* Creates a schema with copies of `format`, `name` and `metadata`. Without metadata, `metadata_size` is 0. Its children
 * are allocated but marked as released; the caller fills them. Returns false if out of memory. */
bool platform_arrow_make_schema(struct platform_arrow_schema *out, const char *format, const char *name,
                                const void *metadata, size_t metadata_size, int64_t flags, int64_t children);

/* Creates an array that owns the buffers, each of which is from malloc or NULL. Its children are allocated but marked
 * as released; the caller fills them. Returns false if out of memory; the caller then still owns the buffers. */
bool platform_arrow_make_array(struct platform_arrow_array *out, int64_t length, int64_t null_count,
                               void *const *buffers, int64_t buffer_count, int64_t children);

/* Creates a shared array, whose buffers several consumers can use. Takes ownership of the data of `array`, which is
 * marked as released. Returns NULL if out of memory; the caller then still owns the data. */
struct platform_shared_array;
struct platform_shared_array *platform_arrow_share(struct platform_arrow_array *array);
/* Fills `out` with another array that uses the same buffers. Returns false if out of memory. */
bool platform_arrow_export_shared(struct platform_shared_array *shared, struct platform_arrow_array *out);
void platform_arrow_end_shared(struct platform_shared_array *shared);
