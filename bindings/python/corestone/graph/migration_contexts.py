"""The contexts of migrations, which the library creates, passes to callbacks, and closes after the migration."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from .. import _abi
from .._abi import lib
from .._abi.call import made
from .._abi.handles import retained
from .._abi.stamps import contexts

if TYPE_CHECKING:
    from ..model.model import Model
    from .context import Context

_here = threading.local()  # `blocks`: for each running call of this thread that may migrate, its contexts
# Python models by the handle of their first entity. A model may have several handles, but each entity has one.
_models: weakref.WeakValueDictionary[int, Model] = weakref.WeakValueDictionary()


def note_model(model: Model) -> None:
    """Records a model, so that the objects of a migration have the classes that are bound to it."""
    first = lib.cst_model_entity_count(model._handle) and made(lib.cst_model_entity_at, model._handle, 0)
    if first:
        _models.setdefault(first, model)


def model_of(handle: int) -> Model:
    """Returns the model of a borrowed handle."""
    from ..model.model import Model

    first = lib.cst_model_entity_count(handle) and made(lib.cst_model_entity_at, handle, 0)
    return _models.get(first or 0) or Model._of(retained(handle))


def context_of(handle: int) -> Context:
    """Returns the context of a borrowed handle."""
    from ..stores.coordinator import Coordinator
    from .context import Context

    known = next((each for each in list(contexts) if each._handle == handle), None)
    if known is not None:
        return known
    coordinator = made(lib.cst_context_coordinator, handle)
    model = model_of(made(lib.cst_coordinator_model, coordinator))
    owner = Coordinator._owned(retained(coordinator), model)
    context = Context(owner, _abi.QUEUE_CALLER, handle=retained(handle), is_shared=True)
    blocks = getattr(_here, "blocks", None)
    if blocks:
        blocks[-1].append(context)
    return context


@contextmanager
def closing_migration_contexts() -> Iterator[None]:
    """Closes the contexts of migrations at the end of a block, and raises the stored exception of a signal handler."""
    blocks: list[list[Context]] = _here.__dict__.setdefault("blocks", [])
    opened: list[Context] = []
    blocks.append(opened)
    raised: BaseException | None = None
    try:
        yield
    finally:
        blocks.remove(opened)
        for context in opened:
            if context._watcher is not None:
                raised = raised or context._watcher.take()
            context._forget_handle()
        opened.clear()
        if raised is not None:
            raise raised
