/* corestone/marks.h: the annotations of declarations.
 *
 * CST_EXPORT makes a function visible. The annotations are empty macros for readers and tools. Each function has
 * exactly one thread annotation: CST_ANY_THREAD, CST_ON_QUEUE or CST_ONE_THREAD. Most outputs that are handles, views
 * or values have an ownership annotation: CST_OWNED or CST_BORROWED. A tool may define the annotations before it
 * includes a header, for example as attributes of its compiler.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_MARKS_H
#define CORESTONE_MARKS_H

/* A function of the library. On Windows, define CST_BUILD to build the library and CST_STATIC to link it statically. */
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

/* The caller owns this output and must release it.
 *
 * Release handles with cst_release, values with cst_value_dispose, and structs of Apache Arrow with their `release`. */
#ifndef CST_OWNED
#define CST_OWNED
#endif

/* This output or argument is owned by another handle, and valid until that handle is changed or released. An argument
 * of a callback is valid until the callback returns. */
#ifndef CST_BORROWED
#define CST_BORROWED
#endif

/* Callable on any thread, concurrently. */
#ifndef CST_ANY_THREAD
#define CST_ANY_THREAD
#endif

/* Callable only on the queue of the handle's context; elsewhere the call fails with CST_E_WRONG_THREAD. */
#ifndef CST_ON_QUEUE
#define CST_ON_QUEUE
#endif

/* Callable on any thread, but by one thread at a time for each handle. */
#ifndef CST_ONE_THREAD
#define CST_ONE_THREAD
#endif

#endif
