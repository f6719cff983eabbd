#!/usr/bin/env python3
"""Measures the bytes of an object by owner: record, overlay, object, identity map, handle, and so on.

usage: owners.py [--objects N] [--results FILE] [--places SCENARIO]

Runs operations of the growth program with libcensus.so, which records the stack of each allocation, and assigns the
blocks that are alive at the end to owners by the functions of the stack. The library must have its symbols; the default
is the library in SwiftPM's folder, not the stripped library in build/lib. A block counts with its full size, so a
chunk that is only partly used counts whole. --places lists the largest groups of stacks of a scenario.
"""

from __future__ import annotations

import argparse
import bisect
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import report
from where import demangled, with_symbols

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
# The title of each scenario, and its operation.
SCENARIOS = {
    "inserted": "insert",
    "inserted, saved": "insert_and_save",
    "fetched": "fetch",
    "fetched, read": "fetch_read",
    "faulted by ID": "fault",
    "changed": "set",
}
# A block belongs to the first owner for whose pattern a function of the stack's innermost ones is found.
OWNERS = [
    ("SQLite", r"^libsqlite3"),
    ("record", r"RecordChunk|RecordCursor"),
    ("overlay", r"BlockPool"),
    ("overlay: texts", r"ByteBuffer"),
    ("handle", r"platform_handle_make"),
    ("result list", r"ResultList|StoreRows|Results\b"),
    ("row cache", r"RowCache"),
    ("undo", r"Undo"),
    ("identity map", r"IdentityMap\.(register|index)|KeyTable"),
    ("change sets", r"ContiguousArray.*|ChangeTracker|DistinctObjects|_SetStorage|_DictionaryStorage"),
    ("object", r"Context\.insert|storedObjects|IdentityMap\.object|ManagedObject"),
]
NAMES = [name for name, _ in OWNERS] + ["other"]
INNERMOST = 8


@dataclass
class Place:
    size: int
    blocks: int
    functions: list[str]

    @property
    def owner(self) -> str:
        functions = self.functions[:INNERMOST]
        # An array that a fetch creates is its result list; one of an insertion belongs to the change sets.
        if any("ContiguousArray" in name for name in functions) and any("FetchExecutor" in name for name in functions):
            return "result list"
        for owner, pattern in OWNERS:
            if any(re.search(pattern, name) for name in functions):
                return owner
        return "other"


class Symbols:
    """The functions of a library by address."""

    def __init__(self, library: Path) -> None:
        listing = subprocess.run(["nm", "--defined-only", str(library)], capture_output=True, text=True, check=True)
        found = [line.split(" ", 2) for line in listing.stdout.splitlines()]
        self._functions = sorted((int(address, 16), name) for address, kind, name in found if kind in "tTwW")
        self._addresses = [address for address, _ in self._functions]

    def name(self, offset: int) -> str:
        place = bisect.bisect(self._addresses, offset) - 1
        return self._functions[place][1] if place >= 0 else ""


def read(census: Path, symbols: Symbols) -> list[Place]:
    mappings, _, lines = census.read_text(encoding="utf-8").partition("places\n")
    modules = []
    for line in mappings.splitlines():
        fields = line.split()
        low, high = (int(part, 16) for part in fields[0].split("-"))
        modules.append((low, high, fields[5] if len(fields) > 5 else ""))
    base = min(low for low, _, file in modules if "libcorestone" in file)

    def name(address: int) -> str:
        for low, high, file in modules:
            if low <= address < high:
                return symbols.name(address - base) if "libcorestone" in file else Path(file).name
        return ""

    raw = [
        [int(part, 16 if place > 1 else 10) for place, part in enumerate(line.split())] for line in lines.splitlines()
    ]
    names = [[name(address) for address in numbers[2:]] for numbers in raw]
    every = sorted({each for stack in names for each in stack if each})
    plain = dict(zip(every, demangled(every)))
    return [
        Place(numbers[0], numbers[1], [plain.get(each, each) for each in stack]) for numbers, stack in zip(raw, names)
    ]


def measure(out: Path, library: Path, store: Path, objects: int, operation: str) -> tuple[list[Place], int]:
    """Returns the places, and the growth of resident memory at its peak in bytes."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = with_symbols(library, folder)
        census = folder / "census"
        environment |= {"CENSUS_FILE": str(census), "LD_PRELOAD": str(out / "libcensus.so")}
        command = [str(out / "growth"), "run", str(store), str(objects), operation]
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        if done.returncode or not census.exists():
            raise RuntimeError(f"{' '.join(command)}: status {done.returncode}\n{done.stderr[-2000:]}")
        places = read(census, Symbols(folder / "libcorestone.so"))
        # The census itself uses memory, so the resident memory is that of another run.
        del environment["LD_PRELOAD"]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
        sample = json.loads(done.stdout.splitlines()[-1])
        return places, (int(sample["peak_kb"]) - int(sample["base_kb"])) * 1024


def base_memory(out: Path, store: Path) -> list[dict[str, object]]:
    done = subprocess.run([out / "growth", "base", store], capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def table(owners: dict[str, dict[str, float]]) -> str:
    used = [name for name in NAMES if any(figures.get(name, 0) >= 0.5 for figures in owners.values())]
    rows = [["owner", *owners]]
    for name in [*used, "total", "resident"]:
        rows.append([name, *(f"{figures.get(name, 0):.0f}" for figures in owners.values())])
    return report.grid(rows)


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure the bytes of an object by owner.")
    parser.add_argument("--objects", type=int, default=200_000)
    parser.add_argument("--places", help="list the stacks of a scenario: " + ", ".join(SCENARIOS))
    parser.add_argument("--results", type=Path, help="write the figures to this file")
    parser.add_argument(
        "--library", type=Path, default=ROOT / "build" / "swift" / "release" / "release" / "libcorestone.so"
    )
    parser.add_argument("--include", type=Path, default=ROOT / "build" / "include")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "bench")
    arguments = parser.parse_args()
    if not arguments.library.exists():
        print(f"owners.py: {arguments.library} does not exist; pass a library with --library", file=sys.stderr)
        return 2
    if arguments.places and arguments.places not in SCENARIOS:
        print(f"owners.py: there is no scenario {arguments.places}; use {', '.join(SCENARIOS)}", file=sys.stderr)
        return 2
    out = arguments.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    build = ["make", "--no-print-directory", "-C", str(HERE), f"OUT={out}", f"LIB={ROOT / 'build' / 'lib'}"]
    build += [f"INCLUDE={arguments.include.resolve()}", str(out / "growth"), str(out / "libcensus.so")]
    subprocess.run(build, check=True, stdout=2)
    store = out / "owners.sqlite"
    owners: dict[str, dict[str, float]] = {}
    try:
        subprocess.run([out / "growth", "prepare", store, str(arguments.objects)], check=True)
        for title, operation in SCENARIOS.items():
            if arguments.places and title != arguments.places:
                continue
            places, resident = measure(out, arguments.library, store, arguments.objects, operation)
            if arguments.places:
                for place in sorted(places, key=lambda each: -each.size)[:30]:
                    print(
                        f"{place.size / arguments.objects:8.1f} {place.owner:<14} {' < '.join(place.functions[:6])}"[
                            :240
                        ]
                    )
            sums: Counter[str] = Counter()
            for place in places:
                sums[place.owner] += place.size
            figures = {name: size / arguments.objects for name, size in sums.items()}
            owners[title] = {**figures, "total": sum(figures.values()), "resident": resident / arguments.objects}
        stages = base_memory(out, store)
    except RuntimeError as error:
        print(f"owners.py: {error}", file=sys.stderr)
        return 1
    finally:
        for path in out.glob("owners.sqlite*"):
            path.unlink()
    print(f"Bytes per object, {arguments.objects:,} objects with six attributes\n\n{table(owners)}\n")
    print(report.grid([["stage", "own, KB", "mapped, KB"], *([str(each[key]) for key in each] for each in stages)]))
    if arguments.results:
        document = {"machine": report.machine(), "objects": arguments.objects, "owners": owners, "base": stages}
        arguments.results.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
