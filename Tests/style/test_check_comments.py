"""The check of doc comments: the summaries and the errors that it reports."""

from __future__ import annotations

import check_comments
import pytest


def problems(text: str, file: str) -> list[str]:
    """The lines of the problems, and the first words of each."""
    found = (problem.split(":") for problem in check_comments.problems_in(text, file))
    return [f"{line} {words.split()[1]}" for _, line, words, *_ in found]


@pytest.mark.parametrize(
    ("text", "file"),
    [
        ("/// Returns the number of\n/// objects.\nvar count: Int", "a.swift"),
        ("    /// The rows, e.g. those of\n    /// Person.", "a.swift"),
        ("/* Returns the number of\n * objects. */", "a.h"),
        ("int a; /* the number of\n        * objects */", "a.h"),
        ('"""The number of\nobjects."""', "a.py"),
    ],
)
def test_long_summary_is_reported(text: str, file: str) -> None:
    assert problems(text, file) == ["1 summary"]


@pytest.mark.parametrize(
    ("text", "file"),
    [
        ("/// Returns the objects.\n///\n/// Only those of\n/// one entity.", "a.swift"),
        ("/// The store (of objects.)\n/// Its path.", "a.swift"),
        ("/// The path. nil for a store\n/// in memory.", "a.swift"),
        ("/// The number\n/// - Returns: An integer.", "a.swift"),
        ("let a = 1  // the number of\n// objects", "a.swift"),
        ("/* Reads a file. docs/a.md\n * lists the keys. */", "a.h"),
        ("/* Reads a file. cst_a\n * writes it. */", "a.h"),
        ("/* Columns:\n * one, two */", "a.h"),
        ('def f() -> None:\n    """Returns the objects. Only\n    those of one entity."""', "a.py"),
        ('a = """A text of\ntwo lines"""', "a.py"),
    ],
)
def test_short_summary_is_not_reported(text: str, file: str) -> None:
    assert problems(text, file) == []


@pytest.mark.parametrize(
    ("text", "file"),
    [
        ("/// Returns whether the store is open.\nvar isOpen: Bool", "a.swift"),
        ("    /// Checks if the store is open.", "a.swift"),
        ("/// Returns true if the store is open.", "a.swift"),
        ("/* Reports whether the store is open. */", "a.h"),
        ("/* True if the store is open. */", "a.h"),
        ("bool a; /* true if the store is open */", "a.h"),
        ('def f() -> bool:\n    """Returns whether the store is open."""', "a.py"),
    ],
)
def test_boolean_summary_without_whether_is_reported(text: str, file: str) -> None:
    assert problems(text, file)[0].endswith(" Boolean")


@pytest.mark.parametrize(
    ("text", "file"),
    [
        ("/// Whether the store is open.\nvar isOpen: Bool", "a.swift"),
        ("/// Removes an object. Returns whether it was found.", "a.swift"),
        ("/// Waits.\n///\n/// Returns whether it was long.", "a.swift"),
        ("/// Removes an object.\n///\n/// - Returns: True if it was found.", "a.swift"),
        ("/* Sets whether the store is open. */", "a.h"),
        ("/* Reports which values are equal. */", "a.h"),
        ('"""Throws if the store is open."""', "a.py"),
    ],
)
def test_boolean_summary_with_whether_is_not_reported(text: str, file: str) -> None:
    assert problems(text, file) == []


@pytest.mark.parametrize(
    ("text", "file", "line"),
    [
        ("/// Saves.\n///\n/// - Throws: `.a` if it is; the errors of `b`.", "a.swift", 3),
        ("/// Saves.\n///\n/// - Throws: `.a` if it is.\n///   `.b` if not. The errors of `c`.", "a.swift", 4),
        ("/// Saves.\n///\n/// - Throws: `.a` if it is, `.b`\n///   for others.", "a.swift", 3),
        ("/* Saves.\n *\n * CST_E_A if it is; CST_E_B if not. */", "a.h", 3),
        ("/* Saves.\n *\n * CST_E_A if it is.\n * CST_E_B if not. CST_E_C (12) for others. */", "a.h", 4),
        ("/* Saves. Fails with CST_E_A if it is, and\n * with code 134060 if not. */", "a.h", 1),
        ('"""Saves.\n\nAError if it is. BError for others.\n"""', "a.py", 3),
    ],
)
def test_errors_on_one_line_are_reported(text: str, file: str, line: int) -> None:
    assert problems(text, file) == [f"{line} line"]


@pytest.mark.parametrize(
    ("text", "file"),
    [
        (
            "/// Saves.\n///\n/// - Throws: `.a` or `.b` if it is.\n///   `.c` if not.\n/// - Note: One; two.",
            "a.swift",
        ),
        ("/* Saves.\n *\n * CST_E_A if it is; the details list all.\n * CST_E_B or CST_E_C if not. */", "a.h"),
        ("/* Fails with CST_E_A if it is. The call returns CST_END. */", "a.h"),
        ('"""Saves.\n\nAError if it is.\nBError for others.\n"""', "a.py"),
    ],
)
def test_one_error_per_line_is_not_reported(text: str, file: str) -> None:
    assert problems(text, file) == []
