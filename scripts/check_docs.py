"""Checks the comments of the headers, and the pages in docs/reference/.

Every function and type must have its own comment, and every section a page that names its functions. Pages must name
only existing functions, and their links must be valid.

`make lint` checks the thread marks, and compares docs/reference/functions.md with the headers.
"""

from __future__ import annotations

import re

from api.index import page_of
from project import ROOT, finish, interface

reference = ROOT / "docs" / "reference"
described = interface()
types = [*described.handles, *described.structs, *described.callbacks]
problems = [f"{each.header}: {each.name} does not have its own comment" for each in types if not each.doc]
problems += [
    f"{each.header}: {each.name} does not have its own comment"
    for each in described.functions
    if not each.doc or each.doc_of
]

for section in described.sections:
    page = (reference / f"{page_of(section.name)}.md").resolve()
    if not page.is_file():
        problems.append(f"{page.relative_to(ROOT)}, the page of '{section.name}' of {section.header}, is missing")
        continue
    text = page.read_text(encoding="utf-8")
    problems += [
        f"{page.relative_to(ROOT)} does not name {function.name}"
        for function in described.functions
        if function.section == section.name and not re.search(rf"\b{function.name}\b", text)
    ]

known = described.names()
pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
for page in pages:
    text = page.read_text(encoding="utf-8")
    for name in sorted(set(re.findall(r"\bcst_\w+\b(?![*…])", text)) - known):
        if not name.endswith("_"):
            problems.append(f"{page.relative_to(ROOT)} names {name}, but the headers do not declare it")
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
        if not re.match(r"[a-z]+:", target) and not (page.parent / target).exists():
            problems.append(f"{page.relative_to(ROOT)} links to {target}, which does not exist")
finish("check-docs", problems, f"{len(described.functions)} functions and {len(pages)} pages")
