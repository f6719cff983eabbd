/* identifier.c: the base type of object IDs, which caches the object that `Context.get` returned last.
 *
 * The object is cached by its token, which is never used for another object. It is still the registered object of
 * the ID if the calling thread may use it, because an object that has left its context does not belong to a thread.
 *
 * SPDX-License-Identifier: MIT
 */
#include "accelerator.h"

typedef struct identifier {
    PyObject_HEAD uint64_t token;
    uint32_t stamp;
} identifier;

static PyTypeObject *identifier_type;

/* registered(context, id): the object of an ID in a context, if it is known; otherwise None. */
static PyObject *registered(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    if (count != 2) return PyErr_Format(PyExc_TypeError, "registered takes 2 arguments");
    if (!PyObject_TypeCheck(arguments[1], identifier_type)) Py_RETURN_NONE;
    const identifier *which = (const identifier *)arguments[1];
    object *known = which->token ? table_find(which->token) : NULL;
    bool is_found = known && known->context == arguments[0] && object_update_stamp(known) && object_is_current(known);
    PyObject *found = is_found ? (PyObject *)known : Py_None;
    Py_INCREF(found);
    return found;
}

/* remember(id, object) */
static PyObject *remember(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    if (count == 2 && PyObject_TypeCheck(arguments[0], identifier_type) &&
        PyObject_TypeCheck(arguments[1], object_type)) {
        ((identifier *)arguments[0])->token = ((object *)arguments[1])->token;
    }
    Py_RETURN_NONE;
}

static PyType_Slot slots[] = {{Py_tp_doc, "The base type of object IDs."}, {0, NULL}};
static PyType_Spec spec = {
    "corestone._accelerator.Identifier", sizeof(identifier), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots,
};
static PyMethodDef functions[] = {
    {"registered", (PyCFunction)(void (*)(void))registered, METH_FASTCALL, NULL},
    {"remember", (PyCFunction)(void (*)(void))remember, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

int identifier_setup(PyObject *module) {
    identifier_type = (PyTypeObject *)PyType_FromSpec(&spec);
    if (!identifier_type) return -1;
    Py_INCREF((PyObject *)identifier_type);
    if (PyModule_AddObject(module, "Identifier", (PyObject *)identifier_type) < 0) return -1;
    return PyModule_AddFunctions(module, functions);
}
