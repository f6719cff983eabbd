/* Handles: ownership, releasing, retaining, staleness; the version.
 *
 * SPDX-License-Identifier: MIT
 */
#include "company.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void version_is_that_of_the_header(void) {
    int major = -1, minor = -1, patch = -1;
    cst_version(&major, &minor, &patch);
    CHECK_INT(CST_VERSION_MAJOR, major);
    CHECK_INT(CST_VERSION_MINOR, minor);
    CHECK_INT(CST_VERSION_PATCH, patch);
    cst_version(NULL, NULL, NULL);
    CHECK_TEXT("0.1.0", cst_version_string());
}

static void release_of_null_succeeds(void) {
    CHECK_STATUS(CST_OK, cst_release(NULL));
    CHECK(cst_retain(NULL) == NULL);
    cst_buffer_dispose(NULL);
}

static void double_release_is_refused(void) {
    cst_model *model = NULL;
    OK(cst_model_new(&model, E));
    CHECK_STATUS(CST_OK, cst_release(model));
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_release(model));
    CHECK(cst_retain(model) == NULL);
    CHECK_INT(0, cst_model_entity_count(model));
}

static void retain_adds_an_owner(void) {
    cst_model *model = NULL;
    size_t before = cst_handle_count();
    OK(cst_model_new(&model, E));
    CHECK(cst_retain(model) == model);
    CHECK_INT(before + 1, cst_handle_count());
    CHECK_STATUS(CST_OK, cst_release(model));
    OK(cst_model_freeze(model, E));
    CHECK_STATUS(CST_OK, cst_release(model));
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_release(model));
    CHECK_INT(before, cst_handle_count());
}

static void stale_handles_stay_invalid_when_their_slots_are_reused(void) {
    enum { COUNT = 1000 };
    static cst_predicate *old[COUNT], *fresh[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        OK(cst_predicate_parse(text("a == 1"), 0, NULL, &old[i], E));
    for (size_t i = 0; i < COUNT; i++)
        OK(cst_release(old[i]));
    for (size_t i = 0; i < COUNT; i++)
        OK(cst_predicate_parse(text("b == 2"), 0, NULL, &fresh[i], E));
    cst_buffer out = {NULL, 0, 0};
    for (size_t i = 0; i < COUNT; i++) {
        CHECK_STATUS(CST_E_INVALID_HANDLE, cst_predicate_copy_format(old[i], &out, E));
        CHECK_STATUS(CST_E_INVALID_HANDLE, cst_release(old[i]));
    }
    for (size_t i = 0; i < COUNT; i++)
        OK(cst_release(fresh[i]));
    cst_buffer_dispose(&out);
}

static int by_number(const void *a, const void *b) {
    const uintptr_t left = *(const uintptr_t *)a, right = *(const uintptr_t *)b;
    return (left > right) - (left < right);
}

static void forty_thousand_handles_are_distinct(void) {
    enum { COUNT = 40000 };
    static uintptr_t handles[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        cst_predicate *predicate = NULL;
        OK(cst_predicate_parse(text("TRUEPREDICATE"), 0, NULL, &predicate, E));
        handles[i] = (uintptr_t)predicate;
    }
    qsort(handles, COUNT, sizeof *handles, by_number);
    for (size_t i = 1; i < COUNT; i++)
        CHECK(handles[i - 1] != handles[i]);
    for (size_t i = 0; i < COUNT; i++)
        OK(cst_release((void *)handles[i]));
}

/* Handles with one changed bit, and small numbers. */
static void numbers_that_are_not_handles_are_refused(void) {
    cst_predicate *predicate = NULL;
    cst_buffer out = {NULL, 0, 0};
    OK(cst_predicate_parse(text("TRUEPREDICATE"), 0, NULL, &predicate, E));
    for (size_t shift = 0; shift < sizeof(uintptr_t) * 8; shift++) {
        const uintptr_t bit = (uintptr_t)1 << shift;
        const uintptr_t numbers[] = {bit | 1, (uintptr_t)predicate ^ bit};
        for (int i = 0; i < 2; i++) {
            void *wrong = (void *)numbers[i];
            /* It can be another live handle of this process. */
            if (cst_retain(wrong)) {
                OK(cst_release(wrong));
                continue;
            }
            CHECK_STATUS(CST_E_INVALID_HANDLE, cst_predicate_copy_format(wrong, &out, E));
            CHECK_STATUS(CST_E_INVALID_HANDLE, cst_release(wrong));
        }
    }
    OK(cst_predicate_copy_format(predicate, &out, E));
    cst_buffer_dispose(&out);
    OK(cst_release(predicate));
}

/* The host releases a borrowed handle only as often as it retained it. */
static void releasing_a_borrowed_handle_is_refused(void) {
    cst_model *model = NULL, *lent = NULL;
    cst_entity *entity = NULL;
    cst_coordinator *coordinator = NULL;
    OK(cst_model_new(&model, E));
    OK(cst_model_add_entity(model, text("Apple"), &entity, E));
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_release(entity));
    CHECK_TEXT("Apple", cst_entity_name(entity));
    CHECK(cst_retain(entity) == entity);
    CHECK_STATUS(CST_OK, cst_release(entity));
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_release(entity));
    OK(cst_coordinator_new(model, &coordinator, E));
    CHECK_STATUS(CST_OK, cst_release(model));
    CHECK_TEXT("Apple", cst_entity_name(entity));
    OK(cst_coordinator_model(coordinator, &lent, E));
    CHECK(lent == model);
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_release(lent));
    CHECK_INT(1, cst_model_entity_count(lent));
    CHECK(cst_retain(lent) == lent);
    CHECK_STATUS(CST_OK, cst_release(lent));
    OK(cst_release(coordinator));
}

static void an_object_keeps_its_context_and_coordinator_alive(void) {
    struct company company = company_open(check_path("a.sqlite"));
    cst_object *object = company_employee(&company, company.context, "Ada", 1);
    CHECK_STATUS(CST_OK, cst_release(company.model));
    CHECK_STATUS(CST_OK, cst_release(company.store));
    CHECK_STATUS(CST_OK, cst_release(company.coordinator));
    CHECK_STATUS(CST_OK, cst_release(company.context));
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_release(company.context));
    CHECK_TEXT("Ada", get_text(object, company.name));
    cst_context *context = NULL;
    OK(cst_object_context(object, &context, E));
    CHECK(context == company.context);
    save(context);
    CHECK_INT(1, company_count(context, company.employee, "name == 'Ada'"));
    CHECK_STATUS(CST_OK, cst_release(object));
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_context_save(context, E));
}

static void a_retained_part_keeps_its_model_alive(void) {
    cst_model *model = NULL;
    cst_entity *entity = NULL, *other = NULL;
    cst_attribute *attribute = NULL;
    cst_relationship *relationship = NULL;
    OK(cst_model_new(&model, E));
    OK(cst_model_add_entity(model, text("A"), &entity, E));
    OK(cst_model_add_entity(model, text("B"), &other, E));
    OK(cst_entity_add_attribute(entity, text("name"), CST_ATTRIBUTE_STRING, 0, &attribute, E));
    OK(cst_entity_add_relationship(entity, text("b"), other, CST_PROPERTY_OPTIONAL, &relationship, E));
    void *parts[] = {entity, attribute, relationship};
    for (int i = 0; i < 3; i++)
        CHECK(cst_retain(parts[i]) == parts[i]);
    OK(cst_release(model));
    CHECK_STATUS(CST_OK, cst_attribute_set_user_info(attribute, text("k"), text("v"), E));
    CHECK_STATUS(CST_OK, cst_relationship_set_delete_rule(relationship, CST_DELETE_CASCADE, E));
    CHECK_STATUS(CST_OK, cst_entity_set_user_info(entity, text("k"), text("v"), E));
    CHECK_TEXT("A", cst_entity_name(entity));
    for (int i = 0; i < 3; i++)
        OK(cst_release(parts[i]));
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_entity_set_abstract(entity, true, E));
}

static void objects_and_requests_of_an_entity_keep_its_model_alive(void) {
    cst_model *model = company_model();
    struct company c;
    memset(&c, 0, sizeof c);
    c.model = model;
    company_resolve(&c);
    cst_object *object = NULL;
    cst_fetch_request *request = NULL;
    cst_entity *entity = NULL;
    bool is_changed = true;
    OK(cst_object_new(c.employee, &object, E));
    OK(cst_fetch_request_new(c.employee, &request, E));
    OK(cst_release(model));
    set(object, c.name, value_text("Ada"));
    CHECK_TEXT("Ada", get_text(object, c.name));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_is_changed(object, c.title, &is_changed, E));
    OK(cst_object_entity(object, &entity, E));
    CHECK_TEXT("Employee", cst_entity_name(entity));
    OK(cst_fetch_request_set_limit(request, 1, E));
    OK(cst_release(request));
    OK(cst_release(object));
    CHECK_TEXT(NULL, cst_entity_name(entity));
}

static void equal_handles_mean_the_same_object(void) {
    struct company company = company_open(check_path("a.sqlite"));
    cst_object *object = company_employee(&company, company.context, "Ada", 1);
    save(company.context);
    cst_results *results = company_fetch(company.context, company.employee, "name == 'Ada'", NULL);
    CHECK(object_at(results, 0) == object);
    OK(cst_release(results));
    CHECK_TEXT("Ada", get_text(object, company.name));
    OK(cst_release(object));
    company_close(&company);
}

static void *release_there(void *handle) {
    CHECK_STATUS(CST_OK, cst_release(handle));
    return NULL;
}

static void release_is_allowed_on_any_thread(void) {
    struct company company = company_open(check_path("a.sqlite"));
    const size_t before = cst_handle_count();
    cst_object *object = company_employee(&company, company.context, "Ada", 1);
    cst_results *results = company_fetch(company.context, company.employee, NULL, NULL);
    CHECK(object_at(results, 0) == object);
    void *const handles[] = {object, results};
    for (int i = 0; i < 2; i++) {
        pthread_t thread;
        REQUIRE(pthread_create(&thread, NULL, release_there, handles[i]) == 0);
        REQUIRE(pthread_join(thread, NULL) == 0);
    }
    CHECK_INT(0, cst_results_count(results)); /* invalid at once */
    save(company.context);                    /* the insertion is still there */
    CHECK_INT(before, cst_handle_count());
    CHECK_INT(1, company_count(company.context, company.employee, NULL));
    company_close(&company);
}

static void buffers_are_reused_and_zeroed(void) {
    cst_predicate *predicate = NULL;
    cst_buffer out;
    memset(&out, 0, sizeof out);
    OK(cst_predicate_parse(text("name == 'x'"), 0, NULL, &predicate, E));
    OK(cst_predicate_copy_format(predicate, &out, E));
    CHECK(out.size > 0 && out.capacity > out.size && out.data[out.size] == 0);
    const size_t size = out.size, capacity = out.capacity;
    OK(cst_predicate_copy_format(predicate, &out, E));
    CHECK_INT(size, out.size);
    CHECK_INT(capacity, out.capacity);
    cst_buffer_dispose(&out);
    CHECK(out.data == NULL && out.size == 0 && out.capacity == 0);
    cst_buffer_dispose(&out);
    OK(cst_release(predicate));
}

/* The message about a NULL handle, or a handle of another type, names the expected type. */
static void handle_errors_name_the_expected_type(void) {
    cst_model *model = company_model();
    cst_buffer buffer = {0};
    void *out = NULL;
    bool flag = false;
    size_t size = 0;
    uint32_t number = 0;
    uint64_t wide = 0;
    cst_value value;
    const cst_string name = text("x");
    for (int is_null = 0; is_null < 2; is_null++) {
        void *bad = is_null ? NULL : model;
        char expected[120];
#define WANTS(type, call)                                                                                              \
    do {                                                                                                               \
        CHECK_STATUS(CST_E_INVALID_HANDLE, call);                                                                      \
        if (is_null)                                                                                                   \
            snprintf(expected, sizeof expected, "the %s handle is NULL; pass a handle of this type", type);            \
        else                                                                                                           \
            snprintf(expected, sizeof expected, "the handle is of type model, but the function takes one of type %s",  \
                     type);                                                                                            \
        CHECK_TEXT(expected, cst_error_message(check_error()));                                                        \
    } while (0)
        WANTS("entity", cst_entity_is_abstract(bad, &flag, E));
        WANTS("attribute", cst_attribute_set_pattern(bad, name, E));
        WANTS("relationship", cst_relationship_set_counts(bad, 0, 0, E));
        WANTS("coordinator", cst_coordinator_reset_statistics(bad, E));
        WANTS("store", cst_store_model_source(bad, &number, E));
        WANTS("context", cst_context_save(bad, E));
        WANTS("object", cst_object_state(bad, &number, E));
        WANTS("object", cst_object_get(bad, 0, &value, E));
        WANTS("object ID", cst_object_id_is_temporary(bad, &flag, E));
        WANTS("predicate", cst_predicate_copy_format(bad, &buffer, E));
        WANTS("fetch request", cst_fetch_request_set_limit(bad, 1, E));
        WANTS("results", cst_results_get_objects(bad, 0, 0, NULL, &size, E));
        WANTS("results", cst_results_get_object(bad, 0, (cst_object **)&out, E));
        WANTS("cursor", cst_cursor_copy_next(bad, (cst_results **)&out, E));
        WANTS("mapping model", cst_mapping_model_copy_json(bad, &buffer, E));
        WANTS("expression", cst_expression_type(bad, &number, E));
        WANTS("rows", cst_rows_copy_values(bad, 0, 0, &value, E));
        WANTS("observation", cst_observation_cancel(bad, E));
        WANTS("undo manager", cst_undo_manager_undo(bad, E));
        WANTS("conflict", cst_conflict_resolve(bad, CST_MERGE_ERROR, E));
        WANTS("asynchronous fetch", cst_asynchronous_fetch_progress(bad, &wide, &wide, E));
        WANTS("batch request", cst_batch_set_merges(bad, true, E));
        WANTS("controller", cst_controller_perform_fetch(bad, E));
        WANTS("snapshot", cst_snapshot_copy_ids(bad, 0, (cst_results **)&out, E));
        WANTS("container", cst_container_save(bad, E));
        WANTS("document", cst_document_save(bad, E));
        WANTS("row sink", cst_row_sink_push(bad, 0, NULL, E));
        WANTS("migration manager", cst_migration_manager_reset(bad, E));
        WANTS("model reference", cst_model_reference_resolve(bad, (cst_model **)&out, E));
        WANTS("migration stages", cst_migration_stages_validate(bad, E));
        WANTS("save request", cst_save_request_add_conflict(bad, 1, NULL, E));
#undef WANTS
    }
    cst_predicate *predicate = NULL;
    OK(cst_predicate_parse(text("a == 1"), 0, NULL, &predicate, E));
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_model_freeze((cst_model *)predicate, E));
    CHECK_TEXT("the handle is of type predicate, but the function takes one of type model",
               cst_error_message(check_error()));
    OK(cst_release(predicate));
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_predicate_copy_format(predicate, &buffer, E));
    CHECK_TEXT("the predicate handle is not valid: it was released or never existed; retain borrowed handles with "
               "cst_retain",
               cst_error_message(check_error()));
    cst_buffer_dispose(&buffer);
    OK(cst_release(model));
}

static void a_buffer_can_be_filled_with_bytes_of_any_size(void) {
    cst_buffer buffer = {0};
    OK(cst_buffer_fill(&buffer, (cst_bytes){NULL, 0}, E));
    CHECK(buffer.size == 0 && buffer.data != NULL && buffer.data[0] == 0);
    OK(cst_buffer_fill(&buffer, (cst_bytes){(const uint8_t *)"a\0b", 3}, E));
    CHECK(buffer.size == 3 && memcmp(buffer.data, "a\0b", 4) == 0);
    CHECK(buffer.capacity > 3);
    const size_t capacity = buffer.capacity;
    const char *place = buffer.data;
    OK(cst_buffer_fill(&buffer, (cst_bytes){(const uint8_t *)"xy", 2}, E));
    CHECK(buffer.size == 2 && buffer.data == place && buffer.capacity == capacity && buffer.data[2] == 0);
    char many[1000];
    memset(many, 'z', sizeof many);
    OK(cst_buffer_fill(&buffer, (cst_bytes){(const uint8_t *)many, sizeof many}, E));
    CHECK(buffer.size == 1000 && buffer.capacity > 1000 && buffer.data[999] == 'z' && buffer.data[1000] == 0);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_buffer_fill(&buffer, (cst_bytes){NULL, 1}, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                 cst_buffer_fill(&buffer, (cst_bytes){(const uint8_t *)many, (size_t)INT32_MAX}, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_buffer_fill(&buffer, (cst_bytes){(const uint8_t *)many, SIZE_MAX}, E));
    CHECK_INT(1000, buffer.size); /* as it was */
    cst_buffer_dispose(&buffer);
    CHECK(buffer.data == NULL && buffer.size == 0 && buffer.capacity == 0);
}

/* The error about invalid UTF-8 has the offset of the first invalid byte. */
static void utf8_errors_contain_the_offset_of_the_invalid_byte(void) {
    cst_model *model = company_model();
    cst_entity *entity = NULL;
    const struct {
        const char *data;
        size_t size;
        int64_t offset;
    } cases[] = {{"ab\xff", 3, 2}, {"\xc3", 1, 0}, {"a\xed\xa0\x80", 4, 1}, {"\xe6\x97\xa5\xf8", 4, 3}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK_STATUS(CST_E_INVALID_UTF8,
                     cst_model_entity(model, text_of_size(cases[i].data, cases[i].size), &entity, E));
        CHECK_INT(cases[i].offset, cst_error_offset(check_error()));
        char expected[80];
        snprintf(expected, sizeof expected, "name is not valid UTF-8 at byte %d", (int)cases[i].offset);
        CHECK_TEXT(expected, cst_error_message(check_error()));
    }
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_model_entity(model, (cst_string){NULL, 0}, &entity, E));
    CHECK_TEXT("name is NULL; pass a string", cst_error_message(check_error()));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_model_entity(model, (cst_string){NULL, CST_NUL}, &entity, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_model_entity(model, (cst_string){NULL, 1}, &entity, E));
    CHECK_TEXT("name is NULL but has the size 1; pass its bytes, or the size 0", cst_error_message(check_error()));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_model_entity(model, text_of_size("Task", INT32_MAX), &entity, E));
    CHECK_TEXT("name has 2147483647 bytes, but the limit is 2147483646", cst_error_message(check_error()));
    OK(cst_model_entity(model, text_of_size("Tasks", 4), &entity, E));
    CHECK_TEXT("Task", cst_entity_name(entity));
    /* A path must not be empty or contain a NUL. */
    cst_model *loaded = NULL;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_model_load(text(""), (cst_string){NULL, 0}, &loaded, E));
    CHECK_INT(CST_CODE_PERSISTENT_STORE_OPEN, cst_error_code(check_error()));
    CHECK_TEXT("path is empty; pass a path", cst_error_message(check_error()));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_model_load(text_of_size("a\0b", 3), (cst_string){NULL, 0}, &loaded, E));
    CHECK_INT(CST_CODE_PERSISTENT_STORE_OPEN, cst_error_code(check_error()));
    CHECK_TEXT("path contains a NUL byte; remove it", cst_error_message(check_error()));
    CHECK_STATUS(CST_E_INVALID_UTF8, cst_model_load(text("a\xff"), (cst_string){NULL, 0}, &loaded, E));
    CHECK_TEXT("path is not valid UTF-8 at byte 1; pass the path in UTF-8, or rename the file or folder if its name is "
               "not UTF-8",
               cst_error_message(check_error()));
    CHECK_INT(1, cst_error_offset(check_error()));
    CHECK(loaded == NULL);
    OK(cst_release(model));
}

static void array_counts_out_of_range_are_refused(void) {
    cst_model *model = company_model();
    cst_entity *employee = NULL;
    cst_predicate *predicate = NULL;
    const cst_value one = value_int(1);
    OK(cst_model_entity(model, text("Employee"), &employee, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_predicate_parse(text("a == %d"), SIZE_MAX, &one, &predicate, E));
    CHECK_TEXT("arguments has 18446744073709551615 elements, but the limit is 2147483646",
               cst_error_message(check_error()));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_predicate_parse(text("a == %d"), INT32_MAX, &one, &predicate, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_predicate_parse(text("a == %d"), 1, NULL, &predicate, E));
    CHECK_TEXT("arguments is NULL but has 1 element; pass the array, or the count 0", cst_error_message(check_error()));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_predicate_parse(text("a == %d"), 1, &one, NULL, E));
    CHECK_TEXT("out_predicate is NULL; pass a pointer for the result", cst_error_message(check_error()));
    CHECK(predicate == NULL);
    OK(cst_release(model));
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(version_is_that_of_the_header);
    RUN(release_of_null_succeeds);
    RUN(double_release_is_refused);
    RUN(retain_adds_an_owner);
    RUN(stale_handles_stay_invalid_when_their_slots_are_reused);
    RUN(forty_thousand_handles_are_distinct);
    RUN(numbers_that_are_not_handles_are_refused);
    RUN(releasing_a_borrowed_handle_is_refused);
    RUN(an_object_keeps_its_context_and_coordinator_alive);
    RUN(a_retained_part_keeps_its_model_alive);
    RUN(objects_and_requests_of_an_entity_keep_its_model_alive);
    RUN(equal_handles_mean_the_same_object);
    RUN(release_is_allowed_on_any_thread);
    RUN(buffers_are_reused_and_zeroed);
    RUN(handle_errors_name_the_expected_type);
    RUN(a_buffer_can_be_filled_with_bytes_of_any_size);
    RUN(utf8_errors_contain_the_offset_of_the_invalid_byte);
    RUN(array_counts_out_of_range_are_refused);
    return check_end();
}
