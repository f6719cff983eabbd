"""Runs each call of the Python package two numbers of times, to count its instructions (budget_calls.py).

usage: calls.py MEASURE STORE      MEASURE: libmeasure.so; STORE is created

Each part of the run is counted on its own and has the name CALL:TIMES. Two parts of a call differ only in the number of
times, so that the difference of their counts is that of the additional calls, each with its turn of a loop in Python.

get_cached   reads an integer of an object that has been read before
get_first    reads an integer of an object that was fetched and not read
set          sets an integer of an object that was changed before
iterate      fetches objects, and creates each of them in a loop
insert       inserts an object with six values
context_get  gets the registered object of an ID, with an ID that was passed before
"""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import corestone

EPOCH = datetime(2020, 1, 1, tzinfo=timezone.utc)
MODEL = {
    "Employee": {
        "name": "string?",
        "email": "string?",
        "age": "int32?",
        "salary": "double?",
        "hired": "date?",
        "active": "bool?",
    }
}
NAMES = ("get_cached", "get_first", "set", "iterate", "insert", "context_get")
IN_MEMORY = 200
FEW, MANY = 500, 2500


def values(number: int) -> dict[str, Any]:
    return {
        "name": f"Employee {number:06}",
        "email": f"employee.{number:06}@corp.test",
        "age": 20 + number % 40,
        "salary": 30000.0 + number,
        "hired": EPOCH + timedelta(seconds=1000 * number),
        "active": number % 2 == 0,
    }


class Calls:
    """The calls. `prepare` of each returns the function that is counted, which makes the call a number of times."""

    def __init__(self, container: corestone.Container) -> None:
        self.container = container
        self.contexts: list[corestone.Context] = []
        self.kept: list[Any] = []

    def context(self) -> corestone.Context:
        """Returns a new context, which lives until the end."""
        self.contexts.append(self.container.context())
        return self.contexts[-1]

    def fetched(self, times: int) -> list[Any]:
        return list(self.context().fetch("Employee", limit=times))

    def repeated(self, times: int) -> list[Any]:
        """Returns objects that were read and changed, each several times."""
        objects = self.fetched(IN_MEMORY)
        for _ in range(2):
            for one in objects:
                one.age += 1
        return (objects * (times // IN_MEMORY + 1))[:times]

    def get_cached(self, times: int) -> Callable[[], None]:
        objects = self.repeated(times)

        def act() -> None:
            for one in objects:
                _ = one.age

        return act

    def get_first(self, times: int) -> Callable[[], None]:
        objects = self.fetched(times)

        def act() -> None:
            for one in objects:
                _ = one.age

        return act

    def set(self, times: int) -> Callable[[], None]:
        pairs = list(enumerate(self.repeated(times), 1000))

        def act() -> None:
            for number, one in pairs:
                one.age = number

        return act

    def iterate(self, times: int) -> Callable[[], None]:
        context = self.context()

        def act() -> None:
            for _ in context.fetch("Employee", limit=times):
                pass

        return act

    def insert(self, times: int) -> Callable[[], None]:
        context, rows = self.context(), [values(number) for number in range(times)]

        def act() -> None:
            for row in rows:
                context.insert("Employee", **row)

        return act

    def context_get(self, times: int) -> Callable[[], None]:
        self.kept = objects = self.repeated(IN_MEMORY)  # so that they remain registered
        context, ids = self.contexts[-1], [one.id for one in objects]
        for each in ids:
            context.get(each)
        ids = (ids * (times // IN_MEMORY + 1))[:times]

        def act() -> None:
            for each in ids:
                context.get(each)

        return act


def main() -> None:
    measure, path = ctypes.CDLL(sys.argv[1]), Path(sys.argv[2])
    for suffix in ("", "-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)
    with corestone.Container(corestone.Model(MODEL), path, sync="normal", unsaved="discard") as container:
        context = container.context()
        context.insert_many("Employee", [values(number) for number in range(MANY)])
        context.save()
        calls = Calls(container)
        for name in NAMES:
            prepare = getattr(calls, name)
            prepare(IN_MEMORY)()  # not counted: the first calls fill caches
            for times in (FEW, MANY):
                act = prepare(times)
                gc.collect()
                gc.disable()  # the moments of collections depend on what ran before
                measure.measure_begin()
                act()
                measure.measure_stop()
                gc.enable()
                part = f"{name}:{times}".encode()
                measure.measure_report(b"python", part, ctypes.c_long(times), ctypes.c_double(0), ctypes.c_long(0))


if __name__ == "__main__":
    main()
