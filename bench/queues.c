/* Contexts with queues and child contexts, through Corestone's C ABI.
 *
 * perform_own       an empty cst_context_perform_and_wait of a private context, on the thread that holds its queue
 * perform_free      the same on another thread, while the queue is free
 * perform_enqueued  an empty cst_context_schedule, and the wait for its completion: a round trip between two threads
 * child_save        changes every employee in a child context; only the save to the parent is timed
 */
#include "queues.h"

#include <semaphore.h>
#include <string.h>

#include "company.h"
#include "measure.h"

enum { FAST = 1000000 / BENCH_SCALE, SLOW = 50000 / BENCH_SCALE };

static long ran;
static sem_t ended;

static cst_status nothing(void *userdata, cst_context *context, cst_error **error) {
    (void)userdata, (void)context, (void)error;
    ran++;
    return CST_OK;
}

static void tell(void *userdata, cst_context *context, cst_status status, const cst_error *error) {
    (void)userdata, (void)context, (void)status, (void)error;
    sem_post(&ended);
}

static cst_status perform_within(void *userdata, cst_context *context, cst_error **error) {
    (void)userdata, (void)error;
    measure_begin();
    for (long i = 0; i < FAST; i++)
        MUST(cst_context_perform_and_wait(context, nothing, NULL, &host_error));
    measure_end("corestone", "perform_own", FAST, (double)ran, 0);
    return CST_OK;
}

static void perform(const host *with) {
    cst_context *worker;
    MUST(cst_context_new(with->coordinator, CST_QUEUE_PRIVATE, &worker, &host_error));
    ran = 0;
    MUST(cst_context_perform_and_wait(worker, perform_within, NULL, &host_error));

    ran = 0;
    measure_begin();
    for (long i = 0; i < FAST; i++)
        MUST(cst_context_perform_and_wait(worker, nothing, NULL, &host_error));
    measure_end("corestone", "perform_free", FAST, (double)ran, 0);

    ran = 0;
    sem_init(&ended, 0, 0);
    measure_begin();
    for (long i = 0; i < SLOW; i++) {
        MUST(cst_context_schedule(worker, CST_SCHEDULE_ENQUEUED, nothing, tell, NULL, NULL, &host_error));
        while (sem_wait(&ended) != 0) {
        }
    }
    measure_end("corestone", "perform_enqueued", SLOW, (double)ran, 0);
    cst_release(worker);
}

static void child_save(const host *with) {
    cst_context *child;
    cst_fetch_request *request = host_all_employees(with);
    cst_results *theirs, *results;
    MUST(cst_context_fetch(with->context, request, &theirs, &host_error));
    MUST(cst_context_new_child(with->context, CST_QUEUE_CALLER, &child, &host_error));
    MUST(cst_context_fetch(child, request, &results, &host_error));
    const size_t count = cst_results_count(results);
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        cst_object *object, *beneath;
        cst_value value;
        MUST(cst_results_get_object(theirs, i, &beneath, &host_error));
        MUST(cst_results_get_object(results, i, &object, &host_error));
        MUST(cst_object_get(object, with->salary, &value, &host_error));
        value.as.real = company_raised(value.as.real);
        sum += value.as.real;
        MUST(cst_object_set(object, with->salary, &value, &host_error));
    }
    measure_begin();
    MUST(cst_context_save(child, &host_error));
    measure_end("corestone", "child_save", (long)count, sum, 0);
    cst_release(results);
    cst_release(theirs);
    cst_release(request);
    cst_release(child);
}

bool run_on_queues(const host *with, const char *workload) {
    if (strcmp(workload, "queues") != 0) return false;
    perform(with);
    child_save(with);
    return true;
}
