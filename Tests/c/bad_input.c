/* Bad input: locks, missing permissions, wrong predicates and values. Each fails with an error that names the cause,
 * and nothing changes on disk.
 *
 * SPDX-License-Identifier: MIT
 */
#include "damage.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Runs in a child without special rights; root may write everywhere. The parent has not created a handle yet, so the
 * child may use the library. */
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

/* An unwritable store fails to open, or opens read-only. A read-only store reports its state and refuses a save. */
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

static void unwritable_files_and_folders_refuse_saves(void) { without_special_rights(read_only_body); }

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
    CHECK_INT(CST_CODE_PERSISTENT_STORE_TIMEOUT, cst_error_code(check_error()));
    CHECK_INT(SQLITE_BUSY, cst_error_sqlite_code(check_error()) & 0xff);
    CHECK_TEXT(path, cst_error_file(check_error()));
    CHECK(has_changes(c.context));
    REQUIRE(sqlite3_exec(other, "ROLLBACK", NULL, NULL, NULL) == SQLITE_OK);
    sqlite3_close(other);
    save(c.context);
    CHECK_INT(2, company_count(c.context, c.employee, NULL));
    company_close(&c);
}

static void a_locked_database_is_reported_after_the_busy_timeout(void) {
    a_locked_database(CST_STORE_NORMAL_SYNC, "wal.sqlite");
    a_locked_database(CST_STORE_ROLLBACK_JOURNAL, "rollback.sqlite");
    /* Opening also waits at most for the busy timeout. */
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

static void predicate_syntax_errors_point_to_the_offset(void) {
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

static void refused_values_do_not_reach_the_store(void) {
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

    /* Input of a user remains text. */
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
    RUN(unwritable_files_and_folders_refuse_saves); /* first: its child needs a parent without handles */
    RUN(a_locked_database_is_reported_after_the_busy_timeout);
    RUN(predicate_syntax_errors_point_to_the_offset);
    RUN(refused_values_do_not_reach_the_store);
    return check_end();
}
