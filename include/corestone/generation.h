/* corestone/generation.h: query generations: snapshots of the stores.
 *
 * A query generation is one state of the stores of a coordinator. A context that is pinned to a generation
 * (cst_context_set_query_generation) reads that state, regardless of later saves. The state can be read as long as a
 * handle of the generation, or a context that is pinned to it, exists. Meanwhile the write-ahead log of an SQLite store
 * grows with every save. The caller owns generations.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_GENERATION_H
#define CORESTONE_GENERATION_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the generation that represents a future state: the newest one when the context first reads. */
CST_EXPORT CST_ANY_THREAD cst_status cst_query_generation_current(cst_query_generation **out_generation CST_OWNED,
                                                                  cst_error **error);

/* Returns the query generation of the current state of a coordinator's stores. Returns CST_NOT_FOUND if no store has
 * generations, for example if all are in memory. Fails with CST_E_UNSUPPORTED for an SQLite store with a rollback
 * journal. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_query_generation(cst_coordinator *coordinator,
                                                                      cst_query_generation **out_generation CST_OWNED,
                                                                      cst_error **error);

/* Returns the generation to which a context is pinned; before its first read this may be cst_query_generation_current.
 * Returns CST_NOT_FOUND for a context that is not pinned (the default), for a child, and if no store has
 * generations. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_query_generation(const cst_context *context,
                                                                cst_query_generation **out_generation CST_OWNED,
                                                                cst_error **error);

/* Pins a context to a generation, or unpins it (NULL). Fetches, faults and relationships read that state from now on;
 * objects keep their values until they are refreshed. A save with changes, a merge and a reset move the context to the
 * newest state; a refresh does not. In a save, changes that other contexts and processes made since the generation are
 * conflicts. Stores that are added later are not part of the generation.
 *
 * CST_E_INVALID_ARGUMENT for a child, which reads like its parent, and for a generation of another coordinator.
 * CST_E_UNSUPPORTED for an SQLite store with a rollback journal.
 * CST_E_OBJECT_GONE if a store of the generation was removed; the context is then pinned in the other stores. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_set_query_generation(cst_context *context,
                                                                    cst_query_generation *generation,
                                                                    cst_error **error);

/* Whether a generation is cst_query_generation_current; false for an invalid handle. */
CST_EXPORT CST_ANY_THREAD bool cst_query_generation_is_current(const cst_query_generation *generation);

/* Whether two handles represent the same generation; false for an invalid handle. */
CST_EXPORT CST_ANY_THREAD bool cst_query_generation_equal(const cst_query_generation *a, const cst_query_generation *b);

/* Returns a hash that is equal for equal generations, or 0 for an invalid handle. */
CST_EXPORT CST_ANY_THREAD uint64_t cst_query_generation_hash(const cst_query_generation *generation);

#ifdef __cplusplus
}
#endif
#endif
