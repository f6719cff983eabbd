"""Documents: stores that are opened, edited with undo, saved, saved to another path, and reverted."""

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

from .. import _abi
from .._abi import lib, optional_text, path_argument
from .._abi.arguments import choice, flag, milliseconds, require_integer
from .._abi.arguments import function as function_given
from .._abi.call import call, made, owned, read_error
from .._abi.checked import Checked
from .._abi.handles import Handle, retained
from .._abi.interrupt import immortal
from ..errors import CorestoneError, InvalidArgumentError, InvalidHandleError
from ..graph.context import Context
from ..graph.object_id import ObjectID
from ..graph.owners import QUEUES, ContextOwner, Policy, leave_block, policy_of
from ..graph.progress import migrating
from ..graph.undo import UndoManager
from ..model.model import Model, ModelLike, given_model
from .coordinator import Coordinator
from .store import Store
from .store_options import StoreOptions, store_options

if TYPE_CHECKING:
    from typing_extensions import Unpack


class DocumentState(enum.IntFlag):
    """The state of a document."""

    #: Some content is not saved in a file that the application chose.
    EDITED = _abi.DOCUMENT_EDITED
    SAVING = _abi.DOCUMENT_SAVING
    #: The last save failed because another writer had changed the same objects; nothing was written.
    CONFLICT = _abi.DOCUMENT_CONFLICT
    #: The last save failed; `last_error` has the error.
    FAILED = _abi.DOCUMENT_FAILED
    #: The document does not have a path yet: `save_as` sets it.
    UNTITLED = _abi.DOCUMENT_UNTITLED
    #: Another writer wrote, replaced or deleted the file after the document was last opened, saved or reverted.
    CHANGED_ON_DISK = _abi.DOCUMENT_CHANGED_ON_DISK
    CLOSED = _abi.DOCUMENT_CLOSED


#: All existing documents, for the warnings at interpreter exit.
documents: weakref.WeakSet[Document] = weakref.WeakSet()
_observers: dict[int, tuple[weakref.ref[Document], Callable[[DocumentState], Any]]] = {}
_numbers = itertools.count(1)


def _notify(number: int, flags: int) -> None:
    known = _observers.get(number)
    document = known[0]() if known is not None else None
    if known is not None and document is not None:
        known[1](DocumentState(flags))


_notify_callback = immortal(_abi.DOCUMENT_OBSERVE_FN(_notify))
_forget_callback = immortal(_abi.DESTROY_FN(lambda number, known=_observers: known.pop(number, None) and None))


class Document(Checked, ContextOwner):
    """One store as a document. `Document(model)` creates an untitled one; `Document.open(path)` opens an existing one.

        with Document(model) as document:
            with document.context.perform() as ctx:
                ctx.insert("Person", name="Ada")
            document.save_as("people.store")

    type     the type of a new document: "SQLite", "XML" or "Binary". Until the document is saved to a path, its content
             is in a separate folder in TMPDIR. The folder is removed when the document is saved to a path, closed or
             released
    queue    the queue of the document's context: "private", "main", or "caller" for this thread only
    unsaved  the policy of `close` and the `with` block for unsaved changes: "refuse", with an UnsavedChangesError that
             counts them by entity, "save" or "discard"
    """

    _another_owner = (
        "document; open the document again with Document.open(...), or create another document with Document(...)"
    )

    _cst_attributes = ("context", "coordinator", "model", "undo_manager")

    def __init__(
        self, model: ModelLike, *, type: str | None = None, queue: str = "private", unsaved: Policy = "refuse"
    ) -> None:
        self._unsaved = policy_of(unsaved)
        given = given_model(model)
        if given is None:
            raise InvalidArgumentError("model is None; pass the model of the new document", key="model")
        number = QUEUES[choice(queue, "queue", QUEUES)]
        self._adopt(owned(lib.cst_document_new, given._handle, optional_text(type, "type"), number), given, number)

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
        """Opens an existing document, with `model` or the model that the store carries.

        The options are those of Coordinator.add_store.
        """
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
        #: The context to edit, closed with the document. It has the given queue and the undo manager `undo_manager`.
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
        if not self._is_closed:
            return
        path = self.path
        if path is None:
            raise InvalidHandleError("the untitled document is closed; create another one with Document(...)")
        remedy = "create another one with Document(...)"
        if os.path.exists(path):
            remedy = f"open it again with Document.open(...), or {remedy}"
        raise InvalidHandleError(f"the document {path} is closed; {remedy}", file=path)

    def object_id(self, uri: str) -> ObjectID | None:
        """Returns the object ID for a URI, or None if it is not the URI of an object in the store."""
        return self.coordinator.object_id(uri)

    @property
    def path(self) -> str | None:
        """The path of the document; None for an untitled one."""
        buffer = _abi.Buffer()
        if call(lib.cst_document_copy_path, self._handle, byref(buffer)) == _abi.NOT_FOUND:
            return None
        return _abi.take_text(buffer)

    @property
    def store(self) -> Store:
        """The store of the document."""
        found = self.coordinator.stores
        if not found:
            self._require_open()
            path = self.path
            remedy = "open it again with Document.open(...)" if path else "create another one with Document(...)"
            raise InvalidHandleError(f"the document does not have an open store; call close, and {remedy}", file=path)
        return found[0]

    @property
    def state(self) -> DocumentState:
        """The state. `EDITED` does not include changes that were not processed yet. Checks whether the file changed."""
        out = ctypes.c_uint32()
        call(lib.cst_document_state, self._handle, byref(out))
        return DocumentState(out.value)

    @property
    def has_unsaved_changes(self) -> bool:
        """Whether the document has unsaved changes. Waits for the queues of the contexts.

        False for a document with a path if all changes since the last save were undone.
        """
        out = ctypes.c_bool()
        call(lib.cst_document_has_unsaved_changes, self._handle, byref(out))
        return out.value

    @property
    def last_error(self) -> CorestoneError | None:
        """The error of the last save or autosave; None if it succeeded, before the first save and after a revert."""
        out = Handle()
        if call(lib.cst_document_copy_error, self._handle, byref(out)) == _abi.NOT_FOUND or not out.value:
            return None
        return read_error(out.value)

    def observe(self, function: Callable[[DocumentState], Any]) -> Any:
        """Calls function(state) whenever the state changes, until the returned Observation is cancelled or released.

        The calls are in order, on the thread that changes the state: for example the context's queue, a thread that
        saves or closes, or the store's watcher. While one thread calls the function, it also delivers the changes by
        other threads.
        """
        from ..graph.observation import Observation

        number = next(_numbers)
        _observers[number] = (weakref.ref(self), function_given(function, "function"))
        return Observation(owned(lib.cst_document_observe, self._handle, _notify_callback, number, _forget_callback))

    def set_autosave(self, *, changes: int = 0, idle: float = 0.0) -> None:
        """Saves the document automatically, on the queue of its context.

        It is saved after `changes` changes, and `idle` seconds after the last change; an argument of 0 disables its
        limit. Each processing of pending changes after which the context has unsaved changes counts as one change.
        After an error, the changes are kept; `last_error`, the state and `close` report the error. An untitled document
        is saved into its own folder and stays edited.
        """
        call(
            lib.cst_document_set_autosave,
            self._handle,
            require_integer(changes, "changes", most=2**31 - 1),
            milliseconds(idle, "idle"),
        )

    def save(self) -> None:
        """Saves the unsaved changes of the document's context, but not those of its nested contexts.

        ConflictError for objects that another writer changed in the file: set a merge policy of the context, or call
        `revert`.
        """
        call(lib.cst_document_save, self._handle)

    def save_as(self, path: str | os.PathLike[str], *, type: str | None = None, replace: bool = False) -> None:
        """Saves the document to another path, which becomes its path.

        The former file keeps its last saved state. The temporary file of an untitled document is removed.
        Objects keep their IDs, unless the type changes. Then every object gets a new ID, and existing objects raise
        ObjectGoneError; UnsavedChangesError while other contexts, including children, have unsaved changes. A store at
        the path is overwritten only if `replace` is True. A document that is open read-only is writable afterwards.
        """
        call(
            lib.cst_document_save_as,
            self._handle,
            optional_text(type, "type"),
            path_argument(path),
            flag(replace, "replace"),
        )

    def revert(self) -> None:
        """Discards unsaved changes, including those of children of the context, and reads the file again.

        The context then has the changes of other writers. Discards the undo steps. UnsavedChangesError for a child with
        changes that is confined to another thread.
        """
        call(lib.cst_document_revert, self._handle)

    @property
    def is_closed(self) -> bool:
        """Whether the document was closed."""
        return self._is_closed

    def close(self, unsaved: Policy | None = None) -> None:
        """Closes the document and its contexts. A second call has no effect.

        unsaved  the policy for unsaved changes: "refuse" (UnsavedChangesError, with counts by entity, and the error of
                 the last save in its details), "save" or "discard". None: the policy of the document.
        """
        if self._is_closed:
            return
        policy = policy_of(unsaved, self._unsaved)
        call(lib.cst_document_close, self._handle, _abi.UNSAVED.index(policy))
        self._is_closed = True
        self._close_contexts()
        self.context._close_for_owner()
        self.coordinator._end()

    def __enter__(self) -> Document:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes the document.

        With unsaved changes, the document stays open and raises UnsavedChangesError, unless its policy is another one.
        If the block raised an exception other than UnsavedChangesError, unsaved changes are rolled back.
        """
        leave_block(self, raised)

    def __repr__(self) -> str:
        return f"<Document {self.path or 'untitled'}{' (closed)' * self._is_closed}>"
