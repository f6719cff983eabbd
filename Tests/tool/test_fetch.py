"""corestone fetch: every type of value in every format, sorting, windows, and very many objects."""

from __future__ import annotations

import base64
import contextlib
import csv
import io
import json
import math
import plistlib
import shutil
import signal
import sqlite3
import subprocess
import sys
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path
from plistlib import UID
from typing import Any

import corestone
import pytest
from conftest import TOOL, compare, run, settled
from corestone import Container, Model, set_raw_value


def fetched(zoo: Path, *arguments: str) -> list[dict[str, Any]]:
    found = run("fetch", zoo, *arguments, "--format", "json")
    assert (found.returncode, found.stderr) == (0, "")
    rows: list[dict[str, Any]] = json.loads(found.stdout, parse_float=Decimal)
    return rows


@pytest.mark.parametrize("entity", ["Animal", "Keeper"])
@pytest.mark.parametrize("form", ["table", "json", "csv"])
def test_every_value_is_printed_in_every_format(zoo: Path, entity: str, form: str) -> None:
    found = run("fetch", zoo, entity, "--sort", "name", "--format", form)
    assert (found.returncode, found.stderr) == (0, "")
    compare(f"fetch-{entity}.{form}", settled(found.stdout, zoo))


def test_values_read_back_from_json(zoo: Path) -> None:
    bob, ada = fetched(zoo, "Keeper", "--sort", "-name")
    assert ada["name"].startswith('Ada "the eagle"') and bob["name"] == "Bøb\nΩ 漢字"
    assert ada["wage"] == Decimal("4200.5") and ada["steps"] == 2**53 + 1 and ada["years"] == 12
    assert base64.b64decode(ada["photo"]) == bytes(range(8)) and bob["photo"] == ""
    assert ada["badge"] == "12345678-1234-5678-1234-567812345678"
    assert bob["wage"] is None
    animals = {row["@id"]: row for row in fetched(zoo, "Animal")}
    assert [animals[uri]["name"] for uri in ada["animals"]] == ["eagle", "emu"]
    assert all(animals[uri]["keeper"] == ada["@id"] for uri in ada["animals"])
    by_name = {row["name"]: row for row in animals.values()}
    eagle, carp = by_name["eagle"], by_name["carp"]
    assert (eagle["@entity"], carp["@entity"]) == ("Bird", "Fish")
    assert "depth" not in eagle and "wingspan" not in carp
    # SQLite keeps NaN as NULL.
    assert (eagle["wingspan"], by_name["emu"]["wingspan"]) == (None, "Infinity")
    assert eagle["born"] == "2024-01-01T00:00:00Z" and carp["born"] == "1969-03-29T23:59:59.75Z"
    assert {animals[uri]["name"] for uri in carp["friends"]} == {"eagle", ""}
    assert (eagle["canFly"], carp["freshwater"], carp["depth"]) == (True, True, -3)


def archive(root: object, *objects: object) -> bytes:
    """An archive of NSKeyedArchiver: the root is object 1, the others follow."""
    top = {"$version": 100000, "$archiver": "NSKeyedArchiver", "$top": {"root": UID(1)}}
    return plistlib.dumps({**top, "$objects": ["$null", root, *objects]}, fmt=plistlib.FMT_BINARY)


def class_named(name: str) -> dict[str, object]:
    return {"$classname": name, "$classes": [name, "NSObject"]}


def test_transformable_values_are_printed_decoded(tmp_path: Path) -> None:
    path = tmp_path / "shapes.sqlite"
    tags = {"$class": UID(2), "NS.objects": [UID(3), UID(4)]}
    values = {
        "dictionary": archive(
            {"$class": UID(2), "NS.keys": [UID(3), UID(4)], "NS.objects": [UID(5), UID(6)]},
            class_named("NSDictionary"), "at", "data", {"$class": UID(7), "NS.time": 0.5}, b"\x01\x02",
            class_named("NSDate"),
        ),
        "set": archive(tags, class_named("NSSet"), "b", "a"),
        "ordered": archive(tags, class_named("NSOrderedSet"), "b", "a"),
        "text": archive("plain, \"text\""),
        "colour": archive({"$class": UID(2), "UIRed": 1.0}, class_named("UIColor")),
        "bytes": b"\x89PNG",
    }  # fmt: skip
    with Container(Model({"Shape": {"name": "string", "value": "transformable?"}}), path) as container:
        context = container.context()
        for name, value in values.items():
            set_raw_value(context.insert("Shape", name=name), "value", value)
        context.insert("Shape", name="none")
        context.save()
    held = {row["name"]: row["value"] for row in fetched(path, "Shape")}
    assert held == {
        "dictionary": {"at": "2001-01-01T00:00:00.5Z", "data": "AQI="},
        "set": ["a", "b"],
        "ordered": ["b", "a"],
        "text": 'plain, "text"',
        "colour": {"$class": "UIColor", "UIRed": 1.0},
        "bytes": "iVBORw==",
        "none": None,
    }
    raw = {row["name"]: row["value"] for row in fetched(path, "Shape", "--raw")}
    assert raw == {**{name: base64.b64encode(value).decode() for name, value in values.items()}, "none": None}
    rows = csv.DictReader(io.StringIO(run("fetch", path, "Shape", "--format", "csv").stdout))
    cells = {row["name"]: row["value"] for row in rows}
    assert json.loads(cells["dictionary"]) == held["dictionary"]
    assert (cells["ordered"], cells["text"], cells["bytes"]) == ('["b", "a"]', 'plain, "text"', "iVBORw==")
    table = run("fetch", path, "Shape", "name == 'set' OR name == 'bytes'", "--columns", "value").stdout
    assert {line.strip() for line in table.splitlines()} == {"value", '["a", "b"]', "4 bytes"}


def test_null_within_an_array_is_printed(tmp_path: Path) -> None:
    path = tmp_path / "shapes.sqlite"
    items = {"$class": UID(2), "NS.objects": [UID(4), UID(3), UID(5)]}
    value = archive(items, class_named("NSArray"), {"$class": UID(6)}, "a", "b", class_named("NSNull"))
    with Container(Model({"Shape": {"value": "transformable?"}}), path) as container:
        context = container.context()
        set_raw_value(context.insert("Shape"), "value", value)
        context.save()
    assert [row["value"] for row in fetched(path, "Shape")] == [["a", None, "b"]]


def test_csv_values_round_trip(zoo: Path) -> None:
    text = run("fetch", zoo, "Keeper", "--sort", "name", "--format", "csv").stdout
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    with corestone.open(zoo) as container:
        keepers = list(container.context().fetch("Keeper", sort="name"))
        assert [row["name"] for row in rows] == [keeper.name for keeper in keepers]
        for row, keeper in zip(rows, keepers):
            assert row["@id"] == keeper.id.uri
            assert int(row["years"]) == keeper.years
            assert base64.b64decode(row["photo"]) == keeper.photo
            assert (Decimal(row["wage"]) if row["wage"] else None) == keeper.wage
            assert row["animals"].split() == [animal.id.uri for animal in keeper.animals]
    animals = list(csv.DictReader(io.StringIO(run("fetch", zoo, "Animal", "--format", "csv").stdout)))
    assert math.isinf(float(next(row["wingspan"] for row in animals if row["name"] == "emu")))
    assert next(row["wingspan"] for row in animals if row["name"] == "carp") == ""


def test_one_large_value_does_not_widen_the_other_lines(tmp_path: Path) -> None:
    path = tmp_path / "notes.sqlite"
    with Container(Model({"Note": {"text": "string", "place": "int32"}}), path) as container:
        context = container.context()
        context.insert_many("Note", [{"text": "x" * 100_000 if i == 3 else "short", "place": i} for i in range(50)])
        context.save()
    lines = run("fetch", path, "Note", "--columns", "text,place", "--sort", "place").stdout.splitlines()
    assert lines[4].split() == ["x" * 100_000, "3"]
    assert {len(line) for line in lines if line != lines[4]} == {67}
    assert lines[1].split() == ["short", "0"]


@pytest.mark.parametrize("form", ["table", "json", "csv"])
def test_unreadable_value_does_not_stop_the_fetch(tmp_path: Path, form: str) -> None:
    path = tmp_path / "notes.sqlite"
    model = Model()
    model.entity("Note").attribute("title", "string").attribute("data", "binary", external_storage=True, optional=True)
    with Container(model, path) as container:
        context = container.context()
        for title, size in (("large", 200_000), ("small", 3), ("huge", 300_000)):
            context.insert("Note", title=title, data=b"x" * size)
        context.save()
    shutil.rmtree(tmp_path / ".notes_SUPPORT")
    found = run("fetch", path, "Note", "--columns", "title,data", "--format", form)
    assert found.returncode == 3
    assert "Note.data" in found.stderr and "_EXTERNAL_DATA" in found.stderr and found.stderr.count("\n") == 1
    if form == "json":
        rows = [(row["title"], row["data"]) for row in json.loads(found.stdout)]
        assert rows == [("large", None), ("small", "eHh4"), ("huge", None)]
    else:
        assert [line.split("," if form == "csv" else None)[0] for line in found.stdout.splitlines()[1:]] == [
            "large", "small", "huge",
        ]  # fmt: skip
    assert run("fetch", path, "Note", "--columns", "title", "--format", form).returncode == 0


def test_fetch_applies_predicate_sort_limit_and_columns(zoo: Path) -> None:
    assert [row["name"] for row in fetched(zoo, "Animal", "keeper.name BEGINSWITH 'Ada'", "--sort=-name")] == [
        "emu",
        "eagle",
    ]
    assert [row["name"] for row in fetched(zoo, "Animal", "--sort", "name", "--offset", "1", "--limit", "2")] == [
        "carp",
        "eagle",
    ]
    assert [row["name"] for row in fetched(zoo, "Animal", "ANY friends.name == 'carp'", "--sort", "name")] == [
        "",
        "eagle",
    ]
    assert fetched(zoo, "Bird", "name == 'dodo'") == []
    assert fetched(zoo, "Fish", "--sort", "name", "--columns", "depth,name,@entity") == [
        {"depth": None, "name": "", "@entity": "Fish"}, {"depth": -3, "name": "carp", "@entity": "Fish"},
    ]  # fmt: skip
    table = run("fetch", zoo, "Fish", "name != ''", "--columns", "name,depth").stdout
    assert table.split() == ["name", "depth", "carp", "-3"]
    table = run("fetch", zoo, "Fish", "name != ''", "--columns", "depth,name,@entity").stdout
    assert table.split() == ["depth", "name", "@entity", "-3", "carp", "Fish"]
    assert run("fetch", zoo, "Bird", "--columns", "@entity").stdout.split() == ["@entity", "Bird", "Bird"]
    assert "@entity" not in run("fetch", zoo, "Fish").stdout
    assert run("fetch", zoo, "Bird", "name == 'dodo'", "--format", "csv").stdout.count("\n") == 1


def test_column_that_an_entity_lacks_is_null(zoo: Path) -> None:
    assert fetched(zoo, "Animal", "--sort", "name", "--columns", "name,freshwater,canFly") == [
        {"name": "", "freshwater": False, "canFly": None}, {"name": "carp", "freshwater": True, "canFly": None},
        {"name": "eagle", "freshwater": None, "canFly": True}, {"name": "emu", "freshwater": None, "canFly": False},
    ]  # fmt: skip


def test_plus_before_a_sort_key_means_ascending(zoo: Path) -> None:
    for key in ("name", "+name"):
        assert [row["name"] for row in fetched(zoo, "Animal", "--sort", key)] == ["", "carp", "eagle", "emu"]


def test_fetch_does_not_change_a_foreign_store(fixtures: Path) -> None:
    folder = fixtures / "stores" / "coredataplus"
    before = sorted(
        (path.name, path.stat().st_mtime_ns, path.read_bytes()) for path in folder.iterdir() if path.is_file()
    )
    store = folder / "SampleModel2_V2.sqlite"
    entities = json.loads(run("show", store, "--format", "json").stdout)["entities"]
    for entity in entities:
        assert len(fetched(store, entity["name"])) == entity["count"]
    after = sorted(
        (path.name, path.stat().st_mtime_ns, path.read_bytes()) for path in folder.iterdir() if path.is_file()
    )
    assert before == after


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["{zoo}"], 2, "ENTITY"),
        (["{zoo}", "Anmal"], 2, 'did you mean "Animal"'),
        (["{zoo}", "Animal", "name =="], 2, "name =="),
        (["{zoo}", "Animal", "nme == 'x'"], 2, "nme"),
        (["{zoo}", "Animal", "name == %@"], 2, "%@"),
        (["{zoo}", "Animal", "--sort", "nme"], 2, "nme"),
        (["{zoo}", "Animal", "--limit", "many"], 2, "must be an integer from 0 to"),
        (["{zoo}", "Animal", "--limit", "-1"], 2, "must be an integer from 0 to"),
        (["{zoo}", "Animal", "--limit"], 2, "requires a value"),
        (["{zoo}", "Animal", "--limt", "2"], 2, "did you mean --limit"),
        (["{zoo}", "Animal", "--columns", "name,colour"], 2, "colour"),
        (["{zoo}", "Animal", "--columns", "name,born,name"], 2, '"name" more than once'),
        (["{zoo}", "Animal", "--columns", ""], 2, "property names"),
        (["{zoo}", "Animal", "--format", "xml"], 2, "table, json or csv"),
        (["{zoo}", "Animal", "--limit", "1", "--limit", "2"], 2, "once"),
        (["/dev/null", "Animal"], 3, "/dev/null"),
        (["{zoo}.missing", "Animal"], 3, "does not exist"),
        ([str(TOOL), "Animal"], 3, "check the path"),
    ],
)
def test_fetch_mistakes_are_reported(zoo: Path, arguments: list[str], code: int, words: str) -> None:
    found = run("fetch", *[argument.replace("{zoo}", str(zoo)) for argument in arguments])
    assert (found.returncode, found.stdout) == (code, "")
    assert words in found.stderr


@pytest.fixture(scope="module")
def readings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """300,000 readings of 60 sensors."""
    path = tmp_path_factory.mktemp("readings") / "readings.sqlite"
    model = Model(
        {
            "Sensor": {"name": "string", "readings": "to-many Reading inverse sensor"},
            "Reading": {
                "note": "string", "value": "double", "time": "date", "sensor": "to-one Sensor? inverse readings",
                "near": "to-many Reading inverse near",
            },
        }
    )  # fmt: skip
    day = datetime(2024, 1, 1, tzinfo=timezone.utc)
    with Container(model, path, sync="normal") as container:
        for part in range(10):
            context = container.context()
            sensors = [context.insert("Sensor", name=f"sensor {part}.{number}") for number in range(6)]
            rows = [
                (
                    f"reading {number} of part {part}, as written down",
                    number * 7919 % 30_000 / 7,
                    day,
                    sensors[number % 6],
                )
                for number in range(30_000)
            ]
            objects = context.insert_objects("Reading", rows, ("note", "value", "time", "sensor"))
            for one, other in zip(objects[:3000], objects[1:]):
                one.near.add(other)
            context.save()
            context.close()
    return path


def peak_kb(*arguments: str | Path) -> tuple[int, int]:
    """The peak of resident memory of a run of the tool, and how many lines it printed."""
    # A process begins with the peak of the one that started it, so that has to be a small one.
    program = (
        "import resource, subprocess, sys\n"
        "with subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE) as process:\n"
        "    lines = sum(1 for _ in process.stdout)\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, lines, process.returncode)"
    )
    words = [sys.executable, "-S", "-E", "-c", program, str(TOOL), *map(str, arguments)]
    peak, lines, code = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
    assert code == "0"
    return int(peak), int(lines)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--format", "json"],
        ["value > 0", "--format", "csv"],
        ["--sort", "-sensor.name", "--sort", "value"],
    ],
)
def test_memory_does_not_grow_with_the_number_of_objects(readings: Path, arguments: list[str]) -> None:
    few, few_lines = peak_kb("fetch", readings, "Reading", *arguments, "--limit", "15000")
    all_, all_lines = peak_kb("fetch", readings, "Reading", *arguments)
    print(f"{' '.join(arguments) or 'table'}: {few_lines} lines {few} KB, {all_lines} lines {all_} KB")
    assert all_lines > 299_000
    # What a store of twenty times as many objects takes more: SQLite's cache and sorter fill up to their limits.
    assert all_ - few < 16_000


def test_largest_fixture_is_streamed(fixtures: Path) -> None:
    store = max(
        (path for path in (fixtures / "stores").rglob("*") if path.is_file()), key=lambda path: path.stat().st_size
    )
    entities = json.loads(run("show", store, "--format", "json").stdout)["entities"]
    peaks = [
        peak_kb("fetch", store, entity["name"], "--format", "json")[0] for entity in entities if not entity["parent"]
    ]
    print(f"{store.name}: {store.stat().st_size} bytes, {len(peaks)} entities, {min(peaks)} to {max(peaks)} KB")
    assert max(peaks) - min(peaks) < 16_000


def test_prefetch_is_bounded_by_bytes(tmp_path: Path) -> None:
    path = tmp_path / "photos.sqlite"
    with Container(Model({"Photo": {"data": "binary"}}), path, sync="normal") as container:
        for _ in range(8):
            context = container.context()
            context.insert_many("Photo", [{"data": bytes(1 << 20)} for _ in range(20)])
            context.save()
            context.close()
    peak, lines = peak_kb("fetch", path, "Photo", "--format", "csv")
    print(f"160 photos of 1 MB: {peak} KB")
    assert lines == 161
    assert peak < 110_000


def test_fetch_ends_at_a_closed_pipe_and_an_interrupt(readings: Path) -> None:
    for form in ("csv", "json", "table"):
        process = subprocess.Popen(
            [str(TOOL), "fetch", str(readings), "Reading", "--format", form],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        assert process.stdout is not None and process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert (process.stderr.read(), process.wait(timeout=60)) == (b"", 0)
        process.stderr.close()
    # A shell starts what runs in its background with the signal ignored, and children inherit that.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen([str(TOOL), "fetch", str(readings), "Reading"], stdout=subprocess.PIPE)
    signal.signal(signal.SIGINT, before)
    assert process.stdout is not None
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == -2
    process.stdout.close()


def test_inferred_model_is_mentioned_on_standard_error(zoo: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare.sqlite"
    shutil.copy(zoo, bare)
    with contextlib.closing(sqlite3.connect(bare)) as database:
        database.execute("DROP TABLE Z_MODELCACHE")
        database.commit()
    found = run("fetch", bare, "Keeper", "--format", "csv")
    assert found.returncode == 0
    assert found.stdout.startswith("@id,")
    assert "read with a model inferred from its tables" in found.stderr


def test_explain_prints_the_plan_instead_of_objects(zoo: Path) -> None:
    found = run("fetch", zoo, "Animal", "name == 'Leo'", "--explain")
    assert (found.returncode, found.stderr) == (0, "")
    lines = found.stdout.splitlines()
    assert lines[0] == 'fetch Animal where name == "Leo"'
    assert lines[1].startswith("sql: SELECT ") and "Leo" not in lines[1]
    assert lines[2] == '  bound 1: "Leo"'
    assert lines[3] == "plan:" and lines[4].startswith("  ")
    assert lines[-1] == "in memory: nothing"
    told = json.loads(run("fetch", zoo, "Animal", "name == 'Leo'", "--explain", "--format", "json").stdout)
    assert told["shares"][0]["bindings"] == ["Leo"]
    refused = run("fetch", zoo, "Animal", "--explain", "--format", "csv")
    assert refused.returncode == 2 and "--explain cannot print csv" in refused.stderr


def test_nan_and_all_decimal_digits_are_printed(tmp_path: Path) -> None:
    """In an XML store, which keeps them all."""
    spec = {"Value": {"name": "string", "real": "double? nan", "small": "float? nan", "exact": "decimal?"}}
    Container(Model(spec), tmp_path / "model.sqlite").close()
    digits = "12345678901234567890.12345678901234567"
    nan, infinite = float("nan"), float("inf")
    with Container(Model(spec), tmp_path / "values.xml", type="XML") as container:
        context = container.context()
        context.insert("Value", name="a", real=nan, small=-infinite, exact=Decimal(digits))
        context.insert("Value", name="b", real=infinite, small=nan)
        context.save()
    words: list[str | Path] = [tmp_path / "values.xml", "Value", "--sort", "name", "--model", tmp_path / "model.sqlite"]
    found = run("fetch", *words, "--columns", "name,real,small,exact", "--format", "json")
    assert found.stdout.splitlines()[1:-1] == [
        f'  {{"name": "a", "real": "NaN", "small": "-Infinity", "exact": {digits}}},',
        '  {"name": "b", "real": "Infinity", "small": "NaN", "exact": null}',
    ]
    found = run("fetch", *words, "--columns", "name,real,small,exact", "--format", "csv")
    assert found.stdout.splitlines()[1:] == [f"a,NaN,-Infinity,{digits}", "b,Infinity,NaN,"]
    found = run("fetch", *words, "--columns", "name,real,small,exact")
    assert [line.split() for line in found.stdout.splitlines()[1:]] == [
        ["a", "NaN", "-Infinity", digits],
        ["b", "Infinity", "NaN"],
    ]


def test_value_over_60_columns_shifts_the_rest_of_its_line(tmp_path: Path) -> None:
    path = tmp_path / "notes.sqlite"
    texts = ["x" * 60, "y" * 61, "漢" * 30, "z"]
    with Container(Model({"Note": {"text": "string", "place": "string"}}), path) as container:
        container.insert("Note", [{"text": text, "place": str(place)} for place, text in enumerate(texts)])
    lines = run("fetch", path, "Note", "--columns", "text,place", "--sort", "place").stdout.splitlines()
    assert lines == [
        "text".ljust(62) + "place", "x" * 60 + "  0", "y" * 61 + "  1", "漢" * 30 + "  2", "z".ljust(62) + "3",
    ]  # fmt: skip


def test_csv_header_and_numbers_get_no_apostrophe(tmp_path: Path) -> None:
    path = tmp_path / "notes.sqlite"
    with Container(Model({"Note": {"number": "int32", "text": "string", "price": "decimal"}}), path) as container:
        container.insert("Note", {"number": -1, "text": "-1", "price": "-1.5"})
    words: list[str | Path] = [path, "Note", "--format", "csv", "--spreadsheet-safe", "yes"]
    head, line = run("fetch", *words, "--columns", "@id,@entity,number,price,text").stdout.splitlines()
    assert head == "@id,@entity,number,price,text"
    assert line.endswith("/Note/p1,Note,-1,-1.5,'-1")
    assert run("dump", *words).stdout.splitlines() == ["@id,@entity,number,price,text", "Note/p1,Note,-1,-1.5,'-1"]


def test_explanation_names_indexes_and_work_in_memory(zoo: Path) -> None:
    words: list[str | Path] = ["fetch", zoo, "Animal", "name == 'Leo' AND FUNCTION(name, 'length') > 1", "--explain"]
    lines = run(*words).stdout.splitlines()
    assert lines[-3:] == [
        "indexes: Z_Animal_name", 'in memory: FUNCTION(name, "length") > 1',
        '  because "FUNCTION(name, "length")" is computed in memory',
    ]  # fmt: skip
    assert [line for line in lines if line.startswith("  bound")] == ['  bound 1: "Leo"']
    (share,) = json.loads(run(*words, "--format", "json").stdout)["shares"]
    assert share["indexes"] == ["Z_Animal_name"]


def test_unsortable_key_is_rejected(zoo: Path) -> None:
    refused = run("fetch", zoo, "Keeper", "--sort", "animals.name")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert 'cannot sort Keeper by "animals.name": Keeper.animals is to-many' in refused.stderr


@pytest.fixture
def misfits(tmp_path: Path) -> Path:
    """A store with values that their attributes cannot have."""
    spec = {"N": {"name": "string", "i": "int16?", "l": "int32?", "t": "date?", "u": "uuid?", "d": "decimal?"}}
    path = tmp_path / "misfits.sqlite"
    with Container(Model(spec), path) as container:
        container.insert("N", [{"name": name} for name in "ab"])
    connection = sqlite3.connect(path)
    values = "ZI = 99999, ZL = x'00', ZT = 'abc', ZU = x'0011', ZD = 'many'"
    connection.execute(f"UPDATE ZN SET {values} WHERE ZNAME = 'a'")
    connection.commit()
    connection.close()
    return path


@pytest.mark.parametrize("form", ["table", "json", "csv"])
def test_value_of_another_type_is_printed_as_null_with_a_warning(misfits: Path, form: str) -> None:
    done = run("fetch", misfits, "N", "--format", form, "--sort", "name")
    assert done.returncode == 3
    assert "cannot read some values of N.d, N.i, N.l, N.t, N.u" in done.stderr
    assert done.stdout.count("N/p") == 2
    if form == "json":
        found = [(row["name"], row["i"], row["t"]) for row in json.loads(done.stdout)]
        assert found == [("a", None, None), ("b", None, None)]


def test_unreadable_values_matter_only_for_requested_columns_and_rows(misfits: Path) -> None:
    for words in (["--columns", "name"], ["name == 'b'"]):
        done = run("fetch", misfits, "N", *words)
        assert (done.returncode, done.stderr) == (0, ""), words
    done = run("fetch", misfits, "N", "--columns", "name,t")
    assert done.returncode == 3 and "cannot read some values of N.t" in done.stderr


def test_dump_with_unreadable_values_is_not_kept(misfits: Path, tmp_path: Path) -> None:
    done = run("dump", misfits)
    assert (done.returncode, len(done.stdout.splitlines())) == (3, 2) and "N.i" in done.stderr
    done = run("dump", misfits, "-o", tmp_path / "n.jsonl")
    assert done.returncode == 3 and "the dump would be incomplete" in done.stderr
    assert not (tmp_path / "n.jsonl").exists()
