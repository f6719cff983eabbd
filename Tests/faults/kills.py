"""Kills a process that saves one generation after the other, again and again, at any moment.

What is there afterwards is whole, and nothing that was said to be saved is lost.

Usage: kills.py [--type TYPE…] [--times 500] [--seed N]
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from faults import TYPES

SAVER = Path(__file__).resolve().with_name("saver.py")


def run(kind: str, path: Path, chance: random.Random) -> tuple[int, str]:
    """The last generation that was said to be saved before the kill, and what is there after it."""
    command = [sys.executable, str(SAVER)]
    process = subprocess.Popen([*command, "run", kind, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    first = process.stdout.readline()
    time.sleep(chance.random() * 0.2)
    process.kill()
    told = [int(line) for line in [first, *process.stdout] if line.endswith("\n")]
    process.wait()
    found = subprocess.run(
        [*command, "read", kind, str(path)], capture_output=True, text=True, timeout=120, check=False
    )
    return max(told, default=1), (found.stdout or found.stderr[-500:]).split("\n")[0]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--type", action="append", choices=TYPES, dest="types")
    parser.add_argument("--times", type=int, default=500)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    options = parser.parse_args()
    chance = random.Random(options.seed)
    print(f"seed {options.seed}")
    kinds = options.types or list(TYPES)
    wrong = 0
    with tempfile.TemporaryDirectory() as name:
        for kind in kinds:
            path = Path(name) / f"{kind}.store"
            subprocess.run([sys.executable, str(SAVER), "make", kind, str(path)], check=True)
        for number in range(options.times):
            kind = kinds[number % len(kinds)]
            told, found = run(kind, Path(name) / f"{kind}.store", chance)
            # Of the last save nobody was told yet.
            if found not in (str(told), str(told + 1)):
                wrong += 1
                print(f"{kind}: told {told}, found {found}", flush=True)
    print(f"kills: {options.times} times, {wrong} wrong states")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
