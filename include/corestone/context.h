/* corestone/context.h: contexts: fetching, inserting, saving
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_CONTEXT_H
#define CORESTONE_CONTEXT_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ======== context ======================================================================================== */

typedef int32_t cst_queue;
enum {
    CST_QUEUE_CALLER = 0,  /* confined to the thread that made it */
    CST_QUEUE_PRIVATE = 1, /* a queue of its own: use cst_context_perform and cst_context_perform_and_wait */
    CST_QUEUE_MAIN = 2     /* the main queue, see cst_main_queue_bind */
};

/* A context on top of a coordinator. CST_QUEUE_CALLER: the calling thread owns it from now on. */
CST_EXPORT CST_ANY_THREAD cst_status cst_context_new(cst_coordinator *coordinator, cst_queue queue,
                                                     cst_context **out_context CST_OWNED, cst_error **error);

/* Runs on the context's queue. The context is borrowed for the call. To fail, return a status below 0 and, if you like,
 * set *error (cst_error_new_custom): it comes back as the detail of CST_E_CALLBACK. */
typedef cst_status (*cst_context_perform_fn)(void *userdata, cst_context *context, cst_error **error);
/* Runs body on the context's queue, later. A failure of body is dropped. What waits keeps the context; what waits when the
 * process exits does not run, and its destroy neither: to see it done, end with a cst_context_perform_and_wait. */
CST_EXPORT CST_ANY_THREAD cst_status cst_context_perform(cst_context *context, cst_context_perform_fn body,
                                                         void *userdata, cst_destroy_fn destroy, cst_error **error);
/* Runs body on the context's queue and waits for it; may be called from within. Pending changes are processed when the
 * outermost one ends. Code 132000, with CST_E_WRONG_THREAD, when the wait would never end: the thread that has the queue waits
 * for a queue that this one has; with CST_E_NO_MEMORY, when all threads that work for queues wait already, see
 * docs/reference/queue.md. */
CST_EXPORT CST_ANY_THREAD cst_status cst_context_perform_and_wait(cst_context *context, cst_context_perform_fn body,
                                                                  void *userdata, cst_error **error);
/* When cst_context_schedule runs a body. */
typedef int32_t cst_schedule;
enum {
    CST_SCHEDULE_IMMEDIATE = 0, /* at once when the calling thread may use the context now, else as the other one */
    CST_SCHEDULE_ENQUEUED = 1   /* when all has run that waits on the context's queue */
};
/* Told, on the context's queue, what became of a body and of processing the pending changes after it: CST_OK, or the status
 * and the error that cst_context_perform_and_wait would give. The error is borrowed for the call. CST_E_INVALID_HANDLE when the
 * context was closed before the body had its turn: body does not run then, and the calling thread may not use the context. */
typedef void (*cst_context_done_fn)(void *userdata, cst_context *context, cst_status status, const cst_error *error);
/* Runs body on the context's queue, then done, which may be NULL, then destroy. With CST_SCHEDULE_IMMEDIATE that may be before
 * it returns; what body answers is told to done alone. */
CST_EXPORT CST_ANY_THREAD cst_status cst_context_schedule(cst_context *context, cst_schedule schedule,
                                                          cst_context_perform_fn body, cst_context_done_fn done,
                                                          void *userdata, cst_destroy_fn destroy, cst_error **error);
/* Takes the context's queue for the calling thread, waiting for it, until as many cst_context_unlock. May be called from within;
 * a lock within a perform, or a callback, ends with that at the latest, and with its thread. For Core Data's lock, unlock and
 * tryLock; cst_context_perform_and_wait does the same and cannot be left open. Errors as there. */
CST_EXPORT CST_ANY_THREAD cst_status cst_context_lock(cst_context *context, cst_error **error);
/* The same without waiting: CST_UNCHANGED when another thread has the queue, or work waits there. */
CST_EXPORT CST_ANY_THREAD cst_status cst_context_try_lock(cst_context *context, cst_error **error);
/* Ends one lock; the last one processes pending changes. Code 132000, with CST_E_WRONG_THREAD, without a lock to end, and in a
 * callback of a call that began under the lock. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_unlock(cst_context *context, cst_error **error);
/* Says where the program makes the context: a call on the wrong thread is told. A NULL file takes it back. */
CST_EXPORT CST_ANY_THREAD cst_status cst_context_set_origin(cst_context *context, cst_string file, uint32_t line,
                                                            cst_error **error);
#define CST_MADE_HERE(context) cst_context_set_origin((context), (cst_string){__FILE__, CST_NUL}, __LINE__, NULL)
/* Called every few milliseconds while a fetch, a count or a save of this context runs, on its thread; true stops it with
 * CST_E_CANCELLED, and nothing has changed. NULL takes the check away. */
typedef bool (*cst_context_interrupt_fn)(void *userdata);
CST_EXPORT CST_ON_QUEUE cst_status cst_context_set_interrupt(cst_context *context, cst_context_interrupt_fn check,
                                                             void *userdata, cst_destroy_fn destroy, cst_error **error);
/* The name of the context and of who changes what it saves, for the history of a store that keeps one; null strings for
 * none, as at first. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_set_name(cst_context *context, cst_string name, cst_error **error);
CST_EXPORT CST_ON_QUEUE cst_status cst_context_set_transaction_author(cst_context *context, cst_string author,
                                                                      cst_error **error);
/* The same; CST_NOT_FOUND when there is none. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_copy_name(const cst_context *context, cst_buffer *out_name,
                                                         cst_error **error);
CST_EXPORT CST_ON_QUEUE cst_status cst_context_copy_transaction_author(const cst_context *context,
                                                                       cst_buffer *out_author, cst_error **error);
/* Something of the host's to have at hand with the context; NULL at first. `destroy` is called when another takes its place and
 * when the context ends. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_set_user_info(cst_context *context, void *userdata,
                                                             cst_destroy_fn destroy, cst_error **error);
/* NULL too off the queue of the context, and for what is no context. */
CST_EXPORT CST_ON_QUEUE void *cst_context_user_info(const cst_context *context);
CST_EXPORT CST_ANY_THREAD cst_status cst_context_coordinator(const cst_context *context,
                                                             cst_coordinator **out_coordinator CST_BORROWED,
                                                             cst_error **error);

/* A new object with the defaults of its entity, which must not be abstract. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_insert(cst_context *context, const cst_entity *entity,
                                                      cst_object **out_object CST_OWNED, cst_error **error);
/* Inserts `rows` objects with `columns` values each (row-major); all or nothing. out_objects may be NULL, else it has
 * room for `rows` handles, each owned. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_insert_many(cst_context *context, const cst_entity *entity, size_t rows,
                                                           size_t columns, const cst_key *keys, const cst_value *values,
                                                           cst_object **out_objects CST_OWNED, cst_error **error);
/* Inserts an object that cst_object_new made. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_insert_object(cst_context *context, cst_object *object,
                                                             cst_error **error);
/* Marks an object for deletion; delete rules are applied when pending changes are processed. An object that was never
 * saved is forgotten. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_delete(cst_context *context, cst_object *object, cst_error **error);
CST_EXPORT CST_ON_QUEUE cst_status cst_context_has_changes(const cst_context *context, bool *out_changes,
                                                           cst_error **error);
/* Whether a save would write anything: changes of transient properties alone do not count. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_has_persistent_changes(const cst_context *context, bool *out_changes,
                                                                      cst_error **error);
/* Ends an event: applies delete rules, unless the context leaves them to the save (CST_OPTION_DELETES_AT_END_OF_EVENT). Done by
 * itself at the end of a perform and before save, count and fetch. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_process_pending_changes(cst_context *context, cst_error **error);
/* Validates, then writes all changes, in one transaction for each store. CST_E_VALIDATION and CST_E_CONFLICT carry the
 * failures as details; after a failure nothing was written and the changes are still pending. Conflicts are settled as the
 * context's merge policy says, see section merging. Where a store fails after others were written, the error has
 * CST_CODE_PERSISTENT_STORE_INCOMPLETE_SAVE and a detail for each store, with its file and, as details, its first objects:
 * status CST_OK where it is written, CST_UNCHANGED where its objects are pending. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_save(cst_context *context, cst_error **error);
/* Checks all that a save would write, and writes nothing: CST_E_VALIDATION as cst_context_save. New and changed objects that
 * have values twice which must be unique are found too (CST_CODE_MANAGED_OBJECT_CONSTRAINT_VALIDATION); what another row of the
 * store has already, the save finds. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_validate(cst_context *context, cst_error **error);
/* Drops every change that was not saved. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_rollback(cst_context *context, cst_error **error);
/* Forgets every object; handles to them are CST_E_OBJECT_GONE from now on. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_reset(cst_context *context, cst_error **error);
/* Closes a context, and those on top of it: their objects are CST_E_OBJECT_GONE, and every other call is CST_E_INVALID_HANDLE.
 * The handle is released as ever. `unsaved` is a CST_UNSAVED_ constant: refused, unsaved changes are CST_E_UNSAVED_CHANGES with
 * counts by entity and a detail for each context, and nothing is closed; a save of a context on top of another one hands them
 * to that. Waits for the queues; CST_E_INVALID_ARGUMENT within a hook, and on the context's own queue while other work waits
 * there. Closing twice is fine. CST_UNCHANGED, and the context stays open, for the view context of a container and the context of a
 * document, which are closed with these, when `unsaved` is done; and for one that is confined to another thread, and has no
 * changes or may lose them: it ends with its last handle. */
CST_EXPORT CST_ANY_THREAD cst_status cst_context_close(cst_context *context, uint32_t unsaved, cst_error **error);

enum { CST_CHANGED_INSERTED = 1, CST_CHANGED_UPDATED = 2, CST_CHANGED_DELETED = 3, CST_CHANGED_REGISTERED = 4 };
/* The objects that the next save would insert, update or delete, or all that the context knows. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_copy_changed(const cst_context *context, uint32_t which,
                                                            cst_results **out_results CST_OWNED, cst_error **error);
/* How many they are. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_changed_count(const cst_context *context, uint32_t which,
                                                             uint64_t *out_count, cst_error **error);

/* What a request gives that cst_context_execute carries out; Core Data's values. */
enum { CST_RESULT_OBJECTS = 0, CST_RESULT_OBJECT_IDS = 1, CST_RESULT_DICTIONARIES = 2, CST_RESULT_COUNT = 4 };
typedef struct cst_request_result {
    uint32_t type; /* CST_RESULT_… */
    uint32_t reserved;
    uint64_t count; /* how many there are */
    void *value;    /* owned: cst_results of objects or IDs, cst_rows of dictionaries; NULL for a count alone */
} cst_request_result;
/* Carries out a request of any kind, a cst_fetch_request among them, and gives what its result type asks for. Objects of a
 * request with a batch size come as results that read their rows when they are asked for (see results). A handle of another
 * type has the code 134091 beside CST_E_INVALID_HANDLE. The request is read during the call only. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_execute(cst_context *context, const void *request,
                                                       cst_request_result *out_result CST_OWNED, cst_error **error);
/* The objects that a request asks for, in its order. Pending changes count (see cst_fetch_request_…). CST_E_UNSUPPORTED for a
 * request whose result type asks for something else. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_fetch(cst_context *context, const cst_fetch_request *request,
                                                     cst_results **out_results CST_OWNED, cst_error **error);
/* The same as IDs only: no object is made; read them with cst_results_copy_id. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_fetch_ids(cst_context *context, const cst_fetch_request *request,
                                                         cst_results **out_results CST_OWNED, cst_error **error);
/* A cursor over what a request asks for, in its order: objects come in batches of at most `batch_size` (0: the batch size of the
 * request), so that memory does not grow with their number (docs/reference/cursor.md says when
 * it does). The request is read during the call only. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_fetch_cursor(cst_context *context, const cst_fetch_request *request,
                                                            size_t batch_size, cst_cursor **out_cursor CST_OWNED,
                                                            cst_error **error);
/* How many objects a fetch would give, limit and offset included. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_count(cst_context *context, const cst_fetch_request *request,
                                                     uint64_t *out_count, cst_error **error);
/* How a fetch would be answered, without answering it: "entity", "predicate", "pendingObjects" (with unsaved changes,
 * matched in memory) and "shares", one for each store, with "path", "sql" (empty where the store is no database),
 * "bindings", "steps" (the store's plan: "detail", "depth"), "indexes", and what is left to memory: "remainder" (a
 * predicate), "isSortedInMemory", "reasons". As JSON, or as lines for people. Throws what the fetch would before it reads a
 * row. */
enum {
    CST_EXPLAIN_TEXT = 0,
    CST_EXPLAIN_JSON = 1,
    CST_EXPLAIN_ROWS = 2 /* beside one of these: how rows would be fetched, whatever the result type says */
};
CST_EXPORT CST_ON_QUEUE cst_status cst_context_explain(cst_context *context, const cst_fetch_request *request,
                                                       uint32_t form, cst_buffer *out_explanation, cst_error **error);
/* Values of the request's columns instead of objects, of what is saved. CST_E_INVALID_ARGUMENT names a column that cannot
 * be one. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_fetch_rows(cst_context *context, const cst_fetch_request *request,
                                                          cst_rows **out_rows CST_OWNED, cst_error **error);
/* One value that is computed of many: over what the request finds one row of one column, with groups (see
 * cst_fetch_request_set_group_by) one row for each, its columns what is grouped by and then the value. The name of that
 * column is how its expression is written, "sum:(salary)"; a sort descriptor may name it. `key` is a key path, also with an
 * operator on a collection ("projects.@count"), or an expression; a null string counts objects. Nulls are left out;
 * docs/reference/rows.md says of which type the values are. CST_E_INVALID_ARGUMENT for a key that has no such value. */
enum {
    CST_AGGREGATE_COUNT = 1,
    CST_AGGREGATE_SUM = 2,
    CST_AGGREGATE_AVERAGE = 3,
    CST_AGGREGATE_MINIMUM = 4,
    CST_AGGREGATE_MAXIMUM = 5,
    CST_AGGREGATE_MEDIAN = 6,
    CST_AGGREGATE_DEVIATION = 7
};
CST_EXPORT CST_ON_QUEUE cst_status cst_context_aggregate(cst_context *context, const cst_fetch_request *request,
                                                         uint32_t aggregate, cst_string key,
                                                         cst_rows **out_rows CST_OWNED, cst_error **error);
/* The object of an ID, as a fault when it is not known; never touches the store, so the row may not exist. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_object_with_id(cst_context *context, const cst_object_id *id,
                                                              cst_object **out_object CST_OWNED, cst_error **error);
/* The object of an ID with its values; CST_E_OBJECT_GONE (133000) when the store has no such row. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_existing_object(cst_context *context, const cst_object_id *id,
                                                               cst_object **out_object CST_OWNED, cst_error **error);
/* The object of an ID if the context already knows it, else CST_NOT_FOUND. Never touches the store. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_registered_object(cst_context *context, const cst_object_id *id,
                                                                 cst_object **out_object CST_OWNED, cst_error **error);
/* Says which store an inserted object is to be saved into, instead of the first that takes it. CST_E_INVALID_ARGUMENT for an
 * object that was saved or has a permanent ID, for a store of another coordinator, and for one whose configuration lacks the
 * object's entity. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_assign(cst_context *context, cst_object *object, cst_store *store,
                                                      cst_error **error);
/* Gives inserted objects their final IDs before the save. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_obtain_permanent_ids(cst_context *context, size_t count,
                                                                    cst_object *const *objects, cst_error **error);
/* Turns every object without changes into a fault, so that the next access reads the store's newest state; objects with
 * changes get the newest state under their changes. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_refresh_all(cst_context *context, cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
