/* The data set of the benchmarks in memory, read from the files of generate.py. */
#ifndef COMPANY_H
#define COMPANY_H

#include <stddef.h>
#include <stdint.h>

/* Divides the number of objects and of repetitions. budgets.py counts instructions of programs with 50. */
#ifndef BENCH_SCALE
#define BENCH_SCALE 1
#endif

enum { DEPARTMENTS = 100 / BENCH_SCALE, PROJECTS = 1000 / BENCH_SCALE, EMPLOYEES = 100000 / BENCH_SCALE };
enum { MOST_LINKS = 5 * EMPLOYEES };
/* For W4, for W4_any and W4_subquery, for W8, and for W11. */
enum { QUERY_REPETITIONS = 1000 / BENCH_SCALE, FEWER_REPETITIONS = 200 / BENCH_SCALE };
enum { COUNT_REPETITIONS = 20, WALKED_EMPLOYEES = 10000 / BENCH_SCALE };

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

/* Indexes start at 0, and keys in the files at 1: the department with key 1 is departments[0]. */
typedef struct company {
    group departments[DEPARTMENTS], projects[PROJECTS];
    employee *employees; /* EMPLOYEES of them */
    assignment *links;   /* ascending by employee, then project */
    size_t link_count;
} company;

/* Reads the files of `directory`, except the shuffled keys. Exits with a message if a file is missing or too short. */
company *company_load(const char *directory);
/* Reads the shuffled employee keys. */
int32_t *company_load_keys(const char *directory);
/* Writes the name of the department for the nth of the repeated queries (W4), at most 32 bytes. Returns its size. */
size_t company_query_name(int repetition, char *out_name);

/* The change that save_mixed makes to the nth employee, 10,000 in all. MIXED_HIRE inserts a copy of the employee. */
typedef enum mixed_change { MIXED_NONE, MIXED_RAISE, MIXED_DISMISS, MIXED_HIRE } mixed_change;
mixed_change company_mixed_change(int index);
/* Returns the salary after a raise. */
double company_raised(double salary);
/* Copies a store to "PATH-WORKLOAD" and writes that path to out_path. The store must not be open in any program. */
void company_copy_store(const char *path, const char *workload, char *out_path, size_t size);

#endif
