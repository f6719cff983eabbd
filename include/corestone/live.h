/* corestone/live.h: observing the results of a request.
 *
 * cst_context_observe_fetch calls a function with the results of a request and then with the difference after each
 * event: inserted, deleted, moved and updated objects, by section and row. cst_snapshot functions read the results of
 * one point in time. A controller (controller.h) does the same for a delegate. The caller owns observations;
 * differences are borrowed for the call. Observers run on the queue of the context.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_LIVE_H
#define CORESTONE_LIVE_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The kinds of changes of sections and objects among results. */
enum { CST_RESULT_INSERT = 1, CST_RESULT_DELETE = 2, CST_RESULT_MOVE = 3, CST_RESULT_UPDATE = 4 };

/* The index path of an object: its section and its index within the section. Both members are SIZE_MAX if the object is
 * not among the results. */
typedef struct cst_index_path {
    size_t section, row;
} cst_index_path;

/* A section that was inserted, at its new index, or deleted, at its former one. */
typedef struct cst_section_change {
    uint32_t kind; /* CST_RESULT_INSERT or CST_RESULT_DELETE */
    size_t index;
    cst_string name;
} cst_section_change;

/* A change of an object: `path` is its index path before the event, `new_path` its index path after it. The two index
 * paths of a move differ. A move also counts as an update. */
typedef struct cst_object_change {
    uint32_t kind; /* CST_RESULT_… */
    cst_object *object;
    cst_index_path path, new_path;
} cst_object_change;

/* An object whose ID was temporary and is permanent now. */
typedef struct cst_renamed_id {
    const cst_object_id *former, *id;
} cst_renamed_id;

/* A difference between former and new results. To get the new results, remove deleted and moved objects at their former
 * positions, from the last to the first. Then add inserted and moved objects at their new positions, from the first to
 * the last. Everything is borrowed for the call. */
typedef struct cst_difference {
    size_t section_count, change_count;
    const cst_section_change *sections;
    const cst_object_change *changes; /* deletions, insertions, moves, updates */
    cst_snapshot *snapshot;           /* the new results; retain the handle to keep them */
    bool is_reset;                    /* the former results are invalid: `changes` insert all new ones */
    const cst_error *error;           /* why the observation failed, in the last difference; otherwise NULL */
    size_t renamed_count;
    const cst_renamed_id *renamed; /* replace stored IDs; sections and rows do not change */
} cst_difference;

/* A step from the IDs of former results to those of the new ones.
 *
 * Deletions come first, from the last to the first; insertions follow, from the first to the last. A move is a deletion
 * and an insertion, and so is an object whose ID changed. */
typedef struct cst_id_change {
    uint32_t kind;     /* CST_RESULT_DELETE or CST_RESULT_INSERT */
    size_t offset;     /* among the former results for a deletion, among the new ones for an insertion */
    size_t associated; /* for a move, the offset of the matching insertion or deletion; otherwise SIZE_MAX */
    const cst_object_id *id;
} cst_id_change;

/* Receives a difference of observed results. Context and difference are borrowed for the call. */
typedef void (*cst_observe_fetch_fn)(void *userdata, cst_context *context, const cst_difference *difference);

/* Calls `observe` with the results of a request, and then with each difference.
 *
 * The results are reported as insertions, before this function returns. A difference is reported after each event that
 * changes the results. `observe` is called on the queue of the context, until the observation is cancelled or released.
 * After a reset of the context the observation starts again. `section_key_path` is the key path of the section names;
 * it may be a null string. `paths` are key paths from the results to related objects. A change of a related object
 * counts as an update of the result. The request is read during the call only. `destroy` is called after the last call,
 * at the latest when the context is deallocated. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_observe_fetch(cst_context *context, const cst_fetch_request *request,
                                                             cst_string section_key_path, size_t path_count,
                                                             const cst_string *paths, cst_observe_fetch_fn observe,
                                                             void *userdata, cst_destroy_fn destroy,
                                                             cst_observation **out_observation CST_OWNED,
                                                             cst_error **error);

/* Returns the number of sections, or 0 for an invalid handle. Any thread may read the sections of a snapshot. */
CST_EXPORT CST_ANY_THREAD size_t cst_snapshot_section_count(const cst_snapshot *snapshot);

/* Returns the name of the section at an index, or a null string past the last one. */
CST_EXPORT CST_ANY_THREAD CST_BORROWED cst_string cst_snapshot_section_name(const cst_snapshot *snapshot,
                                                                            size_t section);

/* Returns the number of objects of a section, or of all sections for SIZE_MAX. Returns 0 past the last section and for
 * an invalid handle. */
CST_EXPORT CST_ANY_THREAD size_t cst_snapshot_object_count(const cst_snapshot *snapshot, size_t section);

/* Returns the IDs of the objects of a section, or of all sections for SIZE_MAX. Fails with CST_E_INVALID_ARGUMENT past
 * the last section. */
CST_EXPORT CST_ON_QUEUE cst_status cst_snapshot_copy_ids(const cst_snapshot *snapshot, size_t section,
                                                         cst_results **out_ids CST_OWNED, cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
