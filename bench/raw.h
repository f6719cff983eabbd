/* What the parts of the raw program share: the database, statements, rows as read, texts. */
#ifndef RAW_H
#define RAW_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct row { /* one employee as read */
    int64_t key, department;
    double salary, hired;
    const char *name, *email;
    size_t name_size, email_size;
    int32_t version, age, active;
} row;

extern sqlite3 *database;

_Noreturn void fail(const char *what);
void run(const char *sql);
sqlite3_stmt *prepare(const char *sql);
/* Runs a statement that gives no rows, and makes it ready for the next time. */
void step(sqlite3_stmt *statement);
bool next_row(sqlite3_stmt *statement);
void bind_text(sqlite3_stmt *statement, int index, const char *text, size_t size);
void open_store(const char *path, bool full);
/* One more connection, of the caller's own. */
sqlite3 *connect_to(const char *path);
/* Keeps a text for the rest of the run. */
const char *keep_column(sqlite3_stmt *statement, int column, size_t *out_size);
/* The employees that satisfy a WHERE, or all for an empty text, in the order of their keys. */
row *read_employees(const char *where, int *out_count);

/* The query of W4, for employees of a department that satisfy a condition. */
#define QUERY(condition)                                                                                               \
    "SELECT e.Z_PK, e.Z_OPT, e.ZAGE, e.ZACTIVE, e.ZDEPARTMENT, e.ZSALARY, e.ZHIREDATE, e.ZNAME, e.ZEMAIL"              \
    " FROM ZEMPLOYEE e JOIN ZDEPARTMENT d ON d.Z_PK = e.ZDEPARTMENT WHERE d.ZNAME = ? AND " condition                  \
    " ORDER BY e.ZSALARY DESC LIMIT 50"
enum { QUERY_ROWS = 50 };
/* Asks it for the nth of the departments and adds up the salaries; gives the number of rows. */
int ask(sqlite3_stmt *select, int repetition, double *check);

/* W6, W7 and save_mixed, in raw_changes.c, on a copy of the store that stays. False for another workload. */
bool change(const char *workload, const char *path);
/* readers_1, readers_2 and readers_4, in raw_readers.c. False for another workload. */
bool run_readers(const char *workload, const char *path);
/* W8, W11 and W11_lazy, in raw_rows.c. False for another workload. */
bool run_rows(const char *workload);

#endif
