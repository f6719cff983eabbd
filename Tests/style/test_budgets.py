"""The comparison of operations with their recorded ceilings."""

from __future__ import annotations

import ceilings
import pytest

FIGURES = {"get": {"own": 141.0, "total": 141.0}, "python.get_cached": {"own": 349.2, "total": 349.2}}
CEILINGS = {"get": {"own": 156.0, "total": 155.0}, "python.get_cached": {"own": 357.0, "total": 357.0}}


def test_operations_within_their_ceilings_are_not_reported() -> None:
    assert ceilings.problems(FIGURES, CEILINGS) == []
    assert ceilings.unmeasured(FIGURES, CEILINGS) == []


def test_operation_without_a_ceiling_is_a_failure_that_names_it() -> None:
    (found,) = ceilings.problems(FIGURES, {"get": CEILINGS["get"]})
    assert found == (
        "python.get_cached does not have a recorded ceiling for own, total: run bench/budgets.py --record "
        "python.get_cached, and commit bench/budgets/ceilings.json"
    )
    (found,) = ceilings.problems({"get": FIGURES["get"]}, {"get": {"own": 156.0}})
    assert found.startswith("get does not have a recorded ceiling for total: run ")


def test_operation_above_its_ceiling_is_a_failure() -> None:
    (found,) = ceilings.problems({"get": {"own": 141.0, "total": 155.6}}, CEILINGS)
    assert found.startswith("get is above its ceiling for total, 156 instead of 155: find the cause, or run ")


def test_ceiling_without_an_operation_is_a_failure() -> None:
    (found,) = ceilings.unmeasured({"get": FIGURES["get"]}, CEILINGS)
    assert found.startswith("python.get_cached has a ceiling, but is not measured: remove it from ")


@pytest.mark.parametrize(
    ("operation", "value", "limit"), [("get", 10.0, 15), ("get", 141.0, 156), ("python.set", 1000.0, 1020)]
)
def test_room_of_a_ceiling(operation: str, value: float, limit: int) -> None:
    assert ceilings.ceiling(operation, "own", value) == limit
