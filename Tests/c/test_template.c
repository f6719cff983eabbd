/* Fetch request templates, configurations, fetched properties, fetch indexes.
 *
 * SPDX-License-Identifier: MIT
 */
#include "company.h"

#include <string.h>

static cst_results *run(cst_context *context, const cst_fetch_request *request) {
    cst_results *results = NULL;
    OK(cst_context_fetch(context, request, &results, E));
    return results;
}

static void templates_are_bound_to_variables(void) {
    struct company c = company_open(check_path("s.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1), *bob = company_employee(&c, c.context, "Bob", 2);
    set(ada, c.level, value_int(3));
    set(bob, c.level, value_int(1));
    cst_fetch_request *request = NULL;
    const cst_string names[] = {text("LEVEL"), text("PLACE")};
    const cst_value values[] = {value_int(2), {.type = CST_NULL}};
    OK(cst_model_copy_bound_template(c.model, text("above"), 2, names, values, &request, E));
    cst_results *found = run(c.context, request);
    CHECK_INT(1, cst_results_count(found));
    OK(cst_release(found));
    OK(cst_release(request));
    request = NULL;
    CHECK_STATUS(CST_E_PREDICATE, cst_model_copy_bound_template(c.model, text("above"), 1, names, values, &request, E));
    CHECK_TEXT("PLACE", cst_error_key(check_error()));
    CHECK(request == NULL);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                 cst_model_copy_bound_template(c.model, text("abvoe"), 0, NULL, NULL, &request, E));
    CHECK_CONTAINS("did you mean \"above\"", cst_error_message(check_error()));
    OK(cst_model_copy_template(c.model, text("everybody"), &request, E));
    found = run(c.context, request);
    CHECK_INT(2, cst_results_count(found));
    OK(cst_release(found));
    OK(cst_release(request));
    CHECK_STATUS(CST_NOT_FOUND, cst_model_copy_template(c.model, text("none"), &request, E));
    cst_buffer list = {0};
    size_t count = 0;
    OK(cst_model_copy_names(c.model, CST_NAMES_TEMPLATES, &list, &count, E));
    CHECK_INT(2, count);
    CHECK(memcmp(list.data, "above\0everybody", 16) == 0);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_model_copy_names(c.model, 9, &list, &count, E));
    cst_buffer_dispose(&list);
    OK(cst_release(ada));
    OK(cst_release(bob));
    company_close(&c);
}

static void configurations_list_their_entities(void) {
    cst_model *model = company_model();
    const cst_string two[] = {text("Project"), text("Task")}, wrong[] = {text("Tsak")};
    cst_buffer list = {0};
    size_t count = 0;
    OK(cst_model_set_configuration(model, text("Work"), 2, two, E));
    OK(cst_model_copy_configuration(model, text("Work"), &list, &count, E));
    CHECK_INT(2, count);
    CHECK(memcmp(list.data, "Project\0Task", 13) == 0);
    OK(cst_model_copy_configuration(model, (cst_string){NULL, 0}, &list, &count, E));
    CHECK_INT(6, count);
    OK(cst_model_copy_names(model, CST_NAMES_CONFIGURATIONS, &list, &count, E));
    CHECK_INT(1, count);
    OK(cst_model_remove_configuration(model, text("Work"), E));
    CHECK_STATUS(CST_NOT_FOUND, cst_model_remove_configuration(model, text("Work"), E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_model_copy_configuration(model, text("Work"), &list, &count, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_model_set_configuration(model, text("Bad"), 1, wrong, E));
    cst_buffer_dispose(&list);
    OK(cst_release(model));
}

static size_t namesakes(const cst_object *object) {
    cst_results *found = NULL;
    OK(cst_object_copy_fetched((cst_object *)object, text("namesakes"), &found, E));
    size_t count = cst_results_count(found);
    OK(cst_release(found));
    return count;
}

static void fetched_properties_are_cached_until_a_refresh(void) {
    struct company c = company_open(check_path("s.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1), *other = company_employee(&c, c.context, "Ada", 2);
    save(c.context);
    CHECK_INT(1, namesakes(ada));
    set(other, c.name, value_text("Eve"));
    CHECK_INT(1, namesakes(ada)); /* kept */
    OK(cst_object_refresh(ada, false, E));
    CHECK_INT(0, namesakes(ada)); /* unsaved changes count */
    cst_results *found = NULL;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_copy_fetched(ada, text("namesaks"), &found, E));
    CHECK_CONTAINS("did you mean", cst_error_message(check_error()));
    cst_fetch_request *request = NULL;
    OK(cst_entity_copy_fetched_request(c.employee, text("namesakes"), &request, E));
    OK(cst_release(request));
    CHECK_STATUS(CST_NOT_FOUND, cst_entity_copy_fetched_request(c.employee, text("name"), &request, E));
    OK(cst_release(ada));
    OK(cst_release(other));
    company_close(&c);
}

static void indexes_of_every_kind_are_described_as_json(void) {
    cst_model *model = company_model();
    cst_entity *employee = NULL;
    OK(cst_model_entity(model, text("Employee"), &employee, E));
    cst_predicate *active = NULL;
    OK(cst_predicate_parse(text("active == YES"), 0, NULL, &active, E));
    const cst_index_element both[] = {{.property = text("name")},
                                      {.property = text("number"), .flags = CST_INDEX_DESCENDING}};
    OK(cst_entity_add_fetch_index(employee, text("byBoth"), 2, both, active, E));
    const cst_index_element area[] = {{.property = text("rating"), .flags = CST_INDEX_RTREE},
                                      {.property = text("factor"), .flags = CST_INDEX_RTREE}};
    OK(cst_entity_add_fetch_index(employee, text("area"), 2, area, NULL, E));
    const cst_index_element sum[] = {{.expression = text("level + floor"), .type = CST_ATTRIBUTE_INTEGER_32}};
    OK(cst_entity_add_fetch_index(employee, text("sum"), 1, sum, NULL, E));
    OK(cst_release(active));
    cst_buffer json = {0};
    OK(cst_entity_copy_json(employee, (cst_string){NULL, 0}, &json, E));
    CHECK_CONTAINS("\"predicate\": \"active == 1\"", text_of_size(json.data, json.size));
    CHECK_CONTAINS("\"collation\": \"RTree\"", text_of_size(json.data, json.size));
    CHECK_CONTAINS("\"expression\": \"level + floor\"", text_of_size(json.data, json.size));
    cst_buffer_dispose(&json);
    OK(cst_model_freeze(model, E));
    OK(cst_release(model));
}

static void mixed_indexes_are_refused(void) {
    cst_model *model = company_model();
    cst_entity *employee = NULL;
    OK(cst_model_entity(model, text("Employee"), &employee, E));
    const cst_index_element mixed[] = {{.property = text("rating"), .flags = CST_INDEX_RTREE},
                                       {.property = text("level")}};
    CHECK_STATUS(CST_E_MODEL, cst_entity_add_fetch_index(employee, text("mixed"), 2, mixed, NULL, E));
    CHECK_CONTAINS("mixes R-tree and binary elements", cst_error_message(check_error()));
    OK(cst_release(model));
    model = company_model();
    OK(cst_model_entity(model, text("Employee"), &employee, E));
    const cst_index_element neither[] = {{.flags = 0}};
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_entity_add_fetch_index(employee, text("n"), 1, neither, NULL, E));
    OK(cst_release(model));
}

static void refused_element(cst_index_element element, const char *words) {
    cst_model *model = company_model();
    cst_entity *employee = NULL;
    OK(cst_model_entity(model, text("Employee"), &employee, E));
    const cst_index_element elements[] = {{.property = text("level")}, element};
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_entity_add_fetch_index(employee, text("byX"), 2, elements, NULL, E));
    CHECK_CONTAINS(words, cst_error_message(check_error()));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_model_freeze(model, E)); /* it sticks */
    OK(cst_release(model));
}

static void invalid_index_elements_are_refused(void) {
    refused_element((cst_index_element){.property = text("number"), .flags = 4},
                    "the index \"byX\" of Employee has flags 0x4; use only CST_INDEX_DESCENDING "
                    "and CST_INDEX_RTREE");
    refused_element((cst_index_element){.property = text("number"), .expression = text("level + 1")},
                    "element 2 of the index \"byX\" of Employee has both a property and an expression");
    refused_element((cst_index_element){.flags = CST_INDEX_DESCENDING},
                    "element 2 of the index \"byX\" of Employee has neither a property nor an expression");
    refused_element((cst_index_element){.expression = text("level + 1"), .type = 7},
                    "the index \"byX\" of Employee: 7 is not an attribute type");
    cst_model *model = company_model();
    cst_entity *employee = NULL;
    OK(cst_model_entity(model, text("Employee"), &employee, E));
    const cst_index_element broken[] = {{.expression = text("level +")}};
    CHECK_STATUS(CST_E_PREDICATE_SYNTAX, cst_entity_add_fetch_index(employee, text("byX"), 1, broken, NULL, E));
    OK(cst_release(model));
}

static void indexes_keep_order_and_kind_of_their_elements(void) {
    cst_model *model = company_model();
    cst_entity *employee = NULL;
    cst_buffer json = {0};
    OK(cst_model_entity(model, text("Employee"), &employee, E));
    const cst_index_element elements[] = {
        {.property = text("number"), .flags = CST_INDEX_DESCENDING},
        {.property = text("level")},
        {.expression = text("floor + 1"), .type = CST_ATTRIBUTE_INTEGER_32, .flags = CST_INDEX_DESCENDING},
        {.expression = text("floor * 2")}};
    OK(cst_entity_add_fetch_index(employee, text("byX"), 4, elements, NULL, E));
    OK(cst_entity_copy_json(employee, (cst_string){NULL, 0}, &json, E));
    CHECK_CONTAINS(
        "\"indexes\": [{\"elements\": [{\"ascending\": false, \"property\": \"number\"}, "
        "{\"ascending\": true, \"property\": \"level\"}, {\"ascending\": false, \"expression\": \"floor + 1\", "
        "\"expressionType\": \"Integer 32\"}, {\"ascending\": true, \"expression\": \"floor * 2\"}], "
        "\"name\": \"byX\"}]",
        text_of_size(json.data, json.size));
    cst_buffer_dispose(&json);
    OK(cst_model_freeze(model, E));
    OK(cst_release(model));
}

static void configurations_are_replaced_and_the_default_lists_all_entities(void) {
    cst_model *model = company_model();
    const cst_string two[] = {text("Task"), text("Project")}, one[] = {text("Department")};
    cst_buffer list = {0};
    size_t count = 0;
    OK(cst_model_set_configuration(model, text("Work"), 2, two, E));
    OK(cst_model_set_configuration(model, text("Places"), 1, one, E));
    OK(cst_model_copy_names(model, CST_NAMES_CONFIGURATIONS, &list, &count, E));
    CHECK_INT(2, count);
    CHECK_INT(12, list.size);
    OK(cst_model_set_configuration(model, text("Work"), 1, one, E));
    OK(cst_model_copy_configuration(model, text("Work"), &list, &count, E));
    CHECK_INT(1, count);
    CHECK(list.size == 11 && memcmp(list.data, "Department", 11) == 0);
    OK(cst_model_copy_names(model, CST_NAMES_CONFIGURATIONS, &list, NULL, E));
    CHECK_INT(12, list.size);
    OK(cst_model_copy_configuration(model, text("Default"), &list, &count, E));
    CHECK_INT(6, count);
    OK(cst_model_copy_configuration(model, text("Work"), &list, NULL, E));
    const uint32_t wrong[] = {0, 4, UINT32_MAX};
    for (size_t i = 0; i < 3; i++)
        CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_model_copy_names(model, wrong[i], &list, &count, E));
    cst_buffer_dispose(&list);
    OK(cst_release(model));
}

static void templates_are_replaced_and_removed(void) {
    struct company c = {.model = company_model()};
    cst_fetch_request *request = NULL, *found = NULL;
    cst_buffer json = {0};
    cst_entity *task = NULL;
    OK(cst_model_entity(c.model, text("Task"), &task, E));
    OK(cst_fetch_request_new_named(text("Task"), &request, E));
    OK(cst_model_set_template(c.model, text("everybody"), request, E));
    OK(cst_fetch_request_set_entity_name(request, text("Project"), E)); /* the request was copied */
    OK(cst_model_copy_template(c.model, text("everybody"), &found, E));
    OK(cst_fetch_request_copy_json(found, &json, E));
    CHECK_CONTAINS("\"entityName\": \"Task\"", text_of_size(json.data, json.size));
    OK(cst_release(found));
    OK(cst_model_set_template(c.model, text("everybody"), NULL, E));
    CHECK_STATUS(CST_NOT_FOUND, cst_model_copy_template(c.model, text("everybody"), &found, E));
    CHECK(found == NULL);
    OK(cst_fetch_request_set_entity_name(request, text("Nothing"), E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_model_set_template(c.model, text("wrong"), request, E));
    cst_buffer_dispose(&json);
    OK(cst_release(request));
    OK(cst_release(c.model));
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(templates_are_bound_to_variables);
    RUN(configurations_list_their_entities);
    RUN(fetched_properties_are_cached_until_a_refresh);
    RUN(indexes_of_every_kind_are_described_as_json);
    RUN(mixed_indexes_are_refused);
    RUN(invalid_index_elements_are_refused);
    RUN(indexes_keep_order_and_kind_of_their_elements);
    RUN(configurations_are_replaced_and_the_default_lists_all_entities);
    RUN(templates_are_replaced_and_removed);
    return check_end();
}
