/* Backups of a migration, its verification, and migrations that defer tasks.
 *
 * SPDX-License-Identifier: MIT
 */
#include "garage.h"

#include <string.h>
#include <sys/stat.h>

/* The new model without owners: one column is removed. */
static const char poor_text[] = "{\"Car\": {\"plate\": \"string?\"}, \"Person\": {\"name\": \"string?\"}}";

static cst_store_options options_of(uint32_t flags, const cst_migration_backup *backup) {
    cst_store_options options = CST_STORE_OPTIONS_INIT;
    options.flags = CST_STORE_MIGRATE | CST_STORE_INFER_MAPPING | CST_STORE_ALLOW_REMOVALS | flags;
    options.backup = backup;
    return options;
}

static void migrate(const char *path, const char *content, uint32_t flags, const cst_migration_backup *backup) {
    const cst_store_options options = options_of(flags, backup);
    cst_model *model = model_of(content);
    cst_coordinator *coordinator = NULL;
    cst_context *context = NULL;
    OK(open_with(path, model, &options, &coordinator, &context));
    OK(cst_release(context));
    OK(cst_release(coordinator));
    OK(cst_release(model));
}

static size_t count_backups(const char *path, cst_string folder, cst_buffer *paths) {
    size_t count = 99;
    OK(cst_store_copy_backups(text(path), folder, paths, &count, E));
    return count;
}

static void a_backup_is_created_listed_and_restored(void) {
    const char *path = check_path("cars.sqlite");
    cst_migration_backup backup = CST_MIGRATION_BACKUP_INIT;
    cst_buffer paths = {NULL, 0, 0}, restored = {NULL, 0, 0};
    cst_coordinator *coordinator = NULL;
    cst_model *empty = NULL;
    OK(cst_model_new(&empty, E));
    OK(cst_coordinator_new(empty, &coordinator, E));
    fill_store(path);
    CHECK_INT(0, count_backups(path, none, &paths));
    CHECK_INT(0, paths.size);
    CHECK_STATUS(CST_E_STORE_IO, cst_coordinator_restore_store(coordinator, text(path), none, none, NULL, NULL, E));
    CHECK_CONTAINS("does not have a backup in its folder", cst_error_message(check_error()));
    migrate(path, new_text, CST_STORE_VERIFY_MIGRATION, &backup);
    CHECK_INT(1, count_backups(path, none, &paths));
    CHECK_CONTAINS("cars.sqlite.backup-", view_of(paths.data));
    expect_cars(path, new_text, "plate", "a=a,b=b,");
    /* Without a migration there is no backup. */
    migrate(path, new_text, 0, &backup);
    CHECK_INT(1, count_backups(path, none, &paths));

    OK(cst_coordinator_restore_store(coordinator, text(path), none, none, NULL, &restored, E));
    CHECK_WORDS(paths.data, restored.data);
    expect_cars(path, old_text, "owner.name", "a=Ada,b=Ada,");
    migrate(path, new_text, 0, NULL);
    OK(cst_coordinator_restore_store(coordinator, text(path), text(restored.data), none, NULL, NULL, E));
    expect_cars(path, old_text, "owner.name", "a=Ada,b=Ada,");
    CHECK_INT(1, count_backups(path, none, &paths));

    /* The copy of another store, a missing copy, invalid paths. */
    const char *other = check_path("other.sqlite");
    fill_store(other);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                 cst_coordinator_restore_store(coordinator, text(path), text(other), none, NULL, NULL, E));
    CHECK_TEXT(other, cst_error_file(check_error()));
    CHECK(cst_coordinator_restore_store(coordinator, text(path), text(check_path("gone")), none, NULL, NULL, E) < 0);
    CHECK(check_error() != NULL);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_coordinator_restore_store(coordinator, none, none, none, NULL, NULL, E));
    CHECK_TEXT("path", cst_error_key(check_error()));
    CHECK_STATUS(CST_E_INVALID_UTF8,
                 cst_coordinator_restore_store(coordinator, text(path), text("\xff"), none, NULL, NULL, E));
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_coordinator_restore_store(NULL, text(path), none, none, NULL, NULL, E));
    CHECK_STATUS(CST_E_STORE_IO, cst_store_copy_backups(text(path), text(check_path("gone")), &paths, NULL, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_store_copy_backups(text(path), CST_TEXT(""), &paths, NULL, E));
    CHECK_TEXT("folder", cst_error_key(check_error()));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_store_copy_backups(text(path), none, NULL, NULL, E));
    expect_cars(path, old_text, "owner.name", "a=Ada,b=Ada,");
    cst_buffer_dispose(&paths);
    cst_buffer_dispose(&restored);
    OK(cst_release(coordinator));
    OK(cst_release(empty));
}

static void backups_are_kept_in_a_folder_up_to_a_limit(void) {
    const char *path = check_path("cars.sqlite"), *folder = check_path("copies");
    cst_migration_backup backup = CST_MIGRATION_BACKUP_INIT;
    cst_store_options options = CST_STORE_OPTIONS_INIT;
    cst_buffer paths = {NULL, 0, 0};
    cst_coordinator *coordinator = NULL;
    cst_context *context = NULL;
    cst_model *model = model_of(new_text);
    backup.folder = text(folder);
    backup.keep = 2;
    fill_store(path);
    /* A folder that does not exist: the store is not migrated. */
    options = options_of(0, &backup);
    CHECK(open_with(path, model, &options, &coordinator, &context) < 0);
    CHECK(check_error() != NULL);
    expect_cars(path, old_text, "owner.name", "a=Ada,b=Ada,");
    CHECK_INT(0, mkdir(folder, 0777));
    migrate(path, new_text, 0, &backup);
    migrate(path, last_text, 0, &backup);
    migrate(path, poor_text, 0, &backup);
    CHECK_INT(2, count_backups(path, text(folder), &paths));
    CHECK_INT(0, count_backups(path, none, &paths));
    cst_buffer_dispose(&paths);

    /* A struct that is not initialised, and a folder without a name. */
    backup.struct_size = 1;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, open_with(path, model, &options, &coordinator, &context));
    CHECK_CONTAINS("CST_MIGRATION_BACKUP_INIT", cst_error_message(check_error()));
    backup.struct_size = sizeof backup;
    backup.folder = CST_TEXT("");
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, open_with(path, model, &options, &coordinator, &context));
    CHECK_TEXT("options.backup.folder", cst_error_key(check_error()));
    backup.folder = text("\xff");
    CHECK_STATUS(CST_E_INVALID_UTF8, open_with(path, model, &options, &coordinator, &context));
    OK(cst_release(model));
}

struct report {
    uint64_t calls, total, last;
};

static bool record_tasks(void *userdata, uint64_t done, uint64_t total) {
    struct report *report = userdata;
    report->calls++;
    report->total = report->last ? total : 0;
    return done < report->last;
}

static void a_deferred_migration_leaves_tasks(void) {
    const char *path = check_path("cars.sqlite");
    const cst_store_options options = options_of(CST_STORE_DEFER_MIGRATION_CLEANUP, NULL);
    cst_model *model = model_of(poor_text);
    cst_coordinator *coordinator = NULL, *other = NULL;
    cst_context *context = NULL;
    cst_store *store = NULL;
    size_t count = 99;
    bool more = true;
    fill_store(path);
    OK(open_with(path, model, &options, &coordinator, &context));
    OK(cst_coordinator_store(coordinator, 0, &store, E));
    OK(cst_coordinator_deferred_migration_task_count(coordinator, store, &count, E));
    CHECK_INT(1, count);
    CHECK_WORDS("a=a,b=b,", cars(context, "plate"));

    /* Cancelled before the first task. */
    struct report report = {0, 0, 0};
    CHECK_STATUS(CST_E_CANCELLED,
                 cst_coordinator_finish_deferred_migration(coordinator, store, record_tasks, &report, E));
    CHECK_INT(CST_CODE_MIGRATION_CANCELLED, cst_error_code(check_error()));
    CHECK_TEXT(path, cst_error_file(check_error()));
    CHECK_INT(1, report.calls);
    OK(cst_coordinator_deferred_migration_task_count(coordinator, store, &count, E));
    CHECK_INT(1, count);

    OK(cst_coordinator_finish_deferred_migration_task(coordinator, store, &more, E));
    CHECK(!more);
    OK(cst_coordinator_deferred_migration_task_count(coordinator, store, &count, E));
    CHECK_INT(0, count);
    OK(cst_coordinator_finish_deferred_migration_task(coordinator, store, &more, E));
    CHECK(!more);
    OK(cst_coordinator_finish_deferred_migration(coordinator, store, NULL, NULL, E));
    CHECK_WORDS("a=a,b=b,", cars(context, "plate"));

    /* The store of another coordinator, and missing outputs and handles. */
    OK(cst_coordinator_new(model, &other, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_coordinator_deferred_migration_task_count(other, store, &count, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_coordinator_finish_deferred_migration_task(other, store, &more, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_coordinator_finish_deferred_migration(other, store, NULL, NULL, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_coordinator_finish_deferred_migration_task(coordinator, store, NULL, E));
    CHECK_TEXT("out_more", cst_error_key(check_error()));
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_coordinator_deferred_migration_task_count(coordinator, NULL, &count, E));
    OK(cst_release(other));
    OK(cst_release(store));
    OK(cst_release(context));
    OK(cst_release(coordinator));

    /* All tasks in one call. */
    path = check_path("more.sqlite");
    fill_store(path);
    OK(open_with(path, model, &options, &coordinator, &context));
    OK(cst_coordinator_store(coordinator, 0, &store, E));
    report = (struct report){0, 0, 9};
    OK(cst_coordinator_finish_deferred_migration(coordinator, store, record_tasks, &report, E));
    CHECK_INT(2, report.calls);
    CHECK_INT(1, report.total);
    OK(cst_release(store));
    OK(cst_release(context));
    OK(cst_release(coordinator));
    expect_cars(path, poor_text, "plate", "a=a,b=b,");
    OK(cst_release(model));
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(a_backup_is_created_listed_and_restored);
    RUN(backups_are_kept_in_a_folder_up_to_a_limit);
    RUN(a_deferred_migration_leaves_tasks);
    return check_end();
}
