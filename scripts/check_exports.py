"""The symbols that the library exports are the functions that the headers declare, no more and no fewer.

Without `public`, a Swift body silently loses its symbol in a release build, which only this comparison shows.
"""

from __future__ import annotations

import subprocess

from project import built_library, finish, interface

library = built_library("check-exports")
listing = subprocess.run(
    ["nm", "--dynamic", "--defined-only", "--extern-only", str(library)], check=True, capture_output=True, text=True
).stdout
exported = {line.split()[-1].partition("@")[0] for line in listing.splitlines() if line.strip()}
declared = {function.name: function.header for function in interface().functions}
problems = [f"{declared[name]} declares {name}, which is not exported" for name in sorted(declared.keys() - exported)]
problems += [f"exported, declared in no header: {name}" for name in sorted(exported - declared.keys())]
finish("check-exports", problems, f"{len(declared)} functions, each in a header and in the library")
