"""Key-value coding: undefined keys, mutable collections, values of other types."""

from __future__ import annotations

import base64
from typing import Any
from uuid import UUID

import pytest
from corestone import CorestoneError, Model, TypeMismatchError


def test_s392_undefined_key_is_an_error(opened: Any) -> None:
    ctx = opened(Model({"PEntity": {"name": "string?", "counter": "int32", "score": "double?"}})).context()
    item = ctx.insert("PEntity", counter=7)
    with pytest.raises(CorestoneError, match="nothing_such"):
        item["nothing_such"]
    with pytest.raises(CorestoneError, match="nothing_such"):
        item["nothing_such"] = 1


@pytest.mark.needs_file("it reads the store again from its file")
def test_s395_mutable_set_works_on_a_fault(store: Any, opened: Any) -> None:
    model = Model({"Item": {"tags": "to-many Tag? inverse items"}, "Tag": {"items": "to-many Item? inverse tags"}})
    first = opened(model)
    ctx = first.context()
    ctx.insert("Item", tags=[ctx.insert("Tag"), ctx.insert("Tag")])
    ctx.save()
    first.close()
    ctx = opened(model.copy()).context()
    tags = ctx.fetch("Item")[0].tags
    tags.remove(next(iter(tags)))
    assert len(tags) == 1
    ctx.save()
    ctx = opened(model.copy()).context()
    assert len(ctx.fetch("Item")[0].tags) == 1


def test_s398_values_of_other_types_are_converted() -> None:
    model = Model()
    kinds = ["int64", "string", "uuid", "binary", "double", "decimal", "date", "bool"]
    entity = model.entity("Conv").attribute("int32", "int32", default=7)
    for kind in kinds:
        entity.attribute(kind, kind)
    some = UUID("6f9619ff-8b86-d011-b42d-00c04fc964ff")
    assert entity.convert("int32", None) == 7
    assert entity.convert("int32", "42") == 42
    assert entity.convert("string", 42) == "42"
    assert entity.convert("uuid", str(some)) == some
    assert entity.convert("binary", base64.b64encode(b"data").decode()) == b"data"
    assert entity.convert("double", "1.123456789012345") == 1.123456789012345
    with pytest.raises(TypeMismatchError) as failure:
        entity.convert("int64", "not-a-number")
    assert (failure.value.entity, failure.value.key) == ("Conv", "int64")
