"""Validation: failed saves, every field of their errors, and localised messages."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

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
def test_run_model_validates_with_localised_messages(tmp_path: Path, words: dict[str, str], warned: str) -> None:
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


def test_bounds_are_validated(runs: Context) -> None:
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
    with pytest.raises(TypeMismatchError, match=r"Run\.children is a to-many .* call validate_for_update"):
        run.validate_value("children", [run])
    with pytest.raises(ModelError, match=r'does not have a property "nte".*note'):
        run.validate_value("nte", "x")
    assert run.note is None


def test_object_validation_reports_related_objects(runs: Context) -> None:
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


def test_unique_constraint_ignores_null_values(tmp_path: Path) -> None:
    model = Model({"Person": {"first": "string?", "last": "string?", "@unique": [["first", "last"]]}})
    with Container(model, tmp_path / "people.sqlite") as container:
        context = container.context()
        for _ in range(2):
            context.insert("Person", last="Roe")
        context.validate()
        context.save()


def test_validation_detail_names_a_target_by_its_id(runs: Context) -> None:
    parent = runs.insert("Run", date=NOW, processID=1, note="no child")
    runs.insert("Run", date=NOW, processID=0, parent=parent)
    with pytest.raises(ValidationError) as caught:
        runs.save()
    assert {each.key: each.value for each in caught.value.details} == {"processID": 0, "parent": parent.id}


def test_contradictory_conditions_are_rejected() -> None:
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


def test_minimum_may_equal_the_maximum(tmp_path: Path) -> None:
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


def test_compact_conditions_are_validated(tmp_path: Path) -> None:
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


def test_localisation_of_an_entity_applies_to_its_subentities(tmp_path: Path) -> None:
    model = Model(
        {
            "Base": {"@abstract": True, "name": "string", "size": "int32", "mass": "int32", "tint": "int32"},
            "Child": {"@parent": "Base"},
            "Grandchild": {"@parent": "Child"},
            "Other": {"name": "string", "size": "int32", "mass": "int32"},
        }
    )
    model.localize(
        {
            "Entity/Base": "Grund",
            "Entity/Grandchild": "Enkel",
            "Property/name": "Name",
            "Property/size": "Größe",
            "Property/size/Entity/Base": "Umfang",
            "Property/mass/Entity/Base": "Gewicht",
            "Property/mass/Entity/Child": "Masse",
        }
    )
    model.freeze()
    names = ("name", "size", "mass", "tint")
    for entity, own, words in [
        ("Base", "Grund", ("Name", "Umfang", "Gewicht", "tint")),
        ("Child", "Child", ("Name", "Umfang", "Masse", "tint")),
        ("Grandchild", "Enkel", ("Name", "Umfang", "Masse", "tint")),
        ("Other", "Other", ("Name", "Größe", "mass")),
    ]:
        assert model[entity].localized_name == own
        assert tuple(map(model[entity].localized_property_name, names[: len(words)])) == words
    # Messages have these names, the facts of the error the model's own.
    with Container(model, tmp_path / "names.sqlite", unsaved="discard") as container:
        context = container.context()
        context.insert("Grandchild", name="x", size=1, tint=1)
        with pytest.raises(ValidationError, match=r"^Enkel\.Masse is required") as caught:
            context.save()
        assert (caught.value.entity, caught.value.key) == ("Grandchild", "mass")


def test_save_reports_all_failures_and_writes_nothing(tmp_path: Path) -> None:
    model = Model({"Thing": {"number": "int32 max 5", "word": "string min 2"}})
    with Container(model, tmp_path / "things.sqlite", unsaved="discard") as container:
        context = container.context()
        kept = context.insert("Thing", number=5, word="ab")
        context.save()
        kept.number = 4
        things = [
            context.insert("Thing", number=number, word=word) for number, word in [(6, "a"), (1, "abc"), (7, "ab")]
        ]
        with pytest.raises(ValidationError) as caught:
            context.save()
        error = caught.value
        assert error.code == CoreDataCode.VALIDATION_MULTIPLE_ERRORS
        assert sorted((each.object_uri, each.key, each.code, each.value) for each in error.details) == sorted(
            [
                (things[0].id.uri, "number", CoreDataCode.VALIDATION_NUMBER_TOO_LARGE, 6),
                (things[0].id.uri, "word", CoreDataCode.VALIDATION_STRING_TOO_SHORT, "a"),
                (things[2].id.uri, "number", CoreDataCode.VALIDATION_NUMBER_TOO_LARGE, 7),
            ]
        )
        assert [each.number for each in container.context().fetch("Thing")] == [5]
        assert kept.has_changes
        context.delete(things[0])
        context.delete(things[2])
        context.save()
        assert sorted(each.number for each in container.context().fetch("Thing")) == [1, 4]


@pytest.mark.parametrize("text", ["", "a", "é", "ab", "e\u0301", "😀", "abc", "a😀", "abcd", "😀😀", "ab\r\n"])
def test_string_lengths_count_utf16_code_units(tmp_path: Path, text: str) -> None:
    length = len(text.encode("utf-16-le")) // 2
    with Container(Model({"E": {"a": "string min 2 max 3"}}), tmp_path / "e.sqlite", unsaved="discard") as container:
        e = container.context().insert("E", a=text)
        if 2 <= length <= 3:
            e.validate_for_insert()
            return
        with pytest.raises(ValidationError) as caught:
            e.validate_for_insert()
        assert (caught.value.code, caught.value.value) == (1660 if length > 3 else 1670, text)


@pytest.mark.parametrize("kind", ["to-one", "to-many"])
def test_deny_rule_counts_remaining_members(tmp_path: Path, kind: str) -> None:
    model = Model({"A": {"b": f"{kind} B delete deny"}, "B": {}})
    with Container(model, tmp_path / "a.sqlite", unsaved="discard") as container:
        context = container.context()
        b = context.insert("B")
        a = context.insert("A", b=b if kind == "to-one" else [b])
        context.save()
        context.delete(a)
        with pytest.raises(ValidationError) as caught:
            context.save()
        error = caught.value
        assert (error.code, error.entity, error.key, error.object_uri) == (1600, "A", "b", a.id.uri)
        context.delete(b)
        context.save()
        assert context.count("A") == context.count("B") == 0


def test_update_validates_members_only_when_they_changed(tmp_path: Path) -> None:
    """A row may be older than the conditions, which are not part of a hash."""
    path = tmp_path / "owners.sqlite"
    owners: dict[str, Any] = {
        "Owner": {"name": "string?", "note": "string?", "items": "to-many Item inverse owner"},
        "Item": {"owner": "to-one Owner? inverse items"},
    }
    with Container(Model(owners), path) as container:
        context = container.context()
        context.insert("Owner", name="long name", items=[context.insert("Item"), context.insert("Item")])
        context.save()
    model = Model(owners)
    model["Owner"].change("items", validation={"@count < 2": "Two are too many"})
    with Container(model, path, unsaved="discard") as container:
        context = container.context()
        (owner,) = context.fetch("Owner")
        owner.note = "changed"
        context.validate()
        owner.items.add(context.insert("Item"))
        with pytest.raises(ValidationError, match=r"^Two are too many$") as caught:
            context.validate()
        assert (caught.value.code, caught.value.key) == (1550, "items")
    owners["Owner"]["name"] = "string? max 4"
    with Container(Model(owners), path, unsaved="discard") as container:
        context = container.context()
        context.fetch("Owner")[0].note = "changed"
        with pytest.raises(ValidationError) as caught:
            context.validate()
        assert (caught.value.code, caught.value.key) == (1660, "name")


def test_bounds_and_patterns_replace_former_ones() -> None:
    model = Model({"E": {"a": "int32? min 1 max 9", "b": "string? match [a-z]+"}})

    def conditions(name: str) -> list[tuple[str, int]]:
        return [(each["predicate"], each["code"]) for each in model["E"].describe(name).get("validation", [])]

    assert conditions("a") == [("SELF >= 1", 1620), ("SELF <= 9", 1610)]
    assert conditions("b") == [('SELF MATCHES "[a-z]+"', 1680)]
    model["E"].change("a", minimum=3)
    assert ("SELF >= 1", 1620) not in conditions("a")
    assert ("SELF >= 3", 1620) in conditions("a")
    model["E"].change("b", pattern="[0-9]+")
    assert conditions("b") == [('SELF MATCHES "[0-9]+"', 1680)]


@pytest.mark.parametrize("kind", ["double", "float"])
def test_nan_and_infinities_are_valid_only_with_the_flag(tmp_path: Path, kind: str) -> None:
    model = Model({"E": {"strict": f"{kind}?", "lax": f"{kind}? nan"}})
    with Container(model, tmp_path / "e.sqlite", unsaved="discard") as container:
        e = container.context().insert("E")
        for value in (float("nan"), float("inf"), float("-inf")):
            e.set(lax=value, strict=None)
            e.validate_for_insert()
            e.set(strict=value)
            with pytest.raises(ValidationError) as caught:
                e.validate_for_insert()
            assert (caught.value.code, caught.value.key, str(caught.value.value)) == (1550, "strict", str(value))
