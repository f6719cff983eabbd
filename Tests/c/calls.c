/* SPDX-License-Identifier: MIT */
#include "calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct result result_of_nothing(void) {
    struct result result;
    memset(&result, 0, sizeof result);
    return result;
}

static struct result result_of_status(cst_status status) {
    struct result result = result_of_nothing();
    result.status = status;
    return result;
}

static struct result result_of_number(int64_t number) {
    struct result result = result_of_nothing();
    result.number = number;
    return result;
}

static struct result result_of_pointer(const void *pointer) {
    struct result result = result_of_nothing();
    result.pointer = (void *)(uintptr_t)pointer;
    return result;
}

static struct result result_of_string(cst_string string) {
    struct result result = result_of_nothing();
    result.string = string;
    if (string.data && string.data[string.size] != 0) {
        check_fail(__FILE__, __LINE__, "a returned view is not NUL-terminated");
    }
    return result;
}

/* The table, first as a function per call, which passes it the members of an array of arguments. */
#define RETURN_NOTHING(call) return (call, result_of_nothing())
#define RETURN_STATUS(call) return result_of_status(call)
#define RETURN_STRING(call) return result_of_string(call)
#define RETURN_NUMBER(call) return result_of_number((int64_t)call)
#define RETURN_POINTER(call) return result_of_pointer(call)

#define HANDLE(index, name, type) a[index].pointer
#define TYPED(index, name, kind, type) a[index].pointer
#define OWNED(index, name, kind, type) a[index].pointer
#define NUMBER(index, name, kind) a[index].number
#define POINTER(index, name, kind) a[index].pointer
#define BY_VALUE(index, name, kind, member) a[index].member
#define ERROR(index) a[index].pointer
#define NONE
#define CALL(name, returns, mark, count, parameters)                                                                   \
    static struct result invoke_##name(const union argument *a) {                                                      \
        (void)a;                                                                                                       \
        RETURN_##returns(name parameters);                                                                             \
    }
#include "calls.inc"
#undef HANDLE
#undef TYPED
#undef OWNED
#undef NUMBER
#undef POINTER
#undef BY_VALUE
#undef ERROR
#undef NONE
#undef CALL

/* Then as the descriptions of the calls. */
#define HANDLE(index, name, type) {#name, KIND_HANDLE, TYPE_##type, false}
#define TYPED(index, name, kind, type) {#name, KIND_##kind, TYPE_##type, false}
#define OWNED(index, name, kind, type) {#name, KIND_##kind, TYPE_##type, true}
#define NUMBER(index, name, kind) {#name, KIND_##kind, TYPE_NONE, false}
#define POINTER(index, name, kind) {#name, KIND_##kind, TYPE_NONE, false}
#define BY_VALUE(index, name, kind, member) {#name, KIND_##kind, TYPE_NONE, false}
#define ERROR(index) {"error", KIND_ERROR, TYPE_ERROR, false}
#define NONE {NULL, KIND_SCALAR, TYPE_NONE, false}
#define LIST(...) {__VA_ARGS__}
#define CALL(name, returns, mark, count, parameters)                                                                   \
    {#name, invoke_##name, RETURNS_##returns, MARK_##mark, count, LIST parameters},

const struct call calls[] = {
#include "calls.inc"
};
const size_t call_count = sizeof calls / sizeof calls[0];

_Atomic int destroy_count;

void count_destroy(void *userdata) {
    (void)userdata;
    destroy_count++;
}

static cst_status do_nothing(void *userdata, cst_context *context, cst_error **error) {
    (void)userdata, (void)context, (void)error;
    return CST_OK;
}

static void hear_end(void *userdata, cst_context *context, cst_status status, const cst_error *error) {
    (void)userdata, (void)context, (void)status, (void)error;
}

static void hear_context(void *userdata, cst_context *context, uint32_t notification, const cst_changes *changes) {
    (void)userdata, (void)context, (void)notification, (void)changes;
}

static void hear_coordinator(void *userdata, cst_coordinator *coordinator, uint32_t notification,
                             const cst_store_changes *changes) {
    (void)userdata, (void)coordinator, (void)notification, (void)changes;
}

static void hear_object(void *userdata, cst_object *object, const cst_value_change *change) {
    (void)userdata, (void)object, (void)change;
}

static cst_status accept(void *userdata, cst_object *object, uint32_t purpose, cst_value *value, cst_error **error) {
    (void)userdata, (void)object, (void)purpose, (void)value, (void)error;
    return CST_OK;
}

static cst_status settle_nothing(void *userdata, cst_context *context, size_t count, cst_conflict *const *conflicts,
                                 cst_error **error) {
    (void)userdata, (void)context, (void)count, (void)conflicts, (void)error;
    return CST_OK;
}

static void read_line(void *userdata, cst_string line) { (void)userdata, (void)line; }

static bool go_on(void *userdata) {
    (void)userdata;
    return false;
}

static uint32_t nowhere(void *userdata, cst_buffer *out_file) {
    (void)userdata, (void)out_file;
    return 0;
}

static void hear_load(void *userdata, size_t index, cst_string path, cst_store *store, cst_error *error) {
    (void)userdata, (void)index, (void)path, (void)store, (void)error;
}

static void hear_records(void *userdata, cst_string records, size_t count) {
    (void)userdata, (void)records, (void)count;
}

static void hear_failure(void *userdata, const cst_error *error) { (void)userdata, (void)error; }

static void hear_document(void *userdata, uint32_t flags) { (void)userdata, (void)flags; }

static bool go_further(void *userdata, uint64_t done, uint64_t total) {
    (void)userdata;
    return done <= total;
}

static bool go_on_deleting(void *userdata, uint64_t transactions, uint64_t changes) {
    (void)userdata;
    return transactions <= changes;
}

static cst_status hear_history(void *userdata, cst_history_cursor *cursor, const cst_history_transaction *transaction,
                               cst_error **error) {
    (void)userdata, (void)cursor, (void)transaction, (void)error;
    return CST_OK;
}

static void hear_end_of_history(void *userdata, const cst_error *error) { (void)userdata, (void)error; }

static cst_status take(void *userdata, cst_object *fault, cst_object_id *id, cst_string property, bool *out_handled,
                       cst_error **error) {
    (void)userdata, (void)fault, (void)id, (void)property, (void)error;
    *out_handled = true;
    return CST_OK;
}

static cst_status agree(void *userdata, const cst_value *value, const cst_value *variables, bool *out_result,
                        cst_error **error) {
    (void)userdata, (void)value, (void)variables, (void)error;
    *out_result = true;
    return CST_OK;
}

static cst_status compute(void *userdata, const cst_value *value, size_t count, const cst_value *arguments,
                          const cst_value *variables, cst_value *out_value, cst_error **error) {
    (void)userdata, (void)value, (void)count, (void)arguments, (void)variables, (void)error;
    *out_value = value_int(1);
    return CST_OK;
}

static cst_status compare(void *userdata, size_t sort, const cst_value *a, const cst_value *b, int32_t *out_order,
                          cst_error **error) {
    (void)userdata, (void)sort, (void)a, (void)b, (void)error;
    *out_order = 0;
    return CST_OK;
}

static cst_status call_function(void *userdata, const cst_value *receiver, size_t count, const cst_value *arguments,
                                cst_value *out_value, cst_error **error) {
    (void)userdata, (void)receiver, (void)count, (void)arguments, (void)error;
    *out_value = value_int(1);
    return CST_OK;
}

static cst_status no_rows(void *userdata, size_t capacity, cst_value *values, size_t *out_rows, cst_error **error) {
    (void)userdata, (void)capacity, (void)values, (void)out_rows, (void)error;
    return CST_OK;
}

static cst_status no_object(void *userdata, cst_object *object, bool *out_stop, cst_error **error) {
    (void)userdata, (void)object, (void)error;
    *out_stop = true;
    return CST_OK;
}

static void plain_function(void) {}

static void hear_undo(void *userdata, cst_undo_manager *manager, uint32_t notification) {
    (void)userdata, (void)manager, (void)notification;
}

static void hear_fetch(void *userdata, cst_asynchronous_fetch *fetch) { (void)userdata, (void)fetch; }

/* Runs the completion of a fetch of a main-queue context. */
static void wait_for(const cst_asynchronous_fetch *fetch) {
    uint64_t completed = 0, total = 0;
    while (cst_asynchronous_fetch_progress(fetch, &completed, &total, NULL) == CST_OK)
        if (cst_main_queue_drain(20, NULL, NULL) < 0) return;
}

static void hear_difference(void *userdata, cst_context *context, const cst_difference *difference) {
    (void)userdata, (void)context, (void)difference;
}

static cst_status name_section(void *userdata, cst_object *object, cst_value *out_name, cst_error **error) {
    (void)userdata, (void)object, (void)out_name, (void)error;
    return CST_OK;
}

static void see_change(void *userdata, cst_controller *controller) { (void)userdata, (void)controller; }

static cst_status undo_nothing(void *userdata, cst_error **error) {
    (void)userdata, (void)error;
    return CST_OK;
}

static cst_status transform(void *userdata, const void *value, cst_buffer *out_bytes, cst_error **error) {
    (void)userdata, (void)value;
    return cst_buffer_fill(out_bytes, (cst_bytes){(const uint8_t *)"blob", 4}, error);
}

static cst_status reverse(void *userdata, cst_bytes bytes, void **out_value, cst_error **error) {
    static int value;
    (void)userdata, (void)bytes, (void)error;
    *out_value = &value;
    return CST_OK;
}

static const cst_transformer_callbacks transformer = {sizeof transformer, transform, reverse, NULL, NULL, NULL};

/* A registered store type of which no store is ever added. */
static cst_status open_nothing(void *userdata, const cst_store_opening *opening, void **out_store,
                               cst_buffer *out_metadata, cst_error **error) {
    (void)userdata, (void)opening, (void)out_store, (void)out_metadata, (void)error;
    return CST_NOT_FOUND;
}

static cst_status fetch_nothing(void *store, const cst_store_fetch *fetch, cst_row_sink *sink, uint32_t *out_done,
                                uint64_t *out_count, cst_error **error) {
    (void)store, (void)fetch, (void)sink, (void)out_done, (void)out_count, (void)error;
    return CST_OK;
}

static cst_status read_nothing(void *store, size_t count, const cst_row *rows, cst_row_sink *sink, cst_error **error) {
    (void)store, (void)count, (void)rows, (void)sink, (void)error;
    return CST_OK;
}

static cst_status to_fields(void *userdata, const void *value, cst_buffer *out_json, cst_error **error) {
    (void)userdata, (void)value;
    return cst_buffer_fill(out_json, (cst_bytes){(const uint8_t *)"{\"a\": 1}", 8}, error);
}

static cst_status from_fields(void *userdata, cst_string json, void **out_value, cst_error **error) {
    (void)json;
    return reverse(userdata, (cst_bytes){NULL, 0}, out_value, error);
}

static const cst_archive_class_callbacks archive_class = {
    sizeof archive_class, to_fields, from_fields, NULL, NULL, NULL};

static cst_status see(void *userdata, cst_object *object, cst_error **error) {
    (void)userdata, (void)object, (void)error;
    return CST_OK;
}

static cst_status migrate_nothing(void *userdata, cst_context *context, cst_error **error) {
    (void)userdata, (void)context, (void)error;
    return CST_OK;
}

static cst_status transform_nothing(void *userdata, cst_context *old_context, cst_context *new_context,
                                    cst_error **error) {
    (void)userdata, (void)old_context, (void)new_context, (void)error;
    return CST_OK;
}

static cst_status begin_nothing(void *instance, cst_migration_manager *manager, cst_string mapping, cst_error **error) {
    (void)instance, (void)manager, (void)mapping, (void)error;
    return CST_OK;
}

void world_renew_draft(struct world *world) {
    if (world->draft[TYPE_MODEL]) OK(cst_release(world->draft[TYPE_MODEL]));
    if (world->draft[TYPE_FETCH_REQUEST]) OK(cst_release(world->draft[TYPE_FETCH_REQUEST]));
    cst_model *model = NULL;
    cst_entity *a = NULL, *b = NULL;
    cst_attribute *one = NULL, *two = NULL;
    cst_relationship *there = NULL, *back = NULL;
    cst_fetch_request *request = NULL;
    OK(cst_model_new(&model, E));
    OK(cst_model_add_entity(model, text("A"), &a, E));
    OK(cst_model_add_entity(model, text("B"), &b, E));
    OK(cst_entity_add_attribute(a, text("name"), CST_ATTRIBUTE_STRING, 0, &one, E));
    OK(cst_entity_add_attribute(b, text("label"), CST_ATTRIBUTE_STRING, 0, &two, E));
    OK(cst_entity_add_attribute(b, text("blob"), CST_ATTRIBUTE_TRANSFORMABLE, 0, &world->transformable, E));
    OK(cst_entity_add_attribute(b, text("spot"), CST_ATTRIBUTE_COMPOSITE, 0, &world->composite, E));
    OK(cst_attribute_add_element(world->composite, text("x"), CST_ATTRIBUTE_DOUBLE, 0, NULL, E));
    OK(cst_entity_add_relationship(a, text("toB"), b, CST_PROPERTY_OPTIONAL, &there, E));
    OK(cst_entity_add_relationship(b, text("toA"), a, CST_PROPERTY_OPTIONAL, &back, E));
    OK(cst_fetch_request_new(b, &request, E));
    OK(cst_entity_add_fetched_property(a, text("found"), request, E));
    OK(cst_model_set_template(model, text("all"), request, E));
    world->draft[TYPE_FETCH_REQUEST] = request;
    world->draft[TYPE_MODEL] = model;
    world->draft[TYPE_ENTITY] = a;
    world->second_draft[TYPE_ENTITY] = b;
    world->draft[TYPE_ATTRIBUTE] = one;
    world->second_draft[TYPE_ATTRIBUTE] = two;
    world->draft[TYPE_RELATIONSHIP] = there;
    world->second_draft[TYPE_RELATIONSHIP] = back;
    world->live[TYPE_ATTRIBUTE] = one;
    world->live[TYPE_RELATIONSHIP] = there;
}

static const char small_mapping[] = "<database><object type='XDDEVMAPPINGMODEL' id='z1'/></database>";
static const char small_model[] = "<model><entity name='A'/></model>";

static cst_bytes bytes_of(const char *words) { return (cst_bytes){(const uint8_t *)words, strlen(words)}; }

/* A conflict over an object that another context saves twice, so that it has its former values again. */
static void *conflict_of(const struct company *c, cst_object *object) {
    cst_context *other = company_context(c, CST_QUEUE_CALLER);
    cst_object_id *id = NULL;
    cst_object *same = NULL;
    OK(cst_object_copy_id(object, &id, E));
    OK(cst_context_object_with_id(other, id, &same, E));
    set(same, c->name, value_text("another"));
    save(other);
    set(same, c->name, get(object, c->name));
    save(other);
    set(object, c->name, get(object, c->name));
    cst_error *error = NULL;
    CHECK_STATUS(CST_E_CONFLICT, cst_context_save(c->context, &error));
    void *conflict = cst_retain((void *)(uintptr_t)cst_error_conflict_at(error, 0));
    CHECK(conflict != NULL);
    cst_release(error);
    OK(cst_object_refresh(object, false, E));
    cst_release(same);
    cst_release(id);
    cst_release(other);
    return conflict;
}

/* Rows that are read lazily, and therefore belong to a queue. */
static cst_rows *lazy_rows(const struct company *c) {
    cst_expression *self = NULL;
    OK(cst_expression_parse(text("SELF"), 0, NULL, &self, E));
    cst_column column = {text("objectID"), self, CST_ATTRIBUTE_UNDEFINED, 0};
    cst_fetch_request *request = NULL;
    cst_rows *rows = NULL;
    OK(cst_fetch_request_new(c->employee, &request, E));
    OK(cst_fetch_request_set_columns(request, 1, &column, E));
    OK(cst_fetch_request_set_option(request, CST_FETCH_BATCH_SIZE, 1, E));
    OK(cst_context_fetch_rows(c->context, request, &rows, E));
    cst_release(request);
    cst_release(self);
    return rows;
}

void world_open(struct world *world, const char *folder) {
    memset(world, 0, sizeof *world);
    snprintf(world->folder, sizeof world->folder, "%s", folder);
    snprintf(world->fresh, sizeof world->fresh, "%.500s/world.sqlite", folder);
    cst_store_options options = CST_STORE_OPTIONS_INIT;
    options.flags = CST_STORE_NORMAL_SYNC | CST_STORE_HISTORY;
    world->company = company_open_with(world->fresh, &options);
    struct company *c = &world->company;
    snprintf(world->model_file, sizeof world->model_file, "%.500s/world.contents", folder);
    check_write(world->model_file, small_model);
    snprintf(world->named_model, sizeof world->named_model, "%.500s/world.xcdatamodel", folder);
    check_write(world->named_model, small_model);
    setenv("CORESTONE_MODEL_PATH", folder, 1);
    setenv("XDG_DATA_HOME", "/tmp", 0);
    snprintf(world->mapping_file, sizeof world->mapping_file, "%.500s/world.xml", folder);
    check_write(world->mapping_file, small_mapping);
    snprintf(world->stages_file, sizeof world->stages_file, "%.500s/world.json", folder);
    snprintf(world->released, sizeof world->released, "%.500s/released", folder);
    cst_buffer version = {NULL, 0, 0};
    char stages_text[200];
    OK(cst_model_copy_checksum(c->model, &version, E));
    snprintf(stages_text, sizeof stages_text, "{\"stages\": [{\"lightweight\": [\"%.100s\"]}]}", version.data);
    check_write(world->stages_file, stages_text);
    cst_buffer_dispose(&version);
    world_renew_draft(world);
    cst_object *ada = company_employee(c, c->context, "Ada", 1), *bob = company_employee(c, c->context, "Bob", 2);
    world->project = company_insert(c, c->context, c->project, c->title, "P");
    OK(cst_object_add_member(ada, c->friends, bob, E));
    OK(cst_object_add_member(world->project, c->reviewers, ada, E));
    save(c->context);
    OK(cst_object_new(c->employee, &world->unattached, E));
    world->private_context = company_context(c, CST_QUEUE_PRIVATE);
    world->to_many = c->friends;
    world->ordered = c->reviewers;

    cst_error *error = NULL;
    OK(cst_error_new_custom(text("App"), 1, text("made for the test"), NULL, NULL, &error));
    cst_object_id *id = NULL, *other_id = NULL;
    OK(cst_object_copy_id(ada, &id, E));
    OK(cst_object_copy_id(bob, &other_id, E));
    OK(cst_object_id_copy_uri(id, &world->uri, E));
    cst_predicate *predicate = NULL;
    OK(cst_predicate_parse(text("name == 'Ada'"), 0, NULL, &predicate, E));
    cst_fetch_request *request = NULL;
    OK(cst_fetch_request_new(c->employee, &request, E));

    world->live[TYPE_ERROR] = error;
    world->live[TYPE_MODEL] = c->model;
    OK(cst_transformer_register(text("CompanyBlob"), &transformer, E));
    OK(cst_entity_key(c->employee, text("blob"), &world->blob, E));
    world->live[TYPE_ENTITY] = c->employee;
    world->live[TYPE_COORDINATOR] = c->coordinator;
    world->live[TYPE_STORE] = c->store;
    world->live[TYPE_CONTEXT] = c->context;
    world->live[TYPE_OBJECT] = ada;
    world->second[TYPE_OBJECT] = bob;
    world->live[TYPE_OBJECT_ID] = id;
    world->second[TYPE_OBJECT_ID] = other_id;
    world->live[TYPE_PREDICATE] = predicate;
    cst_expression *expression = NULL;
    OK(cst_expression_parse(text("name"), 0, NULL, &expression, E));
    world->live[TYPE_EXPRESSION] = expression;
    world->live[TYPE_ROWS] = lazy_rows(c);
    world->live[TYPE_FETCH_REQUEST] = request;
    world->live[TYPE_RESULTS] = company_fetch(c->context, c->employee, NULL, "number");
    cst_cursor *cursor = NULL;
    OK(cst_context_fetch_cursor(c->context, request, 1, &cursor, E));
    world->live[TYPE_CURSOR] = cursor;
    cst_observation *observation = NULL;
    OK(cst_context_observe(c->context, CST_NOTIFICATION_DID_SAVE, hear_context, NULL, NULL, &observation, E));
    world->live[TYPE_OBSERVATION] = observation;
    cst_undo_manager *manager = NULL;
    OK(cst_undo_manager_new(&manager, E));
    world->live[TYPE_UNDO_MANAGER] = manager;
    cst_mapping_model *mapping = NULL;
    OK(cst_mapping_model_load_bytes(bytes_of(small_mapping), &mapping, E));
    world->live[TYPE_MAPPING_MODEL] = mapping;
    cst_merge_policy *policy = NULL;
    OK(cst_merge_policy_new(CST_MERGE_STORE_TRUMP, NULL, NULL, NULL, &policy, E));
    world->live[TYPE_MERGE_POLICY] = policy;
    world->live[TYPE_CONFLICT] = conflict_of(c, bob);
    cst_asynchronous_fetch *fetch = NULL;
    OK(cst_fetch_request_copy_archive(request, &world->archived, E));
    OK(cst_main_queue_bind(E));
    world->main_context = company_context(c, CST_QUEUE_MAIN);
    OK(cst_context_fetch_asynchronously(world->main_context, request, 0, NULL, NULL, NULL, &fetch, E));
    wait_for(fetch);
    world->live[TYPE_ASYNCHRONOUS_FETCH] = fetch;
    cst_query_generation *generation = NULL;
    OK(cst_coordinator_query_generation(c->coordinator, &generation, E));
    world->live[TYPE_QUERY_GENERATION] = generation;
    cst_batch_request *update = NULL;
    cst_value five = value_int(5);
    OK(cst_batch_insert_new(c->employee, &world->insertion, E));
    OK(cst_batch_update_new(c->employee, &update, E));
    OK(cst_batch_update_set(update, text("number"), &five, E));
    world->live[TYPE_BATCH_REQUEST] = update;
    cst_controller *controller = NULL;
    cst_sort by_number = {.key_path = text("number")};
    cst_fetch_request *sorted = NULL;
    OK(cst_fetch_request_copy(request, &sorted, E));
    OK(cst_fetch_request_set_sort(sorted, 1, &by_number, E));
    OK(cst_controller_new(c->context, sorted, text("name"), (cst_string){NULL, 0}, &controller, E));
    OK(cst_controller_perform_fetch(controller, E));
    OK(cst_release(sorted));
    world->live[TYPE_CONTROLLER] = controller;
    cst_snapshot *snapshot = NULL;
    OK(cst_controller_copy_snapshot(controller, &snapshot, E));
    world->live[TYPE_SNAPSHOT] = snapshot;
    cst_container *container = NULL;
    cst_store_description description = CST_STORE_DESCRIPTION_INIT;
    description.type = text("InMemory");
    OK(cst_container_new(text("world"), c->model, NULL, &container, E));
    OK(cst_container_add_description(container, &description, E));
    OK(cst_container_load(container, NULL, NULL, NULL, E));
    world->live[TYPE_CONTAINER] = container;
    cst_document *document = NULL;
    OK(cst_document_new(c->model, text("XML"), CST_QUEUE_PRIVATE, &document, E));
    char saved[700];
    snprintf(saved, sizeof saved, "%.500s/world.document", folder);
    OK(cst_document_save_as(document, (cst_string){NULL, 0}, text(saved), true, E));
    world->live[TYPE_DOCUMENT] = document;
    cst_history_token *token = NULL;
    cst_history_cursor *history = NULL;
    const cst_history_transaction *transaction = NULL;
    OK(cst_coordinator_copy_history_token(c->coordinator, 0, NULL, &token, E));
    world->live[TYPE_HISTORY_TOKEN] = token;
    OK(cst_history_token_copy_json(token, &world->token, E));
    OK(cst_coordinator_fetch_history(c->coordinator, NULL, &history, E));
    OK(cst_history_cursor_next(history, &transaction, E));
    world->live[TYPE_HISTORY_CURSOR] = history;
    cst_revisions *revisions = NULL;
    OK(cst_object_fetch_history(world->live[TYPE_OBJECT], &revisions, E));
    world->live[TYPE_REVISIONS] = revisions;
    cst_migration_manager *migration = NULL;
    cst_model_reference *reference = NULL;
    cst_migration_stages *stages = NULL;
    const cst_string checksum = CST_TEXT("a checksum");
    OK(cst_migration_manager_new(c->model, c->model, &migration, E));
    OK(cst_migration_manager_set_user_info(migration, text("words"), &five, E));
    world->live[TYPE_MIGRATION_MANAGER] = migration;
    OK(cst_model_reference_new(c->model, (cst_string){NULL, 0}, &reference, E));
    world->live[TYPE_MODEL_REFERENCE] = reference;
    OK(cst_migration_stages_new(&stages, E));
    OK(cst_migration_stages_add_lightweight(stages, 1, &checksum, (cst_string){NULL, 0}, E));
    world->live[TYPE_MIGRATION_STAGES] = stages;
    OK(cst_coordinator_register_history_consumer(c->coordinator, c->store, text("reader"), NULL, 0, E));
}

void world_close(struct world *world) {
    cst_log_set_callback(NULL, NULL, NULL, NULL);
    static const enum handle_type owned[] = {TYPE_ERROR,
                                             TYPE_OBJECT,
                                             TYPE_OBJECT_ID,
                                             TYPE_PREDICATE,
                                             TYPE_FETCH_REQUEST,
                                             TYPE_RESULTS,
                                             TYPE_CURSOR,
                                             TYPE_MAPPING_MODEL,
                                             TYPE_EXPRESSION,
                                             TYPE_ROWS,
                                             TYPE_OBSERVATION,
                                             TYPE_UNDO_MANAGER,
                                             TYPE_MERGE_POLICY,
                                             TYPE_CONFLICT,
                                             TYPE_QUERY_GENERATION,
                                             TYPE_ASYNCHRONOUS_FETCH,
                                             TYPE_BATCH_REQUEST,
                                             TYPE_CONTROLLER,
                                             TYPE_SNAPSHOT,
                                             TYPE_CONTAINER,
                                             TYPE_DOCUMENT,
                                             TYPE_HISTORY_TOKEN,
                                             TYPE_HISTORY_CURSOR,
                                             TYPE_REVISIONS,
                                             TYPE_MIGRATION_MANAGER,
                                             TYPE_MODEL_REFERENCE,
                                             TYPE_MIGRATION_STAGES};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        CHECK_STATUS(CST_OK, cst_release(world->live[owned[i]]));
    CHECK_STATUS(CST_OK, cst_release(world->second[TYPE_OBJECT]));
    CHECK_STATUS(CST_OK, cst_release(world->second[TYPE_OBJECT_ID]));
    CHECK_STATUS(CST_OK, cst_release(world->project));
    CHECK_STATUS(CST_OK, cst_release(world->unattached));
    CHECK_STATUS(CST_OK, cst_release(world->unsaved));
    CHECK_STATUS(CST_OK, cst_release(world->private_context));
    CHECK_STATUS(CST_OK, cst_release(world->main_context));
    CHECK_STATUS(CST_OK, cst_release(world->insertion));
    CHECK_STATUS(CST_OK, cst_release(world->draft[TYPE_MODEL]));
    CHECK_STATUS(CST_OK, cst_release(world->draft[TYPE_FETCH_REQUEST]));
    cst_buffer_dispose(&world->uri);
    cst_buffer_dispose(&world->archived);
    cst_buffer_dispose(&world->token);
    remove(world->model_file);
    remove(world->named_model);
    remove(world->mapping_file);
    remove(world->stages_file);
    company_close(&world->company);
}

static bool is(const struct call *call, const char *name) { return strcmp(call->name, name) == 0; }

/* A store for calls that remove one. */
static void renew_store(struct world *world) {
    struct company *c = &world->company;
    cst_store *fresh = NULL;
    snprintf(world->fresh, sizeof world->fresh, "%.500s/fresh%u.sqlite", world->folder, world->names++);
    const cst_status status =
        cst_coordinator_add_store(c->coordinator, text("SQLite"), text(world->fresh), NULL, &fresh, NULL);
    if (status == CST_E_FORKED) return; /* a forked child keeps its handles */
    REQUIRE(status == CST_OK);
    OK(cst_release(c->store));
    world->live[TYPE_STORE] = c->store = fresh;
}

static bool builds_model(const struct call *call) {
    return call->mark == MARK_ONE_THREAD && !strstr(call->name, "cst_fetch_request") &&
           !strstr(call->name, "cst_batch") && !strstr(call->name, "cst_mapping_model");
}

static cst_string string_for(struct world *world, const struct call *call, const struct parameter *parameter) {
    const char *name = parameter->name;
    if (strcmp(name, "source_type") == 0 || strcmp(name, "checksum") == 0) return (cst_string){NULL, 0};
    if (is(call, "cst_document_save_as")) {
        if (strcmp(name, "type") == 0) return (cst_string){NULL, 0};
        snprintf(world->fresh, sizeof world->fresh, "%.500s/fresh%u.xml", world->folder, world->names++);
        return text(world->fresh);
    }
    if (strcmp(name, "path") == 0 &&
        (is(call, "cst_coordinator_add_store") || strstr(call->name, "destroy_store") ||
         strstr(call->name, "manager_migrate_store") || is(call, "cst_coordinator_migrate_store") ||
         strstr(call->name, "replace_store") || strstr(call->name, "restore_store") ||
         strstr(call->name, "backup_store"))) {
        snprintf(world->fresh, sizeof world->fresh, "%.500s/fresh%u.sqlite", world->folder, world->names++);
        /* Of a world that was there before. */
        if (is(call, "cst_coordinator_backup_store") || is(call, "cst_coordinator_restore_store")) remove(world->fresh);
        return text(world->fresh);
    }
    if (is(call, "cst_mapping_model_write")) {
        snprintf(world->fresh, sizeof world->fresh, "%.500s/fresh%u.cdm", world->folder, world->names++);
        return text(world->fresh);
    }
    if (strcmp(name, "target") == 0 || is(call, "cst_model_write")) {
        if (strcmp(name, "version") == 0) return (cst_string){NULL, 0};
        snprintf(world->fresh, sizeof world->fresh, "%.500s/fresh%u.mom", world->folder, world->names++);
        return text(world->fresh);
    }
    if (is(call, "cst_model_merge_folder") && strcmp(name, "path") == 0) return text(world->folder);
    if (is(call, "cst_mapping_model_load")) return text(world->mapping_file);
    if (is(call, "cst_migration_stages_load")) return text(world->stages_file);
    if (is(call, "cst_model_release_keep") && strcmp(name, "folder") == 0) return text(world->released);
    if (strcmp(name, "folder") == 0) return strstr(call->name, "release") ? text(world->folder) : (cst_string){NULL, 0};
    if (strcmp(name, "backup") == 0) return cst_store_path(world->company.store);
    if (is(call, "cst_migration_guard_check"))
        return strcmp(name, "path") == 0 ? text(world->model_file) : (cst_string){NULL, 0};
    if (is(call, "cst_mapping_model_new_from_json")) return text("{\"entityMappings\": []}");
    if (is(call, "cst_mapping_model_write")) {
        snprintf(world->fresh, sizeof world->fresh, "%.500s/fresh%u.cdm", world->folder, world->names++);
        return text(world->fresh);
    }
    if (strcmp(name, "path") == 0 && strstr(call->name, "cst_model")) return text(world->model_file);
    if (strcmp(name, "version") == 0 || strcmp(name, "configuration") == 0 || strstr(call->name, "cst_model_merge"))
        return (cst_string){NULL, 0};
    if (strcmp(name, "store_path") == 0 || strcmp(name, "source_path") == 0)
        return cst_store_path(world->company.store);
    if (strcmp(name, "path") == 0 &&
        (strstr(call->name, "store") || (is(call, "cst_container_open") || is(call, "cst_document_open"))))
        return cst_store_path(world->company.store);
    if (is(call, "cst_entity_set_fetched_request") && strcmp(name, "property") == 0) return text("found");
    if (is(call, "cst_object_copy_fetched") && strcmp(name, "property") == 0) return text("namesakes");
    if (is(call, "cst_model_copy_bound_template")) return text("everybody");
    if (is(call, "cst_model_copy_configuration") || strcmp(name, "profile") == 0) return (cst_string){NULL, 0};
    if (strcmp(name, "path") == 0 || strcmp(name, "property") == 0 || strcmp(name, "key_path") == 0 ||
        is(call, "cst_context_aggregate"))
        return text("name");
    if (is(call, "cst_controller_section_for_title")) return text("A"); /* of the first section, Alice's */
    if (strcmp(name, "filter") == 0 || strcmp(name, "section_key_path") == 0 || strcmp(name, "cache_name") == 0)
        return (cst_string){NULL, 0};
    if (strcmp(name, "json") == 0 && strstr(call->name, "cst_container")) return text("{\"name\": \"Eve\"}");
    if (is(call, "cst_history_token_new")) return text_of_size(world->token.data, world->token.size);
    if (is(call, "cst_mapping_model_new_from_json")) return text("{\"entityMappings\": []}");
    if (strcmp(name, "json") == 0) return text("[1]");
    if (strcmp(name, "store_identifier") == 0) return cst_store_identifier(world->company.store);
    if (is(call, "cst_coordinator_move_history_consumer")) return text("reader");
    if (is(call, "cst_model_new_from_text") || is(call, "cst_model_add_text")) {
        snprintf(world->fresh, sizeof world->fresh, "{\"Fresh%u\": {\"name\": \"string\"}}", world->names++);
        return text(world->fresh);
    }
    if (strcmp(name, "sort") == 0) return text("name");
    if (is(call, "cst_document_new")) return text("XML");
    if (is(call, "cst_container_new")) return text("world");
    if (is(call, "cst_expression_parse")) return text("%@");
    if (strcmp(name, "format") == 0) return text("name == %@");
    if (strcmp(name, "uri") == 0) return text_of_size(world->uri.data, world->uri.size);
    if (strcmp(name, "type") == 0) return text("SQLite");
    if (is(call, "cst_model_entity") || strcmp(name, "entity_name") == 0) return text("Employee");
    if (is(call, "cst_archive_copy_class_kinds")) return text("NSArray");
    if (is(call, "cst_expression_new_function")) return text("uppercase:");
    if (strcmp(name, "signature") == 0) return text("d()");
    if (strcmp(name, "name") == 0) {
        snprintf(world->fresh, sizeof world->fresh, "fresh%u", world->names++);
        return text(world->fresh);
    }
    return text("words");
}

static uint64_t scalar_for(const struct world *world, const struct call *call, const struct parameter *parameter) {
    const char *name = parameter->name;
    if (strcmp(name, "key") == 0) {
        if (is(call, "cst_object_insert_member")) return world->ordered;
        if (strstr(call->name, "transformed")) return world->blob;
        return strstr(call->name, "member") || strstr(call->name, "relat") ? world->to_many : world->company.name;
    }
    if (is(call, "cst_coordinator_open_past_at")) return INT64_MAX; /* the date of now, or later */
    if (is(call, "cst_expression_new_set_operation")) return CST_EXPRESSION_UNION;
    if (is(call, "cst_conflict_resolve")) return CST_MERGE_ERROR;
    if (strcmp(name, "type") == 0) return strstr(call->name, "attribute") ? CST_ATTRIBUTE_STRING : CST_PREDICATE_AND;
    if (strcmp(name, "which") == 0 || strcmp(name, "rule") == 0 || strcmp(name, "maximum") == 0 ||
        strcmp(name, "kind") == 0 || strcmp(name, "mutation") == 0 || strcmp(name, "notification") == 0 ||
        strcmp(name, "option") == 0 || strcmp(name, "aggregate") == 0 || strcmp(name, "change") == 0)
        return 1;
    if (strcmp(name, "purpose") == 0) return CST_VALIDATE_UPDATE;
    if (strcmp(name, "includes") == 0 || strcmp(name, "merge_changes") == 0) return 1;
    return 0;
}

/* An unsaved object: a new one each time, because earlier calls may have saved the last one. On a thread other than
 * that of the context, the last one is used again. */
static cst_object *unsaved_object(struct world *world) {
    cst_context *context = world->live[TYPE_CONTEXT];
    cst_object *fresh = NULL;
    if (cst_context_insert(context, world->company.project, &fresh, NULL) == CST_OK) {
        cst_context_delete(context, world->unsaved, NULL);
        cst_release(world->unsaved);
        world->unsaved = fresh;
    }
    return world->unsaved;
}

/* The call that must precede a cst_object_did_change… */
static void begin_change(struct world *world, const struct call *call) {
    cst_object *object = world->live[TYPE_OBJECT];
    cst_object_will_change(object, strstr(call->name, "member") ? world->to_many : world->company.name, NULL);
}

static void *handle_for(struct world *world, const struct call *call, const struct parameter *parameter, bool again) {
    enum handle_type type = parameter->type;
    if (builds_model(call) && ((type >= TYPE_MODEL && type <= TYPE_RELATIONSHIP) || type == TYPE_FETCH_REQUEST)) {
        if (is(call, "cst_attribute_set_transformer_name")) return world->transformable;
        if (is(call, "cst_attribute_add_element")) return world->composite;
        return again ? world->second_draft[type] : world->draft[type];
    }
    if (is(call, "cst_object_insert_member") && !again) return world->project;
    if (type == TYPE_BATCH_REQUEST && strstr(call->name, "cst_batch_insert")) return world->insertion;
    if (strstr(call->name, "cst_object_did_change") && !again) begin_change(world, call);
    if (is(call, "cst_undo_manager_end_group")) cst_undo_manager_begin_group(world->live[TYPE_UNDO_MANAGER], NULL);
    if (is(call, "cst_undo_manager_enable")) cst_undo_manager_disable(world->live[TYPE_UNDO_MANAGER], NULL);
    if (is(call, "cst_context_assign") && type == TYPE_OBJECT) return unsaved_object(world);
    if (is(call, "cst_context_insert_object") && type == TYPE_OBJECT) return world->unattached;
    if (is(call, "cst_context_fetch_asynchronously") && type == TYPE_CONTEXT) return world->main_context;
    bool performs = strstr(call->name, "perform") || is(call, "cst_context_schedule");
    if (performs && type == TYPE_CONTEXT && call->mark == MARK_ANY_THREAD) return world->private_context;
    if (is(call, "cst_context_unlock")) cst_context_lock(world->live[type], NULL);
    if (is(call, "cst_object_insert_member")) return world->live[TYPE_OBJECT];
    return again && world->second[type] ? world->second[type] : world->live[type];
}

/* Predicates and expressions are evaluated for an employee. */
static cst_value value_for(const struct world *world, const struct call *call) {
    if (is(call, "cst_attribute_set_bounds") || is(call, "cst_store_new_object_id")) return value_int(1);
    bool is_asked = is(call, "cst_predicate_evaluate_value") || is(call, "cst_predicate_filter") ||
                    is(call, "cst_expression_value") || is(call, "cst_value_copy_at_key_path") ||
                    is(call, "cst_sort_values");
    return is_asked ? value_object(world->live[TYPE_OBJECT]) : value_text("Eve");
}

void world_fill(struct world *world, const struct call *call, union argument *arguments, struct storage *storage) {
    static int userdata;
    int seen[TYPE_COUNT] = {0};
    memset(storage, 0, sizeof *storage);
    memset(arguments, 0, sizeof *arguments * MAX_PARAMETERS);
    storage->info.struct_size = sizeof storage->info;
    storage->statistics.struct_size = sizeof storage->statistics;
    storage->stamp.struct_size = sizeof storage->stamp;
    storage->undo_state.struct_size = sizeof storage->undo_state;
    storage->options.struct_size = sizeof storage->options;
    storage->container_options.struct_size = sizeof storage->container_options;
    storage->description = (cst_store_description)CST_STORE_DESCRIPTION_INIT;
    storage->description.type = text("InMemory");
    storage->callbacks = transformer;
    storage->class_callbacks = archive_class;
    storage->hooks = (cst_lifecycle_hooks){.struct_size = sizeof storage->hooks, .will_save = see, .did_save = see};
    storage->store_callbacks = (cst_store_callbacks){.struct_size = sizeof storage->store_callbacks,
                                                     .kind = CST_STORE_INCREMENTAL,
                                                     .open = open_nothing,
                                                     .fetch = fetch_nothing,
                                                     .values = read_nothing};
    storage->delegate = (cst_controller_delegate){.struct_size = sizeof storage->delegate, .will_change = see_change};
    storage->history_options = (cst_history_options)CST_HISTORY_OPTIONS_INIT;
    storage->history_retention = (cst_history_retention)CST_HISTORY_RETENTION_INIT;
    storage->options.flags = CST_STORE_NORMAL_SYNC;
    storage->predicate_info.struct_size = sizeof storage->predicate_info;
    if (is(call, "cst_coordinator_migrate_store") && !world->keeps_store) renew_store(world);
    for (int i = 0; i < call->parameter_count; i++) {
        const struct parameter *p = &call->parameters[i];
        union argument *a = &arguments[i];
        switch (p->kind) {
        case KIND_HANDLE:
            a->pointer = handle_for(world, call, p, seen[p->type]++ > 0);
            break;
        case KIND_ANY_HANDLE:
            cst_retain(world->live[TYPE_PREDICATE]); /* to be released by cst_release */
            a->pointer = world->live[TYPE_PREDICATE];
            break;
        case KIND_HANDLES:
            storage->handles[0] =
                seen[p->type] && world->second[p->type] ? world->second[p->type] : world->live[p->type];
            a->pointer = storage->handles;
            break;
        case KIND_ERROR:
            a->pointer = &storage->error;
            break;
        case KIND_OUT_HANDLE:
            a->pointer = &storage->out_handle[i];
            break;
        case KIND_OUT_HANDLES:
            a->pointer = storage->out_handles;
            break;
        case KIND_OUT:
            a->pointer = strcmp(p->name, "out_info") == 0 ? (void *)&storage->info : (void *)storage->out;
            if (strcmp(p->name, "out_statistics") == 0) a->pointer = &storage->statistics;
            if (is(call, "cst_object_get_stamp")) a->pointer = &storage->stamp;
            if (is(call, "cst_undo_manager_state")) a->pointer = &storage->undo_state;
            if (is(call, "cst_predicate_get_info")) a->pointer = &storage->predicate_info;
            if (strcmp(p->name, "out_count") == 0) a->pointer = &storage->out[MAX_ITEMS - 1];
            break;
        case KIND_ARROW_SCHEMA:
            a->pointer = &storage->arrow_schema;
            break;
        case KIND_ARROW_ARRAY:
            a->pointer = &storage->arrow_array;
            break;
        case KIND_ARROW_STREAM:
            a->pointer = &storage->arrow_stream;
            break;
        case KIND_ARROW_SOURCE:
            cst_results_export_arrow_stream(world->live[TYPE_RESULTS], 0, 0, 0, NULL, &storage->arrow_source, NULL);
            a->pointer = &storage->arrow_source;
            break;
        case KIND_BUFFER:
            a->pointer = &storage->buffer;
            break;
        case KIND_SCALAR:
            a->number = scalar_for(world, call, p);
            break;
        case KIND_COUNT:
            a->number = 1;
            break;
        case KIND_STRING:
            a->string = string_for(world, call, p);
            break;
        case KIND_BYTES:
            a->bytes = is(call, "cst_model_load_bytes")           ? bytes_of(small_model)
                       : is(call, "cst_mapping_model_load_bytes") ? bytes_of(small_mapping)
                       : strstr(call->name, "set_metadata")       ? bytes_of("<plist version=\"1.0\"><dict/></plist>")
                       : is(call, "cst_fetch_request_new_from_archive")
                           ? (cst_bytes){(const uint8_t *)world->archived.data, world->archived.size}
                           : check_archive();
            break;
        case KIND_STRINGS:
            storage->strings[0] = text(strstr(call->name, "prefetch") || strstr(call->name, "clone") ? "department"
                                       : strstr(call->name, "remote")        ? "x-coredata://elsewhere/Employee/p1"
                                       : strstr(call->name, "configuration") ? "A"
                                                                             : "name");
            a->pointer = storage->strings;
            break;
        case KIND_COLUMNS:
            storage->columns[0].name = text("name");
            a->pointer = storage->columns;
            break;
        case KIND_BATCH_COLUMNS:
            storage->values[0] = value_text("Eve");
            storage->batch_columns[0] =
                (cst_batch_column){world->company.name, CST_COLUMN_VALUE, storage->values, NULL};
            a->pointer = storage->batch_columns;
            break;
        case KIND_SORTS:
            storage->sorts[0].key_path = text("name");
            a->pointer = storage->sorts;
            break;
        case KIND_ELEMENTS:
            storage->elements[0].property = text("name");
            a->pointer = storage->elements;
            break;
        case KIND_KEYS:
            storage->keys[0] = world->company.name;
            a->pointer = storage->keys;
            break;
        case KIND_VALUE:
        case KIND_VALUES:
            storage->values[0] = value_for(world, call);
            a->pointer = storage->values;
            break;
        case KIND_OPTIONS:
            a->pointer = &storage->options;
            break;
        case KIND_USERDATA:
            a->pointer = &userdata;
            break;
        case KIND_DESTROY:
            a->destroy = count_destroy;
            break;
        case KIND_RESOLVE:
            a->resolve = settle_nothing;
            break;
        case KIND_VALIDATE:
            a->validate = accept;
            break;
        case KIND_LOG:
            a->log = read_line;
            break;
        case KIND_WORDS:
            storage->words[0] = "program";
            a->pointer = storage->words;
            break;
        case KIND_PERFORM:
            a->perform = do_nothing;
            break;
        case KIND_DONE:
            a->done = hear_end;
            break;
        case KIND_INTERRUPT:
            a->interrupt = go_on;
            break;
        case KIND_CALL_SITE:
            a->call_site = nowhere;
            break;
        case KIND_PROGRESS:
            a->progress = go_further;
            break;
        case KIND_CONTAINER_LOAD:
            a->container_load = hear_load;
            break;
        case KIND_RECORDS:
            a->records = hear_records;
            break;
        case KIND_FAILURE:
            a->failure = hear_failure;
            break;
        case KIND_DOCUMENT_OBSERVE:
            a->document_observe = hear_document;
            break;
        case KIND_CONTAINER_OPTIONS:
            a->pointer = &storage->container_options;
            break;
        case KIND_DESCRIPTION:
            a->pointer = &storage->description;
            break;
        case KIND_INACCESSIBLE:
            a->inaccessible = take;
            break;
        case KIND_CALLBACKS:
            a->pointer = &storage->callbacks;
            break;
        case KIND_CLASS_CALLBACKS:
            a->pointer = &storage->class_callbacks;
            break;
        case KIND_HOOKS:
            a->pointer = &storage->hooks;
            break;
        case KIND_STORE_CALLBACKS:
            a->pointer = &storage->store_callbacks;
            break;
        case KIND_HOST_ROWS:
            storage->rows[0] = (cst_row){world->company.employee, value_int(1), 0, 0, NULL, NULL, NULL};
            a->pointer = storage->rows;
            break;
        case KIND_VARIABLES:
            storage->variables[1] = value_text("x");
            storage->variables[2] = value_int(1);
            storage->variables[0] = (cst_value){CST_DICTIONARY, 0, {.values = {storage->variables + 1, 2}}};
            a->pointer = storage->variables;
            break;
        case KIND_PREDICATE_BLOCK:
            a->predicate_block = agree;
            break;
        case KIND_EXPRESSION_BLOCK:
            a->expression_block = compute;
            break;
        case KIND_BATCH_ROWS:
            a->batch_rows = no_rows;
            break;
        case KIND_BATCH_OBJECT:
            a->batch_object = no_object;
            break;
        case KIND_COMPARE:
            a->compare = compare;
            break;
        case KIND_FUNCTION:
            a->function = call_function;
            break;
        case KIND_CODE:
            a->code = plain_function;
            break;
        case KIND_CONTEXT_OBSERVE:
            a->context_observe = hear_context;
            break;
        case KIND_OBJECT_OBSERVE:
            a->object_observe = hear_object;
            break;
        case KIND_COORDINATOR_OBSERVE:
            a->coordinator_observe = hear_coordinator;
            break;
        case KIND_UNDO_ACTION:
            a->undo_action = undo_nothing;
            break;
        case KIND_FETCH_DONE:
            a->fetch_done = hear_fetch;
            break;
        case KIND_UNDO_OBSERVE:
            a->undo_observe = hear_undo;
            break;
        case KIND_OBSERVE_FETCH:
            a->observe_fetch = hear_difference;
            break;
        case KIND_SECTION_NAME:
            a->section_name = name_section;
            break;
        case KIND_DELEGATE:
            a->pointer = &storage->delegate;
            break;
        case KIND_HISTORY:
            a->history = hear_history;
            break;
        case KIND_HISTORY_ENDED:
            a->history_ended = hear_end_of_history;
            break;
        case KIND_HISTORY_PROGRESS:
            a->history_progress = go_on_deleting;
            break;
        case KIND_HISTORY_OPTIONS:
            a->pointer = &storage->history_options;
            break;
        case KIND_HISTORY_RETENTION:
            a->pointer = &storage->history_retention;
            break;
        case KIND_STAGE:
            a->stage = migrate_nothing;
            break;
        case KIND_TRANSFORMATION:
            a->transformation = transform_nothing;
            break;
        case KIND_POLICY_CALLBACKS:
            storage->policy_callbacks = (cst_migration_policy_callbacks){
                .struct_size = sizeof storage->policy_callbacks, .begin = begin_nothing};
            a->pointer = &storage->policy_callbacks;
            break;
        case KIND_HASHES:
            storage->hashes[0] = bytes_of("a hash");
            a->pointer = storage->hashes;
            break;
        case KIND_GUARD_OPTIONS:
            storage->guard_options = (cst_migration_guard_options)CST_MIGRATION_GUARD_OPTIONS_INIT;
            a->pointer = &storage->guard_options;
            break;
        case KIND_IMPORT_OPTIONS:
            storage->import_options = (cst_arrow_import_options)CST_ARROW_IMPORT_OPTIONS_INIT;
            storage->import_options.flags = CST_ARROW_IMPORT_IGNORE_UNKNOWN;
            if (is(call, "cst_context_upsert_arrow")) { /* the entity does not have a unique constraint */
                storage->import_key = text("notes");
                storage->import_options.key_count = 1;
                storage->import_options.keys = &storage->import_key;
            }
            a->pointer = &storage->import_options;
            break;
        case KIND_FETCH_OPTIONS:
            storage->fetch_options = (cst_fetch_options)CST_FETCH_OPTIONS_INIT;
            storage->fetch_options.entity = world->live[TYPE_ENTITY];
            a->pointer = &storage->fetch_options;
            break;
        }
    }
}

void world_clean(const struct call *call, const union argument *arguments, struct storage *storage,
                 struct result result) {
    for (int i = 0; i < call->parameter_count; i++) {
        const struct parameter *p = &call->parameters[i];
        if (!p->owned || !arguments[i].pointer) continue;
        if (is(call, "cst_context_fetch_asynchronously") && result.status == CST_OK) wait_for(storage->out_handle[i]);
        if (p->kind == KIND_OUT_HANDLE) cst_release(storage->out_handle[i]);
        if (p->kind == KIND_OUT && strcmp(p->name, "out_result") == 0) {
            cst_release(((cst_request_result *)(void *)storage->out)->value);
        } else if (p->kind == KIND_OUT) {
            cst_value_dispose(&storage->out[0]);
        }
        if (p->kind == KIND_OUT_HANDLES) {
            for (size_t n = 0; n < MAX_ITEMS && storage->out_handles[n]; n++)
                cst_release(storage->out_handles[n]);
        }
    }
    if (is(call, "cst_retain") && result.pointer) { /* its ownership, and the one that world_fill added */
        cst_release(result.pointer);
        cst_release(result.pointer);
    }
    if (strstr(call->name, "cst_function_register")) cst_function_unregister(arguments[0].string, NULL);
    if (storage->arrow_schema.release) storage->arrow_schema.release(&storage->arrow_schema);
    if (storage->arrow_array.release) storage->arrow_array.release(&storage->arrow_array);
    if (storage->arrow_stream.release) storage->arrow_stream.release(&storage->arrow_stream);
    if (storage->arrow_source.release) storage->arrow_source.release(&storage->arrow_source);
    cst_buffer_dispose(&storage->buffer);
    cst_release(storage->error);
    storage->error = NULL;
}
