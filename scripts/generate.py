"""Generates the description of the interface, and the files that follow from it.

libclang reads the headers in include/. include/corestone-api.json describes them, and the other files are generated
from that description. All of them are committed.

Usage: generate.py           write the files
       generate.py --check   compare them with the headers, and list each difference
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from api import calls, changes, description, headers, index, layouts, python_layer
from api.description import Interface
from project import DESCRIPTION, HEADERS, ROOT, finish

NAME = "generate"
SHOWN = 60  # the number of differences that a check lists


def formatted_python(text: str) -> str:
    """Formats Python source like `make format`."""
    ruff = Path(sys.executable).with_name("ruff")
    command = [str(ruff), "format", "--config", str(ROOT / "ruff.toml"), "--stdin-filename", "generated.py", "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


OUTPUTS: dict[Path, Callable[[Interface], str]] = {
    DESCRIPTION: description.to_json,
    ROOT / "bindings/python/corestone/_abi/generated.py": lambda each: formatted_python(python_layer.generate(each)),
    ROOT / "Tests/c/calls.inc": calls.table,
    ROOT / "Tests/c/headers/layout.c": layouts.program,
    ROOT / "Tests/swift/abi/EveryStructTests.swift": layouts.swift_test,
    ROOT / "docs/reference/functions.md": index.functions_page,
}


def shown(path: Path) -> str:
    return str(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path)


def differences(include: Path, outputs: dict[Path, Callable[[Interface], str]], described: Path) -> list[str]:
    """Lists the changes that `make generate` would make: declarations by name, then files."""
    fresh = headers.parse(include)
    problems = headers.rule_problems(fresh)
    if described.is_file():
        try:
            found = changes.changes(description.load(described), fresh)
            problems += found[:SHOWN]
            if len(found) > SHOWN:
                problems.append(f"… and {len(found) - SHOWN} more differences")
        except (ValueError, TypeError, KeyError) as failure:
            problems.append(f"{described.name} cannot be read: {failure}")
    if headers.rule_problems(fresh):
        return problems
    for path, write in outputs.items():
        try:
            text = write(fresh)
        except headers.HeaderError as failure:
            problems.append(str(failure))
            continue
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            problems.append(f"{shown(path)} differs from the output of `make generate`: run it and commit the file")
    return problems


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--include", type=Path, default=HEADERS, help="the folder of corestone.h, for --check")
    arguments = parser.parse_args()
    try:
        if arguments.check:
            problems = differences(arguments.include, OUTPUTS, DESCRIPTION)
            finish(NAME, problems, f"{len(OUTPUTS)} files are as generated")
        fresh = headers.parse(HEADERS)
        if problems := headers.rule_problems(fresh):
            finish(NAME, problems, "")
        written = []
        for path, write in OUTPUTS.items():
            text = write(fresh)
            if not path.is_file() or path.read_text(encoding="utf-8") != text:
                path.write_text(text, encoding="utf-8")
                written.append(shown(path))
        finish(NAME, [], f"{len(fresh.functions)} functions; changed files: {', '.join(written) or 'none'}")
    except headers.HeaderError as failure:
        finish(NAME, str(failure).split("\n"), "")


if __name__ == "__main__":
    main()
