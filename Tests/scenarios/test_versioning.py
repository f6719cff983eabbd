"""Version hashes, and which model a store opens with."""

from __future__ import annotations

import plistlib
from pathlib import Path
from typing import Any

import corestone
import pytest
from corestone import Model, ModelMismatchError

DEPARTMENT = {"name": "string?", "employees": "to-many Employee inverse department"}
FIRST: dict[str, dict[str, Any]] = {
    "Employee": {
        "name": "string?",
        "salary": "int32?",
        "hireDate": "date?",
        "department": "to-one Department? inverse employees",
    },
    "Department": DEPARTMENT,
}
SECOND: dict[str, dict[str, Any]] = {
    "Employee": {
        "name": "string?",
        "salary": "int32?",
        "title": "string?",
        "department": "to-one Department? inverse employees",
    },
    "Department": DEPARTMENT,
}
PEOPLE: dict[str, dict[str, Any]] = {
    "Person": {"name": "string?"},
    "Manager": {"@parent": "Person", "reports": "int32?"},
}


def test_s322_change_of_one_entity_keeps_the_hashes_of_others() -> None:
    first, second = Model(FIRST), Model(SECOND)
    assert first["Employee"].version_hash != second["Employee"].version_hash
    assert first["Department"].version_hash == second["Department"].version_hash


def test_s325_version_identifiers_do_not_affect_hashes() -> None:
    model = Model(FIRST)
    assert model.describe()["versionIdentifiers"] == []
    plain = model.copy()["Employee"].version_hash
    model.version_identifier("2")
    assert model.describe()["versionIdentifiers"] == ["2"]
    assert model["Employee"].version_hash == plain


@pytest.mark.needs_sqlite("no other store carries the model that tells which property differs")
def test_s329_store_of_another_version_cannot_be_opened(opened: Any) -> None:
    container = opened(Model(FIRST))
    context = container.context()
    context.insert("Employee", name="Ada")
    context.save()
    container.close()
    with pytest.raises(ModelMismatchError) as failure:
        opened(Model(SECOND), migrate=False)
    assert failure.value.code == 134100
    assert "Employee.hireDate is in the store only" in str(failure.value)


@pytest.mark.needs_file("it reads the metadata of a file")
def test_s332_model_compatibility_is_decided_by_store_metadata(opened: Any, place: str, host_type: str | None) -> None:
    opened(Model(FIRST)).close()
    known: Any = Path(place) if host_type is None else plistlib.dumps(corestone.metadata(place, type=host_type))
    assert Model(FIRST).is_compatible(known)
    assert not Model(SECOND).is_compatible(known)
    assert not Model(FIRST).is_compatible(plistlib.dumps({}))


@pytest.mark.needs_file("it opens a file with another model")
def test_s335_changed_subentity_changes_only_its_own_hash(opened: Any) -> None:
    changed = {**PEOPLE, "Manager": {**PEOPLE["Manager"], "budget": "int32?"}}
    first, second = Model(PEOPLE), Model(changed)
    assert first["Person"].version_hash == second["Person"].version_hash
    assert first["Manager"].version_hash != second["Manager"].version_hash
    opened(Model(PEOPLE)).close()
    opened(Model(PEOPLE)).close()
    with pytest.raises(ModelMismatchError) as failure:
        opened(Model(changed), migrate=False)
    assert failure.value.code == 134100


@pytest.mark.needs_file("it opens a file with another model")
def test_s330_store_of_another_version_opens_without_the_check(opened: Any) -> None:
    """Also where the file lacks an attribute of the model, which then has no values."""
    with opened(Model(FIRST)) as container:
        context = container.context()
        context.insert("Employee", name="Ada", salary=3)
        context.save()
    container = opened(Model(SECOND), ignore_versioning=True)
    employee = container.context().first("Employee")
    assert (employee.name, employee.salary, employee.title) == ("Ada", 3, None)
