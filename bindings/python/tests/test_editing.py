"""Changes of what a model has already."""

from __future__ import annotations

import pytest

from corestone import AttributeType, DeleteRule, InvalidHandleError, Model, ModelError


@pytest.fixture
def shop() -> Model:
    return Model(
        {
            "Order": {"number": "int64 indexed = 1", "items": "to-many Item inverse order delete cascade"},
            "Item": {"label": "string", "order": "to-one Order? inverse items", "@unique": [["label"]]},
            "Gift": {"@parent": "Item", "wrapped": "bool"},
        }
    )


def test_renaming(shop: Model) -> None:
    order = shop["Order"].rename("Purchase").rename_property("items", "lines")
    assert list(shop) == ["Purchase", "Item", "Gift"]
    assert shop["Purchase"] is order
    shop["Item"].rename_property("label", "title")
    assert shop["Gift"].properties["title"].attribute_type == AttributeType.STRING
    assert shop["Item"].properties["order"].inverse == "lines"
    assert shop.describe()["entities"][1]["uniqueConstraints"] == [["title"]]


def test_prefetched_key_paths_follow_a_renamed_property(shop: Model) -> None:
    shop.template("orders", "Order", prefetch="items").template("gifts", "Gift", prefetch=["order", "order.items"])
    shop["Order"].rename_property("items", "lines")
    requests = shop.describe()["fetchRequests"]
    assert requests["orders"]["prefetch"] == ["lines"]
    assert requests["gifts"]["prefetch"] == ["order", "order.lines"]


def test_removing(shop: Model) -> None:
    item = shop["Item"]
    shop["Order"].remove("items")
    assert item.remove_unique("label")
    assert not item.remove_unique("label")
    shop["Order"].remove_index("number")
    shop.remove("Item")
    with pytest.raises(InvalidHandleError, match="Item was removed"):
        item.is_abstract = True
    assert shop["Gift"].parent is None
    assert list(shop["Gift"].properties) == ["wrapped"]
    assert shop["Order"].properties["number"].flags == 0


def test_changing(shop: Model) -> None:
    order, item = shop["Order"], shop["Item"]
    order.change("number", type="string", optional=True, indexed=False, default="A1", pattern="A.*", spotlight=True)
    order.change("number", renaming_identifier="id", version_hash_modifier="2", user_info={"a": "b"})
    said = order.describe("number")
    assert (said["type"], said["default"], said["optional"]) == ("String", "A1", True)
    assert (said["renamingIdentifier"], said["versionHashModifier"]) == ("id", "2")
    assert order.all_user_info("number") == {"a": "b"}
    assert order.set_user_info("a", None, of="number").all_user_info("number") == {}
    item.attribute("shout", "string", optional=True).change("shout", derived="uppercase:(label)")
    assert item.describe("shout")["derivation"] == "uppercase:(label)"
    assert "derivation" not in item.change("shout", derived=None).describe("shout")
    item.change("label", minimum=1, maximum=9)
    assert len(item.describe("label")["validation"]) == 2
    item.change("label", validation={"SELF != 'x'": "No x."})
    assert item.describe("label")["validation"] == [{"predicate": 'SELF != "x"', "message": "No x."}]
    order.change("items", ordered=True, minimum=1, maximum=5, delete="deny", inverse=None)
    items = order.properties["items"]
    assert (items.is_ordered, items.minimum, items.maximum) == (True, 1, 5)
    assert (items.delete_rule, items.inverse) == (DeleteRule.DENY, None)
    assert item.properties["order"].inverse is None


def test_entities(shop: Model) -> None:
    gift = shop["Gift"]
    gift.parent = None
    gift.is_abstract = True
    gift.class_name = "Present"
    gift.renaming_identifier = "Parcel"
    gift.version_hash_modifier = "3"
    gift.set_user_info("k", "v")
    assert (gift.class_name, gift.renaming_identifier, gift.version_hash_modifier) == ("Present", "Parcel", "3")
    assert gift.all_user_info() == {"k": "v"}
    gift.version_hash_modifier = None
    assert gift.version_hash_modifier is None
    gift.change("wrapped", type="int16")
    shop["Item"].change("order", destination=gift)
    assert shop["Order"].properties["items"].inverse is None


def test_an_inverse_of_a_loaded_model() -> None:
    model = Model.load(
        b"<model><entity name='A'><relationship name='b' destinationEntity='B'/></entity><entity name='B'/></model>"
    )
    model["B"].to_many("as_", "A", inverse="b")
    assert model["A"].properties["b"].inverse == "as_"


def test_hierarchy(shop: Model) -> None:
    item, gift, order = shop["Item"], shop["Gift"], shop["Order"]
    assert item.children == [gift]
    assert gift.children == []
    assert gift.is_kind_of(item)
    assert not item.is_kind_of(gift)
    assert gift.relationships_to(order) == ["order"]
    assert order.relationships_to(gift) == []
    item.class_name = "Thing"
    item.class_name = None
    assert item.class_name == "NSManagedObject"


def test_mistakes(shop: Model) -> None:
    with pytest.raises(ModelError, match="Did you mean 'number'"):
        shop["Order"].change("nmber", default=1)
    with pytest.raises(ModelError, match="is no relationship"):
        shop["Order"].change("number", delete="deny")
    assert shop.copy()["Order"].describe("number")["default"] == 1
    shop.freeze()
    with pytest.raises(ModelError, match="cannot change"):
        shop["Order"].rename("X")
