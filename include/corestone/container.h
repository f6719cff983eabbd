/* corestone/container.h: a model, its stores and its contexts in one handle.
 *
 * Most programs begin with a container. cst_container_new finds the model and the path of the store, cst_container_load
 * opens the store, cst_container_view_context returns a context for the main thread, and
 * cst_container_new_background_context creates others. cst_container_close closes everything; its parameter specifies
 * whether unsaved changes are saved, are discarded, or make the call fail.
 *
 * The second half of this header reads and writes records: rows as plain JSON, for programs that need neither contexts
 * nor objects.
 *
 * The caller owns containers. All functions may be called on any thread; contexts are used on their queues.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_CONTAINER_H
#define CORESTONE_CONTAINER_H

#include "context.h"
#include "store.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Options of a new container. Start from CST_CONTAINER_OPTIONS_INIT. */
typedef struct cst_container_options {
    size_t struct_size;
    /* Names the folder of the program's data: $XDG_DATA_HOME/<application>, otherwise $HOME/.local/share/<application>.
     * Null selects the name of the program's file. */
    cst_string application;
    size_t model_folder_count; /* folders that are searched for a model by name, before all other places */
    const cst_string *model_folders;
} cst_container_options;
#define CST_CONTAINER_OPTIONS_INIT {sizeof(cst_container_options), {NULL, 0}, 0, NULL}

/* Creates a container with one store of type SQLite, in the file <name>.sqlite of the program's data folder. Nothing
 * is opened yet. The model is frozen. If `model` is NULL, the model `name` is read, with the extension .momd, .mom,
 * .xcdatamodeld or .xcdatamodel. These folders are searched in this order: (1) those of the options, (2) those in
 * CORESTONE_MODEL_PATH, (3) the program's folder, (4) ../share/<application> relative to the program's folder, (5) the
 * data folder, (6) <application> in each of XDG_DATA_DIRS, (7) the working folder. Fails with CST_E_MODEL if no folder
 * has the model; the message lists the folders. `options` may be NULL. */
CST_EXPORT CST_ANY_THREAD cst_status cst_container_new(cst_string name, cst_model *model,
                                                       const cst_container_options *options,
                                                       cst_container **out_container CST_OWNED, cst_error **error);

/* Creates a container for an existing store, opened as by cst_coordinator_open_store. `model` and `options` may be
 * NULL. */
CST_EXPORT CST_ANY_THREAD cst_status cst_container_open(cst_string path, cst_model *model,
                                                        const cst_store_options *options,
                                                        cst_container **out_container CST_OWNED, cst_error **error);

/* Fills a buffer with the path of the program's data folder, which need not exist. The folder is created when a new
 * store in it is opened. `application` is as in cst_container_options. Fails with CST_E_INVALID_ARGUMENT if neither
 * XDG_DATA_HOME nor HOME is an absolute path. */
CST_EXPORT CST_ANY_THREAD cst_status cst_container_copy_data_folder(cst_string application, cst_buffer *out_path,
                                                                    cst_error **error);

/* Flags of a store description. */
enum {
    CST_DESCRIPTION_ASYNCHRONOUS = 1u << 0, /* cst_container_load opens the store on another thread */
    CST_DESCRIPTION_NO_FOLDER = 1u
        << 1 /* a missing folder is an error; by default, the call creates it, with permissions for the user only */
};

/* A store that a container will open. Start from CST_STORE_DESCRIPTION_INIT. */
typedef struct cst_store_description {
    size_t struct_size;
    cst_string type; /* as for cst_coordinator_add_store */
    cst_string path; /* null: in the data folder, with an extension for the type */
    const cst_store_options *options;
    uint32_t flags; /* CST_DESCRIPTION_… */
} cst_store_description;
#define CST_STORE_DESCRIPTION_INIT {sizeof(cst_store_description), {NULL, 0}, {NULL, 0}, NULL, 0}

/* Adds a store that cst_container_load will open. The first one replaces the default store of the container, unless
 * that is open. The description is copied. */
CST_EXPORT CST_ANY_THREAD cst_status cst_container_add_description(cst_container *container,
                                                                   const cst_store_description *description,
                                                                   cst_error **error);

/* Receives the outcome for one store.
 *
 * The arguments are the index of the store's description, its actual path, and either the store or the error. All of
 * them are borrowed for the call. */
typedef void (*cst_container_load_fn)(void *userdata, size_t index, cst_string path CST_BORROWED,
                                      cst_store *store CST_BORROWED, cst_error *error CST_BORROWED);

/* Opens the stores of a container that are not open. `handler` is called once for each, on this thread before the call
 * returns, or on another thread with CST_DESCRIPTION_ASYNCHRONOUS. With a handler, a store that cannot be opened does
 * not make the call fail. Without a handler (NULL) all stores are opened before the call returns. If one store cannot
 * be opened, the call fails with its error; if several cannot, the error has a detail for each. The other stores stay
 * open, and the next call tries to open the failed stores again. */
CST_EXPORT CST_ANY_THREAD cst_status cst_container_load(cst_container *container, cst_container_load_fn handler,
                                                        void *userdata, cst_destroy_fn destroy, cst_error **error);

/* Returns the coordinator of the container. */
CST_EXPORT CST_ANY_THREAD cst_status cst_container_coordinator(const cst_container *container,
                                                               cst_coordinator **out_coordinator CST_BORROWED,
                                                               cst_error **error);

/* Returns the container's context of the main queue, the same context in each call. A call on the initial thread of the
 * process makes that thread the main thread (cst_main_queue_bind), if no main thread is set. */
CST_EXPORT CST_ANY_THREAD cst_status cst_container_view_context(cst_container *container,
                                                                cst_context **out_context CST_BORROWED,
                                                                cst_error **error);

/* Creates a context with a private queue. */
CST_EXPORT CST_ANY_THREAD cst_status cst_container_new_background_context(cst_container *container,
                                                                          cst_context **out_context CST_OWNED,
                                                                          cst_error **error);

/* Runs `body` later, on the queue of a new background context, then `done`, which may be NULL, then `destroy`.
 *
 * The functions are called as by cst_context_schedule. The context is released afterwards: its unsaved changes are
 * lost, and the log has a warning unless `body` failed. Retain the context to keep it. Fails with CST_E_INVALID_HANDLE
 * if the container is closed or being closed. */
CST_EXPORT CST_ANY_THREAD cst_status cst_container_perform_background_task(cst_container *container,
                                                                           cst_context_perform_fn body,
                                                                           cst_context_done_fn done, void *userdata,
                                                                           cst_destroy_fn destroy, cst_error **error);

/* Fills a buffer with a description of the container as JSON.
 *
 * The form is {"name", "application", "isClosed", "stores": [{"path", "type", "configuration", "isAsynchronous"}, …],
 * "unsaved": as in cst_coordinator_copy_unsaved_changes}. Waits for the queues of contexts with changes. */
CST_EXPORT CST_ANY_THREAD cst_status cst_container_copy_report(cst_container *container, cst_buffer *out_json,
                                                               cst_error **error);

/* Saves all contexts of the container's coordinator, children first. */
CST_EXPORT CST_ANY_THREAD cst_status cst_container_save(cst_container *container, cst_error **error);

/* Closes the stores of a container. Its contexts can then no longer read or save. `unsaved` is a CST_UNSAVED_ constant.
 * With CST_UNSAVED_REFUSE, the call fails with CST_E_UNSAVED_CHANGES if a context has unsaved changes. The error has a
 * detail for each such context: its name and the number of objects of each entity that were inserted, updated and
 * deleted.
 *
 * The queues of contexts first finish their enqueued work. Meanwhile the queues reject new work from other threads with
 * CST_E_INVALID_HANDLE; if the container stays open, they accept work again. The call fails with CST_E_INVALID_ARGUMENT
 * on the queue of a context while other work waits for that queue. With CST_UNSAVED_DISCARD the call does not wait for
 * the queues. Releasing a container never fails: its stores are closed when their last handles are released, and the
 * log reports lost changes. */
CST_EXPORT CST_ANY_THREAD cst_status cst_container_close(cst_container *container, uint32_t unsaved, cst_error **error);

/* Receives the records of a successful call before it returns. `records` is a JSON array, or null for deletions;
 * `count` is the number of records or deleted objects. */
typedef void (*cst_records_fn)(void *userdata, cst_string records CST_BORROWED, size_t count);

/* Receives the error of a failed call before the call returns the same error. The error is borrowed for the call. */
typedef void (*cst_failure_fn)(void *userdata, const cst_error *error CST_BORROWED);

/* Inserts objects from records.
 *
 * A record is a JSON object with an entry for each relationship and for each attribute, except transformable and
 * undefined ones. Dates are ISO 8601, decimals, UUIDs and URIs are text, bytes are base64, and a composite attribute is
 * an object of its elements. A relationship is the URI of the target, or an array of URIs. "@id" is the URI of the
 * object, and "@entity" the name of its entity if that is a subentity of the requested entity. A date that ISO 8601
 * cannot express to the microsecond in a year of four digits is a number, the seconds since 2001-01-01. Numbers that
 * are not finite are "Infinity", "-Infinity" and "NaN". An update accepts records that were read: it ignores "@id" and
 * "@entity", and derived attributes of a record with "@id". Each function for records uses a temporary context on the
 * calling thread and saves before it returns, in one transaction of one store.
 *
 * `json` is one record or an array of records. Values are converted to the types of their attributes; null stores null,
 * and omitted keys receive their defaults. {"$bytes": "…"}, with base64, is bytes and never text. "@entity" names
 * `entity_name` or a subentity of it. Inserting a record with "@id" fails with CST_E_INVALID_ARGUMENT, because its
 * object already exists. The value of a relationship is the URI of an object or a record, or an array of these if it is
 * to-many. In a relationship, a record with "@id" changes that object; any other record inserts an object of the
 * destination entity, or of the entity that "@entity" names. CST_E_TYPE_MISMATCH and CST_E_INVALID_ARGUMENT have
 * entity, key and value. In all functions for records, `success` and `failure` may be NULL. */
CST_EXPORT CST_ANY_THREAD cst_status cst_container_insert(cst_container *container, cst_string entity_name,
                                                          cst_string json, cst_records_fn success,
                                                          cst_failure_fn failure, void *userdata, cst_error **error);

/* Reads the records that satisfy `predicate` (NULL: all): at most `limit` (0: all), after skipping `offset`. To read
 * one object, pass the predicate "SELF == %@" with its ID. `sort` orders the records: key paths separated by commas, in
 * the direction of `ascending`, or in the opposite one after a "-"; null means no order. Put user input into arguments
 * of cst_predicate_parse, not into its format. */
CST_EXPORT CST_ANY_THREAD cst_status cst_container_read(cst_container *container, cst_string entity_name,
                                                        const cst_predicate *predicate, cst_string sort, bool ascending,
                                                        uint64_t limit, uint64_t offset, cst_records_fn success,
                                                        cst_failure_fn failure, void *userdata, cst_error **error);

/* Sets the values in `json` on the objects that satisfy `predicate`.
 *
 * `json` is one record. A `predicate` of NULL selects all objects. `success` receives the objects' new records. */
CST_EXPORT CST_ANY_THREAD cst_status cst_container_update(cst_container *container, cst_string entity_name,
                                                          const cst_predicate *predicate, cst_string json,
                                                          cst_records_fn success, cst_failure_fn failure,
                                                          void *userdata, cst_error **error);

/* Deletes the objects that satisfy `predicate`, which must not be NULL. Delete rules are applied. */
CST_EXPORT CST_ANY_THREAD cst_status cst_container_delete(cst_container *container, cst_string entity_name,
                                                          const cst_predicate *predicate, cst_records_fn success,
                                                          cst_failure_fn failure, void *userdata, cst_error **error);

/* Deletes all objects of an entity and of its subentities. */
CST_EXPORT CST_ANY_THREAD cst_status cst_container_delete_all(cst_container *container, cst_string entity_name,
                                                              cst_records_fn success, cst_failure_fn failure,
                                                              void *userdata, cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
