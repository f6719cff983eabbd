"""Draws the diagrams of docs/: docs/diagrams/*.dot, the targets of Package.swift, and the rooms of the Python package.

Usage: draw_docs.py            write targets.dot and rooms.dot in docs/diagrams, and docs/*.svg (needs Graphviz)
       draw_docs.py --check    fail if they differ from the sources, or if targets or Python modules form a cycle
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import python_rooms
from project import ROOT, finish

DIAGRAMS = ROOT / "docs" / "diagrams"
TARGETS = DIAGRAMS / "targets.dot"
ROOMS = DIAGRAMS / "rooms.dot"
HEAD = """// {what}. Written by scripts/draw_docs.py and drawn as ../{name}.svg.
digraph {name} {{
  graph [rankdir=BT, nodesep=0.3, ranksep=0.4, pad=0.2]
  node [shape=box, style="rounded,filled", fillcolor="#f4f6fa", color="#5b6b8c", fontname="Helvetica", fontsize=11]
  edge [color="#5b6b8c", arrowsize=0.7]
"""
# What the diagram says of each room of the Python package.
CONTENTS = {
    "errors": "errors, codes",
    "_abi": "_abi\\nthe C interface, calls,\\nhandles, values",
    "log": "log",
    "predicate": "predicate\\nexpressions, predicates,\\nsort descriptors, queries",
    "model": "model\\nentities, properties,\\nfiles, archives",
    "graph": "graph\\ncontexts, objects, fetches,\\nchanges, undo, observation",
    "stores": "stores\\ncoordinators, containers, documents,\\ncustom stores, history, migrations",
    "declarative": "declarative\\nclasses that declare\\nmodels",
    "corestone": "__init__\\nthe public names",
}


def dependencies() -> dict[str, list[str]]:
    """Returns the library targets and the tool, each with the targets of this package on which it depends."""
    command = [os.environ.get("SWIFT", "swift"), "package", "dump-package"]
    package = json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout)
    found = {}
    for target in package["targets"]:
        name = target["name"]
        if target["type"] == "test" or (target.get("path") or "").startswith("Tests") or name == "fuzz-readers":
            continue
        names = [each["byName"][0] for each in target["dependencies"] if "byName" in each]
        found[name] = [each for each in names if not each.startswith("C") or each.startswith("Corestone")]
    return {name: needs for name, needs in found.items() if name.lower().startswith("corestone")}


def cycle(graph: dict[str, list[str]]) -> list[str]:
    """Returns the targets of a cycle, or an empty list if there is no cycle."""
    finished: set[str] = set()

    def visit(name: str, path: list[str]) -> list[str]:
        if name in path:
            return [*path[path.index(name) :], name]
        if name in finished:
            return []
        for needed in graph.get(name, []):
            circle = visit(needed, [*path, name])
            if circle:
                return circle
        finished.add(name)
        return []

    return next((circle for circle in (visit(name, []) for name in graph) if circle), [])


def reachable(graph: dict[str, list[str]], name: str) -> set[str]:
    found: set[str] = set()
    for needed in graph.get(name, []):
        found |= {needed} | reachable(graph, needed)
    return found


def drawn(name: str, what: str, graph: dict[str, list[str]], labels: dict[str, str]) -> str:
    """Returns the graph in DOT, without dependencies that are implied by others."""
    lines = [HEAD.format(name=name, what=what)]
    for node in graph:
        label = f' [label="{labels[node]}"]' if node in labels else ""
        lines.append(f'  "{node}"{label}\n')
    for node, needs in graph.items():
        for needed in needs:
            if any(needed in reachable(graph, other) for other in needs if other != needed):
                continue
            lines.append(f'  "{node}" -> "{needed}"\n')
    return "".join([*lines, "}\n"])


def rooms() -> tuple[list[str], str]:
    """Returns the problems of the imports between the modules of the Python package, and the graph of its rooms."""
    modules = python_rooms.graph()
    circle = cycle({name: sorted(needs) for name, needs in modules.items()})
    problems = [f"Python modules import each other: {' -> '.join(circle)}"] if circle else []
    problems += python_rooms.problems(modules)
    # At first use of a name, the package imports modules of every room.
    needs = python_rooms.between_rooms(modules) | {"corestone": [*python_rooms.ROOMS][:-1]}
    return problems, drawn("rooms", "The rooms of the Python package", needs, CONTENTS)


def main(arguments: list[str]) -> None:
    graph = dependencies()
    circle = cycle(graph)
    problems = [f"targets depend on each other: {' -> '.join(circle)}"] if circle else []
    wrong, room_text = rooms()
    problems += wrong
    texts = {ROOMS: room_text}
    if not circle:
        texts[TARGETS] = drawn("targets", "The targets of Package.swift", graph, {})
    if "--check" in arguments:
        for path, text in texts.items():
            if not path.is_file() or path.read_text(encoding="utf-8") != text:
                problems.append(f"{path.relative_to(ROOT)} differs from the sources; run make docs-diagrams")
        finish("draw-docs", problems, f"{len(graph)} targets and {len(python_rooms.modules())} modules without a cycle")
    if not problems:
        for path, text in texts.items():
            path.write_text(text, encoding="utf-8")
        for source in sorted(DIAGRAMS.glob("*.dot")):
            svg = ROOT / "docs" / f"{source.stem}.svg"
            subprocess.run(["dot", "-Tsvg", str(source), "-o", str(svg)], check=True)
            print(svg.relative_to(ROOT))
    finish("draw-docs", problems, "done")


if __name__ == "__main__":
    main(sys.argv[1:])
