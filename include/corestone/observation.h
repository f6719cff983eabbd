/* corestone/observation.h: observing contexts and objects.
 *
 * cst_context_observe calls a function for notifications of a context, such as saves; cst_object_observe for changes of
 * one property. An observation ends with cst_observation_cancel, or when its handle, which the caller owns, is
 * released; both are allowed on any thread. An observation of an object also ends when the object is detached from its
 * context.
 *
 * Observers run on the queue of their context. Observers may use the library without restriction, and may end their
 * observation. An observer that causes the event that it observes is called recursively, at most 8 times. `destroy` is
 * called after the last call, at the latest when the context is deallocated.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_OBSERVATION_H
#define CORESTONE_OBSERVATION_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Notifications of a context. */
enum {
    CST_NOTIFICATION_WILL_SAVE = 1,           /* before a save with changes; changes by the observer are included */
    CST_NOTIFICATION_DID_SAVE = 2,            /* after a save, with the objects that it inserted, updated and deleted */
    CST_NOTIFICATION_OBJECTS_DID_CHANGE = 3,  /* pending changes were processed, or objects refreshed or invalidated */
    CST_NOTIFICATION_DID_SAVE_OBJECT_IDS = 4, /* like DID_SAVE, as IDs */
    CST_NOTIFICATION_DID_MERGE_OBJECT_IDS = 5 /* changes of another context were merged into this one; as IDs */
};

/* The objects of a notification, or their IDs if the notification has IDs. Each list is borrowed for the call (retain
 * the list to keep it), and NULL if it would be empty. */
typedef struct cst_changes {
    cst_results *inserted, *updated, *deleted, *refreshed;
    cst_results *invalidated;               /* objects of a removed store; calls with these objects fail */
    bool invalidated_all;                   /* the context was reset */
    cst_query_generation *query_generation; /* the state that a pinned context reads after its save; NULL for others */
} cst_changes;

/* Receives a notification of a context. Context and changes are borrowed for the call. */
typedef void (*cst_context_observe_fn)(void *userdata, cst_context *context, uint32_t notification,
                                       const cst_changes *changes);

/* Calls `observe` on the queue of the context whenever the context posts the notification.
 *
 * `notification` is a CST_NOTIFICATION_ constant. */
CST_EXPORT CST_ANY_THREAD cst_status cst_context_observe(cst_context *context, uint32_t notification,
                                                         cst_context_observe_fn observe, void *userdata,
                                                         cst_destroy_fn destroy,
                                                         cst_observation **out_observation CST_OWNED,
                                                         cst_error **error);

/* Options of cst_object_observe for additional calls.
 *
 * CST_OBSERVE_INITIAL adds a call with the current value before the function returns. CST_OBSERVE_PRIOR adds a call
 * before each change. */
enum { CST_OBSERVE_INITIAL = 4, CST_OBSERVE_PRIOR = 8 };

/* The kinds of changes of a value. */
enum { CST_CHANGE_SETTING = 1, CST_CHANGE_INSERTION = 2, CST_CHANGE_REMOVAL = 3, CST_CHANGE_REPLACEMENT = 4 };

/* A change of a property. Borrowed for the call. Members of to-many relationships are CST_ARRAY: all of them for a
 * setting, otherwise the added ones (new_value) and the removed ones (old_value). */
typedef struct cst_value_change {
    uint32_t kind; /* CST_CHANGE_… */
    /* For CST_OBSERVE_PRIOR: the change is about to happen, and new_value is null. Relationships cannot be changed
     * now. */
    bool is_prior;
    cst_string key_path; /* as passed to cst_object_observe */
    cst_value old_value, new_value;
    const size_t *indexes; /* of ordered relationships: the indexes of new_value, or of old_value for a removal */
    size_t index_count;
} cst_value_change;

/* Receives a change of a property. Object and change are borrowed for the call. */
typedef void (*cst_object_observe_fn)(void *userdata, cst_object *object, const cst_value_change *change);

/* Calls `observe` whenever the last property of a key path changes, or an object on the path is replaced. For a
 * relationship, `observe` is called after both sides changed. The path is a property, or to-one relationships followed
 * by a property. `options` are CST_OBSERVE_INITIAL, for an additional call with the current value before the function
 * returns, and CST_OBSERVE_PRIOR, for an additional call before each change. The observation retains the object, and
 * ends when the object is detached from its context. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_observe(cst_object *object, cst_string key_path, uint32_t options,
                                                      cst_object_observe_fn observe, void *userdata,
                                                      cst_destroy_fn destroy,
                                                      cst_observation **out_observation CST_OWNED, cst_error **error);

/* Cancels an observation. Further calls have no effect. */
CST_EXPORT CST_ANY_THREAD cst_status cst_observation_cancel(cst_observation *observation, cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
