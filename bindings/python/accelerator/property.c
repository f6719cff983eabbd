/* property.c: the descriptors of attributes and to-one relationships, a subclass of `property`.
 *
 * The getter and the setter in Python (fget, fset) do the same, and do it for everything that is not frequent: faults
 * whose rows are not in memory, values that must be converted, wrong threads, observed objects, and all failures.
 *
 * A cached value is valid while the change stamp of the object is the one for which it was cached, on the thread that
 * owns the object. cst_object_try_get runs no code of the host, so the stamp after a call belongs to its value.
 *
 * SPDX-License-Identifier: MIT
 */
#include "accelerator.h"

#include <stddef.h>
#include <structmember.h>

/* The fields of a descriptor, behind those of `property`, whose size differs between versions of Python. */
struct fields {
    PyObject *doc;    /* `property` would keep it where the class's own __doc__ hides it */
    PyObject *owner;  /* the class that has the property; only its objects have the key */
    PyObject *target; /* for a relationship: the entity of the targets; else NULL */
    cst_key key;
    int type; /* the type of an attribute that is set here; otherwise 0 */
};
static size_t fields_offset;
static struct fields *fields_of(PyObject *self) { return (struct fields *)((char *)self + fields_offset); }

static PyObject *name_object;
static descrgetfunc base_get;
static descrsetfunc base_set;
static traverseproc base_traverse;
static inquiry base_clear;

static inline object *own_object(const struct fields *fields, PyObject *item) {
    PyTypeObject *kind = Py_TYPE(item), *owner = (PyTypeObject *)fields->owner;
    return owner && (kind == owner || PyType_IsSubtype(kind, owner)) ? (object *)item : NULL;
}

static PyObject *target_of(const struct fields *fields, object *item, const cst_value *value) {
    uint64_t token = (uint64_t)(uintptr_t)value->as.object;
    PyObject *known = (PyObject *)table_find(token);
    if (known) {
        Py_INCREF(known);
        return known;
    }
    if (!item->context) return NULL;
    PyObject *number = PyLong_FromUnsignedLongLong(token);
    if (!number) return NULL;
    PyObject *found = PyObject_CallMethodObjArgs(item->context, name_object, number, fields->target, NULL);
    Py_DECREF(number);
    return found;
}

static PyObject *get(PyObject *self, PyObject *item, PyObject *kind) {
    const struct fields *fields = fields_of(self);
    object *own = item && item != Py_None ? own_object(fields, item) : NULL;
    if (!own) return base_get(self, item, kind);
    unsigned slot = fields->key & (MAX_SLOTS - 1);
    if (object_is_current(own)) {
        PyObject *known = object_value(own, slot);
        if (known) {
            Py_INCREF(known);
            return known;
        }
    } else if (own->has_values && object_changes(own) != own->stamp) {
        object_drop_values(own);
    }
    cst_value value;
    if (library.try_get((const cst_object *)(uintptr_t)own->token, fields->key, &value) != CST_OK)
        return base_get(self, item, kind);
    if (value.type == CST_OBJECT) {
        if (!fields->target) return base_get(self, item, kind);
        return target_of(fields, own, &value);
    }
    if (!own->changes && !object_find_stamp(own)) return base_get(self, item, kind);
    uint32_t stamp = object_changes(own);
    PyObject *found = value_decode(&value);
    if (!found) return PyErr_Occurred() ? NULL : base_get(self, item, kind);
    /* The allocation of the value can run a garbage collection and thereby any code. */
    if (!fields->target && value_is_small(&value) && stamp == object_changes(own)) object_keep(own, slot, found);
    return found;
}

/* Returns whether a value of a type is read as the same Python value. A date is read as one in UTC, and an integer of a
 * floating-point attribute as a float. */
static bool reads_as_given(int attribute, cst_type type) {
    switch (type) {
    case CST_NULL:
        return true;
    case CST_STRING:
        return attribute == CST_ATTRIBUTE_STRING;
    case CST_DOUBLE:
        return attribute == CST_ATTRIBUTE_DOUBLE;
    case CST_BOOL:
        return attribute == CST_ATTRIBUTE_BOOLEAN;
    case CST_INT:
        return attribute == CST_ATTRIBUTE_INTEGER_16 || attribute == CST_ATTRIBUTE_INTEGER_32 ||
               attribute == CST_ATTRIBUTE_INTEGER_64;
    default:
        return false;
    }
}

static int set(PyObject *self, PyObject *item, PyObject *value) {
    const struct fields *fields = fields_of(self);
    object *own = value && fields->type ? own_object(fields, item) : NULL;
    cst_value given = {.type = CST_NULL};
    if (!own || (value != Py_None && !value_encode(value, &given))) return base_set(self, item, value);
    bool was_current = own->has_values && own->changes && object_changes(own) == own->stamp;
    if (library.try_set((cst_object *)(uintptr_t)own->token, fields->key, &given) != CST_OK)
        return base_set(self, item, value);
    if (!was_current) return 0;
    /* Nothing but this value has changed. */
    own->stamp = object_changes(own);
    unsigned slot = fields->key & (MAX_SLOTS - 1);
    if (reads_as_given(fields->type, given.type) && value_is_small(&given)) {
        object_keep(own, slot, value);
    } else if (object_value(own, slot)) {
        object_drop_values(own);
    }
    return 0;
}

static int visit_fields(PyObject *self, visitproc visit, void *arg) {
    struct fields *fields = fields_of(self);
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(fields->owner);
    Py_VISIT(fields->target);
    return base_traverse(self, visit, arg);
}

static int clear(PyObject *self) {
    struct fields *fields = fields_of(self);
    Py_CLEAR(fields->owner);
    Py_CLEAR(fields->target);
    return base_clear ? base_clear(self) : 0;
}

/* configure(doc, key, target or None, type): sets the fields of a new descriptor. */
static PyObject *configure(PyObject *self, PyObject *const *arguments, Py_ssize_t count) {
    if (count != 4) return PyErr_Format(PyExc_TypeError, "configure takes 4 arguments");
    struct fields *fields = fields_of(self);
    unsigned long key = PyLong_AsUnsignedLong(arguments[1]);
    if (PyErr_Occurred()) return NULL;
    fields->key = (cst_key)key;
    set_reference(&fields->doc, arguments[0]);
    PyObject *target = arguments[2] == Py_None ? NULL : arguments[2];
    set_reference(&fields->target, target);
    fields->type = (int)PyLong_AsLong(arguments[3]);
    if (PyErr_Occurred()) return NULL;
    Py_RETURN_NONE;
}

/* own(class): sets the class whose objects have the property. */
static PyObject *own(PyObject *self, PyObject *kind) {
    if (!PyType_Check(kind) || !PyType_IsSubtype((PyTypeObject *)kind, object_type))
        return PyErr_Format(PyExc_TypeError, "the owner must be a class of managed objects");
    set_reference(&fields_of(self)->owner, kind);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"configure", (PyCFunction)(void (*)(void))configure, METH_FASTCALL, NULL},
    {"own", own, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

/* Finds the functions of `property`, which a type without functions of its own inherits. PyType_GetSlot works for types
 * of the interpreter only from Python 3.10 on. */
static int find_base_functions(PyObject *bases) {
    static PyType_Slot none[] = {{0, NULL}};
    static PyType_Spec plain = {"corestone._accelerator._Plain", 0, 0, Py_TPFLAGS_DEFAULT, none};
    PyTypeObject *type = (PyTypeObject *)PyType_FromSpecWithBases(&plain, bases);
    if (!type) return -1;
    *(void **)&base_get = PyType_GetSlot(type, Py_tp_descr_get);
    *(void **)&base_set = PyType_GetSlot(type, Py_tp_descr_set);
    *(void **)&base_traverse = PyType_GetSlot(type, Py_tp_traverse);
    *(void **)&base_clear = PyType_GetSlot(type, Py_tp_clear);
    Py_DECREF((PyObject *)type);
    if (base_get && base_set && base_traverse) return 0;
    PyErr_SetString(PyExc_ImportError, "this version of Python has another kind of property");
    return -1;
}

int property_setup(PyObject *module) {
    name_object = PyUnicode_InternFromString("_object");
    PyObject *bases = PyTuple_Pack(1, (PyObject *)&PyProperty_Type);
    PyObject *size = PyObject_GetAttrString((PyObject *)&PyProperty_Type, "__basicsize__");
    if (!name_object || !bases || !size || find_base_functions(bases) < 0) return -1;
    fields_offset = (PyLong_AsSize_t(size) + 7) & ~(size_t)7;
    Py_DECREF(size);

    /* Members of this type are freed with the descriptor. */
    static PyMemberDef members[4];
    static const struct {
        const char *name;
        size_t offset;
    } named[] = {
        {"__doc__", offsetof(struct fields, doc)},
        {"_owner", offsetof(struct fields, owner)},
        {"_target", offsetof(struct fields, target)},
    };
    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
        members[i] = (PyMemberDef){named[i].name, T_OBJECT_EX, (Py_ssize_t)(fields_offset + named[i].offset), 0, NULL};
    PyType_Slot slots[] = {
        {Py_tp_descr_get, get},
        {Py_tp_descr_set, set},
        {Py_tp_traverse, visit_fields},
        {Py_tp_clear, clear},
        {Py_tp_members, members},
        {Py_tp_methods, methods},
        {0, NULL},
    };
    PyType_Spec spec = {"corestone._accelerator.Property", (int)(fields_offset + sizeof(struct fields)), 0,
                        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, slots};
    PyObject *type = PyType_FromSpecWithBases(&spec, bases);
    Py_DECREF(bases);
    return type ? PyModule_AddObject(module, "Property", type) : -1;
}
