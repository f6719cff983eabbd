"""Faulting: policies and numbers of single faults, rows that are not there, age of rows, what a context keeps."""

from __future__ import annotations

import gc
import inspect
from pathlib import Path
from typing import Any

import pytest

from corestone import (
    CallbackError,
    Container,
    Context,
    InvalidArgumentError,
    Model,
    NotAStoreError,
    ObjectGoneError,
    SingleFaults,
    UnsupportedError,
    log,
)

COMPANY = {
    "Employee": {"name": "string", "age": "int32?", "department": "to-one Department? inverse employees"},
    "Department": {"name": "string", "employees": "to-many Employee inverse department delete cascade"},
}


@pytest.fixture
def fresh(tmp_path: Path) -> Any:
    """Three employees, each in a department of its own, of which nothing was read yet."""
    with Container(Model(COMPANY), tmp_path / "a.sqlite") as container:
        context = container.context()
        for number in range(3):
            department = context.insert("Department", name=f"D{number}")
            context.insert("Employee", name=f"E{number}", department=department)
        context.save()
    with Container(Model(COMPANY), tmp_path / "a.sqlite") as container:
        yield container.context()


def test_options(fresh: Context) -> None:
    assert fresh.fault_policy == "batch"
    assert fresh.fault_batch_size == 256
    assert fresh.staleness_interval is None
    assert not fresh.counts_single_faults
    assert not fresh.retains_registered_objects
    assert fresh.should_delete_inaccessible_faults
    assert fresh.propagates_deletes_at_end_of_event
    fresh.fault_policy, fresh.fault_batch_size, fresh.staleness_interval = "warn", 7, 1.5
    assert (fresh.fault_policy, fresh.fault_batch_size, fresh.staleness_interval) == ("warn", 7, 1.5)
    fresh.staleness_interval = None
    assert fresh.staleness_interval is None
    with pytest.raises(InvalidArgumentError, match="not 'never'"):
        fresh.fault_policy = "never"
    with pytest.raises(InvalidArgumentError, match="1 to 65536"):
        fresh.fault_batch_size = 0


def test_single_faults_are_counted_by_line(fresh: Context) -> None:
    employees = list(fresh.fetch("Employee"))
    fresh.counts_single_faults = True
    assert fresh.single_faults == []
    frame = inspect.currentframe()
    assert frame is not None
    line = frame.f_lineno + 2
    for employee in employees:
        assert employee.department.name.startswith("D")
    assert fresh.single_faults == [SingleFaults("Employee", "department", 3, __file__, line)]
    assert fresh.single_fault_report == f"Employee.department: 3 single faults, {__file__}:{line}\n"
    fresh.counts_single_faults = True
    assert fresh.single_fault_report == ""


def test_a_policy_tells_or_forbids(fresh: Context) -> None:
    lines: list[str] = []
    log.set_callback(lines.append)
    try:
        fresh.fault_policy = "warn"
        for department in fresh.fetch("Department"):
            assert len(department.employees) == 1
    finally:
        log.set_callback(None)
    assert len(lines) == 1
    assert "Department.employees" in lines[0]
    assert "test_faulting.py:" in lines[0]
    fresh.reset()
    fresh.fault_policy = "error"
    department = fresh.first("Department")
    with pytest.raises(UnsupportedError, match='prefetch "employees" where Department is fetched') as raised:
        len(department.employees)
    assert (raised.value.entity, raised.value.key) == ("Department", "employees")
    fresh.reset()
    for department in fresh.fetch("Department", prefetch="employees"):
        assert len(department.employees) == 1


def test_the_error_of_a_single_fault_says_what_would_be_read(tmp_path: Path) -> None:
    """An object that a relationship leads to, or the members of one: then the object that has them is named."""
    model = {
        "Person": {"name": "string", "team": "to-one Team? inverse people"},
        "Boss": {"@parent": "Person"},
        "Team": {
            "name": "string",
            "people": "to-many Person inverse team",
            "order": "to-many ordered Person",
            "lead": "to-one Boss?",
            "above": "to-one Team? inverse below",
            "below": "to-many Team inverse above",
        },
    }
    with Container(Model(model), tmp_path / "a.sqlite") as container:
        context = container.context()
        people = [context.insert("Boss" if number == 1 else "Person", name=f"P{number}") for number in range(3)]
        above = context.insert("Team", name="above")
        context.insert("Team", name="T", people=people, order=people, lead=people[1], above=above)
        context.save()

    def refused(name: str, read: Any, prepare: Any = lambda team: None) -> str:
        with Container(Model(model), tmp_path / "a.sqlite") as container:
            context = container.context()
            # What leads to an object is noted only while single faults count.
            context.counts_single_faults, context.fault_batch_size = True, 1
            start = context.first("Team" if name != "team" else "Person", "name IN {'T', 'P1'}")
            prepare(start)
            context.fault_policy = "error"
            with pytest.raises(UnsupportedError) as raised:
                read(start)
            owner = "Person" if name == "team" else "Team"
            assert (raised.value.entity, raised.value.key) == (owner, name)
            text = str(raised.value)
            assert f"{owner}.{name} would cost a query of its own" in text
            assert f'prefetch "{name}" where {owner} is fetched' in text
            return text.partition(owner)[0] + (raised.value.object_uri or "").split("/")[3]

    for name in ("people", "order"):
        assert refused(name, lambda team, name=name: len(team[name])) == "the members of Team"
        for number, kind in ((0, "Person"), (1, "Boss"), (2, "Person")):
            found: dict[str, Any] = {}

            def load(team: Any, name: str = name, found: Any = found) -> None:
                found.update(enumerate(sorted(team[name], key=lambda person: int(person.id.uri.rpartition("p")[2]))))

            assert refused(name, lambda _, found=found, number=number: found[number].name, load) == (
                f"an object behind {kind}"
            )
    assert refused("below", lambda team: len(team.below)) == "the members of Team"
    assert refused("above", lambda team: team.above.name) == "an object behind Team"
    assert refused("lead", lambda team: team.lead.name) == "an object behind Boss"
    assert refused("team", lambda person: person.team.name) == "an object behind Team"


def lost(context: Context) -> Any:
    """The fault of an employee whose row another context deleted."""
    identity = context.first("Employee", sort="name").id
    other = context.container.context()
    other.delete(other.get(identity))
    other.save()
    context.reset()
    return context.get(identity)


def test_an_inaccessible_object_counts_as_deleted(fresh: Context) -> None:
    fault = lost(fresh)
    fresh.should_delete_inaccessible_faults = False
    with pytest.raises(ObjectGoneError) as raised:
        _ = fault.name
    assert raised.value.code == 133000
    fresh.should_delete_inaccessible_faults = True
    assert fault.name is None
    assert fault.age is None
    assert fault.department is None
    assert fault.is_deleted
    assert list(fresh.deleted) == [fault]
    assert fresh.has_changes
    assert not fresh.has_persistent_changes
    with pytest.raises(ObjectGoneError):
        fault.name = "x"
    fresh.save()
    assert not fresh.has_changes


def test_a_handler_decides(fresh: Context) -> None:
    fault = lost(fresh)
    asked: list[Any] = []
    answer: list[Any] = [False]

    def decide(item: Any, identity: Any, name: str | None) -> bool:
        asked.append((item, identity, name))
        if isinstance(answer[0], BaseException):
            raise answer[0]
        return bool(answer[0])

    fresh.inaccessible_fault_handler = decide
    with pytest.raises(ObjectGoneError):
        fresh.existing(fault.id)
    assert asked == []
    with pytest.raises(ObjectGoneError):
        _ = fault.name
    assert asked[0] == (fault, fault.id, "name")
    answer[0] = KeyError("no idea")
    with pytest.raises(CallbackError) as raised:
        _ = fault.name
    assert raised.value.__cause__ is answer[0]
    answer[0] = True
    assert fault.name is None
    assert fault.is_deleted
    fresh.inaccessible_fault_handler = None
    fresh.rollback()
    assert not fault.is_deleted
    assert fault.name is None


def test_a_call_that_fails_is_made_once(fresh: Context) -> None:
    fault = lost(fresh)
    asked: list[str | None] = []

    def refuse(item: Any, identity: Any, name: str | None) -> bool:
        asked.append(name)
        return False

    fresh.inaccessible_fault_handler = refuse
    for read in (lambda: fault.name, lambda: fault.age, lambda: fault.department, lambda: fault.get("name", "age")):
        asked.clear()
        with pytest.raises(ObjectGoneError):
            read()
        assert len(asked) == 1
    fresh.reset()
    fresh.counts_single_faults = True
    fresh.fault_policy = "error"
    employee = next(iter(fresh.fetch("Employee")))
    with pytest.raises(UnsupportedError, match="prefetch"):
        _ = employee.department.name
    assert [(each.relationship, each.count) for each in fresh.single_faults] == [("department", 1)]


def test_a_handler_may_reset(fresh: Context) -> None:
    fault = lost(fresh)

    def reset(item: Any, identity: Any, name: str | None) -> bool:
        fresh.save()
        fresh.reset()
        return True

    fresh.inaccessible_fault_handler = reset
    with pytest.raises(ObjectGoneError):
        _ = fault.name
    assert len(list(fresh.fetch("Employee"))) == 2


# ---- age, and what a context keeps


def test_stale_rows_are_read_again(fresh: Context, tmp_path: Path) -> None:
    identity = fresh.first("Employee", "name == 'E0'").id
    with Container(Model(COMPANY), tmp_path / "a.sqlite") as foreign:
        context = foreign.context()
        context.first("Employee", "name == 'E0'").name = "X"
        context.save()
    other = fresh.container.context()
    assert other.get(identity).name == "E0"
    third = fresh.container.context()
    third.staleness_interval = 0
    assert third.get(identity).name == "X"


def test_objects_are_kept_on_demand(fresh: Context) -> None:
    list(fresh.fetch("Employee"))
    gc.collect()
    assert len(fresh.known) == 0
    fresh.retains_registered_objects = True
    list(fresh.fetch("Employee"))
    gc.collect()
    assert len(fresh.known) == 3
    fresh.user_info = {"window": 3}
    assert fresh.user_info["window"] == 3


def test_delete_rules_wait_for_the_save(fresh: Context) -> None:
    fresh.propagates_deletes_at_end_of_event = False
    fresh.delete(fresh.first("Department"))
    fresh.process_pending_changes()
    assert fresh.count("Employee") == 3
    fresh.save()
    assert fresh.count("Employee") == 2


def test_a_store_is_destroyed(fresh: Context, tmp_path: Path) -> None:
    coordinator = fresh.container.coordinator
    (tmp_path / "text").write_text("mine")
    with pytest.raises(NotAStoreError):
        coordinator.destroy_store(tmp_path / "text")
    assert not coordinator.destroy_store(tmp_path / "none.sqlite")
    assert coordinator.destroy_store(tmp_path / "a.sqlite")
    with Container(Model(COMPANY), tmp_path / "a.sqlite") as again:
        assert again.context().count("Employee") == 0
