#!/usr/bin/env python3
"""Compares the cost per object of the operations of a context at several numbers of objects.

usage: growth.py [--short] [--sizes N,N,...] [--operations NAME,...] [--counted N,N] [--attempts N] [--results FILE]

An operation may grow as n log n: its cost per unit may grow as log n. A unit is an object, or one repetition where the
cost of one should not depend on the number of objects. Four costs per unit are compared, from one size to the next:

    instructions    counted by callgrind at the sizes of --counted; the same in every run
    allocations     the number of allocations and the bytes that they request; the same in almost every run
    peak            the greatest number of allocated bytes
    time            processor time, with a wide limit and, if it is exceeded, further attempts

Wall time and resident memory are printed only. --short, a part of `make test`, compares allocations at 500 and 4,000
objects and time at 4,000 and 32,000. Operations whose growth is greater by design are in KNOWN, with the reason.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import callgrind
import report

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
SIZES = [1_000, 10_000, 100_000, 1_000_000]
SHORT_SIZES = [500, 4_000, 32_000]
COUNTED = [1_000, 8_000]
# The greatest factor, beyond that of n log n, by which a cost per unit may grow. Tables that double their size make the
# number of bytes vary by up to a factor of two, and SQLite requests more pages per row until indexes have two levels.
# The time per unit also grows because a larger store does not fit into the caches of the processor and of SQLite.
NOISE = {"instructions": 1.15, "allocations": 1.15, "requested": 1.6, "peak": 2.2, "time": 2.5}
# Costs per unit below these are not compared: fixed costs, and times that are too short to be measured.
LEAST = {"instructions": 50.0, "allocations": 1.0, "requested": 64.0, "peak": 128.0}
LEAST_SECONDS = 0.02
# Operations that grow faster by design: the power of n by which the time per unit may grow, and the reason.
KNOWN: dict[str, tuple[float, str]] = {
    "insert_ordered": (1.0, "moves the members after the position, 8 bytes each, with memmove"),
}

Sample = dict[str, Any]


@dataclass
class Costs:
    """The costs per unit of an operation at one size."""

    size: int
    units: int
    seconds: float
    user_seconds: float
    resident: float  # bytes per object by which resident memory grew at its peak
    figures: dict[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, sample: Sample, size: int) -> Costs:
        units = int(sample["rows"])
        figures = {
            "allocations": sample["allocations"] / units,
            "requested": sample["requested_bytes"] / units,
            "peak": sample["peak_bytes"] / size,
            "time": (sample["user_seconds"] + sample["kernel_seconds"]) / units * 1e6,
        }
        resident = max(0, sample["peak_kb"] - sample["base_kb"]) * 1024 / size
        seconds = float(sample["seconds"])
        return cls(size, units, seconds, sample["user_seconds"] + sample["kernel_seconds"], resident, figures)


Table = dict[str, dict[int, Costs]]  # by operation and size


class Programs:
    """The growth program and its stores."""

    def __init__(self, out: Path) -> None:
        self.program = out / "growth"
        self.counting = out / "libcounting.so"
        self.out = out

    def store(self, size: int) -> Path:
        return self.out / f"growth_{size}.sqlite"

    def names(self) -> list[str]:
        return subprocess.run([self.program, "list"], capture_output=True, text=True, check=True).stdout.split()

    def prepare(self, size: int) -> None:
        subprocess.run([self.program, "prepare", self.store(size), str(size)], check=True)

    def remove(self, size: int) -> None:
        for path in self.out.glob(f"growth_{size}.sqlite*"):
            path.unlink()

    def run(self, size: int, operations: list[str]) -> dict[str, Costs]:
        """Runs operations in one process. Raises RuntimeError with the program's messages if it fails."""
        environment = {**os.environ, "LD_PRELOAD": str(self.counting), "SWIFT_DETERMINISTIC_HASHING": "1"}
        command = [str(self.program), "run", str(self.store(size)), str(size), *operations]
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)}: status {done.returncode}\n{done.stderr[-2000:]}")
        samples = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        return {sample["workload"]: Costs.of(sample, size) for sample in samples}

    def count(self, size: int, operations: list[str]) -> dict[str, int]:
        """Returns the instructions of each operation."""
        command = [str(self.program), "run", str(self.store(size)), str(size), *operations]
        parts, _ = callgrind.count_parts(command)
        return {name: sum(costs.values()) for name, costs in parts.items()}


def measure(programs: Programs, sizes: list[int], operations: list[str], separate: bool) -> Table:
    """Runs the operations at each size. With `separate`, each runs in a process, for its resident memory."""
    table: Table = {name: {} for name in operations}
    for size in sizes:
        for group in [[name] for name in operations] if separate else [operations]:
            for name, costs in programs.run(size, group).items():
                table[name][size] = costs
        print(f"{size:,} objects: done", file=sys.stderr)
    return table


def count_instructions(programs: Programs, table: Table, sizes: list[int]) -> None:
    """Adds the instructions at the given sizes to the table, with two processes at a time."""
    names = list(table)
    halves = [(size, names[half::2]) for size in sizes for half in range(2)]
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for (size, _), counts in zip(halves, pool.map(lambda each: programs.count(*each), halves)):
            for name, count in counts.items():
                costs = table[name].get(size)
                if costs:
                    costs.figures["instructions"] = count / costs.units


def exponent(before: Costs, after: Costs, figure: str) -> float | None:
    """Returns the power of n by which a cost grew from one size to the next: 1 for a cost that is proportional."""
    first, second = (costs.figures.get(figure, 0.0) for costs in (before, after))
    if first <= 0 or second <= 0:
        return None
    repeated = before.units == after.units and before.units != before.size
    ratio: float = math.log(second / first) / math.log(after.size / before.size)
    return ratio if repeated else ratio + 1


def excess(name: str, before: Costs, after: Costs, figure: str) -> float:
    """Returns the growth of a cost per unit divided by its limit; above 1, it grew too fast."""
    first, second = (costs.figures.get(figure, 0.0) for costs in (before, after))
    least = LEAST.get(figure, 0.0)
    if figure == "time":
        if after.user_seconds < LEAST_SECONDS:
            return 0.0
        # The resolution of the clock and the fixed costs of an operation matter for short times.
        first = max(first, LEAST_SECONDS / 10 / before.units * 1e6)
    elif figure not in before.figures or figure not in after.figures:
        return 0.0
    power = KNOWN.get(name, (0.0, ""))[0] if figure == "time" else 0.0
    n_log_n = math.log(after.size) / math.log(before.size)
    limit: float = max(first, least) * n_log_n * NOISE[figure] * (after.size / before.size) ** power
    return second / limit


def check(table: Table, pairs: dict[str, list[tuple[int, int]]]) -> list[tuple[str, str, int, int]]:
    """Returns operation, cost and sizes of each growth that is too fast."""
    return [
        (name, figure, small, large)
        for name, sizes in table.items()
        for figure, compared in pairs.items()
        for small, large in compared
        if small in sizes and large in sizes and excess(name, sizes[small], sizes[large], figure) > 1
    ]


def repeat_times(
    programs: Programs, table: Table, found: list[tuple[str, str, int, int]], attempts: int
) -> list[tuple[str, str, int, int]]:
    """Measures times that grew too fast again, and keeps those that always do."""
    kept = []
    for name, figure, small, large in found:
        remaining = attempts - 1 if figure == "time" else 0
        while remaining and excess(name, table[name][small], table[name][large], figure) > 1:
            for size in (small, large):
                again = programs.run(size, [name])[name]
                if again.figures["time"] < table[name][size].figures["time"] or size == small:
                    table[name][size] = again
            remaining -= 1
        if excess(name, table[name][small], table[name][large], figure) > 1:
            kept.append((name, figure, small, large))
    return kept


def short_number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def print_table(table: Table, sizes: list[int], counted: list[int]) -> None:
    heading = ["operation", *(f"µs at {size:,}" for size in sizes), "growth", "worst"]
    heading += [f"bytes at {size:,}" for size in sizes] + ["growth"]
    heading += [f"instructions at {size:,}" for size in counted] + (["growth"] if counted else [])
    rows = [heading]
    for name, by_size in table.items():
        present = [by_size[size] for size in sizes if size in by_size]
        steps = [exponent(*both, "time") for both in zip(present, present[1:])]
        known = [step for step in steps if step is not None]
        times = [f"{short_number(costs.seconds / costs.units * 1e6)}" for costs in present]
        row = [name, *times, f"{known[-1]:.2f}" if known else "-", f"{max(known):.2f}" if known else "-"]
        row += [short_number(costs.figures["peak"]) for costs in present]
        step = exponent(present[0], present[-1], "peak") if len(present) > 1 else None
        row.append(f"{step:.2f}" if step is not None else "-")
        if counted:
            row += [short_number(by_size[size].figures.get("instructions", 0.0)) for size in counted]
            step = exponent(by_size[counted[0]], by_size[counted[-1]], "instructions")
            row.append(f"{step:.2f}" if step is not None else "-")
        rows.append(row)
    print(report.grid(rows))


def integers(text: str) -> list[int]:
    return [int(part) for part in text.split(",") if part]


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Compare the growth of operations with n log n.")
    parser.add_argument("--short", action="store_true", help="the part of `make test`")
    parser.add_argument("--sizes", type=integers, help=",".join(map(str, SIZES)))
    parser.add_argument("--counted", type=integers, help="the sizes for callgrind, of --sizes or others; empty: none")
    parser.add_argument("--operations", type=lambda text: text.split(","), help="all of `growth list`")
    parser.add_argument("--attempts", type=int, default=3, help="how often a time may exceed its limit")
    parser.add_argument("--results", type=Path, help="write the figures to this file")
    parser.add_argument("--keep", action="store_true", help="keep the stores")
    parser.add_argument("--library", type=Path, default=ROOT / "build" / "lib")
    parser.add_argument("--include", type=Path, default=ROOT / "build" / "include")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "bench")
    return parser.parse_args()


def compared_pairs(sizes: list[int], counted: list[int], short: bool) -> dict[str, list[tuple[int, int]]]:
    steps = list(zip(sizes, sizes[1:]))
    if short:
        few, many = steps[:1], steps[-1:]
        return {"allocations": few, "requested": few, "peak": few, "time": many}
    return {
        "instructions": list(zip(counted, counted[1:])),
        **dict.fromkeys(("allocations", "requested", "peak"), steps),
        "time": [(small, large) for small, large in steps if small >= 10_000],
    }


def build(arguments: argparse.Namespace, out: Path) -> None:
    command = ["make", "--no-print-directory", "-C", str(HERE), f"OUT={out}", f"LIB={arguments.library.resolve()}"]
    command += [f"INCLUDE={arguments.include.resolve()}", str(out / "growth"), str(out / "libcounting.so")]
    subprocess.run(command, check=True, stdout=2)


def describe(found: tuple[str, str, int, int], table: Table) -> str:
    name, figure, small, large = found
    first, second = (table[name][size].figures[figure] for size in (small, large))
    unit = {"time": "µs", "peak": "bytes", "requested": "bytes"}.get(figure, figure)
    return (
        f"{name}: {figure} grew from {short_number(first)} {unit} per unit at {small:,} objects to "
        f"{short_number(second)} at {large:,}"
    )


def main() -> int:
    arguments = parse_arguments()
    out = arguments.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    build(arguments, out)
    programs = Programs(out)
    every = programs.names()
    operations = arguments.operations or every
    unknown = set(operations) - set(every)
    if unknown:
        print(f"growth.py: there is no operation {unknown.pop()}; use {', '.join(every)}", file=sys.stderr)
        return 2
    sizes = arguments.sizes or (SHORT_SIZES if arguments.short else SIZES)
    counted = arguments.counted if arguments.counted is not None else [] if arguments.short else COUNTED
    if counted and not shutil.which("valgrind"):
        print("growth.py: valgrind is missing; `make deps` installs it", file=sys.stderr)
        return 1
    every_size = sorted({*sizes, *counted})
    try:
        for size in every_size:
            programs.prepare(size)
        table = measure(programs, every_size, operations, separate=not arguments.short)
        if counted:
            count_instructions(programs, table, counted)
        found = check(table, compared_pairs(sizes, counted, arguments.short))
        found = repeat_times(programs, table, found, arguments.attempts)
    except RuntimeError as error:
        print(f"growth.py: {error}", file=sys.stderr)
        return 1
    finally:
        for size in [] if arguments.keep else every_size:
            programs.remove(size)
    if not arguments.short:
        print_table(table, sizes, counted)
    if arguments.results:
        save(arguments.results, table)
    for each in found:
        print(f"FASTER THAN n log n: {describe(each, table)}")
    print(f"{len(table)} operations at {', '.join(f'{size:,}' for size in sizes)} objects, {len(found)} grow too fast")
    return 1 if found else 0


def save(path: Path, table: Table) -> None:
    operations = {
        name: {
            str(size): {
                "units": costs.units,
                "seconds": costs.seconds,
                "resident_bytes": round(costs.resident, 1),
                **{figure: round(value, 4) for figure, value in costs.figures.items()},
            }
            for size, costs in by_size.items()
        }
        for name, by_size in table.items()
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    document = {"machine": report.machine(), "operations": operations}
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
