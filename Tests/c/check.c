/* SPDX-License-Identifier: MIT */
#include "check.h"

#include <dirent.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PATHS = 64, PATH_SIZE = 512 };

static const char *program, *filter, *current;
static atomic_int failures; /* of the running test */
static int passed, failed, skipped;
static jmp_buf leave;
static char folder[PATH_SIZE];
static char *paths[PATHS];
static int path_count;
static _Thread_local cst_error *slot;
static pid_t process;

void check_begin(int argc, char **argv) {
    const char *slash = strrchr(argv[0], '/');
    program = slash ? slash + 1 : argv[0];
    filter = argc > 1 ? argv[1] : NULL;
    process = getpid();
    setvbuf(stdout, NULL, _IOLBF, 0);
}

static size_t thread_count(void) {
    size_t count = 0;
    DIR *threads = opendir("/proc/self/task");
    while (threads && readdir(threads))
        count++;
    if (threads) closedir(threads);
    return count < 2 ? 0 : count - 2; /* "." and ".." */
}

/* Waits until ending threads have ended: a leak checker would report the memory that they still own. */
static void let_threads_end(void) {
    for (int i = 0; i < 500 && thread_count() > 1; i++)
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
}

int check_end(void) {
    let_threads_end();
    if (skipped > 0) printf("%s: %d skipped\n", program, skipped);
    printf("%d passed, %d failed\n", passed, failed);
    return failed == 0 ? 0 : 1;
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *walk) {
    (void)info, (void)kind, (void)walk;
    return remove(path);
}

static void make_folder(void) {
    const char *base = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/corestone-XXXXXX", base && *base ? base : "/tmp");
    if (!mkdtemp(folder)) {
        perror(folder);
        exit(2);
    }
}

static void remove_folder(void) {
    while (path_count > 0)
        free(paths[--path_count]);
    nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

const char *check_path(const char *name) {
    char *path = malloc(PATH_SIZE);
    if (!path) exit(2);
    snprintf(path, PATH_SIZE, "%.200s/%.200s", folder, name);
    for (int i = 0; i < path_count; i++) {
        if (strcmp(paths[i], path) == 0) {
            free(path);
            return paths[i];
        }
    }
    if (path_count == PATHS) {
        fprintf(stderr, "%s: more than %d paths in one test\n", program, PATHS);
        exit(2);
    }
    return paths[path_count++] = path;
}

void check_write(const char *path, const char *content) {
    FILE *file = fopen(path, "w");
    REQUIRE(file);
    CHECK(fputs(content, file) >= 0);
    CHECK(fclose(file) == 0);
}

/* Private queues end on their own threads, so their handles may be released a moment after the call that caused it. */
static size_t settled_handle_count(size_t expected) {
    const struct timespec pause = {0, 10 * 1000 * 1000};
    for (int i = 0; i < 6000 && cst_handle_count() != expected; i++)
        nanosleep(&pause, NULL);
    return cst_handle_count();
}

void check_run(const char *name, void (*test)(void)) {
    static size_t handles; /* static: longjmp does not change it */
    static volatile bool was_skipped;
    if (filter && !strstr(name, filter)) return;
    current = name;
    failures = 0;
    was_skipped = false;
    make_folder();
    handles = cst_handle_count();
    int how = setjmp(leave);
    if (how == 0)
        test();
    else
        was_skipped = how == 2;
    check_slot();
    if (failures == 0 && !was_skipped) {
        size_t left = settled_handle_count(handles);
        if (left != handles) {
            check_fail(__FILE__, __LINE__, "%zu handles before, %zu after: %+ld leaked", handles, left,
                       (long)left - (long)handles);
        }
    }
    remove_folder();
    if (was_skipped && failures == 0) {
        skipped++;
    } else if (failures == 0) {
        passed++;
    } else {
        failed++;
        printf("%s: FAILED %s\n", program, name);
    }
}

void check_skip(const char *why) {
    printf("%s: skipped %s: %s\n", program, current, why);
    longjmp(leave, 2);
}

void check_fail(const char *file, int line, const char *format, ...) {
    char message[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    const char *slash = strrchr(file, '/');
    printf("%s:%d: %s: %s\n", slash ? slash + 1 : file, line, current, message);
    failures++;
}

int check_failures(void) { return failures; }

void check_require(bool holds) {
    if (holds) return;
    if (getpid() != process) _exit(99); /* a forked child must not go on with the parent's tests */
    longjmp(leave, 1);
}

bool check_that(bool holds, const char *expression, const char *file, int line) {
    if (!holds) check_fail(file, line, "%s is false", expression);
    return holds;
}

bool check_int(int64_t expected, int64_t actual, const char *expression, const char *file, int line) {
    if (expected != actual) {
        check_fail(file, line, "%s is %lld, expected %lld", expression, (long long)actual, (long long)expected);
    }
    return expected == actual;
}

bool check_real(double expected, double actual, const char *expression, const char *file, int line) {
    bool equal = memcmp(&expected, &actual, sizeof expected) == 0;
    if (!equal) check_fail(file, line, "%s is %.17g, expected %.17g", expression, actual, expected);
    return equal;
}

bool check_text(const char *expected, cst_string actual, const char *expression, const char *file, int line) {
    if (!expected) {
        if (actual.data) check_fail(file, line, "%s is \"%s\", expected null", expression, actual.data);
        return actual.data == NULL;
    }
    bool equal = actual.data && actual.size == strlen(expected) && memcmp(actual.data, expected, actual.size) == 0;
    if (!equal) {
        check_fail(file, line, "%s is \"%.*s\", expected \"%s\"", expression, actual.data ? (int)actual.size : 6,
                   actual.data ? actual.data : "(null)", expected);
    } else if (actual.data[actual.size] != 0) {
        check_fail(file, line, "%s is not NUL-terminated", expression);
    }
    return equal;
}

bool check_contains(const char *words, cst_string actual, const char *expression, const char *file, int line) {
    bool found = actual.data && strstr(actual.data, words);
    if (!found) {
        check_fail(file, line, "%s is \"%s\", which does not contain \"%s\"", expression,
                   actual.data ? actual.data : "(null)", words);
    }
    return found;
}

bool check_status(cst_status expected, cst_status actual, const char *expression, const char *file, int line) {
    bool uses_slot = strstr(expression, "E)") != NULL;
    bool holds = expected == actual;
    if (!holds) {
        cst_string why = slot ? cst_error_message(slot) : (cst_string){NULL, 0};
        check_fail(file, line, "%s returned %s, expected %s%s%s", expression, check_status_name(actual),
                   check_status_name(expected), why.data ? "; " : "", why.data ? why.data : "");
    } else if (uses_slot && actual >= 0 && slot) {
        check_fail(file, line, "%s set an error without a failure", expression);
        holds = false;
    } else if (uses_slot && actual < 0 && actual != CST_E_FORKED) {
        if (!slot || cst_error_status(slot) != actual) {
            check_fail(file, line, "%s failed, but the status of its error is %s", expression,
                       slot ? check_status_name(cst_error_status(slot)) : "missing");
            holds = false;
        } else if (cst_error_message(slot).size == 0) {
            check_fail(file, line, "%s failed without a message", expression);
            holds = false;
        }
    }
    return holds;
}

cst_error **check_slot(void) {
    if (slot) cst_release(slot);
    slot = NULL;
    return &slot;
}

cst_error *check_error(void) { return slot; }

const char *check_status_name(cst_status status) {
    static const struct {
        cst_status status;
        const char *name;
    } names[] = {
        {CST_OK, "CST_OK"},
        {CST_NOT_FOUND, "CST_NOT_FOUND"},
        {CST_END, "CST_END"},
        {CST_UNCHANGED, "CST_UNCHANGED"},
        {CST_E_INTERNAL, "CST_E_INTERNAL"},
        {CST_E_INVALID_ARGUMENT, "CST_E_INVALID_ARGUMENT"},
        {CST_E_INVALID_HANDLE, "CST_E_INVALID_HANDLE"},
        {CST_E_WRONG_THREAD, "CST_E_WRONG_THREAD"},
        {CST_E_INVALID_UTF8, "CST_E_INVALID_UTF8"},
        {CST_E_TYPE_MISMATCH, "CST_E_TYPE_MISMATCH"},
        {CST_E_NO_MEMORY, "CST_E_NO_MEMORY"},
        {CST_E_CALLBACK, "CST_E_CALLBACK"},
        {CST_E_UNSUPPORTED, "CST_E_UNSUPPORTED"},
        {CST_E_FORKED, "CST_E_FORKED"},
        {CST_E_CANCELLED, "CST_E_CANCELLED"},
        {CST_E_VALIDATION, "CST_E_VALIDATION"},
        {CST_E_CONFLICT, "CST_E_CONFLICT"},
        {CST_E_OBJECT_GONE, "CST_E_OBJECT_GONE"},
        {CST_E_UNSAVED_CHANGES, "CST_E_UNSAVED_CHANGES"},
        {CST_E_PREDICATE_SYNTAX, "CST_E_PREDICATE_SYNTAX"},
        {CST_E_PREDICATE, "CST_E_PREDICATE"},
        {CST_E_STORE_IO, "CST_E_STORE_IO"},
        {CST_E_STORE_BUSY, "CST_E_STORE_BUSY"},
        {CST_E_STORE_CORRUPT, "CST_E_STORE_CORRUPT"},
        {CST_E_STORE_READ_ONLY, "CST_E_STORE_READ_ONLY"},
        {CST_E_NOT_A_STORE, "CST_E_NOT_A_STORE"},
        {CST_E_MODEL_MISMATCH, "CST_E_MODEL_MISMATCH"},
        {CST_E_MIGRATION, "CST_E_MIGRATION"},
        {CST_E_MODEL, "CST_E_MODEL"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (names[i].status == status) return names[i].name;
    }
    static _Thread_local char number[32];
    snprintf(number, sizeof number, "status %d", (int)status);
    return number;
}
