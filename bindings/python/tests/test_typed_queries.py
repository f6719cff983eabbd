"""Typed keys and values in place of key paths and expressions, and the operators of queries."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from corestone import (
    Attribute,
    Container,
    Context,
    Expression,
    InvalidArgumentError,
    ManagedObject,
    Model,
    ObjectID,
    Predicate,
    Sort,
    SortDescriptor,
    TypeMismatchError,
    UnsupportedError,
    key,
)

STAFF = {
    "Team": {"name": "string", "members": "to-many Person inverse team"},
    "Person": {
        "name": "string", "age": "int = 0", "active": "bool = true",
        "team": "to-one Team? inverse members",
        "boss": "to-one Person? inverse reports", "reports": "to-many Person inverse boss",
    },
}  # fmt: skip


class Human(ManagedObject, entity="Person"):
    __slots__ = ()

    name: Attribute[str]
    boss: Attribute[Human | None]


P: Any = Human


@pytest.fixture
def staff(tmp_path: Path) -> Iterator[Context]:
    with Container(Model(STAFF).bind(Human), tmp_path / "staff.sqlite") as container:
        context = container.context()
        team = context.insert("Team", name="Research")
        boss = None
        for number, name in enumerate(["Ada", "Bob", "Cyd"]):
            boss = context.insert(Human, name=name, age=30 + number, team=team if number else None, boss=boss)
        context.save()
        yield context


def test_typed_keys_can_be_columns(staff: Context) -> None:
    assert staff.fetch_rows(Human, columns=P.name, sort=P.name, limit=1) == [{"name": "Ada"}]
    assert staff.fetch_rows(Human, columns=[P.name, key("team.name")], sort=key("name").desc(), limit=1) == [
        {"name": "Cyd", "team.name": "Research"}
    ]
    assert staff.fetch_rows(Human, columns={"x": P.age * 2, "y": P.boss.name, "z": "age"}, sort=P.age, offset=2) == [
        {"x": 64, "y": "Bob", "z": 32}
    ]
    with pytest.raises(
        TypeMismatchError, match=r'age \* 2.* is not a column with a name; write .*"double": Employee.age \* 2'
    ):
        staff.fetch_rows(Human, columns=[P.age * 2])
    with pytest.raises(TypeMismatchError, match="5 is not a column"):
        staff.fetch_rows(Human, columns=5)  # type: ignore[arg-type]


def test_typed_keys_can_be_groups(staff: Context) -> None:
    for by in (P.team.name, [P.team.name], key("team.name"), Expression("team.name")):
        rows = staff.fetch_rows(Human, columns=[P.team.name, {"n": "count:(name)"}], group_by=by)
        assert sorted(row["n"] for row in rows) == [1, 2]
    with pytest.raises(TypeMismatchError, match='"age / 2" is not a key path'):
        staff.fetch_rows(Human, columns={"n": "count:(name)"}, group_by=P.age / 2)


def test_typed_keys_can_be_sort_and_prefetch_keys(staff: Context) -> None:
    for sort in (P.name, [P.name], Sort(P.name), SortDescriptor(P.name), key("name"), [key("team.name"), P.name]):
        assert [each.name for each in staff.fetch(Human, sort=sort)] == ["Ada", "Bob", "Cyd"]
    oldest = staff.fetch(Human, sort=Sort(key("age"), descending=True), prefetch=P.boss)[0]
    assert oldest.boss is not None
    assert oldest.boss.name == "Bob"
    assert staff.fetch(Human, prefetch=[P.boss, key("boss.team"), "reports"]).first is not None
    with pytest.raises(TypeMismatchError, match=r"is not a sort key; .*Employee.name.desc\(\)"):
        staff.fetch(Human, sort=P.age * 2)
    with pytest.raises(TypeMismatchError, match="7 is not a key path"):
        staff.fetch(Human, prefetch=7)  # type: ignore[call-overload]
    with pytest.raises(TypeMismatchError, match=r"^the predicate for Person must be .*Employee.active == True, not 5"):
        staff.fetch(Human, 5)  # type: ignore[call-overload]


def test_fetch_rows_accepts_query_options(staff: Context) -> None:
    [row] = staff.fetch_rows(Human, "boss.name != 'Ada'", columns="name", nulls="database")
    assert row == {"name": "Cyd"}
    assert len(staff.fetch_rows(Human, "boss.name != 'Ada'", columns="name")) == 2
    with pytest.raises(InvalidArgumentError, match='"memory" or "database"'):
        staff.fetch_rows(Human, nulls="sql")
    with pytest.raises(UnsupportedError):
        staff.fetch_rows(Human, Predicate.block(lambda item, variables: True), columns="name", split=False)


def test_object_ids_can_be_columns(staff: Context) -> None:
    ada, bob, _ = staff.fetch(Human, sort=P.name)
    rows = staff.fetch_rows(Human, columns=["objectID", {"id": "objectID", "boss": "boss.objectID"}], sort="name")
    assert rows[1] == {"objectID": bob.id, "id": bob.id, "boss": ada.id}
    assert isinstance(rows[0]["id"], ObjectID)
    assert staff.fetch_rows(Human, columns=[P.boss, "boss.objectID"], sort="name")[1] == {
        "boss": ada.id, "boss.objectID": ada.id,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("value", "format_"),
    [
        (key("a") & 1, "a & 1"),
        (1 & key("a"), "1 & a"),
        (key("a") | key("b"), "a | b"),
        (2 | key("a"), "2 | a"),
        (key("a") ^ 3, "a ^ 3"),
        (3 ^ key("a"), "3 ^ a"),
        (key("a") << 2, "a << 2"),
        (2 << key("a"), "2 << a"),
        (key("a") >> 2, "a >> 2"),
        (2 >> key("a"), "2 >> a"),
        (~key("a"), "~a"),
        (2 ** key("a"), "2 ** a"),
        (7 % key("a"), "modulus:by:(7, a)"),
        (key("a")[0], "a[0]"),
        (key("a")[key("b")], "a[b]"),
    ],
)
def test_operators_build_expressions(value: Any, format_: str) -> None:
    assert str(value) == format_
    assert Expression(format_) == value._cst_expression
    assert Expression("%@", value._cst_expression).format == format_


def test_operators_compute_values() -> None:
    item = {"a": 6, "list": ["x", "y"], "at": 1}
    for value, expected in (
        (key("a") & 3, 2), (1 | key("a"), 7), (2 ** key("a"), 64), (20 % key("a"), 2), (1 << key("a"), 64),
        (~key("a"), -7), (key("list")[0], "x"), (key("list")[key("at")], "y"),
    ):  # fmt: skip
        assert value._cst_expression.value(item) == expected
    assert (key("list")[0] == "x").evaluate(item)


def test_unsupported_operators_are_rejected() -> None:
    with pytest.raises(UnsupportedError, match=r"// is not supported.*a / b"):
        key("a") // 2
    with pytest.raises(UnsupportedError, match=r"// is not supported.*a / b"):
        7 // key("a")
    with pytest.raises(
        TypeMismatchError, match=r'combine the value "a" with the predicate "b == 1".*, for example \(a == True\)$'
    ):
        key("a") ^ (key("b") == 1)
    for combine in (operator.and_, operator.or_):
        with pytest.raises(TypeMismatchError, match=r'^the value "a \+ 1" is not a condition; compare it with another'):
            combine(key("a") + 1, key("b") == 1)
        with pytest.raises(TypeMismatchError, match=r'^the value "a \+ 1" is not a condition; compare it with another'):
            combine(key("b") == 1, key("a") + 1)
    with pytest.raises(InvalidArgumentError, match=r"at least 0.*LAST"):
        key("a")[-1]
    with pytest.raises(TypeMismatchError, match="is not a key or an index"):
        key("a")[1:2]  # type: ignore[call-overload]


def test_in_requires_a_collection() -> None:
    for one in ("abc", b"abc"):
        with pytest.raises(TypeMismatchError, match=r"in_\(\[value\]\).*contains"):
            key("name").in_(one)
    assert key("a").in_(Expression("{1, 2}")).format == "a IN {1, 2}"
    assert key("a").in_(key("b")).format == "a IN b"
    assert key("a").in_(each for each in (1, 2)).format == "a IN {1, 2}"


def test_key_in_place_of_a_string_is_rejected() -> None:
    with pytest.raises(TypeMismatchError, match=r"path must be a str, not Key\('a'\)"):
        Expression.key_path(key("a"))  # type: ignore[arg-type]
    with pytest.raises(Exception, match=r"wrong type|cannot be interpreted"):  # ctypes, before and since Python 3.13
        Expression.key_path("b", key("a"))  # type: ignore[arg-type]
