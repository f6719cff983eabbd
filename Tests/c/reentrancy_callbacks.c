/* The callbacks: each makes random calls first, then fulfils its purpose, correctly or not.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reentrancy.h"

#include <stdio.h>
#include <string.h>

cst_status answer(cst_error **error) {
    switch (below(16)) {
    case 0:
        return CST_E_CALLBACK;
    case 1:
        if (error && !*error) cst_error_new_custom(text("Host"), 7, text("not today"), NULL, NULL, error);
        return CST_E_CALLBACK;
    case 2:
        if (!one_in(3)) return CST_OK;
        return one_in(2) ? -12345 : 777; /* not a valid status */
    default:
        return CST_OK;
    }
}

/* Releases a borrowed handle. */
static void give_back(const void *lent) {
    /* An object without a context may retain itself through a cycle that only its handle can undo. */
    if (!one_in(25) || is_unattached((void *)lent)) return;
    count_call();
    cst_release((void *)lent);
}

static cst_value small_text(size_t number) {
    static char names[64][8];
    snprintf(names[number % 64], sizeof names[0], "n%zu", number % 64);
    return value_text(names[number % 64]);
}

/* A value of any type without anything behind it. */
static void spoil(cst_value *value) {
    value->type = (cst_type)below(25);
    value->aux = (uint32_t)below(3);
    value->as.string = (cst_string){NULL, 0};
    if (value->type == CST_INT || value->type == CST_DOUBLE) value->as.integer = (int64_t)below(1000) - 500;
}

/* ---- turning points of an object ---- */

static cst_status on_hook(enum kind kind, void *userdata, cst_object *object, cst_error **error) {
    ticket_use(userdata);
    if (!within(kind)) return CST_OK;
    const cst_value age = value_int((int64_t)below(100));
    if (one_in(8)) cst_object_set(object, world.age, &age, NULL);
    if (one_in(12)) keep(SLOT_OBJECT, cst_retain(object));
    give_back(object);
    return answer(error);
}

#define HOOK(name)                                                                                                     \
    static cst_status on_##name(void *userdata, cst_object *object, cst_error **error) {                               \
        return on_hook(KIND_##name, userdata, object, error);                                                          \
    }
HOOK(awake_from_insert)
HOOK(awake_from_fetch)
HOOK(will_save)
HOOK(did_save)
HOOK(prepare_for_deletion)
HOOK(will_turn_into_fault)
HOOK(did_turn_into_fault)

static cst_status on_snapshot_events(void *userdata, cst_object *object, uint32_t events, cst_error **error) {
    (void)events;
    return on_hook(KIND_awake_from_snapshot_events, userdata, object, error);
}

static cst_status on_set_nil(void *userdata, cst_object *object, cst_string property, cst_error **error) {
    (void)property;
    return on_hook(KIND_set_nil_value, userdata, object, error);
}

static cst_status on_check(enum kind kind, void *userdata, cst_object *object, cst_value *value, cst_error **error) {
    cst_status status = on_hook(kind, userdata, object, error);
    if (value && one_in(20)) spoil(value);
    return status;
}

static cst_status on_validate(void *userdata, cst_object *object, uint32_t purpose, cst_value *value,
                              cst_error **error) {
    (void)purpose;
    return on_check(KIND_validate, userdata, object, value, error);
}

static cst_status on_validate_value(void *userdata, cst_object *object, cst_string property, uint32_t purpose,
                                    cst_value *value, cst_error **error) {
    (void)property, (void)purpose;
    return on_check(KIND_validate_value, userdata, object, value, error);
}

cst_status on_validator(void *userdata, cst_object *object, uint32_t purpose, cst_value *value, cst_error **error) {
    (void)purpose;
    return on_check(KIND_validator, userdata, object, value, error);
}

void hook_all(cst_lifecycle_hooks *hooks, unsigned which) {
    static const cst_string validated[] = {{"age", 3}, {"name", 4}};
    if (which & 1u) hooks->awake_from_insert = on_awake_from_insert;
    if (which & 2u) hooks->awake_from_fetch = on_awake_from_fetch;
    if (which & 4u) hooks->awake_from_snapshot_events = on_snapshot_events;
    if (which & 8u) hooks->will_save = on_will_save;
    if (which & 16u) hooks->did_save = on_did_save;
    if (which & 32u) hooks->prepare_for_deletion = on_prepare_for_deletion;
    if (which & 64u) hooks->will_turn_into_fault = on_will_turn_into_fault;
    if (which & 128u) hooks->did_turn_into_fault = on_did_turn_into_fault;
    if (which & 256u) hooks->set_nil_value = on_set_nil;
    if (which & 512u) hooks->validate = on_validate;
    if (which & 1024u) {
        hooks->validate_value = on_validate_value;
        hooks->validated_count = 2;
        hooks->validated = validated;
    }
    hooks->userdata = ticket_new();
    hooks->destroy = ticket_destroy;
}

/* ---- observers ---- */

void on_context_note(void *userdata, cst_context *context, uint32_t notification, const cst_changes *changes) {
    (void)notification;
    ticket_use(userdata);
    if (!within(KIND_context_note)) return;
    cst_results *const lists[] = {changes ? changes->inserted : NULL, changes ? changes->updated : NULL,
                                  changes ? changes->deleted : NULL};
    for (size_t i = 0; i < 3; i++) {
        cst_object *object = NULL;
        if (!lists[i] || !one_in(4)) continue;
        cst_results_get_object(lists[i], 0, &object, NULL);
        if (one_in(3)) cst_context_delete(context, object, NULL);
        if (one_in(6)) keep(SLOT_RESULTS, cst_retain(lists[i]));
        give_back(lists[i]);
    }
    give_back(context);
}

void on_object_note(void *userdata, cst_object *object, const cst_value_change *change) {
    (void)change;
    ticket_use(userdata);
    if (!within(KIND_object_note)) return;
    give_back(object);
}

void on_undo_note(void *userdata, cst_undo_manager *manager, uint32_t notification) {
    (void)notification;
    ticket_use(userdata);
    if (!within(KIND_undo_note)) return;
    give_back(manager);
}

void on_coordinator_note(void *userdata, cst_coordinator *coordinator, uint32_t notification,
                         const cst_store_changes *changes) {
    (void)notification;
    ticket_use(userdata);
    if (!within(KIND_coordinator_note)) return;
    if (changes && changes->added_count > 0 && one_in(6)) keep(SLOT_STORE, cst_retain(changes->added[0]));
    give_back(coordinator);
}

void on_fetch_note(void *userdata, cst_context *context, const cst_difference *difference) {
    ticket_use(userdata);
    if (!within(KIND_fetch_note)) return;
    if (difference && difference->snapshot && one_in(4)) keep(SLOT_SNAPSHOT, cst_retain(difference->snapshot));
    if (difference) give_back(difference->snapshot);
    give_back(context);
}

void on_document_note(void *userdata, uint32_t flags) {
    (void)flags;
    ticket_use(userdata);
    within(KIND_document_note);
}

/* ---- decisions ---- */

cst_status on_resolve(void *userdata, cst_context *context, size_t count, cst_conflict *const *conflicts,
                      cst_error **error) {
    (void)context;
    ticket_use(userdata);
    if (!within(KIND_resolve)) return CST_OK;
    for (size_t i = 0; i < count; i++) {
        if (one_in(2)) cst_conflict_resolve(conflicts[i], (int32_t)below(6), NULL);
        world.conflicts[below(CONFLICTS)] = conflicts[i];
        give_back(conflicts[i]);
    }
    return answer(error);
}

bool on_interrupt(void *userdata) {
    ticket_use(userdata);
    return within(KIND_interrupt) && one_in(20);
}

cst_status on_function(void *userdata, const cst_value *receiver, size_t count, const cst_value *arguments,
                       cst_value *out_value, cst_error **error) {
    (void)receiver, (void)count, (void)arguments;
    ticket_use(userdata);
    *out_value = value_int(1);
    if (!within(KIND_function)) return CST_OK;
    *out_value = one_in(5) ? value_null() : value_int((int64_t)below(50));
    if (one_in(30)) spoil(out_value);
    return answer(error);
}

int64_t on_typed_function(int64_t number) { return within(KIND_typed_function) ? number + (int64_t)below(3) : number; }

cst_status on_predicate_block(void *userdata, const cst_value *value, const cst_value *variables, bool *out_result,
                              cst_error **error) {
    (void)variables;
    ticket_use(userdata);
    *out_result = true;
    if (!within(KIND_predicate_block)) return CST_OK;
    if (value->type == CST_OBJECT) give_back(value->as.object);
    *out_result = one_in(2);
    return answer(error);
}

cst_status on_expression_block(void *userdata, const cst_value *value, size_t count, const cst_value *arguments,
                               const cst_value *variables, cst_value *out_value, cst_error **error) {
    (void)value, (void)count, (void)arguments, (void)variables;
    ticket_use(userdata);
    *out_value = value_int(3);
    if (!within(KIND_expression_block)) return CST_OK;
    *out_value = one_in(4) ? host_value() : value_int((int64_t)below(9));
    if (one_in(30)) spoil(out_value);
    return answer(error);
}

cst_status on_compare(void *userdata, size_t sort, const cst_value *a, const cst_value *b, int32_t *out_order,
                      cst_error **error) {
    (void)userdata, (void)sort, (void)a, (void)b;
    *out_order = 0;
    if (!within(KIND_compare)) return CST_OK;
    *out_order = (int32_t)below(3) - 1; /* not a valid order */
    return answer(error);
}

/* ---- bodies ---- */

cst_status on_perform(void *userdata, cst_context *context, cst_error **error) {
    (void)userdata;
    const void *former = turn_take();
    within(KIND_perform);
    give_back(context);
    cst_status status = answer(error);
    turn_give_back(former);
    return status;
}

/* Run when the main queue is drained, by the thread that has the turn; elsewhere only while that waits for it. */
cst_status on_scheduled(void *userdata, cst_context *context, cst_error **error) {
    ticket_use(userdata);
    if (!within(KIND_scheduled)) return CST_OK;
    give_back(context);
    return answer(error);
}

void on_done(void *userdata, cst_context *context, cst_status status, const cst_error *error) {
    (void)status;
    ticket_use(userdata);
    if (!within(KIND_done)) return;
    give_back(context);
    give_back(error);
}

void on_fetch_done(void *userdata, cst_asynchronous_fetch *fetch) {
    ticket_use(userdata);
    if (!within(KIND_fetch_done)) return;
    cst_request_result result = {0};
    if (cst_asynchronous_fetch_copy_result(fetch, &result, NULL) == CST_OK) keep(SLOT_RESULTS, result.value);
    give_back(fetch);
}

cst_status on_coordinator_perform(void *userdata, cst_error **error) {
    (void)userdata;
    const void *former = turn_take();
    within(KIND_coordinator_perform);
    cst_status status = answer(error);
    turn_give_back(former);
    return status;
}

cst_status on_undo_action(void *userdata, cst_error **error) {
    ticket_use(userdata);
    return within(KIND_undo_action) ? answer(error) : CST_OK;
}

bool on_progress(void *userdata, uint64_t done, uint64_t total) {
    (void)userdata, (void)done, (void)total;
    return !within(KIND_progress) || !one_in(10);
}

bool on_migration_progress(void *userdata, uint64_t done, uint64_t total) {
    (void)userdata, (void)done, (void)total;
    return !within(KIND_migration_progress) || !one_in(10);
}

uint32_t on_call_site(void *userdata, cst_buffer *out_file) {
    ticket_use(userdata);
    if (!within(KIND_call_site)) return 1;
    if (one_in(2)) cst_buffer_fill(out_file, (cst_bytes){(const uint8_t *)"file.c", 6}, NULL);
    return (uint32_t)below(100);
}

cst_status on_inaccessible(void *userdata, cst_object *fault, cst_object_id *id, cst_string property, bool *out_handled,
                           cst_error **error) {
    (void)property;
    ticket_use(userdata);
    *out_handled = true;
    if (!within(KIND_inaccessible)) return CST_OK;
    *out_handled = one_in(2);
    if (one_in(4)) keep(SLOT_ID, cst_retain(id));
    give_back(fault);
    give_back(id);
    return answer(error);
}

/* ---- batches ---- */

cst_status on_batch_rows(void *userdata, size_t capacity, cst_value *values, size_t *out_rows, cst_error **error) {
    ticket_use(userdata);
    *out_rows = 0;
    if (!within(KIND_batch_rows) || one_in(3)) return CST_OK;
    *out_rows = one_in(30) ? SIZE_MAX : 1; /* more than there is room for */
    if (capacity > 0) values[0] = small_text(below(64));
    return answer(error);
}

cst_status on_batch_object(void *userdata, cst_object *object, bool *out_stop, cst_error **error) {
    ticket_use(userdata);
    *out_stop = true;
    if (!within(KIND_batch_object)) return CST_OK;
    const cst_value name = small_text(below(64));
    cst_object_set(object, world.name, &name, NULL);
    *out_stop = one_in(3);
    give_back(object);
    return answer(error);
}

/* ---- controllers ---- */

cst_status on_section_name(void *userdata, cst_object *object, cst_value *out_name, cst_error **error) {
    ticket_use(userdata);
    *out_name = value_text("s");
    if (!within(KIND_section_name)) return CST_OK;
    *out_name = small_text(below(3));
    give_back(object);
    return answer(error);
}

static void on_controller(enum kind kind, void *userdata, cst_controller *controller) {
    ticket_use(userdata);
    if (!within(kind)) return;
    if (one_in(6)) cst_controller_perform_fetch(controller, NULL);
    give_back(controller);
}

static void on_will_change(void *userdata, cst_controller *controller) {
    on_controller(KIND_will_change, userdata, controller);
}
static void on_did_change(void *userdata, cst_controller *controller) {
    on_controller(KIND_did_change, userdata, controller);
}
static void on_section(void *userdata, cst_controller *controller, const cst_section_change *change) {
    (void)change;
    on_controller(KIND_did_change_section, userdata, controller);
}
static void on_object(void *userdata, cst_controller *controller, const cst_object_change *change) {
    ticket_use(userdata);
    if (!within(KIND_did_change_object)) return;
    cst_context *context = NULL;
    if (one_in(5) && cst_object_context(change->object, &context, NULL) == CST_OK)
        cst_context_delete(context, change->object, NULL);
    give_back(change->object);
    give_back(controller);
}
static void on_all(void *userdata, cst_controller *controller, const cst_difference *difference) {
    ticket_use(userdata);
    if (!within(KIND_did_change_all)) return;
    if (difference && one_in(4)) keep(SLOT_SNAPSHOT, cst_retain(difference->snapshot));
    if (difference) give_back(difference->snapshot);
    give_back(controller);
}
static void on_ids(void *userdata, cst_controller *controller, size_t count, const cst_id_change *changes) {
    (void)count, (void)changes;
    on_controller(KIND_did_change_ids, userdata, controller);
}
static void on_reset(void *userdata, cst_controller *controller, const cst_error *error) {
    (void)error;
    on_controller(KIND_did_reset, userdata, controller);
}
static cst_status on_title(void *userdata, cst_controller *controller, cst_string name, cst_value *out_title,
                           cst_error **error) {
    (void)name;
    *out_title = value_text("T");
    ticket_use(userdata);
    if (!within(KIND_section_title)) return CST_OK;
    give_back(controller);
    return answer(error);
}

cst_controller_delegate delegate(void) {
    cst_controller_delegate delegate = CST_CONTROLLER_DELEGATE_INIT;
    switch (below(4)) { /* the kinds of callbacks that receive changes */
    case 0:
        delegate.did_change_all = on_all;
        break;
    case 1:
        delegate.did_change_ids = on_ids;
        break;
    default:
        delegate.did_change_section = on_section;
        delegate.did_change_object = on_object;
        break;
    }
    delegate.will_change = on_will_change;
    delegate.did_change = on_did_change;
    delegate.did_reset = on_reset;
    if (one_in(2)) delegate.section_title = on_title;
    delegate.userdata = ticket_new();
    delegate.destroy = ticket_destroy;
    return delegate;
}

/* ---- the process ---- */

void on_log(void *userdata, cst_string line) {
    (void)line;
    ticket_use(userdata);
    within(KIND_log);
}

static cst_status on_transform(void *userdata, const void *value, cst_buffer *out_bytes, cst_error **error) {
    ticket_use(userdata);
    if (!thing_use(value)) return CST_E_CALLBACK;
    if (within(KIND_transform) && one_in(20)) return answer(error);
    return cst_buffer_fill(out_bytes, (cst_bytes){(const uint8_t *)"thing", 5}, NULL);
}

static cst_status on_reverse(void *userdata, cst_bytes bytes, void **out_value, cst_error **error) {
    (void)bytes;
    ticket_use(userdata);
    if (within(KIND_reverse) && one_in(20)) return CST_E_CALLBACK;
    (void)error;
    *out_value = thing_new();
    return CST_OK;
}

static void on_free_value(void *userdata, void *value) {
    ticket_use(userdata);
    thing_free(value);
    within(KIND_free_value);
}

cst_transformer_callbacks transformer(void) {
    cst_transformer_callbacks callbacks = {sizeof callbacks, on_transform, on_reverse,
                                           on_free_value,    ticket_new(), ticket_destroy};
    return callbacks;
}

static cst_status on_to_fields(void *userdata, const void *value, cst_buffer *out_json, cst_error **error) {
    ticket_use(userdata);
    if (!thing_use(value)) return CST_E_CALLBACK;
    if (within(KIND_to_fields) && one_in(20)) return answer(error);
    return cst_buffer_fill(out_json, (cst_bytes){(const uint8_t *)"{\"a\":1}", 7}, NULL);
}

static cst_status on_from_fields(void *userdata, cst_string json, void **out_value, cst_error **error) {
    (void)json, (void)error;
    ticket_use(userdata);
    if (within(KIND_from_fields) && one_in(20)) return CST_E_CALLBACK;
    *out_value = thing_new();
    return CST_OK;
}

cst_archive_class_callbacks archive_class(void) {
    cst_archive_class_callbacks callbacks = {sizeof callbacks, on_to_fields, on_from_fields,
                                             on_free_value,    ticket_new(), ticket_destroy};
    return callbacks;
}

void on_container_load(void *userdata, size_t index, cst_string path, cst_store *store, cst_error *error) {
    (void)index, (void)path;
    ticket_use(userdata);
    if (!within(KIND_container_load)) return;
    if (store && one_in(4)) keep(SLOT_STORE, cst_retain(store));
    give_back(store);
    give_back(error);
}

void on_records(void *userdata, cst_string records, size_t count) {
    (void)userdata, (void)records, (void)count;
    within(KIND_records);
}

void on_failure(void *userdata, const cst_error *error) {
    (void)userdata;
    if (within(KIND_failure)) give_back(error);
}
