/* corestone/controller.h: results by section and row, for a list in a user interface.
 *
 * A controller fetches a request (cst_controller_perform_fetch), divides the results into sections, and returns objects
 * by section and row. It reports changes to a delegate until the delegate is removed or the controller is released. The
 * caller owns the controller, which retains its request, and uses it on the queue of its context. The annotations of
 * its functions state the ownership of snapshots and objects.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_CONTROLLER_H
#define CORESTONE_CONTROLLER_H

#include "live.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The delegate of a controller. Functions may be NULL and may use the library without restriction; the controller and
 * other arguments are borrowed for the call. For each event that changed the results they are called in this order:
 * will_change (while the results are still the former ones), did_change_object for deletions, did_change_section,
 * did_change_object for other changes, did_change. Start from CST_CONTROLLER_DELEGATE_INIT. */
typedef struct cst_controller_delegate {
    size_t struct_size;
    void (*will_change)(void *userdata, cst_controller *controller);
    void (*did_change_section)(void *userdata, cst_controller *controller, const cst_section_change *change);
    void (*did_change_object)(void *userdata, cst_controller *controller, const cst_object_change *change);
    void (*did_change)(void *userdata, cst_controller *controller);
    /* All changes of an event in one call. If this function is set, the four functions above are not called. */
    void (*did_change_all)(void *userdata, cst_controller *controller, const cst_difference *difference);
    /* The changes as steps between IDs, for a controller without sections and a delegate without did_change_all.
     * Updates are not reported. The first four functions are not called then. */
    void (*did_change_ids)(void *userdata, cst_controller *controller, size_t count, const cst_id_change *changes);
    /* Called after the context was reset (`error` is NULL), or the observation failed.
     *
     * There are then no results until the next cst_controller_perform_fetch. If a function resets the context after
     * will_change, did_change is called before did_reset, and the remaining calls for the event are omitted. */
    void (*did_reset)(void *userdata, cst_controller *controller, const cst_error *error);
    /* Returns the title of a section in an index: a string, valid until the next call, or null to omit the section.
     * Without this function, and if it fails, the title is the first letter of the name as a capital. */
    cst_status (*section_title)(void *userdata, cst_controller *controller, cst_string name, cst_value *out_title,
                                cst_error **error);
    void *userdata;
    cst_destroy_fn destroy;
} cst_controller_delegate;
#define CST_CONTROLLER_DELEGATE_INIT                                                                                   \
    {sizeof(cst_controller_delegate), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL}

/* Creates a controller. `section_key_path` is the key path of the section names; with a null string there is a single
 * section. `cache_name` is the name under which sections are cached in a file for later runs; it may be a null string.
 * The request is retained, and read by cst_controller_perform_fetch. */
CST_EXPORT CST_ON_QUEUE cst_status cst_controller_new(cst_context *context, cst_fetch_request *request,
                                                      cst_string section_key_path, cst_string cache_name,
                                                      cst_controller **out_controller CST_OWNED, cst_error **error);

/* Returns the name of an object's section: a string, valid until the next call, or null for the section without a name.
 * The function may read the object, but must not change anything. */
typedef cst_status (*cst_section_name_fn)(void *userdata, cst_object *object, cst_value *out_name, cst_error **error);

/* Creates a controller with a function that returns section names. */
CST_EXPORT CST_ON_QUEUE cst_status cst_controller_new_with_sections(cst_context *context, cst_fetch_request *request,
                                                                    cst_section_name_fn section_name, void *userdata,
                                                                    cst_destroy_fn destroy,
                                                                    cst_controller **out_controller CST_OWNED,
                                                                    cst_error **error);

/* Sets key paths from the results to related objects. A change of a related object counts as an update of the result.
 * Takes effect with the next cst_controller_perform_fetch. */
CST_EXPORT CST_ON_QUEUE cst_status cst_controller_set_dependencies(cst_controller *controller, size_t path_count,
                                                                   const cst_string *paths, cst_error **error);

/* Sets the delegate, which is copied; NULL removes it. Changes are observed only while there is a delegate. */
CST_EXPORT CST_ON_QUEUE cst_status cst_controller_set_delegate(cst_controller *controller,
                                                               const cst_controller_delegate *delegate,
                                                               cst_error **error);

/* Fetches the results, for the first time or again.
 *
 * CST_E_INVALID_ARGUMENT for a request whose sort descriptors were never set or, with sections, are empty.
 * Code 134060 if the objects of a section are not adjacent; the error names the object. */
CST_EXPORT CST_ON_QUEUE cst_status cst_controller_perform_fetch(cst_controller *controller, cst_error **error);

/* Returns the current results as a snapshot. Returns CST_NOT_FOUND before cst_controller_perform_fetch, and after a
 * reset or a failed observation. */
CST_EXPORT CST_ON_QUEUE cst_status cst_controller_copy_snapshot(const cst_controller *controller,
                                                                cst_snapshot **out_snapshot CST_OWNED,
                                                                cst_error **error);

/* Returns the objects of a section, or of all sections for SIZE_MAX. Returns CST_NOT_FOUND before
 * cst_controller_perform_fetch, and after a reset or a failed observation. Fails with CST_E_INVALID_ARGUMENT for a
 * section that does not exist. */
CST_EXPORT CST_ON_QUEUE cst_status cst_controller_copy_objects(const cst_controller *controller, size_t section,
                                                               cst_results **out_objects CST_OWNED, cst_error **error);

/* Returns the object at an index path. Fails with CST_E_INVALID_ARGUMENT if the index path does not exist. */
CST_EXPORT CST_ON_QUEUE cst_status cst_controller_copy_object(const cst_controller *controller, size_t section,
                                                              size_t row, cst_object **out_object CST_OWNED,
                                                              cst_error **error);

/* Returns the index path of an object. Returns CST_NOT_FOUND for an object that is not among the results. */
CST_EXPORT CST_ON_QUEUE cst_status cst_controller_index_path(const cst_controller *controller, const cst_object *object,
                                                             cst_index_path *out_path, cst_error **error);

/* Fills a buffer with the section index title at an index; equal titles count once. Returns CST_END past the last
 * title. */
CST_EXPORT CST_ON_QUEUE cst_status cst_controller_copy_title(const cst_controller *controller, size_t index,
                                                             cst_buffer *out_title, cst_error **error);

/* Fills a buffer with the index title of the section named `name`.
 *
 * The title is the result of the delegate's section_title, or else the first letter of the name as a capital. Returns
 * CST_NOT_FOUND for a section without a title. */
CST_EXPORT CST_ON_QUEUE cst_status cst_controller_copy_section_title(const cst_controller *controller, cst_string name,
                                                                     cst_buffer *out_title, cst_error **error);

/* Returns the index of the first section that has the index title `title`; `index` is the position of this title. Fails
 * with CST_E_INVALID_ARGUMENT if another title is at `index`. */
CST_EXPORT CST_ON_QUEUE cst_status cst_controller_section_for_title(const cst_controller *controller, cst_string title,
                                                                    size_t index, size_t *out_section,
                                                                    cst_error **error);

/* Deletes the sections that are cached under a name, or all cached sections if the name is a null string. Results are
 * correct without this call. */
CST_EXPORT CST_ANY_THREAD cst_status cst_controller_delete_cache(cst_string name, cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
