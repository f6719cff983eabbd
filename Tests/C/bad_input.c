/* Bad input: files that are no stores, models that do not match, locks, missing rights, wrong predicates and values.
 * Each gives an error that says what is wrong, and nothing changes on disk.
 *
 * SPDX-License-Identifier: MIT
 */
#include "company.h"

#include <dirent.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- files ---- */

static void write_file(const char *path, const void *data, size_t size) {
    FILE *file = fopen(path, "wb");
    REQUIRE(file != NULL);
    REQUIRE(fwrite(data, 1, size, file) == size);
    REQUIRE(fclose(file) == 0);
}

static uint64_t mix(uint64_t hash, const void *data, size_t size) { /* FNV-1a */
    const uint8_t *bytes = data;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ bytes[i]) * 1099511628211u;
    return hash;
}

/* A number for all names and bytes of the test's folder. */
static uint64_t folder_state(void) {
    uint64_t sum = 0;
    DIR *folder = opendir(check_path("."));
    REQUIRE(folder != NULL);
    for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
        uint64_t hash = mix(14695981039346656037u, entry->d_name, strlen(entry->d_name));
        FILE *file = entry->d_name[0] == '.' ? NULL : fopen(check_path(entry->d_name), "rb");
        char buffer[4096];
        size_t size;
        while (file && (size = fread(buffer, 1, sizeof buffer, file)) > 0)
            hash = mix(hash, buffer, size);
        if (file) fclose(file);
        sum += hash; /* in whatever order the folder lists them */
    }
    closedir(folder);
    return sum;
}

static void run_sql(const char *path, const char *sql) {
    sqlite3 *database = NULL;
    REQUIRE(sqlite3_open(path, &database) == SQLITE_OK);
    char *message = NULL;
    if (sqlite3_exec(database, sql, NULL, NULL, &message) != SQLITE_OK) {
        check_fail(__FILE__, __LINE__, "%s: %s", sql, message);
    }
    sqlite3_free(message);
    sqlite3_close(database);
}

/* A store with 200 people, closed again. */
static const char *good_store(const char *name) {
    const char *path = check_path(name);
    struct company c = company_open(path);
    for (int i = 0; i < 200; i++)
        OK(cst_release(company_employee(&c, c.context, "somebody with a name", i)));
    save(c.context);
    company_close(&c);
    run_sql(path, "PRAGMA wal_checkpoint(TRUNCATE)");
    return path;
}

/* Opening must fail with one of the statuses, name the file, and leave the folder as it was. */
static void expect_refusal(cst_model *model, const char *path, uint32_t flags, cst_status one, cst_status other) {
    cst_coordinator *coordinator = NULL;
    cst_store *store = NULL;
    cst_store_options options = CST_STORE_OPTIONS_INIT;
    options.flags = flags;
    options.busy_timeout_ms = 50;
    OK(cst_coordinator_new(model, &coordinator, E));
    uint64_t before = folder_state();
    cst_status status = cst_coordinator_add_store(coordinator, text("SQLite"), text(path), &options, &store, E);
    if (status != one && status != other) {
        check_fail(__FILE__, __LINE__, "%s: %s; %s", path, check_status_name(status),
                   status < 0 ? cst_error_message(check_error()).data : "");
    } else {
        CHECK_TEXT(path, cst_error_file(check_error()));
        CHECK_CONTAINS(strrchr(path, '/') + 1, cst_error_message(check_error()));
        CHECK(cst_error_code(check_error()) != 0);
        CHECK(store == NULL);
    }
    OK(cst_release(store));
    OK(cst_release(coordinator));
    if (folder_state() != before) check_fail(__FILE__, __LINE__, "%s: the folder has changed", path);
}

static void refused(const char *path, uint32_t flags, cst_status one, cst_status other) {
    cst_model *model = company_model();
    expect_refusal(model, path, flags, one, other);
    OK(cst_release(model));
}

static void missing_files_and_folders(void) {
    refused(check_path("missing.sqlite"), CST_STORE_MUST_EXIST, CST_E_STORE_IO, CST_E_STORE_IO);
    refused(check_path("missing.sqlite"), CST_STORE_READ_ONLY, CST_E_STORE_IO, CST_E_STORE_IO);
    refused(check_path("no/such/folder.sqlite"), 0, CST_E_STORE_IO, CST_E_STORE_IO);
    REQUIRE(mkdir(check_path("folder.sqlite"), 0700) == 0);
    refused(check_path("folder.sqlite"), 0, CST_E_STORE_IO, CST_E_NOT_A_STORE);
}

static void empty_and_foreign_files(void) {
    write_file(check_path("empty.sqlite"), "", 0);
    refused(check_path("empty.sqlite"), 0, CST_E_NOT_A_STORE, CST_E_NOT_A_STORE);
    write_file(check_path("text.sqlite"),
               "This is a letter to my aunt, and it is longer than the header of a database.\n"
               "It has two lines.\n",
               95);
    refused(check_path("text.sqlite"), 0, CST_E_NOT_A_STORE, CST_E_NOT_A_STORE);
    write_file(check_path("short.sqlite"), "SQLite", 6);
    refused(check_path("short.sqlite"), 0, CST_E_NOT_A_STORE, CST_E_STORE_CORRUPT);
    write_file(check_path("header.sqlite"), "SQLite format 3", 16);
    refused(check_path("header.sqlite"), 0, CST_E_NOT_A_STORE, CST_E_STORE_CORRUPT);
    static uint8_t noise[8192];
    for (size_t i = 0; i < sizeof noise; i++)
        noise[i] = (uint8_t)(i * 7919 >> 3);
    write_file(check_path("noise.sqlite"), noise, sizeof noise);
    refused(check_path("noise.sqlite"), 0, CST_E_NOT_A_STORE, CST_E_NOT_A_STORE);
    memcpy(noise, "SQLite format 3", 16);
    write_file(check_path("liar.sqlite"), noise, sizeof noise);
    refused(check_path("liar.sqlite"), 0, CST_E_NOT_A_STORE, CST_E_STORE_CORRUPT);
}

static void databases_of_others(void) {
    const char *path = check_path("contacts.sqlite");
    run_sql(path, "CREATE TABLE contact (name TEXT); INSERT INTO contact VALUES ('Ada');");
    refused(path, 0, CST_E_NOT_A_STORE, CST_E_NOT_A_STORE);
    refused(path, CST_STORE_READ_ONLY, CST_E_NOT_A_STORE, CST_E_NOT_A_STORE);
    const char *half = check_path("half.sqlite");
    run_sql(half, "CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB)");
    refused(half, 0, CST_E_NOT_A_STORE, CST_E_STORE_CORRUPT);
}

static void truncated_stores(void) {
    struct stat info;
    REQUIRE(stat(good_store("whole.sqlite"), &info) == 0);
    const off_t sizes[] = {info.st_size / 2, 4096, 1000, 100, 99, 17, 1};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char name[32];
        snprintf(name, sizeof name, "cut%zu.sqlite", i);
        const char *path = good_store(name);
        REQUIRE(truncate(path, sizes[i]) == 0);
        refused(path, 0, CST_E_STORE_CORRUPT, CST_E_NOT_A_STORE);
    }
}

static void damaged_pages(void) {
    struct stat info;
    const char *path = good_store("damaged.sqlite");
    REQUIRE(stat(path, &info) == 0);
    FILE *file = fopen(path, "r+b");
    REQUIRE(file != NULL);
    static uint8_t noise[4096];
    memset(noise, 0xa5, sizeof noise);
    for (long at = 4096; at + 4096 <= info.st_size; at += 4096) { /* all but the first page */
        REQUIRE(fseek(file, at, SEEK_SET) == 0);
        REQUIRE(fwrite(noise, 1, sizeof noise, file) == sizeof noise);
    }
    REQUIRE(fclose(file) == 0);
    refused(path, 0, CST_E_STORE_CORRUPT, CST_E_NOT_A_STORE);
}

static void damaged_metadata(void) {
    const char *sql[] = {
        "UPDATE Z_METADATA SET Z_PLIST = x'00112233'",
        "UPDATE Z_METADATA SET Z_PLIST = NULL",
        "UPDATE Z_METADATA SET Z_PLIST = CAST('bplist00' AS BLOB) || zeroblob(40)",
        "DELETE FROM Z_METADATA",
        "DROP TABLE Z_PRIMARYKEY",
    };
    for (size_t i = 0; i < sizeof sql / sizeof *sql; i++) {
        char name[32];
        snprintf(name, sizeof name, "metadata%zu.sqlite", i);
        const char *path = good_store(name);
        run_sql(path, sql[i]);
        run_sql(path, "PRAGMA wal_checkpoint(TRUNCATE)");
        refused(path, 0, CST_E_NOT_A_STORE, CST_E_STORE_CORRUPT);
    }
}

static void a_missing_table_is_noticed(void) {
    const char *path = good_store("dropped.sqlite");
    run_sql(path, "DROP TABLE ZPERSON");
    struct company c;
    memset(&c, 0, sizeof c);
    c.model = company_model();
    OK(cst_coordinator_new(c.model, &c.coordinator, E));
    cst_status status = cst_coordinator_add_store(c.coordinator, text("SQLite"), text(path), NULL, &c.store, E);
    if (status == CST_OK) { /* then the first fetch tells */
        company_resolve(&c);
        c.context = company_context(&c, CST_QUEUE_CALLER);
        cst_fetch_request *request = NULL;
        cst_results *results = NULL;
        OK(cst_fetch_request_new(c.employee, &request, E));
        status = cst_context_fetch(c.context, request, &results, E);
        CHECK(results == NULL);
        OK(cst_release(request));
    }
    CHECK(status == CST_E_STORE_CORRUPT || status == CST_E_NOT_A_STORE);
    CHECK_TEXT(path, cst_error_file(check_error()));
    company_close(&c);
}

/* ---- models ---- */

/* The entities A { name String, size Integer 16 } and B { label String }, with one difference. */
enum difference { SAME, TYPE_CHANGED, OPTIONAL_CHANGED, ATTRIBUTE_ADDED, ATTRIBUTE_GONE, ENTITY_ADDED, ENTITY_GONE };

static cst_model *small_model(enum difference difference) {
    cst_model *model = NULL;
    cst_entity *a = NULL, *b = NULL;
    OK(cst_model_new(&model, E));
    OK(cst_model_add_entity(model, text("Album"), &a, E));
    OK(cst_entity_add_attribute(a, text("name"), CST_ATTRIBUTE_STRING,
                                difference == OPTIONAL_CHANGED ? CST_PROPERTY_OPTIONAL : 0, NULL, E));
    if (difference != ATTRIBUTE_GONE) {
        OK(cst_entity_add_attribute(a, text("size"),
                                    difference == TYPE_CHANGED ? CST_ATTRIBUTE_INTEGER_32 : CST_ATTRIBUTE_INTEGER_16, 0,
                                    NULL, E));
    }
    if (difference == ATTRIBUTE_ADDED) {
        OK(cst_entity_add_attribute(a, text("extra"), CST_ATTRIBUTE_STRING, CST_PROPERTY_OPTIONAL, NULL, E));
    }
    if (difference != ENTITY_GONE) {
        OK(cst_model_add_entity(model, text("Band"), &b, E));
        OK(cst_entity_add_attribute(b, text("label"), CST_ATTRIBUTE_STRING, 0, NULL, E));
    }
    if (difference == ENTITY_ADDED) {
        OK(cst_model_add_entity(model, text("Concert"), &b, E));
        OK(cst_entity_add_attribute(b, text("place"), CST_ATTRIBUTE_STRING, 0, NULL, E));
    }
    return model;
}

static void models_that_do_not_match(void) {
    static const struct {
        enum difference difference;
        const char *entity, *key;
    } cases[] = {
        {TYPE_CHANGED, "Album", "size"},   {OPTIONAL_CHANGED, "Album", "name"}, {ATTRIBUTE_ADDED, "Album", "extra"},
        {ATTRIBUTE_GONE, "Album", "size"}, {ENTITY_ADDED, "Concert", NULL},     {ENTITY_GONE, "Band", NULL},
    };
    const char *path = check_path("small.sqlite");
    cst_model *model = small_model(SAME);
    cst_coordinator *coordinator = NULL;
    OK(cst_coordinator_new(model, &coordinator, E));
    OK(cst_coordinator_add_store(coordinator, text("SQLite"), text(path), NULL, NULL, E));
    OK(cst_release(coordinator));
    OK(cst_release(model));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        model = small_model(cases[i].difference);
        expect_refusal(model, path, 0, CST_E_MODEL_MISMATCH, CST_E_MODEL_MISMATCH);
        OK(cst_coordinator_new(model, &coordinator, E));
        CHECK_STATUS(CST_E_MODEL_MISMATCH,
                     cst_coordinator_add_store(coordinator, text("SQLite"), text(path), NULL, NULL, E));
        CHECK_INT(CST_CODE_PERSISTENT_STORE_INCOMPATIBLE_VERSION_HASH, cst_error_code(check_error()));
        cst_buffer out = {NULL, 0, 0};
        CHECK_STATUS(CST_OK, cst_error_copy_description(check_error(), &out));
        if (!out.data || !strstr(out.data, cases[i].entity) || (cases[i].key && !strstr(out.data, cases[i].key))) {
            check_fail(__FILE__, __LINE__, "\"%s\" does not name %s.%s", out.data ? out.data : "", cases[i].entity,
                       cases[i].key ? cases[i].key : "*");
        }
        cst_buffer_dispose(&out);
        OK(cst_release(coordinator));
        OK(cst_release(model));
    }
    model = small_model(SAME);
    OK(cst_coordinator_new(model, &coordinator, E));
    OK(cst_coordinator_add_store(coordinator, text("SQLite"), text(path), NULL, NULL, E));
    OK(cst_release(coordinator));
    OK(cst_release(model));
}

/* ---- rights and locks ---- */

/* Runs in a child that has no special rights; root may write everywhere. The parent has made no handle yet, so the child
 * may use the library. */
static void without_special_rights(void (*body)(void)) {
    REQUIRE(chmod(check_path("."), 0777) == 0);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) _exit(98);
        alarm(120);
        body();
        fflush(NULL);
        _exit(check_failures() > 50 ? 50 : check_failures());
    }
    REQUIRE(child > 0);
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK_INT(0, WEXITSTATUS(status));
}

/* A store that cannot be written may be refused, or opened for reading, but then it says so and refuses a save. */
static void open_unwritable(const char *path) {
    struct company c;
    memset(&c, 0, sizeof c);
    c.model = company_model();
    OK(cst_coordinator_new(c.model, &c.coordinator, E));
    uint64_t before = folder_state();
    cst_status status = cst_coordinator_add_store(c.coordinator, text("SQLite"), text(path), NULL, &c.store, E);
    if (status < 0) {
        CHECK(status == CST_E_STORE_READ_ONLY || status == CST_E_STORE_IO);
        CHECK_TEXT(path, cst_error_file(check_error()));
        CHECK_CONTAINS(path, cst_error_message(check_error()));
    } else {
        bool read_only = false;
        OK(cst_store_is_read_only(c.store, &read_only, E));
        CHECK(read_only);
        company_resolve(&c);
        c.context = company_context(&c, CST_QUEUE_CALLER);
        CHECK_INT(200, company_count(c.context, c.employee, NULL));
        OK(cst_release(company_employee(&c, c.context, "Eve", 1)));
        CHECK_STATUS(CST_E_STORE_READ_ONLY, cst_context_save(c.context, E));
        CHECK_TEXT(path, cst_error_file(check_error()));
    }
    company_close(&c);
    CHECK(folder_state() == before);

    cst_store_options options = CST_STORE_OPTIONS_INIT;
    options.flags = CST_STORE_READ_ONLY;
    c = company_open_with(path, &options);
    CHECK_INT(200, company_count(c.context, c.employee, NULL));
    company_close(&c);
    CHECK(folder_state() == before);
}

static void read_only_body(void) {
    const char *path = good_store("store.sqlite");
    REQUIRE(chmod(path, 0444) == 0);
    open_unwritable(path);
    REQUIRE(chmod(path, 0644) == 0);
    const char *folder = check_path("locked");
    REQUIRE(mkdir(folder, 0755) == 0);
    const char *inside = good_store("locked/store.sqlite");
    REQUIRE(chmod(inside, 0444) == 0);
    REQUIRE(chmod(folder, 0555) == 0);
    open_unwritable(inside);
    refused(check_path("locked/new.sqlite"), 0, CST_E_STORE_IO, CST_E_STORE_READ_ONLY);
    CHECK(access(check_path("locked/new.sqlite"), F_OK) != 0);
    const char *hidden = good_store("hidden.sqlite");
    REQUIRE(chmod(hidden, 0) == 0);
    cst_model *model = company_model();
    cst_coordinator *coordinator = NULL;
    OK(cst_coordinator_new(model, &coordinator, E));
    CHECK_STATUS(CST_E_STORE_IO, cst_coordinator_add_store(coordinator, text("SQLite"), text(hidden), NULL, NULL, E));
    CHECK_TEXT(hidden, cst_error_file(check_error()));
    OK(cst_release(coordinator));
    OK(cst_release(model));
    REQUIRE(chmod(hidden, 0600) == 0);
    REQUIRE(chmod(folder, 0755) == 0);
}

static void read_only_files_and_folders(void) { without_special_rights(read_only_body); }

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void a_locked_database(uint32_t flags, const char *name) {
    const char *path = check_path(name);
    cst_store_options options = CST_STORE_OPTIONS_INIT;
    options.flags = flags;
    options.busy_timeout_ms = 50;
    struct company c = company_open_with(path, &options);
    OK(cst_release(company_employee(&c, c.context, "Ada", 1)));
    save(c.context);
    OK(cst_release(company_employee(&c, c.context, "Bob", 2)));

    sqlite3 *other = NULL;
    REQUIRE(sqlite3_open(path, &other) == SQLITE_OK);
    REQUIRE(sqlite3_exec(other, "BEGIN EXCLUSIVE", NULL, NULL, NULL) == SQLITE_OK);
    double start = seconds();
    CHECK_STATUS(CST_E_STORE_BUSY, cst_context_save(c.context, E));
    CHECK(seconds() - start < 3);
    CHECK_INT(CST_CODE_SQLITE, cst_error_code(check_error()));
    CHECK_INT(SQLITE_BUSY, cst_error_sqlite_code(check_error()) & 0xff);
    CHECK_TEXT(path, cst_error_file(check_error()));
    CHECK(has_changes(c.context));
    REQUIRE(sqlite3_exec(other, "ROLLBACK", NULL, NULL, NULL) == SQLITE_OK);
    sqlite3_close(other);
    save(c.context);
    CHECK_INT(2, company_count(c.context, c.employee, NULL));
    company_close(&c);
}

static void locked_databases(void) {
    a_locked_database(CST_STORE_NORMAL_SYNC, "wal.sqlite");
    a_locked_database(CST_STORE_ROLLBACK_JOURNAL, "rollback.sqlite");
    /* Opening waits no longer than it may, too. */
    const char *path = check_path("rollback.sqlite");
    sqlite3 *other = NULL;
    REQUIRE(sqlite3_open(path, &other) == SQLITE_OK);
    REQUIRE(sqlite3_exec(other, "PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE", NULL, NULL, NULL) == SQLITE_OK);
    cst_model *model = company_model();
    cst_coordinator *coordinator = NULL;
    cst_store_options options = CST_STORE_OPTIONS_INIT;
    options.flags = CST_STORE_ROLLBACK_JOURNAL;
    options.busy_timeout_ms = 50;
    OK(cst_coordinator_new(model, &coordinator, E));
    double start = seconds();
    CHECK_STATUS(CST_E_STORE_BUSY,
                 cst_coordinator_add_store(coordinator, text("SQLite"), text(path), &options, NULL, E));
    CHECK(seconds() - start < 3);
    CHECK_INT(SQLITE_BUSY, cst_error_sqlite_code(check_error()) & 0xff);
    CHECK_TEXT(path, cst_error_file(check_error()));
    sqlite3_close(other);
    OK(cst_release(coordinator));
    OK(cst_release(model));
}

/* ---- texts, predicates, values ---- */

static void predicates_that_do_not_parse(void) {
    cst_predicate *predicate = NULL;
    CHECK_STATUS(CST_E_PREDICATE_SYNTAX,
                 cst_predicate_parse(text("name == 'Ada' AND number >"), 0, NULL, &predicate, E));
    CHECK(predicate == NULL);
    CHECK_INT(26, cst_error_offset(check_error()));
    CHECK_CONTAINS("expected", cst_error_message(check_error()));
    /* The predicate, and below it a caret under the place. */
    cst_string message = cst_error_message(check_error());
    const char *line = message.data ? strstr(message.data, "name == 'Ada' AND number >") : NULL;
    CHECK(line != NULL);
    const char *caret = line ? strchr(line, '\n') : NULL;
    CHECK(caret && strchr(caret, '^'));
    if (caret && strchr(caret, '^')) {
        const char *start = line;
        while (start > message.data && start[-1] != '\n')
            start--;
        CHECK_INT(26 + (line - start), strchr(caret, '^') - (caret + 1));
    }
}

static void nothing_reaches_the_store(void) {
    const char *path = good_store("a.sqlite");
    struct company c = company_open(path);
    cst_results *all = company_fetch(c.context, c.employee, NULL, "number");
    cst_object *first = object_at(all, 0);
    cst_value value = value_null();
    CHECK_TEXT("somebody with a name", get_text(first, c.name));

    value = value_text("bad \xff text");
    CHECK_STATUS(CST_E_INVALID_UTF8, cst_object_set(first, c.name, &value, E));
    value = value_int(40000);
    CHECK_STATUS(CST_E_VALIDATION, cst_object_set(first, c.level, &value, E));
    CHECK_INT(CST_CODE_VALIDATION_NUMBER_TOO_LARGE, cst_error_code(check_error()));
    CHECK_TEXT("Employee", cst_error_entity(check_error()));
    CHECK_TEXT("level", cst_error_key(check_error()));
    CHECK_CONTAINS("40000", cst_error_message(check_error()));
    value = value_text("forty");
    CHECK_STATUS(CST_E_TYPE_MISMATCH, cst_object_set(first, c.number, &value, E));
    CHECK_TEXT("Employee", cst_error_entity(check_error()));
    CHECK_TEXT("number", cst_error_key(check_error()));
    CHECK_STATUS(CST_OK, cst_error_value(check_error(), &value));
    CHECK_TEXT("forty", value.as.string);
    CHECK(!has_changes(c.context));
    CHECK_TEXT("somebody with a name", get_text(first, c.name));

    /* What a user types stays text. */
    value = value_text("x' OR 1 == 1; DROP TABLE ZPERSON; --");
    set(first, c.notes, value);
    save(c.context);
    cst_predicate *predicate = NULL;
    OK(cst_predicate_parse(text("notes == %@"), 1, &value, &predicate, E));
    cst_fetch_request *request = NULL;
    OK(cst_fetch_request_new(c.employee, &request, E));
    OK(cst_fetch_request_set_predicate(request, predicate, E));
    uint64_t count = 0;
    OK(cst_context_count(c.context, request, &count, E));
    CHECK_INT(1, count);
    OK(cst_release(request));
    OK(cst_release(predicate));
    OK(cst_release(all));
    company_close(&c);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(read_only_files_and_folders); /* first: its child needs a parent without handles */
    RUN(missing_files_and_folders);
    RUN(empty_and_foreign_files);
    RUN(databases_of_others);
    RUN(truncated_stores);
    RUN(damaged_pages);
    RUN(damaged_metadata);
    RUN(a_missing_table_is_noticed);
    RUN(models_that_do_not_match);
    RUN(locked_databases);
    RUN(predicates_that_do_not_parse);
    RUN(nothing_reaches_the_store);
    return check_end();
}
