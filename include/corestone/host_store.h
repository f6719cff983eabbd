/* corestone/host_store.h: stores implemented by the host
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_HOST_STORE_H
#define CORESTONE_HOST_STORE_H

#include "fetch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ======== host store ===================================================================================== */
/* Stores of the host's own kinds, registered by the name of their type: docs/HOST-STORES.md. An incremental store is asked
 * for what contexts need, when they need it; an atomic one gives all of its objects when it is opened, and is given all of
 * them to keep after each save.
 *
 * Requests and batches of references go down, rows are pushed up through a sink. A row is named by a reference of the
 * store's own: CST_INT, CST_STRING (not empty) or CST_BYTES (not empty), unique within an inheritance tree (of one root
 * entity) and for ever. Object IDs and their URIs carry it: "x-coredata://<UUID of the store>/<Entity>/p42", or p and the
 * text, escaped as the path of a URL. */

/* Rows as a host gives them (cst_row_sink_push) and is given them. */
typedef struct cst_row {
    /* The entity of the row itself, not one that it inherits from. Pushed, NULL stands for the entity that was asked for, or
     * that the library knows the row to have. */
    const cst_entity *entity;
    cst_value reference;
    /* 0 to 2147483647. A save writes a row with the version that it was read with plus 1, and whoever reads it from then on gets
     * that; a store that keeps no versions pushes 0 every time, and nobody's changes are ever found to be in conflict. */
    int64_t version;
    /* The values by key. An attribute that is not listed is null. Pushed, keys that the entity does not have are left out, a
     * to-one relationship that is not listed is asked for once (`relationship`), and a to-many one when somebody needs its
     * members. In a fetch a row without any values is its reference alone: the values are asked for when somebody needs them. */
    size_t count;
    const cst_key *keys;
    /* Of a to-one relationship CST_NULL for none, or the reference of the target; pushed also CST_OBJECT_ID, and CST_DEFAULT as if
     * it were not listed. Of a to-many relationship (pushed, if the store has them at hand; and to an atomic store) a CST_ARRAY
     * of references or object IDs, in order. Else as the attribute has it, converted as by cst_object_set. */
    const cst_value *values;
    /* NULL, or for each value the entity of the target: NULL for an attribute, and, pushed, for a target of the relationship's
     * destination entity. What is pushed as the reference of a row whose entity inherits from that has to name the entity, here or
     * in an object ID, or else the row is asked for (`values`) to find out. Of the members in a CST_ARRAY the same holds. */
    const cst_entity *const *targets;
} cst_row;

/* A cst_row_sink is what a callback pushes rows into, on its own thread, until it returns; a cst_save_request is the save
 * of which `save` is told, until it returns. Afterwards they are CST_E_INVALID_HANDLE. */

/* A store that is to be opened. All of it is borrowed for the call. */
typedef struct cst_store_opening {
    size_t struct_size;
    /* As registered, and as cst_coordinator_add_store was given it, whatever that text is; it may be empty. */
    cst_string type, path;
    cst_model *model;         /* frozen; may be retained and kept */
    cst_string configuration; /* null: the whole model */
    bool read_only;           /* nothing will be saved */
    bool must_exist;          /* a store that is not there yet is CST_NOT_FOUND */
    /* Nothing lies at the path, if it is one of the file system, or a file of no bytes: a new store. A host whose paths are
     * something else knows better. */
    bool is_new;
    /* What a new store is to say about itself, as a property list (binary): type, a new NSStoreUUID, the version hashes of the
     * model. Keep it, and give it when the store is opened the next time. */
    cst_bytes metadata;
    /* What was given beside it, cst_store_options.host_options: by name, in order. */
    size_t option_count;
    const cst_string *option_names;
    const cst_value *option_values;
} cst_store_opening;

/* What a fetch asks an incremental store for. All of it is borrowed for the call. */
typedef struct cst_store_fetch {
    size_t struct_size;
    const cst_entity *entity;
    bool includes_subentities; /* rows of entities that inherit from it, too; those that are not wanted are left out */
    uint32_t result_type;      /* CST_RESULT_OBJECTS, CST_RESULT_OBJECT_IDS (references will do), CST_RESULT_COUNT,
                                  CST_RESULT_DICTIONARIES (the rows' values) */
    /* NULL: every row; cst_predicate_… reads it. Constants that are objects are CST_OBJECT_ID: cst_object_id_reference. */
    const cst_predicate *predicate;
    size_t sort_count;
    const cst_sort *sort; /* CST_SORT_COMPARATOR: only the library can do it */
    uint64_t limit;       /* 0: all */
    uint64_t offset;
    /* The properties whose values will do, if predicate and order are done here; 0 is all. */
    size_t key_count;
    const cst_key *keys;
    /* The same as a request: cst_fetch_request_copy_json and its like. NULL where no context asks. */
    const cst_fetch_request *request;
} cst_store_fetch;

/* What an incremental store has done of a fetch; what it has not the library does, with the rows that were pushed. */
enum {
    CST_FETCHED_PREDICATE = 1u << 0, /* no row was pushed that does not satisfy it */
    CST_FETCHED_ORDER = 1u << 1,     /* rows were pushed in the order of the sort descriptors */
    CST_FETCHED_WINDOW = 1u << 2,    /* offset and limit were applied: only by who has done both of these */
    /* Of CST_RESULT_COUNT, which has no order: *out_count tells, and no rows were pushed. With CST_FETCHED_PREDICATE where there is
       a predicate; without CST_FETCHED_WINDOW the library applies offset and limit to the number. */
    CST_FETCHED_COUNT = 1u << 3
};

/* A changed row. `row` has all values, and the version to be written. */
typedef struct cst_row_update {
    cst_row row;
    int64_t old_version; /* the one that the changes are based on */
    size_t changed_count;
    const cst_key *changed; /* the properties that changed, but for members; none when only members did */
} cst_row_update;

/* What became of the members of one object's to-many relationship. Many-to-many relationships are told from both sides, those
 * whose inverse is to-one only if they are ordered, since the members' own rows tell them; those without inverse always. */
typedef struct cst_member_change {
    cst_row owner; /* entity and reference */
    cst_key relationship;
    bool is_ordered; /* then `members` has all of them, in order */
    size_t added_count;
    const cst_row *added; /* entity and reference of each; so with the rest */
    size_t removed_count;
    const cst_row *removed;
    size_t member_count;
    const cst_row *members;
} cst_member_change;

/* A save: what changed since the last one, all of it to be kept or none. It comes also when nothing did. All of it is
 * borrowed for the call. */
typedef struct cst_save_changes {
    size_t struct_size;
    cst_save_request *request; /* borrowed: cst_save_request_… */
    size_t inserted_count;
    /* With all attributes that are not null, all to-one relationships, the version to be written, the reference of obtain_ids. */
    const cst_row *inserted;
    size_t updated_count;
    const cst_row_update *updated;
    size_t deleted_count;
    const cst_row *deleted; /* entity, reference, and the version that the deletion is based on; so with the next */
    size_t locked_count;
    const cst_row *locked; /* not changed, but the save is to fail unless they are still of that version */
    size_t member_change_count;
    const cst_member_change *member_changes;
    /* What the store says about itself from now on, as a property list; no bytes when that stays. */
    cst_bytes metadata;
    cst_string author, context_name; /* null when the context has none */
} cst_save_changes;

enum { CST_STORE_INCREMENTAL = 1, CST_STORE_ATOMIC = 2 };
/* What a store can do beyond what every one does; a model that asks for more is refused when the store is added. */
enum {
    /* fetch, values and relationship may be called by several threads at a time, also during a save. */
    CST_STORE_PARALLEL_READS = 1u << 0,
    /* save refuses what is not unique and must be (cst_save_request_add_conflict). Atomic stores need not: the library does. */
    CST_STORE_UNIQUE_CONSTRAINTS = 1u << 1,
    /* save computes derived attributes, and pushes the rows that have them. */
    CST_STORE_DERIVED_ATTRIBUTES = 1u << 2
};

/* A type of stores. `store` is what `open` gave.
 *
 * Callbacks run on the thread of the call that needs them, for one store one at a time but for CST_STORE_PARALLEL_READS;
 * only did_register, did_unregister and close may come from any thread, the first two also while another callback runs.
 * They may use their sink, values, models, entities, predicates, errors and object IDs, and not the store itself, through
 * its coordinator or a context: CST_E_INVALID_ARGUMENT. Nor may they wait for a thread that does, which waits for them. To
 * fail they return a status below 0 and may set *error (cst_error_new_custom): it comes back as the detail of an error of
 * status CST_E_CALLBACK, which names store and entity. What they push and give is copied at once. NULL where the store
 * cannot do something: CST_E_UNSUPPORTED for who asks for it. */
typedef struct cst_store_callbacks {
    size_t struct_size;
    uint32_t kind;      /* CST_STORE_INCREMENTAL or CST_STORE_ATOMIC */
    uint32_t abilities; /* CST_STORE_… of the list above */

    /* ---- both kinds ---- */
    /* Opens a store, or begins a new one. *out_store is handed to the other callbacks, up to `close`. Fills out_metadata with what
     * the store says about itself (a property list, binary or XML); left empty, as for a new store, it is opening->metadata. An
     * NSStoreUUID in it is the store's identifier: without one that stays the same, IDs and URIs are worth nothing later. Version
     * hashes in it that are not the model's are CST_E_MODEL_MISMATCH; an NSStoreType that is not the type's name is
     * CST_E_NOT_A_STORE (134010). CST_NOT_FOUND: there is no store, and must_exist. Needed. */
    cst_status (*open)(void *userdata, const cst_store_opening *opening, void **out_store, cst_buffer *out_metadata,
                       cst_error **error);
    /* The store is not used any more. Also called when it could not be added after it was opened. */
    void (*close)(void *store);
    /* Keeps what changed. A row whose version there is not the one that a change, a deletion or a lock is based on is told by
     * cst_save_request_add_conflict, and so is a new row whose reference the store has a row of: then nothing is kept, and the
     * context's merge policy goes on, upon what `values` gives next, or `load` of an atomic store. Rows pushed into the sink are
     * what became of saved rows where that is not what was to be written: another version, values that the store computed. One that
     * cannot be taken does not fail the save: cst_row_sink_push logs it and returns CST_OK, and rows are read again.
     * NULL: the store is read-only. */
    cst_status (*save)(void *store, const cst_save_changes *changes, cst_row_sink *sink, cst_error **error);
    /* Gives new rows their references: the first in out_references is that of the first row, and so on; all are CST_NULL before. The
     * rows have their entity and the attributes that are not null, and no reference. An object whose save fails keeps its own for
     * the next one. NULL: references are made, UUIDs as text. */
    cst_status (*obtain_ids)(void *store, size_t count, const cst_row *rows, cst_value *out_references,
                             cst_error **error);
    /* The store lies at another path from now on (cst_coordinator_set_store_path). May be NULL. */
    cst_status (*move)(void *store, cst_string path, cst_error **error);

    /* ---- incremental stores ---- */
    /* Pushes the rows that a request asks for: all of the entity at least, out_done says what is done of the rest (CST_FETCHED_…,
     * 0 before the call). out_count: see CST_FETCHED_COUNT. Needed. */
    cst_status (*fetch)(void *store, const cst_store_fetch *fetch, cst_row_sink *sink, uint32_t *out_done,
                        uint64_t *out_count, cst_error **error);
    /* Pushes the rows of references, in any order; those that are no more are not pushed. Each of `rows` has an entity, the row's own
     * or, when that is not known, one that it inherits from, and its reference. Needed. */
    cst_status (*values)(void *store, size_t count, const cst_row *rows, cst_row_sink *sink, cst_error **error);
    /* Pushes what a relationship of some owners leads to (cst_row_sink_push_members): of a to-one relationship at most one member.
     * `entity` is that of the owners, or one that they inherit from. An owner for which nothing is pushed has none.
     * NULL where all rows are pushed with all of their relationships. */
    cst_status (*relationship)(void *store, const cst_entity *entity, cst_key relationship, size_t count,
                               const cst_row *owners, cst_row_sink *sink, cst_error **error);
    /* A context knows objects from now on, or no longer, also since it was reset or has ended: for each context, new
     * objects after their save. One call for those that come or go together, at the end of the outermost call of the
     * thread. May be NULL. */
    void (*did_register)(void *store, size_t count, const cst_row *rows);
    void (*did_unregister)(void *store, size_t count, const cst_row *rows);

    /* ---- atomic stores ---- */
    /* Pushes all rows of all entities, with all relationships: of a relationship and its inverse one side is enough. Called once,
     * after `open`, unless the store is new and *out_metadata was left empty, and again after a save that reported conflicts.
     * Needed. */
    cst_status (*load)(void *store, cst_row_sink *sink, cst_error **error);

    /* ---- stores that are not open; each may be NULL ---- */
    /* What the store at a path says about itself, as a property list. CST_NOT_FOUND: there is none. */
    cst_status (*copy_metadata)(void *userdata, cst_string path, cst_buffer *out_plist, cst_error **error);
    cst_status (*set_metadata)(void *userdata, cst_string path, cst_bytes plist, cst_error **error);
    /* Removes the store at a path: cst_coordinator_destroy_store. CST_NOT_FOUND: there is none. */
    cst_status (*destroy_store)(void *userdata, cst_string path, cst_error **error);
    /* Puts a copy of the store at source_path in the place of the one at path: cst_coordinator_replace_store. */
    cst_status (*replace_store)(void *userdata, cst_string path, cst_string source_path, cst_error **error);

    void *userdata;
    /* May be NULL. Called once: on failure, or when the type was unregistered and the last of its stores is gone. */
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

/* Makes a type of stores known in the whole process: cst_coordinator_add_store takes its name from now on, in any case of
 * letters. CST_E_INVALID_ARGUMENT for a name that is taken, also by a type that was registered before, and for a table that
 * lacks what its kind needs. On failure `destroy` is called too. */
CST_EXPORT CST_ANY_THREAD cst_status cst_store_type_register(cst_string name, const cst_store_callbacks *callbacks,
                                                             cst_error **error);
/* Forgets a type; stores of it that are open stay so. CST_NOT_FOUND when none of that name was registered. */
CST_EXPORT CST_ANY_THREAD cst_status cst_store_type_unregister(cst_string name, cst_error **error);
/* The names of all types, the built-in ones first, each ended by a NUL. out_count may be NULL. */
CST_EXPORT CST_ANY_THREAD cst_status cst_store_type_copy_names(cst_buffer *out_names, size_t *out_count,
                                                               cst_error **error);
/* cst_store_copy_metadata and cst_store_set_metadata for a store whose type is not told by what lies at its path. */
CST_EXPORT CST_ANY_THREAD cst_status cst_store_type_copy_metadata(cst_string type, cst_string path,
                                                                  cst_buffer *out_plist, cst_error **error);
CST_EXPORT CST_ANY_THREAD cst_status cst_store_type_set_metadata(cst_string type, cst_string path, cst_bytes plist,
                                                                 cst_error **error);

/* Pushes rows; as often as the callback likes, many at a time for speed. All of a call or none: CST_E_INVALID_ARGUMENT for
 * an entity that is none of those that were asked for, a reference that is none or that is known as the row of another
 * entity, and a row that was not asked for; CST_E_TYPE_MISMATCH for a value that its attribute does not take. The error
 * names entity, key and value. In `save`, which may have kept its changes by then, such rows are logged and left out with
 * CST_OK. */
CST_EXPORT CST_ONE_THREAD cst_status cst_row_sink_push(cst_row_sink *sink, size_t count, const cst_row *rows,
                                                       cst_error **error);
/* Pushes members of the owner of that index, in order, after those pushed before. Their rows may have values, too, which are then
 * not asked for until somebody refreshes them. Only in `relationship`. */
CST_EXPORT CST_ONE_THREAD cst_status cst_row_sink_push_members(cst_row_sink *sink, size_t owner, size_t count,
                                                               const cst_row *members, cst_error **error);

/* Fills `out_rows` with the next rows of all that the store holds once this save is done, entity by entity, with all values
 * that are not null and the members of to-many relationships, of both sides (CST_ARRAY; empty ones are left out). They are
 * valid until the next such call. CST_END when there are no more. Only for atomic stores. */
CST_EXPORT CST_ONE_THREAD cst_status cst_save_request_next(cst_save_request *request, size_t capacity,
                                                           cst_row *out_rows, size_t *out_count, cst_error **error);
enum {
    CST_CONFLICT_ROW_VERSION = 1, /* the row has another version, or is gone; a new one is there already */
    CST_CONFLICT_ROW_UNIQUE = 2   /* another row has the values that must be unique */
};
/* Says that a row of the save stands against what the store has. The save then ends with the error of such a conflict, or as the
 * context's merge policy says, whatever status `save` returns; a batch request, or a migration, ends with it. */
CST_EXPORT CST_ONE_THREAD cst_status cst_save_request_add_conflict(cst_save_request *request, uint32_t kind,
                                                                   const cst_row *row, cst_error **error);

/* The reference that an ID carries: CST_INT, CST_STRING or CST_BYTES; of a store of ours the primary key. CST_NOT_FOUND for a
 * temporary ID. The view is valid as long as the ID. */
CST_EXPORT CST_ANY_THREAD cst_status cst_object_id_reference(const cst_object_id *id,
                                                             cst_value *out_reference CST_BORROWED, cst_error **error);
/* The ID of an entity's row of that reference in an open store, whether there is such a row or not. */
CST_EXPORT CST_ANY_THREAD cst_status cst_store_new_object_id(const cst_store *store, const cst_entity *entity,
                                                             const cst_value *reference,
                                                             cst_object_id **out_id CST_OWNED, cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
