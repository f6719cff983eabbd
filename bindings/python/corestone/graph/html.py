"""Tables for notebooks: the `_repr_html_` of results, rows, objects, entities, models and containers.

A representation never fails and never changes anything: it reads the values of the shown rows only, fires no other
fault, and is None, for which a notebook prints the `repr`, if a value cannot be read.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from .. import _abi
from ..errors import CorestoneError
from ..model.property import PropertyDescription
from .object import ManagedObject, context_of, object_id, short_id, state
from .object_id import ObjectID

if TYPE_CHECKING:
    from ..model.entity import Entity
    from ..model.model import Model
    from ..stores.container import Container
    from .results import Results

ROWS, COLUMNS, TEXT = 20, 12, 80
_STYLE = (
    "<style>.corestone caption{caption-side:top;text-align:left;font-weight:600;padding:2px 0 4px;white-space:nowrap}"
    ".corestone td,.corestone th{text-align:left!important;vertical-align:top;padding:2px 10px 2px 2px}"
    ".corestone td.number{text-align:right!important;font-variant-numeric:tabular-nums}"
    ".corestone .null,.corestone .more{color:#888}</style>"
)


def guarded(make: Callable[[Any], str], item: Any) -> str | None:
    """Returns the representation of an item; None if the library cannot read it."""
    try:
        return make(item)
    except CorestoneError:
        return None


# -------- values -------------------------------------------------------------------------------------------


def text_of(value: Any) -> str:
    """Returns a value for a reader: a date in UTC without a fraction of a second, a decimal without an exponent."""
    if isinstance(value, str):
        return _short(value)
    if isinstance(value, datetime):
        shown = value.strftime("%H:%M:%S") if value.second or value.microsecond else value.strftime("%H:%M")
        return f"{value.year:04}-{value:%m-%d} {shown}"
    if isinstance(value, Decimal):
        return _short(format(value, "f"))
    if isinstance(value, (bytes, bytearray, memoryview)):
        size = len(value)
        return f"{size:,} byte{'' if size == 1 else 's'}"
    if isinstance(value, ManagedObject):
        return f"{value._cst_entity.name} {short_id(object_id(value).uri)}"
    if isinstance(value, ObjectID):
        entity, last = value.uri.rsplit("/", 2)[-2:]
        return f"{entity} {last if last.startswith('p') else 'new'}"
    if isinstance(value, Mapping):
        return _short(", ".join(f"{key}: {text_of(each)}" for key, each in value.items()))
    if isinstance(value, (list, tuple, set, frozenset)):
        return _short(", ".join(text_of(each) for each in value))
    return _short(str(value))


def _short(text: str) -> str:
    return text if len(text) <= TEXT else text[: TEXT - 1] + "…"


def _cell(value: Any) -> str:
    if value is None:
        return '<td class="null">&ndash;</td>'
    kind = ' class="number"' if isinstance(value, (int, float, Decimal)) and not isinstance(value, bool) else ""
    return f"<td{kind}>{html.escape(text_of(value))}</td>"


def table(
    title: str, heads: Sequence[str], rows: Iterable[Sequence[Any]], more: str = "", *, optional: Sequence[str] = ()
) -> str:
    """Returns a table. `more` is a remark below it. Columns of `optional` are left out if they are empty."""
    rows = [list(row) for row in rows]
    shown = [
        place for place, name in enumerate(heads) if name not in optional or any(row[place] is not None for row in rows)
    ]
    heads, rows = [heads[place] for place in shown], [[row[place] for place in shown] for row in rows]
    head = "".join(f"<th>{html.escape(name)}</th>" for name in heads)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    foot = f'<div class="more">{html.escape(more)}</div>' if more else ""
    return (
        f'{_STYLE}<div class="corestone"><table><caption>{html.escape(title)}</caption><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table>{foot}</div>"
    )


def _rest(count: int, noun: str, hidden: Sequence[str] = (), plural: str | None = None) -> str:
    """Returns a remark on the rows and columns that a table does not show."""
    several = plural or f"{noun}s"
    parts = [f"{count - ROWS:,} more {noun if count - ROWS == 1 else several}"] if count > ROWS else []
    if hidden:
        parts.append("columns not shown: " + ", ".join(hidden))
    return "; ".join(parts)


# -------- results, rows and objects ------------------------------------------------------------------------


def of_results(results: Results) -> str:
    """Returns a table of the first objects: attributes, then targets of relationships or counts of their members."""
    entity, count = results._entity, len(results)
    title = f"{count:,} {entity.name if entity is not None else 'managed'} object{'' if count == 1 else 's'}"
    shown = min(count, ROWS)
    title += f", the first {shown} shown" if count > shown else ""
    if entity is None:
        rows = [[each] for each in results[:shown]]
        return table(title, ["object"], rows, _rest(count, "object"))
    known = [each for each in entity.properties.values() if not each.is_fetched]
    known.sort(key=lambda each: each.is_relationship)  # attributes first
    names, hidden = [each.name for each in known[:COLUMNS]], [each.name for each in known[COLUMNS:]]
    paths = [f"{each.name}.@count" if each.is_to_many else each.name for each in known[:COLUMNS]]
    columns = results._columns(paths, 0, shown) if shown else []
    return table(title, names, list(zip(*columns)), _rest(count, "object", hidden))


def of_rows(rows: Sequence[Mapping[str, Any]]) -> str:
    """Returns a table of the first rows."""
    count = len(rows)
    first = rows[:ROWS]
    names = list(first[0]) if first else []
    title = f"{count:,} row{'' if count == 1 else 's'}"
    shown, hidden = names[:COLUMNS], names[COLUMNS:]
    return table(title, shown, [[row.get(name) for name in shown] for row in first], _rest(count, "row", hidden))


def of_object(item: ManagedObject) -> str:
    """Returns a table of an object's values. The values of a fault are not read."""
    entity = item._cst_entity
    flags = state(item)
    notes = [
        note
        for flag, note in (
            (_abi.OBJECT_INSERTED, "inserted"), (_abi.OBJECT_UPDATED, "updated"), (_abi.OBJECT_DELETED, "deleted"),
        )
        if flags & flag
    ]  # fmt: skip
    if context_of(item) is None:
        notes.append("detached")
    title = f"{entity.name} {short_id(object_id(item).uri)}{' (' + ', '.join(notes) + ')' if notes else ''}"
    if flags & _abi.OBJECT_FAULT:
        return table(title, ["fault"], [["the values are not loaded"]])
    rows = []
    for name, each in entity.properties.items():
        if each.is_fetched:
            continue
        value = getattr(item, name)
        shown = f"{len(value):,} object{'' if len(value) == 1 else 's'}" if each.is_to_many else value
        rows.append([name, None if shown is None else text_of(shown)])
    return table(title, ["property", "value"], rows)


# -------- models and containers ----------------------------------------------------------------------------


def of_entity(entity: Entity) -> str:
    """Returns a table of the properties of an entity."""
    notes = [f"inherits from {entity.parent.name}"] if entity.parent is not None else []
    if entity.is_abstract:
        notes.insert(0, "abstract")
    title = f"{entity.name}{' (' + ', '.join(notes) + ')' if notes else ''}"
    rows = [[name, type_of(entity, each), _notes(entity, each)] for name, each in entity.properties.items()]
    constraints = _constraints(entity)
    return table(
        title, ["property", "type", "notes"], rows, f"unique: {constraints}" if constraints else "", optional=("notes",)
    )


def _constraints(entity: Entity) -> str:
    from .unique import constraints_of

    return "; ".join(", ".join(names) for _, names in constraints_of(entity))


def type_of(entity: Entity, each: PropertyDescription) -> str:
    """Returns the type of a property as the compact form of a model spells it: "string?", "to-many Tag"."""
    optional = "?" if each.is_optional else ""
    if each.is_attribute:
        if each.elements:
            return "{" + ", ".join(f"{part.name}: {type_of(entity, part)}" for part in each.elements) + "}" + optional
        name = each.attribute_type.name.lower().replace("integer_", "int")
        return name.replace("boolean", "bool").replace("_", " ") + optional
    target = entity._model._entity_of(each.destination).name if each.destination else ""
    if each.is_fetched:
        return f"fetched {target}".rstrip()
    many = ("to-many ordered " if each.is_ordered else "to-many ") if each.is_to_many else "to-one "
    return f"{many}{target}{'' if each.is_to_many else optional}"


def _notes(entity: Entity, each: PropertyDescription) -> str | None:
    known = [
        (each.is_relationship and bool(each.inverse), f"inverse {each.inverse}"),
        (each.is_relationship and each.delete_rule.name != "NULLIFY", f"delete {each.delete_rule.name.lower()}"),
        (each.is_transient, "transient"),
        (each.is_derived, "derived"),
        (each.is_indexed, "indexed"),
        (each.is_external, "external storage"),
    ]
    found = [note for holds, note in known if holds]
    if each.entity and each.entity != entity._handle:
        found.append(f"of {entity._model._entity_of(each.entity).name}")
    return ", ".join(found) or None


def of_model(model: Model) -> str:
    """Returns a diagram and a table of the entities of a model."""
    from ..model.diagram import svg

    rows = []
    for name, entity in model.items():
        known = list(entity.properties.values())
        parent = entity.parent.name if entity.parent is not None else None
        attributes = ", ".join(each.name for each in known if each.is_attribute)
        relationships = ", ".join(
            f"{each.name} → {model._entity_of(each.destination).name}{' (many)' if each.is_to_many else ''}"
            for each in known
            if each.is_relationship
        )
        rows.append([name, parent, attributes or None, relationships or None, _constraints(entity) or None])
    version = f" ({model.version_name})" if model.version_name else ""
    title = f"Model of {len(rows):,} entit{'y' if len(rows) == 1 else 'ies'}{version}"
    heads = ["entity", "inherits from", "attributes", "relationships", "unique"]
    return svg(model) + table(
        title, heads, rows[:ROWS], _rest(len(rows), "entity", plural="entities"), optional=("inherits from", "unique")
    )


def of_container(container: Container) -> str:
    """Returns a table of the stores, and one with the number of saved objects of each entity."""
    if container.is_closed:
        return table("Container (closed)", ["model"], [[f"{len(container.model):,} entities"]])
    stores = [
        [each.path or "in memory", each.type, "yes" if each.is_read_only else "no"]
        for each in container.coordinator.stores
    ]
    found = table("Container", ["store", "type", "read-only"], stores)
    if not stores:
        return found
    with container.context(unsaved="discard") as context:
        entities = [each for each in container.model.values() if not each.is_abstract]
        rows = [[each.name, context.count(each, include_subentities=False)] for each in entities[:ROWS]]
    more = _rest(len(entities), "entity", plural="entities")
    return found + table("Saved objects", ["entity", "objects"], rows, more)
