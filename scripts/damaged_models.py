#!/usr/bin/env python3
"""Reads thousands of damaged model files with each reader of the release library.

usage: damaged_models.py [--count N] [--first CASE] [READER…]

Each case changes a fixture: it flips bits, or overwrites, cuts, repeats or splices bytes. A reader may reject the file
or read it. It must not crash, run for more than 10 seconds, or increase the memory of the process beyond 512 MB. Cases
have numbers, and a number always means the same case: `--first 4711 --count 1 READER` repeats one.
SPDX-License-Identifier: MIT
"""

from __future__ import annotations

import argparse
import base64
import os
import plistlib
import random
import re
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable
from pathlib import Path

from project import BUILD, ROOT

FIXTURES = Path(os.environ.get("CORESTONE_FIXTURES", ROOT.parent / "shared/fixtures"))
SECONDS = 10
MEGABYTES = 512
# Larger fixtures would only need more time: their content is of the same kinds as that of smaller ones.
LARGEST = 12_000


def small(contents: list[bytes], largest: int = LARGEST) -> list[bytes]:
    """Returns the contents that are not too large, without duplicates, in the same order in every run."""
    return sorted({content for content in contents if 0 < len(content) <= largest})


def compiled() -> list[bytes]:
    return small([path.read_bytes() for path in FIXTURES.glob("compiled-models/**/*.mom")])


def source() -> list[bytes]:
    return small([path.read_bytes() for path in FIXTURES.glob("source-models/**/contents")], 6_000)


def cached() -> list[bytes]:
    found = []
    for path in FIXTURES.glob("stores/*/*"):
        connection = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
        try:
            row = connection.execute("SELECT Z_CONTENT FROM Z_MODELCACHE").fetchone()
        except sqlite3.Error:
            continue
        finally:
            connection.close()
        if row and row[0] and len(zlib.decompress(row[0], -15)) <= LARGEST:
            found.append(row[0])
    return small(found)


def archives() -> list[bytes]:
    """Returns archives as NSKeyedArchiver writes them: an array with a value of each class, in binary and in XML."""
    return [archive(plistlib.UID, plistlib.FMT_BINARY), archive(lambda number: {"CF$UID": number}, plistlib.FMT_XML)]


def archive(uid: Callable[[int], object], form: plistlib.PlistFormat) -> bytes:
    classes = ["NSArray", "NSDictionary", "NSDate", "NSSet", "NSUUID", "NSURL", "NSOrderedSet"]
    values: list[object] = [
        "$null",
        {"$class": uid(20), "NS.objects": [uid(2), uid(3), uid(4), uid(5), uid(6), uid(7), uid(8), uid(9)]},
        {"$class": uid(21), "NS.keys": [uid(7)], "NS.objects": [uid(3)]},
        {"$class": uid(22), "NS.time": 2.5},
        {"$class": uid(23), "NS.objects": [uid(7), uid(8)]},
        {"$class": uid(24), "NS.uuidbytes": bytes(16)},
        {"$class": uid(25), "NS.base": uid(0), "NS.relative": uid(7)},
        "https://example.org/ä",
        4711,
        {"$class": uid(26), "NS.object.0": uid(7), "NS.object.1": uid(8)},
    ]
    values += ["unused"] * (20 - len(values))
    values += [{"$classname": name, "$classes": [name, "NSObject"]} for name in classes]
    top = {"$version": 100000, "$archiver": "NSKeyedArchiver", "$top": {"root": uid(1)}, "$objects": values}
    return plistlib.dumps(top, fmt=form)


def editor() -> list[bytes]:
    pattern = re.compile(r'<attribute name="\w+modeldata" type="binary">([^<]*)<')
    texts = [path.read_text() for path in FIXTURES.glob("mapping-models/**/xcmapping.xml")]
    return small([base64.b64decode(data) for text in texts for data in pattern.findall(text)], 60_000)


def binary_list() -> list[bytes]:
    xml = [plistlib.loads(path.read_bytes()) for path in FIXTURES.glob("compiled-models/**/VersionInfo.plist")]
    return small([plistlib.dumps(each, fmt=plistlib.FMT_BINARY) for each in xml])


def xml_list() -> list[bytes]:
    return small([path.read_bytes() for path in FIXTURES.glob("source-models/**/.xccurrentversion")])


def load(content: bytes) -> None:
    """Reads a model, freezes it and reads all its properties."""
    model = corestone.Model.load(content)
    for entity in model.values():
        for description in entity.properties.values():
            str(description)
        assert len(entity.version_hash) == 32


def in_bundle(name: str, beside: str) -> Callable[[bytes], None]:
    folder = Path(tempfile.mkdtemp(prefix="corestone-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None))
    (folder / beside).mkdir()

    def versions(content: bytes) -> None:
        (folder / name).write_bytes(content)
        corestone.Model.versions(folder)

    return versions


def mapping() -> list[bytes]:
    xml = [path.read_bytes() for path in FIXTURES.glob("mapping-models/**/xcmapping.xml")]
    # The compiled models that a mapping model contains are removed, as other readers read them.
    plain = [re.sub(rb'(modeldata" type="binary">)[^<]*', rb"\1", each) for each in xml]
    return small(plain + [path.read_bytes() for path in FIXTURES.glob("compiled-models/**/*.cdm")], 40_000)


def strings() -> list[bytes]:
    text = '/* words */ "Entity/Run" = "Lauf \\U00e9 \\n"; \'a\' = b.c; "alone"; // end\n'
    return [text.encode(each) for each in ("utf-8", "utf-16", "utf-16-be")]


def load_strings(content: bytes) -> None:
    folder = Path(tempfile.gettempdir(), f"corestone-{os.getpid()}.strings")
    folder.write_bytes(content)
    corestone.Model().load_strings(folder)


READERS: dict[str, tuple[Callable[[], list[bytes]], Callable[[], Callable[[bytes], object]]]] = {
    "compiled": (compiled, lambda: load),
    "source": (source, lambda: load),
    "cached": (cached, lambda: load),
    "editor": (editor, lambda: load),
    "archive": (archives, lambda: corestone.decode_archive),
    "mapping": (mapping, lambda: corestone.MappingModel.load),
    "strings": (strings, lambda: load_strings),
    "binary-list": (binary_list, lambda: in_bundle("VersionInfo.plist", "a.mom")),
    "xml-list": (xml_list, lambda: in_bundle(".xccurrentversion", "a.xcdatamodel")),
}


def damage(content: bytes, others: list[bytes], chance: random.Random) -> bytes:
    """Returns a fixture with one to four damages."""
    data = bytearray(content)
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        if not data:
            break
        place = chance.randrange(len(data))
        length = min(chance.choice((1, 2, 8, 64, 512)), len(data) - place)
        kind = chance.randrange(7)
        if kind <= 1:
            data[place] ^= 1 << chance.randrange(8)
        elif kind == 2:
            data[place : place + length] = chance.choice((b"\x00", b"\xff", b"\x7f\xff", b"<", b"\x80\x00")) * length
        elif kind == 3:
            del data[chance.randrange(len(data)) :]
        elif kind == 4:
            del data[place : place + length]
        elif kind == 5:
            data[place:place] = data[place : place + length] * chance.choice((1, 2, 9))
        else:
            other = chance.choice(others)
            start = chance.randrange(len(other))
            data[place : place + length] = other[start : start + length]
    return bytes(data)


def run(reader: str, first: int, count: int) -> int:
    """Runs the cases of a reader; must be called in a new process. Standard error is a file with the current case."""
    seeds, read = READERS[reader][0](), READERS[reader][1]()
    slowest, accepted = 0.0, 0
    marker = sys.stderr.fileno()
    for case in range(first, first + count):
        chance = random.Random(f"{reader} {case}")
        content = damage(chance.choice(seeds), seeds, chance)
        os.pwrite(marker, f"{case:12d}".encode(), 0)
        signal.alarm(SECONDS)
        started = time.perf_counter()
        try:
            read(content)
            accepted += 1
        except corestone.CorestoneError as error:
            if isinstance(error, corestone.InternalError):
                raise
        slowest = max(slowest, time.perf_counter() - started)
    signal.alarm(0)
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(
        f"{reader}: {count} damaged files of {len(seeds)} fixtures, {accepted} readable, "
        f"slowest {slowest * 1000:.0f} ms, {megabytes} MB at most",
        flush=True,
    )
    return 0 if megabytes <= MEGABYTES else 1


def spawn(reader: str, first: int, count: int, marker: Path) -> subprocess.Popen[bytes]:
    arguments = [sys.executable, __file__, "--child", "--first", str(first), "--count", str(count), reader]
    places = {"CORESTONE_LIBRARY": str(BUILD / "lib/libcorestone.so"), "PYTHONPATH": str(ROOT / "bindings/python")}
    with marker.open("wb") as file:
        return subprocess.Popen(arguments, stderr=file, env={**os.environ, **places})


def main() -> int:
    """Runs two readers at a time, each in its own process."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=int(os.environ.get("CORESTONE_DAMAGED_FILES", "20000")))
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("readers", nargs="*", metavar="READER", help=", ".join(READERS))
    options = parser.parse_args()
    if options.child:
        return run(options.readers[0], options.first, options.count)
    if not FIXTURES.is_dir():
        print(f"skipped: {FIXTURES} does not exist; set CORESTONE_FIXTURES to the folder of the fixtures")
        return 1 if os.environ.get("CORESTONE_REQUIRE_FIXTURES") == "1" else 0
    waiting, failed = list(options.readers or READERS), 0
    running: dict[str, subprocess.Popen[bytes]] = {}
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        while waiting or running:
            while waiting and len(running) < 2:
                reader = waiting.pop(0)
                running[reader] = spawn(reader, options.first, options.count, Path(folder, reader))
            for reader, process in list(running.items()):
                if process.poll() is None:
                    continue
                del running[reader]
                if process.returncode != 0:
                    said = Path(folder, reader).read_bytes()
                    print(f"{reader}: FAILED ({process.returncode}) at case {said[:12].decode().strip()}")
                    print(said[12:].decode(errors="replace"))
                    failed += 1
            time.sleep(0.02)
    print(f"damaged models: {len(options.readers or READERS)} readers in {time.perf_counter() - started:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    if "--child" in sys.argv:
        import corestone
    sys.exit(main())
