"""Fetches beside changes that are not saved: membership, values, order and window."""

from __future__ import annotations

from typing import Any

import pytest
from corestone import Context, Model
from scenario_models import CARS

STAFF = {
    "Employee": {
        "name": "string?",
        "salary": "int32?",
        "hireDate": "date?",
        "department": "to-one Department? inverse employees",
    },
    "Department": {"name": "string?", "employees": "to-many Employee inverse department"},
}


@pytest.fixture
def changed(opened: Any) -> Context:
    """Saved: alpha 22, bravo 25, charlie 10. Not saved: alpha 5, charlie 21, bravo deleted, delta 30, echo 40."""
    context: Context = opened(Model(STAFF)).context()
    alpha = context.insert("Employee", name="alpha", salary=22)
    bravo = context.insert("Employee", name="bravo", salary=25)
    charlie = context.insert("Employee", name="charlie", salary=10)
    context.save()
    alpha.salary, charlie.salary = 5, 21
    context.delete(bravo)
    context.insert("Employee", name="delta", salary=30)
    context.insert("Employee", name="echo", salary=40)
    return context


def test_s002_fetch_without_pending_changes_matches_saved_values(changed: Context) -> None:
    found = changed.fetch("Employee", "salary > 20", sort="name", include_pending_changes=False)
    assert [each.name for each in found] == ["alpha", "bravo"]
    assert found[0].salary == 5
    assert [each.name for each in changed.fetch("Employee", "salary > 20", sort="name")] == ["charlie", "delta", "echo"]


def test_s005_rows_have_the_values_of_the_store(changed: Context) -> None:
    rows = changed.fetch_rows("Employee", "salary > 20", sort="name", columns=["name", "salary"])
    assert rows == [{"name": "alpha", "salary": 22}, {"name": "bravo", "salary": 25}]


def test_s008_sort_and_limit_apply_to_the_merged_set(changed: Context) -> None:
    """Not asserted on Apple's framework: DEVIATIONS explains why limit and offset apply to the merged set."""
    found = changed.fetch("Employee", sort="salary", offset=1, limit=2)
    assert [each.name for each in found] == ["charlie", "delta"]


def test_s011_subentities_of_pending_inserts_can_be_excluded(opened: Any) -> None:
    context = opened(
        Model({"Person": {"name": "string?"}, "Manager": {"@parent": "Person", "level": "int32?"}})
    ).context()
    pat = context.insert("Person", name="pat")
    context.insert("Manager", name="mia")
    context.save()
    context.insert("Manager", name="max")
    pat.name = "patricia"
    assert len(context.fetch("Person")) == 3
    found = context.fetch("Person", include_subentities=False)
    assert [each.name for each in found] == ["patricia"]


def test_s020_pending_deletion_hides_its_row_until_a_reset(opened: Any) -> None:
    context = opened(Model(CARS)).context()
    context.insert("Car", numberPlate="304")
    context.save()
    context.reset()
    car = context.first("Car", "numberPlate == '304'")
    context.delete(car)
    assert context.first("Car", "numberPlate == '304'") is None
    context.reset()
    assert context.first("Car", "numberPlate == '304'").numberPlate == "304"
