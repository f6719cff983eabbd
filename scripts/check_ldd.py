"""Checks that the library needs only SQLite and the C and C++ runtimes of every Linux system."""

from __future__ import annotations

import re
import subprocess

from project import built_library, finish

ALLOWED = re.compile(
    r"(libc|libm|libstdc\+\+|libgcc_s|libsqlite3|libdl|libpthread|librt)\.so(\.\d+)*|ld-linux[\w.-]*|linux-(vdso|gate)\.so\.\d+"
)

library = built_library("check-ldd")
listing = subprocess.run(["ldd", str(library)], check=True, capture_output=True, text=True).stdout
names = [line.split()[0].rpartition("/")[2] for line in listing.splitlines() if line.strip()]
problems = [f"needs {name}" for name in names if not ALLOWED.fullmatch(name)]
problems += [line.strip() for line in listing.splitlines() if "not found" in line]
dynamic = subprocess.run(["readelf", "--dynamic", str(library)], check=True, capture_output=True, text=True).stdout
if "[libcorestone.so.1]" not in dynamic:
    problems.append("its soname is not libcorestone.so.1")
if "RUNPATH" in dynamic or "RPATH" in dynamic:
    paths = re.findall(r"(?:RUNPATH|RPATH).*\[(.*)\]", dynamic)
    problems += [f"its run path contains {path}, but may only be $ORIGIN" for path in paths if path != "$ORIGIN"]
finish("check-ldd", problems, "needs " + ", ".join(names))
