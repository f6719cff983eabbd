/* corestone/inline.h: constructors of strings and values.
 *
 * Calls receive text as cst_string and values as cst_value. CST_TEXT creates a string from a literal, cst_string_from
 * creates one from NUL-terminated text, and each cst_value_… function creates a value of one cst_type:
 *
 *     const cst_value person[] = {cst_value_string(CST_TEXT("Ada")), cst_value_int(36)};
 *
 * These functions are compiled into the program; the library does not export them. They cannot fail. The result does
 * not own memory: it is valid as long as the text, bytes, array or handle to which it refers, and need not be freed
 * with cst_value_dispose. Any thread may call them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_INLINE_H
#define CORESTONE_INLINE_H

#include "types.h"
#include "value.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Creates the cst_string of a string literal, in calls, assignments and initialisers: CST_TEXT("name"). Its size is
 * that of the literal, which is known at compile time and includes NULs within the literal. An argument that is not a
 * literal is a compile error. */
#ifdef __cplusplus
#define CST_TEXT(literal) (cst_string{"" literal, sizeof(literal) - 1})
#else
#define CST_TEXT(literal) ((cst_string){"" literal, sizeof(literal) - 1})
#endif
/* The initialiser of a cst_string from a literal, where strict C requires constants.
 *
 * Use it for static variables and for variables outside functions: static const cst_string paths[] =
 * {CST_TEXT_INIT("name"), CST_TEXT_INIT("department.name")}; */
#define CST_TEXT_INIT(literal) {"" literal, sizeof(literal) - 1}

/* Returns the cst_string of NUL-terminated text, or a null string for NULL. The text must outlive the cst_string. */
static inline cst_string cst_string_from(const char *text) {
    cst_string string;
    string.data = text;
    string.size = text == NULL ? 0 : CST_NUL;
    return string;
}

/* Returns the null value. */
static inline cst_value cst_value_null(void) {
    cst_value value;
    value.type = CST_NULL;
    value.aux = 0;
    value.as.decimal.mantissa[0] = 0;
    value.as.decimal.mantissa[1] = 0;
    return value;
}

/* Returns a boolean. */
static inline cst_value cst_value_bool(bool boolean) {
    cst_value value = cst_value_null();
    value.type = CST_BOOL;
    value.as.boolean = boolean;
    return value;
}

/* Returns an integer, for integer attributes of every width. */
static inline cst_value cst_value_int(int64_t integer) {
    cst_value value = cst_value_null();
    value.type = CST_INT;
    value.as.integer = integer;
    return value;
}

/* Returns a floating-point number, for float and double attributes. */
static inline cst_value cst_value_double(double real) {
    cst_value value = cst_value_null();
    value.type = CST_DOUBLE;
    value.as.real = real;
    return value;
}

/* Returns the decimal number mantissa * 10^exponent: cst_value_decimal(1999, -2) is 19.99. `exponent` is between -128
 * and 127. */
static inline cst_value cst_value_decimal(int64_t mantissa, int exponent) {
    cst_value value = cst_value_null();
    value.type = CST_DECIMAL;
    value.aux = CST_DECIMAL_AUX(mantissa < 0, exponent);
    value.as.decimal.mantissa[0] = mantissa < 0 ? 0 - (uint64_t)mantissa : (uint64_t)mantissa;
    return value;
}

/* Returns a decimal number whose mantissa needs more than 64 bits: (high * 2^64 + low) * 10^exponent, or its negative.
 * The mantissa must be below 10^38. `exponent` is -128 to 127. */
static inline cst_value cst_value_decimal_wide(bool negative, uint64_t high, uint64_t low, int exponent) {
    cst_value value = cst_value_null();
    value.type = CST_DECIMAL;
    value.aux = CST_DECIMAL_AUX(negative, exponent);
    value.as.decimal.mantissa[0] = low;
    value.as.decimal.mantissa[1] = high;
    return value;
}

/* Returns text. */
static inline cst_value cst_value_string(cst_string string) {
    cst_value value = cst_value_null();
    value.type = CST_STRING;
    value.as.string = string;
    return value;
}

/* Returns `size` bytes at `data`, which may be NULL if size is 0. */
static inline cst_value cst_value_bytes(const void *data, size_t size) {
    cst_value value = cst_value_null();
    value.type = CST_BYTES;
    value.as.bytes.data = (const uint8_t *)data;
    value.as.bytes.size = size;
    return value;
}

/* Returns a date in seconds since 2001-01-01 00:00:00 UTC, Core Data's reference date. */
static inline cst_value cst_value_date(double seconds) {
    cst_value value = cst_value_null();
    value.type = CST_DATE;
    value.as.date = seconds;
    return value;
}

/* Returns a date in seconds since 1970-01-01 00:00:00 UTC, as time() returns them. */
static inline cst_value cst_value_date_from_unix(double seconds) { return cst_value_date(seconds - 978307200.0); }

/* Returns a UUID; its 16 bytes are copied. */
static inline cst_value cst_value_uuid(const uint8_t *bytes) {
    cst_value value = cst_value_null();
    int i;
    value.type = CST_UUID;
    for (i = 0; i < 16; i++)
        value.as.uuid[i] = bytes[i];
    return value;
}

/* Returns a URI, passed as text. */
static inline cst_value cst_value_uri(cst_string uri) {
    cst_value value = cst_value_string(uri);
    value.type = CST_URI;
    return value;
}

/* Returns an object, for to-one relationships and predicates. The handle is not retained. */
static inline cst_value cst_value_object(cst_object *object) {
    cst_value value = cst_value_null();
    value.type = CST_OBJECT;
    value.as.object = object;
    return value;
}

/* Returns an object ID. The handle is not retained. */
static inline cst_value cst_value_object_id(cst_object_id *id) {
    cst_value value = cst_value_null();
    value.type = CST_OBJECT_ID;
    value.as.object_id = id;
    return value;
}

/* Returns `count` values in order, for predicates and expressions. */
static inline cst_value cst_value_array(size_t count, const cst_value *members) {
    cst_value value = cst_value_null();
    value.type = CST_ARRAY;
    value.as.values.data = members;
    value.as.values.size = count;
    return value;
}

/* Returns `count` values without an order, for predicates and expressions. */
static inline cst_value cst_value_set(size_t count, const cst_value *members) {
    cst_value value = cst_value_array(count, members);
    value.type = CST_SET;
    return value;
}

/* Returns a dictionary: keys (CST_STRING) alternating with their values. `count` counts both, so it is even. */
static inline cst_value cst_value_dictionary(size_t count, const cst_value *keys_and_values) {
    cst_value value = cst_value_array(count, keys_and_values);
    value.type = CST_DICTIONARY;
    return value;
}

/* Returns a value that only the host can read, for predicates and expressions.
 *
 * The library calls `callbacks` with `object`. Both must outlive the value. */
static inline cst_value cst_value_host(const cst_host_callbacks *callbacks, void *object) {
    cst_value value = cst_value_null();
    value.type = CST_HOST;
    value.as.host.callbacks = callbacks;
    value.as.host.object = object;
    return value;
}

/* Returns an expression, as the argument for %@, as the value of a variable, or as the new value in a batch update.
 *
 * The handle is not retained. */
static inline cst_value cst_value_expression(cst_expression *expression) {
    cst_value value = cst_value_null();
    value.type = CST_EXPRESSION;
    value.as.expression = expression;
    return value;
}

/* Returns a placeholder for the attribute's default value, for a row of a batch insertion. */
static inline cst_value cst_value_default(void) {
    cst_value value = cst_value_null();
    value.type = CST_DEFAULT;
    return value;
}

#ifdef __cplusplus
}
#endif
#endif
