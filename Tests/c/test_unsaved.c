/* Unsaved changes: closing refuses them, saves them or discards them, and the log reports lost changes.
 *
 * SPDX-License-Identifier: MIT
 */
#include "company.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const cst_string none = {NULL, 0};

/* ---- the lines of the log ---- */

static char logged[1 << 14];

static void record_line(void *userdata, cst_string line) {
    (void)userdata;
    const size_t used = strlen(logged);
    snprintf(logged + used, sizeof logged - used, "%.*s\n", (int)line.size, line.data);
}

static void record_log(void) {
    *logged = 0;
    OK(cst_log_set_callback(record_line, NULL, NULL, E));
}

/* The lines since then, to standard error again. */
static cst_string lines(void) {
    OK(cst_log_set_callback(NULL, NULL, NULL, E));
    return text_of_size(logged, strlen(logged));
}

#define NOTHING_WAS_LOGGED() CHECK_TEXT("", lines())

/* ---- closing ---- */

/* Saved: Ada, Bob, R&D. Not saved: Eve and Fay inserted, Ada changed, Bob deleted, R&D changed. */
static void edit(const struct company *c) {
    cst_object *ada = company_employee(c, c->context, "Ada", 1), *bob = company_employee(c, c->context, "Bob", 2);
    cst_object *research = company_insert(c, c->context, c->department, c->department_name, "R&D");
    save(c->context);
    OK(cst_release(company_employee(c, c->context, "Eve", 3)));
    OK(cst_release(company_employee(c, c->context, "Fay", 4)));
    set(ada, c->number, value_int(10));
    set(research, c->department_name, value_text("Research"));
    OK(cst_context_delete(c->context, bob, E));
    OK(cst_release(ada));
    OK(cst_release(bob));
    OK(cst_release(research));
}

#define COUNTS "1 Department updated, 2 Employee inserted, 1 Employee updated, 1 Employee deleted"

static void closing_a_context_is_refused_with_counts_by_entity(void) {
    struct company c = company_open(check_path("a.sqlite"));
    OK(cst_context_set_name(c.context, text("editor"), E));
    OK(cst_context_set_origin(c.context, text("editor.c"), 12, E));
    edit(&c);
    CHECK_STATUS(CST_E_UNSAVED_CHANGES, cst_context_close(c.context, CST_UNSAVED_REFUSE, E));
    CHECK_TEXT("context \"editor\" (created at editor.c:12) stays open because it has unsaved changes: " COUNTS
               "; call cst_context_save (save) or cst_context_rollback (rollback) on the context, or close with "
               "CST_UNSAVED_DISCARD (.discard)",
               cst_error_message(check_error()));
    CHECK_INT(1, (int)cst_error_detail_count(check_error()));
    CHECK(has_changes(c.context)); /* nothing is closed */
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_close(c.context, 3, E));
    OK(cst_context_rollback(c.context, E));
    OK(cst_context_close(c.context, CST_UNSAVED_REFUSE, E));
    OK(cst_context_close(c.context, CST_UNSAVED_REFUSE, E));
    company_close(&c);
}

static void the_error_names_the_only_entity_with_changes(void) {
    struct company c = company_open(check_path("a.sqlite"));
    OK(cst_release(company_employee(&c, c.context, "Ada", 1)));
    CHECK_STATUS(CST_E_UNSAVED_CHANGES, cst_context_close(c.context, CST_UNSAVED_REFUSE, E));
    CHECK_TEXT("Employee", cst_error_entity(check_error()));
    OK(cst_context_close(c.context, CST_UNSAVED_DISCARD, E));
    company_close(&c);
}

static cst_status nothing(void *userdata, cst_context *context, cst_error **error) {
    (void)userdata, (void)context, (void)error;
    return CST_OK;
}

static void a_closed_context_refuses_calls(void) {
    const cst_queue queues[] = {CST_QUEUE_CALLER, CST_QUEUE_PRIVATE};
    struct company c = company_open(check_path("a.sqlite"));
    for (size_t i = 0; i < 2; i++) {
        cst_context *context = company_context(&c, queues[i]), *child = NULL;
        cst_object *object = NULL;
        if (queues[i] == CST_QUEUE_PRIVATE) OK(cst_context_lock(context, E));
        cst_object *ada = company_employee(&c, context, "Ada", 1);
        if (queues[i] == CST_QUEUE_PRIVATE) OK(cst_context_unlock(context, E));
        OK(cst_context_close(context, CST_UNSAVED_SAVE, E));
        CHECK_STATUS(CST_E_INVALID_HANDLE, cst_context_insert(context, c.employee, &object, E));
        CHECK_CONTAINS("is closed", cst_error_message(check_error()));
        CHECK_STATUS(CST_E_INVALID_HANDLE, cst_context_save(context, E));
        CHECK_STATUS(CST_E_INVALID_HANDLE, cst_context_lock(context, E));
        CHECK_STATUS(CST_E_INVALID_HANDLE, cst_context_perform_and_wait(context, nothing, NULL, E));
        cst_value value;
        CHECK_STATUS(CST_E_OBJECT_GONE, cst_object_get(ada, c.name, &value, E));
        OK(cst_context_new_child(context, CST_QUEUE_CALLER, &child, E));
        uint64_t count = 0;
        cst_fetch_request *request = company_by_number(&c);
        CHECK_STATUS(CST_E_INVALID_HANDLE, cst_context_count(child, request, &count, E));
        OK(cst_release(request));
        OK(cst_release(child));
        OK(cst_release(ada));
        OK(cst_release(context));
        CHECK_INT(i + 1, company_count(c.context, c.employee, NULL));
    }
    company_close(&c);
}

static void a_locked_context_is_closed_when_the_lock_ends(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_context *context = company_context(&c, CST_QUEUE_PRIVATE);
    OK(cst_context_lock(context, E));
    OK(cst_release(company_employee(&c, context, "Ada", 1)));
    OK(cst_context_close(context, CST_UNSAVED_DISCARD, E));
    OK(cst_context_unlock(context, E));
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_context_lock(context, E));
    OK(cst_release(context));
    company_close(&c);
}

static void closing_a_context_checks_its_children(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_context *child = NULL;
    OK(cst_context_new_child(c.context, CST_QUEUE_CALLER, &child, E));
    OK(cst_context_set_name(child, text("form"), E));
    OK(cst_release(company_employee(&c, child, "Ada", 1)));
    CHECK_STATUS(CST_E_UNSAVED_CHANGES, cst_context_close(c.context, CST_UNSAVED_REFUSE, E));
    CHECK_CONTAINS("context \"form\" has unsaved changes: 1 Employee inserted", cst_error_message(check_error()));
    OK(cst_context_close(child, CST_UNSAVED_SAVE, E)); /* into its parent */
    CHECK(has_changes(c.context));
    CHECK_STATUS(CST_E_UNSAVED_CHANGES, cst_context_close(c.context, CST_UNSAVED_REFUSE, E));
    OK(cst_context_close(c.context, CST_UNSAVED_SAVE, E));
    OK(cst_release(child));
    company_close(&c);
    c = company_open(check_path("a.sqlite"));
    CHECK_INT(1, company_count(c.context, c.employee, NULL));
    company_close(&c);
}

static void a_context_stays_open_when_its_save_fails(void) {
    struct company c = company_open(check_path("a.sqlite"));
    OK(cst_release(company_employee(&c, c.context, "Ada", 1)));
    cst_object *nameless = NULL;
    OK(cst_context_insert(c.context, c.employee, &nameless, E));
    CHECK_STATUS(CST_E_VALIDATION, cst_context_close(c.context, CST_UNSAVED_SAVE, E));
    CHECK(has_changes(c.context));
    OK(cst_release(nameless));
    OK(cst_context_close(c.context, CST_UNSAVED_DISCARD, E));
    company_close(&c);
}

static void *close_elsewhere(void *context) {
    CHECK_STATUS(CST_E_UNSAVED_CHANGES, cst_context_close(context, CST_UNSAVED_REFUSE, E));
    CHECK_CONTAINS("the calling thread cannot", cst_error_message(check_error()));
    CHECK_STATUS(CST_E_WRONG_THREAD, cst_context_close(context, CST_UNSAVED_SAVE, E));
    CHECK_STATUS(CST_UNCHANGED, cst_context_close(context, CST_UNSAVED_DISCARD, E)); /* its thread may go on */
    cst_error **slot = check_slot(); /* releases the last error of this thread */
    (void)slot;
    return NULL;
}

static void another_thread_cannot_close_a_confined_context(void) {
    struct company c = company_open(check_path("a.sqlite"));
    pthread_t thread;
    OK(cst_release(company_employee(&c, c.context, "Ada", 1)));
    REQUIRE(pthread_create(&thread, NULL, close_elsewhere, c.context) == 0);
    pthread_join(thread, NULL);
    CHECK(has_changes(c.context));
    record_log();
    company_close(&c);
    NOTHING_WAS_LOGGED(); /* it was to be discarded */
}

/* ---- closing that fails, or is refused ---- */

static struct {
    cst_context *context;
    cst_coordinator *coordinator;
    int calls;
} hooked;

static cst_status close_in_hook(void *userdata, cst_object *object, cst_error **error) {
    (void)userdata, (void)object, (void)error;
    hooked.calls++;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_close(hooked.context, CST_UNSAVED_DISCARD, NULL));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_close(hooked.context, CST_UNSAVED_REFUSE, NULL));
    return CST_OK;
}

static cst_status close_coordinator_in_hook(void *userdata, cst_object *object, cst_error **error) {
    (void)userdata, (void)object, (void)error;
    cst_error *why = NULL;
    hooked.calls++;
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_coordinator_close(hooked.coordinator, CST_UNSAVED_DISCARD, &why));
    CHECK_CONTAINS("the coordinator is already being closed", cst_error_message(why));
    OK(cst_release(why));
    return CST_OK;
}

static struct company company_with_hooks(const cst_lifecycle_hooks *hooks) {
    struct company c;
    memset(&c, 0, sizeof c);
    cst_entity *department = NULL;
    c.model = company_model();
    OK(cst_model_entity(c.model, text("Department"), &department, E));
    OK(cst_entity_set_lifecycle(department, hooks, E));
    OK(cst_coordinator_new(c.model, &c.coordinator, E));
    OK(cst_coordinator_add_store(c.coordinator, text("SQLite"), text(check_path("a.sqlite")), NULL, &c.store, E));
    company_resolve(&c);
    c.context = company_context(&c, CST_QUEUE_CALLER);
    hooked.context = c.context;
    hooked.coordinator = c.coordinator;
    hooked.calls = 0;
    return c;
}

static void closing_within_a_hook_discards_no_changes(void) {
    cst_lifecycle_hooks hooks = CST_LIFECYCLE_HOOKS_INIT;
    hooks.awake_from_insert = close_in_hook;
    struct company c = company_with_hooks(&hooks);
    cst_context *child = NULL;
    OK(cst_context_new_child(c.context, CST_QUEUE_CALLER, &child, E));
    OK(cst_release(company_employee(&c, child, "Ada", 1)));
    OK(cst_release(company_insert(&c, c.context, c.department, c.department_name, "R&D")));
    CHECK_INT(1, hooked.calls);
    CHECK(has_changes(child)); /* children are closed first, and this one was not */
    record_log();
    OK(cst_release(child));
    CHECK_CONTAINS("1 Employee inserted", lines()); /* no change was marked as discarded */
    record_log();
    company_close(&c);
    CHECK_CONTAINS("1 Department inserted", lines());
}

static void a_coordinator_is_closed_by_one_call_at_a_time(void) {
    cst_lifecycle_hooks hooks = CST_LIFECYCLE_HOOKS_INIT;
    hooks.will_save = close_coordinator_in_hook;
    struct company c = company_with_hooks(&hooks);
    OK(cst_release(company_insert(&c, c.context, c.department, c.department_name, "R&D")));
    OK(cst_coordinator_close(c.coordinator, CST_UNSAVED_SAVE, E));
    CHECK(hooked.calls > 0);
    CHECK_INT(0, (int)cst_coordinator_store_count(c.coordinator));
    company_close(&c);
    c = company_open(check_path("a.sqlite"));
    CHECK_INT(1, company_count(c.context, c.department, NULL));
    company_close(&c);
}

static void a_closed_coordinator_refuses_stores(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_store *store = NULL;
    OK(cst_coordinator_close(c.coordinator, CST_UNSAVED_REFUSE, E));
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_coordinator_add_store(c.coordinator, text("SQLite"),
                                                                 text(check_path("b.sqlite")), NULL, &store, E));
    CHECK_CONTAINS("the coordinator is closed; create a new coordinator", cst_error_message(check_error()));
    CHECK(store == NULL);
    CHECK_INT(0, (int)cst_coordinator_store_count(c.coordinator));
    company_close(&c);
}

/* ---- work behind a close ---- */

struct work {
    const struct company *company;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int ran, done, destroyed;
    cst_status status;
};

static void note(struct work *work, int *count) {
    pthread_mutex_lock(&work->mutex);
    ++*count;
    pthread_cond_broadcast(&work->changed);
    pthread_mutex_unlock(&work->mutex);
}

static void wait_for(struct work *work, int *count) {
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 20;
    pthread_mutex_lock(&work->mutex);
    while (*count == 0)
        if (pthread_cond_timedwait(&work->changed, &work->mutex, &end) != 0) break;
    CHECK_INT(1, *count);
    pthread_mutex_unlock(&work->mutex);
}

static cst_status work_body(void *userdata, cst_context *context, cst_error **error) {
    struct work *work = userdata;
    OK(cst_release(company_employee(work->company, context, "Ada", 1)));
    note(work, &work->ran);
    return cst_context_save(context, error);
}

static void work_done(void *userdata, cst_context *context, cst_status status, const cst_error *error) {
    struct work *work = userdata;
    (void)context;
    CHECK((status < 0) == (error != NULL));
    work->status = status;
    note(work, &work->done);
}

static void work_destroy(void *userdata) {
    struct work *work = userdata;
    note(work, &work->destroyed);
}

static void fetch_done(void *userdata, cst_asynchronous_fetch *fetch) {
    struct work *work = userdata;
    cst_request_result result;
    memset(&result, 0, sizeof result);
    work->status = cst_asynchronous_fetch_copy_result(fetch, &result, NULL);
    note(work, &work->done);
}

static struct work work_of(const struct company *company) {
    struct work work = {company, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, 0, CST_OK};
    return work;
}

static void a_context_is_not_closed_before_its_enqueued_blocks(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_context *context = company_context(&c, CST_QUEUE_PRIVATE);
    struct work work = work_of(&c);
    OK(cst_context_lock(context, E));
    OK(cst_context_schedule(context, CST_SCHEDULE_ENQUEUED, work_body, work_done, &work, work_destroy, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_close(context, CST_UNSAVED_DISCARD, E));
    CHECK_CONTAINS("while other work waits for the queue", cst_error_message(check_error()));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_close(context, CST_UNSAVED_REFUSE, E));
    OK(cst_context_unlock(context, E));
    OK(cst_context_close(context, CST_UNSAVED_REFUSE, E)); /* waits for it */
    CHECK_INT(1, work.ran);
    wait_for(&work, &work.destroyed);
    CHECK_INT(CST_OK, work.status);
    CHECK_INT(1, company_count(c.context, c.employee, NULL));
    OK(cst_release(context));
    company_close(&c);
}

static void blocks_enqueued_after_a_close_fail(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_context *context = company_context(&c, CST_QUEUE_PRIVATE);
    struct work work = work_of(&c), fetch = work_of(&c);
    cst_asynchronous_fetch *begun = NULL;
    cst_fetch_request *request = company_by_number(&c);
    OK(cst_context_lock(context, E));
    OK(cst_context_close(context, CST_UNSAVED_REFUSE, E));
    OK(cst_context_schedule(context, CST_SCHEDULE_ENQUEUED, work_body, work_done, &work, work_destroy, E));
    OK(cst_context_fetch_asynchronously(context, request, 0, fetch_done, &fetch, work_destroy, &begun, E));
    OK(cst_context_unlock(context, E));
    wait_for(&work, &work.destroyed);
    CHECK_INT(1, work.done);
    CHECK_INT(0, work.ran);
    CHECK_INT(CST_E_INVALID_HANDLE, work.status);
    wait_for(&fetch, &fetch.destroyed);
    CHECK_INT(1, fetch.done);
    CHECK_INT(CST_E_INVALID_HANDLE, fetch.status);
    OK(cst_release(begun));
    OK(cst_release(request));
    OK(cst_release(context));
    company_close(&c);
}

static void closing_a_coordinator_reports_unsaved_changes(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_buffer json = {0};
    OK(cst_context_set_name(c.context, text("editor"), E));
    OK(cst_context_set_origin(c.context, text("editor.c"), 12, E));
    edit(&c);
    CHECK_STATUS(CST_E_UNSAVED_CHANGES, cst_coordinator_close(c.coordinator, CST_UNSAVED_REFUSE, E));
    CHECK_CONTAINS(
        "the coordinator stays open because context \"editor\" (created at editor.c:12) has unsaved changes: " COUNTS,
        cst_error_message(check_error()));
    OK(cst_coordinator_copy_unsaved_changes(c.coordinator, 0, &json, E));
    cst_string found = text_of_size(json.data, json.size);
    CHECK_CONTAINS("\"file\": \"editor.c\"", found);
    CHECK_CONTAINS("\"Employee\": {\"deleted\": 1, \"inserted\": 2, \"updated\": 1}", found);
    CHECK_STATUS(CST_E_UNSUPPORTED, cst_coordinator_copy_unsaved_changes(c.coordinator, 1u << 9, &json, E));
    OK(cst_coordinator_close(c.coordinator, CST_UNSAVED_SAVE, E));
    OK(cst_coordinator_close(c.coordinator, CST_UNSAVED_REFUSE, E));
    CHECK_INT(0, (int)cst_coordinator_store_count(c.coordinator));
    cst_buffer_dispose(&json);
    company_close(&c);
}

/* ---- containers and documents ---- */

static cst_container *container_at(const char *path) {
    cst_model *model = company_model();
    cst_container *container = NULL;
    cst_store_description description = CST_STORE_DESCRIPTION_INIT;
    description.path = text(path);
    OK(cst_container_new(text("Shop"), model, NULL, &container, E));
    OK(cst_container_add_description(container, &description, E));
    OK(cst_container_load(container, NULL, NULL, NULL, E));
    OK(cst_release(model));
    return container;
}

static void insert_department(cst_context *context) {
    cst_coordinator *coordinator = NULL;
    cst_model *model = NULL;
    cst_entity *entity = NULL;
    cst_key key = CST_NO_KEY;
    cst_object *object = NULL;
    OK(cst_context_coordinator(context, &coordinator, E));
    OK(cst_coordinator_model(coordinator, &model, E));
    OK(cst_model_entity(model, text("Department"), &entity, E));
    OK(cst_entity_key(entity, text("name"), &key, E));
    OK(cst_context_insert(context, entity, &object, E));
    set(object, key, value_text("R&D"));
    OK(cst_release(object));
}

static void closing_a_container_refuses_unsaved_changes_by_default(void) {
    cst_container *container = container_at(check_path("a.sqlite"));
    cst_context *view = NULL;
    OK(cst_container_view_context(container, &view, E));
    insert_department(view);
    CHECK_STATUS(CST_E_UNSAVED_CHANGES, cst_container_close(container, 0, E)); /* zero is the default of all options */
    CHECK_TEXT(
        "the container \"Shop\" stays open because context \"view\" has unsaved changes: 1 Department inserted; call "
        "cst_context_save (save) or cst_context_rollback (rollback) on the context, or close with "
        "CST_UNSAVED_DISCARD (.discard)",
        cst_error_message(check_error()));
    OK(cst_container_close(container, CST_UNSAVED_DISCARD, E));
    record_log();
    OK(cst_release(container));
    NOTHING_WAS_LOGGED();
}

static void a_container_is_closed_with_its_coordinator(void) {
    cst_container *container = container_at(check_path("a.sqlite"));
    cst_context *view = NULL;
    cst_coordinator *coordinator = NULL;
    cst_buffer json = {0};
    OK(cst_container_view_context(container, &view, E));
    OK(cst_context_coordinator(view, &coordinator, E));
    OK(cst_coordinator_close(coordinator, CST_UNSAVED_REFUSE, E));
    OK(cst_container_close(container, CST_UNSAVED_REFUSE, E));
    OK(cst_container_copy_report(container, &json, E));
    CHECK_CONTAINS("\"isClosed\": true", text_of_size(json.data, json.size));
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_container_load(container, NULL, NULL, NULL, E));
    cst_buffer_dispose(&json);
    OK(cst_release(container));
}

static void a_view_context_is_closed_only_with_its_container(void) {
    cst_container *container = container_at(check_path("a.sqlite"));
    cst_context *view = NULL;
    OK(cst_container_view_context(container, &view, E));
    CHECK_STATUS(CST_UNCHANGED, cst_context_close(view, CST_UNSAVED_REFUSE, E));
    insert_department(view);
    CHECK_STATUS(CST_E_UNSAVED_CHANGES, cst_context_close(view, CST_UNSAVED_REFUSE, E));
    CHECK_STATUS(CST_UNCHANGED, cst_context_close(view, CST_UNSAVED_SAVE, E));
    CHECK(!has_changes(view));
    insert_department(view);
    CHECK_STATUS(CST_UNCHANGED, cst_context_close(view, CST_UNSAVED_DISCARD, E));
    CHECK(!has_changes(view));
    insert_department(view);
    save(view);
    OK(cst_container_close(container, CST_UNSAVED_REFUSE, E));
    OK(cst_release(container));
}

static void closing_a_document_refuses_unsaved_changes_by_default(void) {
    cst_model *model = company_model();
    cst_document *document = NULL;
    cst_context *context = NULL;
    OK(cst_document_new(model, none, CST_QUEUE_CALLER, &document, E));
    OK(cst_release(model));
    OK(cst_document_context(document, &context, E));
    insert_department(context);
    CHECK_STATUS(CST_E_UNSAVED_CHANGES, cst_document_close(document, 0, E));
    CHECK_TEXT(
        "the untitled document stays open because context \"document\" has unsaved changes: 1 Department inserted; "
        "call cst_document_save_as (save_as, saveAs), or close with CST_UNSAVED_DISCARD (.discard)",
        cst_error_message(check_error()));
    OK(cst_document_save_as(document, none, text(check_path("a.store")), false, E));
    insert_department(context);
    CHECK_STATUS(CST_E_UNSAVED_CHANGES, cst_document_close(document, 0, E));
    CHECK_CONTAINS("call cst_document_save (save) to keep them or cst_document_revert (revert) to discard them",
                   cst_error_message(check_error()));
    CHECK_STATUS(CST_UNCHANGED, cst_context_close(context, CST_UNSAVED_SAVE, E));
    OK(cst_document_close(document, CST_UNSAVED_REFUSE, E));
    OK(cst_release(document));
}

/* ---- the last handle ---- */

static void releasing_a_context_logs_its_unsaved_changes(void) {
    struct company c = company_open(check_path("a.sqlite"));
    OK(cst_context_set_name(c.context, text("editor"), E));
    OK(cst_context_set_origin(c.context, text("editor.c"), 12, E));
    edit(&c);
    record_log();
    company_close(&c);
    CHECK_TEXT(
        "CoreData: warning: context \"editor\" (created at editor.c:12) was released with unsaved changes, which are "
        "lost: " COUNTS "; call cst_context_save (save) or cst_context_rollback (rollback) before the last reference "
        "is released\n",
        lines());
}

static void an_object_retains_its_context_and_unsaved_changes(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_context *context = company_context(&c, CST_QUEUE_CALLER);
    cst_object *ada = company_employee(&c, context, "Ada", 1);
    record_log();
    OK(cst_release(context));
    CHECK_TEXT("", text_of_size(logged, strlen(logged)));
    CHECK_TEXT("Ada", get_text(ada, c.name));
    OK(cst_release(ada));
    CHECK_CONTAINS("1 Employee inserted", lines());
    company_close(&c);
}

static void discarded_changes_are_not_logged(void) {
    struct company c = company_open(check_path("a.sqlite"));
    record_log();
    for (int i = 0; i < 6; i++) {
        cst_context *context = company_context(&c, CST_QUEUE_CALLER);
        cst_object *ada = company_employee(&c, context, "Ada", i);
        cst_buffer json = {0};
        if (i == 0) save(context);
        if (i == 1) OK(cst_context_rollback(context, E));
        if (i == 2) OK(cst_context_reset(context, E));
        if (i == 3) OK(cst_context_close(context, CST_UNSAVED_DISCARD, E));
        if (i == 4) OK(cst_context_delete(context, ada, E));
        if (i == 5)
            OK(cst_coordinator_copy_unsaved_changes(c.coordinator, CST_CHANGES_TOLD | CST_CHANGES_NO_WAIT, &json, E));
        cst_buffer_dispose(&json);
        OK(cst_release(ada));
        OK(cst_release(context));
    }
    company_close(&c);
    NOTHING_WAS_LOGGED();
}

static void transient_and_restored_values_are_not_logged(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    save(c.context);
    set(ada, c.number, value_int(2));
    set(ada, c.number, value_int(1));
    set(ada, c.scratch, value_text("a note"));
    CHECK(has_changes(c.context)); /* the transient one, which no save would write */
    OK(cst_release(ada));
    record_log();
    company_close(&c);
    NOTHING_WAS_LOGGED();
}

static void *release_elsewhere(void *context) {
    CHECK_STATUS(CST_OK, cst_release(context));
    return NULL;
}

static void a_release_on_another_thread_logs_unsaved_changes(void) {
    const cst_queue queues[] = {CST_QUEUE_CALLER, CST_QUEUE_PRIVATE};
    struct company c = company_open(check_path("a.sqlite"));
    for (size_t i = 0; i < 2; i++) {
        cst_context *context = company_context(&c, queues[i]);
        if (queues[i] == CST_QUEUE_PRIVATE) OK(cst_context_lock(context, E));
        OK(cst_release(company_employee(&c, context, "Ada", 1)));
        if (queues[i] == CST_QUEUE_PRIVATE) OK(cst_context_unlock(context, E));
        record_log();
        pthread_t thread;
        REQUIRE(pthread_create(&thread, NULL, release_elsewhere, context) == 0);
        pthread_join(thread, NULL);
        CHECK_CONTAINS("1 Employee inserted", lines());
    }
    company_close(&c);
}

static cst_status add(void *userdata, cst_context *context, cst_error **error) {
    (void)error;
    OK(cst_release(company_employee(userdata, context, "Ada", 1)));
    return CST_OK;
}

static void unsaved_changes_of_enqueued_blocks_are_logged(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_context *context = company_context(&c, CST_QUEUE_PRIVATE);
    record_log();
    OK(cst_context_perform(context, add, &c, NULL, E));
    OK(cst_release(context)); /* it is destroyed after the block */
    for (int i = 0; i < 1000 && !*logged; i++)
        nanosleep(&(struct timespec){0, 5000000}, NULL);
    CHECK_CONTAINS("1 Employee inserted", lines());
    company_close(&c);
}

static cst_status release_within(void *userdata, cst_context *context, cst_error **error) {
    (void)context, (void)error;
    return cst_release(userdata);
}

static void a_release_within_a_callback_logs_unsaved_changes(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_context *context = company_context(&c, CST_QUEUE_CALLER);
    OK(cst_release(company_employee(&c, context, "Ada", 1)));
    record_log();
    OK(cst_context_perform_and_wait(c.context, release_within, context, E));
    CHECK_CONTAINS("1 Employee inserted", lines());
    company_close(&c);
}

static void releasing_a_container_logs_unsaved_changes(void) {
    cst_container *container = container_at(check_path("a.sqlite"));
    cst_context *view = NULL;
    OK(cst_container_view_context(container, &view, E));
    insert_department(view);
    record_log();
    OK(cst_release(container));
    CHECK_CONTAINS("context \"view\" was released with unsaved changes, which are lost: 1 Department inserted",
                   lines());
}

static void releasing_a_document_logs_unsaved_changes(void) {
    for (int is_saved = 0; is_saved < 2; is_saved++) {
        cst_model *model = company_model();
        cst_document *document = NULL;
        cst_context *context = NULL;
        OK(cst_document_new(model, none, CST_QUEUE_CALLER, &document, E));
        OK(cst_release(model));
        OK(cst_document_context(document, &context, E));
        insert_department(context);
        if (is_saved) save(context); /* into the folder that is removed with the document */
        record_log();
        OK(cst_release(document));
        CHECK_CONTAINS(is_saved ? "an untitled document was released, and its content is lost"
                                : "context \"document\" was released with unsaved changes, which are lost: 1 "
                                  "Department inserted",
                       lines());
    }
}

static void refused_records_are_not_logged(void) {
    cst_container *container = container_at(check_path("a.sqlite"));
    record_log();
    CHECK_STATUS(CST_E_VALIDATION,
                 cst_container_insert(container, text("Department"), text("{}"), NULL, NULL, NULL, E));
    NOTHING_WAS_LOGGED();
    OK(cst_container_close(container, CST_UNSAVED_REFUSE, E));
    OK(cst_release(container));
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(closing_a_context_is_refused_with_counts_by_entity);
    RUN(the_error_names_the_only_entity_with_changes);
    RUN(a_closed_context_refuses_calls);
    RUN(a_locked_context_is_closed_when_the_lock_ends);
    RUN(closing_a_context_checks_its_children);
    RUN(a_context_stays_open_when_its_save_fails);
    RUN(another_thread_cannot_close_a_confined_context);
    RUN(closing_within_a_hook_discards_no_changes);
    RUN(a_coordinator_is_closed_by_one_call_at_a_time);
    RUN(a_closed_coordinator_refuses_stores);
    RUN(a_context_is_not_closed_before_its_enqueued_blocks);
    RUN(blocks_enqueued_after_a_close_fail);
    RUN(closing_a_coordinator_reports_unsaved_changes);
    RUN(closing_a_container_refuses_unsaved_changes_by_default);
    RUN(a_container_is_closed_with_its_coordinator);
    RUN(a_view_context_is_closed_only_with_its_container);
    RUN(closing_a_document_refuses_unsaved_changes_by_default);
    RUN(releasing_a_context_logs_its_unsaved_changes);
    RUN(an_object_retains_its_context_and_unsaved_changes);
    RUN(discarded_changes_are_not_logged);
    RUN(transient_and_restored_values_are_not_logged);
    RUN(a_release_on_another_thread_logs_unsaved_changes);
    RUN(unsaved_changes_of_enqueued_blocks_are_logged);
    RUN(a_release_within_a_callback_logs_unsaved_changes);
    RUN(releasing_a_container_logs_unsaved_changes);
    RUN(releasing_a_document_logs_unsaved_changes);
    RUN(refused_records_are_not_logged);
    return check_end();
}
