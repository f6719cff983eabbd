"""corestone model diff and lint: with exit codes for CI."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

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
    edit(bundle, "rename", "Note.rank", "grade")
    edit(bundle, "add", "attribute", "Note.body", "String")
    edit(bundle, "set", "Tag", "userInfo.color=red")
    edit(bundle, "add", "index", "Note.byTitle", "title")
    return bundle


def printed(changes: list[dict[str, Any]]) -> list[str]:
    """The lines of changes, grouped by entity."""
    lines: list[str] = []
    entity = None
    for change in changes:
        if change["entity"] != entity:
            entity = change["entity"]
            lines.append(entity or "(model)")
        text = change["text"].replace(f" {entity}.", " ", 1).replace(f" {entity}:", ":", 1)
        lines.append(("  * " if change["changesHash"] else "    ") + text)
    return lines


def test_diff_lists_differences_of_two_versions(notes: Path) -> None:
    differing = run("model", "diff", notes, "--from", "Notes")
    assert (differing.returncode, differing.stderr) == (1, "")
    compare("model-diff.txt", differing.stdout)
    listed = json.loads(run("model", "diff", notes, "--from", "Notes", "--format", "json").stdout)
    assert printed(listed) == differing.stdout.splitlines()
    only = run("model", "diff", notes, "--from", "Notes", "--hash-only").stdout.splitlines()
    hashed = [each for each in listed if each["changesHash"]]
    assert only == printed(hashed)
    assert 0 < len(hashed) < len(listed)


def test_diff_of_equal_models_is_empty(notes: Path, tmp_path: Path) -> None:
    same = run("model", "diff", notes, notes)
    assert (same.returncode, same.stdout, same.stderr) == (0, "", "")
    assert run("model", "diff", notes, notes, "--format", "json").stdout == "[]\n"


def test_diff_compares_a_store_with_a_model(tmp_path: Path) -> None:
    bundle = make_versions(tmp_path)
    assert run("model", "diff", tmp_path / "App 2.sqlite", bundle, "--hash-only").returncode == 0
    older = run("model", "diff", tmp_path / "App.sqlite", bundle, "--hash-only")
    assert older.returncode == 1
    assert "size" in older.stdout


def test_lint_exit_code_depends_on_findings(tmp_path: Path) -> None:
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


def test_lint_compares_identifiers_with_former_versions(tmp_path: Path) -> None:
    bundle = tmp_path / "Notes.xcdatamodeld"
    for name, attribute in (
        ("Notes", "name='text'"),
        ("Notes 2", "name='body' elementID='text'"),
        ("Notes 10", "name='content' elementID='body'"),
    ):
        version = bundle / f"{name}.xcdatamodel"
        version.mkdir(parents=True)
        (version / "contents").write_text(
            f"<model><entity name='Note'><attribute {attribute} attributeType='String' optional='YES'/>"
            "</entity></model>"
        )
    found = run("model", "lint", bundle, "--version", "Notes 10")
    assert found.returncode == 0
    assert "Note.content" in found.stdout and 'to "text" [chained-renaming]' in found.stdout
    for former in ("Notes", "Notes 2"):
        assert "chained-renaming" not in run("model", "lint", bundle, "--version", former).stdout


def test_lint_accepts_an_invalid_model(tmp_path: Path) -> None:
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
        (["diff", str(PACKAGES)], 2, "NEWER is missing; pass a second model"),
        (["diff", str(PACKAGES), "--from", "1"], 3, 'has no version "1"; use "Packages"'),
        (["diff", str(PACKAGES), str(ODD), "--format", "xml"], 2, "text or json"),
        (["lint", str(PACKAGES), "--profile", "cloudkt"], 2, 'did you mean "cloudkit"'),
        (["lint", "nothing.mom"], 3, "nothing.mom"),
    ],
)
def test_diff_and_lint_mistakes_are_reported(arguments: list[str], code: int, words: str) -> None:
    found = run("model", *arguments)
    assert (found.returncode, found.stdout) == (code, "")
    assert words in found.stderr


def test_diff_options_select_the_versions(tmp_path: Path) -> None:
    bundle = make_versions(tmp_path)
    there, back = (f'Note\n  * attribute size: type "Integer {a}" -> "Integer {b}"\n' for a, b in ((16, 64), (64, 16)))
    for words, printed in (
        (["--from", "App"], there),
        (["--from", "App", "--to", "App 2"], there),
        (["--from", "App 2", "--to", "App"], back),
        (["--to", "App"], back),
        (["--from", "App", "--to", "App"], ""),
        ([str(bundle)], ""),
        ([str(tmp_path / "App.sqlite")], back),
        ([str(bundle), "--from", "App"], there),
    ):
        found = run("model", "diff", bundle, *words)
        assert (found.returncode, found.stdout, found.stderr) == (1 if printed else 0, printed, ""), words


def test_editor_only_differences_need_the_all_option(tmp_path: Path) -> None:
    for name, tools, position in (("1", "21513", "0"), ("2", "22522", "90")):
        model = tmp_path / f"{name}.xcdatamodel"
        model.mkdir()
        attributes = ["<attribute name='a' attributeType='Double' defaultValueString='0' syncable='YES'/>"]
        attributes.append("<attribute name='b' attributeType='String'/>")
        if name == "2":
            attributes = [attributes[1], attributes[0].replace("'0'", "'0.0'").replace(" syncable='YES'", "")]
        (model / "contents").write_text(
            f"<model lastSavedToolsVersion='{tools}'><entity name='Note'>{''.join(attributes)}</entity>"
            f"<elements><element name='Note' positionX='{position}'/></elements></model>"
        )
    words = ("model", "diff", tmp_path / "1.xcdatamodel", tmp_path / "2.xcdatamodel")
    quiet = run(*words)
    assert (quiet.returncode, quiet.stdout) == (0, "")
    assert run(*words, "--format", "json").stdout == "[]\n"
    everything = run(*words, "--all")
    assert everything.returncode == 1
    assert "lastSavedToolsVersion" in everything.stdout and "default" not in everything.stdout


def test_compiled_model_equals_its_source(notes: Path, tmp_path: Path) -> None:
    for source in (notes, PACKAGES, ODD):
        kind = "mom" if source.suffix == ".xcdatamodel" else "momd"
        compiled = tmp_path / f"{source.stem}.{kind}"
        assert run("model", "compile", source, "-o", compiled).returncode == 0
        assert run("model", "diff", source, compiled).stdout == ""
        assert run("model", "diff", compiled, source).stdout == ""


def test_diff_is_printed_as_json(notes: Path) -> None:
    listed = json.loads(run("model", "diff", notes, "--from", "Notes", "--format", "json").stdout)
    keys = ["action", "part", "entity", "name", "field", "old", "new", "changesHash", "text"]
    assert all(list(each) == keys for each in listed)
    found = {(each["action"], each["part"], each["name"], each["field"]): each for each in listed}
    grade = found["renamed", "attribute", "grade", None]
    assert (grade["entity"], grade["old"], grade["new"], grade["changesHash"]) == ("Note", "rank", "grade", True)
    assert found["added", "attribute", "body", None]["changesHash"] is True
    optional = found["changed", "attribute", "title", "optional"]
    assert (optional["old"], optional["new"], optional["changesHash"]) == (True, False, True)
    default = found["added", "attribute", "title", "default"]
    assert (default["old"], default["new"], default["changesHash"]) == (None, "untitled", False)
    assert {each["action"] for each in listed} == {"added", "changed", "renamed"}
    back = json.loads(run("model", "diff", notes, "--to", "Notes", "--format", "json").stdout)
    assert ("removed", "body") in {(each["action"], each["name"]) for each in back}


def test_lint_accepts_a_version_and_prints_json(tmp_path: Path) -> None:
    bundle = tmp_path / "Notes.xcdatamodeld"
    edit(bundle, "new")
    edit(bundle, "add", "entity", "Note")
    edit(bundle, "add", "attribute", "Note.hash", "String")
    edit(bundle, "add", "version", "Notes 2")
    edit(bundle, "rename", "Note.hash", "digest")
    current = run("model", "lint", bundle)
    assert (current.returncode, current.stdout) == (0, "")
    assert run("model", "lint", bundle, "--format", "json").stdout == "[]\n"
    former = run("model", "lint", bundle, "--version", "Notes")
    assert (
        former.returncode == 0 and former.stdout.startswith("warning: ") and former.stdout.endswith("[reserved-name]\n")
    )
    (finding,) = json.loads(run("model", "lint", bundle, "--version", "Notes", "--format", "json").stdout)
    assert list(finding) == ["rule", "severity", "entity", "key", "message", "remedy"]
    assert list(finding.values())[:4] == ["reserved-name", "warning", "Note", "hash"]
    assert former.stdout == f"warning: {finding['message']}; {finding['remedy']} [reserved-name]\n"
