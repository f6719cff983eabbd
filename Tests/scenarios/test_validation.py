"""Validation: the model's conditions, the checks of classes, delete rules that deny."""

from __future__ import annotations

from typing import Any, Callable

import pytest
from corestone import Container, CorestoneError, ManagedObject, Model, ValidationError

Opened = Callable[..., Container]


class Employee(ManagedObject, entity="Employee"):
    name: Any
    salary: Any
    department: Any

    def validate_salary(self, salary: Any) -> None:
        if salary is not None and salary > 1_000_000:
            raise CorestoneError("Nobody earns that much.", domain="D", code=4242)


class Reject(ManagedObject, entity="Reject"):
    def validate_for_insert(self) -> None:
        super().validate_for_insert()
        raise CorestoneError("rejected", domain="R", code=7)


def company() -> Model:
    model = Model(
        {
            "Employee": {"department": "to-one Department? inverse employees"},
            "Department": {
                "name": "string?",
                "employees": "to-many Employee inverse department delete deny max 2",
            },
        }
    )
    employee = model["Employee"]
    employee.attribute("name", "string", validation={"length >= 2": "Name is too short."})
    employee.attribute("salary", "int32", optional=True, validation={"SELF >= 0": "Salary may not be negative."})
    return model.bind(Employee)


@pytest.fixture
def ctx(opened: Opened) -> Any:
    return opened(company()).context()


def department_with_alice(ctx: Any) -> Any:
    department = ctx.insert("Department", name="R&D")
    ctx.insert("Employee", name="Alice", department=department)
    ctx.save()
    return department


def test_s132_validation_failure_names_predicate_and_value(ctx: Any) -> None:
    employee = ctx.insert("Employee", name="A")
    with pytest.raises(ValidationError) as failure:
        employee.validate_for_insert()
    error = failure.value
    assert (error.code, error.key, error.value) == (1550, "name", "A")
    assert error.predicate == "length >= 2"
    assert error.message == "Name is too short."
    assert (error.entity, error.object_uri) == ("Employee", employee.id.uri)


def test_s135_validation_hook_of_a_key_is_called(ctx: Any) -> None:
    employee = ctx.insert("Employee", name="Alice", salary=2_000_000)
    for check in (employee.validate_for_insert, ctx.save):
        with pytest.raises(ValidationError) as failure:
            check()
        error = failure.value
        assert (error.domain, error.code) == ("D", 4242)
        assert (error.entity, error.key, error.value) == ("Employee", "salary", 2_000_000)


def test_s138_deny_ignores_objects_deleted_together(ctx: Any) -> None:
    department = department_with_alice(ctx)
    ctx.delete(department)
    with pytest.raises(ValidationError) as failure:
        department.validate_for_delete()
    assert failure.value.code == 1600
    ctx.delete(ctx.first("Employee"))
    department.validate_for_delete()


def test_s140_denied_deletion_fails_the_save(ctx: Any) -> None:
    department = department_with_alice(ctx)
    ctx.delete(department)
    with pytest.raises(ValidationError) as failure:
        ctx.save()
    assert failure.value.code == 1600


def test_s143_default_does_not_replace_an_explicit_none(opened: Opened) -> None:
    model = Model({"PEntity": {"name": "string?", "counter": "int32 = 7", "score": "double?"}})
    ctx = opened(model).context()
    item = ctx.insert("PEntity")
    ctx.save()
    item.counter = None
    with pytest.raises(ValidationError) as failure:
        ctx.save()
    assert (failure.value.domain, failure.value.code) == ("NSCocoaErrorDomain", 1570)


def test_s146_object_validation_hook_fails_the_save(opened: Opened) -> None:
    with opened(Model({"Reject": {"name": "string?"}}).bind(Reject)) as container:
        ctx = container.context()
        ctx.insert("Reject")
        with pytest.raises(ValidationError) as failure:
            ctx.save()
        assert (failure.value.domain, failure.value.code, failure.value.message) == ("R", 7, "rejected")
