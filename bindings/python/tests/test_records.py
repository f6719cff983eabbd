"""The façade of a container: rows as dictionaries."""

from __future__ import annotations

import math
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from corestone import (
    Container,
    CorestoneError,
    ExactDate,
    InvalidArgumentError,
    InvalidHandleError,
    Model,
    Predicate,
    StoreDescription,
    TypeMismatchError,
    ValidationError,
)  # fmt: skip


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


def test_values_round_trip(shop: Container) -> None:
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
    assert record["@id"].startswith("x-coredata://")
    as_text = {"name": 5, "price": "1.5", "made": "2026-01-02T03:04:05Z", "count": "7", "data": "AQI="}
    record = shop.insert("Item", as_text)
    assert (record["name"], record["price"], record["count"], record["data"]) == ("5", Decimal("1.5"), 7, b"\x01\x02")
    assert record["made"] == given["made"]


def test_relationships_accept_records_and_ids(shop: Container) -> None:
    toys = shop.insert("Shop", {"name": "Toys", "items": [{"name": "ball"}, {"name": "kite"}]})
    assert len(toys["items"]) == 2
    doll = shop.insert("Item", {"name": "doll", "shop": toys["@id"]})
    assert doll["shop"] == toys["@id"]
    other = shop.insert("Item", {"name": "yo-yo", "shop": {"@id": toys["@id"], "name": "Old toys"}})
    assert other["shop"] == toys["@id"]
    assert shop.read("Shop")[0]["name"] == "Old toys"
    ctx = shop.context()
    found = ctx.fetch("Shop")[0]
    assert shop.insert("Item", {"name": "top", "shop": found})["shop"] == toys["@id"]
    assert shop.insert("Item", {"name": "car", "shop": found.id})["shop"] == toys["@id"]


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2024-02-29", (0, 0)), ("2024-02-29T10:00", (10, 0)), ("2024-02-29 12:34", (12, 34)),
        ("2024-02-29T12:34:00", (12, 34)), ("2024-02-29T14:34+02:00", (12, 34)),
    ],
)  # fmt: skip
def test_dates_without_an_offset_are_utc(shop: Container, text: str, time: tuple[int, int]) -> None:
    made = datetime(2024, 2, 29, *time, tzinfo=timezone.utc)
    assert shop.insert("Item", {"name": "kite", "made": text})["made"] == made
    with pytest.raises(TypeMismatchError, match="2020-01-31"):
        shop.insert("Item", {"name": "kite", "made": "20240229"})


def test_records_can_be_read_updated_and_deleted(shop: Container) -> None:
    assert len(shop.insert("Item", [{"name": f"n{each}", "count": each % 3} for each in range(10)])) == 10
    assert [each["name"] for each in shop.read("Item", sort=["count", "-name"], limit=3)] == ["n9", "n6", "n3"]
    assert [each["name"] for each in shop.read("Item", sort="name", ascending=False, limit=2)] == ["n9", "n8"]
    changed = shop.update("Item", "count == %d", {"count": "20"}, 2)
    assert [each["count"] for each in changed] == [20, 20, 20]
    assert [each["name"] for each in shop.read("Item", sort="name", limit=2, offset=3)] == ["n3", "n4"]
    one = shop.read("Item", "name == %@", "n0")[0]
    assert shop.read("Item", Predicate("name == 'n0'")) == [one]
    assert shop.read("Item", shop.coordinator.object_id(one["@id"])) == [one]
    assert shop.read("Item", one["@id"])[0]["name"] == "n0"
    assert shop.delete("Item", one["@id"]) == 1
    assert shop.delete("Item", "count == %d", 20) == 3
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


def test_failed_insert_inserts_no_record(shop: Container) -> None:
    with pytest.raises(ValidationError):
        shop.insert("Item", [{"name": "a"}, {}])
    assert shop.read("Item") == []


def test_success_and_failure_callbacks_are_called(shop: Container) -> None:
    told: list[Any] = []
    shop.insert("Item", {"name": "a"}, success=told.append, failure=told.append)
    assert told[0]["name"] == "a"
    shop.insert("Item", {}, success=told.append, failure=told.append)
    assert isinstance(told[1], ValidationError)
    shop.delete_all("Item", success=told.append)
    assert told[2] == 1
    with pytest.raises(TypeMismatchError):
        shop.insert("Item", {"name": "a"}, success=3)  # type: ignore[call-overload]
    with pytest.raises(TypeMismatchError):
        shop.insert("Item", {"name": object()})


def test_user_input_is_passed_as_an_argument(shop: Container) -> None:
    for name in ["O'Brien", "' OR TRUEPREDICATE OR name == '", "%@", '"', "\\"]:
        shop.insert("Item", [{"name": name}, {"name": "other"}])
        assert [each["name"] for each in shop.read("Item", "name == %@", name)] == [name]
        assert [each["count"] for each in shop.update("Item", "name == %@", {"count": 3}, name)] == [3]
        assert shop.delete("Item", "name == %@", name) == 1
        assert [each["name"] for each in shop.read("Item")] == ["other"]
        shop.delete_all("Item")
    with pytest.raises(InvalidArgumentError, match="1 argument was passed"):
        shop.read("Item", Predicate("count == 1"), 3)
    with pytest.raises(InvalidArgumentError, match="without a predicate format"):
        shop.read("Item", None, 3)
    with pytest.raises(InvalidArgumentError, match="is not the URI of an object"):
        shop.delete("Item", "x-coredata://nowhere/Item/p1")
    with pytest.raises(InvalidArgumentError, match="delete_all"):
        shop.delete("Item", None)
    told: list[Any] = []
    assert shop.read("Item", "name ==", failure=told.append) is None
    assert isinstance(told[0], CorestoneError)


def test_attributes_may_have_the_names_of_record_keys(shop: Container) -> None:
    model = Model({"Thing": {"objectID": "string?", "entity": "string?", "others": "to-many Thing? inverse other",
                             "other": "to-one Thing? inverse others"}})  # fmt: skip
    with Container("Things", model, stores=[StoreDescription(type="InMemory")]) as things:
        given = {"objectID": "mine", "entity": "yours"}
        record = things.insert("Thing", {**given, "others": [given]})
        assert {key: record[key] for key in given} == given
        inner = things.read("Thing", record["others"][0])[0]
        assert {key: inner[key] for key in given} == given
        assert inner["@id"] == record["others"][0]
        changed = things.insert("Thing", {"others": [{**inner, "objectID": "x"}, {"@entity": "Thing", "entity": "y"}]})
        assert changed["others"][0] == inner["@id"] or changed["others"][1] == inner["@id"]
        assert sorted(each["objectID"] or "" for each in things.read("Thing")) == ["", "", "mine", "x"]


def test_values_without_json_have_a_remedy_that_applies(shop: Container) -> None:
    endless: list[Any] = []
    endless.append(endless)
    flatten = r'Flatten the values, or write inner records first with insert and refer to their "@id"$'
    with pytest.raises(TypeMismatchError, match=flatten):
        shop.insert("Item", {"name": "kite", "data": endless})
    if hasattr(sys, "set_int_max_str_digits"):
        with pytest.raises(TypeMismatchError, match=r"as JSON: an integer has more than 38 digits$"):
            shop.insert("Item", {"name": "kite", "price": 10**5000})


def test_unsupported_values_are_rejected_by_name(shop: Container) -> None:
    """As attributes do, with the remedy; nothing is inserted."""
    day, naive = date(2020, 1, 1), datetime(2020, 1, 1)
    records: list[Any] = [{"name": "kite", "made": day}, [{"name": "ball"}, {"name": "kite", "made": day}]]
    for given in records:
        with pytest.raises(TypeMismatchError, match=r"Item\.made: .*datetime\.combine.*timezone\.utc") as caught:
            shop.insert("Item", given)
        assert (caught.value.entity, caught.value.key, caught.value.value) == ("Item", "made", day)
    with pytest.raises(InvalidArgumentError, match=r"Item\.made: .*does not have a time zone.*timezone\.utc"):
        shop.insert("Item", {"name": "kite", "made": naive})
    with pytest.raises(TypeMismatchError, match=r"Shop\.items\.made: "):
        shop.insert("Shop", {"name": "Toys", "items": [{"name": "kite", "made": day}]})
    with pytest.raises(TypeMismatchError, match=r"Item\.name: .*type object"):
        shop.insert("Item", {"name": object()})
    with pytest.raises(TypeMismatchError, match=r"Item\.made: "):
        shop.update("Item", None, {"made": day})
    with pytest.raises(TypeMismatchError, match="type int"):
        shop.insert("Item", 5)  # type: ignore[call-overload]
    assert shop.read("Item") == shop.read("Shop") == []


@pytest.mark.parametrize("type", ["InMemory", "SQLite", "XML", "Binary"])
def test_values_without_a_json_form_round_trip(tmp_path: Path, type: str) -> None:
    model = Model({"Item": {"n": "int64?", "real": "double? nan", "small": "float? nan", "made": "date?"}})
    stores = [StoreDescription(tmp_path / "a", type=type)]
    with Container("Items", model, stores=stores) as items:
        for n, real in enumerate([math.inf, -math.inf, 0.1, 1e300, 5e-324]):
            record = items.insert("Item", {"n": n, "real": real, "small": math.inf})
            assert (record["real"], record["small"]) == (real, math.inf)
            assert items.read("Item", "n == %d", n) == [record]
            assert items.update("Item", record["@id"], record) == [record]
        record = items.insert("Item", {"real": math.nan})
        assert math.isnan(record["real"])
        if type != "SQLite":  # which keeps none
            assert math.isnan(items.read("Item", record["@id"])[0]["real"])
        dates = [0, 0.5, 7.123456789, 781234567.123456, 781234567.1234567, -6e10, -7e10, 3e11, 1e15, 1e18, -1e-9]
        for seconds in dates:
            record = items.insert("Item", {"made": seconds})
            again = items.insert("Item", {**record, "n": 3, "@id": None})
            assert again["made"] == record["made"]
            made = record["made"]
            if isinstance(made, ExactDate):
                assert made.seconds == seconds == again["made"].seconds
            elif isinstance(made, datetime):
                assert (made - datetime(2001, 1, 1, tzinfo=timezone.utc)).total_seconds() == seconds
            else:
                assert made == seconds
        assert isinstance(items.insert("Item", {"made": 7.123456789})["made"], ExactDate)
        assert items.insert("Item", {"made": 1e18})["made"] == 1e18


@pytest.mark.parametrize("type", ["InMemory", "SQLite", "XML", "Binary"])
def test_composite_attributes_are_dictionaries(tmp_path: Path, type: str) -> None:
    elements = {"lat": "double?", "when": "date?", "cost": "decimal?", "deep": {"mark": "uuid?", "data": "binary?"}}
    model = Model({"Place": {"label": "string?", "at": {"type": "composite", "optional": True, "elements": elements}}})
    when, mark = datetime(2026, 1, 2, tzinfo=timezone.utc), uuid4()
    at = {"lat": 1.5, "when": when, "cost": Decimal("1.50"), "deep": {"mark": mark, "data": b"x"}}
    with Container("Places", model, stores=[StoreDescription(tmp_path / "a", type=type)]) as places:
        assert places.insert("Place", {"label": "x"})["at"] is None
        assert places.read("Place")[0]["at"] is None
        record = places.insert("Place", {"label": "y", "at": at})
        assert record["at"] == at
        assert places.read("Place", "at.lat == 1.5") == [record]
        assert places.update("Place", record["@id"], record) == [record]
        assert places.update("Place", "label == 'y'", {"at": {"lat": "2", "when": None}})[0]["at"] == {"lat": 2.0}
        assert places.update("Place", "label == 'y'", {"at": None})[0]["at"] is None
        with pytest.raises(CorestoneError) as caught:
            places.insert("Place", {"at": {"cost": "much"}})
        assert (caught.value.entity, caught.value.key, caught.value.value) == ("Place", "at.cost", "much")
        with pytest.raises(CorestoneError, match="no element"):
            places.insert("Place", {"at": {"height": 1}})
        assert len(places.read("Place")) == 2


def test_records_include_inherited_attributes() -> None:
    model = Model(
        {
            "Being": {"name": "string?"},
            "Person": {"@parent": "Being", "pay": "decimal?", "born": "date?", "face": "binary?"},
            "Stone": {"name": "string?"},
        }
    )
    born = datetime(2020, 1, 1, tzinfo=timezone.utc)
    with Container("Beings", model, stores=[StoreDescription(type="InMemory")]) as beings:
        values = {"name": "Ada", "pay": Decimal("1.50"), "born": born, "face": b"xyz"}
        ada = beings.insert("Person", values)
        assert "@entity" not in ada
        assert beings.read("Being") == [{**ada, "@entity": "Person"}]
        assert beings.update("Being", None, {"name": "Eve"}) == [{**ada, "name": "Eve", "@entity": "Person"}]
        bob = beings.insert("Being", {"name": "Bob", "@entity": "Person", "pay": "2"})
        assert (bob["@entity"], bob["pay"]) == ("Person", Decimal(2))
        assert beings.insert("Being", {"@entity": None})["name"] is None
        for wrong in ["Stone", "Nothing", 5]:
            with pytest.raises(CorestoneError):
                beings.insert("Being", {"@entity": wrong})
        with pytest.raises(InvalidArgumentError, match="does not inherit from Person"):
            beings.insert("Person", {"@entity": "Being"})
        with pytest.raises(InvalidArgumentError, match="update") as caught:
            beings.insert("Person", ada)
        assert (caught.value.entity, caught.value.key, caught.value.value) == ("Person", "@id", ada["@id"])
        assert len(beings.read("Being")) == 3


def test_null_overrides_a_default() -> None:
    model = Model({"Item": {"name": "string? = hello", "n": "int32 = 5", "made": "date?"}})
    with Container("Items", model, stores=[StoreDescription(type="InMemory")]) as items:
        record = items.insert("Item", {})
        assert (record["name"], record["n"]) == ("hello", 5)
        record = items.insert("Item", {"name": None})
        assert (record["name"], record["n"]) == (None, 5)
        assert items.update("Item", record["@id"], record) == [record]
        assert items.update("Item", None, {"name": None})[0]["name"] is None
        for ask in (lambda: items.insert("Item", {"n": None}), lambda: items.update("Item", None, {"n": None})):
            with pytest.raises(ValidationError) as caught:
                ask()
            assert caught.value.key == "n" or all(each.key == "n" for each in caught.value.details)
        with pytest.raises(TypeMismatchError, match="2020-01-31T12:00:00"):
            items.insert("Item", {"made": "2020-01"})


@pytest.mark.parametrize(("key", "value"), [("loud", "LOUD"), ("loud", None), ("tagCount", 7), ("tagCount", None)])
def test_derived_values_are_accepted_only_in_read_records(tmp_path: Path, key: str, value: Any) -> None:
    attributes = {
        "name": "string?",
        "loud": "derived string? = uppercase:(name)",
        "tagCount": "derived int64? = tags.@count",
        "tags": "to-many Tag inverse note",
    }
    model = Model({"Note": attributes, "Tag": {"name": "string?", "note": "to-one Note? inverse tags"}})
    with Container("Notes", model, stores=[StoreDescription(tmp_path / "notes.sqlite")]) as notes:
        tag = notes.insert("Tag", {"note": {"name": "plan"}})
        (read,) = notes.read("Note")
        for ask in (
            lambda: notes.insert("Note", {key: value}),
            lambda: notes.insert("Note", [{"name": "first"}, {"name": "second", key: value}]),
            lambda: notes.update("Note", None, {"name": "x", key: value}),
            lambda: notes.update("Note", read["@id"], {key: value}),
            lambda: notes.insert("Tag", {"note": {"name": "nested", key: value}}),
            lambda: notes.update("Tag", tag["@id"], {"note": {"name": "nested", key: value}}),
        ):
            with pytest.raises(InvalidArgumentError, match="derived") as caught:
                ask()
            assert (caught.value.entity, caught.value.key) == ("Note", key)
        assert [each["name"] for each in notes.read("Note")] == ["plan"]
        # With @id they were read, and are passed over.
        changed = {**read, "name": "draft", key: value}
        (updated,) = notes.update("Note", read["@id"], changed)
        assert (updated["name"], updated["loud"], updated["tagCount"]) == ("draft", "DRAFT", 1)
        notes.update("Tag", tag["@id"], {"note": {**updated, "name": "nested", key: value}})
        (nested,) = notes.read("Note")
        assert (nested["name"], nested["loud"], nested["tagCount"]) == ("nested", "NESTED", 1)


def test_returned_records_have_derived_values(tmp_path: Path) -> None:
    attributes = {
        "name": "string?",
        "loud": "derived string? = uppercase:(name)",
        "tagCount": "derived int64? = tags.@count",
        "tags": "to-many Tag inverse note",
    }
    model = Model({"Note": attributes, "Tag": {"note": "to-one Note? inverse tags"}})
    with Container("Notes", model, stores=[StoreDescription(tmp_path / "notes.sqlite")]) as notes:
        inserted = notes.insert("Note", {"name": "plan", "tags": [{}, {}]})
        assert (inserted["loud"], inserted["tagCount"]) == ("PLAN", 2)
        (updated,) = notes.update("Note", inserted["@id"], {"name": "draft", "tags": inserted["tags"][:1]})
        assert (updated["loud"], updated["tagCount"]) == ("DRAFT", 1)
        assert notes.read("Note") == [updated]


EVERYTHING = {
    "Thing": {
        "flag": "bool?", "small": "int16?", "medium": "int32?", "large": "int64?", "price": "decimal?",
        "single": "float?", "real": "double?", "name": "string?", "made": "date?", "mark": "uuid?",
        "data": "binary?", "site": "uri?",
        "owner": "to-one Owner? inverse things", "friends": "to-many Thing? inverse friends",
    },
    "Owner": {"name": "string?", "things": "to-many ordered Thing? inverse owner"},
}  # fmt: skip


@pytest.fixture
def things() -> Iterator[Container]:
    with Container("Things", Model(EVERYTHING), stores=[StoreDescription(type="InMemory")]) as container:
        yield container


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=timezone.utc)  # type: ignore[misc, arg-type]


MARK = UUID("00112233-4455-6677-8899-aabbccddeeff")


@pytest.mark.parametrize(
    ("key", "given", "kept"),
    [
        ("small", "-32768", -32768), ("small", "32767", 32767), ("small", 7.0, 7), ("medium", "2147483647", 2**31 - 1),
        ("large", "-9223372036854775808", -(2**63)), ("real", "1.5", 1.5), ("real", 2, 2.0), ("single", "0.5", 0.5),
        ("price", "12.50", Decimal("12.50")), ("price", 3, Decimal(3)),
        ("price", "0." + "1" * 38, Decimal("0." + "1" * 38)), ("name", 5, "5"), ("name", 1.5, "1.5"),
        ("name", Decimal("2.50"), "2.50"), ("flag", 1, True), ("flag", 0, False),
        ("mark", str(MARK), MARK), ("mark", str(MARK).upper(), MARK),
        ("data", "", b""), ("data", "AAECAw==", b"\0\1\2\3"), ("site", "https://example.org/?a=b", "https://example.org/?a=b"),
        ("made", "2024-02-29", utc(2024, 2, 29)), ("made", "2024-02-29T23:59:59", utc(2024, 2, 29, 23, 59, 59)),
        ("made", "2024-02-29 23:59", utc(2024, 2, 29, 23, 59)),
        ("made", "2024-02-29T23:59:59.25Z", utc(2024, 2, 29, 23, 59, 59, 250_000)),
        ("made", "2024-03-01T00:59:59+01:00", utc(2024, 2, 29, 23, 59, 59)), ("made", 60, utc(2001, 1, 1, 0, 1)),
        ("made", 0.5, utc(2001, 1, 1, 0, 0, 0, 500_000)),
    ],
)  # fmt: skip
def test_values_are_converted_to_the_attribute_type(things: Container, key: str, given: Any, kept: Any) -> None:
    record = things.insert("Thing", {key: given})
    assert record[key] == kept
    assert type(record[key]) is type(kept) or isinstance(record[key], type(kept))
    assert things.read("Thing", record["@id"]) == [record]
    assert things.update("Thing", record["@id"], {key: given}) == [record]
    assert all(value is None for name, value in record.items() if name not in (key, "@id", "friends"))


@pytest.mark.parametrize(
    ("key", "given"),
    [
        ("small", "1.5"), ("small", 1.5), ("small", ""), ("large", "9223372036854775808"), ("real", "many"),
        ("price", "1,5"), ("made", "2023-02-29"), ("made", "2024-02-29T24:01"), ("made", "2024-2-9"), ("made", ""),
        ("mark", "0011"),
        ("data", "*"), ("data", "AAE"), ("flag", "perhaps"),
    ],
)  # fmt: skip
def test_unconvertible_value_is_reported(things: Container, key: str, given: Any) -> None:
    record = things.insert("Thing", {"name": "kept", "small": 1})
    for ask in (
        lambda: things.insert("Thing", [{"name": "lost"}, {key: given}]),
        lambda: things.update("Thing", None, {key: given}),
        lambda: things.insert("Owner", {"things": [{key: given}]}),
    ):
        with pytest.raises(TypeMismatchError) as caught:
            ask()
        assert (caught.value.entity, caught.value.key, caught.value.value) == ("Thing", key, given)
    assert things.read("Thing") == [record]
    assert things.read("Owner") == []


@pytest.mark.parametrize(
    ("key", "given"),
    [
        *[(key, b"x") for key in ("name", "small", "price", "real", "flag", "made", "mark", "site", "owner")],
        ("friends", b"x"),
        ("small", b"1"), ("name", bytearray(b"x")), ("friends", [b"x"]),
        ("real", {"a": 1, "b": [None, "x"]}), ("name", ["a", [2.5, True]]), ("name", []), ("data", {}),
        ("friends", {"a": 1}),
    ],
)  # fmt: skip
def test_bytes_lists_and_dictionaries_are_rejected_with_their_value(things: Container, key: str, given: Any) -> None:
    record = things.insert("Thing", {"name": "kept"})
    for ask in (lambda: things.insert("Thing", {key: given}), lambda: things.update("Thing", None, {key: given})):
        with pytest.raises(TypeMismatchError) as caught:
            ask()
        value = b"x" if given == [b"x"] else given
        assert (caught.value.entity, caught.value.key, caught.value.value) == ("Thing", key, value)
    assert things.read("Thing") == [record]


@pytest.mark.parametrize(
    ("key", "given", "code"),
    [
        ("small", "32768", 1610), ("small", -32769, 1620), ("medium", "2147483648", 1610),
        ("medium", -(2**31) - 1, 1620),
    ],
)  # fmt: skip
def test_out_of_range_numbers_are_reported(things: Container, key: str, given: Any, code: int) -> None:
    record = things.insert("Thing", {"small": 1})
    for ask in (lambda: things.insert("Thing", {key: given}), lambda: things.update("Thing", None, {key: given})):
        with pytest.raises(ValidationError) as caught:
            ask()
        assert (caught.value.entity, caught.value.key, caught.value.value) == ("Thing", key, int(given))
        assert caught.value.code == code
    assert things.read("Thing") == [record]


def test_relationship_accepts_ids_records_and_null(things: Container) -> None:
    ada = things.insert("Owner", {"name": "Ada", "things": [{"name": "a"}, {"name": "b"}]})
    first, second = ada["things"]
    # In the order of the list, each in its own way.
    changed = things.update("Owner", ada["@id"], {"things": [second, {"name": "c"}, {"@id": first, "name": "A"}]})[0]
    assert [things.read("Thing", uri)[0]["name"] for uri in changed["things"]] == ["b", "c", "A"]
    assert things.update("Owner", ada["@id"], {"things": None})[0]["things"] == []
    assert things.update("Owner", ada["@id"], {"things": []})[0]["things"] == []
    assert len(things.read("Thing")) == 3
    eve = things.insert("Thing", {"name": "e", "owner": {"name": "Eve"}, "friends": [first, first, second]})
    assert sorted(eve["friends"]) == sorted([first, second])
    assert things.read("Owner", eve["owner"])[0]["things"] == [eve["@id"]]
    assert things.update("Thing", eve["@id"], {"owner": None})[0]["owner"] is None
    before = (things.read("Thing", sort="name"), things.read("Owner", sort="name"))
    cases: list[tuple[str, dict[str, Any], Any, Any]] = [
        ("Thing", {"owner": 3}, TypeMismatchError, 3),
        ("Thing", {"owner": "no uri"}, InvalidArgumentError, "no uri"),
        ("Thing", {"owner": ada["@id"] + "99"}, InvalidArgumentError, ada["@id"] + "99"),
        ("Owner", {"things": first}, TypeMismatchError, first),
        ("Owner", {"things": [3]}, TypeMismatchError, 3),
        ("Thing", {"owner": [ada["@id"]]}, TypeMismatchError, [ada["@id"]]),
        ("Owner", {"things": [{"@id": 5}]}, TypeMismatchError, 5),
    ]
    for entity, given, kind, value in cases:
        with pytest.raises(kind) as caught:
            things.insert(entity, given)
        assert (caught.value.entity, [caught.value.key], caught.value.value) == (entity, list(given), value)
    for entity, key, uri in [("Thing", "owner", first), ("Owner", "things", ada["@id"])]:
        with pytest.raises(CorestoneError) as caught:
            things.insert(entity, {key: uri if key == "owner" else [uri]})
        assert (caught.value.entity, caught.value.key) == (entity, key)
    assert (things.read("Thing", sort="name"), things.read("Owner", sort="name")) == before


def test_saves_of_earlier_stores_remain_when_a_later_store_fails(tmp_path: Path) -> None:
    stores = [
        StoreDescription(tmp_path / "first.sqlite", configuration="First"),
        StoreDescription(tmp_path / "second.sqlite", configuration="Second", busy_timeout=0.01),
    ]
    model = Model(
        {
            "Animal": {"@abstract": True, "name": "string?"},
            "Cat": {"@parent": "Animal"},
            "Wolf": {"@parent": "Animal"},
        }
    )
    model.configuration("First", "Cat")
    model.configuration("Second", "Wolf")
    with Container("Zoo", model, stores=stores) as zoo:
        records = [{"@entity": "Cat", "name": "c"}, {"@entity": "Wolf", "name": "w"}]
        with closing(sqlite3.connect(tmp_path / "second.sqlite", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(CorestoneError) as caught:
                zoo.insert("Animal", records)
            assert str(tmp_path / "second.sqlite") in str(caught.value)
        assert [(each["@entity"], each["name"]) for each in zoo.read("Animal")] == [("Cat", "c")]
        assert len(zoo.insert("Animal", records)) == 2
        assert [(each["@entity"], each["name"]) for each in zoo.read("Animal", sort=["name"])] == [
            ("Cat", "c"), ("Cat", "c"), ("Wolf", "w"),
        ]  # fmt: skip


def test_closed_container_rejects_record_calls(tmp_path: Path) -> None:
    shop = Container("Things", Model(EVERYTHING), stores=[StoreDescription(type="InMemory")])
    with shop:
        uri = shop.insert("Thing", {"name": "x"})["@id"]
    told: list[Any] = []
    calls: list[Any] = [
        lambda **heard: shop.insert("Thing", {"name": "y"}, **heard),
        lambda **heard: shop.read("Thing", **heard),
        lambda **heard: shop.update("Thing", None, {"name": "y"}, **heard),
        lambda **heard: shop.delete("Thing", "name == 'x'", **heard),
        lambda **heard: shop.delete_all("Thing", **heard),
    ]
    for call in calls:
        with pytest.raises(InvalidHandleError, match="closed"):
            call()
        assert call(failure=told.append, success=told.append) is None
    assert [type(each) for each in told] == [InvalidHandleError] * 5
    assert uri


def test_record_calls_accept_an_entity_and_a_class(shop: Container) -> None:
    item = shop.model["Item"]
    cls: Any = item.object_class
    shop.insert(cls, {"name": "kite", "count": 1})
    shop.insert(item, [{"name": "ball"}])
    assert [record["name"] for record in shop.read(cls, sort="name")] == ["ball", "kite"]
    assert shop.update(item, cls.name == "kite", {"count": 2})[0]["count"] == 2
    assert shop.delete(cls, cls.count == 2) == 1
    assert shop.delete_all(item) == 1
    with pytest.raises(TypeMismatchError, match="entity must be a str, not 3"):
        shop.read(3)  # type: ignore[arg-type]


def test_read_honours_sort_limit_and_offset(things: Container) -> None:
    things.insert("Thing", [{"name": name, "small": small} for name, small in zip("abcdef", (1, 1, 1, 2, 2, None))])
    cases: list[tuple[Any, bool, int, int, str]] = [
        ("name", True, 0, 0, "abcdef"), ("-name", True, 2, 0, "fe"), ("name", True, 2, 4, "ef"),
        ("name", True, 2, 5, "f"), ("name", True, 2, 6, ""), (["-small", "name"], True, 0, 0, "deabcf"),
        (["-small", "-name"], True, 3, 1, "dcb"), (["small", "name"], False, 0, 0, "edcbaf"),
        (["-small", "name"], False, 0, 0, "fcbaed"),
    ]  # fmt: skip
    for sort, ascending, limit, offset, names in cases:
        found = things.read("Thing", sort=sort, ascending=ascending, limit=limit, offset=offset)
        assert "".join(each["name"] for each in found) == names, (sort, ascending, limit, offset)
