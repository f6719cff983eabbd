"""Results of fetches, their order and their number of statements, at the documented bounds."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from corestone import (
    CancelledError,
    Container,
    Context,
    Expression,
    FetchRequest,
    InvalidArgumentError,
    Model,
    Predicate,
    PredicateError,
    SortDescriptor,
    UnsupportedError,
    log,
    set_sort_locale,
)

TEAMS: dict[str, dict[str, Any]] = {
    "Team": {
        "name": "string", "members": "to-many Person inverse team", "skills": "to-many Skill inverse teams",
    },
    "Skill": {"name": "string", "teams": "to-many Team inverse skills"},
    "Person": {
        "name": "string?", "age": "int64?", "score": "double?", "mood": "string? transient",
        "team": "to-one Team? inverse members",
    },
}  # fmt: skip


def selects(lines: list[str], table: str) -> list[str]:
    """The statements among the lines of a log that read a table, with its name in the statement."""
    return [line for line in lines if line.startswith("CoreData: sql: SELECT") and f" FROM {table} " in line]


def filled(context: Context) -> Context:
    """Ada and Cyd in A, Bob without numbers and one without a name in B."""
    teams = [context.insert("Team", name=name) for name in "AB"]
    rows: list[tuple[str | None, int | None, float | None]] = [
        ("Ada", 36, 1.5), ("Bob", None, None), ("Cyd", 5, 0.0), (None, 7, -3.0),
    ]  # fmt: skip
    for number, (name, age, score) in enumerate(rows):
        context.insert("Person", name=name, age=age, score=score, team=teams[number % 2])
    return context


@pytest.fixture(params=["SQLite", "InMemory", "XML", "unsaved", "memory decides"])
def people(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Context, str]]:
    """A context, and what makes a predicate one that the store cannot answer, if anything."""
    kind = request.param if request.param in ("SQLite", "InMemory", "XML") else "SQLite"
    with Container(Model(TEAMS), tmp_path / "people", type=kind, unsaved="discard") as container:
        context = filled(container.context())
        if request.param != "unsaved":
            context.save()
        yield context, " AND mood == nil" if request.param == "memory decides" else ""


def found(people: tuple[Context, str], format: str, **options: Any) -> str:
    """The initials, from the oldest person to those without an age."""
    context, more = people
    return "".join(
        (each.name or "-")[0] for each in context.fetch("Person", f"({format}){more}", sort="-age", **options)
    )


def test_undefined_arithmetic_is_nil_in_a_fetch(people: tuple[Context, str]) -> None:
    for format, initials in (
        ("age + 1 == nil", "B"), ("1 - age == nil", "B"), ("age * 2 == nil", "B"), ("-age == nil", "B"),
        ("abs:(age) == nil", "B"), ("age / 0 == nil", "A-CB"), ("score / 0.0 == nil", "A-CB"),
        ("10 / score == nil", "CB"),
        ("modulus:by:(age, 0) == nil", "A-CB"), ("modulus:by:(1e30, age) == nil", "A-CB"), ("(age & 1) == nil", "B"),
        ("(1e30 | age) == nil", "A-CB"), ("(score * 1e300 ^ 1) == nil", "A-B"), ("~age == nil", "B"),
        ("sqrt:(score) == nil", "-B"), ("ln:(score) == nil", "-B"), ("age + 1 > 0", "A-C"), ("age / 0 > 0", ""),
        ("age / 0 != 1", "A-CB"),
    ):  # fmt: skip
        assert found(people, format) == initials, format


def test_nulls_option_selects_memory_or_database_semantics(people: tuple[Context, str]) -> None:
    for format, memory, database in (
        ("name != 'Ada'", "-CB", "CB"), ("NOT (name == 'Ada')", "-CB", "CB"), ("name == 'Ada'", "A", "A"),
        ("name == nil", "-", "-"), ("name != nil", "ACB", "ACB"), ("NOT (name == nil)", "ACB", "ACB"),
        ("NOT (name IN {'Ada'})", "-CB", "CB"), ("NOT (age BETWEEN {1, 6})", "A-B", "A-"), ("NOT (age > 5)", "CB", "C"),
        ("NOT (age <= 5)", "A-B", "A-"), ("NOT (name LIKE 'A*')", "-CB", "CB"),
        ("NOT (name BEGINSWITH 'A')", "-CB", "CB"),
        ("NOT (name CONTAINS 'd')", "-B", "B"), ("NOT (name == team.name)", "A-CB", "ACB"),
        ("NOT (name == 'Ada' AND age == 36)", "-CB", "-CB"), ("NOT (name == 'Ada' OR age == nil)", "-C", "C"),
    ):  # fmt: skip
        assert found(people, format) == memory, format
        assert found(people, format, nulls="database") == database, format


def test_quantifiers_use_memory_semantics_with_either_nulls_option(people: tuple[Context, str]) -> None:
    context, _ = people
    for format, names in (
        ("ANY members.name != 'Bob'", "AB"), ("ALL members.name != 'Ada'", "B"), ("ALL members.name != 'Bob'", "A"),
        ("NONE members.name == 'Ada'", "B"), ("ALL members.age != 36", "B"),
    ):  # fmt: skip
        for nulls in ("memory", "database"):
            teams = context.fetch("Team", format, sort="name", nulls=nulls)
            assert "".join(team.name for team in teams) == names, (format, nulls)


def test_invalid_comparison_fails_even_if_no_object_reaches_it(people: tuple[Context, str]) -> None:
    context, more = people
    with pytest.raises(PredicateError) as caught:
        context.fetch("Person", f"(age > -1 OR name < 5){more}")
    assert (caught.value.entity, caught.value.key, caught.value.value) == ("Person", "name", 5)
    # In memory alone it fails at the object that it applies to.
    predicate = Predicate("age > 5 OR name < 5")
    ada, cyd = context.first("Person", "name == 'Ada'"), context.first("Person", "name == 'Cyd'")
    assert predicate.evaluate(ada)
    with pytest.raises(PredicateError):
        predicate.evaluate(cyd)


def test_expensive_pattern_fails_only_for_objects_that_reach_it(people: tuple[Context, str]) -> None:
    context, more = people
    context.first("Person", "name == 'Bob'").name = "a" * 60 + "!"
    if not context.inserted:
        context.save()
    pattern = "name MATCHES '(a+)+$'"
    for before in ("age > 100", "age != nil", "(age == 36 OR age == 5)", "name != nil AND age > 6 AND age < 30"):
        assert not context.fetch("Person", f"{before} AND {pattern}{more}"), before
    with pytest.raises(PredicateError, match="the limit of 1000000 steps on a string of 61 bytes"):
        context.fetch("Person", f"age == nil AND {pattern}{more}")


def test_comparison_of_a_to_many_without_quantifier_is_never_equal(
    people: tuple[Context, str],
) -> None:
    context, _ = people
    assert context.count("Team", "members.name == 'Ada'") == 0
    assert context.count("Team", "members.name != 'Ada'") == 2
    assert context.count("Team", "ANY members.name == 'Ada'") == 1


def test_ties_are_ordered_by_key_with_unsaved_objects_last(people: tuple[Context, str]) -> None:
    context, _ = people
    if context.inserted:
        context.save()
    teams = context.fetch("Team", sort="name")
    for number in range(2):
        context.insert("Person", name=f"N{number}", team=teams[1 - number])

    def names(*sort: str) -> str:
        return " ".join(each.name or "-" for each in context.fetch("Person", sort=sort))

    assert names("team.name") == "Ada Cyd N1 Bob - N0"
    assert names("-team.name") == "Bob - N0 Ada Cyd N1"
    assert names("team.name", "-name") == "N1 Cyd Ada N0 Bob -"
    assert names() == "Ada Bob Cyd - N0 N1"
    context.rollback()
    assert names("-team.name") == "Bob - Ada Cyd"


def test_sort_by_to_many_key_path_fails_unless_aggregated(people: tuple[Context, str]) -> None:
    context, _ = people
    for entity, key in (("Person", "team.members"), ("Team", "members.age"), ("Team", "members")):
        with pytest.raises(PredicateError, match="members is to-many, and collections cannot be compared") as caught:
            context.fetch(entity, sort=key)
        assert (caught.value.entity, caught.value.key) == (entity, key)
    context.insert("Person", name="Dan", team=context.first("Team", "name == 'B'"))
    assert [team.name for team in context.fetch("Team", sort="-members.@count")] == ["B", "A"]
    assert [team.name for team in context.fetch("Team", sort="members.@sum.age")] == ["B", "A"]


def test_unsplit_request_rejects_conditions_in_memory(people: tuple[Context, str]) -> None:
    context, _ = people
    for options in ({"predicate": "mood == 'x'"}, {"sort": "mood"}):
        given: Any = {"split": False, **options}
        with pytest.raises(UnsupportedError, match=r"Person\.mood is transient .* \(split, allowsSplit\)") as caught:
            context.execute(FetchRequest("Person", **given))
        assert caught.value.entity == "Person"
        given["split"] = True
        assert isinstance(len(context.execute(FetchRequest("Person", **given))), int)
    by_function = SortDescriptor("name", selector=lambda first, second: len(first) - len(second))
    with pytest.raises(UnsupportedError, match="stores cannot sort by a comparator") as caught:
        context.fetch("Person", sort=[by_function])
    assert caught.value.key == "name"


def test_fetch_without_pending_changes_returns_unsaved_values_of_matches(people: tuple[Context, str]) -> None:
    context, more = people
    if context.inserted:
        context.save()
    context.first("Person", "name == 'Ada'").age = 1
    context.first("Person", "name == 'Cyd'").age = 100
    context.delete(context.first("Person", "name == nil"))
    context.insert("Person", name="New", age=50)
    request = FetchRequest("Person", f"age > 6{more}", sort="age", include_pending_changes=False)
    assert [(each.name, each.age) for each in context.execute(request)] == [(None, 7), ("Ada", 1)]
    request.include_pending_changes = True
    assert [(each.name, each.age) for each in context.execute(request)] == [("New", 50), ("Cyd", 100)]


# How much is read.


@pytest.fixture
def crowd(tmp_path: Path) -> Iterator[Container]:
    """1,001 teams of one member each, who share two skills, in a store that no context has read."""
    model, path = Model(TEAMS), tmp_path / "crowd.sqlite"
    with Container(model, path, sync="normal") as container:
        context = container.context()
        skills = [context.insert("Skill", name=name) for name in ("x", "y")]
        for number in range(1001):
            context.insert("Person", name=str(number), team=context.insert("Team", name=str(number), skills=skills))
        context.save()
    with Container(model, path, sync="normal") as container:
        yield container


@pytest.mark.parametrize(("limit", "parts"), [(1000, 1), (1001, 2)])
def test_prefetch_uses_one_query_per_relationship_and_1000_rows(crowd: Container, limit: int, parts: int) -> None:
    context = crowd.context()
    with log.recorded() as lines:
        teams = context.fetch("Team", limit=limit, prefetch=["members", "skills"])
    assert len(selects(lines, "ZPERSON t0")) == parts
    assert len(selects(lines, "Z_2TEAMS t1")) == parts
    assert len(selects(lines, "ZSKILL t0")) == 1
    with log.recorded() as lines:
        for team in teams:
            assert [member.name for member in team.members] == [team.name]
            assert sorted(skill.name for skill in team.skills) == ["x", "y"]
    assert [line for line in lines if "sql" in line] == []


def is_cached(container: Container, entity: str) -> bool:
    """Whether the row cache has the row of the first object, tested in a new context."""
    context, before = container.context(), container.coordinator.statistics
    [id] = context.fetch_ids(entity, sort="name", limit=1)
    assert context.get(id).name
    after = container.coordinator.statistics
    assert after.cache_hits + after.cache_misses == before.cache_hits + before.cache_misses + 1
    return after.cache_hits > before.cache_hits


def test_key_fetch_and_stream_do_not_fill_the_row_cache(crowd: Container) -> None:
    context = crowd.context()
    bare = context.execute(FetchRequest("Team", sort="name", limit=5, include_property_values=False))
    assert all(team.is_fault for team in bare)
    assert not is_cached(crowd, "Team")
    stream = context.stream("Person", sort="name", batch=10)
    batch = next(stream.batches())
    assert [each.name for each in batch][:2] == ["0", "1"]
    assert not is_cached(crowd, "Person")
    kept = context.fetch("Skill")
    assert len(kept) == 2
    assert is_cached(crowd, "Skill")


def test_refresh_option_updates_registered_objects(tmp_path: Path) -> None:
    with Container(Model(TEAMS), tmp_path / "people.sqlite", unsaved="discard") as container:
        filled(writer := container.context()).save()
        context = container.context()
        ada, bob, cyd, other = context.fetch("Person", sort="objectID")
        assert (ada.age, bob.age, cyd.age) == (36, None, 5)
        bob.score = 9.5
        assert other.is_fault
        for number, person in enumerate(writer.fetch("Person")):
            person.age = 100 + number
        writer.save()
        for refresh, ages in ((False, [36, None, 5]), (True, [100, None, 102])):
            again = context.execute(FetchRequest("Person", refresh=refresh, sort="objectID"))
            assert [again[at] is each for at, each in enumerate((ada, bob, cyd, other))] == [True] * 4
            assert [each.age for each in (ada, bob, cyd)] == ages
        assert (bob.score, other.age) == (9.5, 103)
        context.rollback()
        context.execute(FetchRequest("Person", refresh=True))
        assert (bob.score, bob.age) == (None, 101)


@pytest.mark.parametrize(
    ("beside", "read"),
    [("nothing", 3), ("a remainder", 0), ("changes", 0), ("prefetching", 0), ("a parent", 0), ("changes elsewhere", 3)],
)
def test_partial_fetch_reads_whole_rows_when_needed(tmp_path: Path, beside: str, read: int) -> None:
    model, path = Model(TEAMS), tmp_path / "people.sqlite"
    with Container(model, path) as container:
        filled(container.context()).save()
    with Container(model, path, unsaved="discard") as container:
        context = container.context()
        request = FetchRequest("Person", "age > 4", sort="age", columns=["name"])
        if beside == "a remainder":
            request.predicate = Predicate("age > 4 AND mood == nil")
        elif beside == "changes":
            context.insert("Person", name="New", age=1)
        elif beside == "changes elsewhere":
            context.insert("Skill", name="new")
        elif beside == "prefetching":
            request.prefetch = ["team"]
        elif beside == "a parent":
            context = context.child()
        people = list(context.execute(request))
        assert [each.name for each in people] == ["Cyd", None, "Ada"]
        before = container.coordinator.statistics.faulted_rows
        assert [each.age for each in people] == [5, 7, 36]
        assert container.coordinator.statistics.faulted_rows - before == read


@pytest.mark.parametrize(
    ("columns", "key", "words"),
    [
        (["team.name"], "team.name", "key path"), (["team", "name", "mood"], "mood", "stored"),
        ({"twice": "age * 2"}, "twice", "computed"), (["nmae"], "nmae", 'did you mean "name"'),
    ],
)  # fmt: skip
def test_invalid_properties_to_fetch_are_rejected(tmp_path: Path, columns: Any, key: str, words: str) -> None:
    with Container(Model(TEAMS), tmp_path / "people.sqlite") as container:
        with pytest.raises(InvalidArgumentError, match=words) as caught:
            container.context().execute(FetchRequest("Person", columns=columns))
        assert (caught.value.entity, caught.value.key) == ("Person", key)
        with pytest.raises(InvalidArgumentError, match="to-many") as caught:
            container.context().execute(FetchRequest("Team", columns=["members"]))
        assert (caught.value.entity, caught.value.key) == ("Team", "members")


def test_request_by_entity_name_works_in_contexts_of_any_model(tmp_path: Path) -> None:
    request = FetchRequest("Person", "name != nil", sort="name")
    other: dict[str, dict[str, Any]] = {"Person": {"name": "string", "more": "int?"}}
    with Container(Model(TEAMS), tmp_path / "a") as first, Container(Model(other), tmp_path / "b") as second:
        filled(first.context()).save()
        context = second.context()
        context.insert("Person", name="Zoe")
        context.save()
        for _ in range(2):
            assert [each.name for each in first.context().execute(request)] == ["Ada", "Bob", "Cyd"]
            assert request.entity is first.model["Person"]
            assert [each.name for each in context.execute(request)] == ["Zoe"]
            assert request.entity is second.model["Person"]


def test_request_with_unarchivable_parts_cannot_be_archived(tmp_path: Path) -> None:
    with Container(Model(TEAMS), tmp_path / "people.sqlite") as container:
        context = filled(container.context())
        context.save()
        person = context.fetch("Person")[0]
        for predicate in (
            Predicate("SELF == %@", person), Predicate("name == 'x' AND team IN %@", [person.team]),
            Predicate.block(lambda *_: True),
            Predicate("name == %@", Expression.block(lambda *_: "Ada")),
        ):  # fmt: skip
            request = FetchRequest("Person", predicate)
            with pytest.raises(UnsupportedError, match="archive"):
                request.to_archive()
        stores = FetchRequest("Person", stores=[])
        assert context.execute(FetchRequest("Person", result_type="count", stores=[])) == 0
        again = FetchRequest.from_archive(stores.to_archive())
        assert (again.stores, len(context.execute(again))) == (None, 4)
        # The entity is by name.
        again = FetchRequest.from_archive(FetchRequest(container.model["Person"], sort="-age").to_archive())
        assert again.entity_name == "Person"
        with pytest.raises(InvalidArgumentError, match="is unknown until a context uses the request"):
            _ = again.entity
        assert [each.age for each in context.execute(again)] == [36, 7, 5, None]
        assert again.entity is container.model["Person"]


def test_asynchronous_fetch_reports_estimate_then_final_count(tmp_path: Path) -> None:
    with Container(Model(TEAMS), tmp_path / "people.sqlite") as container:
        filled(container.context()).save()
        for kind, estimate in (("objects", 50), ("objects", 0), ("dictionaries", 7), ("count", 3)):
            context = container.background_context()
            with context.perform():
                fetch = context.fetch_asynchronously(
                    FetchRequest("Person", "age != nil", result_type=kind, columns=["name"]), estimated_count=estimate
                )
                _, total, is_done = fetch.progress
                assert (total, is_done) == (estimate, False), kind
            found = fetch.result(30)
            assert (found if kind == "count" else len(found)) == 3
            assert fetch.progress[1:] == (3, True), kind
            assert not fetch.cancel()


# How it is answered.


@pytest.fixture
def indexed(tmp_path: Path) -> Iterator[Context]:
    model: dict[str, dict[str, Any]] = {
        "Person": {
            "name": "string? indexed", "age": "int? indexed", "mood": "string? transient",
            "team": "to-one Team? inverse members",
        },
        "Team": {"label": "string? indexed", "members": "to-many Person inverse team"},
    }  # fmt: skip
    with Container(Model(model), tmp_path / "people.sqlite", unsaved="discard") as container:
        yield container.context()


@pytest.mark.parametrize(
    ("format", "index"),
    [
        ("name == 'x'", "name"), ("name == nil", "name"), ("name IN {'a', 'b'}", "name"), ("name != 'x'", None),
        ("NOT name == 'x'", None), ("name BEGINSWITH 'a'", "name"), ("name BEGINSWITH[n] 'a'", "name"),
        ("name BEGINSWITH[c] 'a'", None), ("name BEGINSWITH[d] 'a'", None), ("name LIKE 'a*'", "name"),
        ("name LIKE 'a*b*'", None), ("name LIKE '*a'", None), ("name LIKE 'a?'", None), ("name LIKE[c] 'a*'", None),
        ("name ENDSWITH 'a'", None), ("name CONTAINS 'a'", None), ("age < 3", "age"), ("3 >= age", "age"),
        ("age > 3 AND age < 9", "age"), ("age BETWEEN {1, 2}", "age"), ("uppercase:(name) == 'A'", None),
        ("age == nil", "age"), ("age + 1 == 2", None),
    ],
)  # fmt: skip
def test_explanation_names_the_index_of_a_condition(indexed: Context, format: str, index: str | None) -> None:
    [share] = indexed.explain("Person", format).shares
    assert share.indexes == ([f"Z_Person_{index}"] if index else [])


def test_list_of_more_than_8_values_is_bound_as_one(indexed: Context) -> None:
    texts = set()
    for count, bound in ((1, 1), (8, 8), (9, 1), (500, 1)):
        [share] = indexed.explain("Person", "age IN %@", list(range(count))).shares
        assert len(share.bindings) == bound
        assert share.indexes == ["Z_Person_age"]
        texts.add(share.sql)
    assert len(texts) == 3


def test_explanation_gives_reasons_for_work_in_memory(indexed: Context) -> None:
    told = indexed.explain("Person", "name == 'x' AND age > 3 AND mood == nil", sort="mood", limit=5)
    [share] = told.shares
    assert (told.entity, told.predicate) == ("Person", 'name == "x" AND age > 3 AND mood == nil')
    assert (told.pending_objects, share.remainder, share.sorted_in_memory) == (0, "mood == nil", True)
    assert (share.bindings, share.reasons) == (["x", 3], ["Person.mood is transient and not in the store"])
    assert "t0.ZNAME = ? AND t0.ZAGE > ?" in share.sql
    assert "LIMIT" not in share.sql
    assert share.path == indexed.coordinator.stores[0].path
    assert [step.depth for step in share.steps] == [0]
    assert str(told).splitlines()[-3:] == [
        "in memory: mood == nil", "in memory: sorting", "  because Person.mood is transient and not in the store",
    ]  # fmt: skip
    for name in ("x", "y", "x"):
        indexed.insert("Person", name=name, age=5)
    assert indexed.explain("Person", "name == 'x'").pending_objects == 3
    assert indexed.explain("Person", "name == 'x'", include_pending_changes=False).pending_objects == 0
    assert indexed.explain("Team").pending_objects == 0
    [share] = indexed.explain("Person", "age > 3", sort="age", limit=5, include_pending_changes=False).shares
    assert (share.remainder, share.sorted_in_memory, share.reasons) == (None, False, [])
    assert share.sql.endswith("LIMIT 5")


def test_partly_supported_condition_keeps_every_match_in_sql(indexed: Context) -> None:
    for number in range(6):
        indexed.insert("Person", name=f"n{number}", age=number)
    indexed.save()
    for format, condition, found in (
        ("mood == 'x' AND age > 3 OR age < 2", " WHERE (t0.ZAGE > ? OR t0.ZAGE < ?) ORDER ", "01"),
        ("(mood == nil OR age == 9) AND age > 3", " WHERE t0.ZAGE > ? ", "45"),
        ("NOT (mood == 'x' OR age > 3)", " WHERE (t0.ZAGE > ?) IS NOT TRUE ORDER ", "0123"),
        ("mood == nil OR age > 3", " FROM ZPERSON t0 ORDER ", "012345"),
    ):
        [share] = indexed.explain("Person", format, sort="age").shares
        assert share.remainder is not None
        assert condition in share.sql, (format, share.sql)
        people = indexed.fetch("Person", format, sort="age")
        assert "".join(str(each.age) for each in people) == found, format
        window = indexed.fetch("Person", format, sort="-age", offset=1, limit=2)
        assert "".join(str(each.age) for each in window) == found[::-1][1:3], format


# Orders of every kind of value.


SAMPLES: dict[str, list[Any]] = {
    "text": ["\ufffd", "\U0001f600", "z", "\u00e9", "e\u0301"],
    "key": [UUID(int=2**127), UUID(int=1), UUID(int=5), None, UUID(int=2**64)],
    "link": ["https://b/", "https://B/", "https://%C3%A9/", None, "a:"],
    "data": [b"\xff", b"\x00\x01", b"\x00", b"", b"\x00\x01\x02"],
    "flag": [True, False, True, None, None],
    "pay": [Decimal("0.1"), Decimal("-0.5"), Decimal(12), None, Decimal("0.10000001")],
    "at": [datetime(1999, 1, 1, tzinfo=timezone.utc), datetime(2096, 1, 1, tzinfo=timezone.utc), None,
           datetime(2001, 1, 1, tzinfo=timezone.utc), datetime(2001, 1, 1, 0, 0, 0, 1, tzinfo=timezone.utc)],
}  # fmt: skip


@pytest.fixture(params=["SQLite", "InMemory", "XML", "unsaved"])
def samples(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Context]:
    attributes = {
        "text": "string?", "key": "uuid?", "link": "uri?", "data": "binary?", "flag": "bool?", "pay": "decimal?",
        "at": "date?", "number": "int?",
    }  # fmt: skip
    kind = "SQLite" if request.param == "unsaved" else request.param
    with Container(Model({"Sample": attributes}), tmp_path / "samples", type=kind, unsaved="discard") as container:
        context = container.context()
        for number in range(5):
            context.insert("Sample", number=number, **{name: values[number] for name, values in SAMPLES.items()})
            context.process_pending_changes()
        if request.param != "unsaved":
            context.save()
        yield context


@pytest.mark.parametrize(
    ("key", "up", "down"),
    [
        ("text", "42301", "10324"), ("key", "31240", "04213"), ("link", "34210", "01243"), ("data", "32140", "04123"),
        ("pay", "31042", "24013"), ("at", "20341", "14302"), ("flag", "34102", "02134"),
    ],
)  # fmt: skip
def test_values_of_every_type_are_sorted(samples: Context, key: str, up: str, down: str) -> None:
    """Equal values, such as flags, are ordered by key in both directions."""

    def sorted_by(*keys: str) -> str:
        return "".join(str(each.number) for each in samples.fetch("Sample", sort=keys))

    assert (sorted_by(key), sorted_by(f"-{key}")) == (up, down)
    assert (sorted_by(key, "number"), sorted_by(f"-{key}", "-number")) == (up, up[::-1])


@pytest.mark.parametrize("in_memory", [False, True])
def test_min_and_max_support_every_type(samples: Context, in_memory: bool) -> None:
    samples.save()
    for key, values in SAMPLES.items():
        ranked = [each for each in values if each is not None]
        if key == "text":
            ranked.sort(key=lambda text: text.encode())
        ranked.sort()
        found = samples.fetch_rows(
            "Sample", columns={"least": f"min:({key})", "most": f"max:({key})", "n": f"count:({key})"},
            in_memory=in_memory,
        )  # fmt: skip
        assert found == [{"least": ranked[0], "most": ranked[-1], "n": len(ranked)}], key


@pytest.fixture
def english() -> Iterator[None]:
    set_sort_locale("en_US")
    yield
    set_sort_locale(None)


@pytest.mark.parametrize(
    ("selector", "up", "down"),
    [
        ("compare:", "B a b file-1 file-10 file-2 ä", "ä file-2 file-10 file-1 b a B"),
        ("caseInsensitiveCompare:", "a ä b B file-1 file-10 file-2", "file-2 file-10 file-1 b B ä a"),
        ("localizedCompare:", "a ä b B file-1 file-10 file-2", "file-2 file-10 file-1 B b ä a"),
        ("localizedCaseInsensitiveCompare:", "a ä b B file-1 file-10 file-2", "file-2 file-10 file-1 b B ä a"),
        ("localizedStandardCompare:", "a ä b B file-1 file-2 file-10", "file-10 file-2 file-1 B b ä a"),
    ],
)
def test_sort_selectors_agree_in_every_store(
    samples: Context, english: None, selector: str, up: str, down: str
) -> None:
    for each in list(samples.fetch("Sample")):
        samples.delete(each)
    for text in ("file-10", "b", "ä", "B", "file-2", "a", "file-1"):
        samples.insert("Sample", text=text)
        samples.process_pending_changes()
    for _ in ("unsaved", "saved"):
        for ascending, order in ((True, up), (False, down)):
            found = samples.fetch("Sample", sort=[SortDescriptor("text", ascending, selector)])
            assert " ".join(each.text for each in found) == order
        samples.save()


# What SQL does, and what memory.


FAMILY: dict[str, dict[str, Any]] = {
    "Base": {
        "n": "int?", "place": {"x": "double?", "y": "string?"}, "file": "binary? external", "mood": "string? transient",
        "kids": "to-many ordered Base inverse parent", "parent": "to-one Base? inverse kids",
    },
    "Left": {"@parent": "Base", "extra": "int?"},
    "Lower": {"@parent": "Left", "more": "string?"},
    "Right": {"@parent": "Base", "extra": "string?"},
}  # fmt: skip


@pytest.fixture(params=["SQLite", "InMemory", "XML", "unsaved"])
def family(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Context]:
    kind = "SQLite" if request.param == "unsaved" else request.param
    with Container(Model(FAMILY), tmp_path / "family", type=kind, unsaved="discard") as container:
        context = container.context()
        base = context.insert("Base", n=1, place={"x": 1.0, "y": "q"}, file=b"z" * 200_000)
        base["kids"] = [
            context.insert("Left", n=2, extra=5), context.insert("Lower", n=3, more="m", extra=7),
        ]  # fmt: skip
        context.insert("Right", n=4, extra="5")
        if request.param != "unsaved":
            context.save()
        yield context


@pytest.mark.parametrize(
    ("format", "numbers", "reason"),
    [
        ("entity.name == 'Left'", "2", None), ("entity.name IN {'Base', 'Lower'}", "13", None),
        ("SELF.entity.name == 'Right'", "4", None), ("NOT entity.name BEGINSWITH 'L'", "14", None),
        ("parent.entity.name == 'Base'", "23", "the entity of Base objects"),
        ("more == 'm'", "3", None), ("more == nil", "124", None), ("more != 'm'", "124", None),
        ("ANY kids.more == 'm'", "1", None), ("extra == 5", "2", "Left.extra is defined differently in Right"),
        ("place.x > 0", "1", None), ("place.y == nil", "234", None), ("place == nil", "234", "Base.place is composite"),
        ("kids.@count == 2", "1", None), ("kids[SIZE] == 2", "1", None), ("ANY kids.n == 3", "1", None),
        ("kids[FIRST].n == 2", "1", '"kids[FIRST]" is computed in memory'),
        ("kids[LAST].n == 3", "1", '"kids[LAST]" is computed in memory'),
        ("mood == nil", "1234", "Base.mood is transient"),
        ("file == nil", "234", None), ("length:(place.y) == 1", "1", None),
    ],
)  # fmt: skip
def test_conditions_beyond_sql_fail_only_unsplit_fetches(
    family: Context, format: str, numbers: str, reason: str | None
) -> None:
    assert "".join(str(each.n) for each in family.fetch("Base", format, sort="n")) == numbers
    assert family.count("Base", format) == len(numbers)
    if family.coordinator.stores[0].type != "SQLite":
        return
    if reason is None:
        assert family.count("Base", format, split=False) == len(numbers)
        return
    with pytest.raises(UnsupportedError) as caught:
        family.fetch("Base", format, split=False)
    assert f"cannot evaluate the whole fetch of Base: {reason}" in str(caught.value)
    assert caught.value.entity == "Base"


def test_index_out_of_bounds_fails_but_first_and_last_are_nil(family: Context) -> None:
    with pytest.raises(PredicateError, match=r'index 2 is out of bounds of "\w+", a list of \d'):
        family.fetch("Base", "kids[2].n == 2")
    for place in ("FIRST", "LAST"):
        assert family.count("Base", f"kids[{place}] == nil") == 3


def test_external_values_are_compared_by_content(family: Context) -> None:
    assert [each.n for each in family.fetch("Base", "file == %@", b"z" * 200_000)] == [1]
    assert family.count("Base", "file == %@", b"z" * 199_999) == 0
    assert family.count("Base", "file IN %@", [b"a", b"z" * 200_000]) == 1
    assert family.count("Base", "file != %@", b"a") == 4


# Stores, and fetches beside a context.


def test_request_for_a_store_of_another_coordinator_is_rejected(tmp_path: Path) -> None:
    model = Model(TEAMS)
    with Container(model, tmp_path / "a.sqlite") as here, Container(model, tmp_path / "b.sqlite") as there:
        filled(here.context()).save()
        context = here.context()
        for kind in ("objects", "ids", "count", "dictionaries"):
            request = FetchRequest("Person", result_type=kind, stores=[here.store])
            found = context.execute(request)
            assert (found if kind == "count" else len(found)) == 4
            request.stores = [here.store, there.store]
            with pytest.raises(InvalidArgumentError, match=r"b\.sqlite"):
                context.execute(request)
            request.stores = []
            found = context.execute(request)
            assert (found if kind == "count" else len(found)) == 0


@pytest.mark.parametrize("kind", ["objects", "ids", "dictionaries", "count"])
@pytest.mark.parametrize("of", ["store", "parent", "pinned"])
def test_every_asynchronous_fetch_can_be_cancelled(tmp_path: Path, kind: str, of: str) -> None:
    with Container(Model(TEAMS), tmp_path / "people.sqlite") as container:
        filled(container.context()).save()
        context = container.background_context()
        if of == "parent":
            context = context.child(queue="private")
        with context.perform():
            if of == "pinned":
                context.pin()
            request = FetchRequest("Person", result_type=kind, columns=["name"])
            fetch = context.fetch_asynchronously(request, lambda _: pytest.fail("called"))
            assert fetch.cancel()
        with pytest.raises(CancelledError):
            fetch.result(30)
        assert not fetch.cancel()
        with context.perform():
            again = context.fetch_asynchronously(request)
        found = again.result(30)
        assert (found if kind == "count" else len(found)) == 4


# A predicate means the same in memory and in the store.


PLACES: dict[str, dict[str, Any]] = {
    "Team": {"name": "string", "lat": "double?", "lon": "double?", "members": "to-many Person inverse team"},
    "Person": {
        "name": "string?", "age": "int64?", "pay": "decimal?", "score": "double?",
        "team": "to-one Team? inverse members",
    },
}  # fmt: skip


@pytest.fixture(params=["SQLite", "InMemory", "XML", "unsaved"])
def places(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Context]:
    """Zoë with members of ages 5, 5 and nil, Emp with no members and no place, one with a member of 9."""
    kind = "SQLite" if request.param == "unsaved" else request.param
    with Container(Model(PLACES), tmp_path / "places", type=kind, unsaved="discard") as container:
        context = container.context()
        full = context.insert("Team", name="Zoë", lat=1.5, lon=-1.25)
        context.insert("Team", name="Emp")
        single = context.insert("Team", name="one", lat=-3.0, lon=170.0)
        for name, age, pay in (("a", 5, Decimal("1.5")), ("b", 5, None), ("c", None, None)):
            context.insert("Person", name=name, age=age, pay=pay, team=full)
        context.insert("Person", name="d", age=9, score=1.0, team=single)
        if request.param != "unsaved":
            context.save()
        yield context


@pytest.mark.parametrize(
    ("format", "initials"),
    [
        ("sum:(members.age) == 0", "E"), ("average:(members.age) == 5", "Z"), ("median:(members.age) == 5", "Z"),
        ("mode:(members.age) == {5}", "Z"), ("stddev:(members.age) == 0", "Zo"), ("min:(members.age) == nil", "E"),
        ("max:(members.age) > 5", "o"), ("count:(members) == 3", "Z"), ("sum:(members.pay) == 1.5", "Z"),
        ("members.@sum.age == 10", "Z"), ("members.@avg.age == 0", "E"), ("members.@min.score == nil", "EZ"),
        ("members.@max.name == 'c'", "Z"), ("members.@count == 0", "E"), ("max:({lat, lon, 1}) == 1.5", "Z"),
        ("sum:({lat, lon}) == 0.25", "Z"), ("median:({lat, lon, 1}) == 1", "EZo"), ("canonical:(name) == 'zoe'", "Z"),
        ("uppercase:(name) == 'ZOË'", "Z"), ("lowercase:(name) BEGINSWITH 'z'", "Z"), ("length:(name) == 3", "EZo"),
        ("floor:(lat) == 1", "Z"), ("ceiling:(lon) == -1", "Z"), ("trunc:(lon) == -1", "Z"), ("abs:(lon) > 100", "o"),
        ("modulus:by:(members.@count, 2) == 1", "Zo"), ("2 ** members.@count == 8", "Z"),
        ("members.@count << 2 == 12", "Z"), ("(members.@count ^ 3) == 0", "Z"), ("noindex:(lat) > 1", "Z"),
        ("SUBQUERY(members, $m, $m.age > 4 AND $m.pay != nil).@count == 1", "Z"),
        ("SUBQUERY(members, $m, $m.age == nil).@max.name == 'c'", "Z"), ("members.age CONTAINS 5", "Z"),
        ("9 IN members.age", "o"), ("ANY members.age IN {5, 6}", "Z"), ("ALL members.age >= 5", "Eo"),
        ("NONE members.name BEGINSWITH 'c'", "Eo"), ("SOME members.age == 9", "o"),
        ("TERNARY(lat > 1, name, 'x') == 'Zoë'", "Z"), ("CAST(lat, 'NSString') == '1.5'", "Z"),
        ("CAST('1.5', 'NSNumber') == lat", "Z"), ("now() > CAST(0, 'NSDate')", "EZo"), ("random() < 1", "EZo"),
        ("random:(1) == 0 AND randomn:(1) == 0", "EZo"), ("FUNCTION(name, 'hasPrefix:', 'Z') == YES", "Z"),
        ("lat != nil AND distanceToLocation:fromLocation:({lat, lon}, {0, 0}) < 220000", "Z"),
        ("lat != nil AND distanceToLocation:fromLocation:({lat, lon}, {0, 0}) > 217000", "Zo"),
    ],
)  # fmt: skip
def test_functions_agree_in_every_store(places: Context, format: str, initials: str) -> None:
    teams = places.fetch("Team", format, sort="name")
    assert "".join(team.name[0] for team in teams) == initials
    # In memory nil is not a number.
    if "lat" in format or "lon" in format:
        full = places.first("Team", "name == 'Zoë'")
        assert Predicate(format).evaluate(full) == ("Z" in initials)
        return
    everyone = places.fetch("Team", sort="name")
    assert "".join(team.name[0] for team in Predicate(format).filter(list(everyone))) == initials
