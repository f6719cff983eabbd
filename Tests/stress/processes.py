"""Several processes, or threads of one, read and write one store at once, for a while; then everything is counted.

Each of them increments counters that the others increment too, moves money between accounts, inserts and deletes
notes, and reads. They do not use a merge policy: a save that is in conflict fails, and the process discards and counts
it. At the end

- no update is lost: each counter is the sum of the saved increments, and the sum of all money is unchanged;
- every conflict was reported: the version of each row is one more than the number of saves that changed it;
- no reader ever saw half of a save;
- a context of each process that merges the saves of the others automatically has the final state;
- hardly any wait for a lock timed out: each time-out was reported as an error, and nothing was changed.

Usage: processes.py [--seconds 60] [--processes 2] [--threads 1] [--type SQLite|XML|Binary] [--journal wal|rollback]
    [--history]

Threads of one process share its coordinator and have their own contexts. At the end the store is read without the
library, by plain SQL or by the tests' own readers. The versions of rows in an XML store cannot be read this way.
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
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Optional

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bindings/python/tests"))

import binary_reader
import corestone
import xml_reader
from corestone import ConflictError, Container, Context, DynamicObject, Model, StoreBusyError

COUNTERS, ACCOUNTS, BALANCE = 4, 6, 1000
PATIENCE = 5.0  # seconds until a context must have merged


def model() -> Model:
    return Model(
        {
            "Tally": {"number": "int = 0", "value": "int = 0"},
            "Account": {"number": "int = 0", "balance": "int = 0"},
            "Note": {"text": "string"},
        }
    )


def opened(options: argparse.Namespace) -> Container:
    if options.type == "SQLite":
        return Container(model(), options.store, journal=options.journal, history=options.history)
    return Container(model(), options.store, type=options.type)


class Worker:
    """One thread of one of the processes. It makes the worker and runs it; then any thread may ask for the result."""

    def __init__(self, options: argparse.Namespace, name: str, container: Container) -> None:
        self.options = options
        self.name = name
        self.random = random.Random(name)
        self.container = container
        self.ctx = container.context()
        self.totals: Counter[str] = Counter()
        self.saves: Counter[str] = Counter()  # by row: how often it was changed by a save that went through
        self.heard = 0
        self.token = self.container.coordinator.observe("remote_change", self.hear)
        self.shown = self.container.background_context()
        self.shown.automatically_merges_remote_changes = True
        self.shown.automatically_merges = True
        self.rows: list[DynamicObject] = self.shown.perform_and_wait(self.read_all, self.shown)

    def hear(self, _: Any, changes: corestone.StoreChanges) -> None:
        assert changes.remote is not None and not changes.remote.is_own
        self.heard += 1

    def run(self) -> None:
        kinds = {self.increment: 50, self.transfer: 20, self.read: 20, self.write_note: 10}
        end = time.monotonic() + self.options.seconds
        while time.monotonic() < end:
            (step,) = self.random.choices(list(kinds), list(kinds.values()))
            try:
                step()
            except StoreBusyError:
                # On a machine that has no time for the one that has the lock.
                self.totals["busy"] += 1
                self.ctx.rollback()
                self.ctx.refresh_all()

    def result(self) -> dict[str, Any]:
        """After all other processes are done."""
        return {
            "name": self.name,
            "totals": {**self.totals, "heard": self.heard},
            "saves": self.saves,
            "merged_after": self.time_of_merge(),
        }

    # Steps.

    def pick(self, entity: str, count: int) -> list[DynamicObject]:
        numbers = self.random.sample(range(COUNTERS if entity == "Tally" else ACCOUNTS), count)
        found = list(self.ctx.fetch(entity, "number IN %@", numbers))
        if self.random.random() < 0.5:
            time.sleep(self.random.random() / 500)  # other threads may save now
        return found

    def increment(self) -> None:
        (tally,) = self.pick("Tally", 1)
        tally.value += 1
        self.save([f"Tally {tally.number}"])

    def transfer(self) -> None:
        source, target = self.pick("Account", 2)
        amount = self.random.randrange(1, 10)
        source.balance -= amount
        target.balance += amount
        self.save([f"Account {source.number}", f"Account {target.number}"])

    def write_note(self) -> None:
        notes = self.ctx.fetch("Note", limit=20)
        if len(notes) < 20:
            self.ctx.insert("Note", text=f"of {self.name}")
        else:
            self.ctx.delete(self.random.choice(list(notes)))
        self.save([])

    def read(self) -> None:
        self.totals["reads"] += 1
        # What a context has read stays as it was read; one fetch of a new one is one state of the store.
        with self.container.context() as fresh:
            total = sum(account.balance for account in fresh.fetch("Account"))
        if total != ACCOUNTS * BALANCE:
            self.totals["torn reads"] += 1

    def save(self, changed: list[str]) -> None:
        self.totals["attempts"] += 1
        try:
            self.ctx.save()
        except ConflictError as error:
            self.totals["conflicts"] += 1
            if not error.conflicts:
                self.totals["conflicts without details"] += 1
            self.ctx.rollback()
            self.ctx.refresh_all()
            return
        except StoreBusyError:
            self.totals["busy saves"] += 1
            raise
        self.totals["saves"] += 1
        self.saves.update(changed)

    # What the context that merges shows.

    def read_all(self, ctx: Context) -> list[DynamicObject]:
        return [*ctx.fetch("Tally", sort=["number"]), *ctx.fetch("Account", sort=["number"])]

    def values(self) -> list[int]:
        return [row.value for row in self.rows[:COUNTERS]] + [row.balance for row in self.rows[COUNTERS:]]

    def time_of_merge(self) -> float | None:
        """Seconds until the context that merges shows the final state; None when it never did."""
        fresh = self.container.context()
        rows = self.read_all(fresh)
        final = [row.value for row in rows[:COUNTERS]] + [row.balance for row in rows[COUNTERS:]]
        start = time.monotonic()
        while time.monotonic() - start < PATIENCE:
            if self.shown.perform_and_wait(self.values) == final:
                return time.monotonic() - start
            time.sleep(0.005)
        return None


def run_worker(options: argparse.Namespace) -> list[dict[str, Any]]:
    """The work of one process: its threads work, then it waits until the other processes are done."""
    container = opened(options)

    def work(number: int) -> Worker:
        name = f"process {options.worker}" + (f", thread {number}" if options.threads > 1 else "")
        worker = Worker(options, name, container)
        worker.run()
        return worker

    with ThreadPoolExecutor(options.threads) as pool:
        workers = list(pool.map(work, range(1, options.threads + 1)))
    print("done", flush=True)
    sys.stdin.readline()
    return [worker.result() for worker in workers]


def fill(options: argparse.Namespace) -> None:
    with opened(options) as container:
        ctx = container.context()
        for number in range(COUNTERS):
            ctx.insert("Tally", number=number)
        for number in range(ACCOUNTS):
            ctx.insert("Account", number=number, balance=BALANCE)
        ctx.save()


def problems(store: str, kind: str, results: list[dict[str, Any]]) -> list[str]:
    """The problems of the store according to an independent reader and the saves that the processes report."""
    found = []
    saves: Counter[str] = Counter()
    for result in results:
        name = result["name"]
        saves.update(result["saves"])
        totals = Counter(result["totals"])
        if totals["attempts"] != totals["saves"] + totals["conflicts"] + totals["busy saves"]:
            found.append(f"{name} has saves of which nobody knows what became of them")
        found += [f"{name}: {totals[what]} {what}" for what in totals if what.startswith(("torn", "conflicts w"))]
        if totals["busy"] > 2 + totals["attempts"] // 100:
            found.append(f"{name} waited in vain for locks {totals['busy']} times")
        if result["merged_after"] is None:
            found.append(f"{name} did not merge what the others saved")
    rows, state = READERS[kind](store)
    for number, value, version in rows["Tally"]:
        if value != saves[f"Tally {number}"]:
            found.append(f"tally {number} is {value} after {saves[f'Tally {number}']} increments")
        if version not in (None, value + 1):
            found.append(f"tally {number} has version {version} after {value} saves")
    for number, _, version in rows["Account"]:
        if version not in (None, saves[f"Account {number}"] + 1):
            found.append(f"account {number} has version {version} after {saves[f'Account {number}']} saves")
    if (len(rows["Tally"]), len(rows["Account"])) != (COUNTERS, ACCOUNTS):
        found.append("there are not as many rows as were made")
    balance = sum(balance for _, balance, _ in rows["Account"])
    if balance != ACCOUNTS * BALANCE:
        found.append(f"the accounts hold {balance} instead of {ACCOUNTS * BALANCE}")
    return found if state == "ok" else [*found, state]


# Number, value and version of each counter and account, as another reader finds them, and whether the file is sound.
Rows = dict[str, list[tuple[int, int, Optional[int]]]]


def read_sqlite(store: str) -> tuple[Rows, str]:
    database = sqlite3.connect(store)
    rows: Rows = {
        "Tally": database.execute("SELECT ZNUMBER, ZVALUE, Z_OPT FROM ZTALLY").fetchall(),
        "Account": database.execute("SELECT ZNUMBER, ZBALANCE, Z_OPT FROM ZACCOUNT").fetchall(),
    }
    (state,) = database.execute("PRAGMA integrity_check").fetchone()
    database.close()
    return rows, state


def read_xml(store: str) -> tuple[Rows, str]:
    rows: Rows = {"Tally": [], "Account": []}
    for item in xml_reader.read(Path(store).read_bytes()).values():
        if item.entity != "NOTE":
            value = item.values["value" if item.entity == "TALLY" else "balance"]
            rows[item.entity.capitalize()].append((item.values["number"], value, None))
    return rows, extra_files(store)


def read_binary(store: str) -> tuple[Rows, str]:
    content = Path(store).read_bytes()
    rows: Rows = {"Tally": [], "Account": []}
    versions = {
        (table["name"], key): version
        for table in binary_reader.content(content)["entities"]
        for key, version in zip(binary_reader.numbers(table["keys"]), binary_reader.numbers(table["versions"]))
    }
    for (entity, key), row in binary_reader.read(content, {}).items():
        if entity != "Note":
            value = row["value" if entity == "Tally" else "balance"]
            rows[entity].append((row["number"], value, versions[entity, key]))
    return rows, extra_files(store)


def extra_files(store: str) -> str:
    """A file that a save leaves beside its store is a problem."""
    names = sorted(each.name for each in Path(store).parent.iterdir() if each != Path(store))
    return f"files are left: {names}" if names else "ok"


READERS = {"SQLite": read_sqlite, "XML": read_xml, "Binary": read_binary}


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1, help="of each process")
    parser.add_argument("--type", choices=READERS, default="SQLite")
    parser.add_argument("--journal", choices=("wal", "rollback"), default="wal")
    parser.add_argument("--history", action="store_true")
    parser.add_argument("--store", help=argparse.SUPPRESS)
    parser.add_argument("--worker", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        print(json.dumps(run_worker(options)), flush=True)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        options.store = str(Path(folder) / "shared.store")
        fill(options)
        results = work(options)
        found = problems(options.store, options.type, results)
    if options.seconds >= 10 and not any(result["totals"].get("conflicts") for result in results):
        found.append("there was no conflict, so none could be missed")
    totals: Counter[str] = Counter()
    for result in results:
        totals.update(result["totals"])
        print(f"{result['name']}: {result['totals']}, merged the last of it after {result['merged_after']} s")
    for problem in found:
        print(f"PROBLEM: {problem}")
    how = f"{options.seconds:g} s, "
    how += f"{options.journal}{' with history' * options.history}" if options.type == "SQLite" else options.type
    print(
        f"{options.processes} x {options.threads} threads, {how}: {totals['attempts']} saves tried, "
        f"{totals['saves']} done, {totals['conflicts']} conflicts, {totals['reads']} reads, {totals['heard']} changes "
        f"heard; {len(found)} problems"
    )
    return 1 if found else 0


def work(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Runs the processes and returns their reports."""
    common = [
        sys.executable,
        __file__,
        "--seconds",
        str(options.seconds),
        "--journal",
        options.journal,
        "--type",
        options.type,
    ]
    common += ["--threads", str(options.threads), "--store", options.store] + ["--history"] * options.history
    workers = [
        subprocess.Popen([*common, "--worker", str(number)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for number in range(1, options.processes + 1)
    ]
    try:
        for worker in workers:
            assert worker.stdout is not None
            said = worker.stdout.readline()
            assert said == "done\n", f"a process ended early, saying {said!r}, with status {worker.wait(10)}"
        told = [json.loads(worker.communicate("\n", timeout=60)[0]) for worker in workers]
        return [result for results in told for result in results]
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()


if __name__ == "__main__":
    sys.exit(main())
