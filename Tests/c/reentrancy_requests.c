/* Calls that fetch, and that observe or use the results.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reentrancy.h"

#include <stdio.h>
#include <string.h>

static cst_context *context(void) { return some(SLOT_CONTEXT); }
static cst_fetch_request *request(void) { return some(SLOT_REQUEST); }
static const cst_string none = {NULL, 0};

/* ---- predicates, expressions, requests ---- */

static void new_predicate(cst_error **error) {
    cst_predicate *made = NULL, *parts[2] = {some(SLOT_PREDICATE), some(SLOT_PREDICATE)};
    const cst_value arguments[] = {host_value()};
    switch (below(5)) {
    case 0:
        cst_predicate_new_block(on_predicate_block, ticket_new(), ticket_destroy, &made, error);
        break;
    case 1:
        cst_predicate_parse(text("FUNCTION(age, 'fz', name) > 10 OR FUNCTION(age, 'typed') == 2"), 0, NULL, &made,
                            error);
        break;
    case 2:
        cst_predicate_parse(text("mark == %@ OR mark.number > 1"), 1, arguments, &made, error);
        break;
    case 3:
        cst_predicate_new_compound(1 + (uint32_t)below(2), 2, (const cst_predicate *const *)parts, &made, error);
        break;
    default:
        cst_predicate_parse(text("ANY kids.age > 1 OR name BEGINSWITH 'n1'"), 0, NULL, &made, error);
        break;
    }
    keep(SLOT_PREDICATE, made);
}

static void new_expression(cst_error **error) {
    cst_expression *made = NULL;
    if (one_in(2))
        cst_expression_new_block(on_expression_block, ticket_new(), ticket_destroy, 0, NULL, &made, error);
    else if (one_in(2))
        cst_expression_new_fetch(request(), context(), one_in(2), &made, error);
    else
        cst_expression_parse(text("FUNCTION(age, 'fz')"), 0, NULL, &made, error);
    keep(SLOT_EXPRESSION, made);
}

static void evaluate(cst_error **error) {
    bool result = false;
    const cst_value value = one_in(2) ? host_value() : value_object(some(SLOT_OBJECT));
    if (one_in(2)) {
        cst_predicate_evaluate_value(some(SLOT_PREDICATE), &value, NULL, &result, error);
        return;
    }
    cst_value out = value_null();
    if (cst_expression_value(some(SLOT_EXPRESSION), &value, NULL, &out, error) == CST_OK) cst_value_dispose(&out);
}

static void sort_values(cst_error **error) {
    const cst_value values[] = {host_value(), host_value(), value_object(some(SLOT_OBJECT)), host_value()};
    static const cst_sort sorts[] = {{{"number", 6}, 0, 0}, {{NULL, 0}, 0, 0}, {{"number", 6}, CST_SORT_COMPARATOR, 0}};
    size_t order[4];
    cst_sort_values(4 - below(2), values, 1, &sorts[below(3)], on_compare, NULL, order, error);
}

static void new_request(cst_error **error) {
    static const cst_sort sorts[] = {{{"name", 4}, 0, 0}, {{"age", 3}, CST_SORT_DESCENDING, 0}};
    cst_fetch_request *made = NULL;
    if (one_in(6)) {
        const cst_value age = value_int(1);
        const cst_string variable = text("AGE");
        cst_model_copy_bound_template(some(SLOT_MODEL), text("older"), 1, &variable, &age, &made, error);
    } else {
        cst_fetch_request_new(one_in(2) ? world.person : world.employee, &made, error);
    }
    cst_fetch_request_set_sort(made, below(3), sorts, NULL);
    if (one_in(2)) cst_fetch_request_set_predicate(made, some(SLOT_PREDICATE), NULL);
    if (one_in(3)) cst_fetch_request_set_limit(made, below(5), NULL);
    if (one_in(3)) cst_fetch_request_set_option(made, CST_FETCH_BATCH_SIZE, 1 + (int64_t)below(3), NULL);
    if (one_in(3)) cst_fetch_request_set_option(made, 4 + (uint32_t)below(10), (int64_t)below(3), NULL);
    if (one_in(4)) {
        const cst_string paths[] = {text("parent"), text("kids")};
        cst_fetch_request_set_prefetch(made, 1 + below(2), paths, NULL);
    }
    if (one_in(4)) {
        const cst_column columns[] = {{{"name", 4}, NULL, 0, 0}, {{"x", 1}, some(SLOT_EXPRESSION), 300, 0}};
        cst_fetch_request_set_columns(made, 1 + below(2), columns, NULL);
    }
    if (one_in(6)) {
        const cst_string by[] = {text("name")};
        cst_fetch_request_set_group_by(made, 1, by, NULL);
        cst_fetch_request_set_having(made, some(SLOT_PREDICATE), NULL);
    }
    keep(SLOT_REQUEST, made);
}

/* ---- fetching ---- */

static void fetch(cst_error **error) {
    cst_results *results = NULL;
    if (cst_context_fetch(context(), request(), &results, error) != CST_OK) return;
    for (size_t i = 0; i < 4; i++) {
        cst_object *object = NULL;
        if (cst_results_get_object(results, i, &object, NULL) != CST_OK) break;
        keep(SLOT_OBJECT, cst_retain(object));
    }
    keep(SLOT_RESULTS, results);
}

static void count(cst_error **error) {
    uint64_t number = 0;
    cst_context_count(context(), request(), &number, error);
}

static void fetch_ids(cst_error **error) {
    cst_results *results = NULL;
    cst_object_id *id = NULL;
    cst_context_fetch_ids(context(), request(), &results, error);
    if (cst_results_copy_id(results, 0, &id, NULL) == CST_OK) keep(SLOT_ID, id);
    keep(SLOT_RESULTS, results);
}

static void execute(cst_error **error) {
    cst_request_result result = {0};
    cst_context_execute(context(), one_in(2) ? some(SLOT_BATCH) : some(SLOT_REQUEST), &result, error);
    if (result.type == CST_RESULT_OBJECTS || result.type == CST_RESULT_OBJECT_IDS)
        keep(SLOT_RESULTS, result.value);
    else
        cst_release(result.value);
}

static void explain(cst_error **error) {
    cst_buffer buffer = {0};
    cst_context_explain(context(), request(), (uint32_t)below(3), &buffer, error);
    cst_buffer_dispose(&buffer);
}

static void fetch_rows(cst_error **error) {
    cst_rows *rows = NULL;
    if (one_in(3))
        cst_context_aggregate(context(), request(), 1 + (uint32_t)below(7), text("age"), &rows, error);
    else
        cst_context_fetch_rows(context(), request(), &rows, error);
    keep(SLOT_ROWS, rows);
}

static void read_rows(cst_error **error) {
    cst_rows *rows = cst_retain(some(SLOT_ROWS));
    cst_value values[8];
    size_t columns = cst_rows_column_count(rows);
    if (columns <= 8 && cst_rows_copy_values(rows, 0, 1, values, error) == CST_OK) {
        for (size_t i = 0; i < columns; i++)
            cst_value_dispose(&values[i]);
    }
    cst_release(rows);
}

static void cursor(cst_error **error) {
    cst_cursor *made = NULL;
    cst_context_fetch_cursor(context(), request(), 1 + below(3), &made, error);
    keep(SLOT_CURSOR, made);
}

static void next_of_cursor(cst_error **error) {
    cst_results *results = NULL;
    cst_cursor_copy_next(some(SLOT_CURSOR), &results, error);
    keep(SLOT_RESULTS, results);
}

/* On the main queue its blocks wait for the next drain, which is one of the random calls. */
static void fetch_asynchronously(cst_error **error) {
    cst_asynchronous_fetch *made = NULL;
    if (!world.is_timed) return;
    cst_context_fetch_asynchronously(context(), request(), 0, on_fetch_done, ticket_new(), ticket_destroy, &made,
                                     error);
    keep(SLOT_ASYNCHRONOUS, made);
}

static void asynchronous(cst_error **error) {
    cst_request_result result = {0};
    uint64_t done = 0, total = 0;
    cst_asynchronous_fetch *fetch = some(SLOT_ASYNCHRONOUS);
    if (one_in(3)) cst_asynchronous_fetch_cancel(fetch, error);
    cst_asynchronous_fetch_progress(fetch, &done, &total, NULL);
    cst_asynchronous_fetch_copy_result(fetch, &result, NULL);
    cst_release(result.value);
}

/* ---- lists ---- */

static void filter(cst_error **error) {
    cst_results *results = NULL;
    cst_results_copy_filtered(some(SLOT_RESULTS), some(SLOT_PREDICATE), NULL, &results, error);
    keep(SLOT_RESULTS, results);
}

static void sort(cst_error **error) {
    const cst_sort by = {text(one_in(2) ? "age" : "mark"), CST_SORT_COMPARATOR, 0};
    cst_results *results = NULL;
    cst_results_copy_sorted(some(SLOT_RESULTS), 1, &by, on_compare, NULL, &results, error);
    keep(SLOT_RESULTS, results);
}

static void read_results(cst_error **error) {
    cst_results *results = some(SLOT_RESULTS);
    cst_value values[4];
    cst_buffer buffer = {0};
    cst_object *object = NULL;
    size_t filled = 0;
    switch (below(4)) {
    case 0:
        cst_results_get_column(results, world.age, 0, 4, values, &filled, error);
        break;
    case 1:
        cst_results_get_column_path(results, text("parent.name"), 0, 4, values, &filled, error);
        break;
    case 2:
        cst_results_copy_columns(results, 0, 2, 1, &world.age, &buffer, error);
        cst_buffer_dispose(&buffer);
        break;
    default:
        /* Lazy ones read a batch here. */
        if (cst_results_get_object(results, below(6), &object, error) == CST_OK) keep(SLOT_OBJECT, cst_retain(object));
        break;
    }
}

static void free_schema(struct ArrowSchema *schema, struct ArrowArray *array) {
    if (schema->release) schema->release(schema);
    if (array->release) array->release(array);
}

static void export_arrow(cst_error **error) {
    struct ArrowSchema schema = {0};
    struct ArrowArray array = {0};
    if (one_in(2))
        cst_results_export_arrow(some(SLOT_RESULTS), 0, 0, NULL, &schema, &array, error);
    else
        cst_rows_export_arrow(some(SLOT_ROWS), 0, &schema, &array, error);
    free_schema(&schema, &array);
}

static void fetch_arrow(cst_error **error) {
    size_t place = below(STREAMS);
    struct ArrowArrayStream made = {0};
    if (one_in(3))
        cst_results_export_arrow_stream(some(SLOT_RESULTS), 1 + below(3), 0, 0, NULL, &made, error);
    else
        cst_context_fetch_arrow(context(), request(), 1 + below(3), 0, 0, NULL, &made, error);
    if (!made.release) return;
    if (world.stream_used[place]) {
        made.release(&made);
        return;
    }
    struct ArrowArrayStream former = world.streams[place];
    world.streams[place] = made;
    if (former.release) former.release(&former);
}

/* By the rules of the interface, a stream runs one call at a time. */
static void read_stream(cst_error **error) {
    (void)error;
    size_t place = below(STREAMS);
    struct ArrowArrayStream *stream = &world.streams[place];
    if (world.stream_used[place] || !stream->release) return;
    struct ArrowSchema schema = {0};
    struct ArrowArray array = {0};
    world.stream_used[place] = true;
    if (one_in(3)) {
        stream->release(stream);
    } else {
        if (stream->get_schema(stream, &schema) != 0) schema.release = NULL;
        if (stream->get_next(stream, &array) != 0) array.release = NULL;
    }
    world.stream_used[place] = false;
    free_schema(&schema, &array);
}

/* ---- observers of changes ---- */

static void observe_context(cst_error **error) {
    cst_observation *made = NULL;
    cst_context_observe(context(), 1 + (uint32_t)below(5), on_context_note, ticket_new(), ticket_destroy, &made, error);
    keep(SLOT_OBSERVATION, made);
}

static void observe_object(cst_error **error) {
    static const char *const paths[] = {"name", "age", "parent", "kids", "friends", "parent.name", "parent.parent.age"};
    static const uint32_t flags[] = {0, CST_OBSERVE_INITIAL, CST_OBSERVE_PRIOR,
                                     CST_OBSERVE_INITIAL | CST_OBSERVE_PRIOR};
    cst_observation *made = NULL;
    cst_object_observe(some(SLOT_OBJECT), text(paths[below(7)]), flags[below(4)], on_object_note, ticket_new(),
                       ticket_destroy, &made, error);
    keep(SLOT_OBSERVATION, made);
}

static void observe_fetch(cst_error **error) {
    cst_observation *made = NULL;
    cst_context_observe_fetch(context(), request(), one_in(2) ? text("age") : none, 0, NULL, on_fetch_note,
                              ticket_new(), ticket_destroy, &made, error);
    keep(SLOT_OBSERVATION, made);
}

static void observe_undo(cst_error **error) {
    cst_observation *made = NULL;
    cst_undo_manager_observe(some(SLOT_UNDO), 1 + (uint32_t)below(8), on_undo_note, ticket_new(), ticket_destroy, &made,
                             error);
    keep(SLOT_OBSERVATION, made);
}

/* Not remote changes, which are reported on their own thread. */
static void observe_coordinator(cst_error **error) {
    cst_observation *made = NULL;
    cst_coordinator_observe(some(SLOT_COORDINATOR), 1 + (uint32_t)below(2), on_coordinator_note, ticket_new(),
                            ticket_destroy, &made, error);
    keep(SLOT_OBSERVATION, made);
}

static void cancel(cst_error **error) { cst_observation_cancel(some(SLOT_OBSERVATION), error); }

static void controller(cst_error **error) {
    cst_controller *made = NULL;
    if (one_in(2))
        cst_controller_new(context(), request(), one_in(2) ? text("age") : none, none, &made, error);
    else
        cst_controller_new_with_sections(context(), request(), on_section_name, ticket_new(), ticket_destroy, &made,
                                         error);
    const cst_controller_delegate told = delegate();
    cst_controller_set_delegate(made, &told, NULL);
    cst_controller_perform_fetch(made, NULL);
    keep(SLOT_CONTROLLER, made);
}

static void perform_fetch(cst_error **error) { cst_controller_perform_fetch(some(SLOT_CONTROLLER), error); }

static void set_delegate(cst_error **error) {
    if (one_in(3)) {
        cst_controller_set_delegate(some(SLOT_CONTROLLER), NULL, error);
        return;
    }
    const cst_controller_delegate told = delegate();
    cst_controller_set_delegate(some(SLOT_CONTROLLER), &told, error);
}

static void read_controller(cst_error **error) {
    cst_controller *controller = some(SLOT_CONTROLLER);
    cst_buffer title = {0};
    cst_results *results = NULL;
    cst_object *object = NULL;
    cst_snapshot *snapshot = NULL;
    cst_index_path path = {0, 0};
    switch (below(5)) {
    case 0:
        cst_controller_copy_title(controller, below(3), &title, error);
        cst_buffer_dispose(&title);
        break;
    case 1:
        cst_controller_copy_objects(controller, one_in(2) ? SIZE_MAX : 0, &results, error);
        keep(SLOT_RESULTS, results);
        break;
    case 2:
        cst_controller_copy_object(controller, 0, below(3), &object, error);
        keep(SLOT_OBJECT, object);
        break;
    case 3:
        cst_controller_copy_snapshot(controller, &snapshot, error);
        keep(SLOT_SNAPSHOT, snapshot);
        break;
    default:
        cst_controller_index_path(controller, some(SLOT_OBJECT), &path, error);
        break;
    }
}

static void read_snapshot(cst_error **error) {
    cst_snapshot *snapshot = some(SLOT_SNAPSHOT);
    cst_results *results = NULL;
    size_t sections = cst_snapshot_section_count(snapshot);
    if (sections == 0) return;
    size_t section = below(sections);
    cst_snapshot_section_name(snapshot, section);
    cst_snapshot_copy_ids(snapshot, section, &results, error);
    keep(SLOT_RESULTS, results);
}

/* ---- batches ---- */

static void batch(cst_error **error) {
    cst_batch_request *made = NULL;
    const cst_value age = value_int((int64_t)below(9));
    switch (below(5)) {
    case 0:
        cst_batch_insert_new(world.person, &made, error);
        cst_batch_insert_set_handler(made, 1, &world.name, on_batch_rows, ticket_new(), ticket_destroy, NULL);
        break;
    case 1:
        cst_batch_insert_new(world.person, &made, error);
        cst_batch_insert_set_object_handler(made, on_batch_object, ticket_new(), ticket_destroy, NULL);
        break;
    case 2:
        cst_batch_update_new(world.person, &made, error);
        cst_batch_update_set(made, text("age"), &age, NULL);
        cst_batch_update_set_predicate(made, some(SLOT_PREDICATE), NULL);
        break;
    case 3: {
        cst_object_id *ids[] = {some(SLOT_ID), some(SLOT_ID)};
        cst_batch_delete_new_with_ids(2, ids, &made, error);
        break;
    }
    default:
        cst_batch_delete_new(request(), &made, error);
        break;
    }
    cst_batch_set_merges(made, one_in(2), NULL);
    keep(SLOT_BATCH, made);
}

static void execute_batch(cst_error **error) {
    cst_results *ids = NULL;
    uint64_t number = 0;
    cst_context_execute_batch(context(), some(SLOT_BATCH), &number, &ids, error);
    keep(SLOT_RESULTS, ids);
}

const struct act request_acts[] = {
    {"new_predicate", 2, new_predicate},
    {"new_expression", 1, new_expression},
    {"evaluate", 2, evaluate},
    {"sort_values", 1, sort_values},
    {"new_request", 3, new_request},
    {"fetch", 4, fetch},
    {"count", 2, count},
    {"fetch_ids", 1, fetch_ids},
    {"execute", 1, execute},
    {"explain", 1, explain},
    {"fetch_rows", 2, fetch_rows},
    {"read_rows", 1, read_rows},
    {"cursor", 1, cursor},
    {"next_of_cursor", 2, next_of_cursor},
    {"fetch_asynchronously", 1, fetch_asynchronously},
    {"asynchronous", 1, asynchronous},
    {"filter", 2, filter},
    {"sort", 2, sort},
    {"read_results", 2, read_results},
    {"export_arrow", 1, export_arrow},
    {"fetch_arrow", 1, fetch_arrow},
    {"read_stream", 2, read_stream},
    {"observe_context", 3, observe_context},
    {"observe_object", 3, observe_object},
    {"observe_fetch", 2, observe_fetch},
    {"observe_undo", 1, observe_undo},
    {"observe_coordinator", 1, observe_coordinator},
    {"cancel", 1, cancel},
    {"controller", 3, controller},
    {"perform_fetch", 3, perform_fetch},
    {"set_delegate", 1, set_delegate},
    {"read_controller", 2, read_controller},
    {"read_snapshot", 1, read_snapshot},
    {"batch", 1, batch},
    {"execute_batch", 2, execute_batch},
};
const size_t request_act_count = sizeof request_acts / sizeof *request_acts;
