"""The rules of docs/STYLE.md about messages that a program can check, for scripts/messages.py.

A rule is listed here only if every hit is a mistake. Reviewers judge the rest of a message.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol


class Text(Protocol):
    """A message with its file and line, as scripts/messages.py lists it."""

    @property
    def kind(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def file(self) -> str: ...
    @property
    def line(self) -> int: ...


# Messages that still break a rule, by file and a part of the text: at most ten, and only as long as they break it.
EXCEPTIONS: dict[str, tuple[str, ...]] = {}
MOST_EXCEPTIONS = 10
# The most combinations of choices in one message, all of which are checked.
MOST_READINGS = 64
# The most words before and after a semicolon. A placeholder, a quoted text and a list of names are one word each.
MOST_WORDS = 25
# A placeholder in a reading of a message.
GAP = "{}"
# Names of products and classes with which a sentence may begin.
PROPER_NAMES = {"Container", "Corestone", "Graphviz", "Python", "Xcode"}


@dataclass(frozen=True)
class Action:
    """A remedy for which the interfaces have a function or an option, which the remedy has to name."""

    words: str
    name: str

    @property
    def pattern(self) -> re.Pattern[str]:
        return re.compile(rf"(?:^|(?<=[\s,])){self.words}\b", re.IGNORECASE)


# Not listed: verbs with several functions (fetch, open), and "close" and "lock", which often are the failed call.
_OBJECT = r"(?:it|them|the objects?|these objects|its objects)"
ACTIONS = (
    Action(rf"refresh {_OBJECT}", "cst_object_refresh (refresh)"),
    Action(r"roll back", "cst_context_rollback (rollback)"),
    Action(r"reset the context", "cst_context_reset (reset)"),
    Action(rf"insert {_OBJECT} first", "cst_context_insert_object (insert_object, insert)"),
    Action(r"save (?:it|the object|the context)(?: first)?(?! (?:again|there))", "cst_context_save (save)"),
    Action(r"assign (?:it|the object|both objects)", "cst_context_assign (assign)"),
    Action(r"pin (?:it|the context)", "cst_context_set_query_generation (pin, setQueryGeneration)"),
    Action(
        r"set (?:the|a|another|the context's) merge policy",
        "cst_context_set_merge_policy (merge_policy, mergePolicy)",
    ),
    Action(r"use it inside perform", "cst_context_perform (perform)"),
    Action(
        r"(?:create|use) [^;,.]*\b(?:a private|the main) queue", "CST_QUEUE_PRIVATE (background_context, .privateQueue)"
    ),
    Action(r"bind (?:it|the main queue)", "cst_main_queue_bind (main_queue.bind, MainQueue.bind)"),
    Action(r"add (?:the store|a store|another store)", "cst_coordinator_add_store (add_store, addStore)"),
    Action(
        r"add it (?:again|to (?:a|an|another|the)(?: \w+)? coordinator)",
        "cst_coordinator_add_store (add_store, addStore)",
    ),
    Action(
        r"remove (?:the store|it from (?:the|its) coordinator)", "cst_coordinator_remove_store (remove_store, remove)"
    ),
    Action(r"open the store again", "cst_coordinator_add_store (add_store, addStore)"),
    Action(r"(?:destroy|replace|back up) the store", "the function of the coordinator"),
    Action(r"migrate (?:it|the store)(?! again)", "CST_STORE_MIGRATE (migrate) or cst_coordinator_migrate_store"),
    Action(r"convert the store", "corestone convert"),
    Action(r"delete the history", "cst_coordinator_delete_history (delete_history, deleteHistory)"),
    Action(r"load the stores?", "cst_container_load (load, loadStores)"),
    Action(r"freeze (?:it|the model)", "cst_model_freeze (freeze)"),
    Action(
        r"(?:un|de)?register (?:it|the (?:function|transformer|class|type|policy|consumer))",
        "the function, such as cst_function_register (register_function, FunctionRegistry.register)",
    ),
    Action(r"(?:retain|release) (?:it|the handle|a handle|unused handles)", "cst_retain or cst_release"),
    Action(r"prefetch (?:it|\")", "cst_fetch_request_set_prefetch (prefetch, relationshipKeyPathsForPrefetching)"),
    Action(r"cancel (?:it|the fetch|the migration)", "the function"),
)
# A function, option, command or type in a remedy.
_NAMED = re.compile(r"\bcst_|\bCST_|\bcorestone\b|\w\(|`|--\w|\w_\w|\b[a-z]+[A-Z]|\b[A-Z]\w*\.[a-z]")
# The place at which the scope of a remedy's name ends.
_NEXT = re.compile(r", (?:or|and|then)\b|[;]|\. [A-Z]")

_NO = re.compile(
    r"\b(?:is|are|was|were|in|on|has|have) no\b(?! (?:longer|more|less|such|effect)\b)"
    # No handle was created.
    r"|\bno (?!(?:longer|more|less|such|effect)\b)(?:[\w{}.-]+ ){1,4}?"
    r"(?:is|are|was|were|has|have|does|do|did|can|could)\b",
    re.IGNORECASE,
)
# The form for unknown names: Person has no property "nmae".
_UNKNOWN_NAME = re.compile(r"\b(?:has|have) no (?:[a-z-]+ ){1,4}\"")
_BANNED = re.compile(
    r"\b(?:you|your|please|sorry|illegal|fatal|bad|may not|use a valid)\b|!$",
    re.IGNORECASE,
)
_PREFIX = re.compile(r"\b(CST_[A-Z_]+_) constant")


class TooManyReadings(Exception):
    """A message has more than MOST_READINGS combinations of choices."""


def readings(text: str) -> list[str]:
    """Returns the texts that a message can become: one choice of each `{a / b}`, and `{}` for each placeholder.

    TooManyReadings for more than MOST_READINGS.
    """
    parts = [_alternatives(part) for part in _split(text)]
    if (count := math.prod(map(len, parts))) > MOST_READINGS:
        raise TooManyReadings(f"the choices have {count} combinations, but the most are {MOST_READINGS}: {text}")
    combinations = itertools.product(*parts)
    return list(dict.fromkeys(re.sub(r" +", " ", "".join(parts)).strip() for parts in combinations))


def _split(text: str) -> list[str]:
    """Returns the pieces of a text: groups in braces, with their braces, and what is between them."""
    pieces, start, depth = [], 0, 0
    for place, mark in enumerate(text):
        if mark == "{":
            if depth == 0:
                pieces.append(text[start:place])
                start = place
            depth += 1
        elif mark == "}" and depth:
            depth -= 1
            if depth == 0:
                pieces.append(text[start : place + 1])
                start = place + 1
    return [piece for piece in [*pieces, text[start:]] if piece]


def _alternatives(piece: str) -> list[str]:
    if not (piece.startswith("{") and piece.endswith("}")):
        return [piece]
    choices = _choices(piece[1:-1])
    if len(choices) == 1:
        return [GAP]
    return [reading for choice in choices for reading in ([""] if choice == "-" else readings(choice))]


def _choices(text: str) -> list[str]:
    choices, depth, start, place = [], 0, 0, 0
    while place < len(text):
        if text[place] in "{}":
            depth += 1 if text[place] == "{" else -1
        elif depth == 0 and text.startswith(" / ", place):
            choices.append(text[start:place])
            start = place + 3
            place += 2
        place += 1
    return [*choices, text[start:]]


def _unquoted(text: str) -> str:
    """Returns a text without the contents of double quotes."""
    return re.sub(r'"[^"]*"', '""', text)


# Names in parentheses, such as the names of a function in other languages.
_NAMES = re.compile(r"\([^\s,()]+(?:\(\))?(?:, [^\s,()]+(?:\(\))?)*\)")
# A list such as `a, b, c`, `a, b or c`, or `a (x), b (y) or c (z)` with a parenthesis that _NAMES replaced.
_ITEM = r"(?!(?:and|or|but)\b)[^\s,;(]+(?: \(\))?"
_LIST = re.compile(rf"{_ITEM}(?:, {_ITEM})+(?:,? (?:and|or)|,) {_ITEM}")


def _words(text: str) -> int:
    """Returns the number of words of a text, of which a list of names is one, in parentheses or not."""
    plain = _LIST.sub("list", _NAMES.sub("()", text))
    return sum(bool(re.search(r"[\w{\"(]", word)) for word in plain.split())


def _sentences(text: str) -> list[str]:
    return re.split(r"(?<=[\w)\"'}])\. (?=[A-Z])", text)


def _remedies(text: str) -> Iterator[str]:
    """Yields what follows the problem: the text after each semicolon, and each later sentence."""
    for number, sentence in enumerate(_sentences(text)):
        clauses = _unquoted(sentence).split("; ")
        yield from clauses[0 if number else 1 :]


def complaints(kind: str, text: str, prefixes: dict[str, int]) -> Iterator[str]:
    """Yields the mistakes in one reading of a message. `prefixes` has the number of constants by their prefix."""
    flat = _unquoted(text)
    if (found := _NO.search(flat)) and not _UNKNOWN_NAME.match(flat, found.start()):
        yield f'"{found[0]}": negate the verb, as in "does not have" or "is not in"'
    for remedy in _remedies(text):
        yield from _unnamed(remedy)
    for part in itertools.chain.from_iterable(sentence.split("; ") for sentence in _sentences(flat)):
        if (words := _words(part)) > MOST_WORDS:
            yield f"a part has {words} words, but the most are {MOST_WORDS}: {part}"
    if any(sentence.count(";") > 1 for sentence in _sentences(flat)):
        yield "a sentence has two semicolons"
    if found := _BANNED.search(flat.replace("did you mean", "")):
        yield f'"{found[0]}" is not a word for messages'
    for prefix in _PREFIX.findall(flat):
        if prefixes.get(prefix, 0) < 2:
            yield f"{prefix} is not the prefix of several constants; name the constant"
    if kind == "part":
        return
    if re.search(r"(?<!\.)\.$", text):
        yield "the message ends with a full stop"
    first = re.match(r"([A-Z][a-z]+)(?![\w.:])", text)
    if first and first[1] not in PROPER_NAMES:
        yield f'"{first[1]}": begin with a lower-case letter'


def _unnamed(remedy: str) -> Iterator[str]:
    for action in ACTIONS:
        for found in action.pattern.finditer(remedy):
            rest = remedy[found.start() :]
            end = _NEXT.search(rest, found.end() - found.start())
            clause = rest[: end.start()] if end else rest
            # A part may end before the name.
            is_cut = re.search(r"(?: with|\()$", clause) and not end
            if not (is_cut or _NAMED.search(clause) or remedy[: found.start()].endswith("not ")):
                yield f'"{found[0]}": name {action.name}'


def mistakes_in(message: Text, prefixes: dict[str, int]) -> list[str]:
    """Returns the mistakes in all readings of a message."""
    try:
        texts = readings(message.text)
    except TooManyReadings as problem:
        return [str(problem)]
    return list(dict.fromkeys(each for text in texts for each in complaints(message.kind, text, prefixes)))


def problems(
    messages: Iterable[Text],
    constants: Iterable[str],
    exceptions: Mapping[str, tuple[str, ...]] = EXCEPTIONS,
) -> list[str]:
    """Returns the mistakes in messages, each with file and line, and the exceptions that no message needs."""
    prefixes: dict[str, int] = {}
    for constant in constants:
        for place, mark in enumerate(constant):
            if mark == "_":
                prefixes[constant[: place + 1]] = prefixes.get(constant[: place + 1], 0) + 1
    found = []
    unused = {(file, part) for file, parts in exceptions.items() for part in parts}
    for message in messages:
        # The parts of the tool are its manual.
        if message.kind == "part" and message.file.startswith("Sources/corestone-cli/"):
            continue
        mistakes = mistakes_in(message, prefixes)
        excepted = {(message.file, part) for part in exceptions.get(message.file, ()) if part in message.text}
        if mistakes and excepted:
            unused -= excepted
            continue
        found += [f"{message.file}:{message.line}: {mistake}" for mistake in mistakes]
    found += [f'scripts/message_rules.py: unused exception "{part}" of {file}' for file, part in sorted(unused)]
    if sum(map(len, exceptions.values())) > MOST_EXCEPTIONS:
        found.append(f"scripts/message_rules.py: more than {MOST_EXCEPTIONS} exceptions; correct the messages instead")
    return found
