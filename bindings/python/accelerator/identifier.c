/* identifier.c: the base type of object IDs, which caches the object that `Context.get` returned last.
 *
 * The object is cached by its token, which is never used for another object, with its change stamp. While the stamp is
 * unchanged, it is the registered object of the ID: an object is deregistered when it is deleted, leaves its context or
 * has another ID, and each of these increments the counter. With another stamp, as after a fault fired, the library
 * looks the ID up. The row of an object can be deleted elsewhere; such an object stays in its context until the next
 * save, but is not registered.
 *
 * SPDX-License-Identifier: MIT
 */
#include "accelerator.h"

typedef struct identifier {
    PyObject_HEAD uint64_t token;
    uint64_t handle;  /* of the ID; its owner in Python lives as long as the ID */
    uint64_t context; /* the handle of the object's context, which becomes invalid when the context is closed */
    uint32_t stamp;   /* of the object, when it was cached */
} identifier;

static PyTypeObject *identifier_type;

/* Returns whether the library still returns the object for the ID. Then the current stamp is cached. */
static bool look_up(identifier *which, object *known) {
    if (!object_update_stamp(known)) return false;
    uint32_t stamp = known->stamp;
    cst_object *found = NULL;
    PyThreadState *state = PyEval_SaveThread();
    cst_status status = library.object_with_id((cst_context *)(uintptr_t)which->context,
                                               (const cst_object_id *)(uintptr_t)which->handle, &found, NULL);
    if (status >= 0) library.release(found);
    PyEval_RestoreThread(state);
    if (status < 0 || (uint64_t)(uintptr_t)found != known->token || !object_has_stamp(known, stamp)) return false;
    which->stamp = stamp;
    return true;
}

/* registered(context, id): the registered object of an ID in a context, if it is cached; otherwise None. */
static PyObject *registered(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    if (count != 2) return PyErr_Format(PyExc_TypeError, "registered takes 2 arguments");
    if (!PyObject_TypeCheck(arguments[1], identifier_type)) Py_RETURN_NONE;
    identifier *which = (identifier *)arguments[1];
    object *known = which->token ? table_find(which->token) : NULL;
    if (!known || known->context != arguments[0]) Py_RETURN_NONE;
    /* Other threads run while the library looks the ID up. */
    Py_INCREF((PyObject *)known);
    if (object_has_stamp(known, which->stamp) || look_up(which, known)) return (PyObject *)known;
    Py_DECREF((PyObject *)known);
    Py_RETURN_NONE;
}

/* Returns whether the library reports that the object is not deleted. */
static bool is_not_deleted(const object *item) {
    const cst_object *handle = (const cst_object *)(uintptr_t)item->token;
    uint32_t flags = 0;
    PyThreadState *state = PyEval_SaveThread();
    cst_status status = library.object_state(handle, &flags, NULL);
    PyEval_RestoreThread(state);
    return status >= 0 && !(flags & CST_OBJECT_DELETED);
}

/* remember(id, object, handle, context): caches the object that the library returned for the ID on this thread. The
 * last arguments are the handles of the ID and of the context. */
static PyObject *remember(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    if (count != 4) return PyErr_Format(PyExc_TypeError, "remember takes 4 arguments");
    uint64_t handle = PyLong_AsUnsignedLongLong(arguments[2]), context = PyLong_AsUnsignedLongLong(arguments[3]);
    if (PyErr_Occurred()) return NULL;
    if (!PyObject_TypeCheck(arguments[0], identifier_type) || !PyObject_TypeCheck(arguments[1], object_type))
        Py_RETURN_NONE;
    identifier *which = (identifier *)arguments[0];
    object *item = (object *)arguments[1];
    /* Since the call of the library, a garbage collection can have run any code, for example a deletion. */
    if (!object_update_stamp(item) || !object_is_current(item)) Py_RETURN_NONE;
    uint32_t stamp = item->stamp;
    if (is_not_deleted(item) && object_has_stamp(item, stamp)) {
        which->token = item->token;
        which->handle = handle;
        which->context = context;
        which->stamp = stamp;
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
