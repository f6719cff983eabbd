"""Checks that programs built with the interface in abi/corestone.abi run with the interface of the headers in include/.

It fails if a function, type, constant or member was removed or changed. It also fails for an addition that is not in
the dump, so that both are in one commit; `make abi` writes the dump. See docs/CONVENTIONS.md, "Compatibility".

Usage: check_abi.py                    compare
       check_abi.py --write            write the dump, unless a change is incompatible
       check_abi.py --write --break    write the dump in any case
"""

from __future__ import annotations

import argparse
from pathlib import Path

from api import compatibility, dump, headers
from project import HEADERS, ROOT, finish

NAME = "check-abi"
DUMP = ROOT / "abi" / "corestone.abi"
REMEDY = (
    "existing programs would no longer run; restore these declarations, and add others with new names. For an intended "
    'incompatibility, follow the steps in docs/CONVENTIONS.md, "Compatibility"'
)
REPORT_LINES = 60


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true", help="write the dump")
    parser.add_argument("--break", action="store_true", dest="breaks", help="with --write: allow incompatible changes")
    parser.add_argument("--include", type=Path, default=HEADERS, help="the folder of corestone.h")
    parser.add_argument("--dump", type=Path, default=DUMP, help="the dump to compare with")
    arguments = parser.parse_args()
    place: Path = arguments.dump
    try:
        fresh = dump.make(headers.parse(arguments.include), arguments.include)
        described = dump.read(fresh)
        if place.is_file():
            verdict = compatibility.compare(dump.read(place.read_text(encoding="utf-8")), described)
        elif arguments.write:
            verdict = compatibility.Verdict(additions=["the dump was added"])
        else:
            finish(NAME, [f"{place} is missing; restore it"], "")
    except (headers.HeaderError, dump.ToolError, ValueError) as failure:
        finish(NAME, str(failure).split("\n"), "")
    sizes = (len(described.functions), len(described.structs), len(described.constants))
    counts = "{} functions, {} structs, {} constants".format(*sizes)
    if verdict.breaks and not (arguments.write and arguments.breaks):
        report = dump.report(place, fresh).splitlines()
        more = [f"… {len(report) - REPORT_LINES} more lines"] if len(report) > REPORT_LINES else []
        print("\n".join(["abidiff reports:", *report[:REPORT_LINES], *more]))
        finish(NAME, [*verdict.breaks, REMEDY], "")
    if not arguments.write:
        if verdict.additions:
            name = place.relative_to(ROOT) if place.is_relative_to(ROOT) else place
            verdict.additions.append(f"{name} is outdated; run `make abi` and commit the file with the change")
        finish(NAME, verdict.additions, f"{counts}, all as in {place.name}")
    if verdict.breaks or verdict.additions:
        place.parent.mkdir(exist_ok=True)
        place.write_text(fresh, encoding="utf-8")
    for line in verdict.breaks + verdict.additions:
        print(f"{NAME}: {line}")
    finish(NAME, [], f"{counts} in {place.name}")


if __name__ == "__main__":
    main()
