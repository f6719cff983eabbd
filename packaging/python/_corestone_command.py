"""The command `corestone` of the Python package. It runs the tool in the package, and does not load the library."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import NoReturn

MISSING = """corestone: the shared library libsqlite3.so.0 (SQLite) is missing; install the package libsqlite3-0
  (Debian, Ubuntu), sqlite-libs (Fedora) or sqlite (Arch, Alpine)"""


def main() -> NoReturn:
    tool = Path(__file__).resolve().parent / "corestone" / "bin" / "corestone"
    python3 = shutil.which("python3")
    if python3 is None or not os.path.samefile(os.path.dirname(python3), os.path.dirname(sys.executable)):
        # `corestone init` prints a command that runs the new program with this interpreter.
        os.environ.setdefault("CORESTONE_PYTHON", sys.executable)
    if not _finds_sqlite():
        print(MISSING, file=sys.stderr)
        raise SystemExit(3)
    os.execv(tool, [sys.argv[0], *sys.argv[1:]])


def _finds_sqlite() -> bool:
    """Whether the dynamic linker finds SQLite. Without it, the tool would fail with a message of the linker."""
    import ctypes

    try:
        ctypes.CDLL("libsqlite3.so.0")
    except OSError:
        return False
    return True
