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
from corestone._abi import conversion
from corestone.predicate.sort import selector_of

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
def no_leaks() -> Any:
    yield
    gc.collect()
    assert conversion._retained == {}


@pytest.mark.parametrize(
    "value",
    [
        *(None, True, 0, -(2**63), 2**63 - 1, 2**100, 1.5, float("inf"), "", "é\0x", b"", b"\0\xff", Decimal("1.50")),
        *(UUID(int=5), MOMENT, [], [1, [2, {"a": None}]], {"a": {"b": [1]}}, {1, "x"}, ADA, Level.HIGH),
    ],
)
def test_values_round_trip_through_expressions(value: Any) -> None:
    found = Expression("SELF").value(value)
    assert found == value
    assert Expression("%@", value).value(0) == value
    assert Predicate("SELF == %@", value).evaluate(value)
    assert Predicate("SELF == $x").evaluate(value, {"x": value})


def test_python_collections_are_supported() -> None:
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


def test_key_paths_read_python_attributes() -> None:
    assert Predicate("age > 10 AND tags.@count == 2").filter([ADA, BOB]) == [ADA]
    assert Predicate("nickname == nil").filter([ADA, BOB]) == [ADA]
    assert value_for_key_path({"people": [ADA, BOB]}, "people.name") == ["Ada", "Bob"]
    assert Expression("people[FIRST]").value({"people": [ADA]}) is ADA
    with pytest.raises(PredicateError, match='Person is not key value coding-compliant for the key "nme"') as caught:
        Predicate("nme == 1").evaluate(ADA)
    assert caught.value.key == "nme"
    with pytest.raises(PredicateError, match="__class__"):
        Expression("__class__.__init__.__globals__").value(ADA)
    with pytest.raises(CallbackError, match="out of order") as failed:
        Expression("broken").value(ADA)
    assert isinstance(failed.value.__cause__, RuntimeError)


def test_getter_name_keeps_the_capitals_of_its_key() -> None:
    class Employee:
        def getFullName(self) -> str:
            return "Ada Lovelace"

        def isOnLeave(self) -> bool:
            return True

    assert value_for_key_path(Employee(), "fullName") == "Ada Lovelace"
    assert value_for_key_path(Employee(), "onLeave") is True


def test_objects_are_compared_by_python_equality() -> None:
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
    assert len(conversion._retained) == 1
    assert kept.evaluate(Version(7))
    del kept
    with pytest.raises(PredicateError, match="cannot be ordered"):
        Predicate("SELF < %@", ADA).evaluate(BOB)


def test_unsupported_values_are_rejected() -> None:
    loop: list[Any] = []
    loop += [loop, loop]
    for item in (loop, {"a": loop}):
        with pytest.raises(InvalidArgumentError, match="contains itself"):
            Predicate("TRUEPREDICATE").evaluate(item)
    with pytest.raises(InvalidArgumentError, match="does not have a time zone"):
        Predicate("SELF == nil").evaluate(datetime(2024, 1, 1))
    with pytest.raises(TypeMismatchError, match="cannot be used as a value"):
        Predicate("%@", Predicate("a == 1"))
    with pytest.raises(InvalidArgumentError, match="has 1 conversion such as %@"):
        Predicate("a == %@", 1, 2)


def test_encoding_fails_when_the_values_have_too_many_elements(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversion, "_CELLS", 4)
    with pytest.raises(InvalidArgumentError, match="have at least 6 elements in total, but the limit is 4; ") as caught:
        conversion.encode_one([0, 1, 2, 3, 4])
    assert caught.value.value == [0, 1, 2, 3, 4]
    with pytest.raises(InvalidArgumentError) as caught:
        conversion.Encoded([[1, 2], [3]])
    assert caught.value.value == [[1, 2], [3]]


def test_filter_accepts_many_dictionaries() -> None:
    rows = [{"age": number, "name": f"n{number}", "rest": [1, 2, 3]} for number in range(1000)]
    assert Predicate("age BETWEEN {10, 12}").filter(rows) == rows[10:13]
    assert Predicate("SELF.age == 7 AND rest.@count == 3").filter(rows) == [rows[7]]
    assert Predicate("ANYKEY CONTAINS 'n9'").format
    assert Predicate("$limit > age").filter(iter(rows), {"limit": 2}) == rows[:2]
    assert Predicate.block(lambda row, variables: row["rest"] == [1, 2, 3]).filter(rows[:20]) == rows[:20]
    assert Predicate("missing == nil").filter(rows) == rows
    assert Predicate("SUBQUERY(rest, $x, $x > age).@count == 2").filter(rows) == [rows[1]]


def test_predicates_can_be_constructed_from_parts() -> None:
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


def test_expressions_can_be_constructed_without_text() -> None:
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
    with pytest.raises(InvalidArgumentError, match='did you mean "uppercase:"'):
        Expression.function("upercase:", a)
    with pytest.raises(InvalidArgumentError, match="takes 2 arguments"):
        Expression.function("add:to:", a)


def test_expression_arguments_are_inserted() -> None:
    assert Predicate("%@ > %@", Expression("a * 2"), Expression.variable("low")).format == "a * 2 > $low"
    assert Predicate("$x == 1").substituting(x=Expression("a + 1")).format == "a + 1 == 1"
    assert Predicate("$x == 1").substituting(x=None).format == "nil == 1"
    assert Predicate("$x > 1").evaluate({"a": 3}, {"x": Expression("a")})
    with pytest.raises(PredicateSyntaxError):
        Expression("a ==")


def test_predicates_can_be_compared_copied_and_pickled() -> None:
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
    with pytest.raises(TypeError, match="its format does not parse to an equal Predicate"):
        pickle.dumps((one & Predicate.block(lambda item, variables: True)).parts[1])
    assert repr(one) == "Predicate('age > 3 AND name IN {\"Ada\"}')"


def test_block_is_released_with_its_predicate() -> None:
    before, handles = len(conversion._functions), handle_count()
    for _ in range(3):
        assert Predicate.block(lambda item, variables: item).filter([0, 1]) == [1]
    gc.collect()
    assert len(conversion._functions) == before
    assert handle_count() == handles

    def fails(item: Any, variables: dict[str, Any]) -> bool:
        raise KeyError("no such luck")

    with pytest.raises(CallbackError, match="no such luck") as caught:
        Predicate.block(fails).evaluate(1)
    assert isinstance(caught.value.__cause__, KeyError)


def test_registered_functions_can_be_called() -> None:
    @register_function("initial")
    def initial(text: str, *more: Any) -> str:
        return "".join([text[:1], *more])

    assert Expression("FUNCTION(name, 'initial', '.')").value(ADA) == "A."
    assert Expression("FUNCTION(nickname, 'initial')").value(ADA) is None
    register_function("labs", ctypes.CDLL(None).labs, "long(long)")
    assert Predicate("FUNCTION(SELF, 'labs') == 7").evaluate(-7)
    with pytest.raises(PredicateError, match='the function "labs" takes int64_t as parameter 1, not a string'):
        Predicate("FUNCTION(SELF, 'labs') == 7").evaluate("x")
    with pytest.raises(InvalidArgumentError, match='"lung" is not a supported type') as caught:
        register_function("bad", ctypes.CDLL(None).labs, "long(lung)")
    assert caught.value.offset == 5
    assert unregister_function("initial")
    assert unregister_function("labs")
    assert not unregister_function("labs")
    with pytest.raises(PredicateError, match="initial"):
        Expression("FUNCTION(name, 'initial')").value(ADA)


def test_sort_descriptors_sort_python_values() -> None:
    people = [ADA, BOB, Person("Chloe", 5)]
    assert sort(people, [SortDescriptor("age"), SortDescriptor("name", False)]) == [people[2], BOB, ADA]
    assert sort(people, SortDescriptor("nickname")) == [ADA, people[2], BOB]
    by_length = SortDescriptor("name", selector=lambda a, b: len(a) - len(b))
    assert by_length.reversed.sorted(people)[0] is people[2]
    assert SortDescriptor("name", selector="caseInsensitiveCompare:").sorted([{"name": "b"}, {"name": "A"}]) == [
        {"name": "A"},
        {"name": "b"},
    ]
    with pytest.raises(UnsupportedError, match='not "mySelector:"'):
        SortDescriptor("name", selector="mySelector:")
    assert SortDescriptor("a") == SortDescriptor("a")
    assert len({SortDescriptor("a"), SortDescriptor("a", False)}) == 2


def test_sort_locale_can_be_set_and_reset() -> None:
    before = sort_locale()
    set_sort_locale("sv_SE")
    assert sort_locale() == "sv_SE"
    set_sort_locale(None)
    assert sort_locale() == before


def test_set_value_for_key_path_sets_python_values() -> None:
    item: dict[str, Any] = {"who": Person("Ada", 36), "n": 1}
    set_value_for_key_path(item, "who.name", "Eve")
    set_value_for_key_path(item, "n", None)
    assert item == {"who": Person("Eve", 36)}
    set_nil(item, "who.nickname")
    with pytest.raises(InvalidArgumentError, match=r"\.age is of type int and cannot be None") as caught:
        set_nil(item["who"], "age")
    assert caught.value.key == "age"
    with pytest.raises(PredicateError, match="nme"):
        set_value_for_key_path(item, "who.nme", 1)
    with pytest.raises(PredicateError, match=r'"gone\.name" of dict: the key "gone" is missing; set it first'):
        set_value_for_key_path(item, "gone.name", 1)
    with pytest.raises(PredicateError, match='the value of "gone" is None; set it first'):
        set_value_for_key_path({"gone": None}, "gone.name", 1)

    class Careful(Person):
        def set_nil_value_for_key(self, key: str) -> None:
            setattr(self, key, -1)

    careful = Careful("Ada", 1)
    set_nil(careful, "age")
    assert careful.age == -1


def test_managed_objects_can_be_mixed_with_python_values(staff: Context) -> None:
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


def test_registered_functions_validate_and_transform_values(tmp_path: Path) -> None:
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


def test_assignments_work_without_given_variables() -> None:
    """`$name := …` works with an empty dictionary or None; a passed dictionary is not changed."""
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
def test_format_must_be_a_str(kind: Any, format_: Any) -> None:
    with pytest.raises(
        TypeMismatchError,
        match=rf"pass the format of the {kind.__name__} as a str.*{kind.__name__}\(|is already of type {kind.__name__}",
    ):
        kind(format_)


@pytest.mark.parametrize(
    "make", [Predicate, Expression, Expression.variable, lambda name: SortDescriptor(name).sorted([1])]
)
def test_unpaired_surrogate_is_rejected(make: Any) -> None:
    with pytest.raises(InvalidUTF8Error, match="has an unpaired surrogate"):
        make("a\ud800 == 1")


def test_variable_may_be_named_self() -> None:
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


def test_keys_can_name_methods() -> None:
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
    with pytest.raises(PredicateError, match="is a method"):
        set_value_for_key_path(machine, "label", 1)
    set_value_for_key_path(machine, "speed", 4)
    assert machine.speed == 4


def test_objects_are_released_after_module_teardown(monkeypatch: pytest.MonkeyPatch) -> None:
    """At interpreter exit, module globals have the value None while the library still releases objects."""
    kept, given = Expression.constant(Machine()), conversion.encode_one(Machine())
    assert len(conversion._retained) == 2
    with monkeypatch.context() as ended:
        ended.setattr(conversion, "_lock", None)
        del kept, given
        gc.collect()
    assert conversion._retained == {}


class Word(str):
    __slots__ = ()


class Metre(float):
    __slots__ = ()


class Big(IntEnum):
    HUGE = 2**70


class Half:
    def __float__(self) -> float:
        return 0.5


class Seven:
    def __index__(self) -> int:
        return 7


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (bytearray(b"a\0b"), b"a\0b"),
        (memoryview(b"xaby")[1:3], b"ab"),
        (memoryview(b"abcdef")[::2], b"ace"),
        (bytearray(), b""),
        (Word("Ada"), "Ada"),
        (Metre(1.5), 1.5),
        (Level.HIGH, 2),
        (Big.HUGE, Decimal(2**70)),
        (-(2**63) - 1, Decimal(-(2**63) - 1)),
        (Half(), 0.5),
        (Seven(), 7),
        (True, True),
        (OrderedDict(a=[1]), {"a": [1]}),
        (Point(1, 2), {"x": 1, "y": 2}),
        ((1, ("a", None)), [1, ["a", None]]),
        (frozenset((1, 2)), {1, 2}),
        (range(2), [0, 1]),
        ({"a": 1}.keys(), {"a"}),
        ({1: Word("one"), None: 2}, {"1": "one", "None": 2}),
        ([-0.0, float("-inf"), 0.1], [-0.0, float("-inf"), 0.1]),
        (["same", "same", ["same"]], ["same", "same", ["same"]]),
        ([[], {}, [[]]], [[], {}, [[]]]),
        ([b"", "", b"\0", "\0"], [b"", "", b"\0", "\0"]),
    ],
    ids=lambda value: repr(value).partition(" at 0x")[0],  # the same in each process of pytest-xdist
)
def test_compatible_values_are_converted(value: Any, expected: Any) -> None:
    """As an item, in a collection, as an argument, as a variable, and returned by a registered function."""

    def same(found: Any) -> None:
        assert (found, type(found)) == (expected, type(expected))

    same(Expression("SELF").value(value))
    same(Expression("%@", value).value(0))
    same(Expression("$x").value(0, {"x": value}))
    same(Expression.constant(value).constant_value)
    same(Expression.block(lambda *_: value).value(0))
    same(Expression("SELF").value([0, value, "end"])[1])
    same(Expression("a").value({"z": "z", "a": value, "b": 1}))
    register_function("given back", lambda *_: value)
    try:
        same(Expression.call(0, "given back").value(1))
    finally:
        unregister_function("given back")


def test_functions_receive_item_arguments_and_variables() -> None:
    seen: list[Any] = []

    def note(item: Any, arguments: list[Any], variables: dict[str, Any]) -> Any:
        seen.append((item, arguments, variables))
        return [item, arguments[1], variables["x"]]

    expression = Expression.block(note, 1, Expression("b"), Expression("$x"))
    assert expression.value({"b": b"2"}, {"x": "3"}) == [{"b": b"2"}, b"2", "3"]
    assert seen == [({"b": b"2"}, [1, b"2", "3"], {"x": "3"})]
    told: list[Any] = []
    condition = Predicate.block(lambda item, variables: (told.append((item, variables)), item)[1])  # type: ignore[func-returns-value]
    assert [condition.evaluate(0), condition.evaluate(2, {"y": None})] == [False, True]
    assert told == [(0, {}), (2, {"y": None})]
    assert (Predicate("SELF == 1") & ~condition).evaluate(1) is False


def test_comparator_receives_both_values() -> None:
    seen: set[tuple[Any, Any]] = set()

    def compare(first: Any, second: Any) -> int:
        seen.add((first, second))
        return (len(first) - len(second)) * 1000

    words = ["ccc", "a", "bb", "d"]
    longest = SortDescriptor(None, ascending=False, selector=compare)
    assert SortDescriptor(None, selector=compare).sorted(words) == ["a", "d", "bb", "ccc"]
    assert longest.sorted(words) == ["ccc", "bb", "a", "d"]
    assert all(first in words and second in words and first != second for first, second in seen)
    assert longest.reversed == SortDescriptor(None, selector=compare)
    # The second descriptor has a separate function.
    by_last = SortDescriptor(None, selector=lambda first, second: ord(second[-1]) - ord(first[-1]))
    assert sort(words, [SortDescriptor(None, selector=compare), by_last]) == ["d", "a", "bb", "ccc"]
    assert sort(words, []) == words
    assert sort([], by_last) == []


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("compare:", ["B", "a", "a10", "a2", "É"]),
        ("caseInsensitiveCompare:", ["a", "a10", "a2", "B", "É"]),
        ("localizedStandardCompare:", ["a", "a2", "a10", "B", "É"]),
        ("localizedCompare:", ["a", "a10", "a2", "B", "É"]),
        ("localizedCaseInsensitiveCompare:", ["a", "a10", "a2", "B", "É"]),
    ],
)
def test_sort_selectors_order_text(selector: str, expected: list[str]) -> None:
    set_sort_locale("en_US")
    try:
        assert sort_locale() == "en_US"
        descriptor = SortDescriptor("t", selector=selector)
        items = [{"t": text} for text in ("a10", "É", "B", "a2", "a")]
        assert [each["t"] for each in descriptor.sorted(items)] == expected
        assert [each["t"] for each in descriptor.reversed.sorted(items)] == expected[::-1]
        assert repr(descriptor) == f"SortDescriptor('t', ascending=True, selector='{selector}')"
    finally:
        set_sort_locale(None)
    with pytest.raises(UnsupportedError, match='not "lexically:"'):
        SortDescriptor("t", selector="lexically:")
    with pytest.raises(TypeMismatchError, match="selector must be a str or a function, not 5"):
        SortDescriptor("t", selector=5)  # type: ignore[arg-type]


def test_kind_numbers_equal_those_of_core_data() -> None:
    """They are Core Data's, and stay so."""
    assert {each.name: int(each) for each in Operator} == {
        "LESS_THAN": 0, "LESS_THAN_OR_EQUAL": 1, "GREATER_THAN": 2, "GREATER_THAN_OR_EQUAL": 3, "EQUAL": 4,
        "NOT_EQUAL": 5, "MATCHES": 6, "LIKE": 7, "BEGINS_WITH": 8, "ENDS_WITH": 9, "IN": 10, "CUSTOM_SELECTOR": 11,
        "CONTAINS": 99, "BETWEEN": 100,
    }  # fmt: skip
    assert {each.name: int(each) for each in CompoundType} == {"NOT": 0, "AND": 1, "OR": 2}
    assert {each.name: int(each) for each in Modifier} == {"DIRECT": 0, "ALL": 1, "ANY": 2}
    assert {each.name: int(each) for each in CompareOptions if each} == {
        "CASE_INSENSITIVE": 1, "DIACRITIC_INSENSITIVE": 2, "NORMALIZED": 4, "LOCALE_SENSITIVE": 8,
    }  # fmt: skip
    for text, operator in (
        ("a < 1", Operator.LESS_THAN), ("a <= 1", Operator.LESS_THAN_OR_EQUAL), ("a > 1", Operator.GREATER_THAN),
        ("a >= 1", Operator.GREATER_THAN_OR_EQUAL), ("a == 1", Operator.EQUAL), ("a != 1", Operator.NOT_EQUAL),
        ("a MATCHES 'x'", Operator.MATCHES), ("a LIKE 'x'", Operator.LIKE), ("a BEGINSWITH 'x'", Operator.BEGINS_WITH),
        ("a ENDSWITH 'x'", Operator.ENDS_WITH), ("a IN {1}", Operator.IN), ("a CONTAINS 'x'", Operator.CONTAINS),
        ("a BETWEEN {1, 2}", Operator.BETWEEN),
    ):  # fmt: skip
        predicate = Predicate(text)
        assert (predicate.operator, predicate.kind) == (operator, PredicateKind.COMPARISON)
        again = Predicate.comparison(predicate.left, operator, predicate.right)
        assert again == predicate
        assert again.format == predicate.format


def test_comparison_options_and_modifiers_are_reported() -> None:
    for text, options in (
        ("a == 'x'", CompareOptions.NONE),
        ("a ==[c] 'x'", CompareOptions.CASE_INSENSITIVE),
        ("a ==[d] 'x'", CompareOptions.DIACRITIC_INSENSITIVE),
        ("a ==[cd] 'x'", CompareOptions.CASE_INSENSITIVE | CompareOptions.DIACRITIC_INSENSITIVE),
        ("a ==[n] 'x'", CompareOptions.NORMALIZED),
        ("a ==[l] 'x'", CompareOptions.LOCALE_SENSITIVE),
    ):
        assert Predicate(text).options == options, text
    for text, modifier in (("a == 1", Modifier.DIRECT), ("ANY a == 1", Modifier.ANY), ("ALL a == 1", Modifier.ALL)):
        assert Predicate(text).modifier == modifier
    plain = Predicate("TRUEPREDICATE")
    assert (plain.kind, plain.operator, plain.left, plain.right, plain.compound_type, plain.parts) == (
        PredicateKind.TRUE, None, None, None, None, (),
    )  # fmt: skip
    assert Predicate("FALSEPREDICATE").kind == PredicateKind.FALSE
    assert Predicate.block(lambda *_: True).kind == PredicateKind.BLOCK
    either = Predicate("a == 1 OR b == 2 OR c == 3")
    assert (either.kind, either.compound_type, [each.format for each in either.parts]) == (
        PredicateKind.COMPOUND, CompoundType.OR, ["a == 1", "b == 2", "c == 3"],
    )  # fmt: skip


def test_predicates_are_hashable_and_combine_only_with_predicates() -> None:
    one, twin, other = Predicate("a == 1"), Predicate("a == %d", 1), Predicate("a == 2")
    assert one == twin
    assert hash(one) == hash(twin)
    assert one != other
    assert one != "a == 1"
    assert (Expression("a + 1"), hash(Expression("a + 1"))) == (Expression("a + %d", 1), hash(Expression("a + %d", 1)))
    assert Expression("a") != "a"
    assert str(one) == "a == 1"
    assert repr(one) == "Predicate('a == 1')"
    assert repr(Expression("a + 1")) == "Expression('a + 1')"
    with pytest.raises(TypeMismatchError, match="is already of type Predicate; use it directly"):
        Predicate(one)  # type: ignore[arg-type]
    for wrong in (Expression("a"), 7, None):
        with pytest.raises(TypeMismatchError, match="pass the format of the Predicate as a str"):
            Predicate(wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        _ = one & "b == 1"  # type: ignore[operator]


@pytest.mark.parametrize("count", [1, 15, 16, 17, 300])
def test_filter_result_is_independent_of_the_count(count: int) -> None:
    rows = [{"n": n, "name": f"n{n}", "more": {"m": n}, "x": 1, "y": 2} for n in range(count)]
    for text in (
        "n > 3",
        "more.m > 3",
        "SELF.n > 3",
        "n > 3 AND name != nil",
        "FUNCTION(SELF, 'valueForKey:', 'n') > 3",
    ):
        predicate = Predicate(text)
        expected = [row for row in rows if row["n"] > 3]  # type: ignore[operator]
        assert predicate.filter(rows) == expected, text
        assert [row for row in rows if predicate.evaluate(row)] == expected
    assert Predicate("missing == nil AND n != nil").filter(rows) == rows
    assert Predicate("$x == n").filter(rows, {"x": count - 1}) == rows[-1:]


def test_set_operations_and_conditionals_can_be_pickled() -> None:
    left, right = Expression("a"), Expression("b")
    item = {"a": {1, 2}, "b": {2, 3}}
    for made, kind, expected in (
        (Expression.union(left, right), ExpressionType.UNION, {1, 2, 3}),
        (Expression.intersect(left, right), ExpressionType.INTERSECT, {2}),
        (Expression.minus(left, right), ExpressionType.MINUS, {1}),
        (Expression.conditional(Predicate("a.@count == 2"), "yes", "no"), ExpressionType.CONDITIONAL, "yes"),
        (Expression.conditional(Predicate("a.@count == 3"), "yes", "no"), ExpressionType.CONDITIONAL, "no"),
        (Expression.subquery(left, "x", Predicate("$x > 1")), ExpressionType.SUBQUERY, [2]),
        (Expression.aggregate([1, Expression("a.@count"), "c"]), ExpressionType.AGGREGATE, [1, 2, "c"]),
        (Expression.function("add:to:", Expression("a.@count"), 5), ExpressionType.FUNCTION, 7),
        (Expression.constant(b"x"), ExpressionType.CONSTANT, b"x"),
        (Expression.variable("v"), ExpressionType.VARIABLE, "w"),
        (Expression.key_path("@count", Expression("a")), ExpressionType.KEY_PATH, 2),
        (Expression.evaluated_object(), ExpressionType.SELF, item),
    ):
        assert made.type == kind
        again = pickle.loads(pickle.dumps(made))
        assert (again, again.format, again.type) == (made, made.format, kind)
        for each in (made, again):
            found = each.value(item, {"v": "w"})
            assert (list(found) if isinstance(expected, list) else found) == expected, made.format
        assert copy.deepcopy(made) is made


def test_comparators_are_released_after_use() -> None:
    before = set(conversion._functions)
    by_length = SortDescriptor(None, selector=lambda first, second: len(first) - len(second))
    assert by_length.sorted(["bb", "a"]) == ["a", "bb"]

    def fails(first: Any, second: Any) -> int:
        raise KeyError("cannot be ordered")

    with pytest.raises(CallbackError, match="cannot be ordered"):
        SortDescriptor(None, selector=fails).sorted(["bb", "a"])
    assert set(conversion._functions) == before


def test_descriptor_flags_map_to_selectors() -> None:
    """The form in which a custom store receives a sort descriptor."""
    for name in (
        "compare:",
        "caseInsensitiveCompare:",
        "localizedCompare:",
        "localizedCaseInsensitiveCompare:",
        "localizedStandardCompare:",
    ):
        for ascending in (True, False):
            assert selector_of(SortDescriptor("t", ascending, name)._sort().flags) == name
    only = selector_of(SortDescriptor("t", selector=lambda *_: 0)._sort().flags)
    assert callable(only)
    with pytest.raises(UnsupportedError, match="return the rows unsorted"):
        only(1, 2)
