"""corestone model codegen --language c: the header that Tests/C puts to work, and how strictly it compiles."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from conftest import MODELS, ROOT, run

GENERATED = ROOT / "Tests" / "C" / "generated"
PACKAGES = ROOT / "examples" / "packages" / "Packages.xcdatamodeld"


def generate(model: Path, folder: Path, *more: str) -> None:
    written = run("model", "codegen", model, "--language", "c", "-o", folder, *more)
    assert written.returncode == 0, written.stderr


def check_compiles(header: Path) -> None:
    name = header.stem.lstrip("_")
    source = f'#define {name.upper()}_IMPLEMENTATION\n#include "{header.name}"\nint main(void) {{ return 0; }}\n'
    strict = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", f"-I{ROOT / 'include'}", f"-I{header.parent}"]
    command = ["gcc", *strict, "-fsyntax-only", "-xc", "-"]
    compiled = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
    assert (compiled.stderr, compiled.returncode) == ("", 0)


def test_what_is_compiled_is_what_is_written(tmp_path: Path) -> None:
    folder = GENERATED if os.environ.get("CORESTONE_WRITE_GOLDEN") else tmp_path
    generate(MODELS / "Odd.xcdatamodel", folder)
    assert {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()} == {
        path.name: path.read_text(encoding="utf-8") for path in GENERATED.iterdir()
    }


def test_headers_are_strict_c99(tmp_path: Path) -> None:
    check_compiles(GENERATED / "Odd.h")
    generate(PACKAGES, tmp_path)
    check_compiles(tmp_path / "Packages.h")


def test_of_fixtures(fixtures: Path, tmp_path: Path) -> None:
    for number, contents in enumerate(sorted((fixtures / "source-models").rglob("contents"))[::8]):
        generate(contents.parent, tmp_path / f"m{number}", "--all", "--name", f"M{number}")
        check_compiles(tmp_path / f"m{number}" / f"_M{number}.h")
