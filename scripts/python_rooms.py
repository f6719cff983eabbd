"""The rooms of the Python package, and the imports between its modules when they are imported.

An import counts if it runs when its module is imported. Imports in functions and for type checkers do not count.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from project import ROOT

PACKAGE = ROOT / "bindings" / "python" / "corestone"
#: Each room with the rooms from which it may import at module level.
ROOMS: dict[str, tuple[str, ...]] = {
    "errors": (),
    "_abi": ("errors",),
    "log": ("errors", "_abi"),
    "predicate": ("errors", "_abi"),
    "model": ("errors", "_abi", "predicate"),
    "graph": ("errors", "_abi", "log", "predicate", "model"),
    "stores": ("errors", "_abi", "log", "predicate", "model", "graph"),
    "declarative": ("errors", "_abi", "predicate", "model", "graph"),
    "corestone": ("_abi", "graph"),
}
#: The rooms of the modules that are not in a folder.
_LOOSE = {
    "": "corestone",
    "__main__": "corestone",
    "_former": "corestone",
    "object": "corestone",
    "codes": "errors",
    "errors": "errors",
    "log": "log",
}
#: Packages whose names are those of one of their modules, which an import of a name imports.
_FORWARDING = {"_abi": "_abi.interface", "model": "model.model", "predicate": "predicate.predicate"}


def modules(package: Path = PACKAGE) -> dict[str, Path]:
    """Returns the files of the modules, by their paths in the package, such as graph.context; "" is the package."""
    found = {}
    for file in sorted(package.rglob("*.py")):
        parts = file.relative_to(package).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


def room(module: str) -> str:
    """Returns the room of a module. KeyError for a new module beside the rooms."""
    first = module.partition(".")[0]
    return first if first in ROOMS and first not in _LOOSE else _LOOSE[first]


def _is_for_type_checkers(test: ast.expr) -> bool:
    return isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"


def _is_not_for_type_checkers(test: ast.expr) -> bool:
    return isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) and _is_for_type_checkers(test.operand)


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yields the statements that run when the module is imported."""
    for each in body:
        yield each
        if isinstance(each, ast.If):
            if not _is_for_type_checkers(each.test):
                yield from _statements(each.body)
            if not _is_not_for_type_checkers(each.test):
                yield from _statements(each.orelse)
        elif isinstance(each, ast.Try):
            yield from _statements([*each.body, *each.orelse, *each.finalbody])
            for handler in each.handlers:
                yield from _statements(handler.body)
        elif isinstance(each, (ast.With, ast.For, ast.While, ast.ClassDef)):
            yield from _statements(each.body)


def imports(source: str, package: str, known: set[str]) -> set[str]:
    """Returns the modules that the source of a module imports at module level.

    package   the path of the package that contains the module, such as "graph"
    known     the paths of all modules
    """
    found = set()
    for each in _statements(ast.parse(source).body):
        if not isinstance(each, ast.ImportFrom):
            continue
        module = each.module or ""
        if each.level:
            parents = package.split(".") if package else []
            beneath = parents[: len(parents) - each.level + 1]
            module = ".".join([*beneath, *filter(None, [module])])
        elif module.partition(".")[0] == "corestone":
            module = module.partition(".")[2]
        else:
            continue
        for name in each.names:
            inner = f"{module}.{name.name}" if module else name.name
            target = inner if inner in known else module
            if target in known:
                found.add(_FORWARDING.get(target, target))
    return found


def graph(package: Path = PACKAGE) -> dict[str, set[str]]:
    """Returns the imports of each module at module level."""
    files = modules(package)
    found = {}
    for module, file in files.items():
        inside = module if file.name == "__init__.py" else module.rpartition(".")[0]
        found[module] = imports(file.read_text(encoding="utf-8"), inside, set(files)) - {module}
    return found


def between_rooms(found: dict[str, set[str]]) -> dict[str, list[str]]:
    """Returns the rooms from which each room imports at module level."""
    needs: dict[str, set[str]] = {name: set() for name in ROOMS}
    for module, imported in found.items():
        needs[room(module)] |= {room(each) for each in imported} - {room(module)}
    return {name: [other for other in ROOMS if other in needs[name]] for name in ROOMS}


def problems(found: dict[str, set[str]]) -> list[str]:
    """Returns a message for each import that the table of the rooms does not allow."""
    return [
        f"{module} imports {each}, but the room {room(module)} may import only from "
        f"{', '.join(ROOMS[room(module)]) or 'itself'}; import it in the function that needs it, or move the code"
        for module, imported in sorted(found.items())
        for each in sorted(imported)
        if room(each) not in (room(module), *ROOMS[room(module)])
    ]
