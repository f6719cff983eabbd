"""The implementation of nested contexts and of merging saves, for `Context`."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Union

from .. import _abi
from .._abi import lib
from .._abi.arguments import quoted, shown
from .._abi.call import call
from .._abi.stamps import Stamp
from .._abi.wrappers import objects
from ..codes import HistoryChangeKind
from ..errors import InvalidArgumentError, TypeMismatchError
from .history import HistoryCursor, HistoryTransaction
from .object import ManagedObject, drop_held_values, object_id
from .object_id import ObjectID

if TYPE_CHECKING:
    from .context import Context
    from .observation import Observation

# The changes of a save, by the keys "inserted", "updated" and "deleted", and "refreshed", which counts as updated; or
# any object with attributes named like the first three keys.
Changes = Union[Mapping[str, Iterable[Union[ObjectID, ManagedObject, str]]], Any]

_KINDS = ("inserted", "updated", "deleted")

# Contexts that merge automatically. A plain dictionary, because copying its values is atomic.
_followers: dict[int, weakref.ref[Context]] = {}


def follow(context: Context, merges: bool) -> None:
    """Records whether a context merges automatically."""
    place = id(context)
    if merges:
        _followers[place] = weakref.ref(context, lambda _: _followers.pop(place, None))
    else:
        _followers.pop(place, None)


def follow_remote(context: Context) -> Observation:
    """Observes merges of remote changes, after which the values that the context read ahead are discarded."""
    return context.observe("did_merge_object_ids", lambda own, _: _refresh_all(own))


def saved(context: Context) -> None:
    """Discards values that other contexts read ahead, because the save of a context may have made them stale."""
    if context.parent is not None:
        _refresh_all(context.parent)
    for reference in tuple(_followers.values()):
        other = reference()
        if other is not None and other is not context:
            _refresh_all(other)


def _refresh_all(context: Context) -> None:
    context._mark.stamp = Stamp()
    for item in objects():
        if item._cst_context is context:
            drop_held_values(item)


def _listed(changes: Changes) -> list[list[Any]]:
    if not isinstance(changes, Mapping):
        return [list(getattr(changes, kind, ())) for kind in _KINDS]
    unknown = set(changes) - {*_KINDS, "refreshed"}
    if unknown:
        kinds, key = quoted([*_KINDS, "refreshed"]), min(map(str, unknown))
        raise InvalidArgumentError(f'"{key}" is not a kind of changes to merge; use {kinds}', key=key, value=key)
    inserted, updated, deleted = (list(changes.get(kind, ())) for kind in _KINDS)
    return [inserted, [*updated, *changes.get("refreshed", ())], deleted]


def _id(item: ObjectID | ManagedObject) -> ObjectID:
    if isinstance(item, ObjectID):
        return item
    if isinstance(item, ManagedObject):
        return object_id(item)
    if isinstance(item, str):
        raise InvalidArgumentError(
            f"{shown(item)} is not a managed object or an object ID; call merge_remote_changes to merge URIs",
            key="changes",
            value=item,
        )
    raise InvalidArgumentError(
        "changes to merge must be managed objects or object IDs (or URIs, for merge_remote_changes), not "
        f"{shown(item)}",
        key="changes",
        value=item,
    )


def merge(context: Context, changes: Changes) -> None:
    """Implements Context.merge_changes."""
    ids = [[_id(item) for item in group] for group in _listed(changes)]
    arguments: list[Any] = []
    for group in ids:
        arguments += [len(group), (ctypes.c_void_p * len(group))(*[each._handle for each in group])]
    _refresh_all(context)
    call(lib.cst_context_merge_changes, context._open, *arguments)


def merge_remote(context: Context, changes: Changes) -> None:
    """Implements Context.merge_remote_changes."""
    arguments: list[Any] = []
    for group in _listed(changes):
        uris = [item if isinstance(item, str) else _id(item).uri for item in group]
        arguments += [len(uris), _abi.texts(uris, "changes")]
    _refresh_all(context)
    call(lib.cst_context_merge_remote_changes, context._open, *arguments)


_MERGED_AS = {
    HistoryChangeKind.INSERT: "inserted",
    HistoryChangeKind.UPDATE: "updated",
    HistoryChangeKind.DELETE: "deleted",
}


def merge_history(context: Context, history: HistoryCursor | HistoryTransaction) -> None:
    """Implements Context.merge_history."""
    if isinstance(history, HistoryTransaction):
        changes: dict[str, list[str]] = {kind: [] for kind in _KINDS}
        for change in history.changes:
            changes[_MERGED_AS[change.kind]].append(change.object_uri)
        merge_remote(context, changes)
        return
    if not isinstance(history, HistoryCursor):
        raise TypeMismatchError(
            f"history must be a HistoryTransaction or a HistoryCursor, not {shown(history)}",
            key="history",
            value=history,
        )
    history._require_changes()
    _ = context.has_changes  # raises on another queue, before a transaction is read
    while history._next() is not None:
        _refresh_all(context)
        call(lib.cst_context_merge_history, context._open, history._handle)
