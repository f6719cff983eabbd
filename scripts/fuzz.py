#!/usr/bin/env python3
"""Builds the readers of untrusted data with libFuzzer, and runs each for some time: `make fuzz`.

usage: fuzz.py [--seconds N] [READER…]

Inputs that reach new code are kept in build/fuzz/READER/corpus, and those that crash a reader in build/fuzz/READER.
SPDX-License-Identifier: MIT
"""

from __future__ import annotations

import argparse
import json
import os
import plistlib
import re
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from damaged_models import FIXTURES, MEGABYTES, READERS, SECONDS
from project import BUILD, ROOT

FUZZ = BUILD / "fuzz"
LARGEST = 65536


def stores() -> list[bytes]:
    """Returns small stores. Tests/c/damaged_stores.c tests a fixed number of damages to whole stores."""
    files = [path for path in sorted(FIXTURES.glob("stores/*/*")) if path.is_file()]
    return [path.read_bytes() for path in files if path.stat().st_size <= LARGEST]


def xml_stores() -> list[bytes]:
    """Returns an XML store of the fuzzer's model with every type of attribute, and Xcode's mapping models in XML."""
    values = [
        ("a100", "int16", "-7"),
        ("a200", "int32", "70000"),
        ("a300", "int64", "-9223372036854775808"),
        ("a400", "decimal", "-12.5"),
        ("a500", "double", "1e-5"),
        ("a600", "float", "0.1"),
        ("a700", "string", "a \\u3c00 b \\\\ \\u3dd8\\u00de\n"),
        ("a800", "bool", "1"),
        ("a900", "date", "387448838.07320100069046020508"),
        ("a1000", "binary", "AAECAw=="),
        ("a1100", "uuid", "343C8D7F-A000-42C4-8463-43FA1E5EF3FB"),
        ("a1200", "uri", "https://example.org/"),
        ("a1800", "transformable", "AAECAw=="),
    ]
    attributes = "".join(f'<attribute name="{name}" type="{kind}">{text}</attribute>' for name, kind, text in values)
    thing = """<relationship name="owner" type="0/1" destination="OWNER" idrefs="z103"></relationship>
<relationship name="friends" type="0/0" destination="THING" idrefs="z102 x"></relationship></object>
<object type="OWNER" id="z103"><relationship name="things" type="0/0" destination="THING" idrefs="z102"/></object>
<object type="THING" id="x"><relationship name="friends" type="0/0" destination="THING" idrefs="z102"/></object>"""
    head = """<?xml version="1.0" standalone="yes"?>
<!DOCTYPE database SYSTEM "file:///System/Library/DTDs/CoreData.dtd">
<database><databaseInfo><version>134481920</version><UUID>343C8D7F-A000-42C4-8463-43FA1E5EF3FB</UUID>
<nextObjectID>103</nextObjectID><metadata><plist version="1.0"><dict><key>a</key><string>b</string></dict></plist>
</metadata></databaseInfo>
"""
    whole = f'{head}<object type="THING" id="z102">{attributes}{thing}</database>'
    files = sorted(FIXTURES.glob("mapping-models/*/*.xcmappingmodel/xcmapping.xml"))
    return [whole.encode()] + [path.read_bytes() for path in files if path.stat().st_size <= LARGEST]


def binary_stores() -> list[bytes]:
    """Returns a store of the same model, without its checksum: two things with a value of each type, and an owner."""

    def packed(*values: int) -> bytes:
        return struct.pack(f"<{len(values)}q", *values)

    widths = {"bool": 1, "int16": 2, "int32": 4, "int64": 8, "double": 8, "date": 8, "uuid": 16, "decimal": 18}
    kinds = {100: "int16", 200: "int32", 300: "int64", 400: "decimal", 500: "double", 600: "double", 700: "text"}
    kinds |= {800: "bool", 900: "date", 1000: "bytes", 1100: "uuid", 1200: "uri", 1800: "bytes"}
    columns: dict[str, dict[str, object]] = {}
    for number, kind in kinds.items():
        values = bytes(range(1, 1 + 2 * widths[kind])) if kind in widths else b"ab"
        columns[f"a{number}"] = {"type": kind, "present": b"\x03", "values": values}
        if kind not in widths:
            columns[f"a{number}"]["ends"] = packed(1, 2)
    owner = struct.pack("<qI", 1, 1)
    columns["owner"] = {"type": "object", "present": b"\x03", "values": owner * 2}
    things = {"name": "Thing", "lastKey": 2, "keys": packed(1, 2), "versions": packed(1, 1), "columns": columns}
    owners = {"name": "Owner", "lastKey": 1, "keys": packed(1), "versions": packed(1), "columns": {}}
    lists = [("Owner.things", [1], [2, 1]), ("Thing.friends", [1, 2], [2, 1]), ("Owner.likes", [1], [2, 1])]
    content = {
        "uuid": "343C8D7F-A000-42C4-8463-43FA1E5EF3FB",
        "metadata": {"a": "b"},
        "entities": [things, owners],
        "relationships": [
            {
                "name": name,
                "owners": packed(*keys),
                "counts": packed(*[len(members) // len(keys)] * len(keys)),
                "members": packed(*members),
            }
            for name, keys, members in lists
        ],
    }
    return [plistlib.dumps(content, fmt=plistlib.FMT_BINARY)]


def predicates() -> list[bytes]:
    """Returns the formats of the sample cases and of the tests of the predicate language."""
    texts = set(re.findall(r'"((?:[^"\\\n]|\\.)+)"', (ROOT / "Tests/swift/predicate/LanguageTests.swift").read_text()))
    cases = FIXTURES.parent / "predicate-cases.json"
    if cases.exists():
        texts |= {str(case["format"]) for case in json.loads(cases.read_text(encoding="utf-8"))}
    return [text.encode() for text in sorted(texts)]


def texts() -> list[bytes]:
    """Returns a model as text with every keyword of a line and every option of an object, and an empty one."""
    options = {"optional": True, "transient": False, "user_info": {"k": "v"}}
    person = {
        "name": "string? indexed min 1 max 9 match [a-z]+ = Ada",
        "age": "int16 min 0 = 18",
        "born": "date = 2001-01-01T00:00:00Z",
        "photo": "binary? external preserved",
        "ratio": {"type": "double", "default": {"$real": "nan"}, "allows_nan": True, **options},
        "key": {"type": "uuid", "default": "343C8D7F-A000-42C4-8463-43FA1E5EF3FB"},
        "count": "derived int? = friends.@count",
        "friends": "to-many ordered Person inverse friends delete deny min 0 max 9",
        "boss": {"to_one": "Boss", "inverse": "staff", "delete": 2, "validation": {"SELF != nil": "x"}, **options},
        "place": {"lat": "double?", "more": {"x": "decimal = 1.5"}},
        "size": {"type": "composite", "elements": {"w": "int"}, "default": {"w": 1}},
        "@unique": [["name", "age"], "key"],
        "@indexes": {"i": ["-age", ["age * 2", "int"]]},
    }
    boss = {
        "@parent": "Person",
        "@abstract": True,
        "@class_name": "B",
        "staff": "to-many Person",
        "@user_info": {"a": ""},
    }
    return [json.dumps({"Person": person, "Boss": boss}).encode(), b"{}"]


SEEDS: dict[str, Callable[[], list[bytes]]] = {name: reader[0] for name, reader in READERS.items()} | {
    "store": stores,
    "xml-store": xml_stores,
    "binary-store": binary_stores,
    "text": texts,
    "predicate": predicates,
    "evaluation": predicates,
}


def build() -> Path:
    """Builds the program, with every module instrumented for the fuzzer. Returns its path."""
    scratch = str(BUILD / "swift/fuzz")
    command = [os.environ.get("SWIFT", "swift"), "build", "--configuration", "release", "--scratch-path", scratch]
    command += ["--product", "fuzz-readers", "-Xswiftc", "-sanitize=fuzzer", "-Xswiftc", "-use-ld=lld"]
    environment = {**os.environ, "CORESTONE_FUZZ": "1"}
    subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=sys.stderr)
    shown = subprocess.run([*command, "--show-bin-path"], cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE)
    return Path(shown.stdout.decode().strip(), "fuzz-readers")


def run(program: Path, reader: str, seconds: int) -> bool:
    """Runs a reader, with the fixtures and the inputs of earlier runs. Returns whether it did not fail."""
    folder = FUZZ / reader
    corpus, seeds = folder / "corpus", folder / "seeds"
    for place in (corpus, seeds):
        place.mkdir(parents=True, exist_ok=True)
    for number, content in enumerate(SEEDS[reader]()):
        (seeds / str(number)).write_bytes(content)
    command = [str(program), f"-max_total_time={seconds}", f"-timeout={SECONDS}", f"-rss_limit_mb={MEGABYTES}"]
    command += [f"-max_len={LARGEST}", "-print_final_stats=1", f"-artifact_prefix={folder}/", str(corpus), str(seeds)]
    environment = {**os.environ, "CORESTONE_READER": reader}
    with (folder / "log").open("wb") as log:
        outcome = subprocess.run(command, env=environment, stdout=log, stderr=subprocess.STDOUT, check=False)
    text = (folder / "log").read_text(errors="replace")
    figures = dict(re.findall(r"stat::(\w+):\s*(\d+)", text))
    print(
        f"{reader}: {'passed' if outcome.returncode == 0 else 'FAILED, see ' + str(folder / 'log')}, "
        f"{figures.get('number_of_executed_units', '?')} inputs in {seconds} s, "
        f"{figures.get('new_units_added', '?')} kept, {figures.get('peak_rss_mb', '?')} MB at most",
        flush=True,
    )
    return outcome.returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("readers", nargs="*", metavar="READER", help=", ".join(SEEDS))
    options = parser.parse_args()
    program = build()
    held = [run(program, reader, options.seconds) for reader in options.readers or SEEDS]
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
