"""Changes to an existing model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from corestone import (
    AttributeType,
    Container,
    DeleteRule,
    InvalidHandleError,
    Model,
    ModelError,
    Predicate,
    TypeMismatchError,
)


@pytest.fixture
def shop() -> Model:
    return Model(
        {
            "Order": {"number": "int64 indexed = 1", "items": "to-many Item inverse order delete cascade"},
            "Item": {"label": "string", "order": "to-one Order? inverse items", "@unique": [["label"]]},
            "Gift": {"@parent": "Item", "wrapped": "bool"},
        }
    )


def test_renaming_updates_every_reference(shop: Model) -> None:
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


def test_removing_updates_every_reference(shop: Model) -> None:
    item = shop["Item"]
    shop["Order"].remove("items")
    assert item.remove_unique("label")
    assert not item.remove_unique("label")
    shop["Order"].remove_index("number")
    shop.remove("Item")
    with pytest.raises(InvalidHandleError, match="the entity Item was removed"):
        item.is_abstract = True
    assert shop["Gift"].parent is None
    assert list(shop["Gift"].properties) == ["wrapped"]
    assert shop["Order"].properties["number"].flags == 0


def test_changing_a_property_replaces_its_settings(shop: Model) -> None:
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


def test_entity_settings_can_be_changed(shop: Model) -> None:
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


def test_inverse_can_be_added_to_a_loaded_model() -> None:
    model = Model.load(
        b"<model><entity name='A'><relationship name='b' destinationEntity='B'/></entity><entity name='B'/></model>"
    )
    model["B"].to_many("as_", "A", inverse="b")
    assert model["A"].properties["b"].inverse == "as_"


def test_entity_hierarchy_is_reported(shop: Model) -> None:
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


def test_invalid_edits_are_rejected(shop: Model) -> None:
    with pytest.raises(ModelError, match='did you mean "number"'):
        shop["Order"].change("nmber", default=1)
    with pytest.raises(ModelError, match="is not a relationship"):
        shop["Order"].change("number", delete="deny")
    assert shop.copy()["Order"].describe("number")["default"] == 1
    shop.freeze()
    with pytest.raises(ModelError, match="cannot be changed"):
        shop["Order"].rename("X")


def test_parent_can_be_set_afterwards(shop: Model, tmp_path: Path) -> None:
    """Objects of the new child are found by the parent, and are of the child's class."""
    shop.entity("Parcel").attribute("weight", "double", optional=True)
    parcel, item, gift = shop["Parcel"], shop["Item"], shop["Gift"]
    assert parcel.parent is None
    parcel.parent = item
    assert parcel.parent is item
    assert [each.name for each in item.children] == ["Gift", "Parcel"]
    gift.parent = None
    assert (gift.parent, item.children) == (None, [parcel])
    assert list(parcel.properties) == ["label", "order", "weight"]
    assert list(gift.properties) == ["wrapped"]
    assert parcel.is_kind_of(item)
    assert not gift.is_kind_of(item)
    with Container(shop, tmp_path / "shop.store", unsaved="discard") as container:
        ctx = container.context()
        ctx.insert("Parcel", label="p", weight=1.5)
        ctx.insert("Item", label="i")
        ctx.insert("Gift", wrapped=True)
        ctx.save()
        found = ctx.fetch("Item", sort="label")
        assert [(each.label, each.entity_name) for each in found] == [("i", "Item"), ("p", "Parcel")]
        assert found[1].weight == 1.5
        assert isinstance(found[1], item.object_class)
        assert not isinstance(found[0], parcel.object_class)
        fresh = container.context()
        assert [each.entity_name for each in fresh.fetch("Item", sort="label")] == ["Item", "Parcel"]
        assert [each.weight for each in fresh.fetch("Parcel")] == [1.5]


def test_parent_can_be_removed_before_objects_exist(shop: Model, tmp_path: Path) -> None:
    shop["Gift"].parent = None
    shop["Gift"].attribute("label", "string", optional=True)
    with Container(shop, tmp_path / "shop.store", unsaved="discard") as container:
        ctx = container.context()
        ctx.insert("Gift", wrapped=True, label="g")
        ctx.save()
        assert len(ctx.fetch("Item")) == 0
        assert ctx.first("Gift").label == "g"


FLAGS = {
    "optional": ("is_optional", True),
    "transient": ("is_transient", False),
    "external_storage": ("is_external", False),
    "indexed": ("is_indexed", False),
}


def test_each_flag_changes_independently() -> None:
    for kind, names in (("string", ("optional", "transient", "indexed")), ("binary", ("optional", "external_storage"))):
        for name in names:
            model = Model({"A": {"x": f"{kind}?", "y": f"{kind}?"}})
            field, at_first = FLAGS[name]
            assert getattr(model.copy()["A"].properties["x"], field) is at_first
            for value in (not at_first, at_first):
                given: dict[str, Any] = {name: value}
                model["A"].change("x", **given)
                seen = model.copy()["A"].properties
                assert getattr(seen["x"], field) is value, name
                others = [each for each, (other, _) in FLAGS.items() if each != name and getattr(seen["x"], other)]
                assert others == (["optional"] if name != "optional" else [])
                assert getattr(seen["y"], field) is at_first


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("preserved", "preservedInHistory"),
        ("allows_nan", "allowsNaN"),
        ("spotlight", "indexedBySpotlight"),
        ("external_record", "storedInExternalRecord"),
        ("cloud_encryption", "cloudEncryption"),
    ],
)
def test_changed_flags_appear_in_the_description(word: str, said: str) -> None:
    item = Model({"A": {"x": "double?"}})["A"]
    plain = item.describe("x")
    on: dict[str, Any] = {word: True}
    off: dict[str, Any] = {word: False}
    item.change("x", **on)
    changed = item.describe("x")
    assert {key: value for key, value in changed.items() if plain.get(key) != value} == {said: True}
    item.change("x", **off)
    assert item.describe("x") == plain


def test_bounds_of_each_type_can_be_changed() -> None:
    model = Model(
        {"A": {"n": "int16", "d": "decimal", "r": "double", "s": "string", "many": "to-many A"}}
    )  # fmt: skip
    a = model["A"]

    def conditions(name: str) -> list[str]:
        return [each["predicate"] for each in a.describe(name).get("validation", [])]

    a.change("n", minimum=-1)
    assert conditions("n") == ["SELF >= -1"]
    a.change("n", maximum=5)  # replaces both
    assert conditions("n") == ["SELF <= 5"]
    a.change("n", minimum=None, maximum=None)
    assert conditions("n") == []
    a.change("d", minimum=1, maximum=2)
    assert conditions("d") == ["SELF >= 1", "SELF <= 2"]
    a.change("r", minimum=0.5)
    assert conditions("r") == ["SELF >= 0.5"]
    a.change("s", maximum=4)
    assert conditions("s") == ["length <= 4"]
    a.change("s", pattern="a+")
    assert conditions("s") == ["length <= 4", 'SELF MATCHES "a+"']
    a.change("s", pattern=None)
    assert conditions("s") == ["length <= 4"]
    a.change("many", minimum=2)
    assert [a.describe("many").get(key) for key in ("minimumCount", "maximumCount")] == [2, None]
    a.change("many", maximum=3)
    assert [a.describe("many").get(key) for key in ("minimumCount", "maximumCount")] == [None, 3]
    a.change("many", validation={"SELF.@count != 2": "Not two."})
    assert a.describe("many")["validation"] == [{"predicate": "SELF.@count != 2", "message": "Not two."}]
    a.change("many", validation={})
    assert "validation" not in a.describe("many")


def test_defaults_can_be_set_and_removed() -> None:
    a = Model({"A": {"d": "decimal? = 1", "s": "string? = x"}})["A"]
    assert (a.describe("d")["default"], a.describe("s")["default"]) == (1, "x")
    a.change("d", default=2).change("s", default=None)
    assert a.describe("d")["default"] == 2
    assert a.describe("s").get("default") is None
    a.change("s", default="y", optional=False)
    assert (a.describe("s")["default"], a.describe("s").get("optional", False)) == ("y", False)


def test_changing_a_destination_updates_inverses(shop: Model) -> None:
    order, item = shop["Order"], shop["Item"]

    def inverses() -> list[str | None]:
        return [order.describe("items").get("inverse"), item.describe("order").get("inverse")]

    shop.entity("Bill")
    order.change("items", destination="Bill")
    assert order.describe("items")["destination"] == "Bill"
    assert inverses() == [None, None]
    order.change("items", destination=item, inverse="order", ordered=True)
    assert inverses() == ["order", "items"]
    order.change("items", inverse=None)
    assert inverses() == [None, None]


def test_edit_errors_name_entity_and_key(shop: Model) -> None:
    order = shop["Order"]
    for body, key, words in (
        (
            lambda: order.describe("nmber"),
            "nmber",
            'Order does not have a property "nmber"; did you mean "number"?',
        ),
        (
            lambda: order.all_user_info("itms"),
            "itms",
            'Order does not have a property "itms"; did you mean "items"?',
        ),
        (lambda: order.change("nmber", minimum=1), "nmber", 'Order does not have a property "nmber"; '),
        (lambda: order.change("nmber", delete="deny"), "nmber", 'Order does not have a property "nmber"; '),
        (lambda: order.change("items", pattern="a"), "items", "Order.items is not an attribute"),
        (lambda: order.change("items", transformer="a"), "items", "Order.items is not an attribute"),
        (lambda: order.change("number", inverse="order"), "number", "Order.number is not a relationship"),
        (lambda: order.validator("number"), "number", "the validator of Order.number must be a function or "),
    ):
        with pytest.raises(ModelError) as caught:
            body()
        assert (caught.value.entity, caught.value.key) == ("Order", key)
        assert caught.value.message.startswith(words)
    with pytest.raises(ModelError, match='kind must be "binary" or "rtree", not "hash"'):
        order.index("x", "number", kind="hash")
    wrong: Any = (5, "int64")
    with pytest.raises(TypeMismatchError, match=r"elements\[1\]\[0\] must be a str, not 5"):
        order.index("x", "number", wrong)
    assert not order.remove_index("none")


def test_version_identifiers_and_configurations_can_be_edited(shop: Model) -> None:
    assert shop.version_identifiers == []
    assert shop.configurations == []
    assert shop.templates == []
    shop.version_identifier("1").version_identifier("2")
    assert shop.version_identifiers == ["1", "2"]
    assert shop.remove_version_identifier("1")
    assert not shop.remove_version_identifier("1")
    assert shop.version_identifiers == ["2"]
    shop.configuration("Local", shop["Item"], "Gift").configuration("Cloud")
    assert sorted(shop.configurations) == ["Cloud", "Local"]
    assert [each.name for each in shop.entities_of("Local")] == ["Item", "Gift"]
    assert shop.entities_of("Cloud") == []
    assert not shop.remove_configuration("None")
    assert shop.remove_configuration("Cloud")
    assert [each.name for each in shop.entities_of()] == ["Order", "Item", "Gift"]
    shop.template("b", "Item", "label == $L").template("a", shop["Gift"])
    assert shop.templates == ["a", "b"]
    assert shop.fetch_request("b", L="x").predicate == Predicate("label == 'x'")
    assert shop.fetch_request("a").entity_name == "Gift"


def test_localised_names_can_be_edited(shop: Model) -> None:
    assert (
        shop.localize({"Entity/Item": "Ding", "Property/label/Entity/Item": "Name", "Property/number": "Nr."}) is shop
    )
    assert (shop["Item"].localized_name, shop["Gift"].localized_name) == ("Ding", "Gift")
    assert shop.localization("Entity/Item") == "Ding"
    assert shop.localization("Entity/Gift") is None
    assert shop["Item"].localized_property_name("label") == "Name"
    assert shop["Order"].localized_property_name("number") == "Nr."
    assert shop["Order"].localized_property_name("items") == "items"
    with pytest.raises(ModelError, match='does not have a property "nmber"'):
        shop["Order"].localized_property_name("nmber")


def test_model_behaves_like_a_mapping_of_entities(shop: Model) -> None:
    assert len(shop) == 3
    assert list(shop) == ["Order", "Item", "Gift"]
    assert list(shop.values()) == [shop[name] for name in shop]
    assert shop.get("Gift") is shop["Gift"]
    assert shop.get("Gft") is None
    with pytest.raises(ModelError, match=r'^the model does not have an entity "Gft"; did you mean "Gift"\?$') as caught:
        shop["Gft"]
    assert isinstance(caught.value, KeyError)
    assert caught.value.entity == "Gft"
    assert shop != shop.copy()
    assert shop == shop
    assert hash(shop) == hash(shop)
    assert repr(Model()) == "<Model of no entities>"
    assert repr(shop["Item"]) == "<Entity Item>"


def test_missing_inverse_error_suggests_the_nearest_relationship() -> None:
    model = Model({"A": {"b": "to-one B inverse ass"}, "B": {"as_": "to-many A", "ass_name": "string"}})
    with pytest.raises(
        ModelError,
        match=r'^the inverse of A\.b is "ass", but B does not have a relationship of that name; did you mean "as_"',
    ):
        model.freeze()
    with pytest.raises(ModelError, match=r'^A\.b has the destination "C", which is not an entity of the model'):
        Model({"A": {"b": "to-one C"}}).freeze()
