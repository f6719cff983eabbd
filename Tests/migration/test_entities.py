"""Inferred migrations of entities: added, removed, renamed, moved in their hierarchy; constraints and indexes."""

from __future__ import annotations

from typing import Any

import pytest
from corestone import Context
from stored import schema
from workshop import Workshop, rows, small_model

TREE: dict[str, dict[str, Any]] = {
    "Vehicle": {"name": "string?", "owner": "to-one Person? inverse vehicles"},
    "Car": {"@parent": "Vehicle", "seats": "int16?"},
    "Bike": {"@parent": "Vehicle", "gears": "int16?"},
    "Person": {"name": "string?", "vehicles": "to-many ordered Vehicle inverse owner"},
}


def vehicles(context: Context) -> None:
    ada = context.insert("Person", name="Ada")
    found = [
        context.insert("Vehicle", name="v"),
        context.insert("Car", name="c", seats=4),
        context.insert("Bike", name="b", gears=7),
    ]
    context.save()
    ada["vehicles"] = [found[2], found[0], found[1]]


def without(definition: dict[str, dict[str, Any]], *names: str) -> dict[str, dict[str, Any]]:
    return {key: value for key, value in definition.items() if key not in names}


def test_added_and_removed_entities_are_not_a_rename(shop: Workshop) -> None:
    """M010: never a rename by shape."""
    shop.write({"Removed": {"x": "int16?"}}, lambda context: context.insert("Removed", x=1))
    context = shop.migrated({"Added": {"x": "int16?"}})
    assert context.count("Added") == 0


def test_entity_can_be_renamed(shop: Workshop) -> None:
    shop.write(TREE, vehicles)
    wanted = {**without(TREE, "Person"), "Human": TREE["Person"]}
    wanted["Vehicle"] = {"name": "string?", "owner": "to-one Human? inverse vehicles"}
    context = shop.migrated(wanted, {"Human": "Person"})
    assert [each.name for each in context.fetch("Human")[0].vehicles] == ["b", "v", "c"]


def test_root_entity_and_subentities_can_be_renamed(shop: Workshop) -> None:
    shop.write(TREE, vehicles)
    wanted = {
        "Machine": TREE["Vehicle"],
        "Car": {**TREE["Car"], "@parent": "Machine"},
        "Cycle": {"@parent": "Machine", "speeds": "int16?"},
        "Person": {"name": "string?", "vehicles": "to-many ordered Machine inverse owner"},
    }
    context = shop.migrated(wanted, {"Machine": "Vehicle", "Cycle": "Bike", "Cycle.speeds": "gears"})
    assert [each.entity_name for each in context.fetch("Person")[0].vehicles] == ["Cycle", "Machine", "Car"]
    assert rows(context, "Cycle", "name", "speeds") == [("b", 7)]


def test_entity_names_can_be_swapped(shop: Workshop) -> None:
    def fill(context: Context) -> None:
        context.insert("A", x=1, other=context.insert("B", y="b"))
        context.insert("A", x=2)

    shop.write({"A": {"x": "int16?", "other": "to-one B?"}, "B": {"y": "string?"}}, fill)
    context = shop.migrated({"B": {"x": "int16?", "other": "to-one A?"}, "A": {"y": "string?"}}, {"A": "B", "B": "A"})
    assert rows(context, "B", "x") == [(1,), (2,)]
    assert rows(context, "A", "y") == [("b",)]
    assert context.fetch("B", "x == 1")[0].other.y == "b"


def test_entity_name_can_be_reused_by_a_new_entity(shop: Workshop) -> None:
    shop.write({"A": {"x": "int16?"}}, lambda context: context.insert("A", x=1))
    context = shop.migrated({"B": {"x": "int16?"}, "A": {"z": "int16?"}}, {"B": "A", "A": "another"})
    assert rows(context, "B", "x") == [(1,)]
    assert context.count("A") == 0


def test_duplicate_renaming_identifier_of_entities_is_rejected(shop: Workshop) -> None:
    shop.write({"A": {}}, lambda context: None)
    error = shop.refused({"B": {"x": "int16?"}, "C": {}}, 134190, {"B": "A", "C": "A"})
    assert '"A"' in str(error)


def test_entity_sorted_first_renumbers_all_entities(shop: Workshop) -> None:
    """Every number changes: of rows, of targets, of tables of pairs."""
    definition = {
        **TREE,
        "Person": {**TREE["Person"], "best": "to-one Vehicle?", "knows": "to-many Person inverse knownBy",
                   "knownBy": "to-many Person inverse knows"},
    }  # fmt: skip

    def fill(context: Context) -> None:
        vehicles(context)
        ada, bob = context.fetch("Person")[0], context.insert("Person", name="Bob")
        ada["best"] = context.fetch("Car")[0]
        ada["knows"] = [bob, ada]

    shop.write(definition, fill)
    context = shop.migrated({"Aardvark": {"x": "int16?"}, **definition})
    (ada,) = context.fetch("Person", "name == 'Ada'")
    assert ada.best.entity_name == "Car"
    assert sorted(each.name for each in ada.knows) == ["Ada", "Bob"]


def test_defaults_of_subentities_follow_renumbered_entities(shop: Workshop) -> None:
    """The default of a subentity's new attribute is set in the rows of that entity under its new number."""
    shop.write(TREE, vehicles)
    wanted = {
        "Aardvark": {},
        **TREE,
        "Car": {**TREE["Car"], "doors": "int16 = 5"},
        "Bike": {**TREE["Bike"], "bell": "bool = true"},
    }
    context = shop.migrated(wanted)
    assert rows(context, "Car", "doors") == [(5,)]
    assert rows(context, "Bike", "bell") == [(True,)]


# Hierarchy


def test_parent_can_be_added(shop: Workshop) -> None:
    shop.write(
        without(TREE, "Person") | {"Vehicle": {"name": "string?"}}, lambda context: context.insert("Car", name="c")
    )
    wanted: dict[str, dict[str, Any]] = {
        "Thing": {"@abstract": True, "weight": "double? = 1.5"},
        "Vehicle": {"@parent": "Thing", "name": "string?"},
        "Car": TREE["Car"],
        "Bike": TREE["Bike"],
    }
    context = shop.migrated(wanted)
    assert rows(context, "Car", "name", "weight") == [("c", 1.5)]


def test_parent_over_two_trees_is_rejected(shop: Workshop) -> None:
    """Two trees have rows of the same keys: 134190."""
    shop.write({"A": {"x": "int16?"}, "B": {"x": "int16?"}}, lambda context: context.insert("A"))
    error = shop.refused(
        {"P": {"@abstract": True, "x": "int16?"}, "A": {"@parent": "P"}, "B": {"@parent": "P"}}, 134190
    )
    assert "A" in str(error) and "B" in str(error) and "corestone dump" in str(error)


def test_parent_can_be_removed(shop: Workshop) -> None:
    """One tree becomes several tables; rows keep their keys, and relationships to them their values."""
    shop.write(without(TREE, "Person") | {"Vehicle": {"@abstract": True, "name": "string?"}}, lambda context: [
        context.insert("Car", name="c", seats=4), context.insert("Bike", name="b", gears=7),
        context.insert("Car", name="d", seats=2),
    ])  # fmt: skip
    wanted = {"Car": {"name": "string?", "seats": "int16?"}, "Bike": {"name": "string?", "gears": "int16?"}}
    context = shop.migrated(wanted)
    assert rows(context, "Car", "name", "seats") == [("c", 4), ("d", 2)]
    assert rows(context, "Bike", "name", "gears") == [("b", 7)]
    context.insert("Bike", name="new")
    context.insert("Car", name="new")
    context.save()
    assert context.count("Bike") == 2 and context.count("Car") == 3


def test_relationships_follow_children_of_a_removed_parent(shop: Workshop) -> None:
    definition: dict[str, dict[str, Any]] = {
        "Base": {"@abstract": True, "name": "string?"},
        "Car": {"@parent": "Base", "owner": "to-one Person? inverse cars", "used": "to-many Person inverse uses"},
        "Person": {"@parent": "Base", "cars": "to-many ordered Car inverse owner", "uses": "to-many Car inverse used"},
    }

    def fill(context: Context) -> None:
        cars = [context.insert("Car", name=f"car {number}") for number in range(3)]
        context.insert("Person", name="Ada", cars=[cars[1], cars[0]], uses=[cars[2]])

    shop.write(definition, fill)
    wanted = {
        "Car": {"name": "string?", "owner": "to-one Person? inverse cars", "used": "to-many Person inverse uses"},
        "Person": {"name": "string?", "cars": "to-many ordered Car inverse owner", "uses": "to-many Car inverse used"},
    }
    context = shop.migrated(wanted)
    (ada,) = context.fetch("Person")
    assert [each.name for each in ada.cars] == ["car 1", "car 0"]
    assert [each.name for each in ada.uses] == ["car 2"]


def test_subentity_can_leave_its_tree(shop: Workshop) -> None:
    shop.write(without(TREE, "Person") | {"Vehicle": {"name": "string?"}}, lambda context: [
        context.insert("Vehicle", name="v"), context.insert("Bike", name="b", gears=7),
    ])  # fmt: skip
    wanted = {"Vehicle": {"name": "string?"}, "Car": TREE["Car"], "Bike": {"name": "string?", "gears": "int16?"}}
    context = shop.migrated(wanted)
    assert rows(context, "Vehicle", "name") == [("v",)]
    assert rows(context, "Bike", "name", "gears") == [("b", 7)]


def test_property_can_move_up_and_down_the_tree(shop: Workshop) -> None:
    shop.write(TREE, vehicles)
    wanted = {
        "Vehicle": {"owner": "to-one Person? inverse vehicles", "seats": "int16? = 1"},
        "Car": {"@parent": "Vehicle", "name": "string?"},
        "Bike": {"@parent": "Vehicle", "gears": "int16?"},
        "Person": TREE["Person"],
    }
    context = shop.migrated(wanted)
    assert rows(context, "Vehicle", "seats") == [(1,), (4,), (1,)]
    assert rows(context, "Car", "name") == [("c",)]


def titles(context: Context) -> Any:
    return [context.insert("A", title="a"), context.insert("B", title="b"), context.insert("Base")]


def test_property_of_two_subentities_can_move_up(shop: Workshop) -> None:
    """Two columns become one."""
    definition = {
        "Base": {"x": "int16?"},
        "A": {"@parent": "Base", "title": "string?"},
        "B": {"@parent": "Base", "title": "string?"},
    }
    shop.write(
        definition,
        lambda context: [context.insert("A", title="a"), context.insert("B", title="b"), context.insert("Base")],
    )
    wanted = {"Base": {"x": "int16?", "title": "string? = 'none'"}, "A": {"@parent": "Base"}, "B": {"@parent": "Base"}}
    context = shop.migrated(wanted)
    assert rows(context, "Base", "title") == [("a",), ("b",), ("none",)]


def test_property_can_move_down_to_two_subentities(shop: Workshop) -> None:
    """One column becomes two."""
    shop.write(
        {"Base": {"title": "string?"}, "A": {"@parent": "Base"}, "B": {"@parent": "Base"}},
        lambda context: [
            context.insert("A", title="a"),
            context.insert("B", title="b"),
            context.insert("Base", title="c"),
        ],
    )
    context = shop.migrated(
        {"Base": {}, "A": {"@parent": "Base", "title": "string?"}, "B": {"@parent": "Base", "title": "string?"}}
    )
    assert rows(context, "A", "title") == [("a",)]
    assert rows(context, "B", "title") == [("b",)]


def test_relationships_can_move_up_the_tree(shop: Workshop) -> None:
    definition = {
        "Base": {"name": "string?"},
        "A": {"@parent": "Base", "tags": "to-many ordered Tag inverse items", "one": "to-one Tag? inverse only"},
        "Tag": {"name": "string?", "items": "to-many A inverse tags", "only": "to-many ordered A inverse one"},
    }

    def fill(context: Context) -> None:
        tags = [context.insert("Tag", name=f"tag {number}") for number in range(3)]
        for name in ("x", "y"):
            context.insert("A", name=name, tags=[tags[2], tags[0]], one=tags[1])
        tags[1]["only"] = list(reversed(list(tags[1]["only"])))

    shop.write(definition, fill)
    wanted = {
        "Base": {"name": "string?", "tags": "to-many ordered Tag inverse items", "one": "to-one Tag? inverse only"},
        "A": {"@parent": "Base"},
        "Tag": {"name": "string?", "items": "to-many Base inverse tags", "only": "to-many ordered Base inverse one"},
    }
    context = shop.migrated(wanted)
    (item,) = context.fetch("A", "name == 'x'")
    assert [each.name for each in item.tags] == ["tag 2", "tag 0"]
    assert item.one.name == "tag 1"


def test_columns_of_equal_names_in_a_tree_follow_renumbered_entities(shop: Workshop) -> None:
    """Siblings' properties of one name have numbered columns, whose numbers change with the entities."""
    definition = {
        "Base": {},
        "B": {"@parent": "Base", "title": "string?"},
        "C": {"@parent": "Base", "title": "string?"},
    }
    shop.write(definition, lambda context: [context.insert("B", title="b"), context.insert("C", title="c")])
    wanted = {"Base": {}, "A": {"@parent": "Base", "title": "string?"}, **without(definition, "Base")}
    context = shop.migrated(wanted)
    assert rows(context, "B", "title") == [("b",)]
    assert rows(context, "C", "title") == [("c",)]


def test_entity_can_become_concrete_and_abstract_again_without_objects(shop: Workshop) -> None:
    """The way back with objects of that entity fails with 134110: they would have no entity."""
    abstract = {**TREE, "Vehicle": {**TREE["Vehicle"], "@abstract": True}}
    shop.write(abstract, lambda context: context.insert("Car", name="c"))
    context = shop.migrated(TREE)
    context.insert("Vehicle", name="v")
    context.save()
    shop.close()
    later = {**abstract, "Person": {**TREE["Person"], "more": "int16?"}}
    error = shop.refused(later, 134110)
    assert error.entity == "Vehicle" and "abstract" in str(error)


# Constraints and indexes

USERS: dict[str, dict[str, Any]] = {"User": {"name": "string?", "domain": "string?"}}


def users(context: Context) -> None:
    for name, domain in [
        ("a", "x"),
        ("b", "x"),
        ("a", "x"),
        (None, "x"),
        (None, "x"),
        ("b", "y"),
        ("b", "x"),
        ("c", None),
    ]:
        context.insert("User", name=name, domain=domain)


@pytest.mark.scenario("M073")
def test_new_constraint_violated_by_rows_is_rejected(shop: Workshop) -> None:
    """M073: 134111, with one 133021 for each group of objects."""
    shop.write(USERS, users)
    error = shop.refused({"User": {**USERS["User"], "@unique": [["name", "domain"]]}}, 134111)
    assert [each.code for each in error.details] == [133021, 133021]
    assert all(each.entity == "User" for each in error.details)
    assert "2 objects" in str(error.details[0])


def test_new_constraint_satisfied_by_rows_is_accepted(shop: Workshop) -> None:
    """Null does not count as a duplicate value."""
    shop.write(USERS, lambda context: [context.insert("User", name=name) for name in ("a", "b", None, None)])
    context = shop.migrated({"User": {**USERS["User"], "@unique": ["name"]}})
    context.insert("User", name="a")
    with pytest.raises(Exception, match=r"a"):
        context.save()


def test_constraint_on_an_added_attribute_with_a_default_is_rejected(shop: Workshop) -> None:
    shop.write(USERS, users)
    error = shop.refused({"User": {**USERS["User"], "key": "string = 'k'", "@unique": ["key"]}}, 134111)
    assert len(error.details) == 1


def test_constraint_can_be_removed_and_changed(shop: Workshop) -> None:
    shop.write({"User": {**USERS["User"], "@unique": ["name"]}}, lambda context: context.insert("User", name="a"))
    context = shop.migrated({"User": {**USERS["User"], "@unique": ["domain"]}})
    context.insert("User", name="a", domain="z")
    context.save()
    shop.close()
    shop.migrated({"User": {**USERS["User"]}}, compared=False)


def test_indexes_follow_renamed_entities_and_attributes(shop: Workshop) -> None:
    shop.write(
        {"User": {"name": "string? indexed", "domain": "string?", "@indexes": {"both": ["name", "domain"]}}}, users
    )
    context = shop.migrated(
        {
            "Member": {
                "label": "string? indexed",
                "domain": "string? indexed",
                "@indexes": {"other": ["domain", "label"]},
            }
        },
        {"Member": "User", "Member.label": "name"},
    )
    assert context.count("Member") == 8


def test_spatial_indexes_are_rebuilt(shop: Workshop) -> None:
    """R-trees are made again from the rows."""

    def model(entity: str, x: str, name: str | None) -> Any:
        made = small_model({entity: {x: "double?", "y": "double?", **({"more": "int16?"} if name != "at" else {})}})
        if name:
            made[entity].index(name, x, "y", kind="rtree")
        return made

    former = model("Place", "x", "at")
    from corestone import Container

    with Container(former.copy(), shop.path) as container, container.context() as context:
        for number in range(50):
            context.insert("Place", x=float(number), y=float(-number))
        context.save()
    wanted = model("Spot", "lon", "near")
    wanted["Spot"].renaming_identifier = "Place"
    wanted["Spot"].change("lon", renaming_identifier="x")
    shop.migrate(wanted.copy())
    context = shop.open(wanted)
    assert context.count("Spot", "lon BETWEEN {10, 12} AND y BETWEEN {-11, -9}") == 2
    shop.close()
    last = model("Spot", "lon", None)
    last["Spot"].change("more", optional=False, default=1)
    shop.migrate(last)
    assert [name for name in schema(shop.path) if "_RT_" in name] == []


def test_relationships_of_two_subentities_can_move_up(shop: Workshop) -> None:
    """Their join rows, which were in several tables, are combined."""
    definition = {
        "Base": {"name": "string?"},
        "A": {
            "@parent": "Base",
            "tags": "to-many Tag inverse ofA",
            "one": "to-one Tag? inverse oneA",
            "has": "to-many Tag",
        },
        "B": {
            "@parent": "Base",
            "tags": "to-many Tag inverse ofB",
            "one": "to-one Tag? inverse oneB",
            "has": "to-many Tag",
        },
        "Tag": {
            "name": "string?",
            "ofA": "to-many A inverse tags",
            "ofB": "to-many B inverse tags",
            "oneA": "to-many A inverse one",
            "oneB": "to-many B inverse one",
        },
    }

    def fill(context: Context) -> None:
        tags = [context.insert("Tag", name=f"tag {number}") for number in range(4)]
        context.insert("A", name="a", tags=[tags[0], tags[1]], one=tags[2], has=[tags[0]])
        context.insert("B", name="b", tags=[tags[1], tags[3]], one=tags[2], has=[tags[1], tags[2]])

    shop.write(definition, fill)
    wanted = {
        "Base": {
            "name": "string?",
            "tags": "to-many Tag inverse items",
            "one": "to-one Tag? inverse only",
            "has": "to-many Tag",
        },
        "A": {"@parent": "Base"},
        "B": {"@parent": "Base"},
        "Tag": {"name": "string?", "items": "to-many Base inverse tags", "only": "to-many Base inverse one"},
    }
    context = shop.migrated(wanted)
    found = {item.name: item for item in context.fetch("Base")}
    assert sorted(each.name for each in found["a"].tags) == ["tag 0", "tag 1"]
    assert sorted(each.name for each in found["b"].tags) == ["tag 1", "tag 3"]
    assert [item.one.name for item in found.values()] == ["tag 2", "tag 2"]
    assert sorted(each.name for each in found["b"].has) == ["tag 1", "tag 2"]
    assert sorted(each.name for each in found["a"].has) == ["tag 0"]


def test_entity_that_leaves_its_tree_leaves_its_relationships(shop: Workshop) -> None:
    """A relationship to the parent no longer contains the child's objects, in every storage form."""
    definition = {
        "Base": {"name": "string?", "owner": "to-one Person? inverse things", "users": "to-many Person inverse uses"},
        "Child": {"@parent": "Base"},
        "Person": {
            "name": "string?",
            "things": "to-many ordered Base inverse owner",
            "uses": "to-many ordered Base inverse users",
            "best": "to-one Base?",
            "likes": "to-many ordered Base",
        },
    }

    def fill(context: Context) -> None:
        items = [context.insert("Child" if number % 2 else "Base", name=str(number)) for number in range(6)]
        context.insert("Person", things=items, uses=items[::-1], best=items[1], likes=items[1:4])

    shop.write(definition, fill)
    context = shop.migrated({**definition, "Child": {"name": "string?"}})
    (person,) = context.fetch("Person")
    assert [each.name for each in person.things] == ["0", "2", "4"]
    assert [each.name for each in person.uses] == ["4", "2", "0"]
    assert [each.name for each in person.likes] == ["2"]
    assert person.best is None
    assert rows(context, "Child", "name") == [("1",), ("3",), ("5",)]


def test_to_many_without_inverse_can_narrow_to_a_child(shop: Workshop) -> None:
    definition = {
        "Base": {"name": "string?"},
        "Child": {"@parent": "Base"},
        "Person": {"name": "string?", "likes": "to-many ordered Base"},
    }

    def fill(context: Context) -> None:
        items = [context.insert("Child" if number % 2 else "Base", name=str(number)) for number in range(6)]
        context.insert("Person", likes=items[::-1])

    shop.write(definition, fill)
    context = shop.migrated({**definition, "Person": {"name": "string?", "likes": "to-many ordered Child"}})
    assert [each.name for each in context.fetch("Person")[0].likes] == ["5", "3", "1"]


def test_join_table_can_be_named_after_its_other_side(shop: Workshop) -> None:
    """The pairs can be searched by both columns: the key stays, and so does the index of the other column."""
    definition = {
        "Box": {"name": "string?", "things": "to-many ordered Thing inverse boxes"},
        "Thing": {"name": "string?", "boxes": "to-many ordered Box inverse things"},
    }

    def fill(context: Context) -> None:
        things = [context.insert("Thing", name=str(number)) for number in range(3)]
        context.insert("Box", name="b", things=[things[2], things[0]])

    shop.write(definition, fill)
    wanted = {
        "Zone": {"name": "string?", "things": "to-many ordered Thing inverse boxes"},
        "Thing": {"name": "string?", "boxes": "to-many ordered Zone inverse things"},
    }
    context = shop.migrated(wanted, {"Zone": "Box"})
    assert [each.name for each in context.fetch("Zone")[0].things] == ["2", "0"]
