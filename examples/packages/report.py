"""Prints a report about a store of packages. Usage: report.py STORE

The program changes only a copy of the store, so the report can be printed again. If a part of the report has no rows,
the program ends with status 1.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from corestone import ConflictError, Container, Context, CoreDataCode, ValidationError
from packages_model import packages_model

MEGABYTE = 1024  # installedSize counts kibibytes


class NothingFoundError(Exception):
    """A part of the report without rows, or with an unexpected result."""


def heading(text: str) -> None:
    print(f"\n{text}\n{'-' * len(text)}")


def megabytes(kibibytes: int) -> str:
    return f"{kibibytes / 1024:,.1f} MB" if kibibytes >= MEGABYTE else f"{kibibytes} kB"


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]], limit: int = 12) -> None:
    """Prints rows in aligned columns. Columns of numbers are right-aligned."""
    found = [[str(value) for value in row] for row in rows]
    if not found:
        raise NothingFoundError(f'the table "{columns[0]}" does not have rows')
    shown = found[:limit]
    widths = [max(len(row[index]) for row in [list(columns), *shown]) for index in range(len(columns))]
    right = [all(row[index][:1].isdigit() for row in shown) for index in range(len(columns))]
    for row in [list(columns), *shown]:
        cells = [
            text.rjust(width) if at_right else text.ljust(width) for text, width, at_right in zip(row, widths, right)
        ]
        print("  " + "  ".join(cells).rstrip())
    if len(found) > limit:
        print(f"  ... and {len(found) - limit} more")


def cut(text: str | None, width: int = 48) -> str:
    text = text or ""
    return text if len(text) <= width else text[: width - 3] + "..."


def questions(ctx: Context) -> None:
    heading("Contents of the store")
    entities = ("Package", "Maintainer", "Section")
    table(("entity", "objects"), [(entity, ctx.count(entity)) for entity in entities])

    heading("Packages and their size by section")
    sections = [
        (section.name, len(section.packages), sum(section.packages.snapshot().column("installedSize")))
        for section in ctx.fetch("Section", sort=["name"], prefetch=["packages"])
    ]
    sections.sort(key=lambda row: -row[1])
    table(("section", "packages", "size"), [(name, count, megabytes(size)) for name, count, size in sections])

    packages = ctx.fetch("Package", prefetch=["dependents"])
    if not packages:
        raise NothingFoundError("there is no package")
    most = max(packages, key=lambda package: (len(package.dependents), package.name))
    heading(f"The most depended-on package is {most.name} {most.version}: {len(most.dependents)} packages need it")
    print("The dependents larger than 1 MB, by size:")
    needing = ctx.fetch(
        "Package",
        "ANY dependencies.name == %@ AND installedSize > %d",
        most.name,
        MEGABYTE,
        sort=["-installedSize", "name"],
    )
    rows = [(each.name, megabytes(each.installedSize), cut(each.summary)) for each in needing]
    table(("package", "size", "summary"), rows)

    heading("Maintainers of a package in section 'libs'")
    people = ctx.fetch("Maintainer", "ANY packages.section.name == %@", "libs", sort=["name"])
    rows = [(cut(each.name, 44), str(len(each.packages)), each.email or "") for each in people]
    table(("maintainer", "packages", "e-mail"), rows)

    heading("Essential packages without a homepage")
    bare = ctx.fetch("Package", "essential == YES AND homepage == nil", sort=["-installedSize"])
    table(
        ("package", "size", "section"), [(each.name, megabytes(each.installedSize), each.section.name) for each in bare]
    )


def change_and_reopen(path: Path) -> None:
    heading("A change, a save, a reopen")
    with Container(packages_model(), path) as container:
        package = container.context().first("Package", "essential == YES", sort=["-installedSize"])
        if package is None:
            raise NothingFoundError("there is no essential package")
        name, before = package.name, package.summary
        package.summary = "The largest essential package"
        package.context.save()
    with Container(packages_model(), path) as container:
        again = container.context().first("Package", "name == %@", name)
        table(("when", "summary of " + name), [("before", cut(before)), ("after", again.summary)])
        if again.summary != "The largest essential package":
            raise NothingFoundError("the change was not saved")


def delete_with_cascade(path: Path) -> None:
    heading("Deleting: denied for a section, cascades from a maintainer to the packages")
    with Container(packages_model(), path) as container:
        ctx = container.context()
        section = ctx.first("Section", "name == %@", "libs")
        if section is None:
            raise NothingFoundError("there is no section 'libs'")
        ctx.delete(section)
        try:
            ctx.save()
            raise NothingFoundError("the deletion of the section 'libs' was not denied")
        except ValidationError as error:
            codes = {error.code, *(detail.code for detail in error.details)}
            if CoreDataCode.VALIDATION_RELATIONSHIP_DENIED_DELETE not in codes:
                raise
            print(f"  {error.message}")
        ctx.rollback()

        people = [person for person in ctx.fetch("Maintainer", sort=["name"]) if len(person.packages) > 1]
        if not people:
            raise NothingFoundError("there is no maintainer of two packages")
        person = min(people, key=lambda each: len(each.packages))
        names = sorted(person.packages.snapshot().column("name"))
        before = ctx.count("Package")
        print(f"  Deleting {person.name}, who maintains {', '.join(names)}:")
        ctx.delete(person)
        ctx.save()
        left = container.context()
        table(("packages", "count"), [("before", before), ("after", left.count("Package"))])
        if left.count("Package") != before - len(names) or left.count("Package", "name IN %@", names):
            raise NothingFoundError("the deletion did not cascade")


def resolve_a_conflict(path: Path) -> None:
    heading("Two contexts save the same package")
    with Container(packages_model(), path) as container:
        one, other = container.context(), container.context()
        mine = one.first("Package", sort=["name"])
        if mine is None:
            raise NothingFoundError("there is no package")
        theirs = other.get(mine.id)
        print(f"  {theirs.name} has the summary {cut(theirs.summary)!r}")
        mine.homepage = "https://example.org/first"
        one.save()
        theirs.summary = "Changed by the second context"
        try:
            other.save()
            raise NothingFoundError("the second save did not report a conflict")
        except ConflictError as error:
            print(f"  The second save failed: {error.message}")
        other.refresh(theirs, merge=True)
        other.save()
        print("  The context refreshed the package, kept its own change, and saved again:")
        final = container.context().get(mine.id)
        table(("property", "now"), [("homepage", final.homepage), ("summary", final.summary)])
        if (final.homepage, final.summary) != ("https://example.org/first", "Changed by the second context"):
            raise NothingFoundError("one of the changes was lost")


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    store = Path(arguments[0])
    try:
        with Container(packages_model(), store, read_only=True, must_exist=True) as container:
            questions(container.context())
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / store.name
            for suffix in ("", "-wal"):
                if store.with_name(store.name + suffix).exists():
                    shutil.copyfile(store.with_name(store.name + suffix), copy.with_name(store.name + suffix))
            change_and_reopen(copy)
            delete_with_cascade(copy)
            resolve_a_conflict(copy)
    except NothingFoundError as nothing:
        print(f"report.py: {nothing}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
