"""What the library tells about its work: which SQL it runs, how long that takes, how many rows come.

    from corestone import log

    log.set_sql_detail(1)            # to standard error, as CORESTONE_SQL_DEBUG=1 in the environment does
    with log.recorded(3) as lines:   # or into a list
        ctx.fetch("Employee", "age > 40")

Of the whole process. Lines begin as Core Data's do: "CoreData: sql: ", "CoreData: annotation: ", "CoreData: details: ".
"""

from __future__ import annotations

import ctypes
import itertools
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from ctypes import byref
from typing import Any

from . import _abi
from ._abi import lib
from ._call import call
from ._interrupt import immortal

_takers: dict[int, Callable[[str], None]] = {}
_numbers = itertools.count(1)


def _take(number: int, line: Any, takers: dict[int, Callable[[str], None]] = _takers) -> None:
    taker = takers.get(number)
    if taker is not None:
        taker(_abi.decode(line) or "")


def _forget(number: int, takers: dict[int, Callable[[str], None]] = _takers) -> None:
    takers.pop(number, None)


_take_callback = immortal(_abi.LOG_FN(_take))
_forget_callback = immortal(_abi.DESTROY_FN(_forget))
_taker: Callable[[str], None] | None = None
_no_callback = _abi.LOG_FN(0)
_no_destroy = _abi.DESTROY_FN(0)


def set_sql_detail(detail: int) -> None:
    """What of the SQL is told from now on, of stores that are open too.

    0 nothing, 1 statements on rows with their time and number of rows, 2 also transactions and settings, 3 also bound
    values and SQLite's plan, 4 also its counters. InvalidArgumentError for anything else.
    """
    call(lib.cst_log_set_sql_detail, detail)


def sql_detail() -> int:
    """What of the SQL is told. At first what CORESTONE_SQL_DEBUG in the environment says."""
    return int(lib.cst_log_sql_detail())


def set_callback(callback: Callable[[str], None] | None) -> None:
    """Gives the lines to a function instead of standard error; None gives them back to it.

    It is called on the thread that does the work, in the midst of it and with stores locked: it may not use objects,
    contexts or stores. What it raises is printed and passed over.
    """
    global _taker
    if callback is None:
        _taker = None
        call(lib.cst_log_set_callback, _no_callback, None, _no_destroy)
        return
    number = next(_numbers)
    _takers[number] = callback
    call(lib.cst_log_set_callback, _take_callback, number, _forget_callback)
    _taker = callback


def write(line: str) -> None:
    """Tells a line of this package's own, where those of the library go."""
    if _taker is not None:
        _taker(line)
    elif sys.stderr is not None:
        print(line, file=sys.stderr)


def take_arguments(arguments: Sequence[str]) -> int:
    """Does what Core Data's launch arguments among a program's say, and tells how many there were.

        log.take_arguments(sys.argv)     # … -com.apple.CoreData.SQLDebug 1

    SQLDebug 0 to 4, Logging.stderr, SyntaxColoredLogging, SQLiteDebugSynchronous 0 to 2 and SQLiteIntegrityCheck; those
    for checks that are always on here are taken too. InvalidArgumentError, and nothing is done, for one that does not
    exist or a number that it does not take.
    """
    encoded = [os.fsencode(argument) for argument in arguments]
    taken = ctypes.c_size_t()
    call(lib.cst_log_take_arguments, len(encoded), (ctypes.c_char_p * len(encoded))(*encoded), byref(taken))
    return taken.value


@contextmanager
def recorded(detail: int = 1) -> Iterator[list[str]]:
    """The lines that are told within the block, of the whole process, as a list that grows.

    Afterwards the detail is what it was, and lines go to standard error again.
    """
    lines: list[str] = []
    former = sql_detail()
    set_sql_detail(detail)
    set_callback(lines.append)
    try:
        yield lines
    finally:
        set_sql_detail(former)
        set_callback(None)
