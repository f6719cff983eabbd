"""Checks the wheels in a folder.

The tag of each is checked with auditwheel, and its metadata with twine. Its SPDX document is checked with spdx-tools,
and against the files that it describes. The wheel must not contain SQLite.

Usage: check_wheel.py DIST   (run it with the Python of build/venv-packaging)
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

BIN = Path(sys.executable).parent


def run(*command: str) -> str:
    environment = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"}
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment, check=False
    )
    print(f"$ {' '.join(command)}\n{done.stdout.rstrip()}")
    if done.returncode != 0:
        sys.exit(f"check-wheel: {command[0]} failed")
    return done.stdout


def contents(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {each.filename: archive.read(each) for each in archive.infolist()}


def floor(binary: Path) -> str:
    """Returns the newest version of each set of symbols that a binary needs."""
    listing = subprocess.run(
        ["readelf", "--version-info", "--wide", str(binary)], check=True, capture_output=True, text=True
    ).stdout
    newest: dict[str, tuple[int, ...]] = {}
    for name, number in re.findall(r"Name: ([A-Z]+)_(\d[\d.]*)", listing.partition(".gnu.version_r")[2]):
        newest[name] = max(newest.get(name, ()), tuple(map(int, number.split("."))))
    return ", ".join(f"{name}_{'.'.join(map(str, newest[name]))}" for name in sorted(newest))


def check_document(text: bytes, binaries: dict[str, Path]) -> None:
    """Checks the form of the SPDX document and the hashes of the binaries in it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "corestone.spdx.json"
        path.write_bytes(text)
        run("pyspdxtools", "--infile", str(path))
    sums = {
        Path(file["fileName"]).name: checksum["checksumValue"]
        for file in json.loads(text)["files"]
        for checksum in file["checksums"]
        if checksum["algorithm"] == "SHA256"
    }
    found = {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in binaries.items()}
    if sums != found:
        sys.exit("check-wheel: the hashes in the SPDX document are not those of the files in the wheel")


def main(dist: Path) -> None:
    wheels = sorted(dist.glob("*.whl"))
    if not 1 <= len(wheels) <= 2:
        sys.exit(f"check-wheel: {dist} has {len(wheels)} wheels, not one or two")
    for wheel in wheels:
        check(wheel)


def check(wheel: Path) -> None:
    match = re.search(r"-(?:py3-none|cp39-abi3)-(manylinux_\d+_\d+_\w+)\.whl$", wheel.name)
    if match is None:
        sys.exit(f"check-wheel: the tag of {wheel.name} is neither py3-none-manylinux_… nor cp39-abi3-manylinux_…")
    tag = match.group(1)
    if f'"{tag}"' not in run("auditwheel", "show", str(wheel)):
        sys.exit(f"check-wheel: auditwheel does not report the tag {tag}")
    entries = contents(wheel)
    if bundled := [name for name in entries if "sqlite3" in Path(name).name and name.endswith((".so", ".0"))]:
        sys.exit(f"check-wheel: the wheel must not contain SQLite, but has {', '.join(bundled)}")
    with tempfile.TemporaryDirectory() as folder:
        # `auditwheel repair` must not change the binaries, or add any except SQLite, which the system provides.
        run("auditwheel", "repair", "--exclude", "libsqlite3.so.0", "--plat", tag, "-w", folder, str(wheel))
        (repaired,) = Path(folder).glob("*.whl")
        after = contents(repaired)
        for name, content in entries.items():
            if content.startswith(b"\x7fELF") and after.get(name) != content:
                sys.exit(f"check-wheel: auditwheel would change {name}")
        if added := [name for name in after if name not in entries and after[name].startswith(b"\x7fELF")]:
            sys.exit(f"check-wheel: auditwheel would add {', '.join(added)}")
    run("twine", "check", "--strict", str(wheel))
    with tempfile.TemporaryDirectory() as folder:
        binaries = {}
        for name, content in entries.items():
            if content.startswith(b"\x7fELF"):
                path = binaries[Path(name).name] = Path(folder) / Path(name).name
                path.write_bytes(content)
                print(f"{name}: {len(content):,} bytes; needs {floor(path)}")
        (document,) = (content for name, content in entries.items() if name.endswith(".spdx.json"))
        # The accelerator consists of this project's code alone, so the document does not describe it.
        linked = {name: path for name, path in binaries.items() if not name.startswith("_accelerator")}
        check_document(document, linked)
    print(f"check-wheel: {wheel.name}, {wheel.stat().st_size:,} bytes, {len(entries)} files, without SQLite")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
