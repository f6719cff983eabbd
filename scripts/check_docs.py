"""Every type and function of the headers has a comment of its own, and every function exactly one thread mark. Every
section has a page in docs/reference/, every page names only functions that exist, and every link between the pages
leads somewhere."""

from __future__ import annotations

import re

from project import ROOT, bare_types, finish, header_functions, header_sections, header_text

# Sections that share a page, or whose subject is docs/CONVENTIONS.md.
PAGES = {
    "handles": "../CONVENTIONS",
    "plain values": "value",
    "library": "../CONVENTIONS",
    "entity": "model",
    "attribute, relationship": "model",
    "coordinator, store": "store",
    "main queue": "queue",
    "object ID": "object",
    "fetch request": "fetch",
    "host store": "host-store",
}

reference = ROOT / "docs" / "reference"
functions = header_functions()
problems = [f"{place}: a type without a comment of its own" for place in bare_types()]
for function in functions:
    where = f"{function.header}:{function.line}: {function.name}"
    if not function.documented:
        problems.append(f"{where} has no comment of its own")
    if len(function.marks) != 1:
        problems.append(f"{where} has {len(function.marks)} thread marks instead of one")

for section in header_sections():
    page = (reference / f"{PAGES.get(section, section)}.md").resolve()
    if not page.is_file():
        problems.append(f"section '{section}' of the headers has no page {page.relative_to(ROOT)}")
        continue
    text = page.read_text(encoding="utf-8")
    problems += [
        f"{page.relative_to(ROOT)} does not name {function.name}"
        for function in functions
        if function.section == section and not re.search(rf"\b{function.name}\b", text)
    ]

known = set(re.findall(r"\bcst_\w+\b", header_text()))
pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
for page in pages:
    text = page.read_text(encoding="utf-8")
    for name in sorted(set(re.findall(r"\bcst_\w+\b(?![*…])", text)) - known):
        if not name.endswith("_"):
            problems.append(f"{page.relative_to(ROOT)} names {name}, which no header declares")
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
        if not re.match(r"[a-z]+:", target) and not (page.parent / target).exists():
            problems.append(f"{page.relative_to(ROOT)} links to {target}, which does not exist")
finish("check-docs", problems, f"{len(functions)} functions and {len(pages)} pages")
