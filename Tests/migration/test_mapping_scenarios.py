"""Mapping models in scenarios of other programs' tests, and those tests' own stores."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import mapping_models
import mapping_policies
import pytest
from checkout import FIXTURES
from corestone import (
    Container,
    Context,
    Coordinator,
    EntityMapping,
    MappingModel,
    MigrationError,
    Model,
    ModelError,
    set_raw_value,
)

requires_fixtures = pytest.mark.skipif(not FIXTURES.is_dir(), reason="the files of other programs are not there")

MEMBERS = "destinationInstancesForEntityMappingNamed:sourceInstances:"


def made_by(mapping: str, path: str) -> str:
    """The expression for what a mapping made of the objects at a key path."""
    return f'FUNCTION($manager, "{MEMBERS}", "{mapping}", {path})'


def filled(path: Path, definition: dict[str, Any], *rows: dict[str, Any]) -> Model:
    model = Model(definition)
    with Container(model, path) as container:
        for row in rows:
            row = dict(row)
            container.view_context.insert(row.pop("entity"), **row)
        container.view_context.save()
    return model


def migrated(path: Path, model: Model, mapping: MappingModel) -> Context:
    """Migrates a store. Returns a context on it, which stays open."""
    with mapping_policies.registered():
        coordinator = Coordinator(model)
        coordinator.add_store(path, migrate=True, mapping_models=[mapping])
    return coordinator.context()


# Stores and mapping models of other programs


def fixture(mapping: str, store: str, folder: Path) -> tuple[MappingModel, Path]:
    """A mapping model of the fixtures, and a copy of a store."""
    path = folder / "store.sqlite"
    mapping_models.copy_store(FIXTURES / "stores" / store, path)
    return MappingModel.load(FIXTURES / "mapping-models" / mapping), path


@requires_fixtures
@pytest.mark.parametrize(("mapping", "store"), mapping_models.STORES)
def test_stores_of_other_programs_migrate_as_interpreted(tmp_path: Path, mapping: str, store: str) -> None:
    """Every object is what the interpreter of the XML expects."""
    path = FIXTURES / "mapping-models" / mapping
    trial = mapping_models.Trial(path, mapping_models.AS_IT_IS, tmp_path, "", 0)
    outcome = trial.run(FIXTURES / "stores" / store)
    assert outcome.failures == []
    assert outcome.state == "executed"
    assert outcome.objects > 0


@requires_fixtures
@pytest.mark.scenario("M021")
def test_makers_become_objects(tmp_path: Path) -> None:
    """M021: each mapping fetches its entity without subentities, and the mapping of Maker has no source."""
    mapping, path = fixture("coredataplus/V2toV3.xcmappingmodel", "coredataplus/SampleModel_V2.sqlite", tmp_path)
    assert mapping.destination is not None
    with migrated(path, mapping.destination, mapping) as context:
        cars, makers = context.fetch("Car"), context.fetch("Maker")
        assert (len(cars), len(makers)) == (125, 10)
        assert all(car["createdBy"] is not None for car in cars)
        for car in cars:
            owner = car["owner"]
            assert list(car["previousOwners"]) == ([] if owner is None else [owner])
            assert owner is None or car in owner["previousCars"]
        for number, maker in enumerate(makers):
            maker["name"] = f"maker {number}"
        context.save()
    with closing(sqlite3.connect(path)) as file:
        assert file.execute("SELECT COUNT(DISTINCT ZNAME) FROM ZMAKER WHERE ZNAME LIKE 'maker _'").fetchone() == (10,)


@requires_fixtures
@pytest.mark.scenario("M041")
def test_moods_refer_to_the_continents_of_their_countries(tmp_path: Path) -> None:
    """M041: collection operators run on objects of the source."""
    mapping, path = fixture("core-data/Moody-2-Moody-3.xcmappingmodel", "core-data/Moody-2.moody", tmp_path)
    assert mapping.destination is not None
    with migrated(path, mapping.destination, mapping) as context:
        moods = context.fetch("Mood")
        assert len(moods) > 0
        for mood in moods:
            assert mood["continent"] == mood["country"]["continent"]
            assert mood["continent"] is None or mood in mood["continent"]["moods"]


@requires_fixtures
@pytest.mark.scenario("M044")
def test_continents_are_shared(tmp_path: Path) -> None:
    """M044: nothing is saved during the first pass, registered objects are found."""
    mapping, path = fixture("core-data/Moody-5-Moody-6.xcmappingmodel", "core-data/Moody-5.moody", tmp_path)
    assert mapping.destination is not None
    with migrated(path, mapping.destination, mapping) as context:
        assert (context.count("Mood"), context.count("Country")) == (4, 3)
        assert sorted(each["numericISO3166Code"] for each in context.fetch("Continent")) == [10004, 10005]


# Scenarios without files


@pytest.mark.scenario("M047")
def test_mapping_can_rename_an_entity(tmp_path: Path) -> None:
    """M047: relationship and order follow, without a renaming identifier."""
    path = tmp_path / "store.sqlite"
    attribute = {"id": "int64", "key": "string", "value": "string"}
    old = Model({"Attribute": attribute, "ProductVariation": {"attributes": "to-many ordered Attribute"}})
    new = Model({"GenericAttribute": attribute, "ProductVariation": {"attributes": "to-many ordered GenericAttribute"}})
    with Container(old, path) as container:
        context = container.view_context
        rows = [(9753134, "voluptatem", "veritatis"), (2, "b", "c"), (1, "a", "d")]
        attributes = [context.insert("Attribute", id=id, key=key, value=value) for id, key, value in rows]
        context.insert("ProductVariation", attributes=attributes)
        context.save()
    mapping = MappingModel(
        [
            EntityMapping(
                "AttributeToGenericAttribute",
                source="Attribute",
                destination="GenericAttribute",
                attributes={name: f"$source.{name}" for name in attribute},
            ),
            EntityMapping(
                source="ProductVariation",
                destination="ProductVariation",
                relationships={"attributes": made_by("AttributeToGenericAttribute", "$source.attributes")},
            ),
        ],
        old,
        new,
    )
    with migrated(path, new, mapping) as context:
        with pytest.raises(ModelError):
            context.fetch("Attribute")
        (variation,) = context.fetch("ProductVariation")
        found = [(each["id"], each["key"], each["value"]) for each in variation["attributes"]]
        assert found == rows


@pytest.mark.scenario("M048")
def test_required_attribute_can_be_filled_from_another_attribute(tmp_path: Path) -> None:
    """M048: an inferred mapping would fail with rows."""
    path, created = tmp_path / "store.sqlite", datetime.fromtimestamp(1603250786, timezone.utc)
    old = filled(path, {"Product": {"dateCreated": "date?"}}, {"entity": "Product", "dateCreated": created})
    new = Model({"Product": {"dateCreated": "date?", "date": "date"}})
    with Coordinator(new) as coordinator, pytest.raises(MigrationError) as raised:
        coordinator.add_store(path, migrate=True)
    assert raised.value.code == 134110
    product = EntityMapping(
        source="Product",
        destination="Product",
        attributes={"dateCreated": "$source.dateCreated", "date": "$source.dateCreated"},
    )
    with migrated(path, new, MappingModel([product], old, new)) as context:
        (found,) = context.fetch("Product")
        assert (found["date"], found["dateCreated"]) == (created, created)


@pytest.mark.parametrize("value", [10, 0, None, 2**63 - 1])
@pytest.mark.scenario("M052")
def test_integer_attribute_can_become_a_decimal(tmp_path: Path, value: int | None) -> None:
    """M052: a change of type needs a mapping model. Here the value counts too."""
    path = tmp_path / "store.sqlite"
    old = filled(
        path,
        {"ProductVariation": {"stockQuantity": "int64? = 0"}},
        {"entity": "ProductVariation", "stockQuantity": value},
    )
    new = Model({"ProductVariation": {"stockQuantity": "decimal? = 0"}})
    with Coordinator(new) as coordinator, pytest.raises(MigrationError) as raised:
        coordinator.add_store(path, migrate=True)
    assert raised.value.code == 134190
    variation = EntityMapping(
        source="ProductVariation",
        destination="ProductVariation",
        attributes={"stockQuantity": "$source.stockQuantity"},
    )
    with migrated(path, new, MappingModel([variation], old, new)) as context:
        (found,) = context.fetch("ProductVariation")
        assert found["stockQuantity"] == (None if value is None else Decimal(value))


@pytest.mark.parametrize("form", ["in memory", "xcmappingmodel", "cdm"])
@pytest.mark.scenario("M078")
def test_two_mappings_of_one_entity_refer_to_each_other(tmp_path: Path, form: str) -> None:
    """M078: two mappings of one entity, one of them filtered, lead to each other through `$source`."""
    path = tmp_path / "store.sqlite"
    old = Model({"Note": {"title": "string", "image": "transformable?"}})
    new = Model(
        {
            "Note": {"title": "string", "attachments": "to-many Attachment inverse note"},
            "Attachment": {"image": "transformable?", "note": "to-one Note? inverse attachments"},
        }
    )
    with Container(old, path) as container:
        for number in range(6):
            made = container.view_context.insert("Note", title=f"note {number}")
            if number % 2:
                set_raw_value(made, "image", b"image %d" % number)
        container.view_context.save()
    note = EntityMapping(
        source="Note",
        destination="Note",
        attributes={"title": "$source.title"},
        relationships={"attachments": made_by("NoteToAttachment", "$source")},
    )
    attachment = EntityMapping(
        "NoteToAttachment",
        source="Note",
        destination="Attachment",
        attributes={"image": "$source.image"},
        relationships={"note": made_by("NoteToNote", "$source")},
        filter="image != nil",
    )
    mapping = MappingModel([note, attachment], old, new)
    if form != "in memory":
        mapping.write(tmp_path / f"notes.{form}")
        mapping = MappingModel.load(tmp_path / f"notes.{form}")
    decoded = mapping["NoteToAttachment"]
    assert decoded.filter == "image != nil" or '"image != nil"' in str(decoded.source_expression)
    (back,), (members,) = decoded.relationships, mapping["NoteToNote"].relationships
    for each, other in ((back, "NoteToNote"), (members, "NoteToAttachment")):
        assert str(each.expression).replace(" ,", ",") == made_by(other, "$source")
    with migrated(path, new, mapping) as context:
        notes = sorted(context.fetch("Note"), key=lambda each: each["title"])
        assert [len(each["attachments"]) for each in notes] == [0, 1, 0, 1, 0, 1]
        assert context.count("Attachment") == 3
    with closing(sqlite3.connect(path)) as file:
        rows = file.execute(
            "SELECT n.ZTITLE, a.ZIMAGE FROM ZATTACHMENT a JOIN ZNOTE n ON n.Z_PK = a.ZNOTE ORDER BY n.ZTITLE"
        ).fetchall()
    assert rows == [(f"note {number}", b"image %d" % number) for number in (1, 3, 5)]
