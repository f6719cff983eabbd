"""Inferred migrations of attributes: added, removed, renamed, required, of another type."""

from __future__ import annotations

import uuid
from decimal import Decimal
from typing import Any

import pytest
from corestone import Context
from workshop import Workshop, rows

PERSON = {"Person": {"name": "string?", "age": "int32?"}}


def people(context: Context) -> None:
    context.insert("Person", name="Ada", age=36)
    context.insert("Person", name=None, age=None)
    context.insert("Person", name="", age=-1)


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("string?", None),
        ("string? = 'none'", "none"),
        ("string = ''", ""),
        ("bool? = true", True),
        ("bool = false", False),
        ("int16 = -7", -7),
        ("int64? = 9223372036854775807", 2**63 - 1),
        ("double = 0.1", 0.1),
        ("float = 0.5", 0.5),
        ("decimal = 12.50", Decimal("12.5")),
        ("uri? = 'urn:x'", "urn:x"),
        ("binary? external", None),
        ("uuid? = 12345678-1234-5678-1234-567812345678", uuid.UUID("12345678-1234-5678-1234-567812345678")),
    ],
)
def test_added_attribute_has_its_default(shop: Workshop, line: str, value: Any) -> None:
    """M050, M060: required or not, and the empty string is a default too."""
    shop.write(PERSON, people)
    is_plain = "uri" not in line and "uuid" not in line
    context = shop.migrated({"Person": {**PERSON["Person"], "more": line}}, compared=is_plain)
    assert rows(context, "Person", "name", "more") == [("Ada", value), (None, value), ("", value)]


def test_added_external_binary_attribute_has_its_default(shop: Workshop) -> None:
    shop.write(PERSON, people)
    wanted = {"Person": {**PERSON["Person"], "photo": "binary? external"}}
    from workshop import small_model

    model = small_model(wanted)
    model["Person"].change("photo", default=b"\x01\x02")
    shop.migrate(model.copy())
    assert rows(shop.open(model), "Person", "photo") == [(b"\x01\x02",)] * 3


def test_added_required_attribute_without_a_default_is_rejected(shop: Workshop) -> None:
    """134110 names entity and attribute if there are rows; without rows the migration succeeds."""
    shop.write(PERSON, people)
    error = shop.refused({"Person": {**PERSON["Person"], "more": "string"}}, 134110)
    assert (error.entity, error.key) == ("Person", "more")
    assert "Person.more is required, but 3 objects do not have a value" in str(error)


def test_added_required_attribute_is_accepted_without_rows(shop: Workshop) -> None:
    shop.write({**PERSON, "Empty": {"x": "int16?"}}, people)
    context = shop.migrated({**PERSON, "Empty": {"x": "int16?", "more": "string"}})
    assert context.count("Empty") == 0


def test_attribute_can_become_required_with_a_default(shop: Workshop) -> None:
    shop.write(PERSON, people)
    context = shop.migrated({"Person": {"name": "string = 'unknown'", "age": "int32 = 0"}})
    assert rows(context, "Person", "name", "age") == [("Ada", 36), ("unknown", 0), ("", -1)]


def test_null_values_of_a_new_required_attribute_are_rejected(shop: Workshop) -> None:
    shop.write(PERSON, people)
    error = shop.refused({"Person": {"name": "string", "age": "int32?"}}, 134110)
    assert (error.entity, error.key) == ("Person", "name")
    assert "1 object does not have a value" in str(error)


def test_attribute_can_become_required_when_every_row_has_a_value(shop: Workshop) -> None:
    shop.write(PERSON, lambda context: context.insert("Person", name="Ada", age=1))
    assert rows(shop.migrated({"Person": {"name": "string", "age": "int32"}}), "Person", "name") == [("Ada",)]


def test_attribute_can_become_optional(shop: Workshop) -> None:
    shop.write(
        {"Person": {"name": "string", "age": "int32"}}, lambda context: context.insert("Person", name="A", age=1)
    )
    assert rows(shop.migrated(PERSON), "Person", "name", "age") == [("A", 1)]


def test_attribute_can_be_removed(shop: Workshop) -> None:
    shop.write(PERSON, people)
    context = shop.migrated({"Person": {"age": "int32?"}})
    assert rows(context, "Person", "age") == [(36,), (None,), (-1,)]


def test_attribute_can_change_between_transient_and_stored(shop: Workshop) -> None:
    shop.write({"Person": {"name": "string?", "mood": "string? transient", "age": "int32? = 5"}}, people)
    context = shop.migrated({"Person": {"name": "string?", "mood": "string? = 'fair'", "age": "int32? transient"}})
    assert rows(context, "Person", "name", "mood", "age") == [
        ("Ada", "fair", None),
        (None, "fair", None),
        ("", "fair", None),
    ]


# Names


@pytest.mark.scenario("M005")
def test_renaming_identifier_is_the_first_name(shop: Workshop) -> None:
    """M005: v1 color, v2 paintColor (color), v3 primaryColor (color), in one step or in two."""
    shop.write({"Car": {"color": "string?"}}, lambda context: context.insert("Car", color="red"))
    context = shop.migrated({"Car": {"primaryColor": "string?"}}, {"Car.primaryColor": "color"})
    assert rows(context, "Car", "primaryColor") == [("red",)]


@pytest.mark.scenario("M005")
def test_renaming_identifier_is_the_first_name_in_two_steps(shop: Workshop) -> None:
    shop.write({"Car": {"color": "string?"}}, lambda context: context.insert("Car", color="red"))
    middle = ({"Car": {"paintColor": "string?"}}, {"Car.paintColor": "color"})
    assert rows(shop.migrated(*middle), "Car", "paintColor") == [("red",)]
    shop.close()
    context = shop.migrated({"Car": {"primaryColor": "string?"}}, {"Car.primaryColor": "color"}, compared=False)
    assert rows(context, "Car", "primaryColor") == [("red",)]


def test_chained_renaming_identifier_loses_the_value(shop: Workshop) -> None:
    """M002: the source is matched by its identifier, not by its name."""
    shop.write(
        {"Basic": {"second": "string?"}},
        lambda context: context.insert("Basic", second="A Known Value"),
        {"Basic.second": "first"},
    )
    context = shop.migrated({"Basic": {"third": "string?"}}, {"Basic.third": "second"})
    assert rows(context, "Basic", "third") == [(None,)]


def test_renaming_identifiers_alone_need_no_migration(shop: Workshop) -> None:
    """M004: a model that differs in renaming identifiers alone is the same version."""
    shop.write(PERSON, people, {"Person.name": "title"})
    content = shop.path.read_bytes()
    from workshop import small_model

    context = shop.open(small_model(PERSON, {"Person.name": "label"}))
    assert rows(context, "Person", "name") == [("Ada",), (None,), ("",)]
    shop.close()
    assert shop.path.read_bytes() == content


@pytest.mark.parametrize("removed", [{}, {"gone": "int16?"}], ids=["in place", "rebuilt"])
def test_attribute_names_can_be_swapped(shop: Workshop, removed: dict[str, str]) -> None:
    """x with the identifier y and y with x: in SQL by way of an unused column name."""
    shop.write(
        {"Point": {"x": "int32?", "y": "double?", **removed}}, lambda context: context.insert("Point", x=1, y=2.5)
    )
    context = shop.migrated({"Point": {"x": "double?", "y": "int32?"}}, {"Point.x": "y", "Point.y": "x"})
    assert rows(context, "Point", "x", "y") == [(2.5, 1)]


def test_three_attribute_names_can_be_rotated(shop: Workshop) -> None:
    shop.write(
        {"Point": {"x": "int32?", "y": "int32?", "z": "int32?"}}, lambda context: context.insert("Point", x=1, y=2, z=3)
    )
    definition = {"Point": {"x": "int32?", "y": "int32?", "z": "int32?", "w": "int32? = 4"}}
    context = shop.migrated(definition, {"Point.x": "y", "Point.y": "z", "Point.z": "x"})
    assert rows(context, "Point", "x", "y", "z", "w") == [(2, 3, 1, 4)]


def test_attribute_name_can_be_reused_by_a_new_attribute(shop: Workshop) -> None:
    """`name` becomes `title`, and a new attribute is called `name`."""
    shop.write(PERSON, people)
    context = shop.migrated(
        {"Person": {"title": "string?", "name": "string? = 'new'", "age": "int32?"}},
        {"Person.title": "name", "Person.name": "another"},
    )
    assert rows(context, "Person", "title", "name") == [("Ada", "new"), (None, "new"), ("", "new")]


def test_duplicate_renaming_identifier_is_rejected(shop: Workshop) -> None:
    shop.write(PERSON, people)
    error = shop.refused(
        {"Person": {"one": "string?", "two": "string?"}}, 134190, {"Person.one": "name", "Person.two": "name"}
    )
    assert error.entity == "Person"
    assert '"name"' in str(error)


def test_transformable_values_are_copied_without_decoding(shop: Workshop) -> None:
    """M055: transformer and class of a transformable attribute do not affect the version."""
    shop.write(
        {"Product": {"ids": "transformable?", "n": "int16?"}},
        lambda context: context.insert("Product", ids=[630, 688]),
    )
    context = shop.migrated(
        {"Product": {"ids": "transformable? transformer NSSecureUnarchiveFromData", "n": "int16?", "m": "int16?"}}
    )
    assert rows(context, "Product", "ids") == [([630, 688],)]


# Types


@pytest.mark.parametrize(
    ("former", "wanted"),
    [("int64?", "decimal?"), ("int16?", "int64?"), ("float?", "string?"), ("string?", "uuid?"), ("date?", "double?")],
)
def test_type_change_is_rejected_by_default(shop: Workshop, former: str, wanted: str) -> None:
    """M052: without permission, with 134190, the property and the option; also if no value would change."""
    shop.write({"Stock": {"quantity": former}}, lambda context: context.insert("Stock"))
    error = shop.refused({"Stock": {"quantity": wanted}}, 134190)
    assert (error.entity, error.key) == ("Stock", "quantity")
    assert "allow" in str(error)


@pytest.mark.parametrize(
    ("former", "wanted", "value", "converted"),
    [
        ("int16?", "int64?", -32768, -32768),
        ("int64?", "int16?", 32767, 32767),
        ("int64?", "decimal?", 10, Decimal(10)),
        ("int32?", "double?", 2**31 - 1, float(2**31 - 1)),
        ("int32?", "string?", -5, "-5"),
        ("string?", "int32?", "-5", -5),
        ("string?", "uuid?", "12345678-1234-5678-1234-567812345678", uuid.UUID("12345678-1234-5678-1234-567812345678")),
        ("uuid?", "string?", uuid.UUID("12345678-1234-5678-1234-56781234567f"), "12345678-1234-5678-1234-56781234567F"),
        ("bool?", "int16?", True, 1),
        ("int16?", "bool?", 1, True),
        ("float?", "double?", 0.5, 0.5),
        ("double?", "float?", 0.25, 0.25),
        ("decimal?", "double?", Decimal("0.5"), 0.5),
        ("uri?", "string?", "urn:a", "urn:a"),
        ("string?", "decimal?", "12.5", Decimal("12.5")),
    ],
)
def test_allowed_type_change_converts_values(
    shop: Workshop, former: str, wanted: str, value: Any, converted: Any
) -> None:
    def fill(context: Context) -> None:
        context.insert("Stock", quantity=value)
        context.insert("Stock", quantity=None)

    shop.write({"Stock": {"quantity": former, "other": "string? = 'x'"}}, fill)
    context = shop.migrated(
        {"Stock": {"quantity": wanted, "other": "string?"}}, compared=False, allow_type_changes=True
    )
    assert rows(context, "Stock", "quantity", "other") == [(converted, "x"), (None, "x")]


@pytest.mark.parametrize(
    ("former", "wanted", "value"),
    [
        ("int64?", "int16?", 32768),
        ("int64?", "double?", 2**53 + 1),
        ("double?", "float?", 0.1),
        ("double?", "int64?", 0.5),
        ("string?", "int32?", "five"),
        ("string?", "int32?", "+5"),
        ("string?", "uuid?", "no"),
        ("int16?", "bool?", 2),
        ("string?", "bool?", "yes"),
    ],
)
def test_lossy_type_change_is_rejected_with_all_values(shop: Workshop, former: str, wanted: str, value: Any) -> None:
    """Every such value is reported before anything is written."""

    def fill(context: Context) -> None:
        for each in (value, None, value):
            context.insert("Stock", quantity=each)

    shop.write({"Stock": {"quantity": former}}, fill)
    error = shop.refused({"Stock": {"quantity": wanted}}, 134110, allow_type_changes=True)
    assert [each.key for each in error.details] == ["quantity", "quantity"]
    assert str(value) in str(error)


def test_unsupported_type_change_is_rejected(shop: Workshop) -> None:
    shop.write({"Stock": {"quantity": "date?"}}, lambda context: context.insert("Stock"))
    error = shop.refused({"Stock": {"quantity": "string?"}}, 134190, allow_type_changes=True)
    assert "corestone dump" in str(error)


# Composite and derived attributes


def test_composite_elements_can_be_added_removed_and_renamed(shop: Workshop) -> None:
    """Elements are added, removed and renamed as attributes are."""
    former = {"Place": {"name": "string?", "at": {"latitude": "double?", "longitude": "double?", "note": "string?"}}}
    shop.write(
        former,
        lambda context: context.insert(
            "Place", name="Berlin", at={"latitude": 52.5, "longitude": 13.4, "note": "rainy"}
        ),
    )
    wanted = {"Place": {"name": "string?", "at": {"latitude": "double?", "longitude": "double?", "zone": "int16? = 1"}}}
    context = shop.migrated(wanted, compared=False)
    assert rows(context, "Place", "name", "at.latitude", "at.longitude", "at.zone") == [("Berlin", 52.5, 13.4, 1)]


def test_composite_attribute_can_be_renamed(shop: Workshop) -> None:
    shop.write(
        {"Place": {"at": {"latitude": "double?", "longitude": "double?"}}},
        lambda context: context.insert("Place", at={"latitude": 52.5, "longitude": 13.4}),
    )
    context = shop.migrated(
        {"Place": {"where": {"latitude": "double?", "longitude": "double?"}}}, {"Place.where": "at"}, compared=False
    )
    assert rows(context, "Place", "where.latitude", "where.longitude") == [(52.5, 13.4)]


def test_composite_attribute_can_be_added_and_removed(shop: Workshop) -> None:
    shop.write(PERSON, people)
    wanted = {"Person": {"name": "string?", "home": {"street": "string?", "number": "int16? = 1"}}}
    context = shop.migrated(wanted, compared=False)
    assert rows(context, "Person", "name", "home.number") == [("Ada", 1), (None, 1), ("", 1)]
    shop.close()
    context = shop.migrated({"Person": {"name": "string?"}}, compared=False)
    assert rows(context, "Person", "name") == [("Ada",), (None,), ("",)]


LIBRARY = {
    "Author": {"name": "string?", "books": "to-many Book inverse author"},
    "Book": {"title": "string?", "words": "int32? = 0", "author": "to-one Author? inverse books"},
}


def library(context: Context) -> None:
    ada = context.insert("Author", name="Ada")
    context.insert("Author", name="Bob")
    context.insert("Book", title="One", words=10, author=ada)
    context.insert("Book", title="Two", words=32, author=ada)


def test_added_derived_attributes_are_computed(shop: Workshop) -> None:
    shop.write(LIBRARY, library)
    wanted = {
        "Author": {
            **LIBRARY["Author"],
            "count": "derived int64? = books.@count",
            "sum": "derived int64? = books.words.@sum",
            "upper": "derived string? = uppercase:(name)",
        },
        "Book": {**LIBRARY["Book"], "by": "derived string? = author.name"},
    }
    context = shop.migrated(wanted, compared=False)
    assert rows(context, "Author", "count", "sum", "upper") == [(2, 42, "ADA"), (0, 0, "BOB")]
    assert rows(context, "Book", "by") == [("Ada",), ("Ada",)]
    context.insert("Book", title="Three", words=1, author=context.fetch("Author", "name == 'Bob'")[0])
    context.save()
    assert rows(context, "Author", "count", "sum") == [(2, 42), (1, 1)]


def test_derivation_can_be_changed_or_removed(shop: Workshop) -> None:
    former = {
        "Author": {**LIBRARY["Author"], "n": "derived int64? = books.@count", "was": "derived int64? = books.@count"},
        "Book": LIBRARY["Book"],
    }
    shop.write(former, library)
    wanted = {
        "Author": {**LIBRARY["Author"], "n": "derived int64? = books.words.@sum", "was": "int64?"},
        "Book": LIBRARY["Book"],
    }
    context = shop.migrated(wanted, compared=False)
    assert rows(context, "Author", "n", "was") == [(42, 2), (0, 0)]
    shop.close()
    context = shop.migrated({"Author": {**LIBRARY["Author"], "was": "int64?"}, "Book": LIBRARY["Book"]}, compared=False)
    context.insert("Book", title="Four", author=context.fetch("Author")[0])
    context.save()


def test_derived_attributes_follow_renamed_properties(shop: Workshop) -> None:
    shop.write(
        {"Author": {**LIBRARY["Author"], "count": "derived int64? = books.@count"}, "Book": LIBRARY["Book"]}, library
    )
    wanted = {
        "Writer": {
            "name": "string?",
            "works": "to-many Book inverse writer",
            "count": "derived int64? = works.@count",
        },
        "Book": {"title": "string?", "words": "int32?", "writer": "to-one Writer? inverse works"},
    }
    identifiers = {"Writer": "Author", "Writer.works": "books", "Book.writer": "author"}
    context = shop.migrated(wanted, identifiers, compared=False)
    assert rows(context, "Writer", "name", "count") == [("Ada", 2), ("Bob", 0)]
    context.insert("Book", title="Three", writer=context.fetch("Writer", "name == 'Bob'")[0])
    context.save()
    assert rows(context, "Writer", "count") == [(2,), (1,)]
