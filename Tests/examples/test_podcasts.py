"""The program of examples/podcasts, which checks the results of its steps itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import corestone
import pytest
from programs import ROOT

PROGRAM = ROOT / "examples" / "podcasts" / "podcasts.py"
STEPS = ["import", "search", "months", "edit", "validate", "background", "history", "arrow", "copy", "page"]


@pytest.mark.parametrize("accelerator", ["0", "1"])
def test_podcast_library_runs_all_steps(tmp_path: Path, accelerator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CORESTONE_ACCELERATOR", accelerator)
    folder = tmp_path / "library"
    done = subprocess.run([sys.executable, str(PROGRAM), str(folder)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert [line.split()[0] for line in done.stdout.splitlines() if not line.startswith(" ")] == STEPS
    assert corestone.check(folder / "podcasts.sqlite") == []
    assert "<table" in (folder / "podcasts.html").read_text(encoding="utf-8")
