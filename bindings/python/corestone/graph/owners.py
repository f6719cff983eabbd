"""The common part of containers, documents and coordinators: the contexts that they create and close."""

from __future__ import annotations

import contextlib
import json
import weakref
from ctypes import byref
from typing import TYPE_CHECKING, Literal, NamedTuple, cast

from .. import _abi, log
from .._abi import lib
from .._abi.arguments import choice
from .._abi.call import call
from ..errors import CorestoneError, UnsavedChangesError

if TYPE_CHECKING:
    from ..model.model import Model
    from ..stores.coordinator import Coordinator
    from .context import Context

#: The policy for unsaved changes at closing: "refuse" raises UnsavedChangesError and closes nothing, "save" saves them
#: first, "discard" discards them.
Policy = Literal["refuse", "save", "discard"]

QUEUES = {"caller": _abi.QUEUE_CALLER, "private": _abi.QUEUE_PRIVATE, "main": _abi.QUEUE_MAIN}


class UnsavedCounts(NamedTuple):
    """The numbers of an entity's objects that have unsaved changes, by the kind of change."""

    inserted: int
    updated: int
    deleted: int


class UnsavedChanges(NamedTuple):
    """The unsaved changes of a context.

    If another thread uses the context, the counts and `entities` are set to None.
    """

    #: The description of the context in messages: its name, and where it was created.
    context: str
    #: The name of the context, if it has one.
    name: str | None
    inserted: int | None
    updated: int | None
    deleted: int | None
    #: The counts by entity name.
    entities: dict[str, UnsavedCounts] | None = None
    #: The file and line at which the context was created; None if they are unknown.
    file: str | None = None
    line: int | None = None

    @property
    def text(self) -> str:
        """The counts as text: "1 Department updated, 2 Person inserted"."""
        if self.entities is None:
            return "an unknown number, because another thread uses the context"
        return ", ".join(
            f"{count} {name} {kind}"
            for name, counts in sorted(self.entities.items())
            for kind, count in counts._asdict().items()
            if count
        )


def unsaved_changes(coordinator: Coordinator, flags: int = 0) -> list[UnsavedChanges]:
    """Returns the unsaved changes of the contexts of a coordinator."""
    buffer = _abi.Buffer()
    call(lib.cst_coordinator_copy_unsaved_changes, coordinator._handle, flags, byref(buffer))
    found = []
    for each in json.loads(_abi.take_text(buffer)):
        if each["entities"] is not None:
            each["entities"] = {name: UnsavedCounts(**counts) for name, counts in each["entities"].items()}
        found.append(UnsavedChanges(**each))
    return found


def policy_of(unsaved: Policy | None, usual: Policy = "refuse") -> Policy:
    """Returns the policy that the caller passed, or `usual` if the caller passed None."""
    return cast("Policy", choice(usual if unsaved is None else unsaved, "unsaved", _abi.UNSAVED))


def leave_block(what: Context | ContextOwner, raised: BaseException | None) -> None:
    """Closes an object at the end of its `with` block. `raised` is the exception that ended the block, or None."""
    if raised is None:
        what.close()
        return
    with contextlib.suppress(CorestoneError):  # the caller needs the exception of the block
        if isinstance(raised, UnsavedChangesError):
            what.close("refuse")  # raised by a nested block, for example: owners of unsaved changes stay open
            return
        if not isinstance(raised, Exception):
            with contextlib.suppress(CorestoneError):  # in a forked child, for example
                _log_loss(what, raised)
        what.close("discard")


def _log_loss(what: Context | ContextOwner, raised: BaseException) -> None:
    """Logs the changes that are rolled back because of an exception that the interpreter might not print.

    Such exceptions are, for example, SystemExit, GeneratorExit and the cancellation of a task.
    """
    if isinstance(what, ContextOwner):
        held = unsaved_changes(what._beneath, _abi.CHANGES_NO_WAIT)
        lost = [
            f"{each.context} {'may have' if each.entities is None else 'has'} unsaved changes: {each.text}"
            for each in held
        ]
    else:
        lost = what._refusals()
    if lost:
        log.write(
            f"CoreData: warning: a `with` block was rolled back because {type(raised).__name__} ended it: "
            f"{', and '.join(lost)}; call save() within the block to keep them"
        )


class ContextOwner:
    """An object that creates contexts, and closes them when it is closed. A context retains its owner."""

    model: Model
    _contexts: weakref.WeakSet[Context]
    #: The default policy for unsaved changes, for closing the owner and the contexts that the owner creates.
    _unsaved: Policy
    _is_closed: bool
    #: The noun for the owner, and the remedy in the error about a context whose owner is closed.
    _another_owner: str

    @property
    def _beneath(self) -> Coordinator:
        """The coordinator of the contexts."""
        raise NotImplementedError

    @property
    def _title(self) -> str:
        """The title of the owner in the repr of its contexts."""
        return ", ".join(store.path for store in self._beneath.stores) or "no open store"

    def _require_open(self) -> None:
        """Raises InvalidHandleError if the owner is closed."""
        raise NotImplementedError

    def close(self, unsaved: Policy | None = None) -> None:
        """Closes the contexts and the stores."""
        raise NotImplementedError

    @property
    def unsaved_changes(self) -> list[UnsavedChanges]:
        """The unsaved changes of the contexts. Reading them waits for the queues of contexts with changes."""
        return unsaved_changes(self._beneath)

    def _context(self, queue: int, parent: Context | None = None, unsaved: Policy | None = None) -> Context:
        from .context import Context

        self._require_open()
        context = Context(self, queue, parent, unsaved=unsaved)
        self._contexts.add(context)
        return context

    def _child(self, parent: Context, queue: str, unsaved: Policy | None) -> Context:
        """Creates a child of one of the contexts, for Context.child."""
        return self._context(QUEUES[choice(queue, "queue", QUEUES)], parent, unsaved)

    def _close_contexts(self) -> None:
        for context in list(self._contexts):
            context._close_for_owner()


class Contexts(ContextOwner):
    """The methods of containers and coordinators that create contexts.

    unsaved  the policy for unsaved changes when the context is closed or its `with` block ends, see Context.close;
             None: the policy of the creator
    """

    def context(self, *, unsaved: Policy | None = None) -> Context:
        """Creates a context that is confined to the calling thread.

        unsaved  the policy of the context's own `close` and `with` block; None: that of the container. Closing the
                 container applies the policy of the container to all contexts.
        """
        return self._context(_abi.QUEUE_CALLER, unsaved=unsaved)

    def background_context(self, *, unsaved: Policy | None = None) -> Context:
        """Creates a context with a private queue; any thread may call its perform and perform_and_wait."""
        return self._context(_abi.QUEUE_PRIVATE, unsaved=unsaved)

    def main_context(self, *, unsaved: Policy | None = None) -> Context:
        """Creates a context of the main queue: see corestone.main_queue."""
        return self._context(_abi.QUEUE_MAIN, unsaved=unsaved)
