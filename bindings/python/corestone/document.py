"""Documents: one store that is opened, edited with undo, saved, saved elsewhere, reverted."""

from __future__ import annotations

import ctypes
import enum
import itertools
import os
import weakref
from collections.abc import Callable
from ctypes import byref
from types import TracebackType
from typing import TYPE_CHECKING, Any

from . import _abi
from ._abi import lib, optional_text, path_argument
from ._arguments import choice, flag, milliseconds, whole
from ._arguments import function as function_given
from ._call import call, made, owned, read_error
from ._contexts import QUEUES, ContextOwner, Policy, leave_block, policy_of
from ._handles import Handle, retained
from ._interrupt import immortal
from ._progress import migrating
from ._store_options import StoreOptions, store_options
from .context import Context
from .coordinator import Coordinator, Store, given_model
from .errors import CorestoneError, InvalidArgumentError, InvalidHandleError
from .model import Model, ModelLike
from .object_id import ObjectID
from .undo import UndoManager

if TYPE_CHECKING:
    from typing_extensions import Unpack


class DocumentState(enum.IntFlag):
    """How a document stands."""

    #: Something is in no file that the host chose.
    EDITED = _abi.DOCUMENT_EDITED
    SAVING = _abi.DOCUMENT_SAVING
    #: The last save met objects that somebody else had changed; nothing of it was written.
    CONFLICT = _abi.DOCUMENT_CONFLICT
    #: The last save failed; `last_error` tells why.
    FAILED = _abi.DOCUMENT_FAILED
    #: It has no place yet: `save_as` gives it one.
    UNTITLED = _abi.DOCUMENT_UNTITLED
    #: Somebody else wrote the file since it was opened, saved or reverted.
    CHANGED_ON_DISK = _abi.DOCUMENT_CHANGED_ON_DISK
    CLOSED = _abi.DOCUMENT_CLOSED


#: Those that are there, for the end of the interpreter.
documents: weakref.WeakSet[Document] = weakref.WeakSet()
_observers: dict[int, tuple[weakref.ref[Document], Callable[[DocumentState], Any]]] = {}
_numbers = itertools.count(1)


def _told(number: int, flags: int) -> None:
    known = _observers.get(number)
    document = known[0]() if known is not None else None
    if known is not None and document is not None:
        known[1](DocumentState(flags))


_told_callback = immortal(_abi.DOCUMENT_OBSERVE_FN(_told))
_forget_callback = immortal(_abi.DESTROY_FN(lambda number, known=_observers: known.pop(number, None) and None))


class Document(ContextOwner):
    """One store as a document. `Document(model)` has no place yet; `Document.open(path)` opens one that is there.

        with Document(model) as document:
            with document.context.perform() as ctx:
                ctx.insert("Person", name="Ada")
            document.save_as("people.store")

    type     of a new document: "SQLite", "XML" or "Binary". What it has lies in a folder of its own in TMPDIR, which
             ends with it, until it is saved to a place
    queue    of its context: "private", "main", or "caller" for one that this thread alone uses
    unsaved  what `close` and the `with` block do about changes that were not saved: "refuse", with an
             UnsavedChangesError that counts them by entity, "save" or "discard"
    """

    def __init__(
        self, model: ModelLike, *, type: str | None = None, queue: str = "private", unsaved: Policy = "refuse"
    ) -> None:
        self._unsaved = policy_of(unsaved)
        given = given_model(model)
        if given is None:
            raise InvalidArgumentError("model is None; pass the model of the new document")
        number = QUEUES[choice(queue, "queue", QUEUES)]
        self._adopt(owned(lib.cst_document_new, given._handle, optional_text(type), number), given, number)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        model: ModelLike | None = None,
        *,
        queue: str = "private",
        unsaved: Policy = "refuse",
        **options: Unpack[StoreOptions],
    ) -> Document:
        """Opens a document that is there, by the given model or the one that the store carries. The options are those
        of Coordinator.add_store."""
        given = given_model(model, for_store=path)
        number = QUEUES[choice(queue, "queue", QUEUES)]
        document = cls.__new__(cls)
        document._unsaved = policy_of(unsaved)
        handle = given._handle if given is not None else None
        settings = store_options(**options)
        with migrating(settings):
            opened = owned(lib.cst_document_open, path_argument(path), handle, byref(settings), number)
        document._adopt(opened, given, number)
        return document

    def _adopt(self, handle: int, model: Model | None, queue: int) -> None:
        self._handle = handle
        self._is_closed = False
        self._contexts: weakref.WeakSet[Context] = weakref.WeakSet()
        context = retained(made(lib.cst_document_context, handle))
        self.coordinator = Coordinator._owned(retained(made(lib.cst_context_coordinator, context)), model)
        self.model = self.coordinator.model
        documents.add(self)
        #: What is edited, closed with the document. Of its queue; its undo manager is `undo_manager`.
        self.context = Context(self, queue, handle=context, is_shared=True)
        self.context._name = "document"
        found = Handle()

        def find() -> None:
            call(lib.cst_context_copy_undo_manager, context, byref(found))

        if queue == _abi.QUEUE_CALLER:
            find()
        else:
            self.context.perform_and_wait(find)
        self.undo_manager = UndoManager.__new__(UndoManager)
        self.undo_manager._handle = found.token
        self.context._undo_manager = self.undo_manager

    @property
    def _beneath(self) -> Coordinator:
        return self.coordinator

    @property
    def _title(self) -> str:
        return "an untitled document" if self._is_closed else self.path or "an untitled document"

    def _require_open(self) -> None:
        if self._is_closed:
            raise InvalidHandleError("the document is closed; open it again")

    def object_id(self, uri: str) -> ObjectID | None:
        """The ID for a URI; None when the store does not know it."""
        return self.coordinator.object_id(uri)

    @property
    def path(self) -> str | None:
        """Where it is; None for a document without a place."""
        buffer = _abi.Buffer()
        if call(lib.cst_document_copy_path, self._handle, byref(buffer)) == _abi.NOT_FOUND:
            return None
        return _abi.take_text(buffer)

    @property
    def store(self) -> Store:
        """Its store."""
        found = self.coordinator.stores
        if not found:
            raise InvalidHandleError("the document is closed; open it again")
        return found[0]

    @property
    def state(self) -> DocumentState:
        """How it stands, as of the last event of the context; looks at the file."""
        out = ctypes.c_uint32()
        call(lib.cst_document_state, self._handle, byref(out))
        return DocumentState(out.value)

    @property
    def has_unsaved_changes(self) -> bool:
        """Whether something is unsaved; undoing all since the last save leaves nothing. Waits for the queue."""
        out = ctypes.c_bool()
        call(lib.cst_document_has_unsaved_changes, self._handle, byref(out))
        return out.value

    @property
    def last_error(self) -> CorestoneError | None:
        """What the last save failed with, an autosave too; None when it went well."""
        out = Handle()
        if call(lib.cst_document_copy_error, self._handle, byref(out)) == _abi.NOT_FOUND or not out.value:
            return None
        return read_error(out.value)

    def observe(self, function: Callable[[DocumentState], Any]) -> Any:
        """Calls function(state) whenever that changes, in order, on the thread that changes it: the context's queue,
        who saves, or the watch of the store. While one thread calls it, that thread also delivers the changes of
        others. Returns an Observation; it ends with it."""
        from .observation import Observation

        number = next(_numbers)
        _observers[number] = (weakref.ref(self), function_given(function, "function"))
        return Observation(owned(lib.cst_document_observe, self._handle, _told_callback, number, _forget_callback))

    def set_autosave(self, *, changes: int = 0, idle: float = 0.0) -> None:
        """Has the document saved by itself, on the queue of its context: after so many events that left something to
        save, and when nothing was changed for so many seconds; 0 for neither. What that fails with is `last_error`,
        shows in the state, and is told by `close`; the changes stay. One without a place stays edited."""
        call(
            lib.cst_document_set_autosave,
            self._handle,
            whole(changes, "changes", most=2**31 - 1),
            milliseconds(idle, "idle"),
        )

    def save(self) -> None:
        """Saves what was changed. ConflictError for objects that somebody else changed in the file: a merge policy of
        the context settles them, or `revert`."""
        call(lib.cst_document_save, self._handle)

    def save_as(self, path: str | os.PathLike[str], *, type: str | None = None, replace: bool = False) -> None:
        """Saves it to another place and goes on there; what is at its former place stays as it was last saved.

        Objects stay what they are, unless the type changes: then every object has a new ID, and those in hand are gone
        (ObjectGoneError); UnsavedChangesError while children of the context, or other contexts, have unsaved changes.
        A store at the path is overwritten only if `replace`. A document that is open read-only can be written there.
        """
        call(
            lib.cst_document_save_as,
            self._handle,
            optional_text(type),
            path_argument(path),
            flag(replace, "replace"),
        )

    def revert(self) -> None:
        """Throws away what was not saved, by children of the context too, and reads the file as it is now, also what
        others wrote. Steps to undo are forgotten. UnsavedChangesError for a child with changes that is confined to
        another thread."""
        call(lib.cst_document_revert, self._handle)

    @property
    def is_closed(self) -> bool:
        """Whether it was closed."""
        return self._is_closed

    def close(self, unsaved: Policy | None = None) -> None:
        """Closes the file. `unsaved` says what becomes of changes that were not saved: "refuse" (UnsavedChangesError,
        with counts by entity, and the error of the last save among its details), "save" or "discard"; None: as the
        document was made."""
        if self._is_closed:
            return
        policy = policy_of(unsaved, self._unsaved)
        call(lib.cst_document_close, self._handle, _abi.UNSAVED.index(policy))
        self._is_closed = True
        self._close_contexts()
        self.context._let_go()
        self.coordinator._end()

    def __enter__(self) -> Document:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes it. UnsavedChangesError, and it stays open, for changes that were not saved, unless it was made with
        another policy; when the block raised, they are rolled back, unless it raised UnsavedChangesError."""
        leave_block(self, raised)

    def __repr__(self) -> str:
        return f"<Document {self.path or 'untitled'}{' (closed)' * self._is_closed}>"
