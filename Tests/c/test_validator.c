/* Validators: the host's functions that check values and objects before they are saved.
 *
 * SPDX-License-Identifier: MIT
 */
#include "company.h"

#include <string.h>

static int destroyed, asked, replacing;
static uint32_t last_purpose;

static void count_end(void *userdata) { destroyed += *(int *)userdata; }

/* Refuses "bad", writes "ada" as "Ada". */
static cst_status check_name(void *userdata, cst_object *object, uint32_t purpose, cst_value *value,
                             cst_error **error) {
    (void)userdata;
    asked++;
    last_purpose = purpose;
    CHECK(object != NULL);
    if (value->type != CST_STRING) return CST_OK;
    if (strcmp(value->as.string.data, "bad") == 0) {
        cst_error_new_custom(text("App"), replacing ? 4711 : 0, text("a bad name"), NULL, NULL, error);
        return CST_E_CALLBACK;
    }
    if (strcmp(value->as.string.data, "ada") == 0) value->as.string = text("Ada");
    return CST_OK;
}

static bool releases; /* The error, before the callback returns it. */

static cst_status check_object(void *userdata, cst_object *object, uint32_t purpose, cst_value *value,
                               cst_error **error) {
    (void)userdata, (void)object;
    CHECK(value == NULL);
    last_purpose = purpose;
    if (releases) {
        cst_error_new_custom(text("App"), 0, text("released"), NULL, NULL, error);
        cst_release(*error);
    }
    return purpose == CST_VALIDATE_DELETE ? CST_E_CALLBACK : CST_OK;
}

static int one = 1;

static struct company begin(bool objects) {
    struct company c = {0};
    c.model = company_model();
    cst_entity *person = NULL;
    OK(cst_model_entity(c.model, text("Person"), &person, E));
    OK(cst_entity_add_validator(person, text("name"), check_name, &one, count_end, E));
    if (objects) OK(cst_entity_add_validator(person, (cst_string){NULL, 0}, check_object, &one, count_end, E));
    destroyed = asked = replacing = 0;
    OK(cst_coordinator_new(c.model, &c.coordinator, E));
    OK(cst_coordinator_add_store(c.coordinator, text("SQLite"), text(check_path("s.sqlite")), NULL, &c.store, E));
    company_resolve(&c);
    c.context = company_context(&c, CST_QUEUE_CALLER);
    return c;
}

static void a_validator_replaces_and_refuses_values(void) {
    struct company c = begin(false);
    cst_object *ada = company_employee(&c, c.context, "ada", 1);
    save(c.context);
    CHECK_INT(1, asked);
    CHECK_INT(CST_VALIDATE_INSERT, last_purpose);
    cst_value value;
    OK(cst_object_get(ada, c.name, &value, E));
    CHECK_TEXT("Ada", value.as.string);
    set(ada, c.name, value_text("bad"));
    CHECK_STATUS(CST_E_VALIDATION, cst_context_save(c.context, E));
    CHECK_INT(CST_VALIDATE_UPDATE, last_purpose);
    CHECK_INT(CST_CODE_MANAGED_OBJECT_VALIDATION, cst_error_code(check_error()));
    CHECK_TEXT("a bad name", cst_error_message(check_error()));
    CHECK_TEXT("Employee", cst_error_entity(check_error()));
    CHECK_TEXT("name", cst_error_key(check_error()));
    OK(cst_error_value(check_error(), &value));
    CHECK_TEXT("bad", value.as.string);
    CHECK(cst_error_object_uri(check_error()).data != NULL);
    replacing = 1;
    CHECK_STATUS(CST_E_VALIDATION, cst_object_validate(ada, CST_VALIDATE_UPDATE, E));
    CHECK_INT(4711, cst_error_code(check_error()));
    const cst_value small = value_text("ada"), bad = value_text("bad");
    OK(cst_object_validate_value(ada, c.name, &small, &value, E));
    CHECK_INT(0, last_purpose);
    CHECK_TEXT("Ada", value.as.string);
    CHECK_STATUS(CST_E_VALIDATION, cst_object_validate_value(ada, c.name, &bad, NULL, E));
    OK(cst_release(ada));
    company_close(&c);
    CHECK_INT(1, destroyed);
}

static void several_validator_failures_become_details(void) {
    struct company c = begin(false);
    cst_object *one_bad = company_employee(&c, c.context, "bad", 1),
               *two_bad = company_employee(&c, c.context, "bad", 2);
    CHECK_STATUS(CST_E_VALIDATION, cst_context_validate(c.context, E));
    CHECK_INT(CST_CODE_VALIDATION_MULTIPLE_ERRORS, cst_error_code(check_error()));
    CHECK_INT(2, cst_error_detail_count(check_error()));
    OK(cst_release(one_bad));
    OK(cst_release(two_bad));
    company_close(&c);
}

static void an_object_validator_checks_inserted_and_deleted_objects(void) {
    struct company c = begin(true);
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    save(c.context);
    CHECK_INT(CST_VALIDATE_INSERT, last_purpose);
    OK(cst_context_delete(c.context, ada, E));
    CHECK_STATUS(CST_E_VALIDATION, cst_context_save(c.context, E));
    CHECK_INT(CST_CODE_MANAGED_OBJECT_VALIDATION, cst_error_code(check_error()));
    CHECK_CONTAINS("the host's validator failed with status", cst_error_message(check_error()));
    CHECK_CONTAINS("*error was not set; set it with cst_error_new_custom", cst_error_message(check_error()));
    releases = true;
    CHECK_STATUS(CST_E_VALIDATION, cst_context_save(c.context, E));
    CHECK_CONTAINS("*error is not the handle of an error, or was released", cst_error_message(check_error()));
    releases = false;
    OK(cst_release(ada));
    company_close(&c);
    CHECK_INT(2, destroyed);
}

static void userdata_of_validators_is_destroyed_once(void) {
    cst_model *model = company_model(), *copy = NULL;
    cst_entity *person = NULL;
    destroyed = 0;
    OK(cst_model_entity(model, text("Person"), &person, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_entity_add_validator(person, text("name"), NULL, &one, count_end, E));
    CHECK_INT(1, destroyed);
    OK(cst_release(model));
    model = company_model();
    OK(cst_model_entity(model, text("Person"), &person, E));
    OK(cst_entity_add_validator(person, text("name"), check_name, &one, count_end, E));
    OK(cst_model_copy(model, &copy, E));
    OK(cst_release(model));
    CHECK_INT(1, destroyed);
    OK(cst_release(copy));
    CHECK_INT(2, destroyed);
    model = company_model();
    OK(cst_model_entity(model, text("Person"), &person, E));
    OK(cst_entity_add_validator(person, text("nmae"), check_name, &one, count_end, E));
    CHECK_STATUS(CST_E_MODEL, cst_model_freeze(model, E));
    CHECK_CONTAINS("did you mean \"name\"", cst_error_message(check_error()));
    OK(cst_release(model));
    CHECK_INT(3, destroyed);
}

static bool is_short(const char *value) { return strlen(value) < 4; }

static cst_status praise(void *userdata, const cst_value *receiver, size_t count, const cst_value *arguments,
                         cst_value *out_value, cst_error **error) {
    (void)userdata, (void)count, (void)arguments, (void)error;
    *out_value = receiver->as.string.data[0] == 'X' ? value_text("too strange") : value_int(1);
    return CST_OK;
}

static void registered_functions_can_be_validators(void) {
    struct company c = {0};
    c.model = company_model();
    cst_entity *person = NULL;
    OK(cst_model_entity(c.model, text("Person"), &person, E));
    OK(cst_function_register_typed(text("is short"), text("bool(const char *)"), (cst_function)is_short, E));
    OK(cst_function_register(text("praise"), praise, NULL, NULL, E));
    OK(cst_entity_add_validator_function(person, text("name"), text("is short"), E));
    OK(cst_entity_add_validator_function(person, text("name"), text("praise"), E));
    OK(cst_coordinator_new(c.model, &c.coordinator, E));
    OK(cst_coordinator_add_store(c.coordinator, text("SQLite"), text(check_path("s.sqlite")), NULL, &c.store, E));
    company_resolve(&c);
    c.context = company_context(&c, CST_QUEUE_CALLER);
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    save(c.context);
    set(ada, c.name, value_text("Ada Lovelace"));
    CHECK_STATUS(CST_E_VALIDATION, cst_context_save(c.context, E));
    CHECK_CONTAINS(", which the function \"is short\" rejected", cst_error_message(check_error()));
    CHECK_TEXT("name", cst_error_key(check_error()));
    set(ada, c.name, value_text("Xyz"));
    CHECK_STATUS(CST_E_VALIDATION, cst_context_save(c.context, E));
    CHECK_CONTAINS("too strange", cst_error_message(check_error()));
    OK(cst_function_unregister(text("praise"), E));
    set(ada, c.name, value_text("Eve"));
    CHECK(cst_context_save(c.context, E) < 0);
    CHECK_CONTAINS("\"praise\" is not registered", cst_error_message(check_error()));
    OK(cst_function_unregister(text("is short"), E));
    OK(cst_release(ada));
    company_close(&c);
}

static int64_t zero_is_fine(const char *value) { return value[0] == 'a' ? 0 : 1; }

static cst_status return_nothing(void *userdata, const cst_value *receiver, size_t count, const cst_value *arguments,
                                 cst_value *out_value, cst_error **error) {
    (void)userdata, (void)receiver, (void)count, (void)arguments, (void)out_value, (void)error;
    asked++;
    return CST_OK;
}

/* Zero or no result rejects the value, any other number accepts it. The function is not called for null. */
static void zero_or_no_result_of_a_function_rejects_the_value(void) {
    struct company c = {0};
    c.model = company_model();
    cst_entity *employee = NULL;
    OK(cst_model_entity(c.model, text("Employee"), &employee, E));
    OK(cst_function_register_typed(text("zero"), text("q(s)"), (cst_function)zero_is_fine, E));
    OK(cst_entity_add_validator_function(employee, text("notes"), text("zero"), E));
    OK(cst_entity_add_validator_function(employee, text("site"), text("nothing"), E));
    OK(cst_function_register(text("nothing"), return_nothing, NULL, NULL, E));
    asked = 0;
    OK(cst_coordinator_new(c.model, &c.coordinator, E));
    OK(cst_coordinator_add_store(c.coordinator, text("InMemory"), (cst_string){NULL, 0}, NULL, &c.store, E));
    company_resolve(&c);
    c.context = company_context(&c, CST_QUEUE_CALLER);
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    OK(cst_context_validate(c.context, E));
    CHECK_INT(0, asked);
    set(ada, c.notes, value_text("b"));
    OK(cst_context_validate(c.context, E));
    set(ada, c.notes, value_text("a"));
    CHECK_STATUS(CST_E_VALIDATION, cst_context_validate(c.context, E));
    CHECK_TEXT("notes", cst_error_key(check_error()));
    set(ada, c.notes, value_null());
    set(ada, c.site, value_uri("a:b"));
    CHECK_STATUS(CST_E_VALIDATION, cst_context_validate(c.context, E));
    CHECK_CONTAINS(", which the function \"nothing\" rejected", cst_error_message(check_error()));
    CHECK_INT(1, asked);
    OK(cst_function_unregister(text("zero"), E));
    OK(cst_function_unregister(text("nothing"), E));
    OK(cst_release(ada));
    OK(cst_context_rollback(c.context, E));
    company_close(&c);
}

/* The elements of a composite attribute are not one value: the function reads them from the object. */
static cst_status check_place(void *userdata, cst_object *object, uint32_t purpose, cst_value *value,
                              cst_error **error) {
    cst_value x;
    (void)userdata, (void)purpose;
    asked++;
    CHECK(value == NULL);
    OK(cst_object_get_path(object, text("place.x"), &x, E));
    if (x.type != CST_DOUBLE || x.as.real >= 0) return CST_OK;
    cst_error_new_custom(text("App"), 0, text("x is negative"), NULL, NULL, error);
    return CST_E_CALLBACK;
}

static void a_validator_reads_a_composite_attribute_from_the_object(void) {
    cst_model *model = NULL;
    cst_entity *pin = NULL;
    cst_attribute *place = NULL;
    cst_coordinator *coordinator = NULL;
    cst_context *context = NULL;
    cst_object *object = NULL;
    OK(cst_model_new(&model, E));
    OK(cst_model_add_entity(model, text("Pin"), &pin, E));
    OK(cst_entity_add_attribute(pin, text("place"), CST_ATTRIBUTE_COMPOSITE, CST_PROPERTY_OPTIONAL, &place, E));
    OK(cst_attribute_add_element(place, text("x"), CST_ATTRIBUTE_DOUBLE, CST_PROPERTY_OPTIONAL, NULL, E));
    OK(cst_entity_add_validator(pin, text("place"), check_place, NULL, NULL, E));
    OK(cst_coordinator_new(model, &coordinator, E));
    OK(cst_coordinator_add_store(coordinator, text("InMemory"), (cst_string){NULL, 0}, NULL, NULL, E));
    OK(cst_context_new(coordinator, CST_QUEUE_CALLER, &context, E));
    OK(cst_context_insert(context, pin, &object, E));
    const cst_value good = value_real(1), bad = value_real(-1);
    asked = 0;
    /* The pointer is NULL for a null attribute too. */
    OK(cst_context_save(context, E));
    CHECK_INT(1, asked);
    cst_key key = CST_NO_KEY;
    const cst_value null = value_null();
    cst_value accepted;
    OK(cst_entity_key(pin, text("place"), &key, E));
    OK(cst_object_validate_value(object, key, &null, &accepted, E));
    CHECK_INT(CST_NULL, accepted.type);
    CHECK_INT(2, asked);
    OK(cst_object_set_path(object, text("place.x"), &good, E));
    OK(cst_context_save(context, E));
    CHECK_INT(3, asked);
    OK(cst_object_set_path(object, text("place.x"), &bad, E));
    CHECK_STATUS(CST_E_VALIDATION, cst_context_save(context, E));
    CHECK_TEXT("x is negative", cst_error_message(check_error()));
    CHECK_TEXT("place", cst_error_key(check_error()));
    OK(cst_context_rollback(context, E));
    OK(cst_release(object));
    OK(cst_release(context));
    OK(cst_release(coordinator));
    OK(cst_release(model));
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(a_validator_replaces_and_refuses_values);
    RUN(a_validator_reads_a_composite_attribute_from_the_object);
    RUN(several_validator_failures_become_details);
    RUN(an_object_validator_checks_inserted_and_deleted_objects);
    RUN(userdata_of_validators_is_destroyed_once);
    RUN(registered_functions_can_be_validators);
    RUN(zero_or_no_result_of_a_function_rejects_the_value);
    return check_end();
}
