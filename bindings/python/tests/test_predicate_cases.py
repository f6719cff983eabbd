"""The sample cases of the predicate language, through the Python package. They stay where they are."""

from __future__ import annotations

import base64
import json
import os
from collections import Counter
from collections.abc import Iterator, Set
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from checkout import FIXTURES

import corestone
from corestone import (
    CorestoneError,
    Expression,
    Predicate,
    PredicateSyntaxError,
    SortDescriptor,
    set_nil,
    sort,
    value_for_key_path,
)

SHARE = 0.99  # of the uncontested cases that must pass
CASES = FIXTURES.parent / "predicate-cases.json"

Case = dict[str, Any]


class Unordered(Set[Any]):
    """A set of what Python cannot hash."""

    def __init__(self, members: list[Any]) -> None:
        self.members = members

    def __contains__(self, item: object) -> bool:
        return item in self.members

    def __iter__(self) -> Iterator[Any]:
        return iter(self.members)

    def __len__(self) -> int:
        return len(self.members)


def decoded(value: Any) -> Any:
    if isinstance(value, list):
        return [decoded(each) for each in value]
    if not isinstance(value, dict):
        return value
    if "$date" in value:
        return datetime.fromisoformat(value["$date"].replace("Z", "+00:00"))
    if "$set" in value:
        return Unordered(decoded(value["$set"]))
    if "$uuid" in value:
        return UUID(value["$uuid"])
    if "$data" in value:
        return base64.b64decode(value["$data"])
    return {key: decoded(each) for key, each in value.items()}


def meets(found: Any, expected: Any) -> bool:
    if isinstance(expected, dict) and "$anyorder" in expected:
        return same_members(list(found), [decoded(each) for each in expected["$anyorder"]])
    if isinstance(expected, dict) and "$count" in expected:
        return len(found) == int(expected["$count"])
    return same(found, decoded(expected))


def same(found: Any, expected: Any) -> bool:
    if isinstance(expected, Unordered):
        return isinstance(found, (Set, list)) and same_members(list(found), expected.members)
    if isinstance(found, (int, float, Decimal)) and isinstance(expected, (int, float)):
        return abs(float(found) - float(expected)) <= 1e-12 * max(1.0, abs(float(expected)))
    if isinstance(found, list) and isinstance(expected, list):
        return len(found) == len(expected) and all(map(same, found, expected))
    if isinstance(found, dict) and isinstance(expected, dict):
        return found.keys() == expected.keys() and all(same(found[key], expected[key]) for key in found)
    return bool(found == expected)


def same_members(found: list[Any], expected: list[Any]) -> bool:
    return len(found) == len(expected) and all(any(same(one, other) for one in found) for other in expected)


def predicate(case: Case) -> Predicate:
    if "compose" not in case:
        return Predicate(case["format"], *decoded(case.get("args", [])))
    parts = [Predicate(each) for each in case["compose"]["of"]]
    kinds = {"and": corestone.CompoundType.AND, "or": corestone.CompoundType.OR, "not": corestone.CompoundType.NOT}
    return Predicate.compound(kinds[case["compose"]["op"]], parts)


def evaluated(case: Case) -> Any:
    item, variables, format_ = decoded(case.get("object")), decoded(case.get("variables") or {}), case["format"]
    mode = case.get("mode", "predicate")
    if mode == "expression":
        return Expression(format_, *decoded(case.get("args", []))).value(item, variables)
    if mode == "keypath":
        return value_for_key_path(item, format_)
    if mode == "filter":
        return predicate(case).filter(item, variables)
    if mode == "set_nil":
        set_nil(item, format_)
        return item
    if mode == "sort":
        descriptors = [
            SortDescriptor(each["key"], each.get("ascending", True), each.get("selector") or "compare:")
            for each in case["sort"]
        ]
        return sort(item, descriptors)
    return predicate(case).evaluate(item, variables)


def printed(case: Case) -> str:
    if case.get("mode") == "expression":
        return Expression(case["format"], *decoded(case.get("args", []))).format
    made = predicate(case)
    return made.substituting(**decoded(case["substitute"])).format if "substitute" in case else made.format


def complaint(case: Case) -> str | None:
    """None when the case holds."""
    kind, expected = case["kind"], case.get("expected")
    throws = isinstance(expected, dict) and "$throws" in expected
    try:
        if kind in ("parse_ok", "parse_error"):
            made = Expression if case.get("mode") == "expression" else Predicate
            made(case["format"], *decoded(case.get("args", [])))
            return None if kind == "parse_ok" else "was parsed"
        found = printed(case) if kind == "format_roundtrip" else evaluated(case)
    except CorestoneError as error:
        if kind == "parse_error":
            return None if isinstance(error, PredicateSyntaxError) else f"raised {error!r}"
        return None if throws else f"raised {error!r}"
    if throws:
        return f"gave {found!r}"
    return None if meets(found, expected) else f"gave {found!r}, not {expected!r}"


def test_sample_cases_pass(capsys: pytest.CaptureFixture[str]) -> None:
    if not CASES.exists():
        if os.environ.get("CORESTONE_REQUIRE_FIXTURES") == "1":
            pytest.fail(f"{CASES} is missing")
        pytest.skip("the sample cases are not here")
    content = json.loads(CASES.read_text(encoding="utf-8"))
    cases = content if isinstance(content, list) else content["cases"]
    total, passed = Counter[str](), Counter[str]()
    complaints = []
    for case in cases:
        if case.get("contested") or case.get("store") == "sqlite":
            continue
        kind = f"{case['kind']} {case.get('mode', '')}".strip()
        total[kind] += 1
        problem = complaint(case)
        if problem is None:
            passed[kind] += 1
        else:
            complaints.append(f"{case['id']} {case['format']!r}: {problem}")
    with capsys.disabled():
        print()
        for kind in sorted(total):
            print(f"    {kind}: {passed[kind]} of {total[kind]}")
        print(f"    all: {sum(passed.values())} of {sum(total.values())}")
        for line in complaints:
            print(f"    {line:.200}")
    assert sum(passed.values()) >= SHARE * sum(total.values()), "\n".join(complaints)
