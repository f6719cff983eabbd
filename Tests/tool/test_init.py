"""`corestone init`: the projects that it makes run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT, TOOL
from corestone import Model


def tool(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(TOOL), *words], cwd=folder, capture_output=True, text=True, check=False)


def run(command: list[str], project: Path, data: Path, **more: str) -> str:
    """Runs a project's program twice; what it printed the second time."""
    for _ in range(2):
        environment = {**os.environ, "XDG_DATA_HOME": str(data), **more}
        done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def check_printed(text: str, data: Path, application: str = "Notes") -> None:
    lines = [line for line in text.splitlines() if not line.startswith(("./", "cc ", "gcc "))]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\+00:00|Z)?", lines[-2]), lines
    assert lines[-1] == f"2 items in {data}/{application}/Notes.sqlite"


def test_python_project_runs(tmp_path: Path) -> None:
    done = tool("init", "Notes", folder=tmp_path)
    assert (done.returncode, done.stdout) == (
        0,
        "Notes: run it with python3 notes.py; edit the model with corestone model\n",
    )
    project = tmp_path / "Notes"
    assert sorted(path.name for path in project.iterdir()) == ["Notes.xcdatamodeld", "notes.py"]
    assert list(Model.load(project / "Notes.xcdatamodeld")) == ["Item"]
    check_printed(run([sys.executable, "notes.py"], project, tmp_path / "data"), tmp_path / "data", "notes")
    subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--isolated", "--target-version", "py39", "notes.py"],
        cwd=project,
        check=True,
    )


def test_python_project_uses_the_interpreter_with_the_package(tmp_path: Path) -> None:
    done = subprocess.run(
        [str(TOOL), "init", "Notes"],
        cwd=tmp_path,
        env={**os.environ, "CORESTONE_PYTHON": "/opt/venv/bin/python"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "Notes: run it with /opt/venv/bin/python notes.py; edit the model with corestone model\n"


def test_c_project_runs(tmp_path: Path) -> None:
    assert tool("init", "Notes", "--language", "c", folder=tmp_path).returncode == 0
    # The Makefile names the library of the tool's installation.
    command = ["make", "run", "CFLAGS=-Wall -Wextra -Werror -pedantic"]
    check_printed(run(command, tmp_path / "Notes", tmp_path / "deep" / "data"), tmp_path / "deep" / "data")


def test_c_project_runs_with_special_characters_in_the_prefix(tmp_path: Path) -> None:
    prefix = tmp_path / "a folder with 'quotes' and $signs"
    (prefix / "bin").mkdir(parents=True)
    shutil.copy(TOOL, prefix / "bin" / "corestone")
    for name in ("include", "lib"):
        (prefix / name).symlink_to(ROOT / "build" / name)
    made = subprocess.run(
        [str(prefix / "bin" / "corestone"), "init", "Notes", "--language", "c"], cwd=tmp_path, check=True
    )
    assert made.returncode == 0
    check_printed(run(["make", "run"], tmp_path / "Notes", tmp_path / "data"), tmp_path / "data")


@pytest.mark.skipif(shutil.which("swift") is None, reason="there is no Swift on PATH")
def test_swift_project_runs_with_the_installed_library(tmp_path: Path) -> None:
    done = tool("init", "Notes", "--language", "swift", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    check_printed(run(["swift", "run", "--quiet"], tmp_path / "Notes", tmp_path / "data"), tmp_path / "data")


@pytest.mark.skipif(shutil.which("swift") is None, reason="there is no Swift on PATH")
def test_swift_project_runs_with_the_swift_package(tmp_path: Path) -> None:
    done = tool("init", "Notes", "--language", "swift", "--corestone", str(ROOT), folder=tmp_path)
    assert done.returncode == 0, done.stderr
    # Where the README's example was built, so that the library need not be built again.
    command = ["swift", "run", "--quiet", "--scratch-path", str(ROOT / "build" / "swift" / "example")]
    check_printed(run(command, tmp_path / "Notes", tmp_path / "data"), tmp_path / "data")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["9lives"], '"9lives", the last part of FOLDER, is not a valid project name'),
        (["a-b"], '"a-b", the last part of FOLDER, is not a valid project name'),
        (["Notes", "--language", "rust"], '--language must be c, python or swift, not "rust"'),
        (["Notes", "--language", "swift", "--corestone", "/nowhere"], "cannot find the folder /nowhere of --corestone"),
        ([], "init requires FOLDER"),
    ],
)
def test_invalid_init_arguments_are_rejected(tmp_path: Path, words: list[str], message: str) -> None:
    done = tool("init", *words, folder=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert not list(tmp_path.iterdir())


def test_init_does_not_overwrite_a_folder(tmp_path: Path) -> None:
    (tmp_path / "Notes").mkdir()
    (tmp_path / "Notes" / "mine.txt").write_text("mine")
    done = tool("init", "Notes", folder=tmp_path)
    assert done.returncode == 3
    assert "cannot create the folder Notes" in done.stderr
    assert [path.name for path in (tmp_path / "Notes").iterdir()] == ["mine.txt"]
    (tmp_path / "Empty").mkdir()
    assert tool("init", "Empty", folder=tmp_path).returncode == 0
    assert tool("init", "missing/Notes", folder=tmp_path).returncode == 3


def test_store_is_in_the_home_folder_without_xdg_data_home(tmp_path: Path) -> None:
    assert tool("init", "Notes", folder=tmp_path).returncode == 0
    environment = {key: value for key, value in os.environ.items() if key != "XDG_DATA_HOME"}
    command, home = [sys.executable, "notes.py"], tmp_path / "home"
    done = subprocess.run(
        command,
        cwd=tmp_path / "Notes",
        env={**environment, "HOME": str(home)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == f"1 items in {home}/.local/share/notes/Notes.sqlite"
    assert (home / ".local" / "share" / "notes" / "Notes.sqlite").exists()
