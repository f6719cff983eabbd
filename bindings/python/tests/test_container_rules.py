"""Default names of containers, how their stores are opened, and what closing refuses, saves and leaves."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from conftest import environment

from corestone import (
    Container,
    Coordinator,
    CorestoneError,
    InvalidArgumentError,
    InvalidHandleError,
    Model,
    NotAStoreError,
    Status,
    StoreDescription,
    StoreError,
    UnsavedChangesError,
    log,
)

SHOP: dict[str, Any] = {"Department": {"name": "string"}, "Employee": {"name": "string"}}


@pytest.fixture
def model() -> Model:
    return Model(SHOP)


def shop(model: Model, *paths: Path, **options: Any) -> Container:
    container = Container("Shop", model, stores=[StoreDescription(each) for each in paths], **options)
    container.load()
    return container


# --- Names and places


@pytest.mark.parametrize(
    ("start", "name"),
    [
        (["tools/my shop.py"], "my shop"),
        (["-m", "package"], "package"),
        (["-m", "package.part"], "part"),
        (["-c"], "python"),
    ],
)
def test_data_folder_is_named_after_the_program(tmp_path: Path, start: list[str], name: str) -> None:
    program = "from corestone import data_folder\nprint(data_folder())"
    for file in ("tools/my shop.py", "package/__init__.py", "package/__main__.py", "package/part.py"):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text("" if file.endswith("__init__.py") else program)
    done = subprocess.run(
        [sys.executable, *start, *([program] if start == ["-c"] else [])], cwd=tmp_path, text=True, check=True,
        env={**environment(), "XDG_DATA_HOME": str(tmp_path / "data")}, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert done.stdout == f"{tmp_path}/data/{name}\n"
    assert not (tmp_path / "data").exists()


def test_model_beside_the_script_is_found(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    Model({"InScriptsFolder": {"x": "int?"}}).write(tmp_path / "shop" / "Shop.mom")
    Model({"InWorkingFolder": {"x": "int?"}}).write(tmp_path / "Shop.mom")
    (tmp_path / "shop" / "run.py").write_text("from corestone import Container\nprint(list(Container('Shop').model))")
    done = subprocess.run(
        [sys.executable, "shop/run.py"], cwd=tmp_path, text=True, check=True, stdout=subprocess.PIPE,
        env={**environment(), "XDG_DATA_HOME": str(tmp_path / "data"), "CORESTONE_MODEL_PATH": ""},
    )  # fmt: skip
    assert done.stdout == "['InScriptsFolder']\n"


def test_model_extensions_are_tried_in_order(tmp_path: Path) -> None:
    def found() -> list[str]:
        return list(Container("Shop", model_folders=[tmp_path]).model)

    source = "<model><entity name='{}'/></model>"
    (tmp_path / "Shop.xcdatamodel").write_text(source.format("Source"))
    assert found() == ["Source"]
    versions = tmp_path / "Shop.xcdatamodeld" / "Shop.xcdatamodel"
    versions.mkdir(parents=True)
    (versions / "contents").write_text(source.format("Versions"))
    assert found() == ["Versions"]
    Model({"Compiled": {}}).write(tmp_path / "Shop.mom")
    assert found() == ["Compiled"]
    (tmp_path / "Shop.momd").mkdir()
    Model({"Bundle": {}}).write(tmp_path / "Shop.momd" / "Shop.mom")
    assert found() == ["Bundle"]


# --- Opening


def test_failing_store_does_not_prevent_other_stores_from_opening(model: Model, tmp_path: Path) -> None:
    paths = [tmp_path / name for name in "abcd"]
    for path in (paths[0], paths[2]):
        path.write_text("no store")
    container = Container("Shop", model, stores=[StoreDescription(each) for each in paths])
    with pytest.raises(CorestoneError) as caught:
        container.load()
    error = caught.value
    assert (error.status, error.code, error.message) == (
        Status.NOT_A_STORE,
        134080,
        'cannot open 2 of 4 stores of the container "Shop"; see each error in the details',
    )
    assert [(each.status, each.file) for each in error.details] == [
        (Status.NOT_A_STORE, str(paths[0])), (Status.NOT_A_STORE, str(paths[2])),
    ]  # fmt: skip
    assert [each.path for each in container.coordinator.stores] == [str(paths[1]), str(paths[3])]
    paths[0].unlink()
    with pytest.raises(NotAStoreError) as alone:
        container.load()
    assert alone.value.file == str(paths[2])
    assert alone.value.details == ()
    assert [each.path for each in container.coordinator.stores] == [str(paths[each]) for each in (1, 3, 0)]
    paths[2].unlink()
    container.load()
    container.load()
    assert len(container.coordinator.stores) == 4
    container.close()


def test_asynchronous_stores_are_opened_one_after_the_other(model: Model, tmp_path: Path) -> None:
    (tmp_path / "1").write_text("no store")
    container = Container(
        "Shop", model, stores=[StoreDescription(tmp_path / str(number), asynchronous=True) for number in range(4)]
    )
    told: list[tuple[Any, bool, int]] = []
    done = threading.Event()

    def hear(description: Any, store: Any, error: Any) -> None:
        told.append((Path(description.path).name, error is None, threading.get_ident()))
        if len(told) == 4:
            done.set()

    container.load(hear)
    assert done.wait(60)
    assert [each[:2] for each in told] == [("0", True), ("1", False), ("2", True), ("3", True)]
    assert len({each[2] for each in told}) == 1
    assert told[0][2] != threading.get_ident()
    container.close()


def test_in_memory_store_does_not_need_a_folder(model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.delenv("HOME")
    with Container("Shop", model, stores=[StoreDescription(type="InMemory")]) as container:
        assert container.store.path == "Shop"
    with pytest.raises(InvalidArgumentError) as caught:
        Container("Shop", model, application="mine").load()
    for words in ("mine", "XDG_DATA_HOME", "HOME", "absolute"):
        assert words in caught.value.message
    path = tmp_path / "none" / "store"
    with pytest.raises(StoreError):
        Container(model, path)
    assert not path.parent.exists()


# --- Closing


def test_close_error_names_each_context_with_unsaved_changes(model: Model, tmp_path: Path) -> None:
    container = shop(model, tmp_path / "a")
    view = container.view_context
    for name in ("a", "b"):
        view.insert("Employee", name=name)
    view.save()
    view.insert("Department", name="d")
    for each in view.fetch("Employee"):
        each.name += "!"
    form = view.child()
    form.name = "form"
    form.insert("Employee", name="c")
    idle = container.context()
    assert idle.count("Employee") == 2
    with pytest.raises(UnsavedChangesError) as caught:
        container.close()
    error = caught.value
    assert re.sub(r" \(created at [^)]*:\d+\)", "", error.message) == (
        'the container "Shop" stays open because context "form" has unsaved changes: 1 Employee inserted, and context '
        '"view" has unsaved changes: 1 Department inserted, 2 Employee updated; call cst_context_save '
        '(save) or cst_context_rollback (rollback) on each context, or close with unsaved="discard"'
    )
    assert error.message.count(f"(created at {__file__}:") == 2
    assert len(error.details) == 2
    form_detail, view_detail = error.details
    assert '"form"' in form_detail.message
    assert "1 Employee inserted" in form_detail.message
    assert '"view"' in view_detail.message
    assert "1 Department inserted, 2 Employee updated" in view_detail.message
    assert {each.status for each in error.details} == {Status.UNSAVED_CHANGES}
    found = container.unsaved_changes
    assert [(each.name, each.inserted, each.updated, each.deleted) for each in found] == [
        ("form", 1, 0, 0), ("view", 1, 2, 0),
    ]  # fmt: skip
    for context in (form, view, idle):
        assert not context.is_closed
    form.rollback()
    view.rollback()
    container.close()
    for context in (form, view, idle):
        assert context.is_closed


@pytest.mark.parametrize("policy", ["save", "discard"])
def test_close_refuses_saves_or_discards_changes(model: Model, tmp_path: Path, policy: Any) -> None:
    container = shop(model, tmp_path / "a")
    contexts = [container.view_context, container.context(), container.coordinator.context()]
    contexts.append(contexts[1].child())
    contexts.append(contexts[3].child())
    for number, context in enumerate(contexts):
        context.insert("Employee", name=str(number))
    with log.recorded() as lines:
        container.close(policy)
        names = [str(tmp_path), "view"]
        assert [line for line in lines if any(name in line for name in names)] == []
    assert container.is_closed
    with Container(model, tmp_path / "a") as again:
        expected = ["0", "1", "2", "3", "4"] if policy == "save" else []
        assert [each["name"] for each in again.read("Employee", sort="name")] == expected
    for act in (
        lambda: container.load(),
        lambda: container.context().count("Employee"),
        lambda: container.perform_background_task(lambda context: context.count("Employee")).result(),
        lambda: contexts[1].count("Employee"),
        lambda: contexts[0].save(),
        lambda: container.read("Employee"),
    ):
        with pytest.raises(InvalidHandleError):
            act()
    container.close()
    container.close("save")


def test_close_keeps_all_contexts_open_when_a_save_fails(model: Model, tmp_path: Path) -> None:
    container = shop(model, tmp_path / "a")
    good, bad = container.context(), container.context()
    good.insert("Employee", name="good")
    bad.insert("Employee")
    with pytest.raises(CorestoneError) as caught:
        container.close("save")
    assert (caught.value.status, caught.value.entity, caught.value.key) == (Status.VALIDATION, "Employee", "name")
    assert not container.is_closed
    assert bad.has_changes
    bad.rollback()
    good.insert("Employee", name="later")
    container.close("save")
    with Container(model, tmp_path / "a") as again:
        assert [each["name"] for each in again.read("Employee", sort="name")] == ["good", "later"]


def test_closing_a_coordinator_refuses_unsaved_changes(model: Model, tmp_path: Path) -> None:
    coordinator = Coordinator(model)
    coordinator.add_store(tmp_path / "a")
    context = coordinator.context()
    context.name = "mine"
    context.insert("Employee", name="a")
    with pytest.raises(UnsavedChangesError, match='the coordinator stays open because context "mine"') as caught:
        coordinator.close()
    assert [each.status for each in caught.value.details] == [Status.UNSAVED_CHANGES]
    coordinator.close("save")
    with pytest.raises(InvalidHandleError):
        coordinator.add_store(tmp_path / "b")
    assert not (tmp_path / "b").exists()
    with Container(model, tmp_path / "a") as again:
        assert len(again.read("Employee")) == 1
