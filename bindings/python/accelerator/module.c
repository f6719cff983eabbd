/* module.c: the module corestone._accelerator.
 *
 * The module is initialised in one phase and refuses interpreters other than the main one, like the package. It relies
 * on the interpreter lock: the package does not load it in free-threaded builds of Python.
 *
 * SPDX-License-Identifier: MIT
 */
#include "accelerator.h"

/* Increased if the package must be changed together with the module. */
enum { INTERFACE = 1 };

static PyMethodDef functions[] = {
    {"bind", library_bind, METH_O, "Takes a function that returns the address of a function of the library."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    "corestone._accelerator",
    "The accelerator of the package corestone.",
    -1,
    functions,
    NULL,
    NULL,
    NULL,
    NULL,
};

PyMODINIT_FUNC PyInit__accelerator(void) {
    PyObject *module = PyModule_Create(&definition);
    if (!module) return NULL;
    if (PyModule_AddIntConstant(module, "INTERFACE", INTERFACE) < 0 || values_setup(module) < 0 ||
        object_setup(module) < 0 || property_setup(module) < 0 || identifier_setup(module) < 0 ||
        insert_setup(module) < 0 || columns_setup(module) < 0) {
        Py_DECREF(module);
        return NULL;
    }
    return module;
}
