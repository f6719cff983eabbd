/* Coordinators and stores: creating, reopening, read-only, options, object IDs from URIs.
 *
 * SPDX-License-Identifier: MIT
 */
#include "company.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool stop(void *userdata, uint64_t done, uint64_t total) {
    (void)userdata, (void)done, (void)total;
    return false;
}

static bool note_rows(void *userdata, uint64_t done, uint64_t total) {
    *(uint64_t *)userdata = done;
    return done <= total;
}

static bool exists(const char *path) { return access(path, F_OK) == 0; }

static void a_store_is_created_and_reopened(void) {
    const char *path = check_path("a.sqlite");
    struct company c = company_open(path);
    CHECK(exists(path));
    char identifier[64] = "";
    cst_string view = cst_store_identifier(c.store);
    REQUIRE(view.size == 36);
    memcpy(identifier, view.data, view.size + 1);
    CHECK_TEXT(path, cst_store_path(c.store));
    bool read_only = true;
    OK(cst_store_is_read_only(c.store, &read_only, E));
    CHECK(!read_only);
    OK(cst_release(company_employee(&c, c.context, "Ada", 1)));
    save(c.context);
    company_close(&c);

    c = company_open(path);
    CHECK_TEXT(identifier, cst_store_identifier(c.store));
    CHECK_INT(1, company_count(c.context, c.employee, "name == 'Ada'"));
    company_close(&c);
}

static void the_store_type_can_be_null_but_not_unknown(void) {
    cst_model *model = company_model();
    cst_coordinator *coordinator = NULL;
    cst_store *store = NULL;
    OK(cst_coordinator_new(model, &coordinator, E));
    OK(cst_coordinator_add_store(coordinator, text_of_size(NULL, 0), text(check_path("a.sqlite")), NULL, &store, E));
    OK(cst_coordinator_add_store(coordinator, text("SQLite"), text(check_path("b.sqlite")), NULL, NULL, E));
    cst_store *other = NULL;
    const cst_string none = {NULL, 0}, cut = text_of_size("a\0b", 3), path = text(check_path("c.sqlite"));
    const char *lost = check_path("no such folder/c.sqlite");
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_coordinator_add_store(coordinator, none, none, NULL, NULL, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_coordinator_add_store(coordinator, none, cut, NULL, NULL, E));
    CHECK_STATUS(CST_E_STORE_IO, cst_coordinator_add_store(coordinator, none, text(lost), NULL, NULL, E));
    CHECK_TEXT(lost, cst_error_file(check_error()));
    const cst_string unknown = text("Oracle");
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_coordinator_add_store(coordinator, unknown, path, NULL, &other, E));
    CHECK_INT(CST_CODE_PERSISTENT_STORE_INVALID_TYPE, cst_error_code(check_error()));
    CHECK(!exists(check_path("c.sqlite")));
    OK(cst_release(store));
    OK(cst_release(coordinator));
    OK(cst_release(model));
}

static void a_missing_file_is_not_created_when_it_must_exist(void) {
    const char *path = check_path("missing.sqlite");
    cst_model *model = company_model();
    cst_coordinator *coordinator = NULL;
    cst_store *store = NULL;
    OK(cst_coordinator_new(model, &coordinator, E));
    cst_store_options options = CST_STORE_OPTIONS_INIT;
    options.flags = CST_STORE_MUST_EXIST;
    CHECK_STATUS(CST_E_STORE_IO,
                 cst_coordinator_add_store(coordinator, text("SQLite"), text(path), &options, &store, E));
    CHECK_TEXT(path, cst_error_file(check_error()));
    CHECK(!exists(path) && store == NULL);
    OK(cst_release(coordinator));
    OK(cst_release(model));
}

static void a_read_only_store_refuses_saves_and_creates_no_file(void) {
    const char *path = check_path("a.sqlite");
    struct company c = company_open(path);
    OK(cst_release(company_employee(&c, c.context, "Ada", 1)));
    save(c.context);
    company_close(&c);
    bool wal_before = exists(check_path("a.sqlite-wal"));

    cst_store_options options = CST_STORE_OPTIONS_INIT;
    options.flags = CST_STORE_READ_ONLY;
    c = company_open_with(path, &options);
    bool read_only = false;
    OK(cst_store_is_read_only(c.store, &read_only, E));
    CHECK(read_only);
    CHECK_INT(1, company_count(c.context, c.employee, NULL));
    OK(cst_release(company_employee(&c, c.context, "Eve", 2)));
    CHECK_STATUS(CST_E_STORE_READ_ONLY, cst_context_save(c.context, E));
    CHECK_TEXT(path, cst_error_file(check_error()));
    CHECK(has_changes(c.context));
    CHECK_INT(wal_before, exists(check_path("a.sqlite-wal")));
    company_close(&c);
}

static void a_store_can_use_a_rollback_journal(void) {
    const char *path = check_path("a.sqlite");
    cst_store_options options = CST_STORE_OPTIONS_INIT;
    options.flags = CST_STORE_ROLLBACK_JOURNAL;
    struct company c = company_open_with(path, &options);
    OK(cst_release(company_employee(&c, c.context, "Ada", 1)));
    save(c.context);
    CHECK(!exists(check_path("a.sqlite-wal")));
    company_close(&c);
    c = company_open(path);
    CHECK_INT(1, company_count(c.context, c.employee, NULL));
    company_close(&c);
}

static int count_in(const char *path, const char *query) {
    sqlite3 *db = NULL;
    sqlite3_stmt *statement = NULL;
    REQUIRE(sqlite3_open(path, &db) == SQLITE_OK);
    REQUIRE(sqlite3_prepare_v2(db, query, -1, &statement, NULL) == SQLITE_OK);
    int count = sqlite3_step(statement) == SQLITE_ROW ? sqlite3_column_int(statement, 0) : -1;
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return count;
}

static void history_records_the_changes_of_each_save(void) {
    const char *path = check_path("a.sqlite");
    cst_store_options options = CST_STORE_OPTIONS_INIT;
    options.flags = CST_STORE_HISTORY;
    struct company c = company_open_with(path, &options);
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    save(c.context);
    OK(cst_context_delete(c.context, ada, E));
    OK(cst_release(ada));
    OK(cst_context_set_name(c.context, text("clean-up"), E));
    OK(cst_context_set_transaction_author(c.context, text("the test"), E));
    save(c.context);
    company_close(&c);
    CHECK_INT(1, count_in(path, "SELECT count(*) FROM ATRANSACTIONSTRING WHERE ZNAME = 'clean-up'"));
    CHECK_INT(1, count_in(path, "SELECT count(*) FROM ATRANSACTION JOIN ATRANSACTIONSTRING s ON s.Z_PK = ZAUTHORTS "
                                "WHERE ZNAME = 'the test'"));
    CHECK_INT(2, count_in(path, "SELECT count(*) FROM ATRANSACTION"));
    CHECK_INT(1, count_in(path, "SELECT count(*) FROM ACHANGE WHERE ZCHANGETYPE = 0"));
    CHECK_INT(1, count_in(path, "SELECT count(*) FROM ACHANGE WHERE ZCHANGETYPE = 2"));

    c = company_open(path);
    OK(cst_release(company_employee(&c, c.context, "Eve", 2)));
    save(c.context);
    company_close(&c);
    CHECK_INT(3, count_in(path, "SELECT count(*) FROM ATRANSACTION"));
}

static void store_options_of_other_sizes_are_read_or_refused(void) {
    cst_model *model = company_model();
    cst_coordinator *coordinator = NULL;
    OK(cst_coordinator_new(model, &coordinator, E));
    const struct {
        const char *name;
        size_t size;
        bool tail;
        cst_status status;
    } cases[] = {
        {"size.sqlite", sizeof(size_t), false, CST_OK},
        {"flags.sqlite", offsetof(cst_store_options, busy_timeout_ms), false, CST_OK},
        {"long.sqlite", sizeof(cst_store_options) + 32, false, CST_OK},
        {"tail.sqlite", sizeof(cst_store_options) + 32, true, CST_E_UNSUPPORTED},
        {"zero.sqlite", 0, false, CST_E_INVALID_ARGUMENT},
        {"tiny.sqlite", 3, false, CST_E_INVALID_ARGUMENT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct {
            cst_store_options options;
            uint8_t tail[32];
        } given;
        memset(&given, 0, sizeof given);
        given.options.struct_size = cases[i].size;
        if (cases[i].size < sizeof given.options) given.options.busy_timeout_ms = UINT32_MAX; /* not to be read */
        if (cases[i].tail) given.tail[31] = 1;
        const char *path = check_path(cases[i].name);
        cst_status status = cst_coordinator_add_store(coordinator, text("SQLite"), text(path), &given.options, NULL, E);
        if (status != cases[i].status || exists(path) != (status == CST_OK)) {
            check_fail(__FILE__, __LINE__, "%s: %s", cases[i].name, check_status_name(status));
        }
    }
    cst_store_options options = CST_STORE_OPTIONS_INIT;
    options.flags = 1u << 31;
    CHECK_STATUS(CST_E_UNSUPPORTED, cst_coordinator_add_store(coordinator, text("SQLite"),
                                                              text(check_path("flag.sqlite")), &options, NULL, E));
    OK(cst_release(coordinator));
    OK(cst_release(model));
}

struct reading {
    const struct company *company;
    uint64_t found;
};

static void *read_all(void *userdata) {
    struct reading *reading = userdata;
    cst_context *context = company_context(reading->company, CST_QUEUE_CALLER);
    for (int i = 0; i < 50; i++)
        reading->found += company_count(context, reading->company->employee, NULL);
    OK(cst_release(context));
    return NULL;
}

/* All threads find all rows, whatever the store's limit of connections. */
static void several_threads_read_a_store(void) {
    static const uint32_t most[] = {1, 2, 0};
    for (size_t i = 0; i < sizeof most / sizeof *most; i++) {
        char name[32];
        snprintf(name, sizeof name, "%u.sqlite", most[i]);
        cst_store_options options = CST_STORE_OPTIONS_INIT;
        options.flags = CST_STORE_NORMAL_SYNC;
        options.max_connections = most[i];
        struct company c = company_open_with(check_path(name), &options);
        OK(cst_release(company_employee(&c, c.context, "Ada", 1)));
        save(c.context);
        struct reading readings[4];
        pthread_t threads[4];
        for (int n = 0; n < 4; n++) {
            readings[n] = (struct reading){&c, 0};
            CHECK(pthread_create(&threads[n], NULL, read_all, &readings[n]) == 0);
        }
        for (int n = 0; n < 4; n++) {
            CHECK(pthread_join(threads[n], NULL) == 0);
            CHECK_INT(50, (int64_t)readings[n].found);
        }
        company_close(&c);
    }
}

struct alone {
    struct company *company;
    int ran, ended;
};

static cst_status save_exclusively(void *userdata, cst_error **error) {
    struct alone *alone = userdata;
    alone->ran++;
    return cst_context_save(alone->company->context, error);
}

static cst_status nothing(void *userdata, cst_context *context, cst_error **error) {
    (void)userdata, (void)context, (void)error;
    return CST_OK;
}

static cst_status wait_for_queue(void *userdata, cst_error **error) {
    struct alone *alone = userdata;
    cst_context *queued = NULL;
    OK(cst_context_new(alone->company->coordinator, CST_QUEUE_PRIVATE, &queued, E));
    cst_status status = cst_context_perform_and_wait(queued, nothing, NULL, error);
    OK(cst_release(queued));
    return status;
}

static cst_status note_alone(void *userdata, cst_error **error) {
    (void)error;
    struct alone *alone = userdata;
    __atomic_add_fetch(&alone->ran, 1, __ATOMIC_SEQ_CST);
    return CST_E_CALLBACK; /* is dropped */
}

static void ended_alone(void *userdata) { __atomic_add_fetch(&((struct alone *)userdata)->ended, 1, __ATOMIC_SEQ_CST); }

static void a_coordinator_performs_blocks(void) {
    struct company c = company_open(check_path("a.sqlite"));
    struct alone alone = {&c, 0, 0};
    OK(cst_release(company_employee(&c, c.context, "Ada", 1)));
    OK(cst_coordinator_perform_and_wait(c.coordinator, save_exclusively, &alone, E));
    CHECK_INT(1, alone.ran);
    bool has_changes = true;
    OK(cst_context_has_changes(c.context, &has_changes, E));
    CHECK(!has_changes);
    cst_error *error = NULL;
    CHECK(cst_coordinator_perform_and_wait(c.coordinator, wait_for_queue, &alone, &error) == CST_E_CALLBACK);
    CHECK(error != NULL && strstr(cst_error_message(error).data, "wait for the queue of a context") != NULL);
    OK(cst_release(error));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_coordinator_perform_and_wait(c.coordinator, NULL, NULL, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_coordinator_perform(c.coordinator, NULL, &alone, ended_alone, E));
    CHECK_INT(1, alone.ended);
    for (int i = 0; i < 3; i++)
        OK(cst_coordinator_perform(c.coordinator, note_alone, &alone, ended_alone, E));
    for (int i = 0; i < 6000 && __atomic_load_n(&alone.ended, __ATOMIC_SEQ_CST) < 4; i++)
        usleep(10000);
    CHECK_INT(4, alone.ran);
    CHECK_INT(4, alone.ended);
    company_close(&c);
}

struct invalidations {
    size_t invalidated, others;
    bool is_gone;
};

static void note_invalidated(void *userdata, cst_context *context, uint32_t notification, const cst_changes *changes) {
    (void)context, (void)notification;
    struct invalidations *noted = userdata;
    noted->invalidated += cst_results_count(changes->invalidated);
    noted->others += cst_results_count(changes->updated) + cst_results_count(changes->deleted);
    CHECK(!changes->invalidated_all);
    cst_object *object = NULL;
    if (cst_results_get_object(changes->invalidated, 0, &object, NULL) == CST_OK) {
        uint32_t flags = 0;
        OK(cst_object_state(object, &flags, E));
        noted->is_gone = flags == CST_OBJECT_FAULT;
    }
}

static void objects_of_a_removed_store_are_invalidated(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *object = company_employee(&c, c.context, "Ada", 1), *new = NULL;
    save(c.context);
    struct invalidations noted = {0};
    cst_observation *token = NULL;
    OK(cst_context_observe(c.context, CST_NOTIFICATION_OBJECTS_DID_CHANGE, note_invalidated, &noted, NULL, &token, E));
    set(object, c.name, value_text("Eve"));
    OK(cst_context_process_pending_changes(c.context, E));
    noted = (struct invalidations){0};
    new = company_employee(&c, c.context, "New", 2);
    cst_context *other = company_context(&c, CST_QUEUE_CALLER);
    cst_object_id *id = NULL;
    cst_object *fault = NULL;
    cst_buffer uri = {NULL, 0, 0};
    OK(cst_object_copy_id(object, &id, E));
    OK(cst_context_object_with_id(other, id, &fault, E));
    OK(cst_coordinator_remove_store(c.coordinator, c.store, E));
    CHECK_INT(1, noted.invalidated);
    CHECK_INT(0, noted.others);
    CHECK(noted.is_gone);
    cst_value value;
    CHECK_STATUS(CST_E_OBJECT_GONE, cst_object_get(object, c.name, &value, E));
    CHECK_CONTAINS("was removed from the coordinator", cst_error_message(check_error()));
    value = value_text("Zoe");
    CHECK_STATUS(CST_E_OBJECT_GONE, cst_object_set(object, c.name, &value, E));
    CHECK_STATUS(CST_E_OBJECT_GONE, cst_object_get(fault, c.name, &value, E));
    OK(cst_object_id_copy_uri(id, &uri, E));
    CHECK_CONTAINS("x-coredata://", text_of_size(uri.data, uri.size));
    cst_buffer_dispose(&uri);
    cst_release(fault), cst_release(id), cst_release(other);
    OK(cst_object_get(new, c.name, &value, E));
    OK(cst_context_rollback(c.context, E));
    OK(cst_release(token));
    OK(cst_release(new));
    OK(cst_release(object));
    company_close(&c);
}

static void object_uris_are_resolved_to_objects(void) {
    const char *path = check_path("a.sqlite");
    struct company c = company_open(path);
    cst_object *object = company_employee(&c, c.context, "Ada", 1), *same = NULL;
    cst_object_id *id = NULL, *again = NULL;
    cst_buffer uri = {NULL, 0, 0};
    save(c.context);
    OK(cst_object_copy_id(object, &id, E));
    OK(cst_object_id_copy_uri(id, &uri, E));
    cst_string identifier = cst_store_identifier(c.store);
    CHECK(strncmp(uri.data, "x-coredata://", 13) == 0);
    CHECK(strstr(uri.data, identifier.data) && strstr(uri.data, "/Employee/p1"));
    OK(cst_coordinator_object_id(c.coordinator, text(uri.data), &again, E));
    CHECK(cst_object_id_equal(id, again));
    CHECK_INT(cst_object_id_hash(id), cst_object_id_hash(again));
    OK(cst_context_existing_object(c.context, again, &same, E));
    CHECK(same == object);
    OK(cst_release(same));
    OK(cst_release(again));
    cst_object_id *none = NULL;
    CHECK_STATUS(CST_NOT_FOUND,
                 cst_coordinator_object_id(
                     c.coordinator, text("x-coredata://00000000-0000-0000-0000-000000000000/Employee/p1"), &none, E));
    const char *bad[] = {"", "http://example.org/", "x-coredata://", "x-coredata:///Employee/p",
                         "x-coredata://a/b/c/d"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cst_status status = cst_coordinator_object_id(c.coordinator, text(bad[i]), &none, E);
        CHECK(status == CST_NOT_FOUND || status == CST_E_INVALID_ARGUMENT);
    }
    const char *odd[] = {"x", "x-coredata:///Employee/t1", "x-coredata://a/Employee/p0", "x-coredata://a/b/p-1"};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        CHECK_STATUS(CST_NOT_FOUND, cst_coordinator_object_id(c.coordinator, text(odd[i]), &none, E));
    CHECK(none == NULL);
    cst_buffer_dispose(&uri);
    OK(cst_release(id));
    OK(cst_release(object));
    company_close(&c);
}

static void a_coordinator_returns_its_model(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_model *model = NULL;
    cst_coordinator *coordinator = NULL;
    OK(cst_coordinator_model(c.coordinator, &model, E));
    CHECK(model == c.model);
    OK(cst_context_coordinator(c.context, &coordinator, E));
    CHECK(coordinator == c.coordinator);
    company_close(&c);
}

static void a_file_cannot_be_added_twice_to_a_coordinator(void) {
    const char *path = check_path("a.sqlite");
    struct company c = company_open(path);
    cst_store *again = NULL;
    CHECK(cst_coordinator_add_store(c.coordinator, text("SQLite"), text(path), NULL, &again, E) < 0);
    CHECK(again == NULL);
    company_close(&c);
}

static cst_store *store_for(cst_coordinator *coordinator, const char *path, const char *configuration) {
    cst_store_options options = CST_STORE_OPTIONS_INIT;
    cst_store *store = NULL;
    options.configuration = text(configuration);
    OK(cst_coordinator_add_store(coordinator, text("SQLite"), text(path), &options, &store, E));
    CHECK_TEXT(configuration, cst_store_configuration(store));
    return store;
}

static void configurations_determine_the_store_of_new_objects(void) {
    cst_model *model = NULL;
    cst_entity *note = NULL, *tag = NULL;
    cst_relationship *about = NULL;
    const cst_string both[] = {text("Note"), text("Tag")};
    OK(cst_model_new(&model, E));
    OK(cst_model_add_entity(model, text("Note"), &note, E));
    OK(cst_model_add_entity(model, text("Tag"), &tag, E));
    OK(cst_entity_add_relationship(tag, text("about"), note, CST_PROPERTY_OPTIONAL, &about, E));
    OK(cst_model_set_configuration(model, text("Cloud"), 2, both, E));
    OK(cst_model_set_configuration(model, text("Local"), 1, both + 1, E));
    cst_coordinator *coordinator = NULL;
    OK(cst_coordinator_new(model, &coordinator, E));
    cst_store *cloud = store_for(coordinator, check_path("cloud.sqlite"), "Cloud");
    cst_store *local = store_for(coordinator, check_path("local.sqlite"), "Local");
    cst_context *context = NULL;
    cst_object *one = NULL, *two = NULL;
    cst_key key;
    OK(cst_context_new(coordinator, CST_QUEUE_CALLER, &context, E));
    OK(cst_context_insert(context, note, &one, E));
    OK(cst_context_insert(context, tag, &two, E));
    OK(cst_entity_key(tag, text("about"), &key, E));
    cst_value target = {.type = CST_OBJECT};
    target.as.object = one;
    OK(cst_object_set(two, key, &target, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_assign(context, one, local, E));
    CHECK_CONTAINS("does not contain Note", cst_error_message(check_error()));
    OK(cst_context_assign(context, two, local, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_save(context, E));
    CHECK_INT(CST_CODE_MANAGED_OBJECT_EXTERNAL_RELATIONSHIP, cst_error_code(check_error()));
    CHECK_CONTAINS("cloud.sqlite", cst_error_message(check_error()));
    CHECK_CONTAINS("local.sqlite", cst_error_message(check_error()));
    target = (cst_value){.type = CST_NULL};
    OK(cst_object_set(two, key, &target, E));
    OK(cst_context_save(context, E));
    cst_object_id *id = NULL;
    cst_buffer uri = {NULL, 0, 0};
    OK(cst_object_copy_id(two, &id, E));
    OK(cst_object_id_copy_uri(id, &uri, E));
    CHECK_CONTAINS(cst_store_identifier(local).data, text_of_size(uri.data, uri.size));
    OK(cst_coordinator_remove_store(coordinator, cloud, E));
    cst_results *results = NULL;
    cst_fetch_request *request = NULL;
    OK(cst_fetch_request_new(note, &request, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_fetch(context, request, &results, E));
    CHECK_TEXT("Note", cst_error_entity(check_error()));
    CHECK_CONTAINS("Note is in the configuration \"Cloud\"", cst_error_message(check_error()));
    cst_buffer_dispose(&uri);
    OK(cst_release(request));
    OK(cst_release(id));
    OK(cst_release(one));
    OK(cst_release(two));
    OK(cst_release(cloud));
    OK(cst_release(local));
    OK(cst_release(context));
    OK(cst_release(coordinator));
    OK(cst_release(model));
}

struct recording {
    char lines[512];
    cst_coordinator *adds_to; /* the callback adds another store to it at each notification */
    int added, ended;
};

static void record_notification(void *userdata, cst_coordinator *coordinator, uint32_t notification,
                                const cst_store_changes *changes) {
    struct recording *recording = userdata;
    CHECK(coordinator != NULL && changes->old_store == NULL && changes->migrated_ids == NULL);
    const char *what = notification == CST_COORDINATOR_WILL_REMOVE_STORE ? "will-" : "";
    for (size_t i = 0; i < changes->added_count + changes->removed_count; i++) {
        bool is_added = i < changes->added_count;
        const cst_store *store = is_added ? changes->added[i] : changes->removed[i - changes->added_count];
        size_t used = strlen(recording->lines);
        snprintf(recording->lines + used, sizeof recording->lines - used, "%s%s %.1s;", what,
                 is_added ? "added" : "removed", strrchr(cst_store_path(store).data, '/') + 1);
    }
    if (recording->adds_to) {
        char name[32];
        snprintf(name, sizeof name, "%d.sqlite", ++recording->added);
        OK(cst_coordinator_add_store(recording->adds_to, text("SQLite"), text(check_path(name)), NULL, NULL, E));
    }
}

static void ended(void *userdata) { ((struct recording *)userdata)->ended++; }

static void observers_are_notified_of_added_and_removed_stores(void) {
    struct company c = company_open(check_path("a.sqlite"));
    struct recording h = {0};
    cst_observation *changes = NULL, *removals = NULL, *none = NULL;
    OK(cst_coordinator_observe(c.coordinator, CST_COORDINATOR_STORES_DID_CHANGE, record_notification, &h, ended,
                               &changes, E));
    OK(cst_coordinator_observe(c.coordinator, CST_COORDINATOR_WILL_REMOVE_STORE, record_notification, &h, ended,
                               &removals, E));
    cst_store *other = NULL;
    OK(cst_coordinator_add_store(c.coordinator, text("SQLite"), text(check_path("b.sqlite")), NULL, &other, E));
    OK(cst_coordinator_remove_store(c.coordinator, other, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_coordinator_remove_store(c.coordinator, other, E));
    OK(cst_coordinator_destroy_store(c.coordinator, text("SQLite"), text(check_path("a.sqlite")), NULL, E));
    CHECK_TEXT("added b;will-removed b;removed b;will-removed a;removed a;", text_of_size(h.lines, strlen(h.lines)));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                 cst_coordinator_observe(c.coordinator, 99, record_notification, &h, ended, &none, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                 cst_coordinator_observe(c.coordinator, CST_COORDINATOR_WILL_REMOVE_STORE, NULL, &h, ended, &none, E));
    CHECK_INT(2, h.ended);
    OK(cst_release(removals));
    OK(cst_release(other));
    OK(cst_observation_cancel(changes, E));
    OK(cst_release(changes));
    CHECK_INT(4, h.ended);
    company_close(&c);
}

static void an_observer_can_add_stores_up_to_a_nesting_limit(void) {
    struct company c = company_open(check_path("a.sqlite"));
    struct recording h = {.adds_to = c.coordinator};
    cst_observation *changes = NULL;
    OK(cst_coordinator_observe(c.coordinator, CST_COORDINATOR_STORES_DID_CHANGE, record_notification, &h, NULL,
                               &changes, E));
    OK(cst_coordinator_add_store(c.coordinator, text("SQLite"), text(check_path("b.sqlite")), NULL, NULL, E));
    CHECK_TEXT("added b;added 1;added 2;added 3;added 4;added 5;added 6;added 7;",
               text_of_size(h.lines, strlen(h.lines)));
    CHECK_INT(8, h.added);
    OK(cst_release(changes));
    company_close(&c);
}

struct moved {
    char lines[256];
    size_t ids;
};

static void record_move(void *userdata, cst_coordinator *coordinator, uint32_t notification,
                        const cst_store_changes *changes) {
    struct moved *moved = userdata;
    CHECK(coordinator != NULL && notification == CST_COORDINATOR_STORES_DID_CHANGE);
    strcat(moved->lines, changes->added_count ? "added;" : changes->removed_count ? "removed;" : "moved;");
    if (!changes->migrated_ids) return;
    CHECK_CONTAINS("a.sqlite", cst_store_path(changes->old_store));
    CHECK_CONTAINS("b.sqlite", cst_store_path(changes->new_store));
    moved->ids = cst_results_count(changes->migrated_ids);
    for (size_t i = 0; i < moved->ids; i++) {
        cst_object_id *id = NULL;
        cst_buffer uri = {NULL, 0, 0};
        OK(cst_results_copy_id(changes->migrated_ids, i, &id, E));
        OK(cst_object_id_copy_uri(id, &uri, E));
        CHECK_CONTAINS(cst_store_identifier(i % 2 ? changes->new_store : changes->old_store).data,
                       text_of_size(uri.data, uri.size));
        cst_buffer_dispose(&uri);
        OK(cst_release(id));
    }
}

static void a_store_is_migrated_to_another_path(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1), *bob = company_employee(&c, c.context, "Bob", 2);
    set(ada, c.manager, value_object(bob));
    save(c.context);
    struct moved moved = {{0}, 0};
    cst_observation *changes = NULL;
    cst_store *copy = NULL, *none = NULL;
    cst_string type = text("SQLite");
    OK(cst_coordinator_observe(c.coordinator, CST_COORDINATOR_STORES_DID_CHANGE, record_move, &moved, NULL, &changes,
                               E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                 cst_coordinator_migrate_store(c.coordinator, c.store, type, text(check_path("a.sqlite")), NULL, NULL,
                                               NULL, &none, E));
    uint64_t rows = 0;
    CHECK_STATUS(CST_E_CANCELLED,
                 cst_coordinator_migrate_store(c.coordinator, c.store, type, text(check_path("b.sqlite")), NULL, stop,
                                               NULL, &none, E));
    CHECK(!exists(check_path("b.sqlite")));
    OK(cst_coordinator_migrate_store(c.coordinator, c.store, type, text(check_path("b.sqlite")), NULL, note_rows, &rows,
                                     &copy, E));
    CHECK_INT(2, (long long)rows);
    CHECK_TEXT("added;moved;removed;", text_of_size(moved.lines, strlen(moved.lines)));
    CHECK_INT(4, moved.ids);
    cst_context *fresh = company_context(&c, CST_QUEUE_CALLER);
    CHECK_INT(1, company_count(fresh, c.employee, "name == 'Ada' AND manager.name == 'Bob'"));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                 cst_coordinator_migrate_store(c.coordinator, c.store, type, text(check_path("c.sqlite")), NULL, NULL,
                                               NULL, &none, E));
    CHECK(!exists(check_path("c.sqlite")));
    OK(cst_release(changes));
    OK(cst_release(fresh));
    OK(cst_release(copy));
    OK(cst_release(ada));
    OK(cst_release(bob));
    company_close(&c);
}

static void a_store_can_be_in_memory(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_coordinator *coordinator = NULL;
    cst_store *memory = NULL, *file = NULL;
    cst_context *context = NULL;
    OK(cst_coordinator_new(c.model, &coordinator, E));
    OK(cst_coordinator_add_store(coordinator, text("inmemory"), text_of_size(NULL, 0), NULL, &memory, E));
    CHECK_TEXT("/dev/null", cst_store_path(memory));
    OK(cst_context_new(coordinator, CST_QUEUE_CALLER, &context, E));
    cst_object *ada = company_employee(&c, context, "Ada", 1), *bob = company_employee(&c, context, "Bob", 2);
    set(ada, c.manager, value_object(bob));
    save(context);
    OK(cst_context_delete(context, bob, E));
    save(context);
    CHECK_INT(1, company_count(context, c.employee, "name == 'Ada' AND manager == nil"));
    CHECK_STATUS(CST_UNCHANGED, cst_coordinator_destroy_store(coordinator, text("InMemory"), text("x"), NULL, E));
    OK(cst_coordinator_migrate_store(coordinator, memory, text("SQLite"), text(check_path("b.sqlite")), NULL, NULL,
                                     NULL, &file, E));
    cst_store *back = NULL;
    OK(cst_coordinator_migrate_store(coordinator, file, text("InMemory"), text("back"), NULL, NULL, NULL, &back, E));
    CHECK_TEXT("back", cst_store_path(back));
    cst_context *fresh = NULL;
    OK(cst_context_new(coordinator, CST_QUEUE_CALLER, &fresh, E));
    CHECK_INT(1, company_count(fresh, c.employee, "name == 'Ada'"));
    OK(cst_release(fresh));
    OK(cst_release(back));
    OK(cst_release(file));
    OK(cst_release(ada));
    OK(cst_release(bob));
    OK(cst_release(context));
    OK(cst_release(memory));
    OK(cst_release(coordinator));
    company_close(&c);
}

static void check_one_file(const char *type, const char *name) {
    const char *path = check_path(name);
    struct company c = company_open(check_path("a.sqlite"));
    CHECK_TEXT("SQLite", cst_store_type(c.store));
    cst_coordinator *coordinator = NULL, *again = NULL;
    cst_store *store = NULL, *reopened = NULL;
    cst_context *context = NULL, *fresh = NULL;
    OK(cst_coordinator_new(c.model, &coordinator, E));
    OK(cst_coordinator_add_store(coordinator, text(type), text(path), NULL, &store, E));
    CHECK_TEXT(type, cst_store_type(store));
    OK(cst_context_new(coordinator, CST_QUEUE_CALLER, &context, E));
    cst_object *ada = company_employee(&c, context, "Ada", 1), *bob = company_employee(&c, context, "Bob", 2);
    set(ada, c.manager, value_object(bob));
    save(context);
    OK(cst_coordinator_new(c.model, &again, E));
    OK(cst_coordinator_add_store(again, (cst_string){NULL, 0}, text(path), NULL, &reopened, E));
    CHECK_TEXT(type, cst_store_type(reopened));
    OK(cst_context_new(again, CST_QUEUE_CALLER, &fresh, E));
    CHECK_INT(1, company_count(fresh, c.employee, "manager.name == 'Bob'"));
    cst_buffer metadata = {NULL, 0, 0};
    OK(cst_store_copy_metadata(text(path), &metadata, E));
    CHECK_INT(1, metadata.size > 100);
    cst_buffer_dispose(&metadata);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_coordinator_add_store(again, text("Oracle"), text("x"), NULL, NULL, E));
    CHECK_INT(CST_CODE_PERSISTENT_STORE_INVALID_TYPE, cst_error_code(check_error()));
    CHECK_CONTAINS("\"Binary\"", cst_error_message(check_error()));
    CHECK_STATUS(CST_E_UNSUPPORTED, cst_coordinator_add_store(again, text("SQLite"), text(path), NULL, NULL, E));
    OK(cst_coordinator_destroy_store(again, (cst_string){NULL, 0}, text(path), NULL, E));
    CHECK_STATUS(CST_UNCHANGED, cst_coordinator_destroy_store(again, text(type), text(path), NULL, E));
    OK(cst_release(fresh));
    OK(cst_release(reopened));
    OK(cst_release(again));
    OK(cst_release(ada));
    OK(cst_release(bob));
    OK(cst_release(context));
    OK(cst_release(store));
    OK(cst_release(coordinator));
    company_close(&c);
}

static void a_store_can_be_a_binary_file(void) { check_one_file("Binary", "a.binary"); }
static void a_store_can_be_an_xml_file(void) { check_one_file("XML", "a.xml"); }

static void xml_errors_name_entity_key_and_line(void) {
    struct company c = company_open(check_path("a.sqlite"));
    const char *path = check_path("mistake.xml");
    check_write(
        path, "<database><databaseInfo><version>134481920</version><UUID>343C8D7F-A000-42C4-8463-43FA1E5EF3FB</UUID>\n"
              "<nextObjectID>102</nextObjectID><metadata></metadata></databaseInfo>\n"
              "<object type=\"EMPLOYEE\" id=\"z102\"><attribute name=\"name\" type=\"string\">Ada</attribute>\n"
              "<attribute name=\"level\" type=\"int16\">forty</attribute></object></database>");
    cst_coordinator *coordinator = NULL;
    OK(cst_coordinator_new(c.model, &coordinator, E));
    CHECK_STATUS(CST_E_STORE_CORRUPT, cst_coordinator_add_store(coordinator, text("xml"), text(path), NULL, NULL, E));
    CHECK_INT(CST_CODE_PERSISTENT_STORE_OPEN, cst_error_code(check_error()));
    CHECK_TEXT("Employee", cst_error_entity(check_error()));
    CHECK_TEXT("level", cst_error_key(check_error()));
    CHECK_CONTAINS("line 4", cst_error_message(check_error()));
    CHECK_CONTAINS("forty", cst_error_message(check_error()));
    OK(cst_release(coordinator));
    company_close(&c);
}

static cst_status add(cst_coordinator *coordinator, const char *path, const cst_store_options *options,
                      cst_store **store) {
    return cst_coordinator_add_store(coordinator, text_of_size(NULL, 0), text(path), options, store, E);
}

static void pragmas_are_set_or_refused(void) {
    cst_model *model = company_model();
    cst_coordinator *coordinator = NULL;
    cst_store *store = NULL;
    OK(cst_coordinator_new(model, &coordinator, E));
    const cst_pragma good[] = {{text("page_size"), text("8192")}, {text("Journal_Mode"), text("PERSIST")}};
    cst_store_options options = CST_STORE_OPTIONS_INIT;
    options.pragma_count = 2;
    options.pragmas = good;
    options.flags = CST_STORE_ANALYZE | CST_STORE_VACUUM;
    options.file_mode = 0600;
    OK(add(coordinator, check_path("a.sqlite"), &options, &store));
    CHECK_INT(8192, count_in(check_path("a.sqlite"), "PRAGMA page_size"));
    struct stat facts;
    REQUIRE(stat(check_path("a.sqlite"), &facts) == 0);
    CHECK_INT(0600, facts.st_mode & 0777);
    CHECK_INT(0, (int)cst_store_warning_count(store));
    CHECK(cst_store_warning(store, 0).data == NULL);
    OK(cst_coordinator_remove_store(coordinator, store, E));
    OK(cst_release(store));

    const char *path = check_path("b.sqlite");
    const char invalid[] = {(char)0xff, 0};
    const struct {
        cst_pragma pragmas[2];
        size_t count;
        cst_status status;
        const char *key, *words;
    } bad[] = {
        {{{text("journal_mode"), text("off")}},
         1,
         CST_E_INVALID_ARGUMENT,
         "journal_mode",
         "\"wal\", \"delete\", \"truncate\""},
        {{{text("locking_mode"), text("exclusive")}}, 1, CST_E_INVALID_ARGUMENT, "locking_mode", "is not supported"},
        {{{text("fullfsync"), text("1")}, {text("fullfsync"), text("1")}},
         2,
         CST_E_INVALID_ARGUMENT,
         "fullfsync",
         "twice"},
        {{{text("fullfsync"), text(invalid)}}, 1, CST_E_INVALID_UTF8, NULL, "options.pragmas.value"},
        {{{text_of_size(NULL, 0), text("1")}}, 1, CST_E_INVALID_ARGUMENT, NULL, "options.pragmas.name"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        options.pragmas = bad[i].pragmas;
        options.pragma_count = bad[i].count;
        CHECK_STATUS(bad[i].status, add(coordinator, path, &options, NULL));
        if (bad[i].key) CHECK_TEXT(bad[i].key, cst_error_key(check_error()));
        CHECK(strstr(cst_error_message(check_error()).data, bad[i].words) != NULL);
    }
    options.pragmas = NULL;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, add(coordinator, path, &options, NULL));
    options.pragma_count = 0;
    options.file_mode = 0400;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, add(coordinator, path, &options, NULL));
    options.file_mode = 0;
    options.flags = CST_STORE_READ_ONLY | CST_STORE_VACUUM;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, add(coordinator, path, &options, NULL));
    CHECK(!exists(path));
    OK(cst_release(coordinator));
    OK(cst_release(model));
}

static void store_limits_out_of_range_are_refused(void) {
    cst_model *model = company_model();
    cst_coordinator *coordinator = NULL;
    cst_store *store = NULL;
    OK(cst_coordinator_new(model, &coordinator, E));
    const struct {
        uint64_t value, memory, steps;
        const char *key;
    } bad[] = {
        {100, 0, 0, "value_limit"},  {2000000000, 0, 0, "value_limit"}, {UINT64_MAX, 0, 0, "value_limit"},
        {0, 100, 0, "memory_limit"}, {0, 0, 9999, "step_limit"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cst_store_options options = CST_STORE_OPTIONS_INIT;
        options.value_limit = bad[i].value;
        options.memory_limit = bad[i].memory;
        options.step_limit = bad[i].steps;
        CHECK_STATUS(CST_E_INVALID_ARGUMENT, add(coordinator, check_path("a.sqlite"), &options, NULL));
        CHECK_TEXT(bad[i].key, cst_error_key(check_error()));
        CHECK(!exists(check_path("a.sqlite")));
    }
    cst_store_options options = CST_STORE_OPTIONS_INIT;
    options.value_limit = 1000000000;
    options.memory_limit = UINT64_MAX;
    options.step_limit = UINT64_MAX;
    options.external_limit = 1;
    OK(add(coordinator, check_path("a.sqlite"), &options, &store));
    OK(cst_coordinator_remove_store(coordinator, store, E));
    OK(cst_release(store));
    /* A program that was built with an older header passes a shorter structure. */
    options.struct_size = offsetof(cst_store_options, value_limit);
    options.value_limit = 7;
    OK(add(coordinator, check_path("a.sqlite"), &options, NULL));
    OK(cst_release(coordinator));
    OK(cst_release(model));
}

static void core_data_options_cause_warnings_or_are_refused(void) {
    cst_model *model = company_model();
    cst_coordinator *coordinator = NULL;
    cst_store *store = NULL;
    OK(cst_coordinator_new(model, &coordinator, E));
    cst_string names[] = {text("NSPersistentStoreFileProtectionKey")};
    cst_store_options options = CST_STORE_OPTIONS_INIT;
    options.foreign_option_count = 1;
    options.foreign_options = names;
    OK(add(coordinator, check_path("a.sqlite"), &options, &store));
    REQUIRE(cst_store_warning_count(store) == 1);
    CHECK(strstr(cst_store_warning(store, 0).data, "NSPersistentStoreFileProtectionKey") != NULL);
    CHECK(cst_store_warning(store, 1).data == NULL);
    OK(cst_release(store));
    names[0] = text("NSSQLitePragmasOption");
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, add(coordinator, check_path("b.sqlite"), &options, NULL));
    CHECK_TEXT("NSSQLitePragmasOption", cst_error_key(check_error()));
    CHECK(strstr(cst_error_message(check_error()).data, "pragmas") != NULL);
    CHECK_INT(0, (int)cst_store_warning_count(NULL));
    OK(cst_release(coordinator));
    OK(cst_release(model));
}

static void dev_null_is_a_store_in_memory(void) {
    struct company c = company_open("/dev/null");
    OK(cst_release(company_employee(&c, c.context, "Ada", 1)));
    save(c.context);
    CHECK_INT(1, company_count(c.context, c.employee, "name == 'Ada'"));
    struct company other = company_open("/dev/null");
    CHECK_INT(0, company_count(other.context, other.employee, NULL));
    company_close(&other);
    company_close(&c);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(a_store_is_created_and_reopened);
    RUN(the_store_type_can_be_null_but_not_unknown);
    RUN(a_missing_file_is_not_created_when_it_must_exist);
    RUN(a_read_only_store_refuses_saves_and_creates_no_file);
    RUN(a_store_can_use_a_rollback_journal);
    RUN(history_records_the_changes_of_each_save);
    RUN(store_options_of_other_sizes_are_read_or_refused);
    RUN(several_threads_read_a_store);
    RUN(a_coordinator_performs_blocks);
    RUN(objects_of_a_removed_store_are_invalidated);
    RUN(object_uris_are_resolved_to_objects);
    RUN(a_coordinator_returns_its_model);
    RUN(a_file_cannot_be_added_twice_to_a_coordinator);
    RUN(configurations_determine_the_store_of_new_objects);
    RUN(observers_are_notified_of_added_and_removed_stores);
    RUN(a_store_is_migrated_to_another_path);
    RUN(a_store_can_be_in_memory);
    RUN(a_store_can_be_a_binary_file);
    RUN(a_store_can_be_an_xml_file);
    RUN(xml_errors_name_entity_key_and_line);
    RUN(an_observer_can_add_stores_up_to_a_nesting_limit);
    RUN(pragmas_are_set_or_refused);
    RUN(store_limits_out_of_range_are_refused);
    RUN(core_data_options_cause_warnings_or_are_refused);
    RUN(dev_null_is_a_store_in_memory);
    return check_end();
}
