/* SPDX-License-Identifier: MIT */
#include "damage.h"

#include <dirent.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

void write_file(const char *path, const void *data, size_t size) {
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
uint64_t folder_state(void) {
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

void run_sql(const char *path, const char *sql) {
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
const char *good_store(const char *name) {
    const char *path = check_path(name);
    struct company c = company_open(path);
    for (int i = 0; i < 200; i++)
        OK(cst_release(company_employee(&c, c.context, "somebody with a name", i)));
    save(c.context);
    company_close(&c);
    run_sql(path, "PRAGMA wal_checkpoint(TRUNCATE)");
    return path;
}

/* Opening must fail with one of the statuses, name the file, and not change the folder. */
void expect_refusal(cst_model *model, const char *path, uint32_t flags, cst_status one, cst_status other) {
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

void refused(const char *path, uint32_t flags, cst_status one, cst_status other) {
    cst_model *model = company_model();
    expect_refusal(model, path, flags, one, other);
    OK(cst_release(model));
}
