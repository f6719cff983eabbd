/* corestone/store.h: coordinators and stores
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_STORE_H
#define CORESTONE_STORE_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ======== coordinator, store ============================================================================= */

/* A coordinator for a model, which it freezes. It and its stores may be used by any thread. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_new(cst_model *model, cst_coordinator **out_coordinator CST_OWNED,
                                                         cst_error **error);

enum {
    CST_STORE_READ_ONLY = 1u << 0,        /* never changes the file or its folder */
    CST_STORE_MUST_EXIST = 1u << 1,       /* a missing file is an error instead of a new store */
    CST_STORE_NORMAL_SYNC = 1u << 2,      /* WAL without an fsync per save: a power cut may undo the last saves */
    CST_STORE_ROLLBACK_JOURNAL = 1u << 3, /* a rollback journal instead of WAL */
    /* Each save writes down which objects it inserted, changed and deleted, as Apple's persistent history does. A store
       that keeps a history already goes on without this flag. */
    CST_STORE_HISTORY = 1u << 4,
    CST_STORE_WRITABLE = 1u << 5, /* cst_coordinator_open_store: saves are wanted */
    /* CST_COORDINATOR_REMOTE_CHANGE is posted for what contexts of this coordinator save, too. */
    CST_STORE_POSTS_OWN_CHANGES = 1u << 6,
    CST_STORE_ANALYZE = 1u
        << 7, /* SQLite looks how values are spread, as the store is opened, to choose indexes by that */
    CST_STORE_VACUUM = 1u
        << 8, /* the database is written anew, as the store is opened, without the room of deleted rows */
    /* The store need not have been written with this model. What it lacks is null or empty; what the model lacks is not seen, and
       is never lost. Opened for writing, the store becomes one of this model (docs/reference/store.md). */
    CST_STORE_IGNORE_VERSIONING = 1u << 9,
    /* cst_coordinator_destroy_store: if others keep the store locked, its files are removed; they go on with files that have no
       names. */
    CST_STORE_FORCE_DESTROY = 1u << 10
};

/* One of SQLite's settings, by name: "cache_size", "-65536". */
typedef struct cst_pragma {
    cst_string name, value;
} cst_pragma;

typedef struct cst_store_options {
    size_t struct_size;
    uint32_t flags;           /* CST_STORE_… */
    uint32_t busy_timeout_ms; /* how long to wait for another process's lock; 0 is 5000 */
    uint32_t cache_kb;        /* SQLite's page cache, of each connection; 0 is 32768 */
    /* How often a store that is watched (section remote) is looked at without being told to; 0: 500 where the file system does
       not tell of writes, as those of networks, 30000 where it does. */
    uint32_t watch_interval_ms;
    /* The configuration of the model whose objects the store is for: new objects go to the first writable store whose
       configuration has their entity, and fetches ask only the stores that can have it. Null: those of the whole model. The
       tables are those of the whole model in any case. */
    cst_string configuration;
    uint32_t max_connections; /* how many threads may read the store at a time, or save; 0 is 8 */
    uint32_t
        file_mode; /* permissions of a new store's file, 0600 to 0777; 0: as the process's mask says. What lies beside a
                           store has those of its file. */
    /* Values of more bytes lie in files of their own, where the attribute allows it; 0 is 102400, UINT64_MAX never. */
    uint64_t external_threshold;
    /* Settings for every connection. Names and values that are not in the list of docs/reference/store.md are
       CST_E_INVALID_ARGUMENT, with name and value as key and value of the error; nothing of it becomes SQL. */
    size_t pragma_count;
    const cst_pragma *pragmas;
    /* Options of Apple's framework for what does not exist here (ubiquity, external records, file protection, …), by the names
       of their keys. They do nothing; cst_store_warning says so. */
    size_t foreign_option_count;
    const cst_string *foreign_options;
    /* Whatever a store of a host's own kind (section host store) is to know, by name: each of host_option_names has a value in
       host_option_values. CST_E_INVALID_ARGUMENT for stores of other types. */
    size_t host_option_count;
    const cst_string *host_option_names;
    const cst_value *host_option_values;
    /* How much a file may have this process do, whoever wrote it; what goes beyond is an error that names limit, value and option
       (docs/reference/store.md, "Limits"). 0 is the default. */
    uint64_t
        value_limit; /* bytes of one value or row of an SQLite store, and of the holes of a sparse file; 0 is 67108864 */
    uint64_t memory_limit;   /* bytes that expressions of an SQLite file's schema may take together; 0 is 134217728 */
    uint64_t step_limit;     /* SQLite's instructions for one statement that writes, and 100 for each byte of the file
                                besides; 0 is 200000000 */
    uint64_t external_limit; /* bytes of one file with a large value, read or copied; 0 is 2147483647 */
} cst_store_options;
#define CST_STORE_OPTIONS_INIT                                                                                         \
    {sizeof(cst_store_options), 0, 0, 0, 0, {NULL, 0}, 0, 0, 0, 0, NULL, 0, NULL, 0, NULL, NULL, 0, 0, 0, 0}

/* Opens the store at `path`, or makes it. `type`, in any case of letters, is
 *   "SQLite": a database in Apple's layout;
 *   "XML": a file of XML as Apple's framework writes it, and "Binary": a binary file, both read and written as a whole;
 *   "InMemory": no file. It is empty, and ends with the coordinator; `path` is what it is called, and may be null;
 *   null: what lies at `path`, and SQLite where nothing does.
 * Options that say nothing of the type speak of SQLite stores and are without meaning for others, but for the configuration,
 * CST_STORE_READ_ONLY, CST_STORE_MUST_EXIST, busy_timeout_ms and, where there is a file, file_mode. options and out_store may be NULL. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_add_store(cst_coordinator *coordinator, cst_string type,
                                                               cst_string path, const cst_store_options *options,
                                                               cst_store **out_store CST_OWNED, cst_error **error);
/* Opens a store that is there already, and makes a coordinator for it: of `model`, or when that is NULL of the
 * model that the store carries, or else of one inferred from its tables (cst_store_model_source tells); only SQLite stores
 * carry their model, others need one. Read-only unless
 * CST_STORE_WRITABLE: neither the file nor its folder changes then, and nothing in it is locked. options and out_store
 * may be NULL. CST_E_MODEL_MISMATCH when `model` is another one than the store's; entity and property are named. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_open_store(cst_string path, cst_model *model,
                                                                const cst_store_options *options,
                                                                cst_coordinator **out_coordinator CST_OWNED,
                                                                cst_store **out_store CST_OWNED, cst_error **error);
/* Closes a store. Its objects leave every context, each on its own queue: they are CST_E_OBJECT_GONE from then on, and `invalidated` in
 * CST_NOTIFICATION_OBJECTS_DID_CHANGE. What was not saved of them is lost, and the log has a warning with counts by entity; new objects
 * that are in no store yet stay. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_remove_store(cst_coordinator *coordinator, cst_store *store,
                                                                  cst_error **error);
/* What becomes of changes that were not saved when a context, a container, a document or a coordinator is closed. The release of
 * a last handle asks nobody: unsaved changes of a context that ends are lost, and the log has a warning with its name, where it
 * was made, and how many objects of each entity were inserted, updated and deleted. The library does nothing by itself when the
 * process exits: close containers, documents and contexts before, for example in a function that you give to atexit. */
enum {
    CST_UNSAVED_REFUSE = 0, /* nothing is closed: CST_E_UNSAVED_CHANGES */
    CST_UNSAVED_SAVE = 1,   /* they are saved first; what cannot be, keeps all of it open */
    CST_UNSAVED_DISCARD = 2 /* they are lost, without a line in the log */
};
/* Closes all stores, as cst_container_close; the coordinator and its contexts can read and save nothing any more, and no store can be
 * added: CST_E_INVALID_HANDLE. `unsaved` is a CST_UNSAVED_ constant. CST_E_UNSAVED_CHANGES has a detail for each context. Closing
 * twice is fine; CST_E_INVALID_HANDLE while another call closes it. One of a container or of a document is closed with that. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_close(cst_coordinator *coordinator, uint32_t unsaved,
                                                           cst_error **error);
enum {
    CST_CHANGES_NO_WAIT = 1u << 0, /* the counts of a context that another thread uses at the moment are null */
    CST_CHANGES_TOLD = 1u << 1     /* the host tells of them, so that the log has no line when these contexts end */
};
/* What the contexts of a coordinator have not saved, those on top of other contexts first: [{"context", "name", "file", "line",
 * "inserted", "updated", "deleted", "entities": {"Person": {"inserted", "updated", "deleted"}, …}}, …]. "context" is what
 * messages call it, "file" and "line" are where it was made; the name, these, and the counts of a context that another thread
 * uses, may be null. `flags` are CST_CHANGES_ constants, or 0: waits for the queues of contexts with changes. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_copy_unsaved_changes(cst_coordinator *coordinator, uint32_t flags,
                                                                          cst_buffer *out_json, cst_error **error);
/* Empties a store: rows, tables, metadata and files of external data go, the file stays, and a store added there begins anew.
 * One transaction under SQLite's locks: CST_E_STORE_BUSY while somebody writes. The file of an XML or a binary store is removed.
 * `type` may be null: that of the store which is there. If the coordinator has the store open, it is
 * removed first. CST_UNCHANGED when there is no file in a folder that is there, CST_E_STORE_IO without the folder,
 * CST_E_INVALID_ARGUMENT for /dev/null; CST_E_NOT_A_STORE for another program's, which stays as it is. Of the options, which may be
 * NULL, busy_timeout_ms and CST_STORE_FORCE_DESTROY mean something. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_destroy_store(cst_coordinator *coordinator, cst_string type,
                                                                   cst_string path, const cst_store_options *options,
                                                                   cst_error **error);
/* Puts the store at `source_path` in the place of the one at `path`, or where nothing is: a copy with the files of external
 * data, in one step, under SQLite's locks; it keeps the identifier. `type` null: that of the source. A store that the coordinator
 * has open at `path` is removed first. CST_E_STORE_BUSY while somebody else writes; what was at `path` stays then. options may be
 * NULL: busy_timeout_ms and file_mode mean something. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_replace_store(cst_coordinator *coordinator, cst_string type,
                                                                   cst_string path, cst_string source_path,
                                                                   const cst_store_options *options, cst_error **error);
/* Has an open store lie at `path` from now on (setURL:forPersistentStore:). A store that is written as a whole goes there
 * with the next save, also of a context without changes. Of an SQLite store the file has to be there, moved or copied while
 * nothing was saved: CST_E_INVALID_ARGUMENT for another store's. On failure the store is where it was. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_set_store_path(cst_coordinator *coordinator, cst_store *store,
                                                                    cst_string path, cst_error **error);
/* The open stores, in order. CST_NOT_FOUND for an index too large. */
CST_EXPORT CST_ANY_THREAD size_t cst_coordinator_store_count(const cst_coordinator *coordinator);
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_store(const cst_coordinator *coordinator, size_t index,
                                                           cst_store **out_store CST_OWNED, cst_error **error);
/* The open store whose file is at `path`, however it was written; CST_NOT_FOUND when there is none. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_store_at(const cst_coordinator *coordinator, cst_string path,
                                                              cst_store **out_store CST_OWNED, cst_error **error);
/* What an open store says about itself, as cst_store_copy_metadata, with what was set and is not written yet. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_copy_metadata(const cst_coordinator *coordinator,
                                                                   const cst_store *store, cst_buffer *out_plist,
                                                                   cst_error **error);
/* Replaces it, with the next save of any context, also of one without changes. `plist` is a property list, binary or XML,
 * with all entries; the store's type, UUID and versions stay when they are not given, and are CST_E_INVALID_ARGUMENT when
 * they differ, as is what an XML store cannot hold: null, and characters and dates that XML lacks. The error names the key. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_set_metadata(cst_coordinator *coordinator, cst_store *store,
                                                                  cst_bytes plist, cst_error **error);
/* Told how many bytes of how many are done, on the thread of the call. It may read from the store, and not save. False ends the
 * call with CST_E_CANCELLED. */
typedef bool (*cst_progress_fn)(void *userdata, uint64_t done, uint64_t total);
/* Copies an open store, in the state of now and with its files of external data, while others go on reading and saving. At `path`
 * is nothing, or a former copy of the store, which is overwritten in one step. progress and options may be NULL. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_backup_store(cst_coordinator *coordinator, cst_store *store,
                                                                  cst_string path, const cst_store_options *options,
                                                                  cst_progress_fn progress, void *userdata,
                                                                  cst_error **error);
/* How far a checkpoint goes. */
enum {
    CST_CHECKPOINT_PASSIVE = 0, /* as far as nobody is in the way */
    CST_CHECKPOINT_FULL = 1,    /* all: waits for who writes, and for readers of older states */
    CST_CHECKPOINT_RESTART = 2, /* then waits until nobody reads the log */
    CST_CHECKPOINT_TRUNCATE = 3 /* then cuts the log to nothing */
};
/* Brings the write-ahead log of an SQLite store into its file, as is done now and then anyway. The pages in the log and those of
 * them that are in the file; both may be NULL. CST_UNCHANGED for a store without a log. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_checkpoint_store(cst_coordinator *coordinator, cst_store *store,
                                                                      uint32_t mode, uint64_t *out_pages,
                                                                      uint64_t *out_checkpointed, cst_error **error);
/* Renews what SQLite knows of how values are spread, by which it chooses indexes, and removes files of external data that no row
 * refers to: *out_removed of them; it may be NULL. A save of many objects does the first by itself. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_optimize_store(cst_coordinator *coordinator, cst_store *store,
                                                                    uint64_t *out_removed, cst_error **error);
/* Saves a store as one of another type (null: "SQLite") or at another `path`, where nothing is or a store without objects,
 * and goes on with that one: all that it holds is copied, then it is removed, as by cst_coordinator_remove_store; its file
 * stays. Every object has a new ID, of which CST_COORDINATOR_STORES_DID_CHANGE tells. options, progress (which is told
 * objects) and out_store may be NULL; the configuration is that of the old store. On failure the old store is open as
 * before, and a file that was made for the new one is gone. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_migrate_store(cst_coordinator *coordinator, cst_store *store,
                                                                   cst_string type, cst_string path,
                                                                   const cst_store_options *options,
                                                                   cst_progress_fn progress, void *userdata,
                                                                   cst_store **out_store CST_OWNED, cst_error **error);
/* Whether the first stores of two coordinators hold the same graph, whatever their types and the keys of their rows.
 * Objects of an entity are paired in the order of their keys, which a migration keeps; values are compared to the last bit,
 * members of ordered relationships in order. The report is JSON: {"objects": …, "values": …, "equal": …, "differences": …,
 * "details": [sentences, the first ones]}; the stores are equal where differences is 0. CST_E_INVALID_ARGUMENT for models
 * with different entities. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_compare(const cst_coordinator *coordinator,
                                                             const cst_coordinator *other, cst_buffer *out_report,
                                                             cst_error **error);
/* The model of the coordinator. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_model(const cst_coordinator *coordinator,
                                                           cst_model **out_model CST_BORROWED, cst_error **error);
/* What a coordinator posts, on the thread that causes it, while nothing is locked. */
enum {
    CST_COORDINATOR_STORES_DID_CHANGE = 1, /* a store was added or removed, or another one took its place */
    CST_COORDINATOR_WILL_REMOVE_STORE = 2, /* `removed` is about to be; it is still open, its objects can be read */
    CST_COORDINATOR_REMOTE_CHANGE = 3      /* somebody else wrote into a store: section remote */
};
/* What became of a store's file; section remote. */
enum {
    CST_STORE_FILE_WRITTEN = 0,
    /* Another file has its name now, or none. The store goes on with the one that it opened: remove it, and add it anew. */
    CST_STORE_FILE_REPLACED = 1,
    CST_STORE_FILE_REMOVED = 2
};
typedef struct cst_remote_change {
    const cst_store *store;
    cst_string store_identifier, path;
    bool has_history;    /* whether `transaction` says anything */
    int64_t transaction; /* the number of the last one in the store's history */
    bool is_own;         /* a context of this coordinator saved */
    uint32_t file;       /* CST_STORE_FILE_… */
} cst_remote_change;
/* What a notification of a coordinator is about. All of it is borrowed for the call (cst_retain keeps a handle). */
typedef struct cst_store_changes {
    size_t added_count;
    cst_store *const *added;
    size_t removed_count;
    cst_store *const *removed;
    /* A store whose place another one took, with objects of other IDs, as IDs: old, new, old, new. NULL where none did. */
    cst_store *old_store, *new_store;
    cst_results *migrated_ids;
    const cst_remote_change *remote; /* NULL but for CST_COORDINATOR_REMOTE_CHANGE */
} cst_store_changes;
typedef void (*cst_coordinator_observe_fn)(void *userdata, cst_coordinator *coordinator, uint32_t notification,
                                           const cst_store_changes *changes);
/* Calls `observe` whenever the coordinator posts the notification, until the observation ends (section observation). The
 * coordinator is borrowed for the call. The callback may use it at will. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_observe(cst_coordinator *coordinator, uint32_t notification,
                                                             cst_coordinator_observe_fn observe, void *userdata,
                                                             cst_destroy_fn destroy,
                                                             cst_observation **out_observation CST_OWNED,
                                                             cst_error **error);
/* What contexts have asked of the stores of a coordinator. */
typedef struct cst_statistics {
    size_t struct_size;
    uint64_t fetches;             /* requests that stores answered, counts and fetches of IDs among them */
    uint64_t fetched_rows;        /* rows and IDs that they gave */
    uint64_t faults;              /* objects whose row was needed one by one: many for one fetch are the N+1 problem */
    uint64_t faulted_rows;        /* rows that stores gave to faults, their siblings and prefetching */
    uint64_t relationship_faults; /* queries for the members of to-many relationships */
    uint64_t cache_hits;          /* rows that the row cache had when an object needed them */
    uint64_t cache_misses;
    uint64_t saves; /* once for each store that a save writes */
    uint64_t inserted;
    uint64_t updated;
    uint64_t deleted;
    uint64_t fetch_nanoseconds;
    uint64_t save_nanoseconds;
    uint64_t row_bytes; /* memory of the rows that objects and row caches of the whole process hold now; no count */
} cst_statistics;
#define CST_STATISTICS_INIT {sizeof(cst_statistics), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
/* Fills a struct that was initialised with CST_STATISTICS_INIT. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_statistics(const cst_coordinator *coordinator,
                                                                cst_statistics *out_statistics, cst_error **error);
/* Begins to count anew. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_reset_statistics(cst_coordinator *coordinator, cst_error **error);
/* Runs in the middle of a coordinator's perform. To fail, see cst_context_perform_fn. */
typedef cst_status (*cst_coordinator_perform_fn)(void *userdata, cst_error **error);
/* Runs body while nothing is saved to the coordinator's stores but by body itself, later and on a thread of the coordinator's,
 * in order of the calls. Others go on reading. A failure of body is dropped. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_perform(cst_coordinator *coordinator,
                                                             cst_coordinator_perform_fn body, void *userdata,
                                                             cst_destroy_fn destroy, cst_error **error);
/* The same on the calling thread, at once. body may not wait for the queue of a context, which is CST_E_INVALID_ARGUMENT: the
 * one who has it may wait for this. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_perform_and_wait(cst_coordinator *coordinator,
                                                                      cst_coordinator_perform_fn body, void *userdata,
                                                                      cst_error **error);
/* The ID that a URI stands for; CST_NOT_FOUND when no store of the coordinator knows it. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_object_id(const cst_coordinator *coordinator, cst_string uri,
                                                               cst_object_id **out_id CST_OWNED, cst_error **error);
/* The store's UUID as text, the host of its objects' URIs. */
CST_EXPORT CST_ANY_THREAD CST_BORROWED cst_string cst_store_identifier(const cst_store *store);
/* "SQLite", "XML", "Binary", "InMemory", or what the host registered. */
CST_EXPORT CST_ANY_THREAD CST_BORROWED cst_string cst_store_type(const cst_store *store);
CST_EXPORT CST_ANY_THREAD CST_BORROWED cst_string cst_store_path(const cst_store *store);
/* The configuration that the store was added for; a null string for one of the whole model. */
CST_EXPORT CST_ANY_THREAD CST_BORROWED cst_string cst_store_configuration(const cst_store *store);
CST_EXPORT CST_ANY_THREAD cst_status cst_store_is_read_only(const cst_store *store, bool *out_read_only,
                                                            cst_error **error);
/* What was asked for when the store was added and is not done, each with its reason; a null string for an index too large. */
CST_EXPORT CST_ANY_THREAD size_t cst_store_warning_count(const cst_store *store);
CST_EXPORT CST_ANY_THREAD CST_BORROWED cst_string cst_store_warning(const cst_store *store, size_t index);
/* Why it is read-only and what to do about it, as the end of a sentence; a null string for a store that can be written. */
CST_EXPORT CST_ANY_THREAD CST_BORROWED cst_string cst_store_read_only_reason(const cst_store *store);

/* Where the model of an open store comes from. */
enum {
    CST_MODEL_GIVEN = 1,
    CST_MODEL_CACHED = 2,  /* the store carries it */
    CST_MODEL_INFERRED = 3 /* made from the tables: names of properties are in lower case, and some of it is a guess */
};
CST_EXPORT CST_ANY_THREAD cst_status cst_store_model_source(const cst_store *store, uint32_t *out_source,
                                                            cst_error **error);
/* What the store at `path` says about itself, as a binary property list: the version of the framework that wrote it, the
 * version hashes of its entities, what the application added, and NSStoreUUID. Needs no model and changes nothing. */
CST_EXPORT CST_ANY_THREAD cst_status cst_store_copy_metadata(cst_string path, cst_buffer *out_plist, cst_error **error);
/* Replaces that, at once, as cst_coordinator_set_metadata does for an open store. */
CST_EXPORT CST_ANY_THREAD cst_status cst_store_set_metadata(cst_string path, cst_bytes plist, cst_error **error);
/* Whether Apple's framework would accept the store at `path` with `model` (NULL: the model that the store carries), as far
 * as the file tells. Changes nothing. The report is JSON: {"accepted": …, "problems": […], "extrapolations": […]}, each
 * finding {"entity": …, "property": …, "text": …}; extrapolations are what no file of Apple's confirms. */
CST_EXPORT CST_ANY_THREAD cst_status cst_store_check_apple(cst_string path, cst_model *model, bool *out_accepted,
                                                           cst_buffer *out_report, cst_error **error);

/* The kinds of problems that cst_store_check finds: the codes of its details. */
enum {
    CST_PROBLEM_DATABASE = 1,      /* the SQLite database itself is damaged */
    CST_PROBLEM_ROW = 2,           /* a row is of no entity of its table, or has no version or no key */
    CST_PROBLEM_REFERENCE = 3,     /* a to-one relationship leads to no row, or to one of another entity */
    CST_PROBLEM_PAIR = 4,          /* a pair of a many-to-many relationship leads to no row */
    CST_PROBLEM_PRIMARY_KEY = 5,   /* a primary key would be given out again */
    CST_PROBLEM_METADATA = 6,      /* the metadata contradicts itself or the store's model, or that does not fit */
    CST_PROBLEM_EXTERNAL_DATA = 7, /* a file with external data is missing */
    CST_PROBLEM_HISTORY = 8,       /* the history of changes refers to what is not there */
    CST_PROBLEM_CONSTRAINT = 9,    /* values that must be unique are not, or nothing in the file keeps them so */
    CST_PROBLEM_DERIVED = 10,      /* a derived attribute has a wrong value, or nothing in the file computes it */
    CST_PROBLEM_SPATIAL = 11,      /* an R-tree index lacks objects, or nothing in the file keeps it up to date */
    CST_PROBLEM_SPEED = 12,        /* an index is missing, so fetches may be slow: a warning, nothing else is wrong */
    CST_PROBLEM_LOG = 13,          /* the write-ahead log is damaged: what was saved in it cannot be read */
    CST_PROBLEM_TRIGGER = 14       /* a trigger is none of Core Data's, so the store opens read-only: a warning */
};
/* Looks whether the store at `path` keeps what Core Data relies on; changes nothing. By `model`, or when that is NULL by
 * the store's own. *out_problems is NULL when there is nothing to say, else an error of status CST_E_STORE_CORRUPT with a
 * detail for each problem: its code is a CST_PROBLEM_…, entity, key and object URI are set where they are known. A store
 * is whole all the same when all of them are CST_PROBLEM_SPEED or CST_PROBLEM_TRIGGER, which come last. */
CST_EXPORT CST_ANY_THREAD cst_status cst_store_check(cst_string path, cst_model *model,
                                                     cst_error **out_problems CST_OWNED, cst_error **error);
/* Files with external data that no row of the store at `path` refers to: what saves that did not come to their end left
 * there. They take room and do no harm otherwise. Changes nothing. The report is JSON: {"folder": …, "names": […], "bytes":
 * …, "sharer": …}. Files younger than ten minutes, which may belong to a save that runs, are not among them, and none at all
 * when another store (`sharer`, else null) has its files in the same folder. */
CST_EXPORT CST_ANY_THREAD cst_status cst_store_copy_leftovers(cst_string path, cst_buffer *out_report,
                                                              cst_error **error);
/* Removes these files under the lock that every save takes, and reports those that were removed. CST_E_STORE_CORRUPT for a
 * damaged database, whose rows cannot tell; CST_E_UNSUPPORTED for a folder that another store shares. */
CST_EXPORT CST_ANY_THREAD cst_status cst_store_remove_leftovers(cst_string path, cst_buffer *out_report,
                                                                cst_error **error);
/* How views show dates. */
enum {
    CST_DATES_TEXT = 0,     /* ISO 8601 in UTC, to the millisecond */
    CST_DATES_UNIX = 1,     /* seconds since 1970 */
    CST_DATES_REFERENCE = 2 /* seconds since 2001, as they are stored */
};
/* SQL statements that make views of the SQLite store at `path` with the names of its model: one for each entity, and one
 * for each relationship whose pairs lie in a table of their own. By `model`, or when that is NULL by the store's own, or
 * one inferred from its tables. `temporary` ones end with the connection that makes them. Others are for copies of the
 * store: Apple's framework could not migrate a store with views. Changes nothing. */
CST_EXPORT CST_ANY_THREAD cst_status cst_store_copy_views(cst_string path, cst_model *model, uint32_t dates,
                                                          bool temporary, cst_buffer *out_sql, cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
