"""The migration policies that mapping models of the fixtures name: for the migration, and for the interpreter.

The classes belong to the programs that the mapping models are from. These do the same, apart from random values.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import corestone
from corestone import MigrationPolicy
from mapping_oracle import Interpreter, Made, Policy, Rule, Source


class PlainPolicy(MigrationPolicy):
    """The default."""


class V2to3MakerPolicy(MigrationPolicy):
    """Makers become objects, which are shared by the cars of one maker."""

    def create_destination_instances(self, source: Any, mapping: Any, manager: Any) -> None:
        super().create_destination_instances(source, mapping, manager)
        if source["maker"] is not None:
            (car,) = manager.destination_instances(mapping.name, [source])
            car["createdBy"] = shared(manager, "Maker", name=source["maker"])


class Country5ToCountry6Policy(MigrationPolicy):
    """Continents become objects, which are shared by the countries of one continent."""

    def create_destination_instances(self, source: Any, mapping: Any, manager: Any) -> None:
        super().create_destination_instances(source, mapping, manager)
        if source["isoContinent"] is not None:
            (country,) = manager.destination_instances(mapping.name, [source])
            country["continent"] = shared(manager, "Continent", numericISO3166Code=source["isoContinent"])


class Post2ToPost3MigrationPolicy(MigrationPolicy):
    """The content of a post becomes its first section."""

    def create_destination_instances(self, source: Any, mapping: Any, manager: Any) -> None:
        super().create_destination_instances(source, mapping, manager)
        (post,) = manager.destination_instances(mapping.name, [source])
        content = source["content"]
        title = None if content is None else content[:4] + "..."
        manager.destination_context.insert("Section", title=title, body=content, post=post, index=0)


class EvolutionPolicy(MigrationPolicy):
    """Two new attributes."""

    batch_safe = True

    def create_destination_instances(self, source: Any, mapping: Any, manager: Any) -> None:
        super().create_destination_instances(source, mapping, manager)
        for creature in manager.destination_instances(mapping.name, [source]):
            creature["hasVertebrae"] = source["dnaCode"] % 2 == 0
            creature["hasTail"] = source["dnaCode"] % 3 == 0


def shared(manager: Any, entity: str, **values: Any) -> Any:
    """The object with some values. Nothing is saved yet, so a fetch would not find it without its pending changes."""
    for each in manager.destination_context.known:
        if each.entity_name == entity and all(each[name] == value for name, value in values.items()):
            return each
    return manager.destination_context.insert(entity, **values)


CLASSES = {
    "PlainPolicy": PlainPolicy,
    "V2to3MakerPolicy": V2to3MakerPolicy,
    "Country5ToCountry6Policy": Country5ToCountry6Policy,
    "Post2ToPost3MigrationPolicy": Post2ToPost3MigrationPolicy,
    "Advanced_EvolutionDemo_V2_FromV1MigrationPolicy": EvolutionPolicy,
}


@contextmanager
def registered() -> Iterator[None]:
    """All of the policies, for the time of a migration."""
    for name, policy in CLASSES.items():
        corestone.register_migration_policy(name, policy)
    try:
        yield
    finally:
        for name in CLASSES:
            corestone.unregister_migration_policy(name)


# The same for the interpreter


def _created(run: Interpreter, rule: Rule, source: Source) -> Made:
    made = run.create(rule, source)
    assert made is not None
    return made


def _shared(run: Interpreter, entity: str, **values: Any) -> Made:
    for each in run.objects:
        if each.entity.name == entity and all(each.values[name] == value for name, value in values.items()):
            return each
    made = run.insert(entity)
    made.values.update(values)
    return made


def _maker(run: Interpreter, rule: Rule, source: Source) -> None:
    car = _created(run, rule, source)
    if source.get("maker") is not None:
        run.set(car, "createdBy", [_shared(run, "Maker", name=source.get("maker"))])


def _continent(run: Interpreter, rule: Rule, source: Source) -> None:
    country = _created(run, rule, source)
    if source.get("isoContinent") is not None:
        continent = _shared(run, "Continent", numericISO3166Code=source.get("isoContinent"))
        run.set(country, "continent", [continent])


def _section(run: Interpreter, rule: Rule, source: Source) -> None:
    post, content = _created(run, rule, source), source.get("content")
    section = run.insert("Section")
    section.values.update(title=None if content is None else content[:4] + "...", body=content, index=0)
    run.set(section, "post", [post])


def _evolution(run: Interpreter, rule: Rule, source: Source) -> None:
    creature, code = _created(run, rule, source), source.get("dnaCode")
    creature.values.update(hasVertebrae=int(code % 2 == 0), hasTail=int(code % 3 == 0))


INTERPRETED: dict[str, Policy] = {
    "PlainPolicy": Interpreter.create,
    "V2to3MakerPolicy": _maker,
    "Country5ToCountry6Policy": _continent,
    "Post2ToPost3MigrationPolicy": _section,
    "Advanced_EvolutionDemo_V2_FromV1MigrationPolicy": _evolution,
}
