/* CST_TEXT, the constructors of values for each type, and CST_TRY.
 *
 * SPDX-License-Identifier: MIT
 */
#include "company.h"
#include <corestone/example.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const uint8_t uuid[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 255};
static const uint8_t bytes[5] = {0, 255, 1, 0, 128};
static const cst_string outside[] = {CST_TEXT_INIT("name"), CST_TEXT_INIT("")};

static void string_macros_have_the_size_of_their_literals(void) {
    const cst_string string = CST_TEXT("Zo\xc3\xab");
    CHECK_INT(4, string.size);
    CHECK_TEXT("Zo\xc3\xab", string);
    CHECK_INT(3, CST_TEXT("a\0b").size);
    CHECK_INT(4, outside[0].size);
    CHECK(CST_TEXT("").data != NULL && CST_TEXT("").size == 0);
    CHECK(outside[1].data != NULL && outside[1].size == 0);
    CHECK(strcmp("text", cst_string_from("text").data) == 0);
    CHECK_INT(CST_NUL, cst_string_from("text").size);
    CHECK(cst_string_from(NULL).data == NULL && cst_string_from(NULL).size == 0);
}

static void value_constructors_suit_attributes_of_every_type(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *object = NULL;
    OK(cst_context_insert(c.context, c.employee, &object, E));
    set(object, c.name, cst_value_string(CST_TEXT("Ada")));
    set(object, c.number, cst_value_int(INT64_MIN));
    set(object, c.salary, cst_value_decimal(-123456, -2));
    set(object, c.rating, cst_value_double(0.1));
    set(object, c.active, cst_value_bool(true));
    set(object, c.hired, cst_value_date(-978307200.25));
    set(object, c.photo, cst_value_bytes(bytes, sizeof bytes));
    set(object, c.badge, cst_value_uuid(uuid));
    set(object, c.site, cst_value_uri(CST_TEXT("https://example.org/")));
    set(object, c.notes, cst_value_null());
    save(c.context);
    OK(cst_object_refresh(object, false, E));

    CHECK_TEXT("Ada", get_text(object, c.name));
    CHECK_INT(INT64_MIN, get_int(object, c.number));
    cst_value value = get(object, c.salary);
    CHECK_INT(CST_DECIMAL, value.type);
    CHECK(CST_DECIMAL_NEGATIVE(value.aux));
    CHECK_INT(-2, CST_DECIMAL_EXPONENT(value.aux));
    CHECK_INT(123456, value.as.decimal.mantissa[0]);
    CHECK_REAL(0.1, get(object, c.rating).as.real);
    CHECK(get(object, c.active).as.boolean);
    CHECK_REAL(-978307200.25, get(object, c.hired).as.date);
    value = get(object, c.photo);
    CHECK(value.as.bytes.size == sizeof bytes && memcmp(value.as.bytes.data, bytes, sizeof bytes) == 0);
    CHECK(memcmp(get(object, c.badge).as.uuid, uuid, 16) == 0);
    value = get(object, c.site);
    CHECK_INT(CST_URI, value.type);
    CHECK_TEXT("https://example.org/", value.as.string);
    CHECK_INT(CST_NULL, get(object, c.notes).type);
    CHECK_INT(0, cst_value_null().aux);
    cst_release(object);
    company_close(&c);
}

static void decimal_constructors_cover_the_limits_of_decimals(void) {
    cst_value value = cst_value_decimal(INT64_MIN, 127);
    CHECK(CST_DECIMAL_NEGATIVE(value.aux));
    CHECK(value.as.decimal.mantissa[0] == (uint64_t)1 << 63 && value.as.decimal.mantissa[1] == 0);
    CHECK_INT(127, CST_DECIMAL_EXPONENT(value.aux));
    value = cst_value_decimal_wide(true, 7, UINT64_MAX, -128);
    CHECK(CST_DECIMAL_NEGATIVE(value.aux));
    CHECK_INT(-128, CST_DECIMAL_EXPONENT(value.aux));
    CHECK(value.as.decimal.mantissa[0] == UINT64_MAX && value.as.decimal.mantissa[1] == 7);
    CHECK(!CST_DECIMAL_NEGATIVE(cst_value_decimal(0, 0).aux));
    CHECK_REAL(0, cst_value_date_from_unix(978307200).as.date);
}

/* Whether a predicate with one argument is true for a value. */
static bool holds(const char *format, cst_value argument, cst_value value) {
    cst_predicate *predicate = NULL;
    bool result = false;
    OK(cst_predicate_parse(text(format), 1, &argument, &predicate, E));
    OK(cst_predicate_evaluate_value(predicate, &value, NULL, &result, E));
    OK(cst_release(predicate));
    return result;
}

static void collections_and_expressions_can_be_predicate_arguments(void) {
    const cst_value numbers[] = {cst_value_int(1), cst_value_int(2)};
    CHECK(holds("SELF IN %@", cst_value_array(2, numbers), cst_value_int(2)));
    CHECK(!holds("SELF IN %@", cst_value_set(2, numbers), cst_value_int(3)));
    const cst_value entries[] = {cst_value_string(CST_TEXT("age")), cst_value_int(36)};
    CHECK(holds("age == %d", cst_value_int(36), cst_value_dictionary(2, entries)));
    cst_expression *sum = NULL;
    OK(cst_expression_parse(CST_TEXT("1 + 2"), 0, NULL, &sum, E));
    CHECK(holds("SELF == %@", cst_value_expression(sum), cst_value_int(3)));
    OK(cst_release(sum));
}

static cst_status length_of(void *object, cst_string key, cst_value *out_value, cst_error **error) {
    (void)error;
    if (key.size != 6 || memcmp(key.data, "length", 6) != 0) return CST_NOT_FOUND;
    *out_value = cst_value_int((int64_t)strlen(object));
    return CST_OK;
}

static void host_objects_can_be_predicate_arguments(void) {
    char word[] = "three";
    cst_host_callbacks callbacks = CST_HOST_CALLBACKS_INIT;
    callbacks.value_for_key = length_of;
    CHECK(holds("length == %d", cst_value_int(5), cst_value_host(&callbacks, word)));
}

static void value_constructors_cover_objects_ids_and_defaults(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *object = NULL;
    cst_object_id *id = NULL;
    OK(cst_context_insert(c.context, c.employee, &object, E));
    set(object, c.name, cst_value_string(CST_TEXT("Ada")));
    save(c.context);
    OK(cst_object_copy_id(object, &id, E));
    CHECK(holds("SELF == %@", cst_value_object_id(id), cst_value_object(object)));
    CHECK_INT(CST_DEFAULT, cst_value_default().type);
    cst_release(id);
    cst_release(object);
    company_close(&c);
}

/* 1 when the call fails, and the label was reached. */
static int tries(cst_string path) {
    int result = 1;
    cst_error *error = NULL;
    cst_model *model = NULL;
    CST_TRY(cst_model_load(path, CST_TEXT(""), &model, &error));
    result = 0;
failed:
    CHECK(error == NULL);
    cst_release(model);
    return result;
}

static void a_failed_try_prints_the_error_and_jumps_to_the_label(void) {
    const char *path = check_path("stderr");
    fflush(stderr);
    int saved = dup(2);
    REQUIRE(saved >= 0 && freopen(path, "w", stderr) != NULL);
    int result = tries(CST_TEXT("/nonexistent/Model.mom"));
    fflush(stderr);
    dup2(saved, 2);
    close(saved);
    CHECK_INT(1, result);
    char printed[2048] = "";
    FILE *file = fopen(path, "r");
    REQUIRE(file != NULL);
    size_t size = fread(printed, 1, sizeof printed - 1, file);
    fclose(file);
    printed[size] = 0;
    CHECK_CONTAINS("test_inline.c:", text(printed));
    CHECK_CONTAINS("cst_model_load(path, CST_TEXT(\"\"), &model, &error) failed with status -", text(printed));
    CHECK_CONTAINS("/nonexistent/Model.mom", text(printed));
}

static cst_status or_returns(void) {
    cst_error *error = NULL;
    cst_model *model = NULL;
    CST_TRY_OR(cst_model_new(&model, &error), return CST_E_INTERNAL);
    cst_release(model);
    CST_TRY_OR(CST_NOT_FOUND, return CST_E_INTERNAL);
    return CST_OK;
}

static void a_successful_try_continues(void) { CHECK_INT(CST_OK, or_returns()); }

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(string_macros_have_the_size_of_their_literals);
    RUN(value_constructors_suit_attributes_of_every_type);
    RUN(decimal_constructors_cover_the_limits_of_decimals);
    RUN(collections_and_expressions_can_be_predicate_arguments);
    RUN(host_objects_can_be_predicate_arguments);
    RUN(value_constructors_cover_objects_ids_and_defaults);
    RUN(a_failed_try_prints_the_error_and_jumps_to_the_label);
    RUN(a_successful_try_continues);
    return check_end();
}
