"""Coordinators: adding, finding and removing stores, and what stores say about themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import corestone
import pytest
from corestone import Container, Coordinator, CorestoneError, Model
from host_places import HOST_TYPES
from scenario_models import CARS


@pytest.mark.only_in("it has a file", "InMemory")
def test_s313_in_memory_store_does_not_need_a_file(tmp_path: Path, store_type: str) -> None:
    coordinator = Coordinator(Model({}))
    store = coordinator.add_store("", type=store_type)
    assert coordinator.stores
    coordinator.remove_store(store)
    assert not coordinator.stores
    assert not list(tmp_path.iterdir())


@pytest.mark.needs_file("it writes the metadata of a file")
def test_s316_metadata_set_without_a_stack_is_read_when_opening(
    place: str, store_type: str, host_type: str | None
) -> None:
    model = Model(CARS)
    first = Coordinator(model)
    opened = first.add_store(place, type=store_type)
    container = Container(model, place, type=store_type)  # some stores are files from the first save on
    container.context().save()
    container.close()
    corestone.set_metadata(place, {**corestone.metadata(place, type=host_type), "testKey": "told"}, type=host_type)
    assert corestone.metadata(place, type=host_type)["testKey"] == "told"
    # An open store need not have noticed.
    first.remove_store(opened)
    assert first.metadata(first.add_store(place, type=store_type))["testKey"] == "told"
    second = Coordinator(model)
    assert second.metadata(second.add_store(place, type=store_type))["testKey"] == "told"


@pytest.mark.parametrize("path", ["/dev/null", "none/of/these/"])
def test_s317_destroying_an_invalid_path_fails(tmp_path: Path, path: str) -> None:
    """A library's test on Apple's framework shows that both fail, but not which of its calls does."""
    coordinator = Coordinator(Model(CARS))
    for type in (None, "SQLite"):
        with pytest.raises(CorestoneError):
            coordinator.destroy_store(path if path == "/dev/null" else tmp_path / path / "a.sqlite", type=type)
    assert not coordinator.destroy_store(tmp_path / "none.sqlite")
    assert not list(tmp_path.iterdir())


@pytest.mark.needs_file("it looks for a file")
@pytest.mark.not_in("what its path means is its own matter, and it has no way to be destroyed", "REST")
def test_s318_store_is_found_by_its_path(store: Path, store_type: str) -> None:
    coordinator = Coordinator(Model({"Person": {"name": "string", "age": "int32"}}))
    added = coordinator.add_store(store, type=store_type)
    assert len(coordinator.stores) == 1
    by_other_words = store.parent / "." / ".." / store.parent.name / store.name
    # Only a custom store can interpret its path, so it is found by the same path only.
    found = coordinator.store_at(store if store_type in HOST_TYPES else by_other_words)
    assert found is not None
    assert (found.identifier, found.path) == (added.identifier, str(store))
    coordinator.remove_store(found)
    assert not coordinator.stores
    assert coordinator.destroy_store(store, type=store_type)


@pytest.mark.parametrize("text", ["magnitude", "", "x-coredata://", "http://example.org/Person/p1"])
def test_s319_invalid_uri_has_no_object_id(opened: Any, text: str) -> None:
    container = opened(Model(CARS))
    assert container.object_id(text) is None
