"""What containers, documents and coordinators have in common: the contexts that they make and close."""

from __future__ import annotations

import contextlib
import json
import weakref
from ctypes import byref
from typing import TYPE_CHECKING, Literal, NamedTuple, cast

from . import _abi, log
from ._abi import lib
from ._arguments import choice, shown
from ._call import call
from .errors import CorestoneError, InvalidArgumentError, UnsavedChangesError

if TYPE_CHECKING:
    from .context import Context
    from .coordinator import Coordinator
    from .model import Model

#: What becomes of changes that were not saved when something is closed: it stays open, with an UnsavedChangesError;
#: they are saved first; they are lost.
Policy = Literal["refuse", "save", "discard"]

QUEUES = {"caller": _abi.QUEUE_CALLER, "private": _abi.QUEUE_PRIVATE, "main": _abi.QUEUE_MAIN}


class UnsavedCounts(NamedTuple):
    """How many objects of an entity were changed and not saved."""

    inserted: int
    updated: int
    deleted: int


class UnsavedChanges(NamedTuple):
    """What a context holds that is in no store yet. The counts are None for a context that another thread uses, which
    alone can count."""

    #: What messages call it: its name, and where it was made.
    context: str
    #: The name that it was given, if any.
    name: str | None
    inserted: int | None
    updated: int | None
    deleted: int | None
    #: The same by the name of the entity.
    entities: dict[str, UnsavedCounts] | None = None
    #: Where it was made.
    file: str | None = None
    line: int | None = None

    @property
    def text(self) -> str:
        """1 Department updated, 2 Person inserted"""
        if self.entities is None:
            return "an unknown number, because another thread uses the context"
        return ", ".join(
            f"{count} {name} {kind}"
            for name, counts in sorted(self.entities.items())
            for kind, count in counts._asdict().items()
            if count
        )


def unsaved_changes(coordinator: Coordinator, flags: int = 0) -> list[UnsavedChanges]:
    """What the contexts of a coordinator have not saved."""
    buffer = _abi.Buffer()
    call(lib.cst_coordinator_copy_unsaved_changes, coordinator._handle, flags, byref(buffer))
    found = []
    for each in json.loads(_abi.take_text(buffer)):
        if each["entities"] is not None:
            each["entities"] = {name: UnsavedCounts(**counts) for name, counts in each["entities"].items()}
        found.append(UnsavedChanges(**each))
    return found


def policy_of(unsaved: Policy | None, usual: Policy = "refuse") -> Policy:
    """A policy that the host gave, or the usual one."""
    return cast("Policy", choice(usual if unsaved is None else unsaved, "unsaved", _abi.UNSAVED))


def leave_block(what: Context | ContextOwner, raised: BaseException | None) -> None:
    """The end of a `with` block, which may have raised."""
    if raised is None:
        what.close()
        return
    with contextlib.suppress(CorestoneError):  # what the block raised says more
        if isinstance(raised, UnsavedChangesError):
            what.close("refuse")  # of something within, say: whatever has changes stays open
            return
        if not isinstance(raised, Exception):
            with contextlib.suppress(CorestoneError):  # in a forked child, say
                _tell_loss(what, raised)
        what.close("discard")


def _tell_loss(what: Context | ContextOwner, raised: BaseException) -> None:
    """Logs what is rolled back by an exception that the interpreter may not print: sys.exit(), the end of a generator,
    or of a task."""
    if isinstance(what, ContextOwner):
        held = unsaved_changes(what._beneath, _abi.CHANGES_NO_WAIT)
        lost = [f"{each.context} has unsaved changes: {each.text}" for each in held]
    else:
        lost = what._refusals()
    if lost:
        log.write(
            f"CoreData: warning: a `with` block was rolled back because {type(raised).__name__} ended it: "
            f"{'; '.join(lost)}; call save() within the block to keep them"
        )


class ContextOwner:
    """Makes contexts, which keep it, and closes them when it is closed; it does not keep them."""

    model: Model
    _contexts: weakref.WeakSet[Context]
    #: What `close` does about changes that were not saved, here and in the contexts that it makes.
    _unsaved: Policy

    @property
    def _beneath(self) -> Coordinator:
        """The coordinator on which the contexts stand."""
        raise NotImplementedError

    @property
    def _title(self) -> str:
        """What its contexts are shown as contexts of."""
        return ", ".join(store.path for store in self._beneath.stores) or "no open store"

    def _require_open(self) -> None:
        """Raises InvalidHandleError when it is closed."""
        raise NotImplementedError

    def close(self, unsaved: Policy | None = None) -> None:
        """Closes the contexts and the stores."""
        raise NotImplementedError

    @property
    def unsaved_changes(self) -> list[UnsavedChanges]:
        """What contexts hold that is in no store yet. Waits for their queues."""
        return unsaved_changes(self._beneath)

    def _context(self, queue: int, parent: Context | None = None, unsaved: Policy | None = None) -> Context:
        from .context import Context

        self._require_open()
        context = Context(self, queue, parent, unsaved=unsaved)
        self._contexts.add(context)
        return context

    def _child(self, parent: Context, queue: str, unsaved: Policy | None) -> Context:
        """What contexts ask of the one who made them."""
        if queue not in QUEUES:
            raise InvalidArgumentError(f'queue must be "caller", "private" or "main", not {shown(queue)}')
        return self._context(QUEUES[queue], parent, unsaved)

    def _close_contexts(self) -> None:
        for context in list(self._contexts):
            context._let_go()


class Contexts(ContextOwner):
    """The calls for contexts of containers and coordinators.

    unsaved  what `close` and the `with` block of the context do about changes that were not saved, see Context.close;
             None: what those of the one who makes it do
    """

    def context(self, *, unsaved: Policy | None = None) -> Context:
        """A context for the calling thread, which alone may use it."""
        return self._context(_abi.QUEUE_CALLER, unsaved=unsaved)

    def background_context(self, *, unsaved: Policy | None = None) -> Context:
        """A context with a queue of its own; any thread gives it work by perform and perform_and_wait."""
        return self._context(_abi.QUEUE_PRIVATE, unsaved=unsaved)

    def main_context(self, *, unsaved: Policy | None = None) -> Context:
        """A context of the main queue: see corestone.main_queue."""
        return self._context(_abi.QUEUE_MAIN, unsaved=unsaved)
