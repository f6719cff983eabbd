"""Results controllers and live queries."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from corestone import (
    Container,
    Context,
    CorestoneError,
    Difference,
    FetchedResultsController,
    FetchRequest,
    InvalidArgumentError,
    LiveQuery,
    Model,
)

MODEL = {"Item": {"name": "string?", "rank": "int32?"}}


@pytest.fixture
def context(tmp_path: Path) -> Iterator[Context]:
    with Container(Model(MODEL), tmp_path / "a.sqlite") as container:
        yield container.context()


def add(context: Context, *ranks: int) -> list[Any]:
    items = [context.insert("Item", name=f"n{rank}", rank=rank) for rank in ranks]
    context.process_pending_changes()
    return items


def level(item: Any) -> str:
    return "high" if item.rank > 4 else "low"


class Log:
    """A delegate that wants all at once."""

    def __init__(self) -> None:
        self.told: list[Difference] = []
        self.resets: list[Any] = []

    def did_change_all(self, _: FetchedResultsController, difference: Difference) -> None:
        self.told.append(difference)

    def did_reset(self, _: FetchedResultsController, error: Any) -> None:
        self.resets.append(error)

    def section_index_title(self, _: FetchedResultsController, name: str) -> str | None:
        return f"<{name}>" if name == "high" else None


def test_a_function_names_sections(context: Context) -> None:
    add(context, 1, 2, 9)
    log = Log()
    controller = FetchedResultsController(context, FetchRequest("Item", sort="rank"), level, delegate=log)
    before = controller.sections, controller.fetched_objects
    assert before == (None, None)
    controller.perform_fetch()
    assert [(each.name, len(each)) for each in controller.sections or []] == [("low", 2), ("high", 1)]
    assert controller.section_index_titles == ["<high>"]
    assert controller.section_for_index_title("<high>", 0) == 1
    controller[0, 1].rank = 5
    context.process_pending_changes()
    (difference,) = log.told
    assert [(change.path, change.new_path) for change in difference.moves] == [((0, 1), (1, 0))]
    assert difference.snapshot.section_names == ["low", "high"]
    assert len(difference.snapshot.ids(1)) == 2
    with pytest.raises(CorestoneError):
        controller.object_at(5, 0)
    context.reset()
    assert log.resets == [None]
    assert not controller.sections
    controller.perform_fetch()
    assert len(controller.fetched_objects or []) == 0


def test_what_a_function_raises_fails_the_fetch(context: Context) -> None:
    add(context, 1)
    controller = FetchedResultsController(context, FetchRequest("Item", sort="rank"), lambda item: item.nothing)
    with pytest.raises(CorestoneError):
        controller.perform_fetch()
    with pytest.raises(InvalidArgumentError):
        FetchedResultsController(context, FetchRequest("Item")).perform_fetch()


def test_live_queries_tell_differences(context: Context) -> None:
    told: list[Difference] = []
    with context.observe(FetchRequest("Item", sort="rank"), lambda _, difference: told.append(difference)):
        (item,) = add(context, 3)
        item.rank = 4
        context.process_pending_changes()
        context.delete(item)
        context.process_pending_changes()
    add(context, 5)
    assert [len(each.changes) for each in told] == [0, 1, 1, 1]
    assert told[1].insertions[0].object is item
    assert told[2].updates[0].path == (0, 0)
    assert told[3].removals[0].object is item


def test_live_queries_are_gone_through(context: Context) -> None:
    query = context.observe(FetchRequest("Item", sort="rank"), timeout=0)
    assert isinstance(query, LiveQuery)
    add(context, 3)
    add(context, 1)
    assert [len(each.snapshot) for each in query] == [0, 1, 2]
    for rank in range(LiveQuery.most + 5):
        add(context, rank)
    first = query.next(0)
    assert first is not None
    assert first.is_reset
    assert len(first.insertions) == len(first.snapshot)
    query.close()
    context.process_pending_changes()


def test_live_queries_are_awaited(context: Context) -> None:
    async def read() -> list[int]:
        query = context.observe(FetchRequest("Item", sort="rank"))
        add(context, 3)
        found = [len((await query.__anext__()).snapshot) for _ in range(2)]
        query.close()
        return found

    assert asyncio.run(read()) == [0, 1]
