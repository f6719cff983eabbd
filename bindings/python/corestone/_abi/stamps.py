"""Stamps of contexts: after an event that may have changed a value, values that were read earlier are not used."""

from __future__ import annotations

import os
import weakref
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..graph.context import Context


class Stamp:
    """A mark of a context's state. A new stamp makes the values that were read ahead invalid."""

    __slots__ = ()


class Mark:
    """The current stamp of a context: not an attribute of the context, because setting those is checked, and slow."""

    __slots__ = ("stamp",)

    def __init__(self) -> None:
        self.stamp = Stamp()


# All contexts. In a forked child, every library call fails. Reads of values that were read ahead must fail there, too,
# so these values become invalid.
contexts: weakref.WeakSet[Context] = weakref.WeakSet()


def _after_fork() -> None:
    for context in list(contexts):
        context._mark.stamp = Stamp()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
