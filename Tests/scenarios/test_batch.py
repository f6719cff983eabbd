"""Batch requests bypass the context, and tell it what they did."""

from __future__ import annotations

from typing import Any

from corestone import BatchDeleteRequest, BatchInsertRequest, BatchUpdateRequest, FetchRequest, Model

PEOPLE = {"Person": {"name": "string", "age": "int32"}}


def test_s056_batch_insert_update_and_delete(opened: Any) -> None:
    context = opened(Model(PEOPLE)).context()
    rows = [{"name": "Ada", "age": 32}, {"name": "Bea", "age": 25}, {"name": "Cleo", "age": 41}]
    assert context.execute(BatchInsertRequest("Person", rows, result_type="count")) == 3
    assert context.count("Person") == 3
    update = BatchUpdateRequest("Person", {"age": 33}, "name == 'Ada'", result_type="count")
    assert context.execute(update) == 1
    assert [each.age for each in context.fetch("Person", "name == 'Ada'")] == [33]
    assert context.execute(BatchDeleteRequest(FetchRequest("Person"), result_type="count")) == 3
    assert context.count("Person") == 0
