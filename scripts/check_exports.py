"""The symbols that the library exports are the functions that the header declares, no more and no fewer.

Without `public`, a Swift body silently loses its symbol in a release build, which only this comparison shows.
"""

from __future__ import annotations

import subprocess

from project import built_library, finish, header_functions

library = built_library("check-exports")
listing = subprocess.run(
    ["nm", "--dynamic", "--defined-only", "--extern-only", str(library)], check=True, capture_output=True, text=True
).stdout
exported = {line.split()[-1].partition("@")[0] for line in listing.splitlines() if line.strip()}
declared = {function.name for function in header_functions()}
problems = [f"declared in corestone.h, not exported: {name}" for name in sorted(declared - exported)]
problems += [f"exported, not declared in corestone.h: {name}" for name in sorted(exported - declared)]
finish("check-exports", problems, f"{len(declared)} functions, each in the header and in the library")
