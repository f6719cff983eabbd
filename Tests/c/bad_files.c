/* Bad files: files that are not stores, damaged stores, and stores of another model. Each fails with an error that
 * names the cause, and nothing changes on disk.
 *
 * SPDX-License-Identifier: MIT
 */
#include "damage.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void missing_files_and_folders_are_refused(void) {
    refused(check_path("missing.sqlite"), CST_STORE_MUST_EXIST, CST_E_STORE_IO, CST_E_STORE_IO);
    refused(check_path("missing.sqlite"), CST_STORE_READ_ONLY, CST_E_STORE_IO, CST_E_STORE_IO);
    refused(check_path("no/such/folder.sqlite"), 0, CST_E_STORE_IO, CST_E_STORE_IO);
    REQUIRE(mkdir(check_path("folder.sqlite"), 0700) == 0);
    refused(check_path("folder.sqlite"), 0, CST_E_STORE_IO, CST_E_NOT_A_STORE);
}

static void empty_and_foreign_files_are_refused(void) {
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

static void databases_of_other_applications_are_refused(void) {
    const char *path = check_path("contacts.sqlite");
    run_sql(path, "CREATE TABLE contact (name TEXT); INSERT INTO contact VALUES ('Ada');");
    refused(path, 0, CST_E_NOT_A_STORE, CST_E_NOT_A_STORE);
    refused(path, CST_STORE_READ_ONLY, CST_E_NOT_A_STORE, CST_E_NOT_A_STORE);
    const char *half = check_path("half.sqlite");
    run_sql(half, "CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB)");
    refused(half, 0, CST_E_NOT_A_STORE, CST_E_STORE_CORRUPT);
}

static void truncated_stores_are_refused(void) {
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

static void damaged_pages_are_reported(void) {
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

static void damaged_metadata_is_reported(void) {
    const char *sql[] = {
        "UPDATE Z_METADATA SET Z_PLIST = x'00112233'",
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

static void a_missing_table_is_reported(void) {
    const char *path = good_store("dropped.sqlite");
    run_sql(path, "DROP TABLE ZPERSON");
    struct company c;
    memset(&c, 0, sizeof c);
    c.model = company_model();
    OK(cst_coordinator_new(c.model, &c.coordinator, E));
    cst_status status = cst_coordinator_add_store(c.coordinator, text("SQLite"), text(path), NULL, &c.store, E);
    if (status == CST_OK) { /* then the first fetch fails */
        company_resolve(&c);
        c.context = company_context(&c, CST_QUEUE_CALLER);
        cst_fetch_request *request = NULL;
        cst_results *results = NULL;
        OK(cst_fetch_request_new(c.employee, &request, E));
        status = cst_context_fetch(c.context, request, &results, E);
        CHECK(results == NULL);
        OK(cst_release(request));
    }
    CHECK(status == CST_E_STORE_CORRUPT || status == CST_E_MODEL_MISMATCH);
    CHECK_CONTAINS("ZPERSON", cst_error_message(check_error()));
    CHECK_TEXT(path, cst_error_file(check_error()));
    company_close(&c);
}

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

static void mismatch_errors_name_the_changed_entity_and_property(void) {
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

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(missing_files_and_folders_are_refused);
    RUN(empty_and_foreign_files_are_refused);
    RUN(databases_of_other_applications_are_refused);
    RUN(truncated_stores_are_refused);
    RUN(damaged_pages_are_reported);
    RUN(damaged_metadata_is_reported);
    RUN(a_missing_table_is_reported);
    RUN(mismatch_errors_name_the_changed_entity_and_property);
    return check_end();
}
