"""Cursors: the objects of a fetch, one batch at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from ctypes import byref
from typing import TYPE_CHECKING

from .._abi import lib
from .._abi.checked import Checked
from .._abi.handles import Handle
from .results import Results
from .typing import Item_co

if TYPE_CHECKING:
    from ..model.entity import Entity
    from .context import Context


class Cursor(Checked, Iterable[Item_co]):
    """The cursor that Context.stream returns. It can be iterated once.

    A batch is freed when the batch and its objects are no longer referenced. Use the cursor on the queue of its
    context. The cursor raises InvalidHandleError after the context is closed.
    """

    def __init__(self, context: Context, handle: int, entity: Entity) -> None:
        self._context = context
        self._handle = handle
        self._entity = entity

    def __iter__(self) -> Iterator[Item_co]:
        for batch in self.batches():
            for item in batch:
                self._context._require_open()
                yield item

    def batches(self) -> Iterator[Results[Item_co]]:
        """Yields the objects in batches, as Results. Each column of a batch can be read in one call."""
        while True:
            self._context._require_open()
            out = Handle()
            self._context._work_on(self._handle, lib.cst_cursor_copy_next, byref(out))
            if not out:
                return
            yield Results(self._context, out.token, self._entity)

    def __repr__(self) -> str:
        return f"<Cursor of {self._entity.name}>"
