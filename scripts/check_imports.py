"""Checks the imports of the library and the names of its types.

- The library does not import Foundation or Dispatch, each of which would make it several times larger.
- Each target imports only targets that it depends on by Package.swift, and imports those that it declares.
- No two top-level types have one name, even in different targets.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections import defaultdict
from pathlib import Path

from project import ROOT, finish

# The command-line tool is a separate program and may import them.
PROGRAMS = {"corestone-cli"}
# Also matches `import struct Foundation.Data` and attributes such as @preconcurrency before the keyword.
IMPORT = re.compile(
    r"^\s*(?:(?:@\w+(?:\([^)]*\))?|public|package|internal|fileprivate|private)\s+)*import\s+(?:\w+\s+)?"
    r"(Foundation\w*|Dispatch|_StringProcessing|RegexBuilder)\b"
)

MODIFIERS = r"(?:@\w+(?:\([^)]*\))? |public |package |internal |final |indirect |open )*"
TYPE = re.compile(rf"^{MODIFIERS}(?:struct|class|enum|protocol|actor|typealias) (\w+)")
ANY_IMPORT = re.compile(r"^(?:@\w+(?:\([^)]*\))? )*(?:public |package )?import (?:\w+ )?(\w+)")
SOURCES = ROOT / "Sources"


def forbidden_imports(file: Path, lines: list[str]) -> list[str]:
    if file.relative_to(SOURCES).parts[0] in PROGRAMS:
        return []
    found = [(number, IMPORT.match(line)) for number, line in enumerate(lines, 1)]
    return [
        f"{file.relative_to(ROOT)}:{number}: the library must not import {match.group(1)}"
        for number, match in found
        if match
    ]


def declared_dependencies() -> dict[str, set[str]]:
    """Returns the dependencies of each target in Package.swift."""
    command = ["swift", "package", "dump-package"]
    targets = json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout)["targets"]
    return {target["name"]: {each["byName"][0] for each in target["dependencies"]} for target in targets}


def reachable(target: str, dependencies: dict[str, set[str]]) -> set[str]:
    """Returns the targets on which a target depends, directly or through others."""
    found: set[str] = set()
    for each in dependencies[target]:
        found |= {each} | reachable(each, dependencies)
    return found


def main() -> None:
    dependencies = declared_dependencies()
    problems: list[str] = []
    imports: defaultdict[str, set[str]] = defaultdict(set)
    owners: defaultdict[str, list[str]] = defaultdict(list)
    files = sorted(SOURCES.rglob("*.swift"))
    for file in files:
        lines = file.read_text(encoding="utf-8").splitlines()
        problems += forbidden_imports(file, lines)
        target = file.relative_to(SOURCES).parts[0]
        for number, line in enumerate(lines, 1):
            if match := TYPE.match(line):
                owners[match.group(1)].append(f"{file.relative_to(ROOT)}:{number}")
            imported = ANY_IMPORT.match(line)
            if imported is None or imported.group(1) not in dependencies:
                continue
            imports[target].add(imported.group(1))
            if imported.group(1) not in reachable(target, dependencies):
                problems.append(
                    f"{file.relative_to(ROOT)}:{number}: {target} imports {imported.group(1)}; add it to the target's "
                    "dependencies in Package.swift"
                )
    for target in imports:
        problems += [
            f"Package.swift: {target} declares the dependency {each} but does not import it"
            for each in sorted(dependencies[target] - imports[target])
        ]
    problems += [f"{name} is declared in {' and '.join(places)}" for name, places in owners.items() if len(places) > 1]
    finish(
        "check-imports",
        problems,
        f"{len(files)} files import only declared targets, and no library Foundation; {len(owners)} types have names "
        "of their own",
    )


if __name__ == "__main__":
    main()
