"""Names and options of coordinators and stores, the store of an ID, unbound templates, types of requests."""

from __future__ import annotations

from pathlib import Path

import pytest
from host_stores import PEOPLE

from corestone import (
    AtomicStore,
    AtomicStoreCacheNode,
    BatchDeleteRequest,
    BatchInsertRequest,
    BatchUpdateRequest,
    Container,
    Context,
    Coordinator,
    FetchRequest,
    InvalidHandleError,
    Model,
    SaveChangesRequest,
    register_store_type,
    unregister_store_type,
)
from corestone.graph.request import PersistentStoreRequest
from corestone.stores.coordinator import Store


def test_coordinator_name_is_set_and_removed(model: Model) -> None:
    coordinator = Coordinator(model)
    assert coordinator.name is None
    coordinator.name = "main"
    assert coordinator.name == "main"
    coordinator.name = None
    assert coordinator.name is None


def test_store_options_are_those_of_add_store(model: Model, tmp_path: Path) -> None:
    coordinator = Coordinator(model)
    plain = coordinator.add_store(tmp_path / "a.sqlite")
    assert plain.options == {}
    options = {"sync": "normal", "history": True, "busy_timeout": 1.5, "pragmas": {"cache_size": "-1000"}}
    store = coordinator.add_store(tmp_path / "b.sqlite", **options)  # type: ignore[arg-type]
    assert store.options == options
    assert store.metadata["NSStoreType"] == "SQLite"
    with pytest.raises(InvalidHandleError, match="cannot be read without its coordinator"):
        _ = Store(store._handle).metadata


def test_id_knows_its_store(container: Container, ctx: Context) -> None:
    lab = ctx.insert("Department", name="Lab")
    assert lab.id.store is None
    ctx.save()
    store = lab.id.store
    assert store is not None
    assert store.path == container.coordinator.stores[0].path


def test_unbound_template_keeps_its_variables(model: Model) -> None:
    model.template("named", "Department", "name == $NAME", sort="name", limit=3)
    request = model.unbound_fetch_request("named")
    assert request is not None
    assert request.predicate is not None
    assert (str(request.predicate), request.limit, request.entity_name) == ("name == $NAME", 3, "Department")
    assert model.unbound_fetch_request("nothing") is None
    bound = request.predicate.substituting(NAME="Lab")
    assert str(bound) == 'name == "Lab"'


def test_request_types_are_core_datas() -> None:
    kinds = (FetchRequest, SaveChangesRequest, BatchInsertRequest, BatchUpdateRequest, BatchDeleteRequest)
    assert [kind.request_type for kind in kinds] == [1, 2, 5, 6, 7]
    assert all(issubclass(kind, PersistentStoreRequest) for kind in kinds)


def test_store_is_notified_of_its_coordinator() -> None:
    events: list[str] = []

    @register_store_type("Noticed")
    class Noticed(AtomicStore):
        def load(self) -> list[AtomicStoreCacheNode]:
            return []

        def did_add(self) -> None:
            events.append(f"added {self.path}")

        def will_remove(self) -> None:
            events.append(f"removed {self.path}")

        def close(self) -> None:
            events.append("closed")

    try:
        coordinator = Coordinator(Model(PEOPLE))
        observation = coordinator.observe("stores_did_change", lambda *_: events.append("told"))
        store = coordinator.add_store("shelf", type="Noticed")
        assert events == ["added shelf", "told"]
        coordinator.remove_store(store)
        assert events[2:] == ["removed shelf", "closed", "told"]
        coordinator.add_store("shelf", type="Noticed")
        coordinator.close()
        assert events[7:9] == ["removed shelf", "closed"]
        observation.cancel()
    finally:
        unregister_store_type("Noticed")
