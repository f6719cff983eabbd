"""Rows as plain dictionaries, for programs that want neither contexts nor objects."""

from __future__ import annotations

import base64
import itertools
import json
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any, TypeVar
from uuid import UUID

from . import _abi
from ._abi import lib, optional_text, text
from ._arguments import function as function_given
from ._arguments import whole
from ._call import call
from ._interrupt import immortal
from .codes import AttributeType
from .errors import CorestoneError, TypeMismatchError
from .model import Model
from .object import ManagedObject
from .object_id import ObjectID

Record = dict[str, Any]
T = TypeVar("T")

_told: dict[int, tuple[str | None, int]] = {}
_numbers = itertools.count(1)


def _hear(number: int, records: Any, count: int) -> None:
    _told[number] = (_abi.decode(records), count)


_heard = immortal(_abi.RECORDS_FN(_hear))
_nobody = _abi.FAILURE_FN()


def _plain(value: Any) -> Any:
    """What JSON has no type for, as the library takes it."""
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise TypeMismatchError(f"{value!r} has no time zone.", value=value)
        return value.isoformat()
    if isinstance(value, (Decimal, UUID)):
        return str(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64.b64encode(bytes(value)).decode()
    if isinstance(value, ObjectID):
        return value.uri
    if isinstance(value, ManagedObject):
        return value.id.uri
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Iterable):
        return list(value)
    raise TypeMismatchError(f"{value!r:.60} cannot be a value of a record.", value=value)


_READERS: dict[int, Callable[[Any], Any]] = {
    AttributeType.DECIMAL: Decimal,
    AttributeType.DATE: lambda value: datetime.fromisoformat(value.replace("Z", "+00:00")),
    AttributeType.UUID: UUID,
    AttributeType.BINARY: base64.b64decode,
}


class Records:
    """Calls of a container. Each works in a context of its own on the calling thread, and saves: all, or nothing."""

    _handle: int
    model: Model

    def insert(
        self,
        entity: str,
        values: Mapping[str, Any] | Iterable[Mapping[str, Any]],
        *,
        success: Callable[[Any], Any] | None = None,
        failure: Callable[[CorestoneError], Any] | None = None,
    ) -> Any:
        """Inserts an object from a dictionary, or several from a list of them; gives back what they are now:
        dictionaries with an entry for each attribute, for each relationship the URI of the object that it leads to or a
        list of them, and their own URI as "objectID".

            container.insert("Shop", {"name": "Toys", "items": [{"name": "kite", "price": "12.50"}]})

        Values are converted as the attribute wants them, text to numbers, dates (ISO 8601), UUIDs and bytes (base64). A
        relationship takes the URI, the ID or the object, or a dictionary, a to-many one a list of those: a dictionary
        with "objectID" changes that object, any other inserts one. Errors name entity, key and value.

        success, failure  are called with what the call would return, or raise, which it does not then
        """
        is_one = isinstance(values, Mapping)
        arguments = (text(entity), self._json(values))
        return self._asked(
            lib.cst_container_insert, arguments, success, failure,
            lambda json_text, count: self._one(entity, json_text) if is_one else self._many(entity, json_text),
        )  # fmt: skip

    def read(
        self,
        entity: str,
        where: str | None = None,
        *,
        sort: str | Iterable[str] = (),
        ascending: bool = True,
        limit: int = 0,
        success: Callable[[list[Record]], Any] | None = None,
        failure: Callable[[CorestoneError], Any] | None = None,
    ) -> list[Record]:
        """The dictionaries of the objects that a predicate, or a URI, holds for: at most `limit` (0: all), ordered by
        key paths, with "-" before those that go the other way."""
        keys = sort if isinstance(sort, str) else ",".join(sort)
        arguments = (
            text(entity), optional_text(where), optional_text(keys or None), bool(ascending), whole(limit, "limit"),
        )  # fmt: skip
        found: list[Record] = self._asked(
            lib.cst_container_read, arguments, success, failure,
            lambda json_text, count: self._many(entity, json_text),
        )  # fmt: skip
        return found

    def update(
        self,
        entity: str,
        where: str | None,
        values: Mapping[str, Any],
        *,
        success: Callable[[list[Record]], Any] | None = None,
        failure: Callable[[CorestoneError], Any] | None = None,
    ) -> list[Record]:
        """Sets values of the objects that a predicate, or a URI, holds for (None: all); gives back what they are."""
        arguments = (text(entity), optional_text(where), self._json(values))
        found: list[Record] = self._asked(
            lib.cst_container_update, arguments, success, failure,
            lambda json_text, count: self._many(entity, json_text),
        )  # fmt: skip
        return found

    def delete(
        self,
        entity: str,
        where: str,
        *,
        success: Callable[[int], Any] | None = None,
        failure: Callable[[CorestoneError], Any] | None = None,
    ) -> int:
        """Deletes the objects that a predicate, or a URI, holds for; delete rules follow. How many there were."""
        found: int = self._asked(
            lib.cst_container_delete, (text(entity), text(where)), success, failure, lambda json_text, count: count
        )
        return found

    def delete_all(
        self,
        entity: str,
        *,
        success: Callable[[int], Any] | None = None,
        failure: Callable[[CorestoneError], Any] | None = None,
    ) -> int:
        """Deletes all objects of an entity, and of those that inherit from it. How many there were."""
        found: int = self._asked(
            lib.cst_container_delete_all, (text(entity),), success, failure, lambda json_text, count: count
        )
        return found

    def _json(self, values: Any) -> _abi.InputString:
        if not isinstance(values, (Mapping, list, tuple)):
            values = _plain(values)
        try:
            return text(json.dumps(values, default=_plain, allow_nan=False))
        except (ValueError, TypeError) as raised:
            if isinstance(raised, CorestoneError):
                raise
            raise TypeMismatchError(f"The record cannot be written as JSON: {raised}.") from raised

    def _asked(
        self,
        ask: Any,
        arguments: tuple[Any, ...],
        success: Callable[[Any], Any] | None,
        failure: Callable[[CorestoneError], Any] | None,
        read: Callable[[str, int], Any],
    ) -> Any:
        for name, given in (("success", success), ("failure", failure)):
            if given is not None:
                function_given(given, name)
        number = next(_numbers)
        try:
            call(ask, self._handle, *arguments, _heard, _nobody, number)
            json_text, count = _told.pop(number)
            found = read(json_text or "[]", count)
        except CorestoneError as raised:
            if failure is None:
                raise
            failure(raised)
            return None
        if success is not None:
            success(found)
        return found

    def _one(self, entity: str, json_text: str) -> Record:
        return self._many(entity, json_text)[0]

    def _many(self, entity: str, json_text: str) -> list[Record]:
        found: list[Record] = json.loads(json_text)
        readers: dict[str, Callable[[Any], Any]] = {}
        for name, each in self.model[entity].properties.items():
            reader = _READERS.get(each.attribute_type) if not each.is_relationship else None
            if reader is not None:
                readers[name] = reader
        for record in found:
            for name, reader in readers.items():
                if record.get(name) is not None:
                    record[name] = reader(record[name])
        return found
