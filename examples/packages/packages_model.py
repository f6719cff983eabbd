"""The model of the example, read from Packages.xcdatamodeld."""

from __future__ import annotations

from pathlib import Path

from corestone import Model


def packages_model() -> Model:
    """Returns the model: packages with their maintainers, sections and dependencies."""
    return Model.load(Path(__file__).with_name("Packages.xcdatamodeld"))
