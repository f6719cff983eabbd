/* Editors of a context, background tasks of a container, and the notices of a host's store about its coordinator.
 *
 * SPDX-License-Identifier: MIT
 */
#include "keeper.h"

#include <semaphore.h>
#include <string.h>

/* ---- editors */

struct field {
    cst_object *object;
    cst_key key;
    const char *text;
    cst_observation *editing;
    int commits, discards, destroyed;
    bool fails, ends;
};

static cst_status commit(void *userdata, cst_context *context, cst_error **error) {
    struct field *field = userdata;
    CHECK(context != NULL);
    field->commits++;
    if (field->fails) {
        cst_error_new_custom(text("App"), 7, text("the text is too long"), NULL, NULL, error);
        return CST_E_CALLBACK;
    }
    set(field->object, field->key, value_text(field->text));
    if (field->ends) CHECK_STATUS(CST_OK, cst_observation_cancel(field->editing, E));
    return CST_OK;
}

static cst_status discard(void *userdata, cst_context *context, cst_error **error) {
    (void)context, (void)error;
    ((struct field *)userdata)->discards++;
    return CST_OK;
}

static void destroy(void *userdata) { ((struct field *)userdata)->destroyed++; }

static void editors_are_committed_in_order_until_their_editing_ends(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    struct field first = {.object = ada, .key = c.name, .text = "one", .ends = true};
    struct field second = {.object = ada, .key = c.name, .text = "two"};
    OK(cst_context_begin_editing(c.context, commit, discard, &first, destroy, &first.editing, E));
    OK(cst_context_begin_editing(c.context, commit, NULL, &second, destroy, &second.editing, E));
    OK(cst_context_commit_editing(c.context, E));
    CHECK_TEXT("two", get_text(ada, c.name));
    CHECK_INT(1, first.destroyed);
    OK(cst_context_discard_editing(c.context, E));
    OK(cst_context_commit_editing(c.context, E));
    CHECK_INT(1, first.commits);
    CHECK_INT(0, first.discards);
    CHECK_INT(2, second.commits);
    OK(cst_release(second.editing));
    CHECK_INT(1, second.destroyed);
    OK(cst_context_commit_editing(c.context, E));
    CHECK_INT(2, second.commits);
    OK(cst_release(first.editing));
    OK(cst_release(ada));
    company_close(&c);
}

static void failure_of_an_editor_stops_the_commit(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    struct field first = {.object = ada, .key = c.name, .text = "one"};
    struct field second = {.fails = true}, third = {.object = ada, .key = c.name, .text = "three"};
    OK(cst_context_begin_editing(c.context, commit, discard, &first, destroy, &first.editing, E));
    OK(cst_context_begin_editing(c.context, commit, discard, &second, destroy, &second.editing, E));
    OK(cst_context_begin_editing(c.context, commit, discard, &third, destroy, &third.editing, E));
    CHECK_STATUS(CST_E_CALLBACK, cst_context_commit_editing(c.context, E));
    CHECK_CONTAINS("the text is too long", cst_error_message(check_error()));
    CHECK_INT(7, cst_error_code(cst_error_detail_at(check_error(), 0)));
    CHECK_TEXT("one", get_text(ada, c.name));
    CHECK_INT(0, third.commits);
    OK(cst_context_discard_editing(c.context, E));
    CHECK_INT(3, first.discards + second.discards + third.discards);
    OK(cst_release(first.editing));
    OK(cst_release(second.editing));
    /* The editing of the third ends with its context. */
    OK(cst_release(ada));
    company_close(&c);
    CHECK_INT(1, third.destroyed);
    OK(cst_release(third.editing));
    CHECK_INT(1, third.destroyed);
}

static void editor_without_a_function_is_refused(void) {
    struct company c = company_open(check_path("a.sqlite"));
    struct field field = {0};
    CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                 cst_context_begin_editing(c.context, NULL, discard, &field, destroy, &field.editing, E));
    CHECK_TEXT("commit", cst_error_key(check_error()));
    CHECK_INT(1, field.destroyed);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_begin_editing(c.context, commit, NULL, &field, destroy, NULL, E));
    CHECK_INT(2, field.destroyed);
    company_close(&c);
}

/* ---- background tasks */

struct task {
    sem_t ended;
    cst_status outcome, body_status;
    int64_t code;
    cst_context *kept;
    bool keeps, destroyed;
};

static cst_status insert_department(void *userdata, cst_context *context, cst_error **error) {
    struct task *task = userdata;
    cst_coordinator *coordinator = NULL;
    cst_model *model = NULL;
    cst_entity *entity = NULL;
    cst_object *object = NULL;
    if (task->keeps) task->kept = cst_retain(context);
    cst_status status = cst_context_coordinator(context, &coordinator, error);
    if (status == CST_OK) status = cst_coordinator_model(coordinator, &model, error);
    if (status == CST_OK) status = cst_model_entity(model, text("Department"), &entity, error);
    if (status == CST_OK) status = cst_context_insert(context, entity, &object, error);
    if (status == CST_OK)
        status = cst_object_set_path(object, text("name"), &(cst_value){.type = CST_STRING, .as.string = text("Lab")},
                                     error);
    cst_release(object);
    if (status == CST_OK && task->body_status == CST_OK) status = cst_context_save(context, error);
    return status == CST_OK ? task->body_status : status;
}

static void note_end(void *userdata, cst_context *context, cst_status status, const cst_error *error) {
    struct task *task = userdata;
    CHECK(context != NULL);
    task->outcome = status;
    task->code = error ? cst_error_code(error) : 0;
}

static void end_task(void *userdata) {
    struct task *task = userdata;
    task->destroyed = true;
    sem_post(&task->ended);
}

static uint64_t departments(cst_container *container) {
    cst_context *context = NULL;
    cst_coordinator *coordinator = NULL;
    cst_model *model = NULL;
    cst_entity *entity = NULL;
    OK(cst_container_coordinator(container, &coordinator, E));
    OK(cst_coordinator_model(coordinator, &model, E));
    OK(cst_model_entity(model, text("Department"), &entity, E));
    OK(cst_context_new(coordinator, CST_QUEUE_CALLER, &context, E));
    uint64_t count = company_count(context, entity, NULL);
    OK(cst_release(context));
    return count;
}

static void run_task(cst_container *container, struct task *task) {
    task->destroyed = false;
    OK(cst_container_perform_background_task(container, insert_department, note_end, task, end_task, E));
    sem_wait(&task->ended);
    CHECK(task->destroyed);
}

static void background_task_runs_on_a_context_of_its_own(void) {
    cst_model *model = company_model();
    cst_container *container = NULL;
    cst_store_description description = CST_STORE_DESCRIPTION_INIT;
    description.path = text(check_path("a.sqlite"));
    OK(cst_container_new(text("Tasks"), model, NULL, &container, E));
    OK(cst_container_add_description(container, &description, E));
    OK(cst_container_load(container, NULL, NULL, NULL, E));
    struct task task = {.outcome = CST_END};
    sem_init(&task.ended, 0, 0);
    run_task(container, &task);
    CHECK_INT(CST_OK, task.outcome);
    CHECK_INT(1, departments(container));

    /* A failure discards the changes, and `done` receives it. */
    task.body_status = CST_E_CALLBACK;
    run_task(container, &task);
    CHECK_INT(CST_E_CALLBACK, task.outcome);
    CHECK_INT(1, departments(container));

    task.body_status = CST_OK;
    task.keeps = true;
    run_task(container, &task);
    REQUIRE(task.kept != NULL);
    bool changes = true;
    CHECK_STATUS(CST_E_WRONG_THREAD, cst_context_has_changes(task.kept, &changes, E));
    OK(cst_release(task.kept));
    task.keeps = false;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                 cst_container_perform_background_task(container, NULL, note_end, &task, end_task, E));
    CHECK(task.destroyed);
    sem_wait(&task.ended);
    OK(cst_container_close(container, CST_UNSAVED_REFUSE, E));
    task.destroyed = false;
    CHECK_STATUS(CST_E_INVALID_HANDLE,
                 cst_container_perform_background_task(container, insert_department, NULL, &task, end_task, E));
    CHECK(task.destroyed);
    OK(cst_release(container));
    OK(cst_release(model));
}

/* ---- notices of a store */

static char notices[64];
static void did_add(void *store) {
    CHECK(store != NULL);
    strcat(notices, "added ");
}
static void will_remove(void *store) {
    CHECK(store != NULL);
    strcat(notices, "removed ");
}

static void note_store_change(void *userdata, cst_coordinator *coordinator, uint32_t notification,
                              const cst_store_changes *changes) {
    (void)userdata, (void)coordinator, (void)notification;
    strcat(notices, changes->added_count ? "told " : "gone ");
}

static void store_is_notified_of_its_coordinator(void) {
    for (uint32_t kind = CST_STORE_INCREMENTAL; kind <= CST_STORE_ATOMIC; kind++) {
        struct keeper keeper = {0};
        cst_store_callbacks callbacks = keeper_callbacks(&keeper, kind);
        callbacks.did_add = did_add;
        callbacks.will_remove = will_remove;
        OK(cst_store_type_register(text("Noticed"), &callbacks, E));
        cst_model *model = company_model();
        cst_coordinator *coordinator = NULL;
        cst_store *store = NULL;
        cst_observation *observation = NULL;
        notices[0] = '\0';
        OK(cst_coordinator_new(model, &coordinator, E));
        OK(cst_coordinator_observe(coordinator, CST_COORDINATOR_STORES_DID_CHANGE, note_store_change, NULL, NULL,
                                   &observation, E));
        OK(cst_coordinator_add_store(coordinator, text("Noticed"), text("shelf"), NULL, &store, E));
        CHECK_TEXT("added told ", text_of_size(notices, strlen(notices)));
        OK(cst_coordinator_remove_store(coordinator, store, E));
        CHECK_TEXT("added told removed gone ", text_of_size(notices, strlen(notices)));
        OK(cst_release(store));
        OK(cst_coordinator_add_store(coordinator, text("Noticed"), text("shelf"), NULL, NULL, E));
        OK(cst_coordinator_close(coordinator, CST_UNSAVED_REFUSE, E));
        CHECK_TEXT("added told removed gone added told removed gone ", text_of_size(notices, strlen(notices)));
        CHECK_INT(2, keeper.closed);
        OK(cst_release(observation));
        OK(cst_release(coordinator));
        OK(cst_release(model));
        OK(cst_store_type_unregister(text("Noticed"), E));
        keeper_dispose(&keeper);
    }
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(editors_are_committed_in_order_until_their_editing_ends);
    RUN(failure_of_an_editor_stops_the_commit);
    RUN(editor_without_a_function_is_refused);
    RUN(background_task_runs_on_a_context_of_its_own);
    RUN(store_is_notified_of_its_coordinator);
    return check_end();
}
