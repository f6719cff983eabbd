"""Checks that the examples in the README and the docs are equal to the files that `make test` runs.

A code block below a line `<!-- path -->` contains that whole file, or its part between a comment "Shown in README.md:"
and a comment "End of the shown part". `--write` copies the files into the blocks.
"""

from __future__ import annotations

import re
import sys
import textwrap

from project import ROOT, finish

BLOCK = re.compile(r"(<!-- ([\w./-]+) -->\n```\w*\n)(.*?)(```\n)", re.DOTALL)
_MARK = r"^ *(?:/\*|//|#) "
PART = re.compile(rf"{_MARK}Shown in README\.md:[^\n]*\n(.*?){_MARK}End of the shown part", re.DOTALL | re.MULTILINE)
EXAMPLES = ("examples/c/ten_lines.c", "examples/python/ten_lines.py", "examples/swift/ten_lines.swift")
# The most lines of each of these examples in the README.
MOST_LINES = 30


def shown_of(text: str) -> str:
    """Returns the text of a file that a page shows."""
    part = PART.search(text)
    return textwrap.dedent(part[1]) if part else text


def main(arguments: list[str]) -> None:
    write = "--write" in arguments
    problems = []
    blocks: dict[str, str] = {}
    count = 0
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        text = page.read_text(encoding="utf-8")
        fresh = text
        for match in BLOCK.finditer(text):
            opening, path, shown, closing = match.groups()
            count += 1
            source = ROOT / path
            if not source.is_file():
                problems.append(f"{page.relative_to(ROOT)} shows {path}, which does not exist")
                continue
            wanted = shown_of(source.read_text(encoding="utf-8"))
            if page.name == "README.md":
                blocks[path] = wanted
            if wanted != shown and write:
                fresh = fresh.replace(match.group(0), opening + wanted + closing)
            elif wanted != shown:
                problems.append(f"{page.relative_to(ROOT)} shows an outdated {path}; run {sys.argv[0]} --write")
        if fresh != text:
            page.write_text(fresh, encoding="utf-8")
    for path in EXAMPLES:
        if path not in blocks:
            problems.append(f"README.md does not show {path}")
        elif (lines := blocks[path].count("\n")) > MOST_LINES:
            problems.append(f"README.md shows {lines} lines of {path}; {MOST_LINES} is the limit")
    finish("check-readme", problems, f"{count} code blocks equal their files")


if __name__ == "__main__":
    main(sys.argv[1:])
