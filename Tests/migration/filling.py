"""Fills a store of a source model with random objects, through the Python binding."""

from __future__ import annotations

import math
import random
import struct
import uuid
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import corestone
from source_models import Attribute, Entity, Property, Relationship, SourceModel

REFERENCE = datetime(2001, 1, 1, tzinfo=timezone.utc)
RANGES = {"Integer 16": 15, "Integer 32": 31, "Integer 64": 63}
TEXTS = ["", " ", "a", "Zoë ☂ 𝄞", 'it\'s "quoted"', "line\nbreak\ttab", "NULL", "0", "%_?*", "ﬁ", "e\u0301", "x" * 3000]


@dataclass
class Wishes:
    """What a migration needs of the rows so that it succeeds."""

    #: Entities without objects.
    empty: set[str] = field(default_factory=set)
    #: Attributes, by entity and name, that are never null.
    present: set[tuple[str, str]] = field(default_factory=set)
    #: Attributes whose values are all different.
    unique: set[tuple[str, str]] = field(default_factory=set)


class Filling:
    """At least `count` objects of each entity that has any, with random values and relationships."""

    def __init__(self, model: SourceModel, seed: str, wishes: Wishes | None = None, count: int = 20) -> None:
        self.model, self.count = model, count
        self.chance = random.Random(seed)
        self.wishes = wishes or Wishes()
        for entity in model.entities.values():
            for names in entity.unique:
                self.wishes.unique |= {(each.name, name) for each in entity.family() for name in names}
        self.objects: dict[str, list[Any]] = {name: [] for name in model.entities}
        self.serial = 0

    def write(self, path: Path, model: corestone.Model, history: bool = False) -> int:
        """Makes the store. Returns how many members all relationships have."""
        self.options: Any = {"history": history, "external_threshold": 200}
        with corestone.Container(model, path, **self.options) as container:
            context = container.context()
            for entity in self.model.entities.values():
                if not entity.is_abstract and entity.name not in self.wishes.empty:
                    for _ in range(self.count + self.chance.randrange(5)):
                        self._insert(context, entity)
            for relationship in self._relationships():
                self._relate(relationship)
            self._complete(context)
            context.save()
            self._touch()
            context.save()
        return self._count_members(path, model)

    def _count_members(self, path: Path, model: corestone.Model) -> int:
        """How many members all relationships have, as a new context reads them."""
        count = 0
        with corestone.Container(model, path, **self.options) as container, container.context() as context:
            for each in self._relationships():
                for item in context.fetch(each.entity.name):
                    value = item[each.name]
                    count += len(value) if each.is_to_many else int(value is not None)
        return count

    def _relationships(self) -> list[Relationship]:
        return [
            each
            for entity in self.model.entities.values()
            for each in entity.own
            if isinstance(each, Relationship) and not each.is_transient
        ]

    def _touch(self) -> None:
        """Changes some objects, so that versions differ, and the bits of changes in a history."""
        for name, objects in self.objects.items():
            entity = self.model.entities[name]
            properties = [each for each in entity.properties().values() if self._may_change(entity, each)]
            for item in self.chance.sample(objects, len(objects) // 2):
                for each in self.chance.sample(properties, min(len(properties), 3)):
                    if isinstance(each, Attribute):
                        self._set(item, entity, each)
                    else:
                        self._move(item, each)

    def _may_change(self, entity: Entity, each: Property) -> bool:
        if isinstance(each, Attribute):
            return (entity.name, each.name) not in self.wishes.unique
        inverse = each.inverse
        # Members that neither side requires can be removed from both.
        return self._needs(each) == 0 and (inverse is None or self._needs(inverse) == 0)

    def _move(self, item: Any, relationship: Relationship) -> None:
        targets = self._all(relationship.destination)
        if not targets or (relationship.inverse is None and relationship.is_to_many):
            return
        if relationship.is_to_many:
            limit = min(relationship.maximum or 3, len(targets), 3)
            item[relationship.name] = self.chance.sample(targets, self.chance.randrange(limit + 1))
        else:
            item[relationship.name] = self.chance.choice([None, self.chance.choice(targets)])

    # Attributes

    def _insert(self, context: Any, entity: Entity) -> Any:
        item = context.insert(entity.name)
        self.objects[entity.name].append(item)
        for each in entity.properties().values():
            if isinstance(each, Attribute):
                self._set(item, entity, each)
        return item

    def _set(self, item: Any, entity: Entity, each: Attribute) -> None:
        where = (entity.name, each.name)
        may_be_null = each.is_optional and where not in self.wishes.present
        if may_be_null and self.chance.random() < 0.2:
            item[each.name] = None
            return
        value = self.unique_value(each) if where in self.wishes.unique else self.value(each)
        if each.type == "Transformable":
            corestone.set_raw_value(item, each.name, value)
        else:
            item[each.name] = value

    def unique_value(self, each: Attribute) -> Any:
        self.serial += 1
        if each.type in RANGES or each.type in ("Double", "Float", "Decimal"):
            return self.serial
        if each.type == "Date":
            return REFERENCE + timedelta(seconds=self.serial)
        if each.type == "String":
            return f"unique {self.serial}"
        if each.type == "URI":
            return f"https://example.org/{self.serial}"
        if each.type == "Binary":
            return str(self.serial).encode()
        return self.value(each)

    def value(self, each: Attribute) -> Any:
        """A random value, often an extreme one."""
        chance, kind = self.chance, each.type
        if kind in RANGES:
            top = 2 ** RANGES[kind]
            least = math.ceil(float(each.minimum)) if each.minimum else -top
            most = math.floor(float(each.maximum)) if each.maximum else top - 1
            return chance.choice([least, most, max(least, min(0, most)), chance.randint(least, most)])
        if kind == "Boolean":
            return chance.random() < 0.5
        if kind in ("Double", "Float"):
            return self._real(each)
        if kind == "Decimal":
            return chance.choice(
                [Decimal("0.1"), Decimal(-3), Decimal("12345.678"), Decimal(chance.randrange(10**9)) / 100]
            )
        if kind == "Date":
            return REFERENCE + timedelta(seconds=chance.choice([0, -6e10, 2e11, chance.uniform(-1e9, 1e9), 86400]))
        if kind == "String":
            return self._text(each)
        if kind == "UUID":
            return uuid.UUID(int=chance.getrandbits(128))
        if kind == "URI":
            return chance.choice(["https://example.org/a?b=c#d", "", "urn:x", f"file:///{chance.random()}"])
        assert kind in ("Binary", "Transformable"), kind
        sizes = [0, 1, 38, 199, 200, 5000] if kind == "Binary" else [1, 100]
        first = chance.choice([b"", b"\x00", b"\x01", b"\x02"])
        return first + chance.randbytes(chance.choice(sizes))

    def _real(self, each: Attribute) -> float:
        least, most = float(each.minimum or "-inf"), float(each.maximum or "inf")
        extremes = [0.0, 0.1, -1.5, 1e300, -1e300, 5e-324] if each.type == "Double" else [0.0, 0.5, -3.4e38, 1e-45]
        number = self.chance.choice([*extremes, self.chance.uniform(-1000, 1000)])
        number = min(max(number, least), most)
        return number if each.type == "Double" else float(struct.unpack("f", struct.pack("f", number))[0])

    def _text(self, each: Attribute) -> str:
        text = self.chance.choice([*TEXTS, f"text {self.chance.randrange(10**9)}"])
        least = int(float(each.minimum)) if each.minimum else 0
        most = int(float(each.maximum)) if each.maximum else len(text)
        return text[:most].ljust(least, "-")

    # Relationships

    def _all(self, entity: Entity) -> list[Any]:
        return [item for each in entity.family() for item in self.objects[each.name]]

    def _relate(self, relationship: Relationship) -> None:
        """Sets a relationship from one of its sides, and orders both."""
        inverse = relationship.inverse
        if inverse is not None and inverse is not relationship and self._comes_first(inverse, relationship):
            if relationship.is_ordered:
                self._shuffle(relationship)
            return
        owners, targets = self._all(relationship.entity), self._all(relationship.destination)
        if not targets:
            return
        if relationship.is_to_many:
            left = self.chance.sample(targets, len(targets))
            for owner in owners:
                limit = min(self.chance.randrange((relationship.maximum or 4) + 1), len(left))
                owner[relationship.name] = self.chance.sample(left, limit)
                if inverse is None:  # a store keeps one owner of each member
                    left = [each for each in left if each not in owner[relationship.name]]
            if relationship.is_ordered:
                self._shuffle(relationship)
        else:
            for owner in owners:
                owner[relationship.name] = None if self.chance.random() < 0.25 else self.chance.choice(targets)

    def _comes_first(self, one: Relationship, other: Relationship) -> bool:
        """To-one sides first, since they reach more members than lists of a few would."""
        return (one.is_to_many, one.entity.name, one.name) < (other.is_to_many, other.entity.name, other.name)

    def _shuffle(self, relationship: Relationship) -> None:
        for owner in self._all(relationship.entity):
            members = list(owner[relationship.name])
            self.chance.shuffle(members)
            owner[relationship.name] = members

    def _needs(self, relationship: Relationship) -> int:
        if relationship.is_to_many:
            return 0 if relationship.is_optional else max(relationship.minimum, 1)
        return 0 if relationship.is_optional else 1

    def _complete(self, context: Any) -> None:
        """Fills required relationships; objects whose relationships cannot be filled are deleted."""
        for _ in range(8):
            lacking = [
                (item, each)
                for each in self._relationships()
                for item in self._all(each.entity)
                if self._lacks(item, each)
            ]
            if not lacking:
                return
            for item, each in lacking:
                if self._lacks(item, each):
                    self._give(context, item, each)
        while True:
            invalid = {
                id(item): (name, item)
                for name, objects in self.objects.items()
                for item in objects
                for each in self.model.entities[name].properties().values()
                if isinstance(each, Relationship) and self._lacks(item, each)
            }
            if not invalid:
                return
            for name, item in invalid.values():
                self.objects[name].remove(item)
                context.delete(item)
            context.process_pending_changes()
            self.objects = {
                name: [item for item in objects if not item.is_deleted and item.context is not None]
                for name, objects in self.objects.items()
            }

    def _lacks(self, item: Any, relationship: Relationship) -> bool:
        needed = self._needs(relationship)
        if not needed:
            return False
        value = item[relationship.name]
        return (len(value) if relationship.is_to_many else int(value is not None)) < needed

    def _give(self, context: Any, item: Any, relationship: Relationship) -> None:
        targets, inverse = self._all(relationship.destination), relationship.inverse
        if inverse is not None and not inverse.is_to_many:
            # Not one that another object needs as much.
            free = [each for each in targets if each[inverse.name] is None]
            if not free:
                concrete = [each for each in relationship.destination.family() if not each.is_abstract]
                if not concrete or len(targets) > 200:
                    return
                free = [self._insert(context, self.chance.choice(concrete))]
            targets = free
        if not targets:
            return
        if relationship.is_to_many:
            missing = self._needs(relationship) - len(item[relationship.name])
            item[relationship.name] = [
                *item[relationship.name],
                *self.chance.sample(targets, min(missing, len(targets))),
            ]
        else:
            item[relationship.name] = self.chance.choice(targets)
