/* corestone/live.h: following the results of a request
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_LIVE_H
#define CORESTONE_LIVE_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ======== live =========================================================================================== */
/* What a request finds, and how that changes. */

/* Of sections and objects among results. */
enum { CST_RESULT_INSERT = 1, CST_RESULT_DELETE = 2, CST_RESULT_MOVE = 3, CST_RESULT_UPDATE = 4 };

/* Where an object stands among results; SIZE_MAX twice where there is no place. */
typedef struct cst_index_path {
    size_t section, row;
} cst_index_path;
/* A section that came, at its new index, or went, at its former one. */
typedef struct cst_section_change {
    uint32_t kind; /* CST_RESULT_INSERT or _DELETE */
    size_t index;
    cst_string name;
} cst_section_change;
/* What became of an object: `path` is its place before the event, `new_path` that after it. A move never leads to the same
 * place, and is an update too. */
typedef struct cst_object_change {
    uint32_t kind; /* CST_RESULT_… */
    cst_object *object;
    cst_index_path path, new_path;
} cst_object_change;
/* An object whose ID was temporary and is another now. */
typedef struct cst_renamed_id {
    const cst_object_id *former, *id;
} cst_renamed_id;
/* Deletions and the beginnings of moves by former places, last first, then insertions and the ends of moves by new places, first
 * first: that gives the new results from the former ones, always. All of it is borrowed for the call. */
typedef struct cst_difference {
    size_t section_count, change_count;
    const cst_section_change *sections;
    const cst_object_change *changes; /* deletions, insertions, moves, updates */
    cst_snapshot *snapshot;           /* the new results; cst_retain keeps them */
    bool is_reset;                    /* what was shown is gone: `changes` insert all that there is */
    const cst_error *error;           /* what following failed with, and then this is the last difference; else NULL */
    size_t renamed_count;
    const cst_renamed_id *renamed; /* who keeps IDs keeps these instead; of sections and rows alone no change */
} cst_difference;

/* A step from the IDs of former results to those of the new ones: deletions from the last to the first, then insertions from the
 * first to the last. A move is both, and so is an object that got another ID. */
typedef struct cst_id_change {
    uint32_t kind;     /* CST_RESULT_DELETE or _INSERT */
    size_t offset;     /* among the former results for a deletion, among the new ones for an insertion */
    size_t associated; /* of a move, the offset of its other half; else SIZE_MAX */
    const cst_object_id *id;
} cst_id_change;

typedef void (*cst_observe_fetch_fn)(void *userdata, cst_context *context, const cst_difference *difference);
/* Calls `observe` with what a request finds, as insertions into nothing, before it returns, and from then on with each difference
 * that an event makes, on the context's queue, until the observation is cancelled or released. After a reset it begins anew.
 * `section_key_path` may be a null string. `paths` are key paths to objects whose changes are updates of those that lead to them.
 * The request is read during the call only. `destroy` is called after the last call, at the latest when the context ends. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_observe_fetch(cst_context *context, const cst_fetch_request *request,
                                                             cst_string section_key_path, size_t path_count,
                                                             const cst_string *paths, cst_observe_fetch_fn observe,
                                                             void *userdata, cst_destroy_fn destroy,
                                                             cst_observation **out_observation CST_OWNED,
                                                             cst_error **error);

/* Results as they were at one time; any thread may look at their sections. 0 for handles that are none. */
CST_EXPORT CST_ANY_THREAD size_t cst_snapshot_section_count(const cst_snapshot *snapshot);
/* The name of a section, a null string past the last one, and how many objects it has; `section` SIZE_MAX: all have. */
CST_EXPORT CST_ANY_THREAD CST_BORROWED cst_string cst_snapshot_section_name(const cst_snapshot *snapshot,
                                                                            size_t section);
CST_EXPORT CST_ANY_THREAD size_t cst_snapshot_object_count(const cst_snapshot *snapshot, size_t section);
/* The IDs of a section's objects; of all of them for SIZE_MAX. CST_E_INVALID_ARGUMENT past the last section. */
CST_EXPORT CST_ON_QUEUE cst_status cst_snapshot_copy_ids(const cst_snapshot *snapshot, size_t section,
                                                         cst_results **out_ids CST_OWNED, cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
