/* Expressions: built without text, read back, evaluated over values of the host.
 *
 * SPDX-License-Identifier: MIT
 */
#include "host.h"

static void expect_text(const char *expected, cst_expression *expression) {
    cst_buffer out = {NULL, 0, 0};
    OK(cst_expression_copy_format(expression, &out, E));
    CHECK_TEXT(expected, text_of_size(out.data, out.size));
    cst_buffer_dispose(&out);
}

static cst_expression *constant(cst_value value) {
    cst_expression *made = NULL;
    OK(cst_expression_new_constant(&value, &made, E));
    return made;
}

static cst_expression *key(const char *path) {
    cst_expression *made = NULL;
    OK(cst_expression_new_key_path(NULL, text(path), &made, E));
    return made;
}

static cst_predicate *compare(cst_expression *left, uint32_t operator_type, cst_expression *right) {
    cst_predicate *made = NULL;
    OK(cst_predicate_new_comparison(left, operator_type, right, CST_MODIFIER_DIRECT, 0, &made, E));
    return made;
}

static void expect_format(const char *expected, cst_predicate *predicate) {
    cst_buffer out = {NULL, 0, 0};
    OK(cst_predicate_copy_format(predicate, &out, E));
    CHECK_TEXT(expected, text_of_size(out.data, out.size));
    cst_buffer_dispose(&out);
}

static void a_comparison_with_self_filters_values(void) {
    cst_expression *self = NULL, *zero = constant(value_int(0));
    OK(cst_expression_new_self(&self, E));
    cst_predicate *positive = compare(self, CST_OPERATOR_GREATER_THAN, zero);
    expect_format("SELF > 0", positive);
    const cst_value values[] = {value_int(3), value_int(-1), value_real(0.5), value_int(0)};
    const bool expected[] = {true, false, true, false};
    bool holds[4] = {false, true, false, true};
    OK(cst_predicate_filter(positive, 4, values, NULL, holds, E));
    for (int i = 0; i < 4; i++)
        CHECK_INT(expected[i], holds[i]);
    bool one = false;
    OK(cst_predicate_evaluate_value(positive, &values[0], NULL, &one, E));
    CHECK(one);
    cst_release(self), cst_release(zero), cst_release(positive);
}

static void every_kind_of_expression_is_built_and_read_back(void) {
    cst_expression *made[12] = {NULL}, *pair[2] = {key("a"), constant(value_int(2))};
    const cst_expression *const *list = (const cst_expression *const *)pair;
    cst_predicate *condition = compare(pair[0], CST_OPERATOR_EQUAL, pair[1]);
    OK(cst_expression_new_variable(text("x"), &made[0], E));
    OK(cst_expression_new_key_path(made[0], text("name"), &made[1], E));
    OK(cst_expression_new_function(text("add:to:"), 2, list, &made[2], E));
    OK(cst_expression_new_call(pair[0], text("slug"), 0, NULL, &made[3], E));
    OK(cst_expression_new_aggregate(2, list, &made[4], E));
    OK(cst_expression_new_subquery(pair[0], text("x"), condition, &made[5], E));
    OK(cst_expression_new_conditional(condition, pair[0], pair[1], &made[6], E));
    OK(cst_expression_new_set_operation(CST_EXPRESSION_UNION, pair[0], pair[1], &made[7], E));
    OK(cst_expression_new_self(&made[8], E));
    const struct {
        uint32_t type;
        const char *format, *name;
        size_t operands;
        bool has_predicate;
    } cases[] = {
        {CST_EXPRESSION_VARIABLE, "$x", "x", 0, false},
        {CST_EXPRESSION_KEY_PATH, "$x.name", "name", 1, false},
        {CST_EXPRESSION_FUNCTION, "a + 2", "add:to:", 2, false},
        {CST_EXPRESSION_CALL, "FUNCTION(a, \"slug\")", "slug", 1, false},
        {CST_EXPRESSION_AGGREGATE, "{a, 2}", NULL, 2, false},
        {CST_EXPRESSION_SUBQUERY, "SUBQUERY(a, $x, a == 2)", "x", 1, true},
        {CST_EXPRESSION_CONDITIONAL, "TERNARY(a == 2, a, 2)", NULL, 2, true},
        {CST_EXPRESSION_UNION, "a UNION 2", NULL, 2, false},
        {CST_EXPRESSION_SELF, "SELF", NULL, 0, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t type = 0;
        OK(cst_expression_type(made[i], &type, E));
        CHECK_INT(cases[i].type, type);
        expect_text(cases[i].format, made[i]);
        cst_buffer name = {NULL, 0, 0};
        CHECK_INT(cases[i].name ? CST_OK : CST_NOT_FOUND, cst_expression_copy_name(made[i], &name, E));
        if (cases[i].name) CHECK_TEXT(cases[i].name, text_of_size(name.data, name.size));
        cst_buffer_dispose(&name);
        for (size_t n = 0; n <= cases[i].operands; n++) {
            cst_expression *operand = NULL;
            CHECK_INT(n < cases[i].operands ? CST_OK : CST_END, cst_expression_copy_operand(made[i], n, &operand, E));
            cst_release(operand);
        }
        cst_predicate *inside = NULL;
        CHECK_INT(cases[i].has_predicate ? CST_OK : CST_NOT_FOUND, cst_expression_copy_predicate(made[i], &inside, E));
        CHECK_INT(cases[i].has_predicate, cst_predicate_equal(inside, condition));
        if (inside) CHECK(cst_predicate_hash(inside) == cst_predicate_hash(condition));
        cst_release(inside);
    }
    cst_value value = {0, 0, {0}};
    OK(cst_expression_copy_constant(pair[1], &value, E));
    CHECK_INT(2, value.as.integer);
    CHECK_INT(CST_NOT_FOUND, cst_expression_copy_constant(pair[0], &value, E));
    for (int i = 0; i < 9; i++)
        cst_release(made[i]);
    cst_release(pair[0]), cst_release(pair[1]), cst_release(condition);
}

static void a_parsed_predicate_is_read_back(void) {
    const cst_value arguments[] = {value_text("A")};
    cst_predicate *whole = NULL, *part = NULL;
    OK(cst_predicate_parse(text("ANY tags BEGINSWITH[cd] %@ OR a == 1"), 1, arguments, &whole, E));
    cst_predicate_info info = CST_PREDICATE_INFO_INIT;
    OK(cst_predicate_get_info(whole, &info, E));
    CHECK_INT(CST_PREDICATE_IS_COMPOUND, info.kind);
    CHECK_INT(CST_PREDICATE_OR, info.compound);
    CHECK_INT(2, info.part_count);
    CHECK_INT(CST_END, cst_predicate_copy_part(whole, 2, &part, E));
    OK(cst_predicate_copy_part(whole, 0, &part, E));
    OK(cst_predicate_get_info(part, &info, E));
    CHECK_INT(CST_PREDICATE_IS_COMPARISON, info.kind);
    CHECK_INT(CST_OPERATOR_BEGINS_WITH, info.operator_type);
    CHECK_INT(CST_MODIFIER_ANY, info.modifier);
    CHECK_INT(CST_COMPARE_CASE_INSENSITIVE | CST_COMPARE_DIACRITIC_INSENSITIVE, info.options);
    cst_expression *left = NULL, *right = NULL;
    OK(cst_predicate_copy_side(part, 0, &left, E));
    OK(cst_predicate_copy_side(part, 1, &right, E));
    expect_text("tags", left);
    cst_predicate *again = NULL;
    OK(cst_predicate_new_comparison(left, info.operator_type, right, info.modifier, info.options, &again, E));
    CHECK(cst_predicate_equal(part, again));
    OK(cst_release(again));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_predicate_new_comparison(left, 12, right, 0, 0, &again, E));
    cst_expression *none = left;
    CHECK_INT(CST_NOT_FOUND, cst_predicate_copy_side(whole, 0, &none, E));
    CHECK(none == NULL && again == NULL);
    cst_release(left), cst_release(right), cst_release(part), cst_release(whole);
}

static void host_objects_are_evaluated_by_key(void) {
    struct person ada = {"Ada", 36, 0}, bob = {"Bob", 5, 0}, other_ada = {"Ada", 1, 0};
    cst_predicate *predicate = NULL;
    OK(cst_predicate_parse(text("age > 10 AND name BEGINSWITH 'A'"), 0, NULL, &predicate, E));
    const cst_value people[] = {value_person(&ada), value_person(&bob)};
    bool holds[2] = {false, true};
    OK(cst_predicate_filter(predicate, 2, people, NULL, holds, E));
    CHECK(holds[0] && !holds[1]);
    OK(cst_release(predicate));

    cst_value list = value_list(CST_ARRAY, people, 2), out = {0, 0, {0}};
    OK(cst_value_copy_at_key_path(&list, text("@avg.age"), &out, E));
    CHECK_REAL(20.5, out.type == CST_DECIMAL ? (double)out.as.decimal.mantissa[0] / 10 : out.as.real);
    cst_value_dispose(&out);
    OK(cst_value_copy_at_key_path(&list, text("name"), &out, E));
    CHECK_INT(CST_ARRAY, out.type);
    CHECK_INT(2, out.as.values.size);
    CHECK_TEXT("Bob", out.as.values.data[1].as.string);
    cst_value_dispose(&out);
    CHECK_INT(CST_NULL, out.type);
    CHECK_STATUS(CST_E_PREDICATE, cst_value_copy_at_key_path(&people[0], text("nme"), &out, E));
    CHECK_CONTAINS("Person is not key value coding-compliant for the key \"nme\"", cst_error_message(check_error()));
    CHECK_TEXT("nme", cst_error_key(check_error()));
    CHECK_STATUS(CST_E_CALLBACK, cst_value_copy_at_key_path(&people[0], text("fail"), &out, E));
    CHECK_TEXT("reading the key \"fail\" of Person failed: no luck", cst_error_message(check_error()));
    CHECK_INT(7, cst_error_code(cst_error_detail_at(check_error(), 0)));

    /* Stored as a constant and returned as a result. */
    cst_expression *kept = constant(people[0]);
    CHECK_INT(1, ada.kept);
    OK(cst_expression_value(kept, &people[1], NULL, &out, E));
    CHECK(out.type == CST_HOST && out.as.host.object == &ada);
    CHECK_INT(2, ada.kept);
    cst_value_dispose(&out);
    cst_expression *self = NULL;
    OK(cst_expression_new_self(&self, E));
    cst_predicate *same = compare(self, CST_OPERATOR_EQUAL, kept), *older = compare(self, CST_OPERATOR_LESS_THAN, kept);
    cst_value twin = value_person(&other_ada);
    bool is_same = false, is_younger = false;
    OK(cst_predicate_evaluate_value(same, &twin, NULL, &is_same, E));
    OK(cst_predicate_evaluate_value(older, &twin, NULL, &is_younger, E));
    CHECK(is_same && is_younger);
    cst_release(same), cst_release(older), cst_release(self), cst_release(kept);
    CHECK_INT(0, ada.kept + bob.kept + other_ada.kept);
}

static cst_status shorter_than(void *userdata, const cst_value *value, const cst_value *variables, bool *out_result,
                               cst_error **error) {
    (void)error;
    CHECK_INT(CST_DICTIONARY, variables->type);
    *out_result = value->type == CST_STRING && value->as.string.size < *(size_t *)userdata;
    return CST_OK;
}

static cst_status twice(void *userdata, const cst_value *value, size_t count, const cst_value *arguments,
                        const cst_value *variables, cst_value *out_value, cst_error **error) {
    (void)userdata, (void)value, (void)variables, (void)error;
    CHECK_INT(1, count);
    *out_value = value_int(2 * arguments[0].as.integer);
    return CST_OK;
}

static int destroyed;
static void note_destroy(void *userdata) {
    (void)userdata;
    destroyed++;
}

static void blocks_are_called_and_destroyed_once(void) {
    size_t most = 3;
    destroyed = 0;
    cst_predicate *block = NULL;
    OK(cst_predicate_new_block(shorter_than, &most, note_destroy, &block, E));
    const cst_value words[] = {value_text("ab"), value_text("abcd"), value_int(1)};
    bool holds[3] = {false, true, true};
    OK(cst_predicate_filter(block, 3, words, NULL, holds, E));
    CHECK(holds[0] && !holds[1] && !holds[2]);
    cst_predicate_info info = CST_PREDICATE_INFO_INIT;
    OK(cst_predicate_get_info(block, &info, E));
    CHECK_INT(CST_PREDICATE_IS_BLOCK, info.kind);
    OK(cst_release(block));
    CHECK_INT(1, destroyed);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_predicate_new_block(NULL, NULL, note_destroy, &block, E));
    CHECK_INT(2, destroyed);

    cst_expression *self = NULL, *doubled = NULL;
    OK(cst_expression_new_self(&self, E));
    OK(cst_expression_new_block(twice, NULL, note_destroy, 1, (const cst_expression *const *)&self, &doubled, E));
    cst_value seven = value_int(7), out = {0, 0, {0}};
    OK(cst_expression_value(doubled, &seven, NULL, &out, E));
    CHECK_INT(14, out.as.integer);
    cst_release(doubled), cst_release(self);
    CHECK_INT(3, destroyed);
}

static void expressions_replace_arguments_and_variables(void) {
    cst_expression *left = key("salary"), *right = NULL;
    OK(cst_expression_parse(text("bonus * 2"), 0, NULL, &right, E));
    const cst_value both[] = {{CST_EXPRESSION, 0, {.expression = left}}, {CST_EXPRESSION, 0, {.expression = right}}};
    cst_predicate *predicate = NULL, *bound = NULL;
    OK(cst_predicate_parse(text("%@ > %@"), 2, both, &predicate, E));
    expect_format("salary > bonus * 2", predicate);
    OK(cst_release(predicate));
    OK(cst_predicate_parse(text("$who.name == $name AND a > $limit"), 0, NULL, &predicate, E));
    const cst_value pairs[] = {value_text("name"), value_text("Ada"), value_text("limit"), both[1]};
    const cst_value variables = value_list(CST_DICTIONARY, pairs, 4);
    OK(cst_predicate_new_substituted(predicate, &variables, &bound, E));
    expect_format("$who.name == \"Ada\" AND a > bonus * 2", bound);
    cst_release(predicate), cst_release(bound), cst_release(left), cst_release(right);
}

static void collections_that_contain_themselves_are_refused(void) {
    cst_value loop[2] = {value_int(1), value_int(2)}, out = {0, 0, {0}};
    loop[1] = value_list(CST_ARRAY, loop, 2);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_value_copy_at_key_path(&loop[1], text("@count"), &out, E));
    loop[0] = loop[1]; /* twice at each level: memory would be exhausted before the depth limit */
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_value_copy_at_key_path(&loop[1], text("@count"), &out, E));
    cst_expression *deep = key("a");
    for (int i = 0; i < 2000; i++) {
        cst_expression *deeper = NULL;
        const cst_expression *const list[] = {deep};
        cst_status status = cst_expression_new_function(text("abs:"), 1, list, &deeper, E);
        if (status < 0) {
            CHECK_INT(CST_E_INVALID_ARGUMENT, status);
            break;
        }
        cst_release(deep);
        deep = deeper;
        CHECK(i < 1999);
    }
    cst_release(deep);
}

static void each_set_operation_has_its_own_type(void) {
    cst_expression *left = key("a"), *right = key("b"), *made = NULL, *operand = NULL;
    const struct {
        uint32_t type;
        const char *format;
    } cases[] = {{CST_EXPRESSION_UNION, "a UNION b"},
                 {CST_EXPRESSION_INTERSECT, "a INTERSECT b"},
                 {CST_EXPRESSION_MINUS, "a MINUS b"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t type = 0;
        OK(cst_expression_new_set_operation(cases[i].type, left, right, &made, E));
        OK(cst_expression_type(made, &type, E));
        CHECK_INT(cases[i].type, type);
        expect_text(cases[i].format, made);
        OK(cst_expression_copy_operand(made, 0, &operand, E));
        expect_text("a", operand);
        OK(cst_release(operand));
        OK(cst_expression_copy_operand(made, 1, &operand, E));
        expect_text("b", operand);
        OK(cst_release(operand));
        OK(cst_release(made));
    }
    const uint32_t others[] = {CST_EXPRESSION_CONSTANT, CST_EXPRESSION_FUNCTION, 8, UINT32_MAX};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_expression_new_set_operation(others[i], left, right, &made, E));
        CHECK(made == NULL);
    }
    cst_release(left), cst_release(right);
}

static void parsed_expressions_have_the_types_of_core_data(void) {
    static const struct {
        const char *format;
        uint32_t type;
    } cases[] = {
        {"5", CST_EXPRESSION_CONSTANT},
        {"nil", CST_EXPRESSION_CONSTANT},
        {"SELF", CST_EXPRESSION_SELF},
        {"$x", CST_EXPRESSION_VARIABLE},
        {"a.b", CST_EXPRESSION_KEY_PATH},
        {"a + b", CST_EXPRESSION_FUNCTION},
        {"a[0]", CST_EXPRESSION_FUNCTION},
        {"CAST(a, 'NSDate')", CST_EXPRESSION_FUNCTION},
        {"FUNCTION(a, 'b')", CST_EXPRESSION_CALL},
        {"{a, 1}", CST_EXPRESSION_AGGREGATE},
        {"$x := 1", CST_EXPRESSION_ASSIGNMENT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cst_expression *parsed = NULL;
        uint32_t type = 77;
        OK(cst_expression_parse(text(cases[i].format), 0, NULL, &parsed, E));
        OK(cst_expression_type(parsed, &type, E));
        if (type != cases[i].type) check_fail(__FILE__, __LINE__, "%s is of type %u", cases[i].format, type);
        OK(cst_release(parsed));
    }
}

static void a_list_of_constants_is_a_constant(void) {
    cst_expression *parts[] = {constant(value_int(1)), constant(value_text("b"))}, *list = NULL, *empty = NULL;
    cst_value value = {0, 0, {0}};
    uint32_t type = 77;
    OK(cst_expression_new_aggregate(2, (const cst_expression *const *)parts, &list, E));
    OK(cst_expression_type(list, &type, E));
    CHECK_INT(CST_EXPRESSION_CONSTANT, type);
    expect_text("{1, \"b\"}", list);
    OK(cst_expression_copy_constant(list, &value, E));
    CHECK_INT(CST_ARRAY, value.type);
    CHECK_INT(2, value.as.values.size);
    CHECK_INT(1, value.as.values.data[0].as.integer);
    CHECK_TEXT("b", value.as.values.data[1].as.string);
    cst_value_dispose(&value);
    CHECK_INT(CST_NULL, value.type);
    OK(cst_expression_new_aggregate(0, NULL, &empty, E));
    OK(cst_expression_copy_constant(empty, &value, E));
    CHECK(value.type == CST_ARRAY && value.as.values.size == 0);
    cst_value_dispose(&value);
    cst_release(parts[0]), cst_release(parts[1]), cst_release(list), cst_release(empty);
}

static void invalid_variable_names_are_refused(void) {
    cst_expression *made = NULL, *collection = key("a");
    cst_predicate *condition = compare(collection, CST_OPERATOR_EQUAL, collection);
    OK(cst_expression_new_variable(text("$x"), &made, E));
    expect_text("$x", made);
    OK(cst_release(made));
    static const char *const bad[] = {"",   "$",  "$$x", "a b", "a.b", "a,b", "a(", "a)",
                                      "a[", "a]", "{a",  "a}",  "'a",  "a\"", "a\t"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_expression_new_variable(text(bad[i]), &made, E));
        CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                     cst_expression_new_subquery(collection, text(bad[i]), condition, &made, E));
        CHECK(made == NULL);
    }
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_expression_new_variable((cst_string){NULL, 0}, &made, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_expression_new_key_path(NULL, text(""), &made, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_expression_new_key_path(collection, text(""), &made, E));
    OK(cst_expression_new_key_path(collection, text("b.c"), &made, E));
    expect_text("a.b.c", made);
    OK(cst_release(made));
    cst_release(condition), cst_release(collection);
}

static void expressions_built_alike_are_equal(void) {
    cst_expression *one = NULL, *same = NULL, *other = key("b");
    OK(cst_expression_parse(text("a + 1"), 0, NULL, &one, E));
    const cst_expression *const parts[] = {key("a"), constant(value_int(1))};
    OK(cst_expression_new_function(text("add:to:"), 2, parts, &same, E));
    CHECK(cst_expression_equal(one, same));
    CHECK(cst_expression_hash(one) == cst_expression_hash(same));
    CHECK(!cst_expression_equal(one, other));
    CHECK(!cst_expression_equal(parts[0], other));
    CHECK(!cst_expression_equal(one, NULL) && !cst_expression_equal(NULL, one) && !cst_expression_equal(NULL, NULL));
    CHECK_INT(0, cst_expression_hash(NULL));
    CHECK(cst_expression_hash(one) != 0);
    cst_release((void *)parts[0]), cst_release((void *)parts[1]);
    cst_release(one), cst_release(same), cst_release(other);
}

static void operands_are_returned_in_written_order(void) {
    cst_expression *a = key("a"), *b = key("b"), *c = key("c");
    const cst_expression *const rest[] = {b, c};
    cst_predicate *condition = compare(a, CST_OPERATOR_LESS_THAN, b);
    cst_expression *made[4] = {NULL};
    OK(cst_expression_new_call(a, text("f"), 2, rest, &made[0], E));
    OK(cst_expression_new_conditional(condition, b, c, &made[1], E));
    OK(cst_expression_new_aggregate(2, rest, &made[2], E));
    OK(cst_expression_new_key_path(made[0], text("d"), &made[3], E));
    static const struct {
        const char *format, *operands[4];
    } cases[] = {
        {"FUNCTION(a, \"f\" , b, c)", {"a", "b", "c", NULL}},
        {"TERNARY(a < b, b, c)", {"b", "c", NULL}},
        {"{b, c}", {"b", "c", NULL}},
        {"FUNCTION(a, \"f\" , b, c).d", {"FUNCTION(a, \"f\" , b, c)", NULL}},
    };
    for (int i = 0; i < 4; i++) {
        cst_expression *operand = NULL;
        size_t n = 0;
        expect_text(cases[i].format, made[i]);
        for (; cases[i].operands[n]; n++) {
            OK(cst_expression_copy_operand(made[i], n, &operand, E));
            expect_text(cases[i].operands[n], operand);
            OK(cst_release(operand));
        }
        CHECK_STATUS(CST_END, cst_expression_copy_operand(made[i], n, &operand, E));
        CHECK_STATUS(CST_END, cst_expression_copy_operand(made[i], SIZE_MAX, &operand, E));
        CHECK(operand == NULL);
        OK(cst_release(made[i]));
    }
    cst_release(condition), cst_release(a), cst_release(b), cst_release(c);
}

static cst_status difference(void *userdata, const cst_value *value, size_t count, const cst_value *arguments,
                             const cst_value *variables, cst_value *out_value, cst_error **error) {
    if (userdata) {
        cst_error_new_custom(text("App"), 9, text("no difference"), NULL, NULL, error);
        return CST_E_CALLBACK;
    }
    CHECK_INT(2, count);
    CHECK_INT(100, value->as.integer);
    CHECK_INT(CST_DICTIONARY, variables->type);
    CHECK_INT(2, variables->as.values.size);
    CHECK_TEXT("x", variables->as.values.data[0].as.string);
    *out_value = value_int(arguments[0].as.integer - arguments[1].as.integer);
    return CST_OK;
}

static void a_block_receives_value_arguments_and_variables(void) {
    cst_expression *x = NULL, *two = constant(value_int(2)), *block = NULL, *fails = NULL, *operand = NULL;
    OK(cst_expression_new_variable(text("x"), &x, E));
    const cst_expression *const arguments[] = {x, two};
    OK(cst_expression_new_block(difference, NULL, NULL, 2, arguments, &block, E));
    uint32_t type = 0;
    OK(cst_expression_type(block, &type, E));
    CHECK_INT(CST_EXPRESSION_BLOCK, type);
    OK(cst_expression_copy_operand(block, 1, &operand, E));
    expect_text("2", operand);
    const cst_value pair[] = {value_text("x"), value_int(44)}, variables = value_list(CST_DICTIONARY, pair, 2);
    const cst_value hundred = value_int(100);
    cst_value out = {0, 0, {0}};
    OK(cst_expression_value(block, &hundred, &variables, &out, E));
    CHECK_INT(42, out.as.integer);
    OK(cst_expression_new_block(difference, &type, NULL, 2, arguments, &fails, E));
    CHECK_STATUS(CST_E_CALLBACK, cst_expression_value(fails, &hundred, &variables, &out, E));
    CHECK_TEXT("the host's expression block failed: no difference", cst_error_message(check_error()));
    CHECK_INT(9, cst_error_code(cst_error_detail_at(check_error(), 0)));
    CHECK_INT(CST_NULL, out.type);
    cst_release(operand), cst_release(fails), cst_release(block), cst_release(x), cst_release(two);
}

static void variables_must_be_a_dictionary_of_names(void) {
    cst_expression *sum = NULL;
    OK(cst_expression_parse(text("$x + $y"), 0, NULL, &sum, E));
    cst_value cells[] = {value_text("x"), value_int(40), value_text("y"), value_int(2)};
    cst_value variables = value_list(CST_DICTIONARY, cells, 4), self = value_int(0), out = {0, 0, {0}};
    OK(cst_expression_value(sum, &self, &variables, &out, E));
    CHECK_INT(42, out.as.integer);
    variables.as.values.size = 3; /* a key without its value */
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_expression_value(sum, &self, &variables, &out, E));
    CHECK_CONTAINS("CST_DICTIONARY of 3 elements", cst_error_message(check_error()));
    variables.as.values.size = 4;
    cells[2] = value_int(1);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_expression_value(sum, &self, &variables, &out, E));
    variables.type = CST_ARRAY;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_expression_value(sum, &self, &variables, &out, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_expression_value(sum, NULL, NULL, &out, E));
    /* A null value means no variables, like a NULL pointer. */
    cst_expression *three = NULL;
    OK(cst_expression_parse(text("1 + 2"), 0, NULL, &three, E));
    variables = (cst_value){CST_NULL, 0, {0}};
    OK(cst_expression_value(three, &self, &variables, &out, E));
    CHECK_INT(3, out.as.integer);
    cst_release(three), cst_release(sum);
}

/* 64 lists around a value, and one more. */
static void collections_nest_up_to_64_levels(void) {
    static cst_value levels[66];
    cst_expression *made = NULL;
    levels[0] = value_int(1);
    for (int i = 1; i < 66; i++)
        levels[i] = value_list(CST_ARRAY, &levels[i - 1], 1);
    OK(cst_expression_new_constant(&levels[64], &made, E));
    OK(cst_release(made));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_expression_new_constant(&levels[65], &made, E));
    CHECK_CONTAINS("more than 64 levels deep", cst_error_message(check_error()));
}

static cst_status list_count(void *object, size_t *out_count, cst_error **error) {
    const struct person *person = object;
    (void)error;
    if (person->age < 0) return CST_NOT_FOUND;
    *out_count = (size_t)person->age;
    return CST_OK;
}

static cst_status list_element(void *object, size_t index, cst_value *out_value, cst_error **error) {
    (void)object;
    if (index == 7) {
        cst_error_new_custom(text("App"), 8, text("no seventh"), NULL, NULL, error);
        return CST_E_CALLBACK;
    }
    *out_value = value_int(10 * (int64_t)(index + 1));
    return CST_OK;
}

static void a_host_list_is_read_element_by_element(void) {
    const cst_host_callbacks callbacks = {
        .struct_size = sizeof callbacks, .count = list_count, .element = list_element, .value_for_key = person_value};
    struct person three = {"three", 3, 0}, none = {"none", 0, 0}, no_list = {"no list", -1, 0}, eight = {"", 8, 0};
    const cst_host_callbacks half = {.struct_size = sizeof half, .count = list_count};
    cst_value list = {CST_HOST, 0, {.host = {&callbacks, &three}}}, out = {0, 0, {0}};
    OK(cst_value_copy_at_key_path(&list, text("@sum.self"), &out, E));
    CHECK_INT(60, out.type == CST_DECIMAL ? (int64_t)out.as.decimal.mantissa[0] : out.as.integer);
    cst_value_dispose(&out);
    list.as.host.object = &none;
    OK(cst_value_copy_at_key_path(&list, text("@count"), &out, E));
    CHECK_INT(0, out.as.integer);
    /* The value of an object that is not a list is read by key. */
    list.as.host.object = &no_list;
    OK(cst_value_copy_at_key_path(&list, text("name"), &out, E));
    CHECK_TEXT("no list", out.as.string);
    cst_value_dispose(&out);
    list.as.host.object = &eight;
    CHECK_STATUS(CST_E_CALLBACK, cst_value_copy_at_key_path(&list, text("@count"), &out, E));
    CHECK_TEXT("reading element 7 of a host object failed: no seventh", cst_error_message(check_error()));
    /* Without element callbacks the count is ignored, and an object without key callbacks has no name. */
    list.as.host = (cst_host){&half, &three};
    CHECK_STATUS(CST_E_PREDICATE, cst_value_copy_at_key_path(&list, text("name"), &out, E));
    CHECK_CONTAINS("a host object is not key value coding-compliant for the key \"name\"",
                   cst_error_message(check_error()));
    CHECK_TEXT("name", cst_error_key(check_error()));
    list.as.host = (cst_host){NULL, &three};
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_value_copy_at_key_path(&list, text("name"), &out, E));
}

static cst_status no_order(void *object, void *other, int32_t *out_order, cst_error **error) {
    (void)object, (void)other, (void)out_order, (void)error;
    return CST_NOT_FOUND;
}

static bool holds(const char *format, cst_value left, cst_value right) {
    const cst_value both[] = {left, right};
    cst_predicate *predicate = NULL;
    bool result = false;
    OK(cst_predicate_parse(text(format), 2, both, &predicate, E));
    cst_value self = value_int(0);
    OK(cst_predicate_evaluate_value(predicate, &self, NULL, &result, E));
    OK(cst_release(predicate));
    return result;
}

/* Without is_equal an object equals only itself; objects with other callbacks are never equal. */
static void host_objects_are_compared_by_their_callbacks(void) {
    const cst_host_callbacks plain = {.struct_size = sizeof plain, .compare = no_order};
    struct person ada = {"Ada", 1, 0}, twin = {"Ada", 2, 0}, bob = {"Bob", 3, 0};
    cst_value one = {CST_HOST, 0, {.host = {&plain, &ada}}}, two = {CST_HOST, 0, {.host = {&plain, &twin}}};
    CHECK(holds("%@ == %@", one, one));
    CHECK(!holds("%@ == %@", one, two));
    CHECK(holds("%@ != %@", one, two));
    CHECK(holds("%@ == %@", value_person(&ada), value_person(&twin)));
    CHECK(!holds("%@ == %@", value_person(&ada), value_person(&bob)));
    CHECK(!holds("%@ == %@", value_person(&ada), one));
    CHECK(holds("%@ < %@", value_person(&ada), value_person(&bob)));
    CHECK(holds("%@ > %@", value_person(&bob), value_person(&twin)));
    CHECK_INT(0, ada.kept + twin.kept + bob.kept);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(a_comparison_with_self_filters_values);
    RUN(every_kind_of_expression_is_built_and_read_back);
    RUN(a_parsed_predicate_is_read_back);
    RUN(host_objects_are_evaluated_by_key);
    RUN(blocks_are_called_and_destroyed_once);
    RUN(expressions_replace_arguments_and_variables);
    RUN(collections_that_contain_themselves_are_refused);
    RUN(each_set_operation_has_its_own_type);
    RUN(parsed_expressions_have_the_types_of_core_data);
    RUN(a_list_of_constants_is_a_constant);
    RUN(invalid_variable_names_are_refused);
    RUN(expressions_built_alike_are_equal);
    RUN(operands_are_returned_in_written_order);
    RUN(a_block_receives_value_arguments_and_variables);
    RUN(variables_must_be_a_dictionary_of_names);
    RUN(collections_nest_up_to_64_levels);
    RUN(a_host_list_is_read_element_by_element);
    RUN(host_objects_are_compared_by_their_callbacks);
    return check_end();
}
