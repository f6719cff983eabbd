/* Predicates: parsing with arguments, compounds, printing, evaluating, mistakes.
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

static void formats_are_printed_in_core_datas_spelling(void) {
    expect_format("name == \"Ada\"", parse("name = 'Ada'", 0, NULL));
    expect_format("age > 40 AND name BEGINSWITH[cd] \"a\"", parse("age > 40 && name beginswith[cd] 'a'", 0, NULL));
    expect_format("NOT a == 1", parse("! a == 1", 0, NULL));
    const cst_value arguments[] = {value_int(40), value_text("department.name"), value_text("R&D")};
    expect_format("age > 40 AND department.name == \"R&D\"", parse("age > %d AND %K == %@", 3, arguments));
}

static void arguments_must_fit_the_conversions(void) {
    cst_predicate *predicate = NULL;
    const cst_value one = value_int(1), words = value_text("x");
    CHECK(cst_predicate_parse(text("a == %d"), 0, NULL, &predicate, E) < 0);
    CHECK(cst_predicate_parse(text("a == %d"), 1, NULL, &predicate, E) == CST_E_INVALID_ARGUMENT);
    CHECK(cst_predicate_parse(text("%K == 1"), 1, &one, &predicate, E) < 0);
    CHECK(cst_predicate_parse(text("a == %d"), 1, &words, &predicate, E) < 0);
    CHECK(predicate == NULL);
}

static void compounds(void) {
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

static void objects_are_judged_in_memory(void) {
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
    cst_predicate *unknown = parse("nme == 'Ada'", 0, NULL);
    bool result;
    CHECK_STATUS(CST_E_PREDICATE, cst_predicate_evaluate(unknown, ada, &result, E));
    CHECK_CONTAINS("nme", cst_error_message(check_error()));
    OK(cst_release(unknown));
    OK(cst_release(ada));
    OK(cst_release(bob));
    OK(cst_release(dept));
    company_close(&c);
}

static void mistakes_tell_where(void) {
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

static void deep_nesting_is_an_error_not_a_crash(void) {
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

static void a_greedy_pattern_ends(void) {
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

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(formats_are_printed_in_core_datas_spelling);
    RUN(arguments_must_fit_the_conversions);
    RUN(compounds);
    RUN(objects_are_judged_in_memory);
    RUN(mistakes_tell_where);
    RUN(deep_nesting_is_an_error_not_a_crash);
    RUN(a_greedy_pattern_ends);
    return check_end();
}
