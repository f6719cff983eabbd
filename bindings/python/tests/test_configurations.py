"""Stores for configurations of a model: where objects go, what fetches ask, and what cannot lead where."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from corestone import Container, CorestoneError, InvalidArgumentError, Model, ModelError
from corestone.object import object_id
from corestone.stores.coordinator import Store


@pytest.fixture
def container(tmp_path: Path) -> Iterator[Container]:
    model = Model(
        {
            "Note": {"name": "string?", "tags": "to-many Tag inverse note"},
            "Tag": {"name": "string?", "note": "to-one Note? inverse tags"},
            "Draft": {"name": "string?"},
        }
    )
    model.configuration("Cloud", "Note", "Tag")
    model.configuration("Local", "Draft", "Tag")
    with Container(model, tmp_path / "cloud.sqlite", configuration="Cloud", unsaved="discard") as container:
        yield container


@pytest.fixture
def local(container: Container, tmp_path: Path) -> Store:
    return container.coordinator.add_store(tmp_path / "local.sqlite", configuration="Local")


def test_objects_are_saved_to_the_store_of_their_configuration(container: Container, local: Store) -> None:
    ctx = container.context()
    ctx.insert("Draft", name="d")
    ctx.insert("Note", name="n")
    tags = [ctx.insert("Tag", name=name) for name in "bac"]
    ctx.assign(tags[0], local)
    ctx.save()
    assert (container.store.configuration, local.configuration) == ("Cloud", "Local")
    hosts = {
        item.name: object_id(item).uri.split("/")[2]
        for entity in ("Note", "Draft", "Tag")
        for item in ctx.fetch(entity)
    }
    cloud, here = container.store.identifier, local.identifier
    assert hosts == {"n": cloud, "d": here, "a": cloud, "b": here, "c": cloud}
    assert [tag.name for tag in ctx.fetch("Tag", sort="name")] == ["a", "b", "c"]
    assert [tag.name for tag in ctx.fetch("Tag", sort="-name", limit=1, offset=1)] == ["b"]
    with pytest.raises(InvalidArgumentError, match="cannot change its store"):
        ctx.assign(tags[1], local)


def test_relationship_across_stores_fails_the_save(container: Container, local: Store) -> None:
    ctx = container.context()
    note = ctx.insert("Note", name="n")
    tag = ctx.insert("Tag", note=note)
    ctx.assign(tag, local)
    with pytest.raises(CorestoneError) as caught:
        ctx.save()
    assert caught.value.code == 133010
    assert object_id(note).uri in caught.value.message
    assert object_id(tag).uri in caught.value.message
    assert local.path in caught.value.message
    assert container.store.path in caught.value.message
    tag.note = None
    ctx.save()


def test_entity_without_a_store_cannot_be_fetched_or_saved(container: Container) -> None:
    ctx = container.context()
    with pytest.raises(InvalidArgumentError, match='Draft is in the configuration "Local"') as caught:
        ctx.fetch("Draft")
    assert caught.value.entity == "Draft"
    ctx.insert("Draft")
    with pytest.raises(InvalidArgumentError, match="the open store cannot hold Draft objects"):
        ctx.save()


def test_missing_entity_error_lists_all_configurations(tmp_path: Path) -> None:
    model = Model({"Note": {}, "Draft": {}})
    model.configuration("Cloud", "Note")
    model.configuration("Archive", "Draft")
    model.configuration("Local", "Draft")
    with (
        Container(model, tmp_path / "cloud.sqlite", configuration="Cloud") as container,
        pytest.raises(InvalidArgumentError, match='Draft is in the configurations "Archive" and "Local"; '),
    ):
        container.context().fetch("Draft")


def test_unknown_configuration_names_are_rejected(container: Container, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="no configuration"):
        container.coordinator.add_store(tmp_path / "x.sqlite", configuration="Elsewhere")
    assert not (tmp_path / "x.sqlite").exists()
    with pytest.raises(ModelError, match="the configuration with all entities"):
        Model({"A": {}}).configuration("Default", "A")
