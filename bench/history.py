r"""Compares reading, writing and purging a history with plain C on SQLite.

PYTHONPATH=bindings/python CORESTONE_LIBRARY=build/lib/libcorestone.so \
    python bench/history.py [--rounds N] [--purge ROWS] [--gate]

Save: a save of 100,000 new objects with a history, compared with a save without a history plus the insertion of the
history's rows in raw C. Fetch: 100,000 changes of 1,000 transactions. Purge: a history of a million changes, in steps;
other connections wait for at most the longest step. With --gate, the exit status is 1 if a ratio or the longest step
exceeds its limit.
"""

from __future__ import annotations

import argparse
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from corestone import Container, Model

ROWS = 100_000
SAVE_LIMIT, FETCH_LIMIT, STEP_LIMIT = 1.15, 1.5, 0.5
BENCH = Path(__file__).resolve().parent


def run(*arguments: str) -> list[float]:
    program = BENCH.parent / "build" / "bench" / "history"
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=True)
    return [float(word) for word in done.stdout.split()]


def store(path: Path, transactions: int, changes: int, *, updates: bool) -> Path:
    """Creates a store with a history whose rows are like those of saves."""
    with Container(Model({"Item": {"name": "string?", "code": "int64"}}), path, history=True):
        pass
    kind, mask = (1, "x'80'") if updates else (0, "NULL")
    with sqlite3.connect(path) as file:
        file.execute("INSERT INTO ATRANSACTIONSTRING (Z_PK, Z_ENT, ZNAME) VALUES (1, 16003, 'importer')")
        file.execute(
            "INSERT INTO ATRANSACTION (Z_PK, Z_ENT, ZTIMESTAMP, ZAUTHORTS, ZBUNDLEIDTS, ZPROCESSIDTS) "
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) "
            "SELECT i, 16002, i, 1, 1, 1 FROM n", [transactions])  # fmt: skip
        file.execute(
            "INSERT INTO ACHANGE (Z_PK, Z_ENT, ZCHANGETYPE, ZENTITY, ZENTITYPK, ZTRANSACTIONID, ZCOLUMNS) "
            "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ?) "
            f"SELECT i + 1, 16001, {kind}, 1, i + 1, i / ? + 1, {mask} FROM n",
            [changes - 1, changes // transactions])  # fmt: skip
        for number, highest in ((16001, changes), (16002, transactions), (16003, 1)):
            file.execute("UPDATE Z_PRIMARYKEY SET Z_MAX = ? WHERE Z_ENT = ?", [highest, number])
    file.close()
    return path


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--purge", type=int, default=1_000_000, metavar="ROWS")
    parser.add_argument("--gate", action="store_true")
    given = parser.parse_args()
    subprocess.run(["make", "-s", "-C", str(BENCH), "../build/bench/history"], check=True)
    missed = False
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        saves, fetches, seconds = [], [], {"on": 0.0, "off": 0.0, "raw": 0.0}
        source = store(folder / "fetch.sqlite", ROWS // 100, ROWS, updates=True)
        for round_number in range(given.rounds):
            path = str(folder / f"save{round_number}.sqlite")
            off = run("save", path + "off", str(ROWS), "off")[0]
            on = run("save", path, str(ROWS), "on")[0]
            rows = run("rows-raw", path, str(ROWS))[0]
            saves.append(on / (off + rows))
            raw, ours = run("fetch-raw", str(source)), run("fetch", str(source))
            assert raw[1] == ours[1] == ROWS
            fetches.append(ours[0] / raw[0])
            seconds["fetch"], seconds["fetch-raw"] = ours[0], raw[0]
            seconds["on"], seconds["off"], seconds["raw"] = on, off, rows
        ratio = statistics.median(saves)
        missed = missed or ratio > SAVE_LIMIT
        print(f"save: {seconds['on']:.3f} s with history, {seconds['off']:.3f} s without, its rows by raw C "
              f"{seconds['raw']:.3f} s: ratio {ratio:.2f} (limit {SAVE_LIMIT})")  # fmt: skip
        ratio = statistics.median(fetches)
        missed = missed or ratio > FETCH_LIMIT
        print(f"fetch: {ROWS} changes in {seconds['fetch']:.3f} s, raw C {seconds['fetch-raw']:.3f} s: "
              f"ratio {ratio:.2f} (limit {FETCH_LIMIT})")  # fmt: skip
        large = store(folder / "purge.sqlite", given.purge // 100, given.purge, updates=False)
        total, steps, memory, longest = run("purge", str(large))
        missed = missed or longest > STEP_LIMIT
        print(f"purge: {given.purge} changes in {total:.2f} s, {int(steps)} steps, the longest {longest:.3f} s, "
              f"{memory / 1024:.0f} MB")  # fmt: skip
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if given.gate and missed else 0


if __name__ == "__main__":
    sys.exit(main())
