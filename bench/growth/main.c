/* Runs operations of a context on stores of a given number of objects, to compare their costs. growth.py runs this
 * program with several numbers, and budgets.py under callgrind.
 *
 *   growth list                         prints the names of the operations
 *   growth prepare STORE N              creates a store with N employees, and STORE-empty without objects
 *   growth run STORE N OPERATION…       runs operations, each with a coordinator of its own; without names, all
 *   growth base STORE                   prints the resident memory of a process that does little, in four lines
 *
 * An operation that changes the store runs on a copy, STORE-copy, which is removed afterwards. For each operation, the
 * program prints a line of JSON (measure.h): "rows" are the units among which the cost is divided. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "growth.h"

static const growth_operation *const groups[] = {
    object_operations, relationship_operations, context_operations, nested_operations,
    fetch_operations,  list_operations,         store_operations,   arrow_operations,
};
enum { GROUPS = sizeof groups / sizeof *groups, PORTION = 50000 };

static void copy_file(const char *from, const char *to) {
    struct stat status;
    const int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (in < 0 || out < 0 || fstat(in, &status) != 0) {
        fprintf(stderr, "growth: cannot copy %s to %s: %s\n", from, to, strerror(errno));
        exit(1);
    }
    for (off_t at = 0; at < status.st_size;)
        if (sendfile(out, in, &at, (size_t)(status.st_size - at)) <= 0) {
            fprintf(stderr, "growth: cannot copy %s to %s: %s\n", from, to, strerror(errno));
            exit(1);
        }
    close(in);
    close(out);
}

/* Inserts a portion of the employees, with one save. */
static void insert_portion(growth *of, cst_object_id *pool_id, cst_object_id *list_id, long first, long last) {
    cst_context *context;
    cst_object *pool, *list, *department = NULL;
    MUST(cst_context_new(of->coordinator, CST_QUEUE_CALLER, &context, &host_error));
    MUST(cst_context_object_with_id(context, pool_id, &pool, &host_error));
    MUST(cst_context_object_with_id(context, list_id, &list, &host_error));
    for (long i = first; i < last; i++) {
        if (i % DEPARTMENT_SIZE == 0) {
            char text[32];
            snprintf(text, sizeof text, "Department %06ld", i / DEPARTMENT_SIZE);
            const cst_value name = cst_value_string(host_text(text));
            cst_release(department);
            MUST(cst_context_insert(context, of->department, &department, &host_error));
            MUST(cst_object_set(department, of->department_name, &name, &host_error));
        }
        cst_object *employee = growth_insert(of, context, i);
        const cst_key keys[] = {of->in_department, of->in_pool, of->in_list};
        const cst_value values[] = {cst_value_object(department), cst_value_object(pool), cst_value_object(list)};
        MUST(cst_object_set_many(employee, 3, keys, values, &host_error));
        cst_release(employee);
    }
    growth_save(context);
    cst_release(department);
    cst_release(pool);
    cst_release(list);
    cst_release(context);
}

static void close_store(growth *of) {
    cst_release(of->all);
    free(of->objects);
    MUST(cst_context_close(of->context, CST_UNSAVED_DISCARD, &host_error));
    cst_release(of->context);
    cst_release(of->store);
    MUST(cst_coordinator_close(of->coordinator, CST_UNSAVED_DISCARD, &host_error));
    cst_release(of->coordinator);
    cst_release(of->model);
}

static void prepare(const char *path, long count) {
    char empty[4200];
    snprintf(empty, sizeof empty, "%s-empty", path);
    for (int with_objects = 0; with_objects < 2; with_objects++) {
        growth of = {.count = count};
        host_remove(with_objects ? path : empty);
        growth_open(&of, "SQLite", with_objects ? path : empty, CST_STORE_NORMAL_SYNC);
        if (with_objects) {
            cst_object *pool, *list;
            cst_object_id *pool_id, *list_id;
            MUST(cst_context_insert(of.context, of.pool, &pool, &host_error));
            MUST(cst_context_insert(of.context, of.list, &list, &host_error));
            growth_save(of.context);
            MUST(cst_object_copy_id(pool, &pool_id, &host_error));
            MUST(cst_object_copy_id(list, &list_id, &host_error));
            for (long first = 0; first < count; first += PORTION)
                insert_portion(&of, pool_id, list_id, first, first + PORTION < count ? first + PORTION : count);
            cst_release(pool);
            cst_release(list);
            cst_release(pool_id);
            cst_release(list_id);
        }
        close_store(&of);
    }
}

static void run(const growth_operation *operation, const char *path, long count) {
    char source[4200], copy[4200];
    snprintf(source, sizeof source, "%s%s", path, operation->state & GROWTH_EMPTY ? "-empty" : "");
    snprintf(copy, sizeof copy, "%s-copy", path);
    growth of = {.count = count, .path = source};
    const bool writes = (operation->state & (GROWTH_WRITES | GROWTH_EMPTY | GROWTH_HISTORY)) != 0;
    if (writes) {
        host_remove(copy);
        copy_file(source, copy);
        of.path = copy;
    }
    growth_open(&of, "SQLite", of.path,
                CST_STORE_NORMAL_SYNC | CST_STORE_MUST_EXIST |
                    (operation->state & GROWTH_HISTORY ? CST_STORE_HISTORY : 0));
    if (operation->state & GROWTH_LOADED) growth_load(&of);
    const long units = operation->run(&of);
    measure_report("growth", operation->name, units, 0, 0);
    close_store(&of);
    if (writes) host_remove(copy);
}

static void print_resident(const char *stage) {
    FILE *status = fopen("/proc/self/status", "r");
    char line[256];
    long anonymous = 0, mapped = 0;
    while (status && fgets(line, sizeof line, status)) {
        sscanf(line, "RssAnon: %ld", &anonymous);
        sscanf(line, "RssFile: %ld", &mapped);
    }
    if (status) fclose(status);
    printf("{\"stage\":\"%s\",\"own_kb\":%ld,\"mapped_kb\":%ld}\n", stage, anonymous, mapped);
}

/* Prints the resident memory that is the process's own, and that of mapped files, which processes share. */
static void print_base(const char *path) {
    print_resident("loaded");
    cst_version(NULL, NULL, NULL);
    growth of = {.count = 1};
    growth_open(&of, "SQLite", path, CST_STORE_NORMAL_SYNC | CST_STORE_MUST_EXIST);
    print_resident("opened");
    cst_fetch_request *request = growth_request(of.employee);
    MUST(cst_fetch_request_set_limit(request, 1, &host_error));
    cst_results *results = growth_fetch(of.context, request, 1);
    growth_salary(&of, growth_at(results, 0));
    print_resident("fetched");
    cst_release(growth_insert(&of, of.context, 0));
    growth_save(of.context);
    print_resident("saved");
    cst_release(results);
    cst_release(request);
    close_store(&of);
}

static const growth_operation *operation_named(const char *name) {
    for (int group = 0; group < GROUPS; group++)
        for (const growth_operation *each = groups[group]; each->name; each++)
            if (!strcmp(each->name, name)) return each;
    fprintf(stderr, "growth: there is no operation %s\n", name);
    exit(2);
}

int main(int count, char **arguments) {
    if (count == 2 && !strcmp(arguments[1], "list")) {
        for (int group = 0; group < GROUPS; group++)
            for (const growth_operation *each = groups[group]; each->name; each++)
                puts(each->name);
        return 0;
    }
    if (count == 3 && !strcmp(arguments[1], "base")) {
        print_base(arguments[2]);
        return 0;
    }
    const long objects = count > 3 ? strtol(arguments[3], NULL, 10) : 0;
    if (count < 4 || objects < DEPARTMENT_SIZE ||
        (strcmp(arguments[1], "prepare") != 0 && strcmp(arguments[1], "run") != 0)) {
        fprintf(stderr,
                "usage: growth list | growth prepare STORE N | growth run STORE N OPERATION… | growth base STORE\n"
                "N is at least 100.\n");
        return 2;
    }
    if (!strcmp(arguments[1], "prepare"))
        prepare(arguments[2], objects);
    else if (count == 4) {
        for (int group = 0; group < GROUPS; group++)
            for (const growth_operation *each = groups[group]; each->name; each++)
                run(each, arguments[2], objects);
    } else
        for (int i = 4; i < count; i++)
            run(operation_named(arguments[i]), arguments[2], objects);
    return 0;
}
