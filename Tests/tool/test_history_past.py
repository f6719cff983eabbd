"""`corestone history object`, `diff` and `at`: one object over time, differences, and a store as it was."""

from __future__ import annotations

import csv
import io
import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from conftest import run
from corestone import Container, Model

SPEC: dict[str, dict[str, Any]] = {
    "Note": {
        "title": "string? preserved",
        "body": "string?",
        "size": "int64?",
        "data": "binary?",
        "edited": "date?",
        "tags": "to-many Tag inverse notes",
        "folder": "to-one Folder? inverse notes",
    },
    "Memo": {"@parent": "Note"},
    "Tag": {"name": "string", "notes": "to-many Note inverse tags"},
    "Folder": {"name": "string?", "notes": "to-many Note inverse folder"},
}
WORDS = ["insert", "update", "update", "delete"]


def make(path: Path, complete: bool) -> Path:
    """Five transactions: insertions, two changes of a note, its deletion, a change of the memo."""
    with Container(Model(SPEC), path, history=True, complete_history=complete or None) as container:
        ctx = container.context()
        ctx.transaction_author = "ann"
        folder, tag = ctx.insert("Folder", name="work"), ctx.insert("Tag", name="red")
        note, memo = ctx.insert("Note", title="one", folder=folder, size=-1), ctx.insert("Memo", title="=two")
        ctx.save()
        note.title, note.body, note.tags = "uno", "text", [tag]
        ctx.save()
        ctx.transaction_author = "bob"
        note.body, note.folder, memo.data = "more", None, b"123"
        ctx.save()
        ctx.delete(note)
        ctx.save()
        memo.title = "second"
        ctx.save()
    return path


@pytest.fixture(scope="module")
def complete(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("complete") / "notes.sqlite", complete=True)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Without old values."""
    return make(tmp_path_factory.mktemp("plain") / "notes.sqlite", complete=False)


def key_of(store: Path, entity: str) -> str:
    """The first object of an entity that the history names, in its short form."""
    found = json.loads(run("history", store, "--format", "json").stdout)
    uris = [change["object"] for each in found for change in each["changes"] if change["entity"] == entity]
    return "/".join(uris[0].split("/")[-2:])


def read(*words: str | Path) -> Any:
    done = run("history", *words, "--format", "json")
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout)


def values(change: dict[str, Any]) -> dict[str, Any]:
    """By property: the known sides and the names of the unknown ones."""
    return {each.pop("property"): each for each in change["values"]}


# One object


def test_object_history_lists_changes(complete: Path) -> None:
    note = key_of(complete, "Note")
    done = run("history", "object", complete, note)
    assert (done.returncode, done.stderr) == (0, "")
    head, *lines = done.stdout.splitlines()
    assert head.split() == ["transaction", "time", "author", "change", "property", "old", "new"]
    found = [[each[0], *each[2:]] for each in (line.split() for line in lines)]
    assert ["1", "ann", "insert", "title", "one"] in found
    assert ["2", "ann", "update", "title", "one", "uno"] in found
    assert ["2", "ann", "update", "tags", "-", "-"] in found
    assert ["3", "bob", "update", "body", "text", "more"] in found
    assert ["4", "bob", "delete", "size", "-1"] in found
    # Nulls of an object that came or went are left out.
    assert not any("data" in line for line in found)


def test_object_history_is_printed_as_json(complete: Path) -> None:
    note = key_of(complete, "Note")
    found = read("object", complete, note)
    assert [each["number"] for each in found] == [1, 2, 3, 4]
    assert [each["kind"] for each in found] == WORDS
    assert [each["author"] for each in found] == ["ann", "ann", "bob", "bob"]
    assert found[0]["object"].endswith(note) and found[0]["entity"] == "Note"
    inserted = values(found[0])
    assert inserted["size"] == {"new": -1, "unknown": []}
    assert inserted["body"] == {"new": None, "unknown": []}
    assert inserted["folder"]["new"].endswith(key_of(complete, "Folder"))
    assert values(found[1]) == {
        "title": {"old": "one", "new": "uno", "unknown": []},
        "body": {"old": None, "new": "text", "unknown": []},
        "tags": {"unknown": []},
    }
    assert values(found[2])["folder"] == {"old": inserted["folder"]["new"], "new": None, "unknown": []}
    assert values(found[3])["title"] == {"old": "uno", "unknown": []}
    # The whole URI names the same object.
    assert read("object", complete, found[0]["object"]) == read("object", complete, note)


def test_object_history_is_printed_as_csv(complete: Path, plain: Path) -> None:
    done = run("history", "object", complete, key_of(complete, "Memo"), "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [row["transaction"] for row in rows if row["kind"] == "update"] == ["3", "5"]
    assert rows[-1]["old"] == "=two" and rows[-1]["new"] == "second" and rows[-1]["unknown"] == ""
    assert rows[-2]["new"] == "MTIz"
    words = ["--format", "csv", "--spreadsheet-safe", "yes"]
    done = run("history", "object", complete, key_of(complete, "Memo"), *words)
    assert list(csv.DictReader(io.StringIO(done.stdout)))[-1]["old"] == "'=two"
    done = run("history", "object", complete, key_of(complete, "Note"), *words)
    assert "-1" in [row["new"] for row in csv.DictReader(io.StringIO(done.stdout))]
    done = run("history", "object", plain, key_of(plain, "Memo"), "--format", "csv")
    row = list(csv.DictReader(io.StringIO(done.stdout)))[-1]
    assert (row["old"], row["new"], row["unknown"]) == ("", "second", "old")


def test_unknown_values_are_marked(plain: Path) -> None:
    note = key_of(plain, "Note")
    found = read("object", plain, note)
    assert [each["kind"] for each in found] == WORDS
    changed = values(found[1])
    assert changed["title"] == {"new": "uno", "unknown": ["old"]}  # preserved by the deletion
    assert changed["body"] == {"unknown": ["old", "new"]}
    assert changed["tags"] == {"unknown": []}
    lines = [line.split()[3:] for line in run("history", "object", plain, note).stdout.splitlines()]
    assert ["update", "title", "unknown", "uno"] in lines
    assert ["insert"] in lines


def test_missing_objects_are_reported(complete: Path) -> None:
    for uri, code, text in (
        ("Note/p77", 0, "does not have a change of Note/p77"),
        ("Nte/p1", 2, 'did you mean "Note"?'),
        ("Note", 2, "pass one that corestone history prints"),
        ("x-coredata://00000000-0000-0000-0000-000000000000/Note/p1", 2, "does not belong to"),
    ):
        done = run("history", "object", complete, uri)
        assert (done.returncode, text in done.stderr) == (code, True), done.stderr
    assert run("history", "object", complete, "Note/p77", "--format", "json").stdout == "[]\n"


# Differences


def test_diff_lists_changes_between_two_positions(complete: Path) -> None:
    note, memo, folder = (key_of(complete, name) for name in ("Note", "Memo", "Folder"))
    done = run("history", "diff", complete, "--from", "1")
    assert (done.returncode, done.stderr) == (1, "")
    head, *lines = [line.split() for line in done.stdout.splitlines()]
    assert head == ["object", "change", "property", "old", "new"]
    assert sorted(lines) == sorted(
        [
            [note, "delete", "folder", folder],
            [note, "delete", "size", "-1"],
            [note, "delete", "title", "one"],
            [folder, "update", "notes", note],
            [memo, "update", "data", "3", "bytes"],
            [memo, "update", "title", "=two", "second"],
        ]
    )


def test_diff_is_printed_as_json_and_csv(complete: Path) -> None:
    found = {each["entity"]: each for each in read("diff", complete, "--from", "1", "--to", "3")}
    assert {name: each["kind"] for name, each in found.items()} == dict.fromkeys(
        ["Note", "Tag", "Folder", "Memo"], "update"
    )
    uri = {name: each["object"] for name, each in found.items()}
    assert values(found["Note"]) == {
        "body": {"old": None, "new": "more", "unknown": []},
        "folder": {"old": uri["Folder"], "new": None, "unknown": []},
        "tags": {"old": [], "new": [uri["Tag"]], "unknown": []},
        "title": {"old": "one", "new": "uno", "unknown": []},
    }
    assert values(found["Memo"]) == {"data": {"old": None, "new": "MTIz", "unknown": []}}
    done = run("history", "diff", complete, "--from", "1", "--to", "3", "--entity", "Folder", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [(row["kind"], row["property"], row["old"], row["new"]) for row in rows] == [
        ("update", "notes", uri["Note"], "")
    ]


def test_exit_code_of_diff_is_1_for_differences(complete: Path) -> None:
    done = run("history", "diff", complete, "--from", "5")
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 1)
    done = run("history", "diff", complete, "--from", "0", "--entity", "Note", "--format", "json")
    assert (done.returncode, done.stdout) == (0, "[]\n")  # inserted and deleted in between


def test_diff_marks_unknown_values(plain: Path) -> None:
    found = {each["entity"]: values(each) for each in read("diff", plain, "--from", "1")}
    assert found["Memo"]["title"] == {"new": "second", "unknown": ["old"]}
    done = run("history", "diff", plain, "--from", "1", "--entity", "Memo")
    assert [key_of(plain, "Memo"), "update", "title", "unknown", "second"] in [
        line.split() for line in done.stdout.splitlines()
    ]


# A store as it was


def test_at_writes_the_former_state(complete: Path, tmp_path: Path) -> None:
    copy = tmp_path / "second.sqlite"
    done = run("history", "at", complete, "2", "--output", copy)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"{copy} is {complete} after transaction 2, ")
    notes = json.loads(run("fetch", copy, "Note", "--sort", "title", "--format", "json").stdout)
    found = [(each["title"], each["body"], each["size"]) for each in notes]
    assert found == [("=two", None, None), ("uno", "text", -1)]
    assert notes[1]["@id"].endswith(key_of(complete, "Note"))
    assert notes[1]["folder"].endswith(key_of(complete, "Folder")) and len(notes[1]["tags"]) == 1
    assert [each["number"] for each in json.loads(run("history", copy, "--format", "json").stdout)] == [1, 2]
    assert run("check", copy).returncode == 0
    assert [each.name for each in tmp_path.iterdir()] == ["second.sqlite"]
    # A store of its own, which continues.
    with Container(Model(SPEC), copy) as container:
        ctx = container.context()
        ctx.insert("Tag", name="blue")
        ctx.save()
    found = read("diff", copy, "--from", "2")
    assert [(each["kind"], each["entity"]) for each in found] == [("insert", "Tag")]


def test_positions_may_be_dates_or_tokens(complete: Path, tmp_path: Path) -> None:
    history = json.loads(run("history", complete, "--format", "json").stdout)
    places = [history[1]["time"], json.dumps({history[1]["store"]: 2})]
    for number, place in enumerate(places):
        done = run("history", "at", complete, place, "-o", tmp_path / f"{number}.sqlite")
        assert "after transaction 2, " in done.stdout, done.stderr
        assert read("diff", complete, "--from", place, "--to", "2") == []
    done = run("history", "at", complete, "2001-01-02", "-o", tmp_path / "early.sqlite")
    assert (done.returncode, "choose a later date" in done.stderr) == (3, True)
    # A date without a time of day begins the day, in UTC.
    day = history[0]["time"].partition("T")[0]
    done = run("history", complete, "--since", day, "--format", "json")
    assert len(json.loads(done.stdout)) == 5


def test_unknown_values_are_null_in_the_copy(plain: Path, tmp_path: Path) -> None:
    copy = tmp_path / "first.sqlite"
    done = run("history", "at", plain, "1", "-o", copy)
    assert done.returncode == 0
    assert "values of" in done.stderr and "are unknown" in done.stderr
    assert f"are null in {copy}" in done.stderr and "complete_history=True" in done.stderr
    notes = json.loads(run("fetch", copy, "Note", "--format", "json").stdout)
    assert [each["title"] for each in notes] == [None, None]
    assert run("check", copy).returncode == 0
    done = run("history", "at", plain, "5", "-o", tmp_path / "last.sqlite")
    assert (done.returncode, done.stderr) == (0, "")


def test_history_commands_do_not_change_the_store_folder(complete: Path, tmp_path: Path) -> None:
    folder = complete.parent
    before = {each.name: each.read_bytes() for each in folder.iterdir()}
    own = tmp_path / "tmp"
    own.mkdir()
    places = {**os.environ, "TMPDIR": str(own)}
    folder.chmod(0o500)
    try:
        note = key_of(complete, "Note")
        assert run("history", "object", complete, note, env=places).returncode == 0
        assert run("history", "diff", complete, "--from", "1", env=places).returncode == 1
        assert run("history", "at", complete, "1", "-o", tmp_path / "copy.sqlite", env=places).returncode == 0
    finally:
        folder.chmod(0o700)
    assert {each.name: each.read_bytes() for each in folder.iterdir()} == before
    assert list(own.iterdir()) == []


# Mistakes


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (["diff"], 2, "--from is missing"),
        (["diff", "--from", "9"], 2, "the last transaction of"),
        (["diff", "--from", "1", "--to", "9"], 2, "--to is 9"),
        (["diff", "--from", "yesterday"], 2, "--from must be a transaction number"),
        (["diff", "--from", "3", "--to", "1"], 2, "exchange the two"),
        (["diff", "--from", "1", "--entity", "Nte"], 2, 'did you mean "Note"?'),
        (["diff", "--from", '{"00000000-0000-0000-0000-000000000000": 1}'], 3, "pass a token of this store"),
        (["at"], 2, "--output is missing"),
    ],
)
def test_history_mistakes_are_reported(complete: Path, words: list[str], code: int, text: str) -> None:
    place = ["1"] if words == ["at"] else []
    done = run("history", words[0], complete, *place, *words[1:])
    assert (done.returncode, text in done.stderr) == (code, True), done.stderr


def test_at_does_not_replace_a_file(complete: Path, tmp_path: Path) -> None:
    there = tmp_path / "there.sqlite"
    there.write_text("mine")
    done = run("history", "at", complete, "1", "-o", there)
    assert (done.returncode, "choose another path" in done.stderr) == (2, True)
    assert there.read_text() == "mine"
    done = run("history", "at", complete, "1", "-o", tmp_path / "missing" / "copy.sqlite")
    assert (done.returncode, "create the folder first" in done.stderr) == (3, True)
    done = run("history", "at", complete, "7", "-o", tmp_path / "copy.sqlite")
    assert (done.returncode, "pass a number up to 5" in done.stderr) == (2, True)


def test_store_without_history_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "plain.sqlite"
    Container(Model(SPEC), path).close()
    for command, *words in (("object", "Note/p1"), ("diff", "--from", "0"), ("at", "0", "-o", f"{tmp_path}/copy")):
        done = run("history", command, path, *words)
        assert done.returncode == 3
        assert "does not have a persistent history; open it once with CST_STORE_HISTORY" in done.stderr


def test_deleted_transactions_are_reported(complete: Path, tmp_path: Path) -> None:
    path = tmp_path / "short.sqlite"
    assert run("copy", complete, path).returncode == 0
    assert run("history", "purge", path, "--keep", "2").returncode == 0
    done = run("history", "diff", path, "--from", "1")
    assert (done.returncode, "were deleted" in done.stderr) == (3, True)
    assert [each["number"] for each in read("object", path, key_of(path, "Memo"))] == [5]
    assert run("history", "diff", path, "--from", "3").returncode == 1


def test_transaction_without_old_values_gives_unknown_values(complete: Path, tmp_path: Path) -> None:
    """One transaction whose old values another program did not keep."""
    path = tmp_path / "mixed.sqlite"
    assert run("copy", complete, path).returncode == 0
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("DELETE FROM CST_HISTORYVALUE WHERE ZTRANSACTION = 5")
        file.execute("UPDATE CST_HISTORYSPAN SET ZLAST = 4")
    found = read("object", path, key_of(path, "Memo"))
    assert values(found[-1])["title"] == {"new": "second", "unknown": ["old"]}
    done = run("history", "at", path, "4", "-o", tmp_path / "copy.sqlite")
    assert "1 value of 1 object is unknown" in done.stderr


def test_stores_may_have_the_names_of_commands(tmp_path: Path, complete: Path) -> None:
    for name in ("at", "diff", "object"):
        (tmp_path / name).write_bytes(complete.read_bytes())
        done = run("history", f"./{name}", cwd=tmp_path)
        assert done.returncode == 0 and "insert" in done.stdout
        assert run("help", "history", name).stdout.splitlines()[2].startswith("Usage")
