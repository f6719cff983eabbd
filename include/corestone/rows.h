/* corestone/rows.h: rows: values of columns instead of objects.
 *
 * cst_context_fetch_rows, cst_context_aggregate and cst_object_copy_values return rows. A row has one value for each
 * column. The caller owns the rows, which never change. Lazy rows (cst_rows_batch_size) read their values on the queue
 * of their context; other rows may be used on any thread.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_ROWS_H
#define CORESTONE_ROWS_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the number of rows, or 0 for an invalid handle. */
CST_EXPORT CST_ANY_THREAD size_t cst_rows_count(const cst_rows *rows);

/* Returns the number of lazy rows that are read together, or 0 for rows that are not lazy. Rows of a request with a
 * batch size are lazy if one of the columns is the object itself, which is returned as its ID. The set of lazy rows is
 * fixed, but a row has the values of the time at which it is read. A row that was deleted before that time has its ID
 * and nulls. */
CST_EXPORT CST_ANY_THREAD size_t cst_rows_batch_size(const cst_rows *rows);

/* Returns the number of columns, or 0 for an invalid handle. */
CST_EXPORT CST_ANY_THREAD size_t cst_rows_column_count(const cst_rows *rows);

/* Returns the name of the column at an index, or a null string past the last one. */
CST_EXPORT CST_ANY_THREAD CST_BORROWED cst_string cst_rows_column_name(const cst_rows *rows, size_t index);

/* Returns the values of `count` rows from the index `first`, row by row.
 *
 * `out_values` receives count times cst_rows_column_count values, each to be freed with cst_value_dispose. Objects are
 * CST_OBJECT_ID. Fails with CST_E_INVALID_ARGUMENT past the last row. Lazy rows must be read on their queue; other rows
 * can be read on any thread. */
CST_EXPORT CST_ON_QUEUE cst_status cst_rows_copy_values(const cst_rows *rows, size_t first, size_t count,
                                                        cst_value *out_values CST_OWNED, cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
