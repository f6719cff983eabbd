"""The checkout, and what the tests of several folders read: the tool, the fixtures, the model of a company."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOL = Path(os.environ.get("CORESTONE_TOOL") or ROOT / "build" / "bin" / "corestone")
# Files that Apple's framework and other programs wrote.
FIXTURES = Path(os.environ.get("CORESTONE_FIXTURES") or ROOT.parent / "shared" / "fixtures")
# The model that the tests in C, Python and Swift share.
COMPANY: dict[str, dict[str, Any]] = json.loads((Path(__file__).parent / "company.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def fixtures() -> Path:
    """The folder of the fixtures. A test that asks for it is skipped without, or fails if they are required."""
    if not FIXTURES.is_dir():
        reason = f"no fixtures at {FIXTURES}; set CORESTONE_FIXTURES"
        if os.environ.get("CORESTONE_REQUIRE_FIXTURES") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    return FIXTURES
