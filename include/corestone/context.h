/* corestone/context.h: contexts: fetching, inserting, deleting, saving.
 *
 * A context manages objects of a coordinator's stores. cst_context_fetch fetches objects, cst_context_insert creates
 * them, cst_context_delete deletes them, and cst_context_save writes all changes in one transaction for each store.
 * Unsaved changes are visible only in this context and its children; cst_context_rollback discards them.
 *
 * A context belongs to a queue, selected in cst_context_new, and is used only there: on the thread that created it, on
 * the main thread, or within cst_context_perform and cst_context_perform_and_wait. A call elsewhere fails with
 * CST_E_WRONG_THREAD. The caller owns the context and its objects; objects retain their context. To use an object on
 * another thread, pass its ID to that thread.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_CONTEXT_H
#define CORESTONE_CONTEXT_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The queue of a context: a CST_QUEUE_ constant. */
typedef int32_t cst_queue;

/* The queues of contexts. */
enum {
    CST_QUEUE_CALLER = 0,  /* confined to the thread that creates the context */
    CST_QUEUE_PRIVATE = 1, /* a queue of its own: use cst_context_perform and cst_context_perform_and_wait */
    CST_QUEUE_MAIN = 2     /* the main queue, see cst_main_queue_bind */
};

/* Creates a context of a coordinator. With CST_QUEUE_CALLER the context is confined to the calling thread. */
CST_EXPORT CST_ANY_THREAD cst_status cst_context_new(cst_coordinator *coordinator, cst_queue queue,
                                                     cst_context **out_context CST_OWNED, cst_error **error);

/* Runs on the queue of a context, which is borrowed for the call. To fail, it returns a negative status and may set
 * *error (cst_error_new_custom), which becomes the detail of CST_E_CALLBACK. */
typedef cst_status (*cst_context_perform_fn)(void *userdata, cst_context *context, cst_error **error);

/* Runs `body` later, on the queue of the context. A failure of `body` is ignored. Enqueued work retains the context.
 * Work that is still enqueued when the process exits does not run, and its `destroy` is not called: call
 * cst_context_perform_and_wait last to wait for it. */
CST_EXPORT CST_ANY_THREAD cst_status cst_context_perform(cst_context *context, cst_context_perform_fn body,
                                                         void *userdata, cst_destroy_fn destroy, cst_error **error);

/* Runs `body` on the queue of the context and waits for it. The call may be made within another perform. Pending
 * changes are processed when the outermost perform ends.
 *
 * CST_E_WRONG_THREAD (132000) if the wait would be a deadlock: the thread that holds the queue waits for a queue that
 * this thread holds.
 * CST_E_NO_MEMORY (132000) if all worker threads of queues are waiting (docs/reference/queue.md). */
CST_EXPORT CST_ANY_THREAD cst_status cst_context_perform_and_wait(cst_context *context, cst_context_perform_fn body,
                                                                  void *userdata, cst_error **error);

/* The time at which cst_context_schedule runs a body: a CST_SCHEDULE_ constant. */
typedef int32_t cst_schedule;

/* The times at which cst_context_schedule runs a body. */
enum {
    CST_SCHEDULE_IMMEDIATE = 0, /* immediately if the calling thread may use the context now, otherwise enqueued */
    CST_SCHEDULE_ENQUEUED = 1   /* after all work that is enqueued on the queue of the context */
};

/* Receives the outcome of a body and of processing the pending changes after it, on the queue of the context. The
 * status and the error are those that cst_context_perform_and_wait would return; the error is borrowed for the call.
 * The status is CST_E_INVALID_HANDLE if the context was closed first: the body did not run then, and the calling thread
 * must not use the context. */
typedef void (*cst_context_done_fn)(void *userdata, cst_context *context, cst_status status, const cst_error *error);

/* Runs `body` on the queue of the context, then `done`, which may be NULL, then `destroy`. With CST_SCHEDULE_IMMEDIATE
 * this may happen before the call returns. The status of `body` is passed to `done` only. */
CST_EXPORT CST_ANY_THREAD cst_status cst_context_schedule(cst_context *context, cst_schedule schedule,
                                                          cst_context_perform_fn body, cst_context_done_fn done,
                                                          void *userdata, cst_destroy_fn destroy, cst_error **error);

/* Waits for the queue of the context and reserves it for the calling thread.
 *
 * The reservation ends when cst_context_unlock has been called as often as this function. The thread may lock the queue
 * repeatedly. A lock that is acquired within a perform or a callback is released when the perform or callback returns,
 * at the latest, and every lock when its thread exits. This is Core Data's lock; cst_context_perform_and_wait has the
 * same effect and always releases the lock. Errors are those of cst_context_perform_and_wait. */
CST_EXPORT CST_ANY_THREAD cst_status cst_context_lock(cst_context *context, cst_error **error);

/* Reserves the queue of the context for the calling thread, without waiting. Returns CST_UNCHANGED if another thread
 * holds the queue, if work is enqueued there, or if the queue rejects work. Otherwise like cst_context_lock. */
CST_EXPORT CST_ANY_THREAD cst_status cst_context_try_lock(cst_context *context, cst_error **error);

/* Releases one lock of the context's queue. Releasing the last lock processes pending changes. Fails with code 132000
 * and CST_E_WRONG_THREAD if the thread does not hold a lock, and in a callback of a call that began under the lock. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_unlock(cst_context *context, cst_error **error);

/* Sets the source line at which the context was created, for messages, for example about calls on a wrong thread. A
 * null `file` removes the source line. */
CST_EXPORT CST_ANY_THREAD cst_status cst_context_set_origin(cst_context *context, cst_string file, uint32_t line,
                                                            cst_error **error);

/* Sets the current source line with cst_context_set_origin. */
#define CST_MADE_HERE(context) cst_context_set_origin((context), (cst_string){__FILE__, CST_NUL}, __LINE__, NULL)

/* Called every few milliseconds during a fetch, a count or a save of a context, on the thread of that call. If the
 * function returns true, the call fails with CST_E_CANCELLED. Stores that a save has already written stay
 * written; otherwise the call does not change anything. */
typedef bool (*cst_context_interrupt_fn)(void *userdata);

/* Sets the interrupt check of the context and replaces a former one; NULL removes it. `destroy` is called after the
 * last check. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_set_interrupt(cst_context *context, cst_context_interrupt_fn check,
                                                             void *userdata, cst_destroy_fn destroy, cst_error **error);

/* Registers an editor: a part of the program with changes that are not in the objects yet, such as a text field.
 *
 * `commit` applies the changes of the editor to the objects, `discard` discards them; both are called on the queue of
 * the context by cst_context_commit_editing and cst_context_discard_editing, and `discard` may be NULL. The status and
 * the error of `discard` are ignored. The editing ends when the observation is cancelled (cst_observation_cancel) or
 * released, which both functions may do, or with the context. A save does not commit editors. */
CST_EXPORT CST_ANY_THREAD cst_status cst_context_begin_editing(cst_context *context, cst_context_perform_fn commit,
                                                               cst_context_perform_fn discard, void *userdata,
                                                               cst_destroy_fn destroy,
                                                               cst_observation **out_editing CST_OWNED,
                                                               cst_error **error);

/* Makes every editor apply its changes, in the order of registration.
 *
 * Fails with the error of the first editor that fails (CST_E_CALLBACK); the editors before it have applied their
 * changes. Fails with CST_E_INVALID_ARGUMENT in a lifecycle hook. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_commit_editing(cst_context *context, cst_error **error);

/* Makes every editor discard its changes, in the order of registration. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_discard_editing(cst_context *context, cst_error **error);

/* Sets the name of the context, for messages and for the history of a store. A null string, the initial value,
 * removes the name. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_set_name(cst_context *context, cst_string name, cst_error **error);

/* Sets the author of the changes that the context saves, for the history of a store. A null string, the initial value,
 * removes the author. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_set_transaction_author(cst_context *context, cst_string author,
                                                                      cst_error **error);

/* Fills a buffer with the name of the context. Returns CST_NOT_FOUND if the context does not have a name. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_copy_name(const cst_context *context, cst_buffer *out_name,
                                                         cst_error **error);

/* Fills a buffer with the author of the changes that the context saves. Returns CST_NOT_FOUND if there is no author. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_copy_transaction_author(const cst_context *context,
                                                                       cst_buffer *out_author, cst_error **error);

/* Attaches data of the host to the context. `destroy` is called when other data replaces it and when the context is
 * deallocated.
 */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_set_user_info(cst_context *context, void *userdata,
                                                             cst_destroy_fn destroy, cst_error **error);

/* Returns the data of cst_context_set_user_info. Returns NULL if there is no data, if the call is not on the queue of
 * the context, for an invalid handle, and in a forked child. */
CST_EXPORT CST_ON_QUEUE void *cst_context_user_info(const cst_context *context);

/* Returns the coordinator of the context. */
CST_EXPORT CST_ANY_THREAD cst_status cst_context_coordinator(const cst_context *context,
                                                             cst_coordinator **out_coordinator CST_BORROWED,
                                                             cst_error **error);

/* Creates an object with the defaults of its entity, which must not be abstract. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_insert(cst_context *context, const cst_entity *entity,
                                                      cst_object **out_object CST_OWNED, cst_error **error);

/* Inserts `rows` objects with `columns` values each, row by row, or no object on failure. `keys` has `columns` keys,
 * `values` rows times columns values. `out_objects` may be NULL; otherwise it has room for `rows` handles, each owned.
 */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_insert_many(cst_context *context, const cst_entity *entity, size_t rows,
                                                           size_t columns, const cst_key *keys, const cst_value *values,
                                                           cst_object **out_objects CST_OWNED, cst_error **error);

/* Inserts an object that was created by cst_object_new. Returns CST_UNCHANGED if the object is already in this
 * context. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_insert_object(cst_context *context, cst_object *object,
                                                             cst_error **error);

/* Marks an object for deletion. Delete rules are applied when pending changes are processed. An object that was never
 * saved is detached from the context. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_delete(cst_context *context, cst_object *object, cst_error **error);

/* Whether the context has inserted, changed or deleted objects that are not saved. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_has_changes(const cst_context *context, bool *out_changes,
                                                           cst_error **error);

/* Whether a save would write anything: changes of transient properties alone do not count. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_has_persistent_changes(const cst_context *context, bool *out_changes,
                                                                      cst_error **error);

/* Processes the pending changes of the context, and ends the event. Applies delete rules, unless the context applies
 * them only in a save (CST_OPTION_DELETES_AT_END_OF_EVENT). The library processes pending changes automatically at the
 * end of a perform and before a save, a count and a fetch. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_process_pending_changes(cst_context *context, cst_error **error);

/* Validates and writes all changes of the context, in one transaction for each store. The save of a child passes the
 * changes to its parent instead. If there are several failures, CST_E_VALIDATION and CST_E_CONFLICT have a detail for
 * each. After a failure nothing is written, except to stores that were already written (below), and the changes are
 * still pending. The merge policy of the context resolves conflicts (merging.h).
 *
 * An object whose properties were set to their former values is not written: its version, derived values and history do
 * not change. If the row changed in the store meanwhile, the save finds a conflict.
 *
 * If a store fails after other stores were written, the error has CST_CODE_PERSISTENT_STORE_INCOMPLETE_SAVE and a
 * detail for each store. A detail has the file of the store and, as its own details, the first objects. Its status is
 * CST_OK if the store was written, and CST_UNCHANGED if its objects are still pending. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_save(cst_context *context, cst_error **error);

/* Checks all changes that a save would write, without writing. Fails with CST_E_VALIDATION like cst_context_save.
 * Values that must be unique are compared among new and changed objects
 * (CST_CODE_MANAGED_OBJECT_CONSTRAINT_VALIDATION); only a save also compares them with the rows of the store. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_validate(cst_context *context, cst_error **error);

/* Discards all unsaved changes of the context. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_rollback(cst_context *context, cst_error **error);

/* Detaches all objects of the context and discards unsaved changes. From then on, calls with the handles of the objects
 * fail with CST_E_OBJECT_GONE. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_reset(cst_context *context, cst_error **error);

/* Closes a context and its children. Calls with their objects fail with CST_E_OBJECT_GONE, other calls with
 * CST_E_INVALID_HANDLE. The handle must still be released. `unsaved` is a CST_UNSAVED_ constant. With
 * CST_UNSAVED_REFUSE, the call closes nothing and fails with CST_E_UNSAVED_CHANGES if there are unsaved changes. The
 * error has counts by entity and a detail for each context. The save of a child passes its changes to its parent. Waits
 * for the queues. Fails with CST_E_INVALID_ARGUMENT within a hook, and on the context's own queue while other work is
 * enqueued there. Closing twice is allowed.
 *
 * The view context of a container and the context of a document stay open: they are closed with the container or
 * document. The call then handles unsaved changes and returns CST_UNCHANGED. The same applies to a context that only
 * another thread can use (CST_QUEUE_CALLER, CST_QUEUE_MAIN), if it has no changes or `unsaved` is CST_UNSAVED_DISCARD:
 * it is deallocated with its last handle. */
CST_EXPORT CST_ANY_THREAD cst_status cst_context_close(cst_context *context, uint32_t unsaved, cst_error **error);

/* The kinds of objects that cst_context_copy_changed returns. */
enum { CST_CHANGED_INSERTED = 1, CST_CHANGED_UPDATED = 2, CST_CHANGED_DELETED = 3, CST_CHANGED_REGISTERED = 4 };

/* Returns the objects that the next save would insert, update or delete, or all registered objects.
 *
 * `which` is a CST_CHANGED_ constant. CST_CHANGED_REGISTERED selects all registered objects. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_copy_changed(const cst_context *context, uint32_t which,
                                                            cst_results **out_results CST_OWNED, cst_error **error);

/* Returns the number of objects that cst_context_copy_changed returns. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_changed_count(const cst_context *context, uint32_t which,
                                                             uint64_t *out_count, cst_error **error);

/* The types of results of a request. The values are Core Data's. */
enum { CST_RESULT_OBJECTS = 0, CST_RESULT_OBJECT_IDS = 1, CST_RESULT_DICTIONARIES = 2, CST_RESULT_COUNT = 4 };

/* The result of a request of any kind. The caller owns `value` and releases it. */
typedef struct cst_request_result {
    uint32_t type; /* CST_RESULT_… */
    uint32_t reserved;
    uint64_t count; /* the number of results */
    void *value;    /* owned: cst_results of objects or IDs, cst_rows of dictionaries; NULL for a count */
} cst_request_result;

/* The types of requests. The values are Core Data's. */
enum {
    CST_REQUEST_FETCH = 1,
    CST_REQUEST_SAVE = 2, /* the request that a save passes to stores; a context does not execute it */
    CST_REQUEST_BATCH_INSERT = 5,
    CST_REQUEST_BATCH_UPDATE = 6,
    CST_REQUEST_BATCH_DELETE = 7
};

/* Returns the type of a request of any kind, a CST_REQUEST_ constant.
 *
 * Fails with CST_E_INVALID_HANDLE and code 134091 for a handle of another type. */
CST_EXPORT CST_ONE_THREAD cst_status cst_request_type(const void *request, uint32_t *out_type, cst_error **error);

/* Executes a request of any kind, for example a cst_fetch_request, and returns a result of the request's result type. A
 * request for objects with a batch size returns lazy results, which read their rows on demand (results.h). Fails with
 * CST_E_INVALID_HANDLE and code 134091 for a handle of another type. The request is read during the call only. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_execute(cst_context *context, const void *request,
                                                       cst_request_result *out_result CST_OWNED, cst_error **error);

/* Returns the objects of a request, in its order. Unsaved changes are included unless the request excludes them. Fails
 * with CST_E_UNSUPPORTED if the result type of the request is not CST_RESULT_OBJECTS. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_fetch(cst_context *context, const cst_fetch_request *request,
                                                     cst_results **out_results CST_OWNED, cst_error **error);

/* Returns the IDs of the objects of a request, without creating the objects. Read the IDs with cst_results_copy_id. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_fetch_ids(cst_context *context, const cst_fetch_request *request,
                                                         cst_results **out_results CST_OWNED, cst_error **error);

/* Creates a cursor over the objects of a request, in its order. Objects are read in batches of at most `batch_size` (0:
 * the batch size of the request), so that the memory does not grow with the number of objects; docs/reference/cursor.md
 * lists the exceptions. The request is read during the call only. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_fetch_cursor(cst_context *context, const cst_fetch_request *request,
                                                            size_t batch_size, cst_cursor **out_cursor CST_OWNED,
                                                            cst_error **error);

/* Returns the number of objects that a fetch would return, within its limit and offset. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_count(cst_context *context, const cst_fetch_request *request,
                                                     uint64_t *out_count, cst_error **error);

/* The forms of an explanation. */
enum {
    CST_EXPLAIN_TEXT = 0,
    CST_EXPLAIN_JSON = 1,
    CST_EXPLAIN_ROWS = 2 /* together with another constant: explains a fetch of rows, regardless of the result type */
};

/* Fills a buffer with an explanation of a fetch, without executing it. `form` is a CST_EXPLAIN_ constant: lines of
 * text, or JSON. The keys are "entity", "predicate", "pendingObjects" (objects with unsaved changes, matched in memory)
 * and "shares", one for each store. A share has "path", "sql" (empty if the store is not a database), "bindings",
 * "steps" (the query plan: "detail", "depth") and "indexes". Its "remainder" (a predicate), "isSortedInMemory" and
 * "reasons" describe the part that is done in memory. Fails with the errors of the fetch that precede the first row. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_explain(cst_context *context, const cst_fetch_request *request,
                                                       uint32_t form, cst_buffer *out_explanation, cst_error **error);

/* Returns values of the columns of a request instead of objects, without the unsaved changes of the context. Fails with
 * CST_E_INVALID_ARGUMENT for a property or expression that cannot be a column; the error names the property or
 * expression. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_fetch_rows(cst_context *context, const cst_fetch_request *request,
                                                          cst_rows **out_rows CST_OWNED, cst_error **error);

/* The functions of cst_context_aggregate. */
enum {
    CST_AGGREGATE_COUNT = 1,
    CST_AGGREGATE_SUM = 2,
    CST_AGGREGATE_AVERAGE = 3,
    CST_AGGREGATE_MINIMUM = 4,
    CST_AGGREGATE_MAXIMUM = 5,
    CST_AGGREGATE_MEDIAN = 6,
    CST_AGGREGATE_DEVIATION = 7
};

/* Computes a value over the objects of a request, as one row, or one row for each group. Without groups
 * (cst_fetch_request_set_group_by), the row has one column, the value; with groups, it has the grouping columns and the
 * value. `aggregate` is a CST_AGGREGATE_ constant. The name of the value's column is its expression, for example
 * "sum:(salary)"; a sort descriptor may name it. `key` is a key path, possibly with a collection operator
 * ("projects.@count"), or an expression; a null string counts objects. Nulls are ignored. docs/reference/rows.md lists
 * the types of the values. Fails with CST_E_INVALID_ARGUMENT for a key whose values the function cannot aggregate. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_aggregate(cst_context *context, const cst_fetch_request *request,
                                                         uint32_t aggregate, cst_string key,
                                                         cst_rows **out_rows CST_OWNED, cst_error **error);

/* Returns the object with an ID, as a fault if the object is not registered in the context. Never reads the store, so
 * the row need not exist. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_object_with_id(cst_context *context, const cst_object_id *id,
                                                              cst_object **out_object CST_OWNED, cst_error **error);

/* Returns the object with an ID, with its values loaded. Fails with CST_E_OBJECT_GONE (code 133000) if the store does
 * not have the row. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_existing_object(cst_context *context, const cst_object_id *id,
                                                               cst_object **out_object CST_OWNED, cst_error **error);

/* Returns the object with an ID, if the object is registered in the context. Returns CST_NOT_FOUND for an object that
 * is not registered. Never reads the store. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_registered_object(cst_context *context, const cst_object_id *id,
                                                                 cst_object **out_object CST_OWNED, cst_error **error);

/* Selects the store into which an inserted object is saved, instead of the first suitable one. Fails with
 * CST_E_INVALID_ARGUMENT for an object that was saved or has a permanent ID, for a store of another coordinator, and
 * for a store whose configuration does not have the object's entity. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_assign(cst_context *context, cst_object *object, cst_store *store,
                                                      cst_error **error);

/* Assigns permanent IDs to inserted objects before their save. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_obtain_permanent_ids(cst_context *context, size_t count,
                                                                    cst_object *const *objects, cst_error **error);

/* Turns every object without changes into a fault, so that the next access reads the newest state of the store.
 * Objects with changes receive the newest state and keep their changes. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_refresh_all(cst_context *context, cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
