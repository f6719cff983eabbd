#!/usr/bin/env python3
"""Compares operations on a store of ten million rows with plain C on sqlite3: time and peak memory.

usage: large.py [--rows N] [--rounds N] [--operations NAME,...] [--results FILE] [--keep]

Each operation of each program (large/corestone.c, large/raw.c) runs in its own process, pinned to one processor. The
stores need 1 GB each at ten million rows, and as much during the backup. The benchmark fails if the programs read
different values, or if their tables differ.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Any

import report
import stores

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
OPERATIONS = ["create", "open", "query", "count", "group", "cursor", "live", "backup"]
PEERS = {"raw": "raw_large", "corestone": "large"}
Sample = dict[str, Any]


def run_one(out: Path, peer: str, operation: str, rows: int, processor: int | None) -> Sample:
    program = PEERS[peer]
    command = [str(out / program), operation, str(out / f"{program}.sqlite"), str(rows)]
    if processor is not None:
        command = ["taskset", "-c", str(processor), *command]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "SWIFT_DETERMINISTIC_HASHING": "1"}
    )
    if done.returncode:
        raise RuntimeError(f"{peer} {operation}: status {done.returncode}\n{done.stderr[-2000:]}")
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("{")]
    sample: Sample = json.loads(line)
    return sample


def run_rounds(out: Path, operations: list[str], rows: int, rounds: int, processor: int | None) -> list[Sample]:
    samples: list[Sample] = []
    for number in range(rounds):
        for operation in operations:
            for peer in PEERS if number % 2 == 0 else reversed(PEERS):
                sample = run_one(out, peer, operation, rows, processor)
                samples.append({**sample, "round": number})
                print(f"round {number + 1}: {operation} {peer} {sample['seconds']:.2f} s", file=sys.stderr)
    return samples


def seconds(sample: Sample) -> float:
    return float(sample["seconds"])


def processor_seconds(sample: Sample) -> float:
    return float(sample["user_seconds"]) + float(sample["kernel_seconds"])


def summarize(samples: list[Sample]) -> dict[str, dict[str, dict[str, float]]]:
    summary: dict[str, dict[str, dict[str, float]]] = {}
    for operation, peer in dict.fromkeys((str(s["workload"]), str(s["peer"])) for s in samples):
        mine = [s for s in samples if s["workload"] == operation and s["peer"] == peer]
        summary.setdefault(operation, {})[peer] = {
            "seconds": round(median(map(seconds, mine)), 4),
            "processor_seconds": round(median(map(processor_seconds, mine)), 4),
            "peak_mb": round(median(float(s["peak_kb"]) for s in mine) / 1024, 1),
            "base_mb": round(median(float(s["base_kb"]) for s in mine) / 1024, 1),
        }
    return summary


def table(summary: dict[str, dict[str, dict[str, float]]]) -> str:
    rows = [["operation", "raw, s", "corestone, s", "ratio", "processor time", "raw, MB", "corestone, MB"]]
    for operation, peers in summary.items():
        raw, ours = peers["raw"], peers["corestone"]
        cpu = ours["processor_seconds"] / raw["processor_seconds"] if raw["processor_seconds"] else 0
        rows.append(
            [
                operation,
                report.number(raw["seconds"]),
                report.number(ours["seconds"]),
                f"{report.number(ours['seconds'] / raw['seconds'])}x",
                f"{report.number(cpu)}x",
                f"{raw['peak_mb']:.0f}",
                f"{ours['peak_mb']:.0f}",
            ]
        )
    return report.grid(rows)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Compare operations on ten million rows with plain C on sqlite3.")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--operations", type=lambda text: text.split(","), default=OPERATIONS)
    parser.add_argument("--cpu", type=int, default=(os.cpu_count() or 1) - 1, help="processor for all runs; -1: any")
    parser.add_argument("--library", type=Path, default=ROOT / "build" / "lib")
    parser.add_argument("--include", type=Path, default=ROOT / "build" / "include")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "bench", help="folder for programs and stores")
    parser.add_argument("--results", type=Path, default=HERE / "results" / "large-latest.json")
    parser.add_argument("--keep", action="store_true", help="keep the stores, so that create can be left out next time")
    arguments = parser.parse_args()
    unknown = set(arguments.operations) - set(OPERATIONS)
    if unknown or arguments.rounds < 1:
        parser.error(f"unknown operation {unknown.pop()}" if unknown else "--rounds must be 1 or more")
    return arguments


def main() -> int:
    arguments = parse_arguments()
    out = arguments.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    build = ["make", "--no-print-directory", "-C", str(HERE), f"OUT={out}", f"LIB={arguments.library.resolve()}"]
    build += [f"INCLUDE={arguments.include.resolve()}", *(str(out / program) for program in PEERS.values())]
    subprocess.run(build, check=True, stdout=2)
    processor = arguments.cpu if arguments.cpu >= 0 else None
    files = [out / f"{program}.sqlite" for program in PEERS.values()]
    problems: list[str] = []
    try:
        samples = run_rounds(out, arguments.operations, arguments.rows, arguments.rounds, processor)
        problems = report.disagreements(samples) + stores.differences(*map(str, files))
    except RuntimeError as error:
        print(f"large.py: {error}", file=sys.stderr)
        return 1
    finally:
        for file in [] if arguments.keep else files:
            for side in ("", "-wal", "-shm"):
                file.with_name(file.name + side).unlink(missing_ok=True)
    summary = summarize(samples)
    print(f"{arguments.rows:,} rows, median of {arguments.rounds} rounds\n\n{table(summary)}")
    for problem in problems:
        print(f"WRONG: {problem}")
    arguments.results.parent.mkdir(parents=True, exist_ok=True)
    document = {
        "machine": report.machine(),
        "rows": arguments.rows,
        "rounds": arguments.rounds,
        "summary": summary,
        "samples": samples,
    }
    arguments.results.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
