"""What readers of strangers' files compute is checked: a number of a file may be any, and a trap ends the process.

In the folders that read files, the lines that could trap are those listed in scripts/reviewed_arithmetic.txt, each with
the file's path before it: somebody has looked where the value comes from. These forms are looked for:

- a conversion to a narrower integer without `exactly:`, `clamping:`, `truncatingIfNeeded:` or `bitPattern:`, and one of
  a number with a fraction to any integer;
- a sum, difference or product of what a statement, a header or a file's size gives;
- `!` behind a value, `try!`, `as!`, `unsafeBitCast`, `precondition`, `fatalError`;
- `reduce` that adds without a check.

Usage: check_arithmetic.py [--write]   with --write the list becomes what there is now; look at each line that is new
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from project import ROOT, finish

FOLDERS = [
    "CorestoneSQLite", "CorestoneFiles", "CorestoneModel/Formats", "CorestoneStack", "CorestoneMigration",
    "CorestoneGraph/Stores", "CorestoneGraph/Records", "CorestoneGraph/Arrow", "CorestoneValues",
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
    """Without comments and what stands between quotation marks, unless it is computed."""
    line = re.sub(r'"(?:\\.|[^"\\])*"', lambda text: "".join(re.findall(r"\\\((.*?)\)", text.group())) or '""', line)
    return line.split("//", 1)[0]


def risky() -> dict[str, int]:
    """The lines that could trap, with their files, and how often each stands there."""
    found: dict[str, int] = {}
    for folder in FOLDERS:
        for path in sorted((ROOT / "Sources" / folder).rglob("*.swift")):
            for line in path.read_text(encoding="utf-8").splitlines():
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
            "# Lines that could trap by their form, and cannot: see scripts/check_arithmetic.py. Each was looked at.\n"
        )
        REVIEWED.write_text(head + "\n".join(lines) + "\n", encoding="utf-8")
    known = reviewed(REVIEWED)
    problems = [
        f"{line}: could trap on a value of a file; use exactly:, clamping:, …ReportingOverflow, addingClamped, or see "
        f"to it that no file has a say in it and add the line to {REVIEWED.relative_to(ROOT)}"
        for line, count in there.items()
        if count > known.get(line, 0)
    ]
    gone = [line for line, count in known.items() if count > there.get(line, 0)]
    problems += [f"{line}: is no longer there; remove it of {REVIEWED.relative_to(ROOT)}" for line in gone]
    finish(
        "check-arithmetic",
        problems,
        f"{sum(there.values())} lines of readers could trap by their form, all were looked at",
    )


if __name__ == "__main__":
    main()
