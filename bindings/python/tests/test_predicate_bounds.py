"""Hostile and deep formats, on a thread with a stack of 512 KB: the built library refuses or takes them, and stays."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable

import pytest

from corestone import Expression, Predicate, PredicateError, PredicateSyntaxError

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
def test_the_deepest_formats_fit(text: str) -> None:
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
def test_a_megabyte_of_anything_is_refused(unit: str) -> None:
    text = unit * (MEGABYTE // len(unit))

    def body() -> None:
        for make in (Predicate, Expression):
            with pytest.raises(PredicateSyntaxError):
                make(text)

    on_small_stack(body)


def test_a_megabyte_of_keys_is_a_key_path() -> None:
    def body() -> None:
        assert not Predicate("a." * (MEGABYTE // 2) + "a == 1").evaluate({})

    on_small_stack(body)
