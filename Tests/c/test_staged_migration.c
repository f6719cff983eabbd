/* Staged migrations: references to models, stages, and their handlers.
 *
 * SPDX-License-Identifier: MIT
 */
#include "garage.h"

#include <stdio.h>
#include <string.h>

static void count(void *userdata) { ++*(int *)userdata; }

/* -------- stages --------------------------------------------------------------------------------------------- */

static cst_model_reference *reference_to(cst_model *model) {
    cst_model_reference *reference = NULL;
    OK(cst_model_reference_new(model, none, &reference, E));
    return reference;
}

static char order[128];

static cst_status will_migrate(void *userdata, cst_context *context, cst_error **error) {
    (void)error;
    snprintf(order + strlen(order), sizeof order - strlen(order), "will %s ", cars(context, "plate"));
    ++*(int *)userdata;
    return CST_OK;
}

static cst_context *kept_context;

static cst_status did_migrate(void *userdata, cst_context *context, cst_error **error) {
    cst_coordinator *coordinator = NULL;
    cst_model *model = NULL;
    cst_entity *car = NULL;
    cst_key label = CST_NO_KEY;
    cst_object *object = NULL;
    snprintf(order + strlen(order), sizeof order - strlen(order), "did ");
    if (++*(int *)userdata == 4) {
        cst_error_new_custom(CST_TEXT("Garage"), 5, CST_TEXT("no labels"), NULL, NULL, error);
        return CST_E_CALLBACK;
    }
    OK(cst_context_coordinator(context, &coordinator, E));
    OK(cst_coordinator_model(coordinator, &model, E));
    OK(cst_model_entity(model, CST_TEXT("Car"), &car, E));
    OK(cst_entity_key(car, CST_TEXT("label"), &label, E));
    cst_results *results = company_fetch(context, car, NULL, NULL);
    for (size_t i = 0; i < cst_results_count(results); i++) {
        const cst_value value = value_text("l");
        OK(cst_results_get_object(results, i, &object, E));
        OK(cst_object_set(object, label, &value, E));
    }
    OK(cst_release(results));
    if (!kept_context) kept_context = cst_retain(context);
    return CST_OK;
}

static void stages_migrate_through_every_version(void) {
    cst_model *models[] = {model_of(old_text), model_of(new_text), model_of(last_text)};
    cst_model_reference *references[] = {reference_to(models[0]), reference_to(models[1])};
    cst_migration_stages *stages = NULL;
    cst_buffer checksum = {NULL, 0, 0}, plan = {NULL, 0, 0};
    cst_store_options options = CST_STORE_OPTIONS_INIT;
    cst_coordinator *coordinator = NULL;
    cst_context *context = NULL;
    int calls = 0, destroyed = 0;
    order[0] = 0;
    kept_context = NULL;
    OK(cst_migration_stages_new(&stages, E));
    OK(cst_migration_stages_add_custom(stages, references[0], references[1], CST_TEXT("labels"), will_migrate,
                                       did_migrate, &calls, NULL, E));
    OK(cst_model_copy_checksum(models[2], &checksum, E));
    const cst_string checksums[] = {{checksum.data, checksum.size}};
    OK(cst_migration_stages_add_lightweight(stages, 1, checksums, none, E));
    OK(cst_migration_stages_validate(stages, E));
    options.flags = CST_STORE_MIGRATE | CST_STORE_INFER_MAPPING;
    options.stages = stages;
    const char *path = check_path("cars.sqlite");
    fill_store(path);
    OK(cst_store_copy_migration_plan(text(path), models[2], &options, &plan, E));
    CHECK(strstr(plan.data, "call the handler will_migrate (willMigrate) of the stage \\\"labels\\\"") != NULL);
    CHECK_INT(0, calls);
    cst_buffer_dispose(&plan);
    OK(open_with(path, models[2], &options, &coordinator, &context));
    CHECK_WORDS("will a=a,b=b, did ", order);
    CHECK_WORDS("a=l,b=l,", cars(context, "label"));
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_context_save(kept_context, E));
    OK(cst_release(kept_context));
    OK(cst_release(context));
    OK(cst_release(coordinator));

    /* The second time, a handler fails. */
    path = check_path("refused.sqlite");
    fill_store(path);
    CHECK_STATUS(CST_E_MIGRATION, open_with(path, models[2], &options, &coordinator, &context));
    CHECK_CONTAINS("no labels", cst_error_message(check_error()));
    CHECK_CONTAINS("the stage \"labels\"", cst_error_message(check_error()));
    expect_cars(path, old_text, "owner.name", "a=Ada,b=Ada,");

    /* Invalid stages. */
    OK(cst_migration_stages_add_custom(stages, references[1], references[1], none, NULL, NULL, &destroyed, count, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_migration_stages_validate(stages, E));
    CHECK_CONTAINS("must differ", cst_error_message(check_error()));
    OK(cst_release(stages));
    CHECK_INT(1, destroyed);
    OK(cst_migration_stages_new(&stages, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_migration_stages_validate(stages, E));
    OK(cst_migration_stages_add_lightweight(stages, 1, checksums, none, E));
    OK(cst_migration_stages_add_lightweight(stages, 1, checksums, none, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_migration_stages_validate(stages, E));
    CHECK_CONTAINS("both lead to the version", cst_error_message(check_error()));
    OK(cst_release(stages));
    cst_buffer_dispose(&checksum);
    for (int i = 0; i < 2; i++)
        OK(cst_release(references[i]));
    for (int i = 0; i < 3; i++)
        OK(cst_release(models[i]));
}

static cst_status transform(void *userdata, cst_context *old_context, cst_context *new_context, cst_error **error) {
    cst_coordinator *coordinator = NULL;
    cst_model *model = NULL;
    cst_entity *car = NULL;
    cst_key plate = CST_NO_KEY;
    cst_object *made = NULL;
    (void)error;
    ++*(int *)userdata;
    CHECK_WORDS("a=a,b=b,", cars(old_context, "plate"));
    OK(cst_context_coordinator(new_context, &coordinator, E));
    OK(cst_coordinator_model(coordinator, &model, E));
    OK(cst_model_entity(model, CST_TEXT("Car"), &car, E));
    OK(cst_entity_key(car, CST_TEXT("plate"), &plate, E));
    OK(cst_context_insert(new_context, car, &made, E));
    set(made, plate, value_text("only"));
    OK(cst_release(made));
    return CST_OK;
}

static void a_transformation_fills_the_new_store(void) {
    cst_model *models[] = {model_of(old_text), model_of(new_text)};
    cst_model_reference *references[] = {reference_to(models[0]), reference_to(models[1])};
    cst_migration_stages *stages = NULL;
    cst_store_options options = CST_STORE_OPTIONS_INIT;
    cst_coordinator *coordinator = NULL;
    cst_context *context = NULL;
    int calls = 0;
    const char *path = check_path("cars.sqlite");
    fill_store(path);
    OK(cst_migration_stages_new(&stages, E));
    OK(cst_migration_stages_add_transformation(stages, references[0], references[1], CST_TEXT("all"), transform, &calls,
                                               NULL, E));
    options.flags = CST_STORE_MIGRATE | CST_STORE_INFER_MAPPING;
    options.stages = stages;
    OK(open_with(path, models[1], &options, &coordinator, &context));
    CHECK_INT(1, calls);
    CHECK_WORDS("only=only,", cars(context, "plate"));
    OK(cst_release(context));
    OK(cst_release(coordinator));
    OK(cst_release(stages));
    for (int i = 0; i < 2; i++) {
        OK(cst_release(references[i]));
        OK(cst_release(models[i]));
    }
}

/* A mapping model between two versions; stages from a file, and invalid files. */
static void a_mapping_model_can_be_a_stage(void) {
    cst_model *models[] = {model_of(old_text), model_of(new_text)};
    cst_model_reference *references[] = {reference_to(models[0]), reference_to(models[1])};
    cst_mapping_model *mapping = mapping_of(models[0], models[1], NULL, "\\\"mapped\\\"");
    cst_migration_stages *stages = NULL;
    cst_store_options options = CST_STORE_OPTIONS_INIT;
    cst_coordinator *coordinator = NULL;
    cst_context *context = NULL;
    cst_buffer label = {NULL, 0, 0};
    const char *path = check_path("cars.sqlite");
    fill_store(path);
    OK(cst_migration_stages_new(&stages, E));
    CHECK_INT(0, cst_migration_stages_count(stages));
    OK(cst_migration_stages_add_mapping(stages, references[0], references[1], CST_TEXT("labels"), mapping, E));
    CHECK_INT(1, cst_migration_stages_count(stages));
    OK(cst_migration_stages_copy_label(stages, 0, &label, E));
    CHECK_WORDS("labels", label.data);
    CHECK_STATUS(CST_END, cst_migration_stages_copy_label(stages, 1, &label, E));
    CHECK_STATUS(CST_E_INVALID_HANDLE,
                 cst_migration_stages_add_mapping(stages, references[0], references[1], none, NULL, E));
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_migration_stages_add_mapping(stages, references[0], NULL, none, mapping, E));
    CHECK_STATUS(CST_E_INVALID_UTF8,
                 cst_migration_stages_add_mapping(stages, references[0], references[1], text("\xff"), mapping, E));
    CHECK_TEXT("label", cst_error_key(check_error()));
    CHECK_INT(1, cst_migration_stages_count(stages));
    OK(cst_migration_stages_validate(stages, E));
    options.flags = CST_STORE_MIGRATE | CST_STORE_INFER_MAPPING;
    options.stages = stages;
    OK(open_with(path, models[1], &options, &coordinator, &context));
    CHECK_WORDS("a=mapped,b=mapped,", cars(context, "label"));
    OK(cst_release(context));
    OK(cst_release(coordinator));
    OK(cst_release(stages));
    OK(cst_release(mapping));
    cst_buffer_dispose(&label);
    for (int i = 0; i < 2; i++) {
        OK(cst_release(references[i]));
        OK(cst_release(models[i]));
    }
}

static void stages_are_read_from_a_file(void) {
    cst_model *models[] = {model_of(old_text), model_of(new_text), model_of(last_text)};
    cst_migration_stages *stages = NULL, *others = NULL;
    cst_store_options options = CST_STORE_OPTIONS_INIT;
    cst_coordinator *coordinator = NULL;
    cst_context *context = NULL;
    cst_buffer label = {NULL, 0, 0}, checksums[3];
    char content[1024];
    const char *file = check_path("stages.json");
    const cst_string missing = text(check_path("missing"));
    memset(checksums, 0, sizeof checksums);
    for (int i = 0; i < 3; i++)
        OK(cst_model_copy_checksum(models[i], &checksums[i], E));
    snprintf(content, sizeof content,
             "{\"stages\": [{\"label\": \"labels\", \"from\": \"%s\", \"to\": \"%s\"}, {\"lightweight\": [\"%s\"]}]}",
             checksums[0].data, checksums[1].data, checksums[2].data);
    check_write(file, content);
    OK(cst_migration_stages_load(text(file), 3, models, 1, &missing, &stages, E));
    CHECK_INT(2, cst_migration_stages_count(stages));
    OK(cst_migration_stages_copy_label(stages, 0, &label, E));
    CHECK_WORDS("labels", label.data);
    CHECK_STATUS(CST_NOT_FOUND, cst_migration_stages_copy_label(stages, 1, &label, E));
    cst_buffer_dispose(&label);

    /* Stages of one list in another one. */
    OK(cst_migration_stages_new(&others, E));
    for (size_t i = 0; i < 2; i++)
        OK(cst_migration_stages_add_stage(others, stages, i, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_migration_stages_add_stage(others, stages, 2, E));
    CHECK_TEXT("index", cst_error_key(check_error()));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_migration_stages_add_stage(others, stages, (size_t)-1, E));
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_migration_stages_add_stage(others, NULL, 0, E));
    OK(cst_release(stages));
    const char *path = check_path("cars.sqlite");
    fill_store(path);
    options.flags = CST_STORE_MIGRATE | CST_STORE_INFER_MAPPING;
    options.stages = others;
    options.source_model_count = 3;
    options.source_models = models;
    OK(open_with(path, models[2], &options, &coordinator, &context));
    CHECK_WORDS("a=a,b=b,", cars(context, "plate"));
    OK(cst_release(context));
    OK(cst_release(coordinator));
    OK(cst_release(others));

    /* Invalid arguments. */
    CHECK_STATUS(CST_E_STORE_IO, cst_migration_stages_load(missing, 0, NULL, 0, NULL, &stages, E));
    CHECK_TEXT(missing.data, cst_error_file(check_error()));
    CHECK_STATUS(CST_E_MIGRATION, cst_migration_stages_load(text(file), 1, models, 0, NULL, &stages, E));
    CHECK_INT(CST_CODE_MANAGED_OBJECT_MODEL_REFERENCE_NOT_FOUND, cst_error_code(check_error()));
    CHECK_TEXT(file, cst_error_file(check_error()));
    check_write(file, "{\"stages\": [{\"lightwieght\": []}]}");
    CHECK_STATUS(CST_E_MODEL, cst_migration_stages_load(text(file), 3, models, 0, NULL, &stages, E));
    CHECK_TEXT("lightwieght", cst_error_key(check_error()));
    CHECK_CONTAINS("did you mean", cst_error_message(check_error()));
    check_write(file, "{\"stages\": []}");
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_migration_stages_load(text(file), 3, models, 0, NULL, &stages, E));
    check_write(file, "{");
    CHECK_STATUS(CST_E_MODEL, cst_migration_stages_load(text(file), 3, models, 0, NULL, &stages, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_migration_stages_load(none, 0, NULL, 0, NULL, &stages, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_migration_stages_load(text(file), 1, NULL, 0, NULL, &stages, E));
    CHECK_STATUS(CST_E_INVALID_UTF8, cst_migration_stages_load(text("\xff"), 0, NULL, 0, NULL, &stages, E));
    CHECK(stages == NULL);
    for (int i = 0; i < 3; i++) {
        cst_buffer_dispose(&checksums[i]);
        OK(cst_release(models[i]));
    }
}

static void model_references_are_resolved(void) {
    const char *path = check_path("garage.xcdatamodel");
    cst_model *model = model_of(new_text), *found = NULL, *other = model_of(old_text);
    cst_model_reference *reference = NULL;
    cst_buffer checksum = {NULL, 0, 0};
    OK(cst_model_copy_checksum(model, &checksum, E));
    const cst_string expected = {checksum.data, checksum.size};
    const cst_string names[] = {CST_TEXT("Car"), CST_TEXT("Person")}, place = text(check_path("."));
    cst_bytes hashes[2];
    OK(cst_model_reference_new(model, expected, &reference, E));
    OK(cst_model_reference_resolve(reference, &found, E));
    CHECK(found == model);
    OK(cst_release(found));
    OK(cst_release(reference));
    OK(cst_model_reference_new(other, expected, &reference, E));
    CHECK_STATUS(CST_E_MIGRATION, cst_model_reference_resolve(reference, &found, E));
    CHECK_INT(CST_CODE_MANAGED_OBJECT_MODEL_REFERENCE_NOT_FOUND, cst_error_code(check_error()));
    OK(cst_release(reference));
    OK(cst_model_reference_new_with_path(text(path), none, expected, &reference, E));
    CHECK_STATUS(CST_E_MIGRATION, cst_model_reference_resolve(reference, &found, E));
    OK(cst_model_write(model, text(path), none, 0, E));
    OK(cst_model_reference_resolve(reference, &found, E));
    OK(cst_release(found));
    OK(cst_release(reference));
    for (int i = 0; i < 2; i++) {
        cst_entity *entity = NULL;
        OK(cst_model_entity(model, names[i], &entity, E));
        static uint8_t bytes[2][32];
        OK(cst_entity_version_hash(entity, bytes[i], E));
        hashes[i] = (cst_bytes){bytes[i], 32};
    }
    OK(cst_model_reference_new_with_hashes(2, names, hashes, 1, &place, none, &reference, E));
    OK(cst_model_reference_resolve(reference, &found, E));
    OK(cst_release(found));
    OK(cst_release(reference));
    const cst_string twice_named[] = {names[0], names[0]};
    CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                 cst_model_reference_new_with_hashes(2, twice_named, hashes, 1, &place, none, &reference, E));
    OK(cst_model_reference_new_with_hashes(1, names, hashes, 1, &place, none, &reference, E));
    CHECK_STATUS(CST_E_MIGRATION, cst_model_reference_resolve(reference, &found, E));
    OK(cst_release(reference));
    cst_buffer_dispose(&checksum);
    OK(cst_release(model));
    OK(cst_release(other));
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(stages_migrate_through_every_version);
    RUN(a_transformation_fills_the_new_store);
    RUN(a_mapping_model_can_be_a_stage);
    RUN(stages_are_read_from_a_file);
    RUN(model_references_are_resolved);
    return check_end();
}
