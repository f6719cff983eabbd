"""Lint findings of a model, and differences between two models."""

from __future__ import annotations

from typing import Any, Callable

import pytest

from corestone import InvalidArgumentError, Model


@pytest.fixture
def shop() -> Model:
    return Model(
        {
            "Order": {"description": "string?", "items": "to-many ordered Item inverse order delete cascade"},
            "Item": {"price": "decimal", "order": "to-one Order? inverse items"},
        }
    )


def test_lint_reports_rule_severity_entity_and_key(shop: Model) -> None:
    found = shop.lint()
    assert [(each.rule, each.severity, each.entity, each.key) for each in found] == [
        ("reserved-name", "warning", "Order", "description"),
        ("required-without-default", "note", "Item", "price"),
    ]
    assert "Order.description" in found[0].message
    assert "rename it" in found[0].remedy
    assert [each.rule for each in shop.lint("cloudkit")][2:] == ["cloudkit-ordered", "cloudkit-required"]
    with pytest.raises(InvalidArgumentError, match='use "standard" or "cloudkit"'):
        shop.lint("icloud")


def test_lint_compares_identifiers_with_former_versions() -> None:
    first, second, third = (
        Model({"Note": {name: {"type": "string", "optional": True, "renaming_identifier": identifier}}})
        for name, identifier in (("text", "text"), ("body", "text"), ("content", "body"))
    )
    assert second.lint(former=[first]) == []
    (found,) = third.lint(former=[first, second])
    assert (found.rule, found.entity, found.key) == ("chained-renaming", "Note", "content")
    assert '"text"' in found.remedy


def test_diff_reports_renamed_properties(shop: Model) -> None:
    new = shop.copy()
    assert shop.diff(new) == []
    new["Item"].rename_property("price", "cost").change("cost", renaming_identifier="price", default=0)
    new.remove("Order")
    changes = shop.diff(new)
    assert [str(change) for change in changes] == [
        "entity Order: removed",
        "attribute Item.cost: renamed from price",
        "attribute Item.cost: default none -> 0",
        'attribute Item.cost: renamingIdentifier none -> "price"',
        "relationship Item.order: removed",
    ]
    assert [change.changes_hash for change in changes] == [True, True, False, False, True]
    assert (changes[1].action, changes[1].old, changes[1].new) == ("renamed", "price", "cost")


def test_lint_findings_are_ordered_by_entity_then_by_scope() -> None:
    model = Model(
        {
            "Zoo": {"hash": "string", "part": "to-one Part?", "Name": "string?", "name": "string?"},
            "Part": {"kind": "string?", "zoos": "to-many ordered Zoo delete no-action"},
            "Base": {"@abstract": True},
        }
    )
    model.template("zebra", "Part", "kind == 'a' AND knd == 'b'")
    model.template("ape", "Part", "knd == 'b'")
    model.configuration("Some", "Part")
    found = [(each.rule, each.severity, each.entity, each.key) for each in model.lint("cloudkit")]
    assert found == [
        ("reserved-name", "warning", "Zoo", "hash"),
        ("required-without-default", "note", "Zoo", "hash"),
        ("no-inverse", "warning", "Zoo", "part"),
        ("no-action", "warning", "Part", "zoos"),
        ("no-inverse", "warning", "Part", "zoos"),
        ("abstract-without-children", "warning", "Base", None),
        ("name-collision", "warning", "Zoo", "name"),
        ("unknown-key", "error", "Part", None),
        ("unknown-key", "error", "Part", None),
        ("cloudkit-required", "error", "Zoo", "hash"),
        ("cloudkit-relationship", "error", "Zoo", "part"),
        ("cloudkit-relationship", "error", "Part", "zoos"),
        ("cloudkit-ordered", "error", "Part", "zoos"),
    ]
    assert [(each.rule, each.severity, each.entity, each.key) for each in model.lint()] == found[:9]
    # Fetch requests by name.
    messages = [each.message for each in model.lint() if each.rule == "unknown-key"]
    assert 'the fetch request template "ape"' in messages[0]
    assert 'the fetch request template "zebra"' in messages[1]
    frozen = model.copy()
    frozen.freeze()
    assert frozen.lint("cloudkit") == model.lint("cloudkit")


def orders() -> Model:
    model = Model(
        {
            "Base": {"code": "string?"},
            "Order": {
                "@parent": "Base",
                "number": "int32",
                "note": "string?",
                "data": "binary?",
                "upper": "string?",
                "place": {"x": "double?"},
                "tags": "to-many Item",
            },
            "Item": {"price": "decimal?", "back": "to-one Order?"},
        }
    )
    model["Order"].change("upper", derived="uppercase:(note)")
    return model


CHANGES: list[tuple[str, dict[str, Any], bool]] = [
    ("number", {"type": "int64"}, True), ("number", {"optional": True}, True),
    ("data", {"external_storage": True}, True),
    ("note", {"preserved": True}, True), ("note", {"version_hash_modifier": "2"}, True),
    ("upper", {"derived": "lowercase:(note)"}, True), ("upper", {"optional": False}, False),
    ("note", {"renaming_identifier": "text"}, False), ("number", {"default": 1}, False),
    ("number", {"indexed": True}, False), ("number", {"minimum": 1}, False), ("note", {"maximum": 9}, False),
    ("note", {"pattern": "a+"}, False), ("note", {"spotlight": True}, False),
    ("note", {"cloud_encryption": True}, False),
    ("note", {"user_info": {"a": "b"}}, False), ("tags", {"destination": "Base"}, True), ("tags", {"minimum": 1}, True),
    ("tags", {"maximum": 3}, True), ("tags", {"ordered": True}, True), ("tags", {"optional": False}, True),
    ("tags", {"version_hash_modifier": "2"}, True), ("tags", {"inverse": "back"}, True),
    ("tags", {"delete": "cascade"}, False), ("tags", {"user_info": {"a": "b"}}, False),
]  # fmt: skip
EDITS: list[tuple[Callable[[Model], Any], bool]] = [
    (lambda model: setattr(model["Base"], "is_abstract", True), True),
    (lambda model: setattr(model["Order"], "version_hash_modifier", "2"), True),
    (lambda model: model["Order"].unique("number"), True),
    (lambda model: model["Order"].attribute("more", "string", optional=True), True),
    (lambda model: model["Order"].rename_property("number", "digits"), True),
    (lambda model: model["Item"].rename("Thing"), True),
    (lambda model: model["Order"].remove("upper"), True),
    (lambda model: setattr(model["Order"], "class_name", "MyOrder"), False),
    (lambda model: setattr(model["Order"], "renaming_identifier", "Purchase"), False),
    (lambda model: model["Order"].set_user_info("a", "b"), False),
    (lambda model: model["Order"].index("byNumber", "number"), False),
    (lambda model: model["Order"].fetched("all", "Item"), False),
    (lambda model: model["Order"].attribute("draft", "string", optional=True, transient=True), False),
    (lambda model: model.template("numbered", "Order", "number > 1"), False),
    (lambda model: model.configuration("Local", "Order"), False),
    (lambda model: model.version_identifier("2"), False),
]


def test_differences_report_exactly_which_hashes_change() -> None:
    edits = EDITS + [
        ((lambda model, name=name, new=new: model["Order"].change(name, **new)), changes)
        for name, new, changes in CHANGES
    ]
    for place, (edit, changes) in enumerate(edits):
        old = orders()
        new = old.copy()
        edit(new)
        found = old.diff(new)
        assert found, place
        assert any(each.changes_hash for each in found) == changes, (place, [*map(str, found)])
        assert (
            {name: old[name].version_hash for name in old} != {name: new[name].version_hash for name in new}
        ) == changes
        # Which way a model is compared makes no difference.
        assert any(each.changes_hash for each in new.diff(old)) == changes, (place, [*map(str, found)])
