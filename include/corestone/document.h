/* corestone/document.h: one store as a document
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_DOCUMENT_H
#define CORESTONE_DOCUMENT_H

#include "context.h"
#include "store.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ======== document ======================================================================================= */
/* One store as a document: opened, edited with undo, saved, saved elsewhere, reverted. */

/* A document without a place, of a type "SQLite", "XML" or "Binary" (null: SQLite). What it has lies in a folder of its own
 * in TMPDIR, which ends with it. Its context has the queue and an undo manager (cst_context_copy_undo_manager). */
CST_EXPORT CST_ANY_THREAD cst_status cst_document_new(cst_model *model, cst_string type, cst_queue queue,
                                                      cst_document **out_document CST_OWNED, cst_error **error);
/* Opens a document that is there, for writing. `model` and `options` may be NULL, as for cst_coordinator_open_store. */
CST_EXPORT CST_ANY_THREAD cst_status cst_document_open(cst_string path, cst_model *model,
                                                       const cst_store_options *options, cst_queue queue,
                                                       cst_document **out_document CST_OWNED, cst_error **error);
CST_EXPORT CST_ANY_THREAD cst_status cst_document_context(const cst_document *document,
                                                          cst_context **out_context CST_BORROWED, cst_error **error);
/* Where it is; CST_NOT_FOUND for one without a place. */
CST_EXPORT CST_ANY_THREAD cst_status cst_document_copy_path(const cst_document *document, cst_buffer *out_path,
                                                            cst_error **error);
/* How a document stands. */
enum {
    CST_DOCUMENT_EDITED = 1u << 0, /* something is in no file that the host chose */
    CST_DOCUMENT_SAVING = 1u << 1,
    CST_DOCUMENT_CONFLICT = 1u << 2,        /* the last save met objects that somebody else had changed */
    CST_DOCUMENT_FAILED = 1u << 3,          /* the last save failed: cst_document_copy_error */
    CST_DOCUMENT_UNTITLED = 1u << 4,        /* it has no place yet */
    CST_DOCUMENT_CHANGED_ON_DISK = 1u << 5, /* somebody else wrote, replaced or removed the file */
    CST_DOCUMENT_CLOSED = 1u << 6
};
/* As of the last event of the context; looks at the file. */
CST_EXPORT CST_ANY_THREAD cst_status cst_document_state(const cst_document *document, uint32_t *out_flags,
                                                        cst_error **error);
/* Processes pending changes and says whether something is unsaved, in children of the context too; undoing all since the
 * last save leaves nothing. Waits for the queues. */
CST_EXPORT CST_ANY_THREAD cst_status cst_document_has_unsaved_changes(const cst_document *document, bool *out_unsaved,
                                                                      cst_error **error);
/* What the last save failed with, an autosave too; CST_NOT_FOUND when it went well. */
CST_EXPORT CST_ANY_THREAD cst_status cst_document_copy_error(const cst_document *document,
                                                             cst_error **out_failure CST_OWNED, cst_error **error);
/* Told the CST_DOCUMENT_ flags whenever they change, on the thread that changes them: the context's queue, who saves, or
 * the watch of the store. */
typedef void (*cst_document_observe_fn)(void *userdata, uint32_t flags);
CST_EXPORT CST_ANY_THREAD cst_status cst_document_observe(cst_document *document, cst_document_observe_fn observe,
                                                          void *userdata, cst_destroy_fn destroy,
                                                          cst_observation **out_observation CST_OWNED,
                                                          cst_error **error);
/* Has the document saved by itself, on its context's queue: after so many events that left something to save, and when
 * nothing was changed for so many milliseconds; 0 for neither. What was changed before counts too. What it fails with shows
 * in the state, the changes stay, and it is tried again after pauses of up to a minute. One without a place is saved into
 * its own folder and stays edited. CST_E_INVALID_ARGUMENT for CST_QUEUE_CALLER. */
CST_EXPORT CST_ANY_THREAD cst_status cst_document_set_autosave(cst_document *document, uint32_t changes,
                                                               uint32_t idle_ms, cst_error **error);
/* Saves what was changed. CST_E_CONFLICT for objects that somebody else changed in the file: a merge policy of the context
 * settles them, or cst_document_revert. CST_E_STORE_IO when somebody removed the file, or put another one in its place. */
CST_EXPORT CST_ANY_THREAD cst_status cst_document_save(cst_document *document, cst_error **error);
/* Saves the document to `path` and goes on there; what is at its former place stays as it was last saved. `type` null: as
 * it is; of another one every object has a new ID, and handles of objects are CST_E_OBJECT_GONE. A store at the path is
 * overwritten only if `replaces`, and when the new one is whole; CST_E_NOT_A_STORE and CST_E_UNSUPPORTED for what is no
 * store of the type. One that is open read-only can be written there. CST_E_UNSAVED_CHANGES for another type while other
 * contexts, children too, have such. */
CST_EXPORT CST_ANY_THREAD cst_status cst_document_save_as(cst_document *document, cst_string type, cst_string path,
                                                          bool replaces, cst_error **error);
/* Throws away what was not saved, by children of the context too, and reads the file as it is now, also what others wrote,
 * or put in its place: of another store every object has a new ID. Steps to undo are forgotten. CST_E_STORE_IO where no
 * file is, CST_E_UNSAVED_CHANGES for a child with changes that is confined to another thread. */
CST_EXPORT CST_ANY_THREAD cst_status cst_document_revert(cst_document *document, cst_error **error);
/* Closes the file; `unsaved` is a CST_UNSAVED_ constant. CST_E_UNSAVED_CHANGES has the counts by entity and the error of
 * the last save, if that failed, as details. Releasing a document asks nobody, as for a container. */
CST_EXPORT CST_ANY_THREAD cst_status cst_document_close(cst_document *document, uint32_t unsaved, cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
