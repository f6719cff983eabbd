/* Expressions: made without text, read back, evaluated over values of the host's own.
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

static void self_above_zero(void) {
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

static void every_kind_is_made_and_read_back(void) {
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

static void predicates_are_read_back(void) {
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

static void hosts_objects_are_asked_by_key(void) {
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
    CHECK_CONTAINS("Person has no key \"nme\"", cst_error_message(check_error()));
    CHECK_TEXT("nme", cst_error_key(check_error()));
    CHECK_STATUS(CST_E_CALLBACK, cst_value_copy_at_key_path(&people[0], text("fail"), &out, E));
    CHECK_TEXT("no luck", cst_error_message(check_error()));
    CHECK_INT(7, cst_error_code(cst_error_detail_at(check_error(), 0)));

    /* Kept as a constant, found again as a result. */
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

static void blocks_are_asked(void) {
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

static void expressions_stand_for_arguments_and_variables(void) {
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

static void collections_that_hold_themselves_are_refused(void) {
    cst_value loop[2] = {value_int(1), value_int(2)}, out = {0, 0, {0}};
    loop[1] = value_list(CST_ARRAY, loop, 2);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_value_copy_at_key_path(&loop[1], text("@count"), &out, E));
    loop[0] = loop[1]; /* twice at each level: memory would end before the depth does */
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

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(self_above_zero);
    RUN(every_kind_is_made_and_read_back);
    RUN(predicates_are_read_back);
    RUN(hosts_objects_are_asked_by_key);
    RUN(blocks_are_asked);
    RUN(expressions_stand_for_arguments_and_variables);
    RUN(collections_that_hold_themselves_are_refused);
    return check_end();
}
