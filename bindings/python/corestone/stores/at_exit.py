"""Interpreter exit: a warning for each context and each untitled document whose unsaved changes are lost.

The package imports this module at exit, from a function that it registers when it is imported.
"""

from __future__ import annotations

import contextlib
import sys
import warnings

from .. import _abi
from .._abi import lib
from .._abi.call import call
from .._abi.stamps import contexts
from ..errors import CorestoneError, UnsavedChangesWarning
from ..graph.owners import UnsavedChanges, unsaved_changes
from ..graph.queue import _exit
from .coordinator import Coordinator
from .document import DocumentState, documents

_REMEDY = "call save() to keep them, or rollback() to discard them, before the interpreter exits"
_LOST_DOCUMENT = (
    "an untitled document was lost at interpreter exit; call save_as(path) to keep it, or "
    'close(unsaved="discard") to discard it, before the interpreter exits'
)
_HOMELESS = DocumentState.UNTITLED | DocumentState.EDITED


def _log_losses() -> None:
    homeless: set[int] = set()
    for document in list(documents):
        with contextlib.suppress(CorestoneError):
            if document.state & _HOMELESS == _HOMELESS:
                _warn(_LOST_DOCUMENT, None)
                call(lib.cst_document_close, document._handle, _abi.UNSAVED.index("discard"))
                homeless.add(document.coordinator._handle)
    coordinators = {each.coordinator._handle: each.coordinator for each in list(contexts) if not each.is_closed}
    for handle, coordinator in coordinators.items():
        if handle in homeless:
            continue
        with contextlib.suppress(CorestoneError):  # for example in a forked child, whose calls fail
            for unsaved in _unsaved_contexts(coordinator):
                whose = "a context" if unsaved.name is None else f'context "{unsaved.name}"'
                lost = "may have lost" if unsaved.entities is None else "lost"
                _warn(f"{whose} {lost} unsaved changes at interpreter exit: {unsaved.text}; {_REMEDY}", unsaved)


def _unsaved_contexts(coordinator: Coordinator) -> list[UnsavedChanges]:
    """Returns the unsaved changes of a coordinator's contexts, without waiting for a queue that another thread holds.

    Because this package issues the warnings, the library does not log these changes when the contexts are deallocated.
    """
    return unsaved_changes(coordinator, _abi.CHANGES_NO_WAIT | _abi.CHANGES_TOLD)


def _warn(message: str, unsaved: UnsavedChanges | None) -> None:
    file, line = (unsaved.file, unsaved.line) if unsaved is not None else (None, None)
    program = sys.argv[0] if getattr(sys, "argv", None) else ""  # not set by all applications that embed Python
    try:
        warnings.warn_explicit(message, UnsavedChangesWarning, file or program or "python", line or 1)
    except UnsavedChangesWarning as warning:  # a filter turns warnings into errors; the other warnings must follow
        print(f"UnsavedChangesWarning: {warning}", file=sys.stderr)


def end() -> None:
    """Issues the warnings, and makes the library stop calling into the interpreter."""
    try:
        _log_losses()
    finally:
        _exit.end_watches()
