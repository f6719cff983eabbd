/* corestone/faulting.h: how a context reads data that is not loaded yet.
 *
 * A fault is an object whose values are not loaded. Reading a value fires the fault. This may cost a query; loading
 * many faults singly is the N+1 problem. cst_context_set_option sets how many siblings one fault loads and whether
 * single faults are reported; cst_context_copy_fault_report lists such faults with their call sites. A handler can be
 * set for faults whose row was deleted. These settings belong to one context and are used on its queue.
 * docs/reference/faulting.md has the details.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_FAULTING_H
#define CORESTONE_FAULTING_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The policies of a context for single faults. A single fault costs a query; a prefetch needs one query for up to a
 * thousand objects. */
enum {
    CST_FAULT_BATCH = 0, /* no report: siblings that were fetched together are loaded together, others singly */
    CST_FAULT_WARN = 1,  /* logs a warning, once for each relationship and call site */
    CST_FAULT_ERROR = 2  /* a single fault of an object that a relationship returned fails with CST_E_UNSUPPORTED */
};

/* The options of a context. */
enum {
    CST_OPTION_FAULT_POLICY = 1,     /* CST_FAULT_…; CST_FAULT_BATCH initially */
    CST_OPTION_FAULT_BATCH_SIZE = 2, /* siblings that one fault loads: 1 to 65536, initially 256 */
    /* 1: counts single faults from 0 for cst_context_copy_fault_report; initially 0 */
    CST_OPTION_COUNTS_SINGLE_FAULTS = 3,
    /* The age in milliseconds from which cached rows are read again; negative, as initially: never. */
    CST_OPTION_STALENESS_MS = 4,
    /* 1: the context retains all its objects, not only changed ones; initially 0 */
    CST_OPTION_RETAINS_REGISTERED_OBJECTS = 5,
    /* 1, as initially: an object whose row was deleted counts as deleted, with null values.
     *
     * 0: reading such an object fails with CST_E_OBJECT_GONE, code 133000. */
    CST_OPTION_DELETES_INACCESSIBLE_FAULTS = 6,
    /* 1, as initially: processing pending changes applies delete rules; 0: only a save does. */
    CST_OPTION_DELETES_AT_END_OF_EVENT = 7,
    /* 1, as initially: changes by batch requests are merged automatically. */
    CST_OPTION_MERGES_BATCHES = 8
};

/* Sets an option of the context, CST_OPTION_…. Fails with CST_E_INVALID_ARGUMENT for an unknown option or a value out
 * of range. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_set_option(cst_context *context, uint32_t option, int64_t value,
                                                          cst_error **error);

/* Returns the value of an option of the context, CST_OPTION_…. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_option(const cst_context *context, uint32_t option, int64_t *out_value,
                                                      cst_error **error);

/* Records the call site, the current line of the host's code, for the fault report and the fault policy.
 *
 * The call site stays the same until it is set again. A null `file` removes the call site. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_set_call_site(cst_context *context, cst_string file, uint32_t line,
                                                             cst_error **error);

/* Records the current source line with cst_context_set_call_site. */
#define CST_CALL_SITE(context) cst_context_set_call_site((context), (cst_string){__FILE__, CST_NUL}, __LINE__, NULL)

/* Called when a single fault fires, on the thread that fires the fault, to find the call site. Fills the buffer with
 * the file and returns the line, or leaves the buffer empty to use the call site of cst_context_set_call_site. Calls
 * that use the context fail with CST_E_INVALID_ARGUMENT. */
typedef uint32_t (*cst_call_site_fn)(void *userdata, cst_buffer *out_file);

/* Sets the function that finds the call site; NULL removes it. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_set_call_site_finder(cst_context *context, cst_call_site_fn find,
                                                                    void *userdata, cst_destroy_fn destroy,
                                                                    cst_error **error);

/* The forms of a report. */
enum { CST_REPORT_TEXT = 0, CST_REPORT_JSON = 1 };

/* Fills a buffer with the counted single faults, most frequent first. `form` is a CST_REPORT_ constant: lines of text,
 * or a JSON array of objects with "entity", "relationship" (null for objects requested by ID), "count", "file" and
 * "line". */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_copy_fault_report(const cst_context *context, uint32_t form,
                                                                 cst_buffer *out_report, cst_error **error);

/* Handles an object whose row was deleted, when a property is read. `property` may be a null string. If the function
 * sets *out_handled to true, the object counts as deleted; otherwise the call fails with CST_E_OBJECT_GONE. Fault and
 * ID are borrowed for the call. A negative status makes the call fail with CST_E_CALLBACK. The function runs on the
 * queue of the context, and may use the context. */
typedef cst_status (*cst_inaccessible_fault_fn)(void *userdata, cst_object *fault, cst_object_id *id,
                                                cst_string property, bool *out_handled, cst_error **error);

/* Sets a handler that replaces CST_OPTION_DELETES_INACCESSIBLE_FAULTS; NULL removes it. Calls that test whether the row
 * exists, such as cst_context_existing_object, do not call the handler. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_set_inaccessible_fault_handler(cst_context *context,
                                                                              cst_inaccessible_fault_fn handler,
                                                                              void *userdata, cst_destroy_fn destroy,
                                                                              cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
