/* corestone/store.h: coordinators and stores: opening, copying, migrating, checking.
 *
 * A coordinator opens stores for one model; contexts read and save its objects. cst_coordinator_new creates a
 * coordinator, and cst_coordinator_add_store opens or creates a store; cst_coordinator_open_store opens an existing
 * store, even without a model. Further functions back up, move, migrate, compare, check and close stores, report
 * statistics, and observe a coordinator. Programs that do not need these functions can use a container (container.h).
 *
 * Coordinators and stores are usable on any thread. The caller owns the handles. A store stays open until it is
 * removed, the coordinator is closed, or the last handle of the coordinator, its contexts and the store is released.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_STORE_H
#define CORESTONE_STORE_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Creates a coordinator without stores for a model, which it freezes. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_new(cst_model *model, cst_coordinator **out_coordinator CST_OWNED,
                                                         cst_error **error);

/* Sets the name of the coordinator, which the threads of cst_coordinator_perform have too. A null string, the initial
 * value, removes the name. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_set_name(cst_coordinator *coordinator, cst_string name,
                                                              cst_error **error);

/* Fills a buffer with the name of the coordinator. Returns CST_NOT_FOUND if the coordinator does not have a name. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_copy_name(const cst_coordinator *coordinator, cst_buffer *out_name,
                                                               cst_error **error);

/* Flags for opening a store. */
enum {
    CST_STORE_READ_ONLY = 1u << 0,        /* never changes the file or its folder */
    CST_STORE_MUST_EXIST = 1u << 1,       /* a missing file is an error instead of a new store */
    CST_STORE_NORMAL_SYNC = 1u << 2,      /* WAL without an fsync per save: a power failure may undo the last saves */
    CST_STORE_ROLLBACK_JOURNAL = 1u << 3, /* a rollback journal instead of WAL */
    /* Each save records the objects that it inserted, changed and deleted, as Apple's persistent history does. A store
     * that already has a history continues it without this flag. */
    CST_STORE_HISTORY = 1u << 4,
    /* For cst_coordinator_open_store: opens the store for writing. */
    CST_STORE_WRITABLE = 1u << 5,
    /* Posts CST_COORDINATOR_REMOTE_CHANGE also for saves by contexts of this coordinator. */
    CST_STORE_POSTS_OWN_CHANGES = 1u << 6,
    /* Updates the statistics of the values, by which SQLite chooses indexes, when the store is opened. */
    CST_STORE_ANALYZE = 1u << 7,
    /* Rewrites the database when the store is opened, to free the space of deleted rows. */
    CST_STORE_VACUUM = 1u << 8,
    /* Accepts a store that was written with another model. Properties that the store does not have are null or empty;
     * data of properties that the model does not have is kept, but cannot be read. Opening the store for writing
     * converts it to this model (docs/reference/store.md). */
    CST_STORE_IGNORE_VERSIONING = 1u << 9,
    /* For cst_coordinator_destroy_store: removes the files of a store even if other processes keep it locked. These
     * processes continue with unlinked files. */
    CST_STORE_FORCE_DESTROY = 1u << 10,
    /* Migrates a store that was written with another version of the model. Containers and documents migrate without
     * this flag. cst_coordinator_add_store fails without it, with CST_CODE_PERSISTENT_STORE_INCOMPATIBLE_VERSION_HASH
     * (134100), and the message names every difference. */
    CST_STORE_MIGRATE = 1u << 11,
    /* Infers the mapping of a migration from names and renaming identifiers. Containers and documents infer the mapping
     * without this flag. */
    CST_STORE_INFER_MAPPING = 1u << 12,
    /* Prevents the migration of the store by a container or a document. */
    CST_STORE_NO_MIGRATION = 1u << 13,
    /* Also migrates if the model only lacks parts that the store has.
     *
     * The missing parts may mean that the model is an older version. */
    CST_STORE_ALLOW_REMOVALS = 1u << 14,
    /* Migrates attributes whose type changed, if every value can be kept exactly. */
    CST_STORE_ALLOW_TYPE_CHANGES = 1u << 15,
    /* Does not record a history. A store whose history has transactions is opened read-only
     * (cst_store_read_only_reason), as in Apple's framework: unrecorded saves would leave a gap. */
    CST_STORE_NO_HISTORY = 1u << 16,
    /* Records a complete history, which includes the values that each transaction replaces.
     *
     * Past states can then be read in full (cst_coordinator_open_past). A store that already records old values
     * continues without this flag. The old values are stored in tables named CST_HISTORY…, which Apple's framework
     * ignores, and occupy space until the history is deleted. */
    CST_STORE_COMPLETE_HISTORY = 1u << 17,
    /* Deletes the old values of a complete history and stops recording them. The history itself is kept. */
    CST_STORE_DROP_OLD_VALUES = 1u << 18,
    /* Compares the migrated objects with the former ones before the commit of a migration. A difference makes the
     * migration fail with 134110. */
    CST_STORE_VERIFY_MIGRATION = 1u << 19,
    /* A migration within the file keeps the columns and tables that the new model does not have.
     *
     * cst_coordinator_finish_deferred_migration (migration.h) removes them. */
    CST_STORE_DEFER_MIGRATION_CLEANUP = 1u << 20
};

/* A setting of SQLite, by name: "cache_size", "-65536". */
typedef struct cst_pragma {
    cst_string name, value;
} cst_pragma;

/* Receives the progress of a long operation: `done` of `total` rows, objects, bytes or tasks. If the function returns
 * false, the operation is cancelled. */
typedef bool (*cst_progress_fn)(void *userdata, uint64_t done, uint64_t total);

/* Options of the copy of a store that a migration makes before it changes the store.
 *
 * The name of a copy is for example NAME.backup-20261129T101500Z, with the time in UTC. Start from
 * CST_MIGRATION_BACKUP_INIT. cst_store_copy_backups and cst_coordinator_restore_store (migration.h) list the copies and
 * restore a copy. */
typedef struct cst_migration_backup {
    size_t struct_size;
    cst_string folder; /* the folder of the copies, which must exist; null is the folder of the store */
    uint64_t keep;     /* the number of newest copies to keep after a successful migration; 0 is 3 */
} cst_migration_backup;
#define CST_MIGRATION_BACKUP_INIT {sizeof(cst_migration_backup), {NULL, 0}, 0}

/* Options for opening a store. Start from CST_STORE_OPTIONS_INIT; 0 is the default of every member. */
typedef struct cst_store_options {
    size_t struct_size;
    uint32_t flags;           /* CST_STORE_… */
    uint32_t busy_timeout_ms; /* the longest wait for another connection's lock; 0 is 5000 */
    uint32_t cache_kb;        /* SQLite's page cache, for each connection; 0 is 32768 */
    /* The interval at which a watched store (remote.h) is checked even if the file system does not report a write. 0 is
     * 500 on file systems that do not report writes, such as network file systems, and otherwise 30000. */
    uint32_t watch_interval_ms;
    /* The name of the configuration with the entities of the store's objects. New objects are saved into the first
     * writable store whose configuration has their entity. Fetches read only the stores whose configuration has their
     * entity. A null string selects the whole model. The tables are always those of the whole model. */
    cst_string configuration;
    uint32_t max_connections; /* the greatest number of threads that read or save at a time; 0 is 8 */
    /* Permissions of the file of a new store, 0600 to 0777; 0 applies the process's umask. Files next to a store have
     * the permissions of its file. */
    uint32_t file_mode;
    /* Values of more bytes are stored in backing files if the attribute allows it. 0 is 102400; with UINT64_MAX, no
     * value is stored in a backing file. */
    uint64_t external_threshold;
    /* Settings for every connection. Opening fails with CST_E_INVALID_ARGUMENT for a name or value that is not listed
     * in docs/reference/store.md. The key and the value of the error are the name and the value. Names and values that
     * are not listed are never inserted into SQL. */
    size_t pragma_count;
    const cst_pragma *pragmas;
    /* Options of Apple's framework for features that the library does not have, by the names of their keys.
     *
     * Examples are ubiquity, external records and file protection. These options have no effect; cst_store_warning
     * reports them. */
    size_t foreign_option_count;
    const cst_string *foreign_options;
    /* Options for a store of a type that the host registered (host_store.h): names, and their values in the same order.
     * Opening a store of another type with such options fails with CST_E_INVALID_ARGUMENT. */
    size_t host_option_count;
    const cst_string *host_option_names;
    const cst_value *host_option_values;
    /* Limits on the work that a file, possibly untrusted, can cause in this process. If a limit is exceeded, the call
     * fails; the error names limit, value and option (docs/reference/store.md, "Limits"). */
    /* The maximum size in bytes of a value or row in an SQLite store; 0 is 67108864.
     *
     * Also limits the holes in a sparse file. */
    uint64_t value_limit;
    /* The maximum memory in bytes that all expressions of an SQLite file's schema use together; 0 is 134217728. */
    uint64_t memory_limit;
    /* The maximum number of SQLite instructions for one statement that writes; 0 is 200000000.
     *
     * 100 further instructions are allowed for each byte of the file. */
    uint64_t step_limit;
    /* The maximum size in bytes of a backing file that is read or copied; 0 is 2147483647. */
    uint64_t external_limit;
    /* The models in which a migration first searches for the model of the store.
     *
     * It then searches in the files, bundles and folders of model_paths, and last in the store. */
    size_t source_model_count;
    cst_model *const *source_models;
    size_t model_path_count;
    const cst_string *model_paths;
    /* Called with the number of migrated rows and of all rows, on the thread of the call; may be NULL. */
    cst_progress_fn migration_progress;
    void *migration_userdata;
    /* The part of the history to keep (cst_history_retention in history.h). Other transactions are purged on a
     * thread of the coordinator. This happens when the store is opened, and when the coordinator writes a transaction
     * whose number is a multiple of 1,000. A purge also keeps transactions that an active consumer has not read. NULL: the history is
     * not purged automatically. */
    const struct cst_history_retention *history_retention;
    /* Mapping models that a migration tries first (mapping.h).
     *
     * The migration then tries the mapping models next to the models of model_paths, and then infers one. */
    size_t mapping_model_count;
    cst_mapping_model *const *mapping_models;
    /* The stages of a staged migration (migration.h), instead of mapping models; may be NULL. Requires
     * CST_STORE_MIGRATE and CST_STORE_INFER_MAPPING, which containers and documents set. */
    const cst_migration_stages *stages;
    /* Called with the manager of each mapping model before the mapping model is executed. The function can set the
     * manager's user info, functions and report, or retain the manager for a cancellation. If it returns a negative
     * status, the migration fails (134110). */
    cst_status (*manager_will_start)(void *userdata, cst_migration_manager *manager, cst_error **error);
    void *manager_will_start_userdata;
    /* The backup that is made before a migration changes the store; NULL: no backup. */
    const cst_migration_backup *backup;
} cst_store_options;
#define CST_STORE_OPTIONS_INIT                                                                                         \
    {sizeof(cst_store_options),                                                                                        \
     0,                                                                                                                \
     0,                                                                                                                \
     0,                                                                                                                \
     0,                                                                                                                \
     {NULL, 0},                                                                                                        \
     0,                                                                                                                \
     0,                                                                                                                \
     0,                                                                                                                \
     0,                                                                                                                \
     NULL,                                                                                                             \
     0,                                                                                                                \
     NULL,                                                                                                             \
     0,                                                                                                                \
     NULL,                                                                                                             \
     NULL,                                                                                                             \
     0,                                                                                                                \
     0,                                                                                                                \
     0,                                                                                                                \
     0,                                                                                                                \
     0,                                                                                                                \
     NULL,                                                                                                             \
     0,                                                                                                                \
     NULL,                                                                                                             \
     NULL,                                                                                                             \
     NULL,                                                                                                             \
     NULL,                                                                                                             \
     0,                                                                                                                \
     NULL,                                                                                                             \
     NULL,                                                                                                             \
     NULL,                                                                                                             \
     NULL,                                                                                                             \
     NULL}

/* Opens the store at `path`, or creates it, and adds it to the coordinator. `type`, in upper or lower case, is one of
 *
 *   "SQLite"    a database in Apple's layout
 *   "XML"       an XML file as Apple's framework writes it, read and written as a whole
 *   "Binary"    a binary file, read and written as a whole
 *   "InMemory"  no file: empty at first, freed with the coordinator; `path` is a name and may be null
 *   null        the type of the store at `path`, or SQLite if there is no store
 *
 * or a type that the host registered (host_store.h). Options that configure SQLite (journal, history, pragmas, cache,
 * connections, backing files) have no effect on stores of other types. `options` and `out_store` may be NULL. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_add_store(cst_coordinator *coordinator, cst_string type,
                                                               cst_string path, const cst_store_options *options,
                                                               cst_store **out_store CST_OWNED, cst_error **error);

/* Fills a buffer with the plan of a migration of a store to a model, as JSON. The keys are "needed" (false if the store
 * has this model), "losesData", "entities", "steps", "warnings" (about renames that seem to be chained), "problems" and
 * "statements" (SQL). An entity has "source" and "destination" (one of them may be null), "kind" ("add", "remove",
 * "copy" or "transform"), "objects", "added", "removed", "renamed" ([{"from", "to"}]), "filled", "typeChanges" and
 * "lostValues" ([{"attribute", "count"}]: values of removed attributes, pairs of removed relationships). If mapping
 * models or stages migrate the objects, "steps" describes the mappings or stages, and "entities" and "statements" are
 * empty. A problem is an object, value or pair that the new model does not allow. A problem has "message", "entity",
 * "key", "code" and "object".
 *
 * The store is only read, and its folder does not change. The model is frozen. Only the options for migrations and the
 * limits have an effect; `options` may be NULL. Errors are those of the migration, except for "problems". */
CST_EXPORT CST_ANY_THREAD cst_status cst_store_copy_migration_plan(cst_string path, cst_model *model,
                                                                   const cst_store_options *options,
                                                                   cst_buffer *out_json, cst_error **error);

/* Opens an existing store and creates a coordinator for it. If `model` is NULL, the model is read from the store or, if
 * the store does not contain it, inferred from the tables (cst_store_model_source reports the source). XML and binary
 * stores that Apple's framework wrote do not contain their model; pass the model. The store is read-only unless
 * CST_STORE_WRITABLE is set: a read-only store is not locked, and neither its file nor its folder is changed. `options`
 * and `out_store` may be NULL. Fails with CST_E_MODEL_MISMATCH if `model` differs from the store's; the message names
 * entity and property. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_open_store(cst_string path, cst_model *model,
                                                                const cst_store_options *options,
                                                                cst_coordinator **out_coordinator CST_OWNED,
                                                                cst_store **out_store CST_OWNED, cst_error **error);

/* Closes a store, and removes it from the coordinator. Its objects are detached from every context, on the queue of the
 * context. From then on, calls with these objects fail with CST_E_OBJECT_GONE, and CST_NOTIFICATION_OBJECTS_DID_CHANGE
 * reports them as `invalidated`. The unsaved changes of the objects are lost, and the log has a warning with counts by
 * entity. New objects that were not assigned to the store are kept. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_remove_store(cst_coordinator *coordinator, cst_store *store,
                                                                  cst_error **error);

/* The treatment of unsaved changes when a context, a container, a document or a coordinator is closed. Releasing the
 * last handle never fails: the unsaved changes of the context are lost. The log then has a warning with the context's
 * name, the source line at which it was created, and the number of inserted, updated and deleted objects of each
 * entity. The library does not save or close anything when the process exits: close containers, documents and contexts
 * first, for example in a function that is passed to atexit. */
enum {
    CST_UNSAVED_REFUSE = 0, /* closes nothing and fails with CST_E_UNSAVED_CHANGES */
    CST_UNSAVED_SAVE = 1,   /* saves the changes first; closes nothing if that fails */
    CST_UNSAVED_DISCARD = 2 /* discards the changes, without a line in the log */
};

/* Closes all stores of a coordinator, like cst_container_close. Afterwards reading, saving and adding a store fail with
 * CST_E_INVALID_HANDLE. `unsaved` is a CST_UNSAVED_ constant. CST_E_UNSAVED_CHANGES has a detail for each context.
 * Closing twice is allowed. Fails with CST_E_INVALID_HANDLE while another call closes the coordinator. The coordinator
 * of a container or a document is closed together with its container or document. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_close(cst_coordinator *coordinator, uint32_t unsaved,
                                                           cst_error **error);

/* Flags of cst_coordinator_copy_unsaved_changes. */
enum {
    CST_CHANGES_NO_WAIT = 1u << 0, /* the counts of a context that another thread is using are null */
    CST_CHANGES_TOLD = 1u << 1     /* the host reports the changes; deallocating these contexts logs nothing */
};

/* Fills a buffer with the unsaved changes of the contexts of a coordinator as JSON, children first.
 *
 * The form is [{"context", "name", "file", "line", "inserted", "updated", "deleted", "entities": {"Person":
 * {"inserted", "updated", "deleted"}, …}}, …]. "context" is the description of the context in messages, "file" and
 * "line" are the source line at which it was created. "name", "file" and "line" may be null, and so may the counts of a
 * context that another thread is using. `flags` are CST_CHANGES_ constants. With 0 the call waits for the queues of
 * contexts with changes. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_copy_unsaved_changes(cst_coordinator *coordinator, uint32_t flags,
                                                                          cst_buffer *out_json, cst_error **error);

/* Empties a store: removes its rows, tables, metadata and backing files. The file of an SQLite store is kept, and a
 * store that is later added at `path` is new. Files of other types are deleted. An SQLite store is emptied in one
 * transaction under SQLite's locks. A null `type` is the type of the store at `path`. If the coordinator has the store
 * open, the store is first removed from the coordinator.
 *
 * Returns CST_UNCHANGED if there is no file in an existing folder. Of the options, which may be NULL, only
 * busy_timeout_ms and CST_STORE_FORCE_DESTROY have an effect.
 *
 * CST_E_STORE_IO if the folder does not exist.
 * CST_E_INVALID_ARGUMENT for /dev/null.
 * CST_E_NOT_A_STORE for a file of another program, which stays unchanged.
 * CST_E_STORE_BUSY while another process writes to an SQLite store. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_destroy_store(cst_coordinator *coordinator, cst_string type,
                                                                   cst_string path, const cst_store_options *options,
                                                                   cst_error **error);

/* Replaces the store at `path` atomically with a copy of the store at `source_path` and its backing files. There need
 * not be a store at `path`. The copy has the identifier of the source. A null `type` is the type of the source. If the
 * coordinator has the store at `path` open, the store is first removed from the coordinator. Fails with
 * CST_E_STORE_BUSY while another process writes; the store at `path` is then unchanged. Of the options, which may be
 * NULL, only busy_timeout_ms and file_mode have an effect. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_replace_store(cst_coordinator *coordinator, cst_string type,
                                                                   cst_string path, cst_string source_path,
                                                                   const cst_store_options *options, cst_error **error);

/* Changes the path of an open store to `path` (setURL:forPersistentStore:). The next save writes an atomic store to
 * `path`, even if the context has no changes. The file of an SQLite store must have been moved or copied to `path`
 * while nothing was saved. Fails with CST_E_INVALID_ARGUMENT if the file at `path` is that of another store. On failure
 * the store stays at its former path. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_set_store_path(cst_coordinator *coordinator, cst_store *store,
                                                                    cst_string path, cst_error **error);

/* Returns the number of open stores, or 0 for an invalid handle and in a forked child. */
CST_EXPORT CST_ANY_THREAD size_t cst_coordinator_store_count(const cst_coordinator *coordinator);

/* Returns the open store at an index, in the order in which the stores were added. Returns CST_NOT_FOUND past the last
 * one. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_store(const cst_coordinator *coordinator, size_t index,
                                                           cst_store **out_store CST_OWNED, cst_error **error);

/* Returns the open store whose file is at `path`, in any spelling of the path. Returns CST_NOT_FOUND if there is no
 * such store. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_store_at(const cst_coordinator *coordinator, cst_string path,
                                                              cst_store **out_store CST_OWNED, cst_error **error);

/* Fills a buffer with the metadata of an open store like cst_store_copy_metadata.
 *
 * The metadata includes entries that were set and are not written yet. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_copy_metadata(const cst_coordinator *coordinator,
                                                                   const cst_store *store, cst_buffer *out_plist,
                                                                   cst_error **error);

/* Replaces the metadata of an open store. The next save of a context without a parent writes the metadata, even if the
 * context has no changes. `plist` is a property list, binary or XML, with all entries. Type, UUID and versions of the
 * store are kept if `plist` omits them. Fails with CST_E_INVALID_ARGUMENT if `plist` would change them, and for content
 * that an XML store cannot contain: null, some characters and some dates. The error names the key. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_set_metadata(cst_coordinator *coordinator, cst_store *store,
                                                                  cst_bytes plist, cst_error **error);

/* Copies an open store in its current state, with its backing files. Meanwhile other threads and processes can read.
 * They can also save if the store has a write-ahead log. Otherwise saves of this coordinator wait for the end of the
 * copy, and saves of other processes to an SQLite store at most for their time-out. `path` must be unused, or an older
 * copy of the store, which is replaced atomically. An incomplete copy remains after CST_E_STORE_BUSY because of backing
 * files that were removed during the copy. `progress` counts bytes. `progress` and `options` may be NULL. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_backup_store(cst_coordinator *coordinator, cst_store *store,
                                                                  cst_string path, const cst_store_options *options,
                                                                  cst_progress_fn progress, void *userdata,
                                                                  cst_error **error);

/* The modes of a checkpoint. */
enum {
    CST_CHECKPOINT_PASSIVE = 0, /* copies as many pages as possible without waiting */
    CST_CHECKPOINT_FULL = 1,    /* copies all pages: waits for writers and for readers of older states */
    CST_CHECKPOINT_RESTART = 2, /* in addition, waits until no reader uses the log */
    CST_CHECKPOINT_TRUNCATE = 3 /* in addition, truncates the log to zero bytes */
};

/* Copies the write-ahead log of an SQLite store into its file. SQLite also does this automatically. `mode` is a
 * CST_CHECKPOINT_ constant. `out_pages` receives the number of frames in the log, and `out_checkpointed` the number of
 * these frames that were copied into the file; both may be NULL. Returns CST_UNCHANGED for a store without a log. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_checkpoint_store(cst_coordinator *coordinator, cst_store *store,
                                                                      uint32_t mode, uint64_t *out_pages,
                                                                      uint64_t *out_checkpointed, cst_error **error);

/* Updates the statistics of the values, by which SQLite chooses indexes, and removes orphaned backing files.
 * `out_removed` receives the number of removed files and may be NULL. A save of many objects updates the statistics
 * automatically. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_optimize_store(cst_coordinator *coordinator, cst_store *store,
                                                                    uint64_t *out_removed, cst_error **error);

/* Copies a store to another type or path, and replaces the store by the copy in the coordinator.
 *
 * A null `type` is "SQLite". `path` must be unused, or the path of a store without objects. All objects, backing files
 * and the host's metadata are copied; then the old store is removed as by cst_coordinator_remove_store, and its file is
 * kept. Every object receives a new ID; CST_COORDINATOR_STORES_DID_CHANGE reports the IDs. `progress` counts objects.
 * `options`, `progress` and `out_store` may be NULL; the configuration is that of the old store. On failure the old
 * store stays open, and a file that was created for the new store is removed. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_migrate_store(cst_coordinator *coordinator, cst_store *store,
                                                                   cst_string type, cst_string path,
                                                                   const cst_store_options *options,
                                                                   cst_progress_fn progress, void *userdata,
                                                                   cst_store **out_store CST_OWNED, cst_error **error);

/* Compares the objects in the first stores of two coordinators, regardless of store types and primary keys. The objects
 * of an entity are paired in the order of their primary keys, which a migration keeps. Values are compared exactly,
 * members of ordered relationships in order. `out_report` is filled with JSON: {"objects": …, "values": …, "equal": …,
 * "differences": …, "details": [the first differences as sentences]}; the stores are equal if "differences" is 0. Fails
 * with CST_E_INVALID_ARGUMENT if the models differ in an entity, a stored property or its type; the error has entity
 * and key. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_compare(const cst_coordinator *coordinator,
                                                             const cst_coordinator *other, cst_buffer *out_report,
                                                             cst_error **error);

/* Returns the model of the coordinator. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_model(const cst_coordinator *coordinator,
                                                           cst_model **out_model CST_BORROWED, cst_error **error);

/* Notifications of a coordinator. They are posted on the thread that causes them, without a lock held. */
enum {
    CST_COORDINATOR_STORES_DID_CHANGE = 1, /* a store was added, removed or replaced by another store */
    CST_COORDINATOR_WILL_REMOVE_STORE = 2, /* `removed` is about to be removed; it is still open and can be read */
    CST_COORDINATOR_REMOTE_CHANGE = 3      /* another process or coordinator wrote into a store: remote.h */
};

/* Events of the file of a store; see remote.h. */
enum {
    CST_STORE_FILE_WRITTEN = 0,
    /* The path now names another file or, for CST_STORE_FILE_REMOVED, no file. The store continues with the file that
     * it opened: remove the store and add it again. */
    CST_STORE_FILE_REPLACED = 1,
    CST_STORE_FILE_REMOVED = 2
};

/* A change by another process or coordinator, for CST_COORDINATOR_REMOTE_CHANGE. Borrowed for the call. */
typedef struct cst_remote_change {
    const cst_store *store;
    cst_string store_identifier, path;
    bool has_history;    /* whether `transaction` is set */
    int64_t transaction; /* the number of the last transaction in the store's history */
    bool is_own;         /* a context of this coordinator saved */
    uint32_t file;       /* CST_STORE_FILE_… */
} cst_remote_change;

/* The content of a notification of a coordinator. Borrowed for the call; retain a handle with cst_retain to keep it. */
typedef struct cst_store_changes {
    size_t added_count;
    cst_store *const *added;
    size_t removed_count;
    cst_store *const *removed;
    /* A store that another one replaced, and the old and new IDs of its objects: old, new, old, new. NULL if no store
     * was replaced. */
    cst_store *old_store, *new_store;
    cst_results *migrated_ids;
    const cst_remote_change *remote; /* for CST_COORDINATOR_REMOTE_CHANGE, otherwise NULL */
} cst_store_changes;

/* Receives a notification of a coordinator. Coordinator and changes are borrowed for the call. The function may use the
 * coordinator without restriction. */
typedef void (*cst_coordinator_observe_fn)(void *userdata, cst_coordinator *coordinator, uint32_t notification,
                                           const cst_store_changes *changes);

/* Calls `observe` whenever the coordinator posts the notification, until the observation ends (observation.h). */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_observe(cst_coordinator *coordinator, uint32_t notification,
                                                             cst_coordinator_observe_fn observe, void *userdata,
                                                             cst_destroy_fn destroy,
                                                             cst_observation **out_observation CST_OWNED,
                                                             cst_error **error);

/* Counters of the work that contexts requested from the stores of a coordinator. Start from CST_STATISTICS_INIT. */
typedef struct cst_statistics {
    size_t struct_size;
    uint64_t fetches;             /* requests answered by stores, including counts and fetches of IDs */
    uint64_t fetched_rows;        /* rows and IDs returned for them */
    uint64_t faults;              /* objects whose row was read singly: many for one fetch indicate the N+1 problem */
    uint64_t faulted_rows;        /* rows read for faults, their siblings and prefetching */
    uint64_t relationship_faults; /* queries for the members of to-many relationships */
    uint64_t cache_hits;          /* rows that an object needed and that were in the row cache */
    uint64_t cache_misses;
    uint64_t saves; /* one for each store that a save writes */
    uint64_t inserted;
    uint64_t updated;
    uint64_t deleted;
    uint64_t fetch_nanoseconds;
    uint64_t save_nanoseconds;
    uint64_t row_bytes; /* memory now used for rows in objects and row caches of the whole process */
} cst_statistics;
#define CST_STATISTICS_INIT {sizeof(cst_statistics), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}

/* Returns the counters of a coordinator in a struct that was initialised with CST_STATISTICS_INIT. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_statistics(const cst_coordinator *coordinator,
                                                                cst_statistics *out_statistics, cst_error **error);

/* Sets the counters of cst_coordinator_statistics to 0. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_reset_statistics(cst_coordinator *coordinator, cst_error **error);

/* A function that runs while no other code saves to the coordinator's stores. To fail, the function returns a negative
 * status and may set *error (cst_error_new_custom). */
typedef cst_status (*cst_coordinator_perform_fn)(void *userdata, cst_error **error);

/* Runs `body` later, on a thread of the coordinator, in the order of the calls. While `body` runs, no other code saves
 * to the coordinator's stores; other threads can read. A failure of `body` is ignored. `destroy` is called after
 * `body`. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_perform(cst_coordinator *coordinator,
                                                             cst_coordinator_perform_fn body, void *userdata,
                                                             cst_destroy_fn destroy, cst_error **error);

/* Waits for saves in progress, then runs `body` on the calling thread.
 *
 * While `body` runs, no other code saves to the coordinator's stores. Other threads can read. Fails with
 * CST_E_INVALID_ARGUMENT during a fetch or a save of the calling thread. In `body`, waiting for the queue of a context
 * fails with CST_E_INVALID_ARGUMENT, because the owner of that queue may be waiting for this call. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_perform_and_wait(cst_coordinator *coordinator,
                                                                      cst_coordinator_perform_fn body, void *userdata,
                                                                      cst_error **error);

/* Creates the object ID for a URI. Returns CST_NOT_FOUND if the URI is not that of an object in a store of the
 * coordinator. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_object_id(const cst_coordinator *coordinator, cst_string uri,
                                                               cst_object_id **out_id CST_OWNED, cst_error **error);

/* Returns the identifier of the store, the host part of its objects' URIs. It is usually a UUID as text. */
CST_EXPORT CST_ANY_THREAD CST_BORROWED cst_string cst_store_identifier(const cst_store *store);

/* Returns the type of the store: "SQLite", "XML", "Binary", "InMemory", or a type that the host registered. */
CST_EXPORT CST_ANY_THREAD CST_BORROWED cst_string cst_store_type(const cst_store *store);

/* Returns the path of the store, or a null string for an invalid handle and in a forked child. */
CST_EXPORT CST_ANY_THREAD CST_BORROWED cst_string cst_store_path(const cst_store *store);

/* Returns the configuration for which the store was added, or a null string for the whole model. */
CST_EXPORT CST_ANY_THREAD CST_BORROWED cst_string cst_store_configuration(const cst_store *store);

/* Fills a buffer with the options with which the store was opened, as a JSON object.
 *
 * The keys are those of the Python method add_store, for example "busy_timeout", "configuration" and "pragmas". Only
 * options whose value is not the default are included, and none of those of a migration. Options of a type that the
 * host registered are in "options". */
CST_EXPORT CST_ANY_THREAD cst_status cst_store_copy_options(const cst_store *store, cst_buffer *out_json,
                                                            cst_error **error);

/* Whether the store is read-only; cst_store_read_only_reason returns the reason. */
CST_EXPORT CST_ANY_THREAD cst_status cst_store_is_read_only(const cst_store *store, bool *out_read_only,
                                                            cst_error **error);

/* Returns the number of warnings about options that were passed when the store was added and have no effect. */
CST_EXPORT CST_ANY_THREAD size_t cst_store_warning_count(const cst_store *store);

/* Returns the warning at an index, with the option and the reason, or a null string past the last one. */
CST_EXPORT CST_ANY_THREAD CST_BORROWED cst_string cst_store_warning(const cst_store *store, size_t index);

/* Returns the reason why the store is read-only and the remedy; a null string for a writable store.
 *
 * The string is a clause for a message. */
CST_EXPORT CST_ANY_THREAD CST_BORROWED cst_string cst_store_read_only_reason(const cst_store *store);

/* The source of the model of an open store. */
enum {
    CST_MODEL_GIVEN = 1,   /* the caller passed it */
    CST_MODEL_CACHED = 2,  /* the store contains it */
    CST_MODEL_INFERRED = 3 /* inferred from the tables: property names are in lower case, and parts are guesses */
};

/* Returns the source of the model of an open store: CST_MODEL_GIVEN, CST_MODEL_CACHED or CST_MODEL_INFERRED. */
CST_EXPORT CST_ANY_THREAD cst_status cst_store_model_source(const cst_store *store, uint32_t *out_source,
                                                            cst_error **error);

/* Fills a buffer with the metadata of the store at `path` as a binary property list. The metadata has the version of
 * the framework that wrote the store, the version hashes of the entities, the entries of the application, and
 * NSStoreUUID. The call does not require a model and does not change the store. */
CST_EXPORT CST_ANY_THREAD cst_status cst_store_copy_metadata(cst_string path, cst_buffer *out_plist, cst_error **error);

/* Replaces the metadata of the store at `path` immediately. Otherwise like cst_coordinator_set_metadata. */
CST_EXPORT CST_ANY_THREAD cst_status cst_store_set_metadata(cst_string path, cst_bytes plist, cst_error **error);

/* Whether Apple's framework would accept the store at `path` with `model`.
 *
 * The answer is correct as far as the file permits a conclusion. A `model` of NULL stands for the model in the store.
 * Does not change the store. `out_report` is filled with JSON: {"accepted": …, "problems": […], "extrapolations": […]};
 * each problem and each extrapolation is {"entity": …, "property": …, "text": …}. Extrapolations are assumptions that
 * are not confirmed by a file that Apple's framework wrote. */
CST_EXPORT CST_ANY_THREAD cst_status cst_store_check_apple(cst_string path, cst_model *model, bool *out_accepted,
                                                           cst_buffer *out_report, cst_error **error);

/* The kinds of problems that cst_store_check finds: the codes of its details. */
enum {
    CST_PROBLEM_DATABASE = 1,      /* the SQLite database itself is damaged */
    CST_PROBLEM_ROW = 2,           /* a row is not of an entity of its table, or lacks a version or a primary key */
    CST_PROBLEM_REFERENCE = 3,     /* a to-one relationship refers to a missing row, or to one of another entity */
    CST_PROBLEM_PAIR = 4,          /* a pair of a many-to-many relationship refers to a missing row */
    CST_PROBLEM_PRIMARY_KEY = 5,   /* the next primary key is already in use */
    CST_PROBLEM_METADATA = 6,      /* the metadata contradicts itself or the model, or a cached model is unusable */
    CST_PROBLEM_EXTERNAL_DATA = 7, /* a backing file is missing */
    CST_PROBLEM_HISTORY = 8,       /* the history of changes refers to missing data */
    CST_PROBLEM_CONSTRAINT = 9,    /* values violate a unique constraint, or the file does not enforce it */
    CST_PROBLEM_DERIVED = 10,      /* a derived attribute has a wrong value, or the file does not compute it */
    CST_PROBLEM_SPATIAL = 11,      /* objects are missing from an R-tree index, or the file does not update the index */
    CST_PROBLEM_SPEED = 12,        /* an index is missing, so fetches may be slow: a warning */
    CST_PROBLEM_LOG = 13,          /* the write-ahead log is damaged: changes saved in it cannot be read */
    CST_PROBLEM_TRIGGER = 14       /* a trigger is not one of Core Data's, so the store opens read-only: a warning */
};

/* Checks the integrity of the store at `path`, including the invariants on which Core Data relies. Does not change the
 * store. A NULL `model` selects the model of the store. *out_problems is NULL if there is no problem. Otherwise it is
 * an error with the status CST_E_STORE_CORRUPT and a detail for each problem: the code of a detail is CST_PROBLEM_…,
 * and entity, key and object URI are set where they are known. A store is intact if all problems are CST_PROBLEM_SPEED
 * or CST_PROBLEM_TRIGGER, which come last. */
CST_EXPORT CST_ANY_THREAD cst_status cst_store_check(cst_string path, cst_model *model,
                                                     cst_error **out_problems CST_OWNED, cst_error **error);

/* Fills a buffer with the orphaned backing files of the store at `path`, to which no row refers. Such files remain
 * after interrupted saves; they occupy space and have no other effect. Does not change the store. The report is JSON:
 * {"folder": …, "names": […], "bytes": …, "sharer": …}. Files younger than ten minutes are not listed, because a
 * running save may have written them. No file is listed if another store (`sharer`, otherwise null) has its backing
 * files in the same folder. */
CST_EXPORT CST_ANY_THREAD cst_status cst_store_copy_leftovers(cst_string path, cst_buffer *out_report,
                                                              cst_error **error);

/* Removes the files that cst_store_copy_leftovers lists, and fills a buffer with the removed files.
 *
 * The files are removed under the lock of a save.
 *
 * CST_E_STORE_CORRUPT for a damaged database, whose rows are not reliable.
 * CST_E_UNSUPPORTED for a folder that another store shares. */
CST_EXPORT CST_ANY_THREAD cst_status cst_store_remove_leftovers(cst_string path, cst_buffer *out_report,
                                                                cst_error **error);

/* The formats of dates in views. */
enum {
    CST_DATES_TEXT = 0,     /* ISO 8601 in UTC, to the millisecond */
    CST_DATES_UNIX = 1,     /* seconds since 1970 */
    CST_DATES_REFERENCE = 2 /* seconds since 2001, as they are stored */
};

/* Fills a buffer with SQL statements that create views of the SQLite store at `path` with the names of its model. There
 * is a view for each entity, and for each relationship with a join table. A NULL `model` selects the model of the
 * store, or a model inferred from its tables. `dates` is a CST_DATES_ constant. If `temporary` is true, the views exist
 * until their connection is closed. Other views are for copies of the store: Apple's framework could not migrate a
 * store with views. Does not change the store. */
CST_EXPORT CST_ANY_THREAD cst_status cst_store_copy_views(cst_string path, cst_model *model, uint32_t dates,
                                                          bool temporary, cst_buffer *out_sql, cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
