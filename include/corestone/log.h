/* corestone/log.h: the log: SQL statements, timings and warnings.
 *
 * The whole process has one log. cst_log_set_sql_detail turns on the logging of SQL statements, their time and their
 * number of rows. cst_log_set_callback sets a function that receives the lines instead of standard error. Lines begin
 * as Core Data's do ("CoreData: sql: ", "CoreData: annotation: ", "CoreData: details: ", "CoreData: warning: "). Line
 * breaks and other control characters in names and values are replaced by visible symbols, so that no file can forge a
 * line. All functions may be called on any thread.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_LOG_H
#define CORESTONE_LOG_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Sets the level of detail of logged SQL, including for stores that are already open. Fails with CST_E_INVALID_ARGUMENT
 * for a detail above 4. The initial detail is the value of the environment variable CORESTONE_SQL_DEBUG, or 0 without
 * it.
 *
 *   0  no SQL
 *   1  statements on rows, with their time and number of rows
 *   2  in addition, transactions and settings
 *   3  in addition, bound values and SQLite's query plan
 *   4  in addition, SQLite's counters */
CST_EXPORT CST_ANY_THREAD cst_status cst_log_set_sql_detail(uint32_t detail, cst_error **error);

/* Returns the level of detail of logged SQL, 0 to 4, which cst_log_set_sql_detail sets. */
CST_EXPORT CST_ANY_THREAD uint32_t cst_log_sql_detail(void);

/* Receives one line, without its line break; `line` is borrowed for the call. The function runs on the thread that
 * writes the line, while stores may be locked. It may call cst_retain, cst_release, functions that cannot fail, and
 * getters and setters of values that are in memory; every other call fails with CST_E_INVALID_ARGUMENT. */
typedef void (*cst_log_fn)(void *userdata, cst_string line CST_BORROWED);

/* Sets the function that receives the lines of the log instead of standard error. With NULL the lines are written to
 * standard error again. `destroy` is called when another callback or NULL replaces this one, or if the call fails. */
CST_EXPORT CST_ANY_THREAD cst_status cst_log_set_callback(cst_log_fn callback, void *userdata, cst_destroy_fn destroy,
                                                          cst_error **error);

/* Applies the launch arguments of Core Data among a program's arguments.
 *
 * Each launch argument is followed by its number, for example "-com.apple.CoreData.SQLDebug", "1". Other arguments are
 * ignored. docs/reference/log.md lists the launch arguments. `out_taken`, which may be NULL, receives the number of
 * arguments that were applied. Fails with CST_E_INVALID_ARGUMENT, without applying any argument, for an unknown name of
 * this kind or a number out of range. */
CST_EXPORT CST_ANY_THREAD cst_status cst_log_take_arguments(size_t count, const char *const *arguments,
                                                            size_t *out_taken, cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
