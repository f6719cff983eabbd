/* corestone/host_store.h: stores that the host implements.
 *
 * A host can register its own types of stores with cst_store_type_register, for data in a service, a file format or a
 * program's memory. An incremental store supplies rows when contexts need them. An atomic store supplies all of its
 * rows when it is opened and receives all of them after each save. docs/HOST-STORES.md is the guide.
 *
 * The library passes requests and lists of references to the callbacks; the callbacks push rows through a sink
 * (cst_row_sink_push). A reference identifies a row of the store: CST_INT, CST_STRING (not empty) or CST_BYTES (not
 * empty), unique within an entity tree and permanent. Object IDs and their URIs contain the reference:
 * "x-coredata://<UUID of the store>/<Entity>/p42", or p followed by the text, escaped as in the path of a URL. Sinks
 * and save requests are borrowed and valid until their callback returns. Callbacks run on the thread of the call that
 * needs them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_HOST_STORE_H
#define CORESTONE_HOST_STORE_H

#include "fetch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A row that the host pushes (cst_row_sink_push) or receives. */
typedef struct cst_row {
    /* The entity of the row itself, not a superentity. When pushing, NULL represents the requested entity, or the known
     * entity of the row. */
    const cst_entity *entity;
    cst_value reference;
    /* 0 to 2147483647. A save writes a row with the version that was read plus 1, and later reads must return the
     * written version. A store without versions always pushes 0; conflicts are then not detected. */
    int64_t version;
    /* The values by key. An attribute that is not listed is null. When pushing, keys that the entity does not have are
     * ignored. The callback `relationship` is called once for a to-one relationship that is not listed, and for a
     * to-many relationship when its members are needed. In a fetch, a row without values has only its reference; its
     * values are requested when they are needed. */
    size_t count;
    const cst_key *keys;
    /* A to-one relationship is the reference of its target, or CST_NULL without a target. When pushing, the value may
     * also be CST_OBJECT_ID, or CST_DEFAULT, which is the same as not listing the relationship. A to-many relationship
     * is a CST_ARRAY of references or object IDs, in order. Received rows of an atomic store have their to-many
     * relationships; pushed rows may have them. Other values are those of the attribute, converted as by
     * cst_object_set. */
    const cst_value *values;
    /* NULL, or an array with the entity of the target for each value.
     *
     * An entry is NULL for an attribute and, when pushing, for a target of the relationship's destination entity. If a
     * pushed reference belongs to a row of a subentity, name that entity here or in an object ID; otherwise the row is
     * requested (`values`) to find its entity. The same applies to the members in a CST_ARRAY. */
    const cst_entity *const *targets;
} cst_row;

/* A store that is about to be opened. Borrowed for the call. */
typedef struct cst_store_opening {
    size_t struct_size;
    /* The registered type, and the path that was passed to cst_coordinator_add_store, any text, possibly empty. */
    cst_string type, path;
    cst_model *model;         /* frozen; may be retained and kept */
    cst_string configuration; /* null: the whole model */
    bool read_only;           /* the store is opened read-only */
    bool must_exist;          /* return CST_NOT_FOUND for a store that does not exist yet */
    /* Whether `path`, as a path of the file system, does not name a file, or names an empty file. A host whose
     * paths are not files must determine itself whether the store is new. */
    bool is_new;
    /* The metadata for a new store, as a binary property list.
     *
     * The metadata consists of the type, a new NSStoreUUID, and the version hashes of the model. The store must keep
     * the metadata, and return the metadata when it is opened again. */
    cst_bytes metadata;
    /* The host options of cst_store_options: names and values, in order. */
    size_t option_count;
    const cst_string *option_names;
    const cst_value *option_values;
} cst_store_opening;

/* A fetch from an incremental store. Borrowed for the call. */
typedef struct cst_store_fetch {
    size_t struct_size;
    const cst_entity *entity;
    bool includes_subentities; /* also rows of subentities; superfluous rows are ignored */
    /* CST_RESULT_OBJECTS, CST_RESULT_OBJECT_IDS, CST_RESULT_COUNT or CST_RESULT_DICTIONARIES. References are enough for
     * CST_RESULT_OBJECT_IDS; CST_RESULT_DICTIONARIES needs the rows' values. */
    uint32_t result_type;
    /* NULL: every row. The functions of predicate.h read it. Constants that are objects are CST_OBJECT_ID;
     * cst_object_id_reference returns the references. */
    const cst_predicate *predicate;
    size_t sort_count;
    const cst_sort *sort; /* the store cannot apply a CST_SORT_COMPARATOR */
    uint64_t limit;       /* 0: all */
    uint64_t offset;
    /* The properties whose values suffice if the store applies predicate and order.
     *
     * A count of 0 stands for all properties. */
    size_t key_count;
    const cst_key *keys;
    /* The fetch request with the same content, for example for cst_fetch_request_copy_json. NULL if no context
     * fetches. */
    const cst_fetch_request *request;
} cst_store_fetch;

/* The parts of a fetch that an incremental store has done. The library does the other parts in memory, on the pushed
 * rows. */
enum {
    CST_FETCHED_PREDICATE = 1u << 0, /* all pushed rows satisfy the predicate */
    CST_FETCHED_ORDER = 1u << 1,     /* rows were pushed in the order of the sort descriptors */
    CST_FETCHED_WINDOW = 1u << 2,    /* offset and limit were applied; only with the two flags above */
    /* For CST_RESULT_COUNT, which does not need an order: *out_count is the number, and no rows were pushed. If there
     * is a predicate, CST_FETCHED_PREDICATE must be set too. Without CST_FETCHED_WINDOW the library applies offset and
     * limit to the number. */
    CST_FETCHED_COUNT = 1u << 3
};

/* A changed row. `row` has all values and the version to write. */
typedef struct cst_row_update {
    cst_row row;
    int64_t old_version; /* the version on which the changes are based */
    size_t changed_count;
    const cst_key *changed; /* the changed properties, without to-many relationships; empty if only members changed */
} cst_row_update;

/* A change of the members of one object's to-many relationship. Changes of many-to-many relationships are reported for
 * both sides. Changes of relationships without an inverse are always reported, those of relationships with a to-one
 * inverse only if the relationship is ordered, because the members' own rows contain the change. */
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

/* A save: the changes since the last save. They must be stored completely or not at all. The lists can be empty.
 * Borrowed for the call. */
typedef struct cst_save_changes {
    size_t struct_size;
    cst_save_request *request; /* borrowed: cst_save_request_… */
    size_t inserted_count;
    /* The new rows.
     *
     * Each has all attributes that are not null, all to-one relationships, the version to write, and the reference. */
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

/* The optional abilities of a store. Adding a store fails if the model needs an ability that the store does not
 * have. */
enum {
    /* Several threads may call fetch, values and relationship concurrently, even during a save. */
    CST_STORE_PARALLEL_READS = 1u << 0,
    /* The callback `save` rejects values that violate a unique constraint (cst_save_request_add_conflict). Not needed
     * for atomic stores, whose values the library checks. */
    CST_STORE_UNIQUE_CONSTRAINTS = 1u << 1,
    /* The callback `save` computes derived attributes and pushes the rows that have them. */
    CST_STORE_DERIVED_ATTRIBUTES = 1u << 2
};

/* The callbacks of a type of stores. `store` is the result of `open`.
 *
 * Callbacks run on the thread of the call that needs them, one at a time for each store, except with
 * CST_STORE_PARALLEL_READS. Only did_register, did_unregister and close may be called on any thread, the first two even
 * while another callback runs. Callbacks may use their sink, values, models, entities, predicates, errors and object
 * IDs. Using the store itself, through its coordinator or a context, fails with CST_E_INVALID_ARGUMENT. Callbacks must
 * not wait for a thread that uses the store, because that is a deadlock. To fail, a callback returns a negative status
 * and may set *error (cst_error_new_custom), which becomes the detail of an error with the status CST_E_CALLBACK.
 * Pushed and returned data is copied immediately. A callback that a store does not implement is NULL; unless noted
 * otherwise, calls that need it fail with CST_E_UNSUPPORTED. Start from CST_STORE_CALLBACKS_INIT. */
typedef struct cst_store_callbacks {
    size_t struct_size;
    uint32_t kind;      /* CST_STORE_INCREMENTAL or CST_STORE_ATOMIC */
    uint32_t abilities; /* CST_STORE_PARALLEL_READS and the flags after it */

    /* ---- both kinds ---- */
    /* Opens a store, or creates one. *out_store is passed to the other callbacks, up to `close`. Fills out_metadata
     * with the metadata of the store, a binary or XML property list. If out_metadata is left empty, as for a new store,
     * the metadata is opening->metadata. An NSStoreUUID in the metadata is the identifier of the store. The identifier
     * must stay the same, so that IDs and URIs stay valid. Returns CST_NOT_FOUND if there is no store and must_exist is
     * set. Required.
     *
     * CST_E_MODEL_MISMATCH if version hashes in the metadata differ from the model's.
     * CST_E_NOT_A_STORE (134010) if the NSStoreType in the metadata differs from the type's name. */
    cst_status (*open)(void *userdata, const cst_store_opening *opening, void **out_store, cst_buffer *out_metadata,
                       cst_error **error);
    /* Closes the store. Also called if the store could not be added after it was opened. May be NULL. */
    void (*close)(void *store);
    /* Writes the changes of a save. Call cst_save_request_add_conflict for a change, a deletion or a lock if the row
     * has another version in the store, and for a new row whose reference the store already has. If there is a
     * conflict, do not store anything: the context's merge policy resolves it with the rows that `values`, or `load` of
     * an atomic store, pushes next. Push rows into the sink if what was stored differs from the request: another
     * version, computed values. An invalid row does not make the save fail: cst_row_sink_push logs it and returns
     * CST_OK, and the row is read again. NULL: the store is read-only. */
    cst_status (*save)(void *store, const cst_save_changes *changes, cst_row_sink *sink, cst_error **error);
    /* Assigns references to new rows: out_references has one for each row, in order, initially CST_NULL. The rows have
     * their entity and the attributes that are not null, and no reference. An object whose save fails keeps its
     * reference for the next save. NULL: the library assigns references, UUIDs as text. */
    cst_status (*obtain_ids)(void *store, size_t count, const cst_row *rows, cst_value *out_references,
                             cst_error **error);
    /* Moves the store to another path (cst_coordinator_set_store_path). */
    cst_status (*move)(void *store, cst_string path, cst_error **error);

    /* ---- incremental stores ---- */
    /* Pushes the rows of a request, at least all rows of the entity that satisfy it. out_done receives the parts of the
     * fetch that the store has done (CST_FETCHED_…, initially 0). out_count: see CST_FETCHED_COUNT. Required. */
    cst_status (*fetch)(void *store, const cst_store_fetch *fetch, cst_row_sink *sink, uint32_t *out_done,
                        uint64_t *out_count, cst_error **error);
    /* Pushes the rows of references, in any order; omits rows that no longer exist. Each of `rows` has a reference and
     * an entity: its own or, if that is unknown, a superentity. Required. */
    cst_status (*values)(void *store, size_t count, const cst_row *rows, cst_row_sink *sink, cst_error **error);
    /* Pushes the targets of a relationship for each owner (cst_row_sink_push_members).
     *
     * A to-one relationship has at most one target for each owner. `entity` is the entity of the owners, or a
     * superentity. An owner without pushed members does not have targets. NULL: the store always pushes rows with all
     * of their relationships. */
    cst_status (*relationship)(void *store, const cst_entity *entity, cst_key relationship, size_t count,
                               const cst_row *owners, cst_row_sink *sink, cst_error **error);
    /* Called when a context registers or deregisters objects, also when the context is reset or deallocated. For each
     * context there is one call for all objects, when the outermost call of the thread returns. New objects are
     * registered after their save. May be NULL. */
    void (*did_register)(void *store, size_t count, const cst_row *rows);
    void (*did_unregister)(void *store, size_t count, const cst_row *rows);

    /* ---- atomic stores ---- */
    /* Pushes all rows of all entities, with all relationships. Pushing one of the two sides of a relationship suffices.
     * Called once after `open`, unless the store is new and *out_metadata was left empty, and again after a save that
     * reported conflicts. Required. */
    cst_status (*load)(void *store, cst_row_sink *sink, cst_error **error);

    /* ---- stores that are not open ---- */
    /* Returns the metadata of the store at a path, as a property list, or CST_NOT_FOUND if there is no store. */
    cst_status (*copy_metadata)(void *userdata, cst_string path, cst_buffer *out_plist, cst_error **error);
    /* Replaces the metadata of the store at a path. */
    cst_status (*set_metadata)(void *userdata, cst_string path, cst_bytes plist, cst_error **error);
    /* Removes the store at a path (cst_coordinator_destroy_store), or returns CST_NOT_FOUND if there is no store. */
    cst_status (*destroy_store)(void *userdata, cst_string path, cst_error **error);
    /* Replaces the store at path by a copy of the store at source_path (cst_coordinator_replace_store). */
    cst_status (*replace_store)(void *userdata, cst_string path, cst_string source_path, cst_error **error);

    void *userdata;
    /* May be NULL. Called once: on failure, or after the type was deregistered and its last store was closed. */
    cst_destroy_fn destroy;

    /* ---- coordinators; like close, they cannot fail ---- */
    /* Called once, after a coordinator added the store and before observers of the coordinator are notified. May be
     * NULL. */
    void (*did_add)(void *store);
    /* Called before the coordinator closes the store, because it was removed or the coordinator is closed.
     *
     * Not called if the coordinator is freed without being closed. May be NULL. */
    void (*will_remove)(void *store);
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
     NULL,                                                                                                             \
     NULL,                                                                                                             \
     NULL}

/* Registers a type of stores in the whole process.
 *
 * cst_coordinator_add_store then accepts the name, in upper or lower case. Fails with CST_E_INVALID_ARGUMENT for the
 * name of a built-in or registered type, and if a required callback is NULL. On failure `destroy` is called too. */
CST_EXPORT CST_ANY_THREAD cst_status cst_store_type_register(cst_string name, const cst_store_callbacks *callbacks,
                                                             cst_error **error);

/* Deregisters a type of stores. Its open stores stay open. Returns CST_NOT_FOUND if no type of that name is
 * registered. */
CST_EXPORT CST_ANY_THREAD cst_status cst_store_type_unregister(cst_string name, cst_error **error);

/* Fills a buffer with the names of all types of stores, the built-in ones first, each terminated by a NUL. `out_count`
 * receives their number and may be NULL. */
CST_EXPORT CST_ANY_THREAD cst_status cst_store_type_copy_names(cst_buffer *out_names, size_t *out_count,
                                                               cst_error **error);

/* Fills a buffer with the metadata of a store of the type `type`. Otherwise like cst_store_copy_metadata, which
 * recognises the type by the content at the path. */
CST_EXPORT CST_ANY_THREAD cst_status cst_store_type_copy_metadata(cst_string type, cst_string path,
                                                                  cst_buffer *out_plist, cst_error **error);

/* Replaces the metadata of a store of the type `type`. Otherwise like cst_store_set_metadata, which recognises the type
 * by the content at the path. */
CST_EXPORT CST_ANY_THREAD cst_status cst_store_type_set_metadata(cst_string type, cst_string path, cst_bytes plist,
                                                                 cst_error **error);

/* Pushes rows of a store into a sink. The function may be called any number of times; fewer calls with more rows are
 * faster. A call adds all of its rows or, on failure, no row. A row that is pushed twice counts once. An error names
 * entity, key and value. In `save`, which may already have stored the changes, rows with errors are logged and ignored,
 * and the call returns CST_OK.
 *
 * CST_E_INVALID_ARGUMENT for an entity or a row that was not requested, for a value that is not a reference, and for
 * the reference of a row of another entity.
 * CST_E_TYPE_MISMATCH for a value of a type that its attribute does not accept. */
CST_EXPORT CST_ONE_THREAD cst_status cst_row_sink_push(cst_row_sink *sink, size_t count, const cst_row *rows,
                                                       cst_error **error);

/* Pushes members of the owner at an index, in order, after members that were pushed before. The rows of the members may
 * have values, which are then not requested until a refresh. For the callback `relationship` only. */
CST_EXPORT CST_ONE_THREAD cst_status cst_row_sink_push_members(cst_row_sink *sink, size_t owner, size_t count,
                                                               const cst_row *members, cst_error **error);

/* Fills `out_rows` with the next of the rows that the store must contain after this save.
 *
 * The rows are in the order of their entities; a call returns at most `capacity`. A row has all attributes that are not
 * null, all to-one relationships, and the members of to-many relationships on both sides (CST_ARRAY; empty ones are
 * omitted). `out_count` receives the number of rows. The rows are valid until the next call of this function. Returns
 * CST_END if there are no more rows. For atomic stores only. */
CST_EXPORT CST_ONE_THREAD cst_status cst_save_request_next(cst_save_request *request, size_t capacity,
                                                           cst_row *out_rows, size_t *out_count, cst_error **error);

/* The kinds of conflicts that a store reports. */
enum {
    CST_CONFLICT_ROW_VERSION = 1, /* the row has another version or was deleted, or a new row already exists */
    CST_CONFLICT_ROW_UNIQUE = 2   /* another row has the same unique values */
};

/* Reports that a row of the save is in conflict with the store; `kind` is a CST_CONFLICT_ROW_ constant. The merge
 * policy of the context then determines whether the save fails with a conflict or continues, regardless of the status
 * that `save` returns. In a batch request or a migration, the conflict makes the operation fail. */
CST_EXPORT CST_ONE_THREAD cst_status cst_save_request_add_conflict(cst_save_request *request, uint32_t kind,
                                                                   const cst_row *row, cst_error **error);

/* Returns the reference in an object ID: CST_INT, CST_STRING or CST_BYTES; for a store of the library, the primary key.
 * Returns CST_NOT_FOUND for a temporary ID. The view is valid as long as the ID. */
CST_EXPORT CST_ANY_THREAD cst_status cst_object_id_reference(const cst_object_id *id,
                                                             cst_value *out_reference CST_BORROWED, cst_error **error);

/* Creates the object ID for an entity and a reference of an open store. The row need not exist. */
CST_EXPORT CST_ANY_THREAD cst_status cst_store_new_object_id(const cst_store *store, const cst_entity *entity,
                                                             const cst_value *reference,
                                                             cst_object_id **out_id CST_OWNED, cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
