/* corestone/rows.h: values of columns
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_ROWS_H
#define CORESTONE_ROWS_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ======== rows =========================================================================================== */
/* Values of columns instead of objects. Rows that were all read at once never change, and any thread may use them. Lazy ones
 * (cst_rows_batch_size) belong to the queue of their context, which reads their values. */

/* How many rows there are. */
CST_EXPORT CST_ANY_THREAD size_t cst_rows_count(const cst_rows *rows);
/* How many rows are read at a time, when values of one are asked for; 0 when all were read at once. Rows of a request with a batch
 * size are lazy when one of the columns is the object itself, and so its ID: they know which rows there are, and a row is as it is
 * when it is read. One that was deleted meanwhile has nulls beside the ID. */
CST_EXPORT CST_ANY_THREAD size_t cst_rows_batch_size(const cst_rows *rows);
CST_EXPORT CST_ANY_THREAD size_t cst_rows_column_count(const cst_rows *rows);
/* A null string past the last column. */
CST_EXPORT CST_ANY_THREAD CST_BORROWED cst_string cst_rows_column_name(const cst_rows *rows, size_t index);
/* The values of `count` rows from `first`, row by row: count times cst_rows_column_count of them, each to be disposed. Objects
 * are CST_OBJECT_ID. CST_E_INVALID_ARGUMENT past the last row. The queue is that of lazy rows; others on any thread. */
CST_EXPORT CST_ON_QUEUE cst_status cst_rows_copy_values(const cst_rows *rows, size_t first, size_t count,
                                                        cst_value *out_values CST_OWNED, cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
