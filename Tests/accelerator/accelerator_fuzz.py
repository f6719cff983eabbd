"""Compares the Python package with and without its accelerator: random operations must have the same results.

Usage: accelerator_fuzz.py [--operations N] [--seed S] [--rounds R]

Two processes run the same operations with CORESTONE_ACCELERATOR=0 and 1. Each prints a line for each operation: its
arguments, and its result or its error. The first difference ends the program with status 1, and the lines before it are
printed. A round uses its own store; the operations are distributed over the rounds.

Garbage collection is enabled. In every fourth round, nearly every allocation of a container starts a collection. Each
operation ends with a full collection, so that the operations after it do not depend on the moments of collections.
"""

from __future__ import annotations

import argparse
import collections
import gc
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

ROOT = Path(__file__).resolve().parent.parent.parent
LINES = 25  # the number of lines that are printed before a difference
SAVES = 40  # the mean number of operations between two saves

IDS = 60  # the number of IDs that a round keeps
THRESHOLDS = (20, 3, 3)
HEAVY_THRESHOLDS = (1, 1, 1)

MODEL: dict[str, dict[str, Any]] = {
    "Team": {
        "name": "string?",
        "size": "int16 = 3",
        "people": "to-many Person inverse team",
        "ranking": "to-many ordered Person inverse ranked_in",
    },
    "Person": {
        "name": "string?",
        "notes": "string?",
        "small": "int16?",
        "age": "int32?",
        "number": "int64?",
        "rating": "double?",
        "factor": "float?",
        "active": "bool?",
        "hired": "date?",
        "salary": "decimal?",
        "badge": "uuid?",
        "site": "uri?",
        "photo": "binary?",
        "speed": "double? transient",
        "count": "int32 = 0",
        "loud": "derived string? = uppercase:(name)",
        "place": {"type": "composite", "optional": True, "elements": {"north": "double?", "label": "string?"}},
        "team": "to-one Team? inverse people",
        "ranked_in": "to-one Team? inverse ranking",
        "friend": "to-one Person? inverse friends",
        "friends": "to-many Person inverse friend",
    },
    "Chief": {"@parent": "Person", "bonus": "double = 0.5", "plan": "string?"},
}
ATTRIBUTES = [
    "name", "notes", "small", "age", "number", "rating", "factor", "active", "hired", "salary", "badge", "site",
    "photo", "speed", "count", "loud", "place",
]  # fmt: skip
EPOCH = datetime(2001, 1, 1, tzinfo=timezone.utc)
URI = re.compile(r"x-coredata://\S+|/tmp/\S+|0x[0-9a-f]+|thread \d+")


class World:
    """The stores, contexts and objects of one round."""

    def __init__(self, seed: int, folder: Path, write: Callable[[str], None]) -> None:
        import corestone
        from corestone import ManagedObject, Model

        self.corestone, self.random, self.write = corestone, random.Random(seed), write
        # Faults of missing rows are logged to standard error by default.
        corestone.log.set_callback(lambda line: None)

        class Person(ManagedObject, entity="Person"):
            """Overrides a property and has hooks."""

            count: int

            @property
            def age(self) -> Any:
                found = self.primitive_value("age")
                return None if found is None else found + 1000

            @age.setter
            def age(self, value: Any) -> None:
                self.set_primitive_value("age", value - 1000 if isinstance(value, int) else value)

            def will_save(self) -> None:
                if not self.is_deleted and self.count < 3:
                    self.count = self.count + 1

            def awake_from_snapshot_events(self, events: Any) -> None:
                write(f"  awake {self.count}")

        model = Model(MODEL)
        if seed % 3 == 0:
            model.bind(Person)
        # Values that are read ahead do not fire faults, so that a later read can find a newer row.
        model._reads_ahead = False
        self.container = corestone.Container(model, folder / f"{seed}.store", sync="normal", unsaved="discard")
        self.contexts = [self.container.context(), self.container.context()]
        self.contexts[0].undo_manager = corestone.UndoManager()
        self.contexts.append(self.contexts[0].child())
        self.contexts[1].automatically_merges = seed % 2 == 0
        self.contexts[2].automatically_merges = seed % 4 < 2
        self.pool: list[Any] = []
        self.ids: list[Any] = []
        self.observations: list[Any] = []
        for context in self.contexts[:2]:
            for at in range(4):
                team = context.insert("Team", name=f"T{at}")
                self.pool += [team, context.insert("Person", name=f"P{at}", number=at, team=team)]
            context.save()
        self.ids += [each.id for each in self.pool]

    def end(self) -> None:
        for each in self.observations:
            each.cancel()
        self.pool.clear()
        for context in reversed(self.contexts):
            context.close(unsaved="discard")
        self.container.close(unsaved="discard")

    # ---- choices

    def context(self) -> Any:
        return self.random.choice(self.contexts)

    def item(self) -> Any:
        if not self.pool:
            self.pool.append(self.contexts[0].insert("Person", name="new"))
        found: Any = self.random.choice(self.pool)
        if len(self.pool) > 8 and self.random.random() < 0.3 and found.context is None:
            self.pool.remove(found)  # most operations of detached objects are the same error
        return found

    def person(self) -> Any:
        people = [each for each in self.pool if each.entity_name != "Team"]
        if not people:
            people.append(self.contexts[0].insert("Person", name="new"))
            self.pool.append(people[0])
        return self.random.choice(people)

    def keep_id(self, which: Any) -> None:
        if len(self.ids) < IDS:
            self.ids.append(which)
        else:
            self.ids[self.random.randrange(IDS)] = which

    def name(self) -> str:
        return self.random.choice(ATTRIBUTES)

    def value(self, name: str) -> Any:
        one = self.random
        if one.random() < 0.08:
            return one.choice(
                ["text", 5, 2.5, True, None, b"x", 2**70, float("nan"), Decimal("1.5"), UUID(int=3), [1], "\ud800",
                 datetime(2020, 1, 1), EPOCH.date(), object, "http://a b", 40000, 2**40, Decimal(10) ** 50]
            )  # fmt: skip
        number = one.randrange(-50, 3000)
        kinds: dict[str, Callable[[], Any]] = {
            "name": lambda: f"näme {number}" if number % 5 == 0 else f"name {number}",
            "notes": lambda: "n" * (number % 3000),
            "small": lambda: number,
            "age": lambda: number,
            "number": lambda: number * 10**12,
            "rating": lambda: one.choice([number / 7, number, float(number)]),
            "factor": lambda: number / 8,
            "active": lambda: number % 2 == 0,
            "hired": lambda: (
                EPOCH.replace(tzinfo=one.choice([timezone.utc, timezone(timedelta(hours=-7))]))
                + timedelta(days=number * 100, microseconds=number * 12345)
            ),
            "salary": lambda: one.choice([Decimal(number) / 4, number]),
            "badge": lambda: UUID(int=abs(number)),
            "site": lambda: f"https://example.org/{number}",
            "photo": lambda: bytes([abs(number) % 256]) * 3,
            "speed": lambda: number / 3,
            "count": lambda: number,
            "size": lambda: number,
            "loud": lambda: "loud",
            "place": lambda: {"north": number / 2, "label": f"place {number}"},
        }
        return None if number % 11 == 0 else kinds[name]()

    # ---- operations, which return what is compared

    def show(self, value: Any) -> str:
        if isinstance(value, self.corestone.ManagedObject):
            known = value.is_inserted, value.is_updated, value.is_deleted, value.is_fault
            at = self.place(value)
            return f"<{value.entity_name} {at} {known}>"
        if isinstance(value, (list, tuple)):
            return "[" + ", ".join(map(self.show, value)) + "]"
        return f"{type(value).__name__} {value!r}"

    def place(self, value: Any) -> int:
        """The place of an object in the pool, to which it is added."""
        for at, each in enumerate(self.pool):
            if each is value:
                return at
        self.pool.append(value)
        return len(self.pool) - 1

    def read(self) -> Any:
        item, name = self.item(), self.name()
        return name, getattr(item, name)

    def read_again(self) -> Any:
        item = self.item()
        names = [self.name() for _ in range(self.random.randrange(1, 6))]
        return names, [getattr(item, each) for each in names for _ in range(2) if hasattr(type(item), each)]

    def read_target(self) -> Any:
        return getattr(self.person(), self.random.choice(["team", "friend", "ranked_in"]))

    def read_members(self) -> Any:
        return sorted(repr(each.name) for each in self.person().friends)

    def read_path(self) -> Any:
        return self.person()[self.random.choice(["team.name", "friend.number", "team.people.@count", "name"])]

    def read_several(self) -> Any:
        return self.person().get(self.name(), self.name(), "team")

    def write_value(self) -> Any:
        item, name = self.item(), self.name()
        setattr(item, name, self.value(name))
        return name, getattr(item, name)

    def write_several(self) -> Any:
        item, names = self.person(), {self.name() for _ in range(3)}
        item.set(**{name: self.value(name) for name in sorted(names)})
        return [getattr(item, name) for name in sorted(names)]

    def write_path(self) -> Any:
        item, name = self.item(), self.name()
        item[name] = self.value(name)
        return getattr(item, name)

    def write_primitive(self) -> Any:
        item, name = self.item(), self.name()
        item.set_primitive(name, self.value(name))
        return getattr(item, name)

    def write_through_c(self) -> Any:
        from corestone import _abi
        from corestone._abi import values
        from corestone._abi.call import call

        item = self.person()
        cell = values.Cell()
        values.encode(cell.value, self.random.randrange(100))
        call(_abi.lib.cst_object_set, item._cst_handle, item._cst_entity.properties["number"].key, cell.ref)
        return item.number

    def write_target(self) -> Any:
        item, other = self.person(), self.item()
        name = self.random.choice(["team", "ranked_in"]) if other.entity_name == "Team" else "friend"
        setattr(item, name, other if self.random.random() < 0.8 else None)
        return getattr(item, name)

    def write_unknown(self) -> Any:
        setattr(self.item(), self.random.choice(["nmae", "is_fault", "_cst_entity", "id"]), 3)

    def remove_value(self) -> Any:
        delattr(self.item(), self.name())

    def add_member(self) -> Any:
        one, other = self.person(), self.person()
        one.friends.add(other)
        return other.friend

    def rank(self) -> Any:
        """Changes the order of an ordered relationship."""
        teams = [each for each in self.pool if each.entity_name == "Team"]
        if not teams:
            return None
        ranking, one = self.random.choice(teams).ranking, self.person()
        act = self.random.randrange(4)
        if act == 0:
            ranking.append(one)
        elif act == 1:
            ranking.insert(self.random.randrange(3), one)
        elif act == 2 and len(ranking) > 0:
            del ranking[self.random.randrange(len(ranking))]
        elif len(ranking) > 1:
            ranking.insert(0, ranking.pop())
        return [each.name for each in ranking]

    def insert(self) -> Any:
        names = {self.name() for _ in range(3)}
        kind = self.random.choice(["Person", "Person", "Chief", "Team"])
        new = {name: self.value(name) for name in sorted(names)} if kind != "Team" else {"name": "team"}
        made = self.context().insert(kind, **new)
        self.keep_id(made.id)
        return made

    def insert_many(self) -> Any:
        names = sorted({self.name() for _ in range(3)} - {"speed", "loud", "place"})
        rows = [tuple(self.value(name) for name in names) for _ in range(3)]
        return self.context().insert_objects("Person", rows, names)

    def delete(self) -> Any:
        item = self.item()
        (item.context or self.contexts[0]).delete(item)

    def save(self) -> Any:
        self.context().save()

    def roll_back(self) -> Any:
        self.context().rollback()

    def undo(self) -> Any:
        return self.contexts[0].undo()

    def redo(self) -> Any:
        return self.contexts[0].redo()

    def refresh(self) -> Any:
        item = self.item()
        (item.context or self.contexts[0]).refresh(item, merge=self.random.random() < 0.5)
        return item.is_fault

    def refresh_all(self) -> Any:
        self.context().refresh_all()

    def reset(self) -> Any:
        if self.random.random() < 0.1:
            self.contexts[self.random.randrange(1, 3)].reset()

    def process(self) -> Any:
        self.context().process_pending_changes()

    def merge(self) -> Any:
        item = self.item()
        self.contexts[self.random.randrange(2)].merge_changes({"updated": [item.id]})

    def fetch(self) -> Any:
        found = self.context().fetch("Person", sort=["number", "name"], limit=self.random.randrange(1, 9))
        name = self.name()
        return [(each, getattr(each, name)) for each in found]

    def columns(self) -> Any:
        found = self.context().fetch("Person", sort=["number", "name"], limit=9)
        return found.rows(self.name(), self.name()), len(list(found))

    def dictionaries(self) -> Any:
        context, names = self.context(), sorted({self.name(), self.name()} - {"speed", "place"})
        rows = context.fetch_rows("Person", columns=[*names, "team.name"], sort=["number", "name"], limit=9)
        return rows, context.fetch("Person", sort=["number", "name"], limit=9).to_dicts(*names)

    def insert_with_members(self) -> Any:
        context = self.context()
        people = [context.insert("Person", name="member") for _ in range(self.random.randrange(3))]
        given = self.random.choice([people, tuple(people), set(people), None, [3], [self.item()]])
        made = context.insert("Team", name=self.value("name"), people=given)
        return made, sorted(each.name for each in made.people)

    def get(self) -> Any:
        """Looks up an ID that was probably looked up before, several times."""
        which, context = self.random.choice(self.ids), self.context()
        found = context.get(which)
        return found, context.get(which) is found, found in self.pool

    def get_and_write(self) -> Any:
        """Writes to the object of an ID; a write to an object that is no longer registered would be lost."""
        which, context, name = self.random.choice(self.ids), self.context(), self.name()
        setattr(context.get(which), name, self.value(name))
        return context.has_changes, getattr(context.get(which), name)

    def get_of_item(self) -> Any:
        item = self.item()
        context = item.context
        return context is not None and context.get(item.id) is item

    def elsewhere(self) -> Any:
        which = self.item().id
        self.keep_id(which)
        return self.context().get(which).name

    def delete_batch(self) -> Any:
        least = self.random.randrange(-50, 2900)
        return self.context().batch_delete(
            "Person", "number >= %@ AND number < %@", least * 10**12, (least + 200) * 10**12
        )

    def delete_by_batch(self) -> Any:
        """Deletes the row of an object that is probably registered with several contexts."""
        context, which = self.random.choice(self.contexts[:2]), self.random.choice(self.ids)
        return context.batch_delete("Person", "SELF == %@", context.get(which))

    def update_by_batch(self) -> Any:
        least = self.random.randrange(-50, 2900) * 10**12
        return self.context().batch_update("Person", {"small": self.random.randrange(90)}, "number >= %@", least)

    def delete_elsewhere(self) -> Any:
        """Deletes an object in one context and saves; others have the object too."""
        context, which = self.random.choice(self.contexts), self.random.choice(self.ids)
        context.delete(context.get(which))
        context.save()

    def merge_deletion(self) -> Any:
        self.context().merge_changes({"deleted": [self.random.choice(self.ids)]})

    def merge_automatically(self) -> Any:
        self.random.choice(self.contexts[1:]).automatically_merges = self.random.random() < 0.5

    def state(self) -> Any:
        item = self.item()
        return item.is_fault, item.is_inserted, item.is_updated, item.is_deleted, item.has_changes

    def changed(self) -> Any:
        item, name = self.item(), self.name()
        return item.is_changed(name), item.committed_value(name), sorted(item.changed_values())

    def describe(self) -> Any:
        return repr(self.item())

    def forget(self) -> Any:
        for _ in range(self.random.randrange(4)):
            if len(self.pool) > 4:
                self.pool.pop(self.random.randrange(len(self.pool)))

    def on_another_thread(self) -> Any:
        item, name = self.item(), self.name()
        found: list[Any] = []

        def use() -> None:
            for act in (lambda: getattr(item, name), lambda: setattr(item, name, 3)):
                try:
                    found.append(act())
                except Exception as raised:
                    found.append(type(raised).__name__)

        thread = threading.Thread(target=use)
        thread.start()
        thread.join()
        return found

    def observe(self) -> Any:
        if len(self.observations) > 3:
            self.observations.pop(0).cancel()
        item, name = self.person(), self.name()
        if item.context is not None:
            self.observations.append(item.observe(name, lambda _, change: self.write(f"  {name} is {change.new!r}")))

    def declared(self) -> Any:
        item, other, name = self.item(), self.item(), self.name()
        found = type(item).__dict__.get(name) or getattr(type(other), "__dict__", {}).get(name)
        return found.__get__(other) if found is not None else None

    def step(self, at: int) -> None:
        act: Callable[[World], Any] = self.random.choices(ACTS, WEIGHTS)[0]
        try:
            result = self.show(act(self))
        except (self.corestone.CorestoneError, AttributeError, TypeError, ValueError, OverflowError) as raised:
            cause = type(raised.__cause__).__name__
            result = f"{type(raised).__name__}: {raised} ({cause})"
        self.write(f"{at} {act.__name__}: {URI.sub('…', result)}")


FREQUENT: dict[Any, int] = {
    World.read: 200, World.read_again: 120, World.read_target: 60, World.write_value: 120, World.fetch: 10,
    World.read_path: 20, World.read_several: 20, World.write_target: 20, World.state: 20, World.get: 40,
    World.get_of_item: 15,
}  # fmt: skip
RARE: dict[Any, int] = {
    World.read_members: 6, World.write_several: 10, World.write_path: 10, World.write_primitive: 6,
    World.write_through_c: 12, World.write_unknown: 2, World.remove_value: 2, World.add_member: 4, World.insert: 8,
    World.insert_many: 2, World.delete: 5, World.save: 12, World.roll_back: 4, World.undo: 8, World.redo: 6,
    World.refresh: 16, World.refresh_all: 2, World.reset: 2, World.process: 6, World.merge: 4, World.columns: 3,
    World.dictionaries: 3, World.insert_with_members: 3,
    World.elsewhere: 6, World.changed: 6, World.describe: 4, World.forget: 12, World.on_another_thread: 2,
    World.observe: 2, World.declared: 6, World.rank: 6, World.get_and_write: 10, World.delete_batch: 1,
    World.delete_by_batch: 2, World.update_by_batch: 2, World.delete_elsewhere: 2, World.merge_deletion: 2,
    World.merge_automatically: 2,
}  # fmt: skip
ACTS = [*FREQUENT, *RARE]
WEIGHTS = [*FREQUENT.values(), *RARE.values()]


def run(seed: int, operations: int, rounds: int) -> None:
    """Prints the lines of one process."""
    lines: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(rounds):
            lines.append(f"round {seed + number}")
            world = World(seed + number, Path(folder), lines.append)
            gc.collect()
            gc.freeze()  # so that the collection after each operation is fast
            gc.set_threshold(*(HEAVY_THRESHOLDS if (seed + number) % 4 == 1 else THRESHOLDS))
            for at in range(operations // rounds):
                world.step(at)
                gc.collect()
                if len(lines) > 500:
                    sys.stdout.write("\n".join(lines) + "\n")
                    lines.clear()
            gc.set_threshold(700, 10, 10)
            gc.unfreeze()
            world.end()
    lines.append("end")
    sys.stdout.write("\n".join(lines) + "\n")


def compare(seed: int, operations: int, rounds: int) -> int:
    """Runs both processes, and returns 1 after a difference."""
    command = [sys.executable, __file__, "--seed", str(seed), "--operations", str(operations), "--rounds", str(rounds)]
    package = os.environ.get("PYTHONPATH", str(ROOT / "bindings" / "python"))
    environment = {
        **os.environ,
        "PYTHONPATH": package,
        "PYTHONHASHSEED": "0",
        "PYTHONIOENCODING": "utf-8:backslashreplace",
    }
    processes = [
        subprocess.Popen(
            [*command, "--child"],
            env={**environment, "CORESTONE_ACCELERATOR": choice},
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        for choice in "01"
    ]
    streams = [each.stdout for each in processes]
    former: collections.deque[str] = collections.deque(maxlen=LINES)
    count = 0
    try:
        while True:
            without, with_it = (stream.readline() if stream else "" for stream in streams)
            if without != with_it:
                print("".join(former) + f"without: {without}with:    {with_it}", end="")
                return 1
            if without in ("end\n", ""):
                break
            former.append(without)
            count += 1
    finally:
        for each in processes:
            each.terminate()
    if without == "":
        print("".join(former) + "both processes ended early")
        return 1
    print(f"{operations} operations in {rounds} rounds from seed {seed}: {count} equal lines")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare the Python package with and without its accelerator.")
    parser.add_argument("--operations", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        run(arguments.seed, arguments.operations, arguments.rounds)
        return 0
    return compare(arguments.seed, arguments.operations, arguments.rounds)


if __name__ == "__main__":
    sys.exit(main())
