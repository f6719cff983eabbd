"""Chains and stages in every type of store, their limits and plans, and mistakes that would lose objects."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import corestone
import pytest
from corestone import (
    Container,
    EntityMapping,
    InvalidArgumentError,
    MappingModel,
    MigrationManager,
    MigrationStage,
    Model,
    ModelRelease,
    check_migration,
    migration_plan,
)
from stage_orders import VERSIONS

FILES = ("SQLite", "XML", "Binary")
COUNTED = MappingModel(
    [EntityMapping(source="Item", destination="Item", attributes={"keep": "$source.keep", "a": "7"})],
    VERSIONS[0],
    VERSIONS[2],
)


def fill(path: Path, kind: str | None = None, **more: Any) -> None:
    with Container(VERSIONS[0], path, type=kind, **more) as container:
        container.view_context.insert("Item", keep="kept", a="text")
        container.view_context.save()


@pytest.mark.parametrize("kind", FILES)
def test_stages_find_versions_in_source_models(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "a.store"
    fill(path, kind)
    stages = [MigrationStage.lightweight(VERSIONS[:3])]
    with Container(VERSIONS[2], path, type=kind, stages=stages, source_models=VERSIONS) as container:
        assert [item.to_dict() for item in container.view_context.fetch("Item")] == [{"keep": "kept", "a": None}]


@pytest.mark.parametrize("kind", FILES)
def test_chains_find_versions_in_source_models(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "a.store"
    fill(path, kind)
    options: dict[str, Any] = {"mapping_models": [COUNTED], "source_models": VERSIONS}
    assert len(migration_plan(path, VERSIONS[3], **options).steps) == 2
    with Container(VERSIONS[3], path, type=kind, **options) as container:
        expected = [{"keep": "kept", "a": 7, "b": None}]
        assert [item.to_dict() for item in container.view_context.fetch("Item")] == expected


@pytest.mark.parametrize(
    "options",
    [
        {"mapping_models": [COUNTED]},
        {"stages": [MigrationStage.lightweight(VERSIONS[:3])]},
        {
            "stages": [
                MigrationStage.transformation(VERSIONS[0], VERSIONS[2], lambda old, new: len(old.fetch("Item")[:]))
            ]
        },
    ],
    ids=["mapping model", "ladder", "transformation"],
)
def test_limits_apply_to_each_step(options: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    with Container(VERSIONS[0], path) as container:
        container.view_context.insert("Item", keep="k" * (1 << 20))
        container.view_context.save()
    before = path.read_bytes()
    with pytest.raises(corestone.CorestoneError, match="value_limit"):
        Container(VERSIONS[2], path, source_models=VERSIONS, value_limit=1 << 16, **options)
    assert path.read_bytes() == before


def test_plan_of_stages_lists_what_they_remove(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    fill(path)
    plan = migration_plan(path, VERSIONS[2], stages=[MigrationStage.lightweight(VERSIONS[:3])], source_models=VERSIONS)
    assert plan.loses_data
    assert plan.warnings == ["a step removes Item.a, whose values are lost"]
    assert not migration_plan(path, VERSIONS[2], mapping_models=[COUNTED]).loses_data


def test_store_cannot_be_migrated_into_itself(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    fill(path)
    before = path.read_bytes()
    manager = MigrationManager(VERSIONS[0], VERSIONS[2])
    for again in (path, tmp_path / ".." / tmp_path.name / "a.sqlite"):
        with pytest.raises(InvalidArgumentError, match="into itself"):
            manager.migrate_store(path, again, COUNTED)
    with pytest.raises(InvalidArgumentError, match="would be discarded at the end of the call"):
        manager.migrate_store(path, tmp_path / "b", COUNTED, type="InMemory")
    assert path.read_bytes() == before


def test_stage_without_entity_mappings_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    fill(path)
    empty = MigrationStage.mapping(VERSIONS[0], VERSIONS[2], MappingModel([]))
    with pytest.raises(InvalidArgumentError, match="does not have entity mappings"):
        Container(VERSIONS[2], path, stages=[empty])
    with Container(VERSIONS[0], path) as container:
        assert container.view_context.count("Item") == 1


def test_guard_checks_chains_of_models_in_memory(tmp_path: Path) -> None:
    mapping = tmp_path / "counted.cdm"
    COUNTED.write(mapping)
    older = {str(number): model for number, model in enumerate(VERSIONS[:3])}
    assert [each.rule for each in check_migration(older, VERSIONS[3])].count("type-change") > 0
    found = check_migration(older, VERSIONS[3], model_paths=[mapping])
    assert "type-change" not in [each.rule for each in found], found


def test_damaged_release_without_its_model_is_reported(tmp_path: Path) -> None:
    folder = tmp_path / "releases"
    folder.mkdir()
    ModelRelease.keep(VERSIONS[0], folder, "V1")
    (folder / "package.json").write_text("{}", encoding="utf-8")
    model = tmp_path / "newest.mom"
    VERSIONS[3].write(model)
    assert [each.name for each in ModelRelease.releases(folder)] == ["V1"]
    (folder / "V1.mom").unlink()
    assert [each.name for each in ModelRelease.releases(folder)] == ["V1"]
    assert [each.rule for each in ModelRelease.check(folder, model)] == ["damaged-release"]


def test_model_among_mapping_model_paths_is_ignored(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path, model = tmp_path / "a.sqlite", tmp_path / "V1.mom"
    fill(path)
    VERSIONS[0].write(model)
    with Container(VERSIONS[1], path, model_paths=[model], allow_removals=True):
        pass
    assert "was skipped" not in capfd.readouterr().err


def test_stages_that_do_not_run_are_logged(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    models = [
        Model({"Item": {"keep": "string", **more}})
        for more in (
            {},
            {"a": "string?"},
            {"a": "string?", "b": "string?"},
            {"a": "string?", "b": "string?", "c": "string?"},
        )
    ]
    path = tmp_path / "a.sqlite"
    Container(models[0], path).close()
    stages = [
        MigrationStage.lightweight([models[0], models[3]]),
        MigrationStage.custom(models[1], models[2], did_migrate=lambda context: None, label="late"),
    ]
    Container(models[3], path, stages=stages, source_models=models).close()
    assert 'the stage "late" does not run' in capfd.readouterr().err
