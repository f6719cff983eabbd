/* values.c: conversion of plain values.
 *
 * SPDX-License-Identifier: MIT
 */
#include "accelerator.h"

#include <math.h>
#include <string.h>

enum { TEXT_LIMIT = 1024 }; /* the size of the largest text that is cached, in bytes */

/* The first members of the struct of the capsule datetime.datetime_CAPI, the same from Python 3.7 on. The header of
 * the capsule is not a part of the stable ABI, so values_setup checks what the members point to. */
struct datetime_api {
    PyTypeObject *date_type, *datetime_type, *time_type, *delta_type, *tzinfo_type;
    PyObject *utc;
    PyObject *(*date_from_date)(int, int, int, PyTypeObject *);
    PyObject *(*datetime_from_parts)(int, int, int, int, int, int, int, PyObject *, PyTypeObject *);
};
static struct datetime_api *dates; /* NULL: Python decodes dates */
static PyObject *epoch;            /* 2001-01-01 in UTC */
static PyObject *name_tzinfo, *name_days, *name_seconds, *name_microseconds;

PyObject *value_datetime(int64_t micros) {
    if (!dates) return NULL;
    int64_t day = micros / 86400000000, rest = micros % 86400000000;
    if (rest < 0) {
        rest += 86400000000;
        day--;
    }
    /* Days since 0000-03-01 in the proleptic Gregorian calendar: eras of 400 years, and years that begin in March. */
    int64_t days = day + 730791;
    int64_t era = (days >= 0 ? days : days - 146096) / 146097;
    int64_t of_era = days - era * 146097;
    int64_t year_of_era = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t month_index = (5 * of_year + 2) / 153;
    int date = (int)(of_year - (153 * month_index + 2) / 5 + 1);
    int month = (int)(month_index < 10 ? month_index + 3 : month_index - 9);
    int64_t year = year_of_era + era * 400 + (month <= 2);
    if (year < 1 || year > 9999) return NULL;
    int64_t second = rest / 1000000;
    return dates->datetime_from_parts((int)year, month, date, (int)(second / 3600), (int)(second / 60 % 60),
                                      (int)(second % 60), (int)(rest % 1000000), dates->utc, dates->datetime_type);
}

/* Returns the datetime that `EPOCH + timedelta(0, seconds)` returns: timedelta splits the seconds into whole ones and a
 * fraction, and rounds the microseconds to the nearest even number. NULL without an exception for other dates. */
static PyObject *decode_date(double seconds) {
    if (!dates || !(seconds > -63113904000.0 && seconds < 252423993599.0)) return NULL;
    double whole, fraction = modf(seconds, &whole), micro_whole;
    fraction = modf(fraction * 1e6, &micro_whole);
    int64_t micros = (int64_t)whole * 1000000 + (int64_t)micro_whole;
    if (fraction != 0) {
        double rounded = round(fraction);
        if (fabs(rounded - fraction) == 0.5) {
            int is_odd = (int)(micros & 1);
            rounded = 2.0 * round((fraction + is_odd) * 0.5) - is_odd;
        }
        micros += (int64_t)rounded;
    }
    return value_datetime(micros);
}

static PyObject *decode_text(const char *data, size_t size) {
    if (!data) return PyUnicode_FromStringAndSize(NULL, 0);
    PyObject *text = PyUnicode_DecodeUTF8(data, (Py_ssize_t)size, NULL);
    if (!text) PyErr_Clear(); /* Python decodes the text once more and raises the error */
    return text;
}

PyObject *value_decode(const cst_value *value) {
    switch (value->type) {
    case CST_NULL:
        Py_RETURN_NONE;
    case CST_BOOL:
        return PyBool_FromLong(value->as.boolean);
    case CST_INT:
        return PyLong_FromLongLong(value->as.integer);
    case CST_DOUBLE:
        return PyFloat_FromDouble(value->as.real);
    case CST_STRING:
    case CST_URI:
        return decode_text(value->as.string.data, value->as.string.size);
    case CST_DATE:
        return decode_date(value->as.date);
    default:
        return NULL;
    }
}

bool value_is_small(const cst_value *value) {
    return (value->type != CST_STRING && value->type != CST_URI) || value->as.string.size <= TEXT_LIMIT;
}

/* Returns a part of a timedelta, which is a small integer. */
static bool part(PyObject *delta, PyObject *name, int64_t *out) {
    PyObject *number = PyObject_GetAttr(delta, name);
    if (!number) return false;
    *out = PyLong_AsLongLong(number);
    Py_DECREF(number);
    return true;
}

/* Encodes a datetime in UTC whose seconds a double holds as exactly as Python's `total_seconds` computes them. */
static bool encode_date(PyObject *value, double *out) {
    PyObject *zone = PyObject_GetAttr(value, name_tzinfo);
    bool is_utc = zone == dates->utc;
    Py_XDECREF(zone);
    PyObject *delta = is_utc ? PyNumber_Subtract(value, epoch) : NULL;
    int64_t days = 0, seconds = 0, micros = 0;
    bool found = delta && part(delta, name_days, &days) && part(delta, name_seconds, &seconds) &&
                 part(delta, name_microseconds, &micros);
    Py_XDECREF(delta);
    if (PyErr_Occurred()) PyErr_Clear();
    if (!found || days < -100000 || days > 100000) return false; /* so that the microseconds are exact in a double */
    *out = (double)((days * 86400 + seconds) * 1000000 + micros) / 1e6;
    return true;
}

bool value_encode(PyObject *value, cst_value *out) {
    PyTypeObject *type = Py_TYPE(value);
    out->aux = 0;
    if (type == &PyUnicode_Type) {
        Py_ssize_t size;
        const char *data = PyUnicode_AsUTF8AndSize(value, &size);
        if (!data) {
            PyErr_Clear();
            return false;
        }
        out->type = CST_STRING;
        out->as.string.data = data;
        out->as.string.size = (size_t)size;
        return true;
    }
    if (type == &PyLong_Type) {
        int overflow;
        long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
        if (overflow) return false;
        out->type = CST_INT;
        out->as.integer = number;
        return true;
    }
    if (type == &PyFloat_Type) {
        out->type = CST_DOUBLE;
        out->as.real = PyFloat_AsDouble(value);
        return true;
    }
    if (type == &PyBool_Type) {
        out->type = CST_BOOL;
        out->as.integer = 0;
        out->as.boolean = value == Py_True;
        return true;
    }
    if (dates && type == dates->datetime_type && encode_date(value, &out->as.date)) {
        out->type = CST_DATE;
        return true;
    }
    return false;
}

/* Returns whether the capsule has the members that this file declares. */
static bool is_as_expected(const struct datetime_api *api, PyObject *module) {
    PyObject *kind = PyObject_GetAttrString(module, "datetime"), *zone = PyObject_GetAttrString(module, "timezone");
    PyObject *utc = zone ? PyObject_GetAttrString(zone, "utc") : NULL;
    bool is_expected = (PyObject *)api->datetime_type == kind && api->utc == utc;
    Py_XDECREF(kind);
    Py_XDECREF(zone);
    Py_XDECREF(utc);
    return is_expected;
}

int values_setup(PyObject *module) {
    (void)module;
    name_tzinfo = PyUnicode_InternFromString("tzinfo");
    name_days = PyUnicode_InternFromString("days");
    name_seconds = PyUnicode_InternFromString("seconds");
    name_microseconds = PyUnicode_InternFromString("microseconds");
    PyObject *datetime = PyImport_ImportModule("datetime");
    if (!datetime || !name_tzinfo || !name_days || !name_seconds || !name_microseconds) return -1;
    struct datetime_api *api = PyCapsule_Import("datetime.datetime_CAPI", 0);
    if (api && is_as_expected(api, datetime)) {
        dates = api;
        epoch = api->datetime_from_parts(2001, 1, 1, 0, 0, 0, 0, api->utc, api->datetime_type);
        if (!epoch) return -1;
    }
    PyErr_Clear();
    Py_DECREF(datetime);
    return 0;
}
