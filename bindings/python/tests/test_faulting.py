"""Faulting: policies and numbers of single faults, missing rows, staleness, retained objects."""

from __future__ import annotations

import gc
import inspect
from collections.abc import Callable
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
    _abi,
    log,
)

OFFICE = {
    "Employee": {"name": "string", "age": "int32?", "department": "to-one Department? inverse employees"},
    "Department": {"name": "string", "employees": "to-many Employee inverse department delete cascade"},
}


@pytest.fixture
def fresh(tmp_path: Path) -> Any:
    """Three employees, each in a separate department that is not yet read."""
    with Container(Model(OFFICE), tmp_path / "a.sqlite") as container:
        context = container.context()
        for number in range(3):
            department = context.insert("Department", name=f"D{number}")
            context.insert("Employee", name=f"E{number}", department=department)
        context.save()
    with Container(Model(OFFICE), tmp_path / "a.sqlite") as container:
        yield container.context()


def test_faulting_options_have_defaults(fresh: Context) -> None:
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
    with pytest.raises(InvalidArgumentError, match='not "never"'):
        fresh.fault_policy = "never"
    with pytest.raises(InvalidArgumentError, match="1 to 65536"):
        fresh.fault_batch_size = 0


def test_single_faults_are_counted_per_source_line(fresh: Context) -> None:
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


def test_fault_policy_logs_or_rejects_single_faults(fresh: Context) -> None:
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
    with pytest.raises(UnsupportedError, match='prefetch "employees" in the fetch of Department') as raised:
        len(department.employees)
    assert (raised.value.entity, raised.value.key) == ("Department", "employees")
    fresh.reset()
    for department in fresh.fetch("Department", prefetch="employees"):
        assert len(department.employees) == 1


def test_single_fault_error_names_the_object_to_be_read(tmp_path: Path) -> None:
    """A related object, or the members of a relationship: then their owner is named."""
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
            assert f"{owner}.{name} needs a separate query" in text
            assert f'prefetch "{name}" in the fetch of {owner}' in text
            return text.partition(owner)[0] + (raised.value.object_uri or "").split("/")[3]

    for name in ("people", "order"):
        assert refused(name, lambda team, name=name: len(team[name])) == "reading the members of Team"
        for number, kind in ((0, "Person"), (1, "Boss"), (2, "Person")):
            found: dict[str, Any] = {}

            def load(team: Any, name: str = name, found: Any = found) -> None:
                found.update(enumerate(sorted(team[name], key=lambda person: int(person.id.uri.rpartition("p")[2]))))

            assert refused(name, lambda _, found=found, number=number: found[number].name, load) == (
                f"reading an object of {kind}"
            )
    assert refused("below", lambda team: len(team.below)) == "reading the members of Team"
    assert refused("above", lambda team: team.above.name) == "reading an object of Team"
    assert refused("lead", lambda team: team.lead.name) == "reading an object of Boss"
    assert refused("team", lambda person: person.team.name) == "reading an object of Team"


def lost(context: Context) -> Any:
    """The fault of an employee whose row another context deleted."""
    identity = context.first("Employee", sort="name").id
    other = context.container.context()
    other.delete(other.get(identity))
    other.save()
    context.reset()
    return context.get(identity)


def test_inaccessible_object_counts_as_deleted(fresh: Context) -> None:
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


def test_inaccessible_fault_handler_decides(fresh: Context) -> None:
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


def test_failed_fault_access_calls_the_handler_once(fresh: Context) -> None:
    fault = lost(fresh)
    asked: list[str | None] = []

    def refuse(item: Any, identity: Any, name: str | None) -> bool:
        asked.append(name)
        return False

    fresh.inaccessible_fault_handler = refuse
    reads: list[Callable[[], Any]] = [
        lambda: fault.name,
        lambda: fault.age,
        lambda: fault.department,
        lambda: fault.get("name", "age"),
    ]
    for read in reads:
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


def test_handler_may_reset_the_context(fresh: Context) -> None:
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
    with Container(Model(OFFICE), tmp_path / "a.sqlite") as foreign:
        context = foreign.context()
        context.first("Employee", "name == 'E0'").name = "X"
        context.save()
    other = fresh.container.context()
    assert other.get(identity).name == "E0"
    third = fresh.container.context()
    third.staleness_interval = 0
    assert third.get(identity).name == "X"


def test_retains_registered_objects_keeps_objects_alive(fresh: Context) -> None:
    list(fresh.fetch("Employee"))
    gc.collect()
    assert len(fresh.known) == 0
    fresh.retains_registered_objects = True
    list(fresh.fetch("Employee"))
    gc.collect()
    assert len(fresh.known) == 3
    fresh.user_info = {"window": 3}
    assert fresh.user_info["window"] == 3


def test_delete_rules_can_be_deferred_to_the_save(fresh: Context) -> None:
    fresh.propagates_deletes_at_end_of_event = False
    fresh.delete(fresh.first("Department"))
    fresh.process_pending_changes()
    assert fresh.count("Employee") == 3
    fresh.save()
    assert fresh.count("Employee") == 2


def test_destroyed_store_can_be_created_again(fresh: Context, tmp_path: Path) -> None:
    coordinator = fresh.container.coordinator
    (tmp_path / "text").write_text("mine")
    with pytest.raises(NotAStoreError):
        coordinator.destroy_store(tmp_path / "text")
    assert not coordinator.destroy_store(tmp_path / "none.sqlite")
    assert coordinator.destroy_store(tmp_path / "a.sqlite")
    with Container(Model(OFFICE), tmp_path / "a.sqlite") as again:
        assert again.context().count("Employee") == 0


# ---- bounds of options, and reports


@pytest.mark.parametrize(
    ("option", "accepted", "refused", "takes"),
    [
        (_abi.OPTION_FAULT_POLICY, [2, 0], [3, -1, 2**32], "CST_FAULT_BATCH, CST_FAULT_WARN or CST_FAULT_ERROR"),
        (_abi.OPTION_FAULT_BATCH_SIZE, [65536, 1], [65537, 0, -1], "1 to 65536"),
        (_abi.OPTION_COUNTS_SINGLE_FAULTS, [1, 0], [2, -1], "0 or 1"),
        (_abi.OPTION_RETAINS_REGISTERED_OBJECTS, [1, 0], [2, -1], "0 or 1"),
        (_abi.OPTION_DELETES_INACCESSIBLE_FAULTS, [1, 0], [2, -1], "0 or 1"),
        (_abi.OPTION_DELETES_AT_END_OF_EVENT, [1, 0], [2, -1], "0 or 1"),
        (_abi.OPTION_MERGES_BATCHES, [1, 0], [2, -1], "0 or 1"),
    ],
)
def test_option_accepts_its_bounds_and_rejects_values_beyond(
    fresh: Context, option: int, accepted: list[int], refused: list[int], takes: str
) -> None:
    for value in accepted:
        fresh._set_option(option, value)
        assert fresh._option(option) == value
    for value in refused:
        with pytest.raises(InvalidArgumentError, match=takes) as caught:
            fresh._set_option(option, value)
        assert caught.value.value == value
        assert fresh._option(option) == accepted[-1]


def test_merges_batches_is_on_by_default(fresh: Context) -> None:
    assert fresh.merges_batches
    assert fresh._option(_abi.OPTION_MERGES_BATCHES) == 1
    fresh.merges_batches = False
    assert fresh._option(_abi.OPTION_MERGES_BATCHES) == 0


def read_members(departments: Any) -> None:
    for department in departments:
        len(department.employees)


def test_single_fault_report_is_sorted_by_count(fresh: Context) -> None:
    employees = list(fresh.fetch("Employee", sort="name"))
    fresh.counts_single_faults = True
    departments = [employee.department for employee in employees]
    names = [department.name for department in departments[:1]]
    names += [department.name for department in departments[1:]]
    read_members(departments)
    found = [(each.entity, each.relationship, each.count) for each in fresh.single_faults]
    assert found == [
        ("Department", "employees", 3), ("Employee", "department", 2), ("Employee", "department", 1)
    ]  # fmt: skip
    lines = [each.line for each in fresh.single_faults]
    assert (lines[1] or 0) - (lines[2] or 0) == 1
    assert fresh.single_fault_report.splitlines() == [
        f"{entity}.{relationship}: {count} single fault{'s' if count > 1 else ''}, {__file__}:{line}"
        for (entity, relationship, count), line in zip(found, lines)
    ]


def test_faults_filled_from_the_row_cache_are_not_single_faults(fresh: Context) -> None:
    keeper = fresh.container.context()
    held = list(keeper.fetch("Department"))
    kept = {department.name for department in held}
    fresh.counts_single_faults = True
    for employee in fresh.fetch("Employee"):
        assert employee.department.name in kept
    assert fresh.single_faults == []


def test_single_fault_warning_appears_once_per_relationship_and_line(fresh: Context) -> None:
    with log.recorded(0) as lines:
        fresh.fault_policy = "warn"
        employees = list(fresh.fetch("Employee", sort="name"))
        departments = [employee.department for employee in employees]
        assert departments[0].name == "D0"
        assert [department.name for department in departments[1:]] == ["D1", "D2"]
        read_members(departments)
        fresh.reset()
        read_members(fresh.fetch("Department"))
    frame = inspect.currentframe()
    assert frame is not None
    first = frame.f_code.co_firstlineno + 5
    members = read_members.__code__.co_firstlineno + 2
    advice = "CoreData: fault: {0}.{1} fired a single fault (" + __file__ + ':{2}); prefetch "{1}" in the fetch of {0}'
    advice += " with cst_fetch_request_set_prefetch (prefetch, relationshipKeyPathsForPrefetching)"
    assert lines == [
        advice.format("Employee", "department", first),
        advice.format("Employee", "department", first + 1),
        advice.format("Department", "employees", members),
    ]
    assert fresh.single_fault_report == "", "the fault policy alone does not count faults"


def test_rejected_fault_stays_a_fault_and_the_error_suggests_prefetch(fresh: Context) -> None:
    fresh.fault_policy = "error"
    department = fresh.first("Employee", sort="name").department
    for _ in range(2):
        with pytest.raises(UnsupportedError, match='prefetch "department" in the fetch of Employee') as caught:
            _ = department.name
        assert (caught.value.entity, caught.value.key) == ("Employee", "department")
        assert caught.value.object_uri == department.id.uri
        assert department.is_fault
    fresh.fault_policy = "batch"
    assert department.name == "D0"
    assert not department.is_fault


def test_explicit_and_internal_reads_are_exempt_from_the_fault_policy(fresh: Context) -> None:
    identities = [department.id for department in fresh.fetch("Department", sort="name")]
    fresh.reset()
    fresh.fault_policy = "error"
    assert [fresh.get(identity).name for identity in identities] == ["D0", "D1", "D2"]
    fresh.reset()
    # The delete rule reads the members, whom a getter may not read; the save validates and writes.
    department = fresh.get(identities[0])
    with pytest.raises(UnsupportedError):
        len(department.employees)
    fresh.delete(department)
    fresh.get(identities[1]).name = "new"
    fresh.process_pending_changes()
    assert len(fresh.deleted) == 2
    fresh.save()
    assert fresh.count("Employee") == 2


def test_cached_row_is_used_within_the_staleness_interval(fresh: Context, tmp_path: Path) -> None:
    held = fresh.first("Employee", "name == 'E0'")
    assert held.name == "E0"
    with Container(Model(OFFICE), tmp_path / "a.sqlite") as foreign:
        context = foreign.context()
        context.first("Employee", "name == 'E0'").name = "X"
        context.save()
    for interval, name in [(None, "E0"), (3600, "E0"), (0, "X")]:
        other = fresh.container.context()
        other.staleness_interval = interval
        assert other.get(held.id).name == name, interval
    # What was read stays as it was.
    fresh.staleness_interval = 0
    assert held.name == "E0"
    fresh.refresh(held)
    assert held.name == "X"


@pytest.mark.parametrize("end", ["save", "rollback", "refresh"])
def test_inaccessible_object_becomes_a_fault_after_rollback(fresh: Context, end: str) -> None:
    fault = lost(fresh)
    with log.recorded(0) as lines:
        assert fault.name is None
        assert fault.age is None
    assert len(lines) == 1, "logged once per object, not per value"
    assert lines[0].startswith("CoreData: fault: ")
    assert fault.id.uri in lines[0]
    assert (fault.is_deleted, fault.is_fault, fresh.has_changes) == (True, False, True)
    with pytest.raises(ObjectGoneError) as caught:
        fault.name = "x"
    assert (caught.value.code, caught.value.entity, caught.value.object_uri) == (133000, "Employee", fault.id.uri)
    if end == "save":
        fresh.save()
    elif end == "rollback":
        fresh.rollback()
    else:
        fresh.refresh(fault)
    assert (fault.is_deleted, fault.is_fault, list(fresh.deleted)) == (False, True, [])
    assert not fresh.has_changes


def test_handler_replaces_option_and_log_line(fresh: Context) -> None:
    fault = lost(fresh)
    asked: list[str | None] = []

    def refuse(item: Any, identity: Any, name: str | None) -> bool:
        asked.append(name)
        with pytest.raises(ObjectGoneError) as caught:
            _ = item.age
        assert caught.value.code == 133000
        return False

    fresh.inaccessible_fault_handler = refuse
    with log.recorded(0) as lines, pytest.raises(ObjectGoneError) as caught:
        _ = fault.department
    assert (set(asked), lines) == ({"department"}, [])
    assert (caught.value.code, caught.value.entity, caught.value.object_uri) == (133000, "Employee", fault.id.uri)
    assert fault.is_fault
    assert fresh.registered(fault.id) is fault


@pytest.mark.parametrize(("size", "queries"), [(1, 6), (2, 3), (3, 2), (5, 2), (6, 1), (256, 1)])
def test_fault_fills_one_batch_of_siblings(tmp_path: Path, size: int, queries: int) -> None:
    with Container(Model(OFFICE), tmp_path / "b.sqlite") as container:
        context = container.context()
        department = context.insert("Department", name="D")
        for number in range(6):
            context.insert("Employee", name=f"E{number}", department=department)
        context.save()
        identity = department.id.uri
    with Container(Model(OFFICE), tmp_path / "b.sqlite") as container:
        context = container.context()
        context.fault_batch_size = size
        members = list(context.get(identity).employees)
        with log.recorded() as lines:
            assert sorted(member.name for member in members) == [f"E{number}" for number in range(6)]
        assert sum(line.startswith("CoreData: sql: SELECT") for line in lines) == queries
