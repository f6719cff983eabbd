"""Context.stream: many objects, a batch at a time."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import pytest

from corestone import (
    Container,
    Context,
    InvalidArgumentError,
    InvalidHandleError,
    Model,
    PredicateError,
    WrongThreadError,
)


@pytest.fixture
def many(container: Container) -> Context:
    ctx = container.context()
    ctx.insert_many("Employee", [{"name": f"{number:04}", "age": number % 50} for number in range(2500)])
    ctx.save()
    ctx.reset()
    return ctx


def test_stream_returns_every_object_once_in_order(many: Context) -> None:
    assert [person.name for person in many.stream("Employee", batch=300)] == [f"{n:04}" for n in range(2500)]
    found = many.stream("Employee", "age == 49", sort="-name", limit=7, offset=1, batch=3)
    assert [person.name for person in found] == [f"{n:04}" for n in range(2449, 2100, -50)][:7]
    assert not list(many.stream("Employee", "age > 50"))


def test_stream_batches_have_columns(many: Context) -> None:
    batches = [batch.column("age") for batch in many.stream("Employee", sort="name", batch=1000).batches()]
    assert [len(ages) for ages in batches] == [1000, 1000, 500]
    assert sum(map(sum, batches)) == sum(n % 50 for n in range(2500))


def test_unreferenced_batch_is_freed(many: Context) -> None:
    most = 0
    for number, _ in enumerate(many.stream("Employee", batch=100)):
        if number % 100 == 50:
            gc.collect()
            most = max(most, len(many.known))
    assert most <= 200


def test_stream_stays_lazy_with_unsaved_changes_of_another_entity(many: Context) -> None:
    many.insert("Project", title="unsaved")
    before = many.container.coordinator.statistics.fetched_rows
    assert len(next(many.stream("Employee", batch=100).batches())) == 100
    assert many.container.coordinator.statistics.fetched_rows - before == 100


def test_closing_the_context_ends_the_stream(many: Context) -> None:
    objects = iter(many.stream("Employee", sort="name", batch=300))
    batches = many.stream("Employee", sort="name", batch=300).batches()
    assert next(objects).name == "0000"
    assert len(next(batches)) == 300
    unused = many.stream("Employee")
    many.close()
    for rest in (objects, batches, iter(unused), unused.batches()):
        with pytest.raises(InvalidHandleError, match="context is closed"):
            next(rest)


def test_context_can_save_during_a_stream(many: Context) -> None:
    seen = []
    for number, person in enumerate(many.stream("Employee", sort="name", batch=100)):
        seen.append(person.name)
        person.notes = "seen"
        if number == 150:
            for later in many.fetch("Employee", "name BEGINSWITH '02' OR name == '0300'"):
                if later.name == "0300":
                    later.age = 99
                else:
                    many.delete(later)
            many.save()
        if person.name == "0300":
            assert person.age == 99
    many.save()
    assert seen == [f"{n:04}" for n in range(2500) if not 200 <= n < 300]
    assert many.count("Employee", "notes == 'seen'") == 2400


def test_streams_and_fetches_can_be_nested(many: Context) -> None:
    outer, inner = many.stream("Employee", batch=500), many.stream("Employee", "age < 25", batch=70)
    pairs = list(zip(outer, inner))
    assert len(pairs) == 1250
    assert [b.name for _, b in pairs] == [f"{n:04}" for n in range(2500) if n % 50 < 25]
    for person in many.stream("Employee", limit=30, batch=10):
        assert many.count("Employee", "name == %@", person.name) == 1


def test_stream_mistakes_are_reported(many: Context) -> None:
    with pytest.raises(InvalidArgumentError, match="batch"):
        many.stream("Employee", batch=0)
    with pytest.raises(PredicateError, match="salry"):
        many.stream("Employee", sort="salry")
    background = many.container.background_context()
    with pytest.raises(WrongThreadError):
        background.stream("Employee")


def test_stream_reads_a_read_only_store(many: Context, path: Path, model: Model) -> None:
    many.container.close()
    with Container(model, path, read_only=True) as container:
        names = [person.name for person in container.context().stream("Employee", sort="-name", batch=64)]
    assert names == [f"{n:04}" for n in reversed(range(2500))]


@pytest.mark.parametrize("kind", ["SQLite", "XML", "Binary", "InMemory"])
def test_stream_continues_after_a_reset(tmp_path: Path, kind: str) -> None:
    """Also where all objects are fetched at once: stores in memory, sorting in memory, unsaved changes."""
    model = Model({"Item": {"number": "int32", "note": "string? transient"}})
    with Container(model, tmp_path / "items", type=kind) as container:
        container.insert("Item", [{"number": number} for number in range(1300)])
        ctx = container.context()
        for sort in ((), "number", "note"):
            seen = []
            for batch in ctx.stream("Item", sort=sort, batch=500).batches():
                seen += batch.column("number")
                ctx.reset()
            assert sorted(seen) == list(range(1300))
        ctx.insert("Item", number=-1)
        ctx.fetch("Item", "number == 1200")[0].number = 1250
        batches = ctx.stream("Item", sort="number", batch=500).batches()
        assert next(batches).column("number")[:2] == [-1, 0]
        ctx.reset()
        assert container.delete("Item", "number >= 600 AND number < 700") == 100
        rest = [number for batch in batches for number in batch.column("number")]
        # What was changed comes as it is saved, in the place that the change had given it.
        assert sorted(rest) == [499, *range(500, 600), *range(700, 1300)]


def test_open_cursor_prevents_truncation_of_the_log(many: Context) -> None:
    container = many.container
    store, log = container.store, Path(f"{container.store.path}-wal")
    names = (person.name for person in many.stream("Employee", sort="name", batch=100))
    with Container(many.model, store.path or "", sync="normal") as elsewhere:
        assert elsewhere.coordinator.checkpoint(elsewhere.store, "truncate") is not None
        assert log.stat().st_size == 0
        assert next(names) == "0000"
        writer = elsewhere.context()
        for number in range(2):
            writer.insert("Employee", name=f"later {number}", age=1)
            writer.save()
        kept = elsewhere.coordinator.checkpoint(elsewhere.store)
        assert kept is not None
        assert not kept.is_complete
        assert list(names) == [f"{number:04}" for number in range(1, 2500)]
        assert elsewhere.coordinator.checkpoint(elsewhere.store, "truncate") is not None
        assert log.stat().st_size == 0


@pytest.mark.parametrize("sort", [(), "name"])
def test_rows_changed_during_a_stream_are_returned_once(many: Context, sort: Any) -> None:
    people = iter(many.stream("Employee", "age < 5", sort=sort, batch=20))
    names = [f"{number:04}" for number in range(2500) if number % 50 < 5]
    assert [next(people).name for _ in range(20)] == names[:20]
    writer = many.container.context()
    before, gone, older, renamed = writer.fetch("Employee", "name IN {'0001', '1000', '1001', '1002'}", sort="name")
    before.age, older.age, renamed.name = 7, 49, "0000b"
    writer.delete(gone)
    writer.insert("Employee", name="2600", age=1)
    writer.save()
    # In the places where they were found, whatever became of them.
    rest = {person.name: person.age for person in people}
    assert list(rest) == ["0000b" if name == "1002" else name for name in names[20:] if name != "1000"]
    assert rest["1001"] == 49


@pytest.mark.parametrize(
    ("kind", "sort"), [("XML", ()), ("Binary", "number"), ("InMemory", ()), ("InMemory", "number"), ("SQLite", "note")]
)
def test_unbatched_stream_does_not_see_later_saves(tmp_path: Path, kind: str, sort: Any) -> None:
    model = Model({"Item": {"number": "int32", "note": "string? transient"}})
    with Container(model, tmp_path / "items", type=kind) as container:
        container.insert("Item", [{"number": number} for number in range(12)])
        items = iter(container.context().stream("Item", sort=sort, batch=3))
        seen = [next(items).number for _ in range(3)]
        with container.context() as writer:
            gone, changed = writer.fetch("Item", "number IN {6, 9}", sort="number")
            writer.delete(gone)
            changed.number = 1000
            writer.save()
        assert sorted(seen + [item.number for item in items]) == list(range(12))
