"""The façade of a container: rows as dictionaries."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone
from decimal import Decimal
from typing import Any
from uuid import uuid4

import pytest

from corestone import Container, CorestoneError, Model, StoreDescription, TypeMismatchError, ValidationError


@pytest.fixture
def shop() -> Iterator[Container]:
    model = Model(
        {
            "Item": {
                "name": "string",
                "price": "decimal?",
                "made": "date?",
                "count": "int16?",
                "mark": "uuid?",
                "data": "binary?",
                "shop": "to-one Shop? inverse items",
            },
            "Shop": {"name": "string?", "items": "to-many Item inverse shop"},
        }
    )
    with Container("Shop", model, stores=[StoreDescription(type="InMemory")]) as container:
        yield container


def test_values_go_in_and_out(shop: Container) -> None:
    given = {
        "name": "kite",
        "price": Decimal("12.50"),
        "made": datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc),
        "count": 7,
        "mark": uuid4(),
        "data": b"\x01\x02",
    }
    record = shop.insert("Item", given)
    assert {name: record[name] for name in given} == given
    assert record["shop"] is None
    assert record["objectID"].startswith("x-coredata://")
    as_text = {"name": 5, "price": "1.5", "made": "2026-01-02T03:04:05Z", "count": "7", "data": "AQI="}
    record = shop.insert("Item", as_text)
    assert (record["name"], record["price"], record["count"], record["data"]) == ("5", Decimal("1.5"), 7, b"\x01\x02")
    assert record["made"] == given["made"]


def test_relationships(shop: Container) -> None:
    toys = shop.insert("Shop", {"name": "Toys", "items": [{"name": "ball"}, {"name": "kite"}]})
    assert len(toys["items"]) == 2
    doll = shop.insert("Item", {"name": "doll", "shop": toys["objectID"]})
    assert doll["shop"] == toys["objectID"]
    other = shop.insert("Item", {"name": "yo-yo", "shop": {"objectID": toys["objectID"], "name": "Old toys"}})
    assert other["shop"] == toys["objectID"]
    assert shop.read("Shop")[0]["name"] == "Old toys"
    ctx = shop.context()
    found = ctx.fetch("Shop")[0]
    assert shop.insert("Item", {"name": "top", "shop": found})["shop"] == toys["objectID"]
    assert shop.insert("Item", {"name": "car", "shop": found.id})["shop"] == toys["objectID"]


def test_read_update_delete(shop: Container) -> None:
    assert len(shop.insert("Item", [{"name": f"n{each}", "count": each % 3} for each in range(10)])) == 10
    assert [each["name"] for each in shop.read("Item", sort=["count", "-name"], limit=3)] == ["n9", "n6", "n3"]
    assert [each["name"] for each in shop.read("Item", sort="name", ascending=False, limit=2)] == ["n9", "n8"]
    changed = shop.update("Item", "count == 2", {"count": "20"})
    assert [each["count"] for each in changed] == [20, 20, 20]
    one = shop.read("Item", "name == 'n0'")[0]
    assert shop.read("Item", one["objectID"])[0]["name"] == "n0"
    assert shop.delete("Item", one["objectID"]) == 1
    assert shop.delete("Item", "count == 20") == 3
    assert shop.delete_all("Item") == 6
    assert shop.read("Item") == []


@pytest.mark.parametrize(
    ("key", "value"),
    [("count", "many"), ("count", 100_000), ("made", "yesterday"), ("shop", 3), ("shop", "x-coredata://no/Shop/p1")],
)
def test_errors_name_entity_key_and_value(shop: Container, key: str, value: Any) -> None:
    with pytest.raises(CorestoneError) as caught:
        shop.insert("Item", {"name": "a", key: value})
    error = caught.value
    assert (error.entity, error.key) == ("Item", key)
    assert error.value == value
    assert shop.read("Item") == []


def test_all_or_nothing(shop: Container) -> None:
    with pytest.raises(ValidationError):
        shop.insert("Item", [{"name": "a"}, {}])
    assert shop.read("Item") == []


def test_callbacks(shop: Container) -> None:
    told: list[Any] = []
    shop.insert("Item", {"name": "a"}, success=told.append, failure=told.append)
    assert told[0]["name"] == "a"
    shop.insert("Item", {}, success=told.append, failure=told.append)
    assert isinstance(told[1], ValidationError)
    shop.delete_all("Item", success=told.append)
    assert told[2] == 1
    with pytest.raises(TypeMismatchError):
        shop.insert("Item", {"name": "a"}, success=3)  # type: ignore[arg-type]
    with pytest.raises(TypeMismatchError):
        shop.insert("Item", {"name": object()})
