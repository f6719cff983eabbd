/* Operations on whole stores: moving, replacing, destroying, copying, metadata, logs.
 *
 * SPDX-License-Identifier: MIT
 */
#include "company.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool exists(const char *path) { return access(path, F_OK) == 0; }

/* A store with one employee. */
static struct company open_with(const char *path, const char *name) {
    struct company c = company_open(path);
    OK(cst_release(company_employee(&c, c.context, name, 1)));
    save(c.context);
    return c;
}

static bool count_up(void *userdata, uint64_t done, uint64_t total) {
    ++*(int *)userdata;
    return done <= total;
}

static bool stop(void *userdata, uint64_t done, uint64_t total) {
    (void)userdata, (void)done, (void)total;
    return false;
}

static void an_open_store_is_copied(void) {
    const char *copy = check_path("copy.sqlite");
    struct company c = open_with(check_path("a.sqlite"), "Ada");
    int calls = 0;
    CHECK_STATUS(CST_E_CANCELLED,
                 cst_coordinator_backup_store(c.coordinator, c.store, text(copy), NULL, stop, NULL, E));
    CHECK(!exists(copy));
    OK(cst_coordinator_backup_store(c.coordinator, c.store, text(copy), NULL, count_up, &calls, E));
    CHECK(calls > 0);
    OK(cst_release(company_employee(&c, c.context, "Bob", 2)));
    save(c.context);
    struct company other = company_open(copy);
    CHECK_INT(1, company_count(other.context, other.employee, NULL));
    CHECK(strcmp(cst_store_identifier(other.store).data, cst_store_identifier(c.store).data) == 0);
    company_close(&other);
    OK(cst_coordinator_backup_store(c.coordinator, c.store, text(copy), NULL, NULL, NULL, E));
    other = company_open(copy);
    CHECK_INT(2, company_count(other.context, other.employee, NULL));
    company_close(&other);

    struct company unrelated = open_with(check_path("b.sqlite"), "Eve");
    company_close(&unrelated);
    CHECK_STATUS(
        CST_E_INVALID_ARGUMENT,
        cst_coordinator_backup_store(c.coordinator, c.store, text(check_path("b.sqlite")), NULL, NULL, NULL, E));
    CHECK_CONTAINS("is not a copy of", cst_error_message(check_error()));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                 cst_coordinator_backup_store(c.coordinator, c.store, cst_store_path(c.store), NULL, NULL, NULL, E));
    CHECK_STATUS(CST_E_STORE_IO, cst_coordinator_backup_store(c.coordinator, c.store, text(check_path("none/c.sqlite")),
                                                              NULL, NULL, NULL, E));
    CHECK_CONTAINS("does not exist", cst_error_message(check_error()));
    company_close(&c);
}

static void a_store_is_replaced(void) {
    struct company source = open_with(check_path("source.sqlite"), "Ada");
    company_close(&source);
    struct company c = open_with(check_path("a.sqlite"), "Bob");
    const cst_string path = text(check_path("a.sqlite")), from = text(check_path("source.sqlite")), none = {NULL, 0};
    CHECK_STATUS(CST_E_STORE_IO,
                 cst_coordinator_replace_store(c.coordinator, none, path, text(check_path("none.sqlite")), NULL, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_coordinator_replace_store(c.coordinator, none, path, path, NULL, E));
    CHECK_INT(1, (int)cst_coordinator_store_count(c.coordinator));
    OK(cst_coordinator_replace_store(c.coordinator, none, path, from, NULL, E));
    CHECK_INT(0, (int)cst_coordinator_store_count(c.coordinator));
    company_close(&c);
    c = company_open(check_path("a.sqlite"));
    CHECK_INT(1, company_count(c.context, c.employee, "name == 'Ada'"));
    OK(cst_coordinator_replace_store(c.coordinator, text("sqlite"), text(check_path("new.sqlite")), from, NULL, E));
    company_close(&c);
    c = company_open(check_path("new.sqlite"));
    CHECK_INT(1, company_count(c.context, c.employee, "name == 'Ada'"));
    check_write(check_path("text"), "this is no store");
    CHECK_STATUS(CST_E_NOT_A_STORE,
                 cst_coordinator_replace_store(c.coordinator, text("SQLite"), text(check_path("text")), from, NULL, E));
    company_close(&c);
}

static void the_path_of_an_open_store_can_be_changed(void) {
    struct company c = open_with(check_path("a.sqlite"), "Ada");
    OK(cst_coordinator_backup_store(c.coordinator, c.store, text(check_path("b.sqlite")), NULL, NULL, NULL, E));
    OK(cst_coordinator_set_store_path(c.coordinator, c.store, text(check_path("b.sqlite")), E));
    CHECK_TEXT(check_path("b.sqlite"), cst_store_path(c.store));
    OK(cst_release(company_employee(&c, c.context, "Bob", 2)));
    save(c.context);
    CHECK_INT(2, company_count(c.context, c.employee, NULL));
    CHECK_STATUS(CST_E_STORE_IO,
                 cst_coordinator_set_store_path(c.coordinator, c.store, text(check_path("none.sqlite")), E));
    struct company unrelated = open_with(check_path("c.sqlite"), "Eve");
    CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                 cst_coordinator_set_store_path(c.coordinator, c.store, text(check_path("c.sqlite")), E));
    CHECK_CONTAINS("is not a copy of", cst_error_message(check_error()));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                 cst_coordinator_set_store_path(c.coordinator, unrelated.store, text(check_path("b.sqlite")), E));
    company_close(&unrelated);
    CHECK_TEXT(check_path("b.sqlite"), cst_store_path(c.store));
    company_close(&c);
    c = company_open(check_path("a.sqlite"));
    CHECK_INT(1, company_count(c.context, c.employee, NULL));
    company_close(&c);
}

static void stores_are_found_by_path_and_index(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_store *store = NULL;
    OK(cst_coordinator_store_at(c.coordinator, text(check_path("./a.sqlite")), &store, E));
    CHECK_TEXT(cst_store_identifier(c.store).data, cst_store_identifier(store));
    OK(cst_release(store));
    store = NULL;
    CHECK_STATUS(CST_NOT_FOUND, cst_coordinator_store_at(c.coordinator, text(check_path("b.sqlite")), &store, E));
    CHECK(store == NULL);
    CHECK_INT(1, (int)cst_coordinator_store_count(c.coordinator));
    CHECK_INT(0, (int)cst_coordinator_store_count(NULL));
    OK(cst_coordinator_store(c.coordinator, 0, &store, E));
    CHECK_TEXT(check_path("a.sqlite"), cst_store_path(store));
    OK(cst_release(store));
    CHECK_STATUS(CST_NOT_FOUND, cst_coordinator_store(c.coordinator, 1, &store, E));
    company_close(&c);
}

static cst_bytes plist(const char *xml) { return (cst_bytes){(const uint8_t *)xml, strlen(xml)}; }

static bool has(cst_buffer *buffer, const char *words) {
    return memmem(buffer->data, buffer->size, words, strlen(words)) != NULL;
}

static void stores_are_compared(void) {
    struct company c = open_with(check_path("a.sqlite"), "Ada"), other = open_with(check_path("b.sqlite"), "Ada");
    cst_buffer report = {NULL, 0, 0};
    OK(cst_coordinator_compare(c.coordinator, other.coordinator, &report, E));
    CHECK(has(&report, "\"differences\":0") || has(&report, "\"differences\": 0"));
    cst_buffer_dispose(&report);
    OK(cst_release(company_employee(&other, other.context, "Eve", 2)));
    save(other.context);
    OK(cst_coordinator_compare(c.coordinator, other.coordinator, &report, E));
    CHECK(has(&report, "1 object in") && has(&report, "b.sqlite"));
    cst_buffer_dispose(&report);
    cst_coordinator *empty = NULL;
    OK(cst_coordinator_new(c.model, &empty, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_coordinator_compare(c.coordinator, empty, &report, E));
    OK(cst_release(empty));
    company_close(&other);
    company_close(&c);
}

static void sql_views_have_the_names_of_the_model(void) {
    struct company c = open_with(check_path("a.sqlite"), "Ada");
    cst_buffer sql = {NULL, 0, 0};
    OK(cst_store_copy_views(cst_store_path(c.store), NULL, CST_DATES_TEXT, true, &sql, E));
    CHECK(has(&sql, "CREATE TEMP VIEW \"Employee\" AS") && has(&sql, "AS \"manager_id\""));
    cst_buffer_dispose(&sql);
    OK(cst_store_copy_views(cst_store_path(c.store), c.model, CST_DATES_UNIX, false, &sql, E));
    CHECK(has(&sql, "CREATE VIEW \"Employee\" AS"));
    cst_buffer_dispose(&sql);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_store_copy_views(cst_store_path(c.store), NULL, 7, true, &sql, E));
    CHECK_TEXT("dates", cst_error_key(check_error()));
    CHECK_STATUS(CST_E_STORE_IO, cst_store_copy_views(text(check_path("none.sqlite")), NULL, 0, true, &sql, E));
    company_close(&c);
}

static void metadata_is_written_by_the_next_save(void) {
    const char *path = check_path("a.sqlite");
    const char *note = "<plist version=\"1.0\"><dict><key>note</key><string>written</string></dict></plist>";
    const char *identity = "<plist version=\"1.0\"><dict><key>NSStoreUUID</key><string>0</string></dict></plist>";
    struct company c = open_with(path, "Ada");
    cst_buffer found = {0};
    OK(cst_coordinator_set_metadata(c.coordinator, c.store, plist(note), E));
    OK(cst_coordinator_copy_metadata(c.coordinator, c.store, &found, E));
    CHECK(has(&found, "written") && has(&found, "NSStoreUUID") && has(&found, "NSStoreModelVersionHashes"));
    OK(cst_store_copy_metadata(text(path), &found, E));
    CHECK(!has(&found, "written"));
    save(c.context); /* nothing else has changed */
    OK(cst_store_copy_metadata(text(path), &found, E));
    CHECK(has(&found, "written"));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_coordinator_set_metadata(c.coordinator, c.store, plist(identity), E));
    CHECK_TEXT("NSStoreUUID", cst_error_key(check_error()));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_coordinator_set_metadata(c.coordinator, c.store, plist("text"), E));
    company_close(&c);

    OK(cst_store_set_metadata(text(path), plist("<plist version=\"1.0\"><dict><key>x</key><true/></dict></plist>"), E));
    OK(cst_store_copy_metadata(text(path), &found, E));
    CHECK(!has(&found, "written") && has(&found, "NSStoreModelVersionHashes"));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_store_set_metadata(text(path), plist(identity), E));
    CHECK_STATUS(CST_E_STORE_IO, cst_store_set_metadata(text(check_path("none.sqlite")), plist(note), E));
    c = company_open(path);
    CHECK_INT(1, company_count(c.context, c.employee, NULL));
    company_close(&c);
    cst_buffer_dispose(&found);
}

static void a_checkpoint_copies_the_log_into_the_file(void) {
    struct company c = open_with(check_path("a.sqlite"), "Ada");
    uint64_t pages = 0, done = 0;
    OK(cst_coordinator_checkpoint_store(c.coordinator, c.store, CST_CHECKPOINT_FULL, &pages, &done, E));
    CHECK(pages > 0 && pages == done);
    OK(cst_coordinator_checkpoint_store(c.coordinator, c.store, CST_CHECKPOINT_TRUNCATE, NULL, NULL, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_coordinator_checkpoint_store(c.coordinator, c.store, 4, &pages, &done, E));
    uint64_t removed = 7;
    OK(cst_coordinator_optimize_store(c.coordinator, c.store, &removed, E));
    CHECK_INT(0, (int)removed);
    company_close(&c);
    cst_store_options options = CST_STORE_OPTIONS_INIT;
    options.flags = CST_STORE_ROLLBACK_JOURNAL;
    c = company_open_with(check_path("b.sqlite"), &options);
    CHECK_STATUS(CST_UNCHANGED, cst_coordinator_checkpoint_store(c.coordinator, c.store, 0, &pages, &done, E));
    cst_store *memory = NULL;
    OK(cst_coordinator_add_store(c.coordinator, text("InMemory"), text("m"), NULL, &memory, E));
    CHECK_STATUS(CST_E_UNSUPPORTED, cst_coordinator_checkpoint_store(c.coordinator, memory, 0, &pages, &done, E));
    CHECK_STATUS(CST_E_UNSUPPORTED, cst_coordinator_optimize_store(c.coordinator, memory, NULL, E));
    OK(cst_release(memory));
    company_close(&c);
}

static void a_locked_store_is_destroyed_only_by_force(void) {
    const char *path = check_path("a.sqlite");
    struct company c = open_with(path, "Ada");
    company_close(&c);
    sqlite3 *db = NULL;
    REQUIRE(sqlite3_open(path, &db) == SQLITE_OK);
    REQUIRE(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK);
    cst_model *model = company_model();
    cst_coordinator *coordinator = NULL;
    OK(cst_coordinator_new(model, &coordinator, E));
    cst_store_options options = CST_STORE_OPTIONS_INIT;
    options.busy_timeout_ms = 10;
    CHECK_STATUS(CST_E_STORE_BUSY, cst_coordinator_destroy_store(coordinator, text("SQLite"), text(path), &options, E));
    CHECK(exists(path));
    options.flags = CST_STORE_FORCE_DESTROY;
    OK(cst_coordinator_destroy_store(coordinator, text("SQLite"), text(path), &options, E));
    CHECK(!exists(path) && !exists(check_path("a.sqlite-wal")));
    sqlite3_close(db);
    OK(cst_release(coordinator));
    OK(cst_release(model));
}

/* Without a type a migration creates an SQLite store, whatever the type of the old one; the path of an in-memory
 * store is arbitrary. */
static void a_store_migrated_without_a_type_is_an_sqlite_store(void) {
    struct company c = company_open(check_path("unused.sqlite"));
    const struct {
        const char *from, *to, *type;
    } moves[] = {{"XML", NULL, "SQLite"},           {"Binary", NULL, "SQLite"}, {"InMemory", NULL, "SQLite"},
                 {"SQLite", NULL, "SQLite"},        {"SQLite", "xml", "XML"},   {"XML", "BINARY", "Binary"},
                 {"Binary", "inmemory", "InMemory"}};
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++) {
        cst_coordinator *coordinator = NULL;
        cst_store *store = NULL, *moved = NULL;
        cst_context *context = NULL;
        char from[20], to[20];
        int told = 0;
        snprintf(from, sizeof from, "from%zu", i);
        snprintf(to, sizeof to, "to%zu", i);
        OK(cst_coordinator_new(c.model, &coordinator, E));
        OK(cst_coordinator_add_store(coordinator, text(moves[i].from), text(check_path(from)), NULL, &store, E));
        OK(cst_context_new(coordinator, CST_QUEUE_CALLER, &context, E));
        for (int n = 1; n <= 3; n++)
            OK(cst_release(company_employee(&c, context, "Ada", n)));
        save(context);
        const cst_string type = moves[i].to ? text(moves[i].to) : text_of_size(NULL, 0);
        CHECK_STATUS(CST_E_CANCELLED, cst_coordinator_migrate_store(coordinator, store, type, text(check_path(to)),
                                                                    NULL, stop, NULL, &moved, E));
        CHECK(moved == NULL && !exists(check_path(to)));
        CHECK_INT(3, company_count(context, c.employee, NULL));
        OK(cst_coordinator_migrate_store(coordinator, store, type, text(check_path(to)), NULL, count_up, &told, &moved,
                                         E));
        CHECK(told > 0);
        CHECK_TEXT(moves[i].type, cst_store_type(moved));
        CHECK_TEXT(check_path(to), cst_store_path(moved));
        CHECK_INT(strcmp(moves[i].type, "InMemory") != 0, exists(check_path(to)));
        CHECK_INT(1, cst_coordinator_store_count(coordinator));
        CHECK_INT(3, company_count(context, c.employee, NULL));
        CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_coordinator_remove_store(coordinator, store, E));
        OK(cst_release(context));
        OK(cst_release(moved));
        OK(cst_release(store));
        OK(cst_release(coordinator));
    }
    company_close(&c);
}

/* A removed store keeps its identifier, path and type; other calls fail. */
static void calls_on_a_removed_store_are_refused(void) {
    struct company c = open_with(check_path("a.sqlite"), "Ada");
    char identifier[64];
    snprintf(identifier, sizeof identifier, "%s", cst_store_identifier(c.store).data);
    OK(cst_coordinator_remove_store(c.coordinator, c.store, E));
    CHECK_TEXT(identifier, cst_store_identifier(c.store));
    CHECK_TEXT(check_path("a.sqlite"), cst_store_path(c.store));
    CHECK_TEXT("SQLite", cst_store_type(c.store));
    cst_buffer found = {0};
    cst_error *error = NULL;
    cst_store *none = NULL;
    const cst_status statuses[] = {
        cst_coordinator_copy_metadata(c.coordinator, c.store, &found, NULL),
        cst_coordinator_set_metadata(c.coordinator, c.store, plist("<plist version=\"1.0\"><dict/></plist>"), NULL),
        cst_coordinator_backup_store(c.coordinator, c.store, text(check_path("b")), NULL, NULL, NULL, NULL),
        cst_coordinator_checkpoint_store(c.coordinator, c.store, CST_CHECKPOINT_FULL, NULL, NULL, NULL),
        cst_coordinator_optimize_store(c.coordinator, c.store, NULL, NULL),
        cst_coordinator_set_store_path(c.coordinator, c.store, text(check_path("b")), NULL),
        cst_coordinator_migrate_store(c.coordinator, c.store, text("SQLite"), text(check_path("b")), NULL, NULL, NULL,
                                      &none, &error),
    };
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
        CHECK_INT(CST_E_INVALID_ARGUMENT, statuses[i]);
    CHECK(none == NULL && !exists(check_path("b")));
    CHECK_TEXT(check_path("a.sqlite"), cst_error_file(error));
    OK(cst_release(error));
    cst_buffer_dispose(&found);
    company_close(&c);
}

static void stores_are_listed_in_order(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_store *second = NULL, *found = NULL;
    OK(cst_coordinator_add_store(c.coordinator, text("SQLite"), text(check_path("b.sqlite")), NULL, &second, E));
    CHECK_INT(2, cst_coordinator_store_count(c.coordinator));
    CHECK_INT(0, cst_coordinator_store_count(NULL));
    const char *paths[] = {check_path("a.sqlite"), check_path("b.sqlite")};
    for (size_t i = 0; i < 2; i++) {
        OK(cst_coordinator_store(c.coordinator, i, &found, E));
        CHECK_TEXT(paths[i], cst_store_path(found));
        OK(cst_release(found));
        OK(cst_coordinator_store_at(c.coordinator, text(paths[i]), &found, E));
        CHECK_TEXT(paths[i], cst_store_path(found));
        OK(cst_release(found));
    }
    CHECK_STATUS(CST_NOT_FOUND, cst_coordinator_store(c.coordinator, 2, &found, E));
    CHECK(found == NULL);
    CHECK_STATUS(CST_NOT_FOUND, cst_coordinator_store(c.coordinator, SIZE_MAX, &found, E));
    CHECK_STATUS(CST_NOT_FOUND, cst_coordinator_store_at(c.coordinator, text(check_path("c.sqlite")), &found, E));
    uint32_t source = 0;
    OK(cst_store_model_source(second, &source, E));
    CHECK_INT(CST_MODEL_GIVEN, source);
    CHECK_TEXT(NULL, cst_store_configuration(second));
    CHECK_TEXT(NULL, cst_store_read_only_reason(second));
    CHECK_TEXT(NULL, cst_store_type(NULL));
    CHECK_TEXT(NULL, cst_store_identifier(NULL));
    CHECK_TEXT(NULL, cst_store_path(NULL));
    CHECK_TEXT(NULL, cst_store_warning(NULL, 0));
    CHECK_INT(0, cst_store_warning_count(NULL));
    OK(cst_coordinator_remove_store(c.coordinator, c.store, E));
    CHECK_INT(1, cst_coordinator_store_count(c.coordinator));
    OK(cst_coordinator_store(c.coordinator, 0, &found, E));
    CHECK_TEXT(check_path("b.sqlite"), cst_store_path(found));
    OK(cst_release(found));
    OK(cst_release(second));
    company_close(&c);
}

static void checkpoints_have_four_modes(void) {
    struct company c = company_open(check_path("a.sqlite"));
    for (uint32_t mode = CST_CHECKPOINT_PASSIVE; mode <= CST_CHECKPOINT_TRUNCATE; mode++) {
        OK(cst_release(company_employee(&c, c.context, "Ada", mode)));
        save(c.context);
        uint64_t pages = 999, done = 999;
        OK(cst_coordinator_checkpoint_store(c.coordinator, c.store, mode, &pages, &done, E));
        CHECK(done == pages);
        CHECK_INT(mode == CST_CHECKPOINT_TRUNCATE, pages == 0);
        OK(cst_coordinator_checkpoint_store(c.coordinator, c.store, mode, NULL, NULL, E));
    }
    uint64_t pages = 999, done = 999;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_coordinator_checkpoint_store(c.coordinator, c.store, 4, &pages, &done, E));
    CHECK_TEXT("mode is 4; use a mode from CST_CHECKPOINT_PASSIVE to CST_CHECKPOINT_TRUNCATE",
               cst_error_message(check_error()));
    CHECK_TEXT("mode", cst_error_key(check_error()));
    cst_value value;
    OK(cst_error_value(check_error(), &value));
    CHECK_INT(4, value.as.integer);
    CHECK(pages == 0 && done == 0);
    cst_buffer sql = {0};
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_store_copy_views(text(check_path("a.sqlite")), NULL, 3, false, &sql, E));
    CHECK_TEXT("dates", cst_error_key(check_error()));
    cst_buffer_dispose(&sql);
    company_close(&c);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(an_open_store_is_copied);
    RUN(a_store_is_replaced);
    RUN(the_path_of_an_open_store_can_be_changed);
    RUN(stores_are_found_by_path_and_index);
    RUN(stores_are_compared);
    RUN(sql_views_have_the_names_of_the_model);
    RUN(metadata_is_written_by_the_next_save);
    RUN(a_checkpoint_copies_the_log_into_the_file);
    RUN(a_locked_store_is_destroyed_only_by_force);
    RUN(a_store_migrated_without_a_type_is_an_sqlite_store);
    RUN(calls_on_a_removed_store_are_refused);
    RUN(stores_are_listed_in_order);
    RUN(checkpoints_have_four_modes);
    return check_end();
}
