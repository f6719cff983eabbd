"""What the scripts of this folder share: where things are, and what the headers declare."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
HEADER = ROOT / "include" / "corestone.h"
LIBRARY = BUILD / "lib" / "libcorestone.so"

THREAD_MARKS = ("CST_ANY_THREAD", "CST_ON_QUEUE", "CST_ONE_THREAD")


def finish(name: str, problems: list[str], good: str) -> NoReturn:
    """Prints the outcome of a check and ends the process: 0 without problems, else 1."""
    for problem in problems:
        print(f"{name}: {problem}", file=sys.stderr)
    if problems:
        sys.exit(1)
    print(f"{name}: {good}")
    sys.exit(0)


def built_library(name: str) -> Path:
    """The library that `make build` left; ends the check when there is none."""
    if not LIBRARY.is_file():
        finish(name, [f"{LIBRARY.relative_to(ROOT)} is missing; run `make build`"], "")
    return LIBRARY


@dataclass
class Function:
    """One exported function, with the section and the header it stands in."""

    name: str
    marks: list[str]
    section: str
    documented: bool
    header: str
    line: int


_SECTION = re.compile(r"^/\* =+ (.+?) =+ \*/$")
_NAME = re.compile(r"\b(cst_\w+)\s*\(")


_INCLUDE = re.compile(r'^#include "(corestone/\w+\.h)"', re.MULTILINE)


def header_files(umbrella: Path = HEADER) -> list[Path]:
    """The headers that an umbrella header includes, in its order; `umbrella` may be an installed one."""
    files = [umbrella.parent / name for name in _INCLUDE.findall(umbrella.read_text(encoding="utf-8"))]
    if not files:
        raise ValueError(f"{umbrella} includes no header of corestone/")
    return files


def header_text(umbrella: Path = HEADER) -> str:
    """The headers of an umbrella as one text, in its order: every reader of the declarations starts here."""
    return "\n".join(file.read_text(encoding="utf-8") for file in header_files(umbrella))


def header_sections() -> list[str]:
    """The titles of the headers' sections, for example "error" or "attribute, relationship"."""
    return [match.group(1) for line in header_text().splitlines() if (match := _SECTION.match(line))]


def header_functions() -> list[Function]:
    """The exported functions in order. A function counts as documented when a comment stands directly above it."""
    return [function for file in header_files() for function in _functions_of(file)]


def bare_types() -> list[str]:
    """Where a type, a callback or a list of constants has no comment directly above it: "model.h:12"."""
    found = []
    for file in header_files():
        lines = file.read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(lines):
            if line.startswith(("typedef ", "enum {", "struct ")) and not lines[number - 1].endswith("*/"):
                found.append(f"{file.name}:{number + 1}")
    return found


def _functions_of(file: Path) -> list[Function]:
    functions: list[Function] = []
    section = ""
    covered = False
    in_comment = False
    declaration: list[str] = []
    start = 0
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        text = line.strip()
        if match := _SECTION.match(line):
            section, covered = match.group(1), False
        elif declaration:
            declaration.append(text)
        elif in_comment or text.startswith("/*"):
            in_comment = "*/" not in text
            covered = True
        elif text.startswith("CST_EXPORT"):
            declaration, start = [text], number
        else:
            covered = False
        if declaration and declaration[-1].endswith(";"):
            whole = " ".join(declaration)
            found = _NAME.search(whole)
            if found is None:
                raise ValueError(f"{file.name}:{start}: an export without a function name")
            head = whole[: found.start()]
            marks = [mark for mark in THREAD_MARKS if re.search(rf"\b{mark}\b", head)]
            functions.append(Function(found.group(1), marks, section, covered, file.name, start))
            declaration, covered = [], False
    return functions
