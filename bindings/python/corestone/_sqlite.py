"""The SQLite library that Corestone and the interpreter share.

SQLite's locks are POSIX locks, which belong to a process and a file: closing any descriptor of the file drops them.
One copy of SQLite knows its own descriptors and closes none while a lock is held; two copies in one process do not know
of each other. So Corestone never brings a copy of its own: it is loaded after the interpreter's `sqlite3` module, and
uses the same copy.
"""

from __future__ import annotations

import ctypes
import sys
import warnings
from typing import Any, Optional

# The first version with RETURNING, which batch updates use.
MINIMUM = (3, 35, 0)
LIBRARY = "libsqlite3.so.0"
MISSING = (
    f"Corestone needs SQLite, but the shared library {LIBRARY} is missing or cannot be loaded (%s); install it: on "
    "Debian and Ubuntu the package libsqlite3-0, on Fedora sqlite-libs, on Arch and Alpine sqlite"
)
# Where the checks look for the copy in use.
PROBE = "sqlite3_libversion_number"


class SQLiteWarning(RuntimeWarning):
    """SQLite is not as Corestone needs it, but its work can go on."""


def import_first() -> None:
    """Imports the interpreter's module before Corestone is loaded, so that there is one copy of SQLite."""
    try:
        import sqlite3  # noqa: F401
    except ImportError:
        return  # this interpreter was built without it: there is no second copy to be had


def _address(library: Optional[ctypes.CDLL]) -> Optional[int]:
    """Where a library, or one that it needs, has SQLite; None where it does not export it."""
    if library is None:
        return None
    try:
        return ctypes.cast(getattr(library, PROBE), ctypes.c_void_p).value
    except AttributeError:
        return None


def _interpreters_copy(program: ctypes.CDLL) -> Optional[int]:
    """Where the `sqlite3` module has SQLite: 0 where it is built in and hidden, None where there is no module."""
    module = sys.modules.get("_sqlite3")
    if module is None:
        return None
    file = getattr(module, "__file__", None)
    try:
        return _address(ctypes.CDLL(file) if file else program) or 0
    except OSError:
        return None


def _text(function: Any) -> str:
    function.restype = ctypes.c_char_p
    function.argtypes = []
    return (function() or b"").decode("ascii", "replace")


def check(library: ctypes.CDLL) -> None:
    """Checks the SQLite library that Corestone has got, once it is loaded.

    ImportError for a version that is too old. An SQLiteWarning without FTS5, and if the interpreter's module has a copy
    of its own.
    """
    # As the linker looks: first among what all of the process sees, then in what Corestone itself needs.
    program = ctypes.CDLL(None)
    own = program if _address(program) is not None else library
    if _address(own) is None:
        return  # linked in some other way: there is nothing to look at
    version = _text(own.sqlite3_libversion)
    number = int(own.sqlite3_libversion_number())
    if (number // 1000000, number // 1000 % 1000, number % 1000) < MINIMUM:
        raise ImportError(
            f"Corestone needs SQLite {'.'.join(map(str, MINIMUM))} or newer, but {LIBRARY} is {version} here; install "
            "a newer version (on Debian and Ubuntu the package libsqlite3-0), and use an interpreter that loads it",
            name="corestone",
        )
    used = own.sqlite3_compileoption_used
    used.restype, used.argtypes = ctypes.c_int, [ctypes.c_char_p]
    if not used(b"ENABLE_FTS5"):
        warnings.warn(
            f"SQLite {version} was built without FTS5: stores with full-text indexes cannot be opened for writing",
            SQLiteWarning,
            stacklevel=2,
        )
    theirs = _interpreters_copy(program)
    if theirs is not None and theirs != _address(own):
        warnings.warn(
            f"the sqlite3 module of this interpreter has its own copy of SQLite ({_module_version()}), separate from "
            f"the library that Corestone uses ({version}). Do not open a store with both in one process, because a "
            "connection that the module closes drops Corestone's locks; use an interpreter that links SQLite "
            "dynamically",
            SQLiteWarning,
            stacklevel=2,
        )


def _module_version() -> str:
    return str(getattr(sys.modules.get("sqlite3"), "sqlite_version", "?"))
