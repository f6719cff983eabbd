"""The results of a request and their changes: differences, and live queries."""

from __future__ import annotations

import ctypes
import enum
import itertools
import threading
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Callable, Generic, NamedTuple

from .. import _abi
from .._abi import lib
from .._abi.arguments import function as function_given
from .._abi.arguments import require_integer
from .._abi.call import failure, held, owned
from .._abi.callbacks import isolating_exceptions
from .._abi.handles import Handle, retained, retained_owner
from .._abi.interrupt import immortal
from .._abi.stamps import Stamp
from .._abi.wrappers import find, wrap
from ..errors import CorestoneError, ObjectGoneError
from .notifications import Notifications
from .object_id import ObjectID
from .observation import Observation
from .typing import Item

if TYPE_CHECKING:
    from ..model.entity import Entity
    from .context import Context
    from .request import FetchRequest

ALL = ctypes.c_size_t(-1).value


class ResultsChangeKind(enum.IntEnum):
    """The kinds of changes of an object or a section in results."""

    INSERT = 1
    DELETE = 2
    MOVE = 3
    UPDATE = 4


class IndexPath(NamedTuple):
    """The index path of an object in results: its section, and its row in the section."""

    section: int
    row: int


@dataclass(frozen=True)
class SectionChange:
    """An inserted section, with its new index, or a deleted one, with its former index."""

    kind: ResultsChangeKind
    index: int
    name: str


if TYPE_CHECKING:

    class ObjectChange(NamedTuple, Generic[Item]):
        """As below; Python 3.9 and 3.10 do not have generic named tuples."""

        kind: ResultsChangeKind
        object: Item | None  # None if a live query replaced unread differences by a reset
        object_id: ObjectID | None
        path: IndexPath | None
        new_path: IndexPath | None

else:

    class ObjectChange(NamedTuple):
        """The change of an object. A move changes the index path; the values of the object may have changed too."""

        kind: ResultsChangeKind
        object: Any
        object_id: ObjectID | None  # can be passed to other threads
        path: IndexPath | None  # before the event
        new_path: IndexPath | None  # after the event


class IDChange(NamedTuple):
    """A change in a list of IDs: a deletion at the former offset, or an insertion at the new offset.

    A move is a deletion and an insertion.
    """

    kind: ResultsChangeKind
    offset: int
    id: ObjectID
    associated: int | None  # in a move, the offset of the other change


class Snapshot:
    """The state of results: section names, counts and IDs. Use it on the queue of its context."""

    __slots__ = ("_handle",)

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def __len__(self) -> int:
        count: int = lib.cst_snapshot_object_count(self._handle, ALL)
        return count

    @property
    def section_names(self) -> list[str]:
        """The names of the sections; without sections, one empty name."""
        count = lib.cst_snapshot_section_count(self._handle)
        return [_abi.decode(lib.cst_snapshot_section_name(self._handle, index)) or "" for index in range(count)]

    def count(self, section: int) -> int:
        """Returns the number of objects in a section."""
        count: int = lib.cst_snapshot_object_count(self._handle, require_integer(section, "section"))
        return count

    def ids(self, section: int | None = None) -> list[ObjectID]:
        """Returns the IDs of a section's objects, or of all objects."""
        handle = owned(
            lib.cst_snapshot_copy_ids, self._handle, ALL if section is None else require_integer(section, "section")
        )
        count = lib.cst_results_count(handle)
        return [ObjectID._owned(held(lib.cst_results_copy_id, handle, index)) for index in range(count)]


@dataclass(frozen=True)
class Difference(Generic[Item]):
    """The difference between former and new results.

    To apply it, remove deleted and moved objects at their former index paths, from the last to the first. Then insert
    new and moved objects at their new index paths, from the first to the last. The outcome equals the new results.
    """

    sections: list[SectionChange]
    changes: list[ObjectChange[Item]]  # deletions, insertions, moves, updates
    snapshot: Snapshot  # the new results
    is_reset: bool  # the former results are invalid, and the changes insert all objects
    error: CorestoneError | None  # in the last difference, the error that ended the observation
    # The former and the new ID of objects whose IDs were temporary; stored IDs must be replaced.
    renamed: list[tuple[ObjectID, ObjectID]] = field(default_factory=list)

    def _of(self, kind: ResultsChangeKind) -> list[ObjectChange[Item]]:
        return [change for change in self.changes if change.kind is kind]

    @property
    def removals(self) -> list[ObjectChange[Item]]:
        """The changes that delete objects from the results."""
        return self._of(ResultsChangeKind.DELETE)

    @property
    def insertions(self) -> list[ObjectChange[Item]]:
        """The changes that insert objects into the results."""
        return self._of(ResultsChangeKind.INSERT)

    @property
    def moves(self) -> list[ObjectChange[Item]]:
        """The changes that move objects to another index path."""
        return self._of(ResultsChangeKind.MOVE)

    @property
    def updates(self) -> list[ObjectChange[Item]]:
        """The changes of values of objects that keep their index paths."""
        return self._of(ResultsChangeKind.UPDATE)


def borrowed(context: Context, token: int, entity: Entity) -> Any:
    """Returns the wrapper of a borrowed handle, even for an object that was detached from its context."""
    found = find(token)
    if found is not None:
        return found
    try:
        return context._object(token, None)
    except ObjectGoneError:
        return wrap(entity.object_class, context, retained_owner(token))


def _path(path: _abi.IndexPath) -> IndexPath | None:
    return None if path.section == ALL else IndexPath(path.section, path.row)


def section_change(told: _abi.SectionChange) -> SectionChange:
    return SectionChange(ResultsChangeKind(told.kind), told.index, _abi.decode(told.name) or "")


def object_change(told: _abi.ObjectChange, context: Context, entity: Entity) -> ObjectChange[Any]:
    found = borrowed(context, told.object, entity)
    identity = Handle()
    known = lib.cst_object_copy_id(told.object, ctypes.byref(identity), None) == _abi.OK
    which = ObjectID._owned(identity) if known else None
    return ObjectChange(ResultsChangeKind(told.kind), found, which, _path(told.path), _path(told.new_path))


def id_change(told: _abi.IDChange) -> IDChange:
    which = ObjectID._owned(retained_owner(told.id))
    return IDChange(
        ResultsChangeKind(told.kind), told.offset, which, None if told.associated == ALL else told.associated
    )


def difference(told: _abi.Difference, context: Context, entity: Entity) -> Difference[Any]:
    """Returns a copy of a difference of the library, which is valid only during the callback."""
    error = failure(lib.cst_error_status(told.error), retained_owner(told.error)) if told.error else None
    return Difference(
        [section_change(told.sections[index]) for index in range(told.section_count)],
        [object_change(told.changes[index], context, entity) for index in range(told.change_count)],
        Snapshot(retained(told.snapshot)),
        bool(told.is_reset),
        error,
        [(_identity(one.former), _identity(one.id)) for one in told.renamed[: told.renamed_count]],
    )


def _identity(borrowed: int) -> ObjectID:
    return ObjectID._owned(retained_owner(borrowed))


class _Query(NamedTuple):
    context: weakref.ref[Context]
    entity: Entity
    function: Callable[[Context, Difference[Any]], Any]


_queries: dict[int, _Query] = {}
_numbers = itertools.count(1)


def _notify_query(number: int, _handle: int, difference_struct: Any, queries: dict[int, _Query] = _queries) -> None:
    query = queries.get(number)
    context = query.context() if query is not None else None
    if query is not None and context is not None and not context._is_closing:
        context._mark.stamp = Stamp()
        with isolating_exceptions(f"the fetch observer for {query.entity.name}", context, context):
            query.function(context, difference(difference_struct[0], context, query.entity))
        context._mark.stamp = Stamp()


def _forget(number: int, queries: dict[int, _Query] = _queries) -> None:
    queries.pop(number, None)


_callback = immortal(_abi.OBSERVE_FETCH_FN(_notify_query))
_forget_callback = immortal(_abi.DESTROY_FN(_forget))


def key_path_text(path: str | None) -> Any:
    return _abi.null_text() if path is None else _abi.text(path, "path")


def observe_fetch(
    context: Context,
    request: FetchRequest[Item, Any],
    function: Callable[[Context, Difference[Item]], Any],
    section_name_key_path: str | None,
    dependencies: Sequence[str],
) -> Observation:
    """Implements Context.observe for a FetchRequest."""
    function = function_given(function, "function")
    asked = request._build(context)
    entity = request._entity_in(context)
    number = next(_numbers)
    _queries[number] = _Query(weakref.ref(context), entity, function)
    out = Handle()
    context._work(
        lib.cst_context_observe_fetch, asked.handle, key_path_text(section_name_key_path), len(dependencies),
        _abi.texts(list(dependencies), "dependencies"), _callback, number, _forget_callback, ctypes.byref(out),
    )  # fmt: skip
    return Observation(out.token)


class LiveQuery(Notifications[Difference[Item]], Iterator[Difference[Item]], Generic[Item]):
    """The differences of a request's results, for one reader: first all results as insertions, then one per event.

        for difference in ctx.observe(request, timeout=1): ...
        async for difference in ctx.observe(request): ...

    A `for` ends if no difference arrives for `timeout` seconds (None: it waits indefinitely). Both loops end with
    `close()`, when the context is closed or released, and after a failure, whose error is in the last difference. The
    context never waits for the reader: more than `LiveQuery.most` unread differences are replaced by one that inserts
    all results (`is_reset`).
    """

    most = 64
    _maker = "observe(request)"

    def __init__(
        self,
        context: Context,
        request: FetchRequest[Item, Any],
        section_name_key_path: str | None,
        dependencies: Sequence[str],
        timeout: float | None,
    ) -> None:
        self._timeout = timeout
        self._arrived = threading.Condition()
        super().__init__(
            context,
            None,
            lambda tell: observe_fetch(context, request, tell, section_name_key_path, dependencies),
            lambda difference: difference,
        )

    def _add(self, news: Difference[Item]) -> None:
        with self._lock:
            self._unread.append(news)
            if len(self._unread) > self.most:
                self._unread.clear()
                self._unread.append(_as_reset(news))
            if news.error is not None:
                self._has_ended = True
            self._wake()
        self._notify_waiters()

    def _end(self) -> None:
        super()._end()
        self._notify_waiters()

    def _notify_waiters(self) -> None:
        with self._arrived:
            self._arrived.notify_all()

    def next(self, timeout: float | None = None) -> Difference[Item] | None:
        """Returns the next difference; None at the end, and after `timeout` seconds. A `timeout` of None: no limit."""
        with self._arrived:
            self._arrived.wait_for(lambda: self._unread or self._has_ended, timeout)
        with self._lock:
            return self._unread.popleft() if self._unread else None

    def __iter__(self) -> LiveQuery[Item]:
        return self

    def __next__(self) -> Difference[Item]:
        found = self.next(self._timeout)
        if found is None:
            raise StopIteration
        return found

    def __aiter__(self) -> LiveQuery[Item]:
        return self


def _as_reset(last: Difference[Item]) -> Difference[Item]:
    """Returns a reset difference that inserts all results of `last`. Must be called on the context's queue."""
    kind = ResultsChangeKind.INSERT
    names = last.snapshot.section_names
    changes: list[ObjectChange[Item]] = [
        ObjectChange(kind, None, which, None, IndexPath(section, row))
        for section in range(len(names))
        for row, which in enumerate(last.snapshot.ids(section))
    ]
    sections = [SectionChange(kind, index, name) for index, name in enumerate(names)]
    return Difference(sections, changes, last.snapshot, True, last.error)
