/* Messages, and the conversion of values from and to text.
 *
 * SPDX-License-Identifier: MIT
 */
#include "orders.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct editor editor;
cst_error *error;

void give_up(const char *call) {
    fprintf(stderr, "orders: %s: %s\n", call, error ? cst_error_message(error).data : "failed");
    exit(1);
}

/* ---- messages ---- */

bool say(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(editor.message, MESSAGE, format, arguments);
    va_end(arguments);
    return false;
}

bool done(cst_status status) {
    if (status >= 0) return true;
    say("%s", cst_error_message(error).data);
    cst_release(error);
    error = NULL;
    return false;
}

bool whole(const char *text, const char *what, int64_t *out) {
    char *end;
    *out = strtoll(text, &end, 10);
    return *text && !*end ? true : say("\"%s\" is not a valid %s", text, what);
}

/* ---- values ---- */

cst_value text_value(const char *text) { return (cst_value){.type = CST_STRING, .as.string = TEXT(text)}; }
cst_value integer_value(int64_t number) { return (cst_value){.type = CST_INT, .as.integer = number}; }
cst_value object_value(cst_object *object) { return (cst_value){.type = CST_OBJECT, .as.object = object}; }

bool set(cst_object *object, const char *name, cst_value value) {
    return done(cst_object_set_path(object, TEXT(name), &value, &error));
}

cst_value get(const cst_object *object, const char *path) {
    cst_value value;
    TRY(cst_object_get_path(object, TEXT(path), &value, &error));
    return value;
}

/* Parses a decimal exactly, without a conversion to double. */
bool price_value(const char *text, cst_value *out) {
    uint64_t digits = 0;
    int exponent = 0, count = 0;
    bool behind_point = false;
    for (const char *at = text; *at; at++) {
        if (*at == '.' && !behind_point) {
            behind_point = true;
        } else if (*at >= '0' && *at <= '9' && count++ < 18) {
            digits = digits * 10 + (uint64_t)(*at - '0');
            exponent -= behind_point;
        } else {
            return say("\"%s\" is not a valid price", text);
        }
    }
    if (count == 0) return say("\"%s\" is not a valid price", text);
    *out = (cst_value){.type = CST_DECIMAL, .aux = CST_DECIMAL_AUX(false, exponent)};
    out->as.decimal.mantissa[0] = digits;
    return true;
}

double number(cst_value value) {
    double result = (double)value.as.integer;
    if (value.type == CST_DOUBLE) result = value.as.real;
    if (value.type == CST_DECIMAL) {
        result = (double)value.as.decimal.mantissa[0];
        for (int exponent = CST_DECIMAL_EXPONENT(value.aux); exponent < 0; exponent++)
            result /= 10;
    }
    return value.type == CST_NULL ? 0 : result;
}

void print_value(char *into, size_t size, const cst_value *value) {
    switch (value->type) {
    case CST_NULL:
        snprintf(into, size, "-");
        break;
    case CST_STRING:
        snprintf(into, size, "%.*s", (int)value->as.string.size, value->as.string.data);
        break;
    case CST_BOOL:
        snprintf(into, size, "%s", value->as.boolean ? "yes" : "no");
        break;
    case CST_INT:
        snprintf(into, size, "%lld", (long long)value->as.integer);
        break;
    case CST_DECIMAL:
        snprintf(into, size, "%.2f", number(*value));
        break;
    default:
        snprintf(into, size, "something else");
        break;
    }
}

double cost(const cst_object *line) { return number(get(line, "quantity")) * number(get(line, "price")); }

double total(const cst_object *order) {
    double sum = 0;
    cst_results *lines;
    TRY(cst_object_copy_members(order, editor.lines, &lines, &error));
    for (size_t i = 0; i < cst_results_count(lines); i++) {
        cst_object *line;
        TRY(cst_results_get_object(lines, i, &line, &error));
        sum += cost(line);
    }
    cst_release(lines);
    return sum;
}
