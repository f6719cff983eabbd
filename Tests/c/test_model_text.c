/* Models from text: the model that is created, additions to a model, and errors in the text.
 *
 * SPDX-License-Identifier: MIT
 */
#include "check.h"

#include <stdio.h>
#include <string.h>

static const char people[] =
    "{\n"
    "  \"Person\": {\"name\": \"string indexed\", \"age\": \"int16? min 0 = 18\",\n"
    "             \"friends\": \"to-many Person inverse friends\", \"place\": {\"latitude\": \"double?\"}},\n"
    "  \"Employee\": {\"@parent\": \"Person\", \"@unique\": [[\"badge\"]], \"badge\": \"string\",\n"
    "               \"boss\": \"to-one Employee? inverse staff\",\n"
    "               \"staff\": \"to-many ordered Employee inverse boss delete deny\"}\n"
    "}\n";

static cst_model *read_model(const char *content) {
    cst_model *model = NULL;
    OK(cst_model_new_from_text(text(content), &model, E));
    return model;
}

static cst_entity *find_entity(cst_model *model, const char *name) {
    cst_entity *entity = NULL;
    OK(cst_model_entity(model, text(name), &entity, E));
    return entity;
}

/* The entity of people[] that is called Person, by calls. */
static void add_person(cst_model *model) {
    cst_entity *person;
    cst_attribute *age, *place;
    cst_relationship *friends;
    const cst_value none = cst_value_int(0), eighteen = cst_value_int(18);
    OK(cst_model_add_entity(model, text("Person"), &person, E));
    OK(cst_entity_add_attribute(person, text("name"), CST_ATTRIBUTE_STRING, CST_PROPERTY_INDEXED, NULL, E));
    OK(cst_entity_add_attribute(person, text("age"), CST_ATTRIBUTE_INTEGER_16, CST_PROPERTY_OPTIONAL, &age, E));
    OK(cst_attribute_set_bounds(age, &none, NULL, E));
    OK(cst_attribute_set_default(age, &eighteen, E));
    OK(cst_entity_add_relationship(person, text("friends"), person, CST_PROPERTY_TO_MANY | CST_PROPERTY_OPTIONAL,
                                   &friends, E));
    OK(cst_relationship_set_inverse(friends, friends, E));
    OK(cst_entity_add_attribute(person, text("place"), CST_ATTRIBUTE_COMPOSITE, CST_PROPERTY_OPTIONAL, &place, E));
    OK(cst_attribute_add_element(place, text("latitude"), CST_ATTRIBUTE_DOUBLE, CST_PROPERTY_OPTIONAL, NULL, E));
}

static void text_and_calls_create_equal_models(void) {
    cst_model *read = read_model(people), *built = NULL;
    OK(cst_model_new(&built, E));
    add_person(built);
    cst_buffer one = {0}, other = {0};
    OK(cst_entity_copy_json(find_entity(read, "Person"), (cst_string){NULL, 0}, &one, E));
    OK(cst_entity_copy_json(find_entity(built, "Person"), (cst_string){NULL, 0}, &other, E));
    CHECK_TEXT(one.data, text_of_size(other.data, other.size));
    uint8_t hash[32], same[32];
    OK(cst_entity_version_hash(find_entity(read, "Person"), hash, E));
    OK(cst_entity_version_hash(find_entity(built, "Person"), same, E));
    CHECK(memcmp(hash, same, sizeof hash) == 0);
    cst_buffer_dispose(&one);
    cst_buffer_dispose(&other);
    OK(cst_release(read));
    OK(cst_release(built));
}

static void a_model_from_text_can_open_a_store(void) {
    cst_model *model = read_model(people);
    bool frozen = true;
    OK(cst_model_is_frozen(model, &frozen, E));
    CHECK(!frozen);
    cst_coordinator *coordinator = NULL;
    cst_context *context = NULL;
    cst_object *ada = NULL;
    cst_value age = cst_value_null();
    const cst_value name = cst_value_string(CST_TEXT("Ada")), badge = cst_value_string(CST_TEXT("1"));
    OK(cst_coordinator_new(model, &coordinator, E));
    OK(cst_coordinator_add_store(coordinator, text("SQLite"), text(check_path("a.sqlite")), NULL, NULL, E));
    OK(cst_context_new(coordinator, CST_QUEUE_CALLER, &context, E));
    OK(cst_context_insert(context, find_entity(model, "Employee"), &ada, E));
    OK(cst_object_set_path(ada, text("name"), &name, E));
    OK(cst_object_set_path(ada, text("badge"), &badge, E));
    OK(cst_context_save(context, E));
    cst_key key = CST_NO_KEY;
    OK(cst_entity_key(find_entity(model, "Employee"), text("age"), &key, E));
    OK(cst_object_get(ada, key, &age, E));
    CHECK_INT(18, age.as.integer);
    OK(cst_release(ada));
    OK(cst_release(context));
    OK(cst_release(coordinator));
    OK(cst_release(model));
}

static void text_has_a_size_or_ends_with_nul(void) {
    cst_model *model = NULL;
    OK(cst_model_new_from_text(text_of_size("{\"A\": {}} and more", 9), &model, E));
    CHECK_INT(1, cst_model_entity_count(model));
    OK(cst_release(model));
    model = read_model("{}");
    CHECK_INT(0, cst_model_entity_count(model));
    OK(cst_release(model));
    model = (cst_model *)&model;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_model_new_from_text((cst_string){NULL, 0}, &model, E));
    CHECK(model == NULL);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_model_new_from_text(text("{}"), NULL, E));
    CHECK_STATUS(CST_E_INVALID_UTF8, cst_model_new_from_text(text("{\"A\xff\": {}}"), &model, E));
    CHECK_STATUS(CST_E_INVALID_UTF8, cst_model_new_from_text(text_of_size("{\"A\xc3", 4), &model, E));
    CHECK(model == NULL);
    /* A NUL within the text is not JSON. */
    CHECK_STATUS(CST_E_MODEL, cst_model_new_from_text(text_of_size("{}\0", 3), &model, E));
}

struct mistake {
    const char *text, *entity, *key, *words;
};

static void text_errors_name_entity_key_and_word(void) {
    static const struct mistake mistakes[] = {
        {"{\"A\": {\"x\": \"strin\"}}", "A", "x", "\"strin\" is not an attribute type; did you mean \"string\"?"},
        {"{\"A\": {\"x\": \"int indexd\"}}", "A", "x", "\"indexd\""},
        {"{\"A\": {\"x\": \"to-one B\"}}", "A", "x", "has the destination \"B\""},
        {"{\"A\": {\"x\": \"to-one A inverse y\"}}", "A", "x", "has the inverse \"y\""},
        {"{\"A\": {\"x\": \"int\", \"x\": \"int\"}}", "A", "x", "more than once"},
        {"{\"A\": {}, \"A\": {}}", "A", NULL, "more than once"},
        {"{\"A\": {\"p\": {\"x\": \"to-one A\"}}}", "A", "p.x", "is an element"},
        {"{\"A\": {\"@parnt\": \"B\"}}", "A", NULL, "did you mean \"@parent\"?"},
        {"{\"A\": {\"@parent\": \"B\"}}", "A", NULL, "inherits from \"B\""},
        {"{\"A\": {\"x\": {\"type\": \"int\", \"optinal\": true}}}", "A", "x", "did you mean \"optional\"?"},
        {"{\n  \"A\" {}\n}", NULL, NULL, "is missing a \":\", at line 2, column 7"},
        {"", NULL, NULL, "at line 1, column 1"},
        {"[]", NULL, NULL, "the model text is a list"},
    };
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        cst_model *model = NULL;
        CHECK_STATUS(CST_E_MODEL, cst_model_new_from_text(text(mistakes[i].text), &model, E));
        CHECK(model == NULL);
        CHECK_INT(CST_CODE_CORE_DATA, cst_error_code(check_error()));
        CHECK_TEXT(mistakes[i].entity, cst_error_entity(check_error()));
        CHECK_TEXT(mistakes[i].key, cst_error_key(check_error()));
        CHECK_CONTAINS(mistakes[i].words, cst_error_message(check_error()));
    }
    cst_model *model = NULL;
    CHECK_STATUS(CST_E_MODEL, cst_model_new_from_text(text("{\n  \"A\" {}\n}"), &model, E));
    CHECK_INT(8, cst_error_offset(check_error()));
    CHECK_STATUS(CST_E_VALIDATION, cst_model_new_from_text(text("{\"A\": {\"x\": \"int16 = 70000\"}}"), &model, E));
    CHECK_TEXT("x", cst_error_key(check_error()));
    CHECK_STATUS(CST_E_PREDICATE_SYNTAX,
                 cst_model_new_from_text(text("{\"A\": {\"x\": \"derived int = a +\"}}"), &model, E));
    CHECK_TEXT("x", cst_error_key(check_error()));
}

static void text_can_be_added_to_a_model(void) {
    cst_model *model = read_model("{\"A\": {\"x\": \"int\"}}");
    OK(cst_model_add_text(model, text("{\"B\": {\"a\": \"to-one A? inverse bs\"}, \"A\": {\"bs\": \"to-many B\"}}"),
                          NULL, E));
    CHECK_INT(2, cst_model_entity_count(model));
    CHECK_INT(2, cst_entity_property_count(find_entity(model, "A")));
    OK(cst_model_freeze(model, E));
    CHECK_STATUS(CST_E_MODEL, cst_model_add_text(model, text("{\"C\": {}}"), NULL, E));
    OK(cst_release(model));
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_model_add_text(NULL, text("{}"), NULL, E));

    OK(cst_model_new(&model, E));
    CHECK_STATUS(CST_E_MODEL, cst_model_add_text(model, text("{\"A\": {\"b\": \"to-one B\"}}"), NULL, E));
    CHECK_STATUS(CST_E_MODEL, cst_model_add_text(model, text("{\"C\": {}}"), NULL, E));
    CHECK_TEXT("b", cst_error_key(check_error()));
    OK(cst_release(model));
}

static void missing_destinations_and_inverses_are_reported(void) {
    cst_model *model = NULL;
    cst_buffer missing = {0};
    cst_entity *b;
    cst_relationship *relationship;
    OK(cst_model_new(&model, E));
    OK(cst_model_add_text(model, text("{\"A\": {\"b\": \"to-one B? inverse a\", \"c\": \"to-one A inverse d\"}}"),
                          &missing, E));
    CHECK_TEXT("[{\"destination\": \"B\", \"entity\": \"A\", \"inverse\": \"a\", \"key\": \"b\"}, "
               "{\"destination\": \"A\", \"entity\": \"A\", \"inverse\": \"d\", \"key\": \"c\"}]",
               text_of_size(missing.data, missing.size));
    CHECK_STATUS(CST_E_MODEL, cst_model_freeze(model, E));
    CHECK_TEXT("b", cst_error_key(check_error()));
    OK(cst_model_add_text(model, text("{\"B\": {}}"), &missing, E));
    CHECK_TEXT("[]", text_of_size(missing.data, missing.size));
    OK(cst_model_entity(model, text("B"), &b, E));
    OK(cst_entity_relationship(find_entity(model, "A"), text("b"), &relationship, E));
    OK(cst_relationship_set_destination(relationship, b, E));
    OK(cst_model_freeze(model, E));
    cst_buffer_dispose(&missing);
    OK(cst_release(model));
}

/* Every prefix of a text, and the text without each of its bytes, is a model or an error. */
static void truncated_texts_are_read_or_refused(void) {
    char cut[sizeof people];
    size_t size = sizeof people - 1, refused = 0;
    for (size_t i = 0; i < 2 * size; i++) {
        cst_model *model = NULL;
        size_t place = i % size, length = i < size ? place : size - 1;
        memcpy(cut, people, place);
        if (i >= size) memcpy(cut + place, people + place + 1, size - place - 1);
        cst_status status = cst_model_new_from_text(text_of_size(cut, length), &model, E);
        CHECK((status == CST_OK) == (model != NULL));
        if (status == CST_OK) OK(cst_release(model));
        if (status != CST_OK) refused++;
    }
    CHECK(refused > size);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(text_and_calls_create_equal_models);
    RUN(a_model_from_text_can_open_a_store);
    RUN(text_has_a_size_or_ends_with_nul);
    RUN(text_errors_name_entity_key_and_word);
    RUN(text_can_be_added_to_a_model);
    RUN(missing_destinations_and_inverses_are_reported);
    RUN(truncated_texts_are_read_or_refused);
    return check_end();
}
