"""A sample of the programs beside it; `make stress-faults` and `make check-hostile` run all."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    "program",
    [
        ["faults.py", "--share", "0.05", "--least", "3"],
        ["kills.py", "--times", "8"],
        ["kills.py", "--times", "4", "--checkpoint"],
        ["damage.py", "--share", "0.02"],
        ["migrations.py", "--share", "0.005", "--kills", "8", "--cancels", "2", "--races", "8"],
        ["chains.py", "--type", "History", "--share", "0.001", "--kills", "2", "--cancels", "2", "--races", "1"],
        ["chains.py", "--type", "Stages", "--share", "0.001", "--kills", "2", "--cancels", "2", "--races", "1"],
        ["hostile.py", "--number", "6"],
    ],
    ids=lambda program: " ".join(
        each for each in program if each.endswith(".py") or each in ("--checkpoint", "History", "Stages")
    ),
)
def test_fault_injection_program_succeeds(program: list[str]) -> None:
    command = [sys.executable, str(Path(__file__).with_name(program[0])), *program[1:]]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
