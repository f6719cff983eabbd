/* corestone/arrow.h: objects and rows as columns for Apache Arrow, and columns as objects.
 *
 * These functions export objects and rows to libraries that read Apache Arrow: pyarrow, polars, pandas, DuckDB and many
 * more. cst_context_fetch_arrow streams a fetch; the export functions convert results and rows. The caller owns an
 * exported struct, by the rules of the C data interface: copying the struct moves its content, and `release` frees it.
 * An exported struct may be used on any thread, independently of the context and its queue.
 *
 * cst_context_insert_arrow, cst_context_upsert_arrow and cst_batch_insert_set_arrow import a stream of such a library.
 * They move the stream: its `release` is NULL afterwards, even if the call fails, and the library releases the stream.
 * docs/reference/arrow.md lists the types.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_ARROW_H
#define CORESTONE_ARROW_H

#include "store.h"
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
 * relationships, values over the members of a to-many relationship ("employees.@count", "employees.@sum.salary"), and
 * "objectID". With a count of 0, the columns are those of the request, or every stored attribute if the request does
 * not name columns. The request is read during the call only. */
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

/* Flags of an import. */
enum {
    CST_ARROW_IMPORT_NAIVE_UTC = 1,       /* timestamps without a time zone are in UTC; otherwise they are rejected */
    CST_ARROW_IMPORT_IGNORE_UNKNOWN = 2,  /* ignores columns that are not properties; otherwise they are rejected */
    CST_ARROW_IMPORT_NULL_IF_MISSING = 4, /* a key without an object is null; otherwise the row is rejected */
    CST_ARROW_IMPORT_VALIDATE = 8,        /* validates the objects, so that an error names the row; not in batches */
    CST_ARROW_IMPORT_UPDATE = 16          /* a batch insert updates existing rows; see cst_batch_insert_set_arrow */
};

/* The property that a column of a stream sets. */
typedef struct cst_arrow_column {
    cst_string column;   /* the name of the column */
    cst_string property; /* the path of a property; a null string ignores the column */
} cst_arrow_column;

/* Options of an import. Start from CST_ARROW_IMPORT_OPTIONS_INIT; 0 is the default of every member. */
typedef struct cst_arrow_import_options {
    size_t struct_size;
    uint64_t flags; /* CST_ARROW_IMPORT_… */
    /* The properties of columns whose names differ from their properties' names. */
    size_t column_count;
    const cst_arrow_column *columns;
    /* The attributes by which an upsert finds existing objects, or only "objectID".
     *
     * A count of 0 selects the first unique constraint whose attributes are columns. */
    size_t key_count;
    const cst_string *keys;
    /* Called with the number of imported rows, every few thousand rows and at the end; may be NULL. `total` is 0 until
     * the end, because the length of a stream is unknown. If it returns false, the import fails with CST_E_CANCELLED. */
    cst_progress_fn progress;
    void *progress_userdata;
} cst_arrow_import_options;
#define CST_ARROW_IMPORT_OPTIONS_INIT {sizeof(cst_arrow_import_options), 0, 0, NULL, 0, NULL, NULL, NULL}

/* Inserts an object for each row of a stream. A save validates the objects.
 *
 * On failure, the objects of the context, their relationships and the undo stack are as before. Inserted objects then
 * leave the context without delete rules and hooks of deletion. The import belongs to the current undo step.
 *
 * Columns have the names of attributes, elements of composite attributes ("address.city"), relationships ("department",
 * with the URIs of objects) or keys of relationships ("department.name", with values of an attribute that identify the
 * target). The target of a key may be an object of the store, an unsaved object, or another row of the stream. To-many
 * relationships take lists. Attributes without a column receive their defaults. `options` may be NULL. `out_inserted`
 * receives the number of rows, and may be NULL. Rows are counted from 1 in errors.
 *
 * CST_E_INVALID_ARGUMENT for an unknown column, for a key without an object, and for a damaged stream.
 * CST_E_TYPE_MISMATCH if a property does not take the type of its column, or a value.
 * CST_E_VALIDATION for a number out of the range of its attribute.
 * CST_E_INVALID_UTF8 for text that is not valid UTF-8.
 * CST_E_CALLBACK if the stream fails; the error contains its message.
 * CST_E_CANCELLED if `progress` or the interrupt function of the context cancels the import. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_insert_arrow(cst_context *context, const cst_entity *entity,
                                                            struct ArrowArrayStream *stream,
                                                            const cst_arrow_import_options *options,
                                                            uint64_t *out_inserted, cst_error **error);

/* Updates the object that has the keys of a row, and inserts an object for each other row.
 *
 * Only properties with a column are set. Objects without changes are refreshed if the store has newer values. An object
 * whose values are equal remains unchanged. A key with a null does not match. With the key "objectID", null inserts an
 * object, and an unknown URI fails. `out_inserted` and `out_updated` receive the numbers of rows, and may be NULL.
 * Otherwise like cst_context_insert_arrow.
 *
 * CST_E_INVALID_ARGUMENT if several objects have the keys of a row. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_upsert_arrow(cst_context *context, const cst_entity *entity,
                                                            struct ArrowArrayStream *stream,
                                                            const cst_arrow_import_options *options,
                                                            uint64_t *out_inserted, uint64_t *out_updated,
                                                            cst_error **error);

/* Sets a stream as the rows of a batch insert (batch.h), which are written without objects. Columns are attributes or
 * elements of composite attributes. The schema is read and checked immediately, and the rows by the first execution.
 * A second execution fails, because a stream can be read only once. With CST_ARROW_IMPORT_UPDATE, a row with the keys
 * of a stored row updates that row, regardless of the merge policy; the keys must have a unique constraint. `progress`
 * is called within the transaction. */
CST_EXPORT CST_ONE_THREAD cst_status cst_batch_insert_set_arrow(cst_batch_request *request,
                                                                struct ArrowArrayStream *stream,
                                                                const cst_arrow_import_options *options,
                                                                cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
