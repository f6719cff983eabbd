"""The model of the example, read from Packages.xcdatamodeld."""

from __future__ import annotations

from pathlib import Path

from corestone import Model


def packages_model() -> Model:
    """Packages, their maintainers and sections; packages depend on packages."""
    return Model.load(Path(__file__).with_name("Packages.xcdatamodeld"))
