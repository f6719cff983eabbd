"""Ctrl-C during a library call: between steps, the library calls a check, in which Python runs signal handlers."""

from __future__ import annotations

import ctypes
import itertools
import threading
from collections.abc import Generator
from typing import Any

from .. import _abi


def immortal(callback: Any) -> Any:
    """Keeps a callback alive forever, because the library may call it at interpreter exit, and returns the callback."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(callback))
    return callback


class Watch:
    """A check that stores the exception of a signal handler, and stops the running call, such as a fetch or a save."""

    def __init__(self) -> None:
        self.exception: BaseException | None = None
        steps = self._steps()
        next(steps)
        # The library calls `send` of a generator that waits inside its `try`. Python also runs signal handlers at the
        # entry of a function, where an exception would be lost.
        self.callback = _abi.CONTEXT_INTERRUPT_FN(steps.send)

    def _steps(self) -> Generator[bool, Any, None]:
        stop = False
        # The outer loop handles a signal that arrives while the exception of another signal is being stored.
        while True:
            try:
                while True:
                    try:
                        yield stop
                        stop = False
                    except GeneratorExit:
                        raise
                    except BaseException as raised:
                        self.exception = raised
                        stop = True
            except GeneratorExit:
                raise
            except BaseException as raised:
                self.exception = raised
                stop = True

    def take(self) -> BaseException | None:
        """Returns the stored exception, or None, and removes it from the check."""
        raised, self.exception = self.exception, None
        return raised


_live: dict[int, Watch] = {}
_numbers = itertools.count(1)


forget = immortal(_abi.DESTROY_FN(_live.__delitem__))


def new_watch() -> tuple[int, Watch]:
    """Returns a new watch and its number. The watch is kept until the library calls `forget`."""
    number = next(_numbers)
    watch = _live[number] = Watch()
    return number, watch


def is_main_thread() -> bool:
    """Whether signal handlers run on this thread."""
    return threading.get_ident() == threading.main_thread().ident
