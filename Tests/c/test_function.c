/* Functions of the host in predicates: callbacks, and plain C functions through libffi.
 *
 * SPDX-License-Identifier: MIT
 */
#include "host.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static cst_status evaluate(const char *format, cst_value self, cst_value *out) {
    cst_expression *expression = NULL;
    OK(cst_expression_parse(text(format), 0, NULL, &expression, E));
    cst_status status = cst_expression_value(expression, &self, NULL, out, E);
    cst_release(expression);
    return status;
}

static double hypotenuse(double a, double b) { return sqrt(a * a + b * b); }
static int8_t small(int8_t a) { return (int8_t)(a - 1); }
static uint64_t widest(void) { return UINT64_MAX; }
static bool is_odd(int64_t a) { return a % 2 != 0; }
static float half(float a) { return a / 2; }
static const char *greet(const char *name) { return name ? name : "nobody"; }
static cst_value same(cst_value value) { return value; }
static int32_t many(uint8_t a, uint16_t b, uint32_t c, int16_t d) { return (int32_t)(a + b + c) + d; }
static cst_object *itself(cst_object *object) { return object; }

typedef void (*plain)(void);
static void add(const char *name, const char *signature, plain function) {
    OK(cst_function_register_typed(text(name), text(signature), function, E));
}

static void plain_functions_are_called_with_c_types(void) {
    cst_value out = {0, 0, {0}};
    add("hypotenuse", "double(double, double)", (plain)hypotenuse);
    add("small", "b(b)", (plain)small);
    add("widest", "uint64_t(void)", (plain)widest);
    add("odd", "bool(int64_t)", (plain)is_odd);
    add("half", "f(f)", (plain)half);
    add("greet", "const char *(const char *)", (plain)greet);
    add("same", "v(v)", (plain)same);
    add("many", "i(BHIh)", (plain)many);
    OK(evaluate("FUNCTION(SELF, 'hypotenuse', 3, 4.0)", value_int(1), &out));
    CHECK_REAL(5, out.as.real);
    OK(evaluate("FUNCTION(SELF, 'hypotenuse', 4)", value_int(3), &out)); /* the receiver first */
    CHECK_REAL(5, out.as.real);
    OK(evaluate("FUNCTION(SELF, 'small')", value_int(-127), &out));
    CHECK_INT(-128, out.as.integer);
    OK(evaluate("FUNCTION(SELF, 'widest')", value_int(1), &out));
    CHECK(out.type == CST_DECIMAL && out.as.decimal.mantissa[0] == UINT64_MAX);
    OK(evaluate("FUNCTION(SELF, 'odd')", value_int(3), &out));
    CHECK(out.type == CST_BOOL && out.as.boolean);
    OK(evaluate("FUNCTION(SELF, 'half')", value_real(3), &out));
    CHECK_REAL(1.5, out.as.real);
    OK(evaluate("FUNCTION(SELF, 'greet')", value_text("Ada"), &out));
    CHECK_TEXT("Ada", out.as.string);
    cst_value_dispose(&out);
    OK(evaluate("FUNCTION(1, 'greet', nil)", value_int(1), &out));
    CHECK_TEXT("nobody", out.as.string);
    cst_value_dispose(&out);
    OK(evaluate("FUNCTION(SELF, 'same')", value_text("as it is"), &out));
    CHECK_TEXT("as it is", out.as.string);
    cst_value_dispose(&out);
    OK(evaluate("FUNCTION(1, 'many', 255, 65535, 1, -1)", value_int(1), &out));
    CHECK_INT(65790, out.as.integer);
    OK(evaluate("FUNCTION(1, 'odd', nil)", value_int(1), &out)); /* no nil in an int64_t */
    CHECK_INT(CST_NULL, out.type);
    static const char *const names[] = {"hypotenuse", "small", "widest", "odd", "half", "greet", "same", "many"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        OK(cst_function_unregister(text(names[i]), E));
    CHECK_INT(CST_NOT_FOUND, cst_function_unregister(text("many"), E));
}

static void objects_are_passed_to_and_returned_by_functions(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 41);
    add("itself", "cst_object *(cst_object *)", (plain)itself);
    cst_value out = {0, 0, {0}};
    OK(evaluate("FUNCTION(SELF, 'itself')", value_object(ada), &out));
    CHECK(out.type == CST_OBJECT && out.as.object == ada);
    cst_value_dispose(&out);
    cst_predicate *named = NULL;
    OK(cst_predicate_parse(text("FUNCTION(SELF, 'itself').name == 'Ada'"), 0, NULL, &named, E));
    bool holds = false;
    OK(cst_predicate_evaluate(named, ada, &holds, E));
    CHECK(holds);
    OK(cst_release(named));
    OK(cst_function_unregister(text("itself"), E));
    OK(cst_release(ada));
    company_close(&c);
}

static void call_errors_name_function_parameter_and_type(void) {
    cst_value out = {0, 0, {0}};
    add("hypotenuse", "d(dd)", (plain)hypotenuse);
    add("small", "b(b)", (plain)small);
    CHECK_STATUS(CST_E_PREDICATE, evaluate("FUNCTION(SELF, 'hypotenuse', 1, 'x')", value_int(1), &out));
    CHECK_TEXT("the function \"hypotenuse\" takes double as parameter 2, not a string",
               cst_error_message(check_error()));
    CHECK_STATUS(CST_E_PREDICATE, evaluate("FUNCTION(SELF, 'small')", value_int(300), &out));
    CHECK_CONTAINS("the function \"small\" takes int8_t as parameter 1", cst_error_message(check_error()));
    CHECK_STATUS(CST_E_PREDICATE, evaluate("FUNCTION(SELF, 'hypotenuse', 1, 2, 3)", value_int(1), &out));
    CHECK_CONTAINS("the function \"hypotenuse\" has 2 parameters, but 3 arguments were passed",
                   cst_error_message(check_error()));
    CHECK_STATUS(CST_E_PREDICATE, evaluate("FUNCTION(SELF, 'hypotenus', 1)", value_int(1), &out));
    CHECK_CONTAINS("hypotenus", cst_error_message(check_error()));
    OK(cst_function_unregister(text("hypotenuse"), E));
    OK(cst_function_unregister(text("small"), E));
    const struct {
        const char *signature;
        int64_t offset;
    } bad[] = {{"", 0},      {"d", 1},   {"d(", 2},          {"x(d)", 0},
               {"d(dz)", 2}, {"(d)", 0}, {"double(dd,)", 7}, {"d(int, strange)", 7},
               {"d(d) ", 5}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cst_status status = cst_function_register_typed(text("bad"), text(bad[i].signature), (plain)half, E);
        if (status != CST_E_INVALID_ARGUMENT || cst_error_offset(check_error()) < 0)
            check_fail(__FILE__, __LINE__, "\"%s\": %s", bad[i].signature, check_status_name(status));
        else
            CHECK_INT(bad[i].offset, cst_error_offset(check_error()));
    }
}

static cst_status join(void *userdata, const cst_value *receiver, size_t count, const cst_value *arguments,
                       cst_value *out_value, cst_error **error) {
    static char joined[64];
    (void)userdata;
    if (count != 1 || arguments[0].type != CST_STRING) {
        cst_error_new_custom(text("App"), 1, text("join takes a string"), NULL, NULL, error);
        return CST_E_CALLBACK;
    }
    strcpy(joined, receiver->as.string.data);
    strcat(joined, arguments[0].as.string.data);
    *out_value = value_text(joined);
    return CST_OK;
}

static int destroyed;
static void note_destroy(void *userdata) {
    (void)userdata;
    destroyed++;
}

static void function_callbacks_are_destroyed_once(void) {
    cst_value out = {0, 0, {0}};
    destroyed = 0;
    OK(cst_function_register(text("join"), join, NULL, note_destroy, E));
    OK(evaluate("FUNCTION(SELF, 'join', '!')", value_text("Ada"), &out));
    CHECK_TEXT("Ada!", out.as.string);
    cst_value_dispose(&out);
    OK(evaluate("FUNCTION(nil, 'join', '!')", value_text("Ada"), &out));
    CHECK_INT(CST_NULL, out.type);
    CHECK_STATUS(CST_E_CALLBACK, evaluate("FUNCTION(SELF, 'join', 1)", value_text("Ada"), &out));
    CHECK_TEXT("the host's function \"join\" failed: join takes a string", cst_error_message(check_error()));
    CHECK_INT(0, destroyed);
    OK(cst_function_register(text("join"), join, NULL, note_destroy, E));
    CHECK_INT(1, destroyed);
    OK(cst_function_unregister(text("join"), E));
    CHECK_INT(2, destroyed);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_function_register(text(""), join, NULL, note_destroy, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_function_register(text("x"), NULL, NULL, note_destroy, E));
    CHECK_INT(4, destroyed);
}

#define IDENTITY(name, T)                                                                                              \
    static T name(T value) { return value; }
IDENTITY(same_bool, bool)
IDENTITY(same_int8, int8_t)
IDENTITY(same_uint8, uint8_t)
IDENTITY(same_int16, int16_t)
IDENTITY(same_uint16, uint16_t)
IDENTITY(same_int32, int32_t)
IDENTITY(same_uint32, uint32_t)
IDENTITY(same_int64, int64_t)
IDENTITY(same_uint64, uint64_t)
IDENTITY(same_float, float)
IDENTITY(same_double, double)
static uint64_t beyond_int64(void) { return (uint64_t)INT64_MAX + 1; }

/* Each type accepts its least and greatest number, also as whole doubles, and refuses the numbers next to them. */
static void numbers_outside_the_bounds_of_their_type_are_refused(void) {
    static const struct {
        const char *signature;
        plain function;
        int64_t least, greatest;
        const char *name;
    } cases[] = {
        {"b(b)", (plain)same_int8, INT8_MIN, INT8_MAX, "int8_t"},
        {"B(B)", (plain)same_uint8, 0, UINT8_MAX, "uint8_t"},
        {"h(h)", (plain)same_int16, INT16_MIN, INT16_MAX, "int16_t"},
        {"H(H)", (plain)same_uint16, 0, UINT16_MAX, "uint16_t"},
        {"i(i)", (plain)same_int32, INT32_MIN, INT32_MAX, "int32_t"},
        {"I(I)", (plain)same_uint32, 0, UINT32_MAX, "uint32_t"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cst_value out = {0, 0, {0}};
        add("same", cases[i].signature, cases[i].function);
        const int64_t inside[] = {cases[i].least, cases[i].greatest, 1};
        for (size_t n = 0; n < 3; n++) {
            OK(evaluate("FUNCTION(SELF, 'same')", value_int(inside[n]), &out));
            CHECK_INT(CST_INT, out.type);
            CHECK_INT(inside[n], out.as.integer);
            OK(evaluate("FUNCTION(SELF, 'same')", value_real((double)inside[n]), &out));
            CHECK_INT(inside[n], out.as.integer);
        }
        const int64_t outside[] = {cases[i].least - 1, cases[i].greatest + 1};
        for (size_t n = 0; n < 2; n++) {
            char expected[120];
            cst_value refused;
            snprintf(expected, sizeof expected, "the function \"same\" takes %s as parameter 1, not ", cases[i].name);
            CHECK_STATUS(CST_E_PREDICATE, evaluate("FUNCTION(SELF, 'same')", value_int(outside[n]), &out));
            CHECK_CONTAINS(expected, cst_error_message(check_error()));
            CHECK_TEXT("same", cst_error_key(check_error()));
            OK(cst_error_value(check_error(), &refused));
            CHECK_INT(outside[n], refused.as.integer);
        }
        CHECK_STATUS(CST_E_PREDICATE, evaluate("FUNCTION(SELF, 'same')", value_real(0.5), &out));
        OK(cst_function_unregister(text("same"), E));
    }
}

static void integers_of_64_bits_keep_all_digits(void) {
    cst_value out = {0, 0, {0}};
    add("same", "q(q)", (plain)same_int64);
    OK(evaluate("FUNCTION(SELF, 'same')", value_int(INT64_MIN), &out));
    CHECK_INT(INT64_MIN, out.as.integer);
    OK(evaluate("FUNCTION(SELF, 'same')", value_int(INT64_MAX), &out));
    CHECK_INT(INT64_MAX, out.as.integer);
    CHECK_STATUS(CST_E_PREDICATE, evaluate("FUNCTION(SELF, 'same')", value_real(9223372036854775808.0), &out));
    /* A decimal that is a whole number is one. */
    OK(evaluate("FUNCTION(SELF, 'same')", value_decimal(12, 2, true), &out));
    CHECK_INT(-1200, out.as.integer);
    CHECK_STATUS(CST_E_PREDICATE, evaluate("FUNCTION(SELF, 'same')", value_decimal(125, -1, false), &out));

    add("same", "Q(Q)", (plain)same_uint64);
    OK(evaluate("FUNCTION(SELF, 'same')", value_int(INT64_MAX), &out));
    CHECK_INT(CST_INT, out.type);
    CHECK_INT(INT64_MAX, out.as.integer);
    CHECK_STATUS(CST_E_PREDICATE, evaluate("FUNCTION(SELF, 'same')", value_int(-1), &out));
    /* Beyond INT64_MAX it is a decimal, both ways. */
    OK(evaluate("FUNCTION(SELF, 'same')", value_decimal(UINT64_MAX, 0, false), &out));
    CHECK_INT(CST_DECIMAL, out.type);
    CHECK(out.as.decimal.mantissa[0] == UINT64_MAX && out.as.decimal.mantissa[1] == 0);
    CHECK_STATUS(CST_E_PREDICATE, evaluate("FUNCTION(SELF, 'same')", value_decimal(UINT64_MAX, 1, false), &out));
    add("same", "Q()", (plain)beyond_int64);
    OK(evaluate("FUNCTION(SELF, 'same')", value_int(1), &out));
    CHECK_INT(CST_DECIMAL, out.type);
    CHECK(out.as.decimal.mantissa[0] == (uint64_t)INT64_MAX + 1 && out.as.decimal.mantissa[1] == 0);
    CHECK_INT(CST_DECIMAL_AUX(false, 0), out.aux);
    OK(cst_function_unregister(text("same"), E));
}

static void floating_point_and_boolean_parameters_accept_any_number(void) {
    cst_value out = {0, 0, {0}};
    add("same", "f(f)", (plain)same_float);
    OK(evaluate("FUNCTION(SELF, 'same')", value_real(0.1), &out));
    CHECK_INT(CST_DOUBLE, out.type);
    CHECK_REAL((double)0.1f, out.as.real);
    add("same", "d(d)", (plain)same_double);
    OK(evaluate("FUNCTION(SELF, 'same')", value_real(0.1), &out));
    CHECK_REAL(0.1, out.as.real);
    OK(evaluate("FUNCTION(SELF, 'same')", value_int(-3), &out));
    CHECK_REAL(-3, out.as.real);
    OK(evaluate("FUNCTION(SELF, 'same')", value_bool(true), &out));
    CHECK_REAL(1, out.as.real);
    CHECK_STATUS(CST_E_PREDICATE, evaluate("FUNCTION(SELF, 'same')", value_text("1"), &out));

    add("same", "?(?)", (plain)same_bool);
    const cst_value given[] = {value_bool(true), value_bool(false), value_int(256),
                               value_int(0),     value_real(0.5),   value_real(-0.0)};
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        OK(evaluate("FUNCTION(SELF, 'same')", given[i], &out));
        CHECK_INT(CST_BOOL, out.type);
        CHECK_INT(i % 2 == 0, out.as.boolean);
    }
    CHECK_STATUS(CST_E_PREDICATE, evaluate("FUNCTION(SELF, 'same')", value_text("YES"), &out));
    CHECK_CONTAINS("the function \"same\" takes bool as parameter 1", cst_error_message(check_error()));
    /* A truth value is a whole number, too. */
    add("same", "i(i)", (plain)same_int32);
    OK(evaluate("FUNCTION(SELF, 'same')", value_bool(true), &out));
    CHECK_INT(CST_INT, out.type);
    CHECK_INT(1, out.as.integer);
    OK(evaluate("FUNCTION(SELF, 'same')", value_bool(false), &out));
    CHECK_INT(0, out.as.integer);
    OK(cst_function_unregister(text("same"), E));
}

static const char *no_text(int64_t a) { return a ? "some" : NULL; }
static cst_object *no_object(void) { return NULL; }
static bool is_nowhere(cst_object *object) { return object == NULL; }
static int asked;
static int64_t count_asked(int64_t a, const char *word) {
    asked++;
    return word ? a : -a;
}

static void nil_is_passed_as_null_to_pointer_parameters(void) {
    cst_value out = {0, 0, {0}};
    add("same", "s(q)", (plain)no_text);
    OK(evaluate("FUNCTION(SELF, 'same')", value_int(0), &out));
    CHECK_INT(CST_NULL, out.type);
    OK(evaluate("FUNCTION(SELF, 'same')", value_int(1), &out));
    CHECK_TEXT("some", out.as.string);
    cst_value_dispose(&out);
    add("same", "o()", (plain)no_object);
    OK(evaluate("FUNCTION(SELF, 'same')", value_int(0), &out));
    CHECK_INT(CST_NULL, out.type);
    add("same", "?(o)", (plain)is_nowhere);
    OK(evaluate("FUNCTION(1, 'same', nil)", value_int(0), &out));
    CHECK(out.type == CST_BOOL && out.as.boolean);
    CHECK_STATUS(CST_E_PREDICATE, evaluate("FUNCTION(1, 'same', 2)", value_int(0), &out));
    CHECK_CONTAINS("the function \"same\" takes cst_object * as parameter 1", cst_error_message(check_error()));
    add("same", "q(qs)", (plain)count_asked);
    asked = 0;
    OK(evaluate("FUNCTION(1, 'same', 5, nil)", value_int(0), &out));
    CHECK_INT(-5, out.as.integer);
    CHECK_INT(1, asked);
    OK(evaluate("FUNCTION(1, 'same', nil, 'x')", value_int(0), &out));
    CHECK_INT(CST_NULL, out.type);
    CHECK_INT(1, asked);
    /* A NUL would truncate the text. */
    cst_value broken = value_text("");
    broken.as.string = text_of_size("a\0b", 3);
    CHECK_STATUS(CST_E_PREDICATE, evaluate("FUNCTION(1, 'same', 5, SELF)", broken, &out));
    CHECK_CONTAINS("the function \"same\" takes const char * as parameter 2", cst_error_message(check_error()));
    OK(cst_function_unregister(text("same"), E));
}

/* The type name in messages shows which type a spelling denotes. */
static void every_spelling_of_a_c_type_is_accepted(void) {
    static const struct {
        const char *spelling, *name;
    } cases[] = {
        {"?", "bool"},
        {"bool", "bool"},
        {"_Bool", "bool"},
        {"int8_t", "int8_t"},
        {"signed char", "int8_t"},
        {"char", "int8_t"},
        {"uint8_t", "uint8_t"},
        {"unsigned char", "uint8_t"},
        {"int16_t", "int16_t"},
        {"short", "int16_t"},
        {"uint16_t", "uint16_t"},
        {"unsigned short", "uint16_t"},
        {"int32_t", "int32_t"},
        {"int", "int32_t"},
        {"uint32_t", "uint32_t"},
        {"unsigned", "uint32_t"},
        {"unsigned int", "uint32_t"},
        {"  unsigned   int ", "uint32_t"},
        {"int64_t", "int64_t"},
        {"long", "int64_t"},
        {"long long", "int64_t"},
        {"q", "int64_t"},
        {"uint64_t", "uint64_t"},
        {"unsigned long", "uint64_t"},
        {"unsigned long long", "uint64_t"},
        {"size_t", "uint64_t"},
        {"float", "float"},
        {"f", "float"},
        {"double", "double"},
        {"cst_object *", "cst_object *"},
        {"cst_object*", "cst_object *"},
        {"const cst_object *", "cst_object *"},
        {"o", "cst_object *"},
    };
    cst_value out = {0, 0, {0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char signature[64], expected[96];
        snprintf(signature, sizeof signature, "int(%s)", cases[i].spelling);
        snprintf(expected, sizeof expected, "the function \"same\" takes %s as parameter 1, not a string",
                 cases[i].name);
        add("same", signature, (plain)same_int32);
        CHECK_STATUS(CST_E_PREDICATE, evaluate("FUNCTION(SELF, 'same')", value_text("x"), &out));
        CHECK_TEXT(expected, cst_error_message(check_error()));
    }
    static const char *const texts[] = {"s", "const char *", "const char*"};
    for (size_t i = 0; i < 3; i++) {
        char signature[64];
        snprintf(signature, sizeof signature, "int(%s)", texts[i]);
        add("same", signature, (plain)same_int32);
        CHECK_STATUS(CST_E_PREDICATE, evaluate("FUNCTION(SELF, 'same')", value_int(1), &out));
        CHECK_CONTAINS("the function \"same\" takes const char * as parameter 1", cst_error_message(check_error()));
    }
    OK(cst_function_unregister(text("same"), E));
}

static int32_t forty_two(void) { return 42; }
static double subtract(double a, double b) { return a - b; }

static void signatures_have_up_to_32_parameters(void) {
    cst_value out = {0, 0, {0}};
    static const char *const none[] = {"i()", "int(void)", "int( )", " int (void)"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        add("same", none[i], (plain)forty_two);
        OK(evaluate("FUNCTION(SELF, 'same')", value_int(1), &out));
        CHECK_INT(42, out.as.integer);
        CHECK_STATUS(CST_E_PREDICATE, evaluate("FUNCTION(SELF, 'same', 1)", value_int(1), &out));
        CHECK_CONTAINS("the function \"same\" has 0 parameters", cst_error_message(check_error()));
    }
    add("same", "d( d d )", (plain)subtract);
    OK(evaluate("FUNCTION(SELF, 'same', 7, 3)", value_int(1), &out));
    CHECK_REAL(4, out.as.real);
    OK(evaluate("FUNCTION(SELF, 'same', 3)", value_int(7), &out));
    CHECK_REAL(4, out.as.real);
    CHECK_STATUS(CST_E_PREDICATE, evaluate("FUNCTION(SELF, 'same')", value_int(7), &out));
    add("same", "i(iiiiiiiiiiiiiiiiiiiiiiiiiiiiiiii)", (plain)same_int32);
    CHECK_STATUS(
        CST_E_INVALID_ARGUMENT,
        cst_function_register_typed(text("same"), text("i(iiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiii)"), (plain)same_int32, E));
    CHECK_CONTAINS("it has 33 parameters, but the limit is 32", cst_error_message(check_error()));
    CHECK_INT(1, cst_error_offset(check_error()));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_function_register_typed(text("same"), text("i()"), NULL, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_function_register_typed(text(""), text("i()"), (plain)forty_two, E));
    OK(cst_function_unregister(text("same"), E));
}

static cst_status tell_all(void *userdata, const cst_value *receiver, size_t count, const cst_value *arguments,
                           cst_value *out_value, cst_error **error) {
    (void)error;
    *(size_t *)userdata = count;
    CHECK_INT(1, receiver->as.integer);
    for (size_t i = 0; i < count; i++)
        CHECK_INT(10 * (i + 1), arguments[i].as.integer);
    *out_value = value_int((int64_t)count);
    return CST_OK;
}

static cst_status fail_silently(void *userdata, const cst_value *receiver, size_t count, const cst_value *arguments,
                                cst_value *out_value, cst_error **error) {
    (void)userdata, (void)receiver, (void)count, (void)arguments, (void)out_value, (void)error;
    return CST_E_NO_MEMORY;
}

static void a_callback_gets_ordered_arguments_and_can_fail_without_an_error(void) {
    cst_value out = {0, 0, {0}};
    size_t count = 99;
    OK(cst_function_register(text("tell"), tell_all, &count, NULL, E));
    OK(evaluate("FUNCTION(SELF, 'tell')", value_int(1), &out));
    CHECK_INT(0, count);
    OK(evaluate("FUNCTION(SELF, 'tell', 10, 20, 30)", value_int(1), &out));
    CHECK_INT(3, count);
    CHECK_INT(3, out.as.integer);
    OK(cst_function_register(text("tell"), fail_silently, NULL, NULL, E));
    CHECK_STATUS(CST_E_CALLBACK, evaluate("FUNCTION(SELF, 'tell')", value_int(1), &out));
    CHECK_CONTAINS("the host's function \"tell\" failed with status -7", cst_error_message(check_error()));
    CHECK_INT(0, cst_error_detail_count(check_error()));
    CHECK_INT(CST_NULL, out.type);
    OK(cst_function_unregister(text("tell"), E));
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(plain_functions_are_called_with_c_types);
    RUN(objects_are_passed_to_and_returned_by_functions);
    RUN(call_errors_name_function_parameter_and_type);
    RUN(function_callbacks_are_destroyed_once);
    RUN(numbers_outside_the_bounds_of_their_type_are_refused);
    RUN(integers_of_64_bits_keep_all_digits);
    RUN(floating_point_and_boolean_parameters_accept_any_number);
    RUN(nil_is_passed_as_null_to_pointer_parameters);
    RUN(every_spelling_of_a_c_type_is_accepted);
    RUN(signatures_have_up_to_32_parameters);
    RUN(a_callback_gets_ordered_arguments_and_can_fail_without_an_error);
    return check_end();
}
