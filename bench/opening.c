/* Measures the opening of a store with its cached model, and the reading of the same tables with plain SQLite.
 *
 *   opening STORE [TIMES]      measures both in turn; prints a line of JSON with the medians
 *
 * The exit status is 1 if a store of 60 or more entities needs 30 ms or more. */
#include <corestone.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"

enum { MOST = 1000 };

static void fail(const char *what) {
    fprintf(stderr, "opening: %s\n", what);
    exit(1);
}

/* Reads all tables that describe the store: metadata, entities, the cached model and the schema. */
static void open_raw(const char *path) {
    static const char *const queries[] = {"SELECT Z_UUID, Z_PLIST FROM Z_METADATA", "SELECT * FROM Z_PRIMARYKEY",
                                          "SELECT Z_CONTENT FROM Z_MODELCACHE", "SELECT name, sql FROM sqlite_master"};
    char uri[1000];
    snprintf(uri, sizeof uri, "file:%s?mode=ro&immutable=1", path);
    sqlite3 *database = NULL;
    if (sqlite3_open_v2(uri, &database, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL) != SQLITE_OK) fail(uri);
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
        sqlite3_stmt *statement = NULL;
        if (sqlite3_prepare_v2(database, queries[i], -1, &statement, NULL) != SQLITE_OK) fail(queries[i]);
        while (sqlite3_step(statement) == SQLITE_ROW)
            for (int column = 0; column < sqlite3_column_count(statement); column++)
                measure_sink += sqlite3_column_bytes(statement, column);
        sqlite3_finalize(statement);
    }
    sqlite3_close(database);
}

/* Opens the store with its cached model. Returns the number of entities. */
static size_t open_corestone(const char *path) {
    cst_coordinator *coordinator = NULL;
    cst_store *store = NULL;
    cst_model *model = NULL;
    cst_error *error = NULL;
    uint32_t source = 0;
    cst_string name = {path, CST_NUL};
    if (cst_coordinator_open_store(name, NULL, NULL, &coordinator, &store, &error) != CST_OK)
        fail(cst_error_message(error).data);
    cst_store_model_source(store, &source, NULL);
    if (source != CST_MODEL_CACHED) fail("the store does not have a cached model that matches its tables");
    cst_coordinator_model(coordinator, &model, NULL);
    size_t count = cst_model_entity_count(model);
    cst_release(store);
    cst_release(coordinator);
    return count;
}

static int compare(const void *a, const void *b) {
    double difference = *(const double *)a - *(const double *)b;
    return (difference > 0) - (difference < 0);
}

static double median(double *times, int count) {
    qsort(times, (size_t)count, sizeof *times, compare);
    return times[count / 2];
}

int main(int count, char **arguments) {
    static double raw[MOST], own[MOST];
    if (count < 2) {
        fprintf(stderr, "usage: opening STORE [TIMES]\n");
        return 2;
    }
    int times = count > 2 ? atoi(arguments[2]) : 31;
    if (times < 1 || times > MOST) fail("TIMES must be from 1 to 1000");
    size_t entities = 0;
    for (int i = 0; i < times; i++) {
        double begin = measure_now();
        open_raw(arguments[1]);
        double middle = measure_now();
        entities = open_corestone(arguments[1]);
        raw[i] = middle - begin;
        own[i] = measure_now() - middle;
    }
    double raw_time = median(raw, times) * 1e3, own_time = median(own, times) * 1e3;
    printf("{\"workload\": \"open\", \"entities\": %zu, \"corestone_ms\": %.2f, \"raw_ms\": %.2f, \"ratio\": %.1f}\n",
           entities, own_time, raw_time, own_time / raw_time);
    return entities >= 60 && own_time >= 30;
}
