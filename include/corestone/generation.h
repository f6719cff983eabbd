/* corestone/generation.h: reading one state of the stores
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_GENERATION_H
#define CORESTONE_GENERATION_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ======== generation ===================================================================================== */
/* A generation is one state of the stores of a coordinator. A context that is pinned to one reads that state, whatever
 * others save. It lasts as long as somebody holds a handle of it, which may be handed to any thread, or a context is pinned
 * to it. Meanwhile the write-ahead log of an SQLite store keeps all that is saved. */

/* No state yet, but a wish: the one that is the newest when the context first reads. */
CST_EXPORT CST_ANY_THREAD cst_status cst_query_generation_current(cst_query_generation **out_generation CST_OWNED,
                                                                  cst_error **error);
/* The state that the stores of a coordinator have now, held from now on. CST_NOT_FOUND when no store has generations, as those in
 * memory; CST_E_UNSUPPORTED for an SQLite store with a rollback journal. */
CST_EXPORT CST_ANY_THREAD cst_status cst_coordinator_query_generation(cst_coordinator *coordinator,
                                                                      cst_query_generation **out_generation CST_OWNED,
                                                                      cst_error **error);
/* The generation that a context is pinned to, before its first read cst_query_generation_current; CST_NOT_FOUND for one
 * that reads the newest state at any time, as at first, for one with a parent, and as long as no store has generations. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_query_generation(const cst_context *context,
                                                                cst_query_generation **out_generation CST_OWNED,
                                                                cst_error **error);
/* Pins a context to a generation, or unpins it (NULL). Fetches, faults and relationships read that state from now on;
 * objects keep the values that they have until they are refreshed. A save, a merge of changes and a reset move the context
 * on to what is the newest state then; a refresh does not. What others changed since the generation is a conflict for a
 * save, as ever. Stores that are added later are left out. CST_E_INVALID_ARGUMENT for a context with a parent, which reads
 * what its parent reads, and for a generation of another coordinator; CST_E_UNSUPPORTED for an SQLite store with a rollback
 * journal; CST_E_OBJECT_GONE when a store of the generation was removed: the context is pinned in the others all the same. */
CST_EXPORT CST_ON_QUEUE cst_status cst_context_set_query_generation(cst_context *context,
                                                                    cst_query_generation *generation,
                                                                    cst_error **error);
/* Whether a generation is cst_query_generation_current; false for an invalid handle. */
CST_EXPORT CST_ANY_THREAD bool cst_query_generation_is_current(const cst_query_generation *generation);
/* Whether two handles stand for the same generation; false when one is no live handle. */
CST_EXPORT CST_ANY_THREAD bool cst_query_generation_equal(const cst_query_generation *a, const cst_query_generation *b);
/* Equal generations have equal hashes; 0 for an invalid handle. */
CST_EXPORT CST_ANY_THREAD uint64_t cst_query_generation_hash(const cst_query_generation *generation);

#ifdef __cplusplus
}
#endif
#endif
