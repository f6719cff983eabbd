/* Operations on lists of results, controllers and observed fetches. */
#include <stdlib.h>

#include "growth.h"

static const cst_string no_text = {NULL, 0};

static long columns(growth *of) {
    cst_key keys[ATTRIBUTES];
    cst_buffer packed = {0};
    growth_keys(of, keys);
    measure_begin();
    MUST(cst_results_copy_columns(of->all, 0, (size_t)of->count, ATTRIBUTES, keys, &packed, &host_error));
    measure_stop();
    cst_buffer_dispose(&packed);
    return of->count;
}

static long filter(growth *of) {
    cst_predicate *predicate;
    cst_results *found;
    MUST(cst_predicate_parse(host_text("age > 40 AND department.name != nil"), 0, NULL, &predicate, &host_error));
    measure_begin();
    MUST(cst_results_copy_filtered(of->all, predicate, NULL, &found, &host_error));
    measure_stop();
    cst_release(found);
    cst_release(predicate);
    return of->count;
}

static long sort(growth *of) {
    const cst_sort by[] = {{.key_path = host_text("age")}, {.key_path = host_text("name")}};
    cst_results *sorted;
    measure_begin();
    MUST(cst_results_copy_sorted(of->all, 2, by, NULL, NULL, &sorted, &host_error));
    measure_stop();
    cst_release(sorted);
    return of->count;
}

static long sort_values(growth *of) {
    cst_value *values = malloc((size_t)of->count * sizeof *values);
    size_t *order = malloc((size_t)of->count * sizeof *order);
    const cst_sort by = {.flags = CST_SORT_DESCENDING};
    for (long i = 0; i < of->count; i++)
        MUST(cst_object_get(of->objects[i], of->name, &values[i], &host_error));
    measure_begin();
    MUST(cst_sort_values((size_t)of->count, values, 1, &by, NULL, NULL, order, &host_error));
    measure_stop();
    free(values);
    free(order);
    return of->count;
}

static cst_controller *controller_by(const growth *of, const char *key_path, const char *section) {
    cst_fetch_request *request = growth_request(of->employee);
    cst_controller *controller;
    growth_sort(request, key_path);
    MUST(cst_controller_new(of->context, request, section ? host_text(section) : no_text, no_text, &controller,
                            &host_error));
    cst_release(request);
    return controller;
}

/* Fetches the results of a controller with a section for each department. */
static long controller_fetch(growth *of) {
    cst_controller *controller = controller_by(of, "department.name", "department.name");
    measure_begin();
    MUST(cst_controller_perform_fetch(controller, &host_error));
    measure_stop();
    cst_release(controller);
    return of->count;
}

static void count_change(void *userdata, cst_controller *controller, const cst_object_change *change) {
    (void)controller, (void)change;
    ++*(long *)userdata;
}

static void count_all(void *userdata, cst_controller *controller, const cst_difference *difference) {
    (void)controller;
    *(long *)userdata += (long)difference->change_count;
}

/* A controller with all employees, fetched, whose delegate counts changes. */
static cst_controller *watched(const growth *of, long *changes, bool all_together) {
    cst_controller *controller = controller_by(of, "salary", NULL);
    cst_controller_delegate delegate = CST_CONTROLLER_DELEGATE_INIT;
    if (all_together)
        delegate.did_change_all = count_all;
    else
        delegate.did_change_object = count_change;
    delegate.userdata = changes;
    MUST(cst_controller_set_delegate(controller, &delegate, &host_error));
    MUST(cst_controller_perform_fetch(controller, &host_error));
    return controller;
}

/* Moves single rows from anywhere to the beginning, each in an event. */
static long controller_move(growth *of) {
    long changes = 0;
    cst_controller *controller = watched(of, &changes, false);
    measure_begin();
    for (long i = 0; i < REPEATS; i++) {
        growth_change(of, of->objects[i * 7919 % of->count], i);
        growth_process(of->context);
    }
    measure_stop();
    EXPECT(changes >= REPEATS);
    cst_release(controller);
    return REPEATS;
}

/* Inserts and deletes single rows, each in an event. */
static long controller_insert(growth *of) {
    long changes = 0;
    cst_controller *controller = watched(of, &changes, false);
    measure_begin();
    for (long i = 0; i < REPEATS / 2; i++) {
        cst_release(growth_insert(of, of->context, of->count + i));
        growth_process(of->context);
        MUST(cst_context_delete(of->context, of->objects[i * 7919 % of->count], &host_error));
        growth_process(of->context);
    }
    measure_stop();
    EXPECT(changes == REPEATS);
    cst_release(controller);
    return REPEATS;
}

/* Moves all rows in one event. */
static long controller_move_all(growth *of) {
    long changes = 0;
    cst_controller *controller = watched(of, &changes, true);
    growth_change_all(of);
    measure_begin();
    growth_process(of->context);
    measure_stop();
    EXPECT(changes > 0);
    cst_release(controller);
    return of->count;
}

/* Inserts as many rows as there are, in one event. */
static long controller_insert_all(growth *of) {
    long changes = 0;
    cst_controller *controller = watched(of, &changes, true);
    growth_insert_all(of, of->context);
    measure_begin();
    growth_process(of->context);
    measure_stop();
    EXPECT(changes == of->count);
    cst_release(controller);
    return of->count;
}

/* Finds the index path of each object in a controller with sections. */
static long index_path(growth *of) {
    cst_controller *controller = controller_by(of, "department.name", "department.name");
    MUST(cst_controller_perform_fetch(controller, &host_error));
    cst_index_path path;
    measure_begin();
    for (long i = 0; i < of->count; i++)
        MUST(cst_controller_index_path(controller, of->objects[i], &path, &host_error));
    measure_stop();
    cst_release(controller);
    return of->count;
}

static long snapshot_ids(growth *of) {
    cst_controller *controller = controller_by(of, "salary", NULL);
    MUST(cst_controller_perform_fetch(controller, &host_error));
    cst_snapshot *snapshot;
    cst_results *ids;
    measure_begin();
    MUST(cst_controller_copy_snapshot(controller, &snapshot, &host_error));
    MUST(cst_snapshot_copy_ids(snapshot, SIZE_MAX, &ids, &host_error));
    measure_stop();
    EXPECT((long)cst_results_count(ids) == of->count);
    cst_release(ids);
    cst_release(snapshot);
    cst_release(controller);
    return of->count;
}

static void count_difference(void *userdata, cst_context *context, const cst_difference *difference) {
    (void)context;
    *(long *)userdata += (long)difference->change_count;
}

/* Begins to observe a fetch, which reports each object once. */
static long observe_fetch(growth *of) {
    cst_fetch_request *request = growth_request(of->employee);
    cst_observation *observation;
    long changes = 0;
    growth_sort(request, "salary");
    measure_begin();
    MUST(cst_context_observe_fetch(of->context, request, no_text, 0, NULL, count_difference, &changes, NULL,
                                   &observation, &host_error));
    measure_stop();
    EXPECT(changes == of->count);
    cst_release(observation);
    cst_release(request);
    return of->count;
}

/* Changes single objects of an observed fetch with a condition, each in an event. */
static long observe_change(growth *of) {
    cst_fetch_request *request = growth_request(of->employee);
    cst_observation *observation;
    long changes = 0;
    growth_sort(request, "name");
    growth_set_predicate(request, "salary > 0 OR age > 0", NULL);
    MUST(cst_context_observe_fetch(of->context, request, no_text, 0, NULL, count_difference, &changes, NULL,
                                   &observation, &host_error));
    measure_begin();
    for (long i = 0; i < REPEATS; i++) {
        growth_change(of, of->objects[i * 7919 % of->count], i);
        growth_process(of->context);
    }
    measure_stop();
    EXPECT(changes == of->count + REPEATS);
    cst_release(observation);
    cst_release(request);
    return REPEATS;
}

const growth_operation list_operations[] = {
    {"columns", GROWTH_LOADED, columns},
    {"filter", GROWTH_LOADED, filter},
    {"sort", GROWTH_LOADED, sort},
    {"sort_values", GROWTH_LOADED, sort_values},
    {"controller_fetch", 0, controller_fetch},
    {"controller_move", GROWTH_LOADED, controller_move},
    {"controller_insert", GROWTH_LOADED, controller_insert},
    {"controller_move_all", GROWTH_LOADED, controller_move_all},
    {"controller_insert_all", GROWTH_LOADED, controller_insert_all},
    {"index_path", GROWTH_LOADED, index_path},
    {"snapshot_ids", 0, snapshot_ids},
    {"observe_fetch", 0, observe_fetch},
    {"observe_change", GROWTH_LOADED, observe_change},
    {NULL, 0, NULL},
};
