/* Operations on a store of ten million rows, through Corestone's C ABI. large.py compares them with raw.c.
 *
 *   large OPERATION STORE ROWS
 *
 * create    inserts the rows with one batch request, whose function supplies them
 * open      opens the store, and fetches one row
 * query     fetches LARGE_QUERIES single rows by an indexed attribute, and reads a value of each
 * count     counts the rows that satisfy a condition, without an index
 * group     computes the sum and the number of each of 50 groups
 * cursor    reads two values of every row through a cursor
 * live      observes LARGE_WATCHED rows in an order, and saves LARGE_CHANGES changes of single rows
 * backup    copies the store to STORE-backup
 *
 * Each prints a line of JSON (measure.h). The operations except create and open begin with an open store. */
#include <corestone.h>
#include <stdlib.h>
#include <string.h>

#include "../host.h"
#include "../measure.h"
#include "large.h"

enum { COLUMNS = 6 };

static const char model_text[] = "{\"Item\": {\"code\": \"int64 indexed\", \"name\": \"string?\", \"age\": \"int32?\","
                                 " \"active\": \"bool?\", \"price\": \"double?\", \"made\": \"date?\"}}";
static const char *const names[COLUMNS] = {"code", "name", "age", "active", "price", "made"};

typedef struct store {
    int64_t rows;
    cst_model *model;
    cst_entity *item;
    cst_coordinator *coordinator;
    cst_store *store;
    cst_context *context;
    cst_key keys[COLUMNS];
} store;

static void open_store(store *into, const char *path, uint32_t flags) {
    MUST(cst_model_new_from_text(host_text(model_text), &into->model, &host_error));
    MUST(cst_coordinator_new(into->model, &into->coordinator, &host_error));
    MUST(cst_model_entity(into->model, host_text("Item"), &into->item, &host_error));
    for (int i = 0; i < COLUMNS; i++)
        MUST(cst_entity_key(into->item, host_text(names[i]), &into->keys[i], &host_error));
    cst_store_options options = CST_STORE_OPTIONS_INIT;
    options.flags = flags | CST_STORE_NORMAL_SYNC;
    options.cache_kb = 32768;
    MUST(cst_coordinator_add_store(into->coordinator, host_text("SQLite"), host_text(path), &options, &into->store,
                                   &host_error));
    MUST(cst_context_new(into->coordinator, CST_QUEUE_CALLER, &into->context, &host_error));
}

/* The rows that remain to be inserted, and the texts of those that were passed last. */
typedef struct source {
    int64_t next, rows;
    char (*texts)[32];
    size_t capacity;
} source;

static cst_status fill(void *userdata, size_t capacity, cst_value *values, size_t *out_rows, cst_error **error) {
    source *from = userdata;
    (void)error;
    if (from->capacity < capacity) {
        from->texts = realloc(from->texts, capacity * sizeof *from->texts);
        from->capacity = capacity;
    }
    for (*out_rows = 0; *out_rows < capacity && from->next < from->rows; ++*out_rows, from->next++) {
        large_row row;
        large_fill(&row, from->next, from->rows);
        memcpy(from->texts[*out_rows], row.name, row.name_size);
        cst_value *value = values + *out_rows * COLUMNS;
        value[0] = cst_value_int(row.code);
        value[1] = cst_value_string((cst_string){from->texts[*out_rows], row.name_size});
        value[2] = cst_value_int(row.age);
        value[3] = cst_value_bool(row.active != 0);
        value[4] = cst_value_double(row.price);
        value[5] = cst_value_date(row.made);
    }
    return CST_OK;
}

static void create(store *in) {
    cst_batch_request *request;
    uint64_t count;
    source from = {.rows = in->rows};
    measure_begin();
    MUST(cst_batch_insert_new(in->item, &request, &host_error));
    MUST(cst_batch_insert_set_handler(request, COLUMNS, in->keys, fill, &from, NULL, &host_error));
    MUST(cst_context_execute_batch(in->context, request, &count, NULL, &host_error));
    measure_end("corestone", "create", (long)in->rows, (double)count, 0);
    cst_release(request);
    free(from.texts);
}

static cst_fetch_request *all(const store *in, const char *format, const cst_value *argument) {
    cst_fetch_request *request;
    cst_predicate *predicate;
    MUST(cst_fetch_request_new(in->item, &request, &host_error));
    if (!format) return request;
    MUST(cst_predicate_parse(host_text(format), argument ? 1 : 0, argument, &predicate, &host_error));
    MUST(cst_fetch_request_set_predicate(request, predicate, &host_error));
    cst_release(predicate);
    return request;
}

static double real(const store *in, const cst_object *object, int column) {
    cst_value value;
    MUST(cst_object_get(object, in->keys[column], &value, &host_error));
    return value.as.real;
}

static cst_object *at(const cst_results *results, size_t index) {
    cst_object *object;
    MUST(cst_results_get_object(results, index, &object, &host_error));
    return object;
}

static double fetch_price(const store *in, int64_t code) {
    const cst_value argument = cst_value_int(code);
    cst_fetch_request *request = all(in, "code == %@", &argument);
    cst_results *results;
    MUST(cst_context_fetch(in->context, request, &results, &host_error));
    const double price = real(in, at(results, 0), 4);
    cst_release(results);
    cst_release(request);
    return price;
}

static void query(const store *in) {
    double check = 0;
    measure_begin();
    for (int64_t i = 0; i < LARGE_QUERIES; i++)
        check += fetch_price(in, i * 7919 % in->rows);
    measure_end("corestone", "query", LARGE_QUERIES, check, 0);
}

static void count(const store *in) {
    cst_fetch_request *request = all(in, "age > 40 AND active == YES", NULL);
    uint64_t found;
    measure_begin();
    MUST(cst_context_count(in->context, request, &found, &host_error));
    measure_end("corestone", "count", (long)in->rows, (double)found, 0);
    cst_release(request);
}

static void group(const store *in) {
    cst_fetch_request *request = all(in, NULL, NULL);
    const cst_string age = host_text("age");
    cst_rows *rows;
    double check = 0;
    MUST(cst_fetch_request_set_group_by(request, 1, &age, &host_error));
    measure_begin();
    MUST(cst_context_aggregate(in->context, request, CST_AGGREGATE_SUM, host_text("price"), &rows, &host_error));
    for (size_t i = 0; i < cst_rows_count(rows); i++) {
        cst_value values[2];
        MUST(cst_rows_copy_values(rows, i, 1, values, &host_error));
        check += values[1].as.real;
    }
    measure_end("corestone", "group", (long)in->rows, check, 0);
    cst_release(rows);
    cst_release(request);
}

static void read_all(const store *in) {
    cst_fetch_request *request = all(in, NULL, NULL);
    cst_cursor *cursor;
    cst_results *batch;
    double check = 0;
    long text = 0;
    measure_begin();
    MUST(cst_context_fetch_cursor(in->context, request, LARGE_BATCH, &cursor, &host_error));
    while (cst_cursor_copy_next(cursor, &batch, &host_error) == CST_OK) {
        for (size_t i = 0; i < cst_results_count(batch); i++) {
            const cst_object *object = at(batch, i);
            cst_value name;
            MUST(cst_object_get(object, in->keys[1], &name, &host_error));
            text += (long)name.as.string.size;
            check += real(in, object, 4);
        }
        cst_release(batch);
    }
    measure_end("corestone", "cursor", (long)in->rows, check, text);
    cst_release(cursor);
    cst_release(request);
}

static void hear(void *userdata, cst_context *context, const cst_difference *difference) {
    (void)context;
    *(long *)userdata += (long)difference->change_count;
}

static void watch(const store *in) {
    const cst_value limit = cst_value_int(LARGE_WATCHED);
    cst_fetch_request *request = all(in, "code < %@", &limit);
    const cst_sort by_price = {.key_path = host_text("price")};
    cst_observation *observation;
    cst_results *results;
    long heard = 0;
    MUST(cst_fetch_request_set_sort(request, 1, &by_price, &host_error));
    measure_begin();
    MUST(cst_context_observe_fetch(in->context, request, (cst_string){NULL, 0}, 0, NULL, hear, &heard, NULL,
                                   &observation, &host_error));
    MUST(cst_context_fetch(in->context, request, &results, &host_error));
    for (long i = 0; i < LARGE_CHANGES; i++) {
        cst_value price = cst_value_double(-1.0 - (double)i);
        MUST(cst_object_set(at(results, (size_t)(i * 7919 % LARGE_WATCHED)), in->keys[4], &price, &host_error));
        MUST(cst_context_save(in->context, &host_error));
    }
    measure_end("corestone", "live", LARGE_CHANGES, (double)heard, 0);
    cst_release(results);
    cst_release(observation);
    cst_release(request);
}

static void back_up(const store *in, const char *path) {
    char copy[4200];
    snprintf(copy, sizeof copy, "%s-backup", path);
    measure_begin();
    MUST(cst_coordinator_backup_store(in->coordinator, in->store, host_text(copy), NULL, NULL, NULL, &host_error));
    measure_end("corestone", "backup", (long)in->rows, 0, 0);
    host_remove(copy);
}

int main(int argument_count, char **arguments) {
    const int64_t rows = argument_count == 4 ? strtoll(arguments[3], NULL, 10) : 0;
    if (rows <= LARGE_WATCHED) {
        fprintf(stderr, "usage: large OPERATION STORE ROWS (more than %d)\n", LARGE_WATCHED);
        return 2;
    }
    const char *operation = arguments[1], *path = arguments[2];
    const int creates = !strcmp(operation, "create");
    store in = {.rows = rows};
    if (creates) host_remove(path);
    if (!strcmp(operation, "open")) {
        measure_begin();
        open_store(&in, path, CST_STORE_MUST_EXIST);
        const double check = fetch_price(&in, rows / 2);
        measure_end("corestone", "open", 1, check, 0);
    } else
        open_store(&in, path, creates ? 0 : CST_STORE_MUST_EXIST);
    if (creates)
        create(&in);
    else if (!strcmp(operation, "query"))
        query(&in);
    else if (!strcmp(operation, "count"))
        count(&in);
    else if (!strcmp(operation, "group"))
        group(&in);
    else if (!strcmp(operation, "cursor"))
        read_all(&in);
    else if (!strcmp(operation, "live"))
        watch(&in);
    else if (!strcmp(operation, "backup"))
        back_up(&in, path);
    else if (strcmp(operation, "open") != 0) {
        fprintf(stderr, "large: there is no operation %s\n", operation);
        return 2;
    }
    cst_release(in.context);
    cst_release(in.store);
    MUST(cst_coordinator_close(in.coordinator, CST_UNSAVED_DISCARD, &host_error));
    cst_release(in.coordinator);
    cst_release(in.model);
    return 0;
}
