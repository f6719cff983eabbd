/* Parts of a model that are read without JSON: texts, defaults, bounds, validation rules, indexes, constraints.
 *
 * SPDX-License-Identifier: MIT
 */
#include "company.h"

#include <string.h>

/* A model with one entity, not frozen. Owned by the caller. */
static cst_model *make(cst_entity **out_entity) {
    cst_model *model = NULL;
    OK(cst_model_new(&model, E));
    OK(cst_model_add_entity(model, text("Item"), out_entity, E));
    return model;
}

static void check_entity_text(const cst_entity *entity, const char *property, uint32_t which, const char *expected) {
    cst_buffer found = {0};
    cst_string name = property ? text(property) : (cst_string){0};
    cst_status status = cst_entity_copy_text(entity, name, which, &found, E);
    CHECK_INT(expected ? CST_OK : CST_NOT_FOUND, status);
    if (expected) CHECK_TEXT(expected, text_of_size(found.data, found.size));
    cst_buffer_dispose(&found);
}

static void texts_of_entities_and_properties_are_read(void) {
    cst_entity *item = NULL;
    cst_attribute *name = NULL, *colour = NULL, *search = NULL, *place = NULL, *street = NULL;
    cst_model *model = make(&item);
    OK(cst_entity_set_class_name(item, text("MyItem"), E));
    OK(cst_entity_set_renaming_identifier(item, text("Thing"), E));
    OK(cst_entity_set_version_hash_modifier(item, text("2"), E));
    OK(cst_entity_add_attribute(item, text("name"), CST_ATTRIBUTE_STRING, 0, &name, E));
    OK(cst_attribute_set_pattern(name, text("[a-z]+"), E));
    OK(cst_entity_set_property_renaming_identifier(item, text("name"), text("title"), E));
    OK(cst_entity_add_attribute(item, text("colour"), CST_ATTRIBUTE_TRANSFORMABLE, 0, &colour, E));
    OK(cst_attribute_set_transformer_name(colour, text("Plain"), E));
    OK(cst_attribute_set_value_class(colour, text("Colour"), E));
    OK(cst_entity_add_attribute(item, text("search"), CST_ATTRIBUTE_STRING, CST_PROPERTY_OPTIONAL, &search, E));
    OK(cst_attribute_set_derivation(search, text("canonical:(name)"), (cst_string){0}, E));
    OK(cst_entity_add_attribute(item, text("place"), CST_ATTRIBUTE_COMPOSITE, 0, &place, E));
    OK(cst_attribute_add_element(place, text("street"), CST_ATTRIBUTE_STRING, 0, &street, E));
    OK(cst_attribute_set_pattern(street, text(".+"), E));

    check_entity_text(item, NULL, CST_MODEL_TEXT_CLASS_NAME, "MyItem");
    check_entity_text(item, NULL, CST_MODEL_TEXT_RENAMING_IDENTIFIER, "Thing");
    check_entity_text(item, NULL, CST_MODEL_TEXT_VERSION_HASH_MODIFIER, "2");
    check_entity_text(item, NULL, CST_MODEL_TEXT_PATTERN, NULL);
    check_entity_text(item, "name", CST_MODEL_TEXT_PATTERN, "[a-z]+");
    check_entity_text(item, "name", CST_MODEL_TEXT_RENAMING_IDENTIFIER, "title");
    check_entity_text(item, "name", CST_MODEL_TEXT_TRANSFORMER_NAME, NULL);
    check_entity_text(item, "colour", CST_MODEL_TEXT_TRANSFORMER_NAME, "Plain");
    check_entity_text(item, "colour", CST_MODEL_TEXT_CLASS_NAME, "Colour");
    check_entity_text(item, "search", CST_MODEL_TEXT_DERIVATION, "canonical:(name)");
    check_entity_text(item, "search", CST_MODEL_TEXT_DERIVATION_FILTER, NULL);
    check_entity_text(item, "place.street", CST_MODEL_TEXT_PATTERN, ".+");
    check_entity_text(item, "place.town", CST_MODEL_TEXT_PATTERN, NULL);
    check_entity_text(item, "missing", CST_MODEL_TEXT_PATTERN, NULL);
    cst_buffer found = {0};
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_entity_copy_text(item, text("name"), 99, &found, E));
    CHECK_CONTAINS("CST_MODEL_TEXT_", cst_error_message(check_error()));
    OK(cst_release(model));
}

static void defaults_bounds_and_elements_are_read(void) {
    cst_entity *item = NULL;
    cst_attribute *rank = NULL, *place = NULL, *street = NULL, *found = NULL;
    cst_model *model = make(&item);
    OK(cst_entity_add_attribute(item, text("rank"), CST_ATTRIBUTE_INTEGER_32, 0, &rank, E));
    cst_value value = value_int(3), low = value_int(1), least, greatest;
    CHECK_STATUS(CST_NOT_FOUND, cst_attribute_copy_default(rank, &value, E));
    CHECK_INT(CST_NULL, value.type);
    value = value_int(3);
    OK(cst_attribute_set_default(rank, &value, E));
    OK(cst_attribute_set_bounds(rank, &low, NULL, E));
    value = value_null();
    OK(cst_attribute_copy_default(rank, &value, E));
    CHECK_INT(3, value.as.integer);
    cst_value_dispose(&value);
    OK(cst_attribute_copy_bounds(rank, &least, &greatest, E));
    CHECK_INT(1, least.as.integer);
    CHECK_INT(CST_NULL, greatest.type);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_attribute_copy_bounds(rank, &least, NULL, E));

    OK(cst_entity_add_attribute(item, text("place"), CST_ATTRIBUTE_COMPOSITE, 0, &place, E));
    OK(cst_attribute_add_element(place, text("street"), CST_ATTRIBUTE_STRING, CST_PROPERTY_OPTIONAL, &street, E));
    OK(cst_attribute_element_at(place, 0, &found, E));
    CHECK(found == street);
    CHECK_STATUS(CST_END, cst_attribute_element_at(place, 1, &found, E));
    CHECK(found == NULL);
    CHECK_STATUS(CST_END, cst_attribute_element_at(rank, 0, &found, E));
    cst_property_info info = CST_PROPERTY_INFO_INIT;
    OK(cst_attribute_get_info(street, &info, E));
    CHECK_TEXT("street", info.name);
    CHECK_INT(CST_ATTRIBUTE_STRING, info.attribute_type);
    CHECK_INT(CST_PROPERTY_OPTIONAL, info.flags);
    CHECK(info.entity == item);
    OK(cst_release(model));
}

static void validation_rules_are_read_with_their_warnings(void) {
    cst_entity *item = NULL;
    cst_attribute *rank = NULL;
    cst_model *model = make(&item);
    OK(cst_entity_add_attribute(item, text("rank"), CST_ATTRIBUTE_INTEGER_32, 0, &rank, E));
    cst_value low = value_int(1);
    cst_predicate *even = NULL, *found = NULL;
    OK(cst_attribute_set_bounds(rank, &low, NULL, E));
    OK(cst_predicate_parse(text("modulus:by:(SELF, 2) == 0"), 0, NULL, &even, E));
    OK(cst_attribute_add_validation(rank, even, text("must be even"), E));
    cst_buffer warning = {0}, format = {0};
    int64_t code = -1;
    OK(cst_entity_copy_validation(item, text("rank"), 0, &found, &warning, &code, E));
    CHECK_INT(CST_CODE_VALIDATION_NUMBER_TOO_SMALL, code);
    CHECK_INT(0, warning.size);
    OK(cst_predicate_copy_format(found, &format, E));
    CHECK_TEXT("SELF >= 1", text_of_size(format.data, format.size));
    OK(cst_release(found));
    OK(cst_entity_copy_validation(item, text("rank"), 1, &found, &warning, &code, E));
    CHECK_INT(0, code);
    CHECK_TEXT("must be even", text_of_size(warning.data, warning.size));
    OK(cst_release(found));
    OK(cst_entity_copy_validation(item, text("rank"), 1, &found, NULL, NULL, E));
    OK(cst_release(found));
    CHECK_STATUS(CST_END, cst_entity_copy_validation(item, text("rank"), 2, &found, &warning, &code, E));
    CHECK_STATUS(CST_NOT_FOUND, cst_entity_copy_validation(item, text("nothing"), 0, &found, &warning, &code, E));
    CHECK(found == NULL);
    cst_buffer_dispose(&warning);
    cst_buffer_dispose(&format);
    OK(cst_release(even));
    OK(cst_release(model));
}

static void indexes_and_constraints_are_read(void) {
    cst_entity *item = NULL;
    cst_model *model = make(&item);
    OK(cst_entity_add_attribute(item, text("a"), CST_ATTRIBUTE_STRING, 0, NULL, E));
    OK(cst_entity_add_attribute(item, text("b"), CST_ATTRIBUTE_DOUBLE, 0, NULL, E));
    cst_index_element elements[2] = {{.property = text("a"), .flags = CST_INDEX_DESCENDING},
                                     {.expression = text("b * 2"), .type = CST_ATTRIBUTE_DOUBLE}};
    cst_predicate *some = NULL, *found = NULL;
    OK(cst_predicate_parse(text("b > 0"), 0, NULL, &some, E));
    OK(cst_entity_add_fetch_index(item, text("byA"), 2, elements, some, E));
    const cst_string both[2] = {text("a"), text("b")};
    OK(cst_entity_add_unique_constraint(item, 2, both, E));

    cst_buffer name = {0};
    size_t count = 0;
    OK(cst_entity_copy_index(item, 0, &name, &count, &found, E));
    CHECK_TEXT("byA", text_of_size(name.data, name.size));
    CHECK_INT(2, count);
    REQUIRE(found != NULL);
    OK(cst_release(found));
    OK(cst_entity_copy_index(item, 0, &name, NULL, NULL, E));
    CHECK_STATUS(CST_END, cst_entity_copy_index(item, 1, &name, &count, &found, E));
    bool is_expression = true;
    uint32_t flags = 0;
    int32_t type = -1;
    OK(cst_entity_copy_index_element(item, 0, 0, &name, &is_expression, &flags, &type, E));
    CHECK_TEXT("a", text_of_size(name.data, name.size));
    CHECK(!is_expression);
    CHECK_INT(CST_INDEX_DESCENDING, flags);
    OK(cst_entity_copy_index_element(item, 0, 1, &name, &is_expression, &flags, &type, E));
    CHECK_TEXT("b * 2", text_of_size(name.data, name.size));
    CHECK(is_expression);
    CHECK_INT(0, flags);
    CHECK_INT(CST_ATTRIBUTE_DOUBLE, type);
    CHECK_STATUS(CST_END, cst_entity_copy_index_element(item, 0, 2, &name, NULL, NULL, NULL, E));
    CHECK_STATUS(CST_END, cst_entity_copy_index_element(item, 7, 0, &name, NULL, NULL, NULL, E));

    OK(cst_entity_copy_unique_constraint(item, 0, &name, &count, E));
    CHECK_INT(2, count);
    CHECK(name.size == 4 && memcmp(name.data, "a\0b\0", 4) == 0);
    CHECK_STATUS(CST_END, cst_entity_copy_unique_constraint(item, 1, &name, &count, E));
    cst_buffer_dispose(&name);
    OK(cst_release(some));
    OK(cst_release(model));
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(texts_of_entities_and_properties_are_read);
    RUN(defaults_bounds_and_elements_are_read);
    RUN(validation_rules_are_read_with_their_warnings);
    RUN(indexes_and_constraints_are_read);
    return check_end();
}
