"""The sessions of docs/tool.md ($ before what is typed) print the documented output."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import MODELS, ROOT, TOOL


def sessions() -> list[list[tuple[str, str]]]:
    """Each a list of commands with what they print; an indented block that begins with $."""
    found: list[list[tuple[str, str]]] = []
    is_open = False
    for line in (ROOT / "docs" / "tool.md").read_text(encoding="utf-8").splitlines():
        if not line.startswith("    "):
            is_open = False
            continue
        text = line[4:]
        if text.startswith("$ "):
            if not is_open:
                found.append([])
            is_open = True
            found[-1].append((text[2:], ""))
        elif is_open:
            command, printed = found[-1][-1]
            found[-1][-1] = (command, f"{printed}{text}\n")
    return found


@pytest.mark.parametrize("session", sessions(), ids=lambda session: session[0][0][:40])
def test_documented_session_prints_its_output(session: list[tuple[str, str]], tmp_path: Path) -> None:
    shutil.copytree(MODELS / "Odd.xcdatamodel", tmp_path / "Odd.xcdatamodel")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "corestone").symlink_to(TOOL.resolve())
    places = {**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    for command, printed in session:
        # Standard error follows standard output.
        done = subprocess.run(
            ["bash", "-c", command], cwd=tmp_path, env=places, capture_output=True, encoding="utf-8", check=False
        )
        assert done.stdout + done.stderr == printed, command
