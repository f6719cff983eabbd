/* Stores of the host: an incremental and an atomic one (keeper.c), with every error that their callbacks can make.
 *
 * SPDX-License-Identifier: MIT
 */
#include "keeper.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct keeper keeper;

/* The company on a store of the keeper's. */
static struct company begin(uint32_t kind, char form) {
    /* From a test that did not finish. */
    cst_store_type_unregister(text("Keeper"), NULL);
    memset(&keeper, 0, sizeof keeper);
    keeper.form = form;
    cst_store_callbacks callbacks = keeper_callbacks(&keeper, kind);
    OK(cst_store_type_register(text("Keeper"), &callbacks, E));
    struct company company = {.model = company_model()};
    OK(cst_coordinator_new(company.model, &company.coordinator, E));
    company_resolve(&company);
    keeper_tell_inverse(&keeper, company.reports, company.manager);
    keeper_tell_inverse(&keeper, company.employees, company.to_department);
    OK(cst_coordinator_add_store(company.coordinator, text("keeper"), text("shelf"), NULL, &company.store, E));
    OK(cst_context_new(company.coordinator, CST_QUEUE_CALLER, &company.context, E));
    return company;
}

static void end(struct company *company) {
    int opened = keeper.opened;
    company_close(company);
    OK(cst_store_type_unregister(text("KEEPER"), E));
    CHECK_INT(opened, keeper.closed);
    CHECK_INT(1, keeper.destroyed);
    keeper_dispose(&keeper);
}

static void set_object(cst_object *object, cst_key key, cst_object *target) {
    cst_value value = {.type = CST_OBJECT};
    value.as.object = target;
    OK(cst_object_set(object, key, &value, E));
}

static void check_uri(cst_object *object, const char *end) {
    cst_object_id *id = NULL;
    cst_buffer uri = {0};
    OK(cst_object_copy_id(object, &id, E));
    OK(cst_object_id_copy_uri(id, &uri, E));
    size_t size = strlen(end);
    CHECK(uri.size > size && strcmp(uri.data + uri.size - size, end) == 0);
    cst_buffer_dispose(&uri);
    OK(cst_release(id));
}

static void save_and_read(uint32_t kind, char form) {
    struct company c = begin(kind, form);
    cst_object *ada = company_employee(&c, c.context, "Ada", 1), *grace = company_employee(&c, c.context, "Grace", 2);
    cst_object *lab = company_insert(&c, c.context, c.department, c.department_name, "Lab");
    cst_object *project = company_insert(&c, c.context, c.project, c.title, "Engine");
    set_object(grace, c.manager, ada);
    set_object(grace, c.to_department, lab);
    OK(cst_object_add_member(project, c.reviewers, grace, E));
    OK(cst_object_add_member(project, c.reviewers, ada, E));
    OK(cst_object_add_member(ada, c.friends, grace, E));
    OK(cst_context_save(c.context, E));
    CHECK_INT(1, keeper.saves);
    CHECK_INT(4, keeper.inserted);
    CHECK_INT(4, (int64_t)keeper_count(&keeper));
    if (form == 't' && kind == CST_STORE_INCREMENTAL)
        CHECK_INT(0, strncmp("obtain_ids save register", strstr(keeper.log, "obtain_ids"), 23));

    cst_context *other = company_context(&c, CST_QUEUE_CALLER);
    cst_results *found = company_fetch(other, c.employee, "name BEGINSWITH 'G'", "name");
    CHECK_INT(1, (int64_t)cst_results_count(found));
    cst_object *read = NULL;
    OK(cst_results_get_object(found, 0, &read, E));
    cst_value value;
    OK(cst_object_get(read, c.manager, &value, E));
    REQUIRE(value.type == CST_OBJECT);
    OK(cst_object_get(value.as.object, c.name, &value, E));
    CHECK_TEXT("Ada", value.as.string);
    OK(cst_object_get(read, c.number, &value, E));
    CHECK_INT(2, value.as.integer);
    cst_release(found);

    found = company_fetch(other, c.project, NULL, NULL);
    OK(cst_results_get_object(found, 0, &read, E));
    cst_results *members = NULL;
    OK(cst_object_copy_members(read, c.reviewers, &members, E));
    CHECK_INT(2, (int64_t)cst_results_count(members));
    cst_object *first = NULL;
    OK(cst_results_get_object(members, 0, &first, E));
    OK(cst_object_get(first, c.name, &value, E));
    CHECK_TEXT("Grace", value.as.string);
    cst_results *friends = NULL;
    OK(cst_object_copy_members(first, c.friends, &friends, E));
    CHECK_INT(1, (int64_t)cst_results_count(friends));
    cst_release(friends);
    cst_release(members);
    cst_release(found);
    CHECK_INT(1, (int64_t)company_count(other, c.employee, "manager.name == 'Ada'"));
    CHECK_INT(2, (int64_t)company_count(other, c.person, NULL));

    /* Change, delete. */
    value = value_text("Grace H.");
    OK(cst_object_set(grace, c.name, &value, E));
    OK(cst_context_delete(c.context, project, E));
    OK(cst_context_save(c.context, E));
    CHECK_INT(1, (int64_t)keeper.deleted);
    CHECK(keeper.updated >= 1);
    CHECK_INT(3, (int64_t)keeper_count(&keeper));
    OK(cst_context_refresh_all(other, E));
    CHECK_INT(1, (int64_t)company_count(other, c.employee, "name == 'Grace H.'"));
    CHECK_INT(0, (int64_t)company_count(other, c.employee, "reviews.@count > 0"));

    cst_release(other);
    cst_release(ada);
    cst_release(grace);
    cst_release(lab);
    cst_release(project);
    end(&c);
}

static void incremental_stores_keep_saved_objects(void) {
    save_and_read(CST_STORE_INCREMENTAL, 'i');
    save_and_read(CST_STORE_INCREMENTAL, 't');
    save_and_read(CST_STORE_INCREMENTAL, 'b');
    save_and_read(CST_STORE_INCREMENTAL, 0);
}

static void object_ids_contain_store_references(void) {
    struct company c = begin(CST_STORE_INCREMENTAL, 't');
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    cst_object_id *temporary = NULL, *id = NULL, *same = NULL, *other = NULL;
    cst_value reference;
    OK(cst_object_copy_id(ada, &temporary, E));
    CHECK_STATUS(CST_NOT_FOUND, cst_object_id_reference(temporary, &reference, E));
    OK(cst_context_save(c.context, E));
    check_uri(ada, "/Employee/prow/1");
    OK(cst_object_copy_id(ada, &id, E));
    OK(cst_object_id_reference(id, &reference, E));
    CHECK_TEXT("row/1", reference.as.string);
    OK(cst_store_new_object_id(c.store, c.employee, &reference, &same, E));
    CHECK(cst_object_id_equal(id, same));
    CHECK(cst_object_id_hash(id) == cst_object_id_hash(same));
    cst_release(same);
    const cst_value references[] = {value_int(7),
                                    value_text("7"),
                                    value_int(0),
                                    value_int(-7),
                                    value_text("a b"),
                                    value_text("<01ab>"),
                                    value_bytes("\1\xab\xff", 3),
                                    value_text("é%"),
                                    value_text("-7")};
    const char *written[] = {"p7",         "p%37", "p0", "p-7", "pa%20b", "p%3C%301ab%3E", "p%3C01abff%3E",
                             "p%C3%A9%25", "p%2D7"};
    for (size_t i = 0; i < sizeof references / sizeof *references; i++) {
        OK(cst_store_new_object_id(c.store, c.employee, &references[i], &other, E));
        cst_buffer uri = {0};
        OK(cst_object_id_copy_uri(other, &uri, E));
        CHECK(strcmp(written[i], strrchr(uri.data, '/') + 1) == 0);
        OK(cst_coordinator_object_id(c.coordinator, text(uri.data), &same, E));
        CHECK(cst_object_id_equal(other, same));
        OK(cst_object_id_reference(same, &reference, E));
        CHECK_INT(references[i].type, reference.type);
        CHECK(!cst_object_id_equal(id, same));
        cst_buffer_dispose(&uri);
        cst_release(same);
        cst_release(other);
    }
    const cst_value bad[] = {value_null(), value_text(""), value_real(1), value_bytes("", 0)};
    for (size_t i = 0; i < 4; i++)
        CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_store_new_object_id(c.store, c.employee, &bad[i], &other, E));
    cst_release(temporary);
    cst_release(id);
    cst_release(ada);
    end(&c);
}

static void rows_are_requested_in_batches(void) {
    struct company c = begin(CST_STORE_INCREMENTAL, 'i');
    for (int i = 0; i < 50; i++)
        cst_release(company_employee(&c, c.context, "Somebody", i));
    OK(cst_context_save(c.context, E));
    CHECK_INT(1, keeper.obtained);
    cst_context *other = company_context(&c, CST_QUEUE_CALLER);
    OK(cst_coordinator_reset_statistics(c.coordinator, E));
    cst_results *found = company_fetch(other, c.employee, NULL, NULL);
    CHECK_INT(50, (int64_t)cst_results_count(found));
    cst_object *first = NULL;
    cst_value value;
    OK(cst_results_get_object(found, 0, &first, E));
    OK(cst_object_get(first, c.number, &value, E));
    int values = keeper.values;
    CHECK(values <= 1);
    for (size_t i = 0; i < 50; i++) {
        OK(cst_results_get_object(found, i, &first, E));
        OK(cst_object_get(first, c.number, &value, E));
    }
    CHECK_INT(values, keeper.values);
    cst_release(found);
    cst_release(other);
    /* If the values are pushed, no further request is made. */
    keeper.pushes_values = true;
    other = company_context(&c, CST_QUEUE_CALLER);
    values = keeper.values;
    found = company_fetch(other, c.employee, "number < 10", "number");
    CHECK_INT(10, (int64_t)cst_results_count(found));
    OK(cst_results_get_object(found, 9, &first, E));
    OK(cst_object_get(first, c.number, &value, E));
    CHECK_INT(9, value.as.integer);
    CHECK_INT(values, keeper.values);
    cst_release(found);
    cst_release(other);
    end(&c);
}

/* Objects that are detached while the store creates references for them get no permanent IDs: the context would find
 * freed objects by these IDs. */
static void objects_detached_by_the_store_get_no_permanent_ids(void) {
    struct company c = begin(CST_STORE_INCREMENTAL, 'i');
    cst_object *object = company_employee(&c, c.context, "Ada", 1), *again = NULL;
    cst_object_id *id = NULL;
    keeper.mischief = KEEPER_ROLLS_BACK;
    keeper.context = c.context;
    CHECK_STATUS(CST_E_OBJECT_GONE, cst_context_obtain_permanent_ids(c.context, 1, &object, NULL));
    CHECK_STATUS(CST_OK, keeper.inner);
    cst_release(object);
    /* The next object gets the same reference, because the store does not record the references that it returned. */
    keeper.mischief = KEEPER_GOOD;
    keeper.last = 0;
    object = company_employee(&c, c.context, "Grace", 2);
    save(c.context);
    OK(cst_object_copy_id(object, &id, E));
    OK(cst_context_registered_object(c.context, id, &again, E));
    CHECK(again == object);
    OK(cst_release(again));
    OK(cst_release(object));
    OK(cst_release(id));
    end(&c);
}

/* One notice covers all objects that are registered or deregistered together, also when a context is reset or
 * released. */
static void registration_notices_are_sent_in_batches(void) {
    struct company c = begin(CST_STORE_INCREMENTAL, 'i');
    for (int i = 0; i < 50; i++)
        cst_release(company_employee(&c, c.context, "Somebody", i));
    OK(cst_context_save(c.context, E));
    keeper.pushes_values = true;
    for (int way = 0; way < 3; way++) {
        cst_context *other = company_context(&c, CST_QUEUE_CALLER);
        int registered = keeper.registered, unregistered = keeper.unregistered, notices = keeper.unregister_notices;
        cst_results *found = company_fetch(other, c.employee, NULL, NULL);
        CHECK_INT(registered + 50, keeper.registered);
        if (way == 0) {
            OK(cst_context_reset(other, E));
            CHECK_INT(unregistered + 50, keeper.unregistered);
        }
        if (way == 1) {
            cst_release(found);
            found = NULL;
            CHECK_INT(unregistered + 50, keeper.unregistered);
        }
        cst_release(found);
        cst_release(other);
        CHECK_INT(unregistered + 50, keeper.unregistered);
        CHECK_INT(notices + 1, keeper.unregister_notices);
    }
    end(&c);
}

/* A count is requested once, without an order. */
static void counts_are_requested_once_without_an_order(void) {
    struct company c = begin(CST_STORE_INCREMENTAL, 'i');
    for (int i = 0; i < 5; i++)
        cst_release(company_employee(&c, c.context, "Somebody", i));
    OK(cst_context_save(c.context, E));
    cst_fetch_request *request = company_by_number(&c);
    int fetches = keeper.fetches;
    uint64_t count = 0;
    OK(cst_context_count(c.context, request, &count, E));
    CHECK_INT(5, (int64_t)count);
    CHECK_INT(fetches + 1, keeper.fetches);
    cst_release(request);
    end(&c);
}

/* An empty save, options, metadata, a store that is opened again. */
static void stores_receive_their_metadata_and_options(void) {
    struct company c = begin(CST_STORE_INCREMENTAL, 't');
    CHECK(keeper.was_new);
    CHECK(!keeper.read_only);
    CHECK_TEXT("shelf", cst_store_path(c.store));
    CHECK_TEXT("Keeper", cst_store_type(c.store));
    OK(cst_context_save(c.context, E));
    CHECK_INT(1, keeper.saves);
    CHECK_INT(0, (int64_t)(keeper.inserted + keeper.updated + keeper.deleted));
    cst_buffer plist = {0}, again = {0}, names = {0};
    OK(cst_coordinator_copy_metadata(c.coordinator, c.store, &plist, E));
    OK(cst_coordinator_set_metadata(c.coordinator, c.store, (cst_bytes){(const uint8_t *)plist.data, plist.size}, E));
    OK(cst_context_save(c.context, E));
    CHECK_INT(1, (int64_t)keeper.saved_metadata);
    OK(cst_store_type_copy_metadata(text("Keeper"), text("shelf"), &again, E));
    CHECK(again.size == plist.size && memcmp(again.data, plist.data, plist.size) == 0);
    OK(cst_store_type_set_metadata(text("Keeper"), text("shelf"), (cst_bytes){(const uint8_t *)plist.data, plist.size},
                                   E));
    size_t count = 0;
    OK(cst_store_type_copy_names(&names, &count, E));
    CHECK_INT(5, (int64_t)count);
    CHECK(strcmp("SQLite", names.data) == 0);
    OK(cst_coordinator_set_store_path(c.coordinator, c.store, text("attic"), E));
    CHECK_TEXT("attic", cst_store_path(c.store));
    char before[64];
    snprintf(before, sizeof before, "%s", cst_store_identifier(c.store).data);

    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    OK(cst_context_save(c.context, E));
    OK(cst_coordinator_remove_store(c.coordinator, c.store, E));
    CHECK_INT(1, keeper.closed);
    cst_store_options options = CST_STORE_OPTIONS_INIT;
    const cst_string name = text("number");
    const cst_value number = value_int(9);
    options.flags = CST_STORE_READ_ONLY;
    options.host_option_count = 1;
    options.host_option_names = &name;
    options.host_option_values = &number;
    cst_store *store = NULL;
    OK(cst_coordinator_add_store(c.coordinator, text("Keeper"), text(""), &options, &store, E));
    CHECK_INT(9, keeper.option);
    CHECK(keeper.read_only);
    CHECK_TEXT(before, cst_store_identifier(store));
    cst_context *other = company_context(&c, CST_QUEUE_CALLER);
    CHECK_INT(1, (int64_t)company_count(other, c.employee, NULL));
    cst_object *new = company_employee(&c, other, "New", 2);
    CHECK_STATUS(CST_E_STORE_READ_ONLY, cst_context_save(other, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                 cst_coordinator_add_store(c.coordinator, text("InMemory"), text("m"), &options, NULL, E));
    cst_release(new);
    cst_release(other);
    cst_release(store);
    cst_release(ada);
    /* The list of stores, and their removal. */
    OK(cst_coordinator_replace_store(c.coordinator, text("Keeper"), text("there"), text("shelf"), NULL, E));
    CHECK(strcmp("there", keeper.path) == 0);
    OK(cst_coordinator_destroy_store(c.coordinator, text("Keeper"), text(""), NULL, E));
    CHECK_STATUS(CST_UNCHANGED, cst_coordinator_destroy_store(c.coordinator, text("Keeper"), text(""), NULL, E));
    CHECK_STATUS(CST_E_STORE_IO, cst_store_type_copy_metadata(text("Keeper"), text("shelf"), &again, E));
    options.flags = CST_STORE_MUST_EXIST;
    CHECK_STATUS(CST_E_STORE_IO, cst_coordinator_add_store(c.coordinator, text("Keeper"), text(""), &options, NULL, E));
    cst_buffer_dispose(&plist);
    cst_buffer_dispose(&again);
    cst_buffer_dispose(&names);
    end(&c);
}

static void invalid_store_types_are_refused(void) {
    cst_store_type_unregister(text("Keeper"), NULL);
    memset(&keeper, 0, sizeof keeper);
    keeper.form = 't';
    cst_store_callbacks good = keeper_callbacks(&keeper, CST_STORE_INCREMENTAL), bad = good;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_store_type_register(text("Keeper"), NULL, E));
    const char *taken[] = {"SQLite", "xml", "BINARY", "InMemory", ""};
    for (int i = 0; i < 5; i++)
        CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_store_type_register(text(taken[i]), &good, E));
    CHECK_INT(5, keeper.destroyed);
    bad.kind = 3;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_store_type_register(text("Keeper"), &bad, E));
    bad = good;
    bad.abilities = 1u << 20;
    CHECK_STATUS(CST_E_UNSUPPORTED, cst_store_type_register(text("Keeper"), &bad, E));
    bad = good;
    bad.open = NULL;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_store_type_register(text("Keeper"), &bad, E));
    bad = good;
    bad.fetch = NULL;
    bad.values = NULL;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_store_type_register(text("Keeper"), &bad, E));
    CHECK_CONTAINS("callbacks.fetch and callbacks.values of the store type \"Keeper\" are NULL",
                   cst_error_message(check_error()));
    bad = good;
    bad.kind = CST_STORE_ATOMIC;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_store_type_register(text("Keeper"), &bad, E));
    bad = good;
    bad.struct_size = 4;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_store_type_register(text("Keeper"), &bad, NULL));
    int destroyed = keeper.destroyed;
    OK(cst_store_type_register(text("Keeper"), &good, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_store_type_register(text("keepeR"), &good, E));
    CHECK_INT(destroyed + 1, keeper.destroyed);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_store_type_unregister(text("SQLite"), E));
    CHECK_STATUS(CST_NOT_FOUND, cst_store_type_unregister(text("Nobody's"), E));
    OK(cst_store_type_unregister(text("Keeper"), E));
    CHECK_INT(destroyed + 2, keeper.destroyed);
    /* Operations without a callback are unsupported. */
    good.copy_metadata = NULL;
    good.set_metadata = NULL;
    good.destroy_store = NULL;
    good.replace_store = NULL;
    good.move = NULL;
    good.save = NULL;
    OK(cst_store_type_register(text("Keeper"), &good, E));
    struct company c = {.model = company_model()};
    OK(cst_coordinator_new(c.model, &c.coordinator, E));
    company_resolve(&c);
    OK(cst_coordinator_add_store(c.coordinator, text("Keeper"), text("a"), NULL, &c.store, E));
    OK(cst_context_new(c.coordinator, CST_QUEUE_CALLER, &c.context, E));
    cst_buffer plist = {0};
    CHECK_STATUS(CST_E_UNSUPPORTED, cst_store_type_copy_metadata(text("Keeper"), text("a"), &plist, E));
    CHECK_STATUS(CST_E_UNSUPPORTED, cst_coordinator_destroy_store(c.coordinator, text("Keeper"), text("a"), NULL, E));
    CHECK_STATUS(CST_E_UNSUPPORTED,
                 cst_coordinator_replace_store(c.coordinator, text("Keeper"), text("b"), text("a"), NULL, E));
    bool read_only = false;
    OK(cst_store_is_read_only(c.store, &read_only, E));
    CHECK(read_only);
    CHECK_CONTAINS("does not support saving", cst_store_read_only_reason(c.store));
    company_close(&c);
    OK(cst_store_type_unregister(text("Keeper"), E));
    keeper_dispose(&keeper);
}

/* The error names the store and the operation, and has the host's error as its detail. */
static void check_failure(const char *what) {
    cst_error *error = check_error();
    REQUIRE(error != NULL);
    CHECK_INT(CST_E_CALLBACK, cst_error_status(error));
    CHECK_CONTAINS(what, cst_error_message(error));
    CHECK_CONTAINS("the shelf is locked", cst_error_message(error));
    CHECK_CONTAINS("shelf", cst_error_file(error));
    REQUIRE(cst_error_detail_count(error) == 1);
    const cst_error *detail = cst_error_detail_at(error, 0);
    CHECK_INT(42, cst_error_code(detail));
    CHECK_TEXT("keeper", cst_error_domain(detail));
}

static void store_failures_are_returned_as_errors(void) {
    struct company c = begin(CST_STORE_INCREMENTAL, 't');
    cst_object *ada = company_employee(&c, c.context, "Ada", 1), *grace = company_employee(&c, c.context, "Grace", 2);
    cst_fetch_request *request = company_by_number(&c);
    cst_results *results = NULL;
    keeper.mischief = KEEPER_FAILS;
    keeper.fails = "obtain_ids";
    CHECK_STATUS(CST_E_CALLBACK, cst_context_save(c.context, E));
    check_failure("could not obtain permanent IDs");
    keeper.fails = "save";
    CHECK_STATUS(CST_E_CALLBACK, cst_context_save(c.context, E));
    check_failure("could not save");
    bool changes = false;
    OK(cst_context_has_changes(c.context, &changes, E));
    CHECK(changes);
    keeper.mischief = KEEPER_GOOD;
    OK(cst_context_save(c.context, E));

    cst_context *other = company_context(&c, CST_QUEUE_CALLER);
    keeper.mischief = KEEPER_FAILS;
    keeper.fails = "fetch";
    CHECK_STATUS(CST_E_CALLBACK, cst_context_fetch(other, request, &results, E));
    check_failure("could not fetch Employee");
    CHECK_TEXT("Employee", cst_error_entity(check_error()));
    OK(cst_context_set_option(other, CST_OPTION_STALENESS_MS, 0, E));
    keeper.fails = "values";
    CHECK_STATUS(CST_E_CALLBACK, cst_context_fetch(other, request, &results, E));
    check_failure("could not read");
    keeper.fails = "relationship";
    cst_results *members = NULL;
    OK(cst_object_refresh(ada, false, E));
    CHECK_STATUS(CST_E_CALLBACK, cst_object_copy_members(ada, c.reports, &members, E));
    check_failure("could not read Employee.reports");
    keeper.fails = "move";
    CHECK_STATUS(CST_E_CALLBACK, cst_coordinator_set_store_path(c.coordinator, c.store, text("x"), E));
    check_failure("could not be moved to x");
    CHECK_TEXT("shelf", cst_store_path(c.store));
    cst_buffer plist = {0};
    keeper.fails = "copy_metadata";
    CHECK_STATUS(CST_E_CALLBACK, cst_store_type_copy_metadata(text("Keeper"), text("shelf"), &plist, E));
    check_failure("return its metadata");
    keeper.fails = "destroy_store";
    CHECK_STATUS(CST_E_CALLBACK,
                 cst_coordinator_destroy_store(c.coordinator, text("Keeper"), text("shelf-2"), NULL, E));
    check_failure("be destroyed");
    keeper.fails = "replace_store";
    CHECK_STATUS(CST_E_CALLBACK,
                 cst_coordinator_replace_store(c.coordinator, text("Keeper"), text("a"), text("shelf"), NULL, E));
    keeper.fails = "open";
    cst_coordinator *another = NULL;
    OK(cst_coordinator_new(c.model, &another, E));
    CHECK_STATUS(CST_E_CALLBACK, cst_coordinator_add_store(another, text("Keeper"), text("shelf"), NULL, NULL, E));
    check_failure("be opened");
    cst_release(another);
    keeper.mischief = KEEPER_GOOD;
    cst_release(request);
    cst_release(other);
    cst_release(ada);
    cst_release(grace);
    end(&c);
}

static void invalid_results_of_a_store_are_refused(void) {
    struct company c = begin(CST_STORE_INCREMENTAL, 't');
    cst_object *ada = company_employee(&c, c.context, "Ada", 1), *grace = company_employee(&c, c.context, "Grace", 2);
    cst_object *lab = company_insert(&c, c.context, c.department, c.department_name, "Lab");
    cst_fetch_request *request = company_by_number(&c);
    cst_results *results = NULL;
    const struct {
        enum keeper_mischief mischief;
        const char *words;
    } references[] = {{KEEPER_FEW_REFERENCES, "did not return a reference"},
                      {KEEPER_SAME_REFERENCES, "and for an earlier one"}};
    for (int i = 0; i < 2; i++) {
        keeper.mischief = references[i].mischief;
        CHECK_STATUS(CST_E_CALLBACK, cst_context_save(c.context, E));
        CHECK_CONTAINS(references[i].words, cst_error_message(check_error()));
    }
    keeper.mischief = KEEPER_GOOD;
    OK(cst_context_save(c.context, E));
    /* Of a call that is over. */
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_row_sink_push(keeper.sink, 0, NULL, E));
    size_t count = 0;
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_save_request_next(keeper.request, 0, NULL, &count, E));
    cst_row none = {c.employee, value_text("row/1"), 0, 0, NULL, NULL, NULL};
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_save_request_add_conflict(keeper.request, 1, &none, E));

    const struct {
        enum keeper_mischief mischief;
        const char *words;
    } rows[] = {{KEEPER_WRONG_TYPE, "Employee.number takes Integer 64, not a string"},
                {KEEPER_WRONG_ENTITY, "does not inherit from"},
                {KEEPER_NULL_REFERENCE, "is null; pass an integer"},
                {KEEPER_REENTERS, "one of its own callbacks"},
                {KEEPER_DRAINS, "cannot drain the main queue"},
                {KEEPER_WINDOW_ONLY, "applied the limit and offset"}};
    OK(cst_main_queue_bind(E));
    OK(cst_fetch_request_set_limit(request, 1, E));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cst_context *other = company_context(&c, CST_QUEUE_CALLER);
        keeper.context = other;
        keeper.mischief = rows[i].mischief;
        CHECK_STATUS(CST_E_CALLBACK, cst_context_fetch(other, request, &results, E));
        if (check_error()) {
            CHECK_CONTAINS(rows[i].words, cst_error_message(check_error()));
        }
        CHECK(results == NULL);
        cst_release(other);
    }
    keeper.mischief = KEEPER_UNASKED;
    OK(cst_context_set_option(c.context, CST_OPTION_STALENESS_MS, 0, E));
    OK(cst_object_refresh(ada, false, E));
    cst_value value;
    CHECK_STATUS(CST_E_CALLBACK, cst_object_get(ada, c.name, &value, E));
    CHECK_CONTAINS("it was not requested", cst_error_message(check_error()));
    keeper.mischief = KEEPER_OTHER_THREAD;
    OK(cst_object_get(ada, c.name, &value, E));
    CHECK_INT(CST_E_WRONG_THREAD, keeper.inner);
    keeper.mischief = KEEPER_GOOD;
    cst_release(request);
    cst_release(lab);
    cst_release(ada);
    cst_release(grace);
    end(&c);
}

static void check_conflicts_are_resolved(uint32_t kind) {
    struct company c = begin(kind, 't');
    cst_object *ada = company_employee(&c, c.context, "Ada", 1), *there = NULL;
    OK(cst_context_save(c.context, E));
    cst_context *other = company_context(&c, CST_QUEUE_CALLER);
    cst_results *found = company_fetch(other, c.employee, NULL, NULL);
    OK(cst_results_get_object(found, 0, &there, E));
    cst_value value = value_int(5);
    OK(cst_object_set(there, c.number, &value, E));
    value = value_int(3);
    OK(cst_object_set(ada, c.number, &value, E));
    OK(cst_context_save(c.context, E));
    CHECK_STATUS(CST_E_CONFLICT, cst_context_save(other, E));
    CHECK_INT(CST_CODE_MANAGED_OBJECT_MERGE, cst_error_code(check_error()));
    cst_merge_policy *policy = NULL;
    OK(cst_merge_policy_new(CST_MERGE_OBJECT_TRUMP, NULL, NULL, NULL, &policy, E));
    OK(cst_context_set_merge_policy(other, policy, E));
    cst_release(policy);
    OK(cst_context_save(other, E));
    OK(cst_object_refresh(ada, false, E));
    OK(cst_object_get(ada, c.number, &value, E));
    CHECK_INT(5, value.as.integer);
    cst_release(found);
    cst_release(other);
    cst_release(ada);
    end(&c);
}

static void set_policy(cst_context *context, uint32_t type) {
    cst_merge_policy *policy = NULL;
    OK(cst_merge_policy_new(type, NULL, NULL, NULL, &policy, E));
    OK(cst_context_set_merge_policy(context, policy, E));
    cst_release(policy);
}

/* A reference that another row has now, and a deleted row. */
static void check_new_and_lost_rows(uint32_t kind) {
    struct company c = begin(kind, 't');
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    OK(cst_context_save(c.context, E));
    keeper.last = 0;
    cst_context *other = company_context(&c, CST_QUEUE_CALLER);
    cst_object *bob = company_employee(&c, other, "Bob", 2);
    CHECK_STATUS(CST_E_CONFLICT, cst_context_save(other, E));
    CHECK_INT(CST_CODE_MANAGED_OBJECT_MERGE, cst_error_code(check_error()));
    CHECK_INT(1, (int64_t)cst_error_conflict_count(check_error()));
    CHECK_CONTAINS("/Employee/prow/1 is new here", cst_error_message(check_error()));
    CHECK_TEXT("Employee", cst_error_entity(check_error()));
    set_policy(other, CST_MERGE_OBJECT_TRUMP);
    OK(cst_context_save(other, E));
    CHECK_INT(2, keeper.obtained);
    CHECK_INT(1, (int64_t)keeper_count(&keeper));
    check_uri(bob, "/Employee/prow/1");
    cst_value value;
    OK(cst_object_refresh(ada, false, E));
    OK(cst_object_get(ada, c.name, &value, E));
    CHECK_TEXT("Bob", value.as.string);

    keeper_lose_rows(&keeper);
    value = value_int(9);
    OK(cst_object_set(bob, c.number, &value, E));
    OK(cst_context_save(other, E));
    CHECK_INT(1, (int64_t)keeper_count(&keeper));
    keeper_lose_rows(&keeper);
    value = value_int(10);
    OK(cst_object_set(bob, c.number, &value, E));
    set_policy(other, CST_MERGE_STORE_TRUMP);
    OK(cst_context_save(other, E));
    CHECK_INT(0, (int64_t)keeper_count(&keeper));
    CHECK_STATUS(CST_E_OBJECT_GONE, cst_object_get(bob, c.number, &value, E));
    cst_release(bob);
    cst_release(ada);
    cst_release(other);
    end(&c);
}

static void keep_line(void *userdata, cst_string line) {
    (void)line;
    ++*(int *)userdata;
}

/* Conflicts that a store keeps reporting, conflicts that no policy resolves, and saves after a successful and a
 * failed save. */
static void check_saves_after_conflicts(uint32_t kind) {
    struct company c = begin(kind, 't');
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    keeper.mischief = KEEPER_FAILS;
    keeper.fails = "save";
    CHECK_STATUS(CST_E_CALLBACK, cst_context_save(c.context, E));
    keeper.mischief = KEEPER_GOOD;
    OK(cst_context_save(c.context, E));
    CHECK_INT(1, keeper.obtained);
    check_uri(ada, "/Employee/prow/1");

    int lines = 0;
    OK(cst_log_set_callback(keep_line, &lines, NULL, E));
    keeper.mischief = KEEPER_BAD_SAVED;
    cst_object *grace = company_employee(&c, c.context, "Grace", 2);
    int saves = keeper.saves;
    OK(cst_context_save(c.context, E));
    OK(cst_log_set_callback(NULL, NULL, NULL, E));
    CHECK_INT(saves + 1, keeper.saves);
    CHECK_INT(CST_OK, keeper.inner);
    CHECK_INT(2, lines);
    CHECK_INT(2, (int64_t)keeper_count(&keeper));

    keeper.mischief = KEEPER_REPORTS;
    set_policy(c.context, CST_MERGE_OBJECT_TRUMP);
    cst_value value = value_int(5);
    OK(cst_object_set(ada, c.number, &value, E));
    CHECK_STATUS(CST_E_CONFLICT, cst_context_save(c.context, E));
    CHECK_CONTAINS("17 times", cst_error_message(check_error()));
    CHECK_CONTAINS("/Employee/prow/1", cst_error_message(check_error()));
    CHECK_INT(saves + 18, keeper.saves);
    OK(cst_context_rollback(c.context, E));

    cst_fetch_request *request = company_by_number(&c);
    cst_batch_request *batch = NULL;
    OK(cst_batch_delete_new(request, &batch, E));
    CHECK_STATUS(CST_E_CONFLICT, cst_context_execute_batch(c.context, batch, NULL, NULL, E));
    CHECK_CONTAINS("could not delete rows of Employee", cst_error_message(check_error()));
    CHECK_INT(2, (int64_t)cst_error_detail_count(check_error()));
    cst_release(batch);
    cst_release(request);
    CHECK_INT(2, (int64_t)keeper_count(&keeper));
    keeper.mischief = KEEPER_GOOD;
    cst_release(grace);
    cst_release(ada);
    end(&c);
}

static void a_row_pushed_twice_is_counted_once(void) {
    struct company c = begin(CST_STORE_INCREMENTAL, 't');
    cst_object *all[] = {company_employee(&c, c.context, "Ada", 1), company_employee(&c, c.context, "Grace", 2)};
    cst_object_id *ids[2] = {NULL};
    OK(cst_context_save(c.context, E));
    for (size_t i = 0; i < 2; i++) {
        OK(cst_object_copy_id(all[i], &ids[i], E));
        cst_release(all[i]);
    }
    OK(cst_context_reset(c.context, E));
    keeper.mischief = KEEPER_TWICE;
    int values = keeper.values;
    uint64_t count = 0;
    cst_batch_request *batch = NULL;
    OK(cst_batch_delete_new_with_ids(2, ids, &batch, E));
    OK(cst_context_execute_batch(c.context, batch, &count, NULL, E));
    CHECK(keeper.values > values);
    CHECK_INT(2, (int64_t)count);
    CHECK_INT(0, (int64_t)keeper_count(&keeper));
    cst_release(batch);
    cst_release(ids[0]);
    cst_release(ids[1]);
    end(&c);
}

static void incremental_stores_report_conflicts(void) {
    check_new_and_lost_rows(CST_STORE_INCREMENTAL);
    check_saves_after_conflicts(CST_STORE_INCREMENTAL);
}

static void atomic_stores_report_conflicts(void) {
    check_new_and_lost_rows(CST_STORE_ATOMIC);
    check_saves_after_conflicts(CST_STORE_ATOMIC);
}

static void conflicts_of_incremental_stores_are_resolved(void) { check_conflicts_are_resolved(CST_STORE_INCREMENTAL); }

static void fill(struct company *c) {
    cst_object *people[20];
    cst_object *lab = company_insert(c, c->context, c->department, c->department_name, "Lab");
    cst_object *project = company_insert(c, c->context, c->project, c->title, "Engine");
    for (int i = 0; i < 20; i++) {
        char name[16];
        snprintf(name, sizeof name, "n%02d", i);
        people[i] = company_employee(c, c->context, name, i);
        if (i > 0) set_object(people[i], c->manager, people[i / 2]);
        set_object(people[i], c->to_department, lab);
        if (i % 3 == 0) OK(cst_object_add_member(project, c->reviewers, people[i], E));
        if (i > 1) OK(cst_object_add_member(people[i], c->friends, people[i - 2], E));
    }
    OK(cst_context_save(c->context, E));
    for (int i = 0; i < 20; i++)
        cst_release(people[i]);
    cst_release(lab);
    cst_release(project);
}

static void check_filled(struct company *c) {
    cst_context *context = company_context(c, CST_QUEUE_CALLER);
    CHECK_INT(20, (int64_t)company_count(context, c->employee, NULL));
    CHECK_INT(20, (int64_t)company_count(context, c->employee, "department.name == 'Lab'"));
    CHECK_INT(7, (int64_t)company_count(context, c->employee, "ANY reviews.title == 'Engine'"));
    CHECK_INT(2, (int64_t)company_count(context, c->employee, "manager.name == 'n04'"));
    CHECK_INT(16, (int64_t)company_count(context, c->employee, "friends.@count == 2"));
    cst_results *found = company_fetch(context, c->project, NULL, NULL), *members = NULL;
    cst_object *project = NULL, *last = NULL;
    OK(cst_results_get_object(found, 0, &project, E));
    OK(cst_object_copy_members(project, c->reviewers, &members, E));
    CHECK_INT(7, (int64_t)cst_results_count(members));
    OK(cst_results_get_object(members, 6, &last, E));
    cst_value value;
    OK(cst_object_get(last, c->name, &value, E));
    CHECK_TEXT("n18", value.as.string);
    cst_release(members);
    cst_release(found);
    cst_release(context);
}

static void migrate(uint32_t kind, char form) {
    char path[32];
    snprintf(path, sizeof path, "m%u%c.sqlite", kind, form ? form : '0');
    struct company c = begin(kind, form);
    fill(&c);
    check_filled(&c);
    cst_store *database = NULL, *back = NULL;
    OK(cst_coordinator_migrate_store(c.coordinator, c.store, text("SQLite"), text(check_path(path)), NULL, NULL, NULL,
                                     &database, E));
    check_filled(&c);
    keeper_dispose(&keeper);
    keeper.list_count = 0;
    OK(cst_coordinator_migrate_store(c.coordinator, database, text("Keeper"), text("anew"), NULL, NULL, NULL, &back,
                                     E));
    check_filled(&c);
    CHECK_INT(22, (int64_t)keeper_count(&keeper));
    cst_release(database);
    cst_release(back);
    end(&c);
}

static void incremental_stores_are_migrated(void) {
    migrate(CST_STORE_INCREMENTAL, 't');
    migrate(CST_STORE_INCREMENTAL, 'i');
    migrate(CST_STORE_INCREMENTAL, 0);
}

static void atomic_stores_keep_saved_objects(void) {
    save_and_read(CST_STORE_ATOMIC, 'i');
    save_and_read(CST_STORE_ATOMIC, 't');
    save_and_read(CST_STORE_ATOMIC, 'b');
    save_and_read(CST_STORE_ATOMIC, 0);
}

static void conflicts_of_atomic_stores_are_resolved(void) { check_conflicts_are_resolved(CST_STORE_ATOMIC); }

static void atomic_stores_are_migrated(void) {
    migrate(CST_STORE_ATOMIC, 't');
    migrate(CST_STORE_ATOMIC, 0);
}

/* Saved rows are loaded when the store is opened again, and a save that the host refuses is rolled back. */
static void atomic_stores_are_loaded_when_reopened(void) {
    struct company c = begin(CST_STORE_ATOMIC, 't');
    CHECK_INT(0, keeper.loads);
    fill(&c);
    keeper.counts_all = true;
    cst_object *one = company_employee(&c, c.context, "One more", 99);
    keeper.mischief = KEEPER_FAILS;
    keeper.fails = "save";
    CHECK_STATUS(CST_E_CALLBACK, cst_context_save(c.context, E));
    check_failure("could not save");
    cst_context *other = company_context(&c, CST_QUEUE_CALLER);
    CHECK_INT(20, (int64_t)company_count(other, c.employee, NULL));
    cst_release(other);
    keeper.mischief = KEEPER_GOOD;
    OK(cst_context_save(c.context, E));
    CHECK_INT(23, (int64_t)keeper.all);
    OK(cst_context_delete(c.context, one, E));
    OK(cst_context_save(c.context, E));
    CHECK_INT(22, (int64_t)keeper.all);
    cst_release(one);
    OK(cst_coordinator_remove_store(c.coordinator, c.store, E));
    cst_store *store = NULL;
    OK(cst_coordinator_add_store(c.coordinator, text("Keeper"), text("shelf"), NULL, &store, E));
    CHECK_INT(1, keeper.loads);
    check_filled(&c);
    OK(cst_coordinator_remove_store(c.coordinator, store, E));
    cst_release(store);
    keeper.mischief = KEEPER_FAILS;
    keeper.fails = "load";
    CHECK_STATUS(CST_E_CALLBACK,
                 cst_coordinator_add_store(c.coordinator, text("Keeper"), text("shelf"), NULL, NULL, E));
    check_failure("be loaded");
    keeper.mischief = KEEPER_GOOD;
    end(&c);
}

/* The arguments that a store received last, in addition to those that the keeper records. */
static struct {
    cst_store_callbacks inner;
    char type[32], path[64], configuration[32], options[64], sort[256], author[32], name[32], predicate[64], json[64];
    bool must_exist, read_only, includes_subentities, has_model, has_metadata, has_predicate;
    uint32_t result_type, done;
    uint64_t limit, offset, count;
    size_t key_count, struct_size;
    int64_t old_version, new_version, deleted_version, locked_version;
    size_t changed, added, removed, members, locked, null_values;
    bool is_ordered;
} seen;

static void copy_text(char *to, size_t room, cst_string from) {
    snprintf(to, room, "%s", from.data ? from.data : "(null)");
}

static cst_status noting_open(void *userdata, const cst_store_opening *opening, void **out_store,
                              cst_buffer *out_metadata, cst_error **error) {
    seen.struct_size = opening->struct_size;
    copy_text(seen.type, sizeof seen.type, opening->type);
    copy_text(seen.path, sizeof seen.path, opening->path);
    copy_text(seen.configuration, sizeof seen.configuration, opening->configuration);
    seen.must_exist = opening->must_exist;
    seen.read_only = opening->read_only;
    seen.has_model = cst_model_entity_count(opening->model) == 6;
    seen.has_metadata = opening->metadata.size > 8 && memcmp(opening->metadata.data, "bplist00", 8) == 0;
    seen.options[0] = 0;
    for (size_t i = 0; i < opening->option_count; i++) {
        size_t used = strlen(seen.options);
        snprintf(seen.options + used, sizeof seen.options - used, "%s=%s ", opening->option_names[i].data,
                 opening->option_values[i].type == CST_STRING ? opening->option_values[i].as.string.data : "?");
    }
    return seen.inner.open(userdata, opening, out_store, out_metadata, error);
}

static cst_status noting_fetch(void *store, const cst_store_fetch *fetch, cst_row_sink *sink, uint32_t *out_done,
                               uint64_t *out_count, cst_error **error) {
    seen.struct_size = fetch->struct_size;
    seen.includes_subentities = fetch->includes_subentities;
    seen.result_type = fetch->result_type;
    seen.limit = fetch->limit;
    seen.offset = fetch->offset;
    seen.key_count = fetch->key_count;
    seen.sort[0] = 0;
    for (size_t i = 0; i < fetch->sort_count; i++) {
        size_t used = strlen(seen.sort);
        snprintf(seen.sort + used, sizeof seen.sort - used, "%s:%u ", fetch->sort[i].key_path.data,
                 (unsigned)fetch->sort[i].flags);
    }
    cst_buffer out = {0};
    snprintf(seen.predicate, sizeof seen.predicate, "none");
    if (fetch->predicate) {
        CHECK_STATUS(CST_OK, cst_predicate_copy_format(fetch->predicate, &out, NULL));
        snprintf(seen.predicate, sizeof seen.predicate, "%s", out.data);
    }
    CHECK_STATUS(CST_OK, cst_fetch_request_copy_json(fetch->request, &out, NULL));
    CHECK_CONTAINS("\"entityName\": \"Employee\"", text_of_size(out.data, out.size));
    cst_buffer_dispose(&out);
    CHECK_INT(0, *out_done);
    CHECK_INT(0, *out_count);
    if (seen.done) {
        *out_done = seen.done;
        *out_count = seen.count;
        return CST_OK;
    }
    return seen.inner.fetch(store, fetch, sink, out_done, out_count, error);
}

static cst_status noting_save(void *store, const cst_save_changes *changes, cst_row_sink *sink, cst_error **error) {
    copy_text(seen.author, sizeof seen.author, changes->author);
    copy_text(seen.name, sizeof seen.name, changes->context_name);
    seen.null_values = 0;
    for (size_t i = 0; i < changes->inserted_count; i++) {
        for (size_t n = 0; n < changes->inserted[i].count; n++)
            seen.null_values += changes->inserted[i].values[n].type == CST_NULL;
    }
    if (changes->updated_count) {
        seen.old_version = changes->updated[0].old_version;
        seen.new_version = changes->updated[0].row.version;
        seen.changed = changes->updated[0].changed_count;
    }
    if (changes->deleted_count) seen.deleted_version = changes->deleted[0].version;
    seen.locked = changes->locked_count;
    if (changes->locked_count) seen.locked_version = changes->locked[0].version;
    for (size_t i = 0; i < changes->member_change_count; i++) {
        const cst_member_change *change = &changes->member_changes[i];
        seen.added += change->added_count;
        seen.removed += change->removed_count;
        seen.members += change->member_count;
        seen.is_ordered = seen.is_ordered || change->is_ordered;
    }
    return seen.inner.save(store, changes, sink, error);
}

static cst_store_callbacks noting(uint32_t kind) {
    cst_store_type_unregister(text("Keeper"), NULL);
    memset(&keeper, 0, sizeof keeper);
    memset(&seen, 0, sizeof seen);
    keeper.form = 'i';
    cst_store_callbacks callbacks = seen.inner = keeper_callbacks(&keeper, kind);
    callbacks.open = noting_open;
    if (callbacks.fetch) callbacks.fetch = noting_fetch;
    callbacks.save = noting_save;
    return callbacks;
}

static struct company begin_noting(const cst_store_options *options) {
    const cst_store_callbacks callbacks = noting(CST_STORE_INCREMENTAL);
    OK(cst_store_type_register(text("Keeper"), &callbacks, E));
    struct company company = {.model = company_model()};
    const cst_string people[] = {text("Person"), text("Employee")};
    OK(cst_model_set_configuration(company.model, text("People"), 2, people, E));
    OK(cst_coordinator_new(company.model, &company.coordinator, E));
    company_resolve(&company);
    OK(cst_coordinator_add_store(company.coordinator, text("KEEPER"), text("shelf"), options, &company.store, E));
    OK(cst_context_new(company.coordinator, CST_QUEUE_CALLER, &company.context, E));
    return company;
}

static void an_opening_contains_path_options_and_configuration(void) {
    struct company c = begin_noting(NULL);
    CHECK_INT(sizeof(cst_store_opening), seen.struct_size);
    CHECK(strcmp(seen.type, "Keeper") == 0 && strcmp(seen.path, "shelf") == 0);
    CHECK(strcmp(seen.configuration, "(null)") == 0 && strcmp(seen.options, "") == 0);
    CHECK(!seen.must_exist && !seen.read_only && seen.has_model && seen.has_metadata);
    end(&c);
    cst_store_options options = CST_STORE_OPTIONS_INIT;
    const cst_string names[] = {text("zebra"), text("apple"), text("mango")};
    const cst_value values[] = {value_text("z"), value_text("a"), value_int(1)};
    options.configuration = text("People");
    options.host_option_count = 3;
    options.host_option_names = names;
    options.host_option_values = values;
    c = begin_noting(&options);
    CHECK(strcmp(seen.configuration, "People") == 0);
    CHECK_TEXT("apple=a mango=? zebra=z ", text_of_size(seen.options, strlen(seen.options)));
    OK(cst_coordinator_remove_store(c.coordinator, c.store, E));
    options.flags = CST_STORE_MUST_EXIST;
    OK(cst_coordinator_add_store(c.coordinator, text("Keeper"), text("shelf"), &options, NULL, E));
    CHECK(seen.must_exist && !seen.read_only);
    const cst_string twice[] = {text("a"), text("a")};
    options.host_option_count = 2;
    options.host_option_names = twice;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                 cst_coordinator_add_store(c.coordinator, text("Keeper"), text("b"), &options, NULL, E));
    CHECK_TEXT("a", cst_error_key(check_error()));
    CHECK_CONTAINS("options.host_option_names contains \"a\" twice", cst_error_message(check_error()));
    options.host_option_values = NULL;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                 cst_coordinator_add_store(c.coordinator, text("Keeper"), text("b"), &options, NULL, E));
    end(&c);
}

/* A model with unique values, derived attributes or neither, on a store that can do some of it. */
static void models_that_need_missing_abilities_are_refused(void) {
    for (unsigned asked = 0; asked < 4; asked++) {
        cst_model *model = NULL;
        cst_entity *note = NULL;
        cst_attribute *upper = NULL;
        const cst_string code = text("code");
        OK(cst_model_new(&model, E));
        OK(cst_model_add_entity(model, text("Note"), &note, E));
        OK(cst_entity_add_attribute(note, code, CST_ATTRIBUTE_STRING, CST_PROPERTY_OPTIONAL, NULL, E));
        if (asked & 1) OK(cst_entity_add_unique_constraint(note, 1, &code, E));
        if (asked & 2) {
            OK(cst_entity_add_attribute(note, text("upper"), CST_ATTRIBUTE_STRING, CST_PROPERTY_OPTIONAL, &upper, E));
            OK(cst_attribute_set_derivation(upper, text("uppercase:(code)"), text_of_size(NULL, 0), E));
        }
        OK(cst_model_freeze(model, E));
        for (unsigned can = 0; can < 8; can++) {
            const bool is_atomic = can >= 4;
            cst_store_callbacks callbacks = noting(is_atomic ? CST_STORE_ATOMIC : CST_STORE_INCREMENTAL);
            cst_coordinator *coordinator = NULL;
            cst_store *store = NULL;
            if (can & 1) callbacks.abilities |= CST_STORE_UNIQUE_CONSTRAINTS;
            if (can & 2) callbacks.abilities |= CST_STORE_DERIVED_ATTRIBUTES;
            OK(cst_store_type_register(text("Keeper"), &callbacks, E));
            OK(cst_coordinator_new(model, &coordinator, E));
            /* The library looks after unique values of atomic stores. */
            const unsigned lacks = asked & ~(can | (is_atomic ? 1u : 0));
            const cst_status status =
                cst_coordinator_add_store(coordinator, text("Keeper"), text("shelf"), NULL, &store, E);
            if (!lacks) {
                CHECK_INT(CST_OK, status);
            } else {
                CHECK_INT(CST_E_UNSUPPORTED, status);
                CHECK_TEXT("Note", cst_error_entity(check_error()));
                CHECK_CONTAINS("shelf cannot be used with this model: ", cst_error_message(check_error()));
                if (lacks == 1) CHECK_CONTAINS("unique", cst_error_message(check_error()));
                if (lacks == 2) CHECK_TEXT("upper", cst_error_key(check_error()));
            }
            cst_release(store);
            cst_release(coordinator);
            OK(cst_store_type_unregister(text("Keeper"), E));
            keeper_dispose(&keeper);
        }
        cst_release(model);
    }
}

static void fetch_noting(const struct company *c, const cst_fetch_request *request, uint32_t type) {
    cst_request_result result;
    cst_fetch_request *copy = NULL;
    OK(cst_fetch_request_copy(request, &copy, E));
    OK(cst_fetch_request_set_option(copy, CST_FETCH_RESULT_TYPE, type, E));
    OK(cst_context_execute(c->context, copy, &result, E));
    cst_release(result.value);
    cst_release(copy);
}

static void a_store_fetch_contains_the_parts_of_its_request(void) {
    struct company c = begin_noting(NULL);
    cst_fetch_request *request = NULL;
    OK(cst_fetch_request_new(c.employee, &request, E));
    fetch_noting(&c, request, CST_RESULT_OBJECTS);
    CHECK_INT(sizeof(cst_store_fetch), seen.struct_size);
    CHECK_INT(CST_RESULT_OBJECTS, seen.result_type);
    CHECK(strcmp(seen.predicate, "none") == 0 && strcmp(seen.sort, "") == 0);
    CHECK(seen.includes_subentities && seen.limit == 0 && seen.offset == 0);
    fetch_noting(&c, request, CST_RESULT_OBJECT_IDS);
    CHECK_INT(CST_RESULT_OBJECT_IDS, seen.result_type);
    fetch_noting(&c, request, CST_RESULT_COUNT);
    CHECK_INT(CST_RESULT_COUNT, seen.result_type);
    fetch_noting(&c, request, CST_RESULT_DICTIONARIES);
    CHECK_INT(CST_RESULT_DICTIONARIES, seen.result_type);
    const cst_sort order[] = {{text("name"), 0, 0},
                              {text("notes"), CST_SORT_DESCENDING, 0},
                              {text("site"), CST_SORT_CASE_INSENSITIVE, 0},
                              {text("level"), CST_SORT_LOCALIZED | CST_SORT_DESCENDING, 0},
                              {text("floor"), CST_SORT_LOCALIZED | CST_SORT_CASE_INSENSITIVE, 0},
                              {text("number"), CST_SORT_LOCALIZED_STANDARD, 0}};
    cst_predicate *predicate = NULL;
    OK(cst_predicate_parse(text("number > 3"), 0, NULL, &predicate, E));
    OK(cst_fetch_request_set_predicate(request, predicate, E));
    OK(cst_fetch_request_set_sort(request, 6, order, E));
    OK(cst_fetch_request_set_limit(request, 4, E));
    OK(cst_fetch_request_set_offset(request, 2, E));
    OK(cst_fetch_request_set_includes_subentities(request, false, E));
    fetch_noting(&c, request, CST_RESULT_OBJECTS);
    CHECK_TEXT("name:0 notes:1 site:2 level:5 floor:6 number:8 ", text_of_size(seen.sort, strlen(seen.sort)));
    CHECK_TEXT("number > 3", text_of_size(seen.predicate, strlen(seen.predicate)));
    CHECK(!seen.includes_subentities);
    CHECK_INT(4, seen.limit);
    CHECK_INT(2, seen.offset);
    OK(cst_release(predicate));
    OK(cst_release(request));
    end(&c);
}

static void the_reported_work_of_a_store_fetch_is_checked(void) {
    struct company c = begin_noting(NULL);
    cst_fetch_request *request = NULL;
    uint64_t count = 9;
    OK(cst_fetch_request_new(c.employee, &request, E));
    seen.done = CST_FETCHED_COUNT;
    seen.count = 7;
    OK(cst_context_count(c.context, request, &count, E));
    CHECK_INT(7, count);
    OK(cst_fetch_request_set_offset(request, 2, E));
    OK(cst_fetch_request_set_limit(request, 3, E));
    OK(cst_context_count(c.context, request, &count, E)); /* the library cuts the window */
    CHECK_INT(3, count);
    /* The parts of a fetch that the store reports as done, for a count or objects, with or without predicate, order
     * and window. */
    cst_predicate *predicate = NULL;
    OK(cst_predicate_parse(text("number > 3"), 0, NULL, &predicate, E));
    const cst_sort by_name = {text("name"), 0, 0};
    enum {
        COUNTED = CST_FETCHED_COUNT,
        DECIDED = CST_FETCHED_PREDICATE,
        SORTED = CST_FETCHED_ORDER,
        CUT = CST_FETCHED_WINDOW
    };
    const struct {
        uint32_t done;
        bool is_count, has_predicate, has_order;
        uint64_t offset, limit, expected;
        const char *mistake;
    } cases[] = {
        {COUNTED, true, false, false, 0, 0, 7, NULL},
        {COUNTED, true, false, false, 0, 7, 7, NULL},
        {COUNTED, true, false, false, 0, 6, 6, NULL},
        {COUNTED, true, false, false, 6, 0, 1, NULL},
        {COUNTED, true, false, false, 7, 3, 0, NULL},
        {COUNTED, true, false, false, 9, 0, 0, NULL},
        {COUNTED | CUT, true, false, false, 5, 3, 7, NULL},
        {COUNTED | DECIDED, true, true, false, 1, 3, 3, NULL},
        {COUNTED, true, true, false, 0, 0, 0, "counted Employee without the predicate"},
        {COUNTED | CUT, true, true, false, 0, 2, 0, "counted Employee without the predicate"},
        {COUNTED, false, false, false, 0, 0, 0, "returned a count for a fetch of Employee"},
        {CUT, false, true, false, 0, 2, 0, "applied the limit and offset of a fetch of Employee without its predicate"},
        {CUT, false, true, true, 1, 0, 0, "applied the limit and offset of a fetch of Employee without its predicate"},
        {CUT | DECIDED, false, true, true, 0, 2, 0,
         "applied the limit and offset of a fetch of Employee without its order"},
        {CUT | SORTED, false, true, true, 0, 2, 0,
         "applied the limit and offset of a fetch of Employee without its predicate"},
        {CUT | DECIDED | SORTED, false, true, true, 0, 2, 0, NULL},
        {CUT | SORTED, false, false, true, 0, 2, 0, NULL},
        {CUT, false, false, false, 0, 2, 0, NULL},
        {CUT, false, true, true, 0, 0, 0, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cst_results *found = NULL;
        seen.done = cases[i].done;
        seen.count = cases[i].is_count ? 7 : 0;
        OK(cst_fetch_request_set_predicate(request, cases[i].has_predicate ? predicate : NULL, E));
        OK(cst_fetch_request_set_sort(request, cases[i].has_order, &by_name, E));
        OK(cst_fetch_request_set_offset(request, cases[i].offset, E));
        OK(cst_fetch_request_set_limit(request, cases[i].limit, E));
        cst_status status = cases[i].is_count ? cst_context_count(c.context, request, &count, E)
                                              : cst_context_fetch(c.context, request, &found, E);
        if (!cases[i].mistake) {
            CHECK_INT(CST_OK, status);
            CHECK_INT((int64_t)cases[i].expected,
                      cases[i].is_count ? (int64_t)count : (int64_t)cst_results_count(found));
        } else {
            CHECK_INT(CST_E_CALLBACK, status);
            CHECK_CONTAINS(cases[i].mistake, cst_error_message(check_error()));
            CHECK_CONTAINS("the Keeper store shelf ", cst_error_message(check_error()));
            CHECK_TEXT("Employee", cst_error_entity(check_error()));
        }
        cst_release(found);
    }
    OK(cst_release(predicate));
    OK(cst_fetch_request_set_predicate(request, NULL, E));
    seen.done = 16;
    CHECK_STATUS(CST_E_CALLBACK, cst_context_count(c.context, request, &count, E));
    CHECK_CONTAINS("set out_done to 0x10, but it must be 0 to 0xf; use CST_FETCHED_ constants",
                   cst_error_message(check_error()));
    CHECK_TEXT("out_done", cst_error_key(check_error()));
    CHECK_INT(0, count);
    seen.done = 0;
    OK(cst_release(request));
    end(&c);
}

static void a_store_save_contains_values_versions_and_members(void) {
    struct company c = begin_noting(NULL);
    cst_object *ada = company_employee(&c, c.context, "Ada", 1), *bob = company_employee(&c, c.context, "Bob", 2);
    cst_object *project = company_insert(&c, c.context, c.project, c.title, "P");
    OK(cst_context_save(c.context, E));
    CHECK(strcmp(seen.author, "(null)") == 0 && strcmp(seen.name, "(null)") == 0);
    CHECK_INT(7, seen.null_values); /* the to-one relationships, and no attribute */
    OK(cst_context_set_transaction_author(c.context, text("me"), E));
    OK(cst_context_set_name(c.context, text("import"), E));
    set(ada, c.number, value_int(3));
    set(ada, c.level, value_int(4));
    OK(cst_context_detect_conflicts(c.context, bob, E));
    OK(cst_context_save(c.context, E));
    CHECK(strcmp(seen.author, "me") == 0 && strcmp(seen.name, "import") == 0);
    CHECK_INT(seen.old_version + 1, seen.new_version);
    CHECK_INT(2, seen.changed);
    CHECK_INT(1, seen.locked);
    CHECK_INT(seen.old_version, seen.locked_version);
    const int64_t version = seen.new_version;
    cst_object *const both[] = {ada, bob};
    seen.added = seen.removed = seen.members = 0;
    OK(cst_object_set_members(project, c.reviewers, 2, both, E));
    OK(cst_context_save(c.context, E));
    CHECK_INT(0, seen.locked);
    CHECK_INT(4, seen.added); /* from both sides */
    CHECK_INT(2, seen.members);
    CHECK(seen.is_ordered);
    seen.added = seen.removed = seen.members = 0;
    OK(cst_object_remove_member(project, c.reviewers, bob, E));
    OK(cst_context_save(c.context, E));
    CHECK_INT(2, seen.removed);
    CHECK_INT(1, seen.members);
    OK(cst_object_remove_member(project, c.reviewers, ada, E));
    OK(cst_context_save(c.context, E));
    seen.deleted_version = -1;
    OK(cst_context_delete(c.context, ada, E));
    OK(cst_context_save(c.context, E));
    CHECK(seen.deleted_version >= version);
    cst_release(ada), cst_release(bob), cst_release(project);
    end(&c);
}

static void object_ids_are_created_from_references(void) {
    struct company c = begin_noting(NULL);
    cst_object_id *id = NULL, *same = NULL;
    cst_value given = value_text("a/b"), found;
    OK(cst_store_new_object_id(c.store, c.employee, &given, &id, E));
    OK(cst_store_new_object_id(c.store, c.employee, &given, &same, E));
    CHECK(cst_object_id_equal(id, same));
    OK(cst_object_id_reference(id, &found, E));
    CHECK_INT(CST_STRING, found.type);
    CHECK_TEXT("a/b", found.as.string);
    cst_release(id), cst_release(same);
    given = value_bytes("\0\1", 2);
    OK(cst_store_new_object_id(c.store, c.employee, &given, &id, E));
    OK(cst_object_id_reference(id, &found, E));
    CHECK(found.type == CST_BYTES && found.as.bytes.size == 2 && memcmp(found.as.bytes.data, "\0\1", 2) == 0);
    OK(cst_release(id));
    given = value_int(-4);
    OK(cst_store_new_object_id(c.store, c.employee, &given, &id, E));
    OK(cst_object_id_reference(id, &found, E));
    CHECK(found.type == CST_INT && found.as.integer == -4);
    OK(cst_release(id));
    const cst_value wrong[] = {value_null(), value_text(""), value_bytes("", 0), value_real(1), value_bool(true)};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_store_new_object_id(c.store, c.employee, &wrong[i], &id, E));
        static const char *const found[] = {"null", "empty", "empty", "a floating-point number (1.0)", "a boolean"};
        CHECK_CONTAINS("the reference of Employee is ", cst_error_message(check_error()));
        CHECK_CONTAINS(found[i], cst_error_message(check_error()));
        CHECK_TEXT("Employee", cst_error_entity(check_error()));
    }
    CHECK(id == NULL);
    cst_object *fresh = company_employee(&c, c.context, "Ada", 1);
    OK(cst_object_copy_id(fresh, &id, E));
    found = value_int(7);
    CHECK_STATUS(CST_NOT_FOUND, cst_object_id_reference(id, &found, E)); /* a temporary ID */
    CHECK_INT(CST_NULL, found.type);
    OK(cst_release(id));
    OK(cst_release(fresh));
    OK(cst_context_rollback(c.context, E));
    end(&c);
}

struct requests {
    cst_status no_count, no_rows, no_room, incremental, bad_kind, no_row, bad_row;
};

static struct requests tried;

static cst_status trying_save(void *store, const cst_save_changes *changes, cst_row_sink *sink, cst_error **error) {
    cst_row row = {0};
    size_t count = 9;
    tried.no_count = cst_save_request_next(changes->request, 1, &row, NULL, NULL);
    tried.no_rows = cst_save_request_next(changes->request, 1, NULL, &count, NULL);
    CHECK_INT(0, count);
    tried.no_room = cst_save_request_next(changes->request, 0, &row, &count, NULL);
    tried.incremental = cst_save_request_next(changes->request, 1, &row, &count, NULL);
    tried.no_row = cst_save_request_add_conflict(changes->request, CST_CONFLICT_ROW_VERSION, NULL, NULL);
    if (changes->inserted_count) {
        row = changes->inserted[0];
        tried.bad_kind = cst_save_request_add_conflict(changes->request, 3, &row, NULL);
        row.reference = value_null();
        tried.bad_row = cst_save_request_add_conflict(changes->request, CST_CONFLICT_ROW_VERSION, &row, NULL);
    }
    return seen.inner.save(store, changes, sink, error);
}

static void save_request_functions_check_their_arguments(void) {
    cst_store_callbacks callbacks = noting(CST_STORE_INCREMENTAL);
    callbacks.save = trying_save;
    OK(cst_store_type_register(text("Keeper"), &callbacks, E));
    struct company c = {.model = company_model()};
    OK(cst_coordinator_new(c.model, &c.coordinator, E));
    company_resolve(&c);
    OK(cst_coordinator_add_store(c.coordinator, text("Keeper"), text("shelf"), NULL, &c.store, E));
    OK(cst_context_new(c.coordinator, CST_QUEUE_CALLER, &c.context, E));
    OK(cst_release(company_employee(&c, c.context, "Ada", 1)));
    OK(cst_context_save(c.context, E));
    CHECK_INT(CST_E_INVALID_ARGUMENT, tried.no_count);
    CHECK_INT(CST_E_INVALID_ARGUMENT, tried.no_rows);
    CHECK_INT(CST_E_INVALID_ARGUMENT, tried.no_room);
    CHECK_INT(CST_E_UNSUPPORTED, tried.incremental);
    CHECK_INT(CST_E_INVALID_ARGUMENT, tried.bad_kind);
    CHECK_INT(CST_E_INVALID_ARGUMENT, tried.no_row);
    CHECK_INT(CST_E_INVALID_ARGUMENT, tried.bad_row);
    end(&c);
}

static cst_error *unknown_conflict;

static cst_status reporting_unknown_conflict(void *store, const cst_save_changes *changes, cst_row_sink *sink,
                                             cst_error **error) {
    if (changes->inserted_count)
        tried.bad_kind = cst_save_request_add_conflict(changes->request, 0, &changes->inserted[0], &unknown_conflict);
    return seen.inner.save(store, changes, sink, error);
}

/* A rejected conflict is not a conflict: the save succeeds. */
static void conflict_of_an_unknown_kind_is_rejected(void) {
    cst_store_callbacks callbacks = noting(CST_STORE_INCREMENTAL);
    callbacks.save = reporting_unknown_conflict;
    unknown_conflict = NULL;
    OK(cst_store_type_register(text("Keeper"), &callbacks, E));
    struct company c = {.model = company_model()};
    OK(cst_coordinator_new(c.model, &c.coordinator, E));
    company_resolve(&c);
    OK(cst_coordinator_add_store(c.coordinator, text("Keeper"), text("shelf"), NULL, &c.store, E));
    OK(cst_context_new(c.coordinator, CST_QUEUE_CALLER, &c.context, E));
    OK(cst_release(company_employee(&c, c.context, "Ada", 1)));
    OK(cst_context_save(c.context, E));
    CHECK_INT(CST_E_INVALID_ARGUMENT, tried.bad_kind);
    cst_value value = value_null();
    CHECK_TEXT("kind", cst_error_key(unknown_conflict));
    CHECK_CONTAINS("CST_CONFLICT_ROW_VERSION", cst_error_message(unknown_conflict));
    CHECK_STATUS(CST_OK, cst_error_value(unknown_conflict, &value));
    CHECK(value.type == CST_INT && value.as.integer == 0);
    OK(cst_release(unknown_conflict));
    end(&c);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(incremental_stores_keep_saved_objects);
    RUN(object_ids_contain_store_references);
    RUN(rows_are_requested_in_batches);
    RUN(objects_detached_by_the_store_get_no_permanent_ids);
    RUN(stores_receive_their_metadata_and_options);
    RUN(invalid_store_types_are_refused);
    RUN(an_opening_contains_path_options_and_configuration);
    RUN(models_that_need_missing_abilities_are_refused);
    RUN(a_store_fetch_contains_the_parts_of_its_request);
    RUN(the_reported_work_of_a_store_fetch_is_checked);
    RUN(a_store_save_contains_values_versions_and_members);
    RUN(object_ids_are_created_from_references);
    RUN(save_request_functions_check_their_arguments);
    RUN(conflict_of_an_unknown_kind_is_rejected);
    RUN(store_failures_are_returned_as_errors);
    RUN(invalid_results_of_a_store_are_refused);
    RUN(conflicts_of_incremental_stores_are_resolved);
    RUN(incremental_stores_are_migrated);
    RUN(registration_notices_are_sent_in_batches);
    RUN(counts_are_requested_once_without_an_order);
    RUN(atomic_stores_keep_saved_objects);
    RUN(conflicts_of_atomic_stores_are_resolved);
    RUN(a_row_pushed_twice_is_counted_once);
    RUN(incremental_stores_report_conflicts);
    RUN(atomic_stores_report_conflicts);
    RUN(atomic_stores_are_migrated);
    RUN(atomic_stores_are_loaded_when_reopened);
    return check_end();
}
