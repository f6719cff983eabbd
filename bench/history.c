/* Reads, writes and purges a history, with the library and with plain SQLite. history.py runs it:
 *
 *   history fetch-raw STORE           reads every change with its transaction, through sqlite3
 *   history fetch STORE               does the same through cst_history_cursor_next
 *   history save STORE ROWS on|off    inserts ROWS objects and saves once, with or without a history
 *   history rows-raw STORE ROWS       writes the history of such a save, through sqlite3
 *   history purge STORE               deletes the history in steps; prints the longest step
 *
 * Each prints seconds, rows (purge: steps) and the peak memory in kilobytes. */
#define _GNU_SOURCE
#include <corestone.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "measure.h"

static void fail(const char *what) {
    fprintf(stderr, "history: %s failed\n", what);
    exit(1);
}

static void require(cst_status status, cst_error *error) {
    if (status >= 0) return;
    cst_string message = cst_error_message(error);
    fprintf(stderr, "history: %.*s\n", (int)message.size, message.data);
    exit(1);
}

static void report(double seconds, long rows) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("%.6f %ld %ld\n", seconds, rows, usage.ru_maxrss);
}

static cst_coordinator *opened(const char *path, uint32_t flags, cst_store **store) {
    cst_error *error = NULL;
    cst_model *model = NULL;
    require(
        cst_model_new_from_text(CST_TEXT("{\"Item\": {\"name\": \"string?\", \"code\": \"int64\"}}"), &model, &error),
        error);
    cst_coordinator *coordinator = NULL;
    require(cst_coordinator_new(model, &coordinator, &error), error);
    cst_store_options options = CST_STORE_OPTIONS_INIT;
    options.flags = flags | CST_STORE_NORMAL_SYNC;
    require(cst_coordinator_add_store(coordinator, CST_TEXT("SQLite"), cst_string_from(path), &options, store, &error),
            error);
    cst_release(model);
    return coordinator;
}

static sqlite3 *database(const char *path) {
    sqlite3 *db = NULL;
    if (sqlite3_open(path, &db) != SQLITE_OK) fail("sqlite3_open");
    sqlite3_exec(db, "PRAGMA synchronous=NORMAL; PRAGMA cache_size=-32768", NULL, NULL, NULL);
    return db;
}

static sqlite3_stmt *prepared(sqlite3 *db, const char *sql) {
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK) fail(sqlite3_errmsg(db));
    return statement;
}

static void fetch_raw(const char *path) {
    sqlite3 *db = database(path);
    double start = measure_now();
    sqlite3_stmt *heads =
        prepared(db, "SELECT t.Z_PK, t.ZTIMESTAMP, a.ZNAME, c.ZNAME, b.ZNAME, p.ZNAME FROM ATRANSACTION t "
                     "LEFT JOIN ATRANSACTIONSTRING a ON a.Z_PK = t.ZAUTHORTS LEFT JOIN ATRANSACTIONSTRING c ON c.Z_PK "
                     "= t.ZCONTEXTNAMETS "
                     "LEFT JOIN ATRANSACTIONSTRING b ON b.Z_PK = t.ZBUNDLEIDTS LEFT JOIN ATRANSACTIONSTRING p ON "
                     "p.Z_PK = t.ZPROCESSIDTS "
                     "ORDER BY t.Z_PK");
    sqlite3_stmt *changes = prepared(db, "SELECT Z_PK, ZCHANGETYPE, ZENTITY, ZENTITYPK, ZCOLUMNS FROM ACHANGE "
                                         "WHERE ZTRANSACTIONID = ? ORDER BY Z_PK");
    long rows = 0, sum = 0;
    while (sqlite3_step(heads) == SQLITE_ROW) {
        for (int column = 2; column < 6; column++) {
            const unsigned char *text = sqlite3_column_text(heads, column);
            if (text) sum += text[0];
        }
        sqlite3_bind_int64(changes, 1, sqlite3_column_int64(heads, 0));
        while (sqlite3_step(changes) == SQLITE_ROW) {
            sum += (long)(sqlite3_column_int64(changes, 0) + sqlite3_column_int64(changes, 1) +
                          sqlite3_column_int64(changes, 2) + sqlite3_column_int64(changes, 3));
            const unsigned char *mask = sqlite3_column_blob(changes, 4);
            if (mask) sum += mask[0];
            rows++;
        }
        sqlite3_reset(changes);
    }
    measure_sink = sum;
    report(measure_now() - start, rows);
}

static void fetch(const char *path) {
    cst_error *error = NULL;
    cst_store *store = NULL;
    cst_coordinator *coordinator = opened(path, 0, &store);
    double start = measure_now();
    cst_history_cursor *cursor = NULL;
    require(cst_coordinator_fetch_history(coordinator, NULL, &cursor, &error), error);
    const cst_history_transaction *transaction = NULL;
    long rows = 0, sum = 0;
    cst_status status;
    while ((status = cst_history_cursor_next(cursor, &transaction, &error)) == CST_OK) {
        if (transaction->author.size) sum += transaction->author.data[0];
        for (size_t i = 0; i < transaction->change_count; i++) {
            const cst_history_change *change = &transaction->changes[i];
            sum += (long)(change->number + change->kind + change->primary_key);
            if (change->property_count) sum += change->properties[0].data[0];
            rows++;
        }
    }
    require(status, error);
    measure_sink = sum;
    report(measure_now() - start, rows);
}

static void save(const char *path, long rows, int keeps) {
    cst_error *error = NULL;
    cst_store *store = NULL;
    cst_coordinator *coordinator = opened(path, keeps ? CST_STORE_HISTORY : 0, &store);
    cst_context *context = NULL;
    require(cst_context_new(coordinator, CST_QUEUE_CALLER, &context, &error), error);
    cst_model *model = NULL;
    require(cst_coordinator_model(coordinator, &model, &error), error);
    cst_entity *entity = NULL;
    require(cst_model_entity(model, CST_TEXT("Item"), &entity, &error), error);
    cst_key code = CST_NO_KEY;
    require(cst_entity_key(entity, CST_TEXT("code"), &code, &error), error);
    for (long i = 0; i < rows; i++) {
        cst_object *object = NULL;
        require(cst_context_insert(context, entity, &object, &error), error);
        cst_value value = cst_value_int(i);
        require(cst_object_set(object, code, &value, &error), error);
        cst_release(object);
    }
    double start = measure_now();
    require(cst_context_save(context, &error), error);
    report(measure_now() - start, rows);
}

static void rows_raw(const char *path, long rows) {
    sqlite3 *db = database(path);
    double start = measure_now();
    sqlite3_exec(db, "BEGIN IMMEDIATE; INSERT INTO ATRANSACTION (Z_PK, Z_ENT, ZTIMESTAMP) VALUES (1000000, 16002, 1)",
                 NULL, NULL, NULL);
    sqlite3_stmt *insert =
        prepared(db, "INSERT INTO ACHANGE (Z_PK, Z_ENT, ZCHANGETYPE, ZENTITY, ZENTITYPK, ZTRANSACTIONID, ZCOLUMNS) "
                     "VALUES (?, 16001, 0, 1, ?, 1000000, NULL)");
    for (long i = 0; i < rows; i++) {
        sqlite3_bind_int64(insert, 1, 100000000 + i);
        sqlite3_bind_int64(insert, 2, i + 1);
        if (sqlite3_step(insert) != SQLITE_DONE) fail(sqlite3_errmsg(db));
        sqlite3_reset(insert);
    }
    sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
    report(measure_now() - start, rows);
}

typedef struct steps {
    double last, longest;
    long count;
} steps;

static bool step(void *userdata, uint64_t transactions, uint64_t changes) {
    (void)transactions, (void)changes;
    steps *seen = userdata;
    double now = measure_now();
    if (now - seen->last > seen->longest) seen->longest = now - seen->last;
    seen->last = now;
    seen->count++;
    return true;
}

static void purge(const char *path) {
    cst_error *error = NULL;
    cst_store *store = NULL;
    cst_coordinator *coordinator = opened(path, 0, &store);
    cst_history_retention keep = CST_HISTORY_RETENTION_INIT;
    keep.has_count = true;
    double start = measure_now();
    steps seen = {start, 0, 0};
    require(cst_coordinator_purge_history(coordinator, store, &keep, step, &seen, NULL, &error), error);
    report(measure_now() - start, seen.count);
    printf("%.6f\n", seen.longest);
}

int main(int argc, char **argv) {
    if (argc < 3) {
        fprintf(stderr, "usage: history fetch-raw|fetch|save|rows-raw|purge STORE [ROWS [on|off]]\n");
        return 2;
    }
    long rows = argc > 3 ? atol(argv[3]) : 0;
    if (!strcmp(argv[1], "fetch-raw"))
        fetch_raw(argv[2]);
    else if (!strcmp(argv[1], "fetch"))
        fetch(argv[2]);
    else if (!strcmp(argv[1], "save"))
        save(argv[2], rows, argc > 4 && !strcmp(argv[4], "on"));
    else if (!strcmp(argv[1], "rows-raw"))
        rows_raw(argv[2], rows);
    else if (!strcmp(argv[1], "purge"))
        purge(argv[2]);
    else {
        fprintf(stderr, "history: there is no mode %s\n", argv[1]);
        return 2;
    }
    return 0;
}
