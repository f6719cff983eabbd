/* Rows: columns, expressions, groups and sums instead of objects.
 *
 * SPDX-License-Identifier: MIT
 */
#include "company.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { PEOPLE = 6 };

static struct company six_people(void) {
    struct company c = company_open(check_path("company.sqlite"));
    for (int i = 0; i < PEOPLE; i++) {
        char name[24];
        snprintf(name, sizeof name, "person %d", i);
        OK(cst_release(company_employee(&c, c.context, name, i % 2)));
    }
    save(c.context);
    return c;
}

static cst_column property(const char *name) { return (cst_column){text(name), NULL, CST_ATTRIBUTE_UNDEFINED, 0}; }

static cst_column computed(const char *name, const char *format, cst_attribute_type type) {
    cst_expression *expression = NULL;
    OK(cst_expression_parse(text(format), 0, NULL, &expression, E));
    return (cst_column){text(name), expression, type, 0};
}

static cst_fetch_request *request_of(const struct company *c, size_t count, const cst_column *columns) {
    cst_fetch_request *request = NULL;
    OK(cst_fetch_request_new(c->employee, &request, E));
    OK(cst_fetch_request_set_columns(request, count, columns, E));
    return request;
}

static cst_rows *rows_of(const struct company *c, const cst_fetch_request *request) {
    cst_rows *rows = NULL;
    OK(cst_context_fetch_rows(c->context, request, &rows, E));
    return rows;
}

static void rows_have_named_property_and_expression_columns(void) {
    struct company c = six_people();
    cst_column columns[] = {property("name"), computed("twice", "number * 2", CST_ATTRIBUTE_INTEGER_64)};
    cst_fetch_request *request = request_of(&c, 2, columns);
    cst_sort order = {text("name"), CST_SORT_DESCENDING, 0};
    OK(cst_fetch_request_set_sort(request, 1, &order, E));
    OK(cst_fetch_request_set_limit(request, 2, E));
    cst_rows *rows = rows_of(&c, request);
    CHECK_INT(2, cst_rows_count(rows));
    CHECK_INT(2, cst_rows_column_count(rows));
    CHECK_TEXT("twice", cst_rows_column_name(rows, 1));
    CHECK(cst_rows_column_name(rows, 2).data == NULL);
    cst_value values[4];
    OK(cst_rows_copy_values(rows, 0, 2, values, E));
    CHECK_TEXT("person 5", values[0].as.string);
    CHECK_INT(CST_INT, values[1].type);
    CHECK_INT(2, values[1].as.integer);
    CHECK_TEXT("person 4", values[2].as.string);
    for (int i = 0; i < 4; i++)
        cst_value_dispose(&values[i]);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_rows_copy_values(rows, 1, 2, values, E));
    OK(cst_release(rows));
    OK(cst_release(request));
    OK(cst_release((void *)columns[1].expression));
    company_close(&c);
}

static void rows_are_sorted_by_computed_columns(void) {
    struct company c = six_people();
    cst_column columns[] = {property("name"), computed("odd", "number * -2", CST_ATTRIBUTE_INTEGER_64)};
    cst_fetch_request *request = request_of(&c, 2, columns);
    cst_sort order[] = {{text("odd"), 0, 0}, {text("name"), CST_SORT_DESCENDING, 0}};
    OK(cst_fetch_request_set_sort(request, 2, order, E));
    OK(cst_fetch_request_set_limit(request, 4, E));
    const char *const names[] = {"person 5", "person 3", "person 1", "person 4"};
    for (int in_memory = 0; in_memory < 2; in_memory++) {
        OK(cst_fetch_request_set_option(request, CST_FETCH_ROWS_IN_MEMORY, in_memory, E));
        cst_rows *rows = rows_of(&c, request);
        CHECK_INT(4, cst_rows_count(rows));
        for (size_t row = 0; row < 4; row++) {
            cst_value values[2];
            OK(cst_rows_copy_values(rows, row, 1, values, E));
            CHECK_TEXT(names[row], values[0].as.string);
            CHECK_INT(row < 3 ? -2 : 0, values[1].as.integer);
            cst_value_dispose(&values[0]);
            cst_value_dispose(&values[1]);
        }
        OK(cst_release(rows));
    }
    OK(cst_release(request));
    OK(cst_release((void *)columns[1].expression));
    company_close(&c);
}

static void rows_are_grouped_and_filtered_by_having(void) {
    struct company c = six_people();
    cst_column columns[] = {property("number"), computed("how many", "count:(name)", CST_ATTRIBUTE_UNDEFINED)};
    cst_fetch_request *request = request_of(&c, 2, columns);
    cst_string by = text("number");
    cst_sort order = {by, 0, 0};
    cst_predicate *having = NULL;
    OK(cst_fetch_request_set_group_by(request, 1, &by, E));
    OK(cst_fetch_request_set_sort(request, 1, &order, E));
    cst_rows *rows = rows_of(&c, request);
    CHECK_INT(2, cst_rows_count(rows));
    cst_value values[4];
    OK(cst_rows_copy_values(rows, 0, 2, values, E));
    CHECK_INT(0, values[0].as.integer);
    CHECK_INT(3, values[1].as.integer);
    CHECK_INT(1, values[2].as.integer);
    OK(cst_release(rows));

    OK(cst_predicate_parse(text("sum:(number) > 1"), 0, NULL, &having, E));
    OK(cst_fetch_request_set_having(request, having, E));
    rows = rows_of(&c, request);
    CHECK_INT(1, cst_rows_count(rows));
    OK(cst_release(rows));
    OK(cst_fetch_request_set_having(request, NULL, E));
    rows = rows_of(&c, request);
    CHECK_INT(2, cst_rows_count(rows));
    OK(cst_release(rows));
    OK(cst_release(having));
    OK(cst_release(request));
    OK(cst_release((void *)columns[1].expression));
    company_close(&c);
}

static void distinct_removes_duplicate_rows(void) {
    struct company c = six_people();
    cst_column number = property("number");
    cst_fetch_request *request = request_of(&c, 1, &number);
    cst_rows *rows = rows_of(&c, request);
    CHECK_INT(6, cst_rows_count(rows));
    OK(cst_release(rows));
    OK(cst_fetch_request_set_distinct(request, true, E));
    rows = rows_of(&c, request);
    CHECK_INT(2, cst_rows_count(rows));
    OK(cst_release(rows));
    OK(cst_release(request));
    company_close(&c);
}

static void to_one_columns_contain_ids_or_null(void) {
    struct company c = six_people();
    cst_column manager = property("department");
    cst_fetch_request *request = request_of(&c, 1, &manager);
    cst_rows *rows = rows_of(&c, request);
    cst_value value;
    OK(cst_rows_copy_values(rows, 0, 1, &value, E));
    CHECK(value.type == CST_NULL || value.type == CST_OBJECT_ID);
    cst_value_dispose(&value);
    OK(cst_release(rows));
    OK(cst_release(request));
    company_close(&c);
}

static void invalid_columns_are_refused(void) {
    struct company c = six_people();
    cst_rows *rows = NULL;
    cst_column columns[] = {property("name"), property("reviews"), property("name")};
    cst_fetch_request *request = request_of(&c, 2, columns);
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_fetch_rows(c.context, request, &rows, E));
    CHECK_CONTAINS("to-many", cst_error_message(check_error()));
    CHECK(rows == NULL);
    columns[1] = columns[2];
    OK(cst_fetch_request_set_columns(request, 2, columns, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_fetch_rows(c.context, request, &rows, E));
    CHECK_CONTAINS("two columns have the name \"name\"", cst_error_message(check_error()));
    columns[0].reserved = 1;
    CHECK_STATUS(CST_E_UNSUPPORTED, cst_fetch_request_set_columns(request, 1, columns, E));
    columns[0].reserved = 0;
    columns[0].type = 12345;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_fetch_request_set_columns(request, 1, columns, E));
    OK(cst_release(request));
    company_close(&c);
}

/* One value over all rows, or of each group, in a column that is called as it would be written. */
static void aggregates_return_one_value_per_group(void) {
    struct company c = six_people();
    cst_fetch_request *request = request_of(&c, 0, NULL);
    cst_rows *rows = NULL;
    cst_value values[2];
    OK(cst_context_aggregate(c.context, request, CST_AGGREGATE_SUM, text("number"), &rows, E));
    CHECK_INT(1, cst_rows_count(rows));
    CHECK_TEXT("sum:(number)", cst_rows_column_name(rows, 0));
    OK(cst_rows_copy_values(rows, 0, 1, values, E));
    CHECK_INT(CST_INT, values[0].type);
    CHECK_INT(3, values[0].as.integer);
    OK(cst_release(rows));

    cst_string by = text("number");
    cst_sort most = {text("count:(SELF)"), CST_SORT_DESCENDING, 0};
    OK(cst_fetch_request_set_group_by(request, 1, &by, E));
    OK(cst_fetch_request_set_sort(request, 1, &most, E));
    OK(cst_context_aggregate(c.context, request, CST_AGGREGATE_COUNT, (cst_string){NULL, 0}, &rows, E));
    CHECK_INT(2, cst_rows_count(rows));
    CHECK_TEXT("number", cst_rows_column_name(rows, 0));
    OK(cst_rows_copy_values(rows, 1, 1, values, E));
    CHECK_INT(1, values[0].as.integer);
    CHECK_INT(3, values[1].as.integer);
    OK(cst_release(rows));

    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_aggregate(c.context, request, 8, text("number"), &rows, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT,
                 cst_context_aggregate(c.context, request, CST_AGGREGATE_SUM, text("name"), &rows, E));
    CHECK_CONTAINS("Person.name is of type String, but must be a number", cst_error_message(check_error()));
    CHECK(rows == NULL);
    OK(cst_release(request));
    company_close(&c);
}

/* Rows are read by their own statement, unless they are computed from objects. */
static void rows_are_explained_with_their_own_statement(void) {
    struct company c = six_people();
    cst_column columns[] = {property("number"), computed("n", "count:(name)", CST_ATTRIBUTE_UNDEFINED)};
    cst_fetch_request *request = request_of(&c, 2, columns);
    cst_string by = text("number");
    cst_buffer buffer = {0};
    OK(cst_fetch_request_set_group_by(request, 1, &by, E));
    OK(cst_context_explain(c.context, request, CST_EXPLAIN_TEXT | CST_EXPLAIN_ROWS, &buffer, E));
    CHECK_CONTAINS("sql: SELECT t0.ZNUMBER, COUNT(t0.ZNAME) FROM ZPERSON t0", text(buffer.data));
    CHECK_CONTAINS("GROUP BY t0.ZNUMBER", text(buffer.data));
    OK(cst_context_explain(c.context, request, CST_EXPLAIN_JSON | CST_EXPLAIN_ROWS, &buffer, E));
    CHECK_CONTAINS("\"isSortedInMemory\": false", text(buffer.data));
    cst_rows *rows = rows_of(&c, request);
    CHECK_INT(2, cst_rows_count(rows));
    OK(cst_release(rows));
    OK(cst_fetch_request_set_option(request, CST_FETCH_ROWS_IN_MEMORY, 1, E));
    rows = rows_of(&c, request);
    CHECK_INT(2, cst_rows_count(rows));
    OK(cst_context_explain(c.context, request, CST_EXPLAIN_TEXT | CST_EXPLAIN_ROWS, &buffer, E));
    CHECK(strstr(buffer.data, "GROUP BY") == NULL);
    cst_buffer_dispose(&buffer);
    OK(cst_release(rows));
    OK(cst_release(request));
    OK(cst_release((void *)columns[1].expression));
    company_close(&c);
}

static void *read_first(void *argument) {
    cst_value values[2];
    memset(values, 0, sizeof values);
    struct ArrowArrayStream stream;
    cst_status status = cst_rows_copy_values(argument, 0, 1, values, NULL);
    CHECK_INT(status, cst_rows_export_arrow_stream(argument, 0, 0, &stream, NULL));
    if (status == CST_OK) stream.release(&stream);
    for (int i = 0; i < 2; i++)
        cst_value_dispose(&values[i]);
    return (void *)(intptr_t)status;
}

/* The result of reading rows with two columns on another thread. */
static cst_status read_elsewhere(cst_rows *rows) {
    pthread_t thread;
    void *status = NULL;
    CHECK_INT(0, pthread_create(&thread, NULL, read_first, rows));
    CHECK_INT(0, pthread_join(thread, &status));
    return (cst_status)(intptr_t)status;
}

static void rows_are_read_in_batches(void) {
    struct company c = six_people();
    cst_expression *self = NULL;
    OK(cst_expression_parse(text("SELF"), 0, NULL, &self, E));
    cst_column columns[] = {property("name"), {text("objectID"), self, CST_ATTRIBUTE_UNDEFINED, 0}};
    cst_fetch_request *request = request_of(&c, 2, columns);
    cst_sort order = {text("name"), 0, 0};
    OK(cst_fetch_request_set_sort(request, 1, &order, E));
    OK(cst_fetch_request_set_option(request, CST_FETCH_BATCH_SIZE, 4, E));
    cst_rows *rows = rows_of(&c, request);
    CHECK_INT(PEOPLE, cst_rows_count(rows));
    CHECK_INT(4, cst_rows_batch_size(rows));
    cst_value values[2 * PEOPLE];
    OK(cst_rows_copy_values(rows, 0, PEOPLE, values, E));
    for (int i = 0; i < PEOPLE; i++) {
        char name[24];
        snprintf(name, sizeof name, "person %d", i);
        CHECK_TEXT(name, values[2 * i].as.string);
        CHECK_INT(CST_OBJECT_ID, values[2 * i + 1].type);
        cst_value_dispose(&values[2 * i]);
        cst_value_dispose(&values[2 * i + 1]);
    }
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_rows_copy_values(rows, PEOPLE, 1, values, E));
    CHECK_INT(0, cst_rows_batch_size(NULL));
    CHECK_INT(CST_E_WRONG_THREAD, read_elsewhere(rows));
    OK(cst_fetch_request_set_option(request, CST_FETCH_BATCH_SIZE, 0, E));
    cst_rows *whole = rows_of(&c, request);
    CHECK_INT(CST_OK, read_elsewhere(whole));
    OK(cst_release(whole));
    OK(cst_release(rows));
    OK(cst_release(request));
    OK(cst_release(self));
    company_close(&c);
}

/* As Core Data has it: a variable with the name of a column. */
static void a_having_predicate_can_use_columns_as_variables(void) {
    struct company c = six_people();
    cst_column columns[] = {property("number"), computed("people", "count:(name)", CST_ATTRIBUTE_INTEGER_64)};
    cst_fetch_request *request = request_of(&c, 2, columns);
    cst_string group = text("number");
    OK(cst_fetch_request_set_group_by(request, 1, &group, E));
    struct {
        const char *having;
        size_t count;
    } cases[] = {{"$people > 2", 2}, {"$people > 3", 0}, {"people == 3 AND $number == 1", 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cst_predicate *having = NULL;
        OK(cst_predicate_parse(text(cases[i].having), 0, NULL, &having, E));
        OK(cst_fetch_request_set_having(request, having, E));
        cst_rows *rows = rows_of(&c, request);
        CHECK_INT(cases[i].count, cst_rows_count(rows));
        OK(cst_release(rows));
        OK(cst_release(having));
    }
    OK(cst_release(request));
    OK(cst_release((void *)columns[1].expression));
    company_close(&c);
}

static double number_of(const cst_value *value) {
    if (value->type == CST_DECIMAL)
        return (double)value->as.decimal.mantissa[0] * pow(10, CST_DECIMAL_EXPONENT(value->aux));
    return value->type == CST_INT ? (double)value->as.integer : value->as.real;
}

static void every_aggregate_function_is_computed(void) {
    struct company c = company_open(check_path("company.sqlite"));
    static const int numbers[] = {1, 2, 4, 9};
    for (int i = 0; i < 4; i++)
        OK(cst_release(company_employee(&c, c.context, "x", numbers[i])));
    OK(cst_release(company_insert(&c, c.context, c.employee, c.name, "without a number")));
    save(c.context);
    static const struct {
        uint32_t aggregate;
        const char *name;
        double value;
    } cases[] = {
        {CST_AGGREGATE_COUNT, "count:(number)", 4},     {CST_AGGREGATE_SUM, "sum:(number)", 16},
        {CST_AGGREGATE_AVERAGE, "average:(number)", 4}, {CST_AGGREGATE_MINIMUM, "min:(number)", 1},
        {CST_AGGREGATE_MAXIMUM, "max:(number)", 9},     {CST_AGGREGATE_MEDIAN, "median:(number)", 3},
    };
    cst_fetch_request *request = request_of(&c, 0, NULL);
    cst_rows *rows = NULL;
    cst_value value;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        OK(cst_context_aggregate(c.context, request, cases[i].aggregate, text("number"), &rows, E));
        CHECK_INT(1, cst_rows_count(rows));
        CHECK_INT(1, cst_rows_column_count(rows));
        CHECK_TEXT(cases[i].name, cst_rows_column_name(rows, 0));
        OK(cst_rows_copy_values(rows, 0, 1, &value, E));
        CHECK_REAL(cases[i].value, number_of(&value));
        cst_value_dispose(&value);
        OK(cst_release(rows));
    }
    OK(cst_context_aggregate(c.context, request, CST_AGGREGATE_DEVIATION, text("number"), &rows, E));
    CHECK_TEXT("stddev:(number)", cst_rows_column_name(rows, 0));
    OK(cst_rows_copy_values(rows, 0, 1, &value, E));
    CHECK(fabs(number_of(&value) - sqrt(9.5)) < 1e-12); /* of the whole population */
    OK(cst_release(rows));
    /* A key of the values: "without a number" has 16 UTF-16 units. */
    OK(cst_context_aggregate(c.context, request, CST_AGGREGATE_SUM, text("name.length"), &rows, E));
    OK(cst_rows_copy_values(rows, 0, 1, &value, E));
    CHECK_INT(20, value.as.integer);
    OK(cst_release(rows));
    /* Objects are counted with or without a number. */
    OK(cst_context_aggregate(c.context, request, CST_AGGREGATE_COUNT, (cst_string){NULL, 0}, &rows, E));
    OK(cst_rows_copy_values(rows, 0, 1, &value, E));
    CHECK_INT(5, value.as.integer);
    OK(cst_release(rows));
    rows = NULL;
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_aggregate(c.context, request, 0, text("number"), &rows, E));
    CHECK(rows == NULL);
    OK(cst_release(request));
    company_close(&c);
}

static void windows_beyond_the_rows_are_refused(void) {
    struct company c = six_people();
    cst_column columns[] = {property("name"), property("number")};
    cst_fetch_request *request = request_of(&c, 2, columns);
    cst_sort order = {text("name"), 0, 0};
    OK(cst_fetch_request_set_sort(request, 1, &order, E));
    cst_rows *rows = rows_of(&c, request);
    cst_value values[2 * PEOPLE];
    OK(cst_rows_copy_values(rows, PEOPLE, 0, values, E));
    OK(cst_rows_copy_values(rows, 0, 0, values, E));
    OK(cst_rows_copy_values(rows, PEOPLE - 2, 2, values, E));
    CHECK_TEXT("person 4", values[0].as.string);
    CHECK_TEXT("person 5", values[2].as.string);
    CHECK_INT(1, values[3].as.integer);
    cst_value_dispose(&values[0]);
    cst_value_dispose(&values[2]);
    const size_t wrong[][2] = {{PEOPLE + 1, 0}, {PEOPLE, 1}, {0, PEOPLE + 1}, {SIZE_MAX, 1}, {1, SIZE_MAX}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_rows_copy_values(rows, wrong[i][0], wrong[i][1], values, E));
    CHECK_CONTAINS("first is 1 and count is 18446744073709551615, but there are 6 rows",
                   cst_error_message(check_error()));
    CHECK_INT(0, cst_rows_batch_size(rows));
    CHECK_INT(0, cst_rows_count(NULL));
    CHECK_INT(0, cst_rows_column_count(NULL));
    CHECK_TEXT(NULL, cst_rows_column_name(NULL, 0));
    CHECK_TEXT(NULL, cst_rows_column_name(rows, SIZE_MAX));
    CHECK_TEXT("name", cst_rows_column_name(rows, 0));
    OK(cst_release(rows));
    OK(cst_release(request));
    company_close(&c);
}

/* A target is returned as its ID, which outlives rows, context and store. */
static void the_id_of_a_target_outlives_its_rows_and_context(void) {
    struct company c = company_open(check_path("company.sqlite"));
    cst_object *place = company_insert(&c, c.context, c.department, c.department_name, "R&D");
    cst_object *ada = company_employee(&c, c.context, "Ada", 1);
    set(ada, c.to_department, value_object(place));
    save(c.context);
    cst_column column = property("department");
    cst_fetch_request *request = request_of(&c, 1, &column);
    cst_rows *rows = rows_of(&c, request);
    cst_value value;
    cst_object_id *id = NULL;
    OK(cst_rows_copy_values(rows, 0, 1, &value, E));
    OK(cst_object_copy_id(place, &id, E));
    REQUIRE(value.type == CST_OBJECT_ID);
    CHECK(cst_object_id_equal(id, value.as.object_id));
    cst_release(rows), cst_release(request), cst_release(place), cst_release(ada);
    company_close(&c);
    CHECK(cst_object_id_equal(id, value.as.object_id));
    cst_value_dispose(&value);
    CHECK_INT(CST_NULL, value.type);
    OK(cst_release(id));
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(rows_have_named_property_and_expression_columns);
    RUN(rows_are_sorted_by_computed_columns);
    RUN(rows_are_grouped_and_filtered_by_having);
    RUN(distinct_removes_duplicate_rows);
    RUN(to_one_columns_contain_ids_or_null);
    RUN(invalid_columns_are_refused);
    RUN(aggregates_return_one_value_per_group);
    RUN(rows_are_explained_with_their_own_statement);
    RUN(rows_are_read_in_batches);
    RUN(a_having_predicate_can_use_columns_as_variables);
    RUN(every_aggregate_function_is_computed);
    RUN(windows_beyond_the_rows_are_refused);
    RUN(the_id_of_a_target_outlives_its_rows_and_context);
    return check_end();
}
