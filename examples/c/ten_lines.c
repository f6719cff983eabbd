#include <corestone.h>
#include <stdio.h>
#include <stdlib.h>

#define TEXT(string) ((cst_string){string, CST_NUL})
#define TRY(call)                                                                                                      \
    if ((call) < 0) exit(fprintf(stderr, "%s\n", cst_error_message(error).data) ? 1 : 2)

int main(void) {
    cst_error *error = NULL;
    cst_model *model;
    cst_entity *person;
    TRY(cst_model_new(&model, &error));
    TRY(cst_model_add_entity(model, TEXT("Person"), &person, &error));
    TRY(cst_entity_add_attribute(person, TEXT("name"), CST_ATTRIBUTE_STRING, 0, NULL, &error));
    TRY(cst_entity_add_attribute(person, TEXT("age"), CST_ATTRIBUTE_INTEGER_64, 0, NULL, &error));

    cst_coordinator *coordinator;
    cst_context *context;
    TRY(cst_coordinator_new(model, &coordinator, &error));
    TRY(cst_coordinator_add_store(coordinator, TEXT("SQLite"), TEXT("people.store"), NULL, NULL, &error));
    TRY(cst_context_new(coordinator, CST_QUEUE_CALLER, &context, &error));

    cst_key keys[2];
    TRY(cst_entity_key(person, TEXT("name"), &keys[0], &error));
    TRY(cst_entity_key(person, TEXT("age"), &keys[1], &error));
    const cst_value people[] = {{CST_STRING, 0, {.string = TEXT("Ada")}},
                                {CST_INT, 0, {.integer = 36}},
                                {CST_STRING, 0, {.string = TEXT("Grace")}},
                                {CST_INT, 0, {.integer = 85}}};
    TRY(cst_context_insert_many(context, person, 2, 2, keys, people, NULL, &error));
    TRY(cst_context_save(context, &error));

    const cst_value forty = {CST_INT, 0, {.integer = 40}};
    cst_predicate *predicate;
    cst_fetch_request *request;
    cst_results *results;
    cst_object *found;
    cst_value values[2];
    TRY(cst_predicate_parse(TEXT("age > %d"), 1, &forty, &predicate, &error));
    TRY(cst_fetch_request_new(person, &request, &error));
    TRY(cst_fetch_request_set_predicate(request, predicate, &error));
    TRY(cst_context_fetch(context, request, &results, &error));
    for (size_t i = 0; i < cst_results_count(results); i++) {
        TRY(cst_results_get_object(results, i, &found, &error));
        TRY(cst_object_get_many(found, 2, keys, values, &error));
        printf("%s %d\n", values[0].as.string.data, (int)values[1].as.integer);
    }
    void *handles[] = {results, request, predicate, context, coordinator, model};
    for (size_t i = 0; i < sizeof handles / sizeof *handles; i++)
        cst_release(handles[i]);
    return 0;
}
