/* W8: counts and groups. W11 and W11_lazy: the projects of 10,000 employees, prefetched, or fetched one by one. */
#include "rows.h"

#include <string.h>

#include "company.h"
#include "measure.h"

static cst_predicate *active_and_older(int age) {
    cst_value argument = {.type = CST_INT, .as.integer = age};
    cst_predicate *predicate;
    MUST(cst_predicate_parse(host_text("age > %@ AND active == YES"), 1, &argument, &predicate, &host_error));
    return predicate;
}

static void count_rows(host *with) {
    measure_begin();
    cst_fetch_request *request = host_all_employees(with);
    double check = 0;
    for (int i = 0; i < COUNT_REPETITIONS; i++) {
        uint64_t count;
        cst_predicate *predicate = active_and_older(30 + i);
        MUST(cst_fetch_request_set_predicate(request, predicate, &host_error));
        MUST(cst_context_count(with->context, request, &count, &host_error));
        check += (double)count;
        cst_release(predicate);
    }
    cst_release(request);
    measure_end("corestone", "W8_count", (long)COUNT_REPETITIONS * EMPLOYEES, check, 0);
}

static void group_rows(host *with) {
    const cst_string by = {"department", CST_NUL};
    cst_expression *sum, *mean;
    MUST(cst_expression_parse(host_text("sum:(salary)"), 0, NULL, &sum, &host_error));
    MUST(cst_expression_parse(host_text("average:(salary)"), 0, NULL, &mean, &host_error));
    const cst_column columns[] = {
        {.name = by}, {.name = {"sum", CST_NUL}, .expression = sum}, {.name = {"mean", CST_NUL}, .expression = mean}};
    measure_begin();
    cst_fetch_request *request = host_all_employees(with);
    MUST(cst_fetch_request_set_columns(request, 3, columns, &host_error));
    MUST(cst_fetch_request_set_group_by(request, 1, &by, &host_error));
    double check = 0;
    for (int i = 0; i < COUNT_REPETITIONS; i++) {
        cst_rows *rows;
        MUST(cst_context_fetch_rows(with->context, request, &rows, &host_error));
        for (size_t row = 0; row < cst_rows_count(rows); row++) {
            cst_value values[3];
            MUST(cst_rows_copy_values(rows, row, 1, values, &host_error));
            check += values[1].as.real + values[2].as.real;
            for (int column = 0; column < 3; column++)
                cst_value_dispose(&values[column]);
        }
        cst_release(rows);
    }
    measure_end("corestone", "W8_group", (long)COUNT_REPETITIONS * EMPLOYEES, check, 0);
    cst_release(request);
    cst_release(sum);
    cst_release(mean);
}

/* Adds the sizes of the titles of an employee's projects, read by column. Returns the number of projects. */
static size_t read_titles(const host *with, cst_results *projects, double *check) {
    cst_value titles[8];
    size_t count;
    MUST(cst_results_get_column(projects, with->project_title, 0, 8, titles, &count, &host_error));
    for (size_t i = 0; i < count; i++)
        *check += (double)titles[i].as.string.size;
    return count;
}

/* Does the same with a handle and a call for each project. */
static size_t read_title_of_each(const host *with, cst_results *projects, double *check) {
    cst_object *found[8];
    size_t count;
    MUST(cst_results_get_objects(projects, 0, 8, found, &count, &host_error));
    for (size_t i = 0; i < count; i++) {
        cst_value title;
        MUST(cst_object_get(found[i], with->project_title, &title, &host_error));
        *check += (double)title.as.string.size;
    }
    return count;
}

static void walk_projects(host *with, const char *workload, bool prefetches,
                          size_t (*read)(const host *, cst_results *, double *)) {
    const cst_string projects = {"projects", CST_NUL};
    measure_begin();
    cst_fetch_request *request = host_all_employees(with);
    MUST(cst_fetch_request_set_limit(request, WALKED_EMPLOYEES, &host_error));
    if (prefetches) MUST(cst_fetch_request_set_prefetch(request, 1, &projects, &host_error));
    cst_results *results;
    MUST(cst_context_fetch(with->context, request, &results, &host_error));
    const size_t count = cst_results_count(results);
    double check = 0;
    long total = 0;
    for (size_t i = 0; i < count; i++) {
        cst_object *one;
        cst_results *members;
        MUST(cst_results_get_object(results, i, &one, &host_error));
        MUST(cst_object_copy_members(one, with->projects, &members, &host_error));
        total += (long)read(with, members, &check);
        cst_release(members);
    }
    measure_end("corestone", workload, total, check, 0);
    cst_release(results);
    cst_release(request);
}

bool run_rows(host *with, const char *workload) {
    if (!strcmp(workload, "W8")) {
        count_rows(with);
        group_rows(with);
    } else if (!strcmp(workload, "W11"))
        walk_projects(with, workload, true, read_titles);
    else if (!strcmp(workload, "W11_objects"))
        walk_projects(with, workload, true, read_title_of_each);
    else if (!strcmp(workload, "W11_lazy"))
        walk_projects(with, workload, false, read_titles);
    else
        return false;
    return true;
}
