/* arrow.c: columns of Arrow arrays of this library, and dates of records (_arrow_reader.py, _record_columns.py).
 *
 * The arrays are those of cst_context_fetch_arrow, whose offsets are 0 and whose buffers have the size of their rows.
 *
 * SPDX-License-Identifier: MIT
 */
#include "accelerator.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define SECONDS_1970_TO_2001 978307200LL

/* A column that is read: the buffers of an array. */
struct column {
    const uint8_t *valid; /* a bitmap, or NULL if no row is null */
    const char *data;     /* numbers, bits or offsets */
    const char *text;     /* the values of text or bytes */
};

static int64_t offset_at(const char *offsets, bool is_wide, int64_t row) {
    if (!is_wide) return ((const int32_t *)(const void *)offsets)[row];
    return ((const int64_t *)(const void *)offsets)[row];
}

/* Returns the value of a row that is not null. `kind` is the first character of the format, see `arrow_column`. */
static PyObject *value_at(const struct column *column, char kind, int64_t row) {
    const void *data = column->data;
    switch (kind) {
    case 'b':
        return PyBool_FromLong(((const uint8_t *)data)[row / 8] >> (row % 8) & 1);
    case 's':
        return PyLong_FromLong(((const int16_t *)data)[row]);
    case 'i':
        return PyLong_FromLong(((const int32_t *)data)[row]);
    case 'l':
    case 't':
        return PyLong_FromLongLong(((const int64_t *)data)[row]);
    case 'f':
        return PyFloat_FromDouble(((const float *)data)[row]);
    case 'g':
        return PyFloat_FromDouble(((const double *)data)[row]);
    default: {
        bool is_wide = kind == 'U' || kind == 'Z';
        int64_t first = offset_at(data, is_wide, row), size = offset_at(data, is_wide, row + 1) - first;
        const char *text = size ? column->text + first : "";
        if (kind == 'z' || kind == 'Z') return PyBytes_FromStringAndSize(text, (Py_ssize_t)size);
        return PyUnicode_DecodeUTF8(text, (Py_ssize_t)size, NULL);
    }
    }
}

/* arrow_column(format, address): the values of an array as a list; None for a format that the package reads. */
static PyObject *arrow_column(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    if (count != 2) return PyErr_Format(PyExc_TypeError, "arrow_column takes 2 arguments");
    const char *format = PyUnicode_AsUTF8AndSize(arguments[0], NULL);
    const struct ArrowArray *array = PyLong_AsVoidPtr(arguments[1]);
    if (PyErr_Occurred()) return NULL;
    bool is_known = strcmp(format, "tsu:UTC") == 0 || (format[0] && !format[1] && strchr("bsilfguUzZ", format[0]));
    if (!is_known) Py_RETURN_NONE;
    int64_t rows = array->length;
    PyObject *values = PyList_New((Py_ssize_t)rows);
    if (!values || rows == 0) return values;
    struct column column = {array->null_count ? array->buffers[0] : NULL, array->buffers[1],
                            array->n_buffers > 2 ? array->buffers[2] : NULL};
    for (int64_t row = 0; row < rows; row++) {
        PyObject *value = Py_None;
        if (column.valid && !(column.valid[row / 8] >> (row % 8) & 1))
            Py_INCREF(value);
        else
            value = value_at(&column, format[0], row);
        if (!value) {
            Py_DECREF(values);
            return NULL;
        }
        PyList_SetItem(values, (Py_ssize_t)row, value);
    }
    return values;
}

/* datetimes(microseconds): the datetimes of a list of microseconds since 1970 and None. */
static PyObject *datetimes(PyObject *module, PyObject *column) {
    (void)module;
    Py_ssize_t rows = PyList_Size(column);
    if (rows < 0) return NULL;
    PyObject *found = PyList_New(rows);
    for (Py_ssize_t row = 0; found && row < rows; row++) {
        PyObject *micros = PyList_GetItem(column, row), *date = NULL;
        if (micros == Py_None) {
            Py_INCREF(micros);
            date = micros;
        } else if (micros) {
            long long number = PyLong_AsLongLong(micros);
            if (!PyErr_Occurred()) date = value_datetime(number - SECONDS_1970_TO_2001 * 1000000);
            if (!date && !PyErr_Occurred()) PyErr_SetString(PyExc_OverflowError, "no datetime has these microseconds");
        }
        if (date)
            PyList_SetItem(found, row, date);
        else
            Py_CLEAR(found);
    }
    return found;
}

/* Whether a number of seconds since 2001 is that of a whole microsecond, which the product with a million, rounded to an
 * integer, is. Whole seconds are exact below 2^33 (year 2273), others below 2^31 (1932 to 2069). */
static bool is_microsecond(double seconds) {
    double distance = fabs(seconds), whole = floor(seconds);
    if (whole == seconds) return distance < 8589934592.0;
    return distance < 2147483648.0 && whole + rint((seconds - whole) * 1e6) / 1e6 == seconds;
}

static bool is_single(double number) { return fabs(number) <= FLT_MAX && (double)(float)number == number; }

/* are_exact(numbers, are_dates): whether every float of a list, which can contain None, is a number of seconds that a
 * datetime represents exactly or, otherwise, a number with the precision of a 32-bit float. */
static PyObject *are_exact(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    if (count != 2) return PyErr_Format(PyExc_TypeError, "are_exact takes 2 arguments");
    Py_ssize_t rows = PyList_Size(arguments[0]);
    if (rows < 0) return NULL;
    bool are_dates = arguments[1] == Py_True;
    PyObject *date = value_datetime(0);
    bool is_exact = date || !are_dates; /* without a date, Python decodes dates */
    Py_XDECREF(date);
    if (PyErr_Occurred()) return NULL;
    for (Py_ssize_t row = 0; is_exact && row < rows; row++) {
        PyObject *item = PyList_GetItem(arguments[0], row);
        if (!item) return NULL;
        if (item == Py_None) continue;
        double number = PyFloat_AsDouble(item);
        if (PyErr_Occurred()) return NULL;
        is_exact = are_dates ? is_microsecond(number) : isinf(number) || is_single(number);
    }
    return PyBool_FromLong(is_exact);
}

static PyMethodDef functions[] = {
    {"are_exact", (PyCFunction)(void (*)(void))are_exact, METH_FASTCALL, NULL},
    {"datetimes", datetimes, METH_O, NULL},
    {"arrow_column", (PyCFunction)(void (*)(void))arrow_column, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

int arrow_setup(PyObject *module) { return PyModule_AddFunctions(module, functions); }
