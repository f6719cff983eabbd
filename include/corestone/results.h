/* corestone/results.h: lists of objects or object IDs.
 *
 * Results are, for example, the objects of a fetch, the members of a relationship, or the changed objects of a context.
 * The list never changes. Unless it is lazy, it retains its objects. cst_results_get_object returns one object, and
 * cst_results_get_column one property of several objects; cst_results_copy_columns packs several properties for
 * languages with expensive calls.
 *
 * Results of a request with a batch size are usually lazy: they have the IDs of their objects, and read rows in batches
 * when an object of a batch is requested. Only recently used batches are kept. A borrowed object of lazy results is
 * valid until four times the batch size of further objects have been borrowed. The values of a column are valid until
 * the next call.
 *
 * The caller owns results and uses them on the queue of their context; counts and permanent IDs may be read on any
 * thread.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_RESULTS_H
#define CORESTONE_RESULTS_H

#include "fetch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the number of objects or IDs, or 0 for an invalid handle. */
CST_EXPORT CST_ANY_THREAD size_t cst_results_count(const cst_results *results);

/* Returns the number of rows that lazy results read at a time, or 0 for other results. */
CST_EXPORT CST_ANY_THREAD size_t cst_results_batch_size(const cst_results *results);

/* Returns the object at an index, borrowed until the results are released.
 *
 * Returns CST_END for an index past the last object. docs/reference/results.md documents lazy results. */
CST_EXPORT CST_ON_QUEUE cst_status cst_results_get_object(const cst_results *results, size_t index,
                                                          cst_object **out_object CST_BORROWED, cst_error **error);

/* Returns up to `capacity` objects from the index `first`, borrowed, and their number. Returns CST_END if `first` is
 * past the last object. */
CST_EXPORT CST_ON_QUEUE cst_status cst_results_get_objects(const cst_results *results, size_t first, size_t capacity,
                                                           cst_object **out_objects CST_BORROWED, size_t *out_count,
                                                           cst_error **error);

/* Returns the ID of the object at an index. Returns CST_END past the last one. The temporary ID of an unsaved object
 * is read on the queue of the context. */
CST_EXPORT CST_ANY_THREAD cst_status cst_results_copy_id(const cst_results *results, size_t index,
                                                         cst_object_id **out_id CST_OWNED, cst_error **error);

/* Returns the values of one property of up to `capacity` objects from the index `first`, and the number of values.
 * Views are valid until the objects change. Returns CST_END if `first` is past the last object. */
CST_EXPORT CST_ON_QUEUE cst_status cst_results_get_column(const cst_results *results, cst_key key, size_t first,
                                                          size_t capacity, cst_value *out_values CST_BORROWED,
                                                          size_t *out_count, cst_error **error);

/* Returns the values at a key path of up to `capacity` objects, like cst_results_get_column. */
CST_EXPORT CST_ON_QUEUE cst_status cst_results_get_column_path(const cst_results *results, cst_string path,
                                                               size_t first, size_t capacity,
                                                               cst_value *out_values CST_BORROWED, size_t *out_count,
                                                               cst_error **error);

/* Returns the objects that satisfy a predicate. `variables` are as for cst_predicate_evaluate_value. */
CST_EXPORT CST_ON_QUEUE cst_status cst_results_copy_filtered(const cst_results *results, const cst_predicate *predicate,
                                                             const cst_value *variables,
                                                             cst_results **out_results CST_OWNED, cst_error **error);

/* Returns the objects in the order of sort descriptors. Descriptors and `compare` are as for cst_sort_values. */
CST_EXPORT CST_ON_QUEUE cst_status cst_results_copy_sorted(const cst_results *results, size_t sort_count,
                                                           const cst_sort *sort, cst_compare_fn compare, void *userdata,
                                                           cst_results **out_results CST_OWNED, cst_error **error);

/* Fills a buffer with attributes and to-one relationships of objects as packed columns.
 *
 * The objects are up to `count` from the index `first`. Packed columns are for languages with expensive calls. The
 * buffer contains, in the byte order of the machine and with each part at a multiple of 8 bytes:
 *
 *   uint64 rows, uint64 columns, then for each column
 *   uint64 form, rows bytes of 1 (null), 2 (the object was deleted since) or 0, padded to 8, and by form:
 *   1 int64 per row (integers, booleans)       2 double per row (doubles, dates)
 *   3 uint64 size of the text, uint64 per row + 1: offsets in CODE POINTS into the text, then the text (UTF-8), padded
 *   4 uint64 size of the bytes, uint64 per row + 1: offsets in bytes, then the bytes, padded
 *   5 16 bytes per row (UUIDs)                 6 int64 per row: primary key of a to-one target
 *
 * Decimals and URIs are text (form 3). */
CST_EXPORT CST_ON_QUEUE cst_status cst_results_copy_columns(const cst_results *results, size_t first, size_t count,
                                                            size_t columns, const cst_key *keys,
                                                            cst_buffer *out_columns, cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
