/* columns.c: many values at a time: packed columns (corestone/results.h) and rows of values (corestone/rows.h).
 *
 * SPDX-License-Identifier: MIT
 */
#include "accelerator.h"

#include <string.h>

enum { INTEGERS = 1, DOUBLES = 2, TEXT = 3, BYTES = 4, UUIDS = 5, KEYS = 6 };

/* A packed buffer that is read from the front. */
struct reader {
    const char *at, *end;
};

static size_t padded(size_t size) { return (size + 7) & ~(size_t)7; }

/* Returns the next part of a size, or NULL past the end. */
static const char *take(struct reader *reader, size_t size) {
    if (size > (size_t)(reader->end - reader->at)) return NULL;
    const char *part = reader->at;
    reader->at += size;
    return part;
}

static bool take_number(struct reader *reader, uint64_t *out) {
    const char *part = take(reader, sizeof *out);
    if (part) memcpy(out, part, sizeof *out);
    return part != NULL;
}

static PyObject *none(void) {
    Py_INCREF(Py_None);
    return Py_None;
}

/* Decodes a column of numbers. */
static PyObject *numbers(const char *data, const char *nulls, size_t rows, uint64_t form, int type) {
    PyObject *column = PyList_New((Py_ssize_t)rows);
    for (size_t i = 0; column && i < rows; i++) {
        cst_value value = {.type = form == DOUBLES ? CST_DOUBLE : CST_INT};
        memcpy(&value.as, data + 8 * i, 8);
        if (form == INTEGERS && type == CST_ATTRIBUTE_BOOLEAN) {
            value.type = CST_BOOL;
            value.as.boolean = value.as.integer != 0;
        }
        if (form == DOUBLES && type == CST_ATTRIBUTE_DATE) value.type = CST_DATE;
        PyObject *item = nulls[i] ? none() : value_decode(&value);
        if (item)
            PyList_SetItem(column, (Py_ssize_t)i, item);
        else
            Py_CLEAR(column);
    }
    return column;
}

/* Returns the address of the character `count` code points after `at`. */
static const char *skip(const char *at, const char *end, uint64_t count) {
    while (at < end && count > 0) {
        at++;
        while (at < end && ((unsigned char)*at & 0xC0) == 0x80)
            at++;
        count--;
    }
    return at;
}

/* Decodes a column of text or bytes. The offsets of text count code points. */
static PyObject *strings(struct reader *reader, const char *nulls, size_t rows, uint64_t form, bool is_converted) {
    uint64_t size;
    if (!take_number(reader, &size)) return NULL;
    const char *offsets = take(reader, 8 * (rows + 1)), *text = take(reader, padded(size));
    if (!offsets || !text || is_converted) return NULL;
    const char *at = text, *end = text + size;
    uint64_t first, last, total;
    memcpy(&first, offsets, 8);
    memcpy(&total, offsets + 8 * rows, 8);
    bool is_direct = form == BYTES || total == size; /* one byte per code point */
    PyObject *column = PyList_New((Py_ssize_t)rows);
    for (size_t i = 0; column && i < rows; i++, first = last) {
        memcpy(&last, offsets + 8 * (i + 1), 8);
        if (last < first || last > total || total > size) {
            Py_CLEAR(column);
            break;
        }
        const char *next = is_direct ? at + (last - first) : skip(at, end, last - first);
        PyObject *item = nulls[i]        ? none()
                         : form == BYTES ? PyBytes_FromStringAndSize(at, next - at)
                                         : PyUnicode_DecodeUTF8(at, next - at, NULL);
        at = next;
        if (item)
            PyList_SetItem(column, (Py_ssize_t)i, item);
        else
            Py_CLEAR(column);
    }
    return column;
}

/* unpack(address, size, types): the columns of a packed buffer as lists. `types` are the types of the attributes. None
 * stands for a column that the package must decode, for example of decimals, or with a date that Python cannot
 * represent. */
static PyObject *unpack(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    if (count != 3) return PyErr_Format(PyExc_TypeError, "unpack takes 3 arguments");
    const char *start = PyLong_AsVoidPtr(arguments[0]);
    size_t size = PyLong_AsSize_t(arguments[1]);
    if (PyErr_Occurred()) return NULL;
    struct reader reader = {start, start + size};
    uint64_t rows, columns;
    PyObject *found = PyList_New(0);
    if (!found || !take_number(&reader, &rows) || !take_number(&reader, &columns)) return found;
    for (uint64_t i = 0; i < columns; i++) {
        PyObject *number = PyList_GetItem(arguments[2], (Py_ssize_t)i);
        int type = number ? (int)PyLong_AsLong(number) : 0;
        uint64_t form;
        const char *nulls = NULL;
        PyObject *column = NULL;
        if (!PyErr_Occurred() && take_number(&reader, &form) && (nulls = take(&reader, padded(rows)))) {
            if (form == INTEGERS || form == DOUBLES || form == KEYS) {
                const char *data = take(&reader, 8 * rows);
                if (data) column = numbers(data, nulls, rows, form, type);
            } else if (form == TEXT || form == BYTES) {
                column = strings(&reader, nulls, rows, form, type == CST_ATTRIBUTE_DECIMAL);
            } else if (form == UUIDS) {
                take(&reader, 16 * rows);
            }
        }
        if (!column) {
            PyErr_Clear();
            column = none();
        }
        int status = PyList_Append(found, column);
        Py_DECREF(column);
        if (status < 0) {
            Py_DECREF(found);
            return NULL;
        }
    }
    return found;
}

/* dicts(names, columns): a dictionary for each row of lists of one size. */
static PyObject *dicts(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    if (count != 2) return PyErr_Format(PyExc_TypeError, "dicts takes 2 arguments");
    Py_ssize_t width = PyTuple_Size(arguments[0]), size = 0;
    if (width < 0 || PyList_Size(arguments[1]) != width) return PyErr_Format(PyExc_ValueError, "names and columns");
    for (Py_ssize_t i = 0; i < width; i++) {
        Py_ssize_t own = PyList_Size(PyList_GetItem(arguments[1], i));
        if (own < 0) return NULL;
        size = i == 0 || own < size ? own : size;
    }
    PyObject *rows = PyList_New(size);
    for (Py_ssize_t row = 0; rows && row < size; row++) {
        PyObject *made = PyDict_New();
        for (Py_ssize_t i = 0; made && i < width; i++) {
            PyObject *value = PyList_GetItem(PyList_GetItem(arguments[1], i), row);
            if (!value || PyDict_SetItem(made, PyTuple_GetItem(arguments[0], i), value) < 0) Py_CLEAR(made);
        }
        if (made)
            PyList_SetItem(rows, row, made);
        else
            Py_CLEAR(rows);
    }
    return rows;
}

/* rows(names, address, count, take): dictionaries of rows of values, which are freed, also on failure. `take(index)`
 * decodes and frees a value that is not a plain one. A value that was freed is null. */
static PyObject *rows_of(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    if (count != 4) return PyErr_Format(PyExc_TypeError, "rows takes 4 arguments");
    Py_ssize_t width = PyTuple_Size(arguments[0]), size = PyLong_AsSsize_t(arguments[2]);
    cst_value *values = PyLong_AsVoidPtr(arguments[1]);
    if (PyErr_Occurred()) return NULL;
    PyObject *rows = PyList_New(size);
    Py_ssize_t next = 0; /* the number of values that were reached */
    for (Py_ssize_t row = 0; rows && row < size; row++) {
        PyObject *made = PyDict_New();
        for (Py_ssize_t i = 0; made && i < width; i++) {
            next = row * width + i + 1;
            cst_value *value = &values[row * width + i];
            PyObject *item = value_decode(value);
            if (item)
                library.value_dispose(value);
            else if (!PyErr_Occurred())
                item = PyObject_CallFunction(arguments[3], "n", row * width + i);
            if (!item || PyDict_SetItem(made, PyTuple_GetItem(arguments[0], i), item) < 0) Py_CLEAR(made);
            Py_XDECREF(item);
        }
        if (made)
            PyList_SetItem(rows, row, made);
        else
            Py_CLEAR(rows);
    }
    for (; !rows && next < size * width; next++)
        library.value_dispose(&values[next]);
    return rows;
}

/* fill(address, width, index, column): writes a list or tuple to a column of an array of values in row order. Returns
 * False if the package must encode the values. The column must be kept as long as the array. */
static PyObject *fill(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    if (count != 4) return PyErr_Format(PyExc_TypeError, "fill takes 4 arguments");
    cst_value *values = PyLong_AsVoidPtr(arguments[0]);
    Py_ssize_t width = PyLong_AsSsize_t(arguments[1]), index = PyLong_AsSsize_t(arguments[2]);
    if (PyErr_Occurred()) return NULL;
    PyObject *column = arguments[3];
    /* A list could be changed by another thread during the call of the library. */
    if (!PyTuple_CheckExact(column)) Py_RETURN_FALSE;
    Py_ssize_t rows = PyTuple_Size(column);
    for (Py_ssize_t row = 0; row < rows; row++) {
        PyObject *item = PyTuple_GetItem(column, row);
        cst_value *value = &values[row * width + index];
        if (item == Py_None) {
            *value = (cst_value){.type = CST_NULL};
        } else if (PyObject_TypeCheck(item, object_type)) {
            *value = (cst_value){.type = CST_OBJECT, .as.object = (cst_object *)(uintptr_t)((object *)item)->token};
        } else if (!value_encode(item, value)) {
            Py_RETURN_FALSE;
        }
    }
    Py_RETURN_TRUE;
}

static PyMethodDef functions[] = {
    {"fill", (PyCFunction)(void (*)(void))fill, METH_FASTCALL, NULL},
    {"unpack", (PyCFunction)(void (*)(void))unpack, METH_FASTCALL, NULL},
    {"dicts", (PyCFunction)(void (*)(void))dicts, METH_FASTCALL, NULL},
    {"rows", (PyCFunction)(void (*)(void))rows_of, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

int columns_setup(PyObject *module) { return PyModule_AddFunctions(module, functions); }
