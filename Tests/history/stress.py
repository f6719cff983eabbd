r"""Writers, consumers and a purger on one store, each a process: no change is lost, and no consumer's token expires.

PYTHONPATH=bindings/python CORESTONE_LIBRARY=build/lib/libcorestone.so \
    python Tests/history/stress.py [--seconds 60] [--writers 2] [--consumers 3]

Writers insert, change and delete objects in saves and batch requests, and note each transaction of theirs in a file.
Consumers follow the history; each keeps the number of the last transaction with its effect, in one transaction of a
database of its own, and at random throws away what it read after the effect, so that transactions come again. The
purger deletes what all consumers have read. At the end the transactions of each consumer are those of the writers.
"""

from __future__ import annotations

import argparse
import json
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from corestone import (
    BatchDeleteRequest,
    BatchInsertRequest,
    BatchUpdateRequest,
    Container,
    FetchRequest,
    HistoryToken,
    Model,
)

MODEL = {
    "Author": {"name": "string preserved", "books": "to-many Book inverse author"},
    "Book": {"title": "string preserved", "pages": "int32 = 0", "author": "to-one Author? inverse books"},
}


def opened(store: Path) -> Container:
    return Container(Model(MODEL), store, history=True, busy_timeout=60.0)


def write(store: Path, number: int, seconds: float) -> None:
    """A writer: prints the number and the changes of each transaction that it commits."""
    rolled = random.Random(number)
    end = time.monotonic() + seconds
    with opened(store) as container, open(f"{store}.writer{number}", "w") as log:
        while time.monotonic() < end:
            ctx = container.context()
            ctx.transaction_author = f"writer {number}"
            act = rolled.random()
            if act < 0.1:
                ctx.execute(
                    BatchInsertRequest("Book", [{"title": f"batch {each}", "pages": number} for each in range(20)])
                )
            elif act < 0.15:
                ctx.execute(BatchUpdateRequest("Book", {"pages": rolled.randrange(1000)}, "pages == %d", number))
            elif act < 0.2:
                ctx.execute(
                    BatchDeleteRequest(FetchRequest("Book", "pages == %d AND author == nil", rolled.randrange(1000)))
                )
            else:
                author = ctx.insert("Author", name=f"author of {number}")
                for each in range(rolled.randrange(1, 20)):
                    ctx.insert("Book", title=f"book {each}", pages=number, author=author)
                ctx.save()
                if act > 0.6:
                    author.name += "!"
                    ctx.save()
                if act > 0.9:
                    ctx.delete(author)
                    ctx.save()
            token = ctx.history_token
            if token is not None:
                log.write(f"{token.to_json()}\n")
            time.sleep(rolled.random() * 0.01)


def consume(store: Path, name: str, stop: Path) -> None:
    """A consumer: the effect of a transaction and its number are kept together, so a repetition is recognised."""
    rolled = random.Random(name)
    repeats = 0
    with opened(store) as container, sqlite3.connect(f"{store}.{name}") as own:
        own.execute("CREATE TABLE IF NOT EXISTS seen (number INTEGER PRIMARY KEY, author TEXT, changes INTEGER)")
        coordinator, place = container.coordinator, container.coordinator.stores[0]
        while True:
            last = own.execute("SELECT ifnull(max(number), 0) FROM seen").fetchone()[0]
            # A consumer that was killed before it moved comes again from its place in the store.
            start = max(last - rolled.randrange(3), 0) if rolled.random() < 0.5 else last
            consumer = next(each for each in coordinator.history_consumers(place) if each.name == name)
            start = max(start, consumer.transaction)
            read = 0
            for transaction in coordinator.history(since=HistoryToken.at(place, start)).follow(timeout=0.3):
                kept = (transaction.number, transaction.author, len(transaction.changes))
                try:
                    own.execute("INSERT INTO seen VALUES (?, ?, ?)", kept)
                except sqlite3.IntegrityError:
                    repeats += 1
                    known = own.execute("SELECT * FROM seen WHERE number = ?", kept[:1]).fetchone()
                    assert known == kept, (known, kept)
                own.commit()
                read += 1
                if rolled.random() < 0.2:
                    coordinator.move_history_consumer(name, place, transaction.token)
                if read == 200:
                    break
            if read == 0 and stop.exists():
                break
    print(json.dumps({"name": name, "repeats": repeats}))


def purge(store: Path, stop: Path) -> None:
    purged = 0
    with opened(store) as container:
        coordinator, place = container.coordinator, container.coordinator.stores[0]
        while not stop.exists():
            purged += coordinator.purge_history(place, keep=random.randrange(50)).transactions
            time.sleep(0.2)
    print(json.dumps({"purged": purged}))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--writers", type=int, default=2)
    parser.add_argument("--consumers", type=int, default=3)
    parser.add_argument("--role", nargs="*", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.role:
        role, *words = given.role
        if role == "write":
            write(Path(words[0]), int(words[1]), float(words[2]))
        elif role == "consume":
            consume(Path(words[0]), words[1], Path(words[2]))
        else:
            purge(Path(words[0]), Path(words[1]))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        return campaign(Path(folder) / "store.sqlite", given.seconds, given.writers, given.consumers)


def campaign(store: Path, seconds: float, writers: int, consumers: int) -> int:
    stop = store.with_name("stop")
    names = [f"consumer{number}" for number in range(consumers)]
    with opened(store) as container:
        for name in names:
            container.coordinator.register_history_consumer(name, container.coordinator.stores[0])

    def start(*role: object) -> subprocess.Popen[str]:
        command = [sys.executable, __file__, "--role", *map(str, role)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    writing = [start("write", store, number, seconds) for number in range(writers)]
    reading = [start("consume", store, name, stop) for name in names]
    purging = start("purge", store, stop)
    wrong: list[str] = []

    def ended(process: subprocess.Popen[str]) -> str:
        printed, failure = process.communicate(timeout=seconds + 120)
        if process.returncode != 0:
            wrong.append(failure.strip().splitlines()[-1] if failure.strip() else f"exit code {process.returncode}")
        return printed

    for each in writing:
        ended(each)
    stop.touch()
    reports = [json.loads(printed) for printed in map(ended, [*reading, purging]) if printed]
    with opened(store) as container:
        token = container.coordinator.history_token()
        assert token is not None
        highest = token.transaction(container.coordinator.stores[0])
    for name in names:
        with sqlite3.connect(f"{store}.{name}") as own:
            seen = [row[0] for row in own.execute("SELECT number FROM seen ORDER BY number")]
        missing = set(range(1, (highest or 0) + 1)) - set(seen)
        if missing:
            wrong.append(f"{name} lost {len(missing)} of {highest} transactions, first {min(missing)}")
    written = [
        next(iter(json.loads(line).values()))
        for number in range(writers)
        for line in Path(f"{store}.writer{number}").read_text().splitlines()
    ]
    if max(written, default=0) > (highest or 0):
        wrong.append("a writer's transaction is beyond the last one of the store")
    repeats = sum(each.get("repeats", 0) for each in reports)
    purged = sum(each.get("purged", 0) for each in reports)
    if not purged:
        wrong.append("the purger deleted nothing")
    for line in wrong:
        print(f"history stress: {line}")
    print(
        f"history stress: {highest} transactions of {writers} writers, {consumers} consumers, {repeats} repeats "
        f"discarded, {purged} purged, {len(wrong)} wrong"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
