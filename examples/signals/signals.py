"""Saves notes at the end of the program, even after a signal. Each line of the input is a note.

    python signals.py notes.store

With --document, the notes are in a document, which is saved automatically half a second after the last change. So a
power cut loses only the newest notes.

Python runs signal handlers between two instructions, even during a callback of the library. So the handler here does
nothing, and `set_wakeup_fd` makes a descriptor readable for which the main loop waits. Any other exit calls the
function that is registered with `atexit`. Both ways close the container or document, which saves the notes. Notes that
cannot be saved are printed with the reason, and the program ends with status 1, by os._exit: an exception in a function
of `atexit` would not change the status.
"""

from __future__ import annotations

import atexit
import os
import select
import signal
import sys
from types import FrameType

from corestone import Container, CorestoneError, Document, Model, StoreDescription

LONGEST = 2000  # the maximum number of characters in a note


def ignore(number: int, frame: FrameType | None) -> None:
    """Does nothing. Without a handler, the signal would end the program."""


def opened(path: str, is_document: bool) -> Container | Document:
    model = Model({"Note": {"body": f"string max {LONGEST}"}})
    if not is_document:
        container = Container("Notes", model, stores=[StoreDescription(path)])
        container.load()
        return container
    if os.path.exists(path):
        document = Document.open(path, model)
    else:
        document = Document(model)
        document.save_as(path)
    document.set_autosave(changes=100, idle=0.5)
    return document


class Notes:
    """An open container or document, which is closed at exit."""

    def __init__(self, path: str, is_document: bool) -> None:
        self.place = opened(path, is_document)
        self.context = self.place.context if isinstance(self.place, Document) else self.place.view_context
        self.count = 0
        atexit.register(self.end)

    def add(self, line: bytes) -> None:
        with self.context.perform() as ctx:
            ctx.insert("Note", body=line.decode())
        self.count += 1
        print(f"{self.count} unsaved", flush=True)

    def end(self) -> None:
        """Closes the container or document. Saves unsaved notes, or prints them."""
        try:
            self.place.close("save")
        except CorestoneError as failure:
            print(failure, file=sys.stderr)
            with self.context.perform() as ctx:
                for note in ctx.inserted:
                    print(f"not saved: {note.body}", file=sys.stderr)
            self.place.close("discard")
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(1)
        print("saved", flush=True)


def read_lines(notes: Notes, signalled: int) -> None:
    """Adds each line of the input, until its end or a signal; then adds the incomplete last line."""
    waiting, is_over = b"", False
    while not is_over:
        ready, _, _ = select.select([0, signalled], [], [])
        is_over = signalled in ready
        if 0 in ready:
            got = os.read(0, 4096)
            is_over = is_over or not got
            *lines, waiting = (waiting + got).split(b"\n")
            for line in lines:
                notes.add(line)
    if waiting:
        notes.add(waiting)


def main() -> None:
    signalled, wakeup = os.pipe()
    os.set_blocking(wakeup, False)
    signal.set_wakeup_fd(wakeup)
    signal.signal(signal.SIGTERM, ignore)
    signal.signal(signal.SIGINT, ignore)
    words = sys.argv[1:]
    is_document = words[:1] == ["--document"]
    path = (words[1:] if is_document else words) or ["notes.store"]
    read_lines(Notes(path[0], is_document), signalled)  # `end` saves


if __name__ == "__main__":
    main()
