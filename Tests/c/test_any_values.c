/* Undefined attributes, which are transient and have values of every type.
 *
 * SPDX-License-Identifier: MIT
 */
#include "company.h"
#include "host.h"

static cst_value host_value(struct person *person) {
    cst_value value = {.type = CST_HOST};
    value.as.host = (cst_host){&person_callbacks, person};
    return value;
}

static void undefined_attribute_holds_an_object_of_the_host(void) {
    struct company c = company_open(check_path("a.sqlite"));
    struct person grace = {"Grace", 85, 0}, other = {"Ada", 36, 0};
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    set(ada, c.scratch, host_value(&grace));
    CHECK_INT(1, grace.kept);
    cst_value found = get(ada, c.scratch);
    CHECK_INT(CST_HOST, found.type);
    CHECK(found.as.host.object == &grace);
    CHECK(found.as.host.callbacks == &person_callbacks);
    cst_value many[2] = {value_null(), value_null()};
    const cst_key keys[2] = {c.name, c.scratch};
    OK(cst_object_get_many(ada, 2, keys, many, E));
    CHECK(many[1].type == CST_HOST && many[1].as.host.object == &grace);
    OK(cst_object_get_primitive(ada, c.scratch, &found, E));
    CHECK(found.type == CST_HOST && found.as.host.object == &grace);

    /* A predicate and a key path read the object. */
    cst_predicate *old = NULL;
    bool holds = false;
    OK(cst_predicate_parse(text("scratch.age > 80"), 0, NULL, &old, E));
    OK(cst_predicate_evaluate(old, ada, &holds, E));
    CHECK(holds);
    OK(cst_release(old));

    set(ada, c.scratch, host_value(&other));
    CHECK_INT(0, grace.kept);
    set(ada, c.scratch, value_int(1));
    CHECK_INT(0, other.kept);
    CHECK_INT(1, get_int(ada, c.scratch));
    set(ada, c.scratch, host_value(&other));
    save(c.context);
    CHECK(get(ada, c.scratch).as.host.object == &other);
    OK(cst_release(ada));
    OK(cst_context_reset(c.context, E));
    CHECK_INT(0, other.kept);
    company_close(&c);
}

static void undefined_attribute_holds_objects_and_ids(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1), *bob = company_employee(&c, c.context, "Bob", 2);
    set(ada, c.scratch, value_object(bob));
    CHECK(get(ada, c.scratch).as.object == bob);
    CHECK_INT(CST_OBJECT, get(ada, c.scratch).type);
    save(c.context);
    cst_object_id *id = NULL;
    OK(cst_object_copy_id(bob, &id, E));
    cst_value value = {.type = CST_OBJECT_ID};
    value.as.object_id = id;
    set(ada, c.scratch, value);
    CHECK_INT(CST_OBJECT_ID, get(ada, c.scratch).type);
    CHECK(cst_object_id_equal(id, get(ada, c.scratch).as.object_id));
    set(ada, c.scratch, value_null());
    CHECK_INT(CST_NULL, get(ada, c.scratch).type);
    OK(cst_release(id));
    OK(cst_release(ada));
    OK(cst_release(bob));
    company_close(&c);
}

static void undefined_attribute_holds_collections(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    const cst_value members[2] = {value_int(1), value_text("two")};
    cst_value list = {.type = CST_ARRAY}, copy = value_null();
    list.as.values = (cst_values){members, 2};
    set(ada, c.scratch, list);
    cst_value found = value_null();
    CHECK_STATUS(CST_E_TYPE_MISMATCH, cst_object_get(ada, c.scratch, &found, E));
    CHECK_CONTAINS("cst_value_copy_at_key_path", cst_error_message(check_error()));
    CHECK_TEXT("scratch", cst_error_key(check_error()));
    const cst_value self = value_object(ada);
    OK(cst_value_copy_at_key_path(&self, text("scratch"), &copy, E));
    CHECK_INT(CST_ARRAY, copy.type);
    CHECK_INT(2, copy.as.values.size);
    CHECK_TEXT("two", copy.as.values.data[1].as.string);
    cst_value_dispose(&copy);
    OK(cst_object_set_path(ada, text("scratch"), &list, E));
    const cst_key key = c.scratch;
    OK(cst_object_set_many(ada, 1, &key, &list, E));
    OK(cst_release(ada));
    company_close(&c);
}

static void other_attributes_refuse_objects_of_the_host(void) {
    struct company c = company_open(check_path("a.sqlite"));
    struct person grace = {"Grace", 85, 0};
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    const cst_value value = host_value(&grace);
    const cst_key keys[] = {c.name, c.number, c.manager, c.blob};
    for (size_t place = 0; place < sizeof keys / sizeof *keys; place++)
        CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_set(ada, keys[place], &value, E));
    CHECK_INT(0, grace.kept);
    cst_value broken = value;
    broken.as.host.callbacks = NULL;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_object_set(ada, c.scratch, &broken, E));
    CHECK_TEXT("Employee", cst_error_entity(check_error()));
    OK(cst_release(ada));
    company_close(&c);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(undefined_attribute_holds_an_object_of_the_host);
    RUN(undefined_attribute_holds_objects_and_ids);
    RUN(undefined_attribute_holds_collections);
    RUN(other_attributes_refuse_objects_of_the_host);
    return check_end();
}
