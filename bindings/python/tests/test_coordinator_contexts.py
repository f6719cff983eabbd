"""Contexts of a coordinator that no container made."""

from __future__ import annotations

import gc
import threading
import weakref
from pathlib import Path

import pytest

from corestone import (
    Container,
    Coordinator,
    Document,
    InvalidArgumentError,
    InvalidHandleError,
    Model,
    WrongThreadError,
)


@pytest.fixture
def model() -> Model:
    model = Model({"Note": {"text": "string"}, "Draft": {"text": "string"}})
    model.configuration("Cloud", "Note")
    model.configuration("Local", "Draft")
    return model


def test_coordinator_contexts_span_several_stores(model: Model, tmp_path: Path) -> None:
    with Coordinator(model) as coordinator:
        cloud = coordinator.add_store(tmp_path / "cloud.sqlite", configuration="Cloud")
        local = coordinator.add_store(tmp_path / "local.xml", type="XML", configuration="Local")
        with coordinator.context() as ctx:
            assert ctx.coordinator is coordinator
            assert ctx.model is model
            assert str(tmp_path / "local.xml") in repr(ctx)
            note, draft = ctx.insert("Note", text="a"), ctx.insert("Draft", text="b")
            ctx.save()
            stores = [item.id.uri.split("/")[2] for item in (note, draft)]
            assert stores == [cloud.identifier, local.identifier]
            uri = note.id.uri
        other = coordinator.context()
        assert [each.text for each in other.fetch("Draft")] == ["b"]
        assert other.existing(uri).text == "a"
        with other.child() as child:
            assert child.coordinator is coordinator
            child.insert("Note", text="c")
            child.save()
        other.save()
    assert coordinator.is_closed
    assert other.is_closed
    assert coordinator.stores == []
    with Container(model, tmp_path / "cloud.sqlite", configuration="Cloud") as container:
        assert [each["text"] for each in container.read("Note", sort="text")] == ["a", "c"]
        assert container.context().coordinator is container.coordinator


def test_coordinator_background_context_runs_on_its_queue(model: Model, tmp_path: Path) -> None:
    with Coordinator(model) as coordinator:
        coordinator.add_store(tmp_path / "a.sqlite")
        background = coordinator.background_context()

        def fill() -> int:
            background.insert("Note", text="a")
            background.save()
            return threading.get_ident()

        assert background.perform(fill).result(10) != threading.get_ident()
        assert coordinator.context().count("Note") == 1
        with background.perform() as ctx:
            assert ctx.count("Note") == 1
        main = coordinator.main_context()
        assert "main queue" in repr(main)
        confined = coordinator.context()
        caught: list[Exception] = []

        def use() -> None:
            try:
                confined.count("Note")
            except WrongThreadError as error:
                caught.append(error)

        thread = threading.Thread(target=use)
        thread.start()
        thread.join()
        assert len(caught) == 1
    assert background.is_closed
    assert main.is_closed


def test_closing_a_coordinator_closes_its_contexts(model: Model, tmp_path: Path) -> None:
    coordinator = Coordinator(model)
    coordinator.add_store(tmp_path / "a.sqlite")
    ctx = coordinator.context()
    note = ctx.insert("Note", text="lost")
    coordinator.close("discard")
    coordinator.close()
    with pytest.raises(InvalidHandleError, match="closed"):
        coordinator.add_store(tmp_path / "b.sqlite")
    assert not (tmp_path / "b.sqlite").exists()
    assert ctx.is_closed
    with pytest.raises(InvalidHandleError, match="context is closed"):
        ctx.save()
    with pytest.raises(InvalidHandleError, match="closed"):
        ctx.child()
    for make in (coordinator.context, coordinator.background_context, coordinator.main_context):
        with pytest.raises(InvalidHandleError, match="the coordinator is closed"):
            make()
    with pytest.raises(InvalidHandleError, match="the coordinator is closed"):
        coordinator.add_store(tmp_path / "b.sqlite")
    assert not (tmp_path / "b.sqlite").exists()
    del note
    # The file is free: the store is not open elsewhere.
    with Coordinator(model) as again:
        again.add_store(tmp_path / "a.sqlite")
        assert again.context().count("Note") == 0
    with pytest.raises(KeyError), Coordinator(model) as failing:
        raise KeyError
    assert failing.is_closed


def test_context_retains_its_coordinator(model: Model, tmp_path: Path) -> None:
    def make() -> tuple[weakref.ref[Coordinator], object]:
        coordinator = Coordinator(model)
        coordinator.add_store(tmp_path / "a.sqlite")
        return weakref.ref(coordinator), coordinator.context()

    known, ctx = make()
    gc.collect()
    assert known() is not None
    assert ctx.count("Note") == 0  # type: ignore[attr-defined]
    del ctx
    gc.collect()
    assert known() is None


def test_coordinator_does_not_retain_its_contexts(model: Model) -> None:
    coordinator = Coordinator(model)
    known = weakref.ref(coordinator.context())
    gc.collect()
    assert known() is None


def test_context_names_its_creator(model: Model, tmp_path: Path) -> None:
    coordinator = Coordinator(model)
    ctx = coordinator.context()
    assert "no open store" in repr(ctx)
    with pytest.raises(InvalidArgumentError, match=r"context\.coordinator"):
        _ = ctx.container
    with pytest.raises(InvalidArgumentError, match="queue must be"):
        ctx.child("other")  # type: ignore[arg-type]
    coordinator.close()
    with Container(model, tmp_path / "a.sqlite") as container:
        assert container.context().container is container
    with Document(model, unsaved="discard") as document:
        assert document.context.coordinator is document.coordinator
        assert repr(document.context)


def test_closing_a_container_closes_the_contexts_of_its_coordinator(model: Model, tmp_path: Path) -> None:
    with Container(model, tmp_path / "a.sqlite") as container:
        ctx = container.coordinator.context()
        ctx.insert("Note", text="a")
        ctx.save()
        assert container.read("Note")[0]["text"] == "a"
        ctx.insert("Note", text="b")
        assert [each.inserted for each in container.unsaved_changes if each.inserted] == [1]
        ctx.rollback()
    assert ctx.is_closed
    document = Document(model, unsaved="discard")
    inner = document.coordinator.background_context()
    document.close()
    assert inner.is_closed
    with pytest.raises(InvalidHandleError):
        document.coordinator.context()
