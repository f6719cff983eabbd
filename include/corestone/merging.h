/* corestone/merging.h: merge policies and conflicts
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_MERGING_H
#define CORESTONE_MERGING_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ======== merging ======================================================================================== */
/* A save may find that an object was changed or deleted elsewhere since it was read (a conflict of versions), or that
 * another object has values that must be unique (a conflict of a constraint). The context's merge policy settles them, and the
 * save is tried again, at most 16 times; what is not settled fails it with CST_E_CONFLICT, and the error has the conflicts. */

enum {
    CST_MERGE_ERROR = 0,        /* the save fails */
    CST_MERGE_STORE_TRUMP = 1,  /* what both sides changed keeps the store's value; all else is merged */
    CST_MERGE_OBJECT_TRUMP = 2, /* what both sides changed keeps the object's value; all else is merged */
    CST_MERGE_OVERWRITE = 3,    /* the whole object is written */
    CST_MERGE_ROLLBACK = 4      /* the object takes the store's state */
};

enum {
    CST_CONFLICT_CONTEXT = 1,   /* the row cache is newer than the object: another context saved it */
    CST_CONFLICT_STORE = 2,     /* the store is newer than the row cache: another program saved it */
    CST_CONFLICT_CONSTRAINT = 3 /* unique values that another object has */
};

enum {
    CST_SNAPSHOT_OBJECT = 0,    /* what the object was last read with; for a unique constraint, what it holds */
    CST_SNAPSHOT_CURRENT = 1,   /* what it holds, its changes included */
    CST_SNAPSHOT_CACHED = 2,    /* what the row cache holds */
    CST_SNAPSHOT_PERSISTED = 3, /* what the store holds, where the row cache holds something else */
    CST_SNAPSHOT_THEIRS = 4     /* what the object is in conflict with: the newest row, or the stored object */
};

/* Settles conflicts, all of versions or all of constraints, by cst_conflict_resolve and by setting values of objects; the
 * type of its policy settles what it leaves. Called on the context's queue within its save; it may not save,
 * reset, roll back, undo or refresh. The
 * conflicts are borrowed. A negative answer fails the save. */
typedef cst_status (*cst_resolve_conflicts_fn)(void *userdata, cst_context *context, size_t count,
                                               cst_conflict *const *conflicts, cst_error **error);

/* A policy of a type, CST_MERGE_…; `resolve` may be NULL. `destroy` is called once, when policy and contexts let go of it, or
 * at once on failure. */
CST_EXPORT CST_ANY_THREAD cst_status cst_merge_policy_new(int32_t type, cst_resolve_conflicts_fn resolve,
                                                          void *userdata, cst_destroy_fn destroy,
                                                          cst_merge_policy **out_policy CST_OWNED, cst_error **error);
/* CST_MERGE_…; CST_MERGE_ERROR for what is no policy. */
CST_EXPORT CST_ANY_THREAD int32_t cst_merge_policy_type(const cst_merge_policy *policy);
/* The context keeps the policy. NULL: CST_MERGE_ERROR, as at first. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_set_merge_policy(cst_context *context, const cst_merge_policy *policy,
                                                                cst_error **error);
CST_EXPORT CST_ON_QUEUE cst_status cst_context_merge_policy(cst_context *context,
                                                            cst_merge_policy **out_policy CST_OWNED, cst_error **error);
/* Has the next save check that the object, although it is not changed, is still what the store has; else it is a conflict of
 * versions. Ends with that save, a rollback or a reset. Fires a fault; nothing for an object that was never saved. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_detect_conflicts(cst_context *context, cst_object *object,
                                                                cst_error **error);
/* The conflicts of an error of a save. */
CST_EXPORT CST_ANY_THREAD size_t cst_error_conflict_count(const cst_error *error);
CST_EXPORT CST_ANY_THREAD CST_BORROWED const cst_conflict *cst_error_conflict_at(const cst_error *error, size_t index);
/* CST_CONFLICT_…; 0 for what is no conflict. */
CST_EXPORT CST_ANY_THREAD int32_t cst_conflict_kind(const cst_conflict *conflict);
/* For people, with the three values of each property that differs. */
CST_EXPORT CST_ANY_THREAD CST_BORROWED cst_string cst_conflict_message(const cst_conflict *conflict);
/* The objects of the context: one, or all that have the same unique values and are not saved. */
CST_EXPORT CST_ANY_THREAD size_t cst_conflict_object_count(const cst_conflict *conflict);
CST_EXPORT CST_ANY_THREAD CST_BORROWED const cst_object_id *cst_conflict_object_id_at(const cst_conflict *conflict,
                                                                                      size_t index);
/* The stored object that has the unique values; NULL for every other conflict. */
CST_EXPORT CST_ANY_THREAD CST_BORROWED const cst_object_id *cst_conflict_database_id(const cst_conflict *conflict);
/* The version that the object was read with, 0 for a new one, and the one that is there now: 0 for a row that is not there. */
CST_EXPORT CST_ANY_THREAD int64_t cst_conflict_old_version(const cst_conflict *conflict);
CST_EXPORT CST_ANY_THREAD int64_t cst_conflict_new_version(const cst_conflict *conflict);
/* The properties concerned, by name: those that were changed here or there, or those of the constraint. */
CST_EXPORT CST_ANY_THREAD size_t cst_conflict_property_count(const cst_conflict *conflict);
CST_EXPORT CST_ANY_THREAD CST_BORROWED cst_string cst_conflict_property_at(const cst_conflict *conflict, size_t index);
/* What a snapshot, CST_SNAPSHOT_…, has for an attribute, or the ID of a to-one target; `index` is that of the object. The
 * view is valid as long as the conflict. CST_NOT_FOUND when there is no such snapshot, object or property; to-many
 * relationships are in none. */
CST_EXPORT CST_ANY_THREAD cst_status cst_conflict_value(const cst_conflict *conflict, int32_t snapshot, size_t index,
                                                        cst_string property, cst_value *out_value CST_BORROWED,
                                                        cst_error **error);
/* Settles a conflict as a policy of a type, CST_MERGE_…, does; objects are changed at once, so that values may be set on top.
 * CST_MERGE_ERROR settles nothing. CST_E_INVALID_ARGUMENT unless its save is asking the policy. */
CST_EXPORT CST_ON_QUEUE cst_status cst_conflict_resolve(cst_conflict *conflict, int32_t type, cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
