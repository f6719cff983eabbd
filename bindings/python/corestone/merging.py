"""Merge policies, and the conflicts that they settle."""

from __future__ import annotations

import enum
import itertools
from collections.abc import Iterator, Mapping
from ctypes import byref
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, Union

from . import _abi, values
from ._abi import lib, text
from ._ahead import Stamp, contexts
from ._call import call, made
from ._callbacks import reported
from ._handles import Handle, Token, retained
from ._interrupt import immortal
from .object_id import ObjectID
from .property import read_properties

if TYPE_CHECKING:
    from .context import Context
    from .object import ManagedObject


class MergePolicyType(enum.IntEnum):
    """What becomes of an object that is in conflict. The values are those of Core Data."""

    ERROR = 0
    STORE_TRUMP = 1
    OBJECT_TRUMP = 2
    OVERWRITE = 3
    ROLLBACK = 4


class ConflictKind(enum.IntEnum):
    """Where an object was overtaken, or that it was not unique."""

    CONTEXT = 1
    STORE = 2
    CONSTRAINT = 3


_SNAPSHOT_OBJECT, _SNAPSHOT_CURRENT, _SNAPSHOT_CACHED, _SNAPSHOT_PERSISTED, _SNAPSHOT_THEIRS = range(5)


class PropertyDifference(NamedTuple):
    """The three values of a property: what the object was read with, what it holds, what the store holds.

    `theirs` is None too where the row was deleted.
    """

    base: Any
    mine: Any
    theirs: Any


class Snapshot(Mapping[str, Any]):
    """What an object, the row cache or the store held when a conflict was found: attributes, and targets of to-one
    relationships as ObjectID; never members of to-many relationships."""

    def __init__(self, conflict: Conflict, number: int, index: int = 0) -> None:
        self._conflict = conflict
        self._number = number
        self._index = index

    def __getitem__(self, name: str) -> Any:
        cell = values.Cell()
        found = call(lib.cst_conflict_value, self._conflict._handle, self._number, self._index, text(name), cell.ref)
        if found != _abi.OK:
            raise KeyError(name)
        return values.decode_cell(cell, None)

    def __iter__(self) -> Iterator[str]:
        entity = made(lib.cst_object_id_entity, lib.cst_conflict_object_id_at(self._conflict._handle, self._index))
        names = [leaf.path for each in read_properties(entity).values() for leaf in each.elements or (each,)]
        for name in names:
            try:
                self[name]
            except KeyError:
                continue
            yield name

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return f"Snapshot({dict(self)!r})"


class Conflict:
    """What keeps a save from being done: a MergeConflict or a ConstraintConflict. Its data may cross threads."""

    _handle: int
    _context: Context | None

    def __init__(self) -> None:
        raise TypeError(
            "a conflict cannot be created; use those in ConflictError.conflicts, or those passed to MergePolicy.resolve"
        )

    @staticmethod
    def _borrowed(handle: int, context: Context | None) -> Conflict:
        is_constraint = lib.cst_conflict_kind(handle) == ConflictKind.CONSTRAINT
        self: Conflict = object.__new__(ConstraintConflict if is_constraint else MergeConflict)
        self._handle = retained(handle)
        self._context = context
        return self

    @property
    def kind(self) -> ConflictKind:
        """Where the object was overtaken, or that it was not unique."""
        return ConflictKind(lib.cst_conflict_kind(self._handle))

    @property
    def message(self) -> str:
        """For people, with the three values of each property that differs."""
        return _abi.decode(lib.cst_conflict_message(self._handle)) or ""

    @property
    def object_ids(self) -> list[ObjectID]:
        """The IDs of the objects that are concerned."""
        count = lib.cst_conflict_object_count(self._handle)
        return [ObjectID._borrowed(lib.cst_conflict_object_id_at(self._handle, index)) for index in range(count)]

    @property
    def objects(self) -> list[ManagedObject]:
        """The objects that are concerned, where the context still knows them; on its queue."""
        if self._context is None:
            return []
        found = (self._context.registered(each) for each in self.object_ids)
        return [each for each in found if each is not None]

    @property
    def properties(self) -> list[str]:
        """The names of the properties that were changed here or there, or those of the constraint."""
        count = lib.cst_conflict_property_count(self._handle)
        return [_abi.decode(lib.cst_conflict_property_at(self._handle, index)) or "" for index in range(count)]

    def resolve(self, policy: MergePolicyType | MergePolicy) -> None:
        """Settles the conflict as a policy of a type does; objects are changed at once, so that values may be set on
        top. ERROR settles nothing.

        InvalidArgumentError: the conflict's save is not asking its policy.
        """
        kind = policy.type if isinstance(policy, MergePolicy) else policy
        if self._context is not None:
            self._context._stamp = Stamp()
        call(lib.cst_conflict_resolve, self._handle, kind)

    def _snapshot(self, number: int, index: int = 0) -> Snapshot | None:
        found = Snapshot(self, number, index)
        return found if any(True for _ in found) else None

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.message}>"


class MergeConflict(Conflict):
    """An object that was changed or deleted elsewhere since it was read."""

    @property
    def object_id(self) -> ObjectID:
        """The ID of the object."""
        return self.object_ids[0]

    @property
    def source_object(self) -> Any:
        """The object, None when its context does not know it any more; on the context's queue."""
        return next(iter(self.objects), None)

    @property
    def object_snapshot(self) -> Snapshot:
        """What the object was last read with, before its changes."""
        return Snapshot(self, _SNAPSHOT_OBJECT)

    @property
    def current_snapshot(self) -> Snapshot:
        """What the object holds, its changes included."""
        return Snapshot(self, _SNAPSHOT_CURRENT)

    @property
    def cached_snapshot(self) -> Snapshot | None:
        """What the coordinator's row cache holds."""
        return self._snapshot(_SNAPSHOT_CACHED)

    @property
    def persisted_snapshot(self) -> Snapshot | None:
        """What the store holds; None when that is what the row cache holds, and for a deleted row."""
        return self._snapshot(_SNAPSHOT_PERSISTED)

    @property
    def old_version(self) -> int:
        """The version that the object was read with."""
        return int(lib.cst_conflict_old_version(self._handle))

    @property
    def new_version(self) -> int:
        """The version that is there now; 0 for a deleted row."""
        return int(lib.cst_conflict_new_version(self._handle))

    @property
    def differences(self) -> dict[str, PropertyDifference]:
        """The three values of each property that was changed here or there, by name."""
        snapshots = [Snapshot(self, each) for each in (_SNAPSHOT_OBJECT, _SNAPSHOT_CURRENT, _SNAPSHOT_THEIRS)]
        return {name: PropertyDifference(*(each.get(name) for each in snapshots)) for name in self.properties}


class ConstraintConflict(Conflict):
    """Objects that have the same values where a unique constraint allows one object only."""

    @property
    def constraint(self) -> list[str]:
        """The attributes whose values together must be unique."""
        return self.properties

    @property
    def constraint_values(self) -> dict[str, Any]:
        """The values that are not unique."""
        mine = Snapshot(self, _SNAPSHOT_OBJECT)
        return {name: mine.get(name) for name in self.properties}

    @property
    def database_id(self) -> ObjectID | None:
        """The ID of the stored object that has the values already; None for a conflict within the context."""
        handle = lib.cst_conflict_database_id(self._handle)
        return ObjectID._borrowed(handle) if handle else None

    @property
    def database_object(self) -> Any:
        """That object in the context; on its queue."""
        known = self.database_id
        return self._context.get(known) if known is not None and self._context is not None else None

    @property
    def database_snapshot(self) -> Snapshot | None:
        """What the stored object holds; None for a conflict within the context."""
        return self._snapshot(_SNAPSHOT_THEIRS)

    @property
    def conflicting_objects(self) -> list[ManagedObject]:
        """The objects of the context that have the values and are not saved."""
        return self.objects

    @property
    def conflicting_snapshots(self) -> list[Snapshot]:
        """What they hold."""
        return [Snapshot(self, _SNAPSHOT_OBJECT, index) for index in range(len(self.object_ids))]


Resolve = Callable[[list[Conflict]], None]


class MergePolicy:
    """How a context settles the conflicts of its saves.

    MergePolicy.ERROR, STORE_TRUMP, OBJECT_TRUMP, OVERWRITE and ROLLBACK are shared. One's own:

        def add_up(conflicts):
            for conflict in conflicts:
                base, mine, theirs = conflict.differences["count"]
                conflict.resolve(MergePolicyType.OBJECT_TRUMP)
                conflict.source_object.count = mine + theirs - base

        ctx.merge_policy = MergePolicy(MergePolicyType.STORE_TRUMP, add_up)

    or a subclass with a method `resolve`. It gets conflicts of versions, or of unique values, never both at once, on
    the queue of the context, within its save, and may not save, reset, roll back, undo or refresh. Its type settles
    what it leaves.
    """

    ERROR: MergePolicy
    STORE_TRUMP: MergePolicy
    OBJECT_TRUMP: MergePolicy
    OVERWRITE: MergePolicy
    ROLLBACK: MergePolicy

    def __init__(self, type: MergePolicyType = MergePolicyType.ERROR, resolve: Resolve | None = None) -> None:
        self.type = MergePolicyType(type)
        self._function = resolve

    def resolve(self, conflicts: list[Conflict]) -> None:
        """Settles what it knows better about. What it raises ends the save."""
        if self._function is not None:
            self._function(conflicts)

    def _make(self) -> Token:
        """A handle, which the caller owns. The library keeps the policy."""
        out = Handle()
        if self._function is None and type(self).resolve is MergePolicy.resolve:
            call(lib.cst_merge_policy_new, self.type, _abi.RESOLVE_CONFLICTS_FN(), None, _abi.DESTROY_FN(), byref(out))
            return out.token
        number = next(_numbers)
        _policies[number] = self
        call(lib.cst_merge_policy_new, self.type, _run_callback, number, _forget_callback, byref(out))
        return out.token


MergePolicy.ERROR = MergePolicy(MergePolicyType.ERROR)
MergePolicy.STORE_TRUMP = MergePolicy(MergePolicyType.STORE_TRUMP)
MergePolicy.OBJECT_TRUMP = MergePolicy(MergePolicyType.OBJECT_TRUMP)
MergePolicy.OVERWRITE = MergePolicy(MergePolicyType.OVERWRITE)
MergePolicy.ROLLBACK = MergePolicy(MergePolicyType.ROLLBACK)

PolicyLike = Union[MergePolicy, MergePolicyType, Resolve]


def policy(given: PolicyLike) -> MergePolicy:
    """A policy for what a host gives: a type, or a function whose rest is an error."""
    if isinstance(given, MergePolicy):
        return given
    if isinstance(given, int):
        return MergePolicy(MergePolicyType(given))
    return MergePolicy(resolve=given)


_policies: dict[int, MergePolicy] = {}
_numbers = itertools.count(1)


def _run(
    number: int, context: int, count: int, conflicts: Any, error: Any, policies: dict[int, MergePolicy] = _policies
) -> int:
    known = next((each for each in list(contexts) if each._handle == context), None)
    try:
        if known is not None:
            known._stamp = Stamp()  # what was read ahead may be older than what is to be merged
        policies[number].resolve([Conflict._borrowed(conflicts[index], known) for index in range(count)])
        return _abi.OK
    except BaseException as raised:  # whatever it is, the save is not done
        return reported(raised, error)
    finally:
        if known is not None:
            known._stamp = Stamp()


def _forget(number: int, policies: dict[int, MergePolicy] = _policies) -> None:
    policies.pop(number, None)


_run_callback = immortal(_abi.RESOLVE_CONFLICTS_FN(_run))
_forget_callback = immortal(_abi.DESTROY_FN(_forget))
