"""Output files of the tool: pipes, links, incomplete dumps, and removal of unused new stores."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import TOOL, run
from corestone import Container, Model

SPEC = {"Note": {"text": "string", "data": "binary? external"}}
BAD = '{"@entity":"Note"}\n'
GOOD = '{"@entity":"Note","text":"precious"}\n'


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    path = tmp_path / "notes.sqlite"
    with Container(Model(SPEC), path) as container:
        context = container.context()
        context.insert("Note", text="a", data=b"x" * 500_000)
        context.insert("Note", text="b")
        context.save()
    return path


def started(*words: object) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    # A shell begins what runs in the background with SIGINT ignored, and children keep that.
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return subprocess.Popen([TOOL, *map(str, words)], stdin=pipe, stdout=pipe, stderr=pipe, text=True)
    finally:
        signal.signal(signal.SIGINT, former)


def wait_for(path: Path) -> None:
    for _ in range(6000):
        if path.exists():
            return
        time.sleep(0.01)
    raise AssertionError(f"{path} was not made")


def names(folder: Path) -> set[str]:
    return {each.name for each in folder.iterdir()}


def test_dump_writes_to_a_pipe(notes: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    done = run("dump", notes, "-o", pipe)
    reader.join()
    assert done.returncode == 0 and pipe.is_fifo()
    assert read == [run("dump", notes).stdout]
    assert names(tmp_path) == {"notes.sqlite", ".notes_SUPPORT", "pipe"}


@pytest.mark.parametrize("there", [True, False])
def test_dump_follows_symbolic_links(notes: Path, tmp_path: Path, there: bool) -> None:
    (tmp_path / "folder").mkdir()
    file = tmp_path / "folder" / "real.jsonl"
    if there:
        file.write_text("old")
    (tmp_path / "second").symlink_to("folder/real.jsonl")
    (tmp_path / "first").symlink_to(tmp_path / "second")
    assert run("dump", notes, "-o", tmp_path / "first").returncode == 0
    assert (tmp_path / "first").is_symlink() and (tmp_path / "second").is_symlink()
    assert file.read_text() == run("dump", notes).stdout


def test_pipe_is_rejected_as_a_store(notes: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    refused = run("load", pipe, "--model", notes, input=BAD)
    assert refused.returncode != 0 and "cannot be a store" in refused.stderr
    assert pipe.is_fifo()


@pytest.mark.parametrize("words", [["-o", "dump.jsonl"], ["-o", "tables", "--format", "csv"]])
def test_incomplete_dump_does_not_replace_a_file(
    notes: Path, tmp_path: Path, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("dump", notes, *words).returncode == 0
    target = tmp_path / "dump.jsonl" if words[1] == "dump.jsonl" else tmp_path / "tables" / "Note.csv"
    before = target.read_bytes()
    for file in (tmp_path / ".notes_SUPPORT" / "_EXTERNAL_DATA").iterdir():
        file.unlink()
    refused = run("dump", notes, *words)
    assert refused.returncode == 3 and "was not written" in refused.stderr and "Note.data" in refused.stderr
    assert target.read_bytes() == before
    assert names(target.parent) >= {target.name} and not list(target.parent.glob("*.tmp"))
    refused = run("dump", notes, "-o", "new", "--format", "csv")
    assert refused.returncode == 3 and not (tmp_path / "new").exists()


@pytest.mark.parametrize("kind", ["SQLite", "XML"])
def test_failed_load_removes_only_the_store_it_created(notes: Path, tmp_path: Path, kind: str) -> None:
    store = tmp_path / "new.store"
    before = names(tmp_path)
    assert run("load", store, "--type", kind, "--model", notes, input=BAD).returncode == 1
    assert names(tmp_path) == before
    if kind == "XML":
        return
    first = started("load", store, "--type", kind, "--model", notes)
    wait_for(store)
    time.sleep(0.2)
    assert run("load", store, "--model", notes, input=GOOD).returncode == 0
    first.communicate(BAD)
    assert first.returncode == 1
    assert "precious" in run("dump", store).stdout


def test_type_option_must_match_an_existing_store(notes: Path) -> None:
    refused = run("load", notes, "--type", "XML", input=GOOD)
    assert refused.returncode == 2 and "of type SQLite" in refused.stderr
    assert run("load", notes, "--type", "sqlite", input=GOOD).returncode == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_load_leaves_no_files(notes: Path, tmp_path: Path, number: int) -> None:
    before = names(tmp_path)
    store = tmp_path / "new.sqlite"
    load = started("load", store, "--model", notes)
    wait_for(store)
    time.sleep(0.3)
    load.send_signal(number)
    load.wait(20)
    load.communicate()
    assert load.returncode == -number
    assert names(tmp_path) == before


@pytest.fixture
def many(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "many.sqlite"
    lines = "".join(f'{{"@entity":"Note","text":"{number}"}}\n' for number in range(60_000))
    with Container(Model(SPEC), tmp_path / "model.sqlite"):
        pass
    assert run("load", path, "--model", tmp_path / "model.sqlite", input=lines).returncode == 0
    yield path


@pytest.mark.parametrize(
    "words", [["dump", "-o", "out.jsonl"], ["convert", "out.sqlite"], ["convert", "out.xml", "--through", "SQLite"]]
)
def test_interrupted_command_leaves_no_files(many: Path, tmp_path: Path, words: list[str]) -> None:
    before = names(tmp_path)
    rest = [tmp_path / word if word.startswith("out") else word for word in words[1:]]
    command = started(words[0], many, *rest)
    for _ in range(2000):
        if names(tmp_path) != before:
            break
        time.sleep(0.005)
    command.send_signal(signal.SIGINT)
    command.communicate(timeout=60)
    assert command.returncode == -signal.SIGINT
    assert names(tmp_path) == before
