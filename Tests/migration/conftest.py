"""Stores of small models that are migrated to others, and the totals of the migration scenarios."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from scenario_totals import Totals
from workshop import Workshop


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Workshop]:
    workshop = Workshop(tmp_path)
    yield workshop
    workshop.close()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "scenario(number): the test shows this scenario of scenarios-migration.jsonl")
    config.pluginmanager.register(Totals())
