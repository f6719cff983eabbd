"""corestone model codegen --language swift: the files that Tests/CorestoneTests compiles and puts to work."""

from __future__ import annotations

import os
from pathlib import Path

from conftest import MODELS, ROOT, run

GENERATED = ROOT / "Tests" / "CorestoneTests" / "Generated"


def test_what_is_compiled_is_what_is_written(tmp_path: Path) -> None:
    folder = GENERATED if os.environ.get("CORESTONE_WRITE_GOLDEN") else tmp_path
    written = run("model", "codegen", MODELS / "Odd.xcdatamodel", "--language", "swift", "-o", folder)
    assert written.returncode == 0, written.stderr
    assert {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()} == {
        path.name: path.read_text(encoding="utf-8") for path in GENERATED.iterdir()
    }
