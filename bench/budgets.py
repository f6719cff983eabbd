#!/usr/bin/env python3
"""Compares the number of instructions of the smallest operations with recorded ceilings.

usage: budgets.py [--record] [--library DIR] [--include DIR] [--out DIR]

The number of instructions does not depend on the load of the machine, so a ceiling can be close to the figure. Each
operation of budgets/ops.c runs under callgrind twice, N1 and N2 times; the difference divided by N2 - N1 is one
operation. Two figures have a ceiling each: `own`, all but SQLite's code, and `total`. Each architecture has its own
ceilings (budgets/ceilings.json). --record replaces them with the current figures plus 10 %; use it only if the commit
explains why an operation needs more.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import callgrind

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
CEILINGS = HERE / "budgets" / "ceilings.json"
ROOM = 1.10
# The two numbers of runs of each operation, large enough that the growth of tables and pages does not matter.
TIMES = {
    "get": (3_000, 33_000),
    "set": (3_000, 33_000),
    "fetch": (500, 3_500),
    "fault": (500, 3_500),
    "insert": (500, 3_500),
    "save": (500, 3_500),
}
Figures = dict[str, dict[str, float]]


def instructions(program: Path, store: Path, operation: str, times: int) -> tuple[int, int]:
    """Returns the own and total instructions of the whole program."""
    place = (
        store if operation in ("get", "set", "fetch", "fault") else store.with_name(f"ops_{operation}_{times}.sqlite")
    )
    costs = callgrind.count([str(program), operation, str(place), str(times)])
    total = sum(costs.values())
    return total - sum(cost for (file, _), cost in costs.items() if "libsqlite3" in file), total


def measure(program: Path, store: Path) -> Figures:
    runs = [(operation, times) for operation, both in TIMES.items() for times in both]
    for operation, times in runs:
        if operation == "insert":  # the objects are not saved, but the store is created
            store.with_name(f"ops_insert_{times}.sqlite").unlink(missing_ok=True)
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        counted = list(pool.map(lambda run: instructions(program, store, *run), runs))
    figures: Figures = {}
    for (operation, few), (own, total), (_, many), (own_many, total_many) in zip(
        runs[::2], counted[::2], runs[1::2], counted[1::2]
    ):
        figures[operation] = {"own": (own_many - own) / (many - few), "total": (total_many - total) / (many - few)}
    figures["save"] = {kind: figures["save"][kind] - figures["insert"][kind] for kind in ("own", "total")}
    return figures


def check(figures: Figures, ceilings: dict[str, dict[str, int]]) -> bool:
    """Prints the table. Returns whether every figure is within its ceiling."""
    print(f"{'instructions per':<18}{'own':>9}{'ceiling':>9}{'total':>9}{'ceiling':>9}")
    fine = True
    for operation, figure in figures.items():
        ceiling = ceilings.get(operation, {})
        above = [kind for kind in ("own", "total") if kind in ceiling and figure[kind] > ceiling[kind]]
        cells = "".join(f"{figure[kind]:>9.0f}{ceiling.get(kind, '-'):>9}" for kind in ("own", "total"))
        print(f"{operation:<18}{cells}{'  ABOVE' if above else ''}")
        fine = fine and not above
    return fine


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare instructions per operation with recorded ceilings.")
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
    subprocess.run([*build, f"INCLUDE={arguments.include.resolve()}", str(out / "ops")], check=True, stdout=2)
    store = out / "ops.sqlite"
    subprocess.run([str(out / "ops"), "prepare", str(store)], check=True)
    try:
        figures = measure(out / "ops", store)
    except RuntimeError as error:
        print(f"budgets.py: {error}", file=sys.stderr)
        return 1

    recorded = json.loads(CEILINGS.read_text(encoding="utf-8")) if CEILINGS.exists() else {}
    architecture = platform.machine()
    if arguments.record:
        recorded[architecture] = {
            operation: {kind: math.ceil(value * ROOM) for kind, value in figure.items()}
            for operation, figure in figures.items()
        }
        CEILINGS.write_text(json.dumps(recorded, indent=2) + "\n", encoding="utf-8")
    if architecture not in recorded:
        print(f"No ceilings are recorded for {architecture}; budgets.py --record writes them.")
    if check(figures, recorded.get(architecture, {})):
        return 0
    print("An operation is above its ceiling: find the cause, or use --record and explain it in the commit.")
    return 1


if __name__ == "__main__":
    sys.exit(main())
