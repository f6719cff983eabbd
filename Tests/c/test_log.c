/* Reports of the library: the SQL log, launch arguments, statistics, explanations of fetches.
 *
 * SPDX-License-Identifier: MIT
 */
#include "company.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct lines {
    char text[1 << 16];
    int count;
    int destroyed;
};

static void record_line(void *userdata, cst_string line) {
    struct lines *lines = userdata;
    size_t used = strlen(lines->text);
    if (used + line.size + 2 < sizeof lines->text) {
        memcpy(lines->text + used, line.data, line.size);
        memcpy(lines->text + used + line.size, "\n", 2);
    }
    lines->count++;
}

static void destroyed(void *userdata) { ((struct lines *)userdata)->destroyed++; }

static void silence(void) {
    OK(cst_log_set_sql_detail(0, E));
    OK(cst_log_set_callback(NULL, NULL, NULL, E));
}

static cst_fetch_request *older_than(const struct company *c, const char *format, int64_t number) {
    cst_value argument = value_int(number);
    cst_predicate *predicate = NULL;
    cst_fetch_request *request = NULL;
    OK(cst_predicate_parse(text(format), 1, &argument, &predicate, E));
    OK(cst_fetch_request_new(c->employee, &request, E));
    OK(cst_fetch_request_set_predicate(request, predicate, E));
    OK(cst_release(predicate));
    return request;
}

static void run(const struct company *c) {
    cst_fetch_request *request = older_than(c, "number > %d", 4);
    cst_results *results = NULL;
    OK(cst_context_fetch(c->context, request, &results, E));
    OK(cst_release(results));
    OK(cst_release(request));
}

static struct company people(int count) {
    struct company c = company_open(check_path("company.sqlite"));
    for (int i = 0; i < count; i++) {
        char name[24];
        snprintf(name, sizeof name, "person %d", i);
        OK(cst_release(company_employee(&c, c.context, name, i)));
    }
    save(c.context);
    return c;
}

static void each_sql_detail_includes_the_lower_ones(void) {
    struct lines lines = {.count = 0};
    struct company c = people(10);
    OK(cst_log_set_callback(record_line, &lines, destroyed, E));
    run(&c);
    CHECK_INT(0, lines.count);

    /* Of a store that is open already. */
    OK(cst_log_set_sql_detail(1, E));
    CHECK_INT(1, cst_log_sql_detail());
    run(&c);
    CHECK_CONTAINS("CoreData: sql: SELECT ", text(lines.text));
    CHECK_CONTAINS(" for 5 rows\n", text(lines.text));
    CHECK(!strstr(lines.text, "details"));
    CHECK(!strstr(lines.text, "BEGIN"));

    lines.text[0] = 0;
    OK(cst_log_set_sql_detail(2, E));
    OK(cst_release(company_employee(&c, c.context, "Eve", 99)));
    save(c.context);
    CHECK_CONTAINS("CoreData: sql: BEGIN", text(lines.text));
    CHECK_CONTAINS("CoreData: sql: INSERT INTO ZPERSON", text(lines.text));
    CHECK(!strstr(lines.text, "Eve"));

    lines.text[0] = 0;
    OK(cst_log_set_sql_detail(3, E));
    cst_fetch_request *request = older_than(&c, "number == %d", 99);
    uint64_t count = 0;
    OK(cst_context_count(c.context, request, &count, E));
    OK(cst_release(request));
    CHECK_INT(1, count);
    CHECK_CONTAINS("CoreData: details: with values: SELECT count(*) FROM ZPERSON", text(lines.text));
    CHECK_CONTAINS("99", text(lines.text));
    CHECK_CONTAINS("CoreData: details: plan: ", text(lines.text));

    lines.text[0] = 0;
    OK(cst_log_set_sql_detail(4, E));
    run(&c);
    CHECK_CONTAINS("CoreData: details: counters: ", text(lines.text));

    lines.text[0] = 0;
    OK(cst_log_set_sql_detail(0, E));
    run(&c);
    CHECK_INT(0, strlen(lines.text));
    CHECK_INT(0, lines.destroyed);
    silence();
    CHECK_INT(1, lines.destroyed);
    company_close(&c);
}

static void a_new_log_callback_destroys_the_former_one(void) {
    struct lines first = {.count = 0}, second = {.count = 0};
    OK(cst_log_set_callback(record_line, &first, destroyed, E));
    OK(cst_log_set_callback(record_line, &second, destroyed, E));
    CHECK_INT(1, first.destroyed);
    CHECK_INT(0, second.destroyed);
    silence();
    CHECK_INT(1, second.destroyed);
}

static void launch_arguments_of_core_data_are_accepted(void) {
    const char *const arguments[] = {
        "program", "-v", "-com.apple.CoreData.SQLDebug", "3", "file", "-com.apple.CoreData.ConcurrencyDebug", "1"};
    size_t taken = 9;
    OK(cst_log_take_arguments(7, arguments, &taken, E));
    CHECK_INT(2, taken);
    CHECK_INT(3, cst_log_sql_detail());
    OK(cst_log_set_sql_detail(0, E));

    const char *const misspelt[] = {"-com.apple.CoreData.SQLDebug", "1", "-com.apple.CoreData.SQLDebugg", "1"};
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_log_take_arguments(4, misspelt, &taken, E));
    CHECK_CONTAINS("did you mean \"-com.apple.CoreData.SQLDebug\"?", cst_error_message(check_error()));
    CHECK_INT(0, taken);
    CHECK_INT(0, cst_log_sql_detail());

    const char *const wrong[] = {"-com.apple.CoreData.SQLDebug", "7"};
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_log_take_arguments(2, wrong, NULL, E));
    CHECK_CONTAINS("an integer from 0 to 4", cst_error_message(check_error()));
    const char *const missing[] = {"-com.apple.CoreData.SQLDebug"};
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_log_take_arguments(1, missing, NULL, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_log_set_sql_detail(5, E));
}

/* The environment is read at the first call, so this is the first test. */
static void the_environment_sets_the_sql_detail(void) {
    setenv("CORESTONE_SQL_DEBUG", "2", 1);
    CHECK_INT(2, cst_log_sql_detail());
    OK(cst_log_set_sql_detail(0, E));
    CHECK_INT(0, cst_log_sql_detail());
}

static void integrity_is_checked_when_the_launch_argument_is_set(void) {
    const char *const on[] = {"-com.apple.CoreData.SQLiteIntegrityCheck", "1",
                              "-com.apple.CoreData.SQLiteDebugSynchronous", "0"};
    const char *const off[] = {"-com.apple.CoreData.SQLiteIntegrityCheck", "0",
                               "-com.apple.CoreData.SQLiteDebugSynchronous", "2"};
    struct lines lines = {.count = 0};
    struct company c = people(1);
    company_close(&c);
    OK(cst_log_take_arguments(4, on, NULL, E));
    OK(cst_log_set_callback(record_line, &lines, destroyed, E));
    OK(cst_log_set_sql_detail(2, E));
    c = company_open(check_path("company.sqlite"));
    CHECK_CONTAINS("PRAGMA integrity_check", text(lines.text));
    CHECK_CONTAINS("PRAGMA synchronous=0", text(lines.text));
    company_close(&c);
    OK(cst_log_take_arguments(4, off, NULL, E));
    silence();
}

static cst_statistics statistics_of(const struct company *c) {
    cst_statistics statistics = CST_STATISTICS_INIT;
    OK(cst_coordinator_statistics(c->coordinator, &statistics, E));
    return statistics;
}

static void statistics_count_saves_and_fetches(void) {
    struct company c = people(10);
    cst_statistics counted = statistics_of(&c);
    CHECK_INT(1, counted.saves);
    CHECK_INT(10, counted.inserted);
    CHECK_INT(0, counted.fetches);
    CHECK(counted.save_nanoseconds > 0);

    OK(cst_coordinator_reset_statistics(c.coordinator, E));
    OK(cst_context_reset(c.context, E));
    run(&c);
    run(&c);
    counted = statistics_of(&c);
    CHECK_INT(2, counted.fetches);
    CHECK_INT(10, counted.fetched_rows);
    CHECK_INT(0, counted.saves);
    CHECK_INT(0, counted.faults);
    CHECK(counted.fetch_nanoseconds > 0);

    /* A host with a shorter struct gets the members that fit. */
    cst_statistics part = CST_STATISTICS_INIT;
    part.struct_size = offsetof(cst_statistics, fetched_rows);
    OK(cst_coordinator_statistics(c.coordinator, &part, E));
    CHECK_INT(2, part.fetches);
    CHECK_INT(0, part.fetched_rows);
    company_close(&c);
}

static void explanations_contain_sql_bindings_and_plan(void) {
    struct company c = people(3);
    cst_buffer buffer = {0};
    cst_fetch_request *request = older_than(&c, "number > %d", 4);
    OK(cst_context_explain(c.context, request, CST_EXPLAIN_TEXT, &buffer, E));
    CHECK_CONTAINS("fetch Employee where number > 4\nsql: SELECT ", text(buffer.data));
    CHECK_CONTAINS("bound 1: 4\nplan:\n  ", text(buffer.data));
    CHECK_CONTAINS("in memory: nothing", text(buffer.data));
    OK(cst_context_explain(c.context, request, CST_EXPLAIN_JSON, &buffer, E));
    CHECK_CONTAINS("\"remainder\": null", text(buffer.data));
    CHECK_CONTAINS("\"bindings\": [4]", text(buffer.data));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_context_explain(c.context, request, 9, &buffer, E));
    OK(cst_release(request));

    request = older_than(&c, "nothing == %d", 4);
    CHECK_STATUS(CST_E_PREDICATE, cst_context_explain(c.context, request, CST_EXPLAIN_TEXT, &buffer, E));
    OK(cst_release(request));
    cst_buffer_dispose(&buffer);
    company_close(&c);
}

/* A comparison of all values of a to-many relationship with one value. */
static void comparing_a_collection_with_one_value_warns_once(void) {
    struct company c = company_open(check_path("company.sqlite"));
    static struct lines lines;
    memset(&lines, 0, sizeof lines);
    OK(cst_log_set_callback(record_line, &lines, destroyed, E));
    cst_predicate *predicate = NULL;
    OK(cst_predicate_parse(text("employees.name == 'nobody'"), 0, NULL, &predicate, E));
    for (int i = 0; i < 3; i++) {
        cst_fetch_request *request = NULL;
        cst_results *results = NULL;
        OK(cst_fetch_request_new(c.department, &request, E));
        OK(cst_fetch_request_set_predicate(request, predicate, E));
        OK(cst_context_fetch(c.context, request, &results, E));
        CHECK_INT(0, cst_results_count(results));
        OK(cst_release(results));
        OK(cst_release(request));
    }
    CHECK_INT(1, lines.count);
    CHECK(strstr(lines.text, "CoreData: warning: ") == lines.text);
    CHECK(strstr(lines.text, "Department.employees.name") != NULL);
    CHECK(strstr(lines.text, "ANY employees.name == %@") != NULL);
    CHECK(strstr(lines.text, "nobody") == NULL);
    OK(cst_release(predicate));
    silence();
    company_close(&c);
}

/* Each number counts its own kind of work. */
static void each_statistic_counts_one_kind_of_work(void) {
    struct company c = company_open(check_path("company.sqlite"));
    cst_object *place = company_insert(&c, c.context, c.department, c.department_name, "R&D");
    for (int i = 0; i < 4; i++) {
        cst_object *person = company_employee(&c, c.context, "x", i);
        set(person, c.to_department, value_object(place));
        OK(cst_release(person));
    }
    save(c.context);
    cst_statistics counted = statistics_of(&c);
    CHECK_INT(sizeof counted, counted.struct_size);
    CHECK_INT(1, counted.saves);
    CHECK_INT(5, counted.inserted);
    CHECK_INT(0, counted.updated);
    CHECK_INT(0, counted.deleted);
    OK(cst_coordinator_reset_statistics(c.coordinator, E));
    cst_results *people = company_fetch(c.context, c.employee, NULL, "number");
    set(object_at(people, 0), c.number, value_int(10));
    set(object_at(people, 1), c.number, value_int(11));
    OK(cst_context_delete(c.context, object_at(people, 3), E));
    save(c.context);
    counted = statistics_of(&c);
    CHECK_INT(1, counted.fetches);
    CHECK_INT(4, counted.fetched_rows);
    CHECK_INT(1, counted.saves);
    CHECK_INT(0, counted.inserted);
    CHECK_INT(1, counted.deleted);
    CHECK_INT(3, counted.updated); /* the department lost a member */
    CHECK(counted.row_bytes > 0);
    OK(cst_release(people));
    OK(cst_release(place));

    /* In an empty context: one query for members, and the rows are in the row cache. */
    cst_context *other = company_context(&c, CST_QUEUE_CALLER);
    cst_results *places = company_fetch(other, c.department, NULL, NULL);
    OK(cst_coordinator_reset_statistics(c.coordinator, E));
    counted = statistics_of(&c);
    CHECK(counted.fetches == 0 && counted.fetched_rows == 0 && counted.faults == 0 && counted.faulted_rows == 0);
    CHECK(counted.relationship_faults == 0 && counted.cache_hits == 0 && counted.cache_misses == 0);
    CHECK(counted.saves == 0 && counted.updated == 0 && counted.deleted == 0);
    CHECK(counted.fetch_nanoseconds == 0 && counted.save_nanoseconds == 0);
    CHECK(counted.row_bytes > 0); /* no count */
    CHECK_INT(3, member_count(object_at(places, 0), c.employees));
    CHECK_INT(1, statistics_of(&c).relationship_faults);
    OK(cst_release(places));
    OK(cst_release(other));
    company_close(&c);
}

static void statistics_structs_of_other_sizes_are_filled_to_their_size(void) {
    struct company c = company_open(check_path("company.sqlite"));
    cst_statistics part;
    memset(&part, 0x5a, sizeof part);
    part.struct_size = offsetof(cst_statistics, saves);
    OK(cst_coordinator_statistics(c.coordinator, &part, E));
    CHECK_INT(offsetof(cst_statistics, saves), part.struct_size);
    CHECK_INT(0, part.cache_misses);
    CHECK(part.saves == (uint64_t)0x5a5a5a5a5a5a5a5a);
    struct {
        cst_statistics known;
        uint8_t more[16];
    } longer;
    memset(&longer, 0x5a, sizeof longer);
    longer.known.struct_size = sizeof longer - 8;
    OK(cst_coordinator_statistics(c.coordinator, &longer.known, E));
    for (size_t i = 0; i < sizeof longer.more; i++)
        CHECK_INT(i < 8 ? 0 : 0x5a, longer.more[i]); /* unknown fields of a newer host are set to zero */
    const size_t wrong[] = {0, 7, (1 << 16) + 1, SIZE_MAX};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        part.struct_size = wrong[i];
        CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_coordinator_statistics(c.coordinator, &part, E));
        CHECK_CONTAINS("out_statistics.struct_size", cst_error_message(check_error()));
    }
    company_close(&c);
}

static void unknown_sql_details_are_refused(void) {
    const uint32_t before = cst_log_sql_detail();
    OK(cst_log_set_sql_detail(4, E));
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_log_set_sql_detail(5, E));
    CHECK_CONTAINS("detail is 5, but must be 0", cst_error_message(check_error()));
    cst_value value;
    OK(cst_error_value(check_error(), &value));
    CHECK_INT(5, value.as.integer);
    CHECK_INT(4, cst_log_sql_detail());
    OK(cst_log_set_sql_detail(before, E));
    size_t taken = 9;
    const char *const missing[] = {"program", NULL};
    CHECK_STATUS(CST_E_INVALID_ARGUMENT, cst_log_take_arguments(2, missing, &taken, E));
    CHECK_TEXT("arguments[1] is NULL; pass a string, or 1 as count", cst_error_message(check_error()));
    CHECK_INT(0, taken);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(the_environment_sets_the_sql_detail);
    RUN(each_sql_detail_includes_the_lower_ones);
    RUN(a_new_log_callback_destroys_the_former_one);
    RUN(launch_arguments_of_core_data_are_accepted);
    RUN(integrity_is_checked_when_the_launch_argument_is_set);
    RUN(statistics_count_saves_and_fetches);
    RUN(each_statistic_counts_one_kind_of_work);
    RUN(statistics_structs_of_other_sizes_are_filled_to_their_size);
    RUN(unknown_sql_details_are_refused);
    RUN(explanations_contain_sql_bindings_and_plan);
    RUN(comparing_a_collection_with_one_value_warns_once);
    return check_end();
}
