/* Documents: saved first, saved as another file or type, reverted, saved automatically; and records of a container.
 *
 * SPDX-License-Identifier: MIT
 */
#include "company.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const cst_string none = {NULL, 0};

static bool exists(const char *path) { return access(path, F_OK) == 0; }

static cst_document *make(const char *type, cst_queue queue) {
    cst_model *model = company_model();
    cst_document *document = NULL;
    OK(cst_document_new(model, type ? text(type) : none, queue, &document, E));
    OK(cst_release(model));
    return document;
}

static cst_context *context_of(cst_document *document) {
    cst_context *context = NULL;
    OK(cst_document_context(document, &context, E));
    return context;
}

struct adding {
    const char *name;
    int64_t count;
};

/* Inserts a department, or counts them where there is no name. */
static cst_status add(void *userdata, cst_context *context, cst_error **error) {
    struct adding *adding = userdata;
    cst_coordinator *coordinator = NULL;
    cst_model *model = NULL;
    cst_entity *entity = NULL;
    cst_key key = CST_NO_KEY;
    cst_object *object = NULL;
    OK(cst_context_coordinator(context, &coordinator, error));
    OK(cst_coordinator_model(coordinator, &model, error));
    OK(cst_model_entity(model, text("Department"), &entity, error));
    if (!adding->name) {
        adding->count = (int64_t)company_count(context, entity, NULL);
        return CST_OK;
    }
    OK(cst_entity_key(entity, text("name"), &key, error));
    OK(cst_context_insert(context, entity, &object, error));
    if (*adding->name) set(object, key, value_text(adding->name));
    return cst_release(object);
}

static void insert(cst_document *document, const char *name) {
    struct adding adding = {name, 0};
    OK(cst_context_perform_and_wait(context_of(document), add, &adding, E));
}

static int64_t count(cst_document *document) {
    struct adding adding = {NULL, 0};
    OK(cst_context_perform_and_wait(context_of(document), add, &adding, E));
    return adding.count;
}

static int64_t count_at(const char *path) {
    cst_model *model = company_model();
    cst_document *document = NULL;
    OK(cst_document_open(text(path), model, NULL, CST_QUEUE_CALLER, &document, E));
    const int64_t found = count(document);
    OK(cst_document_close(document, CST_UNSAVED_REFUSE, E));
    OK(cst_release(document));
    OK(cst_release(model));
    return found;
}

static uint32_t flags(cst_document *document) {
    uint32_t found = 0;
    OK(cst_document_state(document, &found, E));
    return found;
}

static void an_untitled_document_is_saved_as_each_type(void) {
    static const char *const types[] = {"SQLite", "XML", "Binary"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        char one[20], two[20];
        snprintf(one, sizeof one, "one%zu", i);
        snprintf(two, sizeof two, "two%zu", i);
        cst_document *document = make(types[i], CST_QUEUE_PRIVATE);
        cst_buffer path = {0};
        CHECK_STATUS(CST_NOT_FOUND, cst_document_copy_path(document, &path, E));
        CHECK_INT(CST_DOCUMENT_UNTITLED, flags(document));
        insert(document, "R&D");
        CHECK_INT(CST_DOCUMENT_UNTITLED | CST_DOCUMENT_EDITED, flags(document));
        CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_document_save(document, E));
        CHECK_STATUS(CST_E_UNSAVED_CHANGES, cst_document_close(document, CST_UNSAVED_REFUSE, E));
        CHECK_CONTAINS("1 Department inserted", cst_error_message(cst_error_detail_at(check_error(), 0)));
        OK(cst_document_save_as(document, none, text(check_path(one)), false, E));
        OK(cst_document_copy_path(document, &path, E));
        CHECK_TEXT(check_path(one), text_of_size(path.data, path.size));
        CHECK_INT(0, flags(document));
        insert(document, "Sales");
        OK(cst_document_save_as(document, none, text(check_path(two)), false, E));
        CHECK_INT(1, count_at(check_path(one)));
        CHECK_INT(2, count_at(check_path(two)));
        CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_document_save_as(document, none, text(check_path(one)), false, E));
        OK(cst_document_save_as(document, none, text(check_path(one)), true, E));
        insert(document, ""); /* has no name */
        CHECK_STATUS(CST_E_VALIDATION, cst_document_save_as(document, none, text(check_path("new")), false, E));
        CHECK(!exists(check_path("new")));
        OK(cst_document_revert(document, E));
        OK(cst_document_close(document, CST_UNSAVED_REFUSE, E));
        CHECK_INT(CST_DOCUMENT_CLOSED, flags(document));
        CHECK_STATUS(CST_E_INVALID_HANDLE, cst_document_save(document, E));
        OK(cst_release(document));
        cst_buffer_dispose(&path);
    }
}

static void save_as_converts_a_document_to_another_type(void) {
    cst_document *document = make(NULL, CST_QUEUE_CALLER);
    insert(document, "R&D");
    OK(cst_document_save_as(document, none, text(check_path("one")), false, E));
    insert(document, "Sales");
    OK(cst_document_save_as(document, text("Binary"), text(check_path("two")), false, E));
    CHECK_INT(2, count(document));
    CHECK_INT(1, count_at(check_path("one")));
    OK(cst_document_close(document, CST_UNSAVED_REFUSE, E));
    OK(cst_release(document));
    CHECK_INT(2, count_at(check_path("two")));
}

static void undo_clears_the_edited_flag(void) {
    cst_document *document = make(NULL, CST_QUEUE_CALLER);
    bool unsaved = true;
    OK(cst_document_save_as(document, none, text(check_path("one")), false, E));
    insert(document, "R&D");
    CHECK_INT(CST_DOCUMENT_EDITED, flags(document));
    cst_undo_manager *manager = NULL;
    OK(cst_context_copy_undo_manager(context_of(document), &manager, E));
    CHECK(manager != NULL);
    OK(cst_release(manager));
    OK(cst_context_undo(context_of(document), E));
    CHECK_INT(0, flags(document));
    OK(cst_document_has_unsaved_changes(document, &unsaved, E));
    CHECK(!unsaved);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_document_set_autosave(document, 1, 0, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_document_close(document, 7, E));
    OK(cst_document_close(document, CST_UNSAVED_REFUSE, E));
    OK(cst_release(document));
}

static void the_context_of_a_document_is_borrowed(void) {
    cst_document *document = make(NULL, CST_QUEUE_CALLER);
    cst_context *context = context_of(document);
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_release(context));
    CHECK(context == context_of(document));
    CHECK_INT(0, count(document));
    CHECK(cst_retain(context) == context);
    OK(cst_document_close(document, CST_UNSAVED_REFUSE, E));
    OK(cst_release(document));
    bool changed = true;
    OK(cst_context_has_changes(context, &changed, E));
    CHECK(!changed);
    OK(cst_release(context));
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_context_has_changes(context, &changed, E));
}

/* A foreign text file, a file that was removed, and a child context with unsaved changes. */
static void save_refuses_foreign_files_and_removed_files(void) {
    const char *path = check_path("thesis");
    FILE *file = fopen(path, "w");
    REQUIRE(file && fputs("my thesis", file) >= 0 && fclose(file) == 0);
    cst_document *document = make("XML", CST_QUEUE_PRIVATE);
    cst_context *context = NULL, *child = NULL;
    bool is_unsaved = true;
    insert(document, "R&D");
    CHECK_STATUS(CST_E_NOT_A_STORE, cst_document_save_as(document, text("Binary"), text(path), true, E));
    char read[20] = {0};
    file = fopen(path, "r");
    REQUIRE(file && fgets(read, sizeof read, file) && fclose(file) == 0);
    CHECK(strcmp(read, "my thesis") == 0);
    OK(cst_document_save_as(document, text("SQLite"), text(check_path("one")), false, E));
    OK(cst_document_has_unsaved_changes(document, &is_unsaved, E));
    CHECK(!is_unsaved);
    OK(cst_document_context(document, &context, E));
    OK(cst_context_new_child(context, CST_QUEUE_PRIVATE, &child, E));
    struct adding below = {"below", 0};
    OK(cst_context_perform_and_wait(child, add, &below, E));
    OK(cst_document_has_unsaved_changes(document, &is_unsaved, E));
    CHECK(is_unsaved);
    OK(cst_release(child));
    REQUIRE(remove(check_path("one")) == 0);
    insert(document, "Sales");
    CHECK_STATUS(CST_E_STORE_IO, cst_document_save(document, E));
    CHECK_CONTAINS("no longer exists", cst_error_message(check_error()));
    CHECK_STATUS(CST_E_STORE_IO, cst_document_revert(document, E));
    OK(cst_document_save_as(document, none, text(check_path("two")), false, E));
    CHECK_INT(2, count_at(check_path("two")));
    OK(cst_document_close(document, CST_UNSAVED_REFUSE, E));
    OK(cst_release(document));
}

static uint32_t seen;

static void see(void *userdata, uint32_t state) {
    (void)userdata;
    __atomic_or_fetch(&seen, state, __ATOMIC_SEQ_CST);
}

static void autosave_saves_the_changes_of_a_document(void) {
    cst_document *document = make(NULL, CST_QUEUE_PRIVATE);
    cst_observation *observation = NULL;
    cst_error *failure = NULL;
    OK(cst_document_save_as(document, none, text(check_path("one")), false, E));
    OK(cst_document_observe(document, see, NULL, NULL, &observation, E));
    OK(cst_document_set_autosave(document, 2, 0, E));
    insert(document, "R&D");
    insert(document, "Sales");
    for (int i = 0; i < 6000 && flags(document) != 0; i++)
        usleep(10000);
    CHECK_INT(2, count_at(check_path("one")));
    CHECK((__atomic_load_n(&seen, __ATOMIC_SEQ_CST) & CST_DOCUMENT_SAVING) != 0);
    CHECK_STATUS(CST_NOT_FOUND, cst_document_copy_error(document, &failure, E));
    OK(cst_document_set_autosave(document, 0, 30, E));
    insert(document, "");
    for (int i = 0; i < 6000 && (flags(document) & CST_DOCUMENT_FAILED) == 0; i++)
        usleep(10000);
    OK(cst_document_copy_error(document, &failure, E));
    CHECK_INT(CST_E_VALIDATION, cst_error_status(failure));
    OK(cst_release(failure));
    CHECK_STATUS(CST_E_UNSAVED_CHANGES, cst_document_close(document, CST_UNSAVED_REFUSE, E));
    CHECK_INT(2, (int)cst_error_detail_count(check_error()));
    OK(cst_document_close(document, CST_UNSAVED_DISCARD, E));
    OK(cst_observation_cancel(observation, E));
    OK(cst_release(observation));
    OK(cst_release(document));
}

struct recorded {
    size_t count;
    int successes, failures;
    cst_status status;
    char json[2000], key[100];
};

static void succeed(void *userdata, cst_string records, size_t number) {
    struct recorded *recorded = userdata;
    recorded->successes++;
    recorded->count = number;
    snprintf(recorded->json, sizeof recorded->json, "%.*s", (int)records.size, records.data ? records.data : "");
}

static void fail(void *userdata, const cst_error *error) {
    struct recorded *recorded = userdata;
    recorded->failures++;
    recorded->status = cst_error_status(error);
    const cst_string key = cst_error_key(error);
    snprintf(recorded->key, sizeof recorded->key, "%.*s", (int)key.size, key.data ? key.data : "");
}

static cst_container *container_in_memory(cst_model *model) {
    cst_container *container = NULL;
    cst_store_description description = CST_STORE_DESCRIPTION_INIT;
    description.type = text("InMemory");
    OK(cst_container_new(text("Records"), model, NULL, &container, E));
    OK(cst_container_add_description(container, &description, E));
    OK(cst_container_load(container, NULL, NULL, NULL, E));
    return container;
}

static void json_records_are_inserted_read_updated_and_deleted(void) {
    cst_model *model = company_model();
    cst_container *container = container_in_memory(model);
    struct recorded recorded = {0};
    const cst_string employee = text("Employee");
    OK(cst_container_insert(container, employee,
                            text("[{\"name\": \"Ada\", \"number\": \"7\", \"hired\": \"2001-01-02T00:00:00Z\", "
                                 "\"department\": {\"name\": \"R&D\"}}, {\"name\": \"Bob\", \"number\": 3}]"),
                            succeed, fail, &recorded, E));
    CHECK_INT(2, (int)recorded.count);
    CHECK(strstr(recorded.json, "\"number\": 7") != NULL || strstr(recorded.json, "\"number\":7") != NULL);
    CHECK(strstr(recorded.json, "2001-01-02T00:00:00Z") != NULL);
    CHECK_STATUS(CST_E_TYPE_MISMATCH,
                 cst_container_insert(container, employee, text("{\"name\": \"Eve\", \"number\": \"many\"}"), succeed,
                                      fail, &recorded, E));
    CHECK_INT(1, recorded.failures);
    CHECK_INT(CST_E_TYPE_MISMATCH, recorded.status);
    CHECK(strcmp(recorded.key, "number") == 0);
    CHECK_TEXT("Employee", cst_error_entity(check_error()));
    CHECK_STATUS(
        CST_E_TYPE_MISMATCH,
        cst_container_insert(container, employee, text("{\"number\": {\"a\": [1, \"x\"]}}"), NULL, NULL, NULL, E));
    cst_value refused = value_null();
    for (int round = 0; round < 2; round++) {
        OK(cst_error_value(check_error(), &refused));
        CHECK_INT(CST_DICTIONARY, refused.type);
        CHECK_INT(2, (int)refused.as.values.size);
        CHECK_TEXT("a", refused.as.values.data[0].as.string);
        CHECK_INT(CST_ARRAY, refused.as.values.data[1].type);
        CHECK_INT(1, refused.as.values.data[1].as.values.data[0].as.integer);
        CHECK_TEXT("x", refused.as.values.data[1].as.values.data[1].as.string);
        cst_value_dispose(&refused); /* borrowed: nothing is freed */
    }
    CHECK_STATUS(
        CST_E_TYPE_MISMATCH,
        cst_container_insert(container, employee, text("{\"name\": {\"$bytes\": \"eA==\"}}"), NULL, NULL, NULL, E));
    OK(cst_error_value(check_error(), &refused));
    CHECK_INT(CST_BYTES, refused.type);
    CHECK(refused.as.bytes.size == 1 && refused.as.bytes.data[0] == 'x');
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_container_insert(container, employee, text("[1]"), NULL, NULL, NULL, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                 cst_container_insert(container, employee, text("{\"name\": "), NULL, NULL, NULL, E));
    OK(cst_container_read(container, employee, NULL, text("-number"), true, 1, 0, succeed, fail, &recorded, E));
    CHECK_INT(1, (int)recorded.count);
    CHECK(strstr(recorded.json, "Ada") != NULL);
    OK(cst_container_read(container, employee, NULL, text("number"), true, 5, 1, succeed, fail, &recorded, E));
    CHECK_INT(1, (int)recorded.count);
    CHECK(strstr(recorded.json, "Ada") != NULL && strstr(recorded.json, "\"@id\"") != NULL);
    const cst_value research = {.type = CST_STRING, .as.string = text("R&D")};
    cst_predicate *predicate = NULL;
    OK(cst_predicate_parse(text("department.name == %@"), 1, &research, &predicate, E));
    OK(cst_container_read(container, employee, predicate, none, true, 0, 0, succeed, fail, &recorded, E));
    CHECK_INT(1, (int)recorded.count);
    OK(cst_release(predicate));
    OK(cst_predicate_parse(text("number == 3"), 0, NULL, &predicate, E));
    OK(cst_container_update(container, employee, predicate, text("{\"number\": 4}"), succeed, fail, &recorded, E));
    OK(cst_release(predicate));
    CHECK_INT(1, (int)recorded.count);
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_container_delete(container, employee, NULL, succeed, fail, &recorded, E));
    OK(cst_predicate_parse(text("number == 4"), 0, NULL, &predicate, E));
    OK(cst_container_delete(container, employee, predicate, succeed, fail, &recorded, E));
    OK(cst_release(predicate));
    CHECK_INT(1, (int)recorded.count);
    CHECK(recorded.json[0] == 0);
    OK(cst_container_delete_all(container, employee, succeed, NULL, &recorded, E));
    CHECK_INT(1, (int)recorded.count);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                 cst_container_insert(container, employee, text("{\"@id\": \"x-coredata://a/Employee/p1\"}"), succeed,
                                      fail, &recorded, E));
    CHECK(strcmp(recorded.key, "@id") == 0);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                 cst_container_insert(container, employee, text("{\"name\": \"Eve\", \"@entity\": \"Department\"}"),
                                      succeed, fail, &recorded, E));
    CHECK(strcmp(recorded.key, "@entity") == 0);
    OK(cst_container_insert(container, employee,
                            text("{\"name\": 123456789012345678.25, \"number\": 7.0, \"hired\": \"2001-01-03 10:00\"}"),
                            succeed, fail, &recorded, E));
    CHECK(strstr(recorded.json, "\"123456789012345678.25\"") != NULL);
    CHECK(strstr(recorded.json, "2001-01-03T10:00:00Z") != NULL);
    OK(cst_container_close(container, CST_UNSAVED_REFUSE, E));
    OK(cst_release(container));
    OK(cst_release(model));
}

/* Digits are kept for decimal and text attributes; floating-point attributes keep the digits of a double. */
static void json_numbers_keep_their_digits(void) {
    static const char *const numbers[][2] = {
        {"0.1", "0.1"},
        {"123456789012345678.25", "123456789012345678.25"},
        {"0.12345678901234567890123456789012345678", "0.12345678901234567890123456789012345678"},
        {"99999999999999999999999999999999999999", "99999999999999999999999999999999999999"},
        {"-12345678901234567890.123456789012345678", "-12345678901234567890.123456789012345678"},
    };
    cst_model *model = company_model();
    cst_container *container = container_in_memory(model);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct recorded recorded = {0};
        char json[300], salary[100], name[100];
        snprintf(json, sizeof json, "{\"name\": %s, \"salary\": %s, \"rating\": %s}", numbers[i][0], numbers[i][0],
                 numbers[i][0]);
        OK(cst_container_insert(container, text("Employee"), text(json), succeed, fail, &recorded, E));
        snprintf(salary, sizeof salary, "\"salary\": \"%s\"", numbers[i][1]);
        snprintf(name, sizeof name, "\"name\": \"%s\"", numbers[i][1]);
        CHECK_CONTAINS(salary, text(recorded.json));
        CHECK_CONTAINS(name, text(recorded.json));
        const char *rating = strstr(recorded.json, "\"rating\": ");
        REQUIRE(rating != NULL);
        CHECK_REAL(strtod(numbers[i][0], NULL), strtod(rating + 10, NULL));
    }
    OK(cst_release(container));
    OK(cst_release(model));
}

static void *release_elsewhere(void *document) {
    CHECK_STATUS(CST_OK, cst_release(document));
    return NULL;
}

/* A context that is locked when its last handle is released cannot be unlocked. Blocks that wait for it must end, or
 * they would never be freed. RUN counts the handles. */
static void a_document_can_be_released_while_its_context_is_locked(void) {
    cst_document *document = make("XML", CST_QUEUE_PRIVATE);
    OK(cst_context_lock(context_of(document), E));
    OK(cst_context_lock(context_of(document), E));
    OK(cst_document_set_autosave(document, 1, 0, E)); /* looks for changes in a block on the context's queue */
    OK(cst_release(document));

    /* Another thread releases the last handle. */
    document = make("XML", CST_QUEUE_PRIVATE);
    OK(cst_context_lock(context_of(document), E));
    OK(cst_document_set_autosave(document, 1, 0, E));
    pthread_t other;
    CHECK_INT(0, pthread_create(&other, NULL, release_elsewhere, document));
    CHECK_INT(0, pthread_join(other, NULL));
}

/* Order, window and condition of a read, and the callbacks of each call. */
static void records_are_read_by_order_and_window(void) {
    cst_model *model = company_model();
    cst_container *container = container_in_memory(model);
    struct recorded recorded = {0};
    const cst_string department = text("Department"), employee = text("Employee");
    OK(cst_container_insert(container, department, text("{\"name\": \"one\"}"), succeed, fail, &recorded, E));
    CHECK_INT(1, recorded.count); /* one record is a list of one */
    CHECK(recorded.json[0] == '[' && recorded.successes == 1 && recorded.failures == 0);
    OK(cst_container_insert(container, employee,
                            text("[{\"name\": \"a\", \"number\": 1, \"level\": 2}, {\"name\": \"b\", \"number\": 2, "
                                 "\"level\": 1}, {\"name\": \"c\", \"number\": 3, \"level\": 1}]"),
                            succeed, fail, &recorded, E));
    CHECK_INT(3, recorded.count);
    OK(cst_container_insert(container, employee, text("[]"), succeed, fail, &recorded, E));
    CHECK_INT(0, recorded.count);
    CHECK(strcmp(recorded.json, "[]") == 0);
    const struct {
        const char *sort;
        bool ascending;
        uint64_t limit, offset;
        size_t count;
        const char *first;
    } cases[] = {
        {"number", true, 0, 0, 3, "\"a\""},
        {"number", false, 0, 0, 3, "\"c\""},
        {"-number", true, 0, 0, 3, "\"c\""},
        {"-number", false, 0, 0, 3, "\"a\""},
        {" level , -number ", true, 1, 0, 1, "\"c\""},
        {"level,number", true, 1, 0, 1, "\"b\""},
        {"level,number", false, 1, 0, 1, "\"a\""},
        {"number", true, 1, 2, 1, "\"c\""},
        {"number", true, 5, 3, 0, NULL},
        {"number", true, UINT64_MAX, UINT64_MAX, 0, NULL},
        {"number", true, UINT64_MAX, 0, 3, "\"a\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        OK(cst_container_read(container, employee, NULL, text(cases[i].sort), cases[i].ascending, cases[i].limit,
                              cases[i].offset, succeed, fail, &recorded, E));
        CHECK_INT(cases[i].count, recorded.count);
        if (!cases[i].first) continue;
        const char *name = strstr(recorded.json, "\"name\": ");
        REQUIRE(name != NULL);
        CHECK(strncmp(name + 8, cases[i].first, 3) == 0);
    }
    cst_predicate *predicate = NULL;
    OK(cst_predicate_parse(text("level == 1"), 0, NULL, &predicate, E));
    OK(cst_container_update(container, employee, predicate, text("{\"number\": 9}"), succeed, fail, &recorded, E));
    CHECK_INT(2, recorded.count);
    OK(cst_container_update(container, employee, NULL, text("{\"floor\": 4}"), succeed, fail, &recorded, E));
    CHECK_INT(3, recorded.count);
    const int failures = recorded.failures, successes = recorded.successes;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_container_update(container, employee, NULL, text("[{\"floor\": 4}]"),
                                                              succeed, fail, &recorded, E));
    CHECK_CONTAINS("json is a list, not a JSON object; pass a record", cst_error_message(check_error()));
    CHECK_INT(failures + 1, recorded.failures);
    CHECK_INT(CST_E_INVALID_ARGUMENT, recorded.status);
    CHECK_INT(successes, recorded.successes);
    OK(cst_container_delete(container, employee, predicate, succeed, fail, &recorded, E));
    CHECK_INT(2, recorded.count);
    CHECK_INT(0, strlen(recorded.json)); /* no records for deleted objects */
    OK(cst_container_delete_all(container, employee, succeed, fail, &recorded, E));
    CHECK_INT(1, recorded.count);
    OK(cst_container_delete_all(container, employee, succeed, fail, &recorded, E));
    CHECK_INT(0, recorded.count);
    OK(cst_container_read(container, department, NULL, none, true, 0, 0, NULL, NULL, NULL, E));
    OK(cst_container_read(container, department, NULL, none, true, 0, 0, succeed, fail, &recorded, E));
    CHECK_INT(1, recorded.count);
    OK(cst_release(predicate));
    OK(cst_release(container));
    OK(cst_release(model));
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(an_untitled_document_is_saved_as_each_type);
    RUN(save_as_converts_a_document_to_another_type);
    RUN(save_refuses_foreign_files_and_removed_files);
    RUN(undo_clears_the_edited_flag);
    RUN(the_context_of_a_document_is_borrowed);
    RUN(autosave_saves_the_changes_of_a_document);
    RUN(json_records_are_inserted_read_updated_and_deleted);
    RUN(json_numbers_keep_their_digits);
    RUN(records_are_read_by_order_and_window);
    RUN(a_document_can_be_released_while_its_context_is_locked);
    return check_end();
}
