"""Conversions between the stored values of attributes and the Python values of declared classes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, time, timezone
from enum import Enum
from typing import Any

from .._abi.arguments import quoted, shown
from ..errors import InvalidArgumentError, TypeMismatchError


class Conversion:
    """A conversion of an attribute's values. It does not apply to None."""

    __slots__ = ()

    def load(self, value: Any) -> Any:
        """Returns the Python value of a stored value."""
        return value

    def store(self, value: Any, entity: str, path: str) -> Any:
        """Returns the stored value of a Python value. Errors name the entity and the key path."""
        return value


class EnumConversion(Conversion):
    """Members of an enumeration, stored as their values. A stored value without a member is read unchanged."""

    __slots__ = ("kind", "members")

    def __init__(self, kind: type[Enum]) -> None:
        self.kind = kind
        self.members: dict[Any, Enum] = {member.value: member for member in kind}

    def load(self, value: Any) -> Any:
        found = self.members.get(value)
        if found is not None:
            return found
        try:
            return self.kind(value)  # combined flags, and enumerations with a `_missing_` method
        except ValueError:
            return value

    def store(self, value: Any, entity: str, path: str) -> Any:
        if isinstance(value, self.kind):
            return value.value
        try:
            return self.kind(value).value
        except ValueError:
            names = quoted([str(each) for each in self.members][:10])
            raise InvalidArgumentError(
                f"{entity}.{path} takes a member of {self.kind.__name__} or its value, not {shown(value)}; the values "
                f"are {names}",
                entity=entity,
                key=path,
                value=value,
            ) from None


class DayConversion(Conversion):
    """Days, stored as dates at midnight in UTC."""

    __slots__ = ()

    def load(self, value: Any) -> Any:
        return value.astimezone(timezone.utc).date() if isinstance(value, datetime) else value

    def store(self, value: Any, entity: str, path: str) -> Any:
        if isinstance(value, date) and not isinstance(value, datetime):
            return datetime.combine(value, time(), timezone.utc)
        raise TypeMismatchError(
            f"{entity}.{path} takes a date without a time, not {shown(value)}; declare the attribute as a datetime to "
            "keep the time",
            entity=entity,
            key=path,
            value=value,
        )


class DataclassConversion(Conversion):
    """Instances of a dataclass, stored as the elements of a composite attribute."""

    __slots__ = ("kind", "names")

    def __init__(self, kind: type[Any], names: Mapping[str, str]) -> None:
        self.kind = kind
        self.names = dict(names)  # of elements, by field

    def load(self, value: Any) -> Any:
        return self.kind(**{field: value.get(name) for field, name in self.names.items()})

    def store(self, value: Any, entity: str, path: str) -> Any:
        if isinstance(value, self.kind):
            return {name: getattr(value, field) for field, name in self.names.items()}
        if isinstance(value, Mapping):
            return value
        raise TypeMismatchError(
            f"{entity}.{path} takes an instance of {self.kind.__name__} or a dictionary, not {shown(value)}",
            entity=entity,
            key=path,
            value=value,
        )


# The conversions of a class: by the name of an attribute, or the path of an element of a composite attribute.
Conversions = Mapping[str, Conversion]
