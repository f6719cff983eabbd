/* corestone/marks.h: export and thread marks
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_MARKS_H
#define CORESTONE_MARKS_H

#if defined(_WIN32)
#if defined(CST_BUILD)
#define CST_EXPORT __declspec(dllexport)
#elif defined(CST_STATIC)
#define CST_EXPORT
#else
#define CST_EXPORT __declspec(dllimport)
#endif
#else
#define CST_EXPORT __attribute__((visibility("default")))
#endif

/* Marks for readers and for generators of bindings; they expand to nothing. */
#define CST_OWNED      /* an output that the caller must release */
#define CST_BORROWED   /* an output that belongs to something else */
#define CST_ANY_THREAD /* callable on any thread */
#define CST_ON_QUEUE   /* callable on the queue of the context only */
#define CST_ONE_THREAD /* callable on any thread, one at a time */

#endif
