/* Migrates a store with the policy of test_same_policy.py, in C, and prints its content.
 *
 * usage: same_policy STORE OLD_MODEL NEW_MODEL MAPPING
 *
 * The last three are JSON.
 * SPDX-License-Identifier: MIT
 */
#include <corestone.h>
#include <corestone/example.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static cst_status set_attribute(cst_object *object, const char *name, const cst_value *value, cst_error **error) {
    return cst_object_set_path(object, cst_string_from(name), value, error);
}

/* The continent with the code among the objects that were created before, or a new one; owned by the caller. */
static cst_status find_or_insert(cst_context *context, cst_model *model, const cst_value *code, cst_object **out,
                                 cst_error **error) {
    cst_results *known = NULL;
    cst_entity *continent = NULL;
    cst_status status = cst_model_entity(model, CST_TEXT("Continent"), &continent, error);
    if (status == CST_OK) status = cst_context_copy_changed(context, CST_CHANGED_REGISTERED, &known, error);
    for (size_t i = 0; status == CST_OK && !*out && i < cst_results_count(known); i++) {
        cst_object *object = NULL;
        cst_entity *entity = NULL;
        cst_value value;
        status = cst_results_get_object(known, i, &object, error);
        if (status == CST_OK) status = cst_object_entity(object, &entity, error);
        if (status != CST_OK || entity != continent) continue;
        status = cst_object_get_path(object, CST_TEXT("numericISO3166Code"), &value, error);
        if (status == CST_OK && value.as.integer == code->as.integer) *out = cst_retain(object);
    }
    cst_release(known);
    if (status != CST_OK || *out) return status;
    status = cst_context_insert(context, continent, out, error);
    return status == CST_OK ? set_attribute(*out, "numericISO3166Code", code, error) : status;
}

static cst_status create_country(void *instance, cst_migration_manager *manager, cst_string mapping, cst_object *source,
                                 cst_error **error) {
    cst_context *context = NULL;
    cst_model *model = NULL;
    cst_object *country = NULL, *continent = NULL;
    cst_value code, target;
    (void)instance;
    cst_status status = cst_migration_manager_create_destination_instance(manager, mapping, source, &country, error);
    if (status == CST_OK) status = cst_migration_manager_destination_context(manager, &context, error);
    if (status == CST_OK) status = cst_migration_manager_destination_model(manager, &model, error);
    if (status == CST_OK) status = cst_object_get_path(source, CST_TEXT("isoContinent"), &code, error);
    if (status == CST_OK) status = find_or_insert(context, model, &code, &continent, error);
    if (status == CST_OK) {
        target = cst_value_object(continent);
        status = set_attribute(country, "continent", &target, error);
    }
    cst_release(continent);
    cst_release(country);
    return status;
}

/* The other side is set already. */
static cst_status no_relationships(void *instance, cst_migration_manager *manager, cst_string mapping,
                                   cst_object *destination, cst_error **error) {
    (void)instance, (void)manager, (void)mapping, (void)destination, (void)error;
    return CST_OK;
}

static cst_status print_entity(cst_context *context, cst_model *model, const char *name, cst_error **error) {
    cst_entity *entity = NULL;
    cst_fetch_request *request = NULL;
    cst_results *results = NULL;
    const bool is_country = strcmp(name, "Country") == 0;
    const char *key = is_country ? "name" : "numericISO3166Code";
    const cst_sort sort = {.key_path = cst_string_from(key)};
    cst_status status = cst_model_entity(model, cst_string_from(name), &entity, error);
    if (status == CST_OK) status = cst_fetch_request_new(entity, &request, error);
    if (status == CST_OK) status = cst_fetch_request_set_sort(request, 1, &sort, error);
    if (status == CST_OK) status = cst_context_fetch(context, request, &results, error);
    for (size_t i = 0; status == CST_OK && i < cst_results_count(results); i++) {
        cst_object *object = NULL;
        cst_value label = cst_value_null(), code;
        status = cst_results_get_object(results, i, &object, error);
        if (status == CST_OK && is_country) status = cst_object_get_path(object, CST_TEXT("name"), &label, error);
        const char *path = is_country ? "continent.numericISO3166Code" : "numericISO3166Code";
        if (status == CST_OK) status = cst_object_get_path(object, cst_string_from(path), &code, error);
        if (status != CST_OK) break;
        if (is_country)
            printf("%s %s %" PRId64 "\n", name, label.as.string.data, code.as.integer);
        else
            printf("%s %" PRId64 "\n", name, code.as.integer);
    }
    cst_release(results);
    cst_release(request);
    return status;
}

int main(int argc, char **argv) {
    int result = 1;
    cst_model *old_model = NULL, *new_model = NULL;
    cst_mapping_model *mapping = NULL;
    cst_coordinator *coordinator = NULL;
    cst_context *context = NULL;
    cst_error *error = NULL;
    cst_migration_policy_callbacks policy = CST_MIGRATION_POLICY_CALLBACKS_INIT;
    cst_store_options options = CST_STORE_OPTIONS_INIT;
    if (argc != 5) {
        fprintf(stderr, "usage: same_policy STORE OLD_MODEL NEW_MODEL MAPPING\n");
        return 2;
    }
    policy.create_destination_instances = create_country;
    policy.create_relationships = no_relationships;
    CST_TRY(cst_migration_policy_register(CST_TEXT("Country5ToCountry6Policy"), &policy, &error));
    CST_TRY(cst_model_new_from_text(cst_string_from(argv[2]), &old_model, &error));
    CST_TRY(cst_model_new_from_text(cst_string_from(argv[3]), &new_model, &error));
    CST_TRY(cst_mapping_model_new_from_json(cst_string_from(argv[4]), old_model, new_model, &mapping, &error));
    options.flags = CST_STORE_MIGRATE;
    options.mapping_model_count = 1;
    options.mapping_models = &mapping;
    CST_TRY(cst_coordinator_new(new_model, &coordinator, &error));
    CST_TRY(cst_coordinator_add_store(coordinator, (cst_string){NULL, 0}, cst_string_from(argv[1]), &options, NULL,
                                      &error));
    CST_TRY(cst_context_new(coordinator, CST_QUEUE_CALLER, &context, &error));
    CST_TRY(print_entity(context, new_model, "Continent", &error));
    CST_TRY(print_entity(context, new_model, "Country", &error));
    result = 0;
failed:
    cst_release(context);
    cst_release(coordinator);
    cst_release(mapping);
    cst_release(new_model);
    cst_release(old_model);
    cst_migration_policy_unregister(CST_TEXT("Country5ToCountry6Policy"), NULL);
    return result;
}
