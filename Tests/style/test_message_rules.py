"""The rules of messages that a program checks: texts that break a rule, and similar texts that do not."""

from __future__ import annotations

from dataclasses import dataclass

import message_rules
import pytest

CONSTANTS = ["CST_GUARD_ALLOW_TYPE_CHANGES", "CST_QUEUE_CALLER", "CST_QUEUE_PRIVATE", "CST_QUEUE_MAIN"]


@dataclass(frozen=True)
class Message:
    text: str
    kind: str = "error"
    file: str = "Sources/A/a.swift"
    line: int = 7


def mistakes(text: str, kind: str = "error") -> list[str]:
    """The mistakes in a message, without file and line."""
    found = message_rules.problems([Message(text, kind)], CONSTANTS, {})
    return [each.removeprefix("Sources/A/a.swift:7: ") for each in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Person is in no configuration", '"in no"'),
        ("the store {is / has} no path", '"is no"'),
        ("the copy was cancelled, and no file was written", '"no file was"'),
        ("no open store can hold Person objects", '"no open store can"'),
        ("{uri} was changed; refresh the object", "name cst_object_refresh"),
        ("{uri} was changed; save again, or refresh it", "name cst_object_refresh"),
        ("{uri} was deleted. Roll back, or call cst_context_delete (delete)", "name cst_context_rollback"),
        ("a.store was replaced; remove the store with cst_f (f), and add it again", "name cst_coordinator_add_store"),
        ("the context has no queue type; create the context with a private queue", "name CST_QUEUE_PRIVATE"),
        ("x is bound; bind it again", "name cst_main_queue_bind"),
        ("a is 1; use 2; use 3", "two semicolons"),
        ("{a / b; c}; use 3", "two semicolons"),
        ("the store is full.", "full stop"),
        ("The store is full", '"The"'),
        ("you passed 3", '"you"'),
        ("the value (" + "a " * 24 + "b) is 3", "has 29 words"),
        ("the list" + " is long" * 13, "has 28 words"),
        ("the value may not be 3", '"may not"'),
        ("flags is 2; use CST_GUARD_ constants", "CST_GUARD_ is not the prefix of several constants"),
        ("flags is 2; use a CST_OTHER_ constant", "CST_OTHER_ is not the prefix of several constants"),
    ],
)
def test_mistake_is_reported(text: str, expected: str) -> None:
    assert any(expected in mistake for mistake in mistakes(text)), mistakes(text)


@pytest.mark.parametrize(
    "text",
    [
        '{entity.name} has no property "nmae"; did you mean "name"?',
        "the batch size has no effect",
        "{path} is no longer open",
        "Person.age takes an integer, not a string",
        "{uri} was changed; call cst_object_refresh (refresh) on the object",
        "{uri} was changed; refresh it with cst_object_refresh (refresh)",
        "cannot refresh the object in an observer; do so after that change",
        "the object was detached; do not reset the context in a policy",
        "{name} is not registered; register it with corestone.register_transformer",
        "cannot write a.store: No space left on device; free some space and save again",
        "the model {is / is not} frozen; {correct it / use another}",
        '"{name}; x; y" is not a name; use letters',
        "the row is new. Save again",
        "Corestone needs SQLite 3.39 or newer",
        "SELF is not a key; name a property",
        "Person.age is 5, but must be at least 6",
        "{path} has the extension .cdm; use .mom",
        "queue is 7; use a CST_QUEUE_ constant",
        "the time-out is too long…",
        "use " + ", ".join(f"name{number}" for number in range(30)) + " or CST_LAST (last)",
        "call cst_f (" + ", ".join(f"name{number}" for number in range(30)) + ")",
    ],
)
def test_good_message_is_not_reported(text: str) -> None:
    assert mistakes(text) == []


def test_part_may_be_a_sentence_and_may_end_before_the_name() -> None:
    assert mistakes("The first is lost.", "part") == []
    assert mistakes("it was changed; migrate the store with", "part") == []
    assert mistakes("it was changed; migrate the store", "part") != []


def test_manual_of_the_tool_is_not_checked() -> None:
    text = "It lists no finding; a file is skipped; a folder is in no list."
    assert message_rules.problems([Message(text, "part", "Sources/corestone-cli/a.swift")], CONSTANTS, {}) == []


def test_readings_combine_the_choices_of_a_message() -> None:
    assert message_rules.readings("the {a / {b.c}} is {x}{- / : {y}}") == [
        "the a is {}",
        "the a is {}: {}",
        "the {} is {}",
        "the {} is {}: {}",
    ]


def test_message_with_too_many_readings_is_reported() -> None:
    pairs = message_rules.MOST_READINGS.bit_length()
    assert mistakes("a" + "{ b / c}" * (pairs - 1)) == []
    (mistake,) = mistakes("a" + "{ b / c}" * pairs)
    assert mistake.startswith(f"the choices have {2**pairs} combinations")


def test_exception_hides_a_mistake_and_is_reported_when_unused() -> None:
    exceptions = {"Sources/A/a.swift": ("is in no",), "Sources/B/b.swift": ("gone",)}
    unused = 'scripts/message_rules.py: unused exception "{}" of {}'.format
    bad, good = Message("x is in no configuration"), Message("x is in no longer list")
    gone = unused("gone", "Sources/B/b.swift")
    assert message_rules.problems([bad], CONSTANTS, exceptions) == [gone]
    assert message_rules.problems([good], CONSTANTS, exceptions) == [unused("is in no", "Sources/A/a.swift"), gone]


def test_exceptions_are_few() -> None:
    assert sum(map(len, message_rules.EXCEPTIONS.values())) <= message_rules.MOST_EXCEPTIONS
