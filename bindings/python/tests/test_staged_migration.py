"""Staged migrations in Python."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from corestone import (
    Container,
    Context,
    Coordinator,
    InvalidArgumentError,
    InvalidHandleError,
    MappingModel,
    MigrationError,
    MigrationStage,
    Model,
    ModelError,
    ModelReference,
    StoreError,
    TypeMismatchError,
    migration_plan,
    validate_stages,
)
from corestone import metadata as read_metadata

VERSIONS = (
    {"User": {"name": "string", "petName": "string?"}},
    {"User": {"name": "string", "petName": "string?", "pet": "to-one Pet?"}, "Pet": {"name": "string?"}},
    {"User": {"name": "string", "pet": "to-one Pet?"}, "Pet": {"name": "string"}},
)


@pytest.fixture
def models() -> list[Model]:
    return [Model(each) for each in VERSIONS]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    place = tmp_path / "users.sqlite"
    with Container(Model(VERSIONS[0]), place) as container, container.context() as context:
        context.insert("User", name="Ada", petName="Rex")
        context.insert("User", name="Bob")
        context.save()
    return place


def users(path: Path, model: Model, **options: Any) -> dict[str, str | None]:
    """Opens a store, which may migrate it, and returns pets by user."""
    with Container(model, path, **options) as container, container.context() as context:
        return {each.name: each.pet.name if each.pet is not None else None for each in context.fetch("User")}


def split(context: Context) -> None:
    for user in context.fetch("User"):
        if user.petName is not None:
            user.pet = context.insert("Pet", name=user.petName)


def test_custom_and_lightweight_stages_run_in_order(path: Path, models: list[Model]) -> None:
    order: list[str] = []
    kept: list[Any] = []

    def will(context: Context) -> None:
        order.append(f"will {len(context.fetch('User'))}")
        kept.append(context)

    def did(context: Context) -> None:
        order.append("did")
        split(context)
        kept.append(context.fetch("User")[0])

    stages = [
        MigrationStage.custom(models[0], models[1], will_migrate=will, did_migrate=did, label="pets"),
        MigrationStage.lightweight([models[2]]),
    ]
    options: dict[str, Any] = {"stages": stages, "source_models": models}
    assert migration_plan(path, models[2], **options).steps[0] == (
        'call the handler will_migrate (willMigrate) of the stage "pets"'
    )
    assert order == []
    assert users(path, models[2], **options) == {"Ada": "Rex", "Bob": None}
    assert order == ["will 2", "did"]
    with pytest.raises(InvalidHandleError):
        kept[0].fetch("User")
    with pytest.raises(Exception, match="context"):
        _ = kept[1].name
    assert users(path, models[2], **options) == {"Ada": "Rex", "Bob": None}
    assert len(order) == 2, "the migration is complete"
    assert repr(stages[0]) == '<MigrationStage, custom, "pets">'


def test_transformation_fills_the_new_store(path: Path, models: list[Model]) -> None:
    identifier = read_metadata(path)["NSStoreUUID"]

    def transform(old: Context, new: Context) -> None:
        for user in old.fetch("User"):
            made = new.insert("User", name=user.name)
            if user.petName is not None:
                made.pet = new.insert("Pet", name=user.petName)

    stages = [MigrationStage.transformation(models[0], models[2], transform)]
    assert users(path, models[2], stages=stages) == {"Ada": "Rex", "Bob": None}
    assert read_metadata(path)["NSStoreUUID"] == identifier


def test_mapping_model_can_be_a_stage(path: Path, models: list[Model]) -> None:
    mapping = MappingModel.inferred(models[0], models[1])
    stage = MigrationStage.mapping(models[0], models[1], mapping, label="mapped")
    assert repr(stage) == '<MigrationStage, mapping, "mapped">'
    validate_stages([stage])
    stages = [stage, MigrationStage.custom(models[1], models[2], will_migrate=split)]
    started: list[str | None] = []
    start = {"manager_will_start": lambda manager: started.append(manager.current_mapping)}
    assert users(path, models[2], stages=stages, **start) == {"Ada": "Rex", "Bob": None}
    assert started == [None], "the manager of the mapping model"
    with pytest.raises(TypeMismatchError, match="mapping must be of type MappingModel"):
        MigrationStage.mapping(models[0], models[1], "mapping.cdm")  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="must differ"):
        validate_stages([MigrationStage.mapping(models[0], models[0], mapping)])


def test_stages_are_loaded_from_a_file(tmp_path: Path, path: Path, models: list[Model]) -> None:
    MappingModel.inferred(models[0], models[1]).write(tmp_path / "pets.cdm")
    bundle, file = tmp_path / "users.xcdatamodeld", tmp_path / "stages.json"
    for place, model in enumerate(models):
        model.write(bundle, f"V{place + 1}")
    first = {"label": "pets", "from": "V1", "to": "V2", "mapping": "pets.cdm"}
    file.write_text(json.dumps({"stages": [first, {"lightweight": ["V3"]}]}))
    stages = MigrationStage.load(file, search_paths=bundle)
    assert [each.label for each in stages] == ["pets", None]
    assert repr(stages[0]) == '<MigrationStage, loaded, "pets">'
    validate_stages(stages)
    file.unlink()  # it was read
    mixed = [stages[0], MigrationStage.custom(models[1], models[1].copy(), will_migrate=split)]
    with pytest.raises(InvalidArgumentError, match="must differ"):
        validate_stages(mixed)
    assert users(path, models[2], stages=stages, source_models=models) == {"Ada": None, "Bob": None}


def test_mistakes_in_a_stage_file_are_reported(tmp_path: Path, models: list[Model]) -> None:
    file = tmp_path / "stages.json"
    with pytest.raises(StoreError) as caught:
        MigrationStage.load(file)
    assert caught.value.file == str(file)
    file.write_text('{"stages": [{"lightwieght": []}]}')
    with pytest.raises(ModelError, match="lightwieght") as unknown:
        MigrationStage.load(file)
    assert (unknown.value.key, unknown.value.file) == ("lightwieght", str(file))
    file.write_text(json.dumps({"stages": [{"lightweight": [models[0].checksum]}]}))
    assert len(MigrationStage.load(file, models=models)) == 1
    with pytest.raises(MigrationError) as missing:
        MigrationStage.load(file, models=models[1:])
    assert missing.value.code == 134504
    file.write_text('{"stages": []}')
    with pytest.raises(InvalidArgumentError, match="at least one stage"):
        MigrationStage.load(file)
    wrong: list[dict[str, Any]] = [{"models": [3]}, {"models": 3}, {"search_paths": 3}, {"search_paths": [3]}]
    for options in wrong:
        with pytest.raises(TypeMismatchError):
            MigrationStage.load(file, **options)


def test_exception_of_a_handler_fails_the_migration(path: Path, models: list[Model]) -> None:
    def fail(*_: Context) -> None:
        raise ZeroDivisionError("no pets")

    for stage in (
        MigrationStage.custom(models[0], models[1], did_migrate=fail),
        MigrationStage.custom(models[0], models[1], will_migrate=fail),
        MigrationStage.transformation(models[0], models[1], fail),
    ):
        with pytest.raises(MigrationError, match="no pets") as caught:
            users(path, models[1], stages=[stage])
        assert isinstance(caught.value.__cause__, ZeroDivisionError)
    with Container(models[0], path) as container, container.context() as context:
        assert len(context.fetch("User")) == 2


def test_model_references_are_resolved(tmp_path: Path, path: Path, models: list[Model]) -> None:
    place = tmp_path / "users.xcdatamodel"
    reference = ModelReference(place, checksum=models[1].checksum)
    with pytest.raises(MigrationError) as caught:
        reference.resolve()
    assert caught.value.code == 134504
    models[1].write(place)
    assert reference.resolve().checksum == models[1].checksum
    assert ModelReference(models[0]).resolve() is models[0]
    with pytest.raises(MigrationError, match="expects"):
        ModelReference(models[0], checksum="other").resolve()
    hashes = read_metadata(path)["NSStoreModelVersionHashes"]
    with pytest.raises(MigrationError):
        ModelReference.with_hashes(hashes, [tmp_path]).resolve()
    models[0].write(tmp_path / "first.xcdatamodel")
    assert ModelReference.with_hashes(hashes, [tmp_path]).resolve().checksum == models[0].checksum
    stage = MigrationStage.custom(ModelReference.with_hashes(hashes, [tmp_path]), place, did_migrate=split)
    assert users(path, models[1], stages=[stage]) == {"Ada": "Rex", "Bob": None}


def test_mistakes_in_stages_are_reported(path: Path, models: list[Model]) -> None:
    lightweight = MigrationStage.lightweight([models[1].checksum])
    validate_stages([lightweight])
    for stages in ([], [lightweight, lightweight], [MigrationStage.custom(models[0], models[0])]):
        with pytest.raises(InvalidArgumentError):
            validate_stages(stages)
    with pytest.raises(InvalidArgumentError):
        validate_stages([MigrationStage.lightweight([])])
    with pytest.raises(InvalidArgumentError, match="must differ"), Coordinator(models[1]) as coordinator:
        coordinator.add_store(path, migrate=True, stages=[MigrationStage.custom(models[0], models[0])])
    mapping = MappingModel.inferred(models[0], models[1])
    with pytest.raises(InvalidArgumentError, match="both stages and mapping_models"):
        users(path, models[1], stages=[lightweight], mapping_models=[mapping])
    with pytest.raises(TypeMismatchError):
        users(path, models[1], stages=[3])
    with pytest.raises(TypeMismatchError):
        MigrationStage.lightweight(models[1].checksum)
    with pytest.raises(TypeMismatchError):
        MigrationStage.custom(3, models[1])  # type: ignore[arg-type]
    with pytest.raises(TypeMismatchError):
        MigrationStage.transformation(models[0], models[1], 3)  # type: ignore[arg-type]
    with pytest.raises(TypeMismatchError):
        ModelReference(3)  # type: ignore[arg-type]
    with pytest.raises(TypeMismatchError):
        ModelReference(models[0], "version")
    with pytest.raises(TypeError):
        MigrationStage()
