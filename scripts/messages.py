"""Lists every error text of the library and of the Python package in docs/reference/messages.md.

Usage: messages.py                        write the page
       messages.py --check                compare the page with the sources, and check the rules of message_rules.py, as
                                          `make lint` does
       messages.py --sample N [--seed S]  print N random messages with file and line, for a review

Swift: a message is an argument of a call that creates an error: of an initialiser of an error type, or of a function
that returns an error. A literal that such a function inserts into a longer sentence is listed as a part. A literal
outside of these calls is a part too, for example a reason that another function returns.
Python: a message is an argument of an exception.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import gc
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass

import message_rules
from placeholders import Names, python_count, python_name
from project import ROOT, finish, interface
from swift_text import Source, Token

PAGE = ROOT / "docs" / "reference" / "messages.md"
SWIFT = ROOT / "Sources"
PYTHON = ROOT / "bindings" / "python" / "corestone"
# Of the tool's texts, only errors are listed.
TOOL = "corestone-cli"

# Arguments of errors that are fields, not text for people.
FIELDS = {
    "as",
    "at",
    "children",
    "code",
    "customCode",
    "domain",
    "entity",
    "file",
    "key",
    "objectURI",
    "of",
    "offset",
    "path",
    "payload",
    "predicate",
    "separator",
    "value",
}
# SQL and other text for programs. The predicate function CAST(…, "NSString") in an advice is not SQL.
NOT_PROSE = re.compile(
    r"\b(SELECT|PRAGMA|CREATE|INSERT|UPDATE|DELETE FROM|WHERE|CASE WHEN|BEGIN|COMMIT|DROP|ORDER BY|FROM|JOIN|UNION|"
    r"DEFERRED|SAVEPOINT|EXISTS|COLLATE|VALUES|INDEX|VARCHAR|PRIMARY KEY)\b|cst_\w+\(\{|^\s*<|^\s*\w+=|^public\.\w+:|"
    r"&quot;|=\"$|"
    r"\b(ATTACH|COALESCE|GROUP BY|HAVING|LIMIT|NOT NULL|NULL AS|RETURNING|ROWID|WHEN|ZTRANSACTION|(?<!\()Z_(ENT|PK))\b|"
    r"\bIS (NOT )?(NULL|\{)|\bAS (REAL|TEXT|INTEGER|BLOB|\"?\{|\"order)|^CAST\(\{|^ALTER TABLE|"
    r"\b(abs|hex|ifnull|IFNULL|length|max|substr|typeof|COUNT|SUM)\([^)]|^(AND|OR) |^CASE \{|\b(NEW|OLD)\.|"
    r"\b(BETWEEN [?{]|IN \(|NOT BETWEEN|NOT LIKE|ESCAPE|EXPLAIN QUERY|IS NOT TRUE|instr\(|INTEGER[,)]|FLOAT[,)])|"
    r" = (\?|NULL\b|'|CASE\b)|, ZTOMBSTONE|\{column\}_MIN|\.sql\}|^NOT \(|^MAPPING, |AND \{column\}|"
    # The language of Graphviz.
    r"\[\w+=|^, \w+=|<(/?td|table|font)\b"
)
# Errors that the library does not report: their text is the reason in another message.
REASONS = {"HistoryRefusal", "NotExpressible"}
LOG_CALLS = {"warn", "warnOnce", "write", "log"}

HEADING = """# Messages

The message of every error of the library and of the Python package, by layer and file, with its status and Core Data's
code where the source sets them. `{name}` is a placeholder and `{one / other}` a choice, in which `-` is the empty text.
A *part* is a phrase that is inserted into other messages; a *log line* goes to the debug log.

[STYLE.md](../STYLE.md) describes how messages are written. `scripts/messages.py` writes this page from the sources, and
`make lint` compares the two.
"""


@dataclass(frozen=True)
class Message:
    """A text with its file and line. `kind` is "error", "part" or "log line"."""

    kind: str
    text: str
    label: str
    file: str
    line: int


# ---- Swift


@dataclass
class Maker:
    """A function that returns an error, with status and code if they are fixed."""

    file: str
    label: str
    # The calls to which it passes its text parameter unchanged, not in a longer sentence.
    hands_to: set[str]


_RETURNS_ERROR = re.compile(r"\bfunc (\w+)([^{}]*?)->\s*(\w+)\s*\{")
_PARAMETER = re.compile(r"(\w+)\s*:\s*String\b")
_ERROR_TYPE = re.compile(r"\b(?:struct|class|enum) (\w+)\s*:\s*Error\b")
_FIXED = re.compile(r"\bCoreError\(\s*\.(\w+),(?:\s*code:\s*\.(\w+))?")


def codes() -> dict[str, str]:
    """Returns Core Data's error codes by their names in Swift."""
    text = (SWIFT / "CorestoneValues" / "CoreError.swift").read_text(encoding="utf-8")
    return dict(re.findall(r"case (\w+) = (\d+)", text.partition("enum CocoaCode")[2]))


def status_name(status: str) -> str:
    """Returns the constant of the C interface for a case of `Status`."""
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", status)
    return f"CST_E_{parted.upper()}"


class SwiftMessages:
    """A collector of the messages of all Swift sources."""

    def __init__(self) -> None:
        self.codes = codes()
        self.found: list[Message] = []
        self.error_types = {"CoreError"}
        self.makers: dict[str, list[Maker]] = {}

    def read(self, sources: dict[str, str]) -> None:
        """Collects the messages of source texts, by path."""
        for text in sources.values():
            self.error_types.update(_ERROR_TYPE.findall(text))
        for file, text in sources.items():
            self._collect_makers(file, text)
        for file, text in sources.items():
            self._file, self._source = file, Source(text, file)
            self._names = Names(self._source.tokens)
            self._taken: set[int] = set()
            self._visit(self._source.tokens, in_log=False)

    def _collect_makers(self, file: str, text: str) -> None:
        for match in _RETURNS_ERROR.finditer(text):
            if match[3] in self.error_types:
                body = text[match.end() : match.end() + 600]
                body = re.split(r"\n\s*(?:\w+ )*func ", body)[0]
                fixed = _FIXED.search(body)
                parameters = "|".join(_PARAMETER.findall(match[2])) or "-"
                calls = re.findall(rf"(\w+)\((?:\s*(?:code:)?\s*\.?\w+,)*?\s*(?:{parameters})\s*[,)]", body)
                label = self._label(fixed[1], fixed[2]) if fixed else ""
                self.makers.setdefault(match[1], []).append(Maker(file, label, set(calls)))

    def _label(self, status: str, code: str | None) -> str:
        return " ".join([f"`{status_name(status)}`", *([self.codes[code]] if code in self.codes else [])])

    def _visit(self, tokens: list[Token], in_log: bool) -> None:
        for index, token in enumerate(tokens):
            if token.kind == "string":
                for part in token.parts:
                    if isinstance(part, list):
                        self._visit(part, in_log)
                if token.place not in self._taken:
                    self._add_part(token, in_log)
            elif token.kind == "group":
                name = tokens[index - 1].text if index and tokens[index - 1].kind == "name" else ""
                is_call = token.text == "(" and name != ""
                if is_call and self._makes_error(tokens, index - 1):
                    self._add_error(name, token)
                elif token.text == "[" or (is_call and name in LOG_CALLS):
                    self._add_sums(token.inside, in_log or is_call)
                self._visit(token.inside, in_log or (is_call and name in LOG_CALLS))
            elif token.is_mark("+") and index and self._has_literal(tokens[index - 1 : index]):
                # A concatenation of literals outside of a call is one text.
                self._add_sum(tokens, index, in_log)

    def _makes_error(self, tokens: list[Token], index: int) -> bool:
        name = tokens[index].text
        before = tokens[index - 1] if index else None
        if before is not None and before.kind == "name" and before.text in ("func", "init", "case"):
            return False
        return name in self.error_types or name in self.makers

    def _add_error(self, name: str, group: Token) -> None:
        arguments = split_arguments(group.inside)
        label = self._call_label(name, arguments)
        is_whole = self._takes_whole(name, self._file)
        for key, argument in arguments:
            if key in FIELDS:
                self._taken.update(token.place for token in argument if token.kind == "string")
                continue
            text = self._rendered(argument)
            if is_prose(text) and has_literal(argument):
                self._add("error" if is_whole else "part", text, label, argument[0])

    def _call_label(self, name: str, arguments: list[tuple[str, list[Token]]]) -> str:
        if name == "CoreError":
            given = {key: self._source.written(argument).lstrip(".") for key, argument in reversed(arguments)}
            status = given.get("", "")
            first = self._source.written(arguments[0][1]) if arguments else ""
            if first.startswith(".") and first[1:].isidentifier():
                status = first[1:]
                return self._label(status, given.get("code"))
            return ""
        if name in self.error_types:
            return f"`{name}`"
        labels = {maker.label for maker in self._makers(name)}
        return labels.pop() if len(labels) == 1 else ""

    def _takes_whole(self, name: str, file: str, within: frozenset[str] = frozenset()) -> bool:
        """Whether a call uses an argument as the message of an error, directly or in a function it calls."""
        if name in self.error_types:
            return name not in REASONS
        if name in within:
            return False
        return any(
            self._takes_whole(call, maker.file, within | {name})
            for maker in self._makers(name, file)
            for call in maker.hands_to
        )

    def _makers(self, name: str, file: str | None = None) -> list[Maker]:
        """Returns the functions that a call with this name may refer to: those of the same file, or else all."""
        makers = self.makers.get(name, [])
        return [maker for maker in makers if maker.file == (file or self._file)] or makers

    def _has_literal(self, tokens: list[Token]) -> bool:
        return any(token.kind == "string" and token.place not in self._taken for token in tokens)

    def _add_sums(self, tokens: list[Token], in_log: bool) -> None:
        for _, argument in split_arguments(tokens):
            if any(token.is_mark("+") for token in argument) and self._has_literal(argument):
                text = self._rendered(argument)
                if is_prose(text) and not NOT_PROSE.search(text):
                    self._add("log line" if in_log or text.startswith("CoreData: ") else "part", text, "", argument[0])

    def _add_sum(self, tokens: list[Token], index: int, in_log: bool) -> None:
        """Adds a concatenation such as "a" + name + "b", from the literal before its first plus to the last operand."""
        end = index
        while end + 1 < len(tokens) and tokens[end].is_mark("+"):
            end += 2
            while end < len(tokens) and (tokens[end].kind == "group" or tokens[end].is_mark(".")):
                end += 2 if tokens[end].is_mark(".") else 1
        text = self._rendered(tokens[index - 1 : end])
        if is_prose(text) and not NOT_PROSE.search(text):
            self._add("log line" if in_log or text.startswith("CoreData: ") else "part", text, "", tokens[index - 1])

    def _add_part(self, token: Token, in_log: bool) -> None:
        if self._file.startswith(f"Sources/{TOOL}/"):
            return
        text = self._literal(token)
        if is_prose(text) and not NOT_PROSE.search(text):
            self._add("log line" if in_log or text.startswith("CoreData: ") else "part", text, "", token)

    def _add(self, kind: str, text: str, label: str, token: Token) -> None:
        self.found.append(Message(kind, on_one_line(text), label, self._file, self._source.line(token)))

    # Expressions as text.

    def _rendered(self, tokens: list[Token]) -> str:
        while tokens and tokens[0].text in ("try", "await", "return"):
            tokens = tokens[1:]
        if not tokens or [token.text for token in tokens] == ["nil"]:
            return ""
        branches = split_ternary(tokens)
        if branches:
            texts = [self._rendered(branch) for branch in branches]
            return "{" + " / ".join(strip_braces(text) for text in texts) + "}"
        for index, token in enumerate(tokens):
            if token.is_mark("??"):
                return f"{{{self._names.of(tokens[:index])} / {strip_braces(self._rendered(tokens[index + 1 :]))}}}"
        terms = split_at(tokens, "+")
        is_sum = any(term and (term[-1].kind == "number" or term[-1].text == "count") for term in terms)
        if len(terms) > 1 and not is_sum:
            return "".join(self._rendered(term) for term in terms)
        if len(tokens) == 1 and tokens[0].kind == "string":
            return self._literal(tokens[0])
        if len(tokens) == 1 and tokens[0].is_group("("):
            return self._rendered(tokens[0].inside)
        return self._names.count(tokens) or "{" + self._names.of(tokens) + "}"

    def _literal(self, token: Token) -> str:
        self._taken.add(token.place)
        texts = []
        for part in token.parts:
            if isinstance(part, str):
                texts.append(part)
            else:
                rendered = self._rendered(part)
                texts.append(rendered if rendered.startswith("{") else "{" + rendered + "}")
        return "".join(texts)


def split_at(tokens: list[Token], mark: str) -> list[list[Token]]:
    parts: list[list[Token]] = [[]]
    for token in tokens:
        if token.is_mark(mark):
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def split_arguments(tokens: list[Token]) -> list[tuple[str, list[Token]]]:
    """Returns the arguments of a call with their labels, which are "" for arguments without a label."""
    arguments = []
    for argument in split_at(tokens, ","):
        label = ""
        if len(argument) > 2 and argument[0].kind == "name" and argument[1].is_mark(":"):
            label, argument = argument[0].text, argument[2:]
        if argument:
            arguments.append((label, argument))
    return arguments


def split_ternary(tokens: list[Token]) -> list[list[Token]]:
    """Returns the two branches of `a ? b : c`, or an empty list for any other expression."""
    for index, token in enumerate(tokens):
        if token.is_mark("?") and index + 1 < len(tokens) and not tokens[index + 1].is_mark("."):
            depth = 0
            for place in range(index + 1, len(tokens)):
                if tokens[place].is_mark("?") and not tokens[place + 1].is_mark("."):
                    depth += 1
                elif tokens[place].is_mark(":"):
                    if depth == 0:
                        return [tokens[index + 1 : place], tokens[place + 1 :]]
                    depth -= 1
    return []


def strip_braces(text: str) -> str:
    """Removes the braces of a choice or name, which are not needed within another choice."""
    return text[1:-1] if text.startswith("{") and text.find("}") == len(text) - 1 else text or "-"


def on_one_line(text: str) -> str:
    return re.sub(r"[\0-\x1f\x7f]", lambda match: f"\\x{ord(match[0]):02x}", " ".join(text.split()))


def has_literal(tokens: list[Token]) -> bool:
    """Whether an expression contains a string literal. Other expressions are choices of codes or the like."""
    return any(token.kind == "string" or (token.kind == "group" and has_literal(token.inside)) for token in tokens)


def is_prose(text: str) -> bool:
    """Whether a text is prose: at least two words, of which one is not a placeholder."""
    own = re.sub(r"\{[^{}/]*\}", "", text)
    return bool(re.search(r"[A-Za-z]{2}", own)) and " " in own.strip()


# ---- Python


class PythonMessages(ast.NodeVisitor):
    """A collector of the messages of a module's exceptions."""

    def __init__(self, source: str, file: str) -> None:
        self.source = source
        self.file = file
        self.found: list[Message] = []
        self.visit(ast.parse(source))

    def visit_Call(self, node: ast.Call) -> None:
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        if node.args and re.fullmatch(r"_?[A-Z]\w*(Error|Key)|_?failed|located", name):
            for argument in node.args:
                text = self.rendered(argument)
                if is_prose(text):
                    label = f"`{name}`" if name[0].isupper() else ""
                    self.found.append(Message("error", on_one_line(text), label, self.file, argument.lineno))
        elif name == "warn" and node.args and is_prose(text := self.rendered(node.args[0])):
            self.found.append(Message("log line", on_one_line(text), "", self.file, node.lineno))
        self.generic_visit(node)

    def rendered(self, node: ast.expr) -> str:
        if isinstance(node, ast.Constant):
            return node.value if isinstance(node.value, str) else "{" + str(node.value) + "}"
        if isinstance(node, ast.JoinedStr):
            return "".join(self.rendered(value) for value in node.values)
        if isinstance(node, ast.FormattedValue):
            text = self.rendered(node.value)
            return text if text.startswith("{") else "{" + text + "}"
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
            parts = [part for part in node.values if not (isinstance(part, ast.Constant) and part.value is None)]
            if len(parts) > 1:
                return "{" + " / ".join(strip_braces(self.rendered(part)) for part in parts) + "}"
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and not is_number(node.right):
            return self.rendered(node.left) + self.rendered(node.right)
        if isinstance(node, ast.IfExp):
            return "{" + " / ".join(strip_braces(self.rendered(part)) for part in (node.body, node.orelse)) + "}"
        return python_count(node) or "{" + python_name(node) + "}"


def is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int)


# ---- the page


def messages() -> list[Message]:
    """Returns all messages by file and line, without duplicates in a file."""
    swift = SwiftMessages()
    swift.read(
        {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in sorted(SWIFT.rglob("*.swift"))}
    )
    found = swift.found
    for path in sorted(PYTHON.rglob("*.py")):
        found += PythonMessages(path.read_text(encoding="utf-8"), str(path.relative_to(ROOT))).found
    unique: dict[tuple[str, str, str, str], Message] = {}
    for message in sorted(found, key=lambda message: (message.file, message.line)):
        unique.setdefault((message.file, message.kind, message.text, message.label), message)
    return list(unique.values())


def layer(file: str) -> str:
    parts = file.split("/")
    return "The Python package" if parts[0] == "bindings" else parts[1]


def code_span(text: str) -> str:
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    edge = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{edge}{text}{edge}{fence}"


def lines(listed: list[Message]) -> Iterator[str]:
    yield HEADING
    errors = sum(message.kind == "error" for message in listed)
    yield f"{errors} errors, {len(listed) - errors} parts and log lines.\n"
    last_layer = last_file = ""
    for message in listed:
        if layer(message.file) != last_layer:
            last_layer = layer(message.file)
            yield f"## {last_layer}\n"
        if message.file != last_file:
            last_file = message.file
            yield f"### {message.file}\n"
        label = message.label if message.kind == "error" else f"*{message.kind}*"
        yield f"- {label}{': ' if label else ''}{code_span(message.text)}"


def page(listed: list[Message]) -> str:
    text = "\n".join(lines(listed)) + "\n"
    # A list ends with a blank line before the next heading.
    return re.sub(r"\n(#{2,3} )", r"\n\n\1", text).replace("\n\n\n", "\n\n")


def difference(old: str, new: str) -> Iterator[str]:
    """Yields the first few outdated or missing lines of the page."""
    changed = list(difflib.unified_diff(old.splitlines(), new.splitlines(), n=0, lineterm=""))[2:]
    for line in [line for line in changed if line[0] in "+-" and line[1:]][:4]:
        yield f"{'missing' if line[0] == '+' else 'outdated'}: {line[1:].removeprefix('- ')}"


def constants() -> list[str]:
    """Returns the names of the constants and macros of the interface."""
    described = interface()
    members = [constant.name for group in described.enumerations for constant in group.constants]
    return members + [macro.name for macro in described.macros]


def main() -> None:
    parser = argparse.ArgumentParser(description="Lists the error texts of the library and the Python package.")
    parser.add_argument("--check", action="store_true", help="check docs/reference/messages.md and the messages")
    parser.add_argument("--sample", type=int, metavar="N", help="print N random error messages")
    parser.add_argument("--seed", type=int, default=0, help="the seed of the sample (0)")
    options = parser.parse_args()
    # The trees of tokens are used until the end, so garbage collection would take time and free nothing.
    gc.disable()
    listed = messages()
    if options.sample is not None:
        errors = [message for message in listed if message.kind == "error"]
        chosen = random.Random(options.seed).sample(errors, min(options.sample, len(errors)))
        for number, message in enumerate(chosen, 1):
            print(f"{number:>3}. {message.file}:{message.line}  {message.label.replace('`', '')}\n     {message.text}")
        return
    text = page(listed)
    where = PAGE.relative_to(ROOT)
    if not options.check:
        PAGE.write_text(text, encoding="utf-8")
        print(f"messages: wrote {len(listed)} messages to {where}")
        return
    listed_text = PAGE.read_text(encoding="utf-8") if PAGE.is_file() else ""
    problems: list[str] = []
    if listed_text != text:
        outdated = f"{where} does not list the messages of the sources; run scripts/messages.py"
        problems = [*difference(listed_text, text), outdated]
    problems += message_rules.problems(listed, constants())
    finish("messages", problems, f"{where} lists {len(listed)} messages")


if __name__ == "__main__":
    main()
