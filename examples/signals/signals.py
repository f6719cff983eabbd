"""Notes that are kept whatever ends the program: each line of the input is one, and nothing is saved before the end.

    python signals.py notes.store

With --document they lie in a document, which saves itself whenever nobody wrote for half a second: what even a power
cut leaves.

Python runs handlers of signals between two instructions, also while a callback of the library's runs: so the handler
here does nothing, and `set_wakeup_fd` has a descriptor tell the main loop. An exit from anywhere else ends in `atexit`.
Both close what is open, which saves; what cannot be saved is printed, with the reason, and the program ends with status
1, which an exception in a function of atexit's alone would not bring about.
"""

from __future__ import annotations

import atexit
import os
import select
import signal
import sys
from types import FrameType

from corestone import Container, CorestoneError, Document, Model, StoreDescription

LONGEST = 2000  # characters of a note


def ignore(number: int, frame: FrameType | None) -> None:
    """Somebody has to, or the signal would end the program."""


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
    """A container or a document, and how it ends."""

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
        """Closes what is open: what is unsaved is saved, or told."""
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
    """Every line of the input, until that ends or a signal comes; then what stands in the last one."""
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
