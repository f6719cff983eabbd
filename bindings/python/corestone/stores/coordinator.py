"""Coordinators, the layer between contexts and stores. Most programs use a Container.

The modules coordinator_*.py have the parts of the class on top of CoordinatorCore.
"""

from __future__ import annotations

import contextlib
import ctypes
from ctypes import byref
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, TypeVar

from .. import _abi
from .._abi import lib, optional_text, text
from .._abi.call import call, held, owned
from ..codes import CoordinatorNotification
from ..errors import ForkedError
from ..graph import queue
from ..graph.generation import QueryGeneration, optional_generation
from ..graph.notifications import Notifications
from ..graph.object_id import ObjectID
from ..graph.owners import Policy, leave_block, policy_of
from ..model.model import given_model as given_model
from .apple_check import AppleCheck as AppleCheck
from .apple_check import AppleFinding as AppleFinding
from .apple_check import check_apple as check_apple
from .coordinator_history import CoordinatorHistory
from .coordinator_stores import Checkpoint as Checkpoint
from .coordinator_stores import CoordinatorStores
from .metadata import metadata as metadata
from .metadata import set_metadata as set_metadata
from .store import Store as Store

if TYPE_CHECKING:
    from concurrent.futures import Future

    from ..graph.observation import Observation, StoreChanges

T = TypeVar("T")


class Statistics(NamedTuple):
    """Counters of the requests of contexts to the stores of a coordinator."""

    #: Fetches that stores executed, including counts and fetches of IDs.
    fetches: int
    #: Rows and IDs that these fetches returned.
    fetched_rows: int
    #: Objects whose fault fired individually. Many such faults for one fetch indicate the N+1 problem: prefetch.
    faults: int
    #: Rows that stores returned for faults, their siblings and prefetching.
    faulted_rows: int
    #: Queries for the members of to-many relationships.
    relationship_faults: int
    #: Rows that were in the row cache when an object needed them, and rows that were not.
    cache_hits: int
    cache_misses: int
    #: Saves, counted once for each store that a save writes, and the objects that they wrote.
    saves: int
    inserted: int
    updated: int
    deleted: int
    #: The time spent in stores.
    fetch_nanoseconds: int
    save_nanoseconds: int
    #: The current memory of the rows in objects and row caches of the whole process, in bytes; not a counter.
    row_bytes: int


class Coordinator(CoordinatorStores, CoordinatorHistory):
    """The stores of a model, and contexts for their objects. Any thread may use a coordinator.

        with Coordinator(model) as coordinator:
            coordinator.add_store("notes.sqlite", configuration="Notes")
            coordinator.add_store("log.xml", type="XML", configuration="Log")
            ctx = coordinator.context()

    Contexts retain their coordinator. A coordinator is closed by `close`, at the end of a `with` block, and when the
    last reference to it is released.

    unsaved  the policy of `close` and the `with` block for unsaved changes, also of the contexts that the coordinator
             creates: "refuse", with an UnsavedChangesError that counts them by entity, "save" or "discard"
    """

    @property
    def name(self) -> str | None:
        """The name of the coordinator, for the application; the threads of `perform` have this name too. Or None."""
        buffer = _abi.Buffer()
        status = call(lib.cst_coordinator_copy_name, self._handle, byref(buffer))
        name = _abi.take_text(buffer)
        return None if status == _abi.NOT_FOUND else name

    @name.setter
    def name(self, name: str | None) -> None:
        call(lib.cst_coordinator_set_name, self._handle, optional_text(name, "name"))

    def perform(self, function: Callable[..., T], *arguments: Any, **named: Any) -> Future[T]:
        """Runs a function later, on the serial queue of the coordinator, and returns a future.

        While the function runs, no other code can save to the coordinator's stores, but reads continue.
        """
        return queue.perform_alone(self._handle, lambda: function(*arguments, **named))

    def perform_and_wait(self, function: Callable[..., T], *arguments: Any, **named: Any) -> T:
        """Runs a function on the calling thread, after running saves, and returns its result; otherwise like `perform`.

            coordinator.perform_and_wait(shutil.copytree, folder, copy)

        The function must not wait for a context's queue (InvalidArgumentError), whose holder may wait for this call.
        """
        found: T = queue.perform_alone_and_wait(self._handle, lambda: function(*arguments, **named))
        return found

    def observe(
        self, notification: CoordinatorNotification | str, function: Callable[[Coordinator, StoreChanges], Any]
    ) -> Observation:
        """Calls function(coordinator, changes) whenever the coordinator posts the notification.

        The notification is "stores_did_change", "will_remove_store" or "remote_change". The function is called on the
        thread that causes the notification, as long as the returned token is referenced. It may use the coordinator
        without restriction.
        """
        from ..graph.observation import observe_coordinator

        return observe_coordinator(self, notification, function)

    def query_generation(self) -> QueryGeneration | None:
        """Returns a generation of the current state of the stores; None if no store supports generations.

        UnsupportedError for a store with a rollback journal.
        """
        return optional_generation(owned(lib.cst_coordinator_query_generation, self._handle))

    def notifications(
        self, notification: CoordinatorNotification | str, *, newest: int | None = None
    ) -> Notifications[StoreChanges]:
        """Returns an async iterator over the later notifications of one kind, like Context.notifications.

        async for changes in coordinator.notifications("stores_did_change"):
            ...
        """
        return Notifications(self, newest, lambda tell: self.observe(notification, tell), lambda changes: changes)

    @property
    def statistics(self) -> Statistics:
        """The counters of requests to the stores since the coordinator was created, or since reset_statistics."""
        counted = _abi.Statistics(ctypes.sizeof(_abi.Statistics))
        call(lib.cst_coordinator_statistics, self._handle, byref(counted))
        return Statistics(*(getattr(counted, name) for name in _abi.STATISTICS))

    def reset_statistics(self) -> None:
        """Sets the counters to 0."""
        call(lib.cst_coordinator_reset_statistics, self._handle)

    def object_id(self, uri: str) -> ObjectID | None:
        """Returns the object ID for a URI, or None if it is not the URI of an object in an open store."""
        hold = held(lib.cst_coordinator_object_id, self._handle, text(uri, "uri"))
        return ObjectID._owned(hold) if hold else None

    def _end(self) -> None:
        """Closes the contexts that the coordinator created, and makes the coordinator reject new ones."""
        self._is_closed = True
        self._close_contexts()

    def close(self, unsaved: Policy | None = None) -> None:
        """Closes the contexts that the coordinator created, and removes its stores. A second call has no effect.

        The coordinator of a container or document is closed with its owner: close the owner instead.

        unsaved  the policy for unsaved changes: "refuse" (UnsavedChangesError counts them by context and entity, and
                 nothing is closed), "save" or "discard". None: the policy of the coordinator.
        """
        if self._is_closed:
            return
        policy = policy_of(unsaved, self._unsaved)
        if policy != "discard":
            with contextlib.suppress(ForkedError):  # in a forked child, every call fails
                call(lib.cst_coordinator_close, self._handle, _abi.UNSAVED.index(policy))
        self._end()
        with contextlib.suppress(ForkedError):
            call(lib.cst_coordinator_close, self._handle, _abi.UNSAVED.index("discard"))

    def __enter__(self) -> Coordinator:
        self._require_open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes the coordinator.

        With unsaved changes, the coordinator stays open and raises UnsavedChangesError, unless its policy is another
        one. If the block raised an exception other than UnsavedChangesError, unsaved changes are rolled back.
        """
        leave_block(self, raised)

    def __repr__(self) -> str:
        return f"<Coordinator of {self._title}{' (closed)' * self._is_closed}>"
