"""Checks that the sources do not contain phrases that docs/STYLE.md replaces, and the form of commit subjects.

Usage: check_style.py [FOLDER…]   lists every occurrence of a phrase; without folders, wrong subjects too
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from project import ROOT, finish

PLACES = ("Sources", "include", "bindings", "docs", "examples", "Tests", "scripts", "bench", "packaging", "cmake")
SUFFIXES = {".swift", ".h", ".c", ".py", ".md", ".sh", ".ini", ".toml", ".dot", ".in"}
# Files outside of these folders, or without such a suffix.
OTHERS = (
    "*.md",
    "*.toml",
    "Makefile",
    "Package.swift",
    "*.in",
    ".ci/run",
    "Tests/c/Makefile",
    "examples/*/Makefile",
    "packaging/debian/*",
)
# Files that quote the phrases, and files that are generated from checked sources.
EXEMPT = {
    "docs/STYLE.md",
    "docs/reference/messages.md",
    "scripts/check_style.py",
    "Tests/style/test_check_style.py",
}
SUBJECTS = 20
# The last commit whose subject is not checked.
LAST_UNCHECKED = "a052cae511090b7b5308a68a0dbf20b45aaa483b"
LONGEST_SUBJECT = 70
# First words in a form other than the imperative, besides those in -ed, -ing and -s.
PAST_TENSES = {"Built", "Chose", "Drew", "Gave", "Held", "Kept", "Made", "Sent", "Took", "Wrote"}
# Imperatives that end in -ed, -ing or -s. Those in -ss, such as "Pass", are not listed.
IMPERATIVES = {
    "Alias",
    "Bias",
    "Bring",
    "Embed",
    "Exceed",
    "Feed",
    "Focus",
    "Need",
    "Ping",
    "Proceed",
    "Seed",
    "Shed",
    "Speed",
}

_OWNER = "(?:host|library|store|context|caller|process|program|system|model|user)"
_NOT_THERE = "(?<!there )"
# The name of the phrase; strings, at least one of which is in every text with the phrase; the pattern; the advice.
_PHRASES: tuple[tuple[str, tuple[str, ...], str, str], ...] = (
    ("anew", ("anew",), "anew", 'write "again"'),
    ("nobody", ("nobody",), "nobody", 'name who: "no other process", "no observer"; or "unused", "not set"'),
    ("somebody", ("somebody",), "somebody(?:'s)?", 'name who: "another process", "the caller", "the user"'),
    ("whoever", ("whoever",), "whoever", 'name who: "the caller", "any process that"'),
    ("who wants", ("who want",), "who wants?", "write an instruction: to do this, call that"),
    ("strangers", ("stranger",), "strangers?'?", 'write "untrusted" or "unknown"'),
    ("tell of", (" of",), "(?:tells?|told|telling) of", 'write "report", "list" or "describe"'),
    ("is told", (" told",), "(?:is|are|was|were|be|being) told", 'write "is notified", "receives" or "is passed"'),
    ("hear of", ("hear",), "hears? of", 'write "is notified of" or "receives"'),
    ("says which", ("say ", "says "), "says? (?:which|whose|what|how|so)", 'write "specifies" or "documents"'),
    ("is no", ("is no ",), f"{_NOT_THERE}is no(?! (?:longer|more|such|less))", 'write "is not a"'),
    ("are no", ("are no ",), f"{_NOT_THERE}are no(?! (?:longer|more|such|less))", 'write "are not"'),
    ("is none", (" none",), f"{_NOT_THERE}(?:is|are) none", 'write "is not one", or "is not a valid …"'),
    ("none is", ("none is", "none are"), "none (?:is|are)(?! not)", 'write "there is no …" or "without a …"'),
    (
        "what is no",
        ("what is ", "what are ", "what was ", "what were "),
        "what (?:is|was|are|were) (?:no|not|none|there)",
        'use a noun: "an invalid …", "a missing …", "existing …"',
    ),
    ("what became of", ("what bec", "what came"), "what (?:became|becomes|came) of", 'write "the result of"'),
    ("all the same", ("all the same",), "all the same", 'write "still" or "regardless", or leave it out'),
    ("by itself", ("by itself", "by themselves"), "by (?:itself|themselves)", 'write "automatically" or "alone"'),
    ("let go of", ("go of",), "let(?:s|ting)? go of", 'write "release", "detach" or "discard"'),
    ("grow old", (" old",), "(?:grows?|grew|grown|growing) old", 'write "expire" or "become stale"'),
    ("unasked", ("unasked",), "unasked", 'write "pushed" or "unsolicited"'),
    ("in vain", ("in vain",), "in vain", 'write "without success"'),
    ("midst", ("midst",), "midst", 'write "during" or "while"'),
    ("at hand", ("at hand",), "at hand", 'write "available", "in memory" or "this"'),
    ("read along", ("read along",), "read along", 'write "prefetch", or "log" for SQL'),
    (
        "is there already",
        ("already",),
        "(?:is|are|was|were) (?:there already|already there)",
        'write "already exists"',
    ),
    ("is not there", ("not there",), "(?:is|are|was|were) not there", 'write "does not exist" or "is missing"'),
    ("where nothing is", ("nothing is",), "where nothing is", 'write "unused", "empty" or "missing"'),
    ("mean harm", ("harm",), "means? harm", 'write "malicious"'),
    ("for ever", ("for ever",), "for ever", 'write "forever" or "indefinitely"'),
    ("bear", ("bear",), "bears?|bearing", 'write "has" or "carries"'),
    ("mend", ("mend",), "mend(?:s|ed|ing)?", 'write "fix", "correct" or "repair"'),
    ("lies in", ("lies ", "lie "), "lies? (?:in|beside|at|behind)", 'write "is in", "is stored in" or "is next to"'),
    (
        "of the host's",
        ("'s",),
        f"of the {_OWNER}'s(?! own)(?= (?:that|which|is|are|and|or|to|for)|[,.;:)])",
        'put the owner first: "the host\'s function"',
    ),
    ("pull the ground", ("the ground",), "the ground", 'write "invalidate"'),
    ("is dear", (" dear",), "dear(?:er|est)?", 'write "expensive"'),
)
GENERATED = re.compile(r"generated by|do not edit|don't edit", re.IGNORECASE)


@dataclass
class Phrase:
    """A phrase and its advice. `pattern` matches the result of `collapsed`, `spread` the text of a file."""

    name: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    spread: re.Pattern[str]
    advice: str


def _phrases() -> Iterator[Phrase]:
    for name, hints, words, advice in _PHRASES:
        bounded = rf"\b(?:{words})(?!\w)"
        spread = bounded.replace(_NOT_THERE, r"(?<!there\s)").replace(" ", r"[\s/*#]+")
        yield Phrase(name, hints, re.compile(bounded), re.compile(spread, re.IGNORECASE), advice)


PHRASES = list(_phrases())
_IS_TEST = re.compile(r"^Tests/|/tests/")
_STRING = re.compile(r'(?<!")"(?!"")(?:[^"\\\n]|\\.)*"')
_COMMENT_MARKS = (" /// ", " // ", " * ", " # ")


def collapsed(text: str) -> str:
    """Returns a text on one line, in lower case, without comment marks and without Python's `is None`."""
    text = " ".join(text.replace("is None", "is_None").lower().split())
    for mark in _COMMENT_MARKS:
        text = text.replace(mark, " ")
    return text


def counts_in(text: str) -> Counter[str]:
    """Returns the number of occurrences of each phrase in a text."""
    flat = collapsed(text)
    found: Counter[str] = Counter()
    for phrase in PHRASES:
        if any(hint in flat for hint in phrase.hints) and (count := len(phrase.pattern.findall(flat))):
            found[phrase.name] = count
    return found


def places_in(text: str, phrase: Phrase) -> list[tuple[int, str]]:
    """Returns the lines of a text with a phrase, and the matched text of each."""
    text = text.replace("is None", "is_None")
    return [
        (text.count("\n", 0, match.start()) + 1, re.sub(r"[\s/*#]+", " ", match.group()))
        for match in phrase.spread.finditer(text)
    ]


def prose_of(root: Path, file: str) -> str:
    """Returns the text of a file; without string literals in tests, which quote messages that are checked elsewhere."""
    text = (root / file).read_text(encoding="utf-8", errors="replace")
    if not _IS_TEST.search(file):
        return text
    return _STRING.sub(lambda match: " " * len(match.group()), text)


def checked_files(root: Path) -> Iterator[Path]:
    for pattern in OTHERS:
        yield from (path for path in sorted(root.glob(pattern)) if path.is_file())
    for place in PLACES:
        for path in sorted((root / place).rglob("*")):
            parts = path.relative_to(root).parts
            if path.suffix in SUFFIXES and not any(
                part.startswith((".", "__")) or part == "build" for part in parts[:-1]
            ):
                yield path


def hits_in(root: Path, folders: tuple[str, ...] = ()) -> Iterator[str]:
    """Yields the occurrences of phrases, each with its replacement; only those in `folders`, unless that is empty."""
    for path in checked_files(root):
        file = path.relative_to(root).as_posix()
        if file in EXEMPT or (folders and not file.startswith(folders)):
            continue
        text = prose_of(root, file)
        if GENERATED.search(text[:400]):
            continue
        found = counts_in(text)
        for phrase in PHRASES:
            if phrase.name in found:
                for line, shown in places_in(text, phrase):
                    yield f'{file}:{line}: "{shown}": {phrase.advice}'


# Endings of other forms, and abbreviations such as "WIP".
_NOT_IMPERATIVE = re.compile(r"(?:ed|ing|(?<!s)s)$|^[A-Z]{2,}$")


def subject_mistakes(subject: str) -> Iterator[str]:
    """Yields the mistakes in the subject of a commit."""
    if len(subject) > LONGEST_SUBJECT:
        yield f"has {len(subject)} characters; {LONGEST_SUBJECT} is the limit"
    first = subject.partition(" ")[0]
    if not first[:1].isupper():
        yield "begins with a lower-case letter or a mark; begin with a verb and a capital letter"
    elif first.endswith(":"):
        yield f'begins with "{first}"; leave out the prefix or the colon'
    elif first not in IMPERATIVES and (first in PAST_TENSES or _NOT_IMPERATIVE.search(first)):
        yield f'begins with "{first}"; begin with a verb in the imperative'
    elif first == subject:
        yield "has one word; add what changes in the code"
    if subject.endswith("."):
        yield "ends with a full stop"
    for phrase in PHRASES:
        if counts_in(subject)[phrase.name]:
            yield f'contains "{phrase.name}"; {phrase.advice}'


def _latest_commits(root: Path, commits: str) -> list[str] | None:
    """Returns the short IDs and subjects of at most `SUBJECTS` commits, or None without these commits."""
    if not (root / ".git").exists():
        return None
    command = ["git", "log", f"-{SUBJECTS}", "--no-merges", "--format=%h %s", commits]
    try:
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.splitlines()


def wrong_subjects(root: Path, since: str = LAST_UNCHECKED) -> list[str]:
    """Returns the mistakes in the subjects of the latest commits after `since`.

    Without that commit, as in a shallow clone, all of the latest commits are checked. The list is empty for a folder
    that is not a repository.
    """
    lines = _latest_commits(root, f"{since}..HEAD")
    if lines is None:
        lines = _latest_commits(root, "HEAD") or []
    commits = [line.partition(" ")[::2] for line in lines]
    return [
        f'commit {commit}: the subject "{subject}" {mistake}'
        for commit, subject in commits
        for mistake in subject_mistakes(subject)
    ]


def main(arguments: list[str]) -> None:
    problems = list(hits_in(ROOT, tuple(arguments)))
    if not arguments:
        problems += wrong_subjects(ROOT)
    finish("check-style", problems, f"none of {len(PHRASES)} phrases occurs")


if __name__ == "__main__":
    main(sys.argv[1:])
