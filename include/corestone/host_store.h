/* corestone/host_store.h: stores that the host implements.
 *
 * A host can register types of stores of its own, cst_store_type_register, for data in a service, a file format or a
 * program's memory. An incremental store supplies rows when contexts need them. An atomic store supplies all of its
 * rows when it is opened and receives all of them after each save. docs/HOST-STORES.md is the guide.
 *
 * Requests and batches of references go to the callbacks; the callbacks push rows through a sink (cst_row_sink_push).
 * A row is named by a reference of the store: CST_INT, CST_STRING (not empty) or CST_BYTES (not empty), unique within
 * an inheritance tree and permanent. Object IDs and their URIs carry it: "x-coredata://<UUID of the
 * store>/<Entity>/p42", or p followed by the text, escaped as in the path of a URL. Sinks and save requests are
 * borrowed and end with their callback; callbacks run on the thread of the call that needs them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_HOST_STORE_H
#define CORESTONE_HOST_STORE_H

#include "fetch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A row, as a host pushes it (cst_row_sink_push) and receives it. */
typedef struct cst_row {
    /* The entity of the row itself, not one from which it inherits. When pushing, NULL stands for the requested entity,
     * or for the entity that the library knows the row to have. */
    const cst_entity *entity;
    cst_value reference;
    /* 0 to 2147483647. A save writes a row with the version with which it was read plus 1, and later reads must return
     * that. A store without versions pushes 0 every time; conflicts are then never found. */
    int64_t version;
    /* The values by key. An attribute that is not listed is null. When pushing, keys that the entity does not have are
     * ignored; a to-one relationship that is not listed is requested once (`relationship`), a to-many one when its
     * members are needed. In a fetch, a row without values is its reference only: its values are requested when they
     * are needed. */
    size_t count;
    const cst_key *keys;
    /* A to-one relationship is CST_NULL for no target or the reference of the target; when pushing also CST_OBJECT_ID,
     * or CST_DEFAULT as if it were not listed. A to-many relationship (when pushing, if the store knows it; and
     * for an atomic store) is a CST_ARRAY of references or object IDs, in order. Other values are those of the
     * attribute, converted as by cst_object_set. */
    const cst_value *values;
    /* NULL, or the entity of the target for each value: NULL for an attribute and, when pushing, for a target of the
     * relationship's destination entity. If a pushed reference belongs to a row of an inheriting entity, name that
     * entity here or in an object ID; otherwise the row is requested (`values`) to find its entity. The same holds for
     * the members in a CST_ARRAY. */
    const cst_entity *const *targets;
} cst_row;

/* A store that is about to be opened. Borrowed for the call. */
typedef struct cst_store_opening {
    size_t struct_size;
    /* The type as registered, and the path as given to cst_coordinator_add_store, any text, possibly empty. */
    cst_string type, path;
    cst_model *model;         /* frozen; may be retained and kept */
    cst_string configuration; /* null: the whole model */
    bool read_only;           /* the store will not be saved */
    bool must_exist;          /* return CST_NOT_FOUND for a store that does not exist yet */
    /* A new store: nothing, or an empty file, is at the path, if that is a path of the file system. A host with other
     * paths must find out itself. */
    bool is_new;
    /* The metadata for a new store, as a binary property list: type, a new NSStoreUUID, the version hashes of the
     * model. Keep it and return it when the store is opened again. */
    cst_bytes metadata;
    /* cst_store_options.host_options: names and values, in order. */
    size_t option_count;
    const cst_string *option_names;
    const cst_value *option_values;
} cst_store_opening;

/* A fetch from an incremental store. Borrowed for the call. */
typedef struct cst_store_fetch {
    size_t struct_size;
    const cst_entity *entity;
    bool includes_subentities; /* also rows of entities that inherit from it; unwanted rows are ignored */
    uint32_t result_type;      /* CST_RESULT_OBJECTS, CST_RESULT_OBJECT_IDS (references are enough), CST_RESULT_COUNT,
                                  CST_RESULT_DICTIONARIES (the rows' values) */
    /* NULL: every row; read it by cst_predicate_…. Constants that are objects are CST_OBJECT_ID:
     * cst_object_id_reference. */
    const cst_predicate *predicate;
    size_t sort_count;
    const cst_sort *sort; /* CST_SORT_COMPARATOR: only the library can sort by it */
    uint64_t limit;       /* 0: all */
    uint64_t offset;
    /* The properties whose values are enough, if predicate and order are done by the store; 0 is all. */
    size_t key_count;
    const cst_key *keys;
    /* The same as a request, for cst_fetch_request_copy_json and so on. NULL if no context fetches. */
    const cst_fetch_request *request;
} cst_store_fetch;

/* The parts of a fetch that an incremental store has done. The library does the rest, with the pushed rows. */
enum {
    CST_FETCHED_PREDICATE = 1u << 0, /* all pushed rows satisfy the predicate */
    CST_FETCHED_ORDER = 1u << 1,     /* rows were pushed in the order of the sort descriptors */
    CST_FETCHED_WINDOW = 1u << 2,    /* offset and limit were applied; only together with both of these */
    /* For CST_RESULT_COUNT, which has no order: *out_count is the number, and no rows were pushed. With
     * CST_FETCHED_PREDICATE if there is a predicate. Without CST_FETCHED_WINDOW the library applies offset and limit to
     * the number. */
    CST_FETCHED_COUNT = 1u << 3
};

/* A changed row. `row` has all values and the version to write. */
typedef struct cst_row_update {
    cst_row row;
    int64_t old_version; /* the version on which the changes are based */
    size_t changed_count;
    const cst_key *changed; /* the changed properties, without to-many relationships; empty if only members changed */
} cst_row_update;

/* A change of the members of one object's to-many relationship. Many-to-many relationships are reported for both
 * sides; relationships whose inverse is to-one only if they are ordered, because the members' own rows contain the
 * change; relationships without inverse always. */
typedef struct cst_member_change {
    cst_row owner; /* entity and reference */
    cst_key relationship;
    bool is_ordered; /* `members` then has all members, in order */
    size_t added_count;
    const cst_row *added; /* entity and reference of each, as in the other lists */
    size_t removed_count;
    const cst_row *removed;
    size_t member_count;
    const cst_row *members;
} cst_member_change;

/* A save: the changes since the last one, which must be kept completely or not at all. A save without changes occurs
 * too. Borrowed for the call. */
typedef struct cst_save_changes {
    size_t struct_size;
    cst_save_request *request; /* borrowed: cst_save_request_… */
    size_t inserted_count;
    /* With all attributes that are not null, all to-one relationships, the version to write, the reference of
     * obtain_ids. */
    const cst_row *inserted;
    size_t updated_count;
    const cst_row_update *updated;
    size_t deleted_count;
    const cst_row *deleted; /* entity, reference, and the version on which the deletion is based; likewise `locked` */
    size_t locked_count;
    const cst_row *locked; /* unchanged; the save must fail if they have another version */
    size_t member_change_count;
    const cst_member_change *member_changes;
    /* The new metadata of the store, as a property list; empty if it does not change. */
    cst_bytes metadata;
    cst_string author, context_name; /* null if the context has no author, or no name */
} cst_save_changes;

/* The kinds of stores that a host can implement. */
enum { CST_STORE_INCREMENTAL = 1, CST_STORE_ATOMIC = 2 };

/* The optional abilities of a store. A model that needs a missing ability is refused when the store is added. */
enum {
    /* Several threads may call fetch, values and relationship concurrently, also during a save. */
    CST_STORE_PARALLEL_READS = 1u << 0,
    /* save refuses values that must be unique and are not (cst_save_request_add_conflict). Not needed for atomic
     * stores: the library does this. */
    CST_STORE_UNIQUE_CONSTRAINTS = 1u << 1,
    /* save computes derived attributes and pushes the rows that have them. */
    CST_STORE_DERIVED_ATTRIBUTES = 1u << 2
};

/* The callbacks of a type of stores. `store` is the result of `open`.
 *
 * Callbacks run on the thread of the call that needs them, one at a time for each store, except with
 * CST_STORE_PARALLEL_READS. Only did_register, did_unregister and close may come from any thread, the first two also
 * while another callback runs. Callbacks may use their sink, values, models, entities, predicates, errors and object
 * IDs. Using the store itself, through its coordinator or a context, fails with CST_E_INVALID_ARGUMENT; they must not
 * wait for a thread that does this, because that thread waits for them. To fail, they return a negative status and may
 * set *error (cst_error_new_custom), which becomes the detail of an error of status CST_E_CALLBACK that names store
 * and entity. Pushed and returned data is copied at once. A callback that a store cannot implement is NULL; calls that
 * need it fail with CST_E_UNSUPPORTED. Start from CST_STORE_CALLBACKS_INIT. */
typedef struct cst_store_callbacks {
    size_t struct_size;
    uint32_t kind;      /* CST_STORE_INCREMENTAL or CST_STORE_ATOMIC */
    uint32_t abilities; /* CST_STORE_PARALLEL_READS and the flags after it */

    /* ---- both kinds ---- */
    /* Opens a store, or begins a new one. *out_store is passed to the other callbacks, up to `close`. Fills
     * out_metadata with the metadata of the store (a property list, binary or XML); left empty, as for a new store, it
     * is opening->metadata. An NSStoreUUID in it is the identifier of the store, which must stay the same for IDs and
     * URIs to stay valid. Version hashes in it that differ from the model's fail with CST_E_MODEL_MISMATCH; an
     * NSStoreType that differs from the type's name fails with CST_E_NOT_A_STORE (134010). Returns CST_NOT_FOUND if
     * there is no store and must_exist is set. Required. */
    cst_status (*open)(void *userdata, const cst_store_opening *opening, void **out_store, cst_buffer *out_metadata,
                       cst_error **error);
    /* Ends the use of the store. Also called if the store could not be added after it was opened. */
    void (*close)(void *store);
    /* Keeps the changes. A row whose version in the store is not the one on which a change, a deletion or a lock is
     * based is reported by cst_save_request_add_conflict, and so is a new row whose reference the store already has:
     * nothing is kept then, and the context's merge policy continues, with the rows that `values`, or `load` of an
     * atomic store, pushes next. Rows pushed into the sink replace saved rows that differ from the request: another
     * version, computed values. A row that is not acceptable does not fail the save: cst_row_sink_push logs it and
     * returns CST_OK, and the row is read again. NULL: the store is read-only. */
    cst_status (*save)(void *store, const cst_save_changes *changes, cst_row_sink *sink, cst_error **error);
    /* Assigns references to new rows: out_references has one for each row, in order, initially CST_NULL. The rows have
     * their entity and the attributes that are not null, and no reference. An object whose save fails keeps its
     * reference for the next save. NULL: the library makes references, UUIDs as text. */
    cst_status (*obtain_ids)(void *store, size_t count, const cst_row *rows, cst_value *out_references,
                             cst_error **error);
    /* Moves the store to another path (cst_coordinator_set_store_path). May be NULL. */
    cst_status (*move)(void *store, cst_string path, cst_error **error);

    /* ---- incremental stores ---- */
    /* Pushes the rows of a request: at least all of the entity. out_done receives the parts of the rest that are done
     * (CST_FETCHED_…, initially 0). out_count: see CST_FETCHED_COUNT. Required. */
    cst_status (*fetch)(void *store, const cst_store_fetch *fetch, cst_row_sink *sink, uint32_t *out_done,
                        uint64_t *out_count, cst_error **error);
    /* Pushes the rows of references, in any order, without those that no longer exist. Each of `rows` has an entity,
     * its own or, if that is unknown, one from which it inherits, and its reference. Required. */
    cst_status (*values)(void *store, size_t count, const cst_row *rows, cst_row_sink *sink, cst_error **error);
    /* Pushes the targets of a relationship of some owners (cst_row_sink_push_members): of a to-one relationship at most
     * one. `entity` is that of the owners, or one from which they inherit. An owner without pushed members has no
     * target. NULL: all rows are pushed with all of their relationships. */
    cst_status (*relationship)(void *store, const cst_entity *entity, cst_key relationship, size_t count,
                               const cst_row *owners, cst_row_sink *sink, cst_error **error);
    /* A context now knows objects, or no longer does, also after a reset or its end. Called for each context, for new
     * objects after their save, once for objects that come or go together, at the end of the outermost call of the
     * thread. May be NULL. */
    void (*did_register)(void *store, size_t count, const cst_row *rows);
    void (*did_unregister)(void *store, size_t count, const cst_row *rows);

    /* ---- atomic stores ---- */
    /* Pushes all rows of all entities, with all relationships: one side of a relationship and its inverse is enough.
     * Called once after `open`, unless the store is new and *out_metadata was left empty, and again after a save that
     * reported conflicts. Required. */
    cst_status (*load)(void *store, cst_row_sink *sink, cst_error **error);

    /* ---- stores that are not open; each may be NULL ---- */
    /* Returns the metadata of the store at a path, as a property list, or CST_NOT_FOUND if there is no store. */
    cst_status (*copy_metadata)(void *userdata, cst_string path, cst_buffer *out_plist, cst_error **error);
    /* Replaces the metadata of the store at a path. */
    cst_status (*set_metadata)(void *userdata, cst_string path, cst_bytes plist, cst_error **error);
    /* Removes the store at a path (cst_coordinator_destroy_store), or returns CST_NOT_FOUND if there is no store. */
    cst_status (*destroy_store)(void *userdata, cst_string path, cst_error **error);
    /* Replaces the store at path by a copy of the store at source_path (cst_coordinator_replace_store). */
    cst_status (*replace_store)(void *userdata, cst_string path, cst_string source_path, cst_error **error);

    void *userdata;
    /* May be NULL. Called once: on failure, or after the type was unregistered and the last of its stores is gone. */
    cst_destroy_fn destroy;
} cst_store_callbacks;
#define CST_STORE_CALLBACKS_INIT                                                                                       \
    {sizeof(cst_store_callbacks),                                                                                      \
     0,                                                                                                                \
     0,                                                                                                                \
     NULL,                                                                                                             \
     NULL,                                                                                                             \
     NULL,                                                                                                             \
     NULL,                                                                                                             \
     NULL,                                                                                                             \
     NULL,                                                                                                             \
     NULL,                                                                                                             \
     NULL,                                                                                                             \
     NULL,                                                                                                             \
     NULL,                                                                                                             \
     NULL,                                                                                                             \
     NULL,                                                                                                             \
     NULL,                                                                                                             \
     NULL,                                                                                                             \
     NULL,                                                                                                             \
     NULL,                                                                                                             \
     NULL}

/* Registers a type of stores in the whole process: cst_coordinator_add_store accepts its name from now on, in upper or
 * lower case. Fails with CST_E_INVALID_ARGUMENT for a name that is taken, also by a type that was registered before,
 * and for callbacks that lack a required one. On failure `destroy` is called too. */
CST_EXPORT CST_ANY_THREAD cst_status cst_store_type_register(cst_string name, const cst_store_callbacks *callbacks,
                                                             cst_error **error);

/* Removes a type. Its open stores stay open. Returns CST_NOT_FOUND if there is no type of that name. */
CST_EXPORT CST_ANY_THREAD cst_status cst_store_type_unregister(cst_string name, cst_error **error);

/* Fills a buffer with the names of all types, the built-in ones first, each terminated by a NUL. `out_count` receives
 * their number and may be NULL. */
CST_EXPORT CST_ANY_THREAD cst_status cst_store_type_copy_names(cst_buffer *out_names, size_t *out_count,
                                                               cst_error **error);

/* Fills a buffer with the metadata of a store, like cst_store_copy_metadata, for types that the content at the path
 * does not reveal. */
CST_EXPORT CST_ANY_THREAD cst_status cst_store_type_copy_metadata(cst_string type, cst_string path,
                                                                  cst_buffer *out_plist, cst_error **error);

/* Replaces the metadata of a store, like cst_store_set_metadata, for types that the content at the path does not
 * reveal. */
CST_EXPORT CST_ANY_THREAD cst_status cst_store_type_set_metadata(cst_string type, cst_string path, cst_bytes plist,
                                                                 cst_error **error);

/* Pushes rows, any number of times; many at a time are faster. A call takes all of its rows or, on failure, no row. A
 * row that is pushed twice counts once. Fails with CST_E_INVALID_ARGUMENT for an entity that was not requested, for a
 * value that is not a reference or is known as the reference of a row of another entity, and for a row that was not
 * requested; with CST_E_TYPE_MISMATCH for a value that does not suit its attribute. The error names entity, key and
 * value. In `save`, which may have kept its changes by then, such rows are logged and ignored, with CST_OK. */
CST_EXPORT CST_ONE_THREAD cst_status cst_row_sink_push(cst_row_sink *sink, size_t count, const cst_row *rows,
                                                       cst_error **error);

/* Pushes members of the owner at an index, in order, after those that were pushed before. Their rows may have values,
 * which are then not requested until a refresh. Only in `relationship`. */
CST_EXPORT CST_ONE_THREAD cst_status cst_row_sink_push_members(cst_row_sink *sink, size_t owner, size_t count,
                                                               const cst_row *members, cst_error **error);

/* Fills `out_rows` with up to `capacity` rows of all that the store holds after this save, entity by entity, with all
 * values that are not null and the members of to-many relationships, on both sides (CST_ARRAY; empty ones are
 * omitted). `out_count` receives their number. They are valid until the next such call. Returns CST_END if there are
 * no more. For atomic stores only. */
CST_EXPORT CST_ONE_THREAD cst_status cst_save_request_next(cst_save_request *request, size_t capacity,
                                                           cst_row *out_rows, size_t *out_count, cst_error **error);

/* The kinds of conflicts that a store reports. */
enum {
    CST_CONFLICT_ROW_VERSION = 1, /* the row has another version or is gone, or a new row exists already */
    CST_CONFLICT_ROW_UNIQUE = 2   /* another row has the values that must be unique */
};

/* Reports that a row of the save is in conflict with the store; `kind` is one of these constants. The save then fails
 * with a conflict, or continues as the merge policy of the context decides, whatever status `save` returns. A batch
 * request or a migration fails. */
CST_EXPORT CST_ONE_THREAD cst_status cst_save_request_add_conflict(cst_save_request *request, uint32_t kind,
                                                                   const cst_row *row, cst_error **error);

/* Stores the reference that an ID carries: CST_INT, CST_STRING or CST_BYTES; for a store of the library, the primary
 * key. Returns CST_NOT_FOUND for a temporary ID. The view is valid as long as the ID. */
CST_EXPORT CST_ANY_THREAD cst_status cst_object_id_reference(const cst_object_id *id,
                                                             cst_value *out_reference CST_BORROWED, cst_error **error);

/* Creates the ID of an entity's row with that reference in an open store, whether the row exists or not. */
CST_EXPORT CST_ANY_THREAD cst_status cst_store_new_object_id(const cst_store *store, const cst_entity *entity,
                                                             const cst_value *reference,
                                                             cst_object_id **out_id CST_OWNED, cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
