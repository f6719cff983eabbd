/* Predicates: parsing with arguments, compounds, printing, evaluating, errors.
 *
 * SPDX-License-Identifier: MIT
 */
#include "company.h"

#include <string.h>

static cst_predicate *parse(const char *format, size_t count, const cst_value *arguments) {
    cst_predicate *predicate = NULL;
    OK(cst_predicate_parse(text(format), count, arguments, &predicate, E));
    return predicate;
}

static void expect_format(const char *expected, cst_predicate *predicate) {
    cst_buffer out = {NULL, 0, 0};
    OK(cst_predicate_copy_format(predicate, &out, E));
    CHECK_TEXT(expected, text_of_size(out.data, out.size));
    cst_buffer_dispose(&out);
    OK(cst_release(predicate));
}

static void formats_are_printed_as_core_data_prints_them(void) {
    expect_format("name == \"Ada\"", parse("name = 'Ada'", 0, NULL));
    expect_format("age > 40 AND name BEGINSWITH[cd] \"a\"", parse("age > 40 && name beginswith[cd] 'a'", 0, NULL));
    expect_format("NOT a == 1", parse("! a == 1", 0, NULL));
    const cst_value arguments[] = {value_int(40), value_text("department.name"), value_text("R&D")};
    expect_format("age > 40 AND department.name == \"R&D\"", parse("age > %d AND %K == %@", 3, arguments));
}

static void arguments_must_suit_their_conversions(void) {
    cst_predicate *predicate = NULL;
    const cst_value one = value_int(1), words = value_text("x");
    CHECK(cst_predicate_parse(text("a == %d"), 0, NULL, &predicate, E) < 0);
    CHECK(cst_predicate_parse(text("a == %d"), 1, NULL, &predicate, E) == CST_E_INVALID_ARGUMENT);
    CHECK(cst_predicate_parse(text("%K == 1"), 1, &one, &predicate, E) < 0);
    CHECK(cst_predicate_parse(text("a == %d"), 1, &words, &predicate, E) < 0);
    CHECK(predicate == NULL);
}

static void compound_predicates_are_built_from_predicates(void) {
    cst_predicate *both[] = {parse("a == 1", 0, NULL), parse("b == 2", 0, NULL)}, *compound = NULL;
    const cst_predicate *const *list = (const cst_predicate *const *)both;
    OK(cst_predicate_new_compound(CST_PREDICATE_AND, 2, list, &compound, E));
    expect_format("a == 1 AND b == 2", compound);
    OK(cst_predicate_new_compound(CST_PREDICATE_OR, 2, list, &compound, E));
    expect_format("a == 1 OR b == 2", compound);
    OK(cst_predicate_new_compound(CST_PREDICATE_NOT, 1, list, &compound, E));
    expect_format("NOT a == 1", compound);
    OK(cst_predicate_new_compound(CST_PREDICATE_AND, 0, NULL, &compound, E));
    OK(cst_release(compound));
    compound = NULL;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_predicate_new_compound(CST_PREDICATE_NOT, 2, list, &compound, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_predicate_new_compound(3, 2, list, &compound, E));
    OK(cst_release(both[1]));
    CHECK_STATUS(CST_E_INVALID_HANDLE, cst_predicate_new_compound(CST_PREDICATE_AND, 2, list, &compound, E));
    CHECK(compound == NULL);
    OK(cst_release(both[0]));
}

static void objects_are_evaluated_in_memory(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "Ada", 41), *bob = company_employee(&c, c.context, "Bob", 5);
    cst_object *dept = company_insert(&c, c.context, c.department, c.department_name, "R&D");
    set(ada, c.to_department, value_object(dept));
    set(ada, c.manager, value_object(bob));
    set(ada, c.rating, value_real(2.5));
    const struct {
        const char *format;
        bool expected;
    } cases[] = {
        {"number > 40 AND department.name == 'R&D'", true},
        {"number BETWEEN {41, 50}", true},
        {"number IN {1, 2, 3}", false},
        {"name ==[c] 'ADA'", true},
        {"name LIKE 'A*'", true},
        {"name MATCHES 'A[a-d]a'", true},
        {"name CONTAINS 'x' OR rating == 2.5", true},
        {"notes == nil", true},
        {"notes != 'x'", true},
        {"manager.department == nil", true},
        {"manager.name == 'Bob'", true},
        {"NOT (manager.name == 'Bob')", false},
        {"ANY reports.name == 'Bob'", false},
        {"department.employees.@count == 1", true},
        {"TRUEPREDICATE", true},
        {"FALSEPREDICATE", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cst_predicate *predicate = parse(cases[i].format, 0, NULL);
        bool result = !cases[i].expected;
        if (CHECK_STATUS(CST_OK, cst_predicate_evaluate(predicate, ada, &result, E)) && result != cases[i].expected) {
            check_fail(__FILE__, __LINE__, "%s is %s", cases[i].format, result ? "true" : "false");
        }
        OK(cst_release(predicate));
    }
    const cst_value place = value_object(dept);
    cst_predicate *same = parse("number > 40 AND department == %@", 1, &place);
    bool result = false;
    OK(cst_predicate_evaluate(same, ada, &result, E));
    CHECK(result);
    set(ada, c.to_department, value_null());
    OK(cst_predicate_evaluate(same, ada, &result, E));
    CHECK(!result);
    OK(cst_release(same));
    cst_predicate *unknown = parse("nme == 'Ada'", 0, NULL);
    CHECK_STATUS(CST_E_PREDICATE, cst_predicate_evaluate(unknown, ada, &result, E));
    CHECK_CONTAINS("nme", cst_error_message(check_error()));
    OK(cst_release(unknown));
    OK(cst_release(ada));
    OK(cst_release(bob));
    OK(cst_release(dept));
    company_close(&c);
}

static void syntax_errors_contain_their_offset(void) {
    const struct {
        const char *format;
        int64_t offset;
    } cases[] = {
        {"name ==", 7},
        {"name == 'Ada' AND", 17},
        {"name == 'Ada", -1},
        {"(name == 'Ada'", 14},
        {"name = = 'x'", 7},
        {"name == 'Ada' garbage", 14},
        {"", 0},
        {"na\xc3\xafve ==", 9},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cst_predicate *predicate = NULL;
        cst_status status = cst_predicate_parse(text(cases[i].format), 0, NULL, &predicate, E);
        if (status != CST_E_PREDICATE_SYNTAX) {
            check_fail(__FILE__, __LINE__, "\"%s\": %s", cases[i].format, check_status_name(status));
            continue;
        }
        CHECK(predicate == NULL);
        int64_t offset = cst_error_offset(check_error());
        if (offset < 0 || (cases[i].offset >= 0 && offset != cases[i].offset)) {
            check_fail(__FILE__, __LINE__, "\"%s\": stopped at %lld, expected %lld", cases[i].format, (long long)offset,
                       (long long)cases[i].offset);
        }
        CHECK_CONTAINS(strchr(cases[i].format, '\'') && cases[i].offset < 0 ? "closing" : "expected",
                       cst_error_message(check_error()));
        CHECK_CONTAINS("^", cst_error_message(check_error()));
    }
}

static void deep_nesting_is_refused(void) {
    enum { DEPTH = 100000 };
    static char format[DEPTH * 2 + 16];
    memset(format, '(', DEPTH);
    strcpy(format + DEPTH, "a == 1");
    memset(format + DEPTH + 6, ')', DEPTH);
    cst_predicate *predicate = NULL;
    CHECK(cst_predicate_parse(text(format), 0, NULL, &predicate, E) < 0);
    static char nots[DEPTH * 4 + 16];
    for (int i = 0; i < DEPTH; i++)
        memcpy(nots + i * 4, "NOT ", 4);
    strcpy(nots + DEPTH * 4, "a == 1");
    CHECK(cst_predicate_parse(text(nots), 0, NULL, &predicate, E) < 0);
    CHECK(predicate == NULL);
}

static void a_pattern_with_exponential_backtracking_terminates(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *ada = company_employee(&c, c.context, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!", 1);
    cst_predicate *predicate = parse("name MATCHES '(a+)+$'", 0, NULL);
    bool result = true;
    cst_status status = cst_predicate_evaluate(predicate, ada, &result, E);
    CHECK(status == CST_E_PREDICATE || (status == CST_OK && !result));
    OK(cst_release(predicate));
    OK(cst_release(ada));
    company_close(&c);
}

static cst_predicate_info info_of(const cst_predicate *predicate) {
    cst_predicate_info info = CST_PREDICATE_INFO_INIT;
    OK(cst_predicate_get_info(predicate, &info, E));
    return info;
}

static cst_expression *expression(const char *format) {
    cst_expression *parsed = NULL;
    OK(cst_expression_parse(text(format), 0, NULL, &parsed, E));
    return parsed;
}

static void every_operator_is_built_and_read_back(void) {
    static const struct {
        uint32_t type;
        const char *right, *format;
    } cases[] = {
        {CST_OPERATOR_LESS_THAN, "1", "a < 1"},
        {CST_OPERATOR_LESS_THAN_OR_EQUAL, "1", "a <= 1"},
        {CST_OPERATOR_GREATER_THAN, "1", "a > 1"},
        {CST_OPERATOR_GREATER_THAN_OR_EQUAL, "1", "a >= 1"},
        {CST_OPERATOR_EQUAL, "1", "a == 1"},
        {CST_OPERATOR_NOT_EQUAL, "1", "a != 1"},
        {CST_OPERATOR_MATCHES, "'x'", "a MATCHES \"x\""},
        {CST_OPERATOR_LIKE, "'x'", "a LIKE \"x\""},
        {CST_OPERATOR_BEGINS_WITH, "'x'", "a BEGINSWITH \"x\""},
        {CST_OPERATOR_ENDS_WITH, "'x'", "a ENDSWITH \"x\""},
        {CST_OPERATOR_IN, "b", "a IN b"},
        {CST_OPERATOR_CONTAINS, "'x'", "a CONTAINS \"x\""},
        {CST_OPERATOR_BETWEEN, "{1, 2}", "a BETWEEN {1, 2}"},
    };
    cst_expression *left = expression("a");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cst_expression *right = expression(cases[i].right);
        cst_predicate *built = NULL, *parsed = parse(cases[i].format, 0, NULL);
        OK(cst_predicate_new_comparison(left, cases[i].type, right, CST_MODIFIER_DIRECT, 0, &built, E));
        const cst_predicate_info info = info_of(built);
        CHECK_INT(CST_PREDICATE_IS_COMPARISON, info.kind);
        CHECK_INT(cases[i].type, info.operator_type);
        CHECK_INT(CST_MODIFIER_DIRECT, info.modifier);
        CHECK_INT(0, info.options);
        CHECK_INT(0, info.part_count);
        CHECK(cst_predicate_equal(built, parsed));
        CHECK(cst_predicate_hash(built) == cst_predicate_hash(parsed));
        expect_format(cases[i].format, built);
        OK(cst_release(parsed));
        OK(cst_release(right));
    }
    cst_predicate *none = NULL;
    const uint32_t unknown[] = {CST_OPERATOR_CUSTOM_SELECTOR, 12, 98, 101, UINT32_MAX};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_predicate_new_comparison(left, unknown[i], left, 0, 0, &none, E));
    CHECK(none == NULL);
    OK(cst_release(left));
}

static void modifiers_and_options_are_built_and_read_back(void) {
    cst_expression *left = expression("a"), *right = expression("'x'");
    cst_predicate *built = NULL;
    static const struct {
        uint32_t modifier, options;
        const char *format;
    } cases[] = {
        {CST_MODIFIER_ALL, 0, "ALL a LIKE \"x\""},
        {CST_MODIFIER_ANY, 0, "ANY a LIKE \"x\""},
        {CST_MODIFIER_DIRECT, CST_COMPARE_CASE_INSENSITIVE, "a LIKE[c] \"x\""},
        {CST_MODIFIER_DIRECT, CST_COMPARE_DIACRITIC_INSENSITIVE, "a LIKE[d] \"x\""},
        {CST_MODIFIER_DIRECT, CST_COMPARE_NORMALIZED, "a LIKE[n] \"x\""},
        {CST_MODIFIER_DIRECT, CST_COMPARE_LOCALE_SENSITIVE, "a LIKE[l] \"x\""},
        {CST_MODIFIER_ANY, CST_COMPARE_CASE_INSENSITIVE | CST_COMPARE_DIACRITIC_INSENSITIVE, "ANY a LIKE[cd] \"x\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        OK(cst_predicate_new_comparison(left, CST_OPERATOR_LIKE, right, cases[i].modifier, cases[i].options, &built,
                                        E));
        CHECK_INT(cases[i].modifier, info_of(built).modifier);
        CHECK_INT(cases[i].options, info_of(built).options);
        expect_format(cases[i].format, built);
    }
    OK(cst_predicate_new_comparison(left, CST_OPERATOR_LIKE, right, 0, 15, &built, E));
    CHECK_INT(15, info_of(built).options);
    OK(cst_release(built));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_predicate_new_comparison(left, CST_OPERATOR_LIKE, right, 3, 0, &built, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                 cst_predicate_new_comparison(left, CST_OPERATOR_LIKE, right, 0, 16, &built, E));
    CHECK(built == NULL);
    cst_release(left), cst_release(right);
}

static void every_kind_of_predicate_is_read_back(void) {
    static const struct {
        const char *format;
        uint32_t kind, compound;
        size_t parts;
    } cases[] = {
        {"TRUEPREDICATE", CST_PREDICATE_IS_TRUE, 0, 0},
        {"FALSEPREDICATE", CST_PREDICATE_IS_FALSE, 0, 0},
        {"a == 1", CST_PREDICATE_IS_COMPARISON, 0, 0},
        {"NOT a == 1", CST_PREDICATE_IS_COMPOUND, CST_PREDICATE_NOT, 1},
        {"a == 1 AND b == 2 AND c == 3", CST_PREDICATE_IS_COMPOUND, CST_PREDICATE_AND, 3},
        {"a == 1 OR b == 2", CST_PREDICATE_IS_COMPOUND, CST_PREDICATE_OR, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cst_predicate *predicate = parse(cases[i].format, 0, NULL), *part = NULL;
        cst_expression *side = NULL;
        const cst_predicate_info info = info_of(predicate);
        CHECK_INT(cases[i].kind, info.kind);
        CHECK_INT(cases[i].compound, info.compound);
        CHECK_INT(cases[i].parts, info.part_count);
        CHECK_INT(sizeof info, info.struct_size);
        CHECK_STATUS(CST_END, cst_predicate_copy_part(predicate, cases[i].parts, &part, E));
        CHECK_STATUS(CST_END, cst_predicate_copy_part(predicate, SIZE_MAX, &part, E));
        CHECK(part == NULL);
        const bool has_sides = cases[i].kind == CST_PREDICATE_IS_COMPARISON;
        CHECK_INT(has_sides ? CST_OK : CST_NOT_FOUND, cst_predicate_copy_side(predicate, 0, &side, E));
        cst_release(side);
        CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_predicate_copy_side(predicate, 2, &side, E));
        OK(cst_release(predicate));
    }
    cst_predicate *all = parse("a == 1 AND b == 2", 0, NULL), *part = NULL;
    OK(cst_predicate_copy_part(all, 1, &part, E));
    expect_format("b == 2", part);
    OK(cst_release(all));
    cst_predicate *custom = parse("name isLike: 'x'", 0, NULL);
    CHECK_INT(CST_PREDICATE_IS_COMPARISON, info_of(custom).kind);
    CHECK_INT(CST_OPERATOR_CUSTOM_SELECTOR, info_of(custom).operator_type);
    OK(cst_release(custom));
}

static void a_short_predicate_info_is_filled_to_its_size(void) {
    cst_predicate *predicate = parse("a == 1 OR b == 2", 0, NULL);
    cst_predicate_info info;
    memset(&info, 0x5a, sizeof info);
    info.struct_size = offsetof(cst_predicate_info, part_count);
    OK(cst_predicate_get_info(predicate, &info, E));
    CHECK_INT(offsetof(cst_predicate_info, part_count), info.struct_size);
    CHECK_INT(CST_PREDICATE_IS_COMPOUND, info.kind);
    CHECK_INT(CST_PREDICATE_OR, info.compound);
    CHECK(info.part_count == (size_t)0x5a5a5a5a5a5a5a5a);
    CHECK_INT(0x5a5a5a5a, info.operator_type);
    info.struct_size = 0;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_predicate_get_info(predicate, &info, E));
    OK(cst_release(predicate));
}

static void predicates_built_alike_are_equal(void) {
    cst_predicate *one = parse("a == 1", 0, NULL), *same = parse("a = 1", 0, NULL), *other = parse("a == 2", 0, NULL);
    CHECK(cst_predicate_equal(one, same) && cst_predicate_equal(one, one));
    CHECK(!cst_predicate_equal(one, other));
    CHECK(!cst_predicate_equal(one, NULL) && !cst_predicate_equal(NULL, one) && !cst_predicate_equal(NULL, NULL));
    CHECK(cst_predicate_hash(one) == cst_predicate_hash(same));
    CHECK_INT(0, cst_predicate_hash(NULL));
    cst_release(one), cst_release(same), cst_release(other);
}

static void a_filter_evaluates_each_value(void) {
    cst_predicate *predicate = parse("SELF > $least", 0, NULL);
    const cst_value pair[] = {value_text("least"), value_int(2)};
    const cst_value variables = {CST_DICTIONARY, 0, {.values = {pair, 2}}};
    const cst_value values[] = {value_int(3), value_int(2), value_int(4), value_text("x"), value_int(5)};
    bool holds[5] = {false, true, false, true, true};
    OK(cst_predicate_filter(predicate, 3, values, &variables, holds, E));
    CHECK(holds[0] && !holds[1] && holds[2]);
    OK(cst_predicate_filter(predicate, 0, NULL, NULL, NULL, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_predicate_filter(predicate, 1, values, &variables, NULL, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_predicate_filter(predicate, 1, values, &values[0], holds, E));
    /* Without the variable the first evaluation fails, and all results are false. */
    for (int i = 0; i < 5; i++)
        holds[i] = true;
    CHECK_STATUS(CST_E_PREDICATE, cst_predicate_filter(predicate, 5, values, NULL, holds, E));
    for (int i = 0; i < 5; i++)
        CHECK(!holds[i]);
    bool one = true;
    CHECK_STATUS(CST_E_PREDICATE, cst_predicate_evaluate_value(predicate, values, NULL, &one, E));
    CHECK(!one);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_predicate_evaluate_value(predicate, NULL, &variables, &one, E));
    /* An expression replaces the variable. */
    cst_expression *computed = expression("1 + 1");
    const cst_value other[] = {value_text("least"), {CST_EXPRESSION, 0, {.expression = computed}}};
    const cst_value given = {CST_DICTIONARY, 0, {.values = {other, 2}}};
    OK(cst_predicate_evaluate_value(predicate, values, &given, &one, E));
    CHECK(one);
    OK(cst_predicate_evaluate_value(predicate, values + 1, &given, &one, E));
    CHECK(!one);
    cst_release(computed), cst_release(predicate);
}

static cst_status refuse(void *userdata, const cst_value *value, const cst_value *variables, bool *out_result,
                         cst_error **error) {
    (void)userdata, (void)value, (void)variables, (void)error;
    *out_result = true;
    return CST_E_CANCELLED;
}

static void the_status_of_a_block_that_fails_without_an_error_is_reported(void) {
    cst_predicate *block = NULL;
    bool holds = true;
    const cst_value one = value_int(1);
    OK(cst_predicate_new_block(refuse, NULL, NULL, &block, E));
    CHECK_STATUS(CST_E_CALLBACK, cst_predicate_evaluate_value(block, &one, NULL, &holds, E));
    CHECK_CONTAINS("the host's predicate block failed with status -11", cst_error_message(check_error()));
    CHECK(!holds);
    OK(cst_release(block));
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(formats_are_printed_as_core_data_prints_them);
    RUN(arguments_must_suit_their_conversions);
    RUN(compound_predicates_are_built_from_predicates);
    RUN(objects_are_evaluated_in_memory);
    RUN(syntax_errors_contain_their_offset);
    RUN(deep_nesting_is_refused);
    RUN(a_pattern_with_exponential_backtracking_terminates);
    RUN(every_operator_is_built_and_read_back);
    RUN(modifiers_and_options_are_built_and_read_back);
    RUN(every_kind_of_predicate_is_read_back);
    RUN(a_short_predicate_info_is_filled_to_its_size);
    RUN(predicates_built_alike_are_equal);
    RUN(a_filter_evaluates_each_value);
    RUN(the_status_of_a_block_that_fails_without_an_error_is_reported);
    return check_end();
}
