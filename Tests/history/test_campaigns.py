"""The campaigns of this folder, short; `make check-history` runs them at length."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    "arguments",
    [["stress.py", "--seconds", "3"], ["replay.py", "--changes", "1500", "--seed", "3"], ["past.py", "--tokens", "12"]],
    ids=lambda each: each[0],
)
def test_short_campaign_succeeds(arguments: list[str]) -> None:
    command = [sys.executable, str(Path(__file__).with_name(arguments[0])), *arguments[1:]]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
