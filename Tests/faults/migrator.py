"""Makes, migrates and reads the store of migrations.py, in a process of its own.

Usage: migrator.py make|migrate|read|count|cancel|race TYPE PATH [NUMBER]

make     makes a store of the first model
migrate  migrates it to the second model; a call may fail meanwhile (interposer.c). Prints the outcome.
read     prints the generation of the model that the store has, and "wrong: …" if the objects are not those of it
count    migrates, and prints how often progress was reported
cancel   migrates, and cancels at report NUMBER
race     waits for a line on standard input, then migrates and prints the generation
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import corestone
from corestone import Container, Context, Coordinator, CorestoneError, Model, ModelMismatchError

NOTES = 400
PHOTO = bytes(range(256)) * 800  # more than a row keeps

FIRST = {
    "Note": {
        "number": "int = 0",
        "title": "string",
        "color": "string?",
        "rank": "int32?",
        "photo": "binary? external",
        "tags": "to-many Tag inverse notes",
        "folder": "to-one Folder? inverse notes",
    },
    "Tag": {"name": "string", "notes": "to-many Note inverse tags"},
    "Folder": {"name": "string", "notes": "to-many Note ordered inverse folder"},
}
# An attribute is added, one renamed, one removed, and one becomes required. An entity and a relationship are renamed,
# and an entity is added.
SECOND = {
    "Note": {
        "number": "int = 0",
        "name": "string renaming_identifier title",
        "rank": "int32 = 5",
        "mark": "string = new",
        "photo": "binary? external",
        "labels": "to-many Label inverse notes renaming_identifier tags",
        "folder": "to-one Folder? inverse notes",
    },
    "Label": {"@renaming_identifier": "Tag", "name": "string", "notes": "to-many Note inverse labels"},
    "Folder": {"name": "string", "notes": "to-many Note ordered inverse folder"},
    "Reminder": {"date": "date?"},
}


def options(kind: str) -> dict[str, Any]:
    """Of a type of stores; "Rollback" is an SQLite store with a rollback journal."""
    if kind == "Rollback":
        return {"type": "SQLite", "journal": "rollback"}
    return {"type": kind}


def make(kind: str, path: str) -> None:
    with Container(Model(FIRST), path, **options(kind)) as container:
        context = container.context()
        tags = [context.insert("Tag", name=f"tag {number}") for number in range(8)]
        folders = [context.insert("Folder", name=f"folder {number}") for number in range(3)]
        for number in range(NOTES):
            note = context.insert(
                "Note",
                number=number,
                title=f"note {number}",
                color="red" if number % 2 else None,
                rank=number if number % 3 else None,
                tags=[tags[number % 8], tags[(number + 3) % 8]],
                folder=folders[number % 4] if number % 4 < 3 else None,
            )
            if number < 2:
                note.photo = PHOTO[number:]
        context.save()
        # An order of its own.
        for folder in folders:
            folder.notes = list(reversed(folder.notes))
        context.save()


def problem(context: Context, generation: int) -> str | None:
    title, tags, tag = ("title", "tags", "Tag") if generation == 1 else ("name", "labels", "Label")
    notes = context.fetch("Note", sort="number")
    if len(notes) != NOTES or len(context.fetch(tag)) != 8:
        return f"{len(notes)} notes, {len(context.fetch(tag))} tags"
    for number, note in enumerate(notes):
        rank = number if number % 3 else (None if generation == 1 else 5)
        expected = {
            "number": number,
            title: f"note {number}",
            "rank": rank,
            "photo": PHOTO[number:] if number < 2 else None,
            tags: {f"tag {number % 8}", f"tag {(number + 3) % 8}"},
            "folder": f"folder {number % 4}" if number % 4 < 3 else None,
            **({"color": "red" if number % 2 else None} if generation == 1 else {"mark": "new"}),
        }
        found = {name: getattr(note, name) for name in expected}
        found[tags] = {each.name for each in found[tags]}
        found["folder"] = found["folder"] and found["folder"].name
        if found != expected:
            return f"note {number}: {found} instead of {expected}"
    for folder in context.fetch("Folder"):
        numbers = [note.number for note in folder.notes]
        if numbers != sorted(numbers, reverse=True) or len(numbers) != NOTES // 4:
            return f"{folder.name} has the notes {numbers}"
    return None


def generation(kind: str, path: str) -> str:
    """The model that the store has, 1 or 2, or an account of what is wrong."""
    for number, definition in ((2, SECOND), (1, FIRST)):
        try:
            container = Container(Model(definition), path, read_only=True, **options(kind))
        except ModelMismatchError:
            continue
        with container:
            wrong = problem(container.context(), number)
        return f"wrong: {wrong}" if wrong else str(number)
    return "wrong: the store has neither model"


def migrate(kind: str, path: str, **more: Any) -> None:
    coordinator = Coordinator(Model(SECOND))
    coordinator.add_store(path, migrate=True, allow_removals=True, **options(kind), **more)
    coordinator.close()


def migrate_with_a_fault(kind: str, path: str) -> None:
    # Of the process, into which the interposer may have been loaded.
    program: Any = ctypes.CDLL(None)
    if hasattr(program, "fault_arm"):
        program.fault_arm()
    try:
        migrate(kind, path)
        outcome = "migrated"
    except CorestoneError as error:
        if not str(error).strip():
            print("wrong: an error without a message")
        outcome = f"refused: {error}"
    if hasattr(program, "fault_disarm"):
        program.fault_disarm()
    print(outcome, flush=True)
    if outcome != "migrated":
        print("after that", generation(kind, path), flush=True)
        migrate(kind, path)
    print("sees", generation(kind, path), flush=True)


def main() -> None:
    what, kind, path = sys.argv[1:4]
    if what == "make":
        make(kind, path)
    elif what == "migrate":
        migrate_with_a_fault(kind, path)
    elif what == "read":
        print(generation(kind, path))
        if options(kind)["type"] == "SQLite":
            print("problems", [str(each) for each in corestone.check(path)])
    elif what == "count":
        reports: list[int] = []
        migrate(kind, path, migration_progress=lambda done, total: reports.append(done))
        print(len(reports))
    elif what == "cancel":
        cancel(kind, path, int(sys.argv[4]))
    elif what == "race":
        print("ready", flush=True)
        sys.stdin.readline()
        migrate(kind, path)
        print("sees", generation(kind, path))


def cancel(kind: str, path: str, number: int) -> None:
    reports = 0

    def report(done: int, total: int) -> None:
        nonlocal reports
        reports += 1
        if reports == number:
            raise KeyboardInterrupt

    try:
        migrate(kind, path, migration_progress=report)
        print("migrated")
    except KeyboardInterrupt:
        print("cancelled")
    except CorestoneError as error:
        print(f"wrong: {error}" if error.code != 134120 else "cancelled")


if __name__ == "__main__":
    main()
