"""What Python raises while the library calls it back."""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from . import _abi
from ._abi import lib, optional_text, text
from ._interrupt import immortal
from .errors import CorestoneError

if TYPE_CHECKING:
    from .context import Context

_raised = threading.local()
# By the number that an error of the library carries as its userdata, as long as the error is there. Userdata of other
# hosts in the process are addresses, which are no such small numbers.
_kept: dict[int, BaseException] = {}
_numbers = itertools.count(1)


# No function of Python's, in which a signal handler could raise something.
_forget_callback = immortal(_abi.DESTROY_FN(_kept.__delitem__))


def reported(exception: BaseException, error: Any, words: str | None = None) -> int:
    """Tells the library of an exception, and keeps it for `cause`. The status for the callback to return."""
    known = exception if isinstance(exception, CorestoneError) else None
    words = words or (known.message if known else str(exception) or type(exception).__name__)
    number = next(_numbers)
    _kept[number] = exception
    lib.cst_error_new_custom(
        optional_text(known.domain if known else "Python"), known.code if known else 0, text(words), number,
        _forget_callback, error,
    )  # fmt: skip
    _raised.last = exception, words
    return _abi.E_CALLBACK


@contextlib.contextmanager
def telling(what: str, whom: Any, context: Context) -> Generator[None]:
    """Runs code that is told of what has happened already, so that no call may fail by it.

    What it raises gets a note of who raised it, and goes on to ctypes, which hands it to sys.unraisablehook. Ctrl-C and
    what ends the program is raised by the call that has it told, when that is done, or by the context's next one.
    """
    try:
        yield
    except Exception as raised:
        note = getattr(raised, "add_note", None)  # of Python 3.11
        if note is not None:
            note(f"raised by {what} of {whom!r}")
        raise
    except BaseException as raised:
        if context._watcher is None:
            raise
        context._watcher.exception = raised


def kept(handle: int) -> BaseException | None:
    """The exception that an error of the library was made for."""
    return _kept.get(lib.cst_error_userdata(handle) or 0)


def cause(failure: CorestoneError) -> BaseException | None:
    """The exception of this thread's callback that made a call fail."""
    exception, words = getattr(_raised, "last", (None, ""))
    _raised.last = None, ""
    if failure.__cause__ is not None:
        return failure.__cause__
    return exception if words and words in failure.message and exception is not failure else None
