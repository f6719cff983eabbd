"""Keeps phrases that docs/STYLE.md replaces out of new text, and commit subjects short.

Usage: check_style.py            compare the sources with scripts/style_baseline.txt, as `make lint` does
       check_style.py --update   write the baseline after rewording or moving text; fails if a phrase is more frequent
       check_style.py --counts   print how often each phrase occurs
       check_style.py --hits [FOLDER…]   list every place with a phrase

The baseline has, for each phrase, how often each file contains it. It may only shrink.
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

BASELINE = "scripts/style_baseline.txt"
UPDATE = "scripts/check_style.py --update"
PLACES = ("Sources", "include", "bindings", "docs", "examples", "Tests", "scripts", "bench")
SUFFIXES = {".swift", ".h", ".c", ".py", ".md", ".sh"}
# What quotes the phrases, and what is written from the sources that are checked.
EXEMPT = {
    "docs/STYLE.md",
    "docs/reference/messages.md",
    "scripts/check_style.py",
    "Tests/style/test_check_style.py",
}
SUBJECTS = 20
LONGEST_SUBJECT = 70

_OWNER = "(?:host|library|store|context|caller|process|program|system|model|user)"
_NOT_THERE = "(?<!there )"
# The phrase, strings without one of which a text cannot contain it, the pattern, and the advice.
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
    """`pattern` is for text as `collapsed` gives it, `spread` for text as it stands in a file."""

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

# How often each file has a phrase. In a baseline, a phrase with the file "" is one that it lists.
Counts = dict[tuple[str, str], int]


def collapsed(text: str) -> str:
    """A text on one line, in lower case, without the marks of comments. Leaves out Python's `is None`."""
    text = " ".join(text.replace("is None", "is_None").lower().split())
    for mark in _COMMENT_MARKS:
        text = text.replace(mark, " ")
    return text


def counts_in(text: str) -> Counter[str]:
    """How often a text has each phrase that it has."""
    flat = collapsed(text)
    found: Counter[str] = Counter()
    for phrase in PHRASES:
        if any(hint in flat for hint in phrase.hints) and (count := len(phrase.pattern.findall(flat))):
            found[phrase.name] = count
    return found


def places_in(text: str, phrase: Phrase) -> list[tuple[int, str]]:
    """The lines of a text with a phrase, and how it reads there."""
    text = text.replace("is None", "is_None")
    return [
        (text.count("\n", 0, match.start()) + 1, re.sub(r"[\s/*#]+", " ", match.group()))
        for match in phrase.spread.finditer(text)
    ]


def prose_of(root: Path, file: str) -> str:
    """A file without the strings of tests: they quote messages, which are checked where they are written."""
    text = (root / file).read_text(encoding="utf-8", errors="replace")
    if not _IS_TEST.search(file):
        return text
    return _STRING.sub(lambda match: " " * len(match.group()), text)


def checked_files(root: Path) -> Iterator[Path]:
    yield from sorted(root.glob("*.md"))
    for place in PLACES:
        for path in sorted((root / place).rglob("*")):
            parts = path.relative_to(root).parts
            if path.suffix in SUFFIXES and not any(
                part.startswith((".", "__")) or part == "build" for part in parts[:-1]
            ):
                yield path


def counts_of(root: Path) -> Counts:
    counts: Counts = {}
    for path in checked_files(root):
        file = path.relative_to(root).as_posix()
        text = prose_of(root, file)
        if file not in EXEMPT and not GENERATED.search(text[:400]):
            counts.update({(phrase, file): count for phrase, count in counts_in(text).items()})
    return counts


def totals_of(counts: Counts) -> Counter[str]:
    totals: Counter[str] = Counter()
    for (phrase, _), count in counts.items():
        totals[phrase] += count
    return totals


def hits_in(root: Path, counts: Counts, folders: tuple[str, ...]) -> Iterator[str]:
    """The places with a phrase, with its advice; in `folders` only, if any are named."""
    files = {file for (_, file), count in counts.items() if count and (not folders or file.startswith(folders))}
    for file in sorted(files):
        text = prose_of(root, file)
        for phrase in PHRASES:
            for line, shown in places_in(text, phrase):
                yield f'{file}:{line}: "{shown}": {phrase.advice}'


def read_baseline(path: Path) -> Counts:
    """The counts by phrase and file. A phrase that is listed without files has a count of zero everywhere."""
    counts: Counts = {}
    phrase = ""
    for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else []:
        if line.startswith("  "):
            count, _, file = line.strip().partition(" ")
            counts[phrase, file] = int(count)
        elif line and not line.startswith("#"):
            phrase = line.rpartition(":")[0]
            counts[phrase, ""] = 0
    return counts


def baseline_text(counts: Counts) -> str:
    lines = ["# How often each file contains a phrase that docs/STYLE.md replaces; by scripts/check_style.py --update."]
    totals = totals_of(counts)
    for phrase in PHRASES:
        lines.append(f"{phrase.name}: {totals[phrase.name]}")
        of_phrase = sorted((file, count) for (name, file), count in counts.items() if name == phrase.name and count)
        lines += [f"  {count} {file}" for file, count in of_phrase]
    return "\n".join(lines) + "\n"


def compare(root: Path, counts: Counts, baseline: Counts) -> list[str]:
    """Where the sources have more hits than the baseline allows, or the baseline allows more than they have."""
    problems: list[str] = []
    unlisted: list[str] = []
    known = {phrase for phrase, file in baseline if file == ""}
    for phrase in PHRASES:
        if phrase.name not in known:
            unlisted.append(f'{BASELINE} does not list "{phrase.name}"; run {UPDATE}')
            continue
        for (_, file), count in sorted((key, count) for key, count in counts.items() if key[0] == phrase.name):
            allowed = baseline.get((phrase.name, file), 0)
            if count > allowed:
                text = prose_of(root, file)
                which = f" (of these {count}, {allowed} are old)" if allowed else ""
                problems += [
                    f'{file}:{line}: "{shown}": {phrase.advice}{which}' for line, shown in places_in(text, phrase)
                ]
    if problems and all(totals_of(counts)[name] <= total for name, total in totals_of(baseline).items()):
        problems.append(f"if text has only moved from one file to another, run {UPDATE}")
    elif not problems and any(counts.get(key, 0) < count for key, count in baseline.items()):
        problems.append(f"{BASELINE} allows more hits than there are; run {UPDATE} and commit it")
    return unlisted + problems


def more_frequent(counts: Counts, baseline: Counts) -> list[str]:
    """The phrases that occur more often than the baseline says, all files taken together."""
    known = {phrase for phrase, file in baseline if file == ""}
    before, after = totals_of(baseline), totals_of(counts)
    return [
        f'"{phrase.name}" occurs {after[phrase.name]} times, not {before[phrase.name]}: {phrase.advice}'
        for phrase in PHRASES
        if phrase.name in known and after[phrase.name] > before[phrase.name]
    ]


def long_subjects(root: Path) -> list[str]:
    """The recent commits whose subject is too long; none where the sources are no clone."""
    command = ["git", "log", f"-{SUBJECTS}", "--no-merges", "--format=%h %s"]
    try:
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return []
    commits = [line.partition(" ")[::2] for line in done.stdout.splitlines()]
    return [
        f'commit {commit}: the subject "{subject}" has {len(subject)} characters; {LONGEST_SUBJECT} is the limit'
        for commit, subject in commits
        if len(subject) > LONGEST_SUBJECT
    ]


def main(arguments: list[str]) -> None:
    path = ROOT / BASELINE
    counts = counts_of(ROOT)
    total = sum(counts.values())
    baseline = read_baseline(path)
    if arguments == ["--counts"]:
        totals = totals_of(counts)
        for phrase in sorted(PHRASES, key=lambda phrase: -totals[phrase.name]):
            print(f"{totals[phrase.name]:>6}  {phrase.name}")
        finish("check-style", [], f"{total} hits of {len(PHRASES)} phrases")
    if arguments[:1] == ["--hits"]:
        hits = sorted(hits_in(ROOT, counts, tuple(arguments[1:])))
        print("\n".join(hits))
        finish("check-style", [], f"{len(hits)} hits")
    if arguments == ["--update"]:
        problems = more_frequent(counts, baseline)
        if not problems:
            path.write_text(baseline_text(counts), encoding="utf-8")
        finish("check-style", problems, f"wrote {total} hits of {len(PHRASES)} phrases to {BASELINE}")
    if arguments:
        finish("check-style", [f"unknown arguments: {' '.join(arguments)}"], "")
    problems = compare(ROOT, counts, baseline) + long_subjects(ROOT)
    finish("check-style", problems, f"no new hits of {len(PHRASES)} phrases; {total} in the baseline")


if __name__ == "__main__":
    main(sys.argv[1:])
