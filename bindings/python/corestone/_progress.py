"""Functions of the host that are told how far something has come."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Callable

from . import _abi
from ._arguments import function
from .errors import CancelledError, CorestoneError


@contextmanager
def told(progress: Callable[[int, int], Any] | None) -> Iterator[Any]:
    """The callback to hand to a call of the library. What the function raised, the end of the block raises, also where
    the call came to its end."""
    raised: list[BaseException] = []

    def tell(_: Any, done: int, total: int) -> bool:
        if raised:
            return False
        try:
            if progress is not None:
                progress(done, total)
        except BaseException as exception:
            raised.append(exception)
        return not raised

    if progress is not None:
        function(progress, "progress")
    try:
        yield _abi.PROGRESS_FN(tell)
    except CancelledError:
        if raised:
            raise raised[0] from None
        raise
    if raised:  # with the last piece
        raise raised[0]


@contextmanager
def migrating(options: _abi.StoreOptions) -> Iterator[None]:
    """What the progress function of a migration raised, the end of the block raises."""
    try:
        yield
    except CorestoneError:
        if options.raised:
            raise options.raised[0] from None
        raise
    if options.raised:  # with the last rows
        raise options.raised[0]
