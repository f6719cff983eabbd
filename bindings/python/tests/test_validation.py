"""Validation: what a save refuses, with every field of the error, and the words of a model's localisation."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path

import pytest

from corestone import (
    Container,
    Context,
    CoreDataCode,
    CorestoneError,
    Model,
    ModelError,
    TypeMismatchError,
    ValidationError,
)

NOW = datetime(2026, 11, 21, tzinfo=timezone.utc)

ENGLISH = {
    "Property/date/Entity/Run": "Date",
    "Property/processID/Entity/Run": "Process ID",
    "ErrorString/Process ID < 1": "Process ID must not be less than 1",
}
CHINESE = {
    "Property/date/Entity/Run": "日期",
    "Property/processID/Entity/Run": "进程号",
    "ErrorString/Process ID < 1": "进程号不能小于 1",
}


def run_model() -> Model:
    model = Model()
    run = model.entity("Run").attribute("date", "date")
    run.attribute("processID", "int32", default=-1, validation={"SELF > 0": "Process ID < 1"})
    run.attribute("note", "string", optional=True, minimum=2, maximum=8, pattern="[a-zé ]*")
    run.attribute("started", "date", optional=True, minimum=NOW)
    run.to_one("parent", "Run", inverse="children", validation={"note != 'no child'": "That run has no children"})
    run.to_many("children", "Run", inverse="parent", delete="deny", validation={"@count < 3": "Three are too many"})
    return model


@pytest.fixture
def runs(tmp_path: Path) -> Iterator[Context]:
    with Container(run_model(), tmp_path / "runs.sqlite", unsaved="discard") as container:
        yield container.context()


@pytest.mark.parametrize(
    ("words", "warned"), [(ENGLISH, "Process ID must not be less than 1"), (CHINESE, "进程号不能小于 1")]
)
def test_the_run_model(tmp_path: Path, words: dict[str, str], warned: str) -> None:
    model = run_model().localize(words)
    assert model.localization("ErrorString/Process ID < 1") == warned
    assert model.localization("Entity/Run") is None
    assert model["Run"].localized_property_name("processID") == words["Property/processID/Entity/Run"]
    assert model["Run"].localized_name == "Run"
    assert model.describe()["localization"] == words
    with Container(model, tmp_path / "runs.sqlite") as container:
        context = container.context()
        run = context.insert("Run")
        with pytest.raises(ValidationError) as caught:
            context.save()
        assert caught.value.code == CoreDataCode.VALIDATION_MULTIPLE_ERRORS
        missing, warning = caught.value.details
        assert missing.code == CoreDataCode.VALIDATION_MISSING_MANDATORY_PROPERTY
        assert words["Property/date/Entity/Run"] in missing.message
        assert (warning.code, warning.message) == (CoreDataCode.MANAGED_OBJECT_VALIDATION, warned)
        assert (warning.entity, warning.key, warning.value) == ("Run", "processID", -1)
        assert warning.predicate == "SELF > 0"
        run.set(date=NOW, processID=1)
        context.validate()
        assert context.has_changes
        context.save()


def test_bounds(runs: Context) -> None:
    run = runs.insert("Run", date=NOW, processID=1)
    for note, code, predicate in [
        ("a", CoreDataCode.VALIDATION_STRING_TOO_SHORT, "length >= 2"),
        ("a long note", CoreDataCode.VALIDATION_STRING_TOO_LONG, "length <= 8"),
        ("UP", CoreDataCode.VALIDATION_STRING_PATTERN_MATCHING, 'SELF MATCHES "[a-zé ]*"'),
    ]:
        with pytest.raises(ValidationError) as caught:
            run.validate_value("note", note)
        assert (caught.value.code, caught.value.predicate) == (code, predicate)
        assert caught.value.value == note
    with pytest.raises(ValidationError) as caught:
        run.validate_value("started", NOW.replace(year=2025))
    assert caught.value.code == CoreDataCode.VALIDATION_DATE_TOO_SOON
    assert run.validate_value("processID", 3.0) == 3
    assert run.validate_value("note", "été") == "été"
    assert run.validate_value("parent", run) == run
    with pytest.raises(TypeMismatchError):
        run.validate_value("processID", "three")
    with pytest.raises(ModelError, match=r"has no property 'nte'.*note"):
        run.validate_value("nte", "x")
    assert run.note is None


def test_objects(runs: Context) -> None:
    parent = runs.insert("Run", date=NOW, processID=1)
    child = runs.insert("Run", date=NOW, processID=2, parent=parent)
    child.validate_for_insert()
    runs.save()
    with pytest.raises(ValidationError) as caught:
        parent.validate_for_delete()
    assert caught.value.code == CoreDataCode.VALIDATION_RELATIONSHIP_DENIED_DELETE
    child.validate_for_delete()
    parent.note = "no child"
    with pytest.raises(ValidationError, match=r"^That run has no children$"):
        child.validate_for_update()
    parent.note = None
    for process in (3, 4):
        runs.insert("Run", date=NOW, processID=process, parent=parent)
    with pytest.raises(ValidationError, match=r"^Three are too many$") as caught:
        runs.save()
    assert caught.value.key == "children"


def test_unique_values_of_which_one_is_missing(tmp_path: Path) -> None:
    model = Model({"Person": {"first": "string?", "last": "string?", "@unique": [["first", "last"]]}})
    with Container(model, tmp_path / "people.sqlite") as container:
        context = container.context()
        for _ in range(2):
            context.insert("Person", last="Roe")
        context.validate()
        context.save()


def test_a_detail_names_a_target_by_its_id(runs: Context) -> None:
    parent = runs.insert("Run", date=NOW, processID=1, note="no child")
    runs.insert("Run", date=NOW, processID=0, parent=parent)
    with pytest.raises(ValidationError) as caught:
        runs.save()
    assert {each.key: each.value for each in caught.value.details} == {"processID": 0, "parent": parent.id}


def test_conditions_that_make_no_sense() -> None:
    for options in (
        {"type": "int16", "minimum": 2, "maximum": 1},
        {"type": "bool", "minimum": 0},
        {"type": "int16", "pattern": "[0-9]"},
        {"type": "string", "minimum": -1},
        {"type": "string", "pattern": "("},
        {"type": "int16", "validation": {"SELF >": "cut off"}},
    ):
        with pytest.raises(CorestoneError):
            Model({"E": {"a": options}})


def test_a_least_value_may_be_the_greatest_too(tmp_path: Path) -> None:
    with Container(Model({"E": {"a": "int16? min 2 max 2"}}), tmp_path / "e.sqlite", unsaved="discard") as container:
        e = container.context().insert("E")
        e.validate_value("a", 2)
        for value, code in (
            (1, CoreDataCode.VALIDATION_NUMBER_TOO_SMALL),
            (3, CoreDataCode.VALIDATION_NUMBER_TOO_LARGE),
        ):
            with pytest.raises(ValidationError) as caught:
                e.validate_value("a", value)
            assert (caught.value.key, caught.value.code) == ("a", code)


def test_lines(tmp_path: Path) -> None:
    lines = {
        "age": "int16? min 0 max 150",
        "code": "string? min 2 match [A-Z]+ = AB",
        "day": "date? min 2026-01-01T00:00:00Z",
    }
    with Container(Model({"E": lines}), tmp_path / "e.sqlite", unsaved="discard") as container:
        e = container.context().insert("E")
        assert e.code == "AB"
        for name, value in (("age", -1), ("age", 151), ("code", "A"), ("code", "ab"), ("day", NOW.replace(year=2025))):
            with pytest.raises(ValidationError) as caught:
                e.validate_value(name, value)
            assert caught.value.key == name
    for line in ("int16 min", "int16 min x", "string match"):
        with pytest.raises(ModelError, match=r"E\.a"):
            Model({"E": {"a": line}})
