#!/usr/bin/env python3
"""Compares calls of the Python package with their counterparts in Python, and prints a table with targets.

usage: python_calls.py [--rounds N] [--out DIR] [--library DIR] [--results FILE]

get, set           an integer of a managed object with the accelerator, against an attribute of a class with
                   `__slots__`
import             `import corestone` without the accelerator against `import sqlite3`, in fresh processes with compiled
                   modules. The import of a class, which loads the modules of the package, does not have a target
read, fetch_rows   100,000 objects of six attributes as dictionaries, against `fetch(…).to_dicts()`, with the
                   accelerator

The two calls of a line take turns. The figures are medians of processor time over the rounds, and over fifteen
processes for imports. run.py runs this program, and document.py writes the table to docs/PERFORMANCE.md.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import report

ROOT = Path(__file__).resolve().parent.parent
IMPORTS = 15  # the number of processes of each import
ROWS = 100_000
CALLS = 1_000_000
IMPORT = "import time; start = time.process_time(); {}; print(time.process_time() - start)"
# The call, its counterpart, the unit of both, and the highest ratio, if there is a target.
LINES: dict[str, tuple[str, str, str, float | None]] = {
    "get": ("`object.age`", "`__slots__` attribute", "ns", 1.5),
    "set": ("`object.age = number`", "`__slots__` attribute", "ns", 4.0),
    "import": ("`import corestone`, without the accelerator", "`import sqlite3`", "ms", 2.0),
    "import_class": ("`from corestone import Container`, the same", "`import sqlite3`", "ms", None),
    "read": ("`container.read`, 100,000 objects", "`fetch().to_dicts()`", "ms", 1.3),
    "fetch_rows": ("`context.fetch_rows`, 100,000 objects", "`fetch().to_dicts()`", "ms", 1.3),
}
MODEL = {
    "Employee": {
        "name": "string?",
        "email": "string?",
        "age": "int32?",
        "salary": "double?",
        "hireDate": "date?",
        "active": "bool?",
    }
}
EPOCH = datetime(2001, 1, 1, tzinfo=timezone.utc)
Calls = dict[str, dict[str, float]]  # by line: the medians `own` and `other`, and the median `ratio`


class Slots:
    __slots__ = ("age",)

    def __init__(self) -> None:
        self.age = 41


def get(item: Any) -> None:
    for _ in range(CALLS // 10):
        _ = item.age, item.age, item.age, item.age, item.age, item.age, item.age, item.age, item.age, item.age


def assign(item: Any) -> None:
    for number in range(CALLS // 10):
        item.age = item.age = item.age = item.age = item.age = number
        item.age = item.age = item.age = item.age = item.age = number


def clocked(act: Callable[[], object]) -> float:
    """Returns the processor seconds of a call. Garbage is collected before the call, and its result is kept."""
    gc.collect()
    start = time.process_time()
    kept = act()
    seconds = time.process_time() - start
    del kept
    return seconds


def compared(rounds: int, scale: float, own: Callable[[], float], other: Callable[[], float]) -> dict[str, float]:
    own(), other()  # not counted: the first calls fill caches
    pairs = [(own() * scale, other() * scale) for _ in range(rounds)]
    return {
        "own": median(pair[0] for pair in pairs),
        "other": median(pair[1] for pair in pairs),
        "ratio": median(pair[0] / pair[1] for pair in pairs),
    }


def imported(statement: str, out: Path) -> float:
    """Returns the processor seconds of an import in a new process."""
    environment = {**os.environ, "CORESTONE_ACCELERATOR": "0", "PYTHONPYCACHEPREFIX": str(out / "bytecode")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-c", IMPORT.format(statement)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout)


def of_objects(rounds: int, folder: Path) -> Calls:
    import corestone

    with corestone.Container(corestone.Model(MODEL), folder / "calls.sqlite", unsaved="discard") as container:
        context = container.context()
        rows = (
            {
                "name": f"Employee {number:06}",
                "email": f"employee.{number:06}@corp.test",
                "age": 20 + number % 40,
                "salary": 30000.0 + number,
                "hireDate": EPOCH + timedelta(seconds=1000 * number),
                "active": number % 2 == 0,
            }
            for number in range(ROWS)
        )
        context.insert_many("Employee", list(rows))
        context.save()
        context.close()

        with container.context() as context:
            employee, slots = context.fetch("Employee", limit=1)[0], Slots()
            employee.age = slots.age
            # Nanoseconds per call.
            get_and_set = {
                name: compared(rounds, 1e9 / CALLS, partial(clocked, own), partial(clocked, other))
                for name, own, other in (
                    ("get", partial(get, employee), partial(get, slots)),
                    ("set", partial(assign, employee), partial(assign, slots)),
                )
            }
            context.rollback()

        def dictionaries() -> object:
            with container.context() as context:
                return context.fetch("Employee").to_dicts()

        def fetched_rows() -> object:
            with container.context() as context:
                return context.fetch_rows("Employee", columns=list(MODEL["Employee"]))

        def records() -> object:
            return container.read("Employee")

        of_rows = {
            name: compared(rounds, 1e3, partial(clocked, act), partial(clocked, dictionaries))
            for name, act in (("read", records), ("fetch_rows", fetched_rows))
        }
    return {**get_and_set, **of_rows}


def measure(rounds: int, out: Path) -> Calls:
    other = partial(imported, "import sqlite3", out)
    found = {
        name: compared(IMPORTS, 1e3, partial(imported, statement, out), other)
        for name, statement in (
            ("import", "import corestone"),
            ("import_class", "from corestone import Container"),
        )
    }
    with tempfile.TemporaryDirectory(dir=out) as folder:
        found |= of_objects(rounds, Path(folder))
    return {name: found[name] for name in LINES}


def table(calls: Calls) -> str:
    rows = [["call", "counterpart", "time", "of the counterpart", "ratio", "target", ""]]
    for name, figures in calls.items():
        own, other, unit, target = LINES[name]
        verdict = "" if target is None else "met" if figures["ratio"] <= target else "missed"
        times = (f"{figures[which]:.3g} {unit}" for which in ("own", "other"))
        limit = "-" if target is None else f"{target:g}"
        rows.append([own, other, *times, f"{figures['ratio']:.2f}", limit, verdict])
    return report.grid(rows)


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare calls of the Python package with their counterparts.")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "bench")
    parser.add_argument("--library", type=Path, default=ROOT / "build" / "lib")
    parser.add_argument("--results", type=Path, help="write the figures as JSON")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    os.environ["CORESTONE_LIBRARY"] = str(arguments.library.resolve() / "libcorestone.so")
    os.environ["CORESTONE_ACCELERATOR"] = "1"
    os.environ["PYTHONPATH"] = str(ROOT / "bindings" / "python")
    sys.path.insert(0, os.environ["PYTHONPATH"])
    calls = measure(arguments.rounds, arguments.out.resolve())
    print(table(calls))
    if arguments.results:
        document = {"machine": report.machine(), "rounds": arguments.rounds, "calls": calls}
        arguments.results.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
