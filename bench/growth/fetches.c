/* Fetches: objects, IDs, rows, columns, counts, groups, single objects. */
#include <stdio.h>
#include <stdlib.h>

#include "growth.h"

static long fetch(growth *of) {
    cst_fetch_request *request = growth_request(of->employee);
    measure_begin();
    cst_results *results = growth_fetch(of->context, request, of->count);
    measure_stop();
    cst_release(results);
    cst_release(request);
    return of->count;
}

static long fetch_read(growth *of) {
    cst_key keys[ATTRIBUTES];
    cst_value value;
    growth_keys(of, keys);
    cst_fetch_request *request = growth_request(of->employee);
    measure_begin();
    cst_results *results = growth_fetch(of->context, request, of->count);
    for (long i = 0; i < of->count; i++) {
        const cst_object *object = growth_at(results, i);
        for (int key = 0; key < ATTRIBUTES; key++)
            MUST(cst_object_get(object, keys[key], &value, &host_error));
    }
    measure_stop();
    cst_release(results);
    cst_release(request);
    return of->count;
}

static long fetch_again(growth *of) {
    cst_fetch_request *request = growth_request(of->employee);
    measure_begin();
    cst_results *results = growth_fetch(of->context, request, of->count);
    measure_stop();
    cst_release(results);
    cst_release(request);
    return of->count;
}

static long fetch_sorted(growth *of) {
    cst_fetch_request *request = growth_request(of->employee);
    growth_sort(request, "salary");
    measure_begin();
    cst_results *results = growth_fetch(of->context, request, of->count);
    measure_stop();
    cst_release(results);
    cst_release(request);
    return of->count;
}

static long fetch_prefetched(growth *of) {
    const cst_string department = host_text("department");
    cst_fetch_request *request = growth_request(of->employee);
    cst_value value;
    MUST(cst_fetch_request_set_prefetch(request, 1, &department, &host_error));
    measure_begin();
    cst_results *results = growth_fetch(of->context, request, of->count);
    for (long i = 0; i < of->count; i++) {
        MUST(cst_object_get(growth_at(results, i), of->in_department, &value, &host_error));
        MUST(cst_object_get(value.as.object, of->department_name, &value, &host_error));
    }
    measure_stop();
    cst_release(results);
    cst_release(request);
    return of->count;
}

/* Fetches the departments with their members prefetched, and reads the members. */
static long fetch_members(growth *of) {
    const cst_string employees = host_text("employees");
    cst_fetch_request *request = growth_request(of->department);
    MUST(cst_fetch_request_set_prefetch(request, 1, &employees, &host_error));
    long read = 0;
    measure_begin();
    cst_results *results = growth_fetch(of->context, request, -1);
    for (size_t i = 0; i < cst_results_count(results); i++) {
        cst_results *members;
        MUST(cst_object_copy_members(growth_at(results, (long)i), of->employees, &members, &host_error));
        for (size_t j = 0; j < cst_results_count(members); j++, read++)
            growth_salary(of, growth_at(members, (long)j));
        cst_release(members);
    }
    measure_stop();
    EXPECT(read == of->count);
    cst_release(results);
    cst_release(request);
    return of->count;
}

/* Fetches with a condition and an order while all objects have unsaved changes. */
static long fetch_unsaved(growth *of) {
    growth_change_all(of);
    growth_process(of->context);
    cst_fetch_request *request = growth_request(of->employee);
    growth_set_predicate(request, "salary < 0 AND age >= 20", NULL);
    growth_sort(request, "salary");
    measure_begin();
    cst_results *results = growth_fetch(of->context, request, of->count);
    measure_stop();
    cst_release(results);
    cst_release(request);
    return of->count;
}

/* Fetches the objects with given IDs. */
static long fetch_in(growth *of) {
    cst_value *members = malloc((size_t)of->count * sizeof *members);
    for (long i = 0; i < of->count; i++)
        members[i] = cst_value_object_id(growth_id(of, i));
    const cst_value argument = cst_value_array((size_t)of->count, members);
    measure_begin();
    cst_fetch_request *request = growth_request(of->employee);
    growth_set_predicate(request, "SELF IN %@", &argument);
    cst_results *results = growth_fetch(of->context, request, of->count);
    measure_stop();
    cst_release(results);
    cst_release(request);
    for (long i = 0; i < of->count; i++)
        cst_release(members[i].as.object_id);
    free(members);
    return of->count;
}

/* Fetches single objects by an indexed attribute, while all objects are in the context. */
static long fetch_one(growth *of) {
    cst_fetch_request *request = growth_request(of->employee);
    char text[96];
    cst_value values[ATTRIBUTES];
    measure_begin();
    for (long i = 0; i < REPEATS; i++) {
        growth_values(i % of->count, text, values);
        growth_set_predicate(request, "name == %@", &values[0]);
        cst_release(growth_fetch(of->context, request, 1));
    }
    measure_stop();
    cst_release(request);
    return REPEATS;
}

static long fetch_ids(growth *of) {
    cst_fetch_request *request = growth_request(of->employee);
    cst_results *ids;
    measure_begin();
    MUST(cst_context_fetch_ids(of->context, request, &ids, &host_error));
    measure_stop();
    EXPECT((long)cst_results_count(ids) == of->count);
    cst_release(ids);
    cst_release(request);
    return of->count;
}

static long fetch_rows(growth *of) {
    cst_fetch_request *request = growth_request(of->employee);
    cst_rows *rows;
    measure_begin();
    MUST(cst_context_fetch_rows(of->context, request, &rows, &host_error));
    measure_stop();
    EXPECT((long)cst_rows_count(rows) == of->count);
    cst_release(rows);
    cst_release(request);
    return of->count;
}

static long fetch_arrow(growth *of) {
    cst_fetch_request *request = growth_request(of->employee);
    struct ArrowArrayStream stream;
    struct ArrowArray batch;
    long read = 0;
    measure_begin();
    MUST(cst_context_fetch_arrow(of->context, request, 0, 0, 0, NULL, &stream, &host_error));
    while (stream.get_next(&stream, &batch) == 0 && batch.release) {
        read += (long)batch.length;
        batch.release(&batch);
    }
    stream.release(&stream);
    measure_stop();
    EXPECT(read == of->count);
    cst_release(request);
    return of->count;
}

/* Reads all objects through lazy results with batches of 100 rows. */
static long fetch_lazy(growth *of) {
    cst_fetch_request *request = growth_request(of->employee);
    cst_request_result result;
    MUST(cst_fetch_request_set_option(request, CST_FETCH_BATCH_SIZE, 100, &host_error));
    measure_begin();
    MUST(cst_context_execute(of->context, request, &result, &host_error));
    for (long i = 0; i < of->count; i++)
        growth_salary(of, growth_at(result.value, i));
    measure_stop();
    cst_release(result.value);
    cst_release(request);
    return of->count;
}

static long cursor(growth *of) {
    cst_fetch_request *request = growth_request(of->employee);
    cst_cursor *cursor;
    cst_results *batch;
    long read = 0;
    measure_begin();
    MUST(cst_context_fetch_cursor(of->context, request, 100, &cursor, &host_error));
    while (cst_cursor_copy_next(cursor, &batch, &host_error) == CST_OK) {
        for (size_t i = 0; i < cst_results_count(batch); i++, read++)
            growth_salary(of, growth_at(batch, (long)i));
        cst_release(batch);
    }
    measure_stop();
    EXPECT(read == of->count);
    cst_release(cursor);
    cst_release(request);
    return of->count;
}

static long count(growth *of) {
    cst_fetch_request *request = growth_request(of->employee);
    growth_set_predicate(request, "age > 40 AND active == YES", NULL);
    uint64_t found;
    measure_begin();
    MUST(cst_context_count(of->context, request, &found, &host_error));
    measure_stop();
    cst_release(request);
    return of->count;
}

static long aggregate(growth *of, const char *group) {
    cst_fetch_request *request = growth_request(of->employee);
    const cst_string name = host_text(group ? group : "");
    cst_rows *rows;
    if (group) MUST(cst_fetch_request_set_group_by(request, 1, &name, &host_error));
    measure_begin();
    MUST(cst_context_aggregate(of->context, request, CST_AGGREGATE_SUM, host_text("salary"), &rows, &host_error));
    measure_stop();
    cst_release(rows);
    cst_release(request);
    return of->count;
}

static long sum(growth *of) { return aggregate(of, NULL); }

static long group(growth *of) { return aggregate(of, "department"); }

/* Explains a request, for which SQLite prepares a statement. */
static long explain(growth *of) {
    cst_fetch_request *request = growth_request(of->employee);
    cst_buffer text = {0};
    growth_set_predicate(request, "department.name == 'x' AND age > 40", NULL);
    measure_begin();
    for (long i = 0; i < REPEATS; i++)
        MUST(cst_context_explain(of->context, request, CST_EXPLAIN_TEXT, &text, &host_error));
    measure_stop();
    cst_buffer_dispose(&text);
    cst_release(request);
    return REPEATS;
}

/* Fires the fault of each object by its ID, in an order that differs from that of the rows, and keeps the objects. */
static long fault(growth *of) {
    cst_object **objects = malloc((size_t)of->count * sizeof *objects);
    measure_begin();
    for (long i = 0; i < of->count; i++) {
        cst_object_id *id = growth_id(of, i * 7919 % of->count);
        cst_object *object;
        MUST(cst_context_object_with_id(of->context, id, &object, &host_error));
        growth_salary(of, object);
        cst_release(id);
        objects[i] = object;
    }
    measure_stop();
    for (long i = 0; i < of->count; i++)
        cst_release(objects[i]);
    free(objects);
    return of->count;
}

/* Looks up each object by its ID while all objects are in the context. */
static long look_up(growth *of) {
    measure_begin();
    for (long i = 0; i < of->count; i++) {
        cst_object_id *id = growth_id(of, i * 7919 % of->count);
        cst_object *object;
        MUST(cst_context_existing_object(of->context, id, &object, &host_error));
        cst_release(object);
        MUST(cst_context_registered_object(of->context, id, &object, &host_error));
        cst_release(object);
        cst_release(id);
    }
    measure_stop();
    return of->count;
}

/* Fetches all objects in a query generation that is pinned before they change. */
static long generation(growth *of) {
    cst_context *pinned;
    cst_query_generation *current;
    MUST(cst_context_new(of->coordinator, CST_QUEUE_CALLER, &pinned, &host_error));
    MUST(cst_coordinator_query_generation(of->coordinator, &current, &host_error));
    MUST(cst_context_set_query_generation(pinned, current, &host_error));
    growth_change_all(of);
    growth_save(of->context);
    measure_begin();
    cst_results *results = growth_load_in(of, pinned);
    measure_stop();
    EXPECT(growth_salary(of, growth_at(results, 0)) > 0);
    cst_release(results);
    cst_release(current);
    cst_release(pinned);
    return of->count;
}

const growth_operation fetch_operations[] = {
    {"fetch", 0, fetch},
    {"fetch_read", 0, fetch_read},
    {"fetch_again", GROWTH_LOADED, fetch_again},
    {"fetch_sorted", 0, fetch_sorted},
    {"fetch_prefetched", 0, fetch_prefetched},
    {"fetch_members", 0, fetch_members},
    {"fetch_unsaved", GROWTH_LOADED, fetch_unsaved},
    {"fetch_in", 0, fetch_in},
    {"fetch_one", GROWTH_LOADED, fetch_one},
    {"fetch_ids", 0, fetch_ids},
    {"fetch_rows", 0, fetch_rows},
    {"fetch_arrow", 0, fetch_arrow},
    {"fetch_lazy", 0, fetch_lazy},
    {"cursor", 0, cursor},
    {"count", 0, count},
    {"sum", 0, sum},
    {"group", 0, group},
    {"explain", 0, explain},
    {"fault", 0, fault},
    {"look_up", GROWTH_LOADED, look_up},
    {"generation", GROWTH_LOADED | GROWTH_WRITES, generation},
    {NULL, 0, NULL},
};
