"""Model text (docs/reference/model.md) from dictionaries, which may contain values that JSON has no type for."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from .._abi.arguments import shown
from .._abi.values import located
from ..codes import AttributeType
from ..errors import CorestoneError, ModelError, TypeMismatchError
from ..predicate.predicate import Predicate
from .archive import tagged
from .definition import ATTRIBUTE_TYPES, attribute_type
from .entity import Entity
from .transformer import to_bytes

# The keys for the second argument of Entity.attribute, to_one and to_many.
_KINDS = ("type", "to_one", "to_many")
_VALUES = ("default", "minimum", "maximum")
# Python's classes of values, and the types of attributes.
_TYPES = {
    "str": "string", "int": "int", "float": "double", "bool": "bool", "datetime": "date", "date": "date",
    "bytes": "binary", "Decimal": "decimal", "UUID": "uuid", "dict": "transformable", "list": "transformable",
}  # fmt: skip
# Misspelt forms of "type", in lower case; other similar words can be names of elements.
_MISSPELT = frozenset(
    ["type", "typ", "tpye", "tyep", "ytpe", "tye", "tpe", "typee", "tipe", "attribute_type", "attributetype"]
)
# The options that can accompany the type of an attribute.
_OPTIONS = frozenset((
    "optional", "default", "indexed", "transient", "external_storage", "preserved", "allows_nan", "ignores_changes",
    "minimum", "maximum", "pattern", "validation", "transformer", "derived", "derived_filter", "user_info",
    "renaming_identifier", "inverse", "ordered", "delete_rule",
))  # fmt: skip


def _is_class(value: Any) -> bool:
    from ..graph.object import ManagedObject

    return isinstance(value, type) and issubclass(value, ManagedObject)


def _call_of_classes(values: Iterable[Any]) -> str | None:
    """Returns the call that makes a model of declared classes; None if a value is not such a class."""
    from ..declarative.declaration import is_declared

    classes = list(values)
    if not classes or not all(map(is_declared, classes)):
        return None
    return f"Model({', '.join(each.__name__ for each in classes)})"


class Conditions(NamedTuple):
    """Validation conditions of a property, at least one of them a Predicate. They are added after the property."""

    entity: str
    key: str
    validation: Mapping[str | Predicate, str]


def model_text(definition: Mapping[str, Mapping[str, Any]]) -> tuple[str, list[Conditions]]:
    """Returns the model text for a dictionary of entities, and the conditions that the text cannot express."""
    if not isinstance(definition, Mapping):
        remedy = ""
        if isinstance(definition, (str, os.PathLike)):
            remedy = "; call Model.load for a file, or Model.from_text for text"
        elif isinstance(definition, Iterable):
            made = _call_of_classes(definition)
            remedy = f"; write {made}" if made else "; bind classes to the finished model with bind"
        raise TypeMismatchError(
            f"definition must be a dictionary of entities, not {shown(definition)}{remedy}",
            key="definition",
            value=definition,
        )
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
        if _is_class(body):
            made = _call_of_classes([body])
            remedy = f"write {made}" if made else "pass those, and bind the class to the model with bind"
            raise ModelError(
                f"{name} is a class ({body.__name__}), but must be a dictionary of properties; {remedy}",
                entity=name,
                value=body,
            )
        if not isinstance(body, Mapping):
            return self.plain(body, name, None)
        return {
            key: self.option(value, name, key) if key.startswith("@") else self.property(value, name, key)
            for key, value in self.entries(body, name, name)
        }

    def option(self, value: Any, entity: str, key: str) -> Any:
        """Converts an option of an entity. The name of one attribute is a unique constraint of that attribute."""
        return [[value]] if key == "@unique" and isinstance(value, str) else self.plain(value, entity, key)

    def property(self, value: Any, entity: str, path: str) -> Any:
        """Converts a property: a line of text, a dictionary of options, or a dictionary of a composite's elements."""
        if isinstance(value, type):
            name = _TYPES.get(value.__name__)
            remedy = f'; write "{name}", or "{name}?" for an optional attribute' if name else ""
            raise ModelError(
                f'{entity}.{path} is a class ({value.__name__}), but must be a line such as "string?" or a dictionary '
                f"of options{remedy}",
                entity=entity,
                key=path,
                value=value,
            )
        if not isinstance(value, Mapping):
            return self.plain(value, entity, path)
        entries = self.entries(value, f"{entity}.{path}", entity, path)
        if not any(kind in value for kind in _KINDS):
            self.require_elements(value, entity, path)
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

    def require_elements(self, value: Mapping[Any, Any], entity: str, path: str) -> None:
        """Raises the error for options with a misspelt type, which would be the elements of a composite attribute."""
        for name, given in value.items():
            is_type = isinstance(given, str) and given.rstrip("?") in ATTRIBUTE_TYPES
            if is_type and name.lower() in _MISSPELT and _OPTIONS.issuperset(each for each in value if each != name):
                raise ModelError(
                    f'{entity}.{path} has no option "{name}"; did you mean "type"? For a composite attribute, add '
                    '"type": "composite" and its "elements"',
                    entity=entity,
                    key=path,
                    value=name,
                )

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
