/* corestone/marks.h: the marks of declarations.
 *
 * CST_EXPORT makes a function visible. The other marks expand to nothing: they are for readers and for tools. Each
 * function has exactly one thread mark, CST_ANY_THREAD, CST_ON_QUEUE or CST_ONE_THREAD; outputs that are handles, views
 * or values have an ownership mark, CST_OWNED or CST_BORROWED. A tool may define the marks before it includes a header,
 * for example as annotations.
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

/* The caller owns this output and must release it: handles with cst_release, values with cst_value_dispose. */
#ifndef CST_OWNED
#define CST_OWNED
#endif

/* This output or argument is owned by another handle, and valid until that handle is changed or released. */
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
