/* corestone/lifecycle.h: lifecycle hooks of objects.
 *
 * Lifecycle hooks are callbacks at insertion, fetch, save and deletion of an entity's objects. They can set initial
 * values, compute values after a fetch, stamp objects before a save, or reject invalid objects.
 * cst_entity_set_lifecycle sets the hooks before the model is frozen. Hooks run on the queue of the object.
 * cst_context_disable_tracking suspends change tracking for other code.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_LIFECYCLE_H
#define CORESTONE_LIFECYCLE_H

#include "entity.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The reasons for replacing all values of an object: bits for awake_from_snapshot_events. */
enum {
    CST_SNAPSHOT_UNDO_INSERTION = 2,
    CST_SNAPSHOT_UNDO_DELETION = 4,
    CST_SNAPSHOT_UNDO_UPDATE = 8,
    CST_SNAPSHOT_ROLLBACK = 16,
    CST_SNAPSHOT_REFRESH = 32,
    CST_SNAPSHOT_MERGE_POLICY = 64
};

/* The hooks of an entity's objects; NULL for hooks that are not needed. Each hook runs on the queue of the object,
 * which is borrowed for the call. A hook may read, change, insert, delete and fetch objects. A save, reset, rollback,
 * undo or refresh in a hook fails with CST_E_INVALID_ARGUMENT. If a hook returns a negative status, the call that runs
 * it fails with the error that the hook set (cst_error_new_custom): domain, code and message are those that the host
 * passed. Start from CST_LIFECYCLE_HOOKS_INIT. */
typedef struct cst_lifecycle_hooks {
    size_t struct_size;
    /* Called once, after a context inserted the object with its defaults. In this hook, awake_from_fetch and
     * awake_from_snapshot_events, changes of attributes are not tracked, as between cst_context_disable_tracking and
     * cst_context_enable_tracking. */
    cst_status (*awake_from_insert)(void *userdata, cst_object *object, cst_error **error);
    /* Called after a fault fired: when a value is read, not when the object is fetched. After a failure the object is a
     * fault again. */
    cst_status (*awake_from_fetch)(void *userdata, cst_object *object, cst_error **error);
    /* Called after all values of the object were replaced; `events` are CST_SNAPSHOT_UNDO_… and the bits after it. */
    cst_status (*awake_from_snapshot_events)(void *userdata, cst_object *object, uint32_t events, cst_error **error);
    /* Called before a save validates the objects, including those that it will delete. Called again for an object that
     * has changed since, up to 1,000 times. */
    cst_status (*will_save)(void *userdata, cst_object *object, cst_error **error);
    /* Called after the save, which a failure of the hook does not undo. A deleted object has left its context. */
    cst_status (*did_save)(void *userdata, cst_object *object, cst_error **error);
    /* Called before the object counts as deleted and its delete rules are applied. */
    cst_status (*prepare_for_deletion)(void *userdata, cst_object *object, cst_error **error);
    /* Called before the values are discarded, and afterwards. A failure does not stop the call that runs the hook,
     * which fails after it has finished. */
    cst_status (*will_turn_into_fault)(void *userdata, cst_object *object, cst_error **error);
    cst_status (*did_turn_into_fault)(void *userdata, cst_object *object, cst_error **error);
    /* Called when an integer, floating-point or boolean attribute is set to null; the hook may set another value. A
     * property that the hook itself sets to null becomes null. */
    cst_status (*set_nil_value)(void *userdata, cst_object *object, cst_string property, cst_error **error);
    /* A validator of whole objects, as of cst_entity_add_validator; `value` is NULL. */
    cst_validate_fn validate;
    /* A validator of the values of the properties in `validated`. */
    cst_status (*validate_value)(void *userdata, cst_object *object, cst_string property, uint32_t purpose,
                                 cst_value *value, cst_error **error);
    size_t validated_count;
    const cst_string *validated;
    void *userdata;
    /* May be NULL. Called once: on failure, or when the hooks were replaced or the model was freed, and no copy of the
     * model uses them. */
    cst_destroy_fn destroy;
} cst_lifecycle_hooks;
#define CST_LIFECYCLE_HOOKS_INIT                                                                                       \
    {sizeof(cst_lifecycle_hooks), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL}

/* Sets the lifecycle hooks of an entity's objects, and replaces former hooks; NULL removes the hooks. Subentities
 * inherit the hooks; a hook of a subentity replaces that of its superentity. Fails with CST_E_MODEL if the model is
 * frozen. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_set_lifecycle(cst_entity *entity, const cst_lifecycle_hooks *hooks,
                                                              cst_error **error);

/* Suspends change tracking of attributes until cst_context_enable_tracking has been called the same number of times.
 * Changes that are not tracked do not mark an object as changed, and undo does not revert them unless the same event
 * changed the object before. A save writes the values if the object also has a tracked change; a refresh discards them.
 * Changes of relationships are tracked nevertheless, because both sides must agree. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_disable_tracking(cst_context *context, cst_error **error);

/* Reverts one call of cst_context_disable_tracking. Returns CST_UNCHANGED if change tracking was not suspended. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_enable_tracking(cst_context *context, cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
