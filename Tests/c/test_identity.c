/* Names of coordinators, options of stores, the store of an ID, types of requests, and unlocking without a lock.
 *
 * SPDX-License-Identifier: MIT
 */
#include "company.h"

#include <pthread.h>

static void coordinator_name_is_set_and_removed(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_buffer name = {0};
    CHECK_STATUS(CST_NOT_FOUND, cst_coordinator_copy_name(c.coordinator, &name, E));
    OK(cst_coordinator_set_name(c.coordinator, text("main"), E));
    OK(cst_coordinator_copy_name(c.coordinator, &name, E));
    CHECK_TEXT("main", text_of_size(name.data, name.size));
    OK(cst_coordinator_set_name(c.coordinator, (cst_string){0}, E));
    CHECK_STATUS(CST_NOT_FOUND, cst_coordinator_copy_name(c.coordinator, &name, E));
    cst_buffer_dispose(&name);
    company_close(&c);
}

static void store_options_are_those_of_the_caller(void) {
    cst_store_options options = CST_STORE_OPTIONS_INIT;
    options.flags = CST_STORE_NORMAL_SYNC | CST_STORE_HISTORY;
    options.busy_timeout_ms = 1500;
    const cst_pragma pragma = {text("cache_size"), text("-1000")};
    options.pragma_count = 1;
    options.pragmas = &pragma;
    struct company c = company_open_with(check_path("a.sqlite"), &options);
    cst_buffer json = {0};
    OK(cst_store_copy_options(c.store, &json, E));
    cst_string found = text_of_size(json.data, json.size);
    CHECK_CONTAINS("\"sync\": \"normal\"", found);
    CHECK_CONTAINS("\"history\": true", found);
    CHECK_CONTAINS("\"busy_timeout\": 1.5", found);
    CHECK_CONTAINS("\"pragmas\": {\"cache_size\": \"-1000\"}", found);
    cst_buffer_dispose(&json);
    company_close(&c);
}

static void store_of_an_object_is_known_after_its_save(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    cst_store *store = NULL;
    cst_object_id *id = NULL;
    CHECK_STATUS(CST_NOT_FOUND, cst_object_copy_store(ada, &store, E));
    CHECK(store == NULL);
    OK(cst_object_copy_id(ada, &id, E));
    CHECK_STATUS(CST_NOT_FOUND, cst_object_id_copy_store(id, &store, E));
    OK(cst_release(id));
    save(c.context);
    OK(cst_object_copy_store(ada, &store, E));
    CHECK_TEXT(cst_store_path(c.store).data, cst_store_path(store));
    OK(cst_release(store));
    OK(cst_object_copy_id(ada, &id, E));
    OK(cst_coordinator_remove_store(c.coordinator, c.store, E));
    OK(cst_object_id_copy_store(id, &store, E));
    CHECK_TEXT(cst_store_identifier(c.store).data, cst_store_identifier(store));
    OK(cst_release(store));
    OK(cst_release(id));
    OK(cst_release(ada));
    company_close(&c);
}

static void request_types_are_core_datas(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_fetch_request *fetch = NULL;
    cst_batch_request *insertion = NULL, *update = NULL, *deletion = NULL;
    uint32_t type = 0;
    OK(cst_fetch_request_new(c.employee, &fetch, E));
    OK(cst_batch_insert_new(c.employee, &insertion, E));
    OK(cst_batch_update_new(c.employee, &update, E));
    OK(cst_batch_delete_new(fetch, &deletion, E));
    const struct {
        const void *request;
        uint32_t type;
    } rows[] = {{fetch, CST_REQUEST_FETCH},
                {insertion, CST_REQUEST_BATCH_INSERT},
                {update, CST_REQUEST_BATCH_UPDATE},
                {deletion, CST_REQUEST_BATCH_DELETE}};
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
        OK(cst_request_type(rows[row].request, &type, E));
        CHECK_INT(rows[row].type, type);
    }
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_request_type(c.model, &type, E));
    CHECK_INT(134091, cst_error_code(check_error()));
    OK(cst_release(fetch));
    OK(cst_release(insertion));
    OK(cst_release(update));
    OK(cst_release(deletion));
    company_close(&c);
}

static void *unlock_here(void *context) {
    cst_error *error = NULL;
    CHECK_STATUS(CST_E_WRONG_THREAD, cst_context_unlock(context, &error));
    CHECK_INT(CST_CODE_MANAGED_OBJECT_CONTEXT_LOCKING, cst_error_code(error));
    cst_release(error);
    return NULL;
}

static void unlock_without_a_lock_has_core_datas_code(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_context *private = company_context(&c, CST_QUEUE_PRIVATE);
    unlock_here(private);   /* the queue is not in use */
    unlock_here(c.context); /* this thread may use the context, but did not lock it */
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, unlock_here, c.context) == 0);
    pthread_join(thread, NULL);
    OK(cst_context_lock(private, E));
    REQUIRE(pthread_create(&thread, NULL, unlock_here, private) == 0);
    pthread_join(thread, NULL);
    OK(cst_context_unlock(private, E));
    unlock_here(private);
    OK(cst_release(private));
    company_close(&c);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(coordinator_name_is_set_and_removed);
    RUN(store_options_are_those_of_the_caller);
    RUN(store_of_an_object_is_known_after_its_save);
    RUN(request_types_are_core_datas);
    RUN(unlock_without_a_lock_has_core_datas_code);
    return check_end();
}
