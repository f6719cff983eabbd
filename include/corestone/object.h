/* corestone/object.h: managed objects and their values.
 *
 * An object has the attributes and relationships of its entity. cst_object_get and cst_object_set get and set them by
 * key (cst_entity_key). The _path functions use a name or a key path; the _many and _paths functions get or set several
 * properties. The member functions read and change to-many relationships. Setting one side of a relationship also
 * changes the inverse. cst_object_state reports whether the object is inserted, updated, deleted or a fault;
 * cst_object_refresh reads the newest state of the store.
 *
 * An object is used on the queue of its context. The caller owns the handles that are marked CST_OWNED, and objects
 * retain their context. Text and bytes that are read from an object are views; input is copied.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_OBJECT_H
#define CORESTONE_OBJECT_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Creates an object outside every context, confined to the calling thread; cst_context_insert_object inserts it.
 * Freezes the model. The object retains its related objects, so a reference cycle of such objects is never freed unless
 * the host breaks the cycle. */
CST_EXPORT CST_ANY_THREAD cst_status cst_object_new(const cst_entity *entity, cst_object **out_object CST_OWNED,
                                                    cst_error **error);

/* Returns the value of an attribute, or the target of a to-one relationship (CST_OBJECT, borrowed). Text and bytes are
 * views, valid until the property is set, or the object is refreshed or released. Fires a fault. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_get(const cst_object *object, cst_key key,
                                                  cst_value *out_value CST_BORROWED, cst_error **error);

/* Does the same as cst_object_get, if that does not read the store, wait or call the host. Otherwise returns
 * CST_NOT_FOUND or, like cst_object_get, a failure: call cst_object_get then, which returns the error. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_try_get(const cst_object *object, cst_key key,
                                                      cst_value *out_value CST_BORROWED);

/* Sets an attribute like cst_object_set, unless that would read the store, wait, call the host or convert the value.
 *
 * The exception is an integer for a Double attribute, which is converted. Otherwise changes nothing and returns
 * CST_UNCHANGED or, like cst_object_set, a failure: call cst_object_set then. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_try_set(cst_object *object, cst_key key, const cst_value *value);

/* Where a host that caches values of attributes finds out whether they are still valid. Start from
 * CST_OBJECT_STAMP_INIT.
 *
 * Every change of an attribute's value increments *changes, whether it is a change by the host, an undo, a redo, a
 * rollback, a refresh, a merge, a save or a deletion, and so does the end of the object's membership in its context.
 * Other events may increment it too. The number starts again at 0 after 2^32 changes. An attribute's value that
 * cst_object_try_get returned is valid while *changes has the value that it had after the call, on the thread with the
 * ID *thread (cst_thread_id).
 *
 * Targets of to-one relationships must not be cached: the target can change, for example by its deletion in another
 * context, without an increment of *changes. */
typedef struct cst_object_stamp {
    size_t struct_size;
    const uint32_t *changes; /* valid until the handle of the object is released */
    const uint64_t *thread;  /* valid while *changes is unchanged */
} cst_object_stamp;
#define CST_OBJECT_STAMP_INIT {sizeof(cst_object_stamp), 0, 0}

/* Fills a struct with the addresses of an object's change counter and thread ID. The struct must be initialised with
 * CST_OBJECT_STAMP_INIT. */
CST_EXPORT CST_ANY_THREAD cst_status cst_object_get_stamp(const cst_object *object, cst_object_stamp *out_stamp,
                                                          cst_error **error);

/* Fills a buffer with the text or bytes of an attribute, a copy that later changes do not affect. A large value in a
 * backing file is read for this call only; cst_object_get keeps it in memory as long as its view is valid. Returns
 * CST_NOT_FOUND and empties the buffer if the value is null. Fails with CST_E_TYPE_MISMATCH for an attribute of another
 * type and for a relationship, even if the value is null. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_copy_bytes(const cst_object *object, cst_key key, cst_buffer *out_bytes,
                                                         cst_error **error);

/* Sets an attribute or a to-one relationship and its inverse. The value is copied. An integer is converted to a double,
 * a whole double to an integer, and a number to a decimal. The integers 0 and 1 are converted to a boolean, a boolean
 * to 0 or 1, and a string to a URI.
 *
 * CST_E_TYPE_MISMATCH for a value that cannot be converted.
 * CST_E_VALIDATION for an integer that the type of the attribute cannot represent. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_set(cst_object *object, cst_key key, const cst_value *value,
                                                  cst_error **error);

/* Returns the values of `count` properties in the order of `keys`, like cst_object_get. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_get_many(const cst_object *object, size_t count, const cst_key *keys,
                                                       cst_value *out_values CST_BORROWED, cst_error **error);

/* Sets `count` properties, or no property on failure, like cst_object_set. Other changes of a hook for null that fails
 * may remain (docs/reference/lifecycle.md). */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_set_many(cst_object *object, size_t count, const cst_key *keys,
                                                       const cst_value *values, cst_error **error);

/* Returns the value at a name or a key path ("name", "department.name", "employees.@count", "employees.@sum.salary").
 * Views are valid like those of cst_object_get. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_get_path(const cst_object *object, cst_string path,
                                                       cst_value *out_value CST_BORROWED, cst_error **error);

/* Sets the property at a name or a key path, like cst_object_set. The path must end at a property of one object. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_set_path(cst_object *object, cst_string path, const cst_value *value,
                                                       cst_error **error);

/* Returns the values at `count` names or key paths, in the order of `paths`, like cst_object_get_path. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_get_paths(const cst_object *object, size_t count, const cst_string *paths,
                                                        cst_value *out_values CST_BORROWED, cst_error **error);

/* Sets the properties at `count` names or key paths, or no property on failure, like cst_object_set_many. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_set_paths(cst_object *object, size_t count, const cst_string *paths,
                                                        const cst_value *values, cst_error **error);

/* Sets an attribute or a to-one relationship without change tracking.
 *
 * The object does not count as changed, and an inverse does not change. A save writes the value if the object also has
 * a tracked change; a refresh discards it. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_set_primitive(cst_object *object, cst_key key, const cst_value *value,
                                                            cst_error **error);

/* Returns the value of an attribute or a to-one relationship as it was last fetched or saved. Targets are
 * CST_OBJECT_ID. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_get_committed(const cst_object *object, cst_key key,
                                                            cst_value *out_value CST_BORROWED, cst_error **error);

/* Returns the value of a transformable attribute as a value of the host.
 *
 * The attribute's transformer or class (cst_archive_register_class) created the value. The pointer is the same until
 * the attribute is set or the object is refreshed or released; it is NULL for null. cst_object_get returns the bytes.
 *
 * CST_E_UNSUPPORTED if the transformer is not registered; the message names the transformer.
 * CST_E_TYPE_MISMATCH for an attribute without values of the host. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_get_transformed(const cst_object *object, cst_key key,
                                                              void **out_value CST_BORROWED, cst_error **error);

/* Sets a transformable attribute to a value of the host. If the call succeeds, the library owns the value. NULL clears
 * the attribute. The value must not change afterwards. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_set_transformed(cst_object *object, cst_key key, void *value,
                                                              cst_error **error);

/* Whether a property has been set since the last fetch or save, even to an equal value. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_is_changed(const cst_object *object, cst_key key, bool *out_changed,
                                                         cst_error **error);

/* Checks the object like a save that inserts, updates or deletes it. `purpose` is a CST_VALIDATE_ constant. If one
 * check fails, CST_E_VALIDATION is the error of this check, with entity, key, value, predicate and object. If several
 * fail, the error has the code CST_CODE_VALIDATION_MULTIPLE_ERRORS and a detail for each. Fires a fault. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_validate(const cst_object *object, uint32_t purpose, cst_error **error);

/* Checks a value of an attribute, or a target of a to-one relationship, as a save would check it. The object does not
 * change. `out_value`, which may be NULL, receives the value as the object would store it. Its text and bytes are those
 * of `value`, or of a value that a validator stored instead, valid until the next such call for the property. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_validate_value(const cst_object *object, cst_key key,
                                                             const cst_value *value, cst_value *out_value CST_BORROWED,
                                                             cst_error **error);

/* Returns the number of members of a to-many relationship. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_member_count(const cst_object *object, cst_key key, size_t *out_count,
                                                           cst_error **error);

/* Returns a snapshot of the members of a to-many relationship, in order if the relationship is ordered. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_copy_members(const cst_object *object, cst_key key,
                                                           cst_results **out_members CST_OWNED, cst_error **error);

/* Returns the objects of a fetched property. The objects are fetched, including unsaved changes, by the first call, and
 * cached until `object` is refreshed or becomes a fault. Fails with CST_E_INVALID_ARGUMENT if there is no such fetched
 * property; other errors are those of a fetch. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_copy_fetched(cst_object *object, cst_string property,
                                                           cst_results **out_objects CST_OWNED, cst_error **error);

/* Whether an object is a member of a to-many relationship. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_has_member(const cst_object *object, cst_key key,
                                                         const cst_object *member, bool *out_contained,
                                                         cst_error **error);

/* Adds a member to a to-many relationship, at the end of an ordered one. Returns CST_UNCHANGED if the object is already
 * a member. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_add_member(cst_object *object, cst_key key, cst_object *member,
                                                         cst_error **error);

/* Adds `count` members to a to-many relationship, at the end of an ordered one. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_add_members(cst_object *object, cst_key key, size_t count,
                                                          cst_object *const *members, cst_error **error);

/* Removes a member from a to-many relationship. Returns CST_UNCHANGED if the object is not a member. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_remove_member(cst_object *object, cst_key key, cst_object *member,
                                                            cst_error **error);

/* Replaces all members of a to-many relationship. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_set_members(cst_object *object, cst_key key, size_t count,
                                                          cst_object *const *members, cst_error **error);

/* Inserts a member at an index of an ordered relationship, or moves it to that index. Has no effect if the member is
 * already at that index. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_insert_member(cst_object *object, cst_key key, size_t index,
                                                            cst_object *member, cst_error **error);

/* Returns the object's own entity, which may be a subentity of the fetched entity. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_entity(const cst_object *object, cst_entity **out_entity CST_BORROWED,
                                                     cst_error **error);

/* Returns the store of the object's row. Returns CST_NOT_FOUND while the object has a temporary ID. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_copy_store(const cst_object *object, cst_store **out_store CST_OWNED,
                                                         cst_error **error);

/* Returns the context of the object. Returns CST_NOT_FOUND for an object outside every context. */
CST_EXPORT CST_ANY_THREAD cst_status cst_object_context(const cst_object *object,
                                                        cst_context **out_context CST_BORROWED, cst_error **error);

/* Returns the ID of the object. The ID is temporary until the object is saved or receives a permanent ID. Fails with
 * CST_E_OBJECT_GONE for an object that was detached from its context. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_copy_id(const cst_object *object, cst_object_id **out_id CST_OWNED,
                                                      cst_error **error);

/* The state of an object, as flags. */
enum {
    CST_OBJECT_INSERTED = 1u << 0,
    CST_OBJECT_UPDATED = 1u << 1,
    CST_OBJECT_DELETED = 1u << 2,      /* deletion is pending */
    CST_OBJECT_FAULT = 1u << 3,        /* its values are not loaded */
    CST_OBJECT_TEMPORARY_ID = 1u << 4, /* the ID is temporary */
    CST_OBJECT_HAS_CHANGES = 1u << 5
};

/* Returns the CST_OBJECT_ flags of the object. Never fires a fault. An object that was detached from its context, for
 * which cst_object_context returns CST_NOT_FOUND, has only CST_OBJECT_FAULT. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_state(const cst_object *object, uint32_t *out_flags, cst_error **error);

/* Refreshes the object from the store. If `merge_changes` is true, the object receives the newest values and keeps its
 * unsaved changes. Otherwise the changes are discarded, and the object becomes a fault. Has no effect on an object
 * outside every context. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_refresh(cst_object *object, bool merge_changes, cst_error **error);

/* Returns the value of an attribute or a to-one relationship without firing a fault.
 *
 * For a fault, the value is CST_NULL. Otherwise like cst_object_get. The functions for primitive values, access and
 * changes are for hosts that implement accessors with change notification (docs/reference/object.md). */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_get_primitive(const cst_object *object, cst_key key,
                                                            cst_value *out_value CST_BORROWED, cst_error **error);

/* Returns the members of a to-many relationship without reading them from the store. Returns CST_NOT_FOUND if the
 * members are not loaded. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_copy_primitive_members(const cst_object *object, cst_key key,
                                                                     cst_results **out_members CST_OWNED,
                                                                     cst_error **error);

/* Sets the members of a to-many relationship without change tracking, like cst_object_set_primitive. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_set_primitive_members(cst_object *object, cst_key key, size_t count,
                                                                    cst_object *const *members, cst_error **error);

/* Announces that an accessor of the host is about to read a primitive value. Fires the fault of the object, and the
 * fault of a to-many relationship. CST_NO_KEY selects the whole object. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_will_access(cst_object *object, cst_key key, cst_error **error);

/* Announces that an accessor of the host has read a primitive value. CST_NO_KEY selects the whole object. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_did_access(cst_object *object, cst_key key, cst_error **error);

/* Announces that an accessor of the host is about to set a primitive value. Marks the object as changed and records
 * the former value for undo and observers. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_will_change(cst_object *object, cst_key key, cst_error **error);

/* Announces that an accessor of the host has set a primitive value: updates the inverse and notifies observers. Fails
 * with CST_E_INVALID_ARGUMENT without a preceding cst_object_will_change. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_did_change(cst_object *object, cst_key key, cst_error **error);

/* The kinds of changes of members, with Core Data's codes. The operands are added (union), are removed (minus), are the
 * only members that are kept (intersect), or replace all members (set). */
enum { CST_MUTATION_UNION = 1, CST_MUTATION_MINUS = 2, CST_MUTATION_INTERSECT = 3, CST_MUTATION_SET = 4 };

/* Announces that the host is about to change the members of a to-many relationship.
 *
 * The host changes them by cst_object_set_primitive_members. `mutation` is a CST_MUTATION_ constant; `members` are its
 * operands. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_will_change_members(cst_object *object, cst_key key, uint32_t mutation,
                                                                  size_t count, cst_object *const *members,
                                                                  cst_error **error);

/* Announces that the host has changed the members of a to-many relationship: updates inverses and notifies observers.
 * The arguments are those of cst_object_will_change_members. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_did_change_members(cst_object *object, cst_key key, uint32_t mutation,
                                                                 size_t count, cst_object *const *members,
                                                                 cst_error **error);

/* The values that cst_object_copy_values returns. */
enum {
    CST_VALUES_CHANGED = 1, /* the new values of properties that differ from the last fetch or save */
    CST_VALUES_BEFORE_EVENT =
        2, /* the former values of properties that changed since pending changes were last processed */
    CST_VALUES_COMMITTED = 3 /* the values of the last fetch or save, changed or not */
};

/* Returns values of persistent properties as one row, with a column for each property, sorted by name. `which` is a
 * CST_VALUES_ constant. `keys` selects properties; NULL selects all. Targets are IDs; members are arrays of IDs.
 * Relationship faults are not fired: members that are not loaded are CST_NULL. CST_VALUES_COMMITTED omits relationships
 * whose members are not loaded, unless `keys` selects them; then the members are read. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_copy_values(const cst_object *object, uint32_t which, size_t count,
                                                          const cst_key *keys, cst_rows **out_rows CST_OWNED,
                                                          cst_error **error);

/* Whether the value of a persistent property differs from that at the last fetch or save. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_has_persistent_changes(const cst_object *object, bool *out_changes,
                                                                     cst_error **error);

/* Returns the IDs of the targets of a relationship, including unsaved changes.
 *
 * A to-one relationship has at most one ID. The IDs of an ordered relationship are in order. Reads the store if
 * necessary, but does not create objects or fire faults. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_copy_related_ids(const cst_object *object, cst_key key,
                                                               cst_results **out_ids CST_OWNED, cst_error **error);

/* Whether the members of a relationship are not loaded, or its target is a fault. Does not read the store. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_has_relationship_fault(const cst_object *object, cst_key key,
                                                                     bool *out_fault, cst_error **error);

/* Creates a copy of an object in the same context, or outside every context if the original is. Objects up to `depth`
 * relationships away are cloned too, each once: along the `count` relationships of `including` (key paths from the
 * object: "lines", "lines.notes"), or along all relationships if `including` is NULL. The clones refer to each other
 * like the originals, in the same order. The other relationships of a clone refer to the same objects as those of its
 * original, or are empty if the original would lose these objects. Attributes of a unique constraint have the values of
 * a new object, unless `keeps_unique` is true. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_clone(const cst_object *object, size_t depth, size_t count,
                                                    const cst_string *including, bool keeps_unique,
                                                    cst_object **out_clone CST_OWNED, cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
