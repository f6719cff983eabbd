/* library.c: the functions of the library, and the ID of the thread.
 *
 * SPDX-License-Identifier: MIT
 */
#include "accelerator.h"

#include <pthread.h>
#include <stddef.h>

struct library library;
_Thread_local uint64_t own_thread;

static const struct {
    const char *name;
    size_t offset;
} functions[] = {
    {"cst_retain", offsetof(struct library, retain)},
    {"cst_release", offsetof(struct library, release)},
    {"cst_thread_id", offsetof(struct library, thread_id)},
    {"cst_object_try_get", offsetof(struct library, try_get)},
    {"cst_object_try_set", offsetof(struct library, try_set)},
    {"cst_object_entity", offsetof(struct library, object_entity)},
    {"cst_object_state", offsetof(struct library, object_state)},
    {"cst_object_set_many", offsetof(struct library, set_many)},
    {"cst_object_set_members", offsetof(struct library, set_members)},
    {"cst_context_insert", offsetof(struct library, context_insert)},
    {"cst_context_delete", offsetof(struct library, context_delete)},
    {"cst_context_object_with_id", offsetof(struct library, object_with_id)},
    {"cst_value_dispose", offsetof(struct library, value_dispose)},
    {"cst_object_get_stamp", offsetof(struct library, get_stamp)},
};

uint64_t library_name_thread(void) { return own_thread = library.thread_id(); }

/* In a forked child, no thread owns a context, so that every use of cached values is left to the library, which
 * returns its error. */
static void in_child(void) { own_thread = UINT64_MAX; }

PyObject *library_bind(PyObject *module, PyObject *addresses) {
    (void)module;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        PyObject *address = PyObject_CallFunction(addresses, "s", functions[i].name);
        if (!address) return NULL;
        void *function = PyLong_AsVoidPtr(address);
        Py_DECREF(address);
        if (PyErr_Occurred()) return NULL;
        *(void **)((char *)&library + functions[i].offset) = function;
    }
    static bool is_prepared;
    if (!is_prepared && pthread_atfork(NULL, NULL, in_child) != 0) return PyErr_NoMemory();
    is_prepared = true;
    Py_RETURN_NONE;
}

void library_release(uint64_t token) {
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyThreadState *state = PyEval_SaveThread();
    library.release((void *)(uintptr_t)token);
    PyEval_RestoreThread(state);
    PyErr_Restore(type, value, traceback);
}
