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
    Predicate,
    PredicateError,
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


def test_section_function_names_sections(context: Context) -> None:
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


def test_second_fetch_moves_rows_between_sections(context: Context, tmp_path: Path) -> None:
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


def test_exception_of_the_section_function_fails_the_fetch(context: Context) -> None:
    add(context, 1)
    controller = FetchedResultsController(context, FetchRequest("Item", sort="rank"), lambda item: item.nothing)
    with pytest.raises(CorestoneError):
        controller.perform_fetch()
    with pytest.raises(InvalidArgumentError):
        FetchedResultsController(context, FetchRequest("Item")).perform_fetch()
    with pytest.raises(InvalidArgumentError, match="the fetch request does not have an entity"):
        FetchedResultsController(context, FetchRequest(sort="rank")).perform_fetch()


def test_delegate_with_did_change_ids_receives_id_changes(context: Context) -> None:
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


def test_section_function_that_changes_an_object_is_rejected(context: Context) -> None:
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


def test_exception_of_a_delegate_does_not_fail_the_call(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[Any] = []
    monkeypatch.setattr("sys.unraisablehook", heard.append)
    delegate = Raising(ValueError("no"))
    controller = FetchedResultsController(context, FetchRequest("Item", sort="rank"), delegate=delegate)
    controller.perform_fetch()
    add(context, 1)
    (told,) = heard
    assert told.exc_value is delegate.raised
    assert told.exc_value.__notes__ == [f"raised by did_change of the delegate of {controller!r}"]
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


def test_observer_is_notified_of_permanent_ids(context: Context) -> None:
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


def test_closed_context_does_not_notify_observers(tmp_path: Path) -> None:
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


def test_deleted_object_does_not_invalidate_the_other_results(context: Context) -> None:
    add(context, 1, 2, 3)
    context.save()
    controller = FetchedResultsController(context, FetchRequest("Item", sort="rank"))
    controller.perform_fetch()
    context.delete(controller[0, 1])
    context.save()
    assert [item.name for item in controller.fetched_objects or []] == ["n1", None, "n3"]


def test_composed_and_decomposed_names_are_separate_sections(context: Context) -> None:
    for name in ("e\u0301", "z", "\u00e9"):
        context.insert("Item", name=name)
    controller = FetchedResultsController(context, FetchRequest("Item", sort="name"), "name", delegate=Log())
    controller.perform_fetch()
    assert [section.name for section in controller.sections or []] == ["e\u0301", "z", "\u00e9"]
    context.delete(controller[1, 0])
    context.process_pending_changes()
    assert [section.name for section in controller.sections or []] == ["e\u0301", "\u00e9"]


def test_controller_removes_objects_deleted_by_a_batch(tmp_path: Path) -> None:
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


def test_live_query_reports_differences(context: Context) -> None:
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


def test_live_query_can_be_iterated(context: Context) -> None:
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


def test_live_query_can_be_awaited(context: Context) -> None:
    async def read() -> list[int]:
        query = context.observe(FetchRequest("Item", sort="rank"))
        add(context, 3)
        found = [len((await query.__anext__()).snapshot) for _ in range(2)]
        query.close()
        return found

    assert asyncio.run(read()) == [0, 1]


class Steps:
    """A delegate that notes each call, with the results as they are then."""

    def __init__(self) -> None:
        self.told: list[Any] = []

    @staticmethod
    def shown(controller: FetchedResultsController) -> str | None:
        if controller.sections is None:
            return None
        return " ".join(f"{each.name}:{','.join(str(item.rank) for item in each)}" for each in controller.sections)

    def will_change(self, controller: FetchedResultsController) -> None:
        self.told.append(("will", self.shown(controller)))

    def did_change_section(self, _: FetchedResultsController, change: Any) -> None:
        self.told.append((change.kind.name, change.index, change.name))

    def did_change_object(self, _: FetchedResultsController, change: Any) -> None:
        paths = tuple(path and tuple(path) for path in (change.path, change.new_path))
        self.told.append((change.kind.name, change.object.rank, *paths))

    def did_change(self, controller: FetchedResultsController) -> None:
        self.told.append(("did", self.shown(controller)))

    def did_reset(self, controller: FetchedResultsController, error: Any) -> None:
        self.told.append(("reset", error, self.shown(controller)))

    def of_event(self, context: Context) -> list[Any]:
        del self.told[:]
        context.process_pending_changes()
        return self.told


def sectioned(context: Context, names: str, *, delegate: Any = None) -> tuple[FetchedResultsController, list[Any]]:
    """Items with ranks from 1 on in sections with these names, and a controller of them by rank."""
    items = [context.insert("Item", name=name, rank=rank) for rank, name in enumerate(names, 1)]
    context.save()
    controller = FetchedResultsController(context, FetchRequest("Item", sort="rank"), "name", delegate=delegate)
    controller.perform_fetch()
    return controller, items


def test_delegate_calls_of_an_event_have_a_fixed_order(context: Context) -> None:
    steps = Steps()
    controller, items = sectioned(context, "aabbcc", delegate=steps)
    context.delete(items[0])
    items[1].name, items[3].name, items[5].name = "b", "c", "c"
    context.insert("Item", name="d", rank=9)
    assert steps.of_event(context) == [
        ("will", "a:1,2 b:3,4 c:5,6"),
        ("DELETE", 1, (0, 0), None),
        ("DELETE", 0, "a"),
        ("INSERT", 2, "d"),
        ("INSERT", 9, None, (2, 0)),
        ("MOVE", 2, (0, 1), (0, 0)),
        ("MOVE", 4, (1, 1), (1, 0)),
        ("UPDATE", 6, (2, 1), (1, 2)),
        ("did", "b:2,3 c:4,5,6 d:9"),
    ]
    # Reported changes are not reported again when they are saved; changes of objects that are not shown never are.
    del steps.told[:]
    context.save()
    assert steps.of_event(context) == []
    # A sort key that leaves the order as it is.
    items[2].rank = 2
    items[1].rank = 1
    assert [told[0] for told in steps.of_event(context)] == ["will", "UPDATE", "UPDATE", "did"]
    assert controller.index_path(items[2]) == (0, 1)


def test_renamed_section_is_reported_as_deletion_and_insertion(context: Context) -> None:
    steps = Steps()
    _, items = sectioned(context, "aabb", delegate=steps)
    items[2].name = items[3].name = "bb"
    assert steps.of_event(context) == [
        ("will", "a:1,2 b:3,4"),
        ("DELETE", 4, (1, 1), None),
        ("DELETE", 3, (1, 0), None),
        ("DELETE", 1, "b"),
        ("INSERT", 1, "bb"),
        ("INSERT", 3, None, (1, 0)),
        ("INSERT", 4, None, (1, 1)),
        ("did", "a:1,2 bb:3,4"),
    ]


def test_sections_out_of_order_reset_the_results_until_the_next_fetch(context: Context) -> None:
    steps = Steps()
    controller, items = sectioned(context, "aabbc", delegate=steps)
    items[3].name = "a"
    [(what, error, shown)] = steps.of_event(context)
    assert (what, shown) == ("reset", None)
    assert (error.code, error.entity, error.object_uri) == (134060, "Item", items[3].id.uri)
    assert f'Item {items[3].id.uri} is in section "a", but is sorted after section "b"' in str(error)
    assert controller.sections is None
    assert controller.fetched_objects is None
    with pytest.raises(InvalidArgumentError) as caught:
        controller.perform_fetch()
    assert (caught.value.code, caught.value.entity, caught.value.object_uri) == (134060, "Item", items[3].id.uri)
    items[3].name = "b"
    assert steps.of_event(context) == []
    controller.perform_fetch()
    assert steps.told == []
    assert Steps.shown(controller) == "a:1,2 b:3,4 c:5"
    # Followed again: a section that comes to stand elsewhere goes and comes.
    items[4].rank = 0
    assert steps.of_event(context) == [
        ("will", "a:1,2 b:3,4 c:0"),
        ("DELETE", 2, "c"),
        ("INSERT", 0, "c"),
        ("MOVE", 0, (2, 0), (0, 0)),
        ("did", "c:0 a:1,2 b:3,4"),
    ]


def test_section_order_error_names_the_misplaced_object(context: Context) -> None:
    steps = Steps()
    controller, items = sectioned(context, "aabbc", delegate=steps)
    items[0].name = "b"
    [(what, error, _)] = steps.of_event(context)
    with pytest.raises(InvalidArgumentError) as caught:
        controller.perform_fetch()
    for each in (error, caught.value):
        assert (what, each.code, each.object_uri) == ("reset", 134060, items[2].id.uri)
        assert f'Item {items[2].id.uri} is in section "b", but is sorted after section "a"' in str(each)


def test_failed_fetch_keeps_the_former_results(context: Context) -> None:
    steps = Steps()
    controller, items = sectioned(context, "aab", delegate=steps)
    for predicate, sort, kind in (
        ("nme == 1", "rank", CorestoneError), (None, "nme", CorestoneError), (None, "name == 1", CorestoneError),
    ):  # fmt: skip
        controller.request.predicate = Predicate(predicate) if predicate else None
        controller.request.sort = sort
        with pytest.raises(kind):
            controller.perform_fetch()
        assert Steps.shown(controller) == "a:1,2 b:3"
        assert controller[1, 0] is items[2]
    controller.request.predicate, controller.request.sort = None, "rank"
    # It still follows.
    items[2].rank = 4
    assert steps.of_event(context)[1] == ("UPDATE", 4, (1, 0), (1, 0))


def test_controller_needs_a_sort_that_begins_with_the_section(context: Context) -> None:
    items = [context.insert("Item", rank=rank) for rank in (3, 1, 2)]
    context.save()
    with pytest.raises(InvalidArgumentError, match="needs an order; set sort descriptors") as caught:
        FetchedResultsController(context, FetchRequest("Item")).perform_fetch()
    assert caught.value.entity == "Item"
    none = FetchRequest("Item", sort=[])
    steps = Steps()
    by_key = FetchedResultsController(context, none, delegate=steps)
    by_key.perform_fetch()
    assert list(by_key.fetched_objects or []) == items
    items[0].rank = 100
    context.insert("Item", rank=0)
    assert [told[0] for told in steps.of_event(context)] == ["will", "INSERT", "UPDATE", "did"]
    assert Steps.shown(by_key) == ":100,1,2,0"
    with pytest.raises(InvalidArgumentError, match="sort first by section"):
        FetchedResultsController(context, none, "name").perform_fetch()


def test_delegate_set_late_receives_all_changes_since_the_fetch(context: Context) -> None:
    controller, items = sectioned(context, "aab")
    context.delete(items[0])
    context.process_pending_changes()
    context.insert("Item", name="b", rank=9)
    context.process_pending_changes()
    assert len(controller.sections or []) == 2
    controller.delegate = steps = Steps()
    assert steps.told == []
    assert steps.of_event(context) == []
    items[1].rank = 1
    assert steps.of_event(context) == [
        ("will", "a:1,1 b:3"),
        ("DELETE", 1, (0, 0), None),
        ("INSERT", 9, None, (1, 1)),
        ("UPDATE", 1, (0, 1), (0, 0)),
        ("did", "a:1 b:3,9"),
    ]
    controller.delegate = None
    items[1].rank = 2
    assert steps.of_event(context) == []


def test_did_change_all_replaces_the_other_delegate_calls(context: Context) -> None:
    class Both(Steps):
        def did_change_all(self, _: FetchedResultsController, difference: Difference) -> None:
            self.told.append(("all", len(difference.changes), difference.snapshot.section_names))

    steps = Both()
    _, items = sectioned(context, "ab", delegate=steps)
    items[1].name = "c"
    assert steps.of_event(context) == [("all", 2, ["a", "c"])]


def test_index_titles_are_distinct_capital_initials(context: Context) -> None:
    for name in (None, "apple", "Avocado", "épi", "ß", "zoo", "1st"):
        context.insert("Item", name=name)
    context.save()
    controller = FetchedResultsController(context, FetchRequest("Item", sort="name"), "name")
    controller.perform_fetch()
    assert [section.name for section in controller.sections or []] == [
        "", "1st", "Avocado", "apple", "zoo", "ß", "épi",
    ]  # fmt: skip
    titles = controller.section_index_titles
    assert titles[:3] == ["1", "A", "Z"]
    assert titles[-1] == "É"
    assert len(titles) == len(set(titles)) == 5
    assert [controller.section_for_index_title(title, at) for at, title in enumerate(titles)] == [1, 2, 4, 5, 6]


def updates(told: list[Any]) -> str:
    return "".join(str(each[1]) for each in told if each[0] == "UPDATE")


def test_dependencies_report_changes_of_related_objects(tmp_path: Path) -> None:
    model: dict[str, dict[str, Any]] = {
        "Item": {"rank": "int32?", "box": "to-one Box? inverse items"},
        "Box": {"label": "string?", "items": "to-many Item inverse box", "shelf": "to-one Shelf? inverse boxes"},
        "Shelf": {"height": "int32?", "boxes": "to-many Box inverse shelf", "room": "to-one Room?"},
        "Room": {"label": "string?"},
    }
    with Container(Model(model), tmp_path / "a.sqlite", unsaved="discard") as container:
        context = container.context()
        shelves = [context.insert("Shelf", height=height) for height in (1, 2)]
        boxes = [context.insert("Box", label=label, shelf=shelves[0]) for label in "xy"]
        items = [context.insert("Item", rank=rank, box=boxes[rank % 2]) for rank in range(4)]
        context.save()
        for path, labels, heights, shelved in (
            (None, "", "", ""), ("box", "02", "", "13"), ("box.label", "02", "", ""), ("box.shelf", "", "0123", "0123"),
            ("box.shelf.height", "", "0123", "13"),
        ):  # fmt: skip
            steps = Steps()
            controller = FetchedResultsController(
                context, FetchRequest("Item", sort="rank"), dependencies=[path] if path else [], delegate=steps
            )
            controller.perform_fetch()
            boxes[0].label = f"of {path}"
            assert updates(steps.of_event(context)) == labels, path
            shelves[0].height += 10
            assert updates(steps.of_event(context)) == heights, path
            shelves[1].height += 10
            assert updates(steps.of_event(context)) == "", path
            boxes[1].shelf = shelves[1]
            assert updates(steps.of_event(context)) == shelved, path
            boxes[1].shelf = shelves[0]
            context.process_pending_changes()
            controller.delegate = None
        assert [item.rank for item in items] == [0, 1, 2, 3]
        for path, key in (("box.nothing", "nothing"), ("box.shelf.room", "room")):
            with pytest.raises(InvalidArgumentError) as caught:
                FetchedResultsController(
                    context, FetchRequest("Item", sort="rank"), dependencies=[path]
                ).perform_fetch()
            assert caught.value.key == key


def test_changes_made_by_a_delegate_are_reported_8_events_deep(context: Context) -> None:
    class Endless(Steps):
        count = depth = 0

        def did_change(self, controller: FetchedResultsController) -> None:
            assert self.depth == 0, "not within"
            self.depth += 1
            super().did_change(controller)
            self.count += 1
            context.insert("Item", rank=self.count)
            context.process_pending_changes()
            self.depth -= 1

    delegate = Endless()
    controller = FetchedResultsController(context, FetchRequest("Item", sort="rank"), delegate=delegate)
    controller.perform_fetch()
    for begun in (1, 2):
        context.insert("Item", rank=-begun)
        told = delegate.of_event(context)
        assert [each[0] for each in told].count("did") == 8
        inserted = [each[1] for each in told if each[0] == "INSERT"]
        # The ninth of before comes with the event that is next.
        assert inserted == ([-1, *range(1, 8)] if begun == 1 else [-2, *range(8, 16)])
        assert len(controller.fetched_objects or []) == context.count("Item") - 1


def test_live_query_queues_64_differences_and_coalesces_more(context: Context) -> None:
    for more, expected in ((63, [False] * 64), (64, [True])):
        query = context.observe(FetchRequest("Item", sort="rank"), timeout=0)
        for rank in range(more):
            add(context, rank)
        told = list(query)
        assert [each.is_reset for each in told] == expected
        assert len(told[-1].snapshot) == more
        assert len(told[-1].insertions) == (1 if more == 63 else more)
        add(context, 1000)
        [last] = list(query)
        assert [(change.kind.name, change.new_path) for change in last.changes] == [("INSERT", (0, more))]
        query.close()
        context.rollback()


def test_live_query_without_sort_uses_keys_and_reinserts_after_a_reset(context: Context) -> None:
    told: list[Difference] = []
    with context.observe(FetchRequest("Item"), lambda _, difference: told.append(difference)):
        for rank in (3, 1, 2):
            context.insert("Item", rank=rank)
        context.save()
        first = context.fetch("Item", sort="objectID")[0]
        first.rank = 50
        context.process_pending_changes()
        assert [context.get(id).rank for id in told[-1].snapshot.ids(0)] == [50, 1, 2]
        count = len(told)
        context.save()
        assert len(told) == count
        context.reset()
        last = told[-1]
        assert (len(told), last.is_reset, last.error) == (count + 1, True, None)
        assert [change.new_path for change in last.insertions] == [(0, 0), (0, 1), (0, 2)]
        assert len(last.changes) == 3


def test_last_difference_has_the_error_of_a_failed_live_query(context: Context) -> None:
    items = add(context, 1, 2, 3)
    for item, name in zip(items, "aab"):
        item.name = name
    told: list[Difference] = []
    request = FetchRequest("Item", sort="rank")
    with context.observe(request, lambda _, difference: told.append(difference), sections="name"):
        items[0].name = "b"
        context.process_pending_changes()
        error: Any = told[-1].error
        assert (error.code, error.entity) == (134060, "Item")
        count = len(told)
        items[0].name = "a"
        context.process_pending_changes()
        assert len(told) == count
    for wrong, kind, key in (
        ({"dependencies": ["nothing.x"]}, InvalidArgumentError, "nothing"),
        ({"sections": "nothing"}, InvalidArgumentError, "nothing"),
    ):
        given: Any = wrong
        with pytest.raises(kind) as caught:
            context.observe(request, lambda *_: None, **given)
        assert (caught.value.entity, caught.value.key) == ("Item", key)
    with pytest.raises(PredicateError) as unknown:
        context.observe(FetchRequest("Item", "nme == 1"), lambda *_: None)
    assert (unknown.value.entity, unknown.value.key) == ("Item", "nme")
