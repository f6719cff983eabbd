/* Functions that older C libraries lack, or have under another version: with these the library runs from glibc 2.34 on.
 * Hidden: the linker takes them for references from here, and programs keep those of their C library. Weak: a program in
 * Swift may have its own. */
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/random.h>

#define COMPATIBILITY __attribute__((visibility("hidden"), weak))

COMPATIBILITY void arc4random_buf(void *buffer, size_t size);

/* glibc 2.36; Debian's expat calls it. */
COMPATIBILITY void arc4random_buf(void *buffer, size_t size) {
    unsigned char *next = buffer;
    while (size > 0) {
        const ssize_t count = getrandom(next, size, 0);
        if (count < 0) {
            if (errno == EINTR) continue;
            abort(); /* like the C library's: no caller may go on with predictable bytes */
        }
        next += count;
        size -= (size_t)count;
    }
}

/* Of another version since glibc 2.35; Swift's overlay calls it. No sum of squares of floats overflows a double. */
COMPATIBILITY float hypotf(float x, float y) {
    if (isinf(x) || isinf(y)) return INFINITY;
    return (float)sqrt((double)x * (double)x + (double)y * (double)y);
}
