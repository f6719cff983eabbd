"""Wrong arguments are refused by name, and numbers beyond 64 bits are never cut."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from corestone import (
    BatchDeleteRequest,
    BatchInsertRequest,
    BatchUpdateRequest,
    Container,
    Context,
    CorestoneError,
    Expression,
    FetchedResultsController,
    FetchRequest,
    InvalidArgumentError,
    Model,
    NumberRangeError,
    Predicate,
    UndoManager,
    register_function,
    unregister_function,
)

HUGE = 2**64 + 5
ODD: list[Any] = [2.5, object(), b"x", [1], {"a": 1}]
MODEL = {"Item": {"name": "string?", "rank": "int64?"}}


@pytest.fixture
def ctx(tmp_path: Path) -> Iterator[Context]:
    with Container(Model(MODEL), tmp_path / "a.store") as container:
        context = container.context()
        context.insert("Item", rank=5)
        context.save()
        yield context


def refused(name: str, body: Any, *arguments: Any, **keywords: Any) -> None:
    """Fails with one of the package's own TypeErrors or ValueErrors, which names the parameter."""
    with pytest.raises((TypeError, ValueError)) as caught:
        body(*arguments, **keywords)
    assert isinstance(caught.value, CorestoneError), repr(caught.value)
    assert name in str(caught.value), str(caught.value)


@pytest.mark.parametrize("name", ["limit", "offset", "batch_size"])
def test_request_numbers_beyond_64_bits_are_rejected(ctx: Context, name: str) -> None:
    def fetch(value: Any) -> Any:
        given: dict[str, Any] = {name: value}
        return ctx.execute(FetchRequest("Item", **given))

    for number in (HUGE, 2**63, -HUGE):
        with pytest.raises(OverflowError, match=f"{name} must be 0 to .*, not {number}") as caught:
            fetch(number)
        assert isinstance(caught.value, NumberRangeError)
        assert (caught.value.key, caught.value.value) == (name, number)
    with pytest.raises(InvalidArgumentError, match=f"{name} must be at least 0, not -1"):
        fetch(-1)
    for odd in ODD:
        refused(name, fetch, odd)


def test_numbers_beyond_64_bits_are_rejected_by_every_function(ctx: Context, tmp_path: Path) -> None:
    undo = UndoManager()
    controller = FetchedResultsController(ctx, FetchRequest("Item", sort="rank"))
    controller.perform_fetch()
    snapshot = controller.snapshot
    assert snapshot is not None
    item = controller.object_at(0, 0)
    other = tmp_path / "b.store"
    bodies: dict[str, Callable[[Any], Any]] = {
        "fault_batch_size": lambda number: setattr(ctx, "fault_batch_size", number),
        "levels_of_undo": lambda number: setattr(undo, "levels_of_undo", number),
        "batch": lambda number: list(ctx.stream("Item", batch=number)),
        "batch_size": lambda number: ctx.arrow("Item", batch_size=number).__arrow_c_stream__(),
        "row": lambda number: controller.object_at(0, number),
        "section": lambda number: snapshot.count(number),
        "estimated_count": lambda number: ctx.fetch_asynchronously(FetchRequest("Item"), estimated_count=number),
        "index": lambda number: controller.section_for_index_title("A", number),
        "cache_kb": lambda number: Container(Model(MODEL), other, cache_kb=number),
        "busy_timeout": lambda number: Container(Model(MODEL), other, busy_timeout=number),
        "rank": lambda number: setattr(item, "rank", number),
    }
    for name, body in bodies.items():
        with pytest.raises(OverflowError, match=name):
            body(HUGE)
        for odd in [] if name in ("rank", "busy_timeout") else ODD:
            refused(name, body, odd)


def test_request_arguments_of_wrong_types_are_rejected_by_name(ctx: Context) -> None:
    def carry_out(kind: Any, *arguments: Any, **keywords: Any) -> Any:
        return ctx.execute(kind(*arguments, **keywords))

    for odd in [*ODD, 5]:
        refused("entity", FetchRequest, odd)
        refused("having", carry_out, FetchRequest, "Item", having=odd)
        refused("stores", carry_out, FetchRequest, "Item", stores=odd)
        refused("stores", carry_out, BatchInsertRequest, "Item", [{}], stores=odd)
        refused("handler", BatchInsertRequest, "Item", handler=odd)
        refused("objects", BatchInsertRequest, "Item", objects=odd)
        refused("entity", carry_out, BatchInsertRequest, odd, [{}])
        refused("predicate", BatchUpdateRequest, "Item", {"rank": 1}, odd)
        refused("objects", carry_out, BatchDeleteRequest, odd)
        refused("request", FetchedResultsController, ctx, odd)
        refused("context", FetchedResultsController, odd, FetchRequest("Item"))
        refused("request", ctx.fetch_asynchronously, odd)
        refused("function", ctx.observe, FetchRequest("Item", sort="rank"), odd)
        refused("predicate", ctx.fetch("Item").filtered, odd)
        refused("name", ctx.fetch("Item").column, odd)
    refused("values", BatchUpdateRequest, "Item", 5)
    refused("rows", carry_out, BatchInsertRequest, "Item", 5)
    refused("notification", ctx.observe, "no_such", print)
    refused("archive", FetchRequest.from_archive, "zz")
    assert ctx.count("Item") == 1


def test_exception_message_of_a_callback_appears_once(ctx: Context) -> None:
    def fails(*_: Any) -> Any:
        raise ValueError("what went wrong")

    with pytest.raises(CorestoneError) as caught:
        ctx.fetch("Item", Predicate.block(fails))
    assert str(caught.value).count("what went wrong") == 1
    assert isinstance(caught.value.__cause__, ValueError)


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_exit_exceptions_of_callbacks_pass_through_unchanged(ctx: Context, kind: type[BaseException]) -> None:
    def stops(*_: Any) -> Any:
        raise kind("stop")

    def rows() -> Iterator[dict[str, int]]:
        yield {"rank": 1}
        stops()

    register_function("stops", stops)
    controller = FetchedResultsController(ctx, FetchRequest("Item", sort="rank"), stops)
    try:
        bodies: list[Callable[[], Any]] = [
            lambda: ctx.fetch("Item", Predicate.block(stops)),
            lambda: Predicate.block(stops).evaluate(1),
            lambda: Expression.block(stops).value(1),
            lambda: ctx.fetch("Item", "FUNCTION(SELF, 'stops') == 1"),
            lambda: ctx.batch_insert("Item", rows()),
            lambda: ctx.batch_update("Item", {"rank": 1}, Predicate.block(stops)),
            controller.perform_fetch,
        ]
        for body in bodies:
            with pytest.raises(kind, match="stop"):
                body()
    finally:
        unregister_function("stops")
    assert ctx.count("Item") == 1


def test_block_predicate_selects_the_rows_of_a_batch_update(ctx: Context) -> None:
    ctx.batch_insert("Item", [{"rank": rank} for rank in range(4)])
    assert ctx.batch_update("Item", {"name": "odd"}, Predicate.block(lambda item, _: item.rank % 2 == 1)) == 3
    assert sorted(item.rank for item in ctx.fetch("Item", "name == 'odd'")) == [1, 3, 5]
