"""Kills a process that saves one generation after the other, again and again, at any moment.

Afterwards the store must be complete, and no generation that was reported as saved may be lost.

With --checkpoint the process is killed while it checkpoints an SQLite store. The last line has the number of kills
within a checkpoint, as far as the output shows it: the start of a checkpoint was printed, but not its end.

Usage: kills.py [--type TYPE…] [--times 500] [--seed N] [--checkpoint]
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
    """The last generation that was reported as saved before the kill, and the generation that was found after it."""
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


class Checkpoints:
    """Kills within checkpoints."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.longest = 0.002  # seconds that a checkpoint took
        self.within = 0

    def run(self, path: Path) -> tuple[int, str]:
        """The last generation that was reported as saved before the kill, and the generation found after it."""
        command = [sys.executable, str(SAVER)]
        process = subprocess.Popen([*command, "checkpoint", "SQLite", str(path)], stdout=subprocess.PIPE, bufsize=0)
        assert process.stdout is not None
        words: list[bytes] = []
        wanted = self.chance.randrange(1, 5)
        begin = 0.0
        while process.poll() is None:
            words.append(process.stdout.readline())
            if words[-1] == b"out\n":
                self.longest = 0.8 * self.longest + 0.2 * (time.monotonic() - begin)
            if words[-1] == b"in\n":
                begin = time.monotonic()
                if words.count(b"in\n") == wanted:
                    break
        time.sleep(self.chance.random() ** 2 * self.longest / 2)
        process.kill()
        words += list(process.stdout)
        process.wait()
        self.within += words[-1] == b"in\n"
        told = [int(word) for word in words if word.endswith(b"\n") and word.strip().isdigit()]
        found = subprocess.run(
            [*command, "read", "SQLite", str(path)], capture_output=True, text=True, timeout=120, check=False
        )
        lines = (found.stdout or found.stderr[-500:]).split("\n")
        if not any(line.startswith("problems []") for line in lines):
            return max(told, default=1), f"{lines}"
        return max(told, default=1), lines[0]


def kill_checkpoints(path: Path, times: int, chance: random.Random) -> int:
    checkpoints, wrong = Checkpoints(chance), 0
    for _ in range(times):
        told, found = checkpoints.run(path)
        if found not in (str(told), str(told + 1)):
            wrong += 1
            print(f"checkpoint: told {told}, found {found}", flush=True)
    print(f"kills: {times} times, {checkpoints.within} within a checkpoint, {wrong} wrong states")
    return 1 if wrong else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--type", action="append", choices=TYPES, dest="types")
    parser.add_argument("--times", type=int, default=500)
    parser.add_argument("--checkpoint", action="store_true")
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
        if options.checkpoint:
            return kill_checkpoints(Path(name) / "SQLite.store", options.times, chance)
        for number in range(options.times):
            kind = kinds[number % len(kinds)]
            told, found = run(kind, Path(name) / f"{kind}.store", chance)
            # The last save may be complete without having been reported.
            if found not in (str(told), str(told + 1)):
                wrong += 1
                print(f"{kind}: told {told}, found {found}", flush=True)
    print(f"kills: {options.times} times, {wrong} wrong states")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
