"""Stores of a host's own kinds for tests: one of rows in dictionaries, and a file that is read as a whole."""

from __future__ import annotations

import pickle
import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar
from uuid import UUID, uuid4

from corestone import (
    AtomicStore,
    AtomicStoreCacheNode,
    Entity,
    FetchRequest,
    IncrementalStore,
    IncrementalStoreNode,
    PropertyDescription,
    RowID,
    SaveChangesRequest,
    StoreOpening,
    register_store_type,
    registered_store_types,
)

PEOPLE = {
    "Person": {
        "name": "string?",
        "age": "int32?",
        "manager": "to-one Person? inverse reports",
        "reports": "to-many Person? inverse manager",
    },
    "Manager": {"@parent": "Person", "level": "int32?"},
}
EVERYTHING: dict[str, dict[str, Any]] = {
    "Thing": {
        "small": "int16?", "middle": "int32?", "large": "int64?", "decimal": "decimal?", "double": "double?",
        "float": "float?", "text": "string?", "flag": "bool?", "date": "date?", "data": "binary?", "uuid": "uuid?",
        "uri": "uri?", "any": "transformable?",
        "place": {"type": "composite", "optional": True, "elements": {"north": "double?", "name": "string?"}},
        "next": "to-one Thing? inverse previous", "previous": "to-one Thing? inverse next",
        "parts": "to-many Part? inverse whole", "tags": "to-many Tag? inverse things",
        "steps": "to-many Part? ordered inverse stepOf",
    },
    "Part": {"name": "string?", "whole": "to-one Thing? inverse parts", "stepOf": "to-one Thing? inverse steps"},
    "BigPart": {"@parent": "Part", "weight": "double?"},
    "Tag": {"name": "string?", "things": "to-many Thing? inverse tags"},
}  # fmt: skip
EPOCH = datetime(2001, 1, 1, tzinfo=timezone.utc)
VALUES: dict[str, Any] = {
    "small": -7, "middle": 1 << 30, "large": -(1 << 62), "decimal": Decimal("12345678901234567890.12345"),
    "double": 0.1, "float": 0.5, "text": "Ünï\u2028\uff57\n\t\"'", "flag": True,
    "date": datetime(2026, 11, 22, 21, 0, 0, 250000, timezone.utc), "data": b"\x00\xff" * 40,
    "uuid": UUID("6f9619ff-8b86-d011-b42d-00c04fc964ff"), "uri": "https://example.org/%C3%BC?q=1",
    "any": ["a", 1, {"b": 2.5}], "place": {"north": 52.5, "name": "Berlin"},
}  # fmt: skip


def fill(ctx: Any) -> None:
    thing, other = ctx.insert("Thing", **VALUES), ctx.insert("Thing", text="nothing else")
    thing.next = other
    for name in ("c", "a", "b"):
        part = ctx.insert("Part", name=name, whole=thing)
        thing.steps.append(part)
    thing.steps.append(ctx.insert("BigPart", name="big", weight=2.5, whole=other))
    tags = [ctx.insert("Tag", name=name) for name in ("x", "y")]
    thing.tags = tags
    other.tags = tags[:1]
    ctx.save()


def described(ctx: Any) -> Any:
    """The whole graph, by names."""
    things = {}
    for thing in ctx.fetch("Thing"):
        values = {key: getattr(thing, key) for key in VALUES}
        things[thing.text] = (
            {**values, "place": values["place"] and dict(values["place"])},
            thing.next and thing.next.text,
            thing.previous and thing.previous.text,
            sorted(part.name for part in thing.parts),
            [part.name for part in thing.steps],
            sorted(tag.name for tag in thing.tags),
        )
    parts = {part.name: (part.id.entity_name, part.whole.text) for part in ctx.fetch("Part")}
    tags = {tag.name: sorted(thing.text for thing in tag.things) for tag in ctx.fetch("Tag")}
    return things, parts, tags, [part.weight for part in ctx.fetch("BigPart")]


@dataclass
class Row:
    """A row of MemStore. Links are (entity, reference), None, or lists of these; missing values are left out."""

    version: int = 1
    values: dict[str, Any] = field(default_factory=dict)
    links: dict[str, Any] = field(default_factory=dict)


@dataclass
class Data:
    """The content of a MemStore, kept by its path like a file."""

    metadata: dict[str, Any] | None = None
    rows: dict[str, dict[str, Row]] = field(default_factory=dict)
    #: Held by each read of the rows and by each save, which several threads call.
    lock: threading.RLock = field(default_factory=threading.RLock, repr=False, compare=False)

    def put(self, entity: str, reference: str, values: Mapping[str, Any], **links: Any) -> None:
        """Puts a row in, as if it had always been there."""
        self.rows.setdefault(entity, {})[reference] = Row(1, dict(values), links)


def with_subentities(entity: Entity) -> list[Entity]:
    return [entity, *(each for child in entity.children for each in with_subentities(child))]


class MemStore(IncrementalStore):
    """Rows in dictionaries. A node holds the attributes that the row has and, for a to-one relationship that it has,
    the target; it omits absent to-ones and every to-many."""

    kept: ClassVar[dict[str, Data]] = {}

    def __init__(self, opening: StoreOpening) -> None:
        super().__init__(opening)
        self.data = self.kept.setdefault(opening.path, Data())

    def load_metadata(self) -> Mapping[str, Any]:
        if self.data.metadata is None:
            if self.opening.must_exist:
                del self.kept[self.path]
                raise FileNotFoundError(self.path)
            self.data.metadata = dict(self.opening.metadata)
        return self.data.metadata

    @classmethod
    def metadata_for_store(cls, path: str) -> dict[str, Any]:
        known = cls.kept[path].metadata if path in cls.kept else None
        if known is None:
            raise FileNotFoundError(path)
        return known

    @classmethod
    def set_metadata_for_store(cls, path: str, values: Mapping[str, Any]) -> None:
        cls.metadata_for_store(path)
        cls.kept[path].metadata = dict(values)

    @classmethod
    def destroy_store(cls, path: str) -> None:
        cls.metadata_for_store(path)
        del cls.kept[path]

    def execute_fetch(self, request: FetchRequest) -> Any:
        entities = with_subentities(request.entity) if request.include_subentities else [request.entity]
        with self.data.lock:
            return [self.node(entity, name) for entity in entities for name in self.data.rows.get(entity.name, {})]

    def node(self, entity: Entity, reference: str) -> IncrementalStoreNode:
        row = self.data.rows[entity.name][reference]
        links = {
            name: None if link is None else self.row_id(*link)
            for name, link in row.links.items()
            if not entity.properties[name].is_to_many
        }
        return IncrementalStoreNode(self.row_id(entity, reference), {**row.values, **links}, row.version)

    def found(self, row: RowID) -> tuple[Entity, Row] | None:
        for entity in with_subentities(row.entity):
            known = self.data.rows.get(entity.name, {}).get(str(row.reference))
            if known is not None:
                return entity, known
        return None

    def new_values(self, ids: Sequence[RowID]) -> Iterable[IncrementalStoreNode]:
        for each in ids:
            with self.data.lock:
                known = self.found(each)
                node = None if known is None else self.node(known[0], str(each.reference))
            if node is not None:
                yield node

    def new_value_for_relationship(self, relationship: str, object_id: RowID) -> Any:
        with self.data.lock:
            return self.linked(relationship, object_id)

    def linked(self, relationship: str, object_id: RowID) -> Any:
        known = self.found(object_id)
        if known is None:
            return None
        entity, row = known
        description = entity.properties[relationship]
        link = row.links.get(relationship)
        if not description.is_to_many:
            return None if link is None else self.row_id(*link)
        inverse = self.inverse(description)
        members = list(link or ())
        if inverse is not None and not inverse.is_to_many:
            owned = [
                (own.name, name)
                for own in with_subentities(self.destination(description))
                for name, other in self.data.rows.get(own.name, {}).items()
                if (other.links.get(inverse.name) or ("", ""))[1] == object_id.reference
            ]
            members = [each for each in members if each in owned] + [each for each in owned if each not in members]
        return [self.row_id(*each) for each in members]

    def obtain_permanent_ids(self, objects: Sequence[IncrementalStoreNode]) -> Sequence[Any]:
        return [uuid4().hex for _ in objects]

    def save(self, request: SaveChangesRequest) -> Iterable[IncrementalStoreNode] | None:
        with self.data.lock:
            self.write(request)
        return None

    def write(self, request: SaveChangesRequest) -> None:
        based = [(node, node.old_version) for node in request.updated_objects]
        based += [(node, node.version) for node in (*request.deleted_objects, *request.locked_objects)]
        stale = []
        for node, version in based:
            known = self.found(node.object_id)
            if known is None or known[1].version != version:
                stale.append(node)
        for node in stale:
            request.add_conflict(node)
        if stale:
            return
        for node in (*request.inserted_objects, *request.updated_objects):
            entity, name = node.object_id.entity, str(node.reference)
            rows = self.data.rows.setdefault(entity.name, {})
            links = (
                {key: link for key, link in rows[name].links.items() if isinstance(link, list)} if name in rows else {}
            )
            rows[name] = Row(node.version, *split(entity.properties, node.values, links))
        for change in request.member_changes:
            known = self.found(change.owner)
            if known is not None:
                removed = set(map(pair, change.removed))
                before = [each for each in known[1].links.get(change.relationship) or () if each not in removed]
                now = change.members if change.is_ordered else change.added
                members = list(map(pair, now)) if change.is_ordered else [*before, *map(pair, now)]
                known[1].links[change.relationship] = list(dict.fromkeys(members))
        for node in request.deleted_objects:
            del self.data.rows[node.object_id.entity.name][str(node.reference)]
        if request.metadata is not None:
            self.data.metadata = request.metadata


def pair(row: RowID) -> tuple[str, str]:
    return row.entity.name, str(row.reference)


def split(
    properties: Mapping[str, PropertyDescription], values: Mapping[str, Any], links: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The attributes and the to-one targets of a row."""
    attributes = {name: value for name, value in values.items() if not properties[name].is_relationship}
    for name, value in values.items():
        if properties[name].is_relationship and not properties[name].is_to_many:
            links[name] = None if value is None else pair(value)
    return attributes, links


class PickleStore(AtomicStore):
    """One file with all rows."""

    def load_metadata(self) -> Mapping[str, Any] | None:
        file = Path(self.path)
        if not file.exists() or not file.stat().st_size:
            if self.opening.must_exist:
                raise FileNotFoundError(self.path)
            return None
        metadata: dict[str, Any] = pickle.loads(file.read_bytes())["metadata"]
        return metadata

    def load(self) -> Iterable[AtomicStoreCacheNode]:
        file = Path(self.path)
        if file.exists() and file.stat().st_size:
            for entity, reference, version, values in pickle.loads(file.read_bytes())["rows"]:
                yield AtomicStoreCacheNode(self.row_id(entity, reference), self._led(values), version)

    def _led(self, values: Mapping[str, Any]) -> dict[str, Any]:
        def row(value: Any) -> Any:
            if isinstance(value, _Link):
                return self.row_id(value.entity, value.reference)
            return [row(each) for each in value] if isinstance(value, list) else value

        return {name: row(value) for name, value in values.items()}

    def save(self, request: SaveChangesRequest) -> None:
        def plain(value: Any) -> Any:
            if isinstance(value, RowID):
                return _Link(value.entity.name, value.reference)
            return [plain(each) for each in value] if isinstance(value, list) else value

        rows = [
            (*_name(node.object_id), node.version, {name: plain(value) for name, value in node.values.items()})
            for node in request.cache_nodes()
        ]
        metadata = self.metadata if request.metadata is None else request.metadata
        Path(self.path).write_bytes(pickle.dumps({"metadata": metadata, "rows": rows}))

    @classmethod
    def metadata_for_store(cls, path: str) -> dict[str, Any]:
        metadata: dict[str, Any] = pickle.loads(Path(path).read_bytes())["metadata"]
        return metadata


@dataclass(frozen=True)
class _Link:
    entity: str
    reference: Any


def _name(row: Any) -> tuple[str, Any]:
    return row.entity.name, row.reference


def recorded(base: Any) -> Any:
    """A class of stores that records its calls: `log` in order, `counts`, and the last save."""

    class Recorded(base):  # type: ignore[misc]
        def __init__(self, opening: StoreOpening) -> None:
            super().__init__(opening)
            self.log: list[str] = []
            self.counts: Counter[str] = Counter()
            self.last_save = (0, 0, 0)
            self.requests: list[FetchRequest] = []
            self._noting = threading.Lock()

        def note(self, what: str, times: int = 1, shown: str | None = None) -> None:
            with self._noting:
                self.counts[what] += times
                self.log.append(shown or what)

        def load_metadata(self) -> Any:
            self.note("load_metadata")
            return super().load_metadata()

        def execute_fetch(self, request: FetchRequest) -> Any:
            self.note("fetch")
            self.requests.append(request)
            return super().execute_fetch(request)

        def new_values(self, ids: Sequence[RowID]) -> Any:
            self.note("new_values", len(ids))
            return super().new_values(ids)

        def new_values_for_relationship(self, relationship: str, ids: Sequence[RowID]) -> Any:
            self.note("relationship", len(ids), f"relationship {relationship}")
            return super().new_values_for_relationship(relationship, ids)

        def obtain_permanent_ids(self, objects: Sequence[IncrementalStoreNode]) -> Any:
            self.note("obtain_permanent_ids")
            return super().obtain_permanent_ids(objects)

        def save(self, request: SaveChangesRequest) -> Any:
            some = (request.inserted_objects, request.updated_objects, request.deleted_objects)
            self.last_save = (len(some[0]), len(some[1]), len(some[2]))
            self.note("save", shown="save {} {} {}".format(*self.last_save))
            return super().save(request)

        def did_register(self, ids: Sequence[RowID]) -> None:
            self.note("did_register", len(ids), "did_register")
            super().did_register(ids)

        def did_unregister(self, ids: Sequence[RowID]) -> None:
            self.note("did_unregister", len(ids), "did_unregister")
            super().did_unregister(ids)

    Recorded.__name__ = f"Recorded{base.__name__}"
    return Recorded


def known_type(name: str, kind: Any) -> str:
    """Registers a type unless it is known already; its name."""
    if name not in registered_store_types():
        register_store_type(name, kind)
    return name
