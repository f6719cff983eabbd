"""Model text (docs/reference/model.md) from dictionaries, which may contain values that JSON has no type for."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from .._abi.arguments import shown
from .._abi.values import located
from ..codes import AttributeType
from ..errors import CorestoneError, ModelError, TypeMismatchError
from ..predicate.predicate import Predicate
from .archive import tagged
from .definition import attribute_type
from .entity import Entity
from .transformer import to_bytes

# The keys for the second argument of Entity.attribute, to_one and to_many.
_KINDS = ("type", "to_one", "to_many")
_VALUES = ("default", "minimum", "maximum")


class Conditions(NamedTuple):
    """Validation conditions of a property, at least one of them a Predicate. They are added after the property."""

    entity: str
    key: str
    validation: Mapping[str | Predicate, str]


def model_text(definition: Mapping[str, Mapping[str, Any]]) -> tuple[str, list[Conditions]]:
    """Returns the model text for a dictionary of entities, and the conditions that the text cannot express."""
    reader = _Reader()
    content = {name: reader.entity(name, body) for name, body in reader.entries(definition, "the model", None)}
    return json.dumps(content, ensure_ascii=False), reader.conditions


class _Reader:
    def __init__(self) -> None:
        self.conditions: list[Conditions] = []

    def entries(
        self,
        mapping: Mapping[Any, Any],
        where: str,
        entity: str | None,
        path: str | None = None,
        kinds: str = "strings",
    ) -> list[tuple[str, Any]]:
        for key in mapping:
            if not isinstance(key, str):
                raise ModelError(
                    f"{where} has the key {shown(key)}, but keys must be {kinds}", entity=entity, key=path, value=key
                )
        return list(mapping.items())

    def entity(self, name: str, body: Any) -> Any:
        if not isinstance(body, Mapping):
            return self.plain(body, name, None)
        return {
            key: self.plain(value, name, key) if key.startswith("@") else self.property(value, name, key)
            for key, value in self.entries(body, name, name)
        }

    def property(self, value: Any, entity: str, path: str) -> Any:
        """Converts a property: a line of text, a dictionary of options, or a dictionary of a composite's elements."""
        if not isinstance(value, Mapping):
            return self.plain(value, entity, path)
        entries = self.entries(value, f"{entity}.{path}", entity, path)
        if not any(kind in value for kind in _KINDS):
            return {name: self.property(element, entity, f"{path}.{name}") for name, element in entries}
        found: dict[str, Any] = {}
        for name, option in entries:
            if name in _VALUES:
                given = self.transformed(value, entity, path) if name == "default" else option
                found[name] = self.value(given, entity, path)
            elif name == "validation" and isinstance(option, Mapping):
                found[name] = self.validation(option, entity, path)
            elif name == "elements" and isinstance(option, Mapping):
                elements = self.entries(option, f'the option "elements" of {entity}.{path}', entity, path)
                found[name] = {each: self.property(line, entity, f"{path}.{each}") for each, line in elements}
            else:
                found[name] = self.plain(option, entity, path, name)
        return found

    def value(self, given: Any, entity: str, path: str) -> Any:
        try:
            return tagged(given)
        except TypeMismatchError as error:
            if error.message.startswith("the keys of"):
                raise located(error, entity, path, given) from None
            # The message of `tagged` is about archives.
            raise TypeMismatchError(
                f"{entity}.{path}: a model definition cannot contain the value {shown(error.value)}; use None, bool, "
                "int, float, Decimal, str, bytes, datetime or UUID",
                entity=entity,
                key=path,
                value=given,
            ) from None
        except CorestoneError as error:
            raise located(error, entity, path, given) from None

    def transformed(self, options: Mapping[str, Any], entity: str, path: str) -> Any:
        """Returns the default of an attribute; for a transformable attribute, the bytes of the default."""
        default, kind = options["default"], options.get("type")
        if not isinstance(kind, (str, int)):
            return default
        try:
            is_transformable = attribute_type(kind) == AttributeType.TRANSFORMABLE
        except ModelError:  # the library raises a better error, which names the attribute
            return default
        if not is_transformable:
            return default
        return to_bytes(options.get("transformer"), default, entity, path, None, True)

    def validation(self, conditions: Mapping[Any, Any], entity: str, path: str) -> dict[str, Any]:
        if not any(isinstance(each, Predicate) for each in conditions):
            where = f'the option "validation" of {entity}.{path}'
            entries = self.entries(conditions, where, entity, path, "strings or Predicates")
            return {name: self.plain(warning, entity, path, "validation") for name, warning in entries}
        if "." in path:
            return {str(each): self.plain(warning, entity, path, "validation") for each, warning in conditions.items()}
        self.conditions.append(Conditions(entity, path, conditions))
        return {}

    def plain(self, value: Any, entity: str, key: str | None, option: str | None = None) -> Any:
        """Returns a value in JSON types. The library checks whether the value is valid."""
        where = f"{entity}.{key}" if key else entity
        where = f'the option "{option}" of {where}' if option else where
        if value is None or isinstance(value, (str, bool, int, float)):
            return value
        if isinstance(value, Entity):
            return value.name
        if isinstance(value, Mapping):
            entries = self.entries(value, where, entity, key)
            return {name: self.plain(each, entity, key, option) for name, each in entries}
        if isinstance(value, Iterable) and not isinstance(value, (bytes, bytearray, memoryview)):
            return [self.plain(each, entity, key, option) for each in value]
        raise ModelError(
            f"{where}: a model definition cannot contain the value {shown(value)}; use None, bool, int, float, "
            "str, an Entity, or dictionaries and lists of these",
            entity=entity,
            key=key,
            value=value,
        )
