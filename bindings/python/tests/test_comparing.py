"""Differences between two stores, independent of their types and of the keys of their rows."""

from __future__ import annotations

import math
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

import corestone
from corestone import Container, Coordinator, InvalidArgumentError, Model

TYPES = ["SQLite", "XML", "Binary", "InMemory"]
MODEL: dict[str, Any] = {
    "Note": {
        "text": "string?", "real": "double?", "small": "float?", "made": "date?", "n": "int?", "flag": "bool?",
        "price": "decimal?", "key": "uuid?", "data": "binary? external",
        "tags": "to-many ordered Tag? inverse notes", "kinds": "to-many Kind? inverse notes", "best": "to-one Tag?",
    },
    "Tag": {"name": "string?", "notes": "to-many Note? inverse tags"},
    "Kind": {"@parent": "Tag2", "notes": "to-many Note? inverse kinds"},
    "Tag2": {"name": "string?"},
}  # fmt: skip
MADE = datetime(2024, 2, 29, 12, tzinfo=timezone.utc)
VALUES: dict[str, Any] = {
    "text": "é", "real": 0.1, "small": 0.5, "made": MADE, "n": 0, "flag": False, "price": Decimal("1.50"),
    "key": UUID(int=7), "data": b"x" * 200_000,
}  # fmt: skip


def filled(path: Path, type: str, /, *, gaps: int = 0, **changes: Any) -> Container:
    """A store with two notes; the gaps are keys of rows that were deleted before."""
    container = Container(Model(MODEL), path, type=type, sync="normal")
    context = container.context()
    for _ in range(gaps):
        for entity in ("Note", "Tag", "Kind"):
            context.delete(gone := context.insert(entity))
            assert gone.is_deleted or gone.context is None
            context.insert(entity, **({} if entity == "Note" else {"name": "gone"}))
    context.save()
    for entity in ("Note", "Tag", "Kind"):
        for each in context.fetch(entity):
            context.delete(each)
    context.save()
    tags = [context.insert("Tag", name=name) for name in "abc"]
    kinds = [context.insert("Kind", name=name) for name in "de"]
    context.obtain_permanent_ids([*tags, *kinds])
    order = changes.pop("tags", (0, 1, 2))
    of = changes.pop("kinds", (0, 1))
    best = changes.pop("best", 0)
    first = context.insert("Note", **{**VALUES, **changes}, tags=[tags[each] for each in order], best=tags[best])
    context.obtain_permanent_ids([first])
    first.kinds = {kinds[each] for each in of}
    context.insert("Note", text="second")
    context.save()
    return container


@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("other", TYPES)
def test_equal_graphs_in_stores_of_any_type_compare_equal(tmp_path: Path, type: str, other: str) -> None:
    with filled(tmp_path / "a", type) as first, filled(tmp_path / "b", other, gaps=3) as second:
        assert first.context().fetch("Note", "text == 'second'")[0].id.uri != (
            second.context().fetch("Note", "text == 'second'")[0].id.uri
        )
        found = corestone.compare(first.coordinator, second.coordinator)
        assert (found.objects, found.differences, found.details) == (7, 0, [])
        assert found.values == found.equal
        # Two notes of twelve properties, three tags of two, two kinds of two.
        assert found.values == 2 * 12 + 3 * 2 + 2 * 2


@pytest.mark.parametrize(
    ("changes", "keys"),
    [
        ({"text": "e\u0301"}, ["text"]), ({"text": ""}, ["text"]), ({"text": None}, ["text"]),
        ({"real": math.nextafter(0.1, 1)}, ["real"]), ({"real": -0.1}, ["real"]),
        ({"small": 0.5000001}, ["small"]), ({"made": MADE + timedelta(microseconds=1)}, ["made"]),
        ({"n": None}, ["n"]), ({"n": 1}, ["n"]), ({"flag": None}, ["flag"]), ({"flag": True}, ["flag"]),
        ({"price": Decimal("1.51")}, ["price"]), ({"key": UUID(int=8)}, ["key"]), ({"data": b"x" * 199_999}, ["data"]),
        ({"data": b"y" * 200_000}, ["data"]), ({"data": None}, ["data"]),
        ({"tags": (0, 2, 1)}, ["tags"]), ({"tags": (0, 1)}, ["tags", "notes"]), ({"kinds": (0,)}, ["kinds", "notes"]),
        ({"best": 2}, ["best"]), ({"kinds": (1, 0)}, []), ({"text": "other", "n": 3, "best": 1}, ["text", "n", "best"]),
    ],
)  # fmt: skip
def test_differences_name_object_and_key(tmp_path: Path, changes: dict[str, Any], keys: list[str]) -> None:
    for type in ("SQLite", "Binary"):
        with filled(tmp_path / f"a{type}", "SQLite") as first, filled(tmp_path / f"b{type}", type, **changes) as second:
            found = corestone.compare(first.coordinator, second.coordinator)
            assert found.differences == len(found.details) == len(keys) == found.values - found.equal
            uri = first.context().fetch("Note", "text == 'é'")[0].id.uri
            for key in keys:
                owner = "Note/" + uri.rpartition("/")[2] if key != "notes" else ""
                (line,) = [each for each in found.details if f".{key}: " in each]
                assert line.startswith(f"{owner}.{key}: ") or key == "notes"
                assert first.path in line
                assert second.path in line


def test_first_differences_are_listed_and_all_are_counted(tmp_path: Path) -> None:
    model = {"Note": {"n": "int?"}}
    with Container(Model(model), tmp_path / "a") as first, Container(Model(model), tmp_path / "b") as second:
        first.insert("Note", [{"n": n} for n in range(600)])
        second.insert("Note", [{"n": n if n < 3 or n > 579 else -n} for n in range(600)])
        found = corestone.compare(first.coordinator, second.coordinator)
        assert (found.objects, found.values, found.equal, found.differences) == (600, 600, 23, 577)
        assert len(found.details) == 20
        for n, line in enumerate(found.details, 3):
            assert line.startswith(f"Note/p{n + 1}.n: ")
            assert f"{n}" in line.partition(first.path)[0]
        second.insert("Note", {})
        found = corestone.compare(first.coordinator, second.coordinator)
        assert found.details == [f"Note: 600 objects in {first.path}, 601 in {second.path}"]
        assert found.differences == 1


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"text": "other"}, '.text: "a" in {}, "other" in {}'), ({"text": None}, '.text: "a" in {}, null in {}'),
        ({"n": -3}, ".n: 3 in {}, -3 in {}"), ({"price": Decimal("1.51")}, ".price: 1.5 in {}, 1.51 in {}"),
        ({"flag": False}, ".flag: true in {}, false in {}"), ({"real": -0.0}, ".real: 0.0 in {}, -0.0 in {}"),
        ({"made": MADE + timedelta(seconds=1)}, ".made: 2024-02-29T12:00:00Z in {}, 2024-02-29T12:00:01Z in {}"),
        ({"key": UUID(int=8)}, f".key: {UUID(int=7)} in {{}}, {UUID(int=8)} in {{}}"),
        ({"data": b"yz"}, ".data: 1 byte in {}, 2 bytes in {}"),
    ],
)  # fmt: skip
def test_difference_shows_both_values(tmp_path: Path, values: dict[str, Any], words: str) -> None:
    model = Model(MODEL)
    given = {**VALUES, "text": "a", "n": 3, "flag": True, "real": 0.0, "data": b"x"}
    # SQLite has no zero below zero.
    with (
        Container(model, tmp_path / "a", type="Binary") as first,
        Container(model, tmp_path / "b", type="Binary") as second,
    ):
        first.insert("Note", given)
        second.insert("Note", {**given, **values})
        (line,) = corestone.compare(first.coordinator, second.coordinator).details
        shown = line.removeprefix("Note/p1").lower()
        assert shown == words.format(first.path, second.path).lower()


def test_comparison_ignores_the_order_of_the_model(tmp_path: Path) -> None:
    """Entities and properties are paired by name."""
    other = {name: dict(reversed(MODEL[name].items())) for name in reversed(MODEL)}
    with filled(tmp_path / "a", "SQLite") as first:
        first.migrate(tmp_path / "b", type="Binary")
        with (
            Container(Model(MODEL), tmp_path / "a") as first_again,
            Container(Model(other), tmp_path / "c", sync="normal") as second,
        ):
            context = second.context()
            tags = {name: context.insert("Tag", name=name) for name in "abc"}
            kinds = [context.insert("Kind", name=name) for name in "de"]
            context.obtain_permanent_ids([*tags.values(), *kinds])
            note = context.insert("Note", **VALUES, tags=list(tags.values()), best=tags["a"])
            context.obtain_permanent_ids([note])
            note.kinds = set(kinds)
            context.insert("Note", text="second")
            context.save()
            for each in (first, first_again):
                found = corestone.compare(each.coordinator, second.coordinator)
                assert (found.objects, found.differences, found.details) == (7, 0, [])
                assert found.values == found.equal == 2 * 12 + 3 * 2 + 2 * 2


@pytest.mark.parametrize(
    ("one", "other", "entity", "key"),
    [
        ({"Note": {}}, {"Tag": {}}, "Note", None),
        ({"Note": {}}, {"Note": {}, "Tag": {}}, "Tag", None),
        ({"Note": {"a": "string?", "b": "int?"}}, {"Note": {"a": "string?"}}, "Note", "b"),
        ({"Note": {"a": "string?", "b": "int?"}}, {"Note": {"a": "string?", "c": "int?"}}, "Note", "b"),
        ({"Note": {"a": "string?"}}, {"Note": {"a": "int?"}}, "Note", "a"),
        ({"Note": {"a": "string?"}}, {"Note": {"a": "to-one Note?"}}, "Note", "a"),
        ({"Note": {"a": "to-one Note?"}}, {"Note": {"a": "to-many Note?"}}, "Note", "a"),
        ({"Note": {"a": "to-many Note?"}}, {"Note": {"a": "to-many ordered Note?"}}, "Note", "a"),
        ({"Note": {"a": "to-one Note?"}, "Tag": {}}, {"Note": {"a": "to-one Tag?"}, "Tag": {}}, "Note", "a"),
    ],
)
def test_models_that_differ_cannot_be_compared(
    tmp_path: Path, one: dict[str, Any], other: dict[str, Any], entity: str, key: str | None
) -> None:
    with Container(Model(one), tmp_path / "a") as first, Container(Model(other), tmp_path / "b") as second:
        for each in (first, second):
            if "Note" in each.model:
                each.insert("Note", {})
        for left, right in [(first, second), (second, first)]:
            with pytest.raises(InvalidArgumentError, match="open both with the same model") as caught:
                corestone.compare(left.coordinator, right.coordinator)
            assert left.path in caught.value.message
            assert (caught.value.entity, caught.value.key, caught.value.file) == (entity, key, right.path)


def test_transient_properties_may_differ(tmp_path: Path) -> None:
    one = {"Note": {"a": "string?", "b": "int? transient"}}
    other = {"Note": {"c": "string? transient", "a": "string = x"}}
    with Container(Model(one), tmp_path / "a") as first, Container(Model(other), tmp_path / "b") as second:
        for each in (first, second):
            each.insert("Note", {"a": "x"})
        assert corestone.compare(first.coordinator, second.coordinator).differences == 0


def test_coordinator_without_a_store_cannot_be_compared(tmp_path: Path) -> None:
    with (
        Container(Model({"Note": {}}), tmp_path / "a") as first,
        pytest.raises(InvalidArgumentError, match="second coordinator: the coordinator does not have a store"),
    ):
        corestone.compare(first.coordinator, Coordinator(Model({"Note": {}})))
