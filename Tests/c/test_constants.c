/* Unknown constants and flags: each parameter that takes a constant rejects other numbers, and the error has the name
 * of the parameter or property as its key, the number as its value, and a valid choice in its message.
 *
 * SPDX-License-Identifier: MIT
 */
#include "company.h"

#include <string.h>
#include <unistd.h>

/* Checks the error of the last call with E. */
#define REJECTED(key, number, choice) check_rejection((key), (number), (choice), __LINE__)
/* The same for an error with an entity. */
#define REJECTED_OF(entity, key, number, choice)                                                                       \
    (REJECTED(key, number, choice), CHECK_TEXT(entity, cst_error_entity(check_error())))

static void check_rejection(const char *key, int64_t number, const char *choice, int line) {
    const cst_error *error = check_error();
    cst_value value = value_null();
    check_text(key, cst_error_key(error), "the key of the error", __FILE__, line);
    check_contains(choice, cst_error_message(error), "the message of the error", __FILE__, line);
    check_int(CST_OK, cst_error_value(error, &value), "the status of the value", __FILE__, line);
    check_int(CST_INT, value.type, "the type of the value", __FILE__, line);
    if (value.type == CST_INT) check_int(number, value.as.integer, "the value of the error", __FILE__, line);
}

/* Whether the last call with E failed with a message that does not contain the words. */
static bool message_lacks(const char *words) {
    const cst_string message = cst_error_message(check_error());
    return message.data && !strstr(message.data, words);
}

static int destroyed;
static void count_destroy(void *userdata) {
    (void)userdata;
    destroyed++;
}

static cst_entity *entity_of(cst_model *model, const char *name) {
    cst_entity *entity = NULL;
    OK(cst_model_entity(model, text(name), &entity, E));
    return entity;
}

static cst_fetch_request *employees(const struct company *c) {
    cst_fetch_request *request = NULL;
    OK(cst_fetch_request_new(c->employee, &request, E));
    return request;
}

/* ---- models ---- */

static void model_names_of_an_unknown_list_are_rejected(void) {
    cst_model *model = company_model();
    cst_buffer names = {NULL, 0, 0};
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_model_copy_names(model, 0, &names, NULL, E));
    REJECTED("which", 0, "CST_NAMES_TEMPLATES");
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_model_copy_names(model, 4, &names, NULL, E));
    REJECTED("which", 4, "CST_NAMES_TEMPLATES");
    CHECK(names.data == NULL);
    OK(cst_release(model));
}

/* CST_MODEL_KEEP_CURRENT is a flag of cst_model_write only, so the message must not suggest it. */
static void model_source_flags_are_checked(void) {
    cst_model *model = company_model();
    cst_buffer source = {NULL, 0, 0};
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_model_copy_source(model, CST_MODEL_KEEP_CURRENT, &source, E));
    REJECTED("flags", CST_MODEL_KEEP_CURRENT, "CST_MODEL_LOSSY");
    CHECK(message_lacks("CST_MODEL_KEEP_CURRENT"));
    CHECK(source.data == NULL);
    OK(cst_release(model));
}

static void model_write_flags_are_checked_before_a_file_is_written(void) {
    cst_model *model = company_model();
    const char *path = check_path("Company.xcdatamodeld");
    const uint32_t flags = CST_MODEL_LOSSY << 1;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_model_write(model, text(path), text("Company"), flags, E));
    REJECTED("flags", flags, "CST_MODEL_KEEP_CURRENT");
    CHECK(access(path, F_OK) != 0);
    OK(cst_release(model));
}

static void model_convert_flags_are_checked_before_a_file_is_read(void) {
    const cst_string source = text(check_path("missing.mom")), target = text(check_path("App.xcdatamodeld"));
    const uint32_t flags = CST_MODEL_KEEP_CURRENT | CST_MODEL_LOSSY;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_model_convert(source, target, text("App"), flags, E));
    REJECTED("flags", flags, "CST_MODEL_LOSSY");
}

static void attribute_of_an_unknown_type_is_not_added(void) {
    cst_model *model = company_model();
    cst_entity *employee = entity_of(model, "Employee");
    cst_attribute *added = (cst_attribute *)employee;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_entity_add_attribute(employee, text("extra"), 150, 0, &added, E));
    REJECTED_OF("Employee", "extra", 150, "CST_ATTRIBUTE_");
    CHECK(added == NULL);
    CHECK_STATUS(CST_NOT_FOUND, cst_entity_attribute(employee, text("extra"), &added, E));
    OK(cst_release(model));
}

static void attribute_with_flags_of_relationships_is_not_added(void) {
    cst_model *model = company_model();
    cst_entity *employee = entity_of(model, "Employee");
    cst_attribute *added = NULL;
    const uint32_t flags = CST_PROPERTY_OPTIONAL | CST_PROPERTY_TO_MANY | CST_PROPERTY_ORDERED;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                 cst_entity_add_attribute(employee, text("extra"), CST_ATTRIBUTE_STRING, flags, &added, E));
    REJECTED_OF("Employee", "extra", flags, "CST_PROPERTY_OPTIONAL");
    /* the unsupported flags only */
    CHECK_CONTAINS("the flags CST_PROPERTY_TO_MANY (to_many) and CST_PROPERTY_ORDERED (ordered); use",
                   cst_error_message(check_error()));
    CHECK_STATUS(CST_NOT_FOUND, cst_entity_attribute(employee, text("extra"), &added, E));
    OK(cst_release(model));
}

static void relationship_with_flags_of_attributes_is_not_added(void) {
    cst_model *model = company_model();
    cst_entity *employee = entity_of(model, "Employee");
    cst_relationship *added = NULL;
    const uint32_t flags = CST_PROPERTY_TO_MANY | CST_PROPERTY_INDEXED;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                 cst_entity_add_relationship(employee, text("extra"), employee, flags, &added, E));
    REJECTED_OF("Employee", "extra", flags, "_TO_MANY");
    CHECK_CONTAINS("the flag CST_PROPERTY_INDEXED (indexed); use", cst_error_message(check_error()));
    CHECK_STATUS(CST_NOT_FOUND, cst_entity_relationship(employee, text("extra"), &added, E));
    OK(cst_release(model));
}

static void property_flags_with_an_unknown_mask_are_rejected(void) {
    cst_model *model = company_model();
    cst_entity *employee = entity_of(model, "Employee");
    const uint32_t mask = CST_PROPERTY_OPTIONAL | 1u << 13;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_entity_set_property_flags(employee, text("number"), mask, 0, E));
    REJECTED_OF("Employee", "number", mask, "CST_PROPERTY_OPTIONAL");
    CHECK_CONTAINS("0x2000", cst_error_message(check_error()));
    OK(cst_release(model));
}

static void composite_element_of_an_unknown_type_is_not_added(void) {
    cst_model *model = company_model();
    cst_attribute *place = NULL, *added = NULL;
    OK(cst_entity_add_attribute(entity_of(model, "Employee"), text("place"), CST_ATTRIBUTE_COMPOSITE, 0, &place, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_attribute_add_element(place, text("x"), -1, 0, &added, E));
    REJECTED_OF("Employee", "place.x", -1, "CST_ATTRIBUTE_");
    CHECK(added == NULL);
    OK(cst_release(model));
}

static void composite_element_with_flags_of_attributes_is_not_added(void) {
    cst_model *model = company_model();
    cst_attribute *place = NULL, *added = NULL;
    OK(cst_entity_add_attribute(entity_of(model, "Employee"), text("place"), CST_ATTRIBUTE_COMPOSITE, 0, &place, E));
    const uint32_t flags = CST_PROPERTY_TRANSIENT;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                 cst_attribute_add_element(place, text("x"), CST_ATTRIBUTE_DOUBLE, flags, &added, E));
    REJECTED_OF("Employee", "place.x", flags, "CST_PROPERTY_OPTIONAL");
    CHECK_CONTAINS("the flag CST_PROPERTY_TRANSIENT (transient); use", cst_error_message(check_error()));
    CHECK(added == NULL);
    OK(cst_release(model));
}

static void fetch_index_with_unknown_flags_is_not_added(void) {
    cst_model *model = company_model();
    const cst_index_element element = {.property = text("number"), .flags = 8 | CST_INDEX_DESCENDING};
    CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                 cst_entity_add_fetch_index(entity_of(model, "Employee"), text("byNumber"), 1, &element, NULL, E));
    REJECTED_OF("Employee", "byNumber", 8 | CST_INDEX_DESCENDING, "CST_INDEX_DESCENDING");
    OK(cst_release(model));
}

static void unknown_delete_rule_leaves_the_rule_unchanged(void) {
    cst_model *model = company_model();
    cst_entity *employee = entity_of(model, "Employee");
    cst_relationship *reviews = NULL;
    OK(cst_entity_relationship(employee, text("reviews"), &reviews, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_relationship_set_delete_rule(reviews, 4, E));
    REJECTED_OF("Employee", "reviews", 4, "CST_DELETE_NULLIFY");
    for (size_t i = 0; i < cst_entity_property_count(employee); i++) {
        cst_property_info info = CST_PROPERTY_INFO_INIT;
        OK(cst_entity_property_at(employee, i, &info, E));
        if (strcmp(info.name.data, "reviews") == 0) CHECK_INT(CST_DELETE_DENY, info.delete_rule);
    }
    OK(cst_release(model));
}

static void accessor_of_an_unknown_kind_is_rejected_before_the_model_is_frozen(void) {
    cst_model *model = company_model();
    cst_function function = NULL;
    bool frozen = true;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                 cst_entity_accessor(entity_of(model, "Employee"), text("floor"), 99, &function, E));
    REJECTED_OF("Employee", "floor", 99, "CST_ACCESSOR_");
    CHECK(function == NULL);
    OK(cst_model_is_frozen(model, &frozen, E));
    CHECK(!frozen);
    OK(cst_release(model));
}

static void inferred_mapping_with_unknown_flags_is_rejected(void) {
    cst_model *model = company_model();
    cst_mapping_model *mapping = NULL;
    const uint32_t flags = CST_MAPPING_ALLOW_TYPE_CHANGES | 2;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_mapping_model_new_inferred(model, model, flags, &mapping, E));
    REJECTED("flags", flags, "CST_MAPPING_ALLOW_TYPE_CHANGES");
    CHECK(mapping == NULL);
    OK(cst_release(model));
}

static void migration_guard_with_unknown_flags_is_rejected(void) {
    cst_buffer json = {NULL, 0, 0};
    cst_migration_guard_options options = CST_MIGRATION_GUARD_OPTIONS_INIT;
    options.flags = CST_GUARD_ALLOW_TYPE_CHANGES << 1;
    CHECK_STATUS(CST_E_UNSUPPORTED,
                 cst_migration_guard_check(text(check_path("missing")), text_of_size(NULL, 0), &options, &json, E));
    REJECTED("flags", CST_GUARD_ALLOW_TYPE_CHANGES << 1, "CST_GUARD_ALLOW_TYPE_CHANGES");
    CHECK(json.data == NULL);
}

/* ---- stores and containers ---- */

static void store_with_unknown_flags_is_not_created(void) {
    cst_model *model = company_model();
    cst_coordinator *coordinator = NULL;
    cst_store *store = NULL;
    const char *path = check_path("flags.sqlite");
    cst_store_options options = CST_STORE_OPTIONS_INIT;
    options.flags = 1u << 31;
    OK(cst_coordinator_new(model, &coordinator, E));
    CHECK_STATUS(CST_E_UNSUPPORTED,
                 cst_coordinator_add_store(coordinator, text("SQLite"), text(path), &options, &store, E));
    REJECTED("flags", 1ll << 31, "CST_STORE_");
    CHECK(store == NULL && access(path, F_OK) != 0);
    OK(cst_release(coordinator));
    OK(cst_release(model));
}

static void store_type_of_an_unknown_kind_is_not_registered(void) {
    cst_store_callbacks callbacks = CST_STORE_CALLBACKS_INIT;
    callbacks.kind = 3;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_store_type_register(text("Shelf"), &callbacks, E));
    REJECTED("Shelf", 3, "CST_STORE_INCREMENTAL");
    CHECK_STATUS(CST_NOT_FOUND, cst_store_type_unregister(text("Shelf"), E));
}

static void store_type_with_unknown_abilities_is_not_registered(void) {
    cst_store_callbacks callbacks = CST_STORE_CALLBACKS_INIT;
    callbacks.kind = CST_STORE_ATOMIC;
    callbacks.abilities = CST_STORE_PARALLEL_READS | 8;
    CHECK_STATUS(CST_E_UNSUPPORTED, cst_store_type_register(text("Shelf"), &callbacks, E));
    REJECTED("Shelf", CST_STORE_PARALLEL_READS | 8, "CST_STORE_PARALLEL_READS");
    CHECK_STATUS(CST_NOT_FOUND, cst_store_type_unregister(text("Shelf"), E));
}

static void coordinator_stays_open_when_the_policy_for_unsaved_changes_is_unknown(void) {
    struct company c = company_open(check_path("a.sqlite"));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_coordinator_close(c.coordinator, 3, E));
    REJECTED("unsaved", 3, "CST_UNSAVED_REFUSE");
    CHECK_INT(1, cst_coordinator_store_count(c.coordinator));
    company_close(&c);
}

static void context_stays_open_when_the_policy_for_unsaved_changes_is_unknown(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_close(c.context, UINT32_MAX, E));
    REJECTED("unsaved", UINT32_MAX, "CST_UNSAVED_REFUSE");
    CHECK(has_changes(c.context));
    save(c.context);
    OK(cst_release(ada));
    company_close(&c);
}

static void container_stays_open_when_the_policy_for_unsaved_changes_is_unknown(void) {
    cst_model *model = company_model();
    cst_container *container = NULL;
    cst_coordinator *coordinator = NULL;
    cst_store_description description = CST_STORE_DESCRIPTION_INIT;
    description.path = text(check_path("a.sqlite"));
    OK(cst_container_new(text("Company"), model, NULL, &container, E));
    OK(cst_container_add_description(container, &description, E));
    OK(cst_container_load(container, NULL, NULL, NULL, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_container_close(container, 3, E));
    REJECTED("unsaved", 3, "CST_UNSAVED_REFUSE");
    OK(cst_container_coordinator(container, &coordinator, E));
    CHECK_INT(1, cst_coordinator_store_count(coordinator));
    OK(cst_release(container));
    OK(cst_release(model));
}

static void document_stays_open_when_the_policy_for_unsaved_changes_is_unknown(void) {
    cst_model *model = company_model();
    cst_document *document = NULL;
    bool unsaved = true;
    OK(cst_document_new(model, text("Binary"), CST_QUEUE_CALLER, &document, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_document_close(document, 3, E));
    REJECTED("unsaved", 3, "CST_UNSAVED_REFUSE");
    OK(cst_document_has_unsaved_changes(document, &unsaved, E));
    CHECK(!unsaved);
    OK(cst_document_close(document, CST_UNSAVED_REFUSE, E));
    OK(cst_release(document));
    OK(cst_release(model));
}

static void store_description_with_unknown_flags_is_not_added(void) {
    cst_model *model = company_model();
    cst_container *container = NULL;
    cst_store_description description = CST_STORE_DESCRIPTION_INIT;
    description.path = text(check_path("a.sqlite"));
    description.flags = CST_DESCRIPTION_NO_FOLDER | 4;
    OK(cst_container_new(text("Company"), model, NULL, &container, E));
    CHECK_STATUS(CST_E_UNSUPPORTED, cst_container_add_description(container, &description, E));
    REJECTED("flags", CST_DESCRIPTION_NO_FOLDER | 4, "CST_DESCRIPTION_ASYNCHRONOUS");
    OK(cst_release(container));
    OK(cst_release(model));
}

static void unsaved_changes_with_unknown_flags_are_rejected(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_buffer json = {NULL, 0, 0};
    CHECK_STATUS(CST_E_UNSUPPORTED, cst_coordinator_copy_unsaved_changes(c.coordinator, 4, &json, E));
    REJECTED("flags", 4, "CST_CHANGES_NO_WAIT");
    CHECK(json.data == NULL);
    company_close(&c);
}

static void views_with_an_unknown_form_of_dates_are_rejected(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_buffer sql = {NULL, 0, 0};
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_store_copy_views(cst_store_path(c.store), NULL, 3, false, &sql, E));
    REJECTED("dates", 3, "CST_DATES_TEXT");
    CHECK(sql.data == NULL);
    company_close(&c);
}

static void history_of_an_unknown_subject_is_rejected(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_history_options options = CST_HISTORY_OPTIONS_INIT;
    cst_history_cursor *cursor = NULL;
    uint64_t count = 7;
    options.subject = 2;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_coordinator_fetch_history(c.coordinator, &options, &cursor, E));
    REJECTED("subject", 2, "CST_HISTORY_TRANSACTIONS");
    CHECK(cursor == NULL);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_coordinator_count_history(c.coordinator, &options, &count, E));
    REJECTED("subject", 2, "CST_HISTORY_TRANSACTIONS");
    company_close(&c);
}

/* ---- contexts ---- */

static void context_with_an_unknown_queue_is_not_created(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_context *made = c.context;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_new(c.coordinator, 3, &made, E));
    REJECTED("queue", 3, "CST_QUEUE_PRIVATE");
    CHECK(made == NULL);
    company_close(&c);
}

static void child_context_with_an_unknown_queue_is_not_created(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_context *made = c.context;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_new_child(c.context, -1, &made, E));
    REJECTED("queue", -1, "CST_QUEUE_PRIVATE");
    CHECK(made == NULL);
    company_close(&c);
}

static void document_with_an_unknown_queue_is_not_created(void) {
    cst_model *model = company_model();
    cst_document *document = NULL;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_document_new(model, text("Binary"), 3, &document, E));
    REJECTED("queue", 3, "CST_QUEUE_PRIVATE");
    CHECK(document == NULL);
    OK(cst_release(model));
}

/* The queue is checked before the file is read: the error of a missing file would hide it. */
static void document_with_an_unknown_queue_is_not_opened(void) {
    cst_document *document = NULL;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                 cst_document_open(text(check_path("missing")), NULL, NULL, INT32_MIN, &document, E));
    REJECTED("queue", INT32_MIN, "CST_QUEUE_PRIVATE");
    CHECK(document == NULL);
}

static cst_status never_run(void *userdata, cst_context *context, cst_error **error) {
    (void)userdata, (void)context, (void)error;
    CHECK(!"a body with an unknown schedule ran");
    return CST_OK;
}

static void body_with_an_unknown_schedule_is_freed_without_running(void) {
    struct company c = company_open(check_path("a.sqlite"));
    static int payload;
    destroyed = 0;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                 cst_context_schedule(c.context, 2, never_run, NULL, &payload, count_destroy, E));
    REJECTED("schedule", 2, "CST_SCHEDULE_IMMEDIATE");
    CHECK_INT(1, destroyed);
    company_close(&c);
}

static void changed_objects_of_an_unknown_kind_are_rejected(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_results *results = NULL;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_copy_changed(c.context, 0, &results, E));
    REJECTED("which", 0, "CST_CHANGED_INSERTED");
    CHECK(results == NULL);
    company_close(&c);
}

static void count_of_changed_objects_of_an_unknown_kind_is_rejected(void) {
    struct company c = company_open(check_path("a.sqlite"));
    uint64_t count = 7;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_changed_count(c.context, 5, &count, E));
    REJECTED("which", 5, "CST_CHANGED_INSERTED");
    CHECK_INT(0, count);
    company_close(&c);
}

static void unknown_context_option_is_rejected(void) {
    struct company c = company_open(check_path("a.sqlite"));
    int64_t value = 7;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_set_option(c.context, 9, 1, E));
    REJECTED("option", 9, "CST_OPTION_");
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_option(c.context, 9, &value, E));
    REJECTED("option", 9, "CST_OPTION_");
    CHECK_INT(0, value);
    company_close(&c);
}

static void unknown_fault_policy_leaves_the_policy_unchanged(void) {
    struct company c = company_open(check_path("a.sqlite"));
    int64_t value = 7;
    OK(cst_context_set_option(c.context, CST_OPTION_FAULT_POLICY, CST_FAULT_WARN, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_set_option(c.context, CST_OPTION_FAULT_POLICY, 3, E));
    REJECTED("CST_OPTION_FAULT_POLICY", 3, "CST_FAULT_BATCH");
    OK(cst_context_option(c.context, CST_OPTION_FAULT_POLICY, &value, E));
    CHECK_INT(CST_FAULT_WARN, value);
    company_close(&c);
}

static void fault_report_of_an_unknown_form_is_rejected(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_buffer report = {NULL, 0, 0};
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_copy_fault_report(c.context, 2, &report, E));
    REJECTED("form", 2, "CST_REPORT_TEXT");
    CHECK(report.data == NULL);
    company_close(&c);
}

static void merge_policy_of_an_unknown_type_is_not_created(void) {
    static int payload;
    cst_merge_policy *policy = NULL;
    destroyed = 0;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_merge_policy_new(-1, NULL, &payload, count_destroy, &policy, E));
    REJECTED("type", -1, "CST_MERGE_ERROR");
    CHECK(policy == NULL);
    CHECK_INT(1, destroyed);
}

/* Makes a save of the context fail with a conflict, and returns the error. */
static cst_error *conflicting_save(const struct company *c, cst_object *ada) {
    cst_context *other = company_context(c, CST_QUEUE_CALLER);
    cst_results *found = company_fetch(other, c->employee, NULL, NULL);
    set(object_at(found, 0), c->number, value_int(10));
    save(other);
    OK(cst_release(found));
    OK(cst_release(other));
    set(ada, c->number, value_int(20));
    cst_error *error = NULL;
    CHECK_STATUS(CST_E_CONFLICT, cst_context_save(c->context, &error));
    return error;
}

static void conflict_is_not_resolved_by_an_unknown_type(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    save(c.context);
    cst_error *failure = conflicting_save(&c, ada);
    cst_conflict *conflict = (cst_conflict *)(uintptr_t)cst_error_conflict_at(failure, 0);
    REQUIRE(conflict);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_conflict_resolve(conflict, 5, E));
    REJECTED("type", 5, "CST_MERGE_ERROR");
    CHECK_INT(20, get_int(ada, c.number));
    OK(cst_release(failure));
    OK(cst_context_rollback(c.context, E));
    OK(cst_release(ada));
    company_close(&c);
}

static void unknown_snapshot_of_a_conflict_is_rejected(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    save(c.context);
    cst_error *failure = conflicting_save(&c, ada);
    const cst_conflict *conflict = cst_error_conflict_at(failure, 0);
    cst_value value = value_int(7);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_conflict_value(conflict, 5, 0, text("number"), &value, E));
    REJECTED("snapshot", 5, "CST_SNAPSHOT_OBJECT");
    CHECK_INT(CST_NULL, value.type);
    OK(cst_release(failure));
    OK(cst_context_rollback(c.context, E));
    OK(cst_release(ada));
    company_close(&c);
}

/* ---- fetches ---- */

static void unknown_fetch_option_is_rejected(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_fetch_request *request = employees(&c);
    int64_t value = 7;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_fetch_request_set_option(request, 14, 1, E));
    REJECTED("option", 14, "CST_FETCH_LIMIT");
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_fetch_request_option(request, 0, &value, E));
    REJECTED("option", 0, "CST_FETCH_LIMIT");
    CHECK_INT(0, value);
    OK(cst_release(request));
    company_close(&c);
}

static void unknown_result_type_leaves_the_request_unchanged(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_fetch_request *request = employees(&c);
    int64_t value = 7;
    OK(cst_fetch_request_set_option(request, CST_FETCH_RESULT_TYPE, CST_RESULT_OBJECT_IDS, E));
    CHECK_STATUS(CST_E_UNSUPPORTED, cst_fetch_request_set_option(request, CST_FETCH_RESULT_TYPE, -1, E));
    REJECTED_OF("Employee", "result_type", -1, "CST_RESULT_OBJECTS");
    OK(cst_fetch_request_option(request, CST_FETCH_RESULT_TYPE, &value, E));
    CHECK_INT(CST_RESULT_OBJECT_IDS, value);
    OK(cst_release(request));
    company_close(&c);
}

/* A number that does not fit into 32 bits must not be truncated to a valid one. */
static void unknown_meaning_of_nulls_leaves_the_request_unchanged(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_fetch_request *request = employees(&c);
    int64_t value = 7;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_fetch_request_set_nulls(request, 2, E));
    REJECTED_OF("Employee", "nulls", 2, "CST_NULLS_MEMORY");
    CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                 cst_fetch_request_set_option(request, CST_FETCH_NULLS, (1ll << 32) + CST_NULLS_DATABASE, E));
    REJECTED_OF("Employee", "nulls", (1ll << 32) + CST_NULLS_DATABASE, "CST_NULLS_MEMORY");
    OK(cst_fetch_request_option(request, CST_FETCH_NULLS, &value, E));
    CHECK_INT(CST_NULLS_MEMORY, value);
    OK(cst_release(request));
    company_close(&c);
}

static void explanation_of_an_unknown_form_is_rejected(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_fetch_request *request = employees(&c);
    cst_buffer explanation = {NULL, 0, 0};
    CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                 cst_context_explain(c.context, request, CST_EXPLAIN_ROWS | 4, &explanation, E));
    REJECTED("form", CST_EXPLAIN_ROWS | 4, "CST_EXPLAIN_TEXT");
    CHECK(explanation.data == NULL);
    OK(cst_release(request));
    company_close(&c);
}

static void unknown_aggregate_is_rejected(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_fetch_request *request = employees(&c);
    cst_rows *rows = NULL;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_aggregate(c.context, request, 0, text("number"), &rows, E));
    REJECTED("aggregate", 0, "CST_AGGREGATE_");
    CHECK(rows == NULL);
    OK(cst_release(request));
    company_close(&c);
}

static void unknown_sort_flags_leave_the_order_unchanged(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_fetch_request *request = employees(&c);
    const cst_sort sort = {text("number"), CST_SORT_COMPARATOR << 1, 0};
    CHECK_STATUS(CST_E_UNSUPPORTED, cst_fetch_request_set_sort(request, 1, &sort, E));
    REJECTED("number", CST_SORT_COMPARATOR << 1, "are 0x20, but must be 0 to 0x1f; use CST_SORT_ constants");
    OK(cst_release(request));
    company_close(&c);
}

static void arrow_stream_of_a_fetch_with_unknown_flags_is_rejected(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_fetch_request *request = employees(&c);
    const cst_string name = text("name");
    struct ArrowArrayStream stream;
    memset(&stream, 0xA5, sizeof stream);
    CHECK_STATUS(CST_E_UNSUPPORTED, cst_context_fetch_arrow(c.context, request, 0, 4, 1, &name, &stream, E));
    REJECTED("flags", 4, "CST_ARROW_KEYS");
    CHECK(stream.release == NULL);
    OK(cst_release(request));
    company_close(&c);
}

static void arrow_export_of_results_with_unknown_flags_is_rejected(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_results *found = company_fetch(c.context, c.employee, NULL, NULL);
    const cst_string name = text("name");
    struct ArrowSchema schema;
    struct ArrowArray array;
    struct ArrowArrayStream stream;
    memset(&schema, 0xA5, sizeof schema);
    memset(&array, 0xA5, sizeof array);
    memset(&stream, 0xA5, sizeof stream);
    CHECK_STATUS(CST_E_UNSUPPORTED, cst_results_export_arrow(found, 4, 1, &name, &schema, &array, E));
    REJECTED("flags", 4, "CST_ARROW_KEYS");
    CHECK(schema.release == NULL && array.release == NULL);
    CHECK_STATUS(CST_E_UNSUPPORTED, cst_results_export_arrow_stream(found, 1, 8, 1, &name, &stream, E));
    REJECTED("flags", 8, "CST_ARROW_KEYS");
    CHECK(stream.release == NULL);
    OK(cst_release(found));
    company_close(&c);
}

static void arrow_export_of_rows_with_unknown_flags_is_rejected(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_fetch_request *request = employees(&c);
    cst_rows *rows = NULL;
    struct ArrowSchema schema;
    struct ArrowArray array;
    struct ArrowArrayStream stream;
    memset(&schema, 0xA5, sizeof schema);
    memset(&array, 0xA5, sizeof array);
    memset(&stream, 0xA5, sizeof stream);
    OK(cst_context_aggregate(c.context, request, CST_AGGREGATE_SUM, text("number"), &rows, E));
    CHECK_STATUS(CST_E_UNSUPPORTED, cst_rows_export_arrow(rows, 4, &schema, &array, E));
    REJECTED("flags", 4, "CST_ARROW_KEYS");
    CHECK(schema.release == NULL && array.release == NULL);
    CHECK_STATUS(CST_E_UNSUPPORTED, cst_rows_export_arrow_stream(rows, 1, 8, &stream, E));
    REJECTED("flags", 8, "CST_ARROW_KEYS");
    CHECK(stream.release == NULL);
    OK(cst_release(rows));
    OK(cst_release(request));
    company_close(&c);
}

static void batch_ids_of_an_unknown_kind_of_change_are_rejected(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_batch_request *insertion = NULL;
    cst_results *ids = NULL;
    OK(cst_batch_insert_new(c.employee, &insertion, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_copy_batch_ids(c.context, insertion, 0, &ids, E));
    REJECTED_OF("Employee", "change", 0, "CST_BATCH_");
    CHECK(ids == NULL);
    OK(cst_release(insertion));
    company_close(&c);
}

static void batch_column_of_an_unknown_form_is_rejected(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_batch_request *insertion = NULL;
    const cst_string name = text("Ada");
    const cst_batch_column column = {c.name, UINT32_MAX, &name, NULL};
    OK(cst_batch_insert_new(c.employee, &insertion, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_batch_insert_set_columns(insertion, 1, 1, &column, E));
    REJECTED_OF("Employee", "name", UINT32_MAX, "CST_COLUMN_");
    OK(cst_release(insertion));
    company_close(&c);
}

/* ---- objects ---- */

static void value_of_an_unknown_type_names_its_property(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    cst_value value = value_int(2);
    value.type = 1u << 31;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_set(ada, c.number, &value, E));
    REJECTED_OF("Employee", "number", 1ll << 31, "CST_NULL");
    CHECK_INT(1, get_int(ada, c.number));
    OK(cst_release(ada));
    company_close(&c);
}

static void validation_for_an_unknown_purpose_is_rejected(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    /* CST_VALIDATE_WITHOUT_HOOK needs a purpose. */
    const uint32_t unknown[] = {0, 4, CST_VALIDATE_WITHOUT_HOOK, CST_VALIDATE_WITHOUT_HOOK | 4,
                                CST_VALIDATE_INSERT | 32};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_validate(ada, unknown[i], E));
        REJECTED_OF("Employee", "purpose", unknown[i], "CST_VALIDATE_INSERT");
    }
    OK(cst_object_validate(ada, CST_VALIDATE_INSERT | CST_VALIDATE_WITHOUT_HOOK, E));
    OK(cst_release(ada));
    company_close(&c);
}

static void unknown_mutation_of_members_is_rejected(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1), *bob = company_employee(&c, c.context, "Bob", 2);
    save(c.context);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_will_change_members(ada, c.reports, 0, 1, &bob, E));
    REJECTED_OF("Employee", "reports", 0, "CST_MUTATION_UNION");
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_did_change_members(ada, c.reports, 5, 1, &bob, E));
    REJECTED_OF("Employee", "reports", 5, "CST_MUTATION_UNION");
    CHECK(!has_changes(c.context));
    OK(cst_release(ada));
    OK(cst_release(bob));
    company_close(&c);
}

static void unknown_selection_of_values_is_rejected(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    cst_rows *rows = NULL;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_copy_values(ada, 0, 1, &c.name, &rows, E));
    REJECTED_OF("Employee", "which", 0, "CST_VALUES_CHANGED");
    CHECK(rows == NULL);
    OK(cst_release(ada));
    company_close(&c);
}

/* ---- observers ---- */

static void never_notify_context(void *userdata, cst_context *context, uint32_t notification,
                                 const cst_changes *changes) {
    (void)userdata, (void)context, (void)notification, (void)changes;
    CHECK(!"an observer of an unknown notification was called");
}

static void never_notify_coordinator(void *userdata, cst_coordinator *coordinator, uint32_t notification,
                                     const cst_store_changes *changes) {
    (void)userdata, (void)coordinator, (void)notification, (void)changes;
    CHECK(!"an observer of an unknown notification was called");
}

static void never_notify_undo(void *userdata, cst_undo_manager *manager, uint32_t notification) {
    (void)userdata, (void)manager, (void)notification;
    CHECK(!"an observer of an unknown notification was called");
}

static void never_notify_object(void *userdata, cst_object *object, const cst_value_change *change) {
    (void)userdata, (void)object, (void)change;
    CHECK(!"an observer with unknown options was called");
}

static void observer_of_an_unknown_context_notification_is_freed(void) {
    struct company c = company_open(check_path("a.sqlite"));
    static int payload;
    cst_observation *observation = NULL;
    destroyed = 0;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                 cst_context_observe(c.context, 6, never_notify_context, &payload, count_destroy, &observation, E));
    REJECTED("notification", 6, "CST_NOTIFICATION_");
    CHECK(observation == NULL);
    CHECK_INT(1, destroyed);
    company_close(&c);
}

static void observer_of_an_unknown_coordinator_notification_is_freed(void) {
    struct company c = company_open(check_path("a.sqlite"));
    static int payload;
    cst_observation *observation = NULL;
    destroyed = 0;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_coordinator_observe(c.coordinator, 4, never_notify_coordinator, &payload,
                                                                 count_destroy, &observation, E));
    REJECTED("notification", 4, "CST_COORDINATOR_STORES_DID_CHANGE");
    CHECK(observation == NULL);
    CHECK_INT(1, destroyed);
    company_close(&c);
}

static void observer_of_an_unknown_undo_notification_is_freed(void) {
    static int payload;
    cst_undo_manager *manager = NULL;
    cst_observation *observation = NULL;
    destroyed = 0;
    OK(cst_undo_manager_new(&manager, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                 cst_undo_manager_observe(manager, 9, never_notify_undo, &payload, count_destroy, &observation, E));
    REJECTED("notification", 9, "CST_UNDO_CHECKPOINT");
    CHECK(observation == NULL);
    CHECK_INT(1, destroyed);
    OK(cst_release(manager));
}

static void observer_of_an_object_with_unknown_options_is_freed(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    static int payload;
    cst_observation *observation = NULL;
    const uint32_t options = CST_OBSERVE_INITIAL | 1;
    destroyed = 0;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_observe(ada, text("name"), options, never_notify_object, &payload,
                                                            count_destroy, &observation, E));
    REJECTED_OF("Employee", "name", options, "CST_OBSERVE_INITIAL");
    CHECK(observation == NULL);
    CHECK_INT(1, destroyed);
    OK(cst_release(ada));
    company_close(&c);
}

static void unknown_menu_text_of_an_undo_manager_is_rejected(void) {
    cst_undo_manager *manager = NULL;
    cst_buffer title = {NULL, 0, 0};
    OK(cst_undo_manager_new(&manager, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_undo_manager_copy_text(manager, 4, &title, E));
    REJECTED("text", 4, "CST_UNDO_NAME");
    CHECK(title.data == NULL);
    OK(cst_release(manager));
}

/* ---- predicates and expressions ---- */

static cst_expression *path_expression(const char *path) {
    cst_expression *expression = NULL;
    OK(cst_expression_new_key_path(NULL, text(path), &expression, E));
    return expression;
}

static void compound_predicate_of_an_unknown_type_is_not_created(void) {
    cst_predicate *compound = NULL;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_predicate_new_compound(3, 0, NULL, &compound, E));
    REJECTED("type", 3, "CST_PREDICATE_AND");
    CHECK(compound == NULL);
}

/* CST_OPERATOR_CUSTOM_SELECTOR is known, but only a parsed predicate has a selector. */
static void comparison_with_an_unknown_operator_is_not_created(void) {
    cst_expression *path = path_expression("name");
    cst_predicate *comparison = NULL;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_predicate_new_comparison(path, 12, path, 0, 0, &comparison, E));
    REJECTED("operator_type", 12, "CST_OPERATOR_");
    const uint32_t custom = CST_OPERATOR_CUSTOM_SELECTOR;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_predicate_new_comparison(path, custom, path, 0, 0, &comparison, E));
    REJECTED("operator_type", custom, "cst_predicate_parse");
    CHECK(comparison == NULL);
    OK(cst_release(path));
}

static void comparison_with_an_unknown_modifier_is_not_created(void) {
    cst_expression *path = path_expression("name");
    cst_predicate *comparison = NULL;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                 cst_predicate_new_comparison(path, CST_OPERATOR_EQUAL, path, 3, 0, &comparison, E));
    REJECTED("modifier", 3, "CST_MODIFIER_DIRECT");
    CHECK(comparison == NULL);
    OK(cst_release(path));
}

static void comparison_with_unknown_options_is_not_created(void) {
    cst_expression *path = path_expression("name");
    cst_predicate *comparison = NULL;
    const uint32_t options = CST_COMPARE_CASE_INSENSITIVE | 1u << 8; /* as a byte, a valid option */
    CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                 cst_predicate_new_comparison(path, CST_OPERATOR_EQUAL, path, 0, options, &comparison, E));
    REJECTED("options", options, "options is 0x101, but must be 0 to 0xf; use CST_COMPARE_ constants");
    CHECK(comparison == NULL);
    OK(cst_release(path));
}

static void set_operation_of_another_type_of_expressions_is_not_created(void) {
    cst_expression *path = path_expression("name"), *made = NULL;
    const uint32_t type = CST_EXPRESSION_SUBQUERY;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_expression_new_set_operation(type, path, path, &made, E));
    REJECTED("type", type, "CST_EXPRESSION_UNION");
    CHECK(made == NULL);
    OK(cst_release(path));
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(model_names_of_an_unknown_list_are_rejected);
    RUN(model_source_flags_are_checked);
    RUN(model_write_flags_are_checked_before_a_file_is_written);
    RUN(model_convert_flags_are_checked_before_a_file_is_read);
    RUN(attribute_of_an_unknown_type_is_not_added);
    RUN(attribute_with_flags_of_relationships_is_not_added);
    RUN(relationship_with_flags_of_attributes_is_not_added);
    RUN(property_flags_with_an_unknown_mask_are_rejected);
    RUN(composite_element_of_an_unknown_type_is_not_added);
    RUN(composite_element_with_flags_of_attributes_is_not_added);
    RUN(fetch_index_with_unknown_flags_is_not_added);
    RUN(unknown_delete_rule_leaves_the_rule_unchanged);
    RUN(accessor_of_an_unknown_kind_is_rejected_before_the_model_is_frozen);
    RUN(inferred_mapping_with_unknown_flags_is_rejected);
    RUN(migration_guard_with_unknown_flags_is_rejected);
    RUN(store_with_unknown_flags_is_not_created);
    RUN(store_type_of_an_unknown_kind_is_not_registered);
    RUN(store_type_with_unknown_abilities_is_not_registered);
    RUN(coordinator_stays_open_when_the_policy_for_unsaved_changes_is_unknown);
    RUN(context_stays_open_when_the_policy_for_unsaved_changes_is_unknown);
    RUN(container_stays_open_when_the_policy_for_unsaved_changes_is_unknown);
    RUN(document_stays_open_when_the_policy_for_unsaved_changes_is_unknown);
    RUN(store_description_with_unknown_flags_is_not_added);
    RUN(unsaved_changes_with_unknown_flags_are_rejected);
    RUN(views_with_an_unknown_form_of_dates_are_rejected);
    RUN(history_of_an_unknown_subject_is_rejected);
    RUN(context_with_an_unknown_queue_is_not_created);
    RUN(child_context_with_an_unknown_queue_is_not_created);
    RUN(document_with_an_unknown_queue_is_not_created);
    RUN(document_with_an_unknown_queue_is_not_opened);
    RUN(body_with_an_unknown_schedule_is_freed_without_running);
    RUN(changed_objects_of_an_unknown_kind_are_rejected);
    RUN(count_of_changed_objects_of_an_unknown_kind_is_rejected);
    RUN(unknown_context_option_is_rejected);
    RUN(unknown_fault_policy_leaves_the_policy_unchanged);
    RUN(fault_report_of_an_unknown_form_is_rejected);
    RUN(merge_policy_of_an_unknown_type_is_not_created);
    RUN(conflict_is_not_resolved_by_an_unknown_type);
    RUN(unknown_snapshot_of_a_conflict_is_rejected);
    RUN(unknown_fetch_option_is_rejected);
    RUN(unknown_result_type_leaves_the_request_unchanged);
    RUN(unknown_meaning_of_nulls_leaves_the_request_unchanged);
    RUN(explanation_of_an_unknown_form_is_rejected);
    RUN(unknown_aggregate_is_rejected);
    RUN(unknown_sort_flags_leave_the_order_unchanged);
    RUN(arrow_stream_of_a_fetch_with_unknown_flags_is_rejected);
    RUN(arrow_export_of_results_with_unknown_flags_is_rejected);
    RUN(arrow_export_of_rows_with_unknown_flags_is_rejected);
    RUN(batch_ids_of_an_unknown_kind_of_change_are_rejected);
    RUN(batch_column_of_an_unknown_form_is_rejected);
    RUN(value_of_an_unknown_type_names_its_property);
    RUN(validation_for_an_unknown_purpose_is_rejected);
    RUN(unknown_mutation_of_members_is_rejected);
    RUN(unknown_selection_of_values_is_rejected);
    RUN(observer_of_an_unknown_context_notification_is_freed);
    RUN(observer_of_an_unknown_coordinator_notification_is_freed);
    RUN(observer_of_an_unknown_undo_notification_is_freed);
    RUN(observer_of_an_object_with_unknown_options_is_freed);
    RUN(unknown_menu_text_of_an_undo_manager_is_rejected);
    RUN(compound_predicate_of_an_unknown_type_is_not_created);
    RUN(comparison_with_an_unknown_operator_is_not_created);
    RUN(comparison_with_an_unknown_modifier_is_not_created);
    RUN(comparison_with_unknown_options_is_not_created);
    RUN(set_operation_of_another_type_of_expressions_is_not_created);
    return check_end();
}
