"""What Python raises while the library calls it back."""

from __future__ import annotations

import threading
from typing import Any

from . import _abi
from ._abi import lib, optional_text, text
from .errors import CorestoneError

_raised = threading.local()
_no_destroy = _abi.DESTROY_FN(0)


def reported(exception: BaseException, error: Any) -> int:
    """Tells the library of an exception, and keeps it for `cause`. The status for the callback to return."""
    known = exception if isinstance(exception, CorestoneError) else None
    words = known.message if known else str(exception) or type(exception).__name__
    lib.cst_error_new_custom(
        optional_text(known.domain if known else "Python"), known.code if known else 0, text(words), None,
        _no_destroy, error,
    )  # fmt: skip
    _raised.last = exception, words
    return _abi.E_CALLBACK


def cause(failure: CorestoneError) -> BaseException | None:
    """The exception of this thread's callback that made a call fail."""
    exception, words = getattr(_raised, "last", (None, ""))
    _raised.last = None, ""
    return exception if words and words in failure.message and exception is not failure else None
