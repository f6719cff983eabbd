"""Batch requests: rows of every shape, lazily; errors; what open contexts see."""

from __future__ import annotations

import gc
import re
import sqlite3
import threading
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from corestone import (
    BatchDeleteRequest,
    BatchInsertRequest,
    BatchUpdateRequest,
    ConflictError,
    Container,
    Context,
    CorestoneError,
    Expression,
    FetchRequest,
    InvalidArgumentError,
    ManagedObject,
    MergePolicy,
    MergePolicyType,
    Model,
    UndoManager,
    UnsupportedError,
    ValidationError,
    handle_count,
)

MODEL = {
    "Item": {
        "name": "string",
        "rank": "int32? = 5",
        "price": "decimal?",
        "seen": "date?",
        "tags": "transformable?",
        "plain": "derived string? = canonical:(name)",
        "box": "to-one Box? inverse items",
    },
    "Box": {"label": "string", "items": "to-many Item inverse box"},
    "Code": {"code": "string", "number": "int32?", "title": "string?"},
}


@pytest.fixture
def container(tmp_path: Path) -> Iterator[Container]:
    model = Model(MODEL)
    model["Code"].unique("code")
    model["Code"].unique("number")
    with Container(model, tmp_path / "items.sqlite", unsaved="discard") as container:
        yield container


@pytest.fixture
def context(container: Container) -> Context:
    return container.context()


def names(context: Context) -> list[str]:
    return [each.name for each in context.fetch("Item", sort="name")]


def test_batch_insert_accepts_rows_of_every_shape(context: Context) -> None:
    when = datetime(2026, 1, 2, tzinfo=timezone.utc)
    rows: list[dict[str, Any]] = [
        {"name": "a"},
        {"name": "b", "rank": None, "seen": when},
        {"rank": 7, "name": "c", "price": 3, "tags": ["x", 1]},
    ]
    assert context.batch_insert("Item", rows) == 3
    a, b, c = context.fetch("Item", sort="name")
    assert (a.rank, b.rank, c.rank) == (5, None, 7)
    assert (b.seen, c.price, c.tags, c.plain) == (when, 3, ["x", 1], "c")
    assert context.batch_insert("Item", [("d", 1), ("e", 2)], columns=("name", "rank")) == 2
    assert context.batch_insert("Item", []) == 0
    assert names(context) == ["a", "b", "c", "d", "e"]


def test_empty_string_in_a_row_is_not_null(context: Context) -> None:
    rows: list[dict[str, Any]] = [{"code": "a", "title": ""}, {"code": "b", "title": None}]
    assert context.batch_insert("Code", rows) == 2
    assert context.batch_insert("Code", [("c", ""), ("d", None)], columns=("code", "title")) == 2
    assert [each.title for each in context.fetch("Code", sort="code")] == ["", None, "", None]
    assert context.count("Code", "title == nil") == 2


def test_batch_insert_reads_its_iterator_lazily(context: Context) -> None:
    read = 0

    def rows() -> Iterator[dict[str, Any]]:
        nonlocal read
        for number in range(5000):
            read += 1
            yield {"name": f"{number:04}", "rank": number}

    assert context.batch_insert("Item", rows()) == 5000
    assert context.count("Item", "rank == 4999") == 1

    def broken() -> Iterator[dict[str, Any]]:
        yield from ({"name": "x"} for _ in range(1000))
        raise KeyError("no more")

    with pytest.raises(CorestoneError) as caught:
        context.batch_insert("Item", broken())
    assert isinstance(caught.value.__cause__, KeyError)
    assert context.count("Item") == 5000


def test_invalid_rows_fail_the_batch_insert(context: Context) -> None:
    incomplete: list[dict[str, Any]] = [{"name": "a"}, {"rank": 1}]
    with pytest.raises(ValidationError, match="row 2") as missing:
        context.batch_insert("Item", incomplete)
    assert (missing.value.code, missing.value.key) == (1570, "name")
    wrong_rows: list[tuple[dict[str, Any], str]] = [
        ({"nam": 1}, "nam"),
        ({"box": None}, "box"),
        ({"plain": "x"}, "plain"),
    ]
    for row, key in wrong_rows:
        with pytest.raises(CorestoneError) as wrong:
            context.batch_insert("Item", [{"name": "a"}, row])
        cause = wrong.value.__cause__ or wrong.value
        assert getattr(cause, "key", None) == key
    with pytest.raises(CorestoneError, match="name"):
        context.batch_insert("Item", [{"name": 3}])
    with pytest.raises(CorestoneError):
        context.batch_insert("Item", [("a", 1)], columns=("name",))
    with pytest.raises(CorestoneError):
        context.batch_insert("Item", [("a", 1)])
    with pytest.raises(InvalidArgumentError):
        BatchInsertRequest("Item")
    with pytest.raises(UnsupportedError):
        context.execute(BatchInsertRequest("Item", [], result_type="objects"))
    assert names(context) == []


def test_handler_fills_the_rows_of_a_batch_insert(context: Context) -> None:
    numbers = iter(range(1000))

    def fill(row: dict[str, Any]) -> bool:
        number = next(numbers, None)
        row["name"] = str(number)
        return number is None

    assert context.execute(BatchInsertRequest("Item", handler=fill, result_type="count")) == 1000
    objects = []
    left = iter("abc")

    def set_one(item: Any) -> bool:
        objects.append(item)
        assert item.rank == 5
        item.name = next(left, "")
        return bool(item.name == "")

    request = BatchInsertRequest("Item", objects=set_one, result_type="ids")
    ids = context.execute(request)
    assert [context.existing(each).name for each in ids] == ["a", "b", "c"]
    assert len(objects) == 4

    def save(row: dict[str, Any]) -> bool:
        context.insert("Item", name="x")
        context.save()
        return True

    with pytest.raises(CorestoneError) as refused:
        context.execute(BatchInsertRequest("Item", handler=save))
    assert "batch" in str(refused.value.__cause__ or refused.value)
    context.rollback()
    assert context.count("Item") == 1003


def test_batch_update_is_merged_into_open_contexts(container: Container, context: Context) -> None:
    context.batch_insert("Item", [{"name": str(number), "rank": number} for number in range(4)])
    other, deaf = container.context(), container.context()
    deaf.merges_batches = False
    assert other.merges_batches
    assert not deaf.merges_batches
    theirs, unheard = list(other.fetch("Item", sort="name")), list(deaf.fetch("Item", sort="name"))
    assert [each.rank for each in theirs] == [each.rank for each in unheard] == [0, 1, 2, 3]
    theirs[3].rank = 33
    assert context.batch_update("Item", {"rank": Expression("rank * 10")}, "rank > %d", 1) == 2
    assert [each.rank for each in theirs] == [0, 1, 20, 33]
    assert [each.rank for each in unheard] == [0, 1, 2, 3]
    with pytest.raises(ConflictError):
        other.save()
    ids = context.execute(BatchUpdateRequest("Item", {"price": 2}, result_type="ids", merge=False))
    assert len(ids) == 4
    assert context.execute(BatchUpdateRequest("Item", {"price": None, "tags": {"a": 1}})) is True
    assert context.fetch("Item")[0].tags == {"a": 1}
    with pytest.raises(CorestoneError) as wrong:
        context.batch_update("Item", {"box": None})
    assert wrong.value.key == "box"


def test_batch_delete_removes_rows_and_applies_delete_rules(context: Context) -> None:
    box = context.insert("Box", label="b")
    for number in range(6):
        context.insert("Item", name=str(number), rank=number, box=box)
    context.save()
    first = context.fetch("Item", sort="name")[0]
    assert first.box is box
    assert context.batch_delete("Box") == 1
    assert first.box is None
    request = BatchDeleteRequest(FetchRequest("Item", sort="-name", limit=2), result_type="count")
    assert context.execute(request) == 2
    ids = [each.id for each in context.fetch("Item", "rank < 2")]
    assert context.execute(BatchDeleteRequest(ids, result_type="count")) == 2
    assert names(context) == ["2", "3"]
    with pytest.raises(InvalidArgumentError):
        context.execute(BatchDeleteRequest([]))


def test_batch_delete_is_denied_while_a_many_to_many_has_members(tmp_path: Path) -> None:
    model = Model(
        {
            "Tag": {"name": "string", "posts": "to-many Post inverse tags delete deny"},
            "Post": {"tags": "to-many Tag inverse posts"},
        }
    )
    with Container(model, tmp_path / "posts.sqlite") as container:
        context = container.context()
        context.insert("Tag", name="used", posts=[context.insert("Post")])
        context.insert("Tag", name="free")
        context.save()
        with pytest.raises(ValidationError) as denied:
            context.batch_delete("Tag")
        assert (denied.value.code, denied.value.entity, denied.value.key) == (1600, "Tag", "posts")
        assert context.count("Tag") == 2
        assert context.batch_delete("Tag", "name == 'free'") == 1
        assert context.batch_delete("Post") == 1
        assert context.batch_delete("Tag") == 1


def test_batch_insert_resolves_unique_conflicts_by_merge_policy(context: Context) -> None:
    context.batch_insert("Code", [{"code": "a", "title": "old"}])
    with pytest.raises(ConflictError) as taken:
        context.batch_insert("Code", [{"code": "a"}])
    assert taken.value.code == 133021
    context.merge_policy = MergePolicy(MergePolicyType.OBJECT_TRUMP)
    assert context.batch_insert("Code", [{"code": "a"}, {"code": "b", "title": "new"}]) == 2
    assert [each.title for each in context.fetch("Code", sort="code")] == ["old", "new"]


def test_row_numbers_in_errors_start_at_1(context: Context) -> None:
    good: list[dict[str, Any]] = [{"name": "a"}] * 300
    for bad in ({"name": "x", "price": "no"}, {"name": "x\ud800"}, {"name": None}, {"name": "x", "rank": 1 << 40}, 3):
        with pytest.raises((CorestoneError, ValueError)) as wrong:
            context.batch_insert("Item", [*good, bad])  # type: ignore[arg-type]
        assert re.search("(?i)row 301", str(wrong.value.__cause__ or wrong.value)), wrong.value
    assert context.count("Item") == 0


def test_rejected_row_is_named(context: Context) -> None:
    rows = [{"code": str(number % 90), "title": f"t{number}"} for number in range(200)]
    with pytest.raises(ConflictError) as taken:
        context.batch_insert("Code", rows)
    assert (taken.value.code, taken.value.value) == (133021, "0")
    assert context.count("Code") == 0
    context.merge_policy = MergePolicy(MergePolicyType.OBJECT_TRUMP)
    assert context.batch_insert("Code", rows) == 90
    assert context.fetch("Code", "code == '19'")[0].title == "t199"


def test_row_matching_two_objects_updates_one_and_deletes_the_other(container: Container, context: Context) -> None:
    rows = [{"code": "a", "number": 1, "title": "1"}, {"code": "b", "number": 2, "title": "2"}]
    context.batch_insert("Code", rows)
    first, second = context.fetch("Code", sort="code")
    both = [{"code": "a", "number": 2}]
    context.merge_policy = MergePolicy(MergePolicyType.STORE_TRUMP)
    assert context.batch_insert("Code", both) == 0
    context.merge_policy = MergePolicy(MergePolicyType.OBJECT_TRUMP)
    changes = context.execute(BatchInsertRequest("Code", both, result_type="changes"))
    assert (changes["updated"], changes["deleted"]) == ([first.id], [second.id])
    assert (first.code, first.number, first.title) == ("a", 2, "1")
    assert second.is_deleted
    assert container.context().count("Code") == 1


def test_batch_changes_are_grouped_by_kind(container: Container, context: Context) -> None:
    box = context.insert("Box", label="b")
    item = context.insert("Item", name="a", box=box)
    context.save()
    other = container.context()
    theirs = other.fetch("Item")[0]
    assert theirs.box.label == "b"
    changes = context.execute(BatchDeleteRequest(FetchRequest("Box"), result_type="changes", merge=False))
    assert changes == {"inserted": [], "updated": [], "deleted": [box.id], "refreshed": [item.id]}
    other.merge_changes(changes)
    assert theirs.box is None
    changes = context.execute(BatchUpdateRequest("Item", {"name": "B"}, result_type="changes"))
    assert (changes["updated"], changes["deleted"]) == ([item.id], [])
    changes = context.execute(BatchInsertRequest("Item", [{"name": "c"}], result_type="changes"))
    assert [each.uri for each in changes["inserted"]] == [context.fetch("Item", "name == 'c'")[0].id.uri]


def test_batch_insert_writes_external_values_and_history(tmp_path: Path) -> None:
    model = Model({"Paper": {"name": "string", "scan": "binary? external"}})
    with Container(model, tmp_path / "papers.sqlite", history=True) as container:
        context = container.context()
        rows = [
            {"name": str(number), "scan": bytes([number]) * (200_000 if number % 9 == 0 else 7)} for number in range(70)
        ]
        assert context.batch_insert("Paper", rows) == 70
        found = container.context().fetch("Paper")
        assert sorted((each.name, each.scan) for each in found) == sorted((row["name"], row["scan"]) for row in rows)
        with sqlite3.connect(tmp_path / "papers.sqlite") as database:
            assert database.execute("SELECT count(*), max(ZENTITYPK) FROM ACHANGE").fetchall() == [(70, 70)]


def test_batch_requests_affect_the_selected_stores(container: Container, context: Context, tmp_path: Path) -> None:
    second = container.coordinator.add_store(tmp_path / "second.sqlite")
    for number in range(6):
        item = context.insert("Item", name=str(number), rank=number)
        if number >= 3:
            context.assign(item, second)
    context.save()
    none: list[Any] = [
        BatchDeleteRequest(FetchRequest("Item"), stores=[], result_type="count"),
        BatchDeleteRequest(FetchRequest("Item", stores=[]), result_type="count"),
        BatchUpdateRequest("Item", {"rank": 0}, stores=[], result_type="count"),
        BatchInsertRequest("Item", [{"name": "x"}], stores=[], result_type="count"),
    ]
    assert [context.execute(each) for each in none] == [0, 0, 0, 0]
    window = FetchRequest("Item", sort="name", limit=2)
    assert context.execute(BatchDeleteRequest(window, stores=[second], result_type="count")) == 2
    assert names(context) == ["0", "1", "2", "5"]
    assert context.execute(BatchDeleteRequest(window, result_type="count")) == 2
    assert names(context) == ["2", "5"]
    assert context.execute(BatchUpdateRequest("Item", {"rank": 0}, stores=None, result_type="count")) == 2


def test_batch_requests_do_not_leak_handles(container: Container, context: Context) -> None:
    context.batch_insert("Item", [{"name": "a"}])
    gc.collect()
    before = handle_count()
    for _ in range(5):
        context.batch_insert("Item", [{"name": "b"}])
        context.batch_update("Item", {"rank": Expression("rank + 1")})
        context.batch_delete("Item", "name == 'b'")
        with pytest.raises(CorestoneError):
            context.batch_insert("Item", [{"name": None}])
    gc.collect()
    assert handle_count() == before


KINDS = {"Base": {"name": "string", "rank": "int32? = 5"}, "Sub": {"@parent": "Base", "more": "string?"}}


@pytest.fixture
def kinds(tmp_path: Path) -> Iterator[Context]:
    with Container(Model(KINDS), tmp_path / "kinds.sqlite", unsaved="discard") as container:
        ctx = container.context()
        for number in range(4):
            ctx.insert("Sub" if number % 2 else "Base", name=f"n{number}", rank=number)
        ctx.save()
        yield ctx


def test_batch_result_types_return_status_count_or_ids(kinds: Context) -> None:
    everyone = {each.name: each.id for each in kinds.fetch("Base")}

    def update(kind: str, **more: Any) -> Any:
        return kinds.execute(BatchUpdateRequest("Base", {"rank": 9}, "rank >= %d", 2, result_type=kind, **more))

    assert update("status") is True
    assert update("count") == 2
    assert set(update("ids")) == {everyone["n2"], everyone["n3"]}
    changes = update("changes")
    assert set(changes) == {"inserted", "updated", "deleted", "refreshed"}
    assert set(changes["updated"]) == {everyone["n2"], everyone["n3"]}
    assert changes["inserted"] == changes["deleted"] == []
    rows: list[dict[str, Any]] = [{"name": "x"}, {"name": "y", "rank": None}]
    inserted = kinds.execute(BatchInsertRequest("Sub", rows, result_type="changes"))
    assert sorted((kinds.get(each).name, kinds.get(each).rank) for each in inserted["inserted"]) == [
        ("x", 5),
        ("y", None),
    ]
    gone = kinds.execute(BatchDeleteRequest(FetchRequest("Base", "name IN {'x', 'n0'}"), result_type="changes"))
    assert len(gone["deleted"]) == 2
    assert everyone["n0"] in gone["deleted"]
    for wrong in ("id", 3, None):
        with pytest.raises(UnsupportedError, match=r'must be "status", "ids", "count" or "changes", not') as caught:
            update(wrong)  # type: ignore[arg-type]
        assert caught.value.code == 134091


@pytest.mark.parametrize(("include", "ranks"), [(True, [9, 9, 9, 9]), (False, [9, 1, 9, 3])])
def test_batch_update_includes_subentities_on_request(kinds: Context, include: bool, ranks: list[int]) -> None:
    count = kinds.execute(BatchUpdateRequest("Base", {"rank": 9}, include_subentities=include, result_type="count"))
    assert count == ranks.count(9)
    kinds.refresh_all()
    assert [each.rank for each in kinds.fetch("Base", sort="name")] == ranks


def test_batch_delete_honours_limit_and_offset(kinds: Context) -> None:
    request = FetchRequest("Base", sort="-name", offset=1, limit=2)
    assert kinds.execute(BatchDeleteRequest(request, result_type="count")) == 2
    assert [each.name for each in kinds.fetch("Base", sort="name")] == ["n0", "n3"]
    ids = kinds.fetch_ids("Base", "name == 'n0'")
    assert kinds.execute(BatchDeleteRequest(iter(ids), result_type="ids")) == ids
    with pytest.raises(
        InvalidArgumentError, match="the batch delete request does not have object IDs; pass at least one"
    ):
        kinds.execute(BatchDeleteRequest([]))
    assert kinds.batch_delete("Base", "name == %@", "n3") == 1
    assert kinds.count("Base") == 0


def test_batch_changes_are_merged_unless_merge_is_false(kinds: Context) -> None:
    first = kinds.first("Base", "name == 'n0'")
    assert first.rank == 0
    kinds.execute(BatchUpdateRequest("Base", {"rank": Expression("rank + 10")}, "name == 'n0'", merge=False))
    assert first.rank == 0
    kinds.refresh(first)
    assert first.rank == 10
    kinds.execute(BatchUpdateRequest("Base", {"rank": Expression("rank + 10")}, "name == 'n0'"))
    assert first.rank == 20
    assert kinds.execute(BatchUpdateRequest("Base", {"rank": 1}, stores=[], result_type="count")) == 0
    assert (
        kinds.execute(BatchUpdateRequest("Base", {"rank": 1}, stores=[kinds.container.store], result_type="count")) == 4
    )


def test_row_handler_ends_the_insert_when_it_returns_true(kinds: Context) -> None:
    listed: list[dict[str, Any]] = [{"name": "a"}, {"name": "b", "rank": 1}]
    rows = iter(listed)

    def fill(row: dict[str, Any]) -> bool:
        found = next(rows, None)
        row.update(found or {})
        return found is None

    assert kinds.execute(BatchInsertRequest("Base", handler=fill, result_type="count")) == 2
    names = iter(["c", "d"])

    def set_up(item: Any) -> bool:
        name = next(names, None)
        if name is not None:
            item.name = name
        return name is None

    assert kinds.execute(BatchInsertRequest("Base", objects=set_up, result_type="count")) == 2
    found = kinds.fetch("Base", "name IN {'a', 'b', 'c', 'd'}", sort="name")
    assert [(each.name, each.rank) for each in found] == [("a", 5), ("b", 1), ("c", 5), ("d", 5)]


def test_batch_insert_needs_exactly_one_source_of_rows(kinds: Context) -> None:
    wrong: list[dict[str, Any]] = [{}, {"rows": [], "handler": bool}, {"handler": bool, "objects": bool}]
    for given in wrong:
        with pytest.raises(InvalidArgumentError, match=r"[023] sources, but takes exactly one; pass rows, handler"):
            BatchInsertRequest("Base", **given)
    with pytest.raises(InvalidArgumentError, match="arguments need a predicate format"):
        BatchUpdateRequest("Base", {"rank": 1}, None, 5)
    mixed: list[Any] = [{"name": "a"}, ("b",)]
    with pytest.raises(CorestoneError, match="batch insert of Base failed: row 2 must be a dictionary, not"):
        kinds.batch_insert("Base", mixed)
    with pytest.raises(CorestoneError, match="batch insert of Base failed: row 2 has 1 value for 2 columns"):
        kinds.batch_insert("Base", [("a", 1), ("b",)], columns=("name", "rank"))
    numbers: list[Any] = [("a", 1), 5]
    with pytest.raises(CorestoneError, match="batch insert of Base failed: row 2 must be a tuple or a list, not 5; "):
        kinds.batch_insert("Base", numbers, columns=("name", "rank"))
    assert kinds.count("Base") == 4


# ---- bypassed hooks, and effects on open contexts


RULED: dict[str, dict[str, Any]] = {
    "Item": {
        "name": "string max 3", "rank": "int32? = 5", "other": "int32?", "mood": "string? transient",
        "box": "to-one Box? inverse items",
    },
    "Box": {"label": "string", "items": "to-many ordered Item inverse box min 2"},
}  # fmt: skip


@pytest.fixture(params=["SQLite", "InMemory", "XML"])
def ruled(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Container]:
    with Container(Model(RULED), tmp_path / "ruled", type=request.param, unsaved="discard") as container:
        yield container


def ranked(context: Context, *ranks: int) -> list[Any]:
    for rank in ranks:
        context.insert("Item", name=f"n{rank}", rank=rank)
    context.save()
    return list(context.fetch("Item", sort="rank"))


hooked: list[str] = []


class Hooked(ManagedObject, entity="Item"):
    """Notes each hook, and refuses each value and each save."""

    def awake_from_insert(self) -> None:
        hooked.append("insert")

    def will_save(self) -> None:
        hooked.append("will")

    def did_save(self) -> None:
        hooked.append("did")

    def prepare_for_deletion(self) -> None:
        hooked.append("prepare")

    def validate_for_insert(self) -> None:
        raise ValueError("no insertion")

    def validate_for_update(self) -> None:
        raise ValueError("no update")

    def validate_for_delete(self) -> None:
        raise ValueError("no deletion")


def test_batch_requests_bypass_hooks_validation_and_undo(tmp_path: Path) -> None:
    hooked.clear()
    with Container(Model(RULED).bind(Hooked), tmp_path / "ruled.sqlite", unsaved="discard") as container:
        context = container.context()
        context.undo_manager = UndoManager()
        assert context.batch_insert("Item", [{"name": "far too long"}, {"name": "b"}]) == 2
        assert context.batch_update("Item", {"name": "also too long"}, "name == 'b'") == 1
        assert context.batch_delete("Item", "name == 'far too long'") == 1
        assert hooked == []
        assert not context.undo_manager.can_undo
        assert not context.has_changes
        [left] = context.fetch("Item")
        assert (left.name, left.rank) == ("also too long", 5)
        left.rank = 6
        with pytest.raises(CorestoneError):
            context.save()


def test_batch_update_counts_every_match_and_raises_its_version(ruled: Container) -> None:
    context, other = ruled.context(), ruled.context()
    other.merges_batches = False
    items = ranked(context, 1, 2, 3)
    mine = list(other.fetch("Item", sort="rank"))
    assert [each.rank for each in mine] == [1, 2, 3]
    assert context.batch_update("Item", {"rank": 2}, "rank > 1") == 2
    assert [each.rank for each in items] == [1, 2, 2]
    for number, conflicts in ((0, False), (1, True), (2, True)):
        mine[number].other = 7
        if conflicts:  # though the value of the second one is what it was
            with pytest.raises(ConflictError) as caught:
                other.save()
            assert caught.value.code == 133020
            other.rollback()
        else:
            other.save()


@pytest.mark.parametrize(
    ("given", "code", "key"),
    [
        ({"mood": "x"}, 0, "mood"), ({"box": None}, 0, "box"), ({"name": None}, 1570, "name"), ({"nam": "x"}, 0, "nam"),
        ({"name": 5}, 0, "name"), ({"rank": 1 << 40}, 1610, "rank"),
    ],
)  # fmt: skip
def test_batch_request_names_the_key_that_cannot_be_set(
    ruled: Container, given: dict[str, Any], code: int, key: str
) -> None:
    context = ruled.context()
    ranked(context, 1)
    rows: list[dict[str, Any]] = [{"name": "ok"}, {"name": "x", **given}]
    for request in (BatchUpdateRequest("Item", given), BatchInsertRequest("Item", rows)):
        with pytest.raises(CorestoneError) as caught:
            context.execute(request)
        error: Any = caught.value.__cause__ or caught.value
        assert (error.code, error.entity, error.key) == (code, "Item", key)
        assert [(each.name, each.rank) for each in context.fetch("Item")] == [("n1", 1)]


@pytest.mark.parametrize("end", ["rollback", "refresh", "undo", "save"])
def test_unsaved_changes_override_batch_changes_until_rollback(ruled: Container, end: str) -> None:
    context, other = ruled.context(), ruled.context()
    ranked(context, 1, 2, 3, 4)
    other.undo_manager = UndoManager()
    clean, beside, same, doomed = other.fetch("Item", sort="rank")
    assert [each.rank for each in (clean, beside, same, doomed)] == [1, 2, 3, 4]
    beside.other, same.rank, doomed.other = 20, 30, 40
    other.process_pending_changes()
    assert context.batch_update("Item", {"rank": Expression("rank + 100")}, "rank < 4") == 3
    assert context.batch_delete("Item", "rank == 4") == 1
    assert [each.rank for each in (clean, beside, same)] == [101, 102, 30]
    assert (beside.other, doomed.other, doomed.is_deleted) == (20, 40, False)
    if end == "save":
        with pytest.raises(ConflictError):
            other.save()
        other.delete(doomed)
        other.merge_policy = MergePolicy(MergePolicyType.STORE_TRUMP)
        other.save()
        assert (beside.rank, beside.other, same.rank) == (102, 20, 103)
    else:
        if end == "rollback":
            other.rollback()
        elif end == "undo":
            assert other.undo()
        else:
            for each in (beside, same, doomed):
                other.refresh(each, merge=False)
        other.process_pending_changes()
        assert [(each.rank, each.other) for each in (clean, beside, same)] == [(101, None), (102, None), (103, None)]
    assert other.count("Item") == 3
    assert [each.rank for each in other.fetch("Item", sort="rank")] == [101, 102, 103]
    assert not other.has_changes


def test_batch_request_of_a_child_context_bypasses_its_parents(ruled: Container) -> None:
    parent = ruled.context()
    items = ranked(parent, 1, 2)
    items[0].other = 9
    child = parent.child()
    assert [each.rank for each in child.fetch("Item", sort="rank")] == [1, 2]
    assert child.batch_update("Item", {"rank": Expression("rank + 10")}) == 2
    assert child.batch_insert("Item", [{"name": "new", "rank": 0}]) == 1
    assert [each.rank for each in ruled.context().fetch("Item", sort="rank")] == [0, 11, 12]
    assert [each.rank for each in items] == [11, 12]
    assert (items[0].other, parent.has_changes) == (9, True)
    assert [each.rank for each in child.fetch("Item", sort="rank")] == [0, 11, 12]
    assert child.batch_update("Item", {"rank": 0}, "other == 9") == 0


def test_batch_delete_keeps_the_order_of_remaining_members(ruled: Container) -> None:
    context = ruled.context()
    box = context.insert("Box", label="b")
    box["items"] = [context.insert("Item", name=name) for name in "abcd"]
    context.save()
    other = ruled.context()
    theirs = other.fetch("Box")[0]
    assert "".join(each.name for each in theirs["items"]) == "abcd"
    assert context.batch_delete("Item", "name IN {'a', 'c'}") == 2
    assert "".join(each.name for each in theirs["items"]) == "bd"
    assert context.batch_delete("Item", "name == 'b'") == 1
    for each in (context, other, ruled.context()):
        [shown] = each.fetch("Box")
        assert "".join(item.name for item in shown["items"]) == "d"


def test_batch_request_posts_one_notification(ruled: Container) -> None:
    context, other = ruled.context(), ruled.context()
    ranked(context, 1, 2)
    clean, doomed = other.fetch("Item", sort="rank")
    assert (clean.rank, doomed.rank) == (1, 2)
    told: list[Any] = []
    with other.observe(
        "objects_did_change",
        lambda _, changes: told.append([len(changes.inserted), len(changes.deleted), len(changes.refreshed)]),
    ):
        context.batch_insert("Item", [{"name": "x"}, {"name": "y"}])
        other.process_pending_changes()
        context.batch_update("Item", {"other": 3}, "rank == 1")
        other.process_pending_changes()
        context.batch_delete("Item", "rank == 2")
        other.process_pending_changes()
        other.merges_batches = False
        context.batch_update("Item", {"other": 4})
        other.process_pending_changes()
    assert told == [[2, 0, 0], [0, 0, 1], [0, 1, 0]]


def test_context_of_another_thread_merges_batches_at_its_next_call(ruled: Container) -> None:
    context = ruled.context()
    ranked(context, 1)
    ready, changed, found = threading.Barrier(2, timeout=30), threading.Barrier(2, timeout=30), []

    looks: list[Callable[[Context], Any]] = [lambda own: own.process_pending_changes(), lambda own: own.fetch("Item")]

    def elsewhere() -> None:
        for look in looks:
            own = ruled.context()
            item = own.fetch("Item")[0]
            found.append(item.rank)
            ready.wait()
            changed.wait()
            found.append(item.rank)
            look(own)
            found.append(item.rank)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    for _ in range(2):
        ready.wait()
        context.batch_update("Item", {"rank": Expression("rank + 1")})
        changed.wait()
    thread.join(30)
    assert found == [1, 1, 2, 2, 2, 3]
    queued = ruled.background_context()
    with queued.perform():
        item = queued.fetch("Item")[0]
        assert item.rank == 3
    context.batch_update("Item", {"rank": 9})
    with queued.perform():
        assert item.rank == 9


def test_context_without_merging_can_merge_batch_changes_by_hand(ruled: Container) -> None:
    context, deaf = ruled.context(), ruled.context()
    ranked(context, 1, 2)
    deaf.merges_batches = False
    first, second = deaf.fetch("Item", sort="rank")
    assert (first.rank, second.rank) == (1, 2)
    updated = context.execute(BatchUpdateRequest("Item", {"rank": 7}, "rank == 1", result_type="changes"))
    deleted = context.execute(BatchDeleteRequest(FetchRequest("Item", "rank == 2"), result_type="changes"))
    assert (first.rank, second.rank, second.is_deleted) == (1, 2, False)
    deaf.merge_changes(updated)
    assert (first.rank, second.is_deleted) == (7, False)
    deaf.merge_changes(deleted)
    deaf.process_pending_changes()
    assert [each.rank for each in deaf.fetch("Item")] == [7]
