r"""Measures migrations with a mapping model: memory at 10,000 and 1,000,000 rows, and speed compared with in place.

PYTHONPATH=bindings/python CORESTONE_LIBRARY=build/lib/libcorestone.so \
    python bench/mapping.py [--rows N] [--only TEXT] [--gate]

Each migration runs in its own process, whose peak memory is reported. The growth is the peak memory with the large
store, divided by that with the small store. With --gate, the exit status is 1 if the growth exceeds its limit, for a
mapping without a policy or with a batch-safe one. A policy that is not batch-safe keeps all objects in memory; its
growth has no limit.
"""

from __future__ import annotations

import argparse
import os
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import corestone
from corestone import Container, Coordinator, EntityMapping, MappingModel, Model

LIMIT = 1.5
SMALL = 10_000
#: The number of items of each owner.
SHARE = 10
ITEM = {"name": "string", "code": "int64", "rank": "int32", "price": "double", "note": "string?", "made": "date?"}
NEW = {**ITEM, "kind": "string = plain", "total": "double = 0"}
MEMBERS = "destinationInstancesForEntityMappingNamed:sourceInstances:"


@dataclass(frozen=True)
class Case:
    """A migration to measure: whether items have owners, whether they are ordered, and the policy class."""

    relationships: bool = False
    is_ordered: bool = False
    policy: str | None = None
    #: Rows of the large store; None for those of --rows.
    rows: int | None = None

    @property
    def has_limit(self) -> bool:
        return self.policy != "InMemory"

    def model(self, attributes: dict[str, str]) -> Model:
        if not self.relationships:
            return Model({"Item": attributes})
        many = "to-many Item? inverse owner" + (" ordered" if self.is_ordered else "")
        return Model(
            {
                "Item": {**attributes, "owner": "to-one Owner? inverse items"},
                "Owner": {"name": "string", "items": many},
            }
        )

    def mapping(self, source: Model, destination: Model) -> MappingModel:
        def members(mapping: str, key: str) -> str:
            return f'FUNCTION($manager, "{MEMBERS}", "{mapping}", $source.{key})'

        values = {name: f"$source.{name}" for name in ITEM} | {"kind": '"new"', "total": "$source.price * 2"}
        item = EntityMapping(
            source="Item",
            destination="Item",
            attributes=values,
            relationships={"owner": members("OwnerToOwner", "owner")} if self.relationships else {},
            policy_class=self.policy,
        )
        owner = EntityMapping(
            source="Owner",
            destination="Owner",
            attributes={"name": "$source.name"},
            relationships={"items": members("ItemToItem", "items")},
        )
        return MappingModel([item, owner] if self.relationships else [item], source, destination)


CASES = {
    "attributes": Case(),
    "to-one and to-many": Case(relationships=True),
    "to-one and ordered to-many": Case(relationships=True, is_ordered=True),
    "batch-safe policy": Case(policy="BatchSafe"),
    "policy in memory": Case(policy="InMemory", rows=100_000),
    "policy in memory, to-one and to-many": Case(relationships=True, policy="InMemory", rows=100_000),
}


def fill(path: Path, case: Case, rows: int) -> None:
    Container(case.model(ITEM), path).close()
    with sqlite3.connect(path) as file:
        file.execute(
            "INSERT INTO ZITEM (Z_PK, Z_ENT, Z_OPT, ZNAME, ZCODE, ZRANK, ZPRICE, ZNOTE, ZMADE) "
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) "
            "SELECT i, 1, 1, 'item ' || i, i * 7, i % 100, i * 0.25, "
            "CASE WHEN i % 3 THEN 'a note of item ' || i END, i FROM n",
            [rows],
        )
        file.execute("UPDATE Z_PRIMARYKEY SET Z_MAX = ?", [rows])
        if case.relationships:
            file.execute(
                "INSERT INTO ZOWNER (Z_PK, Z_ENT, Z_OPT, ZNAME) "
                f"SELECT Z_PK, 2, 1, 'owner ' || Z_PK FROM ZITEM WHERE Z_PK <= {rows // SHARE}"
            )
            file.execute(f"UPDATE ZITEM SET ZOWNER = Z_PK % {rows // SHARE} + 1")
        if case.is_ordered:
            file.execute("UPDATE ZITEM SET Z_FOK_OWNER = 1024 * (1000 - ZRANK) + Z_PK % 7")
    file.close()


class Calling(corestone.MigrationPolicy):
    """The default policy, with a call of Python for each object."""

    def create_destination_instances(self, source: Any, mapping: Any, manager: Any) -> None:
        super().create_destination_instances(source, mapping, manager)


class BatchSafe(Calling):
    batch_safe = True


def migrate(path: str, name: str, is_mapped: bool) -> None:
    """Prints seconds, the peak memory in MB, and the peak before the migration. Must run in a new process."""
    case = CASES[name]
    old, new = case.model(ITEM), case.model(NEW)
    options: dict[str, Any] = {}
    if is_mapped:
        if case.policy:
            corestone.register_migration_policy("InMemory", Calling)
            corestone.register_migration_policy("BatchSafe", BatchSafe)
        options["mapping_models"] = [case.mapping(old, new)]
    before = peak()
    start = time.perf_counter()
    coordinator = Coordinator(new)
    coordinator.add_store(path, migrate=True, **options)
    coordinator.close()
    print(time.perf_counter() - start, peak(), before)


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measured(folder: Path, name: str, rows: int, is_mapped: bool = True) -> tuple[float, float]:
    for each in folder.iterdir():
        each.unlink()
    path = folder / "store.sqlite"
    fill(path, CASES[name], rows)
    os.sync()  # the writes of `fill` are not part of the measurement
    command = [sys.executable, __file__, "--migrate", str(path), name, str(int(is_mapped))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{name}, {rows} rows: {done.stderr}")
    with sqlite3.connect(path) as file:
        wanted = "new" if is_mapped else "plain"
        (count,) = file.execute("SELECT COUNT(*) FROM ZITEM WHERE ZKIND = ?", [wanted]).fetchone()
        assert count == rows, f"{name}: {count} of {rows} rows were migrated"
    file.close()
    seconds, megabytes, _ = map(float, done.stdout.split())
    return seconds, megabytes


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--only", default="", help="only mappings whose name contains TEXT")
    parser.add_argument("--gate", action="store_true")
    parser.add_argument("--migrate", nargs=3, metavar=("STORE", "CASE", "MAPPED"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.migrate:
        path, name, is_mapped = given.migrate
        migrate(path, name, is_mapped == "1")
        return 0
    missed = False
    print(f"| mapping | rows | memory at {SMALL} | memory | growth | rows/s | in place, rows/s |\n|{'---|' * 7}")
    with tempfile.TemporaryDirectory() as folder:
        for name, case in CASES.items():
            if given.only not in name:
                continue
            rows = min(case.rows or given.rows, given.rows)
            _, small = measured(Path(folder), name, SMALL)
            seconds, large = measured(Path(folder), name, rows)
            in_place, _ = measured(Path(folder), name, rows, is_mapped=False)
            growth = large / small
            missed = missed or (case.has_limit and growth > LIMIT)
            limit = f" (limit {LIMIT})" if case.has_limit else ""
            speeds = f"{rows / seconds:,.0f} | {rows / in_place:,.0f}"
            print(f"| {name} | {rows} | {small:.0f} MB | {large:.0f} MB | {growth:.2f}{limit} | {speeds} |", flush=True)
    return 1 if given.gate and missed else 0


if __name__ == "__main__":
    sys.exit(main())
