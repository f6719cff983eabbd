"""Random calls from within callbacks (Tests/C/reentrancy.c), many seeds of them, some hundred to a process.

A crash costs its own seed: it is told with the calls and callbacks that it happened in, and the next process goes on
behind it. Usage: reentrancy.py PROGRAM [--first SEED] [--seeds N] [--chunk N]
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

# What a chunk may take: the program itself ends a seed that hangs.
SECONDS_FOR_A_SEED = 130


@dataclass
class Findings:
    """What went wrong so far."""

    crashes: int = 0
    leaks: int = 0
    refused: bool = False


def run_chunk(program: Path, first: int, count: int, folder: str, findings: Findings) -> int:
    """Makes the seeds from `first` on and returns how many are done, one that crashed among them."""
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
        print(f"{program.name}: seeds from {first} on ended with exit status {run.returncode}, naming no seed")
        tell_tail(run.stderr)
        findings.refused = True
    return count


def tell_tail(text: str) -> None:
    """What a sanitizer, or the runtime, said at last."""
    for line in text.splitlines()[-30:]:
        print(f"    {line}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description="random calls from within callbacks")
    parser.add_argument("program", type=Path)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=20000)
    parser.add_argument("--chunk", type=int, default=500)
    arguments = parser.parse_args()
    findings = Findings()
    start = time.monotonic()
    # In memory where there is such a place: the disk is not what this is about.
    base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    # Freed memory is overwritten, so that a use after free shows at once, in a release library too.
    os.environ.setdefault("MALLOC_PERTURB_", "165")
    # The runtime's own report of a crash may never end under a sanitizer, which has told more by then.
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
