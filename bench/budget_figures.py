"""Counts instructions and allocations for budgets.py: of the smallest operations, and of every workload of run.py.

The smallest operations (budgets/ops.c) run N1 and N2 times; the difference divided by N2 - N1 is one operation. The
workloads run on a company of a fiftieth of the size; the figures of the timed part are divided by its rows.

Instructions are counted by callgrind, allocations by a run without it and with libcounting.so.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import callgrind
import generate
import run
from ceilings import KINDS, Figure, Figures

SCALE = 50
# The two numbers of runs of each of the smallest operations, large enough that the growth of tables and pages does not
# matter.
TIMES = {
    "get": (3_000, 33_000),
    "set": (3_000, 33_000),
    "fetch": (500, 3_500),
    "fault": (500, 3_500),
    "insert": (500, 3_500),
    "save": (500, 3_500),
}
READING = ("get", "set", "fetch", "fault")
# These depend on the order in which threads run. W1_full differs from W1 only in the system calls.
OMITTED = {"readers_1", "readers_2", "readers_4", "queues", "W1_full"}
# The processes that are timed by run.py --getters, with their third argument.
CALLS = {"small_getter": "1", "small_predicate": "1"}

Sample = dict[str, Any]


def allocations(out: Path, command: list[str]) -> list[Sample]:
    """Runs a program with libcounting.so and returns its lines. Raises RuntimeError if it fails."""
    environment = {
        **os.environ,
        "LD_PRELOAD": str(out / "libcounting.so"),
        "SWIFT_DETERMINISTIC_HASHING": "1",
        "LD_BIND_NOW": "1",
    }
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: status {done.returncode}\n{done.stderr[-2000:]}")
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def instructions(costs: callgrind.Costs) -> tuple[int, int]:
    """Returns the instructions without those of SQLite, and all."""
    total = sum(costs.values())
    return total - sum(cost for (file, _), cost in costs.items() if "libsqlite3" in file), total


def totals(costs: callgrind.Costs, sample: Sample) -> Figure:
    own, total = instructions(costs)
    return {
        "own": own,
        "total": total,
        "allocations": sample["allocations"],
        "bytes": sample["requested_bytes"],
        "peak": sample["peak_bytes"],
    }


def in_parallel(jobs: list[Callable[[], Figures]]) -> Figures:
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        return {name: figure for found in pool.map(lambda job: job(), jobs) for name, figure in found.items()}


class Operations:
    """The smallest operations."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.program = str(out / "ops")
        self.store = out / "ops.sqlite"

    def prepare(self) -> None:
        subprocess.run([self.program, "prepare", str(self.store)], check=True)

    def measure(self) -> Figures:
        return in_parallel([lambda name=name: {name: self.one(name)} for name in TIMES])  # type: ignore[misc]

    def one(self, name: str) -> Figure:
        few, many = (self.count(name, times) for times in TIMES[name])
        repeated = TIMES[name][1] - TIMES[name][0]
        return {kind: (many[kind] - few[kind]) / repeated for kind in KINDS}

    def count(self, name: str, times: int) -> Figure:
        store = self.store if name in READING else self.store.with_name(f"ops_{name}_{times}.sqlite")
        if name not in READING:
            store.unlink(missing_ok=True)
        command = [self.program, name, str(store), str(times)]
        (sample,) = allocations(self.out, command)
        if name not in READING:
            store.unlink(missing_ok=True)
        return totals(callgrind.count(command), sample)


class Workloads:
    """The workloads of the peer `corestone` of run.py, and single calls."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.data = out / "small"
        self.program = str(out / "small_corestone")
        runs = run.make_peers(run.Places(out, out, out))["corestone"].runs
        self.runs = [each for name, group in runs.items() if name not in OMITTED for each in group]
        self.runs = [each for each in self.runs if each not in OMITTED] + ["queues"]

    def command(self, name: str, counted: bool) -> list[str]:
        """Returns the command of a workload. Those that create a store use one of their own."""
        creates = name.startswith(("W1", "batch", "store_")) and not name.startswith("W11")
        store = f"{name}_counted" if creates and counted else name if creates else "W1"
        path = self.out / f"small_{store}.sqlite"
        return [self.program, name, str(self.data), str(path)]

    def prepare(self) -> dict[str, list[Sample]]:
        """Writes the data, and runs each workload with libcounting.so. W1 creates the store that others read."""
        if not (self.data / "ids.tsv").exists():
            generate.generate(self.data, scale=SCALE)
        for path in self.out.glob("small_*.sqlite*"):
            path.unlink()
        names = sorted(self.runs, key=lambda name: name != "W1")
        samples = {name: allocations(self.out, self.command(name, counted=False)) for name in names}
        for program, times in CALLS.items():
            samples[program] = allocations(self.out, self.calls(program, times))
        return samples

    def calls(self, program: str, times: str) -> list[str]:
        return [str(self.out / program), str(self.data), str(self.out / "small_W1.sqlite"), times]

    def measure(self) -> Figures:
        samples = self.prepare()

        def count(name: str) -> Figures:
            command = self.calls(name, CALLS[name]) if name in CALLS else self.command(name, counted=True)
            parts, _ = callgrind.count_parts(command)
            figures = {}
            for sample in samples[name]:
                workload, rows = str(sample["workload"]), int(sample["rows"])
                if workload != "perform_enqueued":  # depends on the order in which two threads run
                    figure = totals(parts[workload], sample)
                    figures[workload] = {kind: value / rows for kind, value in figure.items()}
            return figures

        # The longest runs first.
        names = sorted(samples, key=lambda name: -sum(float(sample["user_seconds"]) for sample in samples[name]))
        return in_parallel([lambda name=name: count(name) for name in names])  # type: ignore[misc]
