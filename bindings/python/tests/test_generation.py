"""Generations: contexts that read one state of their stores while others save."""

from __future__ import annotations

import os
import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest

import corestone
from corestone import Container, ContextChanges, InvalidArgumentError, Model, QueryGeneration, UnsupportedError

PEOPLE = {
    "Person": {"name": "string", "age": "int32?", "team": "to-one Team? inverse members", "photo": "binary? external"},
    "Team": {"name": "string?", "members": "to-many Person inverse team"},
}


@pytest.fixture
def container(tmp_path: Path) -> Any:
    with Container(Model(PEOPLE), tmp_path / "store.sqlite", sync="normal") as opened:
        context = opened.context()
        team = context.insert("Team", name="A")
        for name in ("Ada", "Bob", "Eve"):
            context.insert("Person", name=name, team=team, age=1)
        context.save()
        yield opened


def names(context: corestone.Context) -> list[str]:
    return [person.name for person in context.fetch("Person", sort="name")]


def rename(container: Container, old: str, new: str) -> None:
    with container.context() as writer:
        writer.fetch("Person", f"name == '{old}'")[0].name = new
        writer.save()


def test_pin_takes_effect_at_the_first_read(container: Container) -> None:
    reader = container.context()
    assert reader.query_generation is None
    reader.pin()
    generation = reader.query_generation
    assert generation is not None
    assert generation.is_current
    assert generation == QueryGeneration.current()
    rename(container, "Ada", "Ann")
    assert names(reader) == ["Ann", "Bob", "Eve"]
    pinned = reader.query_generation
    assert pinned is not None
    assert not pinned.is_current
    assert pinned == reader.query_generation
    assert pinned != generation
    assert len({pinned, reader.query_generation}) == 1
    rename(container, "Ann", "Amy")
    assert names(reader) == ["Ann", "Bob", "Eve"]
    team = reader.fetch("Team")[0]
    assert sorted(person.name for person in team.members) == ["Ann", "Bob", "Eve"]
    reader.unpin()
    assert reader.query_generation is None
    assert [person.name for person in reader.fetch("Person", "name == 'Amy'")] == ["Ann"]
    reader.refresh_all()
    assert names(reader) == ["Amy", "Bob", "Eve"]


def test_pinned_block_restores_the_former_generation(container: Container) -> None:
    reader = container.context()
    with reader.pinned() as same:
        assert same is reader
        assert reader.count("Person", "name == 'Ada'") == 1
        outer = reader.query_generation
        rename(container, "Ada", "Ann")
        assert reader.count("Person", "name == 'Ada'") == 1
        with reader.pinned():
            assert reader.count("Person", "name == 'Ada'") == 0
        assert reader.query_generation == outer
        assert reader.count("Person", "name == 'Ada'") == 1
    assert reader.query_generation is None
    assert reader.count("Person", "name == 'Ada'") == 0


def test_threads_can_share_a_query_generation(container: Container) -> None:
    generation = container.coordinator.query_generation()
    rename(container, "Ada", "Ann")
    found: list[list[str]] = []

    def read() -> None:
        with container.context() as context:
            context.pin(generation)
            found.append(names(context))

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    rename(container, "Bob", "Ben")
    for thread in threads:
        thread.join()
    assert found == [["Ada", "Bob", "Eve"]] * 4


def test_save_of_a_pinned_context_checks_and_adopts_the_newest_state(container: Container) -> None:
    reader = container.context()
    told: list[QueryGeneration | None] = []

    def hear(_: corestone.Context, changes: ContextChanges) -> None:
        told.append(changes.query_generation)

    with reader.observe("did_save", hear):
        reader.pin()
        ada = reader.fetch("Person", "name == 'Ada'")[0]
        rename(container, "Ada", "Ann")
        ada.age = 30
        with pytest.raises(corestone.ConflictError) as raised:
            reader.save()
        assert raised.value.code == 133020
        before = reader.query_generation
        reader.merge_policy = corestone.MergePolicy.OBJECT_TRUMP
        reader.save()
        assert (ada.name, ada.age) == ("Ann", 30)
        assert told == [reader.query_generation]
        assert told[0] != before
        reader.unpin()
        ada.age = 31
        reader.save()
        assert told[1] is None


def test_pinned_context_does_not_see_saves_of_another_process(container: Container) -> None:
    """Another container on the same file stands for one."""
    reader = container.context()
    reader.pin()
    ada, bob = reader.fetch("Person", "name IN {'Ada', 'Bob'}", sort="name")
    with Container(Model(PEOPLE), container.path) as elsewhere:
        rename(elsewhere, "Ada", "Ann")
        rename(elsewhere, "Bob", "Ben")
    reader.refresh_all()
    assert names(reader) == ["Ada", "Bob", "Eve"]
    reader.merge_remote_changes({"updated": [ada.id.uri]})
    assert ada.name == "Ann"
    assert bob.name == "Bob"  # read, and not merged
    reader.refresh_all()
    assert bob.name == "Ben"  # the merge moved the context on
    assert names(reader) == ["Ann", "Ben", "Eve"]


def test_fetched_properties_and_children_read_the_pinned_state(tmp_path: Path) -> None:
    model = Model(PEOPLE)
    model["Person"].fetched("peers", "Person", "team == $FETCH_SOURCE.team AND SELF != $FETCH_SOURCE", sort="name")
    with Container(model, tmp_path / "store.sqlite") as container:
        writer = container.context()
        team = writer.insert("Team", name="A")
        people = [writer.insert("Person", name=name, team=team) for name in ("Ada", "Bob", "Eve")]
        writer.save()
        reader = container.context()
        reader.pin()
        assert reader.count("Person") == 3
        writer.delete(people[1])
        people[2].name = "Eva"
        writer.save()
        for context in (reader, reader.child(), reader.child().child()):
            ada = context.fetch("Person", "name == 'Ada'")[0]
            assert [peer.name for peer in ada.peers] == ["Bob", "Eve"]
            assert sorted(member.name for member in ada.team.members) == ["Ada", "Bob", "Eve"]


def test_invalid_pins_are_rejected(container: Container, tmp_path: Path) -> None:
    child = container.context().child()
    with pytest.raises(InvalidArgumentError, match="pin the outermost parent context"):
        child.pin()
    assert child.query_generation is None
    with Container(Model(PEOPLE), tmp_path / "rollback.sqlite", journal="rollback") as rollback:
        with pytest.raises(UnsupportedError, match="write-ahead log") as caught:
            rollback.context().pin()
        assert caught.value.message.endswith('without CST_STORE_ROLLBACK_JOURNAL (journal="rollback")')
        with pytest.raises(UnsupportedError):
            rollback.coordinator.query_generation()
        with pytest.raises(InvalidArgumentError, match="another coordinator"):
            rollback.context().pin(container.coordinator.query_generation())
    with (
        Container(Model(PEOPLE), tmp_path / "pragma.sqlite", pragmas={"journal_mode": "delete"}) as pragma,
        pytest.raises(UnsupportedError) as caught,
    ):
        pragma.context().pin()
    assert caught.value.message.endswith("without the pragma journal_mode")


def test_pinned_context_reads_external_files_of_its_state(container: Container) -> None:
    writer, reader = container.context(), container.context()
    person = writer.fetch("Person", "name == 'Ada'")[0]
    person.photo = b"1" * 200_000
    writer.save()
    reader.pin()
    theirs = reader.fetch("Person", "name == 'Ada'")[0]
    person.photo = b"2" * 200_000
    writer.save()
    # The file is kept for the pinned reader; this is what another process would do.
    folder = Path(container.path).parent / ".store_SUPPORT" / "_EXTERNAL_DATA"
    (old,) = (path for path in folder.iterdir() if path.read_bytes().endswith(b"1"))
    assert len(list(folder.iterdir())) == 2
    old.unlink()
    with pytest.raises(corestone.ConflictError, match="a later save removed the backing file"):
        _ = theirs.photo
    reader.unpin()
    reader.refresh_all()
    assert theirs.photo == b"2" * 200_000
    assert len(list(folder.iterdir())) == 1


def thousand_saves(path: Path, *, pinned: bool) -> tuple[float, float, float]:
    """Saves a thousand times, ten changed rows of 500 bytes each, beside a reader.

    Megabytes of the write-ahead log then, of growth of the process, and of the log after it was emptied."""

    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    with Container(Model(PEOPLE), path, sync="normal") as container:
        log = Path(container.path + "-wal")
        writer, reader = container.context(), container.context()
        team = writer.insert("Team", name="A")
        names = [f"{number:03} {'x' * 500}" for number in range(500)]
        people = [writer.insert("Person", name=name, team=team, age=0) for name in names]
        writer.save()

        def graph() -> list[tuple[str, int, str]]:
            reader.refresh_all()
            found = [(person.name, person.age, person.team.name) for person in reader.fetch("Person", sort="name")]
            assert reader.count("Person") == len(found)
            assert len(reader.fetch("Team")[0].members) == len(found)
            return found

        if pinned:
            reader.pin()
        before = graph()
        memory = resident()
        for number in range(1000):
            for person in people[number % 10 :: 50]:
                person.age = number + 1
            if number % 10 == 0:
                writer.insert("Person", name=f"new {number}", team=team)
            writer.save()
            if pinned and number % 100 == 99:
                assert graph() == before
        size, grown = log.stat().st_size, resident() - memory
        reader.unpin()
        assert len(graph()) == len(before) + 100
        writer.insert("Person", name="last")
        writer.save()
        plain = sqlite3.connect(container.path)
        assert plain.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0
        plain.close()
        return size / 1e6, grown / 1e6, log.stat().st_size / 1e6


def test_pinned_reader_is_stable_during_1000_saves(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = {pinned: thousand_saves(tmp_path / f"{pinned}.sqlite", pinned=pinned) for pinned in (False, True)}
    with capsys.disabled():
        print()
        for pinned, (log, memory, emptied) in found.items():
            print(
                f"1,000 saves beside a reader of 500 objects, {'' if pinned else 'not '}pinned: log {log:.1f} MB, "
                f"process grown by {memory:.1f} MB; log emptied to {emptied:.1f} MB once nobody is pinned"
            )
    assert found[True][0] < 200
    assert found[True][1] < 64
    assert found[True][2] == 0
