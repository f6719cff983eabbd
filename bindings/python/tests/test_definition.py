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
        ("strin", "'strin' is no attribute type"),
        ("string indexd", "'indexd' is not understood"),
        ("", "does not name a type"),
        ("int = seven", "'seven' is no default"),
        ("binary = x", "cannot have its default written here"),
        ("to-one", "does not name the entity"),
        ("to-one Team inverse", "'inverse' is not understood"),
        ("to-one Team ordered", "'ordered' is not understood"),
        ("to-many Team min few", "'min' needs a number"),
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
    with pytest.raises(ModelError, match=r"Item\.name: 7 is no property"):
        Model({"Item": {"name": 7}})
    with pytest.raises(ModelError, match="'@parents' is not understood"):
        Model({"Item": {"@parents": "Thing"}})
    with pytest.raises(
        ModelError, match=r"^Item\.data: 'externalStorage' is not understood\. Is it 'external_storage'\?$"
    ) as caught:
        Model({"Item": {"data": {"type": "binary", "externalStorage": True}}})
    assert (caught.value.entity, caught.value.key) == ("Item", "data")
    with pytest.raises(ModelError, match=r"^Item\.others: 'indexed' is not understood\. There are: .*inverse, "):
        Model({"Item": {"others": {"to_many": "Item", "indexed": True}}})
