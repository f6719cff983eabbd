"""Notes that are kept whatever ends the program: each line of the input is one, and nothing is saved before the end.

    python signals.py notes.store

Python runs handlers of signals between two instructions, also while a callback of the library's runs: so the handler
here does nothing, and `set_wakeup_fd` has a descriptor tell the main loop. An exit from anywhere else ends in `atexit`.
Both close the container, which saves.
"""

from __future__ import annotations

import atexit
import os
import select
import signal
import sys
from types import FrameType

from corestone import Container, Model, StoreDescription


def ignore(number: int, frame: FrameType | None) -> None:
    """Somebody has to, or the signal would end the program."""


def main() -> None:
    signalled, wakeup = os.pipe()
    os.set_blocking(wakeup, False)
    signal.set_wakeup_fd(wakeup)
    signal.signal(signal.SIGTERM, ignore)
    signal.signal(signal.SIGINT, ignore)

    model = Model({"Note": {"body": "string"}})
    path = sys.argv[1] if len(sys.argv) > 1 else "notes.store"
    container = Container("Notes", model, stores=[StoreDescription(path)], unsaved="save")
    container.load()

    def end() -> None:
        container.close()
        print("saved", flush=True)

    atexit.register(end)
    view, waiting, notes = container.view_context, b"", 0
    while True:
        ready, _, _ = select.select([0, signalled], [], [])
        if signalled in ready:
            return  # `end` saves
        got = os.read(0, 4096)
        if not got:
            return
        *lines, waiting = (waiting + got).split(b"\n")
        for line in lines:
            view.insert("Note", body=line.decode())
            notes += 1
            print(f"{notes} unsaved", flush=True)


if __name__ == "__main__":
    main()
