"""Attributes of a host's store class can have any name that is not documented, also with an underscore."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from host_stores import EVERYTHING, PEOPLE, MemStore, PickleStore, described, fill, known_type

import corestone
from corestone import AtomicStore, Container, HostStore, IncrementalStore, Model, SaveChangesRequest, StoreOpening

PACKAGE = Path(corestone.__file__).parent
USUAL = {
    "_cache", "_client", "_close", "_connection", "_context", "_data", "_db", "_entities", "_file", "_handle",
    "_id", "_identifier", "_keys", "_lock", "_metadata", "_model", "_name", "_open", "_options", "_owner",
    "_path", "_queue", "_references", "_rows", "_session", "_state", "_store", "_table", "_type",
}  # fmt: skip


def private_names() -> list[str]:
    """Returns the usual private names of stores, and those of all attributes that the package itself has or uses."""
    found = {*USUAL}
    for file in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute):
                found.add(node.attr)
            elif isinstance(node, ast.FunctionDef):
                found.add(node.name)
    return sorted(name for name in found if name.startswith("_") and not name.startswith(("__", "_cst_")))


class Own:
    """A value of the application, which fails if the package uses it."""

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        raise AssertionError("the package called an attribute of the application")


def occupied(base: type[HostStore], names: list[str]) -> Any:
    """A subclass that has its own values for the names, in the class and in its instances."""
    own = {name: Own() for name in names}

    class Occupied(base):  # type: ignore[misc, valid-type]
        def __init__(self, opening: StoreOpening) -> None:
            self.__dict__.update(own)
            super().__init__(opening)
            assert {name: vars(self)[name] for name in names} == own
            self.__dict__.update(own)

        def check(self) -> None:
            assert all(vars(self)[name] is each for name, each in own.items())

    for name, each in own.items():
        setattr(Occupied, name, each)
    return Occupied


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    yield
    MemStore.kept.clear()


def names_for(base: type) -> list[str]:
    """Returns the names without those of the test's own store class."""
    return [name for name in private_names() if name not in dir(base)]


def test_names_of_an_incremental_store_are_free() -> None:
    names = names_for(MemStore)
    assert {"_owner", "_entities", "_references", "_handle", "_store"} <= {*names}
    kind = known_type("OccupiedMem", occupied(MemStore, names))
    with Container(Model(PEOPLE), "occupied", type=kind) as container:
        ctx = container.context()
        ada = ctx.insert("Person", name="Ada")
        ctx.save()
        uri = ada.id.uri
        ctx.reset()
        found = ctx.first("Person", "name == 'Ada'")
        assert found.id.uri == uri
        found.name = "Grace"
        ctx.save()
        ctx.delete(found)
        ctx.save()
        assert ctx.count("Person") == 0
        store: Any = container.store.host
        store.check()
        assert type(store).__name__ == "Occupied"


def test_names_of_an_atomic_store_are_free(tmp_path: Path) -> None:
    kind = known_type("OccupiedPickle", occupied(PickleStore, names_for(PickleStore)))
    path = tmp_path / "all.pickle"
    with Container(Model(EVERYTHING), path, type=kind) as container:
        ctx = container.context()
        fill(ctx)
        ctx.reset()
        before = described(ctx)
        store: Any = container.store.host
        store.check()
    with Container(Model(EVERYTHING), path, type=kind) as container:
        assert described(container.context()) == before


@pytest.mark.parametrize("kind", [HostStore, IncrementalStore, AtomicStore])
def test_names_of_the_base_classes_begin_with_cst(kind: type[HostStore]) -> None:
    private = {name for each in kind.__mro__[:-1] for name in vars(each) if name[0] == "_" and name[:2] != "__"}
    assert {name for name in private if not name.startswith(("_cst_", "_abc_"))} == set()
    opening = StoreOpening("Mem", "here", Model(PEOPLE), None, False, False, True, {}, {})
    for instance in (kind(opening), SaveChangesRequest()):
        assert {name for name in vars(instance) if name[0] == "_" and not name.startswith("_cst_")} == set()
