"""The same policy in C, Python and Swift: equal results.

The policy creates a country, and finds or creates its continent among the registered objects of the new store
(M044 of the sample scenarios). `same_policy.txt` is the expected content; MigrationPolicyTests in
Tests/swift/migration compares that of the policy in Swift with the same file.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from corestone import (
    Coordinator,
    EntityMapping,
    ManagedObject,
    MappingModel,
    MigrationManager,
    MigrationPolicy,
    Model,
    register_migration_policy,
    unregister_migration_policy,
)

HERE = Path(__file__).parent
LIBRARY = Path(os.environ["CORESTONE_LIBRARY"]).absolute()
EXPECTED = (HERE / "same_policy.txt").read_text()
NAME = "Country5ToCountry6Policy"
OLD = {"Country": {"name": "string?", "isoContinent": "int16?"}}
NEW = {
    "Continent": {"numericISO3166Code": "int16?"},
    "Country": {"name": "string?", "continent": "to-one Continent?"},
}
COUNTRIES = (("Austria", 10004), ("Japan", 10005), ("Spain", 10004))


class FindOrCreate(MigrationPolicy):
    def create_destination_instances(self, source: Any, mapping: EntityMapping, manager: MigrationManager) -> None:
        country = manager.create_destination_instance(mapping, source)
        context = manager.destination_context
        found = (
            each
            for each in context.known
            if each.entity_name == "Continent" and each.numericISO3166Code == source.isoContinent
        )
        country.continent = next(found, None) or context.insert("Continent", numericISO3166Code=source.isoContinent)

    def create_relationships(
        self, destination: ManagedObject, mapping: EntityMapping, manager: MigrationManager
    ) -> None:
        """The other side is set already."""


@pytest.fixture
def models() -> tuple[Model, Model]:
    return Model(OLD), Model(NEW)


@pytest.fixture
def mapping(models: tuple[Model, Model]) -> MappingModel:
    country = EntityMapping(
        "CountryToCountry", source="Country", destination="Country", policy_class=f"Migrations.{NAME}",
        attributes={"name": "$source.name"},
    )  # fmt: skip
    return MappingModel([country, EntityMapping("Continent", destination="Continent")], *models)


@pytest.fixture
def stores(tmp_path: Path, models: tuple[Model, Model]) -> tuple[Path, Path]:
    """Two stores with the same bytes."""
    paths = tmp_path / "python.sqlite", tmp_path / "c.sqlite"
    with Coordinator(models[0]) as coordinator:
        coordinator.add_store(paths[0], journal="rollback")
        with coordinator.context() as context:
            for name, code in COUNTRIES:
                context.insert("Country", name=name, isoContinent=code)
            context.save()
    shutil.copyfile(paths[0], paths[1])
    return paths


@pytest.fixture
def policy() -> Iterator[None]:
    register_migration_policy(NAME, FindOrCreate)
    yield
    unregister_migration_policy(NAME)


def dumped(path: Path, model: Model, **options: Any) -> str:
    with Coordinator(model) as coordinator:
        coordinator.add_store(path, **options)
        with coordinator.context() as context:
            lines = [f"Continent {each.numericISO3166Code}" for each in context.fetch("Continent")]
            lines += [f"Country {each.name} {each.continent.numericISO3166Code}" for each in context.fetch("Country")]
    return "".join(f"{line}\n" for line in sorted(lines))


def rows(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Returns all rows of the objects."""
    with sqlite3.connect(path) as database:
        found = {
            table: database.execute(f"SELECT * FROM {table} ORDER BY Z_PK").fetchall()
            for table in ("ZCONTINENT", "ZCOUNTRY")
        }
    database.close()
    return found


def run_in_c(folder: Path, path: Path, mapping: MappingModel) -> str:
    program = folder / "same_policy"
    warnings = ["-std=c11", "-Wall", "-Wextra", "-Werror"]
    link = [f"-I{HERE.parents[1] / 'include'}", f"-L{LIBRARY.parent}", "-lcorestone", f"-Wl,-rpath,{LIBRARY.parent}"]
    command = [os.environ.get("CC", "cc"), *warnings, str(HERE / "same_policy.c"), "-o", str(program), *link]
    subprocess.run(command, check=True)
    arguments = [str(path), json.dumps(OLD), json.dumps(NEW), mapping.to_json()]
    return subprocess.run([str(program), *arguments], check=True, capture_output=True, text=True).stdout


@pytest.mark.usefixtures("policy")
def test_same_policy_in_three_languages_has_equal_results(
    tmp_path: Path, stores: tuple[Path, Path], models: tuple[Model, Model], mapping: MappingModel
) -> None:
    assert dumped(stores[0], models[1], migrate=True, mapping_models=[mapping]) == EXPECTED
    assert run_in_c(tmp_path, stores[1], mapping) == EXPECTED
    assert rows(stores[0]) == rows(stores[1])
