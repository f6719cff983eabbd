"""A program of `corestone init` whose model changes five times: the data of its store stay, in each language.

`python Tests/tool/test_changed_models.py [LANGUAGE…]` prints each step with the output of its commands.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import corestone
import pytest
from conftest import TOOL

COMMANDS = {
    "python": [sys.executable, "notes.py"],
    "c": ["make", "--silent", "run"],
    "swift": ["swift", "run", "--quiet"],
}
PROGRAMS = {"python": "notes.py", "c": "notes.c", "swift": "main.swift"}

# The model of the first run, made of that of `init`.
FIRST = [
    "add MODEL entity Tag",
    "add MODEL attribute Tag.name String",
    "add MODEL relationship Item.tags Tag --to-many --inverse items --inverse-to-many",
    "add MODEL entity Task parentEntity=Item",
    "add MODEL attribute Task.title String",
    "add MODEL entity Event parentEntity=Item",
]
LINES = [
    {"@entity": "Tag", "@id": "work", "name": "work"},
    {"@entity": "Tag", "@id": "home", "name": "home"},
    {"@entity": "Task", "@id": "a", "timestamp": "2026-01-01T00:00:00Z", "title": "a", "tags": ["work", "home"]},
    {"@entity": "Task", "@id": "b", "timestamp": "2026-01-02T00:00:00Z", "title": None, "tags": ["work"]},
    {"@entity": "Event", "@id": "c", "timestamp": "2026-01-03T00:00:00Z", "tags": ["home"]},
]
# Each change is a version of the model; the edits of the program go with it.
CHANGES: list[tuple[str, list[str], tuple[str, str] | None]] = [
    ("an attribute is added", ["add MODEL attribute Item.note String defaultValueString=none"], None),
    ("an attribute is renamed", ["rename MODEL Item.timestamp created"], ("timestamp", "created")),
    ("an attribute becomes required", ["set MODEL Task.title optional=NO defaultValueString=untitled"], None),
    (
        "a relationship is split",
        [
            "remove MODEL Item.tags",
            "remove MODEL Tag.items",
            "add MODEL relationship Task.tags Tag --to-many --inverse tasks --inverse-to-many elementID=tags",
            "add MODEL relationship Event.tags Tag --to-many --inverse events --inverse-to-many elementID=tags",
        ],
        None,
    ),
    ("an attribute is removed", ["remove MODEL Item.note"], None),
]


class Project:
    """A project of `corestone init`, and its store."""

    def __init__(self, folder: Path, language: str) -> None:
        self.folder, self.language = folder, language
        self.project = folder / "Notes"
        self.model = self.project / "Notes.xcdatamodeld"
        self.log: list[str] = []
        self.call([str(TOOL), "init", "Notes", "--language", language], folder)
        name = "notes" if language == "python" else "Notes"
        self.store = folder / "data" / name / "Notes.sqlite"

    def call(self, command: list[str], folder: Path | None = None, text: str = "") -> str:
        environment = {**os.environ, "XDG_DATA_HOME": str(self.folder / "data")}
        done = subprocess.run(
            command,
            cwd=folder or self.project,
            env=environment,
            input=text,
            capture_output=True,
            text=True,
            check=False,
        )
        said = done.stdout + done.stderr
        self.log.append("\n".join(["$ " + " ".join(command).replace(str(TOOL), "corestone"), said.rstrip("\n")]))
        assert done.returncode == 0, said
        return done.stdout

    def edit(self, commands: list[str]) -> None:
        for command in commands:
            words = [str(self.model) if word == "MODEL" else word for word in command.split(" ")]
            self.call([str(TOOL), "model", *words])

    def run(self) -> int:
        """The items that the program counts, one of which it inserts."""
        return int(self.call(COMMANDS[self.language]).splitlines()[-1].split(" ")[0])


def change_five_times(folder: Path, language: str) -> list[str]:
    project = Project(folder, language)
    project.edit(FIRST)
    assert project.run() == 1
    project.call([str(TOOL), "load", str(project.store)], text="".join(json.dumps(line) + "\n" for line in LINES))
    for number, (what, commands, edit) in enumerate(CHANGES, 1):
        project.log.append(f"\n--- change {number}: {what}")
        project.edit([f"add MODEL version Notes{number}", *commands])
        if edit:
            program = project.project / PROGRAMS[language]
            program.write_text(program.read_text().replace(*edit))
        if number == 5:
            # A model that only lacks something could be an older one, so that has to be allowed.
            project.call([str(TOOL), "migrate", str(project.store), "--to", str(project.model), "--allow-removal"])
        assert project.run() == 4 + number
    project.call([str(TOOL), "dump", str(project.store)])
    with corestone.open(project.store) as store:
        assert [
            (f"{task.created:%F}", task.title, sorted(tag.name for tag in task.tags))
            for task in store.fetch("Task", sort="created")
        ] == [("2026-01-01", "a", ["home", "work"]), ("2026-01-02", "untitled", ["work"])]
        assert [[tag.name for tag in event.tags] for event in store.fetch("Event")] == [["home"]]
        items = store.fetch("Item")
        assert len(items) == 9
        assert all(item.created for item in items)
        assert set(store.model["Item"].properties) == {"created"}
    project.call([str(TOOL), "check", str(project.store)])
    return project.log


@pytest.mark.parametrize("language", ["python", "c", "swift"])
def test_store_data_survive_five_model_changes(tmp_path: Path, language: str) -> None:
    if language == "swift" and shutil.which("swift") is None:
        pytest.skip("there is no Swift on PATH")
    change_five_times(tmp_path, language)


if __name__ == "__main__":
    for language in sys.argv[1:] or COMMANDS:
        with tempfile.TemporaryDirectory() as name:
            print(f"=== {language}", *change_five_times(Path(name), language), sep="\n")
