"""Observers, notifications, primitive values, differences and clones."""

from __future__ import annotations

import gc
import random
from pathlib import Path
from typing import Any

import pytest

import corestone
from corestone import Container, Context, ContextNotification, Model, ValueChangeKind, log


@pytest.fixture
def ctx(tmp_path: Path) -> Any:
    model = Model(
        {
            "Person": {
                "name": "string",
                "age": "int32?",
                "mood": "string? transient",
                "home": "to-one Place? inverse people",
                "friends": "to-many Person? inverse friends",
            },
            "Place": {
                "name": "string",
                "people": "to-many Person? inverse home",
                "stops": "to-many Stop? ordered inverse place",
            },
            "Stop": {"name": "string", "place": "to-one Place? inverse stops"},
        }
    )
    with Container(model, tmp_path / "a.sqlite", unsaved="discard") as container, container.context() as context:
        yield context


class Heard(list[Any]):
    def __call__(self, item: Any, change: Any) -> None:
        self.append((change.kind.name, change.key_path, change.old, change.new, change.indexes))

    def take(self) -> list[Any]:
        found = list(self)
        self.clear()
        return found


def test_observer_is_notified_of_values_and_key_paths(ctx: Any) -> None:
    heard = Heard()
    ada = ctx.insert("Person", name="Ada")
    paris, rome = ctx.insert("Place", name="Paris"), ctx.insert("Place", name="Rome")
    with ada.observe("name", heard, initial=True):
        assert heard.take() == [("SETTING", "name", None, "Ada", [])]
        ada.name = "Eve"
        assert heard.take() == [("SETTING", "name", "Ada", "Eve", [])]
    ada.name = "Zoe"
    assert heard == []
    token = ada.observe("home.name", heard)
    ada.home = paris
    paris.name = "PARIS"
    ada.home = rome
    paris.name = "x"
    assert [each[2:4] for each in heard.take()] == [(None, "Paris"), ("Paris", "PARIS"), ("PARIS", "Rome")]
    token.cancel()
    token.cancel()
    rome.name = "ROME"
    assert heard == []
    with pytest.raises(corestone.InvalidArgumentError):
        ada.observe("friends.name", heard)


def test_observer_is_notified_of_members_and_indexes(ctx: Any) -> None:
    heard = Heard()
    paris = ctx.insert("Place", name="Paris")
    a, b = ctx.insert("Stop", name="a"), ctx.insert("Stop", name="b")
    ada = ctx.insert("Person", name="Ada")
    tokens = [paris.observe("stops", heard), paris.observe("people", heard)]
    paris.stops.append(a)
    paris.stops.insert(0, b)
    paris.stops.insert(0, a)
    paris.stops.insert(1, a)
    paris.people.add(ada)
    ada.home = None
    paris.stops = [a]
    assert heard == [
        ("INSERTION", "stops", None, [a], [0]),
        ("INSERTION", "stops", None, [b], [0]),
        ("REPLACEMENT", "stops", [b, a], [a, b], [0, 1]),
        ("REPLACEMENT", "stops", [a, b], [b, a], [0, 1]),
        ("INSERTION", "people", None, [ada], []),
        ("REMOVAL", "people", [ada], None, []),
        ("SETTING", "stops", [b, a], [a], []),
    ]
    del tokens


def test_member_restored_to_an_unread_list_is_reported(ctx: Any) -> None:
    paris = ctx.insert("Place", name="Paris")
    ctx.insert("Person", name="Ada", home=paris)
    ctx.save()
    with ctx.container.context() as other:
        again, ada = other.get(paris.id), other.fetch("Person")[0]
        heard = Heard()
        with again.observe("people", heard):
            ada.home = None
            ada.home = again
            assert again.has_fault("people")
        assert heard == [("REMOVAL", "people", [ada], None, []), ("INSERTION", "people", None, [ada], [])]


def test_released_token_ends_the_observation(ctx: Any) -> None:
    heard = Heard()
    ada = ctx.insert("Person", name="Ada")
    ada.observe("name", heard)
    gc.collect()
    ada.name = "Eve"
    assert heard == []


def test_observer_may_raise_or_reset_the_context(ctx: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    failures: list[Any] = []
    monkeypatch.setattr("sys.unraisablehook", lambda what: failures.append(what.exc_value))
    ada = ctx.insert("Person", name="Ada")

    def fail(item: Any, change: Any) -> None:
        raise ValueError("no")

    with ada.observe("name", fail):
        ada.name = "Eve"
    assert [str(each) for each in failures] == ["no"]
    token = ada.observe("name", lambda item, change: ctx.reset())
    ada.name = "Zoe"
    with pytest.raises(corestone.ObjectGoneError):
        _ = ada.name
    token.cancel()


def test_context_notifications_list_changed_objects(ctx: Any) -> None:
    heard: list[Any] = []

    def hear(context: Any, changes: Any) -> None:
        assert context is ctx
        heard.append((changes.inserted, changes.updated, changes.deleted_ids))

    ada = ctx.insert("Person", name="Ada")
    with ctx.observe(ContextNotification.DID_SAVE, hear):
        ctx.save()
        eve = ctx.insert("Person", name="Eve")
        ada.age = 3
        ctx.save()
        gone = ada.id
        ctx.delete(ada)
        ctx.save()
    ctx.delete(eve)
    ctx.save()
    assert heard == [([ada], [], []), ([eve], [ada], []), ([], [], [gone])]
    ids: list[Any] = []
    token = ctx.observe("did_save_object_ids", lambda context, changes: ids.extend(changes.inserted_ids))
    bob = ctx.insert("Person", name="Bob")
    ctx.save()
    assert ids == [bob.id]
    token.cancel()
    with pytest.raises(KeyError):
        ctx.observe("whatever", hear)


def test_cancelling_one_observer_keeps_the_others(ctx: Any) -> None:
    heard: list[str] = []
    first = ctx.observe("did_save", lambda context, changes: heard.append("first"))
    with ctx.observe("did_save", lambda context, changes: heard.append("second")):
        first.cancel()
        ctx.insert("Person", name="Ada")
        ctx.save()
    assert heard == ["second"]


def test_objects_of_a_removed_store_are_invalidated(tmp_path: Path) -> None:
    coordinator = corestone.Coordinator(Model({"Person": {"name": "string"}}))
    first, second = (coordinator.add_store(tmp_path / name) for name in ("a.sqlite", "b.sqlite"))
    ctx = coordinator.context()
    stays, goes, unheld = (ctx.insert("Person", name=name) for name in ("Stays", "Goes", "Unheld"))
    ctx.assign(goes, second)
    ctx.assign(unheld, second)
    ctx.save()
    gone = {goes.id, unheld.id}
    del unheld
    worker = coordinator.background_context()
    theirs = worker.perform_and_wait(lambda: worker.fetch("Person", sort="name"))
    told: list[Any] = []
    controller = corestone.FetchedResultsController(ctx, corestone.FetchRequest("Person", sort="name"))

    class Delegate:
        def did_change_object(self, controller: Any, change: Any) -> None:
            told.append((change.kind.name, change.object))

    controller.delegate = Delegate()
    controller.perform_fetch()
    heard: list[Any] = []
    with (
        ctx.observe("objects_did_change", lambda _, changes: heard.append(changes)),
        worker.observe("objects_did_change", lambda _, changes: heard.append(changes)),
    ):
        coordinator.remove_store(second)
        assert [item.name for item in controller.fetched_objects or []] == ["Stays"]
        assert goes in heard[0].invalidated
        assert set(heard[0].invalidated_ids) == gone
        assert heard[0].updated == heard[0].deleted == []
        worker.perform_and_wait(lambda: None)
        assert set(heard[1].invalidated_ids) == gone
    for item in (goes, *heard[0].invalidated):
        assert item.is_fault
        with pytest.raises(corestone.ObjectGoneError, match="removed from the coordinator"):
            _ = item.name
    assert [kind for kind, _ in told] == ["DELETE", "DELETE"]
    assert goes in [item for _, item in told]
    for which in gone:
        assert ctx.registered(which) is None
        with pytest.raises(corestone.ObjectGoneError):
            ctx.existing(which)
    del theirs
    assert stays.name == "Stays"
    assert [store.identifier for store in coordinator.stores] == [first.identifier]
    coordinator.close()


def test_rollback_reports_restored_objects_as_inserted(ctx: Any) -> None:
    ada = ctx.insert("Person", name="Ada")
    ctx.save()
    heard: list[Any] = []
    with ctx.observe("objects_did_change", lambda _, changes: heard.append((changes.inserted, changes.deleted))):
        ctx.delete(ada)
        ctx.process_pending_changes()
        ctx.rollback()
    assert heard == [([], [ada]), ([ada], [])]


@pytest.mark.parametrize("how", ["leave", "delete"])
@pytest.mark.parametrize("ordered", ["ordered", ""])
@pytest.mark.parametrize("inverse", ["to-one", "to-many"])
def test_rollback_restores_members_of_an_observed_relationship(
    tmp_path: Path, ordered: str, inverse: str, how: str
) -> None:
    model = Model(
        {
            "Team": {"members": f"to-many {ordered} Player inverse team"},
            "Player": {"name": "string", "team": f"{inverse} Team? inverse members"},
        }
    )
    with Container(model, tmp_path / "teams.sqlite", unsaved="discard") as container:
        context = container.context()
        first, *others = players = [context.insert("Player", name=name) for name in "abc"]
        team = context.insert("Team", members=players)
        context.save()
        before = list(team.members)
        heard = Heard()
        with team.observe("members", heard):
            if how == "leave":
                team.members = [first]
            else:
                for player in others:
                    context.delete(player)
                context.process_pending_changes()
            heard.clear()
            context.rollback()
            [(kind, _, old, new, _)] = heard
            assert (kind, old, set(new)) == ("INSERTION", None, set(others))
        assert (list(team.members) if ordered else set(team.members)) == (before if ordered else set(before))
        assert not context.has_changes


def test_did_save_reports_unreferenced_deleted_objects(ctx: Any) -> None:
    ctx.insert("Person", name="Ada")
    ctx.save()
    seen: list[Any] = []
    token = ctx.observe("did_save", lambda context, changes: seen.extend(changes.deleted))
    ctx.delete(ctx.fetch("Person")[0])
    gc.collect()
    ctx.save()
    assert len(seen) == 1
    token.cancel()


def test_changed_and_committed_values_are_reported(ctx: Any) -> None:
    paris = ctx.insert("Place", name="Paris")
    ada = ctx.insert("Person", name="Ada", home=paris)
    assert ada.changed_values() == {"name": "Ada", "home": paris}
    ctx.save()
    assert ada.changed_values() == {}
    assert not ada.has_persistent_changed_values
    ada.name, ada.home, ada.mood = "Eve", None, "fine"
    assert ada.changed_values() == {"name": "Eve", "home": None}
    assert ada.changed_values_for_current_event() == {"name": "Ada", "home": paris}
    assert ada.committed_values("name", "home") == {"name": "Ada", "home": paris.id}
    assert ada.committed_values()["age"] is None
    ada.name, ada.home = "Ada", paris
    assert ada.has_changes
    assert not ada.has_persistent_changed_values
    assert paris.object_ids("people") == [ada.id]
    assert ada.faulting_state == 0


def test_relationship_faults_fire_on_access(ctx: Any) -> None:
    paris = ctx.insert("Place", name="Paris")
    ada = ctx.insert("Person", name="Ada", home=paris)
    ctx.save()
    with ctx.container.context() as other:
        again = other.get(paris.id)
        assert again.faulting_state == 1
        assert again.has_fault("people")
        assert again.get_primitive("people") is None
        assert again.get_primitive("name") is None
        assert again.object_ids("people") == [ada.id]
        assert again.is_fault
        again.will_access("people")
        assert [each.name for each in again.get_primitive("people")] == ["Ada"]
        again.did_access("people")
        assert not again.has_fault("people")


def test_observer_is_notified_of_merged_saves(ctx: Any) -> None:
    ctx.insert("Person", name="Ada", home=ctx.insert("Place", name="Paris"))
    ctx.save()
    ada = ctx.fetch("Person")[0]
    heard = Heard()

    def save_elsewhere(person: str, place: str) -> None:
        with ctx.container.context() as other:
            again = other.get(ada.id)
            again.name, again.home.name = person, place
            other.save()

    with ada.observe("name", heard), ada.observe("home.name", heard):
        save_elsewhere("PP", "Rome")
        ctx.refresh(ada, merge=True)
        assert heard.take() == [("SETTING", "name", "Ada", "PP", [])]
        ctx.refresh_all()
        assert heard.take() == [("SETTING", "home.name", "Paris", "Rome", [])]
        save_elsewhere("Eve", "Oslo")
        ctx.refresh(ada, merge=False)
        assert heard.take() == [("SETTING", "name", "PP", "Eve", [])]
        ctx.refresh_all()
        assert heard.take() == [("SETTING", "home.name", "Rome", "Oslo", [])]
    assert not ctx.has_changes


def test_will_change_and_did_change_notify_observers(ctx: Any) -> None:
    paris, ada = ctx.insert("Place", name="Paris"), ctx.insert("Person", name="Ada")
    ctx.save()
    heard = Heard()
    token = ada.observe("name", heard)
    with ada.changing("name"):
        ada.set_primitive("name", "Eve")
    assert heard == [("SETTING", "name", "Ada", "Eve", [])]
    assert ada.is_updated
    paris.will_change("people", "union", [ada])
    paris.set_primitive("people", [ada])
    paris.did_change("people", "union", [ada])
    assert ada.home == paris
    with pytest.raises(corestone.InvalidArgumentError):
        ada.did_change("name")
    token.cancel()


def test_clone_with_depth_copies_included_relationships(ctx: Any) -> None:
    paris = ctx.insert("Place", name="Paris")
    paris.stops = [ctx.insert("Stop", name=each) for each in "cab"]
    ada = ctx.insert("Person", name="Ada", home=paris)
    copy = paris.clone(depth=1, including=["stops"])
    assert [each.name for each in copy.stops] == ["c", "a", "b"]
    assert len(paris.stops) == 3
    assert len(copy.people) == 0
    twin = ada.clone()
    assert twin.name == "Ada"
    assert twin.home == paris
    assert len(paris.people) == 2


def test_ignored_changes_are_not_recorded(tmp_path: Path) -> None:
    model = Model({"Car": {"speed": "double? transient"}})
    model["Car"].change("speed", ignores_changes=True)
    with Container(model, tmp_path / "a.sqlite") as container, container.context() as ctx:
        car = ctx.insert("Car")
        ctx.save()
        car.speed = 3.0
        assert not car.has_changes
        assert car.speed == 3.0


def test_value_change_kinds_equal_those_of_core_data() -> None:
    assert [kind.value for kind in ValueChangeKind] == [1, 2, 3, 4]


def test_coordinator_notifies_of_added_and_removed_stores(tmp_path: Path) -> None:
    container = Container(Model({"Person": {"name": "string"}}), tmp_path / "a.sqlite")
    coordinator = container.coordinator
    heard: list[str] = []

    def hear(of: corestone.Coordinator, changes: corestone.StoreChanges) -> None:
        assert of is coordinator
        assert changes.uuid_changed is None
        heard.extend(f"added {Path(store.path).name}" for store in changes.added)
        heard.extend(f"removed {Path(store.path).name}" for store in changes.removed)

    def before(_: corestone.Coordinator, changes: corestone.StoreChanges) -> None:
        with container.context() as context:
            heard.append(f"will remove {Path(changes.removed[0].path).name}, {context.count('Person')}")

    token = coordinator.observe("stores_did_change", hear)
    with coordinator.observe(corestone.CoordinatorNotification.WILL_REMOVE_STORE, before):
        coordinator.remove_store(container.store)
    coordinator.add_store(tmp_path / "b.sqlite")
    assert heard == ["will remove a.sqlite, 0", "removed a.sqlite", "added b.sqlite"]
    token.cancel()
    coordinator.destroy_store(tmp_path / "b.sqlite")
    assert len(heard) == 3
    with pytest.raises(KeyError):
        coordinator.observe("stores_will_change", hear)


def test_save_notification_lists_all_changes(ctx: Any) -> None:
    ada, bob, eve = (ctx.insert("Person", name=name) for name in ("Ada", "Bob", "Eve"))
    ctx.save()
    heard: list[Any] = []
    token = ctx.observe("did_save", lambda own, changes: heard.append((own, changes)))
    ids = ctx.observe(ContextNotification.DID_SAVE_OBJECT_IDS, lambda own, changes: heard.append((own, changes)))
    new = ctx.insert("Person", name="New")
    ada.age = 5
    gone = bob.id
    ctx.delete(bob)
    ctx.save()
    (own, told), (other, only_ids) = heard
    assert own is other is ctx
    assert (told.inserted, told.updated) == ([new], [ada])
    assert (told.refreshed, told.invalidated, told.invalidated_all) == ([], [], False)
    for each in (told, only_ids):
        assert (each.inserted_ids, each.updated_ids, each.deleted_ids) == ([new.id], [ada.id], [gone])
        assert (each.refreshed_ids, each.invalidated_ids, each.query_generation) == ([], [], None)
        assert (each.ids.inserted, each.ids.updated, each.ids.deleted) == ([new.id], [ada.id], [gone])
        assert repr(each) == "<ContextChanges: 1 inserted, 1 updated, 1 deleted>"
    assert (only_ids.inserted, only_ids.updated, only_ids.deleted) == ([], [], [])
    assert eve.id not in told.updated_ids
    del token, ids


def test_reset_posts_all_invalidated(ctx: Any) -> None:
    ctx.insert("Person", name="Ada")
    ctx.save()
    heard: list[Any] = []
    with ctx.observe("objects_did_change", lambda _, changes: heard.append(changes)):
        ctx.reset()
    (told,) = heard
    assert told.invalidated_all
    assert told.ids.invalidated_all
    assert repr(told) in ("<ContextChanges: all invalidated>", "<ContextChanges: 1 invalidated>")


def test_observer_reads_current_values(ctx: Any) -> None:
    """Prefetched values are not visible in the observer or afterwards."""
    for name in ("a", "b", "c"):
        ctx.insert("Person", name=name, age=1)
    ctx.save()
    people = ctx.fetch("Person", sort="name")
    seen: list[list[int]] = []

    def look(own: Any, _: Any) -> None:
        seen.append([each.age for each in people])
        people[2].age = 7

    with ctx.observe("will_save", look):
        assert [each.age for each in people] == [1, 1, 1]
        people[0].age = 5
        ctx.save()
    assert seen[0] == [5, 1, 1]
    assert [each.age for each in people] == [5, 1, 7]


def test_observer_receives_prior_and_initial_changes(ctx: Any) -> None:
    told: list[tuple[bool, Any, Any]] = []
    ada = ctx.insert("Person", name="Ada")
    with ada.observe("name", lambda _, change: told.append((change.is_prior, change.old, change.new)), prior=True):
        ada.name = "Eve"
    assert told == [(True, "Ada", None), (False, "Ada", "Eve")]
    told.clear()
    both = ada.observe(
        "name", lambda _, change: told.append((change.is_prior, change.old, change.new)), prior=True, initial=True
    )
    ada.name = "Zoe"
    assert told == [(False, None, "Eve"), (True, "Eve", None), (False, "Eve", "Zoe")]
    both.cancel()


def test_notification_names_are_case_insensitive(ctx: Any) -> None:
    for name in ContextNotification:
        for given in (name, name.name, name.name.lower()):
            ctx.observe(given, lambda *_: None).cancel()
    for wrong in ("did_sav", "stores_did_change", ""):
        with pytest.raises(corestone.InvalidArgumentError, match="notification must be") as caught:
            ctx.observe(wrong, print)
        assert isinstance(caught.value, KeyError)
    with pytest.raises(corestone.InvalidArgumentError, match=r"function is None; .* for an async iterator"):
        ctx.observe("did_save", None)


# ---- reported and unreported changes


def test_setting_an_equal_value_notifies_but_an_equal_target_does_not(ctx: Any) -> None:
    paris, ada = ctx.insert("Place", name="Paris"), ctx.insert("Person", name="Ada")
    ada.home = paris
    heard = Heard()
    tokens = [ada.observe("name", heard), ada.observe("home", heard), paris.observe("people", heard)]
    ada.name = "Ada"
    ada.home = paris
    paris.people.add(ada)
    ada.age = 3
    assert heard.take() == [("SETTING", "name", "Ada", "Ada", [])]
    ctx.save()
    assert heard == []
    ada.home = None
    # When both sides are done.
    assert sorted(heard.take()) == [("REMOVAL", "people", [ada], None, []), ("SETTING", "home", paris, None, [])]
    del tokens


def test_both_sides_are_updated_before_either_is_notified(ctx: Any) -> None:
    paris, rome, ada = ctx.insert("Place", name="P"), ctx.insert("Place", name="R"), ctx.insert("Person", name="Ada")
    ada.home = paris
    seen: list[Any] = []

    def look(item: Any, change: Any) -> None:
        seen.append((ada.home.name, set(paris.people), set(rome.people)))

    tokens = [ada.observe("home", look), paris.observe("people", look), rome.observe("people", look)]
    ada.home = rome
    assert seen == [("R", set(), {ada})] * 3
    seen.clear()
    paris.people = {ada}
    assert seen == [("P", {ada}, set())] * 3
    del tokens


@pytest.mark.parametrize("wrong", ["home", "friends"])
def test_prior_observer_may_set_attributes_but_not_relationships(ctx: Any, wrong: str) -> None:
    paris, rome = ctx.insert("Place", name="Paris"), ctx.insert("Place", name="Rome")
    ada = ctx.insert("Person", name="Ada", home=paris)
    told: list[Any] = []

    def hear(item: Any, change: Any) -> None:
        told.append((change.is_prior, change.old, change.new, ada.home))
        if change.is_prior:
            paris.name = "set before"
            with pytest.raises(corestone.InvalidArgumentError, match="observe without CST_OBSERVE_PRIOR"):
                setattr(ada, wrong, rome if wrong == "home" else [ada])
        else:
            ada.friends = [ada]

    token = ada.observe("home", hear, prior=True)
    ada.home = rome
    assert told == [(True, paris, None, paris), (False, paris, rome, rome)]
    assert (paris.name, list(ada.friends)) == ("set before", [ada])
    token.cancel()


def test_recursive_observer_is_called_at_most_8_times(ctx: Any) -> None:
    ada = ctx.insert("Person", name="Ada", age=0)
    ctx.save()
    calls: list[str] = []

    def grow(item: Any, change: Any) -> None:
        calls.append("value")
        ada.age += 1

    def again(context: Any, changes: Any) -> None:
        calls.append("save")
        ada.age += 1
        ctx.save()

    with ada.observe("age", grow):
        ada.age = 1
    assert (calls, ada.age) == (["value"] * 8, 9)
    calls.clear()
    with ctx.observe("did_save", again):
        ctx.save()
    assert calls == ["save"] * 8
    assert not ctx.has_changes


@pytest.mark.parametrize("how", ["rollback", "undo", "redo", "refresh", "merge", "policy"])
def test_observers_are_notified_after_all_changes_are_made(ctx: Any, how: str) -> None:
    ctx.undo_manager = corestone.UndoManager()
    paris, rome = ctx.insert("Place", name="Paris"), ctx.insert("Place", name="Rome")
    ada = ctx.insert("Person", name="Ada", home=paris, age=1)
    ctx.save()
    before: tuple[Any, ...] = ("Ada", paris, {ada}, set())
    after: tuple[Any, ...] = ("Eve", rome, set(), {ada})

    def change(context: Any) -> None:
        person = context.get(ada.id)
        person.name, person.home = "Eve", context.get(rome.id)

    def now() -> Any:
        return (ada.name, ada.home, set(paris.people), set(rome.people))

    assert now() == before
    expected = after
    if how in ("rollback", "undo", "redo"):
        change(ctx)
        ctx.process_pending_changes()
        expected = before
        if how == "redo":
            ctx.undo()
            expected = after
    else:
        other = ctx.container.context()
        change(other)
        other.save()
    seen: list[Any] = []
    own = [(ada, "name"), (ada, "home"), (ada, "age")]
    lists = [(paris, "people"), (rome, "people")] if how in ("rollback", "undo", "redo") else []
    tokens = [
        item.observe(key, lambda _, change: seen.append((change.key_path, now()[:2]))) for item, key in own + lists
    ]
    if how == "refresh":
        ctx.refresh_all()
    elif how == "merge":
        ctx.merge_changes({"updated": [ada.id, paris.id, rome.id]})
    elif how == "policy":
        ada.mood = "sad"
        ada.friends = [ada]
        ctx.save(merge_policy=corestone.MergePolicy.STORE_TRUMP)
    else:
        getattr(ctx, how)()
    assert now() == expected
    assert sorted(path for path, _ in seen) == ["home", "name", *(key for _, key in lists)]
    assert [state for _, state in seen] == [expected[:2]] * len(seen)
    del tokens


@pytest.mark.parametrize("how", ["refresh", "merge", "STORE_TRUMP", "OBJECT_TRUMP", "ROLLBACK"])
@pytest.mark.parametrize("observed", ["lists", "lists and member"])
@pytest.mark.parametrize(("entity", "key", "members"), [("Person", "home", "people"), ("Stop", "place", "stops")])
def test_merge_notifies_read_lists_of_moved_members(
    ctx: Any, how: str, observed: str, entity: str, key: str, members: str
) -> None:
    paris, rome, oslo = (ctx.insert("Place", name=name) for name in ("Paris", "Rome", "Oslo"))
    ada, eve = (ctx.insert(entity, name=name, **{key: paris}) for name in ("Ada", "Eve"))
    ctx.save()
    assert [set(place[members]) for place in (paris, rome, oslo)] == [{ada, eve}, set(), set()]
    other = ctx.container.context()
    for member in (ada, eve):
        other.get(member.id)[key] = other.get(rome.id)
    other.save()
    heard = Heard()
    tokens = [place.observe(members, heard) for place in (paris, rome, oslo)]
    if observed == "lists and member":
        tokens += [ada.observe(key, heard), eve.observe(key, heard)]
    if how == "refresh":
        ctx.refresh_all()
    elif how == "merge":
        ctx.merge_changes({"updated": [ada, eve, paris, rome, oslo]})
    else:
        ada.name, eve.name = "A", "E"
        ctx.save(merge_policy=getattr(corestone.MergePolicy, how))
    told = {change[0]: change for change in heard if change[1] == members}
    assert (set(told["REMOVAL"][2]), set(told["INSERTION"][3])) == ({ada, eve}, {ada, eve})
    expected = ["INSERTION", "REMOVAL"] + ["SETTING"] * 2 * (observed == "lists and member")
    assert sorted(change[0] for change in heard) == expected
    assert [change[2:4] for change in heard if change[0] == "SETTING"] == [(paris, rome)] * expected.count("SETTING")
    assert [set(place[members]) for place in (paris, rome, oslo)] == [set(), {ada, eve}, set()]
    ctx.refresh_all()
    assert len(heard) == len(expected)
    del tokens


def test_merge_notifies_lists_of_added_and_removed_members(ctx: Any) -> None:
    paris = ctx.insert("Place", name="Paris")
    ada, eve = (ctx.insert("Person", name=name, home=paris) for name in ("Ada", "Eve"))
    ctx.save()
    assert set(paris.people) == {ada, eve}
    other = ctx.container.context()
    new = other.insert("Person", name="New", home=other.get(paris.id))
    other.delete(other.get(eve.id))
    other.save()
    heard = Heard()
    with paris.observe("people", heard):
        # The merge refreshes only owners without changes.
        paris.name = "PARIS"
        ctx.merge_changes({"inserted": [new.id]})
        new = ctx.get(new.id)
        assert heard.take() == [("REPLACEMENT", "people", [eve], [new], [])]
        ctx.merge_changes({"deleted": [eve.id]})
        assert heard.take() == []
        assert set(paris.people) == {ada, new}
        ada.age = 2
        other.delete(other.get(ada.id))
        other.save()
        ctx.save(merge_policy=corestone.MergePolicy.STORE_TRUMP)
        assert heard.take() == [("REMOVAL", "people", [ada], None, [])]
        other.delete(other.get(new.id))
        other.save()
        ctx.merge_changes({"deleted": [new.id]})
        assert heard.take() == [("REMOVAL", "people", [new], None, [])]


def selects(lines: list[str], table: str) -> int:
    return sum(line.startswith("CoreData: sql: SELECT") and f"FROM {table} " in line for line in lines)


def test_refresh_rereads_observed_objects_with_one_query_per_tree(ctx: Any) -> None:
    people = [ctx.insert("Person", name=name) for name in "abcd"]
    places = [ctx.insert("Place", name=name) for name in "xyz"]
    ctx.save()
    heard = Heard()
    tokens = [item.observe("name", heard) for item in people[:3] + places[:2]]
    with log.recorded() as lines:
        ctx.refresh_all()
    assert (selects(lines, "ZPERSON"), selects(lines, "ZPLACE")) == (1, 1)
    # No fault where there is an observer.
    assert [item.is_fault for item in people] == [False, False, False, True]
    assert [item.is_fault for item in places] == [False, False, True]
    assert heard == [], "unchanged values are not reported"
    for token in tokens:
        token.cancel()
    ctx.refresh_all()
    assert people[0].is_fault


def test_observed_unread_list_stays_unread_unless_ordered(ctx: Any) -> None:
    paris = ctx.insert("Place", name="Paris")
    for name in "ab":
        ctx.insert("Person", name=name, home=paris)
        ctx.insert("Stop", name=name, place=paris)
    ctx.save()
    with ctx.container.context() as other:
        again = other.get(paris.id)
        heard = Heard()
        tokens = [again.observe("people", heard), again.observe("stops", heard)]
        new = other.insert("Person", name="c", home=again)
        stop = other.insert("Stop", name="c", place=again)
        assert again.has_fault("people")
        assert not again.has_fault("stops")
        assert heard == [("INSERTION", "people", None, [new], []), ("INSERTION", "stops", None, [stop], [2])]
        other.rollback()
        del tokens


@pytest.mark.parametrize("end", ["delete", "reset"])
def test_observed_object_is_retained_until_it_leaves_its_context(ctx: Any, end: str) -> None:
    heard = Heard()
    paris = ctx.insert("Place", name="Paris")
    ctx.save()
    identity = paris.id
    token = paris.observe("name", heard)
    del paris
    gc.collect()
    paris = ctx.registered(identity)
    assert paris is not None, "the observed object is retained"
    if end == "reset":
        ctx.reset()
        # Another object stands for the row, without an observer.
        ctx.get(identity).name = "Rome"
        ctx.save()
        assert ctx.get(identity).name == "Rome"
    else:
        ctx.delete(paris)
        ctx.save()
        assert ctx.registered(identity) is None
    token.cancel()
    assert heard == []


def test_observe_error_names_the_property(ctx: Any) -> None:
    ada = ctx.insert("Person", name="Ada")
    for path, entity, key, message in [
        ("nme", "Person", "nme", "did you mean"),
        ("home.nme", "Place", "nme", "nme"),
        ("friends.name", "Person", "friends.name", 'not a to-one relationship; end the path at "friends"'),
        ("home.people.name", "Place", "people.name", 'not a to-one relationship; end the path at "people"'),
        ("friends.@count", "Person", "friends.@count", 'not a to-one relationship; end the path at "friends"'),
        ("name.x", "Person", "name.x", 'not a to-one relationship; end the path at "name"'),
    ]:
        with pytest.raises(corestone.InvalidArgumentError, match=message) as caught:
            ada.observe(path, print)
        assert (caught.value.entity, caught.value.key) == (entity, key), path
    ctx.save()
    ctx.delete(ada)
    ctx.save()
    with pytest.raises(corestone.ObjectGoneError) as gone:
        ada.observe("name", print)
    assert gone.value.code == 133000


# ---- notifications


def posts(context: Any) -> tuple[list[Any], list[Any]]:
    """What a context posts from now on: names, and how many objects of each kind."""
    told: list[Any] = []

    def note(name: str) -> Any:
        return context.observe(
            name,
            lambda _, changes: told.append(
                (name, *(len(getattr(changes.ids, kind)) for kind in ("inserted", "updated", "deleted", "refreshed")))
            ),
        )

    return told, [note(kind.name.lower()) for kind in ContextNotification]


def test_empty_and_failed_saves_post_their_notifications(ctx: Any) -> None:
    ada = ctx.insert("Person", name="Ada")
    ctx.save()
    told, tokens = posts(ctx)
    ctx.save()
    assert told == [("did_save", 0, 0, 0, 0), ("did_save_object_ids", 0, 0, 0, 0)]
    told.clear()
    list(ctx.fetch("Person"))
    assert told == []
    ada.age = 1
    list(ctx.fetch("Person"))
    # Pending changes are processed first; these are reported, not the fetch.
    assert told == [("objects_did_change", 0, 1, 0, 0)]
    told.clear()
    ada.name = None
    with pytest.raises(corestone.ValidationError):
        ctx.save()
    assert [each[0] for each in told] == ["objects_did_change", "will_save"]
    told.clear()
    ada.name = "Eve"
    ctx.save()
    assert [each[0] for each in told] == ["objects_did_change", "will_save", "did_save", "did_save_object_ids"]
    told.clear()
    # Nothing to write, though something is changed.
    ada.mood = "fine"
    ctx.save()
    assert [each[0] for each in told if each[0] != "will_save"] == [
        "objects_did_change", "did_save", "did_save_object_ids"
    ]  # fmt: skip
    del tokens


def test_changes_made_in_will_save_are_saved(ctx: Any) -> None:
    ada = ctx.insert("Person", name="Ada")

    def stamp(own: Any, changes: Any) -> None:
        assert (changes.inserted, changes.updated, changes.deleted) == ([], [], [])
        if ada.age is None:
            ada.age = 7
            ctx.insert("Place", name="made within")

    with ctx.observe("will_save", stamp):
        ctx.save()
    assert not ctx.has_changes
    other = ctx.container.context()
    assert other.get(ada.id).age == 7
    assert other.count("Place", "name == 'made within'") == 1


def test_merge_notification_lists_ids_and_refreshed_objects(ctx: Any) -> None:
    people = [ctx.insert("Person", name=name) for name in "abcd"]
    ctx.save()
    other = ctx.container.context()
    read, unread, mine, _ = (other.get(each.id) for each in people)
    gone = people[3].id
    assert [read.name, mine.name] == ["a", "c"]
    mine.age = 5
    heard: list[Any] = []
    with other.observe("did_merge_object_ids", lambda _, changes: heard.append(changes)):
        for each in people[:3]:
            each.mood, each.age = "x", 3
        ctx.delete(people[3])
        new = ctx.insert("Person", name="new")
        changes: dict[str, Any] = {}
        with ctx.observe("did_save_object_ids", lambda _, told: changes.update(told.ids._asdict())):
            ctx.save()
        other.merge_changes({kind: changes[kind] for kind in ("inserted", "updated", "deleted")})
    (told,) = heard
    assert told.inserted_ids == [new.id]
    assert set(told.updated_ids) == {each.id for each in people[:3]}
    assert told.deleted_ids == [gone]
    assert set(told.refreshed_ids) == {read.id, mine.id}
    assert (told.inserted, told.updated, told.refreshed) == ([], [], [])
    assert unread.is_fault


def names(found: Any) -> list[str]:
    return [each.name for each in found]


def test_rollback_notifies_key_path_observers_once(ctx: Any) -> None:
    paris, rome = ctx.insert("Place", name="Paris"), ctx.insert("Place", name="Rome")
    ada, bob = ctx.insert("Person", name="Ada", home=paris), ctx.insert("Person", name="Bob", home=paris)
    ctx.save()
    heard = Heard()
    with ada.observe("home.name", heard), ada.observe("home.people", heard):
        ada.name, paris.name = "Eve", "PARIS"
        heard.clear()
        ctx.rollback()
        assert heard.take() == [("SETTING", "home.name", "PARIS", "Paris", [])]
        rome.name, paris.name, ada.home = "ROME", "PARIS", rome
        ctx.delete(bob)
        ctx.process_pending_changes()
        heard.clear()
        ctx.rollback()
        assert [each[:3] for each in heard.take()] == [
            ("SETTING", "home.name", "ROME"),
            ("SETTING", "home.people", [ada]),
        ]


RUN_MODEL = {
    "P": {"name": "string", "s": "to-many S inverse p", "o": "to-many ordered S inverse q", "m": "to-many S inverse l"},
    "S": {
        "name": "string",
        "p": "to-one P? inverse s",
        "q": "to-one P? inverse o",
        "l": "to-many P inverse m",
    },
}


def ids_of(saved: Any) -> dict[str, Any]:
    return {
        "inserted": list(saved.inserted_ids), "updated": list(saved.updated_ids), "deleted": list(saved.deleted_ids)
    }  # fmt: skip


class Run:
    """Random changes, then merges, rollbacks and undo; with observers of lists or without."""

    def __init__(self, container: Container, seed: int, observed: bool) -> None:
        self.random = random.Random(seed)
        self.container, self.ctx = container, container.context()
        owners = [self.ctx.insert("P", name=name) for name in "PQ"]
        for name in "abcd":
            self.ctx.insert("S", name=name, p=self.one(owners), q=self.one(owners), l=self.some(owners))
        self.ctx.save()
        self.ctx.undo_manager = corestone.UndoManager()
        self.tokens = [
            owner.observe(key, lambda *_: None) for owner in owners for key in "som" if self.is_chosen(owner[key])
        ]
        if not observed:
            self.tokens.clear()

    def is_chosen(self, members: Any) -> bool:
        # Those that are not chosen wait to be read, with observers and without.
        return self.random.random() < 0.6 and len(members) >= 0

    def one(self, objects: Any) -> Any:
        return self.random.choice([*objects, None])

    def some(self, objects: Any) -> list[Any]:
        return self.random.sample(objects, self.random.randint(0, len(objects)))

    def change(self, ctx: Context) -> None:
        owners = sorted(ctx.fetch("P"), key=lambda each: str(each.name))
        members = sorted(ctx.fetch("S"), key=lambda each: str(each.name))
        owner, member, key = self.one(owners), self.one(members), self.random.choice("pqlsom-+")
        if key == "+":
            ctx.insert("S", name=f"n{self.random.random()}", p=owner, q=owner)
        elif key == "-" and member:
            ctx.delete(member)
        elif key in "pq" and member:
            member[key] = owner
        elif key == "l" and member:
            member.l = self.some(owners)
        elif key in "som" and owner:
            owner[key] = self.some(members)

    def end(self, how: str) -> None:
        if how == "merge":
            other, changes = self.container.context(), []
            with other.observe("did_save", lambda _, saved: changes.append(ids_of(saved))):
                self.change(other)
                other.save()
            for saved in changes:
                self.ctx.merge_changes(saved)
        else:
            getattr(self.ctx, how)()

    def result(self) -> Any:
        found: list[Any] = [self.ctx.has_persistent_changes]
        for item in sorted(self.ctx.fetch("P"), key=lambda each: str(each.name)):
            found += [item.name, sorted(names(item.s)), names(item.o), sorted(names(item.m))]
        for item in sorted(self.ctx.fetch("S"), key=lambda each: str(each.name)):
            found += [item.name, item.p and item.p.name, item.q and item.q.name, sorted(names(item.l))]
        return found


@pytest.mark.parametrize("ends", ["rollback", "undo", "merge undo", "merge undo redo", "merge rollback"])
def test_observers_do_not_affect_random_changes(ends: str) -> None:
    for seed in range(8):
        results = []
        for observed in (False, True):
            with Container(Model(RUN_MODEL), "/dev/null", type="InMemory", unsaved="discard") as container:
                run = Run(container, seed, observed)
                for _ in range(3):
                    run.change(run.ctx)
                for how in ends.split():
                    run.end(how)
                results.append(run.result())
        assert results[0] == results[1], seed
