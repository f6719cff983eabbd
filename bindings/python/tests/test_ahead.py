"""Reading ahead is not to be seen, but for the time that it saves."""

from __future__ import annotations

import gc
import threading
import weakref
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from corestone import Context, ObjectGoneError, WrongThreadError
from corestone._abi import wrappers
from corestone._abi.stamps import Stamp

pytestmark = pytest.mark.skipif(wrappers.accelerator is not None, reason="the accelerator does not read ahead")

EPOCH = datetime(2020, 1, 1, tzinfo=timezone.utc)


@pytest.fixture
def people(ctx: Context) -> Any:
    for at in range(40):
        ctx.insert(
            "Employee",
            name=f"N{at:02}",
            notes=None if at % 3 else f"nick {at}",
            age=at,
            number=at * 10**12,
            salary=Decimal(at) / 4,
            rating=at / 8,
            active=at % 2 == 0,
            hired=EPOCH + timedelta(days=at),
            badge=UUID(int=at),
            site=f"https://example.org/{at}",
            photo=bytes([at]),
        )
    ctx.save()
    return ctx.fetch("Employee", sort="name")


def read_all(people: Any) -> list[Any]:
    """Reads ahead: afterwards the attributes of all come from lists."""
    return [(person.name, person.age) for person in people]


def is_ahead(person: Any, name: str) -> bool:
    ahead = person._cst_ahead
    return (
        ahead is not None
        and ahead.stamp is person.context._mark.stamp
        and person._cst_properties[name].key in ahead.columns
    )


def test_prefetched_values_equal_those_read_one_by_one(people: Any) -> None:
    names = ("name", "notes", "age", "number", "salary", "rating", "active", "hired", "badge", "site", "photo")
    kept = list(people)
    ahead = [[getattr(person, name) for name in names] for person in kept]
    assert is_ahead(kept[0], "hired")
    assert not is_ahead(kept[0], "photo")
    people[0].context._mark.stamp = Stamp()
    one_by_one = [list(people[at].get(*names)) for at in range(len(people))]
    assert ahead == one_by_one
    assert [[type(value) for value in row] for row in ahead] == [[type(value) for value in row] for row in one_by_one]


def test_changed_value_replaces_the_prefetched_value(people: Any) -> None:
    kept = list(people)
    read_all(people)
    assert is_ahead(kept[5], "age")
    kept[5].age = 99
    assert kept[5].age == 99
    read_all(people)
    kept[6].set(age=98, name="New")
    assert (kept[6].age, kept[6].name) == (98, "New")
    read_all(people)
    kept[7]["age"] = 97
    assert kept[7].age == 97
    read_all(people)
    people[0].context.rollback()
    assert [person.age for person in kept[5:8]] == [5, 6, 7]


def test_objects_can_be_changed_while_results_are_iterated(people: Any) -> None:
    for person in people:
        person.age = person.age + 100
        person.notes = f"{person.name} {person.age}"
    assert [person.age for person in people] == list(range(100, 140))
    assert [person.notes for person in people] == [f"N{at:02} {at + 100}" for at in range(40)]


def test_setting_a_key_path_updates_the_prefetched_target(people: Any, ctx: Context) -> None:
    boss = ctx.insert("Manager", name="Boss", age=50)
    people[0].manager = boss
    ctx.save()
    found = ctx.fetch("Manager")
    kept = [*found, *list(people)]
    read_all(people)
    people[0]["manager.age"] = 51
    assert kept[0].age == 51


def test_refresh_replaces_prefetched_values(people: Any, ctx: Context) -> None:
    kept = list(people)
    read_all(people)
    other = ctx.container.context()
    other.get(kept[3].id).age = 77
    other.save()
    assert kept[3].age == 3
    ctx.refresh(kept[3])
    assert kept[3].age == 77
    read_all(people)
    other.get(kept[4].id).age = 78
    other.save()
    ctx.refresh_all()
    assert kept[4].age == 78


def test_prefetched_values_are_dropped_when_objects_are_invalidated(people: Any, ctx: Context) -> None:
    kept = list(people)
    read_all(people)
    ctx.delete(kept[0])
    ctx.save()
    with pytest.raises(ObjectGoneError):
        _ = kept[0].name
    # The others of its block are read one by one, or again ahead, but right.
    assert [person.name for person in kept[1:4]] == ["N01", "N02", "N03"]
    assert [person.age for person in kept[1:]] == list(range(1, 40))
    ctx.reset()
    for person in kept[1:3]:
        with pytest.raises(ObjectGoneError):
            _ = person.name


def test_prefetched_value_cannot_be_read_on_another_thread(people: Any) -> None:
    kept = list(people)
    read_all(people)
    read_all(people)
    assert is_ahead(kept[1], "name")
    seen: list[type[BaseException]] = []

    def misuse() -> None:
        for _ in range(3):
            try:
                _ = kept[1].name
            except WrongThreadError as error:
                seen.append(type(error))

    thread = threading.Thread(target=misuse)
    thread.start()
    thread.join()
    assert seen == [WrongThreadError] * 3
    assert kept[1].name == "N01"


def test_prefetched_value_of_a_private_context_needs_its_queue(people: Any, ctx: Context) -> None:
    background = ctx.container.background_context()
    kept = background.perform_and_wait(lambda: list(background.fetch("Employee", sort="name")))
    for _ in range(2):
        assert background.perform_and_wait(lambda: [person.age for person in kept]) == list(range(40))
    with pytest.raises(WrongThreadError):
        _ = kept[3].age


def test_prefetching_returns_attributes_of_subentities(ctx: Context) -> None:
    for at in range(4):
        ctx.insert("Manager", name=f"M{at}", bonus=float(at))
        ctx.insert("Employee", name=f"N{at}")
    ctx.save()
    found = ctx.fetch("Employee", sort="name")
    for _ in range(3):
        shown = [(each.name, each.bonus if each.entity_name == "Manager" else None) for each in found]
        assert shown == [(f"M{at}", float(at)) for at in range(4)] + [(f"N{at}", None) for at in range(4)]


def test_large_texts_are_not_prefetched(ctx: Context) -> None:
    ctx.insert_many("Project", [{"title": f"{at}" + "x" * 400_000} for at in range(6)])
    ctx.save()
    found = ctx.fetch("Project")
    assert sorted(project.title[0] for project in found) == list("012345")
    assert not any(is_ahead(project, "title") for project in found)
    assert found._large


def test_one_object_does_not_retain_its_results(people: Any) -> None:
    read_all(people)
    one = next(iter(people))
    results = weakref.ref(people)
    del people
    gc.collect()
    # The fixture may still hold the results; what counts is that the object does not.
    referents = gc.get_referents(one._cst_ahead)
    assert results() not in [each for each in referents if each is not None and not isinstance(each, dict)]
    assert one.name == "N00"


def test_object_in_two_results_has_the_same_values_in_both(people: Any, ctx: Context) -> None:
    first = list(people)
    read_all(people)
    some = ctx.fetch("Employee", "age < 10", sort="-age")
    assert [person.name for person in some] == [f"N{at:02}" for at in range(9, -1, -1)]
    assert some[0] is first[9]
    assert [person.age for person in first] == list(range(40))
    assert [person.age for person in some] == list(range(9, -1, -1))
