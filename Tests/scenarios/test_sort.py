"""The order of fetches and of lists in memory."""

from __future__ import annotations

from typing import Any

import pytest
from corestone import Model, SortDescriptor


def model() -> Model:
    return Model({"E": {"name": "string?", "group": "string?", "counter": "int32?"}})


@pytest.mark.parametrize("is_saved", [False, True])
def test_s384_unsaved_objects_are_sorted(opened: Any, is_saved: bool) -> None:
    context = opened(model()).context()
    for counter in (3, 1, 2):
        context.insert("E", name=f"n{counter}", counter=counter)
    if is_saved:
        context.save()
    assert [item.name for item in context.fetch("E", sort="counter")] == ["n1", "n2", "n3"]


@pytest.mark.parametrize("is_saved", [False, True])
def test_s387_nil_sorts_first(opened: Any, is_saved: bool) -> None:
    """Claims about Apple's differ; here the store and memory agree with SQLite."""
    context = opened(model()).context()
    items = [context.insert("E", name=name, counter=counter) for name, counter in (("b", 1), ("n", None), ("a", -5))]
    if is_saved:
        context.save()
    assert [item.name for item in SortDescriptor("counter").sorted(items)] == ["n", "a", "b"]
    assert [item.name for item in context.fetch("E", sort="counter")] == ["n", "a", "b"]
    assert [item.name for item in context.fetch("E", sort="-counter")] == ["b", "a", "n"]


def test_s389_sort_key_is_read_once_per_element() -> None:
    class Counted:
        reads = 0

        def __init__(self, name: str) -> None:
            self._name = name

        @property
        def name(self) -> str:
            Counted.reads += 1
            return self._name

    items = [Counted(f"{number * 37 % 64:02}") for number in range(64)]
    ordered = SortDescriptor("name").sorted(items)
    assert Counted.reads == 64
    assert [item._name for item in ordered] == [f"{number:02}" for number in range(64)]
