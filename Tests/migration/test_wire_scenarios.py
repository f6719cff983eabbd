"""Scenarios of a store that Apple's framework migrated in place from version to version (fixtures/chains/wire).

Where a file of one of the two versions is missing, its model is made from the other one, and the rows are inserted:
those of the fixtures were removed.
"""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import corestone
import pytest
from checkout import FIXTURES
from corestone import Container, Context, Coordinator, Model, migration_plan
from stored import connect

pytestmark = pytest.mark.skipif(not FIXTURES.is_dir(), reason="the files of other programs are not there")


def file_of(version: int) -> Path:
    return FIXTURES / "chains" / "wire" / f"store2-{version}-0.wiredatabase"


def model_of(version: int) -> Model:
    with corestone.open(file_of(version)) as container:
        return container.model.copy()


def copied(version: int, folder: Path) -> Path:
    return Path(shutil.copyfile(file_of(version), folder / "store.sqlite"))


def query(path: Path, text: str) -> list[tuple[Any, ...]]:
    with closing(connect(path)) as file:
        return file.execute(text).fetchall()


def execute(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as file, file:
        for statement in statements:
            file.execute(statement)


def insert(path: Path, model: Model, **entities: list[dict[str, Any]]) -> None:
    """Inserts rows without their relationships, many of which are required."""
    with Container(model, path) as container, container.context() as context:
        for entity, rows in entities.items():
            assert context.batch_insert(entity, rows) == len(rows)


def migrate(path: Path, model: Model, **options: Any) -> None:
    with Coordinator(model) as coordinator:
        coordinator.add_store(path, migrate=True, **options)


def table(path: Path, name: str) -> tuple[int, str]:
    """The root page and the text of a table."""
    ((page, text),) = query(path, f"SELECT rootpage, sql FROM sqlite_master WHERE type = 'table' AND name = '{name}'")
    return page, text


def indexes(path: Path, of: str) -> dict[str, str]:
    """The texts of a table's indexes, without quotes and the names of the indexes."""
    found = query(
        path, f"SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name = '{of}' AND sql IS NOT NULL"
    )
    return {name: text.partition(" ON ")[2].replace('"', "") for name, text in found}


@pytest.mark.scenario("M059")
def test_added_column_is_appended_to_its_table(tmp_path: Path) -> None:
    path, wanted = tmp_path / "store.sqlite", model_of(87)
    former = wanted.copy()
    former["Conversation"].remove("needsToCalculateUnreadMessages")
    first = former.copy()
    first["Conversation"].remove("draftMessageNonce")
    insert(path, first, Conversation=[{"userDefinedName": f"conversation {number}"} for number in range(21)])
    migrate(path, former)
    execute(path, "UPDATE ZCONVERSATION SET Z_OPT = Z_PK + 3")
    values = "SELECT Z_PK, Z_ENT, Z_OPT, ZUSERDEFINEDNAME FROM ZCONVERSATION ORDER BY Z_PK"
    page, before = table(path, "ZCONVERSATION")[0], query(path, values)
    migrate(path, wanted)
    text = table(path, "ZCONVERSATION")[1]
    assert text.endswith(" , ZDRAFTMESSAGENONCE BLOB, ZNEEDSTOCALCULATEUNREADMESSAGES INTEGER)")
    assert text == table(file_of(87), "ZCONVERSATION")[1]
    assert table(path, "ZCONVERSATION")[0] == page
    assert query(path, "SELECT ZNEEDSTOCALCULATEUNREADMESSAGES FROM ZCONVERSATION") == [(0,)] * 21
    assert query(path, values) == before


@pytest.mark.scenario("M060")
def test_optional_attribute_with_a_default_is_filled(tmp_path: Path) -> None:
    path, wanted = tmp_path / "store.sqlite", model_of(92)
    former = wanted.copy()
    former["UserClient"].remove("needsToUpdateCapabilities")
    insert(path, former, UserClient=[{"remoteIdentifier": f"client {number}"} for number in range(12)])
    migrate(path, wanted)
    assert wanted["UserClient"].describe("needsToUpdateCapabilities")["optional"] is True
    assert query(path, "SELECT ZNEEDSTOUPDATECAPABILITIES FROM ZUSERCLIENT") == [(1,)] * 12


@pytest.mark.scenario("M062")
def test_indexes_with_old_names_are_read_but_not_written(tmp_path: Path) -> None:
    path = copied(88, tmp_path)
    expected = "Z_1ROLE (Z_21ROLE, Z_1ACTIONS)"
    assert indexes(path, "Z_1ROLE") == {f"Z_1ROLE_Z_{number}ROLE_INDEX": expected for number in (19, 20, 21)}
    insert(path, model_of(88), Action=[{"name": "leave"}], Role=[{"name": "admin"}])
    execute(path, "INSERT INTO Z_1ROLE (Z_1ACTIONS, Z_21ROLE) SELECT a.Z_PK, r.Z_PK FROM ZACTION a, ZROLE r")
    with Container(model_of(88), path, migrate=False) as container, container.context() as context:
        assert [each["name"] for each in context.fetch("Action")[0]["role"]] == ["admin"]
        context.fetch("Role")[0]["name"] = "member"
        context.save()
    # The migration from the version before renames the columns, and keeps one index of each list of columns.
    (tmp_path / "other").mkdir()
    path = copied(87, tmp_path / "other")
    assert len(indexes(path, "Z_1ROLE")) == 2
    migrate(path, model_of(88))
    assert indexes(path, "Z_1ROLE") == {"Z_1ROLE_Z_21ROLE_INDEX": expected}


def trusted(context: Context) -> dict[str, list[str]]:
    return {
        each["remoteIdentifier"]: sorted(one["remoteIdentifier"] for one in each["trustedClients"])
        for each in context.fetch("UserClient")
    }


PAIRS = {"a": ["b", "c"], "b": ["c"], "c": []}


@pytest.mark.scenario("M064")
@pytest.mark.parametrize("version", [95, 96])
def test_join_table_may_have_the_name_of_either_side(tmp_path: Path, version: int) -> None:
    """The former file has it after `trustedClients`, the one that Apple migrated after `trustedByClients`."""
    path, wanted = copied(version, tmp_path), model_of(96)
    name = "Z_25TRUSTEDCLIENTS" if version == 95 else "Z_25TRUSTEDBYCLIENTS"
    insert(path, model_of(version), UserClient=[{"remoteIdentifier": each} for each in PAIRS])
    keys = {each: key for key, each in query(path, "SELECT Z_PK, ZREMOTEIDENTIFIER FROM ZUSERCLIENT")}
    for owner, members in PAIRS.items():
        for member in members:
            columns = "Z_25TRUSTEDBYCLIENTS, Z_25TRUSTEDCLIENTS"
            execute(path, f"INSERT INTO {name} ({columns}) VALUES ({keys[owner]}, {keys[member]})")
    migrate(path, wanted)
    with Container(wanted, path, migrate=False) as container, container.context() as context:
        assert trusted(context) == PAIRS
        assert context.count("UserClient", "needsSessionMigration == YES") == 3
        (client,) = context.fetch("UserClient", "remoteIdentifier == 'b'")
        assert [each["remoteIdentifier"] for each in client["trustedByClients"]] == ["a"]
    (table_name,) = {
        found for (found,) in query(path, "SELECT name FROM sqlite_master WHERE type = 'table'") if "TRUSTED" in found
    }
    found_columns = [row[1] for row in query(path, f'PRAGMA table_info("{table_name}")')]
    assert found_columns == ["Z_25TRUSTEDBYCLIENTS", "Z_25TRUSTEDCLIENTS"]
    # No column list is indexed twice.
    found = indexes(path, table_name)
    if version == 95:
        assert len(set(found.values())) == len(found)
    else:
        assert "Z_25TRUSTEDBYCLIENTS_Z_25TRUSTEDBYCLIENTS_INDEX" in found


@pytest.mark.scenario("M067")
def test_removed_entity_lowers_the_numbers_of_later_ones(tmp_path: Path) -> None:
    path, wanted = copied(100, tmp_path), model_of(100)
    wanted["Team"].remove("featureFlags")
    wanted.remove("FeatureFlag")
    wanted["Feature"].remove("needsToBeUpdatedFromBackend")
    insert(
        path, model_of(100), FeatureFlag=[{"identifier": "x", "isEnabled": True}],
        Feature=[{"nameValue": "feature", "statusValue": "on"}], TextMessage=[{"text": "first"}, {"text": "second"}],
    )  # fmt: skip
    execute(path, "UPDATE ZMESSAGE SET ZQUOTE = 1, Z11_QUOTE = Z_ENT WHERE Z_PK = 2")
    numbers = dict(query(path, "SELECT Z_NAME, Z_ENT FROM Z_PRIMARYKEY"))
    migrate(path, wanted, allow_removals=True)
    assert query(path, "SELECT name FROM sqlite_master WHERE name LIKE '%FEATUREFLAG%'") == []
    assert dict(query(path, "SELECT Z_NAME, Z_ENT FROM Z_PRIMARYKEY")) == {
        name: number - (number > numbers["FeatureFlag"]) for name, number in numbers.items() if name != "FeatureFlag"
    }
    columns = [row[1] for row in query(path, "PRAGMA table_info(ZMESSAGE)")]
    assert "Z10_QUOTE" in columns and "Z11_QUOTE" not in columns
    assert "ZNEEDSTOBEUPDATEDFROMBACKEND" not in table(path, "ZFEATURE")[1]
    number = numbers["TextMessage"] - 1
    assert query(path, "SELECT Z_ENT, ZQUOTE, Z10_QUOTE FROM ZMESSAGE ORDER BY Z_PK") == [
        (number, None, None),
        (number, 1, number),
    ]
    with Container(wanted, path, migrate=False) as container, container.context() as context:
        (message,) = context.fetch("TextMessage", "text == 'second'")
        assert message["quote"]["text"] == "first"
        assert [each["nameValue"] for each in context.fetch("Feature")] == ["feature"]


@pytest.mark.scenario("M080")
def test_one_inferred_step_spans_many_versions(tmp_path: Path) -> None:
    """From 2.21.1, the oldest model of the fixtures, to 2.100. They lack the file of 1.25; its rows are inserted."""
    path = tmp_path / "store.sqlite"
    bundle = FIXTURES / "source-models" / "wireapp+wire-ios-data-model" / "zmessaging.xcdatamodeld"
    former, wanted = (Model.load(bundle / f"zmessaging2.{number}.xcdatamodel") for number in ("21.1", "100.0"))
    insert(
        path, former,
        Conversation=[{"userDefinedName": f"conversation {number}"} for number in range(13)],
        TextMessage=[{"text": "one text" if number < 1515 else f"text {number}"} for number in range(1681)],
        SystemMessage=[{"text": f"system {number}"} for number in range(53)],
        Connection=[{"message": f"connection {number}"} for number in range(5)],
        UserClient=[{"remoteIdentifier": f"client {number}"} for number in range(7)],
    )  # fmt: skip
    execute(path, "UPDATE ZMESSAGE SET ZVISIBLEINCONVERSATION = 1 + Z_PK % 13")
    plan = migration_plan(path, wanted)
    assert (plan.problems, plan.steps) == ([], []), "not in one inferred step"
    migrate(path, wanted)
    with Container(wanted, path, migrate=False) as container, container.context() as context:
        counts = {"Conversation": 13, "TextMessage": 1681, "SystemMessage": 53, "Connection": 5, "UserClient": 7}
        assert {entity: context.count(entity) for entity in counts} == counts
        assert context.count("Message") == 1681 + 53
        assert context.count("TextMessage", "text == 'one text'") == 1515
        conversations = context.fetch("Conversation")
        assert sum(len(each["allMessages"]) for each in conversations) == 1681 + 53
        assert {len(each["allMessages"]) for each in conversations} == {133, 134}
