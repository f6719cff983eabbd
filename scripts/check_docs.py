"""Every function and type of the headers has a comment of its own, every section has a page in docs/reference/ that
names its functions, every page names only functions that exist, and every link between the pages leads somewhere.

`make lint` sees to the marks of threads, and compares docs/reference/functions.md with the headers.
"""

from __future__ import annotations

import re

from api.index import page_of
from project import ROOT, finish, interface

reference = ROOT / "docs" / "reference"
described = interface()
types = [*described.handles, *described.structs, *described.callbacks]
problems = [f"{each.header}: {each.name} has no comment of its own" for each in types if not each.doc]
problems += [
    f"{each.header}: {each.name} has no comment of its own"
    for each in described.functions
    if not each.doc or each.doc_of
]

for section in described.sections:
    page = (reference / f"{page_of(section.name)}.md").resolve()
    if not page.is_file():
        problems.append(f"section '{section.name}' of {section.header} has no page {page.relative_to(ROOT)}")
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
            problems.append(f"{page.relative_to(ROOT)} names {name}, which no header declares")
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
        if not re.match(r"[a-z]+:", target) and not (page.parent / target).exists():
            problems.append(f"{page.relative_to(ROOT)} links to {target}, which does not exist")
finish("check-docs", problems, f"{len(described.functions)} functions and {len(pages)} pages")
