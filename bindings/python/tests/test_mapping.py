"""Mapping models that Xcode wrote."""

from __future__ import annotations

import base64
import plistlib
from pathlib import Path
from plistlib import UID

import pytest

from corestone import MappingModel, ModelError, PropertyMapping, StoreCorruptError


def test_every_mapping_model_of_the_fixtures_is_read(fixtures: Path) -> None:
    entities = expressions = 0
    paths = sorted((fixtures / "mapping-models").rglob("*.xcmappingmodel"))
    for path in paths:
        mapping = MappingModel.load(path)
        source, destination = mapping.source, mapping.destination
        assert source is not None
        assert destination is not None
        for each in mapping.entity_mappings:
            entities += 1
            assert each.kind != "undefined"
            if each.source is not None:
                assert each.source_hash == source[each.source].version_hash
            if each.destination is not None:
                assert each.destination_hash == destination[each.destination].version_hash
            for part in each.attributes + each.relationships:
                assert not part.unreadable
                expressions += part.expression is not None
    print(f"mapping models read: {len(paths)} with {entities} entity mappings and {expressions} expressions")
    assert (len(paths), entities) == (11, 26)


def test_compiled_mapping_model_equals_its_source(fixtures: Path) -> None:
    source = MappingModel.load(fixtures / "mapping-models/coredataplus/V2toV3.xcmappingmodel")
    compiled = MappingModel.load(fixtures / "compiled-models/coredataplus/V2toV3.cdm")
    assert compiled.source is None
    assert [each.name for each in source.entity_mappings] == [each.name for each in compiled.entity_mappings]
    for one, other in zip(source.entity_mappings, compiled.entity_mappings):
        assert one == other, one.name


def test_damaged_mapping_model_is_reported(tmp_path: Path) -> None:
    with pytest.raises(StoreCorruptError, match="z9"):
        MappingModel.load(
            b"<database><object type='XDDEVMAPPINGMODEL' id='z1'>"
            b"<relationship name='entitymappings' idrefs='z9'/></object></database>"
        )
    (tmp_path / "bad.cdm").write_bytes(b"bplist00")
    with pytest.raises(ModelError, match=r"bad\.cdm"):
        MappingModel.load(tmp_path / "bad.cdm")


def expression(value: str) -> str:
    """A constant as NSKeyedArchiver keeps it, in base64."""
    constant = {"$class": UID(2), "NSExpressionType": 0, "NSConstantValue": UID(3), "NSConstantValueClassName": UID(0)}
    classes = ["NSConstantValueExpression", "NSExpression", "NSObject"]
    objects = ["$null", constant, {"$classname": classes[0], "$classes": classes}, value]
    top = {"$version": 100000, "$archiver": "NSKeyedArchiver", "$top": {"root": UID(1)}, "$objects": objects}
    return base64.b64encode(plistlib.dumps(top, fmt=plistlib.FMT_BINARY)).decode()


def mapping_of(attributes: str = "", **fields: str) -> MappingModel:
    """One entity mapping with the given XML attributes, and the mappings of the entity's attributes."""
    own = "".join(f"<attribute name='{name}'>{value}</attribute>" for name, value in fields.items())
    return MappingModel.load(
        f"<database><object type='XDDEVMAPPINGMODEL' id='z1'><attribute name='sourcemodelpath'>a/b</attribute>"
        f"<relationship name='entitymappings' idrefs='z2'/></object><object type='XDDEVENTITYMAPPING' id='z2'>{own}"
        f"<relationship name='attributemappings' idrefs='z3 z4'/></object>"
        f"<object type='XDDEVATTRIBUTEMAPPING' id='z3'><attribute name='name'>size</attribute>{attributes}</object>"
        f"<object type='XDDEVATTRIBUTEMAPPING' id='z4'><attribute name='name'>age</attribute></object>"
        f"</database>".encode()
    )


@pytest.mark.parametrize("name", ["V1toV2.xcmappingmodel", "V1toV2.xcmappingmodel/", "V1toV2"])
def test_mapping_model_folder_may_have_any_name(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "xcmapping.xml").write_text(
        "<database><object type='XDDEVMAPPINGMODEL' id='z1'><attribute name='sourcemodelpath'>a/b</attribute></object>"
        "</database>"
    )
    assert MappingModel.load(f"{tmp_path}/{name}").source_path == "a/b"


@pytest.mark.parametrize(
    ("fields", "changed", "name", "kind"),
    [
        ({"sourcename": "Car", "destinationname": "Car"}, False, "CarToCar", "copy"),
        ({"sourcename": "Car", "destinationname": "Bus"}, False, "CarToBus", "copy"),
        ({"sourcename": "Car", "destinationname": "Bus"}, True, "CarToBus", "transform"),
        ({"destinationname": "Bus"}, True, "Bus", "add"),
        ({"sourcename": "Car"}, True, "Car", "remove"),
        (
            {"sourcename": "Car", "destinationname": "Bus", "migrationpolicyclassname": "P", "name": "N"},
            True,
            "N",
            "custom",
        ),
    ],
)
def test_unset_fields_of_a_mapping_are_reported(fields: dict[str, str], changed: bool, name: str, kind: str) -> None:
    more = f"<attribute name='valueexpressiondata'>{expression('big')}</attribute>" if changed else ""
    mapping = mapping_of(more, **fields)
    assert (mapping.source_path, mapping.destination_path) == ("a/b", None)
    (found,) = mapping.entity_mappings
    assert (found, found.name, found.kind) == (mapping[name], name, kind)
    assert (found.source, found.destination) == (fields.get("sourcename"), fields.get("destinationname"))
    assert (found.source_hash, found.destination_hash, found.relationships) == (None, None, ())
    assert found.policy_class == fields.get("migrationpolicyclassname")
    assert (found.source_expression is None) == (found.source is None)
    assert (mapping.source, mapping.destination) == (None, None)
    assert found.attributes == (PropertyMapping("age"), PropertyMapping("size", '"big"' if changed else None))
    with pytest.raises(KeyError):
        mapping["CarToBoat"]
