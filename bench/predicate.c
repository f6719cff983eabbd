/* Measures predicates in memory: parsing one with ten clauses, and evaluating a filter on every employee.
 *
 *   predicate DATA STORE [THOUSANDS]    STORE: created by `corestone W1`; THOUSANDS: of parsings, by default 20 */
#include <stdio.h>
#include <stdlib.h>

#include "company.h"
#include "host.h"
#include "measure.h"

static const char TEN_CLAUSES[] =
    "age > 40 AND name BEGINSWITH[cd] 'a' AND salary BETWEEN {1000, 90000.5} AND active == YES AND department.name IN "
    "{'R&D', 'Sales'} AND email != nil AND ANY projects.budget > 1e6 AND NOT (name LIKE '*x?') AND projects.@count > 2 "
    "AND (hired < CAST(0, 'NSDate') OR age * 2 + 1 <= 99)";
static const char FILTER[] = "age > 40 AND name BEGINSWITH[cd] 'a'";

static void time_parse(long repetitions) {
    cst_string text = host_text(TEN_CLAUSES);
    measure_begin();
    for (long i = 0; i < repetitions; i++) {
        cst_predicate *predicate = NULL;
        MUST(cst_predicate_parse(text, 0, NULL, &predicate, &host_error));
        cst_release(predicate);
    }
    measure_end("corestone", "parse", repetitions, 0, 0);
}

static void time_filter(const host *with) {
    enum { ROUNDS = 10 };
    cst_fetch_request *request = host_all_employees(with);
    cst_results *results = NULL;
    cst_predicate *predicate = NULL;
    MUST(cst_predicate_parse(host_text(FILTER), 0, NULL, &predicate, &host_error));
    MUST(cst_context_fetch(with->context, request, &results, &host_error));
    size_t count = cst_results_count(results), got = 0;
    cst_object **objects = calloc(count, sizeof *objects);
    MUST(cst_results_get_objects(results, 0, count, objects, &got, &host_error));
    long found = 0;
    measure_begin();
    for (int round = 0; round < ROUNDS; round++) {
        found = 0;
        for (size_t i = 0; i < got; i++) {
            bool holds = false;
            MUST(cst_predicate_evaluate(predicate, objects[i], &holds, &host_error));
            found += holds;
        }
    }
    measure_sink = found;
    measure_end("corestone", "filter", (long)got * ROUNDS, 0, 0);
    free(objects);
    cst_release(predicate);
    cst_release(results);
    cst_release(request);
}

int main(int count, char **arguments) {
    if (count < 3) {
        fprintf(stderr, "usage: predicate DATA STORE [THOUSANDS]\n");
        return 2;
    }
    host with;
    host_open(&with, arguments[2], CST_STORE_NORMAL_SYNC | CST_STORE_MUST_EXIST);
    time_parse((count > 3 ? strtol(arguments[3], NULL, 10) : 20) * 1000);
    time_filter(&with);
    cst_release(with.context);
    return 0;
}
