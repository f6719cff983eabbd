"""A sample of faults.py and kills.py, another one each time; `make stress-faults` runs them whole."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("program", [["faults.py", "--share", "0.05", "--least", "3"], ["kills.py", "--times", "6"]])
def test_what_is_saved(program: list[str]) -> None:
    command = [sys.executable, str(Path(__file__).with_name(program[0])), *program[1:]]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
