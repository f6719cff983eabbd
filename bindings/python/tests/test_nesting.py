"""Contexts on top of contexts, and merging what others saved."""

from __future__ import annotations

import gc
import threading
from pathlib import Path
from typing import Any

import pytest

from corestone import (
    Container,
    CorestoneError,
    InvalidArgumentError,
    InvalidHandleError,
    Model,
    ObjectGoneError,
    WrongThreadError,
    nesting,
)

PEOPLE = {
    "Person": {"name": "string", "age": "int32?", "team": "to-one Team? inverse members"},
    "Team": {"name": "string?", "members": "to-many Person inverse team"},
}


@pytest.fixture
def container(tmp_path: Path) -> Any:
    with Container(Model(PEOPLE), tmp_path / "store.sqlite") as opened:
        yield opened


def test_a_child_sees_and_saves_into_its_parent(container: Container) -> None:
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


def test_a_parent_that_lost_the_objects_gives_errors(container: Container) -> None:
    parent = container.context()
    child = parent.child()
    theirs = child.get(parent.insert("Person", name="Ada").id)
    theirs.name = "child"
    parent.rollback()
    with pytest.raises(CorestoneError, match="no longer in the parent"):
        child.save()
    assert not parent.has_changes
    child.rollback()
    assert child.count("Person") == 0
    parent.close()
    assert child.is_closed  # with what is beneath it
    with pytest.raises(InvalidHandleError):
        child.count("Person")


def test_members_that_came_to_the_parent_stay_behind_the_order_of_a_child(tmp_path: Path) -> None:
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


def test_private_parents_and_children(container: Container) -> None:
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


def test_merging_what_another_context_saved(container: Container) -> None:
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


def test_a_fault_that_others_deleted_leaves_when_that_is_merged(container: Container) -> None:
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
    with pytest.raises(ObjectGoneError, match="left its context"):
        _ = theirs.name


def test_merging_what_another_process_saved(container: Container, tmp_path: Path) -> None:
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


def test_merging_by_itself(container: Container) -> None:
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


def test_permanent_ids_come_through_the_chain(container: Container) -> None:
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


def test_contexts_that_merged_leave_no_trace(container: Container) -> None:
    before = len(nesting._followers)
    for _ in range(10_000):
        container.context().automatically_merges = True
    gc.collect()
    assert len(nesting._followers) == before
