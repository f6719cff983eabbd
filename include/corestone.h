/* corestone.h: Core Data for every language.
 *
 * A model describes entities. A coordinator opens stores for a model. A context manages objects of a coordinator's
 * stores: it fetches, inserts, changes and deletes objects, and saves all changes together. A container combines a
 * model, a coordinator and contexts in one handle; most programs begin with a container.
 *
 * This header includes one header for each subject. Each can also be included alone. These rules apply to all of them
 * (docs/CONVENTIONS.md explains them):
 *
 * Results    A function that can fail returns a cst_status: 0 is success, a positive status is an expected outcome, a
 *            negative status is a failure. The last parameter, `error`, may be NULL. Otherwise it must point to NULL.
 *            An error is returned only on failure, and the caller owns it.
 * Ownership  The annotations CST_OWNED and CST_BORROWED state the ownership of each output. The caller owns most
 *            handles that functions with `new`, `copy`, `fetch`, `insert` or `with` in their names return, and must
 *            release them with cst_release. Functions with `get` or `at`, and functions named by a plain noun, usually
 *            return a borrowed handle, which is valid until its owner is changed or released. cst_retain makes a
 *            borrowed handle owned. Children retain their parents: an object its context, a context its coordinator.
 *            Releasing NULL is allowed.
 * Handles    Handles are tokens, not addresses. A call with a released or stale handle, or with a handle of another
 *            type, fails with CST_E_INVALID_HANDLE and does not crash.
 * Text       Text is UTF-8. As input, a cst_string has a size, or CST_NUL for NUL-terminated text. CST_TEXT("…")
 *            creates a cst_string. A string whose data is NULL is null; another string of size 0 is empty. As output,
 *            text is a view that is also NUL-terminated.
 * Threads    Each function has one of these annotations. CST_ANY_THREAD: any thread, concurrently. CST_ONE_THREAD: any
 *            thread, one at a time. CST_ON_QUEUE: on the queue of the handle's context (cst_context_new); elsewhere
 *            the call fails with CST_E_WRONG_THREAD. After a fork, calls in the child fail with CST_E_FORKED, but the
 *            texts of an error can still be read.
 * Options    Structs of options begin with struct_size and have an initialiser, CST_…_INIT. Zero in another member
 *            selects its default.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_H
#define CORESTONE_H

/* In reading order. Each header includes the headers that it needs. */
/* clang-format off */
#include "corestone/marks.h"       /* export macro and annotations */
#include "corestone/version.h"     /* the version of these headers */
#include "corestone/types.h"       /* handles, status codes, strings, values */
#include "corestone/library.h"     /* the loaded library, retain and release, buffers */
#include "corestone/log.h"         /* the log of SQL and warnings */
#include "corestone/error.h"       /* errors of failed calls */

#include "corestone/model.h"       /* models: building, reading, writing, comparing */
#include "corestone/entity.h"      /* entities, their properties, indexes, validators */
#include "corestone/property.h"    /* attributes and relationships */
#include "corestone/accessor.h"    /* C functions that get or set one property */
#include "corestone/value.h"       /* values of the host, key paths */
#include "corestone/inline.h"      /* constructors of values, CST_TEXT */
#include "corestone/archive.h"     /* keyed archives as JSON, classes of the host */
#include "corestone/transformer.h" /* transformers of transformable attributes */
#include "corestone/mapping.h"     /* mapping models */
#include "corestone/lifecycle.h"   /* lifecycle hooks of objects */

#include "corestone/store.h"       /* coordinators and stores */
#include "corestone/queue.h"       /* the main queue */
#include "corestone/context.h"     /* contexts: fetching, inserting, saving */
#include "corestone/migration.h"   /* migration managers, policies, staged migrations, backups */
#include "corestone/migration_guard.h" /* checks of model versions, releases */
#include "corestone/container.h"   /* a model, its stores and contexts in one handle */
#include "corestone/document.h"    /* one store as a document */
#include "corestone/nesting.h"     /* child contexts, merging saved changes */
#include "corestone/generation.h"  /* query generations: snapshots of the stores */
#include "corestone/remote.h"      /* changes by other processes */
#include "corestone/history.h"     /* persistent history: the change log of stores */
#include "corestone/merging.h"     /* merge policies and conflicts */
#include "corestone/faulting.h"    /* how contexts load data on demand */

#include "corestone/object.h"      /* objects and their values */
#include "corestone/observation.h" /* observing contexts and objects */
#include "corestone/object_id.h"   /* object IDs */
#include "corestone/undo.h"        /* undo managers */

#include "corestone/predicate.h"   /* predicates */
#include "corestone/expression.h"  /* expressions */
#include "corestone/function.h"    /* functions for predicates and expressions */
#include "corestone/fetch.h"       /* fetch requests, sorting, asynchronous fetches */
#include "corestone/results.h"     /* lists of objects or IDs */
#include "corestone/rows.h"        /* values of columns */
#include "corestone/arrow.h"       /* export for Apache Arrow */
#include "corestone/host_store.h"  /* stores that the host implements */
#include "corestone/batch.h"       /* inserts, updates and deletes without objects */
#include "corestone/cursor.h"      /* fetched objects in batches */
#include "corestone/live.h"        /* observing the results of a request */
#include "corestone/controller.h"  /* results by section and row */
/* clang-format on */

#endif
