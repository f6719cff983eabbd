"""Expressions: variables that are set, fetches as values, the host's functions, and invalid expressions."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from typing import Any

import pytest

from corestone import (
    CallbackError,
    Context,
    Expression,
    FetchRequest,
    InvalidArgumentError,
    Predicate,
    PredicateError,
    PredicateSyntaxError,
    TypeMismatchError,
    register_function,
    unregister_function,
)


def test_assigned_variable_lasts_for_one_evaluation() -> None:
    doubled = Expression("($x := SELF * 2) + $x")
    given: dict[str, Any] = {"x": 100, "y": 1}
    for variables in ({}, given):
        assert doubled.value(3, variables) == 12
    assert doubled.value(3) == 12
    assert given == {"x": 100, "y": 1}
    assert Expression("$x + ($x := 5) + $x").value(0, given) == 110
    both = Predicate("($x := SELF) > 1 AND $x < 3")
    assert both.filter([1, 2, 3]) == [2]
    assert both.filter([1, 2, 3], given) == [2]
    assert given["x"] == 100
    # Variables of one evaluation are not visible in the next one.
    later = Predicate("SELF == 2 OR ($z := SELF) == 0 OR $z == 1")
    assert later.filter([0, 1, 2]) == [0, 1, 2]
    with pytest.raises(PredicateError, match=r"\$z does not have a value"):
        Predicate("SELF == 0 AND ($z := 5) == 5 OR $z == 5").filter([0, 1])


def test_expression_argument_is_inserted_and_a_predicate_is_rejected() -> None:
    yearly = Expression("pay * 12")
    assert Predicate("%@ > 100", yearly).format == "pay * 12 > 100"
    assert Predicate("%@ * 2 == 48", yearly).evaluate({"pay": 2}) is True
    assert Predicate("$x > 100").substituting(x=yearly).format == "pay * 12 > 100"
    assert Predicate("$x == 24").evaluate({"pay": 2}, {"x": yearly})
    assert Predicate("pay IN %@", [Expression("least"), 7]).filter(
        [{"pay": 1, "least": 1}, {"pay": 7, "least": 0}, {"pay": 2, "least": 0}]
    ) == [{"pay": 1, "least": 1}, {"pay": 7, "least": 0}]  # fmt: skip
    old = Predicate("age > 1")
    for refused in (
        lambda: Predicate("a == %@", old), lambda: Predicate("a == $x").substituting(x=old),
        lambda: Predicate("a == $x").evaluate({"a": 1}, {"x": old}), lambda: Expression.constant(old),
    ):  # fmt: skip
        with pytest.raises(TypeMismatchError, match="is a predicate and cannot be used as a value"):
            refused()


def test_function_errors_name_the_function(staff: Context) -> None:
    for name, arguments, message in (
        ("uppercse:", 1, 'the function "uppercse:" is not defined; did you mean "uppercase:"?'),
        ("abs:", 2, "abs: takes 1 argument, not 2"), ("add:to:", 1, "add:to: takes 2 arguments, not 1"),
        ("now", 1, "now takes 0 arguments, not 1"), ("sum:", 0, "sum: takes 1 or more arguments, not 0"),
    ):  # fmt: skip
        with pytest.raises(InvalidArgumentError) as caught:
            Expression.function(name, *[1] * arguments)
        assert (str(caught.value), caught.value.key) == (message, name)
        with pytest.raises(PredicateSyntaxError) as unread:
            Expression(f"({name}({', '.join(['1'] * arguments)}))" if arguments else f"({name}())")
        assert message in str(unread.value)
        assert unread.value.offset == 1
    for text, message in (
        ("nmae", "nmae"), ("$x", "$x does not have a value"), ("name + 1", "add:to: takes numbers"),
        ("age / 0", "division by zero"),
    ):  # fmt: skip
        with pytest.raises(PredicateError) as failed:
            Expression(text).value(staff.first("Employee", "name == 'Ada'"))
        assert message in str(failed.value)


def test_exception_of_a_block_is_the_cause() -> None:
    def fail(*_: Any) -> Any:
        raise KeyError("no such luck")

    for evaluate in (
        lambda: Expression.block(fail).value(1), lambda: Expression("1 + %@", Expression.block(fail)).value(1),
        lambda: Predicate("SELF == %@", Expression.block(fail)).filter([1, 2]),
    ):  # fmt: skip
        with pytest.raises(CallbackError, match="no such luck") as caught:
            evaluate()
        assert isinstance(caught.value.__cause__, KeyError)


@pytest.fixture
def functions() -> Iterator[list[Any]]:
    """The calls of a function that returns its number of arguments."""
    calls: list[Any] = []

    @register_function("noted")
    def noted(*given: Any) -> int:
        calls.append(given)
        return len(given)

    yield calls
    unregister_function("noted")


def test_function_is_called_once_per_receiver_that_is_not_nil(functions: list[Any]) -> None:
    assert Expression("FUNCTION(SELF, 'noted')").value(7) == 1
    assert Expression("FUNCTION(SELF, 'noted', 2, nil, {3})").value(7) == 4
    assert functions == [(7,), (7, 2, None, [3])]
    for text in ("FUNCTION(nil, 'noted')", "FUNCTION(missing, 'noted', 1)", "FUNCTION(a.b, 'noted')"):
        assert Expression(text).value({"a": {}}) is None
    assert len(functions) == 2
    with pytest.raises(
        PredicateError, match=r'the function "notde" is not defined for a number; did you mean "noted"\?'
    ) as caught:
        Expression("FUNCTION(SELF, 'notde')").value(7)
    assert caught.value.key == "notde"


def test_receiver_is_the_first_operand_of_a_call() -> None:
    for receiver in ("SELF", "name", "$x", "1"):
        call = Expression(f"FUNCTION({receiver}, 'noted', 2)")
        assert call.operands == (Expression(receiver), Expression("2"))


def test_function_can_unregister_itself_during_its_call() -> None:
    @register_function("once")
    def once(number: int) -> int:
        unregister_function("once")
        return number * 2

    with pytest.raises(PredicateError, match='the function "once" is not defined for a number'):
        Expression("FUNCTION(SELF, 'once') + FUNCTION(SELF, 'once')").value(1)
    register_function("once", once)
    assert Expression("FUNCTION(SELF, 'once')").value(1) == 2
    assert not unregister_function("once")


def test_function_receives_objects_with_unsaved_changes(staff: Context, functions: list[Any]) -> None:
    ada = staff.first("Employee", "name == 'Ada'")
    ada.age = 99
    seen = Predicate.block(lambda person, _: bool(person.age == 99))
    assert list(staff.fetch("Employee", seen)) == [ada]
    oldest = Predicate("%@ == 99", Expression.block(lambda person, *_: person.age))
    assert list(staff.fetch("Employee", oldest)) == [ada]
    found = staff.fetch("Employee", "FUNCTION(SELF, 'noted') == 1 AND name IN {'Ada', 'Boris'}")
    assert {each[0] for each in functions} >= set(found)
    assert len(found) == 2
    # Even where the rest goes by what is saved.
    now = Expression.block(lambda person, *_: person.age)
    saved = staff.fetch("Employee", Predicate("age == 36 AND %@ == 99", now), include_pending_changes=False)
    assert list(saved) == [ada]
    assert not staff.fetch("Employee", Predicate("age == 36 AND %@ == 99", now))


def test_fetch_expression_returns_objects(staff: Context) -> None:
    old = FetchRequest("Employee", "age > 40", sort="age")
    alone, bound = Expression.fetch(old), Expression.fetch(old, staff)
    counted = Expression.fetch(old, staff, count_only=True)
    old.predicate = None  # it was copied
    assert [each.name for each in bound.value(0)] == ["Boris", "Dmitri", "Grace"]
    assert counted.value(0) == 3
    for expression in (alone, bound):
        found = staff.fetch("Employee", Predicate("SELF IN %@", expression), sort="age")
        assert [each.name for each in found] == ["Boris", "Dmitri", "Grace"]
    staff.first("Employee", "name == 'Ada'").age = 50
    assert counted.value(0) == 4
    assert staff.count("Employee", Predicate("SELF IN %@", alone)) == 4
    with pytest.raises(PredicateError, match="FETCH does not have a context; pass one") as caught:
        Predicate("SELF IN %@", alone).evaluate(staff.first("Employee"))
    assert caught.value.code == 0
    staff.rollback()


def test_fetch_expression_in_a_predicate_is_executed_once(staff: Context) -> None:
    statistics = staff.container.coordinator.statistics
    old = Expression.fetch(FetchRequest("Employee", "age > 40"))
    people = staff.fetch("Employee", Predicate("SELF IN %@ AND name != 'Boris'", old))
    assert len(people) == 2
    assert staff.container.coordinator.statistics.fetches - statistics.fetches == 2
    plan = str(staff.explain("Employee", Predicate("SELF IN %@", old)))
    assert "in memory: nothing" in plan


def test_fetch_expression_value_depends_on_the_result_type(staff: Context) -> None:
    request = FetchRequest("Employee", "age > 40", sort="age", result_type="ids")
    ids = Expression.fetch(request, staff).value(0)
    people = staff.fetch("Employee", "age > 40", sort="age")
    assert ids == people.ids()
    assert staff.count("Employee", Predicate("SELF IN %@", Expression.fetch(request))) == 3
    request.result_type, request.columns = "dictionaries", ["name", "age"]
    assert Expression.fetch(request, staff).value(0) == [
        {"name": "Boris", "age": 45}, {"name": "Dmitri", "age": 51}, {"name": "Grace", "age": 60},
    ]  # fmt: skip
    request.result_type, request.columns = "count", None
    assert Expression.fetch(request, staff).value(0) == 3


def test_predicates_and_expressions_are_value_types() -> None:
    for text in ("age > 40 AND name ==[cd] 'é'", "ANY a.b IN {1, 2.5, nil}", "SUBQUERY(a, $x, $x.b == 1).@count > 0"):
        predicate, same = Predicate(text), Predicate(text)
        assert predicate == same
        assert hash(predicate) == hash(same)
        assert predicate != Predicate("age > 40")
        assert predicate != text
        for again in (copy.copy(predicate), copy.deepcopy(predicate), pickle.loads(pickle.dumps(predicate))):
            assert again == predicate
            assert again.format == predicate.format
    assert Expression("a + 1") == Expression("add:to:(a, 1)") != Expression("1 + a")
    assert len({Predicate("a == 1"), Predicate("a = 1"), Predicate("a == 2")}) == 2
    again = pickle.loads(pickle.dumps(Predicate("SELF == %@ AND b > %@", 'it\'s "x"', 2.5)))
    assert again.filter([]) == []
    assert again == Predicate("SELF == %@ AND b > %@", 'it\'s "x"', 2.5)
    with pytest.raises(TypeError):
        bool(Predicate("a == 1"))
