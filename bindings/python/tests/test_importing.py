"""`import corestone` is cheap: modules and the library are loaded when a name is first used."""

from __future__ import annotations

import ast
import importlib
import inspect
import pickle
import pkgutil
import types
from pathlib import Path

import pytest
from conftest import Run

import corestone

PACKAGE = Path(corestone.__file__).parent
MODULES = sorted(
    each.name for each in pkgutil.walk_packages([str(PACKAGE)], "corestone.") if each.name != "corestone.__main__"
)


def imported_for_type_checkers() -> dict[str, str]:
    """Returns the names in the block for type checkers, with their modules."""
    found: dict[str, str] = {}
    for node in ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            for each in node.body:
                if isinstance(each, ast.ImportFrom) and each.level == 1 and each.module:
                    found.update({name.asname or name.name: each.module for name in each.names})
    return found


def test_names_at_run_time_equal_those_of_type_checkers() -> None:
    assert imported_for_type_checkers() == corestone._PLACES
    assert corestone.open is importlib.import_module("corestone.stores.container").open_container


def test_exports_are_the_listed_names() -> None:
    listed = set(corestone.__all__)
    assert len(listed) == len(corestone.__all__)
    others = {"log", "library_version", "handle_count", "__version__"}
    assert listed == imported_for_type_checkers().keys() - {"open_container"} | others
    for name in listed:
        assert getattr(corestone, name) is not None


def test_star_import_binds_every_export(run_python: Run) -> None:
    program = "before = set(dir())\nfrom corestone import *\nimport corestone\n"
    done = run_python(program + "print(set(corestone.__all__) <= set(dir()), 'open' in dir())")
    assert done.stdout == "True False\n", done.stderr


def test_import_loads_neither_modules_nor_the_library(run_python: Run) -> None:
    program = """
import sys
before = set(sys.modules)
import corestone
imported = set(sys.modules) - before - {"__future__", "atexit"}
print(sorted(imported), "Container" in dir(corestone), "Container" in vars(corestone))
corestone.Container
print("corestone.stores.container" in sys.modules, "Container" in vars(corestone))
"""
    done = run_python(program)
    first, second = done.stdout.splitlines()
    assert first == "['corestone'] True False", done.stderr
    assert second == "True True"


def test_common_path_does_not_import_slow_modules(run_python: Run, tmp_path: Path) -> None:
    program = """
import sys
from corestone import Container, Model
with Container(Model({"Item": {"name": "string", "size": "int32?"}}), sys.argv[1]) as container:
    ctx = container.context()
    ctx.insert("Item", name="a")
    ctx.save()
    assert [each.name for each in ctx.fetch("Item", "name == %@", "a", sort=["name"])] == ["a"]
slow = "asyncio concurrent.futures dataclasses difflib html inspect logging pathlib plistlib"
print([name for name in slow.split() if name in sys.modules])
"""
    done = run_python(program, str(tmp_path / "items.store"))
    assert done.stdout == "[]\n", done.stderr


@pytest.mark.parametrize("module", MODULES)
def test_module_can_be_imported_first(run_python: Run, module: str) -> None:
    done = run_python(f"import {module}")
    assert done.returncode == 0, done.stderr


def test_modules_are_attributes() -> None:
    assert corestone.errors.CorestoneError is corestone.CorestoneError
    assert isinstance(corestone.log, types.ModuleType)


def test_module_does_not_hide_the_function_of_its_name() -> None:
    for name in ("sort", "views"):
        module = importlib.import_module(f"corestone.{name}")
        assert getattr(corestone, name) is getattr(module, name)
        assert inspect.isfunction(getattr(corestone, name))


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match='the module corestone does not have an attribute "Contaner"'):
        corestone.Contaner  # type: ignore[attr-defined]  # noqa: B018
    assert not hasattr(corestone, "__wrapped__")


def test_classes_can_be_pickled_in_another_process(run_python: Run) -> None:
    data = pickle.dumps([corestone.Container, corestone.ArchivedObject, corestone.ValidationError("a", key="b")])
    program = f"import pickle; print([getattr(each, '__name__', each.__class__) for each in pickle.loads({data!r})])"
    done = run_python(program)
    assert done.stdout == "['Container', 'ArchivedObject', <class 'corestone.errors.ValidationError'>]\n", done.stderr


def test_help_describes_the_exports(run_python: Run) -> None:
    done = run_python("import pydoc, corestone; print(pydoc.render_doc(corestone, renderer=pydoc.plaintext))")
    assert done.returncode == 0, done.stderr
    for name in ("class Container(", "class Context(", "class SingleFaults(", "register_function(", "library_version("):
        assert name in done.stdout, name


def test_missing_library_is_an_import_error_at_first_use(run_python: Run) -> None:
    program = """
import os, sys
os.environ["CORESTONE_LIBRARY"] = "/nowhere/libcorestone.so"
import corestone
for _ in range(2):  # a failed import is not remembered
    try:
        corestone.Container
    except corestone.LibraryNotFoundError as error:
        print(error)
try:
    from corestone import Model
except ImportError as error:
    print(type(error).__name__)
"""
    done = run_python(program)
    lines = done.stdout.splitlines()
    assert len(lines) == 3, done.stderr
    assert lines[0] == lines[1]
    assert lines[0].startswith("CORESTONE_LIBRARY is /nowhere/libcorestone.so, which does not exist; set it to")
    assert lines[2] == "LibraryNotFoundError"
