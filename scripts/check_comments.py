"""Checks the form of doc comments (docs/STYLE.md): summaries, and errors.

A summary fits on one line. That of a Boolean begins with "Whether". Each error has a line of its own.

Usage: check_comments.py [FOLDER…]   lists every problem; without folders, those of the whole project
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from check_style import GENERATED, checked_files
from project import ROOT, finish

# A sentence ends at the end of the line, where a colon introduces a list, or before the next sentence, which may begin
# with nil, a path or a name with an underscore.
_SENTENCE_END = re.compile(
    r"""[.:!?…][)"'`*]*$"""
    r"""|(?<!e\.g)(?<!i\.e)[.!?…][)"'`*]* +(?:[^a-z]|nil\b|[\w.]+[_/]\w)"""
)
# The first words of the summary of a Boolean that does not begin with "Whether".
_BOOLEAN = re.compile(
    r"(?:Returns|Reports|Tells|Checks|Determines|Indicates|Tests) (?:whether|if)\b"
    r"|(?:Returns )?(?:[Tt]rue|YES) (?:if|for|in|when|while|unless)\b"
)
_LIST_ITEM = re.compile(r"[-*] |\d+\. ")
_FIELD = re.compile(r"- (?:\w+ )*\w+:")
_THROWS = "- Throws:"

_CONDITION = r"(?:\([^)]*\) )?(?:if|for|with|while|unless|after|before|within|in|during|on|outside)\b"
_ERROR = r"(?:CST_E_\w+|\w+(?:Error|Warning)\b|(?:[Cc]ode )?\d{4,6}\b)"
_THROWN = rf"(?:`\.\w+`|`[\w.]+` {_CONDITION}|{_ERROR}|(?:[Tt]he |[Aa]n? )?[Ee]rrors? of\b|[Aa]s `)"
# Two errors in one sentence, each with a condition.
_JOINED = re.compile(rf"{_ERROR} {_CONDITION}[^.;]*[;,] (?:and )?(?:with )?{_ERROR} {_CONDITION}")
_JOINED_THROWN = re.compile(rf"`\.\w+` {_CONDITION}[^.]*, (?:and )?`\.\w+` {_CONDITION}")
# An error that begins in the middle of a line.
_SECOND = re.compile(rf"[.;] {_ERROR} {_CONDITION}")
_SECOND_THROWN = re.compile(rf";|\. {_THROWN}")


@dataclass
class Comment:
    """A doc comment, or a part of one, without its marks. `line` is the number of its first line in the file."""

    line: int
    lines: list[str]


def swift_comments(text: str) -> Iterator[Comment]:
    """Yields the blocks of adjacent `///` lines."""
    block = Comment(0, [])
    for number, line in enumerate([*text.splitlines(), ""], 1):
        code, mark, words = line.partition("///")
        if mark and not code.strip():
            block = block if block.lines else Comment(number, [])
            block.lines.append(words.strip())
        elif block.lines:
            yield block
            block = Comment(0, [])


def c_comments(text: str) -> Iterator[Comment]:
    """Yields the comments between `/*` and `*/`."""
    for match in re.finditer(r"/\*(.*?)\*/", text, re.DOTALL):
        lines = [line.strip().removeprefix("*").strip() for line in match.group(1).split("\n")]
        yield Comment(text.count("\n", 0, match.start()) + 1, lines)


def python_comments(text: str) -> Iterator[Comment]:
    """Yields the docstrings of the module, its classes, functions and fields."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield Comment(node.lineno, [line.strip() for line in node.value.value.rstrip().split("\n")])


COMMENTS = {".swift": swift_comments, ".h": c_comments, ".py": python_comments}


def has_long_summary(comment: Comment) -> bool:
    """Whether the first sentence of a comment continues on the second line."""
    first, second = [*comment.lines, ""][:2]
    if not second or _LIST_ITEM.match(first) or _LIST_ITEM.match(second):
        return False
    return _SENTENCE_END.search(first) is None


def boolean_words(comment: Comment) -> str | None:
    """Returns the first words of a summary that should begin with "Whether"; None for other summaries."""
    found = _BOOLEAN.match(comment.lines[0])
    return found.group() if found else None


def parts(comment: Comment) -> Iterator[Comment]:
    """Yields the paragraphs of a comment and its fields, such as `- Throws:`."""
    start = 0
    for index, line in enumerate([*comment.lines, ""]):
        if not line or _FIELD.match(line):
            if start < index:
                yield Comment(comment.line + start, comment.lines[start:index])
            start = index if line else index + 1


def joined_errors(part: Comment) -> list[int]:
    """Returns the lines of a part in which an error follows another one."""
    is_thrown = part.lines[0].startswith(_THROWS)
    second, joined = (_SECOND_THROWN, _JOINED_THROWN) if is_thrown else (_SECOND, _JOINED)
    found: list[int] = []
    if is_thrown or re.match(_ERROR, part.lines[0]):
        found = [part.line + index for index, line in enumerate(part.lines) if second.search(line)]
    if not found and joined.search(" ".join(part.lines)):
        found = [part.line]
    return found


def problems_in(text: str, file: str) -> Iterator[str]:
    """Yields the problems of the comments in the text of a file, each with its place."""
    for comment in COMMENTS[Path(file).suffix](text):
        if has_long_summary(comment):
            yield f'{file}:{comment.line}: the summary is longer than a line; shorten "{comment.lines[0]}"'
        if words := boolean_words(comment):
            yield f'{file}:{comment.line}: the Boolean summary begins with "{words}"; begin it with "Whether"'
        for part in parts(comment):
            for line in joined_errors(part):
                yield f"{file}:{line}: the line lists a second error; write one per line, each with its condition"


def main(arguments: list[str]) -> None:
    problems: list[str] = []
    count = 0
    for path in checked_files(ROOT):
        file = path.relative_to(ROOT).as_posix()
        if path.suffix not in COMMENTS or not file.startswith(tuple(arguments) or ""):
            continue
        text = path.read_text(encoding="utf-8")
        if not GENERATED.search(text[:400]):
            count += 1
            problems += problems_in(text, file)
    finish("check-comments", problems, f"{count} files have doc comments of the right form")


if __name__ == "__main__":
    main(sys.argv[1:])
