/* corestone/controller.h: results by section and row
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_CONTROLLER_H
#define CORESTONE_CONTROLLER_H

#include "live.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ======== controller ===================================================================================== */
/* The results of a request by section and row, for a list that shows them. On the queue of its context. */

/* Who shows the results. Functions may be NULL, and may do what they like; the controller, and what a function is told, is
 * borrowed for the call. Of each event that changed the results: will_change, while they are what they were; did_change_section;
 * did_change_object; did_change. */
typedef struct cst_controller_delegate {
    size_t struct_size;
    void (*will_change)(void *userdata, cst_controller *controller);
    void (*did_change_section)(void *userdata, cst_controller *controller, const cst_section_change *change);
    void (*did_change_object)(void *userdata, cst_controller *controller, const cst_object_change *change);
    void (*did_change)(void *userdata, cst_controller *controller);
    /* All of an event at once: then the four above are not called. */
    void (*did_change_all)(void *userdata, cst_controller *controller, const cst_difference *difference);
    /* The same as steps between IDs, for a controller without sections and a delegate without did_change_all. Updates are none. */
    void (*did_change_ids)(void *userdata, cst_controller *controller, size_t count, const cst_id_change *changes);
    /* The context was reset (`error` is NULL), or following it failed: there are no results until the next perform_fetch. Where a
     * function resets it after will_change, did_change comes before, without the rest of the change. */
    void (*did_reset)(void *userdata, cst_controller *controller, const cst_error *error);
    /* The title of a section in an index: a string, valid until its next call, or null to leave the section out. */
    cst_status (*section_title)(void *userdata, cst_controller *controller, cst_string name, cst_value *out_title,
                                cst_error **error);
    void *userdata;
    cst_destroy_fn destroy;
} cst_controller_delegate;
#define CST_CONTROLLER_DELEGATE_INIT                                                                                   \
    {sizeof(cst_controller_delegate), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL}

/* `section_key_path` names the sections by the values it leads to; a null string: all is one section. `cache_name`: under which
 * name sections are remembered beyond the process; may be a null string. The request is kept, and read by perform_fetch. */
CST_EXPORT CST_ON_QUEUE cst_status cst_controller_new(cst_context *context, cst_fetch_request *request,
                                                      cst_string section_key_path, cst_string cache_name,
                                                      cst_controller **out_controller CST_OWNED, cst_error **error);
/* Gives a string, or null for the section without a name, valid until its next call. It may read the object, and change
 * nothing. */
typedef cst_status (*cst_section_name_fn)(void *userdata, cst_object *object, cst_value *out_name, cst_error **error);
/* The same with sections that a function names. */
CST_EXPORT CST_ON_QUEUE cst_status cst_controller_new_with_sections(cst_context *context, cst_fetch_request *request,
                                                                    cst_section_name_fn section_name, void *userdata,
                                                                    cst_destroy_fn destroy,
                                                                    cst_controller **out_controller CST_OWNED,
                                                                    cst_error **error);
/* Key paths to objects whose changes are updates of those that lead to them; counts from the next perform_fetch on. */
CST_EXPORT CST_ON_QUEUE cst_status cst_controller_set_dependencies(cst_controller *controller, size_t path_count,
                                                                   const cst_string *paths, cst_error **error);
/* Changes are followed as long as there is a delegate; NULL takes it away. */
CST_EXPORT CST_ON_QUEUE cst_status cst_controller_set_delegate(cst_controller *controller,
                                                               const cst_controller_delegate *delegate,
                                                               cst_error **error);
/* Fetches, for the first time or anew. CST_E_INVALID_ARGUMENT for a request whose sort descriptors were never set; code 134060
 * naming the object when the objects of a section do not lie together. */
CST_EXPORT CST_ON_QUEUE cst_status cst_controller_perform_fetch(cst_controller *controller, cst_error **error);
/* The results as they are now; CST_NOT_FOUND before perform_fetch, and after a reset. */
CST_EXPORT CST_ON_QUEUE cst_status cst_controller_copy_snapshot(const cst_controller *controller,
                                                                cst_snapshot **out_snapshot CST_OWNED,
                                                                cst_error **error);
/* The objects of a section, of all for SIZE_MAX; CST_NOT_FOUND before perform_fetch, and after a reset. */
CST_EXPORT CST_ON_QUEUE cst_status cst_controller_copy_objects(const cst_controller *controller, size_t section,
                                                               cst_results **out_objects CST_OWNED, cst_error **error);
/* CST_E_INVALID_ARGUMENT where there is none. */
CST_EXPORT CST_ON_QUEUE cst_status cst_controller_copy_object(const cst_controller *controller, size_t section,
                                                              size_t row, cst_object **out_object CST_OWNED,
                                                              cst_error **error);
/* CST_NOT_FOUND for an object that is not among the results. */
CST_EXPORT CST_ON_QUEUE cst_status cst_controller_index_path(const cst_controller *controller, const cst_object *object,
                                                             cst_index_path *out_path, cst_error **error);
/* The titles of the sections, each once; CST_END past the last one. */
CST_EXPORT CST_ON_QUEUE cst_status cst_controller_copy_title(const cst_controller *controller, size_t index,
                                                             cst_buffer *out_title, cst_error **error);
/* The title of a section of that name: what the delegate says, else its first letter as a capital. CST_NOT_FOUND without one. */
CST_EXPORT CST_ON_QUEUE cst_status cst_controller_copy_section_title(const cst_controller *controller, cst_string name,
                                                                     cst_buffer *out_title, cst_error **error);
/* The first section with a title, which is that at `index` of the titles. */
CST_EXPORT CST_ON_QUEUE cst_status cst_controller_section_for_title(const cst_controller *controller, cst_string title,
                                                                    size_t index, size_t *out_section,
                                                                    cst_error **error);
/* Forgets the sections that were remembered under a name; a null string: all of them. Never needed for results to be right. */
CST_EXPORT CST_ANY_THREAD cst_status cst_controller_delete_cache(cst_string name, cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
