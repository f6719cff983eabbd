"""Migration plans: lost data and problems; a plan does not change the store."""

from __future__ import annotations

import hashlib
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from corestone import Container, Model, migration_plan
from corestone.errors import MigrationError
from pairs import TOOL

TYPES = ["SQLite", "XML", "Binary"]
FIRST = {
    "Note": {
        "title": "string?",
        "code": "int32?",
        "size": "double?",
        "tags": "to-many Tag inverse notes",
        "links": "to-many Note",
    },
    "Tag": {"name": "string?", "notes": "to-many Note inverse tags"},
}


@pytest.fixture(params=TYPES)
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "notes"
    with Container(Model(FIRST), path, type=request.param) as container:
        context = container.view_context
        tags = [context.insert("Tag", name=name) for name in "ab"]
        first = context.insert("Note", title="a", code=1, size=1.5, tags=tags)
        context.insert("Note", title="a", code=2, size=2, tags=tags[:1], links=[first])
        context.insert("Note", code=3)
        context.save()
    return path


def state(folder: Path) -> dict[str, str]:
    return {each.name: hashlib.sha256(each.read_bytes()).hexdigest() for each in folder.iterdir() if each.is_file()}


def changed(**properties: str | None) -> Model:
    """The model with other properties of Note."""
    note = {key: text for key, text in {**FIRST["Note"], **properties}.items() if text}
    return Model({**FIRST, "Note": note})


def test_plan_lists_lost_data(path: Path) -> None:
    before = state(path.parent)
    wanted = {"Note": {"title": "string?", "code": "int32?", "mark": "string = x"}, "Tag": {"name": "string?"}}
    plan = migration_plan(path, Model(wanted))
    assert (plan.is_needed, plan.loses_data, plan.problems, plan.warnings) == (True, True, [], [])
    (note,) = (each for each in plan.entities if each.source == "Note")
    assert (note.kind, note.objects, note.added, note.filled) == ("transform", 3, ["mark"], ["mark"])
    assert sorted(note.removed) == ["links", "size", "tags"]
    (tag,) = (each for each in plan.entities if each.source == "Tag")
    lost = {**note.lost_values, **{f"Tag.{key}": count for key, count in tag.lost_values.items()}}
    # Pairs are counted on one side.
    pairs = {"tags": 3} if "tags" in lost else {"Tag.notes": 3}
    assert lost == {"size": 2, "links": 1, **pairs}
    assert state(path.parent) == before


def test_plan_omits_join_rows_kept_by_subentities(tmp_path: Path) -> None:
    former = {
        "Item": {"tags": "to-many Tag inverse items"},
        "Task": {"@parent": "Item"},
        "Event": {"@parent": "Item"},
        "Tag": {"items": "to-many Item inverse tags"},
    }
    wanted = {
        "Item": {},
        "Task": {"@parent": "Item", "tags": "to-many Tag inverse tasks"},
        "Event": {"@parent": "Item", "tags": "to-many Tag inverse events"},
        "Tag": {"tasks": "to-many Task inverse tags", "events": "to-many Event inverse tags"},
    }
    with Container(Model(former), tmp_path / "a.sqlite") as container:
        context = container.view_context
        context.insert("Task", tags=[context.insert("Tag"), context.insert("Tag")])
        context.save()
    assert not migration_plan(tmp_path / "a.sqlite", Model(wanted)).loses_data


def test_plan_for_the_current_model_is_empty(path: Path) -> None:
    plan = migration_plan(path, Model(FIRST))
    assert (plan.is_needed, plan.loses_data, plan.entities, plan.problems) == (False, False, [], [])


@pytest.mark.parametrize(
    ("properties", "key", "code", "words"),
    [
        ({"title": "string"}, "title", 134110, "Note.title is required, but 1 object does not have a value"),
        ({"extra": "string"}, "extra", 134110, "Note.extra is required, but 3 objects do not have a value"),
        ({"size": "int32?"}, "size", 134110, "Note.size has the value 1.5"),
    ],
)
def test_plan_lists_problems(path: Path, properties: dict[str, str], key: str, code: int, words: str) -> None:
    before = state(path.parent)
    (problem,) = migration_plan(path, changed(**properties), allow_type_changes=True).problems
    assert (problem.entity, problem.key, problem.code) == ("Note", key, code)
    assert words in problem.message
    with pytest.raises(MigrationError, match=words.replace(".", r"\.")):
        Container(changed(**properties), path, allow_type_changes=True)
    assert state(path.parent) == before


@pytest.mark.parametrize("default", ["", " = a"])
def test_plan_lists_duplicate_values(path: Path, default: str) -> None:
    """A default that fills nulls counts too."""
    wanted = Model({**FIRST, "Note": {**FIRST["Note"], "title": f"string{default or '?'}", "@unique": ["title"]}})
    (problem,) = migration_plan(path, wanted).problems
    assert (problem.entity, problem.key, problem.code) == ("Note", "title", 133021)
    count = 3 if default else 2
    assert f'{count} objects of Note would have title "a"' in problem.message
    with pytest.raises(MigrationError, match="must be unique") as raised:
        Container(wanted, path)
    assert [each.message.split(" of ")[0] for each in raised.value.details] == [f"{count} objects"]


def test_plan_fails_for_a_change_that_cannot_be_inferred(path: Path) -> None:
    with pytest.raises(MigrationError) as raised:
        migration_plan(path, changed(size="string?"))
    assert raised.value.code == 134190


def tool(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([TOOL, "migrate", *words], capture_output=True, text=True, check=False)


def model_file(folder: Path, definition: dict[str, Any]) -> Path:
    folder.mkdir()
    Model(definition).write(folder / "New.xcdatamodel")
    return folder / "New.xcdatamodel"


def test_tool_prints_the_plan(path: Path, tmp_path: Path) -> None:
    wanted = {**FIRST, "Note": {**FIRST["Note"], "title": "string", "size": "double? renaming_identifier none"}}
    target = model_file(tmp_path / "models", wanted)
    done = tool(path, "--to", target, "--plan")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.splitlines() == [
        "Note (3 objects)",
        "  size: added",
        "  size: removed, with 2 values",
        'warning: Note.size has the identifier "size" in the store\'s model, but "none" in the new one, so its values '
        'are lost; use the renaming identifier "size"',
        "problem: Note.title is required, but 1 object does not have a value; set a default value, or make the "
        "attribute optional",
    ]
    found = json.loads(tool(path, "--to", target, "--plan", "--format", "json").stdout)
    assert "statements" not in found
    assert [each["key"] for each in found["problems"]] == ["title"]
    assert found["losesData"]
    assert json.loads(tool(path, "--to", target, "--plan", "--sql", "--format", "json").stdout)["statements"]


def test_tool_makes_no_backup_of_a_store_with_problems(path: Path, tmp_path: Path) -> None:
    target = model_file(tmp_path / "models", {**FIRST, "Note": {**FIRST["Note"], "title": "string"}})
    assert tool(path, "--to", target, "--backup").returncode == 3
    assert not list(path.parent.glob(f"{path.name}.backup-*"))


def test_tool_reports_a_migration_as_json(path: Path, tmp_path: Path) -> None:
    target = model_file(tmp_path / "models", {**FIRST, "Other": {"x": "string?"}})
    done = tool(path, "--to", target, "--dry-run", "--format", "json")
    assert json.loads(done.stdout) == {"store": str(path), "migrated": False, "backup": None}
    done = tool(path, "--to", target, "--backup", "--format", "json")
    (backup,) = path.parent.glob(f"{path.name}.backup-*")
    assert json.loads(done.stdout) == {"store": str(path), "migrated": True, "backup": str(backup)}
    done = tool(path, "--to", target, "--format", "json")
    assert json.loads(done.stdout) == {"store": str(path), "migrated": False, "backup": None}
