"""The SQLite library that Corestone and the interpreter share.

SQLite's locks are POSIX locks, which belong to a process and a file: closing any descriptor of the file releases them.
A copy of SQLite tracks its own descriptors and does not close them while a lock is held. Two copies in one process do
not track each other's descriptors. So Corestone does not contain a copy: it is loaded after the interpreter's `sqlite3`
module, and uses the same shared library, unless that module contains its own copy.
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
# The checks look up the address of this symbol to find the copy that is in use.
PROBE = "sqlite3_libversion_number"


class SQLiteWarning(RuntimeWarning):
    """SQLite does not meet all requirements of Corestone, but can be used."""


def import_first() -> None:
    """Imports the interpreter's `sqlite3` module before Corestone is loaded, so that both use the same SQLite."""
    try:
        import sqlite3  # noqa: F401
    except ImportError:
        return  # this interpreter was built without the module, so there is no second copy of SQLite


def _address(library: Optional[ctypes.CDLL]) -> Optional[int]:
    """Returns the address of SQLite in a library or in its dependencies; None if it is not exported."""
    if library is None:
        return None
    try:
        return ctypes.cast(getattr(library, PROBE), ctypes.c_void_p).value
    except AttributeError:
        return None


def _interpreters_copy(program: ctypes.CDLL) -> Optional[int]:
    """Returns the address of SQLite in the `sqlite3` module: 0 if it is not exported, None if it cannot be found."""
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
    """Checks the SQLite library that Corestone uses, after loading.

    Raises ImportError if the version is too old. Issues an SQLiteWarning if FTS5 is missing, and if the interpreter's
    module has a separate copy.
    """
    # In the linker's search order: first the global symbols of the process, then the dependencies of Corestone.
    program = ctypes.CDLL(None)
    own = program if _address(program) is not None else library
    if _address(own) is None:
        return  # Corestone does not use a shared SQLite, so there is nothing to check
    version = _text(own.sqlite3_libversion)
    number = int(own.sqlite3_libversion_number())
    if (number // 1000000, number // 1000 % 1000, number % 1000) < MINIMUM:
        raise ImportError(
            f"Corestone needs SQLite {'.'.join(map(str, MINIMUM))} or newer, but this process has SQLite {version}. "
            "Install a newer version (on Debian and Ubuntu the package libsqlite3-0), and use an interpreter that "
            "loads it",
            name="corestone",
        )
    used = own.sqlite3_compileoption_used
    used.restype, used.argtypes = ctypes.c_int, [ctypes.c_char_p]
    if not used(b"ENABLE_FTS5"):
        warnings.warn(
            f"SQLite {version} was built without FTS5: stores with full-text indexes cannot be opened for writing; "
            "install an SQLite library with FTS5 to write to such stores",
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
