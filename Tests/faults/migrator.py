"""Makes, migrates and reads the store of migrations.py, in a process of its own.

Usage: migrator.py make|migrate|again|clean|count|cancel|race TYPE PATH [NUMBER]

make     makes a store of the first model
migrate  migrates it to the last model; a call may fail meanwhile (interposer.c). Prints the outcome.
again    prints the state of the store, migrates it, and prints the state of the result: the generation of its model, or
         "wrong: …" if objects are not those of that model or the store has problems
clean    removes backing files to which no row refers
count    migrates, and prints how often progress was reported
cancel   migrates, and cancels at report NUMBER
race     waits for a line on standard input, then migrates and prints the state
"""

from __future__ import annotations

import ctypes
import itertools
import sys
from collections.abc import Callable
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


def fill(context: Context) -> None:
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


class Program:
    """A store of the first model of several, and its migration to the last one."""

    def __init__(
        self,
        models: list[Any],
        fill: Callable[[Context], None],
        problem: Callable[[Context, int], str | None],
    ) -> None:
        """Each generation is a model, counted from 1. `problem` compares objects with what is expected of one."""
        self.models, self.fill, self.problem = models, fill, problem
        self.actions: dict[str, Callable[..., None]] = {
            "make": self.make,
            "migrate": self.migrate_with_a_fault,
            "again": self.again,
            "clean": self.clean,
            "count": self.count,
            "cancel": self.cancel,
            "race": self.race,
        }

    def options(self, kind: str) -> dict[str, Any]:
        """Of a type of stores; "Rollback" is an SQLite store with a rollback journal."""
        if kind == "Rollback":
            return {"type": "SQLite", "journal": "rollback"}
        return {"type": kind}

    def migration(self, kind: str) -> dict[str, Any]:
        """Further options, of the migration."""
        return {}

    def model(self, generation: int) -> Model:
        return Model(self.models[generation - 1])

    def migrate(self, kind: str, path: str, **more: Any) -> None:
        coordinator = Coordinator(self.model(len(self.models)))
        coordinator.add_store(
            path, migrate=True, allow_removals=True, **self.options(kind), **self.migration(kind), **more
        )
        coordinator.close()

    def generation(self, kind: str, path: str) -> str:
        """The generation of the store's model, or a description of the problem."""
        for number in (len(self.models), 1):
            try:
                container = Container(self.model(number), path, read_only=True, **self.options(kind))
            except ModelMismatchError:
                continue
            with container:
                try:
                    wrong = self.problem_of(container, number)
                except CorestoneError as error:
                    wrong = f"{error!r}"
            return f"wrong: {wrong}" if wrong else str(number)
        return "wrong: the store has neither model"

    def problem_of(self, container: Container, generation: int) -> str | None:
        return self.problem(container.context(), generation)

    def state(self, kind: str, path: str) -> str:
        """The generation, or a description of the problem with the objects or the file."""
        state = self.generation(kind, path)
        problems = corestone.check(path) if self.options(kind)["type"] == "SQLite" else []
        return f"wrong: state {state}, {[each.message for each in problems]}" if problems else state

    def make(self, kind: str, path: str) -> None:
        with Container(self.model(1), path, **self.options(kind)) as container:
            self.fill(container.context())

    def again(self, kind: str, path: str) -> None:
        print("found", self.state(kind, path), flush=True)
        self.migrate(kind, path)
        print("sees", self.state(kind, path))

    def clean(self, kind: str, path: str) -> None:
        corestone.remove_leftovers(path)

    def migrate_with_a_fault(self, kind: str, path: str) -> None:
        # Of the process, into which the interposer may have been loaded.
        program: Any = ctypes.CDLL(None)
        if hasattr(program, "fault_arm"):
            program.fault_arm()
        try:
            self.migrate(kind, path)
            outcome = "migrated"
        except CorestoneError as error:
            if not str(error).strip():
                print("wrong: an error without a message")
            outcome = f"refused: {error}"
        if hasattr(program, "fault_disarm"):
            program.fault_disarm()
        print(outcome, flush=True)
        if outcome != "migrated":
            print("after that", self.generation(kind, path), flush=True)
            self.migrate(kind, path)
        print("sees", self.generation(kind, path), flush=True)

    def count(self, kind: str, path: str) -> None:
        reports: list[int] = []
        self.migrate(kind, path, migration_progress=lambda done, total: reports.append(done))
        print(len(reports))

    def cancel(self, kind: str, path: str, number: str) -> None:
        def report(done: int, total: int) -> None:
            # Some reports are made by the clock, so that there may be fewer; the last one alone has all done.
            if next(reports) == int(number) or done == total:
                raise KeyboardInterrupt

        reports = itertools.count(1)
        try:
            self.migrate(kind, path, migration_progress=report)
            print("migrated")
        except KeyboardInterrupt:
            print("cancelled")
        except CorestoneError as error:
            print(f"wrong: {error}" if error.code != 134120 else "cancelled")

    def race(self, kind: str, path: str) -> None:
        print("ready", flush=True)
        sys.stdin.readline()
        self.migrate(kind, path)
        print("migrated", flush=True)
        print("sees", self.generation(kind, path))

    def main(self) -> None:
        what, *words = sys.argv[1:]
        self.actions[what](*words)


if __name__ == "__main__":
    Program([FIRST, SECOND], fill, problem).main()
