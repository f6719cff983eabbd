"""Lists the stores of a folder that cannot be opened, or only read-only, with the reasons, to compare two builds.

Each file with the header of an SQLite database is copied with the other files of its store. The copy is opened for
reading and for writing, with its cached model. CORESTONE_LIBRARY selects the build.

Usage: store_lists.py [FOLDER]     by default the folder of CORESTONE_FIXTURES
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

import corestone
from project import ROOT


def attempt(path: Path, place: Path, writable: bool) -> str:
    """Opens a copy of a store. Returns why it cannot be opened, or only read-only; or an empty string."""
    folder = Path(tempfile.mkdtemp(dir=place))
    try:
        for each in path.parent.iterdir():
            if each.name == path.name or each.name in (f"{path.name}-wal", f"{path.name}-journal"):
                shutil.copy(each, folder / each.name)
            elif each.name == f".{path.stem}_SUPPORT":
                shutil.copytree(each, folder / each.name, symlinks=True)
        (folder / path.name).chmod(0o600)
        try:
            with corestone.open(folder / path.name, writable=writable) as container:
                reason = container.read_only_reason if writable else None
                for name in container.model if not writable else ():
                    container.context().fetch(name, limit=3)
            return f"read-only: {reason}" if reason else ""
        except corestone.CorestoneError as error:
            return f"unreadable: {error}"
    finally:
        shutil.rmtree(folder)


def main() -> None:
    fixtures = os.environ.get("CORESTONE_FIXTURES") or ROOT.parent / "shared" / "fixtures"
    root = Path(sys.argv[1] if len(sys.argv) > 1 else fixtures)
    stores = [
        path
        for path in sorted(root.rglob("*"))
        if path.is_file() and not path.is_symlink() and path.open("rb").read(15) == b"SQLite format 3"
    ]
    counts = {"unreadable": 0, "read-only": 0}
    with tempfile.TemporaryDirectory() as place:
        for path in stores:
            for writable in (False, True):
                found = attempt(path, Path(place), writable)
                if not found:
                    continue
                kind = found.partition(":")[0]
                if kind == "read-only" or not writable:
                    counts[kind] += 1
                # The folder of the copy is different in every run.
                text = re.sub(re.escape(place) + r"/[^/]+/", "", found)
                print(f"{path.relative_to(root)} {'for writing' if writable else 'for reading'} {text}")
    print(f"{len(stores)} stores: {counts['unreadable']} unreadable, {counts['read-only']} read-only")


if __name__ == "__main__":
    main()
