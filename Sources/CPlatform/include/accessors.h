/* Accessors that were compiled ahead.
 *
 * A C function that knows which property it reads or sets is a closure, which C has not. libffi makes such functions at run
 * time, but a call of one with two arguments takes 13 ns before any work is done, where cst_object_get takes 5 with all its
 * work. So of each of the commonest types PLATFORM_ACCESSORS functions are there from the start, each with a place of its own
 * for the key of its property; libffi serves what is rarer, and what is left when all places are taken. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The shape of cst_string and cst_bytes. */
typedef struct platform_run {
    const void *data;
    size_t size;
} platform_run;

enum { PLATFORM_ACCESSORS = 128 };

/* Getters by the type of what they return, T (*)(const cst_object *, cst_error **); then setters by the type of what they
 * take, cst_status (*)(cst_object *, T, cst_error **). */
enum {
    PLATFORM_GET_INT16,
    PLATFORM_GET_INT32,
    PLATFORM_GET_INT64,
    PLATFORM_GET_BOOL,
    PLATFORM_GET_FLOAT,
    PLATFORM_GET_DOUBLE, /* dates too */
    PLATFORM_GET_RUN,
    PLATFORM_GET_OBJECT,
    PLATFORM_IS_NULL,
    PLATFORM_SET_INT16,
    PLATFORM_SET_INT32,
    PLATFORM_SET_INT64,
    PLATFORM_SET_BOOL,
    PLATFORM_SET_FLOAT,
    PLATFORM_SET_DOUBLE,
    PLATFORM_SET_DATE,
    PLATFORM_SET_TEXT,
    PLATFORM_SET_BYTES,
    PLATFORM_SET_OBJECT,
    PLATFORM_ACCESSOR_TYPES
};

/* Who does the work, for a handle, with the caller's place for an error, and the key. */
typedef struct platform_workers {
    int64_t (*integer)(const void *object, void *error, uint32_t key);
    double (*real)(const void *object, void *error, uint32_t key);
    platform_run (*run)(const void *object, void *error, uint32_t key);
    void *(*object)(const void *object, void *error, uint32_t key);
    bool (*is_null)(const void *object, void *error, uint32_t key);
    int32_t (*set_integer)(void *object, int64_t value, void *error, uint32_t key);
    int32_t (*set_bool)(void *object, bool value, void *error, uint32_t key);
    int32_t (*set_real)(void *object, double value, void *error, uint32_t key);
    int32_t (*set_date)(void *object, double value, void *error, uint32_t key);
    int32_t (*set_text)(void *object, platform_run value, void *error, uint32_t key);
    int32_t (*set_bytes)(void *object, platform_run value, void *error, uint32_t key);
    int32_t (*set_object)(void *object, void *value, void *error, uint32_t key);
} platform_workers;

/* Before the first function is called. */
void platform_accessors_install(platform_workers workers);

/* The function of a place. */
void (*platform_accessor(uint32_t type, uint32_t place))(void);

/* Whose property it serves from now on. */
void platform_accessor_set_key(uint32_t type, uint32_t place, uint32_t key);
