/* corestone/arrow.h: objects and rows as columns for Apache Arrow.
 *
 * These functions export objects and rows to libraries that read Apache Arrow: pyarrow, polars, pandas, DuckDB and many
 * more. cst_context_fetch_arrow streams a fetch; the export functions convert results and rows. The caller owns an
 * exported struct, by the rules of the C data interface: copying the struct moves its content, and `release` frees it.
 * An exported struct may be used on any thread, independently of the context and its queue. docs/reference/arrow.md
 * lists the types.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_ARROW_H
#define CORESTONE_ARROW_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The structs of the Arrow C data interface, as the standard defines them.
 *
 * They are left out if another header has already defined them. */
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE
#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

/* The type of an array; see the Arrow C data interface. */
struct ArrowSchema {
    const char *format;
    const char *name;
    const char *metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};

/* The data of an array; see the Arrow C data interface. */
struct ArrowArray {
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};
#endif

/* The struct of the Arrow C stream interface, as the standard defines it. */
#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

/* A stream of arrays; see the Arrow C stream interface. */
struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};
#endif

/* Flags of an export. */
enum {
    CST_ARROW_KEYS = 1,        /* objects are primary keys (int64) instead of URIs */
    CST_ARROW_DECIMAL_TEXT = 2 /* decimals are text, with all their digits */
};

/* Streams the results of a request in batches of at most `batch_size` rows (0: 65,536). Later saves do not change the
 * results. Batches are read on demand, on any thread, if the context has no parent, one store that supports query
 * generations evaluates the whole request, and no unsaved change affects the request. Otherwise all rows are read
 * during this call. Columns are key paths: attributes and relationships, including those of targets of to-one
 * relationships, and "objectID". With a count of 0, the columns are those of the request, or every stored attribute if
 * the request does not name columns. The request is read during the call only. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_fetch_arrow(cst_context *context, const cst_fetch_request *request,
                                                           size_t batch_size, uint32_t flags, size_t count,
                                                           const cst_string *key_paths,
                                                           struct ArrowArrayStream *out_stream CST_OWNED,
                                                           cst_error **error);

/* Exports the objects of a list with their current values, saved or not, as one array of structs. Columns are those of
 * cst_context_fetch_arrow, for the entity of the first object if the list is not of one entity. */
CST_EXPORT CST_ON_QUEUE cst_status cst_results_export_arrow(const cst_results *results, uint32_t flags, size_t count,
                                                            const cst_string *key_paths,
                                                            struct ArrowSchema *out_schema CST_OWNED,
                                                            struct ArrowArray *out_array CST_OWNED, cst_error **error);

/* Exports the objects of a list with their current values as a stream of batches of at most `batch_size` rows (0:
 * 65,536). Otherwise like cst_results_export_arrow. */
CST_EXPORT CST_ON_QUEUE cst_status cst_results_export_arrow_stream(const cst_results *results, size_t batch_size,
                                                                   uint32_t flags, size_t count,
                                                                   const cst_string *key_paths,
                                                                   struct ArrowArrayStream *out_stream CST_OWNED,
                                                                   cst_error **error);

/* Exports the rows of a fetch as one array of structs. Lazy rows are read during this call and must be exported on the
 * queue of their context. Other rows can be exported on any thread. Fails with CST_E_TYPE_MISMATCH for a column whose
 * values do not have a common type; the error names the column. */
CST_EXPORT CST_ON_QUEUE cst_status cst_rows_export_arrow(const cst_rows *rows, uint32_t flags,
                                                         struct ArrowSchema *out_schema CST_OWNED,
                                                         struct ArrowArray *out_array CST_OWNED, cst_error **error);

/* Exports the rows of a fetch as a stream of batches of at most `batch_size` rows (0: 65,536). Otherwise like
 * cst_rows_export_arrow. */
CST_EXPORT CST_ON_QUEUE cst_status cst_rows_export_arrow_stream(const cst_rows *rows, size_t batch_size, uint32_t flags,
                                                                struct ArrowArrayStream *out_stream CST_OWNED,
                                                                cst_error **error);

/* Creates another stream over the same rows in the same state, beginning with the first row. The copy is for consumers
 * that need several streams or use another thread. Fails with CST_E_INVALID_ARGUMENT for a stream from which batches
 * were read, that was released, or that is not from this library. */
CST_EXPORT CST_ANY_THREAD cst_status cst_arrow_stream_copy(const struct ArrowArrayStream *stream,
                                                           struct ArrowArrayStream *out_stream CST_OWNED,
                                                           cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
