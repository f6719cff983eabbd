"""Scenarios of Core Data's behaviour: a file for each area, a test for each scenario, whose number is in its name.

What the scenarios say was asserted on Apple's own framework unless a test says otherwise. The run ends with how many of
each area passed.
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
# What the tests of the package share with the scenarios: samples.py.
sys.path.insert(1, str(HERE.parents[1] / "bindings" / "python" / "tests"))


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Where a store may be made."""
    return tmp_path / "store.sqlite"


@pytest.fixture
def opened(store: Path) -> Any:
    """Opens the store with a model; all that was opened is closed at the end."""
    containers: list[Container] = []

    def open_store(model: Model, **options: Any) -> Container:
        containers.append(Container(model, store, **options))
        return containers[-1]

    yield open_store
    for container in containers:
        container.close()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent == HERE and not re.match(r"test_s\d{3}_", item.name):
            raise pytest.UsageError(f"{item.nodeid}: a scenario's test begins with its number, as in test_s119_…")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    passed: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for outcome in ("passed", "failed", "error", "skipped"):
        for report in terminalreporter.stats.get(outcome, []):
            if report.when != "call" and outcome == "passed":
                continue
            area = Path(report.nodeid.split("::")[0]).stem[len("test_") :].replace("_", "-")
            total[area] += 1
            passed[area] += outcome == "passed"
    for area in sorted(total):
        terminalreporter.write_line(f"scenarios of the area {area}: {passed[area]} of {total[area]} passed")
