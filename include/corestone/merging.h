/* corestone/merging.h: merge policies and conflicts of a save.
 *
 * A save finds a version conflict if another context or process changed or deleted the row of an object that the save
 * writes, since the object was read. A save finds a constraint conflict if another object has the same unique values.
 * The merge policy of the context resolves such conflicts, and the save is repeated, up to 16 times. If conflicts
 * remain unresolved, the save fails with CST_E_CONFLICT, and the error lists them. Without a policy every conflict
 * makes the save fail.
 *
 * cst_context_set_merge_policy sets the policy, which the caller creates with cst_merge_policy_new. Conflicts are
 * borrowed from the error or the call that passes them; they can be read on any thread.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_MERGING_H
#define CORESTONE_MERGING_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The types of merge policies. */
enum {
    CST_MERGE_ERROR = 0,        /* the save fails */
    CST_MERGE_STORE_TRUMP = 1,  /* merges; a property that both sides changed keeps the store's value */
    CST_MERGE_OBJECT_TRUMP = 2, /* merges; a property that both sides changed keeps the object's value */
    CST_MERGE_OVERWRITE = 3,    /* the whole object is written */
    CST_MERGE_ROLLBACK = 4      /* the object receives the state of the store */
};

/* The kinds of conflicts. */
enum {
    CST_CONFLICT_CONTEXT = 1,   /* the row cache is newer than the object: another context wrote the row */
    CST_CONFLICT_STORE = 2,     /* the store is newer than the row cache: another process or coordinator wrote */
    CST_CONFLICT_CONSTRAINT = 3 /* another object has the same unique values */
};

/* The snapshots of an object in conflict, for cst_conflict_value.
 *
 * CST_SNAPSHOT_CACHED has the values of CST_SNAPSHOT_OBJECT if the row is not cached. */
enum {
    CST_SNAPSHOT_OBJECT = 0, /* the values with which the object was last read; for a constraint, the object's values */
    CST_SNAPSHOT_CURRENT = 1,   /* the object's values, changes included */
    CST_SNAPSHOT_CACHED = 2,    /* the values in the row cache, or in the parent of a nested context */
    CST_SNAPSHOT_PERSISTED = 3, /* the values in the store, if they differ from the row cache */
    CST_SNAPSHOT_THEIRS = 4     /* the other side of the conflict: the newest row, or the stored object */
};

/* Resolves conflicts, either version or constraint conflicts, by cst_conflict_resolve and by setting values of objects.
 * The type of the policy resolves the remaining conflicts. The function is called on the queue of the context during
 * its save, and must not save, reset, roll back, undo or refresh. The conflicts are borrowed for the call. If the
 * function returns a negative status, the save fails. */
typedef cst_status (*cst_resolve_conflicts_fn)(void *userdata, cst_context *context, size_t count,
                                               cst_conflict *const *conflicts, cst_error **error);

/* Creates a merge policy of a type, CST_MERGE_…; `resolve` may be NULL. `destroy` is called once, when the policy and
 * all contexts that use it are released, or immediately if the call fails. */
CST_EXPORT CST_ANY_THREAD cst_status cst_merge_policy_new(int32_t type, cst_resolve_conflicts_fn resolve,
                                                          void *userdata, cst_destroy_fn destroy,
                                                          cst_merge_policy **out_policy CST_OWNED, cst_error **error);

/* Returns the type of a merge policy, CST_MERGE_…, or CST_MERGE_ERROR for an invalid handle. */
CST_EXPORT CST_ANY_THREAD int32_t cst_merge_policy_type(const cst_merge_policy *policy);

/* Sets the merge policy, which the context retains. NULL selects CST_MERGE_ERROR, the initial policy. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_set_merge_policy(cst_context *context, const cst_merge_policy *policy,
                                                                cst_error **error);

/* Returns the merge policy of the context. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_merge_policy(cst_context *context,
                                                            cst_merge_policy **out_policy CST_OWNED, cst_error **error);

/* Makes the next save check that the row of an unchanged object is still the same in the store.
 *
 * A difference is a version conflict. The check is cancelled by a rollback or a reset. If the object is a fault, the
 * fault fires. Has no effect on an object that was never saved. Saves of a nested context ignore the check. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_detect_conflicts(cst_context *context, cst_object *object,
                                                                cst_error **error);

/* Returns the number of conflicts in the error of a save, or 0 for other errors. */
CST_EXPORT CST_ANY_THREAD size_t cst_error_conflict_count(const cst_error *error);

/* Returns the conflict at an index, borrowed from the error, or NULL past the last one. */
CST_EXPORT CST_ANY_THREAD CST_BORROWED const cst_conflict *cst_error_conflict_at(const cst_error *error, size_t index);

/* Returns the kind of a conflict, a CST_CONFLICT_ constant, or 0 for an invalid handle. */
CST_EXPORT CST_ANY_THREAD int32_t cst_conflict_kind(const cst_conflict *conflict);

/* Returns a description of a conflict as text.
 *
 * It contains the values of the constraint, or those of up to 20 properties that differ. */
CST_EXPORT CST_ANY_THREAD CST_BORROWED cst_string cst_conflict_message(const cst_conflict *conflict);

/* Returns the number of objects of the context in a conflict.
 *
 * The conflict has one object, or all unsaved objects that have the same unique values. */
CST_EXPORT CST_ANY_THREAD size_t cst_conflict_object_count(const cst_conflict *conflict);

/* Returns the ID of the object at an index in a conflict, borrowed from the conflict, or NULL past the last one. */
CST_EXPORT CST_ANY_THREAD CST_BORROWED const cst_object_id *cst_conflict_object_id_at(const cst_conflict *conflict,
                                                                                      size_t index);

/* Returns the ID of the object in the store that has the unique values.
 *
 * Returns NULL for conflicts without such an object. */
CST_EXPORT CST_ANY_THREAD CST_BORROWED const cst_object_id *cst_conflict_database_id(const cst_conflict *conflict);

/* Returns the version with which the object of a version conflict was read, 0 for a new object. */
CST_EXPORT CST_ANY_THREAD int64_t cst_conflict_old_version(const cst_conflict *conflict);

/* Returns the current version of the row of a version conflict, 0 for a missing row. */
CST_EXPORT CST_ANY_THREAD int64_t cst_conflict_new_version(const cst_conflict *conflict);

/* Returns the number of properties of a conflict.
 *
 * These are the properties that were changed on either side, or those of the constraint. */
CST_EXPORT CST_ANY_THREAD size_t cst_conflict_property_count(const cst_conflict *conflict);

/* Returns the name of the property at an index of a conflict, or a null string past the last one. */
CST_EXPORT CST_ANY_THREAD CST_BORROWED cst_string cst_conflict_property_at(const cst_conflict *conflict, size_t index);

/* Returns the value of an attribute, or the ID of a to-one target, in a snapshot (CST_SNAPSHOT_…). `index` is the index
 * of the object in the conflict. The view is valid as long as the conflict. Returns CST_NOT_FOUND if the conflict does
 * not have the snapshot, object or property; snapshots do not have to-many relationships. Fails with
 * CST_E_INVALID_ARGUMENT for a number that is not a CST_SNAPSHOT_ constant. */
CST_EXPORT CST_ANY_THREAD cst_status cst_conflict_value(const cst_conflict *conflict, int32_t snapshot, size_t index,
                                                        cst_string property, cst_value *out_value CST_BORROWED,
                                                        cst_error **error);

/* Resolves a conflict like a merge policy of a type, CST_MERGE_…. Objects change immediately, so values can be set
 * afterwards. CST_MERGE_ERROR has no effect. Fails with CST_E_INVALID_ARGUMENT outside the policy's callback. */
CST_EXPORT CST_ON_QUEUE cst_status cst_conflict_resolve(cst_conflict *conflict, int32_t type, cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
