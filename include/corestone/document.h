/* corestone/document.h: one store as a document: opened, edited with undo, saved, reverted.
 *
 * A document is a file that its user opens and saves. cst_document_new creates an untitled document, and
 * cst_document_open opens a file. The context of a document (cst_document_context) has an undo manager.
 * cst_document_save, cst_document_save_as and cst_document_revert correspond to the menu items of these names, and
 * cst_document_set_autosave enables automatic saving. cst_document_state and cst_document_observe report the state for
 * a title bar.
 *
 * The caller owns documents. All functions may be called on any thread; the context is used on its queue.
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

/* Creates an untitled document of a type "SQLite", "XML" or "Binary" (null: SQLite). Its data is in a new folder in
 * TMPDIR. The folder is removed when the document is saved to a path, closed or released. The context of the document
 * has the queue `queue` and an undo manager (cst_context_copy_undo_manager). */
CST_EXPORT CST_ANY_THREAD cst_status cst_document_new(cst_model *model, cst_string type, cst_queue queue,
                                                      cst_document **out_document CST_OWNED, cst_error **error);

/* Opens an existing document, for writing unless the options have CST_STORE_READ_ONLY. `model` and `options` may be
 * NULL, as for cst_coordinator_open_store. */
CST_EXPORT CST_ANY_THREAD cst_status cst_document_open(cst_string path, cst_model *model,
                                                       const cst_store_options *options, cst_queue queue,
                                                       cst_document **out_document CST_OWNED, cst_error **error);

/* Returns the context of the document. */
CST_EXPORT CST_ANY_THREAD cst_status cst_document_context(const cst_document *document,
                                                          cst_context **out_context CST_BORROWED, cst_error **error);

/* Fills a buffer with the path of the document. Returns CST_NOT_FOUND for an untitled document. */
CST_EXPORT CST_ANY_THREAD cst_status cst_document_copy_path(const cst_document *document, cst_buffer *out_path,
                                                            cst_error **error);

/* The state of a document, as flags. */
enum {
    CST_DOCUMENT_EDITED = 1u << 0, /* some changes are not saved in a file that the host chose */
    CST_DOCUMENT_SAVING = 1u << 1,
    CST_DOCUMENT_CONFLICT = 1u << 2,        /* the last save found objects that were changed elsewhere */
    CST_DOCUMENT_FAILED = 1u << 3,          /* the last save failed: cst_document_copy_error */
    CST_DOCUMENT_UNTITLED = 1u << 4,        /* the document does not have a path yet */
    CST_DOCUMENT_CHANGED_ON_DISK = 1u << 5, /* another process or coordinator wrote, replaced or removed the file */
    CST_DOCUMENT_CLOSED = 1u << 6
};

/* Returns the CST_DOCUMENT_ flags. CST_DOCUMENT_EDITED does not include changes that were not processed yet. Checks
 * whether the file was changed. */
CST_EXPORT CST_ANY_THREAD cst_status cst_document_state(const cst_document *document, uint32_t *out_flags,
                                                        cst_error **error);

/* Processes pending changes and reports whether there are unsaved changes, including those of children of the context.
 * If all changes since the last save are undone, there are no unsaved changes, except in an untitled document. Waits
 * for the queues of the context and of all other contexts with changes. */
CST_EXPORT CST_ANY_THREAD cst_status cst_document_has_unsaved_changes(const cst_document *document, bool *out_unsaved,
                                                                      cst_error **error);

/* Returns the error of the last save or autosave. Returns CST_NOT_FOUND if the last one succeeded, before the first
 * save, and after cst_document_revert. */
CST_EXPORT CST_ANY_THREAD cst_status cst_document_copy_error(const cst_document *document,
                                                             cst_error **out_failure CST_OWNED, cst_error **error);

/* Receives the CST_DOCUMENT_ flags after each change, in order. The function is called on the thread that causes the
 * change, for example the queue of the context, a thread that saves or closes the document, or the watcher of the
 * store. That thread also delivers the changes that other threads cause meanwhile. */
typedef void (*cst_document_observe_fn)(void *userdata, uint32_t flags);

/* Calls `observe` whenever the CST_DOCUMENT_ flags of the document change.
 *
 * The calls end with the observation (observation.h). */
CST_EXPORT CST_ANY_THREAD cst_status cst_document_observe(cst_document *document, cst_document_observe_fn observe,
                                                          void *userdata, cst_destroy_fn destroy,
                                                          cst_observation **out_observation CST_OWNED,
                                                          cst_error **error);

/* Enables automatic saves of the document, on the queue of its context.
 *
 * The document is saved after `changes` changes, and `idle_ms` milliseconds after the last change; 0 disables either.
 * Each processing of pending changes after which the context has unsaved changes counts as one change, also before this
 * call. A failure sets CST_DOCUMENT_FAILED and the error of cst_document_copy_error. The changes are kept, and the save
 * is repeated after the next change, and after a delay that grows to a minute, or to `idle_ms` if that is longer. An
 * untitled document is saved into its own folder and stays edited. Fails with CST_E_INVALID_ARGUMENT for
 * CST_QUEUE_CALLER, unless both numbers are 0. */
CST_EXPORT CST_ANY_THREAD cst_status cst_document_set_autosave(cst_document *document, uint32_t changes,
                                                               uint32_t idle_ms, cst_error **error);

/* Saves the unsaved changes of the document's context, but not those of its nested contexts.
 *
 * CST_E_CONFLICT if another context or process changed the same objects in the file; set a merge policy of the context,
 * or call cst_document_revert.
 * CST_E_INVALID_ARGUMENT for an untitled document.
 * CST_E_STORE_IO if the file of an SQLite store was removed or replaced. */
CST_EXPORT CST_ANY_THREAD cst_status cst_document_save(cst_document *document, cst_error **error);

/* Saves the document to `path`, which becomes its path. The former file remains as it was last saved, except the
 * temporary file of an untitled document. A null `type` keeps the type. With another type every object receives a new
 * ID, and calls on former handles of objects fail with CST_E_OBJECT_GONE. A store at the path is overwritten only if
 * `replaces` is true, after the new store is complete. A document that is open read-only can be saved to another path,
 * and is then writable.
 *
 * CST_E_INVALID_ARGUMENT if a file exists at the path and `replaces` is false.
 * CST_E_NOT_A_STORE if the file at the path is not a store or is damaged.
 * CST_E_UNSUPPORTED if it is a store of another type.
 * CST_E_UNSAVED_CHANGES for another type while other contexts, including children, have unsaved changes. */
CST_EXPORT CST_ANY_THREAD cst_status cst_document_save_as(cst_document *document, cst_string type, cst_string path,
                                                          bool replaces, cst_error **error);

/* Discards unsaved changes, and reads the file in its current state.
 *
 * The changes of children of the context are also discarded. The file is read even if other processes wrote or replaced
 * it. If the file is now another store, every object receives a new ID. Undo steps are discarded.
 *
 * CST_E_STORE_IO if the file of the document no longer exists.
 * CST_E_UNSAVED_CHANGES for a child with changes that is confined to another thread. */
CST_EXPORT CST_ANY_THREAD cst_status cst_document_revert(cst_document *document, cst_error **error);

/* Closes the document and its file. `unsaved` is a CST_UNSAVED_ constant. Releasing a document never fails; see
 * cst_container_close.
 *
 * CST_E_INVALID_ARGUMENT for CST_UNSAVED_SAVE, if an untitled document has unsaved changes.
 * CST_E_UNSAVED_CHANGES for CST_UNSAVED_REFUSE, if a context has unsaved changes. The details are the counts by entity
 * for each context, and the error of the last save if that save failed. */
CST_EXPORT CST_ANY_THREAD cst_status cst_document_close(cst_document *document, uint32_t unsaved, cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
