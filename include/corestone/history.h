/* corestone/history.h: persistent history: who changed what, and when.
 *
 * A store that is opened with CST_STORE_HISTORY records each save, batch request and migration as a transaction, in the
 * tables that Apple's framework uses; histories that Apple's framework wrote are read alike. A reader keeps a history
 * token, the place up to which it has read, and passes it the next time. cst_coordinator_fetch_history returns a
 * cursor over the transactions after a token or a date, cst_context_merge_history merges one into a context, and
 * cst_coordinator_delete_history deletes transactions that no reader needs any more.
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

/* Creates a token for the state of the stores now: the place after the last transaction of each store with a history.
 * Without stores (`count` 0) it is that of all stores of the coordinator. Returns CST_NOT_FOUND if none of them has a
 * history. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_copy_history_token(cst_coordinator *coordinator, size_t count,
                                                                        cst_store *const *stores,
                                                                        cst_history_token **out_token CST_OWNED,
                                                                        cst_error **error);

/* Creates a token from the text that cst_history_token_copy_json returned, perhaps in another process. */
CST_EXPORT CST_ANY_THREAD cst_status cst_history_token_new(cst_string json, cst_history_token **out_token CST_OWNED,
                                                           cst_error **error);

/* Creates a token for the place after a transaction of one store, given by the store's UUID. */
CST_EXPORT CST_ANY_THREAD cst_status cst_history_token_new_at(cst_string store_identifier, int64_t transaction,
                                                              cst_history_token **out_token CST_OWNED,
                                                              cst_error **error);

/* Fills a buffer with the token as text, to be kept in a file. */
CST_EXPORT CST_ANY_THREAD cst_status cst_history_token_copy_json(const cst_history_token *token, cst_buffer *out_json,
                                                                 cst_error **error);

/* Stores the number of the last transaction of a store before the place, 0 before the first one. Returns CST_NOT_FOUND
 * for a store that the token does not know. */
CST_EXPORT CST_ANY_THREAD cst_status cst_history_token_transaction(const cst_history_token *token,
                                                                   cst_string store_identifier,
                                                                   int64_t *out_transaction, cst_error **error);

/* Compares two tokens: stores -1 if `a` is at an earlier place, 0 if the places are equal, 1 if `a` is at a later one.
 * Returns CST_NOT_FOUND if they have no order, because one store is at an earlier place and another at a later one. A
 * store that only one of the tokens knows counts as at its beginning in the other. */
CST_EXPORT CST_ANY_THREAD cst_status cst_history_token_compare(const cst_history_token *a, const cst_history_token *b,
                                                               int32_t *out_order, cst_error **error);

/* Creates the token of the last transaction that the context wrote by a save or a batch request; in an observer of
 * CST_NOTIFICATION_DID_SAVE that of the very save. Returns CST_NOT_FOUND if it wrote none. */
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
    const cst_string *properties;      /* the names of the properties that it changed */
    size_t tombstone_count;            /* of a deletion */
    const cst_string *tombstone_keys;  /* the attributes that the model preserves (CST_PROPERTY_PRESERVED) */
    const cst_value *tombstone_values; /* their values; those that were nil are left out */
} cst_history_change;

/* One transaction. Text that is not set is a null string. */
typedef struct cst_history_transaction {
    int64_t number;                    /* ascends, and is never used again */
    double timestamp;                  /* seconds since 2001-01-01 00:00:00 UTC */
    cst_string store_identifier;       /* the UUID of the store */
    cst_string author;                 /* cst_context_set_author */
    cst_string context_name;           /* cst_context_set_name */
    cst_string bundle_identifier;      /* of the application; of other programs the name of the program */
    cst_string process_identifier;     /* the name of the process */
    size_t change_count;               /* 0 with `omits_changes` */
    const cst_history_change *changes; /* in the order in which they were recorded */
} cst_history_transaction;

/* The subjects of predicates and sort descriptors. Keys of transactions: author, bundleID, contextName, processID,
 * storeID, timestamp, token, transactionNumber. Keys of changes: these, and changeID, changeType (CST_HISTORY_INSERT,
 * …), changedEntity (the name; subentities are not included), changedObjectID, updatedProperties, transaction. */
enum { CST_HISTORY_TRANSACTIONS = 0, CST_HISTORY_CHANGES = 1 };

/* The part of the history to read. Start from CST_HISTORY_OPTIONS_INIT. The struct and its handles are read during the
 * call only. */
typedef struct cst_history_options {
    size_t struct_size;
    /* Read what comes after this token; NULL: from the first transaction. A store that the token does not know is read
     * from its first transaction. */
    const cst_history_token *after;
    /* Without `after`: read what comes after `after_date`. */
    bool has_after_date;
    /* Return transactions without changes, which are faster to read. */
    bool omits_changes;
    uint32_t subject; /* of `predicate` and `sort`: CST_HISTORY_TRANSACTIONS or CST_HISTORY_CHANGES */
    double after_date;
    /* Return only the transactions, or the changes, for which this holds; NULL: all. Transactions without matching
     * changes are left out. */
    const cst_predicate *predicate;
    /* Leave out the transactions of this author, keep those without author; a null string: keep all. */
    cst_string excluded_author;
    /* Read these stores; none (0): all of the coordinator. */
    size_t store_count;
    cst_store *const *stores;
    /* The order. Without descriptors transactions come in their order, and those of several stores by their times. With
     * descriptors everything is read before the first one is returned; sorted changes come one for each transaction. */
    size_t sort_count;
    const cst_sort *sort;
    size_t limit;      /* the most transactions, or changes if they are the subject; 0: all. A cursor returns the
                        * transaction that reaches the limit whole */
    size_t batch_size; /* how many transactions a step reads; 0: a suitable number */
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

/* Creates a cursor over a part of the history; `options` may be NULL for all of it. Nothing is locked between two
 * steps. Fails with CST_E_INVALID_ARGUMENT, and code 134301 if transactions after the token were deleted or the file
 * was replaced by an older one, or code 134501 if the token knows none of the stores. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_fetch_history(cst_coordinator *coordinator,
                                                                   const cst_history_options *options,
                                                                   cst_history_cursor **out_cursor CST_OWNED,
                                                                   cst_error **error);

/* Stores a pointer to the next transaction, which is valid until the next call with the cursor. Returns CST_END at the
 * end; called again, it returns what was committed meanwhile. Fails with code 134301 if transactions that were not read
 * yet were deleted. */
CST_EXPORT CST_ONE_THREAD cst_status cst_history_cursor_next(cst_history_cursor *cursor,
                                                             const cst_history_transaction **out_transaction,
                                                             cst_error **error);

/* Creates the object ID of a change of the last transaction, by its index. The object may no longer exist. */
CST_EXPORT CST_ONE_THREAD cst_status cst_history_cursor_copy_object_id(cst_history_cursor *cursor, size_t change,
                                                                       cst_object_id **out_id CST_OWNED,
                                                                       cst_error **error);

/* Creates a token for the place after the last transaction that was read, including those that the predicate left out:
 * where to go on later. Before the first one it is the beginning of the part. Fails with CST_E_INVALID_ARGUMENT for a
 * cursor with sort descriptors. */
CST_EXPORT CST_ONE_THREAD cst_status cst_history_cursor_copy_token(cst_history_cursor *cursor,
                                                                   cst_history_token **out_token CST_OWNED,
                                                                   cst_error **error);

/* Counts the transactions, or the changes if they are the subject. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_count_history(cst_coordinator *coordinator,
                                                                   const cst_history_options *options,
                                                                   uint64_t *out_count, cst_error **error);

/* Fetches the IDs of all changed objects, each once. The objects may no longer exist. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_fetch_history_ids(cst_coordinator *coordinator,
                                                                       const cst_history_options *options,
                                                                       cst_results **out_ids CST_OWNED,
                                                                       cst_error **error);

/* Merges the last transaction of a cursor into a context, as cst_context_merge_changes merges a save. The transaction
 * may be one of another process. Does nothing before the first transaction. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_merge_history(cst_context *context, const cst_history_cursor *cursor,
                                                             cst_error **error);

/* ======== following ====================================================================================== */

/* Waits until there may be more transactions, committed by any process; to be called after cst_history_cursor_next
 * returned CST_END. The first call returns at once, because only from then on the stores are watched. Returns CST_END
 * if `milliseconds` are over (below 0: no limit), and fails with CST_E_CANCELLED after cst_history_cursor_cancel. */
CST_EXPORT CST_ONE_THREAD cst_status cst_history_cursor_wait(cst_history_cursor *cursor, int64_t milliseconds,
                                                             cst_error **error);

/* Ends a wait of another thread, and all later ones. */
CST_EXPORT CST_ANY_THREAD cst_status cst_history_cursor_cancel(cst_history_cursor *cursor, cst_error **error);

/* Stores a file descriptor that is readable while there may be more transactions, for an event loop (poll, epoll). The
 * cursor owns it: do not read or close it. cst_history_cursor_next clears it before it returns CST_END. */
CST_EXPORT CST_ONE_THREAD cst_status cst_history_cursor_descriptor(cst_history_cursor *cursor, int32_t *out_descriptor,
                                                                   cst_error **error);

/* Copies the value that a property of a changed object has now, by the index of the change in the last transaction. A
 * history does not keep values: those of the store may be newer than the transaction, and the transaction that made
 * them so comes later. To-one relationships are object IDs, to-many relationships arrays of them. Returns CST_NOT_FOUND
 * for a deletion, for an object that was deleted since, and for a property that the change did not set. */
CST_EXPORT CST_ONE_THREAD cst_status cst_history_cursor_copy_value(cst_history_cursor *cursor, size_t change,
                                                                   cst_string property, cst_value *out_value CST_OWNED,
                                                                   cst_error **error);

/* Called with each transaction. The cursor is borrowed for the call, for object IDs, values and the token. A status
 * below 0 ends following. */
typedef cst_status (*cst_history_fn)(void *userdata, cst_history_cursor *cursor,
                                     const cst_history_transaction *transaction, cst_error **error);

/* Called once when following ends by an error, such as code 134301 or the failure of a callback. */
typedef void (*cst_history_ended_fn)(void *userdata, const cst_error *error);

/* Calls `follow` with each transaction of a part of the history, in order, and then with those that any process commits,
 * until the observation ends (cst_observation_cancel, or the release of its last handle). The calls come on a thread of
 * the library, one at a time; the next transaction is read when the call returns. Each transaction comes at least once:
 * keep the token with the effect of the last one, and start after it. `ended` may be NULL. Sort descriptors and a limit
 * are not allowed. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_follow_history(
    cst_coordinator *coordinator, const cst_history_options *options, cst_history_fn follow, cst_history_ended_fn ended,
    void *userdata, cst_destroy_fn destroy, cst_observation **out_observation CST_OWNED, cst_error **error);

/* ======== the past ======================================================================================= */

/* Opens stores as they were after the transactions of a token; without stores (`count` 0) all of the coordinator. The
 * result is a coordinator for reading, with the same model, and its objects have the same URIs. Each store is copied into
 * TMPDIR and taken back there, so the time it takes grows with the size of the stores and the number of later changes;
 * later saves do not change the past. Without a complete history (CST_STORE_COMPLETE_HISTORY) a value that a later
 * transaction replaced is unknown: it reads as null, and cst_object_is_known stores false. Predicates see null too. Fails
 * with CST_E_INVALID_ARGUMENT for a store without history, and code 134301 if later transactions were deleted or if the
 * store was migrated since, or code 134501 for a store that the token does not know. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_open_past(cst_coordinator *coordinator,
                                                               const cst_history_token *token, size_t count,
                                                               cst_store *const *stores,
                                                               cst_coordinator **out_past CST_OWNED, cst_error **error);

/* Opens stores as they were at a date, in seconds since 2001-01-01 00:00:00 UTC. Fails with code 134301 for a date before
 * the first transaction that is left. Otherwise like cst_coordinator_open_past. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_open_past_at(cst_coordinator *coordinator, double date,
                                                                  size_t count, cst_store *const *stores,
                                                                  cst_coordinator **out_past CST_OWNED,
                                                                  cst_error **error);

/* Creates the token of a coordinator of the past: the place that it was opened at. Returns CST_NOT_FOUND for a
 * coordinator of the present. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_copy_past_token(cst_coordinator *coordinator,
                                                                     cst_history_token **out_token CST_OWNED,
                                                                     cst_error **error);

/* Stores whether all values of a coordinator of the past are known; true for one of the present. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_is_past_complete(cst_coordinator *coordinator, bool *out_complete,
                                                                      cst_error **error);

/* Stores whether the value of a property is known: false for one that a transaction after the past replaced without
 * keeping it. Always true for objects of the present. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_is_known(const cst_object *object, cst_key key, bool *out_known,
                                                       cst_error **error);

/* A property of a changed object. */
typedef struct cst_revision_value {
    cst_string key;
    bool has_old; /* whether the value before is known and there was an object */
    bool has_new; /* whether the value afterwards is known and there is an object */
} cst_revision_value;

/* A change of one object. Text that is not set is a null string. */
typedef struct cst_revision {
    uint32_t kind;               /* CST_HISTORY_INSERT, … */
    uint32_t reserved;           /* 0 */
    cst_entity *entity;          /* of the object */
    int64_t primary_key;         /* of the object, which may no longer exist */
    cst_string store_identifier; /* the UUID of the store */
    int64_t transaction;         /* the number of the transaction; 0 for a difference between two places, and then the
                                  * following members are not set */
    double timestamp;            /* seconds since 2001-01-01 00:00:00 UTC */
    cst_string author;
    cst_string context_name;
    cst_string bundle_identifier;
    cst_string process_identifier;
    size_t value_count;
    const cst_revision_value *values; /* in the order of the model */
} cst_revision;

/* Fetches who changed an object, when, and in which properties, the oldest change first. A complete history has the
 * values of attributes and to-one relationships before and after each change; without one only those that later changes
 * left alone are known. To-many relationships and derived attributes are listed without values. The list is empty for an
 * object that was never saved. Fails with CST_E_INVALID_ARGUMENT for a store without history. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_fetch_history(const cst_object *object,
                                                            cst_revisions **out_revisions CST_OWNED, cst_error **error);

/* Fetches the changes of an object by its ID, also of one that was deleted. Otherwise like cst_object_fetch_history. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_fetch_object_history(cst_coordinator *coordinator,
                                                                          const cst_object_id *id,
                                                                          cst_revisions **out_revisions CST_OWNED,
                                                                          cst_error **error);

/* Fetches the differences between two places of the history of stores: for each object that differs its properties,
 * to-many relationships included. Objects with changes of their own come first, then those that differ because of others:
 * in derived values, or in members; these only as far as old values were kept. `to` may be NULL for the present. Both
 * states are opened as by cst_coordinator_open_past, with its errors; fails with CST_E_INVALID_ARGUMENT too if `to` is
 * before `from`. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_diff_history(
    cst_coordinator *coordinator, const cst_history_token *from, const cst_history_token *to, size_t count,
    cst_store *const *stores, cst_revisions **out_revisions CST_OWNED, cst_error **error);

/* Stores the number of changes. */
CST_EXPORT CST_ANY_THREAD cst_status cst_revisions_count(const cst_revisions *revisions, size_t *out_count,
                                                         cst_error **error);

/* Stores a pointer to a change, which is valid as long as the list. */
CST_EXPORT CST_ANY_THREAD cst_status cst_revisions_at(const cst_revisions *revisions, size_t index,
                                                      const cst_revision **out_revision, cst_error **error);

/* Copies a value of a change, by the index of the change and that of the value: the old one, or the new one. To-one
 * relationships are object IDs, to-many relationships arrays of them. Returns CST_NOT_FOUND if has_old or has_new is
 * false. */
CST_EXPORT CST_ANY_THREAD cst_status cst_revisions_copy_value(const cst_revisions *revisions, size_t index,
                                                              size_t value, bool old, cst_value *out_value CST_OWNED,
                                                              cst_error **error);

/* Creates the object ID of a change. The object may no longer exist. */
CST_EXPORT CST_ANY_THREAD cst_status cst_revisions_copy_object_id(const cst_revisions *revisions, size_t index,
                                                                  cst_object_id **out_id CST_OWNED, cst_error **error);

/* ======== deletion ======================================================================================= */

/* Called after each step of a deletion with the numbers of deleted transactions and changes; false cancels it. */
typedef bool (*cst_history_progress_fn)(void *userdata, uint64_t transactions, uint64_t changes);

/* Deletes the transactions before a token, with their changes; the transaction of the token itself stays. Objects are
 * not touched. It deletes in steps, between which others may save; what was deleted before a failure stays deleted. The
 * numbers of deleted transactions and changes are stored; each pointer may be NULL. A reader whose token is older gets
 * code 134301 and has to fetch its objects again. Fails with CST_E_STORE_READ_ONLY, CST_E_CANCELLED, or code 134501 for
 * a token of other stores. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_delete_history(cst_coordinator *coordinator,
                                                                    const cst_history_token *before,
                                                                    cst_history_progress_fn progress, void *userdata,
                                                                    uint64_t *out_transactions, uint64_t *out_changes,
                                                                    cst_error **error);

/* Deletes the transactions of stores before the first one of a date (seconds since 2001-01-01 00:00:00 UTC) or later;
 * without stores (`count` 0) of all stores of the coordinator. INFINITY deletes all. Otherwise like
 * cst_coordinator_delete_history. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_delete_history_before(cst_coordinator *coordinator, double date,
                                                                           size_t count, cst_store *const *stores,
                                                                           cst_history_progress_fn progress,
                                                                           void *userdata, uint64_t *out_transactions,
                                                                           uint64_t *out_changes, cst_error **error);

/* ======== consumers and purges =========================================================================== */

/* Registers a consumer, a program that reads the history of a store, by name. No purge deletes transactions that it has
 * not read. A new consumer begins at `at`; NULL: after the last transaction. One that is registered keeps its place. The
 * consumer holds up purges until it was not seen for `lease` seconds; 0: 30 days. The table CST_HISTORYCONSUMER of the
 * store keeps it; Apple's framework ignores that. Fails with CST_E_STORE_READ_ONLY, with CST_E_INVALID_ARGUMENT for a
 * store without history, with code 134301 for a place that was deleted or does not exist, and with code 134501 for a
 * token of another store. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_register_history_consumer(cst_coordinator *coordinator,
                                                                               cst_store *store, cst_string name,
                                                                               const cst_history_token *at,
                                                                               double lease, cst_error **error);

/* Moves a consumer to the place up to which it has read, and renews its lease. A place before its own leaves it where
 * it is. Fails with CST_E_INVALID_ARGUMENT for a consumer that is not registered, and with code 134301 for a place that
 * was deleted or does not exist. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_move_history_consumer(cst_coordinator *coordinator,
                                                                           cst_store *store, cst_string name,
                                                                           const cst_history_token *to,
                                                                           cst_error **error);

/* Removes a consumer. Returns CST_NOT_FOUND if it was not registered. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_unregister_history_consumer(cst_coordinator *coordinator,
                                                                                 cst_store *store, cst_string name,
                                                                                 cst_error **error);

/* Fills a buffer with the consumers of a store as JSON: an array of objects with "name", "transaction", "lastSeen"
 * (seconds since 2001-01-01 00:00:00 UTC), "lease" (seconds) and "living" (false if the lease has run out). */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_copy_history_consumers(cst_coordinator *coordinator,
                                                                            cst_store *store, cst_buffer *out_json,
                                                                            cst_error **error);

/* The part of a history that a purge keeps. Start from CST_HISTORY_RETENTION_INIT. A transaction beyond any of the
 * limits is deleted. Without limits those are deleted that every living consumer has read, and none if there is no
 * consumer. */
typedef struct cst_history_retention {
    size_t struct_size;
    bool has_age;
    bool has_count;
    bool has_bytes;
    double age;     /* keep the transactions of the last so many seconds */
    uint64_t count; /* keep so many transactions, the newest */
    uint64_t bytes; /* keep so many bytes of the newest transactions, by the average size of a change */
} cst_history_retention;

#define CST_HISTORY_RETENTION_INIT {sizeof(cst_history_retention), false, false, false, 0, 0, 0}

/* Deletes the transactions of a store that are beyond a limit and that every living consumer has read, in steps, between
 * which others may save. A store that CloudKit mirrors (with ANSCK tables) keeps at least seven days, and what its
 * mirror has yet to export. `keep` may be NULL for no limits. A buffer, if given, is filled with a report as JSON:
 * "transactions" and "changes" (deleted), "heldBy" (the consumer because of which transactions stayed, or null),
 * "expired" (consumers whose lease has run out) and "reason" (why others stayed, or null). */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_purge_history(cst_coordinator *coordinator, cst_store *store,
                                                                   const cst_history_retention *keep,
                                                                   cst_history_progress_fn progress, void *userdata,
                                                                   cst_buffer *out_report, cst_error **error);

/* Fills a buffer with the size of a history as JSON: "transactions", "changes", "bytes" (of tables and indexes),
 * "estimated" (true if the SQLite library cannot tell the bytes), "oldest" and "newest" (seconds since 2001-01-01
 * 00:00:00 UTC, or null). Reads the pages of the tables. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_copy_history_size(cst_coordinator *coordinator, cst_store *store,
                                                                       cst_buffer *out_json, cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
