/* Changes, deletions, undo and saves through Corestone's C ABI, of employees that were loaded before the clock starts,
 * in a copy of the store.
 *
 * W6              changes the salary of every tenth employee, with one save
 * W7              deletes every tenth employee, with one save
 * save_mixed      changes 5,000 salaries, deletes 2,500 employees and inserts 2,500, with one save
 * undo            undoes (undo) and redoes (redo) 10,000 changes of one event, then 10,000 each in its own event
 *                 (undo_steps, redo_steps)
 */
#include "changes.h"

#include <stdlib.h>
#include <string.h>

#include "company.h"
#include "measure.h"

enum { VALUES = 7 };

static cst_object *at(const cst_results *results, size_t index) {
    cst_object *object;
    MUST(cst_results_get_object(results, index, &object, &host_error));
    return object;
}

static double salary(const host *with, const cst_object *object) {
    cst_value value;
    MUST(cst_object_get(object, with->salary, &value, &host_error));
    return value.as.real;
}

static void raise_salary(const host *with, cst_object *object) {
    cst_value value = {.type = CST_DOUBLE, .as.real = company_raised(salary(with, object))};
    MUST(cst_object_set(object, with->salary, &value, &host_error));
}

static void dismiss(const host *with, cst_object *object) {
    MUST(cst_context_delete(with->context, object, &host_error));
}

static void hire(const host *with, const cst_object *like) {
    const cst_key keys[VALUES] = {with->name,  with->email,  with->age,           with->salary,
                                  with->hired, with->active, with->department_key};
    cst_value values[VALUES];
    cst_object *object;
    MUST(cst_object_get_many(like, VALUES, keys, values, &host_error));
    MUST(cst_context_insert(with->context, with->employee, &object, &host_error));
    MUST(cst_object_set_many(object, VALUES, keys, values, &host_error));
    cst_release(object);
}

static cst_results *all_employees(const host *with, cst_context *context) {
    cst_fetch_request *request = host_all_employees(with);
    cst_results *results;
    MUST(cst_context_fetch(context, request, &results, &host_error));
    cst_release(request);
    return results;
}

/* Returns the sum of the salaries plus the number of employees, as another context reads them from the store. */
static double sum_of_salaries(const host *with) {
    cst_context *reader;
    MUST(cst_context_new(with->coordinator, CST_QUEUE_CALLER, &reader, &host_error));
    cst_results *results = all_employees(with, reader);
    const size_t count = cst_results_count(results);
    double sum = (double)count;
    for (size_t i = 0; i < count; i++)
        sum += salary(with, at(results, i));
    cst_release(results);
    cst_release(reader);
    return sum;
}

static long change_all(const host *with, const char *workload, cst_results *results) {
    const size_t count = cst_results_count(results);
    long changes = 0;
    if (strcmp(workload, "save_mixed") != 0) {
        for (size_t i = 3; i < count; i += 10, changes++)
            if (!strcmp(workload, "W6"))
                raise_salary(with, at(results, i));
            else
                dismiss(with, at(results, i));
        return changes;
    }
    for (size_t i = 0; i < count; i++) {
        const mixed_change what = company_mixed_change((int)i);
        if (what == MIXED_RAISE) raise_salary(with, at(results, i));
        if (what == MIXED_DISMISS) dismiss(with, at(results, i));
        if (what == MIXED_HIRE) hire(with, at(results, i));
        changes += what != MIXED_NONE;
    }
    return changes;
}

/* Returns how many of the changed salaries differ from the salaries before the changes. */
static double raised(const host *with, cst_results *results, const double *before) {
    double count = 0;
    for (size_t i = 3; i < cst_results_count(results); i += 10)
        count += salary(with, at(results, i)) != before[i];
    return count;
}

static void undo_and_redo(const host *with, cst_results *results, const double *before, bool one_step) {
    const size_t count = cst_results_count(results);
    long changes = 0;
    for (size_t i = 3; i < count; i += 10, changes++) {
        raise_salary(with, at(results, i));
        if (!one_step) MUST(cst_context_process_pending_changes(with->context, &host_error));
    }
    MUST(cst_context_process_pending_changes(with->context, &host_error));
    for (int redoes = 0; redoes < 2; redoes++) {
        measure_begin();
        for (long step = 0; step < (one_step ? 1 : changes); step++)
            MUST(redoes ? cst_context_redo(with->context, &host_error) : cst_context_undo(with->context, &host_error));
        measure_stop();
        const char *name = redoes ? one_step ? "redo" : "redo_steps" : one_step ? "undo" : "undo_steps";
        measure_report("corestone", name, changes, raised(with, results, before), 0);
    }
}

static void undo(const host *with) {
    cst_results *results = all_employees(with, with->context);
    const size_t count = cst_results_count(results);
    double *before = malloc(count * sizeof *before);
    for (size_t i = 0; i < count; i++)
        before[i] = salary(with, at(results, i));
    for (int one_step = 1; one_step >= 0; one_step--) {
        cst_undo_manager *manager;
        MUST(cst_undo_manager_new(&manager, &host_error));
        MUST(cst_context_set_undo_manager(with->context, manager, &host_error));
        undo_and_redo(with, results, before, one_step);
        MUST(cst_context_rollback(with->context, &host_error));
        MUST(cst_context_set_undo_manager(with->context, NULL, &host_error));
        cst_release(manager);
    }
    free(before);
    cst_release(results);
}

bool change(host *with, const char *workload) {
    if (!strcmp(workload, "undo")) {
        undo(with);
        return true;
    }
    if (strcmp(workload, "W6") != 0 && strcmp(workload, "W7") != 0 && strcmp(workload, "save_mixed") != 0) return false;
    cst_results *results = all_employees(with, with->context);
    for (size_t i = 0; i < cst_results_count(results); i++)
        at(results, i);

    measure_begin();
    const long changes = change_all(with, workload, results);
    MUST(cst_context_save(with->context, &host_error));
    measure_stop();
    measure_report("corestone", workload, changes, sum_of_salaries(with), 0);
    cst_release(results);
    return true;
}
