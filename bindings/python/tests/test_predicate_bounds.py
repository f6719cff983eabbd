"""Hostile and deep formats, on a thread with a stack of 512 KB, and patterns.

The built library rejects or accepts them without a crash.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from corestone import (
    Container,
    Expression,
    ExpressionDescription,
    FetchRequest,
    InvalidArgumentError,
    Model,
    ModelError,
    Operator,
    Predicate,
    PredicateError,
    PredicateSyntaxError,
    UnsupportedError,
)

DEEPEST = 99
MEGABYTE = 1 << 20


def on_small_stack(body: Callable[[], None]) -> None:
    failures: list[BaseException] = []

    def run() -> None:
        try:
            body()
        except BaseException as error:
            failures.append(error)

    before = threading.stack_size(512 * 1024)
    try:
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    if failures:
        raise failures[0]


def nested(opening: str, inner: str, closing: str, count: int = DEEPEST) -> str:
    return opening * count + inner + closing * count


@pytest.mark.parametrize(
    "text",
    [
        nested("(", "a == 1", ")"),
        nested("NOT (", "a == 1", ")"),
        "a == " + nested("abs:(", "1", ")"),
        "a == " + nested("{", "a", "}"),
        "a == " + nested("b[", "0", "]"),
        nested("(a == 1 AND ", "a == 1", ")"),
        nested("(a == 1 OR (a == 2 AND ", "a == 1", "))", DEEPEST // 2),
        "a == " + nested("1 + (2 * ", "a", ")"),
        "a == " + nested("TERNARY(a == 1, ", "1", ", 2)"),
        "a == " + nested("TERNARY(a == ", "1", ", 1, 2)"),
        nested("SUBQUERY(b, $x, ", "a == 1", ").@count > 0"),
        "a == " + nested("FUNCTION(a, 'length', ", "1", ")"),
        "NOT " * 390 + "a == 1",
        "a == 1" + " + 1" * 390,
        "a" + "[0]" * 390 + " == 1",
    ],
    ids=lambda text: str(text)[:24],
)
def test_deepest_formats_are_parsed_on_a_small_stack(text: str) -> None:
    def body() -> None:
        predicate = Predicate(text)
        assert predicate.format
        with contextlib.suppress(PredicateError):
            predicate.evaluate({"a": 1, "b": [1]})

    on_small_stack(body)


@pytest.mark.parametrize(
    "unit",
    ["(", "NOT ", "!", "-", "~", "{", "abs:(", "a[", "1 + ", "a.$b.", "$a := ", "TERNARY(", "SUBQUERY(a, $x, ", "#"],
)
def test_megabyte_of_repeated_tokens_is_rejected(unit: str) -> None:
    text = unit * (MEGABYTE // len(unit))

    def body() -> None:
        for make in (Predicate, Expression):
            with pytest.raises(PredicateSyntaxError):
                make(text)

    on_small_stack(body)


def test_megabyte_of_keys_is_a_valid_key_path() -> None:
    def body() -> None:
        assert not Predicate("a." * (MEGABYTE // 2) + "a == 1").evaluate({})

    on_small_stack(body)


#: A pattern, and a text for which one match needs too many steps, or too much memory.
BEYOND_A_MATCH = {
    "steps": ("(a+)+b", "a" * 40 + "cb"),
    "memory of a long text": ("(?:a|b)*", "a" * MEGABYTE),
    "memory of groups": ("(?:" + "(" * 10 + "a" + ")" * 10 + "|b)*", "a" * 30_000),
    "memory of many groups": ("(?:" + "(" * 50 + "a" + ")" * 50 + "|b)*", "a" * 10_000),
}


@pytest.mark.parametrize("case", BEYOND_A_MATCH)
@pytest.mark.parametrize("negated", [False, True])
def test_expensive_match_fails_in_memory_and_in_sql(tmp_path: Path, case: str, negated: bool) -> None:
    pattern, text = BEYOND_A_MATCH[case]
    format = "NOT (name MATCHES %@)" if negated else "name MATCHES %@"
    with pytest.raises(PredicateError, match=r'the regular expression ".* exceeds the limit of'):
        Predicate(format, pattern).evaluate({"name": text})
    with Container(Model({"Item": {"name": "string"}}), tmp_path / "a.sqlite", unsaved="discard") as container:
        context = container.context()
        context.insert("Item", name=text)
        for _ in range(2):
            with pytest.raises(PredicateError, match=r'the regular expression ".* exceeds the limit of'):
                list(context.fetch("Item", format, pattern))
            context.save()


@pytest.mark.parametrize("groups", [1, 10, 50])
def test_long_text_is_matched_within_the_memory_limit(groups: int) -> None:
    pattern = "(?:" + "(" * groups + "a" + ")" * groups + "|b)*"
    text = "ab" * (25_000 // groups)
    for ending, expected in [("", True), ("a", True), ("b", True), ("c", False)]:
        assert Predicate("SELF MATCHES %@", pattern).evaluate(text + ending) is expected
        assert Predicate("SELF MATCHES[c] %@", pattern).evaluate(text.upper() + ending) is expected


#: The longest list that a predicate or an expression may have in an archive, beside its other parts.
LONGEST = 9996


def of_a_list(count: int) -> str:
    return "pages IN {" + ",".join(map(str, range(count))) + "}"


def add_request(model: Model, name: str, condition: str) -> None:
    model.template(name, "Item", condition)


def add_fetched_property(model: Model, name: str, condition: str) -> None:
    model["Item"].fetched(name, "Item", condition)


def add_index(model: Model, name: str, condition: str) -> None:
    model["Item"].index(name, "pages", where=condition)


@pytest.mark.parametrize("add", [add_request, add_fetched_property, add_index])
def test_part_limit_applies_to_each_predicate_of_a_model(add: Callable[[Model, str, str], None]) -> None:
    model = Model({"Item": {"pages": "int32?"}})
    for number in range(3):
        for kind in (add_request, add_fetched_property, add_index):
            kind(model, f"{kind.__name__}{number}", of_a_list(LONGEST if kind is add else 10))
    assert Model.load(model.compiled()).describe()["fetchRequests"] == model.describe()["fetchRequests"]
    assert Model.load(model.compiled())["Item"].describe() == model["Item"].describe()
    changed = model.copy()
    add(changed, "beyond", of_a_list(LONGEST + 1))
    with pytest.raises(ModelError, match=r"beyond.* has more than 10000 parts") as caught:
        changed.compiled()
    assert caught.value.key == "beyond"


@pytest.mark.parametrize("beyond", [None, "predicate", "having", "first", "second"])
def test_part_limit_applies_to_each_predicate_of_a_request(beyond: str | None) -> None:
    def part(name: str, others: int = 0) -> str:
        return of_a_list(LONGEST - others + (name == beyond))

    columns = [
        ExpressionDescription(name, Expression(f"TERNARY({part(name, 3)}, 1, 2)"), "int64")
        for name in ("first", "second")
    ]
    request = FetchRequest("Item", part("predicate"), having=part("having"), columns=columns, group_by=["pages"])
    if beyond:
        with pytest.raises(UnsupportedError, match="has more than 10000 parts"):
            request.to_archive()
    else:
        same = FetchRequest.from_archive(request.to_archive())
        assert (same.predicate, same.having) == (request.predicate, request.having)


# The bounds that the page of predicates names: each is reached, and passed by one.


def refusal(make: Callable[[], object]) -> str:
    with pytest.raises((PredicateError, InvalidArgumentError)) as caught:
        make()
    return str(caught.value)


def test_format_is_limited_to_4_mebibytes_and_65536_arguments() -> None:
    most = 4 * MEGABYTE
    assert Predicate("a == 1" + " " * (most - 6)).format == "a == 1"
    message = refusal(lambda: Predicate("a == 1" + " " * (most - 5)))
    assert "the text has 4194305 bytes, but the limit is 4194304" in message
    many = "a IN {" + ", ".join(["%d"] * 65_536) + "}"
    assert Predicate(many, *range(65_536)).filter([{"a": 0}, {"a": 65_535}, {"a": 65_536}]) == [{"a": 0}, {"a": 65_535}]
    more = many[:-1] + ", %d}"
    assert "65537 arguments, but the limit is 65536" in refusal(lambda: Predicate(more, *range(65_537)))


@pytest.mark.parametrize(
    ("opening", "inner", "closing"),
    [
        ("(", "a == 1", ")"), ("NOT (", "a == 1", ")"), ("abs:(", "1", ")"), ("{", "1", "}"), ("b[", "0", "]"),
        ("TERNARY(a == 1, ", "1", ", 2)"), ("CAST(", "1", ", 'NSString')"), ("FUNCTION(a, 'f', ", "1", ")"),
    ],
)  # fmt: skip
def test_parentheses_calls_and_lists_nest_100_levels_deep(opening: str, inner: str, closing: str) -> None:
    before = "" if inner == "a == 1" else "a == "
    assert Predicate(before + nested(opening, inner, closing, 100)).format
    assert "exceeds the limit of 100 levels" in refusal(
        lambda: Predicate(before + nested(opening, inner, closing, 101))
    )


@pytest.mark.parametrize("unit", [" + 1", "[0]", ".$b"])
def test_parsed_operations_nest_400_levels_deep(unit: str) -> None:
    deepest = Expression("a" + unit * 400)
    assert Expression("%@", deepest).format == deepest.format
    assert Predicate("a" + unit * 399 + " == 1").format
    assert Predicate("NOT " * 399 + "a == 1").format
    for refused in (
        refusal(lambda: Expression("a" + unit * 401)), refusal(lambda: Predicate("a" + unit * 400 + " == 1")),
        refusal(lambda: Predicate("NOT " * 400 + "a == 1")),
    ):  # fmt: skip
        assert "nested operations exceed the limit of 400" in refused


def test_constructed_operations_nest_400_levels_deep() -> None:
    deep, predicate = Expression("a"), Predicate("a == 1")
    for _ in range(400):
        deep = Expression.function("add:to:", deep, 1)
    for _ in range(399):  # the comparison is the first one
        predicate = ~predicate
    deepest: list[Callable[[], object]] = [
        lambda: Expression.function("add:to:", deep, 1), lambda: ~predicate, lambda: predicate & predicate,
        lambda: Predicate.comparison(deep, Operator.EQUAL, 1), lambda: Predicate("$x == 1").substituting(x=deep),
    ]  # fmt: skip
    for make in deepest:
        with pytest.raises(InvalidArgumentError, match="an expression has more than 400 nested operations"):
            make()

    def body() -> None:
        assert deep.value({"a": 1}) == 401
        assert not predicate.evaluate({"a": 1})

    on_small_stack(body)


def test_predicate_is_limited_to_a_million_parts() -> None:
    # A comparison and its two sides are three, what joins them is one, and so is what always holds.
    one, last = Predicate("a == 1"), Predicate("FALSEPREDICATE")
    whole = [Predicate.all(*[one] * 333)] * 999 + [Predicate.all(*[one] * 332), last]
    assert Predicate.any(*whole, last).evaluate({"a": 1})
    assert "an expression has more than 1000000 parts, which is the limit" in refusal(
        lambda: Predicate.any(*whole, last, last)
    )


def test_regular_expression_is_limited_to_64_kib_and_100_groups() -> None:
    matches = Predicate("SELF MATCHES $pattern")
    assert matches.evaluate("a", {"pattern": "[" + "a" * 65_534 + "]"})
    assert "has 65537 bytes, but the limit is 65536" in refusal(
        lambda: matches.evaluate("a", {"pattern": "[" + "a" * 65_535 + "]"})
    )
    assert matches.evaluate("a", {"pattern": nested("(", "a", ")", 100)})
    assert "parentheses are too deeply nested (more than 100 groups) at byte" in refusal(
        lambda: matches.evaluate("a", {"pattern": nested("(", "a", ")", 101)})
    )
    assert matches.evaluate("a" * 32_000, {"pattern": "a" * 32_000})
    assert "regular expression is too large (more than 65536 bytes compiled) at byte" in refusal(
        lambda: matches.evaluate("a" * 33_000, {"pattern": "a" * 33_000})
    )
    assert "the limit of 1000000 steps on a string of 31 bytes" in refusal(
        lambda: matches.evaluate("a" * 30 + "!", {"pattern": "(a+)+$"})
    )
