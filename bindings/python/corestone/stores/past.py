"""Past states of stores, the revisions of an object, and the differences between two positions in the history."""

from __future__ import annotations

import ctypes
from ctypes import byref
from datetime import datetime
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from .. import _abi
from .._abi import lib, values
from .._abi.arguments import shown
from .._abi.call import call, held, made, owned
from .._abi.conversion import take
from ..codes import HistoryChangeKind
from ..errors import TypeMismatchError
from ..graph.history import HistoryToken, HistoryTransaction
from ..graph.object_id import ObjectID

if TYPE_CHECKING:
    from ..graph.object import ManagedObject
    from .coordinator import Coordinator


_HALF_MICROSECOND = 0.5e-6


class Unknown(Enum):
    """The type of UNKNOWN."""

    UNKNOWN = "unknown"

    def __repr__(self) -> str:
        return "UNKNOWN"

    def __bool__(self) -> Literal[False]:
        return False


#: The value of a property if a transaction replaced the value without recording it, or if the object did not exist.
UNKNOWN: Final = Unknown.UNKNOWN


class RevisionValue(NamedTuple):
    """The values of a property before and after a change, each UNKNOWN if not known or if the object did not exist."""

    old: Any
    new: Any


class Revision(NamedTuple):
    """A change of one object: in one transaction, or between two positions in a history."""

    kind: HistoryChangeKind
    #: The object may no longer exist.
    object_id: ObjectID
    entity_name: str
    #: By property, in the model's order. For a relationship, a value is an object ID or a list of object IDs.
    values: dict[str, RevisionValue]
    #: The number of the transaction; None for a difference between two positions, like the following fields.
    transaction: int | None
    timestamp: datetime | None
    author: str | None
    context_name: str | None
    bundle_identifier: str | None
    process_identifier: str | None


def open_past(
    coordinator: Coordinator, place: HistoryToken | HistoryTransaction | datetime, stores: tuple[int, Any]
) -> int:
    """Implements Coordinator.at: returns the owned handle of a coordinator of the past."""
    if isinstance(place, HistoryTransaction):
        place = place.token
    if isinstance(place, HistoryToken):
        return owned(lib.cst_coordinator_open_past, coordinator._handle, place._handle, *stores)
    # A datetime is rounded to microseconds, so the exact timestamp of its transaction may be later.
    what = "a HistoryToken, a HistoryTransaction or a datetime"
    seconds = values.moment(place, "place", what) + _HALF_MICROSECOND
    return owned(lib.cst_coordinator_open_past_at, coordinator._handle, seconds, *stores)


def object_revisions(coordinator: Coordinator, subject: ManagedObject | ObjectID) -> list[Revision]:
    """Implements Coordinator.history_of."""
    from ..graph.object import ManagedObject, object_id

    if isinstance(subject, ManagedObject):
        subject = object_id(subject)  # not subject.id, which an attribute named "id" hides
    if not isinstance(subject, ObjectID):
        raise TypeMismatchError(
            f"subject must be a managed object or an ObjectID, not {shown(subject)}", key="subject", value=subject
        )
    return _read(held(lib.cst_coordinator_fetch_object_history, coordinator._handle, subject._handle))


def differences(
    coordinator: Coordinator, start: HistoryToken, end: HistoryToken | None, stores: tuple[int, Any]
) -> list[Revision]:
    """Implements Coordinator.history_diff."""
    for token, name in ((start, "start"), (end, "end")):
        if not isinstance(token, HistoryToken) and (token is not None or name == "start"):
            raise TypeMismatchError(f"{name} must be a HistoryToken, not {shown(token)}", key=name, value=token)
    return _read(
        held(
            lib.cst_coordinator_diff_history, coordinator._handle, start._handle,
            end._handle if end is not None else None, *stores,
        )
    )  # fmt: skip


def _read(revisions: Any) -> list[Revision]:
    count = ctypes.c_size_t()
    call(lib.cst_revisions_count, revisions, byref(count))
    return [_revision(revisions, index) for index in range(count.value)]


def _revision(revisions: Any, index: int) -> Revision:
    view = _abi.Revision.from_address(made(lib.cst_revisions_at, revisions, index))
    found = {}
    for place in range(view.value_count):
        value = view.values[place]
        old = _value(revisions, index, place, True) if value.has_old else UNKNOWN
        new = _value(revisions, index, place, False) if value.has_new else UNKNOWN
        found[_abi.decode(value.key) or ""] = RevisionValue(old, new)
    known = view.transaction != 0
    return Revision(
        HistoryChangeKind(view.kind),
        ObjectID._owned(held(lib.cst_revisions_copy_object_id, revisions, index)),
        _abi.decode(lib.cst_entity_name(view.entity)) or "",
        found,
        view.transaction if known else None,
        values.date_from_seconds(view.timestamp, False) if known else None,
        *(_abi.decode(text) for text in (
            view.author, view.context_name, view.bundle_identifier, view.process_identifier,
        )),
    )  # fmt: skip


def _value(revisions: Any, index: int, place: int, is_old: bool) -> Any:
    cell = _abi.Value()
    call(lib.cst_revisions_copy_value, revisions, index, place, is_old, byref(cell))
    return take(cell)
