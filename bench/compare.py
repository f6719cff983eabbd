"""Compares a run with the recorded one: which workloads became slower or faster by more than the noise."""

from __future__ import annotations

import json
import platform
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parent / "results"
# The least change of a median that counts.
LEAST = 0.05
# Without a program to compare with, the time depends on the machine's load, so the least change is larger.
LEAST_WITHOUT_BASE = 0.25
Entry = dict[str, Any]


def recorded(kind: str = "") -> Path | None:
    """Returns the newest recorded file of this architecture; `kind` is "" or a prefix such as "large-"."""
    names = sorted(RESULTS.glob(f"{kind}[0-9]*-{platform.machine()}.json"))
    return names[-1] if names else None


def change(before: Entry, after: Entry) -> float | None:
    """Returns the factor by which a median changed, or None if the change may be noise.

    A change of a ratio counts if both medians are outside the range of the other run.
    """
    if before["ratio"] is None or after["ratio"] is None:
        factor = float(after["microseconds_per_row"]) / float(before["microseconds_per_row"])
        return factor if max(factor, 1 / factor) > 1 + LEAST_WITHOUT_BASE else None
    factor = float(after["ratio"]) / float(before["ratio"])
    if max(factor, 1 / factor) <= 1 + LEAST:
        return None
    is_slower = after["ratio"] > before["ratio_most"] and before["ratio"] < after["ratio_least"]
    is_faster = after["ratio"] < before["ratio_least"] and before["ratio"] > after["ratio_most"]
    return factor if is_slower or is_faster else None


def compare(before: dict[str, dict[str, Entry]], after: dict[str, dict[str, Entry]]) -> list[str]:
    """Returns a line for each workload of the library that changed, the slower ones first."""
    found: list[tuple[float, str]] = []
    for workload, peers in after.items():
        for peer in ("corestone", "python"):
            former, entry = before.get(workload, {}).get(peer), peers.get(peer)
            factor = change(former, entry) if former and entry else None
            if factor and former and entry:
                figure = (
                    "ratio" if entry["ratio"] is not None and former["ratio"] is not None else "microseconds_per_row"
                )
                unit = "times raw C" if figure == "ratio" else "µs per row"
                word = "SLOWER" if factor > 1 else "faster"
                name = workload if peer == "corestone" else f"{workload} ({peer})"
                found.append((factor, f"{word}: {name} {former[figure]:.2f} -> {entry[figure]:.2f} {unit}"))
    return [line for _, line in sorted(found, reverse=True)]


def compare_with_recorded(summary: dict[str, dict[str, Entry]]) -> list[str]:
    path = recorded()
    if path is None:
        return [f"There is no recorded run for {platform.machine()} in bench/results."]
    document = json.loads(path.read_text(encoding="utf-8"))
    lines = compare(document["summary"], summary)
    return [f"Compared with {path.name}: {len(lines)} changes beyond the noise", *lines]
