#!/usr/bin/env python3
"""Writes docs/PERFORMANCE.md and its chart from the results of the benchmarks.

usage: document.py [--run FILE] [--calls FILE] [--large FILE] [--growth FILE] [--owners FILE]

The default of each is the newest recorded file of this architecture in bench/results; `make bench` passes its own run.
The chart is drawn with Graphviz, like the other drawings of docs/: docs/diagrams/performance.dot, docs/performance.svg.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import chart
import compare
import growth
import large
import owners
import python_calls
import report

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "PERFORMANCE.md"
DOT = ROOT / "docs" / "diagrams" / "performance.dot"
SVG = ROOT / "docs" / "performance.svg"
Document = dict[str, Any]

HEAD = """# Performance

The figures of this page come from the benchmarks in [bench/](../bench/README.md), which describes the workloads and
the programs that are compared. `make bench` runs the workloads and writes this page; it also lists workloads that are
slower than in the recorded run. A ratio is the time of a program divided by the time of plain C on SQLite (`raw`) in
the same round.

![Ratios to plain C, W3 from Python, and the bytes of an object](performance.svg)"""


def prose(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), 118, break_long_words=False, break_on_hyphens=False)


def taken(document: Document) -> str:
    machine = document["machine"]
    load = machine.get("load", "")
    return (
        f"{machine['taken'].split(' ')[0]}, {machine['processor']} ({machine['architecture']}), "
        f"SQLite {machine['sqlite']}, CPython {machine['python']}, load {load}"
    )


def workloads(run: Document) -> str:
    summary = run["summary"]
    names = [name for name in report.ORDER if name in summary]
    peers = [peer for peer in report.PEERS if any(peer in summary[name] for name in names)]
    rows = [["workload", *peers]]
    rows += [[name, *(report.cell(summary[name].get(peer), peer) for peer in peers)] for name in names]
    memory = [["workload", *peers]]
    for name in names:
        entries = [summary[name].get(peer) for peer in peers]
        memory.append([name, *(f"{entry['peak_mb']:.0f}" if entry else "-" for entry in entries)])
    calls = [
        [name, f"{entry['corestone']['microseconds_per_row'] * 1000:.1f}"]
        for name, entry in summary.items()
        if name not in report.ORDER and not name.startswith("store_") and "corestone" in entry
    ]
    kinds = sorted({name.rsplit("_", 1)[1] for name in summary if name.startswith("store_")})
    stores = [["ns per row", *kinds]]
    for work in ("store_save", "store_load", "store_query", "store_count"):
        entries = [summary.get(f"{work}_{kind}", {}).get("corestone") for kind in kinds]
        stores.append([work, *(f"{entry['microseconds_per_row'] * 1000:,.0f}" if entry else "-" for entry in entries)])
    parts = [
        "## Workloads",
        prose(f"Median of {run['rounds']} rounds: {taken(run)}."),
        "Ratio to plain C, with µs per row in brackets; `raw`: µs per row:",
        report.grid(rows),
        "Peak resident memory in MB, with the data set in memory for W1:",
        report.grid(memory),
    ]
    if kinds:
        parts += ["Stores by type:", report.grid(stores)]
    if calls:
        parts += ["Single calls on objects in memory, ns:", report.grid([["call", "ns"], *calls])]
    return "\n\n".join(parts)


def calls_of_python(document: Document) -> str:
    return "\n\n".join(
        [
            "## Calls of the Python package",
            prose(
                f"""Measured by `bench/python_calls.py`, with the accelerator unless stated otherwise: medians of
                processor time, {taken(document)}."""
            ),
            python_calls.table(document["calls"]),
        ]
    )


def memory_of_objects(document: Document) -> str:
    stages = [["stage", "own, KB", "mapped, KB"]]
    stages += [[stage["stage"], f"{stage['own_kb']:,}", f"{stage['mapped_kb']:,}"] for stage in document["base"]]
    return "\n\n".join(
        [
            "## Bytes of an object",
            prose(
                f"""Measured by `bench/owners.py` with {document["objects"]:,} objects of six attributes (two texts of
                25 bytes each) and three to-one relationships. Each block of memory that is allocated and not freed
                counts for the owner whose code allocated it. *Inserted* objects are not saved; the program keeps a
                handle of each. *Fetched* objects are faults, whose rows are already in memory. *Changed* is the
                addition
                for an object whose salary is set. *SQLite* is its page cache, which is limited to 32 MB for a
                connection. *Resident* is the growth of resident memory at its peak, which includes memory that is freed
                again."""
            ),
            owners.table(document["owners"]),
            prose(
                """The memory of a process that has loaded the library, before it holds objects: *own* memory, and
                *mapped* files (the library and its dependencies), which processes share."""
            ),
            report.grid(stages),
        ]
    )


def growth_of_operations(document: Document) -> str:
    operations = document["operations"]
    sizes = sorted({int(size) for by_size in operations.values() for size in by_size})
    shown = [size for size in sizes if size in growth.SIZES] or sizes
    rows = [["operation", *(f"{size:,}" for size in shown), "growth", *(f"{size:,}" for size in shown), "growth"]]
    for name, by_size in operations.items():
        present = [by_size[str(size)] for size in shown if str(size) in by_size]
        if len(present) < len(shown):
            continue
        times = [each["seconds"] / each["units"] * 1e6 for each in present]
        peaks = [each["peak"] for each in present]
        costs = [growth.Costs(size, each["units"], 0, 0, 0, each) for size, each in zip(shown, present)]
        time = growth.exponent(costs[-2], costs[-1], "time")
        peak = growth.exponent(costs[-2], costs[-1], "peak")
        cells = [growth.short_number(value) for value in times]
        cells += [f"{time:.2f}" if time is not None else "-"]
        cells += [growth.short_number(value) for value in peaks]
        cells += [f"{peak:.2f}" if peak is not None else "-"]
        rows.append([name, *cells])
    known = "\n".join(f"- `{name}` {reason}." for name, (_, reason) in growth.KNOWN.items())
    return "\n\n".join(
        [
            "## Growth",
            prose(
                f"""`make check-growth` runs {len(operations)} operations at each number of objects, and fails if one
                grows faster than n log n. The first columns are µs per object, or per repetition where the cost of one
                should not depend on the number of objects. The next ones are the bytes that are allocated at the peak,
                per object. Growth is the exponent of the last step: 1 is proportional to the number of objects, and 0
                is
                constant, for repetitions. Time grows slightly faster than instructions, because larger stores do not
                fit into caches. {taken(document)}."""
            ),
            report.grid(rows),
            "Faster by design:",
            known,
        ]
    )


def large_store(document: Document) -> str:
    return "\n\n".join(
        [
            "## Ten million rows",
            prose(
                f"""`make bench-large`, a store of {document["rows"]:,} rows of six attributes with one index:
                {taken(document)}. `create` is one batch request, `query` 20,000 single rows by the index, `cursor`
                reads two values of every row, `live` observes 10,000 rows in an order and saves 200 changes of them.
                Plain C runs the query of `live` again after each change, because SQLite does not report changes of
                results."""
            ),
            large.table(document["summary"]),
        ]
    )


def load(path: Path | None) -> Document | None:
    return json.loads(path.read_text(encoding="utf-8")) if path and path.exists() else None


def main() -> int:
    parser = argparse.ArgumentParser(description="Write docs/PERFORMANCE.md from the results of the benchmarks.")
    parser.add_argument("--run", type=Path, default=compare.recorded())
    for kind in ("calls", "large", "growth", "owners"):
        parser.add_argument(f"--{kind}", type=Path, default=compare.recorded(f"{kind}-"))
    arguments = parser.parse_args()
    run = load(arguments.run)
    if run is None:
        print("document.py: there are no results; run bench/run.py first", file=sys.stderr)
        return 1
    parts = [HEAD, workloads(run)]
    objects = load(arguments.owners)
    for document, write in (
        (load(arguments.calls), calls_of_python),
        (objects, memory_of_objects),
        (load(arguments.growth), growth_of_operations),
        (load(arguments.large), large_store),
    ):
        if document is not None:
            parts.append(write(document))
    PAGE.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    DOT.write_text(chart.dot(run["summary"], owners.NAMES, objects["owners"] if objects else {}), encoding="utf-8")
    subprocess.run(["dot", "-Tsvg", str(DOT), "-o", str(SVG)], check=True)
    for path in (PAGE, DOT, SVG):
        print(path.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
