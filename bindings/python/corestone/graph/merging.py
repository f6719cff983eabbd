"""Merge policies, and the conflicts that they resolve."""

from __future__ import annotations

import enum
import itertools
from collections.abc import Iterator, Mapping
from ctypes import byref
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, Union

from .. import _abi
from .._abi import lib, text, values
from .._abi.arguments import function, shown
from .._abi.call import call, made
from .._abi.callbacks import reported
from .._abi.checked import Checked
from .._abi.handles import Handle, Token, retained
from .._abi.interrupt import immortal
from .._abi.stamps import Stamp, contexts
from ..errors import TypeMismatchError
from ..model.property import read_properties
from .object_id import ObjectID

if TYPE_CHECKING:
    from .context import Context
    from .object import DynamicObject


class MergePolicyType(enum.IntEnum):
    """The types of merge policies, with Core Data's numbers."""

    ERROR = 0
    STORE_TRUMP = 1
    OBJECT_TRUMP = 2
    OVERWRITE = 3
    ROLLBACK = 4


class ConflictKind(enum.IntEnum):
    """The cause of a conflict: another context's save, a write outside the coordinator, or a unique constraint."""

    CONTEXT = 1
    STORE = 2
    CONSTRAINT = 3


_SNAPSHOT_OBJECT, _SNAPSHOT_CURRENT, _SNAPSHOT_CACHED, _SNAPSHOT_PERSISTED, _SNAPSHOT_THEIRS = range(5)


class PropertyDifference(NamedTuple):
    """The three values of a property: `base` as last read, `mine` in the object now, and `theirs` in the store.

    `theirs` is also None if the row was deleted.
    """

    base: Any
    mine: Any
    theirs: Any


class Snapshot(Mapping[str, Any]):
    """The values in an object, the row cache or the store when a conflict was found.

    Contains attributes, and targets of to-one relationships as ObjectID, but not members of to-many relationships.
    """

    def __init__(self, conflict: Conflict, number: int, index: int = 0) -> None:
        self._conflict = conflict
        self._number = number
        self._index = index

    def __getitem__(self, name: str) -> Any:
        cell = values.Cell()
        found = call(
            lib.cst_conflict_value, self._conflict._handle, self._number, self._index, text(name, "name"), cell.ref
        )
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


class Conflict(Checked):
    """A conflict of a save: a MergeConflict or a ConstraintConflict.

    Any thread may use a conflict. Its objects belong to the context's queue.
    """

    _handle: int
    _context: Context | None

    def __init__(self) -> None:
        raise TypeError(
            "a Conflict cannot be created directly; use the conflicts in ConflictError.conflicts, or those passed to "
            "MergePolicy.resolve"
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
        """The cause of the conflict."""
        return ConflictKind(lib.cst_conflict_kind(self._handle))

    @property
    def message(self) -> str:
        """A human-readable description, with the three values of each property that differs."""
        return _abi.decode(lib.cst_conflict_message(self._handle)) or ""

    @property
    def object_ids(self) -> list[ObjectID]:
        """The IDs of the objects in conflict."""
        count = lib.cst_conflict_object_count(self._handle)
        return [ObjectID._borrowed(lib.cst_conflict_object_id_at(self._handle, index)) for index in range(count)]

    @property
    def objects(self) -> list[DynamicObject]:
        """The objects in conflict that are still registered with the context. Use it on the context's queue."""
        if self._context is None:
            return []
        found = (self._context.registered(each) for each in self.object_ids)
        return [each for each in found if each is not None]

    @property
    def properties(self) -> list[str]:
        """The names of the properties that either side changed, or of the constraint's attributes."""
        count = lib.cst_conflict_property_count(self._handle)
        return [_abi.decode(lib.cst_conflict_property_at(self._handle, index)) or "" for index in range(count)]

    def resolve(self, policy: MergePolicyType | MergePolicy) -> None:
        """Resolves the conflict by the rule of a policy type.

        Objects change immediately, so their values can be set afterwards. ERROR does not resolve the conflict.

        InvalidArgumentError if called outside MergePolicy.resolve for the same save.
        """
        kind = policy.type if isinstance(policy, MergePolicy) else policy
        if self._context is not None:
            self._context._mark.stamp = Stamp()
        call(lib.cst_conflict_resolve, self._handle, kind)

    def _snapshot(self, number: int, index: int = 0) -> Snapshot | None:
        found = Snapshot(self, number, index)
        return found if any(True for _ in found) else None

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.message}>"


class MergeConflict(Conflict):
    """An object that another writer changed or deleted after it was read."""

    @property
    def object_id(self) -> ObjectID:
        """The ID of the object."""
        return self.object_ids[0]

    @property
    def source_object(self) -> Any:
        """The object, or None if it is no longer registered with its context. Use it on the context's queue."""
        return next(iter(self.objects), None)

    @property
    def object_snapshot(self) -> Snapshot:
        """The values of the object as it was last read, before its changes."""
        return Snapshot(self, _SNAPSHOT_OBJECT)

    @property
    def current_snapshot(self) -> Snapshot:
        """The values of the object, including its changes."""
        return Snapshot(self, _SNAPSHOT_CURRENT)

    @property
    def cached_snapshot(self) -> Snapshot | None:
        """The values in the coordinator's row cache, or None."""
        return self._snapshot(_SNAPSHOT_CACHED)

    @property
    def persisted_snapshot(self) -> Snapshot | None:
        """The values in the store; None if the row cache has the same values, and for a deleted row."""
        return self._snapshot(_SNAPSHOT_PERSISTED)

    @property
    def old_version(self) -> int:
        """The version of the row when the object was read."""
        return int(lib.cst_conflict_old_version(self._handle))

    @property
    def new_version(self) -> int:
        """The version of the row in the store; 0 for a deleted row."""
        return int(lib.cst_conflict_new_version(self._handle))

    @property
    def differences(self) -> dict[str, PropertyDifference]:
        """The three values of each property that either side changed, by name."""
        snapshots = [Snapshot(self, each) for each in (_SNAPSHOT_OBJECT, _SNAPSHOT_CURRENT, _SNAPSHOT_THEIRS)]
        return {name: PropertyDifference(*(each.get(name) for each in snapshots)) for name in self.properties}


class ConstraintConflict(Conflict):
    """Objects with the same values of a unique constraint."""

    @property
    def constraint(self) -> list[str]:
        """The attributes whose combined values must be unique."""
        return self.properties

    @property
    def constraint_values(self) -> dict[str, Any]:
        """The values that are not unique."""
        mine = Snapshot(self, _SNAPSHOT_OBJECT)
        return {name: mine.get(name) for name in self.properties}

    @property
    def database_id(self) -> ObjectID | None:
        """The ID of the stored object that already has the values; None for a conflict within the context."""
        handle = lib.cst_conflict_database_id(self._handle)
        return ObjectID._borrowed(handle) if handle else None

    @property
    def database_object(self) -> Any:
        """The stored object, in the context. Use it on the context's queue."""
        known = self.database_id
        return self._context.get(known) if known is not None and self._context is not None else None

    @property
    def database_snapshot(self) -> Snapshot | None:
        """The values of the stored object; None for a conflict within the context."""
        return self._snapshot(_SNAPSHOT_THEIRS)

    @property
    def conflicting_objects(self) -> list[DynamicObject]:
        """The unsaved objects of the context that have the values."""
        return self.objects

    @property
    def conflicting_snapshots(self) -> list[Snapshot]:
        """The snapshots of the conflicting objects."""
        return [Snapshot(self, _SNAPSHOT_OBJECT, index) for index in range(len(self.object_ids))]


Resolve = Callable[[list[Conflict]], None]


class MergePolicy(Checked):
    """The rule by which a context resolves the conflicts of its saves.

    MergePolicy.ERROR, STORE_TRUMP, OBJECT_TRUMP, OVERWRITE and ROLLBACK are shared. A custom policy:

        def add_up(conflicts):
            for conflict in conflicts:
                base, mine, theirs = conflict.differences["count"]
                conflict.resolve(MergePolicyType.OBJECT_TRUMP)
                conflict.source_object.count = mine + theirs - base

        ctx.merge_policy = MergePolicy(MergePolicyType.STORE_TRUMP, add_up)

    Alternatively, a subclass overrides `resolve`. The function is called during the save, on the queue of the context,
    with version conflicts or constraint conflicts, never both. It must not save, reset, roll back, undo or refresh. The
    type of the policy resolves the remaining conflicts.
    """

    ERROR: MergePolicy
    STORE_TRUMP: MergePolicy
    OBJECT_TRUMP: MergePolicy
    OVERWRITE: MergePolicy
    ROLLBACK: MergePolicy

    _cst_attributes = ("type",)

    def __init__(self, type: MergePolicyType = MergePolicyType.ERROR, resolve: Resolve | None = None) -> None:
        try:
            self.type = MergePolicyType(type)
        except ValueError:
            *names, last = MergePolicyType.__members__
            raise TypeMismatchError(
                f"type must be a MergePolicyType ({', '.join(names)} or {last}), not {shown(type)}",
                key="type",
                value=type,
            ) from None
        self._function = None if resolve is None else function(resolve, "resolve")

    def resolve(self, conflicts: list[Conflict]) -> None:
        """Resolves some or all of the conflicts; an exception makes the save fail."""
        if self._function is not None:
            self._function(conflicts)

    def _make(self) -> Token:
        """Returns an owned handle for the policy, which the library retains."""
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
    """Returns the policy for a type or a function. Conflicts that the function does not resolve are errors."""
    if isinstance(given, MergePolicy):
        return given
    if isinstance(given, int):
        return MergePolicy(MergePolicyType(given))
    what = "a MergePolicy, a MergePolicyType or a function"
    if isinstance(given, type):  # a class can be called, but not with conflicts
        raise TypeMismatchError(f"merge_policy must be {what}, not {shown(given)}", key="merge_policy", value=given)
    return MergePolicy(resolve=None if given is None else function(given, "merge_policy", what))


_policies: dict[int, MergePolicy] = {}
_numbers = itertools.count(1)


def _run(
    number: int, context: int, count: int, conflicts: Any, error: Any, policies: dict[int, MergePolicy] = _policies
) -> int:
    known = next((each for each in list(contexts) if each._handle == context), None)
    try:
        if known is not None:
            known._mark.stamp = Stamp()  # values that were read ahead may be older than the merged ones
        policies[number].resolve([Conflict._borrowed(conflicts[index], known) for index in range(count)])
        return _abi.OK
    except BaseException as raised:  # any exception makes the save fail
        return reported(raised, error)
    finally:
        if known is not None:
            known._mark.stamp = Stamp()


def _forget(number: int, policies: dict[int, MergePolicy] = _policies) -> None:
    policies.pop(number, None)


_run_callback = immortal(_abi.RESOLVE_CONFLICTS_FN(_run))
_forget_callback = immortal(_abi.DESTROY_FN(_forget))
