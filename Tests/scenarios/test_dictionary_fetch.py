"""Fetches of dictionaries: columns, groups, sums."""

from __future__ import annotations

from typing import Any

import pytest
from corestone import Context, Expression, ExpressionDescription, FetchRequest, InvalidArgumentError, Model, log
from test_pending_changes_fetch import STAFF


def saved(opened: Any, **salaries: int) -> Context:
    context: Context = opened(Model(STAFF)).context()
    for name, salary in salaries.items():
        context.insert("Employee", name=name, salary=salary)
    context.save()
    return context


HEADCOUNT = ExpressionDescription("headcount", "count:(name)", "int64")


def test_s023_dictionaries_have_only_the_requested_keys(opened: Any) -> None:
    """The scenario with an atomic store is in Swift:
    DictionaryFetchTests.testS023DictionariesContainOnlyTheRequestedKeys.
    """
    context = saved(opened, xray=22, yankee=10)
    request = FetchRequest("Employee", "salary > 20", columns=["name"], result_type="dictionaries")
    assert context.execute(request) == [{"name": "xray"}]
    assert context.fetch_rows("Employee", "salary > 20", columns=["name"], in_memory=True) == [{"name": "xray"}]


@pytest.mark.parametrize("in_memory", [False, True])
def test_s026_groups_have_counts(opened: Any, in_memory: bool) -> None:
    context = saved(opened, amy=10, ben=10, cal=20)
    rows = context.fetch_rows("Employee", columns=["salary", HEADCOUNT], group_by=["salary"], in_memory=in_memory)
    assert rows == [{"salary": 10, "headcount": 2}, {"salary": 20, "headcount": 1}]


@pytest.mark.parametrize("in_memory", [False, True])
@pytest.mark.parametrize("having", ["count:(name) > 1", "headcount > 1"])
def test_s029_having_filters_groups(opened: Any, having: str, in_memory: bool) -> None:
    context = saved(opened, amy=10, ben=10, cal=20)
    rows = context.fetch_rows(
        "Employee", columns=["salary", HEADCOUNT], group_by=["salary"], having=having, in_memory=in_memory
    )
    assert rows == [{"salary": 10, "headcount": 2}]


@pytest.mark.parametrize("in_memory", [False, True])
def test_s030_having_predicate_may_use_a_variable(opened: Any, in_memory: bool) -> None:
    """Which is how Core Data names a column there."""
    makers = {f"car {number:03}": 1 if number < 101 else 2 for number in range(120)}
    context = saved(opened, **makers)
    rows = context.fetch_rows(
        "Employee", columns=["salary", HEADCOUNT], group_by=["salary"], having="$headcount > 100", in_memory=in_memory
    )
    assert rows == [{"salary": 1, "headcount": 101}]


CARS = {
    "Car": {"maker": "string?", "numberPlate": "string"},
    "SportCar": {"@parent": "Car"},
}


def garage(opened: Any) -> Context:
    context: Context = opened(Model(CARS)).context()
    for number in range(130):
        kind = "SportCar" if number % 5 == 0 else "Car"
        context.insert(kind, maker=f"maker {number % 7}", numberPlate=f"{number:03}")
    context.save()
    context.reset()
    return context


def test_s034_dictionaries_are_read_in_batches(opened: Any, store_type: str) -> None:
    context = garage(opened)
    request = FetchRequest(
        "Car", columns=["maker", "objectID"], sort="numberPlate", result_type="dictionaries", batch_size=10
    )
    with log.recorded() as lines:
        rows: Any = context.execute(request)
    first = statements(lines)
    with log.recorded() as lines:
        assert rows[0]["maker"] == "maker 0"
        assert rows[9]["maker"] == "maker 2"
    second = statements(lines)
    if store_type == "SQLite":
        assert [line.partition(" FROM ")[0] for line in first] == ["SELECT t0.Z_PK, t0.Z_ENT"]
        [select] = second
        assert "ZMAKER" in select
        assert "t0.Z_PK IN" in select
    assert [row["maker"] for row in rows] == [f"maker {number % 7}" for number in range(130)]
    assert len({row["objectID"] for row in rows}) == 130
    without = FetchRequest("Car", columns=["maker"], sort="numberPlate", result_type="dictionaries", batch_size=10)
    assert context.execute(without) == [{"maker": f"maker {number % 7}"} for number in range(130)]


def test_s276_batch_of_objects_uses_one_statement(opened: Any, store_type: str) -> None:
    context = garage(opened)
    # Another coordinator has none of the rows yet; a store without a file has but one.
    reader = opened(Model(CARS)).context() if store_type == "SQLite" else context
    with log.recorded() as lines:
        results: Any = reader.execute(FetchRequest("Car", sort="numberPlate", batch_size=9))
        assert [each["numberPlate"] for each in results] == [f"{number:03}" for number in range(130)]
    if store_type == "SQLite":
        assert len(statements(lines)) == 1 + 15, "one statement for the keys, one per batch; the last has four rows"
    assert context.count("SportCar") == 26


def statements(lines: list[str]) -> list[str]:
    """The statements that read cars."""
    found = [line.removeprefix("CoreData: sql: ") for line in lines if line.startswith("CoreData: sql: SELECT t0.")]
    return [line for line in found if " FROM ZCAR " in line]


def test_s032_to_many_relationship_cannot_be_a_column(opened: Any) -> None:
    context = saved(opened, amy=10)
    with pytest.raises(InvalidArgumentError, match=r"Department\.employees is a to-many relationship"):
        context.execute(FetchRequest("Department", columns=["employees"], result_type="dictionaries"))


def test_s035_total_may_have_any_name(opened: Any, store_type: str) -> None:
    users = {
        "User": {
            "name": "string?", "age": "int?", "admin": "bool?", "posts": "to-many Post inverse user delete cascade",
            "hasTags": "to-many Tag inverse hasUsers",
        },
        "Post": {"title": "string?", "body": "string?", "timestamp": "date?", "user": "to-one User? inverse posts"},
        "Tag": {"name": "string?", "hasUsers": "to-many User inverse hasTags"},
    }  # fmt: skip
    with opened(Model(users)) as container:
        context = container.context()
        for age in range(10):
            context.insert("User", age=age)
        context.save()
        total = ExpressionDescription("total age", Expression("sum:(age)"), "int64")
        assert context.fetch_rows("User", columns=total) == [{"total age": 45}]
        if store_type == "SQLite":  # by SQLite, not over objects
            assert "sum(t0.ZAGE)" in context.explain("User", columns=total).shares[0].sql
