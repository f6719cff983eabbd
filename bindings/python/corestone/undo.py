"""Undo and redo: steps that contexts record, and actions of the host's."""

from __future__ import annotations

import ctypes
import itertools
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import byref
from typing import Any, Callable

from . import _abi
from ._abi import lib
from ._ahead import Stamp, contexts
from ._arguments import MOST, whole
from ._call import call, owned
from ._callbacks import reported
from ._interrupt import immortal
from .codes import UndoNotification
from .observation import Observation

_actions: dict[int, Callable[[], Any]] = {}
_observers: dict[int, tuple[weakref.ref[UndoManager], Callable[[Any], Any]]] = {}
_numbers = itertools.count(1)


def _run(number: int, error: Any, actions: dict[int, Callable[[], Any]] = _actions) -> int:
    try:
        forget_what_was_read()
        actions[number]()
        return _abi.OK
    except BaseException as raised:  # whatever it is, the undo ends
        return reported(raised, error)


def _hear(number: int, handle: int, kind: int, observers: Any = _observers) -> None:
    manager, function = observers.get(number, (None, None))
    found = manager() if manager is not None else None
    if found is not None:
        forget_what_was_read()
        function(found)


def _forget(number: int, actions: Any = _actions, observers: Any = _observers) -> None:
    actions.pop(number, None)
    observers.pop(number, None)


_run_callback = immortal(_abi.UNDO_ACTION_FN(_run))
_hear_callback = immortal(_abi.UNDO_OBSERVE_FN(_hear))
_forget_callback = immortal(_abi.DESTROY_FN(_forget))


def forget_what_was_read() -> None:
    """Objects are about to be something else: of every context, since a manager may serve several."""
    for context in list(contexts):
        context._stamp = Stamp()


class UndoManager:
    """A stack of steps that can be undone and redone.

        ctx.undo_manager = UndoManager()
        with ctx.undo_manager.group("Raise"):
            ada.salary = 5000
        ctx.undo()

    Contexts record what they changed when their pending changes are processed; `register_undo` adds what the host did
    itself. One manager may serve several contexts; their changes are undone on their queue only (WrongThreadError).
    """

    def __init__(self) -> None:
        self._handle: int = owned(lib.cst_undo_manager_new)

    # ---- undo and redo

    def undo(self) -> bool:
        """Undoes the newest step, changes that were not recorded yet included. False when there is nothing to undo.

        InvalidArgumentError within an undo or redo, and while groups within a group are open. When an action raises,
        what was not undone yet stays to be undone.
        """
        return self._step(lib.cst_undo_manager_undo)

    def redo(self) -> bool:
        """Does again what was undone last. False when there is nothing: a new change forgets what could be redone."""
        return self._step(lib.cst_undo_manager_redo)

    def undo_nested_group(self) -> bool:
        """Undoes the group that was closed last, at the end of the open one if there is one."""
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
        """Whether there is something to undo, changes that were not recorded yet included."""
        return bool(self._state().can_undo)

    @property
    def can_redo(self) -> bool:
        return bool(self._state().can_redo)

    @property
    def is_undoing(self) -> bool:
        return bool(self._state().is_undoing)

    @property
    def is_redoing(self) -> bool:
        return bool(self._state().is_redoing)

    # ---- groups

    def begin_undo_grouping(self) -> None:
        """Begins a group, within the open one. What contexts of this thread changed before is recorded first."""
        call(lib.cst_undo_manager_begin_group, self._handle)

    def end_undo_grouping(self) -> None:
        """Ends the innermost group. InvalidArgumentError when none is open."""
        call(lib.cst_undo_manager_end_group, self._handle)

    @contextmanager
    def group(self, name: str | None = None) -> Iterator[UndoManager]:
        """A step of its own, with a name for menus: with ctx.undo_manager.group("Paste"): …

        The step is there also when the block raises, so that it can be undone.
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
        """How many groups are open, one within the other."""
        return int(self._state().grouping_level)

    @property
    def groups_by_event(self) -> bool:
        """Whether a group opens by itself with the first action of an event; True at first."""
        return bool(self._state().groups_by_event)

    @groups_by_event.setter
    def groups_by_event(self, groups: bool) -> None:
        call(lib.cst_undo_manager_set_groups_by_event, self._handle, groups)

    @property
    def levels_of_undo(self) -> int:
        """How many steps are kept; 0, as at first, for all."""
        return int(self._state().levels)

    @levels_of_undo.setter
    def levels_of_undo(self, levels: int) -> None:
        call(lib.cst_undo_manager_set_levels, self._handle, max(whole(levels, "levels_of_undo", -MOST), 0))

    # ---- actions

    def register_undo(self, action: Callable[..., Any], *arguments: Any, target: Any = None) -> None:
        """Registers what undoes something that the host did; registered during an undo, it redoes.

        What it raises ends the undo. `target` says what it is about, for `remove_all_actions`.
        """
        number = next(_numbers)
        _actions[number] = lambda: action(*arguments)
        call(
            lib.cst_undo_manager_register, self._handle, None if target is None else id(target), _run_callback, number,
            _forget_callback,
        )  # fmt: skip

    def remove_all_actions(self, target: Any = None) -> None:
        """Forgets all actions, and enables registration; with a target, only the actions about it."""
        if target is None:
            call(lib.cst_undo_manager_remove_all, self._handle)
        else:
            call(lib.cst_undo_manager_remove_target, self._handle, id(target))

    def disable_undo_registration(self) -> None:
        """What happens from now on cannot be undone. Nests."""
        call(lib.cst_undo_manager_disable, self._handle)

    def enable_undo_registration(self) -> None:
        """InvalidArgumentError when it is not disabled."""
        call(lib.cst_undo_manager_enable, self._handle)

    @contextmanager
    def without_registration(self) -> Iterator[None]:
        """What the block changes cannot be undone."""
        self.disable_undo_registration()
        try:
            yield
        finally:
            self.enable_undo_registration()

    @property
    def is_undo_registration_enabled(self) -> bool:
        return bool(self._state().is_enabled)

    # ---- names

    def set_action_name(self, name: str) -> None:
        """Names the step that is being recorded, for menus."""
        call(lib.cst_undo_manager_set_action_name, self._handle, _abi.text(name))

    @property
    def undo_action_name(self) -> str:
        """The name of what an undo would undo; empty for none."""
        return self._text(_abi.UNDO_NAME)

    @property
    def redo_action_name(self) -> str:
        return self._text(_abi.REDO_NAME)

    @property
    def undo_menu_item_title(self) -> str:
        """ "Undo", and the name of what it would undo."""
        return self._text(_abi.UNDO_TITLE)

    @property
    def redo_menu_item_title(self) -> str:
        return self._text(_abi.REDO_TITLE)

    def _text(self, which: int) -> str:
        buffer = _abi.Buffer()
        call(lib.cst_undo_manager_copy_text, self._handle, which, byref(buffer))
        return _abi.take_text(buffer)

    # ---- notifications

    def observe(self, kind: UndoNotification | str, function: Callable[[UndoManager], Any]) -> Observation:
        """Calls a function with the manager whenever it posts a notification: "did_undo", "will_close_group", …

        The observation ends when it is cancelled, or nobody holds it.
        """
        if isinstance(kind, str):
            kind = UndoNotification[kind.upper()]
        number = next(_numbers)
        _observers[number] = weakref.ref(self), function
        return Observation(
            owned(lib.cst_undo_manager_observe, self._handle, int(kind), _hear_callback, number, _forget_callback)
        )
