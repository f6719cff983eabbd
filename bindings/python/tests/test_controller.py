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
    IDChange,
    InvalidArgumentError,
    LiveQuery,
    Model,
    ObjectID,
    ResultsChangeKind,
)

MODEL = {"Item": {"name": "string?", "rank": "int32?"}}


@pytest.fixture
def context(tmp_path: Path) -> Iterator[Context]:
    with Container(Model(MODEL), tmp_path / "a.sqlite", unsaved="discard") as container:
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


def test_a_second_fetch_moves_rows_between_sections(context: Context, tmp_path: Path) -> None:
    add(context, 1, 2, 9)
    context.save()
    controller = FetchedResultsController(context, FetchRequest("Item", sort="rank"), level)
    controller.perform_fetch()
    moved = controller[0, 0]
    with Container(context.model, tmp_path / "a.sqlite") as elsewhere:
        view = elsewhere.view_context
        (same,) = view.fetch("Item", "rank == 1")
        same.rank = 7
        view.save()
    context.refresh_all()
    controller.perform_fetch()
    shown = {section.name: [item.rank for item in section] for section in controller.sections or []}
    assert shown == {"low": [2], "high": [7, 9]}
    assert controller.index_path(moved) == (1, 0)


def test_what_a_function_raises_fails_the_fetch(context: Context) -> None:
    add(context, 1)
    controller = FetchedResultsController(context, FetchRequest("Item", sort="rank"), lambda item: item.nothing)
    with pytest.raises(CorestoneError):
        controller.perform_fetch()
    with pytest.raises(InvalidArgumentError):
        FetchedResultsController(context, FetchRequest("Item")).perform_fetch()


def test_a_delegate_that_wants_ids(context: Context) -> None:
    shown: list[ObjectID] = []

    class Ids:
        def did_change_ids(self, _: FetchedResultsController, changes: list[IDChange]) -> None:
            for change in changes:
                if change.kind is ResultsChangeKind.DELETE:
                    assert shown.pop(change.offset) == change.id
                else:
                    shown.insert(change.offset, change.id)
            associated.extend(change.associated for change in changes)

    associated: list[int | None] = []
    delegate = Ids()
    controller = FetchedResultsController(context, FetchRequest("Item", sort="rank"), delegate=delegate)
    controller.perform_fetch()
    one, two, three = add(context, 1, 2, 3)
    one.rank = 9
    context.process_pending_changes()
    assert shown == [two.id, three.id, one.id]
    assert associated == [None, None, None, 2, 0]
    context.save()
    context.delete(two)
    context.process_pending_changes()
    assert [id.uri for id in shown] == [three.id.uri, one.id.uri]
    by_section = FetchedResultsController(context, FetchRequest("Item", sort="rank"), level, delegate=delegate)
    by_section.perform_fetch()
    del controller, shown[:]
    add(context, 5)
    assert shown == []


def test_a_function_that_writes_is_refused(context: Context) -> None:
    (item,) = add(context, 1)

    def rename(item: Any) -> str:
        item.name = "new"
        return "all"

    controller = FetchedResultsController(context, FetchRequest("Item", sort="rank"), rename)
    context.save()
    with pytest.raises(InvalidArgumentError) as failure:
        controller.perform_fetch()
    assert failure.value.object_uri == item.id.uri


class Raising:
    """A delegate that fails."""

    def __init__(self, raised: BaseException) -> None:
        self.raised = raised

    def did_change(self, _: FetchedResultsController) -> None:
        raise self.raised


def test_what_a_delegate_raises_fails_no_call(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[Any] = []
    monkeypatch.setattr("sys.unraisablehook", heard.append)
    delegate = Raising(ValueError("no"))
    controller = FetchedResultsController(context, FetchRequest("Item", sort="rank"), delegate=delegate)
    controller.perform_fetch()
    add(context, 1)
    (told,) = heard
    assert told.exc_value is delegate.raised
    assert told.exc_value.__notes__ == [f"Raised by did_change of the delegate of {controller!r}."]
    assert repr(context) in repr(controller)
    assert controller[0, 0].rank == 1
    delegate.raised = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        add(context, 2)
    del heard[:]

    def fail(_: Context, difference: Difference) -> None:
        raise KeyError(len(difference.changes))

    with context.observe(FetchRequest("Item", sort="rank"), fail):
        assert (heard[0].exc_type, len(heard[0].exc_value.__notes__)) == (KeyError, 1)
    assert len(controller.fetched_objects or []) == 2


def test_ids_that_become_permanent_are_told(context: Context) -> None:
    told: list[Difference] = []
    with context.observe(FetchRequest("Item", sort="rank"), lambda _, difference: told.append(difference)):
        add(context, 1)
        context.process_pending_changes()
        former = told[-1].insertions[0].object_id
        assert told[-1].renamed == []
        context.save()
        item = context.fetch("Item")[0]
        assert told[-1].renamed == [(former, item.id)]
        assert told[-1].changes == []
        assert former is not None
        assert (former.is_temporary, item.id.is_temporary) == (True, False)


def test_a_closed_context_tells_nobody(tmp_path: Path) -> None:
    with Container(Model(MODEL), tmp_path / "a.sqlite") as container:
        context = container.context()
        add(context, 1)
        context.save()
        told: list[Difference] = []
        log = Log()
        controller = FetchedResultsController(context, FetchRequest("Item", sort="rank"), delegate=log)
        controller.perform_fetch()
        query = context.observe(FetchRequest("Item", sort="rank"), timeout=0)
        observation = context.observe(FetchRequest("Item", sort="rank"), lambda _, difference: told.append(difference))
        context.close()
        assert [each.is_reset for each in told] == [False]
        assert [each.is_reset for each in query] == [False]
        assert log.resets == []
        observation.cancel()


def test_an_object_that_is_gone_does_not_take_the_others_along(context: Context) -> None:
    add(context, 1, 2, 3)
    context.save()
    controller = FetchedResultsController(context, FetchRequest("Item", sort="rank"))
    controller.perform_fetch()
    context.delete(controller[0, 1])
    context.save()
    assert [item.name for item in controller.fetched_objects or []] == ["n1", None, "n3"]


def test_names_that_look_alike_are_sections_of_their_own(context: Context) -> None:
    for name in ("e\u0301", "z", "\u00e9"):
        context.insert("Item", name=name)
    controller = FetchedResultsController(context, FetchRequest("Item", sort="name"), "name", delegate=Log())
    controller.perform_fetch()
    assert [section.name for section in controller.sections or []] == ["e\u0301", "z", "\u00e9"]
    context.delete(controller[1, 0])
    context.process_pending_changes()
    assert [section.name for section in controller.sections or []] == ["e\u0301", "\u00e9"]


def test_batch_deletions_of_members(tmp_path: Path) -> None:
    model = {
        "Item": {"rank": "int32?", "box": "to-one Box? inverse items"},
        "Box": {"label": "string?", "items": "to-many Item inverse box"},
    }
    with Container(Model(model), tmp_path / "a.sqlite") as container:
        context, other = container.context(), container.context()
        box = other.insert("Box", label="B")
        for rank in (2, 5):
            other.insert("Item", rank=rank, box=box)
        other.save()
        log, dependent = Log(), Log()
        controller = FetchedResultsController(
            context, FetchRequest("Item", "ANY box.items.rank > 3", sort="rank"), delegate=log
        )
        boxes = FetchedResultsController(
            context, FetchRequest("Box", sort="label"), dependencies=["items"], delegate=dependent
        )
        controller.perform_fetch()
        boxes.perform_fetch()
        assert other.batch_delete("Item", "rank == 5") == 1
        context.process_pending_changes()
        assert len(controller.fetched_objects or []) == 0
        assert [change.path for change in dependent.told[0].updates] == [(0, 0)]


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
