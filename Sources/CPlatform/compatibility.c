/* Functions that older C libraries lack or export under another symbol version. With them, the library runs with glibc
 * 2.34 or later. They are hidden, so that only this library uses them and programs use those of their C library. They
 * are weak, because a program in Swift may define functions of the same names. */
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/random.h>

#define COMPATIBILITY __attribute__((visibility("hidden"), weak))

COMPATIBILITY void arc4random_buf(void *buffer, size_t size);

/* In glibc since version 2.36. Debian's expat calls this function. */
COMPATIBILITY void arc4random_buf(void *buffer, size_t size) {
    unsigned char *next = buffer;
    while (size > 0) {
        const ssize_t count = getrandom(next, size, 0);
        if (count < 0) {
            if (errno == EINTR) continue;
            abort(); /* as in the C library: a caller must not continue with predictable bytes */
        }
        next += count;
        size -= (size_t)count;
    }
}

/* hypotf has another symbol version since glibc 2.35. Swift's overlay calls hypotf. The sum of squares of two floats
 * does not overflow a double. */
COMPATIBILITY float hypotf(float x, float y) {
    if (isinf(x) || isinf(y)) return INFINITY;
    return (float)sqrt((double)x * (double)x + (double)y * (double)y);
}
