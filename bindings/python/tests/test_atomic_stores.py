"""Properties of stores that are loaded as a whole, with a file or without."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any

import pytest

from corestone import Container, Context, Model

ORGANISATION: dict[str, dict[str, Any]] = {
    "Owner": {
        "items": "to-many ordered Item inverse owner",
        "tags": "to-many Tag inverse owners",
        "places": "to-many ordered Place inverse owners",
    },
    "Item": {"number": "int = 0", "owner": "to-one Owner? inverse items"},
    "Tag": {"number": "int = 0", "owners": "to-many Owner inverse tags"},
    "Place": {"number": "int = 0", "owners": "to-many ordered Owner inverse places"},
}
RELATIONSHIPS = {"items": "Item", "tags": "Tag", "places": "Place"}


@pytest.mark.parametrize("kind", ["InMemory", "Binary"])
def test_deleting_all_members_of_an_owner_takes_linear_time(kind: str, tmp_path: Path) -> None:
    with Container(Model(ORGANISATION), tmp_path / "a.store", type=kind) as container:
        for name, entity in RELATIONSHIPS.items():
            context = container.context()
            owner = context.insert("Owner")
            setattr(owner, name, [context.insert(entity, number=number) for number in range(40_000)])
            context.save()
            context = container.context()
            for item in list(context.fetch(entity)):
                context.delete(item)
            begin = time.process_time()
            context.save()
            spent = time.process_time() - begin
            assert spent < 5, f"{name}: {spent:.1f} s of processor time"
            assert container.context().count(entity) == 0


@pytest.mark.parametrize("kind", ["InMemory", "Binary", "SQLite"])
def test_members_stay_in_order_after_random_changes(kind: str, tmp_path: Path) -> None:
    chance = random.Random(7)
    with Container(Model(ORGANISATION), tmp_path / "a.store", type=kind) as container:
        context = container.context()
        owner = context.insert("Owner")
        known: dict[str, list[int]] = {name: [] for name in RELATIONSHIPS}
        number = 0
        for _ in range(40):
            for name, entity in RELATIONSHIPS.items():
                members = list(getattr(owner, name))
                for item in chance.sample(members, len(members) // 3):
                    if chance.random() < 0.5:
                        context.delete(item)
                    else:
                        getattr(owner, name).remove(item)
                    known[name].remove(item.number)
                for _ in range(chance.randrange(30)):
                    number += 1
                    getattr(owner, name).add(context.insert(entity, number=number)) if name == "tags" else getattr(
                        owner, name
                    ).append(context.insert(entity, number=number))
                    known[name].append(number)
                others = [
                    item for item in context.fetch(entity) if item.number not in known[name] and not item.is_deleted
                ]
                for item in others[:5]:
                    getattr(owner, name).add(item) if name == "tags" else getattr(owner, name).append(item)
                    known[name].append(item.number)
            context.save()
            fresh: Context = container.context()
            (found,) = fresh.fetch("Owner")
            for name in RELATIONSHIPS:
                numbers = [item.number for item in getattr(found, name)]
                if name == "tags":
                    assert sorted(numbers) == sorted(known[name])
                else:
                    assert numbers == known[name]


@pytest.mark.parametrize("kind", ["InMemory", "XML", "Binary", "SQLite"])
def test_objects_with_a_null_unique_value_are_found(kind: str, tmp_path: Path) -> None:
    model = Model({"Book": {"@unique": [["isbn"]], "isbn": "string?"}})
    with Container(model, tmp_path / "a.store", type=kind) as container:
        context = container.context()
        for isbn in (None, "1", None):
            context.insert("Book", isbn=isbn)
        context.save()
        assert len(container.context().fetch("Book", "isbn == nil")) == 2


@pytest.mark.parametrize("kind", ["InMemory", "XML", "Binary", "SQLite"])
def test_member_that_returns_to_its_owner_is_found(kind: str, tmp_path: Path) -> None:
    with Container(Model(ORGANISATION), tmp_path / "a.store", type=kind) as container:
        context = container.context()
        owner = context.insert("Owner")
        items = [context.insert("Item", number=number, owner=owner) for number in range(3)]
        context.save()
        assert container.context().count("Item", "owner == %@", owner.id) == 3
        for item in items:
            for each in (None, owner):
                item.owner = each
                context.save()
        found = container.context().fetch("Item", "owner == %@", owner.id, sort="number")
        assert [item.number for item in found] == [0, 1, 2]
