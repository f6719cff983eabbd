"""Copies of the headers that a test changes, and the checks that look at them."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))


class Outcome(NamedTuple):
    """The exit status of a check, its lines on standard error, and its standard output."""

    status: int
    lines: list[str]
    output: str


class Headers:
    """A copy of include/ to be changed."""

    def __init__(self, folder: Path) -> None:
        self.include = folder / "include"
        shutil.copytree(ROOT / "include", self.include)

    def edit(self, pattern: str, replacement: str) -> None:
        """Replaces the one place in all headers that a regular expression finds."""
        found = []
        for path in self.include.rglob("*.h"):
            text = path.read_text(encoding="utf-8")
            fresh, count = re.subn(pattern, replacement, text, flags=re.DOTALL)
            if count:
                found.append((path, fresh, count))
        assert [count for _, _, count in found] == [1], f"{pattern} is in {len(found)} headers"
        found[0][0].write_text(found[0][1], encoding="utf-8")

    def edit_struct(self, name: str, pattern: str, replacement: str) -> None:
        """Replaces one place within the declaration of a struct."""
        for path in self.include.rglob("*.h"):
            text = path.read_text(encoding="utf-8")
            match = re.search(rf"typedef struct {name} \{{.*?\n\}} {name};", text, re.DOTALL)
            if match:
                fresh, count = re.subn(pattern, replacement, match.group(), flags=re.DOTALL)
                assert count == 1, f"{pattern} is in {name} {count} times"
                path.write_text(text[: match.start()] + fresh + text[match.end() :], encoding="utf-8")
                return
        raise AssertionError(f"no struct {name}")

    def check(self, script: str, *arguments: str) -> Outcome:
        """Runs a check of scripts/ on the changed headers."""
        command = [sys.executable, str(ROOT / "scripts" / script), "--include", str(self.include), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        return Outcome(done.returncode, done.stderr.splitlines(), done.stdout)


@pytest.fixture
def headers(tmp_path: Path) -> Headers:
    return Headers(tmp_path)
