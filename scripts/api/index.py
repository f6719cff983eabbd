"""Generates docs/reference/functions.md, which lists every function by section, with its thread and a summary."""

from __future__ import annotations

import re

from .description import Function, Interface

# Sections whose page has another name: several share a page, and some are in docs/CONVENTIONS.md.
PAGES = {
    "version": "../CONVENTIONS",
    "library": "../CONVENTIONS",
    "types": "value",
    "inline": "value",
    "entity": "model",
    "property": "model",
    "object_id": "object",
    "migration_guard": "lint",
}

HEAD = """# Functions

Every function of the C interface, with a section for each header. The page of a section explains how its functions work
together; the header has the complete comment of each. `include/corestone-api.json`, which is installed with the
headers, describes the interface for programs: types, annotations, sizes, offsets and comments.

<!-- Written by scripts/generate.py from include/corestone-api.json. `make generate` writes it again. -->
"""

THREADS = {"any_thread": "any", "one_thread": "one at a time", "on_queue": "queue"}


def page_of(section: str) -> str:
    """Returns the path of the page for a section, relative to docs/reference/, without its extension."""
    return PAGES.get(section, section.replace("_", "-"))


def functions_page(interface: Interface) -> str:
    parts = [HEAD]
    for section in interface.sections:
        functions = [each for each in interface.functions if each.section == section.name]
        if not functions:
            continue
        page = page_of(section.name)
        title = page.rpartition("/")[2]
        parts.append(f"## {section.name}\n\nIn [{title}]({page}.md).\n\n| function | thread | |\n|---|---|---|")
        parts.append("\n".join(f"| `{each.name}` | {THREADS[each.thread]} | {_sentence(each)} |" for each in functions))
        parts.append("")
    return "\n".join(parts)


def _sentence(function: Function) -> str:
    """Returns the first sentence of a function's own comment, for a cell of a table."""
    if function.doc_of:
        return f"see `{function.doc_of}`"
    first = function.doc.split("\n")[0]
    match = re.match(r"(.{12,}?[.!?])(?= |$)", first)
    sentence = match.group(1) if match else first
    if "`" not in sentence:
        sentence = re.sub(r"\b((?:cst|CST)_\w+…?)", r"`\1`", sentence)
    return sentence.replace("|", "\\|").replace("<", "&lt;")
