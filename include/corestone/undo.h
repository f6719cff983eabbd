/* corestone/undo.h: undo managers
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_UNDO_H
#define CORESTONE_UNDO_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ======== undo =========================================================================================== */
/* A stack of steps that can be undone and redone. Each is a group of actions: what contexts changed within an event, which they
 * record by themselves, and what the host registers. One manager may serve several contexts. A group opens by itself with the
 * first action of an event, and closes when a context processes its pending changes; the host may begin groups of its own,
 * one within the other. Actions run on the thread that undoes them: those of a context only on its queue. */

/* A manager without steps. */
CST_EXPORT CST_ANY_THREAD cst_status cst_undo_manager_new(cst_undo_manager **out_manager CST_OWNED, cst_error **error);
/* Where the context records its changes, beginning now; NULL, as at first, for nowhere, which makes the former manager forget
 * what this context changed. The context keeps the manager. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_set_undo_manager(cst_context *context, cst_undo_manager *manager,
                                                                cst_error **error);
/* NULL when there is none. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_copy_undo_manager(const cst_context *context,
                                                                 cst_undo_manager **out_manager CST_OWNED,
                                                                 cst_error **error);
/* Undoes the newest step of the context's undo manager, pending changes included, as cst_undo_manager_undo. CST_UNCHANGED when
 * there is nothing to undo, or no manager. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_undo(cst_context *context, cst_error **error);
CST_EXPORT CST_ON_QUEUE cst_status cst_context_redo(cst_context *context, cst_error **error);

/* Undoes the newest step, which can then be redone: all attributes and relationships of its objects, both sides, are what they
 * were, objects that came go and objects that went come back, with the handles that the host has of them. CST_UNCHANGED when
 * there is nothing to undo. An open group closes first; with groups within groups open the call is refused, as it is within an
 * undo or redo. CST_E_WRONG_THREAD, and CST_E_OBJECT_GONE for a store that was removed, leave all as it was; when an action of
 * the host's fails, what was not undone yet stays to be undone. */
CST_EXPORT CST_ANY_THREAD cst_status cst_undo_manager_undo(cst_undo_manager *manager, cst_error **error);
/* Undoes the group that was closed last: the one at the end of the open group if there is one, else the newest step. */
CST_EXPORT CST_ANY_THREAD cst_status cst_undo_manager_undo_nested(cst_undo_manager *manager, cst_error **error);
/* Does again what was undone last. CST_UNCHANGED when there is nothing: a new action forgets what could be redone. */
CST_EXPORT CST_ANY_THREAD cst_status cst_undo_manager_redo(cst_undo_manager *manager, cst_error **error);

/* Begins a group, and ends the innermost one. Contexts of this thread record what they changed before. */
CST_EXPORT CST_ANY_THREAD cst_status cst_undo_manager_begin_group(cst_undo_manager *manager, cst_error **error);
CST_EXPORT CST_ANY_THREAD cst_status cst_undo_manager_end_group(cst_undo_manager *manager, cst_error **error);

/* Undoes what the host did. A negative status, with *error set or not, ends the undo with CST_E_CALLBACK. */
typedef cst_status (*cst_undo_action_fn)(void *userdata, cst_error **error);
/* Registers an action; one that is registered while another is undone redoes that. `target` may be NULL, and is only compared:
 * see cst_undo_manager_remove_target. `destroy` is called once, when the action was undone or is forgotten, on any thread. */
CST_EXPORT CST_ANY_THREAD cst_status cst_undo_manager_register(cst_undo_manager *manager, const void *target,
                                                               cst_undo_action_fn action, void *userdata,
                                                               cst_destroy_fn destroy, cst_error **error);
/* Forgets all actions, and enables registration. */
CST_EXPORT CST_ANY_THREAD cst_status cst_undo_manager_remove_all(cst_undo_manager *manager, cst_error **error);
CST_EXPORT CST_ANY_THREAD cst_status cst_undo_manager_remove_target(cst_undo_manager *manager, const void *target,
                                                                    cst_error **error);

/* Nothing is registered between a disable and its enable; they nest. Contexts of this thread record first what they changed. */
CST_EXPORT CST_ANY_THREAD cst_status cst_undo_manager_disable(cst_undo_manager *manager, cst_error **error);
CST_EXPORT CST_ANY_THREAD cst_status cst_undo_manager_enable(cst_undo_manager *manager, cst_error **error);
/* How many steps are kept; 0, as at first, for all. */
CST_EXPORT CST_ANY_THREAD cst_status cst_undo_manager_set_levels(cst_undo_manager *manager, size_t levels,
                                                                 cst_error **error);
/* Whether groups open by themselves, which they do at first. Without, an action outside every group is refused, but a context
 * makes each event a group. */
CST_EXPORT CST_ANY_THREAD cst_status cst_undo_manager_set_groups_by_event(cst_undo_manager *manager, bool groups,
                                                                          cst_error **error);
/* Names the step that is being recorded. */
CST_EXPORT CST_ANY_THREAD cst_status cst_undo_manager_set_action_name(cst_undo_manager *manager, cst_string name,
                                                                      cst_error **error);
/* What cst_undo_manager_copy_text gives. */
enum {
    CST_UNDO_NAME = 0,  /* of the step that an undo would undo; empty for none */
    CST_REDO_NAME = 1,  /* of the step that a redo would redo; empty for none */
    CST_UNDO_TITLE = 2, /* "Undo", and the name behind it */
    CST_REDO_TITLE = 3
};
/* Fills the buffer with a text for menus. */
CST_EXPORT CST_ANY_THREAD cst_status cst_undo_manager_copy_text(const cst_undo_manager *manager, uint32_t text,
                                                                cst_buffer *out_text, cst_error **error);

typedef struct cst_undo_state {
    size_t struct_size;
    bool can_undo; /* pending changes of this thread's contexts count */
    bool can_redo;
    bool is_undoing;
    bool is_redoing;
    bool is_enabled;
    bool groups_by_event;
    size_t levels;
    size_t grouping_level; /* how many groups are open, one within the other */
} cst_undo_state;
#define CST_UNDO_STATE_INIT {sizeof(cst_undo_state), false, false, false, false, false, false, 0, 0}
/* Fills a struct that was initialised with CST_UNDO_STATE_INIT. */
CST_EXPORT CST_ANY_THREAD cst_status cst_undo_manager_state(const cst_undo_manager *manager, cst_undo_state *out_state,
                                                            cst_error **error);

enum {
    CST_UNDO_CHECKPOINT = 1, /* a group begins or ends, or an undo or redo: who gathers actions registers them now */
    CST_UNDO_DID_OPEN_GROUP = 2,
    CST_UNDO_WILL_CLOSE_GROUP = 3,
    CST_UNDO_DID_CLOSE_GROUP = 4,
    CST_UNDO_WILL_UNDO = 5,
    CST_UNDO_DID_UNDO = 6,
    CST_UNDO_WILL_REDO = 7,
    CST_UNDO_DID_REDO = 8
};
/* The manager is borrowed for the call. */
typedef void (*cst_undo_observe_fn)(void *userdata, cst_undo_manager *manager, uint32_t notification);
/* Calls `observe` whenever the manager posts the notification, on the thread that causes it. */
CST_EXPORT CST_ANY_THREAD cst_status cst_undo_manager_observe(cst_undo_manager *manager, uint32_t notification,
                                                              cst_undo_observe_fn observe, void *userdata,
                                                              cst_destroy_fn destroy,
                                                              cst_observation **out_observation CST_OWNED,
                                                              cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
