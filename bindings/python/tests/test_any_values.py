"""Undefined attributes, which are transient and have values of every type."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from corestone import Container, Context, Model


class Thing:
    def __init__(self, age: int = 0) -> None:
        self.age = age


@pytest.fixture
def notes(tmp_path: Path) -> Iterator[Context]:
    model = Model({"Note": {"title": "string?", "any": "undefined? transient", "next": "to-one Note?"}})
    with Container(model, tmp_path / "notes.sqlite") as container, container.context() as context:
        yield context


def test_undefined_attribute_holds_plain_values(notes: Context) -> None:
    note = notes.insert("Note")
    other = notes.insert("Note")
    values = (
        1, 2.5, True, "text", b"bytes", Decimal("1.50"), datetime(2024, 1, 1, tzinfo=timezone.utc), UUID(int=1), None,
        other,
    )  # fmt: skip
    for value in values:
        note.any = value
        assert note.any == value
        assert type(note.any) is type(value)
    notes.rollback()


def test_undefined_attribute_holds_any_object_by_reference(notes: Context) -> None:
    note = notes.insert("Note", title="a")
    cycle: list[Any] = [1]
    cycle.append(cycle)
    values = ([1, 2], {"a": {1}}, (1, "x"), {1, 2}, Thing(), print, 10**30, datetime(2024, 1, 1), object, cycle)
    for value in values:
        note.any = value
        assert note.any is value or note.any == value
        if not isinstance(value, (int, datetime)):
            assert note.any is value
        assert note["any"] is note.any
    assert note.get("title", "any") == ("a", cycle)
    note.set(title="b", any=values[0])
    assert note.any is values[0]
    assert note.to_dict("any") == {"any": [1, 2]}
    notes.save()
    assert note.any is values[0]
    assert notes.insert("Note", any=values[1]).any is values[1]
    note.set_primitive("any", values[4])
    assert note.any is values[4]
    assert note.validate_value("any", values[4]) is values[4]
    notes.rollback()


def test_predicates_read_held_objects(notes: Context) -> None:
    note = notes.insert("Note", any=Thing(7))
    assert notes.fetch("Note", "title == nil AND #any.age == 7")[0] is note
    assert note.any.age == 7
    notes.rollback()


def test_held_object_is_released(notes: Context) -> None:
    thing = Thing()
    gone = weakref.ref(thing)
    note = notes.insert("Note", any=thing)
    del thing
    gc.collect()
    assert gone() is not None
    note.any = None
    notes.rollback()
    gc.collect()
    assert gone() is None
