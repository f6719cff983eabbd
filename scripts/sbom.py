"""Writes an SPDX document about the packages linked into the library and the tool, and their licence notices.

Usage: sbom.py FOLDER BINARY=MAP…           write corestone.spdx.json and THIRD-PARTY-NOTICES.txt
       sbom.py --check FOLDER BINARY=MAP…   compare the document with the linker's maps

BINARY is the file as published, and MAP its linker map. Every archive and object file in a map that is not of this
project must belong to a package whose licence is in this file; otherwise the script fails.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from project import ROOT

VERSION_HEADER = ROOT / "include" / "corestone" / "version.h"
NAMESPACE = "https://spdx.org/spdxdocs/corestone"
SWIFT = "swift"

# The licences by package of Debian, as SPDX expressions.
LICENSES = {
    SWIFT: "Apache-2.0 WITH Swift-exception",
    "libexpat1-dev": "MIT",
    "libffi-dev": "MIT",
    "libmd-dev": "BSD-3-Clause AND BSD-2-Clause AND ISC",
    "libpcre2-dev": "BSD-3-Clause",
    "libutf8proc-dev": "MIT AND Unicode-DFS-2015",
    "zlib1g-dev": "Zlib",
    "libc6-dev": "LGPL-2.1-or-later",
    "libgcc-dev": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "libsqlite3-0": "blessing",
    "libstdc++6": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "libgcc-s1": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "libc6": "LGPL-2.1-or-later",
}
# The Apache licence with the exception that allows redistribution of Swift's runtime without attribution.
SWIFT_NOTICE = """The Swift standard library and runtime, libdispatch and the blocks runtime
Copyright Apple Inc. and the Swift project authors

Licensed under the Apache License, Version 2.0, with the Runtime Library Exception:

    As an exception, if you use this Software to compile your source code and portions of this Software are embedded
    into the binary product as a result, you may redistribute such product without providing attribution as would
    otherwise be required by Sections 4(a), 4(b) and 4(d) of the License.
"""

# An archive with its member, or an object file, as written in a map.
INPUT = re.compile(r"(/\S+?\.(?:a(?=[(:])|o\b(?!\w)))")


@dataclass
class Package:
    """A linked package: its origin, its linked files, and the binaries that contain them."""

    name: str
    version: str
    license: str
    supplier: str
    files: set[str] = field(default_factory=set)
    binaries: set[str] = field(default_factory=set)

    @property
    def identifier(self) -> str:
        return "SPDXRef-Package-" + re.sub(r"[^A-Za-z0-9.-]", "-", self.name)


def fail(message: str) -> NoReturn:
    print(f"sbom: {message}", file=sys.stderr)
    sys.exit(1)


def output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def memory_map(linker_map: Path) -> str:
    """Returns the part of a map that lists the content of the binary. GNU's linkers list discarded input before it."""
    text = linker_map.read_text(encoding="utf-8", errors="replace")
    heading = re.search(r"^(?:Linker script and memory map|Memory map)$", text, re.MULTILINE)
    text = text[heading.end() :] if heading else text
    return re.sub(r"^LOAD .*$", "", text, flags=re.MULTILINE)


def linked_files(linker_map: Path) -> set[str]:
    """Returns the archives and object files in a map that are not of this project, without fully discarded ones."""
    own = f"{ROOT}/"
    found = set(INPUT.findall(memory_map(linker_map)))
    return {os.path.normpath(each) for each in found if not each.startswith(own)}


def owner(file: str) -> tuple[str, str, str]:
    """Returns the name, the version and the supplier of the package of a file."""
    if "/swift_static/" in file or "/lib/swift/" in file:
        found = re.search(r"Swift version (\S+)", output(os.environ.get("SWIFT", "swift"), "--version"))
        return SWIFT, found.group(1) if found else "unknown", "Organization: Swift project"
    # In a merged /usr a file has two paths, of which dpkg's database contains one.
    other = file.removeprefix("/usr") if file.startswith("/usr/") else f"/usr{file}"
    for path in (file, other):
        done = subprocess.run(["dpkg-query", "--search", path], check=False, capture_output=True, text=True)
        if done.returncode == 0:
            name = done.stdout.split(":")[0]
            return name, output("dpkg-query", "--show", "--showformat=${Version}", name), "Organization: Debian"
    fail(f"{file} is linked in, but does not belong to a package of dpkg's database")


def license_of(name: str) -> str:
    plain = re.sub(r"^libgcc-\d+-dev$", "libgcc-dev", name)
    if plain not in LICENSES:
        fail(f"the licence of {name} is not known; add it to scripts/sbom.py and docs/THIRD-PARTY.md")
    return LICENSES[plain]


def packages(files: dict[str, set[str]]) -> list[Package]:
    """Returns the packages of files, sorted by name. `files` contains the paths by binary."""
    found: dict[str, Package] = {}
    for binary, names in files.items():
        for file in sorted(names):
            name, version, supplier = owner(file)
            each = found.setdefault(name, Package(name, version, license_of(name), supplier))
            each.files.add(os.path.basename(file))
            each.binaries.add(binary)
    return [found[name] for name in sorted(found)]


def shared_libraries(binary: Path) -> set[str]:
    """Returns the paths of the shared libraries that a binary needs."""
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "--dynamic", "--wide", str(binary)))
    places = dict(re.findall(r"(\S+) => (/\S+)", output("ldd", str(binary))))
    return {os.path.realpath(places[name]) for name in needed if name in places}


def digest(path: Path, kind: str) -> str:
    return hashlib.new(kind, path.read_bytes()).hexdigest()


def corestone_version() -> str:
    numbers = re.findall(r"^#define CST_VERSION_\w+ (\d+)$", VERSION_HEADER.read_text(encoding="utf-8"), re.MULTILINE)
    return ".".join(numbers)


def described(each: Package, how: str) -> dict[str, Any]:
    return {
        "SPDXID": each.identifier,
        "name": each.name,
        "versionInfo": each.version,
        "supplier": each.supplier,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": each.license,
        "licenseDeclared": each.license,
        "copyrightText": "NOASSERTION",
        "comment": f"{how}: {', '.join(sorted(each.files))}",
    }


def document(binaries: dict[Path, Path]) -> dict[str, Any]:
    """Returns the SPDX document. `binaries` contains the linker map of each binary."""
    version = corestone_version()
    static = packages({binary.name: linked_files(linker_map) for binary, linker_map in binaries.items()})
    dynamic = packages({binary.name: shared_libraries(binary) for binary in binaries})
    moment = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
    names = {binary.name: f"SPDXRef-File-{re.sub('[^A-Za-z0-9.-]', '-', binary.name)}" for binary in binaries}
    unique = hashlib.sha256("".join(digest(binary, "sha256") for binary in binaries).encode()).hexdigest()[:32]
    own = "SPDXRef-Package-corestone"
    relationships = [("SPDXRef-DOCUMENT", "DESCRIBES", own)]
    for name in names.values():
        relationships += [("SPDXRef-DOCUMENT", "DESCRIBES", name), (name, "GENERATED_FROM", own)]
    for kind, each_kind in (("STATIC_LINK", static), ("DYNAMIC_LINK", dynamic)):
        for each in each_kind:
            relationships += [(names[binary], kind, each.identifier) for binary in sorted(each.binaries)]
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"corestone-{version}",
        "documentNamespace": f"{NAMESPACE}-{version}-{unique}",
        "creationInfo": {
            "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(moment)),
            "creators": ["Tool: corestone-scripts-sbom"],
        },
        "packages": [
            {
                "SPDXID": own,
                "name": "corestone",
                "versionInfo": version,
                "downloadLocation": "NOASSERTION",
                "filesAnalyzed": False,
                "licenseConcluded": "MIT",
                "licenseDeclared": "MIT",
                "copyrightText": "NOASSERTION",
            },
            *(described(each, "linked in from") for each in static),
            *(described(each, "needed at run time as") for each in dynamic),
        ],
        "files": [
            {
                "SPDXID": names[binary.name],
                "fileName": f"./{binary.name}",
                "fileTypes": ["BINARY"],
                "checksums": [
                    {"algorithm": "SHA1", "checksumValue": digest(binary, "sha1")},
                    {"algorithm": "SHA256", "checksumValue": digest(binary, "sha256")},
                ],
                "licenseConcluded": "NOASSERTION",
                "copyrightText": "NOASSERTION",
            }
            for binary in binaries
        ],
        "relationships": [
            {"spdxElementId": first, "relationshipType": kind, "relatedSpdxElement": second}
            for first, kind, second in relationships
        ],
    }


def notices(names: list[str]) -> str:
    """Returns the licence texts of the packages, from Debian's copyright files."""
    parts = ["Third-party software in libcorestone.so and in the corestone tool, with its licence notices.\n"]
    for name in names:
        parts.append("=" * 100 + f"\n{name}\n" + "=" * 100 + "\n")
        if name == SWIFT:
            parts.append(SWIFT_NOTICE)
        else:
            parts.append(Path(f"/usr/share/doc/{name}/copyright").read_text(encoding="utf-8", errors="replace"))
    return "\n".join(parts)


def check(folder: Path, binaries: dict[Path, Path]) -> None:
    """Checks that the document names exactly the files in the maps, each with its package."""
    found = json.loads((folder / "corestone.spdx.json").read_text(encoding="utf-8"))
    listed = {each["SPDXID"]: each for each in found["packages"]}
    problems = []
    count = 0
    for binary, linker_map in binaries.items():
        file = next(each for each in found["files"] if each["fileName"] == f"./{binary.name}")
        sums = {each["algorithm"]: each["checksumValue"] for each in file["checksums"]}
        if sums["SHA256"] != digest(binary, "sha256"):
            problems.append(f"the document has a different hash of {binary.name}; run `make sbom`")
        named = {
            name
            for each in found["relationships"]
            if each["spdxElementId"] == file["SPDXID"] and each["relationshipType"] == "STATIC_LINK"
            for name in listed[each["relatedSpdxElement"]]["comment"].partition(": ")[2].split(", ")
        }
        # As a test of `linked_files`, the map is read in another way: every word that ends like an input of the linker.
        words = re.split(r"[\s:()]+", memory_map(linker_map))
        linked = {
            os.path.basename(word)
            for word in words
            if word.startswith("/") and word.endswith((".a", ".o")) and not word.startswith(f"{ROOT}/")
        }
        count += len(linked)
        problems += [f"{name} is in the map of {binary.name}, not in the document" for name in sorted(linked - named)]
        # The library and the tool may contain different files of a package.
        everywhere = set().union(*(linked_files(each) for each in binaries.values()))
        extra = named - {os.path.basename(each) for each in everywhere}
        problems += [f"{name} is in the document, but not in a map" for name in sorted(extra)]
    if problems:
        fail("\nsbom: ".join(problems))
    static = [each for each in found["packages"] if each.get("comment", "").startswith("linked in")]
    print(f"sbom: {count} linked archives and object files of {len(static)} packages, each in the map and the document")


def main(arguments: list[str]) -> None:
    checks = arguments[0] == "--check"
    folder, *pairs = arguments[1:] if checks else arguments
    binaries = {Path(binary): Path(linker_map) for binary, _, linker_map in (each.partition("=") for each in pairs)}
    target = Path(folder)
    if checks:
        check(target, binaries)
        return
    target.mkdir(parents=True, exist_ok=True)
    written = document(binaries)
    (target / "corestone.spdx.json").write_text(json.dumps(written, indent=2) + "\n", encoding="utf-8")
    names = [each["name"] for each in written["packages"] if each.get("comment", "").startswith("linked in")]
    (target / "THIRD-PARTY-NOTICES.txt").write_text(notices(names), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
