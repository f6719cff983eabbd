"""A consumer of a store's history, which keeps the total of each account in a separate database.

    python totals.py STORE TOTALS        # follows STORE until it is interrupted
    python totals.py STORE TOTALS --once # reads the existing transactions, and ends

A history delivers each transaction at least once: after a crash, the last one may be delivered again. The consumer
writes the number of a transaction together with its effect, in one transaction of its database. So it recognises a
repeated transaction, and continues after the last one in its database. It is registered in the store by name
("totals"), so purges keep the transactions that it has not read.
"""

from __future__ import annotations

import sqlite3
import sys
from typing import Any

from corestone import Container, HistoryChangeKind, HistoryCursor, HistoryToken, HistoryTransaction, Model

MODEL = {"Payment": {"account": "string", "amount": "int64 = 0"}}
NAME = "totals"


class Totals:
    """The consumer's database: payments with their accounts, and the last transaction of each store."""

    def __init__(self, path: str) -> None:
        self.file = sqlite3.connect(path, isolation_level=None)
        self.file.executescript(
            "CREATE TABLE IF NOT EXISTS payment (uri TEXT PRIMARY KEY, account TEXT, amount INTEGER);"
            "CREATE TABLE IF NOT EXISTS place (store TEXT PRIMARY KEY, number INTEGER);"
        )
        self.repeats = 0

    def number(self, store: str) -> int | None:
        """Returns the number of a store's last transaction in the totals; None before the first one."""
        found = self.file.execute("SELECT number FROM place WHERE store = ?", (store,)).fetchone()
        return None if found is None else int(found[0])

    def take(self, transaction: HistoryTransaction, values: list[dict[str, Any] | None]) -> None:
        """Applies a transaction once, even if it is delivered repeatedly."""
        if transaction.number <= (self.number(transaction.store_identifier) or 0):
            self.repeats += 1
            return
        self.file.execute("BEGIN")
        for change, found in zip(transaction.changes, values):
            if change.kind is HistoryChangeKind.DELETE:
                self.file.execute("DELETE FROM payment WHERE uri = ?", (change.object_uri,))
            elif found is not None:  # otherwise a later transaction deleted the payment
                self.file.execute("INSERT OR IGNORE INTO payment (uri, account, amount) VALUES (?, '', 0)",
                                  (change.object_uri,))  # fmt: skip
                for name, value in found.items():
                    self.file.execute(f"UPDATE payment SET {name} = ? WHERE uri = ?", (value, change.object_uri))
        place = (transaction.store_identifier, transaction.number)
        self.file.execute("INSERT OR REPLACE INTO place (store, number) VALUES (?, ?)", place)
        self.file.execute("COMMIT")

    def accounts(self) -> dict[str, int]:
        rows = self.file.execute("SELECT account, sum(amount) FROM payment GROUP BY account ORDER BY account")
        return dict(rows.fetchall())


def history(container: Container, totals: Totals) -> HistoryCursor:
    """Registers the consumer, and returns the transactions that it has yet to read."""
    coordinator = container.coordinator
    store = coordinator.stores[0]
    place = HistoryToken.at(store, totals.number(store.identifier) or 0)
    coordinator.register_history_consumer(NAME, store, at=place)
    return coordinator.history(since=place)


def run(path: str, database: str, once: bool) -> None:
    totals = Totals(database)
    with Container(Model(MODEL), path, history=True) as container:
        cursor = history(container, totals)
        store = container.coordinator.stores[0]
        for transaction in cursor if once else cursor.follow():
            totals.take(transaction, [cursor.values(change) for change in transaction.changes])
            container.coordinator.move_history_consumer(NAME, store, cursor.token)
            print(f"transaction {transaction.number}: {totals.accounts()}", flush=True)


if __name__ == "__main__":
    try:
        run(sys.argv[1], sys.argv[2], "--once" in sys.argv)
    except KeyboardInterrupt:
        print("stopped")
