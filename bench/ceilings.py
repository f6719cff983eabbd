"""Compares the figures of operations with their recorded ceilings, for budgets.py."""

from __future__ import annotations

import math
from pathlib import Path

import report

ROOT = Path(__file__).resolve().parent.parent
RECORDED = ROOT / "bench" / "budgets" / "ceilings.json"
KINDS = ("own", "total", "allocations", "bytes", "peak")
Figure = dict[str, float]  # of an operation: KINDS, or the first two for a call of the Python package
Figures = dict[str, Figure]
# The Python package with its accelerator and without it. The names of its calls begin with one of them.
PEERS = ("python", "python_plain")

ROOM = 1.10
PYTHON_ROOM = 1.02
# What a ceiling is above a small figure at least.
LEAST_ROOM = {"own": 5.0, "total": 5.0, "allocations": 0.05, "bytes": 16.0, "peak": 32.0}
Ceilings = dict[str, dict[str, float]]


def is_python(operation: str) -> bool:
    return operation.partition(".")[0] in PEERS


def ceiling(operation: str, kind: str, value: float) -> float:
    if is_python(operation):
        return math.ceil(value * PYTHON_ROOM)
    limit = max(value * ROOM, value + LEAST_ROOM[kind])
    return math.ceil(limit * 100) / 100 if kind == "allocations" else math.ceil(limit)


def text(kind: str, value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}" if kind == "allocations" else f"{value:.0f}"


def table(figures: Figures, ceilings: Ceilings) -> str:
    rows = [["per operation or row", *(cell for kind in KINDS for cell in (kind, "ceiling")), ""]]
    for operation, figure in figures.items():
        limits = ceilings.get(operation, {})
        cells = [cell for kind in KINDS for cell in (text(kind, figure.get(kind)), text(kind, limits.get(kind)))]
        above = [kind for kind in figure if kind in limits and figure[kind] > limits[kind]]
        missing = [kind for kind in figure if kind not in limits]
        remark = f"ABOVE: {', '.join(above)}" if above else "NO CEILING" if missing else ""
        rows.append([operation, *cells, remark])
    return report.grid(rows)


def problems(figures: Figures, ceilings: Ceilings) -> list[str]:
    """Returns a line for each operation that is above a ceiling or does not have one."""
    found = []
    for operation, figure in figures.items():
        limits = ceilings.get(operation, {})
        missing = [kind for kind in figure if kind not in limits]
        if missing:
            found.append(
                f"{operation} does not have a recorded ceiling for {', '.join(missing)}: "
                f"run bench/budgets.py --record {operation}, and commit {RECORDED.relative_to(ROOT)}"
            )
        for kind in figure:
            if kind in limits and figure[kind] > limits[kind]:
                found.append(
                    f"{operation} is above its ceiling for {kind}, {text(kind, figure[kind])} instead of "
                    f"{text(kind, limits[kind])}: find the cause, or run bench/budgets.py --record {operation} and "
                    "explain it in the commit"
                )
    return found


def unmeasured(figures: Figures, ceilings: Ceilings) -> list[str]:
    """Returns a line for each ceiling without an operation."""
    return [
        f"{operation} has a ceiling, but is not measured: remove it from {RECORDED.relative_to(ROOT)}"
        for operation in ceilings
        if operation not in figures
    ]
