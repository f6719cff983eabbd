"""Fetches of dictionaries: columns, groups, sums."""

from __future__ import annotations

from typing import Any

import pytest
from corestone import Context, Expression, ExpressionDescription, FetchRequest, InvalidArgumentError, Model
from test_pending_changes_fetch import STAFF


def saved(opened: Any, **salaries: int) -> Context:
    context: Context = opened(Model(STAFF)).context()
    for name, salary in salaries.items():
        context.insert("Employee", name=name, salary=salary)
    context.save()
    return context


HEADCOUNT = ExpressionDescription("headcount", "count:(name)", "int64")


def test_s023_only_the_requested_keys(opened: Any) -> None:
    """The atomic store of the scenario is a Swift test, DictionaryFetchTests.testS023OnlyTheRequestedKeys."""
    context = saved(opened, xray=22, yankee=10)
    request = FetchRequest("Employee", "salary > 20", columns=["name"], result_type="dictionaries")
    assert context.execute(request) == [{"name": "xray"}]
    assert context.fetch_rows("Employee", "salary > 20", columns=["name"], in_memory=True) == [{"name": "xray"}]


@pytest.mark.parametrize("in_memory", [False, True])
def test_s026_groups_with_counts(opened: Any, in_memory: bool) -> None:
    context = saved(opened, amy=10, ben=10, cal=20)
    rows = context.fetch_rows("Employee", columns=["salary", HEADCOUNT], group_by=["salary"], in_memory=in_memory)
    assert rows == [{"salary": 10, "headcount": 2}, {"salary": 20, "headcount": 1}]


@pytest.mark.parametrize("in_memory", [False, True])
@pytest.mark.parametrize("having", ["count:(name) > 1", "headcount > 1"])
def test_s029_having(opened: Any, having: str, in_memory: bool) -> None:
    context = saved(opened, amy=10, ben=10, cal=20)
    rows = context.fetch_rows(
        "Employee", columns=["salary", HEADCOUNT], group_by=["salary"], having=having, in_memory=in_memory
    )
    assert rows == [{"salary": 10, "headcount": 2}]


def test_s032_a_to_many_relationship_is_no_column(opened: Any) -> None:
    context = saved(opened, amy=10)
    with pytest.raises(InvalidArgumentError, match=r"Department\.employees is a to-many relationship"):
        context.execute(FetchRequest("Department", columns=["employees"], result_type="dictionaries"))


def test_s035_a_total_with_a_free_name(opened: Any, store_type: str) -> None:
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
