/* corestone/arrow.h: export for Apache Arrow
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_ARROW_H
#define CORESTONE_ARROW_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ======== arrow ========================================================================================== */
/* Objects and rows as columns for whoever understands Apache Arrow: pyarrow, polars, pandas, DuckDB and many more. What is
 * exported is the caller's by the rules of the C data interface: it is moved by copying the struct, it ends with its `release`,
 * on any thread, and needs neither the context nor its queue any more. docs/reference/arrow.md has the types. */

/* As the standard has them, for whoever has them not yet. */
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE
#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4
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
#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE
struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};
#endif

enum {
    CST_ARROW_KEYS = 1,        /* objects are primary keys (int64) instead of URIs */
    CST_ARROW_DECIMAL_TEXT = 2 /* decimals are text, whatever digits they have */
};
/* What a request asks for, in batches of at most `batch_size` rows (0: 65,536), of the state of this moment, whatever is saved
 * meanwhile. Rows are read when their batch is asked for, on whatever thread that is; all at once here where unsaved changes
 * concern the request, or its stores cannot do it alone. Columns are key paths: attributes, relationships, both also behind
 * to-one relationships, and "objectID"; none: the columns of the request, else every attribute that is stored. The request is
 * read during the call only. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_fetch_arrow(cst_context *context, const cst_fetch_request *request,
                                                           size_t batch_size, uint32_t flags, size_t count,
                                                           const cst_string *key_paths,
                                                           struct ArrowArrayStream *out_stream CST_OWNED,
                                                           cst_error **error);
/* The objects of a list with the values that they have now, saved or not, in one array of structs, or as a stream of batches.
 * Columns as above; they are those of the first object's entity where the list is of none. */
CST_EXPORT CST_ON_QUEUE cst_status cst_results_export_arrow(const cst_results *results, uint32_t flags, size_t count,
                                                            const cst_string *key_paths,
                                                            struct ArrowSchema *out_schema CST_OWNED,
                                                            struct ArrowArray *out_array CST_OWNED, cst_error **error);
CST_EXPORT CST_ON_QUEUE cst_status cst_results_export_arrow_stream(const cst_results *results, size_t batch_size,
                                                                   uint32_t flags, size_t count,
                                                                   const cst_string *key_paths,
                                                                   struct ArrowArrayStream *out_stream CST_OWNED,
                                                                   cst_error **error);
/* The rows of a fetch of dictionaries; lazy ones are read here, on their queue, others on any thread. CST_E_TYPE_MISMATCH names a
 * column whose values have no type in common. */
CST_EXPORT CST_ON_QUEUE cst_status cst_rows_export_arrow(const cst_rows *rows, uint32_t flags,
                                                         struct ArrowSchema *out_schema CST_OWNED,
                                                         struct ArrowArray *out_array CST_OWNED, cst_error **error);
CST_EXPORT CST_ON_QUEUE cst_status cst_rows_export_arrow_stream(const cst_rows *rows, size_t batch_size, uint32_t flags,
                                                                struct ArrowArrayStream *out_stream CST_OWNED,
                                                                cst_error **error);

/* Another stream over the same rows from the first one, of the same state: for consumers that want several, or on another thread.
 * CST_E_INVALID_ARGUMENT for a stream of which batches were read, that was released, or that is not of this library. */
CST_EXPORT CST_ANY_THREAD cst_status cst_arrow_stream_copy(const struct ArrowArrayStream *stream,
                                                           struct ArrowArrayStream *out_stream CST_OWNED,
                                                           cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
