/* Saves 100,000 employees of 100 departments with one save to a store of any type, reads them with another coordinator
 * (in memory: with another context), or fetches and counts some. The type is the last part of the workload's name, as
 * passed to cst_coordinator_add_store. */
#include "stores.h"

#include <stdio.h>
#include <string.h>

#include "company.h"
#include "host.h"
#include "measure.h"

enum { VALUES = 7, QUERIES = FEWER_REPETITIONS, COUNTS = 20 };

static cst_value text_value(const char *text, size_t size) {
    return (cst_value){.type = CST_STRING, .as.string = {text, size}};
}
static cst_value real_value(double real) { return (cst_value){.type = CST_DOUBLE, .as.real = real}; }

static void insert_all(host *with, const company *all) {
    static cst_object *departments[DEPARTMENTS];
    const cst_key department_keys[] = {with->department_name, with->department_budget};
    const cst_key keys[VALUES] = {with->name,  with->email,  with->age,           with->salary,
                                  with->hired, with->active, with->department_key};
    for (int i = 0; i < DEPARTMENTS; i++) {
        const group *from = &all->departments[i];
        const cst_value values[] = {text_value(from->name, from->name_size), real_value(from->budget)};
        MUST(cst_context_insert(with->context, with->department, &departments[i], &host_error));
        MUST(cst_object_set_many(departments[i], 2, department_keys, values, &host_error));
    }
    for (int i = 0; i < EMPLOYEES; i++) {
        const employee *from = &all->employees[i];
        cst_object *object;
        const cst_value values[VALUES] = {
            text_value(from->name, from->name_size),
            text_value(from->email, from->email_size),
            {.type = CST_INT, .as.integer = from->age},
            real_value(from->salary),
            {.type = CST_DATE, .as.date = from->hired},
            {.type = CST_BOOL, .as.boolean = from->active != 0},
            {.type = CST_OBJECT, .as.object = departments[from->department - 1]},
        };
        MUST(cst_context_insert(with->context, with->employee, &object, &host_error));
        MUST(cst_object_set_many(object, VALUES, keys, values, &host_error));
        cst_release(object);
    }
    for (int i = 0; i < DEPARTMENTS; i++)
        cst_release(departments[i]);
}

static void close_store(host *with) {
    cst_release(with->context);
    MUST(cst_coordinator_remove_store(with->coordinator, with->store, &host_error));
    cst_release(with->store);
    cst_release(with->coordinator);
    cst_release(with->model);
}

static void read_all(host *with, const char *workload) {
    cst_fetch_request *request = host_all_employees(with);
    cst_results *results;
    MUST(cst_context_fetch(with->context, request, &results, &host_error));
    const size_t count = cst_results_count(results);
    double check = 0;
    long text = 0;
    for (size_t i = 0; i < count; i++) {
        cst_object *object;
        cst_value name, salary;
        MUST(cst_results_get_object(results, i, &object, &host_error));
        MUST(cst_object_get(object, with->name, &name, &host_error));
        MUST(cst_object_get(object, with->salary, &salary, &host_error));
        text += (long)name.as.string.size;
        check += salary.as.real;
    }
    measure_end("corestone", workload, (long)count, check, text);
    cst_release(results);
    cst_release(request);
}

/* In a department, fetches the 50 employees with the highest salary of those older than 40. Then counts the active
 * employees older than an age. */
static void query_all(host *with, const char *type) {
    const cst_sort by_salary = {.key_path = {"salary", CST_NUL}, .flags = CST_SORT_DESCENDING};
    char workload[64];
    snprintf(workload, sizeof workload, "store_query_%s", type);
    cst_fetch_request *request = host_all_employees(with);
    MUST(cst_fetch_request_set_sort(request, 1, &by_salary, &host_error));
    MUST(cst_fetch_request_set_limit(request, 50, &host_error));
    double check = 0;
    long total = 0;
    measure_begin();
    for (int i = 0; i < QUERIES; i++) {
        char name[32];
        const cst_value argument = text_value(name, company_query_name(i, name));
        cst_predicate *predicate;
        cst_results *results;
        MUST(cst_predicate_parse(host_text("age > 40 AND department.name == %@"), 1, &argument, &predicate,
                                 &host_error));
        MUST(cst_fetch_request_set_predicate(request, predicate, &host_error));
        MUST(cst_context_fetch(with->context, request, &results, &host_error));
        const size_t count = cst_results_count(results);
        for (size_t j = 0; j < count; j++) {
            cst_object *object;
            cst_value salary;
            MUST(cst_results_get_object(results, j, &object, &host_error));
            MUST(cst_object_get(object, with->salary, &salary, &host_error));
            check += salary.as.real;
        }
        total += (long)count;
        cst_release(results);
        cst_release(predicate);
    }
    measure_end("corestone", workload, total, check, 0);
    cst_release(request);

    snprintf(workload, sizeof workload, "store_count_%s", type);
    request = host_all_employees(with);
    check = 0;
    measure_begin();
    for (int i = 0; i < COUNTS; i++) {
        const cst_value argument = {.type = CST_INT, .as.integer = 30 + i};
        cst_predicate *predicate;
        uint64_t count;
        MUST(cst_predicate_parse(host_text("age > %@ AND active == YES"), 1, &argument, &predicate, &host_error));
        MUST(cst_fetch_request_set_predicate(request, predicate, &host_error));
        MUST(cst_context_count(with->context, request, &count, &host_error));
        check += (double)count;
        cst_release(predicate);
    }
    measure_end("corestone", workload, (long)COUNTS * EMPLOYEES, check, 0);
    cst_release(request);
}

bool run_store(const char *workload, const char *data, const char *path) {
    if (strncmp(workload, "store_", 6) != 0) return false;
    const char *type = strrchr(workload, '_') + 1;
    const bool saves = !strncmp(workload, "store_save_", 11), loads = !strncmp(workload, "store_load_", 11);
    if (!saves && !loads && strncmp(workload, "store_query_", 12) != 0) return false;
    static host with;
    company *all = company_load(data);
    host_remove(path);
    host_open_type(&with, type, path, CST_STORE_NORMAL_SYNC);
    insert_all(&with, all);
    if (saves) measure_begin();
    MUST(cst_context_save(with.context, &host_error));
    if (saves) measure_end("corestone", workload, EMPLOYEES + DEPARTMENTS, 0, 0);
    if (!saves) {
        const bool is_file = strcmp(type, "InMemory") != 0;
        if (is_file) {
            close_store(&with);
        } else {
            cst_release(with.context);
            MUST(cst_context_new(with.coordinator, CST_QUEUE_CALLER, &with.context, &host_error));
        }
        if (loads) measure_begin();
        if (is_file) host_open_type(&with, type, path, CST_STORE_NORMAL_SYNC | CST_STORE_MUST_EXIST);
        if (loads)
            read_all(&with, workload);
        else
            query_all(&with, type);
    }
    close_store(&with);
    host_remove(path);
    return true;
}
