/* Precompiled property accessors.
 *
 * A C function for one particular property would have to be a closure, which C does not support. libffi creates such
 * functions at run time, but their calls are slow: the overhead with two arguments is 13 ns, while a whole call of
 * cst_object_get takes 5 ns. There are therefore PLATFORM_ACCESSORS precompiled functions for each of the most frequent
 * types, and each function has a slot for the key of its property. libffi is used for rare types, and when all slots
 * are used. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An address and a size, with the layout of cst_string and cst_bytes. */
typedef struct platform_run {
    const void *data;
    size_t size;
} platform_run;

enum { PLATFORM_ACCESSORS = 128 };

/* Types of accessors: getters by their result type T, then setters by their value type T.
 *
 * A getter is T (*)(const cst_object *, cst_error **), a setter cst_status (*)(cst_object *, T, cst_error **). */
enum {
    PLATFORM_GET_INT16,
    PLATFORM_GET_INT32,
    PLATFORM_GET_INT64,
    PLATFORM_GET_BOOL,
    PLATFORM_GET_FLOAT,
    PLATFORM_GET_DOUBLE, /* also for dates */
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

/* The functions that accessors call. Their arguments are the object's handle, for setters the value, the caller's
 * pointer for an error, and the property key. */
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

/* Sets the functions that accessors call. Must be called before the first accessor. */
void platform_accessors_install(platform_workers workers);

/* Returns the accessor of a slot. */
void (*platform_accessor(uint32_t type, uint32_t place))(void);

/* Sets the property key of a slot. */
void platform_accessor_set_key(uint32_t type, uint32_t place, uint32_t key);
