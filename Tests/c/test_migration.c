/* Migration between versions of a model: calls that migrate, preserved values, refused migrations and their errors.
 *
 * SPDX-License-Identifier: MIT
 */
#include "company.h"

#include <sqlite3.h>
#include <string.h>

static const cst_string none = {NULL, 0};

/* Versions of a model of notes:
 *   1: title        2: title, done (required, true)       3: heading (was title), done       4: done
 *   5: done is an Integer 16 */
static cst_model *version(int number) {
    cst_model *model = NULL;
    cst_entity *note = NULL;
    cst_attribute *title = NULL, *done = NULL;
    OK(cst_model_new(&model, E));
    OK(cst_model_add_entity(model, CST_TEXT("Note"), &note, E));
    if (number <= 3) {
        cst_string name = number == 3 ? CST_TEXT("heading") : CST_TEXT("title");
        OK(cst_entity_add_attribute(note, name, CST_ATTRIBUTE_STRING, 0, &title, E));
        if (number == 3) OK(cst_entity_set_property_renaming_identifier(note, name, CST_TEXT("title"), E));
    }
    if (number >= 2) {
        cst_attribute_type type = number == 5 ? CST_ATTRIBUTE_INTEGER_16 : CST_ATTRIBUTE_BOOLEAN;
        cst_value yes = number == 5 ? value_int(1) : value_bool(true);
        OK(cst_entity_add_attribute(note, CST_TEXT("done"), type, 0, &done, E));
        OK(cst_attribute_set_default(done, &yes, E));
    }
    return model;
}

struct notes {
    cst_coordinator *coordinator;
    cst_context *context;
    cst_entity *entity;
};

static cst_status add_store(cst_model *model, const char *type, const char *path, const cst_store_options *options,
                            cst_coordinator **coordinator) {
    OK(cst_coordinator_new(model, coordinator, E));
    return cst_coordinator_add_store(*coordinator, type ? text(type) : none, text(path), options, NULL, E);
}

static struct notes open_notes(int number, const char *type, const char *path, uint32_t flags) {
    struct notes notes = {NULL, NULL, NULL};
    cst_store_options options = CST_STORE_OPTIONS_INIT;
    options.flags = flags;
    cst_model *model = version(number);
    OK(add_store(model, type, path, &options, &notes.coordinator));
    OK(cst_context_new(notes.coordinator, CST_QUEUE_CALLER, &notes.context, E));
    OK(cst_model_entity(model, CST_TEXT("Note"), &notes.entity, E));
    OK(cst_release(model));
    return notes;
}

static void close_notes(struct notes *notes) {
    OK(cst_release(notes->context));
    OK(cst_release(notes->coordinator));
}

static void write_first(const char *type, const char *path) {
    struct notes notes = open_notes(1, type, path, 0);
    cst_key title = CST_NO_KEY;
    cst_object *note = NULL;
    OK(cst_entity_key(notes.entity, CST_TEXT("title"), &title, E));
    OK(cst_context_insert(notes.context, notes.entity, &note, E));
    set(note, title, value_text("Milk"));
    OK(cst_context_save(notes.context, E));
    OK(cst_release(note));
    close_notes(&notes);
}

static void check_note(struct notes *notes, const char *name, const char *expected) {
    cst_results *results = company_fetch(notes->context, notes->entity, NULL, NULL);
    REQUIRE(cst_results_count(results) == 1);
    cst_object *note = NULL;
    OK(cst_results_get_object(results, 0, &note, E));
    cst_key key = CST_NO_KEY;
    cst_value value;
    if (name) {
        OK(cst_entity_key(notes->entity, text(name), &key, E));
        OK(cst_object_get(note, key, &value, E));
        CHECK_TEXT(expected, value.as.string);
    }
    if (cst_entity_key(notes->entity, CST_TEXT("done"), &key, E) == CST_OK) {
        OK(cst_object_get(note, key, &value, E));
        CHECK(value.type == CST_BOOL && value.as.boolean);
    }
    OK(cst_release(results));
}

static const uint32_t migrate = CST_STORE_MIGRATE | CST_STORE_INFER_MAPPING;
static const char *const types[] = {"SQLite", "XML", "Binary"};

static void a_store_is_migrated_on_request(void) {
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        const char *path = check_path(types[i]);
        write_first(types[i], path);
        cst_model *model = version(2);
        cst_coordinator *coordinator = NULL;
        CHECK_STATUS(CST_E_MODEL_MISMATCH, add_store(model, NULL, path, NULL, &coordinator));
        CHECK_INT(CST_CODE_PERSISTENT_STORE_INCOMPATIBLE_VERSION_HASH, cst_error_code(check_error()));
        OK(cst_release(coordinator));
        OK(cst_release(model));
        struct notes notes = open_notes(2, NULL, path, migrate);
        check_note(&notes, "title", "Milk");
        close_notes(&notes);
        notes = open_notes(3, NULL, path, migrate);
        check_note(&notes, "heading", "Milk");
        close_notes(&notes);
    }
}

static void a_mapping_is_inferred_only_on_request(void) {
    const char *path = check_path("notes.sqlite");
    write_first(NULL, path);
    cst_store_options options = CST_STORE_OPTIONS_INIT;
    options.flags = CST_STORE_MIGRATE;
    cst_model *model = version(2);
    cst_coordinator *coordinator = NULL;
    CHECK_STATUS(CST_E_MIGRATION, add_store(model, NULL, path, &options, &coordinator));
    CHECK_INT(CST_CODE_MIGRATION_MISSING_MAPPING_MODEL, cst_error_code(check_error()));
    options.flags = CST_STORE_MIGRATE | CST_STORE_NO_MIGRATION;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_coordinator_add_store(coordinator, none, text(path), &options, NULL, E));
    OK(cst_release(coordinator));
    OK(cst_release(model));
}

static void older_models_are_refused(void) {
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        const char *path = check_path(types[i]);
        write_first(types[i], path);
        struct notes notes = open_notes(2, NULL, path, migrate);
        close_notes(&notes);
        cst_store_options options = CST_STORE_OPTIONS_INIT;
        options.flags = migrate | CST_STORE_ALLOW_REMOVALS;
        cst_model *model = version(1);
        cst_coordinator *coordinator = NULL;
        CHECK_STATUS(CST_E_MIGRATION, add_store(model, NULL, path, &options, &coordinator));
        CHECK_INT(CST_CODE_STAGED_MIGRATION_BACKWARD_MIGRATION, cst_error_code(check_error()));
        OK(cst_release(coordinator));
        OK(cst_release(model));
        /* A model that only lacks something may be older. */
        model = version(4);
        options.flags = migrate;
        CHECK_STATUS(CST_E_MIGRATION, add_store(model, NULL, path, &options, &coordinator));
        CHECK_INT(CST_CODE_STAGED_MIGRATION_BACKWARD_MIGRATION, cst_error_code(check_error()));
        CHECK_CONTAINS("Note.title", cst_error_message(check_error()));
        options.flags = migrate | CST_STORE_ALLOW_REMOVALS;
        OK(cst_coordinator_add_store(coordinator, none, text(path), &options, NULL, E));
        OK(cst_release(coordinator));
        OK(cst_release(model));
    }
}

static void attribute_types_change_only_on_request(void) {
    const char *path = check_path("notes.sqlite");
    write_first(NULL, path);
    struct notes notes = open_notes(2, NULL, path, migrate);
    close_notes(&notes);
    cst_store_options options = CST_STORE_OPTIONS_INIT;
    options.flags = migrate | CST_STORE_ALLOW_REMOVALS;
    cst_model *model = version(5);
    cst_coordinator *coordinator = NULL;
    CHECK_STATUS(CST_E_MIGRATION, add_store(model, NULL, path, &options, &coordinator));
    CHECK_INT(CST_CODE_INFERRED_MAPPING_MODEL, cst_error_code(check_error()));
    CHECK_TEXT("Note", cst_error_entity(check_error()));
    CHECK_TEXT("done", cst_error_key(check_error()));
    options.flags |= CST_STORE_ALLOW_TYPE_CHANGES;
    OK(cst_coordinator_add_store(coordinator, none, text(path), &options, NULL, E));
    OK(cst_release(coordinator));
    OK(cst_release(model));
}

struct recorded {
    int calls;
    uint64_t last, total;
    bool cancels;
};

static bool record_progress(void *userdata, uint64_t done, uint64_t total) {
    struct recorded *recorded = userdata;
    recorded->calls++;
    CHECK(done <= total && done >= recorded->last);
    recorded->last = done;
    recorded->total = total;
    return !recorded->cancels;
}

static void progress_callbacks_can_cancel_a_migration(void) {
    const char *path = check_path("notes.sqlite");
    write_first(NULL, path);
    struct recorded recorded = {0, 0, 0, true};
    cst_store_options options = CST_STORE_OPTIONS_INIT;
    options.flags = migrate;
    options.migration_progress = record_progress;
    options.migration_userdata = &recorded;
    cst_model *model = version(2);
    cst_coordinator *coordinator = NULL;
    CHECK_STATUS(CST_E_CANCELLED, add_store(model, NULL, path, &options, &coordinator));
    CHECK_INT(CST_CODE_MIGRATION_CANCELLED, cst_error_code(check_error()));
    CHECK_INT(1, recorded.calls);
    recorded = (struct recorded){0, 0, 0, false};
    OK(cst_coordinator_add_store(coordinator, none, text(path), &options, NULL, E));
    CHECK(recorded.calls > 1);
    CHECK_INT(recorded.total, recorded.last);
    OK(cst_release(coordinator));
    OK(cst_release(model));
}

static void the_source_model_is_found_in_the_options(void) {
    const char *path = check_path("notes.sqlite");
    write_first(NULL, path);
    sqlite3 *file = NULL;
    REQUIRE(sqlite3_open(path, &file) == SQLITE_OK);
    REQUIRE(sqlite3_exec(file, "DELETE FROM Z_MODELCACHE", NULL, NULL, NULL) == SQLITE_OK);
    sqlite3_close(file);
    cst_store_options options = CST_STORE_OPTIONS_INIT;
    options.flags = migrate;
    cst_model *model = version(2), *source = version(1);
    cst_coordinator *coordinator = NULL;
    CHECK_STATUS(CST_E_MIGRATION, add_store(model, NULL, path, &options, &coordinator));
    CHECK_INT(CST_CODE_MIGRATION_MISSING_SOURCE_MODEL, cst_error_code(check_error()));
    options.source_models = &source;
    options.source_model_count = 1;
    OK(cst_coordinator_add_store(coordinator, none, text(path), &options, NULL, E));
    OK(cst_release(coordinator));
    OK(cst_release(model));
    OK(cst_release(source));
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(a_store_is_migrated_on_request);
    RUN(a_mapping_is_inferred_only_on_request);
    RUN(older_models_are_refused);
    RUN(attribute_types_change_only_on_request);
    RUN(progress_callbacks_can_cancel_a_migration);
    RUN(the_source_model_is_found_in_the_options);
    return check_end();
}
