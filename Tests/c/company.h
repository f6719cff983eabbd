/* The model that most tests use, and shorthands for its values.
 *
 * The model is Tests/support/company.json with a fetched property and templates. The tests of the C boundary use these
 * parts of it:
 *
 * Person (abstract): name String required, indexed
 *   Employee: every attribute type; department, manager/reports, friends (its own inverse), reviews (deny)
 * Department: name; employees
 * Project: title; reviewers (ordered, many-to-many with Employee.reviews), tasks (ordered, cascade)
 * Task: title; project; watcher (to-one Employee, no inverse, no action)
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef COMPANY_H
#define COMPANY_H

#include "check.h"

struct company {
    cst_model *model;
    cst_coordinator *coordinator;
    cst_store *store;
    cst_context *context;
    cst_entity *person, *employee, *department, *project, *task;
    cst_key name, /* Person.name, valid for Employee too */
        level, floor, number, salary, rating, factor, notes, active, hired, photo, badge, site, blob, scratch;
    cst_key to_department, manager, reports, friends, reviews;
    cst_key department_name, employees;
    cst_key title, reviewers, tasks;
    cst_key task_title, to_project, watcher;
};

/* The model alone, not yet frozen. Owned by the caller. */
cst_model *company_model(void);
/* Model, a store at the path (NORMAL_SYNC), a caller-confined context, keys. */
struct company company_open(const char *path);
/* The same with options of the caller's choice. */
struct company company_open_with(const char *path, const cst_store_options *options);
void company_close(struct company *company);
/* Resolves entities and keys of company->model. */
void company_resolve(struct company *company);
/* One more context on the coordinator, owned by the caller. */
cst_context *company_context(const struct company *company, cst_queue queue);

/* A request for the employees by number; owned by the caller. */
cst_fetch_request *company_by_number(const struct company *company);
/* Inserts an employee with a name and a number; owned by the caller. */
cst_object *company_employee(const struct company *company, cst_context *context, const char *name, int64_t number);
cst_object *company_insert(const struct company *company, cst_context *context, const cst_entity *entity, cst_key key,
                           const char *name);
/* Fetches by a predicate without arguments (NULL: all), sorted by a key path (NULL: unsorted). Owned by the caller. */
cst_results *company_fetch(cst_context *context, const cst_entity *entity, const char *predicate, const char *sort);
uint64_t company_count(cst_context *context, const cst_entity *entity, const char *predicate);

cst_value value_null(void);
cst_value value_bool(bool boolean);
cst_value value_int(int64_t integer);
cst_value value_real(double real);
cst_value value_date(double seconds);
cst_value value_text(const char *string);
cst_value value_bytes(const void *data, size_t size);
/* A keyed archive of {"a": [1, a date 2.5 seconds after 2001]}. */
cst_bytes check_archive(void);
cst_value value_uuid(const uint8_t bytes[16]);
cst_value value_uri(const char *string);
cst_value value_object(cst_object *object);
cst_value value_decimal(uint64_t mantissa, int exponent, bool negative);

/* Shorthands that end the test on a failure. */
void set(cst_object *object, cst_key key, cst_value value);
cst_value get(const cst_object *object, cst_key key);
cst_string get_text(const cst_object *object, cst_key key);
int64_t get_int(const cst_object *object, cst_key key);
cst_object *object_at(const cst_results *results, size_t index);
size_t member_count(const cst_object *object, cst_key key);
uint32_t state(const cst_object *object);
bool has_changes(const cst_context *context);
void save(cst_context *context);

#endif
