/* controller: changes the salaries of 2,000 objects of a results controller, which contains about 10,000 employees
 * sorted by salary. Each change is processed in its own event, which moves one row and calls the delegate. */
#include "live.h"

#include <string.h>

#include "company.h"
#include "measure.h"

enum { CHANGES = 2000 / BENCH_SCALE };

static long told;

static void hear(void *userdata, cst_controller *controller, const cst_object_change *change) {
    (void)userdata, (void)controller, (void)change;
    told++;
}

bool run_live(const host *with, const char *workload) {
    if (strcmp(workload, "controller") != 0) return false;
    const cst_sort by_salary = {.key_path = {"salary", CST_NUL}};
    cst_fetch_request *request = host_all_employees(with);
    cst_predicate *young;
    cst_controller *controller;
    cst_results *results;
    cst_controller_delegate delegate = CST_CONTROLLER_DELEGATE_INIT;
    delegate.did_change_object = hear;
    MUST(cst_predicate_parse(host_text("age < 25"), 0, NULL, &young, &host_error));
    MUST(cst_fetch_request_set_predicate(request, young, &host_error));
    MUST(cst_fetch_request_set_sort(request, 1, &by_salary, &host_error));
    MUST(cst_controller_new(with->context, request, (cst_string){NULL, 0}, (cst_string){NULL, 0}, &controller,
                            &host_error));
    MUST(cst_controller_set_delegate(controller, &delegate, &host_error));
    MUST(cst_controller_perform_fetch(controller, &host_error));
    MUST(cst_controller_copy_objects(controller, SIZE_MAX, &results, &host_error));
    const size_t count = cst_results_count(results);
    told = 0;
    measure_begin();
    for (size_t i = 0; i < CHANGES; i++) {
        cst_object *object;
        cst_value value;
        MUST(cst_results_get_object(results, i * 7919 % count, &object, &host_error));
        MUST(cst_object_get(object, with->salary, &value, &host_error));
        value.as.real += (double)(i % 1000) - 499.5;
        MUST(cst_object_set(object, with->salary, &value, &host_error));
        MUST(cst_context_process_pending_changes(with->context, &host_error));
    }
    measure_end("corestone", workload, CHANGES, (double)told, 0);
    cst_release(results);
    cst_release(controller);
    cst_release(young);
    cst_release(request);
    return true;
}
