"""The list of messages: how it reads Swift and Python."""

from __future__ import annotations

import messages
import pytest
from swift_text import Source, Token, UnreadableSource, walk


def literals(text: str) -> list[str]:
    """The string literals of a source, interpolations as {}."""
    tokens = (inside[index] for inside, index in walk(Source(text, "a.swift").tokens))
    return [value(token) for token in tokens if token.kind == "string"]


def value(token: Token) -> str:
    return "".join(part if isinstance(part, str) else "{}" for part in token.parts)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r'"plain"', ["plain"]),
        (r'"a\n\t\"b\" \\ \u{e9}"', ['a\n\t"b" \\ é']),
        (r'"\(a ? "x" : "y") z"', ["{} z", "x", "y"]),
        (r'"\(f("(", [")"])) tail"', ["{} tail", "(", ")"]),
        (r'#"raw \n "quoted" \#(name)"#', ['raw \\n "quoted" {}']),
        ('"""\n    one\n      two\\\n    three\n    """', ["one\n  twothree"]),
        ('#""""#', ['""']),
        ('/* "no" /* nested "no" */ */ "yes" // "no"', ["yes"]),
        ('a / b + "c" / "d"', ["c", "d"]),
        ('let r = /"x/; "after"', ["after"]),
    ],
)
def test_swift_literals_are_parsed(text: str, expected: list[str]) -> None:
    assert literals(text) == expected


@pytest.mark.parametrize("text", ['"open', "f(", "f(]", "/* open", r'"\q"'])
def test_unreadable_source_names_its_line(text: str) -> None:
    with pytest.raises(UnreadableSource, match=r"a\.swift:1"):
        Source(text, "a.swift")


def collected(text: str) -> list[tuple[str, str, str]]:
    """Kind, text and label of the messages in a Swift source."""
    found = messages.SwiftMessages()
    found.read({"Sources/A/a.swift": text})
    return [(message.kind, message.text, message.label) for message in found.found]


def test_messages_of_constructors_are_collected() -> None:
    assert collected(
        """
        func f() throws {
            throw CoreError(
                .storeIO, code: .sqlite,
                "cannot \\(action) \\(place.path)"
                    + (isBusy ? ": it is busy" : "") + " now", entity: "a b", key: name)
        }
        """
    ) == [("error", "cannot {action} {place.path}{: it is busy / -} now", "`CST_E_STORE_IO` 134180")]


def test_messages_of_error_functions_are_collected() -> None:
    found = collected(
        """
        func whole(_ message: String, key: String) -> CoreError {
            CoreError(.model, code: .coreData, message, key: key)
        }
        func part(_ what: String) -> CoreError { CoreError(.notAStore, "the file \\(what); restore it") }
        func f(_ name: String) throws {
            if name.isEmpty { throw whole("the name is empty", key: "not prose") }
            throw part("is too short")
        }
        let reason = "no reason at all"
        """
    )
    assert found == [
        ("error", "the file {what}; restore it", "`CST_E_NOT_A_STORE`"),
        ("error", "the name is empty", "`CST_E_MODEL` 134060"),
        ("part", "is too short", "`CST_E_NOT_A_STORE`"),
        ("part", "no reason at all", ""),
    ]


def test_sums_and_mapped_options_have_readable_placeholders() -> None:
    found = collected(
        """
        func f() throws {
            throw CoreError(.model, "argument \\(place + 1) of \\(name.map { "the function \\($0)" } ?? "a call") is "
                + parts.map { "\\($0)" }.joined(separator: ", "))
        }
        """
    )
    assert found == [
        ("error", "argument {place + 1} of {name / a call} is {parts}", "`CST_E_MODEL`"),
        ("part", "the function {name}", ""),
    ]


@pytest.mark.parametrize(
    "text",
    [
        '"SELECT a FROM b"',
        '"ALTER TABLE \\(name) ADD COLUMN \\(key)"',
        '"CAST(\\(a) AS REAL)"',
        '"\\(column) IS NOT NULL"',
        '"WHEN " + number + " THEN " + name',
        '"IFNULL(" + column + ", 0) + 1"',
    ],
)
def test_sql_is_not_a_message(text: str) -> None:
    assert collected(f"let sql = {text}") == []


@pytest.mark.parametrize(
    "text",
    [
        'convert with CAST(…, "NSString")',
        "add it with: ALTER TABLE a ADD COLUMN b INTEGER DEFAULT 1",
        "does not have an entity number (Z_ENT)",
    ],
)
def test_advice_with_a_function_or_statement_is_a_message(text: str) -> None:
    written = text.replace('"', '\\"')
    assert collected(f'let advice = "{written}"') == [("part", text, "")]


def test_nil_is_the_empty_choice() -> None:
    assert collected('let r = f(remedy: isLong ? "add the element" : nil, other: (a ? "one word" : nil) ?? "")') == [
        ("part", "add the element", ""),
        ("part", "one word", ""),
    ]
    source = 'func f() throws { throw CoreError(.model, isLong ? "add the element" : nil) }'
    assert collected(source) == [("error", "{add the element / -}", "`CST_E_MODEL`")]


def test_python_messages_are_collected() -> None:
    source = (
        "def f(a, b):\n"
        "    if a:\n"
        "        raise TypeMismatchError(\n"
        "            f'{a!r} is not {b.name}' + (' yet' if b else ''), key='a b'\n"
        "        )\n"
        "    raise ModelError('one word')\n"
    )
    found = messages.PythonMessages(source, "a.py").found
    assert [(message.text, message.label, message.line) for message in found] == [
        ("{a} is not {b.name}{ yet / -}", "`TypeMismatchError`", 4),
        ("one word", "`ModelError`", 6),
    ]
