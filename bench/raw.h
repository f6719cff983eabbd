/* Declarations for all parts of the raw program: the database, statements, rows and strings. */
#ifndef RAW_H
#define RAW_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct row { /* an employee, as read from the store */
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
/* Runs a statement without result rows, and resets it. */
void step(sqlite3_stmt *statement);
bool next_row(sqlite3_stmt *statement);
void bind_text(sqlite3_stmt *statement, int index, const char *text, size_t size);
void open_store(const char *path, bool full);
/* Opens another connection, which the caller closes. */
sqlite3 *connect_to(const char *path);
/* Copies a string, which is kept until the process ends. */
const char *keep_column(sqlite3_stmt *statement, int column, size_t *out_size);
/* Reads the employees of a WHERE clause, or all for "", in the order of their keys. */
row *read_employees(const char *where, int *out_count);

/* The query of W4, for employees of a department that satisfy a condition. */
#define QUERY(condition)                                                                                               \
    "SELECT e.Z_PK, e.Z_OPT, e.ZAGE, e.ZACTIVE, e.ZDEPARTMENT, e.ZSALARY, e.ZHIREDATE, e.ZNAME, e.ZEMAIL"              \
    " FROM ZEMPLOYEE e JOIN ZDEPARTMENT d ON d.Z_PK = e.ZDEPARTMENT WHERE d.ZNAME = ? AND " condition                  \
    " ORDER BY e.ZSALARY DESC LIMIT 50"
enum { QUERY_ROWS = 50 };
/* Runs the query for the nth department and adds the salaries to `check`. Returns the number of rows. */
int ask(sqlite3_stmt *select, int repetition, double *check);

/* Runs W6, W7 or save_mixed (raw_changes.c), on a copy of the store, which is not removed. Returns false for another
 * workload. */
bool change(const char *workload, const char *path);
/* Runs readers_1, readers_2 or readers_4 (raw_readers.c). Returns false for another workload. */
bool run_readers(const char *workload, const char *path);
/* Runs W8, W11 or W11_lazy (raw_rows.c). Returns false for another workload. */
bool run_rows(const char *workload);

#endif
