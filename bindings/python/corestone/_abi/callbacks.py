"""Exceptions that Python raises in callbacks of the library."""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from .. import _abi
from ..errors import CorestoneError
from .interface import lib, optional_text, text
from .interrupt import immortal

if TYPE_CHECKING:
    from ..graph.context import Context

_raised = threading.local()
# Exceptions by the userdata of the library's error, as long as the error exists. The userdata is a small number. Other
# bindings in the process use addresses, which are larger, so errors of other bindings are not found here.
_kept: dict[int, BaseException] = {}
_numbers = itertools.count(1)


# A built-in method, because in a Python function a signal handler could raise an exception.
_forget_callback = immortal(_abi.DESTROY_FN(_kept.__delitem__))


def reported(exception: BaseException, error: Any, words: str | None = None) -> int:
    """Reports an exception to the library, keeps it for `cause`, and returns the status for the callback."""
    known = exception if isinstance(exception, CorestoneError) else None
    words = words or (known.message if known else str(exception) or type(exception).__name__)
    number = next(_numbers)
    _kept[number] = exception
    lib.cst_error_new_custom(
        optional_text(known.domain if known else "Python"), known.code if known else 0, text(words, "words"), number,
        _forget_callback, error,
    )  # fmt: skip
    _raised.last = exception, words
    return _abi.E_CALLBACK


@contextlib.contextmanager
def isolating_exceptions(what: str, whom: Any, context: Context) -> Generator[None]:
    """Handles the exceptions of an observer that is called in the `with` block.

    They must not make a call fail whose change is already complete. So an exception is passed to sys.unraisablehook,
    since Python 3.11 with a note that names its source. If the context watches for signals, an exception that is not an
    Exception, such as KeyboardInterrupt, is instead raised at the end of the notifying call, or by the next call of the
    context.
    """
    try:
        yield
    except Exception as raised:
        note = getattr(raised, "add_note", None)  # since Python 3.11
        if note is not None:
            note(f"raised by {what} of {whom!r}")
        raise
    except BaseException as raised:
        if context._watcher is None:
            raise
        context._watcher.exception = raised


def kept(handle: int) -> BaseException | None:
    """Returns the exception for which an error of the library was created; None for other errors."""
    return _kept.get(lib.cst_error_userdata(handle) or 0)


def cause(failure: CorestoneError) -> BaseException | None:
    """Returns the exception of this thread's last callback, if it made the call fail; otherwise None."""
    exception, words = getattr(_raised, "last", (None, ""))
    _raised.last = None, ""
    if failure.__cause__ is not None:
        return failure.__cause__
    return exception if words and words in failure.message and exception is not failure else None
