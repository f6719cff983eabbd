"""Progress functions of the application."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Callable

from .. import _abi
from .._abi.arguments import function
from ..errors import CancelledError, CorestoneError
from .migration_contexts import closing_migration_contexts


@contextmanager
def progress_callback(progress: Callable[[int, int], Any] | None) -> Iterator[Any]:
    """Yields the progress callback to pass to a call of the library.

    An exception of `progress` is raised at the end of the block, whether it cancelled the call or the call succeeded.
    """
    raised: list[BaseException] = []

    def report(_: Any, done: int, total: int) -> bool:
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
        yield _abi.PROGRESS_FN(report)
    except CancelledError:
        if raised:
            raise raised[0] from None
        raise
    if raised:  # the exception of the last progress call, after which the call succeeds
        raise raised[0]


@contextmanager
def migrating(options: _abi.StoreOptions) -> Iterator[None]:
    """Closes the contexts of migrations at the end of a block, and raises an exception of the progress function."""
    try:
        with closing_migration_contexts():
            yield
    except CorestoneError:
        if options.raised:
            raise options.raised[0] from None
        raise
    if options.raised:  # the exception of the last progress call, after which the migration succeeds
        raise options.raised[0]
