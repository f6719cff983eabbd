"""corestone show: stores and models, as tables and as JSON."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
from pathlib import Path

import corestone
import pytest
from conftest import ROOT, ZOO, compare, make_versions, run, settled
from corestone import Container, Model
from hostile import edit_metadata

PACKAGES = ROOT / "examples" / "packages" / "Packages.xcdatamodeld"


def test_store_is_printed_as_tables(zoo: Path) -> None:
    shown = run("show", zoo)
    assert (shown.returncode, shown.stderr) == (0, "")
    compare("show-store.txt", settled(shown.stdout, zoo))


def test_store_is_printed_as_json(zoo: Path) -> None:
    shown = run("show", zoo, "--format", "json")
    assert (shown.returncode, shown.stderr) == (0, "")
    compare("show-store.json", settled(shown.stdout, zoo))
    entities = {entity["name"]: entity for entity in json.loads(shown.stdout)["entities"]}
    assert set(entities) == set(ZOO)
    animal, bird = entities["Animal"], entities["Bird"]
    assert (animal["parent"], animal["abstract"], animal["count"], animal["ownCount"]) == (None, True, 4, 0)
    assert (bird["parent"], bird["abstract"], bird["count"], bird["ownCount"]) == ("Animal", False, 2, 2)
    name = next(each for each in bird["attributes"] if each["name"] == "name")
    assert (name["type"], name["optional"], name["inheritedFrom"]) == ("String", False, "Animal")
    animals = entities["Keeper"]["relationships"][0]
    assert {key: animals[key] for key in ("name", "destination", "inverse", "toMany", "ordered")} == {
        "name": "animals", "destination": "Animal", "inverse": "keeper", "toMany": True, "ordered": True,
    }  # fmt: skip


@pytest.mark.parametrize("kind", ["XML", "Binary"])
def test_atomic_store_is_shown_with_given_or_cached_model(zoo: Path, tmp_path: Path, kind: str) -> None:
    """It is read by the model that is named, else by the one that it carries."""
    source = tmp_path / "Zoo.mom"
    source.write_bytes(Model(ZOO).compiled())
    path = tmp_path / f"zoo.{kind}"
    with Container(Model(ZOO), tmp_path / "copy.sqlite") as container:
        keeper = container.context()
        keeper.insert("Bird", name="Emu", keeper=keeper.insert("Keeper", name="Ada"))
        keeper.save()
        container.store = container.coordinator.migrate_store(container.store, path, type=kind)
    shown = run("show", path, "--model", source, "--format", "json")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert {entity["name"]: entity["count"] for entity in json.loads(shown.stdout)["entities"]} == {
        "Animal": 1, "Bird": 1, "Fish": 0, "Keeper": 1,
    }  # fmt: skip
    found = run("fetch", path, "Animal", "keeper.name == 'Ada'", "--model", source, "--columns", "name")
    assert found.stdout.split() == ["name", "Emu"]
    own = json.loads(run("show", path, "--format", "json").stdout)
    assert own["store"]["modelSource"] == "cached"
    assert own["entities"] == json.loads(shown.stdout)["entities"]


def test_entity_option_includes_subentities(zoo: Path) -> None:
    shown = json.loads(run("show", zoo, "--entity=Animal", "--format=json").stdout)
    assert [entity["name"] for entity in shown["entities"]] == ["Animal", "Bird", "Fish"]
    table = run("show", zoo, "--entity", "Keeper", "--entity", "Fish").stdout
    assert "Keeper" in table and "Bird" not in table


def test_bundles_source_files_and_compiled_models_are_shown(tmp_path: Path) -> None:
    bundle = run("show", PACKAGES)
    compare("show-model.txt", bundle.stdout.replace(str(PACKAGES), "Packages.xcdatamodeld"))
    inner = json.loads(run("show", PACKAGES / "Packages.xcdatamodel", "--format", "json").stdout)
    whole = json.loads(run("show", PACKAGES, "--version", "Packages", "--format", "json").stdout)
    assert inner["entities"] == whole["entities"]
    assert [entity["count"] for entity in whole["entities"]] == [None, None, None]
    assert whole["versions"] == [{"name": "Packages", "current": True}]
    compiled = tmp_path / "Zoo.mom"
    compiled.write_bytes(Model(ZOO).compiled())
    assert {
        entity["name"] for entity in json.loads(run("show", compiled, "--format", "json").stdout)["entities"]
    } == set(ZOO)


def test_fixture_models_and_stores_are_shown(fixtures: Path) -> None:
    shown = 0
    stores = sorted(path for path in (fixtures / "stores").rglob("*") if path.is_file())
    models = [path for path in (fixtures / "compiled-models").rglob("*") if path.suffix in (".mom", ".momd")]
    models += [path.parent for path in (fixtures / "source-models").rglob("*.xcdatamodel")][:30]
    for path in [*stores, *models]:
        if path in stores and path.read_bytes()[:15] != b"SQLite format 3":
            continue
        found = run("show", path, "--format", "json")
        assert (found.returncode, found.stderr) == (0, ""), path
        assert isinstance(json.loads(found.stdout)["entities"], list), path
        assert run("show", path).returncode == 0
        shown += 1
    assert shown > 60


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["show"], 2, "STORE|MODEL"),
        (["show", "{zoo}", "more"], 2, 'unexpected argument "more"'),
        (["show", "{zoo}", "--entity", "Anmal"], 2, 'did you mean "Animal"'),
        (["show", "{zoo}", "--format", "csv"], 2, "table or json"),
        (["show", "{zoo}", "--version", "2"], 2, "omit --version"),
        (["show", "{zoo}.missing"], 3, "does not exist"),
        (["show", "{zoo}.missing.mom"], 3, "cannot"),
        (["show", str(PACKAGES), "--version", "7"], 3, 'has no version "7"; use "Packages"'),
    ],
)
def test_show_mistakes_are_reported(zoo: Path, arguments: list[str], code: int, words: str) -> None:
    found = run(*[argument.replace("{zoo}", str(zoo)) for argument in arguments])
    assert (found.returncode, found.stdout) == (code, "")
    assert words in found.stderr


@pytest.mark.parametrize("version", ["App", "App 2"])
def test_model_version_that_wrote_the_store_is_selected(tmp_path: Path, version: str) -> None:
    bundle = make_versions(tmp_path)
    store = tmp_path / f"{version}.sqlite"
    shown = run("show", store, "--model", bundle)
    assert f"read by version {version} of the given model" in " ".join(shown.stdout.split())
    told = json.loads(run("show", store, "--model", bundle, "--format", "json").stdout)
    assert (told["store"]["modelSource"], told["store"]["modelVersion"]) == ("given", version)
    assert run("fetch", store, "Note", "--model", bundle).returncode == 0
    checked = run("check", store, "--model", bundle)
    assert (checked.returncode, checked.stderr) == (0, "")
    assert f"is intact, read by version {version} of the given model" in checked.stdout
    assert json.loads(run("check", store, "--model", bundle, "--format", "json").stdout)["modelVersion"] == version


def test_store_of_an_unknown_version_is_an_error(tmp_path: Path, zoo: Path) -> None:
    shown = run("show", zoo, "--model", make_versions(tmp_path))
    assert shown.returncode == 3
    assert "does not match any of the versions of" in shown.stderr and "migrate the store" in shown.stderr


def test_pipe_is_rejected_without_reading(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    shown = run("show", pipe)
    assert (shown.returncode, shown.stdout) == (3, "")
    assert str(pipe) in shown.stderr


HALF_FINISHED = """<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">
<entity name="Person" parentEntity="Being">
  <attribute name="name" optional="YES" attributeType="String"/>
  <attribute name="age" optional="YES"/>
  <relationship name="boss" optional="YES" maxCount="1"/>
  <relationship name="tags" optional="YES" toMany="YES" destinationEntity="Tag"/>
  <relationship name="pets" optional="YES" toMany="YES" destinationEntity="Pet" inverseName="owner"/>
</entity>
<entity name="Pet"><attribute name="name" attributeType="String"/></entity>
</model>
"""


def half_finished(folder: Path) -> Path:
    path = folder / "Half.xcdatamodel"
    path.mkdir()
    (path / "contents").write_text(HALF_FINISHED)
    return path


@pytest.mark.parametrize("command", [("show",), ("model", "show")])
def test_draft_model_is_shown_with_warnings(tmp_path: Path, command: tuple[str, ...]) -> None:
    path = half_finished(tmp_path)
    shown = run(*command, path)
    assert shown.returncode == 0, shown.stderr
    for part in ("Person", "Pet", "age", "boss", "nothing yet", "Tag (missing)", "pets"):
        assert part in shown.stdout, part
    warnings = shown.stderr.splitlines()
    assert all(line.startswith(f"corestone: warning: {path}: Person") for line in warnings)
    for part in (
        'inherits from "Being"',
        "Person.age has the type Undefined",
        "Person.boss does not have a destination; set one",
        'Person.tags has the destination "Tag"',
        "Person.pets does not have an inverse because Pet.owner does not exist",
    ):
        assert sum(part in line for line in warnings) == 1, part
    assert len(warnings) == 5


def test_draft_model_as_json_lists_its_problems(tmp_path: Path) -> None:
    shown = json.loads(run("show", half_finished(tmp_path), "--format", "json").stdout)
    assert [(each["entity"], each["key"]) for each in shown["problems"]] == [
        ("Person", None), ("Person", "boss"), ("Person", "tags"), ("Person", "age"),
    ]  # fmt: skip
    person = next(each for each in shown["entities"] if each["name"] == "Person")
    assert {each["name"]: each["destination"] for each in person["relationships"]} == {
        "boss": None, "tags": "Tag", "pets": "Pet",
    }  # fmt: skip


def test_draft_model_is_rejected_for_use_with_the_reason(tmp_path: Path) -> None:
    path = half_finished(tmp_path)
    for arguments in (("model", "compile", path, "--output", tmp_path / "Half.mom"), ("model", "lint", path)):
        refused = run(*arguments)
        assert refused.returncode != 0
        assert 'inherits from "Being"' in refused.stderr


def test_nearest_version_is_named_when_no_version_matches(tmp_path: Path) -> None:
    bundle = make_versions(tmp_path)
    store = tmp_path / "third.sqlite"
    for size, nearest in (("int32", "App 2"), ("int64", "App 2"), ("int16", "App")):
        spec = {"Note": {"size": f"{size}?"}}
        if size != "int32":
            spec["Other"] = {"name": "string?"}
        store.unlink(missing_ok=True)
        Container(Model(spec), store).close()
        for command in ("show", "check"):
            refused = run(command, store, "--model", bundle)
            assert (refused.returncode, refused.stdout) == (3, "")
            assert f"The nearest is {nearest}: " in refused.stderr, size
            if size == "int32":
                difference = "Note.size is of type Integer 32 in the store and of type Integer 64 in the model"
                assert difference in refused.stderr
            else:
                assert "Other" in refused.stderr and "Note differs" not in refused.stderr


def test_model_of_every_format_reads_a_store_without_cached_model(zoo: Path, tmp_path: Path) -> None:
    store = tmp_path / "zoo.xml"
    assert run("convert", zoo, store).returncode == 0
    for name in ("Zoo.xcdatamodeld", "Zoo.xcdatamodel", "Zoo.momd", "Zoo.mom"):
        Model(ZOO).write(tmp_path / name, lossy=True)
    for model in [zoo, *sorted(tmp_path.glob("Zoo.*"))]:
        for words in (["fetch", "Bird", "--columns", "name"], ["dump", "Bird"], ["show"]):
            found = run(words[0], store, *words[1:], "--model", model)
            assert (found.returncode, found.stderr) == (0, ""), (words, model)
            assert ("emu" in found.stdout) == (words[0] != "show")
        told = json.loads(run("show", store, "--format", "json", "--model", model).stdout)["store"]
        version = "Zoo" if model.suffix in (".xcdatamodeld", ".momd") else None
        assert (told["modelSource"], told["modelVersion"], told["type"]) == ("given", version, "XML")


def test_read_only_reason_is_shown(zoo: Path, tmp_path: Path) -> None:
    store = tmp_path / "zoo.sqlite"
    identifier = corestone.metadata(zoo)["NSStoreUUID"]
    inferred = "its model was inferred from its tables; open the store with the model it was written with"
    newer = "it was written by version 99999 of the framework, but {} is the newest supported version"
    for sql, version, source, reason in (
        ("", None, "cached", None),
        ("DROP TABLE Z_MODELCACHE", None, "inferred", inferred),
        ("", 99999, "cached", newer),
    ):
        shutil.copyfile(zoo, store)
        with contextlib.closing(sqlite3.connect(store)) as database:
            database.executescript(sql)
        known = json.loads(run("show", zoo, "--format", "json").stdout)["store"]["frameworkVersion"]
        edit_metadata(store, identifier, {"NSPersistenceFrameworkVersion": version} if version else {})
        told = json.loads(run("show", store, "--format", "json").stdout)["store"]
        assert told == {
            "path": str(store),
            "identifier": identifier,
            "modelSource": source,
            "modelVersion": None,
            "readOnlyReason": reason and reason.format(known),
            "type": "SQLite",
            "frameworkVersion": version or known,
        }
        table = " ".join(run("show", store).stdout.split())
        assert (f"read-only: {told['readOnlyReason']}" in table) == (reason is not None)


def test_show_does_not_report_write_requirements(zoo: Path, tmp_path: Path) -> None:
    path = tmp_path / "zoo.sqlite"
    shutil.copy(zoo, path)
    connection = sqlite3.connect(path)
    connection.execute("CREATE TRIGGER mine AFTER INSERT ON ZKEEPER BEGIN SELECT 1; END")
    connection.commit()
    connection.close()
    assert json.loads(run("show", path, "--format", "json").stdout)["store"]["readOnlyReason"] is None
    assert "read-only:" not in run("show", path).stdout
    assert 'ZKEEPER has the trigger "mine"' in run("check", path).stdout


def test_messages_end_with_the_cocoa_error_code(zoo: Path, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("hello")
    cases: list[tuple[list[str | Path], int]] = [
        (["show", zoo, "--model", str(PACKAGES)], 134100),
        (["show", tmp_path / "none.sqlite"], 134080),
        (["fetch", tmp_path / "text", "A"], 134080),
    ]
    for words, code in cases:
        refused = run(*words)
        assert (refused.returncode, refused.stdout) == (3, "")
        assert refused.stderr.startswith("corestone: ")
        assert refused.stderr.endswith(f" [NSCocoaErrorDomain {code}]\n"), refused.stderr
