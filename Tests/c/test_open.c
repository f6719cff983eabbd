/* Stores that are opened with their cached model, with a given model, or with an inferred model.
 *
 * SPDX-License-Identifier: MIT
 */
#include "damage.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct opened {
    cst_coordinator *coordinator;
    cst_store *store;
    cst_model *model;
};

static struct opened open_store(const char *path, cst_model *model, uint32_t flags) {
    struct opened opened = {NULL, NULL, NULL};
    cst_store_options options = CST_STORE_OPTIONS_INIT;
    options.flags = flags;
    OK(cst_coordinator_open_store(text(path), model, &options, &opened.coordinator, &opened.store, E));
    OK(cst_coordinator_model(opened.coordinator, &opened.model, E));
    return opened;
}

static void close_store(struct opened opened) {
    OK(cst_release(opened.store));
    OK(cst_release(opened.coordinator));
}

static uint32_t source(const struct opened *opened) {
    uint32_t source = 0;
    OK(cst_store_model_source(opened->store, &source, E));
    return source;
}

static uint64_t count(const struct opened *opened, const char *name) {
    cst_context *context = NULL;
    cst_entity *entity = NULL;
    OK(cst_model_entity(opened->model, text(name), &entity, E));
    OK(cst_context_new(opened->coordinator, CST_QUEUE_CALLER, &context, E));
    uint64_t count = company_count(context, entity, NULL);
    OK(cst_release(context));
    return count;
}

static void a_store_is_opened_with_its_cached_model(void) {
    const char *path = good_store("a.sqlite");
    uint64_t before = folder_state();
    struct opened opened = open_store(path, NULL, 0);
    CHECK_INT(CST_MODEL_CACHED, source(&opened));
    bool read_only = false, frozen = false;
    OK(cst_store_is_read_only(opened.store, &read_only, E));
    CHECK(read_only);
    CHECK(cst_store_read_only_reason(opened.store).size > 0);
    OK(cst_model_is_frozen(opened.model, &frozen, E));
    CHECK(frozen);
    CHECK_INT(200, count(&opened, "Employee"));
    CHECK(folder_state() == before);
    close_store(opened);
    CHECK(folder_state() == before);
}

static void a_retained_model_outlives_its_store(void) {
    struct opened opened = open_store(good_store("a.sqlite"), NULL, 0);
    cst_model *model = cst_retain(opened.model);
    cst_entity *entity = NULL;
    OK(cst_model_entity(model, text("Employee"), &entity, E));
    close_store(opened);
    CHECK_TEXT("Employee", cst_entity_name(entity));
    OK(cst_release(model));
    CHECK(cst_entity_name(entity).data == NULL);
}

static void a_store_is_opened_with_a_given_model(void) {
    const char *path = good_store("a.sqlite");
    cst_model *model = company_model();
    struct opened opened = open_store(path, model, 0);
    CHECK(opened.model == model);
    CHECK_INT(CST_MODEL_GIVEN, source(&opened));
    CHECK_INT(200, count(&opened, "Employee"));
    close_store(opened);
    OK(cst_release(model));

    OK(cst_model_new(&model, E));
    cst_entity *person = NULL;
    OK(cst_model_add_entity(model, text("Person"), &person, E));
    cst_coordinator *none = NULL;
    CHECK_STATUS(CST_E_MODEL_MISMATCH, cst_coordinator_open_store(text(path), model, NULL, &none, NULL, E));
    CHECK(none == NULL);
    CHECK_TEXT(path, cst_error_file(check_error()));
    CHECK(cst_error_entity(check_error()).size > 0);
    OK(cst_release(model));
}

static void a_store_is_opened_for_writing_on_request(void) {
    const char *path = good_store("a.sqlite");
    struct opened opened = open_store(path, NULL, CST_STORE_WRITABLE);
    CHECK(cst_store_read_only_reason(opened.store).data == NULL);
    cst_context *context = NULL;
    cst_entity *department = NULL;
    cst_key name = CST_NO_KEY;
    cst_object *object = NULL;
    OK(cst_context_new(opened.coordinator, CST_QUEUE_CALLER, &context, E));
    OK(cst_model_entity(opened.model, text("Department"), &department, E));
    OK(cst_entity_key(department, text("name"), &name, E));
    OK(cst_context_insert(context, department, &object, E));
    set(object, name, value_text("Records"));
    save(context);
    OK(cst_release(object));
    OK(cst_release(context));
    close_store(opened);
    opened = open_store(path, NULL, 0);
    CHECK_INT(1, count(&opened, "Department"));
    close_store(opened);
}

static void a_store_without_a_cached_model_is_opened_with_an_inferred_one(void) {
    const char *path = good_store("a.sqlite");
    run_sql(path, "DROP TABLE Z_MODELCACHE");
    struct opened opened = open_store(path, NULL, CST_STORE_WRITABLE);
    CHECK_INT(CST_MODEL_INFERRED, source(&opened));
    CHECK_CONTAINS("inferred", cst_store_read_only_reason(opened.store));
    CHECK_INT(200, count(&opened, "Employee"));
    close_store(opened);
}

static void opening_a_missing_or_invalid_store_creates_no_file(void) {
    cst_coordinator *coordinator = NULL;
    cst_store *store = NULL;
    cst_model *model = company_model();
    uint64_t before = folder_state();
    const char *missing = check_path("missing.sqlite");
    CHECK_STATUS(CST_E_STORE_IO, cst_coordinator_open_store(text(missing), NULL, NULL, &coordinator, &store, E));
    cst_store_options options = CST_STORE_OPTIONS_INIT;
    options.flags = CST_STORE_WRITABLE;
    CHECK_STATUS(CST_E_STORE_IO, cst_coordinator_open_store(text(missing), model, &options, &coordinator, &store, E));
    options.flags |= CST_STORE_READ_ONLY;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                 cst_coordinator_open_store(text(missing), NULL, &options, &coordinator, &store, E));
    CHECK(folder_state() == before);
    const char xml[] = "<?xml version=\"1.0\"?><database></database>";
    write_file(check_path("store.xml"), xml, sizeof xml - 1);
    CHECK_STATUS(CST_E_STORE_CORRUPT,
                 cst_coordinator_open_store(text(check_path("store.xml")), NULL, NULL, &coordinator, &store, E));
    CHECK_CONTAINS("its <version> is missing", cst_error_message(check_error()));
    CHECK(coordinator == NULL && store == NULL);
    OK(cst_release(model));
}

static void metadata_is_read_without_a_model(void) {
    const char *path = good_store("a.sqlite");
    run_sql(path, "DROP TABLE ZPERSON; DROP TABLE Z_MODELCACHE");
    cst_buffer plist = {NULL, 0, 0};
    OK(cst_store_copy_metadata(text(path), &plist, E));
    CHECK(plist.size > 8 && memcmp(plist.data, "bplist00", 8) == 0);
    CHECK(memmem(plist.data, plist.size, "NSStoreUUID", 11) != NULL);
    CHECK(memmem(plist.data, plist.size, "NSStoreModelVersionHashes", 25) != NULL);
    cst_buffer_dispose(&plist);
    CHECK_STATUS(CST_E_STORE_IO, cst_store_copy_metadata(text(check_path("missing.sqlite")), &plist, E));
    CHECK(plist.data == NULL);
}

static void the_apple_check_reports_whether_core_data_accepts_a_store(void) {
    const char *path = good_store("a.sqlite");
    cst_buffer report = {NULL, 0, 0};
    bool accepted = false;
    OK(cst_store_check_apple(text(path), NULL, &accepted, &report, E));
    CHECK(accepted);
    CHECK_TEXT("{\"accepted\": true, \"extrapolations\": [], \"problems\": []}",
               text_of_size(report.data, report.size));
    run_sql(path, "UPDATE Z_PRIMARYKEY SET Z_MAX = -1");
    OK(cst_store_check_apple(text(path), NULL, &accepted, &report, E));
    CHECK(!accepted);
    CHECK_CONTAINS("Person", text_of_size(report.data, report.size));
    cst_buffer_dispose(&report);
    CHECK_STATUS(CST_E_STORE_IO, cst_store_check_apple(text(check_path("none")), NULL, &accepted, &report, E));
    CHECK(!accepted && report.data == NULL);
}

static void a_store_check_lists_the_problems(void) {
    const char *path = good_store("a.sqlite");
    cst_error *problems = NULL;
    OK(cst_store_check(text(path), NULL, &problems, E));
    CHECK(problems == NULL);
    run_sql(path, "UPDATE Z_PRIMARYKEY SET Z_MAX = 0 WHERE Z_NAME = 'Person'; UPDATE ZPERSON SET ZDEPARTMENT = 77");
    OK(cst_store_check(text(path), NULL, &problems, E));
    REQUIRE(problems != NULL);
    CHECK_INT(CST_E_STORE_CORRUPT, cst_error_status(problems));
    CHECK_TEXT(path, cst_error_file(problems));
    int references = 0, keys = 0;
    for (size_t i = 0; i < cst_error_detail_count(problems); i++) {
        const cst_error *problem = cst_error_detail_at(problems, i);
        if (cst_error_code(problem) == CST_PROBLEM_REFERENCE) {
            references++;
            CHECK_TEXT("Employee", cst_error_entity(problem));
            CHECK_TEXT("department", cst_error_key(problem));
            if (cst_error_object_uri(problem).data) CHECK_CONTAINS("row 77", cst_error_message(problem));
        } else {
            CHECK_INT(CST_PROBLEM_PRIMARY_KEY, cst_error_code(problem));
            CHECK_CONTAINS("Z_MAX", cst_error_message(problem));
            keys++;
        }
    }
    CHECK(references > 0 && keys == 1);
    OK(cst_release(problems));
    problems = NULL;
    CHECK_STATUS(CST_E_STORE_IO, cst_store_check(text(check_path("missing.sqlite")), NULL, &problems, E));
    CHECK(problems == NULL);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(a_store_is_opened_with_its_cached_model);
    RUN(a_retained_model_outlives_its_store);
    RUN(a_store_is_opened_with_a_given_model);
    RUN(a_store_is_opened_for_writing_on_request);
    RUN(a_store_without_a_cached_model_is_opened_with_an_inferred_one);
    RUN(opening_a_missing_or_invalid_store_creates_no_file);
    RUN(metadata_is_read_without_a_model);
    RUN(the_apple_check_reports_whether_core_data_accepts_a_store);
    RUN(a_store_check_lists_the_problems);
    return check_end();
}
