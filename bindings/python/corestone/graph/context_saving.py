"""A part of Context: unsaved changes: saving, discarding, refreshing, undoing."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from ctypes import byref
from typing import TYPE_CHECKING, Any

from .. import _abi
from .._abi import lib
from .._abi.arguments import elements, flag, require_instance
from .._abi.call import call, owned
from .._abi.stamps import Stamp
from .._abi.wrappers import objects
from ..errors import CorestoneError
from . import nesting
from .merging import MergePolicy, PolicyLike, policy
from .object import ManagedObject, drop_held_values
from .results import Results
from .undo import UndoManager, forget_what_was_read

if TYPE_CHECKING:
    from ..stores.store import Store
    from .object import DynamicObject
from .context_core import ContextCore


class ContextSaving(ContextCore):
    """Unsaved changes: saving, discarding, refreshing, undoing."""

    def save(self, *, merge_policy: PolicyLike | None = None) -> None:
        """Validates and writes all changes, in one transaction for each store. A failed transaction writes nothing.

        A child saves into its parent.

            try:
                ctx.save()
            except ConflictError as error:
                show(error.conflicts)
                ctx.save(merge_policy=MergePolicy.OBJECT_TRUMP)

        merge_policy   for this save only: a MergePolicy, a MergePolicyType, or a function that resolves conflicts;
                       None: the policy of the context

        ConflictError if there are conflicts that the policy does not resolve.
        """
        if merge_policy is None:
            return self._save()
        usual, self.merge_policy = self.merge_policy, policy(merge_policy)
        try:
            self._save()
        finally:
            self.merge_policy = usual

    def _save(self) -> None:
        deleted: list[ManagedObject] = []
        if self.model._is_hooked:
            # Hooks also run for deleted objects, which may have no other reference.
            self.process_pending_changes()
            deleted = list(self.deleted)
        try:
            self._work(lib.cst_context_save)
        except CorestoneError as error:
            for each in error.conflicts:
                each._context = self
            raise
        deleted.clear()
        nesting.saved(self._context)

    @property
    def merge_policy(self) -> MergePolicy:
        """The policy that resolves conflicts of a save; initially MergePolicy.ERROR. Can be set to a PolicyLike."""
        return self._merge_policy

    @merge_policy.setter
    def merge_policy(self, new: PolicyLike) -> None:
        self._merge_policy = policy(new)
        handle = self._merge_policy._make()
        call(lib.cst_context_set_merge_policy, self._open, handle)

    def detect_conflicts(self, item: ManagedObject) -> None:
        """Makes the next save check that an unchanged object still has the same version in the store.

        Another version is a conflict. A rollback or a reset cancels the check.
        """
        if not isinstance(item, ManagedObject):
            self._refuse(item, "detect_conflicts")
        call(lib.cst_context_detect_conflicts, self._open, item._cst_handle)

    def validate(self) -> None:
        """Validates all changes that a save would write, without writing: raises the ValidationError of `save`.

        New and changed objects with equal values of a unique constraint are reported too (code 1551). Only a save
        compares them with other rows of the store.
        """
        self._work(lib.cst_context_validate)

    def rollback(self) -> None:
        """Discards all unsaved changes and all undo steps."""
        self._mark.stamp = Stamp()
        call(lib.cst_context_rollback, self._open)

    def reset(self) -> None:
        """Deregisters every object and discards unsaved changes; existing objects then raise ObjectGoneError."""
        self._mark.stamp = Stamp()
        known = list(self.known) if self.model._is_hooked else []
        call(lib.cst_context_reset, self._open)
        known.clear()

    @contextmanager
    def without_tracking(self) -> Iterator[None]:
        """Disables change tracking of attributes in a block: objects do not count as changed, undo records nothing.

        A save writes the values if it writes the object because of another change; a refresh discards them. Changes of
        relationships are still tracked, because both sides must agree.
        """
        call(lib.cst_context_disable_tracking, self._open)
        try:
            yield
        finally:
            call(lib.cst_context_enable_tracking, self._open)

    def refresh(self, item: ManagedObject, merge: bool = True) -> None:
        """Refreshes an object to its newest state. `merge` keeps its unsaved changes; otherwise they are discarded."""
        if not isinstance(item, ManagedObject) or item._cst_context is not self:
            self._refuse(item, "refresh")
        self._mark.stamp = Stamp()
        drop_held_values(item)
        call(lib.cst_object_refresh, item._cst_handle, flag(merge, "merge"))

    def refresh_all(self) -> None:
        """Refreshes every object to the store's newest state, and keeps its unsaved changes."""
        self._mark.stamp = Stamp()
        for item in objects():
            if item._cst_context is self:
                drop_held_values(item)
        call(lib.cst_context_refresh_all, self._open)

    def process_pending_changes(self) -> None:
        """Applies delete rules, and records the changes as an undo step.

        Saves, counts, fetches, undo and the end of a `perform` do this automatically.
        """
        self._work(lib.cst_context_process_pending_changes)

    @property
    def undo_manager(self) -> UndoManager | None:
        """The manager that records the context's changes, one undo step for each event; initially None.

        Setting None makes the former manager discard this context's changes.
        """
        return self._undo_manager

    @undo_manager.setter
    def undo_manager(self, manager: UndoManager | None) -> None:
        if manager is not None:
            require_instance(UndoManager, manager, "undo_manager", "an UndoManager, as in UndoManager(), or None")
        call(lib.cst_context_set_undo_manager, self._open, manager._handle if manager is not None else None)
        self._undo_manager = manager

    def undo(self) -> bool:
        """Undoes the newest step of the undo manager, including pending changes.

        Returns False if there is nothing to undo, or no manager, as in Core Data.
        """
        return self._step(lib.cst_context_undo)

    def redo(self) -> bool:
        """Redoes the step that was undone last. Returns False if there is nothing to redo, or no manager."""
        return self._step(lib.cst_context_redo)

    def _step(self, function: Any) -> bool:
        try:
            return self._work(function) == _abi.OK
        finally:
            forget_what_was_read()

    def assign(self, item: ManagedObject, store: Store) -> None:
        """Selects the store into which an inserted object is saved, instead of the first suitable one.

        InvalidArgumentError for an object that was saved or has a permanent ID, for a store of another coordinator, and
        for a store whose configuration lacks the object's entity.
        """
        from ..stores.store import Store

        if not isinstance(item, ManagedObject):
            self._refuse(item, "assign")
        chosen = require_instance(Store, store, "store", "a Store, such as container.store")
        call(lib.cst_context_assign, self._open, item._cst_token, chosen._handle)

    def obtain_permanent_ids(self, items: Iterable[ManagedObject]) -> None:
        """Assigns permanent IDs to inserted objects before they are saved."""
        kept = list(elements(items, "items", "a list of managed objects"))
        for number, item in enumerate(kept):
            require_instance(ManagedObject, item, f"items[{number}]", "a managed object")
        array = (ctypes.c_void_p * len(kept))(*[item._cst_token for item in kept])
        call(lib.cst_context_obtain_permanent_ids, self._open, len(kept), array)

    @property
    def name(self) -> str | None:
        """The name of the context, used in messages and recorded in the history of the stores to which it saves."""
        return self._name

    @name.setter
    def name(self, name: str | None) -> None:
        call(lib.cst_context_set_name, self._open, _abi.null_text() if name is None else _abi.text(name, "name"))
        self._name = name

    @property
    def transaction_author(self) -> str | None:
        """The author of the changes that the context saves, recorded in the history of the stores."""
        return self._author

    @transaction_author.setter
    def transaction_author(self, author: str | None) -> None:
        call(
            lib.cst_context_set_transaction_author,
            self._open,
            _abi.null_text() if author is None else _abi.text(author, "author"),
        )
        self._author = author

    @property
    def has_changes(self) -> bool:
        """Whether the context has unsaved changes."""
        out = ctypes.c_bool()
        call(lib.cst_context_has_changes, self._open, byref(out))
        return out.value

    @property
    def has_persistent_changes(self) -> bool:
        """Whether a save would write anything; changes of transient properties alone are not written."""
        out = ctypes.c_bool()
        call(lib.cst_context_has_persistent_changes, self._open, byref(out))
        return out.value

    def _changed(self, which: int) -> Results[DynamicObject]:
        return Results(self._context, owned(lib.cst_context_copy_changed, self._open, which), None)

    @property
    def inserted(self) -> Results[DynamicObject]:
        """The objects that the next save inserts."""
        return self._changed(_abi.CHANGED_INSERTED)

    @property
    def updated(self) -> Results[DynamicObject]:
        """The objects that the next save updates."""
        return self._changed(_abi.CHANGED_UPDATED)

    @property
    def deleted(self) -> Results[DynamicObject]:
        """The objects that the next save deletes."""
        return self._changed(_abi.CHANGED_DELETED)

    @property
    def known(self) -> Results[DynamicObject]:
        """All objects that are registered with the context."""
        return self._changed(_abi.CHANGED_REGISTERED)
