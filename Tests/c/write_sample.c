/* Writes the store that sqlite_shell.sh reads with the plain sqlite3 shell.
 *
 * usage: write_sample PATH
 * SPDX-License-Identifier: MIT
 */
#include "company.h"

#include <stdio.h>

static const char *path;

static void write_sample(void) {
    static const uint8_t uuid[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 255};
    struct company c = company_open(path);
    cst_object *rnd = company_insert(&c, c.context, c.department, c.department_name, "R&D");
    cst_object *ada = company_employee(&c, c.context, "Ada", 9007199254740993),
               *bob = company_employee(&c, c.context, "Bob", 2);
    cst_object *gone = company_employee(&c, c.context, "Gone", 3);
    cst_object *p = company_insert(&c, c.context, c.project, c.title, "P");
    cst_object *q = company_insert(&c, c.context, c.project, c.title, "Q");
    cst_object *tasks[3];
    static const char *const titles[] = {"third", "first", "second"};
    for (int i = 0; i < 3; i++)
        tasks[i] = company_insert(&c, c.context, c.task, c.task_title, titles[i]);

    set(ada, c.level, value_int(-7));
    set(ada, c.floor, value_int(100000));
    set(ada, c.active, value_bool(true));
    set(ada, c.rating, value_real(0.1));
    set(ada, c.factor, value_real(0.5));
    set(ada, c.hired, value_date(730900800.25)); /* 2024-02-29 12:00:00.25 UTC */
    set(ada, c.salary, value_decimal(123450, -2, false));
    set(ada, c.notes, value_text("Zoë said 'hello'"));
    set(ada, c.badge, value_uuid(uuid));
    set(ada, c.site, value_uri("https://example.org/a?b=c"));
    set(ada, c.photo, value_bytes("\xde\xad\0\xbe\xef", 5));
    set(ada, c.blob, value_bytes("raw", 3));
    set(ada, c.scratch, value_text("never stored"));
    set(bob, c.active, value_bool(false));
    set(bob, c.hired, value_date(-1));
    set(ada, c.to_department, value_object(rnd));
    set(bob, c.manager, value_object(ada));
    OK(cst_object_add_member(ada, c.friends, bob, E));
    cst_object *members[] = {bob, ada}, *ordered[] = {tasks[1], tasks[2], tasks[0]};
    OK(cst_object_set_members(p, c.reviewers, 2, members, E));
    OK(cst_object_add_member(q, c.reviewers, ada, E));
    OK(cst_object_set_members(p, c.tasks, 3, ordered, E));
    set(tasks[0], c.watcher, value_object(bob));
    save(c.context);
    for (int i = 0; i < 2; i++) { /* two updates: Z_OPT 3 */
        set(bob, c.number, value_int(20 + i));
        save(c.context);
    }
    OK(cst_context_delete(c.context, gone, E));
    save(c.context);
    for (int i = 0; i < 3; i++)
        OK(cst_release(tasks[i]));
    OK(cst_release(rnd));
    OK(cst_release(ada));
    OK(cst_release(bob));
    OK(cst_release(gone));
    OK(cst_release(p));
    OK(cst_release(q));
    company_close(&c);
}

int main(int argc, char **argv) {
    check_begin(1, argv);
    if (argc != 2) {
        fprintf(stderr, "usage: write_sample PATH\n");
        return 2;
    }
    path = argv[1];
    RUN(write_sample);
    return check_end();
}
