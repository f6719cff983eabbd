#!/usr/bin/env python3
"""Compares instructions, allocations and bytes of operations with recorded ceilings.

usage: budgets.py [--record] [--no-python] [--library DIR] [--include DIR] [--out DIR] [OPERATION …]

The figures do not depend on the load of the machine, so a ceiling can be close to the figure. They are those of the
smallest operations (budgets/ops.c), of every workload of run.py (budget_figures.py), and of calls of the Python package
with its accelerator and without it (budget_calls.py), per operation or row:

    own, total      instructions, without those of SQLite, and all
    allocations     calls of malloc and similar functions
    bytes           the bytes that these calls request
    peak            the bytes by which the allocated memory grows, at its peak

Calls of the Python package have only the first two. Each architecture has its own ceilings (budgets/ceilings.json), and
so has each interpreter for the calls of the Python package. Calls with another interpreter are not compared; an
operation without a ceiling is a failure.

--record replaces the ceilings with the current figures plus 10 %, or 2 % for calls of the Python package; use it only
if the commit explains why an operation needs more. With operations, it replaces only theirs.
"""

from __future__ import annotations

import argparse
import json
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import report
from budget_calls import Calls, interpreter
from budget_figures import Operations, Workloads
from ceilings import KINDS, RECORDED, Ceilings, Figures, ceiling, is_python, problems, table, unmeasured

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
PROGRAMS = ("ops", "libcounting.so", "libmeasure.so", "small_corestone", "small_getter", "small_predicate")


def section(operation: str) -> str:
    """Returns the key of the ceilings of an operation: the architecture, or the interpreter."""
    return interpreter() if is_python(operation) else platform.machine()


def measure(out: Path, library: Path, in_c: bool, in_python: bool) -> Figures:
    figures: Figures = {}
    if in_c:
        operations = Operations(out)
        operations.prepare()
        figures |= operations.measure()
        figures["save"] = {kind: figures["save"][kind] - figures["insert"][kind] for kind in KINDS}
        figures |= dict(sorted(Workloads(out).measure().items(), key=lambda each: report.place(each[0])))
    if in_python:
        figures |= Calls(out, library).measure()
    return figures


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare figures per operation with recorded ceilings.")
    parser.add_argument("operations", nargs="*", help="print only these operations")
    parser.add_argument("--record", action="store_true", help="replace the ceilings of this architecture")
    parser.add_argument("--no-python", action="store_true", help="leave out the calls of the Python package")
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
    recorded: dict[str, Ceilings] = json.loads(RECORDED.read_text(encoding="utf-8")) if RECORDED.exists() else {}
    names = arguments.operations
    in_c = not names or not all(map(is_python, names))
    in_python = any(map(is_python, names)) if names else arguments.record or interpreter() in recorded
    in_python = in_python and not arguments.no_python
    try:
        figures = measure(out, arguments.library.resolve(), in_c, in_python)
    except RuntimeError as error:
        print(f"budgets.py: {error}", file=sys.stderr)
        return 1
    unknown = [name for name in names if name not in figures]
    if unknown:
        print(f"budgets.py: there is no operation {unknown[0]}; use {', '.join(figures)}", file=sys.stderr)
        return 2
    chosen = {name: figure for name, figure in figures.items() if name in (names or figures)}

    if arguments.record:
        for key in {section(operation) for operation in chosen}:
            kept = recorded.get(key, {}) if names else {}
            fresh = {
                operation: {kind: ceiling(operation, kind, value) for kind, value in figure.items()}
                for operation, figure in chosen.items()
                if section(operation) == key
            }
            recorded[key] = {**kept, **fresh}
        RECORDED.write_text(json.dumps(recorded, indent=2) + "\n", encoding="utf-8")
    ceilings = recorded.get(platform.machine(), {}) | (recorded.get(interpreter(), {}) if in_python else {})
    print(table(chosen, ceilings))
    if not in_python and not names and not arguments.no_python:
        print(
            f"The calls of the Python package are not compared: no ceilings are recorded for {interpreter()}; "
            "bench/budgets.py --record writes them."
        )
    found = problems(chosen, ceilings) + ([] if names else unmeasured(figures, ceilings))
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
