"""Rows: columns, expressions, groups and sums instead of objects."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from corestone import (
    Aggregate,
    Container,
    Context,
    Expression,
    ExpressionDescription,
    InvalidArgumentError,
    Model,
    ModelError,
    ObjectID,
    Predicate,
    TypeMismatchError,
)

STAFF = {
    "Team": {"name": "string", "members": "to-many Person inverse team"},
    "Person": {
        "name": "string", "age": "int = 0", "pay": "decimal?", "mood": "string? transient",
        "team": "to-one Team? inverse members",
    },
}  # fmt: skip


@pytest.fixture
def staff(tmp_path: Path) -> Iterator[Context]:
    with Container(Model(STAFF), tmp_path / "staff.sqlite", unsaved="discard") as container:
        context = container.context()
        teams = [context.insert("Team", name=name) for name in ("Research", "Sales")]
        for number, name in enumerate(["Ada", "Bob", "Cyd"]):
            context.insert("Person", name=name, age=30 + number, pay=Decimal(number), team=teams[number // 2])
        context.insert("Person", name="Dan")
        context.save()
        yield context


def test_columns_in_their_order(staff: Context) -> None:
    rows = staff.fetch_rows("Person", columns=["name", "team.name", {"months": "age * 12"}], sort="-name", limit=2)
    assert rows == [
        {"name": "Dan", "team.name": None, "months": 0},
        {"name": "Cyd", "team.name": "Sales", "months": 384},
    ]
    assert list(rows[0]) == ["name", "team.name", "months"]


def test_every_stored_attribute_without_columns(staff: Context) -> None:
    [row] = staff.fetch_rows("Person", "name == %@", "Bob")
    assert row == {"name": "Bob", "age": 31, "pay": Decimal(1)}


def test_groups(staff: Context) -> None:
    rows = staff.fetch_rows(
        "Person",
        columns=["team.name", {"people": "count:(name)", "pay": Expression("sum:(pay)")}],
        group_by="team.name",
        sort="team.name",
    )
    assert [tuple(row.values()) for row in rows] == [(None, 1, 0), ("Research", 2, 1), ("Sales", 1, 2)]
    for having in ("people > 1", Predicate("count:(name) > 1")):
        [row] = staff.fetch_rows(
            "Person", columns=["team.name", {"people": "count:(name)"}], group_by=["team.name"], having=having
        )
        assert row == {"team.name": "Research", "people": 2}


def test_one_row_over_all(staff: Context) -> None:
    total = ExpressionDescription("total age", "sum:(age)", "double")
    [row] = staff.fetch_rows("Person", columns=[total, {"modes": "mode:(age)"}])
    assert row["total age"] == 93.0
    assert isinstance(row["total age"], float)
    assert sorted(row["modes"]) == [0, 30, 31, 32]


def test_relationships_are_ids_and_members_are_counted(staff: Context) -> None:
    [row] = staff.fetch_rows("Person", "name == 'Ada'", columns=["team", {"peers": "team.members.@count"}])
    assert isinstance(row["team"], ObjectID)
    assert staff.get(row["team"]).name == "Research"
    assert row["peers"] == 2


def test_each_row_once(staff: Context) -> None:
    assert len(staff.fetch_rows("Person", columns="team", distinct=True)) == 3


def test_unsaved_changes_do_not_count(staff: Context) -> None:
    staff.insert("Person", name="Eve")
    assert staff.fetch_rows("Person", columns={"n": "count:(name)"}) == [{"n": 4}]


def test_more_rows_than_are_read_at_once(staff: Context) -> None:
    for number in range(2500):
        staff.insert("Team", name=str(number))
    staff.save()
    rows = staff.fetch_rows("Team", columns="name")
    assert len(rows) == 2502
    assert {row["name"] for row in rows} >= {str(number) for number in range(2500)}


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (["members"], "Team.members is a to-many relationship"),
        (["name", "name"], "two columns are called name"),
        (["nothing"], "nothing"),
        (["name", {"n": "count:(name)"}], "max:\\(name\\)"),
    ],
)
def test_what_cannot_be_a_column(staff: Context, columns: list[str], words: str) -> None:
    with pytest.raises(InvalidArgumentError, match=words):
        staff.fetch_rows("Team", columns=columns)


def test_a_column_of_a_wrong_kind(staff: Context) -> None:
    with pytest.raises(TypeMismatchError, match="is no column"):
        staff.fetch_rows("Team", columns=[5])  # type: ignore[list-item]
    with pytest.raises(TypeMismatchError, match="the column age is"):
        staff.fetch_rows("Team", columns=ExpressionDescription("age", "name", "int64"))


def test_an_entity_has_no_place_for_one() -> None:
    total = ExpressionDescription("total", "sum:(age)")
    with pytest.raises(ModelError, match="is no property"):
        Model({"Person": {"total": total}})
    model = Model({"Person": {"age": "int"}})
    with pytest.raises(ModelError, match="is no attribute type"):
        model["Person"].attribute("total", total)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("having", "words"),
    [
        ("peple > 1", "did you mean people"),
        ("age > 1", "max:\\(age\\)"),
        ("team.nothing == 1", "team.nothing"),
        ("NOT (zz == 1)", "zz"),
        ("count:(nmae) > 1", "nmae"),
    ],
)
def test_having_names_what_a_group_has(staff: Context, having: str, words: str) -> None:
    with pytest.raises(InvalidArgumentError, match=words):
        staff.fetch_rows(
            "Person", "age > 99", columns=["team.name", {"people": "count:(name)"}], group_by="team.name", having=having
        )


def test_a_number_that_its_type_does_not_hold(staff: Context) -> None:
    with pytest.raises(TypeMismatchError, match="the column x is"):
        staff.fetch_rows("Person", columns=ExpressionDescription("x", "age * 100000 + 1", "int16"))


def test_sums_and_their_types(staff: Context) -> None:
    assert staff.sum("Person", "age") == 93
    assert staff.sum("Person", "pay", "age > %d", 30) == Decimal(3)
    assert isinstance(staff.sum("Person", "pay"), Decimal)
    assert staff.sum("Person", "pay", "age > 99") == 0
    assert staff.avg("Person", "age", "team != nil") == 31.0
    assert staff.avg("Person", "age", "age > 99") is None
    assert (staff.min("Person", "name"), staff.max("Person", "team.name")) == ("Ada", "Sales")
    assert staff.sum("Team", "members.@count") == 3
    assert staff.sum("Person", "age * 2") == 186
    assert staff.aggregate(Aggregate.MEDIAN, "Person", "age") == 30.5
    assert staff.count("Person", key="pay") == 3


def test_sums_of_groups_are_in_order(staff: Context) -> None:
    assert list(staff.sum("Person", "age", by="team.name").items()) == [(None, 0), ("Research", 61), ("Sales", 32)]
    assert staff.count("Person", "age > 0", by="team.name") == {"Research": 2, "Sales": 1}
    assert staff.max("Person", "name", by=["team.name", "age"])[("Sales", 32)] == "Cyd"
    assert list(staff.avg("Person", "pay", by=["team"])) == [(None,), *((t,) for t in staff.fetch_ids("Team"))]


@pytest.mark.parametrize(
    ("entity", "key", "words"),
    [
        ("Person", "name", r"sum of Person.name: its values are of the type String; take count, minimum or maximum"),
        ("Person", "aeg", "age"),
        ("Person", "team", "as in team.name"),
        ("Team", "members.age", "members is to-many.*members.@count"),
    ],
)
def test_a_sum_of_what_has_none(staff: Context, entity: str, key: str, words: str) -> None:
    with pytest.raises(InvalidArgumentError, match=words) as caught:
        staff.sum(entity, key)
    assert caught.value.entity == entity


def test_the_statement_of_rows(staff: Context) -> None:
    told = staff.explain("Person", "age > 1", columns=["team.name", {"n": "count:(self)"}], group_by="team.name")
    [share] = told.shares
    assert share.sql.startswith("SELECT t1.ZNAME, COUNT(*) FROM ZPERSON t0 LEFT JOIN ZTEAM t1 ON")
    assert share.sql.endswith("GROUP BY t1.ZNAME ORDER BY t1.ZNAME")
    assert share.bindings == [1]


def test_rows_computed_from_objects_are_the_same(staff: Context) -> None:
    asked: dict[str, Any] = {"columns": ["name", "pay", "team", {"twice": "pay * 2"}], "sort": "-name"}
    rows = staff.fetch_rows("Person", **asked)
    assert rows == staff.fetch_rows("Person", in_memory=True, **asked)
