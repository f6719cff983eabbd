"""Saves that examples/stores must not lose or repeat: concurrent writers, lost connections, full disks, pages."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import rest_store
import server
from corestone import ConflictError, Container, Context, CorestoneError, FetchRequest, MergePolicy, Model, StoreError
from host_stores import PEOPLE
from json_files import JSONFiles
from server import Service, Step, served

FOLDER, REST = "JSONFolder", "REST"
# Two trees, whose references have nothing to do with each other.
HOUSEHOLD = {"Person": {"name": "string?"}, "Pet": {"name": "string?"}}


@pytest.fixture
def service() -> Iterator[Service]:
    with served() as service:
        yield service


class Other:
    """Another program that writes rows into a store, past Corestone."""

    def __init__(self, place: str, service: Service | None) -> None:
        self.place, self.service = place, service

    def put(self, entity: str, reference: str, before: int | None, **values: Any) -> None:
        """Writes a row over the version `before`."""
        if self.service is not None:
            self.service.objects.carry_out([Step("PUT", entity, reference, before, {"values": values, "links": {}})])
        else:
            row = {"version": (before or 0) + 1, "values": values, "links": {}}
            JSONFiles(self.place).commit({f"{entity}/{reference}.json": row})


@pytest.fixture(params=[FOLDER, REST])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def other(kind: str, tmp_path: Path) -> Iterator[Other]:
    if kind == REST:
        with served() as service:
            yield Other(service.url, service)
    else:
        yield Other(str(tmp_path / "folder"), None)


def names(container: Container, entity: str = "Person") -> list[str]:
    """The content of the store, read by a new context."""
    ctx = container.context()
    try:
        return sorted(each.name for each in ctx.fetch(entity))
    finally:
        ctx.close()


# -------- conflicts --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("theirs", ["Person", "Pet"])
def test_rows_with_equal_names_in_two_entities_are_distinct(kind: str, other: Other, theirs: str) -> None:
    with Container(Model(HOUSEHOLD), other.place, type=kind, unsaved="discard") as container:
        for entity in HOUSEHOLD:
            other.put(entity, "a", None, name=f"the {entity}")
        ctx = container.context()
        found = {entity: ctx.first(entity) for entity in HOUSEHOLD}
        other.put(theirs, "a", 1, name="theirs")
        for each in found.values():
            each.name = "mine"
        with pytest.raises(ConflictError) as failure:
            ctx.save()
        assert [each.object_id.entity_name for each in failure.value.conflicts] == [theirs]
        assert names(container, theirs) == ["theirs"]


@pytest.mark.parametrize("theirs", ["Person", "Pet"])
def test_conflict_detection_applies_to_the_row_of_its_entity(kind: str, other: Other, theirs: str) -> None:
    with Container(Model(HOUSEHOLD), other.place, type=kind, unsaved="discard") as container:
        for entity in HOUSEHOLD:
            other.put(entity, "a", None, name=f"the {entity}")
        ctx = container.context()
        for entity in HOUSEHOLD:
            ctx.detect_conflicts(ctx.first(entity))
        other.put(theirs, "a", 1, name="theirs")
        ctx.insert("Person", name="new")
        with pytest.raises(ConflictError):
            ctx.save()
        assert "new" not in names(container)


def test_conflict_is_detected_until_the_rows_are_written(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another client writes between the store's last request and its transaction."""
    other = Other(service.url, service)
    with Container(Model(HOUSEHOLD), service.url, type=REST) as container:
        other.put("Pet", "a", None, name="the pet")
        ctx = container.context()
        ctx.detect_conflicts(ctx.first("Pet"))
        ctx.insert("Person", name="new")
        ask = rest_store.Service._ask

        def late(self: Any, method: str, path: str, *rest: Any) -> Any:
            if method == "POST":
                monkeypatch.undo()
                other.put("Pet", "a", 1, name="theirs")
            return ask(self, method, path, *rest)

        monkeypatch.setattr(rest_store.Service, "_ask", late)
        with pytest.raises(ConflictError):
            ctx.save()
        assert names(container) == []
        ctx.refresh_all()
        assert ctx.first("Pet").name == "theirs"
        ctx.save()
        assert names(container) == ["new"]


def test_save_of_locked_objects_only_is_checked(kind: str, other: Other) -> None:
    with Container(Model(HOUSEHOLD), other.place, type=kind) as container:
        other.put("Pet", "a", None, name="the pet")
        ctx = container.context()
        ctx.detect_conflicts(ctx.first("Pet"))
        other.put("Pet", "a", 1, name="theirs")
        with pytest.raises(ConflictError):
            ctx.save()


def test_conflict_leaves_the_metadata_unchanged(kind: str, other: Other) -> None:
    with Container(Model(HOUSEHOLD), other.place, type=kind) as container:
        other.put("Pet", "a", None, name="the pet")
        ctx = container.context()
        pet = ctx.first("Pet")
        pet.name = "mine"
        coordinator = container.coordinator
        coordinator.set_metadata(container.store, {**coordinator.metadata(container.store), "ours": 1})
        other.put("Pet", "a", 1, name="theirs")
        with pytest.raises(ConflictError):
            ctx.save()
        host: Any = type(container.store.host)
        assert "ours" not in host.metadata_for_store(other.place)
        ctx.merge_policy = MergePolicy.OBJECT_TRUMP
        ctx.save()
        assert host.metadata_for_store(other.place)["ours"] == 1
        assert names(container, "Pet") == ["mine"]


# -------- answers that never come --------------------------------------------------------------------------------


class Dropping:
    """Has the service carry transactions out, and cut the connection instead of answering."""

    def __init__(self, service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
        self.left = 0
        post = server.Handler._post
        monkeypatch.setattr(service, "handle_error", lambda request, address: None)

        def dropping(handler: Any, *arguments: Any) -> Any:
            answer = post(handler, *arguments)
            if not self.left:
                return answer
            self.left -= 1
            raise ConnectionAbortedError

        monkeypatch.setattr(server.Handler, "_post", dropping)


@pytest.fixture
def dropping(service: Service, monkeypatch: pytest.MonkeyPatch) -> Dropping:
    return Dropping(service, monkeypatch)


def test_connection_lost_after_the_commit_duplicates_nothing(service: Service, dropping: Dropping) -> None:
    with Container(Model(PEOPLE), service.url, type=REST) as container:
        ctx = container.context()
        ada = ctx.insert("Person", name="Ada", age=1)
        dropping.left = 1
        ctx.save()
        ada.age = 2
        dropping.left = 1
        ctx.save()
        ctx.delete(ada)
        ctx.insert("Person", name="Grace")
        dropping.left = 1
        ctx.save()
        assert not dropping.left
        assert names(container) == ["Grace"]


def cut_off(ctx: Context, dropping: Dropping) -> None:
    """Saves, but receives no response, even after retries."""
    dropping.left = 100
    with pytest.raises(CorestoneError) as failure:
        ctx.save()
    assert isinstance(failure.value.__cause__, StoreError)
    assert ctx.has_changes
    dropping.left = 0


def test_save_with_a_lost_response_is_not_repeated(service: Service, dropping: Dropping) -> None:
    with Container(Model(PEOPLE), service.url, type=REST) as container:
        ctx = container.context()
        boss = ctx.insert("Person", name="Boss")
        ctx.insert("Person", name="Ada", manager=boss)
        ctx.insert("Person", name="Ada", manager=boss)
        cut_off(ctx, dropping)
        ctx.save()
        assert not ctx.has_changes
        assert names(container) == ["Ada", "Ada", "Boss"]
        boss.age = 50  # what it was saved as is what it is known as
        cut_off(ctx, dropping)
        ctx.save()
        assert [each.age for each in container.context().fetch("Person", "name == 'Boss'")] == [50]
        boss.age = 51
        ctx.save()
        assert names(container) == ["Ada", "Ada", "Boss"]


def test_extended_retry_of_a_save_with_a_lost_response_conflicts(service: Service, dropping: Dropping) -> None:
    """As often as it is saved; a merge policy settles it, for the objects are the same."""
    with Container(Model(PEOPLE), service.url, type=REST) as container:
        ctx = container.context()
        ada = ctx.insert("Person", name="Ada", age=1)
        bob = ctx.insert("Person", name="Bob")
        cut_off(ctx, dropping)
        elsewhere = container.context()
        elsewhere.insert("Person", name="Eve")
        elsewhere.save()
        ctx.insert("Person", name="Grace")
        ada.age = 2
        for _ in range(2):
            with pytest.raises(ConflictError) as failure:
                ctx.save()
            assert {each.id for each in (ada, bob)} == {each.object_id for each in failure.value.conflicts}
        assert names(container) == ["Ada", "Bob", "Eve"]
        ctx.merge_policy = MergePolicy.OBJECT_TRUMP
        ctx.save()
        assert names(container) == ["Ada", "Bob", "Eve", "Grace"]
        assert [each.age for each in container.context().fetch("Person", "name == 'Ada'")] == [2]
        ada.age = 3
        ctx.save()


def test_change_with_a_lost_response_can_be_changed_again(service: Service, dropping: Dropping) -> None:
    with Container(Model(PEOPLE), service.url, type=REST) as container:
        ctx = container.context()
        ada, bob = ctx.insert("Person", name="Ada", age=1), ctx.insert("Person", name="Bob")
        ctx.save()
        ada.age = 2
        ctx.delete(bob)
        cut_off(ctx, dropping)
        ada.age = 3
        with pytest.raises(ConflictError):
            ctx.save()
        ctx.merge_policy = MergePolicy.OBJECT_TRUMP
        ctx.save()
        assert [(each.name, each.age) for each in container.context().fetch("Person")] == [("Ada", 3)]


def test_equal_objects_differ_from_those_of_a_save_with_a_lost_response(service: Service, dropping: Dropping) -> None:
    """Neither after a rollback nor in another context."""
    with Container(Model(PEOPLE), service.url, type=REST) as container:
        ctx = container.context()
        ctx.insert("Person", name="Ada")
        cut_off(ctx, dropping)
        ctx.rollback()
        for count in (2, 3):
            ctx.insert("Person", name="Ada")
            ctx.save()
            assert names(container) == ["Ada"] * count
        ctx.insert("Person", name="Eve")
        cut_off(ctx, dropping)
        other = container.context()
        other.insert("Person", name="Eve")
        other.save()
        assert names(container).count("Eve") == 2
        ctx.save()
        assert not ctx.has_changes
        assert names(container).count("Eve") == 2


def test_metadata_with_a_lost_response_can_be_set_again(service: Service, dropping: Dropping) -> None:
    with Container(Model(PEOPLE), service.url, type=REST) as container:
        ctx = container.context()
        coordinator = container.coordinator
        for step, value in enumerate((1, 2, 1)):
            coordinator.set_metadata(container.store, {**coordinator.metadata(container.store), "ours": value})
            if step == 0:
                dropping.left = 100
                with pytest.raises(CorestoneError):
                    ctx.save()
                dropping.left = 0
            ctx.save()
            assert rest_store.RESTStore.metadata_for_store(service.url)["ours"] == value


def test_context_can_continue_after_rollback_of_a_lost_response(service: Service, dropping: Dropping) -> None:
    with Container(Model(PEOPLE), service.url, type=REST) as container:
        ctx = container.context()
        ctx.insert("Person", name="Ada")
        cut_off(ctx, dropping)
        ctx.rollback()
        ctx.insert("Person", name="Grace")
        ctx.save()
        assert names(container) == ["Ada", "Grace"]


def test_late_request_of_an_abandoned_save_is_rejected(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """The request was still in transit when its client gave up; the next attempt saved its objects."""
    post, go, arrived = server.Handler._post, threading.Event(), []

    def slow(handler: Any, *arguments: Any) -> Any:
        if not go.is_set():
            go.wait(20)
            arrived.append(1)
        return post(handler, *arguments)

    monkeypatch.setattr(server.Handler, "_post", slow)
    monkeypatch.setattr(service, "handle_error", lambda request, address: None)
    with Container(Model(PEOPLE), service.url, type=REST, options={"timeout": 0.3}) as container:
        ctx = container.context()
        ctx.insert("Person", name="Ada")
        with pytest.raises(CorestoneError, match="no response"):
            ctx.save()
        ctx.rollback()
        ctx.insert("Person", name="Grace")
        host: Any = container.store.host
        settle = host._settle

        def settled() -> None:
            settle()
            go.set()

        monkeypatch.setattr(host, "_settle", settled)
        ctx.save()
        for _ in range(200):
            if arrived:
                break
            threading.Event().wait(0.05)
        assert arrived
        threading.Event().wait(0.2)
        assert names(container) == ["Grace"]


def test_idempotency_key_identifies_one_transaction(service: Service) -> None:
    step = {"method": "PUT", "path": "/objects/Person/a", "body": {"values": {"name": "Ada"}}}
    link = rest_store.Service(service.url, 5.0)
    assert link.transaction({"steps": [step]}, "one") == {"versions": [1]}
    assert link.transaction({"steps": [step]}, "one") == {"versions": [1]}
    with pytest.raises(rest_store.ServiceError, match="422"):
        link.transaction({"steps": []}, "one")
    assert link.send("DELETE", "/transaction/one", None) == {"versions": [1]}
    assert link.send("DELETE", "/transaction/two", None) == {"versions": None}
    with pytest.raises(rest_store.ServiceError, match="409"):
        link.transaction({"steps": [step]}, "two")
    link.close()


# -------- a disk that is full ------------------------------------------------------------------------------------


@pytest.mark.parametrize("call", ["rename", "unlink", "mkdir", "rmdir"])
def test_full_disk_after_the_commit_does_not_fail_the_save(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    """The folder contains the whole save, and the next open completes it."""
    place = tmp_path / "folder"
    with Container(Model(HOUSEHOLD), place, type=FOLDER) as container:
        ctx = container.context()
        ada, gone = ctx.insert("Person", name="Ada"), ctx.insert("Person", name="gone")
        ctx.save()
        ada.name = "Ada Lovelace"
        ctx.delete(gone)
        ctx.insert("Pet", name="Rex")
        is_decided: list[int] = []
        rename = os.rename

        def renaming(source: Any, target: Any, **options: Any) -> None:
            if is_decided and call == "rename":
                full()
            rename(source, target, **options)
            is_decided.extend([1] if str(target).endswith("commit.json") else [])

        def failing(real: Any) -> Any:
            def calling(*arguments: Any, **options: Any) -> Any:
                if is_decided:
                    full()
                return real(*arguments, **options)

            return calling

        monkeypatch.setattr(os, "rename", renaming)
        if call != "rename":
            monkeypatch.setattr(os, call, failing(getattr(os, call)))
        ctx.save()
        assert is_decided
        monkeypatch.undo()
        assert not ctx.has_changes
        assert (names(container), names(container, "Pet")) == (["Ada Lovelace"], ["Rex"])
        ada.name = "Ada King"
        ctx.save()
        assert not (place / ".journal").exists()
    with Container(Model(HOUSEHOLD), place, type=FOLDER) as container:
        assert (names(container), names(container, "Pet")) == (["Ada King"], ["Rex"])


def test_commit_that_is_not_durable_is_rolled_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error before the transaction is durable fails the whole transaction."""
    with Container(Model(PEOPLE), tmp_path / "folder", type=FOLDER) as container:
        ctx = container.context()
        ctx.insert("Person", name="Ada")
        for call in range(1, 4):
            fsync, left = os.fsync, [call]

            def failing(descriptor: int, fsync: Any = fsync, left: Any = left) -> None:
                left[0] -= 1
                if not left[0]:
                    raise OSError(errno.EIO, os.strerror(errno.EIO))
                fsync(descriptor)

            with monkeypatch.context() as patch, pytest.raises(CorestoneError, match="Input/output"):
                patch.setattr(os, "fsync", failing)
                ctx.save()
            assert names(container) == []
        ctx.save()
        assert names(container) == ["Ada"]


def full(*arguments: Any, **options: Any) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_second_commit_under_one_lock_keeps_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = JSONFiles(tmp_path)
    with files.locked(exclusively=True):
        with monkeypatch.context() as patch:
            patch.setattr(os, "unlink", full)
            files.commit({"P/a.json": {"version": 1, "values": {}, "links": {}}})
        assert (tmp_path / ".journal" / "commit.json").exists()
        files.commit({"P/b.json": {"version": 1, "values": {}, "links": {}}})
    assert set(JSONFiles(tmp_path).entries("P")) == {"a", "b"}


def test_concurrent_creation_yields_one_store(kind: str, other: Other, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both find no store; the second one uses the store that the first one created."""
    module: Any = __import__("rest_store" if kind == REST else "json_folder")
    look = module.stored_metadata
    first: list[Any] = []

    def looking(*arguments: Any) -> Any:
        found = look(*arguments)
        if found is None and not first:
            first.append(None)
            first[0] = Container(Model(HOUSEHOLD), other.place, type=kind)
        return found

    monkeypatch.setattr(module, "stored_metadata", looking)
    with Container(Model(HOUSEHOLD), other.place, type=kind) as second, first[0]:
        assert second.store.identifier == first[0].store.identifier


# -------- pages --------------------------------------------------------------------------------------------------

ITEMS = {"Item": {"name": "string?", "age": "int32?"}}


@pytest.mark.parametrize("sort", [[], ["age"], ["-age"]])
def test_paging_is_stable_while_another_client_writes(
    service: Service, sort: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unchanged rows are returned once each, whatever rows are inserted and deleted before and after them."""
    other = Other(service.url, service)
    for number in range(100):
        other.put("Item", f"{number:03}", None, name=f"n{number:03}", **({"age": number // 7} if number % 5 else {}))
    with Container(Model(ITEMS), service.url, type=REST, options={"page": 10}) as container:
        get = rest_store.Service.get
        pages: list[str] = []

        def between(self: Any, path: str) -> Any:
            if pages:  # three go, one comes in front of most, one behind
                for number in range(len(pages) * 3 - 3, len(pages) * 3):
                    service.objects.carry_out([Step("DELETE", "Item", f"{number:03}", 1, None)])
                other.put("Item", f"0{len(pages)}", None, name="new")
                other.put("Item", f"z{len(pages)}", None, name="new", age=99)
            pages.append(path)
            return get(self, path)

        monkeypatch.setattr(rest_store.Service, "get", between)
        request = FetchRequest("Item", sort=sort, result_type="ids")
        found = [each.reference for each in container.context().execute(request)]
        assert len(pages) >= 10
        assert len(found) == len(set(found))
        touched = {f"{number:03}" for number in range(3 * len(pages))}
        assert {f"{number:03}" for number in range(100)} - touched <= set(found)
