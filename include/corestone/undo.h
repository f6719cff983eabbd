/* corestone/undo.h: undo managers.
 *
 * An undo manager is a stack of steps that can be undone and redone. A step is a group of actions: the changes that
 * contexts made within an event, and actions that the host registers. Contexts record their changes automatically after
 * cst_context_set_undo_manager. One manager may serve several contexts. A group opens automatically with the first
 * action of an event and closes when a context processes its pending changes. The host may open groups of its own,
 * nested if needed. cst_context_undo and cst_context_redo undo and redo one step.
 *
 * The caller owns the manager. The functions of a manager may be called on any thread, but actions run on the thread
 * that undoes them, and actions of a context only on its queue.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_UNDO_H
#define CORESTONE_UNDO_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Creates an undo manager with an empty stack. */
CST_EXPORT CST_ANY_THREAD cst_status cst_undo_manager_new(cst_undo_manager **out_manager CST_OWNED, cst_error **error);

/* Sets the undo manager of the context, which the context retains. From then on, the manager records the changes of the
 * context. With NULL, the initial state, changes are not recorded. The former manager discards the recorded changes of
 * this context. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_set_undo_manager(cst_context *context, cst_undo_manager *manager,
                                                                cst_error **error);

/* Returns the undo manager of the context, or NULL if the context does not have one. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_copy_undo_manager(const cst_context *context,
                                                                 cst_undo_manager **out_manager CST_OWNED,
                                                                 cst_error **error);

/* Undoes the newest step of the context's undo manager, including pending changes, like cst_undo_manager_undo. Returns
 * CST_UNCHANGED if there is nothing to undo, or without a manager. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_undo(cst_context *context, cst_error **error);

/* Redoes the step that was undone last, like cst_undo_manager_redo. Returns CST_UNCHANGED if there is nothing to redo,
 * or without a manager. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_redo(cst_context *context, cst_error **error);

/* Undoes the newest step of an undo manager. The step can be redone afterwards. All attributes and both sides of
 * relationships that the step changed are reset to their former values. Inserted objects are removed, and deleted
 * objects are restored with their existing handles. An open group is closed first. Returns CST_UNCHANGED if there is
 * nothing to undo. Fails while nested groups are open and within an undo or redo. A failure with CST_E_WRONG_THREAD has
 * no effect. If an action of the host fails, the remaining actions of the step can still be undone. When a store is
 * removed, the steps of each context with objects of the store are discarded. */
CST_EXPORT CST_ANY_THREAD cst_status cst_undo_manager_undo(cst_undo_manager *manager, cst_error **error);

/* Undoes the group that was closed last: the last one nested in the open group, or the newest step if no group is open.
 * Returns CST_UNCHANGED if there is nothing to undo. Fails with CST_E_INVALID_ARGUMENT if the open group does not end
 * with a nested group. */
CST_EXPORT CST_ANY_THREAD cst_status cst_undo_manager_undo_nested(cst_undo_manager *manager, cst_error **error);

/* Redoes the step of an undo manager that was undone last. Returns CST_UNCHANGED if there is nothing to redo: a new
 * action discards the steps that could be redone. Fails with CST_E_INVALID_ARGUMENT while a group of the host is
 * open. */
CST_EXPORT CST_ANY_THREAD cst_status cst_undo_manager_redo(cst_undo_manager *manager, cst_error **error);

/* Opens an undo group. Contexts of this thread first record their changes up to now. */
CST_EXPORT CST_ANY_THREAD cst_status cst_undo_manager_begin_group(cst_undo_manager *manager, cst_error **error);

/* Closes the innermost undo group. Contexts of this thread first record their changes up to now. Fails with
 * CST_E_INVALID_ARGUMENT if the host did not open a group. */
CST_EXPORT CST_ANY_THREAD cst_status cst_undo_manager_end_group(cst_undo_manager *manager, cst_error **error);

/* Undoes an action of the host. If the function returns a negative status, with or without *error, the undo fails with
 * CST_E_CALLBACK. */
typedef cst_status (*cst_undo_action_fn)(void *userdata, cst_error **error);

/* Registers an action of the host, which an undo calls. An action that is registered during an undo is called by the
 * redo. `target` may be NULL; it is compared by cst_undo_manager_remove_target only. `destroy` is called once, after
 * the action was undone or discarded, on any thread. */
CST_EXPORT CST_ANY_THREAD cst_status cst_undo_manager_register(cst_undo_manager *manager, const void *target,
                                                               cst_undo_action_fn action, void *userdata,
                                                               cst_destroy_fn destroy, cst_error **error);

/* Discards all actions, and enables the registration of actions. */
CST_EXPORT CST_ANY_THREAD cst_status cst_undo_manager_remove_all(cst_undo_manager *manager, cst_error **error);

/* Discards all actions of a target. Fails with CST_E_INVALID_ARGUMENT for NULL. */
CST_EXPORT CST_ANY_THREAD cst_status cst_undo_manager_remove_target(cst_undo_manager *manager, const void *target,
                                                                    cst_error **error);

/* Disables the registration of actions until cst_undo_manager_enable has been called the same number of times. Contexts
 * of this thread first record their changes up to now. */
CST_EXPORT CST_ANY_THREAD cst_status cst_undo_manager_disable(cst_undo_manager *manager, cst_error **error);

/* Reverts one call of cst_undo_manager_disable. Contexts of this thread first record their changes up to now. Fails
 * with CST_E_INVALID_ARGUMENT if registration is not disabled. */
CST_EXPORT CST_ANY_THREAD cst_status cst_undo_manager_enable(cst_undo_manager *manager, cst_error **error);

/* Sets the greatest number of steps to undo, and of steps to redo; 0, the initial value, means no limit. */
CST_EXPORT CST_ANY_THREAD cst_status cst_undo_manager_set_levels(cst_undo_manager *manager, size_t levels,
                                                                 cst_error **error);

/* Sets whether groups open automatically. Initially true. If false, an action of the host outside every group is
 * rejected, but each event of a context is still a group. */
CST_EXPORT CST_ANY_THREAD cst_status cst_undo_manager_set_groups_by_event(cst_undo_manager *manager, bool groups,
                                                                          cst_error **error);

/* Sets the name of the step that is being recorded, for menus. */
CST_EXPORT CST_ANY_THREAD cst_status cst_undo_manager_set_action_name(cst_undo_manager *manager, cst_string name,
                                                                      cst_error **error);

/* The texts of cst_undo_manager_copy_text. */
enum {
    CST_UNDO_NAME = 0,  /* the name of the step that an undo would undo, or empty */
    CST_REDO_NAME = 1,  /* the name of the step that a redo would redo, or empty */
    CST_UNDO_TITLE = 2, /* "Undo", followed by the name */
    CST_REDO_TITLE = 3  /* "Redo", followed by the name */
};

/* Fills a buffer with a text for menus: the name of a step, or a title with the name. `text` is CST_UNDO_NAME,
 * CST_REDO_NAME, CST_UNDO_TITLE or CST_REDO_TITLE. */
CST_EXPORT CST_ANY_THREAD cst_status cst_undo_manager_copy_text(const cst_undo_manager *manager, uint32_t text,
                                                                cst_buffer *out_text, cst_error **error);

/* The state of an undo manager. Start from CST_UNDO_STATE_INIT. */
typedef struct cst_undo_state {
    size_t struct_size;
    bool can_undo; /* including pending changes of this thread's contexts */
    bool can_redo;
    bool is_undoing;
    bool is_redoing;
    bool is_enabled;
    bool groups_by_event;
    size_t levels;
    size_t grouping_level; /* the number of open groups, nested in each other */
} cst_undo_state;
#define CST_UNDO_STATE_INIT {sizeof(cst_undo_state), false, false, false, false, false, false, 0, 0}

/* Returns the state of an undo manager in a struct that was initialised with CST_UNDO_STATE_INIT. */
CST_EXPORT CST_ANY_THREAD cst_status cst_undo_manager_state(const cst_undo_manager *manager, cst_undo_state *out_state,
                                                            cst_error **error);

/* Notifications of an undo manager. */
enum {
    CST_UNDO_CHECKPOINT =
        1, /* before a group is opened or closed, and before an undo or redo; observers can register pending actions */
    CST_UNDO_DID_OPEN_GROUP = 2,
    CST_UNDO_WILL_CLOSE_GROUP = 3,
    CST_UNDO_DID_CLOSE_GROUP = 4,
    CST_UNDO_WILL_UNDO = 5,
    CST_UNDO_DID_UNDO = 6,
    CST_UNDO_WILL_REDO = 7,
    CST_UNDO_DID_REDO = 8
};

/* Receives a notification of an undo manager, which is borrowed for the call. */
typedef void (*cst_undo_observe_fn)(void *userdata, cst_undo_manager *manager, uint32_t notification);

/* Calls `observe` whenever the manager posts the notification, on the thread that causes it.
 *
 * The calls end with the observation (observation.h). */
CST_EXPORT CST_ANY_THREAD cst_status cst_undo_manager_observe(cst_undo_manager *manager, uint32_t notification,
                                                              cst_undo_observe_fn observe, void *userdata,
                                                              cst_destroy_fn destroy,
                                                              cst_observation **out_observation CST_OWNED,
                                                              cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
