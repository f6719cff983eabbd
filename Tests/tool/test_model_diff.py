"""corestone model diff and lint: with exit codes for CI."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import MODELS, ROOT, compare, make_versions, run

PACKAGES = ROOT / "examples" / "packages" / "Packages.xcdatamodeld"
ODD = MODELS / "Odd.xcdatamodel"


def edit(bundle: Path, command: str, *words: str) -> None:
    assert run("model", command, bundle, *words).returncode == 0, words


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """A bundle whose second version was edited in many ways."""
    bundle = tmp_path / "Notes.xcdatamodeld"
    edit(bundle, "new")
    edit(bundle, "add", "entity", "Note")
    edit(bundle, "add", "attribute", "Note.title", "String")
    edit(bundle, "add", "attribute", "Note.rank", "Integer 16")
    edit(bundle, "add", "entity", "Tag")
    edit(bundle, "add", "relationship", "Note.tags", "Tag", "--to-many", "--inverse", "notes", "--inverse-to-many")
    edit(bundle, "add", "version", "Notes 2")
    edit(bundle, "set", "Note.title", "optional=NO", "defaultValueString=untitled")
    edit(bundle, "rename", "Note.rank", "grade", "--keep-identity")
    edit(bundle, "add", "attribute", "Note.body", "String")
    edit(bundle, "set", "Tag", "userInfo.color=red")
    edit(bundle, "add", "index", "Note.byTitle", "title")
    return bundle


def test_two_versions(notes: Path) -> None:
    differing = run("model", "diff", notes, "--from", "Notes")
    assert (differing.returncode, differing.stderr) == (1, "")
    compare("model-diff.txt", differing.stdout)
    listed = json.loads(run("model", "diff", notes, "--from", "Notes", "--format", "json").stdout)
    lines = [("* " if each["changesHash"] else "  ") + each["text"] for each in listed]
    assert lines == differing.stdout.splitlines()
    only = run("model", "diff", notes, "--from", "Notes", "--hash-only").stdout.splitlines()
    assert only == [line for line in lines if line.startswith("*")]
    assert 0 < len(only) < len(lines)


def test_no_difference(notes: Path, tmp_path: Path) -> None:
    same = run("model", "diff", notes, notes)
    assert (same.returncode, same.stdout, same.stderr) == (0, "", "")
    assert run("model", "diff", notes, notes, "--format", "json").stdout == "[]\n"


def test_a_store_and_a_model(tmp_path: Path) -> None:
    bundle = make_versions(tmp_path)
    assert run("model", "diff", tmp_path / "App 2.sqlite", bundle, "--hash-only").returncode == 0
    older = run("model", "diff", tmp_path / "App.sqlite", bundle, "--hash-only")
    assert older.returncode == 1
    assert "size" in older.stdout


def test_lint(tmp_path: Path) -> None:
    clean = run("model", "lint", PACKAGES)
    assert clean.returncode == 0
    found = run("model", "lint", ODD)
    compare("model-lint.txt", found.stdout)
    listed = json.loads(run("model", "lint", ODD, "--format", "json").stdout)
    assert len(listed) == len(found.stdout.splitlines())
    assert found.returncode == (1 if any(each["severity"] == "error" for each in listed) else 0)
    cloud = run("model", "lint", PACKAGES, "--profile", "cloudkit")
    assert cloud.returncode == 1
    assert "[cloudkit-required]" in cloud.stdout


def test_lint_of_a_model_that_no_store_would_take(tmp_path: Path) -> None:
    model = tmp_path / "Bad.xcdatamodel"
    model.mkdir()
    index = "<fetchIndex name='i'><fetchIndexElement property='nothing' type='Binary' order='ascending'/></fetchIndex>"
    (model / "contents").write_text(f"<model><entity name='A'>{index}</entity></model>")
    found = run("model", "lint", model)
    assert found.returncode == 1
    assert "[unknown-in-index]" in found.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["diff", str(PACKAGES)], 2, "needs NEWER"),
        (["diff", str(PACKAGES), "--from", "1"], 3, "it has Packages"),
        (["diff", str(PACKAGES), str(ODD), "--format", "xml"], 2, "text or json"),
        (["lint", str(PACKAGES), "--profile", "cloudkt"], 2, 'did you mean "cloudkit"'),
        (["lint", "nothing.mom"], 3, "nothing.mom"),
    ],
)
def test_mistakes(arguments: list[str], code: int, words: str) -> None:
    found = run("model", *arguments)
    assert (found.returncode, found.stdout) == (code, "")
    assert words in found.stderr
