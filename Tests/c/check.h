/* A small test harness.
 *
 * It has named tests, checks that print the expression and its place, a folder for each test, and a closing line
 * "N passed, M failed". A test also fails when it leaks handles.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CHECK_H
#define CHECK_H

#include <corestone.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Runs one test, the name of a `static void name(void)`. */
#define RUN(test) check_run(#test, test)

/* The slot for a call's error; releases the error of an earlier call. */
#define E check_slot()

/* Records a failure and continues. Safe on any thread. */
#define CHECK(condition) check_that((condition), #condition, __FILE__, __LINE__)
#define CHECK_INT(expected, actual) check_int((int64_t)(expected), (int64_t)(actual), #actual, __FILE__, __LINE__)
#define CHECK_REAL(expected, actual) check_real((expected), (actual), #actual, __FILE__, __LINE__)
#define CHECK_TEXT(expected, actual) check_text((expected), (actual), #actual, __FILE__, __LINE__)
/* The view must contain the words. */
#define CHECK_CONTAINS(words, actual) check_contains((words), (actual), #actual, __FILE__, __LINE__)
/* The call must return this status; a failure with E must set an error with the same status. */
#define CHECK_STATUS(expected, call) check_status((expected), (call), #call, __FILE__, __LINE__)

/* As above, but a failure ends the test. Only on the thread that runs the test. */
#define OK(call) check_require(check_status(CST_OK, (call), #call, __FILE__, __LINE__))
#define REQUIRE(condition) check_require(check_that((condition), #condition, __FILE__, __LINE__))

/* Starts the program; an argument, if any, runs only the tests whose name contains it. */
void check_begin(int argc, char **argv);
/* Prints the closing line; the exit status of the program. */
int check_end(void);
void check_run(const char *name, void (*test)(void));
/* Ends the test with a reason, because it does not apply here. */
_Noreturn void check_skip(const char *why);
/* Turns off the check for leaked handles in the running test. */

bool check_that(bool holds, const char *expression, const char *file, int line);
bool check_int(int64_t expected, int64_t actual, const char *expression, const char *file, int line);
bool check_real(double expected, double actual, const char *expression, const char *file, int line);
bool check_text(const char *expected, cst_string actual, const char *expression, const char *file, int line);
bool check_contains(const char *words, cst_string actual, const char *expression, const char *file, int line);
bool check_status(cst_status expected, cst_status actual, const char *expression, const char *file, int line);
void check_require(bool holds);
/* Records a failure with the given text. */
void check_fail(const char *file, int line, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Each thread has its own slot. */
cst_error **check_slot(void);
/* The error of the last call with E, or NULL. */
cst_error *check_error(void);

/* The number of failed checks of the running test. A forked child returns it as its exit status. */
int check_failures(void);

/* A path in the running test's folder; valid until the test ends. */
const char *check_path(const char *name);
/* Creates a file with this text. */
void check_write(const char *path, const char *content);
/* The name of a status, for messages. */
const char *check_status_name(cst_status status);

/* A NUL-terminated string as input. */
static inline cst_string text(const char *string) {
    cst_string view = {string, CST_NUL};
    return view;
}
static inline cst_string text_of_size(const char *data, size_t size) {
    cst_string view = {data, size};
    return view;
}

#endif
