"""Runs random calls within callbacks (Tests/c/reentrancy.c) for many seeds, several hundred in each process.

A crash is reported with its seed and the calls and callbacks in which it happened. A new process then continues with
the next seed. Usage: reentrancy.py PROGRAM [--first SEED] [--seeds N] [--chunk N]
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

# The time limit of a process, for each of its seeds. The program itself ends a hanging seed before this limit.
SECONDS_FOR_A_SEED = 130


@dataclass
class Findings:
    """The failures so far. `refused`: a process failed without a report of a seed."""

    crashes: int = 0
    leaks: int = 0
    refused: bool = False


def run_chunk(program: Path, first: int, count: int, folder: str, findings: Findings) -> int:
    """Runs `count` seeds from `first` in a process. Returns how many are done, including one that crashed."""
    command = [str(program), "--first", str(first), "--count", str(count), "--folder", folder]
    run = subprocess.run(
        command, capture_output=True, text=True, errors="replace", timeout=SECONDS_FOR_A_SEED * count, check=False
    )
    failed: set[str] = set()
    for line in run.stdout.splitlines():
        ended = re.match(r"reentrancy: seed (\d+) (?:ended|hangs)", line)
        told = re.match(r"reentrancy: seed (\d+): ", line)
        if ended or told:
            print(line, flush=True)
        if ended:
            findings.crashes += 1
            findings.leaks += len(failed)
            tell_tail(run.stderr)
            return int(ended[1]) - first + 1
        if told:
            failed.add(told[1])
    findings.leaks += len(failed)
    if not re.search(r"^\d+ passed, \d+ failed$", run.stdout, re.MULTILINE):
        print(
            f"{program.name}: the seeds from {first} ended with status {run.returncode} and without a report of a seed"
        )
        tell_tail(run.stderr)
        findings.refused = True
    return count


def tell_tail(text: str) -> None:
    """Prints the last lines of standard error, such as the report of a sanitizer or the runtime."""
    for line in text.splitlines()[-30:]:
        print(f"    {line}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description="Runs random calls within callbacks.")
    parser.add_argument("program", type=Path)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=20000)
    parser.add_argument("--chunk", type=int, default=500)
    arguments = parser.parse_args()
    findings = Findings()
    start = time.monotonic()
    # The stores are in memory if possible, as the disk does not matter here.
    base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    # Freed memory is overwritten, so that a use after free has an immediate effect, in a release library too.
    os.environ.setdefault("MALLOC_PERTURB_", "165")
    # With a sanitizer, the crash report of the Swift runtime may not end; that of the sanitizer has more details.
    os.environ.setdefault("SWIFT_BACKTRACE", "enable=no")
    seed, end = arguments.first, arguments.first + arguments.seeds
    with tempfile.TemporaryDirectory(prefix="corestone-", dir=base) as folder:
        while seed < end and not findings.refused:
            seed += run_chunk(arguments.program, seed, min(arguments.chunk, end - seed), folder, findings)
    speed = (seed - arguments.first) / (time.monotonic() - start)
    done = seed - arguments.first
    print(
        f"reentrancy: {done} seeds, {findings.crashes} crashes, {findings.leaks} leaks, {speed:.1f} seeds a second",
        flush=True,
    )
    return 1 if findings.crashes or findings.leaks or findings.refused else 0


if __name__ == "__main__":
    sys.exit(main())
