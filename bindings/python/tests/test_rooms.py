"""The rooms of the package: their imports, their table in docs/ARCHITECTURE.md, and the former paths of modules."""

from __future__ import annotations

import importlib
import os
import re
import sys
from pathlib import Path

import pytest
from checkout import ROOT
from conftest import Run

import corestone
from corestone import _former

sys.path.append(str(ROOT / "scripts"))

import draw_docs
import python_rooms

# The modules without an underscore of the package before it had rooms, and names that each of them had.
FORMER = {
    "archive": "URL read_json tagged",
    "arrow": "ArrowData",
    "asynchronous": "AsynchronousFetch",
    "batch": "BatchInsertRequest",
    "checking": "check",
    "codes": "Status",
    "collections": "ToManySet",
    "container": "Container open_container",
    "context": "Context EntityLike",
    "controller": "FetchedResultsController",
    "coordinator": "Coordinator Store given_model",
    "cursor": "Cursor",
    "declarative": "Entity to_one",
    "document": "Document",
    "entity": "Entity",
    "errors": "CorestoneError",
    "explanation": "FetchExplanation",
    "expression": "Expression KeyPath",
    "faulting": "InaccessibleFaultHandler",
    "function": "register_function",
    "generation": "QueryGeneration",
    "history": "HistoryToken HistoryCursor",
    "host_store": "IncrementalStore",
    "key_value": "set_nil",
    "live": "LiveQuery",
    "log": "recorded",
    "mapping": "MappingModel",
    "merging": "MergePolicy Conflict",
    "migration": "migration_plan",
    "migration_guard": "check_migration",
    "migration_manager": "MigrationManager",
    "model": "Model ModelLike",
    "nesting": "merge",
    "object": "ManagedObject object_id context_of state",
    "object_id": "ObjectID",
    "observation": "Observation",
    "past": "Revision",
    "predicate": "Predicate PredicateKind",
    "property": "PropertyDescription nearest",
    "query": "Key key",
    "queue": "MainQueue",
    "request": "FetchRequest",
    "results": "Results BLOCK",
    "rows": "LazyRows",
    "sort": "sort selector_of",
    "staged_migration": "MigrationStage",
    "transfer": "LoadCounts dump load",
    "transformer": "register_transformer",
    "undo": "UndoManager",
    "values": "decode_value EPOCH",
    "views": "views",
}


@pytest.mark.parametrize("name", FORMER)
def test_former_path_of_a_module_works(run_python: Run, name: str) -> None:
    names = FORMER[name].split()
    program = f"""
import importlib, sys
import corestone.{name}
from corestone.{name} import {", ".join(names)}
module = sys.modules["corestone.{name}"]
for each in {names!r}:
    assert getattr(module, each) is globals()[each], each
spec = module.__spec__
assert spec.name == module.__name__ and spec.parent == module.__package__, spec
assert not hasattr(module, "no_such_name")
try:
    from corestone.{name} import no_such_name
except ImportError as error:
    print("no_such_name" in str(error))
"""
    done = run_python(program)
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr


def test_former_path_names_the_module_of_the_room() -> None:
    for name, room in _former.ROOMS.items():
        assert importlib.import_module(f"corestone.{name}") is importlib.import_module(f"corestone.{room}.{name}")
    assert {*_former.ROOMS, "codes", "declarative", "errors", "log", "model", "object", "predicate"} == {*FORMER}


def test_functions_with_the_name_of_a_former_path_are_not_hidden(run_python: Run) -> None:
    done = run_python("import corestone.sort, corestone.views; print(corestone.sort, corestone.views)")
    assert re.fullmatch(r"<function sort at \w+> <function views at \w+>\n", done.stdout), done.stderr


def test_unknown_path_is_not_found() -> None:
    for path in ("corestone.nothing", "corestone.context.nothing", "corestone.graph.nothing", "corestone._context"):
        with pytest.raises(ModuleNotFoundError) as caught:
            importlib.import_module(path)
        assert caught.value.name == path


@pytest.mark.parametrize("accelerator", ["0", ""])
def test_every_module_can_be_imported_alone(run_python: Run, accelerator: str) -> None:
    """Imports each module in a process of its own, in which no other module of the package was imported before."""
    modules = sorted(f"corestone.{name}".rstrip(".") for name in python_rooms.modules() if name != "__main__")
    program = f"""
import importlib, os, sys
os.environ["CORESTONE_ACCELERATOR"] = {accelerator!r}
sys.dont_write_bytecode, sys.pycache_prefix = False, os.getcwd()  # compiles each module once
for name in {modules!r}:
    child = os.fork()
    if child == 0:
        status = 1
        try:
            importlib.import_module(name)
            status = 0
        finally:
            sys.stderr.flush()
            os._exit(status)
    if os.waitpid(child, 0)[1] != 0:
        print(name)
assert not any(name.startswith("corestone") for name in sys.modules)
print("end")
"""
    done = run_python(program)
    assert done.stdout == "end\n", done.stderr


def test_modules_do_not_import_each_other_in_a_circle() -> None:
    found = python_rooms.graph()
    assert draw_docs.cycle({name: sorted(needs) for name, needs in found.items()}) == []


def test_rooms_import_only_what_they_may() -> None:
    assert python_rooms.problems(python_rooms.graph()) == []


def test_a_circle_and_a_wrong_import_are_found(tmp_path: Path) -> None:
    package = tmp_path / "corestone"
    files = {
        "__init__.py": "",
        "_abi/__init__.py": "",
        "_abi/interface.py": "def f():\n    from . import call\n",
        "_abi/call.py": "from . import lib\ntry:\n    from ..graph import context\nexcept ImportError:\n    pass\n",
        "graph/__init__.py": "",
        "graph/context.py": "TYPE_CHECKING = False\nif TYPE_CHECKING:\n    from . import rows\nelse:\n    import os\n",
        "graph/rows.py": "from .context import Context\nclass A:\n    from .._abi.call import call\n",
    }
    for name, text in files.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text, encoding="utf-8")
    found = python_rooms.graph(package)
    assert found["_abi.call"] == {"_abi.interface", "graph.context"}
    assert found["_abi.interface"] == found["graph.context"] == set()
    assert found["graph.rows"] == {"graph.context", "_abi.call"}
    assert python_rooms.problems(found) == [
        "_abi.call imports graph.context, but the room _abi may import only from errors; import it in the function "
        "that needs it, or move the code"
    ]
    assert draw_docs.cycle({name: sorted(needs) for name, needs in found.items()}) == []
    (package / "graph/context.py").write_text("from . import rows\n", encoding="utf-8")
    circle = draw_docs.cycle({name: sorted(needs) for name, needs in python_rooms.graph(package).items()})
    assert {"graph.context", "graph.rows"} <= set(circle)


def test_architecture_has_a_table_of_the_rooms() -> None:
    text = (ROOT / "docs" / "ARCHITECTURE.md").read_text(encoding="utf-8")
    table = text.partition("| room | contents | imports from |\n|---|---|---|\n")[2].partition("\n\n")[0]
    listed = {}
    for line in table.splitlines():
        room, _, needs = (each.strip() for each in line.strip("|").split("|"))
        names = re.findall(r"`(\w+)", room)
        listed["corestone" if names[0] == "__init__" else names[0]] = needs
    everything = "every room, at the first use of a name"
    for room, allowed in python_rooms.ROOMS.items():
        expected = ", ".join(f"`{each}`" for each in allowed) or "nothing"
        assert listed.pop(room) == (everything if room == "corestone" else expected), room
    assert listed == {}


def test_no_two_modules_differ_only_in_an_underscore() -> None:
    names = [name.rpartition(".")[2] for name in python_rooms.modules()]
    plain = {name for name in names if not name.startswith("_")}
    assert not [name for name in names if name.startswith("_") and name.lstrip("_") in plain]
    # Only a module that gives its room the name may have the name of a module in another place.
    twice = {name for name in names if names.count(name) > 1}
    assert twice == {"model", "predicate", "object"}


def test_modules_are_in_rooms() -> None:
    for name in python_rooms.modules():
        assert python_rooms.room(name) in python_rooms.ROOMS
    assert os.path.dirname(corestone.__file__) == str(python_rooms.PACKAGE)
