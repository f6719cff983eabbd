#!/usr/bin/env python3
"""Writes the uncontested sample cases of the predicate language as words for predicate_cases.c, one case a line.

usage: predicate_cases.py predicate-cases.json

A line: id, kind, mode, format, arguments, variables, object, "throws" or what is expected, how many sort descriptors
and each one's key, direction and selector, the operator of a compound and its formats, what is substituted. A value is
a letter and, in hexadecimal, UTF-8 or bytes where it has some; a collection is a letter, a count and its members.
SPDX-License-Identifier: MIT
"""

from __future__ import annotations

import base64
import json
import sys
from datetime import datetime, timezone
from typing import Any
from uuid import UUID

EPOCH = datetime(2001, 1, 1, tzinfo=timezone.utc)


def hexed(text: str) -> str:
    return "x" + text.encode().hex()


def words(value: Any) -> list[str]:
    if value is None:
        return ["n"]
    if isinstance(value, bool):
        return ["t" if value else "f"]
    if isinstance(value, int):
        return [f"i{value}"]
    if isinstance(value, float):
        return [f"d{value.hex()}"]
    if isinstance(value, str):
        return ["s" + hexed(value)]
    if isinstance(value, list):
        return [f"a{len(value)}", *members(value)]
    if "$date" in value:
        moment = datetime.fromisoformat(value["$date"].replace("Z", "+00:00"))
        return [f"D{(moment - EPOCH).total_seconds().hex()}"]
    if "$uuid" in value:
        return ["ux" + UUID(value["$uuid"]).hex]
    if "$data" in value:
        return ["bx" + base64.b64decode(value["$data"]).hex()]
    if "$set" in value:
        return [f"S{len(value['$set'])}", *members(value["$set"])]
    if "$anyorder" in value:
        return [f"O{len(value['$anyorder'])}", *members(value["$anyorder"])]
    if "$count" in value:
        return [f"C{value['$count']}"]
    pairs = [part for key, each in value.items() for part in (key, each)]
    return [f"m{len(pairs)}", *members(pairs)]


def members(values: list[Any]) -> list[str]:
    return [word for each in values for word in words(each)]


def line(case: dict[str, Any]) -> str:
    expected = case.get("expected")
    throws = isinstance(expected, dict) and "$throws" in expected
    found = [case["id"], case["kind"], case.get("mode") or "predicate", hexed(case["format"])]
    found += words(case.get("args") or [])
    found += words(case.get("variables") or {})
    found += words(case.get("object"))
    found += ["throws"] if throws else words(expected)
    descriptors = case.get("sort") or []
    found.append(str(len(descriptors)))
    for each in descriptors:
        found += [words(each.get("key"))[0], "up" if each.get("ascending", True) else "down"]
        found.append(each.get("selector") or "compare:")
    compose = case.get("compose") or {"op": "none", "of": []}
    found += [compose["op"], *words(compose["of"])]
    found += words(case.get("substitute"))
    return " ".join(found)


def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as file:
        content = json.load(file)
    for case in content if isinstance(content, list) else content["cases"]:
        if not case.get("contested") and case.get("store") != "sqlite":
            print(line(case))


if __name__ == "__main__":
    main()
