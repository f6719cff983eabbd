"""load: a rejected line changes nothing, a load that fails saves nothing, and truncated files are reported."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import time
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from conftest import TOOL, run
from corestone import Container, Model
from corestone.object import object_id

RULES = ["nullify", "cascade", "deny"]


def folders(rule: str) -> dict[str, dict[str, Any]]:
    return {
        "Folder": {"name": "string max 5", "notes": f"to-many Note inverse folder delete {rule}",
                   "tags": "to-many ordered Tag inverse folders"},
        "Note": {"body": "string?", "folder": "to-one Folder? inverse notes"},
        "Tag": {"name": "string?", "folders": f"to-many Folder inverse tags delete {rule}"},
    }  # fmt: skip


def lines(*objects: dict[str, Any]) -> str:
    return "".join(json.dumps(each) + "\n" for each in objects)


def store(path: Path, spec: dict[str, dict[str, Any]], kind: str = "SQLite") -> Path:
    Container(Model(spec), path, type=kind).close()
    return path


def rows(path: Path, spec: dict[str, dict[str, Any]], entity: str, *keys: str) -> list[Any]:
    with Container(Model(spec), path) as container:
        found = [tuple(row[key] for key in keys) for row in container.read(entity)]
    return sorted((each[0] if len(keys) == 1 else each for each in found), key=repr)


# A refused line changes nothing


@pytest.mark.parametrize("rule", RULES)
def test_delete_rules_do_not_run_for_a_rejected_line(tmp_path: Path, rule: str) -> None:
    spec = folders(rule)
    path = store(tmp_path / "notes.sqlite", spec)
    with Container(Model(spec), path) as container:
        context = container.context()
        old = context.insert("Note", body="old", folder=context.insert("Folder", name="home"))
        context.save()
        uri = object_id(old).uri
    text = lines(
        {"@id": "t", "@entity": "Tag", "name": "t"},
        {"@id": "n1", "@entity": "Note", "body": "1"},
        {"@id": "n2", "@entity": "Note", "body": "2"},
        {"@id": "good", "@entity": "Folder", "name": "good", "notes": ["n2"], "tags": ["t"]},
        {"@id": "f", "@entity": "Folder", "name": "much too long", "notes": ["n1", "n2", uri], "tags": ["t"]},
        {"@id": "g", "@entity": "Folder", "name": "none", "notes": ["n1", uri, "t"]},
        {"@id": "n3", "@entity": "Note", "body": "3"},
    )
    done = run("load", path, "--keep-going", input=text)
    assert done.returncode == 1
    assert [line.split(":")[2] for line in done.stderr.splitlines()] == ["5", "6"], done.stderr
    with Container(Model(spec), path) as container:
        context = container.context()
        found = {note.body: note.folder and note.folder.name for note in context.fetch("Note")}
        assert found == {"old": "home", "1": None, "2": "good", "3": None}
        assert {folder.name: [tag.name for tag in folder.tags] for folder in context.fetch("Folder")} == {
            "home": [],
            "good": ["t"],
        }


CUSTOMERS: dict[str, dict[str, Any]] = {
    "Customer": {"@unique": ["no"], "no": "int32", "nick": "string? max 5", "tag": "string?",
                 "boss": "to-one Customer? inverse staff", "staff": "to-many Customer inverse boss delete cascade"},
}  # fmt: skip


@pytest.mark.parametrize("kind", ["SQLite", "XML", "Binary"])
def test_rejected_line_keeps_earlier_changes_of_its_object(tmp_path: Path, kind: str) -> None:
    path = store(tmp_path / "customers.store", CUSTOMERS, kind)
    with Container(Model(CUSTOMERS), path) as container:
        container.insert("Customer", [{"no": 1, "nick": "a"}, {"no": 7, "nick": "g"}])
    text = lines(
        {"no": 1, "tag": "first"},
        {"no": 1, "nick": "much too long", "tag": "second"},
        {"@id": "two", "no": 2, "tag": "new"},
        {"no": 2, "nick": "much too long", "tag": "newer"},
        {"no": 7, "nick": "much too long"},
        {"@id": "three", "no": 3, "boss": "two"},
        {"no": 2, "boss": "nobody", "nick": "still too long"},
        {"no": 7, "tag": "last"},
    )
    words = ["--model", str(store(tmp_path / "model.sqlite", CUSTOMERS))] if kind != "SQLite" else []
    done = run("load", path, "--upsert", "--keep-going", "--entity", "Customer", *words, input=text)
    assert done.returncode == 1
    assert [line.split(":")[2] for line in done.stderr.splitlines()] == ["2", "4", "5", "7"], done.stderr
    assert "loaded 2 objects, changed 2 into" in done.stdout
    assert rows(path, CUSTOMERS, "Customer", "no", "nick", "tag") == [
        (1, "a", "first"), (2, None, "new"), (3, None, None), (7, "g", "last"),
    ]  # fmt: skip
    with Container(Model(CUSTOMERS), path) as container:
        assert {each.no: each.boss.no for each in container.fetch("Customer") if each.boss} == {3: 2}


def test_lines_rejected_by_the_save_are_reported(tmp_path: Path) -> None:
    """Of duplicates the first is kept; objects that require a rejected object are rejected too."""
    spec: dict[str, dict[str, Any]] = {
        "Folder": {"@unique": ["name"], "name": "string", "items": "to-many Item inverse folder"},
        "Item": {"name": "string", "folder": "to-one Folder inverse items"},
    }
    path = store(tmp_path / "items.sqlite", spec)
    with Container(Model(spec), path) as container:
        container.insert("Folder", {"name": "stored"})
    objects = [{"@entity": "Item", "@id": "first", "name": "first", "folder": "f9"}]
    objects += [{"@entity": "Folder", "@id": f"f{n}", "name": f"folder {n % 90}"} for n in range(100)]
    objects += [{"@entity": "Item", "@id": f"i{n}", "name": f"item {n}", "folder": f"f{n}"} for n in range(100)]
    objects += [{"@entity": "Folder", "@id": "s", "name": "stored"}, {"@entity": "Item", "name": "x", "folder": "s"}]
    done = run("load", path, "--keep-going", input=lines(*objects))
    assert done.returncode == 1
    assert 'Folder.name ("folder 3") is also in standard input:5, but must be unique; change the value' in done.stderr
    assert 'Folder.name ("stored") is also in Folder/p1 of the store, but must be unique' in done.stderr
    assert "x-coredata" not in done.stderr
    assert rows(path, spec, "Folder", "name") == sorted([f"folder {n}" for n in range(90)] + ["stored"], key=repr)
    assert rows(path, spec, "Item", "name") == sorted(["first"] + [f"item {n}" for n in range(90)], key=repr)


# All or nothing


@pytest.mark.parametrize("kind", ["SQLite", "XML", "Binary"])
@pytest.mark.parametrize("wrong", [{"no": "x"}, {"no": 5}, {"no": 99999, "boss": "zz"}, "{"])
def test_failed_load_saves_nothing(tmp_path: Path, kind: str, wrong: Any) -> None:
    path = store(tmp_path / "customers.store", CUSTOMERS, kind)
    with Container(Model(CUSTOMERS), path) as container:
        container.insert("Customer", {"no": 100000, "nick": "old"})
    words = ["--model", str(store(tmp_path / "model.sqlite", CUSTOMERS)), "--entity", "Customer"]
    text = lines(*({"no": n} for n in range(2500)))
    text += wrong if isinstance(wrong, str) else lines(wrong)
    done = run("load", path, *words, input=text)
    assert done.returncode == 1
    assert "standard input:2501: " in done.stderr
    assert "nothing was loaded into" in done.stdout and "--keep-going" in done.stdout
    assert rows(path, CUSTOMERS, "Customer", "no", "nick") == [(100000, "old")]
    new = tmp_path / "new.store"
    assert run("load", new, *words, "--type", kind, input=text).returncode == 1
    assert sorted(each.name for each in tmp_path.glob("new.store*")) == []
    kept = run("load", path, *words, "--keep-going", input=text)
    assert kept.returncode == 1
    assert f"loaded {2501 if 'boss' in str(wrong) else 2500} objects" in kept.stdout


def test_batch_option_reports_what_was_saved(tmp_path: Path) -> None:
    path = store(tmp_path / "customers.sqlite", CUSTOMERS)
    text = lines(*({"no": n} for n in range(2500))) + "{\n"
    done = run("load", path, "--entity", "Customer", "--batch", "100", input=text)
    assert done.returncode == 1
    assert "saved 2500 objects of the lines up to standard input:2500 into" in done.stderr and "--upsert" in done.stderr
    assert "loaded 2500 objects" in done.stdout
    again = run("load", path, "--entity", "Customer", "--batch", "1000", "--upsert", input=text[:-2])
    assert (again.returncode, again.stderr) == (0, "")
    assert len(rows(path, CUSTOMERS, "Customer", "no")) == 2500
    assert run("load", path, "--batch", "0", input="").returncode == 2


def test_references_use_unique_values_of_earlier_lines(tmp_path: Path) -> None:
    path = store(tmp_path / "customers.sqlite", CUSTOMERS)
    with Container(Model(CUSTOMERS), path) as container:
        container.insert("Customer", [{"no": 1, "nick": "old"}, {"no": 2, "nick": "two"}])
    text = lines(
        {"no": 3, "nick": "new"},
        {"no": 1, "nick": "one"},
        {"no": 4, "boss.nick": "new"},
        {"no": 5, "boss.nick": "one"},
        {"no": 6, "boss.nick": "two"},
        {"no": 7, "boss.nick": "old"},
    )
    done = run("load", path, "--upsert", "--keep-going", "--entity", "Customer", input=text)
    assert "standard input:6: " in done.stderr and done.stderr.count("standard input") == 1, done.stderr
    with Container(Model(CUSTOMERS), path) as container:
        found = {each.no: each.boss and each.boss.no for each in container.fetch("Customer")}
        assert found == {1: None, 2: None, 3: None, 4: 3, 5: 1, 6: 2}


def test_references_use_unique_values_of_a_superentity(tmp_path: Path) -> None:
    spec: dict[str, dict[str, Any]] = {
        "Person": {"@unique": ["email"], "email": "string"},
        "Employee": {"@parent": "Person", "role": "string?"},
    }
    path = store(tmp_path / "staff.sqlite", spec)
    with Container(Model(spec), path) as container:
        container.insert("Employee", {"email": "a@x", "role": "old"})
    done = run("load", path, "--upsert", "--entity", "Employee", input=lines({"email": "a@x", "role": "new"}))
    assert (done.returncode, done.stderr) == (0, "")
    assert rows(path, spec, "Employee", "email", "role") == [("a@x", "new")]


# Names are compared by bytes


def test_composed_and_decomposed_names_are_distinct(tmp_path: Path) -> None:
    spec: dict[str, dict[str, Any]] = {
        "N": {
            "@unique": ["a"],
            "a": "string",
            "b": "string?",
            "to": "to-one N? inverse from",
            "from": "to-many N inverse to",
        }
    }
    path = store(tmp_path / "names.sqlite", spec)
    text = lines(
        {"@id": "\u00e9", "a": "\u00e9", "b": "1"},
        {"@id": "e\u0301", "a": "e\u0301", "b": "2"},
        {"@id": "x", "a": "x", "b": "3", "to": "e\u0301"},
        {"@id": "y", "a": "y", "b": "4", "to": "\u00e9"},
    )
    done = run("load", path, "--entity", "N", "--upsert", input=text)
    assert (done.returncode, done.stderr) == (0, "")
    with Container(Model(spec), path) as container:
        found = {each.b: (each.a, each.to and each.to.b) for each in container.fetch("N")}
    assert found == {"1": ("\u00e9", None), "2": ("e\u0301", None), "3": ("x", "2"), "4": ("y", "1")}
    table = tmp_path / "N.csv"
    table.write_text("e\u0301,\u00e9\n1,2\n", encoding="utf-8")
    words = ["--map", "e\u0301=a", "--map", "\u00e9=b"]
    assert run("load", path, table, *words).returncode == 0
    assert ("1", "2") in rows(path, spec, "N", "a", "b")


# Files that are cut off, or no such files

PAIRS: dict[str, dict[str, Any]] = {
    "N": {"a": "string?", "b": "string?", "made": "date?", "boss": "to-one N? inverse staff",
          "staff": "to-many N inverse boss"},
}  # fmt: skip


def loaded(tmp_path: Path, text: str | bytes, form: str, *words: str) -> tuple[Any, list[Any]]:
    file = tmp_path / f"N.{form}"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    path = store(tmp_path / f"{len(list(tmp_path.iterdir()))}.sqlite", PAIRS)
    done = run("load", path, file, *words)
    return done, rows(path, PAIRS, "N", "a", "b")


@pytest.mark.parametrize(
    ("text", "line", "words", "kept"),
    [
        ('[{"a":"1"},{"a":"2"}', 1, "ends before the ] of its array", "12"),
        ('[{"a":"1"},\n{"a":"2"},', 2, "ends before the ] of its array", "12"),
        ("[", 1, "ends before the ] of its array", ""),
        ('[{"a":"1"},\n{"a":"2"', 2, "at the end of the file", "1"),
        ('[{"a":"1"}]\n{"a":"2"}', 2, "has text after the array", "1"),
        ('[{"a":"1"}]]', 1, "has text after the array", "1"),
        ('[{"a":"1"}] // the end\n', 1, "has text after the array", "1"),
        ('[{"a":"1"}\n{"a":"2"}]', 2, 'is missing a ","', "12"),
        ('[{"a":"1"},,{"a":"2"}]', 1, "is missing an object", "12"),
        ('[{"a":"1"},\n]', 2, "is missing an object", "1"),
        ('[{"a":"1"},\n 7,{"a":"2"}]', 2, 'the text "7" is not a JSON object', "12"),
        ('[{"a":"1"},\n {"b":3\n,"a" "2"}]', 2, "line 3, column 6", "1"),
        ('{"a":"1"}\n{"a":"2"}\n7', 3, 'the text "7" is not a JSON object', "12"),
        ('{"a":"1"}\n' + "x" * 41 + "\n", 2, f'the text "{"x" * 39}…" is not a JSON object', "1"),
        ('[{"a":"1"},\n {"a":"2", "b":"3",\n "a":"4"}]', 2, 'has the name "a" twice (line 3, column 2)', "1"),
    ],
)
def test_truncated_json_is_reported(tmp_path: Path, text: str, line: int, words: str, kept: str) -> None:
    done, found = loaded(tmp_path, text, "json")
    assert done.returncode == 1, done.stdout
    assert f"N.json:{line}: " in done.stderr and words in done.stderr, done.stderr
    assert found == []
    done, found = loaded(tmp_path, text, "json", "--keep-going")
    assert done.returncode == 1
    assert [a for a, _ in found] == list(kept)
    assert len(done.stderr.splitlines()) <= 2, done.stderr


def test_json_may_span_several_lines(tmp_path: Path) -> None:
    done, found = loaded(tmp_path, '\ufeff [ {\r\n "a": "1" },\r\n\r\n{"a":\r"2"\n} ] \n', "json")
    assert (done.returncode, done.stderr) == (0, "")
    assert [a for a, _ in found] == ["1", "2"]
    done, found = loaded(tmp_path, '{\n "a": "1"\n}\n{"a":"2"} {"a":"3"}', "json")
    assert (done.returncode, [a for a, _ in found]) == (0, ["1", "2", "3"])
    assert loaded(tmp_path, "[]", "json")[0].returncode == 0


def test_json_line_errors_do_not_affect_the_next_line(tmp_path: Path) -> None:
    text = '{"a":"1"} trailing\n{"a":"2"}\r\n{"a":"3"},{"a":"x"}\n{"a":"4"\n{"a":"5"}\r{"a":"6\n{"a":"7"}}\n{"a":"8"}'
    done, found = loaded(tmp_path, text, "jsonl", "--keep-going")
    told = [line.split("N.jsonl:")[1] for line in done.stderr.splitlines()]
    assert [line.split(":")[0] for line in told] == ["1", "3", "4", "6", "7"], done.stderr
    assert "column 11" in told[0] and "--format json" in told[2], told
    assert [a for a, _ in found] == ["2", "5", "8"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_every_line_ending_is_accepted(tmp_path: Path, end: str, form: str) -> None:
    if form == "csv":
        text = end.join(["a,b", "1,x", f'2,"y{end}z"', "", "3,", "wrong", ""])
    else:
        text = end.join(['{"a":"1","b":"x"}', json.dumps({"a": "2", "b": f"y{end}z"}), "", '{"a":"3"}', "", "", "{}}"])
    done, found = loaded(tmp_path, text, form, "--keep-going")
    assert "N." + form + ":7: " in done.stderr, done.stderr
    assert found == [("1", "x"), ("2", f"y{end}z"), ("3", None)]


def test_mixed_line_endings_are_accepted(tmp_path: Path) -> None:
    done, found = loaded(tmp_path, "a,b\r1,2\n3,4\r\n5,6\r\r\n7,8", "csv")
    assert (done.returncode, done.stderr) == (0, "")
    assert found == [("1", "2"), ("3", "4"), ("5", "6"), ("7", "8")]


def test_text_after_a_csv_quote_is_reported(tmp_path: Path) -> None:
    text = 'a,b\n1,"x"junk\n2,"y" \n3,"q ""x"""\n4,a"b\n5,"open\n6,y\n'
    done, found = loaded(tmp_path, text, "csv", "--keep-going")
    told = [line.split("N.csv:")[1] for line in done.stderr.splitlines()]
    assert [line.split(":")[0] for line in told] == ["2", "3", "6"], done.stderr
    assert 'field 2 ("b")' in told[0] and "double a quote" in told[0]
    assert "an unterminated quote" in told[2] and "the rest of the file" in told[2]
    assert found == [("3", 'q "x"'), ("4", 'a"b')]
    done, found = loaded(tmp_path, 'a,"b"x\n1,2\n3,4\n', "csv", "--keep-going")
    assert done.returncode == 2 and "N.csv:1: field 2" in done.stderr and found == []


def test_csv_that_is_not_utf8_is_reported(tmp_path: Path) -> None:
    text = b'a,b\n\xff,one\ntwo,"x\ny"\n\xfe\xff,"line1\nfoo,bar\n"\nthree,3\n'
    done, found = loaded(tmp_path, text, "csv", "--keep-going")
    assert done.stderr.count("not valid UTF-8") == 2 and len(done.stderr.splitlines()) == 2, done.stderr
    assert found == [("three", "3"), ("two", "x\ny")]


def test_reference_name_may_contain_a_space(tmp_path: Path) -> None:
    done, found = loaded(tmp_path, "@id,a,boss,staff\nAda L,Ada,,Bob Eve\nBob,Bob,Ada L,\nEve,Eve,,\n", "csv")
    assert (done.returncode, done.stderr) == (0, "")
    assert len(found) == 3
    (path,) = tmp_path.glob("*.sqlite")
    with Container(Model(PAIRS), path) as container:
        boss = {each.a: each.boss and each.boss.a for each in container.fetch("N")}
    assert boss == {"Ada": None, "Bob": "Ada", "Eve": "Ada"}


@pytest.mark.parametrize("day", ["20240131", "2024", "1700000000", "0"])
@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_digits_alone_are_not_a_date(tmp_path: Path, day: str, form: str) -> None:
    text = f"made\n{day}\n" if form == "csv" else json.dumps({"made": day}) + "\n"
    done, found = loaded(tmp_path, text, form)
    assert done.returncode == 1 and found == []
    assert "N.made" in done.stderr and day in done.stderr and "2024-01-31" in done.stderr


def test_dates_in_seconds_are_loaded(tmp_path: Path) -> None:
    seconds = [0.1, -1e9, 1e-300, 123456.00000001, 63072000.0]
    for form, text in (
        ("csv", "made\n" + "".join(f"{each!r}\n" for each in seconds)),
        ("jsonl", lines(*({"made": each} for each in seconds))),
    ):
        done, found = loaded(tmp_path, text, form)
        assert (done.returncode, done.stderr, len(found)) == (0, "", 5)


# Many of one entity


@pytest.mark.parametrize("kind", ["SQLite", "XML", "Binary"])
def test_entity_with_more_than_one_batch_is_loaded(tmp_path: Path, kind: str) -> None:
    spec: dict[str, dict[str, Any]] = {"N": {"a": "int32", "t": "string? transient"}}
    path = store(tmp_path / "many.store", spec, kind)
    with Container(Model(spec), path, type=kind) as container:
        container.insert("N", [{"a": number} for number in range(1300)])
    words = ["--model", str(store(tmp_path / "model.sqlite", spec))]
    for sort in ([], ["--sort", "a"], ["--sort", "t"]):
        found = run("fetch", path, "N", "--format", "csv", *sort, *words)
        assert (found.returncode, found.stderr, len(found.stdout.splitlines())) == (0, "", 1301)
    dumped = run("dump", path, *words)
    assert dumped.returncode == 0, dumped.stderr
    copy = tmp_path / "copy.sqlite"
    assert "loaded 1300 objects" in run("load", copy, *words, input=dumped.stdout).stdout
    assert rows(copy, spec, "N", "a") == sorted(range(1300), key=repr)


# What a save refuses


def test_relationships_set_after_the_last_batch_are_validated(tmp_path: Path) -> None:
    spec: dict[str, dict[str, Any]] = {
        "G": {"a": "string", "members": "to-many P max 2 inverse groups"},
        "P": {"a": "string", "groups": "to-many G inverse members"},
    }
    path = store(tmp_path / "groups.sqlite", spec)
    text = lines(
        {"@id": "g1", "@entity": "G", "a": "g1", "members": ["p1", "p2", "p3"]},
        {"@id": "g2", "@entity": "G", "a": "g2", "members": ["p1", "p2"]},
        *({"@id": f"p{n}", "@entity": "P", "a": f"p{n}"} for n in (1, 2, 3)),
    )
    done = run("load", path, "--keep-going", "--batch", "2", input=text)
    assert done.returncode == 1 and "standard input:1: " in done.stderr, done.stderr
    assert done.stderr.count("standard input") == 1 and "loaded 5 objects" in done.stdout
    with Container(Model(spec), path) as container:
        assert {each.a: len(each.members) for each in container.fetch("G")} == {"g1": 0, "g2": 2}


def test_only_one_of_two_duplicates_and_its_members_is_loaded(tmp_path: Path) -> None:
    spec: dict[str, dict[str, Any]] = {
        "P": {"@unique": ["code"], "code": "string", "reqs": "to-many R inverse owner"},
        "R": {"@unique": ["k"], "k": "string", "owner": "to-one P inverse reqs"},
    }
    path = store(tmp_path / "twins.sqlite", spec)
    text = lines(
        {"@id": "a", "@entity": "P", "code": "c"},
        {"@id": "b", "@entity": "P", "code": "c"},
        {"@id": "r1", "@entity": "R", "k": "k", "owner": "b"},
        {"@id": "r2", "@entity": "R", "k": "k", "owner": "a"},
    )
    done = run("load", path, "--keep-going", input=text)
    assert done.returncode == 1 and "standard input:4" not in done.stderr
    assert len(rows(path, spec, "P", "code")) == len(rows(path, spec, "R", "k")) == 1


# Lines without objects


def test_csv_may_contain_several_entities(zoo: Path, tmp_path: Path) -> None:
    table = tmp_path / "animals.csv"
    table.write_text(run("dump", zoo, "Animal", "--format", "csv").stdout, encoding="utf-8")
    done = run("load", tmp_path / "copy.sqlite", table, "--model", zoo, "--keep-going")
    # One has an infinite number, which its attribute does not allow.
    assert 'does not have a property "' not in done.stderr and "loaded 3 objects" in done.stdout, done.stderr
    assert done.returncode == 1 and "Bird.wingspan" in done.stderr and NO_NUMBER in done.stderr
    done = run("convert", zoo, tmp_path / "other.sqlite", "--check")
    assert done.returncode == 0 and "all equal" in done.stdout, done.stderr
    found = run("fetch", tmp_path / "other.sqlite", "Bird", "name == 'emu'", "--format", "json").stdout
    assert json.loads(found)[0]["wingspan"] == "Infinity"


def test_files_without_objects_are_reported(tmp_path: Path) -> None:
    done, _ = loaded(tmp_path, "", "json")
    assert done.returncode == 1 and "N.json:1: the file is empty" in done.stderr
    done, found = loaded(tmp_path, 'a\n1\n\n2\n""\n\n', "csv")
    assert (done.returncode, sorted(a for a, _ in found)) == (0, ["", "1", "2"])
    done, _ = loaded(tmp_path, '{"a":"1"}\n'.encode("utf-16"), "jsonl")
    assert done.returncode == 1 and "iconv" in done.stderr
    assert done.stderr.count("N.jsonl") == 1


def test_numbers_may_be_reference_names(tmp_path: Path) -> None:
    done, found = loaded(tmp_path, '{"@id":1,"a":"1"}\n{"@id":2,"a":"2","boss":1,"staff":[1]}\n', "jsonl")
    assert (done.returncode, done.stderr, len(found)) == (0, "", 2)
    spec: dict[str, dict[str, Any]] = {"D": {"d": "double"}}
    done = run("load", store(tmp_path / "d.sqlite", spec), "--entity", "D", input='{"d":"0x10"}')
    assert done.returncode == 1 and 'D.d: "0x10" is not a decimal number' in done.stderr, done.stderr


# Digits


def test_decimal_digits_beyond_double_precision_are_kept(tmp_path: Path) -> None:
    spec = {"N": {"price": "decimal?", "size": "double?", "text": "string?"}}
    path, copy = store(tmp_path / "one.xml", spec, "XML"), store(tmp_path / "two.xml", spec, "XML")
    model = store(tmp_path / "model.sqlite", spec)
    numbers = ["123456789012345678.25", "0.10000000000000000001", "0.1", "1.5"]
    text = "".join(f'{{"price": {each}, "size": {each}, "text": {each}}}\n' for each in numbers)
    done = run("load", path, "--entity", "N", "--model", model, input=text)
    assert (done.returncode, done.stderr) == (0, "")
    found = run("fetch", path, "N", "--format", "json", "--model", model)
    done = run("load", copy, "--entity", "N", "--format", "json", "--model", model, input=found.stdout)
    assert (done.returncode, done.stderr) == (0, "")
    with Container(Model(spec), copy, type="XML") as container:
        got = {(each.price, each.size, each.text) for each in container.fetch("N")}
    assert got == {(Decimal(each), float(each), each) for each in numbers}


@pytest.mark.parametrize(
    ("number", "kept"),
    [
        ("1." + "1" * 38, "1." + "1" * 37),
        ("1" * 39, "1" * 38 + "0"),
        ("0." + "9" * 50, "1"),
        ("-2." + "6" * 40, "-2." + "6" * 36 + "7"),
    ],
)
def test_digits_beyond_38_are_rounded(tmp_path: Path, number: str, kept: str) -> None:
    spec = {"N": {"price": "decimal?", "size": "double?"}}
    path, model = store(tmp_path / "one.xml", spec, "XML"), store(tmp_path / "model.sqlite", spec)
    lines = "".join(f'{{"price": {price}, "size": {number}}}\n' for price in (number, f'"{number}"'))
    done = run("load", path, "--entity", "N", "--model", model, input=lines)
    assert (done.returncode, done.stderr) == (0, "")
    with Container(Model(spec), path, type="XML") as container:
        got = {(each.price, each.size) for each in container.fetch("N")}
    assert got == {(Decimal(kept), float(number))}


# Values of a file, as stored in the attribute

KINDS: dict[str, dict[str, Any]] = {
    "A": {
        "name": "string?", "b": "bool?", "i": "int16?", "l": "int64?", "d": "decimal?", "f": "float?", "r": "double?",
        "t": "date?", "x": "binary?", "u": "uuid?", "h": "uri?", "req": "string = dflt", "tr": "string? transient",
        "w": {"lat": "double?", "town": "string?"},
    },
    "B": {"@parent": "A", "more": "int32?"},
}  # fmt: skip


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return store(tmp_path_factory.mktemp("kinds") / "kinds.sqlite", KINDS)


def taken(kinds: Path, folder: Path, text: str, key: str, *words: str) -> tuple[Any, str]:
    """The value that a line sets, and the message if the line is rejected."""
    path = folder / "new.xml"
    path.unlink(missing_ok=True)
    done = run("load", path, "--type", "XML", "--model", kinds, "--entity", "A", *words, input=text)
    if done.returncode != 0:
        assert done.returncode == 1 and not path.exists()
        return None, done.stderr
    columns = key if key != "w" else "w.lat,w.town"
    found = run("fetch", path, "A", "--model", kinds, "--columns", columns, "--format", "json")
    (row,) = json.loads(found.stdout, parse_float=Decimal)
    return (row[key] if key != "w" else (row["w.lat"], row["w.town"])), done.stderr


NO_TEXT_FOR = "cannot be converted to this type"
NO_NUMBER = "which some stores cannot keep"
ID = "12345678-1234-5678-1234-567812345678"
CELLS: list[tuple[str, str, Any]] = [
    ("b", "true", True), ("b", "TRUE", True), ("b", "yes", True), ("b", "1", True),
    ("b", "false", False), ("b", "No", False), ("b", "0", False),
    ("i", "32767", 32767), ("i", "-32768", -32768), ("i", "+5", 5), ("l", "9223372036854775807", 2**63 - 1),
    ("d", "1.10", Decimal("1.1")), ("d", "1e3", 1000), ("f", "0.1", Decimal("0.10000000149011612")),
    ("r", "1.5e3", 1500),
    ("t", "2024-02-29", "2024-02-29T00:00:00Z"), ("t", "2024-02-29T12:34:56.5Z", "2024-02-29T12:34:56.5Z"),
    ("t", "2024-02-29T12:34:56+02:00", "2024-02-29T10:34:56Z"), ("t", "2024-02-29T12:34:56", "2024-02-29T12:34:56Z"),
    ("t", "1.0", "2001-01-01T00:00:01Z"), ("t", "-1e3", "2000-12-31T23:43:20Z"),
    ("t", "+.5", "2001-01-01T00:00:00.5Z"), ("t", "1E1", "2001-01-01T00:00:10Z"), ("t", "", None),
    ("x", "AAEC", "AAEC"), ("x", "", None), ("x", '""', ""), ("u", ID, ID), ("h", "https://a", "https://a"),
    ("req", "", "dflt"), ("req", '""', ""), ("name", '""', ""), ("name", "", None), ("name", " a ", " a "),
    ("w.lat", "1.5", Decimal("1.5")), ("w.town", "x", "x"),
]  # fmt: skip
REFUSED_CELLS = [
    ("b", "maybe", f'A.b takes Boolean, but "maybe" {NO_TEXT_FOR}'), ("b", '""', NO_TEXT_FOR),
    ("b", "2", NO_TEXT_FOR), ("i", "32768", "takes -32768 to 32767 (Integer 16), not 32768"), ("i", "1.0", NO_TEXT_FOR),
    ("i", " 5", NO_TEXT_FOR), ("l", "9223372036854775808", NO_TEXT_FOR), ("d", "abc", NO_TEXT_FOR),
    ("f", "1e40", NO_NUMBER), ("f", "NaN", NO_NUMBER), ("r", "NaN", NO_NUMBER), ("r", "Infinity", NO_NUMBER),
    ("r", "-Infinity", NO_NUMBER), ("r", "0X10", 'A.r: "0X10" is not a decimal number'),
    ("r", "0x10", 'A.r: "0x10" is not a decimal number'), ("t", "2024-02-30", "expected a day from 01 to 29"),
    ("t", "1e", "is not a date"), ("t", "--1.0", "is not a date"), ("t", "NaN", "A.t is nan seconds"),
    ("t", "inf", "A.t is inf seconds"), ("t", "-Infinity", "A.t is -inf seconds"), ("x", "AAE", NO_TEXT_FOR),
    ("u", "123", NO_TEXT_FOR), ("w.lat", "east", NO_TEXT_FOR),
]  # fmt: skip
MEMBERS: list[tuple[str, str, Any]] = [
    ("b", '"true"', True), ("b", '"YES"', True), ("b", "1", True), ("b", "0", False), ("b", "true", True),
    ("b", "null", None), ("i", '"7"', 7), ("i", "7.0", 7), ("l", "9223372036854775807", 2**63 - 1), ("l", "1e3", 1000),
    ("d", "1.10", Decimal("1.1")), ("d", '"1.10"', Decimal("1.1")), ("r", "1", 1), ("r", '"1.5"', Decimal("1.5")),
    ("t", "1.5", "2001-01-01T00:00:01.5Z"), ("t", "2", "2001-01-01T00:00:02Z"),
    ("t", '"2024-02-29"', "2024-02-29T00:00:00Z"), ("x", '"AAEC"', "AAEC"), ("name", "1", "1"),
    ("name", "true", "true"), ("name", "null", None), ("h", '"https://a"', "https://a"), ("u", f'"{ID}"', ID),
    ("w", '{"lat": 1.5, "town": "x"}', (Decimal("1.5"), "x")), ("w", '{"town": "x"}', (None, "x")),
    ("w", "null", (None, None)), ("w.town", '"x"', "x"),
]  # fmt: skip
REFUSED_MEMBERS = [
    ("b", "2", "A.b takes Boolean, 0 or 1, not an integer (2)"),
    ("b", "1.0", "takes Boolean, not a floating-point number"),
    ("b", '""', NO_TEXT_FOR), ("i", "7.5", "A.i takes Integer 16, not a floating-point number (7.5)"),
    ("i", '"x"', NO_TEXT_FOR), ("r", '"NaN"', NO_NUMBER), ("t", '"1.5"', "is not a date"),
    ("t", '"NaN"', "A.t is nan seconds"), ("t", "true", "A.t takes Date, not a boolean"),
    ("x", "1", "A.x takes Binary Data, not an integer (1)"), ("u", "1", "A.u takes UUID, not an integer (1)"),
    ("req", "null", "A.req is required"),
    ("w", '{"lot": 1}', 'A does not have a property "w.lot" (the value is 1); did you mean "w.lat"? Use'),
]  # fmt: skip


def test_csv_cells_are_converted(kinds: Path, tmp_path: Path) -> None:
    for key, cell, expected in CELLS:
        found = taken(kinds, tmp_path, f"{key},@id\n{cell},q\n", key, "--format", "csv")
        assert found == (expected, ""), (key, cell)


def test_invalid_csv_cells_are_reported(kinds: Path, tmp_path: Path) -> None:
    for key, cell, words in REFUSED_CELLS:
        _, told = taken(kinds, tmp_path, f"{key},@id\n{cell},q\n", key, "--format", "csv")
        assert told.startswith("corestone: standard input:2: ") and words in told, (key, cell, told)


def test_json_members_are_converted(kinds: Path, tmp_path: Path) -> None:
    for key, member, expected in MEMBERS:
        found = taken(kinds, tmp_path, f'{{"{key}": {member}}}\n', key)
        assert found == (expected, ""), (key, member)


def test_invalid_json_members_are_reported(kinds: Path, tmp_path: Path) -> None:
    for key, member, words in REFUSED_MEMBERS:
        _, told = taken(kinds, tmp_path, f'{{"{key}": {member}}}\n', key)
        assert told.startswith("corestone: standard input:1: ") and words in told, (key, member, told)


def test_transient_attributes_are_ignored(kinds: Path, tmp_path: Path) -> None:
    assert taken(kinds, tmp_path, '{"tr": 5, "name": "a"}\n', "name") == ("a", "")


def test_new_store_has_the_requested_type(kinds: Path, tmp_path: Path) -> None:
    for words, kind in (([], "SQLite"), (["--type", "binary"], "Binary"), (["--type", "xml"], "XML")):
        path = tmp_path / f"new.{kind}"
        done = run("load", path, "--model", kinds, "--entity", "A", *words, input='{"name": "a"}\n')
        assert (done.returncode, done.stdout) == (0, f"loaded 1 object into {path}\n")
        assert json.loads(run("metadata", path, "--format", "json").stdout)["NSStoreType"] == kind
    refused = run("load", tmp_path / "x", "--model", kinds, "--type", "parquet", input="")
    assert refused.returncode == 2 and "is not a store type" in refused.stderr


def test_skip_unknown_ignores_unknown_properties(kinds: Path, tmp_path: Path) -> None:
    for text, words in (
        ('{"name": "a", "colour": 1, "w": {"lot": 2, "town": "x"}}\n', []),
        ("name,colour,w.lot,w.town\na,1,2,x\n", ["--format", "csv"]),
    ):
        _, told = taken(kinds, tmp_path, text, "name", *words)
        assert told.count("standard input:") == 1 and 'A does not have a property "colour"' in told
        _, told = taken(kinds, tmp_path, text.replace("colour", "tr"), "name", *words)
        assert told.count("standard input:") == 1 and 'A does not have a property "w.lot"' in told
        assert taken(kinds, tmp_path, text, "name", *words, "--skip-unknown") == ("a", "")
        assert taken(kinds, tmp_path, text, "w", *words, "--skip-unknown") == ((None, "x"), "")


def test_empty_cell_of_a_related_entity_is_accepted(kinds: Path, tmp_path: Path) -> None:
    assert taken(kinds, tmp_path, "name,more\na,\n", "name", "--format", "csv") == ("a", "")
    _, told = taken(kinds, tmp_path, "name,more\na,1\n", "name", "--format", "csv")
    assert 'A does not have a property "more"' in told
    _, told = taken(kinds, tmp_path, "name,mre\na,\n", "name", "--format", "csv")
    assert 'A does not have a property "mre"' in told


def test_csv_separator_can_be_set(kinds: Path, tmp_path: Path) -> None:
    for mark, word in ((";", ";"), ("\t", "tab"), ("|", "|")):
        text = f'name{mark}i\n"a{mark}b,c"{mark}5\n'
        assert taken(kinds, tmp_path, text, "name", "--format", "csv", "--separator", word) == (f"a{mark}b,c", "")
        assert taken(kinds, tmp_path, text, "i", "--format", "csv", "--separator", word) == (5, "")
    for wrong in ('"', "ab", "", "é", "\n"):
        refused = run("load", kinds, "--separator", wrong, input="")
        assert refused.returncode == 2 and "--separator must be tab or one ASCII character" in refused.stderr


def test_map_option_renames_columns(kinds: Path, tmp_path: Path) -> None:
    assert taken(kinds, tmp_path, "a,i\nx,1\n", "name", "--format", "csv", "--map", "a=name") == ("x", "")
    assert taken(kinds, tmp_path, "a,i\nx,y\n", "name", "--format", "csv", "--map", "a=name", "--map", "i=") == (
        "x",
        "",
    )
    for maps, message in (
        (["name"], '--map takes COLUMN=KEY, not "name"'),
        (["=name"], '--map takes COLUMN=KEY, not "=name"'),
        (["a=name", "a=i"], '--map contains the column "a" twice'),
        (["nam=i"], 'standard input does not have a column "nam"; did you mean "name"?'),
        (
            ["a=name"],
            'standard input:1: the columns "name" and "a" are both loaded as "name"; use --map "name=" to skip one',
        ),
    ):
        words = [word for each in maps for word in ("--map", each)]
        refused = run("load", kinds, "--entity", "A", "--format", "csv", *words, input="name,a\n1,2\n")
        assert (refused.returncode, refused.stdout) == (2, "")
        assert message in refused.stderr
    refused = run("load", kinds, "--entity", "A", "--map", "a=b", input="")
    assert refused.returncode == 2
    assert "--map only applies to csv, but standard input is read as jsonl" in refused.stderr


def test_entity_is_taken_from_line_option_or_file_name(kinds: Path, tmp_path: Path) -> None:
    """@entity says it, else --entity, else the name of the file, in any case."""
    path = tmp_path / "new.sqlite"
    file = tmp_path / "b.part.csv"
    file.write_text("@entity,name\n,one\nA,two\n")
    assert run("load", path, file, "--model", kinds).returncode == 0
    assert run("load", path, file, "--entity", "A").returncode == 0
    found = run("fetch", path, "A", "--columns", "@entity,name", "--sort", "name", "--format", "csv").stdout
    assert sorted(found.splitlines()[1:]) == ["A,one", "A,two", "A,two", "B,one"]
    (tmp_path / "other.csv").write_text("name\none\n")
    refused = run("load", path, tmp_path / "other.csv")
    assert refused.returncode == 1 and "other.csv:2: the record does not have an entity" in refused.stderr
    (tmp_path / "other.json").write_text('[{"@entity": "A", "name": "one"}, {"name":\n"two"}]')
    refused = run("load", path, tmp_path / "other.json")
    assert refused.returncode == 1 and "other.json:1: the record does not have an entity" in refused.stderr
    refused = run("load", path, file, "--entity", "C")
    assert (refused.returncode, refused.stdout) == (2, "")


def test_load_reads_several_files_and_standard_input(kinds: Path, tmp_path: Path) -> None:
    (tmp_path / "A.csv").write_text("name\none\n")
    (tmp_path / "two.json").write_text('[{"@entity": "A", "name": "two"}]')
    path = tmp_path / "new.sqlite"
    done = run(
        "load", path, tmp_path / "A.csv", "-", tmp_path / "two.json", "--model", kinds,
        input='{"@entity": "B", "name": "three"}',
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, f"loaded 3 objects into {path}\n")
    found = run("fetch", path, "A", "--columns", "name,@entity", "--sort", "name", "--format", "csv")
    assert found.stdout.splitlines()[1:] == ["one,A", "three,B", "two,A"]
    folder = run("load", path, tmp_path)
    assert folder.returncode == 3 and f"{tmp_path} is a folder, not a file; pass the files in it" in folder.stderr
    missing = run("load", path, tmp_path / "none.jsonl")
    assert missing.returncode == 3 and "cannot read" in missing.stderr


def test_dry_run_reports_and_saves_nothing(kinds: Path, tmp_path: Path) -> None:
    path = tmp_path / "new.sqlite"
    text = '{"name": "a"}\n{"name": "b"}\n'
    done = run("load", path, "--model", kinds, "--entity", "A", "--dry-run", input=text)
    assert (done.returncode, done.stdout) == (0, f"would load 2 objects into {path}\n")
    assert not path.exists()
    wrong = run("load", path, "--model", kinds, "--entity", "A", "--dry-run", input=text + '{"i": "x"}\n')
    assert wrong.returncode == 1 and wrong.stdout.startswith(f"nothing would be loaded into {path} because ")
    before = kinds.read_bytes()
    done = run("load", kinds, "--entity", "A", "--dry-run", "--batch", "1", input=text)
    assert (done.returncode, done.stdout) == (0, f"would load 2 objects into {kinds}\n")
    assert kinds.read_bytes() == before


def test_duplicate_names_and_names_of_other_entities_are_rejected(tmp_path: Path) -> None:
    spec = folders("nullify")
    path = store(tmp_path / "notes.sqlite", spec)
    text = lines(
        {"@id": "f", "@entity": "Folder", "name": "f"},
        {"@id": "f", "@entity": "Note", "body": "twice"},
        {"@id": "t", "@entity": "Tag", "name": "t"},
        {"@entity": "Note", "body": "x", "folder": "t"},
        {"@entity": "Note", "body": "y", "folder": True},
        {"@id": ["f"], "@entity": "Note"},
        {"@entity": 5, "body": "z"},
        {"@entity": "Note", "body": "good", "folder": "f"},
    )
    done = run("load", path, "--keep-going", input=text)
    told = [line.removeprefix("corestone: standard input:") for line in done.stderr.splitlines()]
    assert [line[0] for line in told] == ["2", "4", "5", "6", "7"], done.stderr
    assert 'the @id "f" belongs to an earlier object; use each @id once' in told[0]
    assert "Note.folder takes objects of Folder, not of Tag" in told[1]
    assert "Note.folder takes the name of one object (@id)" in told[2]
    assert "@id must be a string or a 64-bit integer, not" in told[3]
    assert "; 5 mistakes" in done.stdout
    assert rows(path, spec, "Note", "body") == ["good"]


def test_damaged_log_of_a_store_without_a_model_keeps_its_remedy(tmp_path: Path) -> None:
    path = tmp_path / "notes.sqlite"
    spec: dict[str, dict[str, Any]] = {"Note": {"text": "string"}}
    store(path, spec)
    with closing(sqlite3.connect(path)) as database:
        database.executescript("DROP TABLE Z_MODELCACHE")
    with Container(Model(spec), path) as container:
        context = container.context()
        for _ in range(3):
            context.insert("Note", text="note")
            context.save()
        log = bytearray((tmp_path / "notes.sqlite-wal").read_bytes())
        whole = path.read_bytes()
    path.write_bytes(whole)
    given = tmp_path / "Note.ndjson"
    given.write_text(lines({"text": "new"}))
    found = run("load", path, given)
    assert "inferred from its tables; add --model MODEL to use the original model" in " ".join(found.stderr.split())
    log[32 + 24 + 200] ^= 4
    (tmp_path / "notes.sqlite-wal").write_bytes(log)
    found = run("load", path, given)
    assert found.returncode != 0 and "restore the store and its log from the same backup" in found.stderr


def test_abstract_entity_cannot_be_loaded(zoo: Path, tmp_path: Path) -> None:
    done = run("load", tmp_path / "new.sqlite", "--model", zoo, input='{"@entity": "Animal", "name": "x"}\n')
    assert done.returncode == 1
    assert "standard input:1: Animal is abstract and cannot have objects" in done.stderr


# What relationships lead to


@pytest.fixture
def groups(tmp_path: Path) -> tuple[Path, dict[str, str]]:
    """A store with three tags, a person who has the first, groups of which two have one title; and the URIs of all."""
    spec: dict[str, dict[str, Any]] = {
        "Person": {"@unique": ["mail"], "mail": "string", "rank": "int32 = 5", "tags": "to-many Tag inverse people",
                   "group": "to-one Group? inverse people"},
        "Tag": {"name": "string", "people": "to-many Person inverse tags"},
        "Group": {"title": "string?", "people": "to-many Person inverse group"},
    }  # fmt: skip
    path = tmp_path / "groups.sqlite"
    with Container(Model(spec), path) as container:
        context = container.context()
        made = {name: context.insert("Tag", name=name) for name in "abc"}
        made.update((title, context.insert("Group", title=title)) for title in ("x", "y"))
        context.insert("Group", title="x")
        made["ada"] = context.insert("Person", mail="ada", tags={made["a"]}, group=made["y"])
        context.save()
        return path, {name: object_id(each).uri for name, each in made.items()}


def dumped(path: Path, entity: str, *words: str | Path) -> list[dict[str, Any]]:
    found = run("dump", path, entity, *words)
    assert (found.returncode, found.stderr) == (0, "")
    return [json.loads(line) for line in found.stdout.splitlines()]


def test_members_may_be_named_by_uri_or_file_name(groups: tuple[Path, dict[str, str]]) -> None:
    path, uris = groups
    text = lines(
        {"@entity": "Person", "mail": "ada", "tags": [uris["b"], "new"]},
        {"@entity": "Tag", "@id": "new", "name": "new"},
        {"@entity": "Person", "mail": "bob", "tags": uris["c"], "group": uris["x"]},
        {"@entity": "Person", "mail": "eve", "group": None, "tags": None},
        {"@entity": "Person", "mail": "ada", "tags": []},
    )
    done = run("load", path, "--upsert", input=text)
    assert (done.returncode, done.stdout) == (0, f"loaded 3 objects, changed 2 into {path}\n")
    assert [(each["mail"], each["group"], each["tags"]) for each in dumped(path, "Person")] == [
        ("ada", "Group/p2", ["Tag/p1", "Tag/p2", "Tag/p4"]), ("bob", "Group/p1", ["Tag/p3"]), ("eve", None, []),
    ]  # fmt: skip
    done = run("load", path, "--upsert", "--entity", "Person", "--format", "csv", input="mail,group,tags\nada,,\n")
    assert done.returncode == 0
    assert [(each["group"], len(each["tags"])) for each in dumped(path, "Person", "mail == 'ada'")] == [(None, 3)]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"group.title": "x"}, 'Person.group: more than one object has the value "x" for Group.title'),
        ({"group.title": "z"}, 'Person.group: an object with the value "z" for Group.title does not exist'),
        (
            {"group": "x-coredata://ABC/Group/p1"},
            'Person.group refers to "x-coredata://ABC/Group/p1", which is not the URI of an object in the store',
        ),
        ({"group": "{a}"}, "Person.group takes objects of Group, not of Tag"),
        ({"tags": ["{a}", "none"]}, 'Person.tags refers to "none", which is not the @id of a loaded object'),
    ],
)
def test_invalid_relationship_targets_are_rejected(
    groups: tuple[Path, dict[str, str]], line: dict[str, Any], message: str
) -> None:
    path, uris = groups
    before = path.read_bytes()
    text = lines({"mail": "bob", **line}).replace("{a}", uris["a"])
    done = run("load", path, "--entity", "Person", input=text)
    assert (done.returncode, done.stdout.split(" because ")[0]) == (1, f"nothing was loaded into {path}")
    assert f"standard input:1: {message}" in done.stderr
    assert path.read_bytes() == before


def test_target_named_by_several_lines_is_found(groups: tuple[Path, dict[str, str]]) -> None:
    path, _ = groups
    text = "mail,group.title\nbob,y\neve,\nfay,y\n"
    done = run("load", path, "--entity", "Person", "--format", "csv", input=text)
    assert (done.returncode, done.stderr) == (0, "")
    assert [(each["mail"], each["group"]) for each in dumped(path, "Person")] == [
        ("ada", "Group/p2"), ("bob", "Group/p2"), ("eve", None), ("fay", "Group/p2"),
    ]  # fmt: skip


def test_derived_attributes_are_computed_despite_given_values(tmp_path: Path) -> None:
    model = Model()
    model.entity("Note").attribute("name", "string").attribute(
        "upper", "string", optional=True, derived="uppercase:(name)"
    )
    Container(model, tmp_path / "notes.sqlite").close()
    for form, text in (("jsonl", '{"name": "a", "upper": "wrong"}\n'), ("csv", "name,upper\nb,wrong\n")):
        done = run("load", tmp_path / "notes.sqlite", "--entity", "Note", "--format", form, input=text)
        assert (done.returncode, done.stderr) == (0, "")
    assert [each["upper"] for each in dumped(tmp_path / "notes.sqlite", "Note")] == ["A", "B"]


def test_decimals_keep_38_digits(tmp_path: Path) -> None:
    spec = {"N": {"price": "decimal?"}}
    model = store(tmp_path / "model.sqlite", spec)
    numbers = ["1" * 38, "0." + "1" * 38, "-1." + "2" * 37, "7" * 38 + "000", "3e40"]
    text = "".join(f'{{"price": {each}}}\n{{"price": "{each}"}}\n' for each in numbers)
    for name, form, given in (("a.xml", "jsonl", text), ("b.binary", "csv", "price\n" + "\n".join(numbers) + "\n")):
        words: list[str | Path] = ["--model", model, "--type", name.split(".")[1], "--entity", "N", "--format", form]
        done = run("load", tmp_path / name, *words, input=given)
        assert (done.returncode, done.stderr) == (0, ""), form
        found = [Decimal(each["price"]) for each in dumped(tmp_path / name, "N", "--model", model)]
        expected = [Decimal(each) for each in numbers for _ in range(2 if form == "jsonl" else 1)]
        assert found == expected, form


def test_keep_going_saves_1000_lines_at_a_time(tmp_path: Path) -> None:
    """Each batch is in the store before the next line is read."""
    path = store(tmp_path / "customers.sqlite", CUSTOMERS)
    words = [str(TOOL), "load", str(path), "--entity", "Customer"]
    for more, saved in (([], 0), (["--keep-going"], 1000), (["--batch", "1001"], 1001), (["--batch", "1003"], 0)):
        process = subprocess.Popen([*words, *more], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert process.stdin is not None
        # The tool reads ahead in pieces, so it has seen them all when it waits for more.
        process.stdin.write(lines(*({"no": n} for n in range(1002))))
        process.stdin.flush()
        with closing(sqlite3.connect(path)) as database:
            for _ in range(500 if saved else 20):
                (count,) = database.execute("SELECT count(*) FROM ZCUSTOMER").fetchone()
                if count > 0:
                    break
                time.sleep(0.01)
            assert count == saved, more
        process.kill()
        process.communicate()
        with closing(sqlite3.connect(path)) as database:
            database.execute("DELETE FROM ZCUSTOMER")
            database.commit()
