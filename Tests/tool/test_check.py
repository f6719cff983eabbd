"""corestone check: intact stores, damaged ones, and files that are not stores."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import time
import uuid
from pathlib import Path

import pytest
from conftest import ROOT, TOOL, compare, make_versions, run, settled
from corestone import Container, Model


def broken(zoo: Path, folder: Path, sql: str) -> Path:
    copy = folder / "broken.sqlite"
    shutil.copy(zoo, copy)
    with sqlite3.connect(copy) as connection:
        connection.executescript(sql)
    connection.close()
    return copy


def test_check_of_an_intact_store_succeeds(zoo: Path) -> None:
    found = run("check", zoo)
    assert (found.returncode, found.stderr) == (0, "")
    compare("check-whole.txt", settled(found.stdout, zoo))
    report = json.loads(run("check", zoo, "--format", "json").stdout)
    assert report["ok"] is True and report["problems"] == []
    assert {"what": "objects", "count": 6} in report["examined"]


def test_check_of_a_damaged_store_lists_its_problems(zoo: Path, tmp_path: Path) -> None:
    store = broken(
        zoo, tmp_path,
        "UPDATE ZANIMAL SET ZKEEPER = 9 WHERE ZNAME = 'emu'; UPDATE Z_PRIMARYKEY SET Z_MAX = 1 WHERE Z_NAME = 'Animal';"
        "DELETE FROM ZANIMAL WHERE ZNAME = 'carp'",
    )  # fmt: skip
    found = run("check", store)
    assert (found.returncode, found.stderr) == (1, "")
    compare("check-broken.txt", settled(found.stdout, store))
    report = run("check", store, "--format", "json")
    assert report.returncode == 1
    problems = json.loads(report.stdout)["problems"]
    assert {problem["kind"] for problem in problems} == {"reference", "pair", "primaryKey"}
    assert next(problem for problem in problems if problem["kind"] == "reference")["key"] == "keeper"


def test_column_missing_from_the_store_is_reported(zoo: Path, tmp_path: Path) -> None:
    store = broken(zoo, tmp_path, "ALTER TABLE ZKEEPER DROP COLUMN ZWEIGHT")
    found = run("check", store)
    assert (found.returncode, found.stderr) == (1, "")
    assert "ZWEIGHT for Keeper.weight" in found.stdout
    assert "checked against a model inferred from its tables" in " ".join(found.stdout.split())
    report = json.loads(run("check", store, "--format", "json").stdout)
    assert report["modelSource"] == "inferred" and report["ok"] is False
    (problem,) = [problem for problem in report["problems"] if problem["kind"] == "metadata"]
    assert (problem["entity"], problem["key"]) == ("Keeper", "weight")


def test_invalid_primary_keys_are_reported(zoo: Path, tmp_path: Path) -> None:
    store = broken(zoo, tmp_path, "UPDATE ZKEEPER SET Z_PK = -5 WHERE Z_PK = 1")
    problems = json.loads(run("check", store, "--format", "json").stdout)["problems"]
    assert [problem["entity"] for problem in problems if problem["kind"] == "row"] == ["Keeper"]
    fetched = json.loads(run("fetch", store, "Keeper", "--format", "json").stdout)
    shown = json.loads(run("show", store, "--entity", "Keeper", "--format", "json").stdout)
    assert len(fetched) == shown["entities"][0]["count"] == 1


def test_check_fails_when_output_cannot_be_written(zoo: Path) -> None:
    with open("/dev/full", "w") as full:
        found = subprocess.run([TOOL, "check", zoo], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert found.returncode == 3 and "cannot write to standard output" in found.stderr


def test_missing_indexes_are_reported(tmp_path: Path) -> None:
    whole = tmp_path / "badges.sqlite"
    with Container(
        Model({"Badge": {"code": "string", "name": "string indexed", "@unique": [["code"]]}}), whole
    ) as container:
        context = container.context()
        for code in "ABC":
            context.insert("Badge", code=code, name="same")
        context.save()
    slow = broken(whole, tmp_path, "DROP INDEX Z_Badge_name")
    found = run("check", slow)
    assert (found.returncode, found.stderr) == (0, "")
    assert found.stdout.startswith("warning: the store does not have the index Z_Badge_name")
    assert "intact, with 1 warning" in found.stdout
    report = json.loads(run("check", slow, "--format", "json").stdout)
    assert report["ok"] is True and [each["kind"] for each in report["warnings"]] == ["speed"]
    store = broken(whole, tmp_path, "DROP INDEX Z_Badge_UNIQUE_code; UPDATE ZBADGE SET ZCODE = 'A'")
    for words in [["--apple"], []]:
        found = run("check", store, *words)
        assert (found.returncode, found.stderr) == (1, "")
        assert "CREATE UNIQUE INDEX Z_Badge_UNIQUE_code ON ZBADGE" in found.stdout
        assert '/Badge/p3 and 1 more have the same "code"' in found.stdout
    assert "refused: Badge.code: the store lacks the unique index" in run("check", store, "--apple").stdout


def test_apple_option_reports_whether_apple_accepts_the_store(zoo: Path, tmp_path: Path) -> None:
    found = run("check", zoo, "--apple")
    assert (found.returncode, found.stderr) == (0, "")
    compare("check-apple.txt", settled(found.stdout, zoo))
    apple = json.loads(run("check", zoo, "--apple", "--format", "json").stdout)["apple"]
    assert apple == {"accepted": True, "problems": [], "extrapolations": []}
    # No known store of Apple's has an attribute with both flags.
    both = tmp_path / "both.sqlite"
    Container(Model({"Photo": {"data": "binary? external preserved"}}), both).close()
    apple = json.loads(run("check", both, "--apple", "--format", "json").stdout)["apple"]
    assert [(each["entity"], each["property"]) for each in apple["extrapolations"]] == [("Photo", "data")]
    assert "extrapolated: Photo.data" in run("check", both, "--apple").stdout
    other = run("check", zoo, "--apple", "--model", ROOT / "examples/packages/Packages.xcdatamodeld")
    assert other.returncode == 3 and "Animal" in other.stderr + other.stdout
    store = broken(zoo, tmp_path, "UPDATE Z_PRIMARYKEY SET Z_MAX = -1 WHERE Z_NAME = 'Keeper'")
    found = run("check", store, "--apple")
    assert found.returncode == 1 and "would not accept it" in found.stdout


def test_extrapolation_alone_is_not_a_rejection(tmp_path: Path) -> None:
    """Whether something is extrapolated, and whether something is refused, are two questions."""
    extrapolated = {"data": "binary? external preserved"}
    for place, (photo, lost) in enumerate([({}, False), (extrapolated, False), ({}, True), (extrapolated, True)]):
        store = tmp_path / f"{place}.sqlite"
        Container(Model({"Photo": {"code": "string", "@unique": [["code"]], **photo}}), store).close()
        if lost:
            store = broken(store, tmp_path, "DROP INDEX Z_Photo_UNIQUE_code")
        found = run("check", store, "--apple")
        assert (found.returncode, found.stderr) == (int(lost), "")
        assert ("extrapolated: " in found.stdout) == bool(photo)
        assert ("refused: " in found.stdout) == lost
        last = found.stdout.splitlines()[-1]
        assert ("would not accept it" if lost else "would accept it") in last
        assert ("extrapolated rules" in last) == bool(photo)
        found = run("check", store, "--apple", "--format", "json")
        assert (found.returncode, found.stderr) == (int(lost), "")
        report = json.loads(found.stdout)
        assert (report["ok"], report["apple"]["accepted"]) == (not lost, not lost)
        assert len(report["apple"]["extrapolations"]) == bool(photo)
        assert bool(report["apple"]["problems"]) == lost


def test_intact_store_of_an_older_version_is_rejected_by_apple(tmp_path: Path) -> None:
    """It is of an older version of the model than an application would open it with."""
    bundle = make_versions(tmp_path)
    store = tmp_path / "App.sqlite"
    found = run("check", store, "--model", bundle)
    assert (found.returncode, found.stderr) == (0, "")
    found = run("check", store, "--model", bundle, "--apple")
    assert (found.returncode, found.stderr) == (1, "")
    assert "is intact, read by version App of the given model" in found.stdout
    assert "refused: Note: the entity's version hash in the model differs from that in the store" in found.stdout
    report = json.loads(run("check", store, "--model", bundle, "--apple", "--format", "json").stdout)
    assert (report["ok"], report["problems"], report["apple"]["accepted"]) == (False, [], False)


def test_damaged_database_is_a_problem_and_a_missing_store_an_error(zoo: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.sqlite"
    cut.write_bytes(zoo.read_bytes()[: zoo.stat().st_size // 2])
    assert run("check", cut).returncode == 1
    found = run("check", cut, "--apple")
    assert (found.returncode, found.stderr) == (1, "")
    assert "refused: " in found.stdout
    report = json.loads(run("check", cut, "--apple", "--format", "json").stdout)
    assert report["ok"] is False and report["apple"]["accepted"] is False
    for path, words in [(tmp_path / "missing.sqlite", "does not exist"), (Path(__file__), "not a store")]:
        found = run("check", path)
        assert (found.returncode, found.stdout) == (3, "")
        assert words in found.stderr


def test_fixture_stores_are_intact(fixtures: Path) -> None:
    whole = 0
    stores = [path for path in sorted((fixtures / "stores").rglob("*")) if path.is_file()]
    for path in stores:
        if path.read_bytes()[:15] != b"SQLite format 3":
            continue
        found = run("check", path)
        # The rows of these two were written without Core Data, which would have kept Z_MAX.
        if path.parent.name == "digitalorder":
            assert found.returncode == 1 and found.stdout.count("Z_MAX") == 2, path
            continue
        # The file of a migration that was not finished: it carries the new model and has the old tables.
        if path.name == "SampleModel_V2.sqlite":
            assert found.returncode == 1 and "does not have LuxuryCar" in found.stdout, path
            continue
        assert (found.returncode, found.stderr) == (0, ""), (path, found.stdout)
        whole += 1
    print(f"{whole} stores are whole")
    assert whole > 30


def test_damaged_log_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "notes.sqlite"
    with Container(Model({"Note": {"text": "string"}}), path) as container:
        context = container.context()
        for number in range(3):
            for _ in range(200):
                context.insert("Note", text=f"note {number}")
            context.save()
        log = bytearray((tmp_path / "notes.sqlite-wal").read_bytes())
        whole = path.read_bytes()
    path.write_bytes(whole)
    log[32 + 24 + 200] ^= 4
    (tmp_path / "notes.sqlite-wal").write_bytes(log)
    found = run("check", path)
    assert (found.returncode, found.stderr) == (1, "")
    assert found.stdout.startswith("log: the write-ahead log is damaged (frame 1), and 3 saves cannot be read")
    assert "read-only: the write-ahead log is damaged" in " ".join(run("show", path).stdout.split())
    shown = json.loads(run("show", path, "--format", "json").stdout)
    assert "3 saves" in shown["store"]["readOnlyReason"] and shown["entities"][0]["count"] == 0


def test_orphaned_files_are_reported_and_removed(tmp_path: Path) -> None:
    store = tmp_path / "album.sqlite"
    with Container(Model({"Photo": {"data": "binary? external"}}), store) as container:
        ctx = container.context()
        ctx.insert("Photo", data=bytes(150_000))
        ctx.save()
    assert "leftovers" not in run("check", store).stdout
    assert "leftovers: none" in run("check", store, "--remove-leftovers").stdout
    files = tmp_path / ".album_SUPPORT" / "_EXTERNAL_DATA"
    (used,) = files.iterdir()
    for _ in range(5):
        left = files / str(uuid.uuid4()).upper()
        left.write_bytes(bytes(100))
        os.utime(left, (time.time() - 3600,) * 2)
    found = run("check", store)
    assert found.returncode == 0
    assert "leftovers: 5 files with 500 bytes in " in found.stdout
    assert " and 2 more; run corestone check --remove-leftovers" in found.stdout.replace("\n", " ")
    report = json.loads(run("check", store, "--format", "json").stdout)
    assert report["ok"] is True
    leftovers = report["leftovers"]
    assert (len(leftovers["names"]), leftovers["bytes"], leftovers["removed"]) == (5, 500, False)
    assert (leftovers["folder"], leftovers["sharer"]) == (str(files), None)
    assert "leftovers: removed 5 files with 500 bytes from " in run("check", store, "--remove-leftovers").stdout
    assert list(files.iterdir()) == [used]
    shutil.copy(store, tmp_path / "album.backup")
    left.write_bytes(bytes(100))
    os.utime(left, (time.time() - 3600,) * 2)
    shared = run("check", store, "--remove-leftovers")
    assert shared.returncode == 3 and "album.backup" in shared.stderr
    assert left.exists()


def test_model_in_place_of_a_store_is_rejected(zoo: Path) -> None:
    model = ROOT / "examples/packages/Packages.xcdatamodeld"
    contents = next(model.rglob("contents"))
    for path in (str(model), f"{model}/", str(contents), str(contents.parent)):
        for words in (["check", path], ["check", path, "--apple"], ["fetch", path, "Package"]):
            found = run(*words)
            assert (found.returncode, found.stdout) == (3, "")
            assert "is a model" in found.stderr and f"{words[0]} takes a store" in found.stderr
            assert f"corestone show {path}" in found.stderr
    assert "is a folder" in run("check", ROOT / "examples").stderr


def test_apple_option_needs_a_model(zoo: Path, tmp_path: Path) -> None:
    store = broken(zoo, tmp_path, "DELETE FROM Z_MODELCACHE")
    assert run("check", store).returncode == 0
    found = run("check", store, "--apple")
    assert (found.returncode, found.stdout) == (3, "")
    assert "does not contain a readable model" in found.stderr and "--model MODEL" in found.stderr


def test_path_that_is_not_utf8_is_rejected(zoo: Path, tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path) + b"/caf\xe9"
    os.mkdir(folder)
    shutil.copy(os.fsencode(zoo), folder + b"/zoo.sqlite")
    for words in (["check"], ["show"], ["fetch"]):
        found = subprocess.run(
            [os.fsencode(TOOL), *map(os.fsencode, words), folder + b"/zoo.sqlite", b"Animal"],
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        assert (found.returncode, found.stdout) == (2, "")
        assert "is not valid UTF-8" in found.stderr
    # Where the path given is, and the one that it leads to is not.
    found = run("check", "zoo.sqlite", cwd=folder)
    assert found.returncode == 3 and "is relative to a path that is not UTF-8" in found.stderr
    link = tmp_path / "link.sqlite"
    os.symlink(folder + b"/zoo.sqlite", link)
    found = run("check", link)
    assert found.returncode == 3 and "resolves to a path that is not UTF-8" in found.stderr


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with everything that a file keeps: indexes, an R-tree, derived values, large values in files."""
    model = Model()
    note = model.entity("Note").attribute("name", "string").attribute("code", "string", optional=True)
    note.attribute("x", "double", optional=True).attribute("y", "double", optional=True)
    note.attribute("data", "binary", optional=True, external_storage=True)
    note.to_one("owner", "Owner", inverse="notes", optional=True).to_many("tags", "Tag", inverse="notes")
    note.index("byPlace", "x", "y", kind="rtree").index("byName", "name").unique("code")
    owner = model.entity("Owner").attribute("name", "string").to_many("notes", "Note", inverse="owner")
    owner.attribute("count", "int64", optional=True, derived="notes.@count")
    model.entity("Tag").attribute("name", "string").to_many("notes", "Note", inverse="tags")
    path = tmp_path_factory.mktemp("kept") / "kept.sqlite"
    with Container(model, path) as container:
        context = container.context()
        ada, tag = context.insert("Owner", name="Ada"), context.insert("Tag", name="t")
        for number in range(3):
            data = bytes(200_000 if number == 0 else 1)
            values = {"name": f"n{number}", "code": f"c{number}", "x": float(number), "y": 1.0, "data": data}
            context.insert("Note", **values, owner=ada, tags={tag})
        context.save()
    return path


# The damage; what heads its line, its kind, entity and key, whether it names an object; whether the store is whole.
DAMAGES = [
    ("UPDATE ZNOTE SET Z_OPT = 0 WHERE Z_PK = 2", "row", "row", "Note", None, True, False),
    ("UPDATE ZNOTE SET Z_ENT = 77 WHERE Z_PK = 1", "row", "row", "Note", None, True, False),
    ("DELETE FROM ZTAG", "pair", "pair", "Note", "tags", False, False),
    (
        "UPDATE Z_PRIMARYKEY SET Z_MAX = 2 WHERE Z_NAME = 'Note'",
        "primary key",
        "primaryKey",
        "Note",
        None,
        False,
        False,
    ),
    ("UPDATE ZOWNER SET ZCOUNT = 7", "derived", "derived", "Owner", "count", True, False),
    ("DROP TRIGGER Z_DA_ZNOTE_Owner_count_PARAMETER_DELETE", "derived", "derived", "Owner", "count", False, False),
    ("DROP INDEX Z_Note_UNIQUE_code", "constraint", "constraint", "Note", "code", False, False),
    ("DROP TRIGGER Z_RT_Note_byPlace_DELETE", "R-tree", "spatial", "Note", "x", False, False),
    ("DROP INDEX Z_Note_byName", "warning", "speed", "Note", "name", False, True),
    ("CREATE TRIGGER t AFTER INSERT ON ZNOTE BEGIN SELECT 1; END", "warning", "trigger", "Note", None, False, True),
    ("UPDATE ZNOTE SET ZDATA = NULL", "", "", None, None, False, True),
]


def test_each_kind_of_damage_is_reported(kept: Path, tmp_path: Path) -> None:
    for sql, head, kind, entity, key, has_object, is_whole in DAMAGES:
        shutil.copytree(kept.parent / ".kept_SUPPORT", tmp_path / ".broken_SUPPORT", dirs_exist_ok=True)
        store = broken(kept, tmp_path, sql)
        printed, told = run("check", store), run("check", store, "--format", "json")
        assert printed.returncode == told.returncode == (0 if is_whole else 1), sql
        report = json.loads(told.stdout)
        found = report["warnings" if is_whole else "problems"]
        assert (report["ok"], report["modelSource"], report["modelVersion"]) == (is_whole, "cached", None), sql
        assert report["problems" if is_whole else "warnings"] == [], sql
        if not kind:
            assert found == [] and printed.stdout.startswith(f"{store} is intact: ")
            continue
        first = next(each for each in found if each["kind"] == kind)
        assert list(first) == ["kind", "message", "entity", "key", "object"]
        assert {each["kind"] for each in found} == {kind}, sql
        assert (first["entity"], first["key"], first["object"] is not None) == (entity, key, has_object), sql
        lines = printed.stdout.splitlines()
        assert lines[0] == f"{head}: {found[0]['message']}", sql
        count = f"{len(found)} {'warning' if is_whole else 'problem'}{'s' if len(found) > 1 else ''}"
        verdict = f"{store} is intact, with {count}" if is_whole else f"{store} has {count}"
        assert lines[len(found)].startswith(f"{verdict}: "), sql


def test_missing_and_orphaned_files_are_reported(kept: Path, tmp_path: Path) -> None:
    store = broken(kept, tmp_path, "")
    (problem,) = json.loads(run("check", store, "--format", "json").stdout)["problems"]
    assert (problem["kind"], problem["entity"], problem["key"]) == ("externalData", "Note", "data")
    assert problem["object"].endswith("/Note/p1")
    assert run("check", store).stdout.startswith("external data: ")
    # The store whose rows refer to no file has one beside it, which is too young to be left over.
    shutil.copytree(kept.parent / ".kept_SUPPORT", tmp_path / ".broken_SUPPORT")
    with sqlite3.connect(store) as connection:
        connection.execute("UPDATE ZNOTE SET ZDATA = NULL")
    connection.close()
    (file,) = (tmp_path / ".broken_SUPPORT" / "_EXTERNAL_DATA").iterdir()
    for age, names in ((9 * 60, []), (11 * 60, [file.name])):
        os.utime(file, (time.time() - age,) * 2)
        report = json.loads(run("check", store, "--format", "json").stdout)
        assert (report["ok"], report["leftovers"]["names"]) == (True, names), age
        assert report["leftovers"]["bytes"] == (file.stat().st_size if names else 0)
    assert f"leftovers: 1 file with {file.stat().st_size} bytes in " in run("check", store).stdout
    assert file.exists()


def test_damaged_database_report_omits_unreadable_parts(zoo: Path, tmp_path: Path) -> None:
    store = tmp_path / "cut.sqlite"
    store.write_bytes(zoo.read_bytes()[:3000])
    found = run("check", store, "--format", "json")
    report = json.loads(found.stdout)
    assert (found.returncode, report["ok"], report["examined"]) == (1, False, [])
    assert (report["modelSource"], report["modelVersion"], report["leftovers"]) == (None, None, None)
    assert {each["kind"] for each in report["problems"]} == {"database"}
    files = tmp_path / ".cut_SUPPORT" / "_EXTERNAL_DATA"
    files.mkdir(parents=True)
    (files / str(uuid.uuid4()).upper()).write_bytes(b"x")
    os.utime(next(files.iterdir()), (time.time() - 3600,) * 2)
    assert json.loads(run("check", store, "--format", "json").stdout)["leftovers"] is None
    refused = run("check", store, "--remove-leftovers")
    assert (refused.returncode, refused.stdout) == (3, "")
    assert len(list(files.iterdir())) == 1


def test_check_names_the_source_of_its_model(zoo: Path, tmp_path: Path) -> None:
    bare = broken(zoo, tmp_path, "DROP TABLE Z_MODELCACHE")
    for words, source in (([], "inferred"), (["--model", str(zoo)], "given")):
        report = json.loads(run("check", bare, *words, "--format", "json").stdout)
        assert (report["ok"], report["problems"], report["modelSource"]) == (True, [], source)
        last = run("check", bare, *words).stdout
        assert ("checked against a model inferred from its tables" in " ".join(last.split())) == (source == "inferred")


def test_mismatched_model_still_reports_indexes_and_triggers(kept: Path, tmp_path: Path) -> None:
    shutil.copytree(kept.parent / ".kept_SUPPORT", tmp_path / ".broken_SUPPORT")
    gone = "DROP INDEX Z_Note_UNIQUE_code; DROP TRIGGER Z_DA_ZNOTE_Owner_count_PARAMETER_DELETE"
    store = broken(kept, tmp_path, f"ALTER TABLE ZTAG DROP COLUMN ZNAME; {gone}; DROP TRIGGER Z_RT_Note_byPlace_INSERT")
    report = json.loads(run("check", store, "--format", "json").stdout)
    assert (report["ok"], report["modelSource"], report["warnings"]) == (False, "inferred", [])
    assert sorted((each["kind"], each["entity"], each["key"] or "") for each in report["problems"]) == [
        ("constraint", "Note", "code"), ("derived", "Owner", "count"), ("metadata", "Tag", "name"),
        ("spatial", "Note", "x"),
    ]  # fmt: skip
