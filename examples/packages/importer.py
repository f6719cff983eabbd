"""Imports a Debian package database into a store. Usage: importer.py STORE [STATUS]

STATUS is /var/lib/dpkg/status by default. A second import changes only the packages that differ.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from corestone import Container, Context
from packages_model import packages_model

Paragraph = dict[str, str]


def paragraphs(path: Path) -> Iterator[Paragraph]:
    """Yields the paragraphs of a deb822 file: text by field name, including continuation lines."""
    fields: Paragraph = {}
    name = ""
    for line in path.read_text(encoding="utf-8", errors="replace").split("\n"):
        if not line.strip():
            if fields:
                yield fields
            fields = {}
        elif line[0] in " \t":
            fields[name] += "\n" + line.strip()
        else:
            name, _, value = line.partition(":")
            fields[name] = value.strip()
    if fields:
        yield fields


def alternatives(field: str) -> list[list[str]]:
    """Returns "a (>= 1), b:any | c" as [["a"], ["b", "c"]]."""
    return [
        [re.split(r"[\s(:\[<]", choice.strip(), maxsplit=1)[0] for choice in group.split("|")]
        for group in field.replace("\n", " ").split(",")
        if group.strip()
    ]


class Importer:
    """Updates existing objects, and inserts the missing ones."""

    def __init__(self, ctx: Context) -> None:
        self.ctx = ctx
        self.now = datetime.now(timezone.utc)
        self.sections: dict[str, Any] = {section.name: section for section in ctx.fetch("Section")}
        self.maintainers: dict[tuple[str, str | None], Any] = {
            (person.name, person.email): person for person in ctx.fetch("Maintainer")
        }
        self.packages: dict[tuple[str, str], Any] = {
            (package.name, package.architecture): package for package in ctx.fetch("Package")
        }
        self.inserted = self.updated = 0

    def section(self, name: str) -> Any:
        if name not in self.sections:
            self.sections[name] = self.ctx.insert("Section", name=name)
        return self.sections[name]

    def maintainer(self, field: str) -> Any:
        match = re.fullmatch(r"(.*?)\s*<(.*)>", field)
        name, email = (match[1].strip('"'), match[2]) if match else (field, None)
        if (name, email) not in self.maintainers:
            self.maintainers[name, email] = self.ctx.insert("Maintainer", name=name, email=email)
        return self.maintainers[name, email]

    def package(self, fields: Paragraph) -> Any:
        name, architecture = fields["Package"], fields.get("Architecture", "all")
        wanted = {
            "version": fields.get("Version", ""),
            "summary": fields.get("Description", "").split("\n")[0] or None,
            "homepage": fields.get("Homepage"),
            "installedSize": int(fields.get("Installed-Size", "0")),
            "essential": fields.get("Essential") == "yes",
            "maintainer": self.maintainer(fields["Maintainer"]) if "Maintainer" in fields else None,
            "section": self.section(fields["Section"]) if "Section" in fields else None,
        }
        found = self.packages.get((name, architecture))
        if found is None:
            found = self.ctx.insert("Package", name=name, architecture=architecture, importedAt=self.now, **wanted)
            self.packages[name, architecture] = found
            self.inserted += 1
        else:
            different = {key: value for key, value in wanted.items() if getattr(found, key) != value}
            if different:
                found.set(importedAt=self.now, **different)
                self.updated += 1
        return found

    def run(self, installed: list[Paragraph]) -> int:
        """Imports packages, then dependencies, which may name later packages. Returns the number of dependencies."""
        provided: dict[str, Any] = {}
        here = []
        for fields in installed:
            package = self.package(fields)
            here.append((package, fields))
            provided[package.name] = package
        for package, fields in here:
            for group in alternatives(fields.get("Provides", "")):
                provided.setdefault(group[0], package)
        links = 0
        for package, fields in here:
            members = set()
            for group in alternatives(fields.get("Pre-Depends", "")) + alternatives(fields.get("Depends", "")):
                first = next((provided[name] for name in group if name in provided), None)
                if first is not None and first != package:
                    members.add(first)
            if package.dependencies != members:
                package.dependencies = members
            links += len(members)
        return links


def main(arguments: list[str]) -> int:
    if len(arguments) not in (1, 2):
        print(__doc__, file=sys.stderr)
        return 2
    status = Path(arguments[1] if len(arguments) == 2 else "/var/lib/dpkg/status")
    began = time.perf_counter()
    installed = [fields for fields in paragraphs(status) if fields.get("Status", "").endswith(" installed")]
    if not installed:
        print(f"{status} does not contain an installed package", file=sys.stderr)
        return 1
    with Container(packages_model(), arguments[0]) as container:
        ctx = container.context()
        importer = Importer(ctx)
        links = importer.run(installed)
        ctx.save()
        print(
            f"Python imported {status}: {len(installed)} packages "
            f"({importer.inserted} new, {importer.updated} changed), "
            f"{len(importer.maintainers)} maintainers, {len(importer.sections)} sections, {links} dependencies "
            f"in {time.perf_counter() - began:.2f} s"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
