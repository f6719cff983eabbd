"""The command `corestone` of the Python package: runs the tool of the package, without loading the library."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import NoReturn

MISSING = """corestone: the shared library libsqlite3.so.0 (SQLite) is missing on this system; install it: on Debian and
  Ubuntu the package libsqlite3-0, on Fedora sqlite-libs, on Arch and Alpine sqlite"""


def main() -> NoReturn:
    tool = Path(__file__).resolve().parent / "corestone" / "bin" / "corestone"
    python3 = shutil.which("python3")
    if python3 is None or not os.path.samefile(os.path.dirname(python3), os.path.dirname(sys.executable)):
        # `corestone init` says by which interpreter its program runs.
        os.environ.setdefault("CORESTONE_PYTHON", sys.executable)
    if not _finds_sqlite():
        print(MISSING, file=sys.stderr)
        raise SystemExit(3)
    os.execv(tool, [sys.argv[0], *sys.argv[1:]])


def _finds_sqlite() -> bool:
    """Whether the dynamic linker finds SQLite; without it the tool would end with the linker's own message."""
    import ctypes

    try:
        ctypes.CDLL("libsqlite3.so.0")
    except OSError:
        return False
    return True
