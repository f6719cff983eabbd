"""Rows: columns, expressions, groups and sums instead of objects."""

from __future__ import annotations

import json
import sqlite3
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
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
    FetchRequest,
    InvalidArgumentError,
    LazyRows,
    Model,
    ModelError,
    ObjectID,
    Predicate,
    PredicateError,
    TypeMismatchError,
    log,
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


def test_columns_keep_their_order(staff: Context) -> None:
    rows = staff.fetch_rows("Person", columns=["name", "team.name", {"months": "age * 12"}], sort="-name", limit=2)
    assert rows == [
        {"name": "Dan", "team.name": None, "months": 0},
        {"name": "Cyd", "team.name": "Sales", "months": 384},
    ]
    assert list(rows[0]) == ["name", "team.name", "months"]


@pytest.mark.parametrize("in_memory", [False, True])
@pytest.mark.parametrize("kind", ["SQLite", "XML", "InMemory"])
def test_rows_are_sorted_by_computed_columns(tmp_path: Path, kind: str, in_memory: bool) -> None:
    with Container(Model(STAFF), tmp_path / "staff", type=kind, unsaved="discard") as container:
        context = container.context()
        for number, name in enumerate(["Ada", "Bob", "Cyd", "Dan", "Eve"]):
            context.insert("Person", name=name, age=30 + number, pay=Decimal(number) if number else None)
        context.save()
        columns: dict[str, Any] = {"columns": ["name", {"rest": "modulus:by:(age, 3)"}, {"more": "pay + 1"}]}
        columns["in_memory"] = in_memory
        rows = context.fetch_rows("Person", sort=["-rest", "-name"], **columns)
        assert [(row["name"], row["rest"]) for row in rows] == [
            ("Cyd", 2), ("Eve", 1), ("Bob", 1), ("Dan", 0), ("Ada", 0),
        ]  # fmt: skip
        assert [row["name"] for row in context.fetch_rows("Person", sort="-more", limit=2, offset=1, **columns)] == [
            "Dan", "Cyd",
        ]  # fmt: skip
        assert context.fetch_rows("Person", sort="more", limit=1, **columns)[0]["more"] is None
        distinct = context.fetch_rows("Person", columns=columns["columns"][1:2], sort="-rest", distinct=True)
        assert [row["rest"] for row in distinct] == [2, 1, 0]
        named: dict[str, Any] = {"columns": [{"age": "0 - age"}, "name"], "in_memory": in_memory}
        assert [row["name"] for row in context.fetch_rows("Person", sort="age", limit=2, **named)] == ["Eve", "Dan"]


def test_lazy_rows_are_sorted_by_computed_columns(staff: Context) -> None:
    request = FetchRequest(
        "Person",
        result_type="dictionaries",
        columns=["name", "objectID", {"past": "0 - age"}],
        sort=["past"],
        batch_size=3,
    )
    rows = staff.execute(request)
    assert isinstance(rows, LazyRows)
    assert [row["name"] for row in rows] == ["Cyd", "Bob", "Ada", "Dan"]


def test_unknown_sort_key_beside_a_computed_column_is_rejected(staff: Context) -> None:
    for in_memory in (False, True):
        with pytest.raises(PredicateError, match="nmae"):
            staff.fetch_rows("Person", columns=[{"past": "0 - age"}], sort=["past", "nmae"], in_memory=in_memory)


def test_rows_without_columns_have_every_stored_attribute(staff: Context) -> None:
    [row] = staff.fetch_rows("Person", "name == %@", "Bob")
    assert row == {"name": "Bob", "age": 31, "pay": Decimal(1)}


def test_rows_can_be_grouped(staff: Context) -> None:
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


def test_aggregates_without_groups_return_one_row(staff: Context) -> None:
    total = ExpressionDescription("total age", "sum:(age)", "double")
    [row] = staff.fetch_rows("Person", columns=[total, {"modes": "mode:(age)"}])
    assert row["total age"] == 93.0
    assert isinstance(row["total age"], float)
    assert sorted(row["modes"]) == [0, 30, 31, 32]


def test_rows_have_ids_of_relationships_and_counts_of_members(staff: Context) -> None:
    [row] = staff.fetch_rows("Person", "name == 'Ada'", columns=["team", {"peers": "team.members.@count"}])
    assert isinstance(row["team"], ObjectID)
    assert staff.get(row["team"]).name == "Research"
    assert row["peers"] == 2


def test_distinct_removes_duplicate_rows(staff: Context) -> None:
    assert len(staff.fetch_rows("Person", columns="team", distinct=True)) == 3


def test_rows_exclude_unsaved_changes(staff: Context) -> None:
    staff.insert("Person", name="Eve")
    assert staff.fetch_rows("Person", columns={"n": "count:(name)"}) == [{"n": 4}]


def test_rows_beyond_one_read_are_returned(staff: Context) -> None:
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
        (["name", "name"], 'two columns have the name "name"'),
        (["nothing"], "nothing"),
        (["name", {"n": "count:(name)"}], "max:\\(name\\)"),
    ],
)
def test_invalid_column_is_rejected(staff: Context, columns: list[str], words: str) -> None:
    with pytest.raises(InvalidArgumentError, match=words):
        staff.fetch_rows("Team", columns=columns)


def test_column_argument_of_a_wrong_type_is_rejected(staff: Context) -> None:
    with pytest.raises(TypeMismatchError, match="is not a column"):
        staff.fetch_rows("Team", columns=[5])  # type: ignore[list-item]
    with pytest.raises(TypeMismatchError, match='the column "age" has the type'):
        staff.fetch_rows("Team", columns=ExpressionDescription("age", "name", "int64"))


def test_expression_description_cannot_be_an_attribute() -> None:
    total = ExpressionDescription("total", "sum:(age)")
    with pytest.raises(ModelError, match=r"^Person\.total is a list, but must be a line such as "):
        Model({"Person": {"total": total}})
    model = Model({"Person": {"age": "int"}})
    with pytest.raises(ModelError, match="is not an attribute type; use a member of "):
        model["Person"].attribute("total", total)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("having", "words"),
    [
        ("peple > 1", 'did you mean "people"'),
        ("age > 1", "max:\\(age\\)"),
        ("team.nothing == 1", "team.nothing"),
        ("NOT (zz == 1)", "zz"),
        ("count:(nmae) > 1", "nmae"),
    ],
)
def test_having_with_an_unknown_column_is_rejected(staff: Context, having: str, words: str) -> None:
    with pytest.raises(InvalidArgumentError, match=words):
        staff.fetch_rows(
            "Person", "age > 99", columns=["team.name", {"people": "count:(name)"}], group_by="team.name", having=having
        )


def test_column_value_out_of_range_is_rejected(staff: Context) -> None:
    with pytest.raises(TypeMismatchError, match='the column "x" has the type'):
        staff.fetch_rows("Person", columns=ExpressionDescription("x", "age * 100000 + 1", "int16"))


def test_sum_has_the_type_of_the_attribute(staff: Context) -> None:
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


def test_min_and_max_accept_binary_data(tmp_path: Path) -> None:
    with Container(Model({"Thing": {"data": "binary?"}}), tmp_path / "a.sqlite", unsaved="discard") as container:
        context = container.context()
        for data in (b"b", b"a", b"ab"):
            context.insert("Thing", data=data)
        context.save()
        assert (context.min("Thing", "data"), context.max("Thing", "data")) == (b"a", b"b")
        with pytest.raises(InvalidArgumentError, match=r"must be a number; use count, minimum or maximum$"):
            context.sum("Thing", "data")


@pytest.mark.parametrize("kind", ["SQLite", "InMemory"])
def test_numbers_in_composites_and_keys_of_values_are_aggregated(tmp_path: Path, kind: str) -> None:
    model = Model({"Person": {"name": "string", "born": "date?", "boss": "to-one Person? inverse staff",
                              "staff": "to-many Person inverse boss"}})  # fmt: skip
    elements: dict[str, Any] = {
        "no": "int64?", "fee": "decimal?", "town": "string?", "at": {"type": "composite", "elements": {"x": "double?"}},
    }  # fmt: skip
    model["Person"].attribute("addr", "composite", elements=elements, optional=True)
    with Container(model, tmp_path / "a", type=kind, unsaved="discard") as container:
        context = container.context()
        boss = context.insert("Person", name="Boss")
        for no, name in enumerate(["a", "bb", "ccc"]):
            address = {"no": no, "fee": Decimal("0.1"), "town": name * 2, "at": {"x": no / 2}}
            context.insert("Person", name=name, addr=address, boss=boss)
        context.save()
        assert (context.sum("Person", "addr.no"), context.avg("Person", "addr.no")) == (3, 1.0)
        assert context.sum("Person", "addr.fee") == Decimal("0.3")
        assert context.sum("Person", "addr.at.x") == 1.5
        assert context.aggregate(Aggregate.MEDIAN, "Person", "addr.no") == 1.0
        assert context.aggregate(Aggregate.DEVIATION, "Person", "addr.no") == pytest.approx(0.816496580927726)
        assert context.sum("Person", "addr.no", by="boss.name") == {None: 0, "Boss": 3}
        assert (context.sum("Person", "name.length"), context.sum("Person", "name.self.length")) == (10, 10)
        assert context.sum("Person", "addr.town.length") == context.sum("Person", "boss.name.length") == 12
        assert context.avg("Person", "born.timeIntervalSince1970") is None
        for key, kinds in (("addr", "Composite"), ("addr.self", "Composite"), ("addr.at", "Composite")):
            with pytest.raises(InvalidArgumentError, match=rf"is of type {kinds}, but must be a number; use count$"):
                context.sum("Person", key)
        with pytest.raises(InvalidArgumentError, match=r"Person\.addr\.town is of type String, but must be a number"):
            context.sum("Person", "addr.town")
        with pytest.raises(PredicateError, match=r'Person has no property "addr\.zz"; did you mean'):
            context.sum("Person", "addr.zz")
        with pytest.raises(PredicateError, match=r'Person\.name is of type String and has no key "size"'):
            context.sum("Person", "name.size")
        with pytest.raises(PredicateError, match=r'takes numbers, but "name\.uppercaseString" is a string'):
            context.sum("Person", "name.uppercaseString")


def test_grouped_sums_are_sorted_by_key(staff: Context) -> None:
    assert list(staff.sum("Person", "age", by="team.name").items()) == [(None, 0), ("Research", 61), ("Sales", 32)]
    assert staff.count("Person", "age > 0", by="team.name") == {"Research": 2, "Sales": 1}
    assert staff.max("Person", "name", by=["team.name", "age"])[("Sales", 32)] == "Cyd"
    assert list(staff.avg("Person", "pay", by=["team"])) == [(None,), *((t,) for t in staff.fetch_ids("Team"))]


@pytest.mark.parametrize(
    ("entity", "key", "words"),
    [
        ("Person", "name", r"sum of Person.name: Person.name is of type String, but must be a number; use count, min"),
        ("Person", "aeg", "age"),
        ("Person", "team", "Person.team is a relationship; use an attribute of Team"),
        ("Team", "members.age", "members is to-many.*members.@count"),
    ],
)
def test_sum_of_a_non_numeric_attribute_is_rejected(staff: Context, entity: str, key: str, words: str) -> None:
    with pytest.raises(InvalidArgumentError, match=words) as caught:
        staff.sum(entity, key)
    assert caught.value.entity == entity


def test_explanation_shows_the_grouped_statement(staff: Context) -> None:
    told = staff.explain("Person", "age > 1", columns=["team.name", {"n": "count:(self)"}], group_by="team.name")
    [share] = told.shares
    assert share.sql.startswith("SELECT t1.ZNAME, COUNT(*) FROM ZPERSON t0 LEFT JOIN ZTEAM t1 ON")
    assert share.sql.endswith("GROUP BY t1.ZNAME ORDER BY t1.ZNAME")
    assert share.bindings == [1]


@pytest.mark.parametrize("value", ["12abc", "-3.5x", "abc", "0x", "", "-", " 7", "1e3 m", b"5", b"x", 0.25, 2**30])
def test_rows_and_objects_have_the_same_values_for_values_of_other_types(tmp_path: Path, value: Any) -> None:
    names = ["whole", "flag", "real", "made", "next"]
    model = {
        "Thing": {
            "whole": "int64?", "flag": "bool?", "real": "double?", "made": "date?",
            "next": "to-one Thing? inverse previous", "previous": "to-many Thing inverse next",
        }
    }  # fmt: skip
    path = tmp_path / "a.sqlite"
    with Container(Model(model), path) as container:
        context = container.context()
        context.insert("Thing")
        context.save()
    with closing(sqlite3.connect(path)) as connection:
        for name in names:
            connection.execute(f"UPDATE ZTHING SET Z{name.upper()} = ?", [value])
        connection.commit()
    with Container(Model(model), path) as container:
        context = container.context()
        thing = context.first("Thing")
        [row] = context.fetch_rows("Thing", columns=names)
        found = thing.to_dict(*names[:-1])
        assert {name: row[name] for name in names[:-1]} == found
        assert (row["next"] is None) == (thing.next is None)


def test_rows_computed_in_memory_equal_those_from_sql(staff: Context) -> None:
    asked: dict[str, Any] = {"columns": ["name", "pay", "team", {"twice": "pay * 2"}], "sort": "-name"}
    rows = staff.fetch_rows("Person", **asked)
    assert rows == staff.fetch_rows("Person", in_memory=True, **asked)


SQUADS: dict[str, dict[str, Any]] = {
    "Squad": {"name": "string?", "rank": "int?", "players": "to-many Player inverse squad"},
    "Player": {
        "name": "string?", "age": "int64?", "pay": "decimal?", "left": "bool?", "score": "double?", "born": "date?",
        "key": "uuid?", "raw": "binary?", "squad": "to-one Squad? inverse players",
    },
}  # fmt: skip
Asked = Callable[..., list[tuple[Any, ...]]]


@pytest.fixture(params=["SQLite", "InMemory", "from objects"])
def asked(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Asked]:
    """Rows as tuples, of a store that computes them, of one in memory, and computed from objects."""
    kind = request.param if request.param == "InMemory" else "SQLite"
    with Container(Model(SQUADS), tmp_path / "squads", type=kind) as container:
        context = container.context()
        squads = [context.insert("Squad", name=name, rank=rank) for rank, name in enumerate(["é", "Z", "a", None, "B"])]
        for number in range(12):
            context.insert(
                "Player", name="pqr"[number % 3], age=2**62 if number < 4 else number, pay=Decimal(number),
                left=number % 2 == 0, squad=squads[number % 5] if number < 11 else None,
            )  # fmt: skip
        context.save()

        def rows(*arguments: Any, **options: Any) -> list[tuple[Any, ...]]:
            found = context.fetch_rows(*arguments, in_memory=request.param == "from objects", **options)
            return [tuple(row.values()) for row in found]

        yield rows


@pytest.mark.parametrize(
    ("key", "predicate"), [("age", "age < 0"), ("pay", "age < 0"), ("left", "age < 0"), ("score", "SELF != nil")]
)
def test_aggregates_over_no_values_are_zero_or_none(asked: Asked, key: str, predicate: str) -> None:
    """No rows, or rows whose values are all null, as those of the score are."""
    functions = ("count", "sum", "average", "min", "max", "median", "stddev", "mode")
    [row] = asked("Player", predicate, columns={name: f"{name}:({key})" for name in functions})
    assert row == (0, 0, None, None, None, None, None, None)
    assert type(row[0]) is type(row[1]) is int


def test_min_and_max_of_non_numeric_attributes_over_no_rows_are_none(asked: Asked) -> None:
    for key in ("name", "born", "raw"):
        columns = {name: f"{name}:({key})" for name in ("count", "min", "max", "mode")}
        assert asked("Player", "age < 0", columns=columns) == [(0, None, None, None)]


@pytest.mark.parametrize("column", ["sum:(name)", "average:(born)", "median:(name)", "stddev:(name)", "name + 1"])
@pytest.mark.parametrize("group_by", [None, "left"])
def test_type_error_in_a_column_is_raised_without_rows(asked: Asked, column: str, group_by: str | None) -> None:
    if column == "name + 1" and group_by:
        column = "sum:(name + 1)"
    with pytest.raises(PredicateError, match=r"takes numbers, but \w+\.(name|born) is a "):
        asked("Player", "age < 0", columns={"v": column}, group_by=group_by)


def test_aggregates_have_documented_types(asked: Asked) -> None:
    functions = ("sum", "average", "median", "stddev", "min", "max", "mode")
    for key, predicate, expected in (
        ("age", "age < 8", (22, 5.5, 5.5, 1.118033988749895, 4, 7, [4, 5, 6, 7])),
        ("left", "age < 100", (4, 0.5, 0.5, 0.5, False, True, [False, True])),
        ("pay", "age < 6", (Decimal(9), Decimal("4.5"), 4.5, 0.5, Decimal(4), Decimal(5), [Decimal(4), Decimal(5)])),
        ("age * 0.5", "age < 6", (4.5, 2.25, 2.25, 0.25, 2.0, 2.5, [2.0, 2.5])),
    ):
        [row] = asked("Player", predicate, columns={name: f"{name}:({key})" for name in functions})
        assert row == expected, key
        assert [type(each) for each in row] == [type(each) for each in expected], key
    # Integers beyond 64 bits are a double, up to there they are whole.
    for count, kind in ((1, int), (2, float), (4, float)):
        [(total,)] = asked("Player", f"pay < {count}", columns={"total": "sum:(age)"})
        assert (total, type(total)) == (count * 2**62, kind)
    [(total,)] = asked("Player", "pay IN {0, 11}", columns={"total": "sum:(age - 1)"})
    assert (total, type(total)) == (2**62 + 9, int)


def test_to_many_columns_are_expanded_unless_aggregated(asked: Asked) -> None:
    columns = {
        "n": "count:(players.age)", "s": "sum:(players.pay)", "a": "average:(players.pay)", "c": "players.@count",
        "least": "min:(players.name)", "most": "max:(players.pay)",
    }  # fmt: skip
    assert asked("Squad", "rank < 3", columns=columns, sort="-rank") == [
        (2, Decimal(9), Decimal("4.5"), 2, "q", Decimal(7)),
        (2, Decimal(7), Decimal("3.5"), 2, "p", Decimal(6)),
        (3, Decimal(15), Decimal(5), 3, "p", Decimal(10)),
    ]
    assert asked("Squad", columns={"n": "sum:(players.@count)", "most": "max:(players.@sum.pay)"}) == [
        (11, Decimal(15)),
    ]


def test_groups_are_sorted_by_key_unless_sorted_otherwise(asked: Asked) -> None:
    number: dict[str, Any] = {"n": "count:(SELF)"}
    by_name = [(None, 3), ("B", 2), ("Z", 2), ("a", 2), ("é", 3)]
    assert asked("Player", columns=["squad.name", number], group_by="squad.name") == by_name
    assert asked("Player", columns=["squad.name", number], group_by="squad.name", sort="-squad.name") == by_name[::-1]
    # What the descriptor leaves open goes by the names.
    assert asked("Player", columns=["squad.name", number], group_by="squad.name", sort="n") == [
        ("B", 2), ("Z", 2), ("a", 2), (None, 3), ("é", 3),
    ]  # fmt: skip
    assert asked("Player", columns=["squad.name", number], group_by="squad.name", sort="-n") == [
        (None, 3), ("é", 3), ("B", 2), ("Z", 2), ("a", 2),
    ]  # fmt: skip
    found = asked("Player", columns=["squad", {"first": "min:(pay)"}], group_by="squad")
    assert [row[1] for row in found] == [11, 0, 1, 2, 3, 4]
    # Keys that are not columns decide last.
    found = asked("Player", columns=["name", {"first": "min:(pay)"}], group_by=["name", "left"])
    assert found == [("p", 3), ("p", 0), ("q", 1), ("q", 4), ("r", 5), ("r", 2)]
    assert asked("Player", columns=["squad.name", number], group_by="squad.name", offset=1, limit=3) == by_name[1:4]


def test_having_selects_groups(asked: Asked) -> None:
    columns: list[Any] = ["name", {"n": "count:(age)", "pay": "sum:(pay)"}]
    for having, names in (
        ("n == 4", "pqr"), ("pay > 18", "qr"), ("$pay >= 18", "pqr"), ("sum:(pay) > 22", "r"), ("max:(pay) < 11", "pq"),
        ("name != 'p' AND $pay < 26", "q"), ("NOT name == 'q'", "pr"), ("n > 4", ""), ("name BEGINSWITH 'p'", "p"),
    ):  # fmt: skip
        found = asked("Player", columns=columns, group_by="name", having=having)
        assert "".join(row[0] for row in found) == names, having


@pytest.mark.parametrize(
    ("kind", "whole", "half", "exact", "text", "flag"),
    [
        ("int16", 4, 2, 4, None, 1), ("int32", 4, 2, 4, None, 1), ("int64", 4, 2, 4, None, 1),
        ("float", 4.0, 2.5, 4.0, None, 1.0), ("double", 4.0, 2.5, 4.0, None, 1.0),
        ("decimal", Decimal(4), Decimal("2.5"), Decimal(4), None, Decimal(1)), ("bool", True, True, True, None, True),
        ("string", "4", "2.5", "4", "q", "1"),
    ],
)  # fmt: skip
def test_column_type_converts_the_values(
    asked: Asked, kind: str, whole: Any, half: Any, exact: Any, text: Any, flag: Any
) -> None:
    for expression, expected in (
        ("age", whole), ("age * 0.625", half), ("pay", exact), ("left", flag), ("max:(age)", whole), ("score", None),
    ):  # fmt: skip
        column = ExpressionDescription("v", expression, kind)
        [(value,)] = asked("Player", "age == 4", columns=column)
        assert (value, type(value)) == (expected, type(expected)), expression
    column = ExpressionDescription("v", "name", kind)
    if text is not None:
        assert asked("Player", "age == 4", columns=column) == [(text,)]
        return
    with pytest.raises(
        TypeMismatchError,
        match=r'the column "v" has the type .*, but its expression returns (a string|"q", which is not the text of a)',
    ) as caught:
        asked("Player", "age == 4", columns=column)
    assert (caught.value.key, caught.value.value) == ("v", "q")


UUID = uuid.UUID("01020304-0506-0708-090a-0b0c0d0e0f10")


@pytest.mark.parametrize(
    ("kind", "expression", "expected"),
    [
        ("uuid", f"'{UUID}'", UUID), ("uuid", f"CAST('{UUID}', 'NSUUID')", UUID), ("uuid", "key", None),
        ("uri", "'https://a.example'", "https://a.example"), ("uri", "name", "q"), ("binary", "'01aB'", b"\x01\xab"),
        ("binary", "CAST('01ab', 'NSData')", b"\x01\xab"), ("binary", "raw", None),
    ],
)  # fmt: skip
def test_column_type_converts_text_to_uuid_uri_and_bytes(
    asked: Asked, kind: str, expression: str, expected: Any
) -> None:
    found = asked("Player", "age == 4", columns=ExpressionDescription("v", expression, kind))
    assert found == [(expected,)]


@pytest.mark.parametrize(
    ("kind", "expression", "value"),
    [
        ("uuid", "age", 4), ("uuid", "name", "q"), ("uri", "left", True), ("uri", "pay", Decimal(4)),
        ("binary", "name", "q"), ("binary", "age * 0.5", 2.0), ("objectid", "age", 4),
    ],
)  # fmt: skip
def test_column_type_rejects_incompatible_values(asked: Asked, kind: str, expression: str, value: Any) -> None:
    with pytest.raises(
        TypeMismatchError, match=r'the column "v" has the type .*, but its expression returns (a|"q", which is not )'
    ) as caught:
        asked("Player", "age == 4", columns=ExpressionDescription("v", expression, kind))
    assert (caught.value.key, caught.value.value) == ("v", value)


@pytest.mark.parametrize(
    ("given", "key", "message"),
    [
        ({"columns": ["name"], "having": "name == 'x'"}, "having", "a having predicate needs properties to group by"),
        ({"columns": ["mood"]}, "mood", "Person.mood is not stored and cannot be a column"),
        ({"columns": {"x": "mood"}, "group_by": "mood"}, "mood", "Person.mood is not stored"),
        ({"columns": ["age", "name", "age"]}, "age", 'two columns have the name "age"; rename one of them'),
        (
            {"columns": ["team.members"]}, "team.members",
            "Team.members is a to-many relationship and cannot be a column; count or sum its members",
        ),
        (
            {"columns": ["age", {"n": "count:(name)"}]}, "age",
            '"age" has one value per row, not per group; group by it, or aggregate it, as in max:(age)',
        ),
        (
            {"columns": ["age"], "group_by": "name"}, "age",
            '"age" has one value per row, not per group; group by it, or aggregate it, as in max:(age)',
        ),
    ],
)  # fmt: skip
def test_column_errors_name_entity_and_key(staff: Context, given: dict[str, Any], key: str, message: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        staff.fetch_rows("Person", **given)
    assert (caught.value.entity, caught.value.key) == ("Person", key)
    assert message in str(caught.value)


# A batch at a time.


def batches(context: Context, **options: Any) -> Any:
    return context.execute(
        FetchRequest("Person", sort="name", result_type="dictionaries", columns=["name", "objectID"], batch_size=2,
                     **options)
    )  # fmt: skip


def test_four_most_recent_batches_stay_in_memory(staff: Context) -> None:
    for number in range(10):
        staff.insert("Person", name=f"Z{number}")
    staff.save()
    rows = batches(staff)
    assert len(rows) == 14
    was_read = []
    for number in (0, 1, 2, 3, 0, 4, 1, 0, 5, 2, 5, 1, 0):
        with log.recorded() as lines:
            assert rows[2 * number + 1]["name"]
        was_read.append(any("sql: SELECT" in line for line in lines))
    #                   0     1     2     3     0      4     1     0      5     2     5      1      0
    assert was_read == [True, True, True, True, False, True, True, False, True, True, False, False, False]


def test_lazy_rows_are_a_sequence_equal_to_a_list(staff: Context) -> None:
    rows = staff.execute(
        FetchRequest("Person", sort="name", result_type="dictionaries", columns=["name", {"id": "SELF"}], batch_size=3)
    )
    assert isinstance(rows, LazyRows)
    assert not isinstance(rows, list)
    assert list(rows) == rows
    names = [{"name": row["name"]} for row in rows]
    assert json.loads(json.dumps(names))[3] == {"name": "Dan"}
    with pytest.raises(TypeError, match="not JSON serializable"):
        json.dumps(rows)


def test_distinct_rows_ignore_the_batch_size(staff: Context) -> None:
    with log.recorded(0) as lines:
        for _ in range(2):
            assert isinstance(batches(staff, distinct=True), list)
    [line] = [line for line in lines if "warning" in line]
    assert "distinct rows are always read at once" in line
    child = staff.child()
    assert isinstance(batches(child), LazyRows)
    staff.insert("Person", name="Eve")
    with log.recorded(0) as lines:
        found = batches(child)
    assert isinstance(found, list)
    assert [row["name"] for row in found] == ["Ada", "Bob", "Cyd", "Dan", "Eve"]
    assert [row["name"] for row in batches(staff)] == ["Ada", "Bob", "Cyd", "Dan"]


def test_nulls_option_applies_to_having(asked: Asked) -> None:
    columns: list[Any] = ["squad.name", {"n": "count:(SELF)", "best": "max:(score)"}]
    for having, memory, database in (
        ("NOT (best > 1)", 5, 0), ("best != 1", 5, 0), ("best == nil", 5, 5), ("NOT ($best == 1) AND n == 3", 2, 0),
        ("NOT (squad.name == 'a')", 4, 3), ("n > 2", 2, 2),
    ):  # fmt: skip
        for nulls, count in (("memory", memory), ("database", database)):
            found = asked("Player", columns=columns, group_by="squad.name", having=having, nulls=nulls)
            assert len(found) == count, (having, nulls)
