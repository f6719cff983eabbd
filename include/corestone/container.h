/* corestone/container.h: a model, its stores and contexts in one handle
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_CONTAINER_H
#define CORESTONE_CONTAINER_H

#include "store.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ======== container ====================================================================================== */
/* A model, the stores of its objects, and contexts, in one handle: what most programs begin with. */

typedef struct cst_container_options {
    size_t struct_size;
    /* Names the folder of the program's data: $XDG_DATA_HOME/<application>, else $HOME/.local/share/<application>. Null: the
     * name of the program's file. */
    cst_string application;
    size_t model_folder_count; /* where a model is looked for by name, before all other places */
    const cst_string *model_folders;
} cst_container_options;
#define CST_CONTAINER_OPTIONS_INIT {sizeof(cst_container_options), {NULL, 0}, 0, NULL}

/* A container with one store, of type SQLite in the file <name>.sqlite of the program's data folder; nothing is opened yet.
 * `model` is frozen; NULL: the one called `name` with the ending .momd, .mom, .xcdatamodeld or .xcdatamodel, from the first
 * of these folders that has it: those of the options; those in CORESTONE_MODEL_PATH; the program's; ../share/<application>
 * seen from there; the data folder; <application> below each of XDG_DATA_DIRS; the working folder. CST_E_MODEL names them
 * when none has it. options may be NULL. */
CST_EXPORT CST_ANY_THREAD cst_status cst_container_new(cst_string name, cst_model *model,
                                                       const cst_container_options *options,
                                                       cst_container **out_container CST_OWNED, cst_error **error);
/* A container of a store that is there already, opened as by cst_coordinator_open_store: without its model if need be.
 * options may be NULL. */
CST_EXPORT CST_ANY_THREAD cst_status cst_container_open(cst_string path, cst_model *model,
                                                        const cst_store_options *options,
                                                        cst_container **out_container CST_OWNED, cst_error **error);
/* The program's data folder, which need not be there: the first store makes it. `application` as in the options.
 * CST_E_INVALID_ARGUMENT where neither XDG_DATA_HOME nor HOME is set to an absolute path. */
CST_EXPORT CST_ANY_THREAD cst_status cst_container_copy_data_folder(cst_string application, cst_buffer *out_path,
                                                                    cst_error **error);
enum {
    CST_DESCRIPTION_ASYNCHRONOUS = 1u << 0, /* cst_container_load opens the store on another thread */
    CST_DESCRIPTION_NO_FOLDER = 1u << 1     /* a missing folder is an error; else it is made, for the user alone */
};
typedef struct cst_store_description {
    size_t struct_size;
    cst_string type; /* as cst_coordinator_add_store */
    cst_string path; /* null: in the data folder, with an ending that goes with the type */
    const cst_store_options *options;
    uint32_t flags; /* CST_DESCRIPTION_… */
} cst_store_description;
#define CST_STORE_DESCRIPTION_INIT {sizeof(cst_store_description), {NULL, 0}, {NULL, 0}, NULL, 0}
/* Adds a store to those that are to be opened. The first one takes the place of the one that a container has by itself. All is
 * copied. */
CST_EXPORT CST_ANY_THREAD cst_status cst_container_add_description(cst_container *container,
                                                                   const cst_store_description *description,
                                                                   cst_error **error);
/* Told once of each store that was to be opened: by the index of its description, with its path as it is, and either the store
 * or what went wrong. */
typedef void (*cst_container_load_fn)(void *userdata, size_t index, cst_string path CST_BORROWED,
                                      cst_store *store CST_BORROWED, cst_error *error CST_BORROWED);
/* Opens the stores that are not open. `handler` is told of each, on this thread before the call returns, and for those with
 * CST_DESCRIPTION_ASYNCHRONOUS on another thread; the call itself fails for none. Without a handler (NULL) all are
 * opened before the call returns; it fails as the one store did that could not be opened, or with a detail for each; the
 * others are open. What failed is tried again by the next call. */
CST_EXPORT CST_ANY_THREAD cst_status cst_container_load(cst_container *container, cst_container_load_fn handler,
                                                        void *userdata, cst_destroy_fn destroy, cst_error **error);
CST_EXPORT CST_ANY_THREAD cst_status cst_container_coordinator(const cst_container *container,
                                                               cst_coordinator **out_coordinator CST_BORROWED,
                                                               cst_error **error);
/* A context of the main queue, the same each time. The first call makes the thread on which the process began the main one, if
 * it comes from there and no thread is yet (cst_main_queue_bind). */
CST_EXPORT CST_ANY_THREAD cst_status cst_container_view_context(cst_container *container,
                                                                cst_context **out_context CST_BORROWED,
                                                                cst_error **error);
/* A new context with a queue of its own. */
CST_EXPORT CST_ANY_THREAD cst_status cst_container_new_background_context(cst_container *container,
                                                                          cst_context **out_context CST_OWNED,
                                                                          cst_error **error);
/* What a container knows: {"name", "application", "isClosed", "stores": [{"path", "type", "configuration", "isAsynchronous"},
 * …], "unsaved": as cst_coordinator_copy_unsaved_changes tells it}. Waits for the queues of contexts with changes. */
CST_EXPORT CST_ANY_THREAD cst_status cst_container_copy_report(cst_container *container, cst_buffer *out_json,
                                                               cst_error **error);
/* Saves what the contexts of the container's coordinator have not saved, children first. */
CST_EXPORT CST_ANY_THREAD cst_status cst_container_save(cst_container *container, cst_error **error);
/* Closes the stores; contexts can read and save nothing any more. `unsaved` says what becomes of changes that were not
 * saved: refused, they are CST_E_UNSAVED_CHANGES with a detail for each context that has some, with its name and how many
 * objects of each entity were inserted, updated and deleted. The queues of contexts first do what they were given, and take
 * no more from other threads than this one: CST_E_INVALID_HANDLE, until it turns out that the container stays open; with
 * CST_UNSAVED_DISCARD nothing is waited for. Not on the queue of a context on which other work waits. Releasing a container
 * asks nobody: the stores are closed when the last handle of them is gone, and the log tells what contexts lost. */
CST_EXPORT CST_ANY_THREAD cst_status cst_container_close(cst_container *container, uint32_t unsaved, cst_error **error);

/* ---- records: rows as plain values, for programs that want neither contexts nor objects.
 *
 * A record is a JSON object: an entry for each attribute (dates as ISO 8601, decimals, UUIDs and URIs as text, bytes in
 * base64, an object of the elements of a composite one), for each relationship the URI of the object that it leads to or a
 * list of them, its own URI as "@id", and as "@entity" the name of its entity, where that inherits from the one asked for.
 * A date that ISO 8601 does not give to the microsecond in a year of four digits is a number, the seconds since 2001-01-01;
 * numbers that are not finite are "Infinity", "-Infinity" and "NaN". What is read can be written again by an update, which
 * passes over "@id", "@entity" and derived attributes. Each call works in a context of its own on the calling thread and
 * saves before it returns: all, or nothing, in one store. */

/* Told of success before the call returns: `records` is a JSON list, null of deletions. */
typedef void (*cst_records_fn)(void *userdata, cst_string records CST_BORROWED, size_t count);
/* Told of failure before the call returns, which fails with the same error. */
typedef void (*cst_failure_fn)(void *userdata, const cst_error *error CST_BORROWED);
/* Inserts objects: `json` is one record or a list of them. Values are converted as the attribute wants them; null is null,
 * and what is not named has its default. "@entity" names the entity, one that inherits from entity_name; with "@id" a
 * record is there already, which is CST_E_INVALID_ARGUMENT. A relationship takes the URI of an object or a record, a
 * to-many one a list of these: a record with "@id" changes that object, any other inserts one of the relationship's entity,
 * or of the one it names as "@entity". CST_E_TYPE_MISMATCH and CST_E_INVALID_ARGUMENT name entity, key and value. success
 * and failure may be NULL, here and below. */
CST_EXPORT CST_ANY_THREAD cst_status cst_container_insert(cst_container *container, cst_string entity_name,
                                                          cst_string json, cst_records_fn success,
                                                          cst_failure_fn failure, void *userdata, cst_error **error);
/* The records that a predicate holds for (NULL: all; of one object "SELF == %@" with its ID), at most `limit` of them (0:
 * all) after leaving out `offset`, ordered by `sort`: key paths with commas between them, "-" before those that go the
 * other way than `ascending` says; null: in no order. What comes from people belongs into arguments of cst_predicate_parse. */
CST_EXPORT CST_ANY_THREAD cst_status cst_container_read(cst_container *container, cst_string entity_name,
                                                        const cst_predicate *predicate, cst_string sort, bool ascending,
                                                        uint64_t limit, uint64_t offset, cst_records_fn success,
                                                        cst_failure_fn failure, void *userdata, cst_error **error);
/* Sets what `json`, a record, names, of the objects that a predicate holds for (NULL: all); tells of them as they are then. */
CST_EXPORT CST_ANY_THREAD cst_status cst_container_update(cst_container *container, cst_string entity_name,
                                                          const cst_predicate *predicate, cst_string json,
                                                          cst_records_fn success, cst_failure_fn failure,
                                                          void *userdata, cst_error **error);
/* Deletes the objects that a predicate holds for, which is not NULL; delete rules follow. */
CST_EXPORT CST_ANY_THREAD cst_status cst_container_delete(cst_container *container, cst_string entity_name,
                                                          const cst_predicate *predicate, cst_records_fn success,
                                                          cst_failure_fn failure, void *userdata, cst_error **error);
/* Deletes all objects of an entity, and of those that inherit from it. */
CST_EXPORT CST_ANY_THREAD cst_status cst_container_delete_all(cst_container *container, cst_string entity_name,
                                                              cst_records_fn success, cst_failure_fn failure,
                                                              void *userdata, cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
