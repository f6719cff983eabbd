"""The log, explanations of fetches, and statistics."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from corestone import (
    Container,
    Context,
    InvalidArgumentError,
    Model,
    PredicateError,
    StoreCorruptError,
    log,
)

STAFF = {
    "Team": {"name": "string", "members": "to-many Person inverse team"},
    "Person": {"name": "string", "age": "int = 0", "mood": "string? transient", "team": "to-one Team? inverse members"},
}


@pytest.fixture
def staff(tmp_path: Path) -> Iterator[Context]:
    with Container(Model(STAFF), tmp_path / "staff.sqlite", unsaved="discard") as container:
        context = container.context()
        team = context.insert("Team", name="R&D")
        for number in range(10):
            context.insert("Person", name=f"person {number}", age=number, team=team)
        context.save()
        yield context


def test_sql_detail_selects_the_lines(staff: Context) -> None:
    with log.recorded() as lines:
        staff.fetch("Person", "age > 4")
    assert [line[:22] for line in lines] == ["CoreData: sql: SELECT ", "CoreData: annotation: "]
    assert lines[1].endswith(" for 5 rows")
    with log.recorded(3) as lines:
        staff.count("Person", "name == %@", "person 3")
    assert any("with values" in line and "'person 3'" in line for line in lines)
    assert any("plan: " in line for line in lines)
    with log.recorded(1) as lines:
        staff.fetch("Person", "name == %@", "person 3")
    assert not any("person 3" in line for line in lines)
    assert log.sql_detail() == 0


def test_control_characters_in_values_do_not_forge_log_lines(staff: Context) -> None:
    with log.recorded(3) as lines:
        assert staff.count("Person", "name == %@", "x\x1b[2J\u202e\r\nCoreData: sql: forged") == 0
    assert any("'x␛[2J\\u{202E}␍⏎CoreData: sql: forged'" in line for line in lines), lines
    assert not [line for line in lines for character in line if character < " "]


def test_unknown_sql_detail_is_rejected() -> None:
    with pytest.raises(InvalidArgumentError, match="detail is 5"):
        log.set_sql_detail(5)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_exception_of_the_log_callback_does_not_fail_the_call(staff: Context) -> None:
    def complain(line: str) -> None:
        raise ValueError(line)

    log.set_callback(complain)
    log.set_sql_detail(1)
    try:
        assert len(staff.fetch("Person")) == 10
    finally:
        log.set_sql_detail(0)
        log.set_callback(None)


@pytest.mark.parametrize(
    ("environment", "logged"),
    [({"CORESTONE_SQL_DEBUG": "1"}, True), ({"COREDATA_SQLDEBUG": "2"}, True), ({}, False)],
)
def test_environment_variable_enables_the_log(tmp_path: Path, environment: dict[str, str], logged: bool) -> None:
    program = (
        "from corestone import Container, Model\n"
        "with Container(Model({'A': {'b': 'int'}}), 'a.sqlite') as container:\n"
        "    container.context().fetch('A')\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=os.environ | environment, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    assert ("CoreData: sql: SELECT" in ran.stderr) is logged


@pytest.mark.parametrize(("own", "apple", "logged"), [("1", "0", True), ("0", "1", False)])
def test_corestone_variable_overrides_the_variable_of_apple(tmp_path: Path, own: str, apple: str, logged: bool) -> None:
    program = (
        "from corestone import Container, Model, log\n"
        "print(log.sql_detail())\n"
        "with Container(Model({'A': {'b': 'int'}}), 'a.sqlite') as container:\n"
        "    container.context().fetch('A')\n"
    )
    environment = os.environ | {"CORESTONE_SQL_DEBUG": own, "COREDATA_SQLDEBUG": apple}
    ran = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert (ran.returncode, ran.stdout) == (0, f"{own}\n"), ran.stderr
    assert ("CoreData: sql: SELECT" in ran.stderr) is logged


def test_launch_arguments_set_log_levels() -> None:
    assert log.take_arguments(["program", "-com.apple.CoreData.SQLDebug", "1", "x"]) == 1
    assert log.sql_detail() == 1
    log.set_sql_detail(0)
    with pytest.raises(InvalidArgumentError, match="followed by an integer from 0 to 2"):
        log.take_arguments(["-com.apple.CoreData.SQLiteDebugSynchronous", "9"])


def test_explanation_describes_the_statement_and_its_plan(staff: Context) -> None:
    logged = staff.explain("Person", "age > %d AND team.name == %@", 4, "R&D", sort="-age", limit=3)
    assert (logged.entity, logged.predicate) == ("Person", 'age > 4 AND team.name == "R&D"')
    [share] = logged.shares
    assert share.path == staff.container.path
    assert share.bindings == [4, "R&D"]
    assert "R&D" not in share.sql
    assert "LIMIT 3" in share.sql
    assert (share.remainder, share.sorted_in_memory, share.reasons) == (None, False, [])
    assert any("t0" in step.detail for step in share.steps)
    assert "in memory: nothing" in str(logged)


def test_explanation_describes_work_in_memory(staff: Context) -> None:
    staff.insert("Person", name="new", age=7)
    logged = staff.explain("Person", "mood == 'good' AND age > 4", sort="mood")
    [share] = logged.shares
    assert share.remainder == 'mood == "good"'
    assert share.bindings == [4]
    assert share.sorted_in_memory
    assert all("mood" in reason for reason in share.reasons)
    assert logged.pending_objects == 1
    with pytest.raises(PredicateError, match="nothing"):
        staff.explain("Person", "nothing == 1")


def test_statistics_count_saves_and_rows(staff: Context) -> None:
    coordinator = staff.container.coordinator
    assert coordinator.statistics[7:11] == (1, 11, 0, 0)
    coordinator.reset_statistics()
    assert set(coordinator.statistics._replace(row_bytes=0)) == {0}
    assert coordinator.statistics.row_bytes > 0
    other = staff.container.context()
    people = list(other.fetch("Person"))
    assert coordinator.statistics[:3] == (1, 10, 0)
    assert {person.team.name for person in people} == {"R&D"}
    counted = coordinator.statistics
    assert (counted.faults, counted.cache_hits + counted.cache_misses) == (1, 1)
    assert len(people[0].team.members) == 10
    assert coordinator.statistics.relationship_faults == 1
    people[0].age = 99
    other.save()
    assert (coordinator.statistics.saves, coordinator.statistics.updated) == (1, 1)


def test_log_callback_cannot_call_the_library(staff: Context) -> None:
    logged: list[str] = []

    def nosy(line: str) -> None:
        with pytest.raises(InvalidArgumentError, match="called the library"):
            staff.count("Person")
        logged.append(line)

    log.set_callback(nosy)
    log.set_sql_detail(1)
    try:
        assert staff.count("Person") == 10
    finally:
        log.set_sql_detail(0)
        log.set_callback(None)
    assert len(logged) >= 2


def test_explanation_gives_each_reason_once(staff: Context) -> None:
    [share] = staff.explain("Person", "mood == 'x'", sort="mood").shares
    assert len(share.reasons) == len(set(share.reasons))


def kinds(lines: list[str]) -> set[str]:
    """The beginnings of lines: of a statement with its verb, of others with two words more."""
    pattern = r"CoreData: (sql: \w+|\w+: [a-z]+ [a-z]+|\w+: (?:plan|counters))"
    return {re.sub(r"\d+ ", "", re.match(pattern, line)[1]) for line in lines}  # type: ignore[index]


def test_each_sql_detail_adds_its_kinds_of_lines(staff: Context) -> None:
    statements = {
        "sql: SELECT",
        "sql: INSERT",
        "sql: UPDATE",
        "annotation: sql connection",
        "annotation: sql execution",
    }
    expected: set[str] = set()
    for detail, added in enumerate(
        [
            set(),
            statements,
            {"sql: BEGIN", "sql: COMMIT"},
            {"details: with values", "details: plan"},
            {"details: counters"},
        ]
    ):
        expected |= added
        with log.recorded(detail) as lines:
            staff.insert("Person", name=f"secret {detail}")
            staff.save()
            # Another text for each detail, since a plan is logged once per statement.
            assert len(staff.fetch("Person", "name == %@" + " AND age >= 0" * detail, f"secret {detail}")) == 1
            assert log.sql_detail() == detail
        assert kinds(lines) == expected, detail
        assert any(f"secret {detail}" in line for line in lines) is (detail >= 3)


def test_log_line_has_the_time_and_row_count_of_its_statement(staff: Context) -> None:
    with log.recorded(1) as lines:
        for person in staff.fetch("Person", "age < 3"):
            person.age += 100
        staff.save()
    logged = [line for line in lines if "annotation" in line]
    time = r"CoreData: annotation: sql (connection fetch|execution) time: \d+\.\d{4}s for (\d+) rows?"
    assert all(re.fullmatch(time, line) for line in logged)
    assert next(line.rsplit(" ", 2)[1] for line in logged if "connection fetch" in line) == "3"
    updates = [logged for line, logged in zip(lines, lines[1:]) if line.startswith("CoreData: sql: UPDATE ZPERSON")]
    assert updates
    assert all(line.endswith(" for 1 row") for line in updates)


def test_query_plan_is_logged_once_per_statement(staff: Context) -> None:
    def plans() -> list[str]:
        with log.recorded(3) as lines:
            staff.fetch("Person", "age > 4 AND age < 6 AND age != 5", sort="name")
        return [line for line in lines if line.startswith("CoreData: details: plan: ")]

    assert plans() != []
    assert plans() == []


@pytest.mark.parametrize("checks", ["1", "0"])
def test_damaged_file_is_rejected_when_integrity_is_checked(tmp_path: Path, checks: str) -> None:
    path = tmp_path / "staff.sqlite"
    with Container(Model(STAFF), path) as container:
        context = container.context()
        context.insert("Person", name="Ada")
        context.save()
    with closing(sqlite3.connect(path)) as database, database:
        # A table that no statement of the library looks at, whose index does not have its rows.
        database.execute("CREATE TABLE other (a TEXT)")
        database.execute("INSERT INTO other VALUES ('x')")
        database.execute("PRAGMA writable_schema = 1")
        [page] = database.execute("SELECT rootpage FROM sqlite_master WHERE name = 'other'").fetchone()
        database.execute(
            "INSERT INTO sqlite_master VALUES ('index', 'i', 'other', ?, 'CREATE INDEX i ON other (a)')",
            [page],
        )
    log.take_arguments(["-com.apple.CoreData.SQLiteIntegrityCheck", checks])
    try:
        if checks == "0":
            with Container(Model(STAFF), path) as container:
                assert container.context().count("Person") == 1
            return
        with pytest.raises(StoreCorruptError, match=r"SQLite's integrity check of .* failed: ") as caught:
            Container(Model(STAFF), path)
    finally:
        log.take_arguments(["-com.apple.CoreData.SQLiteIntegrityCheck", "0"])
    assert (caught.value.code, caught.value.file, caught.value.sqlite_code) == (134080, str(path), 11)
    assert str(path) in caught.value.message


def test_invalid_launch_argument_changes_no_setting() -> None:
    prefix = "-com.apple.CoreData."
    for arguments, key, value in [
        ([prefix + "SQLDebug", "2", prefix + "ThreadingDebug", "4"], prefix + "ThreadingDebug", "4"),
        ([prefix + "SQLDebug", "2", prefix + "SyntaxColoredLogging"], prefix + "SyntaxColoredLogging", None),
        ([prefix + "SQLDebug", "2", prefix + "Nothing", "0"], prefix + "Nothing", prefix + "Nothing"),
    ]:
        with pytest.raises(InvalidArgumentError) as caught:
            log.take_arguments(arguments)
        assert (caught.value.key, caught.value.value) == (key, value)
        assert log.sql_detail() == 0
    assert log.take_arguments(["SQLDebug", "1", "--com.apple.CoreData.SQLDebug", "1"]) == 0
    assert log.sql_detail() == 0


SECRET = "Xq7"


@pytest.mark.parametrize(
    "condition",
    [
        "name == %@", "name != %@", "name ==[cd] %@", "name < %@", "name BETWEEN {%@, 'z'}", "name IN {'a', %@}",
        "name LIKE %@", "name LIKE[cd] %@", "name MATCHES %@", "name CONTAINS %@", "name BEGINSWITH[c] %@",
        "name ENDSWITH %@",
        "ANY team.members.name == %@", "SUBQUERY(team.members, $m, $m.name == %@).@count > 0", "team.name == %@",
        "lowercase:(name) == %@", "TERNARY(age > 3, name, %@) == 'x'", "NOT (name == %@ OR mood == 'x')", "mood == %@",
    ],
)  # fmt: skip
def test_log_below_detail_3_has_no_constants(staff: Context, condition: str) -> None:
    for detail in (1, 2, 3):
        with log.recorded(detail) as lines:
            staff.fetch("Person", condition, SECRET + str(detail), sort="name").to_dicts("name")
            staff.count("Person", condition, SECRET + str(detail))
            staff.fetch_rows("Person", condition, SECRET + str(detail), columns=["name"], limit=5)
        assert lines
        logged = [line for line in lines if SECRET.casefold() in line.casefold()]
        assert detail == 3 or logged == []


def test_log_below_detail_3_has_no_written_values(staff: Context) -> None:
    staff.transaction_author = SECRET + "author"
    with log.recorded(2) as lines:
        person = staff.insert("Person", name=SECRET + "insert", team=staff.insert("Team", name=SECRET + "team"))
        staff.save()
        person.name = SECRET + "update"
        staff.save()
        staff.delete(person)
        staff.save()
        staff.batch_update("Person", {"name": SECRET + "batch"}, "name == %@", SECRET)
        staff.batch_insert("Person", [{"name": SECRET + "many"}])
        staff.batch_delete("Person", "name == %@", SECRET + "many")
    assert sum(line.startswith("CoreData: sql: ") for line in lines) > 10
    assert [line for line in lines if SECRET in line] == []
