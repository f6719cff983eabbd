/* Operations on a whole context: saves, events, undo, refreshes. */
#include <stdlib.h>

#include "growth.h"

static long save_inserted(growth *of) {
    growth_insert_all(of, of->context);
    measure_begin();
    growth_save(of->context);
    measure_stop();
    return of->count;
}

static long save_updated(growth *of) {
    growth_change_all(of);
    measure_begin();
    growth_save(of->context);
    measure_stop();
    return of->count;
}

static long save_deleted(growth *of) {
    for (long i = 0; i < of->count; i++)
        MUST(cst_context_delete(of->context, of->objects[i], &host_error));
    growth_process(of->context);
    measure_begin();
    growth_save(of->context);
    measure_stop();
    return of->count;
}

/* Saves single changes while all objects are in the context. */
static long save_one(growth *of) {
    measure_begin();
    for (long i = 0; i < REPEATS; i++) {
        growth_change(of, of->objects[i % of->count], i);
        growth_save(of->context);
    }
    measure_stop();
    return REPEATS;
}

/* Inserts and saves single objects while all objects are in the context. */
static long insert_one(growth *of) {
    measure_begin();
    for (long i = 0; i < REPEATS; i++) {
        cst_release(growth_insert(of, of->context, of->count + i));
        growth_save(of->context);
    }
    measure_stop();
    return REPEATS;
}

/* Processes events of one change each while all objects have unsaved changes. */
static long event(growth *of) {
    growth_change_all(of);
    growth_process(of->context);
    bool changes;
    measure_begin();
    for (long i = 0; i < REPEATS; i++) {
        growth_change(of, of->objects[i % of->count], i + 1);
        growth_process(of->context);
        MUST(cst_context_has_changes(of->context, &changes, &host_error));
    }
    measure_stop();
    return REPEATS;
}

static long copy_changed(growth *of) {
    growth_change_all(of);
    cst_results *updated;
    measure_begin();
    MUST(cst_context_copy_changed(of->context, CST_CHANGED_UPDATED, &updated, &host_error));
    measure_stop();
    EXPECT((long)cst_results_count(updated) == of->count);
    cst_release(updated);
    return of->count;
}

static cst_undo_manager *begin_undo(const growth *of) {
    cst_undo_manager *manager;
    MUST(cst_undo_manager_new(&manager, &host_error));
    MUST(cst_context_set_undo_manager(of->context, manager, &host_error));
    return manager;
}

/* Changes all objects in events of their own or in one event. */
static void change_recorded(const growth *of, bool in_steps) {
    for (long i = 0; i < of->count; i++) {
        growth_change(of, of->objects[i], i);
        if (in_steps) growth_process(of->context);
    }
    growth_process(of->context);
}

static long record(growth *of) {
    cst_undo_manager *manager = begin_undo(of);
    measure_begin();
    change_recorded(of, true);
    measure_stop();
    cst_release(manager);
    return of->count;
}

static long undo_and_redo(growth *of, bool in_steps) {
    cst_undo_manager *manager = begin_undo(of);
    const long steps = in_steps ? of->count : 1;
    change_recorded(of, in_steps);
    measure_begin();
    for (long i = 0; i < steps; i++)
        MUST(cst_context_undo(of->context, &host_error));
    for (long i = 0; i < steps; i++)
        MUST(cst_context_redo(of->context, &host_error));
    measure_stop();
    cst_release(manager);
    return of->count;
}

static long undo(growth *of) { return undo_and_redo(of, false); }

static long undo_steps(growth *of) { return undo_and_redo(of, true); }

/* Undoes the insertion and then the deletion of all objects. */
static long undo_insert(growth *of) {
    cst_undo_manager *manager = begin_undo(of);
    growth_insert_all(of, of->context);
    growth_process(of->context);
    measure_begin();
    MUST(cst_context_undo(of->context, &host_error));
    measure_stop();
    cst_release(manager);
    return of->count;
}

static long undo_delete(growth *of) {
    cst_undo_manager *manager = begin_undo(of);
    for (long i = 0; i < of->count; i++)
        MUST(cst_context_delete(of->context, of->objects[i], &host_error));
    growth_process(of->context);
    measure_begin();
    MUST(cst_context_undo(of->context, &host_error));
    measure_stop();
    cst_release(manager);
    return of->count;
}

static long rollback(growth *of) {
    growth_change_all(of);
    measure_begin();
    MUST(cst_context_rollback(of->context, &host_error));
    measure_stop();
    return of->count;
}

/* Refreshes each object, alternately with and without its changes. */
static long refresh(growth *of) {
    growth_change_all(of);
    measure_begin();
    for (long i = 0; i < of->count; i++)
        MUST(cst_object_refresh(of->objects[i], i % 2 == 0, &host_error));
    measure_stop();
    return of->count;
}

/* Turns all objects into faults and fires them. */
static long refresh_all(growth *of) {
    measure_begin();
    MUST(cst_context_refresh_all(of->context, &host_error));
    for (long i = 0; i < of->count; i++)
        growth_salary(of, of->objects[i]);
    measure_stop();
    return of->count;
}

static long reset(growth *of) {
    measure_begin();
    MUST(cst_context_reset(of->context, &host_error));
    measure_stop();
    return of->count;
}

/* Releases the last handles of all objects, which deallocates the objects. */
static long release(growth *of) {
    measure_begin();
    cst_release(of->all);
    growth_process(of->context);
    measure_stop();
    of->all = NULL;
    return of->count;
}

static void notice(void *userdata, cst_context *context, uint32_t notification, const cst_changes *changes) {
    (void)context, (void)notification;
    *(size_t *)userdata += changes->updated ? cst_results_count(changes->updated) : 0;
}

/* Posts a notification for all changes of one event. */
static long notify(growth *of) {
    size_t updated = 0;
    cst_observation *observation;
    MUST(cst_context_observe(of->context, CST_NOTIFICATION_OBJECTS_DID_CHANGE, notice, &updated, NULL, &observation,
                             &host_error));
    growth_change_all(of);
    measure_begin();
    growth_process(of->context);
    measure_stop();
    EXPECT((long)updated == of->count);
    cst_release(observation);
    return of->count;
}

static cst_status count_up(void *userdata, cst_context *context, cst_error **error) {
    (void)context, (void)error;
    ++*(long *)userdata;
    return CST_OK;
}

/* Performs as many empty blocks as there are objects on a private queue, half of them enqueued together. */
static long perform(growth *of) {
    cst_context *context;
    long calls = 0;
    MUST(cst_context_new(of->coordinator, CST_QUEUE_PRIVATE, &context, &host_error));
    measure_begin();
    for (long i = 0; i < of->count / 2; i++)
        MUST(cst_context_perform(context, count_up, &calls, NULL, &host_error));
    for (long i = 0; i < of->count / 2; i++)
        MUST(cst_context_perform_and_wait(context, count_up, &calls, &host_error));
    measure_stop();
    EXPECT(calls == of->count / 2 * 2);
    cst_release(context);
    return of->count;
}

const growth_operation context_operations[] = {
    {"save_inserted", GROWTH_EMPTY, save_inserted},
    {"save_updated", GROWTH_LOADED | GROWTH_WRITES, save_updated},
    {"save_deleted", GROWTH_LOADED | GROWTH_WRITES, save_deleted},
    {"save_one", GROWTH_LOADED | GROWTH_WRITES, save_one},
    {"insert_one", GROWTH_LOADED | GROWTH_WRITES, insert_one},
    {"event", GROWTH_LOADED, event},
    {"copy_changed", GROWTH_LOADED, copy_changed},
    {"record", GROWTH_LOADED, record},
    {"undo", GROWTH_LOADED, undo},
    {"undo_steps", GROWTH_LOADED, undo_steps},
    {"undo_insert", GROWTH_EMPTY, undo_insert},
    {"undo_delete", GROWTH_LOADED, undo_delete},
    {"rollback", GROWTH_LOADED, rollback},
    {"refresh", GROWTH_LOADED, refresh},
    {"refresh_all", GROWTH_LOADED, refresh_all},
    {"reset", GROWTH_LOADED, reset},
    {"release", GROWTH_LOADED, release},
    {"notify", GROWTH_LOADED, notify},
    {"perform", 0, perform},
    {NULL, 0, NULL},
};
