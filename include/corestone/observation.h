/* corestone/observation.h: observing contexts and objects
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_OBSERVATION_H
#define CORESTONE_OBSERVATION_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ======== observation ==================================================================================== */
/* An observation lasts until it is cancelled or its handle released, which any thread may do. Callbacks may do what they like,
 * end their observation too; one that causes what it observes is called at most 8 times within itself. `destroy` is called
 * after the last call, at the latest when the context ends. */

enum {
    CST_NOTIFICATION_WILL_SAVE = 1,           /* there is something to save; what is changed now is saved too */
    CST_NOTIFICATION_DID_SAVE = 2,            /* it is done: inserted, updated and deleted are what it wrote */
    CST_NOTIFICATION_OBJECTS_DID_CHANGE = 3,  /* pending changes were processed, or objects refreshed or invalidated */
    CST_NOTIFICATION_DID_SAVE_OBJECT_IDS = 4, /* like DID_SAVE, as IDs */
    CST_NOTIFICATION_DID_MERGE_OBJECT_IDS = 5 /* another context's changes were merged into this one; as IDs */
};

/* What a notification is about: objects, or IDs where the notification has IDs only. Each is borrowed for the call (cst_retain
 * keeps it), and NULL when it would be empty. */
typedef struct cst_changes {
    cst_results *inserted, *updated, *deleted, *refreshed;
    cst_results *invalidated;               /* objects of a store that was removed; they are gone */
    bool invalidated_all;                   /* the context was reset */
    cst_query_generation *query_generation; /* what a pinned context reads after its save; NULL for others */
} cst_changes;
typedef void (*cst_context_observe_fn)(void *userdata, cst_context *context, uint32_t notification,
                                       const cst_changes *changes);
/* Calls `observe` on the context's queue whenever the context posts the notification. The context is borrowed for the call. */
CST_EXPORT CST_ANY_THREAD cst_status cst_context_observe(cst_context *context, uint32_t notification,
                                                         cst_context_observe_fn observe, void *userdata,
                                                         cst_destroy_fn destroy,
                                                         cst_observation **out_observation CST_OWNED,
                                                         cst_error **error);

enum { CST_OBSERVE_INITIAL = 4, CST_OBSERVE_PRIOR = 8 };
enum { CST_CHANGE_SETTING = 1, CST_CHANGE_INSERTION = 2, CST_CHANGE_REMOVAL = 3, CST_CHANGE_REPLACEMENT = 4 };

/* Borrowed for the call. Members of to-many relationships are CST_ARRAY: all of them for a setting, else those that came
 * (new_value) and went (old_value). */
typedef struct cst_value_change {
    uint32_t kind; /* CST_CHANGE_… */
    bool
        is_prior; /* CST_OBSERVE_PRIOR: it is about to happen, and new_value is null; relationships cannot be changed now */
    cst_string key_path; /* as it was given */
    cst_value old_value, new_value;
    const size_t *indexes; /* of ordered relationships: the places of new_value, or of old_value where nothing came */
    size_t index_count;
} cst_value_change;
typedef void (*cst_object_observe_fn)(void *userdata, cst_object *object, const cst_value_change *change);
/* Calls `observe` whenever the property at the end of the path changes, or an object on the path does, on both sides of a
 * relationship when both are done. The path is a property, or to-one relationships that lead to one. CST_OBSERVE_INITIAL: also at
 * once, with the value as it is; CST_OBSERVE_PRIOR: also before each change. The observation keeps the object, and ends when it
 * leaves its context. */
CST_EXPORT CST_ON_QUEUE cst_status cst_object_observe(cst_object *object, cst_string key_path, uint32_t options,
                                                      cst_object_observe_fn observe, void *userdata,
                                                      cst_destroy_fn destroy,
                                                      cst_observation **out_observation CST_OWNED, cst_error **error);
/* Ends an observation; may be called again. */
CST_EXPORT CST_ANY_THREAD cst_status cst_observation_cancel(cst_observation *observation, cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
