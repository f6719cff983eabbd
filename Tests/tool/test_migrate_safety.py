"""Migrations by the tool with mapping models, stages, backups, verification and deferred tasks."""

from __future__ import annotations

import json
import re
import sqlite3
from pathlib import Path

import pytest
from conftest import run
from corestone import Container, MappingModel, Model

VERSIONS = {
    "V1": "<attribute name='title' optional='YES' attributeType='String'/>"
    "<attribute name='legacy' optional='YES' attributeType='String'/>",
    "V2": "<attribute name='title' optional='YES' attributeType='String'/>"
    "<attribute name='rank' optional='YES' attributeType='Integer 32'/>",
    "V3": "<attribute name='name' optional='YES' attributeType='String'/>",
}


class Notes:
    """A bundle of three versions, and a store of the first one with two notes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bundle = folder / "Notes.xcdatamodeld"
        for name, attributes in VERSIONS.items():
            version = self.bundle / f"{name}.xcdatamodel"
            version.mkdir(parents=True)
            (version / "contents").write_text(f"<model><entity name='Note'>{attributes}</entity></model>")
        current = "<plist><dict><key>_XCCurrentVersionName</key><string>V2.xcdatamodel</string></dict></plist>"
        (self.bundle / ".xccurrentversion").write_text(current)
        self.store = folder / "Notes.sqlite"
        with Container(self.model("V1"), self.store) as container:
            for title in ("Milk", "Bread"):
                container.view_context.insert("Note", title=title, legacy="old")
            container.view_context.save()

    def model(self, version: str) -> Model:
        return Model.load(self.bundle / f"{version}.xcdatamodel")

    def mapping(self, source: str, destination: str, expression: str) -> Path:
        """A mapping model whose only attribute mapping has an expression."""
        attribute = "name" if destination == "V3" else "title"
        content = {
            "entityMappings": [
                {"source": "Note", "destination": "Note", "kind": "transform", "attributes": {attribute: expression}}
            ]
        }
        path = self.folder / f"{source}to{destination}.cdm"
        MappingModel.from_json(json.dumps(content), self.model(source), self.model(destination)).write(path)
        return path

    def migrate(self, *words: str | Path) -> tuple[int, str]:
        outcome = run("migrate", self.store, *words)
        return outcome.returncode, (outcome.stdout + outcome.stderr).replace(str(self.folder) + "/", "")

    def ask(self, sql: str) -> list[tuple[object, ...]]:
        connection = sqlite3.connect(self.store)
        try:
            return connection.execute(sql).fetchall()
        finally:
            connection.close()

    def backups(self) -> list[str]:
        return sorted(path.name for path in self.folder.glob("Notes.sqlite.backup-*"))


@pytest.fixture
def notes(tmp_path: Path) -> Notes:
    return Notes(tmp_path)


DATED = re.compile(r"Notes\.sqlite\.backup-\d{8}T\d{6}Z(-\d+)?")


def test_backup_is_dated_and_restored(notes: Notes) -> None:
    code, text = notes.migrate("--to", notes.bundle, "--allow-removal", "--backup", "--verify")
    assert code == 0
    assert DATED.sub("BACKUP", text) == (
        "BACKUP is a copy of the former Notes.sqlite\nNotes.sqlite is a store of Notes.xcdatamodeld\n"
    )
    (backup,) = notes.backups()
    assert notes.ask("SELECT ZTITLE, ZRANK FROM ZNOTE ORDER BY 1") == [("Bread", None), ("Milk", None)]
    assert notes.migrate("--restore") == (0, f"Notes.sqlite is {backup} again\n")
    assert notes.ask("SELECT ZLEGACY FROM ZNOTE") == [("old",), ("old",)]
    text = notes.migrate("--restore", "--from", notes.folder / backup, "--format", "json")[1]
    assert json.loads(text) == {"store": "Notes.sqlite", "restored": backup}


def test_backups_are_kept_in_a_folder_up_to_a_limit(notes: Notes) -> None:
    folder = notes.folder / "copies"
    folder.mkdir()
    for _ in range(3):
        code, text = notes.migrate("--to", notes.bundle, "--allow-removal", f"--backup={folder}", "--keep", "2")
        assert (code, notes.backups()) == (0, [])
        assert text.startswith("copies/Notes.sqlite.backup-")
        assert notes.migrate("--restore", f"--backup={folder}")[0] == 0
    assert len(list(folder.glob("Notes.sqlite.backup-*"))) == 2


def test_restore_fails_without_backup(notes: Notes) -> None:
    code, text = notes.migrate("--restore")
    assert code == 3
    assert "Notes.sqlite does not have a backup in its folder" in text


def test_deferred_tasks_are_finished_by_option(notes: Notes) -> None:
    code, text = notes.migrate("--to", notes.bundle, "--allow-removal", "--defer", "--verify")
    assert (code, text) == (
        0,
        "Notes.sqlite is a store of Notes.xcdatamodeld; "
        "run corestone migrate --finish-deferred for the 1 task that it left\n",
    )
    assert notes.ask("SELECT CST_LEFTOVER_0 FROM ZNOTE") == [("old",), ("old",)]
    assert run("check", notes.store).returncode == 0
    assert notes.migrate("--finish-deferred") == (0, "Notes.sqlite is fully migrated; 1 task finished\n")
    assert "CST_LEFTOVER" not in str(notes.ask("SELECT sql FROM sqlite_master WHERE name = 'ZNOTE'"))
    assert notes.migrate("--finish-deferred") == (0, "Notes.sqlite does not have a deferred migration; nothing to do\n")
    text = notes.migrate("--finish-deferred", "--format", "json")[1]
    assert json.loads(text) == {"store": "Notes.sqlite", "finishedTasks": 0}


def test_mapping_model_is_used(notes: Notes) -> None:
    mapping = notes.mapping("V1", "V3", "uppercase:($source.title)")
    words = ("--to", notes.bundle, "--version", "V3", "--mapping", mapping)
    code, text = notes.migrate(*words, "--plan")
    assert (code, text) == (0, "the objects are migrated in steps:\n  NoteToNote: Note -> Note\n")
    assert notes.migrate(*words, "--dry-run")[0] == 0
    assert notes.migrate(*words, "--verify") == (0, "Notes.sqlite is a store of Notes.xcdatamodeld\n")
    assert notes.ask("SELECT ZNAME FROM ZNOTE ORDER BY 1") == [("BREAD",), ("MILK",)]


def stages(notes: Notes, content: object) -> Path:
    path = notes.folder / "stages.json"
    path.write_text(json.dumps(content))
    return path


def test_stages_are_loaded_from_a_file(notes: Notes) -> None:
    notes.mapping("V2", "V3", "lowercase:($source.title)")
    file = stages(
        notes,
        {
            "stages": [
                {"label": "add ranks", "lightweight": ["V1", "V2"]},
                {"label": "rename", "from": "V2", "to": "V3", "mapping": "V2toV3.cdm"},
            ]
        },
    )
    words = ("--to", notes.bundle, "--version", "V3", "--allow-removal", "--stages", file)
    code, text = notes.migrate(*words, "--plan")
    assert code == 1
    assert text.splitlines()[0] == "the objects are migrated in steps:"
    assert [line.split(" to ")[0] for line in text.splitlines()[1:3]] == [
        "  infer the mapping",
        "  execute the mapping model with 1 entity mapping",
    ]
    assert [line.rsplit(", ", 1)[1] for line in text.splitlines()[1:3]] == [
        'the stage "add ranks"',
        'the stage "rename"',
    ]
    assert text.splitlines()[3:] == ["warning: a step removes Note.legacy, whose values are lost"]
    assert notes.migrate(*words, "--dry-run")[0] == 0
    assert notes.migrate(*words, "--verify", "--backup")[0] == 0
    assert notes.ask("SELECT ZNAME FROM ZNOTE ORDER BY 1") == [("bread",), ("milk",)]
    assert len(notes.backups()) == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([], "the root is"),
        ({}, '"stages" is missing; set it to the list of stages'),
        ({"stages": 1}, '"stages" is 1, but must be a list of stages'),
        ({"stages": [{"lightwait": []}]}, 'has the unknown key "lightwait"; did you mean "lightweight"?'),
        ({"stages": [{"lightweight": ["V4"]}]}, 'names the version "V4", which is not in the given models'),
        ({"stages": [{"lightweight": "V2"}]}, '"lightweight" of stage 1 is "V2", but must be a list of versions'),
        ({"stages": [{"lightweight": [2]}]}, 'a version in "lightweight" of stage 1 is 2, but must be a string'),
        ({"stages": [{"lightweight": ["V2"], "from": "V1"}]}, 'has "lightweight" and "from"'),
        ({"stages": [{"from": "V1"}]}, 'needs "lightweight", or "from" and "to"'),
        ({"stages": [{"from": "V1", "to": 2}]}, "must be a string"),
        ({"stages": [{"from": "V1", "to": "V2", "mapping": "none.cdm"}]}, "none.cdm"),
        ({"stages": []}, "at least one stage"),
    ],
)
def test_mistakes_in_stages_are_reported(notes: Notes, content: object, message: str) -> None:
    file = stages(notes, content)
    code, text = notes.migrate("--to", notes.bundle, "--stages", file)
    assert code in (2, 3)
    assert message in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--restore", "--to", "x"), "--to does not apply to --restore"),
        (("--finish-deferred", "--restore"), "--finish-deferred does not apply to --restore"),
        (("--finish-deferred", "--backup"), "--backup does not apply to --finish-deferred"),
        (("--to", "x", "--keep", "2"), "--keep only applies to --backup"),
        (("--to", "x", "--from", "2"), "--from only applies to --restore; pass the store's own model with --source"),
        (("--from", "2"), "--from only applies to --restore; add --restore"),
        (("--to", "x", "--stages", "a", "--mapping", "b"), "--stages and --mapping exclude each other"),
    ],
)
def test_incompatible_options_are_rejected(notes: Notes, words: tuple[str, ...], message: str) -> None:
    code, text = notes.migrate(*words)
    assert code == 2
    assert message in text


def test_store_is_unchanged_when_backup_fails(notes: Notes) -> None:
    before = notes.store.read_bytes()
    code, text = notes.migrate("--to", notes.bundle, "--allow-removal", f"--backup={notes.folder}/none")
    assert code == 3
    assert "because the backup failed" in text
    assert notes.store.read_bytes() == before
