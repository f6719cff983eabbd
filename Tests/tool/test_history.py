"""`corestone history`: the changes of a store with author and time; purges and sizes."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
from pathlib import Path

import pytest
from conftest import TOOL, run
from corestone import Container, Model

NOTES = {"Note": {"title": "string? preserved", "body": "string?"}, "Memo": {"@parent": "Note"}}


def container(path: Path) -> Container:
    return Container(Model(NOTES), path, history=True)


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """Three transactions: two insertions, a change, a deletion."""
    path = tmp_path / "notes.sqlite"
    with container(path) as opened:
        ctx = opened.context()
        ctx.transaction_author = "ann"
        first = ctx.insert("Note", title="one")
        ctx.insert("Memo", title="=two")
        ctx.save()
        first.body = "text"
        ctx.save()
        ctx.transaction_author = None
        ctx.delete(first)
        ctx.save()
    return path


def test_history_prints_a_line_per_change(notes: Path) -> None:
    done = run("history", notes)
    assert done.returncode == 0, done.stderr
    head, *lines = done.stdout.splitlines()
    assert head.split() == ["transaction", "time", "author", "change", "object", "properties"]
    words = [line.split() for line in lines]
    assert [[each[0], *each[2:]] for each in words] == [
        ["1", "ann", "insert", "Note/p1"],
        ["1", "ann", "insert", "Memo/p2"],
        ["2", "ann", "update", "Note/p1", "body"],
        ["3", "delete", "Note/p1", "title", "one"],
    ]


def test_json_and_csv_have_all_fields(notes: Path) -> None:
    found = json.loads(run("history", notes, "--format", "json").stdout)
    assert [each["number"] for each in found] == [1, 2, 3]
    assert [each["author"] for each in found] == ["ann", "ann", None]
    assert found[1]["changes"][0]["updatedProperties"] == ["body"]
    deletion = found[2]["changes"][0]
    assert (deletion["kind"], deletion["tombstone"]) == ("delete", {"title": "one"})
    assert deletion["object"].startswith("x-coredata://" + found[2]["store"])
    rows = list(csv.DictReader(io.StringIO(run("history", notes, "--format", "csv").stdout)))
    assert [row["kind"] for row in rows] == ["insert", "insert", "update", "delete"]
    assert rows[2]["properties"] == "body"
    assert json.loads(rows[3]["tombstone"]) == {"title": "one"}


@pytest.mark.parametrize(
    ("options", "numbers"),
    [
        (["--since", "1"], [2, 3]),
        (["--since", "2001-01-01T00:00:00Z"], [1, 2, 3]),
        (["--author", "ann"], [1, 2]),
        (["--exclude-author", "ann"], [3]),
        (["--entity", "Memo"], [1]),
        (["--entity", "Memo", "--entity", "Note", "--author", "ann", "--since", "1"], [2]),
        (["--limit", "2"], [1, 2]),
    ],
)
def test_options_select_parts_of_the_history(notes: Path, options: list[str], numbers: list[int]) -> None:
    found = json.loads(run("history", notes, "--format", "json", *options).stdout)
    assert [each["number"] for each in found] == numbers


def test_token_is_accepted_as_a_position(notes: Path) -> None:
    store = json.loads(run("history", notes, "--format", "json").stdout)[0]["store"]
    found = json.loads(run("history", notes, "--since", json.dumps({store: 2}), "--format", "json").stdout)
    assert [each["number"] for each in found] == [3]
    done = run("history", notes, "--since", "9")
    assert (done.returncode, "has expired" in done.stderr) == (3, True)
    done = run("history", notes, "--since", "yesterday")
    assert (done.returncode, "--since must be" in done.stderr) == (2, True)


def test_store_without_history_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "plain.sqlite"
    Container(Model(NOTES), path).close()
    for command in (["history"], ["history", "size"], ["history", "purge", "--all"]):
        done = run(*command, path)
        assert (done.returncode, "does not have a persistent history" in done.stderr) == (3, True)


def test_follow_prints_saves_of_other_processes(notes: Path) -> None:
    tool = subprocess.Popen(
        [str(TOOL), "history", str(notes), "--follow", "--format", "json", "--since", "3"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ,
    )  # fmt: skip
    assert tool.stdout is not None
    with container(notes) as opened:
        ctx = opened.context()
        for number in range(3):
            ctx.insert("Note", title=f"later {number}")
            ctx.save()
            line = json.loads(tool.stdout.readline())
            assert line["number"] == 4 + number
    tool.send_signal(signal.SIGTERM)  # a background shell has children ignore SIGINT
    tool.wait(timeout=20)
    assert tool.stderr is not None and tool.stderr.read() == ""


def test_purge_deletes_transactions_and_size_counts_them(notes: Path) -> None:
    size = json.loads(run("history", "size", notes, "--format", "json").stdout)
    assert (size["transactions"], size["changes"], size["consumers"]) == (3, 4, [])
    assert size["bytes"] > 0 and size["oldest"] <= size["newest"]
    done = run("history", "purge", notes)
    assert (done.returncode, "needs a limit" in done.stderr) == (2, True)
    assert run("history", "purge", notes, "--older-than", "1").stdout == "deleted 0 transactions with 0 changes\n"
    assert run("history", "purge", notes, "--keep", "1").stdout == "deleted 2 transactions with 3 changes\n"
    assert "1 transaction with 1 change" in run("history", "size", notes).stdout
    done = run("history", notes, "--since", "1")
    assert (done.returncode, "were deleted" in done.stderr) == (3, True)
    report = json.loads(run("history", "purge", notes, "--all", "--format", "json").stdout)
    assert (report["transactions"], report["heldBy"], report["expired"]) == (1, None, [])


def test_store_may_be_named_purge(tmp_path: Path, notes: Path) -> None:
    notes.rename(tmp_path / "purge")
    done = subprocess.run([str(TOOL), "history", "./purge"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "insert" in done.stdout
    assert run("help", "history", "purge").stdout.startswith("Delete old transactions")
