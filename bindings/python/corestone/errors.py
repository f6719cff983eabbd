"""Exceptions: one class for each kind of failure, each with every field of the library's error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .codes import CoreDataCode, Status

_SHOWN = 20  # the maximum number of details in the text of an error


class CorestoneError(Exception):
    """A failure. Its text states the problem and the remedy, and lists at most the first 20 details.

    status      the kind of failure, a `codes.Status`
    code        Core Data's code (`codes.CoreDataCode`), 0 where Core Data does not have a code
    domain      the error domain, such as NSCocoaErrorDomain
    message     one or two sentences, without the details
    entity, key the entity and the property concerned, or None
    value       the rejected value, or None
    predicate   the format of the validation predicate that the value does not satisfy, or None
    object_uri  the URI of the object concerned, or None
    file        the file concerned, or None
    sqlite_code SQLite's extended result code, 0 when SQLite was not involved
    offset      the byte offset at which reading stopped in a text or a file, such as a predicate, or None
    details     the individual failures, if there are several, or the causes: a tuple of CorestoneError
    conflicts   the conflicts that made a save fail: a tuple of MergeConflict or ConstraintConflict; empty in a copy
                that is sent to another process
    """

    default_status: int = Status.INTERNAL

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        code: int = 0,
        domain: str | None = None,
        entity: str | None = None,
        key: str | None = None,
        value: Any = None,
        predicate: str | None = None,
        object_uri: str | None = None,
        file: str | None = None,
        sqlite_code: int = 0,
        offset: int | None = None,
        details: Sequence[CorestoneError] = (),
        conflicts: Sequence[Any] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = self.default_status if status is None else status
        self.code = code
        self.domain = domain
        self.entity = entity
        self.key = key
        self.value = value
        self.predicate = predicate
        self.object_uri = object_uri
        self.file = file
        self.sqlite_code = sqlite_code
        self.offset = offset
        self.details = tuple(details)
        self.conflicts = tuple(conflicts)

    def __str__(self) -> str:
        lines = [self.message]
        details = self.details
        if len(details) > _SHOWN and details[0].message.partition("; ")[0] in self.message:
            details = ()  # the message lists them
        for detail in details[:_SHOWN]:
            # The message of a callback's failure ends with the message of its cause.
            if str(detail) not in self.message:
                lines += ["  " + line for line in str(detail).split("\n")]
        if len(details) > _SHOWN:
            lines.append(f"  and {len(details) - _SHOWN} more")
        return "\n".join(lines)

    def __reduce__(self) -> tuple[Any, ...]:
        # Exception.__reduce__ loses keyword-only arguments.
        fields = {k: v for k, v in self.__dict__.items() if k not in ("message", "conflicts")}
        if not _is_picklable(fields.get("value")):
            fields["value"] = repr(fields["value"])
        return _rebuild, (type(self), self.message, fields)


def _is_picklable(value: Any) -> bool:
    """Whether the value of an error can be pickled. A rejected function, for example, cannot."""
    if value is None or isinstance(value, (bool, int, float, str, bytes)):
        return True
    # Imported here: few programs pickle errors.
    import pickle

    try:
        pickle.dumps(value)
    except Exception:
        return False
    return True


def _rebuild(kind: type[CorestoneError], message: str, fields: dict[str, Any]) -> CorestoneError:
    error = kind(message)
    error.__dict__.update(fields)
    return error


class InternalError(CorestoneError):
    """A defect in the library. Report it to the project."""


class InvalidArgumentError(CorestoneError, ValueError):
    """An invalid argument, which the message names."""

    default_status = Status.INVALID_ARGUMENT


class NumberRangeError(InvalidArgumentError, OverflowError):
    """A number outside the range that the library or a parameter supports."""


class HistoryTokenExpiredError(InvalidArgumentError):
    """A history token after which transactions were deleted, or of a file that was replaced by an older one.

    Fetch the objects again, and continue from Coordinator.history_token().
    """


class HistoryTokenStoreError(InvalidArgumentError):
    """A history token of other stores."""


class InvalidHandleError(CorestoneError):
    """A container, context or other resource was used after it was closed."""

    default_status = Status.INVALID_HANDLE


class WrongThreadError(CorestoneError, RuntimeError):
    """A context, or an object of it, was used outside its queue, or a wait would be a deadlock."""

    default_status = Status.WRONG_THREAD


class InvalidUTF8Error(CorestoneError, ValueError):
    """Text that is not valid Unicode."""

    default_status = Status.INVALID_UTF8


class TypeMismatchError(CorestoneError, TypeError):
    """A value whose type does not suit the property or the parameter."""

    default_status = Status.TYPE_MISMATCH


class OutOfMemoryError(CorestoneError, MemoryError):
    """An allocation failed."""

    default_status = Status.NO_MEMORY


class CallbackError(CorestoneError):
    """A callback of the application failed."""

    default_status = Status.CALLBACK


class UnsupportedError(CorestoneError):
    """The operation is not supported in this case."""

    default_status = Status.UNSUPPORTED


class ForkedError(CorestoneError, RuntimeError):
    """A store that was opened before os.fork was used in the child. Open it there instead."""

    default_status = Status.FORKED


class CancelledError(CorestoneError):
    """The application cancelled the call before it finished."""

    default_status = Status.CANCELLED


class ValidationError(CorestoneError, ValueError):
    """Objects are invalid and cannot be saved. `details` lists the failures if there are several."""

    default_status = Status.VALIDATION


class ConflictError(CorestoneError):
    """Another writer saved the same objects or unique values first. `conflicts` has the values of each version.

    Nothing was written.
    """

    default_status = Status.CONFLICT

    @property
    def existing(self) -> tuple[Any, ...]:
        """The IDs of the saved objects that already have the unique values: a tuple of ObjectID.

        container.insert("Episode", {"title": "One", "show": error.existing[0]})
        """
        found = (getattr(each, "database_id", None) for each in self.conflicts)
        return tuple(each for each in found if each is not None)


class ObjectGoneError(CorestoneError):
    """The object's row was deleted, its store was removed, or its context was reset or closed."""

    default_status = Status.OBJECT_GONE


class UnsavedChangesError(CorestoneError):
    """A call would discard unsaved changes, so it did not close or change anything.

    `details` has an error for each context, with counts by entity.
    """

    default_status = Status.UNSAVED_CHANGES


class UnsavedChangesWarning(RuntimeWarning):
    """A context or an untitled document lost its unsaved changes at interpreter exit."""


class PredicateError(CorestoneError, ValueError):
    """A predicate that names an unknown key, or cannot be evaluated."""

    default_status = Status.PREDICATE


class PredicateSyntaxError(PredicateError):
    """A predicate that cannot be parsed. The text has a caret under `offset`, at which parsing stopped."""

    default_status = Status.PREDICATE_SYNTAX


class StoreError(CorestoneError, OSError):
    """Reading or writing the store's file failed."""

    default_status = Status.STORE_IO

    # The methods of OSError would hide the message and the fields.
    __str__ = CorestoneError.__str__
    __reduce__ = CorestoneError.__reduce__


class StoreBusyError(StoreError):
    """Another connection holds a lock on the store."""

    default_status = Status.STORE_BUSY


class StoreCorruptError(StoreError):
    """The file is damaged."""

    default_status = Status.STORE_CORRUPT


class StoreReadOnlyError(StoreError):
    """The store was opened read-only, or its file or folder cannot be written."""

    default_status = Status.STORE_READ_ONLY


class NotAStoreError(StoreError):
    """The file is not a Core Data store."""

    default_status = Status.NOT_A_STORE


class ModelError(CorestoneError):
    """An invalid model, or a change of a model that is already in use."""

    default_status = Status.MODEL


class ModelMismatchError(ModelError):
    """The store was created with another model."""

    default_status = Status.MODEL_MISMATCH


class MigrationError(ModelError):
    """The migration of a store to another model failed."""

    default_status = Status.MIGRATION


BY_STATUS: dict[int, type[CorestoneError]] = {
    int(kind.default_status): kind
    for kind in (
        InternalError,
        InvalidArgumentError,
        InvalidHandleError,
        WrongThreadError,
        InvalidUTF8Error,
        TypeMismatchError,
        OutOfMemoryError,
        CallbackError,
        UnsupportedError,
        ForkedError,
        CancelledError,
        ValidationError,
        ConflictError,
        ObjectGoneError,
        UnsavedChangesError,
        PredicateError,
        PredicateSyntaxError,
        StoreError,
        StoreBusyError,
        StoreCorruptError,
        StoreReadOnlyError,
        NotAStoreError,
        ModelError,
        ModelMismatchError,
        MigrationError,
    )
}

# Subclasses for particular codes of a status.
_BY_CODE: dict[int, type[CorestoneError]] = {
    CoreDataCode.PERSISTENT_HISTORY_TOKEN_EXPIRED: HistoryTokenExpiredError,
    CoreDataCode.PERSISTENT_HISTORY_TOKEN_STORE: HistoryTokenStoreError,
}


def error_class(status: int, code: int) -> type[CorestoneError]:
    """Returns the class for a status, or its subclass for a code."""
    kind = BY_STATUS.get(status, CorestoneError)
    special = _BY_CODE.get(code, kind)
    return special if special.default_status == status else kind
