"""corestone.open and corestone.metadata: stores without their model."""

from __future__ import annotations

import hashlib
import os
import re
import sqlite3
from pathlib import Path
from typing import Any, Callable

import pytest

import corestone
from corestone import (
    Container,
    Context,
    InvalidArgumentError,
    InvalidUTF8Error,
    Model,
    ModelMismatchError,
    StoreCorruptError,
    StoreError,
    StoreReadOnlyError,
)


def folder_state(folder: Path) -> dict[str, tuple[int, str]]:
    return {
        file.name: (file.stat().st_mtime_ns, hashlib.sha256(file.read_bytes()).hexdigest()) for file in folder.iterdir()
    }


def test_store_opens_with_its_cached_model(staff: Context, container: Container, path: Path) -> None:
    container.close()
    before = folder_state(path.parent)
    with corestone.open(path, unsaved="discard") as opened:
        assert opened.model_source == "cached"
        assert opened.is_read_only
        assert opened.read_only_reason
        assert set(opened.model) == set(container.model)
        manager = opened.model["Manager"].parent
        assert manager is not None
        assert manager.name == "Employee"
        grace = opened.fetch("Employee", "name == 'Grace'")[0]
        assert grace.department.name == "R&D"
        assert type(grace) is opened.model["Manager"].object_class
        assert opened.model["Employee"].version_hash == container.model["Employee"].version_hash
        grace.age = 61
        assert grace.context is not None
        with pytest.raises(StoreReadOnlyError):
            grace.context.save()
    assert folder_state(path.parent) == before


@pytest.mark.parametrize("store_type", ["XML", "Binary"])
def test_atomic_store_opens_with_its_cached_model(tmp_path: Path, store_type: str) -> None:
    path = tmp_path / "notes"
    with Container(Model({"Note": {"title": "string", "done": "bool = false"}}), path, type=store_type) as container:
        container.view_context.insert("Note", title="Milk")
        container.view_context.save()
    before = folder_state(tmp_path)
    with corestone.open(path) as opened:
        assert (opened.model_source, opened.is_read_only) == ("cached", True)
        assert [(note.title, note.done) for note in opened.fetch("Note")] == [("Milk", False)]
    assert folder_state(tmp_path) == before
    with corestone.open(path, writable=True) as opened:
        opened.view_context.insert("Note", title="Eggs")
        opened.view_context.save()
    with corestone.open(path) as opened:
        assert sorted(note.title for note in opened.fetch("Note")) == ["Eggs", "Milk"]


def test_live_write_ahead_log_is_read_from_a_copy(staff: Context, path: Path) -> None:
    before = folder_state(path.parent)
    assert before[path.name + "-wal"]
    with corestone.open(path) as opened:
        assert len(opened.fetch("Department")) == 2
        assert folder_state(path.parent) == before
    assert folder_state(path.parent) == before


def test_store_opens_for_writing(staff: Context, container: Container, path: Path) -> None:
    container.close()
    with corestone.open(path, writable=True) as opened:
        assert opened.read_only_reason is None
        context = opened.context()
        context.insert("Department", name="Records")
        context.save()
    with corestone.open(path) as opened:
        assert len(opened.fetch("Department", sort="name", limit=10)) == 3


def test_store_opens_with_a_given_model(staff: Context, container: Container, path: Path) -> None:
    container.close()
    with corestone.open(path, container.model) as opened:
        assert opened.model is container.model
        assert opened.model_source == "given"
    with pytest.raises(ModelMismatchError) as raised:
        corestone.open(path, Model({"Department": {"name": "int16"}}))
    assert raised.value.entity
    assert raised.value.file == str(path)


def test_store_opens_with_the_path_of_a_model(tmp_path: Path) -> None:
    bundle = tmp_path / "Notes é %41.xcdatamodeld"
    source = bundle / "Notes.xcdatamodel" / "contents"
    source.parent.mkdir(parents=True)
    source.write_text(
        """<?xml version="1.0" encoding="UTF-8"?>
        <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">
            <entity name="Note"><attribute name="title" optional="YES" attributeType="String"/></entity>
        </model>"""
    )
    path = tmp_path / "notes.sqlite"
    with Container(Model.load(bundle), path) as made:
        made.context().insert("Note", title="first").context.save()
    for model in (bundle, str(bundle)):
        with corestone.open(path, model) as opened:
            assert opened.model_source == "given"
            assert opened.fetch("Note")[0].title == "first"
        assert corestone.check_apple(path, model).problems == []
    source.write_text(source.read_text().replace("String", "Date"))
    with pytest.raises(ModelMismatchError) as raised:
        corestone.open(path, bundle)
    assert (raised.value.entity, raised.value.key) == ("Note", "title")
    with pytest.raises(StoreError):
        corestone.open(path, tmp_path / "missing.momd")


def test_store_opens_with_an_inferred_model(staff: Context, container: Container, path: Path) -> None:
    container.close()
    database = sqlite3.connect(path)
    with database:
        database.execute("DROP TABLE Z_MODELCACHE")
    database.close()
    with corestone.open(path, writable=True) as opened:
        assert opened.model_source == "inferred"
        assert "inferred" in (opened.read_only_reason or "")
        grace = opened.fetch("Employee", "name == 'Grace'")[0]
        assert grace.id.entity_name == "Manager"
        assert grace.department.name == "R&D"
        assert {project.title for project in opened.fetch("Project")} == {
            project.title for person in opened.fetch("Employee") for project in person.projects
        } | {project.title for project in opened.fetch("Project") if not project.members}


def test_invalid_files_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(StoreError):
        corestone.open(tmp_path / "missing.sqlite")
    (tmp_path / "store.xml").write_text('<?xml version="1.0"?><database></database>')
    with pytest.raises(StoreCorruptError, match="its <version> is missing"):
        corestone.open(tmp_path / "store.xml")
    (tmp_path / "store.xml").unlink()
    with Container(Model({"A": {"n": "int?"}}), tmp_path / "store.xml", type="XML") as container:
        container.view_context.save()
    text = (tmp_path / "store.xml").read_text()
    (tmp_path / "store.xml").write_text(re.sub("<key>CST_Model</key>.*?</data>", "", text, flags=re.DOTALL))
    with pytest.raises(InvalidArgumentError, match="type XML and does not contain its model"):
        corestone.open(tmp_path / "store.xml")
    assert [file.name for file in tmp_path.iterdir()] == ["store.xml"]


def test_metadata_is_read_without_a_model(staff: Context, container: Container, path: Path) -> None:
    identifier = container.store.identifier
    container.close()
    found = corestone.metadata(path)
    assert found["NSStoreUUID"] == identifier
    assert found["NSStoreModelVersionHashes"]["Employee"] == container.model["Employee"].version_hash
    with pytest.raises(StoreError):
        corestone.metadata(path.parent / "missing.sqlite")


def test_check_apple_reports_acceptance_and_problems(staff: Context, container: Container, path: Path) -> None:
    container.close()
    check = corestone.check_apple(path)
    assert check.accepted
    assert check.problems == []
    assert check.extrapolations == []
    assert corestone.check_apple(path, container.model).accepted
    other = corestone.check_apple(path, Model({"Department": {"name": "int16"}}))
    assert not other.accepted
    assert {"Department", "Employee"} <= {finding.entity for finding in other.problems}
    with pytest.raises(StoreError):
        corestone.check_apple(path.parent / "missing.sqlite")


def bundle(folder: Path) -> Path:
    """Two versions of a model, of which the second is current."""
    made = folder / "App.xcdatamodeld"
    for name, kind in (("App", "16"), ("App 2", "64")):
        version = made / f"{name}.xcdatamodel"
        version.mkdir(parents=True)
        attribute = f"<attribute name='size' optional='YES' attributeType='Integer {kind}'/>"
        (version / "contents").write_text(f"<model><entity name='Note'>{attribute}</entity></model>")
    current = "<plist><dict><key>_XCCurrentVersionName</key><string>App 2.xcdatamodel</string></dict></plist>"
    (made / ".xccurrentversion").write_text(current)
    return made


def test_model_version_that_wrote_the_store_is_selected(tmp_path: Path) -> None:
    versions = bundle(tmp_path)
    for name in ("App", "App 2"):
        store = tmp_path / f"{name}.sqlite"
        Container(Model.load(versions, version=name), store).close()
        with corestone.open(store, versions) as opened:
            assert opened.model_source == "given"
            assert opened.model.version_name == name
        assert corestone.check(store, versions) == []
    assert Model.load(versions).version_name == "App 2"
    assert Model({"A": {}}).version_name is None
    with pytest.raises(InvalidArgumentError):
        Model.load(versions, version="App", for_store=store)


def test_store_of_an_unknown_version_needs_a_migration(tmp_path: Path) -> None:
    store = tmp_path / "other.sqlite"
    Container(Model({"Note": {"size": "double?"}}), store).close()
    with pytest.raises(ModelMismatchError) as raised:
        corestone.open(store, bundle(tmp_path))
    assert (raised.value.entity, raised.value.key) == ("Note", "size")
    assert "The nearest is App 2" in str(raised.value)
    assert "migrate the store" in str(raised.value)


@pytest.mark.parametrize("kind", [bytes, str])
def test_path_that_is_not_utf8_is_rejected(kind: type, model: Model, tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path) + b"/caf\xe9"
    os.mkdir(folder)
    raw = folder + b"/notes.sqlite"
    path: Any = raw if kind is bytes else os.fsdecode(raw)
    attempts: list[Callable[[], object]] = [
        lambda: Container(model, path),
        lambda: corestone.open(path),
        lambda: corestone.check(path),
        lambda: corestone.check_apple(path),
        lambda: corestone.metadata(path),
        lambda: Model.versions(path),
        lambda: Model.load(Path(os.fsdecode(raw))),
    ]
    for attempt in attempts:
        with pytest.raises(InvalidUTF8Error, match="rename the file"):
            attempt()
    assert os.listdir(folder) == []


def test_link_to_a_folder_that_is_not_utf8_is_rejected(model: Model, tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path) + b"/caf\xe9"
    os.mkdir(folder)
    link = tmp_path / "link"
    os.symlink(folder, link)
    with pytest.raises(InvalidUTF8Error, match="resolves to a path that is not UTF-8"):
        Container(model, link / "notes.sqlite")
    assert os.listdir(folder) == []


def test_path_with_a_nul_byte_is_rejected(model: Model, tmp_path: Path) -> None:
    Container(model, tmp_path / "a").close()
    (tmp_path / "b.mom").write_bytes(b"no model")
    attempts: list[Callable[[str], object]] = [corestone.open, corestone.check, corestone.metadata]
    for attempt in attempts:
        with pytest.raises(InvalidArgumentError, match="NUL"):
            attempt(f"{tmp_path}/a\0b")
    for attempt in (Model.load, Model.versions):
        with pytest.raises(InvalidArgumentError, match="NUL"):
            attempt(f"{tmp_path}/b.mom\0")
