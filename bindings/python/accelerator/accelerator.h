/* accelerator.h: what the files of the extension module corestone._accelerator share.
 *
 * The module makes managed objects, and reads and sets their attributes, without ctypes. It uses the stable ABI of
 * CPython 3.9, and only public functions of the library, whose addresses the package passes to `bind`. Whatever is not
 * frequent or can fail is left to the package: the module then calls the function in Python that does the same without
 * the module. So values, errors and their order are the same with and without it.
 *
 * Locks. All functions run with the interpreter lock (GIL). The library functions that are called without releasing it
 * neither wait for another thread nor call the host: cst_object_try_get and cst_object_try_set by their contract,
 * cst_object_get_stamp, cst_thread_id, cst_retain and cst_value_dispose because they only read and free memory and count
 * references. No thread can therefore hold a lock of the library that such a call needs while it waits for the GIL.
 *
 * The GIL is released around insertions, which can run hooks and free objects that other threads released. cst_release
 * can deallocate a context, and wait for its threads, whose hooks need the GIL. It is called without releasing the GIL
 * only for an object of a context that owns its own handle, because then the context stays, and only if no store of the
 * host exists, which would be notified of the object.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_ACCELERATOR_H
#define CORESTONE_ACCELERATOR_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x03090000
#include <Python.h>

#include <corestone.h>
#include <stdbool.h>
#include <stdint.h>

/* In the stable ABI since 3.10, and the same in 3.9. */
#ifndef METH_FASTCALL
#define METH_FASTCALL 0x0080
#endif
const char *PyUnicode_AsUTF8AndSize(PyObject *text, Py_ssize_t *size);

/* Stores a new reference, or NULL, and then releases the former one. */
static inline void set_reference(PyObject **place, PyObject *value) {
    PyObject *former = *place;
    Py_XINCREF(value);
    *place = value;
    Py_XDECREF(former);
}

/* ---- library.c: the functions of the library */

/* The types come from the headers, so that the compiler checks every call. */
struct library {
    __typeof__(&cst_retain) retain;
    __typeof__(&cst_release) release;
    __typeof__(&cst_thread_id) thread_id;
    __typeof__(&cst_object_try_get) try_get;
    __typeof__(&cst_object_try_set) try_set;
    __typeof__(&cst_object_entity) object_entity;
    __typeof__(&cst_object_state) object_state;
    __typeof__(&cst_object_set_many) set_many;
    __typeof__(&cst_object_set_members) set_members;
    __typeof__(&cst_context_insert) context_insert;
    __typeof__(&cst_context_delete) context_delete;
    __typeof__(&cst_context_object_with_id) object_with_id;
    __typeof__(&cst_value_dispose) value_dispose;
    __typeof__(&cst_object_get_stamp) get_stamp;
};
extern struct library library;

PyObject *library_bind(PyObject *module, PyObject *addresses);
void library_release(uint64_t token);

/* The ID of the calling thread, which the library returns at its first call. A forked child does not have an ID. */
extern _Thread_local uint64_t own_thread;
uint64_t library_name_thread(void);
static inline uint64_t thread_id(void) {
    uint64_t id = own_thread;
    return __builtin_expect(id != 0, 1) ? id : library_name_thread();
}

/* ---- object.c: managed objects */

enum { INLINE_VALUES = 8, MAX_SLOTS = 4096 };

typedef struct object {
    PyObject_HEAD uint64_t token;
    PyObject *context;
    /* What ctypes passes as the handle; NULL before it is needed. */
    PyObject *handle;
    /* The addresses that cst_object_get_stamp returned; NULL before the first read. */
    const uint32_t *changes;
    const uint64_t *thread;
    /* The thread that last used the object as its owner. */
    uint64_t user;
    /* The change stamp for which the cached values are valid. */
    uint32_t stamp;
    /* Whether the module owns a reference to the handle; false if `handle` owns it. */
    bool owns;
    bool has_values;
    uint16_t more_count;
    /* Cached values by slot: the first ones here, others in `more`. */
    PyObject *values[INLINE_VALUES];
    PyObject **more;
} object;

extern PyTypeObject *object_type;

int object_setup(PyObject *module);
void object_drop_values(object *self);
/* Reads the stamp of an object, on the thread that owns it. Returns false if the library returns an error. */
bool object_find_stamp(object *self);
/* Sets the stamp of the object to the current one, on the thread that owns it; values of another stamp are discarded.
 * Returns false on failure. */
bool object_update_stamp(object *self);
/* Returns the object of a handle whose reference the caller owns, and takes over the reference. */
PyObject *object_adopt(PyTypeObject *kind, PyObject *context, uint64_t token);
/* Caches a value for the current stamp. */
void object_keep(object *self, unsigned slot, PyObject *value);

static inline uint32_t object_changes(const object *self) { return __atomic_load_n(self->changes, __ATOMIC_ACQUIRE); }

/* Whether the object still has a stamp and belongs to this thread.
 *
 * The address of the thread belongs to the stamp: an object that leaves its context has another address, and its counter
 * is incremented before the former address is freed. The counter is therefore compared before the thread is read, and
 * again afterwards, because the owner of the object does not need the interpreter lock to end the context. Threads that
 * have not used the object do not read the address at all. */
static inline bool object_has_stamp(const object *self, uint32_t stamp) {
    uint64_t thread = thread_id();
    return self->changes && self->user == thread && object_changes(self) == stamp &&
           __atomic_load_n(self->thread, __ATOMIC_ACQUIRE) == thread && object_changes(self) == stamp;
}

/* Whether the cached values are valid on this thread. */
static inline bool object_is_current(const object *self) { return object_has_stamp(self, self->stamp); }

/* Returns a cached value, borrowed; NULL without a cached value. */
static inline PyObject *object_value(const object *self, unsigned slot) {
    if (__builtin_expect(slot < INLINE_VALUES, 1)) return self->values[slot];
    slot -= INLINE_VALUES;
    return slot < self->more_count ? self->more[slot] : NULL;
}

/* ---- table.c: the objects of the process by token */

object *table_find(uint64_t token);
int table_add(uint64_t token, object *item);
void table_remove(uint64_t token, const object *item);
/* Calls `visit` with each object that is not being deallocated, until it returns a number other than 0. */
int table_each(int (*visit)(object *item, void *argument), void *argument);

/* ---- property.c: the descriptors of attributes and to-one relationships */

int property_setup(PyObject *module);

/* ---- arrow.c, columns.c, identifier.c, insert.c */

int arrow_setup(PyObject *module);
int columns_setup(PyObject *module);
int identifier_setup(PyObject *module);
int insert_setup(PyObject *module);

/* ---- values.c: values of the library and of Python */

int values_setup(PyObject *module);
/* Returns the Python value of a plain value; NULL without an exception for a value that Python must decode. */
PyObject *value_decode(const cst_value *value);
/* Returns the datetime of a number of microseconds since 2001; NULL without an exception for other dates. */
PyObject *value_datetime(int64_t micros);
/* Whether the value may be cached. */
bool value_is_small(const cst_value *value);
/* Fills a value, which is valid as long as the Python value. Returns false if Python must encode it. */
bool value_encode(PyObject *value, cst_value *out);

#endif
