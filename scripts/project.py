"""Functions for the scripts of this folder: paths, the outcome of a check, and the description of the interface."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NoReturn

from api import description

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
HEADERS = ROOT / "include"
DESCRIPTION = HEADERS / "corestone-api.json"
LIBRARY = BUILD / "lib" / "libcorestone.so"


def finish(name: str, problems: list[str], good: str) -> NoReturn:
    """Prints the outcome of a check and exits: with 0 if there are no problems, else with 1."""
    for problem in problems:
        print(f"{name}: {problem}", file=sys.stderr)
    if problems:
        sys.exit(1)
    print(f"{name}: {good}")
    sys.exit(0)


def built_library(name: str) -> Path:
    """Returns the path of the library. Ends the check with a problem if it is not built."""
    if not LIBRARY.is_file():
        finish(name, [f"{LIBRARY.relative_to(ROOT)} is missing; run `make build`"], "")
    return LIBRARY


def interface() -> description.Interface:
    """Returns the interface from include/corestone-api.json, which `make lint` compares with the headers."""
    return description.load(DESCRIPTION)
