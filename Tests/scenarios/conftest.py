"""Scenarios of Core Data's behaviour: a file for each area, a test for each scenario, whose number is in its name.

What the scenarios say was asserted on Apple's own framework unless a test says otherwise. The run ends with a matrix:
how many of each area passed in each type of store (matrix.py).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from corestone import Container, Model
from host_places import HOST_TYPES, served  # which registers these types
from matrix import Matrix

HERE = Path(__file__).resolve().parent
# What the tests of the package share with the scenarios: samples.py, host_stores.py.
sys.path.insert(1, str(HERE.parents[1] / "bindings" / "python" / "tests"))
# Scenarios run in a store of each type, but for those that say why that cannot be.
STORE_TYPES = ("SQLite", "XML", "Binary", "InMemory", *HOST_TYPES)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Where a store may be made."""
    return tmp_path / "store.sqlite"


@pytest.fixture(params=STORE_TYPES)
def store_type(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def place(store: Path, store_type: str) -> Iterator[str]:
    """Where a store of the type may be made: a path, or the address of a service."""
    if store_type == "REST":
        with served() as service:
            yield service.url
    else:
        yield str(store)


@pytest.fixture
def host_type(store_type: str) -> str | None:
    """The store type if the path does not determine it."""
    return store_type if store_type in HOST_TYPES else None


@pytest.fixture
def opened(place: str, store_type: str) -> Any:
    """Opens the store with a model. All containers are closed at the end, and their unsaved changes are discarded."""
    containers: list[Container] = []

    def open_store(model: Model, **options: Any) -> Container:
        containers.append(Container(model, place, type=store_type, unsaved="discard", **options))
        return containers[-1]

    yield open_store
    for container in containers:
        container.close()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "needs_file(why): the scenario is about what a file keeps")
    config.addinivalue_line("markers", "needs_sqlite(why): the scenario is about what SQLite alone keeps or does")
    config.addinivalue_line("markers", "only_in(why, *types): the scenario is about what these types of stores do")
    config.addinivalue_line(
        "markers", "not_in(why, *types): these types of stores cannot do what the scenario is about"
    )
    config.pluginmanager.register(Matrix((*STORE_TYPES, "MemStore")))
