#pragma once
#include <zlib.h>

/* inflateInit2 and deflateInit2 are macros that Swift does not import. */
static inline int cst_deflate_raw_init(z_stream *s, int level) {
    return deflateInit2(s, level, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY);
}
static inline int cst_inflate_raw_init(z_stream *s) { return inflateInit2(s, -15); }
