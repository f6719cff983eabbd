"""What a mapping model makes of the objects of a store, interpreted from its XML. No Corestone code.

`MappingFile` reads `xcmapping.xml` (xml.etree, plistlib), `Interpreter` executes it on objects that plain `sqlite3`
read (stored.py): three passes over the entity mappings in their order. Setting a relationship sets its inverse, as in a
context. Values are those of columns.
"""

from __future__ import annotations

import base64
import operator
import re
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from editor_models import Archived, Unarchiver, read_editor_model
from oracle import CONSTRAINT, FAILED, Key, Refusal
from source_models import Attribute, Entity, Property, Relationship, SourceModel
from stored import Objects

ALL_MAPPINGS = "destinationInstancesForSourceRelationshipNamed:sourceInstances:"
ONE_MAPPING = "destinationInstancesForEntityMappingNamed:sourceInstances:"


class Now:
    """The time at which a value was computed."""

    def __repr__(self) -> str:
        return "the time of the migration"


NOW = Now()


# The file


@dataclass
class Element:
    """One object of the XML store."""

    kind: str
    values: dict[str, str] = field(default_factory=dict)
    references: dict[str, list[str]] = field(default_factory=dict)

    def text(self, name: str) -> str | None:
        """A missing and an empty text are the same to Xcode; `<` is `\\u3c00`, with the low byte first."""
        found = re.sub(
            r"\\u([0-9a-f]{2})([0-9a-f]{2})", lambda each: chr(int(each[2] + each[1], 16)), self.values.get(name, "")
        )
        return found or None

    @property
    def generates(self) -> bool:
        """Whether Xcode's compiler generates the expression that is missing."""
        return self.text("autogenerateexpression") != "0"


@dataclass
class Rule:
    """One entity mapping."""

    name: str
    source: str | None
    destination: str | None
    policy: str | None
    filter: str | None
    #: By property of the destination. None leaves the value as it is.
    attributes: dict[str, Expression | None] = field(default_factory=dict)
    relationships: dict[str, Expression | None] = field(default_factory=dict)


class MappingFile:
    """An `.xcmappingmodel`. The models are those that it contains, unless others are given."""

    def __init__(self, path: Path, source: SourceModel | None = None, destination: SourceModel | None = None) -> None:
        self.elements: dict[str, Element] = {}
        for each in ElementTree.parse(path / "xcmapping.xml").getroot().iter("object"):
            element = self.elements[each.get("id", "")] = Element(each.get("type", ""))
            for value in each.iter("attribute"):
                element.values[value.get("name", "")] = value.text or ""
            for reference in each.iter("relationship"):
                element.references[reference.get("name", "")] = (reference.get("idrefs") or "").split()
        (root,) = (each for each in self.elements.values() if each.kind == "XDDEVMAPPINGMODEL")
        self.source = source or read_editor_model(base64.b64decode(root.values["sourcemodeldata"]))
        self.destination = destination or read_editor_model(base64.b64decode(root.values["destinationmodeldata"]))
        mappings = sorted(self._related(root, "entitymappings"), key=lambda each: int(each.text("mappingnumber") or 0))
        self.rules = [self._rule(each) for each in mappings]

    def _related(self, element: Element, name: str) -> list[Element]:
        return [self.elements[each] for each in element.references.get(name, [])]

    def _rule(self, element: Element) -> Rule:
        source, destination = element.text("sourcename"), element.text("destinationname")
        name = element.text("name") or "To".join(each for each in (source, destination) if each)
        assert not element.text("sourceexpressiondata"), f"{name} has a source expression of its own"
        policy, predicate = element.text("migrationpolicyclassname"), element.text("sourcefilterpredicatestring")
        rule = Rule(name, source, destination, policy and policy.rpartition(".")[2], predicate)
        former = self.source.entities[source] if source else None
        for each in self._related(element, "attributemappings"):
            rule.attributes[each.values["name"]] = self._attribute(each, former)
        for each in self._related(element, "relationshipmappings"):
            rule.relationships[each.values["name"]] = self._relationship(each, former)
        return rule

    def _attribute(self, element: Element, former: Entity | None) -> Expression | None:
        given = _archived(element)
        if given is not None:
            return given
        name = element.values["name"]
        return KeyPath(Variable("source"), [name]) if former and name in former.properties() else None

    def _relationship(self, element: Element, former: Entity | None) -> Expression | None:
        given = _archived(element)
        if given is not None or not element.generates:
            return given
        name, path, mapping = element.values["name"], element.text("sourcekeypath"), element.text("sourcemappingname")
        if path:
            first, *keys = path.split(".")
            assert first == "$source", path
            sources: Expression = KeyPath(Variable("source"), keys)
        elif former and isinstance(former.properties().get(name), Relationship):
            sources = KeyPath(Variable("source"), [name])
        else:
            return None
        if mapping:
            return Message(Variable("manager"), ONE_MAPPING, [Constant(mapping), sources])
        return Message(Variable("manager"), ALL_MAPPINGS, [Constant(name), sources])


# Expressions


class Expression:
    def value(self, run: Interpreter, source: Source | None) -> Any:
        raise NotImplementedError


@dataclass
class Constant(Expression):
    constant: Any

    def value(self, run: Interpreter, source: Source | None) -> Any:
        return int(self.constant) if isinstance(self.constant, bool) else self.constant


@dataclass
class Variable(Expression):
    name: str

    def value(self, run: Interpreter, source: Source | None) -> Any:
        assert self.name in ("source", "manager"), self.name
        return source if self.name == "source" else run


@dataclass
class KeyPath(Expression):
    operand: Expression
    keys: list[str]

    def value(self, run: Interpreter, source: Source | None) -> Any:
        return follow(self.operand.value(run, source), self.keys)


@dataclass
class Message(Expression):
    receiver: Expression
    selector: str
    arguments: list[Expression]

    def value(self, run: Interpreter, source: Source | None) -> Any:
        if self.selector == "now":
            return NOW
        assert self.receiver.value(run, source) is run, f"{self.selector} is not sent to $manager"
        name, given = (each.value(run, source) for each in self.arguments)
        sources = given if isinstance(given, list) else [] if given is None else [given]
        if self.selector == ONE_MAPPING:
            return run.made(name, sources)
        assert self.selector == ALL_MAPPINGS, self.selector
        return run.made_by_all(sources)


def _archived(element: Element) -> Expression | None:
    data = element.text("valueexpressiondata")
    return None if data is None else _expression(Unarchiver(base64.b64decode(data)).root)


def _expression(archived: Archived) -> Expression:
    name = archived.class_name
    if name == "NSConstantValueExpression":
        return Constant(archived["NSConstantValue"])
    if name == "NSVariableExpression":
        return Variable(archived["NSVariable"])
    if name == "NSKeyPathExpression":
        (path,) = archived["NSArguments"]
        return KeyPath(_expression(archived["NSOperand"]), path["NSKeyPath"].split("."))
    assert name == "NSFunctionExpression", name
    return Message(
        _expression(archived["NSOperand"]),
        archived["NSSelectorName"],
        [_expression(each) for each in archived["NSArguments"]],
    )


@dataclass
class Former:
    """The former store."""

    model: SourceModel
    objects: Objects

    def sources(self, entity: str) -> list[Source]:
        """The objects of the very entity."""
        return [Source(key, self) for key, each in sorted(self.objects.items()) if each.entity == entity]


@dataclass(frozen=True)
class Source:
    """An object of the former store."""

    key: Key
    former: Former = field(repr=False, compare=False)

    def get(self, name: str) -> Any:
        """The value of an attribute, the object of a to-one relationship, or a list of members."""
        found = self.former.objects[self.key]
        each = self.former.model.entities[found.entity].properties()[name]
        if isinstance(each, Attribute):
            return found.values[name]
        members = [Source(key, self.former) for key in found.members[name]]
        return members if each.is_to_many else members[0] if members else None


def follow(value: Any, keys: list[str]) -> Any:
    """A key path as key-value coding follows it."""
    for place, key in enumerate(keys):
        if value is None:
            return None
        if key == "@distinctUnionOfSets":
            found = [one for each in value for one in follow(each, keys[place + 1 :])]
            return list(dict.fromkeys(found))
        assert not key.startswith("@"), key
        if isinstance(value, list):
            value = [one for one in (each.get(key) for each in value) if one is not None]
        else:
            value = value.get(key)
    return value


OPERATORS = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge,
}  # fmt: skip


def satisfies(source: Source, predicate: str | None) -> bool:
    """Whether an object satisfies comparisons of its attributes with constants, joined by AND."""
    for part in (predicate or "").split(" AND "):
        if not part:
            continue
        key, sign, constant = part.split(" ", 2)
        value = source.get(key)
        wanted: Any = None if constant == "nil" else constant[1:-1] if constant[0] in "\"'" else float(constant)
        is_ordered = sign not in ("==", "!=")
        if is_ordered and value is None:
            return False
        if not OPERATORS[sign](value, wanted):
            return False
    return True


# The execution


@dataclass(eq=False)
class Made:
    """An object of the new store."""

    entity: Entity
    values: dict[str, object] = field(default_factory=dict)
    members: dict[str, list[Made]] = field(default_factory=dict)

    def get(self, name: str) -> Any:
        return self.values[name] if name in self.values else self.members[name]


#: What a policy does instead of the default, by its class.
Policy = Callable[["Interpreter", Rule, Source], object]


class Interpreter:
    def __init__(self, mapping: MappingFile, objects: Objects, policies: dict[str, Policy]) -> None:
        self.mapping, self.policies = mapping, policies
        self.former = Former(mapping.source, objects)
        self.objects: list[Made] = []
        self.pairs: list[list[tuple[Source, Made]]] = [[] for _ in mapping.rules]
        self.refusals: list[Refusal] = []
        #: Attributes, by entity and name, that have the time of the migration.
        self.times: set[tuple[str, str]] = set()

    def run(self) -> list[Made]:
        for rule in self.mapping.rules:
            for source in self._sources(rule):
                policy = self.policies[rule.policy] if rule.policy else Interpreter.create
                policy(self, rule, source)
        for rule, pairs in zip(self.mapping.rules, self.pairs):
            for source, made in pairs:
                self._relate(rule, source, made)
        self._validate()
        return self.objects

    def _sources(self, rule: Rule) -> list[Source]:
        if rule.source is None:
            return []
        return [each for each in self.former.sources(rule.source) if satisfies(each, rule.filter)]

    # What policies can call

    def insert(self, name: str) -> Made:
        """A new object with the default values of its attributes."""
        entity = self.mapping.destination.entities[name]
        made = Made(entity)
        for each in entity.properties().values():
            if isinstance(each, Attribute):
                made.values[each.name] = each.stored_default
            else:
                made.members[each.name] = []
        self.objects.append(made)
        return made

    def create(self, rule: Rule, source: Source) -> Made | None:
        """The default: one object with its attributes."""
        if rule.destination is None:
            return None
        made = self.insert(rule.destination)
        for name, expression in rule.attributes.items():
            if expression is not None:
                made.values[name] = expression.value(self, source)
                if made.values[name] is NOW:
                    self.times.add((rule.destination, name))
        self.pairs[self.mapping.rules.index(rule)].append((source, made))
        return made

    def set(self, made: Made, name: str, members: list[Made]) -> None:
        """Sets a relationship; its inverse follows."""
        relationship = made.entity.properties()[name]
        assert isinstance(relationship, Relationship)
        for each in [each for each in made.members[name] if each not in members]:
            self._unlink(relationship, made, each)
        for each in members:
            if each not in made.members[name]:
                self._link(relationship, made, each)
        made.members[name] = list(members)

    def add(self, made: Made, name: str, member: Made) -> None:
        self.set(made, name, [*made.members[name], member])

    # The functions of `$manager`

    def made(self, name: str, sources: list[Source]) -> list[Made]:
        """What one mapping made of some objects."""
        (place,) = (place for place, rule in enumerate(self.mapping.rules) if rule.name == name)
        return [made for source in sources for one, made in self.pairs[place] if one == source]

    def made_by_all(self, sources: list[Source]) -> list[Made]:
        """What all mappings made of some objects."""
        return [made for source in sources for pairs in self.pairs for one, made in pairs if one == source]

    # Relationships

    def _relate(self, rule: Rule, source: Source, made: Made) -> None:
        for name, expression in rule.relationships.items():
            if expression is None:
                continue
            relationship = made.entity.properties()[name]
            assert isinstance(relationship, Relationship)
            members: list[Made] = []
            for each in expression.value(self, source) or []:
                # Of what all mappings made of an object, only some can be members.
                if each not in members and each.entity.is_kind_of(relationship.destination):
                    members.append(each)
            self.set(made, name, members if relationship.is_to_many else members[:1])

    def _link(self, relationship: Relationship, owner: Made, member: Made) -> None:
        if not relationship.is_to_many:
            for each in list(owner.members[relationship.name]):
                self._unlink(relationship, owner, each)
        inverse = relationship.inverse
        if inverse is not None and not inverse.is_to_many:
            for each in list(member.members[inverse.name]):
                self._unlink(relationship, each, member)
        owner.members[relationship.name].append(member)
        if inverse is not None and owner not in member.members[inverse.name]:
            member.members[inverse.name].append(owner)

    def _unlink(self, relationship: Relationship, owner: Made, member: Made) -> None:
        owner.members[relationship.name].remove(member)
        inverse = relationship.inverse
        if inverse is not None and owner in member.members[inverse.name]:
            member.members[inverse.name].remove(owner)

    # Validation

    def _refuse(self, reason: str, code: int = FAILED) -> None:
        if Refusal(code, reason) not in self.refusals:
            self.refusals.append(Refusal(code, reason))

    def _validate(self) -> None:
        for made in self.objects:
            for each in made.entity.properties().values():
                if self._is_missing(made, each):
                    self._refuse(f"{made.entity.name}.{each.name} is required")
        for entity in self.mapping.destination.entities.values():
            for names in entity.unique:
                groups = Counter(
                    tuple(repr(each.values[name]) for name in names)
                    for each in self.objects
                    if each.entity.is_kind_of(entity) and all(each.values[name] is not None for name in names)
                )
                if max(groups.values(), default=0) > 1:
                    self._refuse(f"{entity.name}.{'.'.join(names)} is not unique", CONSTRAINT)

    def _is_missing(self, made: Made, each: Property) -> bool:
        if isinstance(each, Attribute):
            return made.values[each.name] is None and not each.is_optional
        return not each.is_optional and len(made.members[each.name]) < max(each.minimum, 1)
