"""Composite and derived attributes."""

from __future__ import annotations

import re
import sqlite3
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any, Callable
from uuid import UUID

import pytest
from samples import LIBRARY, library

from corestone import (
    ConflictError,
    Container,
    Expression,
    InvalidArgumentError,
    Model,
    ModelError,
    PredicateSyntaxError,
    TypeMismatchError,
    UnsupportedError,
    ValidationError,
)

PLACE = {
    "Place": {
        "name": "string?",
        "location": {
            "latitude": "double",
            "note": "string? max 5",
            "price": "decimal?",
            "address": {"street": "string?", "number": "int16? = 7"},
        },
    }
}


def places(path: Path) -> Container:
    return Container(Model(PLACE), path, unsaved="discard")


def test_composite_value_is_a_dictionary(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    with places(path) as container:
        ctx = container.context()
        place = ctx.insert("Place", name="Here", location={"latitude": 52.5, "price": 3, "address": {"street": "Elm"}})
        assert place.location == {"latitude": 52.5, "price": Decimal(3), "address": {"street": "Elm"}}
        assert place["location.address.street"] == "Elm"
        place["location.address.street"] = "Oak"
        place["location.address.number"] = 9
        ctx.save()
        assert not place.is_changed("location")
        place["location.note"] = "n"
        assert place.is_changed("location")
        assert place.is_changed("location.note")
        assert not place.is_changed("location.latitude")
        assert place.committed_value("location") == {
            "latitude": 52.5, "price": Decimal(3), "address": {"street": "Oak", "number": 9},
        }  # fmt: skip
        ctx.rollback()
    with places(path) as container:
        ctx = container.context()
        place = ctx.fetch("Place")[0]
        assert place.location["address"] == {"street": "Oak", "number": 9}
        assert ctx.fetch("Place").column("location") == [place.location]
        assert place.to_dict() == {"name": "Here", "location": place.location}
        place.location = {"latitude": 1}
        assert place.location == {"latitude": 1.0}
        place.location = None
        ctx.save()
        assert place.location is None
        assert ctx.count("Place", "location == nil") == 1


def test_composite_defaults_apply_to_insert_and_insert_many(tmp_path: Path) -> None:
    with places(tmp_path / "a.sqlite") as container:
        ctx = container.context()
        assert ctx.insert("Place").location == {"address": {"number": 7}}
        ctx.rollback()
        rows: list[dict[str, Any]] = [{"name": str(n), "location": {"latitude": n}} for n in range(3)]
        ctx.insert_many("Place", [*rows, {"name": "none", "location": None}])
        ctx.save()
        found = ctx.fetch("Place", "location.latitude > 0", sort=["-location.latitude"])
        assert found.column("name") == ["2", "1"]
        assert found.column("location.latitude") == [2.0, 1.0]
    model = Model()
    model.entity("Box").attribute(
        "size", "composite", elements={"width": "int32?", "height": "int32?"}, default={"width": 3}, optional=True
    )
    with Container(model, tmp_path / "b.sqlite") as container:
        assert container.context().insert("Box").size == {"width": 3}


def test_composite_attribute_has_its_renaming_identifier() -> None:
    model = Model()
    model.entity("Box").attribute(
        "size", "composite", elements={"width": "int32?"}, optional=True, renaming_identifier="extent"
    )
    assert model["Box"].describe("size")["renamingIdentifier"] == "extent"


def test_composite_mistakes_name_the_key_path(tmp_path: Path) -> None:
    with places(tmp_path / "a.sqlite") as container:
        ctx = container.context()
        place = ctx.insert("Place")

        def check(kind: type[Any], key: str, value: Any) -> None:
            with pytest.raises(kind) as caught:
                place.location = value
            assert (caught.value.entity, caught.value.key) == ("Place", key)

        check(InvalidArgumentError, "location.lattitude", {"lattitude": 1})
        check(TypeMismatchError, "location", "text")
        check(TypeMismatchError, "location.latitude", {"latitude": "x"})
        check(ValidationError, "location.address.number", {"address": {"number": 70000}})
        with pytest.raises(ModelError):
            place.is_changed("location.longitude")
        place.location = {"note": "n"}
        with pytest.raises(ValidationError) as caught:
            ctx.save()
        assert caught.value.key == "location.latitude"
        place.location = {"latitude": 1, "note": "too long"}
        with pytest.raises(ValidationError) as caught:
            ctx.save()
        assert caught.value.key == "location.note"
        with pytest.raises(ValidationError):
            place.validate_value("location", {"latitude": 1, "note": "too long"})
        assert place.validate_value("location", {"latitude": 1}) == {"latitude": 1.0}
    with pytest.raises(ModelError, match="relationship"):
        Model({"A": {"x": {"a": "to-one A?"}}})


#: What a batch update gives a composite attribute, or part of it, and the element that is left without a value.
MISSING: list[tuple[dict[str, Any], str]] = [
    ({"name": None}, "name"),
    ({"name": "alias"}, "name"),
    ({"spot": None}, "spot.address.street"),
    ({"spot": "other"}, "spot.lat"),
    ({"spot": "nil"}, "spot.lat"),
    ({"spot.lon": None}, "spot.lon"),
    ({"spot.lon": "other.lon"}, "spot.lon"),
    ({"spot.address": None}, "spot.address.street"),
    ({"spot.address": "other.address"}, "spot.address.street"),
    ({"spot.address.street": "alias"}, "spot.address.street"),
    ({"spot": "partly"}, "spot.lon"),
    ({"spot": "mostly"}, "spot.address.street"),
]


@pytest.mark.parametrize("type", ["SQLite", "XML", "Binary", "InMemory"])
@pytest.mark.parametrize(("values", "missing"), MISSING, ids=str)
def test_batch_update_names_the_required_element_without_a_value(
    tmp_path: Path, type: str, values: dict[str, Any], missing: str
) -> None:
    address = {"street": "string?", "number": "int16?"}
    elements = {"lat": "double?", "lon": "double?", "address": address}
    required = {"lat": "double", "lon": "double", "address": {"street": "string", "number": "int16?"}}
    model = {"name": "string", "alias": "string?", "spot": required, "other": elements, "partly": elements}
    with Container(Model({"Place": {**model, "mostly": elements}}), tmp_path / "a.store", type=type) as container:
        ctx = container.context()
        whole = {"lat": 1.0, "lon": 2.0, "address": {"street": "Elm"}}
        partly, mostly = {"lat": 3.0, "address": {"street": "Oak"}}, {"lat": 3.0, "lon": 4.0, "address": {"number": 5}}
        ctx.insert("Place", name="a", spot=whole, partly=partly, mostly=mostly)
        ctx.save()
        given = {key: Expression(value) if isinstance(value, str) else value for key, value in values.items()}
        with pytest.raises(
            ValidationError, match=rf"Place\.{re.escape(missing)} is required, but the new value is null"
        ) as caught:
            ctx.batch_update("Place", given)
        assert (caught.value.entity, caught.value.key, caught.value.code) == ("Place", missing, 1570)
        assert container.context().fetch("Place").column("spot") == [whole]


def test_conflict_in_a_composite_names_the_key_path(tmp_path: Path) -> None:
    with places(tmp_path / "a.sqlite") as container:
        first, second = container.context(), container.context()
        mine = first.insert("Place", location={"latitude": 1})
        first.save()
        theirs = second.fetch("Place")[0]
        theirs["location.latitude"] = 2
        mine["location.latitude"] = 3
        first.save()
        with pytest.raises(ConflictError) as caught:
            second.save()
        assert caught.value.key == "location.latitude"


# -------- derived ------------------------------------------------------------------------------------------


def test_derived_attribute_cannot_be_set(tmp_path: Path) -> None:
    container, ctx, author, article = library(tmp_path / "a.sqlite")
    with container:
        attempts: list[Callable[[], Any]] = [
            lambda: setattr(author, "nameCopy", "x"),
            lambda: author.set(nameCopy="x"),
            lambda: author.__setitem__("nameCopy", None),
            lambda: ctx.insert("Author", nameCopy="x"),
            lambda: ctx.insert_many("Author", [{"nameCopy": "x"}]),
        ]
        for attempt in attempts:
            with pytest.raises(InvalidArgumentError) as caught:
                attempt()
            assert (caught.value.entity, caught.value.key) == ("Author", "nameCopy")
        article.author = None
        ctx.save()
        assert author.articlesCount == 0
        assert article.authorName is None


def test_unsupported_derivation_is_rejected(tmp_path: Path) -> None:
    model = Model(LIBRARY)
    model["Author"].attribute("odd", "int64", optional=True, derived="articles.@count", derived_filter="wordCount > 3")
    with pytest.raises(UnsupportedError) as caught:
        Container(model, tmp_path / "a.sqlite")
    assert (caught.value.entity, caught.value.key) == ("Author", "odd")
    assert model["Author"].describe("odd")["derivationFilter"] == "wordCount > 3"
    with pytest.raises(PredicateSyntaxError):
        Model({"A": {"x": "derived string? = (("}})
    with pytest.raises(ModelError, match=r"^A\.x does not have an expression; "):
        Model({"A": {"x": "derived string?"}})


@pytest.mark.parametrize(
    ("derived", "derived_filter", "offset"),
    [
        ("((", None, 2),
        ("articles.@count +", None, 17),
        ("'Zoë' + )", None, 9),
        ("articles.@count", "wordCount > > 3", 12),
        ("articles.@count", "title == 'Zoë' AND", 19),
        ("((", "wordCount >", 11),
    ],
)
def test_derivation_syntax_error_has_its_byte_offset(derived: str, derived_filter: str | None, offset: int) -> None:
    author = Model(LIBRARY)["Author"]
    with pytest.raises(
        PredicateSyntaxError, match=rf"^Author\.count cannot be derived: .*at byte {offset}\b"
    ) as caught:
        author.attribute("count", "int64", optional=True, derived=derived, derived_filter=derived_filter)
    error = caught.value
    assert (error.entity, error.key, error.offset, error.value) == ("Author", "count", offset, None)


# -------- the rows of the table of attributes --------------------------------------------------------------


def kept(tmp_path: Path, line: Any, value: Any) -> tuple[Any, Any]:
    """A value of an attribute as it is before the save, and as a fresh stack reads it."""
    path = tmp_path / "row.sqlite"
    with Container(Model({"Row": {"value": line}}), path) as container:
        ctx = container.context()
        row = ctx.insert("Row", value=value)
        before = row.value
        ctx.save()
    with Container(Model({"Row": {"value": line}}), path) as container:
        return before, container.context().fetch("Row")[0].value


@pytest.mark.parametrize(
    ("line", "value", "code"),
    [
        ("int16", 32768, 1610),
        ("int16", -32769, 1620),
        ("int32", 2**31, 1610),
        ("int32", -(2**31) - 1, 1620),
    ],
)
def test_B132_numbers_out_of_range_are_rejected(tmp_path: Path, line: str, value: int, code: int) -> None:
    with Container(Model({"Row": {"value": line}}), tmp_path / "a.sqlite", unsaved="discard") as container:
        row = container.context().insert("Row")
        with pytest.raises(ValidationError) as caught:
            row.value = value
        assert (caught.value.code, caught.value.entity, caught.value.key) == (code, "Row", "value")


@pytest.mark.parametrize("line", ["int64", "int32", "int16", "bool"])
def test_B132_B136_limit_values_round_trip(tmp_path: Path, line: str) -> None:
    value = {"int64": -(2**63), "int32": 2**31 - 1, "int16": -(2**15), "bool": False}[line]
    assert kept(tmp_path, line, value) == (value, value)


def test_B133_decimals_keep_38_digits_in_memory(tmp_path: Path) -> None:
    exact = Decimal("12345678901234567890123456789012345.678")
    before, after = kept(tmp_path, "decimal", exact)
    assert before == exact
    assert abs(after - exact) / exact < Decimal("1e-15")


def test_B134_nan_is_rejected_unless_allowed(tmp_path: Path) -> None:
    for line in ("double", "float"):
        with Container(Model({"Row": {"value": line}}), tmp_path / f"{line}.sqlite", unsaved="discard") as container:
            ctx = container.context()
            ctx.insert("Row", value=float("nan"))
            with pytest.raises(ValidationError) as caught:
                ctx.save()
            assert caught.value.key == "value"
    with Container(Model({"Row": {"value": "double nan"}}), tmp_path / "b.sqlite", unsaved="discard") as container:
        ctx = container.context()
        ctx.insert("Row", value=float("inf"))
        ctx.save()
        assert ctx.fetch("Row")[0].value == float("inf")


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("string", ""),
        ("date", datetime(1999, 12, 31, 23, 59, 59, 500000, tzinfo=timezone.utc)),
        ("binary", b"\x00\xff"),
        ("binary external", bytes(200_000)),
        ("uuid", UUID("123e4567-e89b-12d3-a456-426614174000")),
        ("uri", "https://example.org/a%20b?c=d"),
        ("float", 0.5),
    ],
)
def test_B135_to_B139_B148_values_round_trip(tmp_path: Path, line: str, value: Any) -> None:
    assert kept(tmp_path, line, value) == (value, value)


def test_B139_invalid_uri_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(ValidationError) as caught:
        kept(tmp_path, "uri", "no uri: %%")
    assert caught.value.code == 1690


def test_B143_undefined_type_needs_a_transient_attribute(tmp_path: Path) -> None:
    with pytest.raises(ModelError) as caught:
        Model({"Row": {"value": "undefined?"}}).freeze()
    assert (caught.value.entity, caught.value.key) == ("Row", "value")
    with Container(
        Model({"Row": {"value": "undefined? transient"}}), tmp_path / "a.sqlite", unsaved="discard"
    ) as container:
        row = container.context().insert("Row", value=1)
        row.value = "anything"
        assert row.value == "anything"


def test_B148_B149_B150_flags_are_kept() -> None:
    model = Model({"Row": {"value": "binary? external preserved"}})
    model["Row"].change("value", cloud_encryption=True)
    for each in (model, model.copy(), Model.load(model.compiled())):
        told = each["Row"].describe("value")
        assert told["externalStorage"] is True
        assert told["preservedInHistory"] is True
    assert model["Row"].describe("value")["cloudEncryption"] is True
    assert model.copy()["Row"].describe("value")["cloudEncryption"] is True


def test_B151_string_conditions_are_validated(tmp_path: Path) -> None:
    for value, code in [("a", 1670), ("abcdef", 1660), ("12", 1680)]:
        with pytest.raises(ValidationError) as caught:
            kept(tmp_path, "string min 2 max 4 match [a-z]+", value)
        assert caught.value.code == code


# -------- what elements and derivations are held to -----------------------------------------------------------


def test_required_elements_and_composites_are_validated(tmp_path: Path) -> None:
    """A required element is validated if its composite has any value; a required composite must have one."""
    size = {"width": "int32", "height": "int32?", "unit": {"name": "string", "symbol": "string?"}}
    model = Model({"Box": {"free": size}})
    model["Box"].attribute("bound", "composite", elements=size, optional=False)
    with Container(model, tmp_path / "a.sqlite", unsaved="discard") as container:
        box = container.context().insert("Box")
        whole = {"width": 1, "unit": {"name": "m"}}
        for free, bound, missing in [
            (None, None, ["bound"]),
            (None, whole, []),
            (whole, whole, []),
            ({}, whole, []),
            ({"height": 2}, whole, ["free.width"]),
            ({"unit": {"symbol": "m"}}, whole, ["free.unit.name", "free.width"]),
            ({"width": 1}, whole, []),
            (None, {"height": 2}, ["bound.width"]),
        ]:
            box.set(free=free, bound=bound)
            if not missing:
                box.validate_for_insert()
                continue
            with pytest.raises(ValidationError) as caught:
                box.validate_for_insert()
            details = caught.value.details or [caught.value]
            assert sorted(str(each.key) for each in details) == missing, (free, bound)
            assert {each.code for each in details} == {1570}


def test_dictionary_replaces_every_element_of_a_composite(tmp_path: Path) -> None:
    model = Model({"Box": {"size": {"width": "int32? = 3", "height": "int32?", "unit": {"name": "string? = m"}}}})
    with Container(model, tmp_path / "a.sqlite", unsaved="discard") as container:
        ctx = container.context()
        box = ctx.insert("Box")
        assert box.size == {"width": 3, "unit": {"name": "m"}}
        ctx.save()
        elements = ("size.width", "size.height", "size.unit.name", "size.unit", "size")

        def changed() -> list[str]:
            return [each for each in elements if box.is_changed(each)]

        for size, found in [
            ({"height": 1}, {"height": 1}),
            ({"width": 3, "unit": {"name": "m"}}, {"width": 3, "unit": {"name": "m"}}),
            ({"unit": {"name": "n"}}, {"unit": {"name": "n"}}),
            ({"unit": {}}, None),
            ({}, None),
            (None, None),
        ]:
            ctx.rollback()
            assert changed() == []
            box.size = size
            assert box.size == found
            assert "size.width" in changed()
            assert "size" in changed()
            assert box.committed_value("size") == {"width": 3, "unit": {"name": "m"}}
            assert box.committed_value("size.unit.name") == "m"
            assert box.committed_value("size.height") is None
        # An element that is set alone leaves the others.
        for path, value, found, names in [
            ("size.height", 1, {"width": 3, "height": 1, "unit": {"name": "m"}}, ["size.height", "size"]),
            ("size.unit.name", None, {"width": 3}, ["size.unit.name", "size.unit", "size"]),
        ]:
            ctx.rollback()
            box[path] = value
            assert (box.size, changed()) == (found, names)


@pytest.mark.parametrize(
    ("kind", "expression"),
    [
        ("int64", "name"),
        ("string", "articles.@count"),
        ("string", "articles.wordCount.@sum"),
        ("date", "uppercase:(name)"),
        ("string", "now()"),
        ("int64", "articles.wordCount.@max"),
        ("int64", "articles.wordCount.@avg"),
        ("int64", "articles.@sum.wordCount"),
        ("string", "articles.title"),
        ("string", "articles.author.name"),
        ("double", "sqrt:(rank)"),
        ("string", "uppercase:(articles.title)"),
    ],
)
def test_unsupported_derivation_error_names_the_attribute(tmp_path: Path, kind: str, expression: str) -> None:
    model = Model(
        {
            "Author": {"name": "string?", "rank": "double?", "articles": "to-many Article inverse author"},
            "Article": {"title": "string?", "wordCount": "int32?", "author": "to-one Author? inverse articles"},
        }
    )
    model["Author"].attribute("out", kind, optional=True, derived=expression)
    with pytest.raises(UnsupportedError, match=r"Author\.out") as caught:
        Container(model, tmp_path / "new.sqlite")
    assert (caught.value.entity, caught.value.key) == ("Author", "out")
    assert not (tmp_path / "new.sqlite").exists()


def test_composite_element_cannot_be_derived() -> None:
    model = Model({"A": {"size": {"a": "int32?", "b": "derived int32? = a"}}})
    with pytest.raises(
        ModelError, match=r"A\.size\.b is an element of a composite attribute and cannot be derived"
    ) as caught:
        model.freeze()
    assert (caught.value.entity, caught.value.key) == ("A", "size.b")


def test_ignored_changes_do_not_make_an_object_dirty(tmp_path: Path) -> None:
    """A transient attribute whose changes are ignored; no model file records that."""
    model = Model({"Car": {"name": "string?", "speed": "int32? transient", "gear": "int32? transient"}})
    model["Car"].change("speed", ignores_changes=True)
    copy = model.copy()
    copy["Car"].change("speed", ignores_changes=False)
    assert copy.source() == model.source()
    assert copy["Car"].version_hash == model["Car"].version_hash
    with Container(model, tmp_path / "a.sqlite", unsaved="discard") as container:
        ctx = container.context()
        car = ctx.insert("Car")
        ctx.save()
        car.speed = 30
        assert (car.speed, car.has_changes, ctx.has_changes) == (30, False, False)
        car.gear = 2
        assert (car.has_changes, ctx.has_changes) == (True, True)


@pytest.mark.parametrize("kind", ["SQLite", "XML", "Binary"])
def test_indexes_constraints_and_sorts_use_key_paths_of_elements(tmp_path: Path, kind: str) -> None:
    model = Model(
        {
            "Place": {
                "@unique": [["at.code"]],
                "@indexes": {"byCode": ["-at.code", "at.spot.x"]},
                "at": {"code": "string?", "spot": {"x": "int32?"}},
            }
        }
    )
    path = tmp_path / "a.store"
    with Container(model, path, type=kind, unsaved="discard") as container:
        ctx = container.context()
        for code, x in [("a", 3), ("b", 1), ("c", 2), (None, None)]:
            ctx.insert("Place", at={"code": code, "spot": {"x": x}})
        ctx.save()
        assert ctx.fetch("Place", "at.spot.x > 1", sort="-at.spot.x").column("at.code") == ["a", "c"]
        assert ctx.fetch("Place", "at.code == nil").column("at") == [None]
        rows = ctx.fetch_rows("Place", "at != nil", columns=["at.code"], sort="at.code")
        assert rows == [{"at.code": "a"}, {"at.code": "b"}, {"at.code": "c"}]
        double, other = (ctx.insert("Place", at={"code": "e"}) for _ in range(2))
        with pytest.raises(ValidationError) as caught:
            ctx.validate()
        assert (caught.value.code, caught.value.entity, caught.value.key) == (1551, "Place", "at.code")
        ctx.delete(other)
        double["at.code"] = "b"
        ctx.validate()  # the store knows the other rows
        with pytest.raises(ConflictError) as conflict:
            ctx.save()
        assert (conflict.value.code, conflict.value.key) == (133021, "at.code")
        double["at.code"] = "d"
        ctx.save()
        assert ctx.count("Place", "at.code IN {'b', 'd'}") == 2
    if kind == "SQLite":
        with sqlite3.connect(path) as connection:
            (made,) = connection.execute("SELECT sql FROM sqlite_master WHERE name = 'Z_Place_byCode'").fetchone()
        assert made.endswith("(ZAT_CODE COLLATE BINARY DESC, ZAT_SPOT_X COLLATE BINARY ASC)")
