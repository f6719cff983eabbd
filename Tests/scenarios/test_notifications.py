"""Notifications of contexts and coordinators."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any, Callable

import corestone
import pytest
from corestone import Container, ContextChanges, Coordinator, Model, ObjectID, Store, StoreChanges
from scenario_models import CARS

Opened = Callable[..., Container]


class Posts(list[ContextChanges]):
    """What a context posted."""

    def __call__(self, _: corestone.Context, changes: ContextChanges) -> None:
        self.append(changes)

    def counts(self) -> list[dict[str, int]]:
        kinds = ("inserted", "updated", "deleted", "refreshed", "invalidated")
        return [{kind: len(ids) for kind in kinds if (ids := getattr(each, f"{kind}_ids"))} for each in self]


def add_cars(context: corestone.Context, count: int) -> list[Any]:
    return [context.insert("Car", numberPlate=str(number), maker="FIAT") for number in range(count)]


def test_s222_did_save_lists_inserted_updated_and_deleted_objects(opened: Opened) -> None:
    context = opened(Model({"Person": {"name": "string?", "salary": "int32?"}})).context()
    posts = Posts()
    with context.observe("did_save", posts):
        alice = context.insert("Person", name="Alice")
        context.save()
        assert posts[-1].inserted == [alice]
        alice.name = "Alicia"
        context.save()
        assert posts[-1].updated == [alice]
        context.delete(alice)
        context.save()
    assert posts.counts() == [{"inserted": 1}, {"updated": 1}, {"deleted": 1}]


def test_s225_background_context_posts_once_per_event(opened: Opened) -> None:
    context = opened(Model(CARS)).background_context()
    posts, threads = Posts(), []

    def hear(of: corestone.Context, changes: ContextChanges) -> None:
        posts(of, changes)
        threads.append(threading.get_ident())

    def work() -> None:
        car = context.insert("Car", numberPlate="1")
        car.maker = "FIAT"
        car.maker = "Alfa"
        context.process_pending_changes()

    with context.observe("objects_did_change", hear):
        context.perform_and_wait(work)
    assert posts.counts() == [{"inserted": 1}]
    assert threads == [threading.get_ident()]


def test_s228_refresh_all_posts_one_notification(opened: Opened) -> None:
    context = opened(Model(CARS)).context()
    cars = add_cars(context, 5)
    person = context.insert("Person", firstName="Ada", lastName="L")
    context.save()
    posts = Posts()
    with context.observe("objects_did_change", posts):
        context.refresh_all()
        context.process_pending_changes()
    assert posts.counts() == [{"refreshed": len(cars) + 1}]
    assert person in posts[0].refreshed


def test_s231_merge_notification_lists_only_registered_objects(opened: Opened) -> None:
    container = opened(Model(CARS))
    editor, viewer = container.context(), container.context()
    cars = add_cars(editor, 10)
    editor.save()
    viewer.automatically_merges = True
    seen = viewer.fetch("Car", "numberPlate IN {'1', '2'}")
    assert {car.maker for car in seen} == {"FIAT"}
    posts = Posts()
    with viewer.observe("objects_did_change", posts):
        cars[3].maker = "Alfa"
        editor.save()
        editor.delete(cars[6])
        editor.save()
        cars[2].maker = "Lancia"
        editor.save()
        viewer.process_pending_changes()
    assert posts.counts() == [{"refreshed": 1}]
    assert [car.maker for car in posts[0].refreshed] == ["Lancia"]


def test_s233_ids_of_a_child_save_are_temporary(opened: Opened) -> None:
    root = opened(Model(CARS)).context()
    child = root.child()
    told, saved = Posts(), Posts()
    with child.observe("did_save_object_ids", told), root.observe("did_save_object_ids", saved):
        add_cars(child, 2)
        child.save()
        assert [each.is_temporary for each in told[0].inserted_ids] == [True, True]
        root.rollback()
        add_cars(root, 2)
        root.save()
    assert [each.is_temporary for each in saved[0].inserted_ids] == [False, False]
    assert (len(told), len(saved)) == (1, 1)


@pytest.mark.needs_sqlite("no other store has generations")
def test_s236_notification_of_a_pinned_context_has_its_generation(opened: Opened) -> None:
    """The other half, a store in memory, is a Swift test."""
    container = opened(Model(CARS))
    plain, pinned = container.context(), container.context()
    pinned.pin()
    told, of_pinned = Posts(), Posts()
    with plain.observe("did_save", told), pinned.observe("did_save", of_pinned):
        for context in (plain, pinned):
            add_cars(context, 2)
            context.save()
    assert told[0].query_generation is None
    generation = of_pinned[0].query_generation
    assert generation is not None
    assert not generation.is_current
    assert generation == pinned.query_generation


def test_s239_coordinator_posts_changes_of_its_stores(opened: Opened, tmp_path: Path) -> None:
    container = opened(Model({"Person": {"firstName": "string", "lastName": "string"}}))
    coordinator = container.coordinator
    coordinator.remove_store(container.store)
    heard: list[str] = []
    migrated: list[ObjectID] = []

    def name(store: Store) -> str:
        return Path(store.path).stem

    def before(_: Coordinator, changes: StoreChanges) -> None:
        heard.append(f"will remove {name(changes.removed[0])}")

    def hear(_: Coordinator, changes: StoreChanges) -> None:
        heard.extend(f"added {name(store)}" for store in changes.added)
        heard.extend(f"removed {name(store)}" for store in changes.removed)
        if changes.uuid_changed is not None:
            heard.append(f"UUID-changed {name(changes.uuid_changed.old)} {name(changes.uuid_changed.new)}")
            migrated.extend(changes.uuid_changed.migrated_ids)

    with coordinator.observe("stores_did_change", hear), coordinator.observe("will_remove_store", before):
        first = coordinator.add_store(tmp_path / "A.sqlite")
        context = container.context()
        people = [context.insert("Person", firstName=each, lastName="L") for each in ("Ada", "Bob")]
        context.save()
        old = [person.id for person in people]
        context.reset()
        new = coordinator.migrate_store(first, tmp_path / "B.sqlite")
        coordinator.remove_store(new)
    assert heard == [
        "added A",
        "added B",
        "UUID-changed A B",
        "will remove A",
        "removed A",
        "will remove B",
        "removed B",
    ]
    assert set(migrated[0::2]) == set(old)
    assert all(new.identifier in which.uri for which in migrated[1::2])
    assert len(migrated) == 4


def test_s235_save_and_merge_post_their_notifications(opened: Opened) -> None:
    container = opened(Model({"Person": {"name": "string?"}}))
    view, background = container.context(), container.context()
    people = [view.insert("Person", name=name) for name in ("a", "b")]
    view.save()
    order: list[str] = []
    posts = {name: Posts() for name in ("changed", "saved", "merged", "own")}

    def note(name: str) -> Callable[..., None]:
        return lambda *_: order.append(name)

    with (
        background.observe("objects_did_change", note("did-change")),
        background.observe("will_save", note("will-save")),
        background.observe("did_save", note("did-save")),
    ):
        for person in background.fetch("Person"):
            person.name += "2"
        background.insert("Person", name="c")
        with background.observe("did_save", posts["saved"]):
            background.save()
    assert order == ["did-change", "will-save", "did-save"]
    with view.observe("objects_did_change", posts["changed"]), view.observe("did_merge_object_ids", posts["merged"]):
        view.merge_changes(posts["saved"][0])
    assert posts["changed"].counts() == [{"inserted": 1, "refreshed": 2}]
    assert posts["merged"].counts() == [{"inserted": 1, "updated": 2, "refreshed": 2}]
    with view.observe("did_save", posts["own"]):
        view.save()
    assert posts["own"].counts() == [{}]
    assert not view.has_changes
    assert [person.name for person in people] == ["a2", "b2"]
