/* Operations on objects in memory. */
#include <stdlib.h>

#include "growth.h"

/* Inserts all objects and keeps their handles. */
static long insert_kept(growth *of, bool saves) {
    cst_object **objects = malloc((size_t)of->count * sizeof *objects);
    measure_begin();
    for (long i = 0; i < of->count; i++)
        objects[i] = growth_insert(of, of->context, i);
    if (saves) growth_save(of->context);
    measure_stop();
    for (long i = 0; i < of->count; i++)
        cst_release(objects[i]);
    free(objects);
    return of->count;
}

static long insert(growth *of) { return insert_kept(of, false); }

static long insert_and_save(growth *of) { return insert_kept(of, true); }

static long insert_many(growth *of) {
    enum { ROWS = 100 };
    static char text[ROWS][96];
    static cst_value values[ROWS][ATTRIBUTES];
    cst_key keys[ATTRIBUTES];
    growth_keys(of, keys);
    measure_begin();
    for (long first = 0; first < of->count; first += ROWS) {
        for (long i = 0; i < ROWS; i++)
            growth_values(first + i, text[i], values[i]);
        MUST(cst_context_insert_many(of->context, of->employee, ROWS, ATTRIBUTES, keys, values[0], NULL, &host_error));
    }
    measure_stop();
    return of->count;
}

static long get(growth *of) {
    cst_key keys[ATTRIBUTES];
    cst_value value;
    growth_keys(of, keys);
    measure_begin();
    for (long i = 0; i < of->count; i++)
        for (int key = 0; key < ATTRIBUTES; key++)
            MUST(cst_object_get(of->objects[i], keys[key], &value, &host_error));
    measure_stop();
    return of->count;
}

static long get_many(growth *of) {
    cst_key keys[ATTRIBUTES];
    cst_value values[ATTRIBUTES];
    growth_keys(of, keys);
    measure_begin();
    for (long i = 0; i < of->count; i++)
        MUST(cst_object_get_many(of->objects[i], ATTRIBUTES, keys, values, &host_error));
    measure_stop();
    return of->count;
}

static long get_path(growth *of) {
    cst_value value;
    measure_begin();
    for (long i = 0; i < of->count; i++)
        MUST(cst_object_get_path(of->objects[i], host_text("department.name"), &value, &host_error));
    measure_stop();
    return of->count;
}

static long set(growth *of) {
    measure_begin();
    growth_change_all(of);
    measure_stop();
    return of->count;
}

static long set_path(growth *of) {
    const cst_value value = cst_value_string(host_text("another@corp.test"));
    measure_begin();
    for (long i = 0; i < of->count; i++)
        MUST(cst_object_set_path(of->objects[i], host_text("email"), &value, &host_error));
    measure_stop();
    return of->count;
}

static long copy_values(growth *of) {
    growth_change_all(of);
    measure_begin();
    for (long i = 0; i < of->count; i++) {
        cst_rows *rows;
        MUST(cst_object_copy_values(of->objects[i], CST_VALUES_CHANGED, 0, NULL, &rows, &host_error));
        cst_release(rows);
    }
    measure_stop();
    return of->count;
}

static long delete_all(growth *of) {
    measure_begin();
    for (long i = 0; i < of->count; i++)
        MUST(cst_context_delete(of->context, of->objects[i], &host_error));
    growth_process(of->context);
    measure_stop();
    return of->count;
}

/* Deletes the list, which deletes its entries. */
static long delete_cascade(growth *of) {
    cst_object *list = growth_only(of, of->list);
    uint64_t deleted;
    measure_begin();
    MUST(cst_context_delete(of->context, list, &host_error));
    growth_process(of->context);
    measure_stop();
    MUST(cst_context_changed_count(of->context, CST_CHANGED_DELETED, &deleted, &host_error));
    EXPECT((long)deleted == of->count + 1);
    cst_release(list);
    return of->count;
}

/* Deletes the pool, which leaves its members without a pool. */
static long delete_nullify(growth *of) {
    cst_object *pool = growth_only(of, of->pool);
    measure_begin();
    MUST(cst_context_delete(of->context, pool, &host_error));
    growth_process(of->context);
    measure_stop();
    cst_release(pool);
    return of->count;
}

/* Clones the pool with its members. */
static long clone(growth *of) {
    cst_object *pool = growth_only(of, of->pool), *clone;
    const cst_string members = host_text("members");
    size_t count;
    measure_begin();
    MUST(cst_object_clone(pool, 1, 1, &members, true, &clone, &host_error));
    measure_stop();
    MUST(cst_object_member_count(clone, of->members, &count, &host_error));
    EXPECT((long)count == of->count);
    cst_release(clone);
    cst_release(pool);
    return of->count;
}

static long validate(growth *of) {
    growth_insert_all(of, of->context);
    measure_begin();
    MUST(cst_context_validate(of->context, &host_error));
    measure_stop();
    return of->count;
}

static long obtain_ids(growth *of) {
    growth_insert_all(of, of->context);
    cst_results *inserted;
    MUST(cst_context_copy_changed(of->context, CST_CHANGED_INSERTED, &inserted, &host_error));
    cst_object **objects = malloc((size_t)of->count * sizeof *objects);
    size_t got;
    MUST(cst_results_get_objects(inserted, 0, (size_t)of->count, objects, &got, &host_error));
    measure_begin();
    MUST(cst_context_obtain_permanent_ids(of->context, got, objects, &host_error));
    measure_stop();
    free(objects);
    cst_release(inserted);
    return of->count;
}

static void ignore_change(void *userdata, cst_object *object, const cst_value_change *change) {
    (void)object, (void)change;
    ++*(long *)userdata;
}

/* Observes a property of each object, changes it, and cancels the observations. */
static long observe(growth *of) {
    cst_observation **observations = malloc((size_t)of->count * sizeof *observations);
    long calls = 0;
    measure_begin();
    for (long i = 0; i < of->count; i++)
        MUST(cst_object_observe(of->objects[i], host_text("salary"), 0, ignore_change, &calls, NULL, &observations[i],
                                &host_error));
    growth_change_all(of);
    for (long i = 0; i < of->count; i++)
        cst_release(observations[i]);
    measure_stop();
    EXPECT(calls == of->count);
    free(observations);
    return of->count;
}

const growth_operation object_operations[] = {
    {"insert", GROWTH_EMPTY, insert},
    {"insert_and_save", GROWTH_EMPTY, insert_and_save},
    {"insert_many", GROWTH_EMPTY, insert_many},
    {"get", GROWTH_LOADED, get},
    {"get_many", GROWTH_LOADED, get_many},
    {"get_path", GROWTH_LOADED, get_path},
    {"set", GROWTH_LOADED, set},
    {"set_path", GROWTH_LOADED, set_path},
    {"copy_values", GROWTH_LOADED, copy_values},
    {"delete", GROWTH_LOADED, delete_all},
    {"delete_cascade", GROWTH_LOADED, delete_cascade},
    {"delete_nullify", GROWTH_LOADED, delete_nullify},
    {"clone", GROWTH_LOADED, clone},
    {"validate", GROWTH_EMPTY, validate},
    {"obtain_ids", GROWTH_EMPTY, obtain_ids},
    {"observe", GROWTH_LOADED, observe},
    {NULL, 0, NULL},
};
