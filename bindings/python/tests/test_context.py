"""Contexts: fetching, changing, saving, conflicts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from corestone import (
    Aggregate,
    ConflictError,
    Container,
    Context,
    CoreDataCode,
    CorestoneError,
    InvalidArgumentError,
    InvalidHandleError,
    MergePolicy,
    MergePolicyType,
    Model,
    ModelError,
    ObjectGoneError,
    Sort,
    Status,
    TypeMismatchError,
    ValidationError,
    log,
)


def names(found: Any) -> list[str]:
    return [person.name for person in found]


def test_fetch_sorts_by_keys(staff: Context) -> None:
    assert names(staff.fetch("Employee", sort="age")) == ["Chloé", "Elena", "Ada", "Boris", "Dmitri", "Grace"]
    assert names(staff.fetch("Employee", sort=["-age"]))[:2] == ["Grace", "Dmitri"]
    found = staff.fetch("Employee", "department != nil", sort=["department.name", Sort("name", descending=True)])
    assert names(found) == ["Grace", "Boris", "Ada", "Dmitri", "Chloé"]
    staff.insert("Employee", name="ada")
    folded = staff.fetch("Employee", sort=[Sort("name", case_insensitive=True), "-name"])
    assert names(folded)[:2] in (["ada", "Ada"], ["Ada", "ada"])
    with pytest.raises(TypeMismatchError, match="is not a sort key"):
        staff.fetch("Employee", sort=[7])  # type: ignore[list-item]


def test_fetch_honours_limit_and_offset(staff: Context) -> None:
    assert names(staff.fetch("Employee", sort="name", limit=2)) == ["Ada", "Boris"]
    assert names(staff.fetch("Employee", sort="name", limit=2, offset=4)) == ["Elena", "Grace"]
    assert names(staff.fetch("Employee", sort="name", offset=5)) == ["Grace"]
    assert names(staff.fetch("Employee", limit=0)) != []
    assert staff.count("Employee", limit=4, offset=3) == 3
    for wrong in ({"limit": -1}, {"offset": -1}):
        with pytest.raises(InvalidArgumentError, match="must be at least 0"):
            staff.fetch("Employee", **wrong)  # type: ignore[call-overload]


def test_fetch_includes_subentities_by_default(staff: Context) -> None:
    assert staff.count("Employee") == 6
    assert staff.count("Employee", include_subentities=False) == 5
    assert names(staff.fetch("Manager")) == ["Grace"]
    assert "Grace" not in names(staff.fetch("Employee", include_subentities=False))


def test_fetch_includes_pending_changes(staff: Context) -> None:
    staff.insert("Employee", name="New", age=99)
    assert names(staff.fetch("Employee", "age == 99")) == ["New"]
    assert names(staff.fetch("Employee", "age == 99", include_pending_changes=False)) == []
    staff.first("Employee", "name == 'Ada'").age = 99
    assert sorted(names(staff.fetch("Employee", "age == 99"))) == ["Ada", "New"]
    assert staff.count("Employee", "age == 99") == 2


def test_fetch_prefetches_relationships_and_fills_faults(staff: Context) -> None:
    other = staff.container.context()
    people = other.fetch("Employee", prefetch=["department", "tasks"], as_faults=False)
    assert not any(person.is_fault for person in people)
    assert people[0].department is None or people[0].department.name
    assert other.fetch("Department", prefetch="employees")[0].employees is not None


def test_changed_sets_list_unsaved_objects(staff: Context) -> None:
    ada, boris = (staff.first("Employee", "name == %@", name) for name in ("Ada", "Boris"))
    assert not staff.has_changes
    new = staff.insert("Employee", name="New")
    ada.age = 1
    staff.delete(boris)
    staff.process_pending_changes()
    assert staff.has_changes
    assert list(staff.inserted) == [new]
    assert ada in staff.updated
    assert boris in staff.deleted
    assert {new, ada} <= set(staff.known)
    staff.save()
    assert not staff.has_changes
    assert not staff.inserted
    assert not staff.updated
    assert not staff.deleted


def test_rollback_discards_all_changes(staff: Context) -> None:
    ada = staff.first("Employee", "name == 'Ada'")
    ada.age = 99
    ada.tasks.clear()
    staff.delete(staff.first("Employee", "name == 'Boris'"))
    new = staff.insert("Employee", name="New")
    staff.rollback()
    assert not staff.has_changes
    assert ada.age == 36
    assert len(ada.tasks) == 3
    assert staff.count("Employee") == 6
    assert not new.is_inserted
    with pytest.raises(ObjectGoneError):
        _ = new.name


def test_delete_rules_cascade_and_nullify(staff: Context) -> None:
    ada = staff.first("Employee", "name == 'Ada'")
    staff.delete(ada)
    staff.save()
    assert staff.count("Task") == 0
    research = staff.first("Department", "name == 'R&D'")
    people = list(research.employees)
    staff.delete(research)
    staff.save()
    assert all(person.department is None for person in people)


def test_compact_model_can_deny_deletion() -> None:
    model = Model({"A": {"bs": "to-many B inverse a delete deny"}, "B": {"a": "to-one A? inverse bs"}})
    assert model["A"].properties["bs"].delete_rule == 3


def test_denied_deletion_fails_the_save(tmp_path: Any) -> None:
    model = Model({"A": {"bs": "to-many B inverse a delete deny"}, "B": {"a": "to-one A? inverse bs"}})
    with Container(model, tmp_path / "deny.store") as container:
        ctx = container.context()
        a = ctx.insert("A", bs=[ctx.insert("B")])
        ctx.save()
        ctx.delete(a)
        with pytest.raises(ValidationError) as caught:
            ctx.save()
        codes = [caught.value.code, *[detail.code for detail in caught.value.details]]
        assert CoreDataCode.VALIDATION_RELATIONSHIP_DENIED_DELETE in codes
        ctx.rollback()
        assert ctx.count("A") == 1


def test_save_reports_every_missing_required_value(ctx: Context) -> None:
    ctx.insert("Employee", age=3)
    ctx.insert("Department")
    with pytest.raises(ValidationError) as caught:
        ctx.save()
    error = caught.value
    assert error.code == CoreDataCode.VALIDATION_MULTIPLE_ERRORS
    found = {(detail.entity, detail.key, detail.code) for detail in error.details}
    missing = CoreDataCode.VALIDATION_MISSING_MANDATORY_PROPERTY
    assert found == {("Employee", "name", missing), ("Department", "name", missing)}
    assert all(isinstance(detail, ValidationError) for detail in error.details)
    assert all(detail.object_uri for detail in error.details)
    assert "Employee" in str(error)
    assert ctx.has_changes


def test_save_reports_a_single_missing_required_value(ctx: Context) -> None:
    person = ctx.insert("Employee")
    with pytest.raises(ValidationError) as caught:
        ctx.save()
    assert caught.value.code == CoreDataCode.VALIDATION_MISSING_MANDATORY_PROPERTY
    assert (caught.value.entity, caught.value.key) == ("Employee", "name")
    person.name = "Ada"
    ctx.save()


def test_save_fails_when_another_context_saved_the_same_row(staff: Context) -> None:
    mine = staff.first("Employee", "name == 'Ada'")
    other = staff.container.context()
    theirs = other.existing(mine.id)
    mine.age = 37
    staff.save()
    theirs.age, theirs.notes = 38, "Countess"
    with pytest.raises(ConflictError) as caught:
        other.save()
    error = caught.value
    assert error.code == CoreDataCode.MANAGED_OBJECT_MERGE
    assert any(each.object_uri == mine.id.uri for each in [error, *error.details])
    assert other.has_changes
    other.refresh(theirs, merge=True)
    assert (theirs.age, theirs.notes) == (38, "Countess")
    other.save()
    staff.refresh(mine)
    assert (mine.age, mine.notes) == (38, "Countess")


def test_refresh_without_merge_discards_changes(staff: Context) -> None:
    ada = staff.first("Employee", "name == 'Ada'")
    ada.age = 99
    staff.refresh(ada, merge=False)
    assert ada.age == 36
    other = staff.container.context()
    theirs = other.existing(ada.id)
    theirs.age = 50
    other.save()
    staff.refresh_all()
    assert ada.age == 50


def test_existing_and_registered_objects_are_found_by_id(staff: Context) -> None:
    ada = staff.first("Employee", "name == 'Ada'")
    uri = ada.id.uri
    missing = uri.rsplit("/", 1)[0] + "/p99999"
    with pytest.raises(ObjectGoneError, match="does not exist") as raised:
        staff.existing(missing)
    assert (raised.value.code, raised.value.entity) == (133000, "Employee")
    assert staff.registered(missing) is None
    ghost = staff.get(missing)
    assert ghost.is_fault
    assert ghost.name is None
    assert ghost.is_deleted
    assert staff.container.object_id("x-coredata://00000000-0000-0000-0000-000000000000/Employee/p1") is None
    with pytest.raises(InvalidArgumentError, match="is not the URI"):
        staff.get("x-coredata://00000000-0000-0000-0000-000000000000/Employee/p1")


def test_permanent_id_survives_the_save(staff: Context) -> None:
    new = staff.insert("Employee", name="New")
    assert new.id.is_temporary
    staff.obtain_permanent_ids([new])
    uri = new.id.uri
    assert not new.id.is_temporary
    staff.save()
    assert new.id.uri == uri


def test_insert_many_inserts_every_row(ctx: Context) -> None:
    team = ctx.insert("Department", name="Team")
    rows = [{"name": f"N{at}", "age": at, "department": team if at % 2 else None} for at in range(1000)]
    assert ctx.insert_many("Employee", rows) == 1000
    ctx.save()
    assert ctx.count("Employee") == 1000
    assert len(team.employees) == 500
    assert ctx.insert_many("Project", [("a",), ("b",)], columns=["title"]) == 2
    objects = ctx.insert_objects("Project", iter([{"title": "c"}, {"title": "d"}]))
    assert [each.title for each in objects] == ["c", "d"]
    assert all(each.is_inserted for each in objects)
    assert ctx.insert_many("Project", []) == 0
    assert ctx.insert_objects("Project", [], columns=["title"]) == []


def test_insert_many_is_all_or_nothing(ctx: Context) -> None:
    wrong: list[tuple[list[dict[str, Any]], str]] = [
        ([{"title": "a"}, {"title": 7}], "title"),
        ([{"title": "a"}, {"title": "b \ud800"}], "row 2"),
        ([{"title": "a"}, {}], "row 2"),
        ([{"title": "a"}, {"title": "b", "x": 1}], "row 2"),
    ]
    for rows, words in wrong:
        with pytest.raises(CorestoneError, match=words):
            ctx.insert_many("Project", rows)
    with pytest.raises(InvalidArgumentError, match="row 1 has 2 values"):
        ctx.insert_many("Project", [(1, 2)], columns=["title"])
    with pytest.raises(InvalidArgumentError, match="columns="):
        ctx.insert_many("Project", [("a",)])
    with pytest.raises(InvalidArgumentError, match="to-many"):
        ctx.insert_many("Project", [{"title": "a", "members": []}])
    with pytest.raises(ModelError, match='did you mean "title"'):
        ctx.insert_many("Project", [{"titel": "a"}])
    with pytest.raises(InvalidArgumentError, match=r"row 2: Employee\.number"):
        ctx.insert_many("Employee", [{"name": "a", "number": 1}, {"name": "b", "number": 2**63}])
    assert ctx.count("Project") == 0
    assert ctx.count("Employee") == 0


def test_abstract_entity_cannot_be_instantiated(tmp_path: Any) -> None:
    model = Model({"Base": {"@abstract": True, "name": "string"}, "Item": {"@parent": "Base"}})
    with Container(model, tmp_path / "abstract.store", unsaved="discard") as container:
        ctx = container.context()
        with pytest.raises(InvalidArgumentError):
            ctx.insert("Base", name="x")
        ctx.insert("Item", name="x")
        assert ctx.fetch("Base")[0].entity_name == "Item"


def test_closed_context_rejects_every_call(staff: Context) -> None:
    staff.close()
    staff.close()
    assert staff.is_closed
    for use in (lambda: staff.fetch("Employee"), lambda: staff.insert("Employee"), staff.save):
        with pytest.raises(InvalidHandleError, match="context is closed"):
            use()
    assert "closed" in repr(staff)
    with staff.container.context() as again:
        assert again.count("Employee") == 6
    assert again.is_closed


def test_context_has_name_author_user_info_and_parent(staff: Context) -> None:
    assert (staff.name, staff.transaction_author, staff.user_info, staff.parent) == (None, None, None, None)
    staff.name, staff.transaction_author = "editor", "Ada"
    assert (staff.name, staff.transaction_author) == ("editor", "Ada")
    staff.name = staff.transaction_author = None
    assert (staff.name, staff.transaction_author) == (None, None)
    assert repr(staff) == f"<Context of {staff.container.path}, caller-confined>"
    child = staff.child()
    assert child.parent is staff
    assert repr(staff.container.background_context()).endswith(", private queue>")
    child.close()
    assert repr(child) == f"<Context of {staff.container.path}, caller-confined, closed>"
    with pytest.raises(InvalidArgumentError, match='queue must be "caller", "private" or "main", not "side"'):
        staff.child("side")  # type: ignore[arg-type]


OPTIONS: dict[str, tuple[Any, list[Any]]] = {
    "fault_policy": ("batch", ["warn", "error", "batch"]),
    "fault_batch_size": (256, [1, 7, 256]),
    "counts_single_faults": (False, [True, False]),
    "staleness_interval": (None, [0.0, 1.5, 0.001, None]),
    "retains_registered_objects": (False, [True, False]),
    "should_delete_inaccessible_faults": (True, [False, True]),
    "propagates_deletes_at_end_of_event": (True, [False, True]),
    "merges_batches": (True, [False, True]),
    "automatically_merges": (False, [True, False]),
    "merge_policy": (MergePolicy.ERROR, [MergePolicy.OVERWRITE, MergePolicy.ERROR]),
}


def test_context_options_are_independent(staff: Context) -> None:
    assert {name: getattr(staff, name) for name in OPTIONS} == {name: first for name, (first, _) in OPTIONS.items()}
    for name, (_, values) in OPTIONS.items():
        for value in values:
            setattr(staff, name, value)
            found = getattr(staff, name)
            assert (found, type(found)) == (value, type(value)), name
            others = {other: first for other, (first, _) in OPTIONS.items() if other != name}
            assert {other: getattr(staff, other) for other in others} == others
    staff.staleness_interval = -1
    assert staff.staleness_interval is None


def test_merge_policy_of_one_save_does_not_change_that_of_the_context(staff: Context) -> None:
    staff.merge_policy = MergePolicy.ROLLBACK
    ada = staff.first("Employee", "name == 'Ada'")
    other = staff.container.context()
    for age, policy in ((41, MergePolicyType.OBJECT_TRUMP), (42, MergePolicy.OVERWRITE)):
        theirs = other.get(ada.id)
        other.refresh(theirs)
        assert ada.age != age
        theirs.age = age + 100
        other.save()
        ada.age = age
        staff.save(merge_policy=policy)
        assert staff.merge_policy is MergePolicy.ROLLBACK
        other.refresh(theirs)
        assert theirs.age == age
    theirs.age = 7
    other.save()
    ada.age = 8
    with pytest.raises(ConflictError):
        staff.save(merge_policy=MergePolicy.ERROR)
    assert staff.merge_policy is MergePolicy.ROLLBACK
    staff.save()
    assert ada.age == 7


def test_object_without_a_context_can_be_inserted_into_any(staff: Context) -> None:
    other = staff.container.context()
    project = staff.new("Project", title="x", members=[])
    assert (project.title, staff.has_changes) == ("x", False)
    other.insert_object(project)
    assert other.has_changes
    assert not staff.has_changes
    assert project.context is other
    other.save()
    assert staff.count("Project", "title == 'x'") == 1


def test_inserted_updated_and_deleted_follow_net_changes(staff: Context) -> None:
    staff.reset()
    ada, boris = (staff.first("Employee", f"name == '{name}'") for name in ("Ada", "Boris"))
    assert [len(each) for each in (staff.inserted, staff.updated, staff.deleted)] == [0, 0, 0]
    assert set(staff.known) == {ada, boris}
    new = staff.insert("Project", title="n")
    ada.age = 1
    staff.delete(boris)
    staff.process_pending_changes()
    assert list(staff.inserted) == [new]
    assert ada in staff.updated
    assert boris not in staff.updated
    assert list(staff.deleted) == [boris]
    staff.rollback()
    assert not staff.has_changes
    assert not staff.has_persistent_changes
    assert (ada.age, staff.count("Employee", "name == 'Boris'")) == (36, 1)


def test_without_tracking_ends_with_its_block(staff: Context) -> None:
    ada = staff.first("Employee", "name == 'Ada'")

    def change() -> None:
        with staff.without_tracking():
            ada.age = 40
            raise KeyError

    with pytest.raises(KeyError):
        change()
    assert not staff.has_changes
    assert ada.age == 40
    ada.notes = "x"
    assert staff.has_changes
    staff.save()
    fresh = staff.container.context().get(ada.id)
    assert (fresh.age, fresh.notes) == (40, "x")


def test_fetch_options_apply_to_every_kind_of_fetch(staff: Context) -> None:
    """Fetches of objects, IDs, rows and streams, and counts, take the same words."""
    words: dict[str, Any] = {"sort": "name", "limit": 2, "offset": 1}
    expected = ["Boris", "Chloé"]
    assert [each.name for each in staff.fetch("Employee", "age > %d", 20, **words)] == expected
    assert [each.name for each in staff.stream("Employee", "age > %d", 20, batch=1, **words)] == expected
    assert [staff.get(each).name for each in staff.fetch_ids("Employee", "age > %d", 20, **words)] == expected
    rows = staff.fetch_rows("Employee", "age > %d", 20, columns="name", **words)
    assert rows == [{"name": name} for name in expected]
    assert [each.name for each in staff.container.fetch("Employee", "age > %d", 20, **words)] == expected
    for include, count in ((True, 6), (False, 5)):
        assert len(staff.fetch("Employee", include_subentities=include)) == count
        assert len(list(staff.stream("Employee", include_subentities=include))) == count
        assert len(staff.fetch_ids("Employee", include_subentities=include)) == count
        assert len(staff.fetch_rows("Employee", columns="name", include_subentities=include)) == count
        assert staff.count("Employee", include_subentities=include) == count
        assert staff.aggregate(Aggregate.COUNT, "Employee", "name", include_subentities=include) == count
    staff.insert("Employee", name="New")
    for pending, count in ((True, 7), (False, 6)):
        assert len(staff.fetch("Employee", include_pending_changes=pending)) == count
        assert len(list(staff.stream("Employee", include_pending_changes=pending))) == count
        assert staff.count("Employee", include_pending_changes=pending) == count
    for nulls, names in (("memory", ["Ada", "Boris"]), ("database", [])):
        condition = "notes != 'x' AND name < 'C'"
        assert [each.name for each in staff.fetch("Employee", condition, sort="name", nulls=nulls)] == names
        assert staff.count("Employee", condition, nulls=nulls) == len(names)
        assert len(staff.fetch_ids("Employee", condition, nulls=nulls)) == len(names)
    with pytest.raises(InvalidArgumentError, match=r'nulls must be .*, not "none"'):
        staff.fetch("Employee", nulls="none")


def test_first_returns_the_first_object_of_the_order(staff: Context) -> None:
    assert staff.first("Employee", sort="-age").name == "Grace"
    assert staff.first("Employee", sort="age").name == "Chloé"
    assert staff.first("Employee", "age > %d", 100) is None
    assert staff.first("Employee", "age < %d", 36, sort=Sort("age", descending=True)).name == "Elena"


# ---- what a context keeps, and what it forgets


def test_get_returns_an_object_without_reading_the_store(staff: Context) -> None:
    ada = staff.first("Employee", "name == 'Ada'").id
    missing = ada.uri.rsplit("/", 1)[0] + "/p99999"
    other = staff.container.context()
    with log.recorded() as lines:
        assert other.registered(ada) is None
        got = other.get(ada)
        assert got.is_fault
        assert other.registered(ada) is got
        assert other.get(missing).is_fault
    assert lines == []
    assert not other.existing(ada).is_fault
    with pytest.raises(ObjectGoneError) as caught:
        other.existing(missing)
    error = caught.value
    assert (error.status, error.code, error.entity, error.object_uri) == (
        Status.OBJECT_GONE, 133000, "Employee", missing
    )  # fmt: skip
    assert error.key is None
    assert missing in error.message


def test_deleting_an_unsaved_object_leaves_no_change(staff: Context) -> None:
    sales, ada = staff.first("Department", "name == 'Sales'"), staff.first("Employee", "name == 'Ada'")
    members = set(sales.employees)
    new = staff.insert("Employee", name="New", department=sales, manager=None, projects=list(ada.projects))
    task = staff.insert("Task", title="t", owner=new)
    staff.process_pending_changes()
    assert sales in staff.updated
    staff.delete(new)
    staff.process_pending_changes()
    # Its task goes with it, by the delete rule.
    for item, key in ((new, "name"), (task, "title")):
        with pytest.raises(ObjectGoneError):
            _ = item[key]
    assert (list(staff.inserted), list(staff.deleted)) == ([], [])
    assert not staff.has_persistent_changes
    assert set(sales.employees) == members
    saved: list[Any] = []
    with staff.observe("did_save", lambda _, changes: saved.append(changes.ids)):
        staff.save()
    assert [(ids.inserted, ids.deleted) for ids in saved] == [([], [])]
    assert staff.container.context().count("Employee") == 6


def test_refresh_without_merge_discards_both_sides_of_a_relationship(staff: Context) -> None:
    ada = staff.first("Employee", "name == 'Ada'")
    research, sales = (staff.first("Department", f"name == '{name}'") for name in ("R&D", "Sales"))
    assert ada in research.employees
    ada.department, ada.age = sales, 99
    assert ada in sales.employees
    staff.refresh(ada, merge=False)
    assert (ada.department, ada.age) == (research, 36)
    assert ada in research.employees
    assert ada not in sales.employees
    assert not staff.has_persistent_changes
    staff.save()
    assert staff.container.context().get(ada.id).department.name == "R&D"
    new = staff.insert("Employee", name="New", age=5, department=sales)
    staff.refresh(new, merge=False)
    assert (new.name, new.age, new.is_inserted) == ("New", 5, True)
    staff.save()
    assert staff.count("Employee", "name == 'New' AND age == 5") == 1


def test_refresh_all_keeps_changes_and_save_detects_deleted_rows(staff: Context) -> None:
    ada, boris = (staff.first("Employee", f"name == '{name}'") for name in ("Ada", "Boris"))
    assert not ada.is_fault
    assert not boris.is_fault
    other = staff.container.context()
    other.get(ada.id).notes = "theirs"
    other.delete(other.get(boris.id))
    other.save()
    ada.age, boris.age = 1, 2
    new = staff.insert("Project", title="new")
    staff.refresh_all()
    assert (ada.age, ada.notes, boris.age, new.title) == (1, "theirs", 2, "new")
    assert (ada.is_updated, boris.is_updated, new.is_inserted) == (True, True, True)
    with pytest.raises(ConflictError) as caught:
        staff.save()
    error = caught.value
    assert error.code == 133020
    assert {each.object_uri for each in error.details or [error]} == {boris.id.uri}
    assert other.count("Project", "title == 'new'") == 0
    staff.rollback()
    assert ada.notes == "theirs"


def test_each_conflicting_object_has_a_detail(staff: Context) -> None:
    people = list(staff.fetch("Employee", "age < 50", sort="name"))
    other = staff.container.context()
    for person in other.fetch("Employee", "age < 50"):
        person.notes = "theirs"
    other.save()
    for person in people:
        person.notes = "mine"
    staff.insert("Project", title="new")
    with pytest.raises(ConflictError) as caught:
        staff.save()
    error = caught.value
    assert (error.code, len(people)) == (133020, 4)
    assert sorted(each.object_uri or "" for each in error.details) == sorted(person.id.uri for person in people)
    for each in error.details:
        assert (each.status, each.code, each.entity) == (Status.CONFLICT, 133020, "Employee")
        assert isinstance(each, ConflictError)
        assert [detail.key for detail in each.details] == ["notes"]
    assert other.count("Project", "title == 'new'") == 0
    assert len(staff.updated) >= 4
    assert len(staff.inserted) == 1
    staff.refresh(people[0], merge=False)
    assert people[0].notes == "theirs"
    for person in people[1:]:
        staff.refresh(person, merge=True)
        assert person.notes == "mine"
    staff.save()
    other.refresh_all()
    assert sorted(each.notes for each in other.fetch("Employee", "age < 50")) == ["mine"] * 3 + ["theirs"]


def test_obtaining_permanent_ids_does_not_write_objects(staff: Context) -> None:
    new, later = staff.insert("Project", title="new"), staff.insert("Project", title="later")
    staff.obtain_permanent_ids([new])
    assert (new.is_inserted, new.id.is_temporary, later.id.is_temporary) == (True, False, True)
    assert list(staff.inserted) in ([new, later], [later, new])
    assert staff.container.context().count("Project", "title == 'new'") == 0
    with pytest.raises(ObjectGoneError):
        staff.container.context().existing(new.id)
    identity = new.id
    staff.save()
    assert new.id == identity
    assert staff.container.context().existing(identity).title == "new"


def test_delete_rules_run_when_pending_changes_are_processed(staff: Context) -> None:
    ada = staff.first("Employee", "name == 'Ada'")
    tasks = list(ada.tasks)
    staff.delete(ada)
    assert (ada.is_deleted, [task.is_deleted for task in tasks]) == (True, [False] * 3)
    staff.process_pending_changes()
    assert [task.is_deleted for task in tasks] == [True] * 3
    assert set(staff.deleted) == {ada, *tasks}
    staff.rollback()
    assert list(ada.tasks) == tasks


def test_insert_error_names_the_entity(staff: Context) -> None:
    abstract = Model({"Base": {"@abstract": True, "name": "string"}, "Item": {"@parent": "Base"}})
    with Container(abstract, "anywhere", type="InMemory") as container:
        context = container.context()
        with pytest.raises(InvalidArgumentError) as caught:
            context.insert("Base")
        assert caught.value.entity == "Base"
        assert "insert one of its subentities (Item)" in caught.value.message
        assert not context.has_changes
    with pytest.raises(InvalidArgumentError, match="Item does not belong to the model") as foreign:
        staff.insert(abstract["Item"])
    assert foreign.value.entity == "Item"
    assert not staff.has_changes


def test_closed_context_rejects_calls_and_invalidates_its_objects(staff: Context) -> None:
    ada = staff.first("Employee", "name == 'Ada'")
    child = staff.child()
    theirs = child.get(ada.id)
    staff.close()
    for item in (ada, theirs):
        with pytest.raises(ObjectGoneError):
            _ = item.name
    for context in (staff, child):
        assert context.is_closed
        for call in (context.save, context.rollback, context.reset, lambda context=context: context.count("Employee")):
            with pytest.raises(InvalidHandleError):
                call()


def test_assign_error_names_the_object_and_the_store(staff: Context, tmp_path: Path) -> None:
    model = Model({"Note": {"name": "string?"}, "Draft": {"name": "string?"}})
    model.configuration("Local", "Draft")
    with Container(model, tmp_path / "notes.sqlite", unsaved="discard") as container:
        ctx = container.context()
        local = container.coordinator.add_store(tmp_path / "local.sqlite", configuration="Local")
        permanent, free, note = ctx.insert("Draft"), ctx.insert("Draft"), ctx.insert("Note")
        ctx.obtain_permanent_ids([permanent])
        for item, store, reason in [
            (permanent, local, "it has a permanent ID and cannot change its store"),
            (note, local, 'configuration "Local" does not contain Note'),
            (free, staff.container.store, "the store is not open in this context's coordinator"),
        ]:
            with pytest.raises(InvalidArgumentError, match=reason) as caught:
                ctx.assign(item, store)
            error = caught.value
            assert (error.entity, error.object_uri, error.file) == (item.entity_name, item.id.uri, store.path)
        ctx.save()
        with pytest.raises(InvalidArgumentError, match="cannot change its store"):
            ctx.assign(free, local)
        later = ctx.insert("Draft")
        ctx.assign(later, local)
        ctx.save()
        hosts = [item.id.uri.split("/")[2] for item in (permanent, free, note, later)]
        assert hosts == [container.store.identifier] * 3 + [local.identifier]
