"""The stripped library stays under 13 MB, so that a program which takes it along stays small."""

from __future__ import annotations

from project import built_library, finish

LIMIT = 13_000_000

library = built_library("check-size")
size = library.stat().st_size
problems = [f"{size:,} bytes, limit {LIMIT:,}"] if size >= LIMIT else []
finish("check-size", problems, f"{size:,} bytes of {LIMIT:,}")
