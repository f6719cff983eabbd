/* Migration guards: versions in files and in memory, real stores, and kept releases.
 *
 * SPDX-License-Identifier: MIT
 */
#include "company.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const cst_string none = {NULL, 0};

static const char first_text[] = "{\"Note\": {\"title\": \"string?\", \"text\": \"string?\"}}";
static const char second_text[] = "{\"Note\": {\"title\": \"string?\", \"code\": \"string\"}}";

static cst_model *model_of(const char *content) {
    cst_model *model = NULL;
    OK(cst_model_new_from_text(text(content), &model, E));
    return model;
}

static void write_version(const char *bundle, const char *version, const char *content) {
    cst_model *model = model_of(content);
    OK(cst_model_write(model, text(bundle), text(version), 0, E));
    OK(cst_release(model));
}

static bool has(const cst_buffer *json, const char *words) { return json->data && strstr(json->data, words); }

/* A store of the first version with one note. */
static void fill(const char *path) {
    cst_model *model = model_of(first_text);
    cst_coordinator *coordinator = NULL;
    cst_context *context = NULL;
    cst_entity *note = NULL;
    cst_object *object = NULL;
    OK(cst_coordinator_new(model, &coordinator, E));
    OK(cst_coordinator_add_store(coordinator, none, text(path), NULL, NULL, E));
    OK(cst_context_new(coordinator, CST_QUEUE_CALLER, &context, E));
    OK(cst_model_entity(model, CST_TEXT("Note"), &note, E));
    OK(cst_context_insert(context, note, &object, E));
    OK(cst_context_save(context, E));
    OK(cst_release(object));
    OK(cst_release(context));
    OK(cst_release(coordinator));
    OK(cst_release(model));
}

static void versions_of_a_bundle_are_checked(void) {
    const char *bundle = check_path("Notes.xcdatamodeld");
    cst_migration_guard_options options = CST_MIGRATION_GUARD_OPTIONS_INIT;
    cst_buffer json = {NULL, 0, 0};
    write_version(bundle, "Notes", first_text);
    OK(cst_migration_guard_check(text(bundle), none, NULL, &json, E));
    CHECK(has(&json, "\"findings\":[]") || has(&json, "\"findings\": []"));
    write_version(bundle, "Notes 2", second_text);
    OK(cst_migration_guard_check(text(bundle), none, &options, &json, E));
    CHECK(has(&json, "required-without-default"));
    CHECK(has(&json, "removed-property"));
    CHECK(has(&json, "\"Notes 2\""));
    CHECK(!has(&json, "cloudkit-not-additive"));
    options.profile = CST_TEXT("cloudkit");
    OK(cst_migration_guard_check(text(bundle), text(bundle), &options, &json, E));
    CHECK(has(&json, "cloudkit-not-additive"));

    /* Invalid arguments. */
    options.profile = CST_TEXT("icloud");
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_migration_guard_check(text(bundle), none, &options, &json, E));
    CHECK_TEXT("profile", cst_error_key(check_error()));
    options.profile = none;
    const cst_string wrong = CST_TEXT("Notse");
    options.version_count = 1;
    options.versions = &wrong;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_migration_guard_check(text(bundle), none, &options, &json, E));
    CHECK_CONTAINS("did you mean \"Notes\"", cst_error_message(check_error()));
    options.version_count = 0;
    options.version = CST_TEXT("Notes 3");
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_migration_guard_check(text(bundle), none, &options, &json, E));
    options.version = none;
    options.flags = 1u << 30;
    CHECK_STATUS(CST_E_UNSUPPORTED, cst_migration_guard_check(text(bundle), none, &options, &json, E));
    CHECK_CONTAINS("options.flags is 0x40000000", cst_error_message(check_error()));
    options.flags = CST_GUARD_ALLOW_TYPE_CHANGES;
    cst_store_options store_options = CST_STORE_OPTIONS_INIT;
    store_options.flags = 1u << 30;
    options.store_options = &store_options;
    CHECK_STATUS(CST_E_UNSUPPORTED, cst_migration_guard_check(text(bundle), none, &options, &json, E));
    CHECK_CONTAINS("options.store_options.flags is 0x40000000", cst_error_message(check_error()));
    options.store_options = NULL;
    options.struct_size = 3;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_migration_guard_check(text(bundle), none, &options, &json, E));
    CHECK_CONTAINS("CST_MIGRATION_GUARD_OPTIONS_INIT", cst_error_message(check_error()));
    CHECK_STATUS(CST_E_STORE_IO, cst_migration_guard_check(text(check_path("none")), none, NULL, &json, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_migration_guard_check(none, none, NULL, &json, E));
    CHECK_STATUS(CST_E_INVALID_UTF8, cst_migration_guard_check(text(bundle), text("\xff"), NULL, &json, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_migration_guard_check(text(bundle), none, NULL, NULL, E));
    cst_buffer_dispose(&json);
}

static bool record_stores(void *userdata, uint64_t done, uint64_t total) {
    (void)total;
    return done < *(uint64_t *)userdata;
}

static void models_and_stores_are_checked(void) {
    cst_model *first = model_of(first_text), *second = model_of(second_text);
    cst_migration_guard_options options = CST_MIGRATION_GUARD_OPTIONS_INIT;
    cst_buffer json = {NULL, 0, 0};
    const cst_string name = CST_TEXT("1");
    const char *folder = check_path("stores");
    CHECK_INT(0, mkdir(folder, 0777));
    fill(check_path("stores/a.sqlite"));
    const cst_string stores[] = {text(folder), text(check_path("stores/a.sqlite"))};
    uint64_t limit = 9;
    options.store_count = 2;
    options.stores = stores;
    options.progress = record_stores;
    options.progress_userdata = &limit;
    OK(cst_migration_guard_check_models(CST_TEXT("2"), second, 1, &name, &first, &options, &json, E));
    CHECK(has(&json, "required-without-default"));
    CHECK(has(&json, "store-fails"));
    CHECK(has(&json, "stores/a.sqlite"));
    OK(cst_migration_guard_check_models(CST_TEXT("1"), first, 0, NULL, NULL, &options, &json, E));
    CHECK(!has(&json, "store-fails"));

    limit = 1;
    CHECK_STATUS(CST_E_CANCELLED,
                 cst_migration_guard_check_models(CST_TEXT("2"), second, 1, &name, &first, &options, &json, E));
    CHECK_INT(CST_CODE_MIGRATION_CANCELLED, cst_error_code(check_error()));
    options.progress = NULL;
    const cst_string missing = text(check_path("stores/none.sqlite"));
    options.store_count = 1;
    options.stores = &missing;
    CHECK_STATUS(CST_E_STORE_IO,
                 cst_migration_guard_check_models(CST_TEXT("2"), second, 1, &name, &first, &options, &json, E));
    CHECK_TEXT(missing.data, cst_error_file(check_error()));
    const cst_string empty = text(check_path("empty"));
    CHECK_INT(0, mkdir(empty.data, 0777));
    options.stores = &empty;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                 cst_migration_guard_check_models(CST_TEXT("2"), second, 1, &name, &first, &options, &json, E));
    options.store_count = 0;

    /* Options that belong to the other function. */
    options.version = CST_TEXT("2");
    CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                 cst_migration_guard_check_models(CST_TEXT("2"), second, 1, &name, &first, &options, &json, E));
    CHECK_TEXT("version", cst_error_key(check_error()));
    options.version = none;
    options.related_count = 1;
    options.related = &first;
    OK(cst_migration_guard_check_models(CST_TEXT("2"), second, 1, &name, &first, &options, &json, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_migration_guard_check(text(folder), none, &options, &json, E));
    CHECK_TEXT("related", cst_error_key(check_error()));
    CHECK_STATUS(CST_E_INVALID_HANDLE,
                 cst_migration_guard_check_models(CST_TEXT("2"), NULL, 1, &name, &first, NULL, &json, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                 cst_migration_guard_check_models(CST_TEXT("2"), second, 1, NULL, &first, NULL, &json, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                 cst_migration_guard_check_models(none, second, 1, &name, &first, NULL, &json, E));
    cst_buffer_dispose(&json);
    OK(cst_release(first));
    OK(cst_release(second));
}

static void releases_are_kept_and_checked(void) {
    const char *folder = check_path("released"), *bundle = check_path("Notes.xcdatamodeld");
    cst_model *first = model_of(first_text), *second = model_of(second_text), *found = NULL;
    cst_buffer json = {NULL, 0, 0};
    CHECK_STATUS(CST_E_STORE_IO, cst_model_release_copy_list(text(folder), &json, E));
    CHECK_TEXT("folder", cst_error_key(check_error()));
    CHECK_TEXT(folder, cst_error_file(check_error()));
    OK(cst_model_release_keep(first, CST_TEXT("Notes"), text(folder), E));
    CHECK_STATUS(CST_UNCHANGED, cst_model_release_keep(first, CST_TEXT("Notes"), text(folder), E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_model_release_keep(second, CST_TEXT("Notes"), text(folder), E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_model_release_keep(first, CST_TEXT("a/b"), text(folder), E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_model_release_keep(first, none, text(folder), E));
    CHECK_TEXT("name", cst_error_key(check_error()));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_model_release_keep(first, CST_TEXT("Notes"), none, E));
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_model_release_keep(NULL, CST_TEXT("Notes"), text(folder), E));
    CHECK_STATUS(CST_E_INVALID_UTF8, cst_model_release_keep(first, text("\xff"), text(folder), E));
    OK(cst_model_release_copy_list(text(folder), &json, E));
    CHECK(has(&json, "\"Notes\"") && has(&json, "Notes.mom") && has(&json, "\"checksum\"") && has(&json, "\"Note\""));
    OK(cst_model_release_load(text(folder), CST_TEXT("Notes"), &found, E));
    CHECK_TEXT("Notes", cst_model_version_name(found));
    /* A model of a version has its name. */
    CHECK_STATUS(CST_UNCHANGED, cst_model_release_keep(found, none, text(folder), E));
    OK(cst_release(found));
    CHECK_STATUS(CST_NOT_FOUND, cst_model_release_load(text(folder), CST_TEXT("Notes 2"), &found, E));
    CHECK(found == NULL);

    write_version(bundle, "Notes", first_text);
    OK(cst_model_release_check(text(folder), text(bundle), &json, E));
    CHECK(!has(&json, "rule"));
    write_version(bundle, "Notes", second_text);
    OK(cst_model_release_check(text(folder), text(bundle), &json, E));
    CHECK(has(&json, "edited-release"));
    OK(cst_migration_guard_check(text(folder), text(bundle), NULL, &json, E));
    CHECK(has(&json, "edited-release"));
    CHECK_STATUS(CST_E_STORE_IO, cst_model_release_check(text(check_path("none")), text(bundle), &json, E));
    CHECK_STATUS(CST_E_STORE_IO, cst_model_release_check(text(folder), text(check_path("none")), &json, E));
    check_write(check_path("released/Notes.mom"), "damaged");
    OK(cst_model_release_check(text(folder), text(bundle), &json, E));
    CHECK(has(&json, "damaged-release"));
    CHECK_STATUS(CST_E_MODEL, cst_model_release_load(text(folder), CST_TEXT("Notes"), &found, E));
    check_write(check_path("released/Notes.json"), "[]");
    CHECK_STATUS(CST_E_MODEL, cst_model_release_copy_list(text(folder), &json, E));
    cst_buffer_dispose(&json);
    OK(cst_release(first));
    OK(cst_release(second));
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(versions_of_a_bundle_are_checked);
    RUN(models_and_stores_are_checked);
    RUN(releases_are_kept_and_checked);
    return check_end();
}
