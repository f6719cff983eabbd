"""Migrations that fail: at each call on the store's files, by a kill, by a cancellation, or beside another process.

Whatever happens, the store is that of the former model or that of the new one, with all of its objects, and a second
migration succeeds and leaves nothing behind.

Usage: migrations.py [--type TYPE…] [--only faults|kills|cancels|races] [--share 1.0] [--kills 200] [--cancels 20]
                     [--races 100] [--seed N]

With a share below 1 that part of the calls is tried, chosen by the seed. The last line counts trials and wrong states.
"""

from __future__ import annotations

import argparse
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from faults import CRASHED, TYPES, Campaign, Point, build

PARTS = ("faults", "kills", "cancels", "races")


class Migrations(Campaign):
    """Migrations of a store of one type."""

    program = "migrator.py"

    def __init__(self, kind: str, folder: Path, interposer: Path) -> None:
        super().__init__(kind, folder, interposer)
        self.begin()
        self.run("migrate", self.folder)
        self.files = self.names()

    def begin(self) -> None:
        """A store of the former model."""
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(self.pristine, self.folder)

    def names(self) -> list[str]:
        """The files of the store, without those of connections that ended."""
        ends = ("-wal", "-shm", "-journal")
        return sorted(each.name for each in self.folder.iterdir() if not each.name.endswith(ends))

    def start(self, *words: str) -> subprocess.Popen[str]:
        command = [sys.executable, str(Path(__file__).with_name(self.program)), words[0], self.kind]
        return subprocess.Popen(
            [*command, str(self.folder / "a.store"), *words[1:]],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def state(self) -> str:
        """1 or 2, or an account of what is wrong."""
        found = self.run("read", self.folder)
        state, _, rest = found.stdout.partition("\n")
        if state not in ("1", "2") or (rest and rest != "problems []\n"):
            return f"{found.stdout!r} {found.stderr[-500:]}"
        return state

    def problem_afterwards(self, *expected: str) -> str | None:
        """The store has one of these states, and a second migration succeeds."""
        state = self.state()
        if state not in expected:
            return f"the store has the state {state}, not {' or '.join(expected)}"
        done = self.run("migrate", self.folder)
        if self.state() != "2" or "sees 2" not in done.stdout:
            return f"the second migration fails: {done.stdout!r} {done.stderr[-500:]}"
        if self.names() != self.files:
            return f"files are left: {self.names()} instead of {self.files}"
        return None

    def points(self) -> list[Point]:
        return self.traced("migrate", "migrated")

    def problem(self, point: Point) -> str | None:
        """A call fails, or the process ends there."""
        done = self.act("migrate", FAULT_POINT=str(point.number), FAULT_KIND=point.kind)
        account = f"{done.stdout!r} {done.stderr[-500:]}"
        if done.returncode not in (0, CRASHED) or "wrong" in done.stdout:
            return f"the process ended with {done.returncode}: {account}"
        if done.returncode == 0 and "sees 2" not in done.stdout and point.kind != "lost":
            return f"the store was not migrated: {account}"
        trouble = self.problem_afterwards("1", "2")
        return trouble and f"{trouble}; before that {account}"

    def kill(self, chance: random.Random, longest: float) -> str | None:
        self.begin()
        process = self.start("migrate")
        time.sleep(chance.random() * longest)
        process.kill()
        process.communicate()
        return self.problem_afterwards("1", "2")

    def cancel(self, report: int) -> str | None:
        self.begin()
        said, errors = self.start("cancel", str(report)).communicate(timeout=120)
        if said != "cancelled\n":
            return f"it was not cancelled: {said!r} {errors[-500:]}"
        return self.problem_afterwards("1")

    def race(self) -> str | None:
        self.begin()
        racers = [self.start("race") for _ in range(2)]
        for racer in racers:
            assert racer.stdout is not None
            assert racer.stdout.readline() == "ready\n"
        for racer in racers:
            assert racer.stdin is not None
            racer.stdin.write("\n")
            racer.stdin.flush()
        ends = [racer.communicate(timeout=120) for racer in racers]
        if [said for said, _ in ends] != ["sees 2\n"] * 2:
            return f"the processes end with {[(said, errors[-500:]) for said, errors in ends]}"
        return self.problem_afterwards("2")


class Count:
    """Trials and wrong states."""

    def __init__(self) -> None:
        self.tried = self.wrong = 0

    def add(self, what: str, problem: str | None) -> None:
        self.tried += 1
        if problem:
            self.wrong += 1
            print(f"{what}: {problem}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--type", action="append", choices=TYPES, dest="types")
    parser.add_argument("--only", action="append", choices=PARTS, dest="parts")
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--cancels", type=int, default=20)
    parser.add_argument("--races", type=int, default=100)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    options = parser.parse_args()
    chance = random.Random(options.seed)
    print(f"seed {options.seed}")
    kinds = options.types or list(TYPES)
    count = Count()
    with tempfile.TemporaryDirectory() as name:
        campaigns = []
        for kind in kinds:
            folder = Path(name) / kind
            folder.mkdir()
            campaigns.append(Migrations(kind, folder, build(folder)))
        parts: dict[str, Callable[[Migrations], str]] = {
            "faults": lambda campaign: fail(campaign, options.share, chance, count),
            "kills": lambda campaign: kill(campaign, -(-options.kills // len(kinds)), chance, count),
            "cancels": lambda campaign: cancel(campaign, options.cancels, count),
            "races": lambda campaign: race(campaign, -(-options.races // len(kinds)), count),
        }
        for part in options.parts or PARTS:
            for campaign in campaigns:
                print(f"{campaign.kind}: {parts[part](campaign)}", flush=True)
    print(f"migrations: {count.tried} trials, {count.wrong} wrong states")
    return 1 if count.wrong or not count.tried else 0


def fail(campaign: Migrations, share: float, chance: random.Random, count: Count) -> str:
    points = campaign.points()
    chosen = chance.sample(points, min(len(points), max(round(len(points) * share), 3)))
    # There are few renames, and each that is lost is a mistake of its own.
    chosen += [point for point in points if point.kind == "lost" and point not in chosen]
    for point in chosen:
        what = f"{campaign.kind}, call {point.number} ({point.call}), {point.kind}"
        count.add(what, campaign.problem(point))
    return f"{len(chosen)} of {len(points)} points of {len({point.number for point in points})} calls fail"


def kill(campaign: Migrations, times: int, chance: random.Random, count: Count) -> str:
    campaign.begin()
    start = time.monotonic()
    campaign.start("migrate").communicate()
    longest = time.monotonic() - start
    for number in range(times):
        count.add(f"{campaign.kind}, kill {number}", campaign.kill(chance, longest))
    return f"{times} kills within {longest:.2f} s"


def cancel(campaign: Migrations, times: int, count: Count) -> str:
    campaign.begin()
    reports = int(campaign.run("count", campaign.folder).stdout)
    chosen = sorted({1 + number * (reports - 1) // max(times - 1, 1) for number in range(times)})
    for report in chosen:
        count.add(f"{campaign.kind}, cancelled at report {report}", campaign.cancel(report))
    return f"cancelled at {len(chosen)} of {reports} reports"


def race(campaign: Migrations, times: int, count: Count) -> str:
    for number in range(times):
        count.add(f"{campaign.kind}, race {number}", campaign.race())
    return f"two processes at once, {times} times"


if __name__ == "__main__":
    sys.exit(main())
