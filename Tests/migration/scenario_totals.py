"""Totals of the migration scenarios by area: a pytest plugin, and a program that runs only the marked tests.

A test shows a scenario with `@pytest.mark.scenario("M021")`; a scenario passed if all of its tests passed. A run that
has marked tests ends with the table. Every scenario of the sample (`SAMPLE`) must have a test, which
test_scenario_totals.py and the exit status of the program check. Other scenarios of the file, and of a larger one, are
counted if they have tests, and listed if they have none.

The program fails if a scenario does not pass, also if its failure is expected.

Usage: scenario_totals.py [--scenarios FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from source_models import FIXTURES

HERE = Path(__file__).resolve().parent
FILE = "CORESTONE_MIGRATION_SCENARIOS"

#: The scenarios of scenarios-migration.jsonl, by area.
SAMPLE = {
    "rename": ("M002", "M004", "M005"),
    "inference": ("M010",),
    "open": ("M012", "M015"),
    "lightweight": ("M017", "M050"),
    "manager": ("M018", "M019"),
    "mapping": ("M021", "M022", "M041", "M048", "M078"),
    "cancel": ("M023",),
    "history": ("M027",),
    "staged": ("M029", "M032"),
    "chain": ("M035", "M057", "M080", "M081"),
    "policy": ("M044",),
    "entity-rename": ("M047",),
    "type-change": ("M052",),
    "ordered": ("M054",),
    "transformable": ("M055",),
    "in-place": ("M059", "M060"),
    "indexes": ("M062",),
    "join": ("M064",),
    "entity-remove": ("M067",),
    "error": ("M073",),
}


def scenario_file() -> Path:
    return Path(os.environ.get(FILE) or FIXTURES.parent / "scenarios-migration.jsonl")


def listed() -> dict[str, str]:
    """The area of each scenario of the file; nothing without a file."""
    file = scenario_file()
    if not file.is_file():
        return {}
    lines = filter(None, file.read_text(encoding="utf-8").splitlines())
    return {each["id"]: each["area"] for each in map(json.loads, lines)}


def areas() -> dict[str, str]:
    """The area of each known scenario: those of the sample, then further ones of the file."""
    return {number: area for area, numbers in SAMPLE.items() for number in numbers} | listed()


def marked() -> set[str]:
    """The scenarios that the tests of this folder name, also those that do not run."""
    texts = (file.read_text(encoding="utf-8") for file in HERE.glob("test_*.py"))
    return {number for text in texts for number in re.findall(r'\bmark\.scenario\("(M\d{3})"\)', text)}


def without_test() -> list[str]:
    """The scenarios of the sample without a test."""
    return sorted({number for numbers in SAMPLE.values() for number in numbers} - marked())


class Totals:
    """The outcomes of the scenarios of a run."""

    def __init__(self) -> None:
        #: The scenarios of each marked test, by its node ID.
        self.tests: dict[str, list[str]] = {}
        #: Whether each marked test that ran passed. Skipped tests and expected failures did not.
        self.outcomes: dict[str, bool] = {}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            numbers = [str(mark.args[0]) for mark in item.iter_markers("scenario")]
            if numbers:
                self.tests[item.nodeid] = numbers

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.nodeid in self.tests:
            is_passed = report.passed and not hasattr(report, "wasxfail")
            self.outcomes[report.nodeid] = self.outcomes.get(report.nodeid, True) and is_passed

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self.tests:
            terminalreporter.write_sep("-", "migration scenarios")
            for line in self.lines():
                terminalreporter.write_line(line)

    def lines(self) -> Iterator[str]:
        known, named = areas(), marked()
        by_number: dict[str, list[bool]] = defaultdict(list)
        for test, numbers in self.tests.items():
            for number in numbers:
                by_number[number].append(self.outcomes.get(test, False))
        by_area: dict[str, list[bool]] = defaultdict(list)
        for number, found in by_number.items():
            by_area[known.get(number, "of no known area")].append(all(found))
        rows = [("area", "passed/total")]
        for area in sorted(by_area):
            rows.append((area, f"{sum(by_area[area])}/{len(by_area[area])}"))
        every = [each for found in by_area.values() for each in found]
        rows.append(("all", f"{sum(every)}/{len(every)}"))
        width = max(len(area) for area, _ in rows)
        for area, counts in rows:
            yield f"{area.ljust(width)}  {counts}"
        for number in sorted(by_number):
            if not all(by_number[number]):
                yield f"not passed: {number} ({known.get(number, 'of no known area')})"
        left: dict[str, list[str]] = defaultdict(list)
        for number, area in known.items():
            if number not in named:
                left[area].append(number)
        for area in sorted(left):
            yield f"without a test in the area {area}: {' '.join(sorted(left[area]))}"


def main() -> int:
    parser = argparse.ArgumentParser(description="Runs the tests of the migration scenarios and prints totals.")
    parser.add_argument("--scenarios", metavar="FILE", help="a file with the areas of further scenarios")
    given = parser.parse_args()
    if given.scenarios:
        os.environ[FILE] = os.path.abspath(given.scenarios)
    status = pytest.main(["-q", "-rs", "-p", "no:cacheprovider", "--runxfail", "-m", "scenario", str(HERE)])
    missing = without_test()
    if missing:
        print(f"scenarios of the sample without a test: {' '.join(missing)}", file=sys.stderr)
    return int(status) or int(bool(missing))


if __name__ == "__main__":
    sys.exit(main())
