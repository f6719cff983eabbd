"""What is doubtful in a model, and how two models differ."""

from __future__ import annotations

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


def test_lint(shop: Model) -> None:
    found = shop.lint()
    assert [(each.rule, each.severity, each.entity, each.key) for each in found] == [
        ("reserved-name", "warning", "Order", "description"),
        ("required-without-default", "note", "Item", "price"),
    ]
    assert "Order.description" in found[0].message
    assert "rename it" in found[0].remedy
    assert [each.rule for each in shop.lint("cloudkit")][2:] == ["cloudkit-ordered", "cloudkit-required"]
    with pytest.raises(InvalidArgumentError, match="there are standard, cloudkit"):
        shop.lint("icloud")


def test_diff(shop: Model) -> None:
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
