"""Wrong changes, one at a time, and the tests that notice them: `make check-mutants`.

A clone of the repository gets all changes of mutants.json at once. Each is behind a switch that CORESTONE_MUTANT turns
on, so that one build serves them all. Each change is tried with the tests that mutants.json names for it. One that they
do not notice survives; `--whole` tries it with every suite.

Usage: run.py [--mutants 1-12 40] [--whole] [--jobs N] [--folder FOLDER]
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
MUTANTS: dict[int, dict[str, Any]] = {
    each["number"]: each for each in json.loads((Path(__file__).parent / "mutants.json").read_text())
}
SWIFT_SWITCH = """import Glibc

private let chosenMutant = getenv("CORESTONE_MUTANT").flatMap { Int(String(cString: $0)) } ?? 0

public func mutant(_ number: Int) -> Bool { chosenMutant == number }
"""
PYTHON_SWITCH = """import os


def mutant(number: int) -> bool:
    return os.environ.get("CORESTONE_MUTANT") == str(number)
"""
# Seconds beyond five times the usual ones, after which a selection of tests counts as hanging.
SECONDS_MORE = 60


@dataclass(frozen=True)
class Selection:
    """Tests that one process runs: a filter of XCTest, a C program, or a file of Python tests."""

    kind: str
    name: str

    @property
    def text(self) -> str:
        return f"{self.kind} {self.name}"


@dataclass
class Outcome:
    """How a selection ended."""

    failures: list[str] = field(default_factory=list)
    seconds: float = 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mutants", nargs="+", default=[f"1-{max(MUTANTS)}"], help="numbers and ranges of them")
    parser.add_argument("--whole", action="store_true", help="run every suite for those that survive")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "mutants")
    arguments = parser.parse_args()
    checkout = Checkout(arguments.folder)
    checkout.prepare()
    campaign = Campaign(checkout, arguments.jobs)
    campaign.run(numbers(arguments.mutants), arguments.whole)
    return campaign.report()


def numbers(words: list[str]) -> list[int]:
    chosen: list[int] = []
    for word in words:
        first, _, last = word.partition("-")
        chosen += range(int(first), int(last or first) + 1)
    return [number for number in chosen if number in MUTANTS]


class Checkout:
    """A clone with all changes in it, built."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = folder / "checkout"
        self.build = self.root / "build"
        self.logs = folder / "logs"

    def prepare(self) -> None:
        """Clones the committed state unless the clone exists, and builds it."""
        self.logs.mkdir(parents=True, exist_ok=True)
        if not self.root.exists():
            subprocess.run(["git", "clone", "--quiet", str(ROOT), str(self.root)], check=True)
            self._change()
        shared = self.folder / "shared"
        if not shared.exists() and (ROOT.parent / "shared").exists():
            shared.symlink_to(ROOT.parent / "shared")
        for command in (
            ["make", "build"],
            ["swift", "build", "--build-tests"],
            ["make", "-C", "Tests/c", *(f"{name}={path}" for name, path in self.paths().items()), "all"],
        ):
            subprocess.run(command, cwd=self.root, check=True, stdout=subprocess.DEVNULL)

    def _change(self) -> None:
        stale = []
        for number, mutant in MUTANTS.items():
            path = self.root / mutant["file"]
            text = path.read_text()
            if text.count(mutant["find"]) != 1:
                stale.append(f"{number}: {mutant['file']} has no longer, or more than once: {mutant['find']}")
                continue
            text = text.replace(mutant["find"], mutant["replace"])
            if path.suffix == ".py":
                first = "from __future__ import annotations\n"
                text = text.replace(first, first + "\nfrom corestone._mutant import mutant\n", 1)
            elif "/CorestoneValues/" not in mutant["file"] and "import CorestoneValues" not in text:
                text = "import CorestoneValues\n" + text
            path.write_text(text)
        if stale:
            shutil.rmtree(self.root)
            sys.exit("mutants.json does not fit the sources:\n  " + "\n  ".join(stale))
        (self.root / "Sources/CorestoneValues/Mutant.swift").write_text(SWIFT_SWITCH)
        (self.root / "bindings/python/corestone/_mutant.py").write_text(PYTHON_SWITCH)

    def paths(self) -> dict[str, str]:
        return {
            "LIB": str(self.build / "lib"),
            "INCLUDE": str(self.build / "include"),
            "OUT": str(self.build / "c-tests"),
        }

    def environment(self, number: int) -> dict[str, str]:
        return {
            **os.environ,
            **self.paths(),
            "CORESTONE_MUTANT": str(number),
            "CORESTONE_LIBRARY": str(self.build / "lib/libcorestone.so"),
            "CORESTONE_FIXTURES": str(ROOT.parent / "shared" / "fixtures"),
            "PYTHONPATH": str(self.root / "bindings/python"),
            "SANITIZE": "",
        }

    def command(self, selection: Selection) -> tuple[list[str], Path]:
        if selection.kind == "swift":
            (bundle,) = (self.root / ".build").glob("*/debug/corestonePackageTests.xctest")
            return [str(bundle), *([selection.name] if selection.name else [])], self.root
        if selection.kind == "c":
            return [str(self.build / "c-tests" / selection.name)], self.root / "Tests/c"
        python = str(self.build / "venv/bin/python")
        return [python, "-m", "pytest", "-q", "-x", "-rfE", "--no-header", selection.name], self.root

    def run(self, selection: Selection, number: int, seconds: float) -> Outcome:
        """Runs tests with a change in force; 0 for no change."""
        command, folder = self.command(selection)
        log = self.logs / re.sub(r"\W+", "-", f"{number} {selection.text}")
        start = time.monotonic()
        with log.open("wb") as output:
            process = subprocess.Popen(
                command,
                cwd=folder,
                env=self.environment(number),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                status: int | None = process.wait(seconds)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                status = None
        return Outcome(failures(selection, log.read_text(errors="replace"), status), time.monotonic() - start)


def failures(selection: Selection, text: str, status: int | None) -> list[str]:
    """The tests that failed, or how the process ended that named no test."""
    if status is None:
        return ["hangs"]
    if selection.kind == "swift" and status == 0 and not re.search(r"Executed [1-9]\d* tests?", text):
        return ["no test ran"]
    if status == 0 or (selection.kind in ("python", "scenarios", "tool") and status == 5):
        return []
    pattern = {"swift": r"error: ([\w.]+) :", "c": r"^(.*FAILED.*)$"}.get(selection.kind, r"^(?:FAILED|ERROR) (\S+)")
    found = list(dict.fromkeys(re.findall(pattern, text, re.MULTILINE)))
    return found or [f"ends with {status}: " + " | ".join(text.splitlines()[-2:])]


class Campaign:
    """Mutants, the test selections of each, and their results."""

    def __init__(self, checkout: Checkout, jobs: int) -> None:
        self.checkout = checkout
        self.jobs = jobs
        self.usual: dict[Selection, Outcome] = {}
        self.killers: dict[int, str] = {}
        self.survivors: list[int] = []
        self.lock = threading.Lock()

    def run(self, chosen: list[int], whole: bool) -> None:
        self._try(chosen, {number: self._beside(number) for number in chosen})
        if whole and self.survivors:
            left, self.survivors = sorted(self.survivors), []
            self._try(left, dict.fromkeys(left, self._all()))

    def _beside(self, number: int) -> list[Selection]:
        tests: dict[str, list[str]] = MUTANTS[number]["tests"]
        return [Selection(kind, name) for kind, names in tests.items() for name in names]

    def _all(self) -> list[Selection]:
        programs = sorted(path.stem for path in (self.checkout.root / "Tests/c").glob("test_*.c"))
        folders = [("tool", "Tests/tool"), ("scenarios", "Tests/scenarios"), ("python", "bindings/python/tests")]
        return [
            *(Selection("c", program) for program in programs),
            *(Selection(kind, folder) for kind, folder in folders),
            Selection("swift", ""),
        ]

    def _try(self, chosen: list[int], selections: dict[int, list[Selection]]) -> None:
        needed = dict.fromkeys(each for number in chosen for each in selections[number])
        with ThreadPoolExecutor(self.jobs) as pool:
            list(pool.map(self._measure, [each for each in needed if each not in self.usual]))
            list(pool.map(lambda number: self._judge(number, selections[number]), chosen))

    def _measure(self, selection: Selection) -> None:
        """Runs a selection without a mutant, for its usual duration and failures, which kill no mutant."""
        outcome = self.checkout.run(selection, 0, 3600)
        if outcome.failures:
            print(f"without a change: {selection.text} fails: {outcome.failures[0]}", flush=True)
        self.usual[selection] = outcome

    def _judge(self, number: int, selections: list[Selection]) -> None:
        for selection in sorted(selections, key=lambda each: self.usual[each].seconds):
            usual = self.usual[selection]
            outcome = self.checkout.run(selection, number, 5 * usual.seconds + SECONDS_MORE)
            noticed = [name for name in outcome.failures if name not in usual.failures]
            if noticed:
                self._note(number, f"{selection.text}: {noticed[0]}")
                return
        self._note(number, None)

    def _note(self, number: int, killer: str | None) -> None:
        with self.lock:
            if killer is None:
                self.survivors.append(number)
            else:
                self.killers[number] = killer
            print(f"{number:3} {'survives' if killer is None else 'killed by ' + killer}", flush=True)

    def report(self) -> int:
        print(f"check-mutants: {len(self.killers)} of {len(self.killers) + len(self.survivors)} changes were noticed")
        for number in sorted(self.survivors):
            print(f"  {number} survives: {MUTANTS[number]['layer']}: {MUTANTS[number]['change']}")
        return 1 if self.survivors else 0


if __name__ == "__main__":
    sys.exit(main())
