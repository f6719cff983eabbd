/* corestone/fetch.h: fetch requests, sorting, asynchronous fetches.
 *
 * A fetch request describes a fetch: the entity, a predicate, the order, limit and offset, and the columns of rows.
 * cst_fetch_request_new creates a request, the set functions configure it, and cst_context_fetch and other functions of
 * context.h execute it. cst_sort_values sorts any values by the same rules. cst_context_fetch_asynchronously runs a
 * request on another thread.
 *
 * The caller owns requests. A request is used by one thread at a time, and may be executed any number of times; a fetch
 * reads it during the call only.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_FETCH_H
#define CORESTONE_FETCH_H

#include "context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Creates a request for all objects of an entity. */
CST_EXPORT CST_ANY_THREAD cst_status cst_fetch_request_new(const cst_entity *entity,
                                                           cst_fetch_request **out_request CST_OWNED,
                                                           cst_error **error);

/* Creates a request for an entity that is looked up by name, in the model of the context, when the request is used. The
 * lookup sets the entity of the request. The name may be a null string, and be set later by
 * cst_fetch_request_set_entity_name. */
CST_EXPORT CST_ANY_THREAD cst_status cst_fetch_request_new_named(cst_string entity_name,
                                                                 cst_fetch_request **out_request CST_OWNED,
                                                                 cst_error **error);

/* Sets the name of the entity, which is looked up when the request is used. A null string removes the name. */
CST_EXPORT CST_ONE_THREAD cst_status cst_fetch_request_set_entity_name(cst_fetch_request *request,
                                                                       cst_string entity_name, cst_error **error);

/* Creates an independent copy of the request. */
CST_EXPORT CST_ONE_THREAD cst_status cst_fetch_request_copy(const cst_fetch_request *request,
                                                            cst_fetch_request **out_request CST_OWNED,
                                                            cst_error **error);

/* The options of a request that are numbers or flags. Most of them also have a setter. */
enum {
    CST_FETCH_LIMIT = 1,                    /* the greatest number of results; 0, as initially: no limit */
    CST_FETCH_OFFSET = 2,                   /* the number of results that are skipped; initially 0 */
    CST_FETCH_BATCH_SIZE = 3,               /* rows that are read at a time; 0, as initially: all together */
    CST_FETCH_RESULT_TYPE = 4,              /* CST_RESULT_…, initially objects; others fail with code 134091 */
    CST_FETCH_INCLUDES_SUBENTITIES = 5,     /* initially 1 */
    CST_FETCH_INCLUDES_PENDING_CHANGES = 6, /* initially 1 */
    CST_FETCH_INCLUDES_PROPERTY_VALUES = 7, /* initially 1; 0: objects are faults without rows */
    CST_FETCH_RETURNS_FAULTS = 8,           /* initially 1 */
    /* 1: loaded objects without changes are updated with the fetched values; initially 0 */
    CST_FETCH_REFRESHES_REFETCHED = 9,
    CST_FETCH_DISTINCT = 10,     /* initially 0 */
    CST_FETCH_NULLS = 11,        /* CST_NULLS_…; initially CST_NULLS_MEMORY */
    CST_FETCH_ALLOWS_SPLIT = 12, /* initially 1 */
    /* Initially 0; 1: computes columns from objects, slower and with the same result, for comparison */
    CST_FETCH_ROWS_IN_MEMORY = 13
};

/* Sets an option of the request, CST_FETCH_…. Fails with CST_E_INVALID_ARGUMENT for an unknown option or a value out
 * of range. */
CST_EXPORT CST_ONE_THREAD cst_status cst_fetch_request_set_option(cst_fetch_request *request, uint32_t option,
                                                                  int64_t value, cst_error **error);

/* Returns the value of an option of the request, CST_FETCH_…. */
CST_EXPORT CST_ONE_THREAD cst_status cst_fetch_request_option(const cst_fetch_request *request, uint32_t option,
                                                              int64_t *out_value, cst_error **error);

/* Sets the stores to search. The request retains these stores. NULL selects all stores. With another pointer and a
 * count of 0, no store is searched. Order and limits apply to the rows of all stores together. */
CST_EXPORT CST_ONE_THREAD cst_status cst_fetch_request_set_affected_stores(cst_fetch_request *request, size_t count,
                                                                           const cst_store *const *stores,
                                                                           cst_error **error);

/* Fills a buffer with the parts of a request that are not options, as JSON.
 *
 * The keys are "entityName", "predicate", "sortDescriptors" ("key", "ascending", "selector"), "propertiesToFetch"
 * ("name", "expression", "type"), "propertiesToGroupBy", "havingPredicate", "relationshipKeyPathsForPrefetching" and
 * "affectedStores" (URLs). Unset parts are null. */
CST_EXPORT CST_ONE_THREAD cst_status cst_fetch_request_copy_json(const cst_fetch_request *request, cst_buffer *out_json,
                                                                 cst_error **error);

/* Fills a buffer with the request as a keyed archive, for storage. The archive does not contain stores, and identifies
 * the entity by its name. Fails with CST_E_UNSUPPORTED for a predicate that cannot be archived, for example one with an
 * object. */
CST_EXPORT CST_ONE_THREAD cst_status cst_fetch_request_copy_archive(const cst_fetch_request *request,
                                                                    cst_buffer *out_archive, cst_error **error);

/* Creates a request from an archive of cst_fetch_request_copy_archive. Fails with CST_E_STORE_CORRUPT for other
 * bytes. */
CST_EXPORT CST_ANY_THREAD cst_status cst_fetch_request_new_from_archive(cst_bytes archive,
                                                                        cst_fetch_request **out_request CST_OWNED,
                                                                        cst_error **error);

/* Returns the predicate of the request. Returns CST_NOT_FOUND if the request does not have a predicate. */
CST_EXPORT CST_ONE_THREAD cst_status cst_fetch_request_copy_predicate(const cst_fetch_request *request,
                                                                      cst_predicate **out_predicate CST_OWNED,
                                                                      cst_error **error);

/* Sets the predicate of the request, which retains it. NULL selects every object. */
CST_EXPORT CST_ONE_THREAD cst_status cst_fetch_request_set_predicate(cst_fetch_request *request,
                                                                     cst_predicate *predicate, cst_error **error);

/* A sort descriptor. */
typedef struct cst_sort {
    cst_string key_path;
    uint32_t flags; /* CST_SORT_… */
    uint32_t reserved;
} cst_sort;

/* Flags of a sort descriptor. Without flags, a sort descriptor sorts ascending by compare:. The flags for other
 * selectors are CST_SORT_CASE_INSENSITIVE for caseInsensitiveCompare:, CST_SORT_LOCALIZED for localizedCompare:, both
 * for localizedCaseInsensitiveCompare:, and CST_SORT_LOCALIZED_STANDARD for localizedStandardCompare:. */
enum {
    CST_SORT_DESCENDING = 1u << 0,
    CST_SORT_CASE_INSENSITIVE = 1u << 1,
    CST_SORT_LOCALIZED = 1u << 2,
    CST_SORT_LOCALIZED_STANDARD = 1u << 3,
    CST_SORT_COMPARATOR = 1u << 4 /* by the comparator of the call; in memory only */
};

/* Sets the locale for the selectors localized… and the option [l], in the whole process, in ICU's spelling: "de_DE". An
 * empty string selects an order that is independent of languages. Null, the initial value, selects the locale of the
 * environment (LC_ALL, LC_COLLATE, LANG). */
CST_EXPORT CST_ANY_THREAD cst_status cst_sort_set_locale(cst_string locale, cst_error **error);

/* Fills a buffer with the locale in use. `out_uses_icu`, which may be NULL, receives whether ICU supports the locale;
 * otherwise the order is independent of languages. */
CST_EXPORT CST_ANY_THREAD cst_status cst_sort_copy_locale(cst_buffer *out_text, bool *out_uses_icu, cst_error **error);

/* Compares two values that are not nil.
 *
 * *out_order receives a negative number if `a` comes first, and a positive one if `b` does. `sort` is the index of the
 * descriptor. */
typedef cst_status (*cst_compare_fn)(void *userdata, size_t sort, const cst_value *a, const cst_value *b,
                                     int32_t *out_order, cst_error **error);

/* Sorts values, and returns their indexes in sorted order. A descriptor without a key path compares the values
 * themselves. Equal values keep their order, and nil is less than all other values. `compare` is for descriptors with
 * CST_SORT_COMPARATOR; without these it may be NULL. Objects are read on their queue. */
CST_EXPORT CST_ON_QUEUE cst_status cst_sort_values(size_t count, const cst_value *values, size_t sort_count,
                                                   const cst_sort *sort, cst_compare_fn compare, void *userdata,
                                                   size_t *out_order, cst_error **error);

/* Replaces the sort descriptors, which are copied. Without descriptors the order is that of the store. In a request for
 * rows, a descriptor can also name a computed column (rows.h), whose values then determine the order. */
CST_EXPORT CST_ONE_THREAD cst_status cst_fetch_request_set_sort(cst_fetch_request *request, size_t count,
                                                                const cst_sort *sort, cst_error **error);

/* Sets the greatest number of results; 0 means no limit. */
CST_EXPORT CST_ONE_THREAD cst_status cst_fetch_request_set_limit(cst_fetch_request *request, uint64_t limit,
                                                                 cst_error **error);

/* Sets the number of results that are skipped at the beginning; initially 0. */
CST_EXPORT CST_ONE_THREAD cst_status cst_fetch_request_set_offset(cst_fetch_request *request, uint64_t offset,
                                                                  cst_error **error);

/* Sets whether the request includes objects of subentities. Initially true. */
CST_EXPORT CST_ONE_THREAD cst_status cst_fetch_request_set_includes_subentities(cst_fetch_request *request,
                                                                                bool includes, cst_error **error);

/* Sets whether the request includes unsaved changes. Initially true. */
CST_EXPORT CST_ONE_THREAD cst_status cst_fetch_request_set_includes_pending_changes(cst_fetch_request *request,
                                                                                    bool includes, cst_error **error);

/* Sets whether objects are returned as faults, even though their rows have been read. Initially true. cst_object_state
 * reports whether an object is a fault. */
CST_EXPORT CST_ONE_THREAD cst_status cst_fetch_request_set_returns_faults(cst_fetch_request *request, bool faults,
                                                                          cst_error **error);

/* The meanings of comparisons with nil. With CST_NULLS_MEMORY, the default, name != 'x' is true if name is nil, in the
 * store too. With CST_NULLS_DATABASE, comparisons have the semantics of SQL, as in Apple's SQLite store: neither this
 * comparison nor its negation is true for nil. Only a comparison with a constant nil can be true then. The option also
 * applies to unsaved objects. */
enum { CST_NULLS_MEMORY = 0, CST_NULLS_DATABASE = 1 };

/* Sets the meaning of comparisons with nil, a CST_NULLS_ constant. */
CST_EXPORT CST_ONE_THREAD cst_status cst_fetch_request_set_nulls(cst_fetch_request *request, uint32_t nulls,
                                                                 cst_error **error);

/* Sets whether parts of predicate and order that SQL cannot express are evaluated in memory.
 *
 * Such parts are transient attributes, blocks and functions of the host. They are evaluated on the rows that SQL
 * returns. Initially true. If false, such a fetch fails with CST_E_UNSUPPORTED, and the message names the part. */
CST_EXPORT CST_ONE_THREAD cst_status cst_fetch_request_set_allows_split(cst_fetch_request *request, bool allows,
                                                                        cst_error **error);

/* Sets the relationships (key paths) whose targets the fetch prefetches, with one query for each thousand objects. Lazy
 * results prefetch for each batch. */
CST_EXPORT CST_ONE_THREAD cst_status cst_fetch_request_set_prefetch(cst_fetch_request *request, size_t count,
                                                                    const cst_string *key_paths, cst_error **error);

/* Called once, on the queue of the context, when an asynchronous fetch has finished, failed or was cancelled. The
 * handle is borrowed for the call. If the context was closed before, the function is called on another thread, and
 * cst_asynchronous_fetch_copy_result fails with CST_E_INVALID_HANDLE. */
typedef void (*cst_fetch_done_fn)(void *userdata, cst_asynchronous_fetch *fetch);

/* Starts executing a request, which is copied. If possible, another thread reads the rows, and the queue of the context
 * is needed only when the objects are created. Fetches of dictionaries, from several stores, and in pinned or nested
 * contexts run on the queue. Changes up to that time are included. `estimated_count` is the expected number of objects
 * for the progress, or 0. `done` may be NULL. `destroy` is called after `done`, or immediately if the call fails. Fails
 * with CST_E_INVALID_ARGUMENT for a context that is confined to a thread. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_fetch_asynchronously(
    cst_context *context, const cst_fetch_request *request, uint64_t estimated_count, cst_fetch_done_fn done,
    void *userdata, cst_destroy_fn destroy, cst_asynchronous_fetch **out_fetch CST_OWNED, cst_error **error);

/* Cancels an asynchronous fetch, even while it reads. The fetch fails with CST_E_CANCELLED, unless it finishes first.
 * Returns CST_UNCHANGED if it has finished. */
CST_EXPORT CST_ANY_THREAD cst_status cst_asynchronous_fetch_cancel(cst_asynchronous_fetch *fetch, cst_error **error);

/* Returns the number of rows that an asynchronous fetch has read, and the total. Until the fetch succeeds, the total is
 * the estimate, or 0 without an estimate. Returns CST_END if the fetch has finished. */
CST_EXPORT CST_ANY_THREAD cst_status cst_asynchronous_fetch_progress(const cst_asynchronous_fetch *fetch,
                                                                     uint64_t *out_completed, uint64_t *out_total,
                                                                     cst_error **error);

/* Returns the result of an asynchronous fetch, like cst_context_execute. Returns CST_NOT_FOUND if the fetch has not
 * finished. If the fetch failed, fails with the error of the fetch. */
CST_EXPORT CST_ON_QUEUE cst_status cst_asynchronous_fetch_copy_result(const cst_asynchronous_fetch *fetch,
                                                                      cst_request_result *out_result CST_OWNED,
                                                                      cst_error **error);

/* A column of cst_context_fetch_rows. */
typedef struct cst_column {
    cst_string name;                  /* of the column; without an expression, the key path of a property */
    const cst_expression *expression; /* computes the values; NULL: the property */
    cst_attribute_type type;          /* to which an expression's values are converted, or CST_ATTRIBUTE_UNDEFINED */
    uint32_t reserved;
} cst_column;

/* Sets the columns of rows. The columns are copied, and their expressions are retained. Without columns, rows have
 * every stored attribute. In a fetch of objects, the columns are the properties whose values are loaded; reading
 * another property loads all remaining values. Expressions are not allowed in a fetch of objects. */
CST_EXPORT CST_ONE_THREAD cst_status cst_fetch_request_set_columns(cst_fetch_request *request, size_t count,
                                                                   const cst_column *columns, cst_error **error);

/* Sets the key paths or column names by which rows are grouped. Rows with equal values become one row. */
CST_EXPORT CST_ONE_THREAD cst_status cst_fetch_request_set_group_by(cst_fetch_request *request, size_t count,
                                                                    const cst_string *names, cst_error **error);

/* Sets the predicate that groups must satisfy. The request retains the predicate. The predicate may name columns, and
 * call functions over the rows of a group. NULL selects all groups. */
CST_EXPORT CST_ONE_THREAD cst_status cst_fetch_request_set_having(cst_fetch_request *request, cst_predicate *predicate,
                                                                  cst_error **error);

/* Sets whether only the first of equal rows is returned. */
CST_EXPORT CST_ONE_THREAD cst_status cst_fetch_request_set_distinct(cst_fetch_request *request, bool distinct,
                                                                    cst_error **error);

/* Flags of cst_fetch_options. Without flags, the options have the initial values of CST_FETCH_…. */
enum {
    CST_FETCH_WITHOUT_SUBENTITIES = 1u << 0,     /* clears CST_FETCH_INCLUDES_SUBENTITIES */
    CST_FETCH_WITHOUT_PENDING_CHANGES = 1u << 1, /* clears CST_FETCH_INCLUDES_PENDING_CHANGES */
    CST_FETCH_WITHOUT_PROPERTY_VALUES = 1u << 2, /* clears CST_FETCH_INCLUDES_PROPERTY_VALUES */
    CST_FETCH_WITHOUT_FAULTS = 1u << 3,          /* clears CST_FETCH_RETURNS_FAULTS */
    CST_FETCH_WITHOUT_SPLIT = 1u << 4,           /* clears CST_FETCH_ALLOWS_SPLIT */
    CST_FETCH_WITH_REFRESH = 1u << 5,            /* sets CST_FETCH_REFRESHES_REFETCHED */
    CST_FETCH_WITH_DISTINCT_ROWS = 1u << 6,      /* sets CST_FETCH_DISTINCT */
    CST_FETCH_WITH_ROWS_IN_MEMORY = 1u << 7      /* sets CST_FETCH_ROWS_IN_MEMORY */
};

/* All parts of a new request, for bindings that create a request in one call. Start from CST_FETCH_OPTIONS_INIT; 0 is
 * the default of every member. Each part is documented with its own setter. */
typedef struct cst_fetch_options {
    size_t struct_size;
    uint32_t flags;       /* CST_FETCH_WITH_… and CST_FETCH_WITHOUT_… */
    uint32_t result_type; /* CST_RESULT_…; others fail with code 134091 */
    uint32_t nulls;       /* CST_NULLS_… */
    uint32_t reserved;
    const cst_entity *entity; /* or NULL; then entity_name, which may be null too, is looked up at each use */
    cst_string entity_name;
    cst_predicate *predicate; /* retained by the request; NULL selects every object */
    size_t sort_count;
    const cst_sort *sort; /* NULL: without sort descriptors */
    uint64_t limit;
    uint64_t offset;
    uint64_t batch_size;
    size_t prefetch_count;
    const cst_string *prefetch; /* key paths */
    size_t column_count;
    const cst_column *columns; /* NULL: without columns */
    size_t group_by_count;
    const cst_string *group_by;
    cst_predicate *having; /* retained by the request; may be NULL */
    size_t store_count;
    const cst_store *const *stores; /* NULL: all stores; with a count of 0, no store is searched */
} cst_fetch_options;
#define CST_FETCH_OPTIONS_INIT                                                                                         \
    {sizeof(cst_fetch_options),                                                                                        \
     0,                                                                                                                \
     0,                                                                                                                \
     0,                                                                                                                \
     0,                                                                                                                \
     NULL,                                                                                                             \
     {NULL, 0},                                                                                                        \
     NULL,                                                                                                             \
     0,                                                                                                                \
     NULL,                                                                                                             \
     0,                                                                                                                \
     0,                                                                                                                \
     0,                                                                                                                \
     0,                                                                                                                \
     NULL,                                                                                                             \
     0,                                                                                                                \
     NULL,                                                                                                             \
     0,                                                                                                                \
     NULL,                                                                                                             \
     NULL,                                                                                                             \
     0,                                                                                                                \
     NULL}

/* Creates a request with all of its parts. `options` is read during the call, and may be NULL. Errors are those of the
 * functions that set the parts; the key of an error is the name of the part, such as "limit". Fails with
 * CST_E_INVALID_ARGUMENT if both `entity` and `entity_name` are set. */
CST_EXPORT CST_ONE_THREAD cst_status cst_fetch_request_new_with_options(const cst_fetch_options *options,
                                                                        cst_fetch_request **out_request CST_OWNED,
                                                                        cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
