"""The log of the library: SQL statements, their timing and their row counts.

    from corestone import log

    log.set_sql_detail(1)            # to standard error, like the environment variable CORESTONE_SQL_DEBUG=1
    with log.recorded(3) as lines:   # or into a list
        ctx.fetch("Employee", "age > 40")

The log covers the whole process. Lines begin like those of Core Data: "CoreData: sql: ", "CoreData: annotation: ",
"CoreData: details: ".
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
from ._abi.call import call
from ._abi.interrupt import immortal

_line_functions: dict[int, Callable[[str], None]] = {}
_numbers = itertools.count(1)


def _pass_line(number: int, line: Any, line_functions: dict[int, Callable[[str], None]] = _line_functions) -> None:
    taker = line_functions.get(number)
    if taker is not None:
        taker(_abi.decode(line) or "")


def _forget(number: int, line_functions: dict[int, Callable[[str], None]] = _line_functions) -> None:
    line_functions.pop(number, None)


_pass_line_callback = immortal(_abi.LOG_FN(_pass_line))
_forget_callback = immortal(_abi.DESTROY_FN(_forget))
_line_function: Callable[[str], None] | None = None
_no_callback = _abi.LOG_FN(0)
_no_destroy = _abi.DESTROY_FN(0)


def set_sql_detail(detail: int) -> None:
    """Sets the level of detail of the SQL log, including for stores that are already open.

    0: nothing. 1: statements on rows, with their time and row count. 2: in addition, transactions and settings. 3: in
    addition, bound values and SQLite's query plan. 4: in addition, SQLite's counters. InvalidArgumentError for any
    other number.
    """
    call(lib.cst_log_set_sql_detail, detail)


def sql_detail() -> int:
    """Returns the level of detail of the SQL log, initially the environment variable CORESTONE_SQL_DEBUG."""
    return int(lib.cst_log_sql_detail())


def set_callback(callback: Callable[[str], None] | None) -> None:
    """Sends the lines to a function instead of standard error; None sends them to standard error again.

    The function runs on the thread of the logged call, while stores are locked. It must not use objects, contexts or
    stores. Its exceptions are printed and ignored.
    """
    global _line_function
    if callback is None:
        _line_function = None
        call(lib.cst_log_set_callback, _no_callback, None, _no_destroy)
        return
    number = next(_numbers)
    _line_functions[number] = callback
    call(lib.cst_log_set_callback, _pass_line_callback, number, _forget_callback)
    _line_function = callback


def write(line: str) -> None:
    """Writes a line of this package to the destination of the library's log."""
    if _line_function is not None:
        _line_function(line)
    elif sys.stderr is not None:
        print(line, file=sys.stderr)


def take_arguments(arguments: Sequence[str]) -> int:
    """Applies Core Data's launch arguments among a program's arguments, and returns their number.

        log.take_arguments(sys.argv)     # … -com.apple.CoreData.SQLDebug 1

    The arguments are SQLDebug 0 to 4, Logging.stderr, SyntaxColoredLogging, SQLiteDebugSynchronous 0 to 2 and
    SQLiteIntegrityCheck. Arguments for checks that are always on here are accepted too. InvalidArgumentError for an
    unknown argument or an invalid number; then no argument is applied.
    """
    encoded = [os.fsencode(argument) for argument in arguments]
    taken = ctypes.c_size_t()
    call(lib.cst_log_take_arguments, len(encoded), (ctypes.c_char_p * len(encoded))(*encoded), byref(taken))
    return taken.value


@contextmanager
def recorded(detail: int = 1) -> Iterator[list[str]]:
    """Appends the lines that the whole process logs within the block to a list.

    At the end of the block, the former level of detail is restored, and lines go to standard error again.
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
