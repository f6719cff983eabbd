"""The model of the example, the same as Packages.xcdatamodeld."""

from __future__ import annotations

from corestone import Model


def packages_model() -> Model:
    """Packages, their maintainers and sections; packages depend on packages."""
    return Model(
        {
            "Package": {
                "name": "string indexed",
                "version": "string",
                "architecture": "string",
                "summary": "string?",
                "homepage": "uri?",
                "installedSize": "int64 = 0",
                "essential": "bool = false",
                "importedAt": "date",
                "maintainer": "to-one Maintainer? inverse packages",
                "section": "to-one Section? inverse packages",
                "dependencies": "to-many Package inverse dependents",
                "dependents": "to-many Package inverse dependencies",
            },
            "Maintainer": {
                "name": "string",
                "email": "string?",
                "packages": "to-many Package inverse maintainer delete cascade",
            },
            "Section": {
                "name": "string",
                "packages": "to-many Package inverse section delete deny",
            },
        }
    )
