"""The stripped library stays under 15.5 MB, so that a program which takes it along stays small.

Features may add to it; a dependency such as Foundation, which alone has seven, may not.
"""

from __future__ import annotations

from project import built_library, finish

LIMIT = 15_500_000

library = built_library("check-size")
size = library.stat().st_size
problems = [f"{size:,} bytes, limit {LIMIT:,}"] if size >= LIMIT else []
finish("check-size", problems, f"{size:,} bytes of {LIMIT:,}")
