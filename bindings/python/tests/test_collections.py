"""To-many relationships as live sets and lists."""

from __future__ import annotations

import random
from collections.abc import MutableSequence, MutableSet
from typing import Any

import pytest

from corestone import Context, ToManyList, ToManySet, TypeMismatchError


@pytest.fixture
def apollo(staff: Context) -> Any:
    return staff.first("Project", "title == 'Apollo'")


@pytest.fixture
def ada(staff: Context) -> Any:
    return staff.first("Employee", "name == 'Ada'")


def names(people: Any) -> list[str]:
    return sorted(person.name for person in people)


def titles(tasks: Any) -> list[str]:
    return [task.title for task in tasks]


def test_to_many_set_behaves_like_a_mutable_set(apollo: Any, ada: Any) -> None:
    members = apollo.members
    assert isinstance(members, ToManySet)
    assert isinstance(members, MutableSet)
    assert len(members) == 3
    assert ada in members
    assert "Ada" not in members
    assert names(members) == ["Ada", "Boris", "Chloé"]
    assert bool(members)
    with pytest.raises(TypeError):
        hash(members)


def test_to_many_set_follows_changes(staff: Context, apollo: Any, ada: Any) -> None:
    members = apollo.members
    ada.projects = []
    assert ada not in members
    assert len(members) == 2
    ada.projects.add(apollo)
    assert ada in members
    apollo.members.remove(ada)
    assert apollo not in ada.projects
    staff.save()
    assert names(apollo.members) == ["Boris", "Chloé"]


def test_set_methods_change_the_relationship(staff: Context, apollo: Any, ada: Any) -> None:
    elena = staff.first("Employee", "name == 'Elena'")
    apollo.members.add(elena)
    apollo.members.add(elena)
    assert len(apollo.members) == 4
    apollo.members.discard(elena)
    apollo.members.discard(elena)
    with pytest.raises(KeyError, match=r"Project\.members"):
        apollo.members.remove(elena)
    apollo.members.update([elena], [ada])
    assert names(apollo.members) == ["Ada", "Boris", "Chloé", "Elena"]
    popped = apollo.members.pop()
    assert popped not in apollo.members
    apollo.members.clear()
    assert len(apollo.members) == 0
    apollo.members |= {ada, elena}
    assert names(apollo.members) == ["Ada", "Elena"]
    apollo.members -= {elena}
    assert names(apollo.members) == ["Ada"]


def test_set_operators_combine_to_many_sets(staff: Context, apollo: Any, ada: Any) -> None:
    beacon = staff.first("Project", "title == 'Beacon'")
    assert names(apollo.members & beacon.members) == ["Chloé"]
    assert names(apollo.members | beacon.members) == ["Ada", "Boris", "Chloé", "Dmitri"]
    assert names(apollo.members - beacon.members) == ["Ada", "Boris"]
    assert isinstance(apollo.members & beacon.members, set)
    assert apollo.members == set(apollo.members)
    assert apollo.members == apollo.members
    assert apollo.members != beacon.members
    assert {ada} <= apollo.members
    assert len(apollo.members) == 3


def test_assigned_iterable_replaces_the_members(staff: Context, apollo: Any, ada: Any) -> None:
    apollo.members = (person for person in [ada])
    assert names(apollo.members) == ["Ada"]
    apollo.members = staff.fetch("Employee", "age > 40")
    assert names(apollo.members) == ["Boris", "Dmitri", "Grace"]
    beacon = staff.first("Project", "title == 'Beacon'")
    beacon.members = apollo.members
    assert names(beacon.members) == ["Boris", "Dmitri", "Grace"]
    apollo.members = None
    assert len(apollo.members) == 0


def test_adding_a_member_removes_it_from_its_former_owner(staff: Context, ada: Any) -> None:
    sales = staff.first("Department", "name == 'Sales'")
    research = ada.department
    sales.employees.add(ada)
    assert ada.department is sales
    assert ada not in research.employees


@pytest.mark.parametrize("wrong", [7, "Ada", None, object()])
def test_set_rejects_members_that_are_not_objects(apollo: Any, wrong: Any) -> None:
    before = names(apollo.members)
    with pytest.raises(TypeMismatchError, match=r"members") as caught:
        apollo.members.add(wrong)
    assert caught.value.object_uri == apollo.id.uri
    with pytest.raises(TypeMismatchError, match=r"members") as caught:
        apollo.members = [wrong]
    assert caught.value.object_uri == apollo.id.uri
    assert names(apollo.members) == before


def test_set_rejects_members_of_another_entity(apollo: Any, ada: Any) -> None:
    with pytest.raises(TypeMismatchError):
        apollo.members.add(ada.department)


def test_set_can_be_changed_while_it_is_iterated(apollo: Any) -> None:
    for person in apollo.members:
        apollo.members.remove(person)
    assert len(apollo.members) == 0


def test_to_many_list_behaves_like_a_mutable_sequence(ada: Any) -> None:
    tasks = ada.tasks
    assert isinstance(tasks, ToManyList)
    assert isinstance(tasks, MutableSequence)
    assert titles(tasks) == ["think", "write", "prove"]
    assert tasks[0].title == "think"
    assert tasks[-1].title == "prove"
    assert titles(tasks[1:]) == ["write", "prove"]
    assert titles(reversed(tasks)) == ["prove", "write", "think"]
    assert tasks.index(tasks[1]) == 1
    assert tasks.count(tasks[1]) == 1
    assert tasks == list(tasks)
    assert tasks != list(tasks)[:2]
    with pytest.raises(IndexError):
        tasks[3]


def test_moving_a_member_does_not_read_the_list(staff: Context, ada: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = ada.tasks
    think, write, prove = tasks
    with monkeypatch.context() as patched:
        patched.setattr(ToManyList, "_replace", None)
        patched.setattr(ToManyList, "snapshot", None)
        tasks.insert(1, write)
        tasks.insert(-1, write)
        assert not staff.has_changes
        tasks.insert(0, prove)
    assert list(tasks) == [prove, think, write]
    for place in range(-5, 6):
        for member in (think, write, prove):
            expected = [each for each in tasks if each != member]
            expected.insert(place, member)
            tasks.insert(place, member)
            assert list(tasks) == expected


def test_list_methods_change_the_relationship(staff: Context, ada: Any) -> None:
    rest, plan = staff.insert("Task", title="rest"), staff.insert("Task", title="plan")
    ada.tasks.append(rest)
    ada.tasks.insert(0, plan)
    assert titles(ada.tasks) == ["plan", "think", "write", "prove", "rest"]
    assert rest.owner is ada
    ada.tasks.append(plan)
    assert titles(ada.tasks) == ["plan", "think", "write", "prove", "rest"]
    ada.tasks.insert(1, rest)
    assert titles(ada.tasks) == ["plan", "rest", "think", "write", "prove"]
    ada.tasks.insert(-1, plan)
    assert titles(ada.tasks) == ["rest", "think", "write", "plan", "prove"]
    ada.tasks.remove(rest)
    with pytest.raises(ValueError, match="is not a member of"):
        ada.tasks.remove(rest)
    assert ada.tasks.pop().title == "prove"
    assert ada.tasks.pop(0).title == "think"
    del ada.tasks[0]
    assert titles(ada.tasks) == ["plan"]
    ada.tasks.extend([rest, staff.insert("Task", title="more")])
    ada.tasks.reverse()
    assert titles(ada.tasks) == ["more", "rest", "plan"]
    ada.tasks.sort(key=lambda task: task.title)
    assert titles(ada.tasks) == ["more", "plan", "rest"]
    staff.save()
    other = staff.container.context()
    assert titles(other.get(ada.id).tasks) == ["more", "plan", "rest"]
    ada.tasks.clear()
    assert len(ada.tasks) == 0


def test_list_items_and_slices_can_be_assigned(staff: Context, ada: Any) -> None:
    new = staff.insert("Task", title="new")
    old = ada.tasks[1]
    ada.tasks[1] = new
    assert titles(ada.tasks) == ["think", "new", "prove"]
    assert old.owner is None
    ada.tasks[0], ada.tasks[2] = ada.tasks[2], ada.tasks[0]
    assert titles(ada.tasks) == ["prove", "new", "think"]
    random.Random(1).shuffle(ada.tasks)
    assert sorted(titles(ada.tasks)) == ["new", "prove", "think"]
    ada.tasks[:] = [old]
    assert titles(ada.tasks) == ["write"]
    with pytest.raises(IndexError):
        ada.tasks[7] = new


def test_snapshot_is_unchanged_by_later_edits(ada: Any) -> None:
    before = ada.tasks.snapshot()
    ada.tasks.clear()
    assert titles(before) == ["think", "write", "prove"]


def test_self_inverse_relationship_is_symmetric(ctx: Context) -> None:
    from corestone import Container, Model

    model = Model({"Person": {"name": "string", "friends": "to-many Person inverse friends"}})
    with Container(model, f"{ctx.container.path}.friends", unsaved="discard") as container:
        friends = container.context()
        ada, boris = friends.insert("Person", name="Ada"), friends.insert("Person", name="Boris")
        ada.friends.add(boris)
        assert ada in boris.friends
        friends.save()
        boris.friends.clear()
        assert boris not in ada.friends


def test_collection_repr_lists_its_members(apollo: Any, ada: Any) -> None:
    assert repr(apollo.members).startswith("{<Employee p")
    assert repr(ada.tasks).startswith("[<Task p")


def test_list_indexes_behave_like_those_of_python(staff: Context, ada: Any) -> None:
    think, write, prove = ada.tasks
    assert ada.tasks[-3] is think
    for wrong in (3, -4):
        with pytest.raises(IndexError):
            _ = ada.tasks[wrong]
    ada.tasks[-1] = think  # changes places
    assert titles(ada.tasks) == ["prove", "write", "think"]
    ada.tasks[1] = write
    assert titles(ada.tasks) == ["prove", "write", "think"]
    ada.tasks[0:2] = [write, prove, write]
    assert titles(ada.tasks) == ["write", "prove", "think"]
    del ada.tasks[-1]
    assert titles(ada.tasks) == ["write", "prove"]
    assert think.owner is None
    del ada.tasks[:]
    assert titles(ada.tasks) == []
    with pytest.raises(IndexError):
        ada.tasks.pop()
    assert [write.owner, prove.owner] == [None, None]


def test_list_can_be_sorted_reversed_and_extended_with_itself(ada: Any) -> None:
    ada.tasks.sort(key=lambda task: task.title, reverse=True)
    assert titles(ada.tasks) == ["write", "think", "prove"]
    ada.tasks.reverse()
    assert titles(ada.tasks) == ["prove", "think", "write"]
    ada.tasks += [ada.tasks[0]]
    assert titles(ada.tasks) == ["prove", "think", "write"]
    ada.tasks.extend(reversed(list(ada.tasks)))
    assert titles(ada.tasks) == ["prove", "think", "write"]


def test_collections_compare_equal_to_equal_python_collections(staff: Context, apollo: Any, ada: Any) -> None:
    tasks = list(ada.tasks)
    assert ada.tasks == tasks
    assert ada.tasks == tuple(tasks)
    assert ada.tasks == ada.tasks.snapshot()
    assert ada.tasks != tasks[::-1]
    assert ada.tasks != set(tasks)
    assert ada.tasks != "abc"
    members = set(apollo.members)
    assert apollo.members == frozenset(members)
    assert apollo.members != list(members)
    cobalt = staff.first("Project", "title == 'Cobalt'")
    assert cobalt.members == set()
    assert cobalt.members != apollo.members
    cobalt.members = members
    assert cobalt.members == apollo.members
    for collection in (apollo.members, ada.tasks):
        with pytest.raises(TypeError):
            hash(collection)


def test_set_operators_return_plain_sets(staff: Context, apollo: Any, ada: Any) -> None:
    elena = staff.first("Employee", "name == 'Elena'")
    assert apollo.members ^ {ada, elena} == (set(apollo.members) - {ada}) | {elena}
    assert apollo.members.isdisjoint({elena})
    assert {elena, *apollo.members} > apollo.members
    apollo.members &= {ada, elena}
    assert names(apollo.members) == ["Ada"]
    apollo.members ^= {ada, elena}
    assert names(apollo.members) == ["Elena"]
    apollo.members.update()
    apollo.members.update((ada,), [elena, ada])
    assert names(apollo.members) == ["Ada", "Elena"]
    assert apollo.members.pop() in (ada, elena)
    apollo.members.clear()
    with pytest.raises(KeyError):
        apollo.members.pop()
    assert apollo.members.discard("Ada") is None
    with pytest.raises(KeyError, match=r"'Ada' is not a member of Project\.members"):
        apollo.members.remove("Ada")


@pytest.mark.parametrize("count", [0, 5, 6, 7])
def test_collection_repr_is_shortened_after_6_members(staff: Context, ada: Any, count: int) -> None:
    ada.tasks = [staff.insert("Task", title=str(at)) for at in range(count)]
    ada.projects = [staff.insert("Project", title=str(at)) for at in range(count)]
    for shown, brackets in ((repr(ada.tasks), "[]"), (repr(ada.projects), "{}")):
        assert (shown[0], shown[-1]) == tuple(brackets)
        assert shown.count("new") == min(count, 6)
        assert shown.endswith(f", … 7 in all{brackets[1]}") == (count == 7)


@pytest.mark.parametrize("wrong", [7, "x", None])
def test_rejected_members_leave_a_list_unchanged(ada: Any, wrong: Any) -> None:
    before = list(ada.tasks)
    bodies: list[Any] = [
        lambda: ada.tasks.append(wrong),
        lambda: ada.tasks.insert(0, wrong),
        lambda: ada.tasks.extend([before[0], wrong]),
        lambda: ada.tasks.__setitem__(0, wrong),
        lambda: ada.tasks.__setitem__(slice(0, 1), [wrong]),
        lambda: setattr(ada, "tasks", [*before, wrong]),
    ]
    for body in bodies:
        with pytest.raises(TypeMismatchError) as caught:
            body()
        assert (caught.value.entity, caught.value.key) == ("Employee", "tasks")
        assert list(ada.tasks) == before
    assert wrong not in ada.tasks
    with pytest.raises(ValueError, match=r"is not a member of Employee\.tasks"):
        ada.tasks.remove(wrong)
