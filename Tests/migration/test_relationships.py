"""Inferred migrations of relationships: cardinality, order, inverses, destinations."""

from __future__ import annotations

from typing import Any

import pytest
from corestone import Context
from workshop import Workshop, rows

ORDERS = {
    "Order": {"name": "string?", "items": "to-many Item inverse order"},
    "Item": {"name": "string?", "order": "to-one Order? inverse items"},
}
LISTS = {**ORDERS, "Order": {"name": "string?", "items": "to-many ordered Item inverse order"}}


def orders(context: Context) -> None:
    """Two orders whose items are in other orders than their keys."""
    items = [context.insert("Item", name=f"item {number}") for number in range(6)]
    context.save()
    context.insert("Order", name="a", items=[items[2], items[0], items[1]])
    context.insert("Order", name="b", items=[items[5], items[3]])
    context.insert("Order", name="c")


def names(context: Context, entity: str, relationship: str) -> dict[str, list[str]]:
    """By the name of the object, the names of its members, sorted if the relationship is a set."""
    found = {}
    for item in context.fetch(entity):
        value = item[relationship]
        if value is None or hasattr(value, "name"):
            found[item["name"]] = [] if value is None else [value.name]
        else:
            members = [each.name for each in value]
            found[item["name"]] = members if isinstance(value, list) or hasattr(value, "append") else sorted(members)
    return found


def test_ordered_relationship_keeps_its_order(shop: Workshop) -> None:
    shop.write(LISTS, orders)
    context = shop.migrated({**LISTS, "Item": {**LISTS["Item"], "more": "int16? = 1"}})
    assert names(context, "Order", "items")["a"] == ["item 2", "item 0", "item 1"]


def test_relationship_can_become_ordered(shop: Workshop) -> None:
    """M054: the order is arbitrary at first and kept afterwards."""
    shop.write(ORDERS, orders)
    context = shop.migrated(LISTS)
    assert sorted(names(context, "Order", "items")["a"]) == ["item 0", "item 1", "item 2"]
    (order,) = context.fetch("Order", "name == 'c'")
    first, second, third = (context.insert("Item", name=str(number)) for number in (1, 2, 3))
    order["items"] = [first, third, second]
    (other,) = context.fetch("Order", "name == 'a'")
    other["items"].insert(1, context.insert("Item", name="between"))
    context.save()
    context.reset()
    assert names(context, "Order", "items")["c"] == ["1", "3", "2"]
    assert names(context, "Order", "items")["a"][1] == "between"


def test_relationship_can_become_unordered(shop: Workshop) -> None:
    shop.write(LISTS, orders)
    context = shop.migrated(ORDERS)
    assert names(context, "Order", "items")["a"] == ["item 0", "item 1", "item 2"]


@pytest.mark.parametrize("former", ["to-many ordered", "to-many"])
@pytest.mark.parametrize("wanted", ["to-many ordered", "to-many"])
@pytest.mark.parametrize("back", ["to-many ordered", "to-many"])
def test_order_of_join_tables_is_kept_added_and_removed(shop: Workshop, former: str, wanted: str, back: str) -> None:
    def model(kind: str, more: str) -> dict[str, dict[str, Any]]:
        return {
            "Note": {"name": "string?", "tags": f"{kind} Tag inverse notes", **({"more": more} if more else {})},
            "Tag": {"name": "string?", "notes": f"{back} Note inverse tags"},
        }

    def fill(context: Context) -> None:
        tags = [context.insert("Tag", name=f"tag {number}") for number in range(4)]
        context.save()
        context.insert("Note", name="a", tags=[tags[3], tags[1], tags[2]])
        context.insert("Note", name="b", tags=[tags[1], tags[0]])
        tags[1]["notes"] = list(reversed(list(tags[1]["notes"])))

    shop.write(model(former, ""), fill)
    context = shop.migrated(model(wanted, "int16?"))
    assert {key: sorted(value) for key, value in names(context, "Note", "tags").items()} == {
        "a": ["tag 1", "tag 2", "tag 3"],
        "b": ["tag 0", "tag 1"],
    }
    if former == wanted == "to-many ordered":
        assert names(context, "Note", "tags")["a"] == ["tag 3", "tag 1", "tag 2"]


def test_to_one_can_become_to_many(shop: Workshop) -> None:
    """Many-to-one becomes many-to-many: the key becomes a pair."""
    shop.write(ORDERS, orders)
    context = shop.migrated(
        {"Order": ORDERS["Order"], "Item": {"name": "string?", "order": "to-many Order inverse items"}}
    )
    assert names(context, "Item", "order")["item 5"] == ["b"]
    assert names(context, "Order", "items")["a"] == ["item 0", "item 1", "item 2"]


def test_to_one_can_become_an_ordered_to_many(shop: Workshop) -> None:
    shop.write(LISTS, orders)
    context = shop.migrated(
        {"Order": LISTS["Order"], "Item": {"name": "string?", "order": "to-many ordered Order inverse items"}}
    )
    assert names(context, "Order", "items")["a"] == ["item 2", "item 0", "item 1"]


def test_one_to_one_can_become_one_to_many(shop: Workshop) -> None:
    def fill(context: Context) -> None:
        context.insert("Person", name="Ada", pet=context.insert("Pet", name="Rex"))
        context.insert("Person", name="Bob")

    shop.write(
        {
            "Person": {"name": "string?", "pet": "to-one Pet? inverse owner"},
            "Pet": {"name": "string?", "owner": "to-one Person? inverse pet"},
        },
        fill,
    )
    context = shop.migrated(
        {
            "Person": {"name": "string?", "pets": "to-many ordered Pet inverse owner"},
            "Pet": {"name": "string?", "owner": "to-one Person? inverse pets"},
        },
        {"Person.pets": "pet"},
    )
    assert names(context, "Person", "pets") == {"Ada": ["Rex"], "Bob": []}


def test_to_one_without_inverse_can_become_to_many(shop: Workshop) -> None:
    """Its pairs are moved to a column of the members, each of which has one owner."""

    def fill(context: Context) -> None:
        for name in ("a", "b"):
            context.insert("Owner", name=name, one=context.insert("Thing", name=f"thing of {name}"))

    shop.write({"Owner": {"name": "string?", "one": "to-one Thing?"}, "Thing": {"name": "string?"}}, fill)
    context = shop.migrated({"Owner": {"name": "string?", "one": "to-many Thing"}, "Thing": {"name": "string?"}})
    assert names(context, "Owner", "one") == {"a": ["thing of a"], "b": ["thing of b"]}


def test_to_many_cannot_become_to_one(shop: Workshop) -> None:
    """134190, whether there are rows or not."""
    shop.write(ORDERS, lambda context: None)
    error = shop.refused(
        {
            "Order": {"name": "string?", "items": "to-one Item? inverse order"},
            "Item": {"name": "string?", "order": "to-one Order? inverse items"},
        },
        134190,
    )
    assert (error.entity, error.key) == ("Order", "items")
    assert "to-many in the store, but to-one in the model" in str(error)


def test_attribute_cannot_become_a_relationship(shop: Workshop) -> None:
    shop.write({"Order": {"items": "int16?"}, "Item": {}}, lambda context: None)
    error = shop.refused({"Order": {"items": "to-one Item?"}, "Item": {}}, 134190)
    assert (error.entity, error.key) == ("Order", "items")


# Inverses


def test_inverse_can_be_added(shop: Workshop) -> None:
    def fill(context: Context) -> None:
        ada = context.insert("Person", name="Ada")
        for number in range(3):
            context.insert("Pet", name=f"pet {number}", owner=ada if number else None)

    shop.write({"Pet": {"name": "string?", "owner": "to-one Person?"}, "Person": {"name": "string?"}}, fill)
    context = shop.migrated(
        {
            "Pet": {"name": "string?", "owner": "to-one Person? inverse pets"},
            "Person": {"name": "string?", "pets": "to-many ordered Pet inverse owner"},
        }
    )
    assert sorted(names(context, "Person", "pets")["Ada"]) == ["pet 1", "pet 2"]


def test_inverse_can_be_removed(shop: Workshop) -> None:
    shop.write(ORDERS, orders)
    context = shop.migrated({"Order": {"name": "string?"}, "Item": {"name": "string?", "order": "to-one Order?"}})
    assert names(context, "Item", "order")["item 5"] == ["b"]


def test_to_one_side_can_be_removed(shop: Workshop) -> None:
    """The to-many side is kept alone: from the key of its inverse to a column for the owner."""
    shop.write(LISTS, orders)
    context = shop.migrated(
        {"Order": {"name": "string?", "items": "to-many ordered Item"}, "Item": {"name": "string?"}}
    )
    assert names(context, "Order", "items") == {"a": ["item 2", "item 0", "item 1"], "b": ["item 5", "item 3"], "c": []}


def test_to_many_without_inverse_can_get_a_to_one_inverse(shop: Workshop) -> None:
    shop.write({"Order": {"name": "string?", "items": "to-many ordered Item"}, "Item": {"name": "string?"}}, orders)
    context = shop.migrated(LISTS)
    assert names(context, "Order", "items")["a"] == ["item 2", "item 0", "item 1"]


def test_to_many_without_inverse_can_get_a_to_many_inverse(shop: Workshop) -> None:
    shop.write({"Order": {"name": "string?", "items": "to-many Item"}, "Item": {"name": "string?"}}, orders)
    context = shop.migrated(
        {
            "Order": {"name": "string?", "items": "to-many Item inverse orders"},
            "Item": {"name": "string?", "orders": "to-many Order inverse items"},
        }
    )
    assert names(context, "Item", "orders")["item 3"] == ["b"]


def test_inverse_can_be_renamed(shop: Workshop) -> None:
    shop.write(LISTS, orders)
    context = shop.migrated(
        {
            "Order": {"name": "string?", "items": "to-many ordered Item inverse belongsTo"},
            "Item": {"name": "string?", "belongsTo": "to-one Order? inverse items"},
        },
        {"Item.belongsTo": "order"},
    )
    assert names(context, "Order", "items")["b"] == ["item 5", "item 3"]


def test_inverses_can_be_exchanged(shop: Workshop) -> None:
    """Two relationships of an entity exchange their inverses: the keys of the to-one side count."""
    former = {
        "Person": {
            "name": "string?",
            "writes": "to-many Book inverse author",
            "edits": "to-many Book inverse editor",
        },
        "Book": {
            "name": "string?",
            "author": "to-one Person? inverse writes",
            "editor": "to-one Person? inverse edits",
        },
    }

    def fill(context: Context) -> None:
        ada, bob = context.insert("Person", name="Ada"), context.insert("Person", name="Bob")
        context.insert("Book", name="x", author=ada, editor=bob)

    shop.write(former, fill)
    context = shop.migrated(
        {
            "Person": {
                "name": "string?",
                "writes": "to-many Book inverse editor",
                "edits": "to-many Book inverse author",
            },
            "Book": {
                "name": "string?",
                "author": "to-one Person? inverse edits",
                "editor": "to-one Person? inverse writes",
            },
        }
    )
    assert rows(context, "Book", "author.name", "editor.name") == [("Ada", "Bob")]
    assert names(context, "Person", "writes") == {"Ada": [], "Bob": ["x"]}


def test_relationship_can_become_its_own_inverse_and_back(shop: Workshop) -> None:
    """A relationship becomes its own inverse's other side, and back."""
    former = {"Person": {"name": "string?", "friends": "to-many Person inverse friends"}}

    def fill(context: Context) -> None:
        ada, bob, cy = (context.insert("Person", name=name) for name in ("Ada", "Bob", "Cy"))
        ada["friends"] = [bob, cy]

    shop.write(former, fill)
    context = shop.migrated({"Person": {**former["Person"], "more": "int16?"}})
    assert names(context, "Person", "friends") == {"Ada": ["Bob", "Cy"], "Bob": ["Ada"], "Cy": ["Ada"]}
    shop.close()
    wanted = {
        "Person": {
            "name": "string?",
            "friends": "to-many Person inverse friendOf",
            "friendOf": "to-many Person inverse friends",
        }
    }
    context = shop.migrated(wanted, compared=False)
    assert names(context, "Person", "friends") == {"Ada": ["Bob", "Cy"], "Bob": ["Ada"], "Cy": ["Ada"]}
    assert names(context, "Person", "friendOf") == {"Ada": ["Bob", "Cy"], "Bob": ["Ada"], "Cy": ["Ada"]}


def test_one_to_one_inverse_is_rejected_when_several_objects_share_it(shop: Workshop) -> None:
    """Several objects refer to one, whose new inverse can hold one of them: 134110, since the others would be lost."""

    def fill(context: Context) -> None:
        ada = context.insert("Person", name="Ada")
        for number in range(3):
            context.insert("Pet", name=f"pet {number}", owner=ada if number else None)

    shop.write({"Pet": {"name": "string?", "owner": "to-one Person?"}, "Person": {"name": "string?"}}, fill)
    wanted = {
        "Pet": {"name": "string?", "owner": "to-one Person? inverse pet"},
        "Person": {"name": "string?", "pet": "to-one Pet? inverse owner"},
    }
    error = shop.refused(wanted, 134110)
    assert error.entity in ("Pet", "Person")


def test_one_to_one_inverse_can_be_added_when_targets_are_distinct(shop: Workshop) -> None:
    def fill(context: Context) -> None:
        for number in range(3):
            context.insert("Pet", name=f"pet {number}", owner=context.insert("Person", name=f"person {number}"))

    shop.write({"Pet": {"name": "string?", "owner": "to-one Person?"}, "Person": {"name": "string?"}}, fill)
    wanted = {
        "Pet": {"name": "string?", "owner": "to-one Person? inverse pet"},
        "Person": {"name": "string?", "pet": "to-one Pet? inverse owner"},
    }
    assert names(shop.migrated(wanted), "Person", "pet")["person 1"] == ["pet 1"]


def test_removing_an_inverse_is_rejected_when_members_have_several_owners(shop: Workshop) -> None:
    """Many-to-many without its inverse keeps one owner of each member: 134110 if one has several."""
    former = {
        "Note": {"name": "string?", "tags": "to-many Tag inverse notes"},
        "Tag": {"name": "string?", "notes": "to-many Note inverse tags"},
    }

    def fill(context: Context) -> None:
        tag = context.insert("Tag", name="t")
        for name in ("a", "b"):
            context.insert("Note", name=name, tags=[tag])

    shop.write(former, fill)
    shop.refused({"Note": {"name": "string?", "tags": "to-many Tag"}, "Tag": {"name": "string?"}}, 134110)


# Destinations

ANIMALS = {
    "Animal": {"name": "string?"},
    "Dog": {"@parent": "Animal", "bark": "int16?"},
    "Cat": {"@parent": "Animal"},
    "Stone": {"name": "string?"},
}


def animals(context: Context) -> None:
    context.insert("Person", name="Ada", pet=context.insert("Dog", name="Rex"))
    context.insert("Person", name="Bob")


def test_destination_can_become_its_parent(shop: Workshop) -> None:
    shop.write({**ANIMALS, "Person": {"name": "string?", "pet": "to-one Dog?"}}, animals)
    context = shop.migrated({**ANIMALS, "Person": {"name": "string?", "pet": "to-one Animal?"}})
    assert names(context, "Person", "pet") == {"Ada": ["Rex"], "Bob": []}
    (ada,) = context.fetch("Person", "name == 'Ada'")
    assert ada.pet.entity_name == "Dog"


def test_destination_can_become_its_child(shop: Workshop) -> None:
    """Targets that are not of the child are removed from the relationship."""

    def fill(context: Context) -> None:
        animals(context)
        context.insert("Person", name="Cy", pet=context.insert("Cat", name="Tom"))

    shop.write({**ANIMALS, "Person": {"name": "string?", "pet": "to-one Animal?"}}, fill)
    context = shop.migrated({**ANIMALS, "Person": {"name": "string?", "pet": "to-one Dog?"}})
    assert names(context, "Person", "pet") == {"Ada": ["Rex"], "Bob": [], "Cy": []}


def test_destination_cannot_become_an_unrelated_entity(shop: Workshop) -> None:
    shop.write({**ANIMALS, "Person": {"name": "string?", "pet": "to-one Dog?"}}, animals)
    error = shop.refused({**ANIMALS, "Person": {"name": "string?", "pet": "to-one Stone?"}}, 134190)
    assert (error.entity, error.key) == ("Person", "pet")
    assert "Dog" in str(error) and "Stone" in str(error)


def test_destination_can_be_renamed(shop: Workshop) -> None:
    shop.write(
        {**ANIMALS, "Person": {"name": "string?", "pet": "to-one Stone?"}},
        lambda context: context.insert("Person", name="Ada", pet=context.insert("Stone", name="s")),
    )
    wanted = {key: value for key, value in ANIMALS.items() if key != "Stone"}
    context = shop.migrated(
        {**wanted, "Rock": {"name": "string?"}, "Person": {"name": "string?", "pet": "to-one Rock?"}}, {"Rock": "Stone"}
    )
    assert names(context, "Person", "pet") == {"Ada": ["s"]}


def test_removed_destination_is_named(shop: Workshop) -> None:
    """134190 names the removed entity if the relationship has another destination now."""
    shop.write(
        {**ANIMALS, "Person": {"name": "string?", "pet": "to-one Stone?"}}, lambda context: context.insert("Person")
    )
    wanted = {key: value for key, value in ANIMALS.items() if key != "Stone"}
    error = shop.refused({**wanted, "Person": {"name": "string?", "pet": "to-one Dog?"}}, 134190)
    assert "Stone" in str(error)
    assert shop.migrated({**wanted, "Person": {"name": "string?", "more": "int16?"}}).count("Person") == 1


def test_objects_of_a_removed_subentity_are_detached(shop: Workshop) -> None:
    former = {
        **ANIMALS,
        "Animal": {"name": "string?", "owner": "to-one Person? inverse pets", "seen": "to-many Person inverse saw"},
        "Person": {
            "name": "string?",
            "pets": "to-many ordered Animal inverse owner",
            "saw": "to-many ordered Animal inverse seen",
            "best": "to-one Animal?",
        },
    }

    def fill(context: Context) -> None:
        pets = [context.insert(kind, name=f"{kind} {place}") for place, kind in enumerate(["Dog", "Cat", "Animal"])]
        context.insert("Person", name="Ada", pets=[pets[2], pets[1], pets[0]], best=pets[1], saw=[pets[1], pets[2]])

    shop.write(former, fill)
    wanted = {key: value for key, value in former.items() if key != "Cat"}
    context = shop.migrated(wanted)
    assert names(context, "Person", "pets")["Ada"] == ["Animal 2", "Dog 0"]
    assert names(context, "Person", "saw")["Ada"] == ["Animal 2"]
    assert names(context, "Person", "best")["Ada"] == []


def test_member_counts_are_not_validated_by_a_migration(shop: Workshop) -> None:
    shop.write(ORDERS, orders)
    context = shop.migrated(
        {"Order": {"name": "string?", "items": "to-many Item inverse order min 4 max 5"}, "Item": ORDERS["Item"]}
    )
    assert names(context, "Order", "items")["c"] == []
