/* corestone/batch.h: batch requests: inserts, updates and deletes without objects.
 *
 * A batch request inserts, updates or deletes many rows in the store without creating objects. Hooks, validators and
 * validation rules of the model do not apply. Its changes are one transaction in each store. cst_batch_insert_new,
 * cst_batch_update_new and cst_batch_delete_new create requests, which cst_context_execute_batch executes, any number
 * of times. A context that saves the same rows later finds a conflict, unless it merged the changes, as it does by
 * default (CST_OPTION_MERGES_BATCHES). The caller owns requests. A request is set up by one thread at a time and
 * executed on the queue of a context.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_BATCH_H
#define CORESTONE_BATCH_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Creates a request that inserts objects of an entity. Attributes that a row omits receive their defaults;
 * relationships cannot be set. If an existing row has the same unique values as an inserted one, the merge policy of
 * the context applies. With CST_MERGE_ERROR, the execution fails with code 133021. CST_MERGE_OBJECT_TRUMP sets the
 * inserted values on the existing row, and CST_MERGE_OVERWRITE replaces all of its values. With these two policies, all
 * other existing rows with the same unique values, including those of other entities, are deleted. With the remaining
 * policies, the inserted row is skipped. */
CST_EXPORT CST_ONE_THREAD cst_status cst_batch_insert_new(const cst_entity *entity,
                                                          cst_batch_request **out_request CST_OWNED, cst_error **error);

/* Sets the rows to insert, row by row. The values are copied. A request has one source of rows: each call of a
 * cst_batch_insert_set function replaces it. */
CST_EXPORT CST_ONE_THREAD cst_status cst_batch_insert_set_rows(cst_batch_request *request, size_t rows, size_t columns,
                                                               const cst_key *keys, const cst_value *values,
                                                               cst_error **error);

/* The types of the elements of a cst_batch_column. */
enum {
    CST_COLUMN_INT64 = 1,  /* int64_t: integers, booleans */
    CST_COLUMN_INT32 = 2,  /* int32_t */
    CST_COLUMN_DOUBLE = 3, /* double: floating-point numbers, dates */
    CST_COLUMN_STRING = 4, /* cst_string; a null string is a null value */
    CST_COLUMN_BYTES = 5,  /* cst_bytes; NULL is a null value */
    CST_COLUMN_UUID = 6,   /* 16 bytes each */
    CST_COLUMN_VALUE = 7   /* cst_value of any type */
};

/* One attribute of many rows. */
typedef struct cst_batch_column {
    cst_key key;
    uint32_t form;          /* CST_COLUMN_… */
    const void *values;     /* one for each row */
    const uint8_t *present; /* 0 for each row whose value is null; NULL: no value is null */
} cst_batch_column;

/* Sets the rows to insert, column by column, without copying the values. The columns are copied. The arrays to which
 * they point are read by each execution, and must stay valid until the last one. */
CST_EXPORT CST_ONE_THREAD cst_status cst_batch_insert_set_columns(cst_batch_request *request, size_t rows, size_t count,
                                                                  const cst_batch_column *columns, cst_error **error);

/* Fills the next rows. `values` has room for `capacity` rows, row by row in the order of the keys; all values are
 * initially CST_DEFAULT. `out_rows`, initially 0, receives the number of filled rows; 0 means that there are no more
 * rows. Values must stay valid until the function is called again or the execution returns. The function runs within
 * the transaction: it may read, but not save to that store. If the function fails, the execution fails and does not
 * write anything. */
typedef cst_status (*cst_batch_rows_fn)(void *userdata, size_t capacity, cst_value *values, size_t *out_rows,
                                        cst_error **error);

/* Sets a function that supplies the rows to insert, with values for the `columns` keys. `destroy` is called after the
 * last use, or immediately if this call fails. */
CST_EXPORT CST_ONE_THREAD cst_status cst_batch_insert_set_handler(cst_batch_request *request, size_t columns,
                                                                  const cst_key *keys, cst_batch_rows_fn fill,
                                                                  void *userdata, cst_destroy_fn destroy,
                                                                  cst_error **error);

/* Sets the values of the next row on an object. The object is borrowed, and is the same in every call of an execution.
 * Before each call, it is reset to its initial state. If the function sets *out_stop to true, the values of that call
 * are discarded, and no further rows are read. Otherwise like cst_batch_rows_fn. */
typedef cst_status (*cst_batch_object_fn)(void *userdata, cst_object *object, bool *out_stop, cst_error **error);

/* Sets a function that supplies the rows to insert by setting values on an object. `destroy` is as for
 * cst_batch_insert_set_handler. */
CST_EXPORT CST_ONE_THREAD cst_status cst_batch_insert_set_object_handler(cst_batch_request *request,
                                                                         cst_batch_object_fn fill, void *userdata,
                                                                         cst_destroy_fn destroy, cst_error **error);

/* Creates a request that sets attributes of all objects of an entity that satisfy a predicate. */
CST_EXPORT CST_ONE_THREAD cst_status cst_batch_update_new(const cst_entity *entity,
                                                          cst_batch_request **out_request CST_OWNED, cst_error **error);

/* Sets the predicate of an update request, which retains it. NULL, the initial value, selects every object. */
CST_EXPORT CST_ONE_THREAD cst_status cst_batch_update_set_predicate(cst_batch_request *request,
                                                                    cst_predicate *predicate, cst_error **error);

/* Sets whether an update request includes objects of subentities. Initially true. */
CST_EXPORT CST_ONE_THREAD cst_status cst_batch_update_set_includes_subentities(cst_batch_request *request,
                                                                               bool includes, cst_error **error);

/* Sets the new value of an attribute, by its name, or of an element of a composite attribute, by its path. `value` is
 * the new value, which is copied, or a CST_EXPRESSION that is computed from the row before the update. */
CST_EXPORT CST_ONE_THREAD cst_status cst_batch_update_set(cst_batch_request *request, cst_string property,
                                                          const cst_value *value, cst_error **error);

/* Creates a request that deletes the objects of a fetch request.
 *
 * The order, limit and offset of the fetch request apply. Objects are deleted in the stores that both requests select.
 * The fetch request is retained, and read by each execution. Delete rules are applied: cascade deletes further objects,
 * nullify removes references to deleted ones, deny fails with code 1600. */
CST_EXPORT CST_ONE_THREAD cst_status cst_batch_delete_new(cst_fetch_request *request,
                                                          cst_batch_request **out_request CST_OWNED, cst_error **error);

/* Creates a request that deletes the objects with these IDs, all of one entity. Missing rows are ignored. */
CST_EXPORT CST_ONE_THREAD cst_status cst_batch_delete_new_with_ids(size_t count, cst_object_id *const *ids,
                                                                   cst_batch_request **out_request CST_OWNED,
                                                                   cst_error **error);

/* Sets the stores that a batch request changes. NULL, the initial value, selects all stores that have the entity. With
 * another pointer and a count of 0, the request has no effect. Rows are inserted into the first writable store. */
CST_EXPORT CST_ONE_THREAD cst_status cst_batch_set_stores(cst_batch_request *request, size_t count,
                                                          cst_store *const *stores, cst_error **error);

/* Sets whether contexts merge the changes of the request. Initially true. */
CST_EXPORT CST_ONE_THREAD cst_status cst_batch_set_merges(cst_batch_request *request, bool merges, cst_error **error);

/* Executes a batch request. `out_count` receives the number of inserted, updated or deleted rows, and `out_ids` their
 * IDs. Both may be NULL. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_execute_batch(cst_context *context, const cst_batch_request *request,
                                                             uint64_t *out_count, cst_results **out_ids CST_OWNED,
                                                             cst_error **error);

/* The effects of a batch request on a row. */
enum {
    CST_BATCH_INSERTED = 1,
    CST_BATCH_UPDATED = 2,
    CST_BATCH_DELETED = 3,  /* including rows deleted by delete rules or by a unique constraint */
    CST_BATCH_REFRESHED = 4 /* changed indirectly: it referred to a deleted row, or has derived attributes */
};

/* Returns the IDs of the rows that the last execution with `out_ids` inserted, updated, deleted or changed indirectly.
 * `change` is a CST_BATCH_ constant. Pass the IDs to cst_context_merge_changes, those of refreshed rows as updated. The
 * list is empty before the first execution. Call the function with the context that executed the request. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_copy_batch_ids(cst_context *context, const cst_batch_request *request,
                                                              uint32_t change, cst_results **out_ids CST_OWNED,
                                                              cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
