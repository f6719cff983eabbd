"""A short run of processes.py, for each way in which a store can be kept."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

THREADS = ["--processes", "1", "--threads", "8"]


TYPES = [["--type", "XML"], ["--type", "Binary"]]


@pytest.mark.parametrize(
    "options",
    [[], ["--journal", "rollback"], ["--history"], *TYPES],
    ids=["log", "journal", "history", "XML", "Binary"],
)
def test_two_processes_share_a_store(options: list[str]) -> None:
    run(options)


@pytest.mark.parametrize("options", [[], ["--journal", "rollback"], *TYPES], ids=["log", "journal", "XML", "Binary"])
def test_eight_threads_share_a_store(options: list[str]) -> None:
    run([*THREADS, *options])


def run(options: list[str]) -> None:
    program = Path(__file__).with_name("processes.py")
    command = [sys.executable, str(program), "--seconds", "3", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
