/* Short sequences of calls that random calls seldom produce: conflicts, faults whose row was deleted, single faults,
 * values read back from the store, sets of host objects, titles of sections. Callbacks may release each handle
 * during the sequence.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reentrancy.h"

static cst_context *context(void) { return some(SLOT_CONTEXT); }

static cst_object_id *id_of(cst_object *object) {
    cst_object_id *id = NULL;
    cst_object_copy_id(object, &id, NULL);
    return id;
}

/* Another context saves another value of the same property, or deletes the object. */
static void conflict(cst_error **error) {
    cst_object *mine = cst_retain(some(SLOT_OBJECT)), *theirs = NULL;
    cst_object_id *id = id_of(mine);
    cst_context *owner = NULL, *other = context();
    cst_value age = value_int((int64_t)below(1000));
    cst_object_set(mine, world.age, &age, NULL);
    if (cst_context_existing_object(other, id, &theirs, NULL) == CST_OK) {
        age = value_int((int64_t)below(1000));
        cst_object_set(theirs, world.age, &age, NULL);
        if (one_in(5)) cst_context_delete(other, theirs, NULL);
        cst_context_save(other, NULL);
    }
    if (cst_object_context(mine, &owner, NULL) == CST_OK) cst_context_save(owner, error);
    cst_release(theirs);
    cst_release(id);
    cst_release(mine);
}

/* The row of a fault is deleted without notifying its context. */
static void pull_away(cst_error **error) {
    cst_object *object = cst_retain(some(SLOT_OBJECT));
    cst_object_id *id = id_of(object);
    cst_context *owner = NULL;
    cst_batch_request *batch = NULL;
    cst_results *ids = NULL;
    cst_value value = value_null();
    if (cst_object_context(object, &owner, NULL) == CST_OK)
        cst_context_set_option(owner, CST_OPTION_STALENESS_MS, 0, NULL);
    cst_object_refresh(object, false, NULL);
    cst_batch_delete_new_with_ids(1, &id, &batch, error);
    cst_batch_set_merges(batch, false, NULL);
    cst_context_execute_batch(context(), batch, NULL, &ids, NULL);
    cst_object_get(object, world.name, &value, NULL);
    cst_release(ids);
    cst_release(batch);
    cst_release(id);
    cst_release(object);
}

/* Parents are read one by one, from a store without cached rows. */
static void single_faults(cst_error **error) {
    cst_context *owner = cst_retain(context());
    cst_fetch_request *request = NULL;
    cst_results *results = NULL;
    cst_context_set_option(owner, CST_OPTION_COUNTS_SINGLE_FAULTS, 1, NULL);
    cst_context_set_option(owner, CST_OPTION_STALENESS_MS, 0, NULL);
    cst_context_set_call_site_finder(owner, on_call_site, ticket_new(), ticket_destroy, NULL);
    cst_context_refresh_all(owner, error);
    cst_fetch_request_new(world.person, &request, NULL);
    cst_context_fetch(owner, request, &results, NULL);
    for (size_t i = 0; i < 8; i++) {
        cst_object *object = NULL;
        cst_value value = value_null();
        if (cst_results_get_object(results, i, &object, NULL) != CST_OK) break;
        cst_object_get_path(object, text("parent.name"), &value, NULL);
    }
    cst_release(results);
    cst_release(request);
    cst_release(owner);
}

/* Each has its own parent, so that there are parent faults to fire. */
static void family(cst_error **error) {
    cst_context *owner = cst_retain(context());
    for (size_t i = 0; i < 3; i++) {
        cst_object *parent = NULL, *kid = NULL;
        cst_context_insert(owner, world.person, &parent, i == 0 ? error : NULL);
        cst_context_insert(owner, world.employee, &kid, NULL);
        const cst_value value = value_object(parent);
        cst_object_set(kid, world.parent, &value, NULL);
        keep(SLOT_OBJECT, parent);
        keep(SLOT_OBJECT, kid);
    }
    cst_context_save(owner, NULL);
    cst_release(owner);
}

/* A value of the host is saved and read back. */
static void transform_again(cst_error **error) {
    cst_object *object = cst_retain(some(SLOT_OBJECT));
    cst_context *owner = NULL;
    void *value = thing_new();
    if (cst_object_set_transformed(object, world.blob, value, error) != CST_OK) thing_free(value);
    if (cst_object_context(object, &owner, NULL) == CST_OK) cst_context_save(owner, NULL);
    cst_object_refresh(object, false, NULL);
    long long before = calls_made();
    if (cst_object_get_transformed(object, world.blob, &value, NULL) == CST_OK && value && calls_made() == before)
        thing_use(value);
    cst_release(object);
}

/* Some calls under a lock. */
static void lock_awhile(cst_error **error) {
    cst_context *owner = cst_retain(context());
    cst_object *made = NULL;
    size_t times = 0, most = 1 + below(2);
    while (times < most && cst_context_lock(owner, times == 0 ? error : NULL) == CST_OK)
        times++;
    if (cst_context_insert(owner, world.person, &made, NULL) == CST_OK) keep(SLOT_OBJECT, made);
    cst_context_perform_and_wait(owner, on_perform, NULL, NULL);
    if (one_in(3)) cst_context_save(owner, NULL);
    if (one_in(6)) cst_context_close(owner, (uint32_t)below(3), NULL);
    while (times-- > 0)
        cst_context_unlock(owner, NULL);
    cst_release(owner);
}

static void host_sets(cst_error **error) {
    const cst_value members[] = {host_value(), host_value(), host_value()};
    cst_value sets[2] = {{.type = CST_SET}, {.type = CST_SET}}, result = value_null();
    sets[0].as.values = (cst_values){members, 2};
    sets[1].as.values = (cst_values){members + 1, 2};
    const cst_value arguments[] = {members[0], sets[1]};
    cst_predicate *predicate = NULL;
    cst_expression *expression = NULL;
    bool holds = false;
    cst_predicate_parse(text("SELF == %@ OR SELF IN %@"), 2, arguments, &predicate, error);
    cst_predicate_evaluate_value(predicate, &members[2], NULL, &holds, NULL);
    cst_expression_parse(text("%@ UNION %@"), 2, sets, &expression, NULL);
    if (cst_expression_value(expression, &members[0], NULL, &result, NULL) == CST_OK) cst_value_dispose(&result);
    keep(SLOT_PREDICATE, predicate);
    keep(SLOT_EXPRESSION, expression);
}

static void titles(cst_error **error) {
    const cst_string none = {NULL, 0};
    cst_controller *made = NULL;
    cst_fetch_request *request = NULL;
    const cst_sort by = {text("age"), 0, 0};
    cst_fetch_request_new(world.person, &request, NULL);
    cst_fetch_request_set_sort(request, 1, &by, NULL);
    cst_controller_new(context(), request, text("age"), none, &made, error);
    cst_release(request);
    cst_retain(made);
    keep(SLOT_CONTROLLER, made);
    const cst_controller_delegate told = delegate();
    cst_controller_set_delegate(made, &told, NULL);
    cst_controller_perform_fetch(made, NULL);
    for (size_t i = 0; i < 3; i++) {
        cst_buffer title = {0};
        cst_controller_copy_title(made, i, &title, NULL);
        cst_buffer_dispose(&title);
    }
    cst_release(made);
}

const struct act story_acts[] = {
    {"conflict", 4, conflict},
    {"pull_away", 2, pull_away},
    {"single_faults", 2, single_faults},
    {"family", 3, family},
    {"titles", 1, titles},
    {"host_sets", 1, host_sets},
    {"lock_awhile", 1, lock_awhile},
    {"transform_again", 3, transform_again},
};
const size_t story_act_count = sizeof story_acts / sizeof *story_acts;
