/* The world of a seed: a model with hooks, a store of some type, contexts, and slots for all handles; and its
 * release.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reentrancy.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct world world;

/* How many of each there are at most. */
static const size_t places[SLOT_COUNT] = {
    [SLOT_OBJECT] = PLACES, [SLOT_OBSERVATION] = 24, [SLOT_RESULTS] = 8, [SLOT_ID] = 8,           [SLOT_CONTEXT] = 5,
    [SLOT_COORDINATOR] = 1, [SLOT_STORE] = 2,        [SLOT_REQUEST] = 3, [SLOT_PREDICATE] = 3,    [SLOT_EXPRESSION] = 2,
    [SLOT_CONTROLLER] = 2,  [SLOT_CURSOR] = 2,       [SLOT_ROWS] = 2,    [SLOT_SNAPSHOT] = 2,     [SLOT_GENERATION] = 2,
    [SLOT_POLICY] = 2,      [SLOT_UNDO] = 2,         [SLOT_BATCH] = 2,   [SLOT_ASYNCHRONOUS] = 2, [SLOT_DOCUMENT] = 1,
    [SLOT_CONTAINER] = 1,   [SLOT_ERROR] = 2,        [SLOT_MODEL] = 1,
};

void *some(enum slot slot) {
    size_t first = below(places[slot]);
    if (one_in(20)) return world.held[slot][first];
    for (size_t i = 0; i < places[slot]; i++) {
        void *handle = world.held[slot][(first + i) % places[slot]];
        if (handle) return handle;
    }
    return NULL;
}

bool is_unattached(cst_object *object) {
    cst_context *context = NULL;
    return cst_object_context(object, &context, NULL) == CST_NOT_FOUND;
}

/* Objects without a context retain each other: a cycle of them would leak. */
static void untie(cst_object *object) {
    const cst_value nothing = {CST_NULL, 0, {0}};
    if (!is_unattached(object)) return;
    cst_object_set_primitive(object, world.parent, &nothing, NULL);
    cst_object_set_primitive_members(object, world.kids, 0, NULL, NULL);
    cst_object_set_primitive_members(object, world.friends, 0, NULL, NULL);
    cst_object_set_primitive_members(object, world.friend_of, 0, NULL, NULL);
}

static void let_go(enum slot slot, void *handle) {
    if (!handle) return;
    if (slot == SLOT_OBJECT) untie(handle);
    /* Blocks on the queue of a locked context would wait forever. */
    while (slot == SLOT_CONTEXT && cst_context_unlock(handle, NULL) == CST_OK)
        ;
    cst_release(handle);
}

void keep(enum slot slot, void *handle) {
    if (!handle) return;
    void **place = &world.held[slot][below(places[slot])], *former = *place;
    *place = handle;
    let_go(slot, former);
}

void drop(enum slot slot) {
    void **place = &world.held[slot][below(places[slot])], *former = *place;
    *place = NULL;
    let_go(slot, former);
}

const char *path_of(const char *name, size_t number) {
    /* Several, because the call that uses a path may make further calls. */
    static char paths[16][500];
    static size_t turn;
    char *path = paths[turn++ % 16];
    snprintf(path, sizeof paths[0], "%s/%s%zu", world.folder, name, number);
    return path;
}

void remove_store(const char *path) {
    static const char *const tails[] = {"", "-wal", "-shm", "-journal"};
    char name[520];
    for (size_t i = 0; i < 4; i++) {
        snprintf(name, sizeof name, "%s%s", path, tails[i]);
        remove(name);
    }
}

static void remove_files(void) {
    static const char *const names[] = {"store", "backup", "document", "container"};
    for (size_t i = 0; i < 4; i++) {
        for (size_t n = 0; n < 4; n++)
            remove_store(path_of(names[i], n));
    }
    for (size_t n = 0; n < OLDER; n++)
        remove_store(path_of("older", n));
}

/* ---- the model ---- */

static cst_relationship *relationship(const char *name, uint32_t flags) {
    cst_relationship *result = NULL;
    cst_entity_add_relationship(world.person, text(name), world.person, flags | CST_PROPERTY_OPTIONAL, &result, NULL);
    return result;
}

static void pair(cst_relationship *one, cst_relationship *other) {
    cst_relationship_set_inverse(one, other, NULL);
    cst_relationship_set_inverse(other, one, NULL);
}

static void add_requests(cst_model *model) {
    cst_fetch_request *request = NULL;
    cst_predicate *predicate = NULL;
    cst_fetch_request_new(world.person, &request, NULL);
    cst_predicate_parse(text("name == $FETCH_SOURCE.name"), 0, NULL, &predicate, NULL);
    cst_fetch_request_set_predicate(request, predicate, NULL);
    cst_entity_add_fetched_property(world.person, text("namesakes"), request, NULL);
    cst_release(predicate);
    predicate = NULL;
    cst_predicate_parse(text("age > $AGE"), 0, NULL, &predicate, NULL);
    cst_fetch_request_set_predicate(request, predicate, NULL);
    cst_model_set_template(model, text("older"), request, NULL);
    cst_release(predicate);
    cst_release(request);
}

static cst_model *make_model(void) {
    const uint32_t optional = CST_PROPERTY_OPTIONAL;
    cst_model *model = NULL;
    cst_attribute *blob = NULL;
    if (cst_model_new(&model, NULL) != CST_OK) return NULL;
    /* Names that are one entity tree in keeper.c. */
    cst_model_add_entity(model, text("Person"), &world.person, NULL);
    cst_model_add_entity(model, text("Employee"), &world.employee, NULL);
    cst_entity_set_parent(world.employee, world.person, NULL);
    cst_entity_add_attribute(world.person, text("name"), CST_ATTRIBUTE_STRING, optional, NULL, NULL);
    cst_entity_add_attribute(world.person, text("age"), CST_ATTRIBUTE_INTEGER_64, optional, NULL, NULL);
    cst_entity_add_attribute(world.person, text("blob"), CST_ATTRIBUTE_TRANSFORMABLE, optional, &blob, NULL);
    if (one_in(3))
        cst_attribute_set_value_class(blob, text("Thing"), NULL);
    else
        cst_attribute_set_transformer_name(blob, text("Things"), NULL);
    cst_entity_add_attribute(world.person, text("mark"), CST_ATTRIBUTE_UNDEFINED, optional | CST_PROPERTY_TRANSIENT,
                             NULL, NULL);
    const uint32_t many = CST_PROPERTY_TO_MANY, ordered = many | CST_PROPERTY_ORDERED;
    cst_relationship *kids = relationship("kids", one_in(2) ? ordered : many);
    pair(relationship("parent", 0), kids);
    cst_relationship_set_delete_rule(kids, (uint32_t)below(4), NULL);
    pair(relationship("friends", one_in(2) ? ordered : many), relationship("friendOf", many));
    if (one_in(3)) cst_entity_add_unique_constraint(world.person, 1, (cst_string[]){text("name")}, NULL);
    add_requests(model);
    cst_lifecycle_hooks hooks = CST_LIFECYCLE_HOOKS_INIT;
    hook_all(&hooks, (unsigned)below(2048));
    cst_entity_set_lifecycle(world.person, &hooks, NULL);
    if (one_in(3))
        cst_entity_add_validator(world.person, text("age"), on_validator, ticket_new(), ticket_destroy, NULL);
    if (one_in(4)) cst_entity_add_validator_function(world.person, text("age"), text("typed"), NULL);
    return model;
}

/* Without later additions: nothing that prevents an inferred mapping, and no hooks. */
static cst_model *make_older(void) {
    cst_model *model = NULL;
    cst_entity *employee = NULL;
    if (cst_model_new(&model, NULL) != CST_OK) return NULL;
    cst_model_add_entity(model, text("Person"), &world.older_person, NULL);
    cst_model_add_entity(model, text("Employee"), &employee, NULL);
    cst_entity_set_parent(employee, world.older_person, NULL);
    cst_entity_add_attribute(world.older_person, text("name"), CST_ATTRIBUTE_STRING, CST_PROPERTY_OPTIONAL, NULL, NULL);
    return model;
}

void write_older(const char *type, const char *path) {
    cst_coordinator *coordinator = NULL;
    cst_context *context = NULL;
    cst_coordinator_new(world.older, &coordinator, NULL);
    cst_coordinator_add_store(coordinator, text(type), text(path), NULL, NULL, NULL);
    cst_context_new(coordinator, CST_QUEUE_CALLER, &context, NULL);
    cst_key key = CST_NO_KEY;
    cst_entity_key(world.older_person, text("name"), &key, NULL);
    for (size_t i = 0; i < 3; i++) {
        static const char *const names[] = {"n1", "n2", "older"};
        const cst_value name = value_text(names[i]);
        cst_object *made = NULL;
        if (cst_context_insert(context, world.older_person, &made, NULL) != CST_OK) continue;
        cst_object_set(made, key, &name, NULL);
        cst_release(made);
    }
    cst_context_save(context, NULL);
    cst_release(context);
    cst_release(coordinator);
}

static void find_keys(void) {
    cst_entity_key(world.person, text("name"), &world.name, NULL);
    cst_entity_key(world.person, text("age"), &world.age, NULL);
    cst_entity_key(world.person, text("blob"), &world.blob, NULL);
    cst_entity_key(world.person, text("mark"), &world.mark, NULL);
    cst_entity_key(world.person, text("parent"), &world.parent, NULL);
    cst_entity_key(world.person, text("kids"), &world.kids, NULL);
    cst_entity_key(world.person, text("friends"), &world.friends, NULL);
    cst_entity_key(world.person, text("friendOf"), &world.friend_of, NULL);
    stores_know_keys();
}

/* ---- registrations of the process ---- */

static void know(void) {
    cst_transformer_callbacks things = transformer();
    cst_transformer_register(text("Things"), &things, NULL);
    cst_archive_class_callbacks class = archive_class();
    cst_archive_register_class(text("Thing"), &class, NULL);
    cst_function_register(text("fz"), on_function, ticket_new(), ticket_destroy, NULL);
    cst_function_register_typed(text("typed"), text("q(q)"), (cst_function)on_typed_function, NULL);
    stores_register(false, NULL);
    stores_register(true, NULL);
}

static void forget(void) {
    cst_log_set_callback(NULL, NULL, NULL, NULL);
    cst_log_set_sql_detail(0, NULL);
    cst_transformer_unregister(text("Things"), NULL);
    cst_archive_unregister_class(text("Thing"), NULL);
    cst_function_unregister(text("fz"), NULL);
    cst_function_unregister(text("typed"), NULL);
    cst_store_type_unregister(text("Shelf"), NULL);
    cst_store_type_unregister(text("Crate"), NULL);
}

/* ---- beginning and end ---- */

static void open_contexts(cst_coordinator *coordinator) {
    static const cst_queue queues[] = {CST_QUEUE_CALLER, CST_QUEUE_CALLER, CST_QUEUE_PRIVATE, CST_QUEUE_MAIN};
    for (size_t i = 0; i < 4; i++) {
        cst_context *context = NULL, *child = NULL;
        cst_context_new(coordinator, queues[i], &context, NULL);
        world.held[SLOT_CONTEXT][i] = context;
        if (i == 0) cst_context_new_child(context, CST_QUEUE_CALLER, &child, NULL);
        if (i == 0) world.held[SLOT_CONTEXT][4] = child;
        if (one_in(2)) cst_context_set_undo_manager(context, world.held[SLOT_UNDO][0], NULL);
    }
}

static bool is_live(enum slot slot) {
    for (size_t i = 0; i < places[slot]; i++) {
        void *handle = cst_retain(world.held[slot][i]);
        if (!handle) world.held[slot][i] = NULL; /* a callback released it once too often */
        if (handle) return cst_release(handle) == CST_OK;
    }
    return false;
}

void replace_context(cst_context *closed) {
    static const cst_queue queues[] = {CST_QUEUE_CALLER, CST_QUEUE_CALLER, CST_QUEUE_PRIVATE, CST_QUEUE_MAIN};
    for (size_t i = 0; i < places[SLOT_CONTEXT]; i++) {
        cst_context *made = NULL;
        if (!closed || world.held[SLOT_CONTEXT][i] != closed) continue;
        cst_context_new(some(SLOT_COORDINATOR), queues[below(4)], &made, NULL);
        if (world.held[SLOT_CONTEXT][i] == closed) {
            world.held[SLOT_CONTEXT][i] = made;
            let_go(SLOT_CONTEXT, closed);
        } else {
            keep(SLOT_CONTEXT, made); /* a callback was faster */
        }
    }
}

/* Closed handles are kept for a few calls. */
static void replace_closed(void) {
    for (size_t i = 0; i < places[SLOT_CONTEXT]; i++) {
        bool changes = false;
        cst_context *context = world.held[SLOT_CONTEXT][i];
        if (context && cst_context_has_changes(context, &changes, NULL) == CST_E_INVALID_HANDLE && one_in(8))
            replace_context(context);
    }
    cst_coordinator *coordinator = world.held[SLOT_COORDINATOR][0];
    if (!coordinator || coordinator != world.closed || !one_in(8)) return;
    world.held[SLOT_COORDINATOR][0] = NULL;
    world.closed = NULL;
    let_go(SLOT_COORDINATOR, coordinator);
    for (size_t i = 0; i < 3; i++)
        drop(SLOT_CONTEXT);
}

void world_refill(void) {
    static const char *const types[] = {"SQLite", "InMemory", "Shelf"};
    replace_closed();
    if (!is_live(SLOT_COORDINATOR)) {
        cst_coordinator *made = NULL;
        cst_store *store = NULL;
        cst_coordinator_new(some(SLOT_MODEL), &made, NULL);
        cst_coordinator_add_store(made, text(types[below(3)]), text(path_of("store", 1)), NULL, &store, NULL);
        keep(SLOT_COORDINATOR, made);
        keep(SLOT_STORE, store);
    }
    if (!is_live(SLOT_CONTEXT)) {
        cst_context *made = NULL;
        cst_context_new(some(SLOT_COORDINATOR), CST_QUEUE_CALLER, &made, NULL);
        keep(SLOT_CONTEXT, made);
    }
    if (!is_live(SLOT_REQUEST)) {
        cst_fetch_request *made = NULL;
        cst_fetch_request_new(world.person, &made, NULL);
        keep(SLOT_REQUEST, made);
    }
}

bool world_open(uint64_t seed, const char *folder) {
    static const char *const types[] = {"SQLite", "SQLite", "SQLite", "XML", "Binary", "InMemory", "Shelf", "Crate"};
    memset(&world, 0, sizeof world);
    world.seed = seed;
    world.is_timed = one_in(4);
    world.keeps_model = !one_in(8);
    snprintf(world.folder, sizeof world.folder, "%s", folder);
    remove_files();
    know();
    cst_model *model = make_model();
    world.held[SLOT_MODEL][0] = model;
    world.older = make_older();
    cst_coordinator *coordinator = NULL;
    cst_coordinator_new(model, &coordinator, NULL);
    world.held[SLOT_COORDINATOR][0] = coordinator;
    find_keys();
    cst_store *store = NULL;
    cst_store_options options = CST_STORE_OPTIONS_INIT;
    options.flags = CST_STORE_NORMAL_SYNC | (one_in(5) ? CST_STORE_HISTORY : 0);
    const char *type = types[below(8)];
    cst_coordinator_add_store(coordinator, text(type), text(path_of("store", 0)), &options, &store, NULL);
    world.held[SLOT_STORE][0] = store;
    cst_undo_manager *undo = NULL;
    cst_undo_manager_new(&undo, NULL);
    world.held[SLOT_UNDO][0] = undo;
    open_contexts(coordinator);
    cst_predicate *predicate = NULL, *block = NULL;
    cst_predicate_parse(text("FUNCTION(age, 'fz', name) > 10"), 0, NULL, &predicate, NULL);
    world.held[SLOT_PREDICATE][0] = predicate;
    cst_predicate_new_block(on_predicate_block, ticket_new(), ticket_destroy, &block, NULL);
    world.held[SLOT_PREDICATE][1] = block;
    cst_fetch_request *request = NULL;
    cst_fetch_request_new(world.person, &request, NULL);
    world.held[SLOT_REQUEST][0] = request;
    if (one_in(4)) {
        cst_log_set_callback(on_log, ticket_new(), ticket_destroy, NULL);
        cst_log_set_sql_detail((uint32_t)below(5), NULL);
    }
    return coordinator && request;
}

/* One after the other in random order. Callbacks may meanwhile fill a slot that was emptied. */
void let_all_go(void) {
    struct {
        enum slot slot;
        size_t place;
    } all[SLOT_COUNT * PLACES];
    size_t count = 0;
    for (size_t slot = 0; slot < SLOT_COUNT; slot++) {
        for (size_t place = 0; place < places[slot]; place++) {
            size_t other = below(++count);
            all[count - 1].slot = all[other].slot;
            all[count - 1].place = all[other].place;
            all[other].slot = (enum slot)slot;
            all[other].place = place;
        }
    }
    for (size_t i = 0; i < count; i++) {
        void **place = &world.held[all[i].slot][all[i].place], *handle = *place;
        *place = NULL;
        let_go(all[i].slot, handle);
    }
    for (size_t i = 0; i < world.unattached_count; i++)
        untie(world.unattached[i]);
    while (world.unattached_count > 0)
        cst_release(world.unattached[--world.unattached_count]);
    for (size_t i = 0; i < LOCKS; i++) {
        cst_context *locked = world.locked[i];
        world.locked[i] = NULL;
        let_go(SLOT_CONTEXT, locked);
    }
    for (size_t i = 0; i < STREAMS; i++) {
        if (!world.stream_used[i] && world.streams[i].release) world.streams[i].release(&world.streams[i]);
    }
}

void world_close(bool with_calls) {
    /* All objects first: relationships between objects of a destroyed context could not be undone any more. */
    if (!with_calls) set_budget(0);
    for (int round = 0; round < 4; round++) {
        let_all_go();
        cst_main_queue_drain(0, NULL, NULL);
        set_budget(0);
    }
    cst_release(world.older);
    forget();
    remove_files();
}
