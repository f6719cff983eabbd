"""The core of contexts: creation, the objects of handles, Ctrl-C, and calls that take long."""

from __future__ import annotations

import ctypes
import time
import weakref
from ctypes import byref
from typing import TYPE_CHECKING, Any, NoReturn, Union, cast

from .. import _abi
from .._abi import interrupt, lib
from .._abi.arguments import require_instance
from .._abi.call import call, failure, made_quickly, owned, raisable
from .._abi.checked import Checked
from .._abi.handles import Handle, retained_owner
from .._abi.stamps import Mark, Stamp, contexts
from .._abi.wrappers import ContextBase, accelerator, find, place, wrap, wrap_all
from ..errors import InvalidArgumentError, InvalidHandleError
from ..model.entity import Entity, declared_entity
from . import faulting, queue
from .ahead import Ahead
from .merging import MergePolicy
from .notifications import Notifications
from .object import ManagedObject
from .owners import Policy, policy_of
from .undo import UndoManager

if TYPE_CHECKING:
    from ..stores.container import Container
    from .context import Context
    from .observation import Observation
    from .owners import ContextOwner

EntityLike = Union[str, Entity, type]
_entity = _abi.raw("cst_object_entity")
_MAKERS = {_abi.QUEUE_CALLER: "context", _abi.QUEUE_PRIVATE: "background_context", _abi.QUEUE_MAIN: "main_context"}


class ContextCore(Checked, ContextBase):
    """What the parts of `Context` have in common."""

    _cst_attributes = ("coordinator", "model", "user_info")

    #: Data of the application.
    user_info: Any = None

    # Initial values are those of the class, so that a context is created faster.
    _watcher: interrupt.Watch | None = None
    _task: object = None  # the asyncio task whose block is open
    _user = 0  # the thread whose Python block or function holds the queue
    _is_closing = False
    _name: str | None = None
    _author: str | None = None
    _undo_manager: UndoManager | None = None
    _merge_policy = MergePolicy.ERROR
    _inaccessible: faulting.InaccessibleFaultHandler | None = None
    _remote: Observation | None = None

    def __init__(
        self,
        owner: ContextOwner,
        queue_type: int,
        parent: Context | None = None,
        handle: int | None = None,
        *,
        unsaved: Policy | None = None,
        is_shared: bool = False,
    ) -> None:
        usual = owner._unsaved if parent is None else parent._unsaved
        self._unsaved: Policy = policy_of(unsaved, usual)
        self._is_shared = is_shared  # every caller uses this context, so only its owner closes it
        self._owner = owner
        #: The coordinator of the context's stores.
        self.coordinator = owner._beneath
        self._parent = parent
        self.model = owner.model
        self._mark = Mark()  # values that were read ahead are valid while its stamp is unchanged
        self._is_main = queue_type == _abi.QUEUE_MAIN
        self._sequences: weakref.WeakSet[Notifications[Any]] = weakref.WeakSet()
        self._locks: list[int] = []  # what `unlock` restores, for each lock
        self._editings: dict[int, Observation] = {}  # by the id of the editor
        self._queue_type = queue_type
        self._cst_is_held = handle is None
        if handle is None:
            handle = (
                owned(lib.cst_context_new, self.coordinator._handle, queue_type)
                if parent is None
                else owned(lib.cst_context_new_child, parent._open, queue_type)
            )
        self._handle: int | None = handle
        self._argument = _abi.argument(self._handle)
        faulting.tell_origin(self._handle)
        contexts.add(self._context)
        if queue_type == _abi.QUEUE_CALLER:
            self._watch()

    @property
    def container(self) -> Container:
        """The container or the document that created the context.

        InvalidArgumentError if a coordinator created it. `coordinator` is set for every context.
        """
        if self._owner is self.coordinator:
            raise InvalidArgumentError(
                "the context was created by a coordinator, not by a container; use context.coordinator"
            )
        return cast("Container", self._owner)

    @property
    def _context(self) -> Context:
        """This context. The parts of the class are not a Context for type checkers."""
        return self  # type: ignore[return-value]

    @property
    def _open(self) -> int:
        if self._handle is None:
            if self._owner._is_closed:
                raise InvalidHandleError(f"the context is closed, like its {self._owner._another_owner}")
            remedy = (
                "create another one with child() of its parent"
                if self._parent is not None
                else "use it only during the migration"
                if self._is_shared  # with an open owner, only a context of a migration
                else f"create another one with {_MAKERS[self._queue_type]}() of its container or coordinator"
            )
            raise InvalidHandleError(f"the context is closed; {remedy}")
        return self._handle

    def _require_open(self) -> None:
        """Raises InvalidHandleError if the context is closed. Cursors, which have their own handles, call this."""
        _ = self._open

    def _entity(self, entity: EntityLike) -> Entity:
        if type(entity) is str:
            found = self.model._entities.get(entity)
            if found is not None:
                return found
        if isinstance(entity, Entity):
            return entity
        if isinstance(entity, type) and issubclass(entity, ManagedObject):
            is_generated = "_cst_entity" in vars(entity)
            return entity._cst_entity if is_generated else self.model[declared_entity(entity, "entity")]
        return self.model[require_instance(str, entity, "entity", "a name, a subclass of ManagedObject or an Entity")]

    def _refuse(self, item: Any, call_name: str) -> NoReturn:
        """Raises the error for a value in place of an object, or for an object of another context."""
        from .mistakes import other_context, wrong_object

        if isinstance(item, ManagedObject):
            other_context(item, call_name)
        wrong_object(item, call_name)

    def _class(self, token: int, entity: Entity | None) -> type[ManagedObject]:
        """Returns the class of an object, whose entity may be a subentity of `entity`."""
        if entity is not None and entity.name not in self.model._parents:
            return entity.object_class
        handle = made_quickly(_entity, _abi.argument(token))
        return self.model._entity_of(handle).object_class

    def _object(self, token: int, entity: Entity | None) -> ManagedObject:
        """Returns the wrapper of a borrowed handle."""
        found: ManagedObject | None = find(token)
        if found is not None:
            return found
        kind = self._class(token, entity)
        return wrap(kind, self, retained_owner(_abi.argument(token)))

    def _adopt(self, hold: Handle, entity: Entity | None) -> ManagedObject:
        """Returns the wrapper of an owned handle."""
        token = hold.value or 0
        found: ManagedObject | None = find(token)
        return wrap(self._class(token, entity), self, hold) if found is None else found

    def _objects(self, array: Any, count: int, entity: Entity | None, ahead: Ahead | None) -> list[ManagedObject]:
        """Returns the wrappers of an array of borrowed handles."""
        if entity is None or entity.name in self.model._parents:
            if accelerator is not None:
                model = self.model
                quick = accelerator.wrap_mixed(model._classes, model._class_of, self, ctypes.addressof(array), count)
                if quick is not None:
                    return cast("list[ManagedObject]", quick)
            found = [self._object(token, entity) for token in array[:count]]
            for row, item in enumerate(found if entity is not None else ()):
                place(item, ahead, row)
            return found
        return wrap_all(entity.object_class, self, array, count, ahead)

    def _watch(self) -> None:
        """Makes Ctrl-C stop fetches and saves, if signal handlers run on this thread."""
        if self._watcher is not None or self._handle is None or not interrupt.is_main_thread():
            return
        number, watch = interrupt.new_watch()
        call(lib.cst_context_set_interrupt, self._handle, watch.callback, number, interrupt.forget)
        self._watcher = watch
        queue._exit.contexts.add(self._context)
        queue._exit.arm()

    def _unwatch(self, deadline: float | None = None) -> None:
        """Reverses `_watch`. May be called on any queue.

        With a deadline, the watch remains if another thread still holds the private queue at the deadline.
        """
        watcher, handle = self._watcher, self._handle
        if watcher is None or handle is None:
            return
        arguments = (handle, _abi.CONTEXT_INTERRUPT_FN(), None, _abi.DESTROY_FN())

        def unset() -> None:
            self._watcher = None
            call(lib.cst_context_set_interrupt, *arguments)

        if self._queue_type != _abi.QUEUE_PRIVATE:
            unset()
        elif deadline is None:
            queue.perform_and_wait(self._context, handle, unset)
        else:
            while call(lib.cst_context_try_lock, handle) != _abi.OK:
                if time.monotonic() >= deadline:
                    interrupt.immortal(watcher.callback)
                    return
                time.sleep(queue.EXIT_STEP)
            try:
                unset()
            finally:
                call(lib.cst_context_unlock, handle)

    def _work(self, function: Any, *arguments: Any) -> int:
        """Calls a long-running function of the context, and raises the exception of a signal handler that ran in it."""
        return self._work_on(self._open, function, *arguments)

    def _work_on(self, handle: int, function: Any, *arguments: Any) -> int:
        """Does the same as `_work`, with a handle that belongs to the context."""
        if self._is_main:
            self._watch()
        self._mark.stamp = Stamp()
        error = Handle()
        status: int = function(handle, *arguments, byref(error))
        raised = self._watcher.take() if self._watcher is not None else None
        problem = failure(status, error) if status < 0 else None
        del error  # a traceback would keep it alive
        if raised is not None:
            raise raised
        if problem is not None:
            raise raisable(problem)
        return status

    @property
    def is_closed(self) -> bool:
        """Whether the context was closed."""
        return self._handle is None
