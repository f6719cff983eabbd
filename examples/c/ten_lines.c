#include <corestone/example.h>

int main(void) {
    int result = 1;
    /* Shown in README.md: */
    cst_error *error = NULL;
    cst_model *model = NULL;
    cst_coordinator *coordinator = NULL;
    cst_context *context = NULL;
    cst_predicate *predicate = NULL;
    cst_fetch_request *request = NULL;
    cst_results *results = NULL;
    cst_entity *person;
    cst_key keys[2];
    cst_value names[10], ages[10];
    size_t count;
    CST_TRY(cst_model_new_from_text(CST_TEXT("{\"Person\":{\"name\":\"string\", \"age\":\"int\"}}"), &model, &error));
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
    CST_TRY(cst_predicate_parse(CST_TEXT("age > 40"), 0, NULL, &predicate, &error));
    CST_TRY(cst_fetch_request_new(person, &request, &error));
    CST_TRY(cst_fetch_request_set_predicate(request, predicate, &error));
    CST_TRY(cst_context_fetch(context, request, &results, &error));
    CST_TRY(cst_results_get_column(results, keys[0], 0, 10, names, &count, &error));
    CST_TRY(cst_results_get_column(results, keys[1], 0, 10, ages, &count, &error));
    for (size_t i = 0; i < count; i++)
        printf("%s %d\n", names[i].as.string.data, (int)ages[i].as.integer);
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
