"""Mapping models that Xcode wrote."""

from __future__ import annotations

from pathlib import Path

import pytest

from corestone import MappingModel, ModelError, StoreCorruptError


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


def test_the_compiled_form_says_the_same(fixtures: Path) -> None:
    source = MappingModel.load(fixtures / "mapping-models/coredataplus/V2toV3.xcmappingmodel")
    compiled = MappingModel.load(fixtures / "compiled-models/coredataplus/V2toV3.cdm")
    assert compiled.source is None
    assert [each.name for each in source.entity_mappings] == [each.name for each in compiled.entity_mappings]
    for one, other in zip(source.entity_mappings, compiled.entity_mappings):
        assert one == other, one.name


def test_damage_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreCorruptError, match="z9"):
        MappingModel.load(
            b"<database><object type='XDDEVMAPPINGMODEL' id='z1'>"
            b"<relationship name='entitymappings' idrefs='z9'/></object></database>"
        )
    (tmp_path / "bad.cdm").write_bytes(b"bplist00")
    with pytest.raises(ModelError, match=r"bad\.cdm"):
        MappingModel.load(tmp_path / "bad.cdm")
