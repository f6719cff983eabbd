"""Predicates, expressions and sort descriptors over values of Python."""

from __future__ import annotations

import copy
import ctypes
import gc
import pickle
from collections import OrderedDict, namedtuple
from dataclasses import dataclass, field
from datetime import datetime, timezone
from decimal import Decimal
from enum import IntEnum
from pathlib import Path
from typing import Any, NamedTuple, Optional
from uuid import UUID

import pytest

from corestone import (
    CallbackError,
    CompareOptions,
    CompoundType,
    Container,
    Context,
    Expression,
    ExpressionType,
    InvalidArgumentError,
    InvalidUTF8Error,
    Model,
    Modifier,
    Operator,
    Predicate,
    PredicateError,
    PredicateKind,
    PredicateSyntaxError,
    SortDescriptor,
    TypeMismatchError,
    UnsupportedError,
    ValidationError,
    _host,
    handle_count,
    raw_value,
    register_function,
    register_transformer,
    set_nil,
    set_sort_locale,
    set_value_for_key_path,
    sort,
    sort_locale,
    unregister_function,
    unregister_transformer,
    value_for_key_path,
)

MOMENT = datetime(2024, 2, 29, 12, tzinfo=timezone.utc)


@dataclass
class Person:
    name: str
    age: int
    nickname: Optional[str] = None
    tags: list[str] = field(default_factory=list)

    @property
    def broken(self) -> str:
        raise RuntimeError("out of order")


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Point(NamedTuple):
    x: int
    y: int


ADA, BOB = Person("Ada", 36, tags=["x", "y"]), Person("Bob", 5, nickname="B")


@pytest.fixture(autouse=True)
def nothing_stays_behind() -> Any:
    yield
    gc.collect()
    assert _host._held == {}


@pytest.mark.parametrize(
    "value",
    [
        *(None, True, 0, -(2**63), 2**63 - 1, 2**100, 1.5, float("inf"), "", "é\0x", b"", b"\0\xff", Decimal("1.50")),
        *(UUID(int=5), MOMENT, [], [1, [2, {"a": None}]], {"a": {"b": [1]}}, {1, "x"}, ADA, Level.HIGH),
    ],
)
def test_values_come_back_as_they_went(value: Any) -> None:
    found = Expression("SELF").value(value)
    assert found == value
    assert Expression("%@", value).value(0) == value
    assert Predicate("SELF == %@", value).evaluate(value)
    assert Predicate("SELF == $x").evaluate(value, {"x": value})


def test_kinds_of_collections() -> None:
    pair = namedtuple("pair", "a b")
    for item, path, expected in (
        ((1, 2), "@count", 2),
        (frozenset((1, 2)), "@count", 2),
        (OrderedDict(a=1), "a", 1),
        (pair(1, 2), "b", 2),
        (Point(3, 4), "x", 3),
        ({1: "one"}, "1", "one"),
        (range(4), "@sum.self", 6),
        ({"a": None}, "a.b.c", None),
        ({}, "missing", None),
        ([ADA, BOB], "@avg.age", 20.5),
        ([{"n": 1}, {}], "n", [1, None]),
    ):
        assert value_for_key_path(item, path) == expected


def test_objects_are_asked_by_attribute() -> None:
    assert Predicate("age > 10 AND tags.@count == 2").filter([ADA, BOB]) == [ADA]
    assert Predicate("nickname == nil").filter([ADA, BOB]) == [ADA]
    assert value_for_key_path({"people": [ADA, BOB]}, "people.name") == ["Ada", "Bob"]
    assert Expression("people[FIRST]").value({"people": [ADA]}) is ADA
    with pytest.raises(PredicateError, match='Person has no key "nme"') as caught:
        Predicate("nme == 1").evaluate(ADA)
    assert caught.value.key == "nme"
    with pytest.raises(PredicateError, match="__class__"):
        Expression("__class__.__init__.__globals__").value(ADA)
    with pytest.raises(CallbackError, match="out of order") as failed:
        Expression("broken").value(ADA)
    assert isinstance(failed.value.__cause__, RuntimeError)


def test_objects_are_compared_as_python_does() -> None:
    twin = Person("Ada", 36, tags=["x", "y"])
    assert Predicate("SELF == %@", ADA).evaluate(twin)
    assert Predicate("SELF IN %@", [BOB, ADA]).evaluate(twin)
    assert Predicate("SELF < %@", Point(1, 2)).format  # a dictionary; it has no order

    @dataclass(order=True, frozen=True)
    class Version:
        major: int

    assert Predicate("SELF < %@", Version(2)).filter([Version(1), Version(3)]) == [Version(1)]
    assert SortDescriptor(None).sorted([Version(3), Version(1)]) == [Version(1), Version(3)]
    kept = Predicate("SELF == %@", Version(7))
    assert len(_host._held) == 1
    assert kept.evaluate(Version(7))
    del kept
    with pytest.raises(PredicateError, match="no order"):
        Predicate("SELF < %@", ADA).evaluate(BOB)


def test_bad_values() -> None:
    loop: list[Any] = []
    loop += [loop, loop]
    for item in (loop, {"a": loop}):
        with pytest.raises(InvalidArgumentError, match=r"deep in each other|elements in all"):
            Predicate("TRUEPREDICATE").evaluate(item)
    with pytest.raises(InvalidArgumentError, match="no time zone"):
        Predicate("SELF == nil").evaluate(datetime(2024, 1, 1))
    with pytest.raises(TypeMismatchError, match="can stand for no value"):
        Predicate("%@", Predicate("a == 1"))
    with pytest.raises(InvalidArgumentError, match="has 1 conversions"):
        Predicate("a == %@", 1, 2)


def test_many_dicts_in_one_call() -> None:
    rows = [{"age": number, "name": f"n{number}", "rest": [1, 2, 3]} for number in range(1000)]
    assert Predicate("age BETWEEN {10, 12}").filter(rows) == rows[10:13]
    assert Predicate("SELF.age == 7 AND rest.@count == 3").filter(rows) == [rows[7]]
    assert Predicate("ANYKEY CONTAINS 'n9'").format
    assert Predicate("$limit > age").filter(iter(rows), {"limit": 2}) == rows[:2]
    assert Predicate.block(lambda row, variables: row["rest"] == [1, 2, 3]).filter(rows[:20]) == rows[:20]
    assert Predicate("missing == nil").filter(rows) == rows
    assert Predicate("SUBQUERY(rest, $x, $x > age).@count == 2").filter(rows) == [rows[1]]


def test_construction() -> None:
    positive = Predicate.comparison(Expression.evaluated_object(), Operator.GREATER_THAN, 0)
    assert positive.format == "SELF > 0"
    assert positive.filter([3, -1]) == [3]
    some = Predicate.comparison(
        Expression.key_path("tags"), Operator.BEGINS_WITH, "X", Modifier.ANY, CompareOptions.CASE_INSENSITIVE
    )
    assert some == Predicate("ANY tags BEGINSWITH[c] 'X'")
    assert some.filter([ADA, BOB]) == [ADA]
    assert (some.modifier, some.options, some.operator) == (
        Modifier.ANY,
        CompareOptions.CASE_INSENSITIVE,
        Operator.BEGINS_WITH,
    )
    both = Predicate("NOT (a == 1 OR TRUEPREDICATE)")
    assert both.compound_type == CompoundType.NOT
    inner = both.parts[0]
    assert [part.kind for part in inner.parts] == [PredicateKind.COMPARISON, PredicateKind.TRUE]
    assert inner.parts[0].left == Expression.key_path("a")
    assert inner.parts[0].right == Expression.constant(1)
    assert inner.left is None
    assert inner.operator is None


def test_expressions_without_text() -> None:
    a = Expression.key_path("a")
    made = [
        (Expression.function("multiply:by:", a, 3), "a * 3", {"a": 2}, 6),
        (Expression.aggregate([a, 1]), "{a, 1}", {"a": 2}, [2, 1]),
        (Expression.key_path("b", Expression.variable("x")), "$x.b", {}, 5),
        (Expression.conditional(Predicate("a > 1"), "y", "n"), 'TERNARY(a > 1, "y", "n")', {"a": 2}, "y"),
        (Expression.union(a, [1]), "a UNION {1}", {"a": [2]}, {1, 2}),
        (Expression.intersect(a, [1]), "a INTERSECT {1}", {"a": [1, 2]}, {1}),
        (Expression.minus(a, [1]), "a MINUS {1}", {"a": [1, 2]}, {2}),
        (Expression.subquery(a, "y", Predicate("$y > 1")), "SUBQUERY(a, $y, $y > 1)", {"a": [1, 2]}, [2]),
        (Expression.call(a, "uppercaseString"), 'FUNCTION(a, "uppercaseString")', {"a": "x"}, "X"),
    ]
    for expression, format_, item, value in made:
        assert expression.format == format_
        assert expression.value(item, {"x": {"b": 5}}) == value
        assert pickle.loads(pickle.dumps(expression)) == expression
    block = Expression.block(lambda item, arguments, variables: item["a"] + arguments[0] + variables["x"], a)
    assert block.type == ExpressionType.BLOCK
    assert block.value({"a": 1}, {"x": 10}) == 12
    with pytest.raises(InvalidArgumentError, match="did you mean uppercase:"):
        Expression.function("upercase:", a)
    with pytest.raises(InvalidArgumentError, match="takes 2 arguments"):
        Expression.function("add:to:", a)


def test_expressions_are_spliced() -> None:
    assert Predicate("%@ > %@", Expression("a * 2"), Expression.variable("low")).format == "a * 2 > $low"
    assert Predicate("$x == 1").substituting(x=Expression("a + 1")).format == "a + 1 == 1"
    assert Predicate("$x == 1").substituting(x=None).format == "nil == 1"
    assert Predicate("$x > 1").evaluate({"a": 3}, {"x": Expression("a")})
    with pytest.raises(PredicateSyntaxError):
        Expression("a ==")


def test_equality_copies_and_pickling() -> None:
    one = Predicate("age > %d && name IN %@", 3, ["Ada"])
    assert one == Predicate("age > 3 AND name IN {'Ada'}")
    assert hash(one) == hash(Predicate("age > 3 AND name IN {'Ada'}"))
    assert one != Predicate("age > 4")
    assert one != "age > 3"
    assert copy.copy(one) is one
    assert copy.deepcopy([one])[0] is one
    for each in (one, ~one, one & one | one, one.substituting(x=1), one.parts[0], Predicate("a == %@", b"\0")):
        assert pickle.loads(pickle.dumps(each)) == each
    with pytest.raises((TypeError, AttributeError, pickle.PicklingError)):
        pickle.dumps(Predicate.block(lambda item, variables: True))
    assert repr(one) == "Predicate('age > 3 AND name IN {\"Ada\"}')"


def test_blocks_end_with_their_predicate() -> None:
    before, handles = len(_host._functions), handle_count()
    for _ in range(3):
        assert Predicate.block(lambda item, variables: item).filter([0, 1]) == [1]
    gc.collect()
    assert len(_host._functions) == before
    assert handle_count() == handles

    def fails(item: Any, variables: dict[str, Any]) -> bool:
        raise KeyError("no such luck")

    with pytest.raises(CallbackError, match="no such luck") as caught:
        Predicate.block(fails).evaluate(1)
    assert isinstance(caught.value.__cause__, KeyError)


def test_functions() -> None:
    @register_function("initial")
    def initial(text: str, *more: Any) -> str:
        return "".join([text[:1], *more])

    assert Expression("FUNCTION(name, 'initial', '.')").value(ADA) == "A."
    assert Expression("FUNCTION(nickname, 'initial')").value(ADA) is None
    register_function("labs", ctypes.CDLL(None).labs, "long(long)")
    assert Predicate("FUNCTION(SELF, 'labs') == 7").evaluate(-7)
    with pytest.raises(PredicateError, match="labs takes int64_t as parameter 1; this is a string"):
        Predicate("FUNCTION(SELF, 'labs') == 7").evaluate("x")
    with pytest.raises(InvalidArgumentError, match='"lung" is no type') as caught:
        register_function("bad", ctypes.CDLL(None).labs, "long(lung)")
    assert caught.value.offset == 5
    assert unregister_function("initial")
    assert unregister_function("labs")
    assert not unregister_function("labs")
    with pytest.raises(PredicateError, match="initial"):
        Expression("FUNCTION(name, 'initial')").value(ADA)


def test_sorting() -> None:
    people = [ADA, BOB, Person("Chloe", 5)]
    assert sort(people, [SortDescriptor("age"), SortDescriptor("name", False)]) == [people[2], BOB, ADA]
    assert sort(people, SortDescriptor("nickname")) == [ADA, people[2], BOB]
    by_length = SortDescriptor("name", selector=lambda a, b: len(a) - len(b))
    assert by_length.reversed.sorted(people)[0] is people[2]
    assert SortDescriptor("name", selector="caseInsensitiveCompare:").sorted([{"name": "b"}, {"name": "A"}]) == [
        {"name": "A"},
        {"name": "b"},
    ]
    with pytest.raises(UnsupportedError, match="unsupported NSSortDescriptor selector: mySelector:"):
        SortDescriptor("name", selector="mySelector:")
    assert SortDescriptor("a") == SortDescriptor("a")
    assert len({SortDescriptor("a"), SortDescriptor("a", False)}) == 2


def test_the_locale_of_sorting() -> None:
    before = sort_locale()
    set_sort_locale("sv_SE")
    assert sort_locale() == "sv_SE"
    set_sort_locale(None)
    assert sort_locale() == before


def test_setting_by_key() -> None:
    item: dict[str, Any] = {"who": Person("Ada", 36), "n": 1}
    set_value_for_key_path(item, "who.name", "Eve")
    set_value_for_key_path(item, "n", None)
    assert item == {"who": Person("Eve", 36)}
    set_nil(item, "who.nickname")
    with pytest.raises(InvalidArgumentError, match="could not set nil as the value for the key age") as caught:
        set_nil(item["who"], "age")
    assert caught.value.key == "age"
    with pytest.raises(PredicateError, match="nme"):
        set_value_for_key_path(item, "who.nme", 1)
    with pytest.raises(PredicateError, match="nothing at gone"):
        set_value_for_key_path(item, "gone.name", 1)

    class Careful(Person):
        def set_nil_value_for_key(self, key: str) -> None:
            setattr(self, key, -1)

    careful = Careful("Ada", 1)
    set_nil(careful, "age")
    assert careful.age == -1


def test_managed_objects_among_others(staff: Context) -> None:
    ada = staff.first("Employee", "name == 'Ada'")
    assert Expression("owner.department.name").value({"owner": ada}) == ada.department.name
    assert Expression("owner").value({"owner": ada}) is ada
    assert Predicate("SELF IN $all").evaluate(ada, {"all": staff.fetch("Employee")})
    assert Predicate("name == $n").evaluate(ada, {"n": "Ada"})
    found = staff.fetch("Employee")
    old = found.filtered("age > $limit", limit=40)
    assert sorted(each.name for each in old) == ["Boris", "Dmitri", "Grace"]
    assert [each.name for each in old.ordered("-name")] == ["Grace", "Dmitri", "Boris"]
    assert old.ordered(SortDescriptor("name", selector=lambda a, b: len(a) - len(b)))[0].name in ("Boris", "Grace")
    block = Predicate.block(lambda each, variables: each.name.startswith("G"))
    assert [each.name for each in found.filtered(block)] == ["Grace"]
    assert [each.name for each in staff.fetch("Employee", block)] == ["Grace"]
    # Beside a key path, where the store's state of unchanged objects decides, and in subqueries.
    ada.department.name = "Renamed"
    either = Predicate("department.name == 'nowhere'") | block
    assert [each.name for each in staff.fetch("Employee", either)] == ["Grace"]
    seen = []

    def sees(each: Any, other: Any) -> int:
        seen.append((each, other))
        return 1

    register_function("sees", sees)
    assert len(staff.fetch("Employee", "FUNCTION(SELF, 'sees', department) == 1 AND department.name != ''")) > 0
    unregister_function("sees")
    assert seen
    assert all(other is each.department for each, other in seen)
    staff.rollback()
    register_function("shout", lambda each: f"{each.name}!")
    assert [each.name for each in staff.fetch("Employee", "FUNCTION(SELF, 'shout') == 'Ada!'")] == ["Ada"]
    unregister_function("shout")
    with pytest.raises(UnsupportedError, match="comparator"):
        staff.fetch("Employee", sort=[SortDescriptor("name", selector=lambda a, b: 0)])


def test_functions_check_and_transform_values(tmp_path: Path) -> None:
    register_function("isupper", lambda text: text.isupper() or f"{text} is not loud")
    register_function("pack", lambda value: ",".join(value).encode())
    register_function("unpack", lambda data: data.decode().split(","))
    register_transformer("Words", "pack", "unpack")
    model = Model({"Note": {"title": "string", "words": {"type": "transformable", "transformer": "Words"}}})
    model["Note"].validator("title", "isupper")
    with Container(model, tmp_path / "a.store", unsaved="discard") as container:
        context = container.context()
        note = context.insert("Note", title="LOUD", words=["a", "b"])
        context.save()
        assert raw_value(note, "words") == b"a,b"
        assert note.words == ["a", "b"]
        note.title = "quiet"
        with pytest.raises(ValidationError, match="quiet is not loud") as caught:
            context.save()
        assert caught.value.key == "title"
    unregister_transformer("Words")
    for name in ("isupper", "pack", "unpack"):
        unregister_function(name)


def test_assignments_need_no_variables() -> None:
    """An empty dictionary, or none, has room for `$name := …`; what was given stays as it was."""
    given: dict[str, Any] = {}
    for variables in (given, None, {"other": 1}):
        assert Expression("$v := 3").value(None, variables) == 3
        assert Predicate("$v := 3 == 3").evaluate({}, variables)
        assert Predicate("($v := SELF) == $v").filter([1, 2], variables) == [1, 2]
    assert given == {}
    with pytest.raises(PredicateError, match="v"):
        Expression("$v").value(None)


@pytest.mark.parametrize("format_", [None, 5, b"a = 1", ["a"], Predicate("a = 1")])
@pytest.mark.parametrize("kind", [Predicate, Expression])
def test_a_format_is_text(kind: Any, format_: Any) -> None:
    with pytest.raises(TypeMismatchError, match=rf"{kind.__name__} reads a text.*{kind.__name__}\("):
        kind(format_)


@pytest.mark.parametrize(
    "make", [Predicate, Expression, Expression.variable, lambda name: SortDescriptor(name).sorted([1])]
)
def test_half_of_a_surrogate_pair(make: Any) -> None:
    with pytest.raises(InvalidUTF8Error, match="half of a surrogate pair"):
        make("a\ud800 == 1")


def test_variables_of_any_name() -> None:
    assert Predicate("a == $self").substituting(self=1).format == "a == 1"


class Machine:
    """What key-value coding finds, and what it does not."""

    kinds = ("lathe", "mill")

    def __init__(self) -> None:
        self._serial = 7
        self.speed = 3
        self.handler = len

    def label(self) -> str:
        return f"M{self._serial}"

    def with_default(self, extra: int = 1) -> int:
        return self.speed + extra

    def run(self, seconds: int) -> int:
        return self.speed * seconds

    def getPower(self) -> int:
        return 11

    def power(self) -> int:
        raise AssertionError("getPower comes first")

    def getSpeed(self, unit: str) -> int:
        raise AssertionError("this needs an argument, so speed is found")

    def isBusy(self) -> bool:
        return True

    def _hidden(self) -> int:
        return 1

    @classmethod
    def family(cls) -> str:
        return cls.__name__

    @property
    def double(self) -> int:
        return 2 * self.speed


class Slotted:
    __slots__ = ("_mark", "size")

    def __init__(self) -> None:
        self._mark, self.size = 1, 2


def test_methods_as_keys() -> None:
    machine = Machine()
    for path, expected in (
        ("label", "M7"), ("label.length", 2), ("with_default", 4), ("power", 11), ("busy", True), ("isBusy", True),
        ("family", "Machine"), ("double", 6), ("speed", 3), ("kinds", ["lathe", "mill"]), ("_serial", 7),
    ):  # fmt: skip
        assert value_for_key_path(machine, path) == expected, path
        assert Expression(path).value(machine) == expected
    assert value_for_key_path(machine, "handler") is len
    assert value_for_key_path([machine, machine], "@sum.power") == 22
    assert Expression("FUNCTION(SELF, 'label')").value(machine) == "M7"
    assert value_for_key_path(Slotted(), "_mark") + value_for_key_path(Slotted(), "size") == 3
    for path in ("run", "_hidden", "__class__", "__dict__", "nothing", "_kinds"):
        with pytest.raises(PredicateError, match="not key value coding-compliant") as raised:
            value_for_key_path(machine, path)
        assert raised.value.key == path
    with pytest.raises(PredicateError, match="has a method"):
        set_value_for_key_path(machine, "label", 1)
    set_value_for_key_path(machine, "speed", 4)
    assert machine.speed == 4


def test_objects_are_let_go_when_modules_have_no_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the end of Python the globals of a module are None while the library still lets go of objects."""
    kept, given = Expression.constant(Machine()), _host.encode_one(Machine())
    assert len(_host._held) == 2
    with monkeypatch.context() as ended:
        ended.setattr(_host, "_holding", None)
        del kept, given
        gc.collect()
    assert _host._held == {}
