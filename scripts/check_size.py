"""Checks that the stripped library is smaller than 15.75 MB, so that a program which contains it stays small.

The limit has room for features, but not for a dependency such as Foundation, which has 7 MB.
"""

from __future__ import annotations

from project import built_library, finish

LIMIT = 15_750_000

library = built_library("check-size")
size = library.stat().st_size
problems = [f"the library has {size:,} bytes, but must have fewer than {LIMIT:,}"] if size >= LIMIT else []
finish("check-size", problems, f"{size:,} bytes of {LIMIT:,}")
