"""Scenarios of other programs' tests, with those programs' models and stores where the fixtures have them.

Each test is marked with its scenario; scenario_totals.py counts them. Others are in test_mapping_scenarios.py,
test_wire_scenarios.py and beside the tests of what they are about.
"""

from __future__ import annotations

import dataclasses
import uuid
from contextlib import closing
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import corestone
import mapping_models
import mapping_policies
import pytest
from checkout import FIXTURES
from corestone import (
    CancelledError,
    Container,
    Context,
    Coordinator,
    CorestoneError,
    EntityMapping,
    FetchRequest,
    InvalidArgumentError,
    MappingModel,
    MigrationError,
    MigrationManager,
    MigrationStage,
    Model,
    ModelMismatchError,
    Store,
    StoreError,
    migration_plan,
    validate_stages,
)
from pairs import digest
from stored import connect
from workshop import rows

requires_fixtures = pytest.mark.skipif(not FIXTURES.is_dir(), reason="the files of other programs are not there")

DECEMBER = datetime(2023, 12, 1, tzinfo=timezone.utc)
PLAIN: dict[str, Any] = {
    "String": "x", "Boolean": True, "Date": DECEMBER, "Transformable": [1], "Decimal": 1, "Double": 1.5,
    "UUID": uuid.UUID(int=7),
}  # fmt: skip


def copied(store: str, folder: Path) -> Path:
    """A copy of a store of the fixtures."""
    path = folder / Path(store).name
    mapping_models.copy_store(FIXTURES / store, path)
    return path


def cached_model(store: str) -> Model:
    """The model that a store of the fixtures carries."""
    with corestone.open(FIXTURES / store) as container:
        return container.model.copy()


def open_context(path: Path, model: Model, **options: Any) -> Context:
    coordinator = Coordinator(model, unsaved="discard")
    coordinator.add_store(path, **options)
    return coordinator.context()


def query(path: Path, text: str) -> list[tuple[Any, ...]]:
    with closing(connect(path)) as file:
        return file.execute(text).fetchall()


# Renaming identifiers


def basic_model(version: str) -> Model:
    place = FIXTURES / "source-models" / "jeffreybergier+CoreDataMigrationTests" / "Model.xcdatamodeld"
    return Model.load(place / f"v{version}.xcdatamodel")


@requires_fixtures
@pytest.mark.scenario("M002")
def test_chained_identifier_loses_the_value_of_a_store(tmp_path: Path) -> None:
    path = copied("stores/coredatamigrationtests/Example_v1.1.0.sqlite", tmp_path)
    assert query(path, "SELECT ZV1_1_0_NAME FROM ZBASICENTITY") == [("A Known Value",)]
    (warning,) = migration_plan(path, basic_model("1.1.2")).warnings
    assert "v1_1_0_name" in warning
    with open_context(path, basic_model("1.1.2"), migrate=True, infer_mapping=True) as context:
        assert rows(context, "BasicEntity", "v1_1_2_name") == [(None,)]


@requires_fixtures
@pytest.mark.scenario("M004")
def test_store_of_the_same_version_is_not_migrated(tmp_path: Path) -> None:
    path = copied("stores/coredatamigrationtests/Example_v2.0.0.sqlite", tmp_path)
    content = path.read_bytes()
    model = basic_model("2.0.0")
    assert not migration_plan(path, model).is_needed
    for options in ({"migrate": True}, {"migrate": False}):
        with open_context(path, model, **options) as context:
            assert rows(context, "BasicEntity", "v2_0_0_name") == [("A Known Value",)]
    # Nor is it with another identifier, which does not belong to the version.
    other = model.copy()
    other["BasicEntity"].change("v2_0_0_name", renaming_identifier="another")
    with open_context(path, other, migrate=False) as context:
        assert rows(context, "BasicEntity", "v2_0_0_name") == [("A Known Value",)]
    assert path.read_bytes() == content


# Inference and opening


@pytest.mark.scenario("M010")
def test_inferred_mapping_adds_and_removes_entities_of_other_names() -> None:
    mapping = MappingModel.inferred(Model({"Removed": {}}), Model({"Added": {}}))
    assert sorted((each.kind, each.source, each.destination) for each in mapping.entity_mappings) == [
        ("add", None, "Added"),
        ("remove", "Removed", None),
    ]


@pytest.mark.scenario("M012")
def test_xml_store_of_another_version_opens_when_versions_are_ignored(tmp_path: Path) -> None:
    path = tmp_path / "company.xml"
    employee = {"name": "string?", "salary": "int32?", "department": "to-one Department? inverse employees"}
    former = {
        "Employee": employee,
        "Department": {"name": "string?", "employees": "to-many Employee inverse department"},
    }
    wanted = Model({**former, "Employee": {**employee, "title": "string?"}})
    with Container(Model(former), path, type="XML") as container:
        department = container.view_context.insert("Department", name="Research")
        container.view_context.insert("Employee", name="Ada", salary=7, department=department)
        container.view_context.save()
    with pytest.raises(ModelMismatchError) as raised, Coordinator(wanted) as coordinator:
        coordinator.add_store(path)
    assert raised.value.code == 134100
    with open_context(path, wanted, ignore_versioning=True) as context:
        assert rows(context, "Employee", "name", "salary", "title", "department.name") == [("Ada", 7, None, "Research")]
    # Without a migration, nothing of the store's own model is lost to a model that lacks it.
    narrow = Model({"Employee": {"name": "string?"}})
    with open_context(path, narrow, ignore_versioning=True) as context:
        assert rows(context, "Employee", "name") == [("Ada",)]
    with open_context(path, wanted, ignore_versioning=True) as context:
        assert rows(context, "Employee", "salary", "department.name") == [(7, "Research")]


@pytest.mark.scenario("M015")
def test_changed_subentity_makes_a_store_incompatible(tmp_path: Path) -> None:
    path = tmp_path / "people.sqlite"
    people = {"Person": {"name": "string?"}, "Manager": {"@parent": "Person", "reports": "int32?"}}
    former = Model(people)
    wanted = Model({**people, "Manager": {**people["Manager"], "budget": "int32?"}})
    with Container(former, path) as container:
        container.view_context.insert("Manager", name="Ada", reports=3)
        container.view_context.save()
    with Coordinator(wanted) as coordinator, pytest.raises(ModelMismatchError) as raised:
        coordinator.add_store(path)
    assert raised.value.code == 134100
    assert former["Person"].version_hash == wanted["Person"].version_hash
    assert former["Manager"].version_hash != wanted["Manager"].version_hash


# CoreDataPlus: its models, stores and mapping model

V1_STORE = "stores/coredataplus/SampleModel_V1.sqlite"
V2_STORE = "stores/coredataplus/SampleModel_V2.sqlite"


def sample_model(version: int) -> Model:
    name = "SampleModel.mom" if version == 1 else f"SampleModel{version}.mom"
    return Model.load(FIXTURES / "compiled-models" / "coredataplus" / "SampleModel.momd" / name)


def to_third_version() -> MappingModel:
    return MappingModel.load(FIXTURES / "mapping-models" / "coredataplus" / "V2toV3.xcmappingmodel")


def tables(path: Path) -> list[tuple[Any, ...]]:
    return query(
        path, "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE tbl_name LIKE 'ZCAR' OR tbl_name = 'ZPERSON'"
    )


@requires_fixtures
@pytest.mark.scenario("M017")
def test_store_migrated_in_place_equals_that_of_apple(tmp_path: Path) -> None:
    path, expected = copied(V1_STORE, tmp_path), copied(V2_STORE, tmp_path)
    columns = {row[1] for table in ("ZCAR", "ZPERSON") for row in query(path, f"PRAGMA table_info({table})")}
    assert {"ZCOLOR", "ZID"} <= columns
    former = query(path, "SELECT Z_ENT, Z_NAME, Z_SUPER, Z_MAX FROM Z_PRIMARYKEY ORDER BY Z_ENT")
    open_context(path, sample_model(2), migrate=True, allow_removals=True).close()
    identifier = "SELECT Z_UUID FROM Z_METADATA"
    assert query(path, identifier) == query(FIXTURES / V1_STORE, identifier) == query(expected, identifier)
    # Tables and indexes by their text: without ZID and ZCOLOR, in canonical order, unquoted, with the new index.
    assert sorted(tables(path)) == sorted(tables(expected))
    assert (
        "index", "Z_Car_byMakerAndNumberPlate", "ZCAR",
        "CREATE INDEX Z_Car_byMakerAndNumberPlate ON ZCAR (ZMAKER COLLATE BINARY ASC, ZNUMBERPLATE COLLATE BINARY ASC)",
    ) in tables(path)  # fmt: skip
    names = [name for (name,) in query(path, "SELECT name FROM sqlite_master WHERE type = 'table'")]
    assert set(names[-2:]) == {"ZCAR", "ZPERSON"}
    for table in ("ZCAR", "ZPERSON"):
        assert query(path, f"SELECT * FROM {table} ORDER BY Z_PK") == query(
            expected, f"SELECT * FROM {table} ORDER BY Z_PK"
        )
    keys = query(path, "SELECT Z_ENT, Z_NAME, Z_SUPER, Z_MAX FROM Z_PRIMARYKEY ORDER BY Z_ENT")
    assert keys == [
        (number, "LuxuryCar" if name == "ExpensiveSportCar" else name, parent, highest)
        for number, name, parent, highest in former
    ]


@requires_fixtures
@pytest.mark.scenario("M018")
def test_migration_of_a_missing_store_creates_nothing(tmp_path: Path) -> None:
    manager = MigrationManager(sample_model(2), sample_model(3))
    with mapping_policies.registered(), pytest.raises(StoreError) as raised:
        manager.migrate_store(tmp_path / "none.sqlite", tmp_path / "new.sqlite", to_third_version())
    assert raised.value.code == 134150
    with pytest.raises(StoreError), Coordinator(sample_model(2)) as coordinator:
        coordinator.add_store(tmp_path / "none.sqlite", migrate=True, must_exist=True)
    with pytest.raises(CorestoneError):
        migration_plan(tmp_path / "none.sqlite", sample_model(2))
    assert list(tmp_path.iterdir()) == []


@requires_fixtures
@pytest.mark.scenario("M019")
def test_migration_to_the_same_version_changes_nothing(tmp_path: Path) -> None:
    path = copied(V1_STORE, tmp_path)
    content = path.read_bytes()
    assert not migration_plan(path, sample_model(1)).is_needed
    with open_context(path, sample_model(1), migrate=True) as context:
        assert (context.count("Car"), context.count("Person")) == (125, 20)
    assert path.read_bytes() == content


@requires_fixtures
@pytest.mark.scenario("M022")
def test_compiled_mapping_model_is_decoded() -> None:
    mapping = MappingModel.load(FIXTURES / "compiled-models" / "coredataplus" / "V2toV3.cdm")
    assert mapping.matches(sample_model(2), sample_model(3))
    person, car = mapping["PersonToPerson"], mapping["CarToCar"]
    assert person.kind == "copy"
    assert person.source_hash != person.destination_hash
    assert "previousCars" in {each.name for each in person.relationships}
    assert "previousCars" not in sample_model(2)["Person"].properties
    expressions = {each.name: each.expression for each in person.attributes}
    assert expressions == {name: f"$source.{name}" for name in ("firstName", "lastName", "updatedAt")}
    assert {each.name: each.expression for each in car.relationships}["createdBy"] is None
    assert person.source_expression == (
        'FETCH(FUNCTION($manager, "fetchRequestForSourceEntityNamed:predicateString:" , "Person", "TRUEPREDICATE"), '
        "$manager.sourceContext, 0)"
    )


@requires_fixtures
@pytest.mark.scenario("M023")
def test_cancelled_migration_leaves_the_source_for_another_manager(tmp_path: Path) -> None:
    path, result = copied(V2_STORE, tmp_path), tmp_path / "new.sqlite"
    content = path.read_bytes()
    cancelled = MigrationManager(sample_model(2), sample_model(3))
    cancelled.cancel()
    with mapping_policies.registered(), pytest.raises(CancelledError) as raised:
        cancelled.migrate_store(path, result, to_third_version())
    assert raised.value.code == 134120
    assert not result.exists()
    assert path.read_bytes() == content
    with mapping_policies.registered():
        MigrationManager(sample_model(2), sample_model(3)).migrate_store(path, result, to_third_version())
    with open_context(result, sample_model(3)) as context:
        assert (context.count("Car"), context.count("Maker")) == (125, 10)
    assert path.read_bytes() == content


@requires_fixtures
@pytest.mark.scenario("M027")
def test_store_with_a_history_is_split_over_two_configurations(tmp_path: Path) -> None:
    path = copied("history/SampleModel2_V1.sqlite", tmp_path)
    model = cached_model("stores/coredataplus/SampleModel2_V2.sqlite")
    parts = "SampleConfigurationV2Part1", "SampleConfigurationV2Part2"
    changes = query(path, "SELECT count(*) FROM ACHANGE")

    def read(context: Context, store: Store) -> list[tuple[Any, ...]]:
        found = context.execute(FetchRequest("Feedback", stores=[store]))
        return [(each.authorAlias, each.bookID, each.comment, each.rating) for each in found]

    def fetched_properties(context: Context) -> list[int]:
        return sorted(len(each["feedbacks"]) for each in context.fetch("Author"))

    with Coordinator(model) as coordinator:
        first = coordinator.add_store(path, configuration=parts[0], migrate=True, allow_removals=True, history=True)
        second = coordinator.add_store(tmp_path / "part2.sqlite", configuration=parts[1], history=True)
        with coordinator.context() as context:
            feedbacks = read(context, first)
            assert len(feedbacks) == 444
            assert read(context, second) == []
            assert fetched_properties(context) == [3, 441]
            for alias, book, comment, rating in feedbacks:
                made = context.insert("Feedback", authorAlias=alias, bookID=book, comment=comment, rating=rating)
                context.assign(made, second)
            context.save()
        with coordinator.context() as context:
            assert sorted(map(str, read(context, second))) == sorted(map(str, feedbacks))
            assert len(read(context, first)) == 444
            # The fetched properties of an author are fetched from both stores.
            assert fetched_properties(context) == [6, 882]
    assert query(path, "SELECT count(*) FROM ACHANGE") == changes
    with Coordinator(model.copy()) as coordinator:
        store = coordinator.add_store(path, configuration=parts[0], history=False)
        assert store.is_read_only
        assert "history" in str(store.read_only_reason)


# Stages

USERS = (
    {"User": {"name": "string", "petName": "string?"}},
    {"User": {"name": "string", "petName": "string?", "pet": "to-one Pet?"}, "Pet": {"name": "string?"}},
    {"User": {"name": "string", "pet": "to-one Pet?"}, "Pet": {"name": "string"}},
)


def name_pets(context: Context) -> None:
    for user in context.fetch("User"):
        if user.petName is not None:
            user.pet = context.insert("Pet", name=user.petName)


@pytest.mark.scenario("M029")
def test_custom_stage_fills_what_the_lightweight_stage_requires(tmp_path: Path) -> None:
    path, models = tmp_path / "users.sqlite", [Model(each) for each in USERS]
    with Container(models[0], path) as container:
        for name, pet in (("Ada", "Rex"), ("Bob", None), ("Cy", "Tom")):
            container.view_context.insert("User", name=name, petName=pet)
        container.view_context.save()

    def stages(did: Any) -> list[MigrationStage]:
        return [
            MigrationStage.custom(models[0], models[1], did_migrate=did),
            MigrationStage.lightweight([models[2].checksum]),
        ]

    content = digest(path)
    with Coordinator(models[2]) as coordinator, pytest.raises(MigrationError) as raised:
        # A pet without a name cannot pass the second stage.
        unnamed = stages(lambda context: context.insert("Pet"))
        coordinator.add_store(path, migrate=True, stages=unnamed, source_models=models)
    assert raised.value.code == 134110
    assert digest(path) == content
    with open_context(path, models[2], migrate=True, stages=stages(name_pets), source_models=models) as context:
        assert sorted(each.name for each in context.fetch("Pet")) == ["Rex", "Tom"]
        assert rows(context, "User", "name", "pet.name") == [("Ada", "Rex"), ("Bob", None), ("Cy", "Tom")]


@pytest.mark.scenario("M032")
def test_stage_between_two_versions_with_one_hash_is_rejected(tmp_path: Path) -> None:
    first, second = Model({"A": {"x": "int16? = 1"}}), Model({"A": {"x": "int16? = 2"}})
    second["A"].class_name = "Another"
    path = tmp_path / "a.sqlite"
    Container(first, path).close()
    assert first["A"].version_hash == second["A"].version_hash
    stages = [MigrationStage.custom(first, second)]
    with pytest.raises(InvalidArgumentError, match="current and the next model reference of stage 1 must differ"):
        validate_stages(stages)
    with pytest.raises(InvalidArgumentError, match="must differ"), Coordinator(second) as coordinator:
        coordinator.add_store(path, migrate=True, stages=stages)
    validate_stages([MigrationStage.custom(first, Model({"A": {"x": "int16?", "y": "int16?"}}))])


# Chains


@requires_fixtures
@pytest.mark.scenario("M035")
def test_mapping_models_to_the_same_version_are_not_used(tmp_path: Path) -> None:
    bundle = FIXTURES / "source-models" / "jessesquires+JSQCoreDataKit" / "ExampleModel.xcdatamodeld"
    models = [Model.load(bundle / f"Version {number}.xcdatamodel") for number in (1, 2, 3)]
    folder = FIXTURES / "mapping-models" / "jsqcoredatakit"
    assert MappingModel.find([folder], models[0], models[0]) is None
    found = [MappingModel.find([folder], *pair) for pair in zip(models, models[1:])]
    mapping = found[0]
    assert mapping is not None and found[1] is not None
    path = tmp_path / "employees.sqlite"
    Container(models[0], path).close()
    with pytest.raises(MigrationError) as raised:
        MigrationManager(models[0], models[0]).migrate_store(path, tmp_path / "new.sqlite", mapping)
    assert raised.value.code == 134140
    assert not (tmp_path / "new.sqlite").exists()


@pytest.mark.scenario("M081")
def test_chains_of_mapping_models_reach_one_version_from_each_store(tmp_path: Path) -> None:
    """1 leads to 4, 2 to 3 and 3 to 4: each store takes a different route. The last step records itself in a value."""
    models = [Model({"A": {"way": "string?", f"v{number}": "int16?"}}) for number in (1, 2, 3, 4)]

    def step(current: int, following: int) -> MappingModel:
        entity = EntityMapping(source="A", destination="A", attributes={"way": f'"{current} {following}"'})
        return MappingModel([entity], models[current - 1].copy(), models[following - 1].copy())

    forest = [step(1, 4), step(2, 3), step(3, 4)]
    expected = {1: (1, "1 4"), 2: (2, "3 4"), 3: (1, "3 4"), 4: (0, "none")}
    for number, (count, way) in expected.items():
        path = tmp_path / f"{number}.sqlite"
        with Container(models[number - 1], path) as container:
            container.view_context.insert("A", way="none")
            container.view_context.save()
        options: Any = {
            "migrate": True, "infer_mapping": False, "mapping_models": forest, "source_models": models,
        }  # fmt: skip
        assert len(migration_plan(path, models[3], **options).steps) == count
        with open_context(path, models[3], **options) as context:
            assert rows(context, "A", "way") == [(way,)]


@pytest.mark.scenario("M081")
@pytest.mark.parametrize("chain", [((1, 2), (2, 1)), ((1, 2), (2, 3), (3, 1)), ((1, 2), (1, 3))], ids=str)
def test_stages_with_a_loop_or_two_targets_are_rejected(chain: tuple[tuple[int, int], ...]) -> None:
    models = [Model({"A": {f"v{number}": "int16?"}}) for number in (1, 2, 3)]
    validate_stages([MigrationStage.custom(models[0], models[1]), MigrationStage.custom(models[1], models[2])])
    with pytest.raises(InvalidArgumentError):
        validate_stages([MigrationStage.custom(models[one - 1], models[other - 1]) for one, other in chain])


# WooCommerce: versions of its model


def shop_model(version: int) -> Model:
    place = FIXTURES / "source-models" / "woocommerce+woocommerce-ios" / "WooCommerce.xcdatamodeld"
    return Model.load(place / f"Model {version}.xcdatamodel")


def insert(context: Context, model: Model, entity: str, **given: Any) -> Any:
    """Inserts an object; required attributes without a default get a plain value."""
    values: dict[str, Any] = {}
    for name, each in model.copy()[entity].properties.items():
        described = {} if each.is_relationship else model[entity].describe(name)
        if described and not described["optional"] and "default" not in described:
            values[name] = PLAIN.get(described["type"], 1)
    return context.insert(entity, **{**values, **given})


@requires_fixtures
@pytest.mark.scenario("M050")
def test_empty_string_is_the_default_of_an_added_attribute(tmp_path: Path) -> None:
    path, former = tmp_path / "shop.sqlite", shop_model(43)
    wanted = shop_model(43)
    wanted["SiteVisitStats"].attribute("timeRange", "string", optional=False, default="")
    with Container(former, path) as container:
        insert(container.view_context, former, "SiteVisitStats", date="2020-10-21")
        container.view_context.save()
    with open_context(path, wanted, migrate=True) as context:
        assert rows(context, "SiteVisitStats", "date", "timeRange") == [("2020-10-21", "")]
    assert query(path, "SELECT ZTIMERANGE FROM ZSITEVISITSTATS") == [("",)]


@pytest.mark.scenario("M054")
def test_relationship_that_becomes_ordered_keeps_an_order(tmp_path: Path) -> None:
    path = tmp_path / "orders.sqlite"
    item = {"number": "int16", "order": "to-one Order? inverse items"}
    with Container(Model({"Order": {"items": "to-many Item inverse order"}, "Item": item}), path) as container:
        container.view_context.insert("Order")
        container.view_context.save()
    wanted = Model({"Order": {"items": "to-many ordered Item inverse order"}, "Item": item})
    with open_context(path, wanted, migrate=True) as context:
        (order,) = context.fetch("Order")
        items = [context.insert("Item", number=number) for number in (1, 2, 3)]
        order["items"] = [items[0], items[2], items[1]]
        context.save()
    with open_context(path, wanted) as context:
        (order,) = context.fetch("Order")
        assert [each["number"] for each in order["items"]] == [1, 3, 2]
    keys = query(path, "SELECT ZNUMBER FROM ZITEM ORDER BY Z_FOK_ORDER")
    assert keys == [(1,), (3,), (2,)]


#: The versions of the fixtures. From 25 to 36 an entity changes its name and an attribute is required, from 43 to 57 an
#: attribute changes its type: those two steps need mapping models.
VERSIONS = (11, 23, 25, 36, 43, 57, 71, 89, 115)
CREATED = datetime.fromtimestamp(1603250786, timezone.utc)


def shop_mappings(models: dict[int, Model]) -> list[MappingModel]:
    """The mapping models that the program has for two of the steps, made from inferred ones."""
    renamed = models[36].copy()
    renamed["GenericAttribute"].renaming_identifier = "Attribute"
    inferred = MappingModel.inferred(models[25].copy(), renamed)
    mappings = [
        each
        if each.name != "ProductToProduct"
        else dataclasses.replace(
            each,
            attributes=tuple(
                dataclasses.replace(one, expression="$source.dateCreated") if one.name == "date" else one
                for one in each.attributes
            ),
        )
        for each in inferred.entity_mappings
    ]
    casts = MappingModel.inferred(models[43].copy(), models[57].copy(), allow_type_changes=True)
    return [MappingModel(mappings, models[25], models[36]), casts]


def products(context: Context) -> Any:
    (product,) = context.fetch("Product")
    (variation,) = context.fetch("ProductVariation")
    (attribute,) = context.fetch("ProductAttribute")
    ordered = [each["key"] for each in variation["attributes"]]
    return [
        product["crossSellIDs"], product["date"], ordered, variation["stockQuantity"], attribute["options"],
        attribute["product"] == product,
    ]  # fmt: skip


def fill_shop(path: Path, model: Model) -> None:
    with Container(model, path, unsaved="discard") as container:
        context = container.view_context
        attributes = [insert(context, model, "Attribute", id=number, key=f"key {number}") for number in (3, 1, 2)]
        product = insert(context, model, "Product", crossSellIDs=[630, 688], dateCreated=CREATED)
        insert(context, model, "ProductVariation", attributes=attributes, stockQuantity=10)
        insert(context, model, "ProductAttribute", options=["Woody", "Andy Panda"], product=product)
        context.save()


SHOP = [[630, 688], CREATED, ["key 3", "key 1", "key 2"], Decimal(10), ["Woody", "Andy Panda"], True]


@requires_fixtures
@pytest.mark.scenario("M055")
def test_transformable_values_are_kept_over_many_versions(tmp_path: Path) -> None:
    """One step at a time to the last version; before that, another transformer, which does not make another version."""
    path, models = tmp_path / "shop.sqlite", {version: shop_model(version) for version in VERSIONS[1:]}
    fill_shop(path, models[23])
    stored = query(path, "SELECT ZCROSSSELLIDS FROM ZPRODUCT")
    other = models[23].copy()
    other["Product"].change("crossSellIDs", transformer="NSKeyedUnarchiveFromData")
    assert not migration_plan(path, other).is_needed
    mappings = shop_mappings(models)
    for version in VERSIONS[2:]:
        open_context(path, models[version], migrate=True, mapping_models=mappings).close()
    assert query(path, "SELECT ZCROSSSELLIDS FROM ZPRODUCT") == stored
    with open_context(path, models[115]) as context:
        assert products(context) == SHOP


@requires_fixtures
@pytest.mark.scenario("M057")
def test_chain_over_nine_versions_leaves_one_file(tmp_path: Path) -> None:
    """Each version in turn, from the first one; then in one call the shortest chain with both mapping models."""
    models = {version: shop_model(version) for version in VERSIONS}
    mappings = shop_mappings(models)
    folder = tmp_path / "steps"
    folder.mkdir()
    path = folder / "shop.sqlite"
    with Container(models[11], path) as container:
        insert(container.view_context, models[11], "SiteVisitStats", date="2020-10-21")
        container.view_context.save()
    steps = 0
    for version in VERSIONS[1:]:
        assert migration_plan(path, models[version], mapping_models=mappings).is_needed
        open_context(path, models[version], migrate=True, mapping_models=mappings).close()
        steps += 1
    assert steps == len(VERSIONS) - 1
    with open_context(path, models[115]) as context:
        assert rows(context, "SiteVisitStats", "date", "timeRange") == [("2020-10-21", "")]
    assert {each.name.partition("-")[0] for each in folder.iterdir()} == {"shop.sqlite"}

    folder = tmp_path / "chain"
    folder.mkdir()
    path = folder / "shop.sqlite"
    fill_shop(path, models[23])
    options: Any = {"source_models": [models[version] for version in VERSIONS[1:]], "mapping_models": mappings}
    kinds = [step.partition(" ")[0] for step in migration_plan(path, models[115], **options).steps]
    assert kinds == ["infer", "execute", "infer", "execute", "infer"]
    with open_context(path, models[115], migrate=True, **options) as context:
        assert products(context) == SHOP
    assert {each.name.partition("-")[0] for each in folder.iterdir()} == {"shop.sqlite"}


@requires_fixtures
def test_chain_does_not_remove_content_of_the_last_version(tmp_path: Path) -> None:
    """Version 11 has no products: over it, two inferred steps lead from 23 to 115, and products are lost."""
    path, models = tmp_path / "shop.sqlite", {version: shop_model(version) for version in VERSIONS}
    fill_shop(path, models[23])
    options: Any = {"source_models": list(models.values()), "mapping_models": shop_mappings(models)}
    with open_context(path, models[115], migrate=True, **options) as context:
        assert context.count("Product") == 1
        assert products(context) == SHOP
