"""Finds lines that could trap on a number of an untrusted file, which may be any number; a trap ends the process.

In the folders that read files, each such line must be in scripts/reviewed_arithmetic.txt, after the path of its file.
The list contains only lines of which a person has checked that they cannot trap. The check searches for:

- a conversion to a narrower integer without `exactly:`, `clamping:`, `truncatingIfNeeded:` or `bitPattern:`, and of a
  number with a fraction to any integer;
- a sum, difference or product with a number of a statement, a header or a file's size;
- `!` after a value, `try!`, `as!`, `unsafeBitCast`, `precondition`, `fatalError`;
- `reduce` that adds without a check.

Lines between `#if DEBUG` and `#endif` are not in the library and are not checked.

Usage: check_arithmetic.py [--write]   --write replaces the list with the current lines; review each new one
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from project import ROOT, finish

FOLDERS = [
    "CorestoneSQLite", "CorestoneAtomicStores", "CorestoneModel/Formats", "CorestoneContainers", "CorestoneMigration",
    "CorestoneGraph/Stores", "CorestoneGraph/Records", "CorestoneGraph/Arrow", "CorestoneValues", "CorestoneFormats",
    "CorestoneFileSystem",
]  # fmt: skip
REVIEWED = ROOT / "scripts" / "reviewed_arithmetic.txt"

LABELS = r"(?!\s*(?:exactly|clamping|truncatingIfNeeded|bitPattern|littleEndian|bigEndian|ascii)\s*:)"
NARROW = re.compile(rf"(?<![\w.])(?:Int8|Int16|Int32|CInt|UInt8|UInt16|UInt32|mode_t|off_t)\({LABELS}(?!\))")
UNSIGNED = re.compile(rf"(?<![\w.])(?:UInt|UInt64)\({LABELS}(?!\))")
FRACTION = re.compile(
    rf"(?<![\w.])U?Int(?:8|16|32|64|128)?\({LABELS}[^()]*(?:\([^()]*\)[^()]*)*"
    r"(?:seconds|rounded|floor|magnitude|fraction|[Dd]ouble|1e\d|0x1p)"
)
SOURCE = r"(?:\.integer\(\w+\)|column_int64\([^)]*\)|\.st_size|\.fileSize|\.primaryKey|\blowest\b|\bhighest\b)"
SUMS = re.compile(rf"{SOURCE}\)?\s+[-+*]\s+\S|\S\s+[-+*]\s+\S*{SOURCE}|(?<!&)[-+*]=.*{SOURCE}")
FORCED = re.compile(
    r"[\w\])]!(?=[\s.,)\]\[({:?]|$)(?!=)|\btry!|\bas!|\bunsafeBitCast\b|\bprecondition\w*\(|\bfatalError\("
)
REDUCE = re.compile(r"\.reduce\(\d[^{]*\{[^}]*\$0 \+ ")
FORMS = [NARROW, UNSIGNED, FRACTION, SUMS, FORCED, REDUCE]


def code(line: str) -> str:
    """Returns a line without its comment and its string literals, except interpolated expressions."""
    line = re.sub(r'"(?:\\.|[^"\\])*"', lambda text: "".join(re.findall(r"\\\((.*?)\)", text.group())) or '""', line)
    return line.split("//", 1)[0]


def shipped(text: str) -> list[str]:
    """Returns the lines of a file without those between `#if DEBUG` and `#endif`."""
    return re.sub(r"(?ms)^ *#if DEBUG$.*?^ *#(?:else|endif)$", "", text).splitlines()


def risky() -> dict[str, int]:
    """Returns the number of occurrences of each line that could trap, by file and line."""
    found: dict[str, int] = {}
    for folder in FOLDERS:
        for path in sorted((ROOT / "Sources" / folder).rglob("*.swift")):
            for line in shipped(path.read_text(encoding="utf-8")):
                if any(form.search(code(line)) for form in FORMS):
                    key = f"{path.relative_to(ROOT / 'Sources')}: {' '.join(line.split())}"
                    found[key] = found.get(key, 0) + 1
    return found


def reviewed(path: Path) -> dict[str, int]:
    found: dict[str, int] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            found[line] = found.get(line, 0) + 1
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true")
    there = risky()
    if parser.parse_args().write:
        lines = [line for line, count in sorted(there.items()) for _ in range(count)]
        head = (
            "# Lines that have the form of a possible trap. Each was reviewed and cannot trap; see "
            "scripts/check_arithmetic.py.\n"
        )
        REVIEWED.write_text(head + "\n".join(lines) + "\n", encoding="utf-8")
    known = reviewed(REVIEWED)
    problems = [
        f"{line}: could trap on a value of a file; use exactly:, clamping:, …ReportingOverflow or addingClamped, or "
        f"verify that the value does not depend on a file and add the line to {REVIEWED.relative_to(ROOT)}"
        for line, count in there.items()
        if count > known.get(line, 0)
    ]
    gone = [line for line, count in known.items() if count > there.get(line, 0)]
    problems += [f"{line}: is not in the sources; remove it from {REVIEWED.relative_to(ROOT)}" for line in gone]
    finish(
        "check-arithmetic",
        problems,
        f"{sum(there.values())} lines have the form of a possible trap, and all are reviewed",
    )


if __name__ == "__main__":
    main()
