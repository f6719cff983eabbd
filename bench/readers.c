/* readers_1, readers_2, readers_4: 1, 2 or 4 threads, each with its own context on one coordinator, run the query of W4
 * 500 times each. */
#include "readers.h"

#include "company.h"
#include "crowd.h"

static size_t read_department(const host *with, cst_context *context, cst_fetch_request *request, int repetition,
                              double *check) {
    char name[32];
    cst_error *error = NULL; /* host_error must be used by one thread only */
    cst_value argument = {.type = CST_STRING, .as.string = {name, company_query_name(repetition, name)}};
    cst_predicate *predicate;
    cst_results *results;
    MUST(cst_predicate_parse(host_text("age > 40 AND department.name == %@"), 1, &argument, &predicate, &error));
    MUST(cst_fetch_request_set_predicate(request, predicate, &error));
    MUST(cst_context_fetch(context, request, &results, &error));
    const size_t count = cst_results_count(results);
    for (size_t i = 0; i < count; i++) {
        cst_object *object;
        cst_value value;
        MUST(cst_results_get_object(results, i, &object, &error));
        MUST(cst_object_get(object, with->salary, &value, &error));
        *check += value.as.real;
    }
    cst_release(results);
    cst_release(predicate);
    return count;
}

static void work(reader *reader) {
    const host *with = reader->shared;
    const cst_sort by_salary = {.key_path = {"salary", CST_NUL}, .flags = CST_SORT_DESCENDING};
    cst_error *error = NULL;
    cst_context *context;
    double ignored = 0;
    cst_fetch_request *request = host_all_employees(with);
    MUST(cst_fetch_request_set_sort(request, 1, &by_salary, &error));
    MUST(cst_fetch_request_set_limit(request, 50, &error));
    MUST(cst_context_new(with->coordinator, CST_QUEUE_CALLER, &context, &error));
    read_department(with, context, request, 0, &ignored);
    crowd_ready();
    for (int i = 0; i < CROWD_QUERIES; i++)
        reader->rows += (long)read_department(with, context, request, i, &reader->check);
    cst_release(context);
    cst_release(request);
}

bool run_readers(host *with, const char *workload) { return crowd_run("corestone", workload, work, with); }
