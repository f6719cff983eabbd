"""Computes ratios from samples, and prints tables and verdicts."""

from __future__ import annotations

import datetime
import os
import platform
import sqlite3
from pathlib import Path
from statistics import median
from typing import Any

Sample = dict[str, Any]
Summary = dict[str, dict[str, dict[str, Any]]]  # workload, peer

# The highest ratio to the raw program.
TARGETS = {
    "W1": 1.35,
    "batch_insert": 1.2,
    "W3": 1.35,
    "W3_many": 1.25,
    "W3_arrow": 1.3,
    "W4": 1.1,
    "W5a": 1.5,
    "W6": 1.2,
    "W7": 1.2,
    "save_mixed": 1.2,
    "W8_count": 1.1,
    "W8_group": 1.1,
    "W9_cold": 1.5,
    "W9_hot": 5.0,
    "W11": 1.4,
}
# The highest ratio of the peak memory to that of the raw program.
MEMORY_TARGETS = {"W1": 1.7, "W3": 1.5}
# The highest ratio of a Python peer to another peer, for a workload.
PYTHON_TARGETS = [
    ("W1", "python", "sqlite3", 1.5),
    ("W3", "python", "sqlite3", 0.8),
    ("W9_hot", "python", "raw", 20.0),
    ("W3", "python_plain", "sqlite3", 2.0),
]
# The fastest ORM of the round needs at least this number of times the time of the Python package for W3.
ORM_FACTOR = 8.0
GETTER_NANOSECONDS = 15.0
# The highest ratio of an accessor (cst_entity_accessor) to the call that does the same.
ACCESSOR_RATIO = 3.0
ACCESSORS = {
    "accessor_integer": "get_integer",
    "accessor_double": "get_double",
    "accessor_text": "get_text",
    "accessor_to_one": "get_to_one",
    "accessor_is_null": "get_integer",
    "accessor_set_integer": "set_integer",
    "accessor_count": "member_count",
}
# The workload of the raw program for comparison, where its name differs.
BASE = {
    "W1_single": "W1",
    "W1_bulk": "W1",
    "W3_objects": "W3",
    "W3_many": "W3",
    "W11_objects": "W11",
    "W3_columns": "W3",
    "W3_rows": "W3",
}
ORDER = [
    "W1",
    "W1_single",
    "W1_bulk",
    "W1_full",
    "batch_insert",
    "W3",
    "W3_objects",
    "W3_many",
    "W3_columns",
    "W3_rows",
    "W3_arrow",
    "W4",
]
ORDER += [
    "W4_any",
    "W4_subquery",
    "W5a",
    "W6",
    "W7",
    "save_mixed",
    "W8_count",
    "W8_group",
    "W9_cold",
    "W9_hot",
    "W11",
    "W11_objects",
    "W11_lazy",
    "undo",
    "redo",
    "undo_steps",
    "redo_steps",
    "perform_own",
    "perform_free",
    "perform_enqueued",
    "controller",
    "child_save",
    "readers_1",
    "readers_2",
    "readers_4",
]
PEERS = [
    "raw",
    "corestone",
    "python",
    "python_plain",
    "sqlite3",
    "apsw",
    "sqlalchemy_core",
    "peewee",
    "django",
    "sqlalchemy",
    "pony",
]
# Ratios to raw C measured on Debian 12, CPython 3.11 (peewee 4.5, Django 5.2, SQLAlchemy 2.1). They are used if the
# packages cannot be installed from PyPI.
RECORDED_W3 = {"django": 20.4, "peewee": 24.0, "sqlalchemy": 32.2}
ORMS = [*RECORDED_W3, "pony"]


def place(workload: str) -> tuple[int, str]:
    """Returns the key by which tables order workloads: those of ORDER, then others by name."""
    return (ORDER.index(workload) if workload in ORDER else len(ORDER), workload)


def machine() -> dict[str, str]:
    """Returns a description of the machine, without the host name, because the results are in the repository."""
    processor = platform.processor() or platform.machine()
    information = Path("/proc/cpuinfo")
    if information.exists():
        models = [line.split(":", 1)[1].strip() for line in information.open() if line.startswith("model name")]
        processor = models[0] if models else processor
    return {
        "architecture": platform.machine(),
        "processor": f"{os.cpu_count()} x {processor}",
        "kernel": platform.release().split("-")[0],
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "taken": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "load": " ".join(f"{load:.1f}" for load in os.getloadavg()),
    }


def microseconds(sample: Sample) -> float:
    return float(sample["seconds"]) / int(sample["rows"]) * 1e6


def processor_microseconds(sample: Sample) -> float:
    return (float(sample["user_seconds"]) + float(sample["kernel_seconds"])) / int(sample["rows"]) * 1e6


def disagreements(samples: list[Sample]) -> list[str]:
    """Returns a message for each workload whose peers did not read the same values."""
    found = []
    for workload in sorted({str(sample["workload"]) for sample in samples}):
        bases = {workload, BASE.get(workload, workload)}
        same = [sample for sample in samples if sample["workload"] in bases]
        for value in ("check", "text"):
            # ORMs run fewer repetitions of some workloads, so only samples with the same number of rows are compared.
            by_rows: dict[int, dict[float, set[str]]] = {}
            for sample in same:
                if sample.get(value):
                    peers = by_rows.setdefault(int(sample["rows"]), {}).setdefault(
                        round(float(sample[value]), 1), set()
                    )
                    peers.add(f"{sample['peer']} {sample['workload']}")
            for results in by_rows.values():
                if len(results) > 1:
                    found.append(f"{workload}: {value} differs: {results}")
    return list(dict.fromkeys(found))


def versions(samples: list[Sample]) -> str:
    """Returns the versions of SQLite that the Python peers use. All others use that of the system."""
    found = dict.fromkeys((str(sample["peer"]), str(sample["sqlite"])) for sample in samples if sample.get("sqlite"))
    return "SQLite: " + ", ".join(f"{peer} {version}" for peer, version in found)


def summarize(samples: list[Sample]) -> Summary:
    summary: Summary = {}
    for workload, peer in dict.fromkeys((str(s["workload"]), str(s["peer"])) for s in samples):
        mine = [s for s in samples if s["workload"] == workload and s["peer"] == peer]
        base = {s["round"]: s for s in samples if s["workload"] == BASE.get(workload, workload) and s["peer"] == "raw"}
        ratios = [microseconds(s) / microseconds(base[s["round"]]) for s in mine if s["round"] in base]
        cpu = [
            processor_microseconds(s) / processor_microseconds(base[s["round"]])
            for s in mine
            if s["round"] in base and processor_microseconds(base[s["round"]]) > 0
        ]
        summary.setdefault(workload, {})[peer] = {
            "microseconds_per_row": round(median(microseconds(s) for s in mine), 5),
            "ratio": round(median(ratios), 3) if ratios else None,
            "ratio_least": round(min(ratios), 3) if ratios else None,
            "ratio_most": round(max(ratios), 3) if ratios else None,
            "processor_ratio": round(median(cpu), 3) if cpu else None,
            "peak_mb": round(median(float(s["peak_kb"]) for s in mine) / 1024, 1),
            "base_mb": round(median(float(s["base_kb"]) for s in mine) / 1024, 1),
            "rounds": len(mine),
        }
    return summary


def number(value: float) -> str:
    return (
        f"{value:.0f}"
        if value >= 100
        else f"{value:.1f}"
        if value >= 10
        else f"{value:.2f}"
        if value >= 0.1
        else f"{value:.3f}"
    )


def cell(entry: dict[str, Any] | None, peer: str) -> str:
    if entry is None:
        return "-"
    time = number(entry["microseconds_per_row"])
    if peer == "raw" and entry["ratio"] in (None, 1.0):
        return time
    return f"{number(entry['ratio'])}x ({time})" if entry["ratio"] is not None else f"({time})"


def grid(rows: list[list[str]]) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["| " + " | ".join(text.ljust(width) for text, width in zip(row, widths)) + " |" for row in rows]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)


def table(summary: Summary) -> str:
    workloads = [workload for workload in ORDER if workload in summary]
    peers = [peer for peer in PEERS if any(peer in summary[workload] for workload in workloads)]
    parts = []
    if workloads:
        rows = [["workload", *peers]]
        rows += [[w, *(cell(summary[w].get(peer), peer) for peer in peers)] for w in workloads]
        memory = [["workload", *peers]]
        for w in workloads:
            entries = [summary[w].get(peer) for peer in peers]
            memory.append([w, *(f"{e['peak_mb']:.0f}" if e else "-" for e in entries)])
        parts.append("Ratio to raw C (µs per row), median of the rounds\n\n" + grid(rows))
        parts.append("Peak resident memory, MB (W1: with the data set in memory)\n\n" + grid(memory))
    calls = [
        [w, f"{entry['corestone']['microseconds_per_row'] * 1000:.1f}"]
        for w, entry in summary.items()
        if w not in ORDER
    ]
    if calls:
        parts.append("Single calls on 1,000 objects in memory, ns\n\n" + grid([["call", "ns"], *calls]))
    return "\n\n".join(parts)


def targets(summary: Summary) -> list[str]:
    """Prints each target with its verdict. Returns the names of the missed ones."""
    rows = [["target", "limit", "ratio", "least-most", "processor time", "verdict"]]
    missed: list[str] = []
    for workload, most in TARGETS.items():
        entry = summary.get(workload, {}).get("corestone")
        if not entry or entry["ratio"] is None:
            continue
        spread = f"{entry['ratio_least']:.2f}-{entry['ratio_most']:.2f}"
        reached = entry["ratio"] <= most
        cpu = f"{entry['processor_ratio']:.2f}" if entry["processor_ratio"] is not None else "-"
        rows.append([workload, f"{most}x", f"{entry['ratio']:.2f}x", spread, cpu, "yes" if reached else "MISSED"])
        missed += [] if reached else [workload]
    getters = [w for w in summary if w.startswith("get_")]
    for call in getters:
        nanoseconds = summary[call]["corestone"]["microseconds_per_row"] * 1000
        reached = nanoseconds <= GETTER_NANOSECONDS
        rows.append(
            [call, f"{GETTER_NANOSECONDS:.0f} ns", f"{nanoseconds:.1f} ns", "", "", "yes" if reached else "MISSED"]
        )
        missed += [] if reached else [call]
    for accessor, plain in ACCESSORS.items():
        if accessor not in summary or plain not in summary:
            continue
        cost, base = (summary[call]["corestone"]["microseconds_per_row"] for call in (accessor, plain))
        reached = cost <= ACCESSOR_RATIO * base
        limit = f"{ACCESSOR_RATIO:.0f} x {plain}"
        rows.append([accessor, limit, f"{cost / base:.2f}x", "", "", "yes" if reached else "MISSED"])
        missed += [] if reached else [accessor]
    for workload, most in MEMORY_TARGETS.items():
        ours, base = (summary.get(workload, {}).get(peer) for peer in ("corestone", "raw"))
        if ours and base:
            ratio = ours["peak_mb"] / base["peak_mb"]
            rows.append(
                [f"{workload} memory", f"{most}x", f"{ratio:.2f}x", "", "", "yes" if ratio <= most else "MISSED"]
            )
            missed += [] if ratio <= most else [f"{workload} memory"]
    for workload, peer, other, most in PYTHON_TARGETS:
        ours, base = (summary.get(workload, {}).get(name) for name in (peer, other))
        if ours and base:
            ratio = ours["microseconds_per_row"] / base["microseconds_per_row"]
            name = f"{peer} {workload}"
            rows.append([name, f"{most} x {other}", f"{ratio:.2f}x", "", "", "yes" if ratio <= most else "MISSED"])
            missed += [] if ratio <= most else [name]
    python = summary.get("W3", {}).get("python")
    if python and python["ratio"] is not None:
        measured = {peer: e["ratio"] for peer, e in summary["W3"].items() if peer in ORMS}
        source = "measured" if measured else "recorded"
        fastest, ratio = min((measured or RECORDED_W3).items(), key=lambda item: item[1])
        reached = python["ratio"] * ORM_FACTOR <= ratio
        limit = f"{fastest} {ratio:.1f}x ({source}) / {ORM_FACTOR:.0f}"
        rows.append(["Python W3", limit, f"{python['ratio']:.1f}x", "", "", "yes" if reached else "MISSED"])
        missed += [] if reached else ["Python W3"]
    if len(rows) > 1:
        print("\nTargets\n\n" + grid(rows) + "\n")
    return missed
