"""The types of the package, according to mypy and pyright: a program that both accept, and planted mistakes.

Pyright is run as basedpyright, whose package contains Node.js, so that no test downloads anything.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from checkout import ROOT
from conftest import Run

import corestone
from corestone import Container, InvalidArgumentError, ManagedObject, Model

PROGRAMS = Path(__file__).parent / "typed_programs"
PACKAGE = ROOT / "bindings" / "python"
MARK = re.compile(r"# ([a-z-]+) \| (report\w+)$")

# The module of the classes, and the prefix of the programs that use it.
BOTH = pytest.mark.parametrize(("classes", "prefix"), [("library.py", ""), ("shop.py", "shop_")])

# By line: the rules of the reported mistakes.
Reports = dict[int, set[str]]


def mypy(folder: Path, *files: str) -> tuple[Reports, str]:
    """Returns the rules that mypy reports in the last of the files, by line, and all of its output."""
    command = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "--hide-error-context", *files]
    places = {**os.environ, "MYPYPATH": str(PACKAGE)}
    told = subprocess.run(command, cwd=folder, env=places, capture_output=True, text=True, check=False)
    found: Reports = {}
    for line, rule in re.findall(rf"^{re.escape(files[-1])}:(\d+): error: .*\[([a-z-]+)\]$", told.stdout, re.M):
        found.setdefault(int(line), set()).add(rule)
    return found, told.stdout + told.stderr


def pyright(folder: Path, tmp_path: Path, *files: str) -> tuple[Reports, str]:
    """Returns the same of pyright in its strict mode."""
    pytest.importorskip("basedpyright")
    settings = tmp_path / "pyrightconfig.json"
    settings.write_text(
        json.dumps(
            {
                "extraPaths": [str(PACKAGE), str(folder)],
                "typeCheckingMode": "strict",
                "pythonPath": sys.executable,
            }
        )
    )
    command = [sys.executable, "-m", "basedpyright", "--project", str(settings), "--outputjson", *files]
    told = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    found: Reports = {}
    lines = []
    for each in json.loads(told.stdout)["generalDiagnostics"]:
        line, rule = each["range"]["start"]["line"] + 1, each.get("rule", "")
        lines.append(f"{Path(each['file']).name}:{line}: {each['message']} [{rule}]")
        if Path(each["file"]).name == files[-1]:
            found.setdefault(line, set()).add(rule)
    return found, "\n".join(lines)


def marked(path: Path) -> dict[int, tuple[str, str]]:
    lines = enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
    return {number: (found[1], found[2]) for number, line in lines if (found := MARK.search(line))}


@BOTH
def test_mypy_accepts_the_typed_program(classes: str, prefix: str) -> None:
    assert mypy(PROGRAMS, classes, prefix + "accepted.py")[1] == "Success: no issues found in 2 source files\n"


@BOTH
def test_pyright_accepts_the_typed_program(tmp_path: Path, classes: str, prefix: str) -> None:
    assert pyright(PROGRAMS, tmp_path, classes, prefix + "accepted.py") == ({}, "")


@BOTH
def test_typed_program_runs(run_python: Run, tmp_path: Path, classes: str, prefix: str) -> None:
    """A name that only type checkers know would fail here."""
    program = (
        f"import runpy, sys; sys.path.insert(0, {str(PROGRAMS)!r}); sys.argv = ['', {str(tmp_path / 'a.store')!r}]"
    )
    ran = run_python(program + f"; runpy.run_path({str(PROGRAMS / (prefix + 'accepted.py'))!r}, run_name='__main__')")
    assert (ran.returncode, ran.stderr) == (0, "")


@BOTH
def test_mypy_reports_every_planted_mistake(classes: str, prefix: str) -> None:
    expected = marked(PROGRAMS / f"{prefix}mistakes.py")
    found, told = mypy(PROGRAMS, classes, f"{prefix}mistakes.py")
    assert len(expected) >= 10
    assert sorted(found) == sorted(expected), told
    assert not {line: rules for line, rules in found.items() if expected[line][0] not in rules}, told


@BOTH
def test_pyright_reports_every_planted_mistake(tmp_path: Path, classes: str, prefix: str) -> None:
    expected = marked(PROGRAMS / f"{prefix}mistakes.py")
    found, told = pyright(PROGRAMS, tmp_path, classes, f"{prefix}mistakes.py")
    assert sorted(found) == sorted(expected), told
    assert not {line: rules for line, rules in found.items() if expected[line][1] not in rules}, told


def test_generic_names_can_be_subscripted_at_run_time() -> None:
    names = (
        "AsynchronousFetch Cursor Difference FetchedResultsController LiveQuery ObjectChange Results ResultsSection "
        "ToManyList ToManySet"
    )
    for name in names.split():
        assert getattr(corestone, name)[ManagedObject] is not None
    assert corestone.FetchRequest[ManagedObject, int] is not None


def test_dynamic_object_is_managed_object_at_run_time(ctx: Any) -> None:
    assert corestone.DynamicObject is ManagedObject
    assert isinstance(ctx.insert("Employee", name="Ada"), corestone.DynamicObject)


@pytest.mark.parametrize("name", ["get", "existing", "registered"])
def test_entity_before_an_id_is_checked(tmp_path: Path, name: str) -> None:
    class Animal(ManagedObject, entity="Animal"):
        __slots__ = ()

    class Bird(Animal, entity="Bird"):
        __slots__ = ()

    model = Model({"Animal": {}, "Bird": {"@parent": "Animal"}, "Rock": {}}).bind(Animal, Bird)
    with Container(model, tmp_path / "a.store", unsaved="discard") as container:
        ctx = container.context()
        bird, rock = ctx.insert(Bird), ctx.insert("Rock")
        ctx.save()
        find: Any = getattr(ctx, name)
        for entity in (Bird, Animal, "Bird", "Animal", model["Bird"], type(bird)):
            assert find(entity, bird.id) is bird
            assert find(entity, bird.id.uri) is bird
        with pytest.raises(InvalidArgumentError, match="is the ID of an object of Rock, not of Bird; pass") as caught:
            find(Bird, rock.id)
        assert (caught.value.entity, caught.value.key, caught.value.object_uri) == ("Bird", "which", rock.id.uri)
        with pytest.raises(KeyError, match='does not have an entity "Brid"; did you mean "Bird"'):
            find("Brid", bird.id)
        assert ctx.registered(Bird, "x-coredata://nowhere/Bird/p1") is None
