"""Several stores of one coordinator, of several types: what one store would give, the pairs give too."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from corestone import (
    Container,
    Context,
    CorestoneError,
    FetchedResultsController,
    FetchRequest,
    Model,
    Sort,
    StoreDescription,
)

PAIRS = [("SQLite", "XML"), ("SQLite", "InMemory"), ("Binary", "InMemory"), ("XML", "Binary"), ("SQLite", "SQLite")]


def library() -> Model:
    model = Model()
    being = model.entity("Being", abstract=True)
    being.attribute("name", "string").attribute("age", "int32", optional=True)
    team = model.entity("Team").attribute("name", "string", optional=True)
    person = model.entity("Person", parent=being).attribute("pay", "decimal", optional=True)
    person.to_one("team", team, inverse="members")
    team.to_many("members", person, inverse="team")
    person.fetched("peers", "Person", "age == $FETCH_SOURCE.age AND SELF != $FETCH_SOURCE", sort="name")
    model.entity("Robot", parent=being).attribute("serial", "string", optional=True)
    return model


NAMES = ["Ada", "ada", "Äda", "Bob", "Cem", "Dor", "Eve", "Fay", "Gil", "Hal", "Ida", "Jo", None]


def fill(ctx: Context, stores: list[Any]) -> None:
    """The same objects in every coordinator, in turn in its stores; each team is in one of them."""

    def put(item: Any, number: int) -> None:
        ctx.assign(item, stores[number % len(stores)])

    teams = []
    for number, name in enumerate(["Sales", "Research", "Sales", None]):
        team = ctx.insert("Team", name=name)
        put(team, number)
        teams.append(team)
    for number in range(60):
        name = NAMES[number % 12] or ""
        person = ctx.insert("Person", name=f"{name}{number // 12}", age=None if number % 7 == 0 else number % 11)
        person.pay = Decimal(f"{number % 5}.{number % 3}")
        put(person, number)
        # Of those teams that are in the person's store, on either side.
        person.team = teams[number % 4] if number % 9 else None
    for number in range(9):
        put(ctx.insert("Robot", name=f"R{number % 3}", age=number, serial=str(number)), number // 2)
    ctx.save()


@pytest.fixture(params=PAIRS, ids="+".join)
def both(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Context, Context]]:
    """A context on one store, and one on two."""
    model = library()
    (tmp_path / "pair").mkdir()
    stores = [
        StoreDescription(tmp_path / "pair" / f"{each}{number}", type=each) for number, each in enumerate(request.param)
    ]
    with (
        Container("One", model, stores=[StoreDescription(tmp_path / "one", sync="normal")], unsaved="discard") as one,
        Container("Two", model, stores=stores, unsaved="discard") as two,
    ):
        contexts = []
        for container in (one, two):
            filling = container.context()
            fill(filling, container.coordinator.stores)
            contexts.append(container.context())
        yield contexts[0], contexts[1]


def names(found: Any) -> list[Any]:
    return [(each.name, each.age) for each in found]


BY_NAME = ["name", "age"]

ASKED: dict[str, Callable[[Context], Any]] = {
    "sorted": lambda ctx: names(ctx.fetch("Person", sort=BY_NAME)),
    "descending": lambda ctx: names(ctx.fetch("Person", sort=["-age", "name"])),
    "nulls": lambda ctx: names(ctx.fetch("Person", sort=["age", "name"])),
    "without case": lambda ctx: names(ctx.fetch("Person", sort=[Sort("name", case_insensitive=True), "age", "name"])),
    "fetched property": lambda ctx: names(ctx.fetch("Person", "name == 'Bob0'")[0].peers),
    "window": lambda ctx: names(ctx.fetch("Person", sort=BY_NAME, limit=7, offset=11)),
    "window behind the end": lambda ctx: names(ctx.fetch("Person", sort=BY_NAME, limit=7, offset=57)),
    "predicate": lambda ctx: names(ctx.fetch("Person", "age > 3 AND name BEGINSWITH[cd] 'a'", sort=BY_NAME)),
    "key path": lambda ctx: names(ctx.fetch("Person", "team.name == 'Sales'", sort=["team.name", "name"])),
    "sorted by a key path": lambda ctx: names(ctx.fetch("Person", sort=["team.name", "-name"], limit=30)),
    "aggregate in a predicate": lambda ctx: sorted(
        (each.name or "") for each in ctx.fetch("Team", "members.@count > 10")
    ),
    "subquery": lambda ctx: len(ctx.fetch("Team", "SUBQUERY(members, $m, $m.age > 5).@count > 2")),
    "parents": lambda ctx: names(ctx.fetch("Being", sort=BY_NAME)),
    "parents alone": lambda ctx: names(ctx.fetch("Being", sort=BY_NAME, include_subentities=False)),
    "count": lambda ctx: ctx.count("Person", "age < 5"),
    "count in a window": lambda ctx: (ctx.count("Person", limit=7), ctx.count("Person", offset=50), ctx.count("Being")),
    "ids": lambda ctx: len(ctx.fetch_ids("Person", sort="name", limit=13)),
    "in batches": lambda ctx: names(ctx.execute(FetchRequest("Person", sort=BY_NAME, batch_size=7))),
    "in batches in a window": lambda ctx: names(
        ctx.execute(FetchRequest("Person", sort=BY_NAME, batch_size=7, limit=20, offset=5))
    ),
    "stream": lambda ctx: names(ctx.stream("Person", sort=BY_NAME, batch=7)),
    "stream in a window": lambda ctx: names(ctx.stream("Person", "age > 2", sort=BY_NAME, batch=7, limit=11, offset=3)),
    "rows": lambda ctx: ctx.fetch_rows("Person", columns=["name", "age", "pay", "team.name"], sort=BY_NAME),
    "rows in a window": lambda ctx: ctx.fetch_rows("Person", columns=["name", "age"], sort=BY_NAME, limit=9, offset=20),
    "distinct rows": lambda ctx: ctx.fetch_rows("Person", columns=["age"], sort="age", distinct=True),
    "distinct rows in a window": lambda ctx: ctx.fetch_rows(
        "Person", columns=["age"], sort="-age", distinct=True, limit=3, offset=1
    ),
    "groups": lambda ctx: ctx.fetch_rows(
        "Person",
        columns=["age", {"n": "count:(name)", "pay": "sum:(pay)", "least": "min:(name)", "mean": "average:(pay)"}],
        group_by="age",
        sort="age",
    ),
    "groups having": lambda ctx: ctx.fetch_rows(
        "Person", columns=["team.name", {"n": "count:(name)"}], group_by="team.name", having="n > 6", sort="team.name"
    ),
    "one row over all": lambda ctx: ctx.fetch_rows(
        "Person", columns=[{"n": "count:(name)", "most": "max:(age)", "median": "median:(age)"}]
    ),
    "sums": lambda ctx: (ctx.sum("Person", "pay"), ctx.sum("Person", "age"), ctx.min("Person", "name")),
    "averages": lambda ctx: (ctx.avg("Person", "age"), ctx.avg("Person", "pay"), ctx.max("Person", "pay")),
    "by group": lambda ctx: ctx.sum("Person", "age", by="team.name"),
    "counts by group": lambda ctx: ctx.count("Person", by="age"),
}


@pytest.mark.parametrize("what", ASKED)
def test_fetch_over_two_stores_equals_fetch_over_one(both: tuple[Context, Context], what: str) -> None:
    one, two = both
    assert ASKED[what](two) == ASKED[what](one)


@pytest.mark.parametrize("what", ["sorted", "window", "predicate", "parents", "count", "in batches", "stream"])
def test_fetch_over_two_stores_includes_unsaved_changes(both: tuple[Context, Context], what: str) -> None:
    found = []
    for ctx in both:
        ctx.insert("Person", name="Aaa", age=4)
        ctx.insert("Person", name="Zzz", age=None)
        ctx.fetch("Person", "name == 'Bob0'")[0].name = "Aab"
        ctx.delete(ctx.fetch("Person", "name == 'Cem0'")[0])
        found.append(ASKED[what](ctx))
    assert found[0] == found[1]


def test_controller_sections_cover_all_stores(both: tuple[Context, Context]) -> None:
    told = []
    for ctx in both:
        request = FetchRequest("Person", sort=["team.name", "name"])
        controller = FetchedResultsController(ctx, request, "team.name")
        controller.perform_fetch()
        told.append([(each.name, names(each.objects)) for each in controller.sections or []])
        stores = ctx.container.coordinator.stores
        new = ctx.insert("Person", name="Aaa", age=1)
        ctx.assign(new, stores[-1])
        ctx.save()
        told[-1] += [(each.name, names(each.objects)) for each in controller.sections or []]
    assert told[0] == told[1]


def test_relationship_across_stores_fails_and_names_both_objects(both: tuple[Context, Context]) -> None:
    ctx = both[1]
    first, second = ctx.container.coordinator.stores
    team = ctx.fetch("Team", sort="name")[0]
    far = second if team.id.uri.split("/")[2] == first.identifier else first
    person = ctx.insert("Person", name="New")
    ctx.assign(person, far)
    person.team = team
    with pytest.raises(CorestoneError, match="within one store") as caught:
        ctx.save()
    error = caught.value
    assert error.code == 133010
    assert (error.entity, error.key) == ("Person", "team") or (error.entity, error.key) == ("Team", "members")
    for word in (first.path, second.path, team.id.uri, person.id.uri, "fetched property"):
        assert word in str(error)
    # Nothing was written to either store.
    assert ctx.container.context().count("Person", "name == 'New'") == 0
    person.team = None
    ctx.save()
    assert person.id.uri.split("/")[2] == far.identifier
    # Between objects that have their places, it is refused at once.
    with pytest.raises(CorestoneError, match="within one store") as caught:
        person.team = team
    assert caught.value.code == 133010
    for word in (first.path, second.path, team.id.uri, person.id.uri, "fetched property"):
        assert word in str(caught.value)
    assert person.team is None


def test_updates_and_deletions_are_saved_to_each_store(both: tuple[Context, Context]) -> None:
    for ctx in both:
        for person in ctx.fetch("Person", "age == 3"):
            person.age = 300
        for person in ctx.fetch("Person", "age == 4"):
            ctx.delete(person)
        ctx.save()
    one, two = (ctx.container.context() for ctx in both)
    assert names(two.fetch("Person", sort=BY_NAME)) == names(one.fetch("Person", sort=BY_NAME))
    assert two.count("Person", "age == 300") > 1


def test_request_limited_to_a_store_fetches_only_its_objects(both: tuple[Context, Context]) -> None:
    ctx = both[1]
    counts = [len(ctx.execute(FetchRequest("Person", stores=[each]))) for each in ctx.container.coordinator.stores]
    assert counts == [30, 30]
