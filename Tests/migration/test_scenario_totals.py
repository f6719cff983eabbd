"""Every migration scenario of the sample has a test, and totals count the outcomes of a run."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import scenario_totals
from scenario_totals import SAMPLE, Totals


def test_every_scenario_of_the_sample_has_a_test() -> None:
    assert scenario_totals.without_test() == []


def test_every_marked_scenario_has_its_number_once_in_the_sample() -> None:
    numbers = [number for found in SAMPLE.values() for number in found]
    assert len(numbers) == len(set(numbers)) == 34


@pytest.mark.skipif(not scenario_totals.listed(), reason="the list of scenarios is not there")
def test_sample_has_the_areas_of_the_file() -> None:
    found = scenario_totals.listed()
    assert {number: found.get(number) for numbers in SAMPLE.values() for number in numbers} == {
        number: area for area, numbers in SAMPLE.items() for number in numbers
    }


def report(test: str, outcome: str, **more: Any) -> Any:
    return SimpleNamespace(nodeid=test, passed=outcome == "passed", **more)


def test_totals_count_a_scenario_when_all_of_its_tests_passed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "more.jsonl"
    file.write_text("".join(json.dumps({"id": f"M90{n}", "area": "odd"}) + "\n" for n in range(2)), encoding="utf-8")
    monkeypatch.setenv(scenario_totals.FILE, str(file))
    totals = Totals()
    totals.tests = {"a": ["M002"], "b": ["M002"], "c": ["M004"], "d": ["M010"], "e": ["M900"], "f": ["M015"]}
    for test, outcome in (("a", "passed"), ("a", "failed"), ("b", "passed"), ("c", "passed"), ("e", "passed")):
        totals.pytest_runtest_logreport(report(test, outcome))
    totals.pytest_runtest_logreport(report("f", "passed", wasxfail="reason"))
    lines = list(totals.lines())
    assert [line.split() for line in lines[:7]] == [
        ["area", "passed/total"], ["inference", "0/1"], ["odd", "1/1"], ["open", "0/1"], ["rename", "1/2"],
        ["all", "2/5"], ["not", "passed:", "M002", "(rename)"],
    ]  # fmt: skip
    assert lines[7:9] == ["not passed: M010 (inference)", "not passed: M015 (open)"]
    assert "without a test in the area odd: M900 M901" in "\n".join(lines)
