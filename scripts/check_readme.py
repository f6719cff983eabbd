"""Checks that the examples in the README and the docs are equal to the files that `make test` runs.

A code block below a line `<!-- path -->` contains that whole file. `--write` copies the files into the blocks.
"""

from __future__ import annotations

import re
import sys

from project import ROOT, finish

BLOCK = re.compile(r"(<!-- ([\w./-]+) -->\n```\w*\n)(.*?)(```\n)", re.DOTALL)

write = "--write" in sys.argv[1:]
problems = []
blocks = 0
for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
    text = page.read_text(encoding="utf-8")
    fresh = text
    for match in BLOCK.finditer(text):
        opening, path, shown, closing = match.groups()
        blocks += 1
        source = ROOT / path
        if not source.is_file():
            problems.append(f"{page.relative_to(ROOT)} shows {path}, which does not exist")
        elif source.read_text(encoding="utf-8") != shown:
            if write:
                fresh = fresh.replace(match.group(0), opening + source.read_text(encoding="utf-8") + closing)
            else:
                problems.append(f"{page.relative_to(ROOT)} shows an outdated {path}; run {sys.argv[0]} --write")
    if fresh != text:
        page.write_text(fresh, encoding="utf-8")
for path in ("examples/c/ten_lines.c", "examples/python/ten_lines.py", "examples/swift/ten_lines.swift"):
    if f"<!-- {path} -->" not in (ROOT / "README.md").read_text(encoding="utf-8"):
        problems.append(f"README.md does not show {path}")
finish("check-readme", problems, f"{blocks} code blocks equal their files")
