"""Makes, changes and reads the store of faults.py and kills.py, in a process of its own.

Usage: saver.py make|save|read|run|checkpoint TYPE PATH

make  makes a store of generation 1
save  saves generation 2 on top; a call may fail meanwhile (interposer.c). Prints the result.
read  prints the generation of the store, or "wrong: …" if its content is not a complete generation
run   saves one generation after the other until it is killed, and prints each that was saved
checkpoint  the same, with a checkpoint after some saves: prints "in" before it and "out" after it
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path
from typing import Any

import corestone
from corestone import Container, Context, CorestoneError, Model

NOTES = 6
BLOB = 3 << 20  # bytes: more than a store keeps in a row, and many calls


def model() -> Model:
    return Model(
        {
            "Note": {
                "number": "int = 0",
                "generation": "int = 0",
                "photo": "binary? external",
                "tags": "to-many Tag inverse notes",
            },
            "Tag": {"name": "string", "generation": "int = 0", "notes": "to-many Note inverse tags"},
        }
    )


def photo(number: int, generation: int) -> bytes:
    return bytes([number, generation % 251]) * (BLOB // 2)


def change(context: Context, generation: int) -> None:
    """Changes, inserts, deletes and relates, so that each part of a save has something to do."""
    notes = {note.number: note for note in context.fetch("Note")}
    for number in range(NOTES):
        note = notes.get(number) or context.insert("Note", number=number)
        note.generation = generation
        if number < 2:
            note.photo = photo(number, generation)
    tags = context.fetch("Tag")
    for tag in tags[:2]:
        context.delete(tag)
    for tag in tags[2:]:
        tag.generation = generation
    everybody = context.fetch("Note")
    for place in range(2):
        context.insert("Tag", name=f"{generation}.{place}", generation=generation, notes=set(everybody[place:]))


def generation(context: Context) -> str:
    """The generation that `change` left, or a description of the problem."""
    notes, tags = context.fetch("Note", sort="number"), context.fetch("Tag")
    found = {note.generation for note in notes} | {tag.generation for tag in tags}
    if len(found) != 1 or [note.number for note in notes] != list(range(NOTES)):
        return f"wrong: notes {[(note.number, note.generation) for note in notes]}, tags {len(tags)}, {found}"
    (number,) = found
    for note in notes[:2]:
        if note.photo != photo(note.number, number):
            return f"wrong: the photo of note {note.number}"
    if len(tags) != 2 or sorted(len(tag.notes) for tag in tags) != [NOTES - 1, NOTES]:
        return f"wrong: {len(tags)} tags of {[len(tag.notes) for tag in tags]} notes"
    return str(number)


def save(container: Container) -> None:
    # Of the C library's process, into which the interposer was loaded.
    faults: Any = ctypes.CDLL(None)
    context = container.context()
    change(context, 2)
    faults.fault_arm()
    try:
        context.save()
        outcome = "saved"
    except CorestoneError as error:
        if not str(error).strip() or not context.has_changes:
            print("wrong: an error without words, or changes that are gone")
        outcome = "refused"
    faults.fault_disarm()
    print(outcome, flush=True)
    if outcome == "refused":
        # Changes of the failed save are kept and can be saved.
        context.save()
        print("saved later", flush=True)
    # The same process reads the content of the file.
    fresh = container.context()
    print("sees", generation(fresh), flush=True)


def checkpoint(container: Container) -> None:
    """Saves and checkpoints in turn. Each checkpoint has the pages of several saves, large values among them."""
    context = container.context()
    modes = ("truncate", "full", "restart", "passive")
    number = int(generation(context))
    for count in range(sys.maxsize):
        for _ in range(1 + count % 3):
            number += 1
            change(context, number)
            context.save()
            os.write(1, f"{number}\n".encode())
        os.write(1, b"in\n")
        container.coordinator.checkpoint(container.store, modes[count % len(modes)])
        os.write(1, b"out\n")


def container_of(kind: str, path: str) -> Container:
    """Of a type of stores, or an SQLite store whose journal is rolled back."""
    if kind == "Rollback":
        return Container(model(), path, type="SQLite", journal="rollback")
    return Container(model(), path, type=kind)


def main() -> None:
    what, kind, path = sys.argv[1:4]
    if what == "make":
        Path(path).unlink(missing_ok=True)
    with container_of(kind, path) as container:
        if what == "make":
            context = container.context()
            for name in ("a", "b"):
                context.insert("Tag", name=name)
            context.save()
            change(context, 1)
            context.save()
        elif what == "save":
            save(container)
        elif what == "read":
            print(generation(container.context()))
            if kind in ("SQLite", "Rollback"):
                problems = corestone.check(path)
                leftovers = corestone.leftovers(path)
                print("problems", [str(problem) for problem in problems], "leftovers", len(leftovers.names))
        elif what == "checkpoint":
            checkpoint(container)
        else:
            context = container.context()
            for number in range(2, sys.maxsize):
                change(context, number)
                context.save()
                os.write(1, f"{number}\n".encode())


if __name__ == "__main__":
    main()
