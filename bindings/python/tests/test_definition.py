"""The compact form of a model."""

from __future__ import annotations

from datetime import datetime, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from corestone import (
    AttributeType,
    CorestoneError,
    DeleteRule,
    Model,
    ModelError,
    Predicate,
    decode_archive,
)
from corestone.model.definition import ATTRIBUTE_TYPES, DELETE_RULES, attribute_type, delete_rule

# What every attribute and every relationship says, unless its line says otherwise.
ATTRIBUTE = {"optional": True}
RELATIONSHIP = {"optional": True, "inverse": None, "toMany": False, "ordered": False, "deleteRule": "Nullify"}


def described(text: str) -> dict[str, Any]:
    """The description of the property that a compact line defines."""
    model = Model({"E": {"p": text}, "Team": {"i": "to-many E"}})
    return {name: value for name, value in model["E"].describe("p").items() if name != "name"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("string", {"type": "String", "optional": False}),
        ("string?", {"type": "String"}),
        ("int32? = 7", {"type": "Integer 32", "default": 7}),
        ("int = -1", {"type": "Integer 64", "optional": False, "default": -1}),
        ("string = a = b", {"type": "String", "optional": False, "default": "a = b"}),
        ("string = ' a '", {"type": "String", "optional": False, "default": " a "}),
        ("string? = ?", {"type": "String", "default": "?"}),
        ("string =", {"type": "String", "optional": False, "default": ""}),
        ("binary? external", {"type": "Binary Data", "externalStorage": True}),
        ("double nan", {"type": "Double", "optional": False, "allowsNaN": True}),
        ("STRING? transient preserved", {"type": "String", "transient": True, "preservedInHistory": True}),
        ("transformable? transformer What?", {"type": "Transformable", "transformer": "What?"}),
        ("derived string? = a", {"type": "String", "derivation": "a"}),
        ("to-one Team?", {"destination": "Team"}),
        ("to-one Team inverse i delete deny",
            {"destination": "Team", "optional": False, "inverse": "i", "deleteRule": "Deny"}),
        ("to-many Team", {"destination": "Team", "toMany": True}),
        ("to-many ordered Team? max 3", {"destination": "Team", "toMany": True, "ordered": True, "maximumCount": 3}),
        ("TO_MANY Team min 1 max 3",
            {"destination": "Team", "toMany": True, "optional": False, "minimumCount": 1, "maximumCount": 3}),
    ],
)  # fmt: skip
def test_compact_line_equals_its_description(text: str, said: dict[str, Any]) -> None:
    assert described(text) == {**(RELATIONSHIP if "destination" in said else ATTRIBUTE), **said}


@pytest.mark.parametrize(
    ("text", "predicates"),
    [
        ("string min 2 max 8 match [a-z]+", ["length >= 2", "length <= 8", 'SELF MATCHES "[a-z]+"']),
        ("string match https?://.*", ['SELF MATCHES "https?://.*"']),
        ("string match indexed? indexed = b?", ['SELF MATCHES "indexed?"']),
        ("int16? min -1 max 5 = 3", ["SELF >= -1", "SELF <= 5"]),
        ("double? min 0.5", ["SELF >= 0.5"]),
        ("decimal max 1.10", ["SELF <= 1.1"]),
    ],
)
def test_compact_bounds_and_patterns_become_predicates(text: str, predicates: list[str]) -> None:
    said = described(text)
    assert [each["predicate"] for each in said["validation"]] == predicates
    # A question mark of a pattern or a default does not make the attribute optional.
    assert said.get("optional", True) == text.split()[0].endswith("?")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("strin", 'E.p: "strin" is not an attribute type; did you mean "string"?'),
        ("string indexd", 'E.p: "indexd" is not an option of an attribute; did you mean "indexed"?'),
        ("", 'E.p does not have an attribute type; write a line such as "string?" or "int16 = 0"'),
        ("int = seven", 'E.p: "seven" is not a value of type Integer 64'),
        ("bool = maybe", 'E.p: "maybe" is not a value of type Boolean; write true or false'),
        ("decimal = x", 'E.p: "x" is not a value of type Decimal'),
        ("uuid = 7", 'E.p: "7" is not a value of type UUID'),
        ("date = soon", 'E.p: "soon" is not a date: at byte 0, expected a year of four digits'),
        (
            "binary = x",
            'E.p is of type Binary Data, whose values cannot be written in a line; write an object with "default"',
        ),
        (
            "transformable = x",
            'E.p is of type Transformable, whose values cannot be written in a line; write an object with "default"',
        ),
        ("string min", 'E.p: "min" needs a value after it'),
        ("string match", 'E.p: "match" needs a regular expression (without spaces or "=") after it'),
        ("string max many", 'E.p: the maximum length "many" is not a 64-bit integer'),
        ("int16 max 1.5", 'E.p: "1.5" is not a value of type Integer 16'),
        ("transformable transformer", 'E.p: "transformer" needs the name of a transformer after it'),
        ("derived", 'E.p does not have an attribute type; write a line such as "derived int64? = articles.@count"'),
        (
            "derived int64 = ",
            'E.p does not have an expression; write a line such as "derived int64? = articles.@count"',
        ),
        ("to-one", 'E.p does not have a destination; write a line such as "to-one Person"'),
        ("to-many ordered", 'E.p does not have a destination; write a line such as "to-many Person"'),
        ("to-one Team inverse", 'E.p: "inverse" needs the name of a relationship after it'),
        (
            "to-one Team ordered",
            'E.p: "ordered" is not an option of a to-one relationship; use "inverse", '
            '"delete" or "renaming_identifier"',
        ),
        ("to-many Team min few", 'E.p: "min" takes a number of members from 0 to 4294967295, not "few"'),
        ("to-one Team delete destroy",
            'E.p: "destroy" is not a delete rule; use "no-action", "nullify", "cascade" or "deny"'),
    ],
)  # fmt: skip
def test_invalid_compact_line_is_rejected(text: str, words: str) -> None:
    with pytest.raises(ModelError) as caught:
        described(text)
    assert caught.value.message == words
    assert (caught.value.entity, caught.value.key) == ("E", "p")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("int64 = 9223372036854775807", 2**63 - 1),
        ("int16 = -7", -7),
        ("double = 1e3", 1000.0),
        ("float = 0.5", 0.5),
        ("decimal = 1.10", Decimal("1.10")),
        *((f"bool = {text}", True) for text in ("true", "TRUE", "yes", "1")),
        *((f"bool = {text}", False) for text in ("false", "No", "0")),
        ('string = "a b"', "a b"),
        ("string = 'a'", "a"),
        ("string = ''", ""),
        ('string = "', '"'),
        ("string = \"a'", "\"a'"),
        ("string = abba", "abba"),
        ("uuid = 12345678-1234-5678-1234-567812345678", UUID("12345678-1234-5678-1234-567812345678")),
        ("date = 2001-01-01T00:00:00Z", datetime(2001, 1, 1, tzinfo=timezone.utc)),
        ("date = 2001-01-01T02:00:00+02:00", datetime(2001, 1, 1, tzinfo=timezone.utc)),
        ("uri = https://example.org", "https://example.org"),
    ],
)
def test_compact_default_has_the_type_of_the_attribute(text: str, value: Any) -> None:
    found = described(text)["default"]
    assert found == value
    assert isinstance(found, type(value))


def test_type_and_delete_rule_names_are_resolved() -> None:
    assert attribute_type("Integer 16") == AttributeType.INTEGER_16
    assert attribute_type(AttributeType.DATE) == AttributeType.DATE
    assert delete_rule("No Action") == DeleteRule.NO_ACTION
    assert delete_rule(2) == DeleteRule.CASCADE
    with pytest.raises(ModelError):
        attribute_type(1)
    with pytest.raises(ModelError, match="cascade"):
        delete_rule("destroy")


def test_long_form_is_accepted_inside_the_compact_form() -> None:
    model = Model({"Item": {"name": {"type": "string", "optional": True, "user_info": {"label": "Name"}}}})
    assert model["Item"].properties["name"].is_optional


def test_invalid_property_definitions_are_rejected() -> None:
    with pytest.raises(ModelError, match=r"^Item\.name is a number \(7\), but must be a line such as "):
        Model({"Item": {"name": 7}})
    with pytest.raises(ModelError, match=r'^Item has no option "@parents"; did you mean "@parent"\?$'):
        Model({"Item": {"@parents": "Thing"}})
    with pytest.raises(
        ModelError, match=r'^Item\.data has no option "externalStorage"; did you mean "external_storage"\?$'
    ) as caught:
        Model({"Item": {"data": {"type": "binary", "externalStorage": True}}})
    assert (caught.value.entity, caught.value.key) == ("Item", "data")
    with pytest.raises(ModelError, match=r'^Item\.others has no option "indexed"; use .*"inverse", '):
        Model({"Item": {"others": {"to_many": "Item", "indexed": True}}})
    with pytest.raises(
        ModelError, match=r"^Item\.name: a model definition cannot contain the value <object .*>; use None"
    ):
        Model({"Item": {"name": object()}})
    with pytest.raises(ModelError, match=r"^Item has the key 7, but keys must be strings$"):
        Model({"Item": {7: "string"}})  # type: ignore[dict-item]


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


def test_every_type_name_is_resolved() -> None:
    assert set(NAMES_OF_TYPES) == set(AttributeType)
    for kind, names in NAMES_OF_TYPES.items():
        assert attribute_type(int(kind)) is kind
        for name in names:
            assert attribute_type(name) is kind, name


def test_every_delete_rule_name_is_resolved() -> None:
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


def test_compact_definition_builds_the_whole_model() -> None:
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


def test_invalid_composite_elements_are_rejected() -> None:
    with pytest.raises(
        ModelError, match=r"A\.place\.b is an element of a composite attribute and cannot be a relationship"
    ) as caught:
        Model({"A": {"place": {"b": "to-one A"}}})
    assert (caught.value.entity, caught.value.key) == ("A", "place.b")
    with pytest.raises(ModelError, match=r"A\.place\.b .*indexed") as caught:
        Model({"A": {"place": {"b": "string indexed"}}})
    assert (caught.value.entity, caught.value.key) == ("A", "place.b")
    with pytest.raises(ModelError, match=r"A\.place is an empty object, but must be a line"):
        Model({"A": {"place": {}}})


def test_library_and_package_accept_the_same_names() -> None:
    for name, kind in ATTRIBUTE_TYPES.items():
        said = described(name)
        assert attribute_type(said["type"]) is kind, name
    for name, rule in DELETE_RULES.items():
        said = described(f"to-one Team delete {name}")
        assert delete_rule(said.get("deleteRule", "nullify")) is rule, name


def test_definitions_accept_values_without_a_json_type() -> None:
    day, key = datetime(2020, 2, 3, tzinfo=timezone.utc), UUID(int=7)
    model = Model(
        {
            "E": {
                "a": {"type": AttributeType.DATE, "default": day, "minimum": datetime(2001, 1, 1, tzinfo=timezone.utc)},
                "b": {"type": "uuid", "default": key},
                "c": {"type": "binary", "default": b"\x01\x02"},
                "d": {"type": "decimal", "default": Decimal("1.10"), "maximum": 3},
                "e": {"type": "double", "default": float("inf"), "allows_nan": True},
                "f": {"type": "string", "default": "$date", "user_info": {"k": "ü"}},
                "g": {"type": "int64", "default": 2**63 - 1},
                "h": {"type": "transformable", "default": ["a", 1]},
                "i": {"type": "composite", "elements": {"x": "date", "y": "decimal?"}, "default": {"x": day}},
            }
        }
    )
    entity = model["E"]
    assert [entity.describe(name)["default"] for name in "abcdefg"] == [
        day, key, b"\x01\x02", Decimal("1.10"), float("inf"), "$date", 2**63 - 1,
    ]  # fmt: skip
    assert decode_archive(entity.describe("h")["default"]) == ["a", 1]
    assert [each.get("default") for each in entity.describe("i")["elements"]] == [day, None]
    assert entity.describe("d")["validation"][0]["predicate"] == "SELF <= 3"
    for kind, value in (("date", datetime(2020, 2, 3)), ("int16", "7"), ("int16", 1 << 70), ("uuid", b"1")):
        with pytest.raises(CorestoneError) as caught:
            Model({"E": {"p": {"type": kind, "default": value}}})
        assert (caught.value.entity, caught.value.key) == ("E", "p")


def test_validation_conditions_may_be_predicates() -> None:
    small = Predicate("SELF < %@", Decimal("1.5"))
    model = Model(
        {
            "E": {
                "a": {"type": "decimal", "validation": {small: "Too much.", "SELF > 0": "Too little."}},
                "b": {"to_many": "E", "validation": {Predicate("SELF.@count < 3"): "Too many."}},
                "c": {"x": {"type": "int16", "validation": {Predicate("SELF != 2"): "Not two."}}},
            }
        }
    )
    described = model["E"].describe
    assert [each["message"] for each in described("a")["validation"]] == ["Too much.", "Too little."]
    assert described("b")["validation"] == [{"predicate": "SELF.@count < 3", "message": "Too many."}]
    assert described("c")["elements"][0]["validation"] == [{"predicate": "SELF != 2", "message": "Not two."}]


def test_relationships_may_refer_to_entities_added_later() -> None:
    model = Model({"A": {"b": "to-one B? inverse as_ delete cascade", "self": "to-one A? inverse back", "n": "int"}})
    with pytest.raises(ModelError, match=r'A\.b has the destination "B"'):
        model.compiled()
    model.entity("B").to_many("as_", "A", inverse="b")
    model["A"].to_many("back", "A")
    model.freeze()
    assert list(model["A"].properties) == ["b", "self", "n", "back"]
    b = model["A"].properties["b"]
    assert (b.destination, b.inverse, b.delete_rule) == (model["B"]._handle, "as_", DeleteRule.CASCADE)
    assert model["A"].properties["self"].inverse == "back"


def test_forward_references_follow_renamed_entities_and_properties() -> None:
    model = Model({"A": {"b": "to-one B? inverse as_"}})
    model["A"].rename_property("b", "bee")
    model["A"].rename("C")
    model.entity("B").to_many("as_", "C", inverse="bee")
    assert model["C"].properties["bee"].inverse == "as_"
    gone = Model({"A": {"b": "to-one B?", "n": "int"}})
    gone["A"].remove("b")
    gone.freeze()
