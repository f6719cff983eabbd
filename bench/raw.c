/* Runs a workload in plain C with sqlite3, on tables like those of a store of Corestone. The other programs are
 * compared with it.
 *
 *   raw WORKLOAD DATA STORE     WORKLOAD: W1 W1_full batch_insert W3 W3_objects W3_arrow W4 W4_any W4_subquery W5a W9,
 *                               or one of raw_changes.c, raw_readers.c or raw_rows.c
 *
 * A process runs one workload. W1 creates the file STORE; the other workloads read it. Statements are prepared once,
 * and a save is one transaction. Rows are copied to an array of structs and their strings to one arena, so that SQLite
 * needs almost all of the time. W3_objects also does the least that an object graph needs: an allocation per object and
 * an identity map. */
#define _GNU_SOURCE
#include "raw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "company.h"
#include "measure.h"

static const char *const schema[] = {
    "CREATE TABLE ZDEPARTMENT ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZBUDGET FLOAT, ZNAME VARCHAR )",
    "CREATE TABLE ZEMPLOYEE ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZACTIVE INTEGER, ZAGE INTEGER, "
    "ZDEPARTMENT INTEGER, ZHIREDATE TIMESTAMP, ZSALARY FLOAT, ZEMAIL VARCHAR, ZNAME VARCHAR )",
    "CREATE TABLE Z_2PROJECTS ( Z_2EMPLOYEES INTEGER, Z_3PROJECTS INTEGER, PRIMARY KEY (Z_2EMPLOYEES, Z_3PROJECTS) )",
    "CREATE TABLE ZPROJECT ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZBUDGET FLOAT, ZTITLE VARCHAR )",
    "CREATE INDEX ZEMPLOYEE_ZDEPARTMENT_INDEX ON ZEMPLOYEE (ZDEPARTMENT)",
    "CREATE INDEX Z_2PROJECTS_Z_3PROJECTS_INDEX ON Z_2PROJECTS (Z_3PROJECTS, Z_2EMPLOYEES)",
};

#define COLUMNS "Z_PK, Z_OPT, ZAGE, ZACTIVE, ZDEPARTMENT, ZSALARY, ZHIREDATE, ZNAME, ZEMAIL"

sqlite3 *database;

_Noreturn void fail(const char *what) {
    fprintf(stderr, "raw: %s: %s\n", what, database ? sqlite3_errmsg(database) : "the database is not open");
    exit(1);
}

void run(const char *sql) {
    if (sqlite3_exec(database, sql, NULL, NULL, NULL) != SQLITE_OK) fail(sql);
}

sqlite3_stmt *prepare(const char *sql) {
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v3(database, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL) != SQLITE_OK) fail(sql);
    return statement;
}

void step(sqlite3_stmt *statement) {
    if (sqlite3_step(statement) != SQLITE_DONE) fail(sqlite3_sql(statement));
    sqlite3_reset(statement);
}

bool next_row(sqlite3_stmt *statement) {
    int result = sqlite3_step(statement);
    if (result != SQLITE_ROW && result != SQLITE_DONE) fail(sqlite3_sql(statement));
    return result == SQLITE_ROW;
}

sqlite3 *connect_to(const char *path) {
    sqlite3 *connection;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    if (sqlite3_open_v2(path, &connection, flags, NULL) != SQLITE_OK) fail(path);
    return connection;
}

void open_store(const char *path, bool full) {
    database = connect_to(path);
    run("PRAGMA auto_vacuum=INCREMENTAL"); /* as in Core Data's stores; has an effect when the file is created */
    run("PRAGMA journal_mode=WAL");
    run(full ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL");
    run("PRAGMA cache_size=-32768");
    run("PRAGMA temp_store=MEMORY");
    run("PRAGMA wal_autocheckpoint=4000");
}

/* ---- strings ---- */

static _Thread_local char *arena, *arena_end;

static const char *keep(const void *text, size_t size) {
    if ((size_t)(arena_end - arena) < size + 1) {
        size_t chunk = (size_t)4 << 20;
        arena = malloc(chunk);
        arena_end = arena + chunk;
    }
    char *copy = arena;
    memcpy(copy, text, size);
    copy[size] = 0;
    arena += size + 1;
    return copy;
}

const char *keep_column(sqlite3_stmt *statement, int column, size_t *out_size) {
    const void *text = sqlite3_column_text(statement, column);
    *out_size = (size_t)sqlite3_column_bytes(statement, column);
    return keep(text, *out_size);
}

/* ---- writing ---- */

void bind_text(sqlite3_stmt *statement, int index, const char *text, size_t size) {
    sqlite3_bind_text(statement, index, text, (int)size, SQLITE_STATIC);
}

static void insert_groups(const char *sql, const group *groups, int count) {
    sqlite3_stmt *insert = prepare(sql);
    for (int i = 0; i < count; i++) {
        sqlite3_bind_int64(insert, 1, i + 1);
        sqlite3_bind_double(insert, 2, groups[i].budget);
        bind_text(insert, 3, groups[i].name, groups[i].name_size);
        step(insert);
    }
    sqlite3_finalize(insert);
}

/* Reads the data and creates an empty store for it. */
static company *load_and_create(const char *data, const char *path, bool full) {
    company *all = company_load(data);
    char side[4200];
    for (int i = 0; i < 3; i++) {
        snprintf(side, sizeof side, "%s%s", path, i == 0 ? "" : i == 1 ? "-wal" : "-shm");
        unlink(side);
    }
    open_store(path, full);
    for (size_t i = 0; i < sizeof schema / sizeof *schema; i++)
        run(schema[i]);
    return all;
}

static void insert_employees(const company *all, bool with_departments) {
    sqlite3_stmt *insert = prepare(
        "INSERT INTO ZEMPLOYEE (Z_PK, Z_ENT, Z_OPT, ZACTIVE, ZAGE, ZDEPARTMENT, ZHIREDATE, ZSALARY, ZEMAIL, ZNAME)"
        " VALUES (?, 2, 1, ?, ?, ?, ?, ?, ?, ?)");
    for (int i = 0; i < EMPLOYEES; i++) {
        const employee *one = &all->employees[i];
        sqlite3_bind_int64(insert, 1, i + 1);
        sqlite3_bind_int(insert, 2, one->active);
        sqlite3_bind_int(insert, 3, one->age);
        if (with_departments) sqlite3_bind_int64(insert, 4, one->department);
        sqlite3_bind_double(insert, 5, one->hired);
        sqlite3_bind_double(insert, 6, one->salary);
        bind_text(insert, 7, one->email, one->email_size);
        bind_text(insert, 8, one->name, one->name_size);
        step(insert);
    }
    sqlite3_finalize(insert);
}

/* Inserts only the employees, without departments, like the batch insertion. */
static void insert_batch(const char *data, const char *path) {
    company *all = load_and_create(data, path, false);
    measure_begin();
    run("BEGIN IMMEDIATE");
    insert_employees(all, false);
    run("COMMIT");
    measure_end("raw", "batch_insert", EMPLOYEES, EMPLOYEES, 0);
}

static void insert_company(const char *workload, const char *data, const char *path, bool full) {
    company *all = load_and_create(data, path, full);
    measure_begin();
    run("BEGIN IMMEDIATE");
    insert_groups("INSERT INTO ZDEPARTMENT (Z_PK, Z_ENT, Z_OPT, ZBUDGET, ZNAME) VALUES (?, 1, 1, ?, ?)",
                  all->departments, DEPARTMENTS);
    insert_groups("INSERT INTO ZPROJECT (Z_PK, Z_ENT, Z_OPT, ZBUDGET, ZTITLE) VALUES (?, 3, 1, ?, ?)", all->projects,
                  PROJECTS);
    insert_employees(all, true);
    sqlite3_stmt *insert = prepare("INSERT INTO Z_2PROJECTS (Z_2EMPLOYEES, Z_3PROJECTS) VALUES (?, ?)");
    for (size_t i = 0; i < all->link_count; i++) {
        sqlite3_bind_int64(insert, 1, all->links[i].employee);
        sqlite3_bind_int64(insert, 2, all->links[i].project);
        step(insert);
    }
    sqlite3_finalize(insert);
    run("COMMIT");
    measure_end("raw", workload, EMPLOYEES, (double)all->link_count, 0);
}

/* ---- reading ---- */

static inline void read_row(sqlite3_stmt *statement, row *into) {
    into->key = sqlite3_column_int64(statement, 0);
    into->version = sqlite3_column_int(statement, 1);
    into->age = sqlite3_column_int(statement, 2);
    into->active = sqlite3_column_int(statement, 3);
    into->department = sqlite3_column_int64(statement, 4);
    into->salary = sqlite3_column_double(statement, 5);
    into->hired = sqlite3_column_double(statement, 6);
    into->name = keep_column(statement, 7, &into->name_size);
    into->email = keep_column(statement, 8, &into->email_size);
}

row *read_employees(const char *where, int *out_count) {
    row *rows = malloc(EMPLOYEES * sizeof *rows);
    int count = 0;
    char text[200];
    snprintf(text, sizeof text, "SELECT " COLUMNS " FROM ZEMPLOYEE %s", where);
    sqlite3_stmt *select = prepare(text);
    while (count < EMPLOYEES && next_row(select))
        read_row(select, &rows[count++]);
    sqlite3_finalize(select);
    *out_count = count;
    return rows;
}

static inline long text_of(const row *one) {
    return (long)one->name_size + (long)one->email_size + (unsigned char)one->name[0] + (unsigned char)one->email[0] +
           (long)one->hired;
}

static void read_all(void) {
    measure_begin();
    int count;
    row *rows = read_employees("", &count);
    double check = 0;
    long text = 0;
    for (int i = 0; i < count; i++) {
        check += rows[i].age + rows[i].salary + rows[i].active;
        text += text_of(&rows[i]);
    }
    measure_end("raw", "W3", count, check, text);
}

/* ---- columns: growing arrays, for a program that does not keep rows ---- */

enum { ATTRIBUTES = 6 };

struct columns {
    size_t count, room, name_used, name_room, email_used, email_room;
    int32_t *age, *names, *emails; /* names, emails: offsets of the strings */
    double *salary;
    int64_t *hired;
    uint8_t *active, *nulls[ATTRIBUTES];
    char *name, *email;
};

static void *grown(void *old, size_t size) {
    void *place = realloc(old, size);
    if (!place) fail("out of memory");
    return place;
}

static void make_room(struct columns *c) {
    c->room = c->room ? c->room * 2 : 1024;
    c->age = grown(c->age, c->room * sizeof *c->age);
    c->names = grown(c->names, (c->room + 1) * sizeof *c->names);
    c->emails = grown(c->emails, (c->room + 1) * sizeof *c->emails);
    c->salary = grown(c->salary, c->room * sizeof *c->salary);
    c->hired = grown(c->hired, c->room * sizeof *c->hired);
    c->active = grown(c->active, c->room);
    for (int i = 0; i < ATTRIBUTES; i++)
        c->nulls[i] = grown(c->nulls[i], c->room);
}

static void append_text(sqlite3_stmt *select, int column, char **text, size_t *used, size_t *room) {
    const unsigned char *value = sqlite3_column_text(select, column);
    size_t size = (size_t)sqlite3_column_bytes(select, column);
    if (*used + size > *room) *text = grown(*text, *room = (*used + size) * 2);
    memcpy(*text + *used, value, size);
    *used += size;
}

static void scan(void) {
    measure_begin();
    struct columns c = {0};
    sqlite3_stmt *select = prepare("SELECT ZAGE, ZACTIVE, ZHIREDATE, ZSALARY, ZEMAIL, ZNAME FROM ZEMPLOYEE");
    while (next_row(select)) {
        if (c.count == c.room) make_room(&c);
        size_t at = c.count++;
        for (int i = 0; i < ATTRIBUTES; i++)
            c.nulls[i][at] = sqlite3_column_type(select, i) == SQLITE_NULL;
        c.age[at] = sqlite3_column_int(select, 0);
        c.active[at] = sqlite3_column_int(select, 1) != 0;
        c.hired[at] = (int64_t)(sqlite3_column_double(select, 2) * 1e6);
        c.salary[at] = sqlite3_column_double(select, 3);
        c.emails[at] = (int32_t)c.email_used;
        append_text(select, 4, &c.email, &c.email_used, &c.email_room);
        c.names[at] = (int32_t)c.name_used;
        append_text(select, 5, &c.name, &c.name_used, &c.name_room);
    }
    sqlite3_finalize(select);
    double check = 0;
    for (size_t i = 0; i < c.count; i++)
        check += c.age[i] + c.salary[i] + c.active[i];
    measure_end("raw", "W3_arrow", (long)c.count, check, (long)(c.name_used + c.email_used));
}

/* ---- an identity map: open addressing, keys from 1 ---- */

enum { MAP_BITS = 18, MAP_SIZE = 1 << MAP_BITS };

static inline row **map_place(row **map, int64_t key) {
    uint32_t at = (uint32_t)key * 2654435761u >> (32 - MAP_BITS);
    while (map[at] && map[at]->key != key)
        at = (at + 1) & (MAP_SIZE - 1);
    return &map[at];
}

static void read_objects(void) {
    measure_begin();
    row **map = calloc(MAP_SIZE, sizeof *map), **objects = malloc(EMPLOYEES * sizeof *objects), scratch;
    int count = 0;
    sqlite3_stmt *select = prepare("SELECT " COLUMNS " FROM ZEMPLOYEE");
    while (count < EMPLOYEES && next_row(select)) {
        size_t name_size = (size_t)sqlite3_column_bytes(select, 7),
               email_size = (size_t)sqlite3_column_bytes(select, 8);
        row *one = malloc(sizeof *one + name_size + email_size + 2);
        char *old_arena = arena, *old_end = arena_end;
        arena = (char *)(one + 1);
        arena_end = arena + name_size + email_size + 2;
        read_row(select, &scratch);
        *one = scratch;
        arena = old_arena;
        arena_end = old_end;
        *map_place(map, one->key) = one;
        objects[count++] = one;
    }
    sqlite3_finalize(select);
    double check = 0;
    long text = 0;
    for (int i = 0; i < count; i++) {
        check += objects[i]->age + objects[i]->salary + objects[i]->active;
        text += text_of(objects[i]);
    }
    measure_end("raw", "W3_objects", count, check, text);
}

#define PROJECTS_ABOVE(budget)                                                                                         \
    " FROM Z_2PROJECTS j JOIN ZPROJECT p ON p.Z_PK = j.Z_3PROJECTS WHERE j.Z_2EMPLOYEES = e.Z_PK AND p.ZBUDGET "       \
    "> " budget

int ask(sqlite3_stmt *select, int repetition, double *check) {
    row rows[QUERY_ROWS];
    char name[32], *before = arena;
    int count = 0;
    bind_text(select, 1, name, company_query_name(repetition, name));
    while (count < QUERY_ROWS && next_row(select))
        read_row(select, &rows[count++]);
    sqlite3_reset(select);
    for (int i = 0; i < count; i++)
        *check += rows[i].salary;
    if (before) arena = before;
    return count;
}

static void query(const char *workload, const char *text, int repetitions) {
    measure_begin();
    sqlite3_stmt *select = prepare(text);
    long total = 0;
    double check = 0;
    for (int i = 0; i < repetitions; i++)
        total += ask(select, i, &check);
    sqlite3_finalize(select);
    measure_end("raw", workload, total, check, 0);
}

static void follow(void) {
    measure_begin();
    group *departments = calloc(DEPARTMENTS + 1, sizeof *departments);
    sqlite3_stmt *select = prepare("SELECT Z_PK, ZBUDGET, ZNAME FROM ZDEPARTMENT");
    while (next_row(select)) {
        int64_t key = sqlite3_column_int64(select, 0);
        if (key < 1 || key > DEPARTMENTS) fail("a department has an unexpected key");
        departments[key].budget = sqlite3_column_double(select, 1);
        departments[key].name = keep_column(select, 2, &departments[key].name_size);
    }
    sqlite3_finalize(select);
    int count;
    row *rows = read_employees("", &count);
    double check = 0;
    for (int i = 0; i < count; i++)
        check += (double)departments[rows[i].department].name_size;
    measure_end("raw", "W5a", count, check, 0);
}

static void look_up(const char *data) {
    int32_t *keys = company_load_keys(data);
    row *rows = malloc(EMPLOYEES * sizeof *rows), **map = calloc(MAP_SIZE, sizeof *map);
    measure_begin();
    sqlite3_stmt *select = prepare("SELECT " COLUMNS " FROM ZEMPLOYEE WHERE Z_PK = ?");
    double check = 0;
    run("BEGIN");
    for (int i = 0; i < EMPLOYEES; i++) {
        sqlite3_bind_int64(select, 1, keys[i]);
        if (!next_row(select)) fail("an employee is missing");
        read_row(select, &rows[i]);
        sqlite3_reset(select);
        *map_place(map, keys[i]) = &rows[i];
        check += rows[i].salary;
    }
    run("COMMIT");
    measure_end("raw", "W9_cold", EMPLOYEES, check, 0);
    sqlite3_finalize(select);

    measure_begin();
    check = 0;
    for (int i = EMPLOYEES - 1; i >= 0; i--)
        check += (*map_place(map, keys[i]))->salary;
    measure_end("raw", "W9_hot", EMPLOYEES, check, 0);
}

int main(int count, char **arguments) {
    if (count != 4) {
        fprintf(stderr, "usage: raw WORKLOAD DATA STORE\n");
        return 2;
    }
    const char *workload = arguments[1], *data = arguments[2], *path = arguments[3];
    sqlite3_config(SQLITE_CONFIG_MULTITHREAD);
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    if (!strcmp(workload, "W1") || !strcmp(workload, "W1_full")) {
        insert_company(workload, data, path, workload[2] != 0);
        return sqlite3_close(database) != SQLITE_OK;
    }
    if (!strcmp(workload, "batch_insert")) {
        insert_batch(data, path);
        return sqlite3_close(database) != SQLITE_OK;
    }
    if (change(workload, path)) return 0;
    if (run_readers(workload, path)) return 0;
    open_store(path, false);
    if (!strcmp(workload, "W3"))
        read_all();
    else if (!strcmp(workload, "W3_objects"))
        read_objects();
    else if (!strcmp(workload, "W3_arrow"))
        scan();
    else if (!strcmp(workload, "W4"))
        query(workload, QUERY("e.ZAGE > 40"), 1000);
    else if (!strcmp(workload, "W4_any"))
        query(workload, QUERY("EXISTS (SELECT 1" PROJECTS_ABOVE("400000") ")"), 200);
    else if (!strcmp(workload, "W4_subquery"))
        query(workload, QUERY("(SELECT COUNT(*)" PROJECTS_ABOVE("400000") ") > 1"), 200);
    else if (!strcmp(workload, "W5a"))
        follow();
    else if (!strcmp(workload, "W9"))
        look_up(data);
    else if (!run_rows(workload)) {
        fprintf(stderr, "raw: there is no workload %s\n", workload);
        return 2;
    }
    return sqlite3_close(database) != SQLITE_OK;
}
