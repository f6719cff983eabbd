/* SPDX-License-Identifier: MIT */
#include "garage.h"

#include <stdio.h>
#include <string.h>

const char old_text[] = "{\"Car\": {\"plate\": \"string?\", \"owner\": \"to-one Person?\"}, "
                        "\"Person\": {\"name\": \"string?\"}}";
const char new_text[] = "{\"Car\": {\"plate\": \"string?\", \"label\": \"string?\", "
                        "\"owner\": \"to-one Person?\"}, \"Person\": {\"name\": \"string?\"}}";
const char last_text[] = "{\"Car\": {\"plate\": \"string?\", \"label\": \"string?\", \"doors\": \"int16?\", "
                         "\"owner\": \"to-one Person?\"}, \"Person\": {\"name\": \"string?\"}}";

static const char person_mapping[] =
    "{\"source\": \"Person\", \"destination\": \"Person\", \"attributes\": {\"name\": \"$source.name\"}}";
#define OWNER                                                                                                          \
    "\"relationships\": {\"owner\": \"FUNCTION($manager, "                                                             \
    "\\\"destinationInstancesForEntityMappingNamed:sourceInstances:\\\", \\\"PersonToPerson\\\", $source.owner)\"}"

cst_string view_of(const char *words) { return text_of_size(words, strlen(words)); }

cst_model *model_of(const char *content) {
    cst_model *model = NULL;
    OK(cst_model_new_from_text(text(content), &model, E));
    return model;
}

cst_mapping_model *mapping_of(cst_model *old, cst_model *new, const char *policy, const char *label) {
    char json[2048];
    cst_mapping_model *mapping = NULL;
    snprintf(json, sizeof json,
             "{\"entityMappings\": [{\"source\": \"Car\", \"destination\": \"Car\", %s%s%s \"attributes\": {\"plate\": "
             "\"$source.plate\", \"label\": \"%s\"}, " OWNER "}, %s]}",
             policy ? "\"policyClass\": \"" : "", policy ? policy : "", policy ? "\"," : "", label, person_mapping);
    OK(cst_mapping_model_new_from_json(text(json), old, new, &mapping, E));
    return mapping;
}

void fill_store(const char *path) {
    cst_model *model = model_of(old_text);
    cst_coordinator *coordinator = NULL;
    cst_context *context = NULL;
    cst_entity *car = NULL, *person = NULL;
    cst_key plate = CST_NO_KEY, owner = CST_NO_KEY, name = CST_NO_KEY;
    cst_object *ada = NULL, *object = NULL;
    OK(cst_coordinator_new(model, &coordinator, E));
    OK(cst_coordinator_add_store(coordinator, none, text(path), NULL, NULL, E));
    OK(cst_context_new(coordinator, CST_QUEUE_CALLER, &context, E));
    OK(cst_model_entity(model, CST_TEXT("Car"), &car, E));
    OK(cst_model_entity(model, CST_TEXT("Person"), &person, E));
    OK(cst_entity_key(car, CST_TEXT("plate"), &plate, E));
    OK(cst_entity_key(car, CST_TEXT("owner"), &owner, E));
    OK(cst_entity_key(person, CST_TEXT("name"), &name, E));
    OK(cst_context_insert(context, person, &ada, E));
    set(ada, name, value_text("Ada"));
    for (int i = 0; i < 2; i++) {
        OK(cst_context_insert(context, car, &object, E));
        set(object, plate, value_text(i ? "b" : "a"));
        set(object, owner, value_object(ada));
        OK(cst_release(object));
    }
    OK(cst_context_save(context, E));
    OK(cst_release(ada));
    OK(cst_release(context));
    OK(cst_release(coordinator));
    OK(cst_release(model));
}

const char *cars(cst_context *context, const char *path) {
    static char words[512];
    cst_coordinator *coordinator = NULL;
    cst_model *model = NULL;
    cst_entity *car = NULL;
    cst_object *object = NULL;
    OK(cst_context_coordinator(context, &coordinator, E));
    OK(cst_coordinator_model(coordinator, &model, E));
    OK(cst_model_entity(model, CST_TEXT("Car"), &car, E));
    cst_results *results = company_fetch(context, car, NULL, "plate");
    words[0] = 0;
    for (size_t i = 0; i < cst_results_count(results); i++) {
        cst_value plate, value;
        OK(cst_results_get_object(results, i, &object, E));
        OK(cst_object_get_path(object, CST_TEXT("plate"), &plate, E));
        OK(cst_object_get_path(object, text(path), &value, E));
        snprintf(words + strlen(words), sizeof words - strlen(words), "%s=%s,", plate.as.string.data,
                 value.type == CST_STRING ? value.as.string.data : "nil");
    }
    OK(cst_release(results));
    return words;
}

cst_status open_with(const char *path, cst_model *model, const cst_store_options *options,
                     cst_coordinator **coordinator, cst_context **context) {
    *coordinator = NULL;
    OK(cst_coordinator_new(model, coordinator, E));
    const cst_status status = cst_coordinator_add_store(*coordinator, none, text(path), options, NULL, E);
    if (status == CST_OK)
        OK(cst_context_new(*coordinator, CST_QUEUE_CALLER, context, E));
    else
        cst_release(*coordinator);
    return status;
}

void expect_cars(const char *path, const char *model_text, const char *key_path, const char *expected) {
    cst_model *model = model_of(model_text);
    cst_coordinator *coordinator = NULL;
    cst_context *context = NULL;
    OK(open_with(path, model, NULL, &coordinator, &context));
    CHECK_WORDS(expected, cars(context, key_path));
    OK(cst_release(context));
    OK(cst_release(coordinator));
    OK(cst_release(model));
}
