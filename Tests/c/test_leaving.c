/* Calls within callbacks about an object or controller that is being released: values that the host frees while
 * their object is detached, fetches within a controller's own callbacks, and handles that a callback releases.
 *
 * SPDX-License-Identifier: MIT
 */
#include "company.h"

#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- detached objects ---- */

static struct {
    cst_object *object;
    cst_key number;
    int freed, destroyed, refused;
} leaving;

/* Sets a property of the object that is being detached or was detached. */
static void touch(void) {
    const cst_value value = value_int(5);
    cst_status status = cst_object_set(leaving.object, leaving.number, &value, NULL);
    CHECK(status == CST_E_OBJECT_GONE || status == CST_E_INVALID_HANDLE);
    leaving.refused += status != CST_OK;
}

static cst_status transform(void *userdata, const void *value, cst_buffer *out_bytes, cst_error **error) {
    (void)userdata;
    return cst_buffer_fill(out_bytes, (cst_bytes){value, 4}, error);
}
static cst_status reverse(void *userdata, cst_bytes bytes, void **out_value, cst_error **error) {
    (void)userdata, (void)bytes, (void)error;
    *out_value = malloc(4);
    return CST_OK;
}
static void free_value(void *userdata, void *value) {
    (void)userdata;
    free(value);
    leaving.freed++;
    touch();
}
static void on_destroy(void *userdata) {
    (void)userdata;
    leaving.destroyed++;
    touch();
}
static void no_note(void *userdata, cst_object *object, const cst_value_change *change) {
    (void)userdata, (void)object, (void)change;
}

static cst_status delete_and_save(cst_context *context, cst_error **error) {
    cst_status status = cst_context_delete(context, leaving.object, error);
    return status < 0 ? status : cst_context_save(context, error);
}

static void values_are_refused_while_an_object_is_detached(void) {
    cst_status (*const ways[])(cst_context *, cst_error **) = {cst_context_rollback, cst_context_reset,
                                                               delete_and_save};
    cst_transformer_callbacks callbacks = {sizeof callbacks, transform, reverse, free_value, NULL, NULL};
    OK(cst_transformer_register(text("CompanyBlob"), &callbacks, E));
    for (int i = 0; i < 6; i++) {
        struct company c = company_open(check_path(i % 2 ? "one.sqlite" : "two.sqlite"));
        memset(&leaving, 0, sizeof leaving);
        leaving.number = c.number;
        leaving.object = company_employee(&c, c.context, "Ada", 1);
        cst_object *other = company_employee(&c, c.context, "Grace", 2);
        if (i / 2 == 2) save(c.context);
        cst_observation *observation = NULL;
        char *blob = calloc(1, 4);
        OK(cst_object_set_transformed(leaving.object, c.blob, blob, E));
        if (i % 2) OK(cst_object_observe(leaving.object, text("name"), 0, no_note, NULL, on_destroy, &observation, E));
        CHECK_STATUS(CST_OK, ways[i / 2](c.context, E));
        OK(cst_release(observation));
        CHECK_INT(i % 2, leaving.destroyed);
        const cst_value value = value_int(6);
        CHECK_STATUS(CST_E_OBJECT_GONE, cst_object_set(leaving.object, c.number, &value, E));
        cst_object *object = leaving.object;
        OK(cst_release(object));
        OK(cst_release(other));
        company_close(&c);
        CHECK_INT(1, leaving.freed);
        CHECK_INT(1 + i % 2, leaving.refused);
    }
    OK(cst_transformer_unregister(text("CompanyBlob"), E));
}

/* ---- controllers ---- */

static struct {
    cst_controller *controller;
    cst_context *context;
    struct company *company;
    int armed, what;
    cst_status status;
} inner;

enum { FETCH, PROCESS, RESET, ROLLBACK, SAVE, INSERT, NO_DELEGATE, RELEASE, WHATS };

static void do_within(void) {
    if (inner.armed-- <= 0) return;
    cst_controller *controller = inner.controller;
    switch (inner.what) {
    case FETCH:
        inner.status = cst_controller_perform_fetch(controller, NULL);
        break;
    case PROCESS:
        inner.status = cst_context_process_pending_changes(inner.context, NULL);
        break;
    case RESET:
        inner.status = cst_context_reset(inner.context, NULL);
        break;
    case ROLLBACK:
        inner.status = cst_context_rollback(inner.context, NULL);
        break;
    case SAVE:
        inner.status = cst_context_save(inner.context, NULL);
        break;
    case INSERT:
        OK(cst_release(company_employee(inner.company, inner.context, "Inner", 7)));
        inner.status = cst_context_process_pending_changes(inner.context, NULL);
        break;
    case NO_DELEGATE:
        inner.status = cst_controller_set_delegate(controller, NULL, NULL);
        break;
    default:
        inner.controller = NULL;
        inner.status = cst_release(controller);
        break;
    }
}

static cst_status section_name(void *userdata, cst_object *object, cst_value *out_name, cst_error **error) {
    static char name[32];
    cst_value level;
    cst_status status = cst_object_get(object, inner.company->level, &level, error);
    if (status != CST_OK) return status;
    snprintf(name, sizeof name, "level %d", (int)level.as.integer);
    if (userdata) do_within();
    *out_name = value_text(name);
    return CST_OK;
}
static void on_change(void *userdata, cst_controller *controller) {
    (void)userdata, (void)controller;
    do_within();
}
static void on_section(void *userdata, cst_controller *controller, const cst_section_change *change) {
    (void)userdata, (void)controller, (void)change;
    do_within();
}
static void on_object(void *userdata, cst_controller *controller, const cst_object_change *change) {
    (void)userdata, (void)controller, (void)change;
    do_within();
}
static void on_all(void *userdata, cst_controller *controller, const cst_difference *difference) {
    (void)userdata, (void)controller, (void)difference;
    do_within();
}
static void on_ids(void *userdata, cst_controller *controller, size_t count, const cst_id_change *changes) {
    (void)userdata, (void)controller, (void)count, (void)changes;
    do_within();
}

static cst_object *employee(struct company *c, const char *name, int64_t level) {
    cst_object *object = company_employee(c, c->context, name, level);
    set(object, c->level, value_int(level));
    return object;
}

/* Six rows in three sections are deleted and one is inserted: every kind of change, while a callback makes one of
 * the calls of `what`. */
static void change_while(int what, int where) {
    struct company c = company_open(check_path("controller.sqlite"));
    cst_object *objects[6];
    int is_section_name = 1;
    for (int i = 0; i < 6; i++)
        objects[i] = employee(&c, "Ada", i / 2);
    save(c.context);
    cst_fetch_request *request = NULL;
    const cst_sort sort[] = {{text("level"), 0, 0}, {text("name"), 0, 0}};
    OK(cst_fetch_request_new(c.employee, &request, E));
    OK(cst_fetch_request_set_sort(request, 2, sort, E));
    memset(&inner, 0, sizeof inner);
    inner.company = &c;
    inner.context = c.context;
    inner.what = what;
    const cst_string none = {NULL, 0};
    if (where == 6) /* did_change_ids needs a controller without sections */
        OK(cst_controller_new(c.context, request, none, none, &inner.controller, E));
    else
        OK(cst_controller_new_with_sections(c.context, request, section_name, where == 0 ? &is_section_name : NULL,
                                            NULL, &inner.controller, E));
    cst_controller_delegate delegate = CST_CONTROLLER_DELEGATE_INIT;
    if (where == 1) delegate.will_change = on_change;
    if (where == 2) delegate.did_change_section = on_section;
    if (where == 3) delegate.did_change_object = on_object;
    if (where == 4) delegate.did_change = on_change;
    if (where == 5) delegate.did_change_all = on_all;
    if (where == 6) delegate.did_change_ids = on_ids;
    if (where == 0) delegate.did_change_object = on_object;
    OK(cst_controller_set_delegate(inner.controller, &delegate, E));
    OK(cst_controller_perform_fetch(inner.controller, E));
    for (int i = 0; i < 6; i++)
        OK(cst_context_delete(c.context, objects[i], E));
    cst_object *made = employee(&c, "Grace", 9);
    inner.armed = 3;
    inner.status = CST_END;
    CHECK_STATUS(CST_OK, cst_context_process_pending_changes(c.context, E));
    if (inner.status == CST_END) check_fail(__FILE__, __LINE__, "callback %d was not called", where);
    inner.armed = 0;
    /* The controller is still usable, and its results match the store. */
    cst_controller *controller = inner.controller;
    if (controller) {
        cst_results *found = NULL;
        OK(cst_controller_perform_fetch(controller, E));
        OK(cst_controller_copy_objects(controller, SIZE_MAX, &found, E));
        CHECK_INT((int64_t)company_count(c.context, c.employee, NULL), (int64_t)cst_results_count(found));
        OK(cst_release(found));
    }
    OK(cst_release(controller));
    OK(cst_release(made));
    for (int i = 0; i < 6; i++)
        OK(cst_release(objects[i]));
    OK(cst_release(request));
    /* For the next time. */
    cst_batch_request *batch = NULL;
    OK(cst_fetch_request_new(c.employee, &request, E));
    OK(cst_batch_delete_new(request, &batch, E));
    OK(cst_context_execute_batch(c.context, batch, NULL, NULL, E));
    OK(cst_release(batch));
    OK(cst_release(request));
    company_close(&c);
}

static void a_controller_stays_usable_after_calls_in_its_callbacks(void) {
    for (int what = 0; what < WHATS; what++) {
        for (int where = 0; where <= 6; where++)
            change_while(what, where);
    }
}

/* ---- the time of release ---- */

static struct {
    int destroyed, destroyed_inside;
} given;

static void count_destroyed(void *userdata) {
    (void)userdata;
    given.destroyed++;
}
static cst_status never(void *userdata, const cst_value *value, const cst_value *variables, bool *out_result,
                        cst_error **error) {
    (void)userdata, (void)value, (void)variables, (void)error;
    *out_result = false;
    return CST_OK;
}

/* Creates an object with a destroy function and releases its last handle. */
static void create_and_release(void) {
    cst_predicate *predicate = NULL;
    CHECK_STATUS(CST_OK, cst_predicate_new_block(never, NULL, count_destroyed, &predicate, NULL));
    CHECK(cst_predicate_hash(predicate) != 0);
    CHECK_STATUS(CST_OK, cst_release(predicate));
    CHECK_INT(0, (int64_t)cst_predicate_hash(predicate));
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_release(predicate));
}

static cst_status release_in_block(void *userdata, const cst_value *value, const cst_value *variables, bool *out_result,
                                   cst_error **error) {
    (void)userdata, (void)value, (void)variables, (void)error;
    create_and_release();
    given.destroyed_inside += given.destroyed;
    *out_result = true;
    return CST_OK;
}

static cst_status body(void *userdata, cst_context *context, cst_error **error) {
    (void)userdata, (void)context, (void)error;
    size_t handles = cst_handle_count();
    for (int i = 1; i <= 1000; i++) {
        create_and_release();
        CHECK_INT(i, given.destroyed);
    }
    CHECK_INT((int64_t)handles, (int64_t)cst_handle_count());
    return CST_OK;
}

static void handles_released_in_a_callback_are_freed_after_the_outermost_call(void) {
    struct company c = company_open(check_path("staff.sqlite"));
    for (int i = 0; i < 20; i++)
        OK(cst_release(company_employee(&c, c.context, "Ada", i)));
    save(c.context);
    memset(&given, 0, sizeof given);
    cst_predicate *predicate = NULL;
    cst_fetch_request *request = NULL;
    uint64_t count = 0;
    OK(cst_fetch_request_new(c.employee, &request, E));
    OK(cst_predicate_new_block(release_in_block, NULL, NULL, &predicate, E));
    OK(cst_fetch_request_set_predicate(request, predicate, E));
    size_t handles = cst_handle_count();
    OK(cst_context_count(c.context, request, &count, E));
    CHECK_INT(20, (int64_t)count);
    CHECK_INT(0, given.destroyed_inside);
    CHECK_INT(20, given.destroyed);
    CHECK_INT((int64_t)handles, (int64_t)cst_handle_count());
    OK(cst_release(predicate));
    OK(cst_release(request));
    company_close(&c);
}

static void handles_released_in_a_performed_block_are_freed_at_once(void) {
    struct company c = company_open(check_path("staff.sqlite"));
    memset(&given, 0, sizeof given);
    OK(cst_context_perform_and_wait(c.context, body, NULL, E));
    CHECK_INT(1000, given.destroyed);
    cst_context *private = company_context(&c, CST_QUEUE_PRIVATE);
    memset(&given, 0, sizeof given);
    OK(cst_context_perform_and_wait(private, body, NULL, E));
    CHECK_INT(1000, given.destroyed);
    OK(cst_release(private));
    company_close(&c);
}

/* The host's only reference to an object that alone retains the context: a handle, or a value that a call returned. */
static struct {
    cst_object *handle;
    cst_value value;
    cst_key name;
    int calls;
} only;

static cst_status release_only_handle(void *userdata, const cst_value *value, const cst_value *variables,
                                      bool *out_result, cst_error **error) {
    (void)userdata, (void)variables, (void)error;
    if (only.calls++ == 0) {
        if (only.handle) CHECK_STATUS(CST_OK, cst_release(only.handle));
        cst_value_dispose(&only.value);
    }
    cst_value name = value_null();
    CHECK_STATUS(CST_OK, cst_object_get(value->as.object, only.name, &name, NULL));
    CHECK_TEXT("Ada", name.as.string);
    *out_result = true;
    return CST_OK;
}

static void a_passed_object_is_valid_until_the_call_returns(void) {
    for (int is_value = 0; is_value < 2; is_value++) {
        struct company c = company_open(check_path("staff.sqlite"));
        cst_predicate *block = NULL, *both = NULL;
        bool holds = false;
        size_t handles = cst_handle_count();
        OK(cst_predicate_new_block(release_only_handle, NULL, NULL, &block, E));
        const cst_predicate *const parts[] = {block, block};
        OK(cst_predicate_new_compound(CST_PREDICATE_AND, 2, parts, &both, E));
        cst_context *context = company_context(&c, CST_QUEUE_CALLER);
        only.handle = company_employee(&c, context, "Ada", 1);
        only.value = (cst_value){CST_OBJECT, 0, {.object = only.handle}};
        only.name = c.name;
        only.calls = 0;
        const cst_value asked = only.value;
        if (is_value) {
            cst_object *handle = only.handle;
            OK(cst_value_copy_at_key_path(&asked, text("self"), &only.value, E));
            OK(cst_release(handle));
            only.handle = NULL;
        }
        OK(cst_release(context));
        CHECK_STATUS(CST_OK, cst_predicate_evaluate_value(both, &asked, NULL, &holds, E));
        CHECK(holds);
        CHECK_INT(2, only.calls);
        OK(cst_release(block));
        OK(cst_release(both));
        CHECK_INT((int64_t)handles, (int64_t)cst_handle_count());
        company_close(&c);
    }
}

/* ---- callbacks while a context is destroyed ---- */

/* A context that is destroyed on the thread of its queue, and an object of it that only the library retains. */
static struct {
    cst_context *context;
    cst_object *borrowed;
    const cst_entity *entity;
    sem_t proceed, ended;
} ending;

/* The context is not retained any more, and these calls must not retain it. */
static void retain_ending_objects(void *userdata) {
    (void)userdata;
    cst_context *child = NULL;
    cst_object *copy = NULL;
    const cst_value borrowed = value_object(ending.borrowed);
    cst_value kept = value_null();
    CHECK(cst_retain(ending.borrowed) == NULL);
    CHECK(cst_retain(ending.context) == NULL);
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_context_new_child(ending.context, CST_QUEUE_PRIVATE, &child, NULL));
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_context_perform(ending.context, body, NULL, NULL, NULL));
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_context_process_pending_changes(ending.context, NULL));
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_value_copy_at_key_path(&borrowed, text("self"), &kept, NULL));
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_context_insert(ending.context, ending.entity, &copy, NULL));
    sem_post(&ending.ended);
}

static cst_status waits(void *userdata, cst_context *context, cst_error **error) {
    (void)userdata, (void)context, (void)error;
    sem_wait(&ending.proceed);
    return CST_OK;
}

static bool is_interrupted(void *userdata) {
    (void)userdata;
    return false;
}

static cst_status fills(void *userdata, cst_context *context, cst_error **error) {
    const struct company *c = userdata;
    cst_object *ada = company_employee(c, context, "Ada", 1);
    cst_object *department = company_insert(c, context, c->department, c->department_name, "Engines");
    set(ada, c->to_department, value_object(department));
    ending.borrowed = get(ada, c->to_department).as.object;
    OK(cst_release(ada));
    OK(cst_release(department));
    return cst_context_set_interrupt(context, is_interrupted, NULL, retain_ending_objects, error);
}

static void callbacks_cannot_retain_a_context_that_is_being_destroyed(void) {
    struct company c = company_open(check_path("staff.sqlite"));
    ending.entity = c.department;
    CHECK_INT(0, sem_init(&ending.proceed, 0, 0));
    CHECK_INT(0, sem_init(&ending.ended, 0, 0));
    ending.context = company_context(&c, CST_QUEUE_PRIVATE);
    OK(cst_context_perform_and_wait(ending.context, fills, &c, E));
    OK(cst_context_perform(ending.context, waits, NULL, NULL, E));
    OK(cst_release(ending.context));
    sem_post(&ending.proceed);
    sem_wait(&ending.ended);
    /* The coordinator waits for the thread of the queue. */
    company_close(&c);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(values_are_refused_while_an_object_is_detached);
    RUN(a_controller_stays_usable_after_calls_in_its_callbacks);
    RUN(handles_released_in_a_callback_are_freed_after_the_outermost_call);
    RUN(handles_released_in_a_performed_block_are_freed_at_once);
    RUN(a_passed_object_is_valid_until_the_call_returns);
    RUN(callbacks_cannot_retain_a_context_that_is_being_destroyed);
    return check_end();
}
