"""Exceptions carry every field, and fit into Python's own kinds."""

from __future__ import annotations

import copy
import pickle
import re
from typing import Any

import pytest

import corestone
from corestone import (
    ConflictError,
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


def test_error_text_has_message_and_details() -> None:
    assert str(full()) == "Two things are wrong.\n  First.\n  Second,\n  at length."
    assert full().message == "Two things are wrong."
    assert full().args == ("Two things are wrong.",)


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))])
def test_copied_error_keeps_its_fields(duplicate: object) -> None:
    error = full()
    other = duplicate(error)  # type: ignore[operator]
    assert type(other) is ValidationError
    assert str(other) == str(error)
    fields = {key: value for key, value in vars(error).items() if key != "details"}
    assert {key: value for key, value in vars(other).items() if key != "details"} == fields
    assert len(other.details) == 2


def test_each_status_has_one_exception_class() -> None:
    assert set(BY_STATUS) == {status.value for status in Status}
    for status, kind in BY_STATUS.items():
        error = kind("x")
        assert error.status == status
        assert isinstance(error, CorestoneError)
        assert str(error) == "x"
        assert getattr(corestone, kind.__name__) is kind


def test_exceptions_inherit_from_python_exceptions() -> None:
    assert issubclass(ValidationError, ValueError)
    assert issubclass(TypeMismatchError, TypeError)
    assert issubclass(InvalidArgumentError, ValueError)
    assert issubclass(WrongThreadError, RuntimeError)
    assert issubclass(StoreError, OSError)
    assert issubclass(PredicateSyntaxError, ValueError)
    assert str(StoreError("the text", file="/x")) == "the text"
    assert pickle.loads(pickle.dumps(StoreError("the text", file="/x"))).file == "/x"


def test_error_fields_come_from_the_library() -> None:
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


def test_rejected_value_is_in_the_error(ctx: corestone.Context) -> None:
    person = ctx.insert("Employee", name="Ada")
    with pytest.raises(TypeMismatchError) as caught:
        person.age = "seven"
    assert caught.value.value == "seven"
    assert caught.value.status == Status.TYPE_MISMATCH


EVIL = "x\x1b[2J\x9b\x7f\u202e\u2028y\r\nCoreData: sql: forged\n  z"


def test_control_characters_in_messages_are_escaped() -> None:
    with pytest.raises(ModelError) as caught:
        Model({EVIL: {}})
    # What says exactly what is wrong, says it exactly; what people read can be printed as it is.
    assert caught.value.key == EVIL
    assert "x␛[2J\\u{9B}␡\\u{202E}\\u{2028}y␍⏎CoreData: sql: forged" in str(caught.value)
    assert not [character for character in str(caught.value) if character < " " and character != "\n"]
    assert not [line for line in str(caught.value).split("\n")[1:] if not line.startswith("  ")]
    with pytest.raises(PredicateSyntaxError) as refused:
        corestone.Predicate("a ==\n  == b")
    assert str(refused.value).endswith("^"), "line breaks of the message itself are kept"


def test_long_message_is_truncated() -> None:
    with pytest.raises(ModelError) as caught:
        Model({"n" * 5_000_000: {}})
    assert len(str(caught.value)) < 17_000
    assert "the name of an entity has 5000000 bytes, but the limit is 255" in str(caught.value)
    assert caught.value.key == "n" * 5_000_000


FIELDS = {
    "code": (1570, 0), "domain": ("NSCocoaErrorDomain", None), "entity": ("E", None), "key": ("k", None),
    "value": (b"x", None), "predicate": ("a == 1", None), "object_uri": ("x-coredata:///E/p1", None),
    "file": ("/f", None), "sqlite_code": (19, 0), "offset": (3, None),
}  # fmt: skip


def test_each_error_field_can_be_set_alone() -> None:
    plain = CorestoneError("m")
    assert {name: getattr(plain, name) for name in FIELDS} == {name: usual for name, (_, usual) in FIELDS.items()}
    assert (plain.details, plain.conflicts, plain.status, plain.message) == ((), (), Status.INTERNAL, "m")
    for kind in (CorestoneError, StoreError, ValidationError):
        for name, (value, _) in FIELDS.items():
            fields: dict[str, Any] = {name: value}
            error = kind("m", **fields)
            for same in (error, pickle.loads(pickle.dumps(error)), copy.copy(error)):
                expected = {other: usual for other, (_, usual) in FIELDS.items()}
                assert {other: getattr(same, other) for other in FIELDS} == {**expected, name: value}
                assert same.status == kind.default_status
    assert ValidationError("m", status=-5).status == -5


def test_nested_details_are_indented_in_the_text() -> None:
    inner = ValidationError("Inner.", details=[ValidationError("Deep.")])
    assert str(ValidationError("Outer.", details=[inner])) == "Outer.\n  Inner.\n    Deep."
    # The text does not repeat parts of the message.
    assert str(CorestoneError("Outer: Inner.", details=[ValidationError("Inner.")])) == "Outer: Inner."
    error = CorestoneError("m", conflicts=["c"])
    assert error.conflicts == ("c",)
    assert pickle.loads(pickle.dumps(error)).conflicts == ()


def test_message_over_16_kilobytes_loses_its_middle() -> None:
    def message(size: int) -> str:
        with pytest.raises(ModelError) as caught:
            Model({"E": {"p": "string " + "-" * size}})
        return caught.value.message

    frame = len(message(1)) - 1
    whole, cut = message(16384 - frame), message(16385 - frame)
    assert len(whole) == 16384
    assert "left out" not in whole
    assert cut.startswith('E.p: "-----')
    assert cut.endswith('"max", "match", "transformer" or "renaming_identifier"')
    left = int(re.fullmatch(r"(?s)(.*) … \((\d+) bytes left out\) … (.*)", cut)[2])  # type: ignore[index]
    # What stays is three quarters of the limit from the beginning, and one from the end.
    assert (cut.index(" … "), len(cut) - cut.rindex(" … ") - 3, left) == (12288, 4096, 1)


def test_pickled_error_keeps_its_text_when_its_value_cannot_be_pickled() -> None:
    error = pickle.loads(pickle.dumps(StoreError("the text", key="progress", value=lambda: None)))
    assert (error.message, error.key) == ("the text", "progress")
    assert "lambda" in error.value


def test_text_has_the_first_twenty_of_many_details() -> None:
    error = ValidationError("25 failures.", details=[ValidationError(f"Number {number}.") for number in range(25)])
    lines = str(error).split("\n")
    assert lines[:2] == ["25 failures.", "  Number 0."]
    assert lines[-2:] == ["  Number 19.", "  and 5 more"]


def test_text_does_not_repeat_many_details_that_the_message_lists() -> None:
    listed = "25 conflicts:\n  Number 0\n  and 24 more\n  resolve each conflict"
    error = ConflictError(listed, details=[ConflictError(f"Number {number}; change it") for number in range(25)])
    assert str(error) == listed
