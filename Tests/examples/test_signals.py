"""The notes: a program with unsaved changes that gets a signal, or ends otherwise, saves them and ends well."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from corestone import Container, Model
from programs import BUILD, ROOT, compiled

SIGNALS = ROOT / "examples" / "signals"


@pytest.fixture(scope="session")
def in_c(tmp_path_factory: pytest.TempPathFactory) -> str:
    return compiled(SIGNALS, tmp_path_factory.mktemp("signals") / "signals")


@pytest.fixture(params=["c", "python", "swift"])
def command(request: pytest.FixtureRequest) -> list[str]:
    if request.param == "c":
        return [request.getfixturevalue("in_c")]
    if request.param == "python":
        return [sys.executable, str(SIGNALS / "signals.py")]
    program = BUILD / "swift" / "example" / "debug" / "signals"
    if not program.exists():
        pytest.skip("make test builds the examples in Swift with scripts/run_example.sh; it has not yet")
    return [str(program)]


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT, None], ids=["SIGTERM", "SIGINT", "end of input"])
def test_what_is_unsaved_is_saved(command: list[str], tmp_path: Path, ending: signal.Signals | None) -> None:
    path = tmp_path / "notes.store"
    program = subprocess.Popen([*command, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert program.stdin is not None
    assert program.stdout is not None
    program.stdin.write("one\ntwo\nthree\n")
    program.stdin.flush()
    for number in range(1, 4):
        assert program.stdout.readline() == f"{number} unsaved\n"
    if ending is None:
        program.stdin.close()
    else:
        program.send_signal(ending)
    assert program.stdout.read() == "saved\n"
    assert program.wait(20) == 0
    with Container(Model({"Note": {"body": "string"}}), path) as container:
        assert [each.body for each in container.fetch("Note", sort="body")] == ["one", "three", "two"]
