/* object.c: the base type of managed objects.
 *
 * An object owns a reference to its handle, either itself or through an owner of the package (_handles.Handle). It
 * caches values of attributes, see property.c.
 *
 * SPDX-License-Identifier: MIT
 */
#include "accelerator.h"

#include <stddef.h>
#include <structmember.h>

PyTypeObject *object_type;

/* What the package passes to `set_functions`. */
static PyObject *make_argument; /* (token) -> what ctypes passes as a handle */
static PyObject *refusal;       /* (object, name) -> the exception for an attribute that cannot be set, or None */
static PyObject *missing;       /* (object, name) -> the value of an attribute that was not found, or an error */

/* The base type of contexts. */
typedef struct context_base {
    PyObject_HEAD bool is_held; /* whether the context owns its handle */
} context_base;
static PyTypeObject *context_type;
/* Whether a release of an object can call the host, which can wait for another thread. */
static bool releases_can_wait;

void object_drop_values(object *self) {
    if (!self->has_values) return;
    self->has_values = false;
    PyObject *values[INLINE_VALUES], **more = self->more;
    unsigned more_count = self->more_count;
    /* The fields are emptied before the values are released, as in every type. */
    for (unsigned i = 0; i < INLINE_VALUES; i++) {
        values[i] = self->values[i];
        self->values[i] = NULL;
    }
    self->more = NULL;
    self->more_count = 0;
    for (unsigned i = 0; i < INLINE_VALUES; i++)
        Py_XDECREF(values[i]);
    if (!more) return;
    for (unsigned i = 0; i < more_count; i++)
        Py_XDECREF(more[i]);
    PyMem_Free(more);
}

bool object_find_stamp(object *self) {
    cst_object_stamp found = CST_OBJECT_STAMP_INIT;
    if (library.get_stamp((const cst_object *)(uintptr_t)self->token, &found, NULL) < 0 || !found.changes) return false;
    self->changes = found.changes;
    self->thread = found.thread;
    self->user = thread_id();
    self->stamp = object_changes(self);
    return true;
}

bool object_update_stamp(object *self) {
    if (self->changes && object_changes(self) == self->stamp) {
        self->user = thread_id();
        return true;
    }
    object_drop_values(self);
    /* The address of the thread can differ after a change. */
    if (object_find_stamp(self)) return true;
    self->changes = NULL;
    return false;
}

void object_keep(object *self, unsigned slot, PyObject *value) {
    if (!object_update_stamp(self)) return;
    self->has_values = true;
    PyObject **place;
    if (slot < INLINE_VALUES) {
        place = &self->values[slot];
    } else {
        slot -= INLINE_VALUES;
        if (slot >= self->more_count) {
            unsigned wanted = (slot | 7) + 1;
            PyObject **more = PyMem_Realloc(self->more, wanted * sizeof *more);
            if (!more) return; /* a value that is not cached is read again */
            for (unsigned i = self->more_count; i < wanted; i++)
                more[i] = NULL;
            self->more = more;
            self->more_count = (uint16_t)wanted;
        }
        place = &self->more[slot];
    }
    set_reference(place, value);
}

/* ---- creation and deallocation */

/* Returns a new object without a handle; its class is a subclass of the base type. */
static object *allocate(PyTypeObject *kind, PyObject *context, uint64_t token) {
    if (PyType_GetFlags(kind) & (1UL << 20)) { /* an abstract class: `object.__new__` raises the error */
        return (object *)PyObject_CallMethod((PyObject *)&PyBaseObject_Type, "__new__", "O", kind);
    }
    object *self = (object *)PyType_GenericAlloc(kind, 0);
    if (!self) return NULL;
    Py_INCREF(context);
    self->context = context;
    self->token = token;
    return self;
}

static int visit_object(PyObject *item, visitproc visit, void *arg) {
    object *self = (object *)item;
    Py_VISIT(Py_TYPE(item));
    Py_VISIT(self->context);
    Py_VISIT(self->handle);
    return 0;
}

/* The context is kept: an object that is found during the collection of a cycle must still be usable, and a cycle
 * always contains a dictionary, which is cleared. */
static int clear_object(PyObject *item) {
    table_remove(((object *)item)->token, (object *)item);
    return 0;
}

/* Releases the handle of an object. While the context owns its own handle, the release frees nothing but the object: it
 * does not wait, so that the interpreter lock, whose release is slow, can be kept. */
static void release(const object *self) {
    bool frees_only_the_object = !releases_can_wait && self->context &&
                                 PyObject_TypeCheck(self->context, context_type) &&
                                 ((context_base *)self->context)->is_held;
    if (frees_only_the_object)
        library.release((void *)(uintptr_t)self->token);
    else
        library_release(self->token);
}

static void free_object(PyObject *item) {
    object *self = (object *)item;
    PyTypeObject *kind = Py_TYPE(item);
    PyObject_GC_UnTrack(item);
    table_remove(self->token, self);
    object_drop_values(self);
    if (self->owns) release(self);
    Py_CLEAR(self->handle);
    Py_CLEAR(self->context);
    PyObject_GC_Del(item);
    Py_DECREF(kind);
}

/* wrap(kind, context, hold, token): a new object that owns the handle of the owner `hold`. */
static PyObject *wrap(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    if (count != 4) return PyErr_Format(PyExc_TypeError, "wrap takes 4 arguments");
    uint64_t token = PyLong_AsUnsignedLongLong(arguments[3]);
    if (PyErr_Occurred()) return NULL;
    object *self = allocate((PyTypeObject *)arguments[0], arguments[1], token);
    if (!self) return NULL;
    Py_INCREF(arguments[2]);
    self->handle = arguments[2];
    if (token && table_add(token, self) < 0) Py_CLEAR(self);
    return (PyObject *)self;
}

/* Returns the object of a borrowed handle: a known one, or a new one that retains the handle. */
static PyObject *object_of(PyTypeObject *kind, PyObject *context, uint64_t token) {
    object *known = table_find(token);
    if (known) {
        Py_INCREF((PyObject *)known);
        return (PyObject *)known;
    }
    object *self = allocate(kind, context, token);
    if (!self) return NULL;
    /* The allocation can run a garbage collection and thereby any code, but no other code refers to the new object. */
    known = table_find(token);
    if (known) {
        self->token = 0;
        Py_DECREF((PyObject *)self);
        Py_INCREF((PyObject *)known);
        return (PyObject *)known;
    }
    self->owns = library.retain((void *)(uintptr_t)token) != NULL;
    if (table_add(token, self) < 0) {
        Py_DECREF((PyObject *)self);
        return NULL;
    }
    return (PyObject *)self;
}

PyObject *object_adopt(PyTypeObject *kind, PyObject *context, uint64_t token) {
    object *known = table_find(token), *made = NULL;
    Py_XINCREF((PyObject *)known);
    if (!known) {
        made = allocate(kind, context, token);
        if (!made) {
            library_release(token);
            return NULL;
        }
        /* The allocation can run a garbage collection and thereby any code. */
        known = table_find(token);
        Py_XINCREF((PyObject *)known);
    }
    if (known) {
        if (made) made->token = 0;
        Py_XDECREF((PyObject *)made);
        library_release(token);
        return (PyObject *)known;
    }
    made->owns = true;
    if (table_add(token, made) < 0) Py_CLEAR(made);
    return (PyObject *)made;
}

/* wrap_all(kind, context, address, count): the objects of an array of borrowed handles of one entity. */
static PyObject *wrap_all(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    if (count != 4) return PyErr_Format(PyExc_TypeError, "wrap_all takes 4 arguments");
    const uint64_t *tokens = PyLong_AsVoidPtr(arguments[2]);
    Py_ssize_t size = PyLong_AsSsize_t(arguments[3]);
    if (PyErr_Occurred()) return NULL;
    PyObject *found = PyList_New(size);
    for (Py_ssize_t i = 0; found && i < size; i++) {
        PyObject *item = object_of((PyTypeObject *)arguments[0], arguments[1], tokens[i]);
        if (item)
            PyList_SetItem(found, i, item);
        else
            Py_CLEAR(found);
    }
    return found;
}

/* Returns the class of an entity, borrowed: `classes` has those that are known, and `find_class` returns others. */
static PyTypeObject *class_of(const cst_entity *entity, PyObject *classes, PyObject *find_class) {
    PyObject *number = PyLong_FromUnsignedLongLong((uint64_t)(uintptr_t)entity);
    if (!number) return NULL;
    PyObject *found = PyDict_GetItemWithError(classes, number);
    if (!found && !PyErr_Occurred()) {
        PyObject *made = PyObject_CallFunctionObjArgs(find_class, number, NULL);
        if (made && PyDict_SetItem(classes, number, made) == 0) found = PyDict_GetItemWithError(classes, number);
        Py_XDECREF(made);
    }
    Py_DECREF(number);
    return (PyTypeObject *)found;
}

/* wrap_mixed(classes, find_class, context, address, count): the objects of an array of borrowed handles of any entity.
 * Returns None if an entity cannot be read, as of an object that has left its context. */
static PyObject *wrap_mixed(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    if (count != 5) return PyErr_Format(PyExc_TypeError, "wrap_mixed takes 5 arguments");
    const uint64_t *tokens = PyLong_AsVoidPtr(arguments[3]);
    Py_ssize_t size = PyLong_AsSsize_t(arguments[4]);
    if (PyErr_Occurred()) return NULL;
    cst_entity **entities = PyMem_Calloc((size_t)size + 1, sizeof *entities);
    PyObject *found = PyList_New(size);
    if (!entities || !found) {
        PyMem_Free(entities);
        Py_XDECREF(found);
        return PyErr_NoMemory();
    }
    cst_status status = CST_OK;
    PyThreadState *state = PyEval_SaveThread();
    for (Py_ssize_t i = 0; i < size && status >= 0; i++)
        status = library.object_entity((const cst_object *)(uintptr_t)tokens[i], &entities[i], NULL);
    PyEval_RestoreThread(state);
    for (Py_ssize_t i = 0; found && status >= 0 && i < size; i++) {
        PyTypeObject *kind = class_of(entities[i], arguments[0], arguments[1]);
        PyObject *item = kind ? object_of(kind, arguments[2], tokens[i]) : NULL;
        if (item)
            PyList_SetItem(found, i, item);
        else
            Py_CLEAR(found);
    }
    PyMem_Free(entities);
    if (status >= 0) return found;
    Py_DECREF(found);
    Py_RETURN_NONE;
}

/* find(token): the object of a token, or None. */
static PyObject *find(PyObject *module, PyObject *argument) {
    (void)module;
    uint64_t token = PyLong_AsUnsignedLongLong(argument);
    if (PyErr_Occurred()) return NULL;
    PyObject *found = (PyObject *)table_find(token);
    if (!found) found = Py_None;
    Py_INCREF(found);
    return found;
}

static int append(object *item, void *list) {
    /* Only the reference is added here. The allocation of the list could run code that changes the table. */
    PyObject ***end = list;
    Py_INCREF((PyObject *)item);
    *(*end)++ = (PyObject *)item;
    return 0;
}

static int add_one(object *item, void *number) {
    (void)item;
    ++*(size_t *)number;
    return 0;
}

/* objects(): all objects. */
static PyObject *objects(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    size_t number = 0;
    table_each(add_one, &number);
    PyObject **items = PyMem_Malloc((number + 1) * sizeof *items), **end = items;
    if (!items) return PyErr_NoMemory();
    table_each(append, &end);
    PyObject *list = PyList_New((Py_ssize_t)number);
    for (size_t i = 0; i < number; i++) {
        if (list)
            PyList_SetItem(list, (Py_ssize_t)i, items[i]);
        else
            Py_DECREF(items[i]);
    }
    PyMem_Free(items);
    return list;
}

/* ---- attributes */

static PyObject *not_set(const char *name) {
    PyErr_SetString(PyExc_AttributeError, name);
    return NULL;
}

static PyObject *get_context(PyObject *item, void *unused) {
    (void)unused;
    PyObject *context = ((object *)item)->context;
    if (!context) return not_set("_cst_context");
    Py_INCREF(context);
    return context;
}

static int set_context(PyObject *item, PyObject *value, void *unused) {
    (void)unused;
    if (!value) return not_set("_cst_context"), -1;
    set_reference(&((object *)item)->context, value);
    return 0;
}

static PyObject *get_token(PyObject *item, void *unused) {
    (void)unused;
    object *self = (object *)item;
    if (!self->context) return not_set("_cst_token");
    return PyLong_FromUnsignedLongLong(self->token);
}

static PyObject *get_handle(PyObject *item, void *unused) {
    (void)unused;
    object *self = (object *)item;
    if (!self->context) return not_set("_cst_handle");
    if (!self->handle) {
        PyObject *made = PyObject_CallFunction(make_argument, "K", self->owns ? (unsigned long long)self->token : 0);
        if (!made) return NULL;
        if (self->handle)
            Py_DECREF(made);
        else
            self->handle = made;
    }
    Py_INCREF(self->handle);
    return self->handle;
}

/* Does the same as object.__getattribute__ followed by the function `missing`. A class with a __getattr__ or a
 * __getattribute__ of its own has another function, which calls this one and then __getattr__. */
static PyObject *get_attribute(PyObject *self, PyObject *name) {
    PyObject *found = PyObject_GenericGetAttr(self, name);
    if (found || !missing || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
    if (PyType_GetSlot(Py_TYPE(self), Py_tp_getattro) != (void *)get_attribute) return NULL;
    PyErr_Clear();
    return PyObject_CallFunctionObjArgs(missing, self, name, NULL);
}

/* Does the same as object.__setattr__, with another message for an unknown name. A method and not a slot of the type,
 * because object.__setattr__ refuses objects of a type with another slot. */
static PyObject *set_attribute(PyObject *self, PyObject *const *arguments, Py_ssize_t count) {
    if (count != 2)
        return PyErr_Format(PyExc_TypeError, "expected 2 arguments, got %zd", count); /* like object.__setattr__ */
    if (PyObject_GenericSetAttr(self, arguments[0], arguments[1]) == 0) Py_RETURN_NONE;
    if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return NULL;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *other = PyObject_CallFunctionObjArgs(refusal, self, arguments[0], NULL);
    if (other && other == Py_None) {
        PyErr_Restore(type, value, traceback);
    } else {
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(traceback);
        if (other) PyErr_SetObject((PyObject *)Py_TYPE(other), other);
    }
    Py_XDECREF(other);
    return NULL;
}

/* set_functions(make_argument, refusal, missing) */
static PyObject *set_functions(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    if (count != 3) return PyErr_Format(PyExc_TypeError, "set_functions takes 3 arguments");
    set_reference(&missing, arguments[2]);
    set_reference(&make_argument, arguments[0]);
    set_reference(&refusal, arguments[1]);
    Py_RETURN_NONE;
}

/* releases_can_wait(): from now on, the interpreter lock is released around every release of an object. */
static PyObject *let_releases_wait(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    releases_can_wait = true;
    Py_RETURN_NONE;
}

static PyGetSetDef attributes[] = {
    {"_cst_context", get_context, set_context, NULL, NULL},
    {"_cst_handle", get_handle, NULL, NULL, NULL},
    {"_cst_token", get_token, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyMethodDef methods[] = {
    {"__setattr__", (PyCFunction)(void (*)(void))set_attribute, METH_FASTCALL, "Sets an attribute."},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot slots[] = {
    {Py_tp_doc, "The base type of managed objects."},
    {Py_tp_dealloc, free_object},
    {Py_tp_traverse, visit_object},
    {Py_tp_clear, clear_object},
    {Py_tp_getattro, get_attribute},
    {Py_tp_getset, attributes},
    {Py_tp_methods, methods},
    {0, NULL},
};
static PyType_Spec spec = {
    "corestone._accelerator.Object",
    sizeof(object),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    slots,
};
static PyMethodDef functions[] = {
    {"wrap", (PyCFunction)(void (*)(void))wrap, METH_FASTCALL, NULL},
    {"wrap_all", (PyCFunction)(void (*)(void))wrap_all, METH_FASTCALL, NULL},
    {"wrap_mixed", (PyCFunction)(void (*)(void))wrap_mixed, METH_FASTCALL, NULL},
    {"find", find, METH_O, NULL},
    {"objects", objects, METH_NOARGS, NULL},
    {"releases_can_wait", let_releases_wait, METH_NOARGS, NULL},
    {"set_functions", (PyCFunction)(void (*)(void))set_functions, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef context_members[] = {
    {"_cst_is_held", T_BOOL, offsetof(context_base, is_held), 0, NULL},
    {NULL, 0, 0, 0, NULL},
};
static PyType_Slot context_slots[] = {{Py_tp_members, context_members}, {0, NULL}};
static PyType_Spec context_spec = {
    "corestone._accelerator.ContextBase",     sizeof(context_base), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, context_slots,
};

int object_setup(PyObject *module) {
    context_type = (PyTypeObject *)PyType_FromSpec(&context_spec);
    if (!context_type) return -1;
    Py_INCREF((PyObject *)context_type);
    if (PyModule_AddObject(module, "ContextBase", (PyObject *)context_type) < 0) return -1;
    object_type = (PyTypeObject *)PyType_FromSpec(&spec);
    if (!object_type) return -1;
    Py_INCREF((PyObject *)object_type);
    if (PyModule_AddObject(module, "Object", (PyObject *)object_type) < 0) return -1;
    return PyModule_AddFunctions(module, functions);
}
