"""Every type of value, through a saved store and back."""

from __future__ import annotations

import enum
import math
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from operator import eq, ge, gt, le, lt, ne
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from corestone import (
    CallbackError,
    Container,
    Context,
    CorestoneError,
    InvalidArgumentError,
    InvalidUTF8Error,
    Model,
    Predicate,
    TypeMismatchError,
    ValidationError,
)
from corestone._abi import values
from corestone._abi.values import date_from_seconds, date_to_seconds, decimal_from_parts, decimal_parts
from corestone.graph import bulk

UTC = timezone.utc

CASES: list[tuple[str, Any]] = [
    ("notes", ""),
    ("notes", "plain"),
    ("notes", "Zoë 漢字 👩‍🚀"),
    ("notes", "NUL\0inside"),
    ("notes", "x" * 100_000),
    ("notes", None),
    ("age", 0),
    ("level", -32768),
    ("level", 32767),
    ("floor", -(2**31)),
    ("floor", 2**31 - 1),
    ("number", -(2**63)),
    ("number", 2**63 - 1),
    ("salary", Decimal("0")),
    ("salary", Decimal("-0.01")),
    ("salary", Decimal("1234567890123.25")),
    ("salary", Decimal(10) ** 30),
    ("salary", None),
    ("rating", 0.1),
    ("rating", -1e308),
    ("rating", 5e-324),
    ("factor", 0.5),
    ("active", True),
    ("active", False),
    ("hired", datetime(2001, 1, 1, tzinfo=UTC)),
    ("hired", datetime(1815, 12, 10, 8, 30, 15, 123456, tzinfo=UTC)),
    ("hired", datetime(2024, 2, 29, 23, 59, 59, 999999, tzinfo=UTC)),
    ("hired", datetime(2024, 6, 1, 12, 0, tzinfo=timezone(timedelta(hours=5, minutes=30)))),
    ("photo", b""),
    ("photo", b"\x00\xff" * 5000),
    ("photo", None),
    ("badge", UUID("00112233-4455-6677-8899-aabbccddeeff")),
    ("site", "https://example.org/a?b=c#d"),
]


def shown(case: Any) -> str:
    return f"{case!r:.30}"


@pytest.mark.parametrize(("name", "value"), CASES, ids=shown)
def test_values_of_every_type_round_trip(model: Model, path: Path, name: str, value: Any) -> None:
    with Container(model, path, sync="normal") as container:
        ctx = container.context()
        person = ctx.insert("Employee", name="Ada")
        setattr(person, name, value)
        for _ in range(2):
            got = getattr(person, name)
            assert got == value
            assert type(got) is type(value)
            ctx.save()
        uri = person.id.uri
    with Container(model, path) as container:
        again = container.context().existing(uri)
        got = getattr(again, name)
        assert got == value
        assert type(got) is type(value)
        assert again.get(name) == (value,)
        assert container.context().fetch("Employee").column(name) == [value]
        if isinstance(value, datetime):
            assert got.tzinfo is UTC


@pytest.mark.parametrize("text", ["12345678901234567890.123456789012345678", "9" * 38, "1E-100", "-7E+90"])
def test_large_decimals_are_exact_in_memory(ctx: Context, text: str) -> None:
    """An SQLite store keeps them as Core Data does, in a double."""
    person = ctx.insert("Employee", name="Ada", salary=Decimal(text))
    assert person.salary == Decimal(text)
    ctx.save()
    ctx.refresh(person, merge=False)
    assert float(person.salary) == float(text)


#: Texts in their order, by the bytes of their UTF-8: also behind a byte that is 0, which ends strings of C.
ORDERED = [
    "",
    "\0",
    "\0\0",
    "\0\0b",
    "\0a",
    "\0b",
    "a",
    "a\0",
    "a\0\x7f",
    "a\0b\0a",
    "a\0b\0b",
    "a\0c",
    "a\0\u0080",
    "a\0\U0001f469",
    "ab",
]


@pytest.mark.parametrize("kind", ["string", "binary"])
def test_zero_byte_does_not_end_a_comparison(tmp_path: Path, kind: str) -> None:
    values: list[Any] = [text.encode() if kind == "binary" else text for text in sorted(ORDERED, key=str.encode)]
    places = range(len(values))
    comparisons = {"==": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}
    for operator, holds in comparisons.items():
        predicate = Predicate(f"value {operator} $other")
        for first in places:
            for second in places:
                found = predicate.evaluate({"value": values[first]}, {"other": values[second]})
                assert found is holds(first, second), (values[first], operator, values[second])
    among = Predicate("value IN $others")
    for place in places:
        others = values[:place] + values[place + 1 :]
        assert among.evaluate({"value": values[place]}, {"others": values})
        assert not among.evaluate({"value": values[place]}, {"others": others})
    with Container(Model({"Row": {"value": f"{kind}?", "place": "int16 = 0"}}), tmp_path / "a.sqlite") as container:
        ctx = container.context()
        rows = [ctx.insert("Row", value=value, place=place) for place, value in reversed(list(enumerate(values)))]
        for _ in range(2):
            assert [row.value for row in ctx.fetch("Row", sort="value")] == values
            for place, value in enumerate(values):
                assert [row.place for row in ctx.fetch("Row", "value == %@", value)] == [place]
            ctx.save()
        for row in rows:
            row.value = values[row.place - 1]
            assert set(row.changed_values()) == {"value"}
        ctx.save()
        fresh = container.context()
        assert [row.value for row in fresh.fetch("Row", sort="place")] == values[-1:] + values[:-1]


def test_decimals_split_into_parts_and_back() -> None:
    for text in ("0", "1", "-1", "0.1", "1E+20", "1E-30", "123456789.987654321", "9" * 38, "1E+127", "-5E-128"):
        value = Decimal(text)
        mantissa, aux = decimal_parts(value)
        assert decimal_from_parts(mantissa & (2**64 - 1), mantissa >> 64, aux) == value
    assert decimal_parts(Decimal("1" + "0" * 40)) == (10**37, 3)
    for text in ("1" * 39, "1E+200", "1E-200", "NaN", "Infinity"):
        with pytest.raises(InvalidArgumentError):
            decimal_parts(Decimal(text))


def test_dates_convert_to_seconds_and_back() -> None:
    assert date_to_seconds(datetime(2001, 1, 1, tzinfo=UTC)) == 0
    assert date_from_seconds(-0.5) == datetime(2000, 12, 31, 23, 59, 59, 500000, tzinfo=UTC)
    for seconds in (1e12, -1e12, math.inf, math.nan):
        with pytest.raises(InvalidArgumentError, match="1 to 9999"):
            date_from_seconds(seconds)


@pytest.mark.parametrize("type", ["SQLite", "XML", "Binary", "InMemory"])
def test_datetime_limits_round_trip(tmp_path: Path, type: str) -> None:
    most, least = datetime.max.replace(tzinfo=UTC), datetime.min.replace(tzinfo=UTC)
    dates = [most, least, datetime.max.replace(microsecond=0, tzinfo=UTC), datetime(1, 1, 1, 0, 0, 0, 999999, UTC)]
    # 64 bits have no single microseconds so far from 2001.
    wanted = [date_from_seconds(date_to_seconds(each)) for each in dates]
    assert wanted[:3] == dates[:3]
    assert abs(wanted[3] - dates[3]) < timedelta(microseconds=4)
    model = Model({"Lease": {"ends": "date?", "n": "int16"}})
    with Container(model, tmp_path / "leases", type=type) as container:
        ctx = container.context()
        ctx.insert_many("Lease", [{"ends": each, "n": n} for n, each in enumerate(dates)])
        ctx.save()
        fresh = container.context()
        leases = fresh.fetch("Lease", sort="n")
        assert [each.ends for each in leases] == wanted
        assert [each["ends"] for each in leases] == wanted
        assert leases.column("ends") == wanted
        assert leases.rows("ends") == [(each,) for each in wanted]
        assert [each.ends for each in fresh.stream("Lease", sort="n")] == wanted
        assert [row["ends"] for row in fresh.fetch_rows("Lease", columns="ends", sort="n")] == wanted
        assert [each["ends"] for each in container.read("Lease", sort="n")] == wanted
        assert fresh.fetch("Lease", "ends == %@", most).column("n") == [0]
        assert fresh.fetch("Lease", "ends < %@", most).column("n") == [1, 2, 3]
        assert fresh.fetch("Lease", "ends == %@", least).column("n") == [1]
        # Values that were read are written back unchanged.
        record = container.read("Lease", "n == 0")[0]
        assert container.update("Lease", record["@id"], record)[0]["ends"] == most
        assert container.insert("Lease", {"ends": most, "n": 9})["ends"] == most
    assert date_from_seconds(math.nextafter(date_to_seconds(least), -math.inf)) == least
    for seconds in (math.nextafter(date_to_seconds(most), math.inf), date_to_seconds(least) - 0.001):
        with pytest.raises(InvalidArgumentError, match="1 to 9999"):
            date_from_seconds(seconds)


@pytest.mark.parametrize("limit", [datetime.max, datetime.min])
def test_dates_outside_datetime_in_utc_are_rejected(ctx: Context, limit: datetime) -> None:
    """They could be saved, and never be read."""
    value = limit.replace(tzinfo=timezone(timedelta(hours=-5 if limit == datetime.max else 5)))
    person = ctx.insert("Employee", name="Ada")
    with pytest.raises(InvalidArgumentError, match=r"Employee\.hired: .*1 to 9999 in UTC"):
        person.hired = value
    with pytest.raises(InvalidArgumentError, match=r"1 to 9999 in UTC"):
        ctx.insert_many("Employee", [{"name": "Bob", "hired": value}])
    with pytest.raises(InvalidArgumentError, match=r"1 to 9999 in UTC"):
        ctx.container.insert("Employee", {"name": "Bob", "hired": value})
    assert person.hired is None
    person.hired = limit.replace(tzinfo=UTC)


def test_naive_dates_are_rejected(ctx: Context) -> None:
    person = ctx.insert("Employee", name="Ada")
    with pytest.raises(
        InvalidArgumentError, match=r"Employee\.hired: .*does not have a time zone.*timezone\.utc"
    ) as caught:
        person.hired = datetime(2020, 1, 1)
    error = caught.value
    assert (error.entity, error.key, error.value) == ("Employee", "hired", datetime(2020, 1, 1))
    with pytest.raises(
        TypeMismatchError, match=r"Employee\.hired: .*is a date without a time.*datetime\.combine.*timezone\.utc"
    ):
        person.hired = date(2020, 1, 1)
    assert person.hired is None


def test_integers_beyond_64_bits_are_rejected(ctx: Context) -> None:
    person = ctx.insert("Employee", name="Ada", number=1)
    for value in (2**63, -(2**63) - 1, 10**100):
        with pytest.raises(InvalidArgumentError, match=r"Employee\.number: .* 64-bit integer") as caught:
            person.number = value
        assert caught.value.value == value
    assert person.number == 1


@pytest.mark.parametrize(("name", "value"), [("level", 32768), ("level", -32769), ("floor", 2**31)])
def test_integers_out_of_the_attribute_range_are_rejected(ctx: Context, name: str, value: int) -> None:
    person = ctx.insert("Employee", name="Ada")

    def change() -> None:
        setattr(person, name, value)
        ctx.save()

    with pytest.raises(CorestoneError) as caught:
        change()
    errors = [caught.value, *caught.value.details]
    assert any(error.key == name and error.entity == "Employee" for error in errors)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("name", 7),
        ("name", b"bytes"),
        ("age", "seven"),
        ("age", 1.5),
        ("salary", "1.5"),
        ("active", "yes"),
        ("hired", 0.0),
        ("photo", "text"),
        ("badge", "00112233-4455-6677-8899-aabbccddeeff"),
        ("department", "R&D"),
        ("department", 7),
    ],
)
def test_values_of_wrong_types_are_rejected(ctx: Context, name: str, value: Any) -> None:
    person = ctx.insert("Employee", name="Ada")
    before = getattr(person, name)
    with pytest.raises(TypeMismatchError) as caught:
        setattr(person, name, value)
    assert (caught.value.entity, caught.value.key) == ("Employee", name)
    assert getattr(person, name) == before


def test_unsupported_values_are_rejected(ctx: Context) -> None:
    person = ctx.insert("Employee", name="Ada")
    with pytest.raises(TypeMismatchError, match=r"Person\.name: cannot convert a value of type object"):
        person.name = object()
    with pytest.raises(InvalidUTF8Error, match=r"Person\.name: .*surrogate"):
        person.name = "half \ud800"
    assert person.name == "Ada"


def test_compatible_types_are_converted(ctx: Context) -> None:
    class Colour(enum.IntEnum):
        RED = 3

    class Word(str):
        __slots__ = ()

    class Number:
        def __index__(self) -> int:
            return 12

    class Real:
        def __float__(self) -> float:
            return 1.25

    person = ctx.insert("Employee", name=Word("Ada"), age=Colour.RED, floor=Number(), rating=Real())
    assert (person.name, person.age, person.floor, person.rating) == ("Ada", 3, 12, 1.25)
    person.photo = bytearray(b"ab")
    assert person.photo == b"ab"
    person.photo = memoryview(b"xabx")[1:3]
    assert person.photo == b"ab"
    person.salary = 7
    assert person.salary == Decimal(7)
    person.salary = 0.1
    assert person.salary == Decimal("0.1")
    person.rating = 3
    assert (person.rating, type(person.rating)) == (3.0, float)


def test_nan_is_rejected_by_the_save(ctx: Context) -> None:
    ctx.insert("Employee", name="Ada", rating=math.nan)
    with pytest.raises(ValidationError) as caught:
        ctx.save()
    assert any(error.key == "rating" for error in [caught.value, *caught.value.details])


def test_inserted_object_has_the_defaults(ctx: Context) -> None:
    person = ctx.insert("Manager", name="Grace")
    assert (person.age, person.active, person.bonus, person.salary) == (None, None, 0.5, None)


ALL_KINDS: dict[str, dict[str, Any]] = {
    "Row": {
        "n": "int16", "text": "string?", "flag": "bool?", "small": "int16?", "whole": "int64?", "price": "decimal?",
        "single": "float?", "real": "double? nan", "made": "date?", "data": "binary?", "large": "binary? external",
        "key": "uuid?", "page": "uri?", "next": "to-one Row?",
        "where": {"latitude": "double?", "spot": {"name": "string?", "cost": "decimal?"}},
    },
}  # fmt: skip
FULL: dict[str, Any] = {
    "text": "Zoë", "flag": False, "small": -5, "whole": 2**63 - 1, "price": Decimal("-1.25"), "single": 0.5,
    "real": -2.5, "made": datetime(2024, 2, 29, 12, 0, 0, 250000, UTC), "data": b"\0\xff", "large": bytes(200_000),
    "key": UUID(int=7), "page": "https://a.b", "where": {"latitude": 1.5, "spot": {"name": "x", "cost": Decimal(2)}},
}  # fmt: skip
EMPTY: dict[str, Any] = dict.fromkeys(FULL)


@pytest.mark.parametrize("way", ["insert", "set", "insert_many", "tuples", "batch", "attributes", "items", "primitive"])
def test_every_setter_sets_every_type_of_value(tmp_path: Path, way: str) -> None:
    """A full row, a row of None and a full row again, so that a value of another row would be noticed."""
    rows: list[dict[str, Any]] = [{"n": n, **each} for n, each in enumerate((FULL, EMPTY, FULL))]
    with Container(Model(ALL_KINDS), tmp_path / "rows.store", unsaved="discard") as container:
        ctx = container.context()
        if way == "insert_many":
            assert ctx.insert_many("Row", rows) == 3
        elif way == "tuples":
            names = ["n", *FULL]
            objects = ctx.insert_objects("Row", [tuple(row[name] for name in names) for row in rows], names)
            assert [each.n for each in objects] == [0, 1, 2]
        elif way == "batch":
            assert ctx.batch_insert("Row", rows) == 3
        for row in rows if way in ("insert", "set", "attributes", "items", "primitive") else ():
            if way == "insert":
                ctx.insert("Row", **row)
                continue
            item = ctx.insert("Row", n=row["n"])
            if way == "set":
                item.set(**row)
            for name, value in row.items() if way != "set" else ():
                if way == "attributes":
                    setattr(item, name, value)
                elif way == "items":
                    item[name] = value
                else:
                    item.set_primitive(name, value)
        ctx.save()
        fresh = container.context()
        found = fresh.fetch("Row", sort="n")
        for item, row in zip(found, rows):
            for name, value in row.items():
                got = getattr(item, name)
                assert (got, type(got)) == (value, type(value)), name
                assert item[name] == value
            assert item.to_dict(*row) == row
            assert item.committed_values("n", "text") == {"n": row["n"], "text": row["text"]}
        assert found.to_dicts(*rows[0]) == rows
        assert len(found) == 3


def test_composite_elements_can_be_set_by_key_path(tmp_path: Path) -> None:
    with Container(Model(ALL_KINDS), tmp_path / "rows.store", unsaved="discard") as container:
        ctx = container.context()
        item = ctx.insert("Row", n=1)
        assert (item.where, item["where.spot.name"]) == (None, None)
        item["where.spot.name"] = "x"
        item["where.spot.cost"] = Decimal(3)
        assert item.where == {"spot": {"name": "x", "cost": Decimal(3)}}
        item.where = {"latitude": 2.0}
        assert item.where == {"latitude": 2.0}
        assert item["where.spot.name"] is None
        with pytest.raises(
            InvalidArgumentError, match=r'^Row\.where\.spot does not have an element "nam"; did you mean'
        ) as caught:
            item.where = {"spot": {"nam": "x"}}
        assert (caught.value.entity, caught.value.key) == ("Row", "where.spot.nam")
        with pytest.raises(TypeMismatchError, match=r"Row\.where\.spot is composite and takes a dictionary"):
            item.where = {"spot": "x"}
        with pytest.raises(TypeMismatchError, match=r"Row\.where\.latitude"):
            item.where = {"latitude": "north"}
        assert item.where == {"latitude": 2.0}


def test_integers_are_exact_in_decimal_attributes(tmp_path: Path) -> None:
    """An int becomes a Decimal with all digits."""
    large = 10**37 + 1
    model = Model({"Row": {"n": "int16 = 0", "price": "decimal?", "box": {"cost": "decimal?"}}})
    with Container(model, tmp_path / "rows.xml", type="XML", unsaved="discard") as container:
        ctx = container.context()
        items = [ctx.insert("Row", price=large, box={"cost": large}), ctx.insert("Row")]
        items[1].price = large
        items[1].box = {"cost": large}
        more: list[dict[str, Any]] = [{"price": large, "box": {"cost": large}}, {"price": 2, "box": None}]
        items += ctx.insert_objects("Row", more)
        assert [each.price for each in items] == [Decimal(large)] * 3 + [Decimal(2)]
        assert [each.box for each in items] == [{"cost": Decimal(large)}] * 3 + [None]
        assert {type(each.price) for each in items} == {Decimal}
        items[3].set_primitive("price", large)
        assert items[3].price == Decimal(large)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("9" * 38, (10**38 - 1, 0)),
        ("1" + "0" * 38, (10**37, 1)),
        ("-3", (3, 0x100)),
        ("0.25", (25, 254)),
        ("1E+127", (1, 127)),
        ("1E+128", (10, 127)),
        ("1E+164", (10**37, 127)),
        ("1E-128", (1, 128)),
        ("10E-129", (1, 128)),
        ("0E+500", (0, 127)),
        ("0E-500", (0, 128)),
        ("-0", (0, 0x100)),
    ],
)
def test_decimal_mantissa_and_exponent_round_trip(text: str, parts: tuple[int, int]) -> None:
    assert decimal_parts(Decimal(text)) == parts
    mantissa, aux = parts
    again = decimal_from_parts(mantissa & (2**64 - 1), mantissa >> 64, aux)
    assert again == Decimal(text)
    assert again.is_signed() == text.startswith("-")


@pytest.mark.parametrize("text", ["1" * 39, "1E+165", "12E+164", "1E-129", "15E-129"])
def test_decimals_beyond_38_digits_or_exponents_are_rejected(text: str) -> None:
    with pytest.raises(
        InvalidArgumentError, match="does not fit a decimal, which has up to 38 digits and exponents -128 to 127"
    ):
        decimal_parts(Decimal(text))


def test_row_errors_name_row_and_key(tmp_path: Path) -> None:
    with Container(Model(ALL_KINDS), tmp_path / "rows.store", unsaved="discard") as container:
        ctx = container.context()
        good: dict[str, Any] = {"n": 1, "text": "a", "made": FULL["made"], "whole": 1}
        for name, value, kind in (
            ("made", datetime(2020, 1, 1), InvalidArgumentError),
            ("whole", 2**63, InvalidArgumentError),
            ("text", "half \ud800", InvalidUTF8Error),
            ("text", object(), TypeMismatchError),
        ):
            with pytest.raises(kind, match=f"row 3: Row.{name}: ") as caught:
                ctx.insert_many("Row", [good, good, {**good, name: value}])
            assert (caught.value.entity, caught.value.key) == ("Row", name)
            assert caught.value.value is value
            with pytest.raises(
                CallbackError, match=f"^the handler of the batch insert of Row failed: row 3: Row.{name}: "
            ) as told:
                ctx.batch_insert("Row", [good, good, {**good, name: value}])
            assert isinstance(told.value.__cause__, kind)
        assert ctx.count("Row") == 0


def test_row_error_has_the_fields_of_its_cause(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    detail = CorestoneError("a detail")

    def fail(*_: Any) -> None:
        raise InvalidArgumentError("no value", object_uri="x-coredata:///Row/p1", file="rows", details=[detail])

    with Container(Model(ALL_KINDS), tmp_path / "rows.store", unsaved="discard") as container:
        ctx = container.context()
        monkeypatch.setattr(values, "encode", fail)
        monkeypatch.setattr(bulk, "accelerator", None)  # which encodes values itself
        rows: list[dict[str, Any]] = [{"n": 1}, {"n": 1.5}]
        with pytest.raises(InvalidArgumentError, match="row 1: no value") as caught:
            ctx.insert_many("Row", rows)
        monkeypatch.undo()
        error = caught.value
        assert error.message == "row 1: no value"
        assert (error.object_uri, error.file, error.details) == ("x-coredata:///Row/p1", "rows", (detail,))


def test_insert_many_accepts_rows_of_every_shape(tmp_path: Path) -> None:
    with Container(Model(ALL_KINDS), tmp_path / "rows.store", unsaved="discard") as container:
        ctx = container.context()
        assert ctx.insert_many("Row", []) == 0
        assert ctx.insert_objects("Row", iter([])) == []
        for rows, columns, words in (
            ([{"n": 1}, {"text": "a"}], None, r'row 2 has other keys than row 1 \(without "n", and with "text"\)'),
            ([{"n": 1}, {"n": 1, "text": "a"}], None, r'row 2 has other keys than row 1 \(with "text"\)'),
            ([{"n": 1}, (1,)], None, r"row 2 is \(1,\), not a dictionary"),
            ([(1,)], None, r"row 1 is \(1,\), not a dictionary"),
            ([(1, "a"), (2,)], ["n", "text"], "row 2 has 1 value for 2 columns"),
            ([(1, "a", 3)], ["n", "text"], "row 1 has 3 values for 2 columns"),
        ):
            with pytest.raises(InvalidArgumentError, match=words):
                ctx.insert_many("Row", rows, columns)  # type: ignore[arg-type]
        numbers: list[Any] = [(1, "a"), 5]
        with pytest.raises(TypeMismatchError, match="cannot insert Row: row 2 is 5, not a sequence; ") as told:
            ctx.insert_many("Row", numbers, ["n", "text"])
        assert (told.value.entity, told.value.value) == ("Row", 5)
        assert not ctx.has_changes
        assert ctx.insert_many("Row", ([n, "a"] for n in (1, 2)), ("n", "text")) == 2


def test_rows_may_contain_related_objects(tmp_path: Path) -> None:
    with Container(Model(ALL_KINDS), tmp_path / "rows.store", unsaved="discard") as container:
        ctx = container.context()
        first = ctx.insert("Row", n=0)
        objects = ctx.insert_objects("Row", [{"n": 1, "next": first}, {"n": 2, "next": None}, {"n": 3, "next": first}])
        assert [each.next for each in objects] == [first, None, first]
        with pytest.raises(TypeMismatchError) as caught:
            ctx.insert_many("Row", [{"n": 4, "next": "first"}])
        assert (caught.value.entity, caught.value.key) == ("Row", "next")


@pytest.mark.parametrize("count", [1, 255, 256, 257, 600])
def test_columns_with_many_distinct_values_are_read(tmp_path: Path, count: int) -> None:
    with Container(Model(ALL_KINDS), tmp_path / "rows.store", unsaved="discard") as container:
        ctx = container.context()
        targets = ctx.insert_objects("Row", [{"n": -n} for n in range(1, count + 1)])
        rows = [
            {
                "n": n, "text": f"text {n}", "whole": n * 2**32, "price": Decimal(n) / 4, "real": n / 8,
                "made": FULL["made"] + timedelta(seconds=n), "data": str(n).encode(), "key": UUID(int=n),
                "page": f"https://a/{n}", "next": target,
            }
            for n, target in enumerate(targets)
        ]  # fmt: skip
        ctx.insert_many("Row", rows)
        ctx.save()
        found = container.context().fetch("Row", "n >= 0", sort="n")
        names = [name for name in rows[0] if name != "next"]
        assert found.to_dicts(*names) == [{name: row[name] for name in names} for row in rows]
        assert [each.n for each in found.column("next")] == found.column("next.n") == [-n for n in range(1, count + 1)]
        assert len(found.columns("next", "next.next.n")[1]) == count
        assert found.column("next.next.n") == [None] * count
        read = ctx.fetch_rows("Row", "n >= 0", columns=names, sort="n")
        assert read == found.to_dicts(*names)


def test_negative_zero_keeps_its_sign(tmp_path: Path) -> None:
    model = Model({"A": {"r": "double"}})
    with Container(model, tmp_path / "zero.xml", type="XML", unsaved="discard") as container:
        ctx = container.context()
        one = ctx.insert("A", r=-0.0)
        rows: list[dict[str, Any]] = [{"r": -0.0}, {"r": None}]
        alone, nothing = ctx.insert_objects("A", rows)
        mixed = ctx.insert_objects("A", [*rows, {"r": 1}])[0]
        assert [math.copysign(1, each.r) for each in (one, alone, mixed)] == [-1, -1, -1]
        assert nothing.r is None


@pytest.mark.parametrize("year", [1729, 1900, 2001, 2272])
def test_dates_keep_their_microseconds_for_272_years(ctx: Context, year: int) -> None:
    person = ctx.insert("Employee", name="Ada")
    for microsecond in (0, 1, 333_333, 499_999, 500_000, 999_998, 999_999):
        for month, day in ((1, 1), (12, 31)):
            value = datetime(year, month, day, 23, 59, 59, microsecond, UTC)
            person.hired = value
            assert person.hired == value


@pytest.mark.parametrize("year", [1, 9999])
def test_dates_keep_31_microseconds_at_the_calendar_limits(ctx: Context, year: int) -> None:
    person = ctx.insert("Employee", name="Ada")
    for microsecond in range(0, 1_000_000, 9_973):
        value = datetime(year, 7, 1, 12, 0, 0, microsecond, UTC)
        person.hired = value
        assert abs(person.hired - value) <= timedelta(microseconds=31)
        assert person.hired.tzinfo == UTC
