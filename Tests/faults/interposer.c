/* Loaded before the C library, fails one call on files of one folder: so that a test can see what a save makes of it.
 *
 *   FAULT_FOLDER  whose files are meant, with a slash at the end
 *   FAULT_POINT   which call, from 1 on, counted from fault_arm on; 0: none
 *   FAULT_KIND    short, ENOSPC, EIO, EINTR, crash (before the call), crash-after, lost (a rename that never happens)
 *   FAULT_TRACE   a file that takes the name of each call
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

enum fault { NONE, SHORT, NOSPC, IO, INTR, CRASH, CRASH_AFTER, LOST };

static const char *const kinds[] = {"none", "short", "ENOSPC", "EIO", "EINTR", "crash", "crash-after", "lost"};
static atomic_long calls;
static atomic_bool armed;
static int trace = -1;

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* What the test calls just before the save. */
void fault_arm(void) {
    const char *path = getenv("FAULT_TRACE");
    if (path) trace = REAL(open)(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    calls = 0;
    armed = true;
}

/* What the test calls when it wants no more faults. */
void fault_disarm(void) { armed = false; }

static bool is_meant(const char *path) {
    const char *folder = getenv("FAULT_FOLDER");
    return armed && folder && path && strncmp(path, folder, strlen(folder)) == 0;
}

static bool is_file_meant(int descriptor) {
    if (!armed) return false;
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t count = readlink(link, path, sizeof path - 1);
    if (count <= 0) return false;
    path[count] = 0;
    return is_meant(path);
}

/* Counts the call, and returns the fault to inject. */
static enum fault fault_of(const char *name) {
    long number = ++calls;
    if (trace >= 0) {
        REAL(write)(trace, name, strlen(name));
        REAL(write)(trace, "\n", 1);
    }
    const char *point = getenv("FAULT_POINT"), *kind = getenv("FAULT_KIND");
    if (!point || !kind || number != atol(point)) return NONE;
    for (int i = SHORT; i <= LOST; i++)
        if (strcmp(kind, kinds[i]) == 0) {
            if (i == CRASH) _exit(77);
            return (enum fault)i;
        }
    return NONE;
}

static int failure(enum fault fault) {
    errno = fault == NOSPC ? ENOSPC : fault == IO ? EIO : EINTR;
    return -1;
}

/* Runs a call that is about a file of the folder. */
#define CALL(name, meant, type, call)                                                                                  \
    do {                                                                                                               \
        enum fault fault = (meant) ? fault_of(name) : NONE;                                                            \
        if (fault == NOSPC || fault == IO || fault == INTR) return failure(fault);                                     \
        type result = (call);                                                                                          \
        if (fault == CRASH_AFTER) _exit(77);                                                                           \
        return result;                                                                                                 \
    } while (0)

#define OPEN(function)                                                                                                 \
    int function(const char *path, int flags, ...) {                                                                   \
        mode_t mode = 0;                                                                                               \
        if (flags & (O_CREAT | O_TMPFILE)) {                                                                           \
            va_list arguments;                                                                                         \
            va_start(arguments, flags);                                                                                \
            mode = va_arg(arguments, mode_t);                                                                          \
            va_end(arguments);                                                                                         \
        }                                                                                                              \
        CALL(flags & O_CREAT ? "create" : "open", is_meant(path), int, REAL(function)(path, flags, mode));             \
    }
OPEN(open)
OPEN(open64)

#define WRITE(function, parameters, arguments)                                                                         \
    ssize_t function parameters {                                                                                      \
        enum fault fault = is_file_meant(descriptor) ? fault_of("write") : NONE;                                       \
        if (fault == NOSPC || fault == IO || fault == INTR) return failure(fault);                                     \
        if (fault == SHORT && size > 1) size /= 2;                                                                     \
        ssize_t result = REAL(function) arguments;                                                                     \
        if (fault == CRASH_AFTER) _exit(77);                                                                           \
        return result;                                                                                                 \
    }
WRITE(write, (int descriptor, const void *bytes, size_t size), (descriptor, bytes, size))
WRITE(pwrite, (int descriptor, const void *bytes, size_t size, off_t place), (descriptor, bytes, size, place))
WRITE(pwrite64, (int descriptor, const void *bytes, size_t size, off64_t place), (descriptor, bytes, size, place))

int fsync(int descriptor) { CALL("fsync", is_file_meant(descriptor), int, REAL(fsync)(descriptor)); }
int fdatasync(int descriptor) { CALL("fsync", is_file_meant(descriptor), int, REAL(fdatasync)(descriptor)); }
int ftruncate(int descriptor, off_t size) {
    CALL("truncate", is_file_meant(descriptor), int, REAL(ftruncate)(descriptor, size));
}
int ftruncate64(int descriptor, off64_t size) {
    CALL("truncate", is_file_meant(descriptor), int, REAL(ftruncate64)(descriptor, size));
}
int unlink(const char *path) { CALL("unlink", is_meant(path), int, REAL(unlink)(path)); }
int link(const char *from, const char *to) { CALL("link", is_meant(to), int, REAL(link)(from, to)); }
int mkdir(const char *path, mode_t mode) { CALL("mkdir", is_meant(path), int, REAL(mkdir)(path, mode)); }

int rename(const char *from, const char *to) {
    enum fault fault = is_meant(to) ? fault_of("rename") : NONE;
    if (fault == NOSPC || fault == IO || fault == INTR) return failure(fault);
    int result = fault == LOST ? 0 : REAL(rename)(from, to);
    if (fault == CRASH_AFTER) _exit(77);
    return result;
}
