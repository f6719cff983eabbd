"""Functions for the Python peers: the data set, and timing reported as a line of JSON like that of the C programs."""

from __future__ import annotations

import contextlib
import gc
import json
import resource
import shutil
import sqlite3
import sys
import time
from pathlib import Path
from typing import Any, Callable

PRAGMAS = {
    "auto_vacuum": "INCREMENTAL",
    "journal_mode": "WAL",
    "synchronous": "NORMAL",
    "cache_size": "-32768",
    "temp_store": "MEMORY",
    "wal_autocheckpoint": "4000",
}
QUERY_NAMES = [f"Department {number % 100 + 1:03d}" for number in range(1000)]


def rows(data: str, file: str) -> list[list[str]]:
    return [line.split("\t") for line in (Path(data) / file).read_text(encoding="utf-8").splitlines()]


def keys(data: str, count: int = 100_000) -> list[int]:
    """Returns the first `count` of the shuffled employee keys."""
    return [int(row[0]) for row in rows(data, "ids.tsv")[:count]]


def copied(path: str, workload: str) -> str:
    """Copies a store for a workload that changes it. The store must not be open in any program."""
    copy = f"{path}-{workload}"
    for suffix in ("-wal", "-shm"):
        Path(copy + suffix).unlink(missing_ok=True)
    shutil.copyfile(path, copy)
    return copy


def raised(salary: float) -> float:
    return salary * 1.05 + 1


def status_kb(key: str) -> int:
    with open("/proc/self/status", encoding="ascii") as status:
        return next((int(line.split()[1]) for line in status if line.startswith(key)), 0)


class Clock:
    """Measures a workload: begin() and end(), or begin(), stop(), the computation of the check, and report()."""

    def __init__(self, peer: str, sqlite: str = sqlite3.sqlite_version) -> None:
        self.peer, self.sqlite = peer, sqlite

    def begin(self) -> None:
        gc.collect()
        with contextlib.suppress(OSError):  # without this reset, the peak is that of the whole process
            Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        self.base = status_kb("VmRSS:")
        self.usage = resource.getrusage(resource.RUSAGE_SELF)
        self.start = time.perf_counter()

    def stop(self) -> None:
        self.seconds = time.perf_counter() - self.start
        self.ended = resource.getrusage(resource.RUSAGE_SELF)
        self.peak = status_kb("VmHWM:")

    def report(self, workload: str, count: int, check: float) -> None:
        line = {
            "peer": self.peer,
            "workload": workload,
            "sqlite": self.sqlite,
            "seconds": round(self.seconds, 6),
            "user_seconds": round(self.ended.ru_utime - self.usage.ru_utime, 6),
            "kernel_seconds": round(self.ended.ru_stime - self.usage.ru_stime, 6),
            "page_faults": self.ended.ru_minflt - self.usage.ru_minflt,
            "rows": count,
            "peak_kb": self.peak,
            "base_kb": self.base,
            "check": round(float(check), 2),
        }
        print(json.dumps(line), flush=True)

    def end(self, workload: str, count: int, check: float) -> None:
        self.stop()
        self.report(workload, count, check)


def run(workloads: dict[str, Callable[..., Any]]) -> None:
    """Runs the workload of the command line: PROGRAM WORKLOAD DATA STORE."""
    if len(sys.argv) != 4 or sys.argv[1] not in workloads:
        sys.exit(f"usage: {sys.argv[0]} {'|'.join(workloads)} DATA STORE")
    workloads[sys.argv[1]](sys.argv[2], sys.argv[3])
