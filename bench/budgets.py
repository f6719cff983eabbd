#!/usr/bin/env python3
"""Compares instructions, allocations and bytes of operations with recorded ceilings.

usage: budgets.py [--record] [--library DIR] [--include DIR] [--out DIR] [OPERATION …]

The figures do not depend on the load of the machine, so a ceiling can be close to the figure. They are those of the
smallest operations (budgets/ops.c) and of every workload of run.py (budget_figures.py), per operation or row:

    own, total      instructions, without those of SQLite, and all
    allocations     calls of malloc and similar functions
    bytes           the bytes that these calls request
    peak            the bytes by which the allocated memory grows, at its peak

Each architecture has its own ceilings (budgets/ceilings.json). --record replaces them with the current figures plus
10 %; use it only if the commit explains why an operation needs more. With operations, it replaces only theirs.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import report
from budget_figures import KINDS, Figures, Operations, Workloads

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
CEILINGS = HERE / "budgets" / "ceilings.json"
ROOM = 1.10
# What a ceiling is above a small figure at least.
LEAST_ROOM = {"own": 5.0, "total": 5.0, "allocations": 0.05, "bytes": 16.0, "peak": 32.0}
PROGRAMS = ("ops", "libcounting.so", "small_corestone", "small_getter", "small_predicate")
Ceilings = dict[str, dict[str, float]]


def ceiling(kind: str, value: float) -> float:
    limit = max(value * ROOM, value + LEAST_ROOM[kind])
    return math.ceil(limit * 100) / 100 if kind == "allocations" else math.ceil(limit)


def text(kind: str, value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}" if kind == "allocations" else f"{value:.0f}"


def check(figures: Figures, ceilings: Ceilings) -> bool:
    """Prints the table. Returns whether every figure is within its ceiling."""
    rows = [["per operation or row", *(cell for kind in KINDS for cell in (kind, "ceiling")), ""]]
    fine = True
    for operation, figure in figures.items():
        limits = ceilings.get(operation, {})
        above = [kind for kind in KINDS if kind in limits and figure[kind] > limits[kind]]
        cells = [cell for kind in KINDS for cell in (text(kind, figure[kind]), text(kind, limits.get(kind)))]
        rows.append([operation, *cells, f"ABOVE: {', '.join(above)}" if above else "" if limits else "no ceiling"])
        fine = fine and not above
    print(report.grid(rows))
    return fine


def measure(out: Path, chosen: list[str]) -> Figures:
    operations = Operations(out)
    operations.prepare()
    figures = operations.measure()
    figures["save"] = {kind: figures["save"][kind] - figures["insert"][kind] for kind in KINDS}
    figures |= dict(sorted(Workloads(out).measure().items(), key=lambda each: report.place(each[0])))
    return {name: figure for name, figure in figures.items() if not chosen or name in chosen}


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare figures per operation with recorded ceilings.")
    parser.add_argument("operations", nargs="*", help="print only these operations")
    parser.add_argument("--record", action="store_true", help="replace the ceilings of this architecture")
    parser.add_argument("--library", type=Path, default=ROOT / "build" / "lib")
    parser.add_argument("--include", type=Path, default=ROOT / "build" / "include")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "bench")
    arguments = parser.parse_args()
    if not shutil.which("valgrind"):
        print("budgets.py: valgrind is missing; `make deps` installs it", file=sys.stderr)
        return 1
    out = arguments.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    build = ["make", "--no-print-directory", "-C", str(HERE), f"OUT={out}", f"LIB={arguments.library.resolve()}"]
    build += [f"INCLUDE={arguments.include.resolve()}", *(str(out / program) for program in PROGRAMS)]
    subprocess.run(build, check=True, stdout=2)
    try:
        figures = measure(out, arguments.operations)
    except RuntimeError as error:
        print(f"budgets.py: {error}", file=sys.stderr)
        return 1

    recorded: dict[str, Ceilings] = json.loads(CEILINGS.read_text(encoding="utf-8")) if CEILINGS.exists() else {}
    architecture = platform.machine()
    if arguments.record:
        kept = recorded.get(architecture, {}) if arguments.operations else {}
        fresh = {
            operation: {kind: ceiling(kind, value) for kind, value in figure.items()}
            for operation, figure in figures.items()
        }
        recorded[architecture] = {**kept, **fresh}
        CEILINGS.write_text(json.dumps(recorded, indent=2) + "\n", encoding="utf-8")
    if architecture not in recorded:
        print(f"No ceilings are recorded for {architecture}; budgets.py --record writes them.")
    if check(figures, recorded.get(architecture, {})):
        return 0
    print("An operation is above its ceiling: find the cause, or use --record and explain it in the commit.")
    return 1


if __name__ == "__main__":
    sys.exit(main())
