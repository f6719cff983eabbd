"""An order editor for the terminal. Usage: orders.py STORE

Type "help" for the commands. Every command that changes an order is one undo step. Several editors may have the same
store open: the second one to save a change of the same order asks how to resolve the conflict. Without a terminal, the
commands are read from standard input.
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
    DynamicObject,
    MergeConflict,
    MergePolicy,
    Model,
    UndoManager,
    ValidationError,
)
from corestone.object import object_id

HELP = """\
  new CUSTOMER                adds an order, and a customer if there is no customer of that name
  open NUMBER                 shows another order          list           lists all orders
  add PRODUCT QUANTITY PRICE  adds a line at the end       remove LINE    removes a line
  set FIELD VALUE             sets note, paid, number or customer of the order; without a value: clears it
  line LINE FIELD VALUE       sets product, quantity or price of a line
  move LINE PLACE             moves a line                 delete         deletes the order with its lines
  undo   redo                 undoes or redoes a command
  save   revert               saves or discards all changes
  quit                        ends, and offers to save unsaved changes; "quit!" discards them"""


class UsageError(Exception):
    """A command that cannot be executed. Its text is shown to the user."""


class Editor:
    """The state of the editor: a context, the shown order, and the problems of the last save."""

    def __init__(self, container: Container) -> None:
        self.ctx = container.context()
        self.undo_manager = self.ctx.undo_manager = UndoManager()
        self.order: DynamicObject | None = None
        self.message = 'Type "help" for the commands.'
        self.problems: dict[tuple[str | None, str | None], str] = {}  # by the object's URI and the field
        self.forget_what_is_gone()

    # The commands. Each command that returns a name is one event and one undo step.

    def new(self, customer: str) -> str:
        last = self.ctx.fetch("Order", sort=["-number"], limit=1)
        number = last[0].number + 1 if last else 1
        self.order = self.ctx.insert("Order", number=number, placedOn=datetime.now(timezone.utc))
        self.order.customer = self.customer(customer)
        return f"new order {number}"

    def customer(self, name: str) -> DynamicObject:
        found = self.ctx.fetch("Customer", "name ==[cd] %@", name, limit=1)
        customer: DynamicObject = found[0] if found else self.ctx.insert("Customer", name=name)
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
        self.message = "\n".join(rows) or "There are no orders yet."

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
            raise UsageError(f'an order does not have a field "{field}"; use note, paid, number or customer')
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
            raise UsageError(f'a line does not have a field "{field}"; use product, quantity or price')
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
            self.message = f"Not saved: {len(self.problems)} to correct."
            return None
        self.message = "Saved."
        return None

    def settle(self, error: ConflictError) -> None:
        """Shows the conflicts, and asks how to resolve them."""
        print("\nAnother editor saved the same objects meanwhile.\n")
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
            self.message = "Your changes were discarded."
        elif answer.startswith("m"):
            self.ctx.save(merge_policy=MergePolicy.OBJECT_TRUMP)
            self.message = "Saved; your values won the conflict."
        elif answer.startswith("t"):
            self.ctx.save(merge_policy=MergePolicy.STORE_TRUMP)
            self.message = "Saved; their values won the conflict."
        else:
            self.message = "Not saved."

    # Drawing.

    def shown(self) -> DynamicObject:
        if self.order is None:
            raise UsageError('no order is open; type "new CUSTOMER" to add one')
        return self.order

    def line_at(self, number: str) -> DynamicObject:
        lines = self.shown().lines
        place = whole(number, "line")
        if not 1 <= place <= len(lines):
            raise UsageError(f"there is no line {place}")
        line: DynamicObject = lines[place - 1]
        return line

    def forget_what_is_gone(self) -> None:
        """Shows the first order if no order is open, or the open one was removed, for example by an undo."""
        orders = self.ctx.fetch("Order", sort=["number"])
        if self.order not in orders:
            self.order = orders[0] if orders else None

    def problem(self, item: DynamicObject, field: str) -> str:
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

    def draw_order(self, order: DynamicObject) -> list[str]:
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
        """Executes a command. Returns False if it quits the program."""
        try:
            word, *rest = shlex.split(command) or [""]
            self.message = ""
            if word in ("quit", "quit!", "q"):
                if word != "quit!" and not self.may_quit():
                    return True
                self.ctx.rollback()  # the end of the container's block raises for unsaved changes
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
            raise UsageError(f'wrong arguments for "{word}"; type "help" for a list') from None

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
        raise UsageError(f'"{text}" is not a valid {what}') from None


def money(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        raise UsageError(f'"{text}" is not a valid price') from None


def cost(line: DynamicObject) -> Decimal:
    return (line.quantity or 0) * (line.price or Decimal(0))


def total(order: DynamicObject) -> Decimal:
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
