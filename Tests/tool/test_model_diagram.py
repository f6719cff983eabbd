"""corestone model diagram: pictures of models, through Graphviz."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from conftest import ROOT, compare, run

PACKAGES = ROOT / "examples" / "packages" / "Packages.xcdatamodeld"


def test_dot_output_matches_expected_text() -> None:
    drawn = run("model", "diagram", PACKAGES)
    assert (drawn.returncode, drawn.stderr) == (0, "")
    compare("model-diagram.dot", drawn.stdout)


def test_diagram_can_be_drawn_from_a_store(zoo: Path) -> None:
    drawn = run("model", "diagram", zoo)
    assert (drawn.returncode, drawn.stderr) == (0, "")
    assert drawn.stdout.count("arrowtail=onormal") == 1
    assert '"Animal subentities" -> "Bird":title' in drawn.stdout


def test_file_extension_selects_the_image_format(tmp_path: Path) -> None:
    for name, beginning in (("a.svg", b"<?xml"), ("a.png", b"\x89PNG"), ("A.PDF", b"%PDF"), ("a.dot", b"digraph")):
        drawn = run("model", "diagram", PACKAGES, "-o", tmp_path / name)
        assert (drawn.returncode, drawn.stdout, drawn.stderr) == (0, "", "")
        assert (tmp_path / name).read_bytes().startswith(beginning)
    assert sorted(os.listdir(tmp_path)) == ["A.PDF", "a.dot", "a.png", "a.svg"]
    svg = (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert ">installedSize<" in svg and ">Integer 64<" in svg.replace("\N{NO-BREAK SPACE}", "").replace("&#160;", "")


def test_diagrams_of_fixtures_with_inheritance_are_drawn(fixtures: Path, tmp_path: Path) -> None:
    drawn = 0
    for bundle in sorted((fixtures / "source-models").rglob("*.xcdatamodeld")):
        told = run("model", "diagram", bundle)
        if told.returncode == 0 and "arrowtail=onormal" in told.stdout and drawn < 5:
            assert run("model", "diagram", bundle, "--output", tmp_path / "a.svg").returncode == 0
            drawn += 1
    assert drawn == 5


def test_missing_graphviz_is_reported(tmp_path: Path) -> None:
    drawn = run("model", "diagram", PACKAGES, "-o", tmp_path / "a.svg", env={**os.environ, "PATH": str(tmp_path)})
    assert drawn.returncode == 3
    assert "Graphviz is not installed" in drawn.stderr and "apt-get install graphviz" in drawn.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["model"], 2, "corestone model diagram"),
        (["modle", "diagram"], 2, 'did you mean "model"'),
        (["model", "diagrm"], 2, 'did you mean "model diagram"'),
        (["model", "--all"], 2, 'model does not have an option "--all"'),
        (["model", "diagram"], 2, "MODEL"),
        (["model", "diagram", str(PACKAGES), "-o"], 2, "-o requires a value: FILE"),
        (["model", "diagram", str(PACKAGES), "-x"], 2, 'does not have an option "-x"'),
        (["model", "diagram", str(PACKAGES), "-o", "a.gif"], 2, ".svg, .png, .pdf or .dot"),
        (["model", "diagram", str(PACKAGES), "-o", "/nowhere/a.dot"], 3, "cannot write /nowhere/a.dot"),
        (["model", "diagram", str(PACKAGES), "-o", "/nowhere/a.svg"], 3, "/nowhere/a.svg"),
        (["model", "diagram", str(PACKAGES), "--version", "2"], 3, 'has no version "2"; use "Packages"'),
    ],
)
def test_diagram_mistakes_are_reported(arguments: list[str], code: int, words: str) -> None:
    found = run(*arguments)
    assert (found.returncode, found.stdout) == (code, "")
    assert words in found.stderr
