"""FetchRequest and Context.execute: every result type, lazy results, copies, templates."""

from __future__ import annotations

import asyncio
import copy
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from corestone import (
    BatchDeleteRequest,
    CancelledError,
    Container,
    Context,
    Expression,
    ExpressionDescription,
    FetchedResultsController,
    FetchRequest,
    InvalidArgumentError,
    Model,
    Predicate,
    PredicateError,
    Results,
    SortDescriptor,
    StoreCorruptError,
    TypeMismatchError,
    UnsupportedError,
    WrongThreadError,
)
from corestone._abi import lib
from corestone._abi.call import made

MODEL = {
    "Person": {"name": "string", "age": "int32 = 0", "home": "to-one Town? inverse people"},
    "Town": {"name": "string", "people": "to-many Person inverse home"},
}


@pytest.fixture
def container(tmp_path: Path) -> Iterator[Container]:
    model = Model(MODEL)
    model.template("older", "Person", "age > $age", sort="name", limit=3)
    with Container(model, tmp_path / "people.sqlite") as container:
        context = container.context()
        towns = [context.insert("Town", name=name) for name in ("A", "B")]
        for number in range(100):
            context.insert("Person", name=f"{number:03}", age=number, home=towns[number % 2])
        context.save()
        yield container


@pytest.fixture
def context(container: Container) -> Context:
    return container.context()


def test_execute_returns_every_result_type(context: Context) -> None:
    request: FetchRequest = FetchRequest("Person", "age >= %d", 97, sort="name")
    found = context.execute(request)
    assert isinstance(found, Results)
    assert [each.age for each in found] == [97, 98, 99]
    assert request.entity is context.model["Person"]
    request.result_type = "ids"
    assert context.execute(request) == [each.id for each in found]
    request.result_type = "count"
    assert context.execute(request) == 3
    request.result_type = "dictionaries"
    request.columns = ["name", {"double": "age * 2"}]
    assert context.execute(request)[0] == {"name": "097", "double": 194}


def test_request_mistakes_are_reported(context: Context) -> None:
    with pytest.raises(UnsupportedError, match="dictionaries") as raised:
        context.execute(FetchRequest("Person", result_type="dicts"))
    assert raised.value.code == 134091
    with pytest.raises(UnsupportedError) as raised:
        context.execute("Person")
    assert raised.value.code == 134091
    with pytest.raises(InvalidArgumentError, match="did you mean"):
        context.execute(FetchRequest("Persn"))
    with pytest.raises(InvalidArgumentError, match="does not have an entity; set the name of one"):
        context.execute(FetchRequest())
    with pytest.raises(InvalidArgumentError):
        context.execute(FetchRequest("Person", batch_size=-1))
    other = Model({"Town": {}})
    with pytest.raises(InvalidArgumentError, match="Town"):
        context.execute(FetchRequest(other["Town"]))


def test_lazy_results_read_batches(context: Context) -> None:
    lazy = context.execute(FetchRequest("Person", sort="-age", batch_size=7))
    assert lazy.batch_size == 7
    assert len(lazy) == 100
    assert [each.age for each in lazy] == list(range(99, -1, -1))
    assert [each.age for each in lazy[50:53]] == [49, 48, 47]
    assert lazy[-1].age == 0
    assert lazy[0].age == 99
    assert lazy.first in lazy
    assert copy.copy(lazy) is lazy
    assert lazy.column("age") == list(range(99, -1, -1))
    assert lazy.column("home.name")[:2] == ["B", "A"]
    older = lazy.filtered("age > 90")
    assert older.batch_size == 7
    assert len(older) == 9
    assert [each.age for each in older.ordered("age")][:2] == [91, 92]
    assert len(lazy.ids()) == 100
    kept = lazy[3]
    del lazy, older
    assert kept.age == 96


def test_lazy_results_retain_few_objects(context: Context) -> None:
    for each in context.execute(FetchRequest("Person", sort="age", batch_size=5)):
        assert each.name
        assert len(context.known) <= 60


def test_refresh_option_updates_registered_objects(container: Container, context: Context) -> None:
    one = context.first("Person", "age == 1")
    assert one.age == 1
    with container.context() as other:
        other.first("Person", "age == 1").age = 1000
        other.save()
    request = FetchRequest("Person", "name == '001'")
    assert context.execute(request)[0].age == 1
    request.refresh = True
    assert context.execute(request)[0] is one
    assert one.age == 1000


def test_objects_are_faults_without_property_values(context: Context) -> None:
    found = context.execute(FetchRequest("Person", "age < 3", sort="age", include_property_values=False))
    assert all(each.is_fault for each in found)
    assert [each.age for each in found] == [0, 1, 2]


def test_request_can_be_limited_to_stores(container: Container, context: Context) -> None:
    store = container.store
    assert context.execute(FetchRequest("Person", result_type="count", stores=[store])) == 100
    assert context.execute(FetchRequest("Person", result_type="count", stores=[])) == 0


def test_copied_request_is_independent(context: Context) -> None:
    request = FetchRequest("Person", "age < 10", sort="name", limit=4)
    other = request.copy()
    other.limit = 2
    other.predicate = None
    assert len(context.execute(request)) == 4
    assert len(context.execute(other)) == 2
    assert copy.copy(request).limit == 4


def test_template_request_substitutes_variables(context: Context) -> None:
    request = context.model.fetch_request("older", age=50)
    assert (request.entity_name, request.limit) == ("Person", 3)
    assert [each.age for each in context.execute(request)] == [51, 52, 53]
    request.result_type, request.limit = "count", 0
    assert context.execute(request) == 49
    with pytest.raises(PredicateError, match="age"):
        context.model.fetch_request("older")
    with pytest.raises(InvalidArgumentError, match="older"):
        context.model.fetch_request("oldr")
    with pytest.raises(PredicateError):
        context.execute(context.model.fetch_request("older", age="fifty"))


def test_every_request_setting_can_be_read(context: Context) -> None:
    request = FetchRequest(
        "Person", "age > 1", sort=["-age", "name"], limit=5, offset=2, result_type="dictionaries",
        columns=["home.name", ExpressionDescription("n", "count:(name)", "int64")], group_by="home.name",
        having="n > 3", distinct=True, include_subentities=False, nulls="database", split=False,
    )  # fmt: skip
    given = request._build(context)
    same = FetchRequest._of(made(lib.cst_fetch_request_copy, given.handle))
    assert repr(same) == repr(request)
    for field in ("limit", "offset", "result_type", "distinct", "include_subentities", "nulls", "split", "as_faults"):
        assert getattr(same, field) == getattr(request, field), field
    assert same.group_by == ["home.name"]
    assert isinstance(same.having, Predicate)
    assert same.having.format == "n > 3"
    assert isinstance(same.columns, list)
    assert same.columns[0] == "home.name"
    assert same.columns[1].name == "n"
    assert context.execute(FetchRequest(same.entity_name, same.predicate, result_type="count")) == 98


def test_properties_to_fetch_limit_the_columns(container: Container, context: Context) -> None:
    people = context.execute(FetchRequest("Person", sort="name", columns=["name", "home"]))
    before = container.coordinator.statistics
    assert people[3].name == "003"
    assert people[3].is_fault
    assert container.coordinator.statistics.faults == before.faults
    assert people[3].age == 3
    assert not people[3].is_fault
    with pytest.raises(InvalidArgumentError, match="computed"):
        context.execute(FetchRequest("Person", columns={"double": "age * 2"}))


def test_limit_skips_pending_deletions(context: Context) -> None:
    request = FetchRequest("Person", sort="name", limit=5)
    for person in list(context.execute(request))[:3]:
        context.delete(person)
    left = [each.name for each in context.execute(request)]
    context.rollback()
    assert left == ["003", "004", "005", "006", "007"]


def test_predicates_may_contain_fetches(context: Context) -> None:
    old = FetchRequest("Person", "age >= 98")
    found = context.fetch("Person", Predicate("SELF IN %@", Expression.fetch(old)), sort="age")
    assert [each.age for each in found] == [98, 99]
    towns = context.fetch("Town", Predicate("ANY people IN %@", Expression.fetch(old, context)), sort="name")
    assert [each.name for each in towns] == ["A", "B"]
    count = Expression.fetch(FetchRequest("Person", "age < 5"), context, count_only=True)
    assert context.first("Person", Predicate("age == %@", count)).age == 5
    assert Predicate("SELF IN %@", Expression.fetch(old, context)).evaluate(found[0])


def test_asynchronous_fetch_returns_its_result(container: Container) -> None:
    context = container.background_context()
    request: FetchRequest = FetchRequest("Person", "age < 10", sort="age")
    with context.perform():
        fetch = context.fetch_asynchronously(request, lambda people: [each.age for each in people], estimated_count=50)
    assert fetch.result(30) == list(range(10))
    assert fetch.progress == (10, 10, True)
    assert not fetch.cancel()
    request.result_type = "count"
    with context.perform():
        counted = context.fetch_asynchronously(request)
        with pytest.raises(WrongThreadError, match=r"cannot wait for the fetch .*; call context\.execute instead"):
            counted.result(30)
    assert counted.result(30) == 10
    with context.perform():
        stopped = context.fetch_asynchronously(FetchRequest("Person"))
        stopped.cancel()
    with pytest.raises(CancelledError):
        stopped.result(30)
    with context.perform():
        wrong = context.fetch_asynchronously(FetchRequest("Person", "nme == 1"))
    with pytest.raises(PredicateError):
        wrong.result(30)
    with context.perform():
        raising = context.fetch_asynchronously(request, lambda count: count / 0)
    with pytest.raises(ZeroDivisionError):
        raising.result(30)
    with pytest.raises(InvalidArgumentError, match="needs a context with a queue"):
        container.context().fetch_asynchronously(request)


def test_asynchronous_fetch_can_be_awaited(container: Container) -> None:
    context = container.background_context()

    async def names() -> list[str]:
        request = FetchRequest("Person", "age < 3", sort="age")
        return await context.afetch(request, lambda people: [each.name for each in people])

    assert asyncio.run(names()) == ["000", "001", "002"]


def test_request_can_be_archived(context: Context) -> None:
    request = FetchRequest("Person", "age BETWEEN {3, 5}", sort="-age", batch_size=9, limit=2)
    same = FetchRequest.from_archive(request.to_archive())
    assert repr(same) == repr(request)
    assert (same.batch_size, same.limit) == (9, 2)
    assert [each.age for each in context.execute(pickle.loads(pickle.dumps(request)))] == [5, 4]
    with pytest.raises(StoreCorruptError):
        FetchRequest.from_archive(b"bplist00")
    one = context.first("Person")
    with pytest.raises(UnsupportedError):
        FetchRequest("Person", "SELF == %@", one).to_archive()


def test_new_request_has_default_settings() -> None:
    request = FetchRequest()
    assert {name: getattr(request, name) for name in FetchRequest.__slots__ if not name.startswith("_")} == {
        "as_faults": True, "batch_size": 0, "columns": None, "distinct": False, "group_by": None, "having": None,
        "include_pending_changes": True, "include_property_values": True, "include_subentities": True, "limit": 0,
        "nulls": "memory", "offset": 0, "predicate": None, "prefetch": None, "refresh": False,
        "result_type": "objects", "sort": None, "split": True, "stores": None,
    }  # fmt: skip
    assert (request.entity, request.entity_name, request.request_type) == (None, None, 1)
    assert repr(request) == "FetchRequest(None)"
    assert repr(FetchRequest("Person", "age > 1")) == "FetchRequest('Person', 'age > 1')"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("limit", 3), ("offset", 2), ("batch_size", 7), ("distinct", True), ("refresh", True), ("as_faults", False),
        ("include_subentities", False), ("include_pending_changes", False), ("include_property_values", False),
        ("nulls", "database"), ("split", False), ("result_type", "ids"), ("result_type", "dictionaries"),
        ("result_type", "count"), ("prefetch", ["home", "home.people"]), ("group_by", ["age"]),
    ],
)  # fmt: skip
def test_every_setting_survives_copy_and_pickling(context: Context, name: str, value: object) -> None:
    """To the library and back, into a copy, and into another process."""
    request, usual = FetchRequest("Person", **{name: value}), FetchRequest("Person")  # type: ignore[call-overload]
    given = request._build(context)
    told = FetchRequest._of(made(lib.cst_fetch_request_copy, given.handle))
    for same in (told, request.copy(), copy.copy(request), pickle.loads(pickle.dumps(request))):
        assert getattr(same, name) == value
        for other in FetchRequest.__slots__:
            if other not in (name, "_entity", "_name", "stores", "entity"):
                assert (getattr(same, other) or None) == (getattr(usual, other) or None), other
        assert same.entity_name == "Person"


def test_sort_descriptors_and_predicates_survive_copy_and_pickling() -> None:
    sort = [
        SortDescriptor("name", False, "caseInsensitiveCompare:"),
        SortDescriptor("age"),
        SortDescriptor("home.name"),
    ]
    request = FetchRequest("Person", "age > %d AND home.name == %@", 3, "A", sort=sort, having="age > 1")
    again = pickle.loads(pickle.dumps(request))
    assert again.sort == sort
    assert again.predicate == request.predicate
    assert again.having == Predicate("age > 1")
    assert FetchRequest("Person", sort="-age").copy().sort == "-age"


def test_request_has_entity_name_and_entity(context: Context) -> None:
    person = context.model["Person"]
    request = FetchRequest("Person")
    assert request.entity_name == "Person"
    with pytest.raises(
        InvalidArgumentError, match='a request for "Person" is unknown until a context uses the request'
    ):
        _ = request.entity
    context.execute(request)
    assert request.entity is person
    for given in (person, person.object_class):
        request = FetchRequest(given)
        assert (request.entity, request.entity_name) == (person, "Person")
    request.entity_name = "Town"
    assert request.entity_name == "Town"
    assert context.execute(request)[0].entity_name == "Town"
    request.entity = None
    assert request.entity is None
    assert request.entity_name is None
    with pytest.raises(TypeMismatchError, match="is not a subclass of ManagedObject"):
        FetchRequest(int)
    with pytest.raises(InvalidArgumentError, match=r"Person does not belong.*; pass an entity of context\.model"):
        context.execute(FetchRequest(Model(MODEL)["Person"]))
    with pytest.raises(InvalidArgumentError, match="arguments need a predicate format"):
        FetchRequest("Person", None, 5)


def test_request_entity_is_resolved_by_every_use(container: Container, context: Context) -> None:
    person = context.model["Person"]

    def used(use: Callable[[FetchRequest], object]) -> FetchRequest:
        request = FetchRequest("Person", sort="name")
        use(request)
        return request

    assert used(lambda request: FetchedResultsController(context, request).perform_fetch()).entity is person
    assert used(lambda request: context.observe(request, lambda *_: None)).entity is person
    fetched = FetchRequest("Person")
    assert asyncio.run(container.background_context().afetch(fetched, len)) == 100
    assert fetched.entity is person
    assert used(lambda request: context.execute(BatchDeleteRequest(request))).entity is person
    unknown = FetchRequest("Persn")
    with pytest.raises(InvalidArgumentError, match="did you mean"):
        context.execute(unknown)
    with pytest.raises(InvalidArgumentError, match='a request for "Persn" is unknown'):
        _ = unknown.entity


def test_limit_and_offset_apply_to_every_result_type(context: Context) -> None:
    request: FetchRequest = FetchRequest("Person", "age >= 90", sort="name", offset=3, limit=4)
    assert [each.age for each in context.execute(request)] == [93, 94, 95, 96]
    request.result_type = "ids"
    assert [context.get(each).age for each in context.execute(request)] == [93, 94, 95, 96]
    request.result_type = "count"
    assert context.execute(request) == 4
    request.result_type, request.columns = "dictionaries", ["age"]
    assert context.execute(request) == [{"age": age} for age in (93, 94, 95, 96)]
    request.limit = 0
    assert len(context.execute(request)) == 7
    request.columns, request.batch_size = ["age", "objectID"], 3
    rows = context.execute(request)
    assert (len(rows), rows.batch_size) == (7, 3)
    assert [row["age"] for row in rows] == [93, 94, 95, 96, 97, 98, 99]
    assert rows[-1]["age"] == rows[6]["age"] == 99
    assert [row["age"] for row in rows[1:5]] == [94, 95, 96, 97]
    assert [row["age"] for row in rows[::-3]] == [99, 96, 93]
    assert rows[5:2] == []
    assert repr(rows) == "<7 rows of age, objectID, 3 at a time>"
    assert rows == list(rows)
    assert rows != list(rows)[:6]
    for wrong in (7, -8):
        with pytest.raises(IndexError, match="is out of range"):
            _ = rows[wrong]


def test_fetch_expression_can_count(context: Context) -> None:
    many = FetchRequest("Person", "age > 95")
    counted = Expression.fetch(many, context, count_only=True)
    found = Expression.fetch(many, context)
    assert counted.value(0) == 4
    assert sorted(each.age for each in found.value(0)) == [96, 97, 98, 99]
    assert counted != found
    assert len(context.fetch("Person", Predicate("age == %@", counted))) == 1
    alone = Expression.fetch(many, count_only=True)
    assert str(pickle.loads(pickle.dumps(alone))) == str(alone) == "FETCH(<fetch of Person>, nil, 1)"


def test_context_computes_aggregates(context: Context) -> None:
    assert context.count("Person", "age < 10") == 10
    assert context.count("Person", "age < 10", limit=4) == 4
    assert context.count("Person", "age < 10", offset=7) == 3
    assert context.count("Person", key="home") == 100
    assert context.count("Person", "age < 5", by="home.name") == {"A": 3, "B": 2}
    assert (context.sum("Person", "age"), context.avg("Person", "age")) == (4950, 49.5)
    assert (context.min("Person", "age", "age > %d", 7), context.max("Person", "age", "age < %d", 7)) == (8, 6)
    assert context.sum("Person", "age", "age < 4", by="home.name") == {"A": 2, "B": 4}
    assert context.min("Person", "name", by=["home.name"]) in ({"A": "000", "B": "001"}, {("A",): "000", ("B",): "001"})
    assert (context.sum("Person", "age", "age > 200"), context.avg("Person", "age", "age > 200")) == (0, None)
    assert (context.min("Person", "age", "age > 200"), context.max("Person", "age", "age > 200")) == (None, None)
    context.insert("Person", name="new", age=1000)
    assert context.count("Person") == 101
    assert context.count("Person", include_pending_changes=False) == 100
    assert context.max("Person", "age") == 99
    context.rollback()
