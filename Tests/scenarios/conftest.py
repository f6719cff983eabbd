"""Scenarios of Core Data's behaviour: a file for each area, a test for each scenario, whose number is in its name.

What the scenarios say was asserted on Apple's own framework unless a test says otherwise. The run ends with how many of
each area passed, those among them that are Swift tests: they need a store of a host's own kind.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from corestone import Container, Model

HERE = Path(__file__).resolve().parent
# Scenarios run in a store of each type, but for those that say why it takes a file, or SQLite's.
STORE_TYPES = ("SQLite", "XML", "Binary", "InMemory")
left_out: list[tuple[str, str, str]] = []
# What the tests of the package share with the scenarios: samples.py.
sys.path.insert(1, str(HERE.parents[1] / "bindings" / "python" / "tests"))


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Where a store may be made."""
    return tmp_path / "store.sqlite"


@pytest.fixture(params=STORE_TYPES)
def store_type(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def opened(store: Path, store_type: str) -> Any:
    """Opens the store with a model; all that was opened is closed at the end."""
    containers: list[Container] = []

    def open_store(model: Model, **options: Any) -> Container:
        containers.append(Container(model, store, type=store_type, **options))
        return containers[-1]

    yield open_store
    for container in containers:
        container.close()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "needs_file(why): the scenario is about what a file keeps")
    config.addinivalue_line("markers", "needs_sqlite(why): the scenario is about what SQLite alone keeps or does")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in list(items):
        call = getattr(item, "callspec", None)
        kind = call.params.get("store_type", "SQLite") if call else "SQLite"
        mark = None if kind == "SQLite" else item.get_closest_marker("needs_sqlite")
        if kind == "InMemory":
            mark = mark or item.get_closest_marker("needs_file")
        if mark:
            items.remove(item)
            left_out.append((kind, item.name.partition("[")[0], mark.args[0]))
    for item in items:
        if item.path.parent == HERE and not re.match(r"test_s\d{3}_", item.name):
            raise pytest.UsageError(f"{item.nodeid}: a scenario's test begins with its number, as in test_s119_…")


SWIFT = HERE.parents[1] / "Tests" / "CorestoneGraphTests" / "Scenarios"
SWIFT_LOG = HERE.parents[1] / "build" / "logs" / "swift.log"


def swift_scenarios() -> list[tuple[str, str]]:
    """The area and the name of each scenario in Swift: `FaultingScenarios` are of the area faulting."""
    found = []
    for file in sorted(SWIFT.glob("*.swift")):
        text = file.read_text(encoding="utf-8")
        for match in re.finditer(r"class (\w+)Scenarios\b|func (testS\d{3}\w*)\(", text):
            if match[1]:
                kind = match[1]
                area = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", kind).lower()
            else:
                found.append((area, f"{kind}Scenarios.{match[2]}"))
    return found


def swift_outcomes() -> dict[str, str] | None:
    """What became of the Swift tests in their last run; None when they were not run since a source changed."""
    root = HERE.parents[1]
    changed = max(file.stat().st_mtime for place in ("Sources", "Tests") for file in (root / place).rglob("*.swift"))
    if not SWIFT_LOG.exists() or SWIFT_LOG.stat().st_mtime < changed:
        return None
    text = SWIFT_LOG.read_text(encoding="utf-8", errors="replace")
    return dict(re.findall(r"^Test Case '([\w.]+)' (passed|failed|skipped)", text, re.MULTILINE))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    passed: Counter[str] = Counter()
    total: Counter[str] = Counter()
    outcomes = swift_outcomes()
    for area, name in swift_scenarios():
        total[area] += 1
        passed[area] += (outcomes or {}).get(name) == "passed"
    if outcomes is None:
        terminalreporter.write_line("the scenarios in Swift did not run with these sources: run_suites.py swift")
    for outcome in ("passed", "failed", "error", "skipped"):
        for report in terminalreporter.stats.get(outcome, []):
            if report.when != "call" and outcome == "passed":
                continue
            # The summary speaks of scenarios, whatever else runs beside them.
            if "::" in report.nodeid and not re.search(r"::test_s\d{3}_", report.nodeid):
                continue
            area = Path(report.nodeid.split("::")[0]).stem[len("test_") :].replace("_", "-")
            kind = next((kind for kind in STORE_TYPES if f"[{kind}]" in report.nodeid), "")
            area = f"{area}, {kind}" if kind else area
            total[area] += 1
            passed[area] += outcome == "passed"
    for area in sorted(total):
        terminalreporter.write_line(f"scenarios of the area {area}: {passed[area]} of {total[area]} passed")
    for kind, name, why in left_out:
        terminalreporter.write_line(f"not in a store of type {kind}: {name}, {why}")
