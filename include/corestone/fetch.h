/* corestone/fetch.h: fetch requests, sorting, asynchronous fetches
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_FETCH_H
#define CORESTONE_FETCH_H

#include "context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ======== fetch request ================================================================================== */

/* A request for every object of an entity; narrow it with the functions below. May be used for many fetches. */
CST_EXPORT CST_ANY_THREAD cst_status cst_fetch_request_new(const cst_entity *entity,
                                                           cst_fetch_request **out_request CST_OWNED,
                                                           cst_error **error);
/* The same for an entity that is looked up by its name when the request is used, in the model of the context; that use changes
 * the request. A null string: cst_fetch_request_set_entity_name gives a name later. */
CST_EXPORT CST_ANY_THREAD cst_status cst_fetch_request_new_named(cst_string entity_name,
                                                                 cst_fetch_request **out_request CST_OWNED,
                                                                 cst_error **error);
CST_EXPORT CST_ONE_THREAD cst_status cst_fetch_request_set_entity_name(cst_fetch_request *request,
                                                                       cst_string entity_name, cst_error **error);
/* A request of its own that asks for the same. */
CST_EXPORT CST_ONE_THREAD cst_status cst_fetch_request_copy(const cst_fetch_request *request,
                                                            cst_fetch_request **out_request CST_OWNED,
                                                            cst_error **error);
/* All that is a number or a flag of a request; most have a setter of their own as well. */
enum {
    CST_FETCH_LIMIT = 1,                    /* at most so many; 0, as at first: all */
    CST_FETCH_OFFSET = 2,                   /* so many are left out at the beginning; 0 at first */
    CST_FETCH_BATCH_SIZE = 3,               /* rows that are read at a time; 0, as at first: all at once */
    CST_FETCH_RESULT_TYPE = 4,              /* CST_RESULT_…, else code 134091; objects at first */
    CST_FETCH_INCLUDES_SUBENTITIES = 5,     /* 1 at first */
    CST_FETCH_INCLUDES_PENDING_CHANGES = 6, /* 1 at first */
    CST_FETCH_INCLUDES_PROPERTY_VALUES = 7, /* 1 at first; 0: objects are faults without rows */
    CST_FETCH_RETURNS_FAULTS = 8,           /* 1 at first */
    CST_FETCH_REFRESHES_REFETCHED =
        9,                        /* 1: objects without changes that are no faults take what is found; 0 at first */
    CST_FETCH_DISTINCT = 10,      /* 0 at first */
    CST_FETCH_NULLS = 11,         /* CST_NULLS_…; memory at first */
    CST_FETCH_ALLOWS_SPLIT = 12,  /* 1 at first */
    CST_FETCH_ROWS_IN_MEMORY = 13 /* 0 at first; 1: columns are computed from objects: slower, the same, to compare */
};
CST_EXPORT CST_ONE_THREAD cst_status cst_fetch_request_set_option(cst_fetch_request *request, uint32_t option,
                                                                  int64_t value, cst_error **error);
CST_EXPORT CST_ONE_THREAD cst_status cst_fetch_request_option(const cst_fetch_request *request, uint32_t option,
                                                              int64_t *out_value, cst_error **error);
/* The stores to ask, which the request keeps; NULL for all, and a count of 0 for none. Their rows are ordered and windowed
 * together. */
CST_EXPORT CST_ONE_THREAD cst_status cst_fetch_request_set_affected_stores(cst_fetch_request *request, size_t count,
                                                                           const cst_store *const *stores,
                                                                           cst_error **error);
/* Everything else of a request, what is not set being null: "entityName", "predicate", "sortDescriptors" ("key", "ascending",
 * "selector"), "propertiesToFetch" ("name", "expression", "type"), "propertiesToGroupBy", "havingPredicate",
 * "relationshipKeyPathsForPrefetching", "affectedStores" (URLs). */
CST_EXPORT CST_ONE_THREAD cst_status cst_fetch_request_copy_json(const cst_fetch_request *request, cst_buffer *out_json,
                                                                 cst_error **error);
/* The request as a keyed archive, for keeping it; stores are no part of it, and the entity is by name. CST_E_UNSUPPORTED for a
 * predicate that no archive can say, one with an object for example. */
CST_EXPORT CST_ONE_THREAD cst_status cst_fetch_request_copy_archive(const cst_fetch_request *request,
                                                                    cst_buffer *out_archive, cst_error **error);
/* The request of such an archive; CST_E_STORE_CORRUPT for other bytes. */
CST_EXPORT CST_ANY_THREAD cst_status cst_fetch_request_new_from_archive(cst_bytes archive,
                                                                        cst_fetch_request **out_request CST_OWNED,
                                                                        cst_error **error);
/* Its predicate; CST_NOT_FOUND without one. */
CST_EXPORT CST_ONE_THREAD cst_status cst_fetch_request_copy_predicate(const cst_fetch_request *request,
                                                                      cst_predicate **out_predicate CST_OWNED,
                                                                      cst_error **error);
/* NULL: every object. The predicate is retained. */
CST_EXPORT CST_ONE_THREAD cst_status cst_fetch_request_set_predicate(cst_fetch_request *request,
                                                                     cst_predicate *predicate, cst_error **error);
typedef struct cst_sort {
    cst_string key_path;
    uint32_t flags; /* CST_SORT_… */
    uint32_t reserved;
} cst_sort;
/* compare: without any; caseInsensitiveCompare:, localizedCompare:, both for localizedCaseInsensitiveCompare:,
 * localizedStandardCompare:. */
enum {
    CST_SORT_DESCENDING = 1u << 0,
    CST_SORT_CASE_INSENSITIVE = 1u << 1,
    CST_SORT_LOCALIZED = 1u << 2,
    CST_SORT_LOCALIZED_STANDARD = 1u << 3,
    CST_SORT_COMPARATOR = 1u << 4 /* by the call's comparator; in memory only */
};
/* The locale whose rules localized selectors and the option [l] follow, in the whole process: as ICU spells it, "de_DE"; empty
 * for the rules of no language, null for the environment's (LC_ALL, LC_COLLATE, LANG), which hold at first. */
CST_EXPORT CST_ANY_THREAD cst_status cst_sort_set_locale(cst_string locale, cst_error **error);
/* The locale in use; out_uses_icu, which may be NULL, says whether ICU knows it or the rules of no language stand in. */
CST_EXPORT CST_ANY_THREAD cst_status cst_sort_copy_locale(cst_buffer *out_text, bool *out_uses_icu, cst_error **error);
/* The order of two values, neither of them nil: negative when `a` comes first. `sort` is the descriptor's index. */
typedef cst_status (*cst_compare_fn)(void *userdata, size_t sort, const cst_value *a, const cst_value *b,
                                     int32_t *out_order, cst_error **error);
/* The order of values: out_order[0] is the index of the first one. Without a key path a descriptor sorts the values
 * themselves. Equal ones keep their order, nil comes first. Objects on their queue. */
CST_EXPORT CST_ON_QUEUE cst_status cst_sort_values(size_t count, const cst_value *values, size_t sort_count,
                                                   const cst_sort *sort, cst_compare_fn compare, void *userdata,
                                                   size_t *out_order, cst_error **error);
/* Replaces the sort descriptors; they are copied. Without any, the order is that of the store. */
CST_EXPORT CST_ONE_THREAD cst_status cst_fetch_request_set_sort(cst_fetch_request *request, size_t count,
                                                                const cst_sort *sort, cst_error **error);
/* At most this many objects; 0 is all. */
CST_EXPORT CST_ONE_THREAD cst_status cst_fetch_request_set_limit(cst_fetch_request *request, uint64_t limit,
                                                                 cst_error **error);
/* Leaves out this many objects at the beginning. */
CST_EXPORT CST_ONE_THREAD cst_status cst_fetch_request_set_offset(cst_fetch_request *request, uint64_t offset,
                                                                  cst_error **error);
/* Objects of entities that inherit from the request's are included unless this says no. */
CST_EXPORT CST_ONE_THREAD cst_status cst_fetch_request_set_includes_subentities(cst_fetch_request *request,
                                                                                bool includes, cst_error **error);
/* Changes that were not saved count unless this says no. */
CST_EXPORT CST_ONE_THREAD cst_status cst_fetch_request_set_includes_pending_changes(cst_fetch_request *request,
                                                                                    bool includes, cst_error **error);
/* Objects come as faults over rows already read unless this says no (cst_object_state tells the difference). */
CST_EXPORT CST_ONE_THREAD cst_status cst_fetch_request_set_returns_faults(cst_fetch_request *request, bool faults,
                                                                          cst_error **error);
/* What a comparison with nil says. CST_NULLS_MEMORY, the default: name != 'x' holds without a name, in the store too.
 * CST_NULLS_DATABASE: as in SQL, and so in Apple's SQLite store, neither it nor its negation does, nor any comparison but
 * with a constant nil; unsaved objects are judged alike. */
enum { CST_NULLS_MEMORY = 0, CST_NULLS_DATABASE = 1 };
CST_EXPORT CST_ONE_THREAD cst_status cst_fetch_request_set_nulls(cst_fetch_request *request, uint32_t nulls,
                                                                 cst_error **error);
/* What SQL cannot say of predicate and order (transient attributes, blocks, functions of the host) is done in memory with
 * the rows that SQL finds, unless this says no: then such a fetch is CST_E_UNSUPPORTED, and the message names it. */
CST_EXPORT CST_ONE_THREAD cst_status cst_fetch_request_set_allows_split(cst_fetch_request *request, bool allows,
                                                                        cst_error **error);
/* Relationships (key paths) whose targets the fetch reads too, one query for each. Lazy results read those of a batch. */
CST_EXPORT CST_ONE_THREAD cst_status cst_fetch_request_set_prefetch(cst_fetch_request *request, size_t count,
                                                                    const cst_string *key_paths, cst_error **error);

/* A fetch that runs beside its context. Called once, on the queue of the context, when it is done, has failed or was
 * cancelled. The handle is borrowed for the call. When the context was closed before, the thread has no queue, and what was found
 * is CST_E_INVALID_HANDLE. */
typedef void (*cst_fetch_done_fn)(void *userdata, cst_asynchronous_fetch *fetch);
/* Begins to carry out a request, which is copied: another thread reads the rows, and the queue of the context is
 * free until objects are made of them. What has changed until then counts. `estimated_count`, 0 for not known, is told with the
 * progress. CST_E_INVALID_ARGUMENT for a context that is confined to its thread, which has no queue. `done` may be NULL.
 * `destroy` is called after it, at once when this fails. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_fetch_asynchronously(
    cst_context *context, const cst_fetch_request *request, uint64_t estimated_count, cst_fetch_done_fn done,
    void *userdata, cst_destroy_fn destroy, cst_asynchronous_fetch **out_fetch CST_OWNED, cst_error **error);
/* Stops a fetch, in the middle of a scan if need be; it ends with CST_E_CANCELLED. CST_UNCHANGED when it has ended. */
CST_EXPORT CST_ANY_THREAD cst_status cst_asynchronous_fetch_cancel(cst_asynchronous_fetch *fetch, cst_error **error);
/* How many rows were read so far and how many there are, as far as anybody knows (else 0); CST_END after the end. */
CST_EXPORT CST_ANY_THREAD cst_status cst_asynchronous_fetch_progress(const cst_asynchronous_fetch *fetch,
                                                                     uint64_t *out_completed, uint64_t *out_total,
                                                                     cst_error **error);
/* What was found, as from cst_context_execute; CST_NOT_FOUND before the end, the error of the fetch after a failure. */
CST_EXPORT CST_ON_QUEUE cst_status cst_asynchronous_fetch_copy_result(const cst_asynchronous_fetch *fetch,
                                                                      cst_request_result *out_result CST_OWNED,
                                                                      cst_error **error);

/* A column of cst_context_fetch_rows. */
typedef struct cst_column {
    cst_string name;                  /* of the values; without an expression the key path of a property */
    const cst_expression *expression; /* computes the values; NULL: the property */
    cst_attribute_type type;          /* what an expression's values are made; CST_ATTRIBUTE_UNDEFINED: as they come */
    uint32_t reserved;
} cst_column;
/* The columns of rows; they are copied, expressions are retained. None: every attribute that is stored. Of objects that are
 * fetched, the properties whose values come along: another one is read when it is asked for, with all that are left. An
 * expression cannot be one of these. */
CST_EXPORT CST_ONE_THREAD cst_status cst_fetch_request_set_columns(cst_fetch_request *request, size_t count,
                                                                   const cst_column *columns, cst_error **error);
/* Key paths, or names of columns, whose equal values make one row of many. */
CST_EXPORT CST_ONE_THREAD cst_status cst_fetch_request_set_group_by(cst_fetch_request *request, size_t count,
                                                                    const cst_string *names, cst_error **error);
/* Which groups to give: it may name columns, and call functions over the rows of a group. NULL: all. Retained. */
CST_EXPORT CST_ONE_THREAD cst_status cst_fetch_request_set_having(cst_fetch_request *request, cst_predicate *predicate,
                                                                  cst_error **error);
/* Of equal rows only the first. */
CST_EXPORT CST_ONE_THREAD cst_status cst_fetch_request_set_distinct(cst_fetch_request *request, bool distinct,
                                                                    cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
