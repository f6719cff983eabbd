"""corestone model codegen --language typescript: its source, and its types according to tsc, if that is installed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import MODELS, compare, run

ODD = MODELS / "Odd.xcdatamodel"
TSC = shutil.which("tsc")
RIGHT = """
import { NoteAttributes, NoteFetchRequests } from "./odd/index.js";
import type { Item, Note, NoteInput, Tag } from "./odd/index.js";
const id = "00000000-0000-0000-0000-000000000001";
export const note: NoteInput = { id, class: "first", price: "1.5", tags: [{ name: "red" }, "x-coredata://s/Tag/p1"] };
export function item(read: Note): Item { return read; }
export function names(read: Tag): string[] { return read.notes; }
export const price: "price" = NoteAttributes.price;
export const predicate: string = NoteFetchRequests.NotesOfTag.predicate;
"""
WRONG = """
import type { NoteInput } from "./odd/index.js";
export const note: NoteInput = { id: "00000000-0000-0000-0000-000000000001", class: "first", price: 1.5 };
"""


def generate(model: Path, folder: Path, *more: str) -> list[str]:
    """Runs codegen; returns the names of the files that it reports."""
    written = run("model", "codegen", model, "--language", "typescript", "-o", folder, *more)
    assert written.returncode == 0, written.stderr
    return [Path(line).name for line in written.stdout.splitlines()]


def check_types(folder: Path, *files: Path) -> str:
    """Returns the complaints of the TypeScript compiler."""
    assert TSC is not None
    command = [
        TSC,
        "--noEmit",
        "--strict",
        "--target",
        "es2020",
        "--module",
        "nodenext",
        "--moduleResolution",
        "nodenext",
    ]
    (folder / "package.json").write_text('{"type": "module"}')
    done = subprocess.run([*command, *map(str, files)], cwd=folder, capture_output=True, text=True, check=False)
    return done.stdout


def test_generated_typescript_matches_expected_source(tmp_path: Path) -> None:
    folder = tmp_path / "odd"
    assert generate(ODD, folder)[0] == "index.ts"
    texts = [f"### {path.name}\n{path.read_text(encoding='utf-8')}" for path in sorted(folder.iterdir())]
    compare("codegen-odd.ts.txt", "\n".join(texts))


def test_typescript_names_are_not_reserved_words(tmp_path: Path) -> None:
    model = tmp_path / "M.xcdatamodel"
    model.mkdir()
    entities = "".join(f"<entity name='{name}' codeGenerationType='class'/>" for name in ("string", "Index", "index"))
    (model / "contents").write_text(f"<model>{entities}</model>")
    assert sorted(generate(model, tmp_path / "m")) == ["_Index_.ts", "_index__.ts", "_string_.ts", "index.ts"]
    assert "export interface string_ {" in (tmp_path / "m" / "_string_.ts").read_text()


@pytest.mark.skipif(TSC is None, reason="tsc is not installed")
def test_generated_typescript_type_checks(tmp_path: Path) -> None:
    generate(ODD, tmp_path / "odd")
    (tmp_path / "right.ts").write_text(RIGHT)
    (tmp_path / "wrong.ts").write_text(WRONG)
    assert check_types(tmp_path, tmp_path / "right.ts") == ""
    assert "Type 'number' is not assignable to type 'string'" in check_types(tmp_path, tmp_path / "wrong.ts")


@pytest.mark.skipif(TSC is None, reason="tsc is not installed")
def test_typescript_of_fixtures_type_checks(fixtures: Path, tmp_path: Path) -> None:
    for number, contents in enumerate(sorted((fixtures / "source-models").rglob("contents"))[::12]):
        generate(contents.parent, tmp_path / f"m{number}", "--all")
    assert check_types(tmp_path, *tmp_path.rglob("*.ts")) == ""
