/* Calls on contexts and objects.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reentrancy.h"

#include <stdio.h>
#include <string.h>

static cst_context *context(void) { return some(SLOT_CONTEXT); }
static cst_object *object(void) { return some(SLOT_OBJECT); }
static cst_key to_many(void) { return one_in(2) ? world.kids : world.friends; }
static cst_entity *entity(void) { return one_in(2) ? world.person : world.employee; }

static cst_key any_key(void) {
    const cst_key keys[] = {world.name, world.age,    world.mark, world.blob,
                            world.kids, world.parent, CST_NO_KEY, world.friend_of};
    return keys[below(8)];
}

static cst_value name_value(void) {
    static char names[60][8];
    size_t number = below(60);
    snprintf(names[number], sizeof names[number], "n%zu", number);
    return value_text(names[number]);
}

static cst_value value_for(cst_key key) {
    if (one_in(6)) return value_null();
    if (key == world.name) return name_value();
    if (key == world.mark) return one_in(3) ? value_int(4) : host_value();
    if (key == world.parent) return value_object(object());
    return value_int((int64_t)below(5));
}

static size_t some_objects(cst_object **objects, size_t capacity) {
    size_t count = below(capacity + 1);
    for (size_t i = 0; i < count; i++)
        objects[i] = object();
    return count;
}

/* ---- contexts ---- */

static void save_it(cst_error **error) { cst_context_save(context(), error); }
static void rollback(cst_error **error) { cst_context_rollback(context(), error); }
static void reset(cst_error **error) { cst_context_reset(context(), error); }
static void process(cst_error **error) { cst_context_process_pending_changes(context(), error); }
static void validate_all(cst_error **error) { cst_context_validate(context(), error); }
static void refresh_all(cst_error **error) { cst_context_refresh_all(context(), error); }
static void undo(cst_error **error) { cst_context_undo(context(), error); }
static void redo(cst_error **error) { cst_context_redo(context(), error); }

static void insert(cst_error **error) {
    cst_object *made = NULL;
    if (cst_context_insert(context(), entity(), &made, error) != CST_OK) return;
    const cst_value name = name_value();
    cst_object_set(made, world.name, &name, NULL);
    keep(SLOT_OBJECT, made);
}

static void insert_many(cst_error **error) {
    const cst_key keys[] = {world.name, world.age};
    const cst_value values[] = {name_value(), value_for(world.age), name_value(), value_for(world.age)};
    cst_object *made[2] = {NULL, NULL};
    cst_context_insert_many(context(), entity(), 2, 2, keys, values, made, error);
    keep(SLOT_OBJECT, made[0]);
    keep(SLOT_OBJECT, made[1]);
}

static void keep_unattached(cst_object *made) {
    world.unattached[world.unattached_count++] = cst_retain(made);
    keep(SLOT_OBJECT, made);
}

static void new_object(cst_error **error) {
    cst_object *made = NULL;
    /* It belongs to its thread, and no other thread could undo its relationships. */
    if (!is_main_thread()) return;
    if (world.unattached_count == UNATTACHED || cst_object_new(entity(), &made, error) != CST_OK) return;
    keep_unattached(made);
}

/* A context that only the host's handle of an object retains. */
static void lone_context(cst_error **error) {
    cst_context *made = NULL;
    cst_object *child = NULL, *parent = NULL;
    if (cst_context_new(some(SLOT_COORDINATOR), CST_QUEUE_CALLER, &made, error) != CST_OK) return;
    cst_context_set_user_info(made, ticket_new(), ticket_destroy, NULL);
    cst_context_insert(made, entity(), &child, NULL);
    cst_context_insert(made, entity(), &parent, NULL);
    const cst_value target = value_object(parent);
    cst_value borrowed = value_null();
    cst_object_set(child, world.parent, &target, NULL);
    if (cst_object_get(child, world.parent, &borrowed, NULL) == CST_OK && borrowed.type == CST_OBJECT)
        world.borrowed[below(BORROWED)] = borrowed.as.object;
    cst_release(parent);
    keep(SLOT_OBJECT, child);
    cst_release(made);
}

/* Borrowed handles are used as long as they may be, and longer. */
static void use_borrowed(cst_error **error) {
    cst_object **place = &world.borrowed[below(BORROWED)];
    cst_context *its_context = NULL;
    cst_value value = value_null();
    switch (below(3)) {
    case 0:
        if (cst_object_get(object(), world.parent, &value, error) == CST_OK && value.type == CST_OBJECT)
            *place = value.as.object;
        break;
    case 1:
        keep(SLOT_OBJECT, cst_retain(*place));
        break;
    default:
        cst_object_get(*place, any_key(), &value, error);
        if (cst_object_context(*place, &its_context, NULL) == CST_OK && one_in(2))
            keep(SLOT_CONTEXT, cst_retain(its_context));
        break;
    }
}

static void insert_object(cst_error **error) { cst_context_insert_object(context(), object(), error); }
static void delete (cst_error **error) { cst_context_delete(context(), object(), error); }
static void assign(cst_error **error) { cst_context_assign(context(), object(), some(SLOT_STORE), error); }

static void obtain_ids(cst_error **error) {
    cst_object *objects[3];
    size_t count = some_objects(objects, 3);
    cst_context_obtain_permanent_ids(context(), count, objects, error);
}

static void changed(cst_error **error) {
    cst_results *results = NULL;
    bool changes = false;
    uint64_t count = 0;
    cst_context_copy_changed(context(), 1 + (uint32_t)below(4), &results, error);
    cst_context_changed_count(context(), 1 + (uint32_t)below(4), &count, NULL);
    cst_context_has_changes(context(), &changes, NULL);
    keep(SLOT_RESULTS, results);
}

static void by_id(cst_error **error) {
    cst_object *found = NULL;
    cst_object_id *id = some(SLOT_ID);
    switch (below(3)) {
    case 0:
        cst_context_object_with_id(context(), id, &found, error);
        break;
    case 1:
        cst_context_existing_object(context(), id, &found, error);
        break;
    default:
        cst_context_registered_object(context(), id, &found, error);
        break;
    }
    keep(SLOT_OBJECT, found);
}

static void merge_changes(cst_error **error) {
    const cst_object_id *ids[] = {some(SLOT_ID), some(SLOT_ID), some(SLOT_ID)};
    cst_context_merge_changes(context(), below(2), ids, below(2), ids + 1, below(2), ids + 2, error);
}

static void merge_remote_changes(cst_error **error) {
    cst_buffer uri = {0};
    if (cst_object_id_copy_uri(some(SLOT_ID), &uri, error) == CST_OK) {
        const cst_string uris[] = {text_of_size(uri.data, uri.size)};
        size_t which = below(3);
        cst_context_merge_remote_changes(context(), which == 0, uris, which == 1, uris, which == 2, uris, error);
    }
    cst_buffer_dispose(&uri);
}

static void merges(cst_error **error) { cst_context_set_automatically_merges(context(), one_in(2), error); }

static void tracking(cst_error **error) {
    if (one_in(2))
        cst_context_disable_tracking(context(), error);
    else
        cst_context_enable_tracking(context(), error);
}

static void options(cst_error **error) {
    cst_context_set_option(context(), 1 + (uint32_t)below(8), (int64_t)below(4), error);
    cst_context_set_name(context(), name_value().as.string, NULL);
    cst_context_set_transaction_author(context(), text("somebody"), NULL);
}

static void user_info(cst_error **error) {
    if (cst_context_set_user_info(context(), ticket_new(), ticket_destroy, error) == CST_OK) {
        cst_context *other = context();
        ticket_use(cst_context_user_info(other));
    }
}

static void call_sites(cst_error **error) {
    cst_buffer report = {0};
    if (one_in(2))
        cst_context_set_call_site_finder(context(), on_call_site, ticket_new(), ticket_destroy, error);
    else
        cst_context_set_call_site_finder(context(), NULL, NULL, NULL, error);
    cst_context_copy_fault_report(context(), (uint32_t)below(2), &report, NULL);
    cst_buffer_dispose(&report);
}

static void inaccessible(cst_error **error) {
    if (one_in(3))
        cst_context_set_inaccessible_fault_handler(context(), NULL, NULL, NULL, error);
    else
        cst_context_set_inaccessible_fault_handler(context(), on_inaccessible, ticket_new(), ticket_destroy, error);
}

static void interrupts(cst_error **error) {
    if (!world.is_timed) return;
    if (one_in(2))
        cst_context_set_interrupt(context(), NULL, NULL, NULL, error);
    else
        cst_context_set_interrupt(context(), on_interrupt, ticket_new(), ticket_destroy, error);
}

static void generation(cst_error **error) {
    cst_query_generation *made = NULL;
    if (one_in(3))
        cst_query_generation_current(&made, error);
    else
        cst_coordinator_query_generation(some(SLOT_COORDINATOR), &made, error);
    keep(SLOT_GENERATION, made);
    cst_context_set_query_generation(context(), some(SLOT_GENERATION), NULL);
}

static void policy(cst_error **error) {
    cst_merge_policy *made = NULL;
    cst_merge_policy_new((int32_t)below(5), one_in(3) ? NULL : on_resolve, ticket_new(), ticket_destroy, &made, error);
    cst_context_set_merge_policy(context(), one_in(5) ? NULL : made, NULL);
    keep(SLOT_POLICY, made);
}

static void resolve(cst_error **error) {
    cst_value value = value_null();
    cst_conflict *conflict = world.conflicts[below(CONFLICTS)];
    cst_conflict_value(conflict, (int32_t)below(5), 0, text("age"), &value, NULL);
    cst_conflict_resolve(conflict, (int32_t)below(5), error);
}

static void detect_conflicts(cst_error **error) { cst_context_detect_conflicts(context(), object(), error); }

static void new_context(cst_error **error) {
    static const cst_queue queues[] = {CST_QUEUE_CALLER, CST_QUEUE_CALLER, CST_QUEUE_MAIN, CST_QUEUE_PRIVATE};
    cst_context *made = NULL;
    cst_queue queue = queues[below(4)];
    if (one_in(3))
        cst_context_new(some(SLOT_COORDINATOR), queue, &made, error);
    else
        cst_context_new_child(context(), queue, &made, error);
    keep(SLOT_CONTEXT, made);
}

static void close_context(cst_error **error) {
    cst_context *closed = cst_retain(context());
    if (cst_context_close(closed, (uint32_t)below(3), error) == CST_OK && !one_in(4)) replace_context(closed);
    cst_release(closed);
}

/* ---- undo ---- */

static void undo_manager(cst_error **error) {
    cst_undo_manager *manager = some(SLOT_UNDO);
    switch (below(10)) {
    case 0: {
        cst_undo_manager *made = NULL;
        cst_undo_manager_new(&made, error);
        keep(SLOT_UNDO, made);
        break;
    }
    case 1:
        cst_undo_manager_undo(manager, error);
        break;
    case 2:
        cst_undo_manager_redo(manager, error);
        break;
    case 3:
        cst_undo_manager_undo_nested(manager, error);
        break;
    case 4:
        cst_undo_manager_remove_all(manager, error);
        break;
    case 5:
        cst_undo_manager_remove_target(manager, object(), error);
        break;
    case 6:
        cst_undo_manager_set_levels(manager, below(4), error);
        break;
    case 7:
        cst_undo_manager_set_groups_by_event(manager, one_in(2), error);
        break;
    case 8:
        if (one_in(2))
            cst_undo_manager_disable(manager, error);
        else
            cst_undo_manager_enable(manager, error);
        break;
    default:
        cst_undo_manager_set_action_name(manager, text("step"), error);
        break;
    }
}

static void begin_group(cst_error **error) { cst_undo_manager_begin_group(some(SLOT_UNDO), error); }
static void end_group(cst_error **error) { cst_undo_manager_end_group(some(SLOT_UNDO), error); }

static void undo_action(cst_error **error) {
    cst_undo_manager_register(some(SLOT_UNDO), one_in(2) ? object() : NULL, on_undo_action, ticket_new(),
                              ticket_destroy, error);
}

static void set_undo_manager(cst_error **error) {
    cst_context_set_undo_manager(context(), one_in(3) ? NULL : some(SLOT_UNDO), error);
}

/* ---- objects ---- */

static void set_value(cst_error **error) {
    const cst_key keys[] = {world.name, world.age, world.age, world.parent, world.mark};
    cst_key key = keys[below(5)];
    const cst_value value = value_for(key);
    if (one_in(8))
        cst_object_set_primitive(object(), key, &value, error);
    else
        cst_object_set(object(), key, &value, error);
}

static void set_many(cst_error **error) {
    const cst_key keys[] = {world.name, world.age, world.parent};
    const cst_value values[] = {value_for(keys[0]), value_for(keys[1]), value_for(keys[2])};
    cst_object_set_many(object(), 1 + below(3), keys, values, error);
}

static void get_value(cst_error **error) {
    cst_value value = value_null();
    switch (below(4)) {
    case 0:
        cst_object_get_committed(object(), any_key(), &value, error);
        break;
    case 1:
        cst_object_get_primitive(object(), any_key(), &value, error);
        break;
    default:
        cst_object_get(object(), any_key(), &value, error);
        break;
    }
    if (value.type == CST_OBJECT && one_in(3)) keep(SLOT_OBJECT, cst_retain(value.as.object));
}

static void get_many(cst_error **error) {
    const cst_key keys[] = {world.name, world.parent, world.age};
    cst_value values[3];
    cst_object_get_many(object(), 3, keys, values, error);
}

static void paths(cst_error **error) {
    static const char *const known[] = {"parent.name", "kids.@count", "parent.parent.age", "friends.name",
                                        "mark.number"};
    cst_value value = value_int((int64_t)below(9));
    if (one_in(3)) {
        cst_object_set_path(object(), text(one_in(2) ? "age" : "parent.age"), &value, error);
        return;
    }
    cst_object_get_path(object(), text(known[below(5)]), &value, error);
}

static void copy_path(cst_error **error) {
    cst_value value = one_in(3) ? host_value() : value_object(object()), copy = value_null();
    cst_value_copy_at_key_path(&value, text(value.type == CST_HOST ? "number" : "kids.age"), &copy, error);
    cst_value_dispose(&copy);
}

static void add_member(cst_error **error) { cst_object_add_member(object(), to_many(), object(), error); }
static void remove_member(cst_error **error) { cst_object_remove_member(object(), to_many(), object(), error); }

static void set_members(cst_error **error) {
    cst_object *objects[5];
    size_t count = some_objects(objects, 5);
    switch (below(4)) {
    case 0:
        cst_object_add_members(object(), to_many(), count, objects, error);
        break;
    case 1:
        cst_object_insert_member(object(), to_many(), below(3), object(), error);
        break;
    default:
        cst_object_set_members(object(), to_many(), count, objects, error);
        break;
    }
}

static void members(cst_error **error) {
    cst_results *results = NULL;
    size_t count = 0;
    bool has = false;
    cst_object_member_count(object(), to_many(), &count, NULL);
    cst_object_has_member(object(), to_many(), object(), &has, NULL);
    if (one_in(2))
        cst_object_copy_members(object(), to_many(), &results, error);
    else
        cst_object_copy_related_ids(object(), to_many(), &results, error);
    keep(SLOT_RESULTS, results);
}

static void namesakes(cst_error **error) {
    cst_results *results = NULL;
    cst_object_copy_fetched(object(), text("namesakes"), &results, error);
    keep(SLOT_RESULTS, results);
}

static void copy_values(cst_error **error) {
    cst_rows *rows = NULL;
    const cst_key keys[] = {world.name, world.age};
    cst_object_copy_values(object(), 1 + (uint32_t)below(3), below(3), keys, &rows, error);
    keep(SLOT_ROWS, rows);
}

static void will_change(cst_error **error) {
    cst_object *changing = cst_retain(object());
    if (cst_object_will_change(changing, world.age, error) == CST_OK) cst_object_did_change(changing, world.age, NULL);
    if (cst_object_will_access(changing, world.age, NULL) == CST_OK) cst_object_did_access(changing, world.age, NULL);
    cst_release(changing);
}

static void transformed(cst_error **error) {
    if (one_in(3)) {
        void *value = NULL;
        long long before = calls_made();
        /* If a callback of this call set another value, the returned one is already freed. */
        if (cst_object_get_transformed(object(), world.blob, &value, error) == CST_OK && value &&
            calls_made() == before)
            thing_use(value);
        return;
    }
    /* The host keeps a value that could not be set. */
    void *value = thing_new();
    if (cst_object_set_transformed(object(), world.blob, value, error) != CST_OK) thing_free(value);
}

static void bytes(cst_error **error) {
    cst_buffer buffer = {0};
    cst_object_copy_bytes(object(), world.blob, &buffer, error);
    cst_buffer_dispose(&buffer);
}

static void validate(cst_error **error) {
    cst_value given = value_for(world.age), corrected = value_null();
    if (one_in(2))
        cst_object_validate(object(), 1 + (uint32_t)below(3), error);
    else if (cst_object_validate_value(object(), world.age, &given, &corrected, error) == CST_OK)
        cst_value_dispose(&corrected);
}

static void refresh(cst_error **error) { cst_object_refresh(object(), one_in(2), error); }

static void copy_id(cst_error **error) {
    cst_object_id *id = NULL;
    cst_object_copy_id(object(), &id, error);
    keep(SLOT_ID, id);
}

static void clone(cst_error **error) {
    bool keeps_unique = one_in(2);
    size_t depth = below(3);
    cst_object *source = object(), *made = NULL;
    /* The clone of an object without a context has no context either, and the objects behind it have no handle to
     * undo their relationships. */
    bool is_outside = is_unattached(source);
    if (is_outside && world.unattached_count == UNATTACHED) return;
    if (cst_object_clone(source, is_outside ? 0 : depth, 0, NULL, keeps_unique, &made, error) != CST_OK) return;
    if (is_outside)
        keep_unattached(made);
    else
        keep(SLOT_OBJECT, made);
}

static void read_state(cst_error **error) {
    uint32_t flags = 0;
    bool is = false;
    cst_object_state(object(), &flags, error);
    cst_object_is_changed(object(), any_key(), &is, NULL);
    cst_object_has_persistent_changes(object(), &is, NULL);
    cst_object_has_relationship_fault(object(), to_many(), &is, NULL);
}

static void accessors(cst_error **error) {
    cst_function function = NULL;
    switch (below(5)) {
    case 0:
        if (cst_entity_accessor(world.person, text("age"), CST_ACCESSOR_GET, &function, error) == CST_OK)
            ((int64_t (*)(const cst_object *, cst_error **))function)(object(), error);
        break;
    case 1:
        if (cst_entity_accessor(world.person, text("age"), CST_ACCESSOR_SET, &function, error) == CST_OK)
            ((cst_status (*)(cst_object *, int64_t, cst_error **))function)(object(), (int64_t)below(9), error);
        break;
    case 2:
        if (cst_entity_accessor(world.person, text("parent"), CST_ACCESSOR_SET, &function, error) == CST_OK)
            ((cst_status (*)(cst_object *, cst_object *, cst_error **))function)(object(), object(), error);
        break;
    case 3:
        if (cst_entity_accessor(world.person, text("kids"), CST_ACCESSOR_GET, &function, error) == CST_OK)
            keep(SLOT_RESULTS, ((cst_results * (*)(const cst_object *, cst_error **)) function)(object(), error));
        break;
    default:
        if (cst_entity_accessor(world.person, text("friends"), CST_ACCESSOR_ADD, &function, error) == CST_OK)
            ((cst_status (*)(cst_object *, cst_object *, cst_error **))function)(object(), object(), error);
        break;
    }
}

static void give_up_object(cst_error **error) {
    (void)error;
    drop(SLOT_OBJECT);
}

/* The last handle of anything: of a context, a controller, a results list that is in use, too. */
static void give_up(cst_error **error) {
    (void)error;
    enum slot slot = (enum slot)below(SLOT_COUNT);
    if ((slot == SLOT_CONTEXT || slot == SLOT_COORDINATOR) && !one_in(3)) return;
    if (slot == SLOT_MODEL && (world.keeps_model || !one_in(3))) return;
    drop(slot);
}

const struct act graph_acts[] = {
    {"save", 6, save_it},
    {"rollback", 2, rollback},
    {"reset", 1, reset},
    {"process_pending_changes", 2, process},
    {"validate_context", 1, validate_all},
    {"refresh_all", 2, refresh_all},
    {"undo", 2, undo},
    {"redo", 2, redo},
    {"insert", 8, insert},
    {"insert_many", 1, insert_many},
    {"new_object", 1, new_object},
    {"lone_context", 1, lone_context},
    {"use_borrowed", 2, use_borrowed},
    {"insert_object", 2, insert_object},
    {"delete", 4, delete},
    {"assign", 1, assign},
    {"obtain_ids", 1, obtain_ids},
    {"changed", 1, changed},
    {"by_id", 2, by_id},
    {"merge_changes", 2, merge_changes},
    {"merge_remote_changes", 1, merge_remote_changes},
    {"merges", 1, merges},
    {"tracking", 1, tracking},
    {"options", 1, options},
    {"user_info", 1, user_info},
    {"call_sites", 2, call_sites},
    {"inaccessible", 2, inaccessible},
    {"interrupts", 2, interrupts},
    {"generation", 1, generation},
    {"policy", 2, policy},
    {"resolve", 1, resolve},
    {"detect_conflicts", 1, detect_conflicts},
    {"new_context", 1, new_context},
    {"close_context", 2, close_context},
    {"undo_manager", 2, undo_manager},
    {"begin_group", 1, begin_group},
    {"end_group", 1, end_group},
    {"undo_action", 2, undo_action},
    {"set_undo_manager", 1, set_undo_manager},
    {"set_value", 7, set_value},
    {"set_many", 2, set_many},
    {"get_value", 4, get_value},
    {"get_many", 1, get_many},
    {"paths", 2, paths},
    {"copy_path", 1, copy_path},
    {"add_member", 2, add_member},
    {"remove_member", 1, remove_member},
    {"set_members", 2, set_members},
    {"members", 2, members},
    {"namesakes", 1, namesakes},
    {"copy_values", 1, copy_values},
    {"will_change", 1, will_change},
    {"transformed", 3, transformed},
    {"bytes", 1, bytes},
    {"validate", 2, validate},
    {"refresh", 3, refresh},
    {"copy_id", 2, copy_id},
    {"clone", 1, clone},
    {"read_state", 1, read_state},
    {"accessors", 2, accessors},
    {"give_up_object", 1, give_up_object},
    {"give_up", 2, give_up},
};
const size_t graph_act_count = sizeof graph_acts / sizeof *graph_acts;
