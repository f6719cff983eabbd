"""The expected result of an inferred migration, from two source models and the rows of a store. No Corestone code.

Entities and properties correspond by their renaming identifiers (`elementID`), or their names, on both sides; the
properties of entities with equal version hashes by name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from source_models import Attribute, Entity, Property, Relationship, SourceModel
from stored import Object, Objects

NOT_INFERABLE, FAILED, CONSTRAINT = 134190, 134110, 134111

Key = tuple[str, int]
#: Of a relationship: owner, member and the place of the member among the owner's.
LinkSet = dict[tuple[Key, Key], int]


@dataclass(frozen=True)
class Refusal:
    code: int
    reason: str


class Correspondence:
    """Which entity and property became which, and what keeps that from being inferred."""

    def __init__(
        self, before: SourceModel, after: SourceModel, equal: set[str], allows_type_changes: bool = False
    ) -> None:
        self.before, self.after = before, after
        self.allows_type_changes = allows_type_changes
        self.refusals: list[Refusal] = []
        self.sources: dict[str, Entity] = {}
        self.destinations: dict[str, Entity] = {}
        #: By the new entity: the former property of each new one.
        self.properties: dict[str, dict[str, Property]] = {}
        self._pair_entities()
        self._check_trees()
        for name, former in self.sources.items():
            self._pair_properties(former, after.entities[name], former.name == name and name in equal)

    def _refuse(self, reason: str) -> None:
        self.refusals.append(Refusal(NOT_INFERABLE, reason))

    def _pair_entities(self) -> None:
        former: dict[str, list[Entity]] = {}
        for entity in self.before.entities.values():
            former.setdefault(entity.identifier, []).append(entity)
        wanted = Counter(entity.identifier for entity in self.after.entities.values())
        for identifier, count in wanted.items():
            if count > 1:
                self._refuse(f"{count} entities answer to {identifier}")
        for entity in self.after.entities.values():
            found = former.get(entity.identifier, [])
            if len(found) > 1:
                self._refuse(f"{len(found)} former entities answer to {entity.identifier}")
            elif found:
                self.sources[entity.name] = found[0]
                self.destinations[found[0].name] = entity

    def _check_trees(self) -> None:
        for root in self.after.roots:
            roots = {self.sources[each.name].root.name for each in root.family() if each.name in self.sources}
            if len(roots) > 1:
                self._refuse(f"the trees {', '.join(sorted(roots))} merge under {root.name}")

    def _pair_properties(self, former: Entity, entity: Entity, is_equal: bool) -> None:
        def name(each: Property) -> str:
            return each.name if is_equal else each.identifier

        pairs = self.properties[entity.name] = {}
        candidates = {name(each): each for each in former.properties().values()}
        wanted = Counter(name(each) for each in entity.properties().values())
        for identifier, count in wanted.items():
            if count > 1:
                self._refuse(f"{count} properties of {entity.name} answer to {identifier}")
        for each in entity.properties().values():
            found = candidates.get(name(each))
            if found is not None:
                pairs[each.name] = found
                if each.entity is entity or each.entity.name not in self.sources:
                    self._check(found, each, entity)

    def _check(self, former: Property, each: Property, entity: Entity) -> None:
        where = f"{entity.name}.{each.name}"
        if isinstance(former, Attribute) and isinstance(each, Attribute):
            if former.type != each.type and not (self.allows_type_changes and converts(former.type, each.type)):
                self._refuse(f"{where}: {former.type} to {each.type}")
        elif isinstance(former, Relationship) and isinstance(each, Relationship):
            if former.is_to_many and not each.is_to_many:
                self._refuse(f"{where}: to-many to to-one")
            self._check_destination(former, each, where)
        else:
            self._refuse(f"{where}: attribute and relationship")

    def _check_destination(self, former: Relationship, each: Relationship, where: str) -> None:
        now = self.destinations.get(former.destination.name)
        if now is None:
            if not any(child.name in self.destinations for child in former.destination.family()):
                self._refuse(f"{where}: leads to {former.destination.name}, which is gone")
        elif now.root is not each.destination.root:
            self._refuse(f"{where}: leads to {former.destination.name} and to {each.destination.name}")

    @property
    def changed_equal(self) -> list[str]:
        """Properties of which another value would be kept if version hashes did not count."""
        found = []
        for name, pairs in self.properties.items():
            for each in self.after.entities[name].properties().values():
                former = pairs.get(each.name)
                if former is not None and former.identifier != each.identifier:
                    found.append(f"{name}.{each.name}")
        return found


INTEGERS: dict[str, tuple[int, int]] = {
    "Boolean": (0, 1),
    "Integer 16": (-(2**15), 2**15 - 1),
    "Integer 32": (-(2**31), 2**31 - 1),
    "Integer 64": (-(2**63), 2**63 - 1),
}


def converts(former: str, now: str) -> bool:
    """Whether the oracle can convert values of a type to another one: they are unchanged in the file."""
    return former in INTEGERS and (now in INTEGERS or now in ("Decimal", "Double"))


def fits(value: object, former: str, now: str) -> bool:
    """Whether another type can hold a stored value exactly."""
    if value is None or former == now:
        return True
    assert isinstance(value, int)
    if now in INTEGERS:
        least, most = INTEGERS[now]
        return least <= value <= most
    return now == "Decimal" or float(value) == value


@dataclass
class Expectation:
    objects: Objects = field(default_factory=dict)
    refusals: list[Refusal] = field(default_factory=list)
    #: Relationships that became each other's inverse, and whose pairs differ: those of the to-one side count.
    contradictions: list[str] = field(default_factory=list)


class Migration:
    """Computes what the objects of a store become."""

    def __init__(self, pairs: Correspondence, objects: Objects) -> None:
        self.pairs, self.former = pairs, objects
        self.result = Expectation(refusals=list(pairs.refusals))

    def run(self) -> Expectation:
        if not self.result.refusals:
            for key, each in self.former.items():
                self._keep(key, each)
            self._link()
            self._check_constraints()
        return self.result

    def _new_key(self, key: Key, each: Object) -> Key | None:
        entity = self.pairs.destinations.get(each.entity)
        return None if entity is None else (entity.root.name, key[1])

    def _keep(self, key: Key, each: Object) -> None:
        new = self._new_key(key, each)
        if new is None:
            return
        entity = self.pairs.destinations[each.entity]
        if entity.is_abstract:
            self._refuse_rows(f"{entity.name} is abstract")
        kept = self.result.objects[new] = Object(entity.name, each.version)
        for attribute in entity.properties().values():
            if isinstance(attribute, Attribute):
                kept.values[attribute.name] = self._value(attribute, entity, each)
            else:
                kept.members[attribute.name] = []

    def _refuse_rows(self, reason: str, code: int = FAILED) -> None:
        refusal = Refusal(code, reason)
        if refusal not in self.result.refusals:
            self.result.refusals.append(refusal)

    def _value(self, attribute: Attribute, entity: Entity, each: Object) -> object:
        former = self.pairs.properties[entity.name].get(attribute.name)
        value: object = None
        if former is None:
            value = attribute.stored_default
        else:
            value = each.values[former.name]
            assert isinstance(former, Attribute)
            if not fits(value, former.type, attribute.type):
                self._refuse_rows(f"{entity.name}.{attribute.name}: {attribute.type} cannot hold a value")
            if value is None and former.is_optional and not attribute.is_optional:
                value = attribute.stored_default
        was_optional = former is None or former.is_optional
        if value is None and not attribute.is_optional and was_optional:
            self._refuse_rows(f"{entity.name}.{attribute.name} is required")
        return value

    # Relationships

    def _link(self) -> None:
        done: set[Relationship] = set()
        for relationship in self._relationships():
            if relationship not in done:
                inverse = relationship.inverse
                done |= {relationship} if inverse is None else {relationship, inverse}
                self._link_both(relationship, inverse)

    def _relationships(self) -> Iterator[Relationship]:
        for entity in self.pairs.after.entities.values():
            yield from (each for each in entity.own if isinstance(each, Relationship) and not each.is_transient)

    def _link_both(self, relationship: Relationship, inverse: Relationship | None) -> None:
        own = self._former_links(relationship)
        other = None if inverse is None or inverse is relationship else self._former_links(inverse)
        turned = None if other is None else {(member, owner): place for (owner, member), place in other.items()}
        if own is None and turned is None:
            return
        links = own if own is not None else turned
        assert links is not None
        if own is not None and turned is not None and inverse is not None and set(own) != set(turned):
            where = f"{relationship.entity.name}.{relationship.name}"
            self.result.contradictions.append(where)
            if relationship.is_to_many == inverse.is_to_many:
                self._refuse_rows(f"{where} and its inverse differ")
            else:
                # The column of a to-one relationship is what a store keeps.
                links, many, other_links = (
                    (turned, relationship, own) if relationship.is_to_many else (own, inverse, turned)
                )
                if self._has_storage(many) and set(other_links) - set(links):
                    self._refuse_rows(f"{where} and its inverse differ")
        self._crowds(relationship, inverse, set(links))
        self._note(relationship, {each: (own or {}).get(each, 0) for each in links})
        if inverse is not None and inverse is not relationship:
            self._note(inverse, {(member, owner): (other or {}).get((member, owner), 0) for owner, member in links})

    def _has_storage(self, relationship: Relationship) -> bool:
        """Whether the former to-many relationship had a join table or column, not the key of a to-one inverse."""
        for entity in relationship.entity.family():
            source = self.pairs.properties.get(entity.name, {}).get(relationship.name)
            if isinstance(source, Relationship):
                return not source.is_to_many or source.inverse is None or source.inverse.is_to_many
        return False

    def _crowds(self, relationship: Relationship, inverse: Relationship | None, links: set[tuple[Key, Key]]) -> None:
        owners, members = Counter(each[0] for each in links), Counter(each[1] for each in links)
        many_owners = inverse.is_to_many if inverse is not None else not relationship.is_to_many
        if not relationship.is_to_many and max(owners.values(), default=0) > 1:
            self._refuse_rows(f"{relationship.entity.name}.{relationship.name} has several members")
        if not many_owners and max(members.values(), default=0) > 1:
            self._refuse_rows(f"{relationship.entity.name}.{relationship.name}: a member has several owners")

    def _former_links(self, relationship: Relationship) -> LinkSet | None:
        """The pairs that the relationship had, in new keys; None for a relationship that is new."""
        found: LinkSet = {}
        is_known = False
        for entity in relationship.entity.family():
            is_known |= relationship.name in self.pairs.properties.get(entity.name, {})
        for key, each in self.former.items():
            owner, now = self._new_key(key, each), self.pairs.destinations.get(each.entity)
            if owner is None or now is None or not now.is_kind_of(relationship.entity):
                continue
            source = self.pairs.properties[now.name].get(relationship.name)
            if source is None:
                continue
            for place, member in enumerate(each.members[source.name]):
                target = self._new_key(member, self.former[member])
                if target is not None and self._is_kind(member, relationship.destination):
                    found[owner, target] = place
        return found if is_known else None

    def _is_kind(self, key: Key, entity: Entity) -> bool:
        return self.pairs.destinations[self.former[key].entity].is_kind_of(entity)

    def _note(self, relationship: Relationship, links: LinkSet) -> None:
        for (owner, member), _ in sorted(links.items(), key=lambda each: each[1]):
            self.result.objects[owner].members[relationship.name].append(member)

    def keeps_order(self, relationship: Relationship, entity: str) -> bool:
        source = self.pairs.properties[entity].get(relationship.name)
        return relationship.is_ordered and isinstance(source, Relationship) and source.is_ordered

    # Constraints

    def _check_constraints(self) -> None:
        for entity in self.pairs.after.entities.values():
            for names in entity.unique:
                groups = Counter(
                    tuple(repr(each.values[name]) for name in names)
                    for each in self.result.objects.values()
                    if self.pairs.after.entities[each.entity].is_kind_of(entity)
                    and all(each.values.get(name) is not None for name in names)
                )
                if max(groups.values(), default=0) > 1:
                    self._refuse_rows(f"{entity.name}.{'.'.join(names)} is not unique", CONSTRAINT)


@dataclass
class Comparison:
    compared: int = 0
    differences: list[str] = field(default_factory=list)
    #: Members that were there, so that an empty result cannot pass for an equal one.
    members: int = 0

    def check(self, where: str, wanted: object, found: object) -> None:
        self.compared += 1
        if not same(wanted, found):
            self.differences.append(f"{where}: {wanted!r:.90} expected, {found!r:.90} found")


def same(wanted: object, found: object) -> bool:
    numbers = (int, float)
    if isinstance(wanted, numbers) and isinstance(found, numbers):
        return wanted == found or (wanted != wanted and found != found)
    return type(wanted) is type(found) and wanted == found


def compare(migration: Migration, found: Objects) -> Comparison:
    """The migrated objects beside the expected ones: entity, version, each attribute, each relationship."""
    wanted, result = migration.result.objects, Comparison()
    for key in sorted(set(wanted) ^ set(found)):
        result.check(
            f"{key[0]} {key[1]}", "a row" if key in wanted else "no row", "a row" if key in found else "no row"
        )
    for key, each in wanted.items():
        if key not in found:
            continue
        other, where = found[key], f"{each.entity} {key[1]}"
        result.check(f"{where}, entity", each.entity, other.entity)
        result.check(f"{where}, version", each.version, other.version)
        for name, value in each.values.items():
            result.check(f"{where}.{name}", value, other.values.get(name, "no value"))
        properties = migration.pairs.after.entities[each.entity].properties()
        for name, members in each.members.items():
            relationship = properties[name]
            assert isinstance(relationship, Relationship)
            is_list = migration.keeps_order(relationship, each.entity)
            there = other.members.get(name, [])
            result.members += len(members)
            if is_list:
                result.check(f"{where}.{name}", members, there)
            else:
                result.check(f"{where}.{name}", sorted(members), sorted(there))
    return result
