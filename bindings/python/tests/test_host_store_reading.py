"""Which rows and relationships a custom store is asked for again."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import pytest

import corestone
from corestone import (
    AtomicStore,
    AtomicStoreCacheNode,
    CallbackError,
    Container,
    Context,
    CorestoneError,
    FetchRequest,
    IncrementalStore,
    IncrementalStoreNode,
    InvalidArgumentError,
    Model,
    ObjectGoneError,
    RowID,
    SaveChangesRequest,
)

HOMES = {
    "Home": {"n": "string?", "people": "to-many Person? inverse home"},
    "Person": {"name": "string?", "home": "to-one Home? inverse people"},
}


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    before = corestone.registered_store_types()
    yield
    gc.collect()
    for name in set(corestone.registered_store_types()) - set(before):
        corestone.unregister_store_type(name)


class Street(IncrementalStore):
    """One home; `names` is changed without the library."""

    gives = "rows"  # what a relationship gives; "lists": rows of homes come with the references of their people

    def __init__(self, opening: corestone.StoreOpening) -> None:
        super().__init__(opening)
        self.names = {"p1": "old"}
        self.calls: Counter[str] = Counter()

    def person(self, reference: str) -> IncrementalStoreNode:
        return IncrementalStoreNode(self.row_id("Person", reference), {"name": self.names[reference], "home": "h1"}, 1)

    def home(self) -> IncrementalStoreNode:
        lists = {"people": list(self.names)} if self.gives == "lists" else {}
        return IncrementalStoreNode(self.row_id("Home", "h1"), {"n": "home", **lists}, 1)

    def execute_fetch(self, request: FetchRequest) -> Any:
        self.calls["fetch"] += 1
        if request.entity.name == "Home":
            return [self.home()]
        return [self.row_id("Person", each) for each in self.names]

    def new_values(self, ids: Sequence[RowID]) -> Any:
        self.calls["values"] += 1
        return [self.home() if each.entity.name == "Home" else self.person(str(each.reference)) for each in ids]

    def new_value_for_relationship(self, relationship: str, object_id: RowID) -> Any:
        self.calls["relationship"] += 1
        return [self.person(each) for each in self.names] if self.gives == "rows" else list(self.names)

    def save(self, request: SaveChangesRequest) -> None:
        pass


def street(gives: str) -> tuple[Container, Any]:
    class Kind(Street):
        pass

    Kind.gives = gives
    corestone.register_store_type("Street", Kind)
    container = Container(Model(HOMES), "street", type="Street")
    return container, container.store.host


def test_rows_pushed_with_members_are_not_requested() -> None:
    container, store = street("rows")
    context = container.context()
    assert [each.name for each in context.fetch("Home")[0].people] == ["old"]
    assert (store.calls["relationship"], store.calls["values"]) == (1, 0)


@pytest.mark.parametrize("way", ["refresh_all", "reset", "refresh"])
def test_pushed_rows_expire_at_a_refresh(way: str) -> None:
    container, store = street("rows")
    context = container.context()
    home = context.fetch("Home")[0]
    assert len(home.people) == 1
    store.names["p1"] = "new"
    if way == "refresh":
        context.refresh(context.fetch("Person")[0], merge=False)
    else:
        getattr(context, way)()
    assert [each.name for each in context.fetch("Person")] == ["new"]
    assert store.calls["values"] == 1


def test_member_count_of_another_context_leaves_no_stale_rows() -> None:
    container, store = street("rows")
    first, second = container.context(), container.context()
    assert len(first.fetch("Home", "ANY people.name == 'old'")) == 1
    store.names["p1"] = "new"
    second.refresh_all()
    assert [each.name for each in second.fetch("Person")] == ["new"]


@pytest.mark.parametrize("way", ["refresh", "refresh_all", "reset", "save"])
def test_pushed_members_expire_at_a_refresh(way: str) -> None:
    container, store = street("lists")
    context = container.context()
    home = context.fetch("Home")[0]
    assert home.n == "home"
    store.names["p2"] = "another"
    store.gives = "references"  # the rows of homes tell their people no more
    if way == "refresh":
        context.refresh(home, merge=False)
    elif way == "save":
        other = container.context()
        other.insert("Home", n="x")
        other.save()
    else:
        getattr(context, way)()
    home = context.fetch("Home")[0]
    assert sorted(each.name for each in home.people) == ["another", "old"]
    assert store.calls["relationship"] == 1


def test_members_are_requested_when_a_later_row_omits_them() -> None:
    container, store = street("lists")
    context = container.context()
    home = context.fetch("Home")[0]
    assert home.n == "home"
    store.names["p2"] = "another"
    store.gives = "references"
    assert context.fetch("Home")[0] is home
    assert sorted(each.name for each in home.people) == ["another", "old"]
    assert store.calls["relationship"] == 1


def test_members_pushed_with_rows_are_not_requested() -> None:
    container, store = street("lists")
    assert len(container.context().fetch("Home")[0].people) == 1
    assert store.calls["relationship"] == 0


def test_metadata_beyond_a_limit_are_to_be_made_smaller() -> None:
    class Nested(Street):
        def load_metadata(self) -> Any:
            inner: dict[str, Any] = {}
            for _ in range(200):
                inner = {"in": inner}
            return {**self.opening.metadata, "in": inner}

    corestone.register_store_type("Nested", Nested)
    limit = r"which is the limit; fill out_metadata in the callback open with a smaller, less nested dictionary$"
    with pytest.raises(CorestoneError, match=limit):
        Container(Model(HOMES), "x", type="Nested")


def test_row_id_of_another_class_names_the_argument() -> None:
    class Cars(IncrementalStore):
        def execute_fetch(self, request: FetchRequest) -> Any:
            return [self.row_id(Counter, "c1")]  # type: ignore[arg-type]

        def new_values(self, ids: Sequence[RowID]) -> Any:
            return None

    corestone.register_store_type("Cars", Cars)
    container = Container(Model({"Car": {"name": "string?"}}), "x", type="Cars")
    with pytest.raises(CallbackError, match=r"which is not an Entity; pass an Entity or its name to Cars\.row_id$"):
        container.context().fetch("Car")
    container.close()


def test_rows_read_for_their_entity_are_read_once() -> None:
    class Cars(IncrementalStore):
        def execute_fetch(self, request: FetchRequest) -> Any:
            return [IncrementalStoreNode(self.row_id("Car", f"c{i}"), {"owner": f"p{i}"}, 1) for i in range(3)]

        def new_values(self, ids: Sequence[RowID]) -> Any:
            calls.append(len(ids))
            return [IncrementalStoreNode(self.row_id("Boss", each.reference), {"name": "b"}, 1) for each in ids]

    calls: list[int] = []
    corestone.register_store_type("Cars", Cars)
    model = {"Person": {"name": "string?"}, "Boss": {"@parent": "Person"}, "Car": {"owner": "to-one Person?"}}
    with Container(Model(model), "x", type="Cars") as container:
        assert [each.owner.name for each in container.context().fetch("Car")] == ["b", "b", "b"]
    assert calls == [3]


def test_reference_by_superentity_resolves_to_the_reported_subentity() -> None:
    class Cars(IncrementalStore):
        def execute_fetch(self, request: FetchRequest) -> Any:
            if request.entity.name == "Car":
                return [IncrementalStoreNode(self.row_id("Car", "c"), {"owner": self.row_id("Person", "p")}, 1)]
            return [IncrementalStoreNode(self.row_id("Boss", "p"), {"name": "b"}, 1)]

        def new_values(self, ids: Sequence[RowID]) -> Any:
            calls.append(len(ids))
            return [IncrementalStoreNode(self.row_id("Boss", each.reference), {"name": "b"}, 1) for each in ids]

    calls: list[int] = []
    corestone.register_store_type("Cars", Cars)
    model = {"Person": {"name": "string?"}, "Boss": {"@parent": "Person"}, "Car": {"owner": "to-one Person?"}}
    with Container(Model(model), "x", type="Cars") as container:
        context = container.context()
        boss = context.fetch("Person")[0]
        assert boss.id.entity_name == "Boss"
        assert context.fetch("Car")[0].owner is boss
        owner = container.context().fetch("Car")[0].owner
        assert (owner.id.entity_name, owner.name) == ("Boss", "b")
    assert calls == []


def test_rejected_push_does_not_set_entities() -> None:
    class Bad(IncrementalStore):
        def execute_fetch(self, request: FetchRequest) -> Any:
            asked.append(1)
            if len(asked) > 1:
                return [IncrementalStoreNode(self.row_id("Boss", "a"), {"name": "x"}, 1)]
            good = IncrementalStoreNode(self.row_id("Person", "a"), {"name": "x"}, 1)
            return [good, IncrementalStoreNode(self.row_id("Person", "b"), {"name": b"bad"}, 1)]

        def new_values(self, ids: Sequence[RowID]) -> Any:
            return []

    asked: list[int] = []
    corestone.register_store_type("Bad", Bad)
    with Container(Model({"Person": {"name": "string?"}, "Boss": {"@parent": "Person"}}), "x", type="Bad") as container:
        context = container.context()
        with pytest.raises(CallbackError, match=r"Person\.name"):
            context.fetch("Person")
        assert [each.id.entity_name for each in context.fetch("Person")] == ["Boss"]


class Counted(IncrementalStore):
    answer: Any = 7

    def execute_fetch(self, request: FetchRequest) -> Any:
        seen.append((request.result_type, request.sort, request.limit))
        return type(self).answer

    def new_values(self, ids: Sequence[RowID]) -> Any:
        return []


seen: list[Any] = []


def counting(answer: Any) -> Context:
    Counted.answer = answer
    seen.clear()
    corestone.register_store_type("Counted", Counted)
    return Container(Model({"Person": {"name": "string?"}}), "shelf 3", type="Counted").context()


def test_count_is_requested_once_without_sort() -> None:
    context = counting(7)
    assert context.count("Person", limit=3) == 7
    assert seen == [("count", None, 3)] or [each[0] for each in seen] == ["count"]


def test_negative_count_error_names_the_store() -> None:
    context = counting(-3)
    with pytest.raises(CallbackError, match="shelf 3 returned the count -3 for Person"):
        context.count("Person")


class Told(IncrementalStore):
    fails: BaseException | None = None

    def __init__(self, opening: corestone.StoreOpening) -> None:
        super().__init__(opening)
        self.notices: list[tuple[str, int]] = []

    def execute_fetch(self, request: FetchRequest) -> Any:
        return [IncrementalStoreNode(self.row_id("Person", f"p{i}"), {"name": str(i)}, 1) for i in range(100)]

    def new_values(self, ids: Sequence[RowID]) -> Any:
        return [IncrementalStoreNode(each, {"name": "x"}, 1) for each in ids]

    def did_register(self, ids: Sequence[RowID]) -> None:
        self.notices.append(("in", len(ids)))
        failure, type(self).fails = type(self).fails, None
        if failure is not None:
            raise failure

    def did_unregister(self, ids: Sequence[RowID]) -> None:
        self.notices.append(("out", len(ids)))


def told() -> tuple[Container, Any]:
    corestone.register_store_type("Told", Told)
    container = Container(Model({"Person": {"name": "string?"}}), "x", type="Told")
    return container, container.store.host


def test_registration_callbacks_are_batched() -> None:
    container, store = told()
    context = container.context()
    found = list(context.fetch("Person"))
    assert store.notices == [("in", 100)]
    context.reset()
    assert store.notices == [("in", 100), ("out", 100)]
    found.clear()
    gc.collect()
    context.count("Person")
    assert store.notices == [("in", 100), ("out", 100)]


def test_registration_callbacks_of_a_save_follow_the_save() -> None:
    class Hall(Told):
        seen: ClassVar[list[tuple[bool, int]]] = []

        def save(self, request: SaveChangesRequest) -> None:
            pass

        def did_register(self, ids: Sequence[RowID]) -> None:
            Hall.seen.append((context.has_changes, len(ids)))

    corestone.register_store_type("Hall", Hall)
    context = Container(Model({"Person": {"name": "string?"}}), "x", type="Hall").context()
    context.insert("Person", name="a")
    context.insert("Person", name="b")
    context.save()
    assert Hall.seen == [(False, 2)]


def test_released_objects_are_deregistered_together() -> None:
    container, store = told()
    context = container.context()
    found = list(context.fetch("Person"))
    assert len(found) == 100
    del found
    gc.collect()
    context.count("Person")
    assert sum(count for kind, count in store.notices if kind == "out") == 100


def test_closing_a_context_deregisters_its_objects() -> None:
    container, store = told()
    context = container.context()
    found = list(context.fetch("Person"))
    context.close()
    found.clear()
    gc.collect()
    assert store.notices == [("in", 100), ("out", 100)]


def test_objects_are_deregistered_before_their_store_closes() -> None:
    corestone.register_store_type("Told", Told)
    coordinator = corestone.Coordinator(Model({"Person": {"name": "string?"}}))
    host = coordinator.add_store("x", type="Told").host
    assert isinstance(host, Told)
    context = coordinator.context()
    found = list(context.fetch("Person"))
    del coordinator
    gc.collect()
    context.close()
    found.clear()
    del context
    gc.collect()
    assert host.notices == [("in", 100), ("out", 100)]


@pytest.mark.parametrize("raised", [KeyboardInterrupt, SystemExit])
def test_ctrl_c_in_a_callback_is_raised_by_the_next_call(raised: type[BaseException]) -> None:
    container, store = told()
    context = container.context()
    Told.fails = raised()
    assert len(context.fetch("Person")) == 100
    with pytest.raises(raised):
        context.fetch("Person")
    assert len(context.fetch("Person")) == 100
    assert store._cst_ended is None


class Shelf(AtomicStore):
    kept: ClassVar[list[tuple[Any, dict[str, Any], int]]] = []
    said: dict[str, Any] | None = None
    within: Any = None

    def load_metadata(self) -> Any:
        return type(self).said

    def load(self) -> Any:
        return [AtomicStoreCacheNode(self.row_id("Person", each), dict(v), n) for each, v, n in self.kept]

    def save(self, request: SaveChangesRequest) -> None:
        if type(self).within is not None:
            type(self).within()
        type(self).kept = [(each.reference, dict(each.values), each.version) for each in request.cache_nodes()]
        type(self).said = dict(self.metadata)


def shelf() -> Container:
    if "Shelf" not in corestone.registered_store_types():
        Shelf.kept, Shelf.said, Shelf.within = [], None, None
        corestone.register_store_type("Shelf", Shelf)
    return Container(Model({"Person": {"name": "string?"}}), "x", type="Shelf")


def test_references_of_atomic_stores_are_not_reused() -> None:
    with shelf() as container:
        context = container.context()
        context.insert("Person", name="first")
        last = context.insert("Person", name="last")
        context.save()
        uri = last.id.uri
        context.delete(last)
        context.save()
    with shelf() as container:
        context = container.context()
        new = context.insert("Person", name="new")
        context.save()
        assert new.id.uri != uri
        old = container.object_id(uri)
        assert old is not None
        with pytest.raises(ObjectGoneError):
            context.existing(old)


def test_atomic_store_cannot_be_read_during_its_save() -> None:
    with shelf() as container:
        context, other = container.context(), container.context()
        context.insert("Person", name="never saved")
        refused: list[str] = []

        def peek() -> None:
            for read in (
                lambda: other.fetch("Person"),
                lambda: other.count("Person"),
                lambda: other.fetch_rows("Person"),
            ):
                try:
                    read()
                except InvalidArgumentError as failure:
                    refused.append(failure.message)
            raise OSError("disk full")

        Shelf.within = peek
        with pytest.raises(CallbackError, match="disk full"):
            context.save()
        Shelf.within = None
        assert len(refused) == 3
        assert all("within one of its own callbacks" in each for each in refused)
        assert other.count("Person") == 0
        context.save()
        assert other.count("Person") == 1
