"""One test for each code of a failed validation: entity, key, value, predicate, object, and the localised message."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from corestone import ConflictError, Container, Context, CorestoneError, Model, ValidationError
from corestone._abi import lib, values
from corestone._abi.call import call

DAY = datetime(2026, 11, 21, tzinfo=timezone.utc)


def thing_model() -> Model:
    model = Model()
    thing = model.entity("Thing").attribute("label", "string", default="x")
    thing.attribute("count", "int32", optional=True, minimum=1, maximum=10)
    thing.attribute("price", "decimal", optional=True, minimum=Decimal("0.5"), maximum=Decimal("99.99"))
    thing.attribute("ratio", "double", optional=True)
    thing.attribute("day", "date", optional=True, minimum=DAY, maximum=DAY + timedelta(days=30))
    thing.attribute("when", "date", optional=True)
    thing.attribute("word", "string", optional=True, minimum=2, maximum=5)
    thing.attribute("name", "string", optional=True, pattern="[a-z]+")
    thing.attribute("site", "uri", optional=True)
    thing.attribute("even", "int32", optional=True, validation={"modulus:by:(SELF, 2) == 0": "odd"})
    thing.attribute("serial", "int32", optional=True)
    thing.to_many("parts", "Thing", inverse="whole", minimum=2, maximum=3)
    thing.to_one("whole", "Thing", inverse="parts")
    thing.to_many("guards", "Thing", inverse="guarded", delete="deny")
    thing.to_one("guarded", "Thing", inverse="guards")
    thing.unique("serial")
    return model.localize(
        {
            "Entity/Thing": "Sache",
            "Property/count/Entity/Thing": "Anzahl",
            "Property/label": "Schild",
            "ErrorString/odd": "Die Zahl muss gerade sein.",
        }
    )


@pytest.fixture
def things(tmp_path: Path) -> Iterator[Context]:
    with Container(thing_model(), tmp_path / "things.sqlite", unsaved="discard") as container:
        yield container.context()


def refused(ctx: Context) -> CorestoneError:
    """The error of a save; validate() raises the same error, and neither changes anything."""
    with pytest.raises(ValidationError) as asked:
        ctx.validate()
    with pytest.raises(ValidationError) as saved:
        ctx.save()
    assert (asked.value.code, str(asked.value)) == (saved.value.code, str(saved.value))
    assert ctx.has_changes
    return saved.value


@pytest.mark.parametrize(
    ("code", "key", "value", "predicate", "words"),
    [
        (1550, "even", 3, "modulus:by:(SELF, 2) == 0", "Die Zahl muss gerade sein."),
        (1570, "label", None, None, "Sache.Schild is required"),
        (1610, "count", 11, "SELF <= 10", "Sache.Anzahl is 11, which is too large"),
        (1610, "price", Decimal("100"), "SELF <= 99.99", "too large"),
        (1620, "count", 0, "SELF >= 1", "Sache.Anzahl is 0, which is too small"),
        (1630, "day", DAY + timedelta(days=31), "SELF <= ", "too late"),
        (1640, "day", DAY - timedelta(seconds=1), "SELF >= ", "too soon"),
        (1660, "word", "abcdef", "length <= 5", "too long"),
        (1670, "word", "a", "length >= 2", "too short"),
        (1680, "name", "ABC", 'SELF MATCHES "[a-z]+"', "does not match its pattern"),
        (1690, "site", "http://a b/", None, "which is not a URI"),
        (1690, "site", "http://a.example/%4", None, "which is not a URI"),
    ],
)
def test_invalid_value_has_its_code_and_message(
    things: Context, code: int, key: str, value: Any, predicate: str | None, words: str
) -> None:
    thing = things.insert("Thing")
    setattr(thing, key, value)
    error = refused(things)
    assert (error.code, error.entity, error.key, error.value) == (code, "Thing", key, value)
    assert error.object_uri == thing.id.uri
    assert error.predicate is None if predicate is None else predicate in (error.predicate or "")
    assert words in str(error)
    setattr(thing, key, {"label": "y", "even": 2}.get(key))
    things.save()


def test_1550_for_values_that_cannot_be_stored(things: Context) -> None:
    things.insert("Thing", ratio=float("inf"))
    error = refused(things)
    assert (error.code, error.key, error.value) == (1550, "ratio", float("inf"))


def test_1551_for_duplicate_unique_values(things: Context) -> None:
    first = things.insert("Thing", serial=7)
    second = things.insert("Thing", serial=7)
    things.insert("Thing", serial=8)
    things.insert("Thing")
    things.insert("Thing")
    with pytest.raises(ValidationError) as failure:
        things.validate()
    error = failure.value
    assert (error.code, error.entity, error.key, error.value) == (1551, "Thing", "serial", 7)
    assert error.object_uri in (first.id.uri, second.id.uri)
    assert "must be unique" in str(error)
    # The store, which knows the other rows as well, has a code of its own.
    with pytest.raises(ConflictError) as conflict:
        things.save()
    assert conflict.value.code == 133021
    second.serial = 9
    things.validate()
    things.save()


def test_1560_for_several_failures(things: Context) -> None:
    thing = things.insert("Thing", count=0, word="a", label=None)
    other = things.insert("Thing", name="A")
    error = refused(things)
    assert error.code == 1560
    found = {(detail.code, detail.key, detail.object_uri) for detail in error.details}
    assert found == {
        (1570, "label", thing.id.uri),
        (1620, "count", thing.id.uri),
        (1670, "word", thing.id.uri),
        (1680, "name", other.id.uri),
    }
    assert all(detail.entity == "Thing" for detail in error.details)


def test_1580_and_1590_for_member_counts(things: Context) -> None:
    whole = things.insert("Thing")
    things.save()  # an optional relationship may be empty
    whole.parts = {things.insert("Thing")}
    error = refused(things)
    assert (error.code, error.key, error.value, error.object_uri) == (1580, "parts", 1, whole.id.uri)
    whole.parts = {things.insert("Thing") for _ in range(4)}
    error = refused(things)
    assert (error.code, error.key, error.value) == (1590, "parts", 4)
    whole.parts = {things.insert("Thing") for _ in range(3)}
    things.save()


def test_1600_for_a_denied_deletion(things: Context) -> None:
    guard = things.insert("Thing")
    guarded = things.insert("Thing", guards={guard})
    things.save()
    things.delete(guarded)
    with pytest.raises(ValidationError):
        guarded.validate_for_delete()
    error = refused(things)
    assert (error.code, error.entity, error.key, error.value) == (1600, "Thing", "guards", 1)
    things.delete(guard)
    guarded.validate_for_delete()  # what is deleted too does not count
    things.save()


def test_1650_for_a_date_that_is_not_finite(things: Context) -> None:
    """Every datetime is finite, so the value is passed through the C interface."""
    thing = things.insert("Thing")
    cell = values.Cell()
    cell.value.type, cell.value.payload.date = 7, float("inf")
    call(lib.cst_object_set, thing._cst_handle, things.container.model["Thing"].properties["when"].key, cell.ref)
    error = refused(things)
    assert (error.code, error.entity, error.key, error.value) == (1650, "Thing", "when", float("inf"))
    assert "but a date must be finite" in str(error)
