"""The execution plans of fetches, without running them."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..model.archive import read_json


class FetchStep(NamedTuple):
    """One line of SQLite's query plan, and its nesting depth."""

    detail: str
    depth: int


class FetchShare(NamedTuple):
    """The part of a fetch that one store executes."""

    #: The path of the store.
    path: str
    sql: str
    #: The values of the placeholders, as stored in the columns: dates are numbers, objects primary keys.
    bindings: list[Any]
    steps: list[FetchStep]
    #: The names of the indexes that the steps use.
    indexes: list[str]
    #: The part of the predicate that is evaluated in memory for each returned row; None if the store evaluates all.
    remainder: str | None
    sorted_in_memory: bool
    #: The reasons for work in memory, one sentence for each part.
    reasons: list[str]


class FetchExplanation(NamedTuple):
    """The SQL and the indexes of a fetch, and the work that is done in memory; printed, it shows `text`."""

    entity: str
    predicate: str | None
    shares: list[FetchShare]
    #: The number of objects with unsaved changes that are evaluated in memory in addition to the rows.
    pending_objects: int
    text: str

    def __str__(self) -> str:
        return self.text


def explanation(report: Any, text: str) -> FetchExplanation:
    """Returns the explanation in a JSON buffer of the library, with its `text`."""
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
