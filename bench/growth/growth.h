/* The data and the functions that all operations of the growth suite share. */
#ifndef GROWTH_H
#define GROWTH_H

#include <stdbool.h>

#include "../host.h"
#include "../measure.h"

/* The number of repetitions of operations whose cost should not depend on the number of objects. */
enum { REPEATS = 200 };
/* The number of employees of a department. */
enum { DEPARTMENT_SIZE = 100 };
/* The number of attributes of an employee. */
enum { ATTRIBUTES = 6 };

/* A store with `count` employees, opened for one operation. All employees are members of one pool and one ordered list;
 * DEPARTMENT_SIZE of them form a department. */
typedef struct growth {
    long count;
    const char *path;
    cst_model *model;
    cst_coordinator *coordinator;
    cst_store *store;
    cst_context *context;
    cst_entity *employee, *department, *pool, *list, *badge; /* borrowed from the model */
    cst_key name, email, age, salary, hired, active, in_department, in_pool, in_list;
    cst_key department_name, employees, members, entries, code, owner;
    cst_results *all;     /* after growth_load */
    cst_object **objects; /* of `all`, borrowed */
} growth;

/* The state of the store in which an operation begins. */
enum {
    GROWTH_WRITES = 1, /* the operation changes the store, so it needs a copy */
    GROWTH_EMPTY = 2,  /* a new store without objects */
    GROWTH_LOADED = 4, /* all employees are in the context, with their values */
    GROWTH_HISTORY = 8 /* the store has a history */
};

/* Runs an operation. It calls measure_begin and measure_stop around the timed part, and returns the number of units:
 * objects, or repetitions where the cost of one should not depend on the number of objects. */
typedef long (*growth_run)(growth *of);

typedef struct growth_operation {
    const char *name;
    unsigned state;
    growth_run run;
} growth_operation;

/* The operations of each file, terminated by an entry without a name. */
extern const growth_operation object_operations[], relationship_operations[], context_operations[], nested_operations[],
    fetch_operations[], list_operations[], store_operations[], arrow_operations[];

/* Exits with a message unless `condition` holds. */
#define EXPECT(condition)                                                                                              \
    do {                                                                                                               \
        if (!(condition)) growth_fail(#condition, __FILE__, __LINE__);                                                 \
    } while (0)
_Noreturn void growth_fail(const char *condition, const char *file, int line);

/* Opens the store at `path` in another coordinator and context, with the model of `of`. The caller releases them. */
void growth_open(growth *of, const char *type, const char *path, uint32_t flags);
/* Fetches all employees into of->all, and reads a value of each. */
void growth_load(growth *of);
/* Does the same in any context. The caller releases the results. */
cst_results *growth_load_in(const growth *of, cst_context *context);

cst_fetch_request *growth_request(const cst_entity *entity);
/* Sets the predicate. `argument` may be NULL. */
void growth_set_predicate(cst_fetch_request *request, const char *format, const cst_value *argument);
void growth_sort(cst_fetch_request *request, const char *key_path);
/* Fetches a request, and checks that it has `count` results unless `count` is below 0. */
cst_results *growth_fetch(cst_context *context, const cst_fetch_request *request, long count);
cst_object *growth_at(const cst_results *results, long index);
/* Returns the only object of an entity in the store. */
cst_object *growth_only(const growth *of, const cst_entity *entity);
/* Creates the ID of the nth employee, from 0. */
cst_object_id *growth_id(const growth *of, long number);

/* Inserts an employee with its attributes, without relationships. The caller releases it. */
cst_object *growth_insert(const growth *of, cst_context *context, long number);
/* Fills a row of ATTRIBUTES values. Texts are written into `text`, which has room for 96 bytes. */
void growth_values(long number, char *text, cst_value *out_values);
/* Returns the keys of the values of growth_values. */
void growth_keys(const growth *of, cst_key *out_keys);
void growth_insert_all(const growth *of, cst_context *context);
/* Inserts a badge with a unique code for each employee. */
void growth_insert_badges(const growth *of, cst_context *context);
/* Sets another salary. */
void growth_change(const growth *of, cst_object *object, long number);
/* Changes the salary of each loaded employee. */
void growth_change_all(const growth *of);
double growth_salary(const growth *of, const cst_object *object);
void growth_save(cst_context *context);
void growth_process(cst_context *context);

#endif
