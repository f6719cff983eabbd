/* Functions of the host's in predicates: through a callback, and plain C functions through libffi.
 *
 * SPDX-License-Identifier: MIT
 */
#include "host.h"

#include <math.h>
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

static void plain_functions_are_called_with_types_of_c(void) {
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

static void objects_go_through(void) {
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

static void bad_calls_name_function_argument_and_type(void) {
    cst_value out = {0, 0, {0}};
    add("hypotenuse", "d(dd)", (plain)hypotenuse);
    add("small", "b(b)", (plain)small);
    CHECK_STATUS(CST_E_PREDICATE, evaluate("FUNCTION(SELF, 'hypotenuse', 1, 'x')", value_int(1), &out));
    CHECK_TEXT("hypotenuse takes double as parameter 2; this is a string", cst_error_message(check_error()));
    CHECK_STATUS(CST_E_PREDICATE, evaluate("FUNCTION(SELF, 'small')", value_int(300), &out));
    CHECK_CONTAINS("small takes int8_t as parameter 1", cst_error_message(check_error()));
    CHECK_STATUS(CST_E_PREDICATE, evaluate("FUNCTION(SELF, 'hypotenuse', 1, 2, 3)", value_int(1), &out));
    CHECK_CONTAINS("hypotenuse takes 2 parameters", cst_error_message(check_error()));
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

static void callbacks_are_called_and_destroyed_once(void) {
    cst_value out = {0, 0, {0}};
    destroyed = 0;
    OK(cst_function_register(text("join"), join, NULL, note_destroy, E));
    OK(evaluate("FUNCTION(SELF, 'join', '!')", value_text("Ada"), &out));
    CHECK_TEXT("Ada!", out.as.string);
    cst_value_dispose(&out);
    OK(evaluate("FUNCTION(nil, 'join', '!')", value_text("Ada"), &out));
    CHECK_INT(CST_NULL, out.type);
    CHECK_STATUS(CST_E_CALLBACK, evaluate("FUNCTION(SELF, 'join', 1)", value_text("Ada"), &out));
    CHECK_TEXT("join takes a string", cst_error_message(check_error()));
    CHECK_INT(0, destroyed);
    OK(cst_function_register(text("join"), join, NULL, note_destroy, E));
    CHECK_INT(1, destroyed);
    OK(cst_function_unregister(text("join"), E));
    CHECK_INT(2, destroyed);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_function_register(text(""), join, NULL, note_destroy, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_function_register(text("x"), NULL, NULL, note_destroy, E));
    CHECK_INT(4, destroyed);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(plain_functions_are_called_with_types_of_c);
    RUN(objects_go_through);
    RUN(bad_calls_name_function_argument_and_type);
    RUN(callbacks_are_called_and_destroyed_once);
    return check_end();
}
