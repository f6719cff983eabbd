"""Editors of a context: commit_editing and discard_editing."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

from corestone import Container, Context, InvalidArgumentError, TypeMismatchError


class Field:
    """A text field that edits a name."""

    def __init__(self, item: Any, text: str) -> None:
        self.item, self.text = item, text
        self.discarded = 0
        self.result: Any = None

    def commit_editing(self) -> Any:
        if isinstance(self.result, Exception):
            raise self.result
        self.item.name = self.text
        return self.result

    def discard_editing(self) -> None:
        self.discarded += 1


def test_editors_are_committed_in_order_until_their_editing_ends(ctx: Context) -> None:
    lab = ctx.insert("Department", name="Lab")
    first, second = Field(lab, "one"), Field(lab, "two")
    ctx.object_did_begin_editing(first)
    ctx.object_did_begin_editing(second)
    ctx.object_did_begin_editing(first)
    ctx.commit_editing()
    assert lab.name == "two"
    ctx.object_did_end_editing(second)
    ctx.object_did_end_editing(second)
    ctx.commit_editing()
    assert lab.name == "one"
    ctx.discard_editing()
    assert (first.discarded, second.discarded) == (1, 0)
    ctx.rollback()


def test_failure_of_an_editor_stops_the_commit(ctx: Context) -> None:
    lab = ctx.insert("Department", name="Lab")
    first, second, third = (Field(lab, name) for name in ("one", "two", "three"))
    for field in (first, second, third):
        ctx.object_did_begin_editing(field)
    second.result = ValueError("too long")
    with pytest.raises(ValueError, match="too long") as caught:
        ctx.commit_editing()
    assert caught.value is second.result
    assert lab.name == "one"
    second.result = False
    with pytest.raises(InvalidArgumentError, match="commit_editing returned False"):
        ctx.commit_editing()
    ctx.rollback()


def test_editor_without_its_methods_is_refused(ctx: Context) -> None:
    with pytest.raises(TypeMismatchError, match="does not have commit_editing") as caught:
        ctx.object_did_begin_editing(object())  # type: ignore[arg-type]
    assert caught.value.key == "editor"


def test_context_releases_its_editors(container: Container) -> None:
    ctx = container.context()
    field = Field(ctx.insert("Department"), "one")
    ctx.object_did_begin_editing(field)
    gone = weakref.ref(field)
    del field
    gc.collect()
    assert gone() is not None
    ctx.close("discard")
    del ctx
    gc.collect()
    assert gone() is None
