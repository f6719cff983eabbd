/* Operations on stores: opening, batch requests, history, copies, records. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "growth.h"

/* Opens and closes the store with further coordinators. */
static long open_store(growth *of) {
    enum { OPENINGS = 10 };
    measure_begin();
    for (int i = 0; i < OPENINGS; i++) {
        growth other = {.model = of->model};
        growth_open(&other, "SQLite", of->path, CST_STORE_NORMAL_SYNC);
        cst_release(other.context);
        cst_release(other.store);
        MUST(cst_coordinator_close(other.coordinator, CST_UNSAVED_DISCARD, &host_error));
        cst_release(other.coordinator);
    }
    measure_stop();
    return OPENINGS;
}

static long batch_insert(growth *of) {
    cst_value *values = malloc((size_t)of->count * ATTRIBUTES * sizeof *values);
    char (*texts)[96] = malloc((size_t)of->count * sizeof *texts);
    cst_key keys[ATTRIBUTES];
    growth_keys(of, keys);
    for (long i = 0; i < of->count; i++)
        growth_values(i, texts[i], values + i * ATTRIBUTES);
    cst_batch_request *request;
    uint64_t count;
    measure_begin();
    MUST(cst_batch_insert_new(of->employee, &request, &host_error));
    MUST(cst_batch_insert_set_rows(request, (size_t)of->count, ATTRIBUTES, keys, values, &host_error));
    MUST(cst_context_execute_batch(of->context, request, &count, NULL, &host_error));
    measure_stop();
    EXPECT((long)count == of->count);
    cst_release(request);
    free(values);
    free(texts);
    return of->count;
}

/* Updates all rows while the context contains all objects, which are merged. */
static long batch_update(growth *of) {
    cst_batch_request *request;
    const cst_value value = cst_value_double(-1);
    uint64_t count;
    measure_begin();
    MUST(cst_batch_update_new(of->employee, &request, &host_error));
    MUST(cst_batch_update_set(request, host_text("salary"), &value, &host_error));
    MUST(cst_context_execute_batch(of->context, request, &count, NULL, &host_error));
    growth_process(of->context);
    measure_stop();
    EXPECT((long)count == of->count && growth_salary(of, of->objects[0]) == -1);
    cst_release(request);
    return of->count;
}

static long batch_delete(growth *of) {
    cst_fetch_request *all = growth_request(of->employee);
    cst_batch_request *request;
    cst_results *ids;
    uint64_t count;
    measure_begin();
    MUST(cst_batch_delete_new(all, &request, &host_error));
    MUST(cst_context_execute_batch(of->context, request, &count, &ids, &host_error));
    growth_process(of->context);
    measure_stop();
    EXPECT((long)count == of->count);
    cst_release(ids);
    cst_release(request);
    cst_release(all);
    return of->count;
}

/* Saves a transaction for each department, with the changes of its employees. */
static void save_transactions(const growth *of) {
    for (long i = 0; i < of->count; i++) {
        growth_change(of, of->objects[i], i);
        if (i % DEPARTMENT_SIZE == DEPARTMENT_SIZE - 1 || i == of->count - 1) growth_save(of->context);
    }
}

static long history_save(growth *of) {
    measure_begin();
    save_transactions(of);
    measure_stop();
    return of->count;
}

static long history_fetch(growth *of) {
    save_transactions(of);
    cst_history_cursor *cursor;
    const cst_history_transaction *transaction;
    long changes = 0;
    measure_begin();
    MUST(cst_coordinator_fetch_history(of->coordinator, NULL, &cursor, &host_error));
    while (cst_history_cursor_next(cursor, &transaction, &host_error) == CST_OK)
        changes += (long)transaction->change_count;
    measure_stop();
    EXPECT(changes == of->count);
    cst_release(cursor);
    return of->count;
}

/* Merges each transaction of the history into a context that contains all objects. */
static long history_merge(growth *of) {
    cst_context *other;
    MUST(cst_context_new(of->coordinator, CST_QUEUE_CALLER, &other, &host_error));
    cst_results *results = growth_load_in(of, other);
    save_transactions(of);
    cst_history_cursor *cursor;
    const cst_history_transaction *transaction;
    measure_begin();
    MUST(cst_coordinator_fetch_history(of->coordinator, NULL, &cursor, &host_error));
    while (cst_history_cursor_next(cursor, &transaction, &host_error) == CST_OK)
        MUST(cst_context_merge_history(other, cursor, &host_error));
    growth_process(other);
    measure_stop();
    EXPECT(growth_salary(of, growth_at(results, of->count - 1)) < 0);
    cst_release(cursor);
    cst_release(results);
    cst_release(other);
    return of->count;
}

static long history_purge(growth *of) {
    save_transactions(of);
    cst_history_retention keep = CST_HISTORY_RETENTION_INIT;
    keep.has_count = true; /* none */
    measure_begin();
    MUST(cst_coordinator_purge_history(of->coordinator, of->store, &keep, NULL, NULL, NULL, &host_error));
    measure_stop();
    return of->count;
}

static long backup(growth *of) {
    char copy[4200];
    snprintf(copy, sizeof copy, "%s-backup", of->path);
    measure_begin();
    MUST(cst_coordinator_backup_store(of->coordinator, of->store, host_text(copy), NULL, NULL, NULL, &host_error));
    measure_stop();
    host_remove(copy);
    return of->count;
}

static long check(growth *of) {
    cst_error *problems;
    measure_begin();
    MUST(cst_store_check(host_text(of->path), of->model, &problems, &host_error));
    measure_stop();
    EXPECT(!problems);
    return of->count;
}

static long optimize(growth *of) {
    measure_begin();
    MUST(cst_coordinator_optimize_store(of->coordinator, of->store, NULL, &host_error));
    measure_stop();
    return of->count;
}

/* Saves all employees to a new store of another type, opens it again, and reads them. */
static long save_and_open(growth *of, const char *type) {
    char path[4200];
    snprintf(path, sizeof path, "%s-%s", of->path, type);
    unlink(path);
    growth written = {.model = of->model, .count = of->count}, read = written;
    measure_begin();
    growth_open(&written, type, path, 0);
    growth_insert_all(&written, written.context);
    growth_save(written.context);
    cst_release(written.context);
    cst_release(written.store);
    MUST(cst_coordinator_close(written.coordinator, CST_UNSAVED_DISCARD, &host_error));
    growth_open(&read, type, path, 0);
    cst_results *results = growth_load_in(&read, read.context);
    measure_stop();
    cst_release(results);
    cst_release(read.context);
    cst_release(read.store);
    MUST(cst_coordinator_close(read.coordinator, CST_UNSAVED_DISCARD, &host_error));
    cst_release(read.coordinator);
    cst_release(written.coordinator);
    unlink(path);
    return of->count;
}

static long xml(growth *of) { return save_and_open(of, "XML"); }

static long binary(growth *of) { return save_and_open(of, "Binary"); }

/* Copies the store into a store in memory. */
static long migrate(growth *of) {
    cst_store *moved;
    measure_begin();
    MUST(cst_coordinator_migrate_store(of->coordinator, of->store, host_text("InMemory"), (cst_string){NULL, 0}, NULL,
                                       NULL, NULL, &moved, &host_error));
    measure_stop();
    cst_release(moved);
    return of->count;
}

static void count_records(void *userdata, cst_string records, size_t count) {
    (void)records;
    *(size_t *)userdata += count;
}

/* Inserts and reads as many records as there are objects. */
static long records(growth *of) {
    cst_container *container;
    cst_string name = host_text("Badge");
    char *json = malloc((size_t)of->count * 48 + 16), *end = json;
    size_t count = 0;
    *end++ = '[';
    for (long i = 0; i < of->count; i++)
        end += sprintf(end, "%s{\"code\": %ld, \"owner\": \"Ada\"}", i ? "," : "", i);
    *end++ = ']';
    cst_store_options options = CST_STORE_OPTIONS_INIT;
    options.flags = CST_STORE_WRITABLE;
    MUST(cst_container_open(host_text(of->path), of->model, &options, &container, &host_error));
    measure_begin();
    MUST(cst_container_insert(container, name, (cst_string){json, (size_t)(end - json)}, count_records, NULL, &count,
                              &host_error));
    MUST(cst_container_read(container, name, NULL, (cst_string){NULL, 0}, true, 0, 0, count_records, NULL, &count,
                            &host_error));
    measure_stop();
    EXPECT((long)count == 2 * of->count);
    MUST(cst_container_close(container, CST_UNSAVED_DISCARD, &host_error));
    cst_release(container);
    free(json);
    return of->count;
}

const growth_operation store_operations[] = {
    {"open", 0, open_store},
    {"batch_insert", GROWTH_EMPTY, batch_insert},
    {"batch_update", GROWTH_LOADED | GROWTH_WRITES, batch_update},
    {"batch_delete", GROWTH_LOADED | GROWTH_WRITES, batch_delete},
    {"history_save", GROWTH_LOADED | GROWTH_HISTORY, history_save},
    {"history_fetch", GROWTH_LOADED | GROWTH_HISTORY, history_fetch},
    {"history_merge", GROWTH_LOADED | GROWTH_HISTORY, history_merge},
    {"history_purge", GROWTH_LOADED | GROWTH_HISTORY, history_purge},
    {"backup", 0, backup},
    {"check", 0, check},
    {"optimize", GROWTH_WRITES, optimize},
    {"xml", 0, xml},
    {"binary", 0, binary},
    {"migrate", GROWTH_WRITES, migrate},
    {"records", GROWTH_EMPTY, records},
    {NULL, 0, NULL},
};
