"""Many records and rows are read as columns, with the same result as one by one."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from corestone import (
    Container,
    CorestoneError,
    Expression,
    ExpressionDescription,
    InvalidArgumentError,
    Model,
    StoreDescription,
)
from corestone._abi import cells, wrappers
from corestone.stores import record_columns, records

COUNT = 6 * records.PROBE
MODEL: dict[str, dict[str, Any]] = {
    "Owner": {"name": "string?", "things": "to-many Thing inverse owner", "all": "to-many Thing inverse owners"},
    "Firm": {"@parent": "Owner", "code": "int64?"},
    "Thing": {
        "name": "string?",
        "small": "int16?",
        "middle": "int32?",
        "large": "int64?",
        "real": "double? nan",
        "single": "float? nan",
        "price": "decimal?",
        "made": "date?",
        "is_new": "bool?",
        "mark": "uuid?",
        "link": "uri?",
        "data": "binary?",
        "owner": "to-one Owner? inverse things",
        "owners": "to-many Owner ordered inverse all",
        "place": {"type": "composite", "optional": True, "elements": {"lat": "double?", "when": "date?"}},
    },
    "Tool": {"@parent": "Thing", "weight": "double?", "tested": "date?"},
    "Saw": {"@parent": "Tool", "teeth": "int32?"},
}
DATES = [0, 0.5, -0.25, 7.123456789, 781234567.123456, 781234567.1234567, -63113904000.0, 63113904000.0, 3e11, 1e18]
NAMES = ["", "plain", "ü", "a\0b", "日本語", "😀 smile", "x" * 3000]


def filled(path: Path, kind: str = "SQLite") -> Container:
    container = Container("Things", Model(MODEL), stores=[StoreDescription(path / "things", type=kind)])
    container.load()
    draw = random.Random(7)
    context = container.context()
    owners = [context.insert(draw.choice(("Owner", "Firm")), name=f"owner {n}") for n in range(9)]
    for number in range(COUNT):
        entity = draw.choice(("Thing", "Thing", "Tool", "Saw"))
        thing = context.insert(entity, name=draw.choice(NAMES), large=number)
        if number % 5:
            thing.set(
                small=draw.randrange(-(1 << 15), 1 << 15),
                middle=draw.randrange(-(1 << 31), 1 << 31),
                real=draw.choice([0.1, -0.0, 3.0, 1e300, 5e-324, math.inf, -math.inf]),
                single=draw.choice([0.1, 3.0, 1e30]),
                price=draw.choice([Decimal("12.50"), Decimal("-0.1"), Decimal(10) ** 30, Decimal("1E-30")]),
                is_new=draw.choice([True, False]),
                mark=UUID(int=draw.getrandbits(128)),
                link="https://example.com/%C3%BC",
                data=draw.choice([b"", b"\0\1\2", bytes(300)]),
                owner=draw.choice([None, *owners]),
            )
            thing.owners = draw.sample(owners, draw.randrange(4))
            thing.place = draw.choice([None, {"lat": 1.5}, {"when": datetime(2026, 1, 2, tzinfo=timezone.utc)}])
        if entity != "Thing":
            thing.weight = number / 3
    context.save()
    for number, seconds in enumerate(DATES):
        container.update("Thing", "large == %d", {"made": seconds}, number + 1)
        container.update("Tool", "large == %d", {"tested": seconds}, number + 20)
    return container


@pytest.fixture(scope="module")
def things(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Container]:
    with filled(tmp_path_factory.mktemp("things")) as container:
        yield container


def exact(value: Any) -> Any:
    """Returns a value in a form that differs if the type, the order of keys or the exact date differs."""
    if isinstance(value, dict):
        return [(key, exact(each)) for key, each in value.items()]
    if isinstance(value, list):
        return [exact(each) for each in value]
    return type(value).__name__, repr(value), getattr(value, "seconds", None)


def read_twice(
    container: Container, monkeypatch: pytest.MonkeyPatch, entity: str, *arguments: Any, **options: Any
) -> tuple[list[Any], bool]:
    """Reads records with and without columns, compares them, and returns them and whether columns were used."""
    used: list[bool] = []
    read = record_columns.read_records

    def observed(*given: Any) -> Any:
        found = read(*given)
        used.append(found is not None)
        return found

    monkeypatch.setattr(record_columns, "read_records", observed)
    columns = container.read(entity, *arguments, **options)
    monkeypatch.setattr(record_columns, "read_records", lambda *given: None)
    plain = container.read(entity, *arguments, **options)
    monkeypatch.setattr(record_columns, "read_records", read)
    assert exact(columns) == exact(plain)
    return columns, used == [True]


@pytest.mark.parametrize("entity", ["Owner", "Firm", "Saw"])
def test_records_of_few_objects_are_read_as_json(
    things: Container, monkeypatch: pytest.MonkeyPatch, entity: str
) -> None:
    found, used_columns = read_twice(things, monkeypatch, entity)
    assert used_columns == (len(found) >= records.PROBE)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"sort": "-large"},
        {"sort": ["is_new", "-owner.name", " +large "]},
        {"sort": "large", "ascending": False, "limit": records.PROBE + 3, "offset": 5},
        {"offset": 40},
    ],
)
def test_records_as_columns_equal_records_as_json(
    things: Container, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    found, used_columns = read_twice(things, monkeypatch, "Thing", **options)
    # A part of the records of an entity whose subentities have further dates is read as JSON.
    assert used_columns == (not {"limit", "offset"} & options.keys())
    assert len(found) == options.get("limit", COUNT - options.get("offset", 0))
    assert {record.get("@entity") for record in found} == {None, "Tool", "Saw"}
    found, used_columns = read_twice(
        things, monkeypatch, "Saw", **{**options, "offset": min(options.get("offset", 0), 5)}
    )
    assert used_columns
    assert {record.get("@entity") for record in found} == {None}


def test_predicates_apply_to_records_as_columns(things: Container, monkeypatch: pytest.MonkeyPatch) -> None:
    found, used_columns = read_twice(things, monkeypatch, "Thing", "large < %d OR name == %@", 80, "nobody")
    assert used_columns
    assert sorted(record["large"] for record in found) == list(range(80))


def test_dates_of_records_as_columns_are_exact(things: Container) -> None:
    found = things.read("Thing", sort="large")
    assert [type(record["made"]).__name__ for record in found[1:11]] == [
        "datetime",
        "datetime",
        "datetime",
        "ExactDate",
        "datetime",
        "ExactDate",
        "datetime",
        "datetime",
        "float",
        "float",
    ]
    assert found[4]["made"].seconds == 7.123456789


def test_saved_values_are_read_while_another_context_has_changes(things: Container) -> None:
    before = things.read("Thing")
    with things.context(unsaved="discard") as context:
        for item in context.fetch("Thing"):
            item.name = "changed"
        assert exact(things.read("Thing")) == exact(before)


@pytest.mark.parametrize("kind", ["XML", "Binary", "InMemory"])
def test_stores_without_generations_return_the_same_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    with filled(tmp_path, kind) as container:
        found, used_columns = read_twice(container, monkeypatch, "Thing", sort="large")
        assert len(found) == COUNT
        assert not used_columns


def test_transient_attributes_are_read_as_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = Model()
    model.entity("Item").attribute("name", "string").attribute("shade", "int64", transient=True, default=3)
    with Container("Items", model, stores=[StoreDescription(tmp_path / "a")]) as items:
        items.insert("Item", [{"name": str(number)} for number in range(COUNT)])
        found, used_columns = read_twice(items, monkeypatch, "Item")
        assert found[0]["shade"] == 3
        assert not used_columns


def test_errors_are_those_of_json(things: Container) -> None:
    for options in ({"sort": "nothing"}, {"sort": "owners"}):
        with pytest.raises(CorestoneError) as caught:
            things.read("Thing", **options)  # type: ignore[arg-type]
        assert caught.value.entity == "Thing"
    failures: list[CorestoneError] = []
    assert things.read("Nothing", failure=failures.append) is None
    assert len(failures) == 1


def test_success_function_receives_records_as_columns(things: Container) -> None:
    told: list[Any] = []
    found = things.read("Thing", success=told.append)
    assert told == [found]
    assert len(found) == COUNT


# ---- rows


def rows_twice(container: Container, monkeypatch: pytest.MonkeyPatch, **options: Any) -> list[dict[str, Any]]:
    with container.context() as context:
        found = context.fetch_rows("Thing", **options)
        monkeypatch.setattr(cells, "_FEW", 1 << 30)
        plain = context.fetch_rows("Thing", **options)
        monkeypatch.undo()
        assert exact(found) == exact(plain)
        return found


@pytest.mark.parametrize(
    "columns",
    [
        ["name", "small", "middle", "large", "real", "single", "price", "is_new", "mark", "link", "data"],
        ["objectID", "owner", "owner.name", "name"],
        [ExpressionDescription("constant", Expression.constant(None)), "large"],
        [{"either": "TERNARY(large > 40, 1, name)"}],
    ],
)
def test_rows_decoded_by_columns_equal_rows_decoded_one_by_one(
    things: Container, monkeypatch: pytest.MonkeyPatch, columns: list[Any]
) -> None:
    assert len(rows_twice(things, monkeypatch, columns=columns, sort="large")) == COUNT


def test_date_out_of_range_in_rows_names_the_column(things: Container) -> None:
    with things.context() as context:
        with pytest.raises(InvalidArgumentError, match=r"^made: ") as caught:
            context.fetch_rows("Thing", columns=["large", "made"], sort="large")
        assert caught.value.key == "made"
        found = context.fetch_rows("Thing", "large <= 8", columns=["large", "made"], sort="large")
        assert found[5]["made"] == datetime(2001, 1, 1, tzinfo=timezone.utc) + timedelta(0, 781234567.123456)


def test_rows_of_an_entity_without_attributes_are_empty(tmp_path: Path) -> None:
    with Container(Model({"Empty": {}}), str(tmp_path / "a")) as container, container.context() as context:
        for _ in range(3):
            context.insert("Empty")
        context.save()
        assert context.fetch_rows("Empty") == [{}, {}, {}]


def test_dictionaries_of_many_rows_equal_those_of_few(things: Container) -> None:
    with things.context() as context:
        found = context.fetch("Thing", sort="large")
        names = ("name", "large", "name")
        assert found.to_dicts(*names) == [dict(zip(names, row)) for row in found.rows(*names)]
        assert found.to_dicts("large")[3] == {"large": 3}


def test_dates_of_whole_microseconds_have_the_same_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The accelerator reads such dates without a second request for their IDs."""
    draw = random.Random(11)
    edges = [0.0, -0.0, 1e-6, -0.25, 2.0**31, -(2.0**31), 2.0**31 - 1e-6, -(2.0**31) + 1e-6, 2.0**33 - 1]
    drawn = [draw.randrange(-(2**31) * 10**6, 2**31 * 10**6) / 1e6 for _ in range(5000)]
    whole = [float(draw.randrange(-(2**33), 2**33)) for _ in range(500)]
    inexact: list[list[float]] = [[], [7.1234567], [-1e-6], [2.0**33], [2.0**32 + 0.25], [1e18]]
    model = {"Thing": {"number": "int64", "made": "date?", "single": "float? nan", "place": {"when": "date?"}}}
    rounded: list[set[str]] = []
    records = record_columns._Reader.records

    def observed(reader: record_columns._Reader) -> list[Any]:
        rounded.append(reader._rounded)
        return records(reader)

    monkeypatch.setattr(record_columns._Reader, "records", observed)
    for at, more in enumerate(inexact):
        with Container(Model(model), tmp_path / f"{at}.sqlite", unsaved="discard") as container:
            seconds = [*edges, *drawn, *whole, *more]
            values: list[dict[str, Any]] = [{"made": each, "place": {"when": each}} for each in seconds]
            values += [{"made": None, "single": single} for single in (None, 0.5, math.inf)]
            container.insert("Thing", [{"number": number, **each} for number, each in enumerate(values)])
            queries: list[dict[str, Any]] = [{}, {"sort": "-number"}, {"sort": "made", "limit": 300}]
            for options in queries:
                found, used_columns = read_twice(container, monkeypatch, "Thing", **options)
                assert used_columns
                assert len(found) == options.get("limit", len(values))
                is_quick = wrappers.accelerator is not None and not more and "limit" not in options
                assert rounded.pop() == ({"made", "place.when", "single"} if is_quick else set())
