r"""Compares migrations that add, rename or drop an attribute of many rows with the same SQL in the sqlite3 shell.

PYTHONPATH=bindings/python CORESTONE_LIBRARY=build/lib/libcorestone.so \
    python bench/migration.py [--rows N] [--rounds N] [--gate]

Each migration runs in its own process, whose peak memory is reported. The shell runs the statements of the migration's
plan in one transaction, with the library's settings of SQLite. With --gate, the exit status is 1 if a ratio exceeds the
limit.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from corestone import Container, Coordinator, Model, migration_plan

LIMIT = 1.2
ATTRIBUTES = {"name": "string", "code": "int64", "rank": "int32", "price": "double", "note": "string?", "made": "date?"}
CHANGES = {
    "add": {**ATTRIBUTES, "extra": "string = new"},
    "rename": {**{name: line for name, line in ATTRIBUTES.items() if name != "note"},
               "remark": "string? renaming_identifier note"},
    "drop": {name: line for name, line in ATTRIBUTES.items() if name != "note"},
}  # fmt: skip
SETTINGS = "PRAGMA synchronous=FULL; PRAGMA temp_store=FILE; PRAGMA cache_size=-32768; PRAGMA legacy_alter_table=ON;"


def model(attributes: dict[str, str]) -> Model:
    return Model({"Item": attributes})


def fill(path: Path, rows: int) -> None:
    Container(model(ATTRIBUTES), path).close()
    with sqlite3.connect(path) as file:
        file.execute(
            "INSERT INTO ZITEM (Z_PK, Z_ENT, Z_OPT, ZNAME, ZCODE, ZRANK, ZPRICE, ZNOTE, ZMADE) "
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) "
            "SELECT i, 1, 1, 'item ' || i, i * 7, i % 100, i * 0.25, "
            "CASE WHEN i % 3 THEN 'a note of item ' || i END, i FROM n",
            [rows],
        )
        file.execute("UPDATE Z_PRIMARYKEY SET Z_MAX = ?", [rows])
    file.close()


def copied(source: Path, folder: Path) -> Path:
    target = folder / "copy.sqlite"
    for end in ("", "-wal", "-shm"):
        (folder / f"copy.sqlite{end}").unlink(missing_ok=True)
    shutil.copy(source, target)
    with open(target, "rb+") as file:  # the writes of the copy are not part of the measurement
        file.flush()
    return target


def migrate(path: str, change: str) -> None:
    """Prints seconds and the peak memory in MB. Must run in a new process."""
    wanted = model(CHANGES[change])
    start = time.perf_counter()
    coordinator = Coordinator(wanted)
    coordinator.add_store(path, migrate=True, allow_removals=True)
    coordinator.close()
    seconds = time.perf_counter() - start
    print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def measured(path: Path, change: str) -> tuple[float, float]:
    done = subprocess.run(
        [sys.executable, __file__, "--migrate", str(path), change], capture_output=True, text=True, check=True
    )
    seconds, megabytes = done.stdout.split()
    return float(seconds), float(megabytes)


def by_shell(path: Path, statements: list[str]) -> float:
    script = SETTINGS + "BEGIN IMMEDIATE;" + "".join(f"{each};" for each in statements) + "COMMIT;"
    start = time.perf_counter()
    subprocess.run(["sqlite3", "-bail", str(path)], input=script, text=True, check=True, capture_output=True)
    return time.perf_counter() - start


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--gate", action="store_true")
    parser.add_argument("--migrate", nargs=2, metavar=("STORE", "CHANGE"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.migrate:
        migrate(*given.migrate)
        return 0
    missed = False
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = folder / "source.sqlite"
        fill(source, given.rows)
        print(f"| {given.rows} rows | migration | sqlite3 | ratio | memory |\n|---|---|---|---|---|")
        for change in CHANGES:
            plan = migration_plan(source, model(CHANGES[change]), allow_removals=True)
            ours, theirs, memory = [], [], 0.0
            for _ in range(given.rounds):
                seconds, megabytes = measured(copied(source, folder), change)
                ours.append(seconds)
                memory = max(memory, megabytes)
                theirs.append(by_shell(copied(source, folder), plan.statements))
            ratio = statistics.median(ours) / statistics.median(theirs)
            missed = missed or ratio > LIMIT
            times = f"{statistics.median(ours):.3f} s | {statistics.median(theirs):.3f} s"
            print(f"| {change} | {times} | {ratio:.2f} | {memory:.0f} MB |")
    return 1 if given.gate and missed else 0


if __name__ == "__main__":
    sys.exit(main())
