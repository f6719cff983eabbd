/* W8: counts and groups. W11 and W11_lazy: the projects of 10,000 employees, in three scans, or with a query for each
 * employee. */
#include <stdlib.h>
#include <string.h>

#include "company.h"
#include "measure.h"
#include "raw.h"

static void count_rows(void) {
    measure_begin();
    sqlite3_stmt *select = prepare("SELECT COUNT(*) FROM ZEMPLOYEE WHERE ZAGE > ? AND ZACTIVE = 1");
    double check = 0;
    for (int i = 0; i < COUNT_REPETITIONS; i++) {
        sqlite3_bind_int(select, 1, 30 + i);
        if (!next_row(select)) fail("the count does not have a row");
        check += (double)sqlite3_column_int64(select, 0);
        sqlite3_reset(select);
    }
    sqlite3_finalize(select);
    measure_end("raw", "W8_count", (long)COUNT_REPETITIONS * EMPLOYEES, check, 0);
}

static void group_rows(void) {
    measure_begin();
    sqlite3_stmt *select =
        prepare("SELECT ZDEPARTMENT, SUM(ZSALARY), AVG(ZSALARY) FROM ZEMPLOYEE GROUP BY ZDEPARTMENT");
    double check = 0;
    for (int i = 0; i < COUNT_REPETITIONS; i++) {
        while (next_row(select))
            check += sqlite3_column_double(select, 1) + sqlite3_column_double(select, 2);
        sqlite3_reset(select);
    }
    sqlite3_finalize(select);
    measure_end("raw", "W8_group", (long)COUNT_REPETITIONS * EMPLOYEES, check, 0);
}

static void walk_projects(void) {
    measure_begin();
    size_t *sizes = calloc(PROJECTS + 1, sizeof *sizes);
    sqlite3_stmt *select = prepare("SELECT Z_PK, ZBUDGET, ZTITLE FROM ZPROJECT");
    while (next_row(select)) {
        group project;
        project.budget = sqlite3_column_double(select, 1);
        project.name = keep_column(select, 2, &project.name_size);
        sizes[sqlite3_column_int64(select, 0)] = project.name_size;
    }
    sqlite3_finalize(select);
    int count;
    row *rows = read_employees("WHERE Z_PK <= 10000", &count);
    select =
        prepare("SELECT Z_2EMPLOYEES, Z_3PROJECTS FROM Z_2PROJECTS WHERE Z_2EMPLOYEES <= 10000 ORDER BY Z_2EMPLOYEES");
    assignment *links = malloc(MOST_LINKS / 10 * sizeof *links);
    long total = 0;
    while (next_row(select)) {
        links[total].employee = sqlite3_column_int(select, 0);
        links[total++].project = sqlite3_column_int(select, 1);
    }
    sqlite3_finalize(select);
    double check = 0;
    long at = 0;
    for (int i = 0; i < count; i++)
        while (at < total && links[at].employee == rows[i].key)
            check += (double)sizes[links[at++].project];
    measure_end("raw", "W11", total, check, 0);
}

static void ask_for_projects(void) {
    measure_begin();
    int count;
    row *rows = read_employees("WHERE Z_PK <= 10000", &count);
    sqlite3_stmt *select = prepare("SELECT p.Z_PK, p.ZBUDGET, p.ZTITLE FROM Z_2PROJECTS j JOIN ZPROJECT p ON p.Z_PK = "
                                   "j.Z_3PROJECTS WHERE j.Z_2EMPLOYEES = ?");
    double check = 0;
    long total = 0;
    for (int i = 0; i < count; i++) {
        sqlite3_bind_int64(select, 1, rows[i].key);
        for (; next_row(select); total++) {
            size_t size;
            keep_column(select, 2, &size);
            check += (double)size;
        }
        sqlite3_reset(select);
    }
    sqlite3_finalize(select);
    measure_end("raw", "W11_lazy", total, check, 0);
}

bool run_rows(const char *workload) {
    if (!strcmp(workload, "W8")) {
        count_rows();
        group_rows();
    } else if (!strcmp(workload, "W11"))
        walk_projects();
    else if (!strcmp(workload, "W11_lazy"))
        ask_for_projects();
    else
        return false;
    return true;
}
