/* module.c: the module corestone._accelerator.
 *
 * The module exists once in the process, because its types and its table of objects belong to the process. It therefore
 * refuses interpreters other than the main one, like the package. It is initialised in several phases: Python 3.13
 * initialises other modules in the main interpreter, and copies them for a subinterpreter. It relies on the interpreter
 * lock: the package does not load it in free-threaded builds of Python.
 *
 * SPDX-License-Identifier: MIT
 */
#include "accelerator.h"

/* Increased if the package must be changed together with the module. */
enum { INTERFACE = 3 };

static PyMethodDef functions[] = {
    {"bind", library_bind, METH_O, "Takes a function that returns the address of a function of the library."},
    {NULL, NULL, 0, NULL},
};

static PyObject *make_module(void) {
    PyObject *module = PyModule_New("corestone._accelerator");
    if (!module) return NULL;
    if (PyModule_SetDocString(module, "The accelerator of the package corestone.") < 0 ||
        PyModule_AddFunctions(module, functions) < 0 || PyModule_AddIntConstant(module, "INTERFACE", INTERFACE) < 0 ||
        values_setup(module) < 0 || object_setup(module) < 0 || property_setup(module) < 0 ||
        identifier_setup(module) < 0 || insert_setup(module) < 0 || columns_setup(module) < 0 ||
        arrow_setup(module) < 0) {
        Py_DECREF(module);
        return NULL;
    }
    return module;
}

/* Returns the module. An import after its removal from sys.modules returns the same one. */
static PyObject *create(PyObject *spec, PyModuleDef *definition) {
    (void)spec, (void)definition;
    static PyObject *made;
    if (PyInterpreterState_GetID(PyInterpreterState_Get()) != 0) {
        PyErr_SetString(PyExc_ImportError, "corestone._accelerator does not support subinterpreters");
        return NULL;
    }
    if (!made) made = make_module();
    Py_XINCREF(made);
    return made;
}

static PyModuleDef_Slot slots[] = {{Py_mod_create, (void *)create}, {0, NULL}};
static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "corestone._accelerator", NULL, 0, NULL, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__accelerator(void) { return PyModuleDef_Init(&definition); }
