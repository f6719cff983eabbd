"""The properties that annotations of declared classes describe: attribute types, destinations, conversions."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Mapping
from collections.abc import Sequence as SequenceType
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any, ForwardRef, NamedTuple
from uuid import UUID

from .._abi.arguments import shown
from ..codes import AttributeType
from ..graph.collections import ToManyList, ToManySet
from ..graph.object import ManagedObject
from ..graph.object_id import ObjectID
from ..model.conversions import Conversion, DataclassConversion, DayConversion, EnumConversion
from ..model.definition import attribute_type
from ..model.editing import UNSET
from ..predicate.query import Attribute, Single, ToMany
from .annotations import Parts, Place, is_class_variable, name_of, parts
from .declaration import Field, is_declared
from .markers import OrderedToMany
from .specs import Spec, is_callable_default

_INTEGERS = (AttributeType.INTEGER_16, AttributeType.INTEGER_32, AttributeType.INTEGER_64)
_REALS = (AttributeType.DOUBLE, AttributeType.FLOAT)

# The attribute types of Python's types; the first one is the default.
_TYPES: dict[Any, tuple[AttributeType, ...]] = {
    str: (AttributeType.STRING, AttributeType.URI),
    bool: (AttributeType.BOOLEAN,),
    int: (AttributeType.INTEGER_64, AttributeType.INTEGER_32, AttributeType.INTEGER_16),
    float: (AttributeType.DOUBLE, AttributeType.FLOAT),
    Decimal: (AttributeType.DECIMAL,),
    datetime: (AttributeType.DATE,),
    date: (AttributeType.DATE,),
    bytes: (AttributeType.BINARY,),
    UUID: (AttributeType.UUID,),
    ObjectID: (AttributeType.OBJECT_ID,),
    Any: (AttributeType.UNDEFINED,),
    object: (AttributeType.UNDEFINED,),
}
# Attribute types for values of every type.
_FREE = (AttributeType.TRANSFORMABLE, AttributeType.UNDEFINED)

# The Python types of defaults, and their description in messages.
_DEFAULTS: dict[AttributeType, tuple[tuple[type, ...], str]] = {
    **dict.fromkeys(_INTEGERS, ((int,), "an int")),
    **dict.fromkeys(_REALS, ((int, float), "a float")),
    AttributeType.DECIMAL: ((int, Decimal), "a Decimal"),
    AttributeType.STRING: ((str,), "a str"),
    AttributeType.URI: ((str,), "a str with a URI"),
    AttributeType.BOOLEAN: ((bool,), "True or False"),
    AttributeType.DATE: ((datetime,), "a datetime with a time zone"),
    AttributeType.BINARY: ((bytes,), "bytes"),
    AttributeType.UUID: ((UUID,), "a UUID"),
}


class Read(NamedTuple):
    """A property of a declared class."""

    field: Field
    call: str  # "attribute", "to_one", "to_many" or "fetched"
    kind: AttributeType | None  # of an attribute
    target: Any  # the class, or the name, of a destination or of a fetched entity
    options: dict[str, Any]  # in the form of Model
    conversion: Conversion | None
    elements: dict[str, Conversion]  # the conversions of the elements of a composite attribute, by path


def read_field(field: Field, place: Place) -> Read:
    """Returns the property of a class variable. Raises ModelError for a mistake."""
    found = parts(field.annotation, place, (Attribute,))
    spec = field.spec or next((each for each in found.metadata if isinstance(each, Spec)), None)
    if spec is not None and field.spec is None and field.default is UNSET:
        field = field._replace(default=spec.options.get("default", UNSET))
    call = spec.call if spec is not None else None
    members = _members(found, place)
    if call == "fetched" or (members is not None and members[0] is tuple):
        return _fetched(field, call, spec, members, place)
    if members is not None:
        return _to_many(field, call, spec, members, place)
    if _is_target(found.kind, call):
        return _to_one(field, call, spec, found, place)
    if call in ("to_one", "to_many"):
        example = "Show | None" if call == "to_one" else "ToMany[Tag]"
        raise place.failed(
            f"{call}(...) needs the class of the destination in the annotation, as in {example}, not "
            f"{name_of(found.kind)}",
            field.annotation,
        )
    return _attribute(field, spec, found, place)


def _is_target(kind: Any, call: str | None) -> bool:
    if isinstance(kind, ForwardRef):
        return call == "to_one"
    return isinstance(kind, type) and issubclass(kind, ManagedObject)


def _members(found: Parts, place: Place) -> tuple[Any, Any] | None:
    """Returns the collection and the class of the members of an annotation for several objects; None for others."""
    origin, arguments = typing.get_origin(found.kind), typing.get_args(found.kind)
    if found.kind in (ToMany, OrderedToMany, ToManySet, ToManyList):
        name = found.kind.__name__
        raise place.failed(f"{name} needs the class of its members; write {name}[Tag]", found.kind)
    if origin in (list, set, frozenset, tuple, SequenceType) and arguments:
        inner = parts(arguments[0], place, ())
        is_object = isinstance(inner.kind, type) and issubclass(inner.kind, ManagedObject)
        return (origin, inner.kind) if is_object else None
    if origin not in (ToMany, OrderedToMany, ToManySet, ToManyList):
        return None
    is_generated = origin is ToMany and arguments[1] is not Single
    collection = typing.get_origin(arguments[0]) if is_generated else origin
    return collection, parts(arguments[1 if is_generated else 0], place, ()).kind


def _target(kind: Any, place: Place) -> Any:
    if isinstance(kind, ForwardRef):
        return kind.__forward_arg__
    if not (isinstance(kind, type) and issubclass(kind, ManagedObject)):
        raise place.failed(
            f"a relationship refers to classes that derive from Entity, not to {name_of(kind)}; for a list of values, "
            'write attribute("transformable")',
            kind,
        )
    if not is_declared(kind):
        raise place.failed(f"the class {kind.__name__} does not declare an entity; derive it from Entity", kind)
    return kind


def _common(spec: Spec | None) -> dict[str, Any]:
    return {key: value for key, value in spec.options.items() if key != "name"} if spec is not None else {}


def _refuse_default(field: Field, what: str, place: Place) -> None:
    if field.default is not UNSET and field.default is not None:
        raise place.failed(
            f"a {what} cannot have the default {shown(field.default)}; set it after the insertion", field.default
        )


def _refuse_call(call: str | None, allowed: str, what: str, place: Place) -> None:
    if call is not None and call != allowed:
        raise place.failed(f"the annotation is that of a {what}; write {allowed}(...), not {call}(...)", call)


def _to_one(field: Field, call: str | None, spec: Spec | None, found: Parts, place: Place) -> Read:
    _refuse_call(call, "to_one", "to-one relationship", place)
    _refuse_default(field, "to-one relationship", place)
    options = {**_common(spec), "optional": found.is_optional}
    return Read(field, "to_one", None, _target(found.kind, place), options, None, {})


def _to_many(field: Field, call: str | None, spec: Spec | None, members: tuple[Any, Any], place: Place) -> Read:
    _refuse_call(call, "to_many", "to-many relationship", place)
    _refuse_default(field, "to-many relationship", place)
    options = _common(spec)
    if members[0] in (list, SequenceType, ToManyList, OrderedToMany):
        options["ordered"] = True
    options.setdefault("optional", not options.get("minimum"))
    return Read(field, "to_many", None, _target(members[1], place), options, None, {})


def _fetched(field: Field, call: str | None, spec: Spec | None, members: tuple[Any, Any] | None, place: Place) -> Read:
    if call != "fetched":
        raise place.failed(
            "a tuple of objects is the value of a fetched property; write fetched(...)", field.annotation
        )
    if members is None:
        raise place.failed(
            f"a fetched property needs the annotation tuple[Episode, ...], not {name_of(field.annotation)}",
            field.annotation,
        )
    return Read(field, "fetched", None, _target(members[1], place), _common(spec), None, {})


# -------- attributes ---------------------------------------------------------------------------------------


def _attribute(field: Field, spec: Spec | None, found: Parts, place: Place) -> Read:
    options = _common(spec)
    options.pop("default", None)
    if spec is not None and spec.call == "derived":
        options["derived"] = options.pop("expression")
        if "filter" in options:
            options["derived_filter"] = options.pop("filter")
    given = _given_type(options, found, place)
    elements: dict[str, Conversion] = {}
    conversion: Conversion | None = None
    if given in _FREE:
        kind = given
    elif dataclasses.is_dataclass(found.kind) and isinstance(found.kind, type):
        if given not in (None, AttributeType.COMPOSITE):
            raise place.failed(f"the dataclass {found.kind.__name__} is a composite attribute, not {given.name}", given)
        kind = AttributeType.COMPOSITE
        is_optional = bool(options.get("optional", found.is_optional))
        conversion, options["elements"], elements = _composite(found.kind, place, "", (), is_optional)
    else:
        kind, conversion = _kind(found.kind, given, place, field.annotation)
    options["type"] = int(kind)
    options.setdefault("optional", found.is_optional)
    _refuse_undefined(kind, options, place)
    if field.default is not UNSET and not is_callable_default(field.default):
        if "derived" in options:
            raise place.failed("a derived attribute cannot have a default; remove one of them", field.default)
        default = _default(field.default, kind, conversion, found.is_optional, place)
        if default is not None:
            options["default"] = default
    return Read(field, "attribute", kind, None, options, conversion, elements)


def _given_type(options: dict[str, Any], found: Parts, place: Place) -> AttributeType | None:
    """Returns the attribute type that attribute(...) or Annotated names, and removes it from the options."""
    named = options.pop("type", None)
    if named is None:
        named = next((each for each in found.metadata if isinstance(each, AttributeType)), None)
    return attribute_type(named, place.entity, place.key) if named is not None else None


def _refuse_undefined(kind: AttributeType, options: Mapping[str, Any], place: Place) -> None:
    if kind in (AttributeType.UNDEFINED, AttributeType.OBJECT_ID) and not options.get("transient"):
        raise place.failed(
            f"an attribute of the type {kind.name.lower().replace('_', ' ')} is never stored; write "
            'attribute(transient=True), or another type such as attribute("transformable")',
            kind,
        )


def _kind(
    annotation: Any, given: AttributeType | None, place: Place, written: Any
) -> tuple[AttributeType, Conversion | None]:
    """Returns the attribute type of a Python type, and the conversion of its values."""
    conversion: Conversion | None = None
    kinds: tuple[AttributeType, ...] | None = None
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        conversion = EnumConversion(annotation)
        kinds = _TYPES.get(_value_type(annotation, place))
    else:
        try:
            kinds = _TYPES.get(annotation)
        except TypeError:  # not hashable
            kinds = None
        if annotation is date:
            conversion = DayConversion()
    if annotation in (Any, object) and given is not None:
        return given, None
    if kinds is None:
        if isinstance(annotation, ForwardRef):
            raise place.failed(
                f"the annotation {shown(annotation.__forward_arg__)} is not defined; import it where the class is "
                "defined, or pass the class to Model",
                written,
            )
        raise place.failed(
            f"{name_of(annotation)} is not the type of an attribute; use str, int, float, bool, Decimal, bytes, "
            "datetime, date, UUID, an Enum, a dataclass or a class that derives from Entity, or write "
            'attribute("transformable")',
            written,
        )
    if given is None:
        return kinds[0], conversion
    if given not in kinds:
        raise place.failed(
            f"the annotation {name_of(annotation)} does not match the attribute type {given.name}; values of that type "
            f"are of type {_python_name(given)}",
            written,
        )
    return given, conversion


def _python_name(kind: AttributeType) -> str:
    found = next((each.__name__ for each, kinds in _TYPES.items() if kind in kinds and isinstance(each, type)), None)
    return found or ("a dataclass" if kind == AttributeType.COMPOSITE else "Any")


def _value_type(kind: type[Enum], place: Place) -> type:
    types = {type(member.value) for member in kind}
    found = next(iter(types)) if len(types) == 1 else None
    if found is None or found not in (str, int, float):
        raise place.failed(
            f"the values of the enumeration {kind.__name__} must be all of type str, or all of type int; store other "
            'values with attribute("transformable")',
            kind,
        )
    return found


def _default(given: Any, kind: AttributeType, conversion: Conversion | None, is_optional: bool, place: Place) -> Any:
    """Returns a default in its stored form; None for an optional attribute without a default."""
    if given is None:
        if not is_optional:
            raise place.failed("the default is None, but the annotation does not allow None; write X | None", given)
        return None
    value = conversion.store(given, place.entity, place.key) if conversion is not None else given
    if kind == AttributeType.COMPOSITE:
        return {name: part for name, part in value.items() if part is not None}
    allowed, what = _DEFAULTS.get(kind, ((object,), ""))
    is_wrong_bool = isinstance(value, bool) and kind not in (AttributeType.BOOLEAN, *_FREE)
    if is_wrong_bool or not isinstance(value, allowed):
        raise place.failed(f"the default must be {what}, not {shown(given)}", given)
    if isinstance(value, datetime) and value.tzinfo is None:
        raise place.failed(
            f"the default {given!r} does not have a time zone; add one with value.replace(tzinfo=timezone.utc)", given
        )
    return value


def _composite(
    kind: type[Any], place: Place, path: str, outer: tuple[type[Any], ...], is_optional: bool
) -> tuple[Conversion, dict[str, Any], dict[str, Conversion]]:
    """Returns the conversion of a dataclass, its elements in the form of Model, and the conversions of the elements.

    The elements of an optional attribute do not have the defaults of the dataclass, so that the attribute can be None.
    """
    import sys

    if kind in outer:
        raise place.failed(f"the dataclass {kind.__name__} contains itself; use a relationship", kind)
    elements: dict[str, Any] = {}
    conversions: dict[str, Conversion] = {}
    names: dict[str, str] = {}
    module = sys.modules.get(kind.__module__)
    scopes = (place.scopes[0], vars(module) if module is not None else {}, *place.scopes[1:])
    for each in dataclasses.fields(kind):
        inside = f"{path}.{each.name}" if path else each.name
        here = place._replace(key=f"{place.key}.{each.name}", scopes=scopes)
        if not each.init or is_class_variable(each.type):
            continue
        found = parts(each.type, here, (Attribute,))
        spec = next((one for one in found.metadata if isinstance(one, Spec)), None)
        options = _common(spec)
        given = _given_type(options, found, here)
        names[each.name] = spec.options.get("name", each.name) if spec is not None else each.name
        conversion: Conversion | None
        if given in _FREE:
            element, conversion = given, None
        elif dataclasses.is_dataclass(found.kind) and isinstance(found.kind, type):
            element = AttributeType.COMPOSITE
            nested = is_optional or found.is_optional
            conversion, options["elements"], inner = _composite(found.kind, here, inside, (*outer, kind), nested)
            conversions.update(inner)
        else:
            element, conversion = _kind(found.kind, given, here, each.type)
        options["type"] = int(element)
        options.setdefault("optional", found.is_optional)
        default = options.pop("default", dataclasses.MISSING if is_optional else each.default)
        if default is not dataclasses.MISSING:
            default = _default(default, element, conversion, found.is_optional, here)
            if default is not None:
                options["default"] = default
        if conversion is not None:
            conversions[inside] = conversion
        elements[names[each.name]] = options
    if not elements:
        raise place.failed(f"the dataclass {kind.__name__} does not have fields, so it cannot be a composite attribute")
    return DataclassConversion(kind, names), elements, conversions
