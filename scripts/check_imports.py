"""Checks that the library does not import Foundation or Dispatch, each of which would make it several times larger."""

from __future__ import annotations

import re

from project import ROOT, finish

# The command-line tool is a separate program and may import them.
PROGRAMS = {"corestone-cli"}
# Also matches `import struct Foundation.Data` and attributes such as @preconcurrency before the keyword.
IMPORT = re.compile(
    r"^\s*(?:(?:@\w+(?:\([^)]*\))?|public|package|internal|fileprivate|private)\s+)*import\s+(?:\w+\s+)?"
    r"(Foundation\w*|Dispatch|_StringProcessing|RegexBuilder)\b"
)

problems = []
files = 0
for path in sorted((ROOT / "Sources").rglob("*.swift")):
    if path.relative_to(ROOT / "Sources").parts[0] in PROGRAMS:
        continue
    files += 1
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if match := IMPORT.match(line):
            problems.append(f"{path.relative_to(ROOT)}:{number}: the library must not import {match.group(1)}")
finish("check-imports", problems, f"{files} files of the library do not import Foundation or Dispatch")
