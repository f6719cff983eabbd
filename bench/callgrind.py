"""Run a program under callgrind and read what it counted."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

Costs = Counter[tuple[str, str]]  # (object file, function): instructions of its own
NAME = re.compile(r"\((\d+)\)(?: (.*))?")


def count(command: list[str], *options: str, environment: dict[str, str] | None = None) -> Costs:
    """Instructions of each function. Raises RuntimeError with the program's message when it fails."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "callgrind.out"
        valgrind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", *options, *command]
        # The same count in every run: fixed hash seeds, no symbol look-ups at first use.
        fixed = {"SWIFT_DETERMINISTIC_HASHING": "1", "LD_BIND_NOW": "1"}
        done = subprocess.run(
            valgrind, capture_output=True, text=True, env={**os.environ, **fixed, **(environment or {})}
        )
        if done.returncode or not out.exists():
            raise RuntimeError(f"{' '.join(command)}: status {done.returncode}\n{done.stderr[-2000:]}")
        return read(out)


def read(path: Path) -> Costs:
    """Own costs from a file of callgrind, whose names are abbreviated: "fn=(12) name" once, then "fn=(12)"."""
    costs: Costs = Counter()
    names: dict[str, dict[str, str]] = {"ob": {}, "fn": {}}
    current = {"ob": "", "fn": ""}
    inclusive = False  # the next line of numbers is the cost of a call
    for line in path.open(encoding="utf-8", errors="replace"):
        if line[0] in "+-*0123456789":
            if not inclusive:
                costs[current["ob"], current["fn"]] += int(line.rsplit(" ", 1)[1])
            inclusive = False
            continue
        field, _, value = line.rstrip("\n").partition("=")
        if field == "calls":
            inclusive = True
        kind = field[-2:]
        if field in ("ob", "fn", "cob", "cfn"):
            match = NAME.fullmatch(value)
            if match:
                number, name = match.groups()
                if name is not None:
                    names[kind][number] = name
                value = names[kind].get(number, "")
            if field == kind:
                current[kind] = value
    return costs
