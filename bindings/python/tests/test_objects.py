"""Objects: attributes, key paths, state, and how they look."""

from __future__ import annotations

import copy
import itertools
import pickle
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from corestone import (
    Container,
    Context,
    CorestoneError,
    Expression,
    InvalidArgumentError,
    InvalidHandleError,
    ManagedObject,
    Model,
    ModelError,
    ObjectGoneError,
    Operator,
    Predicate,
    PredicateError,
    TypeMismatchError,
    ValidationError,
    log,
    set_value_for_key_path,
)
from corestone.object import context_of, object_id, state


def test_attributes_and_relationships_can_be_read_and_set(staff: Context) -> None:
    ada = staff.first("Employee", "name == %@", "Ada")
    assert (ada.name, ada.age, ada.department.name, ada.manager.name) == ("Ada", 36, "R&D", "Grace")
    ada.department = None
    assert ada.department is None
    sales = staff.first("Department", "name == 'Sales'")
    ada.department = sales
    assert ada in sales.employees
    assert ada.department is sales


def test_probes_for_protocols_do_not_search_for_similar_names(staff: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    ada = staff.first("Employee", "name == 'Ada'")
    searched: list[str] = []

    def nearest(name: str, known: object) -> str:
        searched.append(name)
        return ""

    monkeypatch.setattr("corestone.graph.object.nearest", nearest)
    assert not hasattr(ada, "__array__")
    assert staff.count("Employee", "SELF == %@", ada) == 1
    assert staff.first("Employee", Predicate.comparison(Expression.evaluated_object(), Operator.EQUAL, ada)) is ada
    assert searched == []
    assert not hasattr(ada, "_name")
    assert searched == ["_name"]


def test_misspelt_property_error_suggests_the_name(staff: Context) -> None:
    ada = staff.first("Employee", "name == 'Ada'")
    with pytest.raises(AttributeError, match=r'Employee does not have a property "nmae"; did you mean "name"\?'):
        _ = ada.nmae
    with pytest.raises(AttributeError, match=r'Employee does not have a property "salry"; did you mean "salary"\?'):
        ada.salry = 7
    with pytest.raises(ModelError, match='did you mean "salary"'):
        staff.insert("Employee", name="X", salry=7)
    with pytest.raises(ModelError, match='does not have an entity "Employe"; did you mean "Employee"'):
        staff.insert("Employe")
    with pytest.raises(AttributeError):
        ada.is_fault = True


def test_insert_is_all_or_nothing(staff: Context) -> None:
    before = staff.count("Employee")
    with pytest.raises(TypeMismatchError):
        staff.insert("Employee", name="X", age="old")
    with pytest.raises(TypeMismatchError):
        staff.insert("Employee", name="X", projects=[7])
    assert staff.count("Employee") == before
    assert not staff.has_changes


def test_dir_lists_the_properties(staff: Context) -> None:
    ada = staff.first("Employee", "name == 'Ada'")
    assert {"name", "department", "tasks", "id", "is_fault"} <= set(dir(ada))


def test_key_paths_can_be_read_and_set(staff: Context) -> None:
    ada = staff.first("Employee", "name == 'Ada'")
    assert ada["name"] == "Ada"
    assert ada["department.name"] == "R&D"
    assert ada["manager.department.name"] == "R&D"
    assert ada["tasks.@count"] == 3
    assert [task.title for task in ada["tasks"]] == ["think", "write", "prove"]
    ada["department.name"] = "Research"
    assert ada.department.name == "Research"
    ada["notes"] = "Countess"
    assert ada.notes == "Countess"


def test_several_values_can_be_read_and_set_at_once(staff: Context) -> None:
    ada = staff.first("Employee", "name == 'Ada'")
    assert ada.get("name", "age", "department") == ("Ada", 36, ada.department)
    ada.set(notes="Countess", age=37, projects=[])
    assert (ada.notes, ada.age, len(ada.projects)) == ("Countess", 37, 0)
    with pytest.raises(TypeMismatchError):
        ada.set(age=38, notes=7)
    assert ada.age == 37
    assert ada.to_dict("name", "age") == {"name": "Ada", "age": 37}
    whole = ada.to_dict()
    assert "department" not in whole
    assert whole["notes"] == "Countess"
    assert [task.title for task in ada.to_dict("tasks")["tasks"]] == ["think", "write", "prove"]


def test_object_reports_its_state(staff: Context) -> None:
    person = staff.insert("Employee", name="New")
    assert person.is_inserted
    assert person.has_changes
    assert person.id.is_temporary
    staff.save()
    assert not person.is_inserted
    assert not person.id.is_temporary
    assert not person.has_changes
    person.age = 40
    assert person.is_updated
    assert person.is_changed("age")
    assert not person.is_changed("name")
    assert person.committed_value("age") is None
    staff.delete(person)
    assert person.is_deleted
    staff.save()
    assert staff.count("Employee", "name == 'New'") == 0


def test_committed_value_of_a_to_one_is_an_object_id(staff: Context) -> None:
    ada = staff.first("Employee", "name == 'Ada'")
    research = ada.department
    ada.department = None
    assert ada.committed_value("department") == research.id


def test_identity_survives_saving(staff: Context) -> None:
    person = staff.insert("Employee", name="New")
    kept = {person: 1}
    token = hash(person)
    staff.save()
    again = staff.first("Employee", "name == 'New'")
    assert again is person
    assert kept[again] == 1
    assert hash(again) == token
    assert person != staff.first("Employee", "name == 'Ada'")
    assert person != 7


def test_object_ids_are_hashable_and_comparable(staff: Context) -> None:
    ada = staff.first("Employee", "name == 'Ada'")
    first, second = ada.id, ada.id
    assert first == second
    assert hash(first) == hash(second)
    assert first != staff.first("Department").id
    assert first != "x"
    assert first.uri.startswith("x-coredata://")
    assert "/Employee/p" in first.uri
    assert str(first) == first.uri
    assert first.entity_name == "Employee"
    assert staff.get(first) is ada
    assert staff.get(first.uri) is ada
    assert staff.existing(first.uri) is ada
    assert staff.registered(first) is ada
    assert copy.copy(first) is first
    with pytest.raises(TypeError, match=f"cannot pickle the object ID {re.escape(first.uri)}, .*; pickle its uri"):
        pickle.dumps(first)
    with pytest.raises(TypeError, match="cannot be created"):
        type(first)()


def test_each_context_has_its_own_object(staff: Context) -> None:
    ada = staff.first("Employee", "name == 'Ada'")
    other = staff.container.context()
    theirs = other.get(ada.id)
    assert theirs.name == "Ada"
    assert theirs is not ada
    assert theirs != ada
    assert theirs.id == ada.id
    assert other.registered(staff.first("Department").id) is None


def test_setting_a_key_path_through_none_names_the_relationship(staff: Context) -> None:
    ada = staff.insert("Employee", name="Ada")
    words = 'cannot set "manager.name" of Employee: Employee.manager is None; set it first'
    with pytest.raises(PredicateError, match=re.escape(words)) as caught:
        set_value_for_key_path(ada, "manager.name", "Grace")
    error = caught.value
    assert (error.entity, error.key, error.object_uri) == ("Employee", "manager", ada.id.uri)


def test_copying_an_object_returns_the_object(staff: Context) -> None:
    ada = staff.first("Employee", "name == 'Ada'")
    assert copy.copy(ada) is ada
    assert copy.deepcopy([ada])[0] is ada
    with pytest.raises(TypeError, match=r"to_dict\(\)"):
        pickle.dumps(ada)


def test_object_repr_shows_id_and_loaded_values(staff: Context) -> None:
    ada = staff.first("Employee", "name == 'Ada'")
    assert ada.name == "Ada"
    shown = repr(ada)
    assert shown.startswith("<Employee p")
    assert "name='Ada'" in shown
    new = staff.insert("Employee", name="N" * 500)
    assert repr(new).startswith("<Employee new name='NNN")
    assert len(repr(new)) < 300


def test_repr_does_not_fire_a_fault(staff: Context) -> None:
    uri = staff.first("Employee", "name == 'Ada'").id.uri
    other = staff.container.context()
    ada = other.get(uri)
    assert ada.is_fault
    assert "(fault)" in repr(ada)
    assert ada.is_fault
    assert ada.name == "Ada"
    assert not ada.is_fault


def test_invalidated_objects_reject_access(staff: Context) -> None:
    ada = staff.first("Employee", "name == 'Ada'")
    staff.reset()
    with pytest.raises(ObjectGoneError):
        _ = ada.name
    with pytest.raises(ObjectGoneError):
        ada.name = "x"
    assert repr(ada).startswith("<Employee (")
    boris = staff.first("Employee", "name == 'Boris'")
    staff.close()
    with pytest.raises((ObjectGoneError, InvalidHandleError)):
        _ = boris.name
    assert repr(boris).startswith("<Employee (")


def test_each_entity_has_its_own_class(staff: Context) -> None:
    grace = staff.first("Manager")
    assert type(grace).__name__ == "Manager"
    assert grace.entity_name == "Manager"
    found = {type(person).__name__ for person in staff.fetch("Employee")}
    assert found == {"Employee", "Manager"}
    assert isinstance(grace, staff.model["Employee"].object_class)
    assert type(staff.first("Employee", "name == 'Ada'").manager) is type(grace)
    assert staff.fetch(type(grace))[0] is grace
    assert staff.fetch(staff.model["Manager"])[0] is grace


def test_property_may_shadow_a_method(ctx: Context) -> None:
    model = Model({"Thing": {"id": "int = 7", "context": "string?", "get": "string?", "is_fault": "bool = true"}})
    with Container(model, f"{ctx.container.path}.things") as container:
        things = container.context()
        thing: Any = things.insert("Thing", context="c", get="g")
        things.save()
        assert (thing.id, thing.context, thing.get, thing.is_fault) == (7, "c", "g", True)
        assert object_id(thing).entity_name == "Thing"
        assert context_of(thing) is things
        assert isinstance(state(thing), int)
        assert "id=7" in repr(thing)
        assert things.fetch("Thing").to_dicts("id") == [{"id": 7}]


def test_object_without_a_context_can_be_inserted_later(staff: Context) -> None:
    person = staff.new("Employee", name="Loose", age=20)
    assert person.name == "Loose"
    assert staff.count("Employee", "name == 'Loose'") == 0
    staff.insert_object(person)
    assert person.is_inserted
    staff.save()
    assert staff.first("Employee", "name == 'Loose'") is person


def test_primitive_value_is_not_a_change(staff: Context) -> None:
    ada = staff.first("Employee", "name == 'Ada'")
    ada.set_primitive("age", 50)
    ada.set_primitive("manager", None)
    assert (ada.age, ada.manager) == (50, None)
    assert not staff.has_changes
    staff.refresh(ada)
    assert ada.age == 36
    assert ada.manager.name == "Grace"
    ada.set_primitive("age", 51)
    ada.name = "Ada L."
    staff.save()
    staff.reset()
    assert staff.first("Employee", "name == 'Ada L.'").age == 51
    with pytest.raises(TypeMismatchError):
        staff.first("Employee").set_primitive("age", "old")


@pytest.mark.parametrize("is_read", [False, True])
@pytest.mark.parametrize("elsewhere", [False, True])
def test_cascade_does_not_delete_a_moved_member(staff: Context, elsewhere: bool, is_read: bool) -> None:
    """Moved in this context before the deletion, or in another one whose save is not merged."""
    ada, grace = staff.insert("Employee", name="Ann"), staff.insert("Employee", name="Gus")
    stays, moves = (staff.insert("Task", title=title, owner=ada) for title in ("stays", "moves"))
    staff.save()
    if is_read:
        assert list(ada.tasks) == [stays, moves]
    if elsewhere:
        other = staff.container.context()
        other.get(moves.id).owner = other.get(grace.id)
        other.save()
        staff.refresh_all()
    else:
        moves.owner = grace
    staff.delete(ada)
    staff.save()
    check = staff.container.context()
    assert [task.title for task in check.fetch("Task", "owner.name == 'Gus'")] == ["moves"]
    assert check.count("Task", "title == 'stays'") == 0


def test_object_repr_truncates_values(staff: Context) -> None:
    ada = staff.first("Employee", "name == 'Ada'")
    ada.notes = "x" * 38
    _ = ada.age
    assert repr(ada) == f"<Employee {ada.id.uri.rsplit('/', 1)[1]} name='Ada' notes={'x' * 38!r} age=36 floor=None>"
    ada.notes = "x" * 39
    assert f" notes='{'x' * 38}… age=36" in repr(ada)
    staff.delete(ada)
    assert repr(ada).startswith(f"<Employee {ada.id.uri.rsplit('/', 1)[1]} deleted name='Ada'")
    task = staff.insert("Task", title="t")
    assert repr(task) == "<Task new title='t'>"


def test_properties_have_docstrings(staff: Context) -> None:
    person, employee = (staff.model[name].object_class for name in ("Person", "Employee"))
    assert vars(person)["name"].__doc__ == "string"
    names = ("age", "notes", "department", "tasks", "projects")
    assert {name: vars(employee)[name].__doc__ for name in names} == {
        "age": "optional integer 32",
        "notes": "optional string",
        "department": "optional to-one Department, inverse employees, delete rule nullify",
        "tasks": "optional ordered to-many Task, inverse owner, delete rule cascade",
        "projects": "optional to-many Project, inverse members, delete rule nullify",
    }  # fmt: skip
    assert employee.__doc__ == "Objects of the entity Employee."
    assert employee.__module__ == "corestone.entities"


def test_invalid_property_names_are_rejected(staff: Context) -> None:
    ada = staff.first("Employee", "name == 'Ada'")
    with pytest.raises(
        TypeMismatchError, match=r"Employee\.tasks is a to-many relationship, which get does not read"
    ) as caught:
        ada.get("name", "tasks")
    assert (caught.value.entity, caught.value.key) == ("Employee", "tasks")
    assert ada.get() == ()
    bodies: list[Any] = [
        lambda: ada.get("nmae"),
        lambda: ada.is_changed("nmae"),
        lambda: ada.committed_value("nmae"),
        lambda: ada.validate_value("nmae", 1),
        lambda: ada.set_primitive("nmae", 1),
        lambda: ada.has_fault("nmae"),
        lambda: ada.object_ids("nmae"),
    ]
    for body in bodies:
        with pytest.raises(ModelError, match='Employee does not have a property "nmae"; did you mean "name"') as told:
            body()
        assert (told.value.entity, told.value.key) == ("Employee", "nmae")
    with pytest.raises(ModelError, match=r'Employee does not have a property "manager\.name"$'):
        ada.get("manager.name")
    with pytest.raises(InvalidArgumentError, match="ManagedObject does not name its entity"):
        staff.fetch(ManagedObject)


def test_each_object_state_is_reported_separately(staff: Context) -> None:
    def states(item: Any) -> list[str]:
        names = ("is_fault", "is_inserted", "is_updated", "is_deleted", "has_changes")
        return [name for name in names if getattr(item, name)]

    new = staff.insert("Task", title="t")
    assert states(new) == ["is_inserted", "has_changes"]
    staff.save()
    assert states(new) == []
    new.title = "u"
    assert states(new) == ["is_updated", "has_changes"]
    assert (new.faulting_state, new.changed_values(), new.committed_values("title")) == (
        0,
        {"title": "u"},
        {"title": "t"},
    )
    staff.refresh(new, merge=False)
    assert (states(new), new.faulting_state) == (["is_fault"], 1)
    assert new.title == "t"
    staff.delete(new)
    assert "is_deleted" in states(new)
    assert "is_updated" not in states(new)


def test_object_ids_returns_the_ids_of_related_objects(staff: Context) -> None:
    ada = staff.first("Employee", "name == 'Ada'")
    elena = staff.first("Employee", "name == 'Elena'")
    assert ada.object_ids("department") == [ada.department.id]
    assert elena.object_ids("department") == []
    assert ada.object_ids("tasks") == [task.id for task in ada.tasks]
    ada.tasks.reverse()
    assert ada.object_ids("tasks") == [task.id for task in ada.tasks]
    assert elena.object_ids("tasks") == []


def test_clone_copies_attributes_and_relationships(staff: Context) -> None:
    ada = staff.first("Employee", "name == 'Ada'")
    plain = ada.clone()
    assert (plain.name, plain.age, plain.department, plain.is_inserted) == ("Ada", 36, ada.department, True)
    assert plain != ada
    # Tasks have one owner, and are not taken away.
    assert (len(plain.tasks), len(ada.tasks)) == (0, 3)
    deep = ada.clone(depth=1)
    assert [task.title for task in deep.tasks] == ["think", "write", "prove"]
    assert not set(deep.tasks) & set(ada.tasks)
    assert deep.department not in (None, ada.department)
    some = ada.clone(depth=1, including=["tasks"])
    assert len(some.tasks) == 3
    assert some.department is ada.department
    none = ada.clone(depth=1, including=[])
    assert (len(none.tasks), none.department) == (0, ada.department)


def test_clone_omits_unique_values_by_default(tmp_path: Path) -> None:
    model = Model({"A": {"@unique": ["code"], "code": "string?", "note": "string?"}})
    with Container(model, tmp_path / "a.store", unsaved="discard") as container:
        ctx = container.context()
        item = ctx.insert("A", code="x", note="n")
        ctx.save()
        assert (item.clone().code, item.clone().note) == (None, "n")
        assert item.clone(keeps_unique=True).code == "x"


def test_primitive_members_can_be_read_and_set(staff: Context) -> None:
    fresh = staff.container.context()
    ada = fresh.first("Employee", "name == 'Ada'")
    assert ada.get_primitive("tasks") is None
    think, write, prove = ada.tasks
    assert ada.get_primitive("tasks") == [think, write, prove]
    ada.set_primitive("tasks", [prove])
    assert list(ada.tasks) == [prove]
    assert write.owner is ada
    ada.set_primitive("tasks", None)
    assert ada.get_primitive("tasks") == []
    assert not fresh.has_changes
    fresh.refresh(ada, merge=False)
    assert list(ada.tasks) == [think, write, prove]
    with ada.changing("tasks"):
        ada.set_primitive("tasks", [write])
    assert think.owner is None
    assert write.owner is ada
    assert fresh.has_changes
    with pytest.raises(TypeMismatchError, match=r"Employee\.tasks"):
        ada.set_primitive("tasks", ["x"])
    assert list(ada.tasks) == [write]


@pytest.mark.parametrize(
    ("mutation", "expected"), [("union", "abc"), ("minus", "a"), ("intersect", "b"), ("set", "bc")]
)
def test_did_change_of_members_updates_inverses(staff: Context, mutation: str, expected: str) -> None:
    """Inverses follow the reported changes."""
    a, b, c = (staff.insert("Employee", name=name) for name in "abc")
    project = staff.insert("Project", title="p", members=[a, b])
    staff.save()
    members = {"union": [b, c], "minus": [b], "intersect": [b, c], "set": [b, c]}[mutation]
    now = {each.name: each for each in (a, b, c)}
    project.will_change("members", mutation, members)
    project.set_primitive("members", [now[name] for name in expected])
    project.did_change("members", mutation, members)
    assert "".join(sorted(each.name for each in project.members)) == expected
    for person in (a, b, c):
        assert (project in person.projects) == (person.name in expected), person.name
    staff.save()
    other = staff.container.context().get(project.id)
    assert "".join(sorted(each.name for each in other.members)) == expected


def test_values_are_correct_beyond_the_plan_cache_limit(staff: Context) -> None:
    """More sets of names than plans are kept for, each of them right."""
    ada = staff.first("Employee", "name == 'Ada'")
    names = ["name", "age", "notes", "floor", "number", "rating", "active"]
    values = dict(zip(names, ada.get(*names)))
    seen = 0
    for length in range(1, 5):
        for chosen in itertools.permutations(names, length):
            assert ada.get(*chosen) == tuple(values[name] for name in chosen)
            seen += 1
    assert seen > 256
    for number, chosen in enumerate(itertools.permutations(names[1:3] + names[3:6], 4)):
        new = {name: "x" if name == "notes" else number for name in chosen}
        ada.set(**new)
        assert ada.to_dict(*chosen) == new


# ---- rejected values, without effect


@pytest.mark.parametrize(
    ("key", "value", "kind", "code", "message"),
    [
        ("level", 32768, ValidationError, 1610, "Employee.level takes -32768 to 32767 (Integer 16), not 32768"),
        ("level", -32769, ValidationError, 1620, "Employee.level takes -32768 to 32767 (Integer 16), not -32769"),
        ("floor", 2**31, ValidationError, 1610, "takes -2147483648 to 2147483647 (Integer 32), not 2147483648"),
        ("floor", -(2**31) - 1, ValidationError, 1620, "takes -2147483648 to 2147483647 (Integer 32), not -2147483649"),
        ("age", 1.5, TypeMismatchError, 0, "Employee.age takes Integer 32, not a floating-point number (1.5)"),
        ("name", 7, TypeMismatchError, 0, "Employee.name takes String, not an integer (7)"),
        ("active", 2, TypeMismatchError, 0, "Employee.active takes Boolean, 0 or 1, not an integer (2)"),
        ("department", "x", TypeMismatchError, 0, "Employee.department takes an object of Department, not"),
    ],
)
def test_invalid_value_is_rejected_without_any_change(
    staff: Context, key: str, value: Any, kind: type[CorestoneError], code: int, message: str
) -> None:
    ada = staff.first("Employee", "name == 'Ada'")
    before = ada[key]
    for change in (
        lambda: ada.set(notes="changed", **{key: value}),
        lambda: ada.__setitem__(key, value),
        lambda: setattr(ada, key, value),
        lambda: ada.set_primitive(key, value),
    ):
        with pytest.raises(kind) as caught:
            change()
        error = caught.value
        assert (error.code, error.entity, error.key, error.value) == (code, "Employee", key, value)
        assert message in error.message
        assert (ada[key], ada.notes) == (before, None)
    assert not staff.has_changes


@pytest.mark.parametrize(("key", "lowest", "highest"), [("level", -(2**15), 2**15 - 1), ("floor", -(2**31), 2**31 - 1)])
def test_limits_of_a_numeric_range_are_accepted(staff: Context, key: str, lowest: int, highest: int) -> None:
    ada = staff.first("Employee", "name == 'Ada'")
    for value in (lowest, highest):
        ada[key] = value
        staff.save()
        assert staff.container.context().get(ada.id)[key] == value


def test_object_of_the_wrong_entity_is_rejected(staff: Context) -> None:
    ada, project = staff.first("Employee", "name == 'Ada'"), staff.first("Project")
    before = (ada.department, ada.manager, list(ada.tasks))
    for key, value, target in [
        ("department", project, "Department"), ("manager", project, "Employee"), ("tasks", [project], "Task")
    ]:  # fmt: skip
        with pytest.raises(TypeMismatchError, match=rf"Employee\.{key} takes an object of {target}, not of") as caught:
            ada[key] = value
        error = caught.value
        wrong = value[0] if isinstance(value, list) else value
        assert (error.entity, error.key, error.object_uri) == ("Employee", key, ada.id.uri)
        assert str(error.value) == wrong.id.uri
    assert (ada.department, ada.manager, list(ada.tasks)) == before
    assert not staff.has_changes


# ---- what differs


def test_unsaved_object_reports_all_values_as_changed(staff: Context) -> None:
    sales = staff.first("Department", "name == 'Sales'")
    new = staff.insert("Manager", name="New", age=0, department=sales)
    assert new.changed_values() == {"name": "New", "age": 0, "bonus": 0.5, "department": sales}
    assert new.committed_values("name", "age", "department") == {"name": None, "age": None, "department": None}
    assert set(new.committed_values().values()) == {None}
    assert new.has_persistent_changed_values
    staff.save()
    assert new.changed_values() == {}
    assert new.committed_values("name", "age", "department") == {"name": "New", "age": 0, "department": sales.id}
    new.name, new.age = "other", 7
    assert (new.is_changed("name"), new.is_changed("floor")) == (True, False)
    new.name, new.age = "New", 0
    # A mere mark stays; by value there is no difference.
    assert new.has_changes
    assert new.changed_values() == {}
    assert not new.has_persistent_changed_values
    staff.save()
    assert staff.container.context().get(new.id).name == "New"


def test_changed_values_for_current_event_reset_after_processing(staff: Context) -> None:
    ada = staff.first("Employee", "name == 'Ada'")
    ada.age, ada.notes = 1, "x"
    ada.age = 2
    assert ada.changed_values_for_current_event() == {"age": 36, "notes": None}
    staff.process_pending_changes()
    assert ada.changed_values_for_current_event() == {}
    ada.age = 3
    assert ada.changed_values_for_current_event() == {"age": 2}
    assert ada.changed_values() == {"age": 3, "notes": "x"}
    assert ada.committed_values("age", "notes") == {"age": 36, "notes": None}


def test_changed_values_do_not_fire_relationship_faults(staff: Context) -> None:
    other = staff.container.context()
    ada = other.first("Employee", "name == 'Ada'")
    assert ada.name == "Ada"
    with log.recorded() as lines:
        assert ada.changed_values() == {}
        everything = ada.committed_values()
        assert not {"tasks", "projects"} & set(everything)
        assert everything["department"] is not None
        assert not ada.has_persistent_changed_values
        assert (ada.has_fault("tasks"), ada.has_fault("department")) == (True, True)
    assert lines == []
    assert ada.committed_values("tasks")["tasks"] == [task.id for task in ada.tasks]
    assert "tasks" in ada.committed_values()


# ---- IDs


def test_id_copied_before_the_save_stays_temporary(staff: Context) -> None:
    new = staff.insert("Project", title="new")
    before = new.id
    assert before == new.id
    assert hash(before) == hash(new.id)
    assert re.fullmatch(r"x-coredata:///Project/t[0-9A-F-]+", before.uri)
    staff.save()
    after = new.id
    assert (before.is_temporary, after.is_temporary) == (True, False)
    assert before != after
    assert re.fullmatch(rf"x-coredata://{staff.container.store.identifier}/Project/p\d+", after.uri)
    assert (before.entity_name, after.entity_name) == ("Project", "Project")
    again = staff.container.object_id(after.uri)
    assert (again, hash(again)) == (after, hash(after))
    assert staff.container.context().existing(after.uri).id == after
    assert staff.first("Project", "title != 'new'").id != after


def test_detached_object_is_a_fault_without_a_context(staff: Context) -> None:
    ada, boris = (staff.first("Employee", f"name == '{name}'") for name in ("Ada", "Boris"))
    new = staff.insert("Project", title="new")
    ada.age = 1
    staff.delete(boris)
    assert (ada.is_updated, boris.is_deleted, new.is_inserted) == (True, True, True)
    identity = ada.id
    staff.reset()
    for item in (ada, boris, new):
        assert (item.is_fault, item.has_changes, item.is_inserted, item.is_updated, item.is_deleted) == (
            True, False, False, False, False
        )  # fmt: skip
        key = "title" if item is new else "name"
        with pytest.raises(ObjectGoneError) as caught:
            _ = item[key]
        with pytest.raises(ObjectGoneError) as refused:
            item.set(**{key: "x"})
        for error in (caught.value, refused.value):
            assert (error.code, error.entity) == (133000, item.entity_name)
    assert staff.get(identity) is not ada
    assert staff.get(identity).age == 36


# ---- clones


CLONED: dict[str, dict[str, Any]] = {
    "Order": {
        "@unique": ["code"],
        "code": "string?",
        "note": "string? = usual",
        "mood": "string? transient",
        "shout": "derived string? = uppercase:(note)",
        "lines": "to-many ordered Line inverse order",
        "bill": "to-one Bill? inverse order",
        "tags": "to-many Tag inverse orders",
    },
    "Line": {
        "@unique": [["order", "position"], ["serial"]],
        "position": "int?",
        "serial": "string?",
        "order": "to-one Order? inverse lines",
    },
    "Bill": {"total": "int?", "order": "to-one Order? inverse bill"},
    "Tag": {"name": "string?", "orders": "to-many Order inverse tags"},
}


@pytest.fixture
def order(tmp_path: Path) -> Iterator[Any]:
    with Container(Model(CLONED), tmp_path / "a.store", unsaved="discard") as container:
        ctx = container.context()
        item = ctx.insert("Order", code="x", note="n")
        item.lines = [ctx.insert("Line", position=number, serial=f"s{number}") for number in (3, 1, 2)]
        item.bill, item.tags = ctx.insert("Bill", total=5), [ctx.insert("Tag", name="t")]
        ctx.save()
        item.mood = "calm"
        yield item


def test_clone_shares_relationships_without_taking_members(order: Any) -> None:
    order.note = None
    copy = order.clone()
    assert (copy.note, copy.mood, copy.code) == (None, "calm", None)
    assert copy.shout is None
    assert set(copy.tags) == set(order.tags)
    # The target of a one-to-one and the members of a one-to-many relationship stay the original's.
    assert (copy.bill, list(copy.lines)) == (None, [])
    assert (order.bill.total, [line.position for line in order.lines]) == (5, [3, 1, 2])
    whole = order.clone(keeps_unique=True)
    assert whole.code == "x"
    order.context.delete(whole)
    order.context.save()
    assert copy.shout is None
    copy.note = "later"
    order.context.save()
    assert copy.shout == "LATER"


def test_deep_clone_keeps_values_of_constraints_with_cloned_targets(order: Any) -> None:
    copy = order.clone(depth=1)
    lines = list(copy.lines)
    # By position they are unique within their order, which is another one; the serial would be there twice.
    assert [(line.position, line.serial, line.order) for line in lines] == [(n, None, copy) for n in (3, 1, 2)]
    assert (copy.bill.total, copy.bill.order, copy.bill != order.bill) == (5, copy, True)
    assert not set(copy.tags) & set(order.tags)
    alone = order.lines[0].clone()
    assert (alone.position, alone.serial, alone.order) == (None, None, order)


def test_clone_omits_deleted_objects(order: Any) -> None:
    ctx = order.context
    gone = order.lines[1]
    ctx.delete(gone)
    assert [line.position for line in order.clone(depth=1).lines] == [3, 2]
    ctx.process_pending_changes()
    assert [line.position for line in order.clone(depth=1).lines] == [3, 2]
    with pytest.raises(
        InvalidArgumentError,
        match=r"Line .* is deleted and cannot be cloned; call cst_context_rollback",
    ) as caught:
        gone.clone()
    assert (caught.value.entity, caught.value.object_uri) == ("Line", gone.id.uri)
    fresh = ctx.insert("Line")
    ctx.delete(fresh)
    with pytest.raises(InvalidArgumentError, match=r"; insert a new object with cst_context_insert \(insert\)$"):
        fresh.clone()


def test_failed_clone_leaves_no_objects(order: Any) -> None:
    ctx = order.context
    ctx.process_pending_changes()
    for including, entity, key in [
        (["lines.position"], "Line", "position"),
        (["note"], "Order", "note"),
        (["lines", "linse"], "Order", "linse"),
    ]:
        with pytest.raises(InvalidArgumentError) as caught:
            order.clone(depth=1, including=including)
        assert (caught.value.entity, caught.value.key) == (entity, key)
        assert list(ctx.inserted) == []
    # A depth below what is included ends there.
    copy = order.clone(depth=1, including=["tags.orders"])
    assert [tag.name for tag in copy.tags] == ["t"]
    assert len(ctx.inserted) == 2
