"""The service and the folder of files of examples/stores, without the library: accesses by other programs."""

from __future__ import annotations

import json
import multiprocessing
import os
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from json_files import DamagedFileError, Entry, JSONFiles
from server import PAGE, Service, served


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with served(str(tmp_path / "objects.sqlite")) as opened:
        yield opened


def ask(service: Service, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any, Any]:
    data = None if body is None else json.dumps(body).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    request = urllib.request.Request(service.url + path, data, named, method=method)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.loads(answer.read()), answer.headers
    except urllib.error.HTTPError as failure:
        with failure:
            return failure.code, json.loads(failure.read()), failure.headers


def put(service: Service, where: str, version: int | None = None, **values: Any) -> tuple[int, Any, Any]:
    headers = {} if version is None else {"If_Match": f'"{version}"'}
    return ask(service, "PUT", f"/objects/{where}", {"values": values}, **headers)


def names(service: Service, entity: str, where: Any = None, **query: Any) -> list[str]:
    if where is not None:
        query["where"] = json.dumps(where)
    status, answer, _ = ask(service, "GET", f"/objects/{entity}?{urllib.parse.urlencode(query)}")
    assert status == 200, answer
    return [each["id"] for each in answer["objects"]]


def test_version_preconditions_guard_every_change(service: Service) -> None:
    assert put(service, "Person/a", name="Ada")[:2] == (200, {"id": "a", "version": 1})
    status, found, headers = ask(service, "GET", "/objects/Person/a")
    assert (status, found["values"], headers["ETag"]) == (200, {"name": "Ada"}, '"1"')
    assert put(service, "Person/a", name="Somebody else")[0] == 412
    assert put(service, "Person/a", 1, name="Ada Lovelace")[1]["version"] == 2
    status, answer, _ = put(service, "Person/a", 1, name="late")
    assert (status, answer["conflicts"]) == (412, [{"entity": "Person", "id": "a", "version": 2}])
    assert ask(service, "DELETE", "/objects/Person/a")[0] == 428
    assert ask(service, "DELETE", "/objects/Person/a", If_Match="2")[0] == 200
    assert ask(service, "GET", "/objects/Person/a")[0] == 404


def test_transaction_is_atomic(service: Service) -> None:
    put(service, "Person/a", name="Ada")
    put(service, "Person/b", name="Bob")
    steps: list[dict[str, Any]] = [
        {"method": "PUT", "path": "/objects/Person/c", "body": {"values": {}}},
        {"method": "PUT", "path": "/objects/Person/a", "if_match": "7", "body": {"values": {}}},
        {"method": "DELETE", "path": "/objects/Person/b", "if_match": "2"},
    ]
    status, answer, _ = ask(service, "POST", "/transaction", {"steps": steps})
    assert status == 412
    assert [(each["id"], each["version"]) for each in answer["conflicts"]] == [("a", 1), ("b", 1)]
    assert names(service, "Person") == ["a", "b"]
    steps[1]["if_match"], steps[2]["if_match"] = "1", "1"
    steps.append({"method": "CHECK", "path": "/objects/Person/d", "if_match": "1"})
    status, answer, _ = ask(service, "POST", "/transaction", {"steps": steps, "store": {"ours": 1}})
    assert (status, answer["conflicts"]) == (412, [{"entity": "Person", "id": "d", "version": None}])
    assert ask(service, "GET", "/store")[0] == 404
    put(service, "Person/d", name="Dora")
    given = {"steps": steps, "store": {"ours": 1}}
    assert ask(service, "POST", "/transaction", given)[1] == {"versions": [1, 2, 0, 1]}
    assert names(service, "Person") == ["a", "c", "d"]
    assert ask(service, "GET", "/store")[1] == {"ours": 1}
    assert ask(service, "PUT", "/store", {"ours": 2}, If_None_Match="*")[0] == 412


def test_conditions_sorts_and_limits_are_applied(service: Service) -> None:
    for place, age in enumerate([30, None, 10, 20]):
        put(service, f"Person/p{place}", **({} if age is None else {"age": age}))
    assert names(service, "Person", sort="age") == ["p1", "p2", "p3", "p0"]
    assert names(service, "Person", sort="-age", limit=2, offset=1) == ["p3", "p2"]
    assert names(service, "Person", ["<", "age", 25]) == ["p2", "p3"]
    assert names(service, "Person", ["not", ["<", "age", 25]]) == ["p0", "p1"]
    assert names(service, "Person", ["!=", "age", 10]) == ["p0", "p1", "p3"]
    assert names(service, "Person", ["=", "age", None]) == ["p1"]
    assert names(service, "Person", ["or", ["in", "age", [10, 99]], ["=", "age", 30]]) == ["p0", "p2"]
    assert names(service, "Person", ["and"]) == ["p0", "p1", "p2", "p3"]
    assert names(service, "Person", ["or"]) == []
    assert ask(service, "GET", "/count/Person?sort=age")[1] == {"count": 4}
    assert names(service, "Person", ids="p3,nobody,p0") == ["p0", "p3"]


def test_pages_cover_all_objects(service: Service) -> None:
    steps = [{"method": "PUT", "path": f"/objects/N/{n:04}", "body": {}} for n in range(2 * PAGE + 1)]
    assert ask(service, "POST", "/transaction", {"steps": steps})[0] == 200
    found: list[str] = []
    path: str | None = "/objects/N?fields=names"
    pages = 0
    while path:
        answer = ask(service, "GET", path)[1]
        found += [each["id"] for each in answer["objects"]]
        path, pages = answer.get("next"), pages + 1
    assert (len(found), len(set(found)), pages) == (2 * PAGE + 1, 2 * PAGE + 1, 3)


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/objects/Person?where=nothing", None),
        ("GET", '/objects/Person?where=["like","name","x"]', None),
        ("GET", '/objects/Person?where=["=","a\\"b",1]', None),
        ("GET", "/objects/Person?limit=-1", None),
        ("GET", "/objects/Person?offset=99999999999999999999", None),
        ("GET", "/objects/Person?cursor=nothing", None),
        ("GET", "/objects/Person?sort=age&cursor=WyJhIl0=", None),
        ("GET", "/objects/..%2Fetc/passwd", None),
        ("PUT", "/objects/Person/a", [1]),
        ("PUT", "/objects/Person/a", None),
        ("POST", "/transaction", {"steps": [{"method": "PUT"}]}),
        ("POST", "/transaction", 7),
        ("POST", "/transaction", {"steps": [{"method": "CHECK", "path": "/objects/Person/a", "body": {}}]}),
    ],
)
def test_invalid_request_is_rejected(service: Service, method: str, path: str, body: Any) -> None:
    status, answer, _ = ask(service, method, urllib.parse.quote(path, safe="/?=&%"), body)
    assert status == 400, answer
    assert answer["error"]
    assert ask(service, "GET", "/count/Person")[1] == {"count": 0}


# -------- the folder -----------------------------------------------------------------------------------------


def content(version: int, **values: Any) -> dict[str, Any]:
    return {"version": version, "values": values, "links": {}}


def test_unchanged_files_are_not_reread(tmp_path: Path) -> None:
    files = JSONFiles(tmp_path)
    files.commit({"P/a.json": content(1, name="Ada"), "P/b.json": content(1, name="Bob")})
    read = files.files_read
    assert files.entries("P") == {"a": Entry(1, {"name": "Ada"}, {}), "b": Entry(1, {"name": "Bob"}, {})}
    assert files.files_read == read
    (tmp_path / "P" / "a.json").write_text(json.dumps(content(1, name="changed by hand")))
    assert files.entries("P")["a"] == Entry(2, {"name": "changed by hand"}, {})  # editing keeps the version
    assert files.files_read == read + 1
    (tmp_path / "P" / "b.json").unlink()
    assert set(files.entries("P")) == {"a"}


def test_interrupted_transaction_is_completed(tmp_path: Path) -> None:
    files = JSONFiles(tmp_path)
    files.commit({"P/a.json": content(1), "P/b.json": content(1)})
    journal = tmp_path / ".journal"
    journal.mkdir()
    (journal / "0.json").write_text(json.dumps(content(2, name="new")))
    (journal / "9.json").write_text("{")
    assert JSONFiles(tmp_path).entries("P")["a"].version == 1  # it had not come to its commit
    (journal / "commit.json").write_text(json.dumps({"P/a.json": "0.json", "P/b.json": None, "Q/c.json": "gone.json"}))
    assert JSONFiles(tmp_path).entries("P") == {"a": Entry(2, {"name": "new"}, {})}
    assert not journal.exists()


def test_invalid_object_file_is_named(tmp_path: Path) -> None:
    files = JSONFiles(tmp_path)
    files.commit({"P/a.json": content(1)})
    for text in ("{", "[]", '{"version": "one"}', '{"values": 7}'):
        (tmp_path / "P" / "a.json").write_text(text)
        with pytest.raises(DamagedFileError, match=r"P/a\.json"):
            files.entries("P")
    (tmp_path / "P" / "a.json").write_text("{}")
    (tmp_path / "P" / ".a.json.swp").write_text("what an editor leaves")
    assert files.entries("P") == {"a": Entry(1, {}, {})}


def test_invalid_version_is_named(tmp_path: Path) -> None:
    JSONFiles(tmp_path).commit({"P/a.json": content(1)})
    file = tmp_path / "P" / "a.json"
    for version in (-1, 2**31, True, 1.5, None, "1"):
        file.write_text(json.dumps({**content(1), "version": version}))
        with pytest.raises(DamagedFileError, match=r'P/a\.json: "version" is .*2147483647.*leave it out'):
            JSONFiles(tmp_path).entries("P")


def test_version_wraps_to_1_after_the_maximum(tmp_path: Path) -> None:
    """Also if a user edits a file without counting up its version."""
    files = JSONFiles(tmp_path)
    files.commit({"P/a.json": content(2**31 - 1, name="Ada")})
    (tmp_path / "P" / "a.json").write_text(json.dumps(content(2**31 - 1, name="by hand")))
    assert files.entries("P")["a"] == Entry(1, {"name": "by hand"}, {})


def _count_up(folder: str, times: int) -> None:
    files = JSONFiles(folder)
    for _ in range(times):
        with files.locked(exclusively=True):
            entry = files.some("P", ["a"])["a"]
            files.commit({"P/a.json": content(entry.version + 1, n=entry.values["n"] + 1), "P/b.json": content(1, n=1)})


def test_concurrent_processes_lose_no_change(tmp_path: Path) -> None:
    JSONFiles(tmp_path).commit({"P/a.json": content(1, n=0)})
    spawn = multiprocessing.get_context("spawn")
    both = [spawn.Process(target=_count_up, args=(str(tmp_path), 25)) for _ in range(2)]
    for each in both:
        each.start()
    for each in both:
        each.join(60)
    assert [each.exitcode for each in both] == [0, 0]
    assert JSONFiles(tmp_path).entries("P")["a"] == Entry(51, {"n": 50}, {})
    assert not os.path.exists(tmp_path / ".journal")
