/* Sort descriptors over values of the host and over results: selectors, comparators, stability, nil first.
 *
 * SPDX-License-Identifier: MIT
 */
#include "host.h"

static void expect_order(const char *expected, const size_t *order, size_t count) {
    char found[64] = "";
    for (size_t i = 0; i < count; i++)
        found[i] = (char)('0' + order[i]);
    CHECK_TEXT(expected, text_of_size(found, count));
}

static void sort_selectors_order_text(void) {
    const cst_value words[] = {
        value_text("b10"), value_text("B2"), value_text("a"), value_text("\xc3\xa9"), {CST_NULL, 0, {0}}};
    const struct {
        uint32_t flags;
        const char *order;
    } cases[] = {{0, "41203"},
                 {CST_SORT_DESCENDING, "30214"},
                 {CST_SORT_CASE_INSENSITIVE, "42013"},
                 {CST_SORT_LOCALIZED_STANDARD, "42103"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const cst_sort sort = {{NULL, 0}, cases[i].flags, 0};
        size_t order[5] = {0};
        OK(cst_sort_values(5, words, 1, &sort, NULL, NULL, order, E));
        expect_order(cases[i].order, order, 5);
    }
    const cst_sort bad = {{NULL, 0}, CST_SORT_LOCALIZED_STANDARD | CST_SORT_LOCALIZED, 0};
    size_t order[5];
    CHECK_STATUS(CST_E_UNSUPPORTED, cst_sort_values(5, words, 1, &bad, NULL, NULL, order, E));
}

static cst_status by_length(void *userdata, size_t sort, const cst_value *a, const cst_value *b, int32_t *out_order,
                            cst_error **error) {
    (void)error;
    CHECK_INT(0, sort);
    (*(int *)userdata)++;
    *out_order = (int32_t)a->as.string.size - (int32_t)b->as.string.size;
    return CST_OK;
}

static void a_comparator_is_followed_by_further_keys(void) {
    struct person people[] = {{"Chloe", 3, 0}, {"Ada", 2, 0}, {"Bob", 1, 0}, {"Eve", 2, 0}};
    cst_value values[4];
    for (int i = 0; i < 4; i++)
        values[i] = value_person(&people[i]);
    const cst_sort sort[] = {{text("name"), CST_SORT_COMPARATOR, 0}, {text("age"), CST_SORT_DESCENDING, 0}};
    size_t order[4] = {0};
    int asked = 0;
    OK(cst_sort_values(4, values, 2, sort, by_length, &asked, order, E));
    expect_order("1320", order, 4);
    CHECK(asked > 0);
    CHECK_STATUS(CST_E_UNSUPPORTED, cst_sort_values(4, values, 2, sort, NULL, NULL, order, E));
    CHECK_CONTAINS("compare is NULL", cst_error_message(check_error()));
    const cst_sort unknown = {text("nme"), 0, 0};
    CHECK_STATUS(CST_E_PREDICATE, cst_sort_values(4, values, 1, &unknown, NULL, NULL, order, E));
    const cst_sort themselves = {{NULL, 0}, 0, 0}; /* by their own order */
    OK(cst_sort_values(4, values, 1, &themselves, NULL, NULL, order, E));
    expect_order("2130", order, 4);
}

static void a_leading_minus_reverses_the_order(void) {
    struct person people[] = {{"Ada", 2, 0}, {"Bob", 3, 0}, {"Eve", 1, 0}};
    cst_value values[3];
    for (int i = 0; i < 3; i++)
        values[i] = value_person(&people[i]);
    const struct {
        const char *path;
        uint32_t flags;
        const char *order;
    } cases[] = {{"age", 0, "201"},
                 {"age", CST_SORT_DESCENDING, "102"},
                 {"-age", 0, "102"},
                 {"-age", CST_SORT_DESCENDING, "201"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const cst_sort sort = {text(cases[i].path), cases[i].flags, 0};
        size_t order[3] = {0};
        OK(cst_sort_values(3, values, 1, &sort, NULL, NULL, order, E));
        expect_order(cases[i].order, order, 3);
    }
}

static void results_are_filtered_and_sorted(void) {
    struct company c = company_open(check_path("a.sqlite"));
    cst_object *people[] = {company_employee(&c, c.context, "Ada", 2), company_employee(&c, c.context, "Chloe", 3),
                            company_employee(&c, c.context, "Bob", 1)};
    cst_results *all = company_fetch(c.context, c.employee, NULL, "number"), *some = NULL, *sorted = NULL;
    cst_predicate *predicate = NULL;
    OK(cst_predicate_parse(text("number < $limit"), 0, NULL, &predicate, E));
    const cst_value pair[] = {value_text("limit"), value_int(3)}, variables = value_list(CST_DICTIONARY, pair, 2);
    OK(cst_results_copy_filtered(all, predicate, &variables, &some, E));
    CHECK_INT(2, cst_results_count(some));
    const cst_sort sort = {text("name"), CST_SORT_COMPARATOR | CST_SORT_DESCENDING, 0};
    int asked = 0;
    OK(cst_results_copy_sorted(all, 1, &sort, by_length, &asked, &sorted, E));
    cst_object *first = NULL;
    OK(cst_results_get_object(sorted, 0, &first, E));
    CHECK(first == people[1]);
    cst_fetch_request *request = NULL;
    OK(cst_fetch_request_new(c.employee, &request, E));
    CHECK_STATUS(CST_E_UNSUPPORTED, cst_fetch_request_set_sort(request, 1, &sort, E));
    const cst_sort localized = {text("name"), CST_SORT_LOCALIZED | CST_SORT_CASE_INSENSITIVE, 0};
    OK(cst_fetch_request_set_sort(request, 1, &localized, E));
    cst_release(request), cst_release(all), cst_release(some), cst_release(sorted), cst_release(predicate);
    for (int i = 0; i < 3; i++)
        OK(cst_release(people[i]));
    company_close(&c);
}

static void the_locale_determines_the_localised_order(void) {
    cst_buffer name = {NULL, 0, 0};
    bool uses_icu = false;
    OK(cst_sort_set_locale(text("sv_SE"), E));
    OK(cst_sort_copy_locale(&name, &uses_icu, E));
    CHECK_TEXT("sv_SE", text_of_size(name.data, name.size));
    if (uses_icu) { /* in Swedish after z, in German beside a */
        const cst_value words[] = {value_text("\xc3\xa4"), value_text("z")};
        const cst_sort sort = {{NULL, 0}, CST_SORT_LOCALIZED, 0};
        size_t order[2];
        OK(cst_sort_values(2, words, 1, &sort, NULL, NULL, order, E));
        expect_order("10", order, 2);
        OK(cst_sort_set_locale(text("de_DE"), E));
        OK(cst_sort_values(2, words, 1, &sort, NULL, NULL, order, E));
        expect_order("01", order, 2);
    }
    OK(cst_sort_set_locale((cst_string){NULL, 0}, E));
    cst_buffer_dispose(&name);
}

static void invalid_sort_flags_are_refused(void) {
    const cst_value words[] = {value_text("b"), value_text("a")};
    size_t order[2] = {7, 7};
    const struct {
        const char *path;
        uint32_t flags, reserved;
    } cases[] = {
        {"name", CST_SORT_COMPARATOR << 1, 0},
        {"name", UINT32_MAX, 0},
        {"name", CST_SORT_LOCALIZED_STANDARD | CST_SORT_CASE_INSENSITIVE, 0},
        {"name", CST_SORT_LOCALIZED_STANDARD | CST_SORT_LOCALIZED | CST_SORT_CASE_INSENSITIVE, 0},
        {"name", 0, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const cst_sort sort[] = {{{NULL, 0}, 0, 0}, {text(cases[i].path), cases[i].flags, cases[i].reserved}};
        CHECK_STATUS(CST_E_UNSUPPORTED, cst_sort_values(2, words, 2, sort, NULL, NULL, order, E));
        CHECK_TEXT("name", cst_error_key(check_error()));
    }
    CHECK(order[0] == 7 && order[1] == 7);
    const cst_sort itself = {{NULL, 0}, CST_SORT_COMPARATOR, 0};
    CHECK_STATUS(CST_E_UNSUPPORTED, cst_sort_values(2, words, 1, &itself, NULL, NULL, order, E));
    CHECK_TEXT("self", cst_error_key(check_error()));
    OK(cst_sort_values(0, NULL, 0, NULL, NULL, NULL, NULL, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_sort_values(2, words, 0, NULL, NULL, NULL, NULL, E));
    OK(cst_sort_values(2, words, 0, NULL, NULL, NULL, order, E));
    expect_order("01", order, 2);
}

static void localised_selectors_ignore_case_on_request(void) {
    OK(cst_sort_set_locale(text(""), E)); /* the rules of no language */
    const cst_value words[] = {value_text("B"), value_text("a"), value_text("A"), value_text("b")};
    const struct {
        uint32_t flags;
        const char *order;
    } cases[] = {{CST_SORT_LOCALIZED, "1230"},
                 {CST_SORT_LOCALIZED | CST_SORT_CASE_INSENSITIVE, "1203"},
                 {CST_SORT_LOCALIZED | CST_SORT_CASE_INSENSITIVE | CST_SORT_DESCENDING, "0312"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const cst_sort sort = {{NULL, 0}, cases[i].flags, 0};
        size_t order[4];
        OK(cst_sort_values(4, words, 1, &sort, NULL, NULL, order, E));
        expect_order(cases[i].order, order, 4);
    }
    cst_buffer name = {NULL, 0, 0};
    OK(cst_sort_copy_locale(&name, NULL, E));
    CHECK_TEXT("", text_of_size(name.data, name.size));
    cst_buffer_dispose(&name);
    OK(cst_sort_set_locale((cst_string){NULL, 0}, E));
}

struct asked {
    size_t sort;
    int count;
    bool fails;
};

static cst_status backwards(void *userdata, size_t sort, const cst_value *a, const cst_value *b, int32_t *out_order,
                            cst_error **error) {
    struct asked *asked = userdata;
    asked->sort = sort;
    asked->count++;
    CHECK_INT(CST_INT, a->type);
    if (asked->fails) {
        cst_error_new_custom(text("App"), 5, text("cannot tell"), NULL, NULL, error);
        return CST_E_CALLBACK;
    }
    *out_order = (a->as.integer < b->as.integer) - (a->as.integer > b->as.integer);
    return CST_OK;
}

/* The comparator is called when the first key is equal, with the index of its descriptor, and never for nil. */
static void a_comparator_can_be_the_second_key(void) {
    struct person people[] = {{"a", 1, 0}, {"b", 9, 0}, {"a", 3, 0}, {"a", 2, 0}};
    cst_value values[4];
    for (int i = 0; i < 4; i++)
        values[i] = value_person(&people[i]);
    const cst_sort sort[] = {{text("name"), 0, 0}, {text("age"), CST_SORT_COMPARATOR, 0}};
    struct asked asked = {0, 0, false};
    size_t order[4];
    OK(cst_sort_values(4, values, 2, sort, backwards, &asked, order, E));
    expect_order("2301", order, 4);
    CHECK_INT(1, asked.sort);
    const cst_sort turned[] = {{text("name"), 0, 0}, {text("age"), CST_SORT_COMPARATOR | CST_SORT_DESCENDING, 0}};
    OK(cst_sort_values(4, values, 2, turned, backwards, &asked, order, E));
    expect_order("0321", order, 4);
    const cst_value mixed[] = {value_int(1), {CST_NULL, 0, {0}}, value_int(2), {CST_NULL, 0, {0}}};
    const cst_sort itself = {{NULL, 0}, CST_SORT_COMPARATOR, 0};
    OK(cst_sort_values(4, mixed, 1, &itself, backwards, &asked, order, E));
    expect_order("1320", order, 4);
    CHECK_INT(0, asked.sort);
    asked.fails = true;
    CHECK_STATUS(CST_E_CALLBACK, cst_sort_values(4, values, 2, sort, backwards, &asked, order, E));
    CHECK_TEXT("the host's comparator failed: cannot tell", cst_error_message(check_error()));
    CHECK_INT(5, cst_error_code(cst_error_detail_at(check_error(), 0)));
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(sort_selectors_order_text);
    RUN(a_comparator_is_followed_by_further_keys);
    RUN(a_leading_minus_reverses_the_order);
    RUN(results_are_filtered_and_sorted);
    RUN(the_locale_determines_the_localised_order);
    RUN(invalid_sort_flags_are_refused);
    RUN(localised_selectors_ignore_case_on_request);
    RUN(a_comparator_can_be_the_second_key);
    return check_end();
}
