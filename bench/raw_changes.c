/* Changes, deletes and saves employees that were loaded before the clock starts, in a copy of the store, with the
 * optimistic locking of Core Data's stores. */
#include "raw.h"

#include <string.h>

#include "company.h"
#include "measure.h"

static sqlite3_stmt *update, *delete_links, *delete_row;

static void prepare_changes(void) {
    update = prepare("UPDATE ZEMPLOYEE SET Z_OPT = ?, ZSALARY = ? WHERE Z_PK = ? AND Z_OPT = ?");
    delete_links = prepare("DELETE FROM Z_2PROJECTS WHERE Z_2EMPLOYEES = ?");
    delete_row = prepare("DELETE FROM ZEMPLOYEE WHERE Z_PK = ? AND Z_OPT = ?");
}

static void finish_changes(void) {
    sqlite3_finalize(update);
    sqlite3_finalize(delete_links);
    sqlite3_finalize(delete_row);
}

static void one_row(sqlite3_stmt *statement) {
    step(statement);
    if (sqlite3_changes(database) != 1) fail("conflict");
}

static void raise_salary(row *one) {
    one->salary = company_raised(one->salary);
    sqlite3_bind_int(update, 1, one->version + 1);
    sqlite3_bind_double(update, 2, one->salary);
    sqlite3_bind_int64(update, 3, one->key);
    sqlite3_bind_int(update, 4, one->version);
    one_row(update);
    one->version++;
}

static void dismiss(const row *one) {
    sqlite3_bind_int64(delete_links, 1, one->key);
    step(delete_links);
    sqlite3_bind_int64(delete_row, 1, one->key);
    sqlite3_bind_int(delete_row, 2, one->version);
    one_row(delete_row);
}

static void hire(sqlite3_stmt *insert, int64_t key, const row *like) {
    sqlite3_bind_int64(insert, 1, key);
    sqlite3_bind_int(insert, 2, like->active);
    sqlite3_bind_int(insert, 3, like->age);
    sqlite3_bind_int64(insert, 4, like->department);
    sqlite3_bind_double(insert, 5, like->hired);
    sqlite3_bind_double(insert, 6, like->salary);
    bind_text(insert, 7, like->email, like->email_size);
    bind_text(insert, 8, like->name, like->name_size);
    step(insert);
}

static double sum_of_salaries(void) {
    sqlite3_stmt *select = prepare("SELECT TOTAL(ZSALARY) + COUNT(*) FROM ZEMPLOYEE");
    if (!next_row(select)) fail("the sum does not have a row");
    double sum = sqlite3_column_double(select, 0);
    sqlite3_finalize(select);
    return sum;
}

bool change(const char *workload, const char *path) {
    const bool raises = !strcmp(workload, "W6"), deletes = !strcmp(workload, "W7");
    const bool mixed = !strcmp(workload, "save_mixed");
    if (!raises && !deletes && !mixed) return false;
    char copy[4200];
    company_copy_store(path, workload, copy, sizeof copy);
    open_store(copy, false);
    int count;
    row *rows = read_employees("", &count);

    measure_begin();
    run("BEGIN IMMEDIATE");
    prepare_changes();
    long changes = 0;
    if (mixed) {
        sqlite3_stmt *insert = prepare(
            "INSERT INTO ZEMPLOYEE (Z_PK, Z_ENT, Z_OPT, ZACTIVE, ZAGE, ZDEPARTMENT, ZHIREDATE, ZSALARY, ZEMAIL, ZNAME)"
            " VALUES (?, 2, 1, ?, ?, ?, ?, ?, ?, ?)");
        for (int i = 0, key = count; i < count; i++, changes += company_mixed_change(i) != MIXED_NONE)
            switch (company_mixed_change(i)) {
            case MIXED_RAISE:
                raise_salary(&rows[i]);
                break;
            case MIXED_DISMISS:
                dismiss(&rows[i]);
                break;
            case MIXED_HIRE:
                hire(insert, ++key, &rows[i]);
                break;
            case MIXED_NONE:
                break;
            }
        sqlite3_finalize(insert);
    } else {
        for (int i = 3; i < count; i += 10, changes++)
            if (raises)
                raise_salary(&rows[i]);
            else
                dismiss(&rows[i]);
    }
    finish_changes();
    run("COMMIT");
    measure_stop();
    measure_report("raw", workload, changes, sum_of_salaries(), 0);
    if (sqlite3_close(database) != SQLITE_OK) fail(copy);
    return true;
}
