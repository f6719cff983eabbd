/* The operations of corestone.c in plain C with sqlite3, on the same table. "live" runs its query again after each
 * change, because SQLite does not report the effect of a change on the results of a query.
 *
 *   raw_large OPERATION STORE ROWS */
#include <sqlite3.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../measure.h"
#include "large.h"

static sqlite3 *database;

static _Noreturn void fail(const char *what) {
    fprintf(stderr, "raw_large: %s: %s\n", what, database ? sqlite3_errmsg(database) : "the database is not open");
    exit(1);
}

static void run(const char *sql) {
    if (sqlite3_exec(database, sql, NULL, NULL, NULL) != SQLITE_OK) fail(sql);
}

static sqlite3_stmt *prepare(const char *sql) {
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v3(database, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL) != SQLITE_OK) fail(sql);
    return statement;
}

static bool next_row(sqlite3_stmt *statement) {
    const int result = sqlite3_step(statement);
    if (result != SQLITE_ROW && result != SQLITE_DONE) fail(sqlite3_sql(statement));
    return result == SQLITE_ROW;
}

static void step(sqlite3_stmt *statement) {
    if (next_row(statement)) fail("a statement has rows");
    sqlite3_reset(statement);
}

static void open_store(const char *path) {
    if (sqlite3_open_v2(path, &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL) !=
        SQLITE_OK)
        fail(path);
    run("PRAGMA auto_vacuum=INCREMENTAL");
    run("PRAGMA journal_mode=WAL");
    run("PRAGMA synchronous=NORMAL");
    run("PRAGMA cache_size=-32768");
    run("PRAGMA temp_store=MEMORY");
    run("PRAGMA wal_autocheckpoint=4000");
}

static void create(int64_t rows) {
    run("CREATE TABLE ZITEM ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZACTIVE INTEGER, ZAGE INTEGER, "
        "ZCODE INTEGER, ZMADE TIMESTAMP, ZPRICE FLOAT, ZNAME VARCHAR )");
    run("CREATE INDEX Z_Item_code ON ZITEM (ZCODE COLLATE BINARY ASC)");
    measure_begin();
    run("BEGIN IMMEDIATE");
    sqlite3_stmt *insert = prepare("INSERT INTO ZITEM (Z_PK, Z_ENT, Z_OPT, ZACTIVE, ZAGE, ZCODE, ZMADE, ZPRICE, ZNAME) "
                                   "VALUES (?, 1, 1, ?, ?, ?, ?, ?, ?)");
    for (int64_t i = 0; i < rows; i++) {
        large_row row;
        large_fill(&row, i, rows);
        sqlite3_bind_int64(insert, 1, i + 1);
        sqlite3_bind_int64(insert, 2, row.active);
        sqlite3_bind_int64(insert, 3, row.age);
        sqlite3_bind_int64(insert, 4, row.code);
        sqlite3_bind_double(insert, 5, row.made);
        sqlite3_bind_double(insert, 6, row.price);
        sqlite3_bind_text(insert, 7, row.name, (int)row.name_size, SQLITE_STATIC);
        step(insert);
    }
    sqlite3_finalize(insert);
    run("COMMIT");
    measure_end("raw", "create", (long)rows, (double)rows, 0);
}

static sqlite3_stmt *price_by_code(void) {
    return prepare("SELECT Z_PK, Z_OPT, ZACTIVE, ZAGE, ZCODE, ZMADE, ZPRICE, ZNAME FROM ZITEM WHERE ZCODE = ?");
}

static double fetch_price(sqlite3_stmt *select, int64_t code) {
    sqlite3_bind_int64(select, 1, code);
    if (!next_row(select)) fail("a row is missing");
    const double price = sqlite3_column_double(select, 6);
    sqlite3_reset(select);
    return price;
}

static void query(int64_t rows) {
    double check = 0;
    measure_begin();
    sqlite3_stmt *select = price_by_code();
    for (int64_t i = 0; i < LARGE_QUERIES; i++)
        check += fetch_price(select, i * 7919 % rows);
    sqlite3_finalize(select);
    measure_end("raw", "query", LARGE_QUERIES, check, 0);
}

static void count(int64_t rows) {
    measure_begin();
    sqlite3_stmt *select = prepare("SELECT COUNT(*) FROM ZITEM WHERE ZAGE > 40 AND ZACTIVE = 1");
    if (!next_row(select)) fail("the count does not have a row");
    const double found = sqlite3_column_double(select, 0);
    sqlite3_finalize(select);
    measure_end("raw", "count", (long)rows, found, 0);
}

static void group(int64_t rows) {
    double check = 0;
    measure_begin();
    sqlite3_stmt *select = prepare("SELECT ZAGE, SUM(ZPRICE) FROM ZITEM GROUP BY ZAGE");
    while (next_row(select))
        check += sqlite3_column_double(select, 1);
    sqlite3_finalize(select);
    measure_end("raw", "group", (long)rows, check, 0);
}

static void read_all(int64_t rows) {
    double check = 0;
    long text = 0;
    measure_begin();
    sqlite3_stmt *select = prepare("SELECT Z_PK, Z_OPT, ZACTIVE, ZAGE, ZCODE, ZMADE, ZPRICE, ZNAME FROM ZITEM");
    while (next_row(select)) {
        check += sqlite3_column_double(select, 6);
        measure_sink = sqlite3_column_text(select, 7)[0];
        text += sqlite3_column_bytes(select, 7);
    }
    sqlite3_finalize(select);
    measure_end("raw", "cursor", (long)rows, check, text);
}

/* Reads the watched rows in their order, and stores their keys. */
static void read_watched(sqlite3_stmt *select, int64_t *out_keys) {
    sqlite3_bind_int64(select, 1, LARGE_WATCHED);
    for (int i = 0; next_row(select); i++)
        out_keys[i] = sqlite3_column_int64(select, 0);
    sqlite3_reset(select);
}

static void watch(void) {
    static int64_t keys[LARGE_WATCHED], newest[LARGE_WATCHED];
    measure_begin();
    sqlite3_stmt *select = prepare("SELECT Z_PK, Z_OPT, ZACTIVE, ZAGE, ZCODE, ZMADE, ZPRICE, ZNAME FROM ZITEM "
                                   "WHERE ZCODE < ? ORDER BY ZPRICE");
    sqlite3_stmt *update = prepare("UPDATE ZITEM SET ZPRICE = ?, Z_OPT = Z_OPT + 1 WHERE Z_PK = ?");
    read_watched(select, keys);
    for (long i = 0; i < LARGE_CHANGES; i++) {
        run("BEGIN IMMEDIATE");
        sqlite3_bind_double(update, 1, -1.0 - (double)i);
        sqlite3_bind_int64(update, 2, keys[i * 7919 % LARGE_WATCHED]);
        step(update);
        run("COMMIT");
        read_watched(select, newest);
    }
    sqlite3_finalize(select);
    sqlite3_finalize(update);
    measure_end("raw", "live", LARGE_CHANGES, LARGE_WATCHED + LARGE_CHANGES, 0);
}

static void back_up(const char *path, int64_t rows) {
    char to[4200];
    sqlite3 *copy;
    snprintf(to, sizeof to, "%s-backup", path);
    unlink(to);
    measure_begin();
    if (sqlite3_open(to, &copy) != SQLITE_OK) fail(to);
    sqlite3_backup *backup = sqlite3_backup_init(copy, "main", database, "main");
    if (!backup || sqlite3_backup_step(backup, -1) != SQLITE_DONE) fail("backup");
    sqlite3_backup_finish(backup);
    sqlite3_close(copy);
    measure_end("raw", "backup", (long)rows, 0, 0);
    unlink(to);
}

int main(int argument_count, char **arguments) {
    const int64_t rows = argument_count == 4 ? strtoll(arguments[3], NULL, 10) : 0;
    if (rows <= LARGE_WATCHED) {
        fprintf(stderr, "usage: raw_large OPERATION STORE ROWS (more than %d)\n", LARGE_WATCHED);
        return 2;
    }
    const char *operation = arguments[1], *path = arguments[2];
    if (!strcmp(operation, "create")) {
        char side[4200];
        for (int i = 0; i < 3; i++) {
            snprintf(side, sizeof side, "%s%s", path, i == 0 ? "" : i == 1 ? "-wal" : "-shm");
            unlink(side);
        }
    }
    if (!strcmp(operation, "open")) {
        measure_begin();
        open_store(path);
        sqlite3_stmt *select = price_by_code();
        const double check = fetch_price(select, rows / 2);
        sqlite3_finalize(select);
        measure_end("raw", "open", 1, check, 0);
    } else
        open_store(path);
    if (!strcmp(operation, "create"))
        create(rows);
    else if (!strcmp(operation, "query"))
        query(rows);
    else if (!strcmp(operation, "count"))
        count(rows);
    else if (!strcmp(operation, "group"))
        group(rows);
    else if (!strcmp(operation, "cursor"))
        read_all(rows);
    else if (!strcmp(operation, "live"))
        watch();
    else if (!strcmp(operation, "backup"))
        back_up(path, rows);
    else if (strcmp(operation, "open") != 0) {
        fprintf(stderr, "raw_large: there is no operation %s\n", operation);
        return 2;
    }
    sqlite3_close(database);
    return 0;
}
