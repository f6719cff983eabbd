/* insert.c: insertion of an object with its values, for `Context.insert`.
 *
 * An Insertion belongs to an entity. It encodes all values before it calls the library; if that is not possible, it
 * returns None, and the package inserts the object. The library is called without the interpreter lock, because hooks
 * of the application and releases of other threads can run in it.
 *
 * SPDX-License-Identifier: MIT
 */
#include "accelerator.h"

#include <stddef.h>
#include <structmember.h>

enum { SINGLE_LIMIT = 64, MANY_LIMIT = 8, MEMBER_LIMIT = 256 };
/* The numbers in `properties`: the key, and flags. */
enum { IS_MANY = 1, IS_DECIMAL = 2, FLAG_BITS = 2 };

typedef struct insertion {
    PyObject_HEAD PyObject *kind; /* the class of the entity's objects */
    PyObject *properties;         /* {name: number} of the properties that can be set here */
    PyObject *failure;            /* (status, error) -> exception */
    uint64_t entity;
} insertion;

/* The values of one insertion, encoded. */
struct encoded {
    size_t single_count, many_count, rest_count, member_count;
    cst_key keys[SINGLE_LIMIT];
    cst_value values[SINGLE_LIMIT];
    struct {
        cst_key key;
        size_t first, count; /* in `members` */
    } many[MANY_LIMIT];
    cst_object *members[MEMBER_LIMIT];
};

static cst_object *handle_of(PyObject *value) {
    return PyObject_TypeCheck(value, object_type) ? (cst_object *)(uintptr_t)((object *)value)->token : NULL;
}

static bool encode_members(PyObject *value, cst_key key, struct encoded *out) {
    bool is_list = PyList_CheckExact(value);
    if (out->many_count == MANY_LIMIT || !(is_list || PyTuple_CheckExact(value))) return false;
    Py_ssize_t count = is_list ? PyList_Size(value) : PyTuple_Size(value);
    if (count < 0 || (size_t)count > MEMBER_LIMIT - out->member_count) return false;
    size_t first = out->member_count;
    for (Py_ssize_t i = 0; i < count; i++) {
        cst_object *member = handle_of(is_list ? PyList_GetItem(value, i) : PyTuple_GetItem(value, i));
        if (!member) return false;
        out->members[out->member_count++] = member;
    }
    out->many[out->many_count].key = key;
    out->many[out->many_count].first = first;
    out->many[out->many_count++].count = (size_t)count;
    return true;
}

static bool encode_single(PyObject *value, cst_key key, bool is_decimal, struct encoded *out) {
    if (out->single_count == SINGLE_LIMIT) return false;
    cst_value *place = &out->values[out->single_count];
    if (value == Py_None) {
        *place = (cst_value){.type = CST_NULL};
    } else if (handle_of(value)) {
        *place = (cst_value){.type = CST_OBJECT, .as.object = handle_of(value)};
    } else if (is_decimal || !value_encode(value, place)) {
        return false;
    }
    out->keys[out->single_count++] = key;
    return true;
}

static bool encode_property(PyObject *name, PyObject *value, const insertion *self, struct encoded *out) {
    PyObject *number = PyDict_GetItemWithError(self->properties, name);
    if (!number) {
        PyErr_Clear();
        return false;
    }
    unsigned long known = PyLong_AsUnsignedLong(number);
    cst_key key = (cst_key)(known >> FLAG_BITS);
    if (known & IS_MANY) return encode_members(value, key, out);
    return encode_single(value, key, (known & IS_DECIMAL) != 0, out);
}

/* Returns whether all values could be encoded. */
static bool encode(const insertion *self, PyObject *given, struct encoded *out) {
    out->single_count = out->many_count = out->member_count = 0;
    Py_ssize_t position = 0;
    PyObject *name, *value;
    while (PyDict_Next(given, &position, &name, &value)) {
        /* The look-up of a subclass of str would call its __hash__ and __eq__, which could change the dictionary. */
        if (!PyUnicode_CheckExact(name)) return false;
        Py_INCREF(name);
        Py_INCREF(value);
        bool is_encoded = encode_property(name, value, self, out);
        Py_DECREF(value);
        Py_DECREF(name);
        if (!is_encoded) return false;
    }
    return true;
}

/* Inserts the object and sets its values. After a failure, the object is deleted and *out is NULL. */
static cst_status run(cst_context *context, const insertion *self, struct encoded *given, cst_object **out,
                      cst_error **error) {
    *out = NULL;
    cst_status status = library.context_insert(context, (const cst_entity *)(uintptr_t)self->entity, out, error);
    if (status < 0) return status;
    if (given->single_count) status = library.set_many(*out, given->single_count, given->keys, given->values, error);
    for (size_t i = 0; i < given->many_count && status >= 0; i++)
        status = library.set_members(*out, given->many[i].key, given->many[i].count,
                                     given->members + given->many[i].first, error);
    if (status >= 0) return status;
    library.context_delete(context, *out, NULL);
    library.release(*out);
    *out = NULL;
    return status;
}

/* insertion(context, handle, values, made): appends the new object to the list `made` and returns it. Returns None, and
 * inserts nothing, if the package must insert the object. */
static PyObject *insert(PyObject *item, PyObject *const *arguments, Py_ssize_t count) {
    insertion *self = (insertion *)item;
    if (count != 4) return PyErr_Format(PyExc_TypeError, "insert takes 4 arguments");
    struct encoded given;
    if (!PyLong_Check(arguments[1]) || !encode(self, arguments[2], &given)) Py_RETURN_NONE;
    uint64_t context = PyLong_AsUnsignedLongLong(arguments[1]);
    if (PyErr_Occurred()) return NULL;

    cst_object *made;
    cst_error *error = NULL;
    PyThreadState *state = PyEval_SaveThread();
    cst_status status = run((cst_context *)(uintptr_t)context, self, &given, &made, &error);
    PyEval_RestoreThread(state);
    if (status < 0) {
        PyObject *raised =
            PyObject_CallFunction(self->failure, "iK", (int)status, (unsigned long long)(uintptr_t)error);
        if (raised) PyErr_SetObject((PyObject *)Py_TYPE(raised), raised);
        Py_XDECREF(raised);
        return NULL;
    }
    PyObject *wrapped = object_adopt((PyTypeObject *)self->kind, arguments[0], (uint64_t)(uintptr_t)made);
    if (wrapped && PyList_Append(arguments[3], wrapped) < 0) Py_CLEAR(wrapped);
    return wrapped;
}

static PyObject *new_insertion(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
    (void)keywords;
    unsigned long long entity;
    PyObject *kind, *properties, *failure;
    if (!PyArg_ParseTuple(arguments, "KOO!O", &entity, &kind, &PyDict_Type, &properties, &failure)) return NULL;
    insertion *self = (insertion *)PyType_GenericAlloc(type, 0);
    if (!self) return NULL;
    self->entity = entity;
    set_reference(&self->kind, kind);
    set_reference(&self->properties, properties);
    set_reference(&self->failure, failure);
    return (PyObject *)self;
}

static int visit(PyObject *item, visitproc visit, void *arg) {
    insertion *self = (insertion *)item;
    Py_VISIT(Py_TYPE(item));
    Py_VISIT(self->kind);
    Py_VISIT(self->properties);
    Py_VISIT(self->failure);
    return 0;
}

static int clear(PyObject *item) {
    insertion *self = (insertion *)item;
    Py_CLEAR(self->kind);
    Py_CLEAR(self->properties);
    Py_CLEAR(self->failure);
    return 0;
}

static void free_insertion(PyObject *item) {
    PyTypeObject *type = Py_TYPE(item);
    PyObject_GC_UnTrack(item);
    clear(item);
    PyObject_GC_Del(item);
    Py_DECREF(type);
}

static PyMethodDef methods[] = {
    {"insert", (PyCFunction)(void (*)(void))insert, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot slots[] = {
    {Py_tp_new, new_insertion}, {Py_tp_dealloc, free_insertion}, {Py_tp_traverse, visit},
    {Py_tp_clear, clear},       {Py_tp_methods, methods},        {0, NULL},
};
static PyType_Spec spec = {
    "corestone._accelerator.Insertion", sizeof(insertion), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, slots,
};

int insert_setup(PyObject *module) {
    PyObject *type = PyType_FromSpec(&spec);
    return type ? PyModule_AddObject(module, "Insertion", type) : -1;
}
