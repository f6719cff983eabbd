"""The consumer of examples/history."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import totals
from corestone import Container, Model
from programs import ROOT

PROGRAM = ROOT / "examples" / "history" / "totals.py"


def pay(container: Container, account: str, amount: int) -> None:
    with container.context() as ctx:
        ctx.insert("Payment", account=account, amount=amount)
        ctx.save()


def once(store: Path, database: Path) -> str:
    command = [sys.executable, str(PROGRAM), str(store), str(database), "--once"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_totals_continue_after_a_restart(tmp_path: Path) -> None:
    store, database = tmp_path / "payments.sqlite", tmp_path / "totals.sqlite"
    with Container(Model(totals.MODEL), store, history=True) as container:
        pay(container, "rent", 700)
        pay(container, "food", 20)
        assert once(store, database).splitlines()[-1] == "transaction 2: {'food': 20, 'rent': 700}"
        assert once(store, database) == ""
        with container.context() as ctx:
            (food,) = ctx.fetch("Payment", "account == 'food'")
            food.amount = 25
            (rent,) = ctx.fetch("Payment", "account == 'rent'")
            ctx.delete(rent)
            ctx.save()
        assert once(store, database) == "transaction 3: {'food': 25}\n"
        # The store keeps what the consumer has yet to read.
        pay(container, "food", 1)
        purge = container.coordinator.purge_history(container.coordinator.stores[0], keep=0)
        assert (purge.transactions, purge.held_by) == (3, "totals")


def test_repeated_transactions_are_discarded(tmp_path: Path) -> None:
    with Container(Model(totals.MODEL), tmp_path / "payments.sqlite", history=True) as container:
        for amount in (1, 2, 3):
            pay(container, "food", amount)
        own = totals.Totals(str(tmp_path / "totals.sqlite"))
        for _ in range(3):  # as after crashes
            history = container.coordinator.history()
            for transaction in history:
                own.take(transaction, [history.values(change) for change in transaction.changes])
        assert own.accounts() == {"food": 6}
        assert own.repeats == 6
