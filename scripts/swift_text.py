"""Reads Swift sources as tokens, with string literals divided into text and interpolated expressions.

It supports interpolations that contain further literals, raw and multi-line literals, nested comments, and
regular-expression literals. Names, numbers and operators are returned as written.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Union

_WORD = re.compile(
    r"(?:\s+|//[^\n]*)*"  # white space and comments to the end of the line
    r"(?:(?P<comment>/\*)"
    r'|(?P<quotes>\#*(?:"""(?=[ \t]*\n)|"))'
    r"|(?P<regex>\#+/)"
    r"|(?P<name>[@\#]?[^\W\d]\w*|`[^`\n]+`|\$\d+)"
    r"|(?P<number>\d(?:\w|\.\d)*)"
    r"|(?P<opening>[(\[{])"
    r"|(?P<closing>[)\]}])"
    r"|(?P<slash>/)"
    r"|(?P<mark>[-+*%=<>!&|^~?]+|\.{2,3}<?|.)"
    r"|(?P<end>\Z)"
    r")",
    re.DOTALL | re.VERBOSE,
)
_COMMENT_EDGE = re.compile(r"/\*|\*/")
_REGEX = re.compile(r"/[^\s/](?:\\.|[^\\/\n])*/")
_SCALAR = re.compile(r"u\{([0-9a-fA-F]+)\}")
_LINE_END = re.compile(r"[ \t]*\n")
_PLAIN = {False: re.compile(r'[^"\\\n]+'), True: re.compile(r'[^"\\]+')}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", '"': '"', "'": "'", "\\": "\\"}
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_BEFORE_EXPRESSION = {"return", "in", "case", "where", "try"}
_AFTER_OPERAND = {"?", "!"}
# Marks a line break in a multi-line literal that a backslash before it removes.
_CONTINUED = "\0continued\0"


class Token:
    """A token. `kind` is "name", "number", "mark", "string" or "group"; a group is brackets with their content."""

    __slots__ = ("end", "inside", "kind", "parts", "place", "text")

    def __init__(self, kind: str, text: str, place: int) -> None:
        self.kind = kind
        self.text = text
        # The index of its first character in the source, and the index after its last character.
        self.place = place
        self.end = place + len(text)
        # The parts of a string: text, or the tokens of an interpolated expression.
        self.parts: list[Part] = []
        # The tokens between the brackets of a group.
        self.inside: list[Token] = []

    def is_mark(self, text: str) -> bool:
        return self.kind == "mark" and self.text == text

    def is_group(self, text: str) -> bool:
        return self.kind == "group" and self.text == text


Part = Union[str, "list[Token]"]


class UnreadableSource(Exception):
    """A source that this reader cannot parse."""


class Source:
    """A source as a tree of tokens."""

    def __init__(self, text: str, name: str) -> None:
        self.text = text
        self.name = name
        self._line_starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self._position = 0
        self.tokens = self._read("")

    def line(self, token: Token) -> int:
        return bisect_right(self._line_starts, token.place)

    def written(self, tokens: list[Token]) -> str:
        """Returns the source text of consecutive tokens, on one line."""
        return " ".join(self.text[tokens[0].place : tokens[-1].end].split()) if tokens else ""

    def _fail(self, problem: str) -> UnreadableSource:
        return UnreadableSource(f"{self.name}:{bisect_right(self._line_starts, self._position)}: {problem}")

    def _read(self, closing: str) -> list[Token]:
        """Reads the tokens up to the bracket `closing`, which is consumed; up to the end of the source for ""."""
        found: list[Token] = []
        while True:
            match = _WORD.match(self.text, self._position)
            if match is None or match.lastgroup == "end":
                if closing:
                    raise self._fail(f"expected {closing} before the end of the file")
                return found
            kind = match.lastgroup
            assert kind is not None
            text, place = match[kind], match.start(kind)
            self._position = match.end()
            if kind in ("name", "number", "mark"):
                found.append(Token(kind, text, place))
            elif kind == "opening":
                group = Token("group", text, place)
                group.inside = self._read(_CLOSING[text])
                group.end = self._position
                found.append(group)
            elif kind == "closing":
                if text != closing:
                    raise self._fail(f"expected {closing or 'no bracket'} instead of {text}")
                return found
            elif kind == "quotes":
                hashes = text.count("#")
                string = Token("string", "", place)
                string.parts = self._string(hashes, len(text) - hashes == 3)
                string.end = self._position
                found.append(string)
            elif kind == "comment":
                self._skip_comment()
            else:
                found.append(Token("mark", self._slash(kind, text, place, found), place))

    def _skip_comment(self) -> None:
        depth = 1
        for match in _COMMENT_EDGE.finditer(self.text, self._position):
            depth += 1 if match.group() == "/*" else -1
            if depth == 0:
                self._position = match.end()
                return
        raise self._fail("a comment does not end")

    def _slash(self, kind: str, text: str, place: int, before: list[Token]) -> str:
        """Reads a regular-expression literal, or a division if an operand precedes."""
        if kind == "regex":
            end = self.text.find("/" + text[:-1], self._position)
            if end < 0:
                raise self._fail("a regular expression does not end")
            self._position = end + len(text)
        elif not before or _expects_operand(before[-1]):
            match = _REGEX.match(self.text, place)
            if match:
                self._position = match.end()
        return self.text[place : self._position]

    def _string(self, hashes: int, is_long: bool) -> list[Part]:
        """Reads the parts of a literal after its opening quotes, and consumes the closing quotes."""
        closing = ('"""' if is_long else '"') + "#" * hashes
        escape = "\\" + "#" * hashes
        parts: list[Part] = [""]
        plain = _PLAIN[is_long]
        while True:
            match = plain.match(self.text, self._position)
            if match:
                self._position = match.end()
                _append(parts, match.group())
            if self.text.startswith(closing, self._position):
                self._position += len(closing)
                return _without_indentation(parts) if is_long else parts
            if self.text.startswith(escape, self._position):
                self._position += len(escape)
                if self.text.startswith("(", self._position):
                    self._position += 1
                    parts.append(self._read(")"))
                else:
                    _append(parts, self._escaped())
            elif self.text[self._position : self._position + 1] in ("", "\n"):
                raise self._fail("a string does not end")
            else:
                _append(parts, self.text[self._position])
                self._position += 1

    def _escaped(self) -> str:
        scalar = _SCALAR.match(self.text, self._position)
        if scalar:
            self._position = scalar.end()
            return chr(int(scalar.group(1), 16))
        continued = _LINE_END.match(self.text, self._position)
        if continued:
            self._position = continued.end()
            return _CONTINUED
        letter = self.text[self._position : self._position + 1]
        if letter not in _ESCAPES:
            raise self._fail(f"an unknown escape \\{letter}")
        self._position += 1
        return _ESCAPES[letter]


def _append(parts: list[Part], text: str) -> None:
    last = parts[-1]
    if isinstance(last, str):
        parts[-1] = last + text
    else:
        parts.append(text)


def _expects_operand(previous: Token) -> bool:
    if previous.kind == "name":
        return previous.text in _BEFORE_EXPRESSION
    return previous.kind == "mark" and previous.text not in _AFTER_OPERAND


def _without_indentation(parts: list[Part]) -> list[Part]:
    """Returns the value of a multi-line literal, without its first and last line break and the indentation."""
    last = parts[-1] if isinstance(parts[-1], str) else ""
    indentation = last.rpartition("\n")[2]
    stripped: list[Part] = []
    for index, part in enumerate(parts):
        if isinstance(part, str):
            part = part.replace("\n" + indentation, "\n").replace(_CONTINUED + indentation, "")
            part = part.removeprefix("\n") if index == 0 else part
            part = part.removesuffix("\n") if index == len(parts) - 1 else part
        stripped.append(part)
    return stripped


def walk(tokens: list[Token]) -> Iterator[tuple[list[Token], int]]:
    """Yields every token of a tree, with those of interpolations, in source order: its list and its index there."""
    for index, token in enumerate(tokens):
        yield tokens, index
        if token.inside:
            yield from walk(token.inside)
        for part in token.parts:
            if isinstance(part, list):
                yield from walk(part)
