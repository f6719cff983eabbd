/* Measures the nanoseconds of cst_object_get, cst_object_set and accessors, on 1,000 objects with values in memory.
 *
 *   getter DATA STORE [MILLIONS]       STORE: created by `corestone W1`; MILLIONS: of calls per line, by default 10
 *
 * `call` is the lower bound: a call into the library that does nothing. */
#include <stdio.h>
#include <stdlib.h>

#include "company.h"
#include "host.h"
#include "measure.h"

enum { OBJECTS = 1000 };

static cst_object *objects[OBJECTS];
static long repetitions;

static void time_get(const char *name, cst_key key) {
    cst_value value = {0};
    measure_begin();
    for (long i = 0; i < repetitions; i++)
        for (int j = 0; j < OBJECTS; j++)
            MUST(cst_object_get(objects[j], key, &value, &host_error));
    measure_sink = value.as.integer;
    measure_end("corestone", name, repetitions * OBJECTS, 0, 0);
}

/* Returns the C function of a property's accessor, for the measurements of the same calls with accessors. */
static cst_function accessor(const host *with, const char *property, uint32_t kind) {
    cst_function function = NULL;
    MUST(cst_entity_accessor(with->employee, host_text(property), kind, &function, &host_error));
    return function;
}

/* Times `call`, an expression with `object`. `integer` converts the last result, `value`, to an integer. */
#define TIME_ACCESSOR(name, type, call, integer)                                                                       \
    do {                                                                                                               \
        type value = (type){0};                                                                                        \
        measure_begin();                                                                                               \
        for (long i = 0; i < repetitions; i++)                                                                         \
            for (int j = 0; j < OBJECTS; j++) {                                                                        \
                cst_object *object = objects[j];                                                                       \
                value = call;                                                                                          \
                if (host_error != NULL) host_fail(name, __FILE__, __LINE__);                                           \
            }                                                                                                          \
        measure_sink = (long)(integer);                                                                                \
        measure_end("corestone", "accessor_" name, repetitions * OBJECTS, 0, 0);                                       \
    } while (0)

static void time_accessors(const host *with) {
    typedef int32_t (*integer_fn)(const cst_object *, cst_error **);
    typedef double (*real_fn)(const cst_object *, cst_error **);
    typedef cst_string (*text_fn)(const cst_object *, cst_error **);
    typedef cst_object *(*object_fn)(const cst_object *, cst_error **);
    typedef bool (*test_fn)(const cst_object *, cst_error **);
    typedef size_t (*count_fn)(const cst_object *, cst_error **);
    integer_fn age = (integer_fn)accessor(with, "age", CST_ACCESSOR_GET);
    real_fn salary = (real_fn)accessor(with, "salary", CST_ACCESSOR_GET);
    text_fn name = (text_fn)accessor(with, "name", CST_ACCESSOR_GET);
    object_fn department = (object_fn)accessor(with, "department", CST_ACCESSOR_GET);
    test_fn has_no_age = (test_fn)accessor(with, "age", CST_ACCESSOR_IS_NULL);
    TIME_ACCESSOR("integer", int32_t, age(object, &host_error), value);
    TIME_ACCESSOR("double", double, salary(object, &host_error), value);
    TIME_ACCESSOR("text", cst_string, name(object, &host_error), value.size);
    TIME_ACCESSOR("to_one", cst_object *, department(object, &host_error), (intptr_t)value);
    count_fn count = (count_fn)accessor(with, "projects", CST_ACCESSOR_COUNT);
    TIME_ACCESSOR("is_null", bool, has_no_age(object, &host_error), value);
    TIME_ACCESSOR("count", size_t, count(object, &host_error), value);
}

static void time_set_accessor(const host *with) {
    typedef cst_status (*set_fn)(cst_object *, int32_t, cst_error **);
    set_fn set_age = (set_fn)accessor(with, "age", CST_ACCESSOR_SET);
    TIME_ACCESSOR("set_integer", cst_status, set_age(object, (int32_t)(41 + i % 2), &host_error), value);
}

static void time_count(const char *name, cst_key key) {
    size_t members = 0;
    measure_begin();
    for (long i = 0; i < repetitions; i++)
        for (int j = 0; j < OBJECTS; j++)
            MUST(cst_object_member_count(objects[j], key, &members, &host_error));
    measure_sink = (long)members;
    measure_end("corestone", name, repetitions * OBJECTS, 0, 0);
}

static void time_set(const char *name, cst_key key, cst_value even, cst_value odd) {
    measure_begin();
    for (long i = 0; i < repetitions; i++) {
        const cst_value *value = i % 2 ? &odd : &even;
        for (int j = 0; j < OBJECTS; j++)
            MUST(cst_object_set(objects[j], key, value, &host_error));
    }
    measure_end("corestone", name, repetitions * OBJECTS, 0, 0);
}

int main(int count, char **arguments) {
    if (count < 3) {
        fprintf(stderr, "usage: getter DATA STORE [MILLIONS]\n");
        return 2;
    }
    repetitions = (count > 3 ? strtol(arguments[3], NULL, 10) : 10) * (1000000 / BENCH_SCALE) / OBJECTS;
    host with;
    host_open(&with, arguments[2], CST_STORE_NORMAL_SYNC | CST_STORE_MUST_EXIST);
    cst_fetch_request *request = host_all_employees(&with);
    MUST(cst_fetch_request_set_limit(request, OBJECTS, &host_error));
    cst_results *results;
    size_t got = 0;
    MUST(cst_context_fetch(with.context, request, &results, &host_error));
    MUST(cst_results_get_objects(results, 0, OBJECTS, objects, &got, &host_error));
    if (got != OBJECTS) {
        fprintf(stderr, "getter: %s has fewer than %d employees\n", arguments[2], OBJECTS);
        return 1;
    }
    measure_begin();
    for (long i = 0; i < repetitions * OBJECTS; i++)
        cst_version(NULL, NULL, NULL);
    measure_end("corestone", "call", repetitions * OBJECTS, 0, 0);
    time_get("get_integer", with.age);
    time_get("get_double", with.salary);
    time_get("get_text", with.name);
    time_get("get_to_one", with.department_key);
    time_count("member_count", with.projects);
    time_accessors(&with);
    time_set("set_integer", with.age, (cst_value){.type = CST_INT, .as.integer = 41},
             (cst_value){.type = CST_INT, .as.integer = 42});
    time_set("set_double", with.salary, (cst_value){.type = CST_DOUBLE, .as.real = 41.5},
             (cst_value){.type = CST_DOUBLE, .as.real = 42.5});
    time_set("set_text", with.name, (cst_value){.type = CST_STRING, .as.string = {"Ada Lovelace", 12}},
             (cst_value){.type = CST_STRING, .as.string = {"Grace Hopper", 12}});
    time_set_accessor(&with);
    time_get("get_changed", with.age);
    MUST(cst_context_rollback(with.context, &host_error));
    cst_release(results);
    cst_release(request);
    cst_release(with.context);
    return 0;
}
