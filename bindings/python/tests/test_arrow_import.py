"""Arrow imports: data of pyarrow, polars, pandas and DuckDB becomes objects or rows."""

from __future__ import annotations

import gc
import uuid
import weakref
from collections.abc import Iterator
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, Callable

import pytest

from corestone import (
    BatchInsertRequest,
    CallbackError,
    CancelledError,
    ConflictError,
    Container,
    Context,
    CorestoneError,
    InvalidArgumentError,
    ManagedObject,
    Model,
    TypeMismatchError,
    UpsertCounts,
    ValidationError,
    raw_value,
)
from corestone.graph import arrow_import

pa: Any = pytest.importorskip("pyarrow")
polars: Any = pytest.importorskip("polars")
pandas: Any = pytest.importorskip("pandas")
duckdb: Any = pytest.importorskip("duckdb")

STAFF: dict[str, dict[str, Any]] = {
    "Department": {
        "@unique": ["name"], "name": "string", "year": "int16?", "code": "uuid?", "budget": "decimal?",
        "staff": "to-many Employee inverse department",
    },
    "Employee": {
        "@unique": [["email"]],
        "name": "string", "email": "string?", "flag": "bool?", "small": "int16?", "whole": "int32?", "large": "int64?",
        "single": "float?", "real": "double?", "exact": "decimal?", "data": "binary?", "made": "date?",
        "badge": "uuid?", "link": "uri?", "shape": "transformable?", "level": "int16 = 7",
        "loud": "derived string? = uppercase:(name)", "address": {"city": "string?", "number": "int32?"},
        "department": "to-one Department? inverse staff", "boss": "to-one Employee? inverse reports",
        "reports": "to-many Employee inverse boss", "skills": "to-many ordered Skill inverse people",
    },
    "Manager": {"@parent": "Employee", "bonus": "double?"},
    "Skill": {"name": "string", "people": "to-many Employee inverse skills"},
}  # fmt: skip
UTC = timezone.utc


@pytest.fixture
def container(tmp_path: Path) -> Iterator[Container]:
    with Container(Model(STAFF), tmp_path / "staff.sqlite", unsaved="discard") as container:
        yield container


@pytest.fixture
def ctx(container: Container) -> Context:
    context = container.context()
    for name, year in (("Labs", 2001), ("Sales", 2002)):
        context.insert("Department", name=name, year=year, code=uuid.UUID(int=year), budget=Decimal(year) / 4)
    for name in ("C", "Swift", "Python"):
        context.insert("Skill", name=name)
    context.save()
    return context


def values(context: Context, *keys: str, entity: str = "Employee") -> list[tuple[Any, ...]]:
    """The values of the objects by name, and those of targets by key path."""
    found = []
    for each in context.fetch(entity, sort="name"):
        row: list[Any] = []
        for key in keys:
            value: Any = each
            for part in key.split("."):
                value = None if value is None else value[part] if not isinstance(value, dict) else value.get(part)
            row.append(value)
        found.append(tuple(row))
    return found


def rejected(context: Context, data: Any, kind: type[CorestoneError], **options: Any) -> CorestoneError:
    """The error of an import into a context without changes, which must remain without changes."""
    assert not context.has_changes
    before = context.count("Employee")
    with pytest.raises(kind) as caught:
        context.insert_arrow("Employee", data, **options)
    assert not context.has_changes
    assert context.count("Employee") == before
    return caught.value


def test_every_exported_type_is_imported_again(ctx: Context, tmp_path: Path) -> None:
    for number in range(300):
        ctx.insert(
            "Employee", name=f"n{number:03}", email=f"Zoë{number}@x", flag=number % 2 == 0, small=number - 100,
            whole=number * 1000, large=-(2**62) + number, single=number / 4, real=number / 3,
            exact=Decimal(number) / 8, data=bytes([number % 256]) * (number % 5),
            made=datetime(1999, 12, 31, 23, 59, 59, 999999, UTC) + timedelta(number, number, number),
            badge=uuid.UUID(int=number), link=f"https://example.com/{number}", shape={"number": number},
            address={"city": f"City {number}", "number": number}, department=ctx.first("Department", sort="name"),
            skills=list(ctx.fetch("Skill", sort="name"))[: number % 4],
        )  # fmt: skip
    ctx.insert("Employee", name="nobody")
    ctx.save()
    columns = [
        "name", "email", "flag", "small", "whole", "large", "single", "real", "exact", "data", "made", "badge", "link",
        "shape", "level", "address",
    ]  # fmt: skip
    data = ctx.arrow("Employee", columns=[*columns, "department", "skills"], sort="name", batch_size=64)
    frames = {
        "own": data,
        "pyarrow": pa.table(data),
        "polars": polars.DataFrame(data),
        "duckdb": duckdb.sql("SELECT * FROM data"),
        "text": ctx.arrow("Employee", columns=[*columns, "department", "skills"], decimal_text=True),
    }
    wanted = [
        tuple(raw_value(each, key) if key == "shape" else each[key] for key in columns)
        for each in ctx.fetch("Employee", sort="name")
    ]
    for title, frame in frames.items():
        with ctx.child() as child:
            # The same URIs are valid in another context of the store.
            assert child.insert_arrow("Employee", frame, columns={"email": None}) == 301, title
            found = [each for each in child.fetch("Employee", sort="name") if each.has_changes]
            for each, row in zip(found, wanted):
                for key, value in zip(columns, row):
                    given = raw_value(each, key) if key == "shape" else each[key]
                    assert given == (None if key == "email" else value), (title, key)
            assert [[skill.name for skill in each.skills] for each in found[:4]] == [
                [], ["C"], ["C", "Python"], ["C", "Python", "Swift"],
            ]  # fmt: skip
            assert found[5].department.name == "Labs"
            assert found[300].department is None
            child.rollback()
    # pandas has neither lists of URIs nor structs of its own, but columns of pyarrow.
    frame = data.to_pandas(types_mapper=pandas.ArrowDtype)
    assert ctx.insert_arrow("Employee", frame, columns={"email": None}) == 301
    ctx.rollback()


def test_common_types_are_converted_exactly(ctx: Context) -> None:
    moments = [datetime(2020, 5, 17, 12, 30, 15, tzinfo=UTC), None]
    for data_type in (
        pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64(), pa.float16(),
        pa.float32(), pa.float64(), pa.decimal128(10, 2), pa.decimal32(5, 1), pa.decimal64(10, 0),
    ):  # fmt: skip
        column = pa.array([5, None], data_type) if not pa.types.is_float16(data_type) else None
        if column is None:
            column = pa.array([5.0, None], pa.float32()).cast(data_type)
        keys = ("small", "whole", "large", "single", "real", "exact")
        ctx.insert_arrow("Employee", pa.table({"name": ["a", "b"], **dict.fromkeys(keys, column)}))
        assert values(ctx, *keys) == [(5, 5, 5, 5.0, 5.0, Decimal(5)), (None,) * 6], data_type
        ctx.rollback()
    ones = pa.table({"name": ["a", "b", "c"], "flag": pa.array([1, 0, None], pa.int8()), "small": [True, False, None]})
    ctx.insert_arrow("Employee", ones)
    assert values(ctx, "flag", "small") == [(True, 1), (False, 0), (None, None)]
    ctx.rollback()
    for data_type in ("timestamp[s, UTC]", "timestamp[ms, UTC]", "timestamp[us, UTC]", "timestamp[ns, Europe/Berlin]"):
        unit, zone = data_type[10:-1].split(", ")
        ctx.insert_arrow(
            "Employee", pa.table({"name": ["a", "b"], "made": pa.array(moments, pa.timestamp(unit, zone))})
        )
        assert values(ctx, "made") == [(moments[0],), (None,)], data_type
        ctx.rollback()
    for data_type in (pa.date32(), pa.date64()):
        days = pa.array([date(1969, 12, 31), date(2262, 4, 12)], data_type)
        ctx.insert_arrow("Employee", pa.table({"name": ["a", "b"], "made": days}))
        assert values(ctx, "made") == [(datetime(1969, 12, 31, tzinfo=UTC),), (datetime(2262, 4, 12, tzinfo=UTC),)]
        ctx.rollback()
    half = pa.array([1.5, -0.25, 65504, 2**-24], pa.float64()).cast(pa.float16())
    ctx.insert_arrow("Employee", pa.table({"name": list("abcd"), "real": half}))
    assert values(ctx, "real") == [(1.5,), (-0.25,), (65504.0,), (2**-24,)]
    ctx.rollback()
    for text in (pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())):
        words = pa.array(["a", "a word of more than twelve bytes", "", None, "Zoë"], text)
        ctx.insert_arrow("Employee", pa.table({"name": list("abcde"), "email": words, "link": words.cast(pa.string())})
                         .slice(0, 1))  # fmt: skip
        ctx.rollback()
        ctx.insert_arrow("Employee", pa.table({"name": list("abcde"), "email": words}).slice(1))
        assert values(ctx, "email") == [("a word of more than twelve bytes",), ("",), (None,), ("Zoë",)]
        ctx.rollback()
    for data_type in (pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(2)):
        ctx.insert_arrow("Employee", pa.table({"name": ["a", "b"], "data": pa.array([b"\0x", None], data_type)}))
        assert values(ctx, "data") == [(b"\0x",), (None,)]
        ctx.rollback()
    badge = uuid.UUID("12345678-1234-5678-1234-567812345678")
    for column in (
        pa.array([badge.bytes], pa.binary(16)), pa.array([badge.bytes]), pa.array([str(badge)]),
        pa.array([badge.bytes], pa.uuid()),
    ):  # fmt: skip
        ctx.insert_arrow("Employee", pa.table({"name": ["a"], "badge": column}))
        assert values(ctx, "badge") == [(badge,)]
        ctx.rollback()
    ctx.insert_arrow("Employee", pa.table({"name": ["a"], "exact": ["-12345678901234567890.123456789"]}))
    assert values(ctx, "exact") == [(Decimal("-12345678901234567890.123456789"),)]
    ctx.rollback()
    empty = pa.nulls(2)
    ctx.insert_arrow(
        "Employee",
        pa.table({"name": ["a", "b"], "made": empty, "address": empty, "skills": empty, "department": empty}),
    )
    assert values(ctx, "made", "address", "department") == [(None, None, None)] * 2


def test_large_unsigned_integers_are_exact_or_rejected(ctx: Context) -> None:
    large = pa.array([2**64 - 1], pa.uint64())
    ctx.insert_arrow("Employee", pa.table({"name": ["a"], "exact": large, "real": large}))
    assert values(ctx, "exact", "real") == [(Decimal(2**64 - 1), float(2**64))]
    ctx.rollback()
    error = rejected(ctx, pa.table({"name": ["a"], "large": large}), TypeMismatchError)
    assert "row 1 of the Arrow stream: Employee.large takes -9223372036854775808 to" in str(error)
    error = rejected(ctx, pa.table({"name": ["a"], "small": [1.5]}), TypeMismatchError)
    assert error.key == "small"
    error = rejected(ctx, pa.table({"name": ["a"], "small": [Decimal("1.5")]}), TypeMismatchError)
    assert "not 1.5" in str(error)


@pytest.mark.parametrize(
    ("column", "data_type", "key", "words"),
    [
        ([1], pa.time64("us"), "made", "time64[us], which cannot be imported"),
        ([1], pa.time32("s"), "made", "time32[s]"),
        ([1], pa.duration("ms"), "large", "duration[ms]"),
        (
            [1],
            pa.int64(),
            "made",
            "Employee.made (Date) takes timestamps with a time zone, date32 or date64, not int64",
        ),
        (["1"], pa.string(), "small", "Employee.small (Integer 16) takes numbers, not utf8"),
        (["x"], pa.string(), "data", "Employee.data (Binary Data) takes binary, not utf8"),
        ([b"x"], pa.binary(), "email", "Employee.email (String) takes utf8, not binary"),
        ([b"x"], pa.binary(1), "badge", "fixed_size_binary(16), binary or utf8, not fixed_size_binary(1)"),
        (["x"], pa.dictionary(pa.int32(), pa.string()), "flag", "dictionary<int32, utf8>"),
        ([[1]], pa.list_(pa.int32()), "small", "list<int32>"),
        ([1], pa.int32(), "address", "a struct, or a column for each element, not int32"),
        ([{"a": 1}], pa.struct({"a": pa.int8()}), "email", "struct"),
        ([1], pa.decimal256(40), "exact", "decimal256(40, 0)"),
        ([{1: 2}], pa.map_(pa.int8(), pa.int8()), "email", "map"),
        (["Labs"], pa.list_(pa.string(), 1), "department", "takes the URIs of objects as utf8"),
        ([3], pa.int64(), "department", '"department.name"'),
        (["x"], pa.string(), "skills", "is a to-many relationship and takes a list"),
        ([[3]], pa.list_(pa.int64()), "skills.name", "Skill.name (String) takes utf8, not int64"),
        ([1], pa.int8(), "department.name", "Department.name (String) takes utf8, not int8"),
        ([datetime(2020, 1, 1)], pa.timestamp("us"), "made", "naive_utc"),
        (["x"], pa.string(), "loud", "is derived"),
        (["x"], pa.string(), "objectID", "cannot be set"),
        (["x"], pa.string(), "department.staff", "cannot be a key"),
        (["x"], pa.string(), "department.nme", 'did you mean "name"?'),
        (["x"], pa.string(), "addres", 'did you mean "address"?'),
    ],
)
def test_unsuitable_columns_are_named(ctx: Context, column: list[Any], data_type: Any, key: str, words: str) -> None:
    column = column if data_type != pa.list_(pa.string(), 1) else [["Labs"]]
    error = rejected(ctx, pa.table({"name": ["a"], "X": pa.array(column, data_type)}), InvalidArgumentError)
    assert '"X"' in str(error)
    for options in ({}, {"validate": True}):
        table = pa.table({"name": ["a"], "X": pa.array(column, data_type)})
        error = rejected(ctx, table, CorestoneError, columns={"X": key}, **options)
        assert words in str(error)
        assert isinstance(error, (TypeMismatchError, InvalidArgumentError))
        assert error.entity
        assert error.key


def test_naive_timestamps_need_an_option(ctx: Context) -> None:
    table = pa.table({"name": ["a"], "made": [datetime(2020, 1, 1)]})
    rejected(ctx, table, TypeMismatchError)
    ctx.insert_arrow("Employee", table, naive_utc=True)
    assert values(ctx, "made") == [(datetime(2020, 1, 1, tzinfo=UTC),)]


def test_values_out_of_range_name_row_and_column(ctx: Context) -> None:
    table = pa.table({"name": ["a", "b", "c"], "Years": pa.chunked_array([[1], [2, 70000]])})
    error = rejected(ctx, table, ValidationError, columns={"Years": "small"})
    assert 'row 3 of the Arrow stream: column "Years": Employee.small takes -32768 to 32767' in str(error)
    assert (error.entity, error.key, error.value) == ("Employee", "small", 70000)
    error = rejected(ctx, pa.table({"name": ["a"], "real": [float("nan")]}), ValidationError, validate=True)
    assert error.key == "real"
    error = rejected(ctx, pa.table({"name": ["a", None]}), ValidationError, validate=True)
    assert "row 2 of the Arrow stream: Employee.name is required" in str(error)
    assert error.code == 1570
    ctx.insert_arrow("Employee", pa.table({"name": ["a", None]}))
    with pytest.raises(ValidationError):
        ctx.save()


def test_composites_are_structs_or_elements(ctx: Context) -> None:
    spots = pa.array([{"city": "Kiel", "number": 4}, None, {"city": None, "number": 5}])
    ctx.insert_arrow("Employee", pa.table({"name": list("abc"), "address": spots}))
    assert values(ctx, "address.city", "address.number") == [("Kiel", 4), (None, None), (None, 5)]
    assert values(ctx, "address")[1] == (None,)
    ctx.rollback()
    table = pa.table({"name": ["a"], "address.city": ["Rome"], "No": [3]})
    ctx.insert_arrow("Employee", table, columns={"No": "address.number"})
    assert values(ctx, "address") == [({"city": "Rome", "number": 3},)]
    ctx.rollback()
    both = pa.table({"name": ["a"], "address": spots[:1], "address.city": ["Rome"]})
    assert "both set Employee.address.city" in str(rejected(ctx, both, InvalidArgumentError))
    other = pa.table({"name": ["a"], "address": pa.array([{"town": "x"}])})
    assert 'has no element "town"' in str(rejected(ctx, other, InvalidArgumentError))
    ctx.insert_arrow("Employee", other, ignore_unknown=True)


def test_relationships_are_found_by_keys(ctx: Context) -> None:
    new = ctx.insert("Department", name="New", year=2002)
    table = pa.table({"name": list("abcd"), "department.name": ["Labs", "New", None, "Labs"]})
    ctx.insert_arrow("Employee", table)
    assert values(ctx, "department.name") == [("Labs",), ("New",), (None,), ("Labs",)]
    assert len(new.staff) == 1
    ctx.rollback()
    ids = pa.table({"name": ["a", "b"], "department.code": [str(uuid.UUID(int=2002)), None]})
    ctx.insert_arrow("Employee", ids)
    assert values(ctx, "department.name") == [("Sales",), (None,)]
    ctx.rollback()
    # Several keys of one relationship must all match.
    ctx.insert("Department", name="Other", year=2001)
    ctx.save()
    pairs = pa.table({"name": ["a", "b"], "T": ["Labs", "Other"], "Y": pa.array([2001, 2001], pa.int64())})
    ctx.insert_arrow("Employee", pairs, columns={"T": "department.name", "Y": "department.year"})
    assert values(ctx, "department.name") == [("Labs",), ("Other",)]
    ctx.rollback()
    error = rejected(ctx, pa.table({"name": ["a"], "department.year": [2001]}), InvalidArgumentError)
    assert "several objects have year 2001" in str(error)
    missing = pa.table({"name": ["a", "b"], "department.name": ["Labs", "None"]})
    error = rejected(ctx, missing, InvalidArgumentError)
    assert 'row 2 of the Arrow stream: Employee.department: an object with name "None" does not exist' in str(error)
    assert (error.key, error.value) == ("department", "None")
    ctx.insert_arrow("Employee", missing, missing="null")
    assert values(ctx, "department.name") == [("Labs",), (None,)]
    ctx.rollback()
    labs = ctx.first("Department", "name == 'Labs'")
    both = pa.table({"name": ["a"], "department": [str(labs.id)], "department.name": ["Labs"]})
    assert "Employee.department is set both by" in str(rejected(ctx, both, InvalidArgumentError))
    wrong = pa.table({"name": ["a"], "department": [str(ctx.first("Skill").id)]})
    assert "is not the URI of an object of Department" in str(rejected(ctx, wrong, InvalidArgumentError))
    with pytest.raises(InvalidArgumentError, match="missing must be"):
        ctx.insert_arrow("Employee", missing, missing="none")  # type: ignore[arg-type]


def test_to_many_relationships_take_lists(ctx: Context) -> None:
    skills = pa.array([["Swift", "C"], [], None, ["Python"]])
    for data_type in (pa.list_(pa.string()), pa.large_list(pa.large_string())):
        table = pa.table({"name": list("abcd"), "skills.name": skills.cast(data_type)}).slice(0, 4)
        ctx.insert_arrow("Employee", table)
        found = [[skill.name for skill in each.skills] for each in ctx.fetch("Employee", sort="name")]
        assert found == [["Swift", "C"], [], [], ["Python"]]
        ctx.rollback()
    fixed = pa.array([["C", "Swift"], ["Python", "C"]], pa.list_(pa.string(), 2))
    ctx.insert_arrow("Employee", pa.table({"name": ["a", "b"], "skills.name": fixed}).slice(1))
    assert [skill.name for skill in ctx.first("Employee").skills] == ["Python", "C"]
    ctx.rollback()
    frame = polars.DataFrame({"name": ["a"], "skills.name": [["C", "Python"]]})
    ctx.insert_arrow("Employee", frame)
    ctx.save()
    holder = ctx.first("Employee")
    ctx.upsert_arrow("Employee", pa.table({"name": ["a"], "skills.name": [["Swift"]]}), "name")
    assert [skill.name for skill in holder.skills] == ["Swift"]
    bad = pa.table({"name": ["a"], "skills.name": [["C", None]]})
    ctx.rollback()
    assert "without nulls" in str(rejected(ctx, bad, TypeMismatchError))
    assert "Rust" in str(rejected(ctx, pa.table({"name": ["a"], "skills.name": [["Rust"]]}), InvalidArgumentError))


def test_rows_can_refer_to_later_rows(ctx: Context) -> None:
    table = pa.table({"name": ["a", "b", "c"], "boss.name": ["c", None, "b"], "reports.name": [None, ["c"], ["a"]]})
    ctx.insert_arrow("Employee", table)
    assert values(ctx, "boss.name") == [("c",), (None,), ("b",)]
    ctx.save()
    error = rejected(ctx, pa.table({"name": ["d"], "boss.name": ["x"]}), InvalidArgumentError)
    assert "row 1 of the Arrow stream" in str(error)
    # The key of an object that an earlier row renames is no longer found.
    renamed = pa.table({"email": ["1", "2"], "name": ["n1", "n2"], "boss.name": [None, "n1"]})
    ctx.insert_arrow("Employee", renamed)
    ctx.upsert_arrow(
        "Employee", pa.table({"email": ["1", "2"], "name": ["z1", "n2"], "boss.name": [None, "z1"]}), "email"
    )
    assert values(ctx, "boss.name")[-2:] == [("z1",), (None,)]
    with pytest.raises(InvalidArgumentError):
        ctx.upsert_arrow(
            "Employee", pa.table({"email": ["1", "2"], "name": ["y1", "n2"], "boss.name": [None, "z1"]}), "email"
        )


def test_upsert_matches_by_key_and_sets_only_columns(ctx: Context) -> None:
    ada = ctx.insert("Employee", name="Ada", email="a@x", level=3, small=1)
    eve = ctx.insert("Manager", name="Eve", email="e@x", small=1)
    ctx.save()
    bob = ctx.insert("Employee", name="Bob", email="b@x", small=1)  # unsaved
    frame = polars.DataFrame(
        {"email": ["a@x", "b@x", "e@x", "n@x", None, "n@x"], "small": [1, 2, 3, 4, 5, 6], "name": list("ABENXM")}
    )
    assert ctx.upsert_arrow("Employee", frame) == UpsertCounts(2, 4)
    assert (ada.name, ada.small, ada.level, eve.small, bob.name) == ("A", 1, 3, 3, "B")
    assert values(ctx, "name", "small") == [("A", 1), ("B", 2), ("E", 3), ("M", 6), ("X", 5)]
    ctx.save()
    # Equal values leave objects unchanged.
    assert ctx.upsert_arrow("Employee", frame.slice(0, 3), match=["email"]) == UpsertCounts(0, 3)
    assert not ctx.has_changes
    # Several keys.
    pairs = pa.table({"name": ["A", "A"], "small": pa.array([1, 2], pa.int32()), "level": [10, 11]})
    assert ctx.upsert_arrow("Employee", pairs, ["name", "small"]) == UpsertCounts(1, 1)
    assert ada.level == 10
    with pytest.raises(InvalidArgumentError, match="several Employee objects have name"):
        ctx.upsert_arrow("Employee", pairs, "name")
    assert ada.level == 10


def test_upsert_by_object_id_round_trips(ctx: Context) -> None:
    for name in ("a", "b"):
        ctx.insert("Employee", name=name, small=1)
    ctx.save()
    frame = polars.DataFrame(ctx.arrow("Employee", columns=["objectID", "name", "small"], sort="name"))
    frame = frame.with_columns(small=polars.col("small") * 2)
    assert ctx.upsert_arrow("Employee", frame, "objectID") == UpsertCounts(0, 2)
    assert values(ctx, "small") == [(2,), (2,)]
    new = pa.table({"objectID": pa.array([None], pa.string()), "name": ["c"]})
    assert ctx.upsert_arrow("Employee", new, "objectID") == UpsertCounts(1, 0)
    ctx.save()
    gone = ctx.first("Employee", "name == 'a'")
    uri = str(gone.id)
    ctx.delete(gone)
    ctx.save()
    for bad in (uri, "x", str(ctx.first("Skill").id)):
        with pytest.raises(InvalidArgumentError, match="is not the URI of an object of Employee") as caught:
            ctx.upsert_arrow("Employee", pa.table({"objectID": [bad], "name": ["d"]}), "objectID")
        assert caught.value.key == "objectID"


def test_rejected_rows_revert_everything(ctx: Context) -> None:
    labs, sales = ctx.fetch("Department", sort="name")
    skill = ctx.first("Skill", "name == 'C'")
    old = ctx.insert("Employee", name="old", email="o", small=1, department=labs, skills=[skill])
    ctx.save()
    changed = ctx.insert("Employee", name="pending", email="p", small=2)
    table = pa.table({
        "email": ["o", "p", "q", "r"], "name": ["1", "2", "3", "4"], "department.name": ["Sales", "Labs", "Labs", "No"],
        "skills.name": [["Swift"], ["C"], ["C"], []], "small": [10, 20, 30, 40],
    })  # fmt: skip
    with pytest.raises(InvalidArgumentError, match="row 4"):
        ctx.upsert_arrow("Employee", table, "email")
    assert (old.name, old.small, old.department, [each.name for each in old.skills]) == ("old", 1, labs, ["C"])
    assert not old.has_changes
    assert (changed.name, changed.small, changed.department, len(changed.skills)) == ("pending", 2, None, 0)
    assert ctx.count("Employee") == 2
    assert len(sales.staff) == 0
    assert len(labs.staff) == 1
    ctx.rollback()
    assert not ctx.has_changes
    with pytest.raises(InvalidArgumentError, match="row 4"):
        ctx.upsert_arrow("Employee", table, "email")
    assert not ctx.has_changes


LINKS: dict[str, dict[str, Any]] = {
    "A": {
        "@unique": ["name"], "name": "string", "n": "int32?", "partner": "to-one B? inverse owner",
        "group": "to-one G? inverse members", "ordered": "to-one O? inverse members",
    },
    "B": {"@unique": ["name"], "name": "string", "owner": "to-one A? inverse partner"},
    "G": {"@unique": ["name"], "name": "string", "members": "to-many A inverse group"},
    "O": {"@unique": ["name"], "name": "string", "members": "to-many ordered A inverse ordered"},
}  # fmt: skip


@pytest.fixture
def links(tmp_path: Path) -> Iterator[Context]:
    with Container(Model(LINKS), tmp_path / "links.sqlite", unsaved="discard") as links, links.context() as ctx:
        yield ctx


def fail(ctx: Context, entity: str, **columns: Any) -> None:
    """Imports rows of which the last one refers to a missing object."""
    table = pa.table({name.replace("_", "."): column for name, column in columns.items()})
    with pytest.raises(InvalidArgumentError, match="row 2"):
        ctx.upsert_arrow(entity, table, "name")
    assert not ctx.has_changes
    with pytest.raises(InvalidArgumentError, match="row 2"):
        ctx.insert_arrow(entity, table)
    assert not ctx.has_changes


def test_rejected_import_restores_objects_that_are_not_in_the_stream(links: Context) -> None:
    b = links.insert("B", name="b")
    members = [links.insert("A", name=f"a{number}") for number in range(4)]
    first, second = members[:2]
    first.partner = b
    group, other = links.insert("G", name="g", members=[first, second]), links.insert("G", name="other")
    ordered = links.insert("O", name="o", members=members)
    links.insert("O", name="p")
    links.save()
    fail(links, "A", name=["a1", "x"], partner_name=["b", "missing"])
    assert (first.partner, b.owner, second.partner) == (b, first, None)
    fail(links, "G", name=["other", "x"], members_name=[["a0"], ["missing"]])
    assert (first.group, set(group.members), len(other.members)) == (group, {first, second}, 0)
    fail(links, "A", name=["a1", "a0"], ordered_name=["p", "missing"])
    assert list(ordered.members) == members
    assert not links.undo_manager
    first.n = 5
    with pytest.raises(InvalidArgumentError, match="row 2"):
        links.upsert_arrow("G", pa.table({"name": ["other", "x"], "members.name": [["a0"], ["no"]]}), "name")
    assert (first.group, first.n, group.has_changes, links.has_changes) == (group, 5, False, True)
    links.save()
    assert [(each.name, each.group.name) for each in links.fetch("A", "group != nil", sort="name")] == [
        ("a0", "g"), ("a1", "g"),
    ]  # fmt: skip


def test_cancelled_import_restores_objects_that_are_not_in_the_stream(links: Context) -> None:
    member = links.insert("A", name="a")
    group = links.insert("G", name="g", members=[member])
    links.save()
    table = pa.table({"name": [f"n{number}" for number in range(9000)], "members.name": [["a"]] + [[]] * 8999})

    def cancel(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        links.insert_arrow("G", table, progress=cancel)
    assert (member.group, links.count("G"), links.has_changes) == (group, 1, False)


def test_rejected_import_removes_objects_without_deletion_hooks(tmp_path: Path) -> None:
    calls: list[str] = []
    model = Model({
        "A": {"name": "string", "kids": "to-many K inverse a delete cascade", "g": "to-one G? inverse all"},
        "K": {"a": "to-one A? inverse kids"}, "G": {"name": "string", "all": "to-many A inverse g"},
    })  # fmt: skip

    class A(ManagedObject, entity="A"):
        def awake_from_insert(self) -> None:
            assert self.context is not None
            self.context.insert("K", a=self)

        def prepare_for_deletion(self) -> None:
            calls.append("deletion")

    model.bind(A)
    with Container(model, tmp_path / "hooks.sqlite", unsaved="discard") as container, container.context() as ctx:
        with pytest.raises(InvalidArgumentError, match="row 2"):
            ctx.insert_arrow("A", pa.table({"name": ["a", "b"], "g.name": [None, "missing"]}))
        assert (calls, ctx.count("A"), ctx.count("K"), ctx.has_changes) == ([], 0, 0, False)


def test_upsert_finds_objects_that_are_registered_with_older_values(container: Container) -> None:
    with container.context() as ctx, container.context() as other:
        department, employee = ctx.insert("Department", name="d"), ctx.insert("Employee", name="e", email="old")
        ctx.save()
        other.first("Employee").email = "new"
        other.first("Department").name = "renamed"
        other.save()
        assert (employee.email, department.name) == ("old", "d")
        table = pa.table({"email": ["new"], "name": ["changed"], "department.name": ["renamed"]})
        assert ctx.upsert_arrow("Employee", table) == UpsertCounts(0, 1)
        assert (employee.name, employee.department) == ("changed", department)
        ctx.save()
        assert other.count("Employee") == 1


def test_objects_with_equal_keys_are_ambiguous(ctx: Context) -> None:
    count = 20_000
    table = pa.table({"name": ["x"] * count, "level": [1] * count, "boss.level": pa.array([None] * count, pa.int16())})
    assert ctx.insert_arrow("Employee", table) == count
    with pytest.raises(InvalidArgumentError, match="several objects have level 1"):
        ctx.insert_arrow("Employee", pa.table({"name": ["y"], "boss.level": [1]}))
    ctx.rollback()


def test_arrays_are_imported_as_one_batch(ctx: Context) -> None:
    array = pa.array([{"name": "a", "small": 1}, {"name": "b", "small": None}])
    assert not hasattr(array, "__arrow_c_stream__")
    assert ctx.insert_arrow("Employee", array) == 2
    assert values(ctx, "name", "small") == [("a", 1), ("b", None)]
    assert ctx.upsert_arrow("Employee", array, "name") == UpsertCounts(0, 2)
    ctx.rollback()
    assert ctx.batch_insert_arrow("Employee", array.slice(1)) == 1
    assert values(ctx, "name") == [("b",)]
    with pytest.raises(TypeMismatchError, match="has int64 instead of record batches"):
        ctx.insert_arrow("Employee", pa.array([1]))
    with pytest.raises(InvalidArgumentError, match="row 2 of the Arrow stream: the row is null"):
        ctx.insert_arrow("Employee", pa.array([{"name": "a"}, None]))


class Rows:
    """A wrapper of a reader of pyarrow that has only the methods of the protocol. Its streams read the same reader."""

    def __init__(self, table: Any) -> None:
        self.reader = table.to_reader()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.reader.__arrow_c_stream__(requested_schema)


class Cursor(Rows):
    """A reader of batches without `__next__`, like those of nanoarrow."""

    def read_next(self) -> Any:
        return self.reader.read_next_batch()


class Slotted:
    """A reader that cannot be referenced weakly."""

    __slots__ = ("reader",)

    def __init__(self, table: Any) -> None:
        self.reader = table.to_reader()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.reader.__arrow_c_stream__(requested_schema)

    def __next__(self) -> Any:
        return self.reader.read_next_batch()


def readers() -> dict[str, Callable[[], Any]]:
    table = pa.table({"name": ["a", "b"]})
    return {
        "pyarrow": table.to_reader,
        "polars": lambda: polars.DataFrame(table).lazy().collect_batches(),
        "DuckDB": lambda: duckdb.connect().sql("SELECT 'a' AS name UNION ALL SELECT 'b'").to_arrow_reader(),
        "read_next": lambda: Cursor(table),
    }


@pytest.mark.parametrize("kind", readers())
def test_reader_is_imported_only_once(ctx: Context, kind: str) -> None:
    importers: tuple[Callable[..., Any], ...] = (
        ctx.insert_arrow,
        partial(ctx.upsert_arrow, match="name"),
        ctx.batch_insert_arrow,
        partial(ctx.batch_upsert_arrow, match="email"),
        lambda entity, data: ctx.execute(BatchInsertRequest(entity, arrow=data)),
    )
    for number, first in enumerate(importers):
        reader = readers()[kind]()
        if number != 3:  # which needs the column of the key, and so fails
            first("Employee", reader)
        else:
            with pytest.raises(InvalidArgumentError, match="do not contain the key"):
                first("Employee", reader)
        written = ctx.count("Employee")
        for second in importers:
            with pytest.raises(InvalidArgumentError, match="an import has already read this Arrow reader") as caught:
                second("Employee", reader)
            assert caught.value.key in ("data", "arrow")
        assert ctx.count("Employee") == written
    assert ctx.count("Employee") == 6  # the upsert changed the objects of the insertion


def test_reader_of_a_failed_import_is_not_read_again(ctx: Context) -> None:
    batches = pa.table({"name": ["a", "b", None, "d"]}).to_batches(max_chunksize=1)
    reader = pa.RecordBatchReader.from_batches(batches[0].schema, batches)
    with pytest.raises(ValidationError, match="row 3"):
        ctx.batch_insert_arrow("Employee", reader)
    with pytest.raises(InvalidArgumentError, match="an import has already read this Arrow reader"):
        ctx.batch_insert_arrow("Employee", reader)  # would write only the last row
    assert ctx.count("Employee") == 0


def test_reader_is_available_after_an_error_in_the_arguments(ctx: Context) -> None:
    reader = pa.table({"name": ["a"]}).to_reader()
    calls: tuple[Callable[[], Any], ...] = (
        lambda: ctx.insert_arrow("Employe", reader),
        lambda: ctx.insert_arrow("Employee", reader, columns=["name"]),  # type: ignore[arg-type]
        lambda: ctx.batch_insert_arrow("Employee", reader, progress=3),  # type: ignore[arg-type]
    )
    for call in calls:
        with pytest.raises(CorestoneError):
            call()
    assert ctx.insert_arrow("Employee", reader) == 1


def test_partly_read_reader_is_imported_from_its_next_batch(ctx: Context) -> None:
    batches = pa.table({"name": ["a", "b", "c"]}).to_batches(max_chunksize=1)
    reader = pa.RecordBatchReader.from_batches(batches[0].schema, batches)
    assert reader.read_next_batch().num_rows == 1
    assert ctx.insert_arrow("Employee", reader) == 2


def test_readers_are_not_kept_alive(ctx: Context) -> None:
    for _ in range(3):  # a reader may have the address of a former one
        reader = pa.table({"name": ["a"]}).to_reader()
        watched = weakref.ref(reader)
        assert ctx.insert_arrow("Employee", reader) == 1
        assert arrow_import._read_once[id(reader)]() is reader
        del reader
        gc.collect()
        assert watched() is None
    assert not arrow_import._read_once


def test_producers_that_cannot_be_recognised_as_readers(ctx: Context) -> None:
    table = pa.table({"name": ["a", "b"]})
    for data in (Rows(table), Slotted(table)):
        assert ctx.insert_arrow("Employee", data) == 2
        # docs/reference/arrow.md: the stream of an exhausted reader is that of an empty one.
        assert ctx.insert_arrow("Employee", data) == 0

    class Released:
        capsule = table.__arrow_c_stream__()

        def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
            return self.capsule

    assert ctx.insert_arrow("Employee", Released()) == 2
    with pytest.raises(InvalidArgumentError, match="was released or moved"):
        ctx.insert_arrow("Employee", Released())


def test_data_that_is_not_a_reader_can_be_imported_again(ctx: Context) -> None:
    table = pa.table({"name": ["a", "b"]})
    relation = duckdb.sql("SELECT 'a' AS name UNION ALL SELECT 'b'")
    exported = ctx.arrow("Department", "name == 'Labs'", columns=["name"])
    for data in (table, table.to_batches()[0], polars.DataFrame(table), table.to_pandas(), relation):
        assert [ctx.insert_arrow("Employee", data) for _ in range(2)] == [2, 2], type(data)
    assert [ctx.insert_arrow("Employee", exported) for _ in range(2)] == [1, 1]
    # The columns of a DataFrame and of a relation are their attributes.
    columns = {"read_next": "name"}
    for data in (pandas.DataFrame({"read_next": ["a"]}), duckdb.sql("SELECT 'a' AS read_next")):
        assert hasattr(data, "read_next")
        assert [ctx.insert_arrow("Employee", data, columns=columns) for _ in range(2)] == [1, 1]


def test_batch_request_reads_a_reader_only_once(ctx: Context) -> None:
    table = pa.table({"name": ["a"]})
    for data, executions in ((table, 2), (table.to_reader(), 1), (table.__arrow_c_stream__(), 1)):
        request = BatchInsertRequest("Employee", arrow=data, result_type="count")
        for _ in range(executions):
            assert ctx.execute(request) == 1
        if executions == 1:
            with pytest.raises(InvalidArgumentError, match=r"of the BatchInsertRequest for Employee was already read"):
                ctx.execute(request)


@pytest.mark.parametrize("option", [{"match": "name"}, {"progress": 3}, {"ignore_unknown": "x"}, {"naive_utc": True}])
def test_batch_request_refuses_arrow_options_without_arrow_data(option: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgumentError, match="applies only to Arrow data; omit it, or pass arrow") as caught:
        BatchInsertRequest("Employee", [{"name": "a"}], **option)
    assert (caught.value.entity, caught.value.key) == ("Employee", next(iter(option)))


def test_many_rows_are_looked_up_in_batches(ctx: Context) -> None:
    count = 5000
    names = [f"d{number}" for number in range(100)]
    ctx.insert_arrow("Department", pa.table({"name": names}))
    ctx.save()
    table = pa.table({
        "name": [f"n{number:05}" for number in range(count)], "email": [f"{number}@x" for number in range(count)],
        "department.name": [names[number % 100] for number in range(count)],
        "boss.name": [None if number % 10 else f"n{(number + 7) % count:05}" for number in range(count)],
    })  # fmt: skip
    before = ctx.coordinator.statistics.fetches
    assert ctx.insert_arrow("Employee", table) == count
    assert ctx.coordinator.statistics.fetches - before <= 20
    ctx.save()
    assert ctx.count("Employee", "department.name == 'd7'") == count // 100
    assert ctx.count("Employee", "boss != nil") == count // 10
    again = ctx.child()
    assert again.upsert_arrow("Employee", table.append_column("small", pa.array([3] * count))) == (0, count)
    again.save()
    assert ctx.count("Employee", "small == 3") == count
    again.close()


def test_batch_insert_writes_directly(ctx: Context) -> None:
    table = pa.table({
        "name": ["a", "b", None], "small": [1, None, 3], "address": [{"city": "Kiel", "number": 1}, None, None],
        "made": [datetime(2020, 1, 1, tzinfo=UTC)] * 3, "badge": pa.array([uuid.UUID(int=1).bytes] * 3, pa.binary(16)),
    })  # fmt: skip
    with pytest.raises(ValidationError, match=r"row 3 of the batch: Employee\.name is required"):
        ctx.batch_insert_arrow("Employee", table)
    assert ctx.count("Employee") == 0
    assert ctx.batch_insert_arrow("Employee", table.slice(0, 2)) == 2
    assert not ctx.has_changes
    assert values(ctx, "name", "small", "level", "address.city", "badge") == [
        ("a", 1, 7, "Kiel", uuid.UUID(int=1)), ("b", None, 7, None, uuid.UUID(int=1)),
    ]  # fmt: skip
    with pytest.raises(InvalidArgumentError, match="a batch request sets only attributes"):
        ctx.batch_insert_arrow("Employee", pa.table({"name": ["c"], "department.name": ["Labs"]}))
    with pytest.raises(ValidationError, match=r'row 2 of the batch: .*"Years".*Employee.small|row 2 of the batch'):
        ctx.batch_insert_arrow("Employee", pa.table({"name": ["c", "d"], "small": [1, 70000]}))
    request = BatchInsertRequest(
        "Employee", arrow=polars.DataFrame({"N": ["x"]}), columns={"N": "name"}, result_type="ids"
    )
    assert len(ctx.execute(request)) == 1
    assert len(ctx.execute(request)) == 1  # a new stream each time
    with pytest.raises(InvalidArgumentError, match="has 2 sources"):
        BatchInsertRequest("Employee", [], arrow=table)
    reader = table.slice(0, 1).to_reader()
    request = BatchInsertRequest("Employee", arrow=reader)
    assert ctx.execute(request) is True
    duck = duckdb.sql("SELECT 'd' || i AS name, i AS large, uuid() AS badge, i / 2 AS exact FROM range(3000) t(i)")
    assert ctx.batch_insert_arrow("Employee", duck) == 3000
    assert ctx.batch_insert_arrow("Employee", pandas.DataFrame({"name": ["p"], "real": [1.5]})) == 1
    assert ctx.count("Employee", "name BEGINSWITH 'd' AND badge != nil AND exact * 2 == large") == 3000


@pytest.mark.parametrize("kind", ["SQLite", "XML", "InMemory"])
def test_batch_upsert_updates_by_unique_constraint(tmp_path: Path, kind: str) -> None:
    model = Model({
        "Item": {
            "@unique": [["code"], ["tag"]], "code": "string", "tag": "string?", "number": "int32?", "note": "string?",
        },
        "Part": {"@parent": "Item"},
    })  # fmt: skip
    with Container(model, tmp_path / f"items.{kind}", type=kind) as container, container.context() as ctx:
        ctx.insert("Item", code="a", tag="t1", number=1, note="kept")
        ctx.insert("Part", code="p", tag="t9", number=1)
        ctx.save()
        table = pa.table({"code": ["a", "b", "a"], "number": [5, 6, 7]})
        assert ctx.batch_upsert_arrow("Item", table) == 2
        found = [(each.code, each.number, each.note, each.tag) for each in ctx.fetch("Item", sort="code")]
        assert found == [("a", 7, "kept", "t1"), ("b", 6, None, None), ("p", 1, None, "t9")]
        assert ctx.batch_upsert_arrow("Item", table.slice(0, 1), match="code") == 1
        # Another constraint is a conflict, and no other row is deleted.
        with pytest.raises(ConflictError):
            ctx.batch_upsert_arrow("Item", pa.table({"code": ["b"], "tag": ["t1"]}), match="code")
        with pytest.raises(ConflictError, match="is of the entity Part, not Item"):
            ctx.batch_upsert_arrow("Item", pa.table({"code": ["p"], "number": [2]}))
        with pytest.raises(InvalidArgumentError, match="does not have a unique constraint on number"):
            ctx.batch_upsert_arrow("Item", table, match="number")
        with pytest.raises(InvalidArgumentError, match="do not contain a unique constraint of Item"):
            ctx.batch_upsert_arrow("Item", table.select(["number"]))
        assert ctx.count("Item") == 3


def test_failing_producers_are_reported(ctx: Context) -> None:
    schema = pa.schema({"name": pa.string()})

    def batches() -> Iterator[Any]:
        yield pa.record_batch({"name": ["a", "b"]}, schema)
        raise ValueError("the file ends early")

    for importer in (ctx.insert_arrow, ctx.batch_insert_arrow):
        with pytest.raises(CallbackError, match=r"did not return the next record batch: .*the file ends early"):
            importer("Employee", pa.RecordBatchReader.from_batches(schema, batches()))
    assert not ctx.has_changes
    assert ctx.count("Employee") == 0


def test_producers_can_read_the_same_context(ctx: Context) -> None:
    schema = pa.schema({"name": pa.string()})

    def batches() -> Iterator[Any]:
        for each in ctx.fetch("Department", sort="name"):
            yield pa.record_batch({"name": [each.name]}, schema)
        with pytest.raises(InvalidArgumentError, match="a callback of an Arrow import must not save the context"):
            ctx.save()
        with pytest.raises(InvalidArgumentError, match="import an Arrow stream into Employee"):
            ctx.insert_arrow("Employee", pa.table({"name": ["x"]}))

    assert ctx.insert_arrow("Employee", pa.RecordBatchReader.from_batches(schema, batches())) == 2
    # The export of a store that the same call writes.
    assert ctx.batch_insert_arrow("Employee", ctx.arrow("Department", columns=["name"])) == 2
    assert ctx.batch_insert_arrow("Employee", ctx.arrow("Employee", columns=["name"])) == 4


def test_progress_reports_and_cancels(ctx: Context) -> None:
    table = pa.table({"name": [str(number) for number in range(20_000)]})
    for importer in (ctx.insert_arrow, ctx.batch_insert_arrow):
        calls: list[tuple[int, int]] = []

        def note(done: int, total: int, calls: list[tuple[int, int]] = calls) -> None:
            calls.append((done, total))

        importer("Employee", table, progress=note)
        assert calls == [(8192, 0), (16384, 0), (20_000, 20_000)]
        ctx.rollback()
    count = ctx.count("Employee")

    def stop(done: int, total: int) -> None:
        raise KeyError(done)

    for importer in (ctx.insert_arrow, ctx.batch_insert_arrow):
        with pytest.raises(KeyError, match="8192"):
            importer("Employee", table, progress=stop)
        with pytest.raises(TypeMismatchError, match="progress"):
            importer("Employee", table, progress=3)  # type: ignore[arg-type]
    assert ctx.count("Employee") == count
    assert not ctx.has_changes
    assert issubclass(CancelledError, CorestoneError)


def test_other_data_is_rejected(ctx: Context) -> None:
    for data in ([{"name": "a"}], 3, None, "x", pa.table, pa.StructArray):
        with pytest.raises(TypeMismatchError, match="__arrow_c_stream__"):
            ctx.insert_arrow("Employee", data)
    with pytest.raises(TypeMismatchError, match="has int64 instead of record batches"):
        ctx.insert_arrow("Employee", pa.chunked_array([[1]]))
    capsule = pa.table({"name": ["a"]}).__arrow_c_stream__()
    assert ctx.insert_arrow("Employee", capsule) == 1
    with pytest.raises(InvalidArgumentError, match="was released or moved"):
        ctx.insert_arrow("Employee", capsule)
    with pytest.raises(InvalidArgumentError, match="the Arrow import of Employee does not set a property"):
        ctx.insert_arrow("Employee", pa.table({"x": [1]}), columns={"x": None})
    with pytest.raises(InvalidArgumentError, match='has no column "nane"; did you mean "name"'):
        ctx.insert_arrow("Employee", pa.table({"name": ["a"]}), columns={"nane": "name"})
    with pytest.raises(InvalidArgumentError, match=r"both set Employee\.name"):
        ctx.insert_arrow("Employee", pa.table([["a"], ["b"]], names=["name", "name"]))
    with pytest.raises(TypeMismatchError, match="columns must be a dictionary"):
        ctx.insert_arrow("Employee", capsule, columns=["name"])  # type: ignore[arg-type]
    assert ctx.insert_arrow("Employee", pa.table({"name": pa.array([], pa.string())})) == 0
    del capsule
    gc.collect()


def test_unsaved_objects_of_a_parent_context_are_found(ctx: Context) -> None:
    ctx.insert("Department", name="Unsaved")
    ctx.insert("Employee", name="old", email="o")
    with ctx.child() as child:
        table = pa.table({"name": ["a", "new"], "email": ["x", "o"], "department.name": ["Unsaved", "Labs"]})
        assert child.upsert_arrow("Employee", table) == UpsertCounts(1, 1)
        child.save()
    assert values(ctx, "name", "department.name") == [("a", "Unsaved"), ("new", "Labs")]
