"""Transformable attributes: values of any kind, kept as archives."""

from __future__ import annotations

import base64
import re
import urllib.request
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from corestone import Predicate
from samples import Colour, colours_registered, items

EPOCH = datetime(2001, 1, 1, tzinfo=timezone.utc)


@pytest.fixture(autouse=True)
def colours() -> Iterator[None]:
    with colours_registered():
        yield


def both_round_trip(opened: Any, **options: Any) -> None:
    payloads = {"a": Colour(0.25, 0.5, 0.75), "b": ["alpha", 42, EPOCH + timedelta(seconds=1000)]}
    with opened(items(**options)) as container:
        ctx = container.context()
        for name, payload in payloads.items():
            ctx.insert("Item", name=name, payload=payload)
        ctx.save()
    with opened(items(**options)) as container:
        found = {item.name: item.payload for item in container.context().fetch("Item", sort=["name"])}
    assert found == payloads
    assert type(found["a"]) is Colour
    assert type(found["b"]) is list


@pytest.mark.needs_file("it reads the store again from its file")
def test_s170_default_transformer_round_trips(opened: Any) -> None:
    both_round_trip(opened)


@pytest.mark.needs_file("it looks at the file's bytes")
def test_s173_stored_value_is_a_keyed_archive(opened: Any, place: str, tmp_path: Path) -> None:
    with opened(items()) as container:
        ctx = container.context()
        ctx.insert("Item", name="a", payload=Colour(1, 0, 0))
        ctx.save()
        files = [each for each in tmp_path.rglob("*") if each.is_file() and each.suffix != ".sqlite-shm"]
        stored = b"".join(each.read_bytes() for each in files)
        if place.startswith("http"):
            with urllib.request.urlopen(f"{place}/objects/Item") as answer:
                stored = answer.read()
    encoded = re.search(rb'(?:type="transformable">|"payload": ")([^<"]*)', stored)  # in XML and in JSON
    if encoded:
        stored = base64.b64decode(encoded[1])
    assert b"Colour" in stored
    assert b"NSKeyedArchiver" in stored


@pytest.mark.needs_file("it reads the store again from its file")
@pytest.mark.parametrize(
    "name",
    [
        "NSKeyedUnarchiveFromData",
        "NSSecureUnarchiveFromData",
        "NSKeyedUnarchiveFromDataTransformer",
        "NSSecureUnarchiveFromDataTransformer",
    ],
)
def test_s176_transformer_names_of_apple_are_accepted(opened: Any, name: str) -> None:
    both_round_trip(opened, transformer=name)


@pytest.mark.needs_file("it reads the store again from its file")
def test_s179_transformable_contents_are_filtered_in_memory(opened: Any) -> None:
    with opened(items()) as container:
        ctx = container.context()
        for name, payload in [("a", ["red", "green"]), ("b", ["blue"]), ("c", None)]:
            ctx.insert("Item", name=name, payload=payload)
        ctx.save()
    with opened(items()) as container:
        ctx = container.context()
        everything = ctx.fetch("Item")
        assert len(everything) == 3
        assert [item.name for item in everything if "blue" in (item.payload or ())] == ["b"]
        condition = Predicate("payload CONTAINS 'blue'")
        assert [item.name for item in everything if condition.evaluate(item)] == ["b"]
        assert [item.name for item in ctx.fetch("Item", "payload CONTAINS 'blue'")] == ["b"]
        assert [item.name for item in ctx.fetch("Item", "payload == nil")] == ["c"]
        assert ctx.count("Item", "payload != nil") == 2


@pytest.mark.needs_file("it reads the store again from its file")
def test_s182_transformable_attribute_has_default_and_accepts_nil(opened: Any) -> None:
    model = items(default=Colour(1, 1, 1))
    with opened(model) as container:
        ctx = container.context()
        a = ctx.insert("Item", name="a")
        b = ctx.insert("Item", name="b", payload=None)
        assert a.payload == Colour(1, 1, 1)
        assert b.payload is None
        ctx.save()
    with opened(items(default=Colour(1, 1, 1))) as container:
        a, b = container.context().fetch("Item", sort=["name"])
        assert a.payload == Colour(1, 1, 1)
        assert b.payload is None


def test_s181_replacement_equal_to_a_value_changed_in_place_is_saved(opened: Any) -> None:
    """Apple's compares with the changed instance and leaves it out.

    See DEVIATIONS, "Mutable values of a transformable attribute".
    """
    container = opened(items())
    ctx = container.context()
    value = ["first"]
    item = ctx.insert("Item", name="a", payload=value)
    ctx.save()
    value.append("second")
    item.payload = ["first", "second"]
    ctx.save()
    assert container.context().first("Item").payload == ["first", "second"]
