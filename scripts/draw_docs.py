"""Draws the diagrams of docs/: docs/diagrams/*.dot, and the targets of Package.swift with their dependencies.

Usage: draw_docs.py            write docs/diagrams/targets.dot and docs/*.svg (needs Graphviz)
       draw_docs.py --check    fail if targets.dot differs from Package.swift, or if the targets form a cycle
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

from project import ROOT, finish

DIAGRAMS = ROOT / "docs" / "diagrams"
TARGETS = DIAGRAMS / "targets.dot"
HEAD = """// The targets of Package.swift. Written by scripts/draw_docs.py and drawn as ../targets.svg.
digraph targets {
  graph [rankdir=BT, nodesep=0.3, ranksep=0.4, pad=0.2]
  node [shape=box, style="rounded,filled", fillcolor="#f4f6fa", color="#5b6b8c", fontname="Helvetica", fontsize=11]
  edge [color="#5b6b8c", arrowsize=0.7]
"""


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


def targets_text(graph: dict[str, list[str]]) -> str:
    """Returns the graph in DOT, without dependencies that are implied by others."""
    lines = [HEAD]
    for name in graph:
        lines.append(f'  "{name}"\n')
    for name, needs in graph.items():
        for needed in needs:
            if any(needed in reachable(graph, other) for other in needs if other != needed):
                continue
            lines.append(f'  "{name}" -> "{needed}"\n')
    return "".join([*lines, "}\n"])


def main(arguments: list[str]) -> None:
    graph = dependencies()
    circle = cycle(graph)
    problems = [f"targets depend on each other: {' -> '.join(circle)}"] if circle else []
    text = "" if circle else targets_text(graph)
    if "--check" in arguments:
        if text and (not TARGETS.is_file() or TARGETS.read_text(encoding="utf-8") != text):
            problems.append("docs/diagrams/targets.dot differs from Package.swift; run make docs-diagrams")
        finish("draw-docs", problems, f"{len(graph)} targets without a cycle")
    if text:
        TARGETS.write_text(text, encoding="utf-8")
        for source in sorted(DIAGRAMS.glob("*.dot")):
            drawn = ROOT / "docs" / f"{source.stem}.svg"
            subprocess.run(["dot", "-Tsvg", str(source), "-o", str(drawn)], check=True)
            print(drawn.relative_to(ROOT))
    finish("draw-docs", problems, "done")


if __name__ == "__main__":
    main(sys.argv[1:])
