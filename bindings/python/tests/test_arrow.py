"""Arrow: pyarrow, polars, pandas and DuckDB read the same fetch, and return the values of the objects."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import sqlite3
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from corestone import (
    ArrowData,
    Container,
    Context,
    InvalidArgumentError,
    Model,
    TypeMismatchError,
    WrongThreadError,
    raw_value,
)

pa: Any = pytest.importorskip("pyarrow")
polars: Any = pytest.importorskip("polars")
pandas: Any = pytest.importorskip("pandas")
duckdb: Any = pytest.importorskip("duckdb")

EVERYTHING: dict[str, dict[str, Any]] = {
    "Place": {"name": "string", "items": "to-many Item inverse place"},
    "Item": {
        "flag": "bool?", "small": "int16?", "whole": "int32?", "large": "int64?", "single": "float?", "real": "double?",
        "exact": "decimal?", "text": "string?", "data": "binary?", "made": "date?", "badge": "uuid?", "link": "uri?",
        "shape": "transformable?", "place": "to-one Place? inverse items",
        "spot": {"latitude": "double?", "note": "string?"},
    },
}  # fmt: skip
COLUMNS = [
    "flag", "small", "whole", "large", "single", "real", "exact", "text", "data", "made", "badge", "link", "spot",
]  # fmt: skip
ROWS = 10_000


def item(context: Context, number: int, place: Any) -> Any:
    """An item with one null; every 50th item has only a number."""
    if number % 50 == 49:
        return context.insert("Item", large=number)
    values = {
        "flag": number % 2 == 0,
        "small": number % 30000 - 15000,
        "whole": number * 1000,
        "large": number,
        "single": number / 4,
        "real": number / 3,
        "exact": Decimal(number) / 8,
        "text": f"Zoë {number}" if number % 3 else "",
        "data": bytes([number % 256]) * (number % 5),
        "made": datetime(1999, 12, 31, 23, 59, 59, 999999, timezone.utc) + timedelta(0, number, number),
        "badge": uuid.UUID(int=number),
        "link": f"https://example.com/{number}",
        "shape": {"number": number},
        "spot": {"latitude": number / 7, "note": str(number)},
        "place": place,
    }
    names = list(values)
    values.pop(names[number % len(names)])
    values["large"] = number
    return context.insert("Item", **values)


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Context]:
    with Container(Model(EVERYTHING), tmp_path_factory.mktemp("arrow") / "all.sqlite") as container:
        context = container.context()
        places = [context.insert("Place", name=name) for name in ("Kiel", "Rome", "Oslo")]
        for number in range(ROWS):
            item(context, number, places[number % 3])
        context.save()
        yield context


def expected(context: Context) -> list[dict[str, Any]]:
    """The values by the objects themselves."""
    found = []
    for each in context.fetch("Item", sort="large", prefetch="place"):
        row = {name: each[name] for name in COLUMNS}
        spot = row["spot"]
        row["spot"] = {"latitude": spot.get("latitude"), "note": spot.get("note")} if spot else None
        row["shape"] = raw_value(each, "shape")
        row["place.name"] = each.place.name if each.place else None
        row["objectID"] = str(each.id)
        found.append(row)
    return found


@pytest.fixture(scope="module")
def objects(everything: Context) -> list[dict[str, Any]]:
    return expected(everything)


@pytest.fixture
def fetch(everything: Context) -> ArrowData:
    return everything.arrow(
        "Item", columns=[*COLUMNS, "shape", "place.name", "objectID"], sort="large", batch_size=3000
    )


def test_pyarrow_reads_the_values_of_objects(fetch: ArrowData, objects: list[dict[str, Any]]) -> None:
    table = pa.table(fetch)
    table.validate(full=True)
    assert [chunk.num_rows for chunk in table.to_batches()] == [3000, 3000, 3000, 1000]
    for row, wanted in zip(table.to_pylist(), objects):
        assert row == wanted
    assert table.num_rows == ROWS
    assert [str(field.type) for field in table.schema] == [
        "bool", "int16", "int32", "int64", "float", "double", "decimal128(38, 18)", "string", "binary",
        "timestamp[us, tz=UTC]", "extension<arrow.uuid>", "string", "struct<latitude: double, note: string>",
        "binary", "string", "string",
    ]  # fmt: skip


def test_polars_reads_the_values_of_objects(fetch: ArrowData, objects: list[dict[str, Any]]) -> None:
    frame = polars.DataFrame(fetch)
    assert frame.height == ROWS
    for row, wanted in zip(frame.iter_rows(named=True), objects):
        badge = row["badge"]
        # A struct of nulls is a null to us; polars keeps the two apart as Arrow does. UUIDs are their bytes to it.
        row["badge"] = uuid.UUID(bytes=badge) if isinstance(badge, bytes) else badge
        assert row == wanted


def test_pandas_reads_the_values_of_objects(fetch: ArrowData, objects: list[dict[str, Any]]) -> None:
    frame = fetch.to_pandas(types_mapper=pandas.ArrowDtype)
    assert len(frame) == ROWS
    for name in ("flag", "small", "large", "real", "exact", "text", "data", "place.name", "objectID"):
        found = [None if value is pandas.NA else value for value in frame[name].tolist()]
        assert found == [row[name] for row in objects], name
    made = [None if pandas.isna(value) else value.to_pydatetime() for value in frame["made"]]
    assert made == [row["made"] for row in objects]
    direct = pandas.DataFrame.from_arrow(fetch)
    assert direct["large"].tolist() == list(range(ROWS))


def test_duckdb_reads_the_values_of_objects(fetch: ArrowData, objects: list[dict[str, Any]]) -> None:
    items = fetch  # a keyword of SQL
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        found = connection.execute(
            'SELECT flag, small, whole, large, single, "real", exact, "text", "data", badge, link, "place.name", '
            "epoch_us(made) FROM items ORDER BY large"
        ).fetchall()
        names = [
            "flag",
            "small",
            "whole",
            "large",
            "single",
            "real",
            "exact",
            "text",
            "data",
            "badge",
            "link",
            "place.name",
        ]
        for row, wanted in zip(found, objects):
            assert list(row[:12]) == [wanted[name] for name in names]
            made = wanted["made"]
            since = made - datetime(1970, 1, 1, tzinfo=timezone.utc) if made else None
            assert row[12] == (since // timedelta(microseconds=1) if since is not None else None)
        assert len(found) == ROWS
        total = connection.execute("SELECT count(*), sum(a.large) FROM items a JOIN items b USING (large)").fetchone()
        assert total == (ROWS, sum(range(ROWS)))
    assert items is fetch


# ---- the protocol


def columns_of(capsule: Any) -> tuple[int, list[list[int]]]:
    """Takes a batch out of a stream's capsule; returns the address of its struct and those of its columns' buffers."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    stream: int = pointer(capsule, b"arrow_array_stream")
    memory = (ctypes.c_int64 * 10)()
    place = ctypes.addressof(memory)
    keep.append(memory)
    get_next = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    assert get_next(ctypes.c_void_p.from_address(stream + 8).value or 0)(stream, place) == 0
    children = (ctypes.c_void_p * memory[4]).from_address(memory[6])
    found = []
    for child in children:
        fields = (ctypes.c_int64 * 10).from_address(child or 0)
        found.append(list((ctypes.c_int64 * fields[3]).from_address(fields[5])))
    return place, found


keep: list[Any] = []


def test_buffers_are_shared_without_a_copy(everything: Context) -> None:
    data = everything.arrow("Item", columns=["large", "real", "badge", "text", "made", "exact"])
    schema = pa.schema(data)
    place, addresses = columns_of(data.__arrow_c_stream__())
    batch = pa.RecordBatch._import_from_c(place, schema)
    for column, wanted in zip(batch.columns, addresses):
        storage = column.storage if isinstance(column, pa.ExtensionArray) else column
        assert [each.address if each else 0 for each in storage.buffers()] == wanted
    assert batch.column(0).to_pylist() == sorted(batch.column(0).to_pylist())
    # polars takes over the same memory.
    frame = polars.from_arrow(batch)
    assert frame["large"].to_arrow().buffers()[1].address == addresses[0][1]


def test_results_export_as_array_and_as_stream(everything: Context) -> None:
    results = everything.fetch("Item", "large < 100", sort="large")
    assert pa.record_batch(results).num_rows == 100
    assert pa.array(results).type.num_fields == len(COLUMNS) + 1
    assert pa.table(results).column("large").to_pylist() == list(range(100))
    assert polars.DataFrame(results.arrow("large")).height == 100
    named = pa.table(results.arrow("place.name", "objectID", keys=True, batch_size=30))
    assert [batch.num_rows for batch in named.to_batches()] == [30, 30, 30, 10]
    assert str(named.schema.field("objectID").type) == "int64"
    with duckdb.connect() as connection:
        assert connection.execute("SELECT count(*) FROM results WHERE large > 9").fetchone() == (90,)
    members = pa.table(everything.fetch("Place", sort="name").arrow("name", "items", keys=True))
    assert [len(each) for each in members.column("items").to_pylist()] == [
        len(place.items) for place in everything.fetch("Place", sort="name")
    ]


def test_lists_declare_object_ids_nullable_for_deleted_objects(tmp_path: Path) -> None:
    model = Model({"Item": {"n": "int = 0"}})
    with Container(model, tmp_path / "a.sqlite", unsaved="discard") as container, container.context() as ctx:
        for n in range(3):
            ctx.insert("Item", n=n)
        ctx.save()
        items = ctx.fetch("Item", sort="n")
        ctx.delete(items[1])
        ctx.save()
        table = pa.table(items.arrow("objectID", "n", keys=True))
        assert table.schema.field("objectID").nullable
        table.validate(full=True)
        assert [each is None for each in table.column("objectID").to_pylist()] == [False, True, False]
        assert table.column("n").to_pylist() == [0, None, 2]
        assert not pa.table(ctx.arrow("Item", columns=["objectID"])).schema.field("objectID").nullable


def test_export_includes_unsaved_values_and_computed_rows(tmp_path: Path) -> None:
    model = Model({"Person": {"name": "string", "age": "int = 0", "pay": "decimal?"}})
    with Container(model, tmp_path / "a.sqlite") as container:
        context = container.context()
        ada = context.insert("Person", name="Ada", age=1, pay=Decimal("2.5"))
        context.save()
        ada.age = 2
        context.insert("Person", name="Bob", age=3)
        data = context.arrow("Person", columns=["name", "age"], sort="name")
        assert pa.table(data).to_pylist() == [{"name": "Ada", "age": 2}, {"name": "Bob", "age": 3}]
        saved = context.arrow("Person", columns=["age"], include_pending_changes=False)
        assert pa.table(saved).to_pylist() == [{"age": 1}]
        # A new stream each time.
        context.delete(ada)
        assert pa.table(data).to_pylist() == [{"name": "Bob", "age": 3}]
        context.save()
        sums = context.arrow("Person", columns={"total": "sum:(age)", "most": "max:(age)"})
        assert polars.DataFrame(sums).to_dicts() == [{"total": 3, "most": 3}]
        text = context.arrow("Person", columns=["pay"], decimal_text=True)
        assert str(pa.schema(text).field("pay").type) == "string"


def test_unused_capsule_releases_its_stream(everything: Context) -> None:
    data = everything.arrow("Item", columns=["large"])
    for _ in range(50):
        capsule = data.__arrow_c_stream__()
        schema = data.__arrow_c_schema__()
        del capsule, schema
    gc.collect()
    schema, array = everything.fetch("Place").__arrow_c_array__(None)
    del schema, array
    # On another thread too, where only its release runs.
    capsules = [data.__arrow_c_stream__() for _ in range(4)]
    thread = threading.Thread(target=capsules.clear)
    thread.start()
    thread.join()
    assert pa.table(data).num_rows == ROWS


def test_stream_can_be_read_on_other_threads(everything: Context) -> None:
    data = everything.arrow("Item", columns=["large"], sort="large", batch_size=500)
    readers = [pa.RecordBatchReader.from_stream(data) for _ in range(4)]
    found: list[int] = []
    threads = [threading.Thread(target=lambda each=each: found.append(each.read_all().num_rows)) for each in readers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [ROWS] * 4
    # Who asks for a stream elsewhere needs a schema that was asked for here.
    errors: list[BaseException] = []

    def ask() -> None:
        try:
            found.append(pa.table(data).num_rows)
        except WrongThreadError as error:
            errors.append(error)

    for described in (False, True):
        if described:
            data.__arrow_c_schema__()
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()
    assert len(errors) == 1
    assert found[4:] == [ROWS]


def test_open_reader_returns_its_snapshot(tmp_path: Path) -> None:
    with Container(Model({"Person": {"age": "int = 0"}}), tmp_path / "a.sqlite") as container:
        context = container.context()
        for age in range(1000):
            context.insert("Person", age=age)
        context.save()
        reader = pa.RecordBatchReader.from_stream(context.arrow("Person", sort="age", batch_size=100))
        assert reader.read_next_batch().num_rows == 100
        for person in context.fetch("Person"):
            context.delete(person)
        context.save()
        assert context.count("Person") == 0
        assert reader.read_all().num_rows == 900
        late = pa.RecordBatchReader.from_stream(context.arrow("Person"))
    with pytest.raises((OSError, pa.ArrowInvalid), match=r"closed|removed"):
        late.read_all()


def test_arrow_mistakes_are_reported(everything: Context) -> None:
    with pytest.raises(InvalidArgumentError, match='did you mean "large"'):
        pa.table(everything.arrow("Item", columns=["lagre"]))
    with pytest.raises(InvalidArgumentError, match="to-many"):
        pa.table(everything.arrow("Place", columns=["items.large"]))
    with pytest.raises(InvalidArgumentError, match="must be at least 0"):
        everything.arrow("Item", batch_size=-1)
    with pytest.raises(InvalidArgumentError, match="without an entity"):
        pa.table(everything.inserted)
    with pytest.raises(TypeMismatchError):
        everything.arrow("Item", columns=[5])  # type: ignore[list-item]


def resident() -> int:
    """Kilobytes of the process that are in memory."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4


def test_thousand_exports_do_not_leak_memory(everything: Context) -> None:
    data = everything.arrow("Item", "large < 500", columns=COLUMNS)
    results = everything.fetch("Item", "large < 500")

    def export(times: int) -> None:
        for number in range(times):
            assert pa.table(data).num_rows == 500
            if number % 4 == 0:
                pa.schema(data)
                assert pa.record_batch(results).num_rows == 500
            if number % 10 == 0:
                pa.RecordBatchReader.from_stream(data).close()
        gc.collect()

    export(200)
    before = resident()
    export(1000)
    assert resident() - before < 8_000


def test_package_imports_without_data_frame_libraries() -> None:
    program = (
        "import sys\n"
        "for name in ('pyarrow', 'polars', 'pandas', 'duckdb', 'numpy'): sys.modules[name] = None\n"
        "import corestone, tempfile, os\n"
        "folder = tempfile.mkdtemp()\n"
        "container = corestone.Container(corestone.Model({'A': {'x': 'int = 0'}}), os.path.join(folder, 'a.sqlite'))\n"
        "context = container.context(); context.insert('A'); context.save()\n"
        "kept = context.arrow('A').__arrow_c_stream__()\n"
        "late = [kept]\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")


# ---- bounds


@pytest.fixture
def numbers(tmp_path: Path) -> Iterator[Callable[[str], Context]]:
    """A store whose rows SQL makes: columns of Reading are ZSAMPLE, ZAT and ZBLOB."""

    def filled(rows: str) -> Context:
        path = tmp_path / "readings.sqlite"
        model = Model({"Reading": {"sample": "int?", "at": "date?", "blob": "binary?"}})
        with Container(model, path) as container:
            container.context().insert("Reading", sample=-1)
            container.context().save()
        connection = sqlite3.connect(path)
        connection.execute("DELETE FROM ZREADING")
        connection.execute(f"INSERT INTO ZREADING (Z_PK, Z_ENT, Z_OPT, ZSAMPLE, ZAT, ZBLOB) {rows}")
        connection.commit()
        connection.close()
        return opened.enter_context(Container(model, path, read_only=True)).context()

    with contextlib.ExitStack() as opened:
        yield filled


COUNTED = (
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {}) SELECT i, 1, 1, i, NULL, {} FROM n"
)


@pytest.mark.parametrize(("count", "sizes"), [(65_536, [65_536]), (65_537, [65_536, 1])])
def test_default_batch_has_65536_rows(numbers: Callable[[str], Context], count: int, sizes: list[int]) -> None:
    context = numbers(COUNTED.format(count, "NULL"))
    table = pa.table(context.arrow("Reading", columns=["sample"], sort="sample"))
    assert [batch.num_rows for batch in table.to_batches()] == sizes
    assert table.column("sample")[count - 1].as_py() == count


def test_dates_are_rounded_to_the_even_microsecond_and_null_out_of_range(numbers: Callable[[str], Context]) -> None:
    year = 31_557_600
    since = 978_307_200_000_000
    dates: list[tuple[str, int | None]] = [
        ("1.0 / 128", since + 7812), ("3.0 / 128", since + 23438), ("5.0 / 128", since + 39062),
        ("-1.0 / 128", since - 7812), ("-3.0 / 128", since - 23438), ("0.0000004", since), ("0.0000006", since + 1),
        (str(287_000 * year), since + 287_000 * year * 1_000_000),
        (str(-291_000 * year), since - 291_000 * year * 1_000_000),
        (str(293_000 * year), None), (str(-295_000 * year), None), ("9e999", None), ("-9e999", None), ("NULL", None),
    ]  # fmt: skip
    values = ", ".join(f"({at}, 1, 1, {at}, {date}, NULL)" for at, (date, _) in enumerate(dates, 1))
    context = numbers(f"VALUES {values}")
    found = pa.table(context.arrow("Reading", columns=["at"], sort="sample")).column("at")
    assert str(found.type) == "timestamp[us, tz=UTC]"
    assert found.cast(pa.int64()).to_pylist() == [each for _, each in dates]


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        (["0.123456789012345678", "99999999999999999999"], "decimal128(38, 18)"),
        (["0.1234567890123456789"], "decimal128(38, 19)"), (["100000000000000000000"], "decimal128(38, 17)"),
        (["-99999999999999999999.5"], "decimal128(38, 18)"), (["-1e20", "0.5"], "decimal128(38, 17)"),
        (["1e36", "0.1"], "decimal128(38, 1)"), (["1e36", "0.01"], "string"), (["1e37"], "decimal128(38, 0)"),
        (["1e38"], "string"), ([], "decimal128(38, 18)"),
    ],
)  # fmt: skip
def test_decimal_columns_keep_their_digits_up_to_the_scale_limit(tmp_path: Path, texts: list[str], kind: str) -> None:
    """Unsaved ones, which have all their digits."""
    with Container(Model({"Price": {"of": "decimal?"}}), tmp_path / "a.sqlite", unsaved="discard") as container:
        context = container.context()
        for text in texts:
            context.insert("Price", of=Decimal(text))
        context.insert("Price")
        for data in (context.arrow("Price", columns=["of"]), context.fetch("Price").arrow("of")):
            table = pa.table(data)
            assert str(table.schema.field("of").type) == kind
            found = [each and Decimal(each) for each in table.column("of").to_pylist()]
            assert sorted(filter(None, found)) == sorted(Decimal(text) for text in texts)
            assert found.count(None) == 1
        as_text = pa.table(context.arrow("Price", columns=["of"], decimal_text=True))
        assert str(as_text.schema.field("of").type) == "string"


@pytest.mark.parametrize(
    ("columns", "key", "message"),
    [
        (["lagre"], "lagre", 'Item has no property "lagre"; did you mean "large"?'),
        (["large", "mood"], "mood", "Item.mood is not stored and cannot be exported"),
        (["place.items"], None, None),
        (["place.items.large"], "place.items.large", "Place.items is to-many, but a column has one value"),
        (["large", "text", "large"], "large", 'the key path "large" is listed twice; list it once'),
        (["spot.latitud"], "spot.latitud", 'did you mean "spot.latitude"?'),
    ],
)
def test_invalid_column_is_rejected_by_name(
    tmp_path: Path, columns: list[str], key: str | None, message: str | None
) -> None:
    definition = {**EVERYTHING, "Item": {**EVERYTHING["Item"], "mood": "string? transient"}}
    with Container(Model(definition), tmp_path / "a.sqlite", unsaved="discard") as container:
        context = container.context()
        item(context, 1, context.insert("Place", name="Kiel"))
        for data in (context.arrow("Item", columns=columns), context.fetch("Item").arrow(*columns)):
            if key is None:
                assert str(pa.schema(data).field(columns[0]).type) == "list<item: string not null>"
                continue
            with pytest.raises(InvalidArgumentError) as caught:
                pa.schema(data)
            assert (caught.value.entity, caught.value.key) == ("Item", key)
            assert message is not None
            assert message in str(caught.value)


def test_computed_columns_have_the_type_of_their_values(everything: Context) -> None:
    for column, kind in (
        ("large", "int64"), ("large * 1", "int64"), ("TERNARY(large == 1, 1, 0.5)", "double"), ("nil", "null"),
        ("uppercase:(text)", "string"), ("TERNARY(large == 1, nil, 2)", "int64"),
    ):  # fmt: skip
        rows = everything.arrow("Item", "large < 3", columns=[{"x": column}] if column != "large" else ["large"])
        assert str(pa.table(rows).schema.field(0).type) == kind, column
    mixed = everything.arrow("Item", "large < 3", columns=[{"x": "TERNARY(large == 1, 1, 'a')"}])
    with pytest.raises(TypeMismatchError, match="x") as caught:
        pa.table(mixed)
    assert caught.value.key == "x"


@pytest.mark.parametrize("kind", ["SQLite", "XML"])
def test_columns_of_collection_operators_have_the_types_of_their_attributes(tmp_path: Path, kind: str) -> None:
    model = Model(
        {
            "Show": {"name": "string", "episodes": "to-many Episode inverse show"},
            "Episode": {
                "title": "string", "seconds": "int32 = 0", "rating": "double?", "price": "decimal?", "at": "date?",
                "show": "to-one Show? inverse episodes",
            },
        }
    )  # fmt: skip
    paths = [
        "name", "episodes.@count", "episodes.@sum.seconds", "episodes.@avg.seconds", "episodes.@sum.rating",
        "episodes.@sum.price", "episodes.@max.at", "episodes.@min.title",
    ]  # fmt: skip
    types = ["string", "int64", "int64", "double", "double", "decimal128(38, 18)", "timestamp[us, tz=UTC]", "string"]
    at = datetime(2024, 5, 6, tzinfo=timezone.utc)
    with Container(model, tmp_path / "shows", type=kind, unsaved="discard") as container:
        context = container.context()
        empty = pa.table(context.arrow("Show", columns=paths))
        assert [str(field.type) for field in empty.schema] == types
        assert empty.num_rows == 0
        daily, _ = context.insert("Show", name="daily"), context.insert("Show", name="none")
        for number, title in enumerate("abc"):
            context.insert(
                "Episode", title=title, seconds=number * 10, rating=0.5, price=Decimal("1.25"), at=at, show=daily
            )
        want = [
            ["daily", 3, 30, 10.0, 1.5, Decimal("3.75"), at, "a"],
            ["none", 0, 0, 0.0, 0.0, Decimal(0), None, None],
        ]
        for is_saved in (False, True):
            if is_saved:
                context.save()
            exports = [
                context.arrow("Show", columns=paths, sort="name"),
                context.arrow("Show", columns=[*paths, "episodes"], sort="name"),
                context.fetch("Show", sort="name").arrow(*paths),
            ]
            for export in exports:
                table = pa.table(export)
                assert [str(field.type) for field in table.schema][:8] == types
                assert [list(row.values())[:8] for row in table.to_pylist()] == want
        with pytest.raises(InvalidArgumentError, match="must follow a to-many relationship") as caught:
            pa.table(context.arrow("Show", columns=["name.@count"]))
        assert (caught.value.entity, caught.value.key) == ("Show", "name.@count")


def test_keys_of_unsaved_objects_are_negative(tmp_path: Path) -> None:
    with Container(Model(EVERYTHING), tmp_path / "a.sqlite", unsaved="discard") as container:
        context = container.context()
        kiel = context.insert("Place", name="Kiel")
        context.save()
        context.insert("Item", large=1, place=kiel)
        context.insert("Item", large=2, place=context.insert("Place", name="Rome"))
        for data in (
            context.arrow("Item", columns=["objectID", "place", "place.objectID"], keys=True, sort="large"),
            context.fetch("Item", sort="large").arrow("objectID", "place", "place.objectID", keys=True),
        ):
            first, second = pa.table(data).to_pylist()
            assert first["objectID"] < 0
            assert second["objectID"] < 0
            assert first["objectID"] != second["objectID"]
            assert first["place"] == first["place.objectID"] == 1
            assert second["place"] == second["place.objectID"] < 0


MOMENT: dict[str, dict[str, Any]] = {"Person": {"name": "string?", "mood": "string? transient"}}


@pytest.mark.parametrize(
    "what",
    ["SQLite", "rollback journal", "InMemory", "XML", "Binary", "child", "unsaved", "remainder", "order", "pinned"],
)
def test_stream_reads_the_state_at_the_time_of_the_call(tmp_path: Path, what: str) -> None:
    options: dict[str, Any] = {"type": what} if what in ("InMemory", "XML", "Binary") else {}
    if what == "rollback journal":
        options["journal"] = "rollback"
    with Container(Model(MOMENT), tmp_path / "people", unsaved="discard", **options) as container:
        writer = container.context()
        for name in "abc":
            writer.insert("Person", name=name)
        writer.save()
        context, expected = container.context(), ["a", "b", "c"]
        if what == "child":
            context.insert("Person", name="d")
            context, expected = context.child(), ["a", "b", "c", "d"]
        elif what == "unsaved":
            context.fetch("Person", "name == 'b'")[0].name = "x"
            context.insert("Person", name="d")
            expected = ["a", "c", "d", "x"]
        elif what == "pinned":
            context.pin()
        request: dict[str, Any] = {"sort": ["mood", "name"] if what == "order" else "name", "columns": ["name"]}
        predicate = "mood == nil" if what == "remainder" else None
        capsule = context.arrow("Person", predicate, batch_size=2, **request)
        reader = pa.RecordBatchReader.from_stream(capsule)
        for person in writer.fetch("Person", "name IN {'a', 'c'}"):
            if person.name == "a":
                writer.delete(person)
            else:
                person.name = "z"
        writer.insert("Person", name="e")
        writer.save()
        assert reader.read_all().column("name").to_pylist() == expected
        if what != "pinned":
            later = pa.table(container.context().arrow("Person", predicate, **request)).column("name").to_pylist()
            assert later == ["b", "e", "z"]


def test_export_without_pending_changes_has_only_saved_values(everything: Context) -> None:
    request: dict[str, Any] = {"columns": ["large", "place.name"], "sort": "large", "limit": 2}
    saved = pa.table(everything.arrow("Item", **request)).to_pylist()
    first = everything.fetch("Item", sort="large", limit=1)[0]
    place = first.place
    first.large, place.name = -5, "Renamed"
    try:
        changed = pa.table(everything.arrow("Item", **request)).to_pylist()
        assert changed[0] == {"large": -5, "place.name": "Renamed"}
        kept = everything.arrow("Item", include_pending_changes=False, **request)
        assert pa.table(kept).to_pylist() == saved
    finally:
        everything.rollback()
