/* Functions for every benchmark program that uses the C ABI: the company's model built in code, a store, a context. */
#ifndef HOST_H
#define HOST_H

#include <corestone.h>

typedef struct host {
    cst_model *model;
    cst_entity *department, *project, *employee; /* borrowed from the model */
    cst_coordinator *coordinator;
    cst_store *store;
    cst_context *context;
    cst_key department_name, department_budget, department_employees;
    cst_key project_title, project_budget, project_employees;
    cst_key name, email, age, salary, hired, active, department_key, projects; /* of Employee */
} host;

/* The error of the call that failed. Calls on the main thread pass its address as their last argument. */
extern cst_error *host_error;
/* Exits with the error's description if `call` fails. */
#define MUST(call)                                                                                                     \
    do {                                                                                                               \
        if ((call) != CST_OK) host_fail(#call, __FILE__, __LINE__);                                                    \
    } while (0)
_Noreturn void host_fail(const char *call, const char *file, int line);

cst_string host_text(const char *text);

/* Opens or creates the store at `path`; flags are CST_STORE_…. The page cache is 32 MB, as in the raw program. */
void host_open(host *into, const char *path, uint32_t flags);
/* Does the same with a store of any type. For types other than "SQLite", flags and cache are ignored. */
void host_open_type(host *into, const char *type, const char *path, uint32_t flags);
/* Removes a store's files. */
void host_remove(const char *path);
/* Creates a request for all employees. The caller releases it. */
cst_fetch_request *host_all_employees(const host *from);

#endif
