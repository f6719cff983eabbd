/* The benchmark's data set in memory: what generate.py wrote. */
#ifndef COMPANY_H
#define COMPANY_H

#include <stddef.h>
#include <stdint.h>

enum { DEPARTMENTS = 100, PROJECTS = 1000, EMPLOYEES = 100000, MOST_LINKS = 5 * EMPLOYEES };
/* Of W8 and W11. */
enum { COUNT_REPETITIONS = 20, WALKED_EMPLOYEES = 10000 };

typedef struct group { /* a department or a project */
    const char *name;
    size_t name_size;
    double budget;
} group;

typedef struct employee {
    const char *name, *email;
    size_t name_size, email_size;
    int32_t age, active, department; /* department: key, from 1 */
    double salary, hired;
} employee;

typedef struct assignment {
    int32_t employee, project; /* keys, from 1 */
} assignment;

/* Everything counts from 0 here and from 1 in the files: the department with key 1 is departments[0]. */
typedef struct company {
    group departments[DEPARTMENTS], projects[PROJECTS];
    employee *employees; /* EMPLOYEES of them */
    assignment *links;   /* ascending by employee, then project */
    size_t link_count;
} company;

/* Reads the five files of `directory`; ends the program with a message when one is missing or short. */
company *company_load(const char *directory);
/* Reads the shuffled employee keys. */
int32_t *company_load_keys(const char *directory);
/* The department that the nth of the repeated queries (W4) asks for. Writes at most 32 bytes. */
size_t company_query_name(int repetition, char *out_name);

/* What save_mixed does with the nth employee: 10,000 changes in all. MIXED_HIRE: a new one with the same values. */
typedef enum mixed_change { MIXED_NONE, MIXED_RAISE, MIXED_DISMISS, MIXED_HIRE } mixed_change;
mixed_change company_mixed_change(int index);
/* The salary after a raise. */
double company_raised(double salary);
/* Copies a store that no program has open to "PATH-WORKLOAD", which it writes to out_path. */
void company_copy_store(const char *path, const char *workload, char *out_path, size_t size);

#endif
