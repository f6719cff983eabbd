/* Migration managers, and policies in C.
 *
 * SPDX-License-Identifier: MIT
 */
#include "garage.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* -------- a policy that notes its stages ------------------------------------------------------------------ */

struct notes {
    char stages[1024];
    int created, freed, destroyed;
    const char *failing; /* the stage that fails, or NULL */
    bool sets_error;
    /* Handles that the host retains against the rules. */
    cst_migration_manager *manager;
    cst_context *source_context, *context;
    cst_object *source, *destination;
};

struct instance {
    struct notes *notes;
    char mapping[64];
};

static struct instance instances[8];
static size_t instance_count;

static cst_status note(struct instance *instance, cst_migration_manager *manager, cst_string mapping, const char *stage,
                       cst_error **error) {
    struct notes *notes = instance->notes;
    CHECK_TEXT(instance->mapping, mapping);
    size_t size = strlen(notes->stages);
    snprintf(notes->stages + size, sizeof notes->stages - size, "%s ", stage);
    cst_buffer name = {NULL, 0, 0};
    CHECK_STATUS(CST_OK, cst_migration_manager_copy_current_mapping(manager, &name, E));
    CHECK_WORDS(instance->mapping, name.data);
    cst_buffer_dispose(&name);
    if (!notes->failing || strcmp(notes->failing, stage) != 0) return CST_OK;
    if (notes->sets_error) cst_error_new_custom(CST_TEXT("Garage"), 7, CST_TEXT("three wheels"), NULL, NULL, error);
    return CST_E_CALLBACK;
}

static cst_status create(void *userdata, cst_string mapping, void **out_instance, cst_error **error) {
    struct notes *notes = userdata;
    struct instance *instance = &instances[instance_count++ % 8];
    instance->notes = notes;
    snprintf(instance->mapping, sizeof instance->mapping, "%s", mapping.data);
    notes->created++;
    *out_instance = instance;
    if (!notes->failing || strcmp(notes->failing, "create") != 0) return CST_OK;
    return cst_error_new_custom(CST_TEXT("Garage"), 7, CST_TEXT("no wheels"), NULL, NULL, error), CST_E_CALLBACK;
}

static void free_instance(void *userdata, void *instance) {
    struct notes *notes = userdata;
    CHECK(((struct instance *)instance)->notes == notes);
    notes->freed++;
}

static cst_status begin(void *instance, cst_migration_manager *manager, cst_string mapping, cst_error **error) {
    return note(instance, manager, mapping, "begin", error);
}

static cst_status create_instances(void *instance, cst_migration_manager *manager, cst_string mapping,
                                   cst_object *source, cst_error **error) {
    cst_object *made = NULL, *found = NULL;
    cst_results *results = NULL;
    struct notes *notes = ((struct instance *)instance)->notes;
    const cst_status status = note(instance, manager, mapping, "create", error);
    if (status != CST_OK) return status;
    OK(cst_migration_manager_create_destination_instance(manager, mapping, source, &made, E));
    OK(cst_migration_manager_destination_instances(manager, mapping, 1, &source, &results, E));
    CHECK_INT(1, cst_results_count(results));
    OK(cst_results_get_object(results, 0, &found, E));
    CHECK(found == made);
    OK(cst_release(results));
    OK(cst_migration_manager_source_instances(manager, mapping, 1, &made, &results, E));
    CHECK_INT(1, cst_results_count(results));
    OK(cst_results_get_object(results, 0, &found, E));
    CHECK(found == source);
    OK(cst_release(results));
    if (!notes->manager) {
        OK(cst_migration_manager_source_context(manager, &notes->source_context, E));
        OK(cst_migration_manager_destination_context(manager, &notes->context, E));
        CHECK(cst_retain(notes->source_context) && cst_retain(notes->context));
        notes->manager = cst_retain(manager);
        notes->source = cst_retain(source);
        notes->destination = cst_retain(made);
        CHECK_STATUS(CST_UNCHANGED, cst_context_close(notes->source_context, CST_UNSAVED_REFUSE, E));
    }
    OK(cst_release(made));
    return CST_OK;
}

static cst_status end_creation(void *instance, cst_migration_manager *manager, cst_string mapping, cst_error **error) {
    cst_results *results = NULL;
    OK(cst_migration_manager_destination_instances(manager, mapping, 0, NULL, &results, E));
    CHECK_INT(2, cst_results_count(results));
    OK(cst_release(results));
    return note(instance, manager, mapping, "created", error);
}

static cst_status create_relationships(void *instance, cst_migration_manager *manager, cst_string mapping,
                                       cst_object *destination, cst_error **error) {
    const cst_status status = note(instance, manager, mapping, "relate", error);
    if (status != CST_OK) return status;
    return cst_migration_manager_create_relationships(manager, mapping, destination, error);
}

static cst_status end_relationships(void *instance, cst_migration_manager *manager, cst_string mapping,
                                    cst_error **error) {
    return note(instance, manager, mapping, "related", error);
}

static cst_status validate(void *instance, cst_migration_manager *manager, cst_string mapping, cst_error **error) {
    return note(instance, manager, mapping, "validate", error);
}

static cst_status end(void *instance, cst_migration_manager *manager, cst_string mapping, cst_error **error) {
    return note(instance, manager, mapping, "end", error);
}

static cst_status call_label(void *instance, cst_migration_manager *manager, cst_string selector, size_t count,
                             const cst_value *arguments, cst_value *out_value, cst_error **error) {
    static char words[64];
    (void)instance, (void)manager, (void)error;
    if (strcmp(selector.data, "labelFor:manager:mapping:") != 0) return CST_NOT_FOUND;
    CHECK_INT(3, count);
    CHECK(arguments[0].type == CST_STRING && arguments[1].type == CST_NULL);
    CHECK_TEXT("CarToCar", arguments[2].as.string);
    snprintf(words, sizeof words, "label of %s", arguments[0].as.string.data);
    *out_value = value_text(words);
    return CST_OK;
}

static void destroy_notes(void *userdata) { ((struct notes *)userdata)->destroyed++; }

static cst_migration_policy_callbacks policy_of(struct notes *notes) {
    cst_migration_policy_callbacks callbacks = CST_MIGRATION_POLICY_CALLBACKS_INIT;
    callbacks.create = create;
    callbacks.free_instance = free_instance;
    callbacks.begin = begin;
    callbacks.create_destination_instances = create_instances;
    callbacks.end_instance_creation = end_creation;
    callbacks.create_relationships = create_relationships;
    callbacks.end_relationship_creation = end_relationships;
    callbacks.perform_custom_validation = validate;
    callbacks.end = end;
    callbacks.call = call_label;
    callbacks.userdata = notes;
    callbacks.destroy = destroy_notes;
    return callbacks;
}

#define LABEL "FUNCTION($entityPolicy, \\\"labelFor:manager:mapping:\\\", $source.plate, $manager, $entityMapping)"

/* Adds a store, with one mapping model; the status of the call. */
static cst_status migrate(const char *path, const char *policy, const char *label, bool is_opened) {
    cst_model *old = model_of(old_text), *new = model_of(new_text);
    cst_mapping_model *mapping = mapping_of(old, new, policy, label);
    cst_store_options options = CST_STORE_OPTIONS_INIT;
    cst_coordinator *coordinator = NULL;
    cst_context *context = NULL;
    options.flags = CST_STORE_MIGRATE;
    options.mapping_model_count = 1;
    options.mapping_models = &mapping;
    const cst_status status = open_with(path, new, &options, &coordinator, &context);
    if (status == CST_OK) {
        CHECK(is_opened);
        OK(cst_release(context));
        OK(cst_release(coordinator));
    }
    OK(cst_release(mapping));
    OK(cst_release(old));
    OK(cst_release(new));
    return status;
}

static void stages_of_a_policy_run_in_order(void) {
    struct notes notes = {.stages = ""};
    bool is_registered = false;
    const cst_migration_policy_callbacks callbacks = policy_of(&notes);
    const char *path = check_path("cars.sqlite");
    fill_store(path);
    OK(cst_migration_policy_register(CST_TEXT("CarPolicy"), &callbacks, E));
    OK(cst_migration_policy_is_registered(CST_TEXT("CarPolicy"), &is_registered, E));
    CHECK(is_registered);
    OK(migrate(path, "Garage.CarPolicy", LABEL, true));
    CHECK_WORDS("begin create create created relate relate related validate end ", notes.stages);
    CHECK_INT(1, notes.created);
    CHECK_INT(1, notes.freed);
    CHECK_INT(0, notes.destroyed);
    OK(cst_migration_policy_unregister(CST_TEXT("CarPolicy"), E));
    CHECK_INT(1, notes.destroyed);
    CHECK_STATUS(CST_NOT_FOUND, cst_migration_policy_unregister(CST_TEXT("CarPolicy"), E));
    expect_cars(path, new_text, "label", "a=label of a,b=label of b,");
    expect_cars(path, new_text, "owner.name", "a=Ada,b=Ada,");

    /* The handles that the host retained. */
    cst_value value;
    cst_results *results = NULL;
    cst_context *context = NULL;
    cst_buffer name = {NULL, 0, 0};
    cst_mapping_model *mapping = NULL;
    double progress = 1;
    CHECK_STATUS(CST_E_OBJECT_GONE, cst_object_get_path(notes.source, CST_TEXT("plate"), &value, E));
    CHECK_STATUS(CST_E_OBJECT_GONE, cst_object_get_path(notes.destination, CST_TEXT("plate"), &value, E));
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_context_save(notes.context, E));
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_context_copy_changed(notes.source_context, 4, &results, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_migration_manager_source_context(notes.manager, &context, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_migration_manager_reset(notes.manager, E));
    CHECK_STATUS(CST_NOT_FOUND, cst_migration_manager_copy_current_mapping(notes.manager, &name, E));
    CHECK_STATUS(CST_NOT_FOUND, cst_migration_manager_mapping_model(notes.manager, &mapping, E));
    OK(cst_migration_manager_progress(notes.manager, &progress, E));
    CHECK_REAL(0, progress);
    OK(cst_release(notes.source));
    OK(cst_release(notes.destination));
    OK(cst_release(notes.source_context));
    OK(cst_release(notes.context));
    OK(cst_release(notes.manager));
}

static void a_stage_without_a_callback_has_the_default_behaviour(void) {
    for (int batch_safe = 0; batch_safe < 2; batch_safe++) {
        const char *path = check_path(batch_safe ? "safe.sqlite" : "cars.sqlite");
        cst_migration_policy_callbacks callbacks = CST_MIGRATION_POLICY_CALLBACKS_INIT;
        callbacks.batch_safe = batch_safe;
        fill_store(path);
        OK(cst_migration_policy_register(CST_TEXT("CarPolicy"), &callbacks, E));
        OK(migrate(path, "CarPolicy", "$source.plate", true));
        OK(cst_migration_policy_unregister(CST_TEXT("CarPolicy"), E));
        expect_cars(path, new_text, "label", "a=a,b=b,");
        expect_cars(path, new_text, "owner.name", "a=Ada,b=Ada,");
    }
}

static void a_failing_stage_fails_the_migration(void) {
    static const char *const stages[] = {"create", "begin", "created", "relate", "related", "validate", "end"};
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        for (int sets_error = 0; sets_error < 2; sets_error++) {
            struct notes notes = {.stages = "", .failing = stages[i], .sets_error = sets_error};
            cst_migration_policy_callbacks callbacks = policy_of(&notes);
            const char *path = check_path("cars.sqlite");
            unlink(path);
            fill_store(path);
            OK(cst_migration_policy_register(CST_TEXT("CarPolicy"), &callbacks, E));
            CHECK_STATUS(CST_E_MIGRATION, migrate(path, "CarPolicy", LABEL, false));
            const cst_error *error = check_error();
            CHECK_INT(CST_CODE_ENTITY_MIGRATION_POLICY, cst_error_code(error));
            CHECK_CONTAINS("of the migration policy \"CarPolicy\" failed in the entity mapping \"CarToCar\"",
                           cst_error_message(error));
            CHECK_INT(1, cst_error_detail_count(error));
            if (sets_error && strcmp(stages[i], "create") != 0) {
                CHECK_CONTAINS("three wheels", cst_error_message(error));
                const cst_error *cause = cst_error_detail_at(error, 0);
                CHECK_INT(CST_E_CALLBACK, cst_error_status(cause));
                CHECK_TEXT("Garage", cst_error_domain(cst_error_detail_at(cause, 0)));
            }
            OK(cst_migration_policy_unregister(CST_TEXT("CarPolicy"), E));
            CHECK_INT(notes.created, notes.freed + (strcmp(stages[i], "create") == 0));
            CHECK_INT(1, notes.destroyed);
            cst_release(notes.source);
            cst_release(notes.destination);
            cst_release(notes.source_context);
            cst_release(notes.context);
            cst_release(notes.manager);
            expect_cars(path, old_text, "owner.name", "a=Ada,b=Ada,");
        }
    }
}

static void errors_name_an_unregistered_policy(void) {
    const char *path = check_path("cars.sqlite");
    fill_store(path);
    CHECK_STATUS(CST_E_MIGRATION, migrate(path, "CarPolicy", "$source.plate", false));
    CHECK_INT(CST_CODE_ENTITY_MIGRATION_POLICY, cst_error_code(check_error()));
    CHECK_CONTAINS("\"CarPolicy\"", cst_error_message(check_error()));
    CHECK_STATUS(CST_E_MIGRATION, migrate(path, NULL, LABEL, false));
    CHECK_CONTAINS("does not have a policy of its own", cst_error_message(check_error()));
    struct notes notes = {.stages = ""};
    cst_migration_policy_callbacks callbacks = {.struct_size = sizeof callbacks, .call = call_label};
    callbacks.userdata = &notes;
    OK(cst_migration_policy_register(CST_TEXT("CarPolicy"), &callbacks, E));
    CHECK_STATUS(CST_E_MIGRATION,
                 migrate(path, "CarPolicy", "FUNCTION($entityPolicy, \\\"other:\\\", $source.plate)", false));
    CHECK_CONTAINS("does not have a function \"other:\"", cst_error_message(check_error()));
    OK(cst_migration_policy_unregister(CST_TEXT("CarPolicy"), E));
    expect_cars(path, old_text, "owner.name", "a=Ada,b=Ada,");
}

/* -------- objects of the policy's own ------------------------------------------------------------------- */

/* Creates the cars itself, and checks calls that are refused during the migration. */
static cst_status insert_car(void *userdata, cst_migration_manager *manager, cst_string mapping, cst_object *source,
                             cst_error **error) {
    cst_context *context = NULL;
    cst_model *model = NULL;
    cst_entity *car = NULL;
    cst_key plate = CST_NO_KEY;
    cst_object *made = NULL;
    cst_value value;
    cst_results *results = NULL;
    cst_mapping_model *mapping_model = NULL;
    (void)userdata, (void)error;
    OK(cst_migration_manager_destination_context(manager, &context, E));
    OK(cst_migration_manager_destination_model(manager, &model, E));
    OK(cst_migration_manager_mapping_model(manager, &mapping_model, E));
    OK(cst_release(mapping_model));
    OK(cst_model_entity(model, CST_TEXT("Car"), &car, E));
    OK(cst_entity_key(car, CST_TEXT("plate"), &plate, E));
    OK(cst_context_insert(context, car, &made, E));
    OK(cst_object_get_path(source, CST_TEXT("plate"), &value, E));
    OK(cst_object_set(made, plate, &value, E));
    OK(cst_migration_manager_associate(manager, mapping, source, made, E));

    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_migration_manager_associate(manager, mapping, made, source, E));
    CHECK_CONTAINS("source: Car x-coredata://", cst_error_message(check_error()));
    CHECK_CONTAINS(" is not in the source_context of the migration", cst_error_message(check_error()));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_migration_manager_create_relationships(manager, mapping, source, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                 cst_migration_manager_create_destination_instance(manager, mapping, made, NULL, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                 cst_migration_manager_destination_instances(manager, mapping, 1, &made, &results, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                 cst_migration_manager_source_instances(manager, mapping, 1, &source, &results, E));
    CHECK_STATUS(CST_E_MIGRATION, cst_migration_manager_associate(manager, CST_TEXT("CarToCat"), source, made, E));
    CHECK_CONTAINS("did you mean \"CarToCar\"?", cst_error_message(check_error()));
    OK(cst_release(made));
    return CST_OK;
}

static void a_policy_associates_its_own_objects(void) {
    const char *path = check_path("cars.sqlite");
    cst_migration_policy_callbacks callbacks = {.struct_size = sizeof callbacks,
                                                .create_destination_instances = insert_car};
    fill_store(path);
    OK(cst_migration_policy_register(CST_TEXT("CarPolicy"), &callbacks, E));
    OK(migrate(path, "CarPolicy", "$source.plate", true));
    OK(cst_migration_policy_unregister(CST_TEXT("CarPolicy"), E));
    expect_cars(path, new_text, "label", "a=nil,b=nil,");
    expect_cars(path, new_text, "owner.name", "a=Ada,b=Ada,");
}

/* -------- managers -------------------------------------------------------------------------------------- */

static cst_status twice(void *userdata, const cst_value *receiver, size_t count, const cst_value *arguments,
                        cst_value *out_value, cst_error **error) {
    static char words[64];
    CHECK_INT(2, count);
    CHECK(receiver->type == CST_NULL);
    ++*(int *)userdata;
    if (arguments[0].type != CST_STRING) {
        cst_error_new_custom(CST_TEXT("Garage"), 1, CST_TEXT("no plate"), NULL, NULL, error);
        return CST_E_CALLBACK;
    }
    snprintf(words, sizeof words, "%s%s%s", arguments[1].as.string.data, arguments[0].as.string.data,
             arguments[0].as.string.data);
    *out_value = value_text(words);
    return CST_OK;
}

static bool report_rows(void *userdata, uint64_t done, uint64_t total) {
    CHECK(done <= total);
    return ++*(int *)userdata != 2;
}

static bool report_all(void *userdata, uint64_t done, uint64_t total) {
    (void)done, (void)total;
    ++*(int *)userdata;
    return true;
}

static void count(void *userdata) { ++*(int *)userdata; }

static void a_manager_migrates_into_another_file(void) {
    const char *path = check_path("cars.sqlite"), *result = check_path("result.sqlite");
    cst_model *old = model_of(old_text), *new = model_of(new_text), *model = NULL;
    cst_mapping_model *mapping = mapping_of(
        old, new, NULL, "FUNCTION($manager, \\\"twice:prefix:\\\", $source.plate, $manager.userInfo.prefix)");
    cst_migration_manager *manager = NULL;
    int calls = 0, reports = 0, destroyed = 0;
    cst_value value = value_text("x");
    fill_store(path);
    OK(cst_migration_manager_new(old, new, &manager, E));
    OK(cst_migration_manager_source_model(manager, &model, E));
    CHECK(model == old);
    OK(cst_migration_manager_destination_model(manager, &model, E));
    CHECK(model == new);
    OK(cst_migration_manager_set_user_info(manager, CST_TEXT("prefix"), &value, E));
    OK(cst_migration_manager_copy_user_info(manager, none, &value, E));
    CHECK(value.type == CST_DICTIONARY && value.as.values.size == 2);
    cst_value_dispose(&value);
    CHECK_STATUS(CST_NOT_FOUND, cst_migration_manager_copy_user_info(manager, CST_TEXT("other"), &value, E));
    OK(cst_migration_manager_set_function(manager, CST_TEXT("twice:prefix:"), twice, &calls, NULL, E));
    OK(cst_migration_manager_set_report(manager, report_all, &reports, NULL, E));
    OK(cst_migration_manager_migrate_store(manager, none, text(path), NULL, mapping, none, text(result), NULL, E));
    CHECK_INT(2, calls);
    CHECK(reports > 1);
    expect_cars(result, new_text, "label", "a=xaa,b=xbb,");
    expect_cars(path, old_text, "owner.name", "a=Ada,b=Ada,");

    /* A function that fails or is missing; a report that cancels. The new file is removed. */
    OK(cst_migration_manager_set_user_info(manager, CST_TEXT("prefix"), NULL, E));
    const char *failed = check_path("failed.sqlite");
    OK(cst_migration_manager_set_function(manager, CST_TEXT("twice:prefix:"), NULL, NULL, NULL, E));
    CHECK_STATUS(CST_E_MIGRATION, cst_migration_manager_migrate_store(manager, none, text(path), NULL, mapping, none,
                                                                      text(failed), NULL, E));
    CHECK_CONTAINS("twice:prefix:", cst_error_message(check_error()));
    CHECK(access(failed, F_OK) != 0);
    OK(cst_migration_manager_set_function(manager, CST_TEXT("twice:prefix:"), twice, &calls, NULL, E));
    reports = 0;
    OK(cst_migration_manager_set_report(manager, report_rows, &reports, NULL, E));
    CHECK_STATUS(CST_E_CANCELLED, cst_migration_manager_migrate_store(manager, none, text(path), NULL, mapping, none,
                                                                      text(failed), NULL, E));
    CHECK_INT(CST_CODE_MIGRATION_CANCELLED, cst_error_code(check_error()));
    CHECK(access(failed, F_OK) != 0);
    OK(cst_migration_manager_set_report(manager, report_all, &destroyed, count, E));
    destroyed = 0;
    OK(cst_migration_manager_set_report(manager, NULL, NULL, NULL, E));
    CHECK_INT(1, destroyed);
    CHECK_STATUS(CST_E_STORE_IO, cst_migration_manager_migrate_store(manager, none, text(check_path("none.sqlite")),
                                                                     NULL, mapping, none, text(failed), NULL, E));
    CHECK_INT(CST_CODE_MIGRATION_MANAGER_SOURCE_STORE, cst_error_code(check_error()));
    OK(cst_release(manager));
    OK(cst_release(mapping));
    OK(cst_release(old));
    OK(cst_release(new));
}

/* -------- cancelling, and other threads ------------------------------------------------------------------- */

struct elsewhere {
    cst_migration_manager *manager;
    bool cancels;
    cst_status status;
};

static void *use_elsewhere(void *argument) {
    struct elsewhere *job = argument;
    double progress = 0;
    cst_context *context = NULL;
    cst_value value;
    CHECK_STATUS(CST_OK, cst_migration_manager_progress(job->manager, &progress, E));
    CHECK(progress >= 0 && progress <= 1);
    CHECK_STATUS(CST_E_WRONG_THREAD, cst_migration_manager_destination_context(job->manager, &context, E));
    CHECK_CONTAINS("used a migration manager that runs a migration on", cst_error_message(check_error()));
    CHECK_STATUS(CST_E_WRONG_THREAD, cst_migration_manager_copy_user_info(job->manager, text("a"), &value, E));
    CHECK_STATUS(CST_E_WRONG_THREAD, cst_migration_manager_set_function(job->manager, text("f"), NULL, NULL, NULL, E));
    cst_release(check_error());
    *check_slot() = NULL;
    if (!job->cancels) return NULL;
    cst_error *reason = NULL;
    CHECK_STATUS(CST_OK, cst_error_new_custom(text("Garage"), 3, text("no time"), NULL, NULL, &reason));
    job->status = cst_migration_manager_cancel(job->manager, reason, NULL);
    cst_release(reason);
    return NULL;
}

static cst_status begin_elsewhere(void *instance, cst_migration_manager *manager, cst_string mapping,
                                  cst_error **error) {
    struct elsewhere *job = instance;
    pthread_t thread;
    (void)mapping, (void)error;
    job->manager = manager;
    CHECK_INT(0, pthread_create(&thread, NULL, use_elsewhere, job));
    CHECK_INT(0, pthread_join(thread, NULL));
    cst_mapping_model *mapping_model = NULL;
    OK(cst_migration_manager_mapping_model(manager, &mapping_model, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                 cst_migration_manager_migrate_store(manager, none, text(check_path("other.sqlite")), NULL,
                                                     mapping_model, none, text(check_path("nested.sqlite")), NULL, E));
    CHECK_CONTAINS("runs a migration already", cst_error_message(check_error()));
    CHECK(access(check_path("nested.sqlite"), F_OK) != 0);
    OK(cst_release(mapping_model));
    check_slot(); /* empty again, for the call that migrates */
    return CST_OK;
}

static void another_thread_can_only_cancel_a_migration(void) {
    for (int cancels = 0; cancels < 2; cancels++) {
        struct elsewhere job = {NULL, cancels, CST_OK};
        const char *path = check_path(cancels ? "cancelled.sqlite" : "cars.sqlite");
        cst_migration_policy_callbacks callbacks = {.struct_size = sizeof callbacks, .begin = begin_elsewhere};
        callbacks.userdata = &job;
        fill_store(path);
        if (!cancels) fill_store(check_path("other.sqlite"));
        OK(cst_migration_policy_register(CST_TEXT("CarPolicy"), &callbacks, E));
        CHECK_STATUS(cancels ? CST_E_CALLBACK : CST_OK, migrate(path, "CarPolicy", "$source.plate", !cancels));
        if (cancels) {
            CHECK_TEXT("no time", cst_error_message(check_error()));
            CHECK_INT(3, cst_error_code(check_error()));
            expect_cars(path, old_text, "owner.name", "a=Ada,b=Ada,");
        }
        CHECK_INT(CST_OK, job.status);
        OK(cst_migration_policy_unregister(CST_TEXT("CarPolicy"), E));
    }
}

/* The handle of the manager, which the host releases in a callback of its migration. */
static cst_migration_manager *own_manager;

static cst_status release_manager(void *instance, cst_migration_manager *manager, cst_string mapping,
                                  cst_error **error) {
    cst_value five = value_int(5);
    (void)instance, (void)mapping, (void)error;
    if (own_manager) {
        CHECK(manager == own_manager);
        CHECK_STATUS(CST_OK, cst_release(own_manager));
        own_manager = NULL;
    }
    /* It stays valid while the migration runs, although the host has no reference any more. */
    CHECK_STATUS(CST_OK, cst_migration_manager_set_user_info(manager, CST_TEXT("five"), &five, E));
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_release(manager));
    return CST_OK;
}

static void a_manager_released_in_a_callback_completes_its_migration(void) {
    const char *path = check_path("cars.sqlite"), *result = check_path("result.sqlite");
    cst_model *old = model_of(old_text), *new = model_of(new_text);
    cst_mapping_model *mapping = mapping_of(old, new, "CarPolicy", "$source.plate");
    cst_migration_policy_callbacks callbacks = {
        .struct_size = sizeof callbacks, .begin = release_manager, .end = release_manager};
    fill_store(path);
    OK(cst_migration_policy_register(CST_TEXT("CarPolicy"), &callbacks, E));
    OK(cst_migration_manager_new(old, new, &own_manager, E));
    OK(cst_migration_manager_migrate_store(own_manager, none, text(path), NULL, mapping, none, text(result), NULL, E));
    CHECK(own_manager == NULL);
    OK(cst_migration_policy_unregister(CST_TEXT("CarPolicy"), E));
    OK(cst_release(mapping));
    OK(cst_release(old));
    OK(cst_release(new));
    expect_cars(result, new_text, "label", "a=a,b=b,");
}

/* -------- options of a store ------------------------------------------------------------------------------ */

static cst_status set_prefix(void *userdata, cst_migration_manager *manager, cst_error **error) {
    const cst_value prefix = value_text("p");
    ++*(int *)userdata;
    if (*(int *)userdata == 2) {
        cst_error_new_custom(CST_TEXT("Garage"), 2, CST_TEXT("not today"), NULL, NULL, error);
        return CST_E_CALLBACK;
    }
    return cst_migration_manager_set_user_info(manager, CST_TEXT("prefix"), &prefix, error);
}

static void manager_will_start_prepares_the_manager(void) {
    cst_model *old = model_of(old_text), *new = model_of(new_text);
    cst_mapping_model *mapping = mapping_of(old, new, NULL, "$manager.userInfo.prefix");
    for (int round = 0; round < 2; round++) {
        int calls = round;
        const char *path = check_path(round ? "refused.sqlite" : "cars.sqlite");
        cst_store_options options = CST_STORE_OPTIONS_INIT;
        cst_coordinator *coordinator = NULL;
        cst_context *context = NULL;
        fill_store(path);
        options.flags = CST_STORE_MIGRATE;
        options.mapping_model_count = 1;
        options.mapping_models = &mapping;
        options.manager_will_start = set_prefix;
        options.manager_will_start_userdata = &calls;
        CHECK_STATUS(round ? CST_E_MIGRATION : CST_OK, open_with(path, new, &options, &coordinator, &context));
        if (round) {
            CHECK_CONTAINS("not today", cst_error_message(check_error()));
            expect_cars(path, old_text, "plate", "a=a,b=b,");
            continue;
        }
        CHECK_WORDS("a=p,b=p,", cars(context, "label"));
        OK(cst_release(context));
        OK(cst_release(coordinator));
    }
    OK(cst_release(mapping));
    OK(cst_release(old));
    OK(cst_release(new));
}

/* -------- misuse ------------------------------------------------------------------------------------------- */

static void invalid_policies_are_refused(void) {
    int destroyed = 0;
    bool is_registered = true;
    cst_migration_policy_callbacks callbacks = CST_MIGRATION_POLICY_CALLBACKS_INIT;
    callbacks.userdata = &destroyed;
    callbacks.destroy = count;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_migration_policy_register(CST_TEXT("P"), NULL, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_migration_policy_register(none, &callbacks, E));
    CHECK_INT(1, destroyed);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_migration_policy_register(CST_TEXT(""), &callbacks, E));
    CHECK_INT(2, destroyed);
    callbacks.struct_size = 4;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_migration_policy_register(CST_TEXT("P"), &callbacks, E));
    CHECK_CONTAINS("CST_MIGRATION_POLICY_CALLBACKS_INIT", cst_error_message(check_error()));
    OK(cst_migration_policy_is_registered(CST_TEXT("P"), &is_registered, E));
    CHECK(!is_registered);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_migration_policy_is_registered(CST_TEXT("P"), NULL, E));
    /* A struct of an older header, and one of a newer header with unknown members set. */
    struct {
        cst_migration_policy_callbacks known;
        void *more;
    } newer = {CST_MIGRATION_POLICY_CALLBACKS_INIT, &newer};
    newer.known.struct_size = sizeof newer;
    CHECK_STATUS(CST_E_UNSUPPORTED, cst_migration_policy_register(CST_TEXT("P"), &newer.known, E));
    newer.known.struct_size = offsetof(cst_migration_policy_callbacks, end);
    OK(cst_migration_policy_register(CST_TEXT("P"), &newer.known, E));
    OK(cst_migration_policy_unregister(CST_TEXT("P"), E));
}

static void errors_name_the_parameter_with_the_invalid_store_options(void) {
    cst_model *model = model_of(new_text);
    cst_migration_manager *manager = NULL;
    cst_mapping_model *mapping = mapping_of(model, model, NULL, "$source.plate");
    cst_store_options options = CST_STORE_OPTIONS_INIT;
    const cst_string names[] = {CST_TEXT("options"), CST_TEXT("options")}, undecodable = text("\xff");
    const cst_value values[] = {value_int(1), value_int(2)};
    cst_history_retention keep = CST_HISTORY_RETENTION_INIT;
    OK(cst_migration_manager_new(model, model, &manager, E));
    options.flags = 1u << 30;
    CHECK_STATUS(CST_E_UNSUPPORTED, cst_migration_manager_migrate_store(manager, none, text("a"), &options, mapping,
                                                                        none, text("b"), NULL, E));
    CHECK_CONTAINS("source_options.flags is 0x40000000", cst_error_message(check_error()));
    CHECK_TEXT("flags", cst_error_key(check_error()));
    options.flags = 0;
    options.host_option_count = 2;
    options.host_option_names = names;
    options.host_option_values = values;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_migration_manager_migrate_store(manager, none, text("a"), &options,
                                                                             mapping, none, text("b"), NULL, E));
    CHECK_CONTAINS("source_options.host_option_names contains \"options\" twice", cst_error_message(check_error()));
    CHECK_TEXT("options", cst_error_key(check_error()));
    options.host_option_count = 0;
    options.configuration = undecodable;
    CHECK_STATUS(CST_E_INVALID_UTF8, cst_migration_manager_migrate_store(manager, none, text("a"), &options, mapping,
                                                                         none, text("b"), NULL, E));
    CHECK_CONTAINS("source_options.configuration is not", cst_error_message(check_error()));
    CHECK_TEXT("source_options.configuration", cst_error_key(check_error()));
    options.configuration = none;
    options.model_path_count = 1;
    options.model_paths = &undecodable;
    CHECK_STATUS(CST_E_INVALID_UTF8, cst_migration_manager_migrate_store(manager, none, text("a"), &options, mapping,
                                                                         none, text("b"), NULL, E));
    CHECK_CONTAINS("source_options.model_paths[0]: ", cst_error_message(check_error()));
    CHECK_TEXT("source_options.model_paths", cst_error_key(check_error()));
    options.model_path_count = 0;
    keep.struct_size = 3;
    options.history_retention = &keep;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_migration_manager_migrate_store(manager, none, text("a"), &options,
                                                                             mapping, none, text("b"), NULL, E));
    CHECK_CONTAINS("source_options.history_retention.struct_size is 3", cst_error_message(check_error()));
    OK(cst_release(manager));
    OK(cst_release(mapping));
    OK(cst_release(model));
}

static void stale_and_mistyped_handles_are_refused(void) {
    cst_model *model = model_of(new_text);
    cst_migration_manager *manager = NULL;
    cst_migration_stages *stages = NULL;
    cst_model_reference *reference = NULL;
    cst_mapping_model *mapping = mapping_of(model, model, NULL, "$source.plate");
    cst_store_options options = CST_STORE_OPTIONS_INIT;
    cst_coordinator *coordinator = NULL;
    double progress = 0;
    OK(cst_migration_manager_new(model, model, &manager, E));
    OK(cst_migration_stages_new(&stages, E));
    OK(cst_model_reference_new(model, none, &reference, E));
    cst_migration_manager *other = manager;
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_migration_manager_new(NULL, model, &other, E));
    CHECK(other == NULL);
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_migration_manager_cancel((cst_migration_manager *)(void *)stages, NULL, E));
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_migration_manager_cancel(manager, (const cst_error *)(void *)stages, E));
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_migration_stages_validate((cst_migration_stages *)(void *)manager, E));
    CHECK_STATUS(CST_E_INVALID_HANDLE,
                 cst_migration_manager_migrate_store(manager, none, text("a"), NULL, (cst_mapping_model *)(void *)model,
                                                     none, text("b"), NULL, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                 cst_migration_manager_migrate_store(manager, none, none, NULL, mapping, none, text("b"), NULL, E));
    CHECK_STATUS(CST_E_INVALID_HANDLE,
                 cst_migration_stages_add_custom(stages, NULL, reference, none, NULL, NULL, NULL, NULL, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                 cst_migration_stages_add_transformation(stages, reference, reference, none, NULL, NULL, NULL, E));

    /* Among the options of a store. */
    OK(cst_coordinator_new(model, &coordinator, E));
    const cst_string path = text(check_path("new.sqlite"));
    options.mapping_model_count = 1;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_coordinator_add_store(coordinator, none, path, &options, NULL, E));
    options.mapping_models = (cst_mapping_model *const *)(void *)&manager;
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_coordinator_add_store(coordinator, none, path, &options, NULL, E));
    options.mapping_model_count = 0;
    options.stages = (const cst_migration_stages *)(void *)mapping;
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_coordinator_add_store(coordinator, none, path, &options, NULL, E));
    options.stages = stages;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_coordinator_add_store(coordinator, none, path, &options, NULL, E));
    const cst_string checksum = CST_TEXT("any");
    OK(cst_migration_stages_add_lightweight(stages, 1, &checksum, none, E));
    options.mapping_models = &mapping;
    options.mapping_model_count = 1;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_coordinator_add_store(coordinator, none, path, &options, NULL, E));
    CHECK_CONTAINS("both stages and mapping_models", cst_error_message(check_error()));
    CHECK(access(path.data, F_OK) != 0);

    OK(cst_release(coordinator));
    OK(cst_release(manager));
    OK(cst_release(stages));
    OK(cst_release(reference));
    OK(cst_release(mapping));
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_migration_manager_progress(manager, &progress, E));
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_migration_stages_validate(stages, E));
    cst_model *found = model;
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_model_reference_resolve(reference, &found, E));
    CHECK(found == NULL);
    OK(cst_release(model));
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(stages_of_a_policy_run_in_order);
    RUN(a_stage_without_a_callback_has_the_default_behaviour);
    RUN(a_failing_stage_fails_the_migration);
    RUN(errors_name_an_unregistered_policy);
    RUN(a_policy_associates_its_own_objects);
    RUN(a_manager_migrates_into_another_file);
    RUN(another_thread_can_only_cancel_a_migration);
    RUN(a_manager_released_in_a_callback_completes_its_migration);
    RUN(manager_will_start_prepares_the_manager);
    RUN(invalid_policies_are_refused);
    RUN(errors_name_the_parameter_with_the_invalid_store_options);
    RUN(stale_and_mistyped_handles_are_refused);
    return check_end();
}
