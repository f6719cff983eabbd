"""Stores of small models that are migrated to others, and compared with the independent oracle."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Callable

import history
import pytest
from corestone import Container, Context, Coordinator, CorestoneError, Model
from oracle import Correspondence, Migration, compare
from pairs import TOOL, digest
from source_models import SourceModel, read_model
from stored import StoreReader, hashes, schema

Definition = Mapping[str, Mapping[str, Any]]
Fill = Callable[[Context], Any]


def small_model(definition: Definition, identifiers: Mapping[str, str] | None = None) -> Model:
    """A model in the compact form; `identifiers` are renaming identifiers by "Entity" and "Entity.property"."""
    model = Model(definition)
    for place, identifier in (identifiers or {}).items():
        entity, _, name = place.partition(".")
        if name:
            model[entity].change(name, renaming_identifier=identifier)
        else:
            model[entity].renaming_identifier = identifier
    return model


class Workshop:
    """A folder with one store, its copy from before the migration, and the opened containers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "store.sqlite"
        self.copy = folder / "former" / "store.sqlite"
        self.options: dict[str, Any] = {}
        self.opened: list[Container] = []

    def source(self, model: Model, name: str) -> SourceModel:
        """The model, parsed from plain XML."""
        place = self.folder / f"{name}.xcdatamodel"
        place.mkdir(exist_ok=True)
        (place / "contents").write_text(model.source(lossy=True), encoding="utf-8")
        return read_model(place)

    def write(
        self, definition: Definition, fill: Fill, identifiers: Mapping[str, str] | None = None, **options: Any
    ) -> None:
        """Makes the store of the former model. The options count for every later opening too."""
        self.options = options
        model = small_model(definition, identifiers)
        with Container(model, self.path, **options) as container, container.context() as context:
            fill(context)
            context.save()
        self.former = self.source(model, "former")
        if options.get("history"):
            history.scramble(self.path, self.former, "1")
        if self.copy.parent.exists():
            shutil.rmtree(self.copy.parent)
        self.copy.parent.mkdir()
        for each in [self.path, *self.folder.glob(".store_SUPPORT")]:
            (shutil.copytree if each.is_dir() else shutil.copyfile)(each, self.copy.parent / each.name)

    def migrate(self, model: Model, **options: Any) -> None:
        with Coordinator(model) as coordinator:
            coordinator.add_store(self.path, migrate=True, **{"allow_removals": True, **self.options, **options})

    def migrated(
        self,
        definition: Definition,
        identifiers: Mapping[str, str] | None = None,
        *,
        compared: bool = True,
        **options: Any,
    ) -> Context:
        """Migrates the store. Returns a context on it.

        Checks that its schema is a fresh store's, that Apple's framework would accept it, and with `compared`, that
        every value is what the oracle expects.
        """
        model = small_model(definition, identifiers)
        self.migrate(model.copy(), **options)
        self._check_schema(model)
        if compared:
            self._compare(model)
        done = subprocess.run([TOOL, "check", "--apple", str(self.path)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return self.open(model)

    def open(self, model: Model) -> Context:
        container = Container(model, self.path, unsaved="discard", migrate=False, **self.options)
        self.opened.append(container)
        return container.context()

    def _check_schema(self, model: Model) -> None:
        fresh = self.folder / "fresh.sqlite"
        for file in self.folder.glob("fresh.sqlite*"):
            file.unlink()
        with Container(model.copy(), fresh, **self.options):
            pass
        assert schema(self.path) == schema(fresh)
        assert hashes(self.path) == hashes(fresh)

    def _compare(self, model: Model) -> None:
        former, wanted = hashes(self.copy), hashes(self.path)
        equal = {name for name, value in wanted.items() if former.get(name) == value}
        after = self.source(model, "new")
        pairing = Correspondence(self.former, after, equal)
        migration = Migration(pairing, StoreReader(self.copy, self.former).read())
        assert migration.run().refusals == []
        assert compare(migration, StoreReader(self.path, after).read()).differences == []

    def refused(
        self, definition: Definition, code: int, identifiers: Mapping[str, str] | None = None, **options: Any
    ) -> CorestoneError:
        """The error of a migration, which leaves the store as it was."""
        content, file = digest(self.path), self.path.read_bytes()
        with pytest.raises(CorestoneError) as caught:
            self.migrate(small_model(definition, identifiers), **options)
        assert caught.value.code == code, str(caught.value)
        assert digest(self.path) == content
        if not self.options.get("history"):
            assert self.path.read_bytes() == file
        return caught.value

    def close(self) -> None:
        for container in self.opened:
            container.close()
        self.opened.clear()


def rows(context: Context, entity: str, *names: str) -> list[tuple[Any, ...]]:
    """The values of all objects of an entity, in the order of their keys."""
    objects = sorted(context.fetch(entity), key=lambda item: int(str(item.id).rsplit("/p", 1)[1].rstrip(">")))
    return [tuple(item[name] for name in names) for item in objects]
