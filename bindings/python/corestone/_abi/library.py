"""Finding and loading the shared library."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

TYPE_CHECKING = False  # as in `typing`, which need not be imported for LibraryNotFoundError
if TYPE_CHECKING:
    import ctypes

VARIABLE = "CORESTONE_LIBRARY"


class LibraryNotFoundError(ImportError):
    """A Corestone library that is missing, cannot be loaded or has an incompatible version."""


def _file_names() -> tuple[str, ...]:
    if sys.platform == "darwin":
        return ("libcorestone.dylib", "libcorestone.1.dylib")
    if sys.platform == "win32":
        return ("corestone.dll",)
    return ("libcorestone.so", "libcorestone.so.1")


def _from_environment() -> str | None:
    """Returns the path of the library file that CORESTONE_LIBRARY names or whose folder it names; None if not set."""
    named = os.environ.get(VARIABLE)
    if not named:
        return None
    if os.path.isdir(named):
        for name in _file_names():
            if os.path.exists(os.path.join(named, name)):
                return os.path.join(named, name)
        raise LibraryNotFoundError(
            f"{VARIABLE} is the folder {named}, in which {_file_names()[0]} does not exist or cannot be read; set it "
            "to the path of the library file, or unset it",
            name="corestone",
            path=named,
        )
    try:
        os.stat(named)
    except OSError as failure:
        reason = "does not exist" if isinstance(failure, FileNotFoundError) else f"cannot be read: {failure.strerror}"
        raise LibraryNotFoundError(
            f"{VARIABLE} is {named}, which {reason}; set it to the path of the library file, or unset it",
            name="corestone",
            path=named,
        ) from None
    return named


def _folders_above(path: str) -> list[str]:
    """Returns the folders that contain a path, from the innermost to the outermost."""
    found = []
    while os.path.dirname(path) != path:
        path = os.path.dirname(path)
        found.append(path)
    return found


def _package() -> str:
    """Returns the folder of this package."""
    return os.path.dirname(os.path.dirname(os.path.realpath(__file__)))


def _source_trees() -> list[str]:
    """Returns the source trees that contain this package."""
    header = os.path.join("include", "corestone.h")
    return [folder for folder in _folders_above(_package()) if os.path.exists(os.path.join(folder, header))]


def candidates() -> Iterator[str]:
    """Yields the paths at which the library may be, in order of preference.

    The order is: this package's folder, the build folder of a source tree, the library folder into which the package
    was installed.
    """
    folders = [_package()]
    folders += [os.path.join(tree, "build", "lib") for tree in _source_trees()]
    folders += [folder for folder in _folders_above(_package()) if os.path.basename(folder) in ("lib", "lib64")]
    for folder in folders:
        for name in _file_names():
            yield os.path.join(folder, name)


def find_library() -> str:
    """Returns the path (or, for the system's library, the name) of the library that the package loads.

    Raises LibraryNotFoundError if there is no library; the message names the searched paths and the remedy.
    """
    named = _from_environment()
    if named is not None:
        return named
    tried = []
    for path in candidates():
        if os.path.exists(path):
            return path
        tried.append(path)
    for name in _file_names()[::-1]:
        if _is_known_to_the_system(name):
            return name
    # An installed package does not search the build folder.
    commands = "`make build` or `make install`" if _source_trees() else "`make install`"
    raise LibraryNotFoundError(
        f"cannot find the Corestone library in {', '.join(tried)} or the system libraries. Run {commands} in the "
        f"source tree, install the package libcorestone1 (Debian, Ubuntu), or set {VARIABLE} to the path of "
        f"{_file_names()[0]}",
        name="corestone",
    )


def _is_known_to_the_system(name: str) -> bool:
    """Whether the dynamic linker of glibc finds a library, even one that cannot be loaded.

    The messages of other linkers do not begin with the name, so True is returned for them, and loading fails.
    """
    import ctypes

    try:
        ctypes.CDLL(name)
    except OSError as failure:
        return not str(failure).startswith(f"{name}: ")
    return True


def _refuse_subinterpreter() -> None:
    """Raises ImportError in a subinterpreter, because ctypes runs callbacks in the main interpreter."""
    import ctypes

    try:
        own, main = ctypes.pythonapi.PyInterpreterState_Get, ctypes.pythonapi.PyInterpreterState_Main
    except AttributeError:
        return  # another implementation of Python, without subinterpreters
    own.restype = main.restype = ctypes.c_void_p
    if own() != main():
        raise ImportError(
            "Corestone cannot be used in a subinterpreter, because ctypes runs callbacks in the main interpreter; "
            "import corestone there (mod_wsgi: WSGIApplicationGroup %{GLOBAL}) or in another process",
            name="corestone",
        )


def load_library() -> ctypes.CDLL:
    """Loads the library as a CDLL, which releases the interpreter lock during a call."""
    import ctypes

    from . import sqlite

    _refuse_subinterpreter()
    sqlite.import_first()
    path = find_library()
    try:
        library = ctypes.CDLL(path)
    except OSError as failure:
        if str(failure).startswith(sqlite.LIBRARY):
            raise LibraryNotFoundError(sqlite.MISSING % failure, name="corestone", path=path) from failure
        raise LibraryNotFoundError(
            f"cannot load the Corestone library {path}: {failure}; install it and its dependencies for this machine, "
            f"or set {VARIABLE} to the path of another library",
            name="corestone",
            path=path,
        ) from failure
    sqlite.check(library)
    return library
