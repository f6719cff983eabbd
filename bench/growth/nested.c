/* Operations of several contexts: children, merges, conflicts. */
#include <stdlib.h>

#include "growth.h"

static cst_context *new_context(const growth *of) {
    cst_context *context;
    MUST(cst_context_new(of->coordinator, CST_QUEUE_CALLER, &context, &host_error));
    return context;
}

static cst_context *new_child(const growth *of) {
    cst_context *context;
    MUST(cst_context_new_child(of->context, CST_QUEUE_CALLER, &context, &host_error));
    return context;
}

static long child_fetch(growth *of) {
    cst_context *child = new_child(of);
    measure_begin();
    cst_results *results = growth_load_in(of, child);
    measure_stop();
    cst_release(results);
    cst_release(child);
    return of->count;
}

/* Passes changes of all objects to the parent. */
static long child_save(growth *of) {
    cst_context *child = new_child(of);
    cst_results *results = growth_load_in(of, child);
    for (long i = 0; i < of->count; i++)
        growth_change(of, growth_at(results, i), i);
    measure_begin();
    growth_save(child);
    measure_stop();
    cst_release(results);
    cst_release(child);
    return of->count;
}

static long child_insert(growth *of) {
    cst_context *child = new_child(of);
    growth_insert_all(of, child);
    measure_begin();
    growth_save(child);
    measure_stop();
    cst_release(child);
    return of->count;
}

/* Saves single changes of a child while both contexts contain all objects, which have unsaved changes in the parent. */
static long child_save_one(growth *of) {
    growth_change_all(of);
    growth_process(of->context);
    cst_context *child = new_child(of);
    cst_results *results = growth_load_in(of, child);
    measure_begin();
    for (long i = 0; i < REPEATS; i++) {
        growth_change(of, growth_at(results, i % of->count), i + 1);
        growth_save(child);
    }
    measure_stop();
    cst_release(results);
    cst_release(child);
    return REPEATS;
}

/* Merges the save of all objects into a context that contains all of them. */
static long merge(growth *of) {
    cst_context *other = new_context(of);
    cst_results *results = growth_load_in(of, other);
    growth_change_all(of);
    MUST(cst_context_set_automatically_merges(other, true, &host_error));
    growth_save(of->context);
    measure_begin();
    growth_process(other);
    const double merged = growth_salary(of, growth_at(results, of->count - 1));
    measure_stop();
    EXPECT(merged < 0);
    cst_release(results);
    cst_release(other);
    return of->count;
}

/* Merges the deletion of all objects into a context that contains them, and looks up each of them. */
static long merge_deleted(growth *of) {
    cst_context *other = new_context(of);
    cst_results *results = growth_load_in(of, other);
    MUST(cst_context_set_automatically_merges(other, true, &host_error));
    for (long i = 0; i < of->count; i++)
        MUST(cst_context_delete(of->context, of->objects[i], &host_error));
    growth_save(of->context);
    measure_begin();
    growth_process(other);
    for (long i = 0; i < of->count; i++) {
        cst_object_id *id = growth_id(of, i);
        cst_object *object;
        MUST(cst_context_registered_object(other, id, &object, &host_error));
        cst_release(object);
        cst_release(id);
    }
    measure_stop();
    cst_release(results);
    cst_release(other);
    return of->count;
}

/* Merges saves of single changes into a context that contains all objects. */
static long merge_one(growth *of) {
    cst_context *other = new_context(of);
    cst_results *results = growth_load_in(of, other);
    MUST(cst_context_set_automatically_merges(other, true, &host_error));
    measure_begin();
    for (long i = 0; i < REPEATS; i++) {
        growth_change(of, of->objects[i % of->count], i);
        growth_save(of->context);
        growth_process(other);
    }
    measure_stop();
    cst_release(results);
    cst_release(other);
    return REPEATS;
}

/* Merges changes by the IDs of all objects, a third each as inserted, updated and deleted. */
static long merge_ids(growth *of) {
    cst_object_id **ids = malloc((size_t)of->count * sizeof *ids);
    for (long i = 0; i < of->count; i++)
        ids[i] = growth_id(of, i);
    const size_t third = (size_t)of->count / 3;
    const cst_object_id *const *all = (const cst_object_id *const *)ids;
    measure_begin();
    MUST(cst_context_merge_changes(of->context, third, all, third, all + third, third, all + 2 * third, &host_error));
    growth_process(of->context);
    measure_stop();
    for (long i = 0; i < of->count; i++)
        cst_release(ids[i]);
    free(ids);
    return of->count;
}

/* Saves changes of all objects, each of which another context changed too, with a merge policy. */
static long conflicts(growth *of) {
    cst_context *other = new_context(of);
    cst_results *results = growth_load_in(of, other);
    for (long i = 0; i < of->count; i++)
        growth_change(of, growth_at(results, i), i + 1);
    growth_change_all(of);
    growth_save(of->context);
    cst_merge_policy *policy;
    MUST(cst_merge_policy_new(CST_MERGE_OBJECT_TRUMP, NULL, NULL, NULL, &policy, &host_error));
    MUST(cst_context_set_merge_policy(other, policy, &host_error));
    measure_begin();
    growth_save(other);
    measure_stop();
    cst_release(policy);
    cst_release(results);
    cst_release(other);
    return of->count;
}

/* Saves objects with unique values that stored objects have too, with a merge policy. */
static long upsert(growth *of) {
    growth_insert_badges(of, of->context);
    growth_save(of->context);
    cst_context *other = new_context(of);
    growth_insert_badges(of, other);
    cst_merge_policy *policy;
    MUST(cst_merge_policy_new(CST_MERGE_OBJECT_TRUMP, NULL, NULL, NULL, &policy, &host_error));
    MUST(cst_context_set_merge_policy(other, policy, &host_error));
    measure_begin();
    growth_save(other);
    measure_stop();
    cst_fetch_request *request = growth_request(of->badge);
    uint64_t count;
    MUST(cst_context_count(other, request, &count, &host_error));
    EXPECT((long)count == of->count);
    cst_release(request);
    cst_release(policy);
    cst_release(other);
    return of->count;
}

const growth_operation nested_operations[] = {
    {"child_fetch", GROWTH_LOADED, child_fetch},
    {"child_save", GROWTH_LOADED, child_save},
    {"child_insert", GROWTH_EMPTY, child_insert},
    {"child_save_one", GROWTH_LOADED, child_save_one},
    {"merge", GROWTH_LOADED | GROWTH_WRITES, merge},
    {"merge_one", GROWTH_LOADED | GROWTH_WRITES, merge_one},
    {"merge_deleted", GROWTH_LOADED | GROWTH_WRITES, merge_deleted},
    {"merge_ids", GROWTH_LOADED, merge_ids},
    {"conflicts", GROWTH_LOADED | GROWTH_WRITES, conflicts},
    {"upsert", GROWTH_EMPTY, upsert},
    {NULL, 0, NULL},
};
