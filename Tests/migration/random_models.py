"""Random models, each with a version that a few random edits lead to, as source bundles."""

from __future__ import annotations

import copy
import random
from pathlib import Path
from typing import Callable
from xml.sax.saxutils import quoteattr

from source_models import Attribute, Entity, Property, Relationship, SourceModel

DEFAULTS = {
    "Integer 16": "-7", "Integer 32": "70000", "Integer 64": "9007199254740993", "Boolean": "YES", "Double": "0.1",
    "Float": "0.5", "String": "it's", "Date": "86400", "Decimal": "12.5", "URI": None, "UUID": None, "Binary": None,
    "Transformable": None,
}  # fmt: skip


def write_model(model: SourceModel, path: Path) -> None:
    """Writes the model as an `.xcdatamodel` folder."""

    def tag(kind: str, **given: object) -> str:
        shown = {key: "YES" if value is True else value for key, value in given.items() if value not in (None, False)}
        return f"<{kind} {' '.join(f'{key}={quoteattr(str(value))}' for key, value in shown.items())}"

    lines = ['<?xml version="1.0" encoding="UTF-8" standalone="yes"?>']
    lines.append('<model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">')
    for entity in model.entities.values():
        identifier = entity.identifier if entity.identifier != entity.name else None
        lines.append(
            tag(
                "entity",
                name=entity.name,
                parentEntity=entity.parent_name,
                isAbstract=entity.is_abstract,
                elementID=identifier,
            )
            + ">"
        )
        for each in entity.own:
            common = {
                "name": each.name,
                "optional": each.is_optional,
                "transient": each.is_transient,
                "elementID": each.identifier if each.identifier != each.name else None,
            }
            if isinstance(each, Attribute):
                key = "defaultDateTimeInterval" if each.type == "Date" else "defaultValueString"
                more: dict[str, object] = {"attributeType": each.type, key: each.default}
                more["allowsExternalBinaryDataStorage"] = each.is_external
                lines.append(tag("attribute", **common, **more) + "/>")
            else:
                more = {
                    "destinationEntity": each.destination_name,
                    "inverseName": each.inverse_name,
                    "inverseEntity": each.destination_name if each.inverse_name else None,
                    "deletionRule": "Nullify",
                    "toMany": each.is_to_many,
                    "ordered": each.is_ordered,
                    "maxCount": None if each.is_to_many else 1,
                }
                lines.append(tag("relationship", **common, **more) + "/>")
        lines.append("</entity>")
    path.mkdir(parents=True)
    (path / "contents").write_text("\n".join([*lines, "</model>", ""]), encoding="utf-8")


class RandomModels:
    """Makes a model, then edits it."""

    def __init__(self, seed: str) -> None:
        self.chance = random.Random(seed)
        self.serial = 0
        self.model = SourceModel()
        for _ in range(self.chance.randrange(2, 7)):
            self.add_entity()
        for _ in range(self.chance.randrange(4, 16)):
            self.add_attribute()
        for _ in range(self.chance.randrange(1, 8)):
            self.add_relationship()

    def edit(self) -> list[str]:
        """Makes some edits. Returns their names."""
        edits: list[Callable[[], object]] = [
            self.add_entity, self.add_attribute, self.add_attribute, self.add_relationship, self.remove_property,
            self.remove_property, self.rename_property, self.rename_property, self.swap_attributes, self.rename_entity,
            self.remove_entity, self.toggle_optional, self.toggle_transient, self.toggle_external, self.move_up,
            self.move_down, self.make_to_many, self.toggle_ordered, self.remove_inverse, self.add_inverse,
            self.widen_destination, self.add_parent, self.leave_parent, self.toggle_abstract, self.swap_entities,
            self.change_type,
        ]  # fmt: skip
        self.model = copy.deepcopy(self.model)
        done = []
        for _ in range(self.chance.randrange(1, 6)):
            made = self.chance.choice(edits)
            if made() is not False:
                done.append(made.__name__)
        return done

    # Parts

    def _name(self, prefix: str) -> str:
        self.serial += 1
        return f"{prefix}{self.chance.choice('abmzXYäé')}{self.serial}"

    def _any_entity(self) -> Entity:
        return self.chance.choice(list(self.model.entities.values()))

    def _all(self, kind: type) -> list[Property]:
        return [each for entity in self.model.entities.values() for each in entity.own if isinstance(each, kind)]

    def _attributes(self) -> list[Attribute]:
        return [each for each in self._all(Attribute) if isinstance(each, Attribute)]

    def _relationships(self) -> list[Relationship]:
        return [each for each in self._all(Relationship) if isinstance(each, Relationship)]

    def _is_free(self, name: str, entity: Entity) -> bool:
        family = [*entity.lineage, *entity.family()]
        return all(each.name != name and each.identifier != name for one in family for each in one.own)

    # Edits: False if there is nothing to edit

    def add_entity(self) -> None:
        name = self._name(self.chance.choice(["A", "e", "Z"])).capitalize()
        entity = Entity(name, self.model, None, self.chance.random() < 0.15, name)
        if self.model.entities and self.chance.random() < 0.5:
            entity.parent_name = self._any_entity().name
        self.model.entities[name] = entity

    def add_attribute(self) -> bool:
        entity = self._any_entity()
        # Siblings may have attributes of one name.
        name = self.chance.choice(["title", "count", self._name("p"), self._name("p")])
        if not self._is_free(name, entity):
            return False
        kind = self.chance.choice(list(DEFAULTS))
        if name == "title":
            kind = "String"
        if name == "count":
            kind = "Integer 32"
        default = DEFAULTS[kind] if self.chance.random() < 0.5 else None
        is_optional = default is None or self.chance.random() < 0.5
        is_external = kind == "Binary" and self.chance.random() < 0.5
        entity.own.append(Attribute(name, entity, kind, is_optional, False, name, default, is_external, None, None))
        return True

    def add_relationship(self) -> bool:
        entity, other = self._any_entity(), self._any_entity()
        name, back = self._name("r"), self._name("s")
        one, two = self.chance.random() < 0.5, self.chance.random() < 0.5
        has_inverse = self.chance.random() < 0.8

        def make(owner: Entity, target: Entity, word: str, inverse: str | None, is_to_many: bool) -> None:
            is_ordered = is_to_many and self.chance.random() < 0.4
            made = Relationship(
                word, owner, target.name, inverse, is_to_many, is_ordered, True, False, word, 0, 0 if is_to_many else 1
            )
            owner.own.append(made)

        make(entity, other, name, back if has_inverse else None, one)
        if has_inverse:
            make(other, entity, back, name, two)
        return True

    def remove_property(self) -> bool:
        found = self._all(Attribute) + self._all(Relationship)
        if not found:
            return False
        self._remove(self.chance.choice(found))
        return True

    def _remove(self, each: Property) -> None:
        if isinstance(each, Relationship):
            inverse = each.inverse
            if inverse is not None and inverse is not each:
                inverse.entity.own.remove(inverse)
        each.entity.own.remove(each)

    def rename_property(self) -> bool:
        found = self._all(Attribute) + self._all(Relationship)
        if not found:
            return False
        each = self.chance.choice(found)
        name = self._name("n")
        if isinstance(each, Relationship) and each.inverse is not None:
            each.inverse.inverse_name = name
        each.name = name
        return True

    def swap_attributes(self) -> bool:
        entity = self._any_entity()
        own = [each for each in entity.own if isinstance(each, Attribute)]
        if len(own) < 2:
            return False
        one, two = self.chance.sample(own, 2)
        one.name, two.name = two.name, one.name
        return True

    def rename_entity(self) -> None:
        self._rename(self._any_entity(), self._name("N"))

    def _rename(self, entity: Entity, name: str) -> None:
        former = entity.name
        for each in self._relationships():
            if each.destination_name == former:
                each.destination_name = name
        for other in self.model.entities.values():
            if other.parent_name == former:
                other.parent_name = name
        entity.name = name
        self.model.entities = {each.name: each for each in self.model.entities.values()}

    def swap_entities(self) -> bool:
        if len(self.model.entities) < 2:
            return False
        one, two = self.chance.sample(list(self.model.entities.values()), 2)
        first, second = one.name, two.name
        self._rename(one, "Meanwhile")
        self._rename(two, first)
        self._rename(one, second)
        return True

    def remove_entity(self) -> bool:
        if len(self.model.entities) < 2:
            return False
        entity = self._any_entity()
        for each in self._relationships():
            if entity in (each.entity, each.destination) and each in each.entity.own:
                self._remove(each)
        for other in entity.children:
            other.parent_name = entity.parent_name
        del self.model.entities[entity.name]
        return True

    def toggle_optional(self) -> bool:
        found = [each for each in self._attributes() if each.default is not None or not each.is_optional]
        if not found:
            return False
        each = self.chance.choice(found)
        each.is_optional = not each.is_optional
        return True

    def toggle_transient(self) -> bool:
        found = [each for each in self._attributes() if each.is_optional]
        if not found:
            return False
        each = self.chance.choice(found)
        each.is_transient = not each.is_transient
        return True

    def toggle_external(self) -> bool:
        found = [each for each in self._attributes() if each.type == "Binary"]
        if not found:
            return False
        each = self.chance.choice(found)
        each.is_external = not each.is_external
        return True

    def _move(self, each: Property, entity: Entity) -> None:
        each.entity.own.remove(each)
        each.entity = entity
        entity.own.append(each)
        if isinstance(each, Relationship) and each.inverse is not None:
            each.inverse.destination_name = entity.name

    def change_type(self) -> bool:
        kinds = ["Integer 16", "Integer 32", "Integer 64", "Boolean"]
        found = [each for each in self._attributes() if each.type in kinds]
        if not found:
            return False
        each = self.chance.choice(found)
        each.type, each.default = self.chance.choice([*kinds, "Double", "Decimal"]), "1"
        return True

    def move_up(self) -> bool:
        found = [
            each
            for each in self._all(Attribute) + self._all(Relationship)
            if each.entity.parent is not None
            and not any(
                other.name == each.name or other.identifier == each.identifier
                for one in each.entity.parent.family()
                for other in one.own
                if other is not each
            )
        ]
        if not found:
            return False
        each = self.chance.choice(found)
        assert each.entity.parent is not None
        self._move(each, each.entity.parent)
        return True

    def move_down(self) -> bool:
        found = [each for each in self._all(Attribute) + self._all(Relationship) if each.entity.children]
        if not found:
            return False
        each = self.chance.choice(found)
        self._move(each, self.chance.choice(each.entity.children))
        return True

    def make_to_many(self) -> bool:
        found = [each for each in self._relationships() if not each.is_to_many]
        if not found:
            return False
        each = self.chance.choice(found)
        each.is_to_many, each.maximum, each.is_ordered = True, 0, self.chance.random() < 0.5
        return True

    def toggle_ordered(self) -> bool:
        found = [each for each in self._relationships() if each.is_to_many]
        if not found:
            return False
        each = self.chance.choice(found)
        each.is_ordered = not each.is_ordered
        return True

    def remove_inverse(self) -> bool:
        found = [each for each in self._relationships() if each.inverse is not None and each.inverse is not each]
        if not found:
            return False
        each = self.chance.choice(found)
        assert each.inverse is not None
        each.inverse.entity.own.remove(each.inverse)
        each.inverse_name = None
        return True

    def add_inverse(self) -> bool:
        found = [each for each in self._relationships() if each.inverse_name is None]
        if not found:
            return False
        each = self.chance.choice(found)
        name, is_to_many = self._name("i"), self.chance.random() < 0.6
        is_ordered = is_to_many and self.chance.random() < 0.5
        target, most = each.destination, 0 if is_to_many else 1
        target.own.append(
            Relationship(name, target, each.entity.name, each.name, is_to_many, is_ordered, True, False, name, 0, most)
        )
        each.inverse_name = name
        return True

    def widen_destination(self) -> bool:
        """Changes the destination to its parent or child."""
        found = [each for each in self._relationships() if each.inverse_name is None]
        found = [each for each in found if each.destination.parent is not None or each.destination.children]
        if not found:
            return False
        each = self.chance.choice(found)
        near = [*each.destination.children, *([each.destination.parent] if each.destination.parent else [])]
        each.destination_name = self.chance.choice(near).name
        return True

    def add_parent(self) -> bool:
        entity = self._any_entity()
        name = self._name("P")
        self.model.entities[name] = Entity(name, self.model, entity.parent_name, self.chance.random() < 0.5, name)
        entity.parent_name = name
        return True

    def leave_parent(self) -> bool:
        """An entity becomes a root, with copies of what it inherited as attributes."""
        found = [each for each in self.model.entities.values() if each.parent is not None]
        if not found:
            return False
        entity = self.chance.choice(found)
        for ancestor in entity.lineage[1:]:
            for each in ancestor.own:
                if isinstance(each, Attribute):
                    kept = copy.copy(each)
                    kept.entity = entity
                    entity.own.append(kept)
        entity.parent_name = None
        return True

    def toggle_abstract(self) -> None:
        entity = self._any_entity()
        entity.is_abstract = not entity.is_abstract
