"""The two stores of examples/stores: the output of the programs, values, graphs, errors and other writers."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from corestone import (
    ConflictError,
    Container,
    Coordinator,
    CorestoneError,
    FetchRequest,
    MergePolicy,
    Model,
    ObjectGoneError,
    Predicate,
    StoreBusyError,
    StoreError,
)
from host_stores import EVERYTHING, PEOPLE, described, fill, known_type, recorded
from json_folder import JSONFolder
from programs import ROOT
from rest_store import RESTStore, ServiceError
from rest_store import Service as Connection
from server import Service, served

FOLDER, REST = "JSONFolder", "REST"
TASKS = [sys.executable, str(ROOT / "examples" / "stores" / "tasks.py")]


@pytest.fixture
def service() -> Iterator[Service]:
    with served() as service:
        yield service


@pytest.fixture(params=[FOLDER, REST])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def place(kind: str, tmp_path: Path) -> Iterator[str]:
    if kind == REST:
        with served() as service:
            yield service.url
    else:
        yield str(tmp_path / "folder")


# -------- the program ----------------------------------------------------------------------------------------


def tasks(*words: str, fails: bool = False) -> str:
    done = subprocess.run([*TASKS, *words], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode != 0) == fails, done.stdout + done.stderr
    return done.stderr if fails else done.stdout


def test_documented_session_prints_its_output(tmp_path: Path) -> None:
    server = subprocess.Popen(
        [sys.executable, str(ROOT / "examples" / "stores" / "server.py"), "--file", str(tmp_path / "tasks.sqlite")],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        page = (ROOT / "examples" / "stores" / "README.md").read_text(encoding="utf-8")
        shown = 0
        for block in re.findall(r"(?:^    .*\n)+", page, re.MULTILINE):
            for command, answer in re.findall(r"    \$ python tasks\.py (.*)\n((?:    (?!\$).*\n)*)", block):
                if "503" in answer or ":9/" in answer:
                    continue
                words = [word.strip('"') for word in re.findall(r'"[^"]*"|\S+', command)]
                words = [word.replace("http://127.0.0.1:8080", url) for word in words]
                words = [str(tmp_path / word) if word == "tasks" else word for word in words]
                expected = re.sub(r"^    ", "", answer, flags=re.MULTILINE).replace("http://127.0.0.1:8080", url)
                assert tasks(*words) == expected, command
                shown += 1
        assert shown == 5
        assert tasks(url, "done", "Buy a tree") == "done Buy a tree\n"
        assert tasks(url, "list", "--open") == ". 0  Write cards  #home  #post\n1 of 2\n"
        assert tasks(url, "list", "--tag", "post") == ". 0  Write cards  #home  #post\n1 of 2\n"
        assert tasks(url, "remove", "Write cards") == "removed Write cards\n"
        assert "no task" in tasks(url, "done", "Write cards", fails=True)
        assert tasks(url, "copy", str(tmp_path / "back")) == f"copied to {tmp_path / 'back'}\n"
        assert tasks(str(tmp_path / "back"), "list").endswith("1 of 1\n")
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(10)
    assert re.search(r"^GET http://127\.0\.0\.1:\d+/store: .*refused", tasks(url, "list", fails=True))


# -------- values and graphs ----------------------------------------------------------------------------------


def test_every_value_and_relationship_type_round_trips(kind: str, place: str) -> None:
    with Container(Model(EVERYTHING), place, type=kind) as container:
        fill(container.context())
        before = described(container.context())
    with Container(Model(EVERYTHING), place, type=kind) as container:
        ctx = container.context()
        assert described(ctx) == before
        thing = ctx.first("Thing", "large < 0")
        thing.steps.insert(0, thing.steps[2])
        thing.tags.discard(ctx.first("Tag", "name == 'y'"))
        ctx.delete(ctx.first("Part", "name == 'a'"))
        ctx.save()
        changed = described(ctx)
        assert changed != before
    with Container(Model(EVERYTHING), place, type=kind) as container:
        assert described(container.context()) == changed


def test_migration_from_sqlite_and_back_keeps_all_values(kind: str, place: str, tmp_path: Path) -> None:
    with Container(Model(EVERYTHING), tmp_path / "a.sqlite") as container:
        fill(container.context())
        before = described(container.context())
        coordinator = container.coordinator
        container.store = coordinator.migrate_store(container.store, place, type=kind)
        assert container.store.type == kind
        assert described(container.context()) == before
        container.store = coordinator.migrate_store(container.store, tmp_path / "b.sqlite", type="SQLite")
        assert described(container.context()) == before
    with Container(Model(EVERYTHING), place, type=kind) as container:
        assert described(container.context()) == before


CONDITIONS = [
    "age == 3", "age != 3", "age > 2 AND age <= 5", "NOT age > 2", "age IN {1, 4}", "age == nil", "age != nil",
    "born < %@", "NOT (born >= %@ OR age == 2)", "code == %@", "code != %@ AND isOpen == YES",
    "isOpen == NO OR age < 2",
    "name == 'n3'", "name BEGINSWITH 'n' AND age > 3", "age > 2 OR name == 'n1'", "ratio > 0.5", "price == 2.5",
    "age BETWEEN {2, 4}", "TRUEPREDICATE", "FALSEPREDICATE", "other.age == 3", "age < 2.5",
    "other == nil", "ANY others.age > 2", "3 == age", "SELF.age == 3", "age == YES",
]  # fmt: skip
THINGS = {
    "Thing": {
        "name": "string?", "age": "int32?", "born": "date?", "code": "uuid?", "isOpen": "bool?", "ratio": "double?",
        "price": "decimal?", "other": "to-one Thing? inverse others", "others": "to-many Thing? inverse other",
    },
    "Special": {"@parent": "Thing"},
}  # fmt: skip


def test_conditions_equal_evaluation_in_memory(kind: str, place: str) -> None:
    """For conditions that the service evaluates and others."""
    from datetime import datetime, timedelta, timezone
    from decimal import Decimal

    day = datetime(2026, 1, 1, tzinfo=timezone.utc)
    codes = [UUID(int=number) for number in range(8)]
    with Container(Model(THINGS), place, type=kind) as container:
        ctx = container.context()
        before = None
        for number in range(8):
            values: dict[str, Any] = {"name": f"n{number}"}
            if number % 4:
                values.update(
                    age=number, born=day + timedelta(days=number), code=codes[number], isOpen=number % 2 == 0,
                    ratio=number / 8, price=Decimal(number) / 2, other=before,
                )  # fmt: skip
            before = ctx.insert("Special" if number == 6 else "Thing", **values)
        ctx.save()
        everything = list(ctx.fetch("Thing"))
        for condition in CONDITIONS:
            argument = (codes[5] if "code" in condition else day + timedelta(days=3),) * condition.count("%@")
            predicate = Predicate(condition, *argument)
            expected = sorted(each.name for each in predicate.filter(everything))
            fresh = container.context()
            assert sorted(each.name for each in fresh.fetch("Thing", predicate)) == expected, condition
            assert fresh.count("Thing", predicate) == len(expected), condition
            only = [each.name for each in everything if each.id.entity_name == "Thing"]
            for order in ("age", "-age", "-born", "name"):
                named = f"{condition} by {order}"
                plain = FetchRequest("Thing", predicate, sort=[order, "name"], include_subentities=False)
                whole = [each.name for each in fresh.execute(plain)]
                assert sorted(whole) == sorted(set(expected) & set(only)), named
                plain.offset, plain.limit = 1, 2
                assert [each.name for each in fresh.execute(plain)] == whole[1:3], named
            fresh.close()


# -------- requests to the service ----------------------------------------------------------------------------


def test_service_evaluates_supported_conditions(service: Service) -> None:
    kind = known_type("RecordedREST", recorded(RESTStore))
    with Container(Model(THINGS), service.url, type=kind, options={"page": 50}) as container:
        ctx = container.context()
        for number in range(120):
            ctx.insert("Special", name=f"n{number}", age=number)
        ctx.save()
        assert service.requests["POST transaction"] == 1

        def cost(work: Any) -> Any:
            before = sum(service.requests.values())
            found = work()
            return found, sum(service.requests.values()) - before

        def fetched(*arguments: Any, **options: Any) -> int:
            fresh = container.context()
            return len(fresh.fetch("Special", *arguments, **options))

        assert cost(lambda: fetched()) == (120, 3)  # three pages
        assert cost(lambda: fetched("age < 30")) == (30, 1)
        assert cost(lambda: fetched("age < 80", sort="-age", limit=5, offset=10)) == (5, 1)
        assert cost(lambda: fetched("name == 'n7'")) == (1, 3)  # text is Corestone's matter
        assert cost(lambda: fetched("name == 'n7' AND age < 10")) == (1, 1)
        assert cost(lambda: container.context().count("Special", "age >= 100")) == (20, 1)

    with Container(Model(THINGS), service.url, type=kind) as container:  # which knows no rows yet
        lazy = container.context().execute(FetchRequest("Special", batch_size=60))
        store: Any = container.store.host
        store.log.clear()
        found, requests = cost(lambda: {each.name for each in lazy})
        assert found == {f"n{number}" for number in range(120)}
        assert store.log.count("new_values") == 2  # of 60 objects each
        assert requests == 2


def test_long_conditions_are_evaluated_by_the_library(service: Service) -> None:
    """Corestone evaluates them; the service evaluates their short parts."""
    with Container(Model(THINGS), service.url, type=REST, options={"page": 10}) as container:
        ctx = container.context()
        for number in range(40):
            ctx.insert("Special", name=f"n{number}", age=number)
        ctx.save()

        def found(*condition: Any) -> tuple[int, int]:
            fresh = container.context()
            before = service.requests["GET objects"]
            rows = [each.age for each in fresh.fetch("Special", Predicate(*condition))]
            requests = service.requests["GET objects"] - before
            assert fresh.count("Special", Predicate(*condition)) == len(rows)
            window = FetchRequest("Special", Predicate(*condition), sort=["age"], limit=3, offset=1)
            assert [each.age for each in fresh.execute(window)] == sorted(rows)[1:4]
            fresh.close()
            return len(rows), requests

        assert found("age IN %@", list(range(20, 20000))) == (20, 5)
        assert found("age IN %@ AND age < 25", list(range(20, 20000))) == (5, 3)
        assert found("NOT age IN %@", list(range(20, 20000)))[0] == 20
        assert found(" OR ".join(f"age == {number}" for number in range(30, 1530)))[0] == 10
        assert found(" AND ".join(f"age != {number}" for number in range(30, 1530)))[0] == 30
        for depth in (29, 30, 31, 60, 61):
            assert found("NOT (" * depth + "age == 7" + ")" * depth)[0] == (39 if depth % 2 else 1)
        assert found("age IN %@", list(range(38, 200))) == (2, 1)


def test_errors_name_the_address(service: Service) -> None:
    with Container(Model(PEOPLE), service.url, type=REST, options={"timeout": 0.3}) as container:
        ctx = container.context()
        ctx.insert("Person", name="Ada")
        service.is_broken = True
        with pytest.raises(CorestoneError) as failure:
            ctx.save()
        cause = failure.value.__cause__
        assert isinstance(cause, ServiceError)
        assert cause.http_status == 503
        assert re.fullmatch(rf"POST {service.url}/transaction returned status 503: .*", cause.message)
        assert any(cause.message in each.message for each in failure.value.details)
        service.is_broken = False
        ctx.save()
        assert ctx.count("Person") == 1
        with service.objects._turn, pytest.raises(CorestoneError) as failure:
            container.context().fetch("Person")
        assert isinstance(failure.value.__cause__, StoreBusyError)
        assert "no response within 0.3 s" in str(failure.value.__cause__)
        assert [each.name for each in container.context().fetch("Person")] == ["Ada"]
    with pytest.raises(CorestoneError, match="not the address") as failure:
        Container(Model(PEOPLE), "ftp://somewhere", type=REST)


def test_closed_connection_is_reopened(service: Service) -> None:
    with Container(Model(PEOPLE), service.url, type=REST) as container:
        store: Any = container.store.host
        ctx = container.context()
        ctx.insert("Person", name="Ada")
        ctx.save()
        store.service._own.connection.sock.shutdown(2)
        assert [each.name for each in container.context().fetch("Person")] == ["Ada"]


def test_unreachable_service_is_an_error(tmp_path: Path) -> None:
    answer = Connection("http://127.0.0.1:9", 1.0)
    with pytest.raises(StoreError, match=r"GET http://127\.0\.0\.1:9/store: .*refused"):
        answer.get("/store")


# -------- concurrent writers--------------------------------------------------------------------------------------


def test_second_save_of_a_row_is_a_conflict(kind: str, place: str) -> None:
    with (
        Container(Model(PEOPLE), place, type=kind, unsaved="discard") as one,
        Container(Model(PEOPLE), place, type=kind, unsaved="discard") as two,
    ):
        first, second = one.context(), two.context()
        mine = first.insert("Person", name="Ada", age=1)
        first.save()
        theirs = second.first("Person")
        theirs.age = 2
        second.save()
        mine.name = "Ada Lovelace"
        with pytest.raises(ConflictError) as failure:
            first.save()
        (conflict,) = failure.value.conflicts
        assert (conflict.old_version, conflict.new_version) == (1, 2)
        first.merge_policy = MergePolicy.OBJECT_TRUMP
        first.save()
        second.refresh_all()
        assert (theirs.name, theirs.age) == ("Ada Lovelace", 2)
        second.delete(theirs)
        second.save()
        mine.age = 5
        first.merge_policy = MergePolicy.ERROR
        with pytest.raises(ConflictError):
            first.save()


def only_file(folder: Path) -> Path:
    (file,) = folder.glob("Person/*.json")
    return file


def test_file_edited_by_hand_is_read(tmp_path: Path) -> None:
    with Container(Model(PEOPLE), tmp_path / "f", type=FOLDER) as container:
        ctx = container.context()
        ada = ctx.insert("Person", name="Ada", age=1)
        ctx.save()
        file = only_file(tmp_path / "f")
        assert file.stem == ada.id.reference
        content = json.loads(file.read_text())
        content["values"]["age"] = 2
        file.write_text(json.dumps(content))
        ada.name = "Ada Lovelace"
        with pytest.raises(ConflictError):
            ctx.save()
        ctx.refresh(ada, merge=False)
        assert ada.age == 2
        content["values"]["age"] = "two"
        file.write_text(json.dumps(content))
        with pytest.raises(CorestoneError) as failure:
            container.context().fetch("Person")
        assert re.search(r"Person/\w+\.json: age is 'two'", str(failure.value.__cause__))
        file.write_text("{")
        with pytest.raises(CorestoneError) as failure:
            container.context().fetch("Person")
        assert file.name in str(failure.value.__cause__)
        file.unlink()
        assert container.context().count("Person") == 0
        (file.parent / "by-hand.json").write_text('{"values": {"name": "Bob"}, "links": {}}')
        assert [each.name for each in container.context().fetch("Person")] == ["Bob"]


def test_folder_that_is_not_a_store_is_not_changed(tmp_path: Path) -> None:
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "letter.txt").write_text("Dear …")
    with pytest.raises(CorestoneError) as failure:
        Container(Model(PEOPLE), tmp_path / "documents", type=FOLDER)
    assert "is not a folder of objects" in str(failure.value.__cause__)
    assert os.listdir(tmp_path / "documents") == ["letter.txt"]
    with Container(Model(PEOPLE), tmp_path / "a", type=FOLDER) as container:
        container.context().insert("Person", name="Ada")
        assert not container.coordinator.destroy_store(tmp_path / "documents", type=FOLDER)
        assert os.listdir(tmp_path / "documents") == ["letter.txt"]
    (tmp_path / "empty").touch()  # an empty file reserves the path
    with Container(Model(PEOPLE), tmp_path / "empty", type=FOLDER) as container:
        assert container.coordinator.metadata(container.store)["NSStoreType"] == FOLDER


def test_copy_can_replace_another_store(tmp_path: Path) -> None:
    for name in ("a", "b"):
        with Container(Model(PEOPLE), tmp_path / name, type=FOLDER) as container:
            container.context().insert("Person", name=name)
            ctx = container.context()
            ctx.insert("Person", name=name)
            ctx.save()
            coordinator = container.coordinator
    coordinator.replace_store(tmp_path / "b", tmp_path / "a", type=FOLDER)
    with Container(Model(PEOPLE), tmp_path / "b", type=FOLDER) as container:
        assert [each.name for each in container.context().fetch("Person")] == ["a"]
    assert coordinator.destroy_store(tmp_path / "b", type=FOLDER)
    assert not (tmp_path / "b").exists()


def folder_of(place: Path, name: str) -> Path:
    """A store in a folder of that name, with a person of that name in it."""
    with Container(Model(PEOPLE), place / name, type=FOLDER) as container:
        ctx = container.context()
        ctx.insert("Person", name=name)
        ctx.save()
    return place / name


def people_in(place: Path) -> list[str]:
    with Container(Model(PEOPLE), place, type=FOLDER) as container:
        return sorted(each.name for each in container.context().fetch("Person"))


@pytest.mark.parametrize("stop", range(1, 6))
def test_interrupted_replacement_leaves_a_whole_store(
    tmp_path: Path, stop: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next open finds the former store or the new one, and the next replacement succeeds."""
    a, b = folder_of(tmp_path, "a"), folder_of(tmp_path, "b")
    coordinator = Coordinator(Model(PEOPLE))
    left = [stop]

    def stopping(real: Any) -> Any:
        def calling(*arguments: Any, **options: Any) -> Any:
            left[0] -= 1
            if left[0] <= 0:  # as if killed: nothing is done any more
                raise OSError("stopped")
            return real(*arguments, **options)

        return calling

    with monkeypatch.context() as patch:
        for module, name in ((shutil, "copytree"), (os, "rename"), (shutil, "rmtree")):
            patch.setattr(module, name, stopping(getattr(module, name)))
        with contextlib.suppress(CorestoneError):
            coordinator.replace_store(b, a, type=FOLDER)
    assert people_in(b) in (["a"], ["b"])
    coordinator.replace_store(b, a, type=FOLDER)
    assert people_in(b) == ["a"]
    assert coordinator.destroy_store(b, type=FOLDER)
    assert sorted(os.listdir(tmp_path)) == ["a"]


def test_paths_may_end_with_a_slash(tmp_path: Path) -> None:
    a, b = folder_of(tmp_path, "a"), folder_of(tmp_path, "b")
    coordinator = Coordinator(Model(PEOPLE))
    coordinator.replace_store(f"{b}/", f"{a}/", type=FOLDER)
    assert people_in(b) == ["a"]
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]
    assert coordinator.destroy_store(f"{b}/", type=FOLDER)
    assert os.listdir(tmp_path) == ["a"]


def test_save_fails_when_the_folder_was_replaced(tmp_path: Path) -> None:
    a, b = folder_of(tmp_path, "a"), folder_of(tmp_path, "b")
    with Container(Model(PEOPLE), b, type=FOLDER) as container:
        ctx = container.context()
        Coordinator(Model(PEOPLE)).replace_store(b, a, type=FOLDER)
        ctx.insert("Person", name="of the former one")
        with pytest.raises(CorestoneError) as failure:
            ctx.save()
        assert re.search(r"b contains another store now .*open the folder again", str(failure.value.__cause__))
        ctx.rollback()
    assert people_in(b) == ["a"]


SAVER = """
import sys
sys.path[:0] = {paths!r}
import json_folder
from corestone import Container, Model
with Container(Model({model!r}), sys.argv[1], type="JSONFolder") as container:
    ctx = container.context()
    for number in range(10**6):
        for person in list(ctx.fetch("Person")):
            ctx.delete(person)
        for place in range(10):
            ctx.insert("Person", name=str(number), age=place)
        ctx.save()
        print(number, flush=True)
"""


def test_killed_program_leaves_only_whole_saves(tmp_path: Path) -> None:
    folder = tmp_path / "f"
    source = SAVER.format(paths=sys.path[:2], model=PEOPLE)
    for attempt in range(6):
        saver = subprocess.Popen([sys.executable, "-c", source, str(folder)], stdout=subprocess.PIPE, text=True)
        assert saver.stdout is not None
        saver.stdout.readline()
        time.sleep(0.003 + 0.011 * attempt)
        saver.kill()
        saver.wait()
        saver.stdout.close()
        with Container(Model(PEOPLE), folder, type=FOLDER) as container:
            people = list(container.context().fetch("Person"))
            assert len({each.name for each in people}) == 1
            assert sorted(each.age for each in people) == list(range(10))


def test_references_cannot_leave_the_folder(tmp_path: Path) -> None:
    """A foreign ID does not refer to a file outside the folder."""
    with Container(Model(PEOPLE), tmp_path / "f", type=FOLDER) as container:
        (tmp_path / "secret.json").write_text('{"values": {"name": "secret"}}')
        ctx = container.context()
        ctx.insert("Person", name="Ada")
        ctx.save()
        for reference in ("../../secret", "..", "a/b", uuid4().hex):
            which = container.store.new_object_id(container.model["Person"], reference)
            with pytest.raises(ObjectGoneError):
                ctx.existing(which)


def test_store_type_may_be_given_as_a_class(tmp_path: Path) -> None:
    with Container(Model(PEOPLE), tmp_path / "f", type=FOLDER) as container:
        assert type(container.store.host) is JSONFolder


def test_unique_conflicts_are_resolved(tmp_path: Path, service: Service) -> None:
    model: dict[str, dict[str, Any]] = {
        "Person": {"name": "string?", "code": "string?", "@unique": ["code"]},
        "Manager": {"@parent": "Person"},
    }
    with pytest.raises(CorestoneError, match="unique"):
        Container(Model(model), service.url, type=REST)
    with Container(Model(model), tmp_path / "f", type=FOLDER) as container:
        ctx = container.context()
        ctx.insert("Person", name="Ada", code="a")
        ctx.insert("Person", name="nobody")
        ctx.insert("Person", name="nobody either")
        ctx.save()
        other = container.context()
        other.insert("Manager", name="Ada Lovelace", code="a")
        with pytest.raises(ConflictError):
            other.save()
        assert container.context().count("Person") == 3
        other.merge_policy = MergePolicy.OBJECT_TRUMP
        other.save()
        found = {each.name for each in container.context().fetch("Person", "code == 'a'")}
        assert found == {"Ada Lovelace"}
