"""The history functions of Coordinator: options, object IDs, deletion, consumers, purges and sizes."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Sequence
from ctypes import byref
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Callable, TypedDict, Union

from .. import _abi
from .._abi import lib, text, values
from .._abi.arguments import choice, flag, require_integer, shown
from .._abi.call import call, held
from ..errors import InvalidArgumentError, TypeMismatchError
from ..graph.fetching import given_predicate, sort_array
from ..graph.history import (
    DeletedHistory,
    HistoryConsumer,
    HistoryPurge,
    HistoryRetention,
    HistorySize,
    HistoryToken,
    HistoryTransaction,
)
from ..graph.object_id import ObjectID
from ..graph.progress import progress_callback
from ..predicate.predicate import Predicate
from ..predicate.sort import SortKey

if TYPE_CHECKING:
    from .coordinator import Coordinator
    from .store import Store

_SUBJECTS = {"transactions": _abi.HISTORY_TRANSACTIONS, "changes": _abi.HISTORY_CHANGES}
Since = Union[HistoryToken, datetime, None]


class HistoryPart(TypedDict, total=False):
    """The keyword arguments of Coordinator.history that select a part of the history."""

    subject: str
    since: Since
    excluding_author: str | None
    stores: Sequence[Store]
    limit: int | None


class HistoryOptions(HistoryPart, total=False):
    """The keyword arguments of Coordinator.history, which describes them."""

    sort: SortKey | Sequence[SortKey]
    batch_size: int
    changes: bool


def history_options(
    predicate: str | Predicate | None,
    arguments: Sequence[Any],
    stores: tuple[int, Any],
    subject: str = "transactions",
    since: Since = None,
    excluding_author: str | None = None,
    sort: SortKey | Sequence[SortKey] = (),
    limit: int | None = None,
    batch_size: int = 0,
    changes: bool = True,
) -> _abi.HistoryOptions:
    """Returns the structure for the options of a history; `stores` is the number of stores and their handles."""
    given = _abi.HistoryOptions()
    given.struct_size = ctypes.sizeof(given)
    if isinstance(since, HistoryToken):
        given.after = since._handle
    elif since is not None:
        given.has_after_date, given.after_date = True, values.moment(since, "since", "a HistoryToken or a datetime")
    given.omits_changes = not flag(changes, "changes")
    given.subject = _SUBJECTS[choice(subject, "subject", _SUBJECTS)]
    condition = given_predicate(predicate, arguments)
    given.predicate = condition._handle if condition is not None else None
    given.excluded_author = _abi.optional_text(excluding_author, "excluding_author")
    given.store_count, array = stores
    given.stores = ctypes.cast(array, ctypes.POINTER(ctypes.c_void_p))
    keys = sort_array(sort)
    given.sort_count, given.sort = len(keys), keys
    given.limit = 0 if limit is None else require_integer(limit, "limit")
    given.batch_size = require_integer(batch_size, "batch_size")
    given.kept = condition, array, keys, since  # stay alive as long as the structure
    return given


def read_ids(coordinator: Coordinator, options: _abi.HistoryOptions) -> list[ObjectID]:
    """Implements Coordinator.history_ids."""
    results = held(lib.cst_coordinator_fetch_history_ids, coordinator._handle, byref(options))
    count = lib.cst_results_count(results)
    return [ObjectID._owned(held(lib.cst_results_copy_id, results, index)) for index in range(count)]


def delete_transactions(
    coordinator: Coordinator,
    before: HistoryToken | HistoryTransaction | datetime,
    stores: tuple[int, Any],
    progress: Callable[[int, int], Any] | None,
) -> DeletedHistory:
    """Implements Coordinator.delete_history."""
    transactions, changes = ctypes.c_uint64(), ctypes.c_uint64()
    if isinstance(before, HistoryTransaction):
        before = before.token
    arguments: tuple[Any, ...]
    if isinstance(before, HistoryToken):
        if stores[0]:
            raise InvalidArgumentError(
                "stores cannot be combined with a HistoryToken or a HistoryTransaction, which name their stores; omit "
                "stores, or pass a datetime",
                key="stores",
            )
        function, arguments = lib.cst_coordinator_delete_history, (before._handle,)
    else:
        seconds = values.moment(before, "before", "a HistoryToken, a HistoryTransaction or a datetime")
        function, arguments = lib.cst_coordinator_delete_history_before, (seconds, *stores)
    with progress_callback(progress) as callback:
        call(function, coordinator._handle, *arguments, callback, None, byref(transactions), byref(changes))
    return DeletedHistory(transactions.value, changes.value)


# ---- consumers and purges


def register_consumer(
    coordinator: Coordinator, store: Store, name: str, at: HistoryToken | None, lease: timedelta | None
) -> None:
    """Implements Coordinator.register_history_consumer."""
    if at is not None and not isinstance(at, HistoryToken):
        raise TypeMismatchError(f"at must be a HistoryToken, not {shown(at)}", key="at", value=at)
    seconds = 0.0
    if lease is not None:
        seconds = _duration(lease, "lease")
        if seconds <= 0:
            raise InvalidArgumentError(f"lease must be longer than 0 seconds, not {seconds}", key="lease", value=lease)
    call(
        lib.cst_coordinator_register_history_consumer, coordinator._handle, store._handle, text(name, "name"),
        at._handle if at is not None else None, seconds,
    )  # fmt: skip


def _duration(duration: Any, name: str) -> float:
    if not isinstance(duration, timedelta):
        raise TypeMismatchError(f"{name} must be a timedelta, not {shown(duration)}", key=name, value=duration)
    return duration.total_seconds()


def read_consumers(coordinator: Coordinator, store: Store) -> list[HistoryConsumer]:
    """Implements Coordinator.history_consumers."""
    buffer = _abi.Buffer()
    call(lib.cst_coordinator_copy_history_consumers, coordinator._handle, store._handle, byref(buffer))
    return [
        HistoryConsumer(
            each["name"], each["transaction"], values.date_from_seconds(each["lastSeen"], False),
            timedelta(seconds=each["lease"]), each["living"],
        )
        for each in json.loads(_abi.take_bytes(buffer))
    ]  # fmt: skip


def retention_struct(retention: HistoryRetention) -> _abi.HistoryRetention:
    """Returns the C structure for a retention. Rejects limits of a wrong type or range."""
    given = _abi.HistoryRetention()
    given.struct_size = ctypes.sizeof(given)
    if retention.older_than is not None:
        given.has_age, given.age = True, _duration(retention.older_than, "older_than")
    if retention.keep is not None:
        given.has_count, given.count = True, require_integer(retention.keep, "keep")
    if retention.max_bytes is not None:
        given.has_bytes, given.bytes = True, require_integer(retention.max_bytes, "max_bytes")
    return given


def purge(
    coordinator: Coordinator,
    store: Store,
    older_than: timedelta | None,
    keep: int | None,
    max_bytes: int | None,
    progress: Callable[[int, int], Any] | None,
) -> HistoryPurge:
    """Implements Coordinator.purge_history."""
    given = retention_struct(HistoryRetention(older_than, keep, max_bytes))
    buffer = _abi.Buffer()
    with progress_callback(progress) as callback:
        call(
            lib.cst_coordinator_purge_history, coordinator._handle, store._handle, byref(given), callback, None,
            byref(buffer),
        )  # fmt: skip
    found = json.loads(_abi.take_bytes(buffer))
    return HistoryPurge(found["transactions"], found["changes"], found["heldBy"], found["expired"], found["reason"])


def read_size(coordinator: Coordinator, store: Store) -> HistorySize:
    """Implements Coordinator.history_size."""
    buffer = _abi.Buffer()
    call(lib.cst_coordinator_copy_history_size, coordinator._handle, store._handle, byref(buffer))
    found = json.loads(_abi.take_bytes(buffer))
    oldest, newest = (
        None if found[name] is None else values.date_from_seconds(found[name], False) for name in ("oldest", "newest")
    )
    return HistorySize(found["transactions"], found["changes"], found["bytes"], found["estimated"], oldest, newest)
