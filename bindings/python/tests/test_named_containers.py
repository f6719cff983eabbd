"""Containers with a name: several stores, the data folder, models by name, and errors when closing."""

from __future__ import annotations

import asyncio
import os
import stat
import threading
from pathlib import Path
from typing import Any

import pytest

from corestone import (
    Container,
    Context,
    CorestoneError,
    InvalidArgumentError,
    InvalidHandleError,
    Model,
    ModelError,
    NotAStoreError,
    Store,
    StoreDescription,
    TypeMismatchError,
    UnsavedChangesError,
    ValidationError,
    data_folder,
)


@pytest.fixture
def items() -> Model:
    return Model({"Item": {"name": "string"}})


def at(path: Path, **options: Any) -> list[StoreDescription]:
    return [StoreDescription(path, sync="normal", **options)]


def test_data_folder_follows_the_environment(items: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert data_folder("x") == str(tmp_path / "data" / "x")
    assert data_folder().startswith(str(tmp_path / "data"))
    with Container("Shop", items, application="my app") as container:
        assert container.store.path == str(tmp_path / "data/my app/Shop.sqlite")
        assert stat.S_IMODE(os.stat(tmp_path / "data").st_mode) == 0o700
    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert data_folder("x") == str(tmp_path / "home/.local/share/x")
    monkeypatch.delenv("HOME")
    with pytest.raises(InvalidArgumentError, match="XDG_DATA_HOME"):
        data_folder("x")
    with pytest.raises(InvalidArgumentError, match="HOME"):
        Container("Shop", items).load()


def test_model_is_found_by_the_container_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    with pytest.raises(ModelError, match="Shop"):
        Container("Shop")
    (tmp_path / "Shop.xcdatamodel").write_text("<model><entity name='Item'/></model>")
    assert list(Container("Shop", model_folders=[tmp_path]).model) == ["Item"]
    monkeypatch.setenv("CORESTONE_MODEL_PATH", f"/nowhere:{tmp_path}")
    assert list(Container("Shop").model) == ["Item"]
    assert list(Container("Shop", tmp_path / "Shop.xcdatamodel").model) == ["Item"]


def test_load_handler_is_called_once_per_store(items: Model, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("this is no store")
    stores = [
        StoreDescription(tmp_path / "new" / "a.sqlite"),
        StoreDescription(tmp_path / "text"),
        StoreDescription(type="InMemory"),
        StoreDescription(tmp_path / "c.sqlite", asynchronous=True, makes_folder=False),
    ]
    container = Container("Shop", items, stores=stores)
    told: list[tuple[StoreDescription, Store | None, CorestoneError | None, int]] = []
    done = threading.Event()

    def hear(description: StoreDescription, store: Store | None, error: CorestoneError | None) -> None:
        told.append((description, store, error, threading.get_ident()))
        if len(told) == 4:
            done.set()

    container.load(hear)
    assert done.wait(20)
    by_description = {stores.index(each[0]): each for each in told}
    assert sorted(by_description) == [0, 1, 2, 3]
    assert isinstance(by_description[1][2], NotAStoreError)
    assert by_description[0][1] is not None
    assert by_description[0][1].path == str(tmp_path / "new" / "a.sqlite")
    assert [by_description[each][3] == threading.get_ident() for each in range(4)] == [True, True, True, False]
    with pytest.raises(NotAStoreError):
        container.load()
    (tmp_path / "text").unlink()
    again: list[StoreDescription] = []
    container.load(lambda description, store, error: again.append(description))
    assert again == [stores[1]]
    assert len(container.coordinator.stores) == 4
    container.close()


def test_exception_of_the_load_handler_reaches_the_caller(items: Model, tmp_path: Path) -> None:
    def refuse(*_: object) -> None:
        raise LookupError("no")

    container = Container("Shop", items, stores=at(tmp_path / "a"))
    with pytest.raises(LookupError):
        container.load(refuse)
    assert len(container.coordinator.stores) == 1


def test_load_reports_several_failures(items: Model, tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).write_text("this is no store")
    container = Container("Shop", items, stores=[StoreDescription(tmp_path / each) for each in "abc"])
    with pytest.raises(CorestoneError, match="2 of 3") as caught:
        container.load()
    assert [each.file for each in caught.value.details] == [str(tmp_path / "a"), str(tmp_path / "b")]
    with pytest.raises(InvalidHandleError, match="load"):
        _ = Container("Shop", items, stores=at(tmp_path / "d")).store


def test_view_and_background_contexts_are_created(items: Model, tmp_path: Path) -> None:
    with Container("Shop", items, stores=at(tmp_path / "a")) as container:
        view = container.view_context
        assert view is container.view_context
        assert view.name == "view"
        view.insert("Item", name="a")
        view.save()

        def work(ctx: object, name: str) -> int:
            ctx.insert("Item", name=name)  # type: ignore[attr-defined]
            ctx.save()  # type: ignore[attr-defined]
            return ctx.count("Item")  # type: ignore[attr-defined, no-any-return]

        assert container.perform_background_task(work, "b").result() == 2


def test_container_can_be_loaded_with_asyncio(items: Model, tmp_path: Path) -> None:
    async def run() -> int:
        container = Container("Shop", items, stores=at(tmp_path / "a", asynchronous=True))
        await container.aload()
        count = await asyncio.wrap_future(container.perform_background_task(lambda ctx: ctx.count("Item")))
        container.close()
        return int(count)

    assert asyncio.run(run()) == 0


def test_close_fails_with_unsaved_changes(items: Model, tmp_path: Path) -> None:
    container = Container("Shop", items, stores=at(tmp_path / "a"))
    container.load()
    ctx = container.context()
    ctx.name = "form"
    ctx.insert("Item", name="a")
    ctx.save()
    ctx.fetch("Item")[0].name = "b"
    with pytest.raises(UnsavedChangesError, match=r'"form".*1 Item updated') as caught:
        container.close()
    assert len(caught.value.details) == 1
    assert not container.is_closed
    found = container.unsaved_changes
    assert [(each.name, each.inserted, each.updated, each.deleted) for each in found] == [("form", 0, 1, 0)]
    with pytest.raises(InvalidArgumentError, match="must be"):
        container.close("perhaps")  # type: ignore[arg-type]
    container.close("save")
    assert ctx.is_closed
    with Container("Shop", items, stores=at(tmp_path / "a")) as again:
        ctx = again.context()
        assert [each.name for each in ctx.fetch("Item")] == ["b"]
        assert again.unsaved_changes == []


@pytest.mark.parametrize("is_child", [False, True])
@pytest.mark.parametrize("is_later", [False, True])
def test_close_on_the_main_thread_serves_queued_main_work(
    items: Model, tmp_path: Path, is_child: bool, is_later: bool
) -> None:
    container = Container("Shop", items, stores=at(tmp_path / "a"))
    container.load()
    view = container.view_context
    child = view.child(queue="private")
    begun, goes_on = threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        goes_on.wait(0.3 if is_later else 0)
        if is_child:
            child.insert("Item", name="background")
            child.save()
        else:
            view.perform_and_wait(lambda: view.insert("Item", name="background"))

    failures: list[Exception] = []

    def run() -> None:
        try:
            child.perform_and_wait(work)
        except Exception as error:
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    begun.wait()
    if not is_later:
        goes_on.wait(0.1)
    container.close("save")
    thread.join(20)
    assert not thread.is_alive()
    assert failures == []
    with Container("Shop", items, stores=at(tmp_path / "a")) as again:
        assert [each.name for each in again.context().fetch("Item")] == ["background"]


def test_close_keeps_changes_that_cannot_be_saved(items: Model, tmp_path: Path) -> None:
    container = Container("Shop", items, stores=at(tmp_path / "a"), unsaved="save")
    container.load()
    ctx = container.context()
    ctx.insert("Item")
    with pytest.raises(ValidationError):
        container.close()
    assert not container.is_closed
    with pytest.raises(ValidationError):
        container.save()
    container.close("discard")
    container.close()
    with pytest.raises(InvalidHandleError):
        container.load()


def test_with_block_that_raises_does_not_save(items: Model, tmp_path: Path) -> None:
    def fail() -> None:
        with Container("Shop", items, stores=at(tmp_path / "a"), unsaved="save") as container:
            container.view_context.insert("Item", name="a")
            raise LookupError

    with pytest.raises(LookupError):
        fail()
    with Container("Shop", items, stores=at(tmp_path / "a")) as container:
        assert container.view_context.count("Item") == 0


def test_close_fails_with_contexts_of_other_threads(items: Model, tmp_path: Path) -> None:
    container = Container("Shop", items, stores=at(tmp_path / "a"))
    container.load()
    made, end = threading.Event(), threading.Event()
    kept: list[object] = []

    def work() -> None:
        ctx = container.context()
        ctx.insert("Item", name="a")
        kept.append(ctx)
        made.set()
        end.wait(20)

    thread = threading.Thread(target=work)
    thread.start()
    assert made.wait(20)
    with pytest.raises(UnsavedChangesError, match="the calling thread cannot"):
        container.close()
    assert container.unsaved_changes[0].inserted is None
    end.set()
    thread.join()
    container.close("save")
    with Container(items, tmp_path / "a") as again:
        assert again.context().count("Item") == 1


def test_contexts_of_a_joined_thread_can_be_closed(items: Model, tmp_path: Path) -> None:
    # The system may still be removing the thread when join returns.
    for number in range(60):
        container = Container("Shop", items, stores=at(tmp_path / str(number)))
        container.load()
        kept: list[Context] = []

        def work(container: Container = container, kept: list[Context] = kept) -> None:
            kept.append(container.context())
            kept[0].insert("Item", name="a")

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        container.close("save")


def test_container_with_a_path_fails_to_close_with_unsaved_changes(items: Model, tmp_path: Path) -> None:
    container = Container(items, tmp_path / "a")
    ctx = container.context()
    ctx.insert("Item", name="a")
    with pytest.raises(UnsavedChangesError):
        container.close()
    container.close("discard")


def test_invalid_arguments_are_rejected(items: Model, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="path"):
        Container(items)  # type: ignore[call-overload]
    with pytest.raises(TypeMismatchError, match="StoreDescription"):
        Container("Shop", items, stores=["a.sqlite"])  # type: ignore[list-item]
    with pytest.raises(InvalidArgumentError, match="slash"):
        Container("a/b", items)
    with pytest.raises(TypeError):
        StoreDescription("a", colour="red")  # type: ignore[call-arg]
    with pytest.raises(InvalidArgumentError):
        Container("Shop", items, unsaved="never")  # type: ignore[call-overload]
