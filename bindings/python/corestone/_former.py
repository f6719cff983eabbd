"""The paths that modules had before the package had rooms; imports from them still work.

A former path is another name of the same module: `corestone.context` is `corestone.graph.context`. `import corestone`
adds the finder of `__init__.py`, which imports this module when Python does not find a module of the package.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType

from . import _PLACES

# The room of each module, by its former name in the package.
ROOMS = {
    name: room
    for room, names in {
        "predicate": "expression function query sort",
        "model": "archive entity property transformer",
        "graph": (
            "arrow asynchronous batch collections context controller cursor explanation faulting generation "
            "history key_value live merging nesting object_id observation queue request results rows undo"
        ),
        "stores": (
            "checking container coordinator document host_store mapping migration migration_guard "
            "migration_manager past staged_migration transfer views"
        ),
        "_abi": "values",
    }.items()
    for name in names.split()
}


class _Package(ModuleType):
    """The class of the package. An import of a former path does not hide the function of that name, such as `sort`."""

    def __setattr__(self, name: str, value: object) -> None:
        if name not in _PLACES or not isinstance(value, ModuleType):
            super().__setattr__(name, value)


sys.modules["corestone"].__class__ = _Package


class _Loader:
    """Returns the module in the room, unchanged."""

    def __init__(self, path: str) -> None:
        self._path = path

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = import_module(self._path)
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._spec  # the import system has replaced it


def find(path: str) -> ModuleSpec | None:
    """Returns the import specification of a former path, such as corestone.context; None for other paths."""
    package, _, name = path.rpartition(".")
    room = ROOMS.get(name) if package == __package__ else None
    return None if room is None else ModuleSpec(path, _Loader(f"{package}.{room}.{name}"))  # type: ignore[arg-type]
