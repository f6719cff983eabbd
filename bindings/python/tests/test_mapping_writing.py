"""Mapping models that are created, inferred, checked, found and written."""

from __future__ import annotations

import json
import plistlib
from pathlib import Path
from typing import Any

import pytest
from xml_reader import MAPPING_ROOTS, Object, mapping_model, read, stored

import corestone
from corestone import (
    Container,
    EntityMapping,
    InvalidArgumentError,
    MappingModel,
    MigrationError,
    Model,
    ModelError,
    PropertyMapping,
    TypeMismatchError,
    log,
)

OLD = {"Car": {"title": "string?", "doors": "int16?"}, "Gone": {"x": "string?"}}
NEW = {"Car": {"name": "string?", "doors": "int16?"}, "Fresh": {"y": "string?"}}


def models() -> tuple[Model, Model]:
    return Model.from_text(json.dumps(OLD)), Model.from_text(json.dumps(NEW))


def fixture_paths(fixtures: Path) -> list[Path]:
    return [
        *sorted((fixtures / "mapping-models").rglob("*.xcmappingmodel")),
        fixtures / "compiled-models/coredataplus/V2toV3.cdm",
    ]


def test_every_mapping_model_of_the_fixtures_reads_back_equal(fixtures: Path, tmp_path: Path) -> None:
    for number, path in enumerate(fixture_paths(fixtures)):
        mapping = MappingModel.load(path)
        source, destination = mapping.source, mapping.destination
        from_json = MappingModel.from_json(mapping.to_json())
        assert from_json == mapping
        assert from_json.entity_mappings == mapping.entity_mappings
        assert from_json.to_json() == mapping.to_json()

        compiled = tmp_path / f"{number}.cdm"
        mapping.write(compiled)
        assert MappingModel.load(compiled).entity_mappings == mapping.entity_mappings, path

        if source is None:
            with pytest.raises(ModelError, match="does not have its source model"):
                mapping.write(tmp_path / f"{number}.xcmappingmodel")
            continue
        assert destination is not None
        assert mapping.matches(source, destination)
        folder = tmp_path / f"{number}.xcmappingmodel"
        mapping.write(folder)
        read = MappingModel.load(folder)
        assert read.entity_mappings == mapping.entity_mappings, path
        assert (read.source_path, read.destination_path) == (mapping.source_path, mapping.destination_path)
        for before, after in ((source, read.source), (destination, read.destination)):
            assert after is not None
            assert before.diff(after) == []
            assert {each: before[each].version_hash for each in before} == {
                each: after[each].version_hash for each in after
            }
        found = MappingModel.find([folder], source, destination)
        assert found == mapping


def graph(path: Path) -> Any:
    """The objects of a keyed archive, each in the place of the references to it, with the classes that it inherits."""
    archive = plistlib.loads(path.read_bytes())
    objects = archive["$objects"]

    def resolved(value: Any) -> Any:
        if isinstance(value, plistlib.UID):
            value = objects[value.data]
        if isinstance(value, list):
            return [resolved(each) for each in value]
        if not isinstance(value, dict):
            return (type(value).__name__, value)
        fields = {key: resolved(content) for key, content in value.items()}
        if "NS.keys" in fields:
            pairs = sorted(zip(fields.pop("NS.keys"), fields.pop("NS.objects")), key=lambda pair: pair[0])
            fields["entries"] = pairs
        return fields

    return {key: archive[key] for key in ("$version", "$archiver")}, resolved(archive["$top"]["root"])


def test_compiled_mapping_model_of_xcode_is_rewritten_unchanged(fixtures: Path, tmp_path: Path) -> None:
    original = fixtures / "compiled-models/coredataplus/V2toV3.cdm"
    MappingModel.load(original).write(tmp_path / "V2toV3.cdm")
    assert graph(tmp_path / "V2toV3.cdm") == graph(original)
    # The compiler made it of this source.
    MappingModel.load(fixtures / "mapping-models/coredataplus/V2toV3.xcmappingmodel").write(tmp_path / "compiled.cdm")
    assert graph(tmp_path / "compiled.cdm") == graph(original)


def test_written_mapping_source_matches_the_model_of_xcode(fixtures: Path, tmp_path: Path) -> None:
    model = mapping_model(tmp_path)
    # Archives, and the empty name of a class, which stands for none.
    ignored = {"valueexpressiondata", "sourcemodeldata", "destinationmodeldata", "migrationpolicyclassname"}
    # Files of Xcode have some of them for expressions that the compiler generates as well, or an archive instead.
    ignored |= {"sourcekeypath", "sourcemappingname"}
    for path in sorted((fixtures / "mapping-models").rglob("*.xcmappingmodel")):
        folder = tmp_path / path.name
        MappingModel.load(path).write(folder)
        with Container(model, folder / "xcmapping.xml", type="XML", read_only=True) as container:
            found = stored(container, MAPPING_ROOTS)
        original = read((path / "xcmapping.xml").read_bytes())

        def own(item: Object) -> list[tuple[str, str]]:
            generated = f"{item.values.get('sourcename')}To{item.values.get('destinationname')}"
            return sorted(
                (key, repr(value))
                for key, value in item.values.items()
                if key not in ignored and (key, value) != ("name", generated)
            )

        def values(objects: dict[str, Object]) -> list[Any]:
            # Deleted mappings leave property mappings that belong to none.
            return sorted((each.entity, own(each)) for each in objects.values() if any(each.members.values()))

        assert values(found) == values(original), path


# ---- created in code


def test_mapping_model_can_be_created_from_parts() -> None:
    source, destination = models()
    mapping = MappingModel(
        [
            EntityMapping("CarToCar", source="Car", destination="Car", attributes={"name": "$source.title"}),
            EntityMapping(destination="Fresh", attributes=[PropertyMapping("y", '"new"', user_info={"a": "b"})]),
            EntityMapping(source="Gone", user_info={"$date": "x"}),
            EntityMapping("some", source="Car", destination="Fresh", filter="doors < 4", policy_class="P"),
        ],
        source,
        destination,
        source_path="a",
        destination_path=Path("b"),
    )
    car, fresh, gone, some = mapping.entity_mappings
    assert (car.kind, car.attributes) == ("transform", (PropertyMapping("name", "$source.title"),))
    assert car.source_hash == source["Car"].version_hash
    assert car.destination_hash == destination["Car"].version_hash
    assert car.source_expression is not None
    assert "TRUEPREDICATE" in car.source_expression
    assert car.filter is None
    assert (fresh.name, fresh.kind, fresh.source_expression) == ("Fresh", "add", None)
    assert fresh.attributes[0].user_info == {"a": "b"}
    assert (gone.name, gone.kind, gone.user_info) == ("Gone", "remove", {"$date": "x"})
    assert (some.kind, some.filter, some.policy_class) == ("custom", "doors < 4", "P")
    assert some.source_expression is not None
    assert '"doors < 4"' in some.source_expression
    assert (mapping.source_path, mapping.destination_path) == ("a", "b")
    assert mapping.matches(source, destination)
    assert not mapping.matches(destination, source)
    assert repr(mapping) == "<MappingModel of CarToCar (transform), Fresh (add), Gone (remove), some (custom)>"
    assert MappingModel(mapping.entity_mappings, source, destination) == mapping
    assert MappingModel(mapping.entity_mappings[:1]) != mapping
    assert hash(MappingModel(mapping.entity_mappings)) == hash(mapping)
    assert mapping != 1


def test_equality_of_mapping_models_ignores_property_order() -> None:
    one = EntityMapping(destination="A", attributes={"a": None, "b": "1"})
    other = EntityMapping(destination="A", attributes={"b": "1", "a": None})
    assert one != other
    assert MappingModel([one]) == MappingModel([other])


def test_mapping_mistakes_are_reported() -> None:
    source, destination = models()
    with pytest.raises(
        MigrationError, match=r'maps the attribute "nmae", which Car does not have; did you mean "name"'
    ) as e:
        MappingModel(
            [EntityMapping(source="Car", destination="Car", attributes={"nmae": "$source.title"})], source, destination
        )
    assert (e.value.entity, e.value.key, e.value.code) == ("Car", "nmae", 134110)
    with pytest.raises(MigrationError, match="does not have a policy class") as e:
        MappingModel([EntityMapping(kind="custom", source="Car", destination="Car")])
    assert e.value.code == 134170
    with pytest.raises(ModelError, match='"kind" of the entity mapping "Car" is "move"'):
        MappingModel([EntityMapping(kind="move", source="Car")])
    with pytest.raises(ModelError, match="sourceExpression"):
        MappingModel([EntityMapping(source="Car", filter="a == 1", source_expression="$source")])
    with pytest.raises(corestone.PredicateSyntaxError, match='"expression" of "name" in the entity mapping "CarToCar"'):
        MappingModel([EntityMapping(source="Car", destination="Car", attributes={"name": "$"})])
    with pytest.raises(TypeMismatchError, match=r"entity_mappings\[0\] must be of type EntityMapping"):
        MappingModel(["CarToCar"])  # type: ignore[list-item]
    for wrong in (3, "name", [3]):
        with pytest.raises(TypeMismatchError, match=r"attributes(\[0\])? must be"):
            EntityMapping(source="Car", attributes=wrong)  # type: ignore[arg-type]
    assert MappingModel.from_json('{"entityMappings": [{"source": "Car", "sourceExpression": null}]}').to_json() == (
        '{"entityMappings": [{"attributes": [], "kind": "remove", "name": "Car", "relationships": [], "source": "Car", '
        '"sourceExpression": null}]}'
    )
    unchecked = MappingModel.from_json('{"entityMappings": [{"kind": "custom"}]}')
    with pytest.raises(MigrationError) as e:
        unchecked.validate()
    assert len(e.value.details) == 3


def test_mapping_model_can_be_inferred() -> None:
    source, destination = models()
    mapping = MappingModel.inferred(source, destination)
    assert [(each.name, each.kind) for each in mapping.entity_mappings] == [
        ("CarToCar", "transform"),
        ("Fresh", "add"),
        ("Gone", "remove"),
    ]
    assert mapping["CarToCar"].attributes == (PropertyMapping("doors", "$source.doors"), PropertyMapping("name"))
    changed = Model({"Car": {"title": "string?", "doors": "string?"}})
    with pytest.raises(MigrationError) as e:
        MappingModel.inferred(source, changed)
    assert e.value.code == 134190
    assert MappingModel.inferred(source, changed, allow_type_changes=True)["CarToCar"].kind == "transform"


def test_mapping_model_for_two_versions_is_found(tmp_path: Path) -> None:
    source, destination = models()
    mapping = MappingModel.inferred(source, destination)
    (tmp_path / "M.momd").mkdir()
    assert MappingModel.find([tmp_path], source, destination) is None
    assert MappingModel.find([], source, destination) is None
    mapping.write(tmp_path / "M.momd" / "x.cdm")
    (tmp_path / "M.momd" / "a.cdm").write_bytes(b"bplist00")
    with log.recorded() as lines:
        assert MappingModel.find([tmp_path], source, destination) == mapping
        assert MappingModel.find([tmp_path / "M.momd" / "x.cdm"], source, destination) == mapping
    assert len(lines) == 1
    assert "a.cdm was skipped in the search for a mapping model" in lines[0]
    assert MappingModel.find([tmp_path], destination, source) is None


def test_another_extension_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match=r"use the extension \.xcmappingmodel or \.cdm"):
        MappingModel([]).write(tmp_path / "x.xml")
