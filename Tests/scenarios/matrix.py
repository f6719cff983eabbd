"""The matrix of the scenarios: how many of each area passed in a store of each type, and why some are not for a type.

A pytest plugin. A scenario passed in a column when all of its tests there did. The columns are the types of stores,
then the scenarios that need no store, and those among the Swift tests, which use a host's store written in Swift. The
run ends with the matrix, and build/scenarios.json has it for machines.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from checkout import FIXTURES, ROOT

HERE = Path(__file__).resolve().parent
KIND = "type of store"  # under which a test's report has its column
NO_STORE, SWIFT = "no store", "in Swift"
NUMBER = re.compile(r"test_?(s\d{3})", re.IGNORECASE)


@dataclass
class Cell:
    """The results of the scenarios of an area in a column, by their numbers."""

    passed: set[str] = field(default_factory=set)
    failed: set[str] = field(default_factory=set)  # skipped ones too
    not_by_nature: dict[str, str] = field(default_factory=dict)  # with the reason

    @property
    def counted(self) -> str:
        ran = self.passed | self.failed
        return f"{len(ran - self.failed)}/{len(ran)}"


class Matrix:
    def __init__(self, kinds: tuple[str, ...]) -> None:
        self.columns = (*kinds, NO_STORE, SWIFT)
        self.cells: dict[str, dict[str, Cell]] = defaultdict(lambda: defaultdict(Cell))

    # -------- the report of the run ------------------------------------------------------------------------

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Deselects tests that a store type cannot support, records why, and assigns each report to its column."""
        chosen, others = [], []
        for item in items:
            if item.path.parent != HERE:
                chosen.append(item)
                continue
            number = NUMBER.match(item.name)
            if number is None:
                raise pytest.UsageError(f"{item.nodeid}: a scenario's test begins with its number, as in test_s119_…")
            call = getattr(item, "callspec", None)
            kind = str(call.params["store_type"]) if call and "store_type" in call.params else NO_STORE
            item.user_properties.append((KIND, kind))
            why = next((why for why in (reason(mark, kind) for mark in item.iter_markers()) if why), None)
            if why is None:
                chosen.append(item)
            else:
                others.append(item)
                self.cells[area(item.path)][kind].not_by_nature[number[1].upper()] = why
        if others:
            items[:] = chosen
            config.hook.pytest_deselected(items=others)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        kind = dict(report.user_properties).get(KIND)
        number = NUMBER.match(report.nodeid.rpartition("::")[2])
        if kind is None or number is None or (report.passed and report.when != "call"):
            return
        cell = self.cells[area(Path(report.nodeid.partition("::")[0]))][str(kind)]
        (cell.passed if report.passed else cell.failed).add(number[1].upper())

    # -------- what it ends with ----------------------------------------------------------------------------

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if not self.cells:
            return
        outcomes = swift_outcomes()
        for name, test in swift_scenarios():
            number = NUMBER.match(test.partition(".")[2])
            assert number, test
            cell = self.cells[name][SWIFT]
            (cell.passed if (outcomes or {}).get(test) == "passed" else cell.failed).add(number[1])
        terminalreporter.write_sep("-", "scenarios passed, of those that are for a type of store")
        for line in chain(self.table(), self.reasons(), self.missing()):
            terminalreporter.write_line(line)
        if outcomes is None:
            terminalreporter.write_line("those in Swift did not run with these sources: scripts/run_suites.py swift")
        write_json(self.described(), ROOT / "build" / "scenarios.json")

    def letters(self) -> dict[str, str]:
        """A letter for each reason, in the order of the table."""
        every = (why for row in self.rows() for cell in row[1].values() for why in cell.not_by_nature.values())
        return {why: chr(ord("a") + place) for place, why in enumerate(dict.fromkeys(every))}

    def rows(self) -> list[tuple[str, dict[str, Cell]]]:
        found = []
        for name in sorted(self.cells):
            row = self.cells[name]
            found.append((name, {column: row[column] for column in self.columns if column in row}))
        return found

    def table(self) -> Iterator[str]:
        letters, rows = self.letters(), self.rows()
        lines = [["area", *self.columns]]
        for name, row in rows:
            line = [name]
            for column in self.columns:
                cell = row.get(column, Cell())
                marks = sorted({letters[why] for why in cell.not_by_nature.values()})
                line.append(f"{cell.counted if cell.passed or cell.failed else '-'} {''.join(marks)}".strip())
            lines.append(line)
        total = ["all"]
        for column in self.columns:
            cells = [row[column] for _, row in rows if column in row]
            ran = sum(len(cell.passed | cell.failed) for cell in cells)
            total.append(f"{ran - sum(len(cell.failed) for cell in cells)}/{ran}")
        lines.append(total)
        widths = [max(map(len, texts)) for texts in zip(*lines)]
        for line in lines:
            yield "  ".join(text.ljust(width) for text, width in zip(line, widths)).rstrip()

    def reasons(self) -> Iterator[str]:
        for why, letter in self.letters().items():
            whom: dict[str, set[str]] = defaultdict(set)
            for _, row in self.rows():
                for column, cell in row.items():
                    whom[column] |= {number for number, given in cell.not_by_nature.items() if given == why}
            columns: dict[str, list[str]] = defaultdict(list)
            for column, numbers in whom.items():
                if numbers:
                    columns[" ".join(sorted(numbers))].append(column)
            shown = "; ".join(f"{', '.join(names)}: {numbers}" for numbers, names in columns.items())
            yield f"{letter}  {why} ({shown})"

    def missing(self) -> Iterator[str]:
        """The known scenarios without a test, if the list of scenarios is available."""
        areas = known_scenarios()
        tested = {
            number
            for _, row in self.rows()
            for cell in row.values()
            for number in {*cell.passed, *cell.failed, *cell.not_by_nature}
        }
        ran = {name for name, _ in self.rows()}
        left: dict[str, list[str]] = defaultdict(list)
        for number, name in areas.items():
            # In a run of some areas, the scenarios of other areas are not missing.
            if number not in tested and (name in ran or not (HERE / f"test_{name.replace('-', '_')}.py").exists()):
                left[name].append(number)
        for name in sorted(left):
            yield f"without a test in the area {name}: {' '.join(sorted(left[name]))}"

    def described(self) -> dict[str, Any]:
        areas: dict[str, Any] = {}
        for name, row in self.rows():
            areas[name] = {
                column: {
                    "passed": len(cell.passed - cell.failed),
                    "total": len(cell.passed | cell.failed),
                    "failed": sorted(cell.failed),
                    "not_by_nature": dict(sorted(cell.not_by_nature.items())),
                }
                for column, cell in row.items()
            }
        return {"columns": list(self.columns), "areas": areas, "without_test": list(self.missing())}


def area(file: Path) -> str:
    return file.stem[len("test_") :].replace("_", "-")


def reason(mark: pytest.Mark, kind: str) -> str | None:
    """Why a mark keeps a test from a type of store: only_in(why, *types), not_in(why, *types), needs_…(why)."""
    is_kept_from = {
        "needs_file": kind == "InMemory",
        "needs_sqlite": kind != "SQLite",
        "only_in": kind not in mark.args[1:],
        "not_in": kind in mark.args[1:],
    }.get(mark.name, False)
    return str(mark.args[0]) if is_kept_from and kind != NO_STORE else None


def swift_scenarios() -> list[tuple[str, str]]:
    """The area and the name of each scenario in Swift: `FaultingScenarios` are of the area faulting."""
    found = []
    for file in sorted((ROOT / "Tests" / "swift" / "graph" / "scenarios").glob("*.swift")):
        kind = ""
        for match in re.finditer(r"class (\w+)Scenarios\b|func (testS\d{3}\w*)\(", file.read_text(encoding="utf-8")):
            if match[1]:
                kind = match[1]
            else:
                name = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", kind).lower()
                found.append((name, f"{kind}Scenarios.{match[2]}"))
    return found


def swift_outcomes() -> dict[str, str] | None:
    """The results of the Swift tests in their last run; None if a source changed since then."""
    log = ROOT / "build" / "logs" / "swift.log"
    changed = max(file.stat().st_mtime for place in ("Sources", "Tests") for file in (ROOT / place).rglob("*.swift"))
    if not log.exists() or log.stat().st_mtime < changed:
        return None
    text = log.read_text(encoding="utf-8", errors="replace")
    return dict(re.findall(r"^Test Case '([\w.]+)' (passed|failed|skipped)", text, re.MULTILINE))


def known_scenarios() -> dict[str, str]:
    """The area of each scenario by its number; empty if the list is not available."""
    file = FIXTURES.parent / "scenarios.jsonl"
    if not file.exists():
        return {}
    lines = map(json.loads, file.read_text(encoding="utf-8").splitlines())
    return {each["id"]: each["area"] for each in lines}


def write_json(values: Any, file: Path) -> None:
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(values, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
