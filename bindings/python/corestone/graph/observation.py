"""Observation: notifications of contexts and coordinators, and observers of properties and key paths."""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import weakref
from ctypes import byref
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, NamedTuple

from .. import _abi
from .._abi import conversion, lib
from .._abi.arguments import choice, require_instance
from .._abi.arguments import function as function_given
from .._abi.call import call, held, owned
from .._abi.handles import retained, retained_owner
from .._abi.interrupt import immortal
from .._abi.stamps import Stamp
from .._abi.wrappers import find, wrap
from ..codes import ContextNotification, CoordinatorNotification, StoreFile, ValueChangeKind
from ..errors import ForkedError, InvalidArgumentError
from .generation import QueryGeneration
from .history import HistoryToken
from .notifications import ChangedIDs
from .object import ManagedObject
from .object_id import ObjectID

if TYPE_CHECKING:
    from ..stores.coordinator import Coordinator
    from ..stores.store import Store
    from .context import Context


class Observation:
    """The token of an observer. The observer is notified until the token is cancelled or released.

    `with ctx.observe(…):` cancels the token at the end of the block. Any thread may cancel it. An exception in a
    callback is passed to sys.unraisablehook, because no caller can catch it.
    """

    __slots__ = ("__weakref__", "_handle")

    def __init__(self, handle: int) -> None:
        self._handle: int | None = handle

    def cancel(self) -> None:
        """Cancels the observation, even from within the callback; idempotent."""
        handle, self._handle = self._handle, None
        if handle is not None:
            with contextlib.suppress(ForkedError):  # a forked child has no notifications
                call(lib.cst_observation_cancel, handle)

    _end_watch = cancel

    def __enter__(self) -> Observation:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.cancel()


class ValueChange(NamedTuple):
    """A change of a property.

    For a to-many relationship, `old` and `new` are lists: all members for SETTING, otherwise the added members (`new`)
    and the removed members (`old`). Values of transformable attributes are bytes.
    """

    kind: ValueChangeKind
    key_path: str
    is_prior: bool  # whether the change is about to happen: `new` is None, and relationships cannot be changed
    old: Any
    new: Any
    indexes: list[int]  # for ordered relationships, the indexes of the members in `new`, for a removal those in `old`


def _ids(handle: int) -> list[ObjectID]:
    """Returns the IDs of borrowed results."""
    return [
        ObjectID._owned(held(lib.cst_results_copy_id, handle, index)) for index in range(lib.cst_results_count(handle))
    ]


class ContextChanges:
    """The changes that a notification of a context reports.

    The objects belong to the context's queue; any thread can use the IDs. Notifications of IDs do not have objects. Of
    objects that a save deleted, or of a removed store (`invalidated`), only the IDs are reported.
    """

    __slots__ = ("_context", "_ids", "_objects", "invalidated_all", "query_generation")

    def __init__(self, context: Context, told: _abi.Changes) -> None:
        self._context = context
        self._objects: dict[str, list[Any]] = {}
        self._ids: dict[str, list[ObjectID]] = {}
        self.invalidated_all = bool(told.invalidated_all)  # the context was reset
        generation = told.query_generation
        #: The generation that a pinned context reads after its save; None for any other context.
        self.query_generation = QueryGeneration(retained(generation)) if generation else None
        for name in _abi.CHANGES:
            handle = getattr(told, name)
            self._ids[name], self._objects[name] = self._read(handle) if handle else ([], [])

    def _read(self, handle: int) -> tuple[list[ObjectID], list[Any]]:
        ids, objects = _ids(handle), []
        token = ctypes.c_void_p()
        for index, which in enumerate(ids):
            if lib.cst_results_get_object(handle, index, byref(token), None) == _abi.OK:
                objects.append(self._object(token.value or 0, which))
        return ids, objects

    def _object(self, token: int, which: ObjectID) -> ManagedObject:
        """Returns the wrapper of a borrowed handle, even of a detached object, which cannot return its entity."""
        found: ManagedObject | None = find(token)
        if found is None:
            found = wrap(self._context.model[which.entity_name].object_class, self._context, retained_owner(token))
        return found

    inserted = property(lambda self: self._objects["inserted"], doc="The objects that were inserted.")
    updated = property(lambda self: self._objects["updated"], doc="The objects that were updated.")
    deleted = property(lambda self: self._objects["deleted"], doc="The objects that were deleted.")
    refreshed = property(
        lambda self: self._objects["refreshed"], doc="The objects that were refreshed, whose values can have changed."
    )
    invalidated = property(
        lambda self: self._objects["invalidated"], doc="The objects that were invalidated, which can no longer be used."
    )

    inserted_ids = property(lambda self: self._ids["inserted"], doc="The IDs of the inserted objects.")
    updated_ids = property(lambda self: self._ids["updated"], doc="The IDs of the updated objects.")
    deleted_ids = property(lambda self: self._ids["deleted"], doc="The IDs of the deleted objects.")
    refreshed_ids = property(lambda self: self._ids["refreshed"], doc="The IDs of the refreshed objects.")
    invalidated_ids = property(lambda self: self._ids["invalidated"], doc="The IDs of the invalidated objects.")

    @property
    def ids(self) -> ChangedIDs:
        """All IDs, for another thread or task."""
        return ChangedIDs(**self._ids, invalidated_all=self.invalidated_all)

    def __repr__(self) -> str:
        counts = ", ".join(f"{len(ids)} {name}" for name, ids in self._ids.items() if ids)
        return f"<ContextChanges: {counts or ('all invalidated' if self.invalidated_all else 'none')}>"


class StoreReplacement(NamedTuple):
    """A store that replaced another one; its objects have other IDs."""

    old: Store  # removed after the notification
    new: Store
    migrated_ids: list[ObjectID]  # each object's old ID, followed by its ID in the new store: old, new, old, new


class RemoteChange(NamedTuple):
    """A write to a store."""

    store: Store
    store_identifier: str
    path: str
    transaction: int | None  # the number of the last transaction in the store's history; None without a history
    is_own: bool  # whether a context of this coordinator saved
    file: StoreFile

    @property
    def history_token(self) -> HistoryToken | None:
        """The position after `transaction`; None without a history."""
        return None if self.transaction is None else HistoryToken.at(self.store_identifier, self.transaction)


class StoreChanges(NamedTuple):
    """The changes that a notification of a coordinator reports. Compare its Stores by path: they are new instances."""

    added: list[Store]
    removed: list[Store]
    uuid_changed: StoreReplacement | None
    remote: RemoteChange | None = None


class _Observer:
    """An observer function, and a weak reference to the context or coordinator that it observes."""

    __slots__ = ("function", "subject")

    def __init__(self, subject: Any, function: Callable[[Any, Any], Any]) -> None:
        self.subject = weakref.ref(subject)
        self.function = function


_observers: dict[int, _Observer] = {}
_numbers = itertools.count(1)


def _notify_context(
    number: int, handle: int, notification: int, payload: Any, observers: dict[int, _Observer] = _observers
) -> None:
    observer = observers.get(number)
    context = observer.subject() if observer is not None else None
    if observer is not None and context is not None:
        context._mark.stamp = Stamp()
        observer.function(context, ContextChanges(context, payload[0]))
        context._mark.stamp = Stamp()


def _notify_object(number: int, token: int, payload: Any, observers: dict[int, _Observer] = _observers) -> None:
    observer = observers.get(number)
    context = observer.subject() if observer is not None else None
    if observer is not None and context is not None:
        context._mark.stamp = Stamp()
        change: _abi.ValueChange = payload[0]
        indexes = list(change.indexes[: change.index_count]) if change.index_count else []
        observer.function(
            context._object(token, None),
            ValueChange(
                ValueChangeKind(change.kind),
                _abi.decode(change.key_path) or "",
                bool(change.is_prior),
                conversion.decode(change.old_value),
                conversion.decode(change.new_value),
                indexes,
            ),
        )
        context._mark.stamp = Stamp()


def _notify_coordinator(
    number: int, handle: int, notification: int, payload: Any, observers: dict[int, _Observer] = _observers
) -> None:
    from ..stores.store import Store

    def keep(store: int) -> Store:
        return Store(retained(store))

    observer = observers.get(number)
    coordinator = observer.subject() if observer is not None else None
    if observer is not None and coordinator is not None:
        changes: _abi.StoreChanges = payload[0]
        replacement = None
        if changes.old_store and changes.new_store:
            ids = _ids(changes.migrated_ids) if changes.migrated_ids else []
            replacement = StoreReplacement(keep(changes.old_store), keep(changes.new_store), ids)
        added = [keep(store) for store in changes.added[: changes.added_count]]
        removed = [keep(store) for store in changes.removed[: changes.removed_count]]
        remote = _remote(changes.remote[0], keep) if changes.remote else None
        observer.function(coordinator, StoreChanges(added, removed, replacement, remote))


def _remote(change: _abi.RemoteChange, keep: Callable[[int], Store]) -> RemoteChange:
    return RemoteChange(
        keep(change.store),
        _abi.decode(change.store_identifier) or "",
        _abi.decode(change.path) or "",
        change.transaction if change.has_history else None,
        bool(change.is_own),
        StoreFile(change.file),
    )


def _forget(number: int, observers: dict[int, _Observer] = _observers) -> None:
    observers.pop(number, None)


_context_callback = immortal(_abi.CONTEXT_OBSERVE_FN(_notify_context))
_coordinator_callback = immortal(_abi.COORDINATOR_OBSERVE_FN(_notify_coordinator))
_object_callback = immortal(_abi.OBJECT_OBSERVE_FN(_notify_object))
_forget_callback = immortal(_abi.DESTROY_FN(_forget))


class _NoNotificationError(InvalidArgumentError, KeyError):
    """The error for an unknown notification, which is also a KeyError, like the error of an enumeration."""


def notification_number(kind: Any, notification: Any, name: str = "notification") -> int:
    """Returns the number of a notification, which may be passed by name. Errors name the parameter."""
    if isinstance(notification, str):
        names = [each.lower() for each in kind.__members__]
        notification = kind[choice(notification.lower(), name, names, _NoNotificationError).upper()]
    return int(require_instance(int, notification, name, f"a {kind.__name__} or the name of one"))


def observe_context(
    context: Context, handle: int, notification: ContextNotification | str, function: Callable[[Any, Any], Any]
) -> Observation:
    """Implements Context.observe."""
    kind = notification_number(ContextNotification, notification)
    number = next(_numbers)
    _observers[number] = _Observer(context, function_given(function, "function"))
    return Observation(owned(lib.cst_context_observe, handle, kind, _context_callback, number, _forget_callback))


def observe_coordinator(
    coordinator: Coordinator, notification: CoordinatorNotification | str, function: Callable[[Any, Any], Any]
) -> Observation:
    """Implements Coordinator.observe."""
    kind = notification_number(CoordinatorNotification, notification)
    number = next(_numbers)
    _observers[number] = _Observer(coordinator, function_given(function, "function"))
    arguments = (coordinator._handle, kind, _coordinator_callback, number, _forget_callback)
    observation = Observation(owned(lib.cst_coordinator_observe, *arguments))
    if kind == CoordinatorNotification.REMOTE_CHANGE:
        from .queue import _exit

        _exit.watchers.add(observation)
        _exit.arm()
    return observation


def observe_object(item: Any, key_path: str, options: int, function: Callable[[Any, Any], Any]) -> Observation:
    """Implements ManagedObject.observe."""
    number = next(_numbers)
    _observers[number] = _Observer(item._cst_context, function)
    path = _abi.text(key_path, "key_path")
    return Observation(
        owned(lib.cst_object_observe, item._cst_handle, path, options, _object_callback, number, _forget_callback)
    )
