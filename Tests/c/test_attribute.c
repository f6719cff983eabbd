/* Composite and derived attributes.
 *
 * SPDX-License-Identifier: MIT
 */
#include "company.h"

#include <string.h>

struct stack {
    cst_model *model;
    cst_entity *place, *country;
    cst_attribute *location;
    cst_coordinator *coordinator;
    cst_context *context;
};

static void define(struct stack *s) {
    uint32_t optional = CST_PROPERTY_OPTIONAL;
    memset(s, 0, sizeof *s);
    OK(cst_model_new(&s->model, E));
    OK(cst_model_add_entity(s->model, text("Place"), &s->place, E));
    OK(cst_model_add_entity(s->model, text("Country"), &s->country, E));
    OK(cst_entity_add_attribute(s->place, text("name"), CST_ATTRIBUTE_STRING, optional, NULL, E));
    OK(cst_entity_add_attribute(s->place, text("location"), CST_ATTRIBUTE_COMPOSITE, optional, &s->location, E));
    OK(cst_attribute_add_element(s->location, text("latitude"), CST_ATTRIBUTE_DOUBLE, optional, NULL, E));
    cst_attribute *address = NULL, *street = NULL;
    OK(cst_attribute_add_element(s->location, text("address"), CST_ATTRIBUTE_COMPOSITE, optional, &address, E));
    OK(cst_attribute_add_element(address, text("street"), CST_ATTRIBUTE_STRING, optional, &street, E));
    cst_value elm = {.type = CST_STRING};
    elm.as.string = text("Elm");
    OK(cst_attribute_set_default(street, &elm, E));
    cst_relationship *country = NULL, *places = NULL;
    OK(cst_entity_add_relationship(s->place, text("country"), s->country, optional, &country, E));
    OK(cst_entity_add_relationship(s->country, text("places"), s->place, optional | CST_PROPERTY_TO_MANY, &places, E));
    OK(cst_relationship_set_inverse(country, places, E));
    cst_attribute *count = NULL, *search = NULL;
    OK(cst_entity_add_attribute(s->country, text("count"), CST_ATTRIBUTE_INTEGER_64, optional, &count, E));
    OK(cst_attribute_set_derivation(count, text("places.@count"), (cst_string){0}, E));
    OK(cst_entity_add_attribute(s->place, text("search"), CST_ATTRIBUTE_STRING, optional, &search, E));
    OK(cst_attribute_set_derivation(search, text("canonical:(name)"), (cst_string){0}, E));
}

static void open_stack(struct stack *s, const char *path) {
    OK(cst_coordinator_new(s->model, &s->coordinator, E));
    OK(cst_coordinator_add_store(s->coordinator, text("SQLite"), text(path), NULL, NULL, E));
    OK(cst_context_new(s->coordinator, CST_QUEUE_CALLER, &s->context, E));
}

static void close_stack(struct stack *s) {
    if (s->context) OK(cst_release(s->context));
    if (s->coordinator) OK(cst_release(s->coordinator));
    OK(cst_release(s->model));
}

static cst_key key(cst_entity *entity, const char *path) {
    cst_key found = CST_NO_KEY;
    OK(cst_entity_key(entity, text(path), &found, E));
    return found;
}

static void composite_elements_are_accessed_by_key_and_path(void) {
    struct stack s;
    define(&s);
    open_stack(&s, check_path("places.sqlite"));
    cst_object *place = NULL;
    OK(cst_context_insert(s.context, s.place, &place, E));
    cst_value value = {.type = CST_DOUBLE}, found;
    value.as.real = 52.5;
    OK(cst_object_set(place, key(s.place, "location.latitude"), &value, E));
    OK(cst_object_get_path(place, text("location.address.street"), &found, E));
    CHECK_TEXT("Elm", found.as.string);
    value.type = CST_STRING;
    value.as.string = text("Oak");
    OK(cst_object_set_path(place, text("location.address.street"), &value, E));
    OK(cst_context_save(s.context, E));
    OK(cst_object_refresh(place, false, E));
    OK(cst_object_get(place, key(s.place, "location.latitude"), &found, E));
    CHECK(found.type == CST_DOUBLE && found.as.real == 52.5);
    bool changed = true;
    OK(cst_object_is_changed(place, key(s.place, "location"), &changed, E));
    CHECK(!changed);
    OK(cst_object_set_path(place, text("location.address.street"), &value, E));
    OK(cst_object_is_changed(place, key(s.place, "location"), &changed, E));
    CHECK(changed);
    CHECK_STATUS(CST_E_TYPE_MISMATCH, cst_object_get(place, key(s.place, "location"), &found, E));
    CHECK_CONTAINS("location.latitude", cst_error_message(check_error()));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_get_path(place, text("location.longitude"), &found, E));
    CHECK_TEXT("location.longitude", cst_error_key(check_error()));
    cst_key none = 0;
    CHECK_STATUS(CST_NOT_FOUND, cst_entity_key(s.place, text("location.longitude"), &none, E));
    OK(cst_release(place));
    close_stack(&s);
}

static void invalid_composite_elements_are_refused(void) {
    struct stack s;
    define(&s);
    CHECK_STATUS(CST_E_MODEL,
                 cst_attribute_add_element(s.location, text("latitude"), CST_ATTRIBUTE_DOUBLE, 0, NULL, E));
    CHECK_TEXT("location.latitude", cst_error_key(check_error()));
    CHECK_STATUS(CST_E_MODEL, cst_model_freeze(s.model, E));
    OK(cst_release(s.model));
    define(&s);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_attribute_add_element(s.location, text("x"), 12345, 0, NULL, E));
    OK(cst_release(s.model));
    define(&s);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                 cst_attribute_add_element(s.location, text("x"), CST_ATTRIBUTE_DOUBLE, CST_PROPERTY_INDEXED, NULL, E));
    OK(cst_release(s.model));
}

static void a_default_that_is_a_null_pointer_is_refused(void) {
    struct stack s;
    define(&s);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_attribute_set_default(s.location, NULL, E));
    CHECK_TEXT("value is NULL for the default of Place.location; pass a value of type CST_NULL to remove the default",
               cst_error_message(check_error()));
    OK(cst_release(s.model));
}

static void the_store_computes_derived_attributes(void) {
    struct stack s;
    define(&s);
    open_stack(&s, check_path("derived.sqlite"));
    cst_object *place = NULL, *country = NULL;
    OK(cst_context_insert(s.context, s.place, &place, E));
    OK(cst_context_insert(s.context, s.country, &country, E));
    cst_value value = {.type = CST_STRING}, found;
    value.as.string = text("Zo\xc3\xab");
    OK(cst_object_set(place, key(s.place, "name"), &value, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_set(place, key(s.place, "search"), &value, E));
    CHECK_TEXT("search", cst_error_key(check_error()));
    value.type = CST_OBJECT;
    value.as.object = country;
    OK(cst_object_set(place, key(s.place, "country"), &value, E));
    OK(cst_object_get(country, key(s.country, "count"), &found, E));
    CHECK(found.type == CST_NULL);
    OK(cst_context_save(s.context, E));
    OK(cst_object_get(country, key(s.country, "count"), &found, E));
    CHECK(found.type == CST_INT && found.as.integer == 1);
    OK(cst_object_get(place, key(s.place, "search"), &found, E));
    CHECK_TEXT("zoe", found.as.string);
    OK(cst_release(place));
    OK(cst_release(country));
    close_stack(&s);
}

static void unsupported_derivations_are_refused(void) {
    struct stack s;
    define(&s);
    cst_attribute *odd = NULL;
    OK(cst_entity_add_attribute(s.country, text("odd"), CST_ATTRIBUTE_INTEGER_64, CST_PROPERTY_OPTIONAL, &odd, E));
    OK(cst_attribute_set_derivation(odd, text("places.@count"), text("name != nil"), E));
    OK(cst_coordinator_new(s.model, &s.coordinator, E));
    CHECK_STATUS(CST_E_UNSUPPORTED, cst_coordinator_add_store(s.coordinator, text("SQLite"),
                                                              text(check_path("odd.sqlite")), NULL, NULL, E));
    CHECK_TEXT("Country", cst_error_entity(check_error()));
    CHECK_TEXT("odd", cst_error_key(check_error()));
    close_stack(&s);
    define(&s);
    CHECK_STATUS(CST_E_PREDICATE_SYNTAX, cst_attribute_set_derivation(s.location, text("(("), (cst_string){0}, E));
    close_stack(&s);
}

static cst_attribute *typed(cst_entity *entity, const char *name, cst_attribute_type type) {
    cst_attribute *attribute = NULL;
    OK(cst_entity_add_attribute(entity, text(name), type, CST_PROPERTY_OPTIONAL, &attribute, E));
    return attribute;
}

static cst_value words(const char *string) { return (cst_value){.type = CST_STRING, .as = {.string = text(string)}}; }

/* The value as the attribute stores it, in its own memory; null is the default. */
static void text_is_converted_to_the_type_of_the_attribute(void) {
    cst_model *model = NULL;
    cst_entity *item = NULL;
    OK(cst_model_new(&model, E));
    OK(cst_model_add_entity(model, text("Item"), &item, E));
    cst_attribute *number = typed(item, "number", CST_ATTRIBUTE_INTEGER_32);
    cst_attribute *flag = typed(item, "flag", CST_ATTRIBUTE_BOOLEAN), *real = typed(item, "real", CST_ATTRIBUTE_DOUBLE);
    cst_attribute *date = typed(item, "date", CST_ATTRIBUTE_DATE), *data = typed(item, "data", CST_ATTRIBUTE_BINARY);
    cst_attribute *label = typed(item, "label", CST_ATTRIBUTE_STRING), *id = typed(item, "id", CST_ATTRIBUTE_UUID);
    cst_attribute *site = typed(item, "site", CST_ATTRIBUTE_URI);
    cst_value given = words("42"), out = {.type = CST_INT};
    OK(cst_attribute_convert(number, &given, &out, E));
    CHECK(out.type == CST_INT && out.as.integer == 42);
    given = words("true");
    OK(cst_attribute_convert(flag, &given, &out, E));
    CHECK(out.type == CST_BOOL && out.as.boolean);
    given = words("0.5");
    OK(cst_attribute_convert(real, &given, &out, E));
    CHECK(out.type == CST_DOUBLE);
    CHECK_REAL(0.5, out.as.real);
    given = words("2001-01-02T00:00:00Z");
    OK(cst_attribute_convert(date, &given, &out, E));
    CHECK(out.type == CST_DATE);
    CHECK_REAL(86400, out.as.date);
    given = words("AQID");
    OK(cst_attribute_convert(data, &given, &out, E));
    CHECK(out.type == CST_BYTES && out.as.bytes.size == 3 && memcmp(out.as.bytes.data, "\1\2\3", 3) == 0);
    cst_value_dispose(&out);
    CHECK_INT(CST_NULL, out.type);
    given = (cst_value){.type = CST_INT, .as = {.integer = 7}};
    OK(cst_attribute_convert(label, &given, &out, E));
    CHECK_TEXT("7", out.as.string);
    cst_value_dispose(&out);
    given = words("00000000-0000-0000-0000-0000000000FF");
    OK(cst_attribute_convert(id, &given, &out, E));
    CHECK(out.type == CST_UUID && out.as.uuid[15] == 255 && out.as.uuid[0] == 0);
    given = words("a:b");
    OK(cst_attribute_convert(site, &given, &out, E));
    CHECK(out.type == CST_URI);
    CHECK_TEXT("a:b", out.as.string);
    cst_value_dispose(&out);
    given = (cst_value){.type = CST_NULL};
    OK(cst_attribute_convert(number, &given, &out, E));
    CHECK_INT(CST_NULL, out.type);
    const cst_value nine = {.type = CST_INT, .as = {.integer = 9}};
    OK(cst_attribute_set_default(number, &nine, E));
    OK(cst_attribute_convert(number, &given, &out, E));
    CHECK(out.type == CST_INT && out.as.integer == 9);
    given = words("many");
    CHECK_STATUS(CST_E_TYPE_MISMATCH, cst_attribute_convert(number, &given, &out, E));
    CHECK_TEXT("Item", cst_error_entity(check_error()));
    CHECK_TEXT("number", cst_error_key(check_error()));
    CHECK_INT(CST_NULL, out.type);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_attribute_convert(number, NULL, &out, E));
    given = (cst_value){.type = CST_NULL};
    OK(cst_attribute_set_default(number, &given, E));
    OK(cst_release(model));
}

/* Settings that do not apply to the new type are removed. */
static void a_type_change_removes_unsuitable_settings(void) {
    cst_model *model = NULL;
    cst_entity *item = NULL;
    cst_buffer json = {0};
    OK(cst_model_new(&model, E));
    OK(cst_model_add_entity(model, text("Item"), &item, E));
    cst_attribute *label = typed(item, "label", CST_ATTRIBUTE_STRING);
    const cst_value red = words("red");
    OK(cst_attribute_set_default(label, &red, E));
    OK(cst_attribute_set_pattern(label, text("r.*"), E));
    OK(cst_entity_copy_json(item, text("label"), &json, E));
    CHECK_CONTAINS("\"red\"", text(json.data));
    CHECK_CONTAINS("r.*", text(json.data));
    OK(cst_attribute_set_type(label, CST_ATTRIBUTE_DATE, E));
    OK(cst_entity_copy_json(item, text("label"), &json, E));
    CHECK_TEXT("{\"name\": \"label\", \"optional\": true, \"type\": \"Date\"}", text_of_size(json.data, json.size));
    OK(cst_attribute_set_type(label, CST_ATTRIBUTE_TRANSFORMABLE, E));
    OK(cst_attribute_set_transformer_name(label, text("T"), E));
    OK(cst_attribute_set_transformer_name(label, (cst_string){NULL, 0}, E));
    OK(cst_attribute_set_value_class(label, text("NSArray"), E));
    OK(cst_entity_copy_json(item, text("label"), &json, E));
    CHECK_CONTAINS("NSArray", text(json.data));
    OK(cst_attribute_set_value_class(label, (cst_string){NULL, 0}, E));
    OK(cst_entity_copy_json(item, text("label"), &json, E));
    CHECK(strstr(json.data, "NSArray") == NULL);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_attribute_set_type(label, 42, E));
    CHECK_TEXT("Item.label: 42 is not an attribute type; use a CST_ATTRIBUTE_ constant",
               cst_error_message(check_error()));
    CHECK_TEXT("Item", cst_error_entity(check_error()));
    CHECK_TEXT("label", cst_error_key(check_error()));
    cst_buffer_dispose(&json);
    OK(cst_release(model));
}

int main(int count, char **arguments) {
    check_begin(count, arguments);
    RUN(composite_elements_are_accessed_by_key_and_path);
    RUN(invalid_composite_elements_are_refused);
    RUN(a_default_that_is_a_null_pointer_is_refused);
    RUN(the_store_computes_derived_attributes);
    RUN(unsupported_derivations_are_refused);
    RUN(text_is_converted_to_the_type_of_the_attribute);
    RUN(a_type_change_removes_unsuitable_settings);
    return check_end();
}
