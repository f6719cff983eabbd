/* corestone/lifecycle.h: hooks in the life of objects
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_LIFECYCLE_H
#define CORESTONE_LIFECYCLE_H

#include "entity.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ======== lifecycle ====================================================================================== */

/* Why an object took over another state as a whole: bits for awake_from_snapshot_events. */
enum {
    CST_SNAPSHOT_UNDO_INSERTION = 2,
    CST_SNAPSHOT_UNDO_DELETION = 4,
    CST_SNAPSHOT_UNDO_UPDATE = 8,
    CST_SNAPSHOT_ROLLBACK = 16,
    CST_SNAPSHOT_REFRESH = 32,
    CST_SNAPSHOT_MERGE_POLICY = 64
};

/* What a host does at turning points in the life of an entity's objects; NULL where it does nothing. Each hook is called on
 * the queue of the object, which is borrowed for the call, may read, change, insert, delete and fetch, and must not save,
 * reset, roll back, undo or refresh: that is CST_E_INVALID_ARGUMENT. A status below 0 fails the call that runs the hook, with
 * the error that it set (cst_error_new_custom): domain, code and message are the host's. */
typedef struct cst_lifecycle_hooks {
    size_t struct_size;
    /* Once, when a context took the object in, its defaults in place. As in the next two, changes of attributes are not
     * tracked, as between cst_context_disable_tracking and cst_context_enable_tracking. */
    cst_status (*awake_from_insert)(void *userdata, cst_object *object, cst_error **error);
    /* A fault fired: when its values were asked for, not when it was fetched. After a failure it is a fault again. */
    cst_status (*awake_from_fetch)(void *userdata, cst_object *object, cst_error **error);
    cst_status (*awake_from_snapshot_events)(void *userdata, cst_object *object, uint32_t events, cst_error **error);
    /* Before a save validates, also of what it will delete; once more whenever the object changed since, up to 1,000 times. */
    cst_status (*will_save)(void *userdata, cst_object *object, cst_error **error);
    /* The save is done, which a failure here does not change. A deleted object has left its context. */
    cst_status (*did_save)(void *userdata, cst_object *object, cst_error **error);
    /* Before the object counts as deleted and its delete rules run. */
    cst_status (*prepare_for_deletion)(void *userdata, cst_object *object, cst_error **error);
    /* The values are still there, then they are gone. A failure is that of the call, when it has done its work. */
    cst_status (*will_turn_into_fault)(void *userdata, cst_object *object, cst_error **error);
    cst_status (*did_turn_into_fault)(void *userdata, cst_object *object, cst_error **error);
    /* Somebody sets a number or a truth value to null: the hook sets what it likes instead. What it sets to null is null. */
    cst_status (*set_nil_value)(void *userdata, cst_object *object, cst_string property, cst_error **error);
    /* As a function of cst_entity_add_validator for whole objects; `value` is NULL. */
    cst_validate_fn validate;
    /* The same for the values of the properties in `validated`. */
    cst_status (*validate_value)(void *userdata, cst_object *object, cst_string property, uint32_t purpose,
                                 cst_value *value, cst_error **error);
    size_t validated_count;
    const cst_string *validated;
    void *userdata;
    /* May be NULL. Called once: on failure, or when the model and the last of its copies are gone. */
    cst_destroy_fn destroy;
} cst_lifecycle_hooks;
#define CST_LIFECYCLE_HOOKS_INIT                                                                                       \
    {sizeof(cst_lifecycle_hooks), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL}

/* Sets the hooks of an entity's objects, instead of those set before; NULL removes them. Entities that inherit from it have
 * them too; each hook that such an entity sets itself takes the place of its parent's. CST_E_MODEL when the model is frozen. */
CST_EXPORT CST_ONE_THREAD cst_status cst_entity_set_lifecycle(cst_entity *entity, const cst_lifecycle_hooks *hooks,
                                                              cst_error **error);

/* Until it is enabled again, as often as it was disabled, attributes change without a note: an object does not count as
 * changed by it, and undo knows nothing of it. A save writes the values once another change makes the object one to save; a
 * refresh drops them. Changes of relationships count all the same, since both ends must agree. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_disable_tracking(cst_context *context, cst_error **error);
/* CST_UNCHANGED when nobody disabled it. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_enable_tracking(cst_context *context, cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
