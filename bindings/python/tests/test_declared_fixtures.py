"""Models of the fixtures, written as classes, have the version hashes of their source models."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path

import declared_models
import pytest

from corestone import Container, Model

NAMES = [module.name for module in pkgutil.iter_modules(declared_models.__path__)]


def test_there_are_at_least_twenty_models() -> None:
    assert len(NAMES) >= 20


@pytest.mark.parametrize("name", NAMES)
def test_classes_have_the_hashes_of_the_source_model(name: str, fixtures: Path, tmp_path: Path) -> None:
    module = importlib.import_module(f"declared_models.{name}")
    source = Model.load(fixtures / "source-models" / module.SOURCE)
    declared = Model(*module.CLASSES)
    changes = [change.text for change in source.diff(declared) if change.changes_hash]
    assert changes == []
    assert sorted(declared) == sorted(source)
    for entity in source:
        assert declared[entity].version_hash == source[entity].version_hash
    assert declared.checksum == source.checksum
    # A store of the classes opens with the source model.
    with Container(declared, tmp_path / "a.sqlite"):
        pass
    with Container(source, tmp_path / "a.sqlite") as container:
        assert container.store.model_source == "given"


@pytest.mark.parametrize("name", NAMES)
def test_classes_can_be_bound_to_the_source_model(name: str, fixtures: Path) -> None:
    module = importlib.import_module(f"declared_models.{name}")
    source = Model.load(fixtures / "source-models" / module.SOURCE).bind(*module.CLASSES)
    assert all(issubclass(source[each.__name__].object_class, each) for each in module.CLASSES)
