"""One Python class for each entity, with a descriptor for each property.

The getters of frequent types make one library call and execute as little Python code as possible. The function, the key
and the pool of cells are bound when the class is created, and each object keeps its handle in the form that ctypes
passes. Rare results, such as text that contains a zero character, are read again by `_slow_get`.
"""

from __future__ import annotations

from ctypes import byref
from datetime import timedelta
from operator import attrgetter
from threading import get_ident
from typing import TYPE_CHECKING, Any, Callable

from .. import _abi
from .._abi import lib, text, values
from .._abi.arguments import shown
from .._abi.call import call, owned, quick_failure
from .._abi.stamps import Stamp
from .._abi.wrappers import accelerator, find, make_property, own_properties
from ..codes import AttributeType
from ..errors import CorestoneError, InvalidArgumentError
from ..model.composite import composite_property
from ..model.property import PropertyDescription
from ..model.transformer import transformed_property
from .ahead import ONE_BY_ONE
from .any_value import any_property
from .collections import ToManyList, ToManySet
from .object import ManagedObject
from .results import Results

if TYPE_CHECKING:
    from ..model.entity import Entity

_get = _abi.raw("cst_object_get")
_set = _abi.raw("cst_object_set")

# The types of attributes whose values the accelerator encodes.
SET_QUICKLY = frozenset(
    (
        AttributeType.STRING,
        AttributeType.INTEGER_16,
        AttributeType.INTEGER_32,
        AttributeType.INTEGER_64,
        AttributeType.DOUBLE,
        AttributeType.BOOLEAN,
        AttributeType.DATE,
    )
)

Getter = Callable[[ManagedObject], Any]
Setter = Callable[[ManagedObject, Any], None]


def _slow_get(item: ManagedObject, description: PropertyDescription) -> Any:
    """Returns the value of an attribute of any type or of a to-one relationship."""
    cell = values.Cell()
    call(lib.cst_object_get, item._cst_handle, description.key, cell.ref)
    return values.decode_cell(cell, item._cst_context)


def _text_getter(description: PropertyDescription) -> Getter:
    key, get, take, put, new = description.key, _get, values.take_cell, values.put_cell, values.Cell
    kind = _abi.STRING

    def getter(self: ManagedObject) -> Any:
        try:
            cell = take()
        except IndexError:
            cell = new()
        status = get(self._cst_handle, key, cell.ref, cell.error_ref)
        if not status:
            if cell.kind.value == kind:
                data = cell.text.value
                if len(data) == cell.size.value:
                    put(cell)
                    return data.decode()
            elif not cell.kind.value:
                put(cell)
                return None
        elif status < 0:
            raise quick_failure(cell, status)
        put(cell)
        return _slow_get(self, description)

    return getter


def _number_getter(description: PropertyDescription, kind: int) -> Getter:
    """Returns a getter of integers, booleans or doubles, which a cell stores directly."""
    key, get, take, put, new = description.key, _get, values.take_cell, values.put_cell, values.Cell

    def getter(self: ManagedObject) -> Any:
        try:
            cell = take()
        except IndexError:
            cell = new()
        status = get(self._cst_handle, key, cell.ref, cell.error_ref)
        if not status:
            if cell.kind.value == kind:
                value = cell.numbers[kind].value
                put(cell)
                return value
            if not cell.kind.value:
                put(cell)
                return None
        elif status < 0:
            raise quick_failure(cell, status)
        put(cell)
        return _slow_get(self, description)

    return getter


def _date_getter(description: PropertyDescription) -> Getter:
    key, get, take, put, new = description.key, _get, values.take_cell, values.put_cell, values.Cell
    kind, epoch, delta = _abi.DATE, values.EPOCH, timedelta

    def getter(self: ManagedObject) -> Any:
        try:
            cell = take()
        except IndexError:
            cell = new()
        status = get(self._cst_handle, key, cell.ref, cell.error_ref)
        if not status:
            if cell.kind.value == kind:
                seconds = cell.real.value
                put(cell)
                try:
                    return epoch + delta(0, seconds)
                except (OverflowError, ValueError):
                    try:
                        return values.date_from_seconds(seconds)
                    except CorestoneError as error:
                        raise values.located(error, self._cst_entity.name, description.path, seconds) from None
            if not cell.kind.value:
                put(cell)
                return None
        elif status < 0:
            raise quick_failure(cell, status)
        put(cell)
        return _slow_get(self, description)

    return getter


def _to_one_getter(description: PropertyDescription, target: Entity) -> Getter:
    key, get, take, put, new = description.key, _get, values.take_cell, values.put_cell, values.Cell
    kind, known = _abi.OBJECT, find

    def getter(self: ManagedObject) -> Any:
        try:
            cell = take()
        except IndexError:
            cell = new()
        status = get(self._cst_handle, key, cell.ref, cell.error_ref)
        if not status:
            if cell.kind.value == kind:
                token = cell.address.value
                put(cell)
                found = known(token)
                if found is not None:
                    return found
                return self._cst_context._object(token, target)
            if not cell.kind.value:
                put(cell)
                return None
        elif status < 0:
            raise quick_failure(cell, status)
        put(cell)
        return _slow_get(self, description)

    return getter


def _reading_ahead(description: PropertyDescription, direct: Getter) -> Getter:
    key, thread = description.key, get_ident

    def getter(self: ManagedObject) -> Any:
        ahead = self._cst_ahead
        if ahead is None:
            return direct(self)
        if ahead.stamp is self._cst_context._mark.stamp and ahead.thread == thread():
            try:
                return ahead.columns[key][self._cst_row]
            except KeyError:
                pass
        value = direct(self)
        ahead.note(self._cst_context, description)
        return value

    return getter


def _file_getter(description: PropertyDescription) -> Getter:
    """Returns a getter that copies a value, which may be in a backing file; a view would keep the bytes in memory."""

    def getter(self: ManagedObject) -> Any:
        buffer = _abi.Buffer()
        status = call(lib.cst_object_copy_bytes, self._cst_handle, description.key, byref(buffer))
        data = _abi.take_bytes(buffer)
        return None if status == _abi.NOT_FOUND else data

    return getter


def _any_getter(description: PropertyDescription) -> Getter:
    def getter(self: ManagedObject) -> Any:
        return _slow_get(self, description)

    return getter


def _setter(description: PropertyDescription, entity: str) -> Setter:
    name, encode, new = description.name, values.encode, values.Cell
    key, set_, take, put = description.key, _set, values.take_cell, values.put_cell
    stamp = Stamp
    is_decimal = description.attribute_type == AttributeType.DECIMAL

    def setter(self: ManagedObject, value: Any) -> None:
        try:
            cell = take()
        except IndexError:
            cell = new()
        if type(value) is str and value.isascii():
            data = value.encode()
            cell.aux.value = 0
            cell.kind.value = _abi.STRING
            cell.text.value = data
            cell.size.value = len(data)
        else:
            encode(cell.value, values.suited(AttributeType.DECIMAL, value) if is_decimal else value, entity, name)
        self._cst_context._mark.stamp = stamp()
        status = set_(self._cst_handle, key, cell.ref, cell.error_ref)
        if status < 0:
            raise quick_failure(cell, status)
        if type(value) not in values.BULKY:
            put(cell)

    return setter


def _to_many(description: PropertyDescription, target: Entity) -> property:
    kind = ToManyList if description.is_ordered else ToManySet

    def getter(self: ManagedObject) -> Any:
        return kind(self, description, target)

    def setter(self: ManagedObject, members: Any) -> None:
        kind(self, description, target)._replace(members)

    return property(getter, setter, doc=_documentation(description, target))


def _getter(description: PropertyDescription) -> Getter:
    kind = description.attribute_type
    if description.is_external and kind == AttributeType.BINARY:
        return _file_getter(description)
    if kind in (AttributeType.STRING,):
        return _text_getter(description)
    if kind in (AttributeType.INTEGER_16, AttributeType.INTEGER_32, AttributeType.INTEGER_64):
        return _number_getter(description, _abi.INT)
    if kind in (AttributeType.DOUBLE, AttributeType.FLOAT):
        return _number_getter(description, _abi.DOUBLE)
    if kind == AttributeType.BOOLEAN:
        return _number_getter(description, _abi.BOOL)
    if kind == AttributeType.DATE:
        return _date_getter(description)
    return _any_getter(description)


def _fetched_getter(name: str, entity: Entity | None) -> Callable[[ManagedObject], tuple[Any, ...]]:
    key = text(name, "name")

    def get(self: ManagedObject) -> tuple[Any, ...]:
        return tuple(Results(self._cst_context, owned(lib.cst_object_copy_fetched, self._cst_handle, key), entity))

    return get


def _documentation(description: PropertyDescription, target: Entity | None) -> str:
    optional = "optional " if description.is_optional else ""
    if target is None:
        return f"{optional}{description.attribute_type.name.lower().replace('_', ' ')}"
    many = ("ordered to-many " if description.is_ordered else "to-many ") if description.is_to_many else "to-one "
    inverse = f", inverse {description.inverse}" if description.inverse else ""
    return f"{optional}{many}{target.name}{inverse}, delete rule {description.delete_rule.name.lower()}"


def make_class(entity: Entity) -> type[ManagedObject]:
    """Creates the class of an entity's objects, a subclass of the superentity's class and of any bound class."""
    parent = entity.parent
    base = parent.object_class if parent is not None else ManagedObject
    own = entity._bound_class
    inherited = parent.properties if parent is not None else {}
    body: dict[str, Any] = {
        "__slots__": (),
        "__module__": "corestone.entities",
        "__doc__": f"Objects of the entity {entity.name}.",
        "_cst_entity": entity,
        "_cst_properties": dict(entity.properties),
        "_cst_plans": {},
        "_cst_primitives": dict(base._cst_primitives),
    }
    for name, description in entity.properties.items():
        if name in inherited and inherited[name].entity == description.entity:
            continue
        if description.is_fetched:
            fetched = entity._model._entity_of(description.destination) if description.destination else None
            body[name] = property(_fetched_getter(name, fetched), doc="a fetched property: a tuple of objects")
            continue
        hidden = own is not None and _defines(own, name)
        if own is not None and hidden:
            _refuse_value(own, entity, name)
        place = body["_cst_primitives"] if hidden else body
        target = entity._model._entity_of(description.destination) if description.is_relationship else None
        if target is not None and description.is_to_many:
            place[name] = _to_many(description, target)
            continue
        if description.conversion is not None:
            place[name] = composite_property(description, entity.name, _documentation(description, None))
            continue
        if description.elements:
            body[name] = composite_property(description, entity.name, _documentation(description, None))
            continue
        if description.transforms:
            body[name] = transformed_property(description, entity.name, _documentation(description, None))
            continue
        if description.is_undefined:
            place[name] = any_property(description, entity.name, _documentation(description, None))
            continue
        getter = _to_one_getter(description, target) if target is not None else _getter(description)
        setter, documentation = _setter(description, entity.name), _documentation(description, target)
        if target is None and description.attribute_type in ONE_BY_ONE:
            place[name] = property(getter, setter, doc=documentation)
            continue
        if target is None and accelerator is None:
            getter = _reading_ahead(description, getter)
        kind = int(description.attribute_type) if description.attribute_type in SET_QUICKLY else 0
        place[name] = make_property(getter, setter, documentation, description.key, target, kind)
    for alias, name in own._cst_aliases.items() if own is not None else ():
        body[alias] = _alias(name)
    made = type(entity.name, (base,) if own is None or issubclass(base, own) else (own, base), body)
    own_properties(made, (*body.values(), *body["_cst_primitives"].values()))
    return made


def _alias(name: str) -> property:
    """Returns a Python property that reads and sets the property of another name."""
    return property(attrgetter(name), lambda self, value: setattr(self, name, value), doc=f"the property {name}")


def _refuse_value(own: type[ManagedObject], entity: Entity, name: str) -> None:
    """Raises the error for a bound class with a plain value that hides a property of the model, as in `age = 0`."""
    kind = next(kind for kind in own.__mro__ if name in vars(kind))
    value = vars(kind)[name]
    if not hasattr(type(value), "__get__"):
        raise InvalidArgumentError(
            f"{kind.__name__}.{name} is {shown(value)}, which hides {entity.name}.{name} of the model; remove the "
            "value, and set the default in the model",
            entity=entity.name,
            key=name,
            value=value,
        )


def _defines(own: type[ManagedObject], name: str) -> bool:
    """Whether a bound class, or a class between it and ManagedObject, defines a member of that name."""
    return any(name in vars(kind) for kind in own.__mro__[: own.__mro__.index(ManagedObject)])
