"""Builds the wheels and the source distribution of the Python package, as a build backend (PEP 517).

Usage: corestone_build.py wheel|sdist FOLDER   after `make sbom`, which the backend itself runs for a wheel

There are two wheels, which both contain the shared library and suit every Python from 3.9 on: `cp39-abi3` with the
accelerator, for CPython, and `py3-none` without it. The tag of a wheel contains the oldest glibc with which its
binaries run. The same input results in the same bytes: entries are
sorted, and their time is SOURCE_DATE_EPOCH.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import os
import platform
import re
import subprocess
import sys
import tarfile
import time
import zipfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = Path(os.environ.get("CORESTONE_BUILD") or ROOT / "build")
PACKAGE = ROOT / "bindings" / "python" / "corestone"
PORTABLE = BUILD / "portable"
ACCELERATOR = PACKAGE / "_accelerator.abi3.so"
# The files and folders of the source distribution: all input of `make wheel`, and the tests of the package.
SOURCES = (
    "CHANGELOG.md",
    "LICENSE",
    "Makefile",
    "Package.swift",
    "README.md",
    "Sources",
    "Tests/graph-steps",
    "Tests/graph-steps-tool",
    "Tests/support",
    "bindings",
    "cmake",
    "corestone.pc.in",
    "docs/INSTALL.md",
    "docs/THIRD-PARTY.md",
    "include",
    "packaging",
    "pyproject.toml",
    "scripts",
)
LEFT_OUT = re.compile(r"(^|/)(__pycache__|\.\w+_cache|\.build)(/|$)|\.pyc$|_accelerator\.abi3\.so")
# The folder of a test target in Package.swift.
TEST_FOLDERS = re.compile(r'tests\("\w+", "([\w-]+)"')

METADATA = """\
Metadata-Version: 2.4
Name: corestone
Version: {version}
Summary: Core Data for every language: a managed object graph with persistence, for Python
Keywords: core data,object graph,persistence,sqlite,orm
License-Expression: MIT
License-File: LICENSE
{notices}Classifier: Development Status :: 3 - Alpha
Classifier: Intended Audience :: Developers
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: Python :: 3
Classifier: Topic :: Database
Classifier: Typing :: Typed
Requires-Python: >=3.9
Description-Content-Type: text/markdown

{readme}"""


def version() -> str:
    """Returns the version in version.h. Ends the program if the Python package has another version."""
    text = (ROOT / "include/corestone/version.h").read_text(encoding="utf-8")
    found = ".".join(re.findall(r"^#define CST_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)$", text, re.MULTILINE))
    named = re.search(r'^__version__ = "(.*)"$', (PACKAGE / "__init__.py").read_text(encoding="utf-8"), re.MULTILINE)
    if named is None or named.group(1) != found:
        raise SystemExit(f"the version is {found} in version.h, but {named and named.group(1)} in the Python package")
    return found


def metadata(notices: bool) -> bytes:
    readme = (ROOT / "bindings/python/README.md").read_text(encoding="utf-8")
    named = "License-File: THIRD-PARTY-NOTICES.txt\n" if notices else ""
    return METADATA.format(version=version(), readme=readme, notices=named).encode()


def epoch() -> int:
    """Returns the time of every entry: SOURCE_DATE_EPOCH, which the Makefile sets, or the mtime of CHANGELOG.md."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    return int(given) if given else int((ROOT / "CHANGELOG.md").stat().st_mtime)


def needed_glibc(binary: Path) -> tuple[int, int]:
    """Returns the oldest glibc with which a binary runs, from the versions of the symbols that the binary needs."""
    listing = subprocess.run(
        ["readelf", "--version-info", "--wide", str(binary)], check=True, capture_output=True, text=True
    ).stdout
    if "GLIBC_ABI_DT_RELR" in listing:
        return (2, 36)
    return max((int(major), int(minor)) for major, minor in re.findall(r"\bGLIBC_(\d+)\.(\d+)", listing))


def binaries(accelerated: bool) -> dict[str, Path]:
    """Returns the files of the package that depend on the architecture."""
    found = {"libcorestone.so.1": PORTABLE / "lib/libcorestone.so.1", "bin/corestone": PORTABLE / "bin/corestone"}
    if accelerated:
        found[ACCELERATOR.name] = ACCELERATOR
    return found


def tag_of(accelerated: bool) -> str:
    major, minor = max(needed_glibc(path) for path in binaries(accelerated).values())
    return f"{'cp39-abi3' if accelerated else 'py3-none'}-manylinux_{major}_{minor}_{platform.machine()}"


def wheel_entries(accelerated: bool) -> dict[str, tuple[bytes, int]]:
    """Returns the content and permissions of every file of the wheel by name, except those of its dist-info folder."""
    entries: dict[str, tuple[bytes, int]] = {}
    for path in sorted(PACKAGE.rglob("*")):
        if path.suffix in (".py", ".pyi") or path.name == "py.typed":
            entries[f"corestone/{path.relative_to(PACKAGE).as_posix()}"] = (path.read_bytes(), 0o644)
    for name, path in binaries(accelerated).items():
        entries[f"corestone/{name}"] = (path.read_bytes(), 0o755)
    include = ROOT / "include"
    for path in [include / "corestone.h", include / "corestone-api.json", *include.glob("corestone/*.h")]:
        entries[f"corestone/include/{path.relative_to(include)}"] = (path.read_bytes(), 0o644)
    command = ROOT / "packaging/python/_corestone_command.py"
    entries[command.name] = (command.read_bytes(), 0o644)
    share = BUILD / "share"
    data = f"corestone-{version()}.data/data/share"
    for path in sorted(share.rglob("*")):
        if path.is_file():
            entries[f"{data}/{path.relative_to(share)}"] = (path.read_bytes(), 0o644)
    return entries


def write_wheel(folder: Path, accelerated: bool = False) -> str:
    """Writes a wheel, and returns its name."""
    tag = tag_of(accelerated)
    name = f"corestone-{version()}-{tag}.whl"
    info = f"corestone-{version()}.dist-info"
    entries = wheel_entries(accelerated)
    about = f"Wheel-Version: 1.0\nGenerator: corestone_build\nRoot-Is-Purelib: false\nTag: {tag}\n"
    entries[f"{info}/METADATA"] = (metadata(notices=True), 0o644)
    entries[f"{info}/WHEEL"] = (about.encode(), 0o644)
    entries[f"{info}/entry_points.txt"] = (b"[console_scripts]\ncorestone = _corestone_command:main\n", 0o644)
    entries[f"{info}/licenses/LICENSE"] = ((ROOT / "LICENSE").read_bytes(), 0o644)
    notices = (BUILD / "sbom/THIRD-PARTY-NOTICES.txt").read_bytes()
    entries[f"{info}/licenses/THIRD-PARTY-NOTICES.txt"] = (notices, 0o644)
    entries[f"{info}/sboms/corestone.spdx.json"] = ((BUILD / "sbom/corestone.spdx.json").read_bytes(), 0o644)
    record = io.StringIO()
    for entry, (content, _) in entries.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record.write(f"{entry},sha256={digest},{len(content)}\n")
    record.write(f"{info}/RECORD,,\n")
    entries[f"{info}/RECORD"] = (record.getvalue().encode(), 0o644)
    folder.mkdir(parents=True, exist_ok=True)
    moment = time.gmtime(max(epoch(), 315532800))[:6]  # the first year of zip files is 1980
    with zipfile.ZipFile(folder / name, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for entry, (content, mode) in entries.items():
            header = zipfile.ZipInfo(entry, moment)
            header.compress_type = zipfile.ZIP_DEFLATED
            header.create_system = 3
            header.external_attr = (0o100000 | mode) << 16
            archive.writestr(header, content)
    return name


def source_files() -> list[Path]:
    """Returns the files of the source distribution, sorted."""
    files = []
    for name in SOURCES:
        path = ROOT / name
        found = [path] if path.is_file() else [each for each in path.rglob("*") if each.is_file()]
        files += [each for each in found if not LEFT_OUT.search(str(each.relative_to(ROOT)))]
    return sorted(files)


def write_archive(path: Path, top: str, entries: list[tuple[str, bytes, int]]) -> None:
    """Writes a .tar.gz with all entries in one folder, independent of the user, the folder and the time."""
    with (
        path.open("wb") as file,
        gzip.GzipFile("", "wb", 9, file, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as archive,
    ):
        for name, content, mode in sorted(entries):
            header = tarfile.TarInfo(f"{top}/{name}")
            header.mtime, header.mode, header.size = epoch(), mode, len(content)
            archive.addfile(header, io.BytesIO(content))


def write_sdist(folder: Path) -> str:
    """Writes the source distribution, and returns its name."""
    top = f"corestone-{version()}"
    entries = []
    for path in source_files():
        name = str(path.relative_to(ROOT))
        mode = 0o755 if path.stat().st_mode & 0o100 else 0o644
        entries.append((name, path.read_bytes(), mode))
        if name == "Package.swift":
            # Package.swift declares the tests, so their folders must exist.
            for tests in TEST_FOLDERS.findall(path.read_text(encoding="utf-8")):
                entries.append((f"Tests/swift/{tests}/Empty.swift", b"// The tests are in the repository.\n", 0o644))
    entries.append(("PKG-INFO", metadata(notices=False), 0o644))
    folder.mkdir(parents=True, exist_ok=True)
    write_archive(folder / f"{top}.tar.gz", top, entries)
    return f"{top}.tar.gz"


# The hooks of PEP 517.


def build_wheel(
    wheel_directory: str, config_settings: dict[str, Any] | None = None, metadata_directory: str | None = None
) -> str:
    """Builds everything from source, which requires a Swift toolchain, and returns the name of the wheel."""
    del config_settings, metadata_directory
    done = subprocess.run(["make", "DEPS=none", "sbom"], cwd=ROOT, stdout=sys.stderr, check=False)
    if done.returncode != 0:
        raise SystemExit("Corestone could not be built; install Swift 6.3 or newer and the packages of scripts/deps.sh")
    return write_wheel(Path(wheel_directory), ACCELERATOR.exists())


def build_sdist(sdist_directory: str, config_settings: dict[str, Any] | None = None) -> str:
    del config_settings
    return write_sdist(Path(sdist_directory))


if __name__ == "__main__":
    target = Path(sys.argv[2])
    if sys.argv[1] == "sdist":
        print(target / write_sdist(target))
    else:
        for choice in (False, True) if ACCELERATOR.exists() else (False,):
            print(target / write_wheel(target, choice))
