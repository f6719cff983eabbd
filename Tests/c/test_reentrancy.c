/* The last handle of a context is released inside each callback of a call on the context: the call continues with
 * its own references, the host has no more to release, and the context is destroyed before the call returns, or with
 * the results of the call.
 *
 * SPDX-License-Identifier: MIT
 */
#include "company.h"

#include <stdio.h>
#include <string.h>

static struct company company;
static cst_context *victim; /* with one handle, which the callback releases */
static cst_context *former; /* the released handle */
static cst_fetch_request *request;
static int released_count, ended, ended_inside;

static void on_end(void *userdata) {
    (void)userdata;
    ended++;
}

static void release_victim(void) {
    if (!victim) return;
    former = victim;
    victim = NULL;
    CHECK_STATUS(CST_OK, cst_release(former));
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_release(former));
    released_count++;
    ended_inside = ended;
}

/* ---- callbacks ---- */

static cst_status hook(void *userdata, cst_object *object, cst_error **error) {
    (void)userdata, (void)object, (void)error;
    release_victim();
    return CST_OK;
}
static cst_status validate(void *userdata, cst_object *object, uint32_t purpose, cst_value *value, cst_error **error) {
    (void)userdata, (void)object, (void)purpose, (void)value, (void)error;
    release_victim();
    return CST_OK;
}
static cst_status block(void *userdata, const cst_value *value, const cst_value *variables, bool *out_result,
                        cst_error **error) {
    (void)userdata, (void)value, (void)variables, (void)error;
    release_victim();
    *out_result = true;
    return CST_OK;
}
static cst_status function(void *userdata, const cst_value *receiver, size_t count, const cst_value *arguments,
                           cst_value *out_value, cst_error **error) {
    (void)userdata, (void)receiver, (void)count, (void)arguments, (void)error;
    release_victim();
    *out_value = value_int(99);
    return CST_OK;
}
static bool interrupt(void *userdata) {
    (void)userdata;
    release_victim();
    return false;
}
static cst_status compare(void *userdata, size_t sort, const cst_value *a, const cst_value *b, int32_t *out_order,
                          cst_error **error) {
    (void)userdata, (void)sort, (void)a, (void)b, (void)error;
    release_victim();
    *out_order = 0;
    return CST_OK;
}
static void note(void *userdata, cst_context *context, uint32_t notification, const cst_changes *changes) {
    (void)userdata, (void)context, (void)notification, (void)changes;
    release_victim();
}
static void object_note(void *userdata, cst_object *object, const cst_value_change *change) {
    (void)userdata, (void)object, (void)change;
    release_victim();
}
static void undo_note(void *userdata, cst_undo_manager *manager, uint32_t notification) {
    (void)userdata, (void)manager, (void)notification;
    release_victim();
}
static void fetch_note(void *userdata, cst_context *context, const cst_difference *difference) {
    (void)userdata, (void)context, (void)difference;
    release_victim();
}
static void will_change(void *userdata, cst_controller *controller) {
    (void)userdata, (void)controller;
    release_victim();
}
static cst_status section_name(void *userdata, cst_object *object, cst_value *out_name, cst_error **error) {
    (void)userdata, (void)object, (void)error;
    release_victim();
    *out_name = value_text("s");
    return CST_OK;
}
static cst_status body(void *userdata, cst_context *context, cst_error **error) {
    (void)userdata, (void)context, (void)error;
    release_victim();
    return CST_OK;
}
static void done(void *userdata, cst_context *context, cst_status status, const cst_error *error) {
    (void)userdata, (void)context, (void)error;
    CHECK_INT(CST_OK, status);
    release_victim();
}
static cst_status action(void *userdata, cst_error **error) {
    (void)userdata, (void)error;
    release_victim();
    return CST_OK;
}
static cst_status resolve(void *userdata, cst_context *context, size_t count, cst_conflict *const *conflicts,
                          cst_error **error) {
    (void)userdata, (void)context, (void)error;
    release_victim();
    for (size_t i = 0; i < count; i++)
        cst_conflict_resolve(conflicts[i], CST_MERGE_OBJECT_TRUMP, NULL);
    return CST_OK;
}
static uint32_t call_site(void *userdata, cst_buffer *out_file) {
    (void)userdata, (void)out_file;
    release_victim();
    return 1;
}
static cst_status fill_rows(void *userdata, size_t capacity, cst_value *values, size_t *out_rows, cst_error **error) {
    (void)capacity, (void)error;
    release_victim();
    *out_rows = (*(int *)userdata)++ < 2;
    values[0] = value_text("row");
    return CST_OK;
}
static cst_status fill_object(void *userdata, cst_object *object, bool *out_stop, cst_error **error) {
    const cst_value name = value_text("object");
    release_victim();
    *out_stop = (*(int *)userdata)++ > 2;
    return cst_object_set(object, company.name, &name, error);
}
static void log_line(void *userdata, cst_string line) {
    (void)userdata, (void)line;
    release_victim();
}
static void on_destroy(void *userdata) {
    (void)userdata;
    release_victim();
}

/* ---- a context with one handle, and rows to work with ---- */

static void begin(const cst_lifecycle_hooks *hooks) {
    memset(&company, 0, sizeof company);
    released_count = ended = ended_inside = 0;
    victim = NULL;
    company.model = company_model();
    cst_entity *employee = NULL;
    OK(cst_model_entity(company.model, text("Employee"), &employee, E));
    if (hooks) OK(cst_entity_set_lifecycle(employee, hooks, E));
    OK(cst_coordinator_new(company.model, &company.coordinator, E));
    static int number;
    char name[32];
    snprintf(name, sizeof name, "staff%d.sqlite", number++);
    cst_store_options options = CST_STORE_OPTIONS_INIT;
    options.flags = CST_STORE_NORMAL_SYNC;
    OK(cst_coordinator_add_store(company.coordinator, text("SQLite"), text(check_path(name)), &options, &company.store,
                                 E));
    company_resolve(&company);
    company.context = company_context(&company, CST_QUEUE_CALLER);
    for (int i = 0; i < 100; i++)
        OK(cst_release(company_employee(&company, company.context, "Ada", i)));
    save(company.context);
    request = company_by_number(&company);
}

/* From now on the callbacks release the context. */
static cst_context *arm(cst_context *context) {
    OK(cst_context_set_user_info(context, request, on_end, E));
    return victim = context;
}

static cst_context *own(void) { return company_context(&company, CST_QUEUE_CALLER); }

/* For callbacks that may not be called. */
static void release_if_not_called(void) {
    if (!victim) return;
    release_victim();
    ended_inside = 0;
}

static void end(void) {
    CHECK_INT(1, released_count);
    CHECK_INT(0, ended_inside);
    CHECK_INT(1, ended);
    bool changes = false;
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_context_has_changes(former, &changes, E));
    OK(cst_release(request));
    company_close(&company);
}

static void set_block(void) {
    cst_predicate *predicate = NULL;
    OK(cst_predicate_new_block(block, NULL, NULL, &predicate, E));
    OK(cst_fetch_request_set_predicate(request, predicate, E));
    OK(cst_release(predicate));
}

static cst_results *fetch(cst_context *context) {
    cst_results *results = NULL;
    OK(cst_context_fetch(context, request, &results, E));
    return results;
}

/* ---- reading ---- */

static void a_context_can_be_released_in_a_predicate_block(void) {
    cst_results *results = NULL;
    uint64_t count = 0;
    begin(NULL);
    set_block();
    CHECK_STATUS(CST_OK, cst_context_fetch(arm(own()), request, &results, E));
    CHECK_INT(100, (int64_t)cst_results_count(results));
    OK(cst_release(results));
    end();
    begin(NULL);
    set_block();
    CHECK_STATUS(CST_OK, cst_context_count(arm(own()), request, &count, E));
    CHECK_INT(100, (int64_t)count);
    end();
    begin(NULL);
    set_block();
    cst_rows *rows = NULL;
    CHECK_STATUS(CST_OK, cst_context_fetch_rows(arm(own()), request, &rows, E));
    CHECK_INT(100, (int64_t)cst_rows_count(rows));
    OK(cst_release(rows));
    end();
    begin(NULL);
    set_block();
    struct ArrowArrayStream stream = {0};
    CHECK_STATUS(CST_OK, cst_context_fetch_arrow(arm(own()), request, 10, 0, 0, NULL, &stream, E));
    if (stream.release) stream.release(&stream);
    end();
}

static void a_context_can_be_released_in_a_block_of_results_or_a_cursor(void) {
    cst_predicate *predicate = NULL;
    cst_results *filtered = NULL, *batch = NULL;
    begin(NULL);
    cst_context *context = own();
    cst_results *results = fetch(context);
    OK(cst_predicate_new_block(block, NULL, NULL, &predicate, E));
    arm(context);
    CHECK_STATUS(CST_OK, cst_results_copy_filtered(results, predicate, NULL, &filtered, E));
    CHECK_INT(100, (int64_t)cst_results_count(filtered));
    OK(cst_release(filtered));
    OK(cst_release(results));
    OK(cst_release(predicate));
    end();
    begin(NULL);
    set_block();
    cst_cursor *cursor = NULL;
    context = own();
    OK(cst_context_fetch_cursor(context, request, 5, &cursor, E));
    arm(context);
    CHECK_STATUS(CST_OK, cst_cursor_copy_next(cursor, &batch, E));
    OK(cst_release(batch));
    OK(cst_release(cursor));
    release_if_not_called(); /* if the cursor called the block before */
    end();
}

static void a_context_can_be_released_in_a_function_or_comparator(void) {
    cst_predicate *predicate = NULL;
    cst_results *results = NULL, *sorted = NULL;
    begin(NULL);
    OK(cst_function_register(text("reentrant"), function, NULL, NULL, E));
    OK(cst_predicate_parse(text("FUNCTION(number, 'reentrant') > 1"), 0, NULL, &predicate, E));
    OK(cst_fetch_request_set_predicate(request, predicate, E));
    CHECK_STATUS(CST_OK, cst_context_fetch(arm(own()), request, &results, E));
    OK(cst_release(results));
    OK(cst_release(predicate));
    OK(cst_function_unregister(text("reentrant"), E));
    end();
    begin(NULL);
    const cst_sort by = {text("number"), CST_SORT_COMPARATOR, 0};
    cst_context *context = own();
    results = fetch(context);
    arm(context);
    CHECK_STATUS(CST_OK, cst_results_copy_sorted(results, 1, &by, compare, NULL, &sorted, E));
    OK(cst_release(sorted));
    OK(cst_release(results));
    end();
}

/* The check is called every few milliseconds: a quick fetch may finish without it. */
static void a_context_can_be_released_in_an_interrupt_check_or_log_callback(void) {
    cst_results *results = NULL;
    begin(NULL);
    cst_context *context = own();
    OK(cst_context_set_interrupt(context, interrupt, NULL, NULL, E));
    CHECK_STATUS(CST_OK, cst_context_fetch(arm(context), request, &results, E));
    OK(cst_release(results));
    release_if_not_called();
    end();
    begin(NULL);
    OK(cst_log_set_callback(log_line, NULL, NULL, E));
    OK(cst_log_set_sql_detail(4, E));
    CHECK_STATUS(CST_OK, cst_context_fetch(arm(own()), request, &results, E));
    OK(cst_log_set_sql_detail(0, E));
    OK(cst_log_set_callback(NULL, NULL, NULL, E));
    CHECK_INT(100, (int64_t)cst_results_count(results));
    OK(cst_release(results));
    end();
}

/* The finder is called when a single fault fires; the departments are read from the store, because cached rows are
 * stale. */
static void a_context_can_be_released_in_a_call_site_finder(void) {
    begin(NULL);
    cst_results *results = fetch(company.context);
    for (size_t i = 0; i < 3; i++) {
        cst_object *lab = company_insert(&company, company.context, company.department, company.department_name, "Lab");
        set(object_at(results, i), company.to_department, value_object(lab));
        OK(cst_release(lab));
    }
    save(company.context);
    OK(cst_release(results));
    cst_context *context = own();
    cst_value value;
    OK(cst_context_set_call_site_finder(context, call_site, NULL, NULL, E));
    OK(cst_context_set_option(context, CST_OPTION_COUNTS_SINGLE_FAULTS, 1, E));
    OK(cst_context_set_option(context, CST_OPTION_STALENESS_MS, 0, E));
    results = fetch(context);
    arm(context);
    for (size_t i = 0; i < 3; i++) {
        CHECK_STATUS(CST_OK, cst_object_get_path(object_at(results, i), text("department.name"), &value, E));
        CHECK_TEXT("Lab", value.as.string);
    }
    OK(cst_release(results));
    end();
}

/* ---- changing ---- */

static void a_context_can_be_released_in_an_observer(void) {
    static const struct {
        uint32_t notification;
        cst_status (*call)(cst_context *context, cst_error **error);
    } cases[] = {{CST_NOTIFICATION_OBJECTS_DID_CHANGE, cst_context_process_pending_changes},
                 {CST_NOTIFICATION_WILL_SAVE, cst_context_save},
                 {CST_NOTIFICATION_DID_SAVE, cst_context_save}};
    for (size_t i = 0; i < 3; i++) {
        cst_observation *observation = NULL;
        begin(NULL);
        cst_context *context = own();
        OK(cst_context_observe(context, cases[i].notification, note, NULL, NULL, &observation, E));
        OK(cst_release(company_employee(&company, context, "Grace", 1)));
        CHECK_STATUS(CST_OK, cases[i].call(arm(context), E));
        OK(cst_release(observation));
        end();
    }
}

static void a_context_can_be_released_in_an_observer_of_an_object_or_fetch(void) {
    cst_observation *observation = NULL;
    begin(NULL);
    cst_context *context = own();
    cst_object *object = company_employee(&company, context, "Grace", 1);
    const cst_value value = value_int(5);
    OK(cst_object_observe(object, text("number"), 0, object_note, NULL, NULL, &observation, E));
    arm(context);
    CHECK_STATUS(CST_OK, cst_object_set(object, company.number, &value, E));
    OK(cst_release(object));
    OK(cst_release(observation));
    end();
    begin(NULL);
    const cst_string none = {NULL, 0};
    CHECK_STATUS(
        CST_OK, cst_context_observe_fetch(arm(own()), request, none, 0, NULL, fetch_note, NULL, NULL, &observation, E));
    OK(cst_release(observation));
    end();
}

static void a_child_context_can_be_released_in_an_observer_of_its_parent(void) {
    cst_observation *observation = NULL;
    cst_context *child = NULL;
    begin(NULL);
    cst_context *parent = own();
    OK(cst_context_new_child(parent, CST_QUEUE_CALLER, &child, E));
    OK(cst_release(company_employee(&company, child, "Grace", 1)));
    OK(cst_context_observe(parent, CST_NOTIFICATION_OBJECTS_DID_CHANGE, note, NULL, NULL, &observation, E));
    OK(cst_release(parent));
    CHECK_STATUS(CST_OK, cst_context_save(arm(child), E));
    OK(cst_release(observation));
    end();
}

static void a_context_can_be_released_in_a_lifecycle_hook(void) {
    for (int which = 0; which < 8; which++) {
        cst_lifecycle_hooks hooks = CST_LIFECYCLE_HOOKS_INIT;
        cst_status (**const places[])(void *, cst_object *, cst_error **) = {
            &hooks.awake_from_insert,    &hooks.will_save,        &hooks.did_save,
            &hooks.prepare_for_deletion, &hooks.awake_from_fetch, &hooks.will_turn_into_fault,
            &hooks.did_turn_into_fault};
        if (which < 7)
            *places[which] = hook;
        else
            hooks.validate = validate;
        begin(&hooks);
        cst_context *context = own();
        cst_object *object = NULL;
        cst_value value;
        if (which == 0) {
            CHECK_STATUS(CST_OK, cst_context_insert(arm(context), company.employee, &object, E));
            OK(cst_release(object));
        } else if (which == 1 || which == 2 || which == 7) {
            OK(cst_release(company_employee(&company, context, "Grace", 1)));
            CHECK_STATUS(CST_OK, cst_context_save(arm(context), E));
        } else {
            cst_results *results = fetch(context);
            object = object_at(results, 0);
            if (which >= 5) OK(cst_object_get(object, company.name, &value, E));
            arm(context);
            if (which == 3) CHECK_STATUS(CST_OK, cst_context_delete(context, object, E));
            if (which == 4) CHECK_STATUS(CST_OK, cst_object_get(object, company.name, &value, E));
            if (which >= 5) CHECK_STATUS(CST_OK, cst_context_refresh_all(context, E));
            OK(cst_release(results));
        }
        end();
    }
}

static void a_context_can_be_released_in_a_merge_policy(void) {
    cst_merge_policy *policy = NULL;
    begin(NULL);
    cst_context *context = own();
    OK(cst_merge_policy_new(CST_MERGE_ERROR, resolve, NULL, NULL, &policy, E));
    OK(cst_context_set_merge_policy(context, policy, E));
    OK(cst_release(policy));
    cst_results *results = fetch(context), *others = fetch(company.context);
    set(object_at(results, 0), company.number, value_int(7));
    set(object_at(others, 0), company.number, value_int(9));
    save(company.context);
    OK(cst_release(others));
    CHECK_STATUS(CST_OK, cst_context_save(arm(context), E));
    OK(cst_release(results));
    CHECK_INT(1, (int64_t)company_count(company.context, company.employee, "number == 7 AND name == 'Ada'") - 1);
    end();
}

static void a_context_can_be_released_in_a_batch_handler(void) {
    for (int form = 0; form < 2; form++) {
        cst_batch_request *batch = NULL;
        uint64_t count = 0;
        int calls = 0;
        begin(NULL);
        OK(cst_batch_insert_new(company.employee, &batch, E));
        if (form == 0)
            OK(cst_batch_insert_set_handler(batch, 1, &company.name, fill_rows, &calls, NULL, E));
        else
            OK(cst_batch_insert_set_object_handler(batch, fill_object, &calls, NULL, E));
        CHECK_STATUS(CST_OK, cst_context_execute_batch(arm(own()), batch, &count, NULL, E));
        CHECK(count >= 2);
        OK(cst_release(batch));
        end();
    }
}

static void a_context_can_be_released_in_an_undo_action_or_observer(void) {
    for (int form = 0; form < 2; form++) {
        cst_undo_manager *manager = NULL;
        cst_observation *observation = NULL;
        begin(NULL);
        cst_context *context = own();
        OK(cst_undo_manager_new(&manager, E));
        OK(cst_context_set_undo_manager(context, manager, E));
        OK(cst_release(company_employee(&company, context, "Grace", 1)));
        OK(cst_context_process_pending_changes(context, E));
        if (form == 0)
            OK(cst_undo_manager_register(manager, NULL, action, NULL, NULL, E));
        else
            OK(cst_undo_manager_observe(manager, CST_UNDO_WILL_UNDO, undo_note, NULL, NULL, &observation, E));
        CHECK_STATUS(CST_OK, cst_context_undo(arm(context), E));
        OK(cst_release(observation));
        OK(cst_release(manager));
        end();
    }
}

/* ---- other callbacks ---- */

static void a_context_can_be_released_in_a_controller_callback(void) {
    cst_controller *controller = NULL;
    const cst_string none = {NULL, 0};
    begin(NULL);
    cst_context *context = own();
    OK(cst_controller_new_with_sections(context, request, section_name, NULL, NULL, &controller, E));
    arm(context);
    CHECK_STATUS(CST_OK, cst_controller_perform_fetch(controller, E));
    OK(cst_release(controller));
    end();
    begin(NULL);
    cst_controller_delegate delegate = CST_CONTROLLER_DELEGATE_INIT;
    delegate.will_change = will_change;
    context = own();
    OK(cst_controller_new(context, request, none, none, &controller, E));
    OK(cst_controller_set_delegate(controller, &delegate, E));
    OK(cst_controller_perform_fetch(controller, E));
    OK(cst_release(company_employee(&company, context, "Grace", 1)));
    CHECK_STATUS(CST_OK, cst_context_process_pending_changes(arm(context), E));
    OK(cst_release(controller));
    end();
}

static void a_context_can_be_released_in_a_performed_block(void) {
    begin(NULL);
    CHECK_STATUS(CST_OK, cst_context_perform_and_wait(arm(own()), body, NULL, E));
    end();
    begin(NULL);
    CHECK_STATUS(CST_OK, cst_context_schedule(arm(own()), CST_SCHEDULE_IMMEDIATE, body, NULL, NULL, NULL, E));
    end();
    begin(NULL);
    CHECK_STATUS(CST_OK, cst_context_schedule(arm(own()), CST_SCHEDULE_IMMEDIATE, body, done, NULL, NULL, E));
    end();
    begin(NULL);
    arm(own());
    CHECK_STATUS(CST_OK, cst_coordinator_perform_and_wait(company.coordinator, action, NULL, E));
    ended_inside = 0; /* no call of the context is in progress, so it can be destroyed inside the callback */
    end();
}

static void a_context_can_be_released_in_a_destroy_function(void) {
    cst_observation *observation = NULL;
    begin(NULL);
    cst_context *context = own();
    OK(cst_context_observe(context, CST_NOTIFICATION_DID_SAVE, note, NULL, on_destroy, &observation, E));
    arm(context);
    CHECK_STATUS(CST_OK, cst_observation_cancel(observation, E));
    OK(cst_release(observation));
    end();
    begin(NULL);
    context = arm(own());
    victim = NULL;
    OK(cst_context_set_user_info(context, NULL, on_destroy, E));
    CHECK_INT(1, ended);
    victim = context;
    CHECK_STATUS(CST_OK, cst_context_set_user_info(context, NULL, NULL, E));
    ended_inside = 0; /* on_end was called before, when the userdata was replaced */
    end();
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(a_context_can_be_released_in_a_predicate_block);
    RUN(a_context_can_be_released_in_a_block_of_results_or_a_cursor);
    RUN(a_context_can_be_released_in_a_function_or_comparator);
    RUN(a_context_can_be_released_in_an_interrupt_check_or_log_callback);
    RUN(a_context_can_be_released_in_a_call_site_finder);
    RUN(a_context_can_be_released_in_an_observer);
    RUN(a_context_can_be_released_in_an_observer_of_an_object_or_fetch);
    RUN(a_child_context_can_be_released_in_an_observer_of_its_parent);
    RUN(a_context_can_be_released_in_a_lifecycle_hook);
    RUN(a_context_can_be_released_in_a_merge_policy);
    RUN(a_context_can_be_released_in_a_batch_handler);
    RUN(a_context_can_be_released_in_an_undo_action_or_observer);
    RUN(a_context_can_be_released_in_a_controller_callback);
    RUN(a_context_can_be_released_in_a_performed_block);
    RUN(a_context_can_be_released_in_a_destroy_function);
    return check_end();
}
