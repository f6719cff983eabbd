"""corestone model codegen --language python: its source, its types according to mypy, and its behaviour."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import MODELS, ROOT, compare, run

PACKAGES = ROOT / "examples" / "packages" / "Packages.xcdatamodeld"
ODD = MODELS / "Odd.xcdatamodel"

PROGRAM = """
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path
from uuid import UUID

from corestone import Container, Model

from odd import Note, Tag, bind
from odd._item import ItemUserInfo
from odd._note import NoteAttributes


def work(model: Path, store: Path) -> None:
    with Container(bind(Model.load(model)), store, sync="normal") as container:
        context = container.context()
        tag = Tag.insert_into(context, name="red")
        note = Note.insert_into(context, id=UUID(int=1), price=Decimal("1.5"), tags=[tag])
        note.class_ = "first"
        other = Note.insert_into(context, id=UUID(int=2))
        other.class_ = "first"
        other.context = note
        print(note.rank, note.score, note.import_, [each.name.upper() for each in note.tags], note.bytes)
        note.rank += 3
        note.import_ = True
        note.datetime = datetime(2024, 1, 1, tzinfo=timezone.utc)
        context.save()
        print(note.rank, note["rank"], note.import_, note.size, note.datetime.year)
        for found in Note.fetch_notes_of_tag(context, name="red"):
            print(type(found).__mro__[1].__name__, found.price + 1, [twin.id.int for twin in found.twins])
        for named in Tag.fetch_all_tags(context):
            print(named.name, [each.class_ for each in named.notes], named.shout())
        print(len(Note.fetch_from(context, "class == %@", "first", limit=1)))
        red = (Note.class_ == "first") & Note.tags.any(Tag.name == "red") & (Note.price > 1)
        print(red, [each.price for each in Note.fetch_from(context, red, sort=[Note.price.desc()])])
        print(Tag.notes.count() > 0, Note.context.price.is_null())
        print(NoteAttributes.import_, ItemUserInfo.color_of)
"""


def generate(model: Path, folder: Path, *more: str) -> list[str]:
    """Runs codegen; returns the names of the files that it reports."""
    written = run("model", "codegen", model, "--language", "python", "-o", folder, *more)
    assert written.returncode == 0, written.stderr
    return [Path(line).name for line in written.stdout.splitlines()]


def check_with_pyright(folder: Path) -> None:
    pytest.importorskip("basedpyright")
    settings = {"extraPaths": [str(ROOT / "bindings" / "python")], "typeCheckingMode": "standard"}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "basedpyright", "--project", "pyrightconfig.json"]
    checked = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert checked.stdout.splitlines()[-1:] == ["0 errors, 0 warnings, 0 notes"], checked.stdout


def check_types(folder: Path) -> None:
    places = {**os.environ, "MYPYPATH": str(ROOT / "bindings" / "python")}
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "."]
    checked = subprocess.run(command, cwd=folder, env=places, capture_output=True, text=True, check=False)
    assert (checked.stdout, checked.returncode) == ("", 0)


def test_generated_python_matches_expected_source(tmp_path: Path) -> None:
    folder = tmp_path / "odd"
    assert generate(ODD, folder)[:2] == ["__init__.py", "py.typed"]
    texts = [f"### {path.name}\n{path.read_text(encoding='utf-8')}" for path in sorted(folder.iterdir())]
    compare("codegen-odd.py.txt", "\n".join(texts))


def test_generated_python_runs_and_type_checks(tmp_path: Path) -> None:
    generate(ODD, tmp_path / "odd")
    human = tmp_path / "odd" / "tag.py"
    human.write_text(human.read_text() + "\n    def shout(self) -> str:\n        return self.name.upper()\n")
    program = PROGRAM + f"\n\nwork(Path({str(ODD)!r}), Path({str(tmp_path / 'odd.sqlite')!r}))\n"
    (tmp_path / "program.py").write_text(program)
    check_types(tmp_path)
    check_with_pyright(tmp_path)
    done = subprocess.run(
        [sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "0 None False ['RED'] None",
        "3 3 True 1 2024",
        "Note 2.5 [2]",
        "red ['first'] RED",
        "1",
        'class == "first" AND ANY tags.name == "red" AND price > 1 [Decimal(\'1.5\')]',
        "notes.@count > 0 context.price == nil",
        'import say "red"',
    ]


def test_generated_types_match_the_model(tmp_path: Path) -> None:
    generate(ODD, tmp_path / "odd")
    wrong = (
        "from odd import Note\ndef f(n: Note) -> int:\n    n.price = 'a'\n    return n.score + len(n.tags)\n"
        "condition = Note.price > 'a'\nif (Note.price == 1).format > 1: pass\nmore = Note.rank > 1.5\n"
        "def g(n: Note) -> None:\n    print(n.prise)\nprint(Note.prise)\n"
    )
    (tmp_path / "wrong.py").write_text(wrong)
    command = [sys.executable, "-m", "mypy", "--strict", "wrong.py"]
    checked = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "wrong.py:3: error: Incompatible types in assignment" in checked.stdout
    assert "wrong.py:4: error:" in checked.stdout
    assert "wrong.py:5: error: Unsupported operand types for >" in checked.stdout
    assert "wrong.py:6: error: Unsupported operand types for >" in checked.stdout
    assert "wrong.py:7" not in checked.stdout
    assert 'wrong.py:9: error: "Note" has no attribute "prise"' in checked.stdout
    assert 'wrong.py:10: error: "type[Note]" has no attribute "prise"' in checked.stdout


def test_fetch_without_subentities_passes_the_option(tmp_path: Path) -> None:
    model = tmp_path / "Notes.xcdatamodel"
    model.mkdir()
    requests = (
        '<fetchRequest name="own" entity="Note" includeSubentities="NO"/><fetchRequest name="all" entity="Note"/>'
    )
    (model / "contents").write_text(f'<model><entity name="Note" codeGenerationType="class"/>{requests}</model>')
    generate(model, tmp_path / "notes")
    code = (tmp_path / "notes" / "_note.py").read_text()
    own = code[code.index("def fetch_own") :]
    assert (code.count("include_subentities"), own.count("include_subentities=False")) == (1, 1)


def test_regeneration_keeps_hand_written_files(tmp_path: Path) -> None:
    generate(PACKAGES, tmp_path)
    human = tmp_path / "package.py"
    human.write_text("# mine\n")
    (tmp_path / "_package.py").write_text("changed")
    # The clock of a file system is too coarse to tell two writes that follow each other.
    for path in tmp_path.iterdir():
        os.utime(path, ns=(0, 0))
    assert generate(PACKAGES, tmp_path) == ["_package.py"]
    assert human.read_text() == "# mine\n"
    assert [path.name for path in tmp_path.iterdir() if path.stat().st_mtime_ns != 0] == ["_package.py"]


def test_entities_with_manual_code_are_skipped(tmp_path: Path) -> None:
    told = run("model", "codegen", ODD, "--language", "python", "-o", tmp_path / "odd")
    assert "code was not generated for Loose" in told.stderr
    assert "loose.py" in generate(ODD, tmp_path / "all", "--all")
    assert sorted(path.name for path in (tmp_path / "all").iterdir() if "note" in path.name) == [
        "_note.py",
        "_note.pyi",
    ]


def test_code_of_fixtures_type_checks(fixtures: Path, tmp_path: Path) -> None:
    """The code of every fixture model type-checks."""
    for number, contents in enumerate(sorted((fixtures / "source-models").rglob("contents"))[::12]):
        generate(contents.parent, tmp_path / f"m{number}", "--all")
    check_types(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["-o", "x"], 2, "--language is missing; use one of python"),
        (["--language", "pyton", "-o", "x"], 2, 'did you mean "python"'),
        (["--language", "python"], 2, "--output is missing"),
        (["--language", "python", "-o", "/nowhere/x"], 3, "cannot write /nowhere/x"),
    ],
)
def test_codegen_mistakes_are_reported(arguments: list[str], code: int, words: str) -> None:
    found = run("model", "codegen", PACKAGES, *arguments)
    assert (found.returncode, found.stdout) == (code, "")
    assert words in found.stderr


@pytest.mark.parametrize(
    ("language", "machine", "human", "beside"),
    [
        ("python", "_{}.py", "{}.py", {"__init__.py", "py.typed"}),
        ("swift", "_{}.swift", "{}.swift", set[str]()),
        ("typescript", "_{}.ts", "{}.ts", {"index.ts"}),
    ],
)
def test_codegen_kind_selects_the_generated_files(
    tmp_path: Path, language: str, machine: str, human: str, beside: set[str]
) -> None:
    """By the codegen setting of Xcode; if no entity has one, all count as Category/Extension."""
    for kinds, expected, with_all in (
        ({"A": "class", "B": "category", "C": ""}, "_A _B B", "_A _B B _C C"),
        ({"A": "", "B": ""}, "_A A _B B", "_A A _B B"),
        ({"A": "category", "B": "class"}, "_A A _B", "_A A _B"),
    ):
        model = tmp_path / "M.xcdatamodel"
        model.mkdir(exist_ok=True)
        entities = "".join(
            f"<entity name='{name}' representedClassName='{name}'"
            + (f" codeGenerationType='{kind}'/>" if kind else "/>")
            for name, kind in kinds.items()
        )
        (model / "contents").write_text(f"<model>{entities}</model>")
        for more, names in (([], expected), (["--all"], with_all)):
            folder = tmp_path / f"code{len(list(tmp_path.iterdir()))}"
            done = run("model", "codegen", model, "--language", language, "-o", folder, *more)
            by_hand = "" if more or "" not in kinds.values() or not any(kinds.values()) else "C"
            told = (
                f"corestone: code was not generated for {by_hand}, whose codegen setting is Manual/None; "
                "add --all to generate code for all entities\n"
                if by_hand
                else ""
            )
            assert (done.returncode, done.stderr) == (0, told)
            written = [path.name for path in folder.iterdir() if path.suffix != ".pyi"]
            assert sorted(map(str, done.stdout.splitlines())) == sorted(str(path) for path in folder.iterdir())
            files = {(machine if name.startswith("_") else human).format(name.lstrip("_")) for name in names.split()}
            if language == "python":
                files = {name.lower() for name in files}
            assert set(written) == files | beside, (kinds, more)


def test_name_option_sets_the_model_name(tmp_path: Path) -> None:
    for words, name in (([], "Odd"), (["--name", "Other"], "Other")):
        folder = tmp_path / name
        assert run("model", "codegen", ODD, "--language", "c", "-o", folder, *words).returncode == 0
        assert sorted(path.name for path in folder.iterdir()) == [f"{name}.h", f"_{name}.h"]
        code = (folder / f"_{name}.h").read_text(encoding="utf-8")
        assert f"{name.upper()}_IMPLEMENTATION" in code and f"{name.lower()}_bind(" in code
    refused = run("model", "codegen", ODD, "--language", "c", "-o", tmp_path / "bad", "--name", "../x")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert '--name must not be "../x", because it becomes part of file names' in refused.stderr
    assert not (tmp_path / "bad").exists()
