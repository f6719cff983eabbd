"""Prints the compiler and linker flags for C programs that use the library of this package."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from . import __version__, library_version
from ._abi.library import find_library


def main() -> None:
    parser = argparse.ArgumentParser(prog="python3 -m corestone", description=__doc__)
    parser.add_argument("--cflags", action="store_true", help="print the flags for a C compiler")
    parser.add_argument("--libs", action="store_true", help="print the flags for a linker")
    parser.add_argument("--version", action="version", version=f"{__version__}, library {library_version()}")
    given = parser.parse_args()
    if not (given.cflags or given.libs):
        parser.error("no flags were requested; pass --cflags, --libs or both")
    library = Path(find_library())
    words = []
    headers = Path(__file__).resolve().parent / "include"
    if library.is_absolute() and not headers.is_dir():
        headers = library.parent.parent / "include"
    if given.cflags and headers.is_dir():
        words.append(f"-I{headers}")
    if given.libs:
        if library.is_absolute():
            words += [f"-L{library.parent}", f"-Wl,-rpath,{library.parent}"]
        words.append(f"-l:{library.name}")
    print(shlex.join(words))


if __name__ == "__main__":
    main()
