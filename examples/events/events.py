"""A calendar grouped by day. Usage: events.py STORE

A fetched results controller notifies the table (events_table.py) of changes. They come from a command, an undo, or
another program that has the same store open in another terminal (events.py or events.c). Times are UTC. If EVENTS_CHECK
is set in the environment, the program compares the table with a fetch after every command, and ends if they differ;
other programs must not save during this check.
"""

from __future__ import annotations

import contextlib
import os
import re
import selectors
import sys
import termios
import tty
from collections.abc import Callable, Iterator
from datetime import date, datetime, timezone
from pathlib import Path
from typing import Any

from corestone import (
    Container,
    CorestoneError,
    FetchedResultsController,
    FetchRequest,
    MergePolicy,
    Model,
    Predicate,
    UndoManager,
    ValidationError,
    main_queue,
)
from corestone.object import object_id
from events_table import TableModel, cell, day_of

HELP = """\
  add TITLE DATE TIME [NOTES]  a new event: add "Dentist" 2026-11-24 9:30
  title NUMBER TITLE           changes the title
  move NUMBER DATE [TIME]      moves it to another day or time
  notes NUMBER [NOTES]         sets or removes its notes
  delete NUMBER                deletes it
  undo   redo                  undoes or redoes a command
  save   revert                saves or discards all changes
  reload                       discards all changes, and reads the store again
  search [TEXT]                shows the events with a text, or all events
  check                        compares the table with a fetch
  quit                         ends; "quit!" discards unsaved changes"""


class UsageError(Exception):
    """A command that cannot be executed. Its text is shown to the user."""


class Calendar:
    """The state of the calendar for one user, and the message below it."""

    def __init__(self, container: Container) -> None:
        self.ctx = container.main_context()
        self.ctx.automatically_merges_remote_changes = True
        self.ctx.merge_policy = MergePolicy.OBJECT_TRUMP
        self.undo_manager = self.ctx.undo_manager = UndoManager()
        self.request = FetchRequest("Event", sort=["date", "title"])
        self.table = TableModel()
        self.controller = FetchedResultsController(self.ctx, self.request, day_of, delegate=self.table)
        self.message = 'Type "help" for the commands.'
        self.searched = ""
        self.is_open = True
        self.fetch()

    def fetch(self) -> None:
        self.controller.perform_fetch()
        self.table.load(self.controller)

    def is_table_right(self) -> bool:
        """Whether the table equals the results of a fetch."""
        found = [(day_of(event), event, cell(event)) for event in self.ctx.execute(self.request)]
        shown = [(section.day, row.event, row.text) for section in self.table.sections for row in section.rows]
        days = [section.day for section in self.table.sections]
        return shown == found and days == sorted({day for day, _, _ in found})

    # The commands. An edit returns the name of its undo step.

    def add(self, title: str, day: str, time: str, notes: str = "") -> str:
        self.ctx.insert("Event", title=title, date=moment(day, time), notes=notes or None)
        return f"add {title}"

    def title(self, number: str, title: str) -> str:
        self.event(number).title = title
        return f"title {title}"

    def move(self, number: str, day: str, time: str | None = None) -> str:
        event = self.event(number)
        event.date = moment(day, time or f"{event.date.astimezone(timezone.utc):%H:%M}")
        return f"move {event.title}"

    def notes(self, number: str, notes: str = "") -> str:
        event = self.event(number)
        event.notes = notes or None
        return f"notes {event.title}"

    def delete(self, number: str) -> str:
        event = self.event(number)
        self.ctx.delete(event)
        return f"delete {event.title}"

    def undo(self) -> None:
        name = self.undo_manager.undo_action_name
        self.message = f"undo: {name}" if self.ctx.undo() else "nothing to undo"

    def redo(self) -> None:
        name = self.undo_manager.redo_action_name
        self.message = f"redo: {name}" if self.ctx.redo() else "nothing to redo"

    def save(self) -> None:
        try:
            self.ctx.save()
            self.message = "Saved."
        except ValidationError as error:
            problems = [f"\n  {self.number_of(each)}{each.message}" for each in error.details or [error]]
            self.message = f"Not saved:{''.join(problems)}"
        except CorestoneError as error:
            self.message = f"Not saved:\n  {error.message}"

    def number_of(self, problem: CorestoneError) -> str:
        for number, row in enumerate(self.table.rows(), 1):
            if object_id(row.event).uri == problem.object_uri:
                return f"{number}: "
        return ""

    def revert(self) -> None:
        self.ctx.rollback()
        self.message = "All unsaved changes are gone."

    def reload(self) -> None:
        self.ctx.reset()
        self.message = "Read again."

    def search(self, text: str = "") -> None:
        self.searched = text
        self.request.predicate = (
            Predicate("title CONTAINS[cd] %@ OR notes CONTAINS[cd] %@", text, text) if text else None
        )
        self.fetch()

    def check(self) -> None:
        self.message = f"The table {'equals' if self.is_table_right() else 'does NOT equal'} a fetch."

    def event(self, number: str) -> Any:
        rows = self.table.rows()
        if not number.isdigit() or not 1 <= int(number) <= len(rows):
            raise UsageError(f"there is no event {number}")
        return rows[int(number) - 1].event

    # Executing lines.

    def run(self, line: str) -> None:
        words = [quoted or plain for quoted, plain in re.findall(r'"([^"]*)"?|([^ ]+)', line)]
        self.message, self.table.is_stale = "", True
        if not words:
            return
        if words[0] == "quit!" or (words[0] == "quit" and not self.ctx.has_changes):
            self.ctx.rollback()  # the end of the container's block raises for unsaved changes
            self.is_open = False
            return
        if words[0] == "quit":
            self.message = 'there are unsaved changes; type "save" to keep them, or "quit!" to discard them'
        else:
            self.perform(*words)
        if os.environ.get("EVENTS_CHECK") and not self.is_table_right():
            sys.exit("events: the table does not equal a fetch")

    def perform(self, word: str, *rest: str) -> None:
        commands: dict[str, Callable[..., str | None]] = {
            "add": self.add, "title": self.title, "move": self.move, "notes": self.notes, "delete": self.delete,
            "undo": self.undo, "redo": self.redo, "save": self.save, "revert": self.revert, "reload": self.reload,
            "search": self.search, "check": self.check,
        }  # fmt: skip
        try:
            if word in commands:
                name = commands[word](*rest)
                if name:
                    self.undo_manager.set_action_name(name.rstrip())
            else:
                self.message = HELP if word == "help" else f'no command "{word}"; "help" lists them'
        except CorestoneError as error:
            self.message = error.message
        except UsageError as error:
            self.message = str(error)
        except TypeError:
            self.message = f'wrong arguments for "{word}"; type "help" for a list'
        # The changes of a command are one event: the table is notified now, and they are one undo step.
        self.ctx.process_pending_changes()

    def hear_others(self) -> None:
        was_stale, self.table.is_stale = self.table.is_stale, False
        main_queue.drain()
        if self.table.is_stale:
            self.message = "Another program saved."
        self.table.is_stale |= was_stale

    # Drawing.

    def draw(self) -> str:
        state = "unsaved changes" if self.ctx.has_changes else "saved"
        undo, redo = self.undo_manager.undo_action_name, self.undo_manager.redo_action_name
        lines = [f"Events of {Path(self.ctx.container.path).name} ({state})"]
        lines[0] += (f"  undo: {undo}" if undo else "") + (f"  redo: {redo}" if redo else "")
        if self.searched:
            lines.append(f'with "{self.searched}"')
        number = 0
        for section in self.table.sections:
            lines += ["", f"{date.fromisoformat(section.day):%A %d %B %Y}"]
            for row in section.rows:
                number += 1
                lines.append(f" {row.mark}{number:>2}  {row.text}")
        if not self.table.sections:
            lines += ["", "No events."]
        self.table.is_stale = False
        return "\n".join([*lines, "", self.table.problem + self.message, ""])


def moment(day: str, time: str) -> datetime:
    try:
        return datetime.strptime(f"{day} {time}", "%Y-%m-%d %H:%M").replace(tzinfo=timezone.utc)
    except ValueError:
        raise UsageError(f'"{day} {time}" is not a date and time; type it like 2026-11-24 9:30') from None


class Keyboard:
    """The keyboard, which is read without waiting for a whole line, so that the screen can be drawn meanwhile."""

    def __init__(self) -> None:
        self.line = ""

    @contextlib.contextmanager
    def reading(self) -> Iterator[Keyboard]:
        if not sys.stdin.isatty():
            yield self
            return
        former = termios.tcgetattr(sys.stdin)
        try:
            tty.setcbreak(sys.stdin)
            yield self
        finally:
            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, former)

    def lines(self) -> list[str]:
        """Reads keys and returns the completed lines; "quit!" at the end of the input."""
        typed = os.read(sys.stdin.fileno(), 1024).decode(errors="ignore")
        if not typed or "\x04" in typed:
            return ["quit!"]
        finished = []
        for key in typed:
            if key in "\r\n":
                finished.append(self.line)
                self.line = ""
            elif key in "\b\x7f":
                self.line = self.line[:-1]
            elif key == "\x15":
                self.line = ""
            elif key.isprintable():
                self.line += key
        return finished


def main() -> int:
    if len(sys.argv) != 2:
        print("usage: events.py STORE", file=sys.stderr)
        return 2
    model = Model.load(Path(__file__).with_name("Events.xcdatamodeld"))
    main_queue.bind()
    clear = "\033[2J\033[H" if sys.stdout.isatty() else ""
    with Container(model, sys.argv[1]) as container, Keyboard().reading() as keyboard:
        calendar = Calendar(container)
        input_ = selectors.DefaultSelector()
        input_.register(sys.stdin, selectors.EVENT_READ)
        input_.register(main_queue, selectors.EVENT_READ)
        while calendar.is_open:
            if calendar.table.is_stale:
                screen = calendar.draw()
            print(f"{clear}{screen}\n> {keyboard.line}", end="", flush=True)
            ready = {event.fileobj for event, _ in input_.select()}
            # Drains the main queue first, so that the message of a command stays on the screen until the next event.
            if main_queue in ready:
                calendar.hear_others()
            if sys.stdin in ready:
                for line in keyboard.lines():
                    if calendar.is_open:
                        calendar.run(line)
        print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
