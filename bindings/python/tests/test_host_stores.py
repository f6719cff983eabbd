"""Custom stores: the arguments, results and exceptions of their methods."""

from __future__ import annotations

import gc
import subprocess
import sys
import textwrap
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from enum import IntEnum
from pathlib import Path
from typing import Any, Callable
from uuid import UUID

import pytest
from host_stores import (
    EPOCH,
    EVERYTHING,
    PEOPLE,
    VALUES,
    Data,
    MemStore,
    PickleStore,
    Row,
    described,
    fill,
    known_type,
    recorded,
)

import corestone
from corestone import (
    AtomicStore,
    AtomicStoreCacheNode,
    CallbackError,
    ConflictError,
    Container,
    Coordinator,
    CorestoneError,
    Fetched,
    IncrementalStore,
    IncrementalStoreNode,
    InvalidArgumentError,
    InvalidHandleError,
    MergePolicy,
    Model,
    ModelMismatchError,
    NotAStoreError,
    NumberRangeError,
    RowID,
    SaveChangesRequest,
    StoreDescription,
    StoreOpening,
    TypeMismatchError,
    UnsupportedError,
    UpdatedNode,
)


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    before = corestone.registered_store_types()
    yield
    gc.collect()
    for name in corestone.registered_store_types():
        if name not in before:
            corestone.unregister_store_type(name)
    MemStore.kept.clear()


def mem() -> str:
    return known_type("Mem", recorded(MemStore))


def open_mem(model: Any = PEOPLE, path: str = "somewhere", **options: Any) -> Container:
    return Container(Model(model), path, type=mem(), **options)


def host(container: Container) -> Any:
    found = container.store.host
    assert found is not None
    return found


# -------- registering ----------------------------------------------------------------------------------------


def test_store_types_are_registered_by_name() -> None:
    before = corestone.registered_store_types()
    assert before[:1] == ["SQLite"]

    @corestone.register_store_type("Decorated")
    class Decorated(MemStore):
        pass

    assert corestone.registered_store_types() == [*before, "Decorated"]
    with Container(Model(PEOPLE), "x", type="decorated") as container:
        assert type(container.store.host) is Decorated
        assert container.store.type == "Decorated"
    with pytest.raises(InvalidArgumentError, match="Decorated"):
        corestone.register_store_type("DECORATED", MemStore)
    with pytest.raises(InvalidArgumentError, match="SQLite"):
        corestone.register_store_type("SQLite", MemStore)
    assert corestone.unregister_store_type("Decorated")
    assert not corestone.unregister_store_type("Decorated")
    with pytest.raises(InvalidArgumentError, match="Decorated"):
        Container(Model(PEOPLE), "x", type="Decorated")


def test_invalid_store_class_is_rejected() -> None:
    given: Any
    for given in (object, "text", corestone.HostStore, MemStore.__new__):
        with pytest.raises(TypeMismatchError, match="subclass of IncrementalStore or AtomicStore"):
            corestone.register_store_type("Bad", given)

    class Bare(IncrementalStore):
        pass

    class BareFile(AtomicStore):
        pass

    with pytest.raises(InvalidArgumentError, match="execute_fetch and new_values"):
        corestone.register_store_type("Bad", Bare)
    with pytest.raises(InvalidArgumentError, match="load"):
        corestone.register_store_type("Bad", BareFile)
    assert "Bad" not in corestone.registered_store_types()


def test_store_stays_open_when_its_type_is_deregistered() -> None:
    container = open_mem()
    corestone.unregister_store_type("Mem")
    ctx = container.context()
    ctx.insert("Person", name="Ada")
    ctx.save()
    ctx.reset()
    assert [each.name for each in ctx.fetch("Person")] == ["Ada"]
    container.close()
    assert container.store.host is None


# -------- opening --------------------------------------------------------------------------------------------


def test_store_receives_its_opening_parameters(tmp_path: Path) -> None:
    told: list[StoreOpening] = []

    class Telling(MemStore):
        def __init__(self, opening: StoreOpening) -> None:
            super().__init__(opening)
            told.append(opening)

    corestone.register_store_type("Telling", Telling)
    options = {"timeout": 2.5, "pages": 2, "text": "ü", "nothing": None, "data": b"1", "since": EPOCH, "flag": True}
    with Container(Model(PEOPLE), tmp_path / "x", type="Telling", options=options) as container:
        assert told[0].options == options
        assert (told[0].type, told[0].path) == ("Telling", str(tmp_path / "x"))
        assert told[0].is_new
        assert not told[0].must_exist
        assert not told[0].is_read_only
        assert set(told[0].model) == {"Person", "Manager"}
        assert told[0].metadata["NSStoreUUID"] == container.store.identifier
    (tmp_path / "empty").touch()
    (tmp_path / "full").write_text("something")
    for name, is_new in (("empty", True), ("full", False)):
        with Container(Model(PEOPLE), tmp_path / name, type="Telling", read_only=True):
            assert (told[-1].is_new, told[-1].is_read_only) == (is_new, True)
    with pytest.raises(InvalidArgumentError, match="option"):
        Container(Model(PEOPLE), tmp_path / "a.sqlite", options={"timeout": 1})
    with pytest.raises(TypeMismatchError, match="pages"):
        Container(Model(PEOPLE), "x", type="Telling", options={"pages": [1, 2]})
    with pytest.raises(TypeMismatchError, match="options"):
        Container(Model(PEOPLE), "x", type="Telling", options=7)  # type: ignore[call-overload]


@pytest.mark.parametrize("given", [OSError("no answer"), FileNotFoundError("gone"), 7, {"ours": object()}])
@pytest.mark.parametrize("closes", [True, False])
def test_store_that_fails_to_open_is_closed(given: Any, closes: bool) -> None:
    """A constructor may have opened files and connections; the first failure is reported."""
    log: list[str] = []

    class Opening(MemStore):
        def load_metadata(self) -> Any:
            log.append("open")
            if isinstance(given, Exception):
                raise given
            return given

        def close(self) -> None:
            log.append("close")
            if not closes:
                raise ValueError("it does not close either")

    corestone.register_store_type("Opening", Opening)
    with pytest.raises(CorestoneError) as failure:
        Container(Model(PEOPLE), "x", type="Opening")
    assert "close either" not in str(failure.value)
    if isinstance(given, Exception):
        assert failure.value.__cause__ is given
    assert log == ["open", "close"]
    log.clear()
    with pytest.raises(CorestoneError):
        Container(Model(PEOPLE), "x", type="Opening", must_exist=True)
    assert log == ["open", "close"]


def test_backup_of_a_custom_store_is_unsupported(tmp_path: Path) -> None:
    with (
        open_mem() as container,
        pytest.raises(UnsupportedError, match=r'custom store \(type "Mem"\) cannot be backed up; migrate'),
    ):
        container.coordinator.backup(container.store, tmp_path / "copy")


def test_metadata_is_stored_and_checked() -> None:
    container = open_mem()
    identifier = container.store.identifier
    container.coordinator.set_metadata(container.store, {"ours": [1, "two", b"3"]})
    container.context().save()
    assert host(container).metadata["ours"] == [1, "two", b"3"]
    container.close()
    assert corestone.metadata("somewhere", type="Mem")["ours"] == [1, "two", b"3"]
    corestone.set_metadata("somewhere", {**corestone.metadata("somewhere", type="Mem"), "ours": "set"}, type="Mem")
    with open_mem() as again:
        assert again.store.identifier == identifier
        assert again.coordinator.metadata(again.store)["ours"] == "set"
    with pytest.raises(ModelMismatchError):
        open_mem({"Person": {"name": "string?", "height": "double?"}})
    with pytest.raises(CorestoneError):
        corestone.metadata("nowhere", type="Mem")
    with pytest.raises(CorestoneError):
        open_mem(path="nowhere", must_exist=True)
    assert "nowhere" not in MemStore.kept


def test_store_with_metadata_of_another_type_is_rejected() -> None:
    open_mem().close()
    known = MemStore.kept["somewhere"].metadata
    assert known is not None
    for said in ("Other", 7):
        MemStore.kept["somewhere"].metadata = {**known, "NSStoreType": said}
        with pytest.raises(NotAStoreError, match="somewhere") as caught:
            open_mem()
        assert caught.value.code == corestone.CoreDataCode.PERSISTENT_STORE_TYPE_MISMATCH
        assert caught.value.key == "NSStoreType"
        with pytest.raises(NotAStoreError):
            corestone.metadata("somewhere", type="Mem")
    MemStore.kept["somewhere"].metadata = {key: known[key] for key in known if key != "NSStoreType"}
    with open_mem() as again:
        assert again.coordinator.metadata(again.store)["NSStoreType"] == "Mem"


def test_closed_custom_stores_can_be_destroyed_and_replaced() -> None:
    container = open_mem()
    coordinator = container.coordinator
    assert coordinator.destroy_store("somewhere", type="Mem")
    assert not coordinator.stores
    assert not coordinator.destroy_store("somewhere", type="Mem")
    with pytest.raises(CorestoneError):  # MemStore has no replace_store
        coordinator.replace_store("somewhere", "elsewhere", type="Mem")


# -------- values ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [MemStore, PickleStore])
def test_every_value_and_relationship_type_round_trips(kind: Any, tmp_path: Path) -> None:
    corestone.register_store_type("Kind", kind)
    path = str(tmp_path / "store")
    with Container(Model(EVERYTHING), path, type="Kind") as container:
        ctx = container.context()
        fill(ctx)
        before = described(ctx)
        assert before[0][VALUES["text"]][0] == VALUES
        ctx.reset()
        assert described(ctx) == before
    with Container(Model(EVERYTHING), path, type="Kind") as container:
        ctx = container.context()
        assert described(ctx) == before
        thing = ctx.first("Thing", "text == %@", VALUES["text"])
        thing.steps.insert(0, thing.steps[2])
        thing.tags.discard(ctx.first("Tag", "name == 'y'"))
        thing.place = None
        ctx.delete(ctx.first("Part", "name == 'a'"))
        ctx.save()
        changed = described(ctx)
        assert changed[0][VALUES["text"]][4] == ["b", "c", "big"]
    with Container(Model(EVERYTHING), path, type="Kind") as container:
        assert described(container.context()) == changed


def test_store_receives_transformable_values_as_bytes() -> None:
    with open_mem(EVERYTHING) as container:
        ctx = container.context()
        ctx.insert("Thing", any=["a"])
        ctx.save()
        (row,) = host(container).data.rows["Thing"].values()
        assert corestone.decode_archive(row.values["any"]) == ["a"]


def test_save_request_describes_every_change() -> None:
    requests: list[SaveChangesRequest] = []

    class Telling(MemStore):
        def save(self, request: SaveChangesRequest) -> Any:
            requests.append(request)
            return super().save(request)

    corestone.register_store_type("Telling", Telling)
    with Container(Model(EVERYTHING), "x", type="Telling") as container:
        ctx = container.context()
        fill(ctx)
        inserted = requests[-1]
        assert sorted(node.object_id.entity.name for node in inserted.inserted_objects) == (
            ["BigPart", "Part", "Part", "Part", "Tag", "Tag", "Thing", "Thing"]
        )
        assert {node.version for node in inserted.inserted_objects} == {1}
        assert not inserted.updated_objects
        assert not inserted.deleted_objects
        ordered = [change for change in inserted.member_changes if change.is_ordered]
        assert [len(change.members) for change in ordered] == [4]
        thing = ctx.first("Thing", "text == %@", VALUES["text"])
        thing.small = 8
        ctx.delete(ctx.first("Tag", "name == 'y'"))
        ctx.save()
        request = requests[-1]
        (updated,) = [node for node in request.updated_objects if "small" in node.changed]
        assert (updated.changed, updated.old_version, updated.version) == ({"small"}, 1, 2)
        assert updated["small"] == 8
        assert [(node.object_id.entity.name, node.version) for node in request.deleted_objects] == [("Tag", 1)]
        with pytest.raises(corestone.InvalidHandleError):
            request.add_conflict(updated)


def test_save_request_lists_removed_members() -> None:
    """A deleted object does not list its removed members."""
    told: list[tuple[Any, str, list[Any], list[Any]]] = []

    class Telling(MemStore):
        def save(self, request: SaveChangesRequest) -> Any:
            told[:] = [
                (each.owner.reference, each.relationship, each.added, [row.reference for row in each.removed])
                for each in request.member_changes
            ]
            return super().save(request)

    corestone.register_store_type("Telling", Telling)
    with Container(Model(EVERYTHING), "x", type="Telling") as container:
        ctx = container.context()
        tag = ctx.insert("Tag", name="x")
        thing, other = ctx.insert("Thing", text="thing", tags=[tag]), ctx.insert("Thing", text="other", tags=[tag])
        ctx.save()
        of_thing, of_other, of_tag = (each.id.reference for each in (thing, other, tag))
        thing.tags.remove(tag)
        ctx.save()
        assert sorted(told) == sorted([(of_thing, "tags", [], [of_tag]), (of_tag, "things", [], [of_thing])])
        assert ctx.batch_delete("Thing", "text == 'other'") == 1
        assert told == [(of_tag, "things", [], [of_other])]


def test_library_creates_references_by_default() -> None:
    class Unnamed(MemStore):
        obtain_permanent_ids = IncrementalStore.obtain_permanent_ids

    corestone.register_store_type("Unnamed", Unnamed)
    with Container(Model(PEOPLE), "x", type="Unnamed") as container:
        ctx = container.context()
        ada = ctx.insert("Person", name="Ada")
        with pytest.raises(InvalidArgumentError, match="is temporary"):
            _ = ada.id.reference
        ctx.save()
        assert UUID(str(ada.id.reference))
        assert container.object_id(ada.id.uri) == ada.id


def test_required_attribute_missing_from_a_row_gets_its_default() -> None:
    class Sparse(MemStore):
        def execute_fetch(self, request: Any) -> Any:
            return [IncrementalStoreNode(RowID(request.entity, 1), {"name": "Ada"}, 1)]

    corestone.register_store_type("Sparse", Sparse)
    model = Model({"Person": {"counter": "int32 = 7", "flag": "bool? = true", "name": "string"}})
    with Container(model, "x", type="Sparse") as container:
        (person,) = container.context().fetch("Person")
        assert (person.counter, person.flag, person.name) == (7, None, "Ada")


@pytest.mark.parametrize("reference", [0, -5, 1 << 62, "a b/ü%", "42", b"\x00\x01", b"p"])
def test_references_of_every_type_identify_rows(reference: Any) -> None:
    class Named(MemStore):
        def obtain_permanent_ids(self, objects: Sequence[IncrementalStoreNode]) -> Any:
            return [reference for _ in objects]

        def execute_fetch(self, request: Any) -> Any:
            return [IncrementalStoreNode(RowID(request.entity, reference), {"name": "Ada"}, 1)]

    corestone.register_store_type("Named", Named)
    with Container(Model(PEOPLE), "x", type="Named") as container:
        ctx = container.context()
        ada = ctx.insert("Person", name="Ada")
        ctx.save()
        assert ada.id.reference == reference
        assert type(ada.id.reference) is type(reference)
        assert ctx.fetch("Person")[0] is ada
        found = container.object_id(ada.id.uri)
        assert found is not None
        assert container.store.new_object_id(container.model["Person"], reference) == ada.id


@pytest.mark.parametrize("kind", [MemStore, PickleStore])
@pytest.mark.parametrize(("former", "later"), [("Person", "Manager"), ("Manager", "Person"), ("Person", "Person")])
def test_reference_of_a_deleted_row_can_be_reused(tmp_path: Path, kind: Any, former: str, later: str) -> None:
    class Thrifty(kind):  # type: ignore[misc]
        fails = False

        def obtain_permanent_ids(self, objects: Sequence[IncrementalStoreNode]) -> Any:
            return [str(node.values["age"]) for node in objects]

        def save(self, request: SaveChangesRequest) -> Any:
            if Thrifty.fails:
                raise OSError("no place is left")
            return super().save(request)

    corestone.register_store_type("Thrifty", Thrifty)
    path = str(tmp_path / "store")
    with Container(Model(PEOPLE), path, type="Thrifty", unsaved="discard") as container:
        ctx = container.context()
        ctx.insert("Manager", name="stays", age=0, reports=[ctx.insert("Person", name="too", age=9)])
        for entity in (former, later, former, later):
            gone = [ctx.insert(entity, name=f"{entity} {age}", age=age) for age in (1, 2)]
            ctx.save()
            assert [each.id.reference for each in gone] == ["1", "2"]
            for context in (ctx, container.context()):
                found = context.fetch("Person", "age IN {1, 2}", sort="age")
                assert [(each.id.entity_name, each.name) for each in found] == [
                    (entity, f"{entity} {age}") for age in (1, 2)
                ]
            for each in gone:
                ctx.delete(each)
            ctx.save()
            assert ctx.fetch("Person", sort="age").column("name") == ["stays", "too"]
        # What a failed save would have inserted is of no entity, either.
        lost = ctx.insert(former, name="lost", age=3)
        Thrifty.fails = True
        with pytest.raises(CallbackError, match="no place"):
            ctx.save()
        Thrifty.fails = False
        ctx.delete(lost)
        ctx.insert(later, name="new", age=3)
        ctx.save()
        assert [each.id.entity_name for each in ctx.fetch("Person", "age == 3")] == [later]


REFERENCES: dict[str, list[Any]] = {
    "int": [1, 0, -5, 1 << 40, 7, 8],
    "text": ["a", "a b/ü%", "42", "Ω", "1\n2", "p1"],
    "bytes": [b"a", b"\x00\x01", b"42", b"\xff\xfe", b"\x00", bytes(range(256))],
    "mixed": [1, "1", b"1", b"\x00\x01", "a", b"a"],
}


@pytest.mark.parametrize("references", REFERENCES.values(), ids=REFERENCES)
def test_references_are_passed_back_unchanged(references: list[Any]) -> None:
    handed: dict[str, list[Any]] = {}
    rows: dict[tuple[str, Any], tuple[int, dict[str, Any]]] = {}
    kept: dict[str, Any] = {}

    def note(method: str, *ids: Any) -> None:
        if ids:
            handed.setdefault(method, []).extend(each.reference for each in ids)

    class Strict(IncrementalStore):
        def load_metadata(self) -> Mapping[str, Any]:
            kept.update({**self.opening.metadata, **kept})
            return kept

        def execute_fetch(self, request: Any) -> Any:
            return [self.row_id(*name) for name in rows if name[0] == request.entity.name]

        def new_values(self, ids: Sequence[RowID]) -> Any:
            note("new_values", *ids)
            for each in ids:
                version, values = rows[each.entity.name, each.reference]
                found = {name: value for name, value in values.items() if not isinstance(value, list)}
                yield IncrementalStoreNode(each, found, version)

        def new_value_for_relationship(self, relationship: str, object_id: RowID) -> Any:
            note("new_value_for_relationship", object_id)
            return rows[object_id.entity.name, object_id.reference][1].get(relationship, [])

        def obtain_permanent_ids(self, objects: Sequence[IncrementalStoreNode]) -> Any:
            return [references[node.values["place"]] for node in objects]

        def save(self, request: SaveChangesRequest) -> None:
            for kind in ("inserted", "updated", "deleted"):
                nodes = getattr(request, f"{kind}_objects")
                note(kind, *nodes)
                for node in nodes:
                    note(f"target of {kind}", *(value for value in node.values.values() if isinstance(value, RowID)))
                    if kind in ("inserted", "updated"):
                        name = node.object_id.entity.name, node.reference
                        rows[name] = node.version, {**rows.get(name, (0, {}))[1], **node.values}
            for change in request.member_changes:
                note("owner", change.owner)
                note("added", *change.added)
                note("removed", *change.removed)
                rows[change.owner.entity.name, change.owner.reference][1][change.relationship] = list(change.members)
            for node in request.deleted_objects:
                del rows[node.object_id.entity.name, node.reference]

        def did_register(self, ids: Sequence[RowID]) -> None:
            note("did_register", *ids)

        def did_unregister(self, ids: Sequence[RowID]) -> None:
            note("did_unregister", *ids)

    model = Model({"Item": {"place": "int32 = 0", "next": "to-one Item?", "order": "to-many ordered Item"}})
    with Container(model, "x", type=known_type("Strict", Strict)) as container:
        ctx = container.context()
        items = [ctx.insert("Item", place=place) for place in range(len(references))]
        for each, other in zip(items, items[1:] + items[:1]):
            each.next, each.order = other, [other, each]
        ctx.save()
    with Container(model, "x", type="Strict") as container:
        fresh = container.context()
        found = fresh.fetch("Item")
        assert {each.place for each in found} == set(range(len(references)))
        for each in found:
            assert each.id.reference == references[each.place]
            assert type(each.id.reference) is type(references[each.place])
            assert [other.place for other in each.order] == [each.next.place, each.place]
        for each in found:
            each.order = each.order[:1]
        fresh.save()
        for each in list(found):
            fresh.delete(each)
        fresh.save()
    expected = sorted((type(each).__name__, each) for each in references)
    for method, noted in handed.items():
        given = {(type(each).__name__, each) for each in noted}
        assert sorted(given) == expected, method
    assert handed.keys() >= {
        "new_values", "new_value_for_relationship", "inserted", "updated", "deleted", "target of inserted", "owner",
        "added", "removed", "did_register", "did_unregister",
    }  # fmt: skip


# -------- fetching -------------------------------------------------------------------------------------------


def test_store_receives_the_fetch_request() -> None:
    with open_mem() as container:
        ctx = container.context()
        boss = ctx.insert("Person", name="Boss")
        ctx.save()
        ctx.fetch("Person", "age > %d AND manager == %@", 3, boss, sort=["-age", "name"], limit=5, offset=2)
        request = host(container).requests[-1]
        assert (request.entity.name, request.limit, request.offset) == ("Person", 5, 2)
        assert [(each.key, each.ascending) for each in request.sort] == [("age", False), ("name", True)]
        constant = request.predicate.parts[1].right.constant_value
        assert constant == boss.id
        assert constant.reference == boss.id.reference
        assert request.request_type == 1
        ctx.count("Person")
        assert host(container).requests[-1].result_type == "count"


def test_work_done_by_the_store_is_not_repeated() -> None:
    class Lying(MemStore):
        def execute_fetch(self, request: Any) -> Any:
            if request.result_type == "count":
                return 17
            rows = list(super().execute_fetch(request))
            return Fetched(rows[::-1], predicate=True, order=True, window=True)

    corestone.register_store_type("Lying", Lying)
    with Container(Model(PEOPLE), "x", type="Lying") as container:
        for place, name in enumerate("abc"):
            host(container).data.put("Person", f"r{place}", {"name": name})
        ctx = container.context()
        found = ctx.fetch("Person", "name == 'nobody'", sort="name", limit=1)
        assert [each.name for each in found] == ["c", "b", "a"]
        assert ctx.count("Person") == 17


def test_values_of_bare_references_are_requested_in_batches() -> None:
    class Sparse(MemStore):
        def execute_fetch(self, request: Any) -> Any:
            return [str(node.reference) for node in super().execute_fetch(request)]

    corestone.register_store_type("Sparse", recorded(Sparse))
    with Container(Model(PEOPLE), "x", type="Sparse") as container:
        for place in range(300):
            host(container).data.put("Person", f"r{place}", {"name": f"n{place}"})
        ctx = container.context()
        found = ctx.fetch("Person")
        assert len(found) == 300
        host(container).log.clear()
        assert found[0].name == "n0"
        assert host(container).log.count("new_values") == 1  # for many at once
        assert {each.name for each in found} == {f"n{place}" for place in range(300)}
        assert host(container).log.count("new_values") <= 300 // 100 + 1


# -------- errors ---------------------------------------------------------------------------------------------


class Boom(Exception):
    pass


def failing(method: str) -> Any:
    class Failing(MemStore):
        fails = False

    def fail(self: Any, *arguments: Any) -> Any:
        if not self.fails and method != "load_metadata":
            return getattr(MemStore, method)(self, *arguments)
        raise Boom(f"{method} has no idea")

    setattr(Failing, method, fail)
    return Failing


def use(kind: str, path: str, method: str) -> None:
    """Does what needs a method of a store."""
    with Container(Model(PEOPLE), path, type=kind) as container:
        store = host(container)
        store.data.put("Person", "p", {"name": "Ada"}, manager=None)
        store.fails = True
        ctx = container.context()
        if method in ("obtain_permanent_ids", "save"):
            ctx.insert("Person", name="Bob")
            ctx.save()
        elif method == "execute_fetch":
            ctx.fetch("Person")
        else:
            person = ctx.get(container.store.new_object_id(container.model["Person"], "p"))
            assert person.name
            assert list(person.reports) is not None


@pytest.mark.parametrize(
    "method",
    ["load_metadata", "execute_fetch", "new_values", "new_value_for_relationship", "obtain_permanent_ids", "save"],
)
def test_exception_of_a_store_method_reaches_the_caller(method: str) -> None:
    corestone.register_store_type("Failing", failing(method))
    with pytest.raises(CallbackError) as failure:
        use("Failing", "somewhere", method)
    error = failure.value
    assert isinstance(error.__cause__, Boom)
    texts = [error.message, *(detail.message for detail in error.details)]
    assert any("somewhere" in each for each in texts[:1]), texts
    assert any(f"Boom: {method} has no idea" in each and "Traceback" in each for each in texts[1:]), texts
    if method == "save":
        with Container(Model(PEOPLE), "somewhere", type="Failing") as container:
            assert [each.name for each in container.context().fetch("Person")] == ["Ada"]


def test_failed_save_can_be_repeated() -> None:
    corestone.register_store_type("Failing", failing("save"))
    with Container(Model(PEOPLE), "x", type="Failing") as container:
        ctx = container.context()
        ada = ctx.insert("Person", name="Ada")
        host(container).fails = True
        with pytest.raises(CallbackError):
            ctx.save()
        assert ctx.has_changes
        host(container).fails = False
        ctx.save()
        assert not ctx.has_changes
        assert [str(ada.id.reference)] == list(host(container).data.rows["Person"])


WRONG: list[tuple[str, Any, str]] = [
    ("execute_fetch", None, "not a list; return"),
    ("execute_fetch", "text", "not a list; return"),
    ("execute_fetch", [3.5], "does not identify a row"),
    ("execute_fetch", [""], "does not identify a row"),
    ("execute_fetch", [None], "does not identify a row"),
    ("execute_fetch", 3, "number"),
    ("new_values", 7, "not a list; return"),
    ("new_value_for_relationship", 7, "to-many"),
    ("obtain_permanent_ids", [], "returned 0 IDs"),
    ("obtain_permanent_ids", None, "None"),
    ("obtain_permanent_ids", [True], "does not identify a row"),
    ("load_metadata", "text", "dictionary"),
    ("load_metadata", {"a": object()}, "property list"),
]


@pytest.mark.parametrize(("method", "answer", "said"), WRONG)
def test_invalid_results_of_store_methods_are_reported(method: str, answer: Any, said: str) -> None:
    class Wrong(MemStore):
        pass

    setattr(Wrong, method, lambda self, *_: answer)
    corestone.register_store_type("Wrong", Wrong)
    with pytest.raises(CorestoneError) as failure:
        use("Wrong", "x", method)
    texts = [failure.value.message, *(detail.message for detail in failure.value.details)]
    assert any(said in each for each in texts), texts


@pytest.mark.parametrize(
    ("values", "key"), [({"age": "old"}, "age"), ({"age": object()}, "age"), ({"manager": 3.5}, "manager")]
)
def test_invalid_values_are_reported_by_entity_and_key(values: dict[str, Any], key: str) -> None:
    class Wrong(MemStore):
        def execute_fetch(self, request: Any) -> Any:
            return [IncrementalStoreNode(RowID(request.entity, "p"), values, 1)]

    corestone.register_store_type("Wrong", Wrong)
    with Container(Model(PEOPLE), "x", type="Wrong") as container, pytest.raises(CorestoneError) as failure:
        container.context().fetch("Person")
    found = [failure.value, *failure.value.details]
    assert any((each.entity, each.key) == ("Person", key) for each in found), found


def test_constructor_must_call_its_superclass() -> None:
    class Forgetful(MemStore):
        def __init__(self, opening: StoreOpening) -> None:
            pass

    corestone.register_store_type("Forgetful", Forgetful)
    with pytest.raises(CorestoneError, match=r"super\(\)\.__init__"):
        Container(Model(PEOPLE), "x", type="Forgetful")


def test_store_without_save_method_is_read_only() -> None:
    class Reader(IncrementalStore):
        def execute_fetch(self, request: Any) -> Any:
            return [IncrementalStoreNode(RowID(request.entity, 1), {"name": "Ada"}, 1)]

        def new_values(self, ids: Sequence[RowID]) -> Any:
            return [IncrementalStoreNode(each, {"name": "Ada"}, 1) for each in ids]

    corestone.register_store_type("Reader", Reader)
    with Container(Model({"Person": {"name": "string?"}}), "x", type="Reader", unsaved="discard") as container:
        ctx = container.context()
        assert container.is_read_only
        ctx.fetch("Person")[0].name = "Bob"
        with pytest.raises(corestone.StoreReadOnlyError):
            ctx.save()


def test_ctrl_c_in_a_store_method_ends_the_call() -> None:
    class Slow(MemStore):
        def execute_fetch(self, request: Any) -> Any:
            raise KeyboardInterrupt

    corestone.register_store_type("Slow", Slow)
    with Container(Model(PEOPLE), "x", type="Slow") as container, pytest.raises(KeyboardInterrupt):
        container.context().fetch("Person")


def test_store_method_cannot_use_its_own_coordinator() -> None:
    raised: list[BaseException] = []

    class Curious(MemStore):
        container: Any = None

        def new_values(self, ids: Sequence[RowID]) -> Any:
            try:
                self.container.context().fetch("Person")
            except CorestoneError as error:
                raised.append(error)
            return super().new_values(ids)

    corestone.register_store_type("Curious", Curious)
    with Container(Model(PEOPLE), "x", type="Curious") as container:
        Curious.container = container
        host(container).data.put("Person", "p", {"name": "Ada"})
        person = container.context().get(container.store.new_object_id(container.model["Person"], "p"))
        assert person.name == "Ada"
        assert [type(each) for each in raised] == [InvalidArgumentError]
        Curious.container = None


# -------- conflicts ------------------------------------------------------------------------------------------


def test_reported_conflicts_are_resolved_by_the_merge_policy() -> None:
    with open_mem() as container:
        first, second = container.context(), container.context()
        mine = first.insert("Person", name="Ada", age=1)
        first.save()
        theirs = second.first("Person")
        theirs.age = 2
        second.save()
        host(container).data.rows["Person"][mine.id.reference] = Row(7, {"name": "Somebody", "age": 3})
        mine.name = "Ada Lovelace"
        with pytest.raises(ConflictError) as failure:
            first.save()
        assert len(failure.value.conflicts) == 1
        first.merge_policy = MergePolicy.OBJECT_TRUMP
        first.save()
        row = host(container).data.rows["Person"][mine.id.reference]
        assert (row.version, row.values["name"], row.values["age"]) == (8, "Ada Lovelace", 3)


POLICIES = [
    (MergePolicy.STORE_TRUMP, "theirs"),
    (MergePolicy.OBJECT_TRUMP, "mine"),
    (MergePolicy.OVERWRITE, "mine"),
    (MergePolicy.ROLLBACK, "theirs"),
]


@pytest.mark.parametrize(("policy", "name"), POLICIES)
def test_conflicts_with_inserted_and_deleted_rows_are_resolved(policy: MergePolicy, name: str) -> None:
    class Named(MemStore):
        def obtain_permanent_ids(self, objects: Sequence[IncrementalStoreNode]) -> Any:
            return ["ada" for _ in objects]

        def save(self, request: SaveChangesRequest) -> Any:
            for node in request.inserted_objects:
                if self.found(node.object_id) is not None:
                    request.add_conflict(node)
                    return None
            return super().save(request)

    corestone.register_store_type("Named", Named)
    with Container(Model(PEOPLE), "x", type="Named") as container:
        ctx = container.context()
        people = host(container).data.rows.setdefault("Person", {})
        people["ada"] = Row(7, {"name": "theirs", "age": 3})
        ada = ctx.insert("Person", name="mine")
        with pytest.raises(ConflictError, match="/Person/pada is new here") as failure:
            ctx.save()
        assert [each.object_ids for each in failure.value.conflicts] == [[ada.id]]
        ctx.merge_policy = policy
        ctx.save()
        assert people["ada"].values["name"] == name
        assert not ctx.has_changes
        person = ctx.first("Person")
        person.age = 9
        del people["ada"]
        ctx.save()
        assert ("ada" in people) == (name == "mine")


def test_atomic_store_is_reloaded_after_a_conflict(tmp_path: Path) -> None:
    class Shared(PickleStore):
        theirs: Any = None
        loads = 0

        def load(self) -> Any:
            Shared.loads += 1
            for node in super().load():
                if Shared.theirs is None:
                    yield node
                else:
                    yield AtomicStoreCacheNode(node.object_id, {**node.values, **Shared.theirs}, 7)

        def save(self, request: SaveChangesRequest) -> Any:
            if Shared.theirs is not None and any(node.old_version != 7 for node in request.updated_objects):
                for node in request.updated_objects:
                    request.add_conflict(node)
                return None
            return super().save(request)

    corestone.register_store_type("Shared", Shared)
    with Container(Model(PEOPLE), str(tmp_path / "store"), type="Shared") as container:
        ctx = container.context()
        ada = ctx.insert("Person", name="Ada", age=1)
        ctx.save()
        Shared.theirs = {"age": 4}
        ada.name = "Ada L."
        with pytest.raises(ConflictError) as failure:
            ctx.save()
        assert (failure.value.entity, failure.value.key) == ("Person", "age")
        assert Shared.loads == 1
        ctx.merge_policy = MergePolicy.OBJECT_TRUMP
        ctx.save()
        assert [(each.name, each.age) for each in container.context().fetch("Person")] == [("Ada L.", 4)]


def test_atomic_store_computes_derived_attributes(tmp_path: Path) -> None:
    model = Model({"Note": {"name": "string", "upper": "derived string? = uppercase:(name)"}})

    def computed(node: Any) -> AtomicStoreCacheNode:
        values = {**node.values, "upper": node.values["name"].upper()}
        return AtomicStoreCacheNode(node.object_id, values, node.version)

    class Computing(PickleStore):
        derived_attributes = True

        def load(self) -> Iterator[AtomicStoreCacheNode]:
            return map(computed, super().load())

        def save(self, request: SaveChangesRequest) -> Any:
            super().save(request)
            return [computed(node) for node in (*request.inserted_objects, *request.updated_objects)]

    corestone.register_store_type("Computing", Computing)
    with Container(model, tmp_path / "notes", type="Computing") as container:
        ctx = container.context()
        note = ctx.insert("Note", name="ada")
        ctx.save()
        assert note.upper == "ADA"
        note.name = "eve"
        ctx.save()
        assert note.upper == "EVE"
        assert [each.name for each in container.context().fetch("Note", "upper == 'EVE'")] == ["eve"]
    with Container(model, tmp_path / "notes", type="Computing") as container:
        assert [each.upper for each in container.fetch("Note")] == ["EVE"]


@pytest.mark.parametrize("policy", [MergePolicy.ERROR, MergePolicy.STORE_TRUMP, MergePolicy.OBJECT_TRUMP])
def test_conflict_of_one_row_reloads_the_whole_atomic_store(policy: MergePolicy) -> None:
    """Rows added to an atomic store by another process are kept, although the save does not conflict with them."""
    kept: dict[Any, tuple[dict[str, Any], int]] = {}

    class Shelf(AtomicStore):
        known: Any = None

        def load_metadata(self) -> Any:
            return self.opening.metadata

        def load(self) -> Any:
            self.known = set(kept)
            return [AtomicStoreCacheNode(self.row_id("Person", name), dict(v), n) for name, (v, n) in kept.items()]

        def save(self, request: SaveChangesRequest) -> None:
            rows = [*request.locked_objects, *request.updated_objects, *request.deleted_objects]
            rows += request.inserted_objects
            if self.known == set(kept):
                kept.clear()
                kept.update((node.reference, (dict(node.values), node.version)) for node in request.cache_nodes())
                self.known = set(kept)
            elif rows:
                request.add_conflict(rows[0])

    def save(ctx: Any) -> None:
        if policy is MergePolicy.ERROR:
            with pytest.raises(ConflictError):
                ctx.save()
        ctx.save()

    corestone.register_store_type("SharedShelf", Shelf)
    with Container(Model(PEOPLE), "shelf", type="SharedShelf") as container:
        ctx = container.context()
        ctx.merge_policy = policy
        ada, eve = ctx.insert("Person", name="Ada"), ctx.insert("Person", name="Eve")
        ctx.save()
        expected = ["Ada L."]
        for name, change in (
            ("updating", lambda: setattr(ada, "name", "Ada L.")),
            ("inserting", lambda: ctx.insert("Person", name="Grace")),
            ("deleting", lambda: ctx.delete(eve)),
        ):
            kept[name] = ({"name": name}, 1)
            expected.append(name)
            change()
            save(ctx)
            assert set(expected) <= {values["name"] for values, _ in kept.values()}
        assert sorted(values["name"] for values, _ in kept.values()) == sorted([*expected, "Grace"])
        assert container.context().count("Person") == len(kept)
    corestone.unregister_store_type("SharedShelf")


def test_unresolved_conflicts_fail_the_save() -> None:
    class Reporting(MemStore):
        reports = False
        saves = 0

        def save(self, request: SaveChangesRequest) -> Any:
            Reporting.saves += 1
            if not self.reports:
                return super().save(request)
            for node in (*request.inserted_objects, *request.updated_objects, *request.deleted_objects):
                request.add_conflict(node)
            return None

    corestone.register_store_type("Reporting", Reporting)
    with Container(Model(PEOPLE), "x", type="Reporting", unsaved="discard") as container:
        ctx = container.context()
        ada = ctx.insert("Person", name="Ada", age=1)
        ctx.save()
        Reporting.reports, Reporting.saves = True, 0
        runs: dict[str, Callable[[], Any]] = {
            "delete": lambda: ctx.batch_delete("Person", "age == 1"),
            "update": lambda: ctx.batch_update("Person", {"age": 2}, "age == 1"),
            "insert": lambda: ctx.batch_insert("Person", [{"name": "New"}]),
        }
        for work, run in runs.items():
            with pytest.raises(ConflictError, match=f"could not {work} rows of Person") as failure:
                run()
            (detail,) = failure.value.details
            assert detail.entity == "Person"
            assert work == "insert" or detail.object_uri == ada.id.uri
        assert Reporting.saves == 3
        ctx.merge_policy = MergePolicy.OVERWRITE
        ada.age = 5
        with pytest.raises(ConflictError, match="17 times") as failure:
            ctx.save()
        assert Reporting.saves == 20
        assert failure.value.object_uri == ada.id.uri
    with Container(Model(PEOPLE), "m", type="InMemory", unsaved="discard") as container:
        ctx = container.context()
        ctx.insert("Person", name="Ada")
        ctx.save()
        with pytest.raises(ConflictError, match="could not import m"):
            container.coordinator.migrate_store(container.store, "there", type="Reporting")


# -------- after a save -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [MemStore, PickleStore])
def test_return_value_of_save_is_ignored(kind: Any, tmp_path: Path) -> None:
    given: Any = None

    class Giving(kind):  # type: ignore[misc]
        saves = 0

        def save(self, request: SaveChangesRequest) -> Any:
            Giving.saves += 1
            super().save(request)
            return given

    corestone.register_store_type("Giving", Giving)
    with Container(Model(PEOPLE), str(tmp_path / "store"), type="Giving") as container:
        ctx = container.context()
        for answer, warns in (
            ([IncrementalStoreNode(RowID(container.model["Person"], "nobody"), {"name": "x"}, 1)], False),
            (7, True),
            ([7], False),
            ([8.5], True),
            ("text", True),
        ):
            given = answer
            ctx.insert("Person", name="Ada")
            if warns:
                with pytest.warns(RuntimeWarning, match=r"Giving\.save saved the changes but returned invalid rows"):
                    ctx.save()
            else:
                ctx.save()
            assert not ctx.has_changes
        assert Giving.saves == 5
        assert container.context().count("Person") == 5


def test_generator_save_raises_its_exception() -> None:
    class Yielding(MemStore):
        def save(self, request: SaveChangesRequest) -> Any:
            raise OSError("full")
            yield

    corestone.register_store_type("Yielding", Yielding)
    with Container(Model(PEOPLE), "x", type="Yielding", unsaved="discard") as container:
        ctx = container.context()
        ctx.insert("Person", name="Ada")
        with pytest.raises(CallbackError, match="full"):
            ctx.save()
        assert ctx.has_changes


@pytest.mark.parametrize("kind", [MemStore, PickleStore])
def test_references_survive_a_failed_save(kind: Any, tmp_path: Path) -> None:
    class Failing(kind):  # type: ignore[misc]
        fails = True
        named: list[Any] = []  # noqa: RUF012
        obtained = 0

        def obtain_permanent_ids(self, objects: Any) -> Any:
            Failing.obtained += 1
            return [f"{Failing.obtained}-{place}" for place in range(len(objects))]

        def save(self, request: SaveChangesRequest) -> Any:
            Failing.named = [node.reference for node in request.inserted_objects]
            if self.fails:
                raise OSError("the answer was lost")
            return super().save(request)

    corestone.register_store_type("Failing", Failing)
    with Container(Model(PEOPLE), str(tmp_path / "store"), type="Failing") as container:
        ctx = container.context()
        ada = ctx.insert("Person", name="Ada")
        for _ in range(2):
            with pytest.raises(CallbackError, match="lost"):
                ctx.save()
            assert Failing.named == ["1-0"]
        Failing.fails = False
        ctx.save()
        assert (Failing.named, ada.id.reference, Failing.obtained) == (["1-0"], "1-0", 1)


# -------- lifetimes and threads ------------------------------------------------------------------------------


def test_custom_stores_do_not_leak_handles() -> None:
    from corestone.stores import host_callbacks, open_hosts

    open_mem().close()
    gc.collect()
    before, stores = corestone.handle_count(), len(open_hosts.opened)
    for _ in range(20):
        with open_mem() as container:
            ctx = container.context()
            for place in range(10):
                ctx.insert("Person", name=str(place))
            ctx.save()
            ctx.reset()
            assert len([each.name for each in ctx.fetch("Person", "name < '5'")]) >= 5
        del ctx, container
    gc.collect()
    assert len(open_hosts.opened) == stores
    assert corestone.handle_count() <= before + 1
    corestone.unregister_store_type("Mem")
    assert "Mem" not in [kind.__name__ for kind in host_callbacks._types.values()]


def test_close_is_called_once() -> None:
    closed: list[str] = []

    class Closing(MemStore):
        def close(self) -> None:
            closed.append(self.path)

    corestone.register_store_type("Closing", Closing)
    with Container(Model(PEOPLE), "one", type="Closing"):
        pass
    assert closed == ["one"]
    coordinator = Coordinator(Model(PEOPLE))
    coordinator.add_store("two", type="Closing")
    del coordinator
    gc.collect()
    assert closed == ["one", "two"]


def test_removing_a_store_waits_for_its_methods() -> None:
    began, may_end = threading.Event(), threading.Event()
    log: list[str] = []

    class Waiting(MemStore):
        parallel_reads = True

        def execute_fetch(self, request: Any) -> Any:
            began.set()
            log.append("waited" if may_end.wait(20) else "gave up")
            return super().execute_fetch(request)

        def close(self) -> None:
            log.append("closed")

    corestone.register_store_type("Waiting", Waiting)
    coordinator = Coordinator(Model(PEOPLE))
    store = coordinator.add_store("x", type="Waiting")
    reader = threading.Thread(target=lambda: coordinator.context().fetch("Person"))
    remover = threading.Thread(target=lambda: coordinator.remove_store(store))
    reader.start()
    assert began.wait(20)
    remover.start()
    try:
        remover.join(0.3)
        assert (remover.is_alive(), log) == (True, [])
    finally:
        may_end.set()
        for each in (reader, remover):
            each.join(20)
    assert log == ["waited", "closed"]


@pytest.mark.parametrize("parallel", [False, True])
def test_several_threads_read_and_save(parallel: bool) -> None:
    class Shared(MemStore):
        parallel_reads = parallel
        inside = 0
        most = 0
        lock = threading.Lock()

        def new_values(self, ids: Sequence[RowID]) -> Any:
            with self.lock:
                Shared.inside += 1
                Shared.most = max(Shared.most, Shared.inside)
            try:
                return list(super().new_values(ids))
            finally:
                with self.lock:
                    Shared.inside -= 1

        def save(self, request: SaveChangesRequest) -> Any:
            with self.lock:
                return super().save(request)

    corestone.register_store_type("Shared", Shared)
    failures: list[BaseException] = []
    with Container(Model(PEOPLE), "x", type="Shared") as container:
        setup = container.context()
        for place in range(100):
            setup.insert("Person", name=str(place), age=0)
        setup.save()

        def work(number: int) -> None:
            try:
                ctx = container.context()
                for _ in range(5):
                    ctx.reset()
                    names = {each.name for each in ctx.fetch("Person", "age >= 0")}
                    assert {str(place) for place in range(100)} <= names
                    ctx.insert("Person", name=f"{number}", age=number)
                    ctx.save()
                ctx.close()
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=(100 + number,)) for number in range(6)]
        for each in threads:
            each.start()
        for each in threads:
            each.join(60)
        assert not failures
        assert container.context().count("Person") == 130
    assert parallel or Shared.most <= 1


def test_program_may_end_with_an_open_store(tmp_path: Path) -> None:
    program = """
        import sys
        sys.path.insert(0, {tests!r})
        import corestone
        from host_stores import MemStore
        corestone.register_store_type("Mem", MemStore)
        container = corestone.Container(corestone.Model({{"Person": {{"name": "string?"}}}}), "x", type="Mem")
        ctx = container.context()
        kept = [ctx.insert("Person", name=str(place)) for place in range(100)]
        ctx.save()
        kept += list(ctx.fetch("Person"))
        print("end")
    """
    source = textwrap.dedent(program).format(tests=str(Path(__file__).parent))
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "end", "")


# -------- atomic stores --------------------------------------------------------------------------------------


def test_atomic_store_is_read_and_written_as_a_whole(tmp_path: Path) -> None:
    corestone.register_store_type("Pickle", PickleStore)
    path = tmp_path / "people"
    path.touch()  # a file of no bytes is a new store
    with Container(Model(PEOPLE), path, type="Pickle") as container:
        ctx = container.context()
        boss = ctx.insert("Manager", name="Boss", level=3)
        ctx.insert("Person", name="Ada", manager=boss)
        ctx.save()
        identifier, uri = container.store.identifier, boss.id.uri
    with Container(Model(PEOPLE), path, type="Pickle") as container:
        ctx = container.context()
        assert container.store.identifier == identifier
        assert corestone.metadata(path, type="Pickle")["NSStoreUUID"] == identifier
        boss = ctx.existing(uri)
        assert (boss.name, boss.level, [each.name for each in boss.reports]) == ("Boss", 3, ["Ada"])
        assert [each.name for each in ctx.fetch("Person", "manager.name == 'Boss'")] == ["Ada"]
        ctx.delete(boss)
        ctx.save()
    with Container(Model(PEOPLE), path, type="Pickle") as container:
        (ada,) = container.context().fetch("Person")
        assert (ada.name, ada.manager) == ("Ada", None)


def test_atomic_store_that_cannot_load_is_not_opened(tmp_path: Path) -> None:
    class Broken(PickleStore):
        def load_metadata(self) -> Mapping[str, Any]:
            return self.opening.metadata

        def load(self) -> Any:
            yield AtomicStoreCacheNode(self.row_id("Person", 1), {"name": "Ada"})
            raise Boom("half of it")

    corestone.register_store_type("Broken", Broken)
    coordinator = Coordinator(Model(PEOPLE))
    with pytest.raises(CallbackError) as failure:
        coordinator.add_store(tmp_path / "x", type="Broken")
    assert isinstance(failure.value.__cause__, Boom)
    assert not coordinator.stores


def test_atomic_store_may_list_members_without_an_inverse(tmp_path: Path) -> None:
    class OneSided(PickleStore):
        def load_metadata(self) -> Mapping[str, Any]:
            return self.opening.metadata

        def load(self) -> list[AtomicStoreCacheNode]:
            tags = [AtomicStoreCacheNode(self.row_id("Tag", key), {"name": key}) for key in "xy"]
            return [AtomicStoreCacheNode(self.row_id("Note", 1), {"tags": [tag.object_id for tag in tags]}), *tags]

    corestone.register_store_type("OneSided", OneSided)
    (tmp_path / "a").write_text("a")
    model = Model({"Note": {"tags": "to-many Tag?"}, "Tag": {"name": "string?"}})
    with Container(model, tmp_path / "a", type="OneSided") as container:
        (note,) = container.context().fetch("Note")
        assert sorted(each.name for each in note.tags) == ["x", "y"]


# -------- other stores ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [MemStore, PickleStore])
def test_migration_from_sqlite_and_back_keeps_all_values(kind: Any, tmp_path: Path) -> None:
    corestone.register_store_type("Kind", kind)
    with Container(Model(EVERYTHING), tmp_path / "a.sqlite") as container:
        fill(container.context())
        before = described(container.context())
        coordinator = container.coordinator
        there = coordinator.migrate_store(container.store, tmp_path / "b", type="Kind")
        container.store = there
        assert there.type == "Kind"
        assert described(container.context()) == before
        container.store = coordinator.migrate_store(there, tmp_path / "c.sqlite", type="SQLite")
        assert described(container.context()) == before


def test_fetch_combines_stores_of_several_types(tmp_path: Path) -> None:
    stores = [StoreDescription(tmp_path / "a.sqlite"), StoreDescription("x", type=mem(), options={"a": 1})]
    container = Container("several", Model(PEOPLE), stores=stores)
    container.load()
    assert [store.host is not None for store in container.coordinator.stores] == [False, True]
    MemStore.kept["x"].put("Person", "p", {"name": "Bob"})
    ctx = container.context()
    ctx.insert("Person", name="Ada")
    ctx.save()
    assert [each.name for each in ctx.fetch("Person", sort="name")] == ["Ada", "Bob"]
    assert [each.name for each in ctx.fetch("Person", sort="-name", limit=1)] == ["Bob"]
    assert ctx.count("Person") == 2
    container.close()


def test_custom_store_dates_keep_their_microseconds() -> None:
    with open_mem(EVERYTHING) as container:
        ctx = container.context()
        start = datetime(1970, 1, 1, tzinfo=timezone.utc)
        for place in range(50):
            ctx.insert("Thing", small=place, date=start + timedelta(days=400 * place, microseconds=place * 12345))
        ctx.save()
        ctx.reset()
        for thing in ctx.fetch("Thing"):
            assert thing.date == start + timedelta(days=400 * thing.small, microseconds=thing.small * 12345)


def test_stores_with_the_same_path_share_data() -> None:
    with open_mem() as one, open_mem() as two:
        ctx = one.context()
        ctx.insert("Person", name="Ada")
        ctx.save()
        assert [each.name for each in two.context().fetch("Person")] == ["Ada"]
    assert isinstance(MemStore.kept["somewhere"], Data)


def test_repeated_member_is_kept_at_its_first_index(tmp_path: Path) -> None:
    members = [5, 6, 5]

    @corestone.register_store_type("TwiceAtomic")
    class TwiceAtomic(AtomicStore):
        def load_metadata(self) -> Mapping[str, Any] | None:
            return self.opening.metadata

        def load(self) -> list[AtomicStoreCacheNode]:
            tops = [self.row_id("T", key) for key in members]
            rows = [AtomicStoreCacheNode(self.row_id("T", key), {"n": f"t{key}"}) for key in (5, 6)]
            return [AtomicStoreCacheNode(self.row_id("P", 1), {"top": tops}), *rows]

        def save(self, request: SaveChangesRequest) -> None:
            pass

    model = Model(
        {
            "P": {"name": "string?", "top": "to-many T? ordered inverse tops"},
            "T": {"n": "string?", "tops": "to-many P? inverse top"},
        }
    )
    (tmp_path / "a").write_text("a")
    with Container(model, tmp_path / "a", type="TwiceAtomic", unsaved="discard") as container:
        context = container.context()
        person = context.fetch("P")[0]
        assert [each.n for each in person.top] == ["t5", "t6"]
        assert context.count("P", "top.@count == 2") == 1


# -------- values of other types ------------------------------------------------------------------------------


class Word(str):
    __slots__ = ()


class Level(IntEnum):
    HIGH = 2


KIN: dict[str, tuple[Any, Any]] = {
    "data": (bytearray(b"a\0b"), b"a\0b"),
    "any": (memoryview(b"xabcx")[1:4], b"abc"),
    "text": (Word("Zoë"), "Zoë"),
    "small": (Level.HIGH, 2),
    "decimal": (10**30 + 1, Decimal(10**30 + 1)),
    "double": (3, 3.0),
    "flag": (True, True),
    "place": (OrderedDict(name=Word("x")), {"name": "x"}),
    "uri": (Word("https://a.b"), "https://a.b"),
}


def test_compatible_values_of_a_store_are_converted() -> None:
    class Kin(MemStore):
        pass

    with Container(Model(EVERYTHING), "kin", type=known_type("Kin", recorded(Kin))) as container:
        kept = MemStore.kept["kin"]
        kept.put("Thing", "one", {name: given for name, (given, _) in KIN.items()})
        kept.put("Thing", "two", {"text": "plain", "small": None})
        ctx = container.context()
        one, two = ctx.fetch("Thing", sort="text")
        for name, (_, expected) in KIN.items():
            found = corestone.raw_value(one, name) if name == "any" else getattr(one, name)
            assert (found, type(found)) == (expected, type(expected)), name
            assert getattr(two, name) == ("plain" if name == "text" else None)
        assert [each.text for each in ctx.fetch("Thing", "data == %@", bytearray(b"a\0b"))] == ["Zoë"]


@pytest.mark.parametrize(
    ("name", "given", "kind", "words"),
    [
        ("large", 2**63, NumberRangeError, r"Thing\.large: .* 64-bit integer"),
        ("date", datetime(2024, 1, 1), InvalidArgumentError, r"Thing\.date: .*does not have a time zone"),
        ("text", object(), TypeMismatchError, r"Thing\.text: cannot convert a value"),
        ("place", "Berlin", TypeMismatchError, r"Thing\.place is composite and takes .* not \"Berlin\""),
        ("place", {"north": object()}, TypeMismatchError, r"Thing\.place\.north: "),
        ("next", 1.5, TypeMismatchError, r"Thing\.next: 1\.5 does not identify a row"),
        ("next", "", TypeMismatchError, r"Thing\.next: \"\" does not identify a row"),
        ("next", True, TypeMismatchError, r"Thing\.next: True does not identify a row"),
        ("parts", "abc", TypeMismatchError, r"Thing\.parts is a to-many relationship and .*IDs, not \"abc\""),
        ("parts", 5, TypeMismatchError, r"Thing\.parts is a to-many relationship and .*IDs, not 5"),
        ("parts", [None, b""], TypeMismatchError, r"Thing\.parts: b'' does not identify a row"),
    ],
)
def test_unsupported_values_of_a_store_are_rejected(name: str, given: Any, kind: type[Any], words: str) -> None:
    class Wrong(MemStore):
        def node(self, entity: Any, reference: str) -> IncrementalStoreNode:
            return IncrementalStoreNode(self.row_id(entity, reference), {"text": "x", name: given}, 1)

    with Container(Model(EVERYTHING), "wrong", type=known_type("Wrong", recorded(Wrong))) as container:
        MemStore.kept["wrong"].put("Thing", "one", {})
        with pytest.raises(CallbackError, match=words) as caught:
            _ = [each.text for each in container.context().fetch("Thing")]
        cause: Any = caught.value.__cause__
        assert type(cause) is kind
        assert cause.entity == "Thing"
        assert cause.key == ("place.north" if isinstance(given, dict) else name)


def test_references_may_be_numbers_text_or_bytes() -> None:
    """A number, text and bytes; passed as a node, an ID or the reference alone."""

    class Many(MemStore):
        def execute_fetch(self, request: Any) -> Any:
            part, thing = self.model["Part"], self.model["Thing"]
            if request.entity is part:
                return [
                    IncrementalStoreNode(RowID(part, 7), {"name": "number", "whole": "t"}),
                    IncrementalStoreNode(RowID(part, "seven"), {"name": "text", "whole": RowID(thing, "t")}),
                    IncrementalStoreNode(RowID(part, b"\x07\0"), {"name": "bytes", "whole": None}),
                ]
            return [IncrementalStoreNode(RowID(thing, "t"), {"text": "t", "parts": [7, RowID(part, "seven")]}, 3)]

        def new_values(self, ids: Any) -> Any:
            known = {
                each.reference: each
                for name in ("Part", "Thing")
                for each in self.execute_fetch(_Asked(self.model[name]))
            }
            return [known[each.reference] for each in ids if each.reference in known]

    with Container(Model(EVERYTHING), "many", type=known_type("Many", recorded(Many))) as container:
        ctx = container.context()
        parts = ctx.fetch("Part", sort="name")
        assert [(each.name, each.id.reference) for each in parts] == [
            ("bytes", b"\x07\0"), ("number", 7), ("text", "seven"),
        ]  # fmt: skip
        assert [each.whole and each.whole.text for each in parts] == [None, "t", "t"]
        (thing,) = ctx.fetch("Thing")
        assert {each.name for each in thing.parts} == {"number", "text"}
        assert parts[1].whole is thing
        for part in parts:
            assert ctx.get(part.id.uri) is part


class _Asked:
    """The argument of `execute_fetch`, constructed directly."""

    def __init__(self, entity: Any) -> None:
        self.entity = entity


def test_nodes_can_be_constructed_directly(model: Model) -> None:
    model.freeze()
    employee = model["Employee"]
    row = RowID(employee, "a")
    node = IncrementalStoreNode(row, {"name": "Ada", "other": 1}, 4)
    assert (node.object_id, node.reference, node.values, node.version) == (row, "a", {"name": "Ada"}, 4)
    assert node["name"] == "Ada"
    with pytest.raises(KeyError):
        _ = node["other"]
    node.update({"age": 5}, 5)
    assert (node.values, node.version) == ({"age": 5}, 5)
    assert repr(node) == "<IncrementalStoreNode RowID(Employee, 'a') version 5: {'age': 5}>"
    assert IncrementalStoreNode(row).values == {}
    for body, key in (
        (lambda: IncrementalStoreNode("a"), "object_id"),  # type: ignore[arg-type]
        (lambda: IncrementalStoreNode(row, ["a"]), "values"),  # type: ignore[arg-type]
        (lambda: node.update("a", 1), "values"),  # type: ignore[arg-type]
    ):
        with pytest.raises(TypeMismatchError) as caught:
            body()
        assert caught.value.key == key
    changed = UpdatedNode(row, {"name": "Eve"}, 3, 2, ["name", "name"])
    assert (changed.version, changed.old_version, changed.changed) == (3, 2, frozenset({"name"}))
    empty = SaveChangesRequest()
    assert (empty.is_empty, empty.request_type, set(empty.inserted_objects)) == (True, 2, set())
    for name in ("inserted_objects", "updated_objects", "deleted_objects", "locked_objects"):
        assert not SaveChangesRequest(**{name: [node]}).is_empty
    empty.metadata = {}
    assert not empty.is_empty
    with pytest.raises(InvalidArgumentError, match='kind must be "version" or "unique", not "clash"'):
        empty.add_conflict(node, "clash")
    bodies: list[Callable[[], Any]] = [lambda: empty.add_conflict(node), lambda: list(empty.cache_nodes())]
    for ask in bodies:
        with pytest.raises(InvalidHandleError, match="the SaveChangesRequest does not belong to a running save"):
            ask()


# -------- what the page of these stores promises -------------------------------------------------------------


def test_references_and_uris_correspond_one_to_one() -> None:
    spelled: list[tuple[Any, str]] = [
        (42, "42"), (0, "0"), (-5, "-5"), (1 << 62, "4611686018427387904"),
        (b"\x01\xab\xff", "%3C01abff%3E"), (b"\x00", "%3C00%3E"),
        ("key with/slash", "key%20with/slash"), ("\u00e9?#%", "%C3%A9%3F%23%25"), ("a/../b", "a/../b"), ("p", "p"),
        # What reads like a number or like bytes is spelled otherwise.
        ("42", "%342"), ("-5", "%2D5"), ("0", "%30"), ("<01abff>", "%3C%301abff%3E"), ("<>", "%3C%3E"),
        ("7x", "7x"), ("00", "00"), ("1.5", "1.5"),
    ]  # fmt: skip
    with open_mem() as container:
        person = container.model["Person"]
        ids = [container.store.new_object_id(person, reference) for reference, _ in spelled]
        assert [each.uri for each in ids] == [
            f"x-coredata://{container.store.identifier}/Person/p{text}" for _, text in spelled
        ]
        assert len(set(ids)) == len(ids)
        for each, (reference, _) in zip(ids, spelled):
            found = container.object_id(each.uri)
            assert found == each
            assert (type(each.reference), each.reference) == (type(reference), reference)
        for nothing in ("", b""):
            with pytest.raises(InvalidArgumentError, match="a string or binary data that is not empty"):
                container.store.new_object_id(person, nothing)


@pytest.mark.parametrize("is_shared", [True, False])
def test_object_ids_are_equal_across_coordinators(is_shared: bool) -> None:
    model = Model(PEOPLE)
    second = model if is_shared else Model(PEOPLE)
    with Container(model, "here", type=mem()) as one, Container(second, "here", type=mem()) as other:
        ctx = one.context()
        ada = ctx.insert("Person", name="Ada")
        ctx.save()
        theirs = other.context().first("Person")
        assert theirs.id == ada.id
        assert hash(theirs.id) == hash(ada.id)
        assert other.context().get(ada.id).name == "Ada"


def test_save_calls_store_methods_in_a_fixed_order() -> None:
    with open_mem() as container:
        ctx = container.context()
        log = host(container).log
        made = []
        for count in (1, 3):
            log.clear()
            made += [ctx.insert("Person", name="x") for _ in range(count)]
            ctx.save()
            assert log == ["obtain_permanent_ids", f"save {count} 0 0", "did_register"]
        log.clear()
        ctx.save()
        assert log == ["save 0 0 0"]
        made[0].name = "y"
        ctx.delete(made[1])
        log.clear()
        ctx.save()
        assert [line for line in log if line.startswith("save")] == ["save 0 1 1"]
        log.clear()
        new = ctx.insert("Person", name="z")
        ctx.obtain_permanent_ids([new])
        assert log == ["obtain_permanent_ids"]
        ctx.save()
        assert log == ["obtain_permanent_ids", "save 1 0 0", "did_register"]


@pytest.mark.parametrize("way", ["rollback", "fails", "conflict"])
def test_references_are_requested_again_after_rollback_or_conflict(way: str) -> None:
    """After a rollback, and when the store reports a new row that it does not have; not when a save fails."""

    class Counting(MemStore):
        asked = 0
        trouble = True

        def obtain_permanent_ids(self, objects: Sequence[IncrementalStoreNode]) -> Any:
            Counting.asked += 1
            return [f"{Counting.asked}.{place}" for place in range(len(objects))]

        def save(self, request: SaveChangesRequest) -> Any:
            if Counting.trouble:
                Counting.trouble = False
                if way == "fails":
                    raise OSError("no answer")
                if way == "conflict":
                    request.add_conflict(next(iter(request.inserted_objects)))
                    return None
            return super().save(request)

    corestone.register_store_type("Counting", Counting)
    with Container(Model(PEOPLE), "x", type="Counting", unsaved="discard") as container:
        ctx = container.context()
        ctx.merge_policy = MergePolicy.OBJECT_TRUMP
        ada = ctx.insert("Person", name="Ada")
        if way == "rollback":
            ctx.obtain_permanent_ids([ada])
            assert ada.id.reference == "1.0"
            ctx.rollback()
            ada = ctx.insert("Person", name="Ada")
            Counting.trouble = False
        elif way == "fails":
            with pytest.raises(CallbackError):
                ctx.save()
        ctx.save()
        assert (ada.id.reference, Counting.asked) == (("1.0", 1) if way == "fails" else ("2.0", 2))
        assert [person.name for person in container.context().fetch("Person")] == ["Ada"]


def test_version_wraps_to_1_after_the_maximum() -> None:
    told: list[tuple[int, int]] = []

    class Telling(MemStore):
        def save(self, request: SaveChangesRequest) -> Any:
            told.extend((node.old_version, node.version) for node in request.updated_objects)
            return super().save(request)

    corestone.register_store_type("Telling", Telling)
    with Container(Model(PEOPLE), "x", type="Telling") as container:
        for version in (1, 2147483646, 2147483647):
            host(container).data.put("Person", f"v{version}", {"name": str(version)})
            host(container).data.rows["Person"][f"v{version}"].version = version
        ctx = container.context()
        for person in ctx.fetch("Person", sort="name"):
            person.age = 1
            ctx.save()
            person.age = 2
            ctx.save()
    assert told == [
        (1, 2), (2, 3), (2147483646, 2147483647), (2147483647, 1), (2147483647, 1), (1, 2),
    ]  # fmt: skip


def test_row_restored_by_a_merge_policy_gets_a_much_higher_version() -> None:
    with open_mem() as container:
        ctx = container.context()
        ctx.merge_policy = MergePolicy.OBJECT_TRUMP
        ada = ctx.insert("Person", name="Ada")
        ctx.save()
        rows = host(container).data.rows["Person"]
        reference = ada.id.reference
        assert rows.pop(reference).version == 1
        ada.age = 5
        ctx.save()
        assert (ada.id.reference, rows[reference].values) == (reference, {"name": "Ada", "age": 5})
        assert rows[reference].version > 1000


def test_unknown_keys_of_a_row_are_ignored() -> None:
    class Generous(MemStore):
        def execute_fetch(self, request: Any) -> Any:
            values = {"name": "Ada", "hobby": "chess", "level": 7, "boss": None}
            return [IncrementalStoreNode(RowID(request.entity, 1), values, 1)]

    corestone.register_store_type("Generous", Generous)
    with corestone.log.recorded(0) as told, Container(Model(PEOPLE), "x", type="Generous") as container:
        (ada,) = container.context().fetch("Person")
        assert (ada.name, ada.age) == ("Ada", None)
        assert not hasattr(ada, "hobby")
    assert told == []


def test_fetch_uses_one_call_plus_one_per_batch_of_faults() -> None:
    class Sparse(MemStore):
        def execute_fetch(self, request: Any) -> Any:
            return [node.object_id for node in super().execute_fetch(request)]

    corestone.register_store_type("Sparse", recorded(Sparse))
    with Container(Model(PEOPLE), "x", type="Sparse") as container:
        for place in range(1000):
            host(container).data.put("Person", f"r{place}", {"name": f"n{place}"}, manager=None)
        counts = host(container).counts
        found = container.context().fetch("Person")
        assert len(found) == 1000
        assert (counts["fetch"], counts["new_values"], counts["relationship"]) == (1, 0, 0)
        assert {person.name for person in found} == {f"n{place}" for place in range(1000)}
        calls = host(container).log.count("new_values")
        assert calls <= 10
        assert (counts["fetch"], counts["new_values"], counts["relationship"]) == (1, 1000, 0)
    # With values, nothing more is asked; what rows leave out of a relationship is one call for all of them.
    with open_mem() as container:
        for place in range(100):
            host(container).data.put("Person", f"r{place}", {"name": f"n{place}"})
        counts = host(container).counts
        people = container.context().fetch("Person")
        assert {person.manager for person in people} == {None}
        log = [line for line in host(container).log if not line.startswith("did_")]
        assert log.count("fetch") == 1
        assert log.count("new_values") == 0
        assert log.count("relationship manager") == 1
        assert counts["relationship"] == 100


UNIQUE: dict[str, dict[str, Any]] = {
    "Person": {"@unique": ["name"], "name": "string", "age": "int32? = 7", "note": "string?"}
}


class Unique(MemStore):
    """Reports that another row has the same name."""

    unique_constraints = True

    def save(self, request: SaveChangesRequest) -> Any:
        gone = {node.reference for node in request.deleted_objects}
        taken = {row.values["name"]: key for key, row in self.data.rows.get("Person", {}).items() if key not in gone}
        nodes = [*request.inserted_objects, *request.updated_objects]
        stale = [node for node in nodes if taken.get(node["name"], node.reference) != node.reference]
        for node in stale:
            request.add_conflict(node, "unique")
        return None if stale else super().save(request)


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (MergePolicy.ERROR, None),
        (MergePolicy.STORE_TRUMP, (1, "kept")),
        (MergePolicy.ROLLBACK, (1, "kept")),
        (MergePolicy.OBJECT_TRUMP, (7, "kept")),
        (MergePolicy.OVERWRITE, (7, None)),
    ],
)
def test_store_reports_unique_conflicts(policy: MergePolicy, expected: Any) -> None:
    corestone.register_store_type("Unique", Unique)
    with Container(Model(UNIQUE), "x", type="Unique", unsaved="discard") as container:
        ctx = container.context()
        ctx.merge_policy = policy
        first = ctx.insert("Person", name="Ada", age=1, note="kept")
        ctx.save()
        second = ctx.insert("Person", name="Ada")
        if expected is None:
            with pytest.raises(ConflictError) as failure:
                ctx.save()
            assert (failure.value.code, failure.value.entity, failure.value.key) == (133021, "Person", "name")
            assert failure.value.message.startswith('Person.name is "Ada" in x-coredata://')
            assert f" and in {first.id.uri} in the store, but must be unique" in failure.value.message
            assert len(failure.value.conflicts) == 1
            second.name = "Eve"
        ctx.save()
        rows = host(container).data.rows["Person"]
        assert sorted((row.values["name"], row.values.get("age")) for row in rows.values()) == (
            [("Ada", 1), ("Eve", 7)] if expected is None else [("Ada", expected[0])]
        )
        with container.context() as other:
            found = other.fetch("Person", "name == 'Ada'")
            assert [(each.age, each.note) for each in found] == [expected or (1, "kept")]


def test_model_with_unique_constraints_needs_a_store_that_supports_them() -> None:
    for kind, is_taken in ((MemStore, False), (Unique, True), (PickleStore, True)):
        name = f"Of{kind.__name__}"
        corestone.register_store_type(name, kind)
        if is_taken:
            Container(Model(UNIQUE), "nowhere", type=name).close()
            continue
        with pytest.raises(
            UnsupportedError, match=r"nowhere cannot be used with this model: Person.name must be"
        ) as failure:
            Container(Model(UNIQUE), "nowhere", type=name)
        assert (failure.value.entity, failure.value.key) == ("Person", "name")


def test_without_versions_the_last_save_wins() -> None:
    class Bare(MemStore):
        def node(self, entity: Any, reference: str) -> IncrementalStoreNode:
            node = super().node(entity, reference)
            return IncrementalStoreNode(node.object_id, dict(node.values), 0)

        def save(self, request: SaveChangesRequest) -> Any:
            for node in (*request.inserted_objects, *request.updated_objects):
                values = {key: node[key] for key in ("name", "age") if key in node.values}
                self.data.put(node.object_id.entity.name, str(node.reference), values, manager=None)
            return None

    corestone.register_store_type("Bare", Bare)
    with Container(Model(PEOPLE), "x", type="Bare") as container:
        host(container).data.put("Person", "a", {"name": "Ada", "age": 1}, manager=None)
        one, other = container.context(), container.context()
        mine, theirs = one.first("Person"), other.first("Person")
        assert (mine.name, theirs.name) == ("Ada", "Ada")
        for place, (person, context) in enumerate([(mine, one), (theirs, other), (mine, one), (theirs, other)]):
            person.age = 10 + place
            context.save()
        assert host(container).data.rows["Person"]["a"].values == {"name": "Ada", "age": 13}
