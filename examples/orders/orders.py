"""An order editor for the terminal. Usage: orders.py STORE

Type "help" for the commands. Every command is one step for undo. Two editors may have the same store open: who saves
second is asked what to do about what the other one changed. Without a terminal the commands come from standard input.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from corestone import (
    ConflictError,
    Container,
    CorestoneError,
    ManagedObject,
    MergeConflict,
    MergePolicy,
    Model,
    UndoManager,
    ValidationError,
)
from corestone.object import object_id

HELP = """\
  new CUSTOMER                a new order; the customer is made when there is none of that name
  open NUMBER                 shows another order          list           all orders
  add PRODUCT QUANTITY PRICE  a new line at the end        remove LINE    takes a line out
  set FIELD VALUE             note, paid, number, customer of the order; without a value: nothing
  line LINE FIELD VALUE       product, quantity, price of a line
  move LINE PLACE             puts a line elsewhere        delete         deletes the order with its lines
  undo   redo                 one command back or forth
  save   revert               writes everything, or drops what was not saved
  quit                        asks for a save first when something was not saved; "quit!" does not ask"""


class UsageError(Exception):
    """A command that cannot be carried out, said to whoever typed it."""


class Editor:
    """The state of the screen: a context, the order that is shown, and what went wrong last."""

    def __init__(self, container: Container) -> None:
        self.ctx = container.context()
        self.undo_manager = self.ctx.undo_manager = UndoManager()
        self.order: ManagedObject | None = None
        self.message = 'Type "help" for the commands.'
        self.problems: dict[tuple[str | None, str | None], str] = {}  # by the object's URI and the field
        self.forget_what_is_gone()

    # What the commands do. Each is an event of its own: one undo takes it back.

    def new(self, customer: str) -> str:
        last = self.ctx.fetch("Order", sort=["-number"], limit=1)
        number = last[0].number + 1 if last else 1
        self.order = self.ctx.insert("Order", number=number, placedOn=datetime.now(timezone.utc))
        self.order.customer = self.customer(customer)
        return f"new order {number}"

    def customer(self, name: str) -> ManagedObject:
        found = self.ctx.fetch("Customer", "name ==[cd] %@", name, limit=1)
        customer: ManagedObject = found[0] if found else self.ctx.insert("Customer", name=name)
        return customer

    def open(self, number: str) -> None:
        found = self.ctx.fetch("Order", "number == %d", whole(number, "order"), limit=1)
        if not found:
            raise UsageError(f"there is no order {number}")
        self.order = found[0]

    def list_orders(self) -> None:
        orders = self.ctx.fetch("Order", sort=["number"], prefetch=["customer", "lines"])
        rows = [
            f"  {order.number:>4}  {order.customer.name if order.customer else '-':<24} {total(order):>10.2f}"
            for order in orders
        ]
        self.message = "\n".join(rows) or "There is no order yet."

    def add(self, product: str, quantity: str, price: str) -> str:
        line = self.ctx.insert("Line", product=product, quantity=whole(quantity, "quantity"), price=money(price))
        self.shown().lines.append(line)
        return f"new line {product}"

    def remove(self, line: str) -> str:
        self.ctx.delete(self.line_at(line))
        return f"remove line {line}"

    def set(self, field: str, value: str | None = None) -> str:
        order = self.shown()
        if field == "customer":
            order.customer = self.customer(value) if value else None
        elif field == "paid":
            order.paid = value in ("yes", "true", "1")
        elif field == "number":
            order.number = whole(value or "", "number")
        elif field == "note":
            order.note = value
        else:
            raise UsageError(f"an order has no field {field}; there are note, paid, number, customer")
        return f"change of {field}"

    def change_line(self, line: str, field: str, value: str) -> str:
        changed = self.line_at(line)
        if field == "product":
            changed.product = value
        elif field == "quantity":
            changed.quantity = whole(value, "quantity")
        elif field == "price":
            changed.price = money(value)
        else:
            raise UsageError(f"a line has no field {field}; there are product, quantity, price")
        return f"change of {field}"

    def move(self, line: str, place: str) -> str:
        lines, moved = self.shown().lines, self.line_at(line)
        lines.insert(min(max(whole(place, "place") - 1, 0), len(lines) - 1), moved)
        return f"move of line {line}"

    def delete(self) -> str:
        order = self.shown()
        self.order = None
        self.ctx.delete(order)
        return f"deletion of order {order.number}"

    def undo(self) -> None:
        self.step(self.undo_manager.can_undo, self.ctx.undo, "undo", self.undo_manager.undo_action_name)

    def redo(self) -> None:
        self.step(self.undo_manager.can_redo, self.ctx.redo, "redo", self.undo_manager.redo_action_name)

    def step(self, is_possible: bool, step: Callable[[], bool], verb: str, name: str | None) -> None:
        if not is_possible:
            raise UsageError(f"nothing to {verb}")
        step()
        self.message = f"{verb}: {name}"

    def revert(self) -> None:
        self.ctx.rollback()
        self.message = "All unsaved changes are gone."

    def save(self) -> None:
        self.problems = {}
        try:
            self.ctx.save()
        except ConflictError as error:
            return self.settle(error)
        except ValidationError as error:
            for failure in error.details or [error]:
                self.problems[failure.object_uri, failure.key] = failure.message
            self.message = f"Not saved: {len(self.problems)} to mend."
            return None
        self.message = "Saved."
        return None

    def settle(self, error: ConflictError) -> None:
        """Shows what was changed on both sides, and asks whose counts."""
        print("\nSomebody saved the same objects meanwhile.\n")
        print(f"  {'':<20} {'before':>16} {'here':>16} {'there':>16}")
        for conflict in error.conflicts:
            if isinstance(conflict, MergeConflict):
                for key, (base, mine, theirs) in conflict.differences.items():
                    print(f"  {key:<20} {shown(base):>16} {shown(mine):>16} {shown(theirs):>16}")
            else:
                print("  " + conflict.message)
        answer = ask("\nKeep [m]ine, take [t]heirs, [d]rop all of my changes, or [c]ancel? ")
        if answer.startswith("d"):
            self.ctx.rollback()
            self.ctx.refresh_all()
            self.message = "Your changes are gone."
        elif answer.startswith("m"):
            self.ctx.save(merge_policy=MergePolicy.OBJECT_TRUMP)
            self.message = "Saved, with your changes on top."
        elif answer.startswith("t"):
            self.ctx.save(merge_policy=MergePolicy.STORE_TRUMP)
            self.message = "Saved, with theirs on top."
        else:
            self.message = "Not saved."

    # What is shown.

    def shown(self) -> ManagedObject:
        if self.order is None:
            raise UsageError('no order is open; "new CUSTOMER" makes one')
        return self.order

    def line_at(self, number: str) -> ManagedObject:
        lines = self.shown().lines
        place = whole(number, "line")
        if not 1 <= place <= len(lines):
            raise UsageError(f"there is no line {place}")
        line: ManagedObject = lines[place - 1]
        return line

    def forget_what_is_gone(self) -> None:
        """Undo and revert may take away the order that is open."""
        orders = self.ctx.fetch("Order", sort=["number"])
        if self.order not in orders:
            self.order = orders[0] if orders else None

    def problem(self, item: ManagedObject, field: str) -> str:
        text = self.problems.get((object_id(item).uri, field))
        return f"   <-- {text}" if text else ""

    def draw(self) -> str:
        state = "unsaved changes" if self.ctx.has_changes else "saved"
        undo, redo = self.undo_manager.undo_action_name, self.undo_manager.redo_action_name
        lines = [f"Orders ({state})" + (f"  undo: {undo}" if undo else "") + (f"  redo: {redo}" if redo else ""), ""]
        if self.order is not None:
            lines += self.draw_order(self.order)
        known = {object_id(item).uri for item in ([self.order, *self.order.lines] if self.order else [])}
        lines += [f"  {text}" for (uri, _), text in self.problems.items() if uri not in known]
        return "\n".join([*lines, "", self.message])

    def draw_order(self, order: ManagedObject) -> list[str]:
        customer = order.customer.name if order.customer else "-"
        lines = [
            f"  number    {order.number}" + self.problem(order, "number"),
            f"  customer  {customer}" + self.problem(order, "customer"),
            f"  placed    {order.placedOn:%Y-%m-%d %H:%M}" if order.placedOn else "  placed    -",
            f"  paid      {'yes' if order.paid else 'no'}",
            f"  note      {shown(order.note)}" + self.problem(order, "note"),
            "",
        ]
        for place, line in enumerate(order.lines, 1):
            text = (
                f"  {place:>3}  {line.product or '-':<30} {line.quantity:>4} x {line.price:>9.2f} = {cost(line):>10.2f}"
            )
            lines.append(text + "".join(self.problem(line, field) for field in ("product", "quantity", "price")))
        return [*lines, f"       {'total':<46}   {total(order):>10.2f}" + self.problem(order, "lines")]

    # The loop.

    def run(self, command: str) -> bool:
        """Carries out a command; False at the end."""
        try:
            word, *rest = shlex.split(command) or [""]
            self.message = ""
            if word in ("quit", "quit!", "q"):
                if word != "quit!" and not self.may_quit():
                    return True
                self.ctx.rollback()  # the end of the container's block would refuse what is not saved
                return False
            self.perform(word, rest)
            self.forget_what_is_gone()
        except (UsageError, CorestoneError, ValueError) as error:
            self.message = str(error)
        return True

    def perform(self, word: str, rest: Sequence[str]) -> None:
        edits: dict[str, Callable[..., str]] = {
            "new": self.new, "add": self.add, "remove": self.remove, "set": self.set, "line": self.change_line,
            "move": self.move, "delete": self.delete,
        }  # fmt: skip
        others: dict[str, Callable[..., None]] = {
            "open": self.open, "list": self.list_orders, "undo": self.undo, "redo": self.redo, "save": self.save,
            "revert": self.revert,
        }  # fmt: skip
        try:
            if word in edits:
                name = edits[word](*rest)
                self.undo_manager.set_action_name(name)
                self.ctx.process_pending_changes()
            elif word in others:
                others[word](*rest)
            else:
                self.message = HELP if word == "help" else f'no command "{word}"; "help" lists them'
        except TypeError:
            raise UsageError(f'"{word}" wants other words behind it; "help" tells which') from None

    def may_quit(self) -> bool:
        if not self.ctx.has_changes:
            return True
        answer = ask("Save the changes? [y]es, [n]o, [c]ancel: ")
        if answer.startswith("y"):
            self.save()
            return not self.ctx.has_changes
        return answer.startswith("n")


def ask(question: str) -> str:
    try:
        return input(question).strip().lower()
    except EOFError:
        return ""


def whole(text: str, what: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise UsageError(f'"{text}" is no {what}') from None


def money(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        raise UsageError(f'"{text}" is no price') from None


def cost(line: ManagedObject) -> Decimal:
    return (line.quantity or 0) * (line.price or Decimal(0))


def total(order: ManagedObject) -> Decimal:
    return sum((cost(line) for line in order.lines), Decimal(0))


def shown(value: Any) -> str:
    return "-" if value is None else str(value)


def main() -> int:
    if len(sys.argv) != 2:
        print("usage: orders.py STORE", file=sys.stderr)
        return 2
    model = Model.load(Path(__file__).with_name("Orders.xcdatamodeld"))
    with Container(model, sys.argv[1]) as container:
        editor = Editor(container)
        clear = "\033[2J\033[H" if sys.stdout.isatty() else ""
        try:
            while True:
                print(clear + editor.draw())
                if not editor.run(input("> ")):
                    return 0
        except EOFError:
            editor.ctx.rollback()
            return 0


if __name__ == "__main__":
    sys.exit(main())
