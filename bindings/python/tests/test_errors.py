"""Exceptions carry every field, and fit into Python's own kinds."""

from __future__ import annotations

import copy
import pickle

import pytest

import corestone
from corestone import (
    CorestoneError,
    InvalidArgumentError,
    Model,
    ModelError,
    PredicateSyntaxError,
    Status,
    StoreError,
    TypeMismatchError,
    ValidationError,
    WrongThreadError,
)
from corestone.errors import BY_STATUS


def full() -> ValidationError:
    return ValidationError(
        "Two things are wrong.",
        code=1560,
        domain="NSCocoaErrorDomain",
        entity="Employee",
        key="name",
        value=b"x",
        object_uri="x-coredata:///Employee/t1",
        file="/tmp/x",
        sqlite_code=2067,
        offset=3,
        details=[ValidationError("First."), ValidationError("Second,\nat length.")],
    )


def test_text() -> None:
    assert str(full()) == "Two things are wrong.\n  First.\n  Second,\n  at length."
    assert full().message == "Two things are wrong."
    assert full().args == ("Two things are wrong.",)


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))])
def test_copies(duplicate: object) -> None:
    error = full()
    other = duplicate(error)  # type: ignore[operator]
    assert type(other) is ValidationError
    assert str(other) == str(error)
    fields = {key: value for key, value in vars(error).items() if key != "details"}
    assert {key: value for key, value in vars(other).items() if key != "details"} == fields
    assert len(other.details) == 2


def test_one_class_for_each_status() -> None:
    assert set(BY_STATUS) == {status.value for status in Status}
    for status, kind in BY_STATUS.items():
        error = kind("x")
        assert error.status == status
        assert isinstance(error, CorestoneError)
        assert str(error) == "x"
        assert getattr(corestone, kind.__name__) is kind


def test_kinds_of_python() -> None:
    assert issubclass(ValidationError, ValueError)
    assert issubclass(TypeMismatchError, TypeError)
    assert issubclass(InvalidArgumentError, ValueError)
    assert issubclass(WrongThreadError, RuntimeError)
    assert issubclass(StoreError, OSError)
    assert issubclass(PredicateSyntaxError, ValueError)
    assert str(StoreError("the text", file="/x")) == "the text"
    assert pickle.loads(pickle.dumps(StoreError("the text", file="/x"))).file == "/x"


def test_fields_from_the_library() -> None:
    model = Model()
    item = model.entity("Item").attribute("name", "string")
    with pytest.raises(ModelError) as caught:
        item.attribute("name", "string")
    error = caught.value
    assert error.status == Status.MODEL
    assert (error.entity, error.key) == ("Item", "name")
    assert error.domain
    assert error.offset is None
    assert error.sqlite_code == 0
    assert error.file is None
    assert error.details == ()


def test_refused_value(ctx: corestone.Context) -> None:
    person = ctx.insert("Employee", name="Ada")
    with pytest.raises(TypeMismatchError) as caught:
        person.age = "seven"
    assert caught.value.value == "seven"
    assert caught.value.status == Status.TYPE_MISMATCH
