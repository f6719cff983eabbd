/* Runs an operation N times, to count its instructions. budgets.py runs this program under callgrind with two values of
 * N; the additional operations cause the difference of the counts.
 *
 *   ops prepare STORE           creates a store of PREPARED objects; run once, without callgrind
 *   ops OPERATION STORE N       OPERATION: get set fetch fault insert save
 *
 * get     reads a value of an object in memory: an integer, a double and a string in turn
 * set     sets an integer and a double in turn, of an object that was changed before
 * fetch   fetches one object and reads its first value
 * fault   gets the object of an ID and reads its first value
 * insert  inserts an object with six values and a to-one relationship, without a save
 * save    the same, saved; budgets.py subtracts the insert */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../host.h"
#include "../measure.h"

enum { PREPARED = 4000, IN_MEMORY = 200 };

static cst_object *insert_employee(host *with, cst_object *department, long number) {
    const cst_key keys[] = {with->name,  with->email,  with->age,           with->salary,
                            with->hired, with->active, with->department_key};
    char name[32], email[48];
    size_t name_size = (size_t)snprintf(name, sizeof name, "Employee %06ld", number);
    size_t email_size = (size_t)snprintf(email, sizeof email, "employee.%06ld@corp.test", number);
    cst_value values[] = {
        {.type = CST_STRING, .as.string = {name, name_size}},   {.type = CST_STRING, .as.string = {email, email_size}},
        {.type = CST_INT, .as.integer = 20 + number % 40},      {.type = CST_DOUBLE, .as.real = 30000 + (double)number},
        {.type = CST_DATE, .as.date = 1000.0 * (double)number}, {.type = CST_BOOL, .as.boolean = number % 2 == 0},
        {.type = CST_OBJECT, .as.object = department},
    };
    cst_object *object;
    MUST(cst_context_insert(with->context, with->employee, &object, &host_error));
    MUST(cst_object_set_many(object, sizeof keys / sizeof *keys, keys, values, &host_error));
    return object;
}

static cst_object *insert_department(host *with) {
    cst_object *department;
    cst_value name = {.type = CST_STRING, .as.string = {"Research", 8}};
    MUST(cst_context_insert(with->context, with->department, &department, &host_error));
    MUST(cst_object_set(department, with->department_name, &name, &host_error));
    return department;
}

static void insert(host *with, long count) {
    cst_object *department = insert_department(with);
    for (long i = 0; i < count; i++)
        cst_release(insert_employee(with, department, i));
}

static cst_results *fetch(host *with, long limit) {
    cst_fetch_request *request = host_all_employees(with);
    MUST(cst_fetch_request_set_limit(request, (uint64_t)limit, &host_error));
    cst_results *results;
    MUST(cst_context_fetch(with->context, request, &results, &host_error));
    if (cst_results_count(results) != (size_t)limit) {
        fprintf(stderr, "ops: the store has too few objects\n");
        exit(1);
    }
    return results;
}

static cst_object *at(const cst_results *results, long index) {
    cst_object *object;
    MUST(cst_results_get_object(results, (size_t)index, &object, &host_error));
    return object;
}

static void get(host *with, long count) {
    const cst_key keys[] = {with->age, with->salary, with->name};
    cst_results *results = fetch(with, IN_MEMORY);
    cst_object *objects[IN_MEMORY];
    cst_value value;
    for (int i = 0; i < IN_MEMORY; i++)
        MUST(cst_object_get(objects[i] = at(results, i), keys[0], &value, &host_error));
    for (long i = 0; i < count; i++)
        MUST(cst_object_get(objects[i % IN_MEMORY], keys[i % 3], &value, &host_error));
}

static void set(host *with, long count) {
    const cst_key keys[] = {with->age, with->salary};
    cst_results *results = fetch(with, IN_MEMORY);
    cst_object *objects[IN_MEMORY];
    for (int i = 0; i < IN_MEMORY; i++)
        objects[i] = at(results, i);
    for (long i = -4 * IN_MEMORY; i < count; i++) { /* below 0: the first changes of every object */
        long turn = i + 4 * IN_MEMORY;
        cst_value integer = {.type = CST_INT, .as.integer = turn}, real = {.type = CST_DOUBLE, .as.real = (double)turn};
        int which = turn / IN_MEMORY % 2 != 0;
        MUST(cst_object_set(objects[turn % IN_MEMORY], keys[which], which ? &real : &integer, &host_error));
    }
}

static void fetch_values(host *with, long count) {
    cst_results *results = fetch(with, count);
    cst_value value;
    for (long i = 0; i < count; i++)
        MUST(cst_object_get(at(results, i), with->salary, &value, &host_error));
}

static void fault(host *with, long count) {
    static cst_object_id *ids[PREPARED];
    for (int i = 0; i < PREPARED; i++) {
        char uri[128];
        snprintf(uri, sizeof uri, "x-coredata://%s/Employee/p%d", cst_store_identifier(with->store).data, i + 1);
        MUST(cst_coordinator_object_id(with->coordinator, host_text(uri), &ids[i], &host_error));
    }
    for (long i = 0; i < count && i < PREPARED; i++) {
        cst_object *object;
        cst_value value;
        MUST(cst_context_object_with_id(with->context, ids[i * 7 % PREPARED], &object, &host_error));
        MUST(cst_object_get(object, with->salary, &value, &host_error));
    }
}

int main(int count, char **arguments) {
    if (count < 3) {
        fprintf(stderr, "usage: ops prepare STORE | ops get|set|fetch|fault|insert|save STORE N\n");
        return 2;
    }
    const char *operation = arguments[1], *path = arguments[2];
    const long times = count > 3 ? strtol(arguments[3], NULL, 10) : PREPARED;
    const int prepares = !strcmp(operation, "prepare"), saves = !strcmp(operation, "save");
    if (times < 1 || ((!strcmp(operation, "fetch") || !strcmp(operation, "fault")) && times > PREPARED)) {
        fprintf(stderr, "ops: N must be 1 or more, and at most %d for fetch and fault\n", PREPARED);
        return 2;
    }
    static host with;
    if (prepares || saves) host_remove(path);
    host_open(&with, path, CST_STORE_NORMAL_SYNC);
    measure_begin();
    if (!strcmp(operation, "get"))
        get(&with, times);
    else if (!strcmp(operation, "set"))
        set(&with, times);
    else if (!strcmp(operation, "fetch"))
        fetch_values(&with, times);
    else if (!strcmp(operation, "fault"))
        fault(&with, times);
    else if (!strcmp(operation, "insert") || saves || prepares)
        insert(&with, times);
    else {
        fprintf(stderr, "ops: there is no operation %s\n", operation);
        return 2;
    }
    if (saves || prepares) MUST(cst_context_save(with.context, &host_error));
    if (!prepares) {
        measure_end("ops", operation, times, 0, 0); /* for the number of allocations */
        _exit(0);                                   /* releases at the end are not part of an operation */
    }
    cst_release(with.context);
    MUST(cst_coordinator_remove_store(with.coordinator, with.store, &host_error));
    return 0;
}
