"""Fails each call on a store's files in turn, in every way, while a store of each type is saved.

Afterwards the store must be complete, in the state before the save or after it, and the result that the process got
must be true.

Usage: faults.py [--type TYPE…] [--share 1.0] [--least N] [--seed N]

With a share below 1 that part of the points is tried, chosen by the seed. The last line counts points and wrong states.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
# One of SQLite whose journal is rolled back, too.
TYPES = ("SQLite", "Rollback", "XML", "Binary")
# Which calls fail in which ways.
KINDS = {
    "short": {"write"},
    "ENOSPC": {"write", "create", "truncate", "link", "rename", "mkdir"},
    "EIO": {"write", "fsync", "truncate", "rename", "unlink", "open"},
    "EINTR": {"write", "open", "create"},
    "crash": {"write", "fsync", "truncate", "rename", "unlink", "create", "link", "mkdir"},
    "crash-after": {"write", "fsync", "truncate", "rename", "unlink", "create", "link", "mkdir"},
    "lost": {"rename"},
}
CRASHED = 77


@dataclass
class Point:
    number: int
    call: str
    kind: str


class Campaign:
    """Runs one store type in a separate folder."""

    program = "saver.py"

    def __init__(self, kind: str, folder: Path, interposer: Path) -> None:
        self.kind = kind
        self.folder = folder / "store"
        self.pristine = folder / "pristine"
        self.interposer = interposer
        self.trace = folder / "trace"
        self.temporary = folder / "temporary"
        self.environment = {**os.environ, "TMPDIR": str(self.temporary)}
        self.pristine.mkdir()
        self.temporary.mkdir()
        self.run("make", self.pristine)

    def run(self, what: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(HERE / self.program), what, self.kind, str(folder / "a.store")]
        return subprocess.run(
            command, capture_output=True, text=True, timeout=120, env={**self.environment, **environment}, check=False
        )

    def act(self, what: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Runs the program on a fresh copy of the store, with the interposer."""
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(self.pristine, self.folder)
        place = {"LD_PRELOAD": str(self.interposer), "FAULT_FOLDER": f"{self.folder}/"}
        return self.run(what, self.folder, **place, **environment)

    def points(self) -> list[Point]:
        return self.traced("save", "saved")

    def traced(self, what: str, expected: str) -> list[Point]:
        """Every call that the program makes, with every way in which it can fail."""
        done = self.act(what, FAULT_TRACE=str(self.trace))
        assert done.stdout.split("\n")[0] == expected, done.stdout + done.stderr
        calls = self.trace.read_text(encoding="ascii").split()
        return [
            Point(number, call, kind)
            for number, call in enumerate(calls, 1)
            for kind, fitting in KINDS.items()
            if call in fitting
        ]

    def problem(self, point: Point) -> str | None:
        """None when all is as it should be."""
        done = self.act("save", FAULT_POINT=str(point.number), FAULT_KIND=point.kind)
        told = done.stdout.split("\n")
        found = self.run("read", self.folder)
        state = found.stdout.split("\n")[0]
        account = f"told {told}, found {found.stdout!r} {done.stderr[-500:]} {found.stderr[-500:]}"
        if state not in ("1", "2"):
            return f"neither the old nor the new state: {account}"
        # The next open removes the drafts that a crash left.
        drafts = [name.name for name in self.folder.iterdir() if name.name.endswith(".corestone-part")]
        if drafts:
            return f"drafts are left: {drafts}"
        if done.returncode == CRASHED:
            return None
        if done.returncode != 0 or "wrong" in done.stdout:
            return f"the process ended with {done.returncode}: {account}"
        if point.kind == "lost":
            # The process cannot detect a lost rename, but it must see the actual state.
            return None if f"sees {state}" in told else f"it sees another state: {account}"
        if "sees 2" not in told or state != "2":
            return f"what was saved is not there: {account}"
        if self.kind in ("SQLite", "Rollback") and "problems [] leftovers 0" not in found.stdout:
            return f"something is left: {account}"
        return None


def build(folder: Path) -> Path:
    library = folder / "interposer.so"
    command = ["cc", "-std=c11", "-O1", "-shared", "-fPIC", "-o", str(library), str(HERE / "interposer.c"), "-ldl"]
    subprocess.run(command, check=True)
    return library


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--type", action="append", choices=TYPES, dest="types")
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--least", type=int, default=1, help="so many points of each type in any case")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    options = parser.parse_args()
    chance = random.Random(options.seed)
    print(f"seed {options.seed}")
    tried, wrong = 0, 0
    for kind in options.types or TYPES:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            campaign = Campaign(kind, folder, build(folder))
            points = campaign.points()
            size = min(len(points), max(round(len(points) * options.share), options.least))
            chosen = chance.sample(points, size)
            counts: Counter[str] = Counter()
            for point in chosen:
                problem = campaign.problem(point)
                counts[point.kind] += 1
                if problem:
                    wrong += 1
                    print(f"{kind}: call {point.number} ({point.call}), {point.kind}: {problem}", flush=True)
            tried += len(chosen)
            ways = ", ".join(f"{kind} {count}" for kind, count in sorted(counts.items()))
            print(f"{kind}: {len(chosen)} of {len(points)} points tried: {ways}", flush=True)
    print(f"faults: {tried} points tried, {wrong} wrong states")
    return 1 if wrong or not tried else 0


if __name__ == "__main__":
    sys.exit(main())
