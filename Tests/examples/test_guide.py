"""The program in Swift that docs/GUIDE.md shows; scripts/check_snippets.py runs what it shows in C and Python."""

from __future__ import annotations

import subprocess
from pathlib import Path

from corestone import Model
from corestone import open as opened
from programs import built_in_swift

EMPLOYEE = {"name": "string", "age": "int32?"}


def test_swift_program_of_the_guide_runs(tmp_path: Path) -> None:
    done = subprocess.run(
        [built_in_swift("company")], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True
    )
    first, refused, *rest = done.stdout.splitlines()
    assert first == "1 employee"
    assert refused.startswith(
        'refused: the container "Company" stays open because a context has unsaved changes: 1 Employee inserted'
    )
    assert rest[-4:] == ["text(Bob) int(41)", "text(Eve) int(33)", "text(Fay) int(19)", "unsaved: false"]
    for plan in ("plan.store", "plan.xml"):
        with opened(tmp_path / plan, Model({"Department": {"name": "string"}, "Employee": EMPLOYEE})) as document:
            assert [each.name for each in document.fetch("Department")] == ["Garden"]
