"""The tool, a store with every type of attribute, and a way to compare what the tool prints with files."""

from __future__ import annotations

import os
import subprocess
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any, Protocol
from uuid import UUID

import corestone
import pytest
from checkout import ROOT as ROOT
from checkout import TOOL as TOOL
from checkout import fixtures as fixtures
from corestone import Container, Model

MODELS = Path(__file__).resolve().parent / "models"
GOLDEN = Path(__file__).resolve().parent / "golden"

ZOO: dict[str, dict[str, Any]] = {
    "Animal": {
        "@abstract": True,
        "name": "string indexed",
        "born": "date?",
        "keeper": "to-one Keeper? inverse animals",
        "friends": "to-many Animal inverse friends",
    },
    "Bird": {"@parent": "Animal", "wingspan": "double? nan", "canFly": "bool = true"},
    "Fish": {"@parent": "Animal", "depth": "int32?", "freshwater": "bool = false"},
    "Keeper": {
        "name": "string",
        "badge": "uuid?",
        "page": "uri?",
        "wage": "decimal?",
        "years": "int16 = 0",
        "steps": "int64?",
        "weight": "float?",
        "photo": "binary?",
        "animals": "to-many ordered Animal inverse keeper delete deny",
    },
}


def make_zoo(path: Path) -> None:
    """Two keepers with four animals, with values of every type."""
    new_year = datetime(2024, 1, 1, tzinfo=timezone.utc)
    with Container(Model(ZOO), path, sync="normal") as container:
        context = container.context()
        ada = context.insert(
            "Keeper",
            name='Ada "the eagle" Lovelace, head keeper',
            badge=UUID("12345678-1234-5678-1234-567812345678"),
            page="https://zoo.example/ada",
            wage=Decimal("4200.5"),
            years=12,
            steps=2**53 + 1,
            weight=61.5,
            photo=bytes(range(8)),
        )
        bob = context.insert("Keeper", name="Bøb\nΩ 漢字", years=-1, photo=b"")
        eagle = context.insert("Bird", name="eagle", wingspan=float("nan"), born=new_year, keeper=ada)
        emu = context.insert("Bird", name="emu", canFly=False, wingspan=float("inf"), keeper=ada)
        carp = context.insert(
            "Fish", name="carp", depth=-3, freshwater=True, born=new_year - timedelta(days=20_000, milliseconds=250)
        )
        eel = context.insert("Fish", name="", keeper=bob)
        eagle.friends = [emu, carp]
        eel.friends = [carp]
        context.save()


def make_versions(folder: Path) -> Path:
    """A bundle with the versions "App" and "App 2", which is current, and a store of each beside it."""
    bundle = folder / "App.xcdatamodeld"
    for name, kind in (("App", "16"), ("App 2", "64")):
        version = bundle / f"{name}.xcdatamodel"
        version.mkdir(parents=True)
        attribute = f"<attribute name='size' optional='YES' attributeType='Integer {kind}'/>"
        (version / "contents").write_text(f"<model><entity name='Note'>{attribute}</entity></model>")
        Container(Model.load(version), folder / f"{name}.sqlite").close()
    current = "<plist><dict><key>_XCCurrentVersionName</key><string>App 2.xcdatamodel</string></dict></plist>"
    (bundle / ".xccurrentversion").write_text(current)
    return bundle


class Outcome(Protocol):
    """What a run of the tool gave."""

    returncode: int
    stdout: str
    stderr: str


def run(*arguments: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """Runs the tool with a pipe for its output."""
    return subprocess.run(
        [str(TOOL), *map(str, arguments)], capture_output=True, encoding="utf-8", timeout=120, check=False, **options
    )


def settled(text: str, path: Path) -> str:
    """The text without what differs from run to run: the folder of the store, and its identifier."""
    return text.replace(str(path.parent) + "/", "").replace(corestone.metadata(path)["NSStoreUUID"], "STORE")


def compare(name: str, text: str) -> None:
    """Compares with a file of golden/, or writes it when CORESTONE_WRITE_GOLDEN is set."""
    file = GOLDEN / name
    if os.environ.get("CORESTONE_WRITE_GOLDEN"):
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def zoo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of the zoo; tests must not change it."""
    path = tmp_path_factory.mktemp("zoo") / "zoo.sqlite"
    make_zoo(path)
    return path
