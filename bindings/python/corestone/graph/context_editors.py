"""A part of Context: editors, which have changes that are not in objects yet, such as a text field."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Protocol

from .. import _abi
from .._abi import lib
from .._abi.arguments import shown
from .._abi.call import call, owned
from .._abi.callbacks import reported
from .._abi.interrupt import immortal
from ..errors import CallbackError, InvalidArgumentError, TypeMismatchError
from .context_core import ContextCore

if TYPE_CHECKING:
    from .context import Context

_numbers = itertools.count(1)
_editors: dict[int, Any] = {}


class Editor(Protocol):
    """An object that edits objects of a context; the counterpart of Core Data's NSEditor."""

    def commit_editing(self) -> Any:
        """Applies the changes to the objects. To fail, it raises an exception or returns False."""

    def discard_editing(self) -> Any:
        """Discards the changes."""


class ContextEditors(ContextCore):
    """The registration of editors, and their commit and discard."""

    def object_did_begin_editing(self, editor: Editor) -> None:
        """Registers an editor, which the context retains until its editing ends. Any thread may call it.

        Registering an editor again has no effect. TypeMismatchError if the methods of Editor are missing.
        """
        begin(self._context, editor)

    def object_did_end_editing(self, editor: Editor) -> None:
        """Deregisters an editor. It has no effect for an editor that is not registered. Any thread may call it."""
        editing = self._editings.pop(id(editor), None)
        if editing is not None:
            editing.cancel()

    def commit_editing(self) -> None:
        """Makes every editor apply its changes, in the order of registration. A save does not call it.

        The exception of the first editor that fails is raised; the editors before it have applied their changes.
        InvalidArgumentError if `commit_editing` of an editor returned False, and in a lifecycle hook.
        """
        cause = None
        try:
            call(lib.cst_context_commit_editing, self._open)
        except CallbackError as error:
            cause = error.__cause__
            if cause is None:
                raise
        if cause is not None:
            raise cause

    def discard_editing(self) -> None:
        """Makes every editor discard its changes, in the order of registration."""
        call(lib.cst_context_discard_editing, self._open)


def end_all(context: Context) -> None:
    """Deregisters the editors of a context that is closed."""
    while context._editings:
        context._editings.popitem()[1].cancel()


def begin(context: Context, editor: Any) -> None:
    """Registers an editor with a context."""
    if id(editor) in context._editings:
        return
    for method in ("commit_editing", "discard_editing"):
        if not callable(getattr(editor, method, None)):
            raise TypeMismatchError(
                f"editor must have the methods commit_editing and discard_editing, but {shown(editor)} does not have "
                f"{method}",
                key="editor",
                value=editor,
            )
    from .observation import Observation

    number = next(_numbers)
    _editors[number] = editor
    handle = owned(
        lib.cst_context_begin_editing, context._open, _commit_callback, _discard_callback, number, _forget_callback
    )
    context._editings[id(editor)] = Observation(handle)


def _commit(number: int, _context: int, error: Any, editors: dict[int, Any] = _editors) -> int:
    try:
        editor = editors[number]
        if editor.commit_editing() is False:
            raise InvalidArgumentError(
                f"{shown(editor)} did not apply its changes: commit_editing returned False; correct the edited value, "
                "or call discard_editing",
                value=editor,
            )
        return _abi.OK
    except BaseException as raised:
        return reported(raised, error)


def _discard(number: int, _context: int, error: Any, editors: dict[int, Any] = _editors) -> int:
    try:
        editors[number].discard_editing()
        return _abi.OK
    except BaseException as raised:
        return reported(raised, error)


def _forget(number: int, editors: dict[int, Any] = _editors) -> None:
    editors.pop(number, None)


_commit_callback = immortal(_abi.CONTEXT_PERFORM_FN(_commit))
_discard_callback = immortal(_abi.CONTEXT_PERFORM_FN(_discard))
_forget_callback = immortal(_abi.DESTROY_FN(_forget))
