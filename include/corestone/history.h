/* corestone/history.h: persistent history: the change log of stores.
 *
 * A store that is opened with CST_STORE_HISTORY records each save, batch request and migration as a transaction, in the
 * tables of Apple's framework. Histories that Apple's framework wrote can be read too. A reader stores a history token,
 * the position up to which it has read, and passes the token to its next read. cst_coordinator_fetch_history returns a
 * cursor over the transactions after a token or a date, cst_context_merge_history merges a transaction into a context,
 * and cst_coordinator_delete_history deletes transactions that readers no longer need.
 *
 * The functions may be called on any thread; a cursor is used by one thread at a time. The caller owns tokens and
 * cursors.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_HISTORY_H
#define CORESTONE_HISTORY_H

#include "fetch.h"
#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ======== tokens ========================================================================================= */

/* Creates a token for the current state of the stores.
 *
 * The token is the position after the last transaction of each store with a history. A `count` of 0 selects all stores
 * of the coordinator. Returns CST_NOT_FOUND if no store has a history. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_copy_history_token(cst_coordinator *coordinator, size_t count,
                                                                        cst_store *const *stores,
                                                                        cst_history_token **out_token CST_OWNED,
                                                                        cst_error **error);

/* Creates a token from the text that cst_history_token_copy_json returned, perhaps in another process. */
CST_EXPORT CST_ANY_THREAD cst_status cst_history_token_new(cst_string json, cst_history_token **out_token CST_OWNED,
                                                           cst_error **error);

/* Creates a token for the position after a transaction of one store. The store is identified by its UUID; transaction 0
 * is the beginning of its history. */
CST_EXPORT CST_ANY_THREAD cst_status cst_history_token_new_at(cst_string store_identifier, int64_t transaction,
                                                              cst_history_token **out_token CST_OWNED,
                                                              cst_error **error);

/* Fills a buffer with a history token as JSON text, which can be stored in a file. */
CST_EXPORT CST_ANY_THREAD cst_status cst_history_token_copy_json(const cst_history_token *token, cst_buffer *out_json,
                                                                 cst_error **error);

/* Returns the number of the last transaction of a store before the position of a token, 0 before the first one. Returns
 * CST_NOT_FOUND for a store that is not in the token. */
CST_EXPORT CST_ANY_THREAD cst_status cst_history_token_transaction(const cst_history_token *token,
                                                                   cst_string store_identifier,
                                                                   int64_t *out_transaction, cst_error **error);

/* Compares the positions of two history tokens.
 *
 * *out_order receives -1 if `a` is at an earlier position, 0 if the positions are equal, 1 if `a` is at a later
 * position. Returns CST_NOT_FOUND if the tokens cannot be ordered, because one store is at an earlier position and
 * another at a later one. A store that is missing from a token counts as being at the beginning of its history. */
CST_EXPORT CST_ANY_THREAD cst_status cst_history_token_compare(const cst_history_token *a, const cst_history_token *b,
                                                               int32_t *out_order, cst_error **error);

/* Creates the token of the last transaction that the context wrote by a save or a batch request. In an observer of
 * CST_NOTIFICATION_DID_SAVE, the token is that of the reported save. Returns CST_NOT_FOUND if the context did not write
 * a transaction. */
CST_EXPORT CST_ANY_THREAD cst_status cst_context_copy_history_token(cst_context *context,
                                                                    cst_history_token **out_token CST_OWNED,
                                                                    cst_error **error);

/* ======== transactions =================================================================================== */

/* The kinds of changes. */
enum { CST_HISTORY_INSERT = 0, CST_HISTORY_UPDATE = 1, CST_HISTORY_DELETE = 2 };

/* One object that a transaction changed. */
typedef struct cst_history_change {
    int64_t number;                    /* of the change; ascends */
    uint32_t kind;                     /* CST_HISTORY_INSERT, … */
    uint32_t reserved;                 /* 0 */
    cst_entity *entity;                /* of the object */
    int64_t primary_key;               /* of the object, which may no longer exist */
    size_t property_count;             /* of an update */
    const cst_string *properties;      /* the names of the changed properties */
    size_t tombstone_count;            /* of a deletion */
    const cst_string *tombstone_keys;  /* the attributes that the model preserves (CST_PROPERTY_PRESERVED) */
    const cst_value *tombstone_values; /* their values; nil values are left out */
} cst_history_change;

/* One transaction. Text that is not set is a null string. */
typedef struct cst_history_transaction {
    int64_t number;                    /* ascends within a store */
    double timestamp;                  /* seconds since 2001-01-01 00:00:00 UTC */
    cst_string store_identifier;       /* the UUID of the store */
    cst_string author;                 /* cst_context_set_transaction_author */
    cst_string context_name;           /* cst_context_set_name */
    cst_string bundle_identifier;      /* the bundle identifier of an application, or the name of a program */
    cst_string process_identifier;     /* the name of the process */
    size_t change_count;               /* 0 with `omits_changes` */
    const cst_history_change *changes; /* in the order in which they were recorded */
} cst_history_transaction;

/* The subjects of predicates and sort descriptors. The keys of transactions are author, bundleID, contextName,
 * processID, storeID, timestamp, token, transactionNumber. The keys of changes are those of transactions, and changeID,
 * changeType (CST_HISTORY_INSERT, …), changedEntity (the name; subentities are not included), changedObjectID,
 * updatedProperties, transaction. */
enum { CST_HISTORY_TRANSACTIONS = 0, CST_HISTORY_CHANGES = 1 };

/* The part of the history to read. Start from CST_HISTORY_OPTIONS_INIT. The struct and its handles are read during the
 * call only. */
typedef struct cst_history_options {
    size_t struct_size;
    /* Read the transactions after this token; NULL: from the first transaction. A store that is not in the token is
     * read from its first transaction. */
    const cst_history_token *after;
    /* Without `after`: read the transactions after `after_date`. */
    bool has_after_date;
    /* Return the transactions without their changes, for speed. */
    bool omits_changes;
    uint32_t subject; /* the subject of `predicate` and `sort`: CST_HISTORY_TRANSACTIONS or CST_HISTORY_CHANGES */
    double after_date;
    /* Return only the transactions, or the changes, that satisfy this predicate; NULL: all. Transactions without
     * matching changes are left out. */
    const cst_predicate *predicate;
    /* Leave out the transactions of this author, but return those without an author; a null string: return all. */
    cst_string excluded_author;
    /* The stores to read; a count of 0: all stores of the coordinator. */
    size_t store_count;
    cst_store *const *stores;
    /* The order. Without descriptors, transactions are returned in the order of their numbers, and those of several
     * stores by their timestamps. With descriptors, everything is read before the first transaction is returned; sorted
     * changes are returned as one transaction each. */
    size_t sort_count;
    const cst_sort *sort;
    /* The greatest number of transactions, or of changes if they are the subject; 0: no limit. A cursor returns all
     * changes of the transaction that reaches the limit. */
    size_t limit;
    size_t batch_size; /* the number of transactions that are read together; 0: a suitable number */
} cst_history_options;

#define CST_HISTORY_OPTIONS_INIT                                                                                       \
    {sizeof(cst_history_options),                                                                                      \
     NULL,                                                                                                             \
     false,                                                                                                            \
     false,                                                                                                            \
     CST_HISTORY_TRANSACTIONS,                                                                                         \
     0,                                                                                                                \
     NULL,                                                                                                             \
     {NULL, 0},                                                                                                        \
     0,                                                                                                                \
     NULL,                                                                                                             \
     0,                                                                                                                \
     NULL,                                                                                                             \
     0,                                                                                                                \
     0}

/* Creates a cursor over a part of the history, or over all of it if `options` is NULL. Stores are not locked between
 * two reads.
 *
 * CST_E_INVALID_ARGUMENT (134301) if transactions after the token were deleted or the file was replaced by an older
 * one.
 * CST_E_INVALID_ARGUMENT (134501) if no store is in the token. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_fetch_history(cst_coordinator *coordinator,
                                                                   const cst_history_options *options,
                                                                   cst_history_cursor **out_cursor CST_OWNED,
                                                                   cst_error **error);

/* Returns a pointer to the next transaction, valid until the next call with the cursor. Returns CST_END at the end;
 * later calls return transactions that were committed meanwhile. Fails with code 134301 if unread transactions were
 * deleted. */
CST_EXPORT CST_ONE_THREAD cst_status cst_history_cursor_next(cst_history_cursor *cursor,
                                                             const cst_history_transaction **out_transaction,
                                                             cst_error **error);

/* Creates the object ID of a change, by the index of the change in the last transaction of a cursor. The object may no
 * longer exist. */
CST_EXPORT CST_ONE_THREAD cst_status cst_history_cursor_copy_object_id(cst_history_cursor *cursor, size_t change,
                                                                       cst_object_id **out_id CST_OWNED,
                                                                       cst_error **error);

/* Creates a token for the position after the last transaction that a cursor has read.
 *
 * Transactions that the predicate excluded count as read. A later read can start after the token. Before the first
 * transaction, the token is the position at which the cursor begins. Fails with CST_E_INVALID_ARGUMENT for a cursor
 * with sort descriptors. */
CST_EXPORT CST_ONE_THREAD cst_status cst_history_cursor_copy_token(cst_history_cursor *cursor,
                                                                   cst_history_token **out_token CST_OWNED,
                                                                   cst_error **error);

/* Returns the number of transactions in a part of the history, or of changes if they are the subject. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_count_history(cst_coordinator *coordinator,
                                                                   const cst_history_options *options,
                                                                   uint64_t *out_count, cst_error **error);

/* Returns the IDs of all objects that were changed in a part of the history, each once. The objects may no longer
 * exist. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_fetch_history_ids(cst_coordinator *coordinator,
                                                                       const cst_history_options *options,
                                                                       cst_results **out_ids CST_OWNED,
                                                                       cst_error **error);

/* Merges the last transaction of a cursor into a context, as cst_context_merge_changes merges a save. The transaction
 * may be from another process. Has no effect before the first transaction. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_merge_history(cst_context *context, const cst_history_cursor *cursor,
                                                             cst_error **error);

/* ======== observation ==================================================================================== */

/* Waits until there may be more transactions, committed by any process. Call the function after cst_history_cursor_next
 * returned CST_END. The first call returns immediately, because the stores are not watched before. Returns CST_END
 * after `milliseconds` (below 0: no limit), and fails with CST_E_CANCELLED after cst_history_cursor_cancel. */
CST_EXPORT CST_ONE_THREAD cst_status cst_history_cursor_wait(cst_history_cursor *cursor, int64_t milliseconds,
                                                             cst_error **error);

/* Cancels the cst_history_cursor_wait of another thread, and all later waits of the cursor. */
CST_EXPORT CST_ANY_THREAD cst_status cst_history_cursor_cancel(cst_history_cursor *cursor, cst_error **error);

/* Returns a file descriptor that is readable while there may be more transactions, for an event loop (poll, epoll). The
 * cursor owns the descriptor: do not read or close it. cst_history_cursor_next clears the descriptor before it returns
 * CST_END. */
CST_EXPORT CST_ONE_THREAD cst_status cst_history_cursor_descriptor(cst_history_cursor *cursor, int32_t *out_descriptor,
                                                                   cst_error **error);

/* Returns the current value of a property of a changed object, by the index of the change in the last transaction. The
 * value is read from the store and may be newer than the transaction; a later transaction then reports its change. The
 * value of a to-one relationship is an object ID, that of a to-many relationship an array of object IDs. Returns
 * CST_NOT_FOUND for a deletion, for an object that was deleted since, and for a property that the change did not
 * set. */
CST_EXPORT CST_ONE_THREAD cst_status cst_history_cursor_copy_value(cst_history_cursor *cursor, size_t change,
                                                                   cst_string property, cst_value *out_value CST_OWNED,
                                                                   cst_error **error);

/* Called with each transaction. The cursor is borrowed for the call, to read object IDs, values and the token. A status
 * below 0 ends the observation. */
typedef cst_status (*cst_history_fn)(void *userdata, cst_history_cursor *cursor,
                                     const cst_history_transaction *transaction, cst_error **error);

/* Called once if the observation ends with an error, for example with code 134301 or after a callback failed. */
typedef void (*cst_history_ended_fn)(void *userdata, const cst_error *error);

/* Calls `follow` with each transaction of a part of the history in order, and then with each new one.
 *
 * New transactions of any process are included. Cancel the observation with cst_observation_cancel, or release its last
 * handle. A thread of the library calls `follow`, and reads the next transaction when `follow` has returned. Each
 * transaction is delivered at least once: store the token together with the effects of the transaction, and follow the
 * history after that token in the next run. `ended` may be NULL. Sort descriptors and a limit are not allowed. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_follow_history(
    cst_coordinator *coordinator, const cst_history_options *options, cst_history_fn follow, cst_history_ended_fn ended,
    void *userdata, cst_destroy_fn destroy, cst_observation **out_observation CST_OWNED, cst_error **error);

/* ======== past states ==================================================================================== */

/* Opens stores in the state after the transactions of a token; a `count` of 0 selects all stores of the coordinator.
 * The result is a read-only coordinator with the same model, and its objects have the same URIs. Each store is copied
 * into TMPDIR, and its later changes are reverted in the copy, so the time grows with the size of the stores and the
 * number of these changes. Later saves do not change the past state. Without a complete history
 * (CST_STORE_COMPLETE_HISTORY) a value that a later transaction replaced is unknown: it is read as null, including by
 * predicates, and cst_object_is_known reports false.
 *
 * CST_E_INVALID_ARGUMENT for a store without history.
 * Code 134301 if later transactions were deleted or the store was migrated since.
 * Code 134501 for a store that is not in the token. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_open_past(cst_coordinator *coordinator,
                                                               const cst_history_token *token, size_t count,
                                                               cst_store *const *stores,
                                                               cst_coordinator **out_past CST_OWNED, cst_error **error);

/* Opens stores in the state at a date, in seconds since 2001-01-01 00:00:00 UTC. Fails with code 134301 for a date
 * before the first remaining transaction. Otherwise like cst_coordinator_open_past. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_open_past_at(cst_coordinator *coordinator, double date,
                                                                  size_t count, cst_store *const *stores,
                                                                  cst_coordinator **out_past CST_OWNED,
                                                                  cst_error **error);

/* Creates the token of a coordinator of a past state: the position at which the coordinator was opened. Returns
 * CST_NOT_FOUND for other coordinators. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_copy_past_token(cst_coordinator *coordinator,
                                                                     cst_history_token **out_token CST_OWNED,
                                                                     cst_error **error);

/* Whether all values of a coordinator of a past state are known; true for other coordinators. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_is_past_complete(cst_coordinator *coordinator, bool *out_complete,
                                                                      cst_error **error);

/* Whether the value of a property is known. False for a value that a transaction after the past state replaced
 * without recording it. Always true for objects of other coordinators. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_is_known(const cst_object *object, cst_key key, bool *out_known,
                                                       cst_error **error);

/* A property of a changed object. */
typedef struct cst_revision_value {
    cst_string key;
    bool has_old; /* whether the object existed before and the old value is known */
    bool has_new; /* whether the object exists afterwards and the new value is known */
} cst_revision_value;

/* A change of one object. Text that is not set is a null string. Time and texts of a transaction are not set for a
 * difference between two positions. */
typedef struct cst_revision {
    uint32_t kind;               /* CST_HISTORY_INSERT, … */
    uint32_t reserved;           /* 0 */
    cst_entity *entity;          /* of the object */
    int64_t primary_key;         /* of the object, which may no longer exist */
    cst_string store_identifier; /* the UUID of the store */
    int64_t transaction;         /* the number of the transaction; 0 for a difference between two positions */
    double timestamp;            /* seconds since 2001-01-01 00:00:00 UTC */
    cst_string author;
    cst_string context_name;
    cst_string bundle_identifier;
    cst_string process_identifier;
    size_t value_count;
    const cst_revision_value *values; /* in the order of the model */
} cst_revision;

/* Returns the changes of an object with author, time and properties, the oldest first. If the history is complete, the
 * values of attributes and to-one relationships before and after each change are known. Otherwise, only values that
 * later changes did not replace are known. To-many relationships and derived attributes are listed without values. The
 * list is empty for an object that was never saved. Fails with CST_E_INVALID_ARGUMENT for a store without history. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_fetch_history(const cst_object *object,
                                                            cst_revisions **out_revisions CST_OWNED, cst_error **error);

/* Returns the changes of the object with an ID, even if the object was deleted. Otherwise like
 * cst_object_fetch_history. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_fetch_object_history(cst_coordinator *coordinator,
                                                                          const cst_object_id *id,
                                                                          cst_revisions **out_revisions CST_OWNED,
                                                                          cst_error **error);

/* Returns the differences between two positions of the history of stores.
 *
 * The result lists, for each object that differs, the properties that differ, including to-many relationships. Changed
 * objects come first. They are followed by objects whose derived values or members differ because related objects
 * changed, as far as old values were recorded. If `to` is NULL, the second position is the current state. Both states
 * are opened as by cst_coordinator_open_past, with its errors. Also fails with CST_E_INVALID_ARGUMENT if `to` is before
 * `from`. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_diff_history(
    cst_coordinator *coordinator, const cst_history_token *from, const cst_history_token *to, size_t count,
    cst_store *const *stores, cst_revisions **out_revisions CST_OWNED, cst_error **error);

/* Returns the number of changes in a list of changes. */
CST_EXPORT CST_ANY_THREAD cst_status cst_revisions_count(const cst_revisions *revisions, size_t *out_count,
                                                         cst_error **error);

/* Returns a pointer to the change at an index, valid as long as the list. Fails with CST_E_INVALID_ARGUMENT past the
 * last change. */
CST_EXPORT CST_ANY_THREAD cst_status cst_revisions_at(const cst_revisions *revisions, size_t index,
                                                      const cst_revision **out_revision, cst_error **error);

/* Returns the old or the new value of a change, by the index of the change and the index of the value. The value of a
 * to-one relationship is an object ID, that of a to-many relationship an array of object IDs. Returns CST_NOT_FOUND if
 * has_old or has_new is false. */
CST_EXPORT CST_ANY_THREAD cst_status cst_revisions_copy_value(const cst_revisions *revisions, size_t index,
                                                              size_t value, bool old, cst_value *out_value CST_OWNED,
                                                              cst_error **error);

/* Creates the object ID of the change at an index. The object may no longer exist. */
CST_EXPORT CST_ANY_THREAD cst_status cst_revisions_copy_object_id(const cst_revisions *revisions, size_t index,
                                                                  cst_object_id **out_id CST_OWNED, cst_error **error);

/* ======== deletion ======================================================================================= */

/* Called after each step of a deletion with the numbers of deleted transactions and changes. If it returns false, the
 * deletion is cancelled. */
typedef bool (*cst_history_progress_fn)(void *userdata, uint64_t transactions, uint64_t changes);

/* Deletes the transactions before a token, with their changes; the transaction of the token itself is kept. Objects are
 * not changed. The deletion is divided into steps, between which other threads and processes can save; steps before a
 * failure are not undone. `out_transactions` and `out_changes` receive the numbers of deleted transactions and changes;
 * each may be NULL. Reads after an older token fail with code 134301; the reader must then fetch its objects again.
 *
 * CST_E_STORE_READ_ONLY if a store cannot be written.
 * CST_E_CANCELLED if `progress` cancels the deletion.
 * Code 134501 for a token of other stores. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_delete_history(cst_coordinator *coordinator,
                                                                    const cst_history_token *before,
                                                                    cst_history_progress_fn progress, void *userdata,
                                                                    uint64_t *out_transactions, uint64_t *out_changes,
                                                                    cst_error **error);

/* Deletes the transactions of stores that precede the first one at or after a date.
 *
 * `date` is in seconds since 2001-01-01 00:00:00 UTC. A `count` of 0 selects all stores of the coordinator. INFINITY
 * deletes all transactions. Otherwise like cst_coordinator_delete_history. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_delete_history_before(cst_coordinator *coordinator, double date,
                                                                           size_t count, cst_store *const *stores,
                                                                           cst_history_progress_fn progress,
                                                                           void *userdata, uint64_t *out_transactions,
                                                                           uint64_t *out_changes, cst_error **error);

/* ======== consumers and purges =========================================================================== */

/* Registers a consumer, a program that reads the history of a store, by name. A purge keeps transactions that the
 * consumer has not read. A new consumer begins at `at`; NULL: after the last transaction. A registered consumer keeps
 * its position. The consumer limits purges until it has not renewed its lease for `lease` seconds; 0: 30 days. The
 * consumer is stored in the table CST_HISTORYCONSUMER, which Apple's framework ignores.
 *
 * CST_E_STORE_READ_ONLY if the store cannot be written.
 * CST_E_INVALID_ARGUMENT for a store without history.
 * Code 134301 for a position that was deleted or does not exist.
 * Code 134501 for a token of another store. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_register_history_consumer(cst_coordinator *coordinator,
                                                                               cst_store *store, cst_string name,
                                                                               const cst_history_token *at,
                                                                               double lease, cst_error **error);

/* Moves a consumer to the position up to which it has read, and renews its lease. A position before the current one
 * does not move the consumer.
 *
 * CST_E_INVALID_ARGUMENT for a consumer that is not registered.
 * Code 134301 for a position that was deleted or does not exist. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_move_history_consumer(cst_coordinator *coordinator,
                                                                           cst_store *store, cst_string name,
                                                                           const cst_history_token *to,
                                                                           cst_error **error);

/* Deregisters a consumer of the history of a store. Returns CST_NOT_FOUND if the consumer was not registered. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_unregister_history_consumer(cst_coordinator *coordinator,
                                                                                 cst_store *store, cst_string name,
                                                                                 cst_error **error);

/* Fills a buffer with the consumers of a store's history as a JSON array. Each is an object with "name", "transaction",
 * "lastSeen" (seconds since 2001-01-01 00:00:00 UTC), "lease" (seconds) and "living" (whether the consumer is active:
 * false if the lease has expired). */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_copy_history_consumers(cst_coordinator *coordinator,
                                                                            cst_store *store, cst_buffer *out_json,
                                                                            cst_error **error);

/* The part of a history that a purge keeps. Start from CST_HISTORY_RETENTION_INIT. A transaction beyond any of the
 * limits is deleted if every active consumer has read it. Without limits, the transactions that every active consumer
 * has read are deleted; without limits and active consumers, nothing is deleted. */
typedef struct cst_history_retention {
    size_t struct_size;
    bool has_age;
    bool has_count;
    bool has_bytes;
    double age;     /* keep the transactions of the last `age` seconds */
    uint64_t count; /* keep the newest `count` transactions */
    uint64_t bytes; /* keep the newest transactions up to this number of bytes, by the average size of a change */
} cst_history_retention;

#define CST_HISTORY_RETENTION_INIT {sizeof(cst_history_retention), false, false, false, 0, 0, 0}

/* Deletes the transactions of a store that are beyond a limit, if every active consumer has read them. The deletion is
 * divided into steps, between which other threads and processes can save. A store that CloudKit mirrors (with ANSCK
 * tables) keeps at least the transactions of seven days, and transactions that were not exported to CloudKit. `keep`
 * may be NULL for no limits. `out_report`, which may be NULL, receives a report as JSON: "transactions" and "changes"
 * (deleted), "heldBy" (the consumer for which transactions were kept, or null), "expired" (consumers whose lease has
 * expired) and "reason" (why other transactions were kept, or null). */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_purge_history(cst_coordinator *coordinator, cst_store *store,
                                                                   const cst_history_retention *keep,
                                                                   cst_history_progress_fn progress, void *userdata,
                                                                   cst_buffer *out_report, cst_error **error);

/* Fills a buffer with the size of a history as JSON.
 *
 * The keys are "transactions", "changes", "bytes" (of tables and indexes), "estimated" (true if the SQLite library
 * cannot report the bytes), "oldest" and "newest" (seconds since 2001-01-01 00:00:00 UTC, or null). Reads the pages of
 * the tables. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_copy_history_size(cst_coordinator *coordinator, cst_store *store,
                                                                       cst_buffer *out_json, cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
