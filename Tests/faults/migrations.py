"""Migrations that fail: at each call on the store's files, by a kill, by a cancellation, or beside another process.

Whatever happens, the store is that of the former model or that of the new one, with all of its objects, and a second
migration succeeds and leaves nothing behind.

Usage: migrations.py [--type TYPE…] [--only faults|kills|cancels|races] [--share 1.0] [--kills 200] [--cancels 20]
                     [--races 100] [--seed N]

With a share below 1 that part of the calls is tried, chosen by the seed. The last line counts trials and wrong states.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from faults import CRASHED, TYPES, Campaign, Point, build


class Count:
    """Trials and wrong states."""

    def __init__(self) -> None:
        self.tried = self.wrong = 0

    def add(self, what: str, problem: str | None) -> None:
        self.tried += 1
        if problem:
            self.wrong += 1
            print(f"{what}: {problem}", flush=True)


class Migrations(Campaign):
    """Migrations of a store of one type."""

    program = "migrator.py"
    #: The generation of the last model; the first one is 1.
    last = "2"

    def __init__(self, kind: str, folder: Path, interposer: Path) -> None:
        super().__init__(kind, folder, interposer)
        #: How often each state was found after trials.
        self.states: Counter[str] = Counter()
        self.begin()
        self.run("migrate", self.folder)
        self.files = self.names()

    def begin(self) -> None:
        """A store of the former model."""
        for path in (self.folder, self.temporary):
            shutil.rmtree(path, ignore_errors=True)
        self.temporary.mkdir()
        shutil.copytree(self.pristine, self.folder)

    def names(self) -> list[str]:
        """The files of the store and of the folder for temporary files, without those of connections that ended.

        Backing files have random names.
        """
        found = []
        for top in (self.folder, self.temporary):
            for path in top.rglob("*"):
                name = re.sub(r"(_EXTERNAL_DATA/)[0-9A-F-]{36}$", r"\1*", str(path.relative_to(top.parent)))
                if not name.endswith(("-wal", "-shm", "-journal")):
                    found.append(name)
        return sorted(found)

    def start(self, *words: str) -> subprocess.Popen[str]:
        command = [sys.executable, str(Path(__file__).with_name(self.program)), words[0], self.kind]
        return subprocess.Popen(
            [*command, str(self.folder / "a.store"), *words[1:]],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.environment,
        )

    def racer(self) -> subprocess.Popen[str]:
        """A process that migrates the store when it is released."""
        process = self.start("race")
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        return process

    def release(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()

    def problem_afterwards(self, *expected: str, may_leave: bool = False) -> str | None:
        """The store has one of these states, and a second migration succeeds.

        `may_leave`: whether there may be backing files that `remove_leftovers` removes, as after a crash.
        """
        again = self.run("again", self.folder)
        said = dict(line.partition(" ")[::2] for line in again.stdout.splitlines())
        account = f"{again.stdout!r} {again.stderr[-500:]}"
        self.states[said.get("found", "none")[:5]] += 1
        if said.get("found") not in expected:
            return f"the store has another state than {' or '.join(expected)}: {account}"
        if said.get("sees") != self.last or again.returncode != 0:
            return f"the second migration fails: {account}"
        if may_leave and self.names() != self.files:
            self.remove_leftovers()
        if self.names() != self.files:
            return f"files are left: {self.names()} instead of {self.files}"
        return None

    def remove_leftovers(self) -> None:
        """Removes backing files without a row, and what a process that ended left of temporary files."""
        an_hour_ago = time.time() - 3600
        for path in self.folder.rglob("*"):
            os.utime(path, (an_hour_ago, an_hour_ago))
        self.run("clean", self.folder)
        shutil.rmtree(self.temporary)
        self.temporary.mkdir()

    def points(self) -> list[Point]:
        return self.traced("migrate", "migrated")

    def problem(self, point: Point) -> str | None:
        """A call fails, or the process ends there."""
        shutil.rmtree(self.temporary)
        self.temporary.mkdir()
        done = self.act("migrate", FAULT_POINT=str(point.number), FAULT_KIND=point.kind)
        account = f"{done.stdout!r} {done.stderr[-500:]}"
        if done.returncode not in (0, CRASHED) or "wrong" in done.stdout:
            return f"the process ended with {done.returncode}: {account}"
        if done.returncode == 0 and f"sees {self.last}" not in done.stdout and point.kind != "lost":
            return f"the store was not migrated: {account}"
        may_leave = done.returncode == CRASHED or point.call == "unlink"
        trouble = self.problem_afterwards("1", self.last, may_leave=may_leave)
        return trouble and f"{trouble}; before that {account}"

    def kill(self, chance: random.Random, longest: float) -> str | None:
        self.begin()
        process = self.racer()
        self.release(process)
        time.sleep(chance.random() * longest)
        process.kill()
        process.communicate()
        return self.problem_afterwards("1", self.last, may_leave=True)

    def cancel(self, action: str, report: int) -> str | None:
        self.begin()
        said, errors = self.start(action, str(report)).communicate(timeout=120)
        if said != "cancelled\n":
            return f"it was not cancelled: {said!r} {errors[-500:]}"
        return self.problem_afterwards("1")

    def race(self) -> str | None:
        self.begin()
        racers = [self.racer() for _ in range(2)]
        for racer in racers:
            self.release(racer)
        ends = [racer.communicate(timeout=120) for racer in racers]
        if [said for said, _ in ends] != [f"migrated\nsees {self.last}\n"] * 2:
            return f"the processes end with {[(said, errors[-500:]) for said, errors in ends]}"
        return self.problem_afterwards(self.last)


def fail(campaign: Migrations, options: argparse.Namespace, chance: random.Random, count: Count) -> str:
    points = campaign.points()
    chosen = chance.sample(points, min(len(points), max(round(len(points) * options.share), 3)))
    # There are few renames, and each that is lost is a mistake of its own.
    chosen += [point for point in points if point.kind == "lost" and point not in chosen]
    for point in chosen:
        what = f"{campaign.kind}, call {point.number} ({point.call}), {point.kind}"
        count.add(what, campaign.problem(point))
    return f"{len(chosen)} of {len(points)} points of {len({point.number for point in points})} calls fail"


def kill(campaign: Migrations, options: argparse.Namespace, chance: random.Random, count: Count) -> str:
    campaign.begin()
    process = campaign.racer()
    start = time.monotonic()
    campaign.release(process)
    assert process.stdout is not None
    assert process.stdout.readline() == "migrated\n"
    longest = time.monotonic() - start
    process.communicate()
    for number in range(options.kills):
        count.add(f"{campaign.kind}, kill {number}", campaign.kill(chance, longest))
    return f"{options.kills} kills within {longest:.2f} s"


def cancel(
    campaign: Migrations,
    options: argparse.Namespace,
    chance: random.Random,
    count: Count,
    actions: tuple[str, str] = ("count", "cancel"),
) -> str:
    """The two actions count reports of progress, and cancel at one of them."""
    campaign.begin()
    reports = int(campaign.run(actions[0], campaign.folder).stdout)
    times = options.cancels
    chosen = sorted({1 + number * (reports - 1) // max(times - 1, 1) for number in range(times)})
    for report in chosen:
        count.add(f"{campaign.kind}, {actions[1]} at report {report}", campaign.cancel(actions[1], report))
    return f"{actions[1]} at {len(chosen)} of {reports} reports"


def race(campaign: Migrations, options: argparse.Namespace, chance: random.Random, count: Count) -> str:
    for number in range(options.races):
        count.add(f"{campaign.kind}, race {number}", campaign.race())
    return f"two processes at once, {options.races} times"


Part = Callable[[Migrations, argparse.Namespace, random.Random, Count], str]
PARTS: dict[str, Part] = {"faults": fail, "kills": kill, "cancels": cancel, "races": race}


def main(
    description: str | None,
    name: str,
    campaign: type[Migrations] = Migrations,
    kinds: tuple[str, ...] = TYPES,
    parts: dict[str, Part] = PARTS,
) -> int:
    """Runs the parts of a campaign on each kind of stores, by the options of the command line."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--type", action="append", choices=kinds, dest="types")
    parser.add_argument("--only", action="append", choices=list(parts), dest="parts")
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--kills", type=int, default=200, help="of all types together")
    parser.add_argument("--cancels", type=int, default=20, help="of each type")
    parser.add_argument("--races", type=int, default=100, help="of all types together")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    options = parser.parse_args()
    chance = random.Random(options.seed)
    print(f"seed {options.seed}")
    chosen = options.types or list(kinds)
    options.kills, options.races = (-(-times // len(chosen)) for times in (options.kills, options.races))
    count = Count()
    with tempfile.TemporaryDirectory() as folder:
        campaigns = []
        for kind in chosen:
            place = Path(folder) / kind
            place.mkdir()
            campaigns.append(campaign(kind, place, build(place)))
        for part in options.parts or parts:
            for each in campaigns:
                each.states.clear()
                done = parts[part](each, options, chance, count)
                states = ", ".join(f"{state} {times} times" for state, times in sorted(each.states.items()))
                print(f"{each.kind}: {done}; states: {states or 'none'}", flush=True)
    print(f"{name}: {count.tried} trials, {count.wrong} wrong states")
    return 1 if count.wrong or not count.tried else 0


if __name__ == "__main__":
    sys.exit(main(__doc__, "migrations"))
