/* Calls on stores, documents, containers and queues, and on state of the whole process.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reentrancy.h"

#include <stdio.h>
#include <string.h>

static cst_context *context(void) { return some(SLOT_CONTEXT); }
static cst_coordinator *coordinator(void) { return some(SLOT_COORDINATOR); }

static const char *any_type(void) {
    static const char *const types[] = {"SQLite", "XML", "Binary", "InMemory", "Shelf", "Crate"};
    return types[below(6)];
}

/* ---- queues ---- */

static void perform(cst_error **error) { cst_context_perform_and_wait(context(), on_perform, NULL, error); }

static void coordinator_perform(cst_error **error) {
    cst_coordinator_perform_and_wait(coordinator(), on_coordinator_perform, NULL, error);
}

/* Later, or at once: on the main queue, when it is drained. Elsewhere another thread would run it, which has not
 * the turn. */
static void schedule(cst_error **error) {
    if (!is_main_thread()) return;
    cst_context *where = context();
    if (one_in(2))
        cst_context_schedule(where, one_in(2) ? CST_SCHEDULE_ENQUEUED : CST_SCHEDULE_IMMEDIATE, on_scheduled, on_done,
                             ticket_new(), ticket_destroy, error);
    else
        cst_context_perform(where, on_scheduled, ticket_new(), ticket_destroy, error);
}

static void drain(cst_error **error) {
    size_t number = 0;
    cst_main_queue_drain(0, &number, error);
}

/* Retains the locked context: without a handle it could not be unlocked, and blocks on its queue would wait forever. */
static void lock(cst_error **error) {
    cst_context **place = &world.locked[below(LOCKS)], *locked = *place ? NULL : cst_retain(context());
    if (!locked) return;
    *place = locked;
    /* The wait ends: another holder is a worker, which makes no calls, or waits for this thread and fails. */
    if (one_in(2))
        cst_context_lock(locked, error);
    else
        cst_context_try_lock(locked, error);
}
static void unlock(cst_error **error) { cst_context_unlock(one_in(2) ? context() : world.locked[below(LOCKS)], error); }

/* ---- stores ---- */

static void replace_coordinator(cst_error **error) {
    cst_coordinator *made = NULL;
    cst_store *store = NULL;
    if (!one_in(2) || cst_coordinator_new(some(SLOT_MODEL), &made, error) != CST_OK) return;
    cst_coordinator_add_store(made, text(any_type()), text(path_of("store", 1)), NULL, &store, NULL);
    keep(SLOT_COORDINATOR, made);
    keep(SLOT_STORE, store);
}

static void close_coordinator(cst_error **error) {
    cst_coordinator *closed = cst_retain(coordinator());
    if (cst_coordinator_close(closed, (uint32_t)below(3), error) == CST_OK) world.closed = closed;
    cst_release(closed);
}

/* Migrates a file of the former version of the model, or opens one that is migrated already or at the moment. */
static void open_older(cst_error **error) {
    static const char *const types[] = {"SQLite", "SQLite", "XML", "Binary"};
    const cst_string none = {NULL, 0};
    bool is_again = world.older_count > 0 && one_in(5);
    if (!is_again && world.older_count == OLDER) return;
    size_t number = is_again ? below(world.older_count) : world.older_count++;
    if (!is_again) write_older(types[below(4)], path_of("older", number));
    cst_store_options options = CST_STORE_OPTIONS_INIT;
    options.flags = CST_STORE_NORMAL_SYNC | CST_STORE_MIGRATE | CST_STORE_INFER_MAPPING;
    if (one_in(4)) options.flags |= CST_STORE_HISTORY;
    options.busy_timeout_ms = 10; /* the migration that runs this callback may have the file */
    options.migration_progress = on_migration_progress;
    if (one_in(3)) {
        options.source_models = &world.older;
        options.source_model_count = 1;
    }
    cst_store *made = NULL;
    cst_buffer plan = {0};
    switch (below(8)) {
    case 0: {
        cst_coordinator *other = NULL;
        options.flags |= CST_STORE_WRITABLE;
        cst_coordinator_open_store(text(path_of("older", number)), some(SLOT_MODEL), &options, &other, &made, error);
        keep(SLOT_STORE, made);
        cst_release(other);
        break;
    }
    case 1: {
        cst_container *opened = NULL;
        options.flags |= CST_STORE_WRITABLE;
        cst_container_open(text(path_of("older", number)), some(SLOT_MODEL), &options, &opened, error);
        keep(SLOT_CONTAINER, opened);
        break;
    }
    case 2: {
        cst_document *opened = NULL;
        cst_document_open(text(path_of("older", number)), some(SLOT_MODEL), &options, CST_QUEUE_CALLER, &opened, error);
        keep(SLOT_DOCUMENT, opened);
        break;
    }
    case 3:
        cst_store_copy_migration_plan(text(path_of("older", number)), some(SLOT_MODEL), &options, &plan, error);
        cst_buffer_dispose(&plan);
        break;
    default:
        cst_coordinator_add_store(coordinator(), none, text(path_of("older", number)), &options, &made, error);
        keep(SLOT_STORE, made);
        break;
    }
}

static void add_store(cst_error **error) {
    cst_store *made = NULL;
    cst_store_options options = CST_STORE_OPTIONS_INIT;
    options.flags = CST_STORE_NORMAL_SYNC;
    if (one_in(3)) cst_coordinator_remove_store(coordinator(), some(SLOT_STORE), error);
    cst_coordinator_add_store(coordinator(), text(any_type()), text(path_of("store", 1 + below(3))), &options, &made,
                              NULL);
    keep(SLOT_STORE, made);
}

static void remove_it(cst_error **error) {
    if (one_in(3)) cst_coordinator_remove_store(coordinator(), some(SLOT_STORE), error);
}

static void backup(cst_error **error) {
    const char *path = path_of("backup", below(2));
    remove_store(path);
    cst_coordinator_backup_store(coordinator(), some(SLOT_STORE), text(path_of("backup", below(2))), NULL, on_progress,
                                 NULL, error);
}

static void migrate(cst_error **error) {
    cst_store *made = NULL;
    size_t number = 2 + below(2);
    remove_store(path_of("backup", number));
    cst_coordinator_migrate_store(coordinator(), some(SLOT_STORE), text(any_type()), text(path_of("backup", number)),
                                  NULL, on_progress, NULL, &made, error);
    keep(SLOT_STORE, made);
}

static void metadata(cst_error **error) {
    cst_buffer plist = {0};
    if (cst_coordinator_copy_metadata(coordinator(), some(SLOT_STORE), &plist, error) == CST_OK && one_in(2))
        cst_coordinator_set_metadata(coordinator(), some(SLOT_STORE),
                                     (cst_bytes){(const uint8_t *)plist.data, plist.size}, NULL);
    cst_buffer_dispose(&plist);
}

static void closed_metadata(cst_error **error) {
    cst_buffer plist = {0};
    const char *type = one_in(2) ? "Shelf" : "Crate";
    if (cst_store_type_copy_metadata(text(type), text(path_of("store", 0)), &plist, error) == CST_OK)
        cst_store_type_set_metadata(text(type), text(path_of("store", 0)),
                                    (cst_bytes){(const uint8_t *)plist.data, plist.size}, NULL);
    cst_buffer_dispose(&plist);
}

static void store_path(cst_error **error) {
    cst_coordinator_set_store_path(coordinator(), some(SLOT_STORE), text(path_of("store", 1 + below(3))), error);
}

static void destroy_store(cst_error **error) {
    const char *path = path_of("store", 1 + below(3));
    if (one_in(2))
        cst_coordinator_destroy_store(coordinator(), text(any_type()), text(path), NULL, error);
    else
        cst_coordinator_replace_store(coordinator(), text(any_type()), text(path), text(path_of("backup", 0)), NULL,
                                      error);
}

static void read_store(cst_error **error) {
    cst_store *store = some(SLOT_STORE);
    bool read_only = false;
    cst_store_is_read_only(store, &read_only, error);
    cst_store_identifier(store);
    cst_statistics statistics = {.struct_size = sizeof statistics};
    cst_coordinator_statistics(coordinator(), &statistics, NULL);
    if (one_in(4)) cst_coordinator_checkpoint_store(coordinator(), store, (uint32_t)below(4), NULL, NULL, NULL);
}

/* ---- state of the process ---- */

static void functions(cst_error **error) {
    if (one_in(4))
        cst_function_unregister(text("fz"), error);
    else
        cst_function_register(text("fz"), on_function, ticket_new(), ticket_destroy, error);
}

static void transformers(cst_error **error) {
    cst_transformer_callbacks callbacks = transformer();
    cst_transformer_register(text("Things"), &callbacks, error);
    if (one_in(5)) cst_transformer_unregister(text("Things"), NULL);
}

static void classes(cst_error **error) {
    cst_archive_class_callbacks callbacks = archive_class();
    cst_archive_register_class(text("Thing"), &callbacks, error);
    if (one_in(5)) cst_archive_unregister_class(text("Thing"), NULL);
}

static void store_types(cst_error **error) {
    bool is_atomic = one_in(2);
    if (one_in(3)) cst_store_type_unregister(text(is_atomic ? "Crate" : "Shelf"), error);
    stores_register(is_atomic, NULL);
}

static void log_lines(cst_error **error) {
    if (one_in(3))
        cst_log_set_callback(NULL, NULL, NULL, error);
    else
        cst_log_set_callback(on_log, ticket_new(), ticket_destroy, error);
    cst_log_set_sql_detail((uint32_t)below(5), NULL);
}

/* ---- documents and containers ---- */

static void document(cst_error **error) {
    cst_document *made = NULL;
    cst_queue queue = one_in(2) ? CST_QUEUE_CALLER : CST_QUEUE_MAIN;
    if (one_in(2))
        cst_document_new(some(SLOT_MODEL), text(any_type()), queue, &made, error);
    else
        cst_document_open(text(path_of("document", below(2))), some(SLOT_MODEL), NULL, queue, &made, error);
    if (made) {
        cst_observation *observation = NULL;
        cst_document_observe(made, on_document_note, ticket_new(), ticket_destroy, &observation, NULL);
        keep(SLOT_OBSERVATION, observation);
    }
    keep(SLOT_DOCUMENT, made);
}

static void use_document(cst_error **error) {
    cst_document *document = some(SLOT_DOCUMENT);
    cst_context *edited = NULL;
    cst_object *made = NULL;
    uint32_t flags = 0;
    bool unsaved = false;
    switch (below(7)) {
    case 0:
        cst_document_save(document, error);
        break;
    case 1:
        cst_document_save_as(document, text(any_type()), text(path_of("document", below(2))), one_in(2), error);
        break;
    case 2:
        cst_document_revert(document, error);
        break;
    case 3:
        cst_document_close(document, (uint32_t)below(3), error);
        break;
    case 4:
        cst_document_state(document, &flags, error);
        cst_document_has_unsaved_changes(document, &unsaved, NULL);
        break;
    default:
        if (cst_document_context(document, &edited, error) != CST_OK) break;
        if (cst_context_insert(edited, world.person, &made, NULL) == CST_OK) keep(SLOT_OBJECT, made);
        cst_context_process_pending_changes(edited, NULL);
        break;
    }
}

static void container(cst_error **error) {
    cst_container *made = NULL;
    if (one_in(2)) {
        cst_container_open(text(path_of("container", below(2))), some(SLOT_MODEL), NULL, &made, error);
    } else {
        cst_store_description description = CST_STORE_DESCRIPTION_INIT;
        const char *type = any_type();
        description.type = text(type);
        description.path = text(path_of("container", 2 + below(2)));
        cst_container_new(text("world"), some(SLOT_MODEL), NULL, &made, error);
        cst_container_add_description(made, &description, NULL);
        cst_container_load(made, on_container_load, ticket_new(), ticket_destroy, NULL);
    }
    keep(SLOT_CONTAINER, made);
}

static void use_container(cst_error **error) {
    cst_container *container = some(SLOT_CONTAINER);
    const cst_string name = text("Person");
    cst_context *made = NULL;
    switch (below(8)) {
    case 0:
    case 1:
        cst_container_insert(container, name, text("{\"name\": \"Ada\", \"age\": 3}"), on_records, on_failure, NULL,
                             error);
        break;
    case 2:
        cst_container_read(container, name, some(SLOT_PREDICATE), text("name"), true, 2, 0, on_records, on_failure,
                           NULL, error);
        break;
    case 3:
        cst_container_update(container, name, some(SLOT_PREDICATE), text("{\"age\": 4}"), on_records, on_failure, NULL,
                             error);
        break;
    case 4:
        cst_container_delete(container, name, some(SLOT_PREDICATE), on_records, on_failure, NULL, error);
        break;
    case 5:
        cst_container_save(container, error);
        break;
    case 6:
        if (one_in(2)) cst_container_close(container, (uint32_t)below(3), error);
        break;
    default:
        cst_container_new_background_context(container, &made, error);
        keep(SLOT_CONTEXT, made);
        break;
    }
}

const struct act host_acts[] = {
    {"perform", 4, perform},
    {"coordinator_perform", 2, coordinator_perform},
    {"schedule", 2, schedule},
    {"drain", 2, drain},
    {"lock", 1, lock},
    {"unlock", 2, unlock},
    {"replace_coordinator", 1, replace_coordinator},
    {"close_coordinator", 1, close_coordinator},
    {"open_older", 2, open_older},
    {"add_store", 1, add_store},
    {"push_rows", 1, stores_push},
    {"remove_store", 1, remove_it},
    {"backup", 1, backup},
    {"migrate", 1, migrate},
    {"metadata", 1, metadata},
    {"closed_metadata", 1, closed_metadata},
    {"store_path", 1, store_path},
    {"destroy_store", 1, destroy_store},
    {"read_store", 1, read_store},
    {"functions", 2, functions},
    {"transformers", 1, transformers},
    {"classes", 1, classes},
    {"store_types", 1, store_types},
    {"log_lines", 1, log_lines},
    {"document", 1, document},
    {"use_document", 2, use_document},
    {"container", 1, container},
    {"use_container", 2, use_container},
};
const size_t host_act_count = sizeof host_acts / sizeof *host_acts;
