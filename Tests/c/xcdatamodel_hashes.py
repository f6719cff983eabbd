#!/usr/bin/env python3
"""Computes entity version hashes from a model in Xcode's format and compares them with those in a store.

usage: xcdatamodel_hashes.py CONTENTS STORE

Prints "N equal of M"; independent of the library. It knows what the package example uses: attributes, relationships
with inverses, nothing inherited, derived, unique or renamed.
SPDX-License-Identifier: MIT
"""

from __future__ import annotations

import hashlib
import plistlib
import sqlite3
import struct
import sys
import xml.etree.ElementTree as ElementTree

TYPES = {"Integer 16": 100, "Integer 32": 200, "Integer 64": 300, "Decimal": 400, "Double": 500, "Float": 600}
TYPES.update({"String": 700, "Boolean": 800, "Date": 900, "Binary": 1000, "UUID": 1100, "URI": 1200})


def digest(data: bytes) -> bytes:
    """SHA-256."""
    return hashlib.sha256(data).digest()


def property_digest(element: ElementTree.Element) -> bytes:
    """The digest of an attribute or a relationship."""
    name = element.attrib["name"]
    base = digest(name.encode() + bytes([element.get("optional") == "YES", 0]))
    if element.tag == "attribute":
        return digest(base + struct.pack("<i", TYPES[element.attrib["attributeType"]]))
    inverse = element.get("inverseName", "")
    names = element.attrib["destinationEntity"] + ("" if inverse == name else inverse)
    counts = struct.pack("<ii", int(element.get("maxCount", "0")), int(element.get("minCount", "0")))
    return digest(base + names.encode() + counts + (b"\x01\x00" if element.get("ordered") == "YES" else b""))


def main() -> int:
    """Compares the hashes; exits with 0 if all are equal."""
    computed = {}
    for entity in ElementTree.parse(sys.argv[1]).getroot().findall("entity"):
        properties = [p for p in entity if p.tag in ("attribute", "relationship") and p.get("transient") != "YES"]
        properties.sort(key=lambda p: p.attrib["name"])
        head = entity.attrib["name"].encode() + bytes([entity.get("isAbstract") == "YES"])
        computed[entity.attrib["name"]] = digest(head + b"".join(property_digest(p) for p in properties))
    with sqlite3.connect(sys.argv[2]) as store:
        (metadata,) = store.execute("SELECT Z_PLIST FROM Z_METADATA").fetchone()
    stored = plistlib.loads(metadata)["NSStoreModelVersionHashes"]
    for name in sorted(computed.keys() ^ stored.keys()):
        print(f"only one of the two knows {name}", file=sys.stderr)
    equal = [name for name, value in computed.items() if stored.get(name) == value]
    print(f"{len(equal)} equal of {len(computed.keys() | stored.keys())}")
    return 0 if len(equal) == len(computed.keys() | stored.keys()) else 1


if __name__ == "__main__":
    sys.exit(main())
