"""The library and an independent reader of the tables read the same history.

For every fixture with a history, which is opened for reading only and never copied, and for files that the library
wrote: saves, batch requests, effects of delete rules, ordered and many-to-many relationships, inheritance, composite
attributes, and random changes. Files of the oldest framework's shape are made of those.
"""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import corestone
import pytest
import reader
from checkout import FIXTURES
from corestone import Container, Context, Coordinator, HistoryChangeKind, HistoryToken, Model, Predicate
from reader import DELETE, INSERT, REFERENCE, UPDATE

counted: dict[str, Counter[str]] = {}


def with_history() -> list[Path]:
    """The fixtures that have transactions."""
    found = []
    for path in sorted(path for path in FIXTURES.rglob("*") if path.is_file()):
        with path.open("rb") as file:
            if file.read(15) != b"SQLite format 3":
                continue
        with closing(reader.connect(path, immutable=True)) as database:
            if reader.columns(database, "ATRANSACTION") and database.execute("SELECT 1 FROM ATRANSACTION").fetchone():
                found.append(path)
    return found


STORES = with_history()
if not STORES and os.environ.get("CORESTONE_REQUIRE_FIXTURES") == "1":
    raise RuntimeError(f"no fixtures with a history at {FIXTURES}; set CORESTONE_FIXTURES")


@pytest.fixture(scope="module", autouse=True)
def print_counts(pytestconfig: pytest.Config) -> Iterator[None]:
    yield
    capture = pytestconfig.pluginmanager.get_plugin("capturemanager")
    assert capture is not None
    total: Counter[str] = Counter()
    with capture.global_and_fixture_disabled():
        print()
        for name, counts in [*sorted(counted.items()), ("in total", total)]:
            print(f"{name}: {', '.join(f'{count} {kind}' for kind, count in counts.items())}")
            total += counts


# -------- comparing ----------------------------------------------------------------------------------------


def compare(coordinator: Coordinator, path: Path, name: str, immutable: bool = False, **options: Any) -> reader.History:
    """Compares the whole history from both readers, and counts equal changes."""
    theirs = reader.read(path, coordinator.model.describe(), immutable)
    ours = list(coordinator.history(**options))
    counts = counted.setdefault(name, Counter())
    assert len(ours) == len(theirs.transactions)
    for mine, other in zip(ours, theirs.transactions):
        where = f"transaction {other.number}"
        assert (
            mine.number, mine.store_identifier, mine.author, mine.context_name, mine.bundle_identifier,
            mine.process_identifier, mine.timestamp,
        ) == (
            other.number, theirs.identifier, other.author, other.context_name, other.bundle, other.process,
            REFERENCE + timedelta(0, other.seconds),
        ), where  # fmt: skip
        assert mine.token == HistoryToken.at(theirs.identifier, other.number), where
        assert len(mine.changes) == len(other.changes), where
        for change, expected in zip(mine.changes, other.changes):
            where = f"change {expected.number}"
            assert (change.number, change.kind, change.entity_name) == (
                expected.number, expected.kind, expected.entity,
            ), where  # fmt: skip
            assert change.object_uri == f"x-coredata://{theirs.identifier}/{expected.entity}/p{expected.key}", where
            assert tuple(change.updated_properties) == expected.properties, where
            assert change.tombstone == expected.tombstone, where
            if expected.tombstone:
                types = {key: type(each) for key, each in expected.tombstone.items()}
                assert {key: type(each) for key, each in (change.tombstone or {}).items()} == types, where
        counts["transactions"] += 1
        counts["changes"] += len(other.changes)
        counts["updated properties"] += sum(len(each.properties) for each in other.changes)
        counts["tombstones"] += sum(1 for each in other.changes if each.tombstone)
        counts["tombstone values"] += sum(len(each.tombstone or {}) for each in other.changes)
    changes = [change for each in ours for change in each.changes]
    assert coordinator.history_count() == len(ours)
    assert coordinator.history_count(subject="changes") == len(changes)
    ids = coordinator.history_ids()
    assert len(ids) == len(set(ids))
    assert {each.uri for each in ids} == {each.object_uri for each in changes}
    for change in changes[:: max(len(changes) // 500, 1)]:
        assert change.object_id.uri == change.object_uri
    token = coordinator.history_token()
    assert token is not None
    assert list(coordinator.history(since=token)) == []
    return theirs


def state(path: Path) -> tuple[Any, ...]:
    """The content of a file, its time, and the names beside it."""
    return (
        hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns,
        sorted(each.name for each in path.parent.iterdir()),
    )  # fmt: skip


@pytest.mark.parametrize("path", STORES, ids=lambda path: path.name)
def test_both_readers_agree_on_fixtures(path: Path) -> None:
    before = state(path)
    with corestone.open(path) as container:
        theirs = compare(container.coordinator, path, path.name, immutable=True)
        # As the format's description has it.
        assert (theirs.odd_masks, theirs.foreign) == (0, 0)
    assert state(path) == before


@pytest.mark.parametrize("path", STORES, ids=lambda path: path.name)
def test_both_readers_agree_on_parts_of_a_fixture(path: Path) -> None:
    with corestone.open(path) as container:
        coordinator = container.coordinator
        theirs = reader.read(path, container.model.describe(), True).transactions
        choice = random.Random(7)
        for _ in range(12):
            place = choice.randrange(len(theirs))
            number, seconds = theirs[place].number, theirs[place].seconds
            wanted = [each.number for each in theirs if each.number > number]
            since = HistoryToken.at(container.store, number)
            options: dict[str, Any] = {"changes": False, "batch_size": choice.choice([0, 1, 7])}
            assert [each.number for each in coordinator.history(since=since, **options)] == wanted
            # A datetime has microseconds: the transaction itself may be a part of one later.
            date = REFERENCE + timedelta(0, seconds)
            later = [each.number for each in theirs if REFERENCE + timedelta(0, each.seconds) > date]
            found = [each.number for each in coordinator.history(since=date, **options)]
            assert [each for each in found if each != number] == [each for each in later if each != number]
            author, process = theirs[place].author, theirs[place].process
            if author is not None:
                excluding = [each.number for each in theirs if each.author != author]
                assert [each.number for each in coordinator.history(excluding_author=author, **options)] == excluding
            of_process = [each.number for each in theirs if each.process == process]
            found = [each.number for each in coordinator.history("processID == %@", process, **options)]
            assert found == of_process
            if theirs[place].changes:
                change = choice.choice(theirs[place].changes)
                wanted = [
                    each.number
                    for one in theirs
                    for each in one.changes
                    if each.entity == change.entity and each.kind == change.kind
                ]
                predicate = Predicate("changedEntity == %@ AND changeType == %d", change.entity, change.kind)
                chosen = coordinator.history(predicate, subject="changes")
                assert [each.number for one in chosen for each in one.changes] == wanted
                assert coordinator.history_count(predicate, subject="changes") == len(wanted)


# -------- files that the library writes --------------------------------------------------------------------

SHOP: dict[str, dict[str, Any]] = {
    "Being": {"@abstract": True, "tag": "string? preserved", "zone": "int16?"},
    "Person": {
        "@parent": "Being",
        "name": "string? preserved",
        "Name": "string?",
        "born": "date? preserved",
        "key": "uuid? preserved",
        "pay": "decimal? preserved",
        "home": "uri? preserved",
        "photo": "binary? external preserved",
        "active": "bool? preserved",
        "ratio": "float? preserved",
        "scratch": "string? transient preserved",
        "address": {"street": "string?", "place": {"town": "string?", "code": "int32?"}},
        "boss": "to-one Person? inverse reports",
        "reports": "to-many Person inverse boss",
        "team": "to-one Team? inverse members",
        "clubs": "to-many Club inverse people",
        "friends": "to-many Person inverse friends",
        "badge": "to-one Badge? inverse owner delete cascade",
        "ideal": "to-one Thing?",
    },
    "Manager": {"@parent": "Person", "budget": "int64? preserved", "teams": "to-many Team inverse lead"},
    "Robot": {"@parent": "Being", "serial": "string?", "blob": "binary? preserved", "team": "to-one Team?"},
    "Team": {
        "title": "string?",
        "members": "to-many ordered Person inverse team delete cascade",
        "lead": "to-one Manager? inverse teams",
        "zeta": "int32?",
    },
    "Club": {"title": "string?", "people": "to-many ordered Person inverse clubs"},
    "Badge": {"number": "int32?", "owner": "to-one Person? inverse badge"},
    "Thing": {"label": "string? preserved"},
    "Special": {"@parent": "Thing", "extra": "double? preserved"},
    # Nine slots, so that a mask has two bytes.
    "Wide": {f"a{number}": "int16?" for number in range(9)},
}
MOMENT = datetime(2024, 2, 29, 12, 30, 15, 123456, tzinfo=timezone.utc)


def opened(path: Path, **options: Any) -> Container:
    return Container(Model(SHOP), path, sync="normal", history=True, unsaved="discard", **options)


@pytest.fixture
def store_path(tmp_path: Path) -> Path:
    return tmp_path / "shop.sqlite"


@pytest.fixture
def container(store_path: Path) -> Iterator[Container]:
    with opened(store_path) as found:
        yield found


@dataclass
class Last:
    """The last transaction, by entity and key."""

    changes: dict[tuple[str, int], reader.Change]

    def of(self, kind: int) -> dict[str, list[set[str]]]:
        found: dict[str, list[set[str]]] = {}
        for (entity, _), each in self.changes.items():
            if each.kind == kind:
                found.setdefault(entity, []).append(set(each.properties))
        return {entity: sorted(sets, key=sorted) for entity, sets in found.items()}


def last(container: Container, name: str) -> Last:
    """Compares the history, and returns its last transaction as the reader has it."""
    theirs = compare(container.coordinator, Path(container.path), name)
    assert theirs.odd_masks == 0
    changes = theirs.transactions[-1].changes
    keys = [(each.entity, each.key) for each in changes]
    assert len(keys) == len(set(keys))
    # All inserts, then all updates, then all deletions.
    assert [each.kind for each in changes] == sorted(each.kind for each in changes)
    return Last(dict(zip(keys, changes)))


def key(item: Any) -> int:
    return int(item.id.reference)


def test_both_readers_agree_on_saves(container: Container) -> None:
    ctx = container.context()
    ctx.transaction_author, ctx.name = "Zoë", "main"
    boss = ctx.insert("Manager", name="Grace", budget=10)
    ada, bob = (ctx.insert("Person", name=name) for name in ("Ada", "Bob"))
    robot, thing, special = ctx.insert("Robot"), ctx.insert("Thing"), ctx.insert("Special")
    team, wide = ctx.insert("Team", title="A"), ctx.insert("Wide")
    ctx.save()

    def updates() -> dict[str, list[set[str]]]:
        ctx.save()
        found = last(container, "saves")
        assert found.of(INSERT) == found.of(DELETE) == {}
        return found.of(UPDATE)

    assert last(container, "saves").of(UPDATE) == {}
    ada.name, ada.Name = "Ann", "x"
    assert updates() == {"Person": [{"name", "Name"}]}
    ada.tag, ada.zone, boss.budget, boss.name = "t", 1, 11, "G"
    assert updates() == {"Person": [{"tag", "zone"}], "Manager": [{"budget", "name"}]}
    robot.serial, robot.team = "1", team
    assert updates() == {"Robot": [{"serial", "team"}]}
    ada.ideal, bob.ideal = thing, special
    assert updates() == {"Person": [{"ideal"}, {"ideal"}]}
    special.extra, special.label = 0.5, "l"
    assert updates() == {"Special": [{"extra", "label"}]}
    wide.a0, wide.a7, wide.a8 = 1, 2, 3
    assert updates() == {"Wide": [{"a0", "a7", "a8"}]}
    ada.photo, ada.pay, ada.home = bytes(200_000), Decimal("1.5"), "https://example.org"
    assert updates() == {"Person": [{"photo", "pay", "home"}]}
    ada.scratch = "transient only"
    before = container.coordinator.history_count()
    ctx.save()
    assert container.coordinator.history_count() == before
    ada.scratch, ada.active = "transient too", True
    assert updates() == {"Person": [{"active"}]}


def test_to_many_changes_are_recorded_on_their_owners(container: Container) -> None:
    ctx = container.context()
    boss = ctx.insert("Manager", name="Grace")
    ada, bob, eve = (ctx.insert("Person", name=name) for name in ("Ada", "Bob", "Eve"))
    team, other, club = ctx.insert("Team"), ctx.insert("Team"), ctx.insert("Club")
    ctx.save()

    def updates() -> dict[str, list[set[str]]]:
        ctx.save()
        return last(container, "to-many").of(UPDATE)

    ada.boss = boss
    assert updates() == {"Person": [{"boss"}], "Manager": [{"reports"}]}
    bob.boss = ada
    assert updates() == {"Person": [{"boss"}, {"reports"}]}
    ada.friends = {bob, eve}
    assert updates() == {"Person": [{"friends"}] * 3}
    club.people = [eve, ada]
    assert updates() == {"Club": [{"people"}], "Person": [{"clubs"}] * 2}
    team.members = [ada, bob]
    assert updates() == {"Team": [{"members"}], "Person": [{"team"}] * 2}
    other.members = [bob]
    assert updates() == {"Team": [{"members"}] * 2, "Person": [{"team"}]}
    other.lead = boss
    assert updates() == {"Team": [{"lead"}], "Manager": [{"teams"}]}


def test_both_readers_agree_on_reordered_members(container: Container) -> None:
    ctx = container.context()
    people = [ctx.insert("Person", name=name) for name in "abc"]
    team, club = ctx.insert("Team", members=people), ctx.insert("Club", people=people)
    ctx.save()
    team.members = people[::-1]
    ctx.save()
    assert "members" in last(container, "order").of(UPDATE)["Team"][0]
    club.people = people[::-1]
    ctx.save()
    assert "people" in last(container, "order").of(UPDATE)["Club"][0]


def test_both_readers_agree_on_composite_attributes(container: Container) -> None:
    ctx = container.context()
    ada = ctx.insert("Person", address={"street": "s", "place": {"town": "t", "code": 1}})
    ctx.save()
    ada.address = {"street": "s", "place": {"town": "u", "code": 1}}
    ctx.save()
    found = last(container, "composites").of(UPDATE)["Person"]
    assert found in ([{"address.place.town"}], [{"address.place.town", "address.street", "address.place.code"}])
    ada.address = None
    ctx.save()
    assert last(container, "composites").of(UPDATE)["Person"] == [
        {"address.place.town", "address.street", "address.place.code"}
    ]


def test_both_readers_agree_on_tombstones(container: Container) -> None:
    ctx = container.context()
    values: dict[str, Any] = {
        "tag": "t", "name": "Ada", "born": MOMENT, "key": UUID(int=5), "pay": Decimal("-12.25"),
        "home": "https://example.org/", "active": False, "ratio": 0.25,
    }  # fmt: skip
    ada = ctx.insert("Person", **values, photo=b"external values are not kept", scratch="nor are transient ones")
    boss = ctx.insert("Manager", name="Grace", budget=-(2**60))
    robot = ctx.insert("Robot", blob=b"\x00\x01")
    special, nothing, badge = ctx.insert("Special", extra=1.5), ctx.insert("Thing"), ctx.insert("Badge", number=1)
    ctx.save()
    keys = {each.id.entity_name + str(key(each)): each for each in (ada, boss, robot, special, nothing, badge)}
    wanted = {
        f"Person{key(ada)}": values,
        f"Manager{key(boss)}": {"name": "Grace", "budget": -(2**60)},
        f"Robot{key(robot)}": {"blob": b"\x00\x01"},
        f"Special{key(special)}": {"extra": 1.5},
        f"Thing{key(nothing)}": {},
        f"Badge{key(badge)}": {},
    }
    for each in keys.values():
        ctx.delete(each)
    ctx.save()
    found = last(container, "tombstones").changes
    assert {f"{entity}{number}": each.tombstone for (entity, number), each in found.items()} == wanted


def test_both_readers_agree_on_batch_requests(container: Container) -> None:
    ctx = container.context()
    ctx.transaction_author = "batch"
    rows = [{"name": str(number), "zone": number % 5, "tag": "t"} for number in range(300)]
    assert ctx.batch_insert("Person", rows) == 300
    found = last(container, "batches")
    assert {kind: len(found.of(kind)) for kind in (INSERT, UPDATE, DELETE)} == {INSERT: 1, UPDATE: 0, DELETE: 0}
    assert len(found.changes) == 300
    assert ctx.batch_update("Being", {"zone": 9}, "zone == 3") == 60
    assert last(container, "batches").of(UPDATE) == {"Person": [{"zone"}] * 60}
    assert ctx.batch_update("Person", {"name": "n", "pay": Decimal(2)}, "zone == 9") == 60
    assert last(container, "batches").of(UPDATE) == {"Person": [{"name", "pay"}] * 60}
    assert ctx.batch_delete("Being", "zone == 9") == 60
    found = last(container, "batches")
    assert {tuple(sorted((each.tombstone or {}).items())) for each in found.changes.values()} == {
        (("name", "n"), ("pay", Decimal(2)), ("tag", "t"))
    }
    assert len(found.changes) == 60
    assert {each.author for each in container.coordinator.history()} == {"batch"}


def test_both_readers_agree_on_effects_of_delete_rules(container: Container) -> None:
    ctx = container.context()
    boss = ctx.insert("Manager", name="Grace")
    people = [ctx.insert("Person", name=name, boss=boss) for name in "abc"]
    team = ctx.insert("Team", members=people[:2], lead=boss)
    people[0].badge = ctx.insert("Badge", number=7)
    ctx.insert("Club", people=people)
    people[2].friends = {people[0]}
    ctx.save()
    ctx.delete(team)
    ctx.save()
    found = last(container, "delete rules")
    assert {entity: len(each) for entity, each in found.of(DELETE).items()} == {"Team": 1, "Person": 2, "Badge": 1}
    assert found.of(UPDATE) == {"Club": [{"people"}], "Manager": [{"reports", "teams"}], "Person": [{"friends"}]}
    ctx.batch_delete("Manager")
    found = last(container, "delete rules")
    assert found.of(DELETE) == {"Manager": [set()]}
    assert "boss" in found.of(UPDATE)["Person"][0]


@pytest.mark.parametrize("includes_to_many", [False, True], ids=["without to-many", "with to-many"])
def test_both_readers_agree_on_random_changes(container: Container, includes_to_many: bool) -> None:
    """The expected properties of each update come from the library's change tracking."""
    choice = random.Random(20240229)
    ctx = container.context()
    forms: dict[str, Any] = {
        "tag": lambda: choice.choice("abc"), "zone": lambda: choice.randrange(9), "name": lambda: choice.choice("xyz"),
        "born": lambda: MOMENT + timedelta(days=choice.randrange(99)), "pay": lambda: Decimal(choice.randrange(99)),
        "active": lambda: choice.random() < 0.5, "key": lambda: UUID(int=choice.randrange(99)),
        "budget": lambda: choice.randrange(99), "title": lambda: choice.choice("uvw"),
        "zeta": lambda: choice.randrange(9), "number": lambda: choice.randrange(9),
        "label": lambda: choice.choice("lm"), "extra": lambda: choice.random(), "serial": lambda: choice.choice("st"),
        "a0": lambda: choice.randrange(9), "a8": lambda: choice.randrange(9),
    }  # fmt: skip
    entities = ["Person", "Person", "Manager", "Robot", "Team", "Club", "Badge", "Thing", "Special", "Wide"]
    alive: list[Any] = []
    wrong: list[str] = []

    touched: set[tuple[int, str]] = set()

    def set_attribute(item: Any) -> None:
        """Sets an attribute to another value, at most once for each save: an equal value is an update, too."""
        each = choice.choice([one for one in ctx.model[item.id.entity_name].properties.values() if one.name in forms])
        value = None if choice.random() < 0.1 else forms[each.name]()
        if value != item[each.name] and (id(item), each.name) not in touched:
            touched.add((id(item), each.name))
            item[each.name] = value

    def set_relationship(item: Any) -> None:
        found = [one for one in ctx.model[item.id.entity_name].properties.values() if one.is_relationship]
        if not found:
            return
        each = choice.choice(found)
        kind = ctx.model._entity_of(each.destination).object_class
        targets = [other for other in alive if isinstance(other, kind)]
        if each.is_to_many:
            members = choice.sample(targets, min(len(targets), choice.randrange(4)))
            if set(members) != set(item[each.name]):
                item[each.name] = members
        else:
            target = choice.choice(targets) if targets and choice.random() < 0.8 else None
            if target is not item[each.name]:
                item[each.name] = target

    for _ in range(250):
        touched.clear()
        for _ in range(choice.randrange(9)):
            if choice.random() < 0.3 or len(alive) < 12:
                alive.append(ctx.insert(choice.choice(entities)))
            else:
                set_attribute(choice.choice(alive))
        # One step that may concern other objects: two could cancel each other.
        if choice.random() < 0.2:
            ctx.delete(choice.choice(alive))
        else:
            set_relationship(choice.choice(alive))
        ctx.process_pending_changes()
        expected: dict[tuple[int, str], set[str]] = {}
        for each in ctx.updated:
            expected[UPDATE, each.id.uri] = set(each.changed_values()) - {"scratch"}
        gone = list(ctx.deleted)
        expected.update({(DELETE, each.id.uri): set() for each in gone})
        known = set(ctx.known) - set(gone)
        alive = [each for each in alive if each in known]
        before = container.coordinator.history_token()
        new = list(ctx.inserted)
        ctx.save()
        expected.update({(INSERT, each.id.uri): set() for each in new})
        history = list(container.coordinator.history(since=before))
        assert len(history) <= 1
        found = {
            (int(one.kind), one.object_uri): set(one.updated_properties) for each in history for one in each.changes
        }
        if not includes_to_many:
            for names in [*found.values(), *expected.values()]:
                names -= {"reports", "members", "clubs", "people", "friends", "teams"}
        if found != expected:
            wrong.append(difference(found, expected))
    compare(container.coordinator, Path(container.path), "random")
    assert wrong == []


def difference(found: dict[Any, set[str]], expected: dict[Any, set[str]]) -> str:
    return "; ".join(
        f"{HistoryChangeKind(kind).name} {uri}: {found.get((kind, uri))} instead of {expected.get((kind, uri))}"
        for kind, uri in sorted({*found, *expected})
        if found.get((kind, uri)) != expected.get((kind, uri))
    )


# -------- other shapes of the tables -----------------------------------------------------------------------


def filled(path: Path) -> None:
    """A file with transactions of several authors, and changes of each kind."""
    with opened(path, journal="rollback") as container:
        for author, name in ((None, None), ("one", "main"), ("two", None), ("one", "background")):
            ctx: Context = container.context()
            ctx.transaction_author, ctx.name = author, name
            people = [ctx.insert("Person", name=str(number), tag="t") for number in range(5)]
            ctx.save()
            people[0].zone, people[1].name = 1, "x"
            ctx.save()
            ctx.delete(people[2])
            ctx.save()


NAMES = ("ZAUTHOR", "ZBUNDLEID", "ZCONTEXTNAME", "ZPROCESSID")


def alter(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as database:
        for statement in statements:
            database.execute(statement)
        database.commit()


def inline(condition: str = "1") -> list[str]:
    """Statements that move names into the rows of transactions."""
    return [
        f"UPDATE ATRANSACTION SET {name} = (SELECT ZNAME FROM ATRANSACTIONSTRING s WHERE s.Z_PK = {name}TS), "
        f"{name}TS = NULL WHERE {condition}"
        for name in NAMES
    ]


OLDEST = [
    *inline(),
    *(f"DROP INDEX ATRANSACTION_{name}TS_INDEX" for name in NAMES),
    *(f"ALTER TABLE ATRANSACTION DROP COLUMN {name}TS" for name in NAMES),
    "DROP TABLE ATRANSACTIONSTRING",
    "DELETE FROM Z_PRIMARYKEY WHERE Z_ENT = 16003",
]
SHAPES = {
    "names inline, no table of strings": OLDEST,
    "names inline in old rows only": inline("Z_PK < 6"),
    "an inline name is taken first": [*inline("0"), "UPDATE ATRANSACTION SET ZAUTHOR = 'inline' WHERE Z_PK = 2"],
    "no masks": ["ALTER TABLE ACHANGE DROP COLUMN ZCOLUMNS"],
    "fewer tombstones than attributes": ["ALTER TABLE ACHANGE DROP COLUMN ZTOMBSTONE6"],
    "numbers with gaps": [
        "UPDATE ACHANGE SET ZTRANSACTIONID = ZTRANSACTIONID * 7", "UPDATE ATRANSACTION SET Z_PK = Z_PK * 7000",
        "UPDATE ATRANSACTION SET Z_PK = Z_PK / 1000",
        "UPDATE Z_PRIMARYKEY SET Z_MAX = Z_MAX * 7 WHERE Z_ENT = 16002",
    ],
    "transactions without changes": ["DELETE FROM ACHANGE WHERE ZTRANSACTIONID IN (1, 5, 12)"],
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_both_readers_agree_on_other_table_layouts(store_path: Path, shape: str) -> None:
    filled(store_path)
    with opened(store_path, read_only=True) as container:
        usual = reader.read(store_path, container.model.describe())
    alter(store_path, *SHAPES[shape])
    with opened(store_path, read_only=True) as container:
        theirs = compare(container.coordinator, store_path, shape)
    names = [(each.author, each.context_name, each.bundle, each.process) for each in theirs.transactions]
    if shape in ("names inline, no table of strings", "names inline in old rows only"):
        assert names == [(each.author, each.context_name, each.bundle, each.process) for each in usual.transactions]
        assert {each[0] for each in names} == {None, "one", "two"}
    if shape == "an inline name is taken first":
        assert names[1][0] == "inline"
    if shape == "no masks":
        assert all(not change.properties for each in theirs.transactions for change in each.changes)


@pytest.mark.parametrize("shape", ["names inline, no table of strings", "names inline in old rows only", "no masks"])
def test_saves_keep_other_table_layouts(store_path: Path, shape: str) -> None:
    """A save into such a file keeps its table layout, and both readers read it."""
    filled(store_path)
    alter(store_path, *SHAPES[shape])
    with opened(store_path) as container:
        ctx = container.context()
        ctx.transaction_author = "late"
        ctx.first("Person").tag = "changed"
        ctx.save()
        theirs = compare(container.coordinator, store_path, f"{shape}, written")
        assert theirs.transactions[-1].author == "late"


def test_change_of_an_unknown_entity_is_skipped(store_path: Path) -> None:
    filled(store_path)
    alter(store_path, "UPDATE ACHANGE SET ZENTITY = 999 WHERE Z_PK IN (1, 7)")
    with opened(store_path, read_only=True) as container:
        assert compare(container.coordinator, store_path, "unknown entities").foreign == 2


def test_copy_of_a_store_has_its_history(store_path: Path, tmp_path: Path) -> None:
    filled(store_path)
    copy = tmp_path / "copy.sqlite"
    shutil.copyfile(store_path, copy)
    with opened(store_path) as one, opened(copy) as two:
        token = one.coordinator.history_token()
        assert two.coordinator.history_token() == token
        a = compare(one.coordinator, store_path, "copy")
        b = compare(two.coordinator, copy, "copy")
        assert a == b
