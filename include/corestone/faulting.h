/* corestone/faulting.h: how contexts read what is not loaded
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_FAULTING_H
#define CORESTONE_FAULTING_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ======== faulting ======================================================================================= */
/* How a context reads what was not read yet. docs/reference/faulting.md has the whole of it. */

/* What a context does about single faults, which cost a query of their own where a prefetch would have cost one in all. */
enum {
    CST_FAULT_BATCH = 0, /* nothing: siblings that came together are filled together, all else as it comes */
    CST_FAULT_WARN = 1,  /* the log is told, once for each relationship and place in the host's code */
    CST_FAULT_ERROR = 2  /* CST_E_UNSUPPORTED where a relationship leads to what was not read */
};
enum {
    CST_OPTION_FAULT_POLICY = 1,     /* CST_FAULT_…; batch at first */
    CST_OPTION_FAULT_BATCH_SIZE = 2, /* siblings that one fault fills: 1 to 65536, 256 at first */
    CST_OPTION_COUNTS_SINGLE_FAULTS =
        3,                       /* 1: cst_context_copy_fault_report has numbers, anew from now on; 0 at first */
    CST_OPTION_STALENESS_MS = 4, /* rows of the cache that are older are read again; below 0, as at first: never */
    CST_OPTION_RETAINS_REGISTERED_OBJECTS = 5, /* 1: all, not only changed ones; 0 at first */
    CST_OPTION_DELETES_INACCESSIBLE_FAULTS =
        6, /* 1, as at first: an object whose row is gone counts as deleted, its values
                                                   null; 0: reading it is CST_E_OBJECT_GONE, code 133000 */
    CST_OPTION_DELETES_AT_END_OF_EVENT =
        7,                        /* 1, as at first: pending changes include delete rules; 0: only a save's do */
    CST_OPTION_MERGES_BATCHES = 8 /* 1, as at first: what batch requests change comes in by itself */
};
CST_EXPORT CST_ON_QUEUE cst_status cst_context_set_option(cst_context *context, uint32_t option, int64_t value,
                                                          cst_error **error);
CST_EXPORT CST_ON_QUEUE cst_status cst_context_option(const cst_context *context, uint32_t option, int64_t *out_value,
                                                      cst_error **error);
/* Says where the host's code is, for the report and the policy, until it is said again; a null string for nowhere. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_set_call_site(cst_context *context, cst_string file, uint32_t line,
                                                             cst_error **error);
#define CST_CALL_SITE(context) cst_context_set_call_site((context), (cst_string){__FILE__, CST_NUL}, __LINE__, NULL)
/* Asked where the host's code is when a single fault fires, on its thread: fills the buffer with the file and returns the line,
 * or leaves it empty for what cst_context_set_call_site said. It may not use the context: CST_E_INVALID_ARGUMENT. */
typedef uint32_t (*cst_call_site_fn)(void *userdata, cst_buffer *out_file);
/* NULL takes the function away. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_set_call_site_finder(cst_context *context, cst_call_site_fn find,
                                                                    void *userdata, cst_destroy_fn destroy,
                                                                    cst_error **error);
/* The single faults that were counted, most first: as lines for people, or as a JSON list of objects with "entity",
 * "relationship" (null for objects that were asked for by ID), "count", "file", "line". */
enum { CST_REPORT_TEXT = 0, CST_REPORT_JSON = 1 };
CST_EXPORT CST_ON_QUEUE cst_status cst_context_copy_fault_report(const cst_context *context, uint32_t form,
                                                                 cst_buffer *out_report, cst_error **error);
/* Decides about an object whose row is not there when a property is asked for: *out_handled true makes it count as deleted,
 * false is CST_E_OBJECT_GONE. Fault and ID are borrowed. A status below 0 makes the call fail as CST_E_CALLBACK. On the
 * context's queue; it may use the context. */
typedef cst_status (*cst_inaccessible_fault_fn)(void *userdata, cst_object *fault, cst_object_id *id,
                                                cst_string property, bool *out_handled, cst_error **error);
/* Asked instead of CST_OPTION_DELETES_INACCESSIBLE_FAULTS; NULL takes the function away. Calls that look for the row, such as
 * cst_context_existing_object, do not ask. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_set_inaccessible_fault_handler(cst_context *context,
                                                                              cst_inaccessible_fault_fn handler,
                                                                              void *userdata, cst_destroy_fn destroy,
                                                                              cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
