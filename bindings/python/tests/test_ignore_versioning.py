"""Stores that are opened with another model than the one they were written with: one rule for all types."""

from __future__ import annotations

import plistlib
import sqlite3
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from binary_reader import content, file

from corestone import (
    Container,
    Model,
    ModelMismatchError,
    StoreReadOnlyError,
    ValidationError,
    check,
    encode_archive,
)

TYPES = ("SQLite", "XML", "Binary")

FIRST: dict[str, dict[str, str]] = {
    "Employee": {
        "name": "string",
        "age": "int32?",
        "hired": "date?",
        "department": "to-one Department? inverse employees",
    },
    "Manager": {"@parent": "Employee", "bonus": "double?"},
    "Department": {"title": "string", "employees": "to-many Employee inverse department"},
    "Room": {"number": "int16?"},
}


def changed(**entities: Mapping[str, str | None] | None) -> Model:
    """The first model with other properties; None removes an entity or a property."""
    definition = {name: dict(properties) for name, properties in FIRST.items()}
    for name, properties in entities.items():
        if properties is None:
            del definition[name]
            continue
        entity = definition.setdefault(name, {})
        for key, spelling in properties.items():
            if spelling is None:
                del entity[key]
            else:
                entity[key] = spelling
    return Model(definition)


@pytest.fixture(params=TYPES)
def store_type(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def path(tmp_path: Path, store_type: str) -> Iterator[Path]:
    """A store of the first model, with an object of each entity that has subentities or relationships."""
    path = tmp_path / "store"
    with Container(Model(FIRST), path, type=store_type) as container:
        context = container.view_context
        sales = context.insert("Department", title="Sales")
        context.insert("Employee", name="Ada", age=36, department=sales)
        context.insert("Employee", name="Bob", age=40)
        context.save()
    yield path
    if store_type == "SQLite":
        assert check(path) == []


def opened(model: Model, path: Path, store_type: str, **options: Any) -> Container:
    return Container(model, path, type=store_type, ignore_versioning=True, **options)


def names(container: Container) -> list[str]:
    return [each.name for each in container.view_context.fetch("Employee", sort="name")]


ADDITIONS: dict[str, Model] = {
    "attribute": changed(Employee={"title": "string?"}),
    "indexed attribute": changed(Employee={"title": "string? indexed"}),
    "attribute of an heir": changed(Manager={"title": "string?"}),
    "to-one": changed(Employee={"room": "to-one Room?"}),
    "to-many": changed(
        Employee={"mentors": "to-many Employee inverse pupils", "pupils": "to-many Employee inverse mentors"}
    ),
    "ordered": changed(Department={"employees": "to-many ordered Employee inverse department"}),
    "without inverse": changed(Department={"guests": "to-many Employee"}),
    "entity": changed(Badge={"code": "string?"}),
    "heir": changed(Director={"@parent": "Manager", "shares": "int64?"}),
}


@pytest.mark.parametrize("addition", ADDITIONS)
@pytest.mark.parametrize("read_only", [True, False])
def test_properties_missing_from_the_store_are_null(
    path: Path, store_type: str, addition: str, read_only: bool
) -> None:
    model = ADDITIONS[addition]
    before = path.read_bytes()
    with opened(model, path, store_type, read_only=read_only) as container:
        assert names(container) == ["Ada", "Bob"]
        ada = container.view_context.first("Employee", "name == 'Ada'")
        assert ada.department.title == "Sales"
        assert [each.name for each in ada.department.employees] == ["Ada"]
        for entity in model.entities_of():
            for each in container.view_context.fetch(entity.name):
                each.to_dict()
        if "title" in model["Employee"].properties:
            assert ada.title is None
            assert container.view_context.count("Employee", "title == nil") == 2
            assert list(container.view_context.fetch("Employee", "title == 'x'")) == []
    if read_only:
        assert path.read_bytes() == before
        with pytest.raises(ModelMismatchError):
            Container(model, path, type=store_type, migrate=False)
        Container(Model(FIRST), path, type=store_type).close()
        return
    with pytest.raises(ModelMismatchError):
        Container(Model(FIRST), path, type=store_type, migrate=False)
    with Container(model, path, type=store_type) as container:
        context = container.view_context
        context.first("Employee", "name == 'Bob'").age = 41
        if addition == "entity":
            context.insert("Badge", code="x")
        if addition == "heir":
            context.insert("Director", name="Dee")
        context.save()
    with Container(model, path, type=store_type) as container:
        assert container.view_context.count("Employee", "age == 41") == 1
        if addition == "entity":
            assert container.view_context.first("Badge").code == "x"
        if addition == "heir":
            assert names(container) == ["Ada", "Bob", "Dee"]


def test_attribute_without_values_may_be_missing_from_the_model(path: Path, store_type: str) -> None:
    model = changed(Employee={"hired": None, "title": "string?"})
    with opened(model, path, store_type) as container:
        assert not container.store.is_read_only
        container.view_context.first("Employee", "name == 'Ada'").title = "Countess"
        container.view_context.save()
    with Container(model, path, type=store_type) as container:
        assert container.view_context.first("Employee", "title == 'Countess'").name == "Ada"


@pytest.mark.parametrize(
    ("model", "lost"),
    [
        (changed(Employee={"age": None}), "age"),
        (changed(Employee={"department": None}, Department={"employees": None}), "department"),
        (changed(Employee={"department": None}, Department=None), "Department"),
    ],
)
def test_content_missing_from_the_model_is_hidden_and_kept(
    path: Path, store_type: str, model: Model, lost: str
) -> None:
    with opened(model, path, store_type, read_only=True) as container:
        assert names(container) == ["Ada", "Bob"]
    with opened(model, path, store_type) as container:
        assert names(container) == ["Ada", "Bob"]
        container.view_context.insert("Employee", name="Cy")
        if store_type == "SQLite":
            assert not container.store.is_read_only
            container.view_context.save()
        else:
            assert lost.casefold() in (container.store.read_only_reason or "").casefold()
            with pytest.raises(StoreReadOnlyError, match="(?i)" + lost):
                container.view_context.save()
            container.view_context.rollback()
    with opened(Model(FIRST), path, store_type) as container:
        ada = container.view_context.first("Employee", "name == 'Ada'")
        assert (ada.age, ada.department.title) == (36, "Sales")
        assert names(container) == (["Ada", "Bob", "Cy"] if store_type == "SQLite" else ["Ada", "Bob"])


def test_objects_of_a_subentity_missing_from_the_model_are_hidden(path: Path, store_type: str) -> None:
    with Container(Model(FIRST), path, type=store_type) as container:
        sales = container.view_context.first("Department")
        container.view_context.insert("Manager", name="Max", bonus=1.5, department=sales)
        container.view_context.save()
    model = changed(Manager=None)
    for read_only in (True, False):
        with opened(model, path, store_type, read_only=read_only) as container:
            assert names(container) == ["Ada", "Bob"]
            assert [each.name for each in container.view_context.first("Department").employees] == ["Ada"]
            assert container.store.is_read_only
            if not read_only:
                assert "manager" in (container.store.read_only_reason or "").casefold()
    with Container(Model(FIRST), path, type=store_type) as container:
        assert container.view_context.first("Manager").department.title == "Sales"


#: Where each entity stands below its root.
TREE: dict[str, str | None] = {
    "Person": None,
    "Clerk": "Person",
    "Head": "Clerk",
    "Chief": "Head",
    "Guest": "Person",
    "Firm": None,
}


def tree(**parents: str | None) -> Model:
    definition = {}
    for name, parent in {**TREE, **parents}.items():
        properties = {"@parent": parent} if parent else {"name": "string?"}
        definition[name] = {**properties, name.lower(): "int32?"}
    return Model(definition)


SAME_ROOT: list[dict[str, str | None]] = [
    {},
    {"Chief": "Clerk"},
    {"Chief": "Guest"},
    {"Head": "Person"},
    {"Head": "Guest", "Chief": "Person"},
    {"Guest": "Chief"},
    {"Between": "Person", "Clerk": "Between"},
]


@pytest.mark.parametrize("parents", SAME_ROOT, ids=str)
def test_different_parent_in_the_same_entity_tree_is_accepted(
    tmp_path: Path, store_type: str, parents: dict[str, str | None]
) -> None:
    path = tmp_path / "tree"
    with Container(tree(), path, type=store_type) as container:
        for name in TREE:
            container.view_context.insert(name, **{name.lower(): len(name), "name": name})
        container.view_context.save()
    for read_only in (True, False):
        with opened(tree(**parents), path, store_type, read_only=read_only) as container:
            for name in TREE:
                (found,) = container.view_context.fetch(name, include_subentities=False)
                assert (found.name, found[name.lower()]) == (name, len(name))
            assert container.view_context.count("Person") == len(TREE) - 1
            if not container.store.is_read_only:
                container.view_context.insert("Chief", name="new", chief=3)
                container.view_context.save()
    with opened(tree(**parents), path, store_type) as container:
        assert container.view_context.count("Chief", "name == 'new'") == 1
    with Container(tree(), path, type=store_type, ignore_versioning=True) as container:
        assert container.view_context.count("Person") == len(TREE)


OTHER_ROOT: list[tuple[dict[str, str | None], str]] = [
    ({"Guest": None}, "Guest"),
    ({"Chief": None}, "Chief"),
    ({"Guest": "Firm"}, "Guest"),
    ({"Head": "Firm"}, "Head"),
    ({"Firm": "Person"}, "Firm"),
    ({"Firm": "Chief"}, "Firm"),
]


@pytest.mark.parametrize(("parents", "entity"), OTHER_ROOT, ids=str)
@pytest.mark.parametrize("read_only", [True, False])
def test_different_root_entity_is_rejected(
    tmp_path: Path, store_type: str, parents: dict[str, str | None], entity: str, read_only: bool
) -> None:
    path = tmp_path / "tree"
    with Container(tree(), path, type=store_type) as container:
        for name in TREE:
            container.view_context.insert(name, name=name)
        container.view_context.save()
    with pytest.raises(ModelMismatchError, match=f"the root entity of {entity} is ") as raised:
        opened(tree(**parents), path, store_type, read_only=read_only)
    assert raised.value.entity == entity


@pytest.mark.parametrize(
    ("model", "key"),
    [
        (changed(Employee={"age": "string?"}), "age"),
        (changed(Employee={"hired": "double?"}), "hired"),
        (changed(Employee={"name": "binary"}), "name"),
        (
            changed(
                Employee={"department": "to-many Department inverse employees"},
                Department={"employees": "to-many Employee inverse department"},
            ),
            "department",
        ),
        (changed(Employee={"age": "double?"}), "age"),
        (changed(Employee={"age": "decimal?"}), "age"),
        (changed(Employee={"age": "bool?"}), "age"),
        (changed(Employee={"hired": "string?"}), "hired"),
        (changed(Employee={"department": "string?"}, Department={"employees": None}), "department"),
        (changed(Employee={"age": "to-one Room?"}), "age"),
    ],
)
@pytest.mark.parametrize("read_only", [True, False])
def test_different_property_type_is_rejected(
    path: Path, store_type: str, model: Model, key: str, read_only: bool
) -> None:
    with Container(Model(FIRST), path, type=store_type) as container:
        container.view_context.first("Employee").hired = datetime(2020, 1, 1, tzinfo=timezone.utc)
        container.view_context.save()
    with pytest.raises(ModelMismatchError) as raised:
        opened(model, path, store_type, read_only=read_only)
    assert (raised.value.entity, raised.value.key) == ("Employee", key)
    assert raised.value.code == 134100
    Container(Model(FIRST), path, type=store_type).close()


@pytest.mark.parametrize("read_only", [True, False])
def test_relationship_to_another_entity_is_rejected(path: Path, store_type: str, read_only: bool) -> None:
    model = changed(Employee={"department": "to-one Room?"}, Department={"employees": None})
    with pytest.raises(ModelMismatchError) as raised:
        opened(model, path, store_type, read_only=read_only)
    assert (raised.value.entity, raised.value.key, raised.value.code) == ("Employee", "department", 134100)
    with pytest.raises(ModelMismatchError, match="Employee"):
        Container(model, path, type=store_type, migrate=False)


@pytest.mark.parametrize("store_type", ["SQLite", "Binary"])
@pytest.mark.parametrize(
    ("model", "entity", "key"),
    [
        (changed(Employee={"department": "to-one Room?"}, Department={"employees": None}), "Employee", "department"),
        (
            changed(
                Employee={"department": None},
                Manager={"department": "to-one Department? inverse employees"},
                Department={"employees": "to-many Manager inverse department"},
            ),
            "Department",
            "employees",
        ),
        (changed(Department={"employees": "to-one Employee? inverse department"}), "Department", "employees"),
    ],
)
def test_relationship_type_is_compared_without_members(
    tmp_path: Path, store_type: str, model: Model, entity: str, key: str
) -> None:
    """An XML store does not have an element for it."""
    path = tmp_path / "empty"
    Container(Model(FIRST), path, type=store_type).close()
    with pytest.raises(ModelMismatchError) as raised:
        opened(model, path, store_type)
    assert (raised.value.entity, raised.value.key, raised.value.code) == (entity, key, 134100)


@pytest.mark.parametrize("key", ["department", "guests"])
def test_binary_store_without_recorded_types_compares_its_objects(tmp_path: Path, key: str) -> None:
    path = tmp_path / "store"
    with Container(changed(Department={"guests": "to-many Employee"}), path, type="Binary") as container:
        context = container.view_context
        ada = context.insert("Employee", name="Ada", age=36)
        context.insert("Department", title="Sales", employees={ada}, guests={ada})
        context.save()
    found = content(path.read_bytes())
    for table in found["entities"]:
        del table["relationships"]
    path.write_bytes(file(plistlib.dumps(found, fmt=plistlib.FMT_BINARY, sort_keys=False)))
    models = {
        "department": changed(Employee={"department": "to-one Room?"}, Department={"employees": None}),
        "guests": changed(Department={"guests": "to-many Manager"}),
    }
    with pytest.raises(ModelMismatchError) as raised:
        opened(models[key], path, "Binary")
    assert (raised.value.key, raised.value.code) == (key, 134100)


def test_integers_can_be_widened(path: Path, store_type: str) -> None:
    with opened(changed(Employee={"age": "int64?"}), path, store_type) as container:
        container.view_context.first("Employee", "name == 'Ada'").age = 2**40
        container.view_context.save()
    with opened(changed(Employee={"age": "int64?"}), path, store_type) as container:
        assert sorted(each.age for each in container.view_context.fetch("Employee")) == [40, 2**40]


def test_integers_that_fit_a_narrower_attribute_are_read(path: Path, store_type: str) -> None:
    ages = [-(2**15), -1, 2**15 - 1]
    with Container(Model(FIRST), path, type=store_type) as container:
        for age in ages:
            container.view_context.insert("Employee", name="x", age=age)
        container.view_context.save()
    for read_only in (True, False):
        with opened(changed(Employee={"age": "int16?"}), path, store_type, read_only=read_only) as container:
            assert [each.age for each in container.view_context.fetch("Employee", "name == 'x'", sort="age")] == ages


@pytest.mark.parametrize(("width", "value"), [("int16?", 2**15), ("int16?", -(2**31)), ("int32?", 2**31)])
@pytest.mark.parametrize("read_only", [True, False])
def test_integer_beyond_a_narrower_attribute_is_rejected(
    tmp_path: Path, store_type: str, width: str, value: int, read_only: bool
) -> None:
    path = tmp_path / "store"
    wide = changed(Employee={"age": "int64?"})
    with Container(wide, path, type=store_type) as container:
        for age in (1, value):
            container.view_context.insert("Manager", name="x", age=age)
        container.view_context.save()
    before = path.read_bytes()
    with pytest.raises(ModelMismatchError, match=f"age.* is {value}") as raised:
        opened(changed(Employee={"age": width}), path, store_type, read_only=read_only)
    assert raised.value.entity in ("Employee", "Manager")
    assert (raised.value.key, raised.value.value, raised.value.code) == ("age", value, 134100)
    assert path.read_bytes() == before
    with Container(wide, path, type=store_type) as container:
        container.view_context.first("Manager", "age != 1").age = 2
        container.view_context.save()
    with opened(changed(Employee={"age": width}), path, store_type, read_only=read_only) as container:
        assert [each.age for each in container.view_context.fetch("Manager", sort="age")] == [1, 2]


def test_large_integer_of_an_unknown_entity_is_accepted(path: Path, store_type: str) -> None:
    with Container(Model(FIRST), path, type=store_type) as container:
        container.view_context.insert("Manager", name="Max", age=2**20)
        container.view_context.save()
    with opened(changed(Employee={"age": "int16?"}, Manager=None), path, store_type, read_only=True) as container:
        assert [each.age for each in container.view_context.fetch("Employee", sort="age")] == [36, 40]


@pytest.mark.parametrize("value", [0.1, 1e300])
def test_fraction_of_another_precision_keeps_its_digits(tmp_path: Path, store_type: str, value: float) -> None:
    path = tmp_path / "store"
    with Container(Model({"Value": {"real": "double?"}}), path, type=store_type) as container:
        container.view_context.insert("Value", real=value)
        container.view_context.save()
    with opened(Model({"Value": {"real": "float?"}}), path, store_type, read_only=True) as container:
        assert container.view_context.first("Value").real == value


VALUE = {"Value": {"n": "int16?", "real": "double?", "raw": "binary?"}}


@pytest.mark.parametrize(
    "others",
    [{"n": "int32?"}, {"n": "int64?"}, {"real": "float?"}, {"raw": {"type": "transformable", "optional": True}}],
)
def test_types_with_the_same_storage_are_interchangeable(
    tmp_path: Path, store_type: str, others: dict[str, Any]
) -> None:
    archived = encode_archive(["x", 1])
    path = tmp_path / "values"
    with Container(Model(VALUE), path, type=store_type) as container:
        container.view_context.insert("Value", n=7, real=0.5, raw=archived)
        container.view_context.save()
    for read_only in (True, False):
        with opened(Model({"Value": {**VALUE["Value"], **others}}), path, store_type, read_only=read_only) as container:
            found = container.view_context.first("Value")
            assert (found.n, found.real) == (7, 0.5)
            assert found.raw == (["x", 1] if "raw" in others else archived)
            assert container.store.is_read_only == read_only


@pytest.mark.parametrize("has_objects", [True, False])
@pytest.mark.parametrize(
    ("model", "entity", "roots"),
    [
        (changed(Manager={"@parent": "Room", "name": "string?"}), "Manager", ["Employee", "Room"]),
        (changed(Manager={"@parent": None, "name": "string?"}), "Manager", ["Employee", "Manager"]),
        (changed(Room={"@parent": "Employee"}), "Room", ["Room", "Employee"]),
    ],
)
def test_parent_of_another_entity_tree_is_rejected(
    path: Path, store_type: str, model: Model, entity: str, roots: list[str], has_objects: bool
) -> None:
    if has_objects:
        with Container(Model(FIRST), path, type=store_type) as container:
            container.view_context.insert("Manager", name="Max")
            container.view_context.save()
    for read_only in (True, False):
        with pytest.raises(ModelMismatchError) as raised:
            opened(model, path, store_type, read_only=read_only)
        assert (raised.value.entity, raised.value.code) == (entity, 134100)
        difference = "the root entity of {} is {} in the store, but {} in the model".format(entity, *roots)
        assert difference in raised.value.message


@pytest.mark.parametrize("store_type", ["SQLite"])
def test_root_is_compared_without_a_cached_model(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("DELETE FROM Z_MODELCACHE")
    connection.close()
    with pytest.raises(ModelMismatchError, match="the root entity of Manager is Employee in the store"):
        opened(changed(Manager={"@parent": "Room", "name": "string?"}), path, "SQLite")


def test_parent_of_the_same_entity_tree_is_accepted(path: Path, store_type: str) -> None:
    with Container(Model(FIRST), path, type=store_type) as container:
        container.view_context.insert("Manager", name="Max")
        container.view_context.save()
    model = changed(Person={"@parent": "Employee"}, Manager={"@parent": "Person"})
    with opened(model, path, store_type) as container:
        assert container.view_context.first("Person").name == "Max"
    with Container(model, path, type=store_type) as container:
        assert container.view_context.first("Person").name == "Max"
    with pytest.raises(ModelMismatchError, match="the root entity of Person is Employee in the store"):
        opened(changed(Person={"@parent": "Room"}), path, store_type)


@pytest.mark.parametrize("store_type", ["XML"])
def test_entity_trees_with_other_version_hashes_are_not_compared(path: Path, tmp_path: Path) -> None:
    """Apple's framework would replace the hashes and keep the model. Then the objects alone are compared."""
    with Container(Model(FIRST), path, type="XML") as container:
        sales = container.view_context.first("Department")
        container.view_context.insert("Manager", name="Max", department=sales)
        container.view_context.save()
    other = tmp_path / "other.xml"
    Container(Model({"Other": {"name": "string"}}), other, type="XML").close()

    def carried(text: str) -> str:
        return text.partition("CST_Model</key>")[2].partition("</data>")[0]

    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(carried(text), carried(other.read_text(encoding="utf-8"))), encoding="utf-8")
    model = changed(
        Manager={"@parent": "Room", "name": "string?", "department": "to-one Department?"},
        Department={"employees": "to-many Employee inverse department"},
    )
    with pytest.raises(ModelMismatchError, match="of Manager, not of Employee") as raised:
        opened(model, path, "XML")
    assert (raised.value.entity, raised.value.key, raised.value.code) == ("Department", "employees", 134100)
    Container(Model(FIRST), path, type="XML").close()


def test_read_only_reason_names_entity_and_key(path: Path, store_type: str) -> None:
    """The reason names values that a save would lose; without such values the store is writable."""
    cases: list[tuple[Model, list[str], bool]] = [
        (changed(Employee={"age": None}), ["Employee", "age"], store_type != "SQLite"),
        (changed(Employee={"hired": None}), [], False),
        (changed(Room=None), [], False),
        (changed(Employee={"department": None}, Department=None), ["Department"], store_type != "SQLite"),
    ]
    for model, words, is_read_only in cases:
        with opened(model, path, store_type) as container:
            assert container.store.is_read_only == is_read_only
            reason = (container.store.read_only_reason or "").casefold()
            assert all(word.casefold() in reason for word in words) or not is_read_only
            assert bool(reason) == is_read_only


def test_added_required_attribute_must_be_set_before_a_save(path: Path, store_type: str) -> None:
    with opened(changed(Employee={"title": "string"}), path, store_type) as container:
        ada = container.view_context.first("Employee", "name == 'Ada'")
        assert ada.title is None
        ada.age = 37
        with pytest.raises(ValidationError) as raised:
            container.view_context.save()
        assert (raised.value.code, raised.value.key) == (1570, "title")
        ada.title = "Countess"
        container.view_context.save()


@pytest.mark.parametrize("store_type", ["SQLite"])
def test_added_derived_attributes_are_computed(path: Path) -> None:
    model = changed(
        Department={"size": "derived int64? = employees.@count"},
        Employee={"upper": "derived string? = uppercase:(name)"},
    )
    with opened(model, path, "SQLite") as container:
        department = container.view_context.first("Department")
        assert department.size == 1
        assert container.view_context.first("Employee", "name == 'Ada'").upper == "ADA"
    with sqlite3.connect(path) as file:
        assert file.execute("SELECT count(*) FROM sqlite_master WHERE type = 'trigger'").fetchone()[0] > 0


@pytest.mark.parametrize("store_type", ["SQLite"])
def test_duplicate_values_of_a_new_unique_constraint_are_rejected(path: Path) -> None:
    with Container(Model(FIRST), path) as container:
        container.view_context.insert("Department", title="Sales")
        container.view_context.save()
    model = Model({**FIRST, "Department": {**FIRST["Department"], "@unique": [["title"]]}})
    with pytest.raises(ModelMismatchError, match="must be unique") as raised:
        opened(model, path, "SQLite")
    assert (raised.value.entity, raised.value.key) == ("Department", "title")
    Container(Model(FIRST), path).close()
