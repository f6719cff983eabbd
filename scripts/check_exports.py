"""Checks that the library exports exactly the functions that the headers declare.

A release build does not export a Swift function without `public`, and reports no error.
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
problems += [f"{name} is exported, but the headers do not declare it" for name in sorted(exported - declared.keys())]
finish("check-exports", problems, f"{len(declared)} functions, each in a header and in the library")
