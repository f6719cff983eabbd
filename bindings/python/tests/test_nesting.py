"""Nested contexts, and merging saves of other contexts."""

from __future__ import annotations

import gc
import threading
from pathlib import Path
from typing import Any

import pytest

from corestone import (
    ConflictError,
    Container,
    Context,
    CorestoneError,
    InvalidArgumentError,
    InvalidHandleError,
    ManagedObject,
    MergePolicyType,
    Model,
    ObjectGoneError,
    ValidationError,
    WrongThreadError,
    log,
)
from corestone.graph import nesting

PEOPLE = {
    "Person": {"name": "string", "age": "int32?", "team": "to-one Team? inverse members"},
    "Team": {"name": "string?", "members": "to-many Person inverse team"},
}


@pytest.fixture
def container(tmp_path: Path) -> Any:
    with Container(Model(PEOPLE), tmp_path / "store.sqlite") as opened:
        yield opened


def test_child_context_reads_from_and_saves_into_its_parent(container: Container) -> None:
    parent = container.context()
    child = parent.child()
    assert child.parent is parent
    assert parent.parent is None
    team = parent.insert("Team", name="A")
    ada = parent.insert("Person", name="Ada", team=team)

    theirs = child.fetch("Person")[0]
    assert (theirs.name, theirs.team.name) == ("Ada", "A")
    assert theirs is not ada
    assert theirs.id == ada.id
    assert [each.name for each in child.fetch("Team")[0].members] == ["Ada"]
    theirs.name = "Ada L."
    bob = child.insert("Person", name="Bob")
    bob.team = theirs.team
    assert ada.name == "Ada"
    child.save()
    assert not child.has_changes
    assert ada.name == "Ada L."
    assert sorted(each.name for each in team.members) == ["Ada L.", "Bob"]
    assert len(parent.inserted) == 3
    assert bob.id.is_temporary
    parent.save()
    assert not bob.id.is_temporary
    assert bob.id == parent.fetch("Person", "name == 'Bob'")[0].id
    assert sorted(each.name for each in container.context().fetch("Person")) == ["Ada L.", "Bob"]

    child.delete(bob)
    child.save()
    assert len(parent.deleted) == 1
    parent.save()
    assert container.context().count("Person") == 1


def test_child_save_fails_when_the_parent_lost_the_object(container: Container) -> None:
    parent = container.context()
    child = parent.child()
    theirs = child.get(parent.insert("Person", name="Ada").id)
    theirs.name = "child"
    parent.rollback()
    with pytest.raises(CorestoneError, match="the parent was rolled back or reset"):
        child.save()
    assert not parent.has_changes
    child.rollback()
    assert child.count("Person") == 0
    parent.close()
    assert child.is_closed  # with what is beneath it
    with pytest.raises(InvalidHandleError):
        child.count("Person")


def test_members_added_by_the_parent_follow_the_order_of_the_child(tmp_path: Path) -> None:
    model = Model(
        {
            "Team": {"members": "to-many ordered Person inverse team"},
            "Person": {"name": "string", "team": "to-one Team? inverse members"},
        }
    )
    with Container(model, tmp_path / "ordered.sqlite", unsaved="discard") as container:
        parent = container.context()
        child = parent.child()
        team = parent.insert("Team", members=[parent.insert("Person", name=name) for name in "ab"])
        parent.save()
        theirs = child.get(team.id)
        theirs.members = list(reversed(theirs.members))
        team.members.append(parent.insert("Person", name="c"))
        child.save()
        assert [each.name for each in team.members] == ["b", "a", "c"]


def test_private_parent_and_child_contexts_use_their_queues(container: Container) -> None:
    parent = container.background_context()
    child = parent.child("private")
    parent.perform_and_wait(lambda: parent.insert("Person", name="Ada"))

    def rename() -> None:
        child.fetch("Person")[0].name = "Ada L."
        child.save()

    child.perform_and_wait(rename)
    assert parent.perform_and_wait(lambda: [each.name for each in parent.fetch("Person")]) == ["Ada L."]
    mine = parent.child()
    assert [each.name for each in mine.fetch("Person")] == ["Ada L."]
    with pytest.raises(InvalidArgumentError):
        parent.child("other")  # type: ignore[arg-type]

    confined = container.context()
    raised: list[BaseException] = []

    def stray() -> None:
        try:
            confined.child().count("Person")
        except WrongThreadError as error:
            raised.append(error)

    thread = threading.Thread(target=stray)
    thread.start()
    thread.join()
    assert raised


def test_merge_applies_the_save_of_another_context(container: Container) -> None:
    first, second = container.context(), container.context()
    ada = first.insert("Person", name="Ada")
    bob = first.insert("Person", name="Bob")
    first.save()
    theirs, other = second.fetch("Person", sort="name")
    assert (theirs.name, other.name) == ("Ada", "Bob")
    ada.name = "Alicia"
    first.delete(bob)
    bob_id = bob.id
    eve = first.insert("Person", name="Eve")
    first.save()
    assert theirs.name == "Ada"
    theirs.age = 3
    second.merge_changes({"inserted": [eve], "updated": [ada.id], "deleted": [bob_id]})
    assert (theirs.name, theirs.age) == ("Alicia", 3)
    assert second.registered(eve.id).name == "Eve"
    assert other.is_deleted
    assert other.name == "Bob"
    assert [len(second.inserted), len(second.updated), len(second.deleted)] == [0, 1, 0]
    second.save()
    with pytest.raises(ObjectGoneError):
        _ = other.name
    with pytest.raises(InvalidArgumentError):
        second.merge_changes({"changed": []})
    with pytest.raises(InvalidArgumentError):
        second.merge_changes({"updated": [ada.id.uri]})


@pytest.mark.parametrize("kind", ["confined", "private"])
def test_merged_objects_are_retained_until_the_perform_ends(container: Container, kind: str) -> None:
    first = container.context()
    second = container.context() if kind == "confined" else container.background_context()
    new = first.insert("Person", name="Eve")
    first.save()
    new_id = new.id

    def merge() -> None:
        second.merge_changes({"inserted": [new_id]})
        second.merge_changes({})
        gc.collect()
        assert second.registered(new_id) is not None

    def is_known() -> bool:
        gc.collect()
        return second.registered(new_id) is not None

    second.perform_and_wait(merge)
    assert not second.perform_and_wait(is_known)
    with second.perform():
        merge()
    assert not second.perform_and_wait(is_known)


def test_merged_objects_are_retained_until_the_next_merge(container: Container) -> None:
    first, second = container.context(), container.context()
    new_id = first.insert("Person", name="Eve").id
    first.save()
    new_id = first.fetch("Person")[0].id
    second.merge_changes({"inserted": [new_id]})
    gc.collect()
    assert second.registered(new_id) is not None
    second.merge_changes({})
    gc.collect()
    assert second.registered(new_id) is None


def test_fault_deleted_elsewhere_is_invalidated_by_the_merge(container: Container) -> None:
    first, second = container.context(), container.context()
    ada = first.insert("Person", name="Ada")
    first.save()
    ada_id = ada.id
    theirs = second.get(ada_id)
    second.refresh(theirs, merge=False)
    assert theirs.is_fault
    first.delete(ada)
    first.save()
    second.merge_changes({"deleted": [ada_id]})
    assert theirs.context is None
    assert not theirs.is_deleted
    assert len(second.deleted) == 0
    with pytest.raises(ObjectGoneError, match="is no longer in its context"):
        _ = theirs.name


def test_merge_applies_the_save_of_another_process(container: Container, tmp_path: Path) -> None:
    ctx = container.context()
    ada = ctx.insert("Person", name="Ada")
    ctx.save()
    with Container(Model(PEOPLE), tmp_path / "store.sqlite") as elsewhere:
        other = elsewhere.context()
        other.fetch("Person")[0].name = "Remote"
        eve = other.insert("Person", name="Eve")
        other.save()
        uris = {"updated": [ada.id.uri], "inserted": [eve.id.uri, "x-coredata://elsewhere/Person/p1"]}
    assert ada.name == "Ada"
    ctx.merge_remote_changes(uris)
    assert ada.name == "Remote"
    assert len(ctx.known) == 2


def test_automatic_merging_applies_saves_of_other_contexts(container: Container) -> None:
    first, second = container.context(), container.context()
    background = container.background_context()
    child = first.child()
    assert not child.automatically_merges
    second.automatically_merges = background.automatically_merges = child.automatically_merges = True
    assert second.automatically_merges
    ada = first.insert("Person", name="Ada")
    first.save()
    held = [each.fetch("Person")[0] for each in (second, child)]
    far = background.perform_and_wait(lambda: background.fetch("Person")[0])
    assert [each.name for each in held] == ["Ada", "Ada"]
    assert background.perform_and_wait(lambda: far.name) == "Ada"
    ada.name = "Alicia"
    first.save()
    assert [each.name for each in held] == ["Alicia", "Alicia"]
    assert background.perform_and_wait(lambda: far.name) == "Alicia"
    second.automatically_merges = False
    ada.name = "Zoe"
    first.save()
    assert [each.name for each in held] == ["Alicia", "Zoe"]


def test_permanent_ids_reach_nested_contexts(container: Container) -> None:
    parent = container.context()
    child = parent.child()
    ada = parent.insert("Person", name="Ada")
    theirs = child.get(ada.id)
    child.obtain_permanent_ids([theirs])
    assert not ada.id.is_temporary
    assert ada.id == theirs.id
    bob = child.insert("Person", name="Bob")
    child.obtain_permanent_ids([bob])
    known = bob.id
    child.save()
    parent.save()
    assert container.context().existing(known).name == "Bob"


def test_released_contexts_leave_the_list_of_followers(container: Container) -> None:
    before = len(nesting._followers)
    for _ in range(10_000):
        container.context().automatically_merges = True
    gc.collect()
    assert len(nesting._followers) == before


# ---- what a child sees


def names(found: Any) -> list[str]:
    return sorted(each.name for each in found)


def test_child_fetch_includes_parent_changes_with_one_query(container: Container) -> None:
    parent = container.context()
    for number, name in enumerate(["Ada", "Bob", "Cleo", "Dan"]):
        parent.insert("Person", name=name, age=number)
    parent.save()
    parent.reset()
    child = parent.child()
    with log.recorded() as lines:
        assert names(child.fetch("Person")) == ["Ada", "Bob", "Cleo", "Dan"]
    assert sum(line.startswith("CoreData: sql: SELECT") for line in lines) == 1
    assert len(parent.known) == 0, "only the child creates objects for the results"
    child.reset()
    parent.first("Person", "name == 'Ada'").name = "Parent's"
    parent.delete(parent.first("Person", "name == 'Bob'"))
    parent.insert("Person", name="New", age=9)
    assert names(child.fetch("Person")) == ["Cleo", "Dan", "New", "Parent's"]
    child.first("Person", "name == 'Cleo'").name = "Child's"
    child.insert("Person", name="Own")
    child.delete(child.first("Person", "name == 'Dan'"))
    assert names(child.fetch("Person")) == ["Child's", "New", "Own", "Parent's"]
    assert [each.name for each in child.fetch("Person", sort="-name", limit=2)] == ["Parent's", "Own"]
    # Without its own changes there is still what the parent has not saved.
    assert child.count("Person", include_pending_changes=False) == 4
    assert names(child.fetch("Person", "age == 9", include_pending_changes=False)) == ["New"]
    rows = child.fetch_rows("Person", columns="name")
    assert sorted(row["name"] for row in rows) == ["Cleo", "Dan", "New", "Parent's"]
    parent.rollback()
    child.rollback()


def test_child_keeps_read_values_until_refresh(container: Container) -> None:
    parent = container.context()
    ada = parent.insert("Person", name="Ada", age=1)
    parent.save()
    child = parent.child()
    theirs = child.get(ada.id)
    assert (theirs.name, theirs is not ada, theirs.id == ada.id) == ("Ada", True, True)
    ada.name = "Parent's"
    assert theirs.name == "Ada"
    child.refresh(theirs)
    assert theirs.name == "Parent's"
    assert not child.has_changes
    ada.name = "Ada"
    parent.save()


def test_child_save_overrides_only_the_properties_it_changed(container: Container) -> None:
    parent = container.context()
    team = parent.insert("Team", name="A")
    ada = parent.insert("Person", name="Ada", age=1)
    parent.save()
    first, second = parent.child(), parent.child()
    mine, theirs = first.get(ada.id), second.get(ada.id)
    assert (mine.name, theirs.name) == ("Ada", "Ada")
    ada.name, ada.team = "parent", team
    mine.name, theirs.name = "first", "second"
    first.save()
    assert (ada.name, ada.age, ada.team, first.has_changes, parent.has_changes) == ("first", 1, team, False, True)
    second.save()
    assert (ada.name, ada.age, ada.team) == ("second", 1, team)
    assert container.context().first("Person").name == "Ada", "nothing is written"
    parent.save()
    assert container.context().first("Person").name == "second"


LAYERS: dict[str, dict[str, Any]] = {
    "Task": {"title": "string?", "mood": "string? transient = usual", "owner": "to-one Owner? inverse tasks"},
    "Owner": {"name": "string?", "tasks": "to-many ordered Task inverse owner delete cascade"},
}
calls: list[tuple[Any, ...]] = []


def place(item: Any) -> str | None:
    """The name of the context; none after the save of a deletion."""
    context: Context | None = item.context
    return context.name if context is not None else None


class Task(ManagedObject, entity="Task"):
    title: Any
    mood: Any

    def awake_from_insert(self) -> None:
        calls.append(("insert", place(self)))

    def prepare_for_deletion(self) -> None:
        calls.append(("prepare", place(self)))

    def will_save(self) -> None:
        calls.append(("will", place(self)))

    def did_save(self) -> None:
        calls.append(("did", place(self)))

    def validate_title(self, title: Any) -> Any:
        calls.append(("validate", place(self)))
        return title


@pytest.fixture
def layers(tmp_path: Path) -> Any:
    with Container(Model(LAYERS).bind(Task), tmp_path / "layers.sqlite", unsaved="discard") as opened:
        parent = opened.context()
        child = parent.child()
        parent.name, child.name = "parent", "child"
        calls.clear()
        yield parent, child


def taken() -> list[tuple[Any, ...]]:
    found = list(calls)
    calls.clear()
    return found


def test_save_hooks_run_in_each_context_and_insert_hooks_once(layers: Any) -> None:
    parent, child = layers
    task = child.insert(Task, title="t")
    assert taken() == [("insert", "child")]
    child.save()
    assert [call for call in taken() if call[0] == "insert"] == []
    parent.save()
    saved = taken()
    assert {call[0] for call in saved if call[1] == "parent"} == {"will", "validate", "did"}
    assert "insert" not in {call[0] for call in saved}
    task.title = "u"
    child.save()
    assert {call[0] for call in taken() if call[1] == "child"} == {"will", "validate", "did"}
    parent.save()
    taken()
    child.delete(task)
    child.process_pending_changes()
    assert taken() == [("prepare", "child")]
    child.save()
    parent.save()
    assert "prepare" not in {call[0] for call in taken()}


def test_invalid_object_fails_the_save_of_the_child(container: Container) -> None:
    parent = container.context()
    child = parent.child()
    child.insert("Person")
    with pytest.raises(ValidationError) as raised:
        child.save()
    assert (raised.value.code, raised.value.entity, raised.value.key) == (1570, "Person", "name")
    assert child.has_changes
    assert not parent.has_changes
    child.rollback()


def test_child_save_pushes_transient_values_to_the_parent_only(layers: Any) -> None:
    parent, child = layers
    owner = parent.insert("Owner", name="o", tasks=[parent.insert(Task, title=title) for title in "abc"])
    parent.save()
    theirs = child.get(owner.id)
    theirs.tasks = list(reversed(theirs.tasks))
    theirs.tasks[0].mood = "child's"
    child.save()
    assert [task.title for task in owner.tasks] == ["c", "b", "a"]
    assert [task.mood for task in owner.tasks] == ["child's", "usual", "usual"]
    owner.tasks[1].mood = "parent's"
    fresh = parent.child()
    assert [(task.title, task.mood) for task in fresh.get(owner.id).tasks] == [
        ("c", "usual"), ("b", "usual"), ("a", "usual")
    ]  # fmt: skip


# ---- conflicts of a child


def newer_row(container: Container) -> tuple[Any, Any, Any]:
    """A parent that has the newer row of Ada, and a child that read the one before."""
    parent, other = container.context(), container.context()
    ada = parent.insert("Person", name="Ada", age=1)
    parent.save()
    child = parent.child()
    theirs = child.get(ada.id)
    assert theirs.name == "Ada"
    other.get(ada.id).name = "other's"
    other.save()
    parent.refresh(ada)
    assert ada.name == "other's"
    return parent, child, theirs


@pytest.mark.parametrize("how", ["same", "different", "deleted"])
def test_child_save_conflicts_with_newer_rows(container: Container, how: str) -> None:
    parent, child, theirs = newer_row(container)
    if how == "deleted":
        child.delete(theirs)
    elif how == "same":
        theirs.name = "child's"
    else:
        theirs.age = 7
    if how == "different":
        child.save()
        parent.save()
        stored = container.context().first("Person")
        assert (stored.name, stored.age) == ("other's", 7)
        return
    with pytest.raises(ConflictError) as raised:
        child.save()
    assert (raised.value.code, raised.value.object_uri) == (133020, theirs.id.uri)
    assert [conflict.object_id for conflict in raised.value.conflicts] == [theirs.id]
    assert child.has_changes
    assert not parent.has_changes
    child.save(merge_policy=MergePolicyType.OBJECT_TRUMP)
    parent.save()
    assert names(container.context().fetch("Person")) == ([] if how == "deleted" else ["child's"])


def test_failed_child_save_leaves_the_parent_unchanged(container: Container) -> None:
    parent = container.context()
    ada, bob = parent.insert("Person", name="Ada"), parent.insert("Person", name="Bob")
    parent.save()
    child = parent.child()
    theirs, his = child.get(ada.id), child.get(bob.id)
    theirs.name, his.name = "child's", "child's too"
    child.insert("Person", name="new")
    unread = child.get(parent.insert("Person", name="unsaved").id)
    parent.rollback()
    parent.delete(ada)
    with pytest.raises(ConflictError) as raised:
        child.save()
    assert raised.value.object_uri in (theirs.id.uri, None)
    assert theirs.id.uri in raised.value.message
    assert (list(parent.inserted), list(parent.updated), bob.name) == ([], [], "Bob")
    assert child.has_changes
    child.should_delete_inaccessible_faults = False
    with pytest.raises(ObjectGoneError):
        _ = unread.name
    child.rollback()
    parent.rollback()


# ---- merging, row by row of the table


def merged(container: Container) -> tuple[Any, Any, dict[str, Any]]:
    """Two contexts, and people whom the first one saved and the second one read."""
    first, second = container.context(), container.context()
    people = {name: first.insert("Person", name=name, age=1) for name in ("read", "mine", "unknown", "deleted", "gone")}
    first.save()
    for name in ("read", "mine", "deleted", "gone"):
        people[name + "'"] = second.get(people[name].id)
        assert people[name + "'"].age == 1
    return first, second, people


def test_merge_updates_each_kind_of_object(container: Container) -> None:
    first, second, people = merged(container)
    team = second.insert("Team", name="t")
    second.save()
    people["mine'"].name = "second's"
    people["deleted'"].name = "dropped"
    second.delete(people["deleted'"])
    people["gone'"].team = team
    second.process_pending_changes()
    for name in ("read", "mine", "unknown", "deleted"):
        people[name].name, people[name].age = "first's", 2
    gone = people["gone"].id
    first.delete(people["gone"])
    new = first.insert("Person", name="new")
    first.save()
    second.merge_changes(
        {
            "inserted": [new.id],
            "updated": [people[name].id for name in ("read", "mine", "unknown", "deleted")],
            "deleted": [gone],
        }
    )
    assert (people["read'"].name, people["read'"].age) == ("first's", 2)
    assert (people["mine'"].name, people["mine'"].age) == ("second's", 2)
    assert second.registered(people["unknown"].id) is None
    assert second.registered(new.id).name == "new"
    assert people["deleted'"].is_deleted
    # Deleted here too, which is not a change of this context; its unsaved changes are dropped.
    assert (people["gone'"].is_deleted, people["gone'"].name, people["gone'"].team) == (True, "gone", None)
    assert list(team.members) == []
    assert (set(second.updated) - {team}, set(second.deleted)) == ({people["mine'"]}, {people["deleted'"]})
    with pytest.raises(ConflictError) as raised:
        second.save()
    conflicts = {conflict.object_id for conflict in raised.value.conflicts}
    assert people["deleted"].id in conflicts
    assert people["mine"].id not in conflicts
    second.rollback()
    assert (people["deleted'"].name, people["deleted'"].age) == ("first's", 2)
    second.save()
    with pytest.raises(ObjectGoneError):
        _ = people["gone'"].name


def test_merged_insertions_are_retained_until_merge_or_perform_end(container: Container) -> None:
    first, second = container.context(), container.context()
    new = first.insert("Person", name="new")
    first.save()
    second.merge_changes({"inserted": [new.id]})
    gc.collect()
    assert len(second.known) == 1
    second.merge_changes({})
    gc.collect()
    assert len(second.known) == 0

    def merge() -> None:
        second.merge_changes({"inserted": [new.id]})
        gc.collect()
        with log.recorded() as lines:
            assert second.registered(new.id).name == "new"
        assert lines == [], "the object has its values"

    second.perform_and_wait(merge)
    gc.collect()
    assert len(second.known) == 0


def test_reinserted_row_becomes_another_object(container: Container) -> None:
    first, second = container.context(), container.context()
    ada = first.insert("Person", name="Ada")
    first.save()
    identity = ada.id
    mine = second.get(identity)
    assert mine.name == "Ada"
    second.delete(second.get(identity))
    second.save()
    ada.name = "again"
    with pytest.raises(ConflictError):
        first.save()
    third = container.context()
    first.save(merge_policy=MergePolicyType.OVERWRITE)
    assert ada.id == identity
    with pytest.raises(ObjectGoneError):
        _ = mine.name
    assert (second.get(identity) is mine, second.get(identity).name) == (False, "again")
    assert third.existing(identity).name == "again"


def test_contexts_merge_automatically_only_when_enabled(container: Container) -> None:
    first, second, plain = container.context(), container.context(), container.context()
    second.automatically_merges = True
    ada, bob = first.insert("Person", name="Ada"), first.insert("Person", name="Bob")
    first.save()
    mine, mine_too, theirs = second.get(ada.id), second.get(bob.id), plain.get(ada.id)
    assert (mine.name, mine_too.name, theirs.name) == ("Ada", "Bob", "Ada")
    mine_too.name = "second's"
    mine.age = 1
    ada.name = bob.name = "first's"
    first.save()
    assert (mine.name, mine.age, mine_too.name, theirs.name) == ("first's", 1, "second's", "Ada")
    # A save merges nothing: what both sides changed is a conflict there.
    plain.get(ada.id).name = "plain's"
    with pytest.raises(ConflictError):
        plain.save()
    plain.rollback()
    second.rollback()


def test_context_of_another_thread_merges_at_its_next_clean_fetch(container: Container) -> None:
    own = container.context()
    own.automatically_merges = True
    ada = own.insert("Person", name="Ada", age=1)
    own.save()
    identity = ada.id

    def save_elsewhere(name: str) -> None:
        def run() -> None:
            with container.context() as context:
                context.get(identity).name = name
                context.save()

        thread = threading.Thread(target=run)
        thread.start()
        thread.join()

    save_elsewhere("1")
    assert ada.name == "Ada"
    own.process_pending_changes()
    assert ada.name == "1"
    save_elsewhere("2")
    assert ada.name == "1"
    assert own.count("Person", "name == '2'") == 1
    assert names(own.fetch("Person")) == ["2"]
    assert ada.name == "2"
    ada.age = 5
    own.process_pending_changes()
    save_elsewhere("3")
    list(own.fetch("Person"))
    assert ada.name == "2", "the context has unsaved changes"
    own.rollback()
    own.process_pending_changes()
    assert ada.name == "3"


def test_reference_to_another_context_has_a_remedy_that_works(container: Container, tmp_path: Path) -> None:
    parent, other = container.context(), container.context()
    child = parent.child()
    member, team = child.insert("Person", name="Ada"), other.insert("Team")
    with pytest.raises(InvalidArgumentError, match="save the object there and in each parent context with cst_context"):
        team.members = [member]
    child.save()
    parent.save()
    team.members = [other.get(member.id)]
    with Container(container.model, tmp_path / "second.sqlite", unsaved="discard") as second:
        context = second.context()
        for each in (member, child.insert("Person", name="Bob")):
            with pytest.raises(InvalidArgumentError, match="of another coordinator; insert a copy in this context"):
                context.insert("Team").members = [each]
    for used in (parent, child, other):
        used.rollback()


def test_merge_error_names_the_invalid_id(container: Container) -> None:
    ctx = container.context()
    ada = ctx.insert("Person", name="Ada")
    ctx.save()
    with pytest.raises(InvalidArgumentError, match='"changed" is not a kind of changes to merge'):
        ctx.merge_changes({"changed": [ada.id]})
    for uri in ("", "x", "x-coredata:///Person/t1"):
        with pytest.raises(InvalidArgumentError, match="pass the URI of a saved object") as caught:
            ctx.merge_remote_changes({"updated": [ada.id.uri, uri]})
        assert caught.value.value == uri
