"""Runs a program under callgrind and reads the counts."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

Costs = Counter[tuple[str, str]]  # (object file, function): instructions without those of called functions
TRIGGER = re.compile(r"^desc: Trigger: Client Request: (\S+)$", re.MULTILINE)
NAME = re.compile(r"\((\d+)\)(?: (.*))?")


def run(out: Path, command: list[str], options: tuple[str, ...], environment: dict[str, str]) -> str:
    """Runs a program, which writes its counts to `out`, and returns its output."""
    valgrind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", *options, *command]
    # For the same count in every run: fixed hash seeds, and no symbol look-ups at first use.
    fixed = {"SWIFT_DETERMINISTIC_HASHING": "1", "LD_BIND_NOW": "1"}
    done = subprocess.run(valgrind, capture_output=True, text=True, env={**os.environ, **fixed, **environment})
    if done.returncode or not out.exists():
        raise RuntimeError(f"{' '.join(command)}: status {done.returncode}\n{done.stderr[-2000:]}")
    return done.stdout


def count(command: list[str], *options: str, environment: dict[str, str] | None = None) -> Costs:
    """Returns the instructions of each function. Raises RuntimeError with the program's message if it fails."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "callgrind.out"
        run(out, command, options, environment or {})
        return read(out)


def count_parts(
    command: list[str], *options: str, environment: dict[str, str] | None = None
) -> tuple[dict[str, Costs], str]:
    """Returns the instructions of each workload of a program (measure.c), and the program's output."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "callgrind.out"
        text = run(out, command, ("--collect-atstart=no", *options), {**(environment or {}), "MEASURE_DUMPS": "1"})
        parts: dict[str, Costs] = {}
        for path in out.parent.glob("callgrind.out.*"):
            trigger = TRIGGER.search(path.read_text(encoding="utf-8", errors="replace"))
            if trigger:
                parts.setdefault(trigger.group(1), Counter()).update(read(path))
        return parts, text


def read(path: Path) -> Costs:
    """Reads the own costs from a callgrind file. A name is "fn=(12) name" at first, then only "fn=(12)"."""
    costs: Costs = Counter()
    names: dict[str, dict[str, str]] = {"ob": {}, "fn": {}}
    current = {"ob": "", "fn": ""}
    inclusive = False  # whether the next line of numbers is the cost of a call
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
