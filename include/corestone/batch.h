/* corestone/batch.h: changes of many rows in the store
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_BATCH_H
#define CORESTONE_BATCH_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ======== batch ========================================================================================== */
/* Changes of many rows, made in the store and past all objects: without hooks, validators and the model's validation rules. All
 * or nothing in each store. Other contexts' saves of the rows meet a conflict; contexts of the coordinator merge what changed
 * (CST_OPTION_MERGES_BATCHES). A request may be executed any number of times. */

/* Inserts objects of an entity. What a row does not name gets its default; relationships cannot be set. Where values that have to
 * be unique are taken, the context's merge policy decides: CST_MERGE_ERROR fails with code 133021, CST_MERGE_OBJECT_TRUMP
 * gives the row that has them what this one names, CST_MERGE_OVERWRITE all that this one has, the others leave it. Further rows
 * that have some of them, and rows of other entities, are deleted, as by a save. */
CST_EXPORT CST_ONE_THREAD cst_status cst_batch_insert_new(const cst_entity *entity,
                                                          cst_batch_request **out_request CST_OWNED, cst_error **error);
/* The rows, row by row; they are copied. These four replace what was set before. */
CST_EXPORT CST_ONE_THREAD cst_status cst_batch_insert_set_rows(cst_batch_request *request, size_t rows, size_t columns,
                                                               const cst_key *keys, const cst_value *values,
                                                               cst_error **error);
enum {
    CST_COLUMN_INT64 = 1,  /* int64_t: integers, booleans */
    CST_COLUMN_INT32 = 2,  /* int32_t */
    CST_COLUMN_DOUBLE = 3, /* double: floating-point numbers, dates */
    CST_COLUMN_STRING = 4, /* cst_string; a null string is no value */
    CST_COLUMN_BYTES = 5,  /* cst_bytes; NULL is no value */
    CST_COLUMN_UUID = 6,   /* 16 bytes each */
    CST_COLUMN_VALUE = 7   /* cst_value: anything */
};
/* One attribute of many rows. */
typedef struct cst_batch_column {
    cst_key key;
    uint32_t form;          /* CST_COLUMN_… */
    const void *values;     /* one for each row */
    const uint8_t *present; /* for each row 0 where there is no value; NULL: every row has one */
} cst_batch_column;
/* The rows, column by column: the fastest way. The columns are copied, the arrays that they point to are read when the request is
 * executed, and have to last as long. */
CST_EXPORT CST_ONE_THREAD cst_status cst_batch_insert_set_columns(cst_batch_request *request, size_t rows, size_t count,
                                                                  const cst_batch_column *columns, cst_error **error);
/* Fills the next rows: `values` has room for `capacity` of them, row by row in the order of the keys, all CST_DEFAULT; out_rows,
 * 0 at first, says how many it filled, 0 that there are no more. They have to last until the next call or the end of the request.
 * It runs within the transaction: it may read, but not save to that store. A failure ends the request, and nothing is written. */
typedef cst_status (*cst_batch_rows_fn)(void *userdata, size_t capacity, cst_value *values, size_t *out_rows,
                                        cst_error **error);
CST_EXPORT CST_ONE_THREAD cst_status cst_batch_insert_set_handler(cst_batch_request *request, size_t columns,
                                                                  const cst_key *keys, cst_batch_rows_fn fill,
                                                                  void *userdata, cst_destroy_fn destroy,
                                                                  cst_error **error);
/* Sets the next row on an object, always the same one, fresh each time and borrowed; out_stop says that there are no more, and
 * that what was set is left out. As above in all else. */
typedef cst_status (*cst_batch_object_fn)(void *userdata, cst_object *object, bool *out_stop, cst_error **error);
CST_EXPORT CST_ONE_THREAD cst_status cst_batch_insert_set_object_handler(cst_batch_request *request,
                                                                         cst_batch_object_fn fill, void *userdata,
                                                                         cst_destroy_fn destroy, cst_error **error);

/* Sets attributes of all objects of an entity that a predicate holds for. */
CST_EXPORT CST_ONE_THREAD cst_status cst_batch_update_new(const cst_entity *entity,
                                                          cst_batch_request **out_request CST_OWNED, cst_error **error);
/* NULL, as at first: every object. Retained. */
CST_EXPORT CST_ONE_THREAD cst_status cst_batch_update_set_predicate(cst_batch_request *request,
                                                                    cst_predicate *predicate, cst_error **error);
/* Objects of entities that inherit from the request's are included unless this says no. */
CST_EXPORT CST_ONE_THREAD cst_status cst_batch_update_set_includes_subentities(cst_batch_request *request,
                                                                               bool includes, cst_error **error);
/* What an attribute is set to, by its name or the path of an element of a composite one: a value, or a CST_EXPRESSION that is
 * computed from the row as it was. Copied. */
CST_EXPORT CST_ONE_THREAD cst_status cst_batch_update_set(cst_batch_request *request, cst_string property,
                                                          const cst_value *value, cst_error **error);

/* Deletes the objects that a fetch request finds, with its order, limit and offset, in the stores of both requests
 * together; retained. Delete rules hold: cascade takes objects along, nullify ends what leads to deleted ones, deny fails
 * with code 1600. */
CST_EXPORT CST_ONE_THREAD cst_status cst_batch_delete_new(cst_fetch_request *request,
                                                          cst_batch_request **out_request CST_OWNED, cst_error **error);
/* The same for objects by their IDs, of one entity; those whose rows are gone are left out. */
CST_EXPORT CST_ONE_THREAD cst_status cst_batch_delete_new_with_ids(size_t count, cst_object_id *const *ids,
                                                                   cst_batch_request **out_request CST_OWNED,
                                                                   cst_error **error);

/* Which stores to change; NULL, as at first: those that have the entity. With a count of 0 nothing is done, as a fetch of
 * no stores finds nothing. An insertion goes to the first that can be written. */
CST_EXPORT CST_ONE_THREAD cst_status cst_batch_set_stores(cst_batch_request *request, size_t count,
                                                          cst_store *const *stores, cst_error **error);
/* Contexts merge what the request changes, unless this says no. */
CST_EXPORT CST_ONE_THREAD cst_status cst_batch_set_merges(cst_batch_request *request, bool merges, cst_error **error);
/* Makes the change. out_count, how many rows were inserted or updated, or deleted by a deletion, and out_ids, their IDs, may be
 * NULL. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_execute_batch(cst_context *context, const cst_batch_request *request,
                                                             uint64_t *out_count, cst_results **out_ids CST_OWNED,
                                                             cst_error **error);
/* What became of a row. */
enum {
    CST_BATCH_INSERTED = 1,
    CST_BATCH_UPDATED = 2,
    CST_BATCH_DELETED = 3,  /* also what delete rules took along, or what made room for unique values */
    CST_BATCH_REFRESHED = 4 /* changed with others: led to a deleted row, or has derived attributes */
};
/* All that the last execution with `out_ids` changed, by what became of the rows: for cst_context_merge_changes, which takes
 * refreshed ones as updated. Nothing before. On the queue of the context that executed the request. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_copy_batch_ids(cst_context *context, const cst_batch_request *request,
                                                              uint32_t change, cst_results **out_ids CST_OWNED,
                                                              cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
