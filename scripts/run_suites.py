"""Runs the suites of `make test` one after the other, and prints the results and the time of each.

Usage: run_suites.py [--record] [SUITE…]   by default all suites; logs are in build/logs/SUITE.log

A suite fails if a test or a command fails, if it exceeds its time limit, or if it runs no test. A suite that needs over
a fifth more time than recorded in suite_seconds.txt is marked with a warning; --record writes that file.
The total is compared with the goal of 30 minutes on two processors. A longer run is a warning, not a failure.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from project import BUILD, ROOT

VENV = BUILD / "venv" / "bin"
PYTHON = str(VENV / "python")
LOGS = BUILD / "logs"
# Seconds of each suite on two cores without other load.
RECORDED = ROOT / "scripts" / "suite_seconds.txt"
# The goal for all suites, in seconds, on two processors.
GOAL = 30 * 60
# The same variables as the Makefile exports, so that a suite can run without make. They replace those of the caller:
# the suites always test this checkout.
ENVIRONMENT = {
    "CORESTONE_LIBRARY": str(BUILD / "lib" / "libcorestone.so"),
    "PYTHONPATH": str(ROOT / "bindings" / "python"),
    "PYTHONDONTWRITEBYTECODE": "1",
}


@dataclass
class Counts:
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def add(self, other: Counts) -> None:
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


@dataclass
class Suite:
    """A named list of commands. Each is one test; with `runner`, each prints the counts of its tests."""

    name: str
    commands: list[list[str]]
    runner: bool = False
    minutes: int = 10
    environment: dict[str, str] = field(default_factory=dict)


def c_tests(*more: str) -> list[str]:
    places = [f"LIB={BUILD / 'lib'}", f"INCLUDE={BUILD / 'include'}", f"OUT={BUILD / 'c-tests'}"]
    return ["make", "-j", "2", "-C", "Tests/c", *places, *more]


def pytest(folder: str, parallel: bool = False) -> list[str]:
    """Returns the command for the tests of a folder; with `parallel`, for two files at a time in two processes."""
    command = [PYTHON, "-m", "pytest", "-rs", "-p", "no:cacheprovider"]
    return [*command, *(["-n", "2", "--dist", "loadfile"] if parallel else []), folder]


def check(name: str) -> list[str]:
    if (ROOT / "scripts" / f"check_{name}.sh").exists():
        return [f"scripts/check_{name}.sh"]
    return [PYTHON, f"scripts/check_{name}.py"]


def lint_commands() -> list[list[str]]:
    c_files = subprocess.run(
        ["scripts/c_files.sh"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.split()
    swift = os.environ.get("SWIFT", "swift")
    swift_places = ["Package.swift", "Sources", "Tests", "examples/swift"]
    commands = [
        [swift, "format", "lint", "--strict", "--parallel", "--recursive", *swift_places],
        [str(VENV / "clang-format"), "--dry-run", "-Werror", *c_files],
        [str(VENV / "ruff"), "check", "."],
        [str(VENV / "ruff"), "format", "--check", "."],
        [PYTHON, "scripts/generate.py", "--check"],
        check("abi"),
        [str(VENV / "vermin"), "--quiet", "--no-tips", "--violations", "-t=3.9-", *python_places()],
        [PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", "Tests/style"],
        check("style"),
        check("comments"),
        [PYTHON, "scripts/messages.py", "--check"],
        [PYTHON, "scripts/draw_docs.py", "--check"],
    ]
    return commands + mypy_commands()


def python_places() -> list[str]:
    places = ("bindings/python/corestone", "examples", "packaging", "scripts", "bench")
    return [place for place in places if (ROOT / place).is_dir()]


def mypy_path() -> str:
    """Returns the folders of modules that programs of other folders import."""
    package = ROOT / "bindings" / "python"
    examples = (ROOT / "examples" / "stores", ROOT / "examples" / "history")
    support = ROOT / "Tests" / "support"
    programs = (ROOT / "scripts", ROOT / "bench", ROOT / "packaging" / "python")
    places = (package, package / "tests", support, *examples, *programs)
    return ":".join(map(str, places))


def mypy_commands() -> list[list[str]]:
    """Returns a command for the package, and one for each folder of programs, as two may have the same name."""
    mypy = str(VENV / "mypy")
    commands = [["env", "--chdir=bindings/python", mypy, "--strict", "corestone", "tests"]]
    for folder in (
        "scripts",
        "scripts/snippets",
        "examples/python",
        "examples/packages",
        "examples/orders",
        "examples/live",
        "examples/stores",
        "examples/history",
        "examples/podcasts",
        "examples/events",
        "examples/signals",
        "bench",
        "bench/budgets",
        "bench/peers",
        "Tests/support",
        "Tests/tool",
        "Tests/scenarios",
        "Tests/examples",
        "Tests/stress",
        "Tests/style",
        "Tests/faults",
        "Tests/migration",
        "Tests/accelerator",
        "Tests/history",
        "Tests/mutants",
        "Tests/packaging",
        "packaging/python",
    ):
        files = sorted(str(path.relative_to(ROOT)) for path in (ROOT / folder).glob("*.py"))
        if folder == "scripts":
            # Its package, and the tests that import its modules.
            for more in ("scripts/api", "Tests/interface"):
                files += sorted(str(path.relative_to(ROOT)) for path in (ROOT / more).glob("*.py"))
        if files:
            commands.append([mypy, "--strict", *files])
    return commands


def suites() -> list[Suite]:
    examples = [
        ["scripts/run_example.sh", "c", str(BUILD)],
        ["scripts/run_example.sh", "python", str(BUILD)],
        ["scripts/run_example.sh", "swift", str(BUILD)],
    ]
    return [
        Suite("lint", lint_commands(), environment={"MYPYPATH": mypy_path()}),
        Suite(
            "checks",
            [check(name) for name in ("exports", "ldd", "size", "imports", "arithmetic", "docs", "readme", "install")],
        ),
        Suite("swift", [[os.environ.get("SWIFT", "swift"), "test"]], runner=True, minutes=20),
        Suite("c", [c_tests("run")], runner=True),
        Suite("python", [pytest("bindings/python/tests", parallel=True)], runner=True),
        Suite("accelerator", [[PYTHON, "Tests/accelerator/accelerator_fuzz.py", "--operations", "20000"]]),
        Suite("scenarios", [pytest("Tests/scenarios", parallel=True)], runner=True),
        Suite("interface", [pytest("Tests/interface")], runner=True),
        Suite("damage", [[PYTHON, "scripts/damaged_models.py"]]),
        Suite("tool", [pytest("Tests/tool", parallel=True)], runner=True),
        Suite("packaging", [pytest("Tests/packaging")], runner=True),
        Suite("examples", examples),
        Suite("editor", [pytest("Tests/examples", parallel=True)], runner=True),
        Suite("processes", [pytest("Tests/stress")], runner=True),
        Suite("faults", [pytest("Tests/faults", parallel=True)], runner=True),
        Suite("migration", [pytest("Tests/migration", parallel=True)], runner=True),
        Suite("history", [pytest("Tests/history", parallel=True)], runner=True),
        Suite("docs", [[PYTHON, "scripts/check_snippets.py"]], runner=True),
        Suite("demo", [["scripts/demo.sh", str(BUILD)]]),
        Suite("budgets", [[PYTHON, "bench/budgets.py", "--no-python"], [PYTHON, "bench/growth.py", "--short"]]),
    ]


def counts_in(text: str) -> Counts:
    """Returns the counts in the output of XCTest, Swift Testing, pytest, or of a program: "N passed, M failed"."""
    total = Counts()
    xctest = re.findall(r"Executed (\d+) tests?, with (?:(\d+) tests? skipped and )?(\d+) failures?", text)
    if xctest:
        ran, skipped, failed = (int(number or 0) for number in xctest[-1])
        total.add(Counts(ran - skipped - failed if ran >= skipped + failed else 0, failed, skipped))
    for ran, _, outcome in re.findall(r"Test run with (\d+) tests?( in \d+ suites?)? (passed|failed)", text):
        total.add(Counts(int(ran)) if outcome == "passed" else Counts(0, 1))
    if total.passed + total.failed + total.skipped:
        return total
    lines = re.findall(r"^\W*(?:\w+: )?((?:\d+ (?:passed|failed|skipped|errors?|\w+)(?:, )?)+)", text, re.MULTILINE)
    for line in reversed(lines):
        found = {word: int(number) for number, word in re.findall(r"(\d+) (\w+)", line)}
        if "passed" in found or "failed" in found:
            failed = found.get("failed", 0) + found.get("error", 0) + found.get("errors", 0)
            return Counts(found.get("passed", 0), failed, found.get("skipped", 0))
    return total


def signs_of_failure(log: Path) -> list[str]:
    """Returns the first lines of a log that report an error, or its last lines if none does."""
    lines = [line.rstrip()[:200] for line in log.read_text(encoding="utf-8", errors="replace").splitlines()]
    telling = [line for line in lines if re.search(r"\b(error|FAIL(ED)?|FAILURE|[Ff]atal|[Cc]rashed|Signal)\b", line)]
    return telling[:6] or lines[-6:]


def run(command: list[str], suite: Suite, log: Path) -> Counts:
    """Runs a command of a suite. Prints its output and appends it to the log."""
    print(f"$ {' '.join(word.replace(str(ROOT) + '/', '') for word in command)}"[:160], flush=True)
    environment = {**os.environ, **ENVIRONMENT, **suite.environment}
    started = subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )

    def stop() -> None:
        print(f"{suite.name}: stopped after {suite.minutes} minutes", flush=True)
        os.killpg(started.pid, signal.SIGKILL)

    watch = threading.Timer(suite.minutes * 60, stop)
    watch.start()
    text = []
    assert started.stdout is not None
    with log.open("a", encoding="utf-8") as kept:
        for line in started.stdout:
            text.append(line)
            kept.write(line)
            # The two lines of a passed XCTest case are only in the log.
            if not re.match(r"Test (Case|Suite) .*(started|passed)|\t Executed \d+ test|\[\d+/\d+\] ", line):
                sys.stdout.write(line)
                sys.stdout.flush()
    code = started.wait()
    watch.cancel()
    counts = counts_in("".join(text)) if suite.runner else Counts(passed=1 if code == 0 else 0)
    if code != 0 and counts.failed == 0:
        counts.failed = 1
        print(f"{suite.name}: the command exited with {code}", flush=True)
    return counts


def recorded_seconds() -> dict[str, int]:
    lines = RECORDED.read_text(encoding="utf-8").splitlines() if RECORDED.is_file() else []
    return {name: int(seconds) for name, seconds in (line.split() for line in lines if not line.startswith("#"))}


def record(taken: dict[str, float]) -> None:
    """Writes the seconds of the suites that ran, and keeps those of the others."""
    seconds = recorded_seconds() | {name: round(each) for name, each in taken.items()}
    lines = ["# Seconds of each suite on two cores; written by run_suites.py --record."]
    lines += [f"{suite.name} {seconds[suite.name]}" for suite in suites() if suite.name in seconds]
    RECORDED.write_text("\n".join(lines) + "\n", encoding="utf-8")


def slower(name: str, seconds: float, known: dict[str, int]) -> str:
    """Returns a warning about a suite that is slower than recorded, or "". A few seconds more are allowed."""
    before = known.get(name)
    if before is None or seconds <= 1.2 * before + 2:
        return ""
    return f"   {seconds / before - 1:+.0%} (recorded: {before} s)"


def compared_with_goal(seconds: float) -> str:
    """Returns the line about the time of the suites that ran, which is a warning if they took more than the goal."""
    line = f"suites: {seconds:.0f} s of the goal of {GOAL} s"
    return line if seconds <= GOAL else f"warning: {line}"


def main(arguments: list[str]) -> int:
    names = [each for each in arguments if each != "--record"]
    chosen = [suite for suite in suites() if not names or suite.name in names]
    unknown = set(names) - {suite.name for suite in chosen}
    if unknown:
        print(f"there is no suite {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    LOGS.mkdir(parents=True, exist_ok=True)
    total = Counts()
    table = []
    failures = []
    known, taken = recorded_seconds(), {}
    for suite in chosen:
        print(f"\n==== {suite.name}", flush=True)
        log = LOGS / f"{suite.name}.log"
        log.write_text("", encoding="utf-8")
        begin = time.monotonic()
        counts = Counts()
        for command in suite.commands:
            counts.add(run(command, suite, log))
        if counts.passed == 0 and counts.failed == 0:
            counts.failed = 1
            print(f"{suite.name}: no test ran", flush=True)
        taken[suite.name] = seconds = time.monotonic() - begin
        table.append(f"{suite.name:<10}{seconds:>7.1f} s   {counts}{slower(suite.name, seconds, known)}")
        total.add(counts)
        if counts.failed:
            failures += [f"{suite.name}: {line}" for line in signs_of_failure(log)]
    print("\n" + "\n".join(table + failures))
    print(compared_with_goal(sum(taken.values())))
    if "--record" in arguments:
        record(taken)
    closing = f"total: {total}"
    (LOGS / "total").write_text(closing + "\n", encoding="utf-8")
    print(closing, flush=True)
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
