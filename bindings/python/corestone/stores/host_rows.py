"""Conversion of the rows of Python stores: nodes and IDs to cst_row, and back."""

from __future__ import annotations

import contextlib
import ctypes
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from ctypes import byref
from typing import Any, NamedTuple
from uuid import UUID

from .. import _abi
from .._abi import conversion, lib, values
from .._abi.arguments import shown
from .._abi.call import call
from ..codes import AttributeType
from ..errors import CorestoneError, InvalidArgumentError, TypeMismatchError
from ..graph.object_id import ObjectID
from ..model.entity import Entity
from ..model.property import PropertyDescription
from .host_store import HostStore, IncrementalStoreNode, Reference, RowID

_PUSHED = 500  # rows in one call
_PLAIN = {type(None), str, bool, float, bytes, UUID}  # types that are encoded without a check
CELL = ctypes.sizeof(_abi.Value)


# -------- rows from Python -----------------------------------------------------------------------------------


class _Target(NamedTuple):
    """The reference of a relationship's target, and the handle of the target's entity; None if that is unknown."""

    reference: Any
    entity: int | None


class Rows:
    """Nodes, IDs and references as an array of cst_row, which lives as long as this object."""

    def __init__(self, items: Sequence[Any], store: HostStore, entity: Entity | None = None) -> None:
        count = len(items)
        self.count = count
        cells: list[Any] = []  # the references of the rows; their values, in `later`, follow
        rows: list[tuple[Entity | None, int | None, int]] = []
        fields: list[tuple[int, int | None]] = []
        starts: list[int] = []
        later: list[Any] = []
        for item in items:
            node = item if isinstance(item, IncrementalStoreNode) else None
            known, handle, reference = identity(item if node is None else node.object_id, store)
            cells.append(reference)
            rows.append((known, handle, node.version if node is not None else 0))
            starts.append(len(fields))
            if node is not None and node.values:
                self._add_values(node, known or entity, store, fields, later)
        starts.append(len(fields))
        self._encoded = conversion.Encoded(cells + later)
        self._keys = (ctypes.c_uint32 * max(len(fields), 1))(*(key for key, _ in fields))
        self._targets = (ctypes.c_void_p * max(len(fields), 1))(*(target for _, target in fields))
        self.array = (_abi.Row * max(count, 1))()
        values_at = self._encoded.address + CELL * count
        keys_at, targets_at = ctypes.addressof(self._keys), ctypes.addressof(self._targets)
        for place, (_, handle, version) in enumerate(rows):
            row, start = self.array[place], starts[place]
            row.entity = handle
            ctypes.memmove(byref(row, _abi.Row.reference.offset), self._encoded.address + CELL * place, CELL)
            row.version = version
            row.count = starts[place + 1] - start
            row.keys = keys_at + 4 * start
            row.values = values_at + CELL * start
            row.targets = targets_at + ctypes.sizeof(ctypes.c_void_p) * start

    @staticmethod
    def _add_values(
        node: IncrementalStoreNode,
        entity: Entity | None,
        store: HostStore,
        fields: list[tuple[int, int | None]],
        cells: list[Any],
    ) -> None:
        if entity is None:
            raise InvalidArgumentError(
                f"{shown(node)} has values but does not have an entity; create its object_id with "
                f"{type(store).__name__}.row_id",
                key="entity",
                value=node,
                file=store.opening.path or None,
            )
        properties, plain = entity.properties, reading_of(entity._handle, store).plain
        for name, value in node.values.items():
            if type(value) in _PLAIN and name in plain:
                fields.append((plain[name], None))
                cells.append(value)
                continue
            description = properties.get(name)
            if description is None or description.is_fetched:
                continue
            for key, given, target in _fields(description, value, entity, store):
                fields.append((key, target))
                cells.append(given)


def _fields(
    description: PropertyDescription, value: Any, entity: Entity, store: HostStore
) -> Iterator[tuple[int, Any, int | None]]:
    """Yields the key, the value and the target entity of a property, or of each element of a composite attribute."""
    if description.is_relationship:
        if not description.is_to_many:
            target = _target(value, store, entity, description.name)
            yield description.key, target.reference, target.entity
            return
        if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
            raise TypeMismatchError(
                f"{entity.name}.{description.name} is a to-many relationship and takes a list of IDs, "
                f"not {shown(value)}",
                entity=entity.name,
                key=description.name,
                value=value,
                file=store.opening.path or None,
            )
        targets = [_target(each, store, entity, description.name) for each in value]
        entities = {target.entity for target in targets}
        # If members are of several entities, the library requests their rows to find the entity of each member.
        own = entities.pop() if len(entities) == 1 else None
        yield description.key, [target.reference for target in targets], own
    elif description.elements:
        if value is not None and not isinstance(value, Mapping):
            raise TypeMismatchError(
                f"{entity.name}.{description.path} is composite and takes a dictionary of its elements, "
                f"not {shown(value)}",
                entity=entity.name,
                key=description.path,
                value=value,
                file=store.opening.path or None,
            )
        for element in description.elements:
            yield from _fields(element, (value or {}).get(element.name), entity, store)
    else:
        checked = values.suited(description.attribute_type, value)
        if type(checked) is not int or not values.INT_MIN <= checked <= values.INT_MAX:
            with _located(entity, description.path, value):
                values.encode(_abi.Value(), checked)  # raises for an invalid value
        yield description.key, checked, None


@contextlib.contextmanager
def _located(entity: Entity, key: str, value: Any) -> Iterator[None]:
    try:
        yield
    except CorestoneError as error:
        raise values.located(error, entity.name, key, value) from None


def _target(item: Any, store: HostStore, entity: Entity, key: str) -> _Target:
    if item is None:
        return _Target(None, None)
    if isinstance(item, IncrementalStoreNode):
        item = item.object_id
    if isinstance(item, ObjectID):
        return _Target(item, None)
    with _located(entity, key, item):
        _, handle, reference = identity(item, store)
    return _Target(reference, handle)


def identity(item: Any, store: HostStore, accepts_node: bool = True) -> tuple[Entity | None, int | None, Any]:
    """Returns the entity, its handle, and the reference of an item: a RowID, an ObjectID or a reference.

    `accepts_node` is whether the caller also accepts a node, for the error for another item.
    """
    if isinstance(item, RowID):
        entity = item.entity
        if not isinstance(entity, Entity):
            raise TypeMismatchError(
                f"the entity of {shown(item)} is {shown(entity)}, which is not an Entity; pass an Entity or its name "
                f"to {type(store).__name__}.row_id",
                value=item,
                file=store.opening.path or None,
            )
        return entity, entity._handle, _reference(item.reference, store, accepts_node)
    if isinstance(item, ObjectID):
        entity = store.model[item.entity_name]
        return entity, entity._handle, item.reference
    return None, None, _reference(item, store, accepts_node)


def _reference(item: Any, store: HostStore, accepts_node: bool) -> Reference:
    if isinstance(item, (int, str, bytes)) and not isinstance(item, bool) and item not in ("", b""):
        return item
    raise TypeMismatchError(
        f"{shown(item)} does not identify a row of {type(store).__name__}; use "
        f"{'an IncrementalStoreNode, ' if accepts_node else ''}a RowID, an ObjectID, or a reference (an int, or a "
        "non-empty str or bytes)",
        value=item,
        file=store.opening.path or None,
    )


def push(items: Iterable[Any], sink: int, store: HostStore, method: str, entity: Entity | None = None) -> None:
    if isinstance(items, (str, bytes, Mapping)) or not isinstance(items, Iterable):
        others = ", IDs or references" if method == "execute_fetch" else ""
        raise TypeMismatchError(
            f"the rows that {type(store).__name__}.{method} returned are {shown(items)}, not a list; return a list of "
            f"IncrementalStoreNode objects{others}",
            entity=entity.name if entity is not None else None,
            value=items,
            file=store.opening.path or None,
        )
    iterator = iter(items)
    while True:
        some = list(itertools.islice(iterator, _PUSHED))
        if not some:
            return
        rows = Rows(some, store, entity)
        call(lib.cst_row_sink_push, sink, rows.count, rows.array)


# -------- rows for Python ------------------------------------------------------------------------------------


class Reading:
    """The properties of an entity by key, for reading and writing its rows."""

    def __init__(self, entity: Entity) -> None:
        self.entity = entity
        self.paths: dict[int, tuple[PropertyDescription, tuple[str, ...]]] = {}
        self._add(entity.properties.values(), ())
        # The keys, by name, of attributes whose values are encoded without a conversion.
        self.plain = {
            name: each.key
            for name, each in entity.properties.items()
            if each.is_attribute and not each.elements and each.attribute_type != AttributeType.DECIMAL
        }

    def _add(self, properties: Iterable[PropertyDescription], above: tuple[str, ...]) -> None:
        for each in properties:
            self.paths[each.key] = each, (*above, each.name)
            self._add(each.elements, (*above, each.name))


def reading_of(handle: int, store: HostStore) -> Reading:
    found = store._cst_entities.get(handle)
    if found is None:
        found = store._cst_entities[handle] = Reading(store.model._entity_of(handle))
    reading: Reading = found
    return reading


decoded = values.decode_value


def row_id(row: Any, store: HostStore) -> RowID:
    return RowID(reading_of(row.entity, store).entity, decoded(row.reference))


def row_ids(count: int, rows: Any, store: HostStore) -> list[RowID]:
    return [row_id(rows[place], store) for place in range(count)]


def node(row: Any, store: HostStore, kind: type[Any] = IncrementalStoreNode) -> Any:
    """Returns the node for a cst_row."""
    reading = reading_of(row.entity, store)
    found: dict[str, Any] = {}
    if row.count:
        keys = (ctypes.c_uint32 * row.count).from_address(row.keys)
        cells = (_abi.Value * row.count).from_address(row.values)
        targets = (ctypes.c_void_p * row.count).from_address(row.targets) if row.targets else None
        for place, key in enumerate(keys):
            description, path = reading.paths[key]
            if description.is_relationship:
                value = _target_value(cells[place], targets[place] if targets else None, description, store)
            else:
                try:
                    value = decoded(cells[place])
                except CorestoneError as error:
                    raise values.located(error, reading.entity.name, description.path, None) from None
            if len(path) == 1:
                found[path[0]] = value
                continue
            into = found
            for step in path[:-1]:
                into = into.setdefault(step, {})
            into[path[-1]] = value
    made_node: Any = object.__new__(kind)
    reference = decoded(row.reference)
    made_node.object_id = RowID(reading.entity, "" if reference is None else reference)
    made_node.values, made_node.version = found, row.version
    return made_node


def _target_value(cell: Any, target: int | None, description: PropertyDescription, store: HostStore) -> Any:
    if cell.type == _abi.NULL:
        return [] if description.is_to_many else None
    entity = reading_of(target or description.destination, store).entity
    if cell.type != _abi.ARRAY:
        return _as_row_id(decoded(cell), entity, store)
    count = cell.payload.values.size
    members = (_abi.Value * count).from_address(cell.payload.values.data) if count else ()
    return [_as_row_id(decoded(each), entity, store) for each in members]


def _as_row_id(value: Any, entity: Entity, store: HostStore) -> RowID:
    if isinstance(value, ObjectID):
        return RowID(store.model[value.entity_name], value.reference)
    return RowID(entity, value)
