"""Undo and redo: undo steps that contexts record, and actions that the application registers."""

from __future__ import annotations

import ctypes
import itertools
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import byref
from typing import Any, Callable

from .. import _abi
from .._abi import lib
from .._abi.arguments import MOST, require_integer
from .._abi.arguments import function as function_given
from .._abi.call import call, owned
from .._abi.callbacks import reported
from .._abi.checked import Checked
from .._abi.interrupt import immortal
from .._abi.stamps import Stamp, contexts
from ..codes import UndoNotification
from .observation import Observation, notification_number

_actions: dict[int, Callable[[], Any]] = {}
_observers: dict[int, tuple[weakref.ref[UndoManager], Callable[[Any], Any]]] = {}
_numbers = itertools.count(1)


def _run(number: int, error: Any, actions: dict[int, Callable[[], Any]] = _actions) -> int:
    try:
        forget_what_was_read()
        actions[number]()
        return _abi.OK
    except BaseException as raised:  # any exception makes the undo or redo fail
        return reported(raised, error)


def _notify(number: int, handle: int, kind: int, observers: Any = _observers) -> None:
    manager, function = observers.get(number, (None, None))
    found = manager() if manager is not None else None
    if found is not None:
        forget_what_was_read()
        function(found)


def _forget(number: int, actions: Any = _actions, observers: Any = _observers) -> None:
    actions.pop(number, None)
    observers.pop(number, None)


_run_callback = immortal(_abi.UNDO_ACTION_FN(_run))
_notify_callback = immortal(_abi.UNDO_OBSERVE_FN(_notify))
_forget_callback = immortal(_abi.DESTROY_FN(_forget))


def forget_what_was_read() -> None:
    """Discards values read ahead in every context, because objects of any context of a manager may change."""
    for context in list(contexts):
        context._mark.stamp = Stamp()


class UndoManager(Checked):
    """A stack of undo steps.

        ctx.undo_manager = UndoManager()
        with ctx.undo_manager.group("Raise"):
            ada.salary = 5000
        ctx.undo()

    Contexts record their changes when they process pending changes; `register_undo` adds an action of the application.
    Several contexts may share a manager; the changes of each can be undone on its queue only (WrongThreadError).
    """

    def __init__(self) -> None:
        self._handle: int = owned(lib.cst_undo_manager_new)

    # ---- undo and redo

    def undo(self) -> bool:
        """Undoes the newest step, including pending changes; returns False if there is nothing to undo.

        InvalidArgumentError within an undo or redo, and while nested groups are open. If an action raises, the rest of
        the step can still be undone.
        """
        return self._step(lib.cst_undo_manager_undo)

    def redo(self) -> bool:
        """Redoes the step that was undone last; returns False if there is nothing to redo.

        A new change discards the steps that could be redone.
        """
        return self._step(lib.cst_undo_manager_redo)

    def undo_nested_group(self) -> bool:
        """Undoes the group that was closed last; within an open group, its last nested group."""
        return self._step(lib.cst_undo_manager_undo_nested)

    def _step(self, function: Any) -> bool:
        forget_what_was_read()
        try:
            return call(function, self._handle) == _abi.OK
        finally:
            forget_what_was_read()

    def _state(self) -> _abi.UndoState:
        state = _abi.UndoState(ctypes.sizeof(_abi.UndoState))
        call(lib.cst_undo_manager_state, self._handle, byref(state))
        return state

    @property
    def can_undo(self) -> bool:
        """Whether there is something to undo, including pending changes."""
        return bool(self._state().can_undo)

    @property
    def can_redo(self) -> bool:
        """Whether there is a step to redo."""
        return bool(self._state().can_redo)

    @property
    def is_undoing(self) -> bool:
        """Whether an undo is in progress."""
        return bool(self._state().is_undoing)

    @property
    def is_redoing(self) -> bool:
        """Whether a redo is in progress."""
        return bool(self._state().is_redoing)

    # ---- groups

    def begin_undo_grouping(self) -> None:
        """Opens a group, nested in the open one. Contexts of this thread first record their pending changes."""
        call(lib.cst_undo_manager_begin_group, self._handle)

    def end_undo_grouping(self) -> None:
        """Closes the innermost group; InvalidArgumentError if no group is open."""
        call(lib.cst_undo_manager_end_group, self._handle)

    @contextmanager
    def group(self, name: str | None = None) -> Iterator[UndoManager]:
        """Groups the changes of a block in a separate step, with a name for menus: with manager.group("Paste"): …

        The step is recorded even if the block raises, so that it can be undone.
        """
        self.begin_undo_grouping()
        try:
            if name is not None:
                self.set_action_name(name)
            yield self
        finally:
            self.end_undo_grouping()

    @property
    def grouping_level(self) -> int:
        """The number of open groups, nested in each other."""
        return int(self._state().grouping_level)

    @property
    def groups_by_event(self) -> bool:
        """Whether a group opens automatically with the first action of an event; True by default."""
        return bool(self._state().groups_by_event)

    @groups_by_event.setter
    def groups_by_event(self, groups: bool) -> None:
        call(lib.cst_undo_manager_set_groups_by_event, self._handle, groups)

    @property
    def levels_of_undo(self) -> int:
        """The maximum number of steps that are kept; 0, the default: no limit."""
        return int(self._state().levels)

    @levels_of_undo.setter
    def levels_of_undo(self, levels: int) -> None:
        call(lib.cst_undo_manager_set_levels, self._handle, max(require_integer(levels, "levels_of_undo", -MOST), 0))

    # ---- actions

    def register_undo(self, action: Callable[..., Any], *arguments: Any, target: Any = None) -> None:
        """Registers an action that undoes a change of the application. During an undo, registers the action for redo.

        An exception in the action makes the undo fail. `target` identifies the action's subject for
        `remove_all_actions`.
        """
        number = next(_numbers)
        _actions[number] = lambda: action(*arguments)
        call(
            lib.cst_undo_manager_register, self._handle, None if target is None else id(target), _run_callback, number,
            _forget_callback,
        )  # fmt: skip

    def remove_all_actions(self, target: Any = None) -> None:
        """Discards all actions and enables registration; with a target, only discards the target's actions."""
        if target is None:
            call(lib.cst_undo_manager_remove_all, self._handle)
        else:
            call(lib.cst_undo_manager_remove_target, self._handle, id(target))

    def disable_undo_registration(self) -> None:
        """Disables registration: later changes cannot be undone. Calls nest."""
        call(lib.cst_undo_manager_disable, self._handle)

    def enable_undo_registration(self) -> None:
        """Reverses one call of disable_undo_registration; InvalidArgumentError if registration is not disabled."""
        call(lib.cst_undo_manager_enable, self._handle)

    @contextmanager
    def without_registration(self) -> Iterator[None]:
        """Disables registration in a block, whose changes cannot be undone."""
        self.disable_undo_registration()
        try:
            yield
        finally:
            self.enable_undo_registration()

    @property
    def is_undo_registration_enabled(self) -> bool:
        """Whether changes are recorded; see disable_undo_registration."""
        return bool(self._state().is_enabled)

    # ---- names

    def set_action_name(self, name: str) -> None:
        """Sets the name of the step that is being recorded, for menus."""
        call(lib.cst_undo_manager_set_action_name, self._handle, _abi.text(name, "name"))

    @property
    def undo_action_name(self) -> str:
        """The name of the step that `undo` would undo; empty without a step or a name."""
        return self._text(_abi.UNDO_NAME)

    @property
    def redo_action_name(self) -> str:
        """The name of the step that redo repeats; empty if it does not have a name."""
        return self._text(_abi.REDO_NAME)

    @property
    def undo_menu_item_title(self) -> str:
        """ "Undo", followed by the name of the step."""
        return self._text(_abi.UNDO_TITLE)

    @property
    def redo_menu_item_title(self) -> str:
        """The title of a menu item for redo, such as "Redo Typing"."""
        return self._text(_abi.REDO_TITLE)

    def _text(self, which: int) -> str:
        buffer = _abi.Buffer()
        call(lib.cst_undo_manager_copy_text, self._handle, which, byref(buffer))
        return _abi.take_text(buffer)

    # ---- notifications

    def observe(self, kind: UndoNotification | str, function: Callable[[UndoManager], Any]) -> Observation:
        """Calls a function with the manager whenever it posts a notification: "did_undo", "will_close_group", …

        The observation ends when the returned token is cancelled or released.
        """
        which = notification_number(UndoNotification, kind, "kind")
        number = next(_numbers)
        _observers[number] = weakref.ref(self), function_given(function, "function")
        return Observation(
            owned(lib.cst_undo_manager_observe, self._handle, which, _notify_callback, number, _forget_callback)
        )
