"""Source models read without Corestone: the XML in `X.xcdatamodel/contents`, as far as a migration depends on it."""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Union

sys.path.append(str(Path(__file__).resolve().parents[1] / "support"))

from checkout import FIXTURES as FIXTURES


@dataclass(eq=False)
class Attribute:
    name: str
    entity: Entity
    type: str
    is_optional: bool
    is_transient: bool
    identifier: str
    default: str | None
    is_external: bool
    minimum: str | None
    maximum: str | None

    @property
    def stored_default(self) -> object:
        """The default as a column keeps it; None for none."""
        if self.default is None:
            return None
        if self.type == "Boolean":
            return 1 if self.default in ("YES", "1", "true") else 0
        if self.type.startswith("Integer"):
            return int(Decimal({"YES": "1", "NO": "0"}.get(self.default, self.default)))
        if self.type in ("Double", "Float", "Date"):
            return float(self.default)
        if self.type == "Decimal":
            number = float(self.default)
            return int(number) if number.is_integer() else number
        return self.default


@dataclass(eq=False)
class Relationship:
    name: str
    entity: Entity
    destination_name: str
    inverse_name: str | None
    is_to_many: bool
    is_ordered: bool
    is_optional: bool
    is_transient: bool
    identifier: str
    minimum: int
    maximum: int

    @property
    def destination(self) -> Entity:
        return self.entity.model.entities[self.destination_name]

    @property
    def inverse(self) -> Relationship | None:
        if self.inverse_name is None:
            return None
        found = self.destination.properties().get(self.inverse_name)
        return found if isinstance(found, Relationship) else None


Property = Union[Attribute, Relationship]


@dataclass(eq=False)
class Entity:
    name: str
    model: SourceModel
    parent_name: str | None
    is_abstract: bool
    identifier: str
    own: list[Property] = field(default_factory=list)
    unique: list[list[str]] = field(default_factory=list)

    @property
    def parent(self) -> Entity | None:
        return None if self.parent_name is None else self.model.entities[self.parent_name]

    @property
    def lineage(self) -> list[Entity]:
        """The entity and those that it inherits from, the root last."""
        return [self, *(self.parent.lineage if self.parent else [])]

    @property
    def root(self) -> Entity:
        return self.lineage[-1]

    @property
    def children(self) -> list[Entity]:
        children = [entity for entity in self.model.entities.values() if entity.parent_name == self.name]
        return sorted(children, key=lambda entity: entity.name.casefold())

    def family(self) -> Iterator[Entity]:
        """The entity and all that inherit from it, in preorder."""
        yield self
        for child in self.children:
            yield from child.family()

    def is_kind_of(self, other: Entity) -> bool:
        return other in self.lineage

    def properties(self) -> dict[str, Property]:
        """Stored properties by name, inherited ones included."""
        return {each.name: each for entity in reversed(self.lineage) for each in entity.own if not each.is_transient}


@dataclass(eq=False)
class SourceModel:
    entities: dict[str, Entity] = field(default_factory=dict)

    @property
    def roots(self) -> list[Entity]:
        roots = [entity for entity in self.entities.values() if entity.parent_name is None]
        return sorted(roots, key=lambda entity: entity.name.casefold())

    def preorder(self) -> list[Entity]:
        """The entities in the order of their numbers, which begin with 1."""
        return [entity for root in self.roots for entity in root.family()]

    def numbers(self) -> dict[str, int]:
        return {entity.name: place for place, entity in enumerate(self.preorder(), 1)}


def _is(element: ElementTree.Element, key: str) -> bool:
    return element.get(key) == "YES"


def _attribute(element: ElementTree.Element, entity: Entity) -> Attribute:
    name, kind = element.get("name", ""), element.get("attributeType") or "Undefined"
    default = element.get("defaultDateTimeInterval") if kind == "Date" else element.get("defaultValueString")
    return Attribute(
        name,
        entity,
        kind,
        _is(element, "optional"),
        _is(element, "transient") or kind == "Undefined",
        element.get("elementID") or name,
        default,
        _is(element, "allowsExternalBinaryDataStorage"),
        element.get("minValueString"),
        element.get("maxValueString"),
    )


def _relationship(element: ElementTree.Element, entity: Entity) -> Relationship:
    name = element.get("name", "")
    to_many = _is(element, "toMany")
    return Relationship(
        name,
        entity,
        element.get("destinationEntity", ""),
        element.get("inverseName"),
        to_many,
        _is(element, "ordered"),
        _is(element, "optional"),
        _is(element, "transient"),
        element.get("elementID") or name,
        int(element.get("minCount") or 0),
        int(element.get("maxCount") or 0) if to_many else 1,
    )


def read_model(path: Path) -> SourceModel:
    """The model of an `.xcdatamodel` folder."""
    model = SourceModel()
    for element in ElementTree.parse(path / "contents").getroot().iter("entity"):
        name = element.get("name", "")
        entity = Entity(
            name, model, element.get("parentEntity"), _is(element, "isAbstract"), element.get("elementID") or name
        )
        model.entities[name] = entity
        entity.own += [_attribute(each, entity) for each in element.iter("attribute")]
        entity.own += [_relationship(each, entity) for each in element.iter("relationship")]
        for constraint in element.iter("uniquenessConstraint"):
            entity.unique.append([each.get("value", "") for each in constraint.iter("constraint")])
    return model


@dataclass(frozen=True)
class Pair:
    """Two versions of a model: of `pairs.tsv`, or the first and the last version of a bundle."""

    bundle: str
    before: str
    after: str
    change: str
    #: The bundle, if it is not one of the fixtures.
    place: Path | None = None

    @property
    def path(self) -> Path:
        if self.place is not None:
            return self.place
        repository, _, path = self.bundle.partition(":")
        return FIXTURES / "source-models" / repository.replace("/", "+") / path

    def model(self, version: str) -> SourceModel:
        return read_model(self.path / f"{version}.xcdatamodel")

    def __str__(self) -> str:
        return f"{self.bundle} {self.before} -> {self.after}"


def pairs() -> list[Pair]:
    """All pairs: those of the list, then first -> last of each bundle that has more than two versions."""
    lines = (FIXTURES / "pairs.tsv").read_text(encoding="utf-8").splitlines()[1:]
    found = [Pair(fields[1], fields[2], fields[3], fields[5]) for fields in (line.split("\t") for line in lines)]
    steps: dict[str, list[Pair]] = {}
    for pair in found:
        steps.setdefault(pair.bundle, []).append(pair)
    ends = [Pair(bundle, each[0].before, each[-1].after, "first to last") for bundle, each in steps.items()]
    return found + [pair for pair in ends if len(steps[pair.bundle]) > 1]
