"""How fetches are answered, told without running them."""

from __future__ import annotations

from typing import Any, NamedTuple

from .archive import read_json


class FetchStep(NamedTuple):
    """One line of SQLite's plan, and how many others it is a part of."""

    detail: str
    depth: int


class FetchShare(NamedTuple):
    """What one store does for a fetch."""

    #: The store's file.
    path: str
    sql: str
    #: What is bound to the placeholders, as the columns hold it: dates are numbers, objects primary keys.
    bindings: list[Any]
    steps: list[FetchStep]
    #: The names of the indexes that the steps use.
    indexes: list[str]
    #: The part of the predicate that memory decides for each row found; None when the store decides all.
    remainder: str | None
    sorted_in_memory: bool
    #: Why memory has something left to do, one sentence for each part.
    reasons: list[str]


class FetchExplanation(NamedTuple):
    """How a fetch is answered: by which SQL and which indexes, and what is left to memory. `print` shows all of it."""

    entity: str
    predicate: str | None
    shares: list[FetchShare]
    #: How many objects with unsaved changes are matched in memory beside the rows.
    pending_objects: int
    text: str

    def __str__(self) -> str:
        return self.text


def explanation(report: Any, text: str) -> FetchExplanation:
    """What the library's buffer of JSON says, with the same as text."""
    found = read_json(report)
    shares = [
        FetchShare(
            share["path"],
            share["sql"],
            share["bindings"],
            [FetchStep(**step) for step in share["steps"]],
            share["indexes"],
            share["remainder"],
            share["isSortedInMemory"],
            share["reasons"],
        )
        for share in found["shares"]
    ]
    return FetchExplanation(found["entity"], found["predicate"], shares, found["pendingObjects"], text)
