/* corestone/log.h: the log of SQL and warnings
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CORESTONE_LOG_H
#define CORESTONE_LOG_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ======== log ============================================================================================ */
/* What the library tells about its work: which SQL it runs, how long that takes, how many rows come. Of the whole process.
 * Lines begin as Core Data's do ("CoreData: sql: ", "CoreData: annotation: ", "CoreData: details: "). Ends of lines and
 * other control characters within them are marks: no name or value of a file makes a second line. */

/* What of the SQL is told from now on, of stores that are open too: 0 nothing, 1 statements on rows with their time and
 * number of rows, 2 also transactions and settings, 3 also bound values and SQLite's plan, 4 also its counters. At first
 * what CORESTONE_SQL_DEBUG in the environment says. CST_E_INVALID_ARGUMENT above 4. */
CST_EXPORT CST_ANY_THREAD cst_status cst_log_set_sql_detail(uint32_t detail, cst_error **error);
CST_EXPORT CST_ANY_THREAD uint32_t cst_log_sql_detail(void);
/* Gets one line without its end, on the thread that does the work, in the midst of it and with stores locked: it may call
 * cst_retain, cst_release, what cannot fail, and getters and setters of values that are in memory; every other call fails
 * with CST_E_INVALID_ARGUMENT. */
typedef void (*cst_log_fn)(void *userdata, cst_string line CST_BORROWED);
/* Takes the lines instead of standard error; NULL gives them back to it. On failure `destroy` is called too. */
CST_EXPORT CST_ANY_THREAD cst_status cst_log_set_callback(cst_log_fn callback, void *userdata, cst_destroy_fn destroy,
                                                          cst_error **error);
/* Does what Core Data's launch arguments among a program's say: "-com.apple.CoreData.SQLDebug", "1" and its like, each with
 * its number after it; everything else is passed over. `out_taken`, which may be NULL, tells how many there were.
 * CST_E_INVALID_ARGUMENT, and nothing is done, for one that does not exist or a number that it does not take. */
CST_EXPORT CST_ANY_THREAD cst_status cst_log_take_arguments(size_t count, const char *const *arguments,
                                                            size_t *out_taken, cst_error **error);

#ifdef __cplusplus
}
#endif
#endif
