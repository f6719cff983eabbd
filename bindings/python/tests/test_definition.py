"""The compact form of a model."""

from __future__ import annotations

from datetime import datetime, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from corestone import AttributeType, DeleteRule, Model, ModelError
from corestone._definition import Line, attribute_type, delete_rule, parse_default, parse_line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("string", Line("attribute", "string", {"optional": False})),
        ("string?", Line("attribute", "string", {"optional": True})),
        ("int32? indexed = 7", Line("attribute", "int32", {"optional": True, "indexed": True, "default": 7})),
        ("int = -1", Line("attribute", "int", {"optional": False, "default": -1})),
        ("string = a = b", Line("attribute", "string", {"optional": False, "default": "a = b"})),
        ("string = ' a '", Line("attribute", "string", {"optional": False, "default": " a "})),
        ("binary? external", Line("attribute", "binary", {"optional": True, "external_storage": True})),
        ("double nan", Line("attribute", "double", {"optional": False, "allows_nan": True})),
        ("to-one Team?", Line("to_one", "Team", {"optional": True})),
        ("to-one T inverse i delete deny", Line("to_one", "T", {"optional": False, "inverse": "i", "delete": "deny"})),
        ("to-many Team", Line("to_many", "Team", {})),
        ("to-many ordered Team inverse x", Line("to_many", "Team", {"ordered": True, "inverse": "x"})),
        ("to-many Team min 1 max 3", Line("to_many", "Team", {"minimum": 1, "maximum": 3, "optional": False})),
    ],
)  # fmt: skip
def test_lines(text: str, line: Line) -> None:
    assert parse_line(text, "E.p") == line


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("strin", '"strin" is not an attribute type'),
        ("string indexd", 'unexpected "indexd"'),
        ("", "does not have a type"),
        ("int = seven", 'cannot have the default "seven"'),
        ("binary = x", "cannot be written as text"),
        ("to-one", "does not have a destination"),
        ("to-one Team inverse", 'unexpected "inverse"'),
        ("to-one Team ordered", 'unexpected "ordered"'),
        ("to-many Team min few", 'does not have a number after "min"'),
    ],
)
def test_mistakes(text: str, words: str) -> None:
    with pytest.raises(ModelError, match=words):
        parse_line(text, "E.p")


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("int64", "9223372036854775807", 2**63 - 1),
        ("decimal", "1.10", Decimal("1.10")),
        ("float", "0.5", 0.5),
        ("bool", "yes", True),
        ("bool", "false", False),
        ("uuid", "12345678-1234-5678-1234-567812345678", UUID("12345678-1234-5678-1234-567812345678")),
        ("date", "2001-01-01T00:00:00Z", datetime(2001, 1, 1, tzinfo=timezone.utc)),
        ("uri", "https://example.org", "https://example.org"),
    ],
)
def test_defaults(kind: str, text: str, value: Any) -> None:
    assert parse_default(attribute_type(kind), text, "E.p") == value


def test_names_of_types_and_rules() -> None:
    assert attribute_type("Integer 16") == AttributeType.INTEGER_16
    assert attribute_type(AttributeType.DATE) == AttributeType.DATE
    assert delete_rule("No Action") == DeleteRule.NO_ACTION
    assert delete_rule(2) == DeleteRule.CASCADE
    with pytest.raises(ModelError):
        attribute_type(1)
    with pytest.raises(ModelError, match="cascade"):
        delete_rule("destroy")


def test_long_form_inside_the_compact_one() -> None:
    model = Model({"Item": {"name": {"type": "string", "optional": True, "user_info": {"label": "Name"}}}})
    assert model["Item"].properties["name"].is_optional


def test_what_is_no_property() -> None:
    with pytest.raises(ModelError, match=r"Item\.name is defined by 7, which is not a property"):
        Model({"Item": {"name": 7}})
    with pytest.raises(ModelError, match=r'Item: "@parents" is not a key of an entity; use .*"@parent"'):
        Model({"Item": {"@parents": "Thing"}})
    with pytest.raises(
        ModelError, match=r'^Item\.data has the unknown option "externalStorage"; did you mean "external_storage"\?$'
    ) as caught:
        Model({"Item": {"data": {"type": "binary", "externalStorage": True}}})
    assert (caught.value.entity, caught.value.key) == ("Item", "data")
    with pytest.raises(ModelError, match=r'^Item\.others has the unknown option "indexed"; use one of .*inverse, '):
        Model({"Item": {"others": {"to_many": "Item", "indexed": True}}})


NAMES_OF_TYPES = {
    AttributeType.UNDEFINED: ["undefined"],
    AttributeType.INTEGER_16: ["int16", "integer16", "Integer 16"],
    AttributeType.INTEGER_32: ["int32", "integer32", "Integer 32"],
    AttributeType.INTEGER_64: ["int", "integer", "int64", "integer64", "Integer 64"],
    AttributeType.DECIMAL: ["decimal", "Decimal"],
    AttributeType.DOUBLE: ["double"],
    AttributeType.FLOAT: ["float"],
    AttributeType.STRING: ["string", "str"],
    AttributeType.BOOLEAN: ["bool", "boolean"],
    AttributeType.DATE: ["date", "datetime"],
    AttributeType.BINARY: ["binary", "bytes", "Binary Data", "binary_data"],
    AttributeType.UUID: ["uuid", "UUID"],
    AttributeType.URI: ["uri"],
    AttributeType.TRANSFORMABLE: ["transformable"],
    AttributeType.COMPOSITE: ["composite"],
    AttributeType.OBJECT_ID: ["object-id", "objectID"],
}


def test_every_name_of_a_type() -> None:
    assert set(NAMES_OF_TYPES) == set(AttributeType)
    for kind, names in NAMES_OF_TYPES.items():
        assert attribute_type(int(kind)) is kind
        for name in names:
            assert attribute_type(name) is kind, name


def test_every_name_of_a_delete_rule() -> None:
    for rule, names in {
        DeleteRule.NO_ACTION: ["no-action", "noaction", "No Action", "no_action"],
        DeleteRule.NULLIFY: ["nullify", "Nullify"],
        DeleteRule.CASCADE: ["cascade"],
        DeleteRule.DENY: ["deny", "DENY"],
    }.items():
        assert delete_rule(int(rule)) is rule
        for name in names:
            assert delete_rule(name) is rule, name
    with pytest.raises(ModelError, match="7 is not a delete rule"):
        delete_rule(7)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("string? transient preserved", ("attribute", "string",
            {"optional": True, "transient": True, "preserved": True})),
        ("STRING Indexed", ("attribute", "STRING", {"optional": False, "indexed": True})),
        ("string min 2 max 8 match [a-z]+", ("attribute", "string",
            {"optional": False, "minimum": 2, "maximum": 8, "pattern": "[a-z]+"})),
        ("int16 min -1 max 5 = 3", ("attribute", "int16",
            {"optional": False, "minimum": -1, "maximum": 5, "default": 3})),
        ("string match https?://.*", ("attribute", "string", {"optional": False, "pattern": "https?://.*"})),
        ("string? match https?://.*", ("attribute", "string", {"optional": True, "pattern": "https?://.*"})),
        ("string max 9 match a? min 1", ("attribute", "string",
            {"optional": False, "maximum": 9, "pattern": "a?", "minimum": 1})),
        ("string match indexed? indexed = b?", ("attribute", "string",
            {"optional": False, "pattern": "indexed?", "indexed": True, "default": "b?"})),
        ("string = who?", ("attribute", "string", {"optional": False, "default": "who?"})),
        ("string? = ?", ("attribute", "string", {"optional": True, "default": "?"})),
        ("transformable transformer What?", ("attribute", "transformable",
            {"optional": False, "transformer": "What?"})),
        ("derived string = a == '?'", ("attribute", "string", {"optional": False, "derived": "a == '?'"})),
        ("derived string? = a", ("attribute", "string", {"optional": True, "derived": "a"})),
        ("to-one T inverse i?", ("to_one", "T", {"optional": False, "inverse": "i?"})),
        ("double? min 0.5", ("attribute", "double", {"optional": True, "minimum": 0.5})),
        ("decimal max 1.10", ("attribute", "decimal", {"optional": False, "maximum": Decimal("1.10")})),
        ("date? min 2001-01-01T00:00:00Z", ("attribute", "date",
            {"optional": True, "minimum": datetime(2001, 1, 1, tzinfo=timezone.utc)})),
        ("transformable? transformer Colours", ("attribute", "transformable",
            {"optional": True, "transformer": "Colours"})),
        ("derived int64? = articles.@count", ("attribute", "int64",
            {"optional": True, "derived": "articles.@count"})),
        ("derived string = a = b", ("attribute", "string", {"optional": False, "derived": "a = b"})),
        ("string =", ("attribute", "string", {"optional": False, "default": ""})),
        ("to-many T inverse i delete cascade ordered", ("to_many", "T",
            {"inverse": "i", "delete": "cascade", "ordered": True})),
        ("to-many T? max 3", ("to_many", "T", {"maximum": 3})),
        ("to-many T min 0", ("to_many", "T", {"minimum": 0})),
        ("to_one T?", ("to_one", "T", {"optional": True})),
        ("TO-ONE T", ("to_one", "T", {"optional": False})),
    ],
)  # fmt: skip
def test_words_of_lines(text: str, line: tuple[str, str, dict[str, Any]]) -> None:
    found = parse_line(text, "E.p")
    assert found == Line(*line)
    for name, value in line[2].items():
        assert type(found.options[name]) is type(value)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        *(("bool", text, True) for text in ("true", "TRUE", "yes", "1")),
        *(("bool", text, False) for text in ("false", "No", "0")),
        ("int16", "-7", -7),
        ("int32", "7", 7),
        ("double", "1e3", 1000.0),
        ("string", '"a b"', "a b"),
        ("string", "'a'", "a"),
        ("string", "''", ""),
        ("string", '"', '"'),
        ("string", "\"a'", "\"a'"),
        ("string", "abba", "abba"),
        ("date", "2001-01-01T02:00:00+02:00", datetime(2001, 1, 1, tzinfo=timezone.utc)),
    ],
)
def test_defaults_as_they_are_written(kind: str, text: str, value: Any) -> None:
    found = parse_default(attribute_type(kind), text, "E.p")
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("bool = maybe", r'^E\.p is BOOLEAN and cannot have the default "maybe"$'),
        ("decimal = x", 'is DECIMAL and cannot have the default "x"'),
        ("uuid = 7", 'is UUID and cannot have the default "7"'),
        ("date = soon", 'is DATE and cannot have the default "soon"'),
        ("transformable = x", "cannot be written as text, because its type is TRANSFORMABLE"),
        ("string min", 'does not have a value after "min"'),
        ("string match", 'does not have a value after "match"'),
        ("string max many", 'does not have a number after "max"'),
        ("int16 max 1.5", 'is INTEGER_16 and cannot have the default "1.5"'),
        ("transformable transformer", 'unexpected "transformer"'),
        ("derived", "does not have a type"),
        ("derived int64", "does not have an expression"),
        ("derived int64 = ", "does not have an expression"),
        ("to-one T min 1", 'unexpected "min"'),
        ("to-many ordered", "does not have a destination"),
        ("to-many T max", 'does not have a number after "max"'),
    ],
)
def test_lines_that_say_too_little(text: str, words: str) -> None:
    with pytest.raises(ModelError, match=words):
        parse_line(text, "E.p")


def test_what_lines_make_of_a_model() -> None:
    model = Model(
        {
            "A": {
                "@unique": ["code", ["n", "m"]],
                "@indexes": {"byN": ["-n", "m"]},
                "@user_info": {"k": "v"},
                "@class_name": "Alpha",
                "code": "string min 2 max 8 match [a-z]+ = abc",
                "n": "int16 min -1 max 5 = 3",
                "m": "string? preserved",
                "bs": "to-many ordered B inverse a delete deny min 1 max 3",
                "place": {"x": "double? = 1.5", "y": {"type": "double", "default": 2.0}},
            },
            "B": {"@abstract": True, "a": "to-one A inverse bs delete no-action"},
        }
    )
    a, b = model["A"], model["B"]
    assert (a.class_name, a.all_user_info(), a.is_abstract, b.is_abstract) == ("Alpha", {"k": "v"}, False, True)
    assert a.describe()["uniqueConstraints"] == [["code"], ["n", "m"]]
    assert a.describe()["indexes"] == [
        {"name": "byN", "elements": [{"property": "n", "ascending": False}, {"property": "m", "ascending": True}]}
    ]
    assert [each["predicate"] for each in a.describe("code")["validation"]] == [
        "length >= 2", "length <= 8", 'SELF MATCHES "[a-z]+"',
    ]  # fmt: skip
    assert [each["predicate"] for each in a.describe("n")["validation"]] == ["SELF >= -1", "SELF <= 5"]
    assert (a.describe("code")["default"], a.describe("n")["default"]) == ("abc", 3)
    members, owner = a.properties["bs"], b.properties["a"]
    assert (members.is_optional, members.minimum, members.maximum) == (False, 1, 3)
    assert (members.delete_rule, members.is_ordered, members.inverse) == (DeleteRule.DENY, True, "a")
    assert (owner.is_optional, owner.is_to_many, owner.delete_rule) == (False, False, DeleteRule.NO_ACTION)
    assert a.properties["m"].is_optional
    assert not a.properties["code"].is_optional
    assert [(each.name, each.path, each.is_optional) for each in a.properties["place"].elements] == [
        ("x", "place.x", True), ("y", "place.y", False),
    ]  # fmt: skip


def test_elements_that_cannot_be() -> None:
    with pytest.raises(
        ModelError, match=r"A\.place\.b is an element of a composite attribute and cannot be a relationship"
    ) as caught:
        Model({"A": {"place": {"b": "to-one A"}}})
    assert (caught.value.entity, caught.value.key) == ("A", "place.b")
    with pytest.raises(ModelError, match=r"A\.place\.b: .*indexed") as caught:
        Model({"A": {"place": {"b": "string indexed"}}})
    assert (caught.value.entity, caught.value.key) == ("A", "place.b")
    with pytest.raises(ModelError, match=r"A\.place is defined by \{\}, which is not a property"):
        Model({"A": {"place": {}}})
