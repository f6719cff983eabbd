#include <corestone/example.h>

int main(void) {
    int result = 1;
    cst_error *error = NULL;
    cst_model *model = NULL;
    cst_coordinator *coordinator = NULL;
    cst_context *context = NULL;
    cst_predicate *predicate = NULL;
    cst_fetch_request *request = NULL;
    cst_results *results = NULL;
    cst_entity *person;
    cst_key keys[2];
    cst_object *found;
    cst_value values[2];

    /* Shown in README.md: */
    const cst_string text = CST_TEXT("{\"Person\": {\"name\": \"string\", \"age\": \"int = 0\"}}");
    CST_TRY(cst_model_new_from_text(text, &model, &error));
    CST_TRY(cst_coordinator_new(model, &coordinator, &error));
    CST_TRY(cst_coordinator_add_store(coordinator, CST_TEXT("SQLite"), CST_TEXT("people.store"), NULL, NULL, &error));
    CST_TRY(cst_context_new(coordinator, CST_QUEUE_CALLER, &context, &error));

    CST_TRY(cst_model_entity(model, CST_TEXT("Person"), &person, &error));
    CST_TRY(cst_entity_key(person, CST_TEXT("name"), &keys[0], &error));
    CST_TRY(cst_entity_key(person, CST_TEXT("age"), &keys[1], &error));
    const cst_value people[] = {cst_value_string(CST_TEXT("Ada")), cst_value_int(36),
                                cst_value_string(CST_TEXT("Grace")), cst_value_int(85)};
    CST_TRY(cst_context_insert_many(context, person, 2, 2, keys, people, NULL, &error));
    CST_TRY(cst_context_save(context, &error));

    const cst_value forty = cst_value_int(40);
    CST_TRY(cst_predicate_parse(CST_TEXT("age > %d"), 1, &forty, &predicate, &error));
    CST_TRY(cst_fetch_request_new(person, &request, &error));
    CST_TRY(cst_fetch_request_set_predicate(request, predicate, &error));
    CST_TRY(cst_context_fetch(context, request, &results, &error));
    for (size_t i = 0; i < cst_results_count(results); i++) {
        CST_TRY(cst_results_get_object(results, i, &found, &error));
        CST_TRY(cst_object_get_many(found, 2, keys, values, &error));
        printf("%s %d\n", values[0].as.string.data, (int)values[1].as.integer);
    }
    /* End of the shown part. */
    result = 0;

failed:
    cst_release(results);
    cst_release(request);
    cst_release(predicate);
    cst_release(context);
    cst_release(coordinator);
    cst_release(model);
    return result;
}
