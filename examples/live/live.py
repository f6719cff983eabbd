"""A shopping list that several users edit at the same time, each in a terminal. Usage: live.py STORE [NAME]

Each change is saved immediately and appears in the other terminals, which run this program or live.c. An offline
program does not save or merge changes. When it goes online again, a merge policy resolves the conflicts.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import shlex
import sys
import termios
import tty
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timezone
from pathlib import Path

from corestone import (
    Conflict,
    Container,
    Context,
    ContextChanges,
    CorestoneError,
    DynamicObject,
    MergeConflict,
    MergePolicy,
    MergePolicyType,
    Model,
    ObjectID,
    main_queue,
)

HELP = """\
  add NAME [AMOUNT]   adds an item                     NUMBER           marks it as bought or not bought
  name NUMBER NAME    renames it                       amount NUMBER N  sets its amount
  remove NUMBER       removes it                       clear            removes the bought items
  offline   online    stops or resumes saving          quit   quit!     saves or discards, and ends"""


class UsageError(Exception):
    """A command that cannot be executed. Its text is shown to the user."""


class ShoppingList:
    """The state of the list for one user: a context that merges the saves of other programs, and the message."""

    def __init__(self, container: Container, author: str) -> None:
        self.author = author
        self.ctx = container.main_context()
        self.ctx.merge_policy = MergePolicy(MergePolicyType.OBJECT_TRUMP, self.settle)
        self.ctx.automatically_merges_remote_changes = True
        self.token = self.ctx.observe("did_merge_object_ids", self.merged)
        self.message = 'Type "help" for the commands.'
        self.shown: Sequence[DynamicObject] = []
        self.fresh: set[ObjectID] = set()  # the items that other programs changed last
        self.is_stale = True  # the screen must be drawn again
        self.is_open = True

    def items(self) -> Sequence[DynamicObject]:
        return list(self.ctx.fetch("Item", sort=["bought", "added", "name"]))

    # Changes of other programs.

    def merged(self, _: Context, changes: ContextChanges) -> None:
        """Shows the changes of another program, which the context has merged."""
        self.fresh = {*changes.inserted_ids, *changes.updated_ids}
        items = [item for item in self.items() if item.id in self.fresh]
        names = ", ".join(f"{item.name} by {item.author}" for item in items)
        self.message = f"Changed: {names}" if names else "An item was removed."
        self.is_stale = True

    def settle(self, conflicts: Sequence[Conflict]) -> None:
        """Resolves conflicts, as the merge policy: keeps this side's value of a property, but adds up amounts."""
        for conflict in conflicts:
            if not isinstance(conflict, MergeConflict):
                continue
            differences = conflict.differences
            conflict.resolve(MergePolicyType.OBJECT_TRUMP)
            item, told = conflict.source_object, []
            for key, (base, mine, theirs) in differences.items():
                if key == "amount" and theirs is not None and mine != base != theirs:
                    item.amount = mine + theirs - base
                    told.append(f"amount {mine} here and {theirs} there, together {item.amount}")
                elif mine != base and theirs not in (base, mine):
                    told.append(f"{key} {mine!r} replaces {theirs!r}")
            self.message += f"\n{item.name}: {'; '.join(told) or 'changed on both sides'}."

    # The commands.

    def run(self, line: str) -> None:
        commands: dict[str, Callable[..., None]] = {
            "add": self.add, "name": self.rename, "amount": self.amount, "remove": self.remove, "clear": self.clear,
            "offline": self.offline, "online": self.online, "quit": self.quit,
            "quit!": self.drop,
        }  # fmt: skip
        self.message, self.is_stale = "", True
        try:
            word, *rest = shlex.split(line) or [""]
            if word.isdigit() and not rest:
                self.toggle(word)
            elif word in commands:
                commands[word](*rest)
            elif word:
                self.message = HELP if word == "help" else f'no command "{word}"; "help" lists them'
            if self.ctx.automatically_merges_remote_changes:
                self.save()
        except CorestoneError as error:
            self.ctx.rollback()
            self.ctx.refresh_all()
            self.message = f"Not saved: {error}"
        except (UsageError, ValueError) as error:
            self.message = str(error)
        except TypeError:
            self.message = f'wrong arguments for "{word}"; type "help" for a list'

    def save(self) -> None:
        for item in [*self.ctx.inserted, *self.ctx.updated]:
            item.author = self.author
        self.ctx.save()

    def item(self, number: str) -> DynamicObject:
        items = self.items()
        if not number.isdigit() or not 1 <= int(number) <= len(items):
            raise UsageError(f"there is no item {number}")
        return items[int(number) - 1]

    def add(self, name: str, amount: str = "1") -> None:
        known: DynamicObject | None = self.ctx.first("Item", "name ==[c] %@", name)
        if known is None:
            self.ctx.insert("Item", name=name, amount=int(amount), added=datetime.now(timezone.utc))
        elif known.bought:
            known.bought, known.amount = False, int(amount)
        else:
            known.amount += int(amount)

    def toggle(self, number: str) -> None:
        item = self.item(number)
        item.bought = not item.bought

    def rename(self, number: str, name: str) -> None:
        self.item(number).name = name

    def amount(self, number: str, amount: str) -> None:
        self.item(number).amount = int(amount)

    def remove(self, number: str) -> None:
        self.ctx.delete(self.item(number))

    def clear(self) -> None:
        for item in self.ctx.fetch("Item", "bought == YES"):
            self.ctx.delete(item)

    def offline(self) -> None:
        self.ctx.automatically_merges_remote_changes = False
        self.message = 'Offline: changes are not saved before "online".'

    def online(self) -> None:
        self.message = "Online again."
        self.save()
        self.ctx.automatically_merges_remote_changes = True
        self.ctx.refresh_all()  # reads the changes that were not merged meanwhile

    def quit(self) -> None:
        self.save()  # the changes that were made offline
        self.is_open = False

    def drop(self) -> None:
        self.ctx.rollback()  # discards unsaved changes
        self.is_open = False

    # Drawing.

    def draw(self) -> str:
        state = "live" if self.ctx.automatically_merges_remote_changes else "offline"
        lines = [f"Shopping list of {Path(self.ctx.container.path).name} ({state})", ""]
        # Keeps the objects alive, because a context merges changes only into registered objects.
        self.shown = self.items()
        for number, item in enumerate(self.shown, 1):
            mark = "  <- new" if item.id in self.fresh else ""
            box = "[x]" if item.bought else "[ ]"
            lines.append(
                f"  {number:>2} {box} {item.amount:>3} x {item.name:<24} {item.author or '':<10}{mark}".rstrip()
            )
        self.is_stale = False
        return "\n".join([*lines, "", self.message, ""])


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
        """Reads keys and returns the completed lines; "quit" at the end of the input."""
        typed = os.read(sys.stdin.fileno(), 1024).decode(errors="ignore")
        if not typed or "\x04" in typed:
            return ["quit"]
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
    if len(sys.argv) not in (2, 3):
        print("usage: live.py STORE [NAME]", file=sys.stderr)
        return 2
    author = sys.argv[2] if len(sys.argv) == 3 else os.environ.get("USER", "unknown")
    model = Model.load(Path(__file__).with_name("Shopping.xcdatamodeld"))
    main_queue.bind()
    clear = "\033[2J\033[H" if sys.stdout.isatty() else ""
    with Container(model, sys.argv[1]) as container, Keyboard().reading() as keyboard:
        shopping = ShoppingList(container, author)
        events = selectors.DefaultSelector()
        events.register(sys.stdin, selectors.EVENT_READ)
        events.register(main_queue, selectors.EVENT_READ)
        while shopping.is_open:
            if shopping.is_stale:
                screen = shopping.draw()
            print(f"{clear}{screen}\n{author}> {keyboard.line}", end="", flush=True)
            ready = {event.fileobj for event, _ in events.select()}
            # Drains the main queue first, so that the message of a command stays on the screen until the next event.
            if main_queue in ready:
                main_queue.drain()
            if sys.stdin in ready:
                for line in keyboard.lines():
                    if shopping.is_open:
                        shopping.run(line)
        print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
