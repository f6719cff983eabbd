#include "accessors.h"

static platform_workers workers;
static uint32_t keys[PLATFORM_ACCESSOR_TYPES][PLATFORM_ACCESSORS];

void platform_accessors_install(platform_workers installed) { workers = installed; }

static inline uint32_t key_at(uint32_t type, uint32_t place) {
    return __atomic_load_n(&keys[type][place], __ATOMIC_RELAXED);
}

/* clang-format would treat a list of macro calls as an expression. */
/* clang-format off */

/* Slots are the octal numbers 0000 to 0177. */
#define EIGHT(F, digits) \
    F(digits##0) F(digits##1) F(digits##2) F(digits##3) F(digits##4) F(digits##5) F(digits##6) F(digits##7)
#define SIXTY_FOUR(F, digits) \
    EIGHT(F, digits##0) EIGHT(F, digits##1) EIGHT(F, digits##2) EIGHT(F, digits##3) \
    EIGHT(F, digits##4) EIGHT(F, digits##5) EIGHT(F, digits##6) EIGHT(F, digits##7)
#define EVERY(F) SIXTY_FOUR(F, 00) SIXTY_FOUR(F, 01)

#define GET(name, T, type, worker, place) \
    static T name##place(const void *object, void *error) { \
        return (T)workers.worker(object, error, key_at(type, place)); \
    }
#define SET(name, T, type, worker, place) \
    static int32_t name##place(void *object, T value, void *error) { \
        return workers.worker(object, value, error, key_at(type, place)); \
    }

#define GET_INT16(place) GET(get_int16_, int16_t, PLATFORM_GET_INT16, integer, place)
#define GET_INT32(place) GET(get_int32_, int32_t, PLATFORM_GET_INT32, integer, place)
#define GET_INT64(place) GET(get_int64_, int64_t, PLATFORM_GET_INT64, integer, place)
#define GET_BOOL(place) GET(get_bool_, bool, PLATFORM_GET_BOOL, integer, place)
#define GET_FLOAT(place) GET(get_float_, float, PLATFORM_GET_FLOAT, real, place)
#define GET_DOUBLE(place) GET(get_double_, double, PLATFORM_GET_DOUBLE, real, place)
#define GET_OBJECT(place) GET(get_object_, void *, PLATFORM_GET_OBJECT, object, place)
#define IS_NULL(place) GET(is_null_, bool, PLATFORM_IS_NULL, is_null, place)
/* GET is not used, because it casts the result, and a struct cannot be cast. */
#define GET_RUN(place) \
    static platform_run get_run_##place(const void *object, void *error) { \
        return workers.run(object, error, key_at(PLATFORM_GET_RUN, place)); \
    }
#define SET_INT16(place) SET(set_int16_, int16_t, PLATFORM_SET_INT16, set_integer, place)
#define SET_INT32(place) SET(set_int32_, int32_t, PLATFORM_SET_INT32, set_integer, place)
#define SET_INT64(place) SET(set_int64_, int64_t, PLATFORM_SET_INT64, set_integer, place)
#define SET_BOOL(place) SET(set_bool_, bool, PLATFORM_SET_BOOL, set_bool, place)
#define SET_FLOAT(place) SET(set_float_, float, PLATFORM_SET_FLOAT, set_real, place)
#define SET_DOUBLE(place) SET(set_double_, double, PLATFORM_SET_DOUBLE, set_real, place)
#define SET_DATE(place) SET(set_date_, double, PLATFORM_SET_DATE, set_date, place)
#define SET_TEXT(place) SET(set_text_, platform_run, PLATFORM_SET_TEXT, set_text, place)
#define SET_BYTES(place) SET(set_bytes_, platform_run, PLATFORM_SET_BYTES, set_bytes, place)
#define SET_OBJECT(place) SET(set_object_, void *, PLATFORM_SET_OBJECT, set_object, place)

EVERY(GET_INT16) EVERY(GET_INT32) EVERY(GET_INT64) EVERY(GET_BOOL) EVERY(GET_FLOAT) EVERY(GET_DOUBLE)
EVERY(GET_RUN) EVERY(GET_OBJECT) EVERY(IS_NULL)
EVERY(SET_INT16) EVERY(SET_INT32) EVERY(SET_INT64) EVERY(SET_BOOL) EVERY(SET_FLOAT) EVERY(SET_DOUBLE)
EVERY(SET_DATE) EVERY(SET_TEXT) EVERY(SET_BYTES) EVERY(SET_OBJECT)

typedef void (*function)(void);

#define NAME_GET_INT16(place) (function) get_int16_##place,
#define NAME_GET_INT32(place) (function) get_int32_##place,
#define NAME_GET_INT64(place) (function) get_int64_##place,
#define NAME_GET_BOOL(place) (function) get_bool_##place,
#define NAME_GET_FLOAT(place) (function) get_float_##place,
#define NAME_GET_DOUBLE(place) (function) get_double_##place,
#define NAME_GET_RUN(place) (function) get_run_##place,
#define NAME_GET_OBJECT(place) (function) get_object_##place,
#define NAME_IS_NULL(place) (function) is_null_##place,
#define NAME_SET_INT16(place) (function) set_int16_##place,
#define NAME_SET_INT32(place) (function) set_int32_##place,
#define NAME_SET_INT64(place) (function) set_int64_##place,
#define NAME_SET_BOOL(place) (function) set_bool_##place,
#define NAME_SET_FLOAT(place) (function) set_float_##place,
#define NAME_SET_DOUBLE(place) (function) set_double_##place,
#define NAME_SET_DATE(place) (function) set_date_##place,
#define NAME_SET_TEXT(place) (function) set_text_##place,
#define NAME_SET_BYTES(place) (function) set_bytes_##place,
#define NAME_SET_OBJECT(place) (function) set_object_##place,

static const function functions[PLATFORM_ACCESSOR_TYPES][PLATFORM_ACCESSORS] = {
    [PLATFORM_GET_INT16] = {EVERY(NAME_GET_INT16)},   [PLATFORM_GET_INT32] = {EVERY(NAME_GET_INT32)},
    [PLATFORM_GET_INT64] = {EVERY(NAME_GET_INT64)},   [PLATFORM_GET_BOOL] = {EVERY(NAME_GET_BOOL)},
    [PLATFORM_GET_FLOAT] = {EVERY(NAME_GET_FLOAT)},   [PLATFORM_GET_DOUBLE] = {EVERY(NAME_GET_DOUBLE)},
    [PLATFORM_GET_RUN] = {EVERY(NAME_GET_RUN)},       [PLATFORM_GET_OBJECT] = {EVERY(NAME_GET_OBJECT)},
    [PLATFORM_IS_NULL] = {EVERY(NAME_IS_NULL)},       [PLATFORM_SET_INT16] = {EVERY(NAME_SET_INT16)},
    [PLATFORM_SET_INT32] = {EVERY(NAME_SET_INT32)},   [PLATFORM_SET_INT64] = {EVERY(NAME_SET_INT64)},
    [PLATFORM_SET_BOOL] = {EVERY(NAME_SET_BOOL)},     [PLATFORM_SET_FLOAT] = {EVERY(NAME_SET_FLOAT)},
    [PLATFORM_SET_DOUBLE] = {EVERY(NAME_SET_DOUBLE)}, [PLATFORM_SET_DATE] = {EVERY(NAME_SET_DATE)},
    [PLATFORM_SET_TEXT] = {EVERY(NAME_SET_TEXT)},     [PLATFORM_SET_BYTES] = {EVERY(NAME_SET_BYTES)},
    [PLATFORM_SET_OBJECT] = {EVERY(NAME_SET_OBJECT)},
};

/* clang-format on */

void (*platform_accessor(uint32_t type, uint32_t place))(void) { return functions[type][place]; }

void platform_accessor_set_key(uint32_t type, uint32_t place, uint32_t key) {
    __atomic_store_n(&keys[type][place], key, __ATOMIC_RELAXED);
}
