/* Inserts 100,000 employees with one batch request of columns. The columns are filled before the clock starts, like the
 * rows of the raw program. */
#include "batch.h"

#include "company.h"
#include "measure.h"

void insert_batch(const host *with, const char *data) {
    static cst_string names[EMPLOYEES], emails[EMPLOYEES];
    static int32_t ages[EMPLOYEES];
    static int64_t actives[EMPLOYEES];
    static double salaries[EMPLOYEES], hired[EMPLOYEES];
    company *all = company_load(data);
    for (int i = 0; i < EMPLOYEES; i++) {
        const employee *one = &all->employees[i];
        names[i] = (cst_string){one->name, one->name_size};
        emails[i] = (cst_string){one->email, one->email_size};
        ages[i] = one->age;
        actives[i] = one->active;
        salaries[i] = one->salary;
        hired[i] = one->hired;
    }
    const cst_batch_column columns[] = {
        {with->name, CST_COLUMN_STRING, names, NULL},      {with->email, CST_COLUMN_STRING, emails, NULL},
        {with->age, CST_COLUMN_INT32, ages, NULL},         {with->active, CST_COLUMN_INT64, actives, NULL},
        {with->salary, CST_COLUMN_DOUBLE, salaries, NULL}, {with->hired, CST_COLUMN_DOUBLE, hired, NULL},
    };

    measure_begin();
    cst_batch_request *request;
    uint64_t count = 0;
    MUST(cst_batch_insert_new(with->employee, &request, &host_error));
    MUST(cst_batch_insert_set_columns(request, EMPLOYEES, sizeof columns / sizeof *columns, columns, &host_error));
    MUST(cst_context_execute_batch(with->context, request, &count, NULL, &host_error));
    cst_release(request);
    measure_end("corestone", "batch_insert", EMPLOYEES, (double)count, 0);
}
