/* corestone/object.h: objects and their values
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_OBJECT_H
#define CORESTONE_OBJECT_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ======== object ========================================================================================= */

/* An object outside every context; cst_context_insert_object takes it in. Confined to the calling thread until then. It
 * keeps what it is related to: a circle of such objects stays for ever, unless the host undoes it before it lets go. */
CST_EXPORT CST_ANY_THREAD cst_status cst_object_new(const cst_entity *entity, cst_object **out_object CST_OWNED,
                                                    cst_error **error);
/* The value of an attribute, or the target of a to-one relationship (CST_OBJECT, borrowed). Text and bytes are views,
 * valid until this object is set, refreshed or released. Fires a fault. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_get(const cst_object *object, cst_key key,
                                                  cst_value *out_value CST_BORROWED, cst_error **error);
/* Text or bytes of an attribute, as a copy that no change of the object ends. A large value that lies in a file of its own
 * is read for this call alone: cst_object_get keeps it in memory as long as its view is valid, which adds up where many
 * objects stay. CST_NOT_FOUND and an empty buffer when the value is null. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_copy_bytes(const cst_object *object, cst_key key, cst_buffer *out_bytes,
                                                         cst_error **error);
/* Sets an attribute or a to-one relationship; inverses follow. An integer suits a double, a whole double an integer, any
 * number a decimal, 0 and 1 a boolean, a boolean an integer (as 0 or 1), a string a URI; nothing else is converted. Values
 * are copied. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_set(cst_object *object, cst_key key, const cst_value *value,
                                                  cst_error **error);
CST_EXPORT CST_ON_QUEUE cst_status cst_object_get_many(const cst_object *object, size_t count, const cst_key *keys,
                                                       cst_value *out_values CST_BORROWED, cst_error **error);
/* All or nothing. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_set_many(cst_object *object, size_t count, const cst_key *keys,
                                                       const cst_value *values, cst_error **error);
/* The value at a name or a key path ("name", "department.name", "employees.@count", "employees.@sum.salary"). */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_get_path(const cst_object *object, cst_string path,
                                                       cst_value *out_value CST_BORROWED, cst_error **error);
CST_EXPORT CST_ON_QUEUE cst_status cst_object_set_path(cst_object *object, cst_string path, const cst_value *value,
                                                       cst_error **error);
CST_EXPORT CST_ON_QUEUE cst_status cst_object_get_paths(const cst_object *object, size_t count, const cst_string *paths,
                                                        cst_value *out_values CST_BORROWED, cst_error **error);
CST_EXPORT CST_ON_QUEUE cst_status cst_object_set_paths(cst_object *object, size_t count, const cst_string *paths,
                                                        const cst_value *values, cst_error **error);
/* Sets an attribute or a to-one relationship and nothing else: the object does not count as changed, and an inverse stays as
 * it is. The value is saved when another change makes the object one to save; a refresh drops it. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_set_primitive(cst_object *object, cst_key key, const cst_value *value,
                                                            cst_error **error);
/* The value as it was last fetched or saved. To-one targets come as CST_OBJECT_ID. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_get_committed(const cst_object *object, cst_key key,
                                                            cst_value *out_value CST_BORROWED, cst_error **error);
/* The value of a transformable attribute through the transformer or the class (cst_archive_register_class) that a host
 * registered: the same pointer until the attribute is set or the object refreshed or released; NULL when the attribute is null.
 * CST_E_UNSUPPORTED names a transformer that is not registered, CST_E_TYPE_MISMATCH an attribute whose value is no host's. The
 * bytes are cst_object_get's. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_get_transformed(const cst_object *object, cst_key key,
                                                              void **out_value CST_BORROWED, cst_error **error);
/* Sets a transformable attribute to a value of the host's, which the library keeps and frees when it succeeds; NULL clears
 * it. The value counts as immutable. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_set_transformed(cst_object *object, cst_key key, void *value,
                                                              cst_error **error);
/* Whether the property was changed since the last fetch or save. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_is_changed(const cst_object *object, cst_key key, bool *out_changed,
                                                         cst_error **error);

/* Checks the object as a save would that inserts, updates or deletes it. CST_E_VALIDATION with the failure, or with code
 * CST_CODE_VALIDATION_MULTIPLE_ERRORS and a detail for each; entity, key, value, predicate and object are set. Fires a
 * fault. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_validate(const cst_object *object, uint32_t purpose, cst_error **error);
/* Checks a value as a save would check it if the property had it: an attribute's, or the target of a to-one relationship.
 * The object does not change. *out_value (out_value may be NULL) is the value as the object would hold it; its text and
 * bytes are those of `value`, or of what a validator put in its place, valid until the next such call for the property. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_validate_value(const cst_object *object, cst_key key,
                                                             const cst_value *value, cst_value *out_value CST_BORROWED,
                                                             cst_error **error);

/* A to-many relationship: how many members. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_member_count(const cst_object *object, cst_key key, size_t *out_count,
                                                           cst_error **error);
/* The members, a snapshot; in order when the relationship is ordered. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_copy_members(const cst_object *object, cst_key key,
                                                           cst_results **out_members CST_OWNED, cst_error **error);
/* What a fetched property finds: fetched when first asked for, with unsaved changes, and kept until the object is refreshed
 * or becomes a fault. CST_E_INVALID_ARGUMENT when there is no such fetched property; else what a fetch may fail with. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_copy_fetched(cst_object *object, cst_string property,
                                                           cst_results **out_objects CST_OWNED, cst_error **error);
CST_EXPORT CST_ON_QUEUE cst_status cst_object_has_member(const cst_object *object, cst_key key,
                                                         const cst_object *member, bool *out_contained,
                                                         cst_error **error);
/* Adds a member (at the end when ordered). CST_UNCHANGED when it was one already. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_add_member(cst_object *object, cst_key key, cst_object *member,
                                                         cst_error **error);
CST_EXPORT CST_ON_QUEUE cst_status cst_object_add_members(cst_object *object, cst_key key, size_t count,
                                                          cst_object *const *members, cst_error **error);
/* CST_UNCHANGED when it was none. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_remove_member(cst_object *object, cst_key key, cst_object *member,
                                                            cst_error **error);
/* Replaces all members. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_set_members(cst_object *object, cst_key key, size_t count,
                                                          cst_object *const *members, cst_error **error);
/* Ordered relationships: places a member at an index, from wherever it was; no change when it is there. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_insert_member(cst_object *object, cst_key key, size_t index,
                                                            cst_object *member, cst_error **error);

/* The object's own entity, which may inherit from the one that was fetched. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_entity(const cst_object *object, cst_entity **out_entity CST_BORROWED,
                                                     cst_error **error);
/* The object's context; CST_NOT_FOUND when it has none. */
CST_EXPORT CST_ANY_THREAD cst_status cst_object_context(const cst_object *object,
                                                        cst_context **out_context CST_BORROWED, cst_error **error);
CST_EXPORT CST_ON_QUEUE cst_status cst_object_copy_id(const cst_object *object, cst_object_id **out_id CST_OWNED,
                                                      cst_error **error);

enum {
    CST_OBJECT_INSERTED = 1u << 0,
    CST_OBJECT_UPDATED = 1u << 1,
    CST_OBJECT_DELETED = 1u << 2,      /* deletion is pending */
    CST_OBJECT_FAULT = 1u << 3,        /* its values were not asked for yet */
    CST_OBJECT_TEMPORARY_ID = 1u << 4, /* never saved */
    CST_OBJECT_HAS_CHANGES = 1u << 5
};
/* Never fires a fault. Of an object that left its context CST_OBJECT_FAULT alone, for which cst_object_context gives none. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_state(const cst_object *object, uint32_t *out_flags, cst_error **error);
/* Reads the store's newest state: with merge_changes the object keeps its own changes on top, else it drops them and
 * becomes a fault. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_refresh(cst_object *object, bool merge_changes, cst_error **error);

/* ---- primitive values, changes, differences, clones (docs/reference/object.md) */

/* What the object keeps for an attribute or a to-one relationship, as cst_object_get gives it, but no fault fires: CST_NULL of
 * a fault. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_get_primitive(const cst_object *object, cst_key key,
                                                            cst_value *out_value CST_BORROWED, cst_error **error);
/* The members of a to-many relationship that are in memory; CST_NOT_FOUND when nobody asked for them yet. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_copy_primitive_members(const cst_object *object, cst_key key,
                                                                     cst_results **out_members CST_OWNED,
                                                                     cst_error **error);
/* cst_object_set_primitive for the members of a to-many relationship. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_set_primitive_members(cst_object *object, cst_key key, size_t count,
                                                                    cst_object *const *members, cst_error **error);
/* What accessors of the host's own say before and after they read a primitive value. The first fires the fault, of a to-many
 * relationship too; CST_NO_KEY stands for the whole object. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_will_access(cst_object *object, cst_key key, cst_error **error);
CST_EXPORT CST_ON_QUEUE cst_status cst_object_did_access(cst_object *object, cst_key key, cst_error **error);
/* What they say before and after they set one. The first makes the object one that has changes and notes what there was, for
 * undo and observers; after the second inverses agree, and observers are told. CST_E_INVALID_ARGUMENT for a second without a
 * first. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_will_change(cst_object *object, cst_key key, cst_error **error);
CST_EXPORT CST_ON_QUEUE cst_status cst_object_did_change(cst_object *object, cst_key key, cst_error **error);
/* Core Data's codes: which members come (union), go (minus), alone stay (intersect), or take the place of all (set). */
enum { CST_MUTATION_UNION = 1, CST_MUTATION_MINUS = 2, CST_MUTATION_INTERSECT = 3, CST_MUTATION_SET = 4 };
/* The same around cst_object_set_primitive_members; `members` are those that the mutation is about. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_will_change_members(cst_object *object, cst_key key, uint32_t mutation,
                                                                  size_t count, cst_object *const *members,
                                                                  cst_error **error);
CST_EXPORT CST_ON_QUEUE cst_status cst_object_did_change_members(cst_object *object, cst_key key, uint32_t mutation,
                                                                 size_t count, cst_object *const *members,
                                                                 cst_error **error);

enum {
    CST_VALUES_CHANGED = 1,      /* the new values of what differs from what was last fetched or saved */
    CST_VALUES_BEFORE_EVENT = 2, /* what the properties were that changed since pending changes were last processed */
    CST_VALUES_COMMITTED = 3     /* what was last fetched or saved, changed or not */
};
/* Values of persistent properties as one row, whose columns are their names, sorted. `keys` chooses among them; NULL for all.
 * Targets and members are IDs, members arrays of them. No fault of a relationship fires: CST_NULL stands for members that nobody
 * loaded, and CST_VALUES_COMMITTED of all leaves such relationships out; asked for by its key it is read. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_copy_values(const cst_object *object, uint32_t which, size_t count,
                                                          const cst_key *keys, cst_rows **out_rows CST_OWNED,
                                                          cst_error **error);
/* Whether persistent properties differ by value from what was last fetched or saved. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_has_persistent_changes(const cst_object *object, bool *out_changes,
                                                                     cst_error **error);
/* The IDs that a relationship leads to, unsaved changes included: none or one where it is to-one, in order where it is ordered.
 * Reads the store where it must, but makes no object and fires no fault. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_copy_related_ids(const cst_object *object, cst_key key,
                                                               cst_results **out_ids CST_OWNED, cst_error **error);
/* Whether the members of a relationship were not asked for yet, or its target is a fault. Reads nothing. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_has_relationship_fault(const cst_object *object, cst_key key,
                                                                     bool *out_fault, cst_error **error);
/* A new object in the same context with the values of this one; outside every context if this one is. Objects up to `depth`
 * relationships away are cloned too, each once, along the `count` relationships of `including` (key paths from the object:
 * "lines", "lines.notes"), or along all where that is NULL; the clones lead to each other as the originals do, in the same
 * order. Other relationships lead to the same objects as before, unless these would be taken away from the original: then
 * they stay empty. Values that a unique constraint allows once are as in a new object, unless keeps_unique. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_clone(const cst_object *object, size_t depth, size_t count,
                                                    const cst_string *including, bool keeps_unique,
                                                    cst_object **out_clone CST_OWNED, cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
