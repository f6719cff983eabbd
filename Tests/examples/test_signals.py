"""The notes: a program with unsaved changes that ends or gets a signal saves or prints them."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from corestone import Container, Model
from programs import ROOT, built_in_swift, compiled

SIGNALS = ROOT / "examples" / "signals"
ENDINGS = [signal.SIGTERM, signal.SIGINT, None]


@pytest.fixture(scope="session")
def in_c(tmp_path_factory: pytest.TempPathFactory) -> str:
    return compiled(SIGNALS, tmp_path_factory.mktemp("signals") / "signals")


@pytest.fixture(scope="session")
def in_swift() -> str:
    return built_in_swift("signals")


@pytest.fixture(params=["c", "python", "swift"])
def program(request: pytest.FixtureRequest) -> list[str]:
    if request.param == "python":
        return [sys.executable, str(SIGNALS / "signals.py")]
    return [request.getfixturevalue(f"in_{request.param}")]


@pytest.fixture(params=["container", "document"])
def command(program: list[str], request: pytest.FixtureRequest) -> list[str]:
    return [*program, *(["--document"] if request.param == "document" else [])]


def notes(path: Path) -> list[str]:
    with Container(Model({"Note": {"body": "string"}}), path) as container:
        return [each.body for each in container.fetch("Note", sort="body")]


class Program:
    """The notes at work."""

    def __init__(self, command: list[str], path: Path) -> None:
        self.process = subprocess.Popen(
            [*command, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def type(self, text: str) -> None:
        """Types something, and waits until its lines are notes."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(text)
        self.process.stdin.flush()
        for _ in range(text.count("\n")):
            assert self.process.stdout.readline().endswith(" unsaved\n")

    def end(self, ending: signal.Signals | None) -> tuple[int, str, str]:
        """Ends it by a signal or by the end of its input: its status, and what it still printed."""
        if ending is not None:
            self.process.send_signal(ending)
        printed, errors = self.process.communicate(timeout=60) if ending is None else self._rest()
        return self.process.returncode, printed, errors

    def _rest(self) -> tuple[str, str]:
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        printed, errors = self.process.stdout.read(), self.process.stderr.read()
        self.process.wait(60)
        return printed, errors


def name(ending: signal.Signals | None) -> str:
    return "end of input" if ending is None else ending.name


@pytest.mark.parametrize("ending", ENDINGS, ids=name)
def test_unsaved_notes_are_saved_at_exit(command: list[str], tmp_path: Path, ending: signal.Signals | None) -> None:
    program = Program(command, tmp_path / "notes.store")
    program.type("one\ntwo\nthree\n")
    assert program.end(ending) == (0, "saved\n", "")
    assert notes(tmp_path / "notes.store") == ["one", "three", "two"]


@pytest.mark.parametrize("ending", ENDINGS, ids=name)
def test_last_line_without_newline_is_a_note(command: list[str], tmp_path: Path, ending: signal.Signals | None) -> None:
    program = Program(command, tmp_path / "notes.store")
    long = "x" * 1990 + "ü"
    program.type(f"one\n{long}\n")
    program.type("the la")
    time.sleep(0.1)  # the first part is read alone
    program.type("st")
    assert program.end(ending) == (0, "3 unsaved\nsaved\n", "")
    assert notes(tmp_path / "notes.store") == ["one", "the last", long]


@pytest.mark.parametrize("ending", ENDINGS, ids=name)
def test_notes_that_cannot_be_saved_are_printed(
    command: list[str], tmp_path: Path, ending: signal.Signals | None
) -> None:
    program = Program(command, tmp_path / "notes.store")
    program.type("one\ntwo\n" + "x" * 2001 + "\n")
    status, printed, errors = program.end(ending)
    assert (status, printed) == (1, "")
    assert "Note.body" in errors
    unsaved = sorted(line for line in errors.splitlines() if line.startswith("not saved: "))
    assert unsaved == ["not saved: one", "not saved: two", "not saved: " + "x" * 2001]
    assert notes(tmp_path / "notes.store") == []


def test_locked_store_is_reported_with_the_unsaved_notes(program: list[str], tmp_path: Path) -> None:
    """Another program holds the lock, for longer than the store waits."""
    running = Program(program, tmp_path / "notes.store")
    running.type("one\n")
    holder = sqlite3.connect(tmp_path / "notes.store", isolation_level=None)
    try:
        holder.execute("BEGIN IMMEDIATE")
        status, printed, errors = running.end(signal.SIGTERM)
    finally:
        holder.close()
    assert (status, printed) == (1, "")
    assert "notes.store" in errors
    assert errors.endswith("not saved: one\n")


def test_document_is_autosaved_before_a_power_failure(program: list[str], tmp_path: Path) -> None:
    running = Program([*program, "--document"], tmp_path / "notes.store")
    running.type("one\ntwo\n")
    deadline = time.monotonic() + 30
    while notes(tmp_path / "notes.store") != ["one", "two"]:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    running.type("three\n")
    assert running.end(signal.SIGKILL)[0] == -signal.SIGKILL
    found = notes(tmp_path / "notes.store")
    assert set(found) >= {"one", "two"}
    again = Program([*program, "--document"], tmp_path / "notes.store")
    again.type("four\n")
    assert again.end(signal.SIGTERM) == (0, "saved\n", "")
    assert notes(tmp_path / "notes.store") == sorted([*found, "four"])
