"""Names the expressions in messages, for scripts/messages.py: `names.map { quoted($0) }.joined()` is `names`.

A name is a path such as `store.path`: the value that a formatting function is applied to, the collection that is
listed, the property or function that returns the text. It has no brackets and no `$0`, and only sums and differences.
"""

from __future__ import annotations

import ast
from bisect import bisect_right

from swift_text import Token, walk

# Functions whose result is their argument as text, or a part of it.
FORMATTERS = {
    "abridged",
    "describe",
    "described",
    "displayName",
    "escaped",
    "excerpt",
    "fsdecode",
    "int",
    "joined",
    "list",
    "listed",
    "max",
    "min",
    "named",
    "nameOfThread",
    "quoted",
    "repr",
    "short",
    "shown",
    "sorted",
    "str",
    "subject",
    "text",
    "typeName",
    "what",
}
# Methods and properties that return their receiver in another form, or a part of it.
FORMS = {
    "abridged",
    "addingClamped",
    "compactMap",
    "description",
    "dropFirst",
    "dropLast",
    "enumerated",
    "filter",
    "flatMap",
    "format",
    "items",
    "joined",
    "joinedText",
    "keys",
    "listed",
    "literal",
    "lower",
    "lowercased",
    "map",
    "prefix",
    "rawValue",
    "reduce",
    "removesuffix",
    "reversed",
    "rounded",
    "sorted",
    "strip",
    "suffix",
    "upper",
    "uppercased",
    "values",
}
# Methods of a row that return a column by its index.
COLUMNS = {"integer"}
# Static functions that return a text of their own, not their argument as text.
TEXTS = {"reason", "remedy"}
COUNTS = {"plural", "counted"}
# The name of a value without a better one.
UNNAMED = "value"
_LEADING = {"try", "await", "return", "let", "self", "Self"}
_KEYWORDS = {"return", "in", "case", "where", "try", "await", "throw"}
_OPERATORS = {"+", "-", "*", "/", "%", "&", "|", "<<", ">>", "==", "!=", "<", ">", "<=", ">=", "&&", "||", "??"}
_OPERATORS |= {"..<", "..."}


def singular(name: str) -> str:
    """Returns the name of a member of a collection: `property` for `properties`, and `entity` for `entity`."""
    if name == "indices":
        return "index"
    if name.endswith("ies"):
        return name[:-3] + "y"
    for ending in ("sses", "xes", "ches"):
        if name.endswith(ending):
            return name[:-2]
    is_plural = name.endswith("s") and not name.endswith(("ss", "us", "is", "alias"))
    return name[:-1] if is_plural and len(name) > 2 else name


def member_of(path: str) -> str:
    """Returns the name of a member: `element` for `index.elements`; the path itself if it is not a plural."""
    last = path.rpartition(".")[2]
    return singular(last) if singular(last) != last else path


def plural_of(word: str) -> str:
    return word[:-1] + "ies" if word.endswith("y") else word + "s"


def lowered(name: str) -> str:
    """Returns the name of a value of a type: `systemError` for `SystemError`."""
    return name[:1].lower() + name[1:]


# ---- Swift


class Names:
    """The names of the expressions of one Swift source, with those of the closures' parameters."""

    def __init__(self, tokens: list[Token]) -> None:
        # The blocks of the source by their place: each with its list of tokens and its index there.
        self._blocks = [(inside, index) for inside, index in walk(tokens) if inside[index].is_group("{")]
        self._places = [inside[index].place for inside, index in self._blocks]

    def _parameters(self, tokens: list[Token], index: int) -> list[str]:
        """Returns the names of $0 and $1 in the closure at an index."""
        arguments = tokens[index - 1].inside if index and tokens[index - 1].is_group("(") else []
        name = index - 2 if arguments else index - 1
        receiver: list[Token] = []
        if name > 0 and tokens[name].kind == "name" and tokens[name - 1].is_mark("."):
            receiver = _chain_before(tokens, name - 1)
        if receiver and not receiver[-1].text[:1].isupper():
            names = [token.text for token in receiver[2:] if token.kind == "name"]
            if receiver[0].text == "zip" and receiver[1].is_group("(") and FORMS.issuperset(names):
                return [member_of(self.of(part)) for part in _split(receiver[1].inside)]
            path = self.of(receiver)
            return [member_of(path), member_of(path) if tokens[name].text == "reduce" else UNNAMED]
        if index and tokens[index - 1].text in (",", "?", ":"):
            # An argument after others, not the block of a statement.
            arguments = tokens
        first = _split(arguments)[0]
        return [self.of(first) if first and tokens[index] not in first else UNNAMED, UNNAMED]

    def of(self, tokens: list[Token]) -> str:
        """Returns the name of an expression."""
        if len(tokens) == 1 and tokens[0].is_group("{"):
            return "…"
        return self._name(tokens) or UNNAMED

    def _name(self, tokens: list[Token]) -> str:
        if len(tokens) > 2 and tokens[0].kind == "name" and tokens[1].is_mark(":"):
            tokens = tokens[2:]
        operands = _operands(tokens)
        if len(operands) == 2 and operands[1][0] in ("+", "-"):
            return f"{self._path(operands[0][1])} {operands[1][0]} {self._path(operands[1][1])}"
        named = [operand for _, operand in operands if operand[0].kind != "number"]
        return self._path((named or [tokens])[0])

    def _path(self, tokens: list[Token]) -> str:
        path: list[str] = []
        index = 0
        while index < len(tokens):
            token = tokens[index]
            # What follows a name: a closure, or the arguments of a call.
            after = tokens[index + 1] if index + 1 < len(tokens) else None
            if token.kind == "name" and after is not None and after.kind == "group" and after.text in "({":
                index += 1
                while index + 1 < len(tokens) and tokens[index + 1].is_group("{"):
                    index += 1
                is_last = index + 1 == len(tokens)
                path = self._called(path, token.text, after.inside if after.text == "(" else [], is_last)
            elif token.kind == "name" and token.text.startswith("$"):
                path = self._parameter(token).split(".")
                if index + 2 < len(tokens) and tokens[index + 2].text in ("key", "value"):
                    path = []
            elif token.kind == "name":
                name = token.text.strip("`")
                if path and name in ("first", "last") and singular(path[-1]) != path[-1]:
                    path[-1] = singular(path[-1])
                elif not (path and name in FORMS):
                    path.append(name)
            elif token.is_group("("):
                path = self._name(token.inside).split(".")
            elif token.is_group("["):
                path = self._member(path, token)
            elif token.kind == "number" and not path:
                return token.text
            index += 1
        return ".".join(path)

    def _parameter(self, token: Token) -> str:
        """Returns the name of $0 or $1: that of the innermost closure around it."""
        number, names = int(token.text[1:]), list[str]()
        for inside, index in reversed(self._blocks[: bisect_right(self._places, token.place)]):
            if token.place < inside[index].end:
                names = self._parameters(inside, index)
                break
        return names[number] if number < len(names) and not names[number].isdigit() else UNNAMED

    def _called(self, path: list[str], name: str, arguments: list[Token], is_last: bool) -> list[str]:
        """Returns the name of the result of a call, as a path. `path` is its receiver."""
        argument = _split(arguments)[0] if arguments else []
        is_labelled = len(argument) > 2 and argument[0].kind == "name" and argument[1].is_mark(":")
        if name == "type" and is_labelled:
            return [f"type of {self.of(argument[2:])}"]
        is_type = name[:1].isupper()
        if is_labelled:
            argument = argument[2:] if is_type and is_last else []
        is_static = bool(path) and path[-1][:1].isupper()
        if path and not is_static and name in FORMS:
            return path
        if path and name in COLUMNS and len(argument) == 1 and argument[0].kind == "number":
            return [*path, f"column {argument[0].text}"]
        named = self._name(argument) if argument and argument[0].kind != "string" else ""
        is_named = named and not named[0].isdigit() and not _is_plain_call(argument)
        if is_named and (name in FORMATTERS or (is_type and is_last) or (is_static and name not in TEXTS)):
            return named.split(".")
        if is_type:
            return [lowered(name)]
        return [name] if is_static else [*path, name]

    def _member(self, path: list[str], subscript: Token) -> list[str]:
        """Returns the name of a member of a collection, or that of the first of a list."""
        if not path:
            return self._name(_split(subscript.inside)[0]).split(".") if subscript.inside else []
        is_range = any(token.kind == "mark" and token.text.startswith("..") for token in subscript.inside)
        return path if is_range else [*path[:-1], singular(path[-1])]

    def count(self, tokens: list[Token]) -> str:
        """Returns a call such as `plural(count, "object")` as `{count} objects`, and "" for another expression."""
        if not (len(tokens) == 2 and tokens[0].text in COUNTS and tokens[1].is_group("(")):
            return ""
        number, *words = _split(tokens[1].inside)
        texts = [word[0].parts[0] for word in words if len(word) == 1 and word[0].kind == "string"]
        if not texts or not isinstance(texts[0], str):
            return ""
        return f"{{{self.of(number)}}} {texts[1] if len(texts) > 1 else plural_of(texts[0])}"


def _split(tokens: list[Token]) -> list[list[Token]]:
    parts: list[list[Token]] = [[]]
    for token in tokens:
        if token.is_mark(","):
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _is_plain_call(tokens: list[Token]) -> bool:
    """Whether an expression is a call without arguments."""
    return len(tokens) == 2 and tokens[1].is_group("(") and not tokens[1].inside


def _operands(tokens: list[Token]) -> list[tuple[str, list[Token]]]:
    """Returns the operands of an expression, each with the operator before it, or "" for the first."""
    operands: list[tuple[str, list[Token]]] = [("", [])]
    for token in tokens:
        if token.kind == "mark" and token.text in _OPERATORS:
            operands.append((token.text, []))
        elif token.text in ("as", "is") and token.kind == "name":
            break
        elif not (token.kind == "name" and token.text in _LEADING and not operands[-1][1]):
            operands[-1][1].append(token)
    return [operand for operand in operands if operand[1]] or [("", tokens)]


def _chain_before(tokens: list[Token], end: int) -> list[Token]:
    """Returns the receiver before a dot: names, calls and subscripts."""
    start = end
    while start > 0 and tokens[start - 1].text not in _KEYWORDS:
        before, after = tokens[start - 1], tokens[start]
        is_suffix = after.is_mark(".") or after.kind == "group"
        is_operand = before.kind in ("name", "group", "string") and (is_suffix or after.text in ("?", "!"))
        if not (is_operand or before.is_mark(".") or (before.text in ("?", "!") and is_suffix)):
            break
        start -= 1
    return tokens[start:end]


# ---- Python


def python_name(node: ast.expr) -> str:
    """Returns the name of a Python expression."""
    return _python_name(node) or UNNAMED


def _python_name(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return "" if isinstance(node.value, str) else str(node.value)
    if isinstance(node, ast.Name):
        return node.id.strip("_")
    if isinstance(node, ast.Attribute):
        of = node.value
        if isinstance(of, ast.Call) and isinstance(of.func, ast.Name) and of.func.id == "type":
            return f"type of {python_name(of.args[0])}"
        attribute = node.attr.strip("_").removeprefix("cst_")
        return attribute if isinstance(of, ast.Name) and of.id == "self" else f"{python_name(of)}.{attribute}"
    if isinstance(node, ast.Subscript):
        path = python_name(node.value)
        parent, dot, last = path.rpartition(".")
        return path if isinstance(node.slice, ast.Slice) else parent + dot + singular(last)
    if isinstance(node, ast.BinOp):
        left, right = python_name(node.left), python_name(node.right)
        if isinstance(node.op, (ast.Add, ast.Sub)):
            return f"{left} {'+' if isinstance(node.op, ast.Add) else '-'} {right}"
        return right if left[0].isdigit() else left
    if isinstance(node, (ast.GeneratorExp, ast.ListComp, ast.SetComp)):
        return python_name(node.generators[0].iter)
    if isinstance(node, ast.Call):
        return _python_call(node)
    if isinstance(node, (ast.BoolOp, ast.Tuple, ast.List)):
        first = node.values[0] if isinstance(node, ast.BoolOp) else (node.elts or [ast.Constant("")])[0]
        return python_name(first)
    return ""


def _python_call(node: ast.Call) -> str:
    function = node.func
    argument = _python_name(node.args[0]) if node.args else ""
    if isinstance(function, ast.Attribute):
        if function.attr == "join" or (function.attr.strip("_") in FORMATTERS and node.args):
            return argument
        return python_name(function.value if function.attr in FORMS else function)
    name = python_name(function)
    if name == "map" and len(node.args) > 1:
        return python_name(node.args[1])
    if name == "len":
        return f"number of {argument}"
    return argument if argument and name in FORMATTERS else name


def python_count(node: ast.expr) -> str:
    """Returns a call such as `plural(size, "value")` as `{size} values`, and "" for another expression."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id.strip("_") in COUNTS):
        return ""
    words = [each.value for each in node.args[1:] if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    if not words:
        return ""
    number = node.args[0]
    is_length = isinstance(number, ast.Call) and isinstance(number.func, ast.Name) and number.func.id == "len"
    name = "count" if is_length else python_name(number)
    return f"{{{name}}} {words[1] if len(words) > 1 else plural_of(words[0])}"
