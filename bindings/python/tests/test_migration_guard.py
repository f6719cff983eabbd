"""Migration guards: versions in files and in memory, real stores, and kept releases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from corestone import (
    Container,
    InvalidArgumentError,
    MappingModel,
    MigrationFinding,
    Model,
    ModelError,
    ModelRelease,
    StoreError,
    TypeMismatchError,
    check_migration,
)

FIRST = {"Note": {"title": "string?", "text": "string?"}}
SECOND = {"Note": {"title": "string?", "code": "string"}}


def rules(findings: list[MigrationFinding]) -> set[str]:
    return {each.rule for each in findings}


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    place = tmp_path / "Notes.xcdatamodeld"
    Model(FIRST).write(place, "Notes")
    Model(SECOND).write(place, "Notes 2")
    return place


@pytest.fixture
def store(tmp_path: Path) -> Path:
    folder = tmp_path / "stores"
    folder.mkdir()
    with Container(Model(FIRST), folder / "a.sqlite") as container, container.context() as context:
        context.insert("Note", title="Milk", text="2 litres")
        context.save()
    return folder / "a.sqlite"


def test_guard_checks_the_versions_of_a_bundle(bundle: Path) -> None:
    found = check_migration(bundle)
    assert rules(found) == {"required-without-default", "removed-property"}
    required = next(each for each in found if each.rule == "required-without-default")
    assert (required.severity, required.versions, required.entity, required.key) == ("error", ["Notes"], "Note", "code")
    assert required.store is None
    assert str(required).startswith("error: Note.code is new and required")
    assert rules(check_migration(bundle, profile="cloudkit")) >= {"cloudkit-not-additive"}
    assert check_migration(bundle, version="Notes") == []
    assert check_migration(bundle, versions=["Notes"]) == found
    assert check_migration(bundle, bundle) == found


def test_guard_checks_models_in_memory(bundle: Path) -> None:
    first, second = Model(FIRST), Model(SECOND)
    found = check_migration({"1": first}, second)
    assert rules(found) == {"required-without-default", "removed-property"}
    assert found[0].versions == ["1"]
    assert check_migration({"1": first}, second, related=[Model(FIRST)]) == found
    assert check_migration({}, second) == []
    assert check_migration({"1": first, "2": first}, first) == []
    # The author of a mapping model decided what happens to the data.
    mapping = MappingModel.inferred(first, Model({"Note": {"title": "string?"}}))
    target = Model({"Note": {"title": "string?"}})
    assert rules(check_migration({"1": first}, target)) == {"removed-property"}
    mapping.write(bundle.parent / "mapping.cdm")
    assert check_migration({"1": first}, target, model_paths=bundle.parent / "mapping.cdm") == []


def test_type_changes_can_be_allowed() -> None:
    old, new = Model({"Note": {"rank": "int16?"}}), Model({"Note": {"rank": "string?"}})
    assert rules(check_migration({"1": old}, new)) == {"type-change"}
    assert check_migration({"1": old}, new, allow_type_changes=True) == []


def test_guard_migrates_copies_of_stores(bundle: Path, store: Path) -> None:
    before = store.read_bytes()
    told: list[tuple[int, int]] = []
    found = check_migration(
        bundle, stores=[store.parent], progress=lambda done, total: told.append((done, total)),
        store_options={"busy_timeout": 1.0},
    )  # fmt: skip
    assert told == [(0, 1), (1, 1)]
    (failed,) = [each for each in found if each.rule == "store-fails"]
    assert (failed.store, failed.key, failed.versions) == (str(store), "code", [])
    assert str(failed).startswith(f"error: {store}: ")
    assert "store-fails" not in rules(check_migration(bundle, version="Notes", stores=store))
    assert store.read_bytes() == before

    def stop(done: int, total: int) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        check_migration(bundle, stores=store, progress=stop)


def test_guard_mistakes_are_reported(bundle: Path, store: Path, tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    with pytest.raises(StoreError):
        check_migration(missing)
    with pytest.raises(StoreError) as caught:
        check_migration(bundle, stores=[missing])
    assert (caught.value.key, caught.value.file) == ("stores", str(missing))
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidArgumentError, match="does not contain stores"):
        check_migration(bundle, stores=tmp_path / "empty")
    with pytest.raises(InvalidArgumentError, match='did you mean "Notes"'):
        check_migration(bundle, versions=["Notse"])
    with pytest.raises(InvalidArgumentError, match='use "standard" or "cloudkit"'):
        check_migration(bundle, profile="icloud")
    with pytest.raises(InvalidArgumentError, match="version is set"):
        check_migration({"1": Model(FIRST)}, Model(SECOND), version="2")
    with pytest.raises(InvalidArgumentError, match="related is set"):
        check_migration(bundle, related=[Model(FIRST)])
    wrong: list[tuple[Any, Any, dict[str, Any]]] = [
        (3, None, {}),
        (Model(FIRST), Model(SECOND), {}),
        (bundle, Model(SECOND), {}),
        ({"1": Model(FIRST)}, bundle, {}),
        ({"1": FIRST}, Model(SECOND), {}),
        ({1: Model(FIRST)}, Model(SECOND), {}),
        (bundle, None, {"versions": "Notes"}),
        (bundle, None, {"related": [3]}),
        (bundle, None, {"stores": [3]}),
        (bundle, None, {"model_paths": 3}),
        (bundle, None, {"progress": 3}),
        (bundle, None, {"allow_type_changes": "yes"}),
    ]
    for old, new, options in wrong:
        with pytest.raises(TypeMismatchError):
            check_migration(old, new, **options)


def test_frozen_releases_are_kept_and_checked(tmp_path: Path) -> None:
    folder, bundle = tmp_path / "released", tmp_path / "Notes.xcdatamodeld"
    first, second = Model(FIRST), Model(SECOND)
    with pytest.raises(StoreError, match="does not exist") as caught:
        ModelRelease.releases(folder)
    assert (caught.value.key, caught.value.file) == ("folder", str(folder))
    assert ModelRelease.keep(first, folder, "Notes") is True
    assert ModelRelease.keep(first, folder, "Notes") is False
    (release,) = ModelRelease.releases(folder)
    assert (release.name, release.path) == ("Notes", str(folder / "Notes.mom"))
    assert release.checksum == first.checksum
    assert release.version_hashes == {"Note": first["Note"].version_hash}
    assert release.model().checksum == first.checksum
    assert ModelRelease.keep(release.model(), folder) is False, "the model has the name of its version"
    assert [*release.model()] == ["Note"]

    first.write(bundle, "Notes")
    assert ModelRelease.check(folder, bundle) == []
    second.write(bundle, "Notes")
    (edited, *_) = ModelRelease.check(folder, bundle)
    assert (edited.rule, edited.severity, edited.versions) == ("edited-release", "error", ["Notes"])
    assert "edited-release" in rules(check_migration(folder, bundle))

    for model, name in ((second, "Notes"), (first, "a/b"), (first, None), (first, "")):
        with pytest.raises(InvalidArgumentError):
            ModelRelease.keep(model, folder, name)
    with pytest.raises(TypeMismatchError):
        ModelRelease.keep(3, folder, "Notes")  # type: ignore[arg-type]
    with pytest.raises(StoreError):
        ModelRelease.check(tmp_path / "missing", bundle)
    Path(release.path).write_bytes(b"damaged")
    assert rules(ModelRelease.check(folder, bundle)) == {"damaged-release"}
    with pytest.raises(ModelError, match="does not match its manifest; restore both files from version control"):
        release.model()
    Path(release.path).unlink()
    assert rules(ModelRelease.check(folder, bundle)) == {"damaged-release"}
    with pytest.raises(StoreError, match="cannot be read"):
        release.model()
    Path(release.path).with_suffix(".json").unlink()
    with pytest.raises(InvalidArgumentError, match="does not contain the release"):
        release.model()
