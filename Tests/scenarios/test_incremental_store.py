"""A custom store: its calls, their number, and its results.

The scenarios are about a store in memory. The two example stores, a folder of JSON files and a REST service, pass them
too: with the same counts of calls, and of the service with the requests that these cost, as the server counts them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from uuid import UUID

import pytest
from corestone import (
    Container,
    FetchRequest,
    IncrementalStoreNode,
    Model,
    PersistentStoreRequest,
    RowID,
    SaveChangesRequest,
)
from host_places import JSONFolder, RESTStore, served
from host_stores import Data, MemStore, Row, known_type, recorded
from json_files import JSONFiles
from server import Service, Step

PEOPLE = {
    "Person": {
        "name": "string?",
        "age": "int32?",
        "manager": "to-one Person? inverse reports",
        "reports": "to-many Person? inverse manager",
    },
    "Manager": {"@parent": "Person", "level": "int32?"},
}
TYPES = {"MemStore": MemStore, "JSONFolder": JSONFolder, "REST": RESTStore}


class Bench:
    """A store with rows that were added without the library, opened by a container, and its recorded calls."""

    def __init__(self, kind: str, folder: Path, service: Service | None) -> None:
        self.kind, self.service = kind, service
        self.path = service.url if service is not None else str(folder / "store")
        self.type = known_type(f"Recorded{kind}", recorded(TYPES[kind]))
        self.model: dict[str, dict[str, Any]] = PEOPLE
        self.containers: list[Container] = []
        self.seen: Counter[str] = Counter()

    def put(self, entity: str, reference: str, values: dict[str, Any], **links: str | None) -> None:
        """A row that is there before the store is opened; links are of to-one relationships, "Person/p1"."""
        if self.service is not None:
            self.service.objects.carry_out([Step("PUT", entity, reference, None, {"values": values, "links": links})])
        elif self.kind == "JSONFolder":
            if not Path(self.path).exists():
                self.open(Model(self.model)).close()
            row = {"version": 1, "values": values, "links": links}
            JSONFiles(self.path).commit({f"{entity}/{reference}.json": row})
        else:
            given = {name: tuple(link.split("/")) if link else None for name, link in links.items()}
            rows = MemStore.kept.setdefault(self.path, Data()).rows
            rows.setdefault(entity, {})[reference] = Row(1, dict(values), given)

    def open(self, model: Model) -> Container:
        self.containers.append(Container(model, self.path, type=self.type))
        return self.containers[-1]

    @property
    def store(self) -> Any:
        found: Any = self.containers[-1].store.host
        assert found is not None
        return found

    def asked(self, what: str) -> int:
        return int(self.store.counts[what])

    def requests(self) -> int:
        """The number of requests to the server since the last call; 0 without a server."""
        if self.service is None:
            return 0
        before, self.seen = self.seen, Counter(self.service.requests)
        return (self.seen - before).total() if hasattr(Counter, "total") else sum((self.seen - before).values())

    def cost(self, requests: int) -> bool:
        """Whether a step made this number of server requests, if there is a server."""
        return self.requests() == (requests if self.service is not None else 0)


@pytest.fixture(params=list(TYPES))
def store_type(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def bench(store_type: str, tmp_path: Path) -> Iterator[Bench]:
    with served() if store_type == "REST" else _nothing() as service:
        made = Bench(store_type, tmp_path, service)
        yield made
        for container in made.containers:
            container.close()
    MemStore.kept.clear()


class _nothing:
    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        return None


def boss_and_worker(bench: Bench) -> Container:
    """p1's row has no manager."""
    bench.put("Person", "p1", {"name": "Boss"})
    bench.put("Person", "p2", {"name": "Worker"}, manager="Person/p1")
    container = bench.open(Model(PEOPLE))
    bench.requests()
    return container


def identity(container: Container, entity: str, reference: Any) -> Any:
    return container.store.new_object_id(container.model[entity], reference)


def test_s014_results_are_sorted_again_with_pending_inserts(bench: Bench) -> None:
    bench.model = {"Item": {"name": "string?"}}
    for place, name in enumerate(["zebra", "apple", "mango"]):
        bench.put("Item", str(place + 1), {"name": name})
    context = bench.open(Model(bench.model)).context()
    context.insert("Item", name="banana")
    assert [each.name for each in context.fetch("Item", sort="name")] == ["apple", "banana", "mango", "zebra"]


def test_s017_updated_object_is_matched_by_its_current_values(bench: Bench) -> None:
    for place, name in enumerate(["zebra", "apple", "mango"]):
        bench.put("Person", str(place + 1), {"name": name})
    context = bench.open(Model(PEOPLE)).context()
    zebra = next(each for each in context.fetch("Person") if each.name == "zebra")
    zebra.name = "aaa"
    assert not {"aaa", "zebra"} & {each.name for each in context.fetch("Person", "name CONTAINS 'z'")}


def test_s185_to_many_relationship_is_read_once_on_access(bench: Bench) -> None:
    container = boss_and_worker(bench)
    boss = container.context().get(identity(container, "Person", "p1"))
    before = bench.asked("relationship")
    assert boss.name == "Boss"
    assert bench.asked("relationship") == before + 1  # the manager, which the row left out
    assert bench.store.log[-2:] == ["new_values", "relationship manager"]
    assert bench.cost(2)
    assert len(boss.reports) == 1
    assert bench.asked("relationship") == before + 2
    assert bench.cost(2)  # of Person and of Manager, which inherits from it
    assert [each.name for each in boss.reports] == ["Worker"]
    assert bench.asked("relationship") == before + 2
    assert bench.cost(0)


def test_s188_fetch_prefetches_despite_unsaved_changes(bench: Bench) -> None:
    context = boss_and_worker(bench).context()
    context.insert("Person", name="Extra")
    found = context.fetch("Person", "name == 'Boss'", prefetch=["reports"])
    assert [each.name for each in found] == ["Boss"]
    calls = bench.asked("relationship")
    bench.requests()
    assert [each.name for each in found[0].reports] == ["Worker"]
    assert bench.asked("relationship") == calls  # it was done with the fetch
    assert bench.cost(0)


def test_s191_setting_a_value_does_not_reread_the_row(bench: Bench) -> None:
    context = bench.open(Model({"Counter": {"name": "string?", "counter": "int32?"}})).context()
    item = context.insert("Counter", name="a", counter=1)
    context.save()
    context.refresh(item, merge=True)
    bench.requests()
    assert item.name == "a"
    item.counter = 99
    assert (item.name, item.counter) == ("a", 99)
    assert bench.asked("new_values") == 1
    assert bench.cost(1)


def test_s209_save_without_changes_reaches_the_store(bench: Bench) -> None:
    context = bench.open(Model(PEOPLE)).context()
    context.save()
    assert bench.asked("save") == 1
    assert bench.store.last_save == (0, 0, 0)


def test_s212_inserted_object_can_be_fetched(bench: Bench) -> None:
    context = bench.open(Model(PEOPLE)).context()
    alice = context.insert("Person", name="Alice")
    context.save()
    found = context.fetch("Person")
    assert len(found) == 1
    assert found[0] is alice
    assert (found[0].id, found[0].name) == (alice.id, "Alice")


def test_s215_permanent_id_is_registered_after_the_save(bench: Bench) -> None:
    context = bench.open(Model(PEOPLE)).context()
    bench.requests()
    alice = context.insert("Person", name="Alice")
    context.save()
    assert bench.store.log[-3:] == ["obtain_permanent_ids", "save 1 0 0", "did_register"]
    assert bench.asked("did_register") == 1
    assert not alice.id.is_temporary
    assert bench.cost(1)  # the transaction


def test_s217_unsaved_deleted_object_never_reaches_the_store(bench: Bench) -> None:
    context = bench.open(Model(PEOPLE)).context()
    item = context.insert("Person", name="a")
    uri = item.id
    context.delete(item)
    context.save()
    assert not context.inserted
    assert not context.deleted
    assert context.registered(uri) is None
    # Apple's framework sends an empty save, as for a clean context.
    assert bench.store.last_save == (0, 0, 0)
    assert bench.asked("obtain_permanent_ids") == 0


def test_s291_store_identifier_comes_from_the_metadata(bench: Bench) -> None:
    container = bench.open(Model(PEOPLE))
    known = container.coordinator.metadata(container.store)
    assert known["NSStoreType"] == bench.type == container.store.type
    assert str(UUID(known["NSStoreUUID"])).upper() == container.store.identifier.upper()
    assert bench.asked("load_metadata") == 1
    container.close()
    assert bench.open(Model(PEOPLE)).store.identifier == container.store.identifier


def test_s294_ids_are_equal_by_store_entity_and_reference(bench: Bench) -> None:
    container = bench.open(Model(PEOPLE))
    first, again, other = (identity(container, "Person", reference) for reference in ("r1", "r1", "r2"))
    assert (first, hash(first)) == (again, hash(again))
    assert first != other


def test_s297_bytes_can_be_references(bench: Bench) -> None:
    container = bench.open(Model(PEOPLE))
    given = identity(container, "Person", b"\x01\xab\xff")
    last = unquote(given.uri.rpartition("/")[2])
    assert last[0] == "p"
    assert "01abff" in last.lower()
    back = container.object_id(given.uri)
    assert back is not None
    said = back.reference
    shown = said.hex() if isinstance(said, bytes) else str(said)
    assert "01abff" in shown.lower()


def test_s300_predicates_and_sorts_are_applied(bench: Bench) -> None:
    bench.put("Person", "r1", {"name": "Bob"}, manager=None)
    bench.put("Person", "r2", {"name": "Alice"}, manager=None)
    context = bench.open(Model(PEOPLE)).context()
    bench.requests()
    assert [each.name for each in context.fetch("Person", "name == 'Alice'")] == ["Alice"]
    assert bench.asked("fetch") == 1
    assert bench.cost(2)  # of Person and of Manager, which inherits from it
    assert [each.name for each in context.fetch("Person", sort="name")] == ["Alice", "Bob"]
    assert bench.asked("fetch") == 2
    assert bench.asked("new_values") == 0  # the rows came with the fetch
    assert bench.cost(2)


def test_s302_dictionary_fetch_reaches_the_store(bench: Bench) -> None:
    bench.put("Person", "r1", {"name": "Alice", "age": 30})
    context = bench.open(Model(PEOPLE)).context()
    before = bench.asked("fetch")
    assert context.fetch_rows("Person", columns=["name"]) == [{"name": "Alice"}]
    assert bench.asked("fetch") == before + 1


def test_s305_store_excludes_subentities_on_request(bench: Bench) -> None:
    bench.put("Person", "p1", {"name": "Alice"}, manager=None)
    bench.put("Manager", "m1", {"name": "Bob", "level": 3}, manager=None)
    context = bench.open(Model(PEOPLE)).context()
    bench.requests()
    assert len(context.fetch("Person")) == 2
    assert bench.cost(2)
    found = context.fetch("Person", include_subentities=False)
    assert [each.id.entity_name for each in found] == ["Person"]
    assert bench.store.requests[-1].include_subentities is False
    assert bench.cost(1)


def test_s308_node_can_be_updated_with_new_values(bench: Bench) -> None:
    row = bench.open(Model(PEOPLE)).store.host
    assert row is not None
    node = IncrementalStoreNode(row.row_id("Person", "p1"), {"name": "Bob", "age": 30}, 1)
    node.update({"name": "Carol", "age": 31, "nothing such": 1}, 2)
    assert (node["name"], node.version, node.values) == ("Carol", 2, {"name": "Carol", "age": 31})


def test_s311_requests_have_their_types(bench: Bench) -> None:
    fetch, nothing = FetchRequest(), SaveChangesRequest()
    assert isinstance(fetch, PersistentStoreRequest) and isinstance(nothing, PersistentStoreRequest)
    assert (fetch.request_type, nothing.request_type) == (1, 2)
    store = bench.open(Model(PEOPLE)).store.host
    assert store is not None
    node = IncrementalStoreNode(RowID(store.model["Person"], "p1"))
    request = SaveChangesRequest(inserted_objects={node})
    assert request.inserted_objects == {node}
    assert not request.updated_objects and not request.deleted_objects
    assert nothing.is_empty
    assert json.dumps(sorted(map(len, (request.updated_objects, request.deleted_objects)))) == "[0, 0]"
