/* Operations on relationships, most of them with all employees as members. */
#include <stdlib.h>

#include "growth.h"

/* Inserts an object of an entity without values. The caller releases it. */
static cst_object *insert(const growth *of, const cst_entity *entity) {
    cst_object *object;
    MUST(cst_context_insert(of->context, entity, &object, &host_error));
    return object;
}

static void expect_members(const cst_object *object, cst_key key, long count) {
    size_t members;
    MUST(cst_object_member_count(object, key, &members, &host_error));
    EXPECT((long)members == count);
}

/* Moves each employee to another department, by the to-one relationship. */
static long set_to_one(growth *of) {
    cst_object *department = insert(of, of->department);
    const cst_value value = cst_value_object(department);
    measure_begin();
    for (long i = 0; i < of->count; i++)
        MUST(cst_object_set(of->objects[i], of->in_department, &value, &host_error));
    growth_process(of->context);
    measure_stop();
    expect_members(department, of->employees, of->count);
    cst_release(department);
    return of->count;
}

/* Moves each member of the loaded pool to a new one, one by one. */
static long move_member(growth *of) {
    cst_object *former = growth_only(of, of->pool), *pool = insert(of, of->pool);
    expect_members(former, of->members, of->count);
    measure_begin();
    for (long i = 0; i < of->count; i++)
        MUST(cst_object_add_member(pool, of->members, of->objects[i], &host_error));
    growth_process(of->context);
    measure_stop();
    expect_members(pool, of->members, of->count);
    expect_members(former, of->members, 0);
    cst_release(former);
    cst_release(pool);
    return of->count;
}

static long add_members(growth *of) {
    cst_object *pool = insert(of, of->pool);
    measure_begin();
    MUST(cst_object_add_members(pool, of->members, (size_t)of->count, of->objects, &host_error));
    growth_process(of->context);
    measure_stop();
    expect_members(pool, of->members, of->count);
    cst_release(pool);
    return of->count;
}

/* Replaces all members by every second one. */
static long set_members(growth *of) {
    cst_object *pool = growth_only(of, of->pool);
    expect_members(pool, of->members, of->count);
    for (long i = 0; i < of->count / 2; i++)
        of->objects[i] = of->objects[2 * i];
    measure_begin();
    MUST(cst_object_set_members(pool, of->members, (size_t)of->count / 2, of->objects, &host_error));
    growth_process(of->context);
    measure_stop();
    expect_members(pool, of->members, of->count / 2);
    cst_release(pool);
    return of->count;
}

static long remove_member(growth *of) {
    cst_object *pool = growth_only(of, of->pool);
    expect_members(pool, of->members, of->count);
    measure_begin();
    for (long i = 0; i < of->count; i++)
        MUST(cst_object_remove_member(pool, of->members, of->objects[i], &host_error));
    growth_process(of->context);
    measure_stop();
    expect_members(pool, of->members, 0);
    cst_release(pool);
    return of->count;
}

static long has_member(growth *of) {
    cst_object *pool = growth_only(of, of->pool);
    expect_members(pool, of->members, of->count);
    bool contained;
    measure_begin();
    for (long i = 0; i < of->count; i++)
        MUST(cst_object_has_member(pool, of->members, of->objects[i], &contained, &host_error));
    measure_stop();
    EXPECT(contained);
    cst_release(pool);
    return of->count;
}

static long copy_members(growth *of, const cst_entity *entity, cst_key key) {
    cst_object *owner = growth_only(of, entity);
    cst_results *members;
    measure_begin();
    MUST(cst_object_copy_members(owner, key, &members, &host_error));
    for (long i = 0; i < of->count; i++)
        growth_salary(of, growth_at(members, i));
    measure_stop();
    cst_release(members);
    cst_release(owner);
    return of->count;
}

/* Reads the members of a relationship and their values from the store. */
static long read_members(growth *of) { return copy_members(of, of->pool, of->members); }

static long read_ordered(growth *of) { return copy_members(of, of->list, of->entries); }

static long append_ordered(growth *of) {
    cst_object *list = insert(of, of->list);
    measure_begin();
    for (long i = 0; i < of->count; i++)
        MUST(cst_object_add_member(list, of->entries, of->objects[i], &host_error));
    growth_process(of->context);
    measure_stop();
    expect_members(list, of->entries, of->count);
    cst_release(list);
    return of->count;
}

/* Inserts single members at the beginning of a loaded ordered relationship. */
static long insert_ordered(growth *of) {
    cst_object *list = growth_only(of, of->list);
    expect_members(list, of->entries, of->count);
    measure_begin();
    for (long i = 0; i < REPEATS; i++) {
        cst_object *member = growth_insert(of, of->context, i);
        MUST(cst_object_insert_member(list, of->entries, 0, member, &host_error));
        cst_release(member);
    }
    growth_process(of->context);
    measure_stop();
    expect_members(list, of->entries, of->count + REPEATS);
    cst_release(list);
    return REPEATS;
}

/* Moves members within a loaded ordered relationship, from the end to the beginning, and saves once. */
static long move_ordered(growth *of) {
    cst_object *list = growth_only(of, of->list);
    expect_members(list, of->entries, of->count);
    measure_begin();
    for (long i = 1; i <= REPEATS / 2; i++)
        MUST(cst_object_insert_member(list, of->entries, 0, of->objects[of->count - i], &host_error));
    growth_save(of->context);
    measure_stop();
    cst_release(list);
    return of->count;
}

static long related_ids(growth *of) {
    cst_object *pool = growth_only(of, of->pool);
    cst_results *ids;
    measure_begin();
    MUST(cst_object_copy_related_ids(pool, of->members, &ids, &host_error));
    measure_stop();
    EXPECT((long)cst_results_count(ids) == of->count);
    cst_release(ids);
    cst_release(pool);
    return of->count;
}

/* Computes aggregates over the members in memory. */
static long collect(growth *of) {
    cst_object *pool = growth_only(of, of->pool);
    expect_members(pool, of->members, of->count);
    const cst_value of_pool = cst_value_object(pool);
    cst_value sum, names;
    measure_begin();
    MUST(cst_object_get_path(pool, host_text("members.@sum.salary"), &sum, &host_error));
    MUST(cst_value_copy_at_key_path(&of_pool, host_text("members.@distinctUnionOfObjects.name"), &names, &host_error));
    measure_stop();
    EXPECT((long)names.as.values.size == of->count);
    cst_value_dispose(&names);
    cst_release(pool);
    return of->count;
}

const growth_operation relationship_operations[] = {
    {"set_to_one", GROWTH_LOADED, set_to_one},
    {"move_member", GROWTH_LOADED, move_member},
    {"add_members", GROWTH_LOADED, add_members},
    {"set_members", GROWTH_LOADED, set_members},
    {"remove_member", GROWTH_LOADED, remove_member},
    {"has_member", GROWTH_LOADED, has_member},
    {"read_members", 0, read_members},
    {"read_ordered", 0, read_ordered},
    {"append_ordered", GROWTH_LOADED, append_ordered},
    {"insert_ordered", GROWTH_LOADED, insert_ordered},
    {"move_ordered", GROWTH_LOADED | GROWTH_WRITES, move_ordered},
    {"related_ids", 0, related_ids},
    {"collect", GROWTH_LOADED, collect},
    {NULL, 0, NULL},
};
