/* corestone/results.h: lists of objects or IDs
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_RESULTS_H
#define CORESTONE_RESULTS_H

#include "fetch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ======== results ======================================================================================== */
/* A list of objects or IDs: what a fetch found, the members of a relationship, the changed objects of a context. It
 * never changes, and keeps its objects. On the queue of its context.
 *
 * Results of a request with a batch size are lazy: they know who their objects are, and read rows a batch at a time when an
 * object of it is asked for. Of these they keep the batches used last alone: a handle is borrowed until four batches more were
 * asked for, values of a column until the next call. */

/* How many objects or IDs there are. */
CST_EXPORT CST_ANY_THREAD size_t cst_results_count(const cst_results *results);
/* How many rows lazy results read at a time; 0 for others. */
CST_EXPORT CST_ANY_THREAD size_t cst_results_batch_size(const cst_results *results);
/* The object at an index; borrowed, valid until the results are released. CST_END past the last one. */
CST_EXPORT CST_ON_QUEUE cst_status cst_results_get_object(const cst_results *results, size_t index,
                                                          cst_object **out_object CST_BORROWED, cst_error **error);
/* Up to `capacity` objects from `first`; borrowed. */
CST_EXPORT CST_ON_QUEUE cst_status cst_results_get_objects(const cst_results *results, size_t first, size_t capacity,
                                                           cst_object **out_objects CST_BORROWED, size_t *out_count,
                                                           cst_error **error);
CST_EXPORT CST_ANY_THREAD cst_status cst_results_copy_id(const cst_results *results, size_t index,
                                                         cst_object_id **out_id CST_OWNED, cst_error **error);
/* One property of up to `capacity` objects from `first`. Views are valid until the objects change. */
CST_EXPORT CST_ON_QUEUE cst_status cst_results_get_column(const cst_results *results, cst_key key, size_t first,
                                                          size_t capacity, cst_value *out_values CST_BORROWED,
                                                          size_t *out_count, cst_error **error);
/* The same along a key path. */
CST_EXPORT CST_ON_QUEUE cst_status cst_results_get_column_path(const cst_results *results, cst_string path,
                                                               size_t first, size_t capacity,
                                                               cst_value *out_values CST_BORROWED, size_t *out_count,
                                                               cst_error **error);
/* The objects for which a predicate holds; `variables` as in cst_predicate_evaluate_value. */
CST_EXPORT CST_ON_QUEUE cst_status cst_results_copy_filtered(const cst_results *results, const cst_predicate *predicate,
                                                             const cst_value *variables,
                                                             cst_results **out_results CST_OWNED, cst_error **error);
/* The objects in another order; as cst_sort_values. */
CST_EXPORT CST_ON_QUEUE cst_status cst_results_copy_sorted(const cst_results *results, size_t sort_count,
                                                           const cst_sort *sort, cst_compare_fn compare, void *userdata,
                                                           cst_results **out_results CST_OWNED, cst_error **error);
/* Attributes and to-one relationships of `count` objects from `first` as packed columns, for languages whose calls are
 * dear. The buffer holds, in the machine's byte order and each part at a multiple of 8 bytes:
 *   uint64 rows, uint64 columns, then for each column
 *   uint64 form, rows bytes of 1 (null), 2 (the object was deleted since) or 0, padded to 8, and by form:
 *   1 int64 per row (integers, booleans)       2 double per row (doubles, dates)
 *   3 uint64 size of the text, uint64 per row + 1: offsets in CODE POINTS into the text, then the text (UTF-8), padded
 *   4 uint64 size of the bytes, uint64 per row + 1: offsets in bytes, then the bytes, padded
 *   5 16 bytes per row (UUIDs)                 6 int64 per row: primary key of a to-one target
 * Decimals are text (form 3), URIs too. */
CST_EXPORT CST_ON_QUEUE cst_status cst_results_copy_columns(const cst_results *results, size_t first, size_t count,
                                                            size_t columns, const cst_key *keys,
                                                            cst_buffer *out_columns, cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
